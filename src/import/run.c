#include "import/run.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cb_run *cb_run_new(const char *name, int first_line, struct cb_error *err)
{
    struct cb_run *run = calloc(1, sizeof(*run));
    if (!run) {
        cb_fail(err, CB_E_MEMORY, "no memory to read %s", name);
        return NULL;
    }
    run->name = name;
    run->first_line = run->last_line = first_line;
    run->test = CB_TEST_COUNT;
    run->average_bytes_per_s = -1;
    run->failed_label_low = run->failed_label_high = -1;
    return run;
}

void cb_run_free(struct cb_run *run)
{
    if (!run)
        return;
    cb_vec_fini(&run->rows);
    cb_vec_fini(&run->ranks);
    cb_vec_fini(&run->banners);
    free(run);
}

int cb_run_add_row(struct cb_run *run, const struct cb_table_row *row, struct cb_error *err)
{
    struct cb_table_row *added = cb_vec_add(&run->rows);
    if (!added)
        return cb_fail(err, CB_E_MEMORY, "no memory for the rows of %s", run->name);
    *added = *row;
    return 0;
}

int cb_run_add_time(struct cb_run *run, int line, double printed_bytes, double time_s,
                    struct cb_error *err)
{
    /* Two ranks where nobody says how many: the bandwidth is then a lower bound. */
    int ranks = run->launched_ranks > 0 ? run->launched_ranks : 2;
    double size_bytes = cb_test_is_per_rank(run->test) ? printed_bytes * ranks : printed_bytes;
    if (!(size_bytes >= 0 && size_bytes < 0x1p62))
        return 0;
    if (time_s < 0)
        cb_finding_add(&run->findings, CB_FINDING_NEGATIVE_TIME, line,
                       "a time is negative: the line is not used");
    else if (!(time_s > 0) && size_bytes > 0)
        cb_finding_add(&run->findings, CB_FINDING_NO_TIME, line,
                       "a line of data holds no time: it is not used");
    if (!(time_s > 0) || !isfinite(time_s))
        return 0;
    struct cb_table_row row;
    cb_table_row_init(&row, (uint64_t)size_bytes);
    row.line = line;
    row.label = -1;
    row.places[CB_IMPORT_OUT_OF_PLACE].time_s = time_s;
    return cb_run_add_row(run, &row, err);
}

/* ---- the list of ranks ---- */

/* Behind a word at text and its blanks, or NULL when text does not start with it. */
static const char *skip_word(const char *text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(text, word, length) != 0 || text[length] != ' ')
        return NULL;
    return text + length + strspn(text + length, " ");
}

/* Behind "WORD NUMBER " at *text; leaves both alone when it is something else. */
static bool take_number(const char **text, const char *word, int *number)
{
    char *end;
    const char *at = skip_word(*text, word);
    if (!at || !isdigit((unsigned char)*at))
        return false;
    long value = strtol(at, &end, 10);
    if (value < 0 || value >= 1 << 24)
        return false;
    *number = (int)value;
    *text = end + strspn(end, " ");
    return true;
}

static void take_bus(const char **text, struct cb_listed_rank *rank)
{
    const char *at = *text;
    size_t length = strcspn(at, "]");
    if (*at != '[' || at[length] != ']' || length - 1 >= sizeof(rank->bus))
        return;
    memcpy(rank->bus, at + 1, length - 1);
    *text = at + length + 1;
    *text += strspn(*text, " ");
}

/* The name, and the "(node 1)" that some put behind it for the host. */
static void take_name(const char *text, struct cb_listed_rank *rank)
{
    const char *node = strstr(text, " (node ");
    size_t length = node ? (size_t)(node - text) : strlen(text);
    if (node && !rank->host[0])
        snprintf(rank->host, sizeof(rank->host), "%.*s", (int)strcspn(node + 2, ")"), node + 2);
    while (length > 0 && text[length - 1] == ' ')
        length--;
    snprintf(rank->gpu, sizeof(rank->gpu), "%.*s", (int)length, text);
}

/* "Rank  0 Group  0 Pid   2114 on worker-0 device  0 [0000:8f:00] NVIDIA B200", without Group, Pid
 * or host in older or edited lists; NCCL 1: "Device  0 ->  0 [0x0a] GeForce GTX TITAN X". */
static bool parse_rank(const char *text, struct cb_listed_rank *rank)
{
    int ignored;
    const char *at = text;
    *rank = (struct cb_listed_rank){.device = -1};
    if (take_number(&at, "Rank", &rank->rank)) {
        take_number(&at, "Group", &rank->group);
        take_number(&at, "Pid", &ignored);
        const char *host = skip_word(at, "on");
        if (host) {
            size_t length = strcspn(host, " ");
            snprintf(rank->host, sizeof(rank->host), "%.*s", (int)length, host);
            at = host + length + strspn(host + length, " ");
        }
        if (!take_number(&at, "device", &rank->device))
            return false;
    } else if (take_number(&at, "Device", &rank->rank) && take_number(&at, "->", &rank->device)) {
        snprintf(rank->host, sizeof(rank->host), "localhost"); /* NCCL 1 knew one process only */
    } else {
        return false;
    }
    take_bus(&at, rank);
    take_name(at, rank);
    return true;
}

int cb_run_read_rank(struct cb_run *run, const struct cb_line *line, struct cb_error *err)
{
    struct cb_listed_rank rank;
    if (!parse_rank(line->text, &rank))
        return 0;
    rank.line = line->number;
    rank.label = line->label;
    rank.part = (int)run->banners.count;
    if (*line->text == 'D') {
        snprintf(run->tool, sizeof(run->tool), "NCCL 1 tests");
        run->has_no_footers = true;
    }
    struct cb_listed_rank *added = cb_vec_add(&run->ranks);
    if (!added)
        return cb_fail(err, CB_E_MEMORY, "no memory for the ranks of %s", run->name);
    *added = rank;
    return 1;
}
