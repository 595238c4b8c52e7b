// What the benchmark programs need: a clock, medians, random values, and results as lines of JSON.
//
// One result is one line, written at once, so that a crash in a later work loses nothing:
//   {"item": "add", "unit": "GB/s", "value": 4012.5, "min": 3990.1, "max": 4020.0, "samples": 20, "note": ""}
//   {"item": "add", "failed": "element 7 is -77, expected 0.5"}
// `value` is the median. The same item may come several times (several processes): its readers take the median again.
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FLOATS 32      // of a tiny tensor
#define OUTPUTS 16     // tensors that a loop of calls writes in turn
#define LIST_CALLS 20  // of a list or graph: y = x * 1 + 1, each of which reads what the last one wrote
#define LIST_CHANGED 7 // the one that may get another number than 1 to add

typedef struct bench {
    FILE *json;       // NULL: only the text on stdout
    const char *only; // run the works whose name contains this; NULL: all
    int failures;
} bench;

static inline double bench_now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

// Waits, for at most 20 ms, until nobody else uses the other hardware thread of this processor's core. While somebody does, code that
// keeps the core busy takes up to twice as long; a chain of dependent instructions does not (docs/measurements.md). The work here is
// eight chains at a time, 20 us of them, and the shortest time of the process is that of a core alone. Every figure of the host's in
// these benchmarks, the rivals' too (settle.py), is taken after such a wait.
static inline void bench_await_core(void) {
    static double least = 0;
    static volatile uint64_t kept;
    const double start = bench_now_ns(), limit = least == 0 ? 1e8 : 2e7;
    for (bool alone = false; !alone;) {
        uint64_t a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
        const double from = bench_now_ns();
        for (uint64_t i = 0; i < 12000; ++i) {
            a += b ^ i, b += c ^ i, c += d ^ i, d += e ^ i;
            e += f ^ i, f += g ^ i, g += h ^ i, h += a ^ i;
        }
        const double now = bench_now_ns(), took = now - from;
        kept = a + b + c + d + e + f + g + h;
        (void)kept;
        alone = limit < 1e8 && took < 1.2 * least;
        if (least == 0 || took < least) least = took;
        if (now - start > limit) return;
    }
}

static inline int bench_compare(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// A value of the hash of `i`: the same on every run and machine, and cheap enough to be made again when results are checked.
static inline uint64_t bench_hash(uint64_t i, uint64_t stream) {
    uint64_t x = i + (stream + 1) * 0x9E3779B97F4A7C15u; // splitmix64
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// In [-1, 1), a multiple of 2^-20: sums of a few are exact in float32, and none is denormal.
static inline float bench_float(uint64_t i, uint64_t stream) {
    return (float)((int32_t)(bench_hash(i, stream) >> 43) - (1 << 20)) / (float)(1 << 20);
}

// The number that call LIST_CHANGED adds in submission i, and what `count` submissions add altogether.
static inline float bench_list_number(size_t i) {
    return (float)(i % 4);
}
static inline size_t bench_list_sum(size_t count, bool changes) {
    size_t sum = 0;
    for (size_t i = 0; i < count; ++i) sum += LIST_CALLS - 1 + (changes ? (size_t)bench_list_number(i) : 1);
    return sum;
}

static inline void bench_json_text(FILE *f, const char *text) {
    fputc('"', f);
    for (; *text != '\0'; ++text) {
        const unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
        else if (c < 0x20) fprintf(f, "\\u%04x", c);
        else fputc(c, f);
    }
    fputc('"', f);
}

// Whether the item's name contains `only`; behind a '=' stand names, with commas between them.
static inline bool bench_wanted(const bench *b, const char *item) {
    const size_t length = strlen(item);
    if (b->only == NULL) return true;
    if (b->only[0] != '=') return strstr(item, b->only) != NULL;
    for (const char *at = strstr(b->only, item); at != NULL; at = strstr(at + 1, item))
        if ((at[-1] == '=' || at[-1] == ',') && (at[length] == ',' || at[length] == 0)) return true;
    return false;
}

static inline void bench_fail(bench *b, const char *item, const char *format, ...) {
    char text[4096];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    b->failures++;
    printf("%-22s FAILED: %s\n", item, text);
    fflush(stdout);
    if (b->json == NULL) return;
    fputs("{\"item\": ", b->json);
    bench_json_text(b->json, item);
    fputs(", \"failed\": ", b->json);
    bench_json_text(b->json, text);
    fputs("}\n", b->json);
    fflush(b->json);
}

static inline void bench_skip(bench *b, const char *item, const char *why) {
    printf("%-22s skipped: %s\n", item, why);
    fflush(stdout);
    if (b->json == NULL) return;
    fputs("{\"item\": ", b->json);
    bench_json_text(b->json, item);
    fputs(", \"skipped\": ", b->json);
    bench_json_text(b->json, why);
    fputs("}\n", b->json);
    fflush(b->json);
}

// Report `count` samples of one item by their median; sorts them. `note` may be "".
static inline void bench_report(bench *b, const char *item, const char *unit, double *samples, size_t count,
                                const char *note) {
    if (count == 0) {
        bench_fail(b, item, "no samples");
        return;
    }
    qsort(samples, count, sizeof *samples, bench_compare);
    const double value = (samples[count / 2] + samples[(count - 1) / 2]) / 2;
    printf("%-22s %12.4g %-6s (%.4g .. %.4g, %zu)%s%s\n", item, value, unit, samples[0], samples[count - 1],
           count, note[0] != '\0' ? "  " : "", note);
    fflush(stdout);
    if (b->json == NULL) return;
    fputs("{\"item\": ", b->json);
    bench_json_text(b->json, item);
    fputs(", \"unit\": ", b->json);
    bench_json_text(b->json, unit);
    fprintf(b->json, ", \"value\": %.9g, \"min\": %.9g, \"max\": %.9g, \"samples\": %zu, \"note\": ", value,
            samples[0], samples[count - 1], count);
    bench_json_text(b->json, note);
    fputs("}\n", b->json);
    fflush(b->json);
}

static inline void bench_report_one(bench *b, const char *item, const char *unit, double value,
                                    const char *note) {
    bench_report(b, item, unit, &value, 1, note);
}

static inline void bench_report_device(bench *b, const char *name, const char *driver, bool is_cpu,
                                       bool quick) {
    printf("device: %s, %s%s, %s sizes\n", name, driver, is_cpu ? " (a CPU)" : "", quick ? "quick" : "full");
    if (b->json == NULL) return;
    fputs("{\"item\": \"device\", \"name\": ", b->json);
    bench_json_text(b->json, name);
    fputs(", \"driver\": ", b->json);
    bench_json_text(b->json, driver);
    fprintf(b->json, ", \"cpu\": %s, \"quick\": %s}\n", is_cpu ? "true" : "false", quick ? "true" : "false");
    fflush(b->json);
}

#endif
