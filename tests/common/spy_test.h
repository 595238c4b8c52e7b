// First include of every file in tests/: the library, as the build under test has it, and cmocka.
// unit/ on the split build (SPY_TEST_SPLIT): public declarations; the test then includes the internal headers that it looks
// into, under `#ifdef SPY_TEST_SPLIT`. unit/ on the headers (SPY_TEST_HEADERS): the whole implementation in this file,
// internals included. gpu/: the headers' declarations only.
//
// Environment set by tests/run: SLANGPY_SLANG_LIBRARY; SPY_TEST_SIZE = small, normal or soak (full counts);
// SPY_TEST_SEED; SPY_TEST_ALL = all rows of tables; SPY_TEST_SHARE = N: every Nth test of a program runs; SPIRV_VAL = path of spirv-val. SPY_TEST_ONLY: the one test of a program of unit/ that runs ("test_*": a pattern).
#ifndef SPY_TEST_H
#define SPY_TEST_H

#ifdef SPY_TEST_SPLIT // declarations from src/, which the internal headers include again
#include "api/vk.h"
#include "api/cuda.h"
#include "api/d3d12.h"
#else
#ifdef SPY_TEST_HEADERS
#define SLANGPY_IMPLEMENTATION
#define SPYI_TEST_PARTS // functions that only tests call
#endif
#include "slangpy_vk.h"
#include "slangpy_cuda.h"
#include "slangpy_d3d12.h"
#endif

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

// The count to use where `soak` is the full one: all of it, a tenth, or a hundredth.
static inline size_t test_count(size_t soak) {
    const char *size = getenv("SPY_TEST_SIZE");
    size_t divisor = 10;
    if (size != NULL && strcmp(size, "soak") == 0) divisor = 1;
    if (size != NULL && strcmp(size, "small") == 0) divisor = 100;
    return soak / divisor > 0 ? soak / divisor : 1;
}

// Whether all cases run: in `make soak`, and with SPY_TEST_ALL.
static inline bool test_everything(void) {
    const char *size = getenv("SPY_TEST_SIZE"), *all = getenv("SPY_TEST_ALL");
    return (size != NULL && strcmp(size, "soak") == 0) || (all != NULL && all[0] != 0);
}

// Whether the row of a table of similar cases runs: one of `of` in turn, from the one that SPY_TEST_SEED says, or all of them.
static inline bool test_turn(size_t row, size_t of) {
    const char *seed = getenv("SPY_TEST_SEED");
    return test_everything() || (row + (seed != NULL ? strtoul(seed, NULL, 10) : 0)) % of == 0;
}

// Writes the tests that run to `chosen`, which has room for `count`, and returns their number: every `of`th one, from the one that
// SPY_TEST_SEED says. All of them run with SPY_TEST_ALL or SPY_TEST_ONLY, and where there are fewer than two in each share.
static inline size_t test_choose(const struct CMUnitTest *tests, size_t count, size_t of, struct CMUnitTest *chosen) {
    bool all = of < 2 || count < 2 * of || getenv("SPY_TEST_ONLY") != NULL;
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        if (all || test_turn(i, of)) chosen[n++] = tests[i];
    return n;
}

// The `of` of test_choose() that the environment asks for.
static inline size_t test_share(void) {
    const char *share = getenv("SPY_TEST_SHARE");
    return share != NULL ? strtoul(share, NULL, 10) : 1;
}

#if defined(SPY_TEST_SPLIT) || defined(SPY_TEST_HEADERS)
static inline int spy_test_run(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                               CMFixtureFunction teardown) {
    struct CMUnitTest *chosen = (struct CMUnitTest *)malloc(count * sizeof *chosen);
    size_t chosen_count = test_choose(tests, count, test_share(), chosen);
    cmocka_set_test_filter(getenv("SPY_TEST_ONLY"));
    int failed = _cmocka_run_group_tests(name, chosen, chosen_count, setup, teardown);
    free(chosen);
    return failed;
}
#undef cmocka_run_group_tests
#define cmocka_run_group_tests(tests, setup, teardown)                                                        \
    spy_test_run(#tests, tests, sizeof(tests) / sizeof((tests)[0]), setup, teardown)
#endif

#endif
