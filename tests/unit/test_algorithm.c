/* Lines in which NCCL names an operation's algorithm, in the forms of its versions. */
#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "model/algorithm.h"

static void test_forms_of_versions(void **state)
{
    static const struct {
        const char *text, *function;
        uint64_t bytes;
        const char *name, *protocol;
        int channels;
    } lines[] = {
        {"AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..15}", "AllReduce",
         1048576, "ring", "LL128", 16},
        {"AllReduce: 8 Bytes -> Algo TREE proto LL channel{Lo..Hi}={3..3}", "AllReduce", 8, "tree",
         "LL", 1},
        {"AllReduce: 4096 Bytes -> Algo NVLS proto SIMPLE channel{Lo..Hi}={0..23} cgaClusterSize 2",
         "AllReduce", 4096, "NVLS", "Simple", 24},
        {"AllReduce: 1 Bytes -> Algo NVLS_TREE proto SIMPLE channel{Lo..Hi}={0..7} comm 0x55",
         "AllReduce", 1, "NVLS tree", "Simple", 8},
        {"ReduceScatter: 1 Bytes -> Algo COLLNET_DIRECT proto SIMPLE channel{Lo..Hi}={0..1}",
         "ReduceScatter", 1, "CollNet direct", "Simple", 2},
        {"AllReduce: 1 Bytes -> Algo COLLNET_CHAIN proto SIMPLE channel{Lo..Hi}={0..1}",
         "AllReduce", 1, "CollNet chain", "Simple", 2},
        {"AllGather: 1 Bytes -> Algo PAT proto SIMPLE channel{Lo..Hi}={0..0}", "AllGather", 1,
         "PAT", "Simple", 1},
        {"AllGather: 512 Bytes -> Algo Ring proto Simple", "AllGather", 512, "ring", "Simple", 0},
        {"262144 Bytes -> Algo 0 proto 1 time 54.707825", "", 262144, "tree", "LL128", 0},
        {"AllGather: 37756928 Bytes -> Algo 1 proto 2 time 2860.208008", "AllGather", 37756928,
         "ring", "Simple", 0},
        {"16 Bytes -> Algo 6 proto 0 time 1.0", "", 16, "PAT", "LL", 0},
        {"AllReduce [Symmetric]: 64 Bytes -> Kernel AllReduce_AGxLLMC_R nchannels 4 nthreads 512 "
         "nWorks 1",
         "AllReduce", 64, "symmetric", "", 4},
        {"AllGather [Copy Engine]: 64 Bytes -> cudaMemcpyBatchAsync", "AllGather", 64,
         "copy engine", "", 0},
        {"AllGather [Hierarchical CE]: 64 Bytes -> RMA proxy + CE", "AllGather", 64,
         "hierarchical copy engine", "", 0},
        {"AllReduce: 64 Bytes -> Algo NEXT_YEARS proto LL256 channel{Lo..Hi}={0..1}", "AllReduce",
         64, "NEXT_YEARS", "LL256", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct cb_algorithm_line line;
        if (!cb_algorithm_read(lines[i].text, &line))
            fail_msg("not read: %s", lines[i].text);
        assert_string_equal(line.function, lines[i].function);
        assert_int_equal(line.bytes, lines[i].bytes);
        assert_string_equal(line.algorithm.name, lines[i].name);
        assert_string_equal(line.algorithm.protocol, lines[i].protocol);
        assert_int_equal(line.algorithm.channels, lines[i].channels);
    }
}

/* Nothing is read from what does not say it all, and nothing is written. */
static void test_other_lines(void **state)
{
    static const char *const lines[] = {
        "",
        " Bytes -> Algo RING proto LL",
        "Bytes -> Algo RING proto LL",
        "AllReduce: Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}",
        "AllReduce: 12345678901234567890 Bytes -> Algo RING proto LL",
        "AllReduce 64 Bytes -> Algo RING proto LL",
        "AllReduce:64 Bytes -> Algo RING proto LL",
        ": 64 Bytes -> Algo RING proto LL",
        "AFunctionWithANameThatIsMuchTooLong: 64 Bytes -> Algo RING proto LL",
        "AllReduce: 64 Bytes -> ",
        "AllReduce: 64 Bytes -> Algo ",
        "AllReduce: 64 Bytes -> Algo RING",
        "AllReduce: 64 Bytes -> Algo RING proto ",
        "AllReduce: 64 Bytes -> Algo Unknown proto LL",
        "AllReduce: 64 Bytes -> Algo RING proto Unknown",
        "64 Bytes -> Algo 7 proto 0 time 1.0",
        "64 Bytes -> Algo 0 proto 3 time 1.0",
        "64 Bytes -> Algo -1 proto 0 time 1.0",
        "64 Bytes -> Algo 18446744073709551616 proto 0 time 1.0",
        "AllReduce: 64 Bytes -> Algo ANAMETHATISLONGERTHANANYNAMECOULDBE proto LL",
        "AllReduce [Else]: 64 Bytes -> Algo RING proto LL",
        "AllReduce [Symmetric]: 64 Bytes -> Algo RING proto LL",
        "Best tuning, algorithm, RING, protocol, LL",
        "AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x2 count 64 datatype 7",
    };
    const struct cb_algorithm_line untouched = {.bytes = 4711};
    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct cb_algorithm_line line = untouched;
        if (cb_algorithm_read(lines[i], &line))
            fail_msg("read: %s", lines[i]);
        assert_memory_equal(&line, &untouched, sizeof(line));
    }
}

/* Channels that cannot be are not said; the rest of the line holds. */
static void test_impossible_channels(void **state)
{
    static const char *const ranges[] = {"{3..1}", "{-1..1}", "{0..9999}", "{0..x}", "{0", ""};
    (void)state;
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        char text[128];
        struct cb_algorithm_line line;
        snprintf(text, sizeof(text), "AllReduce: 64 Bytes -> Algo RING proto LL channel{Lo..Hi}=%s",
                 ranges[i]);
        assert_true(cb_algorithm_read(text, &line));
        assert_string_equal(line.algorithm.name, "ring");
        assert_int_equal(line.algorithm.channels, 0);
    }
}

static void test_whose_line_it_is(void **state)
{
    struct cb_algorithm_line line;
    (void)state;
    assert_true(cb_algorithm_read("AllGather: 64 Bytes -> Algo RING proto LL", &line));
    assert_true(cb_algorithm_is_of(&line, CB_OP_ALL_GATHER));
    assert_false(cb_algorithm_is_of(&line, CB_OP_ALL_REDUCE));
    assert_true(cb_algorithm_read("64 Bytes -> Algo 1 proto 0 time 1.0", &line));
    assert_true(cb_algorithm_is_of(&line, CB_OP_ALL_REDUCE));
    assert_false(cb_algorithm_is_of(&line, CB_OP_ALL_TO_ALL)); /* has no algorithm */
    assert_false(cb_algorithm_is_of(&line, CB_OP_SEND_RECV));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms_of_versions),
        cmocka_unit_test(test_other_lines),
        cmocka_unit_test(test_impossible_channels),
        cmocka_unit_test(test_whose_line_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
