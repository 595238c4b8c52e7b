// Calls and devices: prepared calls, what a steady state costs, order of submits, several devices and threads, the order of releases,
// what a device tells of itself, and its hooks.
#include "calls.h"
#include "counting_allocator.h"

#include <pthread.h>

// >>prepared calls

static void test_prepared(void **state) {
    NEEDS_DEVICE();
    spy_module *own = MADE(spy_module, gpu_module(gpu_device, "prepared", "float mulsub(float a, float b) { return a * b - 1; } float bad_call(float a) { return a; } T sumv<T : IArithmetic, let N : int>(vector<T, N> v) { T s = v[0]; for (int i = 1; i < N; i++) s = s + v[i]; return s; }"));
    spy_function *f = MADE(spy_function, spy_find_function(own, "mulsub"));
    spy_tensor *a = ramp(16, 1), *b = ramp(16, 2), *out = ramp(16, -3);
    for (int async = 0; async < 2; async++) {
        spy_prepare_desc d;
        memset(&d, 0, sizeof d);
        d.async = async;
        spy_tensor *extra = ramp(16, 0); // released while a compile thread may look at it
        spy_args args = async ? SPY_ARGS(spy_arg_tensor("b", extra), spy_arg_tensor("a", a), spy_arg_tensor("_result", out))
                              : SPY_ARGS(spy_arg_tensor("a", extra), spy_arg_tensor("b", b), spy_arg_tensor("_result", out));
        spy_prepared *p = MADE(spy_prepared, spy_prepare(f, args, async ? &d : NULL));
        spy_release_tensor(extra);
        spy_status ready = spy_prepared_ready(p);
        assert_true(ready == SPY_OK || (async && ready == SPY_ERROR_NOT_READY));
        uint64_t built = async ? 0 : spy_get_device_stats(gpu_device).kernels_built;
        if (async) OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("b", b), spy_arg_tensor("a", a), spy_arg_tensor("_result", out))));
        else OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("a", a), spy_arg_tensor("b", b), spy_arg_tensor("_result", out))));
        if (!async) assert_int_equal(spy_get_device_stats(gpu_device).kernels_built, built);
        FLOATS(out, 1, 5, 11, 19);
        OK(spy_prepared_ready(p));
        OK(spy_tensor_fill(out, 0));
        // Other kinds, names or ranks than prepared.
        FAILS(SPY_ERROR_TYPE_MISMATCH, spy_call_prepared(p, SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("b", b), spy_arg_tensor("_result", out))), "mulsub");
        spy_release_prepared(p);
    }
    // Prepared for float3, called with (., 4): sizes are checked.
    spy_function *g = MADE(spy_function, spy_find_function(own, "sumv"));
    spy_prepare_desc d;
    memset(&d, 0, sizeof d);
    d.async = true;
    spy_tensor *v3 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 3), (float[]){ 1, 2, 3, 4, 5, 6 }), *v4 = make(SPY_DTYPE_FLOAT32, SPY_SHAPE(2, 4), NULL), *o2 = ramp(2, 0);
    spy_prepared *p = MADE(spy_prepared, spy_prepare(g, SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", o2)), &d));
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", o2))));
    FLOATS(o2, 6, 15);
    spy_status other = spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("v", v4), spy_arg_tensor("_result", o2)));
    assert_true(other == SPY_ERROR_SHAPE_MISMATCH || other == SPY_ERROR_TYPE_MISMATCH);
    ERROR_ON(gpu_device, other, "sumv");
    FLOATS(o2, 6, 15);
    // A prepared call outlives its module's release.
    spy_release_module(own);
    OK(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("v", v3), spy_arg_tensor("_result", o2))));
    spy_release_prepared(p);
    clean();
}

// >>steady state: a counting allocator, plan hits, no submits beyond the need

static void test_steady_state(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = gpu_desc();
    d.allocator = counting_allocator();
    spy_device *device = MADE(spy_device, spy_create_device(&d));
    spy_module *m = gpu_module(device, "steady", "float f(float a, float b) { return a + b; }");
    spy_function *f = spy_find_function(m, "f");
    assert_non_null(f);
    spy_tensor *x[4];
    for (int i = 0; i < 4; i++) {
        x[i] = gpu_tensor(device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(1000), NULL);
        assert_int_equal(spy_tensor_fill(x[i], i), SPY_OK);
    }
    spy_tensor *made = NULL;
    float r = 0;
    spy_device_stats before, after;
    long long allocations = 0;
    memset(&before, 0, sizeof before);
    for (int i = 0; i < 3000; i++) {
        if (i == 1200) { // the pools are warm: 1,024 dead tensor headers are kept
            before = spy_get_device_stats(device);
            allocations = allocations_made;
        }
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", x[i % 4]), spy_arg_f32("b", (float)i), spy_arg_tensor("_result", x[(i + 1) % 4]))), SPY_OK);
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", x[0]), spy_arg_f32("b", 1), spy_out_tensor("_result", &made))), SPY_OK);
        spy_release_tensor(made);
        if (i % 100 == 0) assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_f32("a", 2), spy_arg_f32("b", 3), spy_out_f32("_result", &r))), SPY_OK);
    }
    after = spy_get_device_stats(device);
    assert_true(r == 5);
    // 1,800 rounds of 2 calls, and 18 scalar ones.
    assert_int_equal(after.calls - before.calls, 2 * 1800 + 18);
    assert_int_equal(after.plan_hits - before.plan_hits, 2 * 1800 + 18);
    assert_int_equal(after.plans_built, before.plans_built);
    assert_int_equal(after.kernels_built, before.kernels_built);
    assert_int_equal(after.dispatches - before.dispatches, 2 * 1800 + 18);
    assert_int_equal(after.driver_allocations, before.driver_allocations);
    assert_int_equal(allocations_made, allocations);
    print_message("steady state: %llu submits, %llu barriers for %llu dispatches; %lld allocations\n", (unsigned long long)(after.submits - before.submits),
                  (unsigned long long)(after.barriers - before.barriers), (unsigned long long)(after.dispatches - before.dispatches), allocations_made - allocations);
    spy_release_device(device);
    assert_int_equal(bytes_alive, 0); // all of it came back, with its right size
    assert_int_equal(spy_take_error(NULL).code, SPY_OK);
    clean();
}

// >>order of work

static void test_submits(void **state) {
    NEEDS_DEVICE();
    spy_tensor *x = ramp(1000, 0);
    OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    spy_submit_id id = spy_flush(gpu_device);
    assert_true(id > 0);
    OK(spy_wait_for_submit(gpu_device, id, UINT64_MAX));
    assert_true(spy_is_submit_finished(gpu_device, id));
    assert_true(spy_is_submit_finished(gpu_device, 0));
    OK(spy_wait_for_submit(gpu_device, 0, 0));
    // A chain of dependent calls: x -> 1000 subtractions; any missing barrier shows.
    OK(spy_tensor_fill(x, 1000));
    for (int i = 0; i < 1000; i++) OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 1), spy_arg_tensor("_result", x))));
    float got[1000];
    OK(spy_tensor_read(x, got, sizeof got));
    for (int i = 0; i < 1000; i++) assert_true(got[i] == 0);
    // Writes between calls are in order too.
    spy_tensor *y = ramp(4, 0), *z[50];
    for (int i = 0; i < 50; i++) {
        const float data[4] = { (float)i, 1, 2, 3 };
        OK(spy_tensor_write(y, data, sizeof data));
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", y), spy_arg_f32("b", 1), spy_out_tensor("_result", &z[i]))));
    }
    for (int i = 0; i < 50; i++) {
        FLOATS(z[i], (float)i - 1, 0, 1, 2);
        spy_release_tensor(z[i]);
    }
    // Released at once: the memory goes to the next tensor while the GPU may still use it.
    spy_tensor *sum = ramp(4, 0);
    OK(spy_tensor_fill(sum, 0));
    for (int i = 0; i < 200; i++) {
        spy_tensor *t = ramp(4, (float)i);
        OK(spy_call(fn("saxpy"), SPY_ARGS(spy_arg_f32("a", 1), spy_arg_tensor("x", t), spy_arg_tensor("y", sum), spy_arg_tensor("_result", sum))));
        spy_release_tensor(t);
    }
    FLOATS(sum, 19900, 20100, 20300, 20500); // sum of i + c for i < 200
    clean();
}

static void test_two_devices(void **state) {
    NEEDS_DEVICE();
    spy_device_desc d = gpu_desc();
    spy_device *other = MADE(spy_device, spy_create_device(&d));
    spy_module *m = gpu_module(other, "other", "float f(float a, float b) { return a * b; }");
    assert_non_null(m);
    spy_function *f = spy_find_function(m, "f");
    spy_tensor *x = gpu_tensor(other, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3), (float[]){ 1, 2, 3 }), *y = ramp(3, 1);
    float r[3];
    for (int i = 0; i < 20; i++) {
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", 2), spy_arg_tensor("_result", x))), SPY_OK);
        OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", y), spy_arg_f32("b", 1), spy_arg_tensor("_result", y))));
    }
    assert_int_equal(spy_tensor_read(x, r, sizeof r), SPY_OK);
    assert_true(r[0] == 1048576 && r[1] == 2097152 && r[2] == 3145728);
    FLOATS(y, -19, -18, -17);
    // Another device's tensor.
    assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", y), spy_arg_f32("b", 2), spy_arg_tensor("_result", x))), SPY_ERROR_INVALID_ARGUMENT);
    ERROR_ON(other, SPY_ERROR_INVALID_ARGUMENT, "f", "'a'", "another device");
    // Released with everything still alive, and a close callback before.
    spy_release_device(other);
    clean();
}

typedef struct turn_run {
    spy_function *f;
    spy_tensor *x, *y;
    int failed;
} turn_run;

static void *turn_thread(void *user) {
    turn_run *run = (turn_run *)user;
    for (int i = 0; i < 300; i++)
        run->failed += spy_call(run->f, SPY_ARGS(spy_arg_tensor("a", run->x), spy_arg_f32("b", 1), spy_arg_tensor("_result", run->y))) != SPY_OK;
    return NULL;
}

// Four threads on one device without a lock: every call is made.
static void test_threads(void **state) {
    NEEDS_DEVICE();
    turn_run runs[4];
    pthread_t threads[4];
    uint64_t before = spy_get_device_stats(gpu_device).calls;
    for (int i = 0; i < 4; i++) {
        runs[i].f = fn("sub");
        runs[i].x = ramp(64, 5);
        runs[i].y = ramp(64, 0);
        runs[i].failed = 0;
    }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, turn_thread, &runs[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_true(spy_get_device_stats(gpu_device).calls == before + 1200);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(runs[i].failed, 0);
        FLOATS(runs[i].y, 4, 5, 6);
    }
    assert_int_equal(spy_take_error(gpu_device).code, SPY_OK);
    clean();
}

static void *device_thread(void *user) {
    (void)user;
    spy_device_desc d = gpu_desc();
    intptr_t wrong = 0;
    for (int round = 0; round < 3; round++) {
        spy_device *device = spy_create_device(&d);
        spy_module *m = gpu_module(device, "threaded", "float f(float a) { return a + 1; }");
        spy_function *f = m ? spy_find_function(m, "f") : NULL;
        float r = 0;
        for (int i = 0; i < 50; i++)
            if (!f || spy_call(f, SPY_ARGS(spy_arg_f32("a", (float)i), spy_out_f32("_result", &r))) != SPY_OK || r != (float)(i + 1)) wrong++;
        spy_release_device(device);
    }
    return (void *)wrong;
}

// Two devices on two threads share nothing but the compiler.
static void test_devices_on_threads(void **state) {
    NEEDS_DEVICE();
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, device_thread, NULL);
    for (int i = 0; i < 2; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        assert_null(wrong);
    }
}

typedef struct release_run {
    spy_tensor *tensors[1000];
} release_run;

static void *release_thread(void *user) {
    release_run *run = (release_run *)user;
    for (int i = 0; i < 1000; i++) spy_release_tensor(run->tensors[i]);
    return NULL;
}

// Releases come from any thread at any time, while calls run.
static void test_release_elsewhere(void **state) {
    NEEDS_DEVICE();
    static release_run run;
    spy_tensor *x = ramp(64, 0), *y = ramp(64, 0);
    OK(spy_wait(gpu_device));
    uint64_t used = spy_get_device_stats(gpu_device).used_bytes;
    for (int i = 0; i < 1000; i++) run.tensors[i] = ramp(64, 0);
    assert_true(spy_get_device_stats(gpu_device).used_bytes >= used + 256000);
    pthread_t thread;
    pthread_create(&thread, NULL, release_thread, &run);
    for (int i = 0; i < 2000; i++) OK(spy_call(fn("sub"), SPY_ARGS(spy_arg_tensor("a", x), spy_arg_f32("b", (float)i), spy_arg_tensor("_result", y))));
    pthread_join(thread, NULL);
    OK(spy_wait(gpu_device));
    assert_true(spy_get_device_stats(gpu_device).used_bytes == used); // all memory came back
    FLOATS(y, -1999, -1998);
    clean();
}

static int closed;

static void on_close(spy_device *device, void *user) {
    closed += *(int *)user;
    if (spy_wait(device) != SPY_OK) closed = -100; // still usable
}

// Everything in every order: objects before the device, after their parents, and not at all.
static void test_release_order(void **state) {
    NEEDS_DEVICE();
    int one = 1, ten = 10;
    for (int order = 0; order < 4; order++) {
        spy_device_desc d = gpu_desc();
        spy_device *device = MADE(spy_device, spy_create_device(&d));
        closed = 0;
        assert_int_equal(spy_add_close_callback(device, on_close, &one), SPY_OK);
        assert_int_equal(spy_add_close_callback(device, on_close, &ten), SPY_OK);
        spy_module *m = gpu_module(device, "order", "float f(float a) { return a + 1; }");
        spy_function *f = spy_find_function(m, "f");
        spy_tensor *t = gpu_tensor(device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(8), NULL), *v = spy_create_slice(t, 0, 2, 6, 1), *o = NULL;
        spy_prepared *p = spy_prepare(f, SPY_ARGS(spy_arg_tensor("a", v), spy_out_tensor("_result", &o)), NULL);
        assert_non_null(p);
        assert_int_equal(spy_call(f, SPY_ARGS(spy_arg_tensor("a", v), spy_out_tensor("_result", &o))), SPY_OK);
        spy_retain_tensor(o);
        spy_retain_module(m);
        if (order == 1) {
            spy_release_tensor(t);
            spy_release_tensor(v);
            spy_release_tensor(o);
            spy_release_tensor(o);
            spy_release_prepared(p);
            spy_release_module(m);
            spy_release_module(m);
        } else if (order == 2) {
            spy_release_module(m);
            spy_release_module(m);
            assert_int_equal(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("a", v), spy_out_tensor("_result", &o))), SPY_OK);
            spy_release_prepared(p);
            spy_release_tensor(t);
        } else if (order == 3) {
            spy_prepare_desc async;
            memset(&async, 0, sizeof async);
            async.async = true;
            assert_non_null(spy_prepare(f, SPY_ARGS(spy_arg_f32("a", 1), spy_out_tensor("_result", &o)), &async)); // still compiling at the end
        }
        spy_release_device(device);
        assert_int_equal(closed, 11);
    }
    spy_release_device(NULL);
    spy_release_tensor(NULL);
    spy_release_module(NULL);
    spy_release_prepared(NULL);
    clean();
}

static void test_info(void **state) {
    NEEDS_DEVICE();
    spy_device_info info = spy_get_device_info(gpu_device), list[8];
    assert_string_equal(info.backend, gpu_is_cuda() ? "cuda" : "vulkan");
    assert_true(info.name[0] && info.driver[0] && info.type != SPY_ADAPTER_TYPE_DEFAULT && info.max_group_size >= 128 && info.max_group_count >= 65535);
    assert_true(info.max_inline_block_bytes >= 128 && info.memory_bytes > 0 && info.subgroup_size > 0);
    size_t n = spy_enumerate_adapters(gpu_desc().backend, NULL, 0);
    assert_true(n >= 1);
    size_t m = spy_enumerate_adapters(gpu_desc().backend, list, 8);
    assert_int_equal(n, m);
    bool found = false;
    for (size_t i = 0; i < m && i < 8; i++) found = found || strcmp(list[i].name, info.name) == 0;
    assert_true(found);
    for (int i = 0; i < 2; i++) { // by number and by a part of the name in the other case
        spy_device_desc d = gpu_desc();
        char part[600];
        memcpy(part, info.name + 1, sizeof info.name - 1);
        for (char *c = part; *c; c++) *c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
        if (i == 0) {
            d.adapter = 1;
            d.adapter_name = NULL;
        } else {
            d.adapter_name = part;
        }
        spy_device *device = MADE(spy_device, spy_create_device(&d));
        assert_string_equal(spy_get_device_info(device).name, i == 0 ? list[0].name : info.name);
        spy_release_device(device);
    }
    clean();
}

typedef struct steps {
    int begun, finished, compiles, logs;
} steps;

static void on_step(const char *step, bool finished, void *user) {
    steps *s = (steps *)user;
    if (finished) s->finished++;
    else s->begun++;
    if (strncmp(step, "compile ", 8) == 0 && finished) s->compiles++;
}

static void on_log(spy_log_level level, const char *message, void *user) {
    if (level == SPY_LOG_LEVEL_ERROR && strstr(message, "no_such_function")) ((steps *)user)->logs++;
}

static void test_hooks(void **state) {
    NEEDS_DEVICE();
    char folder[] = "/tmp/spy_dump_XXXXXX", command[300];
    steps s = { 0, 0, 0, 0 };
    assert_non_null(mkdtemp(folder));
    spy_device_desc d = gpu_desc();
    d.progress.func = on_step;
    d.progress.user_data = &s;
    d.log.func = on_log;
    d.log.user_data = &s;
    d.dump_directory = folder;
    spy_device *device = MADE(spy_device, spy_create_device(&d));
    spy_module *m = gpu_module(device, "hooks", "float f(float a) { return a + 1; }");
    float r = 0;
    for (int i = 0; i < 3; i++) assert_int_equal(spy_call(spy_find_function(m, "f"), SPY_ARGS(spy_arg_f32("a", 1), spy_out_f32("_result", &r))), SPY_OK);
    OK(spy_set_dump_directory(device, NULL)); // no kernel but f's is written
    m = gpu_module(device, "hooks2", "float g(float a) { return a + 2; }");
    assert_int_equal(spy_call(spy_find_function(m, "g"), SPY_ARGS(spy_arg_f32("a", 1), spy_out_f32("_result", &r))), SPY_OK);
    s.compiles--;
    assert_null(spy_find_function(m, "no_such_function"));
    assert_int_equal(s.logs, 1);
    assert_int_equal(s.compiles, 1);
    assert_int_equal(s.begun, s.finished);
    assert_true(s.begun >= 3); // the module, the kernel, the pipeline
    spy_release_device(device);
    snprintf(command, sizeof command, "ls %s/f_*.slang %s/f_*.%s > /dev/null && ! ls %s/g_* 2> /dev/null", folder, folder,
             gpu_is_cuda() ? "cu" : "spv", folder);
    assert_int_equal(system(command), 0);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_info), cmocka_unit_test(test_prepared), cmocka_unit_test(test_steady_state),
        cmocka_unit_test(test_submits), cmocka_unit_test(test_two_devices), cmocka_unit_test(test_threads),
        cmocka_unit_test(test_devices_on_threads), cmocka_unit_test(test_release_elsewhere),
        cmocka_unit_test(test_release_order), cmocka_unit_test(test_hooks),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
