/* The configuration file: "key = value" lines, # starts a comment. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simgpu.h"

enum value_type { VALUE_NUMBER, VALUE_INT, VALUE_TEXT };

struct row {
    const char *key;
    enum value_type type;
    size_t offset, size; /* size of a text */
};

#define NUMBER(member)                                                                             \
    {                                                                                              \
#member, VALUE_NUMBER, offsetof(struct simgpu_config, member), 0                           \
    }
#define INT(member)                                                                                \
    {                                                                                              \
#member, VALUE_INT, offsetof(struct simgpu_config, member), 0                              \
    }
#define TEXT(member)                                                                               \
    {                                                                                              \
#member, VALUE_TEXT, offsetof(struct simgpu_config, member),                               \
            sizeof(((struct simgpu_config *)0)->member)                                            \
    }
#define FLOPS(key, format)                                                                         \
    {                                                                                              \
        key, VALUE_NUMBER,                                                                         \
            offsetof(struct simgpu_config, flops_per_s) + (format) * sizeof(double), 0             \
    }

static const struct row rows[] = {
    TEXT(name),
    INT(devices),
    INT(sm_count),
    NUMBER(memory_bytes),
    NUMBER(shown_free_bytes),
    NUMBER(l2_bytes),
    NUMBER(pci_device_id),
    NUMBER(pci_subsystem_id),
    INT(driver_version),
    TEXT(driver_text),
    NUMBER(call_s),
    NUMBER(kernel_s),
    NUMBER(memory_bytes_per_s),
    FLOPS("flops_fp64", SIMGPU_FP64),
    FLOPS("flops_fp32", SIMGPU_FP32),
    FLOPS("flops_tf32", SIMGPU_TF32),
    FLOPS("flops_fp16", SIMGPU_FP16),
    FLOPS("flops_bf16", SIMGPU_BF16),
    FLOPS("flops_fp8", SIMGPU_FP8),
    NUMBER(copy_s),
    NUMBER(host_to_device_bytes_per_s),
    NUMBER(device_to_host_bytes_per_s),
    NUMBER(both_ways_share),
    NUMBER(pageable_share),
    NUMBER(peer_bytes_per_s),
    TEXT(gpu_link),
    INT(nvlink_version),
    INT(nvlink_links),
    INT(nvlink_switch),
    NUMBER(nvlink_bytes_per_s),
    INT(fabric_state),
    INT(gpus_per_switch),
    INT(pcie_generation),
    INT(pcie_width),
    NUMBER(nvls_bytes_per_s),
    NUMBER(collective_s),
    NUMBER(gpu_hop_s),
    NUMBER(gpu_bytes_per_s),
    INT(nics),
    TEXT(nic_name),
    TEXT(nic_kind),
    NUMBER(nic_bytes_per_s),
    NUMBER(nic_hop_s),
    NUMBER(socket_bytes_per_s),
    NUMBER(socket_hop_s),
    NUMBER(sm_mhz),
    NUMBER(sm_max_mhz),
    NUMBER(memory_mhz),
    NUMBER(power_idle_w),
    NUMBER(power_load_w),
    NUMBER(power_limit_w),
    NUMBER(temperature_idle_c),
    NUMBER(temperature_load_c),
};

static char *trim(char *text)
{
    while (*text == ' ' || *text == '\t')
        text++;
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]) != NULL)
        text[--length] = '\0';
    return text;
}

static int set_value(const struct row *row, const char *value, struct simgpu_config *out)
{
    char *place = (char *)out + row->offset;
    if (row->type == VALUE_TEXT) {
        snprintf(place, row->size, "%s", value);
        return 0;
    }
    char *end;
    double number = strtod(value, &end);
    if (end == value || *end != '\0')
        return -1;
    if (row->type == VALUE_NUMBER)
        *(double *)(void *)place = number;
    else
        *(int *)(void *)place = (int)number;
    return 0;
}

static int set_line(const char *key, const char *value, struct simgpu_config *out)
{
    if (strcmp(key, "compute_capability") == 0)
        return sscanf(value, "%d.%d", &out->compute_capability_major,
                      &out->compute_capability_minor) == 2
                   ? 0
                   : -1;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (strcmp(key, rows[i].key) == 0)
            return set_value(&rows[i], value, out);
    return -1;
}

int simgpu_config_read(const char *path, struct simgpu_config *out, char *message, size_t size)
{
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        snprintf(message, size, "cannot open %s", path);
        return -1;
    }
    struct simgpu_config config = {0};
    char line[256];
    int number = 0, rc = 0;
    while (rc == 0 && fgets(line, sizeof(line), file) != NULL) {
        number++;
        line[strcspn(line, "#")] = '\0';
        char *equals = strchr(line, '=');
        if (equals == NULL && *trim(line) == '\0')
            continue;
        if (equals != NULL)
            *equals = '\0';
        if (equals == NULL || set_line(trim(line), trim(equals + 1), &config) != 0) {
            snprintf(message, size, "%s:%d: no such key or not a value of it", path, number);
            rc = -1;
        }
    }
    fclose(file);
    if (rc == 0 && strncmp(config.name, "Simulated", 9) != 0) {
        snprintf(message, size, "%s: name must begin with \"Simulated\"", path);
        rc = -1;
    }
    if (rc == 0)
        *out = config;
    return rc;
}

static struct simgpu_config loaded;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static void load(void)
{
    const char *path = getenv("SIMGPU_CONFIG");
    char message[512];
    if (simgpu_config_read(path != NULL ? path : SIMGPU_DEFAULT_CONFIG, &loaded, message,
                           sizeof(message)) == 0)
        return;
    fprintf(stderr, "simgpu: %s\n", message);
    exit(2);
}

const struct simgpu_config *simgpu_config(void)
{
    pthread_once(&load_once, load);
    return &loaded;
}
