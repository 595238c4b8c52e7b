// slangpy_cuda.h: the CUDA backend of slangpy.h.
// Generated from src/ by tools/amalgamate; do not edit. Every `>>` line names the file that follows.
// MIT license; its text is at the end of this file.

#include "slangpy.h"

#if SPY_VERSION != 100
#error "slangpy_cuda.h is of release 0.1.0 and slangpy.h of another one: copy both from the same release"
#endif

#ifndef SLANGPY_CUDA_H
#define SLANGPY_CUDA_H

// >>api/cuda.h ----------------------------------------------------------------------------------------------

// The CUDA backend, and functions for programs that bring their own CUDA context, stream and device memory.
// No CUDA header is needed: the caller casts CUcontext and CUstream to void *, and CUdeviceptr to uint64_t.
//
// At run time no CUDA toolkit is needed, only the driver (libcuda.so.1, nvcuda.dll) and NVRTC, which compiles
// kernels for the device's exact architecture. Both are opened when they are first used.

#ifdef __cplusplus
extern "C" {
#endif

// Returns the backend for spy_device_desc.backend. It needs a driver of CUDA 11.4 or later, and a device of
// compute capability 5.0 or later (7.5 with NVRTC 13). Slang's wave functions assume that lanes are numbered
// by threadIdx.x: kernels that use them need groups whose x is a multiple of 32, or whose y and z are 1.
// Threads: any.
SPY_API const spy_backend *spy_cuda_backend(void);

// CUDA's handles of its two default streams. They are constants, not pointers to objects.
#define SPY_CUDA_STREAM_LEGACY ((void *)(uintptr_t)1)
#define SPY_CUDA_STREAM_PER_THREAD ((void *)(uintptr_t)2)

// The type of spy_device_desc.backend_desc on CUDA. All zero means that the device uses the adapter's primary
// context, which the CUDA runtime and torch use too, and creates a stream of its own.
typedef struct spy_cuda_desc {
    void *context;              // CUcontext, which must outlive the device and determines the adapter; NULL
                                // means the primary context
    void *stream;               // CUstream of that context, which must stay valid until the device is
                                // released or given another stream by spy_cuda_set_stream(); NULL means that
                                // the device creates one
    const char *nvrtc_library;  // the path of NVRTC, e.g. of libnvrtc.so.13; NULL means the environment
                                // variable SLANGPY_NVRTC_LIBRARY or, without it, a search
    const char *driver_library; // the path of the driver's library; NULL means that the system's search finds
                                // it
    // launch each kernel by cuLaunchKernel, so that profilers list it by name. false means that a kernel that
    // is launched repeatedly becomes a CUDA graph of one node, whose launch takes half the time, unless the
    // environment has CUDA_LAUNCH_BLOCKING=1
    bool direct_launches;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_cuda_desc;

// Sends all further work to `stream` (CUstream), where it begins after all earlier work of the device. NULL
// means the device's own stream. SPY_ERROR_INVALID_ARGUMENT for a stream of another context. Threads: any.
//
// A stream of the program may be captured into a CUDA graph (cuStreamBeginCapture), before it is set here or
// while work goes to it. Calls, dispatches, copies, fills, uploads and command lists then become nodes of the
// graph, and run when the program launches it. Before that, spy_cuda_set_stream() waits on the host for the
// device's earlier work, because a graph cannot. What captured work uses, also memory of tensors that are
// released, is kept until the device is released, and the graph must not be launched after that. Tensors that
// the graph uses must not be given other sizes or memory. While the stream is being captured, waits, reads,
// results in host memory and GPU times fail with SPY_ERROR_UNSUPPORTED. Work that was in the stream before the
// capture should be marked by spy_flush(): without that, spy_cuda_set_stream() fails during the capture.
SPY_API spy_status spy_cuda_set_stream(spy_device *device, void *stream);
// Order the device's work and the work of a stream that other code uses; the host does not wait. After
// spy_cuda_wait_stream(), further work of the device begins when all work that `stream` has so far is done.
// After spy_cuda_signal_stream(), further work of `stream` begins when all work that the device has so far is
// done. NULL, errors and threads as for spy_cuda_set_stream(). Where only the stream that shall wait is being
// captured, the host waits in its place; where only the other one is, the result is SPY_ERROR_UNSUPPORTED.
SPY_API spy_status spy_cuda_wait_stream(spy_device *device, void *stream);
SPY_API spy_status spy_cuda_signal_stream(spy_device *device, void *stream);
// Return the stream that the device's work goes to now (CUstream), and the device's context (CUcontext). NULL
// with an error when the device is not a CUDA device. Threads: any.
SPY_API void *spy_cuda_get_stream(spy_device *device);
SPY_API void *spy_cuda_get_context(spy_device *device);
// Returns the adapter's number for spy_device_desc.adapter: CUdevice + 1. 0 with an error when the device is
// not a CUDA device. Threads: any.
SPY_API uint32_t spy_cuda_get_adapter(spy_device *device);
// Makes the device's context current on this thread, for the program's own use of CUDA. All other functions
// leave a thread's current context unchanged, but a thread without one gets the device's. Threads: any.
SPY_API spy_status spy_cuda_make_current(spy_device *device);

// spy_cuda_get_current_context() sets *context to the context that is current on this thread (for
// spy_cuda_desc.context), or to NULL, and *adapter to its adapter's number (for spy_device_desc.adapter), or
// to 0. Either pointer may be NULL. spy_cuda_set_current_context() makes `context` current on this thread, as
// cuCtxSetCurrent does; with NULL the thread has no current context afterwards. Both use the driver that the
// system's search finds. SPY_ERROR_NO_DEVICE without a driver, SPY_ERROR_INVALID_ARGUMENT when `context` is
// not a context; spy_take_error(NULL) has the text. Threads: any.
SPY_API spy_status spy_cuda_get_current_context(void **context, uint32_t *adapter);
SPY_API spy_status spy_cuda_set_current_context(void *context);

// Creates a tensor over the program's own device memory: `size_bytes` bytes from `address` (CUdeviceptr) on.
// desc->data must be NULL. The memory must outlive the tensor and all calls with it. The caller releases the
// tensor. Returns NULL on failure; SPY_ERROR_INVALID_ARGUMENT for memory of another device, or memory that is
// not CUDA's. Threads: any. spy_tensor_address() is the reverse: it returns a tensor's address.
SPY_API spy_tensor *spy_cuda_create_tensor(spy_device *device, uint64_t address, uint64_t size_bytes,
                                           const spy_tensor_desc *desc);

// A CUDA context of the program, such as torch's, that uses memory and semaphores of another API, such as
// those of spy_vk_create_shared_memory() and spy_vk_create_shared_semaphore(). It is no device of the library.
typedef struct spy_cuda_peer spy_cuda_peer;

// Memory of another API in a CUDA context.
typedef struct spy_cuda_imported_memory {
    void *memory;     // CUexternalMemory
    uint64_t address; // CUdeviceptr of the first byte
} spy_cuda_imported_memory;

// Uses `context` (CUcontext), or this thread's current context if it is NULL. driver_library is that of
// spy_cuda_desc. uuid, which may be NULL, gets the UUID of the context's GPU: only memory of the same GPU can
// be imported (spy_vk_sharing.device_uuid). NULL on failure; spy_take_error(NULL) has the text, here and below.
// The caller closes the peer, after it has released what the peer imported. Threads: any.
SPY_API spy_cuda_peer *spy_cuda_open_peer(void *context, const char *driver_library, uint8_t uuid[16]);
SPY_API void spy_cuda_close_peer(spy_cuda_peer *peer);
// Maps the first `size_bytes` bytes of memory with a file descriptor, which then belongs to CUDA, also when
// only the mapping fails. The other arguments are members of spy_vk_shared_memory. The memory must outlive the
// import. Threads: any.
SPY_API spy_status spy_cuda_import_memory(spy_cuda_peer *peer, int fd, uint64_t allocated_bytes,
                                          uint64_t size_bytes, spy_cuda_imported_memory *imported);
// Removes the mapping. No work may still use it. Sets the struct to zero. Threads: any.
SPY_API spy_status spy_cuda_release_memory(spy_cuda_peer *peer, spy_cuda_imported_memory *imported);
// Imports a timeline semaphore by its file descriptor, which on success belongs to CUDA, and sets *semaphore
// to the CUexternalSemaphore. Threads: any.
SPY_API spy_status spy_cuda_import_semaphore(spy_cuda_peer *peer, int fd, void **semaphore);
SPY_API spy_status spy_cuda_release_semaphore(spy_cuda_peer *peer, void *semaphore);
// After what `stream` (CUstream) has so far, sets the semaphore to `value`, or lets the further work of the
// stream begin when it has reached `value`. The host does not wait. Threads: any.
SPY_API spy_status spy_cuda_signal_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value,
                                             void *stream);
SPY_API spy_status spy_cuda_wait_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value,
                                           void *stream);

#ifdef __cplusplus
}
#endif

#endif // SLANGPY_CUDA_H

#if defined(SLANGPY_IMPLEMENTATION) && !defined(SLANGPY_CUDA_IMPLEMENTED)
#define SLANGPY_CUDA_IMPLEMENTED

#ifndef SPYI_SINGLE_HEADER
#error "the implementation of slangpy_cuda.h uses that of slangpy.h, which was not compiled in this file: define SLANGPY_IMPLEMENTATION before the first include of either"
#endif

#include <stddef.h>

// >>cuda/prelude.cuh ----------------------------------------------------------------------------------------

static const char *const spyi_text_prelude[] = {
    "\n"
    "\n"
    "\n"
    "\n"
    "\n"
    "#define D_ __device__ __forceinline__\n"
    "typedef unsigned char uchar;\n"
    "typedef unsigned short ushort;\n"
    "typedef unsigned int uint;\n"
    "typedef long long longlong;\n"
    "typedef unsigned long long ulonglong;\n"
    "typedef signed char int8_t;\n"
    "typedef short int16_t;\n"
    "typedef int int32_t;\n"
    "typedef long long int64_t;\n"
    "typedef long long intptr_t;\n"
    "typedef uchar uint8_t;\n"
    "typedef ushort uint16_t;\n"
    "typedef uint uint32_t;\n"
    "typedef ulonglong uint64_t;\n"
    "typedef ulonglong uintptr_t;\n"
    "typedef ulonglong CUtexObject;\n"
    "#ifndef SPYI_SURFACE\n"
    "typedef ulonglong CUsurfObject;\n"
    "#else\n"
    "\n"
    "\n"
    "struct sold_ {\n"
    "    template<class T> D_ operator T() const {\n"
    "        T v;\n"
    "        asm(\"cuda_has_no_old_values_of_atomics_on_textures %0;\" : \"=r\"(v)); // removed where nothing uses v\n"
    "        return v;\n"
    "    }\n"
    "};\n"
    "struct sat_ {\n"
    "    ulonglong s;\n"
    "    uint2 p;\n"
    "    bool line;\n"
    "};\n"
    "struct CUsurfObject {\n"
    "    ulonglong s;\n"
    "    D_ operator ulonglong() const { return s; }\n"
    "    D_ sat_ operator[](uint x) const { return sat_{ s, uint2{ x, 0 }, true }; }\n"
    "    D_ sat_ operator[](uint2 p) const { return sat_{ s, p, false }; }\n"
    "};\n"
    "#define SUR_(name, op, type, T)                                                                                \\\n"
    "    D_ sold_ name(sat_ a, T v) {                                                                               \\\n"
    "        if (a.line)                                                                                            \\\n"
    "            asm volatile(\"sured.b.\" op \".1d.\" type \".zero [%0, {%1}], %2;\" ::\"l\"(a.s), \"r\"(4 * a.p.x), \"r\"(v)  \\\n"
    "                         : \"memory\");                                                                          \\\n"
    "        else                                                                                                   \\\n"
    "            asm volatile(\"sured.b.\" op \".2d.\" type \".zero [%0, {%1, %2}], %3;\" ::\"l\"(a.s), \"r\"(4 * a.p.x),     \\\n"
    "                         \"r\"(a.p.y), \"r\"(v)                                                                    \\\n"
    "                         : \"memory\");                                                                          \\\n"
    "        return sold_();                                                                                        \\\n"
    "    }\n"
    "#define SURS_(name, op, i, u) SUR_(name, op, i, int) SUR_(name, op, u, uint)\n"
    "SURS_(atomicAdd, \"add\", \"s32\", \"u32\")\n"
    "SURS_(atomicMin, \"min\", \"s32\", \"u32\")\n"
    "SURS_(atomicMax, \"max\", \"s32\", \"u32\")\n"
    "SURS_(atomicAnd, \"and\", \"b32\", \"b32\")\n"
    "SURS_(atomicOr, \"or\", \"b32\", \"b32\")\n"
    "#endif\n"
    "struct SamplerTag_;\n"
    "typedef SamplerTag_ *SamplerState;\n"
    "typedef size_t NonUniformResourceIndex;\n"
    "#define SLANG_PRELUDE_EXPORT\n"
    "#define SLANG_CUDA_BOUNDARY_MODE cudaBoundaryModeZero\n"
    "#define SLANG_INFINITY __int_as_float(0x7f800000)\n"
    "template<class T, size_t N> struct FixedArray {\n"
    "    T m_data[N];\n"
    "    D_ T &operator[](size_t i) { return m_data[i]; }\n"
    "    D_ const T &operator[](size_t i) const { return m_data[i]; }\n"
    "};\n"
    "template<class T> struct Array {\n"
    "    T *data;\n"
    "    size_t count;\n"
    "    D_ T &operator[](size_t i) const { return data[i]; }\n"
    "};\n"
    "template<class A, class B> D_ A slang_bit_cast(B b) {\n"
    "    static_assert(sizeof(A) == sizeof(B), \"size\");\n"
    "    union U {\n"
    "        B b;\n"
    "        A a;\n"
    "        D_ U() {}\n"
    "    } u;\n"
    "    u.b = b;\n"
    "    return u.a;\n"
    "}\n"
    "template<class T> D_ T *_slang_addr(T &t) { return &t; }\n"
    "\n"
    "D_ uint3 operator*(uint3 a, dim3 b) { return uint3{a.x * b.x, a.y * b.y, a.z * b.z}; }\n"
    "#ifndef SPYI_VEC\n"
    "D_ uint3 operator+(uint3 a, uint3 b) { return uint3{a.x + b.x, a.y + b.y, a.z + b.z}; }\n"
    "#else\n"
    "struct __align__(1) bool1 {\n"
    "    bool x;\n"
    "};\n"
    "struct __align__(2) bool2 {\n"
    "    bool x, y;\n"
    "};\n"
    "struct __align__(1) bool3 {\n"
    "    bool x, y, z;\n"
    "};\n"
    "struct __align__(4) bool4 {\n"
    "    bool x, y, z, w;\n"
    "};\n"
    "#ifdef SPYI_HALF\n"
    "\n"
    "\n"
    "struct __half {\n"
    "    ushort u;\n"
    "    __half() = default;\n"
    "    D_ __half(float f) { asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(u) : \"f\"(f)); }\n"
    "    D_ __half(double f) { asm(\"cvt.rn.f16.f64 %0, %1;\" : \"=h\"(u) : \"d\"(f)); }\n"
    "    D_ __half(int i) : __half((float)i) {}\n"
    "    D_ __half(uint i) : __half((float)i) {}",
    "    D_ __half(longlong i) : __half((float)i) {}\n"
    "    D_ __half(ulonglong i) : __half((float)i) {}\n"
    "    D_ __half(short i) : __half((float)i) {}\n"
    "    D_ __half(ushort i) : __half((float)i) {}\n"
    "    D_ __half(bool b) : __half(b ? 1.f : 0.f) {}\n"
    "    D_ operator float() const {\n"
    "        float f;\n"
    "        asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(f) : \"h\"(u));\n"
    "        return f;\n"
    "    }\n"
    "};\n"
    "typedef __half half;\n"
    "#define HB_(op, ins)                                                  \\\n"
    "    D_ __half operator op(__half a, __half b) {                       \\\n"
    "        __half r;                                                     \\\n"
    "        asm(ins \".f16 %0, %1, %2;\" : \"=h\"(r.u) : \"h\"(a.u), \"h\"(b.u)); \\\n"
    "        return r;                                                     \\\n"
    "    }                                                                 \\\n"
    "    D_ __half &operator op##=(__half &a, __half b) { return a = a op b; }\n"
    "HB_(+, \"add\")\n"
    "HB_(-, \"sub\")\n"
    "HB_(*, \"mul\")\n"
    "D_ __half operator/(__half a, __half b) { return __half((float)a / (float)b); }\n"
    "D_ __half operator-(__half a) {\n"
    "    a.u ^= 0x8000;\n"
    "    return a;\n"
    "}\n"
    "#define HC_(op) \\\n"
    "    D_ bool operator op(__half a, __half b) { return (float)a op(float) b; }\n"
    "HC_(<)\n"
    "HC_(>)\n"
    "HC_(<=)\n"
    "HC_(>=)\n"
    "HC_(==)\n"
    "HC_(!=)\n"
    "struct __half1 {\n"
    "    __half x;\n"
    "};\n"
    "struct __align__(4) __half2 {\n"
    "    __half x, y;\n"
    "};\n"
    "struct __align__(4) __half3 {\n"
    "    __half x, y, z;\n"
    "};\n"
    "struct __align__(4) __half4 {\n"
    "    __half x, y, z, w;\n"
    "};\n"
    "D_ __half2 make___half2(__half x, __half y) { return {x, y}; }\n"
    "D_ __half3 make___half3(__half x, __half y, __half z) { return {x, y, z}; }\n"
    "D_ __half4 make___half4(__half x, __half y, __half z, __half w) { return {x, y, z, w}; }\n"
    "#define H2_(op, ins)                                                       \\\n"
    "    D_ __half2 operator op(__half2 a, __half2 b) {                         \\\n"
    "        uint r;                                                            \\\n"
    "        asm(ins \".f16x2 %0, %1, %2;\"                                       \\\n"
    "            : \"=r\"(r)                                                      \\\n"
    "            : \"r\"(slang_bit_cast<uint>(a)), \"r\"(slang_bit_cast<uint>(b))); \\\n"
    "        return slang_bit_cast<__half2>(r);                                 \\\n"
    "    }\n"
    "H2_(+, \"add\")\n"
    "H2_(-, \"sub\")\n"
    "H2_(*, \"mul\")\n"
    "D_ float __half2float(__half h) { return h; }\n"
    "D_ __half __float2half(float f) { return __half(f); }\n"
    "D_ __half __ushort_as_half(ushort u) {\n"
    "    __half h;\n"
    "    h.u = u;\n"
    "    return h;\n"
    "}\n"
    "D_ ushort __half_as_ushort(__half h) { return h.u; }\n"
    "D_ __half __ldg(const __half *p) { return __ushort_as_half(__ldg((const ushort *)p)); }\n"
    "D_ __half2 __ldg(const __half2 *p) { return slang_bit_cast<__half2>(__ldg((const uint *)p)); }\n"
    "D_ __half4 __ldg(const __half4 *p) { return __half4{__ldg(&p->x), __ldg(&p->y), __ldg(&p->z), __ldg(&p->w)}; }\n"
    "#define H1_(n, e)                 \\\n"
    "    D_ __half F16_##n(__half h) { \\\n"
    "        float x = h;              \\\n"
    "        return __half(e);         \\\n"
    "    }\n"
    "H1_(sin, sinf(x))\n"
    "H1_(cos, cosf(x))\n"
    "H1_(tan, tanf(x))\n"
    "H1_(asin, asinf(x))\n"
    "H1_(acos, acosf(x))\n"
    "H1_(atan, atanf(x))\n"
    "H1_(sinh, sinhf(x))\n"
    "H1_(cosh, coshf(x))\n"
    "H1_(tanh, tanhf(x))\n"
    "H1_(asinh, asinhf(x))\n"
    "H1_(acosh, acoshf(x))\n"
    "H1_(atanh, atanhf(x))\n"
    "H1_(exp10, exp10f(x))\n"
    "H1_(rint, rintf(x))\n"
    "H1_(exp, expf(x))\n"
    "H1_(exp2, exp2f(x))\n"
    "H1_(log, logf(x))\n"
    "H1_(log2, log2f(x))\n"
    "H1_(log10, log10f(x))\n"
    "H1_(sqrt, sqrtf(x))\n"
    "H1_(rsqrt, rsqrtf(x))\n"
    "H1_(floor, floorf(x))\n"
    "H1_(ceil, ceilf(x))\n"
    "H1_(round, roundf(x))\n"
    "H1_(trunc, truncf(x))\n"
    "H1_(frac, x - floorf(x))\n"
    "D_ __half F16_abs(__half h) {\n"
    "    h.u &= 0x7fff;\n"
    "    return h;\n"
    "}\n"
    "D_ __half F16_min(__half a, __half b) { return fminf(a, b); }\n"
    "D_ __half F16_max(__half a, __half b) { return fmaxf(a, b); }\n"
    "D_ __half F16_pow(__half a, __half b) { return powf(a, b); }\n"
    "D_ __half F16_fmod(__half a, __half b) { return fmodf(a, b); }\n"
    "D_ __half F16_atan2(__half a, __half b) { return atan2f(a, b); }\n"
    "D_ __half F16_fma(__half a, __half b, __half c) {\n"
    "    __half r;\n"
    "    asm(\"fma.rn.f16 %0, %1, %2, %3;\" : \"=h\"(r.u) : \"h\"(a.u), \"h\"(b.u), \"h\"(c.u));\n"
    "    return r;\n"
    "}",
    "D_ bool F16_isnan(__half h) { return (h.u & 0x7fff) > 0x7c00; }\n"
    "D_ bool F16_isinf(__half h) { return (h.u & 0x7fff) == 0x7c00; }\n"
    "D_ bool F16_isfinite(__half h) { return (h.u & 0x7c00) != 0x7c00; }\n"
    "D_ int F16_sign(__half h) {\n"
    "    float x = h;\n"
    "    return (x > 0) - (x < 0);\n"
    "}\n"
    "D_ ushort F16_asuint(__half h) { return h.u; }\n"
    "D_ short F16_asint(__half h) { return (short)h.u; }\n"
    "D_ __half U16_asfloat(ushort u) { return __ushort_as_half(u); }\n"
    "D_ __half I16_asfloat(short u) { return __ushort_as_half((ushort)u); }\n"
    "#endif\n"
    "\n"
    "\n"
    "template<class V> struct VT_ { static const int n = 0; };\n"
    "template<class T, int N> struct VN_;\n"
    "template<int N> struct VB_;\n"
    "template<> struct VB_<2> { typedef bool2 t; };\n"
    "template<> struct VB_<3> { typedef bool3 t; };\n"
    "template<> struct VB_<4> { typedef bool4 t; };\n"
    "#define VD_(V, T, N)            \\\n"
    "    template<> struct VT_<V> {  \\\n"
    "        static const int n = N; \\\n"
    "        typedef T e;            \\\n"
    "        typedef VB_<N>::t b;    \\\n"
    "        typedef V v;            \\\n"
    "    };                          \\\n"
    "    template<> struct VN_<T, N> { typedef V t; };\n"
    "#define VS_(S, T)                                          \\\n"
    "    VD_(S##2, T, 2)                                        \\\n"
    "    VD_(S##3, T, 3)                                        \\\n"
    "    VD_(S##4, T, 4)                                        \\\n"
    "    template<> struct VN_<T, 1> { typedef S##1 t; };       \\\n"
    "    D_ S##2 make_##S##2(T s) { return S##2 {s, s}; }       \\\n"
    "    D_ S##3 make_##S##3(T s) { return S##3 {s, s, s}; }    \\\n"
    "    D_ S##4 make_##S##4(T s) { return S##4 {s, s, s, s}; } \\\n"
    "    D_ S##2 make_##S##2(S##2 v) { return v; }              \\\n"
    "    D_ S##3 make_##S##3(S##3 v) { return v; }              \\\n"
    "    D_ S##4 make_##S##4(S##4 v) { return v; }\n"
    "D_ bool2 make_bool2(bool x, bool y) { return {x, y}; }\n"
    "D_ bool3 make_bool3(bool x, bool y, bool z) { return {x, y, z}; }\n"
    "D_ bool4 make_bool4(bool x, bool y, bool z, bool w) { return {x, y, z, w}; }\n"
    "VS_(float, float)\n"
    "VS_(int, int)\n"
    "VS_(uint, uint)\n"
    "VS_(bool, bool)\n"
    "#ifdef SPYI_ODDVEC\n"
    "VS_(double, double)\n"
    "VS_(short, short)\n"
    "VS_(ushort, ushort)\n"
    "VS_(char, char)\n"
    "VS_(uchar, uchar)\n"
    "VS_(longlong, longlong)\n"
    "VS_(ulonglong, ulonglong)\n"
    "#endif\n"
    "#ifdef SPYI_HALF\n"
    "VS_(__half, __half)\n"
    "#endif\n"
    "template<bool B, class T> struct EN_ {};\n"
    "template<class T> struct EN_<true, T> { typedef T t; };\n"
    "#define VEC_(R) template<class V> D_ typename EN_<(VT_<V>::n > 0), R>::t\n"
    "#define VB2_(op)                                       \\\n"
    "    VEC_(V) operator op(V a, V b) {                    \\\n"
    "        V r;                                           \\\n"
    "        r.x = a.x op b.x;                              \\\n"
    "        r.y = a.y op b.y;                              \\\n"
    "        if constexpr (VT_<V>::n > 2) r.z = a.z op b.z; \\\n"
    "        if constexpr (VT_<V>::n > 3) r.w = a.w op b.w; \\\n"
    "        return r;                                      \\\n"
    "    }\n"
    "VB2_(+)\n"
    "VB2_(-)\n"
    "VB2_(*)\n"
    "VB2_(/)\n"
    "VB2_(&)\n"
    "VB2_(|)\n"
    "VB2_(^)\n"
    "template<class T> D_ T rem_(T a, T b) { return a % b; }\n"
    "D_ float rem_(float a, float b) { return fmodf(a, b); }\n"
    "D_ double rem_(double a, double b) { return fmod(a, b); }\n"
    "VEC_(V) operator%(V a, V b) {\n"
    "    V r;\n"
    "    r.x = rem_(a.x, b.x);\n"
    "    r.y = rem_(a.y, b.y);\n"
    "    if constexpr (VT_<V>::n > 2) r.z = rem_(a.z, b.z);\n"
    "    if constexpr (VT_<V>::n > 3) r.w = rem_(a.w, b.w);\n"
    "    return r;\n"
    "}\n"
    "#define VSH_(op)                                                                             \\\n"
    "    template<class V, class U>                                                               \\\n"
    "    D_ typename EN_<(VT_<V>::n > 0 && VT_<V>::n == VT_<U>::n), V>::t operator op(V a, U b) { \\\n"
    "        V r;                                                                                 \\\n"
    "        r.x = a.x op b.x;                                                                    \\\n"
    "        r.y = a.y op b.y;                                                                    \\\n"
    "        if constexpr (VT_<V>::n > 2) r.z = a.z op b.z;                                       \\",
    "        if constexpr (VT_<V>::n > 3) r.w = a.w op b.w;                                       \\\n"
    "        return r;                                                                            \\\n"
    "    }                                                                                        \\\n"
    "    template<class V> D_ typename EN_<(VT_<V>::n > 0), V>::t operator op(V a, int s) {       \\\n"
    "        V r;                                                                                 \\\n"
    "        r.x = a.x op s;                                                                      \\\n"
    "        r.y = a.y op s;                                                                      \\\n"
    "        if constexpr (VT_<V>::n > 2) r.z = a.z op s;                                         \\\n"
    "        if constexpr (VT_<V>::n > 3) r.w = a.w op s;                                         \\\n"
    "        return r;                                                                            \\\n"
    "    }\n"
    "VSH_(<<)\n"
    "VSH_(>>)\n"
    "#define VCM_(op)                                       \\\n"
    "    VEC_(typename VT_<V>::b) operator op(V a, V b) {   \\\n"
    "        typename VT_<V>::b r;                          \\\n"
    "        r.x = a.x op b.x;                              \\\n"
    "        r.y = a.y op b.y;                              \\\n"
    "        if constexpr (VT_<V>::n > 2) r.z = a.z op b.z; \\\n"
    "        if constexpr (VT_<V>::n > 3) r.w = a.w op b.w; \\\n"
    "        return r;                                      \\\n"
    "    }\n"
    "VCM_(<)\n"
    "VCM_(>)\n"
    "VCM_(<=)\n"
    "VCM_(>=)\n"
    "VCM_(==)\n"
    "VCM_(!=)\n"
    "VCM_(&&)\n"
    "VCM_(||)\n"
    "#define VU_(op, R)                                 \\\n"
    "    VEC_(R) operator op(V a) {                     \\\n"
    "        R r;                                       \\\n"
    "        r.x = op a.x;                              \\\n"
    "        r.y = op a.y;                              \\\n"
    "        if constexpr (VT_<V>::n > 2) r.z = op a.z; \\\n"
    "        if constexpr (VT_<V>::n > 3) r.w = op a.w; \\\n"
    "        return r;                                  \\\n"
    "    }\n"
    "VU_(-, V)\n"
    "VU_(~, V)\n"
    "VU_(!, typename VT_<V>::b)\n"
    "template<class V> D_ auto _slang_vector_get_element(V v, int i) -> decltype(v.x) { return (&v.x)[i]; }\n"
    "template<class V> D_ auto _slang_vector_get_element_ptr(V *v, int i) { return &v->x + i; }\n"
    "template<class V> D_ auto _slang_vector_get_element_ptr(const V *v, int i) {\n"
    "    return (decltype(((V *)v)->x) *)&v->x + i;\n"
    "}\n"
    "template<class T> D_ T _slang_select(bool c, T a, T b) { return c ? a : b; }\n"
    "template<class V> D_ V _slang_select(typename VT_<V>::b c, V a, V b) {\n"
    "    V r;\n"
    "    r.x = c.x ? a.x : b.x;\n"
    "    r.y = c.y ? a.y : b.y;\n"
    "    if constexpr (VT_<V>::n > 2) r.z = c.z ? a.z : b.z;\n"
    "    if constexpr (VT_<V>::n > 3) r.w = c.w ? a.w : b.w;\n"
    "    return r;\n"
    "}\n"
    "D_ bool __ldg(const bool *p) { return __ldg((const uchar *)p) != 0; }\n"
    "#endif\n"
    "#ifdef SPYI_MAT\n"
    "template<class T, int R, int C> struct Matrix {\n"
    "    typedef typename VN_<T, C>::t row;\n"
    "    row rows[R];\n"
    "    D_ row &operator[](size_t i) { return rows[i]; }\n"
    "    D_ const row &operator[](size_t i) const { return rows[i]; }\n"
    "};\n"
    "template<class T, int R, int C> D_ Matrix<T, R, C> makeMatrix(T s) {\n"
    "    Matrix<T, R, C> m;\n"
    "    for (int i = 0; i < R; i++)\n"
    "        for (int j = 0; j < C; j++) (&m.rows[i].x)[j] = s;\n"
    "    return m;\n"
    "}\n"
    "template<class T, int R, int C, class... A> D_ Matrix<T, R, C> makeMatrix(T a, T b, A... r) {\n"
    "    T v[] = {a, b, (T)r...};\n"
    "    Matrix<T, R, C> m;\n"
    "    for (int i = 0; i < R; i++)\n"
    "        for (int j = 0; j < C; j++) (&m.rows[i].x)[j] = v[i * C + j];\n"
    "    return m;\n"
    "}\n"
    "template<class T, int R, int C, class... A> D_ Matrix<T, R, C> makeMatrix(typename VN_<T, C>::t a, A... r) {\n"
    "    return Matrix<T, R, C>{{a, r...}};\n"
    "}\n"
    "template<class T, int R, int C, class U, int R2, int C2>\n"
    "D_ Matrix<T, R, C> makeMatrix(const Matrix<U, R2, C2> &o) {\n"
    "    Matrix<T, R, C> m;\n"
    "    for (int i = 0; i < R; i++)\n"
    "        for (int j = 0; j < C; j++)\n"
    "            (&m.rows[i].x)[j] = i < R2 && j < C2 ? (T)(&o.rows[i < R2 ? i : 0].x)[j < C2 ? j : 0] : (T)0;\n"
    "    return m;\n"
    "}",
    "#define MB_(op)                                                                                            \\\n"
    "    template<class T, int R, int C> D_ Matrix<T, R, C> operator op(Matrix<T, R, C> a, Matrix<T, R, C> b) { \\\n"
    "        Matrix<T, R, C> m;                                                                                 \\\n"
    "        for (int i = 0; i < R; i++) m.rows[i] = a.rows[i] op b.rows[i];                                    \\\n"
    "        return m;                                                                                          \\\n"
    "    }\n"
    "MB_(+)\n"
    "MB_(-)\n"
    "MB_(*)\n"
    "MB_(/)\n"
    "MB_(&)\n"
    "MB_(|)\n"
    "MB_(^)\n"
    "MB_(%)\n"
    "#define MC_(op)                                                               \\\n"
    "    template<class T, int R, int C>                                           \\\n"
    "    D_ Matrix<bool, R, C> operator op(Matrix<T, R, C> a, Matrix<T, R, C> b) { \\\n"
    "        Matrix<bool, R, C> m;                                                 \\\n"
    "        for (int i = 0; i < R; i++) m.rows[i] = a.rows[i] op b.rows[i];       \\\n"
    "        return m;                                                             \\\n"
    "    }\n"
    "MC_(<)\n"
    "MC_(>)\n"
    "MC_(<=)\n"
    "MC_(>=)\n"
    "MC_(==)\n"
    "MC_(!=)\n"
    "MC_(&&)\n"
    "MC_(||)\n"
    "#define MU_(op, T2)                                                                      \\\n"
    "    template<class T, int R, int C> D_ Matrix<T2, R, C> operator op(Matrix<T, R, C> a) { \\\n"
    "        Matrix<T2, R, C> m;                                                              \\\n"
    "        for (int i = 0; i < R; i++) m.rows[i] = op a.rows[i];                            \\\n"
    "        return m;                                                                        \\\n"
    "    }\n"
    "MU_(-, T)\n"
    "MU_(~, T)\n"
    "MU_(!, bool)\n"
    "template<class T, int R, int C>\n"
    "D_ Matrix<T, R, C> _slang_select(Matrix<bool, R, C> c, Matrix<T, R, C> a, Matrix<T, R, C> b) {\n"
    "    Matrix<T, R, C> m;\n"
    "    for (int i = 0; i < R; i++) m.rows[i] = _slang_select(c.rows[i], a.rows[i], b.rows[i]);\n"
    "    return m;\n"
    "}\n"
    "#endif\n"
    "#ifdef SPYI_MATH\n"
    "#define F1_(n, e, g) \\\n"
    "    D_ float F32_##n(float x) { return e; }\n"
    "#define F2_(n, e, g) \\\n"
    "    D_ float F32_##n(float x, float y) { return e; }\n"
    "#define FLIST_(A, B)                                                                                        \\\n"
    "    A(sin, sinf(x), sin(x))                                                                                 \\\n"
    "    A(cos, cosf(x), cos(x)) A(tan, tanf(x), tan(x)) A(asin, asinf(x), asin(x)) A(acos, acosf(x), acos(x))   \\\n"
    "        A(atan, atanf(x), atan(x)) A(sinh, sinhf(x), sinh(x)) A(cosh, coshf(x), cosh(x))                    \\\n"
    "            A(tanh, tanhf(x), tanh(x)) A(asinh, asinhf(x), asinh(x)) A(acosh, acoshf(x), acosh(x)) A(       \\\n"
    "                atanh, atanhf(x), atanh(x)) A(exp, expf(x), exp(x)) A(exp2, exp2f(x), exp2(x))              \\\n"
    "                A(exp10, exp10f(x), exp10(x)) A(log, logf(x), log(x)) A(log2, log2f(x), log2(x)) A(         \\\n"
    "                    log10, log10f(x), log10(x)) A(sqrt, sqrtf(x), sqrt(x)) A(rsqrt, rsqrtf(x), rsqrt(x))    \\\n"
    "                    A(ceil, ceilf(x), ceil(x)) A(floor, floorf(x), floor(x)) A(trunc, truncf(x), trunc(x))  \\\n"
    "                        A(round, roundf(x), round(x)) A(rint, rintf(x), rint(x)) A(abs, fabsf(x), fabs(x))  \\\n"
    "                            A(frac, x - floorf(x), x - floor(x)) A(cospi, cospif(x), cospi(x))              \\\n"
    "                                A(sinpi, sinpif(x), sinpi(x)) B(atan2, atan2f(x, y), atan2(x, y))           \\\n"
    "                                    B(pow, powf(x, y), pow(x, y)) B(fmod, fmodf(x, y), fmod(x, y))          \\\n"
    "                                        B(remainder, remainderf(x, y), remainder(x, y))                     \\\n"
    "                                            B(min, fminf(x, y), fmin(x, y)) B(max, fmaxf(x, y), fmax(x, y)) \\\n"
    "                                                B(copysign, copysignf(x, y), copysign(x, y))                \\\n"
    "                                                    B(nextafter, nextafterf(x, y), nextafter(x, y))         \\",
    "                                                        B(fdim, fdimf(x, y), fdim(x, y))\n"
    "FLIST_(F1_, F2_)\n"
    "D_ float F32_fma(float a, float b, float c) { return fmaf(a, b, c); }\n"
    "D_ int F32_sign(float x) { return (x > 0) - (x < 0); }\n"
    "D_ void F32_sincos(float x, float *s, float *c) { sincosf(x, s, c); }\n"
    "D_ float F32_frexp(float x, int *e) { return frexpf(x, e); }\n"
    "D_ float F32_modf(float x, float *i) { return modff(x, i); }\n"
    "D_ float _slang_fmod(float a, float b) { return fmodf(a, b); }\n"
    "D_ bool F32_isnan(float x) { return isnan(x); }\n"
    "D_ bool F32_isinf(float x) { return isinf(x); }\n"
    "D_ bool F32_isfinite(float x) { return isfinite(x); }\n"
    "D_ uint F32_asuint(float x) { return __float_as_uint(x); }\n"
    "D_ int F32_asint(float x) { return __float_as_int(x); }\n"
    "D_ float U32_asfloat(uint x) { return __uint_as_float(x); }\n"
    "D_ float I32_asfloat(int x) { return __int_as_float(x); }\n"
    "D_ uint I32_asuint(int x) { return x; }\n"
    "D_ int U32_asint(uint x) { return x; }\n"
    "D_ uint U32_asuint(uint x) { return x; }\n"
    "#define IN_(P, T, U, pc, lz, rb, fs)                 \\\n"
    "    D_ T P##_min(T a, T b) { return a < b ? a : b; } \\\n"
    "    D_ T P##_max(T a, T b) { return a > b ? a : b; } \\\n"
    "    D_ uint P##_countbits(T a) { return pc(a); }     \\\n"
    "    D_ T P##_reversebits(T a) { return (T)rb(a); }   \\\n"
    "    D_ int P##_firstbitlow(T a) { return fs(a) - 1; }\n"
    "IN_(I32, int, uint, __popc, __clz, __brev, __ffs)\n"
    "IN_(U32, uint, uint, __popc, __clz, __brev, __ffs)\n"
    "IN_(I64, longlong, ulonglong, __popcll, __clzll, __brevll, __ffsll)\n"
    "IN_(U64, ulonglong, ulonglong, __popcll, __clzll, __brevll, __ffsll)\n"
    "D_ int I32_abs(int a) { return abs(a); }\n"
    "D_ longlong I64_abs(longlong a) { return a < 0 ? -a : a; }\n"
    "D_ uint U32_abs(uint a) { return a; }\n"
    "D_ ulonglong U64_abs(ulonglong a) { return a; }\n"
    "D_ int I32_sign(int a) { return (a > 0) - (a < 0); }\n"
    "D_ int I64_sign(longlong a) { return (a > 0) - (a < 0); }\n"
    "D_ int U32_firstbithigh(uint a) { return 31 - __clz(a); }\n"
    "D_ int I32_firstbithigh(int a) { return 31 - __clz(a < 0 ? ~a : a); }\n"
    "D_ int U64_firstbithigh(ulonglong a) { return 63 - __clzll(a); }\n"
    "D_ int I64_firstbithigh(longlong a) { return 63 - __clzll(a < 0 ? ~a : a); }\n"
    "#endif\n"
    "#ifdef SPYI_MATH64\n"
    "#define G1_(n, e, g) \\\n"
    "    D_ double F64_##n(double x) { return g; }\n"
    "#define G2_(n, e, g) \\\n"
    "    D_ double F64_##n(double x, double y) { return g; }\n"
    "FLIST_(G1_, G2_)\n"
    "D_ double F64_fma(double a, double b, double c) { return fma(a, b, c); }\n"
    "D_ int F64_sign(double x) { return (x > 0) - (x < 0); }\n"
    "D_ void F64_sincos(double x, double *s, double *c) { sincos(x, s, c); }\n"
    "D_ double F64_frexp(double x, int *e) { return frexp(x, e); }\n"
    "D_ double F64_modf(double x, double *i) { return modf(x, i); }\n"
    "D_ double _slang_fmod(double a, double b) { return fmod(a, b); }\n"
    "D_ bool F64_isnan(double x) { return isnan(x); }\n"
    "D_ bool F64_isinf(double x) { return isinf(x); }\n"
    "D_ bool F64_isfinite(double x) { return isfinite(x); }\n"
    "D_ void F64_asuint(double d, uint *lo, uint *hi) {\n"
    "    *lo = (uint)__double2loint(d);\n"
    "    *hi = (uint)__double2hiint(d);\n"
    "}\n"
    "D_ void F64_asint(double d, int *lo, int *hi) {\n"
    "    *lo = __double2loint(d);\n"
    "    *hi = __double2hiint(d);\n"
    "}\n"
    "D_ double U32_asdouble(uint lo, uint hi) { return __hiloint2double((int)hi, (int)lo); }\n"
    "D_ double U64_asdouble(ulonglong u) { return __longlong_as_double((longlong)u); }\n"
    "D_ ulonglong F64_asuint64(double d) { return (ulonglong)__double_as_longlong(d); }\n"
    "#endif\n"
    "#ifdef SPYI_BUF\n"
    "template<class T> struct RWStructuredBuffer {\n"
    "    T *data;\n"
    "    size_t count;\n"
    "    D_ T &operator[](size_t i) const { return data[i]; }\n"
    "    D_ T &Load(size_t i) const { return data[i]; }\n"
    "    template<class U> D_ U Load(size_t i) const { return *(const U *)((const char *)data + i); }\n"
    "    template<class U> D_ void Store(size_t i, U v) const { *(U *)((char *)data + i) = v; }\n"
    "    template<class U> D_ U *_getPtrAt(size_t i) const { return (U *)((char *)data + i); }\n"
    "    D_ void GetDimensions(uint *n, uint *s) const {\n"
    "        *n = (uint)count;\n"
    "        *s = sizeof(T);\n"
    "    }\n"
    "    D_ void GetDimensions(uint &n, uint &s) const {",
    "        n = (uint)count;\n"
    "        s = sizeof(T);\n"
    "    }\n"
    "};\n"
    "template<class T> struct StructuredBuffer : RWStructuredBuffer<T> {};\n"
    "struct RWByteAddressBuffer {\n"
    "    uint *data;\n"
    "    size_t sizeInBytes;\n"
    "    template<class T> D_ T Load(size_t i) const { return *(const T *)((const char *)data + i); }\n"
    "    template<class T> D_ void Store(size_t i, T v) const { *(T *)((char *)data + i) = v; }\n"
    "    D_ uint Load(size_t i) const { return Load<uint>(i); }\n"
    "    template<class T> D_ T *_getPtrAt(size_t i) const { return (T *)((char *)data + i); }\n"
    "    template<class T> D_ RWStructuredBuffer<T> asStructuredBuffer() const {\n"
    "        return RWStructuredBuffer<T>{ (T *)data, sizeInBytes / sizeof(T) };\n"
    "    }\n"
    "    D_ void GetDimensions(uint *n) const { *n = (uint)sizeInBytes; }\n"
    "};\n"
    "struct ByteAddressBuffer : RWByteAddressBuffer {};\n"
    "#endif\n"
    "#ifdef SPYI_TENSOR\n"
    "struct TensorView {\n"
    "    uchar *data;\n"
    "    uint strides[5];\n"
    "    uint sizes[5];\n"
    "    uint dimensionCount;\n"
    "    template<class... I> D_ size_t at_(I... i) const {\n"
    "        size_t o = 0;\n"
    "        int k = 0;\n"
    "        ((o += (size_t)strides[k++] * i), ...);\n"
    "        return o;\n"
    "    }\n"
    "#ifdef SPYI_VEC\n"
    "    D_ size_t at_(uint2 i) const { return at_(i.x, i.y); }\n"
    "    D_ size_t at_(uint3 i) const { return at_(i.x, i.y, i.z); }\n"
    "    D_ size_t at_(uint4 i) const { return at_(i.x, i.y, i.z, i.w); }\n"
    "#endif\n"
    "    template<class T, class... I> D_ T *data_ptr_at(I... i) const { return (T *)(data + at_(i...)); }\n"
    "    template<class T> D_ T *data_ptr() const { return (T *)data; }\n"
    "    template<class T, class... I> D_ T &load(I... i) const { return *data_ptr_at<T>(i...); }\n"
    "    template<class T, class A> D_ void store(A a, T v) const { *data_ptr_at<T>(a) = v; }\n"
    "    template<class T, class A> D_ void store(A a, A b, T v) const { *data_ptr_at<T>(a, b) = v; }\n"
    "    template<class T, class A> D_ void store(A a, A b, A c, T v) const { *data_ptr_at<T>(a, b, c) = v; }\n"
    "    template<class T, class A> D_ void store(A a, A b, A c, A d, T v) const {\n"
    "        *data_ptr_at<T>(a, b, c, d) = v;\n"
    "    }\n"
    "    template<class T, class A> D_ void store(A a, A b, A c, A d, A e, T v) const {\n"
    "        *data_ptr_at<T>(a, b, c, d, e) = v;\n"
    "    }\n"
    "};\n"
    "#endif\n"
    "template<class T> D_ void __slang_atomic_reduce_add(T *p, T v, int) { atomicAdd(p, v); }\n"
    "#ifdef SPYI_WAVE\n"
    "typedef uint WarpMask;\n"
    "D_ uint _getLaneId() {\n"
    "    uint r;\n"
    "    asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(r));\n"
    "    return r;\n"
    "}\n"
    "D_ uint _getLaneLtMask() {\n"
    "    uint r;\n"
    "    asm(\"mov.u32 %0, %%lanemask_lt;\" : \"=r\"(r));\n"
    "    return r;\n"
    "}\n"
    "template<class T> D_ T wsh_(uint m, T v, int lane) {\n"
    "    if constexpr (VT_<T>::n > 0) {\n"
    "        T r;\n"
    "        for (int i = 0; i < VT_<T>::n; i++) (&r.x)[i] = __shfl_sync(m, (&v.x)[i], lane);\n"
    "        return r;\n"
    "    } else return __shfl_sync(m, v, lane);\n"
    "}\n"
    "struct WA_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const { return a + b; }\n"
    "};\n"
    "struct WP_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const { return a * b; }\n"
    "};\n"
    "template<class T> D_ T wmin_(T a, T b) {\n"
    "    if constexpr (VT_<T>::n > 0) return _slang_select(b < a, b, a);\n"
    "    else return b < a ? b : a;\n"
    "}\n"
    "struct WN_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const { return wmin_(a, b); }\n"
    "};\n"
    "struct WX_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const {\n"
    "        if constexpr (VT_<T>::n > 0) return _slang_select(a < b, b, a);\n"
    "        else return a < b ? b : a;\n"
    "    }\n"
    "};\n"
    "struct WD_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const { return a & b; }\n"
    "};\n"
    "struct WO_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const { return a | b; }\n"
    "};\n"
    "struct WE_ {\n"
    "    template<class T> D_ T operator()(T a, T b) const { return a ^ b; }\n"
    "};\n"
    "\n"
    "template<class F, class T> D_ T wred_(uint m, T v, F f) {\n"
    "    if (m == ~0u) {\n"
    "        for (int s = 16; s; s >>= 1) v = f(v, wsh_(m, v, (int)(_getLaneId() ^ s)));\n"
    "        return v;\n"
    "    }\n"
    "    T r = wsh_(m, v, __ffs(m) - 1);\n"
    "    for (uint q = m & (m - 1); q; q &= q - 1) r = f(r, wsh_(m, v, __ffs(q) - 1));\n"
    "    return r;\n"
    "}\n"
    "template<class F, class T> D_ T wpre_(uint m, T v, T id, F f) {\n"
    "    T r = id;",
    "    uint q = m, me = _getLaneId();\n"
    "    while (q) {\n"
    "        int l = __ffs(q) - 1;\n"
    "        T o = wsh_(m, v, l);\n"
    "        if ((uint)l < me) r = f(r, o);\n"
    "        q &= q - 1;\n"
    "    }\n"
    "    return r;\n"
    "}\n"
    "template<class T> D_ T wid_(int k) {\n"
    "    if constexpr (VT_<T>::n > 0) {\n"
    "        T r;\n"
    "        for (int i = 0; i < VT_<T>::n; i++) (&r.x)[i] = (typename VT_<T>::e)k;\n"
    "        return r;\n"
    "    } else return (T)k;\n"
    "}\n"
    "#define WR_(n, F)                                                             \\\n"
    "    template<class T> D_ T _wave##n(uint m, T v) { return wred_(m, v, F()); } \\\n"
    "    template<class T> D_ T _wave##n##Multiple(uint m, T v) { return wred_(m, v, F()); }\n"
    "WR_(Sum, WA_)\n"
    "WR_(Product, WP_)\n"
    "WR_(Min, WN_)\n"
    "WR_(Max, WX_)\n"
    "WR_(And, WD_)\n"
    "WR_(Or, WO_)\n"
    "WR_(Xor, WE_)\n"
    "#define WQ_(n, F, k)                                                                            \\\n"
    "    template<class T> D_ T _wavePrefix##n(uint m, T v) { return wpre_(m, v, wid_<T>(k), F()); } \\\n"
    "    template<class T> D_ T _wavePrefix##n##Multiple(uint m, T v) { return wpre_(m, v, wid_<T>(k), F()); }\n"
    "WQ_(Sum, WA_, 0)\n"
    "WQ_(Product, WP_, 1)\n"
    "WQ_(And, WD_, -1)\n"
    "WQ_(Or, WO_, 0)\n"
    "WQ_(Xor, WE_, 0)\n"
    "template<class T> D_ T _waveReadFirst(uint m, T v) { return wsh_(m, v, __ffs(m) - 1); }\n"
    "template<class T> D_ T _waveReadFirstMultiple(uint m, T v) { return wsh_(m, v, __ffs(m) - 1); }\n"
    "template<class T> D_ T _waveShuffleMultiple(uint m, T v, int l) { return wsh_(m, v, l); }\n"
    "template<class T> D_ bool _waveAllEqual(uint m, T v) {\n"
    "    T f = wsh_(m, v, __ffs(m) - 1);\n"
    "    return __all_sync(m, f == v);\n"
    "}\n"
    "#endif\n"
    "#ifdef SPYI_TEX\n"
    "\n"
    "\n"
    "template<class T> struct TX_;\n"
    "#define TX1_(T, B, ...)                                         \\\n"
    "    template<> struct TX_<T> {                                  \\\n"
    "        typedef B b;                                            \\\n"
    "        static D_ T of(const B *v) { return T{ __VA_ARGS__ }; } \\\n"
    "    };\n"
    "#define TXB_(B, d, r)                                                                                              \\\n"
    "    TX1_(B, B, v[0])                                                                                               \\\n"
    "    TX1_(B##2, B, v[0], v[1])                                                                                      \\\n"
    "    TX1_(B##3, B, v[0], v[1], v[2])                                                                                \\\n"
    "    TX1_(B##4, B, v[0], v[1], v[2], v[3])                                                                          \\\n"
    "    D_ void tx1_(B *v, CUtexObject t, int x, int m) {                                                              \\\n"
    "        int w;                                                                                                     \\\n"
    "        asm(\"txq.width.b32 %0, [%1];\" : \"=r\"(w) : \"l\"(t));                                                         \\\n"
    "        B##4 f = tex1DLod<B##4>(t, (x + 0.5f) / max(w >> m, 1), m);                                                \\\n"
    "        v[0] = f.x, v[1] = f.y, v[2] = f.z, v[3] = f.w;                                                            \\\n"
    "    }                                                                                                              \\\n"
    "    D_ void tx2_(B *v, CUtexObject t, int x, int y, int m) {                                                       \\\n"
    "        asm(\"tex.level.2d.v4.\" d \".s32 {%0,%1,%2,%3}, [%4, {%5,%6}], %7;\"                                          \\\n"
    "            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : \"l\"(t), \"r\"(x), \"r\"(y), \"r\"(m));                                \\\n"
    "    }                                                                                                              \\\n"
    "    D_ void tx3_(B *v, CUtexObject t, int x, int y, int z, int m) {                                                \\\n"
    "        asm(\"tex.level.3d.v4.\" d \".s32 {%0,%1,%2,%3}, [%4, {%5,%6,%7,%7}], %8;\"                                    \\\n"
    "            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : \"l\"(t), \"r\"(x), \"r\"(y), \"r\"(z), \"r\"(m));                        \\",
    "    }                                                                                                              \\\n"
    "    D_ void tx1a_(B *v, CUtexObject t, int x, int l, int m) {                                                      \\\n"
    "        asm(\"tex.level.a1d.v4.\" d \".s32 {%0,%1,%2,%3}, [%4, {%5,%6}], %7;\"                                         \\\n"
    "            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : \"l\"(t), \"r\"(l), \"r\"(x), \"r\"(m));                                \\\n"
    "    }                                                                                                              \\\n"
    "    D_ void tx2a_(B *v, CUtexObject t, int x, int y, int l, int m) {                                               \\\n"
    "        asm(\"tex.level.a2d.v4.\" d \".s32 {%0,%1,%2,%3}, [%4, {%5,%6,%7,%7}], %8;\"                                   \\\n"
    "            : r(v[0]), r(v[1]), r(v[2]), r(v[3]) : \"l\"(t), \"r\"(l), \"r\"(x), \"r\"(y), \"r\"(m));                        \\\n"
    "    }\n"
    "TXB_(float, \"f32\", \"=f\")\n"
    "TXB_(int, \"s32\", \"=r\")\n"
    "TXB_(uint, \"u32\", \"=r\")\n"
    "#define TXF_(name, f, declared, ...)                              \\\n"
    "    template<class T> D_ T name(CUtexObject t, declared, int m) { \\\n"
    "        typename TX_<T>::b v[4];                                  \\\n"
    "        f(v, t, __VA_ARGS__);                                     \\\n"
    "        return TX_<T>::of(v);                                     \\\n"
    "    }\n"
    "#define TXC_ ,\n"
    "TXF_(tex1Dfetch_int, tx1_, int x, x, m) // tex.1d with whole numbers reads 0 from arrays, so a sampler reads the centre of the texel\n"
    "TXF_(tex2Dfetch_int, tx2_, int x TXC_ int y, x, y, m)\n"
    "TXF_(tex3Dfetch_int, tx3_, int x TXC_ int y TXC_ int z, x, y, z, m)\n"
    "TXF_(tex1DArrayfetch_int, tx1a_, int x TXC_ int l, x, l, m)\n"
    "TXF_(tex2DArrayfetch_int, tx2a_, int x TXC_ int y TXC_ int l, x, y, l, m)\n"
    "#endif\n"
    "#ifdef SPYI_GLOBALS\n"
    "\n"
    "\n"
    "template<class T> D_ T spyi_ldg(const T *p) {\n"
    "    if (__isConstant(p)) return *p;\n"
    "    return __ldg(p);\n"
    "}\n"
    "#define __ldg spyi_ldg\n"
    "#endif",
    NULL
};

// >>cuda/blit.cuh -------------------------------------------------------------------------------------------

static const char *const spyi_text_blit[] = {
    "\n"
    "\n"
    "\n"
    "typedef struct spy_side {\n"
    "    unsigned long long texels; // the address of the texels\n"
    "    unsigned int width, height, depth, layers, kind, channels, bytes, unused; // `bytes` is the size of a channel\n"
    "} spy_side;\n"
    "typedef struct spy_blit_args {\n"
    "    spy_side to, from;\n"
    "    unsigned int linear, unused;\n"
    "} spy_blit_args;\n"
    "\n"
    "#ifdef __CUDACC__\n"
    "static __device__ float spy_from_half(unsigned int bits) {\n"
    "    float value;\n"
    "    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(value) : \"h\"((unsigned short)bits));\n"
    "    return value;\n"
    "}\n"
    "static __device__ unsigned int spy_to_half(float value) {\n"
    "    unsigned short bits;\n"
    "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(value));\n"
    "    return bits;\n"
    "}\n"
    "#endif\n"
    "\n"
    "static __device__ unsigned int spy_bits(const spy_side *s, unsigned long long texel, unsigned int c) {\n"
    "    const unsigned char *p = (const unsigned char *)s->texels + (texel * s->channels + c) * s->bytes;\n"
    "    return s->bytes == 1 ? *p : s->bytes == 2 ? *(const unsigned short *)p : *(const unsigned int *)p;\n"
    "}\n"
    "\n"
    "static __device__ int spy_signed(const spy_side *s, unsigned int bits) {\n"
    "    return s->bytes == 1 ? (int)(signed char)bits : s->bytes == 2 ? (int)(short)bits : (int)bits;\n"
    "}\n"
    "\n"
    "\n"
    "static __device__ float spy_read(const spy_side *s, unsigned long long texel, unsigned int c) {\n"
    "    if (c >= s->channels) return c == 3 ? 1.0f : 0.0f;\n"
    "    unsigned int bits = spy_bits(s, texel, c);\n"
    "    float most = s->bytes == 1 ? 255.0f : 65535.0f, value = (float)bits / most;\n"
    "    if (s->kind == 3) value = fmaxf((float)spy_signed(s, bits) / (s->bytes == 1 ? 127.0f : 32767.0f), -1.0f);\n"
    "    if (s->kind == 4 && c < 3) value = value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);\n"
    "    if (s->kind == 5) value = spy_from_half(bits);\n"
    "    if (s->kind == 6) {\n"
    "        union {\n"
    "            unsigned int bits;\n"
    "            float value;\n"
    "        } both;\n"
    "        both.bits = bits;\n"
    "        value = both.value;\n"
    "    }\n"
    "    return value;\n"
    "}\n"
    "\n"
    "static __device__ void spy_write(const spy_side *s, unsigned long long texel, unsigned int c, unsigned int bits) {\n"
    "    unsigned char *p = (unsigned char *)s->texels + (texel * s->channels + c) * s->bytes;\n"
    "    if (s->bytes == 1) *p = (unsigned char)bits;\n"
    "    else if (s->bytes == 2) *(unsigned short *)p = (unsigned short)bits;\n"
    "    else *(unsigned int *)p = bits;\n"
    "}\n"
    "\n"
    "static __device__ unsigned int spy_encode(const spy_side *s, unsigned int c, float value) {\n"
    "    union {\n"
    "        unsigned int bits;\n"
    "        float value;\n"
    "    } both;\n"
    "    both.value = value;\n"
    "    if (s->kind == 6) return both.bits;\n"
    "    if (s->kind == 5) return spy_to_half(value);\n"
    "    if (s->kind == 3) return (unsigned int)(int)rintf(fminf(fmaxf(value, -1.0f), 1.0f) * (s->bytes == 1 ? 127.0f : 32767.0f));\n"
    "    value = fminf(fmaxf(value, 0.0f), 1.0f);\n"
    "    if (s->kind == 4 && c < 3) value = value <= 0.0031308f ? value * 12.92f : 1.055f * powf(value, 1.0f / 2.4f) - 0.055f;\n"
    "    return (unsigned int)rintf(value * (s->bytes == 1 ? 255.0f : 65535.0f));\n"
    "}\n"
    "\n"
    "\n"
    "static __device__ unsigned int spy_integer(const spy_blit_args *b, unsigned long long texel, unsigned int c) {\n"
    "    if (c >= b->from.channels) return c == 3;\n"
    "    unsigned int bits = spy_bits(&b->from, texel, c), shift = 8 * (4 - b->to.bytes);\n"
    "    if (b->to.kind == 0) {\n"
    "        unsigned int most = 0xffffffffu >> shift;\n"
    "        return bits < most ? bits : most;\n"
    "    }\n"
    "    int value = spy_signed(&b->from, bits), most = 0x7fffffff >> shift;\n"
    "    return (unsigned int)(value > most ? most : value < -most - 1 ? -most - 1 : value);\n"
    "}\n"
    "\n"
    "\n"
    "static __device__ float spy_places(unsigned int at, unsigned int to, unsigned int from, unsigned int linear, unsigned int places[2]) {\n"
    "    float place = ((float)at + 0.5f) * (float)from / (float)to, low;\n"
    "    int first;\n"
    "    if (!linear) {\n"
    "        first = (int)floorf(place);\n"
    "        places[0] = places[1] = (unsigned int)first < from ? (unsigned int)first : from - 1;\n"
    "        return 0.0f;\n"
    "    }\n"
    "    low = floorf(place - 0.5f);\n"
    "    first = (int)low;\n"
    "    places[0] = first < 0 ? 0 : (unsigned int)first;",
    "    places[1] = first + 1 < (int)from ? (unsigned int)(first + 1) : from - 1;\n"
    "    return place - 0.5f - low;\n"
    "}\n"
    "\n"
    "#ifdef __CUDACC__\n"
    "extern \"C\"\n"
    "#endif\n"
    "__global__ void spy_blit(spy_blit_args b) {\n"
    "    unsigned long long i = (unsigned long long)blockIdx.x * 256 + threadIdx.x, texel;\n"
    "    unsigned int x, y, z, layer, c, k, xs[2], ys[2], zs[2];\n"
    "    float u, v, w;\n"
    "    if (i >= (unsigned long long)b.to.width * b.to.height * b.to.depth * b.to.layers) return;\n"
    "    x = (unsigned int)(i % b.to.width);\n"
    "    y = (unsigned int)(i / b.to.width % b.to.height);\n"
    "    z = (unsigned int)(i / b.to.width / b.to.height % b.to.depth);\n"
    "    layer = (unsigned int)(i / b.to.width / b.to.height / b.to.depth);\n"
    "    u = spy_places(x, b.to.width, b.from.width, b.linear, xs);\n"
    "    v = spy_places(y, b.to.height, b.from.height, b.linear, ys);\n"
    "    w = spy_places(z, b.to.depth, b.from.depth, b.linear, zs);\n"
    "    for (c = 0; c < b.to.channels; c++) {\n"
    "        float sum = 0.0f;\n"
    "        if (b.to.kind < 2) {\n"
    "            texel = (((unsigned long long)layer * b.from.depth + zs[0]) * b.from.height + ys[0]) * b.from.width + xs[0];\n"
    "            spy_write(&b.to, i, c, spy_integer(&b, texel, c));\n"
    "            continue;\n"
    "        }\n"
    "        for (k = 0; k < 8; k++) {\n"
    "            float weight = (k & 1 ? u : 1.0f - u) * (k & 2 ? v : 1.0f - v) * (k & 4 ? w : 1.0f - w);\n"
    "            if (weight == 0.0f) continue; // texels of weight 0 are not read, because they may be infinite\n"
    "            texel = (((unsigned long long)layer * b.from.depth + zs[k >> 2]) * b.from.height + ys[k >> 1 & 1]) * b.from.width + xs[k & 1];\n"
    "            sum += weight * spy_read(&b.from, texel, c);\n"
    "        }\n"
    "        spy_write(&b.to, i, c, spy_encode(&b.to, c, sum));\n"
    "    }\n"
    "}",
    NULL
};

// >>cuda/driver_api.h ---------------------------------------------------------------------------------------

// The part of the CUDA driver API that the library uses, declared here so that building needs no toolkit. The
// driver is opened at run time.
// Source: the CUDA Driver API's reference manual. All symbols are in drivers of CUDA 11.4 and later.

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define SPYI_CU_CALL __stdcall
#else
#define SPYI_CU_CALL
#endif

typedef int spyi_cu_result; // the driver calls it CUresult
typedef int spyi_cu_device; // the driver calls it CUdevice
typedef struct spyi_cu_context_object *spyi_cu_context;
typedef struct spyi_cu_module_object *spyi_cu_module;
typedef struct spyi_cu_function_object *spyi_cu_function;
typedef struct spyi_cu_stream_object *spyi_cu_stream;
typedef struct spyi_cu_event_object *spyi_cu_event;
typedef struct spyi_cu_graph_object *spyi_cu_graph;
typedef struct spyi_cu_node_object *spyi_cu_node;
typedef struct spyi_cu_exec_object *spyi_cu_exec; // the driver calls it CUgraphExec
typedef uint64_t spyi_cu_pointer;                 // the driver calls it CUdeviceptr

enum {
    SPYI_CU_OK = 0,
    SPYI_CU_OUT_OF_MEMORY = 2,
    SPYI_CU_NO_DEVICE = 100,
    SPYI_CU_INVALID_CONTEXT = 201,
    SPYI_CU_NO_BINARY_FOR_GPU = 209,
    SPYI_CU_UNSUPPORTED_PTX = 222,
    SPYI_CU_NOT_READY = 600,
    SPYI_CU_ILLEGAL_ADDRESS = 700,         // this error and the errors below leave the context unusable
    SPYI_CU_LAUNCH_OUT_OF_RESOURCES = 701, // after this error the context is still usable
    SPYI_CU_LAUNCH_TIMEOUT = 702,
    SPYI_CU_CONTEXT_DESTROYED = 709,
    SPYI_CU_ASSERT = 710,
    SPYI_CU_HARDWARE_STACK_ERROR = 714,
    SPYI_CU_ILLEGAL_INSTRUCTION = 715,
    SPYI_CU_MISALIGNED_ADDRESS = 716,
    SPYI_CU_INVALID_ADDRESS_SPACE = 717,
    SPYI_CU_INVALID_PC = 718,
    SPYI_CU_LAUNCH_FAILED = 719,
    SPYI_CU_ECC_UNCORRECTABLE = 214,
    SPYI_CU_NVLINK_UNCORRECTABLE = 220
};

enum { // These are values of CUdevice_attribute.
    SPYI_CU_MAX_THREADS_PER_BLOCK = 1,
    SPYI_CU_MAX_GRID_DIM_X = 5,
    SPYI_CU_WARP_SIZE = 10,
    SPYI_CU_MULTIPROCESSORS = 16,
    SPYI_CU_INTEGRATED = 18,
    SPYI_CU_CAN_MAP_HOST_MEMORY = 19,
    SPYI_CU_UNIFIED_ADDRESSING = 41,
    SPYI_CU_CAPABILITY_MAJOR = 75,
    SPYI_CU_CAPABILITY_MINOR = 76,
    SPYI_CU_MAX_SHARED_BYTES = 97 // shared memory of a group, static and dynamic, if its function asks for
                                  // the most
};

enum { // These are values of several enumerations of the driver.
    SPYI_CU_STREAM_NON_BLOCKING = 1,
    SPYI_CU_CAPTURE_RELAXED = 2, // a value of CUstreamCaptureMode
    SPYI_CU_EVENT_DEFAULT = 0,
    SPYI_CU_EVENT_DISABLE_TIMING = 2,
    SPYI_CU_HOST_ALLOC_PORTABLE = 1,
    SPYI_CU_HOST_ALLOC_MAPPED = 2,
    SPYI_CU_POINTER_MEMORY_TYPE = 2,
    SPYI_CU_POINTER_DEVICE_ORDINAL = 9,
    SPYI_CU_POINTER_RANGE_START = 11,
    SPYI_CU_POINTER_RANGE_SIZE = 12,
    SPYI_CU_MEMORY_TYPE_HOST = 1,
    SPYI_CU_MEMORY_TYPE_DEVICE = 2,
    SPYI_CU_FUNC_MAX_THREADS = 0,
    SPYI_CU_FUNC_SHARED_BYTES = 1, // the size of static shared memory
    SPYI_CU_FUNC_REGISTERS = 4,
    SPYI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES = 8,
    SPYI_CU_MEMORY_TYPE_ARRAY = 3,
    SPYI_CU_ARRAY_LAYERED = 1, // a flag of CUDA_ARRAY3D_*
    SPYI_CU_ARRAY_SURFACE = 2,
    SPYI_CU_ARRAY_CUBEMAP = 4,
    SPYI_CU_RESOURCE_ARRAY = 0, // a value of CUresourcetype
    SPYI_CU_RESOURCE_MIPMAPPED = 1,
    SPYI_CU_ADDRESS_CLAMP = 1,   // a value of CUaddress_mode
    SPYI_CU_TEXTURE_INTEGER = 1, // a flag of CU_TRSF_*
    SPYI_CU_TEXTURE_NORMALIZED = 2,
    SPYI_CU_TEXTURE_SRGB = 16,
    SPYI_CU_TEXTURE_SEAMLESS = 64
};

typedef struct spyi_cu_array_desc { // The driver calls it CUDA_ARRAY3D_DESCRIPTOR.
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} spyi_cu_array_desc;

typedef struct spyi_cu_resource_desc { // The driver calls it CUDA_RESOURCE_DESC; this is the form for arrays.
    int type;
    void *array; // a CUarray or CUmipmappedArray
    int others[30];
    unsigned flags;
} spyi_cu_resource_desc;

typedef struct spyi_cu_texture_desc { // The driver calls it CUDA_TEXTURE_DESC.
    int address[3], filter;
    unsigned flags, max_anisotropy;
    int mip_filter;
    float bias, min_level, max_level, border[4];
    int reserved[12];
} spyi_cu_texture_desc;

typedef struct spyi_cu_view_desc { // The driver calls it CUDA_RESOURCE_VIEW_DESC.
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer, reserved[16];
} spyi_cu_view_desc;

typedef char spyi_cu_check_images[sizeof(spyi_cu_array_desc) == 40 && sizeof(spyi_cu_resource_desc) == 144 &&
                                          sizeof(spyi_cu_texture_desc) == 104 &&
                                          sizeof(spyi_cu_view_desc) == 112
                                      ? 1
                                      : -1];

typedef struct spyi_cu_kernel_params { // The driver calls it CUDA_KERNEL_NODE_PARAMS_v1; functions without
                                       // _v2 take it.
    spyi_cu_function function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} spyi_cu_kernel_params;

typedef struct spyi_cu_copy_end { // One half of the driver's CUDA_MEMCPY3D_v2.
    size_t x_bytes, y, z, lod;
    unsigned memory_type;
    void *host;
    spyi_cu_pointer device;
    void *array, *reserved;
    size_t pitch, height;
} spyi_cu_copy_end;

typedef struct spyi_cu_copy_params { // The driver calls it CUDA_MEMCPY3D_v2.
    spyi_cu_copy_end from, to;
    size_t width_bytes, height, depth;
} spyi_cu_copy_params;

typedef struct spyi_cu_fill_params { // The driver calls it CUDA_MEMSET_NODE_PARAMS_v1.
    spyi_cu_pointer to;
    size_t pitch;
    unsigned value, element_size;
    size_t width, height; // `width` counts elements, `height` rows
} spyi_cu_fill_params;

typedef char spyi_cu_check_params[sizeof(spyi_cu_kernel_params) == 56 && sizeof(spyi_cu_copy_params) == 200 &&
                                          sizeof(spyi_cu_fill_params) == 40
                                      ? 1
                                      : -1];

// X(name, symbol, arguments): `name` is the member of spyi_cu_driver, `symbol` the driver's exported name.
#define SPYI_CU_FUNCTIONS(X)                                                                                 \
    X(Init, "cuInit", (unsigned flags))                                                                      \
    X(DriverGetVersion, "cuDriverGetVersion", (int *version))                                                \
    X(GetErrorName, "cuGetErrorName", (spyi_cu_result result, const char **name))                            \
    X(GetErrorString, "cuGetErrorString", (spyi_cu_result result, const char **text))                        \
    X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                                      \
    X(DeviceGet, "cuDeviceGet", (spyi_cu_device * device, int ordinal))                                      \
    X(DeviceGetName, "cuDeviceGetName", (char *name, int size, spyi_cu_device device))                       \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, spyi_cu_device device))        \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, spyi_cu_device device))                        \
    X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (spyi_cu_context * context, spyi_cu_device device))      \
    X(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (spyi_cu_device device))                            \
    X(CtxGetCurrent, "cuCtxGetCurrent", (spyi_cu_context * context))                                         \
    X(CtxSetCurrent, "cuCtxSetCurrent", (spyi_cu_context context))                                           \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", (spyi_cu_context context))                                      \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", (spyi_cu_context * context))                                      \
    X(CtxGetDevice, "cuCtxGetDevice", (spyi_cu_device * device))                                             \
    X(ModuleLoadData, "cuModuleLoadData", (spyi_cu_module * module, const void *image))                      \
    X(ModuleUnload, "cuModuleUnload", (spyi_cu_module module))                                               \
    X(ModuleGetFunction, "cuModuleGetFunction",                                                              \
      (spyi_cu_function * function, spyi_cu_module module, const char *name))                                \
    X(ModuleGetGlobal, "cuModuleGetGlobal_v2",                                                               \
      (spyi_cu_pointer * address, size_t * size, spyi_cu_module module, const char *name))                   \
    X(FuncGetAttribute, "cuFuncGetAttribute", (int *value, int attribute, spyi_cu_function function))        \
    X(FuncSetAttribute, "cuFuncSetAttribute", (spyi_cu_function function, int attribute, int value))         \
    X(LaunchKernel, "cuLaunchKernel",                                                                        \
      (spyi_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
       unsigned bz, unsigned shared, spyi_cu_stream stream, void **params, void **extra))                    \
    X(MemAlloc, "cuMemAlloc_v2", (spyi_cu_pointer * address, size_t size))                                   \
    X(MemFree, "cuMemFree_v2", (spyi_cu_pointer address))                                                    \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t * unused, size_t * total))                                      \
    X(MemHostAlloc, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags))                          \
    X(MemFreeHost, "cuMemFreeHost", (void *memory))                                                          \
    X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2",                                               \
      (spyi_cu_pointer * address, void *memory, unsigned flags))                                             \
    X(MemcpyAsync, "cuMemcpyAsync",                                                                          \
      (spyi_cu_pointer to, spyi_cu_pointer from, size_t size, spyi_cu_stream stream))                        \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                               \
      (spyi_cu_pointer to, const void *from, size_t size, spyi_cu_stream stream))                            \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                               \
      (void *to, spyi_cu_pointer from, size_t size, spyi_cu_stream stream))                                  \
    X(MemsetD32Async, "cuMemsetD32Async",                                                                    \
      (spyi_cu_pointer to, unsigned value, size_t count, spyi_cu_stream stream))                             \
    X(Memcpy3DAsync, "cuMemcpy3DAsync_v2", (const spyi_cu_copy_params *copy, spyi_cu_stream stream))         \
    X(Array3DCreate, "cuArray3DCreate_v2", (void **array, const spyi_cu_array_desc *desc))                   \
    X(ArrayDestroy, "cuArrayDestroy", (void *array))                                                         \
    X(MipmappedArrayCreate, "cuMipmappedArrayCreate",                                                        \
      (void **array, const spyi_cu_array_desc *desc, unsigned levels))                                       \
    X(MipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", (void **array, void *of, unsigned level))          \
    X(MipmappedArrayDestroy, "cuMipmappedArrayDestroy", (void *array))                                       \
    X(TexObjectCreate, "cuTexObjectCreate",                                                                  \
      (uint64_t * object, const spyi_cu_resource_desc *resource, const spyi_cu_texture_desc *desc,           \
       const spyi_cu_view_desc *view))                                                                       \
    X(TexObjectDestroy, "cuTexObjectDestroy", (uint64_t object))                                             \
    X(SurfObjectCreate, "cuSurfObjectCreate", (uint64_t * object, const spyi_cu_resource_desc *resource))    \
    X(SurfObjectDestroy, "cuSurfObjectDestroy", (uint64_t object))                                           \
    X(StreamCreate, "cuStreamCreate", (spyi_cu_stream * stream, unsigned flags))                             \
    X(StreamDestroy, "cuStreamDestroy_v2", (spyi_cu_stream stream))                                          \
    X(StreamIsCapturing, "cuStreamIsCapturing", (spyi_cu_stream stream, int *state))                         \
    X(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *mode))                     \
    X(StreamSynchronize, "cuStreamSynchronize", (spyi_cu_stream stream))                                     \
    X(StreamWaitEvent, "cuStreamWaitEvent", (spyi_cu_stream stream, spyi_cu_event event, unsigned flags))    \
    X(StreamGetCtx, "cuStreamGetCtx", (spyi_cu_stream stream, spyi_cu_context * context))                    \
    X(EventCreate, "cuEventCreate", (spyi_cu_event * event, unsigned flags))                                 \
    X(EventDestroy, "cuEventDestroy_v2", (spyi_cu_event event))                                              \
    X(EventRecord, "cuEventRecord", (spyi_cu_event event, spyi_cu_stream stream))                            \
    X(EventQuery, "cuEventQuery", (spyi_cu_event event))                                                     \
    X(EventSynchronize, "cuEventSynchronize", (spyi_cu_event event))                                         \
    X(EventElapsedTime, "cuEventElapsedTime", (float *ms, spyi_cu_event from, spyi_cu_event to))             \
    X(PointerGetAttribute, "cuPointerGetAttribute", (void *value, int attribute, spyi_cu_pointer pointer))   \
    X(PointerGetAttributes, "cuPointerGetAttributes",                                                        \
      (unsigned count, const int *attributes, void **values, spyi_cu_pointer pointer))                       \
    X(GraphCreate, "cuGraphCreate", (spyi_cu_graph * graph, unsigned flags))                                 \
    X(GraphDestroy, "cuGraphDestroy", (spyi_cu_graph graph))                                                 \
    X(GraphAddKernelNode, "cuGraphAddKernelNode",                                                            \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count,                   \
       const spyi_cu_kernel_params *params))                                                                 \
    X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode",                                                            \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count,                   \
       const spyi_cu_copy_params *params, spyi_cu_context context))                                          \
    X(GraphAddMemsetNode, "cuGraphAddMemsetNode",                                                            \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count,                   \
       const spyi_cu_fill_params *params, spyi_cu_context context))                                          \
    X(GraphAddEmptyNode, "cuGraphAddEmptyNode",                                                              \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count))                  \
    X(GraphInstantiate, "cuGraphInstantiateWithFlags",                                                       \
      (spyi_cu_exec * exec, spyi_cu_graph graph, unsigned long long flags))                                  \
    X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams",                                        \
      (spyi_cu_exec exec, spyi_cu_node node, const spyi_cu_kernel_params *params))                           \
    X(GraphExecDestroy, "cuGraphExecDestroy", (spyi_cu_exec exec))                                           \
    X(GraphLaunch, "cuGraphLaunch", (spyi_cu_exec exec, spyi_cu_stream stream))

typedef struct spyi_cu_driver {
    void *library; // stays open, because contexts may outlive the device
    int version;   // CUDA's version; 13000 means CUDA 13.0
#define SPYI_CU_MEMBER(name, symbol, arguments) spyi_cu_result(SPYI_CU_CALL *name) arguments;
    SPYI_CU_FUNCTIONS(SPYI_CU_MEMBER)
#undef SPYI_CU_MEMBER
} spyi_cu_driver;

// The oldest driver that has all symbols and loads cubins of the NVRTC of its own version.
#define SPYI_CU_LEAST_VERSION 11040

// >>cuda/internal.h -----------------------------------------------------------------------------------------

// The types of the CUDA backend and the functions that its files share. driver.c opens the driver, device.c
// creates the device, nvrtc.c and prelude.c compile text, kernel.c launches, memory.c and transfer.c move
// data, stream.c tracks which work is done. All work goes to one stream, which keeps its order, so barriers
// have no effect there. Only in the graphs of graph.c do barriers determine the order.

#if UINTPTR_MAX < UINT64_MAX
#error "slangpy_cuda.h needs a 64-bit target, as CUDA does"
#endif

// Batches in flight; a further batch waits for the oldest one.
#define SPYI_CUDA_BATCHES 64u
#define SPYI_CUDA_BATCH_WORK 256u // operations after which a batch ends, to free its pages
// The bytes used in the pages of a batch after which the batch ends.
#define SPYI_CUDA_BATCH_BYTES (4u << 20)
// The bytes of a page, which serves small uploads and parameters.
#define SPYI_CUDA_PAGE_SIZE ((size_t)256 << 10)
// The most bytes that are uploaded through a page; larger uploads use staging buffers.
#define SPYI_CUDA_SMALL_UPLOAD 65536u
#define SPYI_CUDA_STAGING_COUNT 4u // half of the buffers for the GPU, half for the copy team
#define SPYI_CUDA_STAGING_SIZE ((size_t)8 << 20)
// Buffer size for transfers of up to eight times this size.
#define SPYI_CUDA_STAGING_LEAST ((size_t)1 << 20)
// The bytes from which on a read uses staging buffers; smaller reads use the driver's pageable copy.
#define SPYI_CUDA_DRIVER_READ ((size_t)8 << 20)
#define SPYI_CUDA_RECENT 8u // kernels that the error names when the device is lost
#define SPYI_CUDA_MOST_PARAMS 64u
#define SPYI_CUDA_REPEATING 64u // largest number of kernels that have a graph of their own
// Largest parameter block of a kernel with a graph of its own. A graph whose parameters change at each launch
// takes longer with more of them: as long as cuLaunchKernel with about 2,200 bytes.
#define SPYI_CUDA_REPEAT_BYTES 1024u

// >>nvrtc.c: NVRTC, opened at run time

// The functions of NVRTC that the library uses, as X(name, arguments). All of them exist since CUDA 11.2.
#define SPYI_NVRTC_FUNCTIONS(X)                                                                              \
    X(Version, (int *major, int *minor))                                                                     \
    X(GetNumSupportedArchs, (int *count))                                                                    \
    X(GetSupportedArchs, (int *archs))                                                                       \
    X(CreateProgram, (void **program, const char *source, const char *name, int header_count,                \
                      const char *const *headers, const char *const *names))                                 \
    X(DestroyProgram, (void **program))                                                                      \
    X(CompileProgram, (void *program, int count, const char *const *options))                                \
    X(GetProgramLogSize, (void *program, size_t *size))                                                      \
    X(GetProgramLog, (void *program, char *log))                                                             \
    X(GetCUBINSize, (void *program, size_t *size))                                                           \
    X(GetCUBIN, (void *program, char *data))                                                                 \
    X(GetPTXSize, (void *program, size_t *size))                                                             \
    X(GetPTX, (void *program, char *data))

#define SPYI_NVRTC_MOST_ARCHS 64

typedef struct spyi_nvrtc {
    void *library; // NULL means not opened; an opened library stays open until the process ends
    char path[512];
    int major, minor;
    int archs[SPYI_NVRTC_MOST_ARCHS]; // the architectures that NVRTC supports; 90 means sm_90
    int arch_count;
#define SPYI_NVRTC_MEMBER(name, arguments) int(*name) arguments;
    SPYI_NVRTC_FUNCTIONS(SPYI_NVRTC_MEMBER)
#undef SPYI_NVRTC_MEMBER
} spyi_nvrtc;

// Opens the library at `path`; without one that at SLANGPY_NVRTC_LIBRARY; without that the one that the
// search finds. Returns SPY_ERROR_NO_COMPILER when none can be opened; `error` then lists all paths that were
// tried.
SPYI_FN spy_status spyi_nvrtc_open(const char *path, spyi_nvrtc *nvrtc, spyi_text *error);
// Like spyi_nvrtc_open(), but remembers the library, so that a process searches for it only once. Threads:
// any.
SPYI_FN spy_status spyi_nvrtc_find(const char *path, spyi_nvrtc *nvrtc, spyi_text *error);
// Copies the library that spyi_nvrtc_find() has found before for `path`; false when there is none.
SPYI_FN bool spyi_nvrtc_is_found(const char *path, spyi_nvrtc *nvrtc);
// Compiles one program for compute capability `arch` (90 means 9.0). `code` becomes a cubin, or PTX for an
// older capability when this NVRTC does not know the device. Returns false when that fails; `log` then has
// the compiler's messages. With `portable` the code is PTX in any case, for `arch` or the newest capability
// before it.
SPYI_FN bool spyi_nvrtc_run(const spyi_nvrtc *nvrtc, int arch, bool portable, const char *source,
                            const char *name, const char *const *options, int option_count, spyi_text *code,
                            spyi_text *log);

// >>prelude.c: from a kernel's text to device code

// Compiles desc->code, which is CUDA text. On failure `error` has the compiler's messages. When the library's
// own prelude does not suffice but Slang's does, a message goes to the log of `ctx`.
SPYI_FN spy_status spyi_cuda_compile_text(spyi_context *ctx, const spyi_nvrtc *nvrtc,
                                          const spyi_profile *profile, const spyi_kernel_desc *desc,
                                          spyi_text *code, spyi_text *error);
// Returns the kernel's name in the code of spyi_cuda_compile_text(); the caller frees it. Returns NULL when
// out of memory.
SPYI_FN char *spyi_cuda_symbol(const spyi_kernel_desc *desc);

// >>mend_saved.c, mend_matrices.c, mend_additions.c: repairs of Slang's text

// Corrects the indices by which the text finds values that it saved in nested loops for the derivative, in
// place. Returns false when they may be wrong and the text is left as it was.
SPYI_FN bool spyi_cuda_order_saved(char *body);
// Lets [CudaKernel] functions read the matrices that they are called with in the order in which these were
// written, in place.
SPYI_FN void spyi_cuda_order_matrices(char *body);
// Turns the stores by which a derivative collects the gradients of an array's elements into additions.
// Returns false when such gradients may be wrong and the text is left as it was.
SPYI_FN bool spyi_cuda_add_elements(char **text, size_t *size, size_t prelude);
// spyi_backend.mend
SPYI_FN void spyi_cuda_mend(char **text, size_t *size, size_t prelude, spyi_code_faults *faults);

// >>the device

// One block of pinned host memory with a block of device memory of the same size, for a batch or a graph.
typedef struct spyi_cuda_page {
    struct spyi_cuda_page *next;
    char *host;
    spyi_cu_pointer device;
    size_t size, used;
} spyi_cuda_page;

// One batch of work, whose end is marked by one event. Batch number n uses slot n % SPYI_CUDA_BATCHES.
typedef struct spyi_cuda_batch {
    spyi_cu_event event;
    uint64_t number; // the number of the last batch that used the slot; 0 means that none did
    spyi_cuda_page *pages;
} spyi_cuda_batch;

typedef struct spyi_cuda_staging {
    void *host;
    size_t size;         // the bytes of the buffer; 0 means not allocated yet
    spyi_cu_event event; // recorded after the last use of the buffer
    bool used;
} spyi_cuda_staging;

// The graph of one node by which a kernel is launched repeatedly (repeat.c).
typedef struct spyi_cuda_repeat {
    spyi_cu_graph graph; // stays, because `node` also identifies the node of `exec`
    spyi_cu_node node;
    spyi_cu_exec exec;  // NULL means that the kernel has no graph
    uint32_t launches;  // counts launches while the kernel has no graph
    uint32_t last;      // gpu->recent_count at the last launch of the graph
    uint32_t groups[3]; // the group counts that `exec` holds; it holds the parameters in `block`
    char *block;        // allocated with the graph; NULL means that the kernel has no parameters
} spyi_cuda_repeat;

typedef struct spyi_cuda_kernel {
    spyi_kernel_base base; // must be the first member
    spyi_cu_module module;
    spyi_cu_function function;
    spyi_cu_pointer globals; // the address of the module's global parameters; 0 means that it has none
    size_t globals_size;
    uint32_t group[3];
    uint32_t param_count, params[SPYI_CUDA_MOST_PARAMS]; // the offsets of the parameters in the block
    spyi_parameter_place *places;                        // one for each uniform buffer
    uint32_t shared_bytes;
    bool block_by_address;
    bool repeats;  // the kernel may be launched by a graph of its own
    bool captured; // a graph of the program may launch the kernel, so its module stays loaded
    struct spyi_cuda_kernel *next_kept;
    spyi_cuda_repeat repeat;
    char label[64]; // the kernel's label, cut off if it is too long
} spyi_cuda_kernel;

// The device memory of a graph's node, from `at` on, into which the node's uniform buffers are copied.
typedef struct spyi_cuda_own {
    spyi_cu_pointer at;
    spyi_cu_pointer globals; // device copy of the kernel's global parameters; 0 means that it has none
    size_t globals_size;
} spyi_cuda_own;

typedef struct spyi_cuda_graph spyi_cuda_graph; // defined in graph.c

typedef struct spyi_cuda_gpu {
    spyi_gpu_base base; // must be the first member
    spyi_cu_driver cu;
    spyi_cu_device device;
    spyi_cu_context context;
    bool primary;      // the context is the retained primary context, not one of the program
    bool made_current; // the context was made current on a thread that had none
    bool lost;

    spyi_cu_stream stream, own_stream;
    spyi_cu_stream lane; // stream of the downloads that do not wait for all work

    // base.open is the number of the open batch, so base.open - 1 is the last batch whose event has been
    // recorded.
    uint64_t finished;   // last batch that is known to be finished
    uint64_t ordered;    // last batch that waited for a stream of the program
    spyi_cu_event order; // orders two streams; recorded again at each use
    uint32_t work;       // operations in the open batch
    size_t work_bytes;   // bytes used in the pages of the open batch
    spyi_cuda_batch batches[SPYI_CUDA_BATCHES];
    spyi_cuda_page *free_pages;

    char recent_label[SPYI_CUDA_RECENT][64]; // labels of the last kernels, a ring buffer
    uint64_t recent_batch[SPYI_CUDA_RECENT];
    uint32_t recent_count; // launches of all kernels

    spyi_cuda_staging upload[SPYI_CUDA_STAGING_COUNT], download[SPYI_CUDA_STAGING_COUNT];
    uint32_t upload_next;
    void *bounce; // pinned memory of SPYI_CUDA_SMALL_UPLOAD bytes for small reads; NULL means not allocated
                  // yet

    spyi_cu_event time_events[2]; // the device creates them at their first use
    int timing;                   // 0 means that no time was begun, 1 that one was begun, 2 that it has ended
    uint64_t timing_batch;        // the batch in which the time ended
    spyi_cu_module mark_module;   // the module of the kernel that stores the GPU's time
    spyi_cu_function mark;
    spyi_cu_module blit_module; // the module of the kernel that scales texels; NULL means that no blit was
                                // made yet
    spyi_cu_function blit;
    spyi_cu_pointer marks;

    spyi_cuda_graph *graph; // graph that is being recorded; NULL means that work runs at once
    bool direct_launches;   // spy_cuda_desc.direct_launches, or set by CUDA_LAUNCH_BLOCKING
    spyi_cuda_kernel *repeating[SPYI_CUDA_REPEATING];
    // Things that captured work uses until the device is released (capture.c): pages with its parameters, and
    // kernels that the core has destroyed.
    spyi_cuda_page *kept_pages;
    spyi_cuda_kernel *kept_kernels;

    char *nvrtc_path; // a copy of spy_cuda_desc.nvrtc_library; NULL means that it was not set
} spyi_cuda_gpu;

// >>driver.c
SPYI_FN spy_status spyi_cu_open(const char *path, spyi_cu_driver *cu, spyi_text *error);
// Appends e.g. "cuMemAlloc gave CUDA_ERROR_OUT_OF_MEMORY (2): out of memory" to `error`.
SPYI_FN void spyi_cu_say(const spyi_cu_driver *cu, spyi_cu_result result, const char *what, spyi_text *error);

// >>device.c
SPYI_FN size_t spyi_cuda_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error);
SPYI_FN spy_status spyi_cuda_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **gpu,
                                    spyi_text *error);
SPYI_FN void spyi_cuda_destroy(spyi_gpu *gpu);
// Appends what failed to `error` and returns the matching status. A fatal error of the context marks the
// device as lost.
SPYI_FN spy_status spyi_cuda_fail(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error);
// spyi_cuda_enter() makes the device's context current; every function that the core calls begins with it.
// Pass the result to spyi_cuda_leave().
SPYI_FN bool spyi_cuda_enter_slowly(spyi_cuda_gpu *gpu, spyi_cu_context now);
static inline bool spyi_cuda_enter(spyi_cuda_gpu *gpu) {
    spyi_cu_context now = NULL;
    (void)gpu->cu.CtxGetCurrent(&now);
    return SPYI_LIKELY(now == gpu->context) ? false : spyi_cuda_enter_slowly(gpu, now);
}
static inline void spyi_cuda_leave(spyi_cuda_gpu *gpu, bool pushed) {
    spyi_cu_context ours;
    if (pushed) (void)gpu->cu.CtxPopCurrent(&ours);
}
static inline spyi_cuda_gpu *spyi_cuda_cast(spyi_gpu *gpu) {
    return (spyi_cuda_gpu *)(void *)gpu;
}

// >>capture.c
// Allows this thread, until spyi_cuda_restore() gets the result, the calls of the driver that would make the
// captures of any thread invalid. Source: cuThreadExchangeStreamCaptureMode in CUDA's documentation.
static inline int spyi_cuda_relax(spyi_cuda_gpu *gpu) {
    int mode = SPYI_CU_CAPTURE_RELAXED;
    (void)gpu->cu.ThreadExchangeStreamCaptureMode(&mode);
    return mode;
}
static inline void spyi_cuda_restore(spyi_cuda_gpu *gpu, int mode) {
    (void)gpu->cu.ThreadExchangeStreamCaptureMode(&mode);
}
// Makes the calls of spyi_cuda_enter() and spyi_cuda_relax() for functions that are no hot path.
typedef struct spyi_cuda_entered {
    bool pushed;
    int mode;
} spyi_cuda_entered;
static inline spyi_cuda_entered spyi_cuda_enter_relaxed(spyi_cuda_gpu *gpu) {
    spyi_cuda_entered entered;
    entered.pushed = spyi_cuda_enter(gpu);
    entered.mode = spyi_cuda_relax(gpu);
    return entered;
}
static inline void spyi_cuda_leave_relaxed(spyi_cuda_gpu *gpu, spyi_cuda_entered entered) {
    spyi_cuda_restore(gpu, entered.mode);
    spyi_cuda_leave(gpu, entered.pushed);
}
// Returns whether the program captures the stream. The device's own stream is never captured.
SPYI_FN bool spyi_cuda_is_captured(const spyi_cuda_gpu *gpu, spyi_cu_stream stream);
SPYI_FN void spyi_cuda_watch(spyi_gpu *gpu);
// Returns SPY_ERROR_UNSUPPORTED while the stream is being captured; `error` then says that the device cannot
// `what` ("wait for") it.
SPYI_FN spy_status spyi_cuda_check_captured(spyi_cuda_gpu *gpu, const char *what, spyi_text *error);
SPYI_FN void spyi_cuda_keep_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel);
SPYI_FN void spyi_cuda_free_kept(spyi_cuda_gpu *gpu);

// >>stream.c
SPYI_FN spy_status spyi_cuda_make_stream(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_stream(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_check_lost(const spyi_cuda_gpu *gpu, spyi_text *error);
// Counts one operation in the stream, and ends the open batch when it is full. Call it after each operation.
SPYI_FN spy_status spyi_cuda_worked(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_end_batch(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_wait_for(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error);
// Marks all work as finished after a wait for the stream. The open batch ends without an event.
SPYI_FN spy_status spyi_cuda_all_done(spyi_cuda_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_use_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
// spyi_cuda_wait_stream() makes the device's stream wait for the present work of `stream`;
// spyi_cuda_signal_stream() makes `stream` wait for that of the device's stream.
SPYI_FN spy_status spyi_cuda_wait_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
SPYI_FN spy_status spyi_cuda_signal_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error);
SPYI_FN uint64_t spyi_cuda_finished_submit(spyi_gpu *gpu);
SPYI_FN spy_status spyi_cuda_submit(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);

// >>time.c
SPYI_FN void spyi_cuda_destroy_time(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_time_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_end(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);
SPYI_FN spy_status spyi_cuda_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_mark(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_time_store(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>memory.c
SPYI_FN spy_status spyi_cuda_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                            spyi_chunk *chunk, spyi_text *error);
SPYI_FN void spyi_cuda_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk);
// Takes `size` bytes of a page: pinned memory *host and device memory *device, valid until the open batch has
// finished, or for captured work until the device is released.
SPYI_FN spy_status spyi_cuda_take_bytes(spyi_cuda_gpu *gpu, size_t size, char **host, spyi_cu_pointer *device,
                                        spyi_text *error);
// Takes `size` bytes from a list of pages, valid until the list's owner frees the pages.
SPYI_FN spy_status spyi_cuda_take_from(spyi_cuda_gpu *gpu, spyi_cuda_page **pages, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error);
SPYI_FN void spyi_cuda_return_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages);
SPYI_FN void spyi_cuda_free_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages);

// >>kernel.c
SPYI_FN spy_status spyi_cuda_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);
SPYI_FN void spyi_cuda_open_compiler(const char *compiler);
SPYI_FN spy_status spyi_cuda_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                  spyi_text *error);
SPYI_FN void spyi_cuda_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);
SPYI_FN void spyi_cuda_free_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel);
SPYI_FN spy_status spyi_cuda_dispatch(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
// Returns whether all parameters are in the dispatch's block: the kernel has no uniform buffers, and its
// block is not in memory.
static inline bool spyi_cuda_is_plain(const spyi_cuda_kernel *kernel) {
    return kernel->base.uniform_count == 0 && !kernel->block_by_address;
}
// Returns the bytes of device memory that the dispatch's parameters need in addition to the launch itself.
SPYI_FN size_t spyi_cuda_param_memory(const spyi_cuda_kernel *kernel, const spyi_dispatch *dispatch);
// Fills `params` with pointers to the parameters for the launch. They point into the dispatch's block, or
// into a copy that is valid until the open batch has finished. Copies uniform buffers to the device memory of
// `own`, or of the open batch when `own` is NULL. *address, which the caller provides, receives the address
// of a block in memory; it must be valid as long as `params`.
SPYI_FN spy_status spyi_cuda_params(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                    spyi_cu_pointer *address, void *params[SPYI_CUDA_MOST_PARAMS],
                                    spyi_text *error);
// Returns the kernel's launch as the driver's description of a graph node. `values` must be valid as long as
// the result.
SPYI_FN spyi_cu_kernel_params spyi_cuda_node_params(const spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                                    void **values);
// Counts a launch, and remembers the kernel's label for the error message of a lost device.
SPYI_FN void spyi_cuda_launched(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel);

// >>repeat.c
SPYI_FN bool spyi_cuda_can_repeat(const spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel);
// Launches a kernel by its own graph and sets *result to the driver's result. Returns false, without a
// launch, when the kernel has no graph (yet). `params` point into `block`.
SPYI_FN bool spyi_cuda_repeat_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                     const void *block, void **params, spyi_cu_result *result);
SPYI_FN void spyi_cuda_repeat_free(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel);

// >>graph.c
SPYI_FN spy_status spyi_cuda_graph_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_end(spyi_gpu *gpu, spyi_graph **graph, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_change(spyi_gpu *gpu, spyi_graph *graph, uint32_t index,
                                          const spyi_work *dispatch, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_launch(spyi_gpu *gpu, spyi_graph *graph, spyi_text *error);
SPYI_FN void spyi_cuda_graph_destroy(spyi_gpu *gpu, spyi_graph *graph);
SPYI_FN bool spyi_cuda_graph_pays(const spyi_gpu *gpu); // defined in repeat.c
// These functions add work to the graph that is being recorded.
SPYI_FN spy_status spyi_cuda_graph_dispatch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                            const spyi_dispatch *dispatch, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_copy(spyi_cuda_gpu *gpu, spyi_cu_pointer to, spyi_cu_pointer from,
                                        uint64_t size, bool barrier, spyi_text *error);
SPYI_FN spy_status spyi_cuda_graph_fill(spyi_cuda_gpu *gpu, spyi_cu_pointer to, uint64_t size,
                                        uint32_t pattern, bool barrier, spyi_text *error);
// Adds the timestamp kernel: one thread, with `place` as its one parameter (8 bytes).
SPYI_FN spy_status spyi_cuda_graph_mark(spyi_cuda_gpu *gpu, spyi_cu_function function, spyi_cu_pointer place,
                                        spyi_text *error);

// >>image.c
static inline uint32_t spyi_cuda_level_size(uint32_t size, uint32_t level) {
    return level < 32 && size >> level ? size >> level : 1;
}
SPYI_FN uint32_t spyi_cuda_image_support(spyi_gpu *gpu, uint32_t number);
SPYI_FN spy_status spyi_cuda_create_image(spyi_gpu *base, const spyi_image_desc *desc, const char *label,
                                          spyi_image *image, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_image(spyi_gpu *base, spyi_image *image);
SPYI_FN spy_status spyi_cuda_create_sampler(spyi_gpu *base, const spy_sampler_desc *desc, uint64_t *sampler,
                                            spyi_text *error);
SPYI_FN void spyi_cuda_destroy_sampler(spyi_gpu *base, uint64_t sampler);
SPYI_FN spy_status spyi_cuda_create_view(spyi_gpu *base, const spyi_image *image, const spyi_image_desc *of,
                                         const spyi_image_view_desc *desc, uint64_t sampler, uint64_t *view,
                                         spyi_text *error);
SPYI_FN void spyi_cuda_destroy_view(spyi_gpu *base, uint64_t view, bool stored);
SPYI_FN spy_status spyi_cuda_add_handle(spyi_gpu *base, const spyi_binding *binding, uint64_t *handle,
                                        spyi_text *error);
SPYI_FN void spyi_cuda_remove_handle(spyi_gpu *base, spyi_binding_kind kind, uint64_t handle);
SPYI_FN spy_status spyi_cuda_image_bytes(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_image_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_image_blit(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_blit(spyi_cuda_gpu *gpu);
SPYI_FN spy_status spyi_cuda_image_clear(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);

// >>transfer.c
SPYI_FN spy_status spyi_cuda_copy(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_fill(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_upload(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN spy_status spyi_cuda_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error);
// Reads `size` bytes of device memory (at most SPYI_CUDA_SMALL_UPLOAD) in the order of `stream`, and waits
// for them.
SPYI_FN spy_status spyi_cuda_read_small(spyi_cuda_gpu *gpu, void *data, spyi_cu_pointer from, size_t size,
                                        spyi_cu_stream stream, spyi_text *error);
SPYI_FN void spyi_cuda_destroy_staging(spyi_cuda_gpu *gpu);

// >>cuda/driver.c -------------------------------------------------------------------------------------------

SPYI_COLD_BEGIN

// Opens the CUDA driver and describes its errors as text.

#if defined(_WIN32)
#define SPYI_CU_PATHS                                                                                        \
    { "nvcuda.dll" }
#else
// First the system's search, then the folders of containers and WSL.
#define SPYI_CU_PATHS                                                                                        \
    {                                                                                                        \
        "libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib64/libcuda.so.1",                 \
            "/usr/lib/wsl/lib/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1"                          \
    }
#endif

static bool spyi_cu_open_at(const char *path, spyi_cu_driver *cu, spyi_text *tried) {
    const char *missing = NULL;
    void *symbol;
    memset(cu, 0, sizeof *cu);
    cu->library = spyi_library_open(path);
    if (cu->library == NULL) {
        spyi_text_add(tried, "  %s: %s\n", path, spyi_library_error());
        return false;
    }
#define SPYI_CU_LOAD(name, symbol_name, arguments)                                                           \
    symbol = spyi_library_symbol(cu->library, symbol_name);                                                  \
    if (symbol != NULL) memcpy(&cu->name, &symbol, sizeof symbol);                                           \
    else if (missing == NULL) missing = symbol_name;
    SPYI_CU_FUNCTIONS(SPYI_CU_LOAD)
#undef SPYI_CU_LOAD
    if (missing == NULL) return true;
    spyi_text_add(tried, "  %s: is %s: it has no %s\n", path,
                  cu->DriverGetVersion != NULL ? "too old a CUDA driver" : "a library, but not CUDA's driver",
                  missing);
    spyi_library_close(cu->library);
    memset(cu, 0, sizeof *cu);
    return false;
}

SPYI_FN spy_status spyi_cu_open(const char *path, spyi_cu_driver *cu, spyi_text *error) {
    static const char *const paths[] = SPYI_CU_PATHS;
    size_t i, count = path != NULL ? 1 : sizeof paths / sizeof paths[0];
    spyi_text tried = { NULL, 0, 0 };
    spyi_cu_result result;
    bool found = false;
    for (i = 0; i < count && !found; i++) found = spyi_cu_open_at(path != NULL ? path : paths[i], cu, &tried);
    if (!found)
        spyi_text_add(
            error,
            "the CUDA driver cannot be opened. Tried:\n%sIt comes with NVIDIA's driver (libcuda.so.1 "
            "or nvcuda.dll), not with the toolkit",
            spyi_text_str(&tried));
    spyi_text_free(&tried);
    if (!found) return SPY_ERROR_NO_DEVICE;
    (void)cu->DriverGetVersion(&cu->version);
    if (cu->version < SPYI_CU_LEAST_VERSION) {
        spyi_text_add(error, "the CUDA driver is of CUDA %d.%d, CUDA %d.%d is the least that is needed",
                      cu->version / 1000, cu->version % 1000 / 10, SPYI_CU_LEAST_VERSION / 1000,
                      SPYI_CU_LEAST_VERSION % 1000 / 10);
        return SPY_ERROR_NO_DEVICE;
    }
    result = cu->Init(0);
    if (result == SPYI_CU_OK) return SPY_OK;
    spyi_cu_say(cu, result, "cuInit", error);
    if (result == SPYI_CU_NO_DEVICE) spyi_text_add(error, "; CUDA_VISIBLE_DEVICES may hide devices");
    return SPY_ERROR_NO_DEVICE;
}

SPYI_FN void spyi_cu_say(const spyi_cu_driver *cu, spyi_cu_result result, const char *what,
                         spyi_text *error) {
    const char *name = NULL, *text = NULL;
    (void)cu->GetErrorName(result, &name);
    (void)cu->GetErrorString(result, &text);
    spyi_text_add(error, "%s gave %s (%d): %s", what, name != NULL ? name : "an unknown error", result,
                  text != NULL ? text : "");
}

// >>cuda/nvrtc.c --------------------------------------------------------------------------------------------

// NVRTC, CUDA's compiler as a library: finds it, opens it, and runs one compilation. NVRTC needs its
// libnvrtc-builtins in the same folder, and no headers. Concurrent compilations need no lock.

// These are results of NVRTC's functions. Source: nvrtc.h.
enum { SPYI_NVRTC_OK = 0, SPYI_NVRTC_BUILTINS = 7 };

// >>where NVRTC may be, in the order of the search

#if defined(_WIN32)
static const char *const spyi_nvrtc_names[] = { "nvrtc64_130_0.dll", "nvrtc64_120_0.dll",
                                                "nvrtc64_112_0.dll" };
// `spyi_nvrtc_toolkit` lists folders below $CUDA_PATH; the second array lists folders below the packages of a
// Python environment.
static const char *const spyi_nvrtc_toolkit[] = { "bin/x64", "bin" };
static const char *const spyi_nvrtc_wheels[] = { "nvidia/cu13/bin/x86_64", "nvidia/cuda_nvrtc/bin" };
#else
static const char *const spyi_nvrtc_names[] = { "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2",
                                                "libnvrtc.so" };
static const char *const spyi_nvrtc_toolkit[] = { "lib64", "lib", "targets/x86_64-linux/lib" };
static const char *const spyi_nvrtc_wheels[] = { "nvidia/cu13/lib", "nvidia/cuda_nvrtc/lib" };
#endif
#define SPYI_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// Opens a library and fills the table of its functions. On failure `tried` has the reason.
static bool spyi_nvrtc_load(const char *path, spyi_nvrtc *nvrtc, spyi_text *tried) {
    const char *missing = NULL;
    void *symbol;
    void *library = spyi_library_open(path);
    int count = 0;
    memset(nvrtc, 0, sizeof *nvrtc);
    if (library == NULL) {
        spyi_text_add(tried, "  %s: %s\n", path, spyi_library_error());
        return false;
    }
#define SPYI_NVRTC_LOAD(name, arguments)                                                                     \
    symbol = spyi_library_symbol(library, "nvrtc" #name);                                                    \
    if (symbol != NULL) memcpy(&nvrtc->name, &symbol, sizeof symbol);                                        \
    else if (missing == NULL) missing = "nvrtc" #name;
    SPYI_NVRTC_FUNCTIONS(SPYI_NVRTC_LOAD)
#undef SPYI_NVRTC_LOAD
    if (missing != NULL) {
        spyi_text_add(tried, "  %s: is a library, but not NVRTC of CUDA 11.2 or later: it has no %s\n", path,
                      missing);
        spyi_library_close(library);
        return false;
    }
    nvrtc->library = library;
    (void)snprintf(nvrtc->path, sizeof nvrtc->path, "%s", path);
    (void)nvrtc->Version(&nvrtc->major, &nvrtc->minor);
    if (nvrtc->GetNumSupportedArchs(&count) == SPYI_NVRTC_OK && count > 0 && count <= SPYI_NVRTC_MOST_ARCHS &&
        nvrtc->GetSupportedArchs(nvrtc->archs) == SPYI_NVRTC_OK)
        nvrtc->arch_count = count;
    return true;
}

// Loads a library and compiles an empty kernel, because a library without its builtins cannot compile.
static bool spyi_nvrtc_try(const char *path, spyi_nvrtc *nvrtc, spyi_text *tried) {
    spyi_text code = { NULL, 0, 0 }, log = { NULL, 0, 0 };
    bool good;
    if (!spyi_nvrtc_load(path, nvrtc, tried)) return false;
    good = nvrtc->arch_count > 0 && spyi_nvrtc_run(nvrtc, nvrtc->archs[nvrtc->arch_count - 1], false,
                                                   "__global__ void f() {}", "probe", NULL, 0, &code, &log);
    if (!good) spyi_text_add(tried, "  %s: cannot compile: %s\n", path, spyi_text_str(&log));
    spyi_text_free(&code);
    spyi_text_free(&log);
    if (!good) memset(nvrtc, 0, sizeof *nvrtc); // the library stays open, because it may have threads
    return good;
}

// Tries all library names in a folder. A folder without any of them adds one line to `tried`.
static bool spyi_nvrtc_in_folder(const char *folder, const char *below, spyi_nvrtc *nvrtc, spyi_text *tried) {
    size_t i;
    bool found = false, any = false;
    for (i = 0; i < SPYI_COUNT(spyi_nvrtc_names) && !found; i++) {
        spyi_text path = { NULL, 0, 0 };
        spyi_text_add(&path, "%s%s%s/%s", folder, below[0] != '\0' ? "/" : "", below, spyi_nvrtc_names[i]);
        if (spyi_file_exists(spyi_text_str(&path))) {
            any = true;
            found = spyi_nvrtc_try(spyi_text_str(&path), nvrtc, tried);
        }
        spyi_text_free(&path);
    }
    if (!any)
        spyi_text_add(tried, "  %s%s%s: has no %s or the like\n", folder, below[0] != '\0' ? "/" : "", below,
                      spyi_nvrtc_names[0]);
    return found;
}

static bool spyi_nvrtc_in_toolkit(spyi_nvrtc *nvrtc, spyi_text *tried) {
    static const char *const variables[] = { "CUDA_PATH", "CUDA_HOME" };
    size_t i, k;
    for (i = 0; i <= SPYI_COUNT(variables); i++) {
        const char *folder = i < SPYI_COUNT(variables) ? getenv(variables[i]) : "/usr/local/cuda";
        if (folder == NULL || folder[0] == '\0') continue;
        for (k = 0; k < SPYI_COUNT(spyi_nvrtc_toolkit); k++)
            if (spyi_nvrtc_in_folder(folder, spyi_nvrtc_toolkit[k], nvrtc, tried)) return true;
    }
    return false;
}

// Searches where pip installs nvidia-cuda-nvrtc: in an environment, for one user, for all users.
static bool spyi_nvrtc_in_python(spyi_nvrtc *nvrtc, spyi_text *tried) {
    static const char *const variables[] = { "VIRTUAL_ENV", "CONDA_PREFIX", "HOME", NULL, NULL };
    static const char *const roots[] = { "", "", "/.local", "/usr/local", "/usr" };
    static const char *const kinds[] = { "site-packages", "dist-packages" };
    size_t i, kind, k;
    int version;
    bool found = false;
    for (i = 0; i < SPYI_COUNT(roots) && !found; i++) {
        const char *root = variables[i] != NULL ? getenv(variables[i]) : "";
        if (root == NULL || (variables[i] != NULL && root[0] == '\0')) continue;
        for (version = 20; version >= 7 && !found; version--) {
            for (kind = 0; kind < 2 * SPYI_COUNT(spyi_nvrtc_wheels) && !found; kind++) {
                spyi_text folder = { NULL, 0, 0 };
                bool any = false;
                k = kind / 2;
#if defined(_WIN32)
                spyi_text_add(&folder, "%s%s/Lib/%s/%s", root, roots[i], kinds[kind % 2],
                              spyi_nvrtc_wheels[k]);
#else
                spyi_text_add(&folder, "%s%s/lib/python3.%d/%s/%s", root, roots[i], version, kinds[kind % 2],
                              spyi_nvrtc_wheels[k]);
#endif
                any = spyi_file_exists(spyi_text_str(&folder)); // missing folders are too many to list
                if (any) found = spyi_nvrtc_in_folder(spyi_text_str(&folder), "", nvrtc, tried);
                spyi_text_free(&folder);
            }
        }
        if (!found) spyi_text_add(tried, "  %s%s/lib/python3.*: no nvidia-cuda-nvrtc\n", root, roots[i]);
    }
    return found;
}

static bool spyi_nvrtc_search(spyi_nvrtc *nvrtc, spyi_text *tried) {
    spyi_text folder = { NULL, 0, 0 };
    size_t i;
    bool found = false;
    spyi_own_folder(&folder);
    if (folder.size > 0) found = spyi_nvrtc_in_folder(spyi_text_str(&folder), "", nvrtc, tried);
    spyi_text_free(&folder);
    // The system's search also finds a library that torch has loaded.
    for (i = 0; i < SPYI_COUNT(spyi_nvrtc_names) && !found; i++)
        found = spyi_nvrtc_try(spyi_nvrtc_names[i], nvrtc, tried);
    return found || spyi_nvrtc_in_toolkit(nvrtc, tried) || spyi_nvrtc_in_python(nvrtc, tried);
}

SPYI_FN spy_status spyi_nvrtc_open(const char *path, spyi_nvrtc *nvrtc, spyi_text *error) {
    spyi_text tried = { NULL, 0, 0 };
    const char *named = getenv("SLANGPY_NVRTC_LIBRARY");
    bool found;
    if (path != NULL) { // an explicit path is the only one tried; the library never falls back silently
        spyi_text_add(&tried, "  (the desc's nvrtc_library)\n");
        found = spyi_nvrtc_try(path, nvrtc, &tried);
    } else if (named != NULL && named[0] != '\0') {
        spyi_text_add(&tried, "  (environment variable SLANGPY_NVRTC_LIBRARY)\n");
        found = spyi_nvrtc_try(named, nvrtc, &tried);
    } else {
        found = spyi_nvrtc_search(nvrtc, &tried);
    }
    if (!found)
        spyi_text_add(
            error,
            "CUDA's compiler library NVRTC cannot be opened. Tried:\n%sTo get it, run python3 -m pip install "
            "nvidia-cuda-nvrtc (or nvidia-cuda-nvrtc-cu12 for drivers of CUDA 12), or set "
            "SLANGPY_NVRTC_LIBRARY or spy_cuda_desc.nvrtc_library to its path",
            spyi_text_str(&tried));
    spyi_text_free(&tried);
    return found ? SPY_OK : SPY_ERROR_NO_COMPILER;
}

// >>once in a process

// The libraries that were found, by the name that was searched for; guarded by the global lock. Libraries
// beyond the array's size, or with longer names, are searched for again.
static struct {
    char name[512];
    spyi_nvrtc nvrtc;
} spyi_nvrtc_found[4];
static uint32_t spyi_nvrtc_found_count;

// Returns the path that spyi_nvrtc_open(path) would open, or "" when it would search.
static const char *spyi_nvrtc_name(const char *path) {
    const char *named = getenv("SLANGPY_NVRTC_LIBRARY");
    return path != NULL ? path : named != NULL ? named : "";
}

static bool spyi_nvrtc_look_up(const char *name, spyi_nvrtc *nvrtc) {
    uint32_t i;
    for (i = 0; i < spyi_nvrtc_found_count; i++) {
        if (strcmp(spyi_nvrtc_found[i].name, name) != 0) continue;
        *nvrtc = spyi_nvrtc_found[i].nvrtc;
        return true;
    }
    return false;
}

SPYI_FN bool spyi_nvrtc_is_found(const char *path, spyi_nvrtc *nvrtc) {
    bool found;
    spyi_global_lock();
    found = spyi_nvrtc_look_up(spyi_nvrtc_name(path), nvrtc);
    spyi_global_unlock();
    return found;
}

SPYI_FN spy_status spyi_nvrtc_find(const char *path, spyi_nvrtc *nvrtc, spyi_text *error) {
    const char *name = spyi_nvrtc_name(path);
    spyi_nvrtc other;
    spy_status status;
    if (spyi_nvrtc_is_found(path, nvrtc)) return SPY_OK;
    status = spyi_nvrtc_open(path, nvrtc, error);
    if (status != SPY_OK || strlen(name) >= sizeof spyi_nvrtc_found[0].name) return status;
    spyi_global_lock();
    if (!spyi_nvrtc_look_up(name, &other) && spyi_nvrtc_found_count < SPYI_COUNT(spyi_nvrtc_found)) {
        (void)snprintf(spyi_nvrtc_found[spyi_nvrtc_found_count].name, sizeof spyi_nvrtc_found[0].name, "%s",
                       name);
        spyi_nvrtc_found[spyi_nvrtc_found_count++].nvrtc = *nvrtc;
    }
    spyi_global_unlock();
    return SPY_OK;
}

// >>compiling

static bool spyi_nvrtc_take(int (*size_of)(void *, size_t *), int (*get)(void *, char *), void *program,
                            spyi_text *out) {
    size_t size = 0;
    char *data;
    bool good;
    if (size_of(program, &size) != SPYI_NVRTC_OK || size == 0) return false;
    data = (char *)spyi_malloc(size + 1);
    if (data == NULL) return false;
    good = get(program, data) == SPYI_NVRTC_OK;
    if (good) spyi_text_add_n(out, data, size);
    free(data);
    return good;
}

// Returns the newest architecture up to `arch` that this NVRTC supports; 0 when it supports none.
static int spyi_nvrtc_arch(const spyi_nvrtc *nvrtc, int arch) {
    int i, best = 0;
    for (i = 0; i < nvrtc->arch_count; i++)
        if (nvrtc->archs[i] <= arch && nvrtc->archs[i] > best) best = nvrtc->archs[i];
    return best;
}

SPYI_FN bool spyi_nvrtc_run(const spyi_nvrtc *nvrtc, int arch, bool portable, const char *source,
                            const char *name, const char *const *options, int option_count, spyi_text *code,
                            spyi_text *log) {
    const char *all[16];
    char target[64];
    void *program = NULL;
    int i, result, known = spyi_nvrtc_arch(nvrtc, arch);
    bool good, exact = known == arch && !portable;
    if (known == 0) {
        spyi_text_add(log, "NVRTC %d.%d makes no code for compute capability %d.%d: an older one does",
                      nvrtc->major, nvrtc->minor, arch / 10, arch % 10);
        return false;
    }
    // For a device that is newer than the compiler, the result is PTX, which the driver translates. Otherwise
    // it is a cubin. From NVRTC 12 on it is made for this very architecture, so that it may use instructions
    // that no other has (wgmma of sm_90a).
    (void)snprintf(target, sizeof target, "-arch=%s_%d%s", exact ? "sm" : "compute", known,
                   exact && known >= 90 && nvrtc->major >= 12 ? "a" : "");
    all[0] = target;
    for (i = 0; i < option_count && i < 15; i++) all[i + 1] = options[i];
    if (nvrtc->CreateProgram(&program, source, name, 0, NULL, NULL) != SPYI_NVRTC_OK) {
        spyi_text_add(log, "nvrtcCreateProgram failed");
        return false;
    }
    result = nvrtc->CompileProgram(program, i + 1, all);
    if (result == SPYI_NVRTC_OK)
        good = exact ? spyi_nvrtc_take(nvrtc->GetCUBINSize, nvrtc->GetCUBIN, program, code)
                     : spyi_nvrtc_take(nvrtc->GetPTXSize, nvrtc->GetPTX, program, code);
    else good = false;
    if (!good) {
        spyi_text words = { NULL, 0, 0 };
        (void)spyi_nvrtc_take(nvrtc->GetProgramLogSize, nvrtc->GetProgramLog, program, &words);
        spyi_text_add(log, "%s%s", spyi_text_str(&words),
                      words.size < 2 ? "nvrtcCompileProgram failed without a word" : "");
        if (result == SPYI_NVRTC_BUILTINS)
            spyi_text_add(log, "; libnvrtc-builtins belongs beside %s", nvrtc->path);
        spyi_text_free(&words);
    }
    (void)nvrtc->DestroyProgram(&program);
    return good;
}

// >>cuda/prelude.c ------------------------------------------------------------------------------------------

// Compiles Slang's CUDA text to device code. It first tries the library's own prelude, which compiles in a
// fifth of the time of Slang's and needs no CUDA headers for half. Text that fails with it is compiled with
// Slang's prelude, and the log says so.

// >>which parts of the library's prelude a text needs

enum {
    SPYI_BLOCK_VEC = 1,
    SPYI_BLOCK_ODDVEC = 2,
    SPYI_BLOCK_HALF = 4,
    SPYI_BLOCK_MAT = 8,
    SPYI_BLOCK_MATH = 16,
    SPYI_BLOCK_MATH64 = 32,
    SPYI_BLOCK_BUF = 64,
    SPYI_BLOCK_TENSOR = 128,
    SPYI_BLOCK_WAVE = 256,
    SPYI_BLOCK_TEX = 512,
    SPYI_BLOCK_GLOBALS = 1024,
    SPYI_BLOCK_SURFACE = 2048,
    SPYI_BLOCK_ALL = 2047 - SPYI_BLOCK_TEX - SPYI_BLOCK_GLOBALS
};

static const char *const spyi_block_macros[] = { "SPYI_VEC",  "SPYI_ODDVEC", "SPYI_HALF",   "SPYI_MAT",
                                                 "SPYI_MATH", "SPYI_MATH64", "SPYI_BUF",    "SPYI_TENSOR",
                                                 "SPYI_WAVE", "SPYI_TEX",    "SPYI_GLOBALS", "SPYI_SURFACE" };

// Prefixes of identifiers, and the blocks of the prelude that such identifiers need.
static const struct {
    const char *prefix;
    unsigned blocks;
} spyi_block_words[] = {
    { "float2", SPYI_BLOCK_VEC },
    { "float3", SPYI_BLOCK_VEC },
    { "float4", SPYI_BLOCK_VEC },
    { "int2", SPYI_BLOCK_VEC },
    { "int3", SPYI_BLOCK_VEC },
    { "int4", SPYI_BLOCK_VEC },
    { "uint2", SPYI_BLOCK_VEC },
    { "uint3", SPYI_BLOCK_VEC },
    { "uint4", SPYI_BLOCK_VEC },
    { "bool1", SPYI_BLOCK_VEC },
    { "bool2", SPYI_BLOCK_VEC },
    { "bool3", SPYI_BLOCK_VEC },
    { "bool4", SPYI_BLOCK_VEC },
    { "make_", SPYI_BLOCK_VEC },
    { "_slang_", SPYI_BLOCK_VEC },
    { "double1", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "double2", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "double3", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "double4", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "char", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "uchar", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "short", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "ushort", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "longlong", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "ulonglong", SPYI_BLOCK_VEC | SPYI_BLOCK_ODDVEC },
    { "__half", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "__ushort_as_half", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "half", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "F16_", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "U16_", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "I16_", SPYI_BLOCK_VEC | SPYI_BLOCK_HALF },
    { "Matrix", SPYI_BLOCK_VEC | SPYI_BLOCK_MAT },
    { "makeMatrix", SPYI_BLOCK_VEC | SPYI_BLOCK_MAT },
    { "F32_", SPYI_BLOCK_MATH },
    { "I32_", SPYI_BLOCK_MATH },
    { "U32_", SPYI_BLOCK_MATH },
    { "I64_", SPYI_BLOCK_MATH },
    { "U64_", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "F64_", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "U32_asdouble", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "_slang_fmod", SPYI_BLOCK_MATH | SPYI_BLOCK_MATH64 },
    { "StructuredBuffer", SPYI_BLOCK_BUF },
    { "RWStructuredBuffer", SPYI_BLOCK_BUF },
    { "ByteAddressBuffer", SPYI_BLOCK_BUF },
    { "RWByteAddressBuffer", SPYI_BLOCK_BUF },
    { "TensorView", SPYI_BLOCK_TENSOR },
    { "_wave", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "WarpMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getLane", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getActiveMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getConvergedMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "_getMultiPrefixMask", SPYI_BLOCK_VEC | SPYI_BLOCK_WAVE },
    { "tex1D", SPYI_BLOCK_TEX },
    { "tex2D", SPYI_BLOCK_TEX },
    { "tex3D", SPYI_BLOCK_TEX },
    { "texCube", SPYI_BLOCK_TEX },
    { "surf1D", SPYI_BLOCK_TEX },
    { "surf2D", SPYI_BLOCK_TEX },
    { "surf3D", SPYI_BLOCK_TEX },
    { "SLANG_globalParams", SPYI_BLOCK_GLOBALS },
};

// Returns the blocks that the text needs. This takes one pass over its identifiers, tens of microseconds.
static unsigned spyi_needed_blocks(const char *body) {
    unsigned blocks = 0;
    const char *c = body;
    while (*c != '\0') {
        size_t i;
        if (!spyi_is_word(*c)) {
            c++;
            continue;
        }
        for (i = 0; i < sizeof spyi_block_words / sizeof spyi_block_words[0]; i++)
            if (c[0] == spyi_block_words[i].prefix[0] &&
                strncmp(c, spyi_block_words[i].prefix, strlen(spyi_block_words[i].prefix)) == 0)
                blocks |= spyi_block_words[i].blocks;
        while (spyi_is_word(*c)) c++;
    }
    if (strstr(body, "Matrix<double") != NULL) blocks |= SPYI_BLOCK_ODDVEC; // its rows are double vectors
    if (strstr(body, "CUsurfObject") != NULL && strstr(body, "atomic") != NULL) blocks |= SPYI_BLOCK_SURFACE;
    return blocks;
}

static void spyi_add_prelude(unsigned blocks, spyi_text *out) {
    const char *const *line;
    uint32_t i;
    for (i = 0; i < sizeof spyi_block_macros / sizeof spyi_block_macros[0]; i++)
        if ((blocks & (1u << i)) != 0) spyi_text_add(out, "#define %s 1\n", spyi_block_macros[i]);
    for (line = spyi_text_prelude; *line != NULL; line++) spyi_text_add(out, "%s\n", *line);
}

// >>the kernel's text

// Appends text in which every kernel is replaced by a device function. Slang emits all [CudaKernel] functions
// of a module as kernels, also those that the wanted kernel calls like functions.
static void spyi_add_functions(const char *from, const char *end, spyi_text *out) {
    static const char global[] = "__global__";
    const char *at;
    while ((at = strstr(from, global)) != NULL && at < end) {
        spyi_text_add_n(out, from, (size_t)(at - from));
        spyi_text_add(out, "__device__ inline"); // the compiler removes functions that nothing calls
        from = at + sizeof global - 1;
    }
    spyi_text_add_n(out, from, (size_t)(end - from));
}

// Returns the position after the "(" of the kernel's declaration, and sets *begin to the start of the
// declaration. NULL means that the text has no such kernel. Slang appends a number to "main" and to other
// names that C++ reserves.
static const char *spyi_find_kernel(const char *body, const char *entry, const char **begin) {
    static const char global[] = "__global__ void ";
    size_t length = strlen(entry);
    int numbered;
    for (numbered = 0; numbered < 2; numbered++) {
        const char *at = body;
        while ((at = strstr(at, global)) != NULL) {
            *begin = at;
            at += sizeof global - 1;
            if (strncmp(at, entry, length) != 0) continue;
            at += length;
            if (numbered && *at == '_') do
                    at++;
                while (*at >= '0' && *at <= '9');
            if (*at == '(') return at + 1;
        }
    }
    return NULL;
}

// Appends the body with two changes: the kernel gets its label's name, for profilers, and its group size as
// launch bounds, so that the compiler limits its registers.
static bool spyi_add_body(const char *body, const spyi_kernel_desc *desc, const char *name, spyi_text *out) {
    const char *begin, *at = spyi_find_kernel(body, desc->entry, &begin);
    if (at == NULL) return false;
    spyi_add_functions(body, begin, out);
    spyi_text_add(out, "__global__ void __launch_bounds__(%u) %s(", spyi_interface_threads(&desc->iface),
                  name);
    spyi_add_functions(at, at + strlen(at), out);
    return true;
}

// Returns e.g. "spy_saxpy_1a2b3c4d"; no name of CUDA begins with "spy_".
SPYI_FN char *spyi_cuda_symbol(const spyi_kernel_desc *desc) {
    spyi_text name = { NULL, 0, 0 };
    const char *c;
    char *result;
    spyi_text_add(&name, "spy_");
    for (c = desc->label != NULL ? desc->label : desc->entry; *c != '\0'; c++)
        spyi_text_add(&name, "%c", spyi_is_word(*c) ? *c : '_');
    result = spyi_strdup(spyi_text_str(&name));
    spyi_text_free(&name);
    return result;
}

// >>groupshared variables
// The shared variables of CUDA have at most 48 KiB in a group. Dynamic shared memory, whose size each launch
// says, can be larger. Variables of a kernel that needs more are moved there, behind options.shared_bytes.
// The size of the array spy_groupshared tells the kernel's loader how much the options and the variables need
// together.

// The declaration of a shared variable begins with this mark, and "type name;" follows.
#define SPYI_SHARED_MARK "__device__ __shared__ "
#define SPYI_SHARED_LARGE "groupshared variables of more than 48 KiB"

typedef struct spyi_shared_variable {
    const char *begin, *end; // the text of the function's declaration, with the semicolon
    const char *name;
    size_t name_length;
} spyi_shared_variable;

// Finds the next shared variable from `at` on. Returns false when there is none.
static bool spyi_next_shared(const char *at, spyi_shared_variable *v) {
    const char *c = strstr(at, SPYI_SHARED_MARK);
    if (c == NULL) return false;
    v->begin = c;
    c += strcspn(c, ";");
    if (*c != ';') return false;
    v->end = c + 1;
    v->name = c;
    while (spyi_is_word(v->name[-1])) v->name--;
    v->name_length = (size_t)(c - v->name);
    return true;
}

// Appends a check of the size of all shared variables, which makes the compiler report SPYI_SHARED_LARGE.
static void spyi_add_shared_check(const char *body, spyi_text *out) {
    spyi_shared_variable v;
    if (!spyi_next_shared(body, &v)) return;
    spyi_text_add(out, "\nstatic_assert(0");
    for (; spyi_next_shared(body, &v); body = v.end)
        spyi_text_add(out, " + sizeof(%.*s)", (int)v.name_length, v.name);
    spyi_text_add(out, " <= 49152, \"" SPYI_SHARED_LARGE "\");\n");
}

// Appends the text with its variables in dynamic shared memory, from byte `first` on.
static void spyi_move_shared(const char *body, uint32_t first, spyi_text *out) {
    spyi_shared_variable v;
    unsigned number = 0;
    spyi_text_add(out,
                  "extern __shared__ __align__(16) unsigned char spyi_room[];\n"
                  "static constexpr size_t spyi_end_0 = %u;\n",
                  first);
    for (; spyi_next_shared(body, &v); body = v.end, number++) {
        const char *type = v.begin + sizeof SPYI_SHARED_MARK - 1;
        int length = (int)(v.name - type);
        spyi_text_add_n(out, body, (size_t)(v.begin - body));
        spyi_text_add(out,
                      "static constexpr size_t spyi_at_%u = (spyi_end_%u + 15) / 16 * 16, spyi_end_%u = "
                      "spyi_at_%u + sizeof(%.*s);\n#define %.*s (*(%.*s *)(spyi_room + spyi_at_%u))\n",
                      number, number, number + 1, number, length, type, (int)v.name_length, v.name, length,
                      type, number);
    }
    spyi_text_add(out, "%s\nextern \"C\" { __device__ unsigned char spy_groupshared[spyi_end_%u]; }\n", body,
                  number);
}

// >>compiling

enum { SPYI_NVRTC_OPTIONS = 8 };

// Sets `out` to the -I option for a folder with cuda_fp16.h, which only Slang's prelude needs; "" when there
// is none.
static void spyi_find_headers(spyi_text *out) {
    static const char *const folders[] = { NULL, NULL, "/usr/local/cuda", "/usr" };
    size_t i;
    for (i = 0; i < sizeof folders / sizeof folders[0]; i++) {
        const char *folder = i == 0 ? getenv("CUDA_PATH") : i == 1 ? getenv("CUDA_HOME") : folders[i];
        if (folder == NULL || folder[0] == '\0') continue;
        spyi_text_clear(out);
        spyi_text_add(out, "%s/include/cuda_fp16.h", folder);
        if (!spyi_file_exists(spyi_text_str(out))) continue;
        spyi_text_clear(out);
        spyi_text_add(out, "-I%s/include", folder);
        return;
    }
    spyi_text_clear(out);
}

// Fills NVRTC's options: the constant ones, then those for the module's options. Returns their number.
static int spyi_add_options(const spyi_profile *profile, const char *out[SPYI_NVRTC_OPTIONS]) {
    int count = 0;
    out[count++] = "-default-device";
    out[count++] = "-w";
    // By default NVRTC changes the process's stack limit during a compilation.
    out[count++] = "-modify-stack-limit=false";
    if (profile->float_mode == SPY_FLOAT_MODE_FAST) out[count++] = "-use_fast_math";
    if (profile->float_mode == SPY_FLOAT_MODE_PRECISE) out[count++] = "-fmad=false";
    if (profile->debug_info == SPY_DEBUG_INFO_LINES) out[count++] = "-lineinfo";
    if (profile->debug_info == SPY_DEBUG_INFO_FULL)
        out[count++] = "-G"; // this option turns optimisations
                             // off
    return count;
}

static bool spyi_compile_slim(const spyi_nvrtc *nvrtc, const spyi_profile *profile, const char *body,
                              const spyi_kernel_desc *desc, const char *name, unsigned blocks,
                              spyi_text *code, spyi_text *log) {
    const char *options[SPYI_NVRTC_OPTIONS];
    int count = spyi_add_options(profile, options);
    // -minimal omits what textures need; it exists since NVRTC 12.8.
    if ((blocks & SPYI_BLOCK_TEX) == 0 && nvrtc->major * 100 + nvrtc->minor >= 1208)
        options[count++] = "-minimal";
    spyi_text text = { NULL, 0, 0 };
    bool good;
    uint32_t failed = spyi_failed_allocations(); // NVRTC crashes on many texts that end early
    spyi_add_prelude(blocks, &text);
    good = spyi_add_body(body, desc, name, &text);
    spyi_add_shared_check(body, &text);
    if (spyi_failed_allocations() != failed) good = false;
    else if (!good) spyi_text_add(log, "the text has no kernel '%s'", desc->entry);
    else
        good = spyi_nvrtc_run(nvrtc, (int)profile->arch, profile->portable, spyi_text_str(&text),
                              desc->label != NULL ? desc->label : name, options, count, code, log);
    spyi_text_free(&text);
    return good;
}

static bool spyi_compile_full(const spyi_nvrtc *nvrtc, const spyi_profile *profile, const char *body,
                              const spyi_kernel_desc *desc, const char *name, spyi_text *code,
                              spyi_text *log) {
    const char *options[SPYI_NVRTC_OPTIONS];
    int count = spyi_add_options(profile, options);
    spyi_text text = { NULL, 0, 0 }, headers = { NULL, 0, 0 };
    bool good;
    uint32_t failed = spyi_failed_allocations();
    spyi_find_headers(&headers);
    if ((spyi_needed_blocks(body) & SPYI_BLOCK_HALF) != 0) options[count++] = "-DSLANG_CUDA_ENABLE_HALF=1";
    if (headers.size > 0) options[count++] = spyi_text_str(&headers);
    spyi_text_add_n(&text, (const char *)desc->code, desc->prelude_size);
    good = spyi_add_body(body, desc, name, &text) && spyi_failed_allocations() == failed &&
           spyi_nvrtc_run(nvrtc, (int)profile->arch, profile->portable, spyi_text_str(&text),
                          desc->label != NULL ? desc->label : name, options, count, code, log);
    spyi_text_free(&text);
    spyi_text_free(&headers);
    return good;
}

SPYI_FN spy_status spyi_cuda_compile_text(spyi_context *ctx, const spyi_nvrtc *nvrtc,
                                          const spyi_profile *profile, const spyi_kernel_desc *desc,
                                          spyi_text *code, spyi_text *error) {
    const char *body = (const char *)desc->code + desc->prelude_size;
    unsigned blocks = spyi_needed_blocks(body);
    spyi_text slim = { NULL, 0, 0 }, full = { NULL, 0, 0 }, moved = { NULL, 0, 0 };
    bool good;
    uint32_t failed = spyi_failed_allocations();
    char *entry = spyi_cuda_symbol(desc);
    if (entry == NULL) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    good = spyi_compile_slim(nvrtc, profile, body, desc, entry, blocks, code, &slim);
    // The size in the compiler's own message includes the gaps between the variables.
    if (!good && (strstr(spyi_text_str(&slim), SPYI_SHARED_LARGE) != NULL ||
                  strstr(spyi_text_str(&slim), "too much shared data") != NULL)) {
        spyi_move_shared(body, desc->iface.shared_bytes, &moved);
        body = spyi_text_str(&moved);
        spyi_text_clear(&slim);
        if (spyi_failed_allocations() == failed)
            good = spyi_compile_slim(nvrtc, profile, body, desc, entry, blocks, code, &slim);
    }
    if (!good && desc->prelude_size > 0 && spyi_failed_allocations() == failed) {
        good = spyi_compile_full(nvrtc, profile, body, desc, entry, code, &full);
        if (good)
            spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "kernel '%s' needs Slang's own CUDA prelude: %s", desc->label,
                      spyi_text_str(&slim));
    }
    if (!good) {
        spyi_text_add(error, "NVRTC %d.%d cannot compile kernel '%s':\n%s", nvrtc->major, nvrtc->minor,
                      desc->label != NULL ? desc->label : desc->entry, spyi_text_str(&slim));
        if (full.size > 0) spyi_text_add(error, "With Slang's own prelude:\n%s", spyi_text_str(&full));
    }
    free(entry);
    spyi_text_free(&slim);
    spyi_text_free(&full);
    spyi_text_free(&moved);
    return good ? SPY_OK : spyi_check_allocations(failed, SPY_ERROR_COMPILE, error);
}

// >>cuda/mend_saved.c ---------------------------------------------------------------------------------------

// Repairs, in CUDA text, the indices of values that a backward derivative saves in nested loops: reverses
// them where Slang has them in the wrong order. compiler/target_spirv_saved.c describes the fault.
//
// A value is saved as NAME[_pc_1][_pc_0] = ..., where _pc_0 and _pc_1 are loop counters. Each NAME ends in a
// number of its own.

typedef struct spyi_saved_group {
    char *from;  // the position of the "[" of the index
    size_t size; // the number of bytes of the index with both brackets
} spyi_saved_group;

// Finds the indices at `at`, "[..][..]", and returns their number.
static uint32_t spyi_saved_groups(char *at, spyi_saved_group out[SPYI_MOST_INDICES]) {
    uint32_t count = 0;
    while (*at == '[' && count < SPYI_MOST_INDICES) {
        int open = 0;
        char *end = at;
        do {
            open += (*end == '[') - (*end == ']');
            end++;
        } while (open && *end && *end != '\n');
        if (open) return 0;
        out[count].from = at;
        out[count++].size = (size_t)(end - at);
        at = end;
    }
    return count;
}

// Returns where the text before `at` last sets the counter of an index such as "[_pc_1]" to 0; NULL when the
// index is no counter. Slang may reuse a variable as counter that had another purpose, with its old name.
static const char *spyi_saved_text_begin(const char *body, const spyi_saved_group *group, const char *at) {
    char begin[80];
    const char *last = NULL;
    if (group->size > 50) return NULL;
    for (const char *c = group->from + 1; c < group->from + group->size - 1; c++)
        if (!spyi_is_word(*c)) return NULL;
    snprintf(begin, sizeof begin, "%.*s = int(0);", (int)(group->size - 2), group->from + 1);
    for (const char *c = strstr(body, begin); c && c < at; c = strstr(c + 1, begin))
        if (c == body || !spyi_is_word(c[-1])) last = c;
    return last;
}

static void spyi_saved_turn_text(const spyi_saved_group *groups, uint32_t depth) {
    char *from = groups[0].from;
    size_t size = (size_t)(groups[depth - 1].from + groups[depth - 1].size - from), at = 0;
    char *copy = (char *)spyi_malloc(size);
    if (!copy) return;
    for (uint32_t i = depth; i-- > 0; at += groups[i].size) memcpy(copy + at, groups[i].from, groups[i].size);
    memcpy(from, copy, size);
    free(copy);
}

// Reverses the first `depth` indices behind a name, everywhere in the text; with `turn` false it only checks.
// Returns false when the name has fewer indices somewhere.
static bool spyi_saved_turn_name(char *body, const char *name, size_t size, uint32_t depth, bool turn) {
    spyi_saved_group groups[SPYI_MOST_INDICES];
    char text[64];
    snprintf(text, sizeof text, "%.*s[", (int)size, name);
    for (char *c = strstr(body, text); c; c = strstr(c + 1, text)) {
        if (c != body && spyi_is_word(c[-1])) continue;
        if (spyi_saved_groups(c + size, groups) < depth) return false;
        if (turn) spyi_saved_turn_text(groups, depth);
    }
    return true;
}

bool spyi_cuda_order_saved(char *body) {
    static const char counter[] = "[_pc_";
    spyi_text done = { NULL, 0, 0 }; // lists the names that are done, each as " NAME "
    bool clear = true;
    for (char *c = strstr(body, counter); c && clear; c = strstr(c + 1, counter)) {
        spyi_saved_group groups[SPYI_MOST_INDICES];
        uint32_t depth = 0, wrong = 0, right = 0, count;
        const char *before = NULL;
        char *name = c, mark[64];
        char *first = c; // `first` is the position of the first index
        for (int open = 0; first > body && first[-1] != '\n' && (open || first[-1] == ']'); first--)
            open += (first[-1] == ']') - (first[-1] == '[');
        name = first;
        while (name > body && spyi_is_word(name[-1])) name--;
        count = spyi_saved_groups(first, groups);
        if (name == first || first - name > 48 || count < 2) continue;
        if (strncmp(groups[count - 1].from + groups[count - 1].size, " = ", 3)) continue;
        for (; depth < count; depth++) {
            const char *begin = spyi_saved_text_begin(body, &groups[depth], name);
            if (!begin) break;
            wrong += before && before > begin;
            right += before && before < begin;
            before = begin;
        }
        snprintf(mark, sizeof mark, " %.*s ", (int)(first - name), name);
        if (strstr(spyi_text_str(&done), mark)) continue;
        spyi_text_add(&done, "%s", mark);
        if (depth < count || (wrong && right)) clear = false;
        else if (wrong)
            clear = spyi_saved_turn_name(body, name, (size_t)(first - name), depth, false) &&
                    spyi_saved_turn_name(body, name, (size_t)(first - name), depth, true);
    }
    spyi_text_free(&done);
    return clear;
}

// >>cuda/mend_matrices.c ------------------------------------------------------------------------------------

// Repairs, in CUDA text, the matrices that a kernel passes to a [CudaKernel] function. Slang passes a matrix
// in a struct of its numbers. With row-major layouts (2026.14.1) it writes them row by row and reads them in
// another order: a square matrix arrives transposed, and others with their numbers mixed up.
//
// The function that reads them is, for a float2x3,
//   __device__ Matrix<float, 2, 3>  unpackStorage_0(_MatrixStorage_float2x3_0 * _S1)
//   {
//       return makeMatrix<float, 2, 3> (_S1->data_1[int(0)], _S1->data_1[int(3)], _S1->data_1[int(1)], ...);

// Returns the position behind a type's name such as "_MatrixStorage_float2x3_0", or NULL if another name
// stands at `c`. Names of storage with layouts for memory have a word before the last number.
static const char *spyi_matrix_storage(const char *c) {
    static const char begin[] = "_MatrixStorage_";
    const char *end = c, *number;
    if (strncmp(c, begin, sizeof begin - 1) != 0) return NULL;
    while (spyi_is_word(*end)) end++;
    for (number = end; number > c && number[-1] >= '0' && number[-1] <= '9';) number--;
    bool good = number < end && number - c > (ptrdiff_t)sizeof begin + 3 && number[-1] == '_' &&
                number[-2] >= '1' && number[-2] <= '4' && number[-3] == 'x';
    return good ? end : NULL;
}

// Writes the arguments "P[int(a)], P[int(b)], ..." again in the order of their numbers, which are 0 to n - 1.
// Leaves other arguments as they are. The text keeps its size.
static void spyi_matrix_order(char *c, const char *end) {
    enum { SPYI_MATRIX_MOST = 16 };
    static const char index[] = "[int(";
    char *out = c, *open = strstr(c, index);
    spyi_text prefix = { NULL, 0, 0 };
    uint32_t seen = 0, count = 0;
    if (!open || open >= end) return;
    spyi_text_add_n(&prefix, c, (size_t)(open - c) + sizeof index - 1);
    bool good = spyi_text_str(&prefix)[0] != 0;
    while (good && c < end) {
        unsigned long number = SPYI_MATRIX_MOST;
        good = strncmp(c, spyi_text_str(&prefix), prefix.size) == 0;
        if (good) number = strtoul(c + prefix.size, &c, 10);
        good = good && number < SPYI_MATRIX_MOST && !(seen & 1u << number) && strncmp(c, ")]", 2) == 0;
        if (!good) break;
        seen |= 1u << number;
        count++;
        c += 2;
        if (c < end && (good = strncmp(c, ", ", 2) == 0)) c += 2;
    }
    if (good && seen == (1u << count) - 1) {
        const char after = *end; // snprintf() writes a NUL there
        for (uint32_t i = 0; i < count; i++)
            out += snprintf(out, (size_t)(end - out) + 1, "%s%s%u)]", i ? ", " : "", spyi_text_str(&prefix),
                            (unsigned)i);
        *out = after;
    }
    spyi_text_free(&prefix);
}

void spyi_cuda_order_matrices(char *body) {
    static const char name[] = " unpackStorage_", make[] = "return makeMatrix<";
    for (char *c = strstr(body, name); c; c = strstr(c + 1, name)) {
        const char *type = c + sizeof name - 1;
        while (*type >= '0' && *type <= '9') type++;
        type = *type == '(' ? spyi_matrix_storage(type + 1) : NULL;
        if (!type || strncmp(type, " * ", 3) != 0) continue;
        const char *close = strstr(type, "\n}");
        char *first = close ? strstr(c, make) : NULL;
        char *open = first && first < close ? strstr(first, "> (") : NULL;
        const char *end = open ? strstr(open, ");\n") : NULL;
        if (end && end < close) spyi_matrix_order(open + 3, end);
    }
}

// >>cuda/mend_additions.c -----------------------------------------------------------------------------------

// Repairs, in CUDA text, the gradients of array elements that are read at indices known only at run time:
// turns stores that overwrite one another into additions. compiler/target_spirv_additions.c describes the
// fault, and when a store may be changed.
//
// An element is stored as NAME[index] = ...; or, of a vector, as *_slang_vector_get_element_ptr(&NAME, index)
// = ...;

typedef struct spyi_addition_name {
    const char *at; // where the name stands in the text; NULL means a free slot of the hash table
    uint32_t size, assigned;
    uint32_t block, loose, stores; // these members mean the same as in spyi_addition_id
    bool zero;                     // the variable was assigned the zero of a gradient
    bool context, varies;
    const char *type; // where the declaration of the name begins, with the type
} spyi_addition_name;

typedef struct spyi_addition_text {
    spyi_addition_name *names; // this array is a hash table
    uint32_t capacity, used;   // `capacity` is a power of two
    const char **adds;         // lists statements that must become additions
    uint32_t add_count, block;
    bool failed, unclear;
} spyi_addition_text;

// One statement, or the head of a block with its "{", or a "}".
typedef struct spyi_addition_statement {
    const char *begin, *end, *equals; // `equals` points to the "=" of an assignment, or is NULL
    bool is_block;
} spyi_addition_statement;

static bool spyi_addition_digit(char c) {
    return c >= '0' && c <= '9';
}

// Gets the next identifier or number from `c` on and moves `c` behind it. Returns false when there is none
// before `end`.
static bool spyi_addition_token(const char **c, const char *end, const char **token, size_t *size) {
    const char *at = *c;
    for (; at < end && !spyi_is_word(*at); at++)
        while (*at == '#' && at + 1 < end && at[1] != '\n') at++; // skips a #line directive
    *token = at;
    while (at < end && (spyi_is_word(*at) || (*at == '.' && spyi_addition_digit(**token)))) at++;
    *c = at;
    *size = (size_t)(at - *token);
    return *size > 0;
}

static bool spyi_addition_begins(const char *token, size_t size, const char *with) {
    size_t n = strlen(with);
    return size >= n && memcmp(token, with, n) == 0;
}

static bool spyi_addition_contains(const char *token, size_t size, const char *text) {
    size_t n = strlen(text);
    for (size_t i = 0; i + n <= size; i++)
        if (memcmp(token + i, text, n) == 0) return true;
    return false;
}

// Returns the entry of a name. A new name gets one when `add` is true. NULL means that there is no entry, or
// that the table is full.
static spyi_addition_name *spyi_addition_find(spyi_addition_text *t, const char *name, size_t size,
                                              bool add) {
    uint32_t hash = (uint32_t)spyi_hash(name, size, 0);
    for (uint32_t i = hash & (t->capacity - 1);; i = (i + 1) & (t->capacity - 1)) {
        spyi_addition_name *n = &t->names[i];
        if (n->at && n->size == size && memcmp(n->at, name, size) == 0) return n;
        if (n->at) continue;
        if (!add || t->used + 1 >= t->capacity) return NULL;
        n->at = name;
        n->size = (uint32_t)size;
        t->used++;
        return n;
    }
}

// Gets the statement at `c`. Returns false at the end of the text.
static bool spyi_addition_next(const char *c, const char *end, spyi_addition_statement *s) {
    int depth = 0;
    memset(s, 0, sizeof *s);
    for (;;) {
        while (c < end && (*c == ' ' || *c == '\n' || *c == '\r' || *c == '\t')) c++;
        if (c >= end || *c != '#') break;
        while (c < end && *c != '\n') c++; // skips a #line directive
    }
    s->begin = c;
    for (; c < end; c++) {
        while (*c == '#' && c + 1 < end && c[1] != '\n') c++;
        if (*c == '"')
            for (c++; c < end && *c != '"'; c++) c += *c == '\\';
        if (*c == '{' && depth == 0 && !s->equals) s->is_block = true;
        if (*c == '}' && depth == 0) s->is_block = true;
        if ((*c == ';' && depth == 0) || s->is_block) {
            s->end = c + 1;
            return true;
        }
        depth += (*c == '(' || *c == '[' || *c == '{') - (*c == ')' || *c == ']' || *c == '}');
        if (*c == '=' && depth == 0 && !s->equals && c > s->begin && c[-1] == ' ' && c[1] == ' ')
            s->equals = c;
    }
    return false;
}

// Returns the variable that a statement assigns to or declares; NULL means that there is none. Sets *whole
// when it assigns to the variable itself and not to an element.
static spyi_addition_name *spyi_addition_target(spyi_addition_text *t, const spyi_addition_statement *s,
                                                bool *whole) {
    const char *end = s->equals ? s->equals : s->end - 1, *c = s->begin, *token, *last;
    size_t size, last_size;
    while (end > s->begin && (end[-1] == ' ' || end[-1] == '\n')) end--;
    *whole = false;
    if (s->is_block || !spyi_addition_token(&c, end, &token, &size) ||
        spyi_addition_begins(token, size, "return"))
        return NULL;
    if (token == s->begin && (*c == ' ' || *c == '<' || c == end)) { // the statement begins with "TYPE NAME"
                                                                     // or "NAME"
        last = end;
        while (last > s->begin && spyi_is_word(last[-1])) last--;
        last_size = (size_t)(end - last);
        if (last_size == 0 || (!s->equals && last == s->begin)) return NULL;
        *whole = true;
        spyi_addition_name *name = spyi_addition_find(t, last, last_size, true);
        if (!name) {
            t->failed = true;
        } else if (last != s->begin) {
            name->type = s->begin;
            name->context =
                spyi_addition_contains(s->begin, (size_t)(last - s->begin), SPYI_ADDITION_CONTEXT);
        }
        return name;
    }
    if (!s->equals) return NULL;
    if (spyi_addition_begins(token, size, "_slang_vector_get_element_ptr") &&
        !spyi_addition_token(&c, end, &token, &size))
        return NULL;
    return spyi_addition_find(t, token, size, false);
}

// Returns whether a stored element has an index that is known only at run time.
static bool spyi_addition_text_varies(const spyi_addition_statement *s) {
    for (const char *c = s->begin; c < s->equals; c++) {
        if (*c != '[' && *c != ',') continue;
        const char *digits = c + 1 + (c[1] == ' ');
        if (strncmp(digits, "int(", 4)) return true;
        for (digits += 4; spyi_addition_digit(*digits);) digits++;
        if (*digits != ')') return true;
    }
    return false;
}

// Returns whether an expression depends on gradients. `state` has a byte for each name, which is 1 when its
// value does.
static bool spyi_addition_text_gradient(spyi_addition_text *t, const char *c, const char *end,
                                        const uint8_t *state) {
    const char *token;
    size_t size;
    while (spyi_addition_token(&c, end, &token, &size)) {
        const spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        if (name && state[name - t->names]) return true;
    }
    return false;
}

// Returns whether an assigned value is a gradient's zero. An array's zero is made by a function and copied
// from a variable; "{ 0.0f, 0.0f }" is some other array.
static bool spyi_addition_text_zero(spyi_addition_text *t, const char *c, const char *end) {
    static const char *const types[] = { "make",   "Matrix", "float", "double", "half",
                                         "__half", "int",    "uint",  "bool" };
    const char *token;
    size_t size, zeros = 0;
    if (memchr(c, '{', (size_t)(end - c))) return false;
    while (spyi_addition_token(&c, end, &token, &size)) {
        const spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        bool type = false, zero = false;
        if (spyi_addition_digit(*token)) zero = strtod(token, NULL) == 0;
        else if (name) zero = name->zero && name->assigned == 1;
        else if (spyi_addition_contains(token, size, SPYI_ADDITION_ZERO)) zero = true;
        else
            for (size_t i = 0; i < sizeof types / sizeof *types; i++)
                type = type || spyi_addition_begins(token, size, types[i]);
        if (!zero && !type) return false;
        if (type && c < end && *c == '<') // a type with template arguments, such as Matrix<float, 3, 3>
            while (c < end && *c != '>') c++;
        zeros += zero;
    }
    return zeros > 0;
}

// Handles the variables that a call gets by address, each the first name behind a "&" that begins an
// argument: marks them in `state` as depending on gradients. With `state` NULL, counts the call as an
// assignment to each of them.
static void spyi_addition_arguments(spyi_addition_text *t, const spyi_addition_statement *s, uint8_t *state) {
    for (const char *c = s->begin; c < s->end; c++) {
        const char *token, *at = c + 1;
        size_t size;
        if (*c != '&' || c == s->begin || (c[-1] != '(' && c[-1] != ' ')) continue;
        if (!spyi_addition_token(&at, s->end, &token, &size)) break;
        spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        if (name && !state) name->assigned++;
        else if (name && !name->context) state[name - t->names] = 1;
    }
}

// Returns the variable that a statement Array_dzero_0(&NAME) sets to zero; NULL for other statements.
static spyi_addition_name *spyi_addition_zeroed(spyi_addition_text *t, const spyi_addition_statement *s) {
    const char *c = (const char *)memchr(s->begin, '(', (size_t)(s->end - s->begin)), *token;
    size_t size;
    if (s->is_block || s->equals || !c || c[1] != '&' ||
        !spyi_addition_contains(s->begin, (size_t)(c - s->begin), SPYI_ADDITION_ZERO) ||
        !spyi_addition_token(&c, s->end, &token, &size))
        return NULL;
    return spyi_addition_find(t, token, size, false);
}

// Counts a statement's assignments to variables, and notes which variables it sets to zero.
static void spyi_addition_text_count(spyi_addition_text *t, const spyi_addition_statement *s) {
    bool whole;
    spyi_addition_name *name = spyi_addition_target(t, s, &whole), *zeroed = spyi_addition_zeroed(t, s);
    if (name && s->equals) {
        name->zero = whole && spyi_addition_text_zero(t, s->equals, s->end);
        name->assigned++;
    } else if (!name && !s->is_block) {
        spyi_addition_arguments(t, s, NULL);
    }
    if (zeroed) zeroed->zero = true;
}

static void spyi_addition_begin_zero(spyi_addition_name *name, uint32_t block) {
    name->block = block;
    name->stores = name->loose = 0;
    name->varies = false;
}

// Handles one statement of a derivative: updates `state`, and lists the statement in t->adds when it must
// become an addition.
static void spyi_addition_text_follow(spyi_addition_text *t, const spyi_addition_statement *s,
                                      uint8_t *state) {
    bool whole, adds = false, gradient;
    spyi_addition_name *target = spyi_addition_target(t, s, &whole), *zeroed = spyi_addition_zeroed(t, s);
    const char *c = target ? s->equals : s->begin, *token;
    size_t size;
    while (c && spyi_addition_token(&c, s->end, &token, &size)) {
        spyi_addition_name *name = spyi_addition_find(t, token, size, false);
        if (name) name->block = 0; // the variable is read, or may be
    }
    if (zeroed) spyi_addition_begin_zero(zeroed, t->block);
    if (!s->equals) {
        bool backward = spyi_addition_begins(s->begin, (size_t)(s->end - s->begin), SPYI_ADDITION_BACKWARD);
        if (!target && (backward || spyi_addition_text_gradient(t, s->begin, s->end, state)))
            spyi_addition_arguments(t, s, state);
        else if (target) state[target - t->names] = 0;
        return;
    }
    if (!target) return;
    gradient = spyi_addition_text_gradient(t, s->equals, s->end, state);
    if (whole) {
        spyi_addition_begin_zero(target, spyi_addition_text_zero(t, s->equals, s->end) ? t->block : 0);
    } else {
        bool varies = spyi_addition_text_varies(s);
        if (target->block == t->block) {
            target->varies = target->varies || varies;
            adds = ++target->stores > 1 && target->varies && gradient;
        } else if (gradient && varies) {
            t->unclear = t->unclear || target->loose == t->block;
            target->loose = t->block;
        }
    }
    if (!target->context) state[target - t->names] = gradient || (!whole && state[target - t->names]);
    for (uint32_t i = 0; adds && i < t->add_count; i++)
        if (t->adds[i] == s->begin) adds = false;
    if (!adds) return;
    const char **list = (const char **)spyi_realloc(t->adds, (t->add_count + 1) * sizeof *list);
    if (!list) t->failed = true;
    if (!list) return;
    t->adds = list;
    t->adds[t->add_count++] = s->begin;
}

// Marks in `to` all names that `from` marks. Returns whether one of them is new.
static bool spyi_addition_join(const spyi_addition_text *t, uint8_t *to, const uint8_t *from) {
    bool fresh = false;
    for (uint32_t i = 0; i < t->capacity; i++) {
        fresh = fresh || to[i] < from[i];
        to[i] |= from[i];
    }
    return fresh;
}

static bool spyi_addition_is_head(const spyi_addition_statement *s, const char *word) {
    size_t n = strlen(word);
    return (size_t)(s->end - s->begin) > n && memcmp(s->begin, word, n) == 0 && !spyi_is_word(s->begin[n]);
}

// Handles the statements from `c` to the "}" of their block, and returns what follows that "}". `state` is
// the state before the block, and becomes the state after it. `breaks` and `continues` collect the states
// where control leaves the loop around the block, or goes on with it.
static const char *spyi_addition_text_block(spyi_addition_text *t, const char *c, const char *end,
                                            uint8_t *state, uint8_t *breaks, uint8_t *continues,
                                            uint32_t level) {
    spyi_addition_statement s;
    uint8_t *inner = (uint8_t *)spyi_calloc((size_t)t->capacity * 3, 1), *left = inner + t->capacity,
            *again = left + t->capacity;
    if (!inner || level == 0) {
        t->failed = true;
        free(inner);
        return end;
    }
    for (; !t->failed && spyi_addition_next(c, end, &s); c = s.end) {
        if (!s.is_block) {
            uint8_t *to = spyi_addition_is_head(&s, "break")      ? breaks
                          : spyi_addition_is_head(&s, "continue") ? continues
                                                                  : NULL;
            spyi_addition_text_follow(t, &s, state);
            if (to) spyi_addition_join(t, to, state);
            if (to || spyi_addition_is_head(&s, "return")) memset(state, 0, t->capacity);
            continue;
        }
        t->block++;
        if (s.end[-1] == '}') {
            c = s.end;
            break;
        }
        bool loop = spyi_addition_is_head(&s, "for") || spyi_addition_is_head(&s, "while") ||
                    spyi_addition_is_head(&s, "do");
        bool endless = spyi_addition_contains(s.begin, (size_t)(s.end - s.begin), "for(;;)");
        const char *body = s.end;
        memset(left, 0, t->capacity);
        memset(again, 0, t->capacity);
        if (loop || spyi_addition_is_head(&s, "switch")) {
            bool fresh = true;
            while (fresh && !t->failed) {
                memcpy(inner, state, t->capacity);
                s.end =
                    spyi_addition_text_block(t, body, end, inner, left, loop ? again : continues, level - 1);
                fresh = loop && spyi_addition_join(t, state, inner);
                fresh = (loop && spyi_addition_join(t, state, again)) || fresh;
            }
            if (!loop) spyi_addition_join(t, state, inner);
            if (endless) memset(state, 0, t->capacity);
            spyi_addition_join(t, state, left);
        } else if (spyi_addition_is_head(&s, "if")) {
            memcpy(inner, state, t->capacity);
            s.end = spyi_addition_text_block(t, body, end, inner, breaks, continues, level - 1);
            spyi_addition_statement other;
            if (spyi_addition_next(s.end, end, &other) && other.is_block &&
                spyi_addition_is_head(&other, "else")) {
                bool last = !spyi_addition_contains(other.begin, (size_t)(other.end - other.begin), "if");
                if (!last) memcpy(left, state, t->capacity); // the state when neither branch is taken
                s.end = spyi_addition_text_block(t, other.end, end, state, breaks, continues, level - 1);
                if (!last) spyi_addition_join(t, state, left);
            }
            spyi_addition_join(t, state, inner);
        } else {
            s.end = spyi_addition_text_block(t, body, end, state, breaks, continues, level - 1);
        }
        t->block++;
    }
    free(inner);
    return c;
}

static const char spyi_addition_helpers[] =
    "template<typename T, typename U> __device__ void spyi_addition_add(T &to, const U &by) { to = to + "
    "T(by); }\n"
    "template<typename T, size_t N> __device__ void spyi_addition_add(FixedArray<T, N> &to, const "
    "FixedArray<T, N> &by)\n"
    "{ for (size_t i = 0; i < N; i++) spyi_addition_add(to[i], by[i]); }\n";

typedef struct spyi_addition_output {
    const char *body;
    spyi_text text, structs; // `structs` lists names that have an addition function, each as " NAME "
    const char *copied;      // `text` contains the body up to here
    bool any;
} spyi_addition_output;

// Writes functions that add the structs in a type. Returns false when a struct's declaration is not found.
static bool spyi_addition_put_structs(spyi_addition_output *o, const char *type, const char *end,
                                      uint32_t level) {
    static const char *const known[] = { "FixedArray", "Matrix", "float", "double", "half", "__half" };
    const char *token;
    size_t size;
    while (spyi_addition_token(&type, end, &token, &size)) {
        char text[256];
        bool builtin = spyi_addition_digit(*token);
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            builtin = builtin || spyi_addition_begins(token, size, known[i]);
        snprintf(text, sizeof text, " %.*s ", (int)size, token);
        if (builtin || strstr(spyi_text_str(&o->structs), text)) continue;
        spyi_text_add(&o->structs, "%s", text);
        snprintf(text, sizeof text, "\nstruct %.*s\n{", (int)size, token);
        const char *c = strstr(o->body, text), *close = c ? strstr(c, "\n}") : NULL;
        spyi_addition_statement s;
        if (!close || level == 0 || size > 200) return false;
        const char *members = c + strlen(text);
        for (c = members; spyi_addition_next(c, close, &s); c = s.end) {
            const char *name = s.end - 1;
            while (spyi_is_word(name[-1])) name--;
            if (!spyi_addition_put_structs(o, s.begin, name, level - 1)) return false;
        }
        spyi_text_add(&o->text, "__device__ void spyi_addition_add(%.*s &to, const %.*s &by)\n{\n", (int)size,
                      token, (int)size, token);
        for (c = members; spyi_addition_next(c, close, &s); c = s.end) {
            const char *name = s.end - 1;
            while (spyi_is_word(name[-1])) name--;
            spyi_text_add(&o->text, "    spyi_addition_add(to.%.*s, by.%.*s);\n", (int)(s.end - 1 - name),
                          name, (int)(s.end - 1 - name), name);
        }
        spyi_text_add(&o->text, "}\n");
    }
    return true;
}

static bool spyi_addition_is_add(const spyi_addition_text *t, const spyi_addition_statement *s) {
    for (uint32_t i = 0; i < t->add_count; i++)
        if (t->adds[i] == s->begin) return true;
    return false;
}

// Writes the derivative with its additions, after the functions that these call.
static void spyi_addition_put_additions(spyi_addition_output *o, spyi_addition_text *t, const char *head,
                                        const char *from, const char *to) {
    spyi_addition_statement s;
    spyi_text_add_n(&o->text, o->copied, (size_t)(head - o->copied));
    if (!o->any) spyi_text_add(&o->text, "%s", spyi_addition_helpers);
    o->any = true;
    for (const char *c = from; spyi_addition_next(c, to, &s); c = s.end) {
        bool whole;
        if (!spyi_addition_is_add(t, &s)) continue;
        const spyi_addition_name *target = spyi_addition_target(t, &s, &whole);
        if (!target->type || !spyi_addition_put_structs(o, target->type, target->at, 8)) t->unclear = true;
    }
    o->copied = head;
    for (const char *c = from; spyi_addition_next(c, to, &s); c = s.end) {
        if (!spyi_addition_is_add(t, &s)) continue;
        spyi_text_add_n(&o->text, o->copied, (size_t)(s.begin - o->copied));
        spyi_text_add(&o->text, "spyi_addition_add(%.*s,%.*s);", (int)(s.equals - 1 - s.begin), s.begin,
                      (int)(s.end - s.equals - 2), s.equals + 1);
        o->copied = s.end;
    }
}

// Repairs one derivative, whose head begins at `head` and whose statements lie from `from` to `to`. Returns
// false when its gradients may be wrong and it cannot be repaired.
static bool spyi_addition_put_function(spyi_addition_output *o, const char *head, const char *from,
                                       const char *to) {
    spyi_addition_text t;
    spyi_addition_statement s;
    uint8_t *states = NULL;
    memset(&t, 0, sizeof t);
    for (t.capacity = 64; t.capacity < (size_t)(to - head) / 8; t.capacity *= 2) continue;
    t.names = (spyi_addition_name *)spyi_calloc(t.capacity, sizeof *t.names);
    // The function's state, and two for breaks and continues, which a valid text never uses.
    states = (uint8_t *)spyi_calloc(t.capacity, 3);
    t.failed = !t.names || !states;
    const char *parameter = strchr(head, '(') + 1;
    for (const char *c = parameter; !t.failed && c < from; c++) {
        if (*c != ',' && *c != ')') continue;
        const char *name = c;
        while (spyi_is_word(name[-1])) name--;
        if (name == c || spyi_addition_digit(*name)) continue; // skips a "," between template arguments
        spyi_addition_name *n = spyi_addition_find(&t, name, (size_t)(c - name), true);
        if (!n) break;
        n->context = spyi_addition_contains(parameter, (size_t)(c - parameter), SPYI_ADDITION_CONTEXT);
        n->assigned = 2;
        states[n - t.names] = !n->context;
        parameter = c + 1;
    }
    for (const char *c = from; !t.failed && spyi_addition_next(c, to, &s); c = s.end)
        spyi_addition_text_count(&t, &s);
    t.block = 1;
    if (!t.failed)
        spyi_addition_text_block(&t, from, to, states, states + t.capacity, states + 2 * (size_t)t.capacity,
                                 200);
    bool clear = !t.failed && !t.unclear;
    if (clear && t.add_count) spyi_addition_put_additions(o, &t, head, from, to);
    clear = clear && !t.unclear;
    free(t.adds);
    free(states);
    free(t.names);
    return clear;
}

bool spyi_cuda_add_elements(char **text, size_t *size, size_t prelude) {
    static const char name[] = "void " SPYI_ADDITION_BACKWARD;
    spyi_addition_output o;
    bool clear = true;
    memset(&o, 0, sizeof o);
    o.body = o.copied = *text + prelude;
    for (const char *c = strstr(o.body, name); c && clear; c = strstr(c + 1, name)) {
        const char *head = c, *open = strpbrk(c, "{;"), *close = open ? strstr(open, "\n}") : NULL;
        while (head > o.body && head[-1] != '\n') head--;
        if (!close || *open == ';') continue;
        clear = spyi_addition_put_function(&o, head, open + 1, close);
    }
    if (clear && o.any) {
        spyi_text_add_n(&o.text, o.copied, strlen(o.copied));
        size_t more = strlen(spyi_text_str(&o.text)) + 1;
        char *out = (char *)spyi_malloc(prelude + more);
        if (out) {
            memcpy(out, *text, prelude);
            memcpy(out + prelude, spyi_text_str(&o.text), more);
            free(*text);
            *text = out;
            *size = prelude + more;
        }
        clear = out != NULL;
    }
    spyi_text_free(&o.structs);
    spyi_text_free(&o.text);
    return clear;
}

void spyi_cuda_mend(char **text, size_t *size, size_t prelude, spyi_code_faults *faults) {
    spyi_cuda_order_matrices(*text + prelude);
    faults->saved = !spyi_cuda_order_saved(*text + prelude);
    faults->additions = !spyi_cuda_add_elements(text, size, prelude);
}

// >>cuda/device.c -------------------------------------------------------------------------------------------

// Creates and destroys CUDA devices: lists adapters, chooses one, takes or retains a context, and sets the
// device's limits.

// >>adapters

static int spyi_cuda_attribute(const spyi_cu_driver *cu, spyi_cu_device device, int attribute) {
    int value = 0;
    (void)cu->DeviceGetAttribute(&value, attribute, device);
    return value;
}

static void spyi_cuda_describe(const spyi_cu_driver *cu, spyi_cu_device device, spy_device_info *info) {
    size_t memory = 0;
    memset(info, 0, sizeof *info);
    info->backend = "cuda";
    (void)cu->DeviceGetName(info->name, (int)sizeof info->name, device);
    (void)cu->DeviceTotalMem(&memory, device);
    (void)snprintf(info->driver, sizeof info->driver, "CUDA %d.%d, compute capability %d.%d",
                   cu->version / 1000, cu->version % 1000 / 10,
                   spyi_cuda_attribute(cu, device, SPYI_CU_CAPABILITY_MAJOR),
                   spyi_cuda_attribute(cu, device, SPYI_CU_CAPABILITY_MINOR));
    info->type = spyi_cuda_attribute(cu, device, SPYI_CU_INTEGRATED) ? SPY_ADAPTER_TYPE_INTEGRATED
                                                                     : SPY_ADAPTER_TYPE_DISCRETE;
    info->api_version = (uint32_t)cu->version;
    info->features = SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 | SPY_FEATURE_INT16 |
                     SPY_FEATURE_INT64 | SPY_FEATURE_ATOMIC_FLOAT32_ADD | SPY_FEATURE_TIMESTAMPS |
                     SPY_FEATURE_SUBGROUPS | SPY_FEATURE_POINTERS | SPY_FEATURE_HANDLES;
    info->subgroup_size = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_WARP_SIZE);
    info->max_group_size = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MAX_THREADS_PER_BLOCK);
    info->max_group_count = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MAX_GRID_DIM_X);
    // From CUDA 12.1 on, kernels on Volta and later devices take up to 32,764 bytes of parameters.
    info->max_inline_block_bytes =
        cu->version >= 12010 && spyi_cuda_attribute(cu, device, SPYI_CU_CAPABILITY_MAJOR) >= 7 ? 32764 : 4096;
    info->memory_bytes = memory;
    info->max_binding_bytes = memory;
    info->timestamp_period_ns = 1; // %globaltimer counts nanoseconds
    info->multiprocessor_count = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MULTIPROCESSORS);
    info->max_shared_bytes = (uint32_t)spyi_cuda_attribute(cu, device, SPYI_CU_MAX_SHARED_BYTES);
    info->max_groupshared_bytes = info->max_shared_bytes;
}

SPYI_FN size_t spyi_cuda_enumerate(spy_device_info *infos, size_t capacity, spyi_text *error) {
    spyi_cu_driver cu;
    int count = 0, i;
    if (spyi_cu_open(NULL, &cu, error) != SPY_OK) return 0;
    (void)cu.DeviceGetCount(&count);
    for (i = 0; i < count && (size_t)i < capacity; i++) {
        spyi_cu_device device;
        if (cu.DeviceGet(&device, i) == SPYI_CU_OK) spyi_cuda_describe(&cu, device, &infos[i]);
        else memset(&infos[i], 0, sizeof infos[i]);
    }
    return count > 0 ? (size_t)count : 0;
}

static bool spyi_cuda_has_part(const char *name, const char *part) { // ignores case
    size_t i, n = strlen(part);
    for (; *name != '\0'; name++) {
        for (i = 0; i < n; i++) {
            char a = name[i], b = part[i];
            if (a >= 'A' && a <= 'Z') a = (char)(a - 'A' + 'a');
            if (b >= 'A' && b <= 'Z') b = (char)(b - 'A' + 'a');
            if (a != b) break;
        }
        if (i == n) return true;
    }
    return n == 0;
}

static spy_status spyi_cuda_choose(spyi_cuda_gpu *gpu, const spy_device_desc *desc, spyi_text *error) {
    spyi_cu_driver *cu = &gpu->cu;
    spy_device_info info;
    int count = 0, i, best = -1;
    (void)cu->DeviceGetCount(&count);
    if (desc->adapter > (uint32_t)count) {
        spyi_text_add(error, "desc.adapter is %u, there are %d CUDA devices", desc->adapter, count);
        return SPY_ERROR_NO_DEVICE;
    }
    for (i = 0; i < count; i++) {
        spyi_cu_device device;
        if (desc->adapter != 0 && (uint32_t)i + 1 != desc->adapter) continue;
        if (cu->DeviceGet(&device, i) != SPYI_CU_OK) continue;
        spyi_cuda_describe(cu, device, &info);
        if (desc->adapter_name != NULL && !spyi_cuda_has_part(info.name, desc->adapter_name)) continue;
        if (desc->adapter_type != SPY_ADAPTER_TYPE_DEFAULT && desc->adapter_type != info.type) continue;
        if (best >= 0 && info.type != SPY_ADAPTER_TYPE_DISCRETE)
            continue; // the first discrete device is chosen
        if (best >= 0 && gpu->base.limits.info.type == SPY_ADAPTER_TYPE_DISCRETE) continue;
        best = i;
        gpu->device = device;
        gpu->base.limits.info = info;
    }
    if (best >= 0) return SPY_OK;
    spyi_text_add(error, "none of the %d CUDA devices fits the desc", count);
    if (desc->adapter_name != NULL) spyi_text_add(error, " (adapter_name '%s')", desc->adapter_name);
    spyi_text_add(error, ":");
    for (i = 0; i < count; i++) {
        spyi_cu_device device;
        if (cu->DeviceGet(&device, i) != SPYI_CU_OK) continue;
        spyi_cuda_describe(cu, device, &info);
        spyi_text_add(error, "%s %d '%s'", i > 0 ? "," : "", i + 1, info.name);
    }
    return SPY_ERROR_NO_DEVICE;
}

// >>contexts

SPYI_FN bool spyi_cuda_enter_slowly(spyi_cuda_gpu *gpu, spyi_cu_context now) {
    if (now != NULL) return gpu->cu.CtxPushCurrent(gpu->context) == SPYI_CU_OK;
    gpu->made_current = true;
    (void)gpu->cu.CtxSetCurrent(
        gpu->context); // the thread had no context: it keeps the device's, so that the next call need not set
                       // it again
    return false;
}

static bool spyi_cuda_is_fatal(spyi_cu_result result) {
    switch (result) {
    case SPYI_CU_ILLEGAL_ADDRESS:
    case SPYI_CU_LAUNCH_TIMEOUT:
    case SPYI_CU_CONTEXT_DESTROYED:
    case SPYI_CU_ASSERT:
    case SPYI_CU_HARDWARE_STACK_ERROR:
    case SPYI_CU_ILLEGAL_INSTRUCTION:
    case SPYI_CU_MISALIGNED_ADDRESS:
    case SPYI_CU_INVALID_ADDRESS_SPACE:
    case SPYI_CU_INVALID_PC:
    case SPYI_CU_LAUNCH_FAILED:
    case SPYI_CU_ECC_UNCORRECTABLE:
    case SPYI_CU_NVLINK_UNCORRECTABLE: return true;
    default: return false;
    }
}

// Appends the labels of kernels that may have been running: the last kernels, in batches that are not known
// to be finished.
static void spyi_cuda_name_recent(const spyi_cuda_gpu *gpu, spyi_text *error) {
    uint32_t i, count = gpu->recent_count < SPYI_CUDA_RECENT ? gpu->recent_count : SPYI_CUDA_RECENT,
                named = 0;
    for (i = 0; i < count; i++) {
        uint32_t slot = (gpu->recent_count - 1 - i) % SPYI_CUDA_RECENT;
        if (gpu->recent_batch[slot] <= gpu->finished) break;
        spyi_text_add(error, "%s'%s'",
                      named++ > 0 ? ", " : "; its last kernels, newest first: ", gpu->recent_label[slot]);
    }
}

SPYI_FN spy_status spyi_cuda_fail(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error) {
    spyi_cu_say(&gpu->cu, result, what, error);
    if (spyi_cuda_is_fatal(result)) {
        if (!gpu->lost)
            spyi_text_add(error, "; the device is lost: work of batches %llu to %llu is not done",
                          (unsigned long long)gpu->finished + 1, (unsigned long long)gpu->base.open);
        if (!gpu->lost) spyi_cuda_name_recent(gpu, error);
        // All contexts of the process then return the same error, also new ones by cuCtxCreate or by a reset
        // of the primary context (measured: driver 580.159, H200).
        spyi_text_add(error, ", and so is CUDA for the rest of this process");
        gpu->lost = true;
        return SPY_ERROR_DEVICE_LOST;
    }
    return result == SPYI_CU_OUT_OF_MEMORY ? SPY_ERROR_OUT_OF_DEVICE_MEMORY : SPY_ERROR_INTERNAL;
}

// Uses the program's context and finds out its device.
static spy_status spyi_cuda_take_context(spyi_cuda_gpu *gpu, const spy_device_desc *desc, void *context,
                                         spyi_text *error) {
    spyi_cu_result result;
    spyi_cu_context before = NULL;
    gpu->context = (spyi_cu_context)context;
    result = gpu->cu.CtxPushCurrent(gpu->context);
    if (result == SPYI_CU_OK) {
        result = gpu->cu.CtxGetDevice(&gpu->device);
        (void)gpu->cu.CtxPopCurrent(&before);
    }
    if (result != SPYI_CU_OK) {
        spyi_cu_say(&gpu->cu, result, "the desc's CUDA context cannot be used: cuCtxGetDevice", error);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    spyi_cuda_describe(&gpu->cu, gpu->device, &gpu->base.limits.info);
    if (desc->adapter == 0 || desc->adapter == (uint32_t)gpu->device + 1) return SPY_OK;
    spyi_text_add(error, "desc.adapter is %u, but the given context is of device %d, '%s'", desc->adapter,
                  gpu->device + 1, gpu->base.limits.info.name);
    return SPY_ERROR_INVALID_ARGUMENT;
}

static spy_status spyi_cuda_retain_context(spyi_cuda_gpu *gpu, const spy_device_desc *desc,
                                           spyi_text *error) {
    spyi_cu_result result;
    spy_status status = spyi_cuda_choose(gpu, desc, error);
    if (status != SPY_OK) return status;
    result = gpu->cu.PrimaryCtxRetain(&gpu->context, gpu->device);
    gpu->primary = result == SPYI_CU_OK;
    if (result == SPYI_CU_OK) return SPY_OK;
    gpu->context = NULL;
    spyi_cu_say(&gpu->cu, result, "cuDevicePrimaryCtxRetain", error);
    spyi_text_add(error, " for '%s'", gpu->base.limits.info.name);
    if (spyi_cuda_is_fatal(result))
        spyi_text_add(error, "; a fault has ended CUDA's work in this process: start it anew");
    return result == SPYI_CU_OUT_OF_MEMORY ? SPY_ERROR_OUT_OF_DEVICE_MEMORY : SPY_ERROR_NO_DEVICE;
}

// >>devices

static void spyi_cuda_set_limits(spyi_cuda_gpu *gpu) {
    spyi_limits *limits = &gpu->base.limits;
    spyi_profile *profile = &limits->profile;
    spyi_profile_of_info(profile, &limits->info);
    profile->target = SPYI_TARGET_CUDA;
    profile->max_block_bytes = limits->info.max_inline_block_bytes;
    profile->max_bindings = 64; // buffers are ordinary kernel arguments; only uniform buffers are counted
    limits->binding_alignment = 16;
    limits->max_binding_bytes = UINT64_MAX / 2;
    profile->max_uniforms = 32;
    profile->max_uniform_bytes = 65536; // the size of the constant memory for global parameters
    limits->fill_alignment = 4;
    profile->bindings_from_bytes = UINT64_MAX; // arrays of any size are passed as pointers
    profile->tiles_from = SPYI_TILES_FROM;
    profile->arch = (uint32_t)(10 * spyi_cuda_attribute(&gpu->cu, gpu->device, SPYI_CU_CAPABILITY_MAJOR) +
                               spyi_cuda_attribute(&gpu->cu, gpu->device, SPYI_CU_CAPABILITY_MINOR));
}

static spy_status spyi_cuda_setup(spyi_cuda_gpu *gpu, const spy_device_desc *desc, spyi_text *error) {
    const spy_cuda_desc *given = (const spy_cuda_desc *)desc->backend_desc;
    spy_status status;
    spyi_cuda_entered entered;
    if (SPYI_DESC_PROBLEM(spy_cuda_desc, given) != NULL) {
        spyi_text_add(error, "desc.backend_desc: %s", SPYI_DESC_PROBLEM(spy_cuda_desc, given));
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_cu_open(given != NULL ? given->driver_library : NULL, &gpu->cu, error);
    if (status != SPY_OK) return status;
    if (given != NULL && given->nvrtc_library != NULL) {
        gpu->nvrtc_path = spyi_strdup(given->nvrtc_library);
        if (gpu->nvrtc_path == NULL) return SPY_ERROR_OUT_OF_MEMORY;
        gpu->base.compiler = gpu->nvrtc_path;
    }
    const char *blocking =
        getenv("CUDA_LAUNCH_BLOCKING"); // the driver's variable for debugging: each launch waits
    gpu->direct_launches =
        (given != NULL && given->direct_launches) || (blocking != NULL && strcmp(blocking, "1") == 0);
    gpu->base.borrowed = given != NULL && given->context != NULL;
    if (gpu->base.borrowed) status = spyi_cuda_take_context(gpu, desc, given->context, error);
    else status = spyi_cuda_retain_context(gpu, desc, error);
    if (status != SPY_OK) return status;
    spyi_cuda_set_limits(gpu);
    entered = spyi_cuda_enter_relaxed(gpu);
    status = spyi_cuda_make_stream(gpu, error);
    if (status == SPY_OK && given != NULL && given->stream != NULL)
        status = spyi_cuda_use_stream(gpu, (spyi_cu_stream)given->stream, error);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN spy_status spyi_cuda_create(spyi_context *ctx, const spy_device_desc *desc, spyi_gpu **out,
                                    spyi_text *error) {
    spyi_cuda_gpu *gpu = (spyi_cuda_gpu *)spyi_allocate(ctx, sizeof *gpu);
    spy_status status;
    *out = NULL;
    if (gpu == NULL) {
        spyi_text_add(error, "no host memory for the device");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    gpu->base.backend = spy_cuda_backend();
    gpu->base.ctx = ctx;
    gpu->base.open = 1;
    status = spyi_cuda_setup(gpu, desc, error);
    if (status != SPY_OK) {
        spyi_cuda_destroy((spyi_gpu *)(void *)gpu);
        return status;
    }
    spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "CUDA device '%s', %s", gpu->base.limits.info.name,
              gpu->base.limits.info.driver);
    *out = (spyi_gpu *)(void *)gpu;
    return SPY_OK;
}

// Also destroys a device whose creation has failed half-way.
SPYI_FN void spyi_cuda_destroy(spyi_gpu *base) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_context *ctx = gpu->base.ctx;
    if (gpu->context != NULL) {
        spyi_cu_context now = NULL;
        spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
        if (gpu->stream != NULL && !gpu->lost) {
            spyi_watch(&gpu->base);
            if (!gpu->base.captured) (void)gpu->cu.StreamSynchronize(gpu->stream);
        }
        spyi_cuda_free_kept(gpu);
        spyi_cuda_destroy_staging(gpu);
        spyi_cuda_destroy_time(gpu);
        spyi_cuda_destroy_blit(gpu);
        spyi_cuda_destroy_stream(gpu);
        spyi_cuda_leave_relaxed(gpu, entered);
        // A context that spyi_cuda_enter() has left current on this thread is removed, because its release
        // may destroy it.
        if (gpu->primary && gpu->made_current && gpu->cu.CtxGetCurrent(&now) == SPYI_CU_OK &&
            now == gpu->context)
            (void)gpu->cu.CtxSetCurrent(NULL);
        if (gpu->primary) (void)gpu->cu.PrimaryCtxRelease(gpu->device);
    }
    free(gpu->nvrtc_path);
    spyi_free(ctx, gpu, sizeof *gpu);
}

SPYI_COLD_END

// >>cuda/capture.c ------------------------------------------------------------------------------------------

// Streams that the program captures into a CUDA graph (cuStreamBeginCapture; torch.cuda.graph). What goes to
// such a stream does not run then. It runs at each launch of the program's graph, of which the device hears
// nothing. So, while the stream is being captured:
//
// - Work belongs to no batch. No event of the device is recorded in the stream or waited for from it: CUDA
//   refuses both, and the capture becomes invalid.
// - What the work uses stays as it is until the device is released: the pool's memory, the pages with
//   parameters, and kernels.
// - Nothing can be read back or waited for; errors say why.
// - The device's earlier work is done before the capture begins to get work, by a wait of the host, because
//   the graph cannot wait for it.
//
// Other calls of the driver that take part in no stream, such as cuMemAlloc, are forbidden by default while
// any thread captures. They are made between spyi_cuda_relax() and spyi_cuda_restore().

SPYI_FN bool spyi_cuda_is_captured(const spyi_cuda_gpu *gpu, spyi_cu_stream stream) {
    int state = 0;
    return stream != gpu->own_stream &&
           (gpu->cu.StreamIsCapturing(stream, &state) != SPYI_CU_OK || state != 0);
}

SPYI_FN void spyi_cuda_watch(spyi_gpu *base) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu), captured = spyi_cuda_is_captured(gpu, gpu->stream);
    gpu->base.recording = gpu->base.captured = captured;
    spyi_cuda_leave(gpu, pushed);
}

SPYI_FN spy_status spyi_cuda_check_captured(spyi_cuda_gpu *gpu, const char *what, spyi_text *error) {
    spyi_watch(&gpu->base);
    if (SPYI_LIKELY(!gpu->base.captured)) return SPY_OK;
    spyi_text_add(error,
                  "cannot %s a stream that is being captured: its work runs when the program launches the "
                  "CUDA graph",
                  what);
    return SPY_ERROR_UNSUPPORTED;
}

// >>what outlives the device's use of it

SPYI_FN void spyi_cuda_keep_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel) {
    kernel->next_kept = gpu->kept_kernels;
    gpu->kept_kernels = kernel;
}

SPYI_FN void spyi_cuda_free_kept(spyi_cuda_gpu *gpu) {
    while (gpu->kept_kernels != NULL) {
        spyi_cuda_kernel *kernel = gpu->kept_kernels;
        gpu->kept_kernels = kernel->next_kept;
        spyi_cuda_free_kernel(gpu, kernel);
    }
    spyi_cuda_free_pages(gpu, &gpu->kept_pages);
}

// >>cuda/stream.c -------------------------------------------------------------------------------------------

// The device's stream and its progress. Launches reach the GPU at once; an event after each batch of work
// tells when pages and blocks of the pool are free again.

SPYI_FN spy_status spyi_cuda_check_lost(const spyi_cuda_gpu *gpu, spyi_text *error) {
    if (SPYI_LIKELY(!gpu->lost)) return SPY_OK;
    spyi_text_add(error, "the device was lost earlier");
    return SPY_ERROR_DEVICE_LOST;
}

// >>batches

static void spyi_cuda_collect(spyi_cuda_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < SPYI_CUDA_BATCHES; i++) // skips the open batch, whose slot still has an old number
        if (gpu->batches[i].number <= gpu->finished && i != gpu->base.open % SPYI_CUDA_BATCHES)
            spyi_cuda_return_pages(gpu, &gpu->batches[i].pages);
}

static uint64_t spyi_cuda_poll(spyi_cuda_gpu *gpu) {
    int mode = spyi_cuda_relax(gpu);
    while (gpu->finished + 1 < gpu->base.open && !gpu->lost) {
        spyi_cuda_batch *batch = &gpu->batches[(gpu->finished + 1) % SPYI_CUDA_BATCHES];
        if (gpu->cu.EventQuery(batch->event) != SPYI_CU_OK) break; // the next wait reports a fault
        gpu->finished++;
    }
    spyi_cuda_restore(gpu, mode);
    return gpu->finished;
}

static spy_status spyi_cuda_wait_event(spyi_cuda_gpu *gpu, uint64_t number, spyi_text *error) {
    spyi_cu_result result;
    if (number <= gpu->finished) return SPY_OK;
    int mode = spyi_cuda_relax(gpu);
    result = gpu->cu.EventSynchronize(gpu->batches[number % SPYI_CUDA_BATCHES].event);
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuEventSynchronize", error);
    if (number > gpu->finished) gpu->finished = number;
    return SPY_OK;
}

// Ends the open batch, and waits until the slot of the next one is free.
static spy_status spyi_cuda_next_batch(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cuda_batch *next = &gpu->batches[(gpu->base.open + 1) % SPYI_CUDA_BATCHES];
    spy_status status = SPY_OK;
    gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].number = gpu->base.open;
    gpu->base.open++;
    gpu->work = 0;
    gpu->work_bytes = 0;
    gpu->base.stats.submits++;
    if (next->number > gpu->finished) status = spyi_cuda_wait_event(gpu, next->number, error);
    spyi_cuda_collect(gpu);
    return status;
}

SPYI_FN spy_status spyi_cuda_end_batch(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result;
    if (gpu->work == 0) return SPY_OK;
    result = gpu->cu.EventRecord(gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].event, gpu->stream);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    return spyi_cuda_next_batch(gpu, error);
}

SPYI_FN spy_status spyi_cuda_worked(spyi_cuda_gpu *gpu, spyi_text *error) {
    if (!SPYI_LIKELY(!gpu->base.captured)) return SPY_OK; // captured work belongs to no batch (capture.c)
    if (SPYI_LIKELY(++gpu->work < SPYI_CUDA_BATCH_WORK && gpu->work_bytes < SPYI_CUDA_BATCH_BYTES))
        return SPY_OK;
    return spyi_cuda_end_batch(gpu, error);
}

// >>waiting

SPYI_FN spy_status spyi_cuda_all_done(spyi_cuda_gpu *gpu, spyi_text *error) {
    gpu->finished = gpu->work > 0 ? gpu->base.open : gpu->base.open - 1;
    if (gpu->work > 0) return spyi_cuda_next_batch(gpu, error);
    spyi_cuda_collect(gpu);
    return SPY_OK;
}

// Waits for all work in the stream, without an event.
static spy_status spyi_cuda_wait_all(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result = gpu->cu.StreamSynchronize(gpu->stream);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuStreamSynchronize", error);
    return spyi_cuda_all_done(gpu, error);
}

static spy_status spyi_cuda_wait_time(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error) {
    uint64_t begin = spyi_time_ns();
    do {
        spyi_cu_result result;
        if (spyi_cuda_poll(gpu) >= number) return SPY_OK;
        int mode = spyi_cuda_relax(gpu);
        result = gpu->cu.EventQuery(gpu->batches[(gpu->finished + 1) % SPYI_CUDA_BATCHES].event);
        spyi_cuda_restore(gpu, mode);
        if (result != SPYI_CU_OK && result != SPYI_CU_NOT_READY)
            return spyi_cuda_fail(gpu, result, "cuEventQuery", error);
    } while (spyi_time_ns() - begin < timeout_ns);
    spyi_text_add(error, "the work had not finished when the time was over");
    return SPY_ERROR_NOT_READY;
}

SPYI_FN spy_status spyi_cuda_wait_for(spyi_cuda_gpu *gpu, uint64_t number, uint64_t timeout_ns,
                                      spyi_text *error) {
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status != SPY_OK || number <= gpu->finished) return status;
    if (number >= gpu->base.open) status = spyi_cuda_check_captured(gpu, "wait for", error);
    if (status != SPY_OK) return status;
    bool all =
        number >= gpu->base.open || (number + 1 == gpu->base.open && gpu->work == 0 && !gpu->base.watched);
    if (timeout_ns == UINT64_MAX && all) return spyi_cuda_wait_all(gpu, error);
    if (number >= gpu->base.open) {
        status = spyi_cuda_end_batch(gpu, error);
        if (status != SPY_OK) return status;
        number = gpu->base.open - 1;
    }
    if (timeout_ns != UINT64_MAX) return spyi_cuda_wait_time(gpu, number, timeout_ns, error);
    return spyi_cuda_wait_event(gpu, number, error);
}

// >>functions of the backend's table

SPYI_FN uint64_t spyi_cuda_finished_submit(spyi_gpu *base) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    uint64_t finished;
    bool pushed;
    if (gpu->lost) return gpu->base.open - 1; // no work of a lost device runs any more
    if (gpu->finished + 1 >= gpu->base.open) return gpu->finished;
    pushed = spyi_cuda_enter(gpu);
    finished = spyi_cuda_poll(gpu);
    spyi_cuda_leave(gpu, pushed);
    return finished;
}

SPYI_FN spy_status spyi_cuda_submit(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    bool pushed;
    if (status != SPY_OK || gpu->work == 0) return status;
    pushed = spyi_cuda_enter(gpu);
    status = spyi_cuda_check_captured(gpu, "mark the end of earlier work in", error);
    if (status == SPY_OK) status = spyi_cuda_end_batch(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_wait(spyi_gpu *base, uint64_t submit, uint64_t timeout_ns, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    spy_status status = spyi_cuda_wait_for(gpu, submit, timeout_ns, error);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

// >>streams

static spy_status spyi_cuda_check_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    spyi_cu_context context = NULL;
    spyi_cu_result result;
    if ((uintptr_t)stream <= 2)
        return SPY_OK; // the handles of the default streams belong to the current context
    result = gpu->cu.StreamGetCtx(stream, &context);
    if (result == SPYI_CU_OK && context == gpu->context) return SPY_OK;
    if (result != SPYI_CU_OK) spyi_cu_say(&gpu->cu, result, "cuStreamGetCtx", error);
    else
        spyi_text_add(error, "the stream is of another context than the device '%s'",
                      gpu->base.limits.info.name);
    return SPY_ERROR_INVALID_ARGUMENT;
}

// Makes further work of the stream `after` begin when the present work of the stream `before` is done.
static spy_status spyi_cuda_order(spyi_cuda_gpu *gpu, spyi_cu_stream before, spyi_cu_stream after,
                                  spyi_text *error) {
    bool captured = spyi_cuda_is_captured(gpu, before), waits = spyi_cuda_is_captured(gpu, after);
    spyi_cu_result result;
    if (captured && !waits) {
        spyi_text_add(error, "cannot wait for a stream that is being captured from one that is not: the "
                             "captured work runs when the program launches the CUDA graph");
        return SPY_ERROR_UNSUPPORTED;
    }
    result = gpu->cu.EventRecord(gpu->order, before);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    if (waits && !captured) { // a graph cannot wait for work outside, so the host does
        int mode = spyi_cuda_relax(gpu);
        result = gpu->cu.EventSynchronize(gpu->order);
        spyi_cuda_restore(gpu, mode);
        return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuEventSynchronize", error);
    }
    result = gpu->cu.StreamWaitEvent(after, gpu->order, 0);
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuStreamWaitEvent", error);
}

// Replaces a NULL *stream by the device's own stream and checks it. *other tells whether it differs from the
// stream that work goes to.
static spy_status spyi_cuda_other_stream(spyi_cuda_gpu *gpu, spyi_cu_stream *stream, bool *other,
                                         spyi_text *error) {
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (*stream == NULL) *stream = gpu->own_stream;
    *other = *stream != gpu->stream;
    return status == SPY_OK && *other ? spyi_cuda_check_stream(gpu, *stream, error) : status;
}

SPYI_FN spy_status spyi_cuda_wait_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    bool other;
    spy_status status = spyi_cuda_other_stream(gpu, &stream, &other, error);
    spyi_watch(&gpu->base);
    if (status == SPY_OK && other) status = spyi_cuda_order(gpu, stream, gpu->stream, error);
    if (status != SPY_OK || !other || gpu->base.captured) return status;
    gpu->work++; // this ends the batch, so that downloads on `lane` wait for its event
    gpu->ordered = gpu->base.open;
    return spyi_cuda_end_batch(gpu, error);
}

SPYI_FN spy_status spyi_cuda_signal_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    bool other;
    spy_status status = spyi_cuda_other_stream(gpu, &stream, &other, error);
    return status == SPY_OK && other ? spyi_cuda_order(gpu, gpu->stream, stream, error) : status;
}

// Makes work in `stream` begin after the work of all batches that have ended: a stream that is being captured
// cannot wait for them, so the host does.
static spy_status spyi_cuda_after_batches(spyi_cuda_gpu *gpu, spyi_cu_stream stream, bool captured,
                                          spyi_text *error) {
    uint64_t last = gpu->base.open - 1;
    spyi_cu_result result;
    if (gpu->finished >= last) return SPY_OK;
    if (captured) return spyi_cuda_wait_event(gpu, last, error);
    result = gpu->cu.StreamWaitEvent(stream, gpu->batches[last % SPYI_CUDA_BATCHES].event, 0);
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuStreamWaitEvent", error);
}

// Sends further work to `stream`, where it begins after the work of the old stream.
SPYI_FN spy_status spyi_cuda_use_stream(spyi_cuda_gpu *gpu, spyi_cu_stream stream, spyi_text *error) {
    bool other, captured;
    spy_status status = spyi_cuda_other_stream(gpu, &stream, &other, error);
    if (status != SPY_OK || !other) return status;
    spyi_watch(&gpu->base);
    captured = spyi_cuda_is_captured(gpu, stream);
    if (gpu->base.captured && gpu->work > 0) {
        spyi_text_add(error, "work from before the capture is in the stream that is being captured now, and "
                             "no other stream can wait for it: call spy_flush() before a capture begins");
        return SPY_ERROR_UNSUPPORTED;
    }
    status = spyi_cuda_end_batch(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_after_batches(gpu, stream, captured, error);
    if (status != SPY_OK) return status;
    gpu->stream = stream;
    gpu->base.watched = stream != gpu->own_stream;
    if (gpu->base.watched) gpu->base.borrowed = true;
    gpu->base.recording = gpu->base.captured = captured;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_make_stream(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result = gpu->cu.StreamCreate(&gpu->own_stream, SPYI_CU_STREAM_NON_BLOCKING);
    uint32_t i;
    if (result == SPYI_CU_OK) result = gpu->cu.StreamCreate(&gpu->lane, SPYI_CU_STREAM_NON_BLOCKING);
    if (result == SPYI_CU_OK) result = gpu->cu.EventCreate(&gpu->order, SPYI_CU_EVENT_DISABLE_TIMING);
    for (i = 0; i < SPYI_CUDA_BATCHES && result == SPYI_CU_OK; i++)
        result = gpu->cu.EventCreate(&gpu->batches[i].event, SPYI_CU_EVENT_DISABLE_TIMING);
    for (i = 0; i < SPYI_CUDA_STAGING_COUNT && result == SPYI_CU_OK; i++) {
        result = gpu->cu.EventCreate(&gpu->upload[i].event, SPYI_CU_EVENT_DISABLE_TIMING);
        if (result == SPYI_CU_OK)
            result = gpu->cu.EventCreate(&gpu->download[i].event, SPYI_CU_EVENT_DISABLE_TIMING);
    }
    gpu->stream = gpu->own_stream;
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuStreamCreate", error);
}

SPYI_FN void spyi_cuda_destroy_stream(spyi_cuda_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < SPYI_CUDA_BATCHES; i++) {
        spyi_cuda_free_pages(gpu, &gpu->batches[i].pages);
        if (gpu->batches[i].event != NULL) (void)gpu->cu.EventDestroy(gpu->batches[i].event);
    }
    spyi_cuda_free_pages(gpu, &gpu->free_pages);
    if (gpu->order != NULL) (void)gpu->cu.EventDestroy(gpu->order);
    if (gpu->lane != NULL) (void)gpu->cu.StreamDestroy(gpu->lane);
    if (gpu->own_stream != NULL) (void)gpu->cu.StreamDestroy(gpu->own_stream);
}

// >>cuda/time.c ---------------------------------------------------------------------------------------------

// GPU times: events before and after a call, and a kernel of one thread that stores the GPU's clock in
// memory.

// cuEventElapsedTime returns milliseconds as a float. Its resolution and that of the events is half a
// microsecond.

SPYI_FN spy_status spyi_cuda_time_begin(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result = SPYI_CU_OK;
    uint32_t i;
    if (status == SPY_OK) status = spyi_cuda_check_captured(gpu, "take the time of", error);
    for (i = 0; i < 2 && status == SPY_OK && result == SPYI_CU_OK; i++)
        if (gpu->time_events[i] == NULL)
            result = gpu->cu.EventCreate(&gpu->time_events[i], SPYI_CU_EVENT_DEFAULT);
    if (status == SPY_OK && result == SPYI_CU_OK)
        result = gpu->cu.EventRecord(gpu->time_events[0], gpu->stream);
    if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    if (status == SPY_OK) gpu->timing = 1;
    if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_time_end(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed;
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result;
    if (status != SPY_OK) return status;
    if (gpu->timing == 0) {
        spyi_text_add(error, "no time was begun");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    status = spyi_cuda_check_captured(gpu, "take the time of", error);
    if (status != SPY_OK) return status;
    pushed = spyi_cuda_enter(gpu);
    result = gpu->cu.EventRecord(gpu->time_events[1], gpu->stream);
    if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuEventRecord", error);
    if (status == SPY_OK) gpu->timing = 2, gpu->timing_batch = gpu->base.open;
    if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_time_elapsed(spyi_gpu *base, uint64_t *ns, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    bool pushed;
    float ms = 0;
    *ns = 0;
    if (status != SPY_OK) return status;
    if (gpu->timing != 2) {
        spyi_text_add(error, "no time was taken");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    pushed = spyi_cuda_enter(gpu);
    status = spyi_cuda_wait_for(gpu, gpu->timing_batch, UINT64_MAX, error);
    if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.EventElapsedTime(&ms, gpu->time_events[0], gpu->time_events[1]);
        if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuEventElapsedTime", error);
    }
    spyi_cuda_leave(gpu, pushed);
    *ns = (uint64_t)((double)ms * 1e6);
    return status;
}

// >>marks

// The kernel stores %globaltimer, the clock that all kernels of a device share, in nanoseconds; its step is
// 32 ns to 1 us. Source: PTX ISA, %globaltimer.
static const char spyi_cuda_mark_ptx[] = ".version 6.0\n"
                                         ".target sm_50\n"
                                         ".address_size 64\n"
                                         ".visible .entry spyi_mark(.param .u64 to)\n"
                                         "{\n"
                                         "    .reg .u64 %place, %time;\n"
                                         "    ld.param.u64 %place, [to];\n"
                                         "    cvta.to.global.u64 %place, %place;\n"
                                         "    mov.u64 %time, %globaltimer;\n"
                                         "    st.global.u64 [%place], %time;\n"
                                         "    ret;\n"
                                         "}\n";

static spy_status spyi_cuda_make_marks(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cu_result result = SPYI_CU_OK;
    if (gpu->marks != 0 && gpu->mark != NULL) return SPY_OK;
    int mode = spyi_cuda_relax(gpu);
    if (gpu->marks == 0) result = gpu->cu.MemAlloc(&gpu->marks, SPYI_TIME_SLOTS * sizeof(uint64_t));
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuMemAlloc for timestamps", error);
    mode = spyi_cuda_relax(gpu);
    if (gpu->mark_module == NULL) result = gpu->cu.ModuleLoadData(&gpu->mark_module, spyi_cuda_mark_ptx);
    spyi_cuda_restore(gpu, mode);
    if (result == SPYI_CU_OK) result = gpu->cu.ModuleGetFunction(&gpu->mark, gpu->mark_module, "spyi_mark");
    return result == SPYI_CU_OK
               ? SPY_OK
               : spyi_cuda_fail(gpu, result, "cuModuleLoadData of the timestamp kernel", error);
}

SPYI_FN spy_status spyi_cuda_time_mark(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    uint32_t slot = ((const spyi_time_mark_work *)(const void *)work)->slot;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_make_marks(gpu, error);
    if (status == SPY_OK && gpu->graph != NULL) {
        status = spyi_cuda_graph_mark(gpu, gpu->mark, gpu->marks + slot * sizeof(uint64_t), error);
    } else if (status == SPY_OK) {
        spyi_cu_pointer place = gpu->marks + slot * sizeof(uint64_t);
        void *params[1];
        spyi_cu_result result;
        params[0] = &place;
        result = gpu->cu.LaunchKernel(gpu->mark, 1, 1, 1, 1, 1, 1, 0, gpu->stream, params, NULL);
        if (result != SPYI_CU_OK)
            status = spyi_cuda_fail(gpu, result, "cuLaunchKernel of the timestamp kernel", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_time_store(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_time_store_work *store = (const spyi_time_store_work *)(const void *)work;
    spyi_cu_pointer at = store->to->address + store->offset;
    const size_t size = store->count * sizeof(uint64_t);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK && gpu->graph != NULL) { // with a barrier, because no hazards are tracked for the
                                                  // marks
        status = spyi_cuda_graph_copy(gpu, at, gpu->marks, size, true, error);
    } else if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.MemcpyAsync(at, gpu->marks, size, gpu->stream);
        if (result != SPYI_CU_OK) status = spyi_cuda_fail(gpu, result, "cuMemcpyAsync of timestamps", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN void spyi_cuda_destroy_time(spyi_cuda_gpu *gpu) {
    uint32_t i;
    for (i = 0; i < 2; i++)
        if (gpu->time_events[i] != NULL) (void)gpu->cu.EventDestroy(gpu->time_events[i]);
    if (gpu->mark_module != NULL) (void)gpu->cu.ModuleUnload(gpu->mark_module);
    if (gpu->marks != 0) (void)gpu->cu.MemFree(gpu->marks);
}

// Labels do nothing: profilers show the kernels' names, and ranges would need one more library, NVTX.
SPYI_FN spy_status spyi_cuda_label(spyi_gpu *gpu, const spyi_work *work, spyi_text *error) {
    (void)gpu, (void)work, (void)error;
    return SPY_OK;
}

// >>cuda/memory.c -------------------------------------------------------------------------------------------

// Memory: chunks for the pool, and pages of pinned memory for small uploads and for parameters in device
// memory.

static spyi_cu_result spyi_cuda_pinned(spyi_cuda_gpu *gpu, size_t size, spyi_chunk *chunk) {
    spyi_cu_pointer address = 0;
    spyi_cu_result result =
        gpu->cu.MemHostAlloc(&chunk->mapped, size, SPYI_CU_HOST_ALLOC_PORTABLE | SPYI_CU_HOST_ALLOC_MAPPED);
    if (result == SPYI_CU_OK) result = gpu->cu.MemHostGetDevicePointer(&address, chunk->mapped, 0);
    if (result != SPYI_CU_OK && chunk->mapped != NULL) (void)gpu->cu.MemFreeHost(chunk->mapped);
    if (result != SPYI_CU_OK) chunk->mapped = NULL;
    chunk->address = chunk->handle = address;
    return result;
}

SPYI_FN spy_status spyi_cuda_allocate_chunk(spyi_gpu *base, spyi_memory memory, size_t size,
                                            const char *label, spyi_chunk *chunk, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result;
    memset(chunk, 0, sizeof *chunk);
    if (status != SPY_OK) return status;
    size = spyi_align(size, 256);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    if (memory == SPYI_MEMORY_READBACK) {
        result = spyi_cuda_pinned(gpu, size, chunk);
    } else {
        result = gpu->cu.MemAlloc(&chunk->address, size);
        chunk->handle = chunk->address;
    }
    if (result == SPYI_CU_OK) {
        chunk->size = size;
        chunk->memory = gpu; // a pointer other than NULL tells spyi_cuda_free_chunk() to free the memory
        gpu->base.stats.driver_allocations++;
        gpu->base.stats.driver_bytes += size;
    } else {
        size_t unused = 0, total = 0;
        bool named = label != NULL && label[0] != '\0';
        (void)gpu->cu.MemGetInfo(&unused, &total);
        spyi_text_add(error, "%llu bytes were asked for%s%s%s, %llu of %llu are free; ",
                      (unsigned long long)size, named ? " for '" : "", named ? label : "", named ? "'" : "",
                      (unsigned long long)unused, (unsigned long long)total);
        status = spyi_cuda_fail(gpu, result, memory == SPYI_MEMORY_READBACK ? "cuMemHostAlloc" : "cuMemAlloc",
                                error);
        memset(chunk, 0, sizeof *chunk);
    }
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_free_chunk(spyi_gpu *base, spyi_chunk *chunk) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    if (chunk->memory != NULL) { // imported memory belongs to the program and has NULL here
        spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
        if (chunk->mapped != NULL) (void)gpu->cu.MemFreeHost(chunk->mapped);
        else (void)gpu->cu.MemFree(chunk->address);
        gpu->base.stats.driver_bytes -= chunk->size;
        spyi_cuda_leave_relaxed(gpu, entered);
    }
    memset(chunk, 0, sizeof *chunk);
}

// >>pages

static void spyi_cuda_free_page(spyi_cuda_gpu *gpu, spyi_cuda_page *page) {
    int mode = spyi_cuda_relax(gpu);
    if (page->host != NULL) (void)gpu->cu.MemFreeHost(page->host);
    if (page->device != 0) (void)gpu->cu.MemFree(page->device);
    spyi_cuda_restore(gpu, mode);
    gpu->base.stats.driver_bytes -= 2 * page->size; // the page has host memory and device memory of this size
    spyi_free(gpu->base.ctx, page, sizeof *page);
}

static spy_status spyi_cuda_new_page(spyi_cuda_gpu *gpu, size_t size, spyi_cuda_page **out,
                                     spyi_text *error) {
    spyi_cuda_page *page = (spyi_cuda_page *)spyi_allocate(gpu->base.ctx, sizeof *page);
    void *host = NULL;
    spyi_cu_result result;
    if (page == NULL) {
        spyi_text_add(error, "no host memory for a page of parameters");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    page->size = size;
    gpu->base.stats.driver_bytes += 2 * size;
    int mode = spyi_cuda_relax(gpu);
    result = gpu->cu.MemHostAlloc(&host, size, SPYI_CU_HOST_ALLOC_PORTABLE);
    page->host = (char *)host;
    if (result == SPYI_CU_OK) result = gpu->cu.MemAlloc(&page->device, size);
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) {
        spy_status status = spyi_cuda_fail(gpu, result, "a page of pinned memory: cuMemHostAlloc", error);
        spyi_cuda_free_page(gpu, page);
        return status;
    }
    gpu->base.stats.driver_allocations++;
    *out = page;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_take_from(spyi_cuda_gpu *gpu, spyi_cuda_page **list, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error) {
    spyi_cuda_page *page = *list;
    size_t rounded = spyi_align(size, 256); // cuMemAlloc aligns addresses to 256 bytes
    if (page == NULL || page->size - page->used < rounded) {
        if (rounded <= SPYI_CUDA_PAGE_SIZE && gpu->free_pages != NULL) {
            page = gpu->free_pages;
            gpu->free_pages = page->next;
        } else {
            spy_status status = spyi_cuda_new_page(
                gpu, rounded > SPYI_CUDA_PAGE_SIZE ? rounded : SPYI_CUDA_PAGE_SIZE, &page, error);
            if (status != SPY_OK) return status;
        }
        page->used = 0;
        page->next = *list;
        *list = page;
    }
    *host = page->host + page->used;
    *device = page->device + page->used;
    page->used += rounded;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_take_bytes(spyi_cuda_gpu *gpu, size_t size, char **host, spyi_cu_pointer *device,
                                        spyi_text *error) {
    // Each launch of a captured graph reads its parameters again, so they stay where they are.
    if (!SPYI_LIKELY(!gpu->base.captured))
        return spyi_cuda_take_from(gpu, &gpu->kept_pages, size, host, device, error);
    spyi_cuda_page **list = &gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].pages;
    spy_status status = spyi_cuda_take_from(gpu, list, size, host, device, error);
    if (status == SPY_OK) gpu->work_bytes += spyi_align(size, 256);
    return status;
}

// Returns pages whose work is done to the free list. Pages above the usual size are freed.
SPYI_FN void spyi_cuda_return_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages) {
    while (*pages != NULL) {
        spyi_cuda_page *page = *pages;
        *pages = page->next;
        if (page->size > SPYI_CUDA_PAGE_SIZE) {
            spyi_cuda_free_page(gpu, page);
            continue;
        }
        page->next = gpu->free_pages;
        gpu->free_pages = page;
    }
}

SPYI_FN void spyi_cuda_free_pages(spyi_cuda_gpu *gpu, spyi_cuda_page **pages) {
    while (*pages != NULL) {
        spyi_cuda_page *page = *pages;
        *pages = page->next;
        spyi_cuda_free_page(gpu, page);
    }
}

// >>cuda/kernel.c -------------------------------------------------------------------------------------------

// Kernels: loads device code as a module and launches it. spyi_cuda_dispatch() is the hot path, without
// allocations, locks or formatting.

// >>making

static spy_status spyi_cuda_check_kernel(const spyi_profile *profile, const spyi_kernel_desc *desc,
                                         spyi_text *error) {
    const spyi_interface *iface = &desc->iface;
    const spyi_kernel_base has = spyi_interface_counts(iface);
    if (!iface->block_by_address && iface->block_size > profile->max_block_bytes) {
        spyi_text_add(error, "the kernel's %u bytes of parameters exceed the device's %u", iface->block_size,
                      profile->max_block_bytes);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (has.value_count > SPYI_CUDA_MOST_PARAMS || has.uniform_count > profile->max_uniforms) {
        spyi_text_add(error,
                      "the kernel has %u parameters and %u uniform buffers, at most %u and %u are possible",
                      has.value_count, has.uniform_count, SPYI_CUDA_MOST_PARAMS, profile->max_uniforms);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                     const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error) {
    spyi_nvrtc nvrtc;
    spy_status status = spyi_cuda_check_kernel(profile, desc, error);
    if (status == SPY_OK) status = spyi_nvrtc_find(compiler, &nvrtc, error);
    if (status != SPY_OK) return status;
    if (ctx != NULL && spyi_atomic_swap_if(&ctx->told_compiler, 0, 1))
        spyi_logf(ctx, SPY_LOG_LEVEL_INFO, "NVRTC %d.%d: %s", nvrtc.major, nvrtc.minor, nvrtc.path);
    return spyi_cuda_compile_text(ctx, &nvrtc, profile, desc, blob, error);
}

SPYI_FN void spyi_cuda_open_compiler(const char *compiler) {
    spyi_nvrtc nvrtc;
    spyi_text ignored = { NULL, 0, 0 }; // compile will say it
    (void)spyi_nvrtc_find(compiler, &nvrtc, &ignored);
    spyi_text_free(&ignored);
}

// Returns whether desc->code is a cubin (an ELF file) or PTX, which must end with a NUL.
static bool spyi_cuda_is_code(const spyi_kernel_desc *desc) {
    const char *code = (const char *)desc->code;
    return desc->code_size > 4 && (memcmp(code, "\177ELF", 4) == 0 || code[desc->code_size - 1] == '\0');
}

// Allows the function the dynamic shared memory that its launches ask for. A launch may take up to 48 KiB
// without this. A kernel whose groupshared variables were moved there (prelude.c) says how much it needs.
static spy_status spyi_cuda_allow_shared(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, spyi_text *error) {
    uint32_t most = gpu->base.limits.info.max_shared_bytes, given = kernel->shared_bytes;
    spyi_cu_pointer room = 0;
    size_t moved = 0;
    int fixed = 0;
    if (gpu->cu.ModuleGetGlobal(&room, &moved, kernel->module, "spy_groupshared") == SPYI_CU_OK)
        kernel->shared_bytes = moved < UINT32_MAX ? (uint32_t)moved : UINT32_MAX;
    if (kernel->shared_bytes == 0) return SPY_OK;
    spyi_cu_result result = gpu->cu.FuncGetAttribute(&fixed, SPYI_CU_FUNC_SHARED_BYTES, kernel->function);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuFuncGetAttribute", error);
    if ((uint64_t)fixed + kernel->shared_bytes > most) {
        spyi_text_add(error,
                      "kernel '%s' has %u bytes of groupshared variables; with shared_bytes %u a group has "
                      "more than the device's %u",
                      kernel->label, (uint32_t)fixed + kernel->shared_bytes - given, given, most);
        return SPY_ERROR_UNSUPPORTED;
    }
    result = gpu->cu.FuncSetAttribute(kernel->function, SPYI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES,
                                      (int)kernel->shared_bytes);
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, "cuFuncSetAttribute", error);
}

// Loads the module, and finds its function and the address of its global parameters.
static spy_status spyi_cuda_load_module(spyi_cuda_gpu *gpu, const spyi_kernel_desc *desc, const char *entry,
                                        spyi_cuda_kernel *kernel, spyi_text *error) {
    spyi_cu_result result = gpu->cu.ModuleLoadData(&kernel->module, desc->code);
    int most = 0, registers = 0;
    spyi_nvrtc nvrtc;
    uint32_t i;
    if (result != SPYI_CU_OK) {
        spy_status status = spyi_cuda_fail(gpu, result, "cuModuleLoadData", error);
        spyi_text_add(error, " for kernel '%s'", kernel->label);
        if ((result == SPYI_CU_NO_BINARY_FOR_GPU || result == SPYI_CU_UNSUPPORTED_PTX) &&
            spyi_nvrtc_is_found(gpu->nvrtc_path, &nvrtc))
            spyi_text_add(
                error,
                "; NVRTC %d.%d made it for a driver of CUDA %d.%d: an NVRTC no newer than the driver does",
                nvrtc.major, nvrtc.minor, gpu->cu.version / 1000, gpu->cu.version % 1000 / 10);
        return status == SPY_ERROR_INTERNAL ? SPY_ERROR_COMPILE : status;
    }
    result = gpu->cu.ModuleGetFunction(&kernel->function, kernel->module, entry);
    if (result == SPYI_CU_OK)
        result = gpu->cu.FuncGetAttribute(&most, SPYI_CU_FUNC_MAX_THREADS, kernel->function);
    if (result == SPYI_CU_OK)
        result = gpu->cu.FuncGetAttribute(&registers, SPYI_CU_FUNC_REGISTERS, kernel->function);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuModuleGetFunction", error);
    if (spyi_interface_threads(&desc->iface) > (uint32_t)most) {
        spyi_text_add(error,
                      "kernel '%s' takes %d registers a thread, so its groups can have %d threads, not %u",
                      kernel->label, registers, most, spyi_interface_threads(&desc->iface));
        return SPY_ERROR_UNSUPPORTED;
    }
    spy_status status = spyi_cuda_allow_shared(gpu, kernel, error);
    if (status != SPY_OK) return status;
    for (i = 0; i < kernel->base.uniform_count; i++) {
        if (kernel->places[i].holder != SPYI_HOLDER_NONE) continue;
        result = gpu->cu.ModuleGetGlobal(&kernel->globals, &kernel->globals_size, kernel->module,
                                         "SLANG_globalParams");
        if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuModuleGetGlobal", error);
    }
    return SPY_OK;
}

SPYI_FN void spyi_cuda_free_kernel(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel) {
    spyi_cuda_repeat_free(gpu, kernel);
    if (kernel->module != NULL) (void)gpu->cu.ModuleUnload(kernel->module);
    spyi_free(gpu->base.ctx, kernel->places, kernel->base.uniform_count * sizeof *kernel->places);
    spyi_free(gpu->base.ctx, kernel, sizeof *kernel);
}

static spyi_cuda_kernel *spyi_cuda_new_kernel(spyi_cuda_gpu *gpu, const spyi_kernel_desc *desc) {
    spyi_cuda_kernel *kernel = (spyi_cuda_kernel *)spyi_allocate(gpu->base.ctx, sizeof *kernel);
    if (kernel == NULL) return NULL;
    const spyi_interface *iface = &desc->iface;
    uint32_t i, values = 0, uniforms = 0;
    kernel->base = spyi_interface_counts(iface);
    kernel->block_by_address = iface->block_by_address && iface->block_size > 0;
    kernel->param_count = kernel->block_by_address ? 1 : kernel->base.value_count;
    kernel->shared_bytes = iface->shared_bytes;
    memcpy(kernel->group, iface->group, sizeof kernel->group);
    (void)snprintf(kernel->label, sizeof kernel->label, "%s",
                   desc->label != NULL ? desc->label : desc->entry);
    if (kernel->base.uniform_count > 0) {
        kernel->places = (spyi_parameter_place *)spyi_allocate(gpu->base.ctx, kernel->base.uniform_count *
                                                                                  sizeof *kernel->places);
        if (kernel->places == NULL) {
            spyi_free(gpu->base.ctx, kernel, sizeof *kernel);
            return NULL;
        }
    }
    for (i = 0; i < iface->parameter_count; i++) {
        const spyi_parameter *p = &iface->parameters[i];
        if (p->kind == SPYI_PARAMETER_VALUES) kernel->params[values++] = p->place.offset;
        if (p->kind == SPYI_PARAMETER_UNIFORM) kernel->places[uniforms++] = p->place;
    }
    return kernel;
}

SPYI_FN spy_status spyi_cuda_load(spyi_gpu *base, const spyi_kernel_desc *desc, spyi_kernel **out,
                                  spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_kernel *kernel;
    char *entry = NULL;
    spy_status status = spyi_cuda_check_kernel(&gpu->base.limits.profile, desc, error);
    *out = NULL;
    if (status == SPY_OK && !spyi_cuda_is_code(desc)) {
        spyi_text_add(error, "what kernel '%s' has is neither PTX nor a cubin",
                      desc->label != NULL ? desc->label : desc->entry);
        status = SPY_ERROR_COMPILE;
    }
    if (status != SPY_OK) return status;
    entry = spyi_cuda_symbol(desc);
    kernel = entry != NULL ? spyi_cuda_new_kernel(gpu, desc) : NULL;
    if (kernel == NULL) {
        spyi_text_add(error, "no host memory for a kernel");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK) {
        spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
        status = spyi_cuda_load_module(gpu, desc, entry, kernel, error);
        kernel->repeats = spyi_cuda_can_repeat(gpu, kernel);
        if (status != SPY_OK) spyi_cuda_free_kernel(gpu, kernel);
        else *out = (spyi_kernel *)(void *)kernel;
        spyi_cuda_leave_relaxed(gpu, entered);
    }
    free(entry);
    return status;
}

SPYI_FN void spyi_cuda_destroy_kernel(spyi_gpu *base, spyi_kernel *handle) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_kernel *kernel = (spyi_cuda_kernel *)(void *)handle;
    if (kernel->captured) {
        spyi_cuda_keep_kernel(gpu, kernel);
        return;
    }
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    spyi_cuda_free_kernel(gpu, kernel);
    spyi_cuda_leave_relaxed(gpu, entered);
}

// >>launching

static spy_status spyi_cuda_put(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const void *data, size_t size,
                                spyi_text *error) {
    spyi_cu_result result = gpu->cu.MemcpyHtoDAsync(to, data, size, gpu->stream);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_fail(gpu, result, "cuMemcpyHtoDAsync of parameters", error);
}

// Takes `size` bytes of pinned memory (*host), which the caller fills, and *device, the device memory to
// which they are copied: that of `own`, or of the open batch when `own` is NULL.
static spy_status spyi_cuda_take_place(spyi_cuda_gpu *gpu, spyi_cuda_own *own, size_t size, char **host,
                                       spyi_cu_pointer *device, spyi_text *error) {
    spy_status status = spyi_cuda_take_bytes(gpu, size, host, device, error);
    if (status != SPY_OK || own == NULL) return status;
    *device = own->at;
    own->at += spyi_align(size, 256);
    return SPY_OK;
}

// Copies the uniform buffers to device memory. A buffer may hold the addresses of later buffers, so the first
// loop finds all addresses and stores them in their holders, and the second loop starts the transfers.
// `block` is a copy of the dispatch's block that receives the addresses in it.
static spy_status spyi_cuda_put_uniforms(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                         const spyi_uniform *uniforms, spyi_cuda_own *own, char *block,
                                         spyi_text *error) {
    char *host[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer device[SPYI_CUDA_MOST_PARAMS];
    spy_status status = SPY_OK;
    uint32_t i;
    for (i = 0; i < kernel->base.uniform_count && status == SPY_OK; i++) {
        const spyi_parameter_place *place = &kernel->places[i];
        if (uniforms[i].size == 0) continue; // the kernel does not use this buffer
        status = spyi_cuda_take_place(gpu, own, uniforms[i].size, &host[i], &device[i], error);
        if (status != SPY_OK) return status;
        memcpy(host[i], uniforms[i].data, uniforms[i].size);
        if (place->holder == SPYI_HOLDER_NONE) {
            if (own == NULL) device[i] = kernel->globals;
            else
                own->globals =
                    device[i]; // each launch of the graph copies them from there, because other launches
                               // change the globals
        } else {
            memcpy((place->holder == SPYI_HOLDER_BLOCK ? block : host[place->holder]) + place->offset,
                   &device[i], sizeof device[i]);
        }
    }
    for (i = 0; i < kernel->base.uniform_count && status == SPY_OK; i++) {
        size_t size = uniforms[i].size;
        if (size == 0) continue;
        if (kernel->places[i].holder == SPYI_HOLDER_NONE) {
            if (size > kernel->globals_size) size = kernel->globals_size;
            if (own != NULL) own->globals_size = size;
        }
        status = spyi_cuda_put(gpu, device[i], host[i], size, error);
    }
    return status;
}

// Prepares a launch whose kernel has uniform buffers or its block in memory: copies both, and sets *block to
// the block to launch with.
static spy_status spyi_cuda_prepare(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own, const char **block,
                                    spyi_cu_pointer *address, spyi_text *error) {
    char *copy;
    spy_status status;
    // The copy is in a page in both cases: either the kernel reads it there, or the driver reads it at the
    // launch.
    status = spyi_cuda_take_place(gpu, own, kernel->base.block_size + 8u, &copy, address, error);
    if (status != SPY_OK) return status;
    if (kernel->base.block_size > 0) memcpy(copy, dispatch->block, kernel->base.block_size);
    if (kernel->base.uniform_count > 0)
        status = spyi_cuda_put_uniforms(gpu, kernel, dispatch->uniforms, own, copy, error);
    if (status == SPY_OK && kernel->block_by_address)
        status = spyi_cuda_put(gpu, *address, copy, kernel->base.block_size, error);
    *block = kernel->block_by_address ? (const char *)address : copy;
    return status;
}

SPYI_FN size_t spyi_cuda_param_memory(const spyi_cuda_kernel *kernel, const spyi_dispatch *dispatch) {
    size_t size;
    uint32_t i;
    if (spyi_cuda_is_plain(kernel)) return 0;
    size = spyi_align(kernel->base.block_size + 8u, 256);
    for (i = 0; i < kernel->base.uniform_count; i++) size += spyi_align(dispatch->uniforms[i].size, 256);
    return size;
}

SPYI_FN spy_status spyi_cuda_params(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                    const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                    spyi_cu_pointer *address, void *params[SPYI_CUDA_MOST_PARAMS],
                                    spyi_text *error) {
    const char *block = (const char *)dispatch->block;
    uint32_t i;
    if (!SPYI_LIKELY(spyi_cuda_is_plain(kernel))) {
        spy_status status = spyi_cuda_prepare(gpu, kernel, dispatch, own, &block, address, error);
        if (status != SPY_OK) return status;
    }
    for (i = 0; i < kernel->param_count; i++) // the cast drops const; the driver only reads
        params[i] = (void *)(uintptr_t)(block + (kernel->block_by_address ? 0 : kernel->params[i]));
    return SPY_OK;
}

SPYI_FN spyi_cu_kernel_params spyi_cuda_node_params(const spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                                    void **values) {
    spyi_cu_kernel_params params;
    memset(&params, 0, sizeof params);
    params.function = kernel->function;
    memcpy(params.grid, groups, sizeof params.grid);
    memcpy(params.block, kernel->group, sizeof params.block);
    params.shared = kernel->shared_bytes;
    params.params = values;
    return params;
}

SPYI_FN void spyi_cuda_launched(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel) {
    uint32_t slot = gpu->recent_count++ % SPYI_CUDA_RECENT;
    memcpy(gpu->recent_label[slot], kernel->label, sizeof kernel->label);
    gpu->recent_batch[slot] = gpu->base.open;
    gpu->base.stats.dispatches++;
}

static spy_status spyi_cuda_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                   const spyi_dispatch *dispatch, spyi_text *error) {
    const uint32_t *groups = dispatch->groups;
    uint32_t counts[3];
    void *params[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer address = 0;
    spyi_cu_result result;
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status != SPY_OK) return status;
    if (!SPYI_LIKELY(gpu->graph == NULL)) return spyi_cuda_graph_dispatch(gpu, kernel, dispatch, error);
    status = spyi_cuda_params(gpu, kernel, dispatch, NULL, &address, params, error);
    if (status != SPY_OK) return status;
    if (!SPYI_LIKELY(dispatch->indirect == 0)) {
        // CUDA has no indirect launch: the host waits for all earlier work and reads the group counts.
        status = spyi_cuda_check_captured(gpu, "read the group counts of an indirect dispatch from", error);
        if (status != SPY_OK) return status;
        status = spyi_cuda_read_small(gpu, counts, dispatch->indirect + dispatch->indirect_offset,
                                      sizeof counts, gpu->stream, error);
        if (status != SPY_OK) return status;
        groups = counts;
    }
    if (SPYI_LIKELY(groups[0] > 0 && groups[1] > 0 && groups[2] > 0)) {
        bool repeated =
            kernel->repeats && spyi_cuda_repeat_launch(gpu, kernel, groups, dispatch->block, params, &result);
        if (!SPYI_LIKELY(!gpu->base.captured)) kernel->captured = true;
        if (!repeated)
            result = gpu->cu.LaunchKernel(kernel->function, groups[0], groups[1], groups[2], kernel->group[0],
                                          kernel->group[1], kernel->group[2], kernel->shared_bytes,
                                          gpu->stream, params, NULL);
        if (!SPYI_LIKELY(result == SPYI_CU_OK)) {
            status = spyi_cuda_fail(gpu, result, repeated ? "cuGraphLaunch" : "cuLaunchKernel", error);
            spyi_text_add(error, " for kernel '%s', %u x %u x %u groups of %u x %u x %u threads",
                          kernel->label, groups[0], groups[1], groups[2], kernel->group[0], kernel->group[1],
                          kernel->group[2]);
            return status;
        }
    }
    spyi_cuda_launched(gpu, kernel);
    return spyi_cuda_worked(gpu, error);
}

SPYI_FN spy_status spyi_cuda_dispatch(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)work;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_launch(gpu, (spyi_cuda_kernel *)(void *)dispatch->kernel, dispatch, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>cuda/repeat.c -------------------------------------------------------------------------------------------

// Launches a kernel that is launched many times as a CUDA graph of one node: the driver keeps the launch
// ready and changes only what differs. Such a launch takes about half the time of cuLaunchKernel(). Putting
// another function into the same graph takes longer, so each kernel has a graph of its own
// (docs/measurements.md, "Launches of CUDA kernels").
//
// Kernels that still run keep the parameters of their launch; nothing waits. A graph costs 19 us and 116 KiB
// of device memory, so only kernels that are launched often have one, and at most SPYI_CUDA_REPEATING of
// them.

// The least version of CUDA. From 12.6 on a graph without branches is launched in constant time.
#define SPYI_CUDA_REPEAT_LEAST_VERSION 12060
#define SPYI_CUDA_REPEAT_AFTER 16u // the number of launches of a kernel before it gets a graph
// The number of launches of other kernels after which a kernel may lose its graph to another one.
#define SPYI_CUDA_REPEAT_OLD 4096u

// >>which kernels

SPYI_FN bool spyi_cuda_can_repeat(const spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel) {
    return gpu->cu.version >= SPYI_CUDA_REPEAT_LEAST_VERSION && !gpu->direct_launches &&
           spyi_cuda_is_plain(kernel) && kernel->base.block_size <= SPYI_CUDA_REPEAT_BYTES;
}

// Returns a slot of gpu->repeating: a free one, or that of the kernel that was not launched for the longest
// time, whose graph is freed. Returns NULL when all kernels with a graph were launched recently.
static spyi_cuda_kernel **spyi_cuda_repeat_place(spyi_cuda_gpu *gpu) {
    spyi_cuda_kernel **oldest = &gpu->repeating[0];
    for (uint32_t i = 0; i < SPYI_CUDA_REPEATING; i++) {
        spyi_cuda_kernel **place = &gpu->repeating[i];
        if (*place == NULL) return place;
        if (gpu->recent_count - (*place)->repeat.last > gpu->recent_count - (*oldest)->repeat.last)
            oldest = place;
    }
    if (gpu->recent_count - (*oldest)->repeat.last < SPYI_CUDA_REPEAT_OLD) return NULL;
    spyi_cuda_repeat_free(gpu, *oldest);
    return oldest;
}

SPYI_FN void spyi_cuda_repeat_free(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel) {
    spyi_cuda_repeat *repeat = &kernel->repeat;
    spyi_free(gpu->base.ctx, repeat->block, kernel->base.block_size);
    repeat->block = NULL;
    // there is no graph, and so no slot
    if (repeat->graph == NULL) return;
    if (repeat->exec != NULL)
        (void)gpu->cu.GraphExecDestroy(repeat->exec); // launches in flight continue
                                                      // without it
    (void)gpu->cu.GraphDestroy(repeat->graph);
    for (uint32_t i = 0; i < SPYI_CUDA_REPEATING; i++)
        if (gpu->repeating[i] == kernel) gpu->repeating[i] = NULL;
    memset(repeat, 0, sizeof *repeat);
}

// >>launching

// Remembers the group counts and the parameter block that `exec` holds from now on.
static void spyi_cuda_repeat_note(spyi_cuda_kernel *kernel, const uint32_t groups[3], const void *block) {
    memcpy(kernel->repeat.groups, groups, sizeof kernel->repeat.groups);
    if (kernel->base.block_size > 0) memcpy(kernel->repeat.block, block, kernel->base.block_size);
}

// Makes the kernel's graph. On false the kernel is launched without a graph, and tries again after
// SPYI_CUDA_REPEAT_AFTER launches.
static bool spyi_cuda_repeat_make(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                  const void *block, void **params) {
    spyi_cuda_kernel **place = spyi_cuda_repeat_place(gpu);
    spyi_cuda_repeat *repeat = &kernel->repeat;
    spyi_cu_kernel_params node = spyi_cuda_node_params(kernel, groups, params);
    spyi_cu_result result;
    repeat->launches = 0;
    if (place == NULL) return false;
    if (kernel->base.block_size > 0) {
        repeat->block = (char *)spyi_allocate(gpu->base.ctx, kernel->base.block_size);
        if (repeat->block == NULL) return false;
    }
    int mode = spyi_cuda_relax(gpu);
    result = gpu->cu.GraphCreate(&repeat->graph, 0);
    if (result == SPYI_CU_OK)
        result = gpu->cu.GraphAddKernelNode(&repeat->node, repeat->graph, NULL, 0, &node);
    if (result == SPYI_CU_OK) result = gpu->cu.GraphInstantiate(&repeat->exec, repeat->graph, 0);
    spyi_cuda_restore(gpu, mode);
    if (result != SPYI_CU_OK) {
        repeat->exec = NULL;
        spyi_cuda_repeat_free(gpu, kernel);
        return false;
    }
    spyi_cuda_repeat_note(kernel, groups, block);
    *place = kernel;
    return true;
}

SPYI_FN bool spyi_cuda_graph_pays(const spyi_gpu *base) {
    const spyi_cuda_gpu *gpu = (const spyi_cuda_gpu *)(const void *)base;
    return gpu->cu.version >= SPYI_CUDA_REPEAT_LEAST_VERSION && !gpu->direct_launches && !gpu->base.captured;
}

SPYI_FN bool spyi_cuda_repeat_launch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel, const uint32_t groups[3],
                                     const void *block, void **params, spyi_cu_result *result) {
    spyi_cuda_repeat *repeat = &kernel->repeat;
    if (repeat->exec == NULL && ++repeat->launches < SPYI_CUDA_REPEAT_AFTER) return false;
    if (!SPYI_LIKELY(!gpu->base.captured)) return false; // the program's graph gets the kernel itself
    if (repeat->exec == NULL && !spyi_cuda_repeat_make(gpu, kernel, groups, block, params)) return false;
    if (memcmp(repeat->groups, groups, sizeof repeat->groups) != 0 ||
        (kernel->base.block_size > 0 && memcmp(repeat->block, block, kernel->base.block_size) != 0)) {
        spyi_cu_kernel_params node = spyi_cuda_node_params(kernel, groups, params);
        *result = gpu->cu.GraphExecKernelNodeSetParams(repeat->exec, repeat->node, &node);
        if (*result != SPYI_CU_OK) {
            spyi_cuda_repeat_free(gpu, kernel);
            return false;
        }
        spyi_cuda_repeat_note(kernel, groups, block);
    }
    *result = gpu->cu.GraphLaunch(repeat->exec, gpu->stream);
    repeat->last = gpu->recent_count;
    return true;
}

// >>cuda/graph.c --------------------------------------------------------------------------------------------

// CUDA graphs: the work of a command list as a graph that one launch starts.
//
// A graph is built node by node, not captured from the stream. So a node's parameters can be changed later,
// and work without a barrier between may run side by side, whereas a captured stream is a chain. Barriers
// divide the work into levels: each node waits for all nodes of the level before its own.

// The largest number of edges of a node; nodes wait for a larger level through one empty node.
#define SPYI_CUDA_GRAPH_WAITS 8u
// The most bytes that one node copies or fills: half of what 32-bit sizes and pitches can hold.
#define SPYI_CUDA_GRAPH_PIECE ((uint64_t)1 << 30)

typedef struct spyi_cuda_node {
    spyi_cu_node node;
    spyi_cuda_kernel *kernel;
    uint32_t groups[3];
    spyi_cu_pointer memory; // device memory of the node's uniform buffers and of its block in memory; 0 means
                            // that it has neither
} spyi_cuda_node;

struct spyi_cuda_graph {
    spyi_cu_graph graph; // stays, because its nodes also identify those of `exec`
    spyi_cu_exec exec;
    spyi_cuda_node *nodes; // one for each dispatch
    uint32_t count, capacity;
    spyi_cuda_page *pages; // pages in whose device memory the nodes' parameters are
    // The members below are used only while the graph is recorded.
    spyi_cu_node before[SPYI_CUDA_GRAPH_WAITS]; // nodes that the open level waits for
    uint32_t before_count;
    spyi_cu_node *level; // nodes of the open level
    uint32_t level_count, level_capacity;
};

static spyi_cuda_graph *spyi_cuda_graph_cast(spyi_graph *graph) {
    return (spyi_cuda_graph *)(void *)graph;
}

static bool spyi_cuda_graph_grow(spyi_cuda_gpu *gpu, void **items, uint32_t *capacity, uint32_t count,
                                 size_t element) {
    uint32_t wanted = *capacity ? 2 * *capacity : 16;
    void *moved;
    if (count < *capacity) return true;
    moved = spyi_reallocate(gpu->base.ctx, *items, *capacity * element, wanted * element);
    if (moved == NULL) return false;
    *items = moved;
    *capacity = wanted;
    return true;
}

// >>levels

static spy_status spyi_cuda_graph_barrier(spyi_cuda_gpu *gpu, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    if (graph->level_count == 0) return SPY_OK;
    if (graph->level_count > SPYI_CUDA_GRAPH_WAITS) {
        spyi_cu_node all = NULL;
        spyi_cu_result result =
            gpu->cu.GraphAddEmptyNode(&all, graph->graph, graph->level, graph->level_count);
        if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuGraphAddEmptyNode", error);
        graph->level[0] = all;
        graph->level_count = 1;
    }
    memcpy(graph->before, graph->level, graph->level_count * sizeof *graph->level);
    graph->before_count = graph->level_count;
    graph->level_count = 0;
    return SPY_OK;
}

// Ends the open level at a barrier and makes room for one more node. Call spyi_cuda_graph_added() after
// adding the node.
static spy_status spyi_cuda_graph_room(spyi_cuda_gpu *gpu, bool barrier, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    spy_status status = barrier ? spyi_cuda_graph_barrier(gpu, error) : SPY_OK;
    void *level = graph->level;
    if (status != SPY_OK) return status;
    if (!spyi_cuda_graph_grow(gpu, &level, &graph->level_capacity, graph->level_count,
                              sizeof *graph->level)) {
        spyi_text_add(error, "no host memory for a graph");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    graph->level = (spyi_cu_node *)level;
    return SPY_OK;
}

static spy_status spyi_cuda_graph_added(spyi_cuda_gpu *gpu, spyi_cu_node node, spyi_cu_result result,
                                        const char *what, spyi_text *error) {
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, what, error);
    gpu->graph->level[gpu->graph->level_count++] = node;
    return SPY_OK;
}

// >>copies, fills and marks

SPYI_FN spy_status spyi_cuda_graph_copy(spyi_cuda_gpu *gpu, spyi_cu_pointer to, spyi_cu_pointer from,
                                        uint64_t size, bool barrier, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    uint64_t done, piece;
    for (done = 0; done < size; done += piece) {
        spyi_cu_copy_params params;
        spyi_cu_node node = NULL;
        spyi_cu_result result;
        spy_status status = spyi_cuda_graph_room(gpu, barrier && done == 0, error);
        if (status != SPY_OK) return status;
        piece = size - done < SPYI_CUDA_GRAPH_PIECE ? size - done : SPYI_CUDA_GRAPH_PIECE;
        memset(&params, 0, sizeof params);
        params.from.memory_type = params.to.memory_type = SPYI_CU_MEMORY_TYPE_DEVICE;
        params.from.device = from + done;
        params.to.device = to + done;
        params.width_bytes = (size_t)piece;
        params.height = params.depth = 1;
        result = gpu->cu.GraphAddMemcpyNode(&node, graph->graph, graph->before, graph->before_count, &params,
                                            gpu->context);
        status = spyi_cuda_graph_added(gpu, node, result, "cuGraphAddMemcpyNode", error);
        if (status != SPY_OK) return status;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_graph_fill(spyi_cuda_gpu *gpu, spyi_cu_pointer to, uint64_t size,
                                        uint32_t pattern, bool barrier, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    uint64_t done, piece;
    for (done = 0; done < size; done += piece) {
        spyi_cu_fill_params params;
        spyi_cu_node node = NULL;
        spyi_cu_result result;
        spy_status status = spyi_cuda_graph_room(gpu, barrier && done == 0, error);
        if (status != SPY_OK) return status;
        piece = size - done < SPYI_CUDA_GRAPH_PIECE ? size - done : SPYI_CUDA_GRAPH_PIECE;
        memset(&params, 0, sizeof params);
        params.to = to + done;
        params.value = pattern;
        params.element_size = 4;
        params.width = (size_t)(piece / 4);
        params.height = 1;
        result = gpu->cu.GraphAddMemsetNode(&node, graph->graph, graph->before, graph->before_count, &params,
                                            gpu->context);
        status = spyi_cuda_graph_added(gpu, node, result, "cuGraphAddMemsetNode", error);
        if (status != SPY_OK) return status;
    }
    return SPY_OK;
}

static spy_status spyi_cuda_graph_add_kernel(spyi_cuda_gpu *gpu, const spyi_cu_kernel_params *params,
                                             spyi_cu_node *node, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    spyi_cu_result result =
        gpu->cu.GraphAddKernelNode(node, graph->graph, graph->before, graph->before_count, params);
    return spyi_cuda_graph_added(gpu, *node, result, "cuGraphAddKernelNode", error);
}

SPYI_FN spy_status spyi_cuda_graph_mark(spyi_cuda_gpu *gpu, spyi_cu_function function, spyi_cu_pointer place,
                                        spyi_text *error) {
    spyi_cu_kernel_params params;
    spyi_cu_node node = NULL;
    void *values[1];
    spy_status status = spyi_cuda_graph_room(gpu, true, error);
    values[0] = &place;
    memset(&params, 0, sizeof params);
    params.function = function;
    params.grid[0] = params.grid[1] = params.grid[2] = 1;
    params.block[0] = params.block[1] = params.block[2] = 1;
    params.params = values;
    return status == SPY_OK ? spyi_cuda_graph_add_kernel(gpu, &params, &node, error) : status;
}

// >>dispatches

// Fills `params`, the driver's description of a dispatch. The caller provides `values` and `address`, which
// must be valid as long as `params`.
static spy_status spyi_cuda_graph_params(spyi_cuda_gpu *gpu, const spyi_cuda_node *node,
                                         const spyi_dispatch *dispatch, spyi_cuda_own *own,
                                         spyi_cu_pointer *address, void *values[SPYI_CUDA_MOST_PARAMS],
                                         spyi_cu_kernel_params *params, spyi_text *error) {
    const spyi_cuda_kernel *kernel = node->kernel;
    memset(own, 0, sizeof *own);
    own->at = node->memory;
    *params = spyi_cuda_node_params(kernel, node->groups, values);
    return spyi_cuda_params(gpu, kernel, dispatch, own, address, values, error);
}

// Adds a copy of the kernel's global parameters. All launches of a kernel read them at one address, so each
// launch waits for the launch before.
static spy_status spyi_cuda_graph_globals(spyi_cuda_gpu *gpu, const spyi_cuda_kernel *kernel,
                                          const spyi_cuda_own *own, spyi_text *error) {
    spy_status status = spyi_cuda_graph_barrier(gpu, error);
    if (status == SPY_OK)
        status = spyi_cuda_graph_copy(gpu, kernel->globals, own->globals, own->globals_size, false, error);
    return status == SPY_OK ? spyi_cuda_graph_barrier(gpu, error) : status;
}

SPYI_FN spy_status spyi_cuda_graph_dispatch(spyi_cuda_gpu *gpu, spyi_cuda_kernel *kernel,
                                            const spyi_dispatch *dispatch, spyi_text *error) {
    spyi_cuda_graph *graph = gpu->graph;
    size_t size = spyi_cuda_param_memory(kernel, dispatch);
    void *nodes = graph->nodes, *values[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer address = 0;
    spyi_cu_kernel_params params;
    spyi_cuda_own own;
    char *unused;
    spy_status status = spyi_cuda_graph_room(gpu, dispatch->work.before.barrier, error);
    if (status != SPY_OK) return status;
    if (!spyi_cuda_graph_grow(gpu, &nodes, &graph->capacity, graph->count, sizeof *graph->nodes)) {
        spyi_text_add(error, "no host memory for a graph");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    graph->nodes = (spyi_cuda_node *)nodes;
    spyi_cuda_node *node = &graph->nodes[graph->count];
    memset(node, 0, sizeof *node);
    node->kernel = kernel;
    memcpy(node->groups, dispatch->groups, sizeof node->groups);
    if (size > 0) status = spyi_cuda_take_from(gpu, &graph->pages, size, &unused, &node->memory, error);
    if (status == SPY_OK)
        status = spyi_cuda_graph_params(gpu, node, dispatch, &own, &address, values, &params, error);
    if (status == SPY_OK && own.globals != 0) status = spyi_cuda_graph_globals(gpu, kernel, &own, error);
    if (status == SPY_OK) status = spyi_cuda_graph_room(gpu, false, error);
    if (status == SPY_OK) status = spyi_cuda_graph_add_kernel(gpu, &params, &node->node, error);
    if (status != SPY_OK) {
        spyi_text_add(error, " for kernel '%s'", kernel->label);
        return status;
    }
    graph->count++;
    return size > 0 ? spyi_cuda_worked(gpu, error) : SPY_OK; // counts the copies of its parameters to the
                                                             // device
}

SPYI_FN spy_status spyi_cuda_graph_change(spyi_gpu *base, spyi_graph *handle, uint32_t index,
                                          const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_graph *graph = spyi_cuda_graph_cast(handle);
    const spyi_dispatch *dispatch = (const spyi_dispatch *)(const void *)work;
    const spyi_cuda_node *node = &graph->nodes[index];
    void *values[SPYI_CUDA_MOST_PARAMS];
    spyi_cu_pointer address = 0;
    spyi_cu_kernel_params params;
    spyi_cuda_own own;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    // The node's memory would get the new parameters when the program's graph is launched.
    if (status == SPY_OK && node->memory != 0)
        status =
            spyi_cuda_check_captured(gpu, "change the parameters of a command list's kernel through", error);
    if (status == SPY_OK)
        status = spyi_cuda_graph_params(gpu, node, dispatch, &own, &address, values, &params, error);
    if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.GraphExecKernelNodeSetParams(graph->exec, node->node, &params);
        if (result != SPYI_CU_OK) {
            status = spyi_cuda_fail(gpu, result, "cuGraphExecKernelNodeSetParams", error);
            spyi_text_add(error, " for kernel '%s'", node->kernel->label);
        }
    }
    if (status == SPY_OK && node->memory != 0) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>the graph

// Frees the graph. Launches in flight continue without the driver's objects; the pages that they read are
// returned when the open batch has finished.
static void spyi_cuda_graph_free(spyi_cuda_gpu *gpu, spyi_cuda_graph *graph) {
    spyi_cuda_page **end = &gpu->batches[gpu->base.open % SPYI_CUDA_BATCHES].pages;
    int mode = spyi_cuda_relax(gpu);
    if (graph->exec != NULL) (void)gpu->cu.GraphExecDestroy(graph->exec);
    if (graph->graph != NULL) (void)gpu->cu.GraphDestroy(graph->graph);
    spyi_cuda_restore(gpu, mode);
    while (*end != NULL) end = &(*end)->next;
    *end = graph->pages;
    spyi_free(gpu->base.ctx, graph->nodes, graph->capacity * sizeof *graph->nodes);
    spyi_free(gpu->base.ctx, graph->level, graph->level_capacity * sizeof *graph->level);
    spyi_free(gpu->base.ctx, graph, sizeof *graph);
}

SPYI_FN spy_status spyi_cuda_graph_begin(spyi_gpu *base, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cuda_graph *graph;
    spyi_cu_result result;
    bool pushed;
    if (status != SPY_OK) return status;
    graph = (spyi_cuda_graph *)spyi_allocate(gpu->base.ctx, sizeof *graph);
    if (graph == NULL) {
        spyi_text_add(error, "no host memory for a graph");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    pushed = spyi_cuda_enter(gpu);
    result = gpu->cu.GraphCreate(&graph->graph, 0);
    if (result == SPYI_CU_OK) gpu->graph = graph;
    else {
        status = spyi_cuda_fail(gpu, result, "cuGraphCreate", error);
        spyi_cuda_graph_free(gpu, graph);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_graph_end(spyi_gpu *base, spyi_graph **out, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_graph *graph = gpu->graph;
    spy_status status = SPY_OK;
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    gpu->graph = NULL;
    if (out != NULL) {
        spyi_cu_result result = gpu->cu.GraphInstantiate(&graph->exec, graph->graph, 0);
        *out = (spyi_graph *)(void *)graph;
        if (result != SPYI_CU_OK) {
            *out = NULL;
            status = spyi_cuda_fail(gpu, result, "cuGraphInstantiateWithFlags", error);
            spyi_text_add(error, " for a graph of %u kernels", graph->count);
        }
    }
    if (out == NULL || status != SPY_OK) spyi_cuda_graph_free(gpu, graph);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN spy_status spyi_cuda_graph_launch(spyi_gpu *base, spyi_graph *handle, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_cuda_graph *graph = spyi_cuda_graph_cast(handle);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    uint32_t i = graph->count > SPYI_CUDA_RECENT ? graph->count - SPYI_CUDA_RECENT : 0;
    if (status == SPY_OK) {
        spyi_cu_result result = gpu->cu.GraphLaunch(graph->exec, gpu->stream);
        if (result != SPYI_CU_OK) {
            status = spyi_cuda_fail(gpu, result, "cuGraphLaunch", error);
            spyi_text_add(error, " for a graph of %u kernels", graph->count);
        }
    }
    if (status == SPY_OK) {
        gpu->base.stats.dispatches += i; // spyi_cuda_launched() counts the other dispatches
        for (; i < graph->count; i++) spyi_cuda_launched(gpu, graph->nodes[i].kernel);
        status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN void spyi_cuda_graph_destroy(spyi_gpu *base, spyi_graph *handle) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu);
    spyi_cuda_graph_free(gpu, spyi_cuda_graph_cast(handle));
    spyi_cuda_leave(gpu, pushed);
}

// >>cuda/transfer.c -----------------------------------------------------------------------------------------

// Copies and fills on the device, and transfers between host and device. Uploads go through the stream in the
// order of work, by pinned memory. Downloads use a stream of their own and wait only for the work that writes
// what they read. Large transfers run in pieces: a team of CPU threads copies some pieces while the GPU
// transfers others. Host memory that the program has pinned is transferred directly.

// >>staging

// Returns whether CUDA knows the host memory as pinned, so that the GPU can transfer it without a staging
// buffer.
static bool spyi_cuda_is_pinned(const spyi_cuda_gpu *gpu, const void *memory) {
    static const int attribute = SPYI_CU_POINTER_MEMORY_TYPE;
    unsigned type =
        0; // CUDA does not change it for memory that it does not know, for which cuPointerGetAttribute would
           // report an error
    void *value = &type;
    return gpu->cu.PointerGetAttributes(1, &attribute, &value, (spyi_cu_pointer)(uintptr_t)memory) ==
               SPYI_CU_OK &&
           type == SPYI_CU_MEMORY_TYPE_HOST;
}

// Waits until a staging buffer is free, and makes it at least `size` bytes large. Allocating pinned memory
// takes 0.4 ms for each MiB (measured on an H200's host).
static spy_status spyi_cuda_ready(spyi_cuda_gpu *gpu, spyi_cuda_staging *staging, size_t size,
                                  spyi_text *error) {
    spyi_cu_result result = SPYI_CU_OK;
    int mode = spyi_cuda_relax(gpu);
    if (staging->used) result = gpu->cu.EventSynchronize(staging->event);
    if (result == SPYI_CU_OK) staging->used = false;
    if (result == SPYI_CU_OK && staging->size < size) {
        if (staging->host != NULL) (void)gpu->cu.MemFreeHost(staging->host);
        gpu->base.stats.driver_bytes -= staging->size;
        staging->host = NULL;
        staging->size = 0;
        result = gpu->cu.MemHostAlloc(&staging->host, size, SPYI_CU_HOST_ALLOC_PORTABLE);
        if (result == SPYI_CU_OK) staging->size = size;
        else staging->host = NULL;
        gpu->base.stats.driver_allocations++;
        gpu->base.stats.driver_bytes += staging->size;
    }
    spyi_cuda_restore(gpu, mode);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_fail(gpu, result, "a staging buffer of pinned memory", error);
}

// Returns the size of the pieces of a transfer of `size` bytes: about an eighth, within the sizes of staging
// buffers.
static size_t spyi_cuda_piece(uint64_t size) {
    size_t piece = SPYI_CUDA_STAGING_LEAST;
    while (piece < SPYI_CUDA_STAGING_SIZE && 8 * piece < size) piece *= 2;
    return piece;
}

// Returns the size of the next piece when `left` bytes are left.
static size_t spyi_cuda_next(uint64_t left, size_t piece) {
    return left < piece ? (size_t)left : piece;
}

static spy_status spyi_cuda_moved(spyi_cuda_gpu *gpu, spyi_cu_result result, const char *what,
                                  spyi_text *error) {
    return result == SPYI_CU_OK ? SPY_OK : spyi_cuda_fail(gpu, result, what, error);
}

// >>on the device

SPYI_FN spy_status spyi_cuda_copy(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_copy_work *copy = (const spyi_copy_work *)(const void *)work;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_pointer there = copy->to->address + copy->to_offset,
                    here = copy->from->address + copy->from_offset;
    if (status == SPY_OK && gpu->graph != NULL) {
        status = spyi_cuda_graph_copy(gpu, there, here, copy->size, work->before.barrier, error);
    } else if (status == SPY_OK) {
        status = spyi_cuda_moved(gpu, gpu->cu.MemcpyAsync(there, here, (size_t)copy->size, gpu->stream),
                                 "cuMemcpyAsync", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_fill(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_fill_work *fill = (const spyi_fill_work *)(const void *)work;
    spyi_cu_pointer at = fill->to->address + fill->offset;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK && gpu->graph != NULL) {
        status = spyi_cuda_graph_fill(gpu, at, fill->size, fill->pattern, work->before.barrier, error);
    } else if (status == SPY_OK) {
        status = spyi_cuda_moved(
            gpu, gpu->cu.MemsetD32Async(at, fill->pattern, (size_t)(fill->size / 4), gpu->stream),
            "cuMemsetD32Async", error);
        if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>uploads

static spy_status spyi_cuda_upload_page(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const void *data,
                                        uint64_t size, spyi_text *error) {
    char *host;
    spyi_cu_pointer unused;
    spy_status status = spyi_cuda_take_bytes(gpu, (size_t)size, &host, &unused, error);
    if (status != SPY_OK) return status;
    memcpy(host, data, (size_t)size);
    return spyi_cuda_moved(gpu, gpu->cu.MemcpyHtoDAsync(to, host, (size_t)size, gpu->stream),
                           "cuMemcpyHtoDAsync", error);
}

// Uploads from the program's pinned memory, and waits for the transfer, because `data` may change after the
// return.
static spy_status spyi_cuda_upload_pinned(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const void *data,
                                          uint64_t size, spyi_text *error) {
    spyi_cu_result result = gpu->cu.MemcpyHtoDAsync(to, data, (size_t)size, gpu->stream);
    if (result == SPYI_CU_OK) result = gpu->cu.StreamSynchronize(gpu->stream);
    return spyi_cuda_moved(gpu, result, "cuMemcpyHtoDAsync", error);
}

// Uploads in pieces through the staging buffers. A piece is sent to the GPU after the next one was posted to
// the copy team, so the team always has work.
static spy_status spyi_cuda_upload_staged(spyi_cuda_gpu *gpu, spyi_cu_pointer to, const char *data,
                                          uint64_t size, spyi_text *error) {
    spyi_copy_team team;
    const size_t most = spyi_cuda_piece(size);
    uint64_t posted = 0, sent = 0; // both count bytes
    uint32_t pieces = 0;           // counts the pieces that were posted
    spyi_cuda_staging *last = NULL;
    spy_status status = SPY_OK;
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), false);
    while (sent < size && status == SPY_OK) {
        spyi_cuda_staging *next = &gpu->upload[gpu->upload_next];
        size_t piece = spyi_cuda_next(size - posted, most);
        if (piece > 0) {
            status = spyi_cuda_ready(gpu, next, most, error);
            if (status != SPY_OK) break;
            spyi_copy_post(&team, next->host, data + posted, piece);
            gpu->upload_next = (gpu->upload_next + 1) % SPYI_CUDA_STAGING_COUNT;
            posted += piece;
            pieces++;
        }
        if (last != NULL) {
            size_t ready = spyi_cuda_next(size - sent, most);
            spyi_cu_result result;
            spyi_copy_wait(&team, piece > 0 ? pieces - 1 : pieces);
            result = gpu->cu.MemcpyHtoDAsync(to + sent, last->host, ready, gpu->stream);
            if (result == SPYI_CU_OK) result = gpu->cu.EventRecord(last->event, gpu->stream);
            last->used = true;
            status = spyi_cuda_moved(gpu, result, "cuMemcpyHtoDAsync", error);
            sent += ready;
        }
        last = next;
    }
    spyi_copy_end(&team);
    return status;
}

SPYI_FN spy_status spyi_cuda_upload(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_upload_work *upload = (const spyi_upload_work *)(const void *)work;
    const void *data = upload->data;
    const uint64_t size = upload->size;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_pointer at = upload->to->address + upload->offset;
    if (status != SPY_OK) {
        spyi_cuda_leave(gpu, pushed);
        return status;
    }
    if (size <= SPYI_CUDA_SMALL_UPLOAD || gpu->base.captured) // each launch of captured work uploads the data
                                                              // again
        status = spyi_cuda_upload_page(gpu, at, data, size, error);
    else if (spyi_cuda_is_pinned(gpu, data)) status = spyi_cuda_upload_pinned(gpu, at, data, size, error);
    else status = spyi_cuda_upload_staged(gpu, at, (const char *)data, size, error);
    if (status == SPY_OK) status = spyi_cuda_worked(gpu, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>downloads

SPYI_FN spy_status spyi_cuda_read_small(spyi_cuda_gpu *gpu, void *data, spyi_cu_pointer from, size_t size,
                                        spyi_cu_stream stream, spyi_text *error) {
    spyi_cu_result result = SPYI_CU_OK;
    if (gpu->bounce == NULL) {
        result = gpu->cu.MemHostAlloc(&gpu->bounce, SPYI_CUDA_SMALL_UPLOAD, SPYI_CU_HOST_ALLOC_PORTABLE);
        if (result != SPYI_CU_OK) gpu->bounce = NULL;
        else gpu->base.stats.driver_bytes += SPYI_CUDA_SMALL_UPLOAD;
        gpu->base.stats.driver_allocations++;
    }
    if (result == SPYI_CU_OK) result = gpu->cu.MemcpyDtoHAsync(gpu->bounce, from, size, stream);
    if (result == SPYI_CU_OK) result = gpu->cu.StreamSynchronize(stream);
    if (result != SPYI_CU_OK) return spyi_cuda_fail(gpu, result, "cuMemcpyDtoHAsync", error);
    memcpy(data, gpu->bounce, size);
    return SPY_OK;
}

// Downloads in pieces through the staging buffers, on `stream`: the GPU fills half of the buffers while the
// copy team empties the others.
static spy_status spyi_cuda_download_staged(spyi_cuda_gpu *gpu, char *data, spyi_cu_pointer from,
                                            uint64_t size, spyi_cu_stream stream, spyi_text *error) {
    spyi_copy_team team;
    const size_t most = spyi_cuda_piece(size);
    uint64_t asked = 0, taken = 0; // both count bytes
    uint32_t ask = 0, take = 0;    // both count pieces
    spy_status status = SPY_OK;
    spyi_copy_begin(&team, spyi_copy_threads((size_t)size), true);
    while (taken < size && status == SPY_OK) {
        if (asked < size && ask - take < SPYI_CUDA_STAGING_COUNT / 2) {
            spyi_cuda_staging *staging = &gpu->download[ask % SPYI_CUDA_STAGING_COUNT];
            size_t piece = spyi_cuda_next(size - asked, most);
            spyi_cu_result result;
            if (ask >= SPYI_CUDA_STAGING_COUNT) spyi_copy_wait(&team, ask + 1 - SPYI_CUDA_STAGING_COUNT);
            status = spyi_cuda_ready(gpu, staging, most, error);
            if (status != SPY_OK) break;
            result = gpu->cu.MemcpyDtoHAsync(staging->host, from + asked, piece, stream);
            if (result == SPYI_CU_OK) result = gpu->cu.EventRecord(staging->event, stream);
            staging->used = true;
            status = spyi_cuda_moved(gpu, result, "cuMemcpyDtoHAsync", error);
            asked += piece;
            ask++;
        } else {
            spyi_cuda_staging *staging = &gpu->download[take % SPYI_CUDA_STAGING_COUNT];
            size_t piece = spyi_cuda_next(size - taken, most);
            status = spyi_cuda_ready(gpu, staging, most, error); // waits for the transfer
            if (status == SPY_OK) spyi_copy_post(&team, data + taken, staging->host, piece);
            taken += piece;
            take++;
        }
    }
    spyi_copy_end(&team);
    return status;
}

// Sets *stream to the stream for a download that must wait for the batches up to `after`: gpu->lane, which
// waits only for these, or gpu->stream, which waits for all work. A program's stream may hold other work on
// the same memory, so its downloads wait for all of it.
static spy_status spyi_cuda_follow(spyi_cuda_gpu *gpu, uint64_t after, spyi_cu_stream *stream,
                                   spyi_text *error) {
    spyi_cu_result result;
    *stream = gpu->stream;
    if (gpu->stream != gpu->own_stream) return SPY_OK;
    if (after < gpu->ordered) after = gpu->ordered;
    if (after + 1 >= gpu->base.open && gpu->work == 0) return SPY_OK;
    if (after >= gpu->base.open) return SPY_OK; // the caller must wait for all work
    *stream = gpu->lane;
    if (after <= gpu->finished) return SPY_OK;
    result = gpu->cu.StreamWaitEvent(gpu->lane, gpu->batches[after % SPYI_CUDA_BATCHES].event, 0);
    return spyi_cuda_moved(gpu, result, "cuStreamWaitEvent", error);
}

static spy_status spyi_cuda_fetch_on(spyi_cuda_gpu *gpu, char *data, spyi_cu_pointer from, uint64_t size,
                                     spyi_cu_stream stream, spyi_text *error) {
    spyi_cu_result result;
    if (size >= SPYI_CUDA_DRIVER_READ && !spyi_cuda_is_pinned(gpu, data))
        return spyi_cuda_download_staged(gpu, data, from, size, stream, error);
    if (size > SPYI_CUDA_SMALL_UPLOAD) {
        result = gpu->cu.MemcpyDtoHAsync(data, from, (size_t)size, stream);
        if (result == SPYI_CU_OK) result = gpu->cu.StreamSynchronize(stream);
        return spyi_cuda_moved(gpu, result, "cuMemcpyDtoHAsync", error);
    }
    return spyi_cuda_read_small(gpu, data, from, (size_t)size, stream, error);
}

// Downloads, and records that the batches that it waited for are finished.
static spy_status spyi_cuda_fetch(spyi_cuda_gpu *gpu, char *data, spyi_cu_pointer from, uint64_t size,
                                  uint64_t after, spyi_text *error) {
    spyi_cu_stream stream;
    spy_status status = spyi_cuda_follow(gpu, after, &stream, error);
    if (status == SPY_OK) status = spyi_cuda_fetch_on(gpu, data, from, size, stream, error);
    if (status != SPY_OK) return status;
    if (stream == gpu->stream) return spyi_cuda_all_done(gpu, error);
    if (gpu->finished < after) gpu->finished = after;
    return SPY_OK;
}

SPYI_FN spy_status spyi_cuda_download(spyi_gpu *base, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK && from->mapped != NULL) {
        status = spyi_cuda_wait_for(gpu, after, UINT64_MAX, error);
        if (status == SPY_OK) memcpy(data, (const char *)from->mapped + offset, (size_t)size);
    } else if (status == SPY_OK) {
        status = spyi_cuda_check_captured(gpu, "wait for", error);
        if (status == SPY_OK)
            status = spyi_cuda_fetch(gpu, (char *)data, from->address + offset, size, after, error);
    }
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_destroy_staging(spyi_cuda_gpu *gpu) {
    uint32_t i;
    if (gpu->bounce != NULL) (void)gpu->cu.MemFreeHost(gpu->bounce);
    for (i = 0; i < 2 * SPYI_CUDA_STAGING_COUNT; i++) {
        spyi_cuda_staging *staging =
            i < SPYI_CUDA_STAGING_COUNT ? &gpu->upload[i] : &gpu->download[i - SPYI_CUDA_STAGING_COUNT];
        if (staging->host != NULL) (void)gpu->cu.MemFreeHost(staging->host);
        if (staging->event != NULL) (void)gpu->cu.EventDestroy(staging->event);
    }
}

// >>cuda/image.c --------------------------------------------------------------------------------------------

// Images: CUDA arrays, and the texture and surface objects by which kernels read and write them.
// Source: the CUDA Driver API's reference manual, "Memory Management", "Texture Object Management".
#include <math.h>

SPYI_COLD_BEGIN

// >>formats

typedef struct spyi_cuda_format {
    uint8_t format, array, channels; // the members are a spy_format, a CUarray_format and the number of
                                     // channels
    uint8_t view;                    // a CUresourceViewFormat
} spyi_cuda_format;

enum { // These are values of CUarray_format.
    SPYI_CU_UINT8 = 1,
    SPYI_CU_UINT16 = 2,
    SPYI_CU_UINT32 = 3,
    SPYI_CU_SINT8 = 8,
    SPYI_CU_SINT16 = 9,
    SPYI_CU_SINT32 = 10,
    SPYI_CU_HALF = 16,
    SPYI_CU_FLOAT = 32
};

// The formats that arrays have. unorm and snorm are integers, which texture objects read as floats.
static const spyi_cuda_format spyi_cuda_formats[] = {
    { SPY_FORMAT_R8_UINT, SPYI_CU_UINT8, 1, 1 },        { SPY_FORMAT_R8_SINT, SPYI_CU_SINT8, 1, 4 },
    { SPY_FORMAT_R8_UNORM, SPYI_CU_UINT8, 1, 1 },       { SPY_FORMAT_R8_SNORM, SPYI_CU_SINT8, 1, 4 },
    { SPY_FORMAT_RG8_UINT, SPYI_CU_UINT8, 2, 2 },       { SPY_FORMAT_RG8_SINT, SPYI_CU_SINT8, 2, 5 },
    { SPY_FORMAT_RG8_UNORM, SPYI_CU_UINT8, 2, 2 },      { SPY_FORMAT_RG8_SNORM, SPYI_CU_SINT8, 2, 5 },
    { SPY_FORMAT_RGBA8_UINT, SPYI_CU_UINT8, 4, 3 },     { SPY_FORMAT_RGBA8_SINT, SPYI_CU_SINT8, 4, 6 },
    { SPY_FORMAT_RGBA8_UNORM, SPYI_CU_UINT8, 4, 3 },    { SPY_FORMAT_RGBA8_UNORM_SRGB, SPYI_CU_UINT8, 4, 3 },
    { SPY_FORMAT_RGBA8_SNORM, SPYI_CU_SINT8, 4, 6 },    { SPY_FORMAT_R16_UINT, SPYI_CU_UINT16, 1, 7 },
    { SPY_FORMAT_R16_SINT, SPYI_CU_SINT16, 1, 10 },     { SPY_FORMAT_R16_UNORM, SPYI_CU_UINT16, 1, 7 },
    { SPY_FORMAT_R16_SNORM, SPYI_CU_SINT16, 1, 10 },    { SPY_FORMAT_R16_FLOAT, SPYI_CU_HALF, 1, 19 },
    { SPY_FORMAT_RG16_UINT, SPYI_CU_UINT16, 2, 8 },     { SPY_FORMAT_RG16_SINT, SPYI_CU_SINT16, 2, 11 },
    { SPY_FORMAT_RG16_UNORM, SPYI_CU_UINT16, 2, 8 },    { SPY_FORMAT_RG16_SNORM, SPYI_CU_SINT16, 2, 11 },
    { SPY_FORMAT_RG16_FLOAT, SPYI_CU_HALF, 2, 20 },     { SPY_FORMAT_RGBA16_UINT, SPYI_CU_UINT16, 4, 9 },
    { SPY_FORMAT_RGBA16_SINT, SPYI_CU_SINT16, 4, 12 },  { SPY_FORMAT_RGBA16_UNORM, SPYI_CU_UINT16, 4, 9 },
    { SPY_FORMAT_RGBA16_SNORM, SPYI_CU_SINT16, 4, 12 }, { SPY_FORMAT_RGBA16_FLOAT, SPYI_CU_HALF, 4, 21 },
    { SPY_FORMAT_R32_UINT, SPYI_CU_UINT32, 1, 13 },     { SPY_FORMAT_R32_SINT, SPYI_CU_SINT32, 1, 16 },
    { SPY_FORMAT_R32_FLOAT, SPYI_CU_FLOAT, 1, 22 },     { SPY_FORMAT_RG32_UINT, SPYI_CU_UINT32, 2, 14 },
    { SPY_FORMAT_RG32_SINT, SPYI_CU_SINT32, 2, 17 },    { SPY_FORMAT_RG32_FLOAT, SPYI_CU_FLOAT, 2, 23 },
    { SPY_FORMAT_RGBA32_UINT, SPYI_CU_UINT32, 4, 15 },  { SPY_FORMAT_RGBA32_SINT, SPYI_CU_SINT32, 4, 18 },
    { SPY_FORMAT_RGBA32_FLOAT, SPYI_CU_FLOAT, 4, 24 },
};

static const spyi_cuda_format *spyi_cuda_find_format(uint32_t format) {
    for (size_t i = 0; i < sizeof spyi_cuda_formats / sizeof spyi_cuda_formats[0]; i++)
        if (spyi_cuda_formats[i].format == format) return &spyi_cuda_formats[i];
    return NULL;
}

static uint32_t spyi_cuda_channel_bytes(const spyi_cuda_format *format) {
    switch (format->array) {
    case SPYI_CU_UINT8:
    case SPYI_CU_SINT8: return 1;
    case SPYI_CU_UINT16:
    case SPYI_CU_SINT16:
    case SPYI_CU_HALF: return 2;
    default: return 4;
    }
}

static uint32_t spyi_cuda_texel_bytes(const spyi_cuda_format *format) {
    return spyi_cuda_channel_bytes(format) * format->channels;
}

// Returns whether shaders get integers, which cannot be filtered.
static bool spyi_cuda_is_integer(const spyi_cuda_format *format) {
    switch (format->format) {
    case SPY_FORMAT_R8_UINT:
    case SPY_FORMAT_R8_SINT:
    case SPY_FORMAT_RG8_UINT:
    case SPY_FORMAT_RG8_SINT:
    case SPY_FORMAT_RGBA8_UINT:
    case SPY_FORMAT_RGBA8_SINT:
    case SPY_FORMAT_R16_UINT:
    case SPY_FORMAT_R16_SINT:
    case SPY_FORMAT_RG16_UINT:
    case SPY_FORMAT_RG16_SINT:
    case SPY_FORMAT_RGBA16_UINT:
    case SPY_FORMAT_RGBA16_SINT: return true;
    default: return format->array == SPYI_CU_UINT32 || format->array == SPYI_CU_SINT32;
    }
}

// Surfaces have no conversions: a store writes the bytes of the shader's own type, which has 32 bits a channel.
SPYI_FN uint32_t spyi_cuda_image_support(spyi_gpu *gpu, uint32_t number) {
    const spyi_cuda_format *format = spyi_cuda_find_format(number);
    uint32_t usage = SPY_TEXTURE_USAGE_SAMPLED | SPY_TEXTURE_USAGE_COPIED | SPYI_BLITS;
    (void)gpu;
    if (format == NULL) return 0;
    if (spyi_cuda_channel_bytes(format) == 4) usage |= SPY_TEXTURE_USAGE_STORED;
    if (!spyi_cuda_is_integer(format)) usage |= SPY_TEXTURE_USAGE_FILTERED;
    return usage;
}

// >>arrays

SPYI_FN spy_status spyi_cuda_create_image(spyi_gpu *base, const spyi_image_desc *desc, const char *label,
                                          spyi_image *image, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_cuda_format *format = spyi_cuda_find_format(desc->format);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_array_desc info;
    spyi_cu_result result;
    void *array = NULL;
    memset(image, 0, sizeof *image);
    if (status != SPY_OK) return status;
    if (format == NULL || desc->samples > 1) {
        spyi_text_add(error, desc->samples > 1 ? "CUDA has no multisampled textures"
                                               : "CUDA has no textures of this format");
        return SPY_ERROR_UNSUPPORTED;
    }
    memset(&info, 0, sizeof info);
    info.width = desc->width;
    info.height = desc->type == SPY_TEXTURE_TYPE_1D ? 0 : desc->height;
    info.format = format->array;
    info.channels = format->channels;
    if (desc->type == SPY_TEXTURE_TYPE_3D) info.depth = desc->depth;
    if (desc->array) info.flags |= SPYI_CU_ARRAY_LAYERED;
    if (desc->type == SPY_TEXTURE_TYPE_CUBE) info.flags |= SPYI_CU_ARRAY_CUBEMAP;
    if (info.flags) info.depth = desc->layers;
    if (desc->usage & SPY_TEXTURE_USAGE_STORED) info.flags |= SPYI_CU_ARRAY_SURFACE;
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    result = desc->levels > 1 ? gpu->cu.MipmappedArrayCreate(&array, &info, desc->levels)
                              : gpu->cu.Array3DCreate(&array, &info);
    if (result == SPYI_CU_OK) {
        image->handle = (uint64_t)(uintptr_t)array;
        image->memory = desc->levels > 1 ? (void *)gpu : array; // spyi_cuda_destroy_image() tells mipmapped
                                                                // arrays from others by this member
        for (uint32_t level = 0; level < desc->levels; level++) {
            size_t width = spyi_cuda_level_size(desc->width, level),
                   height = spyi_cuda_level_size(desc->height, level),
                   depth = spyi_cuda_level_size(desc->depth, level);
            image->size += width * height * depth * desc->layers * spyi_cuda_texel_bytes(format);
        }
        gpu->base.stats.driver_allocations++;
        gpu->base.stats.driver_bytes += image->size;
    } else {
        spyi_text_add(error, "%s%s%s", label ? "for '" : "", label ? label : "", label ? "': " : "");
        status = spyi_cuda_fail(gpu, result, desc->levels > 1 ? "cuMipmappedArrayCreate" : "cuArray3DCreate",
                                error);
    }
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_destroy_image(spyi_gpu *base, spyi_image *image) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    void *array = (void *)(uintptr_t)image->handle;
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    if (image->memory == array && array != NULL) (void)gpu->cu.ArrayDestroy(array);
    else if (image->memory != NULL) (void)gpu->cu.MipmappedArrayDestroy(array);
    if (image->memory != NULL) gpu->base.stats.driver_bytes -= image->size;
    memset(image, 0, sizeof *image);
    spyi_cuda_leave_relaxed(gpu, entered);
}

// Returns the array of one level.
static spyi_cu_result spyi_cuda_level(spyi_cuda_gpu *gpu, uint64_t handle, const spyi_image_desc *desc,
                                      uint32_t level, void **array) {
    *array = (void *)(uintptr_t)handle;
    return desc->levels > 1 ? gpu->cu.MipmappedArrayGetLevel(array, *array, level) : SPYI_CU_OK;
}

// >>objects

// A sampler on CUDA: the part of each texture object that says how to sample. A view copies it.
typedef struct spyi_cuda_sampler {
    spyi_cu_texture_desc desc;
} spyi_cuda_sampler;

SPYI_FN spy_status spyi_cuda_create_sampler(spyi_gpu *base, const spy_sampler_desc *desc, uint64_t *sampler,
                                            spyi_text *error) {
    static const uint8_t modes[] = { 0, 0, 2, 1, 3, 2 }; // the CUaddress_mode of each spy_address_mode
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_sampler *made;
    *sampler = 0;
    if (desc->compare != SPY_COMPARE_NONE || desc->reduction > SPY_REDUCTION_AVERAGE ||
        desc->address_u == SPY_ADDRESS_MODE_MIRROR_ONCE || desc->address_v == SPY_ADDRESS_MODE_MIRROR_ONCE ||
        desc->address_w == SPY_ADDRESS_MODE_MIRROR_ONCE ||
        (desc->min_filter == SPY_FILTER_NEAREST) != (desc->mag_filter == SPY_FILTER_NEAREST)) {
        spyi_text_add(error,
                      "CUDA has no samplers that compare, take the least or greatest texel, mirror once, or "
                      "have different min_filter and mag_filter");
        return SPY_ERROR_UNSUPPORTED;
    }
    made = (spyi_cuda_sampler *)spyi_allocate(gpu->base.ctx, sizeof *made);
    if (made == NULL) {
        spyi_text_add(error, "no host memory for a sampler");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memset(made, 0, sizeof *made);
    made->desc.address[0] = modes[desc->address_u];
    made->desc.address[1] = modes[desc->address_v];
    made->desc.address[2] = modes[desc->address_w];
    made->desc.filter = desc->min_filter != SPY_FILTER_NEAREST;
    made->desc.mip_filter = desc->mip_filter != SPY_FILTER_NEAREST;
    made->desc.flags = SPYI_CU_TEXTURE_NORMALIZED;
    made->desc.max_anisotropy = desc->max_anisotropy;
    made->desc.bias = desc->mip_bias;
    made->desc.min_level = desc->min_level;
    made->desc.max_level = desc->max_level > 0 ? desc->max_level : 1000.0f;
    memcpy(made->desc.border, desc->border, sizeof made->desc.border);
    *sampler = (uint64_t)(uintptr_t)made;
    return SPY_OK;
}

SPYI_FN void spyi_cuda_destroy_sampler(spyi_gpu *base, uint64_t sampler) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_free(gpu->base.ctx, (void *)(uintptr_t)sampler, sizeof(spyi_cuda_sampler));
}

static spyi_cu_result spyi_cuda_surface(spyi_cuda_gpu *gpu, const spyi_image *image,
                                        const spyi_image_desc *of, const spyi_image_view_desc *desc,
                                        uint64_t *view) {
    spyi_cu_resource_desc resource;
    spyi_cu_result result;
    memset(&resource, 0, sizeof resource);
    result = spyi_cuda_level(gpu, image->handle, of, desc->first_level, &resource.array);
    return result == SPYI_CU_OK ? gpu->cu.SurfObjectCreate(view, &resource) : result;
}

static spyi_cu_result spyi_cuda_texture(spyi_cuda_gpu *gpu, const spyi_image *image,
                                        const spyi_image_desc *of, const spyi_image_view_desc *desc,
                                        const spyi_cuda_format *format, const spyi_cuda_sampler *sampler,
                                        uint64_t *view) {
    spyi_cu_resource_desc resource;
    spyi_cu_texture_desc texture;
    spyi_cu_view_desc part;
    bool whole = desc->first_layer == 0 && desc->layer_count == of->layers && desc->format == of->format;
    memset(&resource, 0, sizeof resource);
    memset(&texture, 0, sizeof texture);
    memset(&part, 0, sizeof part);
    resource.type = of->levels > 1 ? SPYI_CU_RESOURCE_MIPMAPPED : SPYI_CU_RESOURCE_ARRAY;
    resource.array = (void *)(uintptr_t)image->handle;
    if (of->levels > 1 && desc->level_count == 1) { // CUDA makes each level an array of its own
        spyi_cu_result result = spyi_cuda_level(gpu, image->handle, of, desc->first_level, &resource.array);
        if (result != SPYI_CU_OK) return result;
        resource.type = SPYI_CU_RESOURCE_ARRAY;
    }
    part.format = format->view;
    part.width = spyi_cuda_level_size(of->width, desc->first_level);
    part.height = of->type == SPY_TEXTURE_TYPE_1D ? 0 : spyi_cuda_level_size(of->height, desc->first_level);
    part.depth = of->type == SPY_TEXTURE_TYPE_3D ? spyi_cuda_level_size(of->depth, desc->first_level) : 0;
    if (resource.type == SPYI_CU_RESOURCE_MIPMAPPED) {
        part.first_level = desc->first_level;
        part.last_level = desc->first_level + desc->level_count - 1;
        whole = whole && desc->first_level == 0 && desc->level_count == of->levels;
    }
    part.first_layer = desc->first_layer;
    part.last_layer = desc->first_layer + desc->layer_count - 1;
    if (of->array || of->type == SPY_TEXTURE_TYPE_CUBE) part.depth = desc->layer_count;
    if (sampler != NULL) {
        texture = sampler->desc;
    } else { // this is a view for loads: those of 1-D textures are samples (prelude.cuh), which the levels'
             // limit would hold at level 0
        texture.address[0] = texture.address[1] = texture.address[2] = SPYI_CU_ADDRESS_CLAMP;
        texture.max_level = 1000.0f;
    }
    // A GPU filters a 1-D texture as one row of a 2-D texture, at the edge of that row: with BORDER across the row,
    // half of each sample would be the border's colour.
    if (of->type == SPY_TEXTURE_TYPE_1D) texture.address[1] = SPYI_CU_ADDRESS_CLAMP;
    texture.flags |= SPYI_CU_TEXTURE_NORMALIZED; // mipmapped arrays need it; loads by coordinates ignore it
    if (spyi_cuda_is_integer(format)) {
        texture.flags |= SPYI_CU_TEXTURE_INTEGER;
        texture.filter = texture.mip_filter = 0;
    }
    // CUDA refuses this flag for other types
    if (of->type == SPY_TEXTURE_TYPE_CUBE) texture.flags |= SPYI_CU_TEXTURE_SEAMLESS;
    if (desc->format == SPY_FORMAT_RGBA8_UNORM_SRGB) texture.flags |= SPYI_CU_TEXTURE_SRGB;
    return gpu->cu.TexObjectCreate(view, &resource, &texture, whole ? NULL : &part);
}

SPYI_FN spy_status spyi_cuda_create_view(spyi_gpu *base, const spyi_image *image, const spyi_image_desc *of,
                                         const spyi_image_view_desc *desc, uint64_t sampler, uint64_t *view,
                                         spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_cuda_format *format = spyi_cuda_find_format(desc->format);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    spyi_cu_result result;
    *view = 0;
    if (status != SPY_OK) return status;
    if (format == NULL || desc->type != of->type || desc->array != of->array ||
        (desc->stored && (desc->first_layer != 0 || desc->layer_count != of->layers))) {
        spyi_text_add(error, "CUDA's textures have the type of the texture that they were made from; %s",
                      desc->stored ? "stores need all its layers"
                                   : "take all layers, or a texture for each layer");
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    result = desc->stored ? spyi_cuda_surface(gpu, image, of, desc, view)
                          : spyi_cuda_texture(gpu, image, of, desc, format,
                                              (const spyi_cuda_sampler *)(uintptr_t)sampler, view);
    if (result != SPYI_CU_OK)
        status =
            spyi_cuda_fail(gpu, result, desc->stored ? "cuSurfObjectCreate" : "cuTexObjectCreate", error);
    spyi_cuda_leave_relaxed(gpu, entered);
    return status;
}

SPYI_FN void spyi_cuda_destroy_view(spyi_gpu *base, uint64_t view, bool stored) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    spyi_cuda_entered entered = spyi_cuda_enter_relaxed(gpu);
    if (stored) (void)gpu->cu.SurfObjectDestroy(view);
    else (void)gpu->cu.TexObjectDestroy(view);
    spyi_cuda_leave_relaxed(gpu, entered);
}

// The texture or surface object itself is Slang's handle.
SPYI_FN spy_status spyi_cuda_add_handle(spyi_gpu *base, const spyi_binding *binding, uint64_t *handle,
                                        spyi_text *error) {
    (void)base;
    *handle = binding->handle;
    if (binding->kind == SPYI_BINDING_TEXTURE || binding->kind == SPYI_BINDING_RW_TEXTURE) return SPY_OK;
    spyi_text_add(error, "on CUDA only textures have handles, and without a sampler");
    return SPY_ERROR_UNSUPPORTED;
}

SPYI_FN void spyi_cuda_remove_handle(spyi_gpu *base, spyi_binding_kind kind, uint64_t handle) {
    (void)base, (void)kind, (void)handle;
}

// >>work

// Describes one end of a copy, which is texels of an image. Layers are the third dimension of arrays.
static spyi_cu_result spyi_cuda_image_end(spyi_cuda_gpu *gpu, uint64_t handle, const spyi_image_desc *desc,
                                          const spyi_image_box *box, spyi_cu_copy_end *end) {
    memset(end, 0, sizeof *end);
    end->x_bytes = (size_t)box->x * spyi_cuda_texel_bytes(spyi_cuda_find_format(desc->format));
    end->y = box->y;
    end->z = desc->type == SPY_TEXTURE_TYPE_3D ? box->z : box->first_layer;
    end->memory_type = SPYI_CU_MEMORY_TYPE_ARRAY;
    return spyi_cuda_level(gpu, handle, desc, box->level, &end->array);
}

static void spyi_cuda_image_size(const spyi_image_desc *desc, const spyi_image_box *box,
                                 spyi_cu_copy_params *copy) {
    copy->width_bytes = (size_t)box->width * spyi_cuda_texel_bytes(spyi_cuda_find_format(desc->format));
    copy->height = box->height;
    copy->depth = desc->type == SPY_TEXTURE_TYPE_3D ? box->depth : box->layer_count;
}

// Graphs hold dispatches, copies and fills of memory only.
static spy_status spyi_cuda_no_graph(const spyi_cuda_gpu *gpu, spyi_text *error) {
    if (gpu->graph == NULL) return SPY_OK;
    spyi_text_add(error, "copies of textures cannot be part of a graph");
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_cuda_copied(spyi_cuda_gpu *gpu, spyi_cu_result result, spyi_text *error) {
    return result == SPYI_CU_OK ? spyi_cuda_worked(gpu, error)
                                : spyi_cuda_fail(gpu, result, "cuMemcpy3DAsync", error);
}

SPYI_FN spy_status spyi_cuda_image_bytes(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_image_bytes_work *w = (const spyi_image_bytes_work *)(const void *)work;
    spyi_cu_copy_params copy;
    spyi_cu_copy_end image, bytes;
    spyi_cu_result result;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    if (status == SPY_OK) {
        memset(&copy, 0, sizeof copy);
        memset(&bytes, 0, sizeof bytes);
        bytes.memory_type = SPYI_CU_MEMORY_TYPE_DEVICE;
        bytes.device = w->chunk->address + w->offset;
        bytes.pitch = (size_t)w->row_pitch;
        bytes.height = (size_t)(w->slice_pitch / w->row_pitch);
        result = spyi_cuda_image_end(gpu, w->image, &w->desc, &w->box, &image);
        copy.from = w->to_image ? bytes : image;
        copy.to = w->to_image ? image : bytes;
        spyi_cuda_image_size(&w->desc, &w->box, &copy);
        if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&copy, gpu->stream);
        status = spyi_cuda_copied(gpu, result, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

SPYI_FN spy_status spyi_cuda_image_copy(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_image_copy_work *w = (const spyi_image_copy_work *)(const void *)work;
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    if (status == SPY_OK) {
        spyi_cu_copy_params copy;
        spyi_cu_result result;
        memset(&copy, 0, sizeof copy);
        result = spyi_cuda_image_end(gpu, w->from, &w->from_desc, &w->from_box, &copy.from);
        if (result == SPYI_CU_OK) result = spyi_cuda_image_end(gpu, w->to, &w->to_desc, &w->to_box, &copy.to);
        spyi_cuda_image_size(&w->from_desc, &w->from_box, &copy);
        if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&copy, gpu->stream);
        status = spyi_cuda_copied(gpu, result, error);
    }
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>clears

static uint32_t spyi_cuda_half(float value) {
    uint32_t bits, sign, mantissa;
    int32_t exponent;
    memcpy(&bits, &value, 4);
    sign = bits >> 16 & 0x8000u;
    exponent = (int32_t)(bits >> 23 & 255u) - 127 + 15;
    mantissa = bits & 0x7fffffu;
    if ((bits & 0x7fffffffu) > 0x7f800000u) return sign | 0x7e00u; // the number is not a number (NaN)
    if (exponent >= 31) return sign | 0x7c00u;
    if (exponent <= 0) {
        if (exponent < -10) return sign;
        mantissa |= 0x800000u;
        uint32_t shift = (uint32_t)(14 - exponent), half = mantissa >> shift,
                 rest = mantissa & ((1u << shift) - 1u);
        uint32_t middle = 1u << (shift - 1);
        return sign | (half + (rest > middle || (rest == middle && (half & 1u))));
    }
    bits = (uint32_t)exponent << 10 | mantissa >> 13;
    mantissa &= 0x1fffu;
    return sign | (bits + (mantissa > 0x1000u || (mantissa == 0x1000u && (bits & 1u))));
}

// Writes the bytes of a texel that has the given colour.
static void spyi_cuda_texel(const spyi_cuda_format *format, const spy_clear_color *color, uint8_t *out) {
    uint32_t size = spyi_cuda_channel_bytes(format);
    bool integer = spyi_cuda_is_integer(format);
    for (uint32_t c = 0; c < format->channels; c++) {
        uint32_t bits = color->uints[c];
        if (!integer && size == 2 && format->array == SPYI_CU_HALF) {
            bits = spyi_cuda_half(color->floats[c]);
        } else if (!integer && format->array != SPYI_CU_FLOAT) {
            bool is_signed = format->array == SPYI_CU_SINT8 || format->array == SPYI_CU_SINT16;
            double most = size == 1 ? (is_signed ? 127.0 : 255.0) : is_signed ? 32767.0 : 65535.0;
            double value = (double)color->floats[c], least = is_signed ? -1.0 : 0.0;
            value = value >= least ? value > 1.0 ? 1.0 : value : least; // a NaN becomes the least value
            if (format->format == SPY_FORMAT_RGBA8_UNORM_SRGB && c < 3)
                value = value <= 0.0031308 ? value * 12.92 : 1.055 * pow(value, 1.0 / 2.4) - 0.055;
            bits = (uint32_t)(int32_t)floor(value * most + 0.5);
        }
        memcpy(out + c * size, &bits, size); // little-endian: the low bytes
    }
}

// Copies a page that is full of the texel, some rows at a time.
static spy_status spyi_cuda_clear_level(spyi_cuda_gpu *gpu, const spyi_image_clear_work *w, uint32_t level,
                                        const uint8_t *texel, uint32_t texel_bytes, spyi_text *error) {
    const spyi_image_desc *desc = &w->desc;
    uint32_t width = spyi_cuda_level_size(desc->width, level),
             height = spyi_cuda_level_size(desc->height, level),
             depth = spyi_cuda_level_size(desc->depth, level);
    size_t row = (size_t)width * texel_bytes, rows = SPYI_CUDA_PAGE_SIZE / row;
    spyi_cu_pointer unused;
    spyi_cu_copy_params copy;
    spyi_image_box box;
    char *host;
    if (rows < 1) rows = 1;
    if (rows > height) rows = height;
    spy_status status = spyi_cuda_take_bytes(gpu, row * rows, &host, &unused, error);
    if (status != SPY_OK) return status;
    for (size_t i = 0; i < (size_t)width * rows; i++) memcpy(host + i * texel_bytes, texel, texel_bytes);
    memset(&box, 0, sizeof box);
    box.level = level;
    box.width = width;
    box.depth = box.layer_count = 1;
    for (uint32_t z = 0; z < (desc->type == SPY_TEXTURE_TYPE_3D ? depth : w->layer_count); z++) {
        box.z = z;
        box.first_layer = w->first_layer + z;
        for (box.y = 0; box.y < height && status == SPY_OK; box.y += box.height) {
            box.height = height - box.y < rows ? height - box.y : (uint32_t)rows;
            memset(&copy, 0, sizeof copy);
            copy.from.memory_type = SPYI_CU_MEMORY_TYPE_HOST;
            copy.from.host = host;
            copy.from.pitch = row;
            copy.from.height = rows;
            spyi_cu_result result = spyi_cuda_image_end(gpu, w->image, desc, &box, &copy.to);
            spyi_cuda_image_size(desc, &box, &copy);
            if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&copy, gpu->stream);
            status = spyi_cuda_copied(gpu, result, error);
        }
    }
    return status;
}

SPYI_FN spy_status spyi_cuda_image_clear(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    const spyi_image_clear_work *w = (const spyi_image_clear_work *)(const void *)work;
    const spyi_cuda_format *format = spyi_cuda_find_format(w->desc.format);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    uint8_t texel[16];
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    spyi_cuda_texel(format, &w->color, texel);
    for (uint32_t i = 0; i < w->level_count && status == SPY_OK; i++)
        status =
            spyi_cuda_clear_level(gpu, w, w->first_level + i, texel, spyi_cuda_texel_bytes(format), error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>blits

// The arguments of the kernel in blit.cuh, which has the same structs.
typedef struct spyi_cuda_side {
    spyi_cu_pointer texels;
    uint32_t width, height, depth, layers, kind, channels, bytes, unused;
} spyi_cuda_side;
typedef struct spyi_cuda_blit_args {
    spyi_cuda_side to, from;
    uint32_t linear, unused;
} spyi_cuda_blit_args;

static uint32_t spyi_cuda_blit_kind(const spyi_cuda_format *format) {
    const spy_format_info *f = spyi_format(format->format);
    if (f->is_integer) return f->is_signed ? 1 : 0;
    if (f->is_srgb) return 4;
    if (f->is_unorm) return 2;
    if (f->is_snorm) return 3;
    return format->array == SPYI_CU_HALF ? 5 : 6;
}

// Compiles the kernel at the first blit.
static spy_status spyi_cuda_make_blit(spyi_cuda_gpu *gpu, spyi_text *error) {
    static const char *const options[] = { "-default-device", "-w", "-modify-stack-limit=false" };
    spyi_nvrtc nvrtc;
    spyi_text source = { NULL, 0, 0 }, code = { NULL, 0, 0 }, log = { NULL, 0, 0 };
    const char *const *line;
    spyi_cu_result result;
    spy_status status;
    bool good;
    if (gpu->blit != NULL) return SPY_OK;
    status = spyi_nvrtc_find(gpu->nvrtc_path, &nvrtc, error);
    if (status != SPY_OK) return status;
    for (line = spyi_text_blit; *line != NULL; line++) spyi_text_add(&source, "%s\n", *line);
    good = source.data != NULL && spyi_nvrtc_run(&nvrtc, (int)gpu->base.limits.profile.arch, false,
                                                 source.data, "spy_blit", options, 3, &code, &log);
    if (!good) {
        spyi_text_add(error, "NVRTC cannot compile the kernel of blits: %s", spyi_text_str(&log));
        status = SPY_ERROR_COMPILE;
    }
    if (good && gpu->blit_module == NULL) {
        int mode = spyi_cuda_relax(gpu);
        result = gpu->cu.ModuleLoadData(&gpu->blit_module, code.data);
        spyi_cuda_restore(gpu, mode);
        if (result != SPYI_CU_OK)
            status = spyi_cuda_fail(gpu, result, "cuModuleLoadData of the kernel of blits", error);
    }
    if (status == SPY_OK) {
        result = gpu->cu.ModuleGetFunction(&gpu->blit, gpu->blit_module, "spy_blit");
        if (result != SPYI_CU_OK)
            status = spyi_cuda_fail(gpu, result, "cuModuleGetFunction of the kernel of blits", error);
    }
    spyi_text_free(&source);
    spyi_text_free(&code);
    spyi_text_free(&log);
    return status;
}

SPYI_FN void spyi_cuda_destroy_blit(spyi_cuda_gpu *gpu) {
    if (gpu->blit_module != NULL) (void)gpu->cu.ModuleUnload(gpu->blit_module);
}

// Takes memory for the texels of a box. Describes it to the kernel, and to a copy between the image and
// memory without gaps.
static spy_status spyi_cuda_blit_side(spyi_cuda_gpu *gpu, const spyi_image_desc *desc,
                                      const spyi_image_box *box, spyi_cuda_side *side, spyi_cu_copy_end *end,
                                      spyi_text *error) {
    const spyi_cuda_format *format = spyi_cuda_find_format(desc->format);
    char *unused;
    memset(side, 0, sizeof *side);
    memset(end, 0, sizeof *end);
    side->width = box->width;
    side->height = box->height;
    side->depth = box->depth;
    side->layers = box->layer_count;
    side->kind = spyi_cuda_blit_kind(format);
    side->channels = format->channels;
    side->bytes = spyi_cuda_channel_bytes(format);
    end->memory_type = SPYI_CU_MEMORY_TYPE_DEVICE;
    end->pitch = (size_t)box->width * spyi_cuda_texel_bytes(format);
    end->height = box->height;
    spy_status status = spyi_cuda_take_bytes(gpu, end->pitch * box->height * box->depth * box->layer_count,
                                             &unused, &side->texels, error);
    end->device = side->texels;
    return status;
}

// Copies the texels to memory without gaps, and the result of the kernel back.
static spy_status spyi_cuda_blit_now(spyi_cuda_gpu *gpu, const spyi_image_blit_work *w, spyi_text *error) {
    spyi_cuda_blit_args args;
    spyi_cu_copy_params in, out;
    void *params[1];
    memset(&args, 0, sizeof args);
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
    spy_status status = spyi_cuda_make_blit(gpu, error);
    if (status == SPY_OK)
        status = spyi_cuda_blit_side(gpu, &w->from_desc, &w->from_box, &args.from, &in.to, error);
    if (status == SPY_OK)
        status = spyi_cuda_blit_side(gpu, &w->to_desc, &w->to_box, &args.to, &out.from, error);
    if (status != SPY_OK) return status;
    args.linear = w->linear;
    params[0] = &args;
    uint64_t count = (uint64_t)args.to.width * args.to.height * args.to.depth * args.to.layers;
    spyi_cu_result result = spyi_cuda_image_end(gpu, w->from, &w->from_desc, &w->from_box, &in.from);
    spyi_cuda_image_size(&w->from_desc, &w->from_box, &in);
    if (result == SPYI_CU_OK) result = spyi_cuda_image_end(gpu, w->to, &w->to_desc, &w->to_box, &out.to);
    spyi_cuda_image_size(&w->to_desc, &w->to_box, &out);
    if (result == SPYI_CU_OK) result = gpu->cu.Memcpy3DAsync(&in, gpu->stream);
    if (result != SPYI_CU_OK) return spyi_cuda_copied(gpu, result, error);
    result = gpu->cu.LaunchKernel(gpu->blit, (unsigned)((count + 255) / 256), 1, 1, 256, 1, 1, 0, gpu->stream,
                                  params, NULL);
    if (result != SPYI_CU_OK)
        return spyi_cuda_fail(gpu, result, "cuLaunchKernel of the kernel of blits", error);
    return spyi_cuda_copied(gpu, gpu->cu.Memcpy3DAsync(&out, gpu->stream), error);
}

SPYI_FN spy_status spyi_cuda_image_blit(spyi_gpu *base, const spyi_work *work, spyi_text *error) {
    spyi_cuda_gpu *gpu = spyi_cuda_cast(base);
    bool pushed = spyi_cuda_enter(gpu);
    spy_status status = spyi_cuda_check_lost(gpu, error);
    if (status == SPY_OK) status = spyi_cuda_no_graph(gpu, error);
    if (status == SPY_OK)
        status = spyi_cuda_blit_now(gpu, (const spyi_image_blit_work *)(const void *)work, error);
    spyi_cuda_leave(gpu, pushed);
    return status;
}

// >>cuda/interop.c ------------------------------------------------------------------------------------------

// The public functions of api/cuda.h for programs with their own streams, context and device memory.

static spyi_cuda_gpu *spyi_cuda_public_enter(spy_device *device, const char *function) {
    spyi_cuda_gpu *gpu;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    gpu = (spyi_cuda_gpu *)(void *)spyi_device_gpu(device, "cuda", function);
    if (gpu == NULL) spyi_leave(device);
    return gpu;
}

// Calls `use`, one of stream.c's functions, for the program's stream, with the device's context current, and
// reports its error.
static spy_status spyi_cuda_with_stream(spy_device *device, void *stream, const char *function,
                                        spy_status (*use)(spyi_cuda_gpu *gpu, spyi_cu_stream stream,
                                                          spyi_text *error)) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_status status;
    bool pushed;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    pushed = spyi_cuda_enter(gpu);
    status = use(gpu, (spyi_cu_stream)stream, &error);
    spyi_cuda_leave(gpu, pushed);
    if (status != SPY_OK) (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(&error));
    spyi_text_free(&error);
    spyi_leave(device);
    return status;
}

spy_status spy_cuda_set_stream(spy_device *device, void *stream) {
    return spyi_cuda_with_stream(device, stream, "spy_cuda_set_stream", spyi_cuda_use_stream);
}

spy_status spy_cuda_wait_stream(spy_device *device, void *stream) {
    return spyi_cuda_with_stream(device, stream, "spy_cuda_wait_stream", spyi_cuda_wait_stream);
}

spy_status spy_cuda_signal_stream(spy_device *device, void *stream) {
    return spyi_cuda_with_stream(device, stream, "spy_cuda_signal_stream", spyi_cuda_signal_stream);
}

void *spy_cuda_get_stream(spy_device *device) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, "spy_cuda_get_stream");
    void *stream = gpu != NULL ? (void *)gpu->stream : NULL;
    if (gpu != NULL) spyi_leave(device);
    return stream;
}

void *spy_cuda_get_context(spy_device *device) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, "spy_cuda_get_context");
    void *context = gpu != NULL ? (void *)gpu->context : NULL;
    if (gpu != NULL) spyi_leave(device);
    return context;
}

uint32_t spy_cuda_get_adapter(spy_device *device) {
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, "spy_cuda_get_adapter");
    uint32_t adapter = gpu != NULL ? (uint32_t)(gpu->device + 1) : 0;
    if (gpu != NULL) spyi_leave(device);
    return adapter;
}

spy_status spy_cuda_make_current(spy_device *device) {
    static const char function[] = "spy_cuda_make_current";
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, function);
    spyi_cu_result result;
    spy_status status = SPY_OK;
    if (gpu == NULL) return SPY_ERROR_INVALID_ARGUMENT;
    result = gpu->cu.CtxSetCurrent(gpu->context);
    if (result != SPYI_CU_OK) {
        spyi_text error = { NULL, 0, 0 };
        status = spyi_cuda_fail(gpu, result, "cuCtxSetCurrent", &error);
        (void)spyi_fail(gpu->base.ctx, status, "%s: %s", function, spyi_text_str(&error));
        spyi_text_free(&error);
    }
    spyi_leave(device);
    return status;
}

// >>the thread's current context, for programs that have no device yet

static spy_status spyi_cuda_read_current(const spyi_cu_driver *cu, void **context, uint32_t *adapter,
                                         spyi_text *error) {
    spyi_cu_context now = NULL;
    spyi_cu_device device = -1;
    spyi_cu_result result = cu->CtxGetCurrent(&now);
    if (result == SPYI_CU_OK && now != NULL) result = cu->CtxGetDevice(&device);
    if (result != SPYI_CU_OK) {
        spyi_cu_say(cu, result, now != NULL ? "cuCtxGetDevice" : "cuCtxGetCurrent", error);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (context != NULL) *context = (void *)now;
    if (adapter != NULL) *adapter = (uint32_t)(device + 1);
    return SPY_OK;
}

spy_status spy_cuda_get_current_context(void **context, uint32_t *adapter) {
    spyi_cu_driver cu;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_cu_open(NULL, &cu, &error);
    if (context != NULL) *context = NULL;
    if (adapter != NULL) *adapter = 0;
    if (status == SPY_OK) status = spyi_cuda_read_current(&cu, context, adapter, &error);
    if (status != SPY_OK)
        (void)spyi_fail(NULL, status, "spy_cuda_get_current_context: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return status;
}

spy_status spy_cuda_set_current_context(void *context) {
    spyi_cu_driver cu;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = spyi_cu_open(NULL, &cu, &error);
    if (status == SPY_OK) {
        spyi_cu_result result = cu.CtxSetCurrent((spyi_cu_context)context);
        if (result != SPYI_CU_OK) spyi_cu_say(&cu, result, "cuCtxSetCurrent", &error);
        if (result != SPYI_CU_OK) status = SPY_ERROR_INVALID_ARGUMENT;
    }
    if (status != SPY_OK)
        (void)spyi_fail(NULL, status, "spy_cuda_set_current_context: %s", spyi_text_str(&error));
    spyi_text_free(&error);
    return status;
}

// >>tensors over the program's memory

// Fills `chunk` with the complete allocation around `address`, so that hazards between tensors over parts of
// it are found.
static bool spyi_cuda_find_memory(spyi_cuda_gpu *gpu, uint64_t address, uint64_t size_bytes,
                                  spyi_chunk *chunk, spyi_text *error) {
    int ordinal = -1;
    spyi_cu_pointer start = 0;
    size_t size = 0;
    spyi_cu_result result = gpu->cu.PointerGetAttribute(&ordinal, SPYI_CU_POINTER_DEVICE_ORDINAL, address);
    memset(chunk, 0, sizeof *chunk);
    if (result != SPYI_CU_OK || ordinal != gpu->device) {
        if (result != SPYI_CU_OK)
            spyi_text_add(error, "0x%llx is no memory of CUDA's", (unsigned long long)address);
        else
            spyi_text_add(error, "0x%llx is memory of device %d, this one is device %d, '%s'",
                          (unsigned long long)address, ordinal + 1, gpu->device + 1,
                          gpu->base.limits.info.name);
        return false;
    }
    if (gpu->cu.PointerGetAttribute(&start, SPYI_CU_POINTER_RANGE_START, address) != SPYI_CU_OK ||
        gpu->cu.PointerGetAttribute(&size, SPYI_CU_POINTER_RANGE_SIZE, address) != SPYI_CU_OK || start == 0) {
        start =
            address &
            ~(spyi_cu_pointer)255; // mapped memory without a known range: start at a multiple of 256, because
                                   // vector loads are aligned relative to the start
        size = (size_t)(address - start + size_bytes);
    }
    if (size_bytes > start + size - address) {
        spyi_text_add(error, "%llu bytes were given, the allocation has %llu from 0x%llx on",
                      (unsigned long long)size_bytes, (unsigned long long)(start + size - address),
                      (unsigned long long)address);
        return false;
    }
    chunk->handle = chunk->address = start;
    chunk->size = size;
    return true;
}

spy_tensor *spy_cuda_create_tensor(spy_device *device, uint64_t address, uint64_t size_bytes,
                                   const spy_tensor_desc *desc) {
    static const char function[] = "spy_cuda_create_tensor";
    spyi_cuda_gpu *gpu = spyi_cuda_public_enter(device, function);
    spyi_text error = { NULL, 0, 0 };
    spy_tensor *tensor = NULL;
    spyi_chunk chunk;
    bool pushed;
    if (gpu == NULL) return NULL;
    pushed = spyi_cuda_enter(gpu);
    if (address == 0 || desc == NULL || desc->data != NULL)
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        address == 0   ? "the address is 0"
                        : desc == NULL ? "desc is NULL"
                                       : "desc->data must be NULL: the memory has the contents");
    else if (!spyi_cuda_find_memory(gpu, address, size_bytes, &chunk, &error))
        (void)spyi_fail(gpu->base.ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function, spyi_text_str(&error));
    else tensor = spyi_import_tensor(device, function, &chunk, address - chunk.address, size_bytes, desc);
    spyi_cuda_leave(gpu, pushed);
    spyi_text_free(&error);
    spyi_leave(device);
    return tensor;
}

// >>cuda/shared.c -------------------------------------------------------------------------------------------

// Memory and timeline semaphores of another API (vk/shared.c), imported into a CUDA context by their file
// descriptors. There is no device of this library on the CUDA side: the context and the streams are the
// program's, such as torch's.
// Source: the CUDA Driver API's reference manual, External Resource Interoperability.

typedef struct spyi_cu_handle_desc { // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
    int type;
    union {
        int fd;
        void *others[2];
    } handle;
    unsigned long long size;
    unsigned flags, reserved[16];
} spyi_cu_handle_desc;

typedef struct spyi_cu_range_desc { // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
    unsigned long long offset, size;
    unsigned flags, reserved[16];
} spyi_cu_range_desc;

typedef struct spyi_cu_semaphore_desc { // CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC
    int type;
    union {
        int fd;
        void *others[2];
    } handle;
    unsigned flags, reserved[16];
} spyi_cu_semaphore_desc;

typedef struct spyi_cu_semaphore_params { // CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS and _WAIT_PARAMS
    unsigned long long value, others[2];
    unsigned more[12], flags, reserved[16];
} spyi_cu_semaphore_params;

typedef char spyi_cu_check_shared[sizeof(spyi_cu_handle_desc) == 104 && sizeof(spyi_cu_range_desc) == 88 &&
                                          sizeof(spyi_cu_semaphore_desc) == 96 &&
                                          sizeof(spyi_cu_semaphore_params) == 144
                                      ? 1
                                      : -1];

enum {
    SPYI_CU_MEMORY_OPAQUE_FD = 1,
    SPYI_CU_MEMORY_DEDICATED = 1, // a flag
    SPYI_CU_SEMAPHORE_TIMELINE_FD = 9
};

#define SPYI_CU_SHARED_FUNCTIONS(X)                                                                          \
    X(DeviceGetUuid, "cuDeviceGetUuid", (uint8_t * uuid, spyi_cu_device device))                             \
    X(ImportExternalMemory, "cuImportExternalMemory", (void **memory, const spyi_cu_handle_desc *desc))      \
    X(ExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer",                                      \
      (spyi_cu_pointer * address, void *memory, const spyi_cu_range_desc *desc))                             \
    X(DestroyExternalMemory, "cuDestroyExternalMemory", (void *memory))                                      \
    X(ImportExternalSemaphore, "cuImportExternalSemaphore",                                                  \
      (void **semaphore, const spyi_cu_semaphore_desc *desc))                                                \
    X(SignalExternalSemaphoresAsync, "cuSignalExternalSemaphoresAsync",                                      \
      (void *const *semaphores, const spyi_cu_semaphore_params *params, unsigned count,                      \
       spyi_cu_stream stream))                                                                               \
    X(WaitExternalSemaphoresAsync, "cuWaitExternalSemaphoresAsync",                                          \
      (void *const *semaphores, const spyi_cu_semaphore_params *params, unsigned count,                      \
       spyi_cu_stream stream))                                                                               \
    X(DestroyExternalSemaphore, "cuDestroyExternalSemaphore", (void *semaphore))

struct spy_cuda_peer {
    spyi_cu_driver cu;
    spyi_cu_context context;
#define SPYI_CU_MEMBER(name, symbol, arguments) spyi_cu_result(SPYI_CU_CALL *name) arguments;
    SPYI_CU_SHARED_FUNCTIONS(SPYI_CU_MEMBER)
#undef SPYI_CU_MEMBER
};

static spy_status spyi_cuda_peer_fail(const spy_cuda_peer *peer, spyi_cu_result result, const char *function,
                                      const char *what) {
    spyi_text error = { NULL, 0, 0 };
    spyi_cu_say(&peer->cu, result, what, &error);
    (void)spyi_fail(NULL, SPY_ERROR_INTERNAL, "%s: %s", function, spyi_text_str(&error));
    spyi_text_free(&error);
    return SPY_ERROR_INTERNAL;
}

static spy_status spyi_cuda_peer_load(spy_cuda_peer *peer, void *context, const char *driver_library,
                                      uint8_t uuid[16], spyi_text *error) {
    spyi_cu_context before = NULL;
    spyi_cu_device device = 0;
    spyi_cu_result result;
    const char *missing = NULL;
    void *symbol;
    spy_status status = spyi_cu_open(driver_library, &peer->cu, error);
    if (status != SPY_OK) return status;
#define SPYI_CU_LOAD(name, symbol_name, arguments)                                                           \
    symbol = spyi_library_symbol(peer->cu.library, symbol_name);                                             \
    if (symbol != NULL) memcpy(&peer->name, &symbol, sizeof symbol);                                         \
    else if (missing == NULL) missing = symbol_name;
    SPYI_CU_SHARED_FUNCTIONS(SPYI_CU_LOAD)
#undef SPYI_CU_LOAD
    if (missing != NULL) {
        spyi_text_add(error, "the CUDA driver has no %s", missing);
        return SPY_ERROR_UNSUPPORTED;
    }
    peer->context = (spyi_cu_context)context;
    if (context == NULL) (void)peer->cu.CtxGetCurrent(&peer->context);
    if (peer->context == NULL) {
        spyi_text_add(error, "context is NULL, and this thread has no current CUDA context");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    result = peer->cu.CtxPushCurrent(peer->context);
    if (result == SPYI_CU_OK) {
        result = peer->cu.CtxGetDevice(&device);
        if (result == SPYI_CU_OK) result = peer->DeviceGetUuid(uuid, device);
        (void)peer->cu.CtxPopCurrent(&before);
    }
    if (result == SPYI_CU_OK) return SPY_OK;
    spyi_cu_say(&peer->cu, result, "cuDeviceGetUuid", error);
    return SPY_ERROR_INVALID_ARGUMENT;
}

spy_cuda_peer *spy_cuda_open_peer(void *context, const char *driver_library, uint8_t uuid[16]) {
    spy_cuda_peer *peer = (spy_cuda_peer *)calloc(1, sizeof *peer);
    spyi_text error = { NULL, 0, 0 };
    uint8_t own[16];
    spy_status status = SPY_ERROR_OUT_OF_MEMORY;
    memset(own, 0, sizeof own);
    if (peer != NULL) status = spyi_cuda_peer_load(peer, context, driver_library, own, &error);
    if (uuid != NULL) memcpy(uuid, own, sizeof own);
    if (status != SPY_OK) {
        (void)spyi_fail(NULL, status, "spy_cuda_open_peer: %s", spyi_text_str(&error));
        free(peer);
        peer = NULL;
    }
    spyi_text_free(&error);
    return peer;
}

void spy_cuda_close_peer(spy_cuda_peer *peer) {
    free(peer);
}

static bool spyi_cuda_peer_enter(const spy_cuda_peer *peer, const char *function) {
    spyi_cu_result result;
    if (peer == NULL) {
        (void)spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: peer is NULL", function);
        return false;
    }
    result = peer->cu.CtxPushCurrent(peer->context);
    if (result == SPYI_CU_OK) return true;
    (void)spyi_cuda_peer_fail(peer, result, function, "cuCtxPushCurrent");
    return false;
}

static void spyi_cuda_peer_leave(const spy_cuda_peer *peer) {
    spyi_cu_context before = NULL;
    (void)peer->cu.CtxPopCurrent(&before);
}

spy_status spy_cuda_import_memory(spy_cuda_peer *peer, int fd, uint64_t allocated_bytes, uint64_t size_bytes,
                                  spy_cuda_imported_memory *imported) {
    static const char function[] = "spy_cuda_import_memory";
    const char *what = "cuImportExternalMemory";
    spyi_cu_handle_desc desc;
    spyi_cu_range_desc range;
    spyi_cu_result result;
    if (imported != NULL) memset(imported, 0, sizeof *imported);
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    if (imported == NULL || fd < 0) {
        spyi_cuda_peer_leave(peer);
        (void)spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        fd < 0 ? "fd is no file descriptor" : "imported is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    memset(&desc, 0, sizeof desc);
    memset(&range, 0, sizeof range);
    desc.type = SPYI_CU_MEMORY_OPAQUE_FD;
    desc.handle.fd = fd;
    desc.size = allocated_bytes;
    desc.flags = SPYI_CU_MEMORY_DEDICATED;
    range.size = size_bytes;
    result = peer->ImportExternalMemory(&imported->memory, &desc);
    if (result == SPYI_CU_OK) {
        what = "cuExternalMemoryGetMappedBuffer";
        result = peer->ExternalMemoryGetMappedBuffer(&imported->address, imported->memory, &range);
        if (result != SPYI_CU_OK) (void)peer->DestroyExternalMemory(imported->memory);
    }
    spyi_cuda_peer_leave(peer);
    if (result == SPYI_CU_OK) return SPY_OK;
    memset(imported, 0, sizeof *imported);
    return spyi_cuda_peer_fail(peer, result, function, what);
}

spy_status spy_cuda_release_memory(spy_cuda_peer *peer, spy_cuda_imported_memory *imported) {
    static const char function[] = "spy_cuda_release_memory";
    spyi_cu_result result;
    if (imported == NULL || imported->memory == NULL) return SPY_OK;
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    result = peer->cu.MemFree(imported->address); // the mapping, not the memory
    if (result == SPYI_CU_OK) result = peer->DestroyExternalMemory(imported->memory);
    spyi_cuda_peer_leave(peer);
    memset(imported, 0, sizeof *imported);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_peer_fail(peer, result, function, "cuDestroyExternalMemory");
}

spy_status spy_cuda_import_semaphore(spy_cuda_peer *peer, int fd, void **semaphore) {
    static const char function[] = "spy_cuda_import_semaphore";
    spyi_cu_semaphore_desc desc;
    spyi_cu_result result;
    if (semaphore != NULL) *semaphore = NULL;
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    if (semaphore == NULL || fd < 0) {
        spyi_cuda_peer_leave(peer);
        (void)spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: %s", function,
                        fd < 0 ? "fd is no file descriptor" : "semaphore is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    memset(&desc, 0, sizeof desc);
    desc.type = SPYI_CU_SEMAPHORE_TIMELINE_FD;
    desc.handle.fd = fd;
    result = peer->ImportExternalSemaphore(semaphore, &desc);
    spyi_cuda_peer_leave(peer);
    if (result == SPYI_CU_OK) return SPY_OK;
    *semaphore = NULL;
    return spyi_cuda_peer_fail(peer, result, function, "cuImportExternalSemaphore");
}

spy_status spy_cuda_release_semaphore(spy_cuda_peer *peer, void *semaphore) {
    static const char function[] = "spy_cuda_release_semaphore";
    spyi_cu_result result;
    if (semaphore == NULL) return SPY_OK;
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    result = peer->DestroyExternalSemaphore(semaphore);
    spyi_cuda_peer_leave(peer);
    return result == SPYI_CU_OK ? SPY_OK
                                : spyi_cuda_peer_fail(peer, result, function, "cuDestroyExternalSemaphore");
}

static spy_status spyi_cuda_use_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value, void *stream,
                                          bool signals) {
    const char *function = signals ? "spy_cuda_signal_semaphore" : "spy_cuda_wait_semaphore";
    spyi_cu_semaphore_params params;
    spyi_cu_result result;
    if (semaphore == NULL)
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "%s: the semaphore is NULL", function);
    if (!spyi_cuda_peer_enter(peer, function)) return SPY_ERROR_INVALID_ARGUMENT;
    memset(&params, 0, sizeof params);
    params.value = value;
    result = signals ? peer->SignalExternalSemaphoresAsync(&semaphore, &params, 1, (spyi_cu_stream)stream)
                     : peer->WaitExternalSemaphoresAsync(&semaphore, &params, 1, (spyi_cu_stream)stream);
    spyi_cuda_peer_leave(peer);
    if (result == SPYI_CU_OK) return SPY_OK;
    return spyi_cuda_peer_fail(peer, result, function,
                               signals ? "cuSignalExternalSemaphoresAsync" : "cuWaitExternalSemaphoresAsync");
}

spy_status spy_cuda_signal_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value, void *stream) {
    return spyi_cuda_use_semaphore(peer, semaphore, value, stream, true);
}

spy_status spy_cuda_wait_semaphore(spy_cuda_peer *peer, void *semaphore, uint64_t value, void *stream) {
    return spyi_cuda_use_semaphore(peer, semaphore, value, stream, false);
}

// >>cuda/backend.c ------------------------------------------------------------------------------------------

// The CUDA backend's table of functions.

static const spyi_image_functions spyi_cuda_images = {
    spyi_cuda_image_support,   spyi_cuda_create_image, spyi_cuda_destroy_image,
    spyi_cuda_create_view,     spyi_cuda_destroy_view, spyi_cuda_create_sampler,
    spyi_cuda_destroy_sampler, spyi_cuda_add_handle,   spyi_cuda_remove_handle,
};

// The members are in the order of struct spyi_backend, the work functions in the order of spyi_work_number.
// clang-format off
static const struct spyi_backend spyi_cuda_table = {
    "cuda",
    spyi_cuda_enumerate,
    spyi_cuda_create,
    spyi_cuda_destroy,
    spyi_cuda_allocate_chunk,
    spyi_cuda_free_chunk,
    spyi_cuda_compile,
    spyi_cuda_mend,
    spyi_cuda_open_compiler,
    spyi_cuda_load,
    spyi_cuda_destroy_kernel,
    {
        spyi_cuda_dispatch,
        spyi_cuda_copy,
        spyi_cuda_fill,
        spyi_cuda_upload,
        spyi_cuda_label,
        spyi_cuda_time_mark,
        spyi_cuda_time_store,
        spyi_cuda_image_bytes,
        spyi_cuda_image_copy,
        spyi_cuda_image_blit,
        spyi_cuda_image_clear,
    },
    spyi_cuda_download,
    spyi_cuda_time_begin,
    spyi_cuda_time_end,
    spyi_cuda_time_elapsed,
    spyi_cuda_finished_submit,
    spyi_cuda_submit,
    spyi_cuda_wait,
    spyi_cuda_graph_begin,
    spyi_cuda_graph_end,
    spyi_cuda_graph_change,
    spyi_cuda_graph_launch,
    spyi_cuda_graph_destroy,
    spyi_cuda_graph_pays,
    spyi_cuda_watch,
    &spyi_cuda_images,
    NULL, // CUDA has no raster
    SPYI_TARGET_CUDA,
};
// clang-format on

const spy_backend *spy_cuda_backend(void) {
    return &spyi_cuda_table;
}

SPYI_COLD_END

#endif // SLANGPY_CUDA_IMPLEMENTED

/*
MIT License

Copyright (c) 2026 the slangpy.h authors

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all
copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE
SOFTWARE.
*/
