/* What many ranks' GPUs and copies of NCCL add up to: GPUs, hosts with a warning, or an error that
 * names host and rank. */
#include <stdio.h>
#include <string.h>

#include "cb_test.h"
#include "measure/devices.h"

enum { RANKS = 4 };

/* Two hosts, a and b, with two ranks each, everything as it should be. */
static int make_job(void **state)
{
    static struct cb_device_facts all[RANKS];
    memset(all, 0, sizeof(all));
    for (int i = 0; i < RANKS; i++) {
        struct cb_device_facts *rank = &all[i];
        rank->rank = i;
        rank->node = i / 2;
        snprintf(rank->host, sizeof(rank->host), "%s", i < 2 ? "a" : "b");
        rank->has_device = rank->has_nccl = true;
        rank->device.index = i % 2;
        rank->device.visible = 2;
        rank->device.driver_version = 13000;
        rank->device.free_bytes = (uint64_t)(80 - i) << 30;
        snprintf(rank->device.name, sizeof(rank->device.name), "NVIDIA H100");
        snprintf(rank->device.uuid, sizeof(rank->device.uuid), "GPU-%d", i);
        snprintf(rank->device.pci_id, sizeof(rank->device.pci_id), "0000:%d0:00.0", i);
        rank->nccl.version = 22809;
        snprintf(rank->nccl.path, sizeof(rank->nccl.path), "/usr/lib/libnccl.so.2");
    }
    *state = all;
    return 0;
}

static void take_device(struct cb_device_facts *rank, int code, const char *what)
{
    rank->has_device = rank->has_nccl = false;
    cb_fail(&rank->device_error, (enum cb_code)code, "%s", what);
}

static void expect_text(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" does not say \"%s\"", text, part);
}

static void expect_warning(const struct cb_devices_choice *choice, const char *code,
                           const char *part)
{
    for (int i = 0; i < choice->warning_count; i++)
        if (strcmp(choice->warnings[i].code, code) == 0) {
            expect_text(choice->warnings[i].text, part);
            return;
        }
    fail_msg("no warning %s", code);
}

/* An error that names the rank, whether or not GPUs were asked for. */
static void expect_error(const struct cb_device_facts *all, bool insists, int rank,
                         const char *what)
{
    struct cb_devices_choice choice = {.least_free_bytes = 77};
    struct cb_error err;
    int rc = cb_devices_compare(all, RANKS, insists, &choice, &err);
    assert_true(rc < 0);
    assert_int_equal(err.code, rc);
    assert_int_equal(err.rank, rank);
    assert_string_equal(err.host, all[rank].host);
    expect_text(err.what, what);
    assert_true(err.hint[0] != '\0' || rc == CB_E_MEASURE);
    assert_int_equal(choice.least_free_bytes, 77);
}

static struct cb_devices_choice compare(const struct cb_device_facts *all)
{
    struct cb_devices_choice choice;
    struct cb_error err;
    assert_ok(cb_devices_compare(all, RANKS, false, &choice, &err), &err);
    return choice;
}

static void test_all_have_gpus(void **state)
{
    struct cb_devices_choice choice = compare(*state);
    assert_true(choice.gpus);
    assert_int_equal(choice.warning_count, 0);
    assert_true(choice.least_free_bytes == 77ull << 30);
}

/* A cluster without GPUs is not warned about. */
static void test_none_has_a_gpu(void **state)
{
    struct cb_device_facts *all = *state;
    for (int i = 0; i < RANKS; i++)
        take_device(&all[i], CB_E_UNSUPPORTED, "no NVIDIA driver here");
    cb_error_set_hint(&all[0].device_error, "install the driver");
    struct cb_devices_choice choice = compare(all);
    assert_false(choice.gpus);
    assert_int_equal(choice.warning_count, 0);
    expect_error(all, true, 0, "no NVIDIA driver here");
}

/* A driver that is there but too old is. */
static void test_driver_too_old(void **state)
{
    struct cb_device_facts *all = *state;
    for (int i = 0; i < RANKS; i++) {
        take_device(&all[i], CB_E_UNSUPPORTED, "the driver serves CUDA 12.2");
        cb_error_set_detail(&all[i].device_error, "the driver serves CUDA 12.2");
    }
    struct cb_devices_choice choice = compare(all);
    assert_false(choice.gpus);
    expect_warning(&choice, "gpu.not_used", "the driver serves CUDA 12.2");
}

static void test_one_rank_has_none(void **state)
{
    struct cb_device_facts *all = *state;
    take_device(&all[3], CB_E_UNSUPPORTED, "there is a driver, but no GPU");
    cb_error_set_hint(&all[3].device_error, "look at nvidia-smi");
    struct cb_devices_choice choice = compare(all);
    assert_false(choice.gpus);
    expect_warning(&choice, "gpu.not_used", "rank 3 on b: there is a driver, but no GPU");
    expect_text(choice.warnings[0].hint, "look at nvidia-smi");
    expect_error(all, true, 3, "there is a driver, but no GPU");
}

static void test_gpu_that_refuses_is_an_error(void **state)
{
    struct cb_device_facts *all = *state;
    take_device(&all[2], CB_E_MEASURE, "CUDA device 0: cudaSetDevice failed");
    expect_error(all, false, 2, "cudaSetDevice failed");
    expect_error(all, true, 2, "cudaSetDevice failed");
}

static void put_on_one_gpu(const struct cb_device_facts *a, struct cb_device_facts *b)
{
    memcpy(b->device.uuid, a->device.uuid, sizeof(b->device.uuid));
    memcpy(b->device.pci_id, a->device.pci_id, sizeof(b->device.pci_id));
    b->device.index = a->device.index;
}

static void test_two_ranks_on_one_gpu(void **state)
{
    struct cb_device_facts *all = *state;
    put_on_one_gpu(&all[2], &all[3]);
    expect_error(all, true, 3, "two ranks on one GPU: ranks 2 and 3 of b");
    struct cb_devices_choice choice = compare(all);
    assert_false(choice.gpus);
    expect_warning(&choice, "gpu.not_used", "rank 3 on b: two ranks on one GPU");
    /* The same on two hosts is no sharing: addresses repeat, and virtual GPUs' UUIDs may. */
    make_job(state);
    memcpy(all[3].device.uuid, all[0].device.uuid, sizeof(all[3].device.uuid));
    memcpy(all[3].device.pci_id, all[0].device.pci_id, sizeof(all[3].device.pci_id));
    assert_true(compare(all).gpus);
}

/* Whatever hides the others: no rank of the host sees more GPUs than are in use. */
static void test_fewer_gpus_than_ranks(void **state)
{
    struct cb_device_facts *all = *state;
    put_on_one_gpu(&all[2], &all[3]);
    all[2].device.visible = all[3].device.visible = 1;
    expect_error(all, true, 3, "fewer GPUs than ranks: 1 for the 2 ranks of b");
    struct cb_devices_choice choice = compare(all);
    expect_warning(&choice, "gpu.not_used", "rank 3 on b: fewer GPUs than ranks");
}

static void test_parts_of_one_card(void **state)
{
    struct cb_device_facts *all = *state;
    memcpy(all[1].device.pci_id, all[0].device.pci_id, sizeof(all[1].device.pci_id));
    expect_error(all, true, 1, "two ranks on parts of one GPU (MIG)");
    assert_false(compare(all).gpus);
}

static void test_sharing_on_purpose(void **state)
{
    struct cb_device_facts *all = *state;
    put_on_one_gpu(&all[0], &all[1]);
    snprintf(all[0].host_id, sizeof(all[0].host_id), "one");
    snprintf(all[1].host_id, sizeof(all[1].host_id), "one");
    expect_error(all, true, 1, "two ranks on one GPU");
    snprintf(all[1].host_id, sizeof(all[1].host_id), "other");
    struct cb_devices_choice choice = compare(all);
    assert_true(choice.gpus);
    expect_warning(&choice, "gpu.shared",
                   "ranks 0 and 1 share one GPU of a (0000:00:00.0), as "
                   "NCCL_HOSTID lets them");
}

/* A setting of NCCL 2.30; an earlier one does not know it. */
static void test_sharing_by_a_later_nccl(void **state)
{
    struct cb_device_facts *all = *state;
    put_on_one_gpu(&all[0], &all[1]);
    all[0].multi_rank = all[1].multi_rank = true;
    expect_error(all, true, 1, "two ranks on one GPU");
    for (int i = 0; i < RANKS; i++)
        all[i].nccl.version = 23000;
    struct cb_devices_choice choice = compare(all);
    assert_true(choice.gpus);
    expect_warning(&choice, "gpu.shared", "NCCL_MULTI_RANK_GPU_ENABLE lets them");
}

static void test_mixed_models(void **state)
{
    struct cb_device_facts *all = *state;
    snprintf(all[2].device.name, sizeof(all[2].device.name), "NVIDIA A100");
    all[3].device.driver_version = 12080;
    struct cb_devices_choice choice = compare(all);
    assert_true(choice.gpus);
    expect_warning(&choice, "gpu.mixed_models", "rank 2 on b has NVIDIA A100");
    expect_warning(&choice, "gpu.mixed_drivers", "CUDA 12.8 on b");
}

static void test_mixed_versions_of_nccl(void **state)
{
    struct cb_device_facts *all = *state;
    all[2].nccl.version = 22706;
    expect_error(all, false, 2, "2.28.9 on rank 0 of a, 2.27.6 on rank 2 of b");
}

static void test_mixed_files_of_one_version(void **state)
{
    struct cb_device_facts *all = *state;
    snprintf(all[1].nccl.path, sizeof(all[1].nccl.path), "/opt/libnccl.so.2");
    struct cb_devices_choice choice = compare(all);
    assert_true(choice.gpus);
    expect_warning(&choice, "nccl.mixed_paths", "rank 1 on a has /opt/libnccl");
}

static void test_no_nccl(void **state)
{
    struct cb_device_facts *all = *state;
    all[1].has_nccl = false;
    cb_fail(&all[1].nccl_error, CB_E_UNSUPPORTED, "no NCCL here");
    cb_error_set_hint(&all[1].nccl_error, "install libnccl2");
    struct cb_devices_choice choice = compare(all);
    assert_false(choice.gpus);
    expect_warning(&choice, "gpu.not_used", "rank 1 on a: no NCCL here");
    expect_error(all, true, 1, "no NCCL here");
    /* What the user named and does not serve is the user's to mend. */
    cb_fail(&all[1].nccl_error, CB_E_USAGE, "--nccl-lib: x does not serve");
    cb_error_set_hint(&all[1].nccl_error, "doctor");
    expect_error(all, false, 1, "--nccl-lib: x does not serve");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_all_have_gpus, make_job),
        cmocka_unit_test_setup(test_none_has_a_gpu, make_job),
        cmocka_unit_test_setup(test_driver_too_old, make_job),
        cmocka_unit_test_setup(test_one_rank_has_none, make_job),
        cmocka_unit_test_setup(test_gpu_that_refuses_is_an_error, make_job),
        cmocka_unit_test_setup(test_two_ranks_on_one_gpu, make_job),
        cmocka_unit_test_setup(test_fewer_gpus_than_ranks, make_job),
        cmocka_unit_test_setup(test_parts_of_one_card, make_job),
        cmocka_unit_test_setup(test_sharing_on_purpose, make_job),
        cmocka_unit_test_setup(test_sharing_by_a_later_nccl, make_job),
        cmocka_unit_test_setup(test_mixed_models, make_job),
        cmocka_unit_test_setup(test_mixed_versions_of_nccl, make_job),
        cmocka_unit_test_setup(test_mixed_files_of_one_version, make_job),
        cmocka_unit_test_setup(test_no_nccl, make_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
