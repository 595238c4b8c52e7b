// The element function over graphs of calls made by hand: what it says, that its kernels compile (wide, flat, through bwd_diff and
// fwd_diff), and that it computes what the calls compute one by one.
#include "spy_test.h"
#include "hold_slang.h"
#ifdef SPY_TEST_SPLIT
#include "backend/null/null.h"
#include "call/launch.h"
#include "emit/emit.h"
#include "module/module.h"
#include "plan/cache.h"
#endif

// Each function_of_... has the parameters and the result of a graph: it is what the graph's arguments are bound to.
static const char source[] =
    "[Differentiable] float f(float a, float b) { return a * b; }\n"
    "[Differentiable] float g(float x, float c) { return x + 10 * c; }\n"
    "[Differentiable] float v_a(float x) { return x - 1; }\n"
    "void split(float x, out float low, out float high) { low = x - 1; high = x + 1; }\n"
    "struct Ray { float3 o; float3 d; float3 at(float t) { return o + t * d; } }\n"
    "Ray make(float3 o, float3 d) { Ray r; r.o = o; r.d = d; return r; }\n"
    "float3 scaled(float3 v, float s) { return v * s; }\n"
    "[Differentiable] float of_two(float a, float b, float c) { return 0; }\n"
    "[Differentiable] float of_hidden(float a) { return 0; }\n"
    "float of_shared(float a, float b, out float low, out float high) { low = high = 0; return 0; }\n"
    "float3 of_ray(float3 o, float3 d, float s, float t) { return o; }\n"
    "float3 of_moved(Ray ray, float s, float t) { return ray.o; }\n";

#define ARGUMENT(i)                                                                                          \
    { false, i }
#define RESULT(i)                                                                                            \
    { true, i }
#define CALL(callee, name, operands)                                                                         \
    { callee, name, NULL, operands, sizeof(operands) / sizeof *(operands) }

// A graph, and the names of the types that its calls return, "void" among them.
typedef struct row {
    const char *function;
    const spyi_graph_call *calls;
    const char *const *results;
    uint32_t call_count, result;
    const char *body; // of the element function
} row;

static const spyi_operand of_f[] = { ARGUMENT(0), ARGUMENT(1) }, of_g[] = { RESULT(0), ARGUMENT(2) };
static const spyi_graph_call two[] = { CALL(SPYI_CALLEE_FUNCTION, "f", of_f),
                                       CALL(SPYI_CALLEE_FUNCTION, "g", of_g) };
static const spyi_operand of_a[] = { ARGUMENT(0) }, of_r0[] = { RESULT(0) };
static const spyi_graph_call hidden[] = { CALL(SPYI_CALLEE_FUNCTION, "v_a", of_a),
                                          CALL(SPYI_CALLEE_FUNCTION, "v_a", of_r0) };
static const spyi_operand of_split[] = { RESULT(0), ARGUMENT(2), ARGUMENT(3) };
static const spyi_graph_call shared[] = { CALL(SPYI_CALLEE_FUNCTION, "f", of_f),
                                          CALL(SPYI_CALLEE_FUNCTION, "split", of_split) };
static const spyi_operand of_scaled[] = { ARGUMENT(1), ARGUMENT(2) }, of_make[] = { ARGUMENT(0), RESULT(0) },
                          of_at[] = { RESULT(1), ARGUMENT(3) };
static const spyi_graph_call ray[] = { CALL(SPYI_CALLEE_FUNCTION, "scaled", of_scaled),
                                       CALL(SPYI_CALLEE_FUNCTION, "make", of_make),
                                       CALL(SPYI_CALLEE_METHOD, "at", of_at) };
static const spyi_operand of_moved[] = { ARGUMENT(0), ARGUMENT(2) },
                          of_moved_s[] = { RESULT(0), ARGUMENT(1) };
static const spyi_graph_call moved[] = { CALL(SPYI_CALLEE_METHOD, "at", of_moved),
                                         CALL(SPYI_CALLEE_FUNCTION, "scaled", of_moved_s) };

static const char *const two_results[] = { "float", "float" }, *const shared_results[] = { "float", "void" },
                         *const ray_results[] = { "float3", "Ray", "float3" },
                         *const moved_results[] = { "float3", "float3" };
static const row rows[] = {
    { "of_two", two, two_results, 2, 1, "    float r_0 = f(v_a, v_b);\n    return g(r_0, v_c);\n" },
    { "of_hidden", hidden, two_results, 2, 1,
      "    float r_0 = spyi_called(v_a);\n    return spyi_called_1(r_0);\n" },
    { "of_shared", shared, shared_results, 2, 0,
      "    float r_result = f(v_a, v_b);\n    split(r_result, v_low, v_high);\n    return r_result;\n" },
    { "of_ray", ray, ray_results, 3, 2,
      "    float3 r_0 = scaled(v_d, v_s);\n    Ray r_1 = make(v_o, r_0);\n    return r_1.at(v_t);\n" },
    { "of_moved", moved, moved_results, 2, 1,
      "    Ray a_ray;\n    a_ray.o = v_ray_o;\n    a_ray.d = v_ray_d;\n    float3 r_0 = a_ray.at(v_t);\n"
      "    return scaled(r_0, v_s);\n" },
};

enum { COUNT = 37, MOST_CALLS = 3 }; // elements: the last vector of four is partly valid

// >>a call, bound and shaped but not run

typedef struct bench {
    spy_device *device;
    spy_module *module;
    spy_tensor *tensors[16];
    uint32_t count;
} bench;

static spy_tensor *tensor(bench *t, uint32_t width, float step, bool grad) {
    float data[3 * COUNT];
    for (int i = 0; i < 3 * COUNT; i++) data[i] = step * (float)(i % 19) - 2;
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = width > 1 ? SPY_SHAPE(COUNT, width) : SPY_SHAPE(COUNT);
    d.data = data;
    d.with_grad = grad;
    t->tensors[t->count] = spy_create_tensor(t->device, &d);
    assert_non_null(t->tensors[t->count]);
    return t->tensors[t->count++];
}

static void open_bench(bench *t, const spy_backend *backend, const char *text) {
    spy_device_desc d;
    spy_module_desc m;
    memset(t, 0, sizeof *t);
    memset(&d, 0, sizeof d);
    memset(&m, 0, sizeof m);
    d.backend = backend;
    t->device = spy_create_device(&d);
    if (!t->device) {
        print_message("skipped: %s\n", spy_take_error(NULL).message);
        skip();
    }
    m.name = "emitted";
    m.source = text;
    t->module = spy_load_module(t->device, &m);
    if (!t->module) fail_msg("%s", spy_take_error(t->device).message);
}

static void close_bench(bench *t) {
    for (uint32_t i = 0; i < t->count; i++) spy_release_tensor(t->tensors[i]);
    spy_release_device(t->device);
}

static const spyi_type *type_of(bench *t, const char *name) {
    const spyi_type *type = spyi_type_parse(t->device->types, name);
    return type ? type : spyi_unit_find_type(t->module->unit, name);
}

// The arguments of row `r`, the result last; `grad`: each number has a gradient.
static size_t arguments_of(bench *t, const row *r, bool grad, spy_arg *args, spy_arg *fields) {
    static const char *const names[] = { "a", "b", "c" };
    size_t n = 0;
    if (strcmp(r->function, "of_ray") == 0) {
        args[n++] = spy_arg_tensor("o", tensor(t, 3, 0.5f, grad));
        args[n++] = spy_arg_tensor("d", tensor(t, 3, 0.25f, grad));
        args[n++] = spy_arg_f32("s", 3);
        args[n++] = spy_arg_tensor("t", tensor(t, 1, 0.125f, grad));
    } else if (strcmp(r->function, "of_moved") == 0) {
        fields[0] = spy_arg_tensor("o", tensor(t, 3, 0.5f, grad));
        fields[1] = spy_arg_tensor("d", tensor(t, 3, 0.25f, grad));
        spy_args inner;
        inner.items = fields;
        inner.count = 2;
        args[n++] = spy_arg_struct("ray", inner);
        args[n++] = spy_arg_f32("s", 3);
        args[n++] = spy_arg_tensor("t", tensor(t, 1, 0.125f, grad));
    } else {
        size_t inputs = r->calls == two ? 3 : r->calls == hidden ? 1 : 2;
        for (; n < inputs; n++) args[n] = spy_arg_tensor(names[n], tensor(t, 1, 0.5f * (float)(n + 1), grad));
        if (r->calls == shared) {
            args[n++] = spy_arg_tensor("low", tensor(t, 1, 0, grad));
            args[n++] = spy_arg_tensor("high", tensor(t, 1, 0, grad));
        }
    }
    args[n++] = spy_arg_tensor("_result", tensor(t, r->calls == ray || r->calls == moved ? 3 : 1, 0, grad));
    return n;
}

// The kernel of row `r`, compiled. The text is the caller's.
static void emit_row(bench *t, const row *r, spy_call_mode mode, spyi_text *text) {
    spy_arg args[8], fields[2];
    spy_call_options options;
    spyi_graph graph;
    spyi_graph_call calls[MOST_CALLS];
    spyi_emitted emitted;
    spyi_plan *plan = NULL;
    spyi_code code;
    spyi_text error = { NULL, 0, 0 };
    memset(&options, 0, sizeof options);
    memset(&code, 0, sizeof code);
    options.mode = mode;
    spy_function *function = spy_find_function(t->module, r->function);
    assert_non_null(function);
    spy_args list;
    list.items = args;
    list.count = arguments_of(t, r, mode != SPY_CALL_MODE_DEFAULT, args, fields);
    assert_int_equal(spyi_enter(function, SPYI_KIND_FUNCTION, "test"), SPY_OK);
    spyi_values *values = t->device->cache->values;
    spy_status status = spyi_describe(function, list, &options, NULL, values, &error);
    if (status == SPY_OK) status = spyi_plan_get(function, values, &plan, &error);
    if (status == SPY_OK) (void)spyi_plan_fresh_launch(plan);
    if (status == SPY_OK) status = spyi_launch_shape(plan, values, &error);
    graph.calls = calls;
    graph.call_count = r->call_count;
    graph.result = r->result;
    for (uint32_t i = 0; i < r->call_count; i++) {
        calls[i] = r->calls[i];
        calls[i].result = type_of(t, r->results[i]);
        assert_non_null(calls[i].result);
    }
    memset(&emitted, 0, sizeof emitted);
    if (status == SPY_OK)
        status = spyi_emit_graph(function, &t->device->base->limits.profile, &plan->bound, &graph,
                                 &plan->launch->key, &emitted, &error);
    spyi_conformances none = { NULL, 0 };
    if (status == SPY_OK)
        status = spyi_unit_compile(t->module->unit, r->function, spyi_text_str(&emitted.text),
                                   SPYI_KERNEL_ENTRY, none, &code, &error);
    if (status != SPY_OK)
        fail_msg("%s: %s\n%s", r->function, spyi_text_str(&error), spyi_text_str(&emitted.text));
    assert_true(code.size > 0);
    const char *validator = getenv("SPIRV_VAL");
    if (t->device->base->limits.profile.target == SPYI_TARGET_SPIRV && validator &&
        spyi_file_exists(validator)) {
        char command[400];
        assert_true(spyi_file_write("/tmp/spy_test_emit.spv", code.data, code.size));
        snprintf(command, sizeof command,
                 "%s --target-env vulkan1.3 --scalar-block-layout /tmp/spy_test_emit.spv", validator);
        if (system(command) != 0) fail_msg("%s", spyi_text_str(&emitted.text));
        remove("/tmp/spy_test_emit.spv");
    }
    spyi_text_add(text, "%s", spyi_text_str(&emitted.text));
    spyi_code_free(&code);
    spyi_emitted_free(&emitted);
    spyi_text_free(&error);
    spyi_leave(t->device);
}

// >>tests

static void test_texts(void **state) {
    (void)state;
    bench t;
    open_bench(&t, spyi_null_backend(), source);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spyi_text text = { NULL, 0, 0 };
        emit_row(&t, &rows[i], SPY_CALL_MODE_DEFAULT, &text);
        if (!strstr(spyi_text_str(&text), rows[i].body)) fail_msg("%s", spyi_text_str(&text));
        assert_non_null(strstr(spyi_text_str(&text), "[ForceInline]\nfloat"));
        spyi_text_free(&text);
        for (uint32_t k = 0; k < t.count; k++) spy_release_tensor(t.tensors[k]);
        t.count = 0;
    }
    close_bench(&t);
}

static void test_derivatives(void **state) {
    static const char *const bodies[] = {
        "    float r_0 = f(v_a, v_b);\n    v__result = g(r_0, v_c);\n",
        "    float r_0 = spyi_called(v_a);\n    v__result = spyi_called_1(r_0);\n"
    };
    (void)state;
    bench t;
    open_bench(&t, spyi_null_backend(), source);
    for (size_t i = 0; i < 2; i++) {
        for (int backward = 0; backward < 2; backward++) {
            spyi_text text = { NULL, 0, 0 };
            emit_row(&t, &rows[i], backward ? SPY_CALL_MODE_BACKWARD : SPY_CALL_MODE_FORWARD_DIFF, &text);
            assert_non_null(strstr(spyi_text_str(&text), "[Differentiable]\nvoid spyi_element("));
            assert_non_null(strstr(spyi_text_str(&text),
                                   backward ? "bwd_diff(spyi_element)(" : "fwd_diff(spyi_element)("));
            if (!strstr(spyi_text_str(&text), bodies[i])) fail_msg("%s", spyi_text_str(&text));
            spyi_text_free(&text);
        }
    }
    close_bench(&t);
}

// The element function is Slang like any other: as a function of a module it is called on a device, and computes what the
// graph's calls give one by one.
static void test_runs(void **state) {
    (void)state;
    bench t, v;
    spy_arg args[8], fields[2];
    float r[3 * COUNT];
    open_bench(&t, spyi_null_backend(), source);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spyi_text text = { NULL, 0, 0 }, all = { NULL, 0, 0 };
        const row *now = &rows[i];
        emit_row(&t, now, SPY_CALL_MODE_DEFAULT, &text);
        const char *begin = strstr(spyi_text_str(&text), "import emitted;\n"),
                   *end = strstr(spyi_text_str(&text), "struct SpyiBlock");
        assert_true(begin && end);
        begin += strlen("import emitted;\n");
        spyi_text_add(&all, "%s%.*s", source, (int)(end - begin), begin);
        for (char *c = all.data; (c = strstr(c, "spyi_")) != NULL;)
            memcpy(c, "test_", 5); // ours are no user's
        open_bench(&v, spy_vk_backend(), spyi_text_str(&all));
        spy_function *element = spy_find_function(v.module, "test_element");
        if (!element) fail_msg("%s\n%s", spy_take_error(v.device).message, spyi_text_str(&all));
        if (now->calls == moved) { // its leaves
            arguments_of(&v, now, false, args, fields);
            spy_arg result = args[3], s = args[1], time = args[2];
            args[0] = fields[0], args[1] = fields[1], args[2] = s, args[3] = time, args[4] = result;
        }
        size_t n = now->calls == moved ? 5 : arguments_of(&v, now, false, args, fields);
        for (size_t k = 0; k + 1 < n; k++) args[k].name = NULL;
        spy_args list;
        list.items = args;
        list.count = n;
        if (spy_call(element, list) != SPY_OK) fail_msg("%s", spy_take_error(v.device).message);
        assert_int_equal(spy_tensor_read(v.tensors[v.count - 1], r,
                                         (size_t)spy_get_tensor_info(v.tensors[v.count - 1]).host_size_bytes),
                         SPY_OK);
        for (int e = 0; e < COUNT; e++) {
            float a = 0.5f * (float)(e % 19) - 2, b = 1.0f * (float)(e % 19) - 2,
                  c = 1.5f * (float)(e % 19) - 2;
            float time = 0.125f * (float)(e % 19) - 2;
            for (int k = 0; k < 3; k++) {
                float o = 0.5f * (float)((3 * e + k) % 19) - 2, d = 0.25f * (float)((3 * e + k) % 19) - 2;
                if (now->calls == ray) assert_float_equal(r[3 * e + k], o + time * (d * 3), 1e-4f);
                if (now->calls == moved) assert_float_equal(r[3 * e + k], (o + time * d) * 3, 1e-4f);
            }
            if (now->calls == two) assert_float_equal(r[e], a * b + 10 * c, 1e-4f);
            if (now->calls == hidden) assert_float_equal(r[e], a - 2, 1e-4f);
            if (now->calls == shared) assert_float_equal(r[e], a * b, 1e-4f);
        }
        if (now->calls == shared) {
            float high[COUNT];
            assert_int_equal(spy_tensor_read(v.tensors[v.count - 2], high, sizeof high), SPY_OK);
            for (int e = 0; e < COUNT; e++) assert_float_equal(high[e], r[e] + 1, 1e-4f);
        }
        close_bench(&v);
        spyi_text_free(&text);
        spyi_text_free(&all);
        for (uint32_t k = 0; k < t.count; k++) spy_release_tensor(t.tensors[k]);
        t.count = 0;
    }
    close_bench(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_derivatives),
        cmocka_unit_test(test_runs),
    };
    return cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
