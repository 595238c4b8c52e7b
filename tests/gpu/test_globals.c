// Shader parameters on the GPU: buffers and constant buffers as parameters of functions, and global ones by name and path,
// with values computed in C.
#include "gpu_test.h"

spy_device *gpu_device;
static int compiles; // kernels that the compiler was asked for

static void on_step(const char *step, bool finished, void *user) {
    (void)user;
    if (!finished && strncmp(step, "compile ", 8) == 0) compiles++;
}

static spy_function *fn(spy_module *module, const char *name) {
    return MADE(spy_function, spy_find_function(module, name));
}

static spy_call_options globals_of(spy_args globals) {
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.globals = globals;
    return o;
}

// float f(...) with one int parameter "i", run over 0 ... n-1 into `out`.
static void run_over(spy_function *f, const spy_call_options *o, int n, float *out) {
    int32_t index[64];
    for (int i = 0; i < n; i++) index[i] = i;
    OK(spy_call_with(f, SPY_ARGS(spy_arg_array("i", index, SPY_SHAPE(n), SPY_DTYPE_INT32), spy_out_array("_result", out, SPY_SHAPE(n), SPY_DTYPE_FLOAT32)),
                     o));
}

// >>parameters

static const char buffers_source[] =
    "struct Pair { float a; int3 b; }\n"
    "float pick(StructuredBuffer<float> table, int i) { return table[i]; }\n"
    "float3 pick3(StructuredBuffer<float3> table, int i) { return table[i]; }\n"
    "int pair(StructuredBuffer<Pair> table, int i) { return table[i].b.y + int(table[i].a); }\n"
    "void put(RWStructuredBuffer<float> table, int i, float v) { table[i] = v; }\n"
    "void count(RWStructuredBuffer<uint> bins, int v) { InterlockedAdd(bins[v % 4], 1u); }\n"
    "uint bytes(ByteAddressBuffer b, int i) { return b.Load(4 * i); }\n"
    "void store(RWByteAddressBuffer b, int i) { b.Store(4 * i, uint(i * i)); }\n"
    "int size(StructuredBuffer<float> table) { uint n, stride; table.GetDimensions(n, stride); return int(n); }\n"
    "T any<T>(StructuredBuffer<T> table, int i) { return table[i]; }\n"
    "float both(StructuredBuffer<float> x, StructuredBuffer<float> y, int i, float z) { return x[i] * y[i] + z; }\n";

static void test_buffers(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "buffers", buffers_source));
    float data[12], got[12];
    int32_t index[4] = { 3, 0, 2, 1 }, got_int[4];
    for (int i = 0; i < 12; i++) data[i] = (float)i * 1.5f - 3;
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(12), data));
    spy_tensor *x3 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4, 3), data));
    spy_tensor *v3 = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "float3", NULL, SPY_SHAPE(4), data));
    spy_arg i4 = spy_arg_array("i", index, SPY_SHAPE(4), SPY_DTYPE_INT32);
    OK(spy_call(fn(m, "pick"), SPY_ARGS(spy_arg_tensor("table", x), i4, spy_out_array("_result", got, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 4; i++) assert_float_equal(got[i], data[index[i]], 0);
    spy_tensor *threes[] = { x3, v3 };
    for (int t = 0; t < 2; t++) {
        memset(got, 0, sizeof got);
        OK(spy_call(fn(m, "pick3"), SPY_ARGS(spy_arg_tensor("table", threes[t]), i4, spy_out_array("_result", got, SPY_SHAPE(4, 3), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < 12; i++) assert_float_equal(got[i], data[index[i / 3] * 3 + i % 3], 0);
    }
    OK(spy_call(fn(m, "any"), SPY_ARGS(spy_arg_tensor("table", x), i4, spy_out_array("_result", got, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 4; i++) assert_float_equal(got[i], data[index[i]], 0);
    struct pair {
        float a;
        int32_t b[3];
    } pairs[4];
    for (int i = 0; i < 4; i++) pairs[i] = (struct pair){ (float)(10 * i), { i, 2 * i, 3 * i } };
    spy_tensor *p = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "Pair", m, SPY_SHAPE(4), pairs));
    OK(spy_call(fn(m, "pair"), SPY_ARGS(spy_arg_tensor("table", p), i4, spy_out_array("_result", got_int, SPY_SHAPE(4), SPY_DTYPE_INT32))));
    for (int i = 0; i < 4; i++) assert_int_equal(got_int[i], 12 * index[i]);
    int32_t n = 0;
    OK(spy_call(fn(m, "size"), SPY_ARGS(spy_arg_tensor("table", x), spy_out_i32("_result", &n))));
    assert_int_equal(n, 12);
    // Both kinds of bindings, and a view that begins elsewhere.
    spy_tensor *part = MADE(spy_tensor, spy_create_slice(x, 0, 0, 4, 1));
    OK(spy_call(fn(m, "both"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", part), i4, spy_arg_tensor("z", part),
                                        spy_out_array("_result", got, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 4; i++) assert_float_equal(got[i], data[index[i]] * data[index[i]] + data[i], 0);
}

static void test_written_buffers(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "written", buffers_source));
    float zeros[8] = { 0 }, got[8];
    uint32_t bins[4] = { 0 }, words[8];
    int32_t index[8], values[1000];
    for (int i = 0; i < 8; i++) index[i] = 7 - i;
    for (int i = 0; i < 1000; i++) values[i] = i;
    spy_tensor *table = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), zeros));
    spy_tensor *b =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(4), bins));
    spy_tensor *v =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(1000), values));
    spy_tensor *raw =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(8), zeros));
    spy_arg i8 = spy_arg_array("i", index, SPY_SHAPE(8), SPY_DTYPE_INT32);
    float last[8];
    for (int round = 0; round < 50; round++) { // each reads what the one before has written
        for (int i = 0; i < 8; i++) last[i] = (float)(round * 8 + index[i]);
        OK(spy_call(fn(m, "put"), SPY_ARGS(spy_arg_tensor("table", table), i8, spy_arg_array("v", last, SPY_SHAPE(8), SPY_DTYPE_FLOAT32))));
        OK(spy_call(fn(m, "pick"), SPY_ARGS(spy_arg_tensor("table", table), i8, spy_out_array("_result", got, SPY_SHAPE(8), SPY_DTYPE_FLOAT32))));
        for (int i = 0; i < 8; i++) assert_float_equal(got[i], last[i], 0);
        OK(spy_call(fn(m, "count"), SPY_ARGS(spy_arg_tensor("bins", b), spy_arg_tensor("v", v))));
    }
    OK(spy_tensor_read(b, bins, sizeof bins));
    for (int i = 0; i < 4; i++) assert_int_equal(bins[i], 50 * 250);
    OK(spy_call(fn(m, "store"), SPY_ARGS(spy_arg_tensor("b", raw), i8)));
    OK(spy_call(fn(m, "bytes"), SPY_ARGS(spy_arg_tensor("b", raw), i8, spy_out_array("_result", words, SPY_SHAPE(8), SPY_DTYPE_UINT32))));
    for (int i = 0; i < 8; i++) assert_int_equal(words[i], index[i] * index[i]);
}

static void test_bad_buffers(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "bad_buffers", buffers_source));
    float data[24] = { 0 };
    spy_arg i = spy_arg_i32("i", 0);
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4, 6), data));
    spy_tensor *ints =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_tensor *column = MADE(spy_tensor, spy_create_slice(x, 1, 0, 4, 2));
    spy_tensor *shifted = MADE(spy_tensor, spy_create_slice(x, 0, 1, 2, 1));
    spy_tensor *none =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(0), NULL));
    spy_function *pick = fn(m, "pick");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(pick, SPY_ARGS(spy_arg_tensor("table", ints), i)), "'table'", "StructuredBuffer<float", "int");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn(m, "pick3"), SPY_ARGS(spy_arg_tensor("table", x), i)), "'table'", "dimension 1 must be 3");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(pick, SPY_ARGS(spy_arg_tensor("table", column), i)), "'table'", "next to each other");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(pick, SPY_ARGS(spy_arg_tensor("table", shifted), i)), "'table'", "multiple of");
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(pick, SPY_ARGS(spy_arg_tensor("table", none), i)), "'table'", "at least one element");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(pick, SPY_ARGS(spy_arg_f32("table", 1), i)), "'table'");
}

// ConstantBuffer<T> and ParameterBlock<T> parameters: given whole or by fields, beside other parameters and each other.
static void test_constant_buffers(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "holders",
                                                "struct Part { float a; bool on; float2 v; }\n"
                                                "struct Rows { Part part; StructuredBuffer<float> table; int shift; }\n"
                                                "float one(ConstantBuffer<Part> p, int i) { return p.on ? p.a * i + p.v.y : -1; }\n"
                                                "float two(ConstantBuffer<Part> p, int i, ParameterBlock<Part> q) { return p.a * i + q.v.x; }\n"
                                                "float rows(ParameterBlock<Rows> r, int i, StructuredBuffer<float> s)\n"
                                                "{ return r.table[i + r.shift] + r.part.a + s[i]; }\n"
                                                "float four(ConstantBuffer<float4> v, int i) { return v[i]; }\n"));
    struct part {
        float a;
        bool on;
        float v[2];
    } part = { 3, true, { 4, 5 } };
    float got[4], v[2] = { 7, 8 }, table[8], quad[4] = { 4, 5, 6, 7 };
    int32_t index[4] = { 0, 1, 2, 3 };
    for (int i = 0; i < 8; i++) table[i] = (float)(10 * i);
    spy_tensor *t =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), table));
    spy_arg i4 = spy_arg_array("i", index, SPY_SHAPE(4), SPY_DTYPE_INT32), result = spy_out_array("_result", got, SPY_SHAPE(4), SPY_DTYPE_FLOAT32);
    for (int round = 0; round < 3; round++) {
        part.a = 3 + (float)round;
        OK(spy_call(fn(m, "one"), SPY_ARGS(spy_arg_data("p", &part, sizeof part), i4, result)));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], part.a * (float)i + 5, 0);
        spy_arg fields = spy_arg_struct("p", SPY_ARGS(spy_arg_f32("a", part.a), spy_arg_bool("on", round != 1), spy_arg_f32n("v", v, 2)));
        OK(spy_call(fn(m, "one"), SPY_ARGS(fields, i4, result)));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], (round != 1 ? part.a * (float)i + 8 : -1), 0);
        OK(spy_call(fn(m, "two"), SPY_ARGS(fields, i4, spy_arg_data("q", &part, sizeof part), result)));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], part.a * (float)i + 4, 0);
        fields.name = "part";
        spy_arg rows = spy_arg_struct("r", SPY_ARGS(spy_arg_i32("shift", round), fields, spy_arg_tensor("table", t)));
        OK(spy_call(fn(m, "rows"), SPY_ARGS(rows, i4, spy_arg_tensor("s", t), result)));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], table[i + round] + part.a + table[i], 0);
        quad[2] = (float)round;
        if (gpu_is_cuda()) { // libslang would crash
            FAILS(SPY_ERROR_COMPILE, spy_call(fn(m, "four"), SPY_ARGS(spy_arg_f32n("v", quad, 4), i4, result)), "'v'", "struct");
            continue;
        }
        OK(spy_call(fn(m, "four"), SPY_ARGS(spy_arg_f32n("v", quad, 4), i4, result)));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], quad[i], 0);
    }
    spy_function *one = fn(m, "one");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(one, SPY_ARGS(spy_arg_data("p", &part, 3), i4, result)), "'p'", "Part has 16 bytes", "got 3");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(one, SPY_ARGS(spy_arg_tensor("p", t), i4, result)), "'p'");
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(one, SPY_ARGS(spy_arg_struct("p", SPY_ARGS(spy_arg_f32("a", 1))), i4, result)), "'p'", "'on'", "missing");
    if (!gpu_is_cuda())
        FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(fn(m, "four"), SPY_ARGS(spy_arg_f32n("v", quad, 3), i4, result)), "'v'", "must be 4");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(one, SPY_ARGS(spy_inout_data("p", &part, sizeof part), i4, result)), "'p'", "in parameter");
}

// >>globals

static const char globals_source[] =
    "struct Light { float3 color; float power; bool on; }\n"
    "struct Params { Light light; float4x4 m; StructuredBuffer<float> items; float tail; int list[3]; }\n"
    "struct Plain { float a; float3 b; uint8_t c; double d; float16_t h; }\n"
    "struct Mixed { float scale; RWStructuredBuffer<float> seen; }\n"
    "uniform float gain;\n"
    "uniform float3 dir;\n"
    "uniform int unread;\n"
    "uniform Light lights[3];\n"
    "uniform Mixed mixed;\n"
    "uniform float *address;\n"
    "ConstantBuffer<Plain> plain;\n"
    "ParameterBlock<Params> params;\n"
    "StructuredBuffer<float> table;\n"
    "RWStructuredBuffer<uint> bins;\n"
    "ByteAddressBuffer raw;\n"
    "Texture2D image;\n"
    "float scaled(int i) { return gain * i; }\n"
    "float along(int i) { return dir[i]; }\n"
    "float lit(int i) { Light l = lights[i]; return l.on ? l.color.x + l.color.z * l.power : -1; }\n"
    "float of_plain(int i) { return i == 0 ? plain.a : i == 1 ? plain.b.z : i == 2 ? float(plain.c) : i == 3 ? float(plain.d) : float(plain.h); }\n"
    "float of_params(int i)\n"
    "{\n"
    "    if (i < 3) return params.light.color[i];\n"
    "    if (i == 3) return params.light.power;\n"
    "    if (i == 4) return params.light.on ? 1 : 0;\n"
    "    if (i < 21) return params.m[(i - 5) / 4][(i - 5) % 4];\n"
    "    if (i == 21) return params.tail;\n"
    "    if (i < 25) return params.list[i - 22];\n"
    "    return params.items[i - 25];\n"
    "}\n"
    "float looked_up(int i) { return table[i]; }\n"
    "uint binned(int i) { uint before; InterlockedAdd(bins[i % 4], 1u, before); return before; }\n"
    "float see(int i) { mixed.seen[i] = mixed.scale * i; return gain; }\n"
    "uint word(int i) { return raw.Load(4 * i); }\n"
    "float pointed(int i) { return address[i]; }\n"
    "float pictured(int i) { return image.Load(int3(i, 0, 0)).x; }\n";

static void test_loose_globals(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "loose", globals_source));
    float got[8], v[3] = { 1, -2, 5 };
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("gain", 2.5f), spy_arg_f32n("dir", v, 3), spy_arg_i32("unread", 7)));
    run_over(fn(m, "scaled"), &o, 5, got);
    for (int i = 0; i < 5; i++) assert_float_equal(got[i], 2.5f * (float)i, 0);
    run_over(fn(m, "along"), &o, 3, got);
    for (int i = 0; i < 3; i++) assert_float_equal(got[i], v[i], 0);
    // What a kernel does not use need not be given, and one number feeds a vector.
    o = globals_of(SPY_ARGS(spy_arg_f32("dir", 4)));
    run_over(fn(m, "along"), &o, 3, got);
    for (int i = 0; i < 3; i++) assert_float_equal(got[i], 4, 0);
    o = globals_of(SPY_ARGS(spy_arg_i32("dir[1]", 9), spy_arg_f32("dir[0]", 8), spy_arg_f64("dir[2]", 10)));
    run_over(fn(m, "along"), &o, 3, got);
    for (int i = 0; i < 3; i++) assert_float_equal(got[i], (float)(8 + i), 0);
}

typedef struct light {
    float color[3], power;
    bool on;
} light;

static void test_struct_globals(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "structs", globals_source));
    float got[32], red[3] = { 3, 4, 5 };
    light lights[3] = { { { 1, 2, 3 }, 4, true }, { { 5, 6, 7 }, 8, false }, { { 9, 10, 11 }, 12, true } };
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_data("lights", lights, sizeof lights)));
    run_over(fn(m, "lit"), &o, 3, got);
    for (int i = 0; i < 3; i++) {
        float want = lights[i].on ? lights[i].color[0] + lights[i].color[2] * lights[i].power : -1;
        assert_float_equal(got[i], want, 0);
    }
    // One by its bytes, one by its fields, one by paths; the last value of a place counts.
    o = globals_of(SPY_ARGS(spy_arg_data("lights", lights, sizeof lights), spy_arg_data("lights[0]", &lights[2], sizeof lights[2]),
                            spy_arg_struct("lights[1]", SPY_ARGS(spy_arg_f32n("color", red, 3), spy_arg_f32("power", 2), spy_arg_bool("on", true))),
                            spy_arg_f32("lights[2].power", 100)));
    run_over(fn(m, "lit"), &o, 3, got);
    assert_float_equal(got[0], 9 + 11 * 12, 0);
    assert_float_equal(got[1], 3 + 5 * 2, 0);
    assert_float_equal(got[2], 9 + 11 * 100, 0);

    struct plain {
        float a, b[3];
        uint8_t c;
        double d;
        uint16_t h;
    } plain = { 1.5f, { 2, 3, 4 }, 200, 0.25, 0x4200 };
    if (spy_get_device_info(gpu_device).features & SPY_FEATURE_FLOAT64) {
        o = globals_of(SPY_ARGS(spy_arg_data("plain", &plain, sizeof plain)));
        run_over(fn(m, "of_plain"), &o, 5, got);
        const float want[5] = { 1.5f, 4, 200, 0.25f, 3 };
        for (int i = 0; i < 5; i++) assert_float_equal(got[i], want[i], 0);
        o = globals_of(SPY_ARGS(spy_arg_struct("plain", SPY_ARGS(spy_arg_i32("d", 6), spy_arg_f32("a", -1), spy_arg_f32n("b", red, 3),
                                                                 spy_arg_i32("c", 255), spy_arg_f32("h", 0.5f)))));
        run_over(fn(m, "of_plain"), &o, 5, got);
        const float next[5] = { -1, 5, 255, 6, 0.5f };
        for (int i = 0; i < 5; i++) assert_float_equal(got[i], next[i], 0);
    }
    float quad[4] = { 4, 3, 2, 1 };
    o = globals_of(SPY_ARGS(spy_arg_f32n("four", quad, 4)));
    spy_module *vectors = MADE(spy_module, gpu_module(gpu_device, "vectors", "ConstantBuffer<float4> four;\nfloat of_four(int i) { return four[i]; }\n"));
    if (gpu_is_cuda()) { // libslang would crash
        int32_t one = 1;
        FAILS(SPY_ERROR_COMPILE, spy_call_with(fn(vectors, "of_four"), SPY_ARGS(spy_arg_i32("i", one), spy_out_f32("_result", got)), &o),
              "'four'", "struct");
    } else {
        run_over(fn(vectors, "of_four"), &o, 4, got);
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], quad[i], 0);
    }
}

static void test_parameter_block(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "block", globals_source));
    float items[5], matrix[16], red[3] = { 3, 4, 5 }, got[30];
    int32_t list[3] = { 7, 8, 9 };
    for (int i = 0; i < 5; i++) items[i] = 100 + (float)i;
    for (int i = 0; i < 16; i++) matrix[i] = 0.5f * (float)i;
    spy_tensor *t =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(5), items));
    spy_function *f = fn(m, "of_params");
    spy_arg color = spy_arg_f32n("color", red, 3), power = spy_arg_f32("power", 6), on = spy_arg_bool("on", true);
    spy_arg mat = spy_arg_array("m", matrix, SPY_SHAPE(4, 4), SPY_DTYPE_FLOAT32), ints = spy_arg_array("list", list, SPY_SHAPE(3), SPY_DTYPE_INT32);
    spy_arg by_path[] = { color, power, on, mat, ints, spy_arg_tensor("params.items", t), spy_arg_f32("params.tail", 77) };
    by_path[0].name = "params.light.color";
    by_path[1].name = "params.light.power";
    by_path[2].name = "params.light.on";
    by_path[3].name = "params.m";
    by_path[4].name = "params.list";
    spy_args path_list = { by_path, 7 };
    spy_call_options ways[2];
    ways[0] = globals_of(path_list);
    ways[1] = globals_of(SPY_ARGS(spy_arg_struct("params", SPY_ARGS(spy_arg_struct("light", SPY_ARGS(color, power, on)), mat, ints,
                                                                     spy_arg_tensor("items", t), spy_arg_f32("tail", 77)))));
    for (int w = 0; w < 2; w++) {
        memset(got, 0, sizeof got);
        run_over(f, &ways[w], 30, got);
        for (int i = 0; i < 3; i++) assert_float_equal(got[i], red[i], 0);
        assert_float_equal(got[3], 6, 0);
        assert_float_equal(got[4], 1, 0);
        for (int i = 0; i < 16; i++) assert_float_equal(got[5 + i], matrix[i], 0);
        assert_float_equal(got[21], 77, 0);
        for (int i = 0; i < 3; i++) assert_float_equal(got[22 + i], (float)list[i], 0);
        for (int i = 0; i < 5; i++) assert_float_equal(got[25 + i], items[i], 0);
    }
}

static void test_buffer_globals(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "buffer_globals", globals_source));
    float data[8], got[8], seen[8];
    uint32_t words[8] = { 0 }, bins[4] = { 0 };
    int32_t index[8];
    for (int i = 0; i < 8; i++) data[i] = (float)(i * i), index[i] = i;
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), data));
    spy_tensor *y =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), NULL));
    spy_tensor *b =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT32, NULL, NULL, SPY_SHAPE(4), bins));
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_tensor("table", x), spy_arg_tensor("raw", x), spy_arg_tensor("bins", b),
                                             spy_arg_tensor("mixed.seen", y), spy_arg_f32("mixed.scale", 3), spy_arg_f32("gain", 1),
                                             spy_arg_tensor("address", x)));
    run_over(fn(m, "looked_up"), &o, 8, got);
    for (int i = 0; i < 8; i++) assert_float_equal(got[i], data[i], 0);
    run_over(fn(m, "pointed"), &o, 8, got);
    for (int i = 0; i < 8; i++) assert_float_equal(got[i], data[i], 0);
    run_over(fn(m, "see"), &o, 8, got);
    OK(spy_tensor_read(y, seen, sizeof seen));
    for (int i = 0; i < 8; i++) assert_float_equal(seen[i], 3.0f * (float)i, 0);
    spy_arg i8 = spy_arg_array("i", index, SPY_SHAPE(8), SPY_DTYPE_INT32);
    OK(spy_call_with(fn(m, "word"), SPY_ARGS(i8, spy_out_array("_result", words, SPY_SHAPE(8), SPY_DTYPE_UINT32)), &o));
    assert_memory_equal(words, data, sizeof data);
    for (int round = 0; round < 100; round++) OK(spy_call_with(fn(m, "binned"), SPY_ARGS(i8), &o));
    OK(spy_tensor_read(b, bins, sizeof bins));
    for (int i = 0; i < 4; i++) assert_int_equal(bins[i], 200);
}

// A value that changes from call to call is no new kind of call, and each call sees its own.
static void test_changing_values(void **state) {
    (void)state;
    enum { N = 1000 };
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "changing", globals_source));
    spy_function *f = fn(m, "scaled");
    spy_tensor *out[N];
    int32_t index[4] = { 1, 2, 3, 4 };
    spy_tensor *i4 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), index));
    spy_device_stats before;
    for (int n = 0; n < N; n++) {
        spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("gain", (float)n)));
        if (n == 1) before = spy_get_device_stats(gpu_device);
        OK(spy_call_with(f, SPY_ARGS(spy_arg_tensor("i", i4), spy_out_tensor("_result", &out[n])), &o));
    }
    spy_device_stats after = spy_get_device_stats(gpu_device);
    assert_int_equal(after.plans_built, before.plans_built);
    assert_int_equal(after.kernels_built, before.kernels_built);
    assert_int_equal(after.barriers, before.barriers);
    for (int n = 0; n < N; n++) {
        float got[4];
        OK(spy_tensor_read(out[n], got, sizeof got));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], (float)n * (float)index[i], 0);
        spy_release_tensor(out[n]);
    }
}

// A tensor that calls write through a global, and others read as an argument or global: each sees what came before.
static void test_hazards(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "hazards",
                                                "RWStructuredBuffer<int> cells;\n"
                                                "void step(int i) { cells[i] = cells[(i + 1) % 64] + 1; }\n"
                                                "void put(int i, int v) { cells[i] = v; }\n"
                                                "int get(int i) { return cells[63 - i]; }\n"
                                                "int echo(int v) { return v; }\n"));
    int32_t index[64], want[64], got[64];
    for (int i = 0; i < 64; i++) index[i] = want[i] = i;
    spy_tensor *i64 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), index));
    spy_tensor *a =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), index));
    spy_tensor *b =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(64), NULL));
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_tensor("cells", a)));
    spy_function *put = fn(m, "put"), *get = fn(m, "get"), *echo = fn(m, "echo");
    for (int round = 0; round < 60; round++) {
        OK(spy_call_with(get, SPY_ARGS(spy_arg_tensor("i", i64), spy_arg_tensor("_result", b)), &o)); // reversed
        OK(spy_call_with(put, SPY_ARGS(spy_arg_tensor("i", i64), spy_arg_tensor("v", b)), &o));
        OK(spy_call(echo, SPY_ARGS(spy_arg_tensor("v", a), spy_arg_tensor("_result", b))));
        if (round % 2 == 0) OK(spy_call_with(put, SPY_ARGS(spy_arg_i32("i", round), spy_arg_i32("v", -round)), &o));
        for (int i = 0; i < 32; i++) {
            int32_t swap = want[i];
            want[i] = want[63 - i];
            want[63 - i] = swap;
        }
        if (round % 2 == 0) want[round] = -round;
    }
    OK(spy_tensor_read(a, got, sizeof got));
    assert_memory_equal(got, want, sizeof got);
}

// Memory of no type goes to buffers and pointers of any: its bytes are whole elements, and it is never run over.
static void test_memory(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "memory", buffers_source));
    spy_module *p = MADE(spy_module, gpu_module(gpu_device, "memory_pointers",
                                                "void put(int i, int *to) { to[i] = i * 3; }\n"
                                                "float twice(float x) { return 2 * x; }\n"
                                                "float texel(Buffer<float> b, int i) { return b[i]; }\n"
                                                "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
                                                "void only(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<int> to) { to[t.x] = int(t.x) - 7; }\n"
                                                "uint wide(uint8_t x) { return x; }\n"));
    float data[6] = { 1, 2.5f, -3, 4, 5, 6 }, got[6];
    int32_t index[3] = { 2, 0, 1 }, ints[6];
    spy_tensor *bytes = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "void", NULL, SPY_SHAPE(24), data));
    spy_tensor_info info = spy_get_tensor_info(bytes);
    assert_int_equal(info.dtype, SPY_DTYPE_UINT8);
    assert_string_equal(info.type, "void");
    assert_int_equal(info.host_size_bytes, 24);
    spy_arg i3 = spy_arg_array("i", index, SPY_SHAPE(3), SPY_DTYPE_INT32);
    OK(spy_call(fn(m, "pick"), SPY_ARGS(spy_arg_tensor("table", bytes), i3, spy_out_array("_result", got, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 3; i++) assert_float_equal(got[i], data[index[i]], 0);
    OK(spy_call(fn(m, "pick3"), SPY_ARGS(spy_arg_tensor("table", bytes), spy_arg_i32("i", 1), spy_out_array("_result", got, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))));
    for (int i = 0; i < 3; i++) assert_float_equal(got[i], data[3 + i], 0);
    int32_t n = 0;
    OK(spy_call(fn(m, "size"), SPY_ARGS(spy_arg_tensor("table", bytes), spy_out_i32("_result", &n))));
    assert_int_equal(n, 6);
    OK(spy_call(fn(p, "put"), SPY_ARGS(i3, spy_arg_tensor("to", bytes))));
    OK(spy_tensor_read(bytes, ints, sizeof ints));
    for (int i = 0; i < 3; i++) assert_int_equal(ints[i], i * 3);
    assert_memory_equal(ints + 3, data + 3, 12);
    spy_uint3 four = { 4, 1, 1 };
    OK(spy_dispatch(fn(p, "only"), four, SPY_ARGS(spy_arg_tensor("to", bytes)), NULL)); // a kernel without a parameter block
    OK(spy_tensor_read(bytes, ints, sizeof ints));
    for (int i = 0; i < 4; i++) assert_int_equal(ints[i], i - 7);
    spy_tensor *texels = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "void", NULL, SPY_SHAPE(24), data));
    float texel = 0;
    spy_args one = SPY_ARGS(spy_arg_tensor("b", texels), spy_arg_i32("i", 4), spy_out_f32("_result", &texel));
    if (gpu_is_cuda()) FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn(p, "texel"), one), "'b'", "for CUDA Slang has no code for typed buffers", "StructuredBuffer");
    else OK(spy_call(fn(p, "texel"), one));
    assert_float_equal(texel, (gpu_is_cuda() ? 0 : data[4]), 0);
    spy_release_tensor(texels);
    spy_tensor *odd = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "void", NULL, SPY_SHAPE(10), NULL));
    OK(spy_call(fn(m, "size"), SPY_ARGS(spy_arg_tensor("table", odd), spy_out_i32("_result", &n))));
    assert_int_equal(n, 2); // the bytes behind the last whole element are not used
    spy_tensor *less = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_DEFAULT, "void", NULL, SPY_SHAPE(3), NULL));
    FAILS(SPY_ERROR_OUT_OF_RANGE, spy_call(fn(m, "pick"), SPY_ARGS(spy_arg_tensor("table", less), i3, spy_out_array("_result", got, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))), "at least one element of 4 bytes, got 3 bytes");
    spy_release_tensor(less);
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn(p, "twice"), SPY_ARGS(spy_arg_tensor("x", bytes))), "void tensor (24,)");
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn(p, "wide"), SPY_ARGS(spy_arg_tensor("x", bytes))), "void tensor (24,)");
    uint8_t small[4] = { 0, 0, 0, 0 }; // plain bytes stay numbers
    spy_tensor *numbers = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_UINT8, NULL, NULL, SPY_SHAPE(4), small));
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(fn(m, "pick"), SPY_ARGS(spy_arg_tensor("table", numbers), i3, spy_out_array("_result", got, SPY_SHAPE(3), SPY_DTYPE_FLOAT32))), "uint8_t tensor");
    spy_release_tensor(bytes);
    spy_release_tensor(odd);
    spy_release_tensor(numbers);
    spy_release_module(m);
    spy_release_module(p);
}

// Compute shaders of the module's own take buffers, constant buffers and globals as functions do.
static void test_shaders(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "shaders",
                                                "struct Part { float a; int n; }\n"
                                                "struct Set { StructuredBuffer<float> from; float add; RWStructuredBuffer<float> to; }\n"
                                                "uniform float gain;\n"
                                                "StructuredBuffer<float> table;\n"
                                                "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
                                                "void scale(uint3 t : SV_DispatchThreadID, uniform StructuredBuffer<float> from, uniform float k,\n"
                                                "           uniform RWStructuredBuffer<float> to, uniform ConstantBuffer<Part> part)\n"
                                                "{ if (int(t.x) < part.n) to[t.x] = from[t.x] * k * gain + part.a; }\n"
                                                "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
                                                "void sets(uint3 t : SV_DispatchThreadID, uniform ParameterBlock<Set> set, uniform Set other, uniform int shift)\n"
                                                "{ set.to[t.x] = set.from[t.x] + set.add + table[t.x + shift] * gain + other.from[t.x] + other.add; }\n"
                                                "void plain(uint3 t : SV_DispatchThreadID, StructuredBuffer<float> from, RWStructuredBuffer<float> to, ConstantBuffer<Part> part)\n"
                                                "{ to[t.x] = from[t.x] + part.a * gain; }\n"));
    struct part {
        float a;
        int32_t n;
    } part = { 100, 7 };
    float data[8], zeros[8] = { 0 }, got[8];
    for (int i = 0; i < 8; i++) data[i] = (float)i;
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), data));
    spy_tensor *y =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), zeros));
    spy_tensor *z =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), zeros));
    spy_uint3 eight = { 8, 1, 1 }, four = { 4, 1, 1 };
    for (int round = 1; round < 4; round++) {
        float gain = (float)round;
        spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("gain", gain), spy_arg_tensor("table", x)));
        OK(spy_dispatch(fn(m, "scale"), eight, SPY_ARGS(spy_arg_tensor("from", x), spy_arg_f32("k", 2), spy_arg_tensor("to", y),
                                                         spy_arg_data("part", &part, sizeof part)), &o));
        OK(spy_tensor_read(y, got, sizeof got));
        for (int i = 0; i < 8; i++) assert_float_equal(got[i], (i < 7 ? data[i] * 2 * gain + 100 : 0), 0);
        spy_arg set = spy_arg_struct("set", SPY_ARGS(spy_arg_tensor("from", x), spy_arg_f32("add", 10), spy_arg_tensor("to", z)));
        spy_arg other = spy_arg_struct("other", SPY_ARGS(spy_arg_tensor("from", y), spy_arg_f32("add", 0.5f), spy_arg_tensor("to", z)));
        OK(spy_dispatch(fn(m, "sets"), four, SPY_ARGS(set, other, spy_arg_i32("shift", 1)), &o));
        OK(spy_tensor_read(z, got, sizeof got));
        for (int i = 0; i < 4; i++) assert_float_equal(got[i], data[i] + 10 + data[i + 1] * gain + data[i] * 2 * gain + 100 + 0.5f, 0);
        OK(spy_dispatch(fn(m, "plain"), eight, SPY_ARGS(spy_arg_tensor("from", x), spy_arg_tensor("to", z), spy_arg_data("part", &part, sizeof part)), &o));
        OK(spy_tensor_read(z, got, sizeof got));
        for (int i = 0; i < 8; i++) assert_float_equal(got[i], data[i] + 100 * gain, 0);
    }
    spy_call_options none = globals_of(SPY_NO_ARGS);
    FAILS(SPY_ERROR_NOT_FOUND, spy_dispatch(fn(m, "plain"), eight, SPY_ARGS(spy_arg_tensor("from", x), spy_arg_tensor("to", z),
                                                                            spy_arg_data("part", &part, sizeof part)), &none), "'gain'");
}

// A list keeps the values that its calls were recorded with, whatever the globals are later.
static void test_lists(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "listed", globals_source));
    float got[4], data[4] = { 5, 6, 7, 8 };
    int32_t index[4] = { 0, 1, 2, 3 };
    spy_tensor *i4 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), index));
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_tensor *out[20];
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    for (int n = 0; n < 20; n++) {
        out[n] = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), NULL));
        spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("gain", (float)n), spy_arg_tensor("table", x)));
        o.append_to = list;
        OK(spy_call_with(fn(m, n % 2 ? "scaled" : "looked_up"), SPY_ARGS(spy_arg_tensor("i", i4), spy_arg_tensor("_result", out[n])), &o));
    }
    OK(spy_list_finish(list));
    for (int round = 0; round < 3; round++) {
        for (int n = 0; n < 20; n++) OK(spy_tensor_fill(out[n], -1));
        OK(spy_list_submit(list));
        for (int n = 0; n < 20; n++) {
            OK(spy_tensor_read(out[n], got, sizeof got));
            for (int i = 0; i < 4; i++) {
                float want = n % 2 ? (float)(n * i) : data[i];
                assert_float_equal(got[i], want, 0);
            }
        }
    }
    spy_release_command_list(list);
}

// Globals of modules that are linked, or imported and found on the search path, and a tensor of the library as a global.
static void test_other_modules(void **state) {
    (void)state;
    spy_module *part = MADE(spy_module, gpu_module(gpu_device, "part", "public uniform float part_gain;\npublic StructuredBuffer<float> part_table;\n"
                                                                        "public float part_of(int i) { return part_gain * part_table[i]; }\n"));
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "whole";
    d.source = "import part;\nimport slangpy;\nuniform float gain;\nuniform Tensor<float, 1> grid;\n"
               "float f(int i) { return part_of(i) + gain; }\nfloat g(int i) { return grid[i] * gain; }\n";
    d.link = &part;
    d.link_count = 1;
    spy_module *m = MADE(spy_module, spy_load_module(gpu_device, &d));
    float data[4] = { 1, 2, 3, 4 }, got[4];
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("part_gain", 3), spy_arg_tensor("part_table", x), spy_arg_f32("gain", 0.5f)));
    run_over(fn(m, "f"), &o, 4, got);
    for (int i = 0; i < 4; i++) assert_float_equal(got[i], 3 * data[i] + 0.5f, 0);
    o = globals_of(SPY_ARGS(spy_arg_tensor("grid", x), spy_arg_f32("gain", 2)));
    run_over(fn(m, "g"), &o, 4, got);
    for (int i = 0; i < 4; i++) assert_float_equal(got[i], 2 * data[i], 0);
}

static void write_hook(spy_globals *globals, void *user) {
    float *v = (float *)user;
    spy_set_global(globals, "gain", spy_arg_f32(NULL, v[0]++));
    spy_set_global(globals, "dir", spy_arg_f32n(NULL, v, 3));
}

static void test_write_hook(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "hook", globals_source));
    float v[3] = { 10, 20, 30 }, got[4];
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_f32("gain", -1)));
    o.write_globals = write_hook;
    o.write_user_data = v;
    for (int n = 0; n < 5; n++) {
        run_over(fn(m, "scaled"), &o, 3, got);
        for (int i = 0; i < 3; i++) assert_float_equal(got[i], (float)(10 + n) * (float)i, 0);
    }
    run_over(fn(m, "along"), &o, 3, got);
    assert_float_equal(got[0], 16, 0);
    assert_float_equal(got[2], 30, 0);
}

// A prepared call keeps the values that its globals had, and asks the hook for newer ones at each call.
static void test_prepared(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "prepared", globals_source));
    int32_t index[4] = { 0, 1, 2, 2 };
    float data[4] = { 5, 6, 7, 8 }, got[4], v[3] = { 10, 20, 30 };
    spy_tensor *i4 =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(4), index));
    spy_tensor *out =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), NULL));
    spy_args args = SPY_ARGS(spy_arg_tensor("i", i4), spy_arg_tensor("_result", out));
    spy_prepare_desc d;
    memset(&d, 0, sizeof d);
    for (int async = 0; async < 2; async++) {
        d.async = async;
        // Host data, fields, names and the options themselves may change, and tensors be released.
        struct light lights[3] = { { { 1, 2, 3 }, 4, true }, { { 5, 6, 7 }, 8, false }, { { 9, 10, 11 }, 12, true } };
        float red[3] = { 3, 4, 5 };
        char path[] = "lights[1]", table_name[] = "table";
        spy_tensor *x =
            MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), data));
        spy_arg fields[3] = { spy_arg_f32n("color", red, 3), spy_arg_f32("power", 2), spy_arg_bool("on", true) };
        spy_args field_list = { fields, 3 };
        spy_arg globals[3] = { spy_arg_data("lights", lights, sizeof lights), spy_arg_struct(path, field_list), spy_arg_tensor(table_name, x) };
        spy_args list = { globals, 3 };
        spy_call_options o = globals_of(list);
        d.options = &o;
        const char *names[2] = { async ? "lit" : "looked_up", async ? "looked_up" : "lit" }; // each is compiled once in either way
        spy_prepared *p[2];
        for (int k = 0; k < 2; k++) p[k] = MADE(spy_prepared, spy_prepare(fn(m, names[k]), args, &d));
        memset(lights, 0xee, sizeof lights);
        memset(red, 0xee, sizeof red);
        memset(fields, 0xee, sizeof fields);
        memset(globals, 0xee, sizeof globals);
        memset(&o, 0xee, sizeof o);
        memset(path, 'p', sizeof path - 1);
        memset(table_name, 't', sizeof table_name - 1);
        spy_release_tensor(x);
        const float want[4] = { 1 + 3 * 4, 3 + 5 * 2, 9 + 11 * 12, 9 + 11 * 12 };
        for (int round = 0; round < 6; round++) {
            bool lit = strcmp(names[round % 2], "lit") == 0;
            uint64_t built = spy_get_device_stats(gpu_device).kernels_built;
            OK(spy_call_prepared(p[round % 2], args));
            if (!async || round > 1) assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built);
            OK(spy_tensor_read(out, got, sizeof got));
            for (int i = 0; i < 4; i++) assert_float_equal(got[i], (lit ? want[i] : data[index[i]]), 0);
        }
        spy_release_prepared(p[0]);
        spy_release_prepared(p[1]);
    }
    // The hook's values, beside the kept ones.
    for (int async = 0; async < 2; async++) {
        d.async = async;
        spy_arg gain = spy_arg_f32("gain", -1);
        spy_args list = { &gain, 1 };
        spy_call_options o = globals_of(list);
        o.write_globals = write_hook;
        o.write_user_data = v;
        if (async) o.prelude = "// a kernel of its own";
        d.options = &o;
        v[0] = 10;
        spy_prepared *p = MADE(spy_prepared, spy_prepare(fn(m, "scaled"), args, &d)); // the hook's first time
        assert_float_equal(v[0], 11, 0);
        o = globals_of(SPY_NO_ARGS);
        for (int n = 0; n < 5; n++) {
            OK(spy_call_prepared(p, args));
            OK(spy_tensor_read(out, got, sizeof got));
            for (int i = 0; i < 4; i++) assert_float_equal(got[i], (float)(11 + n) * (float)index[i], 0);
        }
        spy_release_prepared(p);
    }
}

// A hook whose values are of other kinds from call to call.
static void fickle_hook(spy_globals *globals, void *user) {
    int *n = (int *)user;
    if ((*n)++ == 1) spy_set_global(globals, "gain", spy_arg_i32(NULL, 3));
    else spy_set_global(globals, "gain", spy_arg_f32(NULL, 2));
}

static void test_bad_prepared(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "bad_prepared", globals_source));
    spy_function *f = fn(m, "scaled");
    float r = 0;
    int calls = 0;
    spy_args args = SPY_ARGS(spy_arg_i32("i", 4), spy_out_f32("_result", &r));
    spy_prepare_desc d;
    memset(&d, 0, sizeof d);
    spy_call_options o = globals_of(SPY_NO_ARGS);
    d.options = &o;
#define BAD(code, list, ...)                                                                                  \
    o = globals_of(list);                                                                                     \
    assert_null(spy_prepare(f, args, &d));                                                                    \
    ERROR_ON(gpu_device, code, "spy_prepare: scaled", __VA_ARGS__)
    BAD(SPY_ERROR_NOT_FOUND, SPY_NO_ARGS, "not given", "'gain'");
    BAD(SPY_ERROR_NOT_FOUND, SPY_ARGS(spy_arg_f32("gian", 1)), "'gian'", "did you mean 'gain'?");
    BAD(SPY_ERROR_INVALID_ARGUMENT, SPY_ARGS(spy_arg_f32(NULL, 1)), "global 1 has no name");
    BAD(SPY_ERROR_INVALID_ARGUMENT, SPY_ARGS(spy_out_f32("gain", &r)), "globals cannot be kept", "outputs");
    BAD(SPY_ERROR_INVALID_ARGUMENT, SPY_ARGS(spy_arg_tensor("table", NULL)), "globals cannot be kept", "expected a tensor, got NULL");
    BAD(SPY_ERROR_TYPE_MISMATCH, SPY_ARGS(spy_arg_data("gain", &r, 3)), "'gain'", "4 bytes");
#undef BAD
    o = globals_of(SPY_NO_ARGS);
    o.write_globals = fickle_hook;
    o.write_user_data = &calls;
    spy_prepared *p = MADE(spy_prepared, spy_prepare(f, args, &d));
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_prepared(p, args), "scaled", "global 'gain': int number");
    assert_float_equal(r, 0, 0);
    OK(spy_call_prepared(p, args));
    assert_float_equal(r, 8, 0);
    spy_release_prepared(p);
}

static void test_bad_globals(void **state) {
    (void)state;
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "bad", globals_source));
    float data[8] = { 0 }, r;
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), data));
    spy_tensor *ints =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_INT32, NULL, NULL, SPY_SHAPE(8), data));
    spy_function *scaled = fn(m, "scaled"), *of_params = fn(m, "of_params"), *looked_up = fn(m, "looked_up");
    spy_arg i = spy_arg_i32("i", 0);
    spy_call_options o;
#define BAD(code, function, globals, ...)                                                                     \
    o = globals_of(globals);                                                                                  \
    FAILS(code, spy_call_with(function, SPY_ARGS(i, spy_out_f32("_result", &r)), &o), __VA_ARGS__)
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(scaled, SPY_ARGS(i, spy_out_f32("_result", &r))), "not given", "'gain'");
    BAD(SPY_ERROR_NOT_FOUND, scaled, SPY_ARGS(spy_arg_f32("dir", 1)), "not given", "'gain'");
    BAD(SPY_ERROR_NOT_FOUND, scaled, SPY_ARGS(spy_arg_f32("gian", 1)), "'gian'", "did you mean 'gain'?");
    BAD(SPY_ERROR_NOT_FOUND, of_params, SPY_ARGS(spy_arg_f32("params.light.power", 1)), "not given", "'params.light.color'", "'params.m'", "'params.items'");
    BAD(SPY_ERROR_NOT_FOUND, of_params, SPY_ARGS(spy_arg_f32("params.light.colour", 1)), "'params.light.colour'");
    BAD(SPY_ERROR_NOT_FOUND, of_params, SPY_ARGS(spy_arg_i32("params.list[3]", 1)), "'params.list[3]'");
    BAD(SPY_ERROR_TYPE_MISMATCH, scaled, SPY_ARGS(spy_arg_tensor("gain", x)), "'gain'", "expected float", "host data");
    BAD(SPY_ERROR_TYPE_MISMATCH, scaled, SPY_ARGS(spy_arg_array("gain", data, SPY_SHAPE(3), SPY_DTYPE_FLOAT32)), "'gain'", "one value");
    BAD(SPY_ERROR_TYPE_MISMATCH, scaled, SPY_ARGS(spy_arg_data("gain", data, 3)), "'gain'", "4 bytes");
    BAD(SPY_ERROR_SHAPE_MISMATCH, fn(m, "along"), SPY_ARGS(spy_arg_f32n("dir", data, 4)), "'dir'", "must be 3");
    BAD(SPY_ERROR_TYPE_MISMATCH, looked_up, SPY_ARGS(spy_arg_tensor("table", ints)), "'table'", "StructuredBuffer<float>", "int tensor");
    BAD(SPY_ERROR_TYPE_MISMATCH, looked_up, SPY_ARGS(spy_arg_f32("table", 1)), "'table'", "StructuredBuffer<float>");
    BAD(SPY_ERROR_INVALID_ARGUMENT, scaled, SPY_ARGS(spy_arg_f32(NULL, 1)), "global 1 has no name");
    BAD(SPY_ERROR_TYPE_MISMATCH, scaled, SPY_ARGS(spy_out_f32("gain", &r)), "'gain'");
    BAD(SPY_ERROR_OUT_OF_RANGE, scaled, SPY_ARGS(spy_arg_f32("gain", 1), spy_arg_f32("lights[0].power", 1), spy_arg_f64("unread", 0.5)), "'unread'", "0.5");
    if (!gpu_has_textures()) {
        BAD(SPY_ERROR_COMPILE, fn(m, "pictured"), SPY_ARGS(spy_arg_f32("gain", 1)), "'image'", "Texture2D", "cannot be given");
    } else {
        BAD(SPY_ERROR_NOT_FOUND, fn(m, "pictured"), SPY_ARGS(spy_arg_f32("gain", 1)), "'image'", "not given");
        BAD(SPY_ERROR_TYPE_MISMATCH, fn(m, "pictured"), SPY_ARGS(spy_arg_tensor("image", x)), "'image'", "Texture2D", "it takes a texture");
    }
    // The device works on as before.
    o = globals_of(SPY_ARGS(spy_arg_f32("gain", 2)));
    OK(spy_call_with(scaled, SPY_ARGS(spy_arg_i32("i", 4), spy_out_f32("_result", &r)), &o));
    assert_float_equal(r, 8, 0);
}

// What reflection can know is said before the compiler is asked for a kernel.
static void test_early(void **state) {
    (void)state;
    spy_module *part = MADE(spy_module, gpu_module(gpu_device, "early_part", "public uniform float part_gain;\npublic struct Part { public float a; public float b; }\n"
                                                                              "public ConstantBuffer<Part> part_block;\n"));
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "early";
    d.source = "import early_part;\nuniform float gain;\nStructuredBuffer<float> table;\nTexture2D image;\n"
               "float f(int i) { return gain * i + table[i]; }\nfloat g(int i) { return part_gain + part_block.b; }\nfloat none(int i) { return i; }\n";
    d.link = &part;
    d.link_count = 1;
    spy_module *m = MADE(spy_module, spy_load_module(gpu_device, &d));
    spy_module *bare = MADE(spy_module, gpu_module(gpu_device, "early_bare", "float f(int i) { return i; }\n"));
    spy_function *f = fn(m, "f"), *g = fn(m, "g");
    float data[4] = { 1, 2, 3, 4 }, r = -1;
    char text[8000];
    uint64_t ns;
    spy_tensor *x =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_args args = SPY_ARGS(spy_arg_i32("i", 1), spy_out_f32("_result", &r));
    spy_call_options o;
    int before = compiles;
#define EARLY(code, function, list, ...)                                                                      \
    o = globals_of(list);                                                                                     \
    FAILS(code, spy_call_with(function, args, &o), __VA_ARGS__);                                              \
    FAILS(code, spy_time_call(function, args, &o, &ns), __VA_ARGS__);                                         \
    assert_null(spy_resolve(function, args, &o));                                                             \
    ERROR_ON(gpu_device, code, __VA_ARGS__);                                                                  \
    assert_int_equal(compiles, before)
    EARLY(SPY_ERROR_NOT_FOUND, f, SPY_ARGS(spy_arg_f32("gian", 1)), "'gian'", "did you mean 'gain'?");
    EARLY(SPY_ERROR_NOT_FOUND, f, SPY_ARGS(spy_arg_f32("gain", 1), spy_arg_f32("part_gian", 1)), "'part_gian'", "did you mean 'part_gain'?");
    EARLY(SPY_ERROR_NOT_FOUND, g, SPY_ARGS(spy_arg_f32("part_block.c", 1)), "'part_block.c'", "'part_block' is a Part with 'a', 'b'");
    EARLY(SPY_ERROR_NOT_FOUND, fn(m, "none"), SPY_ARGS(spy_arg_f32("nothing_like_it", 1)), "'nothing_like_it'");
    EARLY(SPY_ERROR_NOT_FOUND, fn(bare, "f"), SPY_ARGS(spy_arg_f32("gain", 1)), "'gain'", "have none");
    EARLY(SPY_ERROR_TYPE_MISMATCH, f, SPY_ARGS(spy_arg_f32("table", 1)), "'table'", "StructuredBuffer<float>");
    EARLY(SPY_ERROR_TYPE_MISMATCH, g, SPY_ARGS(spy_arg_struct("part_block", SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1)))), "'part_block.a'", "host data");
#undef EARLY
    // Explaining lists them all.
    o = globals_of(SPY_ARGS(spy_arg_f32("gain", 2), spy_arg_f32("part_block.b", 3)));
    spy_explain_call(f, args, &o, text, sizeof text);
    const char *const lines[] = { "gain                 global float        <- float number", "part_block.b         global float        <- float number",
                                  "table                global StructuredBuffer<float> not given", "part_gain            global float        not given",
                                  !gpu_has_textures() ? "cannot be given" : "image                global Texture2D<float4> not given" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!strstr(text, lines[i])) fail_msg("'%s' is not in: %s", lines[i], text);
    spy_resolution *resolution = MADE(spy_resolution, spy_resolve(f, args, &o));
    spy_release_resolution(resolution);
    o = globals_of(SPY_ARGS(spy_arg_f32("gian", 2)));
    spy_explain_call(f, args, &o, text, sizeof text);
    assert_non_null(strstr(text, "did you mean 'gain'?"));
    assert_int_equal(compiles, before);
    // Which of them a kernel uses only its code says.
    o = globals_of(SPY_ARGS(spy_arg_f32("gain", 2)));
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(f, args, &o), "not given", "'table'");
    assert_int_equal(compiles, before + 1);
    o = globals_of(SPY_ARGS(spy_arg_f32("gain", 2), spy_arg_tensor("table", x)));
    OK(spy_time_call(f, args, &o, &ns));
    assert_float_equal(r, 2 + data[1], 0);
    // A prelude may bring globals of its own.
    o = globals_of(SPY_ARGS(spy_arg_f32("gain", 3), spy_arg_tensor("table", x), spy_arg_f32("extra", 1)));
    o.prelude = "uniform float extra;";
    OK(spy_call_with(f, args, &o));
    assert_float_equal(r, 3 + data[1], 0);
    o.globals = SPY_ARGS(spy_arg_f32("gain", 3), spy_arg_tensor("table", x), spy_arg_f32("extre", 1));
    FAILS(SPY_ERROR_NOT_FOUND, spy_call_with(f, args, &o), "'extre'", "did you mean 'extra'?");
    // A reload changes what there is.
    OK(spy_reload_module(bare, "uniform float gain;\nfloat f(int i) { return i * gain; }\n"));
    o = globals_of(SPY_ARGS(spy_arg_f32("gain", 5)));
    OK(spy_call_with(fn(bare, "f"), args, &o));
    assert_float_equal(r, 5, 0);
}

static int open_device(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    d.progress.func = on_step;
    gpu_device = gpu_open(&d);
    return 0;
}

static int close_device(void **state) {
    (void)state;
    spy_release_device(gpu_device);
    return 0;
}

static int need_device(void **state) {
    (void)state;
    if (!gpu_device) skip();
    return 0;
}

// desc.zero_missing: numbers that are not given are 0, in a part of a struct and in all of it.
static void test_zero_missing(void **state) {
    (void)state;
    static const char source[] = "import slangpy;\nstruct Params { float k; int n; float a[3]; };\nuniform Params up;\nConstantBuffer<Params> cb;\n"
                                 "uniform float gain;\nStructuredBuffer<float> table;\n"
                                 "float all(int i) { return i + up.k + 10 * up.n + 100 * cb.a[1] + 1000 * gain; }\n"
                                 "float look(int i) { return table[i]; }\n"
                                 "void mark(uint3 dispatchThreadID, RWStructuredBuffer<float> o, Params p) { o[0] = p.k + 10 * p.n + 100 * p.a[2]; }\n";
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "zero_missing";
    d.source = source;
    d.zero_missing = true;
    spy_module *m = MADE(spy_module, spy_load_module(gpu_device, &d));
    float r = 7;
    spy_args args = SPY_ARGS(spy_arg_i32("i", 1), spy_out_f32("_result", &r));
    OK(spy_call(fn(m, "all"), args));
    assert_float_equal(r, 1, 0);
    spy_call_options o = globals_of(SPY_ARGS(spy_arg_struct("up", SPY_ARGS(spy_arg_i32("n", 2))), spy_arg_f32("gain", 3)));
    OK(spy_call_with(fn(m, "all"), args, &o));
    assert_float_equal(r, 3021, 0);
    FAILS(SPY_ERROR_NOT_FOUND, spy_call(fn(m, "look"), args), "not given", "'table'");
    float data[4] = { 5, 5, 5, 5 };
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(4), data));
    spy_uint3 one = { 1, 1, 1 };
    OK(spy_dispatch(fn(m, "mark"), one, SPY_ARGS(spy_arg_tensor("o", t), spy_arg_struct("p", SPY_ARGS(spy_arg_i32("n", 4)))), NULL));
    OK(spy_tensor_read(t, data, sizeof data));
    assert_float_equal(data[0], 40, 0);
    spy_release_tensor(t);
    spy_release_module(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_zero_missing, need_device),
        cmocka_unit_test_setup(test_buffers, need_device),
        cmocka_unit_test_setup(test_written_buffers, need_device),
        cmocka_unit_test_setup(test_bad_buffers, need_device),
        cmocka_unit_test_setup(test_constant_buffers, need_device),
        cmocka_unit_test_setup(test_loose_globals, need_device),
        cmocka_unit_test_setup(test_struct_globals, need_device),
        cmocka_unit_test_setup(test_parameter_block, need_device),
        cmocka_unit_test_setup(test_buffer_globals, need_device),
        cmocka_unit_test_setup(test_changing_values, need_device),
        cmocka_unit_test_setup(test_hazards, need_device),
        cmocka_unit_test_setup(test_memory, need_device),
        cmocka_unit_test_setup(test_shaders, need_device),
        cmocka_unit_test_setup(test_lists, need_device),
        cmocka_unit_test_setup(test_other_modules, need_device),
        cmocka_unit_test_setup(test_write_hook, need_device),
        cmocka_unit_test_setup(test_prepared, need_device),
        cmocka_unit_test_setup(test_bad_prepared, need_device),
        cmocka_unit_test_setup(test_bad_globals, need_device),
        cmocka_unit_test_setup(test_early, need_device),
    };
    return cmocka_run_group_tests(tests, open_device, close_device);
}
