/* A log as lines without what terminals, launchers and copying put around them. Private to import/.
 */
#ifndef CB_IMPORT_LINES_H
#define CB_IMPORT_LINES_H

#include <stdbool.h>
#include <stddef.h>

/* What is looked at of one line; what is beyond is passed over. */
#define CB_LINE_BYTES 1024

struct cb_lines {
    const char *at, *end;
    int number; /* of the line that was read last */
};

struct cb_line {
    int number;     /* from 1 */
    int label;      /* the rank that a launcher put before it; -1 when there is none */
    bool is_marked; /* starts with '#', which text no longer holds */
    char text[CB_LINE_BYTES];
    size_t length_bytes;
};

void cb_lines_init(struct cb_lines *lines, const char *text, size_t length_bytes);

/* Takes the next line: printable characters and blanks alone, without escape sequences of a
 * terminal, without the labels of mpirun ("[1,0]<...>:"), srun (" 0: ") and others ("[0]",
 * "host: #", a time of day) at its start, without '#' and the blanks around. False at the end. */
bool cb_lines_next(struct cb_lines *lines, struct cb_line *line);

/* Replaces labels of mpirun and "[0]" anywhere in the text by a blank: launchers put them into the
 * middle of a line too. */
void cb_line_drop_labels(char *text);

/* The number of ranks, nodes or the like behind the first occurrence of a word in the text; 0 where
 * there is none, or one that no job has. */
int cb_line_count_behind(const char *text, const char *word);

#endif
