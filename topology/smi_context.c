#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "topology/smi_internal.h"

#define PREFIX_WORDS 8 /* prompts, host names and times of logs that may stand ahead */

/* ---- the command ---- */

static void read_command(struct cb_smi_context *context, const struct cb_smi_line *line)
{
    for (int i = 0; i + 1 < line->word_count; i++) {
        const char *option = line->words[i + 1].text;
        if (strcmp(line->words[i].text, "topo") != 0)
            continue;
        if (strncmp(option, "-mp", 3) == 0 || strncmp(option, "--matrix_pci", 12) == 0)
            context->command = CB_SMI_HIDDEN;
        else if (strncmp(option, "-m", 2) == 0 || strncmp(option, "--matrix", 8) == 0)
            context->command = CB_SMI_SHOWN;
    }
}

/* ---- models ---- */

static bool begins_model(const char *word)
{
    static const char *const makers[] = {"NVIDIA", "Tesla", "GeForce", "Quadro", "TITAN"};
    for (size_t i = 0; i < sizeof(makers) / sizeof(makers[0]); i++)
        if (strcmp(word, makers[i]) == 0)
            return true;
    return false;
}

static bool is_bus_id(const char *word)
{
    const char *colon = strchr(word, ':');
    return colon && !word[strspn(word, "0123456789abcdefABCDEF:.")] && strchr(colon + 1, '.') &&
           strlen(word) < sizeof(((struct cb_smi_device *)0)->bus_id);
}

/* The words from first to the one before end, parted by blanks. */
static void join_words(const struct cb_smi_line *line, int first, int end, char *out,
                       size_t size_bytes)
{
    size_t used = 0;
    out[0] = '\0';
    for (int i = first; i < end && used + 1 < size_bytes; i++)
        used += (size_t)snprintf(out + used, size_bytes - used, "%s%s", i > first ? " " : "",
                                 line->words[i].text);
}

static void keep_model(struct cb_smi_context *context, long gpu, const struct cb_smi_line *line,
                       int first, int end, const char *bus_id)
{
    if (gpu < 0 || gpu >= CB_SMI_MODELS || context->gpus[gpu].name[0])
        return;
    join_words(line, first, end, context->gpus[gpu].name, sizeof(context->gpus[gpu].name));
    snprintf(context->gpus[gpu].bus_id, sizeof(context->gpus[gpu].bus_id), "%s", bus_id);
}

/* "GPU 0: NVIDIA H100 80GB HBM3 (UUID: ...)", and "GPU 0,1,2-7: ..." of scripts that sum up. */
static void read_listed_model(struct cb_smi_context *context, const struct cb_smi_line *line,
                              int word)
{
    const char *at = line->words[word].text;
    int end = word + 1;
    while (end < line->word_count && line->words[end].text[0] != '(')
        end++;
    while (isdigit((unsigned char)*at)) {
        char *rest = NULL;
        long low = strtol(at, &rest, 10), high = low;
        if (*rest == '-' && isdigit((unsigned char)rest[1]))
            high = strtol(rest + 1, &rest, 10);
        for (long gpu = low; gpu <= high && gpu < CB_SMI_MODELS; gpu++)
            keep_model(context, gpu, line, word + 1, end, "");
        at = *rest == ',' ? rest + 1 : rest;
    }
}

/* "|   0  NVIDIA H100 80GB HBM3     On  | 00000000:18:00.0 Off |                    0 |" */
static void read_table_model(struct cb_smi_context *context, const struct cb_smi_line *line)
{
    for (int i = 2; i < line->word_count; i++) {
        const char *before = line->words[i - 1].text;
        if (!is_bus_id(line->words[i].text))
            continue;
        bool has_switch = strcmp(before, "On") == 0 || strcmp(before, "Off") == 0;
        keep_model(context, strtol(line->words[0].text, NULL, 10), line, 1, i - has_switch,
                   line->words[i].text);
        return;
    }
}

static void read_model(struct cb_smi_context *context, const struct cb_smi_line *line)
{
    int limit = line->word_count - 2 < PREFIX_WORDS ? line->word_count - 2 : PREFIX_WORDS;
    for (int i = 0; i < limit; i++) {
        const char *number = line->words[i + 1].text;
        if (strcmp(line->words[i].text, "GPU") == 0 && number[0] &&
            strcmp(number + strspn(number, "0123456789,-"), ":") == 0 &&
            begins_model(line->words[i + 2].text)) {
            read_listed_model(context, line, i + 1);
            return;
        }
    }
    if (line->word_count > 2 && isdigit((unsigned char)line->words[0].text[0]) &&
        begins_model(line->words[1].text))
        read_table_model(context, line);
}

/* ---- legends ---- */

/* "NV#  = Connection traversing a bonded set of # NVLinks": -mp leaves that line out. */
static void read_legend_line(struct cb_smi_context *context, const struct cb_smi_line *line)
{
    struct cb_smi_cell cell;
    int limit = line->word_count - 1 < PREFIX_WORDS ? line->word_count - 1 : PREFIX_WORDS;
    for (int i = 0; i < limit; i++) {
        const char *word = line->words[i].text;
        if (strcmp(line->words[i + 1].text, "=") != 0)
            continue;
        context->legend_has_nvlink |= strcmp(word, "NV#") == 0;
        context->has_legend |= cb_smi_word_is_cell(word, &cell) && cell.kind != CB_SMI_SELF;
    }
}

void cb_smi_context_read(struct cb_smi_context *context, const struct cb_smi_line *line)
{
    read_command(context, line);
    read_model(context, line);
    read_legend_line(context, line);
}

static struct cb_smi_device *find_label(struct cb_smi_device *devices, size_t count,
                                        const char *label)
{
    for (size_t i = 0; i < count; i++)
        if (devices[i].gpu < 0 && strcmp(devices[i].label, label) == 0)
            return &devices[i];
    return NULL;
}

void cb_smi_legend_read(const struct cb_smi_line *line, struct cb_smi_device *devices, size_t count)
{
    char label[sizeof(devices->label)];
    int limit = line->word_count - 1 < PREFIX_WORDS ? line->word_count - 1 : PREFIX_WORDS;
    for (int i = 0; i < limit; i++) {
        const char *word = line->words[i].text;
        size_t length = strlen(word);
        int name = i + 1;
        if (strcmp(line->words[name].text, ":") == 0 || strcmp(line->words[name].text, "=") == 0)
            name++;
        else if (word[length - 1] != ':')
            continue;
        if (name >= line->word_count || length >= sizeof(label))
            continue;
        cb_smi_label_copy(label, sizeof(label), word);
        struct cb_smi_device *device = find_label(devices, count, label);
        if (device)
            snprintf(device->name, sizeof(device->name), "%.47s", line->words[name].text);
    }
}

void cb_smi_context_apply(const struct cb_smi_context *context, struct cb_smi_device *devices,
                          size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int gpu = devices[i].gpu;
        if (gpu < 0 || gpu >= CB_SMI_MODELS)
            continue;
        snprintf(devices[i].model, sizeof(devices[i].model), "%s", context->gpus[gpu].name);
        snprintf(devices[i].bus_id, sizeof(devices[i].bus_id), "%s", context->gpus[gpu].bus_id);
    }
}
