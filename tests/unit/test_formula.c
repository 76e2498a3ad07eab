#include "cb_test.h"

#include <string.h>

#include "model/formula.h"

static struct cb_formula step(double parameters, double bytes_per_s, double time_s)
{
    return (struct cb_formula){
        .parameters = parameters,
        .communications = 1,
        .bandwidth_bytes_per_s = bytes_per_s,
        .span = CB_SPAN_STEP,
        .time_s = time_s,
        .threshold = CB_FORMULA_THRESHOLD,
    };
}

static struct cb_formula judge(struct cb_formula formula)
{
    struct cb_error err;
    assert_ok(cb_formula_judge(&formula, &err), &err);
    assert_true(formula.judged);
    return formula;
}

/* The documents' example figures: a 7B model over NVLink (600 GB/s), RoCE at 100 Gb/s (12.5 GB/s)
 * and gigabit Ethernet (0.125 GB/s), worked out by hand: 28 GB per synchronisation. */
static void test_documents_links(void **state)
{
    (void)state;
    static const struct {
        double bytes_per_s, communication_s;
    } links[] = {{600e9, 28.0 / 600}, {12.5e9, 2.24}, {0.125e9, 224}};
    for (size_t i = 0; i < 3; i++) {
        struct cb_formula f = judge(step(7e9, links[i].bytes_per_s, 10));
        assert_near(f.bytes_per_step, 28e9, 0);
        assert_near(f.communication_s, links[i].communication_s, 1e-14);
        assert_near(f.step_communication_s, links[i].communication_s, 1e-14);
        assert_near(f.share, links[i].communication_s / 10, 1e-14);
        assert_near(f.required_bytes_per_s, 14e9, 1e-14);
    }
    /* In a step of 10 s: 0.5 % over NVLink, 22 % over RoCE, 2240 % over gigabit. */
    assert_false(judge(step(7e9, 600e9, 10)).bottleneck);
    assert_true(judge(step(7e9, 12.5e9, 10)).bottleneck);
    assert_true(judge(step(7e9, 0.125e9, 10)).bottleneck);
}

/* A stated time that cannot hold the communication: the share is above 1 and stays what it is. */
static void test_share_above_one_is_kept(void **state)
{
    (void)state;
    struct cb_formula f = judge(step(7e9, 0.125e9, 10));
    assert_near(f.share, 22.4, 1e-14);
    assert_near(f.total_s, 10, 0);
}

/* 1000 steps of a 1.3B model at 12.5 GB/s: 0.416 s each, 416 s in all. */
static void test_total_time(void **state)
{
    (void)state;
    struct cb_formula f = step(1.3e9, 12.5e9, 4160);
    f.span = CB_SPAN_TOTAL;
    f.communications = 1000;
    f = judge(f);
    assert_near(f.communication_s, 416, 1e-14);
    assert_near(f.step_communication_s, 0.416, 1e-14);
    assert_near(f.total_s, 4160, 0);
    assert_near(f.share, 0.1, 1e-14);
    assert_false(f.bottleneck);
    assert_near(f.required_bytes_per_s, 6.25e9, 1e-14);
}

/* 2.24 s of communication beside 6.72 s of compute: a quarter of 8.96 s. */
static void test_compute_time(void **state)
{
    (void)state;
    struct cb_formula f = step(7e9, 12.5e9, 6.72);
    f.span = CB_SPAN_COMPUTE;
    f.communications = 100;
    f.tokens_per_step = 512;
    f = judge(f);
    assert_near(f.share, 0.25, 1e-14);
    assert_near(f.total_s, 896, 1e-14);
    assert_near(f.communication_s, 224, 1e-14);
    /* 20 % of the step beside 6.72 s is 1.68 s: 28 GB / 1.68 s. */
    assert_near(f.required_bytes_per_s, 28e9 / 1.68, 1e-14);
    /* 2.24 s is 20 % of the step beside 8.96 s: 4/3 of the tokens. */
    assert_near(f.critical_tokens, 512 * 8.96 / 6.72, 1e-14);
    assert_true(f.bottleneck);
    f.threshold = 0.25;
    f.bandwidth_bytes_per_s *= 1.0001;
    assert_false(judge(f).bottleneck);
}

static void test_tokens_are_unknown_without_a_compute_time(void **state)
{
    (void)state;
    struct cb_formula f = step(7e9, 12.5e9, 10);
    f.tokens_per_step = 512;
    assert_near(judge(f).critical_tokens, 0, 0);
    f.span = CB_SPAN_COMPUTE;
    f.tokens_per_step = 0;
    assert_near(judge(f).critical_tokens, 0, 0);
}

/* The inversions: at the required bandwidth, and with the critical tokens, the share is the
 * threshold. */
static void test_inversions_meet_the_threshold(void **state)
{
    (void)state;
    static const double thresholds[] = {0.01, 0.2, 0.5, 0.99};
    for (int span = 0; span < CB_SPAN_COUNT; span++) {
        for (size_t i = 0; i < 4; i++) {
            struct cb_formula f = step(13e9, 3.7e9, 42);
            f.span = (enum cb_span)span;
            f.communications = 17;
            f.tokens_per_step = 2048;
            f.threshold = thresholds[i];
            f = judge(f);
            struct cb_formula at_limit = f;
            at_limit.bandwidth_bytes_per_s = f.required_bytes_per_s;
            assert_near(judge(at_limit).share, thresholds[i], 1e-12);
            if (f.span != CB_SPAN_COMPUTE)
                continue;
            struct cb_formula longer = f;
            longer.time_s *= f.critical_tokens / f.tokens_per_step;
            longer.tokens_per_step = f.critical_tokens;
            assert_near(judge(longer).share, thresholds[i], 1e-12);
        }
    }
}

/* Twice the parameters, twice the time; twice the bandwidth, half of it; the number of
 * synchronisations cancels where the time is that of one step. */
static void test_scaling(void **state)
{
    (void)state;
    struct cb_formula one = judge(step(7e9, 12.5e9, 10));
    assert_near(judge(step(14e9, 12.5e9, 10)).share, 2 * one.share, 1e-14);
    assert_near(judge(step(7e9, 25e9, 10)).share, one.share / 2, 1e-14);
    assert_near(judge(step(7e9, 12.5e9, 20)).share, one.share / 2, 1e-14);
    struct cb_formula many = step(7e9, 12.5e9, 10);
    many.communications = 5000;
    many = judge(many);
    assert_near(many.share, one.share, 1e-14);
    assert_near(many.required_bytes_per_s, one.required_bytes_per_s, 1e-14);
    assert_near(many.communication_s, 5000 * one.communication_s, 1e-14);
    assert_near(many.total_s, 50000, 1e-14);
}

/* Stating a step, the same step's compute part, or the whole training is the same judgement. */
static void test_spans_agree(void **state)
{
    (void)state;
    struct cb_formula whole = judge(step(7e9, 12.5e9, 10));
    struct cb_formula compute = step(7e9, 12.5e9, 10 - whole.communication_s);
    compute.span = CB_SPAN_COMPUTE;
    compute = judge(compute);
    struct cb_formula total = step(7e9, 12.5e9, 10 * 300);
    total.span = CB_SPAN_TOTAL;
    total.communications = 300;
    total = judge(total);
    assert_near(compute.share, whole.share, 1e-14);
    assert_near(total.share, whole.share, 1e-14);
    assert_near(total.required_bytes_per_s, whole.required_bytes_per_s, 1e-14);
}

static void assert_refused(struct cb_formula formula, const char *named)
{
    struct cb_formula before = formula;
    struct cb_error err;
    assert_int_equal(cb_formula_judge(&formula, &err), CB_E_USAGE);
    if (!strstr(err.what, named))
        print_error("\"%s\" does not name \"%s\"\n", err.what, named);
    assert_non_null(strstr(err.what, named));
    assert_memory_equal(&formula, &before, sizeof(formula));
    assert_int_equal(cb_formula_judge(&formula, NULL), CB_E_USAGE);
}

static void test_bad_input_is_named(void **state)
{
    (void)state;
    static const double bads[] = {0, -1, (double)NAN, (double)INFINITY, -(double)INFINITY};
    for (size_t i = 0; i < sizeof(bads) / sizeof(bads[0]); i++) {
        assert_refused(step(bads[i], 12.5e9, 10), "parameters");
        assert_refused(step(7e9, bads[i], 10), "bandwidth");
        assert_refused(step(7e9, 12.5e9, bads[i]), "time");
        struct cb_formula f = step(7e9, 12.5e9, 10);
        f.communications = bads[i];
        assert_refused(f, "communications");
        f = step(7e9, 12.5e9, 10);
        f.threshold = bads[i];
        assert_refused(f, "threshold");
        f = step(7e9, 12.5e9, 10);
        f.tokens_per_step = bads[i];
        if (bads[i] != 0) /* 0: none stated */
            assert_refused(f, "tokens");
    }
    struct cb_formula f = step(7e9, 12.5e9, 10);
    f.threshold = 1;
    assert_refused(f, "threshold");
    f = step(7e9, 12.5e9, 10);
    f.span = CB_SPAN_COUNT;
    assert_refused(f, "no time");
}

static void test_overflow_is_refused(void **state)
{
    (void)state;
    struct cb_formula f = step(1e15, 12.5e9, 10);
    f.communications = 1e300;
    assert_refused(f, "overflow");
    assert_refused(step(1e308, 12.5e9, 10), "overflow");
    assert_refused(step(1e300, 1e-300, 10), "overflow");
    assert_refused(step(1e10, 12.5e9, 1e-308), "overflow");
    /* Large but representable: a quadrillion parameters. */
    assert_near(judge(step(1e15, 1, 1)).share, 4e15, 1e-14);
}

static void test_span_names(void **state)
{
    (void)state;
    for (int i = 0; i < CB_SPAN_COUNT; i++)
        assert_int_equal(cb_span_parse(cb_span_name((enum cb_span)i)), i);
    assert_int_equal(cb_span_parse("epoch"), -1);
    assert_int_equal(cb_span_parse(""), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_documents_links),
        cmocka_unit_test(test_share_above_one_is_kept),
        cmocka_unit_test(test_total_time),
        cmocka_unit_test(test_compute_time),
        cmocka_unit_test(test_tokens_are_unknown_without_a_compute_time),
        cmocka_unit_test(test_inversions_meet_the_threshold),
        cmocka_unit_test(test_scaling),
        cmocka_unit_test(test_spans_agree),
        cmocka_unit_test(test_bad_input_is_named),
        cmocka_unit_test(test_overflow_is_refused),
        cmocka_unit_test(test_span_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
