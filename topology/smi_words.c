#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/smi_internal.h"

static const struct {
    const char *text;
    enum cb_smi_cell_kind kind;
} cells[] = {
    {"X", CB_SMI_SELF},  {"PIX", CB_SMI_PIX}, {"PXB", CB_SMI_PXB},
    {"PHB", CB_SMI_PHB}, {"SYS", CB_SMI_SYS}, {"NODE", CB_SMI_NODE},
    {"C2C", CB_SMI_C2C}, {"SOC", CB_SMI_SYS}, /* what drivers before 390 call SYS; the first of a
                                                 kind is its name */
};
#define CELL_COUNT (sizeof(cells) / sizeof(cells[0]))

#define NVLINK_DIGITS 3

static bool is_digits(const char *text, size_t at_most)
{
    size_t length = strspn(text, "0123456789");
    return length > 0 && length <= at_most && !text[length];
}

bool cb_smi_word_is_cell(const char *word, struct cb_smi_cell *cell)
{
    if (word[0] == 'N' && word[1] == 'V' && is_digits(word + 2, NVLINK_DIGITS)) {
        *cell = (struct cb_smi_cell){CB_SMI_NVLINK, (int)strtol(word + 2, NULL, 10)};
        return cell->nvlinks > 0;
    }
    for (size_t i = 0; i < CELL_COUNT; i++)
        if (strcmp(word, cells[i].text) == 0) {
            *cell = (struct cb_smi_cell){cells[i].kind, 0};
            return true;
        }
    return false;
}

const char *cb_smi_cell_text(struct cb_smi_cell cell, char buffer[16])
{
    if (cell.kind == CB_SMI_NVLINK) {
        snprintf(buffer, 16, "NV%d", cell.nvlinks);
        return buffer;
    }
    for (size_t i = 0; i < CELL_COUNT; i++)
        if (cells[i].kind == cell.kind)
            return cells[i].text;
    return "nothing";
}

bool cb_smi_word_starts_cell(const char *word)
{
    size_t length = strlen(word);
    if (strcmp(word, "NV") == 0)
        return true;
    for (size_t i = 0; i < CELL_COUNT; i++)
        if (length < strlen(cells[i].text) && strncmp(word, cells[i].text, length) == 0)
            return true;
    return false;
}

const char *cb_smi_word_label(const char *word)
{
    const char *label = word;
    for (const char *c = word; *c; c++)
        if ((*c == ':' || *c == '>') && c[1])
            label = c + 1;
    return label;
}

int cb_smi_word_gpu(const char *word)
{
    char digits[8];
    if (strncmp(word, "GPU", 3) != 0)
        return -1;
    cb_smi_label_copy(digits, sizeof(digits), word + 3);
    return is_digits(digits, 4) ? (int)strtol(digits, NULL, 10) : -1;
}

/* How long a label is, the colon at its end left out; 0 when the word is none. */
static size_t label_length(const char *word)
{
    size_t length = 0;
    if (!isalpha((unsigned char)word[0]))
        return 0;
    while (isalnum((unsigned char)word[length]) || (word[length] && strchr("_.-", word[length])))
        length++;
    return word[length] == '\0' || (word[length] == ':' && !word[length + 1]) ? length : 0;
}

bool cb_smi_word_is_label(const char *word)
{
    struct cb_smi_cell cell;
    size_t length = label_length(word);
    return length > 0 && length < sizeof(((struct cb_smi_device *)0)->label) &&
           !cb_smi_word_is_cell(word, &cell);
}

void cb_smi_label_copy(char *out, size_t size_bytes, const char *word)
{
    size_t length = strlen(word);
    if (length > 0 && word[length - 1] == ':')
        length--;
    snprintf(out, size_bytes, "%.*s", (int)(length < size_bytes ? length : size_bytes - 1), word);
}

bool cb_smi_word_is_affinity(const char *word)
{
    /* Not only whole: the end of a line may cut it. */
    static const char *const none[] = {"N/A", "N/", "/A", "N", "A"};
    for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
        if (strcmp(word, none[i]) == 0)
            return true;
    return !word[strspn(word, "0123456789,-")];
}
