#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topology/smi_internal.h"

/* ---- headings ---- */

bool cb_smi_word_begins_affinity(const char *word)
{
    return strncasecmp(word, "CPU", 3) == 0 || strncasecmp(word, "NUMA", 4) == 0 ||
           strcasecmp(word, "Affinity") == 0 || strncasecmp(word, "Mem", 3) == 0;
}

bool cb_smi_affinity_begins(const struct cb_smi_line *line, int word)
{
    const char *text = line->words[word].text;
    const char *next = word + 1 < line->word_count ? line->words[word + 1].text : "";
    if (strcasecmp(text, "GPU") == 0)
        return strncasecmp(next, "NUMA", 4) == 0;
    return cb_smi_word_begins_affinity(text);
}

void cb_smi_headings_add_word(struct cb_smi_headings *headings, const char *word, int column)
{
    for (const char *c = word; *c; c++)
        if (isalpha((unsigned char)*c) && headings->count + 1 < sizeof(headings->letters)) {
            headings->columns[headings->count] = column;
            headings->letters[headings->count++] = (char)tolower((unsigned char)*c);
        }
}

void cb_smi_headings_add(struct cb_smi_headings *headings, const struct cb_smi_line *line,
                         int first)
{
    for (int i = first; i < line->word_count; i++)
        cb_smi_headings_add_word(headings, line->words[i].text, line->words[i].column);
}

/* Spelled without blanks, longer ones before what they begin with. */
static const struct {
    const char *letters;
    enum cb_smi_affinity kind;
} headings_known[] = {
    {"gpunumaid", CB_SMI_GPU_NUMA},  {"gpunuma", CB_SMI_GPU_NUMA},
    {"cpuaffinity", CB_SMI_CPUS},    {"numaaffinity", CB_SMI_NUMA},
    {"memaffinity", CB_SMI_NUMA},    {"numanode", CB_SMI_NUMA},
    {"memoryaffinity", CB_SMI_NUMA}, {"numaid", CB_SMI_NUMA},
    {"cpus", CB_SMI_CPUS},           {"cpu", CB_SMI_CPUS},
    {"numa", CB_SMI_NUMA},           {"affinity", CB_SMI_CPUS},
};

void cb_smi_headings_read(const struct cb_smi_headings *headings,
                          struct cb_smi_affinity_header *header)
{
    size_t at = 0;
    header->count = 0;
    while (at < headings->count && header->count < CB_SMI_AFFINITY_COLUMNS) {
        size_t taken = 1;
        for (size_t i = 0; i < sizeof(headings_known) / sizeof(headings_known[0]); i++) {
            size_t length = strlen(headings_known[i].letters);
            if (headings->count - at < length ||
                memcmp(headings->letters + at, headings_known[i].letters, length) != 0)
                continue;
            header->kinds[header->count] = headings_known[i].kind;
            header->columns[header->count++] = headings->columns[at];
            taken = length;
            break;
        }
        at += taken;
    }
}

/* ---- values ---- */

void cb_smi_affinity_add(struct cb_smi_affinity_values *values, const struct cb_smi_word *word)
{
    int capacity = (int)(sizeof(values->texts) / sizeof(values->texts[0]));
    if (values->count == capacity)
        return;
    snprintf(values->texts[values->count], sizeof(values->texts[0]), "%.63s", word->text);
    values->columns[values->count++] = word->column;
}

/* Joins a value with the one before it. */
static void join(struct cb_smi_affinity_values *values, int second)
{
    char whole[2 * sizeof(values->texts[0])];
    snprintf(whole, sizeof(whole), "%s%s", values->texts[second - 1], values->texts[second]);
    snprintf(values->texts[second - 1], sizeof(values->texts[0]), "%.63s", whole);
    for (int i = second; i + 1 < values->count; i++) {
        memcpy(values->texts[i], values->texts[i + 1], sizeof(values->texts[0]));
        values->columns[i] = values->columns[i + 1];
    }
    values->count--;
}

/* A list that the end of a line cut in two shows it by a comma or dash at the cut, or by being one
 * value too many. */
static void mend_breaks(struct cb_smi_affinity_values *values, int expected)
{
    for (int second = values->count - 1; second > 0; second--) {
        const char *first = values->texts[second - 1], *rest = values->texts[second];
        size_t length = strlen(first);
        bool is_open = length > 0 && strchr(",-", first[length - 1]);
        if (values->broken[second] &&
            (is_open || strchr(",-", rest[0]) || values->count > expected))
            join(values, second);
    }
}

static void set_value(struct cb_smi_device *device, enum cb_smi_affinity kind, const char *text)
{
    if (!isdigit((unsigned char)text[0]))
        return; /* "N/A" */
    if (kind == CB_SMI_CPUS)
        snprintf(device->cpus, sizeof(device->cpus), "%s", text);
    else if (kind == CB_SMI_NUMA)
        snprintf(device->numa, sizeof(device->numa), "%s", text);
    else if (strlen(text) < 6)
        device->gpu_numa = (int)strtol(text, NULL, 10);
}

/* The column that a value stands in, among those after the last one taken; as many must stay as
 * there are values left. Between two, the later: a short value is followed by one tab only, so that
 * the next one starts left of its heading. */
static int nearest_column(const struct cb_smi_affinity_header *header, int column, int taken,
                          int values_left)
{
    int best = taken + 1, best_distance = INT_MAX;
    for (int i = taken + 1; header->count - i >= values_left; i++) {
        int distance = abs(header->columns[i] - column);
        if (distance <= best_distance) {
            best = i;
            best_distance = distance;
        }
    }
    return best;
}

void cb_smi_affinity_assign(const struct cb_smi_affinity_header *header,
                            struct cb_smi_affinity_values *values, struct cb_smi_device *device)
{
    int taken = -1;
    for (int i = 0; i < header->count; i++)
        device->is_numa_missing |= header->kinds[i] == CB_SMI_NUMA;
    mend_breaks(values, header->count);
    int count = values->count < header->count ? values->count : header->count;
    bool by_place = count < header->count && !header->is_wrapped && !values->is_broken;
    for (int i = 0; i < count; i++) {
        if (by_place)
            taken = nearest_column(header, values->columns[i], taken, count - i);
        else if (i == count - 1 && i > 0 && strcmp(values->texts[i], "N/A") == 0)
            taken = header->count - 1;
        else
            taken = i;
        set_value(device, header->kinds[taken], values->texts[i]);
        device->is_numa_missing &= header->kinds[taken] != CB_SMI_NUMA;
    }
}

/* ---- a NUMA node printed right behind the CPUs ---- */

#define RANGES 32

struct ranges {
    int count;
    long low[RANGES], high[RANGES];
};

/* Reads "0-3,8,16-19": ascending, without overlap. */
static bool read_ranges(const char *text, struct ranges *ranges)
{
    char *end = NULL;
    ranges->count = 0;
    for (const char *at = text; ranges->count < RANGES; at = end + 1) {
        if (!isdigit((unsigned char)*at))
            return false;
        long low = strtol(at, &end, 10), high = low;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return false;
            high = strtol(end + 1, &end, 10);
        }
        if (high < low || (ranges->count > 0 && low <= ranges->high[ranges->count - 1]))
            return false;
        ranges->low[ranges->count] = low;
        ranges->high[ranges->count++] = high;
        if (*end == '\0')
            return true;
        if (*end != ',')
            return false;
    }
    return false;
}

/* Hyper-threads and sub-clusters come in ranges of one length. */
static bool are_alike(const struct ranges *ranges)
{
    for (int i = 1; i < ranges->count; i++)
        if (ranges->high[i] - ranges->low[i] != ranges->high[0] - ranges->low[0])
            return false;
    return ranges->count > 1;
}

static bool overlap(const struct ranges *left, const struct ranges *right)
{
    for (int i = 0; i < left->count; i++)
        for (int k = 0; k < right->count; k++)
            if (left->low[i] <= right->high[k] && right->low[k] <= left->high[i])
                return true;
    return false;
}

/* Whether the list reaches into the CPUs of a row whose node is known, and which has others. */
static bool is_in_the_way(const struct ranges *ranges, const struct cb_smi_device *devices,
                          size_t count)
{
    struct ranges other;
    for (size_t i = 0; i < count; i++)
        if (devices[i].numa[0] && read_ranges(devices[i].cpus, &other) && overlap(ranges, &other))
            return true;
    return false;
}

static void unglue(struct cb_smi_device *device, const struct cb_smi_device *devices, size_t count)
{
    struct ranges whole, split;
    size_t length = strlen(device->cpus);
    bool is_list = read_ranges(device->cpus, &whole);
    for (size_t digits = 1; digits <= 2 && digits < length; digits++) {
        char list[sizeof(device->cpus)];
        const char *node = device->cpus + length - digits;
        snprintf(list, sizeof(list), "%.*s", (int)(length - digits), device->cpus);
        if (!isdigit((unsigned char)*node) || (digits > 1 && *node == '0') ||
            !read_ranges(list, &split))
            continue;
        bool shows =
            !is_list || (are_alike(&split) && !are_alike(&whole)) ||
            (is_in_the_way(&whole, devices, count) && !is_in_the_way(&split, devices, count));
        if (!shows)
            continue;
        snprintf(device->numa, sizeof(device->numa), "%s", node);
        device->cpus[length - digits] = '\0';
        device->is_numa_missing = false;
        return;
    }
}

void cb_smi_affinity_unglue(struct cb_smi_device *devices, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i].cpus[0] && devices[i].is_numa_missing)
            unglue(&devices[i], devices, count);
}
