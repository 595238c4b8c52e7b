// Fusion from C on a real device, against plain C: graphs of calls, operators, structs and outputs, reductions
// with their gradients, lists, reloads, and every way to record a graph wrongly. python/tests/test_fuse.py has
// random graphs.
#include "gpu_test.h"
#include <math.h>

spy_device *gpu_device;
static spy_module *mod;

static const char source[] =
    "struct Light : IDifferentiable { float3 color; float power;\n"
    "    [Differentiable] float3 shine(float k) { return color * power * k; } };\n"
    "[Differentiable] float3 sample_texture(float2 uv) { return float3(uv, uv.x * uv.y); }\n"
    "[Differentiable] float3 tone_map(float3 color, float filmic, float saturation = 0.5) { return color * filmic + saturation; }\n"
    "[Differentiable] float luminance(float3 c) { return c.x + 2 * c.y + 3 * c.z; }\n"
    "[Differentiable] void split(float3 c, out float a, out float2 b) { a = c.x; b = c.yz; }\n"
    "[Differentiable] float square(float x) { return x * x; }\n"
    "[Differentiable] double square(double x) { return x * x; }\n"
    "half as_half(float x) { return half(x); }\n"
    "double as_double(float x) { return x; }\n"
    "float noise(float x) { return frac(x * 7.5); }\n"
    "void nothing(float x) {}\n";

static spy_function *fn(const char *name) {
    return MADE(spy_function, spy_find_function(mod, name));
}

static spy_fusion *begin(const char *name) {
    spy_fuse_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    return MADE(spy_fusion, spy_fuse_begin(gpu_device, &desc));
}

static spy_arg of(spy_node node) {
    return spy_arg_node(NULL, node);
}

// The graph of api/fuse.h: tone_map(sample_texture(uv), 1, 0.5).
static spy_function *tone_map_sample(void) {
    spy_fusion *g = begin("tone_map_sample");
    spy_node uv = spy_fuse_input(g, "uv", NULL);
    assert_null(spy_fuse_type(g, uv));
    spy_node color = spy_fuse_call(g, fn("sample_texture"), SPY_ARGS(of(uv)));
    assert_string_equal(spy_fuse_type(g, uv), "float2");
    assert_string_equal(spy_fuse_type(g, color), "float3");
    spy_node out = spy_fuse_call(g, fn("tone_map"), SPY_ARGS(of(color), spy_arg_f32("filmic", 1), spy_arg_f32("saturation", 0.5f)));
    OK(spy_fuse_output(g, "_result", of(out)));
    return MADE(spy_function, spy_fuse_end(g));
}

static void release(spy_function *function) {
    spy_release_module(spy_function_module(function));
}

static void test_chain(void **state) {
    NEEDS_DEVICE();
    spy_function *f = tone_map_sample();
    assert_string_equal(spy_function_name(f), "tone_map_sample");
    assert_string_equal(spy_fuse_text(f), "// tone_map_sample: 2 calls in one function, written by spy_fuse_end().\n"
                                          "import fuse_source;\n\n"
                                          "[Differentiable]\n"
                                          "float3 tone_map_sample(float2 uv)\n{\n"
                                          "    let t1 = sample_texture(uv);\n"
                                          "    let t2 = tone_map(t1, 1.0f, 0.5f);\n"
                                          "    return t2;\n}\n");
    assert_null(spy_fuse_text(fn("luminance")));
    float uvs[10], colors[15];
    for (int i = 0; i < 10; i++) uvs[i] = (float)i * 0.3f;
    spy_tensor *uv = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(5, 2), uvs)), *out = NULL;
    for (int again = 0; again < 3; again++) { // the path of repeated calls, too
        OK(spy_call(f, SPY_ARGS(spy_arg_tensor("uv", uv), spy_out_tensor("_result", &out))));
        OK(spy_tensor_read(out, colors, sizeof colors));
        spy_release_tensor(out);
        for (int i = 0; i < 5; i++) {
            float x = uvs[2 * i], y = uvs[2 * i + 1];
            assert_float_equal(colors[3 * i], x + 0.5f, 1e-6f);
            assert_float_equal(colors[3 * i + 1], y + 0.5f, 1e-6f);
            assert_float_equal(colors[3 * i + 2], x * y + 0.5f, 1e-6f);
        }
    }
    char text[8192];
    spy_explain_call(f, SPY_ARGS(spy_arg_tensor("uv", uv), spy_out_tensor("_result", &out)), NULL, text, sizeof text);
    assert_non_null(strstr(text, "fuses sample_texture, tone_map"));
    assert_non_null(strstr(text, "reads 40 bytes, writes 60 bytes, 1 kernel\n"));
    assert_non_null(strstr(text, "let t1 = sample_texture(uv);"));
    // A prepared call is made of it as of any function.
    const spy_arg items[] = { spy_arg_tensor("uv", uv), spy_out_array("_result", colors, SPY_SHAPE(5, 3), SPY_DTYPE_FLOAT32) };
    const spy_args args = { items, 2 };
    spy_prepared *prepared = MADE(spy_prepared, spy_prepare(f, args, NULL));
    memset(colors, 0, sizeof colors);
    OK(spy_call_prepared(prepared, args));
    assert_float_equal(colors[14], uvs[8] * uvs[9] + 0.5f, 1e-6f);
    spy_release_prepared(prepared);
    spy_release_tensor(uv);
    release(f);
}

// Operators, fields, structs, several outputs.
static void test_values(void **state) {
    NEEDS_DEVICE();
    spy_fusion *g = begin("values");
    OK(spy_fuse_use(g, mod));
    spy_node c = spy_fuse_input(g, "c", "float3"), k = spy_fuse_input(g, "k", "float");
    spy_node light = spy_fuse_make(g, "Light", SPY_ARGS(spy_arg_node("power", k), spy_arg_node("color", c)));
    spy_node shone = spy_fuse_call(g, fn("Light::shine"), SPY_ARGS(of(light), spy_arg_f32("k", 2)));
    spy_node parts = spy_fuse_call(g, fn("split"), SPY_ARGS(of(shone)));
    assert_string_equal(spy_fuse_out_name(g, parts, 0), "a");
    assert_string_equal(spy_fuse_out_name(g, parts, 1), "b");
    assert_null(spy_fuse_out_name(g, parts, 2));
    spy_node a = spy_fuse_out(g, parts, "a"), b = spy_fuse_out(g, parts, "b");
    spy_node more = spy_fuse_op(g, ">", SPY_ARGS(of(a), spy_arg_f32(NULL, 3)));
    spy_node chosen = spy_fuse_op(g, "?", SPY_ARGS(of(more), of(a), of(spy_fuse_op(g, "-", SPY_ARGS(of(a))))));
    spy_node last = spy_fuse_op(g, "[]", SPY_ARGS(of(b), spy_arg_i32(NULL, 1)));
    const float offset[2] = { 10, 20 };
    spy_node moved = spy_fuse_op(g, "+", SPY_ARGS(of(b), spy_arg_f32n(NULL, offset, 2)));
    OK(spy_fuse_output(g, "chosen", of(chosen)));
    OK(spy_fuse_output(g, "moved", of(spy_fuse_member(g, moved, "yx"))));
    OK(spy_fuse_output(g, "_result", of(spy_fuse_op(g, "sin", SPY_ARGS(of(last))))));
    spy_function *f = MADE(spy_function, spy_fuse_end(g));
    const float color[3] = { 1, 2, 0.25f };
    for (int i = 1; i <= 2; i++) {
        float result = 0, out = 0, pair[2] = { 0 };
        OK(spy_call(f, SPY_ARGS(spy_arg_f32n("c", color, 3), spy_arg_f32("k", (float)i), spy_out_f32("chosen", &out),
                                spy_out_array("moved", pair, SPY_SHAPE(2), SPY_DTYPE_FLOAT32), spy_out_f32("_result", &result))));
        const float chosen_in_c[3] = { 0, -2, 4 };
        assert_float_equal(out, chosen_in_c[i], 1e-6f);
        assert_float_equal(pair[0], 20 + 0.5f * (float)i, 1e-5f);
        assert_float_equal(pair[1], 10 + 4.f * (float)i, 1e-5f);
        assert_float_equal(result, sinf(0.5f * (float)i), 1e-5f);
    }
    release(f);
}

static void test_backward(void **state) {
    NEEDS_DEVICE();
    for (int policy = SPY_FUSE_BACKWARD_DEFAULT; policy <= SPY_FUSE_BACKWARD_STORE; policy++) {
        spy_fuse_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.backward = (spy_fuse_backward)policy;
        spy_fusion *g = MADE(spy_fusion, spy_fuse_begin(gpu_device, &desc));
        spy_node uv = spy_fuse_input(g, "uv", NULL), gain = spy_fuse_input(g, "gain", NULL);
        spy_node color = spy_fuse_call(g, fn("tone_map"), SPY_ARGS(of(spy_fuse_call(g, fn("sample_texture"), SPY_ARGS(of(uv)))), of(gain)));
        OK(spy_fuse_output(g, "_result", of(spy_fuse_call(g, fn("luminance"), SPY_ARGS(of(color))))));
        spy_function *f = MADE(spy_function, spy_fuse_end(g));
        float uvs[6] = { 1, 2, 3, 4, 5, 6 }, got[6], two = 2, total = 0, sum = 0;
        spy_tensor_desc t;
        memset(&t, 0, sizeof t);
        t.shape = SPY_SHAPE(3, 2);
        t.data = uvs;
        t.with_grad = true;
        spy_tensor *x = MADE(spy_tensor, spy_create_tensor(gpu_device, &t));
        t.shape = SPY_SHAPE(1);
        t.data = &two;
        spy_tensor *y = MADE(spy_tensor, spy_create_tensor(gpu_device, &t));
        t.shape = SPY_SHAPE(3);
        t.data = NULL;
        spy_tensor *out = MADE(spy_tensor, spy_create_tensor(gpu_device, &t));
        OK(spy_tensor_fill(spy_tensor_grad(out), 1));
        OK(spy_call_backward(f, SPY_ARGS(spy_arg_tensor("uv", x), spy_arg_tensor("gain", y), spy_arg_tensor("_result", out))));
        OK(spy_tensor_read(spy_tensor_grad(x), got, sizeof got));
        OK(spy_tensor_read(spy_tensor_grad(y), &total, sizeof total));
        for (int i = 0; i < 3; i++) {
            float u = uvs[2 * i], v = uvs[2 * i + 1];
            assert_float_equal(got[2 * i], 2 * (1 + 3 * v), 1e-4f);
            assert_float_equal(got[2 * i + 1], 2 * (2 + 3 * u), 1e-4f);
            sum += u + 2 * v + 3 * u * v;
        }
        assert_float_equal(total, sum, 1e-3f);
        spy_release_tensor(x);
        spy_release_tensor(y);
        spy_release_tensor(out);
        release(f);
    }
}

// A function that reduces square(x) over the dimensions.
static spy_function *reduced(spy_fuse_reduction kind, spy_dims dims) {
    spy_fusion *g = begin("reduced");
    spy_node x = spy_fuse_input(g, "x", "float");
    OK(spy_fuse_reduce(g, kind, dims, of(spy_fuse_call(g, fn("square"), SPY_ARGS(of(x))))));
    return MADE(spy_function, spy_fuse_end(g));
}

static double reduce_in_c(spy_fuse_reduction kind, double a, double b) {
    return kind == SPY_FUSE_REDUCTION_MIN ? fmin(a, b) : kind == SPY_FUSE_REDUCTION_MAX ? fmax(a, b) : a + b;
}

static void test_reductions(void **state) {
    NEEDS_DEVICE();
    enum { ROWS = 37, COLUMNS = 301 };
    static float data[ROWS][COLUMNS], grads[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) data[i][j] = (float)((i * 131 + j * 37) % 211) / 100 - 1;
    spy_tensor_desc t;
    memset(&t, 0, sizeof t);
    t.shape = SPY_SHAPE(ROWS, COLUMNS);
    t.data = data;
    t.with_grad = true;
    spy_tensor *x = MADE(spy_tensor, spy_create_tensor(gpu_device, &t));
    for (int kind = SPY_FUSE_REDUCTION_SUM; kind <= SPY_FUSE_REDUCTION_MAX; kind++) {
        spy_fuse_reduction op = (spy_fuse_reduction)kind;
        spy_dims all;
        memset(&all, 0, sizeof all);
        spy_function *whole = reduced(op, all), *rows = reduced(op, SPY_DIMS(-1));
        double start = op == SPY_FUSE_REDUCTION_MIN ? INFINITY : op == SPY_FUSE_REDUCTION_MAX ? -INFINITY : 0, want = start;
        double want_rows[ROWS];
        for (int i = 0; i < ROWS; i++) {
            want_rows[i] = start;
            for (int j = 0; j < COLUMNS; j++) want_rows[i] = reduce_in_c(op, want_rows[i], (double)data[i][j] * (double)data[i][j]);
            want = reduce_in_c(op, want, want_rows[i]);
            if (op == SPY_FUSE_REDUCTION_MEAN) want_rows[i] /= COLUMNS;
        }
        if (op == SPY_FUSE_REDUCTION_MEAN) want /= ROWS * COLUMNS;
        float got = 0, got_rows[ROWS];
        OK(spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_out_f32("_result", &got))));
        assert_float_equal(got, (float)want, (float)(fabs(want) * 1e-5 + 1e-6));
        spy_tensor *out = NULL;
        OK(spy_call(rows, SPY_ARGS(spy_arg_tensor("x", x), spy_out_tensor("_result", &out))));
        OK(spy_tensor_read(out, got_rows, sizeof got_rows));
        for (int i = 0; i < ROWS; i++) assert_float_equal(got_rows[i], (float)want_rows[i], (float)(fabs(want_rows[i]) * 1e-5 + 1e-6));
        // Gradients: of row i with the seed i + 1.
        float seeds[ROWS];
        for (int i = 0; i < ROWS; i++) seeds[i] = (float)(i + 1);
        spy_tensor *seed = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(ROWS), seeds));
        OK(spy_tensor_zero_grad(x));
        OK(spy_call_backward(rows, SPY_ARGS(spy_arg_tensor("x", x),
                                            spy_arg_diff_pair("_result", SPY_ARGS(spy_arg_tensor(NULL, out), spy_arg_tensor(NULL, seed))))));
        OK(spy_tensor_read(spy_tensor_grad(x), grads, sizeof grads));
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++) {
                float value = data[i][j] * data[i][j];
                bool chosen = op < SPY_FUSE_REDUCTION_MIN || value == got_rows[i];
                double share = op == SPY_FUSE_REDUCTION_MEAN ? 1.0 / COLUMNS : 1;
                double want_grad = chosen ? 2 * (double)data[i][j] * (i + 1) * share : 0;
                assert_float_equal(grads[i][j], (float)want_grad, 1e-3f);
            }
        // The same bits in each run.
        spy_call_options options;
        memset(&options, 0, sizeof options);
        options.deterministic = true;
        float first = 0, second = 1;
        OK(spy_call_with(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_out_f32("_result", &first)), &options));
        OK(spy_call_with(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_out_f32("_result", &second)), &options));
        assert_memory_equal(&first, &second, sizeof first);
        spy_release_tensor(seed);
        spy_release_tensor(out);
        release(whole);
        release(rows);
    }
    // Into a tensor that is there, in a list, twice.
    spy_dims all;
    memset(&all, 0, sizeof all);
    spy_function *whole = reduced(SPY_FUSE_REDUCTION_SUM, all);
    spy_tensor *out = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, gpu_rank0(), NULL));
    spy_command_list *list = MADE(spy_command_list, spy_create_command_list(gpu_device, NULL));
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.append_to = list;
    OK(spy_call_with(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", out)), &options));
    OK(spy_list_finish(list));
    float direct = 0, recorded = 0;
    OK(spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_out_f32("_result", &direct))));
    for (int i = 0; i < 2; i++) {
        OK(spy_list_submit(list));
        OK(spy_tensor_read(out, &recorded, sizeof recorded));
        assert_float_equal(recorded, direct, fabsf(direct) * 1e-5f);
    }
    // What a reduction refuses.
    float bad[2];
    FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_out_array("_result", bad, SPY_SHAPE(2), SPY_DTYPE_FLOAT32))),
          "reduced", "'_result'", "float");
    FAILS(SPY_ERROR_SHAPE_MISMATCH, spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", x))), "'_result'", "(37, 301)");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x))), "expected an argument '_result'");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", NULL))), "'_result'", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_out_tensor("_result", NULL))), "'_result'", "NULL");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", out), spy_arg_tensor("_result", out))), "twice");
    assert_null(spy_declare(whole, SPY_ARGS(spy_vdim(spy_arg_any("x"), 1))));
    ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "ends in a reduction");
    FAILS(SPY_ERROR_UNSUPPORTED, spy_call_forward_diff(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", out))), "no forward derivative");
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call_backward(whole, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", out))), "with a gradient");
    const spy_arg items[] = { spy_arg_tensor("x", x), spy_arg_tensor("_result", out) };
    const spy_args args = { items, 2 };
    assert_null(spy_prepare(whole, args, NULL));
    ERROR_ON(gpu_device, SPY_ERROR_UNSUPPORTED, "ends in a reduction");
    spy_release_command_list(list);
    spy_release_tensor(out);
    spy_release_tensor(x);
    release(whole);
}

// Reductions of calls that are large enough for several elements a thread, as vectors and one by one (src/call/width.c), over
// memory that is walked in all ways. Squares are multiples of 1/64, so that each sum is exact in any order.
typedef struct large_case {
    const char *what;
    spy_dtype dtype; // of the tensor; a half is converted, a double has a function of its own
    spy_shape shape, strides;
    int64_t offset;
    int dim; // that is reduced; -1: all of them
    spy_fuse_reduction kind;
    bool deterministic;
} large_case;

enum { LARGE = 70001, LARGE_MOST = 80000 };

static float large_value(int64_t i) {
    return i == LARGE - 1 ? 4 : (float)((i * 131 + i / 256 * 7) % 17 - 8) / 8; // the last one is the largest
}

static spy_function *large_function(const large_case *c) {
    spy_dims dims;
    memset(&dims, 0, sizeof dims);
    if (c->dim >= 0) dims = SPY_DIMS(c->dim);
    spy_fusion *g = begin("large");
    spy_node x = spy_fuse_input(g, "x", c->dtype == SPY_DTYPE_FLOAT64 ? "double" : "float");
    OK(spy_fuse_reduce(g, c->kind, dims, of(spy_fuse_call(g, fn("square"), SPY_ARGS(of(x))))));
    return MADE(spy_function, spy_fuse_end(g));
}

static void check_large(const large_case *c, spy_tensor *all) {
    static double want[LARGE_MOST];
    static float got[LARGE_MOST];
    static double got_double;
    int64_t outer = 1, inner = 1, each = 1;
    for (uint32_t d = 0; d < c->shape.rank; d++) {
        if (c->dim < 0 || (int)d == c->dim) each *= c->shape.dims[d];
        else if ((int)d < c->dim) outer *= c->shape.dims[d];
        else inner *= c->shape.dims[d];
    }
    const int64_t count = outer * inner, elements = count * each;
    for (int64_t i = 0; i < count; i++) want[i] = c->kind == SPY_FUSE_REDUCTION_SUM ? 0 : -INFINITY;
    for (int64_t e = 0; e < elements; e++) {
        int64_t at = c->offset, rest = e;
        for (uint32_t d = c->shape.rank; d-- > 0; rest /= c->shape.dims[d]) at += rest % c->shape.dims[d] * c->strides.dims[d];
        const int64_t to = c->dim < 0 ? 0 : e / (each * inner) * inner + e % inner;
        want[to] = reduce_in_c(c->kind, want[to], (double)large_value(at) * (double)large_value(at));
    }
    spy_view_desc v;
    memset(&v, 0, sizeof v);
    v.shape = c->shape;
    v.strides = c->strides;
    v.offset_elements = c->offset;
    spy_tensor *x = MADE(spy_tensor, spy_create_view(all, &v)), *out = NULL;
    spy_function *f = large_function(c);
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.deterministic = c->deterministic;
    OK(spy_call_with(f, SPY_ARGS(spy_arg_tensor("x", x), spy_out_tensor("_result", &out)), &options));
    if (c->dtype == SPY_DTYPE_FLOAT64) {
        OK(spy_tensor_read(out, &got_double, sizeof got_double));
        got[0] = (float)got_double;
    } else OK(spy_tensor_read(out, got, (size_t)count * sizeof *got));
    int wrong = 0;
    for (int64_t i = 0; i < count; i++)
        if ((double)got[i] != want[i] && wrong++ == 0)
            print_message("%s: %lld is %g, expected %g\n", c->what, (long long)i, (double)got[i], want[i]);
    assert_int_equal(wrong, 0);
    spy_release_tensor(out);
    spy_release_tensor(x);
    release(f);
}

static void test_large_reductions(void **state) {
    NEEDS_DEVICE();
    static float data[LARGE_MOST];
    for (int i = 0; i < LARGE_MOST; i++) data[i] = large_value(i);
    spy_tensor *all = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(LARGE_MOST), data));
    spy_tensor *halves = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT16, NULL, NULL, SPY_SHAPE(LARGE_MOST), NULL));
    spy_tensor *doubles = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT64, NULL, NULL, SPY_SHAPE(LARGE_MOST), NULL));
    OK(spy_call(fn("as_half"), SPY_ARGS(spy_arg_tensor("x", all), spy_arg_tensor("_result", halves))));
    OK(spy_call(fn("as_double"), SPY_ARGS(spy_arg_tensor("x", all), spy_arg_tensor("_result", doubles))));
    const spy_fuse_reduction sum = SPY_FUSE_REDUCTION_SUM, max = SPY_FUSE_REDUCTION_MAX;
    const spy_dtype f = SPY_DTYPE_FLOAT32;
    const large_case cases[] = {
        { "all", f, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, sum, false },
        { "all, deterministic", f, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, sum, true },
        { "all, largest", f, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, max, false },
        { "all, largest, deterministic", f, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, max, true },
        { "all, off the grid of vectors", f, SPY_SHAPE(LARGE), SPY_SHAPE(1), 3, -1, sum, false },
        { "backwards", f, SPY_SHAPE(LARGE), SPY_SHAPE(-1), LARGE - 1, -1, sum, false },
        { "rows", f, SPY_SHAPE(300, 256), SPY_SHAPE(256, 1), 0, 1, sum, false },
        { "rows, largest", f, SPY_SHAPE(300, 256), SPY_SHAPE(256, 1), 0, 1, max, false },
        { "rows of a wider image", f, SPY_SHAPE(300, 240), SPY_SHAPE(256, 1), 4, 1, sum, false },
        { "all of a part of an image", f, SPY_SHAPE(300, 240), SPY_SHAPE(256, 1), 4, -1, sum, false },
        { "columns", f, SPY_SHAPE(300, 256), SPY_SHAPE(256, 1), 0, 0, sum, false },
        { "the middle", f, SPY_SHAPE(16, 70, 65), SPY_SHAPE(4550, 65, 1), 0, 1, sum, false },
        { "halves", SPY_DTYPE_FLOAT16, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, sum, false },
        { "doubles", SPY_DTYPE_FLOAT64, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, sum, false },
        { "doubles, largest", SPY_DTYPE_FLOAT64, SPY_SHAPE(LARGE), SPY_SHAPE(1), 0, -1, max, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spy_dtype dtype = cases[i].dtype;
        check_large(&cases[i], dtype == SPY_DTYPE_FLOAT16 ? halves : dtype == SPY_DTYPE_FLOAT64 ? doubles : all);
    }
    // What the kernel is: vectors, and several of them at a time.
    char text[16384];
    spy_function *whole = large_function(&cases[0]);
    spy_tensor *out = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, gpu_rank0(), NULL));
    assert_true(spy_explain_call(whole, SPY_ARGS(spy_arg_tensor("x", all), spy_arg_tensor("_result", out)), NULL, text, sizeof text) <
                sizeof text);
    assert_non_null(strstr(text, "float4 w_x_1 = "));
    release(whole);
    spy_release_tensor(out);
    spy_release_tensor(doubles);
    spy_release_tensor(halves);
    spy_release_tensor(all);
}

// A step that fails says so once; the graph then gives no function.
static void fails_and_ends(spy_fusion *g, spy_node node, spy_status code, const char *first, const char *second) {
    assert_int_equal(node.graph, 0);
    ERROR_ON(gpu_device, code, first, second);
    assert_int_equal(spy_fuse_op(g, "+", SPY_ARGS(of(node), of(node))).graph, 0);
    assert_int_not_equal(spy_fuse_output(g, "_result", of(node)), SPY_OK);
    assert_null(spy_fuse_end(g));
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK); // reported already
}

static void test_errors(void **state) {
    NEEDS_DEVICE();
    spy_fusion *g = begin("bad");
    spy_node x = spy_fuse_input(g, "x", "float2");
    fails_and_ends(g, spy_fuse_call(g, fn("luminance"), SPY_ARGS(of(x))), SPY_ERROR_TYPE_MISMATCH, "spy_fuse_call: 'bad': 'luminance'",
                   "expected float3, got input 'x' (float2)");
    g = begin("bad");
    fails_and_ends(g, spy_fuse_input(g, "x", "float9"), SPY_ERROR_TYPE_MISMATCH, "input 'x'", "got 'float9'");
    g = begin("bad");
    fails_and_ends(g, spy_fuse_input(g, "no name", NULL), SPY_ERROR_TYPE_MISMATCH, "spy_fuse_input", "identifier");
    g = begin("bad");
    (void)spy_fuse_input(g, "x", NULL);
    fails_and_ends(g, spy_fuse_input(g, "x", NULL), SPY_ERROR_TYPE_MISMATCH, "input 'x'", "twice");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float3");
    fails_and_ends(g, spy_fuse_member(g, x, "w"), SPY_ERROR_TYPE_MISMATCH, "member 'w'", "components of a vector");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float3");
    fails_and_ends(g, spy_fuse_op(g, "[]", SPY_ARGS(of(x), spy_arg_i32(NULL, 3))), SPY_ERROR_TYPE_MISMATCH, "operator '[]'", "from 0 to 2");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float");
    fails_and_ends(g, spy_fuse_op(g, "+-", SPY_ARGS(of(x), of(x))), SPY_ERROR_TYPE_MISMATCH, "spy_fuse_op", "'+-' with 2 arguments");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float");
    fails_and_ends(g, spy_fuse_op(g, "&&", SPY_ARGS(of(x), of(x))), SPY_ERROR_TYPE_MISMATCH, "operator '&&'", "bools");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float3");
    fails_and_ends(g, spy_fuse_make(g, "Nothing", SPY_ARGS(of(x))), SPY_ERROR_TYPE_MISMATCH, "spy_fuse_make", "got 'Nothing'");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float");
    spy_node call = spy_fuse_call(g, fn("nothing"), SPY_ARGS(of(x)));
    fails_and_ends(g, spy_fuse_op(g, "-", SPY_ARGS(of(call))), SPY_ERROR_TYPE_MISMATCH, "argument 1", "returns nothing");
    g = begin("bad");
    x = spy_fuse_input(g, "x", "float3");
    call = spy_fuse_call(g, fn("split"), SPY_ARGS(of(x)));
    fails_and_ends(g, spy_fuse_out(g, call, "c"), SPY_ERROR_TYPE_MISMATCH, "spy_fuse_out", "got 'c'");
    g = begin("bad");
    fails_and_ends(g, spy_fuse_call(g, NULL, SPY_NO_ARGS), SPY_ERROR_TYPE_MISMATCH, "spy_fuse_call", "function");
    // Values of another graph, and of one that has ended.
    spy_fusion *first = begin("first");
    spy_node other = spy_fuse_input(first, "x", "float");
    g = begin("bad");
    fails_and_ends(g, spy_fuse_op(g, "-", SPY_ARGS(of(other))), SPY_ERROR_TYPE_MISMATCH, "argument 1", "belongs to the graph");
    spy_fuse_cancel(first);
    spy_fuse_cancel(NULL);
    // Values that leave their graph.
    float out = 7;
    FAILS(SPY_ERROR_INVALID_ARGUMENT, spy_call(fn("square"), SPY_ARGS(of(other), spy_out_f32("_result", &out))), "square", "traced value");
    assert_float_equal(out, 7, 0);
    // Tensors.
    spy_tensor *t = MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3), NULL));
    g = begin("bad");
    fails_and_ends(g, spy_fuse_call(g, fn("luminance"), SPY_ARGS(spy_arg_tensor("c", t))), SPY_ERROR_TYPE_MISMATCH, "argument 'c'", "make it an input");
    spy_release_tensor(t);
    // Graphs that are not complete.
    g = begin("empty");
    assert_null(spy_fuse_end(g));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_fuse_end", "'empty'", "returns nothing");
    g = begin("open");
    x = spy_fuse_input(g, "x", NULL);
    OK(spy_fuse_output(g, "_result", of(spy_fuse_op(g, "+", SPY_ARGS(of(x), spy_arg_f32(NULL, 1))))));
    assert_null(spy_fuse_end(g));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "spy_fuse_end", "input 'x'", "nothing says its type");
    g = begin("ints");
    x = spy_fuse_input(g, "x", "int");
    spy_dims all;
    memset(&all, 0, sizeof all);
    OK(spy_fuse_reduce(g, SPY_FUSE_REDUCTION_SUM, all, of(x)));
    assert_null(spy_fuse_end(g));
    ERROR_ON(gpu_device, SPY_ERROR_TYPE_MISMATCH, "expected a float", "int");
    // What is not differentiable is named.
    g = begin("rough");
    x = spy_fuse_input(g, "x", NULL);
    OK(spy_fuse_output(g, "_result", of(spy_fuse_call(g, fn("noise"), SPY_ARGS(of(x))))));
    spy_function *rough = MADE(spy_function, spy_fuse_end(g));
    OK(spy_call(rough, SPY_ARGS(spy_arg_f32("x", 0.1f), spy_out_f32("_result", &out))));
    assert_float_equal(out, 0.75f, 1e-5f);
    float dx = 0;
    FAILS(SPY_ERROR_UNSUPPORTED,
          spy_call_backward(rough, SPY_ARGS(spy_arg_diff_pair("x", SPY_ARGS(spy_arg_f32(NULL, 1), spy_inout_f32(NULL, &dx))),
                                            spy_arg_diff_pair("_result", SPY_ARGS(spy_out_f32(NULL, &out), spy_arg_f32(NULL, 1))))),
          "rough", "not differentiable", "noise");
    release(rough);
    // NULL, and things that are no graphs.
    assert_null(spy_fuse_begin(NULL, NULL));
    assert_null(spy_fuse_end(NULL));
    assert_int_equal(spy_fuse_input(NULL, "x", NULL).graph, 0);
    assert_int_equal(spy_fuse_call((spy_fusion *)(void *)mod, fn("square"), SPY_NO_ARGS).graph, 0);
    assert_null(spy_fuse_text(NULL));
    while (spy_take_error(NULL).code != SPY_OK) {}
    (void)spy_take_error(gpu_device);
}

static void test_two_modules_and_reload(void **state) {
    NEEDS_DEVICE();
    spy_module *other = MADE(spy_module, gpu_module(gpu_device, "fuse_more", "float third(float x) { return x / 3; }"));
    spy_fusion *g = begin("luminance"); // the name of a function that it calls
    spy_node c = spy_fuse_input(g, "c", NULL);
    spy_node l = spy_fuse_call(g, fn("luminance"), SPY_ARGS(of(c)));
    OK(spy_fuse_output(g, "_result", of(spy_fuse_call(g, MADE(spy_function, spy_find_function(other, "third")), SPY_ARGS(of(l))))));
    spy_function *f = MADE(spy_function, spy_fuse_end(g));
    assert_string_equal(spy_function_name(f), "luminance_fused");
    const float color[3] = { 3, 3, 3 };
    float out = 0;
    OK(spy_call(f, SPY_ARGS(spy_arg_f32n("c", color, 3), spy_out_f32("_result", &out))));
    assert_float_equal(out, 6, 1e-5f);
    OK(spy_reload_module(other, "float third(float x) { return x * 2; }"));
    OK(spy_call(f, SPY_ARGS(spy_arg_f32n("c", color, 3), spy_out_f32("_result", &out))));
    assert_float_equal(out, 36, 1e-5f);
    spy_release_module(other); // the fused module keeps it
    OK(spy_call(f, SPY_ARGS(spy_arg_f32n("c", color, 3), spy_out_f32("_result", &out))));
    // A fused function in another graph.
    g = begin("twice");
    c = spy_fuse_input(g, "c", NULL);
    OK(spy_fuse_output(g, "_result", of(spy_fuse_op(g, "*", SPY_ARGS(of(spy_fuse_call(g, f, SPY_ARGS(of(c)))), spy_arg_i32(NULL, 2))))));
    spy_function *twice = MADE(spy_function, spy_fuse_end(g));
    OK(spy_call(twice, SPY_ARGS(spy_arg_f32n("c", color, 3), spy_out_f32("_result", &out))));
    assert_float_equal(out, 72, 1e-5f);
    release(twice);
    release(f);
}

// A device takes with it the graphs that nobody ended.
static void test_open_graph(void **state) {
    NEEDS_DEVICE();
    spy_device_desc desc = gpu_desc();
    spy_device *device = MADE(spy_device, gpu_open(&desc));
    spy_fusion *g = spy_fuse_begin(device, NULL);
    assert_int_not_equal(spy_fuse_input(g, "x", "float").graph, 0);
    spy_release_device(device);
}

static int open_all(void **state) {
    spy_device_desc desc = gpu_desc();
    (void)gpu_hold(state);
    gpu_device = gpu_open(&desc);
    mod = gpu_device ? gpu_module(gpu_device, "fuse_source", source) : NULL;
    return gpu_device && !mod ? -1 : 0;
}

static int close_all(void **state) {
    spy_release_device(gpu_device);
    return gpu_let_go(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain),      cmocka_unit_test(test_values), cmocka_unit_test(test_backward),
        cmocka_unit_test(test_reductions), cmocka_unit_test(test_errors), cmocka_unit_test(test_two_modules_and_reload),
        cmocka_unit_test(test_open_graph), cmocka_unit_test(test_large_reductions),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
