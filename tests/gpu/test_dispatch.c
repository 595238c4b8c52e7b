// Dispatches on a real device, against plain C: plain functions and shaders over an explicit number of threads, what the
// system fills, uniform parameters of random types, folding, group counts from memory, and every way to call them wrongly.
// With SPY_TEST_VALIDATION=1 each message of the validation layer is a failure.
#include "gpu_test.h"
#include "quiet_device.h"
#include "chance.h"

spy_device *gpu_device;

static const char source[] =
    "import slangpy;\n"
    // Each thread marks its own place and counts itself there; a thread outside marks o[0].
    "void mark(uint3 t : SV_DispatchThreadID, uint3 g : SV_GroupID, uint3 l : SV_GroupThreadID, uint i : "
    "SV_GroupIndex,\n"
    "          uint3 size, AtomicTensor<uint, 1> o) {\n"
    "    if (any(t >= size)) { o.add(0, 1u); return; }\n"
    "    uint at = 1 + 8 * ((t.z * size.y + t.y) * size.x + t.x);\n"
    "    o.add(int(at), 1u); o.add(int(at + 1), t.x | (t.y << 10) | (t.z << 20));\n"
    "    o.add(int(at + 2), g.x); o.add(int(at + 3), g.y); o.add(int(at + 4), g.z);\n"
    "    o.add(int(at + 5), l.x | (l.y << 10) | (l.z << 20)); o.add(int(at + 6), i); }\n"
    "void count(uint3 t : SV_DispatchThreadID, uint3 g : SV_GroupID, AtomicTensor<uint, 1> o, uint3 group) "
    "{\n"
    "    o.add(0, 1u); o.add(1, t.x); o.add(2, t.y); o.add(3, t.z);\n"
    "    if (all(t / group == g)) o.add(4, 1u); }\n"
    "void ones(uint a : SV_DispatchThreadID, uint b : SV_GroupID, uint c : SV_GroupThreadID, int d : "
    "SV_GroupIndex, uint* o)\n"
    "{ o[a * 4] = a; o[a * 4 + 1] = b; o[a * 4 + 2] = c; o[a * 4 + 3] = uint(d); }\n"
    "void twos(uint2 a : SV_DispatchThreadID, uint2 b : SV_GroupID, int2 c : SV_GroupThreadID, uint w, uint* "
    "o)\n"
    "{ uint at = (a.y * w + a.x) * 6; o[at] = a.x; o[at + 1] = a.y; o[at + 2] = b.x; o[at + 3] = b.y; o[at + "
    "4] = uint(c.x); o[at + 5] = uint(c.y); }\n"
    "void threes(int3 a : sv_dispatchthreadid, uint* o) { o[a.x] = uint(a.y + a.z); }\n"
    "void plain(uint* o, uint v) { o[0] = v; }\n"
    "void named(uint2 dispatchThreadID, uint* o) { o[dispatchThreadID.y * 5 + dispatchThreadID.x] = dispatchThreadID.x + 10 * dispatchThreadID.y; }\n"
    // Shaders of the module's own.
    "groupshared uint shared_sum[64];\n"
    "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
    "void sums(uint3 t : SV_DispatchThreadID, uint3 g : SV_GroupID, uint i : SV_GroupIndex, uniform uint* x, "
    "uniform uint n, uniform uint* o) {\n"
    "    shared_sum[i] = t.x < n ? x[t.x] : 0;\n"
    "    GroupMemoryBarrierWithGroupSync();\n"
    "    for (uint s = 32; s > 0; s /= 2) { if (i < s) shared_sum[i] += shared_sum[i + s]; "
    "GroupMemoryBarrierWithGroupSync(); }\n"
    "    if (i == 0) o[g.x] = shared_sum[0]; }\n"
    "[numthreads(4, 3, 2)]\n"
    "void cube(uint3 t : SV_DispatchThreadID, uint3 l : SV_GroupThreadID, uniform uint3 size, uniform uint* "
    "o)\n"
    "{ if (all(t < size)) o[(t.z * size.y + t.y) * size.x + t.x] = t.x + 100 * t.y + 10000 * t.z + 1000000 * "
    "(l.x + 4 * l.y + 12 * l.z); }\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)]\n"
    "void single(uint3 t : SV_DispatchThreadID, uniform uint* o) { o[t.x] = t.x + 7; }\n"
    "[numthreads(1, 1, 1)]\n"
    "void unmarked(uint3 t : SV_DispatchThreadID, uniform uint* o) { o[t.x] = t.x + 9; }\n"
    "[shader(\"compute\")] [numthreads(1, 1, 1)]\n"
    "void several<let K : int>(uint3 t : SV_DispatchThreadID, uniform uint* o) { o[t.x] = t.x + K; }\n"
    "[numthreads(64, 64, 1)] void crowd(uniform uint* o) { o[0] = 1; }\n"
    "[shader(\"compute\")] [numthreads(8, 1, 1)]\n"
    "void tally(uniform AtomicTensor<uint, 1> o) { o.add(0, 1u); }\n"
    "[shader(\"compute\")] [numthreads(8, 4, 1)]\n"
    "void big(uniform float4x4 a, uniform float4x4 b, uniform float4x4 c, uniform float4x4 d, uniform "
    "float4x4 e, uniform float* o)\n"
    "{ o[0] = a[0][0] + b[0][0] + c[0][0] + d[0][0] + e[3][3]; }\n"
    // Structs with tensors.
    "struct Field { float scale; Tensor<float, 2> x; int bias; }\n"
    "struct Both { uint n; Field field; RWTensor<float, 1> y; }\n"
    "void use(uint t : SV_DispatchThreadID, Both both, float add)\n"
    "{ both.y[int(t)] = both.field.scale * both.field.x[int(t), 1] + float(both.field.bias) + add; }\n"
    "[shader(\"compute\")] [numthreads(16, 1, 1)]\n"
    "void use_shader(uint t : SV_DispatchThreadID, uniform Both both, uniform float add)\n"
    "{ if (t < both.n) both.y[int(t)] = both.field.scale * both.field.x[int(t), 1] + float(both.field.bias) "
    "+ add; }\n"
    "void whole(uint2 t : SV_DispatchThreadID, Tensor<float, 2> x, WTensor<float, 2> y)\n"
    "{ y[int(t.y), int(t.x)] = 2 * x[int(t.y), int(t.x)]; }\n"
    // Group counts written by a call.
    "void counts(uint* o, uint x, uint y, uint z) { o[0] = 99; o[1] = x; o[2] = y; o[3] = z; }\n"
    // What cannot be dispatched.
    "void two(uint* o) { o[0] = 1; }\nvoid two(uint* o, uint v) { o[0] = v; }\n"
    "void gives(uint* o, out uint v) { o[0] = 1; v = 2; }\nvoid turns(inout uint v) { v = 2; }\n"
    "uint returns(uint v) { return v; }\nvoid ranges(float v, uint* o) { o[0] = uint(v); }\n"
    "void texture_size(float4 t : SV_Position, uint* o) { o[0] = 1; }\n"
    "void float_id(float3 t : SV_DispatchThreadID, uint* o) { o[0] = 1; }\n"
    "struct Thing { uint v; static void go(uint* o, uint w) { o[0] = w; } void act(uint* o) { o[0] = v; } }\n"
    "void generic<T : __BuiltinIntegerType>(T v, uint* o) { o[0] = 3; }\n"
    "void defaulted(uint* o, uint v = 5) { o[0] = v; }\n";

static spy_module *open_module(void) {
    return quiet_open("dispatching", source);
}

static spy_function *fn(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static spy_tensor *uints(int64_t n) {
    spy_tensor *t =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(n), NULL));
    OK(spy_tensor_fill(t, 0));
    return t;
}

static spy_uint3 threads3(uint32_t x, uint32_t y, uint32_t z) {
    spy_uint3 t;
    t.x = x;
    t.y = y;
    t.z = z;
    return t;
}

static uint32_t *read_uints(spy_tensor *t, int64_t n) {
    uint32_t *got = (uint32_t *)malloc((size_t)n * 4);
    OK(spy_tensor_read(t, got, (size_t)n * 4));
    return got;
}

// >>plain functions

// Threads of a plain function, each exactly once, with what the system fills; no count is a multiple of its group's.
static void check_marks(spy_function *mark, const uint32_t n[3], const uint32_t group[3],
                        const spy_call_options *o) {
    int64_t total = (int64_t)n[0] * n[1] * n[2], words = 1 + 8 * total;
    const int32_t size[3] = { (int32_t)n[0], (int32_t)n[1], (int32_t)n[2] };
    spy_tensor *t = uints(words);
    OK(spy_dispatch(mark, threads3(n[0], n[1], n[2]),
                    SPY_ARGS(spy_arg_i32n("size", size, 3), spy_arg_tensor("o", t)), o));
    uint32_t *got = read_uints(t, words);
    size_t wrong = got[0] != 0;
    for (uint32_t z = 0; z < n[2]; z++)
        for (uint32_t y = 0; y < n[1]; y++)
            for (uint32_t x = 0; x < n[0]; x++) {
                const uint32_t *a = got + 1 + 8 * (((size_t)z * n[1] + y) * n[0] + x);
                uint32_t l[3] = { x % group[0], y % group[1], z % group[2] };
                wrong += a[0] != 1 || a[1] != (x | y << 10 | z << 20) || a[2] != x / group[0] ||
                         a[3] != y / group[1] || a[4] != z / group[2] ||
                         a[5] != (l[0] | l[1] << 10 | l[2] << 20) ||
                         a[6] != (l[2] * group[1] + l[1]) * group[0] + l[0];
            }
    if (wrong)
        print_error("%u x %u x %u threads in groups of %u x %u x %u\n", n[0], n[1], n[2], group[0], group[1],
                    group[2]);
    assert_int_equal(wrong, 0);
    free(got);
    spy_release_tensor(t);
}

static void test_plain(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_function *mark = fn(m, "mark");
    seed();
    const uint32_t usual[3] = { 64, 1, 1 }, one[3] = { 1, 1, 1 }, many[3] = { 130, 3, 2 };
    check_marks(mark, many, usual, NULL);
    check_marks(mark, one, usual, NULL);
    for (size_t round = 0; round < test_count(250); round++) {
        spy_call_options o;
        memset(&o, 0, sizeof o);
        uint32_t group[3] = { 1 + below(20), 1 + below(5), 1 + below(4) }, n[3];
        int rank = 1 + (int)below(3);
        for (int i = 0; i < 3; i++) {
            if (i >= rank) group[i] = 1;
            o.thread_group_size[i] = i >= rank && below(2) ? 0 : group[i];
        }
        for (int again = 0; again < 3; again++) { // the same kernel, other counts
            for (int i = 0; i < 3; i++) n[i] = i < rank ? 1 + below(i ? 11 : 60) : 1 + below(2);
            check_marks(mark, n, group, &o);
        }
    }
    quiet_close();
}

// A plain function's first parameter of this name gets its thread.
static void test_named(void **state) {
    (void)state;
    spy_module *m = open_module();
    uint32_t got[15];
    memset(got, 0, sizeof got);
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(15);
    d.dtype = SPY_DTYPE_UINT32;
    spy_tensor *o = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    spy_uint3 threads = { 5, 3, 1 };
    OK(spy_dispatch(fn(m, "named"), threads, SPY_ARGS(spy_arg_tensor("o", o)), NULL));
    OK(spy_tensor_read(o, got, sizeof got));
    for (uint32_t i = 0; i < 15; i++) assert_int_equal(got[i], i % 5 + 10 * (i / 5));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(fn(m, "returns"), threads, SPY_ARGS(spy_arg_u32("v", 1)), NULL), "returns", "uint");
    spy_release_tensor(o);
    quiet_close();
}

static void test_system_values(void **state) {
    enum { N = 150, W = 21, H = 11 };
    (void)state;
    spy_module *m = open_module();
    spy_tensor *o = uints(4 * N), *p = uints(6 * W * H), *q = uints(70);
    OK(spy_dispatch(fn(m, "ones"), threads3(N, 1, 1), SPY_ARGS(spy_arg_tensor("o", o)), NULL));
    uint32_t *got = read_uints(o, 4 * N);
    for (uint32_t i = 0; i < N; i++)
        assert_true(got[4 * i] == i && got[4 * i + 1] == i / 64 && got[4 * i + 2] == i % 64 &&
                    got[4 * i + 3] == i % 64);
    free(got);
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.thread_group_size[0] = 8;
    options.thread_group_size[1] = 4;
    OK(spy_dispatch(fn(m, "twos"), threads3(W, H, 1), SPY_ARGS(spy_arg_u32("w", W), spy_arg_tensor("o", p)),
                    &options));
    got = read_uints(p, 6 * W * H);
    for (uint32_t i = 0; i < W * H; i++) {
        uint32_t x = i % W, y = i / W;
        const uint32_t want[6] = { x, y, x / 8, y / 4, x % 8, y % 4 };
        assert_memory_equal(got + 6 * i, want, sizeof want);
    }
    free(got);
    OK(spy_dispatch(fn(m, "threes"), threads3(70, 1, 1), SPY_ARGS(spy_arg_tensor(NULL, q)), NULL));
    quiet_close();
}

// >>shaders

// A shader that is called what C++ has another use for.
static void test_main(void **state) {
    (void)state;
    spy_module *m = open_module();
    m = MADE(spy_module, gpu_module(gpu_device, "mains",
                                    "uint helper(uint v) { return v + 1; }\n"
                                    "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                                    "void main(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<uint> o) { o[t.x] = helper(t.x); }\n"
                                    "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                                    "void main_0(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<uint> o) { o[t.x] = 7 * t.x; }\n"));
    static uint32_t got[64];
    spy_tensor *o =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(64), NULL));
    const spy_uint3 threads = { 64, 1, 1 };
    OK(spy_dispatch(fn(m, "main"), threads, SPY_ARGS(spy_arg_tensor("o", o)), NULL));
    OK(spy_tensor_read(o, got, sizeof got));
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(got[i], i + 1);
    OK(spy_dispatch(fn(m, "main_0"), threads, SPY_ARGS(spy_arg_tensor("o", o)), NULL));
    OK(spy_tensor_read(o, got, sizeof got));
    for (uint32_t i = 0; i < 64; i++) assert_int_equal(got[i], 7 * i);
    spy_release_tensor(o);
    quiet_close();
}

static void test_shaders(void **state) {
    enum { N = 1000 };
    (void)state;
    spy_module *m = open_module();
    seed();
    uint32_t x[N];
    for (int i = 0; i < N; i++) x[i] = (uint32_t)next_random();
    spy_tensor *a = uints(N), *o = uints(16);
    OK(spy_tensor_write(a, x, sizeof x));
    for (uint32_t n = N; n > 0; n = n * 2 / 3) {
        OK(spy_tensor_fill(o, 77));
        OK(spy_dispatch(fn(m, "sums"), threads3(n, 1, 1),
                        SPY_ARGS(spy_arg_tensor("x", a), spy_arg_u32("n", n), spy_arg_tensor("o", o)), NULL));
        uint32_t *got = read_uints(o, 16);
        for (uint32_t g = 0; g < 16; g++) {
            uint32_t sum = g * 64 < n ? 0 : 77;
            for (uint32_t i = g * 64; i < n && i < g * 64 + 64; i++) sum += x[i];
            assert_int_equal(got[g], sum);
        }
        free(got);
    }
    for (int round = 0; round < 10; round++) {
        uint32_t n[3] = { 1 + below(30), 1 + below(20), 1 + below(9) };
        const int32_t size[3] = { (int32_t)n[0], (int32_t)n[1], (int32_t)n[2] };
        int64_t total = (int64_t)n[0] * n[1] * n[2];
        spy_tensor *t = uints(total);
        OK(spy_dispatch(fn(m, "cube"), threads3(n[0], n[1], n[2]),
                        SPY_ARGS(spy_arg_i32n("size", size, 3), spy_arg_tensor("o", t)), NULL));
        uint32_t *got = read_uints(t, total);
        for (uint32_t i = 0; i < total; i++) {
            uint32_t at[3] = { i % n[0], i / n[0] % n[1], i / (n[0] * n[1]) };
            assert_int_equal(got[i], at[0] + 100 * at[1] + 10000 * at[2] +
                                         1000000 * (at[0] % 4 + 4 * (at[1] % 3) + 12 * (at[2] % 2)));
        }
        free(got);
        spy_release_tensor(t);
    }
    // [numthreads(1, 1, 1)] is a shader with [shader("compute")] and without, and with generic arguments; whole groups run.
    const char *const names[3] = { "single", "unmarked", "several<11>" };
    for (int k = 0; k < 3; k++) {
        OK(spy_tensor_fill(o, 0));
        OK(spy_dispatch(fn(m, names[k]), threads3(15, 1, 1), SPY_ARGS(spy_arg_tensor("o", o)), NULL));
        uint32_t *got = read_uints(o, 16);
        for (uint32_t i = 0; i < 16; i++) assert_int_equal(got[i], i < 15 ? i + 7 + 2 * (uint32_t)k : 0);
        free(got);
    }
    OK(spy_tensor_fill(o, 0));
    OK(spy_dispatch(fn(m, "tally"), threads3(17, 1, 1), SPY_ARGS(spy_arg_tensor("o", o)), NULL));
    uint32_t *got = read_uints(o, 16);
    assert_int_equal(got[0], 24);
    free(got);
    quiet_close();
}

// >>parameters of random types

typedef enum {
    T_FLOAT,
    T_INT,
    T_UINT,
    T_BOOL,
    T_HALF,
    T_DOUBLE,
    T_INT64,
    T_UINT64,
    T_INT16,
    T_UINT8,
    T_SCALARS
} scalar_kind;

static const struct {
    const char *name;
    spy_dtype dtype;
    size_t size;
} scalars[] = { { "float", SPY_DTYPE_FLOAT32, 4 }, { "int", SPY_DTYPE_INT32, 4 },
                { "uint", SPY_DTYPE_UINT32, 4 },   { "bool", SPY_DTYPE_BOOL, 1 },
                { "half", SPY_DTYPE_FLOAT16, 2 },  { "double", SPY_DTYPE_FLOAT64, 8 },
                { "int64_t", SPY_DTYPE_INT64, 8 }, { "uint64_t", SPY_DTYPE_UINT64, 8 },
                { "int16_t", SPY_DTYPE_INT16, 2 }, { "uint8_t", SPY_DTYPE_UINT8, 1 } };

typedef struct tree {
    enum { SCALAR, VECTOR, ARRAY, STRUCT } form;
    scalar_kind scalar;
    uint32_t count;
    struct tree *parts[4];   // fields, or the array's element
    char name[24];           // of the struct's type
    unsigned char data[512]; // in C's layout
    size_t size, align;
} tree;

typedef struct writer {
    char text[60000];
    size_t size;
    int structs, words;
    uint32_t expected[4000];
    tree *all[2000];
    int made;
    spy_arg args[3000]; // of fields
    int used;
} writer;

static void add(writer *w, const char *format, ...) {
    va_list list;
    va_start(list, format);
    int n = vsnprintf(w->text + w->size, sizeof w->text - w->size, format, list);
    va_end(list);
    assert_true(n >= 0 && w->size + (size_t)n < sizeof w->text);
    w->size += (size_t)n;
}

static void type_name(const tree *t, char *out, size_t capacity) {
    if (t->form == STRUCT) snprintf(out, capacity, "%s", t->name);
    else if (t->form == SCALAR) snprintf(out, capacity, "%s", scalars[t->scalar].name);
    else if (t->form == VECTOR) snprintf(out, capacity, "vector<%s, %u>", scalars[t->scalar].name, t->count);
    else {
        char element[80];
        type_name(t->parts[0], element, sizeof element);
        snprintf(out, capacity, "%s[%u]", element, t->count);
    }
}

// A random type; structs are declared on the way.
static tree *grow(writer *w, int depth) {
    tree *t = (tree *)calloc(1, sizeof *t);
    w->all[w->made++] = t;
    uint32_t form = below(depth > 1 ? 5 : 8);
    t->scalar = (scalar_kind)below(T_SCALARS);
    t->form = form < 3 ? SCALAR : form < 5 ? VECTOR : form < 6 ? ARRAY : STRUCT;
    if (t->form == VECTOR) t->count = 2 + below(3);
    if (t->form == ARRAY) {
        t->count = 2 + below(3);
        t->parts[0] = grow(w, 2); // of scalars and vectors
    }
    size_t scalar = scalars[t->scalar].size;
    if (t->form == SCALAR || t->form == VECTOR)
        t->align = scalar, t->size = t->form == SCALAR ? scalar : scalar * t->count;
    if (t->form == ARRAY) t->align = t->parts[0]->align, t->size = t->parts[0]->size * t->count;
    if (t->form != STRUCT) return t;
    t->count = 1 + below(4);
    t->align = 1;
    for (uint32_t i = 0; i < t->count; i++) {
        tree *f = t->parts[i] = grow(w, depth + 1);
        t->size = (t->size + f->align - 1) / f->align * f->align + f->size;
        if (f->align > t->align) t->align = f->align;
    }
    t->size = (t->size + t->align - 1) / t->align * t->align;
    snprintf(t->name, sizeof t->name, "S%d", w->structs++);
    add(w, "struct %s { ", t->name);
    for (uint32_t i = 0; i < t->count; i++) {
        char name[100];
        type_name(t->parts[i], name, sizeof name);
        add(w, "%s f%u; ", name, i);
    }
    add(w, "}\n");
    return t;
}

// A number's bytes in C, random bits but for NaNs of half and bool.
static void fill_scalar(scalar_kind kind, unsigned char *out) {
    uint64_t bits = next_random();
    if (kind == T_BOOL) bits &= 1;
    if (kind == T_FLOAT) bits &= 0xbfffffffu; // no NaN: a payload may be lost on the way
    if (kind == T_HALF) bits &= 0xbfffu;
    if (kind == T_DOUBLE) bits &= 0xbfffffffffffffffu;
    memcpy(out, &bits, scalars[kind].size);
}

static void fill_tree(tree *t, unsigned char *out) {
    size_t at = 0;
    if (t->form == SCALAR) fill_scalar(t->scalar, out);
    for (uint32_t i = 0; t->form == VECTOR && i < t->count; i++)
        fill_scalar(t->scalar, out + i * scalars[t->scalar].size);
    for (uint32_t i = 0; t->form == ARRAY && i < t->count; i++)
        fill_tree(t->parts[0], out + i * t->parts[0]->size);
    for (uint32_t i = 0; t->form == STRUCT && i < t->count; i++) {
        at = (at + t->parts[i]->align - 1) / t->parts[i]->align * t->parts[i]->align;
        fill_tree(t->parts[i], out + at);
        at += t->parts[i]->size;
    }
    if (out != t->data) memcpy(t->data, out, t->size);
}

// Statements that write the bits of all of `t`'s scalars, called `path`, and what must come of them.
static void dump_scalar(writer *w, scalar_kind kind, const char *path, const unsigned char *data) {
    uint64_t bits = 0;
    memcpy(&bits, data, scalars[kind].size);
    if (kind == T_FLOAT) add(w, "    o[%d] = asuint(%s);\n", w->words, path);
    else if (kind == T_BOOL) add(w, "    o[%d] = %s ? 1u : 0u;\n", w->words, path);
    else if (kind == T_HALF) add(w, "    o[%d] = uint(bit_cast<uint16_t>(%s));\n", w->words, path);
    else if (kind == T_DOUBLE || kind == T_INT64 || kind == T_UINT64) {
        add(w, "    { uint64_t b = %s%s); o[%d] = uint(b); o[%d] = uint(b >> 32); }\n",
            kind == T_DOUBLE ? "bit_cast<uint64_t>(" : "uint64_t(", path, w->words, w->words + 1);
    } else if (kind == T_INT16) add(w, "    o[%d] = uint(uint16_t(%s));\n", w->words, path);
    else add(w, "    o[%d] = uint(%s);\n", w->words, path);
    w->expected[w->words++] = (uint32_t)bits;
    if (scalars[kind].size == 8) w->expected[w->words++] = (uint32_t)(bits >> 32);
}

static void dump_tree(writer *w, const tree *t, const char *path, const unsigned char *data) {
    char sub[200];
    size_t at = 0;
    if (t->form == SCALAR) dump_scalar(w, t->scalar, path, data);
    for (uint32_t i = 0; t->form != SCALAR && i < t->count; i++) {
        snprintf(sub, sizeof sub, t->form == STRUCT ? "%s.f%u" : "%s[%u]", path, i);
        if (t->form == VECTOR) dump_scalar(w, t->scalar, sub, data + i * scalars[t->scalar].size);
        if (t->form == ARRAY) dump_tree(w, t->parts[0], sub, data + i * t->parts[0]->size);
        if (t->form != STRUCT) continue;
        at = (at + t->parts[i]->align - 1) / t->parts[i]->align * t->parts[i]->align;
        dump_tree(w, t->parts[i], sub, data + at);
        at += t->parts[i]->size;
    }
}

static spy_arg tree_arg(writer *w, const char *name, const tree *t, const unsigned char *data) {
    if (t->form == STRUCT && below(2)) {
        static const char *const names[4] = { "f0", "f1", "f2", "f3" };
        spy_args fields;
        spy_arg *items = w->args + w->used;
        size_t at = 0;
        bool named = below(2) != 0;
        w->used += (int)t->count;
        for (uint32_t i = 0; i < t->count; i++) {
            at = (at + t->parts[i]->align - 1) / t->parts[i]->align * t->parts[i]->align;
            items[named ? t->count - 1 - i : i] =
                tree_arg(w, named ? names[i] : NULL, t->parts[i], data + at);
            at += t->parts[i]->size;
        }
        fields.items = items;
        fields.count = t->count;
        return spy_arg_struct(name, fields);
    }
    if (t->form == SCALAR) {
        int32_t i;
        uint32_t u;
        int64_t l;
        uint64_t ul;
        int16_t s;
        float f;
        double d;
        switch (t->scalar) {
        case T_FLOAT: memcpy(&f, data, 4); return spy_arg_f32(name, f);
        case T_INT: memcpy(&i, data, 4); return spy_arg_i32(name, i);
        case T_UINT: memcpy(&u, data, 4); return spy_arg_u32(name, u);
        case T_BOOL: return spy_arg_bool(name, data[0] != 0);
        case T_DOUBLE: memcpy(&d, data, 8); return spy_arg_f64(name, d);
        case T_INT64: memcpy(&l, data, 8); return spy_arg_i64(name, l);
        case T_UINT64: memcpy(&ul, data, 8); return spy_arg_u64(name, ul);
        case T_INT16: memcpy(&s, data, 2); return spy_arg_i32(name, s);
        case T_UINT8: return spy_arg_u32(name, data[0]);
        default: return spy_arg_data(name, data, t->size);
        }
    }
    if (t->form == VECTOR && below(2))
        return spy_arg_array(name, data, SPY_SHAPE(t->count), scalars[t->scalar].dtype);
    if (t->form == ARRAY && t->parts[0]->form == VECTOR && below(2))
        return spy_arg_array(name, data,
                             SPY_SHAPE(t->count, t->parts[0]->count), scalars[t->parts[0]->scalar].dtype);
    return spy_arg_data(name, data, t->size);
}

// A plain function and a shader of the same random parameters write down all of their bits.
static void test_parameters(void **state) {
    (void)state;
    quiet_device();
    uint32_t all_types =
        SPY_FEATURE_FLOAT16 | SPY_FEATURE_FLOAT64 | SPY_FEATURE_INT8 | SPY_FEATURE_INT16 | SPY_FEATURE_INT64;
    if ((spy_get_device_info(gpu_device).features & all_types) != all_types) {
        spy_release_device(gpu_device);
        skip();
    }
    seed();
    static writer w;
    size_t too_large = 0, rounds = test_count(300);
    for (size_t round = 0; round < rounds; round++) {
        memset(&w, 0, sizeof w);
        tree *params[6];
        uint32_t count = 1 + below(6);
        size_t bytes = 8;
        for (uint32_t p = 0; p < count; p++) {
            params[p] = grow(&w, 0);
            bytes += params[p]->size;
            fill_tree(params[p], params[p]->data);
        }
        for (int shader = 0; shader < 2; shader++) {
            w.words = 0;
            if (shader) add(&w, "[shader(\"compute\")] [numthreads(1, 1, 1)]\n");
            add(&w, "void %s(", shader ? "as_shader" : "as_function");
            for (uint32_t p = 0; p < count; p++) {
                char name[100];
                type_name(params[p], name, sizeof name);
                add(&w, "%s%s p%u, ", shader ? "uniform " : "", name, p);
            }
            add(&w, "%suint* o)\n{\n", shader ? "uniform " : "");
            for (uint32_t p = 0; p < count; p++) {
                char path[16];
                snprintf(path, sizeof path, "p%u", p);
                dump_tree(&w, params[p], path, params[p]->data);
            }
            add(&w, "}\n");
        }
        char name[40];
        snprintf(name, sizeof name, "random_%zu", round);
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, name, w.text));
        spy_tensor *o = uints(w.words);
        for (int shader = 0; shader < 2; shader++) {
            static const char *const names[6] = { "p0", "p1", "p2", "p3", "p4", "p5" };
            spy_arg args[7];
            uint32_t named = below(count + 2); // from here on by name, and in the other order
            w.used = 0;
            for (uint32_t p = 0; p < count; p++) {
                uint32_t to = p < named ? p : count - 1 - (p - named);
                args[to] = tree_arg(&w, p < named ? NULL : names[p], params[p], params[p]->data);
            }
            args[count] = spy_arg_tensor("o", o);
            spy_args list;
            list.items = args;
            list.count = count + 1;
            OK(spy_tensor_fill(o, 0));
            spy_status status =
                spy_dispatch(fn(m, shader ? "as_shader" : "as_function"), threads3(1, 1, 1), list, NULL);
            if (shader && status == SPY_ERROR_UNSUPPORTED && bytes > 64) {
                ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "uniform parameters have");
                too_large++;
                continue;
            }
            if (status != SPY_OK) print_error("%s\n", w.text);
            OK(status);
            uint32_t *got = read_uints(o, w.words);
            for (int i = 0; i < w.words; i++) {
                if (got[i] == w.expected[i]) continue;
                print_error("%s\nword %d of the %s: %08x, expected %08x\n", w.text, i,
                            shader ? "shader" : "function", got[i], w.expected[i]);
                fail();
            }
            free(got);
        }
        for (int i = 0; i < w.made; i++) free(w.all[i]);
        spy_release_tensor(o);
    }
    assert_true(rounds < 20 || too_large * 2 < rounds);
    quiet_close();
}

static void test_tensors(void **state) {
    enum { N = 37 };
    (void)state;
    spy_module *m = open_module();
    float x[N][3], got[N];
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) x[i][k] = (float)(i * 10 + k);
    spy_tensor *a =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N, 3), x));
    spy_tensor *back = MADE(spy_tensor, spy_create_slice(a, 0, SPY_INDEX_NONE, SPY_INDEX_NONE, -1));
    spy_tensor *y =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N), NULL));
    spy_tensor *z =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(N, 3), NULL));
    for (int shader = 0; shader < 2; shader++) {
        for (int reversed = 0; reversed < 2; reversed++) {
            OK(spy_tensor_fill(y, -1));
            spy_arg field[3], both[3];
            field[0] = spy_arg_f32("scale", 0.5f);
            field[1] = spy_arg_tensor("x", reversed ? back : a);
            field[2] = spy_arg_i32("bias", -3);
            spy_args fields, all;
            fields.items = field;
            fields.count = 3;
            both[0] = spy_arg_u32("n", N);
            both[1] = spy_arg_struct("field", fields);
            both[2] = spy_arg_tensor("y", y);
            all.items = both;
            all.count = 3;
            OK(spy_dispatch(fn(m, shader ? "use_shader" : "use"), threads3(N, 1, 1),
                            SPY_ARGS(spy_arg_struct("both", all), spy_arg_f32("add", 1000)), NULL));
            OK(spy_tensor_read(y, got, sizeof got));
            for (int i = 0; i < N; i++)
                assert_true(got[i] == 0.5f * x[reversed ? N - 1 - i : i][1] - 3 + 1000);
        }
    }
    OK(spy_dispatch(fn(m, "whole"), threads3(3, N, 1),
                    SPY_ARGS(spy_arg_tensor("y", z), spy_arg_tensor("x", back)), NULL));
    float doubled[N][3];
    OK(spy_tensor_read(z, doubled, sizeof doubled));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < 3; k++) assert_true(doubled[i][k] == 2 * x[N - 1 - i][k]);
    quiet_close();
}

// >>more groups than the device counts in one dimension

static void test_folding(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_function *count = fn(m, "count");
    static const struct {
        uint32_t n[3], group[3];
    } cases[] = { { { 70001, 1, 1 }, { 1, 1, 1 } },  { { 1, 70001, 2 }, { 1, 1, 1 } },
                  { { 2, 3, 66000 }, { 1, 1, 1 } },  { { 200003, 2, 1 }, { 3, 1, 1 } },
                  { { 7, 200003, 1 }, { 2, 3, 1 } }, { { 65536, 1, 1 }, { 1, 1, 1 } },
                  { { 65535, 1, 2 }, { 1, 1, 1 } },  { { 65537, 3, 3 }, { 1, 2, 2 } } };
    spy_tensor *o = uints(5);
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        spy_call_options options;
        memset(&options, 0, sizeof options);
        memcpy(options.thread_group_size, cases[c].group, sizeof cases[c].group);
        const uint32_t *n = cases[c].n;
        const int32_t group[3] = { (int32_t)cases[c].group[0], (int32_t)cases[c].group[1],
                                   (int32_t)cases[c].group[2] };
        OK(spy_tensor_fill(o, 0));
        OK(spy_dispatch(count, threads3(n[0], n[1], n[2]),
                        SPY_ARGS(spy_arg_tensor("o", o), spy_arg_i32n("group", group, 3)), &options));
        uint32_t *got = read_uints(o, 5), total = n[0] * n[1] * n[2];
        assert_int_equal(got[0], total);
        assert_int_equal(got[4], total);
        for (int i = 0; i < 3; i++) {
            uint32_t sum = (uint32_t)((uint64_t)n[i] * (n[i] - 1) / 2) * (total / n[i]);
            assert_int_equal(got[1 + i], sum);
        }
        free(got);
    }
    // A shader's own groups cannot be counted otherwise, and no device counts these.
    const uint32_t most = spy_get_device_info(gpu_device).max_group_count;
    if (most <= 0xffff) {
        FAILS(SPY_ERROR_OUT_OF_RANGE,
              spy_dispatch(fn(m, "tally"), threads3(8 * (most + 1), 1, 1), SPY_ARGS(spy_arg_tensor("o", o)),
                           NULL),
              "tally", "65536 x 1 x 1", "65535");
    }
    FAILS(SPY_ERROR_OUT_OF_RANGE,
          spy_dispatch(fn(m, "tally"), threads3(1, 1, 0x7fffffff), SPY_ARGS(spy_arg_tensor("o", o)), NULL),
          "tally", "groups");
    const int32_t one[3] = { 1, 1, 1 };
    spy_args args = SPY_ARGS(spy_arg_tensor("o", o), spy_arg_i32n("group", one, 3));
    const uint32_t huge = 0xffffffffu, half = 0x80000000u;
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_dispatch(count, threads3(huge, huge, huge), args, NULL), "count",
          "groups");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_dispatch(count, threads3(half, half, half), args, NULL), "count",
          "groups");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_dispatch(count, threads3(half, half, 4), args, NULL), "count",
          "groups");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_dispatch(count, threads3(64, half, half), args, NULL), "count",
          "groups");
    quiet_close();
}

// >>group counts from memory

static void test_indirect(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_function *counts = fn(m, "counts"), *count = fn(m, "count"), *tally = fn(m, "tally");
    spy_tensor *groups = uints(4), *o = uints(5);
    seed();
    for (int round = 0; round < 12; round++) {
        uint32_t n[3] = { below(7), below(5), 1 + below(3) }, total = n[0] * n[1] * n[2];
        const uint32_t size[3] = { 4, 2, 3 };
        const int32_t group[3] = { 4, 2, 3 };
        spy_call_options options;
        memset(&options, 0, sizeof options);
        memcpy(options.thread_group_size, size, sizeof size);
        spy_args args = SPY_ARGS(spy_arg_tensor("o", o), spy_arg_i32n("group", group, 3));
        OK(spy_tensor_fill(o, 0));
        // A direct dispatch of the same kind before: the two are not the same kernel.
        OK(spy_dispatch(count, threads3(1, 1, 1), args, &options));
        OK(spy_dispatch(counts, threads3(1, 1, 1),
                        SPY_ARGS(spy_arg_tensor("o", groups), spy_arg_u32("x", n[0]), spy_arg_u32("y", n[1]),
                                 spy_arg_u32("z", n[2])),
                        NULL));
        OK(spy_dispatch_indirect(count, groups, 1, args, &options));
        OK(spy_dispatch(count, threads3(3, 2, 1), args, &options));
        uint32_t *got = read_uints(o, 5);
        assert_int_equal(got[0], 1 + 24 * total + 6); // whole groups
        assert_int_equal(got[4], 1 + 24 * total + 6);
        for (int i = 0; i < 3; i++) {
            uint32_t threads = n[i] * size[i],
                     sum = threads ? threads * (threads - 1) / 2 * (24 * total / threads) : 0;
            assert_int_equal(got[1 + i], sum + (i == 0 ? 6 : i == 1 ? 3 : 0));
        }
        free(got);
        OK(spy_tensor_fill(o, 0));
        OK(spy_dispatch_indirect(tally, groups, 1, SPY_ARGS(spy_arg_tensor("o", o)), NULL));
        OK(spy_dispatch(tally, threads3(1, 1, 1), SPY_ARGS(spy_arg_tensor("o", o)), NULL));
        got = read_uints(o, 5);
        assert_int_equal(got[0], 8 * total + 8);
        free(got);
    }
    // Counts through views: their place, and those that have none.
    const uint32_t many[9] = { 5, 5, 5, 2, 1, 1, 9, 9, 9 };
    spy_tensor *table = MADE(spy_tensor,
                             gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(3, 3), many)),
               *row = MADE(spy_tensor, spy_create_select(table, 0, 1));
    spy_tensor *column = MADE(spy_tensor, spy_create_select(table, 1, 0)),
               *ints = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(3), NULL));
    OK(spy_tensor_fill(o, 0));
    spy_args args = SPY_ARGS(spy_arg_tensor("o", o));
    OK(spy_dispatch_indirect(tally, row, 0, args, NULL));
    OK(spy_dispatch_indirect(tally, table, 3, args, NULL));
    uint32_t *got = read_uints(o, 5);
    assert_int_equal(got[0], 32);
    free(got);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, column, 0, args, NULL),
          "spy_dispatch_indirect", "tally", "contiguous");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, ints, 0, args, NULL), "uint32");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, row, 1, args, NULL),
          "beyond the tensor's end");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, row, -1, args, NULL), "beyond");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, row, INT64_MAX - 1, args, NULL), "beyond");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, NULL, 0, args, NULL), "groups: expected a tensor, got NULL");
    quiet_close();
}

// >>arguments, and what is wrong with them

static uint32_t first_word(spy_tensor *t) {
    uint32_t *got = read_uints(t, 4), word = got[0];
    free(got);
    return word;
}

static void test_arguments(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_tensor *o = uints(4);
    spy_function *plain = fn(m, "plain");
    spy_uint3 one = threads3(1, 1, 1);
    spy_arg t = spy_arg_tensor("o", o), nameless = spy_arg_tensor(NULL, o);
    OK(spy_dispatch(plain, one, SPY_ARGS(nameless, spy_arg_u32(NULL, 1)), NULL));
    assert_int_equal(first_word(o), 1);
    OK(spy_dispatch(plain, one, SPY_ARGS(spy_arg_u32("v", 2), t), NULL));
    assert_int_equal(first_word(o), 2);
    OK(spy_dispatch(plain, one, SPY_ARGS(nameless, spy_arg_u32("v", 3)), NULL));
    assert_int_equal(first_word(o), 3);
    // With parameters that the system fills before and between them.
    OK(spy_dispatch(fn(m, "twos"), one, SPY_ARGS(spy_arg_u32(NULL, 4), nameless), NULL));
    OK(spy_dispatch(fn(m, "defaulted"), one, SPY_ARGS(t), NULL));
    assert_int_equal(first_word(o), 5);
    OK(spy_dispatch(fn(m, "Thing.go"), one, SPY_ARGS(t, spy_arg_u32("w", 6)), NULL));
    assert_int_equal(first_word(o), 6);
    OK(spy_dispatch(fn(m, "generic"), one, SPY_ARGS(spy_arg_i32("v", 6), t), NULL));
    assert_int_equal(first_word(o), 3);
    // Nothing to do.
    OK(spy_tensor_fill(o, 11));
    spy_device_stats before = spy_get_device_stats(gpu_device);
    OK(spy_dispatch(plain, threads3(0, 1, 1), SPY_ARGS(t, spy_arg_u32("v", 7)), NULL));
    OK(spy_dispatch(plain, threads3(70000 * 64, 3, 0), SPY_ARGS(t, spy_arg_u32("v", 7)), NULL));
    OK(spy_dispatch(fn(m, "tally"), threads3(0, 0, 0), SPY_ARGS(t), NULL));
    assert_int_equal(spy_get_device_stats(gpu_device).dispatches, before.dispatches);
    assert_int_equal(first_word(o), 11);
    quiet_close();
}

static void test_errors(void **state) {
    (void)state;
    spy_module *m = open_module();
    spy_tensor *o = uints(4);
    spy_tensor *f =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), NULL));
    spy_function *plain = fn(m, "plain"), *tally = fn(m, "tally");
    spy_uint3 one = threads3(1, 1, 1);
    spy_arg t = spy_arg_tensor("o", o);
    spy_call_options options;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t), NULL), "spy_dispatch", "plain",
          "'v'");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call(tally, SPY_ARGS(t)), "tally", "shader", "spy_dispatch");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_dispatch(fn(m, "crowd"), one, SPY_ARGS(t), NULL), "crowd",
          "[numthreads(64, 64, 1)]", "1024");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_dispatch(plain, one, SPY_ARGS(spy_arg_tensor(NULL, o), spy_arg_u32(NULL, 1), spy_arg_u32(NULL, 1)), NULL), "plain",
          "Too many arguments: expected 2, got 3");
    FAILS(SPY_ERROR_NOT_FOUND, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("w", 1)), NULL), "plain",
          "'w'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t, t), NULL), "plain", "'o'");
    FAILS(SPY_ERROR_TYPE_MISMATCH,
          spy_dispatch(plain, one, SPY_ARGS(spy_arg_tensor("o", f), spy_arg_u32("v", 1)), NULL), "plain",
          "'o'");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_i32("v", -1)), NULL), "plain",
          "'v'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT,
          spy_dispatch(fn(m, "ones"), one, SPY_ARGS(t, spy_arg_u32("a", 1)), NULL), "ones", "'a'",
          "filled by the system");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(fn(m, "two"), one, SPY_ARGS(t), NULL), "two", "overloads");
    // Outputs, and tensors that a call would run over.
    uint32_t v = 9;
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_dispatch(fn(m, "gives"), one, SPY_ARGS(t, spy_out_u32("v", &v)), NULL),
          "gives", "'v'", "output");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_dispatch(fn(m, "turns"), one, SPY_ARGS(spy_inout_u32("v", &v)), NULL),
          "turns", "'v'");
    FAILS(
        SPY_ERROR_TYPE_MISMATCH,
        spy_dispatch(fn(m, "returns"), one, SPY_ARGS(spy_arg_u32("v", 1), spy_out_u32("_result", &v)), NULL),
        "returns", "'_result'");
    assert_int_equal(v, 9);
    FAILS(SPY_ERROR_SHAPE_MISMATCH,
          spy_dispatch(fn(m, "ranges"), one, SPY_ARGS(spy_arg_tensor("v", f), t), NULL), "ranges", "'v'",
          "whole");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(fn(m, "float_id"), one, SPY_ARGS(t), NULL), "float_id",
          "'t'");
    // Groups.
    memset(&options, 0, sizeof options);
    options.thread_group_size[0] = 16;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(tally, one, SPY_ARGS(t), &options), "tally",
          "[numthreads(8, 1, 1)]", "thread_group_size");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch_indirect(tally, o, 0, SPY_ARGS(t), &options), "tally",
          "thread_group_size");
    options.thread_group_size[0] = 1025;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("v", 1)), &options),
          "thread_group_size");
    options.thread_group_size[0] = options.thread_group_size[1] = 0x80000000u;
    options.thread_group_size[2] = 4;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("v", 1)), &options),
          "thread_group_size");
    options.thread_group_size[0] = 0;
    options.thread_group_size[1] = 2;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("v", 1)), &options),
          "thread_group_size");
    memset(&options, 0, sizeof options);
    options.thread_count = SPY_SHAPE(3);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("v", 1)), &options),
          "thread_count");
    memset(&options, 0, sizeof options);
    options.call_group_shape = SPY_SHAPE(3);
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("v", 1)), &options),
          "call_group_shape");
    // More parameters than travel with a dispatch, where the device says so.
    float matrix[16] = { 1 };
    if (spy_get_device_info(gpu_device).max_inline_block_bytes < 328) {
        FAILS(SPY_ERROR_UNSUPPORTED,
              spy_dispatch(fn(m, "big"), one,
                           SPY_ARGS(spy_arg_array("a", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32),
                                    spy_arg_array("b", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32),
                                    spy_arg_array("c", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32),
                                    spy_arg_array("d", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32),
                                    spy_arg_array("e", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32),
                                    spy_arg_tensor("o", f)),
                           NULL),
              "big", "328 bytes");
    }
    spy_args none;
    none.items = NULL;
    none.count = 2;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_dispatch(plain, one, none, NULL), "NULL");
    assert_int_equal(spy_dispatch(NULL, one, SPY_ARGS(t), NULL), SPY_ERROR_INVALID_ARGUMENT);
    (void)spy_take_error(NULL);
    // After all of this the device is as good as before.
    OK(spy_dispatch(plain, one, SPY_ARGS(t, spy_arg_u32("v", 41)), NULL));
    assert_int_equal(first_word(o), 41);
    quiet_close();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),    cmocka_unit_test(test_named), cmocka_unit_test(test_system_values),
        cmocka_unit_test(test_shaders),  cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_tensors),  cmocka_unit_test(test_folding),
        cmocka_unit_test(test_indirect), cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_main),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
