#include "report/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../golden/fixtures.h"
#include "cb_test.h"
#include "report/names.h"
#include "report/ranges.h"
#include "result/json.h"

#define CSV_COLUMNS 34
#define CELL_BYTES 512

static void render(const struct cb_result *result, enum cb_report_format format, bool color,
                   struct cb_strbuf *out)
{
    struct cb_error err;
    struct cb_report_options options = {.result_path = "./r/result.json", .color = color};
    memset(out, 0, sizeof(*out));
    assert_ok(cb_report_render(result, format, &options, out, &err), &err);
}

/* The text report of a fixture; freed by the caller. */
static struct cb_strbuf text_of(void (*build)(struct cb_result *result))
{
    struct cb_result result;
    struct cb_strbuf out;
    build(&result);
    render(&result, CB_REPORT_TEXT, false, &out);
    cb_result_fini(&result);
    return out;
}

static void assert_has(const char *text, const char *wanted)
{
    if (text && strstr(text, wanted))
        return;
    print_error("not found: %s\nin:\n%s", wanted, text ? text : "nothing");
    fail();
}

static void assert_lacks(const char *text, const char *unwanted)
{
    if (text && !strstr(text, unwanted))
        return;
    print_error("found: %s\nin:\n%s", unwanted, text ? text : "nothing");
    fail();
}

/* ---- the nodes and their links ---- */

/* Two nodes of different make; the scopes reached some of what their links are sold as. */
static void build_topology(struct cb_result *result)
{
    cb_result_init(result);
    for (int i = 0; i < 2; i++) {
        struct cb_topo_host *node = cb_vec_add(&result->nodes);
        struct cb_facts *map = cb_vec_add(&result->maps);
        assert_true(node && map);
        snprintf(node->name, sizeof(node->name), "n%d", i);
        node->map = i + 1;
        cb_facts_init(map);
        for (int g = 0; g < 4; g++) {
            struct cb_facts_gpu *gpu = &map->gpus[map->gpu_count++];
            cb_facts_gpu_init(gpu);
            gpu->index = g;
            gpu->nvlinks = g == 1 && i == 1 ? 10 : 12;
            snprintf(gpu->name, sizeof(gpu->name), "NVIDIA A100-SXM4-80GB");
        }
        cb_facts_nic_init(&map->nics[map->nic_count++]);
        snprintf(map->nics[0].port.name, sizeof(map->nics[0].port.name), "mlx5_0:1");
        snprintf(map->nics[0].port.kind, sizeof(map->nics[0].port.kind), "RoCE");
        map->nics[0].port.up = true;
        map->nics[0].port.nominal_bytes_per_s = 12.5e9;
        snprintf(cb_facts_add_link(map, "GPU0", "mlx5_0:1")->path, 8, "PIX");
        snprintf(cb_facts_add_link(map, "GPU1", "mlx5_0:1")->path, 8, "NODE");
    }
    struct cb_crossing *crossing = cb_vec_add(&result->crossings);
    assert_non_null(crossing);
    *crossing = (struct cb_crossing){.scope = CB_SCOPE_INTER_NODE,
                                     .op = CB_OP_ALL_REDUCE,
                                     .size_bytes = 64 << 20,
                                     .measured_bytes_per_s = 11.8e9,
                                     .nominal_bytes_per_s = 12.5e9,
                                     .link = "RoCE mlx5_0:1",
                                     .note = "the port's own rate"};
    struct cb_node_finding *row = cb_vec_add(&result->findings);
    assert_non_null(row);
    row->map = 1;
    row->finding = (struct cb_finding){.code = "nvlink.inactive",
                                       .severity = CB_SEVERITY_ERROR,
                                       .seen = "GPU1 has 10 active NVLinks, others have 12",
                                       .why = "collectives go at its pace",
                                       .remedy = "nvidia-smi nvlink -s"};
}

static void test_links_stand_beside_what_crossed_them(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(build_topology);
    const char *text = cb_strbuf_get(&out);
    assert_has(text, "inter_node     11.8 of 12.5 GB/s RoCE mlx5_0:1, 94 %");
    assert_has(text, "(all_reduce of 64 MiB;");
    assert_has(text, "nodes          4 x NVIDIA A100-SXM4-80GB (12 NVLinks); 1 x RoCE 100 Gb/s;");
    assert_has(text, "GPU to nearest NIC NODE or nearer: n0");
    assert_has(text, "3 x NVIDIA A100-SXM4-80GB (12 NVLinks), 1 x NVIDIA");
    assert_has(text, "error  nvlink.inactive: GPU1 has 10 active NVLinks, others have 12; on n1");
    assert_has(text, "-> nvidia-smi nvlink -s");
    cb_strbuf_fini(&out);
}

static void build_tree(struct cb_result *result)
{
    build_topology(result);
    result->crossings.items[0].measured_bytes_per_s = 18.75e9;
    result->crossings.items[0].least_wire_bytes_per_s = 10e9;
}

static void test_wire_stands_beside_what_seems_too_fast(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(build_tree);
    assert_has(cb_strbuf_get(&out), "18.8 of 12.5 GB/s RoCE mlx5_0:1, 150 %");
    assert_has(cb_strbuf_get(&out), "least 10 GB/s, 80 %");
    cb_strbuf_fini(&out);
    out = text_of(build_topology);
    assert_lacks(cb_strbuf_get(&out), "the wire carried");
    cb_strbuf_fini(&out);
}

static void build_warned(struct cb_result *result)
{
    build_topology(result);
    cb_result_warn(result, "nvlink.inactive", NULL, "a warning says it already");
    result->crossings.items[0].nominal_bytes_per_s = 0;
}

/* A file that something else wrote may lack what is said for people. */
static void build_sparse(struct cb_result *result)
{
    build_topology(result);
    result->crossings.items[0].size_bytes = 0;
    result->crossings.items[0].note[0] = '\0';
    result->findings.items[0].finding.why[0] = '\0';
    result->findings.items[0].finding.remedy[0] = '\0';
    struct cb_rank *rank = cb_vec_add(&result->ranks);
    assert_non_null(rank);
    rank->locality = CB_LOCALITY_AWAY;
}

static void test_missing_texts_leave_no_gaps(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(build_sparse);
    const char *text = cb_strbuf_get(&out);
    assert_has(text, "94 % (all_reduce)");
    assert_has(text, "not bound, AWAY from its device");
    assert_lacks(text, " \n");
    assert_lacks(text, "->");
    cb_strbuf_fini(&out);
}

static void test_what_a_warning_says_is_said_once(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(build_warned);
    assert_lacks(cb_strbuf_get(&out), "FINDINGS");
    assert_has(cb_strbuf_get(&out), "11.8 GB/s over RoCE mlx5_0:1, nominal unknown");
    cb_strbuf_fini(&out);
}

/* ---- of every fixture ---- */

static void test_no_line_leaves_the_page(void **state)
{
    (void)state;
    size_t count;
    const struct cb_fixture *fixtures = cb_fixtures(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_strbuf out = text_of(fixtures[i].build);
        int column = 0;
        for (const char *at = cb_strbuf_get(&out); *at; at++) {
            column = *at == '\n' ? 0 : column + 1;
            assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
            assert_true(column <= 80);
            assert_false(*at == '\n' && at[-1] == ' '); /* no blanks at a line's end */
        }
        cb_strbuf_fini(&out);
    }
}

/* The text without colour escapes. */
static char *strip(const char *text)
{
    char *plain = malloc(strlen(text) + 1);
    size_t used = 0;
    assert_non_null(plain);
    while (*text) {
        if (*text == '\033')
            text += strcspn(text, "m") + 1;
        else
            plain[used++] = *text++;
    }
    plain[used] = '\0';
    return plain;
}

static void test_color_changes_nothing_else(void **state)
{
    (void)state;
    size_t count;
    const struct cb_fixture *fixtures = cb_fixtures(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_result result;
        struct cb_strbuf plain, colored;
        fixtures[i].build(&result);
        render(&result, CB_REPORT_TEXT, false, &plain);
        render(&result, CB_REPORT_TEXT, true, &colored);
        assert_has(cb_strbuf_get(&colored), "\033[");
        char *stripped = strip(cb_strbuf_get(&colored));
        assert_string_equal(stripped, cb_strbuf_get(&plain));
        free(stripped);
        cb_strbuf_fini(&plain);
        cb_strbuf_fini(&colored);
        cb_result_fini(&result);
    }
}

/* The figures as printed must come to what is printed: the formula, then the share. */
static void redo_arithmetic(const char *text)
{
    double parameters, count, gigabytes_per_s, made_s, part_s, again_s, time_s, percent, whole_s,
        divisor, step_s;
    const char *at = strstr(text, "    communication  ");
    assert_non_null(at);
    assert_int_equal(sscanf(at, " communication %lf parameters x 4 B x %lf / %lf GB/s = %lf s",
                            &parameters, &count, &gigabytes_per_s, &made_s),
                     4);
    assert_near(made_s, parameters * 4 * count / (gigabytes_per_s * 1e9), 6e-5);
    const char *step = strstr(text, "per step ");
    part_s = made_s;
    if (step && sscanf(step, "per step %lf s / %lf = %lf s", &whole_s, &divisor, &step_s) == 3) {
        double per_step = 1;
        const char *factor = strstr(text, "    communications ");
        if (factor)
            assert_int_equal(sscanf(factor, " communications %lf per step", &per_step), 1);
        assert_near(step_s, whole_s / divisor, 6e-5);
        assert_near(divisor * per_step, count, 1e-5);
        part_s = step_s;
    }
    at = strstr(text, "    share          ");
    assert_non_null(at);
    if (sscanf(at, " share %lf s / (%lf s + %lf s) = %lf %%", &made_s, &again_s, &time_s,
               &percent) == 4) {
        assert_near(made_s, part_s, 0);
        assert_near(again_s, part_s, 0);
        assert_near(percent, 100 * made_s / (made_s + time_s), 5e-3);
        return;
    }
    assert_int_equal(sscanf(at, " share %lf s / %lf s = %lf %%", &made_s, &time_s, &percent), 3);
    assert_near(made_s, part_s, 0);
    assert_near(percent, 100 * made_s / time_s, 5e-3);
}

static void test_the_arithmetic_can_be_redone(void **state)
{
    (void)state;
    size_t count;
    size_t redone = 0;
    const struct cb_fixture *fixtures = cb_fixtures(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_strbuf out = text_of(fixtures[i].build);
        if (strstr(cb_strbuf_get(&out), "VERDICT  none") == NULL) {
            redo_arithmetic(cb_strbuf_get(&out));
            redone++;
        }
        cb_strbuf_fini(&out);
    }
    assert_int_equal(redone, count - 2); /* but one rank's, and what keeps nothing in step */
}

/* ---- the verdict ---- */

static void judge(struct cb_result *result, enum cb_span span, double bandwidth_bytes_per_s,
                  double time_s)
{
    struct cb_error err;
    cb_result_init(result);
    result->formula = (struct cb_formula){.parameters = 1e9,
                                          .communications = 1,
                                          .communications_source = CB_FROM_GIVEN,
                                          .bandwidth_bytes_per_s = bandwidth_bytes_per_s,
                                          .bandwidth_source = CB_FROM_GIVEN,
                                          .span = span,
                                          .time_s = time_s,
                                          .time_source = CB_FROM_GIVEN,
                                          .threshold = 0.2};
    assert_ok(cb_formula_judge(&result->formula, &err), &err);
}

static struct cb_strbuf verdict_of(enum cb_span span, double bandwidth_bytes_per_s, double time_s)
{
    struct cb_result result;
    struct cb_strbuf out;
    judge(&result, span, bandwidth_bytes_per_s, time_s);
    render(&result, CB_REPORT_TEXT, false, &out);
    cb_result_fini(&result);
    return out;
}

/* 1e9 x 4 B / 4 GB/s = 1 s */
static void test_verdict_words(void **state)
{
    (void)state;
    struct cb_strbuf out = verdict_of(CB_SPAN_STEP, 4e9, 2);
    assert_has(cb_strbuf_get(&out), "  VERDICT  communication-bound: 50 % of a step, limit 20 %\n");
    assert_has(cb_strbuf_get(&out), "1e9 parameters x 4 B x 1 / 4 GB/s = 1 s\n");
    assert_has(cb_strbuf_get(&out), "1 s / 2 s = 50 %, limit 20 %\n");
    assert_has(cb_strbuf_get(&out), "10 GB/s would make it 20 %\n"); /* 4 GB / (0.2 x 2 s) */
    cb_strbuf_fini(&out);
    out = verdict_of(CB_SPAN_COMPUTE, 4e9, 9);
    assert_has(cb_strbuf_get(&out), "  VERDICT  not communication-bound: 10 % of a step");
    assert_has(cb_strbuf_get(&out), "1 s / (1 s + 9 s) = 10 %, limit 20 %\n");
    cb_strbuf_fini(&out);
    out = verdict_of(CB_SPAN_TOTAL, 4e9, 2);
    assert_has(cb_strbuf_get(&out), "communication-bound: 50 % of the training time, limit 20 %\n");
    cb_strbuf_fini(&out);
}

static void test_a_share_above_one_is_called_what_it_is(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_impossible);
    assert_has(cb_strbuf_get(&out), "communication-bound: 259 % of the training time, limit 20 %");
    assert_has(cb_strbuf_get(&out), "the stated time cannot hold that communication unless it is "
                                    "hidden");
    cb_strbuf_fini(&out);
    out = verdict_of(CB_SPAN_STEP, 4e9, 1); /* all of it, and no more */
    assert_has(cb_strbuf_get(&out), "100 % of a step");
    assert_lacks(cb_strbuf_get(&out), "cannot hold");
    cb_strbuf_fini(&out);
}

/* A share that rounds to the limit shows on which side of it it lies. */
static void test_a_share_at_the_limit_shows_its_side(void **state)
{
    (void)state;
    struct cb_strbuf out = verdict_of(CB_SPAN_STEP, 4e9, 1 / 0.20004);
    assert_has(cb_strbuf_get(&out), "  VERDICT  communication-bound: 20.004 % of a step");
    cb_strbuf_fini(&out);
    out = verdict_of(CB_SPAN_STEP, 4e9, 5);
    assert_has(cb_strbuf_get(&out), "  VERDICT  not communication-bound: 20 % of a step");
    cb_strbuf_fini(&out);
}

static void test_undecided_is_neither(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_undecided);
    assert_has(cb_strbuf_get(&out), "  VERDICT  undecided: ");
    assert_lacks(cb_strbuf_get(&out), "communication-bound:");
    assert_has(cb_strbuf_get(&out), "~ noisy: ");
    cb_strbuf_fini(&out);
}

static void test_nothing_to_judge_says_why(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_one_rank);
    assert_has(cb_strbuf_get(&out), "  VERDICT  none: one rank only");
    assert_lacks(cb_strbuf_get(&out), "ASSUMED");
    assert_lacks(cb_strbuf_get(&out), "LINKS");
    cb_strbuf_fini(&out);
}

/* ---- the model of a step ---- */

static void test_the_model_stands_below_the_verdict(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_training);
    const char *text = cb_strbuf_get(&out);
    const char *training = strstr(text, "\n  TRAINING  network-bound, unless more is hidden");
    assert_non_null(training);
    assert_true(strstr(text, "\n  VERDICT  communication-bound") < training);
    assert_true(training < strstr(text, "\n  ADVICE   "));
    assert_has(text, "communications 2 per step (reference: FSDP full shard: ");
    assert_has(text, "    exposed share  slow network (p90)  median  fast (p10)\n");
    assert_has(text, "    idle GPUs      71.5 CNY an hour (29.8 to 102), at 12.5 CNY per GPU");
    assert_has(text, "    whole training 20k steps in 2.8 h");
    assert_has(text, "    rule over 1B   8.03B trained parameters: the rule says RoCE");
    cb_strbuf_fini(&out);
}

static void test_a_silent_formula_points_to_the_model(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_model_parallel);
    assert_has(cb_strbuf_get(&out), "  VERDICT  none by the formula: one data-parallel rank: ");
    assert_has(cb_strbuf_get(&out), "\n  TRAINING  ");
    cb_strbuf_fini(&out);
}

/* Each on a line of its own at the end, shortest first; what is given is not among them. */
static void test_assumptions_close_the_page(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_fixture_training(&result);
    struct cb_assumptions *list = &result.prediction.training.assumed;
    list->count = 0;
    cb_assume(list, "c", 0, CB_FROM_ASSUMED, "a middling assumption");
    cb_assume(list, "b", 0, CB_FROM_ASSUMED, "short");
    cb_assume(list, "a", 0, CB_FROM_GIVEN, "given");
    render(&result, CB_REPORT_TEXT, false, &out);
    const char *last = strstr(cb_strbuf_get(&out), "\n  ASSUMED\n    short\n    a middling ");
    assert_non_null(last);
    assert_null(strstr(last, "given"));
    assert_null(strstr(last, "\n  CHECKS"));
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_slower_nodes_are_said_in_words(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_fixture_training(&result);
    result.prediction.training.speedup[1].speedup = 0.83;
    result.prediction.training.critical_tokens = INFINITY;
    result.prediction.training.required_bytes_per_s = INFINITY;
    result.prediction.training.memory.fits = false;
    result.prediction.advice.count = 0;
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "over 1 node: 2 nodes would be slower than 1: 0.83 times");
    assert_has(cb_strbuf_get(&out), "no number of tokens per rank and step would do");
    assert_has(cb_strbuf_get(&out), "no bandwidth would do: ");
    assert_has(cb_strbuf_get(&out), "DOES NOT FIT");
    assert_has(cb_strbuf_get(&out), "  ADVICE   nothing that the model can try lifts the charge");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

/* Where the formula and the model answer otherwise, the page says so. */
static void test_two_verdicts_are_explained(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_fixture_training(&result);
    result.prediction.training.bound = false;
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "    two verdicts   the formula finds a bottleneck, 53 %: why");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_no_model_says_why(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_fixture_paper(&result);
    snprintf(result.prediction.note, sizeof(result.prediction.note), "nobody knows");
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "  TRAINING   no model of the step: nobody knows\n");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

/* ---- what must not be overlooked ---- */

static void test_wrong_data_come_first(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_wrong_data);
    const char *text = cb_strbuf_get(&out);
    const char *wrong = strstr(text, "  WRONG DATA  in 2 measurements: ");
    assert_non_null(wrong);
    assert_true(wrong < strstr(text, "VERDICT"));
    assert_has(text, "gemm float32 on n1, rank 3 (17 elements)");
    assert_has(text, "3 WRONG between\n");
    assert_has(text, "WRONG DATA  gemm float32 on 1 of 4 ranks (17 elements)\n");
    cb_strbuf_fini(&out);
}

static void test_early_stop_and_simulation_are_near_the_top(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_interrupted);
    const char *text = cb_strbuf_get(&out);
    const char *stopped = strstr(text, "  STOPPED EARLY  by a signal: what was measured");
    assert_non_null(stopped);
    assert_true(stopped < strstr(text, "VERDICT"));
    assert_has(text, "skipped  stopped by a signal before it started\n");
    assert_has(text, "all_gather float32 intra_node (8 sizes, 8 B to 64 MiB);");
    assert_lacks(text, "ALL_GATHER");
    cb_strbuf_fini(&out);

    struct cb_result result;
    cb_fixture_two_hosts(&result);
    result.simulated = true;
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_int_equal(strncmp(cb_strbuf_get(&out), "commbound 0.1.0   SIMULATED   ", 30), 0);
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_made_up_speed_is_not_nominal(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_one_host);
    assert_has(cb_strbuf_get(&out), "speed unknown: veth states 10 Gb/s, which");
    assert_lacks(cb_strbuf_get(&out), "Gb/s nominal");
    cb_strbuf_fini(&out);
    out = text_of(cb_fixture_two_hosts);
    assert_has(cb_strbuf_get(&out), "eth0           IN USE, Ethernet, 1 Gb/s nominal");
    cb_strbuf_fini(&out);
}

/* ---- the tables ---- */

static void test_scopes_stand_side_by_side(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_two_hosts);
    assert_has(cb_strbuf_get(&out),
               "  ALL_REDUCE   float32, bus bandwidth (ranks: inside 2, between 2, world 4)\n"
               "       size     inside    between      world     time     +-\n");
    cb_strbuf_fini(&out);
    out = text_of(cb_fixture_one_host);
    assert_has(cb_strbuf_get(&out), "  ALL_REDUCE   float32 max, bus bandwidth (ranks: world 2)\n"
                                    "       size      world     time     +-\n");
    assert_has(cb_strbuf_get(&out), "  ALL_REDUCE   float32 in place, bus bandwidth");
    assert_has(cb_strbuf_get(&out), "  SEND_RECV   float32, bus bandwidth"); /* no redop to name */
    cb_strbuf_fini(&out);
}

static void test_time_is_of_the_widest_scope_measured(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_fixture_two_hosts(&result);
    for (size_t i = 0; i < result.collectives.count; i++)
        if (result.collectives.items[i].scope == CB_SCOPE_WORLD)
            result.collectives.items[i].status = CB_STATUS_SKIPPED;
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "inside    between  time between");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_long_link_lists_are_cut_to_their_ends(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_many_nodes);
    const char *text = cb_strbuf_get(&out);
    assert_has(text, "LINKS   16 measured: the 6 slowest and the 3 fastest; median 11.9 GB/s");
    const char *slowest = strstr(text, "gpu0009  gpu0010");
    const char *fastest = strstr(text, "gpu0001  gpu0002");
    assert_non_null(slowest);
    assert_non_null(fastest);
    assert_true(slowest < fastest);
    assert_lacks(text, "gpu0016  gpu0001"); /* neither */
    cb_strbuf_fini(&out);
}

static void add_kernel(struct cb_result *result, int rank, double bytes_per_s,
                       enum cb_status status)
{
    struct cb_kernel_row *row = cb_vec_add(&result->kernels);
    assert_non_null(row);
    row->rank = rank;
    strcpy(row->kernel, "triad");
    row->dtype = CB_DTYPE_FLOAT64;
    strcpy(row->variant, "plain");
    row->threads = 1 + rank % 2;
    row->bytes_per_s = bytes_per_s;
    row->status = status;
}

/* 10, 20, 40, 80: median 30; what failed or was wrong does not count. */
static void test_kernel_median_and_worst(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_result_init(&result);
    add_kernel(&result, 0, 40e9, CB_STATUS_OK);
    add_kernel(&result, 1, 1e9, CB_STATUS_WRONG);
    add_kernel(&result, 2, 80e9, CB_STATUS_OK);
    add_kernel(&result, 3, 10e9, CB_STATUS_NOISY);
    add_kernel(&result, 4, 20e9, CB_STATUS_OK);
    add_kernel(&result, 5, 0, CB_STATUS_FAILED);
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "per rank, 1-2 threads, all ranks at once: median and worst of "
                                    "6\n");
    assert_has(cb_strbuf_get(&out), "    triad float64  30 GB/s  10 GB/s  ?/3  plain\n");
    assert_has(cb_strbuf_get(&out), "WRONG DATA  triad float64 on 1 of 6 ranks\n");
    assert_has(cb_strbuf_get(&out), "failed  triad float64 on 1 of 6 ranks\n");
    assert_has(cb_strbuf_get(&out), "noisy  triad float64 on 1 of 6 ranks\n");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void make_small(struct cb_result *result, const char *kernel, int rank)
{
    add_kernel(result, rank, 1e9, CB_STATUS_OK);
    struct cb_kernel_row *row = &result->kernels.items[result->kernels.count - 1];
    snprintf(row->kernel, sizeof(row->kernel), "%s", kernel);
    row->small = true;
}

/* What holds of several kernels on as many ranks is said once; on fewer ranks, by itself. */
static void test_kernels_that_share_an_oddity(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_result_init(&result);
    for (int rank = 0; rank < 2; rank++) {
        make_small(&result, "read", rank);
        make_small(&result, "write", rank);
        make_small(&result, "copy", rank);
    }
    make_small(&result, "peer", 0);
    add_kernel(&result, 0, 1e9, CB_STATUS_OK);
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "too small  read float64, write float64, copy float64 on 2 of "
                                    "2 ranks; peer\n               float64 on 1 of 1 ranks\n");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

/* The order of the rows in the file is of no consequence. */
static void test_rows_in_any_order(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf before, after;
    cb_fixture_many_nodes(&result);
    render(&result, CB_REPORT_TEXT, false, &before);
    for (size_t i = 0, n = result.kernels.count; i < n / 2; i++) {
        struct cb_kernel_row row = result.kernels.items[i];
        result.kernels.items[i] = result.kernels.items[n - 1 - i];
        result.kernels.items[n - 1 - i] = row;
    }
    for (size_t i = 0, n = result.collectives.count; i < n; i++) {
        size_t other = (i * 7 + 3) % n;
        struct cb_collective_row row = result.collectives.items[i];
        result.collectives.items[i] = result.collectives.items[other];
        result.collectives.items[other] = row;
    }
    for (size_t i = 0, n = result.pairs.count; i < n / 2; i++) {
        struct cb_pair_row row = result.pairs.items[i];
        result.pairs.items[i] = result.pairs.items[n - 1 - i];
        result.pairs.items[n - 1 - i] = row;
    }
    render(&result, CB_REPORT_TEXT, false, &after);
    const char *tables = strstr(cb_strbuf_get(&before), "  LINKS");
    const char *kernels = strstr(cb_strbuf_get(&before), "  KERNELS");
    assert_non_null(tables);
    assert_non_null(kernels);
    char *part = strndup(tables, (size_t)(kernels - tables));
    assert_has(cb_strbuf_get(&after), part);
    free(part);
    /* the kernels appear in another order, each with the same figures */
    assert_has(cb_strbuf_get(&after), "gemm float32   768 GFLOP/s  753 GFLOP/s  gpu0016/127");
    assert_has(cb_strbuf_get(&after), "triad float64    80.8 GB/s    79.1 GB/s  gpu0016/127");
    cb_strbuf_fini(&before);
    cb_strbuf_fini(&after);
    cb_result_fini(&result);
}

static void test_checks_with_one_reason_share_a_line(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_one_rank);
    assert_has(cb_strbuf_get(&out), "not tested  network.advertised, network.healthy, "
                                    "network.round_trip,\n");
    cb_strbuf_fini(&out);
    out = text_of(cb_fixture_many_nodes);
    const char *alarm = strstr(cb_strbuf_get(&out), "    alarm  network.advertised: 1.17 GB/s, "
                                                    "required >= 8.75 GB/s");
    const char *brief = strstr(cb_strbuf_get(&out), "    short  network.healthy: 1.17 GB/s");
    assert_non_null(alarm);
    assert_non_null(brief);
    assert_true(alarm < brief);
    assert_has(cb_strbuf_get(&out), "      -> ask the provider");
    cb_strbuf_fini(&out);
}

/* Met, and shown nevertheless: it answers a question. */
static void test_what_others_published_is_shown(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_result_init(&result);
    struct cb_check *check = cb_vec_add(&result.checks);
    assert_non_null(check);
    *check = (struct cb_check){.id = "collective.published",
                               .status = CB_CHECK_MET,
                               .unit = "byte/s",
                               .summary = "all_reduce 482 GB/s, published for 8 x H100 SXM: "
                                          "480-483 GB/s (DGX H100, AWS p5.48xlarge)",
                               .source = "NVIDIA dgxc-benchmarking, nccl"};
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "  normal  all_reduce 482 GB/s, published for 8 x H100 SXM");
    assert_has(cb_strbuf_get(&out), "source: NVIDIA");
    cb_strbuf_fini(&out);
    result.checks.items[0].status = CB_CHECK_NO_REFERENCE;
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_lacks(cb_strbuf_get(&out), "  normal  ");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_fits_take_a_line_per_curve(void **state)
{
    (void)state;
    struct cb_result result;
    cb_fixture_two_hosts(&result);
    cb_vec_fini(&result.fits);
    const struct cb_fit_row rows[] = {
        {.op = CB_OP_REDUCE_SCATTER,
         .scope = CB_SCOPE_INTRA_NODE,
         .from_bytes = 8,
         .to_bytes = 1024,
         .alpha_s = 11e-6,
         .accepted = true},
        {.op = CB_OP_REDUCE_SCATTER,
         .scope = CB_SCOPE_INTRA_NODE,
         .from_bytes = 2048,
         .to_bytes = 1u << 30,
         .alpha_s = 123.4e-6,
         .bytes_per_s_inf = 0.1176e9,
         .half_bytes = 1023 * 1024,
         .max_relative_error = 0.22},
        {.op = CB_OP_ALL_REDUCE,
         .scope = CB_SCOPE_WORLD,
         .from_bytes = 8,
         .to_bytes = 64,
         .alpha_s = 40e-6,
         .max_relative_error = 1e-9,
         .accepted = true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cb_fit_row *row = cb_vec_add(&result.fits);
        assert_non_null(row);
        *row = rows[i];
    }
    struct cb_strbuf out = {0};
    render(&result, CB_REPORT_TEXT, false, &out);
    const char *text = cb_strbuf_get(&out);
    assert_has(text, "reduce_scatter  intra_node  2 KiB   123 us   118 MB/s  1023 KiB   ! 22 %");
    assert_has(text, "all_reduce      world         8 B    40 us          -         -  < 0.1 %");
    assert_lacks(text, "11 us");
    assert_has(text, "! off by more than 15 % somewhere");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void add_told(struct cb_result *result, enum cb_dtype dtype, uint64_t size_bytes,
                     const char *name, const char *protocol)
{
    struct cb_collective_row *row = cb_vec_add(&result->collectives);
    assert_non_null(row);
    *row = (struct cb_collective_row){.dtype = dtype,
                                      .ranks = 8,
                                      .size_bytes = size_bytes,
                                      .time.median_s = 1e-5,
                                      .algorithm.channels = 4};
    snprintf(row->algorithm.name, sizeof(row->algorithm.name), "%s", name);
    snprintf(row->algorithm.protocol, sizeof(row->algorithm.protocol), "%s", protocol);
}

/* Sizes in any order; a line of its own for an element type only where it differs. */
static void test_algorithms_by_size(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_result_init(&result);
    add_told(&result, CB_DTYPE_FLOAT32, 1u << 20, "ring", "Simple");
    add_told(&result, CB_DTYPE_FLOAT32, 1u << 10, "tree", "LL");
    add_told(&result, CB_DTYPE_FLOAT32, 4u << 10, "tree", "LL");
    add_told(&result, CB_DTYPE_FLOAT32, 64u << 10, "tree", "LL128");
    add_told(&result, CB_DTYPE_FLOAT32, 4u << 20, "ring", "Simple");
    add_told(&result, CB_DTYPE_FLOAT16, 1u << 10, "tree", "LL");
    add_told(&result, CB_DTYPE_FLOAT16, 64u << 10, "tree", "LL128");
    add_told(&result, CB_DTYPE_FLOAT16, 1u << 20, "ring", "Simple");
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "float32: tree LL up to 4 KiB, tree LL128 to 64 KiB, ring");
    assert_has(cb_strbuf_get(&out), "float16: tree LL up to 1 KiB, tree LL128 to 64 KiB, ring");
    cb_strbuf_fini(&out);
    result.collectives.items[2].size_bytes = 1u << 10; /* read twice at that size */
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out),
               "all_reduce world: tree LL up to 1 KiB, tree LL128 to 64 KiB, ");
    assert_lacks(cb_strbuf_get(&out), "all_reduce world float");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

/* Silence is shown where it is, and where nothing was said there is no section. */
static void test_algorithms_that_were_not_said(void **state)
{
    (void)state;
    struct cb_strbuf out = text_of(cb_fixture_gpu_cluster);
    assert_has(cb_strbuf_get(&out),
               "ring Simple to 1 MiB, not said\n      to 4 MiB, ring Simple above");
    cb_strbuf_fini(&out);
    out = text_of(cb_fixture_two_hosts);
    assert_lacks(cb_strbuf_get(&out), "ALGORITHMS");
    cb_strbuf_fini(&out);
}

static void test_one_algorithm_for_all_sizes(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_result_init(&result);
    add_told(&result, CB_DTYPE_FLOAT32, 1u << 10, "symmetric", "");
    add_told(&result, CB_DTYPE_FLOAT32, 1u << 20, "symmetric", "");
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "all_reduce world: symmetric\n");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_an_empty_result_is_a_short_report(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    cb_result_init(&result);
    render(&result, CB_REPORT_TEXT, false, &out);
    assert_has(cb_strbuf_get(&out), "VERDICT  none: ");
    static const char *const sections[] = {"WORKLOADS",    "LINKS",     "KERNELS", "CLUSTER",
                                           "NOT MEASURED", "CHECKS",    "ASSUMED", "WARNINGS",
                                           "STOPPED",      "WRONG DATA"};
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        assert_lacks(cb_strbuf_get(&out), sections[i]);
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

/* ---- CSV ---- */

/* Reads one RFC 4180 cell; returns what follows it. */
static const char *read_cell(const char *at, char cell[CELL_BYTES])
{
    size_t used = 0;
    bool quoted = *at == '"';
    at += quoted;
    while (*at && (quoted || (*at != ',' && *at != '\n'))) {
        if (quoted && *at == '"' && *++at != '"')
            break;
        assert_true(used < CELL_BYTES - 1);
        cell[used++] = *at++;
    }
    cell[used] = '\0';
    assert_true(*at == ',' || *at == '\n');
    return at;
}

static const char *read_line(const char *at, char cells[CSV_COLUMNS][CELL_BYTES])
{
    for (int i = 0; i < CSV_COLUMNS; i++) {
        at = read_cell(at, cells[i]);
        assert_int_equal(*at, i + 1 < CSV_COLUMNS ? ',' : '\n');
        at++;
    }
    return at;
}

static int column_of(char header[CSV_COLUMNS][CELL_BYTES], const char *name)
{
    for (int i = 0; i < CSV_COLUMNS; i++)
        if (strcmp(header[i], name) == 0)
            return i;
    print_error("no column %s\n", name);
    fail();
    return -1;
}

static void test_csv_of_every_fixture(void **state)
{
    (void)state;
    static char header[CSV_COLUMNS][CELL_BYTES], cells[CSV_COLUMNS][CELL_BYTES];
    size_t count;
    const struct cb_fixture *fixtures = cb_fixtures(&count);
    for (size_t i = 0; i < count; i++) {
        struct cb_result result;
        struct cb_strbuf out;
        fixtures[i].build(&result);
        render(&result, CB_REPORT_CSV, false, &out);
        size_t lines = 0;
        for (const char *at = cb_strbuf_get(&out); *at; at++)
            assert_true(*at == '\n' || (*at >= ' ' && *at <= '~'));
        const char *at = read_line(cb_strbuf_get(&out), header);
        while (*at) {
            at = read_line(at, cells);
            lines++;
        }
        assert_int_equal(lines, result.collectives.count + result.pairs.count +
                                    result.kernels.count + result.burns.count);
        cb_strbuf_fini(&out);
        cb_result_fini(&result);
    }
}

static void test_csv_of_a_burn(void **state)
{
    (void)state;
    static char header[CSV_COLUMNS][CELL_BYTES], cells[CSV_COLUMNS][CELL_BYTES];
    struct cb_result result;
    struct cb_strbuf out;
    size_t found = 0;
    cb_fixture_gpu_cluster(&result);
    render(&result, CB_REPORT_CSV, false, &out);
    const char *at = read_line(cb_strbuf_get(&out), header);
    while (*at) {
        at = read_line(at, cells);
        if (strcmp(cells[0], "burn") != 0)
            continue;
        assert_true(found < result.burns.count);
        const struct cb_burn_row *burn = &result.burns.items[found++];
        assert_int_equal(atoi(cells[column_of(header, "rank")]), burn->rank);
        assert_string_equal(cells[column_of(header, "kernel")], "gemm");
        assert_string_equal(cells[column_of(header, "dtype")], cb_dtype_name(burn->dtype));
        assert_near(atof(cells[column_of(header, "flops_per_s")]), burn->flops_per_s, 1e-8);
        assert_string_equal(cells[column_of(header, "bytes_per_s")], "");
        assert_string_equal(cells[column_of(header, "status")], cb_status_name(burn->status));
    }
    assert_true(found > 0);
    assert_int_equal(found, result.burns.count);
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_csv_of_algorithms(void **state)
{
    (void)state;
    static char header[CSV_COLUMNS][CELL_BYTES], cells[CSV_COLUMNS][CELL_BYTES];
    struct cb_result result;
    struct cb_strbuf out;
    size_t told = 0;
    cb_fixture_gpu_cluster(&result);
    render(&result, CB_REPORT_CSV, false, &out);
    const char *at = read_line(cb_strbuf_get(&out), header);
    for (size_t i = 0; *at; i++) {
        static const struct cb_algorithm none;
        at = read_line(at, cells);
        const struct cb_algorithm *algorithm =
            i < result.collectives.count ? &result.collectives.items[i].algorithm : &none;
        assert_string_equal(cells[column_of(header, "algorithm")], algorithm->name);
        assert_string_equal(cells[column_of(header, "protocol")], algorithm->protocol);
        assert_int_equal(atoi(cells[column_of(header, "channels")]), algorithm->channels);
        assert_true(algorithm->channels > 0 || !*cells[column_of(header, "channels")]);
        told += algorithm->name[0] != '\0';
    }
    assert_true(told > 0);
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_csv_cells(void **state)
{
    (void)state;
    static char header[CSV_COLUMNS][CELL_BYTES], cells[CSV_COLUMNS][CELL_BYTES];
    struct cb_result result;
    struct cb_strbuf out;
    cb_fixture_nasty(&result);
    render(&result, CB_REPORT_CSV, false, &out);
    const char *at = read_line(cb_strbuf_get(&out), header);
    at = read_line(at, cells); /* all_reduce */
    assert_string_equal(cells[0], "collective");
    assert_string_equal(cells[column_of(header, "bytes")], "1048576");
    assert_string_equal(cells[column_of(header, "status")], "noisy");
    assert_near(atof(cells[column_of(header, "bus_bytes_per_s")]),
                result.collectives.items[0].bus_bytes_per_s, 1e-8);
    at = read_line(at, cells); /* broadcast, skipped: nothing known is empty, not 0 */
    assert_string_equal(cells[column_of(header, "redop")], "");
    assert_string_equal(cells[column_of(header, "time_median_s")], "");
    assert_string_equal(cells[column_of(header, "ci95_relative")], "");
    assert_string_equal(cells[column_of(header, "wrong")], "");
    at = read_line(at, cells);
    assert_string_equal(cells[0], "pair");
    assert_string_equal(cells[column_of(header, "from")], "?[2J?[1;31mroot?");
    assert_string_equal(cells[column_of(header, "to")], "a,\"b\" c");
    assert_near(atof(cells[column_of(header, "bytes_per_s")]), 117.4e6, 1e-9);
    at = read_line(at, cells);
    assert_string_equal(cells[column_of(header, "status")], "failed");
    assert_string_equal(cells[column_of(header, "reason")], "peer said \"no\", twice   and left");
    at = read_line(at, cells);
    assert_string_equal(cells[0], "kernel");
    assert_string_equal(cells[column_of(header, "rank")], "0");
    assert_string_equal(cells[column_of(header, "kernel")], "?[Hgemm");
    assert_near(atof(cells[column_of(header, "flops_per_s")]), 392e9, 1e-9);
    assert_string_equal(cells[column_of(header, "bytes_per_s")], "");
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

/* ---- the rest ---- */

static void test_json_is_the_result_file(void **state)
{
    (void)state;
    struct cb_result result;
    struct cb_strbuf out;
    struct cb_error err;
    char *json = NULL;
    cb_fixture_two_hosts(&result);
    render(&result, CB_REPORT_JSON, true, &out);
    assert_ok(cb_result_to_json(&result, &json, &err), &err);
    assert_string_equal(cb_strbuf_get(&out), json);
    free(json);
    cb_strbuf_fini(&out);
    cb_result_fini(&result);
}

static void test_format_names(void **state)
{
    (void)state;
    for (int i = 0; i < CB_REPORT_FORMAT_COUNT; i++)
        assert_int_equal(cb_report_format_parse(cb_report_format_name((enum cb_report_format)i)),
                         i);
    assert_int_equal(cb_report_format_parse("html"), -1);
    assert_int_equal(cb_report_format_parse(""), -1);
}

static void assert_numbers(const int *numbers, size_t count, size_t most, const char *expected)
{
    struct cb_strbuf out = {0};
    cb_ranges_add_numbers(&out, numbers, count, most);
    assert_string_equal(cb_strbuf_get(&out), expected);
    cb_strbuf_fini(&out);
}

static void test_ranges_of_numbers(void **state)
{
    (void)state;
    static const int numbers[] = {0, 1, 2, 5, 7, 8, 2147483647};
    assert_numbers(numbers, 0, 9, "");
    assert_numbers(numbers, 3, 9, "0-2");
    assert_numbers(numbers, 7, 9, "0-2, 5, 7-8, 2147483647");
    assert_numbers(numbers, 7, 2, "0-2, 5, and 3 more");
}

static void assert_hosts(const char *const *names, size_t count, size_t most, const char *expected)
{
    struct cb_strbuf out = {0};
    cb_ranges_add_hosts(&out, names, count, most);
    assert_string_equal(cb_strbuf_get(&out), expected);
    cb_strbuf_fini(&out);
}

static void test_ranges_of_hosts(void **state)
{
    (void)state;
    static const char *const two[] = {"n0", "n1"};
    static const char *const mixed[] = {"login", "n8", "n9", "n10", "n12", "a08", "a09", "a10"};
    static const char *const padded[] = {"a9", "a010", "a011", "a012"};
    static const char *const numbers[] = {"1", "2", "3", "99999999999998", "99999999999999"};
    assert_hosts(two, 2, 9, "n0, n1");
    assert_hosts(mixed, 8, 9, "login, n[8-10], n12, a[08-10]");
    assert_hosts(mixed, 8, 2, "login, n[8-10], and 4 more");
    assert_hosts(padded, 4, 9, "a9, a[010-012]");
    assert_hosts(numbers, 5, 9, "[1-3], 99999999999998, 99999999999999");
}

static void test_names_are_numbered_once(void **state)
{
    (void)state;
    struct cb_names names = {0};
    char text[32];
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < 1000; i++) {
            size_t number = 0;
            snprintf(text, sizeof(text), "name %zu", i * 37 % 1000);
            assert_int_equal(cb_names_intern(&names, text, &number), 0);
            assert_int_equal(number, i);
            assert_string_equal(cb_names_get(&names, number), text);
        }
    cb_names_fini(&names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_line_leaves_the_page),
        cmocka_unit_test(test_links_stand_beside_what_crossed_them),
        cmocka_unit_test(test_wire_stands_beside_what_seems_too_fast),
        cmocka_unit_test(test_what_a_warning_says_is_said_once),
        cmocka_unit_test(test_missing_texts_leave_no_gaps),
        cmocka_unit_test(test_color_changes_nothing_else),
        cmocka_unit_test(test_the_arithmetic_can_be_redone),
        cmocka_unit_test(test_verdict_words),
        cmocka_unit_test(test_a_share_above_one_is_called_what_it_is),
        cmocka_unit_test(test_a_share_at_the_limit_shows_its_side),
        cmocka_unit_test(test_undecided_is_neither),
        cmocka_unit_test(test_nothing_to_judge_says_why),
        cmocka_unit_test(test_the_model_stands_below_the_verdict),
        cmocka_unit_test(test_a_silent_formula_points_to_the_model),
        cmocka_unit_test(test_assumptions_close_the_page),
        cmocka_unit_test(test_slower_nodes_are_said_in_words),
        cmocka_unit_test(test_two_verdicts_are_explained),
        cmocka_unit_test(test_no_model_says_why),
        cmocka_unit_test(test_wrong_data_come_first),
        cmocka_unit_test(test_early_stop_and_simulation_are_near_the_top),
        cmocka_unit_test(test_made_up_speed_is_not_nominal),
        cmocka_unit_test(test_scopes_stand_side_by_side),
        cmocka_unit_test(test_time_is_of_the_widest_scope_measured),
        cmocka_unit_test(test_long_link_lists_are_cut_to_their_ends),
        cmocka_unit_test(test_kernel_median_and_worst),
        cmocka_unit_test(test_kernels_that_share_an_oddity),
        cmocka_unit_test(test_rows_in_any_order),
        cmocka_unit_test(test_checks_with_one_reason_share_a_line),
        cmocka_unit_test(test_what_others_published_is_shown),
        cmocka_unit_test(test_fits_take_a_line_per_curve),
        cmocka_unit_test(test_algorithms_by_size),
        cmocka_unit_test(test_algorithms_that_were_not_said),
        cmocka_unit_test(test_one_algorithm_for_all_sizes),
        cmocka_unit_test(test_an_empty_result_is_a_short_report),
        cmocka_unit_test(test_csv_of_every_fixture),
        cmocka_unit_test(test_csv_of_a_burn),
        cmocka_unit_test(test_csv_of_algorithms),
        cmocka_unit_test(test_csv_cells),
        cmocka_unit_test(test_json_is_the_result_file),
        cmocka_unit_test(test_format_names),
        cmocka_unit_test(test_ranges_of_numbers),
        cmocka_unit_test(test_ranges_of_hosts),
        cmocka_unit_test(test_names_are_numbered_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
