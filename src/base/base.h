// Declarations for all of the library: linkage, atomics, threads, memory, text, errors, objects, hashes,
// files. The functions are in base/*.c.
#ifndef SPYI_BASE_H
#define SPYI_BASE_H

#include "api/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In the single header all internal functions are static; in the split build they have external linkage.
#if defined(SPYI_SINGLE_HEADER)
#if defined(__GNUC__) || defined(__clang__)
#define SPYI_FN static __attribute__((unused))
#else
#define SPYI_FN static
#endif
#else
#define SPYI_FN
#endif

#if defined(__GNUC__) || defined(__clang__)
#if defined(__MINGW_PRINTF_FORMAT)
#define SPYI_PRINTF(text, first) __attribute__((__format__(__MINGW_PRINTF_FORMAT, text, first)))
#else
#define SPYI_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))
#endif
// For functions beside a hot path, whose registers they would take if they were inlined.
#define SPYI_NOINLINE __attribute__((noinline))
#define SPYI_THREAD_LOCAL __thread
#else
#define SPYI_PRINTF(text, first)
#define SPYI_NOINLINE __declspec(noinline)
#define SPYI_THREAD_LOCAL __declspec(thread)
#endif
#if defined(__GNUC__) && defined(__OPTIMIZE__)
#define SPYI_LIKELY(x) __builtin_expect(!!(x), 1)
#else // without optimisation the hint would be four more instructions
#define SPYI_LIKELY(x) (x)
#endif

// tools/amalgamate puts these two around files through which no repeated call runs (part `cold` of
// src/manifest). gcc makes small code of these files, and leaves out passes that take much of its time.
// SLANGPY_NO_COLD compiles all files alike.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__) && !defined(SLANGPY_NO_COLD)
// All options are in one pragma, because gcc 12 ignores a second pragma in the same macro.
// clang-format off
#define SPYI_COLD_BEGIN _Pragma("GCC push_options") _Pragma("GCC optimize(\"Os,no-tree-pre,no-code-hoisting,no-tree-fre,\
no-gcse,no-tree-vrp,no-tree-pta,no-tree-sra,no-expensive-optimizations,no-tree-dominator-opts,no-ivopts,no-thread-jumps,\
no-tree-loop-optimize,no-move-loop-invariants,no-cse-follow-jumps,no-schedule-insns2\")")
// clang-format on
#define SPYI_COLD_END _Pragma("GCC pop_options")
#else
#define SPYI_COLD_BEGIN
#define SPYI_COLD_END
#endif

// SPYI_ASSERT checks the library's own invariants, never what a caller passes.
#ifndef SPYI_ASSERT
#include <assert.h>
#define SPYI_ASSERT(x) assert(x)
#endif

// SLANGPY_NO_COMPILER leaves out all code that drives the Slang compiler, for programs that run from a pack.
// It is a constant in the places that lead to that code, so that the C compiler drops the functions that only
// these places call.
#ifdef SLANGPY_NO_COMPILER
#define SPYI_HAS_COMPILER 0
#else
#define SPYI_HAS_COMPILER 1
#endif

// >>atomics: 32-bit and pointer-free, so that C, C++ and MSVC share them
typedef struct spyi_atomic {
    volatile int32_t value;
} spyi_atomic;
SPYI_FN int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta); // returns the new value
SPYI_FN int32_t spyi_atomic_load(spyi_atomic *a);               // loads with acquire order
SPYI_FN void spyi_atomic_store(spyi_atomic *a, int32_t value);  // stores with release order
// compares and swaps; returns whether the value was the expected one
SPYI_FN bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value);

// >>threads
typedef struct spyi_mutex {
    void *handle[8];
} spyi_mutex; // room for a pthread_mutex_t or SRWLOCK
typedef struct spyi_signal {
    void *handle[8];
} spyi_signal; // room for a pthread_cond_t or CONDITION_VARIABLE
typedef struct spyi_thread {
    void *handle[2];
} spyi_thread;
SPYI_FN void spyi_mutex_init(spyi_mutex *m);
SPYI_FN void spyi_mutex_destroy(spyi_mutex *m);
SPYI_FN void spyi_mutex_lock(spyi_mutex *m);
SPYI_FN void spyi_mutex_unlock(spyi_mutex *m);
SPYI_FN void spyi_signal_init(spyi_signal *s);
SPYI_FN void spyi_signal_destroy(spyi_signal *s);
SPYI_FN void spyi_signal_wait(spyi_signal *s, spyi_mutex *m); // the caller holds `m`; may return without a
                                                              // signal
// Waits at most `ns` nanoseconds. Returns false when this time has passed without a signal.
SPYI_FN bool spyi_signal_wait_ns(spyi_signal *s, spyi_mutex *m, uint64_t ns);
SPYI_FN void spyi_signal_all(spyi_signal *s);
SPYI_FN void spyi_global_lock(void); // locks the one lock for process-wide state (libslang)
SPYI_FN void spyi_global_unlock(void);
// Starts a thread. Returns false when no thread could be made.
SPYI_FN bool spyi_thread_start(spyi_thread *t, void (*func)(void *), void *arg);
// Starts a thread with a stack of `stack_bytes`, or a smaller one where the system refuses that size. Only
// the pages of the stack that are used take memory.
SPYI_FN bool spyi_thread_start_deep(spyi_thread *t, void (*func)(void *), void *arg, size_t stack_bytes);
SPYI_FN void spyi_thread_join(spyi_thread *t);
SPYI_FN void spyi_thread_detach(spyi_thread *t); // for a thread that nobody will join
SPYI_FN uintptr_t spyi_thread_id(void);          // returns the calling thread's id, which is never 0
// Writes and reads a thread's id in a word that other threads read without a lock.
SPYI_FN void spyi_note_thread(volatile uintptr_t *at, uintptr_t thread);
SPYI_FN uintptr_t spyi_noted_thread(const volatile uintptr_t *at);
SPYI_FN void spyi_thread_pause(void); // pauses briefly, inside a loop that waits for another thread
// Returns how many forks lie between the first process that used the library and this one. Objects made
// before a fork belong to the parent: the child has neither its threads nor its GPU. The count is
// process-wide, as fork() is.
SPYI_FN int32_t spyi_fork_count(void);
SPYI_FN void spyi_fork_watch(void);                // starts the count of forks; may be called again
SPYI_FN uint32_t spyi_processor_count(void);       // returns at least 1
SPYI_FN uint64_t spyi_time_ns(void);               // returns the monotonic clock in nanoseconds
SPYI_FN void *spyi_library_open(const char *path); // dlopen() or LoadLibrary(), with local symbols
SPYI_FN void spyi_library_close(void *library);
SPYI_FN void *spyi_library_symbol(void *library, const char *name);
SPYI_FN const char *spyi_library_error(void); // returns why the last open failed
SPYI_FN void spyi_library_stay(void); // keeps the library that holds this code loaded until the process ends

// >>turns: a lock that lets one thread at a time inside; the others wait (turns.c)
typedef struct spyi_turns {
    spyi_atomic state;   // 0: free, 1: a thread is inside, 2: free, but reserved for the first waiting thread
    spyi_atomic waiters; // the number of threads that wait; written under the lock
    int32_t fork_count;  // spyi_fork_count() of the process that made the turns
    bool alone;          // the user promised to use the device from one thread only: nobody waits
    volatile uintptr_t inside; // spyi_thread_id() of the thread inside; 0 if there is none
    spyi_mutex lock;           // guards the members below
    spyi_signal changed;
    uint32_t first, next; // ticket numbers: of the first waiting thread, and of the next thread to wait
    bool urgent;          // the first waiting thread has waited so long that nobody may pass it
    bool closed;          // no thread may enter any more
    spyi_atomic events;   // how often spyi_turns_notify() was called; written under the lock
} spyi_turns;

typedef enum spyi_turn {
    SPYI_TURN_TAKEN,
    SPYI_TURN_MINE,   // the calling thread is inside already
    SPYI_TURN_CLOSED, // the turns are about to be destroyed
    SPYI_TURN_FORKED  // the turns belong to the parent process
} spyi_turn;

SPYI_FN void spyi_turns_init(spyi_turns *t, bool alone);
SPYI_FN void spyi_turns_destroy(spyi_turns *t);
// Closes the turns: no thread enters any more, and when this returns no thread waits. The caller is inside
// and stays there.
SPYI_FN void spyi_turns_close(spyi_turns *t);
SPYI_FN bool spyi_turns_try(spyi_turns *t); // takes the turn if it is free; returns whether it did
// Waits for the turn. `block`, which may be NULL, is called before and after a wait that sleeps.
SPYI_FN spyi_turn spyi_turns_wait(spyi_turns *t, void (*block)(void *user, bool begins), void *user);
SPYI_FN void spyi_turns_leave(spyi_turns *t);
// A condition variable: the thread inside reads spyi_turns_events(), finds that it must wait for something,
// and calls spyi_turns_await(), which leaves, sleeps until a notification after `seen`, and takes the turn
// again. Any thread may notify.
SPYI_FN int32_t spyi_turns_events(spyi_turns *t);
SPYI_FN void spyi_turns_await(spyi_turns *t, int32_t seen, void (*block)(void *user, bool begins),
                              void *user);
SPYI_FN void spyi_turns_notify(spyi_turns *t);

// >>copy team: threads that copy one large transfer, and end with it (copy_team.c)
#define SPYI_COPY_THREADS 12u // most threads of a team, including the caller's
#define SPYI_COPY_PIECES 16u  // most pieces that wait or are being copied

typedef struct spyi_copy_piece {
    char *to;
    const char *from;
    size_t size, taken, copied; // the sizes in bytes
} spyi_copy_piece;

typedef struct spyi_copy_team {
    spyi_mutex lock;                          // guards the pieces, their counts and `ending`
    spyi_signal more, done;                   // `more` wakes the helpers, `done` wakes the caller
    uint32_t threads;                         // the number of wanted threads, including the caller's
    bool stream;                              // copies bypass the processor's cache
    bool ending;                              // no more pieces will be posted
    spyi_copy_piece pieces[SPYI_COPY_PIECES]; // a ring buffer
    uint32_t posted;                          // the number of pieces posted so far
    // Of the posted pieces, the first `taken` have nothing left to take, and the first `copied` are done.
    uint32_t taken, copied;
    uint32_t started, to_start; // helpers that run, and helpers that are still to be started
    spyi_thread helpers[SPYI_COPY_THREADS];
} spyi_copy_team;

// Returns how many threads are worth their start for a transfer of `size` bytes.
SPYI_FN uint32_t spyi_copy_threads(size_t size);
// Prepares a team without starting a thread. Until spyi_copy_end() only one thread may use the team, and the
// team must not move in memory. `stream` says that the targets are not read soon: several threads then copy
// past the cache.
SPYI_FN void spyi_copy_begin(spyi_copy_team *team, uint32_t threads, bool stream);
// Starts a memcpy() and may return before it is done. The caller copies, too, while SPYI_COPY_PIECES copies
// are not done.
SPYI_FN void spyi_copy_post(spyi_copy_team *team, void *to, const void *from, size_t size);
// Copies until the first `pieces` pieces that were posted are done.
SPYI_FN void spyi_copy_wait(spyi_copy_team *team, uint32_t pieces);
// Copies until all pieces are done, and ends the team's threads.
SPYI_FN void spyi_copy_end(spyi_copy_team *team);

// >>text: a growable string on the process allocator, for cold paths. Zero is empty.
typedef struct spyi_text {
    char *data;  // NUL-terminated, or NULL when empty; read it through spyi_text_str()
    size_t size; // bytes, without the NUL
    size_t capacity;
} spyi_text;
SPYI_FN void spyi_text_add(spyi_text *t, const char *format, ...) SPYI_PRINTF(2, 3);
SPYI_FN void spyi_text_add_n(spyi_text *t, const char *s, size_t n);
SPYI_FN const char *spyi_text_str(const spyi_text *t); // returns the text, never NULL
SPYI_FN void spyi_text_clear(spyi_text *t);            // makes the text empty; it keeps its memory
SPYI_FN void spyi_text_free(spyi_text *t);
// Copies the text to `to` of `capacity` bytes, as snprintf() does, frees it, and returns its length. When an
// allocation has failed since spyi_failed_allocations() was `failed`, the text is "out of host memory".
SPYI_FN size_t spyi_text_give(spyi_text *t, uint32_t failed, char *to, size_t capacity);
SPYI_FN char *spyi_strdup(const char *s); // returns a copy from the process allocator; NULL stays NULL
SPYI_FN bool spyi_is_word(char c); // returns true for the characters of identifiers: letters, digits and '_'
SPYI_FN bool spyi_is_identifier(const char *name); // false for NULL and ""
SPYI_FN uint64_t spyi_hash(const void *data, size_t size, uint64_t seed);
// Returns the Levenshtein distance, ignoring case, for "did you mean".
SPYI_FN unsigned spyi_edit_distance(const char *a, const char *b);

// >>memory that ran out
// Returns how many allocations of this thread have failed: those of the functions below, and of texts, names
// and objects. The count never goes down. Work made of many small allocations (a kernel's text, a module's
// names) compares the count before and after: when it has changed, the result is incomplete and is thrown
// away as SPY_ERROR_OUT_OF_MEMORY.
SPYI_FN uint32_t spyi_failed_allocations(void);
SPYI_FN void spyi_note_failed_allocations(uint32_t count); // adds a helper thread's count
// When an allocation has failed since the count was `before`: replaces the text by "out of host memory" and
// returns SPY_ERROR_OUT_OF_MEMORY. Otherwise returns `status`.
SPYI_FN spy_status spyi_check_allocations(uint32_t before, spy_status status, spyi_text *error);
// malloc(), realloc() and calloc() with failures counted; free() takes the memory back. The library calls no
// other allocator directly.
SPYI_FN void *spyi_malloc(size_t size);
SPYI_FN void *spyi_calloc(size_t count, size_t size);
SPYI_FN void *spyi_realloc(void *memory, size_t size);

// >>files
SPYI_FN bool spyi_file_read(const char *path, spyi_text *out); // returns false if the file cannot be read
SPYI_FN bool spyi_file_write(const char *path, const void *data, size_t size);
SPYI_FN void spyi_file_remove(const char *path);
// Writes a file in the place of the existing one. A reader of `path` gets the old file or the new one, and
// other threads and processes may write the same path. Returns false on failure, also where `path` is a
// device, a pipe or a folder; what was there is then as it was.
SPYI_FN bool spyi_file_replace(const char *path, const void *data, size_t size);
// Waits until no other thread or process has the lock of the file at `path`, which need not exist, and takes
// it. The lock lies beside the file: it leaves nothing on disk, and ends with the process. Returns 0 if the
// system gives no lock here.
SPYI_FN intptr_t spyi_file_lock(const char *path);
SPYI_FN void spyi_file_unlock(intptr_t lock);
// Returns why this thread's last file function failed, such as "no such file". Call it right after the
// failure.
SPYI_FN const char *spyi_file_problem(void);
SPYI_FN bool spyi_file_exists(const char *path);
SPYI_FN bool spyi_folder_exists(const char *path);
// Returns a number that changes when the file is written or replaced; 0 if there is no file. Cost: about 1
// us.
SPYI_FN uint64_t spyi_file_stamp(const char *path);
// Returns a number that differs when a library is another build: a hash of its build id and size, so that a copy of
// it, or one that is unpacked again, has the same number. A library without a build id has its file's stamp.
SPYI_FN uint64_t spyi_library_stamp(const char *path);
// Writes the folder of the program or library that holds this code, without a final slash; "" if unknown.
SPYI_FN void spyi_own_folder(spyi_text *out);

// >>objects
typedef enum spyi_kind {
    SPYI_KIND_DEVICE = 0x53504401,
    SPYI_KIND_MODULE,
    SPYI_KIND_FUNCTION,
    SPYI_KIND_TENSOR,
    SPYI_KIND_PREPARED,
    SPYI_KIND_CURSOR,
    SPYI_KIND_LIST,
    SPYI_KIND_TEXTURE,
    SPYI_KIND_SAMPLER,
    SPYI_KIND_RASTER,
    SPYI_KIND_FUSION,
    SPYI_KIND_DEAD = 0x44454144
} spyi_kind;

enum { SPYI_KIND_COUNT = SPYI_KIND_FUSION - SPYI_KIND_DEVICE + 1 };

// The first words of each public object.
typedef struct spyi_object {
    // A spyi_kind; SPYI_KIND_DEAD after release (debug builds keep released headers until the device goes).
    uint32_t kind;
    spyi_atomic references;
    spy_device *device;
    struct spyi_object *release_next; // next object in the device's release queue
    uint32_t released_kind;           // the object's kind while it waits in the release queue
} spyi_object;

// The functions for one kind of objects; base/guard.c calls them. context.tables holds one table for each
// kind.
typedef struct spyi_object_table {
    // Frees the object after its last reference is gone. Called inside the device; may queue the object for
    // release again.
    void (*free)(spyi_object *object);
    // Returns the object whose lifetime this one shares; NULL when it has none.
    spyi_object *(*owner)(const spyi_object *object);
} spyi_object_table;

// Work that a thread does for a call without holding the device, such as compiling; other threads use the
// device meanwhile. Lies on that thread's stack, or in a compile thread's job.
typedef struct spyi_outside {
    // spyi_thread_id() of the working thread; a compile thread sets it when it starts.
    volatile uintptr_t thread;
    spyi_object *kept; // an object that is retained until the work ends, or NULL
    // `work` and the bytes of `key` name the thing that is being made; `work` NULL means that no other thread
    // waits for it.
    const void *work;
    const void *key;
    size_t key_size;
    struct spyi_outside *previous, *next; // neighbours in the list context.outside
} spyi_outside;

struct spyi_core;           // declared in backend/backend.h
struct spyi_retired_object; // declared in guard.c

// >>context: the part of a device that all of the library may use; the first member of spy_device
typedef struct spyi_context {
    spyi_object object;
    // Functions that a backend may call on the device; set when the device is made.
    const struct spyi_core *core;
    // tables[i] is of the kind SPYI_KIND_DEVICE + i; NULL if there is none.
    const spyi_object_table *tables[SPYI_KIND_COUNT];
    spyi_outside *outside;   // a list of work that goes on outside of the device
    spyi_mutex release_lock; // guards release_queue and release_count
    spyi_object *release_queue;
    spyi_atomic release_count; // the number of entries of release_queue; read without the lock
    struct spyi_retired_object *retired_objects; // released objects, kept in debug builds
    spy_log log;
    spy_progress progress;
    spy_blocking blocking;
    spy_interrupt interrupt;
    double compile_timeout_s;  // 0 means no limit
    spy_allocator allocator;   // its functions are all set
    const char *label;         // never NULL
    spyi_atomic told_compiler; // the log has named the backend's library that compiles kernels
    spyi_mutex error_lock;     // guards the error members: compile threads may fail, too
    spy_status error_code;     // first error since the last take
    spyi_text error;           // the text of error_code
    spyi_text taken;           // the text that the last take returned
    spyi_text missing;         // what the call of `error` was not given: names that end with NUL each
    spyi_text taken_missing;   // the same of `taken`
    spyi_turns turns;          // lets one thread at a time into the device
    struct spyi_store *store; // the answers that are kept on disk for later starts (store.h); NULL means that
                              // none are
    struct spyi_store *pack;  // the pack that takes the compiler's place, or that is recorded; NULL means
                              // that there is no such pack
} spyi_context;

SPYI_FN void spyi_context_init(spyi_context *ctx, const spy_device_desc *desc);
SPYI_FN void spyi_context_destroy(spyi_context *ctx);

// Structs that callers fill end with a member that must be 0. Gives the literal that says why such a struct
// cannot be right, or NULL when it can. The cast is for clang++, which warns when a literal is compared with
// NULL.
#define SPYI_NOT_ZEROED(type)                                                                                \
    "the " #type " was not zeroed before its members were set: write `" #type                                \
    " desc = { 0 };` in C, `" #type " desc = {};` in C++, or memset() it"
#define SPYI_DESC_PROBLEM(type, desc)                                                                        \
    ((desc) != NULL && (desc)->_end_canary != 0 ? (const char *)SPYI_NOT_ZEROED(type) : NULL)

// Reports an error to the log and to the device, or to this thread when ctx is NULL. Returns `status`.
SPYI_FN spy_status spyi_fail(spyi_context *ctx, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
// Drops this thread's error that has not been read, so that the next one, whose reason is told nowhere else, takes its
// place.
SPYI_FN void spyi_forget_thread_error(void);
// Notes what a call needs and was not given, `size` bytes of names that end with NUL each: the next error that
// this thread reports to a device has it as data, for spy_missing_names(). 0 bytes take the note back.
SPYI_FN void spyi_note_missing(const char *names, size_t size);
// Returns the status of this thread's last error. Call it right after a public function that returned NULL.
SPYI_FN spy_status spyi_reported_status(void);
// Reports that a call is refused because this process is the child of a fork. Returns the status.
SPYI_FN spy_status spyi_forked(spyi_context *ctx, const char *function);
SPYI_FN void spyi_logf(spyi_context *ctx, spy_log_level level, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN bool spyi_log_wants(const spyi_context *ctx, spy_log_level level);
// Calls desc.progress, and desc.blocking, at the begin or end of a slow step.
SPYI_FN void spyi_step(spyi_context *ctx, const char *step, bool finished);
SPYI_FN void spyi_block(spyi_context *ctx, bool begins); // calls desc.blocking
// From now on adds this thread's log messages to `lines`, for spyi_tell_log() on another thread; NULL means
// that they go to the log again. Returns the previous `lines`.
SPYI_FN spyi_text *spyi_keep_log(spyi_text *lines);
SPYI_FN void spyi_tell_log(spyi_context *ctx, spyi_text *lines); // logs the kept messages and empties `lines`
SPYI_FN bool spyi_allocator_is_given(const spyi_context *ctx);   // returns whether desc.allocator is used
                                                                 // instead of malloc()

// >>long waits: waits for slow work, which the caller may leave before the work is done (long_wait.c)
typedef struct spyi_long_wait {
    spyi_context *ctx;
    const char *what, *who;    // the words for messages: "compile f", "the Slang compiler"
    uint64_t began, next_line; // nanoseconds: the start, and the time after the start at which the next log
                               // line is due
    bool quiet;                // desc.interrupt is not asked, because nobody would hear why the wait ended
    bool blocked, interrupted, late;
} spyi_long_wait;

SPYI_FN void spyi_long_wait_begin(spyi_long_wait *wait, spyi_context *ctx, const char *what, const char *who,
                                  bool quiet);
// Waits until the signal comes or it is time to check the log, the interrupt and the limit. The caller holds
// `lock`, which is released meanwhile.
SPYI_FN void spyi_long_wait_once(spyi_long_wait *wait, spyi_signal *signal, spyi_mutex *lock);
SPYI_FN bool spyi_long_wait_left(const spyi_long_wait *wait); // returns true when the caller must stop
                                                              // waiting
// Returns why the caller stopped, SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT, and appends the text.
SPYI_FN spy_status spyi_long_wait_say(const spyi_long_wait *wait, spyi_text *error);
SPYI_FN void spyi_long_wait_end(spyi_long_wait *wait);

// Returns memory from desc.allocator: zeroed, aligned to 16 bytes; NULL when out of memory.
SPYI_FN void *spyi_allocate(spyi_context *ctx, size_t size);
SPYI_FN void *spyi_reallocate(spyi_context *ctx, void *memory, size_t old_size, size_t new_size);
SPYI_FN void spyi_free(spyi_context *ctx, void *memory, size_t size);

// >>guard: which thread may use an object, and when the object is freed (guard.c)
// A spy_device begins with its context.
#define SPYI_CONTEXT(device) ((spyi_context *)(void *)(device))
// Every public function calls this first. It takes the device's turn, after the threads that came before.
// When it cannot, it reports SPY_ERROR_INVALID_ARGUMENT (NULL, another object), SPY_ERROR_RELEASED,
// SPY_ERROR_BUSY (from a callback) or SPY_ERROR_DEVICE_LOST (in the child of a fork).
SPYI_FN spy_status spyi_enter(const void *object, spyi_kind kind, const char *function);
SPYI_FN void spyi_leave(const void *object);
SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind); // returns NULL if it is not a living object
                                                                  // of that kind
// Returns whether a living object of that kind belongs to this device. No other code checks this condition.
static inline bool spyi_is_on(const spy_device *device, const void *object, spyi_kind kind) {
    const spyi_object *o = (const spyi_object *)object;
    return o && o->kind == (uint32_t)kind && o->device == device;
}
// Writes why spyi_is_on() is false ("expected a tensor, got NULL"), and returns the status of that error.
SPYI_FN spy_status spyi_object_problem(const void *object, spyi_kind kind, spyi_text *error);
// Reports on this thread that the object is not a living object of that kind, and what it is instead.
SPYI_FN spy_status spyi_refuse_object(const void *object, spyi_kind kind, const char *function);
// Reports on the device why spyi_is_on() is false for an argument, or for a member of one, of this name.
SPYI_FN spy_status spyi_refuse_member(spy_device *device, const void *object, spyi_kind kind,
                                      const char *function, const char *name);
// Reports `error` with the function's name before it ("spy_call: ..."), and frees the text.
SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error);
// Drops a reference, from any thread at any time. The last drop queues the object for the next thread that
// enters the device.
SPYI_FN void spyi_object_release(spyi_object *object);
// Adds a reference, from any thread at any time; reports an invalid object.
SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind, const char *function);
SPYI_FN void spyi_queue_release(spyi_object *object); // queues an object whose free() a later call runs
SPYI_FN void spyi_drain_releases(spy_device *device); // frees the queued objects
// Frees a released object. Debug builds keep its header, tagged dead, until the device goes, so that a later
// use is reported.
SPYI_FN void spyi_retire_object(spy_device *device, spyi_object *object, size_t size);
SPYI_FN void spyi_free_retired_objects(spyi_context *ctx);
// Registers work that begins outside of the device, and removes it. Both are called inside the device.
// `kept`, which may be NULL, is retained until the removal.
SPYI_FN void spyi_outside_add(spyi_context *ctx, spyi_outside *outside, spyi_object *kept);
SPYI_FN void spyi_outside_remove(spyi_context *ctx, spyi_outside *outside);
SPYI_FN void spyi_come_back(spyi_context *ctx); // takes the turn again after work outside of the device
// Returns true when another thread is making the thing that `work` and `key` name.
SPYI_FN bool spyi_is_under_way(const spy_device *device, const void *work, const void *key, size_t key_size);
// Leaves the device, sleeps until an event after `seen` (spyi_turns_events()), and enters again.
SPYI_FN void spyi_await(spyi_context *ctx, int32_t seen);

SPYI_FN size_t spyi_align(size_t value, size_t alignment); // rounds up to a multiple of `alignment`, which
                                                           // may be any number > 0
SPYI_FN bool spyi_dtype_is_float(spy_dtype dtype);         // returns whether it is a floating-point type

#endif // SPYI_BASE_H
