/* Reading NCCL's debug output: lines as versions 2.18 to 2.30 write them. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cb_test.h"
#include "transport/nccl_log.h"

#define INFO "node1:4242:4250 [0] NCCL INFO "
#define WARN "node1:4242:4250 [0] transport/net.cc:12 NCCL WARN "

static int connections(const struct cb_nccl_use *use, const char *name)
{
    for (int i = 0; i < use->way_count; i++)
        if (strcmp(use->ways[i].name, name) == 0)
            return use->ways[i].connections;
    return 0;
}

static void test_infiniband_with_nvlink(void **state)
{
    struct cb_nccl_use use = {0};
    (void)state;
    cb_nccl_log_parse(
        INFO "NCCL version 2.28.9+cuda13.0\n" INFO
             "NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n" INFO
             "Using network IB\n" INFO "NVLS multicast support is available on dev 0\n" INFO
             "ncclCommInitRankConfig comm 0x1 rank 0 nranks 16 commId 0x2 - Init START\n" INFO
             "ncclCommInitRankConfig comm 0x1 rank 0 nranks 16 commId 0x2 - Init COMPLETE\n" INFO
             "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n" INFO
             "Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM\n" INFO
             "Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0(3)/GDRDMA/Shared\n" INFO
             "Channel 00/0 : 8[0] -> 0[0] [receive] via NET/IB/1/GDRDMA\n" INFO
             "Connected all rings, use ring PXN 0 GDR 1\n" INFO "Connected all trees\n" INFO
             "24 coll channels, 0 collnet channels, 16 nvls channels, 32 p2p channels, 4 p2p "
             "channels per peer\n" INFO
             "2 coll channels, 0 collnet channels, 0 nvls channels, 2 p2p channels, 2 p2p "
             "channels per peer\n",
        &use);
    assert_true(use.has_log);
    assert_string_equal(use.network, "IB");
    assert_string_equal(use.interfaces, "mlx5_0:1/IB mlx5_1:1/RoCE");
    assert_int_equal(connections(&use, "P2P/CUMEM"), 2);
    assert_int_equal(connections(&use, "NET/IB/GDRDMA"), 2);
    assert_int_equal(use.way_count, 2);
    assert_int_equal(use.starts, 1);
    assert_true(use.multicast);
    assert_true(use.rings);
    assert_true(use.trees);
    assert_int_equal(use.collective_channels, 24);
    assert_int_equal(use.nvls_channels, 16);
    assert_int_equal(use.point_channels, 32);
    assert_string_equal(use.warning, "");
}

static void test_sockets_and_shared_memory(void **state)
{
    struct cb_nccl_use use = {0};
    (void)state;
    cb_nccl_log_parse(INFO "NET/IB : No device found.\n" INFO
                           "NET/Socket : Using [0]eth0:10.140.0.7<0> [1]eth1:10.141.0.7<0>\n" INFO
                           "Using network Socket\n" INFO
                           "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct\n" INFO
                           "Channel 00/0 : 1[1] -> 2[0] [send] via NET/Socket/0\n" INFO
                           "ncclTopoGetCpuAffinity: Affinity for GPU 1 is empty, ignoring. (GPU "
                           "affinity = 0-3 ; CPU affinity = 4-7).\n" WARN
                           "Call to connect returned Connection refused\n" WARN "something else",
                      &use);
    assert_string_equal(use.network, "Socket");
    assert_string_equal(use.interfaces, "eth0:10.140.0.7<0> eth1:10.141.0.7<0>");
    assert_int_equal(connections(&use, "SHM"), 1);
    assert_int_equal(connections(&use, "NET/Socket"), 1);
    assert_true(use.bound_far);
    assert_false(use.multicast);
    assert_string_equal(use.warning, "Call to connect returned Connection refused");
}

static void test_other_networks_and_ways(void **state)
{
    struct cb_nccl_use use = {0};
    (void)state;
    cb_nccl_log_parse(
        INFO "Using network AWS Libfabric  \n" INFO
             "Channel 00/1 : 0[0] -> 8[0] [send] via NET/Libfabric/3/GDRDMA\n" INFO
             "Channel 00/0 : 0[0] -> 3[3] via P2P/indirect/2[2]\n" INFO
             "Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer/read\n" INFO
             "Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n" INFO
             "Channel 00/0 : 0[d6000] -> 2[de000] via P2P/IPC comm 0x9bbf3b0 nRanks "
             "16\n" INFO "Channel 00/0 : 4[0] -> 0[0] [receive] via NET/AWS Libfabric/2/GDRDMA "
             "comm 0x9bbf3b0 nRanks 16\n" INFO
             "Channel 01/0 : 0[0] -> 4[0] [send] via NET/AWS Libfabric/1/GDRDMA\n" INFO
             "Channel 02/0 : 0[0] -> 4[0] [send] via NET/IBext_v8/0\n" INFO
             "Channel 03/0 : 0[0] -> 4[0] [send] via NET/IB/0/GDRDMA(PCI)/Shared\n" INFO
             "CollNet 00/0 : 0 [send] via COLLNET/SHARP/0/GDRDMA\n",
        &use);
    assert_string_equal(use.network, "AWS Libfabric");
    assert_int_equal(connections(&use, "NET/AWS Libfabric/GDRDMA"), 2);
    assert_int_equal(connections(&use, "NET/IBext_v8"), 1);
    assert_int_equal(connections(&use, "NET/IB/GDRDMA"), 1);
    assert_int_equal(connections(&use, "COLLNET/SHARP/GDRDMA"), 1);
    assert_int_equal(connections(&use, "NET/Libfabric/GDRDMA"), 1);
    assert_int_equal(connections(&use, "P2P/indirect"), 1);
    assert_int_equal(connections(&use, "P2P"), 1);
    assert_int_equal(connections(&use, "P2P/IPC"), 2);
}

/* Whatever is in the file, reading it neither overruns nor invents anything. */
static void test_noise(void **state)
{
    struct cb_nccl_use use = {0}, none = {0};
    char text[5000];
    (void)state;
    cb_nccl_log_parse("", &use);
    cb_nccl_log_parse("\n\nnothing of NCCL here\nChannel 0 via NET/IB\n", &use);
    assert_memory_equal(&use, &none, sizeof(use));
    memset(text, '/', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text, INFO "Channel 0 via ", strlen(INFO "Channel 0 via "));
    cb_nccl_log_parse(text, &use);
    assert_true(use.has_log);
    memset(text, '[', sizeof(text) - 1);
    memcpy(text, INFO "NET/IB : Using [0", strlen(INFO "NET/IB : Using [0"));
    cb_nccl_log_parse(text, &use);
    assert_string_equal(use.interfaces, "");
    for (int i = 0; i < 3 * CB_NCCL_WAYS; i++) {
        char name[16] = {'N', (char)('a' + i % 26), (char)('a' + i / 26)};
        cb_nccl_use_add(&use, name, 1);
    }
    assert_int_equal(use.way_count, CB_NCCL_WAYS);
}

/* NCCL as far as its log goes: one setting and one file, read by the first message after a reset.
 */
static struct {
    bool is_unread;
    bool tells;
    FILE *file;
    int opened;
} library;

static void reset_library(void)
{
    library.is_unread = true;
}

static void library_writes(const char *line)
{
    if (library.is_unread) {
        if (library.file)
            fclose(library.file);
        library.file = fopen(getenv("NCCL_DEBUG_FILE"), "w");
        library.tells = strstr(getenv("NCCL_DEBUG_SUBSYS"), "TUNING") != NULL;
        library.is_unread = false;
        library.opened++;
    }
    assert_non_null(library.file);
    setlinebuf(library.file);
    fputs(line, library.file);
}

static void library_runs(const char *function)
{
    char line[256];
    library_writes(""); /* its subsystem COLL looks at the settings, and then keeps silent */
    snprintf(line, sizeof(line), INFO "%s: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}\n",
             function);
    if (library.tells)
        library_writes(line);
}

static int open_library_log(void **state)
{
    static struct cb_nccl_log log;
    unsetenv("NCCL_DEBUG");
    unsetenv("NCCL_DEBUG_FILE");
    setenv("NCCL_DEBUG_SUBSYS", "INIT", 1); /* without NCCL_DEBUG it asks for nothing */
    memset(&library, 0, sizeof(library));
    library.is_unread = true;
    cb_nccl_log_open(&log);
    *state = &log;
    return 0;
}

static int close_library_log(void **state)
{
    cb_nccl_log_close(*state);
    if (library.file)
        fclose(library.file);
    return 0;
}

static void test_log_has_no_name_and_leaves_nothing(void **state)
{
    struct cb_nccl_log *log = *state;
    struct cb_nccl_use use = {0};
    struct stat file;
    assert_string_equal(getenv("NCCL_DEBUG"), "INFO");
    assert_string_equal(getenv("NCCL_DEBUG_SUBSYS"), "INIT,NET,GRAPH,ENV");
    assert_int_equal(fstat(log->file, &file), 0);
    assert_int_equal(file.st_nlink, 0);
    assert_true(fcntl(log->file, F_GETFD) & FD_CLOEXEC);
    library_writes(INFO "Using network Socket\n");
    library_writes(INFO "Channel 00 : 0[0] -> 1[1] via SHM");
    cb_nccl_log_read(log, &use);
    assert_string_equal(use.network, "Socket");
    assert_false(use.is_kept);
    cb_nccl_log_close(log);
    assert_int_equal(log->file, -1);
    assert_null(getenv("NCCL_DEBUG"));
    assert_null(getenv("NCCL_DEBUG_FILE"));
    assert_null(getenv("NCCL_DEBUG_SUBSYS"));
}

/* One operation is named, those before and after it are not, and no other line is lost or counted
 * twice, whatever threads of NCCL's write while the log is switched. */
static void test_one_operation_is_named(void **state)
{
    enum { STEPS = 5 };
    struct cb_nccl_log *log = *state;
    struct cb_nccl_use use = {0};
    struct cb_algorithm algorithm;
    for (int i = 0; i < STEPS; i++) {
        library_runs("AllReduce");
        library_writes(INFO "Channel 00 : 0[0] -> 1[1] via SHM\n");
        assert_true(cb_nccl_log_switch(log, true, reset_library));
        library_writes(INFO "Channel 01 : 0[0] -> 1[1] via SHM\n");
        library_runs("AllReduce");
        library_writes(INFO "Channel 02 : 0[0] -> 1[1] via SHM\n");
        assert_true(cb_nccl_log_switch(log, false, reset_library));
        library_writes(INFO "Channel 03 : 0[0] -> 1[1] via SHM\n");
        library_runs("Broadcast");
        assert_true(cb_nccl_log_algorithm(log, CB_OP_ALL_REDUCE, &algorithm));
        assert_string_equal(algorithm.name, "ring");
        assert_string_equal(algorithm.protocol, "LL");
        assert_int_equal(algorithm.channels, 2);
        assert_false(cb_nccl_log_algorithm(log, CB_OP_ALL_REDUCE, &algorithm));
    }
    cb_nccl_log_read(log, &use);
    assert_int_equal(connections(&use, "SHM"), 4 * STEPS);
    assert_int_equal(library.opened, 1 + 2 * STEPS);
}

/* Two switches without a message in between, and an operation of another kind. */
static void test_nothing_is_named(void **state)
{
    struct cb_nccl_log *log = *state;
    struct cb_algorithm algorithm = {.name = "untouched"};
    library_writes(INFO "Using network Socket\n");
    cb_nccl_log_switch(log, true, reset_library);
    cb_nccl_log_switch(log, false, reset_library);
    assert_false(cb_nccl_log_algorithm(log, CB_OP_ALL_REDUCE, &algorithm));
    cb_nccl_log_switch(log, true, reset_library);
    library_runs("AllGather");
    cb_nccl_log_switch(log, false, reset_library);
    assert_false(cb_nccl_log_algorithm(log, CB_OP_ALL_REDUCE, &algorithm));
    assert_string_equal(algorithm.name, "untouched");
    struct cb_nccl_use use;
    cb_nccl_log_read(log, &use);
    assert_string_equal(use.network, "Socket");
}

static void test_descriptors_are_given_back(void **state)
{
    struct cb_nccl_log *log = *state;
    int before = dup(0);
    close(before);
    cb_nccl_log_switch(log, true, reset_library);
    for (int i = 0; i < 100; i++)
        assert_true(cb_nccl_log_switch(log, i % 2 == 0, reset_library));
    int after = dup(0);
    close(after);
    assert_in_range(after, 0, before + 1); /* the file before the last */
}

/* NCCL is not let to speak, but whoever let it speak can silence it. */
static void test_no_descriptor_left(void **state)
{
    struct cb_nccl_log *log = *state;
    struct cb_nccl_use use;
    struct cb_algorithm algorithm;
    struct rlimit limit, none = {0};
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none.rlim_max = limit.rlim_max;
    library_writes(INFO "Channel 00 : 0[0] -> 1[1] via SHM\n");
    for (int i = 0; i < 2; i++) {
        bool was_on = i > 0;
        if (was_on) {
            assert_true(cb_nccl_log_switch(log, true, reset_library));
            library_runs("AllReduce");
        }
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        bool is_on = cb_nccl_log_switch(log, true, reset_library);
        bool is_off = cb_nccl_log_switch(log, false, reset_library);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
        assert_false(is_on);
        assert_true(is_off);
        assert_true(library.is_unread);
        assert_string_equal(getenv("NCCL_DEBUG_SUBSYS"), "INIT,NET,GRAPH,ENV");
        assert_int_equal(cb_nccl_log_algorithm(log, CB_OP_ALL_REDUCE, &algorithm), was_on);
        library_writes(INFO "Channel 00 : 0[0] -> 1[1] via SHM\n");
    }
    cb_nccl_log_read(log, &use);
    assert_int_equal(connections(&use, "SHM"), 3);
}

static void test_what_the_user_set_stays(void **state)
{
    struct cb_nccl_log log;
    struct cb_nccl_use use = {0};
    struct cb_algorithm algorithm;
    (void)state;
    unsetenv("NCCL_DEBUG_FILE");
    setenv("NCCL_DEBUG", "WARN", 1);
    cb_nccl_log_open(&log);
    assert_int_equal(log.file, -1);
    assert_string_equal(getenv("NCCL_DEBUG"), "WARN");
    assert_null(getenv("NCCL_DEBUG_FILE"));
    library.is_unread = false;
    assert_false(cb_nccl_log_switch(&log, true, reset_library));
    assert_false(library.is_unread);
    assert_false(cb_nccl_log_algorithm(&log, CB_OP_ALL_REDUCE, &algorithm));
    cb_nccl_log_read(&log, &use);
    assert_true(use.is_kept);
    assert_false(use.has_log);
    cb_nccl_log_close(&log);
    assert_string_equal(getenv("NCCL_DEBUG"), "WARN");
}

static void test_no_descriptor_is_left(void **state)
{
    struct cb_nccl_log log;
    struct cb_nccl_use use = {0};
    struct rlimit all, none;
    (void)state;
    unsetenv("NCCL_DEBUG");
    unsetenv("NCCL_DEBUG_FILE");
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = all.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    cb_nccl_log_open(&log);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
    assert_int_equal(log.file, -1);
    assert_null(getenv("NCCL_DEBUG"));
    assert_null(getenv("NCCL_DEBUG_FILE"));
    cb_nccl_log_read(&log, &use);
    assert_int_equal(use.no_file_errno, EMFILE);
    assert_false(use.is_kept);
    cb_nccl_log_close(&log);
}

#define WITH_LOG(test) cmocka_unit_test_setup_teardown(test, open_library_log, close_library_log)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_infiniband_with_nvlink),
        cmocka_unit_test(test_sockets_and_shared_memory),
        cmocka_unit_test(test_other_networks_and_ways),
        cmocka_unit_test(test_noise),
        WITH_LOG(test_log_has_no_name_and_leaves_nothing),
        WITH_LOG(test_one_operation_is_named),
        WITH_LOG(test_nothing_is_named),
        WITH_LOG(test_descriptors_are_given_back),
        WITH_LOG(test_no_descriptor_left),
        cmocka_unit_test(test_what_the_user_set_stays),
        cmocka_unit_test(test_no_descriptor_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
