// Runs the batch engine's CUDA text (src/slang/mlp_batch_engine.slang) on a CPU: each thread of a group is a context of its own, and
// the instructions of warps and warpgroups (ldmatrix, mma.sync, wgmma ...) are written here in C++, after PTX's manual. What a
// warpgroup's matrix instruction reads it reads when it is issued, so a fence that is missing does not show here.
//
// tests/mlp/test_emulated.py compiles this file for one network and kernel: -DSHAPE= -DOPTIONS= (the two numbers that the Slang
// functions pass), -DTEXT="file" with the text.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../common/lanes.h"

#define SPY_MLP_EMULATED
#define MLP_WGMMA 1
#ifndef NO_STMATRIX
#define MLP_STMATRIX 1
#endif
#define __device__
#define __forceinline__ inline
struct uint2 {
    unsigned x, y;
};
struct uint4 {
    unsigned x, y, z, w;
};
struct float2 {
    float x, y;
};
struct float4 {
    float x, y, z, w;
};
static inline unsigned __float_as_uint(float f) {
    unsigned u;
    memcpy(&u, &f, 4);
    return u;
}
static inline float __uint_as_float(unsigned u) {
    float f;
    memcpy(&f, &u, 4);
    return f;
}

// >>threads

enum { STACK = 64 << 10, SHARED = 232448, BASE = 1024 };
static int threads, running, block, blocks;
static std::vector<lane_context> lanes;
static std::vector<char> stacks;
static lane_context outside;
static std::vector<char> finished;
static unsigned char shared[BASE + SHARED];
static uint32_t shared_size;

struct Group {
    int arrived = 0;
    uint64_t generation = 0;
};
static Group warps[64], warpgroups[16], named[16][2], whole;

static void next() {
    int from = running;
    for (int i = 1; i <= threads; i++) {
        int to = (from + i) % threads;
        if (finished[(size_t)to]) continue;
        if (to == from) return;
        running = to;
        lane_switch(&lanes[(size_t)from], &lanes[(size_t)to]);
        return;
    }
    lane_switch(&lanes[(size_t)from], &outside);
}
static void meet(Group &g, int size) {
    uint64_t generation = g.generation;
    if (++g.arrived == size) {
        g.arrived = 0;
        g.generation++;
    } else
        while (g.generation == generation) next();
}

static unsigned char *at(uint32_t address, uint32_t size) {
    if (address < BASE || address + size > BASE + shared_size || address % (size < 16 ? size : 16)) {
        fprintf(stderr, "shared memory: %u bytes at %u of %u (thread %d of block %d)\n", size, address - BASE, shared_size, running, block);
        exit(3);
    }
    return shared + address;
}

namespace spy_mlp {
typedef unsigned u32;
typedef unsigned long long u64;
static inline u32 shared_base() { return BASE; }
static inline int thread_x() { return running; }
static inline int block_x() { return block; }
static inline int blocks_x() { return blocks; }
static inline void block_sync() { meet(whole, threads); }

struct Slot {
    u32 words[4][32];
    float value[32];
};
static Slot slots[64][2], big[16][2][4];
// Gives this warp's slot of the next instruction; two in turn, as a lane cannot be two instructions ahead of another.
static Slot &slot() { return slots[running / 32][warps[running / 32].generation % 2]; }
static void warp_meet() { meet(warps[running / 32], 32); }

static inline int uniform(int v) {
    Slot &s = slot();
    s.words[0][running % 32] = (u32)v;
    warp_meet();
    return (int)s.words[0][0];
}
static inline float lane_xor(float v, int mask) {
    Slot &s = slot();
    s.value[running % 32] = v;
    warp_meet();
    return s.value[running % 32 ^ mask];
}
static inline u32 warp_most(u32 v) {
    Slot &s = slot();
    s.words[0][running % 32] = v;
    warp_meet();
    u32 most = 0;
    for (int i = 0; i < 32; i++) most = s.words[0][i] > most ? s.words[0][i] : most;
    return most;
}
template<class T> static T get(u32 a) {
    T v;
    memcpy(&v, at(a, sizeof v), sizeof v);
    return v;
}
template<class T> static void set(u32 a, T v) { memcpy(at(a, sizeof v), &v, sizeof v); }
static inline uint4 lds16(u32 a) { return get<uint4>(a); }
static inline void sts16(u32 a, uint4 v) { set(a, v); }
static inline void sts4(u32 a, u32 v) { set(a, v); }
static inline float lds_float(u32 a) { return get<float>(a); }
static inline float2 lds_float2(u32 a) { return get<float2>(a); }
static uint4 load_matrices(u32 a, int count, bool transposed) {
    Slot &s = slot();
    int lane = running % 32;
    s.words[0][lane] = a;
    warp_meet();
    u32 r[4] = {0, 0, 0, 0};
    for (int m = 0; m < count; m++)
        for (int e = 0; e < 2; e++) {
            int row = transposed ? lane % 4 * 2 + e : lane / 4, column = transposed ? lane / 4 : lane % 4 * 2 + e;
            at(s.words[0][m * 8 + row], 16);
            r[m] |= (u32)get<uint16_t>(s.words[0][m * 8 + row] + (u32)column * 2) << (e * 16);
        }
    return uint4{r[0], r[1], r[2], r[3]};
}
static inline uint4 ldsm4(u32 a) { return load_matrices(a, 4, false); }
static inline uint4 ldsm4t(u32 a) { return load_matrices(a, 4, true); }
static inline uint2 ldsm2t(u32 a) {
    uint4 v = load_matrices(a, 2, true);
    return uint2{v.x, v.y};
}
static inline void stsm4(u32 a, uint4 v) {
    Slot &s = slot();
    int lane = running % 32;
    s.words[0][lane] = a;
    warp_meet();
    const u32 r[4] = {v.x, v.y, v.z, v.w};
    for (int m = 0; m < 4; m++) {
        u32 row = s.words[0][m * 8 + lane / 4];
        at(row, 16);
        set<u32>(row + (u32)(lane % 4) * 4, r[m]);
    }
    warp_meet(); // other lanes' parts are there, too
}
static inline void copy_async(u32 to, const void *from, int bytes) {
    unsigned char *p = at(to, 16);
    if ((uintptr_t)from % 16 && bytes) fprintf(stderr, "cp.async from %p\n", from), exit(3);
    memcpy(p, from, (size_t)bytes);
    memset(p + bytes, 0, (size_t)(16 - bytes));
}
static inline void copy_commit() {}
static inline void copy_wait() {}
template<int THREADS> void team_sync(int id) {
    if (THREADS == 32) warp_meet();
    else meet(named[id][0], THREADS);
}
template<bool BF> static float widen(unsigned short h) {
    if (BF) return __uint_as_float((u32)h << 16);
    _Float16 f;
    memcpy(&f, &h, 2);
    return (float)f;
}
template<bool BF> static u32 narrow(float f) {
    if (BF) {
        u32 u = __float_as_uint(f);
        if (std::isnan(f)) return 0x7fff;
        return (u + 0x7fff + (u >> 16 & 1)) >> 16;
    }
    _Float16 h = (_Float16)f;
    uint16_t u;
    memcpy(&u, &h, 2);
    return u;
}
template<bool BF> static u32 pack(float lo, float hi) { return narrow<BF>(lo) | narrow<BF>(hi) << 16; }
static float relu(float v) { return v > 0 || v != v ? v : 0; }
template<bool BF> static u32 pack_relu(float lo, float hi) { return pack<BF>(relu(lo), relu(hi)); }
template<bool BF> static u32 above_zero(u32 h) { return ((h & 0xffff) ? 0xffffu : 0) | ((h >> 16) ? 0xffff0000u : 0); }

// Element (row, k) of an A fragment and (k, column) of a B fragment, over the lanes' registers.
static uint16_t a_of(const Slot &s, int row, int k) { return (uint16_t)(s.words[row / 8 + k / 8 * 2][row % 8 * 4 + k % 8 / 2] >> (k % 2 * 16)); }
template<bool BF> static void mma(float (&d)[4], uint4 a, u32 b0, u32 b1) {
    static Slot more[64][2];
    Slot &s = slot(), &t = more[running / 32][warps[running / 32].generation % 2];
    int lane = running % 32;
    s.words[0][lane] = a.x, s.words[1][lane] = a.y, s.words[2][lane] = a.z, s.words[3][lane] = a.w;
    t.words[0][lane] = b0, t.words[1][lane] = b1;
    warp_meet();
    for (int i = 0; i < 4; i++) {
        int row = lane / 4 + i / 2 * 8, column = lane % 4 * 2 + i % 2;
        float sum = d[i];
        for (int k = 0; k < 16; k++)
            sum += widen<BF>(a_of(s, row, k)) * widen<BF>((uint16_t)(t.words[k / 8][column * 4 + k % 8 / 2] >> (k % 2 * 16)));
        d[i] = sum;
    }
}

static inline void proxy_fence() {}
static inline void wg_fence() {}
static inline void wg_commit() {}
template<int N> static void wg_wait() {}
template<int N> static void hold(float (&)[N]) {}
// Element of a matrix in shared memory: `line` along rows or columns, k along the sum.
static uint16_t element(u64 descriptor, bool transposed, int line, int k) {
    u32 start = (u32)(descriptor & 0x3fff) << 4, leading = (u32)(descriptor >> 16 & 0x3fff) << 4, stride = (u32)(descriptor >> 32 & 0x3fff) << 4;
    int swizzle = (int)(descriptor >> 62);
    u32 row = swizzle == 1 ? 128 : swizzle == 2 ? 64 : 16, wide = row / 2, a;
    if (transposed) a = start + (u32)line / wide * leading + (u32)k / 8 * stride + (u32)k % 8 * row + (u32)line % wide * 2;
    else a = start + (u32)line / 8 * stride + (u32)line % 8 * row + (u32)k * 2;
    if (!transposed && swizzle == 0) fprintf(stderr, "a plain matrix along k\n"), exit(3);
    if (swizzle == 1) a ^= (a >> 7 & 7) << 4;
    if (swizzle == 2) a ^= (a >> 7 & 3) << 4;
    return get<uint16_t>(a);
}
template<bool BF, int R, class A> static void warpgroup(float (&d)[R], A a, u64 b, bool tb, int s) {
    int t = running % 128;
    float bs[R / 2][16]; // this thread's columns
    for (int i = 0; i < R / 2; i++)
        for (int k = 0; k < 16; k++) bs[i][k] = widen<BF>(element(b, tb, i / 2 * 8 + t % 4 * 2 + i % 2, k));
    for (int half = 0; half < 2; half++) {
        float as[16];
        int row = t / 32 * 16 + t % 32 / 4 + half * 8;
        for (int k = 0; k < 16; k++) as[k] = widen<BF>(a(row, k));
        for (int i = 0; i < R / 2; i++) {
            int at = i / 2 * 4 + half * 2 + i % 2;
            float sum = s ? d[at] : 0;
            for (int k = 0; k < 16; k++) sum += as[k] * bs[i][k];
            d[at] = sum;
        }
    }
    meet(warpgroups[running / 128], 128);
}
template<bool BF, int TB, int R> static void wg_rs(float (&d)[R], const u32 (&a)[4], u64 b, int s) {
    Group &g = warpgroups[running / 128];
    Slot *mine = big[running / 128][g.generation / 2 % 2];
    for (int i = 0; i < 4; i++) mine[running % 128 / 32].words[i][running % 32] = a[i];
    meet(g, 128);
    warpgroup<BF>(d, [&](int row, int k) { return a_of(mine[row / 16], row % 16, k); }, b, TB, s);
}
template<bool BF, int TA, int TB, int R> static void wg_ss(float (&d)[R], u64 a, u64 b, int s) {
    meet(warpgroups[running / 128], 128);
    warpgroup<BF>(d, [&](int row, int k) { return element(a, TA, row, k); }, b, TB, s);
}
} // namespace spy_mlp

#include TEXT

// >>one kernel: its arguments in the order of the Slang function

static const void *arguments[8];
static float numbers[8];
static int integers[2];

static void body() {
    using namespace spy_mlp;
    typedef const void *P;
    P *p = arguments;
    auto f = [](P q) { return (float *)(uintptr_t)q; };
#ifdef FROM // a call that is nothing but a network: from the parameters themselves
    if constexpr ((OPTIONS >> 18 & 15) == 0) forward_from<SHAPE, OPTIONS>((const FROM *)p[0], p[1], f(p[2]), integers[0]);
    if constexpr ((OPTIONS >> 18 & 15) == 5) gradient_from<SHAPE, OPTIONS>((const FROM *)p[0], p[1], p[2], f(p[3]), f(p[4]), integers[0]);
    if constexpr ((OPTIONS >> 18 & 15) == 6) add_gradient<SHAPE, OPTIONS>(f(p[0]), (FROM *)f(p[1]), integers[0]);
#else
    if constexpr (OPTIONS >> 18 == 0) forward<SHAPE, OPTIONS>(p[0], p[1], f(p[2]), integers[0]);
#endif
    if constexpr (OPTIONS >> 18 == 1) gradient<SHAPE, OPTIONS>(p[0], p[1], p[2], f(p[3]), f(p[4]), integers[0], numbers[0], numbers[1]);
    if constexpr (OPTIONS >> 18 == 2)
        update<SHAPE, OPTIONS>(f(p[0]), f(p[1]), f(p[2]), f(p[3]), f(p[4]), float4{numbers[0], numbers[1], numbers[2], numbers[3]},
                               float4{numbers[4], numbers[5], numbers[6], numbers[7]}, uint2{(unsigned)integers[0], (unsigned)integers[1]});
    if constexpr (OPTIONS >> 18 == 4) rest<SHAPE, OPTIONS>(p[0], p[1], p[2], f(p[3]), f(p[4]), integers[0], numbers[0]);
    if constexpr (OPTIONS >> 18 == 3) pack_all<SHAPE, OPTIONS>(f(p[0]), f(p[1]));
}
static void begin() {
    body();
    finished[(size_t)running] = 1;
    next();
}

extern "C" void emulate(int groups, int group_threads, uint32_t shared_bytes, const void *const *p, const float *n, const int *i) {
    memcpy(arguments, p, sizeof arguments);
    memcpy(numbers, n, sizeof numbers);
    memcpy(integers, i, sizeof integers);
    blocks = groups, threads = group_threads, shared_size = shared_bytes;
    lanes.resize((size_t)threads);
    stacks.resize((size_t)threads * STACK);
    for (block = 0; block < blocks; block++) {
        memset(shared, 0xff, sizeof shared); // NaN, where nothing was written
        finished.assign((size_t)threads, 0);
        for (int t = 0; t < threads; t++) {
            lane_make(&lanes[(size_t)t], begin, &stacks[(size_t)t * STACK], STACK);
        }
        running = 0;
        lane_switch(&outside, &lanes[0]);
    }
}
