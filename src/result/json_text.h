/* What text a result file may hold. Private to the writer and the reader. */
#ifndef CB_RESULT_JSON_TEXT_H
#define CB_RESULT_JSON_TEXT_H

#include <stddef.h>

/* The largest text field, its NUL included. */
#define CB_JSON_TEXT_MAX 512

/* Copies text of length_bytes (up to the first NUL, if any) into out as valid UTF-8 without control
 * characters, so that neither a JSON parser nor a terminal stumbles: a tab or a line end becomes a
 * space, another control character or an invalid byte '?'; what does not fit is cut before a
 * character. The copy is never longer than the text, and copying a copy changes nothing. */
void cb_json_clean(const char *text, size_t length_bytes, char *out, size_t out_size_bytes);

#endif
