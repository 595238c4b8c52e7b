// The thread that calls libslang, and how other threads hand it their calls.
//
// libslang keeps its syntax-tree builder in a thread-local that only the creation of a global session sets
// for good: on any other thread functions such as spReflection_isSubType() read through NULL (2026.12,
// 2026.14.1). And a call of libslang may last for ever, which nobody can stop. So one thread of the library,
// the worker, creates the global session and makes all calls; other threads hand it tasks and wait. A caller
// whose time is over leaves the call behind. The worker is then lost, with its global session and all
// sessions in it. The next task gets a new worker, which opens sessions from the modules that units have
// stored. When libslang returns to a lost worker, that worker closes its sessions and ends.
//
// A task runs while its caller waits, so it may use the caller's memory. The caller may leave only between
// spyi_sl_begin_long() and spyi_sl_end_long(). They stand around libslang calls that may last, and such a
// call only uses memory of the worker. When the caller has left, spyi_sl_end_long() does not return to the
// task.
#include "compiler/internal.h"

#include <setjmp.h>

// libslang recurses for deep expressions: 10,000 nested brackets take about 30 MiB. Unused stack takes no
// memory.
#define SPYI_SL_STACK_BYTES ((size_t)256 << 20)

// A call asks libslang dozens of questions, one soon after the other. Threads that compile ahead of time wait
// meanwhile.
#define SPYI_SL_PATIENCE_NS 20000000u
#define SPYI_SL_LONGEST_PATIENCE_NS 1000000000u

typedef struct spyi_sl_task { // A task lies on its caller's stack.
    void (*func)(void *context);
    void *context;
    bool done;
    uint32_t failed; // the number of allocations that failed on the worker's thread
} spyi_sl_task;

struct spyi_sl_worker {
    spyi_mutex lock;        // guards all members below except `global`
    spyi_signal wake, told; // wake: signals the worker; told: signals the threads that wait for it
    spyi_thread thread;
    spyi_atomic references; // the number of owners: the thread, the callers, the sessions and the library
    int32_t fork_count;
    const spyi_sl_library *library;
    spyi_sl_global *global; // used on the worker's thread only
    spyi_sl_task *task;     // NULL means no task
    bool started, ending, ended;
    bool away;                  // a libslang call that may last is running, so the caller may leave
    bool lost;                  // the caller has left or libslang threw, so the worker takes no more tasks
    bool threw;                 // libslang has thrown an exception, so that the thread never returns
    void (*ask)(void *context); // function that the caller's thread shall run for the worker, or NULL
    void *asked;
    uint32_t ask_failed;   // the number of allocations that failed in `ask`
    spyi_sl_live *closing; // a list of sessions to close
    spyi_sl_live *opening; // a session whose modules are being loaded
    uint32_t lives;        // the number of open sessions
    uint64_t hurried_ns;   // when a task of a thread that is not patient last ended
    uint32_t hurried;      // the number of these threads that wait now
    jmp_buf back;          // where longjmp() leaves a task whose caller has left
};

// The worker that takes tasks, or NULL. The global lock guards it.
static spyi_sl_worker *spyi_sl_the_worker;
// The worker whose thread this is; NULL on all other threads.
static SPYI_THREAD_LOCAL spyi_sl_worker *spyi_sl_this_worker;
static SPYI_THREAD_LOCAL bool spyi_sl_is_patient; // whether this thread's tasks wait for those of others

// >>exceptions of libslang

// libslang throws exceptions through its own interface, which a C program cannot catch (as for `import typo;
// import slangpy_diff;`). The C++ library then calls the terminate handler on the thread that threw. Our
// handler takes the worker out of service instead of ending the program. On all other threads it calls the
// handler that was set before.
typedef void (*spyi_sl_terminate)(void);
typedef spyi_sl_terminate (*spyi_sl_set_terminate)(spyi_sl_terminate);
static spyi_sl_terminate spyi_sl_other_terminate;

static void spyi_sl_on_terminate(void) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    if (!w && spyi_sl_other_terminate) spyi_sl_other_terminate();
    if (!w) abort();
    spyi_mutex_lock(&w->lock);
    w->lost = w->threw = true;
    spyi_signal_all(&w->told);
    for (;;) spyi_signal_wait(&w->wake, &w->lock); // a terminate handler must not return
}

static void spyi_sl_catch(const spyi_sl_library *library, bool begin) {
    void *symbol = spyi_library_symbol(library->handle, "_ZSt13set_terminatePFvvE");
    spyi_sl_set_terminate set;
    if (!symbol) return;
    memcpy(&set, &symbol, sizeof set);
    spyi_sl_terminate before = set(begin ? spyi_sl_on_terminate : spyi_sl_other_terminate);
    if (begin && before != spyi_sl_on_terminate) spyi_sl_other_terminate = before;
    // Another library has set its handler since; it may call the library's handler.
    if (!begin && before != spyi_sl_on_terminate) {
        set(before);
        spyi_library_stay();
    }
}

// >>the worker's side

static void spyi_sl_worker_drop(spyi_sl_worker *w) {
    if (spyi_atomic_add(&w->references, -1) > 0) return;
    spyi_signal_destroy(&w->wake);
    spyi_signal_destroy(&w->told);
    spyi_mutex_destroy(&w->lock);
    free(w);
}

static void spyi_sl_perform(spyi_sl_worker *w, spyi_sl_task *task) {
    if (setjmp(w->back) == 0) {
        task->func(task->context);
    } else if (w->opening) { // no unit owns this session
        spyi_sl_live_free(w->opening);
    }
}

// Closes the sessions that units have given back. The caller holds the lock.
static void spyi_sl_close_all(spyi_sl_worker *w) {
    while (w->closing) {
        spyi_sl_live *live = w->closing;
        w->closing = live->next;
        spyi_mutex_unlock(&w->lock);
        spyi_sl_live_free(live);
        spyi_mutex_lock(&w->lock);
    }
}

static void spyi_sl_work(void *arg) {
    spyi_sl_worker *w = (spyi_sl_worker *)arg;
    spyi_sl_global_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.structureSize = (uint32_t)sizeof desc;
    desc.minLanguageVersion = 2025;
    spyi_sl_this_worker = w;
    if (w->library->slang_createGlobalSession2(&desc, &w->global) < 0) w->global = NULL;
    spyi_mutex_lock(&w->lock);
    w->started = true;
    spyi_signal_all(&w->told);
    while (w->global && !w->lost) {
        spyi_sl_close_all(w); // releases the lock while it closes a session
        spyi_sl_task *task = w->task;
        if (task && !task->done) {
            spyi_mutex_unlock(&w->lock);
            uint32_t failed = spyi_failed_allocations();
            spyi_sl_perform(w, task);
            spyi_mutex_lock(&w->lock);
            if (w->lost) break; // the caller has left, and the task's memory with it
            task->failed = spyi_failed_allocations() - failed;
            task->done = true;
            spyi_signal_all(&w->told);
        } else if (w->ending && !w->closing) {
            break;
        } else if (!w->closing) {
            spyi_signal_wait(&w->wake, &w->lock);
        }
    }
    // A lost worker waits here until its last sessions are given back, when their units are used again or
    // released.
    for (spyi_sl_close_all(w); w->lives; spyi_sl_close_all(w)) spyi_signal_wait(&w->wake, &w->lock);
    spyi_mutex_unlock(&w->lock);
    if (w->global) w->global->v->release(w->global);
    spyi_mutex_lock(&w->lock);
    w->ended = true;
    spyi_signal_all(&w->told);
    spyi_mutex_unlock(&w->lock);
    spyi_sl_worker_drop(w);
}

void spyi_sl_begin_long(void) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    spyi_mutex_lock(&w->lock);
    w->away = true;
    spyi_mutex_unlock(&w->lock);
}

void spyi_sl_end_long(void) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    spyi_mutex_lock(&w->lock);
    w->away = false;
    bool lost = w->lost;
    spyi_mutex_unlock(&w->lock);
    if (lost) longjmp(w->back, 1); // skips our frames: memory that they own stays allocated
}

bool spyi_sl_come_back(bool *away) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    spyi_mutex_lock(&w->lock);
    bool here = !w->lost;
    *away = w->away;
    if (here) w->away = false;
    spyi_mutex_unlock(&w->lock);
    return here;
}

void spyi_sl_go_back(bool away) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    spyi_mutex_lock(&w->lock);
    w->away = away;
    spyi_mutex_unlock(&w->lock);
}

void spyi_sl_on_caller(void (*func)(void *context), void *context) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    if (!w) {
        func(context);
        return;
    }
    spyi_mutex_lock(&w->lock);
    w->asked = context;
    w->ask = func;
    spyi_signal_all(&w->told);
    while (w->ask) spyi_signal_wait(&w->wake, &w->lock);
    uint32_t failed = w->ask_failed;
    spyi_mutex_unlock(&w->lock);
    spyi_note_failed_allocations(failed);
}

spyi_sl_global *spyi_sl_global_session(void) {
    return spyi_sl_this_worker->global;
}

void spyi_sl_live_opened(spyi_sl_live *live) {
    spyi_sl_worker *w = spyi_sl_this_worker;
    live->worker = w;
    w->opening = live;
    spyi_atomic_add(&w->references, 1);
    spyi_mutex_lock(&w->lock);
    w->lives++;
    spyi_mutex_unlock(&w->lock);
}

void spyi_sl_live_ready(void) {
    spyi_sl_this_worker->opening = NULL;
}

void spyi_sl_live_closed(spyi_sl_live *live) {
    spyi_sl_worker *w = live->worker;
    if (w->opening == live) w->opening = NULL;
    spyi_mutex_lock(&w->lock);
    w->lives--;
    spyi_mutex_unlock(&w->lock);
    spyi_sl_worker_drop(w);
}

bool spyi_sl_live_is_lost(const spyi_sl_live *live) {
    return live->worker != spyi_sl_this_worker;
}

void spyi_sl_live_close(spyi_sl_live *live) {
    if (!live) return;
    spyi_sl_worker *w = live->worker;
    if (w == spyi_sl_this_worker) {
        spyi_sl_live_free(live);
    } else if (w->fork_count == spyi_fork_count()) { // otherwise worker and lock belong to the parent process
        spyi_mutex_lock(&w->lock);
        live->next = w->closing;
        w->closing = live;
        spyi_signal_all(&w->wake);
        spyi_mutex_unlock(&w->lock);
    }
}

// >>the callers' side

// Waits until the thread has ended, or has thrown and never will.
static void spyi_sl_worker_end(spyi_sl_worker *w) {
    spyi_mutex_lock(&w->lock);
    while (!w->ended && !w->threw) spyi_signal_wait(&w->told, &w->lock);
    bool threw = w->threw;
    spyi_mutex_unlock(&w->lock);
    if (threw) spyi_thread_detach(&w->thread);
    else spyi_thread_join(&w->thread);
}

static spyi_sl_worker *spyi_sl_worker_start(const spyi_sl_library *library) {
    spyi_sl_worker *w = (spyi_sl_worker *)spyi_calloc(1, sizeof *w);
    if (!w) return NULL;
    spyi_mutex_init(&w->lock);
    spyi_signal_init(&w->wake);
    spyi_signal_init(&w->told);
    w->library = library;
    w->fork_count = spyi_fork_count();
    spyi_atomic_store(&w->references, 2);
    spyi_sl_catch(library, true);
    if (!spyi_thread_start_deep(&w->thread, spyi_sl_work, w, SPYI_SL_STACK_BYTES)) {
        spyi_sl_worker_drop(w);
        spyi_sl_worker_drop(w);
        return NULL;
    }
    spyi_mutex_lock(&w->lock);
    while (!w->started && !w->lost) spyi_signal_wait(&w->told, &w->lock);
    bool good = w->global && !w->lost;
    spyi_mutex_unlock(&w->lock);
    if (good) return w;
    spyi_sl_worker_end(w);
    spyi_sl_worker_drop(w);
    return NULL;
}

bool spyi_sl_worker_hire(const spyi_sl_library *library) {
    if (!spyi_sl_the_worker) spyi_sl_the_worker = spyi_sl_worker_start(library);
    return spyi_sl_the_worker != NULL;
}

void spyi_sl_worker_dismiss(void) {
    spyi_sl_worker *w = spyi_sl_the_worker;
    spyi_sl_the_worker = NULL;
    if (!w) return;
    spyi_mutex_lock(&w->lock);
    w->ending = true;
    spyi_signal_all(&w->wake);
    spyi_mutex_unlock(&w->lock);
    spyi_sl_worker_end(w);
    spyi_sl_catch(w->library, false);
    spyi_sl_worker_drop(w);
}

void spyi_sl_worker_forget(void) {
    spyi_sl_the_worker = NULL;
}

// Hands the task to the worker and waits until it is done, the caller leaves, or the worker is lost. The
// caller holds the lock.
static void spyi_sl_hand_over(spyi_sl_worker *w, spyi_sl_task *task, spyi_long_wait *wait) {
    w->task = task;
    spyi_signal_all(&w->wake);
    while (!task->done && !w->lost && !(w->away && spyi_long_wait_left(wait))) {
        if (w->ask) {
            spyi_mutex_unlock(&w->lock);
            uint32_t failed = spyi_failed_allocations();
            w->ask(w->asked);
            failed = spyi_failed_allocations() - failed;
            spyi_mutex_lock(&w->lock);
            w->ask_failed = failed;
            w->ask = NULL;
            spyi_signal_all(&w->wake);
        } else {
            spyi_long_wait_once(wait, &w->told, &w->lock);
        }
    }
    w->task = NULL;
    if (!task->done) w->lost = true;
    spyi_signal_all(&w->told); // wakes the callers whose turn comes next
}

static spy_status spyi_sl_say_left(const spyi_long_wait *wait, bool threw, bool began, spyi_text *error) {
    spy_status status = SPY_ERROR_COMPILE;
    if (!threw) status = spyi_long_wait_say(wait, error);
    else
        spyi_text_add(error, "%s: the Slang compiler threw an exception, which is a fault of its own",
                      wait->what);
    if (began)
        spyi_logf(wait->ctx, SPY_LOG_LEVEL_WARNING,
                  "%s: the Slang compiler is left %s, with about 150 MB of memory; the next compile opens it "
                  "again",
                  wait->what, threw ? "as its exception found it" : "to itself until it is done");
    return status;
}

// Takes the worker out of service. This library must stay loaded, because the thread will return to its code.
static void spyi_sl_worker_lose(spyi_sl_worker *w) {
    spyi_global_lock();
    bool mine = spyi_sl_the_worker == w;
    if (mine) spyi_sl_the_worker = NULL;
    spyi_global_unlock();
    if (!mine) return;
    spyi_library_stay();
    spyi_thread_detach(&w->thread);
    spyi_sl_worker_drop(w);
}

static spyi_sl_worker *spyi_sl_worker_now(const spyi_sl_library *library, const char *what,
                                          spyi_text *error) {
    spyi_sl_worker *w = NULL;
    bool forked = library->fork_count != spyi_fork_count();
    if (!forked) {
        spyi_global_lock();
        if (spyi_sl_worker_hire(library)) w = spyi_sl_the_worker;
        if (w) spyi_atomic_add(&w->references, 1);
        spyi_global_unlock();
    }
    if (!w)
        spyi_text_add(error,
                      forked
                          ? "%s: the Slang compiler was opened before fork(), by the parent process; make a "
                            "device in the child"
                          : "%s: the Slang compiler cannot be opened again",
                      what);
    return w;
}

void spyi_compile_patiently(void) {
    spyi_sl_is_patient = true;
}

// Waits for this thread's turn. The caller holds the lock.
static void spyi_sl_await_turn(spyi_sl_worker *w, spyi_long_wait *wait) {
    uint64_t now = spyi_time_ns(), until = now + SPYI_SL_LONGEST_PATIENCE_NS;
    bool patient = spyi_sl_is_patient;
    while (patient && now < until && !w->lost && (w->hurried || now - w->hurried_ns < SPYI_SL_PATIENCE_NS)) {
        (void)spyi_signal_wait_ns(&w->told, &w->lock, SPYI_SL_PATIENCE_NS / 4);
        now = spyi_time_ns();
    }
    while (w->task && !w->lost && !spyi_long_wait_left(wait)) spyi_long_wait_once(wait, &w->told, &w->lock);
}

spy_status spyi_sl_run(spyi_compiler *compiler, const char *what, void (*func)(void *context), void *context,
                       spyi_text *error) {
    if (spyi_sl_this_worker) {
        func(context);
        return SPY_OK;
    }
    spyi_text ignored = { NULL, 0, 0 };
    spyi_long_wait wait;
    spyi_long_wait_begin(&wait, compiler->ctx, what, "the Slang compiler", !error);
    if (!error) error = &ignored;
    spyi_sl_task task;
    task.func = func;
    task.context = context;
    task.done = false;
    task.failed = 0;
    spy_status status = SPY_OK;
    while (status == SPY_OK && !task.done) {
        spyi_sl_worker *w = spyi_sl_worker_now(compiler->library, what, error);
        if (!w) {
            status = SPY_ERROR_NO_COMPILER;
            break;
        }
        spyi_mutex_lock(&w->lock);
        w->hurried += !spyi_sl_is_patient;
        spyi_sl_await_turn(w, &wait);
        bool began = !w->task && !w->lost;
        if (began) spyi_sl_hand_over(w, &task, &wait);
        w->hurried -= !spyi_sl_is_patient;
        if (!spyi_sl_is_patient) w->hurried_ns = spyi_time_ns();
        bool lost = w->lost, threw = began && w->threw;
        spyi_mutex_unlock(&w->lock);
        if (lost) spyi_sl_worker_lose(w);
        if (!task.done && (threw || spyi_long_wait_left(&wait)))
            status = spyi_sl_say_left(&wait, threw, began, error);
        spyi_sl_worker_drop(w);
    }
    spyi_note_failed_allocations(task.failed);
    spyi_long_wait_end(&wait);
    if (ignored.size) spyi_logf(compiler->ctx, SPY_LOG_LEVEL_WARNING, "%s", ignored.data);
    spyi_text_free(&ignored);
    return status;
}

typedef struct spyi_sl_question {
    spyi_unit *unit;
    size_t kib;
    void (*func)(spyi_unit *unit, spyi_sl_live *live, void *context);
    void *context;
    bool asked;
} spyi_sl_question;

static void spyi_sl_ask_task(void *context) {
    spyi_sl_question *q = (spyi_sl_question *)context;
    spyi_sl_live *live = spyi_sl_live_of(q->unit, q->kib);
    if (!live) return;
    q->asked = true;
    q->func(q->unit, live, q->context);
}

spy_status spyi_sl_ask(spyi_unit *unit, size_t kib, const char *what,
                       void (*func)(spyi_unit *unit, spyi_sl_live *live, void *context), void *context,
                       spyi_text *error) {
    spyi_sl_question q;
    q.unit = unit;
    q.kib = kib;
    q.func = func;
    q.context = context;
    q.asked = false;
    if (!SPYI_HAS_COMPILER || unit->compiler->packed) {
        (void)spyi_atomic_add(&unit->compiler->lacks, 1);
        if (error)
            spyi_text_add(error, "%s: module '%s' of the pack has no answer to this", what, unit->name);
        return SPY_ERROR_NO_COMPILER;
    }
    spyi_text ignored = { NULL, 0, 0 };
    spy_status status = spyi_compiler_ready(unit->compiler, error ? error : &ignored);
    if (ignored.size) spyi_logf(unit->compiler->ctx, SPY_LOG_LEVEL_WARNING, "%s: %s", what, ignored.data);
    spyi_text_free(&ignored);
    if (status != SPY_OK) return status;
    status = spyi_sl_run(unit->compiler, what, spyi_sl_ask_task, &q, error);
    if (status != SPY_OK || q.asked) return status;
    const char *why = unit->identity.size ? "; if its files have changed since it was loaded, reload it" : "";
    if (error) spyi_text_add(error, "%s: module '%s' cannot be opened again%s", what, unit->name, why);
    else
        spyi_logf(unit->compiler->ctx, SPY_LOG_LEVEL_WARNING, "%s: module '%s' cannot be opened again%s",
                  what, unit->name, why);
    return SPY_ERROR_COMPILE;
}
