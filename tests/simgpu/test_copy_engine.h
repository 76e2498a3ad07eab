/* Device code that is right, and device code with one mistake each. */
#ifndef SIMGPU_TEST_COPY_ENGINE_H
#define SIMGPU_TEST_COPY_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TEST_WORDS 64 /* 32-bit, of each of two stages */

/* Every kernel takes this. from and to are 2 x TEST_WORDS words, on multiples of 16 bytes. */
struct test_copy {
    uint32_t *to;
    const uint32_t *from;
};

/* to = from, through two stages; and to = from by threads, through shared memory. */
void test_right_copy(const void *args);
void test_right_threads(const void *args);

/* Meeting. */
void test_two_places_sync(const void *args);
void test_lane_missing(const void *args);
void test_unwritten_shared(const void *args); /* copies what nobody wrote: wrong data */

/* Barriers. */
void test_no_init(const void *args);
void test_no_init_fence(const void *args);
void test_nobody_arrives(const void *args);
void test_expects_more(const void *args);
void test_expects_less(const void *args);
void test_arrives_twice(const void *args);
void test_does_not_wait(const void *args); /* wrong data */
void test_wrong_parity(const void *args);  /* wrong data */
void test_asks_once(const void *args);     /* wrong data */

/* Copies. */
void test_unaligned(const void *args);
void test_odd_size(const void *args);
void test_nothing(const void *args);
void test_not_shared(const void *args);
void test_fills_twice(const void *args);
void test_stores_too_early(const void *args);
void test_refills_too_early(const void *args);
void test_writes_while_filled(const void *args);
void test_writes_while_stored(const void *args);
void test_stores_without_fence(const void *args);
void test_ends_while_storing(const void *args);
void test_ends_without_commit(const void *args);
void test_ends_while_filling(const void *args);
void test_waits_for_older_group(const void *args);

#ifdef __cplusplus
}
#endif

#endif
