// What the text of a CUDA kernel takes from its compiler and its GPU, for g++: nvrtc.c puts this before the text, and play.c runs the
// result. Vectors, atomic operations, barriers, shuffles and textures; no header, whose names would meet the text's own.
#define __device__
#define __global__
#define __forceinline__ inline
#define __shared__ static
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict
#define SPY_PLAY extern "C" __attribute__((visibility("default")))

typedef decltype(sizeof 0) size_t;
typedef unsigned long long spy_object;
#define SPY_VECTORS(T, name, two, four)                                         \
    struct name##1 { T x; };                                                    \
    struct __attribute__((aligned(two))) name##2 { T x, y; };                   \
    struct name##3 { T x, y, z; };                                              \
    struct __attribute__((aligned(four))) name##4 { T x, y, z, w; };            \
    inline name##1 make_##name##1(T x) { return {x}; }                          \
    inline name##2 make_##name##2(T x, T y) { return {x, y}; }                  \
    inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }          \
    inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
SPY_VECTORS(signed char, char, 2, 4)
SPY_VECTORS(unsigned char, uchar, 2, 4)
SPY_VECTORS(short, short, 4, 8)
SPY_VECTORS(unsigned short, ushort, 4, 8)
SPY_VECTORS(int, int, 8, 16)
SPY_VECTORS(unsigned, uint, 8, 16)
SPY_VECTORS(long long, longlong, 16, 16)
SPY_VECTORS(unsigned long long, ulonglong, 16, 16)
SPY_VECTORS(float, float, 8, 16)
SPY_VECTORS(double, double, 16, 16)
struct dim3 {
    unsigned x, y, z;
    operator uint3() const { return {x, y, z}; }
};

// The same struct is in play.c.
struct spy_player {
    void (*meet)(int block); // waits for the warp, or for the block
    void (*shuffle)(void *value, unsigned size, int lane);
    void (*sample)(spy_object, int dims, const float *at, int layer, float level, unsigned *out);
    void (*fetch)(spy_object, const int *at, int layer, int level, unsigned *out);
    unsigned (*width)(spy_object);
};
SPY_PLAY const spy_player *spy_play;
SPY_PLAY unsigned spy_where[12]; // of the running thread
const spy_player *spy_play;
unsigned spy_where[12];
#define threadIdx (*(uint3 *)(void *)spy_where)
#define blockIdx (*(uint3 *)(void *)(spy_where + 3))
#define blockDim (*(dim3 *)(void *)(spy_where + 6))
#define gridDim (*(dim3 *)(void *)(spy_where + 9))

// >>functions of the compiler

extern "C" {
#define SPY_F1(n) \
    float n##f(float); \
    double n(double);
#define SPY_F2(n) \
    float n##f(float, float); \
    double n(double, double);
SPY_F1(sin) SPY_F1(cos) SPY_F1(tan) SPY_F1(asin) SPY_F1(acos) SPY_F1(atan) SPY_F1(sinh) SPY_F1(cosh) SPY_F1(tanh) SPY_F1(asinh) SPY_F1(acosh)
SPY_F1(atanh) SPY_F1(exp) SPY_F1(exp2) SPY_F1(exp10) SPY_F1(log) SPY_F1(log2) SPY_F1(log10) SPY_F1(sqrt) SPY_F1(ceil) SPY_F1(floor) SPY_F1(trunc)
SPY_F1(round) SPY_F1(rint) SPY_F1(fabs) SPY_F2(atan2) SPY_F2(pow) SPY_F2(fmod) SPY_F2(remainder) SPY_F2(fmin) SPY_F2(fmax) SPY_F2(copysign)
SPY_F2(nextafter) SPY_F2(fdim)
float fmaf(float, float, float), frexpf(float, int *), modff(float, float *);
double fma(double, double, double), frexp(double, int *), modf(double, double *);
int abs(int);
}
inline float rsqrtf(float x) { return 1 / sqrtf(x); }
inline float cospif(float x) { return cosf(x * 3.14159265f); }
inline float sinpif(float x) { return sinf(x * 3.14159265f); }
inline double rsqrt(double x) { return 1 / sqrt(x); }
inline double cospi(double x) { return cos(x * 3.14159265358979); }
inline double sinpi(double x) { return sin(x * 3.14159265358979); }
inline void sincosf(float x, float *s, float *c) { *s = sinf(x), *c = cosf(x); }
inline void sincos(double x, double *s, double *c) { *s = sin(x), *c = cos(x); }
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
template<class A, class B> A spy_bits(B b) {
    static_assert(sizeof(A) == sizeof(B));
    A a;
    __builtin_memcpy(&a, &b, sizeof a);
    return a;
}
inline int __float_as_int(float x) { return spy_bits<int>(x); }
inline unsigned __float_as_uint(float x) { return spy_bits<unsigned>(x); }
inline float __int_as_float(int x) { return spy_bits<float>(x); }
inline float __uint_as_float(unsigned x) { return spy_bits<float>(x); }
inline long long __double_as_longlong(double x) { return spy_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return spy_bits<double>(x); }
inline int __double2loint(double x) { return (int)spy_bits<long long>(x); }
inline int __double2hiint(double x) { return (int)(spy_bits<long long>(x) >> 32); }
inline double __hiloint2double(int high, int low) { return spy_bits<double>((long long)high << 32 | (unsigned)low); }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (x >> i & 1u) << (31 - i);
    return r;
}
inline unsigned long long __brevll(unsigned long long x) { return (unsigned long long)__brev((unsigned)x) << 32 | __brev((unsigned)(x >> 32)); }
template<class T> T __ldg(const T *p) { return *p; }
template<class T> bool __isConstant(const T *) { return true; }
inline void __threadfence() {}

// >>threads: one runs at a time

#define SPY_ATOMIC(name, e)                                   \
    template<class T, class V> T name(T *to, V v) {           \
        T before = *to;                                       \
        *to = (e);                                            \
        return before;                                        \
    }
SPY_ATOMIC(atomicAdd, before + (T)v)
SPY_ATOMIC(atomicSub, before - (T)v)
SPY_ATOMIC(atomicExch, (T)v)
SPY_ATOMIC(atomicMin, (T)v < before ? (T)v : before)
SPY_ATOMIC(atomicMax, before < (T)v ? (T)v : before)
SPY_ATOMIC(atomicAnd, before & (T)v)
SPY_ATOMIC(atomicOr, before | (T)v)
SPY_ATOMIC(atomicXor, before ^ (T)v)
template<class T, class V> T atomicCAS(T *to, V expected, V v) {
    T before = *to;
    if (before == (T)expected) *to = (T)v;
    return before;
}
inline unsigned spy_lane() { return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32; }
inline void __syncthreads() { spy_play->meet(1); }
inline void __syncwarp(unsigned = ~0u) { spy_play->meet(0); }
template<class T> T __shfl_sync(unsigned, T v, int lane, int = 32) {
    spy_play->shuffle(&v, sizeof v, lane & 31);
    return v;
}
inline unsigned __activemask() { return ~0u; }
inline unsigned __ballot_sync(unsigned, int v) {
    unsigned all = 0;
    for (int i = 0; i < 32; i++) all |= (unsigned)(__shfl_sync(~0u, v, i) != 0) << i;
    return all;
}
inline int __all_sync(unsigned m, int v) { return __ballot_sync(m, v) == ~0u; }
inline int __any_sync(unsigned m, int v) { return __ballot_sync(m, v) != 0; }

// >>textures. Slang's names of loads are those of the library's prelude, whose own are PTX.

template<class T> struct spy_texel;
#define SPY_TEXEL(B)                                                                                                   \
    template<> struct spy_texel<B> { static B of(const unsigned *v) { return spy_bits<B>(v[0]); } };                   \
    template<> struct spy_texel<B##2> { static B##2 of(const unsigned *v) { return {spy_bits<B>(v[0]), spy_bits<B>(v[1])}; } };                      \
    template<> struct spy_texel<B##3> { static B##3 of(const unsigned *v) { return {spy_bits<B>(v[0]), spy_bits<B>(v[1]), spy_bits<B>(v[2])}; } };   \
    template<> struct spy_texel<B##4> { static B##4 of(const unsigned *v) { return {spy_bits<B>(v[0]), spy_bits<B>(v[1]), spy_bits<B>(v[2]), spy_bits<B>(v[3])}; } };
typedef unsigned uint;
SPY_TEXEL(float)
SPY_TEXEL(int)
SPY_TEXEL(uint)
template<class T> T spy_sample(spy_object t, int dims, float x, float y, float z, int layer, float level) {
    const float at[3] = {x, y, z};
    unsigned out[4];
    spy_play->sample(t, dims, at, layer, level, out);
    return spy_texel<T>::of(out);
}
template<class T> T spy_fetch(spy_object t, int x, int y, int z, int layer, int level) {
    const int at[3] = {x, y, z};
    unsigned out[4];
    spy_play->fetch(t, at, layer, level, out);
    return spy_texel<T>::of(out);
}
template<class T> T tex1DLod(spy_object t, float x, float l) { return spy_sample<T>(t, 1, x, 0, 0, 0, l); }
template<class T> T tex2DLod(spy_object t, float x, float y, float l) { return spy_sample<T>(t, 2, x, y, 0, 0, l); }
template<class T> T tex3DLod(spy_object t, float x, float y, float z, float l) { return spy_sample<T>(t, 3, x, y, z, 0, l); }
template<class T> T tex1DLayeredLod(spy_object t, float x, int n, float l) { return spy_sample<T>(t, 1, x, 0, 0, n, l); }
template<class T> T tex2DLayeredLod(spy_object t, float x, float y, int n, float l) { return spy_sample<T>(t, 2, x, y, 0, n, l); }
template<class T> T texCubemapLod(spy_object t, float x, float y, float z, float l) { return spy_sample<T>(t, 4, x, y, z, 0, l); }
template<class T> T texCubemapLayeredLod(spy_object t, float x, float y, float z, int n, float l) { return spy_sample<T>(t, 4, x, y, z, n, l); }
template<class T> T tex1D(spy_object t, float x) { return tex1DLod<T>(t, x, 0); }
template<class T> T tex2D(spy_object t, float x, float y) { return tex2DLod<T>(t, x, y, 0); }
template<class T> T tex3D(spy_object t, float x, float y, float z) { return tex3DLod<T>(t, x, y, z, 0); }
template<class T> T tex1Dfetch_int(spy_object t, int x, int l) {
    int w = (int)spy_play->width(t) >> l;
    return tex1DLod<T>(t, ((float)x + 0.5f) / (float)(w > 1 ? w : 1), (float)l);
}
template<class T> T tex2Dfetch_int(spy_object t, int x, int y, int l) { return spy_fetch<T>(t, x, y, 0, 0, l); }
template<class T> T tex3Dfetch_int(spy_object t, int x, int y, int z, int l) { return spy_fetch<T>(t, x, y, z, 0, l); }
template<class T> T tex1DArrayfetch_int(spy_object t, int x, int n, int l) { return spy_fetch<T>(t, x, 0, 0, n, l); }
template<class T> T tex2DArrayfetch_int(spy_object t, int x, int y, int n, int l) { return spy_fetch<T>(t, x, y, 0, n, l); }

// >>the kernel as play.c calls it: SPY_KERNEL(name) stands behind the text

template<int... I> struct spy_numbers {};
template<class... A, int... I> void spy_run(void (*f)(A...), void *const *params, spy_numbers<I...>) { f(*(A *)params[I]...); }
template<class... A> void spy_run(void (*f)(A...), void *const *params) { spy_run(f, params, spy_numbers<__integer_pack(sizeof...(A))...>()); }
template<class... A> const unsigned *spy_sizes(void (*)(A...)) {
    static const unsigned sizes[] = {sizeof...(A), sizeof(A)...};
    return sizes;
}
#define SPY_KERNEL(name, globals)                                            \
    SPY_PLAY void spy_thread(void *const *params) { spy_run(name, params); } \
    SPY_PLAY const unsigned *spy_param_sizes() { return spy_sizes(name); }   \
    SPY_PLAY unsigned spy_globals_size() { return globals; }
