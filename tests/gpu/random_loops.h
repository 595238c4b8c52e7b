// Random programs with loops, for test_gradients_random.c: as text in Slang, and worked out here in double, value by value;
// gradients are central differences of that.
//
//   float fN(DiffTensor<float, 2> w, DiffTensor<float, 1> v, RWDiffTensor<float, 2> u, DiffTensor<float, 2> z,
//            WDiffTensor<float, 2> out, float x, no_diff int n, no_diff int id)
//
// Elements of the call differ in x, n and id; element `id` alone touches row `id` of z and out, and each place of it once.
#ifndef RANDOM_LOOPS_H
#define RANDOM_LOOPS_H

#include "gpu_test.h"

enum {
    LOOPS_ELEMENTS = 3, // of a call
    LOOPS_ROW = 96,     // most places of a row of z and out
    LOOPS_W = 4 * 5,
    LOOPS_V = 6,
    LOOPS_U = 3 * 4,
    LOOPS_ROWS = LOOPS_ELEMENTS * LOOPS_ROW
};

// What a call reads, and what belongs to its gradients.
typedef struct loops_values {
    double w[LOOPS_W], v[LOOPS_V], u[LOOPS_U], z[LOOPS_ROWS], x[LOOPS_ELEMENTS];
} loops_values;

typedef struct loops_seeds {
    double result[LOOPS_ELEMENTS], out[LOOPS_ROWS];
} loops_seeds;

typedef struct loops_program loops_program;

// What all programs of a module need before them.
extern const char loops_head[];

// `draw(n)` gives a number below n.
loops_program *loops_make(uint32_t (*draw)(uint32_t below));
void loops_free(loops_program *program);
size_t loops_text(const loops_program *program, uint32_t number, char *out, size_t capacity, size_t at);

// d(sum of seeds * outputs) / d(values). False: the program has no derivative there that differences could tell, or writes
// more than a row.
bool loops_gradients(const loops_program *program, const int n[LOOPS_ELEMENTS], loops_values *values,
                     const loops_seeds *seeds, loops_values *gradients);

#endif
