// The reference of test_random.c: values one at a time, in host memory, by naive index arithmetic.
#ifndef RANDOM_REFERENCE_H
#define RANDOM_REFERENCE_H

#include "gpu_test.h"

#define REFERENCE_RANK 8

typedef enum reference_op { REFERENCE_ADD, REFERENCE_MULTIPLY, REFERENCE_MAD, REFERENCE_DIVIDE, REFERENCE_OPS } reference_op;

// Host memory of scalars as a test fills it, and what it must hold after the call.
typedef struct reference_store {
    spy_dtype dtype;
    size_t count;          // scalars
    unsigned char *before;
    unsigned char *after;  // expected
    unsigned char *other;  // expected as well: the other of two roundings that are allowed
    unsigned char *written; // per scalar: 1 if the call writes it
} reference_store;

// How the whole index space (call, then components of one value) walks a store. Strides of 0 broadcast. In scalars.
typedef struct reference_view {
    reference_store *store;
    int64_t offset;
    int64_t strides[REFERENCE_RANK];
} reference_view;

void reference_make(reference_store *store, spy_dtype dtype, size_t count);
void reference_free(reference_store *store);

// A value of `dtype` that is stored as `stored` without loss. Floats keep clear of overflow and underflow.
void reference_random(unsigned char *to, spy_dtype stored, spy_dtype dtype, uint64_t (*next)(void *), void *state);

// out[i] = op(inputs[0][i], ...) in `dtype` for each index of the space; inputs are read from `before`.
void reference_run(reference_op op, spy_dtype dtype, uint32_t rank, const int64_t *dims, const reference_view *inputs, const reference_view *out);

// Distance in units in the last place; UINT64_MAX for NaN against a number. Whole types: 0 or UINT64_MAX.
uint64_t reference_distance(spy_dtype dtype, const void *a, const void *b);
void reference_print(char *text, size_t capacity, spy_dtype dtype, const void *value);

#endif
