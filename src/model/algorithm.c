#include "model/algorithm.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { CHANNELS_MOST = 1024 };

/* NCCL's names and ours, at the places that NCCL numbers them by. */
struct word {
    const char *nccl, *ours;
};
static const struct word algorithms[] = {
    {"TREE", "tree"},
    {"RING", "ring"},
    {"COLLNET_DIRECT", "CollNet direct"},
    {"COLLNET_CHAIN", "CollNet chain"},
    {"NVLS", "NVLS"},
    {"NVLS_TREE", "NVLS tree"},
    {"PAT", "PAT"},
};
static const struct word protocols[] = {{"LL", "LL"}, {"LL128", "LL128"}, {"SIMPLE", "Simple"}};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static const char *const functions[CB_OP_COUNT] = {
    [CB_OP_ALL_REDUCE] = "AllReduce",
    [CB_OP_ALL_GATHER] = "AllGather",
    [CB_OP_REDUCE_SCATTER] = "ReduceScatter",
    [CB_OP_BROADCAST] = "Broadcast",
};

/* What is no algorithm of the tables, by what stands in brackets behind the function. */
static const struct {
    const char *kind, *behind, *name, *channels;
} others[] = {
    {"[Symmetric]", "Kernel ", "symmetric", "nchannels "},
    {"[Copy Engine]", "", "copy engine", NULL},
    {"[Hierarchical CE]", "", "hierarchical copy engine", NULL},
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* A name or a number of the table, or a name that a later version has. */
static bool read_word(const char *text, const struct word *words, size_t count, char *out,
                      size_t size_bytes)
{
    size_t length = 0;
    while (isalnum((unsigned char)text[length]) || text[length] == '_' || text[length] == '*')
        length++;
    if (length == 0 || length >= size_bytes)
        return false;
    if (isdigit((unsigned char)*text)) {
        unsigned long number = strtoul(text, NULL, 10);
        if (number >= count || length > 2)
            return false;
        snprintf(out, size_bytes, "%s", words[number].ours);
        return true;
    }
    snprintf(out, size_bytes, "%.*s", (int)length, text);
    for (size_t i = 0; i < count; i++)
        if (strcasecmp(out, words[i].nccl) == 0)
            snprintf(out, size_bytes, "%s", words[i].ours);
    return strcasecmp(out, "unknown") != 0;
}

/* "{0..15}": how many that is; 0 for what is no range. */
static int count_channels(const char *text)
{
    char *low_end, *high_end;
    if (*text != '{' || !isdigit((unsigned char)text[1]))
        return 0;
    long low = strtol(text + 1, &low_end, 10);
    if (!starts_with(low_end, "..") || !isdigit((unsigned char)low_end[2]))
        return 0;
    long high = strtol(low_end + 2, &high_end, 10);
    bool is_range = *high_end == '}' && low <= high && high < CHANNELS_MOST;
    return is_range ? (int)(high - low + 1) : 0;
}

/* "Algo RING proto LL channel{Lo..Hi}={0..3}", "Algo 1 proto 2 time 12.3" */
static bool read_choice(const char *text, struct cb_algorithm *out)
{
    static const char before_protocol[] = " proto ", before_channels[] = "channel{Lo..Hi}=";
    const char *protocol = strstr(text, before_protocol);
    const char *channels = strstr(text, before_channels);
    if (!starts_with(text, "Algo ") || !protocol ||
        !read_word(text + strlen("Algo "), algorithms, COUNT(algorithms), out->name,
                   sizeof(out->name)) ||
        !read_word(protocol + strlen(before_protocol), protocols, COUNT(protocols), out->protocol,
                   sizeof(out->protocol)))
        return false;
    if (channels)
        out->channels = count_channels(channels + strlen(before_channels));
    return true;
}

static bool read_other(const char *kind, const char *text, struct cb_algorithm *out)
{
    for (size_t i = 0; i < COUNT(others); i++) {
        if (!starts_with(kind, others[i].kind) || !starts_with(text, others[i].behind))
            continue;
        snprintf(out->name, sizeof(out->name), "%s", others[i].name);
        const char *channels = others[i].channels ? strstr(text, others[i].channels) : NULL;
        long count = channels ? strtol(channels + strlen(others[i].channels), NULL, 10) : 0;
        if (count > 0 && count <= CHANNELS_MOST)
            out->channels = (int)count;
        return true;
    }
    return false;
}

bool cb_algorithm_read(const char *text, struct cb_algorithm_line *out)
{
    static const char arrow[] = " Bytes -> ";
    struct cb_algorithm_line line = {0};
    const char *rest = strstr(text, arrow), *number = rest;
    while (number && number > text && isdigit((unsigned char)number[-1]))
        number--;
    if (!number || number == rest || rest - number > 18)
        return false;
    line.bytes = strtoull(number, NULL, 10);
    const char *kind = NULL;
    if (number != text) {
        size_t length = strcspn(text, " :");
        if (length == 0 || length >= sizeof(line.function) || number < text + length + 2 ||
            strncmp(number - 2, ": ", 2) != 0)
            return false;
        snprintf(line.function, sizeof(line.function), "%.*s", (int)length, text);
        kind = text[length] == ' ' ? text + length + 1 : NULL;
    }
    rest += strlen(arrow);
    if (!(kind ? read_other(kind, rest, &line.algorithm) : read_choice(rest, &line.algorithm)))
        return false;
    *out = line;
    return true;
}

bool cb_algorithm_is_of(const struct cb_algorithm_line *line, enum cb_op op)
{
    return functions[op] && (!line->function[0] || strcmp(line->function, functions[op]) == 0);
}

bool cb_algorithm_is_same(const struct cb_algorithm *a, const struct cb_algorithm *b)
{
    return strcmp(a->name, b->name) == 0 && strcmp(a->protocol, b->protocol) == 0;
}
