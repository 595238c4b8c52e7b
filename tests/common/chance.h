// Numbers that come again with the same seed, for tests that draw their cases.
#ifndef CHANCE_H
#define CHANCE_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

static uint64_t chance_state;

static inline uint64_t next_random(void) { // splitmix64
    uint64_t z = (chance_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static inline uint32_t below(uint32_t n) {
    return (uint32_t)(next_random() % n);
}

// SPY_TEST_SEED, or another one each time; said.
static inline void seed(void) {
    const char *s = getenv("SPY_TEST_SEED");
    chance_state = s && s[0] ? strtoull(s, NULL, 0) : (uint64_t)time(NULL) * 1000003u;
    print_message("seed %llu\n", (unsigned long long)chance_state);
}

#endif // CHANCE_H
