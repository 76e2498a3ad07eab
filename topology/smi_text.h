/* Text that somebody pasted, line by line as words: without colours, quotes' drawing and the other
 * traces of terminals, editors and issue trackers. */
#ifndef CB_TOPOLOGY_SMI_TEXT_H
#define CB_TOPOLOGY_SMI_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#define CB_SMI_LINE_BYTES 16384 /* what is kept of a line; no matrix is that wide */
#define CB_SMI_WORDS 1024

struct cb_smi_word {
    const char *text; /* NUL-terminated, printable, without blanks; lies in the line */
    int column;       /* on a terminal, tab stops every eight columns; from 0 */
};

struct cb_smi_line {
    int number; /* from 1 */
    int word_count;
    struct cb_smi_word words[CB_SMI_WORDS];
    char text[CB_SMI_LINE_BYTES];
};

struct cb_smi_reader {
    const char *at, *end;
    int number; /* of the last line read */
};

void cb_smi_reader_init(struct cb_smi_reader *reader, const char *text, size_t length_bytes);

/* Reads the next line: words between blanks, tabs, the bars, stars and backticks of Markdown, and
 * Unicode's blanks; a rule of a table is an empty line. Escape sequences
 * (also spelled out: "^[[4m", "\033[4m", or what is left of one whose escape character was lost,
 * "[4m") are left out, zero bytes too (UTF-16 of plain text then reads as text). Lines end in \n,
 * \r\n or \r. What is longer than the line holds is dropped. False at the end of the text. */
bool cb_smi_read_line(struct cb_smi_reader *reader, struct cb_smi_line *line);

#endif
