// Packs (api/pack.h): what one device records runs on others without the Slang compiler, its files and a cache, with other shapes,
// strides and offsets; what a pack lacks, and what is wrong with one, is said.
#include "gpu_test.h"

#include "chance.h"
#include <sys/stat.h>

spy_device *gpu_device;

static char folder[64], pack[96], source[96];

static const char text[] =
    "import slangpy;\n"
    "uniform float gain;\n"
    "struct Light { float3 color; float power; };\n"
    "interface IScale { float scale(float x); }\n"
    "struct Twice : IScale { float k; float scale(float x) { return 2 * x + k; } }\n"
    "float add(float x, float y) { return x + 2 * y; }\n"
    "float3 mix3(float3 x, float3 y, float t) { return x + t * (y - x); }\n"
    "T same<T>(T x) { return x; }\n"
    "float shade(Light l, float x) { return l.color.y * l.power * x * gain; }\n"
    "float any<S : IScale>(S s, float x) { return s.scale(x); }\n"
    "[Differentiable] float poly(float a, float b) { return a * a * b + b; }\n"
    "float whole(Tensor<float, 1> t, int i) { return t[i] + t.shape[0]; }\n"
    "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
    "void fill(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> to, uniform float first) { to[id.x] = first + id.x; }\n"
    "struct Point : IDifferentiable { float4 place : SV_Position; float3 color : COLOR; }\n"
    "[shader(\"vertex\")] Point vs(float2 at : POSITION, float3 color : COLOR, uniform float2 shift) {\n"
    "    Point p; p.place = float4(at + shift, 0.5, 1); p.color = color; return p;\n"
    "}\n"
    "[shader(\"fragment\")] float4 fs(Point p, uniform StructuredBuffer<float> table, uniform float k) : SV_Target {\n"
    "    return float4(p.color * k, table[1]) * gain;\n"
    "}\n"
    "[shader(\"fragment\")] [Differentiable] float4 squared(Point p, uniform float k) : SV_Target { return float4(k * k, 0, 0, 1); }\n"
    "[shader(\"fragment\")] float4 flat(Point p) : SV_Target { return 1; }\n";

enum { N = 8, MOST = 96 };

typedef struct results {
    float values[MOST];
    int count;
} results;

static spy_tensor *floats(const float *data, spy_shape shape, bool graded) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.data = data;
    d.with_grad = graded;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static spy_function *function(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static spy_device_desc desc_of(bool records) {
    spy_device_desc d = gpu_desc();
    d.cache_path = "off";
    if (records) {
        d.record_pack = true;
    } else {
        d.pack = pack;
        d.slang_library = "/nonexistent/libslang.so";
    }
    return d;
}

// A device that records a pack without a GPU.
static spy_device_desc offline_desc(void) {
    static const uint32_t archs[1] = { 75 }; // CUDA devices that are newer run the PTX
    spy_device_desc d = desc_of(true);
    d.offline = true;
    d.adapter_name = NULL;
    d.pack_archs = archs;
    d.pack_arch_count = 1;
    return d;
}

static bool open_device(bool records) {
    spy_device_desc d = desc_of(records);
    gpu_device = spy_create_device(&d);
    return gpu_device != NULL;
}

static void close_device(void) {
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

static spy_module *load(void) {
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.path = source;
    return spy_load_module(gpu_device, &m);
}

static void write_source(bool there) {
    if (!there) {
        (void)remove(source);
        return;
    }
    FILE *file = fopen(source, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void take(results *r, spy_tensor *t) {
    assert_true(r->count + N <= MOST);
    OK(spy_tensor_read(t, r->values + r->count, N * sizeof(float)));
    r->count += N;
    spy_release_tensor(t);
}

// A program with calls of all sorts. `twice`: values of twice the size, in a tensor of another offset.
static void program(results *r) {
    float x[N], y[N];
    struct {
        float color[3], power;
    } light = { { 1, 2, 3 }, 4 };
    memset(r, 0, sizeof *r);
    for (int i = 0; i < N; i++) x[i] = (float)i, y[i] = 10.0f * (float)i;
    spy_module *m = MADE(spy_module, load());
    spy_tensor *a = floats(x, SPY_SHAPE(N), true), *b = floats(y, SPY_SHAPE(N), true), *o;
    spy_call_options call;
    memset(&call, 0, sizeof call);
    o = floats(NULL, SPY_SHAPE(N), false);
    OK(spy_call(function(m, "add"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("y", b), spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, SPY_SHAPE(N), false);
    OK(spy_call(function(m, "same"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, SPY_SHAPE(N), false);
    spy_args globals = SPY_ARGS(spy_arg_f32("gain", 0.5f));
    call.globals = globals;
    OK(spy_call_with(function(m, "shade"),
                     SPY_ARGS(spy_arg_data("l", &light, sizeof light), spy_arg_tensor("x", a), spy_arg_tensor("_result", o)), &call));
    take(r, o);
    o = floats(NULL, SPY_SHAPE(N), false);
    OK(spy_call(function(m, "any"), SPY_ARGS(spy_vcast(spy_arg_struct("s", SPY_ARGS(spy_arg_f32("k", 7))), "Twice"), spy_arg_tensor("x", a),
                                             spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, SPY_SHAPE(N), true);
    for (int i = 0; i < N; i++) y[i] = 1;
    OK(spy_tensor_write(spy_tensor_grad(o), y, sizeof y));
    OK(spy_call_backward(function(m, "poly"), SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("_result", o))));
    spy_release_tensor(o);
    OK(spy_tensor_read(spy_tensor_grad(a), r->values + r->count, sizeof y));
    r->count += N;
    o = floats(NULL, SPY_SHAPE(N), false);
    int32_t at[N] = { 3, 1, 0, 2, 7, 6, 5, 4 };
    OK(spy_call(function(m, "whole"), SPY_ARGS(spy_arg_tensor("t", a), spy_arg_array("i", at, SPY_SHAPE(N), SPY_DTYPE_INT32),
                                               spy_arg_tensor("_result", o))));
    take(r, o);
    o = floats(NULL, SPY_SHAPE(N), false);
    spy_uint3 threads = { N, 1, 1 };
    OK(spy_dispatch(function(m, "fill"), threads, SPY_ARGS(spy_arg_tensor("to", o), spy_arg_f32("first", 100)), NULL));
    take(r, o);
    assert_true(spy_has_type(m, "Light"));
    assert_int_equal(spy_type_size_bytes(m, "Light"), 16);
    spy_tensor *v = floats(x, SPY_SHAPE(2, 3), false), *w = floats(y, SPY_SHAPE(2, 3), false), *z = floats(NULL, SPY_SHAPE(2, 3), false);
    OK(spy_call(function(m, "mix3"), SPY_ARGS(spy_arg_tensor("x", v), spy_arg_tensor("y", w), spy_arg_f32("t", 0.5f), spy_arg_tensor("_result", z))));
    OK(spy_tensor_read(z, r->values + r->count, 6 * sizeof(float)));
    r->count += 6;
}

static void record(void) {
    results first;
    write_source(true);
    assert_true(open_device(true));
    program(&first);
    spy_tensor *a = floats(NULL, SPY_SHAPE(4, 6), false), *b = floats(NULL, SPY_SHAPE(4, 6), false), *c = floats(NULL, SPY_SHAPE(4, 6), false);
    OK(spy_call(function(load(), "add"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("y", b), spy_arg_tensor("_result", c))));
    OK(spy_save_pack(gpu_device, pack));
    close_device();
    write_source(false);
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/spy_test_packs_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(pack, sizeof pack, "%s/app.pack", folder);
    snprintf(source, sizeof source, "%s/m.slang", folder);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (gpu_device) spy_release_device(gpu_device);
    gpu_device = NULL;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
    return 0;
}

static bool no_device(void) {
    spy_device_desc d = gpu_desc();
    spy_device *device = spy_create_device(&d);
    if (device) spy_release_device(device);
    else print_message("skipped: no device\n");
    return !device;
}

#define NEEDS()                                                                                              \
    do {                                                                                                     \
        (void)state;                                                                                         \
        if (no_device()) skip();                                                                             \
    } while (0)

static void test_runs(void **state) {
    NEEDS();
    results plain, packed;
    write_source(true);
    spy_device_desc d = gpu_desc();
    gpu_device = spy_create_device(&d);
    program(&plain);
    close_device();
    assert_true(plain.values[3] == 63 && plain.values[N + 3] == 3 && plain.values[2 * N + 1] == 4);
    assert_true(plain.values[3 * N + 2] == 11 && plain.values[4 * N + 2] == 80 && plain.values[6 * N + 5] == 105);
    record();
    assert_true(open_device(false));
    program(&packed);
    assert_int_equal(plain.count, packed.count);
    assert_memory_equal(plain.values, packed.values, sizeof(float) * (size_t)plain.count);
    spy_device_stats s = spy_get_device_stats(gpu_device);
    assert_int_equal(s.compiler_loads, 0);
    assert_int_equal(s.cache_writes, 0);
    char manifest[4096];
    size_t size = spy_get_pack_manifest(gpu_device, manifest, sizeof manifest);
    assert_true(size > 0 && size < sizeof manifest && strlen(manifest) == size);
    assert_non_null(strstr(manifest, "call m.add(x: float[], y: float[], _result: float[])"));
    assert_non_null(strstr(manifest, "backward m.poly("));
    assert_non_null(strstr(manifest, "dispatch m.fill("));
    assert_true(spy_get_pack_manifest(gpu_device, NULL, 0) == size);
}

// A part of a larger tensor that begins anywhere, with steps of any size and sign, of `sizes`; its elements' indices into `data`.
static spy_tensor *any_view(spy_tensor *base, int32_t rows, int32_t columns, const int32_t sizes[2], int64_t at[64]) {
    int64_t first = 0, step[2];
    bool turned = below(2) != 0; // dimension 0 of the view runs along the base's columns
    spy_tensor *view = base;
    for (int d = 0; d < 2; d++) { // d: of the view
        int of = turned ? 1 - d : d;
        int32_t most = of ? columns : rows, k = 1 + (int32_t)below(2);
        if (sizes[d] * k > most) k = 1;
        int32_t start = (int32_t)below((uint32_t)(most - (sizes[d] - 1) * k));
        bool back = below(3) == 0 && sizes[d] > 1;
        int32_t last = start + (sizes[d] - 1) * k;
        view = back ? MADE(spy_tensor, spy_create_slice(view, (uint32_t)of, last, start - 1 < 0 ? -most - 1 : start - 1, -k))
                    : MADE(spy_tensor, spy_create_slice(view, (uint32_t)of, start, last + 1, k));
        int64_t along = of ? 1 : columns;
        first += (back ? last : start) * along;
        step[d] = (back ? -k : k) * along;
    }
    if (turned) view = MADE(spy_tensor, spy_create_transpose(view, SPY_DIMS(1, 0)));
    for (int i = 0; i < sizes[0]; i++)
        for (int j = 0; j < sizes[1]; j++) at[i * sizes[1] + j] = first + i * step[0] + j * step[1];
    return view;
}

// One call was recorded, with contiguous tensors of one shape: now it gets parts of others.
static void test_other_geometry(void **state) {
    NEEDS();
    enum { ROWS = 19, COLUMNS = 23, ALL = ROWS * COLUMNS };
    float data[ALL], out[ALL];
    int64_t at[3][64];
    record();
    assert_true(open_device(false));
    spy_function *add = function(MADE(spy_module, load()), "add");
    for (int i = 0; i < ALL; i++) data[i] = (float)i;
    spy_tensor *base = floats(data, SPY_SHAPE(ROWS, COLUMNS), false), *to = floats(NULL, SPY_SHAPE(ROWS, COLUMNS), false);
    int count = (int)test_count(400);
    for (int round = 0; round < count; round++) {
        int32_t sizes[3][2], call[2];
        spy_tensor *v[3];
        for (int d = 0; d < 2; d++) call[d] = 1 + (int32_t)below(8);
        for (int i = 0; i < 3; i++)
            for (int d = 0; d < 2; d++) sizes[i][d] = i < 2 && below(4) == 0 ? 1 : call[d];
        for (int d = 0; d < 2; d++)
            if (sizes[0][d] == 1 && sizes[1][d] == 1) sizes[0][d] = call[d];
        for (int i = 0; i < 3; i++) v[i] = any_view(i == 2 ? to : base, ROWS, COLUMNS, sizes[i], at[i]);
        for (int i = 0; i < ALL; i++) out[i] = -1;
        OK(spy_tensor_write(to, out, sizeof out));
        OK(spy_call(add, SPY_ARGS(spy_arg_tensor("x", v[0]), spy_arg_tensor("y", v[1]), spy_arg_tensor("_result", v[2]))));
        float got[ALL];
        OK(spy_tensor_read(to, got, sizeof got));
        for (int i = 0; i < call[0]; i++)
            for (int j = 0; j < call[1]; j++) {
                int64_t from[2];
                for (int k = 0; k < 2; k++)
                    from[k] = at[k][(sizes[k][0] == 1 ? 0 : i) * sizes[k][1] + (sizes[k][1] == 1 ? 0 : j)];
                out[at[2][i * sizes[2][1] + j]] = data[from[0]] + 2 * data[from[1]];
            }
        assert_memory_equal(got, out, sizeof out);
    }
    assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 0);
    // A large call, whose own variant is another one on most devices.
    enum { LARGE = 3 << 20 };
    float *large = (float *)malloc(LARGE * sizeof *large);
    assert_non_null(large);
    for (int i = 0; i < LARGE; i++) large[i] = (float)(i % 1000);
    spy_tensor *x = floats(large, SPY_SHAPE(LARGE), false), *o = floats(NULL, SPY_SHAPE(LARGE), false);
    OK(spy_call(add, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", x), spy_arg_tensor("_result", o))));
    OK(spy_tensor_read(o, large, LARGE * sizeof *large));
    for (int i = 0; i < LARGE; i++) assert_true(large[i] == 3 * (float)(i % 1000));
    free(large);
}

// Gradients: recorded with one shape each of what is shared, run with others. poly: a^2 b + b.
static void backward(int32_t rows, int32_t columns, bool slice, bool check) {
    enum { MOST_ROWS = 300, MOST_COLUMNS = 80 };
    static float a[2 * MOST_ROWS * MOST_COLUMNS], b[MOST_COLUMNS], da[2 * MOST_ROWS * MOST_COLUMNS], db[MOST_COLUMNS], ones[MOST_ROWS * MOST_COLUMNS];
    int32_t wide = slice ? 2 * columns : columns;
    for (int i = 0; i < rows * wide; i++) a[i] = (float)((int)below(9) - 4);
    for (int i = 0; i < columns; i++) b[i] = (float)((int)below(9) - 4);
    for (int i = 0; i < rows * columns; i++) ones[i] = 1;
    spy_function *poly = function(MADE(spy_module, load()), "poly");
    spy_tensor *x = floats(a, SPY_SHAPE(rows, wide), true), *y = floats(b, SPY_SHAPE(columns), true), *o = floats(NULL, SPY_SHAPE(rows, columns), true);
    spy_tensor *part = slice ? MADE(spy_tensor, spy_create_slice(x, 1, 1, wide, 2)) : x;
    OK(spy_tensor_write(spy_tensor_grad(o), ones, sizeof(float) * (size_t)(rows * columns)));
    OK(spy_call_backward(poly, SPY_ARGS(spy_arg_tensor("a", part), spy_arg_tensor("b", y), spy_arg_tensor("_result", o))));
    OK(spy_tensor_read(spy_tensor_grad(x), da, sizeof(float) * (size_t)(rows * wide)));
    OK(spy_tensor_read(spy_tensor_grad(y), db, sizeof(float) * (size_t)columns));
    for (int j = 0; check && j < columns; j++) {
        float sum = 0;
        for (int i = 0; i < rows; i++) {
            int at = i * wide + (slice ? 2 * j + 1 : j);
            sum += a[at] * a[at] + 1;
            assert_true(da[at] == 2 * a[at] * b[j]);
            if (slice) assert_true(da[at - 1] == 0);
        }
        assert_true(db[j] == sum); // small integers: any order gives the same
    }
}

static void test_gradients(void **state) {
    NEEDS();
    write_source(true);
    assert_true(open_device(true));
    backward(8, 6, false, true);
    OK(spy_save_pack(gpu_device, pack));
    close_device();
    write_source(false);
    assert_true(open_device(false));
    static const int32_t shapes[][2] = { { 8, 6 }, { 1, 6 }, { 5, 1 }, { 300, 80 }, { 300, 3 }, { 2, 80 }, { 33, 17 } };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int slice = 0; slice < 2; slice++) backward(shapes[i][0], shapes[i][1], slice != 0, true);
    assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 0);
}

static void test_missing(void **state) {
    NEEDS();
    record();
    assert_true(open_device(false));
    spy_module *m = MADE(spy_module, load());
    spy_tensor *x = floats(NULL, SPY_SHAPE(N), false);
    FAILS(SPY_ERROR_NO_COMPILER,
          spy_call(function(m, "add"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_f32("y", 1), spy_arg_tensor("_result", x))), "the pack lacks this call",
          "\n  call m.add(x: float[], y: float, _result: float[])\n", "nearest", "\n  call m.add(x: float[], y: float[], _result: float[])");
    assert_null(spy_find_function(m, "nothing"));
    ERROR_ON(gpu_device, SPY_ERROR_NO_COMPILER, "find a function", "the pack");
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "other";
    d.source = "float f() { return 1; }";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_NO_COMPILER, "the pack has no module 'other'");
    d.name = "m";
    assert_null(spy_load_module(gpu_device, &d));
    ERROR_ON(gpu_device, SPY_ERROR_NO_COMPILER, "another text of module 'm'", "anew");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_save_pack(gpu_device, pack), "spy_save_pack", "record_pack");
    // Wrong arguments are told as ever.
    FAILS(SPY_ERROR_SHAPE_MISMATCH,
          spy_call(function(m, "add"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", floats(NULL, SPY_SHAPE(3), false)), spy_arg_tensor("_result", x))),
          "Shape mismatch");
}

// Draws two triangles that cover the target, with a texture of `size` pixels a side.
static void draw(int32_t size, float k, float *pixels) {
    static const float corners[] = { -1, -1, 1, -1, -1, 1, 1, -1, 1, 1, -1, 1 };
    static const float colors[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 0, 0, 1 };
    static const float table[] = { 7, 0.5f };
    spy_module *m = MADE(spy_module, load());
    spy_raster_desc r;
    spy_texture_desc t;
    spy_draw_desc d;
    spy_call_options options;
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    memset(&d, 0, sizeof d);
    memset(&options, 0, sizeof options);
    r.vertex = function(m, "vs");
    r.fragment = function(m, "fs");
    t.format = SPY_FORMAT_RGBA32_FLOAT;
    t.width = t.height = (uint32_t)size;
    t.usage = SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED;
    spy_raster *raster = MADE(spy_raster, spy_create_raster(gpu_device, &r));
    spy_texture *target = MADE(spy_texture, spy_create_texture(gpu_device, &t));
    d.targets[0].texture = target;
    d.targets[0].load = SPY_LOAD_CLEAR;
    spy_args globals = SPY_ARGS(spy_arg_f32("gain", 0.5f));
    options.globals = globals;
    OK(spy_draw(raster, &d,
                SPY_ARGS(spy_arg_tensor("at", floats(corners, SPY_SHAPE(6, 2), false)), spy_arg_tensor("color", floats(colors, SPY_SHAPE(6, 3), false)),
                         spy_arg_f32n("shift", (const float[]){ 0, 0.25f }, 2), spy_arg_tensor("table", floats(table, SPY_SHAPE(2), false)), spy_arg_f32("k", k)),
                &options));
    OK(spy_texture_read(target, NULL, pixels, (size_t)(size * size) * 4 * sizeof *pixels));
}

// The gradient of a number that the fragment function takes, summed over the pixels of a target.
static float draw_gradient(spy_module *m, float k) {
    static const float corners[] = { -1, -1, 3, -1, -1, 3 }, colors[9] = { 0 };
    spy_raster_desc r;
    spy_texture_desc t;
    spy_draw_desc d;
    memset(&r, 0, sizeof r);
    memset(&t, 0, sizeof t);
    memset(&d, 0, sizeof d);
    r.vertex = function(m, "vs");
    r.fragment = function(m, "squared");
    t.format = SPY_FORMAT_RGBA32_FLOAT;
    t.width = t.height = 4;
    t.usage = SPY_TEXTURE_USAGE_COLOR_TARGET | SPY_TEXTURE_USAGE_SAMPLED;
    t.with_grad = true;
    spy_raster *raster = MADE(spy_raster, spy_create_raster(gpu_device, &r));
    d.targets[0].texture = MADE(spy_texture, spy_create_texture(gpu_device, &t));
    d.targets[0].load = SPY_LOAD_CLEAR;
    OK(spy_tensor_fill(spy_texture_grad(d.targets[0].texture, 0), 1));
    spy_tensor *number = floats(&k, SPY_SHAPE(1), true);
    OK(spy_draw_backward(raster, &d,
                         SPY_ARGS(spy_arg_tensor("at", floats(corners, SPY_SHAPE(3, 2), false)), spy_arg_tensor("color", floats(colors, SPY_SHAPE(3, 3), false)),
                                  spy_arg_f32n("shift", (const float[]){ 0, 0 }, 2), spy_arg_tensor("k", number)),
                         NULL));
    OK(spy_tensor_read(spy_tensor_grad(number), &k, sizeof k));
    return k;
}

static void test_draws(void **state) {
    NEEDS();
    enum { SIZE = 16, OTHER = 24, MOST_PIXELS = 4 * OTHER * OTHER };
    static float plain[MOST_PIXELS], packed[MOST_PIXELS];
    if (gpu_is_cuda()) {
        print_message("skipped: no raster on CUDA\n");
        skip();
    }
    write_source(true);
    assert_true(open_device(true));
    draw(SIZE, 1, plain);
    spy_module *m = MADE(spy_module, load());
    const char *test_size = getenv("SPY_TEST_SIZE");
    const bool soak = test_size && strcmp(test_size, "soak") == 0; // the gradient's functions take 3 s to compile
    if (soak) assert_true(draw_gradient(m, 3) == 96);
    OK(spy_save_pack(gpu_device, pack));
    draw(OTHER, 3, plain);
    close_device();
    write_source(false);
    assert_true(open_device(false));
    draw(OTHER, 3, packed);
    assert_memory_equal(plain, packed, sizeof plain);
    const float *middle = plain + 4 * (OTHER * OTHER / 2);
    assert_true(middle[0] + middle[1] + middle[2] > 0.5f && middle[3] == 0.25f && plain[MOST_PIXELS - 1] == 0);
    assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 0);
    char manifest[4096];
    (void)spy_get_pack_manifest(gpu_device, manifest, sizeof manifest);
    assert_non_null(strstr(manifest, "vertex m.vs("));
    assert_non_null(strstr(manifest, "fragment m.fs("));
    m = MADE(spy_module, load());
    if (soak) assert_true(draw_gradient(m, 5) == 160);
    assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 0);
    // Shaders that the pack does not have.
    assert_null(spy_find_function(m, "flat"));
    ERROR_ON(gpu_device, SPY_ERROR_NO_COMPILER, "find a function", "the pack");
    spy_raster_desc r;
    memset(&r, 0, sizeof r);
    r.vertex = function(m, "fs");
    assert_null(spy_create_raster(gpu_device, &r));
    ERROR_ON(gpu_device, SPY_ERROR_NO_COMPILER, "vertex: fs: look at a shader of a draw", "module 'm' of the pack has no answer");
}

// Without a GPU: made by a device that computes nothing.
static void test_offline(void **state) {
    NEEDS();
    results ignored, plain, packed;
    write_source(true);
    spy_device_desc d = gpu_desc();
    gpu_device = spy_create_device(&d);
    program(&plain);
    close_device();
    for (int cpu = 0; cpu < 2; cpu++) { // one pack of two recordings
        d = offline_desc();
        d.adapter_type = cpu ? SPY_ADAPTER_TYPE_CPU : SPY_ADAPTER_TYPE_DEFAULT;
        gpu_device = spy_create_device(&d);
        assert_non_null(gpu_device);
        program(&ignored);
        OK(spy_save_pack(gpu_device, pack));
        close_device();
    }
    write_source(false);
    assert_true(open_device(false));
    program(&packed);
    assert_int_equal(plain.count, packed.count);
    assert_memory_equal(plain.values, packed.values, sizeof(float) * (size_t)plain.count);
}

// The number of files in the folder.
static int files(void) {
    DIR *dir = opendir(folder);
    int count = 0;
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) count += e->d_name[0] != '.';
    closedir(dir);
    return count;
}

// Processes that add to one pack at the same time: it has what each of them called, and nothing else lies beside it.
static void test_one_pack(void **state) {
    NEEDS();
    enum { PROCESSES = 4 };
    pid_t child[PROCESSES];
    int ready[2];
    assert_int_equal(pipe(ready), 0);
    fflush(NULL);
    for (int p = 0; p < PROCESSES; p++) {
        child[p] = fork();
        assert_true(child[p] >= 0);
        if (child[p]) continue;
        char code[100], name[8], byte;
        spy_device_desc d = offline_desc();
        spy_module_desc m;
        float sum = 0;
        memset(&m, 0, sizeof m);
        snprintf(name, sizeof name, "m%d", p);
        snprintf(code, sizeof code, "float add(float x) { return x + %d; }", p);
        m.name = name;
        m.source = code;
        spy_device *device = spy_create_device(&d);
        spy_function *add = spy_find_function(spy_load_module(device, &m), "add");
        bool good = spy_call(add, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &sum))) == SPY_OK;
        close(ready[1]);
        good = read(ready[0], &byte, 1) == 0 && good; // all begin to save when the last one is ready
        good = spy_save_pack(device, pack) == SPY_OK && good;
        _exit(!good);
    }
    close(ready[0]);
    close(ready[1]);
    for (int p = 0; p < PROCESSES; p++) {
        int status = 0;
        assert_int_equal(waitpid(child[p], &status, 0), child[p]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(files(), 1);
    assert_true(open_device(false));
    char manifest[4096], line[64];
    assert_true(spy_get_pack_manifest(gpu_device, manifest, sizeof manifest) < sizeof manifest);
    for (int p = 0; p < PROCESSES; p++) {
        snprintf(line, sizeof line, "call m%d.add(x: float, _result: out float)", p);
        if (!strstr(manifest, line)) fail_msg("the pack lacks '%s':\n%s", line, manifest);
    }
}

static void refused(const void *data, size_t size, const char *word) {
    spy_device_desc d = gpu_desc();
    d.pack_data = size ? data : "";
    d.pack_size_bytes = size;
    spy_device *device = spy_create_device(&d);
    assert_null(device);
    spy_error e = spy_take_error(NULL);
    assert_int_equal(e.code, SPY_ERROR_INVALID_ARGUMENT);
    if (!strstr(e.message, "desc.pack_data cannot be used") || !strstr(e.message, word)) fail_msg("%s", e.message);
}

static void test_bad_packs(void **state) {
    NEEDS();
    record();
    FILE *file = fopen(pack, "rb");
    static unsigned char bytes[1 << 20], changed[1 << 20];
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_true(size > 1000 && size < sizeof bytes);
    refused(bytes, 0, "empty");
    for (size_t cut = 1; cut < size; cut += 1 + below(97)) refused(bytes, cut, "");
    memcpy(changed, bytes, size);
    changed[size] = 0;
    refused(changed, size + 1, "damaged");
    for (size_t i = 0; i < size * 8; i += 1 + (i >= 512 ? below((uint32_t)(size * 8 / (20 + test_count(4000)))) : 0)) {
        memcpy(changed, bytes, size);
        changed[i / 8] ^= (unsigned char)(1 << i % 8);
        refused(changed, size, "");
    }
    changed[8] = bytes[8] + 1; // another format
    memcpy(changed, bytes, 8);
    refused(changed, size, "make it anew");
    refused("no pack at all, but a text of some length", 40, "no pack");
    spy_device_desc d = gpu_desc();
    d.pack = "/nonexistent/app.pack";
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_IO, "/nonexistent/app.pack", "cannot be read");
    d.pack_data = bytes;
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "both");
    d.pack = NULL;
    d.record_pack = true;
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "record_pack");
    memset(&d, 0, sizeof d);
    d = gpu_desc();
    d.offline = true;
    assert_null(spy_create_device(&d));
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "offline");
    // From memory it runs as from the file.
    d = gpu_desc();
    d.pack_data = bytes;
    d.pack_size_bytes = size;
    results r;
    gpu_device = spy_create_device(&d);
    assert_non_null(gpu_device);
    program(&r);
    assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 0);
    // A pack is not written over another file.
    close_device();
    write_source(true);
    assert_true(open_device(true));
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_pack(gpu_device, source), "no pack can be added to");
    FAILS(SPY_ERROR_IO, spy_save_pack(gpu_device, "/nonexistent/app.pack"), "cannot be written");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_pack(gpu_device, NULL), "path", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_pack(gpu_device, ""), "path", "got \"\"");
    int before = files();
    FAILS(SPY_ERROR_IO, spy_save_pack(gpu_device, folder), folder, "cannot be written", "it is a folder");
    assert_int_equal(files(), before); // and beside the folder:
    DIR *dir = opendir("/tmp");
    assert_non_null(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) // "/tmp/NAME", then more
        if (strncmp(e->d_name, folder + 5, strlen(folder + 5)) == 0) assert_string_equal(e->d_name, folder + 5);
    closedir(dir);
    if (geteuid() != 0) { // root may read all files
        assert_int_equal(chmod(pack, 0), 0);
        FAILS(SPY_ERROR_IO, spy_save_pack(gpu_device, pack), "cannot be read", "permission denied");
    }
    assert_int_equal(spy_save_pack(NULL, pack), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_save_pack", "got NULL");
}

int main(void) {
    seed();
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_runs), TEST(test_other_geometry), TEST(test_gradients), TEST(test_missing), TEST(test_draws), TEST(test_offline), TEST(test_bad_packs),
        TEST(test_one_pack),
    };
    return cmocka_run_group_tests(tests, gpu_hold, gpu_let_go);
}
