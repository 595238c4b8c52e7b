// Threads: who may be inside a device, what waits for whom, and what becomes of handles that another thread released.
// On the null backend; kernels are compiled for real and never run.
#define _GNU_SOURCE 1 // barriers
#include "data_test.h"
#include "hold_slang.h"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#include "api/list.h"
#include "api/resolve.h"
#include "call/call_internal.h"
#endif

static const char source[] = "float f(float x) { return x + 1; }\n"
                             "float g(float x, float y) { return x + y; }\n"
                             "[shader(\"compute\")] [numthreads(32, 1, 1)]\n"
                             "void own(uint t : SV_DispatchThreadID, uniform float* p) { p[t] = 1; }\n";

static int setup(void **state) { return hold_slang(state) || data_open(source, data_defaults()) ? -1 : 0; }
static int teardown(void **state) { return data_close(state) || let_slang_go(state) ? -1 : 0; }

static spy_module *module_of(const char *text) {
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = "other";
    desc.source = text;
    spy_module *made = spy_load_module(device, &desc);
    if (!made) fail_msg("%s", spy_take_error(device).message);
    return made;
}

static spy_function *fn(spy_module *of, const char *name) {
    spy_function *found = spy_find_function(of, name);
    if (!found) fail_msg("%s", spy_take_error(device).message);
    return found;
}

static spy_tensor *floats(int64_t count) {
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = SPY_SHAPE(count);
    spy_tensor *made = spy_create_tensor(device, &desc);
    if (!made) fail_msg("%s", spy_take_error(device).message);
    return made;
}

// >>released handles

// A module's functions go with it at once, though its memory is freed by whoever enters the device next: here by the very
// call that is given one of them.
static void test_released_module(void **state) {
    (void)state;
    spy_tensor *x = floats(4), *y = floats(4);
    spy_command_list *list = spy_create_command_list(device, NULL);
    for (int way = 0; way < 9; way++) {
        spy_module *m = module_of("float f(float x) { return x + 2; }\n");
        spy_function *f = fn(m, "f");
        char text[64];
        spy_uint3 one = { 1, 1, 1 };
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
        if (way % 2) GOOD(spy_call(f, args)); // with a plan in the cache, and without
        spy_release_module(m);
        switch (way) {
        case 0:
        case 1: assert_int_equal(spy_call(f, args), SPY_ERROR_RELEASED); break;
        case 2: assert_null(spy_prepare(f, args, NULL)); break;
        case 3: assert_null(spy_resolve(f, args, NULL)); break;
        case 4:
        case 5: assert_int_equal(spy_explain_call(f, args, NULL, text, sizeof text), 0); break;
        case 6: assert_int_equal(spy_list_call(list, f, args), SPY_ERROR_RELEASED); break;
        case 7: assert_int_equal(spy_dispatch(f, one, args, NULL), SPY_ERROR_RELEASED); break;
        default: assert_int_equal(spy_call_backward(f, args), SPY_ERROR_RELEASED); break;
        }
        THREAD_ERROR_IS(SPY_ERROR_RELEASED, "the function has been released");
        assert_int_equal(spy_take_error(device).code, SPY_OK);
    }
    // What a prepared call or another module still holds lives on.
    spy_module *m = module_of("float f(float x) { return x + 3; }\n");
    spy_function *f = fn(m, "f");
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
    spy_prepared *p = spy_prepare(f, args, NULL);
    assert_non_null(p);
    spy_release_module(m);
    GOOD(spy_call(f, args));
    spy_release_prepared(p);
    assert_int_equal(spy_call(f, args), SPY_ERROR_RELEASED);
    THREAD_ERROR_IS(SPY_ERROR_RELEASED, "spy_call: the function has been released");
    spy_release_command_list(list);
    spy_release_tensor(x);
    spy_release_tensor(y);
}

// >>turns: the lock by itself

typedef struct turns_run {
    spyi_turns turns;
    int64_t counter; // guarded by the turns
    spyi_atomic got; // spyi_turn
    spyi_atomic blocks;
    spyi_atomic done;
} turns_run;

static void turns_take(spyi_turns *t) {
    if (!spyi_turns_try(t)) assert_int_equal(spyi_turns_wait(t, NULL, NULL), SPYI_TURN_TAKEN);
}

static void *turns_count(void *user) {
    turns_run *run = (turns_run *)user;
    for (int i = 0; i < 20000; i++) {
        turns_take(&run->turns);
        run->counter++;
        spyi_turns_leave(&run->turns);
    }
    return NULL;
}

static void turns_blocks(void *user, bool begins) { spyi_atomic_add(&((turns_run *)user)->blocks, begins ? 1 : 256); }

static void *turns_wait(void *user) {
    turns_run *run = (turns_run *)user;
    spyi_turn got = spyi_turns_wait(&run->turns, turns_blocks, run);
    spyi_atomic_store(&run->got, (int32_t)got);
    if (got == SPYI_TURN_TAKEN) {
        spyi_atomic_store(&run->done, 1);
        spyi_turns_leave(&run->turns);
    }
    return NULL;
}

static void turns_until_waiting(turns_run *run, int32_t threads) { // asleep, or about to
    while (spyi_atomic_load(&run->turns.waiters) < threads) spyi_thread_pause();
}

static void *turns_await(void *user) {
    turns_run *run = (turns_run *)user;
    turns_take(&run->turns);
    for (int32_t seen = spyi_turns_events(&run->turns); run->counter == 0; seen = spyi_turns_events(&run->turns)) {
        spyi_atomic_store(&run->blocks, 1);
        spyi_turns_await(&run->turns, seen, NULL, NULL);
    }
    run->counter++;
    spyi_turns_leave(&run->turns);
    return NULL;
}

static void test_turns(void **state) {
    static turns_run run;
    pthread_t threads[4];
    (void)state;
    // One at a time: the counter is not atomic.
    spyi_turns_init(&run.turns, false);
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, turns_count, &run);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_true(run.counter == 80000);
    assert_int_equal(spyi_atomic_load(&run.turns.state), 0);
    // The thread inside is told so, and others wait for it. `block` hears of a wait that sleeps.
    turns_take(&run.turns);
    assert_false(spyi_turns_try(&run.turns));
    assert_int_equal(spyi_turns_wait(&run.turns, NULL, NULL), SPYI_TURN_MINE);
    pthread_create(&threads[0], NULL, turns_wait, &run);
    turns_until_waiting(&run, 1);
    assert_int_equal(spyi_atomic_load(&run.done), 0);
    spyi_turns_leave(&run.turns);
    pthread_join(threads[0], NULL);
    assert_int_equal(spyi_atomic_load(&run.got), SPYI_TURN_TAKEN);
    assert_int_equal(spyi_atomic_load(&run.blocks), 257);
    // A thread that leaves and comes back at once, for ever, does not keep the one that waits out.
    spyi_atomic_store(&run.done, 0);
    turns_take(&run.turns);
    pthread_create(&threads[0], NULL, turns_wait, &run);
    turns_until_waiting(&run, 1);
    uint64_t from = spyi_time_ns(), passed = 0;
    while (!spyi_atomic_load(&run.done)) {
        spyi_turns_leave(&run.turns);
        turns_take(&run.turns);
        passed++;
    }
    spyi_turns_leave(&run.turns);
    pthread_join(threads[0], NULL);
    print_message("waited for %.1f ms and %llu turns of a busy thread\n", (double)(spyi_time_ns() - from) * 1e-6,
                  (unsigned long long)passed);
    // Waiting for a condition.
    run.counter = 0;
    spyi_atomic_store(&run.blocks, 0);
    pthread_create(&threads[0], NULL, turns_await, &run);
    while (!spyi_atomic_load(&run.blocks)) spyi_thread_pause();
    turns_take(&run.turns);
    run.counter = 1;
    spyi_turns_notify(&run.turns);
    spyi_turns_leave(&run.turns);
    pthread_join(threads[0], NULL);
    assert_true(run.counter == 2);
    // Closed: who waits goes.
    turns_take(&run.turns);
    for (int i = 0; i < 3; i++) pthread_create(&threads[i], NULL, turns_wait, &run);
    turns_until_waiting(&run, 3);
    spyi_turns_close(&run.turns);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    assert_int_equal(spyi_atomic_load(&run.got), SPYI_TURN_CLOSED);
    assert_int_equal(spyi_atomic_load(&run.turns.state), 1);
    spyi_turns_destroy(&run.turns);
    // For one thread.
    spyi_turns_init(&run.turns, true);
    assert_true(spyi_turns_try(&run.turns));
    assert_false(spyi_turns_try(&run.turns));
    assert_int_equal(spyi_turns_wait(&run.turns, NULL, NULL), SPYI_TURN_MINE);
    spyi_turns_leave(&run.turns);
    assert_true(spyi_turns_try(&run.turns));
    spyi_turns_destroy(&run.turns);
}

// >>calls from several threads

typedef struct caller {
    spy_device *device;
    spy_function *f;
    spy_tensor *x, *y;
    int failed;
} caller;

static void *call_often(void *user) {
    caller *c = (caller *)user;
    for (int i = 0; i < 300; i++) {
        spy_status status = i % 50 == 49 ? spy_wait(c->device)
                                         : spy_call(c->f, SPY_ARGS(spy_arg_tensor("x", c->x), spy_arg_tensor("_result", c->y)));
        c->failed += status != SPY_OK;
        if (i % 10 == 0) {
            spy_retain_tensor(c->x);
            spy_release_tensor(c->x);
        }
    }
    return NULL;
}

// Four threads without a lock of their own: no call is refused or lost, and nobody hears of an error.
static void test_callers(void **state) {
    (void)state;
    pthread_t threads[4];
    caller callers[4];
    spy_function *f = fn(module, "f");
    uint64_t before = spy_get_device_stats(device).calls;
    for (int i = 0; i < 4; i++) {
        callers[i].device = device;
        callers[i].f = f;
        callers[i].x = floats(16);
        callers[i].y = floats(16);
        callers[i].failed = 0;
    }
    for (int i = 0; i < 4; i++) pthread_create(&threads[i], NULL, call_often, &callers[i]);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(callers[i].failed, 0);
        spy_release_tensor(callers[i].x);
        spy_release_tensor(callers[i].y);
    }
    assert_true(spy_get_device_stats(device).calls == before + 4 * (300 - 6));
    assert_int_equal(spy_take_error(device).code, SPY_OK);
}

// >>callbacks that call back

typedef struct back {
    spy_device *device;
    spy_function *f;
    int refused, other, logged, depth;
} back;

static void call_back(back *b) {
    if (!b->device || b->depth++) return; // each refusal is logged, and taken by whoever was refused
    spy_status status = spy_wait(b->device);
    if (status == SPY_ERROR_BUSY && spy_take_error(NULL).code == SPY_ERROR_BUSY) b->refused++;
    else b->other++;
    status = spy_call(b->f, SPY_NO_ARGS);
    if (status == SPY_ERROR_BUSY && spy_take_error(NULL).code == SPY_ERROR_BUSY) b->refused++;
    else b->other++;
    b->depth = 0;
}
static void back_log(spy_log_level level, const char *text, void *user) {
    (void)level;
    ((back *)user)->logged += strstr(text, "a callback must not use the device") != NULL;
    call_back((back *)user);
}
static void back_step(const char *step, bool finished, void *user) {
    (void)step;
    (void)finished;
    call_back((back *)user);
}
static void back_block(bool begins, void *user) {
    (void)begins;
    call_back((back *)user);
}

// A callback that uses its device from within a call is refused, heard of and kept: it neither hangs nor calls for ever.
static void test_call_backs(void **state) {
    (void)state;
    for (int way = 0; way < 6; way++) {
        back b;
        spy_device_desc desc;
        spyi_null_desc null_desc = data_defaults();
        memset(&b, 0, sizeof b);
        memset(&desc, 0, sizeof desc);
        desc.backend = spyi_null_backend();
        desc.backend_desc = &null_desc;
        desc.single_threaded = way >= 3;
        desc.log.func = back_log;
        desc.log.user_data = desc.progress.user_data = desc.blocking.user_data = &b;
        if (way % 3 == 1) desc.progress.func = back_step;
        if (way % 3 == 2) desc.blocking.func = back_block;
        spy_device *d = spy_create_device(&desc);
        assert_non_null(d);
        spy_module_desc md;
        memset(&md, 0, sizeof md);
        md.source = source;
        spy_module *m = spy_load_module(d, &md);
        assert_non_null(m);
        b.f = spy_find_function(m, "f");
        b.device = d;
        float y;
        if (way % 3 == 0) { // an error, which the log is told of from within the call
            assert_int_equal(spy_call(b.f, SPY_NO_ARGS), SPY_ERROR_INVALID_ARGUMENT);
            spy_take_error(d);
        } else { // a kernel is compiled, and its result waited for
            assert_int_equal(spy_call(b.f, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &y))), SPY_OK);
            spy_error error = spy_take_error(d);
            assert_int_equal(error.code, SPY_ERROR_BUSY);
            assert_non_null(strstr(error.message, "spy_wait: this thread is in a call of device 'device' already"));
            assert_true(b.logged > 0);
        }
        assert_true(b.refused > 0);
        assert_int_equal(b.other, 0);
        b.device = NULL;
        assert_int_equal(spy_wait(d), SPY_OK);
        spy_release_device(d);
    }
}

// >>the folder for kernels

static void *change_directory(void *user) {
    for (int i = 0; !spyi_atomic_load((spyi_atomic *)user); i++)
        spy_set_dump_directory(device, i % 2 ? "/nowhere/at/all" : NULL);
    return NULL;
}

// Compile threads read the folder while it is set; under ThreadSanitizer or AddressSanitizer this is a race that shows.
static void test_dump_directory(void **state) {
    (void)state;
    spyi_atomic stop = { 0 };
    const spy_prepare_desc async = { .async = true };
    pthread_t thread;
    spy_tensor *x = floats(4), *y = floats(4);
    pthread_create(&thread, NULL, change_directory, &stop);
    for (int i = 0; i < 3; i++) {
        spy_module *m = module_of("float f(float x) { return x + 2; }\n");
        spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
        spy_prepared *p = spy_prepare(fn(m, "f"), args, &async);
        assert_non_null(p);
        while (spy_prepared_ready(p) == SPY_ERROR_NOT_READY) spyi_thread_pause();
        GOOD(spy_call_prepared(p, args));
        spy_release_prepared(p);
        spy_release_module(m);
    }
    spyi_atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    GOOD(spy_set_dump_directory(device, NULL));
    spy_release_tensor(x);
    spy_release_tensor(y);
}

// >>references that change while values are copied

typedef struct retains {
    spy_tensor *tensor;
    spyi_atomic started, stop;
} retains;

static void *retain_often(void *user) {
    retains *run = (retains *)user;
    while (!spyi_atomic_load(&run->stop)) {
        spy_retain_tensor(run->tensor);
        spy_release_tensor(run->tensor);
        spyi_atomic_store(&run->started, 1);
    }
    return NULL;
}

// spy_prepare copies what its compile thread reads of a tensor; other threads count references meanwhile.
static void test_copied_tensor(void **state) {
    (void)state;
    const spy_prepare_desc async = { .async = true };
    pthread_t thread;
    spy_tensor *x = floats(4), *y = floats(4);
    spy_module *m = module_of("float f(float x) { return x + 2; }\n");
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
    retains run;
    memset(&run, 0, sizeof run);
    run.tensor = x;
    pthread_create(&thread, NULL, retain_often, &run);
    while (!spyi_atomic_load(&run.started)) spyi_thread_pause();
    spy_prepared *p = spy_prepare(fn(m, "f"), args, &async);
    assert_non_null(p);
    spyi_atomic_store(&run.stop, 1);
    pthread_join(thread, NULL);
    GOOD(spy_call_prepared(p, args));
    spy_release_prepared(p);
    spy_release_module(m);
    spy_release_tensor(x);
    spy_release_tensor(y);
}

// >>fork

#if !defined(__SANITIZE_THREAD__) // which does not survive a fork with threads
typedef struct holder {
    pthread_barrier_t inside, leave;
} holder;

static void hold_log(spy_log_level level, const char *text, void *user) {
    (void)level;
    (void)text;
    pthread_barrier_wait(&((holder *)user)->inside);
    pthread_barrier_wait(&((holder *)user)->leave);
}

static void *fail_slowly(void *user) { // stays in its call, and in the device, until the log comes back
    spy_call((spy_function *)user, SPY_NO_ARGS);
    return NULL;
}

static int in_child(spy_device *d, spy_function *f, spy_tensor *t) {
    alarm(20); // instead of waiting for ever
    if (spy_call(f, SPY_NO_ARGS) != SPY_ERROR_DEVICE_LOST) return 1;
    spy_error error = spy_take_error(NULL);
    if (error.code != SPY_ERROR_DEVICE_LOST || !strstr(error.message, "spy_call: device 'device' was made before this process was forked"))
        return 2;
    if (spy_wait(d) != SPY_ERROR_DEVICE_LOST || spy_take_error(d).code != SPY_ERROR_DEVICE_LOST) return 3;
    spy_take_error(NULL);
    spy_release_tensor(t);
    if (spy_take_error(NULL).code != SPY_ERROR_DEVICE_LOST) return 4;
    spy_release_device(d);
    if (spy_take_error(NULL).code != SPY_ERROR_DEVICE_LOST) return 5;
    spyi_null_desc null_desc = data_defaults(); // a device of the child's own is another matter
    spy_device_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.backend = spyi_null_backend();
    desc.backend_desc = &null_desc;
    d = spy_create_device(&desc);
    if (!d || spy_wait(d) != SPY_OK) return 6;
    spy_release_device(d);
    return 0;
}

// Whatever the child of a fork asks of its parent's device is an error at once, also when another thread was in the device.
static void test_fork(void **state) {
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        holder h;
        pthread_t thread;
        spyi_null_desc null_desc = data_defaults();
        spy_device_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.backend = spyi_null_backend();
        desc.backend_desc = &null_desc;
        if (busy) desc.log.func = hold_log;
        desc.log.user_data = &h;
        pthread_barrier_init(&h.inside, NULL, 2);
        pthread_barrier_init(&h.leave, NULL, 2);
        spy_device *d = spy_create_device(&desc);
        spy_module_desc md;
        memset(&md, 0, sizeof md);
        md.source = source;
        spy_function *f = spy_find_function(spy_load_module(d, &md), "f");
        spy_tensor_desc td;
        memset(&td, 0, sizeof td);
        td.shape = SPY_SHAPE(4);
        spy_tensor *t = spy_create_tensor(d, &td);
        assert_true(f && t);
        if (busy) {
            pthread_create(&thread, NULL, fail_slowly, f);
            pthread_barrier_wait(&h.inside);
        }
        fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            if (busy) desc.log.func = NULL;
            d->ctx.log.func = NULL;
            _exit(in_child(d, f, t));
        }
        int status = -1;
        assert_true(waitpid(child, &status, 0) == child);
        if (busy) {
            pthread_barrier_wait(&h.leave);
            pthread_join(thread, NULL);
        }
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
        d->ctx.log.func = NULL;
        spy_release_tensor(t);
        assert_int_equal(spy_wait(d), SPY_OK); // the parent goes on
        spy_release_device(d);
        pthread_barrier_destroy(&h.inside);
        pthread_barrier_destroy(&h.leave);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_released_module),
        cmocka_unit_test(test_callers),
        cmocka_unit_test(test_call_backs),
        cmocka_unit_test(test_dump_directory),
        cmocka_unit_test(test_copied_tensor),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_fork),
#endif
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
