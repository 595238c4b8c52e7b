// Our own prelude for CUDA text that Slang emits: only the names that such text refers to, for NVRTC with
// -default-device. Needs NVRTC's built-ins and no header, and -minimal but for textures. C++17. prelude.c
// switches blocks on: SPYI_VEC, _ODDVEC, _HALF, _MAT, _MATH, _MATH64, _BUF, _TENSOR, _WAVE, _TEX, _GLOBALS, _SURFACE.
// What it lacks, Slang's own prelude has. Layouts that must be as Slang reflects them: bool3 has alignment 1,
// bool4 4; half3 and half4 have 4.
#define D_ __device__ __forceinline__
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long longlong;
typedef unsigned long long ulonglong;
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef long long intptr_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulonglong uint64_t;
typedef ulonglong uintptr_t;
typedef ulonglong CUtexObject;
#ifndef SPYI_SURFACE
typedef ulonglong CUsurfObject;
#else
// Slang writes atomics on textures as atomicAdd(texture[xy], value). PTX has sured, which gives no old value: a kernel
// that uses it gets an error of the assembler that says so. Texels beyond the texture are left alone.
struct sold_ {
    template<class T> D_ operator T() const {
        T v;
        asm("cuda_has_no_old_values_of_atomics_on_textures %0;" : "=r"(v)); // removed where nothing uses v
        return v;
    }
};
struct sat_ {
    ulonglong s;
    uint2 p;
    bool line;
};
struct CUsurfObject {
    ulonglong s;
    D_ operator ulonglong() const { return s; }
    D_ sat_ operator[](uint x) const { return sat_{ s, uint2{ x, 0 }, true }; }
    D_ sat_ operator[](uint2 p) const { return sat_{ s, p, false }; }
};
#define SUR_(name, op, type, T)                                                                                \
    D_ sold_ name(sat_ a, T v) {                                                                               \
        if (a.line)                                                                                            \
            asm volatile("sured.b." op ".1d." type ".zero [%0, {%1}], %2;" ::"l"(a.s), "r"(4 * a.p.x), "r"(v)  \
                         : "memory");                                                                          \
        else                                                                                                   \
            asm volatile("sured.b." op ".2d." type ".zero [%0, {%1, %2}], %3;" ::"l"(a.s), "r"(4 * a.p.x),     \
                         "r"(a.p.y), "r"(v)                                                                    \
                         : "memory");                                                                          \
        return sold_();                                                                                        \
    }
#define SURS_(name, op, i, u) SUR_(name, op, i, int) SUR_(name, op, u, uint)
SURS_(atomicAdd, "add", "s32", "u32")
SURS_(atomicMin, "min", "s32", "u32")
SURS_(atomicMax, "max", "s32", "u32")
SURS_(atomicAnd, "and", "b32", "b32")
SURS_(atomicOr, "or", "b32", "b32")
#endif
struct SamplerTag_;
typedef SamplerTag_ *SamplerState;
typedef size_t NonUniformResourceIndex;
#define SLANG_PRELUDE_EXPORT
#define SLANG_CUDA_BOUNDARY_MODE cudaBoundaryModeZero
#define SLANG_INFINITY __int_as_float(0x7f800000)
template<class T, size_t N> struct FixedArray {
    T m_data[N];
    D_ T &operator[](size_t i) { return m_data[i]; }
    D_ const T &operator[](size_t i) const { return m_data[i]; }
};
template<class T> struct Array {
    T *data;
    size_t count;
    D_ T &operator[](size_t i) const { return data[i]; }
};
template<class A, class B> D_ A slang_bit_cast(B b) {
    static_assert(sizeof(A) == sizeof(B), "size");
    union U {
        B b;
        A a;
        D_ U() {}
    } u;
    u.b = b;
    return u.a;
}
template<class T> D_ T *_slang_addr(T &t) { return &t; }
// The thread index product that begins nearly every kernel.
D_ uint3 operator*(uint3 a, dim3 b) { return uint3{a.x * b.x, a.y * b.y, a.z * b.z}; }
#ifndef SPYI_VEC
D_ uint3 operator+(uint3 a, uint3 b) { return uint3{a.x + b.x, a.y + b.y, a.z + b.z}; }
#else
struct __align__(1) bool1 {
    bool x;
};
struct __align__(2) bool2 {
    bool x, y;
};
struct __align__(1) bool3 {
    bool x, y, z;
};
struct __align__(4) bool4 {
    bool x, y, z, w;
};
#ifdef SPYI_HALF
// 16-bit float: storage plus PTX arithmetic. The compiler has no usable built-in half type without
// cuda_fp16.h.
struct __half {
    ushort u;
    __half() = default;
    D_ __half(float f) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(u) : "f"(f)); }
    D_ __half(double f) { asm("cvt.rn.f16.f64 %0, %1;" : "=h"(u) : "d"(f)); }
    D_ __half(int i) : __half((float)i) {}
    D_ __half(uint i) : __half((float)i) {}
    D_ __half(longlong i) : __half((float)i) {}
    D_ __half(ulonglong i) : __half((float)i) {}
    D_ __half(short i) : __half((float)i) {}
    D_ __half(ushort i) : __half((float)i) {}
    D_ __half(bool b) : __half(b ? 1.f : 0.f) {}
    D_ operator float() const {
        float f;
        asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(u));
        return f;
    }
};
typedef __half half;
#define HB_(op, ins)                                                  \
    D_ __half operator op(__half a, __half b) {                       \
        __half r;                                                     \
        asm(ins ".f16 %0, %1, %2;" : "=h"(r.u) : "h"(a.u), "h"(b.u)); \
        return r;                                                     \
    }                                                                 \
    D_ __half &operator op##=(__half &a, __half b) { return a = a op b; }
HB_(+, "add")
HB_(-, "sub")
HB_(*, "mul")
D_ __half operator/(__half a, __half b) { return __half((float)a / (float)b); }
D_ __half operator-(__half a) {
    a.u ^= 0x8000;
    return a;
}
#define HC_(op) \
    D_ bool operator op(__half a, __half b) { return (float)a op(float) b; }
HC_(<)
HC_(>)
HC_(<=)
HC_(>=)
HC_(==)
HC_(!=)
struct __half1 {
    __half x;
};
struct __align__(4) __half2 {
    __half x, y;
};
struct __align__(4) __half3 {
    __half x, y, z;
};
struct __align__(4) __half4 {
    __half x, y, z, w;
};
D_ __half2 make___half2(__half x, __half y) { return {x, y}; }
D_ __half3 make___half3(__half x, __half y, __half z) { return {x, y, z}; }
D_ __half4 make___half4(__half x, __half y, __half z, __half w) { return {x, y, z, w}; }
#define H2_(op, ins)                                                       \
    D_ __half2 operator op(__half2 a, __half2 b) {                         \
        uint r;                                                            \
        asm(ins ".f16x2 %0, %1, %2;"                                       \
            : "=r"(r)                                                      \
            : "r"(slang_bit_cast<uint>(a)), "r"(slang_bit_cast<uint>(b))); \
        return slang_bit_cast<__half2>(r);                                 \
    }
H2_(+, "add")
H2_(-, "sub")
H2_(*, "mul")
D_ float __half2float(__half h) { return h; }
D_ __half __float2half(float f) { return __half(f); }
D_ __half __ushort_as_half(ushort u) {
    __half h;
    h.u = u;
    return h;
}
D_ ushort __half_as_ushort(__half h) { return h.u; }
D_ __half __ldg(const __half *p) { return __ushort_as_half(__ldg((const ushort *)p)); }
D_ __half2 __ldg(const __half2 *p) { return slang_bit_cast<__half2>(__ldg((const uint *)p)); }
D_ __half4 __ldg(const __half4 *p) { return __half4{__ldg(&p->x), __ldg(&p->y), __ldg(&p->z), __ldg(&p->w)}; }
#define H1_(n, e)                 \
    D_ __half F16_##n(__half h) { \
        float x = h;              \
        return __half(e);         \
    }
H1_(sin, sinf(x))
H1_(cos, cosf(x))
H1_(tan, tanf(x))
H1_(asin, asinf(x))
H1_(acos, acosf(x))
H1_(atan, atanf(x))
H1_(sinh, sinhf(x))
H1_(cosh, coshf(x))
H1_(tanh, tanhf(x))
H1_(asinh, asinhf(x))
H1_(acosh, acoshf(x))
H1_(atanh, atanhf(x))
H1_(exp10, exp10f(x))
H1_(rint, rintf(x))
H1_(exp, expf(x))
H1_(exp2, exp2f(x))
H1_(log, logf(x))
H1_(log2, log2f(x))
H1_(log10, log10f(x))
H1_(sqrt, sqrtf(x))
H1_(rsqrt, rsqrtf(x))
H1_(floor, floorf(x))
H1_(ceil, ceilf(x))
H1_(round, roundf(x))
H1_(trunc, truncf(x))
H1_(frac, x - floorf(x))
D_ __half F16_abs(__half h) {
    h.u &= 0x7fff;
    return h;
}
D_ __half F16_min(__half a, __half b) { return fminf(a, b); }
D_ __half F16_max(__half a, __half b) { return fmaxf(a, b); }
D_ __half F16_pow(__half a, __half b) { return powf(a, b); }
D_ __half F16_fmod(__half a, __half b) { return fmodf(a, b); }
D_ __half F16_atan2(__half a, __half b) { return atan2f(a, b); }
D_ __half F16_fma(__half a, __half b, __half c) {
    __half r;
    asm("fma.rn.f16 %0, %1, %2, %3;" : "=h"(r.u) : "h"(a.u), "h"(b.u), "h"(c.u));
    return r;
}
D_ bool F16_isnan(__half h) { return (h.u & 0x7fff) > 0x7c00; }
D_ bool F16_isinf(__half h) { return (h.u & 0x7fff) == 0x7c00; }
D_ bool F16_isfinite(__half h) { return (h.u & 0x7c00) != 0x7c00; }
D_ int F16_sign(__half h) {
    float x = h;
    return (x > 0) - (x < 0);
}
D_ ushort F16_asuint(__half h) { return h.u; }
D_ short F16_asint(__half h) { return (short)h.u; }
D_ __half U16_asfloat(ushort u) { return __ushort_as_half(u); }
D_ __half I16_asfloat(short u) { return __ushort_as_half((ushort)u); }
#endif
// One trait describes every vector type; operators are templates over it, so a body pays only for what it
// uses.
template<class V> struct VT_ { static const int n = 0; };
template<class T, int N> struct VN_;
template<int N> struct VB_;
template<> struct VB_<2> { typedef bool2 t; };
template<> struct VB_<3> { typedef bool3 t; };
template<> struct VB_<4> { typedef bool4 t; };
#define VD_(V, T, N)            \
    template<> struct VT_<V> {  \
        static const int n = N; \
        typedef T e;            \
        typedef VB_<N>::t b;    \
        typedef V v;            \
    };                          \
    template<> struct VN_<T, N> { typedef V t; };
#define VS_(S, T)                                          \
    VD_(S##2, T, 2)                                        \
    VD_(S##3, T, 3)                                        \
    VD_(S##4, T, 4)                                        \
    template<> struct VN_<T, 1> { typedef S##1 t; };       \
    D_ S##2 make_##S##2(T s) { return S##2 {s, s}; }       \
    D_ S##3 make_##S##3(T s) { return S##3 {s, s, s}; }    \
    D_ S##4 make_##S##4(T s) { return S##4 {s, s, s, s}; } \
    D_ S##2 make_##S##2(S##2 v) { return v; }              \
    D_ S##3 make_##S##3(S##3 v) { return v; }              \
    D_ S##4 make_##S##4(S##4 v) { return v; }
D_ bool2 make_bool2(bool x, bool y) { return {x, y}; }
D_ bool3 make_bool3(bool x, bool y, bool z) { return {x, y, z}; }
D_ bool4 make_bool4(bool x, bool y, bool z, bool w) { return {x, y, z, w}; }
VS_(float, float)
VS_(int, int)
VS_(uint, uint)
VS_(bool, bool)
#ifdef SPYI_ODDVEC
VS_(double, double)
VS_(short, short)
VS_(ushort, ushort)
VS_(char, char)
VS_(uchar, uchar)
VS_(longlong, longlong)
VS_(ulonglong, ulonglong)
#endif
#ifdef SPYI_HALF
VS_(__half, __half)
#endif
template<bool B, class T> struct EN_ {};
template<class T> struct EN_<true, T> { typedef T t; };
#define VEC_(R) template<class V> D_ typename EN_<(VT_<V>::n > 0), R>::t
#define VB2_(op)                                       \
    VEC_(V) operator op(V a, V b) {                    \
        V r;                                           \
        r.x = a.x op b.x;                              \
        r.y = a.y op b.y;                              \
        if constexpr (VT_<V>::n > 2) r.z = a.z op b.z; \
        if constexpr (VT_<V>::n > 3) r.w = a.w op b.w; \
        return r;                                      \
    }
VB2_(+)
VB2_(-)
VB2_(*)
VB2_(/)
VB2_(&)
VB2_(|)
VB2_(^)
template<class T> D_ T rem_(T a, T b) { return a % b; }
D_ float rem_(float a, float b) { return fmodf(a, b); }
D_ double rem_(double a, double b) { return fmod(a, b); }
VEC_(V) operator%(V a, V b) {
    V r;
    r.x = rem_(a.x, b.x);
    r.y = rem_(a.y, b.y);
    if constexpr (VT_<V>::n > 2) r.z = rem_(a.z, b.z);
    if constexpr (VT_<V>::n > 3) r.w = rem_(a.w, b.w);
    return r;
}
#define VSH_(op)                                                                             \
    template<class V, class U>                                                               \
    D_ typename EN_<(VT_<V>::n > 0 && VT_<V>::n == VT_<U>::n), V>::t operator op(V a, U b) { \
        V r;                                                                                 \
        r.x = a.x op b.x;                                                                    \
        r.y = a.y op b.y;                                                                    \
        if constexpr (VT_<V>::n > 2) r.z = a.z op b.z;                                       \
        if constexpr (VT_<V>::n > 3) r.w = a.w op b.w;                                       \
        return r;                                                                            \
    }                                                                                        \
    template<class V> D_ typename EN_<(VT_<V>::n > 0), V>::t operator op(V a, int s) {       \
        V r;                                                                                 \
        r.x = a.x op s;                                                                      \
        r.y = a.y op s;                                                                      \
        if constexpr (VT_<V>::n > 2) r.z = a.z op s;                                         \
        if constexpr (VT_<V>::n > 3) r.w = a.w op s;                                         \
        return r;                                                                            \
    }
VSH_(<<)
VSH_(>>)
#define VCM_(op)                                       \
    VEC_(typename VT_<V>::b) operator op(V a, V b) {   \
        typename VT_<V>::b r;                          \
        r.x = a.x op b.x;                              \
        r.y = a.y op b.y;                              \
        if constexpr (VT_<V>::n > 2) r.z = a.z op b.z; \
        if constexpr (VT_<V>::n > 3) r.w = a.w op b.w; \
        return r;                                      \
    }
VCM_(<)
VCM_(>)
VCM_(<=)
VCM_(>=)
VCM_(==)
VCM_(!=)
VCM_(&&)
VCM_(||)
#define VU_(op, R)                                 \
    VEC_(R) operator op(V a) {                     \
        R r;                                       \
        r.x = op a.x;                              \
        r.y = op a.y;                              \
        if constexpr (VT_<V>::n > 2) r.z = op a.z; \
        if constexpr (VT_<V>::n > 3) r.w = op a.w; \
        return r;                                  \
    }
VU_(-, V)
VU_(~, V)
VU_(!, typename VT_<V>::b)
template<class V> D_ auto _slang_vector_get_element(V v, int i) -> decltype(v.x) { return (&v.x)[i]; }
template<class V> D_ auto _slang_vector_get_element_ptr(V *v, int i) { return &v->x + i; }
template<class V> D_ auto _slang_vector_get_element_ptr(const V *v, int i) {
    return (decltype(((V *)v)->x) *)&v->x + i;
}
template<class T> D_ T _slang_select(bool c, T a, T b) { return c ? a : b; }
template<class V> D_ V _slang_select(typename VT_<V>::b c, V a, V b) {
    V r;
    r.x = c.x ? a.x : b.x;
    r.y = c.y ? a.y : b.y;
    if constexpr (VT_<V>::n > 2) r.z = c.z ? a.z : b.z;
    if constexpr (VT_<V>::n > 3) r.w = c.w ? a.w : b.w;
    return r;
}
D_ bool __ldg(const bool *p) { return __ldg((const uchar *)p) != 0; }
#endif
#ifdef SPYI_MAT
template<class T, int R, int C> struct Matrix {
    typedef typename VN_<T, C>::t row;
    row rows[R];
    D_ row &operator[](size_t i) { return rows[i]; }
    D_ const row &operator[](size_t i) const { return rows[i]; }
};
template<class T, int R, int C> D_ Matrix<T, R, C> makeMatrix(T s) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) (&m.rows[i].x)[j] = s;
    return m;
}
template<class T, int R, int C, class... A> D_ Matrix<T, R, C> makeMatrix(T a, T b, A... r) {
    T v[] = {a, b, (T)r...};
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++) (&m.rows[i].x)[j] = v[i * C + j];
    return m;
}
template<class T, int R, int C, class... A> D_ Matrix<T, R, C> makeMatrix(typename VN_<T, C>::t a, A... r) {
    return Matrix<T, R, C>{{a, r...}};
}
template<class T, int R, int C, class U, int R2, int C2>
D_ Matrix<T, R, C> makeMatrix(const Matrix<U, R2, C2> &o) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++)
        for (int j = 0; j < C; j++)
            (&m.rows[i].x)[j] = i < R2 && j < C2 ? (T)(&o.rows[i < R2 ? i : 0].x)[j < C2 ? j : 0] : (T)0;
    return m;
}
#define MB_(op)                                                                                            \
    template<class T, int R, int C> D_ Matrix<T, R, C> operator op(Matrix<T, R, C> a, Matrix<T, R, C> b) { \
        Matrix<T, R, C> m;                                                                                 \
        for (int i = 0; i < R; i++) m.rows[i] = a.rows[i] op b.rows[i];                                    \
        return m;                                                                                          \
    }
MB_(+)
MB_(-)
MB_(*)
MB_(/)
MB_(&)
MB_(|)
MB_(^)
MB_(%)
#define MC_(op)                                                               \
    template<class T, int R, int C>                                           \
    D_ Matrix<bool, R, C> operator op(Matrix<T, R, C> a, Matrix<T, R, C> b) { \
        Matrix<bool, R, C> m;                                                 \
        for (int i = 0; i < R; i++) m.rows[i] = a.rows[i] op b.rows[i];       \
        return m;                                                             \
    }
MC_(<)
MC_(>)
MC_(<=)
MC_(>=)
MC_(==)
MC_(!=)
MC_(&&)
MC_(||)
#define MU_(op, T2)                                                                      \
    template<class T, int R, int C> D_ Matrix<T2, R, C> operator op(Matrix<T, R, C> a) { \
        Matrix<T2, R, C> m;                                                              \
        for (int i = 0; i < R; i++) m.rows[i] = op a.rows[i];                            \
        return m;                                                                        \
    }
MU_(-, T)
MU_(~, T)
MU_(!, bool)
template<class T, int R, int C>
D_ Matrix<T, R, C> _slang_select(Matrix<bool, R, C> c, Matrix<T, R, C> a, Matrix<T, R, C> b) {
    Matrix<T, R, C> m;
    for (int i = 0; i < R; i++) m.rows[i] = _slang_select(c.rows[i], a.rows[i], b.rows[i]);
    return m;
}
#endif
#ifdef SPYI_MATH
#define F1_(n, e, g) \
    D_ float F32_##n(float x) { return e; }
#define F2_(n, e, g) \
    D_ float F32_##n(float x, float y) { return e; }
#define FLIST_(A, B)                                                                                        \
    A(sin, sinf(x), sin(x))                                                                                 \
    A(cos, cosf(x), cos(x)) A(tan, tanf(x), tan(x)) A(asin, asinf(x), asin(x)) A(acos, acosf(x), acos(x))   \
        A(atan, atanf(x), atan(x)) A(sinh, sinhf(x), sinh(x)) A(cosh, coshf(x), cosh(x))                    \
            A(tanh, tanhf(x), tanh(x)) A(asinh, asinhf(x), asinh(x)) A(acosh, acoshf(x), acosh(x)) A(       \
                atanh, atanhf(x), atanh(x)) A(exp, expf(x), exp(x)) A(exp2, exp2f(x), exp2(x))              \
                A(exp10, exp10f(x), exp10(x)) A(log, logf(x), log(x)) A(log2, log2f(x), log2(x)) A(         \
                    log10, log10f(x), log10(x)) A(sqrt, sqrtf(x), sqrt(x)) A(rsqrt, rsqrtf(x), rsqrt(x))    \
                    A(ceil, ceilf(x), ceil(x)) A(floor, floorf(x), floor(x)) A(trunc, truncf(x), trunc(x))  \
                        A(round, roundf(x), round(x)) A(rint, rintf(x), rint(x)) A(abs, fabsf(x), fabs(x))  \
                            A(frac, x - floorf(x), x - floor(x)) A(cospi, cospif(x), cospi(x))              \
                                A(sinpi, sinpif(x), sinpi(x)) B(atan2, atan2f(x, y), atan2(x, y))           \
                                    B(pow, powf(x, y), pow(x, y)) B(fmod, fmodf(x, y), fmod(x, y))          \
                                        B(remainder, remainderf(x, y), remainder(x, y))                     \
                                            B(min, fminf(x, y), fmin(x, y)) B(max, fmaxf(x, y), fmax(x, y)) \
                                                B(copysign, copysignf(x, y), copysign(x, y))                \
                                                    B(nextafter, nextafterf(x, y), nextafter(x, y))         \
                                                        B(fdim, fdimf(x, y), fdim(x, y))
FLIST_(F1_, F2_)
D_ float F32_fma(float a, float b, float c) { return fmaf(a, b, c); }
D_ int F32_sign(float x) { return (x > 0) - (x < 0); }
D_ void F32_sincos(float x, float *s, float *c) { sincosf(x, s, c); }
D_ float F32_frexp(float x, int *e) { return frexpf(x, e); }
D_ float F32_modf(float x, float *i) { return modff(x, i); }
D_ float _slang_fmod(float a, float b) { return fmodf(a, b); }
D_ bool F32_isnan(float x) { return isnan(x); }
D_ bool F32_isinf(float x) { return isinf(x); }
D_ bool F32_isfinite(float x) { return isfinite(x); }
D_ uint F32_asuint(float x) { return __float_as_uint(x); }
D_ int F32_asint(float x) { return __float_as_int(x); }
D_ float U32_asfloat(uint x) { return __uint_as_float(x); }
D_ float I32_asfloat(int x) { return __int_as_float(x); }
D_ uint I32_asuint(int x) { return x; }
D_ int U32_asint(uint x) { return x; }
D_ uint U32_asuint(uint x) { return x; }
#define IN_(P, T, U, pc, lz, rb, fs)                 \
    D_ T P##_min(T a, T b) { return a < b ? a : b; } \
    D_ T P##_max(T a, T b) { return a > b ? a : b; } \
    D_ uint P##_countbits(T a) { return pc(a); }     \
    D_ T P##_reversebits(T a) { return (T)rb(a); }   \
    D_ int P##_firstbitlow(T a) { return fs(a) - 1; }
IN_(I32, int, uint, __popc, __clz, __brev, __ffs)
IN_(U32, uint, uint, __popc, __clz, __brev, __ffs)
IN_(I64, longlong, ulonglong, __popcll, __clzll, __brevll, __ffsll)
IN_(U64, ulonglong, ulonglong, __popcll, __clzll, __brevll, __ffsll)
D_ int I32_abs(int a) { return abs(a); }
D_ longlong I64_abs(longlong a) { return a < 0 ? -a : a; }
D_ uint U32_abs(uint a) { return a; }
D_ ulonglong U64_abs(ulonglong a) { return a; }
D_ int I32_sign(int a) { return (a > 0) - (a < 0); }
D_ int I64_sign(longlong a) { return (a > 0) - (a < 0); }
D_ int U32_firstbithigh(uint a) { return 31 - __clz(a); }
D_ int I32_firstbithigh(int a) { return 31 - __clz(a < 0 ? ~a : a); }
D_ int U64_firstbithigh(ulonglong a) { return 63 - __clzll(a); }
D_ int I64_firstbithigh(longlong a) { return 63 - __clzll(a < 0 ? ~a : a); }
#endif
#ifdef SPYI_MATH64
#define G1_(n, e, g) \
    D_ double F64_##n(double x) { return g; }
#define G2_(n, e, g) \
    D_ double F64_##n(double x, double y) { return g; }
FLIST_(G1_, G2_)
D_ double F64_fma(double a, double b, double c) { return fma(a, b, c); }
D_ int F64_sign(double x) { return (x > 0) - (x < 0); }
D_ void F64_sincos(double x, double *s, double *c) { sincos(x, s, c); }
D_ double F64_frexp(double x, int *e) { return frexp(x, e); }
D_ double F64_modf(double x, double *i) { return modf(x, i); }
D_ double _slang_fmod(double a, double b) { return fmod(a, b); }
D_ bool F64_isnan(double x) { return isnan(x); }
D_ bool F64_isinf(double x) { return isinf(x); }
D_ bool F64_isfinite(double x) { return isfinite(x); }
D_ void F64_asuint(double d, uint *lo, uint *hi) {
    *lo = (uint)__double2loint(d);
    *hi = (uint)__double2hiint(d);
}
D_ void F64_asint(double d, int *lo, int *hi) {
    *lo = __double2loint(d);
    *hi = __double2hiint(d);
}
D_ double U32_asdouble(uint lo, uint hi) { return __hiloint2double((int)hi, (int)lo); }
D_ double U64_asdouble(ulonglong u) { return __longlong_as_double((longlong)u); }
D_ ulonglong F64_asuint64(double d) { return (ulonglong)__double_as_longlong(d); }
#endif
#ifdef SPYI_BUF
template<class T> struct RWStructuredBuffer {
    T *data;
    size_t count;
    D_ T &operator[](size_t i) const { return data[i]; }
    D_ T &Load(size_t i) const { return data[i]; }
    template<class U> D_ U Load(size_t i) const { return *(const U *)((const char *)data + i); }
    template<class U> D_ void Store(size_t i, U v) const { *(U *)((char *)data + i) = v; }
    template<class U> D_ U *_getPtrAt(size_t i) const { return (U *)((char *)data + i); }
    D_ void GetDimensions(uint *n, uint *s) const {
        *n = (uint)count;
        *s = sizeof(T);
    }
    D_ void GetDimensions(uint &n, uint &s) const {
        n = (uint)count;
        s = sizeof(T);
    }
};
template<class T> struct StructuredBuffer : RWStructuredBuffer<T> {};
struct RWByteAddressBuffer {
    uint *data;
    size_t sizeInBytes;
    template<class T> D_ T Load(size_t i) const { return *(const T *)((const char *)data + i); }
    template<class T> D_ void Store(size_t i, T v) const { *(T *)((char *)data + i) = v; }
    D_ uint Load(size_t i) const { return Load<uint>(i); }
    template<class T> D_ T *_getPtrAt(size_t i) const { return (T *)((char *)data + i); }
    template<class T> D_ RWStructuredBuffer<T> asStructuredBuffer() const {
        return RWStructuredBuffer<T>{ (T *)data, sizeInBytes / sizeof(T) };
    }
    D_ void GetDimensions(uint *n) const { *n = (uint)sizeInBytes; }
};
struct ByteAddressBuffer : RWByteAddressBuffer {};
#endif
#ifdef SPYI_TENSOR
struct TensorView {
    uchar *data;
    uint strides[5];
    uint sizes[5];
    uint dimensionCount;
    template<class... I> D_ size_t at_(I... i) const {
        size_t o = 0;
        int k = 0;
        ((o += (size_t)strides[k++] * i), ...);
        return o;
    }
#ifdef SPYI_VEC
    D_ size_t at_(uint2 i) const { return at_(i.x, i.y); }
    D_ size_t at_(uint3 i) const { return at_(i.x, i.y, i.z); }
    D_ size_t at_(uint4 i) const { return at_(i.x, i.y, i.z, i.w); }
#endif
    template<class T, class... I> D_ T *data_ptr_at(I... i) const { return (T *)(data + at_(i...)); }
    template<class T> D_ T *data_ptr() const { return (T *)data; }
    template<class T, class... I> D_ T &load(I... i) const { return *data_ptr_at<T>(i...); }
    template<class T, class A> D_ void store(A a, T v) const { *data_ptr_at<T>(a) = v; }
    template<class T, class A> D_ void store(A a, A b, T v) const { *data_ptr_at<T>(a, b) = v; }
    template<class T, class A> D_ void store(A a, A b, A c, T v) const { *data_ptr_at<T>(a, b, c) = v; }
    template<class T, class A> D_ void store(A a, A b, A c, A d, T v) const {
        *data_ptr_at<T>(a, b, c, d) = v;
    }
    template<class T, class A> D_ void store(A a, A b, A c, A d, A e, T v) const {
        *data_ptr_at<T>(a, b, c, d, e) = v;
    }
};
#endif
template<class T> D_ void __slang_atomic_reduce_add(T *p, T v, int) { atomicAdd(p, v); }
#ifdef SPYI_WAVE
typedef uint WarpMask;
D_ uint _getLaneId() {
    uint r;
    asm("mov.u32 %0, %%laneid;" : "=r"(r));
    return r;
}
D_ uint _getLaneLtMask() {
    uint r;
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(r));
    return r;
}
template<class T> D_ T wsh_(uint m, T v, int lane) {
    if constexpr (VT_<T>::n > 0) {
        T r;
        for (int i = 0; i < VT_<T>::n; i++) (&r.x)[i] = __shfl_sync(m, (&v.x)[i], lane);
        return r;
    } else return __shfl_sync(m, v, lane);
}
struct WA_ {
    template<class T> D_ T operator()(T a, T b) const { return a + b; }
};
struct WP_ {
    template<class T> D_ T operator()(T a, T b) const { return a * b; }
};
template<class T> D_ T wmin_(T a, T b) {
    if constexpr (VT_<T>::n > 0) return _slang_select(b < a, b, a);
    else return b < a ? b : a;
}
struct WN_ {
    template<class T> D_ T operator()(T a, T b) const { return wmin_(a, b); }
};
struct WX_ {
    template<class T> D_ T operator()(T a, T b) const {
        if constexpr (VT_<T>::n > 0) return _slang_select(a < b, b, a);
        else return a < b ? b : a;
    }
};
struct WD_ {
    template<class T> D_ T operator()(T a, T b) const { return a & b; }
};
struct WO_ {
    template<class T> D_ T operator()(T a, T b) const { return a | b; }
};
struct WE_ {
    template<class T> D_ T operator()(T a, T b) const { return a ^ b; }
};
// A full warp adds in a butterfly; otherwise the loop walks the active lanes.
template<class F, class T> D_ T wred_(uint m, T v, F f) {
    if (m == ~0u) {
        for (int s = 16; s; s >>= 1) v = f(v, wsh_(m, v, (int)(_getLaneId() ^ s)));
        return v;
    }
    T r = wsh_(m, v, __ffs(m) - 1);
    for (uint q = m & (m - 1); q; q &= q - 1) r = f(r, wsh_(m, v, __ffs(q) - 1));
    return r;
}
template<class F, class T> D_ T wpre_(uint m, T v, T id, F f) {
    T r = id;
    uint q = m, me = _getLaneId();
    while (q) {
        int l = __ffs(q) - 1;
        T o = wsh_(m, v, l);
        if ((uint)l < me) r = f(r, o);
        q &= q - 1;
    }
    return r;
}
template<class T> D_ T wid_(int k) {
    if constexpr (VT_<T>::n > 0) {
        T r;
        for (int i = 0; i < VT_<T>::n; i++) (&r.x)[i] = (typename VT_<T>::e)k;
        return r;
    } else return (T)k;
}
#define WR_(n, F)                                                             \
    template<class T> D_ T _wave##n(uint m, T v) { return wred_(m, v, F()); } \
    template<class T> D_ T _wave##n##Multiple(uint m, T v) { return wred_(m, v, F()); }
WR_(Sum, WA_)
WR_(Product, WP_)
WR_(Min, WN_)
WR_(Max, WX_)
WR_(And, WD_)
WR_(Or, WO_)
WR_(Xor, WE_)
#define WQ_(n, F, k)                                                                            \
    template<class T> D_ T _wavePrefix##n(uint m, T v) { return wpre_(m, v, wid_<T>(k), F()); } \
    template<class T> D_ T _wavePrefix##n##Multiple(uint m, T v) { return wpre_(m, v, wid_<T>(k), F()); }
WQ_(Sum, WA_, 0)
WQ_(Product, WP_, 1)
WQ_(And, WD_, -1)
WQ_(Or, WO_, 0)
WQ_(Xor, WE_, 0)
template<class T> D_ T _waveReadFirst(uint m, T v) { return wsh_(m, v, __ffs(m) - 1); }
template<class T> D_ T _waveReadFirstMultiple(uint m, T v) { return wsh_(m, v, __ffs(m) - 1); }
template<class T> D_ T _waveShuffleMultiple(uint m, T v, int l) { return wsh_(m, v, l); }
template<class T> D_ bool _waveAllEqual(uint m, T v) {
    T f = wsh_(m, v, __ffs(m) - 1);
    return __all_sync(m, f == v);
}
#endif
#ifdef SPYI_TEX
// TX_<T> makes a T of a texel of four numbers of type b. Texels by coordinates without a filter have no built-in spelling. Textures
// need NVRTC without -minimal, because its own templates are the other tex and surf functions.
template<class T> struct TX_;
#define TX1_(T, B, ...)                                         \
    template<> struct TX_<T> {                                  \
        typedef B b;                                            \
        static D_ T of(const B *v) { return T{ __VA_ARGS__ }; } \
    };
#define TXB_(B, d, r)                                                                                              \
    TX1_(B, B, v[0])                                                                                               \
    TX1_(B##2, B, v[0], v[1])                                                                                      \
    TX1_(B##3, B, v[0], v[1], v[2])                                                                                \
    TX1_(B##4, B, v[0], v[1], v[2], v[3])                                                                          \
    D_ void tx1_(B *v, CUtexObject t, int x, int m) {                                                              \
        int w;                                                                                                     \
        asm("txq.width.b32 %0, [%1];" : "=r"(w) : "l"(t));                                                         \
        B##4 f = tex1DLod<B##4>(t, (x + 0.5f) / max(w >> m, 1), m);                                                \
        v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;                                                            \
    }                                                                                                              \
    D_ void tx2_(B *v, CUtexObject t, int x, int y, int m) {                                                       \
        asm("tex.level.2d.v4." d ".s32 {%0,%1,%2,%3}, [%4, {%5,%6}], %7;"                                          \
            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : "l"(t), "r"(x), "r"(y), "r"(m));                                \
    }                                                                                                              \
    D_ void tx3_(B *v, CUtexObject t, int x, int y, int z, int m) {                                                \
        asm("tex.level.3d.v4." d ".s32 {%0,%1,%2,%3}, [%4, {%5,%6,%7,%7}], %8;"                                    \
            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : "l"(t), "r"(x), "r"(y), "r"(z), "r"(m));                        \
    }                                                                                                              \
    D_ void tx1a_(B *v, CUtexObject t, int x, int l, int m) {                                                      \
        asm("tex.level.a1d.v4." d ".s32 {%0,%1,%2,%3}, [%4, {%5,%6}], %7;"                                         \
            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : "l"(t), "r"(l), "r"(x), "r"(m));                                \
    }                                                                                                              \
    D_ void tx2a_(B *v, CUtexObject t, int x, int y, int l, int m) {                                               \
        asm("tex.level.a2d.v4." d ".s32 {%0,%1,%2,%3}, [%4, {%5,%6,%7,%7}], %8;"                                   \
            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : "l"(t), "r"(l), "r"(x), "r"(y), "r"(m));                        \
    }
TXB_(float, "f32", "=f")
TXB_(int, "s32", "=r")
TXB_(uint, "u32", "=r")
#define TXF_(name, f, declared, ...)                              \
    template<class T> D_ T name(CUtexObject t, declared, int m) { \
        typename TX_<T>::b v[4];                                  \
        f(v, t, __VA_ARGS__);                                     \
        return TX_<T>::of(v);                                     \
    }
#define TXC_ ,
TXF_(tex1Dfetch_int, tx1_, int x, x, m) // tex.1d with whole numbers reads 0 from arrays, so a sampler reads the centre of the texel
TXF_(tex2Dfetch_int, tx2_, int x TXC_ int y, x, y, m)
TXF_(tex3Dfetch_int, tx3_, int x TXC_ int y TXC_ int z, x, y, z, m)
TXF_(tex1DArrayfetch_int, tx1a_, int x TXC_ int l, x, l, m)
TXF_(tex2DArrayfetch_int, tx2a_, int x TXC_ int y TXC_ int l, x, y, l, m)
#endif
#ifdef SPYI_GLOBALS
// Slang reads fields of __constant__ SLANG_globalParams through __ldg: turn those into constant-bank loads
// (NVRTC 13.5's assembler rejects the original).
template<class T> D_ T spyi_ldg(const T *p) {
    if (__isConstant(p)) return *p;
    return __ldg(p);
}
#define __ldg spyi_ldg
#endif
