// Runs kernels that nvrtc.c has made libraries of: one thread after another, each as far as its next barrier or shuffle, and samples
// textures for them. Filters are those of CUDA's Programming Guide, "Texture Fetching": weights of 8 bits, or of floats with
// FAKE_CUDA_FLOAT_WEIGHTS=1.
#define _GNU_SOURCE
#include "play.h"
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../common/lanes.h"

// >>textures

static float half_of(unsigned bits) {
    int exponent = (int)(bits >> 10 & 31);
    double value = exponent == 31 ? (bits & 1023 ? (double)NAN : (double)INFINITY)
                   : exponent     ? ldexp((double)(bits & 1023) / 1024 + 1, exponent - 15)
                                  : ldexp((double)(bits & 1023), -24);
    return (float)(bits & 0x8000 ? -value : value);
}

// One texel as the bits of four floats, or of four integers where the object reads integers.
static void texel_of(const fake_texture *t, const play_level *l, size_t x, size_t y, size_t z, unsigned *out) {
    unsigned size = l->format == 1 || l->format == 8 ? 1 : l->format == 2 || l->format == 9 || l->format == 16 ? 2 : 4;
    const char *at = l->data + ((z * (l->height ? l->height : 1) + y) * l->width + x) * l->channels * size;
    int is_signed = l->format >= 8 && l->format < 16, integer = (t->desc.flags & 1u) || ((l->format < 16) && size == 4);
    for (unsigned c = 0; c < 4; c++) {
        unsigned bits = 0;
        float value = 0;
        if (c < l->channels) memcpy(&bits, at + c * size, size);
        if (is_signed && size < 4) bits = (unsigned)((int)(bits << (32 - 8 * size)) >> (32 - 8 * size));
        if (integer || l->format == 32) {
            out[c] = bits;
            continue;
        }
        if (l->format == 16) value = half_of(bits);
        else {
            float most = size == 1 ? (is_signed ? 127.0f : 255.0f) : is_signed ? 32767.0f : 65535.0f;
            value = is_signed ? fmaxf((float)(int)bits / most, -1.0f) : (float)bits / most;
        }
        if ((t->desc.flags & 16u) && c < 3) value = value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
        memcpy(&out[c], &value, 4);
    }
}

// The texel that an index outside of 0 to n - 1 means; -1: the border.
static int address(int i, int n, int mode) {
    if (i >= 0 && i < n) return i;
    if (mode == 1) return i < 0 ? 0 : n - 1;
    if (mode == 3) return -1;
    while (i < 0) i += 2 * n; // both others repeat after 2 n texels
    i %= 2 * n;
    return mode == 0 ? i % n : i < n ? i : 2 * n - 1 - i;
}

static float weight_of(float f) {
    static int floats = -1;
    const char *set = getenv("FAKE_CUDA_FLOAT_WEIGHTS");
    if (floats < 0) floats = set && set[0] == '1';
    return floats ? f : rintf(f * 256) / 256;
}

static void add_texel(const fake_texture *t, const play_level *l, int x, int y, int z, float weight, float *sum) {
    unsigned bits[4];
    float v[4];
    int border = x < 0 || y < 0 || z < 0;
    if (!border) texel_of(t, l, (size_t)x, (size_t)y, (size_t)z, bits);
    memcpy(v, bits, sizeof v);
    for (int c = 0; c < 4; c++) sum[c] += weight * (border ? t->desc.border[c] : v[c]);
}

static void sample_level(const fake_texture *t, const play_level *l, int dims, const float *at, int layer, float *sum) {
    int size[3] = { (int)l->width, (int)(l->height ? l->height : 1), (int)(l->depth ? l->depth : 1) }, low[3] = { 0, 0, 0 };
    float f[3] = { 0, 0, 0 };
    int linear = t->desc.filter == 1;
    for (int d = 0; d < dims; d++) {
        float x = at[d] * (float)size[d] - (linear ? 0.5f : 0.0f);
        low[d] = (int)floorf(x);
        f[d] = linear ? weight_of(x - (float)low[d]) : 0;
    }
    int last = size[2] - 1;
    // Lines are filtered as an H100 does it: at the edge of a row, between the row and what the second address mode puts beside it.
    int beside = dims == 1 && linear && t->desc.address[1] == 3;
    for (int c = 0; beside && c < 4; c++) sum[c] += 0.5f * t->desc.border[c];
    for (int corner = 0; corner < (linear ? 1 << dims : 1); corner++) {
        int p[3] = { 0, 0, 0 };
        float weight = beside ? 0.5f : 1;
        for (int d = 0; d < dims; d++) {
            int second = corner >> d & 1;
            p[d] = address(low[d] + second, size[d], t->desc.address[d]);
            weight *= second ? f[d] : 1 - f[d];
        }
        if (dims < 3) p[2] = layer < 0 || layer > last ? last : layer; // an unsigned number to the GPU
        add_texel(t, l, p[0], p[1], p[2], weight, sum);
    }
}

// The face, and the coordinates from -1 to 1 on it, of a direction.
static int face_of(const double *v, double *s, double *u) {
    double x = fabs(v[0]), y = fabs(v[1]), z = fabs(v[2]);
    if (z >= x && z >= y) return *s = (v[2] < 0 ? -v[0] : v[0]) / z, *u = -v[1] / z, v[2] < 0 ? 5 : 4;
    if (y >= x) return *s = v[0] / y, *u = (v[1] < 0 ? -v[2] : v[2]) / y, v[1] < 0 ? 3 : 2;
    return *s = (v[0] < 0 ? v[2] : -v[2]) / x, *u = -v[1] / x, v[0] < 0 ? 1 : 0;
}

static void add_cube_texel(const fake_texture *t, const play_level *l, int face, int x, int y, int cube, float weight, float *sum) {
    int n = (int)l->width;
    if (x < 0 || y < 0 || x >= n || y >= n) { // beyond an edge: on another face, if the texel's middle is bent around it
        double s = (x + 0.5) * 2 / n - 1, u = (y + 0.5) * 2 / n - 1, v[3];
        const double axes[6][3] = { { 1, -u, -s }, { -1, -u, s }, { s, 1, u }, { s, -1, -u }, { s, -u, 1 }, { -s, -u, -1 } };
        memcpy(v, axes[face], sizeof v);
        face = face_of(v, &s, &u);
        x = (int)fmin(fmax(floor((s + 1) * n / 2), 0), n - 1);
        y = (int)fmin(fmax(floor((u + 1) * n / 2), 0), n - 1);
    }
    add_texel(t, l, x, y, 6 * cube + face, weight, sum);
}

static void sample_cube(const fake_texture *t, const play_level *l, const float *at, int cube, float *sum) {
    const double v[3] = { (double)at[0], (double)at[1], (double)at[2] };
    double s, u;
    int face = face_of(v, &s, &u), linear = t->desc.filter == 1, n = (int)l->width;
    float x = (float)((s + 1) * n / 2) - (linear ? 0.5f : 0), y = (float)((u + 1) * n / 2) - (linear ? 0.5f : 0);
    int x0 = (int)floorf(x), y0 = (int)floorf(y);
    if (!linear) {
        add_cube_texel(t, l, face, x0 < 0 ? 0 : x0 < n ? x0 : n - 1, y0 < 0 ? 0 : y0 < n ? y0 : n - 1, cube, 1, sum);
        return;
    }
    float fx = weight_of(x - (float)x0), fy = weight_of(y - (float)y0);
    for (int corner = 0; corner < 4; corner++) {
        int px = x0 + (corner & 1), py = y0 + (corner >> 1);
        float weight = (corner & 1 ? fx : 1 - fx) * (corner >> 1 ? fy : 1 - fy);
        if ((px < 0 || px >= n) && (py < 0 || py >= n)) { // no such texel: the mean of the three around the cube's corner
            int cx = px < 0 ? 0 : n - 1, cy = py < 0 ? 0 : n - 1;
            add_cube_texel(t, l, face, cx, cy, cube, weight / 3, sum);
            add_cube_texel(t, l, face, px, cy, cube, weight / 3, sum);
            add_cube_texel(t, l, face, cx, py, cube, weight / 3, sum);
        } else add_cube_texel(t, l, face, px, py, cube, weight, sum);
    }
}

static void sample(unsigned long long object, int dims, const float *at, int layer, float level, unsigned *out) {
    const fake_texture *t = (const fake_texture *)(uintptr_t)object;
    const fake_texture_desc *d = &t->desc;
    play_level l;
    float sum[4] = { 0, 0, 0, 0 };
    float last = (float)play_get_level(t, 0, &l) - 1;
    level = fminf(fmaxf(level + d->bias, d->min_level), d->max_level);
    level = fminf(fmaxf(level, 0), last);
    unsigned first = (unsigned)(d->mip_filter ? floorf(level) : floorf(level + 0.5f));
    float f = d->mip_filter ? weight_of(level - (float)first) : 0;
    for (unsigned k = 0; k < 2; k++) {
        float one[4] = { 0, 0, 0, 0 };
        if (k == 1 && f == 0) continue;
        (void)play_get_level(t, first + k, &l);
        if (d->flags & 1u) { // integers are not filtered
            int x = address((int)floorf(at[0] * (float)l.width), (int)l.width, d->address[0]);
            texel_of(t, &l, x < 0 ? 0 : (size_t)x, 0, 0, out);
            return;
        }
        if (dims == 4) sample_cube(t, &l, at, layer, one);
        else sample_level(t, &l, dims, at, layer, one);
        for (int c = 0; c < 4; c++) sum[c] += (k ? f : 1 - f) * one[c];
    }
    memcpy(out, sum, sizeof sum);
}

static void fetch(unsigned long long object, const int *at, int layer, int level, unsigned *out) {
    const fake_texture *t = (const fake_texture *)(uintptr_t)object;
    play_level l;
    memset(out, 0, 16);
    if (level < 0 || level >= (int)play_get_level(t, 0, &l)) return;
    (void)play_get_level(t, (unsigned)level, &l);
    size_t x = (size_t)at[0], y = (size_t)at[1], z = (size_t)(at[2] + layer);
    if (x < l.width && y < (l.height ? l.height : 1) && z < (l.depth ? l.depth : 1)) texel_of(t, &l, x, y, z, out);
}

static unsigned width(unsigned long long object) {
    play_level l;
    (void)play_get_level((const fake_texture *)(uintptr_t)object, 0, &l);
    return (unsigned)l.width;
}

// >>threads

enum { MOST_THREADS = 1024, STACK = 256 << 10, WARP = 32 };
typedef enum place { RUNS, AT_WARP, AT_BLOCK, DONE } place;

static lane_context outside, lanes[MOST_THREADS];
static char *stacks;
static place places[MOST_THREADS];
static unsigned turns[MOST_THREADS]; // shuffles that the thread has made
static char values[MOST_THREADS][2][16];
static unsigned running, count;

static void meet(int block) {
    places[running] = block ? AT_BLOCK : AT_WARP;
    lane_switch(&lanes[running], &outside);
}

// Two rooms in turn, as a thread cannot be two shuffles ahead of the others of its warp.
static void shuffle(void *value, unsigned size, int lane) {
    unsigned turn = turns[running]++ & 1;
    memcpy(values[running][turn], value, size);
    meet(0);
    memcpy(value, values[running / WARP * WARP + (unsigned)lane][turn], size);
}

struct spy_player { // play.hpp has the same
    void (*meet)(int block);
    void (*shuffle)(void *value, unsigned size, int lane);
    void (*sample)(unsigned long long, int dims, const float *at, int layer, float level, unsigned *out);
    void (*fetch)(unsigned long long, const int *at, int layer, int level, unsigned *out);
    unsigned (*width)(unsigned long long);
};
static const struct spy_player player = { meet, shuffle, sample, fetch, width };

struct play_library {
    void *library;
    void (*thread)(void *const *params);
    unsigned *where;
};
static const play_library *played;
static void *const *played_params;

static void begin(void) {
    played->thread(played_params);
    places[running] = DONE;
    lane_switch(&lanes[running], &outside);
}

// Lets the threads of [first, end) that wait at `at` go on, if none of them runs or waits elsewhere. Returns whether some do.
static int release(unsigned first, unsigned end, place at) {
    int any = 0;
    for (unsigned i = first; i < end; i++) {
        if (places[i] != at && places[i] != DONE) return 0;
        any |= places[i] == at;
    }
    for (unsigned i = first; i < end && any; i++)
        if (places[i] == at) places[i] = RUNS;
    return any;
}

static void run_block(const unsigned block[3]) {
    for (unsigned i = 0; i < count; i++) {
        places[i] = RUNS;
        turns[i] = 0;
        lane_make(&lanes[i], begin, stacks + (size_t)i * STACK, STACK);
    }
    for (;;) {
        for (running = 0; running < count; running++) {
            if (places[running] != RUNS) continue;
            played->where[0] = running % block[0];
            played->where[1] = running / block[0] % block[1];
            played->where[2] = running / block[0] / block[1];
            lane_switch(&outside, &lanes[running]);
        }
        int any = 0, left = 0;
        for (unsigned i = 0; i < count; i++) left |= places[i] != DONE;
        if (!left) return;
        for (unsigned i = 0; i < count; i += WARP) any |= release(i, i + WARP < count ? i + WARP : count, AT_WARP);
        any |= release(0, count, AT_BLOCK);
        if (any) continue;
        fprintf(stderr, "fake_cuda: the threads of a kernel wait at different places\n");
        abort();
    }
}

play_library *play_open(const char *path, void **globals) {
    play_library *made = (play_library *)calloc(1, sizeof *made);
    const struct spy_player **table;
    made->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!made->library) return fprintf(stderr, "fake_cuda: %s\n", dlerror()), free(made), NULL;
    *(void **)&made->thread = dlsym(made->library, "spy_thread");
    made->where = (unsigned *)dlsym(made->library, "spy_where");
    table = (const struct spy_player **)dlsym(made->library, "spy_play");
    *table = &player;
    *globals = dlsym(made->library, "SLANG_globalParams");
    return made;
}

void play_close(play_library *library) {
    dlclose(library->library);
    free(library);
}

void play_run(play_library *library, const unsigned grid[3], const unsigned block[3], void *const *params) {
    count = block[0] * block[1] * block[2];
    if (!stacks) stacks = (char *)malloc((size_t)MOST_THREADS * STACK);
    played = library;
    played_params = params;
    memcpy(library->where + 6, block, 12);
    memcpy(library->where + 9, grid, 12);
    for (unsigned i = 0; i < grid[0] * grid[1] * grid[2]; i++) {
        library->where[3] = i % grid[0];
        library->where[4] = i / grid[0] % grid[1];
        library->where[5] = i / grid[0] / grid[1];
        run_block(block);
    }
}
