/* What the drivers of several hosts say, gathered to rank 0: three hosts of two ranks each, as
 * forked processes that meet in shared memory, each with an NVML made of plain data. */
#include "measure/gpu_survey.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cb_test.h"
#include "fake_nvml.h"
#include "tests/gpu/local_coordinator.h"

enum { HOSTS = 3, PER_HOST = 2, RANKS = HOSTS * PER_HOST, CARDS_KEPT = 16 };

static const char *const hosts[HOSTS] = {"alpha", "beta", "gamma"};

/* What each rank finds and computes on. */
struct setup {
    struct fake_nvml nvml[RANKS];
    bool has_driver[RANKS];
    const char *bus_id[RANKS]; /* NULL: it uses no GPU */
};

/* What came of it; in memory that the processes share. */
struct outcome {
    int code[RANKS];
    int index[RANKS];
    char reason[RANKS][256];
    size_t count;
    struct cb_gpu gpus[CARDS_KEPT];
    char gpu_reason[CB_TEXT];
    size_t warnings;
    char warning[CB_TEXT], warning_code[CB_NAME];
};

/* ---- one rank ---- */

static struct fake_nvml *my_nvml; /* of this process; NULL: there is no driver */

/* In place of the library's. */
int cb_nvml_open(const char *library, struct cb_nvml_api *api, struct cb_error *err)
{
    (void)library;
    memset(api, 0, sizeof(*api));
    if (!my_nvml)
        return cb_fail(err, CB_E_UNSUPPORTED, "no NVML in this test");
    fake_nvml_fill(my_nvml, api);
    return CB_OK;
}

void cb_nvml_close(struct cb_nvml_api *api)
{
    memset(api, 0, sizeof(*api));
}

struct boards {
    struct cb_local_board *world, *leaders, *nodes[HOSTS];
};

static void keep(const struct cb_result *result, struct outcome *outcome)
{
    outcome->count = result->gpus.count;
    for (size_t i = 0; i < result->gpus.count && i < CARDS_KEPT; i++)
        outcome->gpus[i] = result->gpus.items[i];
    memcpy(outcome->gpu_reason, result->gpu_reason, sizeof(outcome->gpu_reason));
    outcome->warnings = result->warnings.count;
    if (result->warnings.count == 0)
        return;
    snprintf(outcome->warning, sizeof(outcome->warning), "%s", result->warnings.items[0].text);
    snprintf(outcome->warning_code, sizeof(outcome->warning_code), "%s",
             result->warnings.items[0].code);
}

static void be_rank(struct setup *setup, const struct boards *boards, int rank,
                    struct outcome *outcome)
{
    int node = rank / PER_HOST, local = rank % PER_HOST;
    struct cb_coordinator c = {.rank = rank,
                               .size = RANKS,
                               .local_rank = local,
                               .local_size = PER_HOST,
                               .node = node,
                               .node_count = HOSTS,
                               .world = cb_local_group_make(boards->world, rank),
                               .node_group = cb_local_group_make(boards->nodes[node], local)};
    if (local == 0)
        c.leaders = cb_local_group_make(boards->leaders, node);
    struct cb_gpu_watch watch;
    struct cb_result result;
    struct cb_error err;
    cb_result_init(&result);
    my_nvml = setup->has_driver[rank] ? &setup->nvml[rank] : NULL;
    for (int i = 0; i < HOSTS && rank == 0; i++) {
        struct cb_topo_host *host = cb_vec_add(&result.nodes);
        if (host)
            snprintf(host->name, sizeof(host->name), "%s", hosts[i]);
    }
    cb_error_clear(&err);
    outcome->code[rank] = cb_gpu_survey_run(&c, &watch, &result, &err);
    if (!outcome->code[rank])
        outcome->code[rank] = cb_gpu_survey_bind(&c, setup->bus_id[rank], &watch, &result, &err);
    outcome->index[rank] = watch.index;
    memcpy(outcome->reason[rank], watch.reason, sizeof(watch.reason));
    if (rank == 0)
        keep(&result, outcome);
    cb_gpu_watch_close(&watch);
    cb_result_fini(&result);
}

/* ---- the job ---- */

static struct outcome *run(struct setup *setup)
{
    struct outcome *outcome =
        mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct boards boards = {cb_local_board_make(RANKS), cb_local_board_make(HOSTS), {NULL}};
    pid_t pids[RANKS];
    assert_true(outcome != MAP_FAILED);
    for (int i = 0; i < HOSTS; i++)
        boards.nodes[i] = cb_local_board_make(PER_HOST);
    for (int i = 0; i < RANKS; i++) {
        outcome->code[i] = 1;
        pids[i] = fork();
        if (pids[i] == 0) {
            be_rank(setup, &boards, i, outcome);
            _exit(0);
        }
        assert_true(pids[i] > 0);
    }
    for (int i = 0; i < RANKS; i++) {
        int status;
        assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
        assert_int_equal(status, 0);
    }
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(outcome->code[i], CB_OK);
    return outcome;
}

/* Two cards on each host, which both of its ranks see; each rank computes on one of them. */
static void fill(struct setup *setup)
{
    static const char *const bus_ids[PER_HOST] = {"00000000:07:00.0", "00000000:0f:00.0"};
    memset(setup, 0, sizeof(*setup));
    for (int i = 0; i < RANKS; i++) {
        setup->has_driver[i] = true;
        setup->bus_id[i] = bus_ids[i % PER_HOST];
        setup->nvml[i].count = PER_HOST;
        for (int k = 0; k < PER_HOST; k++) {
            setup->nvml[i].cards[k] = fake_a100(bus_ids[k]);
            setup->nvml[i].cards[k].celsius = (unsigned)(30 + i / PER_HOST * 10 + k);
        }
    }
}

static void release(struct outcome *outcome)
{
    munmap(outcome, sizeof(*outcome));
}

static void test_order_of_hosts(void **state)
{
    (void)state;
    struct setup setup;
    fill(&setup);
    struct outcome *outcome = run(&setup);
    assert_int_equal(outcome->count, RANKS);
    for (int i = 0; i < RANKS; i++) {
        const struct cb_gpu *gpu = &outcome->gpus[i];
        assert_true(gpu->answered);
        assert_int_equal(gpu->node, i / PER_HOST);
        assert_int_equal(gpu->index, i % PER_HOST);
        assert_int_equal(gpu->rank, i);
        int celsius = 30 + i / PER_HOST * 10 + i % PER_HOST;
        assert_near(gpu->idle_temperature_celsius, celsius, 0);
        assert_int_equal(outcome->index[i], i % PER_HOST);
        assert_string_equal(outcome->reason[i], "");
    }
    assert_string_equal(outcome->gpu_reason, "");
    assert_int_equal(outcome->warnings, 0);
    release(outcome);
}

static void test_hosts_without_driver(void **state)
{
    (void)state;
    struct setup setup;
    fill(&setup);
    setup.has_driver[2] = setup.has_driver[3] = false;
    struct outcome *outcome = run(&setup);
    assert_int_equal(outcome->count, 4);
    assert_int_equal(outcome->gpus[1].node, 0);
    assert_int_equal(outcome->gpus[2].node, 2);
    assert_int_equal(outcome->gpus[2].rank, 4);
    assert_string_equal(outcome->gpu_reason, "beta: no NVML in this test");
    assert_int_equal(outcome->index[2], -1);
    assert_string_equal(outcome->reason[3], "no NVML in this test");
    release(outcome);

    setup.nvml[4].count = setup.nvml[5].count = 0;
    outcome = run(&setup);
    assert_int_equal(outcome->count, 2);
    assert_string_equal(outcome->gpu_reason, "beta and 1 more: no NVML in this test");
    release(outcome);

    setup.has_driver[2] = setup.has_driver[3] = true;
    outcome = run(&setup);
    assert_int_equal(outcome->count, 4);
    assert_string_equal(outcome->gpu_reason, "gamma: the driver shows no GPU");
    release(outcome);
}

/* CUDA, NVML and the kernel write the same address in their own ways. */
static void test_spellings(void **state)
{
    (void)state;
    struct setup setup;
    fill(&setup);
    setup.bus_id[0] = "0000:0F:00.0";
    setup.bus_id[1] = "0000:07:00.0";
    setup.bus_id[2] = "07:00.0";
    setup.bus_id[3] = "00000000:0F:00.0";
    struct outcome *outcome = run(&setup);
    const int expected_ranks[RANKS] = {1, 0, 2, 3, 4, 5};
    const int expected_indices[RANKS] = {1, 0, 0, 1, 0, 1};
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(outcome->gpus[i].rank, expected_ranks[i]);
        assert_int_equal(outcome->index[i], expected_indices[i]);
    }
    release(outcome);
}

static void test_rank_without_gpu(void **state)
{
    (void)state;
    struct setup setup;
    fill(&setup);
    setup.bus_id[1] = NULL;
    setup.bus_id[2] = "";
    setup.bus_id[5] = "0000:c1:00.0";
    struct outcome *outcome = run(&setup);
    const int expected[RANKS] = {0, -1, -1, 3, 4, -1};
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(outcome->gpus[i].rank, expected[i]);
    assert_int_equal(outcome->index[1], -1);
    assert_string_equal(outcome->reason[1], "this rank uses no GPU");
    assert_string_equal(outcome->reason[2], "this rank uses no GPU");
    assert_int_equal(outcome->index[5], -1);
    assert_string_equal(outcome->reason[5], "the driver's library does not show this rank's GPU");
    release(outcome);
}

/* The card has one row, and the lower rank; both watch it. */
static void test_two_ranks_on_one_card(void **state)
{
    (void)state;
    struct setup setup;
    fill(&setup);
    setup.bus_id[3] = setup.bus_id[2];
    struct outcome *outcome = run(&setup);
    assert_int_equal(outcome->count, RANKS);
    assert_int_equal(outcome->gpus[2].rank, 2);
    assert_int_equal(outcome->gpus[3].rank, -1);
    assert_int_equal(outcome->index[2], 0);
    assert_int_equal(outcome->index[3], 0);
    release(outcome);
}

/* Each rank of beta sees its own card as the only one, and the first has the higher address. */
static void test_hidden_from_each_other(void **state)
{
    (void)state;
    struct setup setup;
    fill(&setup);
    setup.nvml[2].count = setup.nvml[3].count = 1;
    setup.nvml[2].cards[0] = setup.nvml[2].cards[1];
    setup.bus_id[2] = "00000000:0f:00.0";
    setup.bus_id[3] = "00000000:07:00.0";
    struct outcome *outcome = run(&setup);
    assert_int_equal(outcome->count, RANKS);
    assert_string_equal(outcome->gpus[2].bus_id, "0000:07:00.0");
    assert_int_equal(outcome->gpus[2].index, 0);
    assert_int_equal(outcome->gpus[2].rank, 3);
    assert_int_equal(outcome->gpus[3].index, 1);
    assert_int_equal(outcome->gpus[3].rank, 2);
    assert_int_equal(outcome->warnings, 1);
    assert_string_equal(outcome->warning_code, "gpu.hidden");
    assert_non_null(strstr(outcome->warning, "the GPUs of beta from each other"));
    assert_non_null(strstr(outcome->warning, "sees 1 of 2"));
    release(outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order_of_hosts),
        cmocka_unit_test(test_hosts_without_driver),
        cmocka_unit_test(test_spellings),
        cmocka_unit_test(test_rank_without_gpu),
        cmocka_unit_test(test_two_ranks_on_one_card),
        cmocka_unit_test(test_hidden_from_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
