#include "import/launch.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST 1000000

/* The number behind an option, attached ("-N2", "--ntasks=4") or after a blank; 0 without it. */
static int option_value(const char *line, const char *option)
{
    size_t length = strlen(option);
    for (const char *at = strstr(line, option); at; at = strstr(at + 1, option)) {
        if (at > line && at[-1] != ' ')
            continue;
        const char *value = at + length;
        value += *value == '=';
        value += strspn(value, " ");
        if (!isdigit((unsigned char)*value))
            continue;
        char *end;
        long number = strtol(value, &end, 10);
        if (number > 0 && number <= MOST && (*end == ' ' || *end == '\0'))
            return (int)number;
    }
    return 0;
}

static int first_value(const char *line, const char *const *options, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        int value = option_value(line, options[i]);
        if (value > 0)
            return value;
    }
    return 0;
}
#define FIRST_VALUE(line, options) first_value(line, options, sizeof(options) / sizeof(*(options)))

int cb_launch_ranks(const char *line)
{
    static const char *const counts[] = {"-np", "--np", "-n", "--ntasks", "--n", "-c"};
    static const char *const nodes[] = {"-N", "--nodes"};
    static const char *const each[] = {"--ntasks-per-node", "-ppn", "--npernode", "-npernode"};
    bool is_srun = strstr(line, "srun") != NULL;
    int all = option_value(line, "SLURM_NTASKS=");
    if (all > 0)
        return all;
    if (!is_srun && !strstr(line, "mpirun") && !strstr(line, "mpiexec"))
        return 0;
    /* Options of the program, behind its name, are its own. */
    char launcher[512];
    const char *end = strstr(line, "_perf");
    end = end ? end : strstr(line, "osu_");
    end = end ? end : strstr(line, "IMB-");
    size_t length = end ? (size_t)(end - line) : strlen(line);
    if (length >= sizeof(launcher))
        length = sizeof(launcher) - 1;
    memcpy(launcher, line, length);
    launcher[length] = '\0';
    /* srun's -c are CPUs. */
    all = first_value(launcher, counts, sizeof(counts) / sizeof(counts[0]) - (is_srun ? 1 : 0));
    if (all > 0)
        return all;
    int node_count = is_srun ? FIRST_VALUE(launcher, nodes) : 0;
    int per_node = FIRST_VALUE(launcher, each);
    return node_count > 0 && per_node > 0 && node_count <= MOST / per_node ? node_count * per_node
                                                                           : 0;
}
