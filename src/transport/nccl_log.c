#define _GNU_SOURCE /* memfd_create, dup3 */
#include "transport/nccl_log.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lines ---- */

void cb_nccl_use_add(struct cb_nccl_use *use, const char *name, int connections)
{
    for (int i = 0; i < use->way_count; i++)
        if (strcmp(use->ways[i].name, name) == 0) {
            use->ways[i].connections += connections;
            return;
        }
    if (use->way_count == CB_NCCL_WAYS)
        return;
    struct cb_nccl_way *way = &use->ways[use->way_count++];
    snprintf(way->name, sizeof(way->name), "%.*s", (int)sizeof(way->name) - 1, name);
    way->connections = connections;
}

/* Keeps of "NET/IB/0(3)/GDRDMA/Shared" what says how data went: kind, maker, RDMA. The number is a
 * device's, the rest is how its buffers are shared. A maker's name may have blanks. */
static void add_way(struct cb_nccl_use *use, const char *text, size_t length)
{
    static const char *const kept[] = {"GDRDMA", "CUMEM", "IPC", "MNNVL", "indirect"};
    bool has_maker = strncmp(text, "NET/", 4) == 0 || strncmp(text, "COLLNET/", 8) == 0;
    char name[64] = "", word[64];
    size_t used = 0;
    int index = 0;
    for (size_t i = 0; i < length; index++) {
        size_t end = i;
        while (end < length && text[end] != '/')
            end++;
        snprintf(word, sizeof(word), "%.*s", (int)(end - i), text + i);
        word[strcspn(word, "(")] = '\0';
        bool is_kept = index == 0 || (index == 1 && has_maker);
        for (size_t k = 0; k < sizeof(kept) / sizeof(kept[0]); k++)
            is_kept |= index > 0 && strcmp(word, kept[k]) == 0;
        if (is_kept && used < sizeof(name) - 1)
            used +=
                (size_t)snprintf(name + used, sizeof(name) - used, "%s%s", index ? "/" : "", word);
        i = end + 1;
    }
    if (name[0])
        cb_nccl_use_add(use, name, 1);
}

/* "Channel 00/0 : 0[0] -> 1[1] [send] via NET/AWS Libfabric/0/GDRDMA", with " comm 0x55d0 nRanks
 * 16" behind it up to 2.18; of switches that add up, "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0".
 */
static void read_channel(const char *line, struct cb_nccl_use *use)
{
    const char *via = strstr(line, " via ");
    if (!via)
        return;
    via += strlen(" via ");
    const char *behind = strstr(via, " comm ");
    add_way(use, via, behind ? (size_t)(behind - via) : strcspn(via, "\t,\r"));
}

static void copy_word(char *out, size_t size_bytes, const char *text)
{
    size_t length = strcspn(text, "\n");
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    snprintf(out, size_bytes, "%.*s", (int)(length < size_bytes ? length : size_bytes - 1), text);
}

/* "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>": the devices, without
 * their numbers and what follows them. */
static void read_interfaces(const char *line, struct cb_nccl_use *use)
{
    char out[sizeof(use->interfaces)] = "";
    size_t used = 0;
    for (const char *at = strchr(line, '['); at && used < sizeof(out) - 1;
         at = strchr(at + 1, '[')) {
        if (!isdigit((unsigned char)at[1]))
            continue;
        const char *name = strchr(at, ']');
        if (!name)
            break;
        name++;
        size_t length = strcspn(name, " ;\n");
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s%.*s", used ? " " : "",
                                 (int)length, name);
    }
    if (out[0])
        memcpy(use->interfaces, out, sizeof(out));
}

static void keep_largest(int *kept, int value)
{
    if (value > *kept)
        *kept = value;
}

/* "24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, ..." */
static void read_counts(const char *line, struct cb_nccl_use *use)
{
    static const char *const names[] = {" coll channels", " nvls channels", " p2p channels"};
    int *const places[] = {&use->collective_channels, &use->nvls_channels, &use->point_channels};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *at = strstr(line, names[i]);
        const char *start = at;
        while (start && start > line && isdigit((unsigned char)start[-1]))
            start--;
        if (start && start < at)
            keep_largest(places[i], (int)strtol(start, NULL, 10));
    }
}

static void read_info(const char *line, struct cb_nccl_use *use)
{
    const char *at;
    if (strncmp(line, "Channel ", 8) == 0 || strncmp(line, "CollNet ", 8) == 0)
        read_channel(line, use);
    else if ((strncmp(line, "NET/", 4) == 0 || strncmp(line, "OOB", 3) == 0) &&
             (at = strstr(line, ": Using ")))
        read_interfaces(at, use);
    else if (strncmp(line, "Using network ", 14) == 0)
        copy_word(use->network, sizeof(use->network), line + 14);
    else if ((at = strstr(line, "Successfully loaded external")) ||
             (at = strstr(line, "Loaded net plugin ")))
        copy_word(use->plugin, sizeof(use->plugin), at);
    else if (strstr(line, "NVLS multicast support is available"))
        use->multicast = true;
    else if (strstr(line, "Connected all rings"))
        use->rings = true;
    else if (strstr(line, "Connected all trees"))
        use->trees = true;
    else if (strstr(line, "Affinity for GPU") && strstr(line, "is empty, ignoring"))
        use->bound_far = true;
    else if (strstr(line, " coll channels"))
        read_counts(line, use);
    else if (strstr(line, "- Init START"))
        use->starts++;
    else
        cb_algorithm_read(line, &use->told);
}

void cb_nccl_log_parse(const char *text, struct cb_nccl_use *use)
{
    char line[1024];
    while (*text) {
        size_t length = strcspn(text, "\n");
        snprintf(line, sizeof(line), "%.*s",
                 (int)(length < sizeof(line) ? length : sizeof(line) - 1), text);
        const char *info = strstr(line, "NCCL INFO ");
        const char *warning = strstr(line, "NCCL WARN ");
        if (info || warning)
            use->has_log = true;
        if (info)
            read_info(info + strlen("NCCL INFO "), use);
        else if (warning && !use->warning[0])
            copy_word(use->warning, sizeof(use->warning), warning + strlen("NCCL WARN "));
        text += length;
        text += *text == '\n';
    }
}

/* ---- the file ---- */

/* NCCL opens NCCL_DEBUG_FILE by its name, and truncates it, each time it reads its settings. The
 * name stands for a descriptor of this process, so that a switch can put a new file behind it and
 * keep the old one, with all that is still written into it, until it has been read. */
#define NAME_OF_DESCRIPTOR "/proc/self/fd/%d"
#define SETTING "NCCL_DEBUG_SUBSYS=INIT,NET,GRAPH,ENV"
#define SETTING_THAT_TELLS SETTING ",TUNING"

static int new_file(void)
{
    return memfd_create("commbound-nccl", MFD_CLOEXEC);
}

void cb_nccl_log_open(struct cb_nccl_log *log)
{
    char name[sizeof(NAME_OF_DESCRIPTOR) + 16];
    *log = (struct cb_nccl_log){.file = -1, .previous = -1};
    log->use.is_kept = getenv("NCCL_DEBUG") || getenv("NCCL_DEBUG_FILE");
    if (log->use.is_kept)
        return;
    log->file = new_file();
    snprintf(name, sizeof(name), NAME_OF_DESCRIPTOR, log->file);
    /* The user's own choice of subsystems concerns output that the user reads. */
    memcpy(log->subsystems, SETTING_THAT_TELLS, sizeof(SETTING_THAT_TELLS));
    log->subsystems[strlen(SETTING)] = '\0';
    if (log->file < 0 || access(name, W_OK) || setenv("NCCL_DEBUG", "INFO", 1) ||
        setenv("NCCL_DEBUG_FILE", name, 1) || putenv(log->subsystems)) {
        log->use.no_file_errno = errno;
        cb_nccl_log_close(log);
    }
}

/* Adds the whole lines that a file holds beyond offset, to the last byte where it is complete. */
static void drain(struct cb_nccl_log *log, int file, off_t *offset, bool is_complete)
{
    enum { MOST_BYTES = 64 << 20 };
    struct stat state;
    if (file < 0 || fstat(file, &state) || state.st_size <= *offset)
        return;
    off_t size = state.st_size - *offset;
    size_t room = size < MOST_BYTES ? (size_t)size : MOST_BYTES;
    char *text = malloc(room + 1);
    ssize_t length = text ? pread(file, text, room, *offset) : -1;
    while (!is_complete && length > 0 && text[length - 1] != '\n')
        length--;
    if (length > 0) {
        text[length] = '\0';
        cb_nccl_log_parse(text, &log->use);
        *offset += length;
    }
    free(text);
}

static void drain_all(struct cb_nccl_log *log, bool is_complete)
{
    if (log->file < 0)
        return;
    drain(log, log->previous, &log->previous_offset, true);
    drain(log, log->file, &log->offset, is_complete);
}

/* Leaves the file to whoever still writes to it, and puts an empty one behind its name. */
static bool change_file(struct cb_nccl_log *log)
{
    int fresh = new_file();
    int previous = fresh < 0 ? -1 : fcntl(log->file, F_DUPFD_CLOEXEC, 0);
    bool is_changed = previous >= 0 && dup3(fresh, log->file, O_CLOEXEC) >= 0;
    if (fresh >= 0)
        close(fresh);
    if (!is_changed) {
        if (previous >= 0)
            close(previous);
        return false;
    }
    drain(log, log->previous, &log->previous_offset, true);
    if (log->previous >= 0)
        close(log->previous);
    log->previous = previous;
    log->previous_offset = log->offset;
    log->offset = 0;
    return true;
}

bool cb_nccl_log_switch(struct cb_nccl_log *log, bool tells, void (*reset)(void))
{
    if (log->file < 0)
        return false;
    if (!change_file(log)) {
        if (tells)
            return false;
        /* Better a line lost than one for every operation. */
        drain_all(log, true);
        if (ftruncate(log->file, 0) == 0)
            log->offset = 0;
    }
    /* One byte: a thread of NCCL's that reads the setting meanwhile finds the one or the other. */
    __atomic_store_n(&log->subsystems[strlen(SETTING)], tells ? ',' : '\0', __ATOMIC_RELEASE);
    reset();
    return true;
}

bool cb_nccl_log_algorithm(struct cb_nccl_log *log, enum cb_op op, struct cb_algorithm *out)
{
    drain_all(log, false);
    bool is_told = log->use.told.algorithm.name[0] && cb_algorithm_is_of(&log->use.told, op);
    if (is_told)
        *out = log->use.told.algorithm;
    log->use.told = (struct cb_algorithm_line){0};
    return is_told;
}

void cb_nccl_log_read(struct cb_nccl_log *log, struct cb_nccl_use *use)
{
    drain_all(log, true);
    *use = log->use;
}

int cb_nccl_log_count_starts(struct cb_nccl_log *log)
{
    drain_all(log, false);
    return log->file < 0 ? -1 : log->use.starts;
}

void cb_nccl_log_close(struct cb_nccl_log *log)
{
    if (log->file < 0)
        return;
    unsetenv("NCCL_DEBUG");
    unsetenv("NCCL_DEBUG_FILE");
    unsetenv("NCCL_DEBUG_SUBSYS");
    if (log->previous >= 0)
        close(log->previous);
    close(log->file);
    log->file = log->previous = -1;
}
