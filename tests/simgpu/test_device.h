/* What the tests of device code share: running a kernel, and arrays whose ends are watched. */
#ifndef SIMGPU_TEST_DEVICE_H
#define SIMGPU_TEST_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cb_test.h"
#include "device/grid.h"
#include "kernels/cuda/kernel_args.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* Cases take turns, so that each kernel meets each order. */
#define ORDER(case_number) ((enum simgpu_order)((case_number) % SIMGPU_ORDER_COUNT))

/* ---- arrays ---- */

/* It ends where a page begins that cannot be touched; the bytes before it are looked at when it is
 * freed. What it holds is the same for every new one. */
struct array {
    unsigned char *mapped, *data;
    size_t bytes, before_bytes, mapped_bytes;
    bool is_slots; /* a sum stands in them, in any shares */
};

struct array array_make(size_t bytes);
void array_free(const struct array *array);

/* A count of wrong elements, and the slots of a sum: zeros. */
struct array wrong_make(void);
struct array slots_make(void);

uint64_t *wrong_of(const struct array *array);
uint32_t *slots_of(const struct array *array);
uint32_t total_of(const struct array *slots);

/* Elements as bits, and those of float32 and float64 as numbers. */
uint64_t get_bits(const void *data, size_t bytes, uint64_t i);
void set_bits(void *data, size_t bytes, uint64_t i, uint64_t bits);
double get_float(const void *data, enum cb_dtype dtype, uint64_t i);
void set_float(void *data, enum cb_dtype dtype, uint64_t i, double value);

/* ---- running ---- */

/* Blocks of kernels that loop; the last are more than there is work for. Elements around a warp and
 * a block. */
#define GRIDS 4
#define ELEMENT_COUNTS 8
extern const unsigned grids[GRIDS];
extern const uint64_t element_counts[ELEMENT_COUNTS];

/* Runs a kernel, named without "cb_cuda_k_", then on the same data the routine that stands for it
 * in simulated runs (product_kernels.c): every array there is must come out the same. Fails the
 * test where it does not, and over what simgpu_grid_run finds. */
void run(const char *name, const void *args, unsigned blocks, enum simgpu_order order);

/* ---- the tests ---- */

void memory_kernels(void **state);
void bulk_kernels(void **state);
void read_adds(void **state);
void series(void **state);
void moved(void **state);
void reduced(void **state);
void reduced_zeros(void **state);
void matrix_fills(void **state);
void products(void **state);

#endif
