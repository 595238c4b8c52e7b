// Runs the CUDA text of a Slang kernel whose networks work on the matrix units (src/slang/mlp_matrix.slang) on a CPU: the 32 threads of a
// warp are contexts that take turns, and the instructions of warps (shuffles, votes, mma.sync, movmatrix) are written here in C++, after
// PTX's manual. -DTEXT="file" is the text that Slang makes, without its prelude; python/tests/test_mlp_matrix.py compiles this.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "../common/lanes.h"

#define SPY_MLP_EMULATED
#define __device__
#define __forceinline__ inline
#define __noinline__ inline
#define __global__
typedef unsigned uint;
typedef uint16_t __half_bits;
struct uint2 { unsigned x, y; };
struct uint3 { unsigned x, y, z; };
struct uint4 { unsigned x, y, z, w; };
struct float4 { float x, y, z, w; };
static uint3 operator+(uint3 a, uint3 b) { return { a.x + b.x, a.y + b.y, a.z + b.z }; }
static uint3 operator*(uint3 a, uint3 b) { return { a.x * b.x, a.y * b.y, a.z * b.z }; }
typedef _Float16 __half;
template<class T, int N> struct FixedArray {
    T m[N];
    T &operator[](int i) { return m[i]; }
    const T &operator[](int i) const { return m[i]; }
};
static float F32_exp(float v) { return expf(v); }
static float F32_abs(float v) { return fabsf(v); }
static float F32_max(float a, float b) { return fmaxf(a, b); }
static float F32_sin(float v) { return sinf(v); }
static float F32_cos(float v) { return cosf(v); }
static int F32_sign(float v) { return (v > 0) - (v < 0); }

// >>threads: one warp at a time

enum { STACK = 512 << 10, LANES = 32 };
static int running, finished_count;
static bool finished[LANES];
static lane_context lanes[LANES], outside;
static std::vector<char> stacks(LANES *(size_t)STACK);
static uint3 blockIdx, blockDim, threadIdx;
static unsigned active;                 // lanes that have not returned early
static void next() {
    int from = running;
    for (int i = 1; i <= LANES; i++) {
        int to = (from + i) % LANES;
        if (finished[to]) continue;
        if (to == from) return;
        running = to;
        threadIdx.x = threadIdx.x / 32 * 32 + (unsigned)to;
        lane_switch(&lanes[from], &lanes[to]);
        return;
    }
    lane_switch(&lanes[from], &outside);
}
static int arrived;
static uint64_t generation;
static void meet() {
    uint64_t mine = generation;
    if (++arrived == LANES - finished_count) arrived = 0, generation++;
    else
        while (generation == mine) next();
}

namespace spy_mlp_warp {
typedef unsigned u32;
typedef unsigned long long u64;
static u32 words[2][8][LANES];
static u32 *slot(int i) { return words[generation % 2][i]; }
static int lane() { return running; }
static u32 swap(u32 v, int mask) {
    u32 *s = slot(0);
    s[running] = v;
    meet();
    return s[running ^ mask];
}
static int opaque(int v) { return v; }
static u32 pick(u32 a, u32 b, u32 which) {
    uint64_t both = a | (uint64_t)b << 32;
    u32 out = 0;
    for (int i = 0; i < 4; i++) out |= (u32)(both >> (which >> i * 4 & 7) * 8 & 255) << i * 8;
    return out;
}
static float number(u32 v) { float f; memcpy(&f, &v, 4); return f; }
static u32 bits(float f) { u32 v; memcpy(&v, &f, 4); return v; }
static u32 narrow(float f) { _Float16 h = (_Float16)f; uint16_t u; memcpy(&u, &h, 2); return u; }
static float widen(unsigned short u) { _Float16 h; memcpy(&h, &u, 2); return (float)h; }
static u32 pack(float lo, float hi) { return narrow(lo) | narrow(hi) << 16; }
static float half_of(u32 *const w, int lane_of, int k) { return widen((unsigned short)(w[lane_of] >> k * 16)); }
static void mma(float *d, const u32 *a, u32 b0, u32 b1) {
    u32 *s[6];
    for (int i = 0; i < 6; i++) s[i] = slot(i), s[i][running] = i < 4 ? a[i] : i == 4 ? b0 : b1;
    meet();
    for (int i = 0; i < 4; i++) {
        const int row = running / 4 + i / 2 * 8, column = running % 4 * 2 + i % 2;
        float sum = d[i];
        for (int k = 0; k < 16; k++)
            sum += half_of(s[row / 8 + k / 8 * 2], row % 8 * 4 + k % 8 / 2, k % 2) * half_of(s[4 + k / 8], column * 4 + k % 8 / 2, k % 2);
        d[i] = sum;
    }
}
// Transposes a matrix of 8 x 8 halves.
static u32 transpose(u32 v) {
    u32 *s = slot(0);
    s[running] = v;
    meet();
    const int row = running / 4, column = running % 4 * 2;
    u32 out = 0;
    for (int e = 0; e < 2; e++) out |= (s[(column + e) * 4 + row / 2] >> row % 2 * 16 & 0xffff) << e * 16;
    return out;
}
// A group's shared memory. Groups of 8 warps: the warps of a group take turns, so that one opens the rooms and the last one empties them.
static int warps_in_all;
alignas(16) static unsigned spy_mlp_room[232448 / 4];
static void group_sync() { meet(); }
static void warp_sync() { meet(); }
static int group_threads() { return LANES; }
static int group_thread() { return running; }
static int group_number() { return (int)threadIdx.x / 256; }
static bool opens() { return threadIdx.x / LANES % 8 == 0; }
static bool closes() { return threadIdx.x / LANES % 8 == 7 || (int)threadIdx.x / LANES == warps_in_all - 1; }
static void lock(u32 *word) {
    if (running == 0 && (*word)++ != 0) fprintf(stderr, "a lock is taken\n"), exit(3);
    meet();
}
static void unlock(u32 *word) {
    meet();
    if (running == 0) *word = 0;
}
// Threads that return early have done so before the others go on.
static bool together(const void *, const void *) {
    meet();
    return finished_count == 0;
}
static bool ready(const void *weights, const void *gradients) { return together(weights, gradients) && ((uint64_t)weights | (uint64_t)gradients) % 16 == 0; }
static void add1(float *to, float v, bool some) {
    if (some) *to += v;
}
static void add4(float *to, float a, float b, float c, float d, bool some) {
    if (some && (uint64_t)to % 16) fprintf(stderr, "four numbers at %p\n", (void *)to), exit(3);
    add1(to, a, some), add1(to + 1, b, some), add1(to + 2, c, some), add1(to + 3, d, some);
}
static void add_halves(void *to, u32 v, bool some) {
    _Float16 *h = (_Float16 *)to;
    if (some && (uint64_t)to % 4) fprintf(stderr, "two halves at %p\n", to), exit(3);
    if (some) h[0] += (_Float16)widen((unsigned short)v), h[1] += (_Float16)widen((unsigned short)(v >> 16));
}
} // namespace spy_mlp_warp
// What the plain loops need to compile; no test runs them here.
typedef unsigned long long ulonglong;
typedef unsigned WarpMask;
struct bool2 {
    bool x, y;
};
static unsigned __activemask() { return ~0u; }
static uint2 make_uint2(unsigned x, unsigned y) { return { x, y }; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return { x, y, z, w }; }
static bool2 operator==(uint2 a, uint2 b) { return { a.x == b.x, a.y == b.y }; }
template<class T> static T _waveReadFirstMultiple(unsigned, T v) { return v; }
template<class T> static T _waveSum(unsigned, T v) { return v; }
static int __all_sync(unsigned, int v) { return v; }
static unsigned __ballot_sync(unsigned mask, int v) { return v ? mask : 0; }
static int I32_min(int a, int b) { return a < b ? a : b; }
static unsigned U32_min(unsigned a, unsigned b) { return a < b ? a : b; }
static int _getLaneId() { return running; }
template<class T, class U> static T atomicAdd(T *to, U v) { return *to = (T)(*to + v); }
template<class T> static T atomicExch(T *to, T v) { return *to = v; }
template<class T> static T atomicOr(T *to, T v) { return *to |= v; }
template<class T> static T atomicCAS(T *to, T, T v) { return *to = v; }
static bool _slang_vector_get_element(bool2 v, int i) { return i ? v.y : v.x; }
static unsigned F32_asuint(float v) { return spy_mlp_warp::bits(v); }
template<class T, class F> static T slang_bit_cast(F v) { return (T)v; }

#include TEXT

static void *arguments[6];
static void begin() {
    SPY_KERNEL;
    finished[running] = true, finished_count++;
    if (arrived && arrived == LANES - finished_count) arrived = 0, generation++;
    next();
}
// Runs a kernel of `threads` threads, whole warps of them.
extern "C" void emulate(int threads, void *const *p) {
    memcpy(arguments, p, sizeof arguments);
    blockDim = { (unsigned)threads, 1, 1 };
    blockIdx = { 0, 0, 0 };
    spy_mlp_warp::warps_in_all = threads / LANES;
    for (int warp = 0; warp * LANES < threads; warp++) {
        finished_count = 0, arrived = 0;
        for (int t = 0; t < LANES; t++) {
            finished[t] = false;
            lane_make(&lanes[t], begin, &stacks[(size_t)t * STACK], STACK);
        }
        running = 0;
        threadIdx = { (unsigned)warp * LANES, 0, 0 };
        lane_switch(&outside, &lanes[0]);
    }
}
