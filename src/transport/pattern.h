/* The data that travel when a step is checked: every element is a function of the seed, of the rank
 * that sent it and of its place, so that a byte that is lost, shifted or from somebody else shows.
 */
#ifndef CB_TRANSPORT_PATTERN_H
#define CB_TRANSPORT_PATTERN_H

#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "model/collective.h"

/* Fills count elements for data that are moved unchanged: all bits of every element are
 * pseudo-random. first is the place of the first element in its owner's vector. */
void cb_pattern_fill_moved(void *data, size_t count, size_t element_bytes, uint64_t seed, int owner,
                           uint64_t first);

/* Counts the elements that differ from what fill_moved makes. */
uint64_t cb_pattern_check_moved(const void *data, size_t count, size_t element_bytes, uint64_t seed,
                                int owner, uint64_t first);

/* Fills count elements for data that are combined over ranks: whole numbers that fill the mantissa
 * as far as the sum over that many ranks stays exact in the type, whatever the order of the
 * additions. dtype is any but tf32; base/pattern_math.h
 * has the arithmetic. */
void cb_pattern_fill_reduced(void *data, size_t count, enum cb_dtype dtype, uint64_t seed,
                             int owner, int ranks, uint64_t first);

/* Counts the elements that differ from the combination over all ranks of what fill_reduced makes.
 */
uint64_t cb_pattern_check_reduced(const void *data, size_t count, enum cb_dtype dtype,
                                  enum cb_redop redop, uint64_t seed, int ranks, uint64_t first);

#endif
