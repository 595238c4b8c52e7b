// The thread that calls libslang: callers that leave a task which lasts, workers that are lost and come back, exceptions,
// forks, and whose thread asks the file hook.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE // fork, usleep
#endif
#include "spy_test.h"
#ifdef SPY_TEST_SPLIT
#include "compiler/internal.h"
#endif
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

// >>fixture: one compiler and one unit for all tests, made on another thread than the one that runs them

static spyi_context ctx;
static spyi_types *types;
static spyi_compiler *compiler;
static spyi_unit *unit;
static spyi_text logged;
static pthread_t test_thread;
static int polls, leave_at; // desc.interrupt on that thread: times asked, and the one that it says yes at; 0: never
static int blocks, unblocks;
static pthread_t hook_thread;
static int hook_asked;

static void hear(spy_log_level level, const char *message, void *user_data) {
    (void)level, (void)user_data;
    spyi_text_add(&logged, "%s\n", message);
}

static bool interrupt(void *user_data) {
    (void)user_data;
    return pthread_equal(pthread_self(), test_thread) && ++polls == leave_at;
}

static void on_block(bool begins, void *user_data) {
    (void)user_data;
    if (!pthread_equal(pthread_self(), test_thread)) return;
    if (begins) blocks++;
    else unblocks++;
}

static bool hook_open(const char *path, spy_file *file, void *user_data) {
    static const char text[] = "public float part(float x) { return x; }\n";
    (void)user_data;
    hook_thread = pthread_self();
    hook_asked++;
    if (!strstr(path, "hooked.slang") || strstr(path, "-module")) return false;
    file->data = text;
    file->size_bytes = sizeof text - 1;
    return true;
}

static spyi_unit *load(const char *name, const char *source, spy_status wanted, spyi_text *error) {
    spyi_unit_desc desc;
    spyi_unit *made = NULL;
    memset(&desc, 0, sizeof desc);
    desc.name = name;
    desc.source = source;
    spyi_text ignored = { NULL, 0, 0 };
    spy_status status = spyi_unit_load(compiler, &desc, &made, error ? error : &ignored);
    if (status != wanted) print_error("%s\n", spyi_text_str(error ? error : &ignored));
    spyi_text_free(&ignored);
    assert_int_equal(status, wanted);
    return made;
}

static void *make_all(void *arg) {
    spy_device_desc device;
    memset(&device, 0, sizeof device);
    device.log.func = hear;
    device.interrupt.func = interrupt;
    device.blocking.func = on_block;
    spyi_context_init(&ctx, &device);
    types = spyi_types_create(SPYI_TARGET_SPIRV);
    spyi_compiler_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.target = SPYI_TARGET_SPIRV;
    desc.files.open = hook_open;
    compiler = spyi_compiler_create(&ctx, types, &desc);
    unit = load("user", "struct S { float a; int b; }\nfloat f(S s) { return s.a; }\n", SPY_OK, NULL);
    return arg;
}

static int set_up(void **state) {
    pthread_t thread;
    (void)state;
    if (pthread_create(&thread, NULL, make_all, NULL) != 0) return -1;
    pthread_join(thread, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    spyi_unit_release(unit);
    spyi_compiler_destroy(compiler);
    spyi_types_destroy(types);
    spyi_context_destroy(&ctx);
    spyi_text_free(&logged);
    return 0;
}

static void needs_slang(void) {
    if (unit) return;
    print_message("no libslang\n");
    skip();
}

static void begin_test(void) {
    needs_slang();
    spyi_text_clear(&logged);
    test_thread = pthread_self();
    polls = leave_at = blocks = unblocks = 0;
    ctx.compile_timeout_s = 0;
}

// The unit answers as ever, from whatever session it has now.
static void check_unit(void) {
    const spyi_type *type = spyi_unit_find_type(unit, "S");
    assert_non_null(type);
    assert_int_equal(type->device_size, 8);
    spyi_overloads found;
    spyi_text error = { NULL, 0, 0 };
    assert_int_equal(spyi_unit_find_function(unit, "f", &found, &error), SPY_OK);
    assert_int_equal(found.count, 1);
    spyi_overloads_free(&found);
    spyi_text_free(&error);
}

// >>tasks

typedef struct long_call {
    spyi_atomic go_on, entered; // what it waits for, as libslang might; what it has reached
    spyi_atomic returned;       // 1: the task went on after its call
} long_call;

static void last_long(void *context) {
    long_call *call = (long_call *)context;
    spyi_sl_begin_long();
    spyi_atomic_store(&call->entered, 1);
    while (!spyi_atomic_load(&call->go_on)) usleep(1000);
    spyi_sl_end_long();
    spyi_atomic_store(&call->returned, 1);
}

static void count_up(void *context) {
    ++*(int *)context;
}

static void test_leaving(void **state) {
    (void)state;
    begin_test();
    static long_call call; // outlives its caller's frame, as what libslang reads must
    spyi_text error = { NULL, 0, 0 };
    ctx.compile_timeout_s = 2.2;
    assert_int_equal(spyi_sl_run(compiler, "compile f", last_long, &call, &error), SPY_ERROR_TIMEOUT);
    assert_non_null(strstr(spyi_text_str(&error), "desc.compile_timeout_s allows 2.2"));
    assert_non_null(strstr(spyi_text_str(&logged), "compile f: 2 s so far; the Slang compiler is still at it"));
    assert_non_null(strstr(spyi_text_str(&logged), "compile f: the Slang compiler is left"));
    assert_int_equal(blocks, 1);
    assert_int_equal(unblocks, 1);
    ctx.compile_timeout_s = 0;
    int count = 0;
    assert_int_equal(spyi_sl_run(compiler, "count", count_up, &count, &error), SPY_OK);
    assert_int_equal(count, 1);
    check_unit();
    // What was left comes back at last, and does not touch what its caller had.
    spyi_atomic_store(&call.go_on, 1);
    for (int i = 0; i < 5; i++) check_unit();
    assert_int_equal(spyi_atomic_load(&call.returned), 0);
    spyi_text_free(&error);
}

typedef struct waiter {
    int count;
    spy_status status;
} waiter;

static void *wait_turn(void *arg) {
    waiter *w = (waiter *)arg;
    spyi_text error = { NULL, 0, 0 };
    w->status = spyi_sl_run(compiler, "count", count_up, &w->count, &error);
    spyi_text_free(&error);
    return NULL;
}

// Ctrl-C: the caller leaves; a thread that waited for its turn gets it from the next worker.
static void test_interrupt(void **state) {
    (void)state;
    begin_test();
    static long_call call;
    static waiter other;
    pthread_t thread;
    spyi_text error = { NULL, 0, 0 };
    leave_at = 8;
    memset(&other, 0, sizeof other);
    assert_int_equal(pthread_create(&thread, NULL, wait_turn, &other), 0);
    uint64_t began = spyi_time_ns();
    assert_int_equal(spyi_sl_run(compiler, "compile f", last_long, &call, &error), SPY_ERROR_INTERRUPTED);
    assert_true(spyi_time_ns() - began < 5000000000u); // 0.4 s on a machine that has time
    assert_non_null(strstr(spyi_text_str(&error), "compile f: interrupted after"));
    pthread_join(thread, NULL);
    assert_int_equal(other.status, SPY_OK);
    assert_int_equal(other.count, 1);
    assert_int_equal(blocks, unblocks);
    check_unit();
    spyi_atomic_store(&call.go_on, 1);
    spyi_text_free(&error);
}

// libslang's own exceptions end in the C++ library's std::terminate(), which is called here.
static void throw(void *context) {
    void (*terminate)(void);
    void *symbol = spyi_library_symbol(compiler->library->handle, "_ZSt9terminatev");
    (void)context;
    assert_non_null(symbol);
    memcpy(&terminate, &symbol, sizeof terminate);
    terminate();
}

static void test_throwing(void **state) {
    (void)state;
    begin_test();
    spyi_text error = { NULL, 0, 0 };
    assert_int_equal(spyi_sl_run(compiler, "compile f", throw, NULL, &error), SPY_ERROR_COMPILE);
    assert_non_null(strstr(spyi_text_str(&error), "compile f: the Slang compiler threw an exception"));
    check_unit();
    spyi_text_free(&error);
}

static void test_hooks(void **state) {
    (void)state;
    begin_test();
    hook_asked = 0;
    spyi_unit *made = load("importer", "import hooked;\nfloat g(float x) { return part(x); }\n", SPY_OK, NULL);
    assert_true(hook_asked > 0);
    assert_true(pthread_equal(hook_thread, pthread_self()));
    spyi_unit_release(made);
}

// Expressions of this depth crash libslang on a thread with a stack of the usual 8 MiB.
static void test_deep(void **state) {
    (void)state;
    begin_test();
    enum { DEPTH = 4000 };
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add(&text, "float deep(float x) { return ");
    for (int i = 0; i < DEPTH; i++) spyi_text_add(&text, "(");
    spyi_text_add(&text, "x");
    for (int i = 0; i < DEPTH; i++) spyi_text_add(&text, ")");
    spyi_text_add(&text, "; }\n");
    spyi_unit_release(load("deep", spyi_text_str(&text), SPY_OK, NULL));
    spyi_text_free(&text);
}

static void test_fork(void **state) {
    (void)state;
    begin_test();
    pid_t child = fork();
    if (child == 0) {
        int count = 0;
        spyi_text error = { NULL, 0, 0 };
        spy_status status = spyi_sl_run(compiler, "count", count_up, &count, &error);
        bool good = status == SPY_ERROR_NO_COMPILER && count == 0 && strstr(spyi_text_str(&error), "fork()") &&
                    !spyi_unit_find_type(unit, "S");
        spyi_unit_release(unit);
        spyi_compiler_destroy(compiler);
        _exit(good ? 0 : 1);
    }
    int result = -1;
    alarm(60);
    assert_int_equal(waitpid(child, &result, 0), child);
    alarm(0);
    assert_int_equal(result, 0);
    check_unit();
}

static void test_cost(void **state) {
    (void)state;
    begin_test();
    enum { COUNT = 2000 };
    int count = 0;
    spyi_text error = { NULL, 0, 0 };
    uint64_t began = spyi_time_ns();
    for (int i = 0; i < COUNT; i++) spyi_sl_run(compiler, "count", count_up, &count, &error);
    print_message("a task and back: %.1f us\n", (double)(spyi_time_ns() - began) * 1e-3 / COUNT);
    assert_int_equal(count, COUNT);
    spyi_text_free(&error);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leaving), cmocka_unit_test(test_interrupt), cmocka_unit_test(test_throwing),
        cmocka_unit_test(test_hooks),   cmocka_unit_test(test_deep),      cmocka_unit_test(test_fork),
        cmocka_unit_test(test_cost),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
