// Threads: who may be inside a device, what waits for whom, and what becomes of handles that another thread released.
// On the null backend; kernels are compiled for real and never run.
#define _GNU_SOURCE 1 // barriers
#include "data_test.h"
#include "hold_slang.h"
#include <dirent.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef SPY_TEST_SPLIT
#include "api/gradient.h"
#include "api/list.h"
#include "api/resolve.h"
#include "call/call.h"
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
static bool back_open(const char *path, spy_file *file, void *user) { // while the compiler is kept
    (void)path;
    (void)file;
    call_back((back *)user);
    return false;
}
static void back_block(bool begins, void *user) {
    (void)begins;
    call_back((back *)user);
}

// A callback that uses its device from within a call is refused, heard of and kept: it neither hangs nor calls for ever.
static void test_call_backs(void **state) {
    (void)state;
    for (int way = 0; way < 8; way++) {
        back b;
        spy_device_desc desc;
        spyi_null_desc null_desc = data_defaults();
        memset(&b, 0, sizeof b);
        memset(&desc, 0, sizeof desc);
        desc.backend = spyi_null_backend();
        desc.backend_desc = &null_desc;
        desc.single_threaded = way >= 4;
        desc.log.func = back_log;
        desc.log.user_data = desc.progress.user_data = desc.blocking.user_data = &b;
        if (way % 4 == 1) desc.progress.func = back_step;
        if (way % 4 == 2) desc.blocking.func = back_block;
        if (way % 4 == 3) desc.files.open = back_open;
        desc.files.user_data = &b;
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
        if (way % 4 == 0) { // an error, which the log is told of from within the call
            assert_int_equal(spy_call(b.f, SPY_NO_ARGS), SPY_ERROR_INVALID_ARGUMENT);
            spy_take_error(d);
        } else { // a kernel is compiled, and its result waited for; or a module is loaded
            md.source = "import nothing;\nfloat f(float x) { return x; }\n";
            if (way % 4 == 3) assert_null(spy_load_module(d, &md));
            else assert_int_equal(spy_call(b.f, SPY_ARGS(spy_arg_f32("x", 1), spy_out_f32("_result", &y))), SPY_OK);
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

typedef struct changer {
    char folder[32];
    spyi_atomic stop;
} changer;

static void *change_directory(void *user) {
    changer *c = (changer *)user;
    for (int i = 0; !spyi_atomic_load(&c->stop); i++) spy_set_dump_directory(device, i % 2 ? c->folder : NULL);
    return NULL;
}

// Compile threads read the folder while it is set; under ThreadSanitizer or AddressSanitizer this is a race that shows.
static void test_dump_directory(void **state) {
    (void)state;
    changer c;
    memset(&c, 0, sizeof c);
    snprintf(c.folder, sizeof c.folder, "/tmp/spy_threads_XXXXXX");
    assert_non_null(mkdtemp(c.folder));
    const spy_prepare_desc async = { .async = true };
    pthread_t thread;
    spy_tensor *x = floats(4), *y = floats(4);
    pthread_create(&thread, NULL, change_directory, &c);
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
    spyi_atomic_store(&c.stop, 1);
    pthread_join(thread, NULL);
    GOOD(spy_set_dump_directory(device, NULL));
    DIR *folder = opendir(c.folder); // with what happened to be written
    assert_non_null(folder);
    for (struct dirent *file = readdir(folder); file; file = readdir(folder)) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", c.folder, file->d_name);
        if (file->d_name[0] != '.') unlink(path);
    }
    closedir(folder);
    assert_int_equal(rmdir(c.folder), 0);
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

// >>work that does not keep the device

// Stops a thread where the test wants it: in the file hook, while a module is read, or while a kernel is made.
typedef struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool shut;
    int inside; // threads that have come to it while it was shut
    pthread_t owner; // the test's own thread is let through, and counted
    int passes, passes_of_owner, gave_up;
} gate;

static void gate_init(gate *g) {
    memset(g, 0, sizeof *g);
    pthread_mutex_init(&g->lock, NULL);
    pthread_cond_init(&g->changed, NULL);
    g->owner = pthread_self();
}

static void gate_set(gate *g, bool shut) {
    pthread_mutex_lock(&g->lock);
    g->shut = shut;
    if (shut) g->inside = 0;
    pthread_cond_broadcast(&g->changed);
    pthread_mutex_unlock(&g->lock);
}

static void gate_wait_for(gate *g, int threads) { // waits until `threads` threads stand before the gate
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 25;
    pthread_mutex_lock(&g->lock);
    while (g->inside < threads && pthread_cond_timedwait(&g->changed, &g->lock, &until) == 0) continue;
    int inside = g->inside;
    pthread_mutex_unlock(&g->lock);
    assert_true(inside >= threads);
}

static void gate_wait(gate *g) {
    gate_wait_for(g, 1);
}

static void gate_pass(gate *g) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 30; // a test that waits for what waits for the gate fails instead of hanging
    pthread_mutex_lock(&g->lock);
    bool own = pthread_equal(g->owner, pthread_self());
    g->passes++;
    g->passes_of_owner += own;
    g->inside += g->shut && !own;
    pthread_cond_broadcast(&g->changed);
    while (g->shut && !own && !g->gave_up)
        g->gave_up = pthread_cond_timedwait(&g->changed, &g->lock, &until) != 0;
    pthread_mutex_unlock(&g->lock);
}

static void gate_destroy(gate *g) {
    assert_int_equal(g->gave_up, 0);
    pthread_cond_destroy(&g->changed);
    pthread_mutex_destroy(&g->lock);
}

typedef struct world {
    spy_device *device;
    gate files, kernels;
    spyi_atomic failing;  // the number of next kernels that cannot be made
    pthread_mutex_t lock; // guards the two
    const char *text;     // of "m.slang", and of "slow.slang"
    uint64_t stamp;
    pthread_t owner;
    int steps_of_owner, blocks_of_owner; // slow steps, and waits, of the test's own thread
    spyi_text report;
} world;

static bool world_open_file(const char *path, spy_file *file, void *user) {
    world *w = (world *)user;
    bool slow = strcmp(path, "slow.slang") == 0;
    if (!slow && strcmp(path, "m.slang") != 0) return false;
    gate_pass(&w->files);
    pthread_mutex_lock(&w->lock);
    file->data = slow ? "float g(float x) { return x - 1; }\n" : w->text;
    pthread_mutex_unlock(&w->lock);
    file->size_bytes = strlen((const char *)file->data);
    return true;
}

static uint64_t world_stamp(const char *path, void *user) {
    world *w = (world *)user;
    pthread_mutex_lock(&w->lock);
    uint64_t stamp = strcmp(path, "m.slang") == 0 ? w->stamp : 0;
    pthread_mutex_unlock(&w->lock);
    return stamp;
}

static void world_write(world *w, const char *text) {
    pthread_mutex_lock(&w->lock);
    w->text = text;
    w->stamp++;
    pthread_mutex_unlock(&w->lock);
}

static void world_step(const char *step, bool finished, void *user) {
    (void)step;
    (void)finished;
    world *w = (world *)user;
    if (pthread_equal(w->owner, pthread_self())) w->steps_of_owner++;
}

static void world_block(bool begins, void *user) {
    world *w = (world *)user;
    if (begins && pthread_equal(w->owner, pthread_self())) w->blocks_of_owner++;
}

static spy_status world_kernel(const spyi_kernel_desc *desc, void *user, spyi_text *error) {
    (void)desc;
    world *w = (world *)user;
    gate_pass(&w->kernels);
    if (spyi_atomic_load(&w->failing) == 0) return SPY_OK;
    spyi_atomic_add(&w->failing, -1);
    spyi_text_add(error, "no kernel today");
    return SPY_ERROR_COMPILE;
}

static void world_open_with(world *w, uint32_t max_plans) {
    spyi_null_desc null_desc = data_defaults();
    spy_device_desc desc;
    memset(w, 0, sizeof *w);
    memset(&desc, 0, sizeof desc);
    gate_init(&w->files);
    gate_init(&w->kernels);
    pthread_mutex_init(&w->lock, NULL);
    w->owner = pthread_self();
    w->stamp = 1;
    w->text = "float f(float x) { return x + 1; }\n";
    null_desc.report = &w->report;
    null_desc.on_kernel = world_kernel;
    null_desc.on_kernel_data = w;
    desc.backend = spyi_null_backend();
    desc.backend_desc = &null_desc;
    desc.max_plans = max_plans;
    desc.files.open = world_open_file;
    desc.files.stamp = world_stamp;
    desc.progress.func = world_step;
    desc.blocking.func = world_block;
    desc.files.user_data = desc.progress.user_data = desc.blocking.user_data = w;
    w->device = spy_create_device(&desc);
    assert_non_null(w->device);
}

static void world_open(world *w) {
    world_open_with(w, 0);
}

static void world_close(world *w) {
    spy_release_device(w->device);
    if (w->report.size) print_error("%s", spyi_text_str(&w->report));
    assert_int_equal(w->report.size, 0);
    spyi_text_free(&w->report);
    gate_destroy(&w->files);
    gate_destroy(&w->kernels);
    pthread_mutex_destroy(&w->lock);
}

static spy_module *world_load(world *w, const char *path) {
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.path = path;
    spy_module *m = spy_load_module(w->device, &desc);
    if (!m) print_error("%s\n", spy_take_error(w->device).message);
    return m;
}

static spy_module *world_source(world *w, const char *text) {
    spy_module_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = "text";
    desc.source = text;
    return spy_load_module(w->device, &desc);
}

static spy_tensor *world_tensor(world *w, int64_t count) {
    spy_tensor_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.shape = SPY_SHAPE(count);
    spy_tensor *t = spy_create_tensor(w->device, &desc);
    assert_non_null(t);
    return t;
}

static void world_good(world *w, spy_status status, int line) {
    if (status != SPY_OK) print_error("line %d: %s\n", line, spy_take_error(w->device).message);
    assert_int_equal(status, SPY_OK);
}
#define WORKS(expression) world_good(&w, (expression), __LINE__)

static const void *last_kernel(world *w) {
    size_t count = spyi_null_op_count(w->device->gpu);
    const spyi_null_op *op = spyi_null_get_op(w->device->gpu, count - 1);
    assert_true(op && op->kind == SPYI_NULL_DISPATCH);
    return op->kernel;
}

typedef struct job {
    world *w;
    spy_module *module;
    spy_function *f;
    spy_tensor *x, *y;
    spy_command_list *list;
    spy_status status;
} job;

static void *load_slowly(void *user) {
    job *j = (job *)user;
    j->module = world_load(j->w, "slow.slang");
    return NULL;
}

static void *call_slowly(void *user) {
    job *j = (job *)user;
    j->status = spy_call(j->f, SPY_ARGS(spy_arg_tensor("x", j->x), spy_arg_tensor("_result", j->y)));
    return NULL;
}

// While one thread loads a module, or makes a call for the first time, another one goes on: it calls, makes tensors and
// releases them, without compiling anything or waiting for anybody.
static void test_loader(void **state) {
    static world w;
    (void)state;
    pthread_t thread, second;
    world_open(&w);
    spy_module *m = world_load(&w, "m.slang"), *brief = world_source(&w, "float h(float x) { return x; }\n");
    spy_function *f = spy_find_function(m, "f");
    spy_tensor *x = world_tensor(&w, 16), *y = world_tensor(&w, 16);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
    WORKS(spy_call(f, args));
    job load, call, same;
    memset(&load, 0, sizeof load);
    load.w = &w;
    gate_set(&w.files, true);
    pthread_create(&thread, NULL, load_slowly, &load);
    gate_wait(&w.files);
    w.steps_of_owner = w.blocks_of_owner = 0;
    for (int i = 0; i < 1000; i++) {
        WORKS(spy_call(f, args));
        spy_release_tensor(world_tensor(&w, 1 + i % 64));
    }
    assert_ptr_equal(spy_find_function(m, "f"), f);
    spy_release_module(brief); // the compiler, which another thread keeps busy, is not waited for either
    WORKS(spy_wait(w.device));
    assert_int_equal(w.steps_of_owner, 0);
    gate_set(&w.files, false);
    pthread_join(thread, NULL);
    assert_non_null(load.module);
    // The first call of a function: its kernel is being made. A second thread that wants the same one waits for it.
    call = load;
    call.f = spy_find_function(load.module, "g");
    call.x = world_tensor(&w, 8);
    call.y = world_tensor(&w, 8);
    call.status = SPY_ERROR_INTERNAL;
    same = call;
    uint64_t built = spy_get_device_stats(w.device).kernels_built;
    gate_set(&w.kernels, true);
    pthread_create(&thread, NULL, call_slowly, &call);
    gate_wait(&w.kernels);
    pthread_create(&second, NULL, call_slowly, &same);
    w.steps_of_owner = w.blocks_of_owner = 0;
    for (int i = 0; i < 1000; i++) WORKS(spy_call(f, args));
    assert_int_equal(w.steps_of_owner, 0);
    gate_set(&w.kernels, false);
    pthread_join(thread, NULL);
    pthread_join(second, NULL);
    WORKS(call.status);
    WORKS(same.status);
    assert_true(spy_get_device_stats(w.device).kernels_built == built + 1);
    // The module of a call that compiles is released, and the call ends all the same.
    spy_module *gone = world_source(&w, "float h(float x) { return x * 3; }\n");
    call.f = spy_find_function(gone, "h");
    gate_set(&w.kernels, true);
    pthread_create(&thread, NULL, call_slowly, &call);
    gate_wait(&w.kernels);
    spy_release_module(gone);
    for (int i = 0; i < 3; i++) WORKS(spy_call(f, args));
    gate_set(&w.kernels, false);
    pthread_join(thread, NULL);
    WORKS(call.status);
    WORKS(spy_call(f, args));
    // A prepared call that is released while it compiles is not waited for.
    const spy_prepare_desc async = { .async = true };
    spy_tensor *view = world_tensor(&w, 4);
    spy_function *g = spy_find_function(load.module, "g");
    WORKS(spy_call(g, SPY_ARGS(spy_arg_f32("x", 1), spy_arg_tensor("_result", view))));
    gate_set(&w.kernels, true);
    spy_prepared *p = spy_prepare(g, SPY_ARGS(spy_arg_i32("x", 1), spy_arg_tensor("_result", view)), &async);
    assert_non_null(p);
    gate_wait(&w.kernels);
    spy_release_prepared(p);
    w.steps_of_owner = w.blocks_of_owner = 0;
    for (int i = 0; i < 3; i++) WORKS(spy_call(f, args));
    assert_int_equal(w.steps_of_owner, 0);
    gate_set(&w.kernels, false);
    WORKS(spy_wait(w.device));
    assert_int_equal(spy_take_error(w.device).code, SPY_OK);
    world_close(&w);
}

// Kernels that are prepared ahead of time compile at the same time, also while a call compiles its own. A plain call of a function
// that is being prepared waits for that kernel, though the prepared call has been released; where its kernel cannot be made, the plain
// call makes it again and tells the error.
static void test_prepared_ahead(void **state) {
    static world w;
    (void)state;
    pthread_t thread, second;
    world_open(&w);
    spy_module *m = world_source(&w, "float f(float x) { return x + 1; } float g(float x) { return x + 2; } float h(float x) { return x + 3; }\n"
                                     "float sum(float[2] x) { return x[0] + x[1]; } float sum(float[4] x) { return x[0] + x[3]; }\n");
    spy_function *f = spy_find_function(m, "f"), *g = spy_find_function(m, "g"), *h = spy_find_function(m, "h"), *sum = spy_find_function(m, "sum");
    spy_tensor *x = world_tensor(&w, 16), *y = world_tensor(&w, 16), *rows = world_tensor(&w, 4), *one = world_tensor(&w, 1);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
    const spy_prepare_desc async = { .async = true };
    job call = { .w = &w, .f = h, .x = x, .y = y, .status = SPY_ERROR_INTERNAL }, same = call;
    same.f = f;
    uint64_t built = spy_get_device_stats(w.device).kernels_built;
    gate_set(&w.kernels, true);
    spy_release_prepared(spy_prepare(f, args, &async));
    spy_release_prepared(spy_prepare(g, args, &async));
    spy_release_prepared(spy_prepare(g, args, &async));
    spy_prepared *again = spy_prepare(f, args, &async), *later = spy_prepare(g, args, &async); // they wait for the first ones
    assert_int_equal(spy_prepared_ready(again), SPY_ERROR_NOT_READY);
    pthread_create(&thread, NULL, call_slowly, &call);
    gate_wait_for(&w.kernels, 3);
    pthread_create(&second, NULL, call_slowly, &same);
    gate_set(&w.kernels, false);
    pthread_join(thread, NULL);
    pthread_join(second, NULL);
    WORKS(call.status);
    WORKS(same.status);
    WORKS(spy_call_prepared(later, args));
    WORKS(spy_call(f, args));
    WORKS(spy_call(g, args));
    while (spy_prepared_ready(again) == SPY_ERROR_NOT_READY) spyi_thread_pause();
    WORKS(spy_call_prepared(again, args));
    spy_release_prepared(again);
    spy_release_prepared(later);
    assert_true(spy_get_device_stats(w.device).kernels_built == built + 3);
    // Types that are chosen by a tensor's sizes: the plain call finds the prepared kernel, too.
    spy_args of_rows = SPY_ARGS(spy_arg_tensor("x", rows), spy_arg_tensor("_result", one));
    spy_release_prepared(spy_prepare(sum, of_rows, &async));
    WORKS(spy_call(sum, of_rows));
    assert_true(spy_get_device_stats(w.device).kernels_built == built + 4);
    for (int fails = 1; fails <= 2; fails++) {
        char text[80];
        snprintf(text, sizeof text, "float f(float x) { return x + %d; }\n", fails + 5);
        spy_module *other = world_source(&w, text);
        spyi_atomic_store(&w.failing, fails);
        spy_release_prepared(spy_prepare(spy_find_function(other, "f"), args, &async));
        spy_status status = spy_call(spy_find_function(other, "f"), args);
        assert_int_equal(status, fails == 1 ? SPY_OK : SPY_ERROR_COMPILE);
        spy_error error = spy_take_error(w.device);
        assert_true(fails == 1 || strstr(error.message, "no kernel today"));
        assert_int_equal(spyi_atomic_load(&w.failing), 0);
        spy_release_module(other);
    }
    // The device is released while two kernels compile.
    spy_module *last = world_source(&w, "float f(float x) { return x - 1; } float g(float x) { return x - 2; }\n");
    gate_set(&w.kernels, true);
    spy_release_prepared(spy_prepare(spy_find_function(last, "f"), args, &async));
    spy_prepared *kept = spy_prepare(spy_find_function(last, "g"), args, &async);
    assert_non_null(kept);
    gate_wait_for(&w.kernels, 2);
    gate_set(&w.kernels, false);
    world_close(&w);
}

// The driver's compiler is opened on a thread, once, while libslang works on the first kernel; the release of the device waits for it.
static struct {
    spyi_atomic opened, done;
    pthread_t owner;
} opening;

static void open_compiler(const char *compiler) {
    (void)compiler;
    spyi_atomic_add(&opening.opened, pthread_equal(opening.owner, pthread_self()) ? 100 : 1);
    nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
    spyi_atomic_add(&opening.done, 1);
}

static void test_compiler_opened_ahead(void **state) {
    static world w;
    (void)state;
    spy_backend backend = *spyi_null_backend();
    opening.owner = pthread_self();
    world_open(&w);
    backend.open_compiler = open_compiler;
    w.device->backend = &backend;
    spy_module *m = world_source(&w, "float f(float x) { return x + 1; } float g(float x) { return x + 2; }\n");
    spy_tensor *x = world_tensor(&w, 16), *y = world_tensor(&w, 16);
    assert_int_equal(spyi_atomic_load(&opening.opened), 0);
    WORKS(spy_call(spy_find_function(m, "f"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y))));
    WORKS(spy_call(spy_find_function(m, "g"), SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y))));
    world_close(&w);
    assert_int_equal(spyi_atomic_load(&opening.opened), 1);
    assert_int_equal(spyi_atomic_load(&opening.done), 1);
}

// A call that leaves the device to compile finds its launch used by another one when it comes back. What that one left to be
// repeated is not of the launch's shapes any more.
static void test_launch_taken(void **state) {
    static world w;
    (void)state;
    pthread_t thread;
    world_open(&w);
    spy_module *m = world_load(&w, "m.slang");
    spy_function *f = spy_find_function(m, "f");
    const int64_t large = 1 << 20;
    spy_tensor *x = world_tensor(&w, large), *y = world_tensor(&w, large);
    spy_tensor *a = world_tensor(&w, 60), *b = world_tensor(&w, 60), *c = world_tensor(&w, 70), *d = world_tensor(&w, 70);
    WORKS(spy_call(f, SPY_ARGS(spy_arg_tensor("x", a), spy_arg_tensor("_result", b))));
    const void *narrow = last_kernel(&w);
    job call;
    memset(&call, 0, sizeof call);
    call.w = &w;
    call.f = f;
    call.x = call.y = x; // in place: nothing to be repeated
    gate_set(&w.kernels, true);
    pthread_create(&thread, NULL, call_slowly, &call);
    gate_wait(&w.kernels);
    WORKS(spy_call(f, SPY_ARGS(spy_arg_tensor("x", c), spy_arg_tensor("_result", d))));
    assert_ptr_equal(last_kernel(&w), narrow);
    gate_set(&w.kernels, false);
    pthread_join(thread, NULL);
    WORKS(call.status);
    const void *wide = last_kernel(&w);
    assert_ptr_not_equal(wide, narrow);
    WORKS(spy_call(f, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y))));
    assert_ptr_equal(last_kernel(&w), wide);
    spy_tensor *all[] = { x, y, a, b, c, d };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spy_release_tensor(all[i]);
    world_close(&w);
}

// A plan that leaves the cache while a call that is to be recorded compiles for it: the list's from then on.
static void *record_slowly(void *user) {
    job *j = (job *)user;
    j->status = spy_list_call(j->list, j->f, SPY_ARGS(spy_arg_tensor("x", j->x), spy_arg_tensor("_result", j->y)));
    return NULL;
}

static void test_recorded_plan(void **state) {
    static world w;
    (void)state;
    pthread_t thread;
    world_open_with(&w, 2);
    spy_module *m = world_load(&w, "m.slang");
    spy_module *other = world_source(&w, "float h(float x) { return x; }\nfloat k(float x) { return -x; }\n");
    spy_function *h = spy_find_function(other, "h"), *k = spy_find_function(other, "k");
    spy_tensor *x = world_tensor(&w, 60), *y = world_tensor(&w, 60), *none = world_tensor(&w, 0);
    spy_args nothing = SPY_ARGS(spy_arg_tensor("x", none), spy_arg_tensor("_result", none)); // a plan without a kernel
    job call;
    memset(&call, 0, sizeof call);
    call.w = &w;
    call.f = spy_find_function(m, "f");
    call.x = x;
    call.y = y;
    call.list = spy_create_command_list(w.device, NULL);
    gate_set(&w.kernels, true);
    pthread_create(&thread, NULL, record_slowly, &call);
    gate_wait(&w.kernels);
    WORKS(spy_call(h, nothing));
    WORKS(spy_call(k, nothing)); // f's plan leaves the cache
    gate_set(&w.kernels, false);
    pthread_join(thread, NULL);
    WORKS(call.status);
    WORKS(spy_wait(w.device));
    WORKS(spy_call(h, SPY_ARGS(spy_arg_f32("x", 1), spy_arg_tensor("_result", none)))); // frees plans that nobody holds
    assert_int_equal(spyi_null_get_counts(w.device->gpu).kernels, 1);
    WORKS(spy_list_finish(call.list));
    WORKS(spy_list_submit(call.list));
    spy_release_command_list(call.list);
    WORKS(spy_wait(w.device));
    WORKS(spy_call(k, SPY_ARGS(spy_arg_f32("x", 1), spy_arg_tensor("_result", none))));
    assert_int_equal(spyi_null_get_counts(w.device->gpu).kernels, 0);
    spy_tensor *all[] = { x, y, none };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) spy_release_tensor(all[i]);
    world_close(&w);
}

// Polls until nothing is compiled any more; gives the reloads that it saw.
static spy_reload_info poll_all(world *w, spy_status *status) {
    spy_reload_info info, sum;
    memset(&sum, 0, sizeof sum);
    *status = SPY_OK;
    do {
        spy_status s = spy_poll_reload(w->device, 0, &info);
        if (s != SPY_OK) *status = s;
        sum.reloaded += info.reloaded;
        sum.failed += info.failed;
    } while (info.compiling);
    return sum;
}

// A frame loop: poll, call. While the new code is read, and while its kernel is made, frames run the old kernel; no frame
// compiles, loads or waits. spy_prepared_ready() tells which is which. A broken edit is no more than an error.
static void test_reload_in_background(void **state) {
    static world w;
    (void)state;
    world_open(&w);
    spy_module *m = world_load(&w, "m.slang");
    spy_function *f = spy_find_function(m, "f");
    spy_tensor *x = world_tensor(&w, 16), *y = world_tensor(&w, 16);
    spy_args args = SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y));
    spy_prepared *p = spy_prepare(f, args, NULL);
    assert_non_null(p);
    WORKS(spy_call_prepared(p, args));
    WORKS(spy_call_prepared(p, args));
    spy_reload_info info;
    spy_status status;
    w.steps_of_owner = w.blocks_of_owner = 0;
    int passes = w.files.passes_of_owner + w.kernels.passes_of_owner;
    for (int edit = 0; edit < 3; edit++) {
        static const char *const texts[3] = { "float f(float x) { return x + 2; }\n", "float f(float x) { return x + ; }\n",
                                              "float f(float x) { return x * 2; }\nfloat more(float x) { return x; }\n" };
        bool broken = edit == 1;
        const void *old = (WORKS(spy_call_prepared(p, args)), last_kernel(&w));
        gate_set(&w.files, true);
        gate_set(&w.kernels, true);
        world_write(&w, texts[edit]);
        WORKS(spy_poll_reload(w.device, 0, &info));
        assert_int_equal(info.compiling, 1);
        gate_wait(&w.files);
        for (int i = 0; i < 100; i++) { // its text is being read
            WORKS(spy_poll_reload(w.device, 0, &info));
            assert_true(info.compiling == 1 && !info.reloaded && !info.failed);
            WORKS(spy_prepared_ready(p));
            WORKS(spy_call_prepared(p, args));
            assert_ptr_equal(last_kernel(&w), old);
        }
        gate_set(&w.files, false);
        if (broken) {
            info = poll_all(&w, &status);
            assert_true(info.failed == 1 && !info.reloaded);
            assert_int_equal(status, SPY_ERROR_COMPILE);
            spy_error error = spy_take_error(w.device);
            assert_non_null(strstr(error.message, "m.slang"));
            WORKS(spy_prepared_ready(p));
            WORKS(spy_call_prepared(p, args));
            assert_ptr_equal(last_kernel(&w), old);
            continue;
        }
        do WORKS(spy_poll_reload(w.device, 0, &info));
        while (!info.reloaded);
        gate_wait(&w.kernels);
        for (int i = 0; i < 100; i++) { // its kernel is being made
            WORKS(spy_poll_reload(w.device, 0, &info));
            assert_int_equal(info.compiling, 1);
            assert_int_equal(spy_prepared_ready(p), SPY_ERROR_NOT_READY);
            WORKS(spy_call_prepared(p, args));
            assert_ptr_equal(last_kernel(&w), old);
        }
        gate_set(&w.kernels, false);
        while ((status = spy_prepared_ready(p)) == SPY_ERROR_NOT_READY) spyi_thread_pause();
        WORKS(status);
        WORKS(spy_call_prepared(p, args));
        assert_ptr_not_equal(last_kernel(&w), old);
        info = poll_all(&w, &status);
        assert_true(status == SPY_OK && !info.reloaded && !info.failed);
    }
    assert_int_equal(w.steps_of_owner, 0);
    assert_int_equal(w.files.passes_of_owner + w.kernels.passes_of_owner, passes);
    print_message("the frame loop waited %d times\n", w.blocks_of_owner); // for its turn, a microsecond each
    assert_int_equal(spy_take_error(w.device).code, SPY_OK);
    // A call that the old kernel cannot make waits for the new one.
    gate_set(&w.kernels, false);
    world_write(&w, "float f(float x) { return x - 7; }\n");
    do WORKS(spy_poll_reload(w.device, 0, &info));
    while (!info.reloaded);
    spy_tensor *large = world_tensor(&w, 17), *odd = world_tensor(&w, 17);
    WORKS(spy_call_prepared(p, SPY_ARGS(spy_arg_tensor("x", large), spy_arg_tensor("_result", odd))));
    // More prepared calls than threads that compile at a time: all of them get their new code.
    spy_prepared *many[6];
    spy_args of_rank[6];
    spy_arg items[6][2];
    for (uint32_t i = 0; i < 6; i++) {
        spy_tensor_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.shape.rank = i + 1;
        for (uint32_t d = 0; d <= i; d++) desc.shape.dims[d] = 2;
        spy_tensor *t = spy_create_tensor(w.device, &desc);
        items[i][0] = spy_arg_tensor("x", t);
        items[i][1] = spy_arg_tensor("_result", spy_create_tensor(w.device, &desc));
        of_rank[i].items = items[i];
        of_rank[i].count = 2;
        many[i] = spy_prepare(f, of_rank[i], NULL);
        assert_non_null(many[i]);
    }
    w.steps_of_owner = 0;
    world_write(&w, "float f(float x) { return x - 71; }\n");
    info = poll_all(&w, &status);
    assert_true(status == SPY_OK && info.reloaded == 1);
    for (int i = 0; i < 6; i++) {
        WORKS(spy_prepared_ready(many[i]));
        WORKS(spy_call_prepared(many[i], of_rank[i]));
    }
    assert_int_equal(w.steps_of_owner, 0);
    // A function that was found while its module was compiled, one that a call compiles meanwhile, a device that goes.
    gate_set(&w.files, true);
    world_write(&w, "float f(float x) { return x - 8; }\nfloat more(float x) { return x; }\n");
    WORKS(spy_poll_reload(w.device, 0, &info));
    gate_wait(&w.files);
    gate_set(&w.files, false);
    spy_function *new_one = spy_find_function(m, "more"); // may be too early
    if (!new_one) spy_take_error(w.device);
    while (!info.reloaded) WORKS(spy_poll_reload(w.device, 0, &info));
    assert_non_null(new_one = spy_find_function(m, "more"));
    WORKS(spy_call(new_one, args));
    WORKS(spy_reload_changed(w.device, 0, &info));
    WORKS(spy_prepared_ready(p));
    world_write(&w, "float f(float x) { return x - 9; }\n");
    WORKS(spy_poll_reload(w.device, 0, &info));
    world_close(&w);
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
        cmocka_unit_test(test_loader),
        cmocka_unit_test(test_prepared_ahead),
        cmocka_unit_test(test_compiler_opened_ahead),
        cmocka_unit_test(test_launch_taken),
        cmocka_unit_test(test_recorded_plan),
        cmocka_unit_test(test_reload_in_background),
#if !defined(__SANITIZE_THREAD__)
        cmocka_unit_test(test_fork),
#endif
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
