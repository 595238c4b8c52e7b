// Compiles that fail, throw, never end or are asked for on many threads: the library says so and goes on working.
#include "gpu_test.h"

spy_device *gpu_device;

static bool leave; // what desc.interrupt answers
static char logged[4096];

static bool interrupt(void *user) {
    (void)user;
    return leave;
}

static void hear(spy_log_level level, const char *message, void *user) {
    gpu_log(level, message, user);
    snprintf(logged, sizeof logged, "%s", message);
}

static int setup(void **state) {
    (void)state;
    spy_device_desc d = gpu_desc();
    d.interrupt.func = interrupt;
    d.log.func = hear;
    gpu_device = gpu_open(&d);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (gpu_device) spy_release_device(gpu_device);
    return 0;
}

static float call1(spy_module *m, const char *name, float x) {
    float y = -1;
    OK(spy_call(MADE(spy_function, spy_find_function(m, name)), SPY_ARGS(spy_arg_f32(NULL, x), spy_out_f32("_result", &y))));
    return y;
}

// An import that fails before or after one of the library's own modules, which libslang then reads in the middle of errors: it
// threw where nothing could catch it.
static void test_failed_imports(void **state) {
    NEEDS_DEVICE();
    static const char *const texts[] = {
        "import no_such_file;\nimport slangpy_diff;\nfloat f(float x) { return x; }\n",
        "import slangpy_diff;\nimport no_such_file;\nfloat f(float x) { return x; }\n",
        "import no_such_file;\nimport slangpy_kernel;\nimport print;\nfloat f(float x) { return x; }\n",
    };
    MADE(spy_module, gpu_module(gpu_device, "good", "import slangpy_diff;\nimport print;\nfloat f(float x) { return x; }\n"));
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
            assert_null(gpu_module(gpu_device, "bad", texts[i]));
            spy_error e = spy_take_error(gpu_device);
            assert_int_equal(e.code, SPY_ERROR_COMPILE);
            assert_non_null(strstr(e.message, "cannot open file 'no_such_file.slang'"));
            assert_null(strstr(e.message, "slangpy-embedded")); // errors in our modules are none of the user's
        }
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "good2", "import slangpy_diff;\nfloat f(float x) { return x + 1; }\n"));
    assert_true(call1(m, "f", 1) == 2);
}

// libslang remembers an import that failed, and linked NULL when the same kernel was asked for again.
static void test_failed_preludes(void **state) {
    NEEDS_DEVICE();
    static const char *const preludes[] = { "import no_such_file;", "import slangpy_diff; import no_such_file;",
                                            "import no_such_file; import slangpy_diff;", "#include \"no_such_file.h\"",
                                            "float broken( { return 1; }", "}", "\"", "/*", "#if 1", "#error no" };
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "preludes", "float f(float x) { return 2 * x; }\n"));
    spy_function *f = MADE(spy_function, spy_find_function(m, "f"));
    for (size_t i = 0; i < sizeof preludes / sizeof preludes[0]; i++)
        for (int turn = 0; turn < 2; turn++) {
            float y = -1;
            spy_call_options o;
            memset(&o, 0, sizeof o);
            o.prelude = preludes[i];
            FAILS(SPY_ERROR_COMPILE, spy_call_with(f, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &y)), &o), "spy_call_with", "f");
            assert_true(y == -1);
        }
    assert_true(call1(m, "f", 3) == 6);
}

// The layout of an entry point that is still generic was asked for: libslang threw.
static void test_open_generics(void **state) {
    NEEDS_DEVICE();
    spy_module *m = MADE(
        spy_module,
        gpu_module(gpu_device, "open",
                   "void plain<T : IFloat>(uint3 i : SV_DispatchThreadID, RWStructuredBuffer<T> t) { t[i.x] = T(1); }\n"
                   "void sized<let N : int>(uint3 i : SV_DispatchThreadID, RWStructuredBuffer<float> t) { t[i.x] = N; }\n"
                   "[shader(\"compute\")]\n[numthreads(8, 1, 1)]\n"
                   "void shader<let N : int>(uint3 i : SV_DispatchThreadID, RWStructuredBuffer<float> t) { t[i.x] = N; }\n"
                   "[shader(\"compute\")]\n[numthreads(8, 1, 1)]\n"
                   "void array<T, let N : int>(uint3 i : SV_DispatchThreadID, T t[N]) {}\n"));
    static const char *const names[] = { "plain", "sized", "shader", "array" };
    const float none[8] = { 0 };
    spy_tensor *t =
        MADE(spy_tensor, gpu_tensor(gpu_device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), none));
    spy_uint3 threads = { 8, 1, 1 };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        for (int turn = 0; turn < 2; turn++) {
            spy_function *f = MADE(spy_function, spy_find_function(m, names[i]));
            spy_status status = spy_dispatch(f, threads, SPY_ARGS(spy_arg_tensor("t", t)), NULL);
            spy_error e = spy_take_error(gpu_device);
            assert_int_equal(status, e.code); // `plain` infers its T from the tensor; the others cannot be had
            if (status != SPY_OK) assert_non_null(strstr(e.message, names[i]));
            if (i > 0) assert_int_not_equal(status, SPY_OK);
        }
    spy_release_tensor(t);
}

// >>threads: each of these calls crashed on any thread but the one that opened the compiler

static const char thread_source[] = "float sq(float x) { return x * x; }\n"
                                    "interface IShape { float area(); }\n"
                                    "struct Circle : IShape { float r; float area() { return r * r; } }\n"
                                    "float area<T : IShape>(T shape) { return shape.area(); }\n";

static void *ask_backward(void *user) {
    spy_module *m = (spy_module *)user;
    float zero[4] = { 0 };
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(4);
    d.data = zero;
    d.with_grad = true;
    spy_tensor *x = spy_create_tensor(gpu_device, &d), *y = spy_create_tensor(gpu_device, &d);
    spy_status status = spy_call_backward(spy_find_function(m, "sq"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)));
    spy_release_tensor(x);
    spy_release_tensor(y);
    return status != SPY_OK ? user : NULL; // it is not differentiable
}

static void *ask_implements(void *user) {
    spy_module *m = (spy_module *)user;
    bool good = spy_type_implements(m, "Circle", "IShape") && !spy_type_implements(m, "float", "IShape") &&
                spy_type_implements(m, "float", "IDifferentiable") && !spy_type_implements(m, "Circle", "IDifferentiable");
    return good ? user : NULL;
}

static void *ask_prepare(void *user) {
    spy_module *m = (spy_module *)user;
    spy_call_options o;
    memset(&o, 0, sizeof o);
    o.mode = SPY_CALL_MODE_BACKWARD;
    float zero[4] = { 0 };
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(4);
    d.data = zero;
    d.with_grad = true;
    spy_tensor *x = spy_create_tensor(gpu_device, &d);
    spy_prepare_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.async = true;
    desc.options = &o;
    spy_prepared *p = spy_prepare(spy_find_function(m, "sq"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", x)), &desc);
    while (p && spy_prepared_ready(p) == SPY_ERROR_NOT_READY) usleep(1000);
    bool failed = !p || spy_prepared_ready(p) != SPY_OK;
    spy_release_prepared(p);
    spy_release_tensor(x);
    return failed ? user : NULL;
}

static void test_threads(void **state) {
    NEEDS_DEVICE();
    void *(*const asks[])(void *) = { ask_backward, ask_implements, ask_prepare };
    spy_module *m = MADE(spy_module, gpu_module(gpu_device, "threads", thread_source));
    for (size_t i = 0; i < 2 * sizeof asks / sizeof asks[0]; i++) {
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, asks[i / 2], m), 0);
        pthread_join(thread, &result);
        assert_ptr_equal(result, m);
        spy_take_error(gpu_device);
    }
}

// >>compiles that never end

static void test_endless(void **state) {
    NEEDS_DEVICE();
    // 160,000 steps, each of which libslang writes out: it is at it for minutes.
    spy_module *m = MADE(spy_module,
                         gpu_module(gpu_device, "endless",
                                    "import slangpy_diff;\n"
                                    "[Differentiable] float endless(DiffTensor<float, 1> x)\n{\n    float s = x[0];\n"
                                    "    [ForceUnroll] for (int i = 0; i < 400; i++)\n"
                                    "        [ForceUnroll] for (int j = 0; j < 400; j++) s = s * s + x[1];\n    return s;\n}\n"
                                    "float twice(float x) { return 2 * x; }\n"));
    spy_module *other = MADE(spy_module, gpu_module(gpu_device, "other", "struct S { float a; };\nfloat f(S s) { return s.a; }\n"));
    const float data[4] = { 1, 2, 3, 4 };
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(4);
    d.data = data;
    d.with_grad = true;
    spy_tensor *x = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    d.shape = gpu_rank0();
    d.data = data;
    spy_tensor *y = MADE(spy_tensor, spy_create_tensor(gpu_device, &d));
    spy_function *f = MADE(spy_function, spy_find_function(m, "endless"));
    leave = true; // 50 ms after it was asked for
    spy_status status = spy_call_backward(f, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)));
    leave = false;
    assert_int_equal(status, SPY_ERROR_INTERRUPTED);
    ERROR_ON(gpu_device, SPY_ERROR_INTERRUPTED, "spy_call_backward", "endless", "interrupted after");
    // All modules go on, whose sessions were lost; gradients are as they were.
    assert_true(call1(m, "twice", 4) == 8);
    assert_int_equal(spy_type_size_bytes(other, "S"), 4);
    float grad[4] = { 1, 1, 1, 1 };
    OK(spy_tensor_read(spy_tensor_grad(x), grad, sizeof grad));
    for (int i = 0; i < 4; i++) assert_true(grad[i] == 0);
    spy_release_tensor(x);
    spy_release_tensor(y);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failed_imports), cmocka_unit_test(test_failed_preludes), cmocka_unit_test(test_open_generics),
        cmocka_unit_test(test_threads),        cmocka_unit_test(test_endless),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
