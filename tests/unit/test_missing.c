/* Who is missing when nothing moves: from where the ranks are to the words. Each case says what is
 * different on one or two ranks of four, all of which are else inside the same operation. */
#include "measure/missing.h"

#include <stdio.h>
#include <string.h>

#include "cb_test.h"

enum { RANKS = 4, TURN = 7 };

/* Four ranks on two hosts, in the operation of turn 7 of step 3, nothing known of their GPUs. */
static void fill(struct cb_roll_entry entries[RANKS])
{
    memset(entries, 0, RANKS * sizeof(*entries));
    for (int i = 0; i < RANKS; i++) {
        entries[i] = (struct cb_roll_entry){
            .rank = i, .was_heard = true, .answers = true, .place = {.step = 3, .turn = TURN}};
        snprintf(entries[i].host, sizeof(entries[i].host), "%s", i < 2 ? "alpha" : "beta");
    }
}

static void expect(const struct cb_roll_entry entries[RANKS], bool names, const char *expected)
{
    char text[512];
    bool named = cb_missing_describe(entries, RANKS, text, sizeof(text));
    assert_string_equal(text, expected);
    assert_int_equal(named, names);
}

static void test_no_difference(void **state)
{
    (void)state;
    struct cb_roll_entry entries[RANKS];
    fill(entries);
    expect(entries, false,
           "all 4 ranks of the operation have started it: a GPU or a link is stuck");
    /* Every GPU is behind its operation: that tells nobody apart. */
    for (int i = 0; i < RANKS; i++) {
        entries[i].place.has_reached = CB_SEEN_NO;
        entries[i].place.answers = CB_SEEN_NO;
        entries[i].place.has_joined = CB_SEEN_NO;
    }
    expect(entries, false,
           "all 4 ranks of the operation have started it: a GPU or a link is stuck");
    entries[3].was_heard = entries[3].answers = false;
    expect(entries, false,
           "all 3 ranks of the operation that can be asked have started it: a GPU or a link is "
           "stuck");
    fill(entries);
    for (int i = 0; i < RANKS; i++)
        entries[i].place.turn = TURN - 1;
    expect(entries, false, "the 4 ranks answer; what they wait for is not known");
}

/* Only who could be asked before is silent now. */
static void test_silent(void **state)
{
    (void)state;
    struct cb_roll_entry entries[RANKS];
    fill(entries);
    entries[2].answers = false;
    expect(entries, true, "rank 2 on beta does not answer any more");
    entries[1].answers = false;
    expect(entries, true, "rank 1 on alpha, rank 2 on beta do not answer any more");
    entries[1].was_heard = entries[2].was_heard = false;
    expect(entries, false,
           "all 2 ranks of the operation that can be asked have started it: a GPU or a link is "
           "stuck");
}

static void test_behind(void **state)
{
    (void)state;
    struct cb_roll_entry entries[RANKS];
    fill(entries);
    entries[1].place.turn = TURN - 1;
    expect(entries, true, "rank 1 on alpha has not started the operation that the others wait in");
    entries[1].place.step = 2;
    entries[1].place.turn = TURN + 2;
    expect(entries, true, "rank 1 on alpha has not started the operation that the others wait in");
    fill(entries);
    for (int i = 0; i < RANKS; i++)
        entries[i].place.turn = i == 3 ? TURN : TURN + 1;
    expect(entries, true, "rank 3 on beta has not ended the operation that the others have ended");
    fill(entries);
    entries[0].place.turn = TURN + 1;
    entries[0].place.saves = 1;
    expect(entries, true, "rank 0 on alpha is still writing the result");
}

/* Ranks of another group, or of none, are no measure. */
static void test_parties(void **state)
{
    (void)state;
    struct cb_roll_entry entries[RANKS];
    fill(entries);
    entries[0].place.party = CB_PARTY_NONE;
    entries[0].place.turn = 0;
    entries[1].place.party = 5;
    entries[1].place.turn = 1;
    expect(entries, false,
           "all 3 ranks of the operation have started it: a GPU or a link is stuck");
    entries[2].place.turn = TURN - 1;
    expect(entries, true, "rank 2 on beta has not started the operation that the others wait in");
}

static void test_put(void **state)
{
    (void)state;
    struct cb_roll_entry entries[RANKS];
    fill(entries);
    for (int i = 0; i < RANKS; i++) {
        entries[i].place.due = 20;
        entries[i].place.put = i == 2 ? 3 : 20;
    }
    expect(entries, true, "rank 2 on beta has not started the operation that the others wait in");
    /* A stream that is full holds the others back, too: then only who put nothing differs. */
    for (int i = 0; i < RANKS; i++) {
        entries[i].place.due = 5000;
        entries[i].place.put = 1020 + i;
    }
    expect(entries, false,
           "all 4 ranks of the operation have started it: a GPU or a link is stuck");
    entries[2].place.put = 0;
    expect(entries, true, "rank 2 on beta has not started the operation that the others wait in");
}

static void test_gpus(void **state)
{
    (void)state;
    struct cb_roll_entry entries[RANKS];
    fill(entries);
    for (int i = 0; i < RANKS; i++)
        entries[i].place.answers = i == 1 ? CB_SEEN_NO : CB_SEEN_YES;
    expect(entries, true, "rank 1 on alpha has a GPU that does no work at all");
    for (int i = 0; i < RANKS; i++)
        entries[i].place.has_reached = i == 3 ? CB_SEEN_NO : CB_SEEN_YES;
    expect(entries, true,
           "rank 3 on beta has a GPU that has not come to the operation that the others wait in");
    fill(entries);
    for (int i = 0; i < RANKS; i++)
        entries[i].place.has_joined = i > 1 ? CB_SEEN_NO : CB_SEEN_YES;
    expect(entries, true,
           "rank 2 on beta, rank 3 on beta have not begun to join, says NCCL's log; the others "
           "wait for them");
}

static void test_many(void **state)
{
    (void)state;
    struct cb_roll_entry entries[20];
    char text[512];
    memset(entries, 0, sizeof(entries));
    for (int i = 0; i < 20; i++)
        entries[i] =
            (struct cb_roll_entry){.rank = i, .host = "h", .was_heard = true, .answers = i < 10};
    assert_true(cb_missing_describe(entries, 20, text, sizeof(text)));
    assert_string_equal(text, "rank 10 on h, rank 11 on h, rank 12 on h, rank 13 on h, rank 14 on "
                              "h, rank 15 on h and 4 more do not answer any more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_difference), cmocka_unit_test(test_silent),
        cmocka_unit_test(test_behind),        cmocka_unit_test(test_parties),
        cmocka_unit_test(test_put),           cmocka_unit_test(test_gpus),
        cmocka_unit_test(test_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
