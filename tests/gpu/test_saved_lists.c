// Lists in packs (spy_save_list, spy_load_list): recorded on one device, loaded without the Slang compiler on others, also with
// tensors of other sizes; what cannot be saved, and what does not fit when it is loaded, is said.
#include "gpu_test.h"

spy_device *gpu_device;

static char folder[64], pack[96];

static const char text[] =
    "import slangpy;\n"
    "uniform float gain;\n"
    "extern static const float STEP = 1;\n"
    "struct Light { float3 color; float power; };\n"
    "float add(float x, float y) { return x + 2 * y; }\n"
    "float scale(float x, float by) { return x * by * FACTOR; }\n"
    "float shade(Light l, float x) { return l.color.y * l.power * x * gain + STEP; }\n"
    "float join(float a, float b) { return 10 * a + b; }\n"
    "uint noise(uint r, uint x) { return r ^ x; }\n"
    "void bump(uint* p) { p[0] += 10; }\n"
    "int sum(int2 at) { return 100 * at.y + at.x; }\n"
    "[Differentiable] float poly(float a, float b) { return a * a * b + b; }\n"
    "[shader(\"compute\")] [numthreads(4, 1, 1)]\n"
    "void fill(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> to, uniform float first) { to[id.x] = first + id.x; }\n";

enum { N = 8 };

// >>helpers

static spy_tensor *floats(spy_shape shape, const float *data, bool graded) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = shape;
    d.data = data;
    d.with_grad = graded;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

static spy_tensor *uints(int64_t n) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(n);
    d.dtype = SPY_DTYPE_UINT32;
    return MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
}

// first, first + 1, ...
static spy_tensor *counted(int64_t n, float first) {
    float data[64];
    for (int i = 0; i < n; i++) data[i] = first + (float)i;
    return floats(SPY_SHAPE(n), data, false);
}

static void expect(spy_tensor *t, int n, float (*value)(int i, float k), float k) {
    float got[64];
    OK(spy_tensor_read(t, got, (size_t)n * sizeof *got));
    for (int i = 0; i < n; i++)
        if (got[i] != value(i, k)) fail_msg("element %d: expected %g, got %g", i, (double)value(i, k), (double)got[i]);
}

static void close_device(void) {
    spy_release_device(gpu_device);
    gpu_device = NULL;
}

static void open_recorder(void) {
    spy_device_desc d = gpu_desc();
    d.cache_path = "off";
    d.record_pack = true;
    gpu_device = spy_create_device(&d);
    if (!gpu_device) skip();
}

static void open_packed(void) {
    spy_device_desc d = gpu_desc();
    d.cache_path = "off";
    d.pack = pack;
    d.slang_library = "/nonexistent/libslang.so";
    gpu_device = spy_create_device(&d);
    if (!gpu_device) skip();
}

static spy_module *load(void) {
    static const spy_define define = { "FACTOR", "3" };
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.name = "m";
    m.source = text;
    m.defines = &define;
    m.define_count = 1;
    return MADE(spy_module, spy_load_module(gpu_device, &m));
}

static spy_command_list *begin(const char *label) {
    spy_list_desc d;
    memset(&d, 0, sizeof d);
    d.label = label;
    return MADE(spy_command_list, spy_create_command_list(gpu_device, &d));
}

static spy_function *function(spy_module *m, const char *name) {
    return MADE(spy_function, spy_find_function(m, name));
}

static void submit(spy_command_list *list) {
    OK(spy_list_submit(list));
}

// >>the lists: each is recorded, run and saved

static float steps_value(int i, float k) {
    return ((float)i + 2 * (k + (float)i)) * 5 * 3;
}

static float five(int i, float k) {
    (void)i, (void)k;
    return 5;
}

// Calls with a tensor that a call makes, a copy, a fill, marks.
static spy_command_list *record_steps(spy_module *m, spy_tensor *x, spy_tensor *y, spy_tensor *z, spy_tensor *w, spy_tensor *v, spy_tensor **mid) {
    spy_command_list *list = begin("steps");
    OK(spy_list_push_label(list, "all"));
    OK(spy_list_call(list, function(m, "add"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_out_tensor("_result", mid))));
    OK(spy_list_marker(list, "half"));
    OK(spy_list_barrier(list));
    OK(spy_list_call(list, function(m, "scale"), SPY_ARGS(spy_arg_tensor("x", *mid), spy_arg_f32("by", 5), spy_arg_tensor("_result", z))));
    OK(spy_list_copy(list, w, z));
    OK(spy_list_fill(list, v, 5));
    OK(spy_list_pop_label(list));
    OK(spy_list_finish(list));
    return list;
}

static float part_value(int i, float k) {
    (void)k;
    static const float values[N] = { 20, 1, 2, 3, 24 + 6, 25 + 8, 26, 27 };
    return values[i];
}

// A dispatch, data, and parts of tensors.
static void save_parts(spy_module *m) {
    static const float data[3] = { 1, 2, 3 };
    spy_command_list *list = begin(NULL);
    spy_tensor *to = floats(SPY_SHAPE(N), NULL, false);
    spy_tensor *part = MADE(spy_tensor, spy_create_slice(to, 0, 1, 4, 1)), *a = MADE(spy_tensor, spy_create_slice(to, 0, 4, 6, 1));
    spy_tensor *b = counted(2, 3);
    spy_uint3 threads = { N, 1, 1 };
    OK(spy_dispatch(function(m, "fill"), threads, SPY_ARGS(spy_arg_tensor("to", to), spy_arg_f32("first", 20)),
                    &(spy_call_options){ .append_to = list }));
    spy_tensor *groups = uints(4), *more = floats(SPY_SHAPE(N), NULL, false);
    OK(spy_tensor_write(groups, (const uint32_t[]){ 0, 2, 1, 1 }, 4 * sizeof(uint32_t)));
    OK(spy_dispatch_indirect(function(m, "fill"), groups, 1, SPY_ARGS(spy_arg_tensor("to", more), spy_arg_f32("first", 1)),
                             &(spy_call_options){ .append_to = list }));
    OK(spy_list_write(list, part, data, sizeof data));
    OK(spy_list_call(list, function(m, "add"), SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("y", b), spy_arg_tensor("_result", a))));
    OK(spy_list_finish(list));
    submit(list);
    expect(to, N, part_value, 0);
    OK(spy_save_list(list, "parts", SPY_ARGS(spy_arg_tensor("to", to), spy_arg_tensor("b", b), spy_arg_tensor("groups", groups), spy_arg_tensor("more", more))));
}

static float slope_value(int i, float k) {
    return 2 * (float)i * k;
}

static void save_grads(spy_module *m) {
    spy_command_list *list = begin(NULL);
    float data[N];
    for (int i = 0; i < N; i++) data[i] = (float)i;
    spy_tensor *a = floats(SPY_SHAPE(N), data, true), *b = floats(SPY_SHAPE(1), (const float[]){ 4 }, true), *o = floats(SPY_SHAPE(N), NULL, true);
    OK(spy_list_fill(list, spy_tensor_grad(a), 0));
    OK(spy_list_fill(list, spy_tensor_grad(o), 1));
    OK(spy_call_with(function(m, "poly"), SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("_result", o)),
                     &(spy_call_options){ .append_to = list, .mode = SPY_CALL_MODE_BACKWARD, .deterministic = true }));
    OK(spy_list_finish(list));
    submit(list);
    expect(spy_tensor_grad(a), N, slope_value, 4);
    OK(spy_save_list(list, "grads", SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("out", o))));
}

static float values_value(int i, float k) {
    return 2 * k * (float)i * 0.5f + 7;
}

// Values of all sorts: bytes and fields of a struct, a global, a constant, a host array, generators, mappings of an argument and
// of a declared function.
static void save_values(spy_module *m) {
    struct {
        float color[3], power;
    } light = { { 1, 2, 3 }, 4 };
    spy_command_list *list = begin(NULL);
    spy_tensor *x = counted(N, 0), *o = floats(SPY_SHAPE(N), NULL, false), *p = floats(SPY_SHAPE(N), NULL, false);
    spy_tensor *q = floats(SPY_SHAPE(2, N), NULL, false), *r = floats(SPY_SHAPE(2, N), NULL, false);
    spy_tensor *h = uints(N);
    spy_call_options options = { .append_to = list, .globals = SPY_ARGS(spy_arg_f32("gain", 0.5f)), .constants = SPY_ARGS(spy_arg_f32("STEP", 7)) };
    OK(spy_call_with(function(m, "shade"), SPY_ARGS(spy_arg_data("l", &light, sizeof light), spy_arg_tensor("x", x), spy_arg_tensor("_result", o)), &options));
    const spy_arg fields[] = { spy_arg_f32n("color", light.color, 3), spy_arg_f32("power", 6) };
    spy_args both = { fields, 2 };
    OK(spy_call_with(function(m, "shade"), SPY_ARGS(spy_arg_struct("l", both), spy_arg_tensor("x", x), spy_arg_tensor("_result", p)), &options));
    OK(spy_list_call(list, function(m, "join"), SPY_ARGS(spy_vmap(spy_arg_array("a", (const float[]){ 1, 2 }, SPY_SHAPE(2), SPY_DTYPE_FLOAT32), SPY_DIMS(0)),
                                                         spy_vmap(spy_arg_tensor("b", x), SPY_DIMS(1)), spy_arg_tensor("_result", q))));
    spy_function *outer = MADE(spy_function, spy_declare(function(m, "join"), SPY_ARGS(spy_vmap(spy_arg_any("a"), SPY_DIMS(0)), spy_vmap(spy_arg_any("b"), SPY_DIMS(1)))));
    OK(spy_list_call(list, outer, SPY_ARGS(spy_arg_tensor("a", MADE(spy_tensor, spy_create_slice(x, 0, 0, 2, 1))), spy_arg_tensor("b", x), spy_arg_tensor("_result", r))));
    OK(spy_list_call(list, function(m, "noise"), SPY_ARGS(spy_arg_wang_hash("r", &(spy_random_desc){ .seed = 9, .warmup = 1 }),
                                                          spy_arg_range("x", 0, 2 * N, 2), spy_arg_tensor("_result", h))));
    spy_grid_desc grid = { .shape = SPY_SHAPE(2, 3), .offset = SPY_SHAPE(5, 7) };
    spy_tensor_desc ints = { .shape = SPY_SHAPE(2, 3), .dtype = SPY_DTYPE_INT32 };
    spy_tensor *g = MADE(spy_tensor, spy_create_tensor(gpu_device, &ints));
    OK(spy_list_call(list, function(m, "sum"), SPY_ARGS(spy_arg_grid("at", &grid), spy_arg_tensor("_result", g))));
    OK(spy_list_finish(list));
    submit(list);
    expect(o, N, values_value, 4);
    expect(p, N, values_value, 6);
    OK(spy_save_list(list, "values", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("o", o), spy_arg_tensor("p", p), spy_arg_tensor("q", q),
                                              spy_arg_tensor("r", r), spy_arg_tensor("h", h), spy_arg_tensor("g", g))));
    uint32_t got[N];
    OK(spy_tensor_read(h, got, sizeof got));
    char path[128];
    snprintf(path, sizeof path, "%s/hash", folder);
    FILE *file = fopen(path, "wb");
    assert_true(file && fwrite(got, sizeof got, 1, file) == 1 && fclose(file) == 0);
}

static int record(void **state) {
    gpu_hold(state);
    snprintf(folder, sizeof folder, "/tmp/spy_saved_lists_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(pack, sizeof pack, "%s/app.pack", folder);
    return 0;
}

static int teardown(void **state) {
    char command[128];
    if (gpu_device) close_device();
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return gpu_let_go(state) || system(command) != 0;
}

// >>tests; the first records what the others load

static void test_save(void **state) {
    (void)state;
    open_recorder();
    spy_module *m = load();
    spy_tensor *x = counted(N, 0), *y = counted(N, 2), *z = floats(SPY_SHAPE(N), NULL, false), *w = floats(SPY_SHAPE(N), NULL, false);
    spy_tensor *v = floats(SPY_SHAPE(3), NULL, false), *mid;
    spy_command_list *list = record_steps(m, x, y, z, w, v, &mid);
    submit(list);
    expect(w, N, steps_value, 2);
    spy_args named = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("mid", mid), spy_arg_tensor("z", z), spy_arg_tensor("w", w),
                              spy_arg_tensor("v", v));
    OK(spy_save_list(list, "steps", named));
    save_parts(m);
    save_grads(m);
    save_values(m);
    // What is wrong with a save.
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, "steps", named), "spy_save_list: the device has saved a list 'steps' already");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, "", named), "name: expected 1 to 255 bytes");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, NULL, named), "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, "tab\there", named), "control characters");
    FAILS(SPY_ERROR_NOT_FOUND, spy_save_list(list, "less", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("z", z), spy_arg_tensor("w", w), spy_arg_tensor("v", v))),
          "call of 'add'", "float (8,)", "none of those given");
    FAILS(SPY_ERROR_NOT_FOUND,
          spy_save_list(list, "more", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("z", z), spy_arg_tensor("w", w),
                                               spy_arg_tensor("v", v), spy_arg_tensor("other", counted(2, 0)))),
          "'other': the list does not use this tensor");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, "twice", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("x", y))), "tensor 2: expected a name of its own", "'x'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, "number", SPY_ARGS(spy_arg_f32("x", 1))), "'x': expected a tensor");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(list, "null", SPY_ARGS(spy_arg_tensor("x", NULL))), "'x': ", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_save_list(begin(NULL), "open", named), "spy_list_finish");
    FAILS(SPY_ERROR_UNSUPPORTED, (spy_load_list(gpu_device, "steps", named), SPY_ERROR_UNSUPPORTED), "spy_load_list: the device was created without desc.pack");
    // What no list on disk can have.
    spy_command_list *bad = begin(NULL);
    spy_texture *texture = spy_create_texture(gpu_device, &(spy_texture_desc){ .type = SPY_TEXTURE_TYPE_2D, .format = SPY_FORMAT_RGBA32_FLOAT, .width = 2, .height = 2 });
    if (texture) {
        OK(spy_list_barrier(bad));
        OK(spy_list_texture_clear(bad, texture, (spy_clear_color){ 0 }));
        OK(spy_list_finish(bad));
        FAILS(SPY_ERROR_UNSUPPORTED, spy_save_list(bad, "texture", SPY_NO_ARGS), "operation 2: spy_list_texture_clear, which cannot be saved");
    } else {
        (void)spy_take_error(gpu_device);
    }
    bad = begin(NULL);
    spy_tensor *words = uints(4);
    uint64_t address = spy_tensor_address(words);
    if (address) {
        OK(spy_list_call(bad, function(m, "bump"), SPY_ARGS(spy_arg_u64("p", address))));
        OK(spy_list_finish(bad));
        FAILS(SPY_ERROR_UNSUPPORTED, spy_save_list(bad, "address", SPY_NO_ARGS), "operation 1: call of 'bump': 'p' has an address or a handle of this process");
    } else {
        (void)spy_take_error(gpu_device);
    }
    OK(spy_save_pack(gpu_device, pack));
    close_device();
    // Where no pack is recorded, nothing is kept and nothing can be saved.
    spy_device_desc d = gpu_desc();
    gpu_device = spy_create_device(&d);
    assert_non_null(gpu_device);
    list = begin(NULL);
    OK(spy_list_barrier(list));
    OK(spy_list_finish(list));
    FAILS(SPY_ERROR_UNSUPPORTED, spy_save_list(list, "plain", SPY_NO_ARGS), "without desc.record_pack");
    close_device();
}

static void test_load(void **state) {
    (void)state;
    open_packed();
    static const int sizes[] = { N, 1, 21 };
    for (int s = 0; s < 3; s++) {
        int n = sizes[s];
        spy_tensor *x = counted(n, 0), *y = counted(n, 3), *z = floats(SPY_SHAPE(n), NULL, false), *w = floats(SPY_SHAPE(n), NULL, false), *mid = NULL;
        spy_tensor *v = floats(SPY_SHAPE(2 * n), NULL, false);
        spy_command_list *list = MADE(spy_command_list, spy_load_list(gpu_device, "steps", SPY_ARGS(spy_arg_tensor("w", w), spy_arg_tensor("x", x), spy_arg_tensor("y", y),
                                                                                                  spy_arg_tensor("z", z), spy_arg_tensor("v", v), spy_out_tensor("mid", &mid))));
        assert_non_null(mid);
        spy_list_info info = spy_get_list_info(list);
        assert_true(info.finished && info.op_count == 8 && info.call_count == 2);
        for (int times = 0; times < 2; times++) { // the second is a graph on CUDA
            submit(list);
            expect(z, n, steps_value, 3);
            expect(w, n, steps_value, 3);
            expect(v, 2 * n, five, 0);
            spy_tensor_fill(w, 0);
        }
        // Values change by the numbers of the recorded calls.
        OK(spy_list_set(list, 1, SPY_ARGS(spy_arg_f32("by", 10))));
        submit(list);
        float got[64];
        OK(spy_tensor_read(w, got, (size_t)n * sizeof *got));
        for (int i = 0; i < n; i++) assert_true(got[i] == 2 * steps_value(i, 3));
        FAILS(SPY_ERROR_UNSUPPORTED, spy_save_list(list, "again", SPY_NO_ARGS), "the list runs from a pack");
        spy_release_tensor(mid);
        spy_release_command_list(list);
    }
    spy_tensor *one[5]; // without the tensor that the list makes
    for (int i = 0; i < 5; i++) one[i] = counted(4, 1);
    submit(MADE(spy_command_list, spy_load_list(gpu_device, "steps", SPY_ARGS(spy_arg_tensor("x", one[0]), spy_arg_tensor("y", one[1]), spy_arg_tensor("z", one[2]),
                                                                             spy_arg_tensor("w", one[3]), spy_arg_tensor("v", one[4])))));
    expect(one[4], 4, five, 0);
    spy_tensor *to = floats(SPY_SHAPE(N), NULL, false), *b = counted(2, 3);
    spy_tensor *groups = uints(4), *more = counted(N, 50);
    OK(spy_tensor_write(groups, (const uint32_t[]){ 9, 1, 1, 1 }, 4 * sizeof(uint32_t)));
    submit(MADE(spy_command_list, spy_load_list(gpu_device, "parts", SPY_ARGS(spy_arg_tensor("to", to), spy_arg_tensor("b", b), spy_arg_tensor("groups", groups),
                                                                             spy_arg_tensor("more", more)))));
    expect(to, N, part_value, 0);
    float filled[N];
    OK(spy_tensor_read(more, filled, sizeof filled));
    assert_true(filled[0] == 1 && filled[3] == 4 && filled[4] == 54); // one group, as its tensor says now
    spy_tensor *a = floats(SPY_SHAPE(N), (const float[]){ 0, 1, 2, 3, 4, 5, 6, 7 }, true), *k = floats(SPY_SHAPE(1), (const float[]){ 3 }, true);
    spy_tensor *o = floats(SPY_SHAPE(N), NULL, true), *p = floats(SPY_SHAPE(N), NULL, false), *x = counted(N, 0);
    submit(MADE(spy_command_list, spy_load_list(gpu_device, "grads", SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", k), spy_arg_tensor("out", o)))));
    expect(spy_tensor_grad(a), N, slope_value, 3);
    spy_tensor *q = floats(SPY_SHAPE(2, N), NULL, false), *r = floats(SPY_SHAPE(2, N), NULL, false), *h = uints(N);
    spy_tensor_desc ints = { .shape = SPY_SHAPE(2, 3), .dtype = SPY_DTYPE_INT32 };
    spy_tensor *g = MADE(spy_tensor, spy_create_tensor(gpu_device, &ints));
    submit(MADE(spy_command_list, spy_load_list(gpu_device, "values", SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("o", o), spy_arg_tensor("p", p),
                                                                              spy_arg_tensor("q", q), spy_arg_tensor("r", r), spy_arg_tensor("h", h), spy_arg_tensor("g", g)))));
    int32_t sums[6];
    OK(spy_tensor_read(g, sums, sizeof sums));
    for (int i = 0; i < 6; i++) assert_int_equal(sums[i], 100 * (5 + i / 3) + 7 + i % 3);
    expect(o, N, values_value, 4);
    expect(p, N, values_value, 6);
    float joined[2][N];
    OK(spy_tensor_read(q, joined, sizeof joined));
    for (int i = 0; i < 2 * N; i++) assert_true(joined[i / N][i % N] == 10 * (float)(i / N + 1) + (float)(i % N));
    OK(spy_tensor_read(r, joined, sizeof joined));
    for (int i = 0; i < 2 * N; i++) assert_true(joined[i / N][i % N] == 10 * (float)(i / N) + (float)(i % N));
    uint32_t got[N], want[N];
    char path[128], manifest[4096];
    snprintf(path, sizeof path, "%s/hash", folder);
    FILE *file = fopen(path, "rb");
    assert_true(file && fread(want, sizeof want, 1, file) == 1 && fclose(file) == 0);
    OK(spy_tensor_read(h, got, sizeof got));
    assert_memory_equal(got, want, sizeof got);
    assert_int_equal(spy_get_device_stats(gpu_device).compiler_loads, 0);
    (void)spy_get_pack_manifest(gpu_device, manifest, sizeof manifest);
    assert_non_null(strstr(manifest, "\tsteps(x: float[], y: float[], new mid: float[], z: float[], w: float[], v: float[])\t8\t"));
    close_device();
}

#define LOAD_FAILS(code, name, args, ...)                                                                     \
    do {                                                                                                      \
        assert_null(spy_load_list(gpu_device, name, args));                                                   \
        ERROR_ON(gpu_device, code, __VA_ARGS__);                                                              \
    } while (0)

static void test_misfits(void **state) {
    (void)state;
    open_packed();
    spy_tensor *x = counted(N, 0), *y = counted(N, 2), *z = floats(SPY_SHAPE(N), NULL, false), *w = floats(SPY_SHAPE(N), NULL, false);
    spy_tensor *v = floats(SPY_SHAPE(3), NULL, false), *u = uints(N), *mid = NULL, *flat = floats(SPY_SHAPE(2, 4), NULL, false);
    LOAD_FAILS(SPY_ERROR_NOT_FOUND, "step", SPY_NO_ARGS, "list 'step': the pack has no such list", "it has steps(x: float[]", "values(");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "", SPY_NO_ARGS, "name: expected a list's name");
    LOAD_FAILS(SPY_ERROR_NOT_FOUND, "parts", SPY_ARGS(spy_arg_tensor("to", x)), "list 'parts': a tensor is missing: 'b' (float (2,))");
    LOAD_FAILS(SPY_ERROR_NOT_FOUND, "parts", SPY_ARGS(spy_arg_tensor("toe", x)), "'toe': the list has no tensor of this name; it has 'to' (float (8,)), 'b' (float (2,)), 'groups' (uint (4,))");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "parts", SPY_ARGS(spy_arg_tensor("to", x), spy_arg_tensor("to", y)), "'to' is given twice");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "parts", SPY_ARGS(spy_arg_f32("to", 1)), "'to': expected spy_arg_tensor()");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "parts", SPY_ARGS(spy_arg_tensor("to", NULL)), "'to': ", "NULL");
    LOAD_FAILS(SPY_ERROR_TYPE_MISMATCH, "parts", SPY_ARGS(spy_arg_tensor("to", u)), "'to': expected elements of float (8,), as it was recorded, got uint (8,)");
    LOAD_FAILS(SPY_ERROR_SHAPE_MISMATCH, "parts", SPY_ARGS(spy_arg_tensor("to", flat)), "'to': expected a tensor of that rank: float (8,)", "got float (2, 4)");
    LOAD_FAILS(SPY_ERROR_SHAPE_MISMATCH, "parts", SPY_ARGS(spy_arg_tensor("to", v)), "'to': expected the sizes float (8,)", "got float (3,)");
    spy_tensor *every = MADE(spy_tensor, spy_create_slice(floats(SPY_SHAPE(2 * N), NULL, false), 0, 0, 2 * N, 2));
    LOAD_FAILS(SPY_ERROR_SHAPE_MISMATCH, "parts", SPY_ARGS(spy_arg_tensor("to", every)), "uses a part of it; expected the strides (1,)", "got (2,)");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "grads", SPY_ARGS(spy_arg_tensor("a", x), spy_arg_tensor("b", v), spy_arg_tensor("out", y)), "'a': the list uses the tensor's gradient");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "steps", SPY_ARGS(spy_arg_tensor("mid", x)), "'mid': the list makes this tensor; expected spy_out_tensor()");
    LOAD_FAILS(SPY_ERROR_INVALID_ARGUMENT, "steps", SPY_ARGS(spy_out_tensor("x", &mid)), "'x': expected spy_arg_tensor()");
    // Too small: what a recording would say of these tensors.
    LOAD_FAILS(SPY_ERROR_SHAPE_MISMATCH, "steps",
               SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", v), spy_arg_tensor("z", z), spy_arg_tensor("w", w), spy_arg_tensor("v", v), spy_out_tensor("mid", &mid)),
               "spy_load_list: list 'steps': operation 2: add: ", "Shape mismatch");
    LOAD_FAILS(SPY_ERROR_SHAPE_MISMATCH, "steps",
               SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("y", y), spy_arg_tensor("z", z), spy_arg_tensor("w", v), spy_arg_tensor("v", v)),
               "'from': expected shape (3,)", "(operation 6)");
    assert_null(mid);
    assert_null(spy_load_list(NULL, "steps", SPY_NO_ARGS));
    (void)spy_take_error(NULL);
    close_device();
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_save), cmocka_unit_test(test_load), cmocka_unit_test(test_misfits) };
    return cmocka_run_group_tests(tests, record, teardown);
}
