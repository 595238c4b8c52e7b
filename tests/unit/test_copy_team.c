// The copy team: what it copies, what a wait promises, how many threads it starts, and what it does without them.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "base/base.h"
#endif
#include "thread_limit.h"
#include <sys/sysinfo.h>

#define MIB ((size_t)1 << 20)

// >>random numbers of one thread

typedef struct dice {
    uint32_t state;
} dice;

static uint32_t roll(dice *d, uint32_t below) {
    d->state = d->state * 1664525u + 1013904223u;
    return (d->state >> 8) % below;
}

static dice seeded(uint32_t number) {
    const char *seed = getenv("SPY_TEST_SEED");
    dice d;
    d.state = (seed ? (uint32_t)strtoul(seed, NULL, 10) : 1u) * 2654435761u + number;
    return d;
}

// Bytes that differ from place to place, by more than a period of a block.
static unsigned char byte_at(size_t i, uint32_t salt) {
    uint64_t h = ((uint64_t)i + salt) * 0x9E3779B97F4A7C15u;
    return (unsigned char)(h >> 37);
}

static unsigned char *filled(size_t size, uint32_t salt) {
    unsigned char *p = (unsigned char *)malloc(size);
    if (p)
        for (size_t i = 0; i < size; i++) p[i] = byte_at(i, salt);
    return p;
}

// >>many transfers

enum { EDGE = 64 };

// Pieces of random sizes to random places one behind the other, with bytes between them that must stay; what a wait says
// is done is looked at while the rest is being copied. Returns what is wrong, or NULL.
static const char *transfer(dice *d, const unsigned char *from, unsigned char *to, size_t room,
                            uint32_t threads, bool stream) {
    enum { MOST = 40 };
    size_t at[MOST], source[MOST], size[MOST], used = 0;
    uint32_t count = 0, seen = 0;
    const char *wrong = NULL;
    spyi_copy_team team;
    memset(to, 0xA5, room);
    spyi_copy_begin(&team, threads, stream);
    for (;;) {
        static const uint32_t limits[] = { 1, 100, 5000, 300000, 3000000 };
        uint32_t limit = limits[roll(d, 5)];
        size_t begin = used + 1 + roll(d, EDGE), length = roll(d, limit + 1);
        if (count == MOST || begin + length + EDGE > room) break;
        at[count] = begin;
        size[count] = length;
        source[count] = roll(d, (uint32_t)(room - length));
        spyi_copy_post(&team, to + begin, from + source[count], length);
        used = begin + length;
        count++;
        if (roll(d, 3) == 0) {
            uint32_t until = roll(d, count + 1);
            spyi_copy_wait(&team, until);
            for (; seen < until; seen++)
                if (memcmp(to + at[seen], from + source[seen], size[seen]) != 0) wrong = "after a wait";
        }
    }
    spyi_copy_end(&team);
    if (team.started + 1 > threads) wrong = "too many threads";
    used = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (memcmp(to + at[i], from + source[i], size[i]) != 0) wrong = "at the end";
        for (; used < at[i]; used++)
            if (to[used] != 0xA5) wrong = "between two pieces";
        used = at[i] + size[i];
    }
    for (; used < room && used < at[count - 1] + size[count - 1] + EDGE; used++)
        if (to[used] != 0xA5) wrong = "behind the last piece";
    return wrong;
}

static void test_random_pieces(void **state) {
    const size_t room = 12 * MIB;
    unsigned char *from = filled(room, 3), *to = (unsigned char *)malloc(room);
    dice d = seeded(1);
    size_t n = test_count(300);
    (void)state;
    assert_true(from != NULL && to != NULL);
    for (size_t i = 0; i < n; i++) {
        uint32_t threads = 1 + roll(&d, SPYI_COPY_THREADS);
        bool stream = roll(&d, 2) == 0;
        const char *wrong = transfer(&d, from, to, room, threads, stream);
        if (wrong) fail_msg("transfer %zu, %u threads, stream %d: wrong %s", i, threads, stream, wrong);
    }
    free(from);
    free(to);
}

// Every offset of both ends within two lines of the cache.
static void test_every_alignment(void **state) {
    enum { SIZE = 2048 };
    unsigned char *from = filled(SIZE, 5), to[SIZE];
    (void)state;
    assert_non_null(from);
    for (size_t a = 0; a < 70; a++) {
        spyi_copy_team team;
        memset(to, 0, sizeof to);
        spyi_copy_begin(&team, 2, true);
        spyi_copy_post(&team, to + a, from + 7 * a % 64, a);             // short
        spyi_copy_post(&team, to + 200 + a, from + a * 5 % 64, 500 + a); // with a middle
        spyi_copy_end(&team);
        assert_memory_equal(to + a, from + 7 * a % 64, a);
        assert_memory_equal(to + 200 + a, from + a * 5 % 64, 500 + a);
        for (size_t i = 0; i < SIZE; i++) {
            bool in = (i >= a && i < 2 * a) || (i >= 200 + a && i < 700 + 2 * a);
            if (!in && to[i] != 0) fail_msg("offset %zu: byte %zu", a, i);
        }
    }
    free(from);
}

// As a download does it: the source of a piece is written anew as soon as its copy is said to be done.
static void test_reused_sources(void **state) {
    enum { RING = 4 };
    const size_t piece = 700001, pieces = 12;
    unsigned char *to = (unsigned char *)malloc(piece * pieces), *ring[RING];
    (void)state;
    assert_non_null(to);
    for (uint32_t i = 0; i < RING; i++) assert_non_null(ring[i] = (unsigned char *)malloc(piece));
    for (uint32_t threads = 1; threads <= SPYI_COPY_THREADS; threads += 3) {
        spyi_copy_team team;
        spyi_copy_begin(&team, threads, true);
        for (uint32_t i = 0; i < pieces; i++) {
            if (i >= RING) spyi_copy_wait(&team, i + 1 - RING);
            for (size_t k = 0; k < piece; k++) ring[i % RING][k] = byte_at(k, i * 1000 + threads);
            spyi_copy_post(&team, to + i * piece, ring[i % RING], piece);
        }
        spyi_copy_end(&team);
        for (uint32_t i = 0; i < pieces; i++)
            for (size_t k = 0; k < piece; k++)
                if (to[i * piece + k] != byte_at(k, i * 1000 + threads)) fail_msg("piece %u, byte %zu", i, k);
    }
    for (uint32_t i = 0; i < RING; i++) free(ring[i]);
    free(to);
}

typedef struct run {
    uint32_t number;
    const unsigned char *from;
    const char *wrong;
    pthread_t thread;
} run;

static void *run_transfers(void *arg) {
    run *r = (run *)arg;
    const size_t room = 8 * MIB;
    unsigned char *to = (unsigned char *)malloc(room);
    dice d = seeded(100 + r->number);
    size_t n = test_count(60);
    for (size_t i = 0; i < n && to != NULL && r->wrong == NULL; i++)
        r->wrong = transfer(&d, r->from, to, room, 2 + roll(&d, 5), i % 2 == 0);
    if (to == NULL) r->wrong = "without memory";
    free(to);
    return NULL;
}

static void test_transfers_at_once(void **state) {
    run runs[3];
    unsigned char *from = filled(8 * MIB, 9);
    (void)state;
    assert_non_null(from);
    memset(runs, 0, sizeof runs);
    for (uint32_t i = 0; i < 3; i++) {
        runs[i].number = i;
        runs[i].from = from;
        assert_int_equal(pthread_create(&runs[i].thread, NULL, run_transfers, &runs[i]), 0);
    }
    for (uint32_t i = 0; i < 3; i++) pthread_join(runs[i].thread, NULL);
    for (uint32_t i = 0; i < 3; i++)
        if (runs[i].wrong) fail_msg("transfers of thread %u: wrong %s", i, runs[i].wrong);
    free(from);
}

// >>threads

static void test_thread_counts(void **state) {
    uint32_t cores = (uint32_t)get_nprocs(), most = cores < SPYI_COPY_THREADS ? cores : SPYI_COPY_THREADS,
             last = 1;
    (void)state;
    assert_int_equal(spyi_processor_count(), cores);
    assert_int_equal(spyi_copy_threads(0), 1);
    assert_int_equal(spyi_copy_threads(4 * MIB - 1), 1);
    for (size_t size = MIB; size <= 64 * MIB; size += MIB) { // more for more
        uint32_t count = spyi_copy_threads(size);
        assert_true(count >= last && count <= most);
        last = count;
    }
    assert_int_equal(spyi_copy_threads(256 * MIB), most);
    assert_int_equal(spyi_copy_threads((size_t)1 << 40), most);
}

static void test_starts(void **state) {
    const size_t piece = MIB + 3;
    unsigned char *from = filled(4 * piece, 11), *to = (unsigned char *)malloc(4 * piece);
    (void)state;
    assert_true(from != NULL && to != NULL);
    for (int limit = -1; limit < 6; limit++) { // how many can be started
        for (uint32_t threads = 1; threads <= 6; threads++) {
            int helpers = (int)threads - 1, can = limit < 0 || limit > helpers ? helpers : limit;
            spyi_copy_team team;
            memset(to, 0, 4 * piece);
            start_tries = 0;
            start_limit = limit;
            spyi_copy_begin(&team, threads, false);
            spyi_copy_wait(&team, 0);
            assert_int_equal(start_tries, 0); // none without work
            for (size_t i = 0; i < 4; i++) spyi_copy_post(&team, to + i * piece, from + i * piece, piece);
            spyi_copy_wait(&team, 4);
            assert_memory_equal(to, from, 4 * piece);
            assert_int_equal(team.started, can);
            spyi_copy_end(&team);
            start_limit = -1;
            assert_int_equal(start_tries, can < helpers ? can + 1 : helpers); // not again after a failure
        }
    }
    { // nothing posted
        spyi_copy_team team;
        start_tries = 0;
        spyi_copy_begin(&team, 4, true);
        spyi_copy_end(&team);
        assert_int_equal(start_tries, 0);
    }
    free(from);
    free(to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_pieces),  cmocka_unit_test(test_every_alignment),
        cmocka_unit_test(test_reused_sources), cmocka_unit_test(test_transfers_at_once),
        cmocka_unit_test(test_thread_counts),  cmocka_unit_test(test_starts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
