#include "measure/missing.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A stream takes some thousand launches before a call waits for room: with more parts than this,
 * how many are put says how far the others are. */
enum { PARTS_NEVER_HELD_BACK = 256, LONGEST_LIST = 6 };

/* The most advanced of a party, against which the others are held. */
struct lead {
    int last_step; /* of anybody */
    int step, party;
    int turn;
    int put, due;
    bool joined, reached, answers; /* one of them has */
};

static bool is_in(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return entry->answers && entry->place.step == lead->step && entry->place.party == lead->party;
}

static void keep_largest(int *kept, int value)
{
    if (value > *kept)
        *kept = value;
}

/* The lead of the party that an entry is in; what the GPUs do counts for those in the last turn. */
static struct lead find_lead(const struct cb_roll_entry *entries, int count,
                             const struct cb_roll_entry *like)
{
    struct lead lead = {.step = like->place.step, .party = like->place.party};
    for (int i = 0; i < count; i++) {
        if (entries[i].answers)
            keep_largest(&lead.last_step, entries[i].place.step);
        if (is_in(&entries[i], &lead))
            keep_largest(&lead.turn, entries[i].place.turn);
    }
    for (int i = 0; i < count; i++) {
        const struct cb_place_record *place = &entries[i].place;
        if (!is_in(&entries[i], &lead))
            continue;
        if (place->turn != lead.turn)
            continue;
        keep_largest(&lead.put, place->put);
        keep_largest(&lead.due, place->due);
        lead.joined |= place->has_joined == CB_SEEN_YES;
        lead.reached |= place->has_reached == CB_SEEN_YES;
        lead.answers |= place->answers == CB_SEEN_YES;
    }
    return lead;
}

/* ---- the ways to be missing, the plainest first ---- */

static bool is_silent(const struct cb_roll_entry *entry, const struct lead *lead)
{
    (void)lead;
    return entry->was_heard && !entry->answers;
}

static bool is_saving(const struct cb_roll_entry *entry, const struct lead *lead)
{
    (void)lead;
    return entry->place.saves;
}

static bool is_unfinished(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return entry->place.turn < lead->turn && entry->place.turn % 2;
}

static bool is_before(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return entry->place.step < lead->last_step || entry->place.turn < lead->turn;
}

static bool is_in_operation(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return entry->place.turn == lead->turn && lead->turn % 2;
}

static bool has_not_joined(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return is_in_operation(entry, lead) && lead->joined && entry->place.has_joined == CB_SEEN_NO;
}

/* What was put counts where nothing held a rank back but itself. */
static bool has_not_put(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return is_in_operation(entry, lead) && lead->due > 0 && entry->place.put < lead->put &&
           (entry->place.put == 0 || lead->due <= PARTS_NEVER_HELD_BACK);
}

static bool has_not_reached(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return is_in_operation(entry, lead) && lead->reached && entry->place.has_reached == CB_SEEN_NO;
}

static bool has_no_answer(const struct cb_roll_entry *entry, const struct lead *lead)
{
    return is_in_operation(entry, lead) && lead->answers && entry->place.answers == CB_SEEN_NO;
}

static const struct {
    bool (*holds)(const struct cb_roll_entry *entry, const struct lead *lead);
    bool of_party; /* else of every rank that there is */
    const char *one, *many;
} ways[] = {
    {is_silent, false, "does not answer any more", "do not answer any more"},
    {is_saving, true, "is still writing the result", "are still writing the result"},
    {is_unfinished, true, "has not ended the operation that the others have ended",
     "have not ended the operation that the others have ended"},
    {is_before, true, "has not started the operation that the others wait in",
     "have not started the operation that the others wait in"},
    {has_not_joined, true, "has not begun to join, says NCCL's log; the others wait for it",
     "have not begun to join, says NCCL's log; the others wait for them"},
    {has_not_put, true, "has not started the operation that the others wait in",
     "have not started the operation that the others wait in"},
    {has_not_reached, true, "has a GPU that has not come to the operation that the others wait in",
     "have GPUs that have not come to the operation that the others wait in"},
    {has_no_answer, true, "has a GPU that does no work at all", "have GPUs that do no work at all"},
};
enum { WAY_COUNT = sizeof(ways) / sizeof(ways[0]) };

/* *lead is kept from one entry to the next: mostly all are in one party. */
static bool is_missing(const struct cb_roll_entry *entries, int count, int i, int way,
                       struct lead *lead)
{
    const struct cb_roll_entry *entry = &entries[i];
    if (!ways[way].of_party)
        return ways[way].holds(entry, lead);
    if (!entry->answers || entry->place.party == CB_PARTY_NONE)
        return false;
    if (!is_in(entry, lead))
        *lead = find_lead(entries, count, entry);
    return ways[way].holds(entry, lead);
}

/* ---- words ---- */

static size_t add(char *text, size_t size_bytes, size_t used, const char *more)
{
    int length = snprintf(text + used, size_bytes - used, "%s", more);
    return used + (size_t)length < size_bytes ? used + (size_t)length : size_bytes - 1;
}

/* "rank 1 on a, rank 9 on b and 3 more": those that way of missing fits. Returns how many. */
static int list(const struct cb_roll_entry *entries, int count, int way, char *text,
                size_t size_bytes)
{
    int found = 0;
    size_t used = 0;
    char word[128];
    struct lead lead = {.party = CB_PARTY_NONE};
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        if (!is_missing(entries, count, i, way, &lead))
            continue;
        found++;
        if (found > LONGEST_LIST)
            continue;
        snprintf(word, sizeof(word), "%srank %d on %.40s", found > 1 ? ", " : "", entries[i].rank,
                 entries[i].host);
        used = add(text, size_bytes, used, word);
    }
    if (found > LONGEST_LIST) {
        snprintf(word, sizeof(word), " and %d more", found - LONGEST_LIST);
        add(text, size_bytes, used, word);
    }
    return found;
}

/* Nobody differs: what that says depends on whether everybody could be asked. */
static void describe_none(const struct cb_roll_entry *entries, int count, char *text,
                          size_t size_bytes)
{
    int answering = 0, inside = 0;
    for (int i = 0; i < count; i++) {
        answering += entries[i].answers;
        inside += entries[i].answers && entries[i].place.party != CB_PARTY_NONE &&
                  entries[i].place.turn % 2;
    }
    const char *asked = answering == count ? "" : " that can be asked";
    if (inside > 0)
        snprintf(text, size_bytes,
                 "all %d ranks of the operation%s have started it: a GPU or a link is stuck",
                 inside, asked);
    else
        snprintf(text, size_bytes, "the %d ranks%s answer; what they wait for is not known",
                 answering, asked);
}

bool cb_missing_describe(const struct cb_roll_entry *entries, int count, char *text,
                         size_t size_bytes)
{
    char who[512];
    for (int way = 0; way < WAY_COUNT; way++) {
        int found = list(entries, count, way, who, sizeof(who));
        if (found == 0)
            continue;
        snprintf(text, size_bytes, "%s %s", who, found > 1 ? ways[way].many : ways[way].one);
        return true;
    }
    describe_none(entries, count, text, size_bytes);
    return false;
}
