/* Real logs of other people, where the folder of test data is there: what must be found in each, by
 * its index. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cb_test.h"
#include "data_files.h"
#include "import_table.h"

#define ANY CB_ANY

#define GRADED CB_IMPORT_GRADED
#define PROVISIONAL CB_IMPORT_PROVISIONAL
#define INVALID CB_IMPORT_INVALID
#define NO_RESULT CB_IMPORT_NO_RESULT

/* clang-format off */
static const struct cb_expected_import logs[] = {
    {"a100x8_nvlink_allreduce_oldfmt.log", GRADED, "all_reduce", 8, 1, 34, 235.3, 235.0, {"average_hides_plateau"}},
    {"a100x8_nvlink_allgather_oldfmt.log", GRADED, "all_gather", 8, 1, 34, 223.4, 230.1, {"in_place_gap"}},
    {"a100x8_nvlink_reducescatter_oldfmt.log", GRADED, "reduce_scatter", 8, 1, 34, 231.5, 231.2, {0}},
    {"h100_p5_1node_tagged.log", GRADED, "all_reduce", 8, ANY, 32, 483.1, 483.4, {"nvls"}},
    {"h100_p5_1node_excerpt_ncclinfo.log", PROVISIONAL, "all_reduce", 8, ANY, 1, 468.6, 468.6, {"excerpt"}},
    {"b200_2gpu_1node_allgather_excerpt.log", PROVISIONAL, "all_gather", 2, 1, 8, 482.7, 564.1, {"excerpt", "in_place_gap"}},
    {"gb200_nvl4_1node_v220_trimmed.log", PROVISIONAL, "all_reduce", 4, ANY, 4, 605.3, 605.9, {"excerpt"}},
    {"rtx4090x4_p2p_driver.log", GRADED, "all_reduce", 4, 1, 21, 25.31, 25.31, {0}},
    {"rtx4090x8_no_p2p.log", GRADED, "all_reduce", 8, 1, 25, 15.04, 14.98, {"best_not_largest", "no_p2p"}},
    {"rtx2080ti_2gpu_v1fmt_ms_commented_rows.log", PROVISIONAL, "all_reduce", 2, 1, 21, 3.58, 3.57, {"small_sizes_only"}},
    {"titanx4_pcie_nccl1_singletest_fmt.log", GRADED, "all_reduce", 4, 1, 20, 9.33, 9.25, {0}},
    /* The index has the printed algorithm bandwidths here; its remark the bus bandwidths. */
    {"two_rank_root0_additive_dropoff_tail.log", PROVISIONAL, "", 2, ANY, 11, 19.73, 21.68, {"best_not_largest", "op_unknown"}},
    {"a100_2node_ib_hdr_oldfmt.log", GRADED, "all_reduce", 16, ANY, 30, 188.5, 188.7, {0}},
    {"a100_4node_ib_oldfmt.log", GRADED, "all_reduce", 32, ANY, 13, 191.1, 191.6, {0}},
    {"h100_2node_ib_ndr_healthy_mpi_warnings.log", GRADED, "all_reduce", 16, 2, 32, 469.2, 469.1, {"mpi_warning", "two_node_tree"}},
    {"h100_2node_ib_mpi1_rebuilt_tail.log", GRADED, "all_reduce", 16, 2, 5, 444.2, 444.7, {0}},
    {"h100_2node_ib_ndr_slow_ring_pinned.log", GRADED, "all_reduce", 16, 2, 11, 102.1, 102.3, {"low_for_these_gpus", "best_not_largest"}},
    {"gb200_nvl72_2rack.log", GRADED, "all_reduce", 144, ANY, 6, 810.4, 820.4, {"size_matters"}},
    {"gb200_nvl72_20rack.log", GRADED, "all_reduce", 1440, ANY, 6, 405.7, 404.8, {"size_matters"}},
    {"h100_2node_4nic_ring_after_acs_fix.log", GRADED, "all_reduce", 8, ANY, 5, 97.37, 97.54, {0}},
    {"gh200_2node_slingshot_tcp_fallback.log", GRADED, "all_reduce", 8, 2, 25, 6.02, 6.07, {"looks_like_sockets", "dip"}},
    {"mi300x_2node_rccl_roce.log", GRADED, "all_reduce", 16, 2, 5, 358.4, 358.2, {0}},
    {"h200_2node_gcp_rdma_allgather.log", GRADED, "all_gather", 16, ANY, 24, 328.9, 335.7, {"in_place_gap"}},
    {"h200_2node_1gpu_1nic.log", GRADED, "all_reduce", 2, 2, 24, 31.89, 31.88, {"step", "unequal_slots", "mpi_warning"}},
    {"b200_2node_gcp_rdma_trimmed_columns.log", GRADED, "all_reduce", 16, 2, 12, 684.5, 0, {0}},
    {"b200_2node_gcp_rdma_allgather_ssh_preamble.log", GRADED, "all_gather", 16, 2, 24, 261.6, 268.6, {"high_latency"}},
    {"b200_4worker_misaligned_nic_rows_elided.log", NO_RESULT, "", 16, 4, 0, 0, 0, {"rows_elided", "unequal_slots"}},
    {"b200_4worker_worse_misaligned_nic_rows_elided.log", NO_RESULT, "all_gather", 16, 4, 0, 0, 0, {"rows_elided", "unequal_slots"}},
    {"h100pcie_a100pcie_hetero_2node_roce_hoststaged.log", PROVISIONAL, "all_reduce", 2, 2, 7, 9.45, 0, {"excerpt", "mixed_gpus"}},
    {"roce25g_vf_2node_k8s_ncclinfo.log", GRADED, "all_reduce", 2, 2, 11, 2.84, 2.84, {"slow_link"}},
    {"rtx3090_2node_rdma_mtu256_ok.log", GRADED, "all_reduce", 2, 2, 27, 8.22, 8.21, {0}},
    {"gb10_2node_roce_v220_unalign_truncated.log", PROVISIONAL, "all_reduce", 2, 2, 4, 0.96, 1.01, {"truncated", "small_sizes_only"}},
    {"a100_p4de_2node_efa_srunlabel.log", PROVISIONAL, "all_reduce", 16, ANY, 29, 78.33, 78.33, {"truncated", "two_node_tree"}},
    {"h100_p5_2node_efa_tagged.log", GRADED, "all_reduce", 16, ANY, 32, 480.9, 482.8, {"average_hides_plateau"}},
    {"t4_2node_efa_tagged_ncclinfo.log", GRADED, "all_reduce", 2, 2, 31, 3.15, 3.15, {"host_staged"}},
    {"t4_2node_efa_tagged.log", GRADED, "all_reduce", 2, ANY, 31, 2.84, 2.83, {"slow_link"}},
    {"t4_3node_tcp_srun_oldfmt.log", GRADED, "all_reduce", 3, 3, 11, 0.69, 0.74, {"noisy", "slow_link"}},
    {"k80_2node_tcp_noval.log", GRADED, "all_reduce", 2, 2, 11, 0.63, 0.62, {"slow_link", "unchecked"}},
    {"v100_2node_tcp_broadcast_oldfmt_truncated.log", PROVISIONAL, "broadcast", 2, 2, 1, 0, 0, {"truncated", "small_sizes_only", "no_libibverbs"}},
    {"h100_2node_gcp_a3mega_lost_hash.log", GRADED, "all_reduce", 16, 2, 31, 338.8, 337.4, {"high_latency"}},
    {"h100_2node_gcp_tcpx_allgather.log", PROVISIONAL, "all_gather", 16, ANY, 10, 70.90, 71.35, {"still_rising"}},
    {"h100_2node_mpi0_build_interleaved_busbw0.log", INVALID, "all_reduce", 1, ANY, 24, 0, 0, {"ranks_ran_alone"}},
    {"v100_2node_mpi0_double_header_truncated.log", INVALID, "", 1, ANY, 0, 0, 0, {"ranks_ran_alone"}},
    {"rtx3090_single_rank_busbw0.log", INVALID, "all_reduce", 1, 1, 6, 0, 0, {"one_rank"}},
    {"rtx5090_2rank_1gpu_socket_tagged_stderr.log", INVALID, "all_reduce", 2, 1, 8, 2.30, 2.31, {"shared_gpu", "latency_floor"}},
    {"v100_2node_tagged_invalid_device_ordinal_error.log", NO_RESULT, "", 0, ANY, 0, 0, 0, {"invalid_device_ordinal"}},
    {"l40s_2node_invalid_device_ordinal_error.log", NO_RESULT, "", 0, ANY, 0, 0, 0, {"invalid_device_ordinal"}},
};
/* clang-format on */
#define LOG_COUNT (sizeof(logs) / sizeof(logs[0]))

static const char *folder; /* of the logs */

static void read_text(const char *name, const char *text, size_t length_bytes, cb_import_logs *read)
{
    struct cb_error err = {0};
    *read = (cb_import_logs){0};
    assert_ok(cb_import_read(name, text, length_bytes, read, &err), &err);
    assert_int_equal(read->count, 1);
}

static void test_every_log(void **state)
{
    (void)state;
    size_t length_bytes;
    for (size_t i = 0; i < LOG_COUNT; i++) {
        cb_import_logs read;
        char *text = data_read(folder, logs[i].file, &length_bytes);
        assert_non_null(text);
        read_text(logs[i].file, text, length_bytes, &read);
        cb_check_import(&logs[i], &read.items[0].summary);
        cb_import_logs_fini(&read);
        free(text);
    }
}

static void test_decorated_lines_say_the_same(void **state)
{
    (void)state;
    static const char *const around[][2] = {{"", "\r"},
                                            {"[1,0]<stdout>:", ""},
                                            {"  0: ", ""},
                                            {"\x1b[32m", "\x1b[0m"},
                                            {"2026-03-04T05:06:07.891Z ", "   "},
                                            {"[0] ", ""}};
    for (size_t i = 0; i < LOG_COUNT; i++) {
        size_t length_bytes, made_bytes;
        char *text = data_read(folder, logs[i].file, &length_bytes);
        assert_non_null(text);
        for (size_t k = 0; k < sizeof(around) / sizeof(around[0]); k++) {
            cb_import_logs read;
            char *made = cb_decorate(text, length_bytes, around[k][0], around[k][1], &made_bytes);
            read_text(logs[i].file, made, made_bytes, &read);
            cb_check_import(&logs[i], &read.items[0].summary);
            cb_import_logs_fini(&read);
            free(made);
        }
        free(text);
    }
}

int main(void)
{
    folder = data_folder("nccl_logs");
    if (!folder)
        return 77;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_log),
        cmocka_unit_test(test_decorated_lines_say_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
