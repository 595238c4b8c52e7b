// Typed buffers (Buffer<T>, RWBuffer<T>) and arrays of buffers: as parameters of functions and shaders, and as global
// shader parameters, with random data against plain C. Every dumped SPIR-V goes through SPIRV_VAL at the end.
#include "gpu_test.h"


spy_device *gpu_device;

static uint64_t random_state = 1;

static uint32_t random_bits(void) { // splitmix64
    uint64_t z = (random_state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 16);
}

static float random_float(void) { return (float)(int)(random_bits() % 2000) / 8 - 100; } // sums of a few are exact

static spy_function *fn(spy_module *module, const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static spy_tensor *floats(spy_shape shape, const float *data) {
    return MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, shape, data));
}

static spy_call_options globals_of(spy_args globals) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals = globals;
    return o;
}

static const spy_uint3 sixty_four = { 64, 1, 1 };

// >>typed buffers

static const struct format {
    const char *name;
    spy_dtype scalar;
    uint32_t columns;
    bool everywhere; // Vulkan asks every device for it
} formats[] = {
    { "float", SPY_DTYPE_FLOAT32, 1, true },       { "float2", SPY_DTYPE_FLOAT32, 2, false },   { "float4", SPY_DTYPE_FLOAT32, 4, true },
    { "int", SPY_DTYPE_INT32, 1, true },           { "int2", SPY_DTYPE_INT32, 2, false },       { "int4", SPY_DTYPE_INT32, 4, true },
    { "uint", SPY_DTYPE_UINT32, 1, true },         { "uint2", SPY_DTYPE_UINT32, 2, false },     { "uint4", SPY_DTYPE_UINT32, 4, true },
    { "half", SPY_DTYPE_FLOAT16, 1, false },       { "half2", SPY_DTYPE_FLOAT16, 2, false },    { "half4", SPY_DTYPE_FLOAT16, 4, false },
    { "int16_t", SPY_DTYPE_INT16, 1, false },      { "uint16_t4", SPY_DTYPE_UINT16, 4, false }, { "int8_t", SPY_DTYPE_INT8, 1, false },
    { "uint8_t4", SPY_DTYPE_UINT8, 4, false },     { "int16_t2", SPY_DTYPE_INT16, 2, false },
};

static void need_device(void) {
    if (!gpu_device) skip();
}

// Typed buffers are Vulkan's: for CUDA Slang has no code for them, and they are refused (test_globals.c looks at how).
static void need_texels(void) {
    need_device();
    if (!gpu_is_cuda()) return;
    print_message("skipped: no typed buffers on CUDA\n");
    skip();
}

// Each format there and back in a shader and in a plain function, bit by bit.
static void test_formats(void **state) {
    (void)state;
    need_texels();
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        enum { N = 100 };
        const struct format *format = &formats[f];
        char source[1024], name[32];
        uint8_t data[N * 16], got[N * 16];
        size_t size = spy_dtype_size_bytes(format->scalar), texel = size * format->columns;
        snprintf(name, sizeof name, "format_%s", format->name);
        snprintf(source, sizeof source,
                 "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
                 "void turn(uint3 t : SV_DispatchThreadID, uniform Buffer<%s> from, uniform RWBuffer<%s> to, uniform int n)\n"
                 "{ if (t.x < n) to[t.x] = from[n - 1 - t.x]; }\n"
                 "void back(uint3 t : SV_DispatchThreadID, RWBuffer<%s> from, RWBuffer<%s> to, int n) { to[n - 1 - t.x] = from[t.x]; }\n",
                 format->name, format->name, format->name, format->name);
        spy_module *m = MADE(spy_module, gpu_module(gpu_device, name, source));
        for (size_t i = 0; i < N * texel; i++) data[i] = (uint8_t)random_bits();
        for (size_t i = 0; i < N * texel && (format->scalar == SPY_DTYPE_FLOAT32 || format->scalar == SPY_DTYPE_FLOAT16); i += size) {
            data[i + size - 1] = (uint8_t)((data[i + size - 1] & 0x83) | 0x30); // neither subnormal, infinite nor NaN
        }
        spy_shape shape = SPY_SHAPE(N, format->columns);
        if (format->columns == 1) shape.rank = 1;
        spy_tensor *x = MADE(spy_tensor, gpu_tensor(gpu_device, format->scalar, NULL, NULL, shape, data));
        spy_tensor *y = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, format->name, NULL, SPY_SHAPE(N), NULL));
        spy_tensor *z = MADE(spy_tensor, gpu_tensor(gpu_device, format->scalar, NULL, NULL, shape, NULL));
        spy_status status = spy_dispatch(fn(m, "turn"), (spy_uint3){ N, 1, 1 },
                                         SPY_ARGS(spy_arg_tensor("from", x), spy_arg_tensor("to", y), spy_arg_i32("n", N)), NULL);
        if (status != SPY_OK) {
            spy_error e = spy_take_error(gpu_device);
            print_message("%s: %s\n", format->name, e.message);
            assert_false(format->everywhere);
            continue;
        }
        OK(spy_dispatch(fn(m, "back"), (spy_uint3){ N, 1, 1 },
                        SPY_ARGS(spy_arg_tensor("from", y), spy_arg_tensor("to", z), spy_arg_i32("n", N)), NULL));
        OK(spy_tensor_read(y, got, N * texel));
        for (size_t i = 0; i < N; i++) assert_memory_equal(got + i * texel, data + (N - 1 - i) * texel, texel);
        OK(spy_tensor_read(z, got, N * texel));
        assert_memory_equal(got, data, N * texel);
        spy_release_tensor(x);
        spy_release_tensor(y);
        spy_release_tensor(z);
        spy_release_module(m);
    }
}

static const char typed_source[] =
    "struct Set { Buffer<float> from; float add; RWBuffer<float> to; }\n"
    "Buffer<float4> quads;\n"
    "RWBuffer<uint> bins;\n"
    "ParameterBlock<Set> set;\n"
    "float pick(Buffer<float> b, int i) { return b[i]; }\n"
    "float4 pick4(Buffer<float4> b, int i) { return b[i]; }\n"
    "T any<T : ITexelElement>(Buffer<T> b, int i) { return b[i]; }\n"
    "void put(RWBuffer<float> b, int i, float v) { b[i] = v; }\n"
    "float both(Buffer<float> x, StructuredBuffer<float> y, RWBuffer<float4> z, int i) { return x[i] * y[i] + z[i].w; }\n"
    "int size(Buffer<float2> b) { uint n; b.GetDimensions(n); return int(n); }\n"
    "float of_quads(int i) { return quads[i / 4][i % 4]; }\n"
    "void count(int v) { InterlockedAdd(bins[v % 4], 1u); }\n"
    "void of_set(int i) { set.to[i] = set.from[i] + set.add; }\n"
    "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
    "void sets(uint3 t : SV_DispatchThreadID, uniform Set other, uniform ConstantBuffer<float4> four, [format(\"rgba32f\")] uniform RWBuffer<float4> wide)\n"
    "{ other.to[t.x] = other.from[t.x] * four.y + other.add; wide[t.x] += four; }\n";

static void test_typed(void **state) {
    (void)state;
    need_texels();
    enum { N = 64 };
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "typed", typed_source));
    float data[4 * N], got[4 * N], y_data[N];
    int32_t index[N], n = 0;
    uint32_t bins[4] = { 0 };
    for (int i = 0; i < 4 * N; i++) data[i] = random_float();
    for (int i = 0; i < N; i++) y_data[i] = random_float();
    for (int i = 0; i < N; i++) index[i] = (int32_t)(random_bits() % N);
    spy_tensor *x = floats(SPY_SHAPE(4 * N), data), *y = floats(SPY_SHAPE(N), y_data), *rows = floats(SPY_SHAPE(N, 4), data);
    spy_tensor *quads = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "float4", NULL, SPY_SHAPE(N), data));
    spy_tensor *b =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(4), bins));
    spy_arg all = spy_arg_array("i", index, SPY_SHAPE(N), SPY_DTYPE_INT32), v = all;
    v.name = "v";
    OK(spy_call(fn(m, "pick"), SPY_ARGS(spy_arg_tensor("b", x), all, spy_out_array("_result", got, SPY_SHAPE(N), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], data[index[i]], 0);
    spy_tensor *fours[] = { rows, quads };
    for (int t = 0; t < 2; t++) {
        memset(got, 0, sizeof got);
        OK(spy_call(fn(m, t ? "any" : "pick4"), SPY_ARGS(spy_arg_tensor("b", quads), all, spy_out_array("_result", got, SPY_SHAPE(N, 4), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < 4 * N; i++) assert_float_equal(got[i], data[4 * index[i / 4] + i % 4], 0);
        memset(got, 0, sizeof got);
        OK(spy_call(fn(m, "pick4"), SPY_ARGS(spy_arg_tensor("b", fours[t]), all, spy_out_array("_result", got, SPY_SHAPE(N, 4), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < 4 * N; i++) assert_float_equal(got[i], data[4 * index[i / 4] + i % 4], 0);
    }
    OK(spy_call(fn(m, "both"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("z", rows), all,
                                        spy_out_array("_result", got, SPY_SHAPE(N), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], data[index[i]] * y_data[index[i]] + data[4 * index[i] + 3], 1e-2);
    spy_tensor *part = MADE(spy_tensor, spy_create_slice(rows, 0, 32, 64, 1)); // 512 bytes in
    OK(spy_call(fn(m, "pick4"), SPY_ARGS(spy_arg_tensor("b", part), spy_arg_i32("i", 3), spy_out_array("_result", got, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 4; i++) assert_float_equal(got[i], data[4 * 35 + i], 0);
    spy_tensor *pairs = floats(SPY_SHAPE(2 * N, 2), data);
    OK(spy_call(fn(m, "size"), SPY_ARGS(spy_arg_tensor("b", pairs), spy_out_i32("_result", &n))));
    assert_int_equal(n, 2 * N);

    for (int i = 0; i < N; i++) index[i] = i;
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_tensor("quads", rows)));
    OK(spy_call_with(fn(m, "of_quads"), SPY_ARGS(all, spy_out_array("_result", got, SPY_SHAPE(N), SPY_DTYPE_FLOAT32)), &o));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], data[i], 0);
    o = globals_of(SPY_ARGS(spy_arg_tensor("bins", b)));
    for (int i = 0; i < 3; i++) OK(spy_call_with(fn(m, "count"), SPY_ARGS(v), &o));
    OK(spy_tensor_read(b, bins, sizeof bins));
    for (int i = 0; i < 4; i++) assert_int_equal(bins[i], 3 * N / 4);
    spy_tensor *to = floats(SPY_SHAPE(N), NULL);
    o = globals_of(SPY_ARGS(spy_arg_tensor("set.from", y), spy_arg_f32("set.add", 2), spy_arg_tensor("set.to", to)));
    OK(spy_call_with(fn(m, "of_set"), SPY_ARGS(all), &o));
    OK(spy_tensor_read(to, got, N * sizeof *got));
    for (int i = 0; i < N; i++) assert_float_equal(got[i], y_data[i] + 2, 0);
    const float four[4] = { 1, 2, 3, 4 };
    spy_arg other = spy_arg_struct("other", SPY_ARGS(spy_arg_tensor("from", y), spy_arg_f32("add", -1), spy_arg_tensor("to", to)));
    spy_status status = spy_dispatch(fn(m, "sets"), sixty_four, SPY_ARGS(other, spy_arg_f32n("four", four, 4), spy_arg_tensor("wide", rows)), NULL);
    if (status == SPY_ERROR_COMPILE || status == SPY_ERROR_UNSUPPORTED) { // RWBuffer<float> and <float4>, of one type in the code
        ERROR_ON(gpu_device, status, "StorageImageReadWithoutFormat");
    } else {
        OK(status);
        OK(spy_tensor_read(to, got, N * sizeof *got));
        for (int i = 0; i < N; i++) assert_float_equal(got[i], y_data[i] * 2 - 1, 0);
        OK(spy_tensor_read(rows, got, sizeof got));
        for (int i = 0; i < 4 * N; i++) assert_float_equal(got[i], data[i] + four[i % 4], 0);
    }
}

// >>arrays

static const char arrays_source[] =
    "struct Set { float scale; StructuredBuffer<float> from[3]; RWStructuredBuffer<float> to; }\n"
    "StructuredBuffer<float> first;\n"
    "StructuredBuffer<float> tables[3];\n"
    "RWStructuredBuffer<float3> outs[2];\n"
    "ByteAddressBuffer bytes[2];\n"
    "Buffer<float> texels[2];\n"
    "StructuredBuffer<float> last;\n"
    "uniform float gain;\n"
    "ParameterBlock<Set> set;\n"
    "float looked_up(int k, int i) { return tables[k][i] * gain + last[i]; }\n"
    "float single(int i) { return tables[1][i]; }\n"
    "float raw(int k, int i) { return bytes[k].Load<float>(4 * i); }\n"
    "float widths(int k, int i) { return (bytes[k].Load<uint16_t>(4 * i) & 255) * 256.0 + (bytes[k].Load<uint>(4 * i) >> 24); }\n"
    "float texel(int i) { return texels[0][i] - texels[1][i] + first[i]; }\n"
    "float texel_of(int k, int i) { return texels[k][i]; }\n"
    "void spread(int k, int i, float3 v) { outs[k][i] = v + float3(first[i]); }\n"
    "void of_set(int k, int i) { set.to[i] = set.from[k][i] * set.scale; }\n"
    "float one_of(StructuredBuffer<float> b[3], int k, int i) { return b[k][i]; }\n"
    "float params(StructuredBuffer<float> x, StructuredBuffer<float> b[2], Buffer<float> c[2], int k, int i, float y)\n"
    "{ return b[k][i] * 100 + x[i] * 10 + c[0][i] + c[1][i] + y; }\n"
    "void put(RWStructuredBuffer<float> b[2], int k, int i, float v) { b[k][i] = v; }\n"
    "float in_struct(Set s, int k, int i) { return s.from[k][i] * s.scale; }\n"
    "float held(ConstantBuffer<Set> s, int k, int i) { return s.from[k][i] + s.scale; }\n"
    "void plain(uint3 t : SV_DispatchThreadID, StructuredBuffer<float> b[3], int k, RWStructuredBuffer<float> to) { to[t.x] = b[k][t.x]; }\n"
    "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
    "void shader(uint3 t : SV_DispatchThreadID, uniform StructuredBuffer<float> x, uniform StructuredBuffer<float> b[3], uniform int k,\n"
    "            uniform RWStructuredBuffer<float> to[2], uniform Set s)\n"
    "{ to[k % 2][t.x] = b[k][t.x] + tables[2 - k][t.x] * 2 + x[t.x]; to[(k + 1) % 2][t.x] = s.from[k][t.x] * s.scale; s.to[t.x] = k; }\n";

enum { MANY = 64 };

typedef struct tables {
    float data[3][MANY];
    spy_tensor *t[3];
    spy_arg arg; // all of them, as array "b"
    spy_arg fields[3], index;
    int32_t i[MANY];
} tables;

static void make_tables(tables *t) {
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < MANY; i++) t->data[k][i] = random_float();
        t->t[k] = floats(SPY_SHAPE(MANY), t->data[k]);
        t->fields[k] = spy_arg_tensor(NULL, t->t[k]);
    }
    for (int i = 0; i < MANY; i++) t->i[i] = i;
    t->arg = spy_arg_struct("b", (spy_args){ t->fields, 3 });
    t->index = spy_arg_array("i", t->i, SPY_SHAPE(MANY), SPY_DTYPE_INT32);
}

static void test_array_globals(void **state) {
    (void)state;
    need_device();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "array_globals", arrays_source));
    tables t;
    float got[3 * MANY], v3[3] = { 1, 2, 3 };
    make_tables(&t);
    spy_arg out = spy_out_array("_result", got, SPY_SHAPE(MANY), SPY_DTYPE_FLOAT32), whole = t.arg;
    whole.name = "tables";
    for (int k = 0; k < 3; k++) { // whole, in parts, and a part over the whole
        spy_arg one = t.fields[0], two = t.fields[1], three = t.fields[2];
        one.name = "tables[0]", two.name = "tables[1]", three.name = "tables[2]";
        spy_arg last = spy_arg_tensor("last", t.t[1]), gain = spy_arg_f32("gain", 2), over = spy_arg_tensor("tables[0]", t.t[2]);
        const spy_args ways[3] = { SPY_ARGS(whole, last, gain), SPY_ARGS(three, one, gain, last, two), SPY_ARGS(whole, last, gain, over) };
        for (int how = 0; how < 3; how++) {
            spy_call_options o = globals_of(ways[how]);
            memset(got, 0, sizeof got);
            OK(spy_call_with(fn(m, "looked_up"), SPY_ARGS(spy_arg_i32("k", k), t.index, out), &o));
            int from = how == 2 && k == 0 ? 2 : k;
            for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[from][i] * 2 + t.data[1][i], 0);
        }
    }
    spy_call_options o = globals_of(SPY_ARGS(whole));
    OK(spy_call_with(fn(m, "single"), SPY_ARGS(t.index, out), &o));
    for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[1][i], 0);
    o = globals_of(SPY_ARGS(spy_arg_tensor("bytes[1]", t.t[2]), spy_arg_tensor("bytes[0]", t.t[0])));
    for (int k = 0; k < 2; k++) {
        OK(spy_call_with(fn(m, "raw"), SPY_ARGS(spy_arg_i32("k", k), t.index, out), &o));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[2 * k][i], 0);
    }
    if (spy_get_device_info(gpu_device).features & SPY_FEATURE_INT16) { // two variables of one binding in the code
        uint32_t words[2][MANY];
        for (int i = 0; i < 2 * MANY; i++) words[i / MANY][i % MANY] = random_bits();
        spy_tensor *w0 = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(MANY), words[0]));
        spy_tensor *w1 = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(MANY), words[1]));
        o = globals_of(SPY_ARGS(spy_arg_struct("bytes", SPY_ARGS(spy_arg_tensor(NULL, w0), spy_arg_tensor(NULL, w1)))));
        for (int k = 0; k < 2; k++) {
            OK(spy_call_with(fn(m, "widths"), SPY_ARGS(spy_arg_i32("k", k), t.index, out), &o));
            for (int i = 0; i < MANY; i++) assert_float_equal(got[i], (float)(words[k][i] & 0xff) * 256 + (float)(words[k][i] >> 24), 0);
        }
    }
    o = globals_of(SPY_ARGS(spy_arg_struct("texels", SPY_ARGS(t.fields[2], t.fields[0])), spy_arg_tensor("first", t.t[1])));
    if (!gpu_is_cuda()) {
        OK(spy_call_with(fn(m, "texel"), SPY_ARGS(t.index, out), &o));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[2][i] - t.data[0][i] + t.data[1][i], 0);
    }
    spy_status status = spy_call_with(fn(m, "texel_of"), SPY_ARGS(spy_arg_i32("k", 1), t.index, out), &o);
    if (gpu_is_cuda()) {
        ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "'texels[0]'", "for CUDA Slang has no code for typed buffers");
    } else if (status == SPY_ERROR_UNSUPPORTED) {
        ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "UniformTexelBufferArrayDynamicIndexing", "lacks");
    } else {
        OK(status);
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[0][i], 0);
    }
    spy_tensor *outs[2] = { floats(SPY_SHAPE(MANY, 3), NULL), floats(SPY_SHAPE(MANY, 3), NULL) };
    o = globals_of(SPY_ARGS(spy_arg_struct("outs", SPY_ARGS(spy_arg_tensor("[1]", outs[1]), spy_arg_tensor("[0]", outs[0]))),
                            spy_arg_tensor("first", t.t[1])));
    for (int k = 0; k < 2; k++) OK(spy_call_with(fn(m, "spread"), SPY_ARGS(spy_arg_i32("k", k), t.index, spy_arg_f32n("v", v3, 3)), &o));
    for (int k = 0; k < 2; k++) {
        OK(spy_tensor_read(outs[k], got, sizeof got));
        for (int i = 0; i < 3 * MANY; i++) assert_float_equal(got[i], v3[i % 3] + t.data[1][i / 3], 0);
    }
    spy_tensor *to = floats(SPY_SHAPE(MANY), NULL);
    spy_arg from = t.arg;
    from.name = "set.from";
    const spy_args in_parts = SPY_ARGS(from, spy_arg_f32("set.scale", 3), spy_arg_tensor("set.to", to));
    from.name = "from";
    const spy_args as_struct = SPY_ARGS(spy_arg_struct("set", SPY_ARGS(spy_arg_f32("scale", 3), from, spy_arg_tensor("to", to))));
    for (int k = 0; k < 3; k++) {
        o = globals_of(k == 2 ? as_struct : in_parts);
        OK(spy_call_with(fn(m, "of_set"), SPY_ARGS(spy_arg_i32("k", k), t.index), &o));
        OK(spy_tensor_read(to, got, MANY * sizeof *got));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[k][i] * 3, 0);
    }
}

static void test_array_params(void **state) {
    (void)state;
    need_device();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "array_params", arrays_source));
    tables t;
    float got[MANY], other[MANY];
    make_tables(&t);
    spy_arg out = spy_out_array("_result", got, SPY_SHAPE(MANY), SPY_DTYPE_FLOAT32);
    spy_tensor *to[2] = { floats(SPY_SHAPE(MANY), NULL), floats(SPY_SHAPE(MANY), NULL) };
    for (int k = 0; k < 3; k++) {
        OK(spy_call(fn(m, "one_of"), SPY_ARGS(t.arg, spy_arg_i32("k", k), t.index, out)));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[k][i], 0);
        OK(spy_dispatch(fn(m, "plain"), sixty_four, SPY_ARGS(t.arg, spy_arg_i32("k", k), spy_arg_tensor("to", to[0])), NULL));
        OK(spy_tensor_read(to[0], got, sizeof got));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[k][i], 0);
        spy_arg s = spy_arg_struct("s", SPY_ARGS(spy_arg_f32("scale", 5), spy_arg_struct("from", (spy_args){ t.fields, 3 }), spy_arg_tensor("to", to[1])));
        OK(spy_call(fn(m, "in_struct"), SPY_ARGS(s, spy_arg_i32("k", k), t.index, out)));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[k][i] * 5, 0);
        OK(spy_call(fn(m, "held"), SPY_ARGS(s, spy_arg_i32("k", k), t.index, out)));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], t.data[k][i] + 5, 0);
        // A shader's own, with others before and behind, and a global one.
        spy_arg whole = t.arg;
        whole.name = "tables";
        spy_call_options o = globals_of(SPY_ARGS(whole));
        spy_tensor *seen = floats(SPY_SHAPE(MANY), NULL);
        s = spy_arg_struct("s", SPY_ARGS(spy_arg_f32("scale", 5), spy_arg_struct("from", (spy_args){ t.fields, 3 }), spy_arg_tensor("to", seen)));
        spy_args own = SPY_ARGS(spy_arg_tensor("x", t.t[1]), t.arg, spy_arg_i32("k", k),
                                spy_arg_struct("to", SPY_ARGS(spy_arg_tensor(NULL, to[0]), spy_arg_tensor(NULL, to[1]))), s);
        if (gpu_is_cuda()) {
            FAILS(SPY_ERROR_UNSUPPORTED, spy_dispatch(fn(m, "shader"), sixty_four, own, &o), "'b'", "on CUDA a shader takes no array of buffers");
            spy_release_tensor(seen);
            continue;
        }
        OK(spy_dispatch(fn(m, "shader"), sixty_four, own, &o));
        OK(spy_tensor_read(to[k % 2], got, sizeof got));
        OK(spy_tensor_read(to[(k + 1) % 2], other, sizeof other));
        for (int i = 0; i < MANY; i++) {
            assert_float_equal(got[i], t.data[k][i] + t.data[2 - k][i] * 2 + t.data[1][i], 0);
            assert_float_equal(other[i], t.data[k][i] * 5, 0);
        }
        OK(spy_tensor_read(seen, got, sizeof got));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], (float)k, 0);
        spy_release_tensor(seen);
    }
    for (int k = 0; k < 2; k++) {
        spy_arg b = spy_arg_struct("b", SPY_ARGS(t.fields[0], t.fields[2])), c = spy_arg_struct("c", SPY_ARGS(t.fields[1], t.fields[2]));
        if (!gpu_is_cuda()) // it has typed buffers
            OK(spy_call(fn(m, "params"), SPY_ARGS(spy_arg_tensor("x", t.t[1]), b, c, spy_arg_i32("k", k), t.index, spy_arg_tensor("y", t.t[0]), out)));
        for (int i = 0; i < MANY && !gpu_is_cuda(); i++)
            assert_float_equal(got[i], t.data[2 * k][i] * 100 + t.data[1][i] * 10 + t.data[1][i] + t.data[2][i] + t.data[0][i], 0);
        b = spy_arg_struct("b", SPY_ARGS(spy_arg_tensor(NULL, to[0]), spy_arg_tensor(NULL, to[1])));
        OK(spy_call(fn(m, "put"), SPY_ARGS(b, spy_arg_i32("k", k), t.index, spy_arg_tensor("v", t.t[k]))));
    }
    for (int k = 0; k < 2; k++) {
        OK(spy_tensor_read(to[k], got, sizeof got));
        assert_memory_equal(got, t.data[k], sizeof got);
    }
}

// >>arrays without a size

static const char unsized_source[] =
    "struct P { int n; float3 c; bool b; }\n"
    "struct S { float scale; StructuredBuffer<float> inner[]; }\n"
    "uniform float before;\n"
    "RWStructuredBuffer<float> open[];\n"
    "ByteAddressBuffer bytes[];\n"
    "RWByteAddressBuffer words[];\n"
    "uniform float3 after;\n"
    "ConstantBuffer<P> cbs[];\n"
    "ConstantBuffer<float4> fours[];\n"
    "ParameterBlock<S> set;\n"
    "uniform float values[];\n"
    "StructuredBuffer<float3> threes[];\n"
    "float picked(int k, int i) { return open[k][i] * before + bytes[k].Load<float>(4 * i) + cbs[k].c.y + cbs[k].n + (cbs[k].b ? 100 : 0) + fours[k].w\n"
    "    + set.inner[k][i] * set.scale + values[k] + threes[k][i].z + after.y; }\n"
    "void moved(int k, int j, int i) { open[k][i] = open[j][63 - i]; }\n"
    "void counted(int k, int v) { words[k].InterlockedAdd(4 * (v % 4), 1); }\n"
    "float one_of(StructuredBuffer<float> b[], int k, int i) { return b[k][i]; }\n"
    "void put(int k, RWStructuredBuffer<float> to[], StructuredBuffer<float> last, int i) { to[k][i] = last[i]; }\n"
    "float held(ConstantBuffer<S> s, int k, int i) { return s.inner[k][i] + s.scale; }\n"
    "void plain(uint3 t : SV_DispatchThreadID, StructuredBuffer<float> b[], int k, RWStructuredBuffer<float> to) { to[t.x] = b[k][t.x]; }\n"
    "[shader(\"compute\")] [numthreads(64, 1, 1)]\n"
    "void shader(uint3 t : SV_DispatchThreadID, uniform float add, uniform StructuredBuffer<float> b[], uniform int k, uniform bool twice,\n"
    "            uniform RWStructuredBuffer<float> to[], uniform StructuredBuffer<float> x, uniform float3 v)\n"
    "{ to[k / 2][t.x] = b[k][t.x] * (twice ? 2 : 1) + add + x[t.x] + v.z; }\n";

enum { UNSIZED = 70 }; // more than fit into a descriptor set of a fixed size

typedef struct unsized {
    float open[UNSIZED][MANY], bytes[UNSIZED][MANY], inner[UNSIZED][MANY], threes[UNSIZED][3 * MANY], fours[UNSIZED][4], values[UNSIZED];
    struct { int32_t n; float c[3]; bool b; } parts[UNSIZED];
    spy_tensor *values_tensor, *t[6][UNSIZED];
    spy_arg args[6][UNSIZED];
} unsized;

static void random_floats(float *to, size_t count) {
    for (size_t i = 0; i < count; i++) to[i] = random_float();
}

static unsized *make_unsized(spy_module *m) {
    unsized *u = (unsized *)calloc(1, sizeof *u);
    assert_non_null(u);
    random_floats(u->open[0], UNSIZED * MANY);
    random_floats(u->bytes[0], UNSIZED * MANY);
    random_floats(u->inner[0], UNSIZED * MANY);
    random_floats(u->threes[0], UNSIZED * MANY * 3);
    random_floats(u->fours[0], UNSIZED * 4);
    random_floats(u->values, UNSIZED);
    u->values_tensor = floats(SPY_SHAPE(UNSIZED), u->values);
    for (int k = 0; k < UNSIZED; k++) {
        u->parts[k].n = (int32_t)(random_bits() % 100);
        random_floats(u->parts[k].c, 3);
        u->parts[k].b = random_bits() % 2;
        u->t[0][k] = floats(SPY_SHAPE(MANY), u->open[k]);
        u->t[1][k] = floats(SPY_SHAPE(MANY), u->bytes[k]);
        u->t[2][k] = floats(SPY_SHAPE(MANY), u->inner[k]);
        u->t[3][k] = floats(SPY_SHAPE(MANY, 3), u->threes[k]);
        u->t[4][k] = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "float4", NULL, SPY_SHAPE(1), u->fours[k]));
        u->t[5][k] = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "P", m, SPY_SHAPE(1), &u->parts[k]));
        for (int w = 0; w < 6; w++) u->args[w][k] = spy_arg_tensor(NULL, u->t[w][k]);
    }
    return u;
}

static void free_unsized(unsized *u) {
    for (int k = 0; k < 6 * UNSIZED; k++) spy_release_tensor(u->t[k / UNSIZED][k % UNSIZED]);
    spy_release_tensor(u->values_tensor);
    free(u);
}

// CUDA has them; other devices say that they do not.
static bool refuses_unsized(spy_module *m) {
    float data[4] = { 0 }, r;
    if (gpu_is_cuda()) return false;
    spy_tensor *x = floats(SPY_SHAPE(4), data);
    spy_arg list = spy_arg_struct("b", SPY_ARGS(spy_arg_tensor(NULL, x))), k = spy_arg_i32("k", 0), i = spy_arg_i32("i", 0), out = spy_out_f32("_result", &r);
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call(fn(m, "one_of"), SPY_ARGS(list, k, i, out)), "'b'", "StructuredBuffer<float>[]", "descriptor arrays of run-time size", "give it a size");
    list.name = "open";
    spy_call_options o = globals_of(SPY_ARGS(list));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_with(fn(m, "moved"), SPY_ARGS(k, spy_arg_i32("j", 0), i), &o), "'open'", "give it a size");
    FAILS(SPY_ERROR_COMPILE, spy_call(fn(m, "moved"), SPY_ARGS(k, spy_arg_i32("j", 0), i)), "'open'", "cannot be given", "give it a size");
    spy_release_tensor(x);
    return true;
}

static void test_unsized_globals(void **state) {
    (void)state;
    need_device();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "unsized_globals", unsized_source));
    if (refuses_unsized(m)) return;
    unsized *u = make_unsized(m);
    const float after[3] = { 4, 5, 6 };
    int32_t index[MANY], words[4];
    float got[MANY];
    for (int i = 0; i < MANY; i++) index[i] = i;
    spy_arg all = spy_arg_array("i", index, SPY_SHAPE(MANY), SPY_DTYPE_INT32), out = spy_out_array("_result", got, SPY_SHAPE(MANY), SPY_DTYPE_FLOAT32);
    spy_tensor *counts = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), (const int32_t[4]){ 0, 0, 0, 0 }));
    uint64_t built = 0;
    int rounds = (int)test_count(100);
    for (int n = 0; n < rounds; n++) { // lists of any length, from anywhere
        size_t count = n % 3 == 2 ? 1 + random_bits() % UNSIZED : 1 + random_bits() % 6, first = random_bits() % (UNSIZED - count + 1);
        int k = (int)(random_bits() % count);
        spy_args lists[6];
        for (int w = 0; w < 6; w++) lists[w] = (spy_args){ &u->args[w][first], count };
        spy_arg inner = spy_arg_struct("inner", lists[2]), set = spy_arg_struct("set", SPY_ARGS(inner, spy_arg_f32("scale", 2)));
        spy_call_options o = globals_of(SPY_ARGS(spy_arg_struct("open", lists[0]), spy_arg_struct("bytes", lists[1]), spy_arg_f32n("after", after, 3), spy_arg_f32("before", 3), set,
                                                 spy_arg_struct("threes", lists[3]), spy_arg_struct("fours", lists[4]), spy_arg_struct("cbs", lists[5]), spy_arg_tensor("values", u->values_tensor)));
        OK(spy_call_with(fn(m, "picked"), SPY_ARGS(spy_arg_i32("k", k), all, out), &o));
        size_t f = first + (size_t)k;
        for (int i = 0; i < MANY; i++)
            assert_float_equal(got[i], u->open[f][i] * 3 + u->bytes[f][i] + u->parts[f].c[1] + (float)u->parts[f].n + (u->parts[f].b ? 100 : 0) + u->fours[f][3] + u->inner[f][i] * 2 + u->values[k] + u->threes[f][3 * i + 2] + 5, 1e-2);
        if (n == 0) built = spy_get_device_stats(gpu_device).kernels_built;
    }
    assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built); // one kernel for all lengths
    // What one list writes another one reads, directly and from a list of calls.
    for (int how = 0; how < 3; how++) {
        spy_command_list *list = how ? MADE(spy_command_list, spy_create_command_list(gpu_device, NULL)) : NULL;
        uint32_t picks[40][3];
        for (int n = 0; n < 40; n++) {
            spy_arg few[3];
            for (int w = 0; w < 3; w++) few[w] = u->args[0][picks[n][w] = random_bits() % 5];
            spy_call_options o = globals_of(SPY_ARGS(spy_arg_struct("open", (spy_args){ few, 2 + (size_t)n % 2 }), spy_arg_f32("before", 1), spy_arg_f32n("after", after, 3), spy_arg_tensor("values", u->values_tensor)));
            o.append_to = list;
            if (picks[n][0] == picks[n][1]) picks[n][0] = UNSIZED;
            else OK(spy_call_with(fn(m, "moved"), SPY_ARGS(spy_arg_i32("k", 0), spy_arg_i32("j", 1), spy_arg_tensor("i", MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(MANY), index)))), &o));
        }
        if (list) OK(spy_list_finish(list));
        for (int round = 0; round < (list ? 3 : 1); round++) { // the second time as a graph
            if (list) OK(spy_list_submit(list));
            for (int n = 0; n < 40; n++)
                for (int i = 0; i < MANY && picks[n][0] < UNSIZED; i++) u->open[picks[n][0]][i] = u->open[picks[n][1]][MANY - 1 - i];
        }
        for (int k = 0; k < 5; k++) {
            OK(spy_tensor_read(u->t[0][k], got, sizeof got));
            assert_memory_equal(got, u->open[k], sizeof got);
        }
        spy_release_command_list(list);
    }
    spy_arg two[2] = { u->args[1][0], spy_arg_tensor(NULL, counts) };
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_struct("words", (spy_args){ two, 2 }), spy_arg_f32("before", 1), spy_arg_f32n("after", after, 3), spy_arg_tensor("values", u->values_tensor)));
    all.name = "v";
    OK(spy_call_with(fn(m, "counted"), SPY_ARGS(spy_arg_i32("k", 1), all), &o));
    OK(spy_tensor_read(counts, words, sizeof words));
    for (int i = 0; i < 4; i++) assert_int_equal(words[i], MANY / 4);
    free_unsized(u);
}

static void test_unsized_params(void **state) {
    (void)state;
    need_device();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "unsized_params", unsized_source));
    if (refuses_unsized(m)) return;
    unsized *u = make_unsized(m);
    const float v[3] = { 1, 2, 3 };
    int32_t index[MANY];
    float got[MANY];
    for (int i = 0; i < MANY; i++) index[i] = i;
    spy_arg all = spy_arg_array("i", index, SPY_SHAPE(MANY), SPY_DTYPE_INT32), out = spy_out_array("_result", got, SPY_SHAPE(MANY), SPY_DTYPE_FLOAT32);
    spy_tensor *to[UNSIZED / 2 + 1];
    spy_arg to_args[UNSIZED / 2 + 1];
    for (int k = 0; k <= UNSIZED / 2; k++) to_args[k] = spy_arg_tensor(NULL, to[k] = floats(SPY_SHAPE(MANY), NULL));
    uint64_t built = 0;
    int rounds = (int)test_count(30);
    for (int n = 0; n < rounds; n++) {
        size_t count = 1 + random_bits() % UNSIZED;
        int k = (int)(random_bits() % count);
        spy_arg b = spy_arg_struct("b", (spy_args){ u->args[0], count }), inner = spy_arg_struct("inner", (spy_args){ u->args[0], count });
        spy_arg which = spy_arg_i32("k", k), s = spy_arg_struct("s", SPY_ARGS(spy_arg_f32("scale", 7), inner));
        OK(spy_call(fn(m, "one_of"), SPY_ARGS(b, which, all, out)));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], u->open[k][i], 0);
        OK(spy_call(fn(m, "held"), SPY_ARGS(s, which, all, out)));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], u->open[k][i] + 7, 0);
        OK(spy_call(fn(m, "put"), SPY_ARGS(spy_arg_i32("k", k / 2), spy_arg_struct("to", (spy_args){ to_args, UNSIZED / 2 }), spy_arg_tensor("last", u->t[2][k]), all)));
        OK(spy_tensor_read(to[k / 2], got, sizeof got));
        assert_memory_equal(got, u->inner[k], sizeof got);
        OK(spy_dispatch(fn(m, "plain"), sixty_four, SPY_ARGS(b, which, spy_arg_tensor("to", to[0])), NULL));
        OK(spy_tensor_read(to[0], got, sizeof got));
        assert_memory_equal(got, u->open[k], sizeof got);
        spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("before", 1), spy_arg_tensor("values", u->values_tensor)));
        OK(spy_dispatch(fn(m, "shader"), sixty_four, SPY_ARGS(spy_arg_f32("add", 10), b, which, spy_arg_bool("twice", n % 2), spy_arg_struct("to", (spy_args){ to_args, (size_t)k / 2 + 1 }),
                                                              spy_arg_tensor("x", u->t[2][0]), spy_arg_f32n("v", v, 3)), &o));
        OK(spy_tensor_read(to[k / 2], got, sizeof got));
        for (int i = 0; i < MANY; i++) assert_float_equal(got[i], u->open[k][i] * (float)(1 + n % 2) + 10 + u->inner[0][i] + 3, 0);
        if (n == 0) built = spy_get_device_stats(gpu_device).kernels_built;
    }
    assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built);
    free_unsized(u);
}

static void test_bad_unsized(void **state) {
    (void)state;
    need_device();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "bad_unsized",
                                                "StructuredBuffer<float> open[];\n"
                                                "Texture2D pictures[];\n"
                                                "float opened(int i) { return open[1][i]; }\n"
                                                "float pictured(int i) { return pictures[1].Load(int3(i, 0, 0)).x; }\n"
                                                "float one_of(StructuredBuffer<float> b[], int i) { return b[0][i]; }\n"));
    float data[24] = { 1 }, r = 0;
    spy_arg i = spy_arg_i32("i", 0), out = spy_out_f32("_result", &r);
    spy_call_options o = globals_of(SPY_NO_ARGS);
    FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "pictured"), SPY_ARGS(i, out), &o), "'pictures'", "cannot be given");
    if (!gpu_is_cuda()) return; // test_unsized_params has the refusals
    spy_tensor *x = floats(SPY_SHAPE(24), data), *ints = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), data)), *none = floats(SPY_SHAPE(0), NULL);
    spy_tensor *rows = floats(SPY_SHAPE(4, 6), data), *column = MADE(spy_tensor, spy_create_slice(rows, 1, 0, 4, 2));
    spy_arg one = spy_arg_tensor(NULL, x);
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(fn(m, "opened"), SPY_ARGS(i, out), &o), "'open'", "not given");
#define OPEN(...) (o = globals_of(SPY_ARGS(__VA_ARGS__)), spy_call_with(fn(m, "opened"), SPY_ARGS(i, out), &o))
#define LIST(name, ...) spy_arg_struct(name, SPY_ARGS(__VA_ARGS__))
#define ONE(b) spy_call(fn(m, "one_of"), SPY_ARGS(b, i, out))
    FAILS(SPY_ERROR_TYPE_MISMATCH, OPEN(LIST("open", one, spy_arg_tensor(NULL, ints))), "'open[1]'", "StructuredBuffer<float>", "int");
    FAILS(SPY_ERROR_TYPE_MISMATCH, OPEN(spy_arg_tensor("open", x)), "'open'", "a struct of tensors");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, OPEN(LIST("open", one, spy_arg_tensor(NULL, NULL))), "expected a tensor, got NULL");
    FAILS(SPY_ERROR_OUT_OF_RANGE, OPEN(LIST("open", one, spy_arg_tensor(NULL, none))), "'open[1]'", "at least one element");
    FAILS(SPY_ERROR_OUT_OF_RANGE, OPEN(LIST("open", spy_arg_tensor(NULL, column), one)), "'open[0]'", "next to each other");
    FAILS(SPY_ERROR_OUT_OF_RANGE, OPEN(LIST("open", one, one), spy_arg_tensor("open[5]", x)), "'open[5]'", "2 elements");
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(LIST("b", one, spy_arg_f32(NULL, 1))), "'b[1]'", "number");
    FAILS(SPY_ERROR_TYPE_MISMATCH, ONE(spy_arg_array("b", data, SPY_SHAPE(24), SPY_DTYPE_FLOAT32)), "'b'", "a struct of tensors");
    spy_device_desc d = gpu_desc();
    spy_device *other = gpu_open(&d);
    if (other) {
        spy_tensor *foreign = gpu_tensor(other, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), data);
        FAILS(SPY_ERROR_INVALID_ARGUMENT, ONE(LIST("b", one, spy_arg_tensor(NULL, foreign))), "another device");
        spy_release_device(other);
    }
    OK(ONE(LIST("b", one))); // the device works on as before
    assert_float_equal(r, 1, 0);
#undef OPEN
#undef LIST
#undef ONE
}

// >>order

static const char order_source[] =
    "RWBuffer<int> cells;\n"
    "RWStructuredBuffer<int> pair[2];\n"
    "void put(int i, int v) { cells[i] = v; }\n"
    "int get(int i) { return cells[63 - i]; }\n"
    "int seen(Buffer<int> b, int i) { return b[i]; }\n"
    "void swap(int i) { int v = pair[0][i]; pair[0][i] = pair[1][63 - i]; pair[1][63 - i] = v; }\n"
    "int echo(int v) { return v; }\n"
    "void add(RWBuffer<int> b, int i) { b[i] = b[i] + 1; }\n";

// Each call needs what those before it have written, by typed buffers, arrays and element by element; nothing waits between.
static void test_hazards(void **state) {
    (void)state;
    need_texels();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "order", order_source));
    int32_t index[64], a_want[64], b_want[64], got[64];
    for (int i = 0; i < 64; i++) index[i] = a_want[i] = i, b_want[i] = (int32_t)random_bits();
    spy_tensor *i64 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), index));
    spy_tensor *a =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), index));
    spy_tensor *b =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), b_want));
    spy_tensor *c =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), NULL));
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_tensor("cells", a), spy_arg_tensor("pair[0]", a), spy_arg_tensor("pair[1]", b)));
    spy_arg i = spy_arg_tensor("i", i64);
    for (int round = 0; round < 60; round++) {
        OK(spy_call_with(fn(m, "get"), SPY_ARGS(i, spy_arg_tensor("_result", c)), &o)); // a is turned round
        OK(spy_call_with(fn(m, "put"), SPY_ARGS(i, spy_arg_tensor("v", c)), &o));
        OK(spy_call_with(fn(m, "swap"), SPY_ARGS(i), &o)); // a[i] and b[63 - i] change places
        OK(spy_call(fn(m, "seen"), SPY_ARGS(spy_arg_tensor("b", b), i, spy_arg_tensor("_result", c))));
        OK(spy_call(fn(m, "echo"), SPY_ARGS(spy_arg_tensor("v", c), spy_arg_tensor("_result", b))));
        OK(spy_call(fn(m, "add"), SPY_ARGS(spy_arg_tensor("b", b), i)));
        int32_t turned[64];
        for (int k = 0; k < 64; k++) turned[k] = a_want[63 - k];
        for (int k = 0; k < 64; k++) a_want[k] = b_want[63 - k];
        for (int k = 0; k < 64; k++) b_want[63 - k] = turned[k];
        for (int k = 0; k < 64; k++) b_want[k] = (int32_t)((uint32_t)b_want[k] + 1);
    }
    OK(spy_tensor_read(a, got, sizeof got));
    assert_memory_equal(got, a_want, sizeof got);
    OK(spy_tensor_read(b, got, sizeof got));
    assert_memory_equal(got, b_want, sizeof got);
}

// More than a batch of them, with other tensors each time, directly and from a list.
static void test_many(void **state) {
    (void)state;
    need_texels();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "many", order_source));
    spy_function *add = fn(m, "add");
    int32_t index[64], zeros[64] = { 0 }, got[64];
    for (int i = 0; i < 64; i++) index[i] = i;
    spy_tensor *i64 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), index));
    spy_tensor *cells[4];
    spy_arg i = spy_arg_tensor("i", i64);
    for (int k = 0; k < 4; k++) cells[k] = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), zeros));
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.append_to = list;
    for (int k = 0; k < 40; k++) OK(spy_call_with(add, SPY_ARGS(spy_arg_tensor("b", cells[k % 4]), i), &o));
    OK(spy_list_finish(list));
    int rounds = (int)test_count(10000);
    for (int n = 0; n < rounds; n++) {
        OK(spy_call(add, SPY_ARGS(spy_arg_tensor("b", cells[n % 4]), i)));
        if (n % 100 == 0) OK(spy_list_submit(list));
        if (n % 7) continue;
        spy_release_tensor(MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(1 + n), NULL)));
    }
    for (int k = 0; k < 4; k++) {
        OK(spy_tensor_read(cells[k], got, sizeof got));
        int want = (rounds + 3 - k) / 4 + (rounds + 99) / 100 * 10;
        for (int e = 0; e < 64; e++) assert_int_equal(got[e], want);
    }
    spy_release_command_list(list);
}

// >>bad input

static void test_bad_typed(void **state) {
    (void)state;
    need_texels();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "bad_typed",
                                                "Buffer<float4> quads;\n"
                                                "[format(\"rgba8\")] RWBuffer<float4> bytes;\n"
                                                "RWBuffer<float> sums;\nRWBuffer<uint4> fours;\n"
                                                "void add(int i) { InterlockedAdd(sums[i], 1.0f); }\n"
                                                "void add4(int i) { InterlockedAdd(fours[i].y, 1u); }\n"
                                                "float4 other_format(int i) { return bytes[i]; }\n"
                                                "float of_quads(int i) { return quads[i].x; }\n"
                                                "float pick(Buffer<float> b, int i) { return b[i]; }\n"
                                                "float4 pick4(Buffer<float4> b, int i) { return b[i]; }\n"
                                                "void put3(RWBuffer<float3> b, int i) { b[i] = float3(i); }\n"
                                                "void put64(RWBuffer<uint64_t> b, int i) { b[i] = i; }\n"
                                                "[shader(\"compute\")] [numthreads(1, 1, 1)]\n"
                                                "void shader3(uniform RWBuffer<float3> b) { b[0] = b[1]; }\n"
                                                "void ordered(RasterizerOrderedBuffer<float> b, int i) { b[i] = i; }\n"));
    float data[24] = { 0 }, r;
    spy_arg i = spy_arg_i32("i", 0);
    spy_tensor *x = floats(SPY_SHAPE(4, 6), data), *ints = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_tensor *longs =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT64, NULL, NULL, SPY_SHAPE(4), data));
    spy_tensor *column = MADE(spy_tensor, spy_create_slice(x, 1, 0, 4, 2));
    spy_tensor *flat = floats(SPY_SHAPE(24), data), *shifted = MADE(spy_tensor, spy_create_slice(flat, 0, 1, 24, 1));
    spy_tensor *none = floats(SPY_SHAPE(0), NULL), *threes = floats(SPY_SHAPE(8, 3), data), *fours = floats(SPY_SHAPE(6, 4), data);
    spy_function *pick = fn(m, "pick");
    const char *device = spy_get_device_info(gpu_device).name;
#define PICK(t) spy_call(pick, SPY_ARGS(spy_arg_tensor("b", t), i))
    FAILS(SPY_ERROR_TYPE_MISMATCH, PICK(ints), "'b'", "expected Buffer<float>", "int");
    FAILS(SPY_ERROR_OUT_OF_RANGE, PICK(column), "'b'", "next to each other");
    FAILS(SPY_ERROR_OUT_OF_RANGE, PICK(none), "'b'", "at least one element");
    if (strstr(device, "llvmpipe")) FAILS(SPY_ERROR_OUT_OF_RANGE, PICK(shifted), "'b'", "Buffer<float> must begin at a multiple of");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(pick, SPY_ARGS(spy_arg_f32("b", 1), i)), "'b'", "it takes a tensor");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn(m, "pick4"), SPY_ARGS(spy_arg_tensor("b", x), i)), "'b'", "dimension 1 must be 4");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn(m, "put64"), SPY_ARGS(spy_arg_tensor("b", longs), i)), "'b'", device, "uint64_t", "StructuredBuffer");
    if (spy_call(fn(m, "put3"), SPY_ARGS(spy_arg_tensor("b", threes), i)) != SPY_OK)
        ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "'b'", device, "float3", "RWStructuredBuffer");
    if (spy_dispatch(fn(m, "shader3"), (spy_uint3){ 1, 1, 1 }, SPY_ARGS(spy_arg_tensor("b", threes)), NULL) != SPY_OK)
        ERROR_ON(gpu_device, SPY_ERROR_OUT_OF_RANGE, "'b'", device, "float3", "RWStructuredBuffer");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn(m, "ordered"), SPY_ARGS(spy_arg_tensor("b", flat), i)), "'b'", "__ShapeBuffer");
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_tensor("quads", ints)));
    spy_arg out = spy_out_f32("_result", &r);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_with(fn(m, "of_quads"), SPY_ARGS(i, out), &o), "'quads'", "Buffer<float4>");
    o = globals_of(SPY_NO_ARGS);
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(fn(m, "of_quads"), SPY_ARGS(i, out), &o), "'quads'", "not given");
    o = globals_of(SPY_ARGS(spy_arg_tensor("bytes", fours)));
    FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "other_format"), SPY_ARGS(i), &o), "'bytes'", "[format]", "float4");
    FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "add"), SPY_ARGS(i), &o), "'sums'", "atomic", "RWStructuredBuffer");
    FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "add4"), SPY_ARGS(i), &o), "'fours'", "atomic");
    o = globals_of(SPY_ARGS(spy_arg_tensor("quads", fours)));
    OK(spy_call_with(fn(m, "of_quads"), SPY_ARGS(i, out), &o)); // the device works on as before
    assert_float_equal(r, 0, 0);
}

static void test_bad_arrays(void **state) {
    (void)state;
    need_device();
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "bad_arrays",
                                                "struct Pair { StructuredBuffer<float> b; float x; }\n"
                                                "StructuredBuffer<float> tables[3];\n"
                                                "StructuredBuffer<float> square[2][2];\n"
                                                "StructuredBuffer<float> many[100];\n"
                                                "Texture2D pictures[2];\n"
                                                "Pair pairs[2];\n"
                                                "float looked_up(int k, int i) { return tables[k][i]; }\n"
                                                "float squared(int i) { return square[0][1][i]; }\n"
                                                "float many_of(int i) { return many[1][i]; }\n"
                                                "float pictured(int i) { return pictures[1].Load(int3(i, 0, 0)).x; }\n"
                                                "float paired(int i) { return pairs[1].b[i]; }\n"
                                                "float one_of(StructuredBuffer<float> b[3], int k, int i) { return b[k][i]; }\n"));
    float data[24] = { 0 }, r;
    spy_tensor *x = floats(SPY_SHAPE(24), data), *ints = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_arg i = spy_arg_i32("i", 0), k = spy_arg_i32("k", 0), out = spy_out_f32("_result", &r), one = spy_arg_tensor(NULL, x);
    spy_arg wrong = spy_arg_tensor(NULL, ints);
    spy_function *param = fn(m, "one_of"), *looked_up = fn(m, "looked_up");
#define PARAM(...) spy_call(param, SPY_ARGS(spy_arg_struct("b", SPY_ARGS(__VA_ARGS__)), k, i, out))
    FAILS(SPY_ERROR_NOT_FOUND, PARAM(one, one), "'b'", "field '[2]'", "missing");
    FAILS(SPY_ERROR_TYPE_MISMATCH, PARAM(one, one, one, one), "'b'", "3 fields, got 4");
    FAILS(SPY_ERROR_TYPE_MISMATCH, PARAM(one, wrong, one), "'b[1]'", "StructuredBuffer<float>", "int");
    FAILS(SPY_ERROR_NOT_FOUND, PARAM(one, one, spy_arg_tensor("[3]", x)), "'b'", "no field '[3]'");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(param, SPY_ARGS(spy_arg_tensor("b", x), k, i, out)), "'b'", "[3]", "a struct of tensors");
    OK(PARAM(one, one, one));
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_tensor("tables[0]", x), spy_arg_tensor("tables[2]", x)));
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(looked_up, SPY_ARGS(k, i, out), &o), "'tables[1]'", "not given");
    o = globals_of(SPY_ARGS(spy_arg_tensor("tables[3]", x)));
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(looked_up, SPY_ARGS(k, i, out), &o), "'tables[3]'", "'tables[2]'");
    o = globals_of(SPY_ARGS(spy_arg_tensor("tables[1]", ints)));
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_with(looked_up, SPY_ARGS(k, i, out), &o), "'tables[1]'", "StructuredBuffer<float>");
    o = globals_of(SPY_ARGS(spy_arg_tensor("tables", x)));
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_with(looked_up, SPY_ARGS(k, i, out), &o), "'tables'");
    static const char *const refused[][2] = {
        { "squared", "'square'" }, { "many_of", "'many'" }, { "paired", "'pairs'" },
    };
    o = globals_of(SPY_NO_ARGS);
    for (size_t n = 0; n < sizeof refused / sizeof *refused; n++)
        FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, refused[n][0]), SPY_ARGS(i, out), &o), refused[n][1], "cannot be given");
    if (!gpu_has_textures())
        FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(m, "pictured"), SPY_ARGS(i, out), &o), "'pictures[0]'", "cannot be given");
    else
        FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(fn(m, "pictured"), SPY_ARGS(i, out), &o), "'pictures[1]'", "not given");
}

// >>validity

static void test_spirv(void **state) {
    (void)state;
    need_texels();
    gpu_check_spirv(gpu_dump_folder(), 50);
}

static int open_device(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    d.dump_directory = gpu_dump_folder();
    if (getenv("SPY_TEST_SEED")) random_state = strtoull(getenv("SPY_TEST_SEED"), NULL, 10);
    gpu_device = gpu_open(&d);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_typed),
        cmocka_unit_test(test_array_globals),
        cmocka_unit_test(test_array_params),
        cmocka_unit_test(test_unsized_globals),
        cmocka_unit_test(test_unsized_params),
        cmocka_unit_test(test_bad_unsized),
        cmocka_unit_test(test_hazards),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_bad_typed),
        cmocka_unit_test(test_bad_arrays),
        cmocka_unit_test(test_spirv),
    };
    return cmocka_run_group_tests_name("buffers", tests, open_device, gpu_teardown_dumped);
}
