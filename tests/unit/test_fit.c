#include "cb_test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/fit.h"

#define MIB (1024.0 * 1024.0)

/* ---- by hand ---- */

static void fits_a_line_that_is_one(void **state)
{
    (void)state;
    /* 10 us + size / 1 GB/s: half of that rate at 10 000 bytes. */
    const struct cb_fit_point points[] = {{1e3, 11e-6}, {1e4, 20e-6}, {1e5, 110e-6}};
    struct cb_fit fit;
    struct cb_error err;
    assert_ok(cb_fit_line(points, 3, &fit, &err), &err);
    assert_near(fit.alpha_s, 10e-6, 1e-9);
    assert_near(fit.bytes_per_s_inf, 1e9, 1e-9);
    assert_near(fit.beta_s_per_byte, 1e-9, 1e-9);
    assert_near(fit.half_bytes, 1e4, 1e-9);
    assert_near(fit.from_bytes, 1e3, 0);
    assert_near(fit.to_bytes, 1e5, 0);
    assert_int_equal(fit.points, 3);
    assert_true(fit.max_relative_error < 1e-9);
    assert_true(fit.accepted);
    assert_near(cb_fit_time_s(&fit, 2e6), 2010e-6, 1e-9);
}

static void weighs_relative_errors_alike(void **state)
{
    (void)state;
    /* Of two equal sizes the line through both is flat, or one through the origin: the minimum of
     * the sum of ((a - t) / t)^2 over 1 and 1.5 is at a = (1/1 + 1/1.5) / (1/1 + 1/2.25) = 15/13,
     * which is 2/13 above the one and 3/13 below the other. */
    const struct cb_fit_point points[] = {{1e6, 1}, {1e6, 1.5}};
    struct cb_fit fit;
    struct cb_error err;
    assert_ok(cb_fit_line(points, 2, &fit, &err), &err);
    assert_near(cb_fit_time_s(&fit, 1e6), 15.0 / 13, 1e-9);
    assert_near(fit.mean_relative_error, 2.5 / 13, 1e-9);
    assert_near(fit.max_relative_error, 3.0 / 13, 1e-9);
    assert_false(fit.accepted);
}

static void lets_neither_coefficient_fall_below_zero(void **state)
{
    (void)state;
    const struct cb_fit_point falling[] = {{1, 3}, {2, 2.9}, {3, 2.8}};
    const struct cb_fit_point sagging[] = {{1e6, 1}, {2e6, 2.1}, {4e6, 4.4}};
    struct cb_fit fit;
    struct cb_error err;
    assert_ok(cb_fit_line(falling, 3, &fit, &err), &err);
    assert_near(fit.beta_s_per_byte, 0, 0);
    assert_near(fit.bytes_per_s_inf, 0, 0);
    assert_near(fit.half_bytes, 0, 0);
    assert_true(fit.alpha_s > 2.8 && fit.alpha_s < 3);
    assert_ok(cb_fit_line(sagging, 3, &fit, &err), &err);
    assert_near(fit.alpha_s, 0, 0);
    assert_true(fit.bytes_per_s_inf > 0.9e6 && fit.bytes_per_s_inf < 1e6);
}

static void refuses_what_is_no_point(void **state)
{
    (void)state;
    const double bad[] = {0, -1, NAN, INFINITY};
    struct cb_fit fit = {.points = 42};
    size_t count = 42;
    struct cb_fit regimes[CB_FIT_MAX_REGIMES];
    struct cb_error err;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const struct cb_fit_point sizes[] = {{bad[i], 1}, {2, 2}, {3, 3}};
        const struct cb_fit_point times[] = {{1, 1}, {2, bad[i]}, {3, 3}};
        assert_int_equal(cb_fit_line(sizes, 3, &fit, &err), CB_E_INPUT);
        assert_int_equal(cb_fit_line(times, 3, &fit, &err), CB_E_INPUT);
        assert_int_equal(cb_fit_curve(sizes, 3, regimes, &count, &err), CB_E_INPUT);
        assert_int_equal(cb_fit_curve(times, 3, regimes, &count, &err), CB_E_INPUT);
    }
    const struct cb_fit_point alone[] = {{1, 1}};
    const struct cb_fit_point unsorted[] = {{2, 1}, {1, 1}, {3, 1}};
    const struct cb_fit_point twice[] = {{1, 1}, {1, 1}, {3, 1}};
    assert_int_equal(cb_fit_line(alone, 1, &fit, &err), CB_E_INPUT);
    assert_int_equal(cb_fit_curve(unsorted, 3, regimes, &count, &err), CB_E_INPUT);
    assert_int_equal(cb_fit_curve(twice, 3, regimes, &count, &err), CB_E_INPUT);
    assert_int_equal(fit.points, 42);
    assert_int_equal(count, 42);
    assert_ok(cb_fit_curve(alone, 1, regimes, &count, &err), &err);
    assert_int_equal(count, 0);
}

/* ---- curves ---- */

/* A generator of our own, so that the figures are the same everywhere. */
static uint64_t random_state;

static double random_share(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (double)(random_state >> 11) / 9007199254740992.0;
}

/* Roughly normal, of variance 1: twelve uniform ones. */
static double random_normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += random_share();
    return sum;
}

#define CURVE 24

/* Sizes 8 B, 16 B ... 64 MiB: flat at 20 us up to 16 KiB, 30 us + size / 2 GB/s to 1 MiB, then 200
 * us + size / 10 GB/s. */
static void make_regimes(struct cb_fit_point *points, double noise)
{
    for (int i = 0; i < CURVE; i++) {
        double size_bytes = ldexp(8, i);
        double time_s = size_bytes <= 16384     ? 20e-6
                        : size_bytes <= 1048576 ? 30e-6 + size_bytes / 2e9
                                                : 200e-6 + size_bytes / 10e9;
        points[i] = (struct cb_fit_point){size_bytes, time_s * (1 + noise * random_normal())};
    }
}

static void finds_the_regimes(void **state)
{
    (void)state;
    struct cb_fit_point points[CURVE];
    struct cb_fit regimes[CB_FIT_MAX_REGIMES];
    struct cb_error err;
    size_t count;
    random_state = 1;
    for (int round = 0; round < 20; round++) {
        make_regimes(points, round == 0 ? 0 : 0.01);
        assert_ok(cb_fit_curve(points, CURVE, regimes, &count, &err), &err);
        assert_int_equal(count, 3);
        assert_near(regimes[0].to_bytes, 16384, 0);
        assert_near(regimes[1].from_bytes, 32768, 0);
        assert_near(regimes[1].to_bytes, 1048576, 0);
        assert_near(regimes[2].from_bytes, 2097152, 0);
        double tolerance = round == 0 ? 1e-9 : 0.1;
        assert_near(regimes[0].alpha_s, 20e-6, tolerance);
        assert_near(regimes[1].alpha_s, 30e-6, tolerance);
        assert_near(regimes[1].bytes_per_s_inf, 2e9, tolerance);
        assert_near(regimes[2].alpha_s, 200e-6, tolerance);
        assert_near(regimes[2].bytes_per_s_inf, 10e9, tolerance);
        for (size_t i = 0; i < count; i++)
            assert_true(regimes[i].accepted);
    }
}

static void makes_one_regime_of_one(void **state)
{
    (void)state;
    struct cb_fit_point points[CURVE];
    struct cb_fit regimes[CB_FIT_MAX_REGIMES];
    struct cb_error err;
    size_t count;
    int more = 0;
    random_state = 2;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < CURVE; i++) {
            double size_bytes = ldexp(8, i);
            points[i] = (struct cb_fit_point){size_bytes, (20e-6 + size_bytes / 1e9) *
                                                              (1 + 0.03 * random_normal())};
        }
        assert_ok(cb_fit_curve(points, CURVE, regimes, &count, &err), &err);
        more += count > 1;
    }
    assert_in_range(more, 0, 2);
}

static void cuts_no_regime_out_for_an_outlier(void **state)
{
    (void)state;
    struct cb_fit_point points[CURVE];
    struct cb_fit regimes[CB_FIT_MAX_REGIMES];
    struct cb_error err;
    size_t count;
    random_state = 3;
    for (int outlier = 0; outlier < CURVE; outlier++) {
        for (int i = 0; i < CURVE; i++) {
            double size_bytes = ldexp(8, i);
            points[i] = (struct cb_fit_point){size_bytes, (20e-6 + size_bytes / 1e9) *
                                                              (1 + 0.01 * random_normal())};
        }
        points[outlier].time_s *= 4;
        assert_ok(cb_fit_curve(points, CURVE, regimes, &count, &err), &err);
        assert_int_equal(count, 1);
        assert_near(regimes[0].alpha_s, 20e-6, 0.05);
        assert_near(regimes[0].bytes_per_s_inf, 1e9, 0.05);
        /* The line is right, but a point that it misses so far makes the curve no Hockney curve. */
        assert_false(regimes[0].accepted);
        assert_true(regimes[0].max_relative_error > 0.7);
    }
}

static void scales_with_time_and_size(void **state)
{
    (void)state;
    struct cb_fit_point points[CURVE], scaled[CURVE];
    struct cb_fit plain[CB_FIT_MAX_REGIMES], other[CB_FIT_MAX_REGIMES];
    struct cb_error err;
    size_t count, other_count;
    random_state = 4;
    make_regimes(points, 0.02);
    for (int i = 0; i < CURVE; i++)
        scaled[i] = (struct cb_fit_point){points[i].size_bytes * 64, points[i].time_s * 1000};
    assert_ok(cb_fit_curve(points, CURVE, plain, &count, &err), &err);
    assert_ok(cb_fit_curve(scaled, CURVE, other, &other_count, &err), &err);
    assert_int_equal(count, other_count);
    for (size_t i = 0; i < count; i++) {
        assert_near(other[i].from_bytes, plain[i].from_bytes * 64, 0);
        assert_near(other[i].alpha_s, plain[i].alpha_s * 1000, 1e-6);
        assert_near(other[i].beta_s_per_byte, plain[i].beta_s_per_byte * 1000 / 64, 1e-6);
        assert_near(other[i].half_bytes, plain[i].half_bytes * 64, 1e-6);
        assert_near(other[i].max_relative_error, plain[i].max_relative_error, 1e-6);
    }
}

static void does_not_care_for_the_order_of_a_line(void **state)
{
    (void)state;
    struct cb_fit_point points[CURVE], shuffled[CURVE];
    struct cb_fit plain, other;
    struct cb_error err;
    random_state = 5;
    make_regimes(points, 0.02);
    memcpy(shuffled, points, sizeof(points));
    for (int i = CURVE - 1; i > 0; i--) {
        int j = (int)(random_share() * (i + 1));
        struct cb_fit_point kept = shuffled[i];
        shuffled[i] = shuffled[j];
        shuffled[j] = kept;
    }
    assert_ok(cb_fit_line(points, CURVE, &plain, &err), &err);
    assert_ok(cb_fit_line(shuffled, CURVE, &other, &err), &err);
    assert_near(other.alpha_s, plain.alpha_s, 1e-7);
    assert_near(other.beta_s_per_byte, plain.beta_s_per_byte, 1e-7);
    assert_near(other.from_bytes, plain.from_bytes, 0);
    assert_near(other.to_bytes, plain.to_bytes, 0);
    assert_near(other.max_relative_error, plain.max_relative_error, 1e-7);
}

static void takes_a_curve_of_any_length(void **state)
{
    (void)state;
    enum { LONG = 1000 };
    static struct cb_fit_point points[LONG];
    struct cb_fit regimes[CB_FIT_MAX_REGIMES];
    struct cb_error err;
    size_t count, covered = 0;
    for (int i = 0; i < LONG; i++) {
        double size_bytes = 1000.0 * (i + 1);
        points[i] = (struct cb_fit_point){size_bytes, (i < 500 ? 1e-5 : 3e-5) + size_bytes / 1e9};
    }
    assert_ok(cb_fit_curve(points, LONG, regimes, &count, &err), &err);
    for (size_t i = 0; i < count; i++)
        covered += (size_t)regimes[i].points;
    assert_int_equal(covered, LONG);
    assert_near(regimes[0].from_bytes, 1000, 0);
    assert_near(regimes[count - 1].to_bytes, 1e6, 0);
    assert_near(regimes[count - 1].bytes_per_s_inf, 1e9, 0.01);
}

/* ---- which estimator ---- */

/* The candidates that cb_fit_line was chosen against: plain least squares of relative residuals,
 * and Theil and Sen's median of slopes with the median intercept. Neither is kept from going below
 * 0. */
struct estimate {
    double alpha_s, beta_s_per_byte;
};

static struct estimate least_squares(const struct cb_fit_point *points, size_t count)
{
    double uu = 0, uv = 0, vv = 0, u1 = 0, v1 = 0;
    for (size_t i = 0; i < count; i++) {
        double u = 1 / points[i].time_s, v = points[i].size_bytes / MIB / points[i].time_s;
        uu += u * u, uv += u * v, vv += v * v, u1 += u, v1 += v;
    }
    double determinant = uu * vv - uv * uv;
    return (struct estimate){(u1 * vv - v1 * uv) / determinant,
                             (uu * v1 - uv * u1) / determinant / MIB};
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

#define SWEEP 16

static struct estimate theil_sen(const struct cb_fit_point *points, size_t count)
{
    double slopes[SWEEP * SWEEP], intercepts[SWEEP];
    size_t slope_count = 0;
    for (size_t i = 0; i < count; i++)
        for (size_t j = i + 1; j < count; j++)
            slopes[slope_count++] = (points[j].time_s - points[i].time_s) /
                                    (points[j].size_bytes - points[i].size_bytes);
    double slope = median_of(slopes, slope_count);
    for (size_t i = 0; i < count; i++)
        intercepts[i] = points[i].time_s - slope * points[i].size_bytes;
    return (struct estimate){median_of(intercepts, count), slope};
}

static struct estimate ours(const struct cb_fit_point *points, size_t count)
{
    struct cb_fit fit;
    struct cb_error err;
    assert_ok(cb_fit_line(points, count, &fit, &err), &err);
    return (struct estimate){fit.alpha_s, fit.beta_s_per_byte};
}

enum { LEAST_SQUARES, THEIL_SEN, HUBER, CANDIDATES };

struct injection {
    const char *name;
    int outliers;     /* of SWEEP points */
    double low, high; /* their times are multiplied by something between */
};

/* The worst relative error of the fitted time over the sweep's sizes and eight times beyond,
 * against the truth: median and 95th percentile of 400 curves. */
static void try_injection(const struct injection *injection, double results[CANDIDATES][2])
{
    enum { ROUNDS = 400 };
    static struct estimate (*const candidates[])(const struct cb_fit_point *,
                                                 size_t) = {least_squares, theil_sen, ours};
    static double worst[CANDIDATES][ROUNDS];
    random_state = 6;
    for (int round = 0; round < ROUNDS; round++) {
        /* 64 KiB to 2 GiB; half-power sizes from 256 KiB to 64 MiB. */
        struct cb_fit_point points[SWEEP];
        double beta = 1 / 100e9, alpha_s = ldexp(256 * 1024, (int)(9 * random_share())) * beta;
        bool hit[SWEEP] = {false};
        for (int i = 0; i < injection->outliers; i++) {
            int at;
            do
                at = (int)(SWEEP * random_share());
            while (hit[at]);
            hit[at] = true;
        }
        for (int i = 0; i < SWEEP; i++) {
            double size_bytes = ldexp(65536, i);
            double time_s = (alpha_s + beta * size_bytes) * (1 + 0.02 * random_normal());
            if (hit[i])
                time_s *= injection->low + (injection->high - injection->low) * random_share();
            points[i] = (struct cb_fit_point){size_bytes, time_s};
        }
        for (int c = 0; c < CANDIDATES; c++) {
            struct estimate line = candidates[c](points, SWEEP);
            worst[c][round] = 0;
            for (int i = 0; i < SWEEP + 3; i++) {
                double size_bytes = ldexp(65536, i);
                double truth_s = alpha_s + beta * size_bytes;
                double found_s = line.alpha_s + line.beta_s_per_byte * size_bytes;
                worst[c][round] = fmax(worst[c][round], fabs(found_s / truth_s - 1));
            }
        }
    }
    for (int c = 0; c < CANDIDATES; c++) {
        qsort(worst[c], ROUNDS, sizeof(double), compare);
        results[c][0] = worst[c][ROUNDS / 2];
        results[c][1] = worst[c][ROUNDS * 95 / 100];
    }
}

/* The choice of docs/design.md, "Fits", held: with outliers Huber's estimator is the best of the
 * three, and without any it costs next to nothing. */
static void stands_outliers_better_than_the_other_candidates(void **state)
{
    (void)state;
    static const struct injection injections[] = {
        {"none", 0, 1, 1},
        {"1 of 16, x1.3-3", 1, 1.3, 3},
        {"3 of 16, x1.3-3", 3, 1.3, 3},
        {"3 of 16, x3-10", 3, 3, 10},
        {"1 of 16, x0.5-0.8", 1, 0.5, 0.8},
        {"3 of 16, x0.5-2", 3, 0.5, 2},
    };
    print_message("%-20s %17s %17s %17s\n", "outliers", "least squares", "Theil-Sen", "Huber");
    for (size_t i = 0; i < sizeof(injections) / sizeof(injections[0]); i++) {
        double results[CANDIDATES][2];
        try_injection(&injections[i], results);
        print_message("%-20s", injections[i].name);
        for (int c = 0; c < CANDIDATES; c++)
            print_message("  %6.1f %% %6.1f %%", 100 * results[c][0], 100 * results[c][1]);
        print_message("\n");
        for (int which = 0; which < 2; which++) {
            /* Where there are none nothing may be lost; where there are, and slow as those of a
             * busy machine are, much is won. */
            bool slow = injections[i].low > 1;
            double huber = results[HUBER][which];
            assert_true(huber <= results[LEAST_SQUARES][which] * (slow ? 0.4 : 1.1));
            assert_true(huber <= results[THEIL_SEN][which] * (slow ? 0.9 : 1.1));
        }
        assert_true(results[HUBER][1] < 0.05);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fits_a_line_that_is_one),
        cmocka_unit_test(weighs_relative_errors_alike),
        cmocka_unit_test(lets_neither_coefficient_fall_below_zero),
        cmocka_unit_test(refuses_what_is_no_point),
        cmocka_unit_test(finds_the_regimes),
        cmocka_unit_test(makes_one_regime_of_one),
        cmocka_unit_test(cuts_no_regime_out_for_an_outlier),
        cmocka_unit_test(scales_with_time_and_size),
        cmocka_unit_test(does_not_care_for_the_order_of_a_line),
        cmocka_unit_test(takes_a_curve_of_any_length),
        cmocka_unit_test(stands_outliers_better_than_the_other_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
