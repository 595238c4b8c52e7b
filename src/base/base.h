// What every room uses: linkage, atomics, threads, memory, text, errors, objects, hashes, files.
// Types first, then the functions of base/*.c.
#ifndef SPYI_BASE_H
#define SPYI_BASE_H

#include "api/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In the single header all internals are static; in the split build they link.
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
#define SPYI_LIKELY(x) __builtin_expect(!!(x), 1)
#define SPYI_NOINLINE __attribute__((noinline)) // beside a hot path, whose registers it would take
#define SPYI_THREAD_LOCAL __thread
#else
#define SPYI_PRINTF(text, first)
#define SPYI_LIKELY(x) (x)
#define SPYI_NOINLINE __declspec(noinline)
#define SPYI_THREAD_LOCAL __declspec(thread)
#endif

// For our own invariants only, never for input.
#ifndef SPYI_ASSERT
#include <assert.h>
#define SPYI_ASSERT(x) assert(x)
#endif

// >>atomics: 32-bit and pointer-free, so that C, C++ and MSVC share them
typedef struct spyi_atomic {
    volatile int32_t value;
} spyi_atomic;
SPYI_FN int32_t spyi_atomic_add(spyi_atomic *a, int32_t delta);                    // returns the new value
SPYI_FN int32_t spyi_atomic_load(spyi_atomic *a);                                  // acquire
SPYI_FN void spyi_atomic_store(spyi_atomic *a, int32_t value);                     // release
SPYI_FN bool spyi_atomic_swap_if(spyi_atomic *a, int32_t expected, int32_t value); // compare and swap

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
SPYI_FN void spyi_signal_wait(spyi_signal *s, spyi_mutex *m); // m is held; may return without a signal
// Waits at most `ns` nanoseconds. false: that time has passed without a signal.
SPYI_FN bool spyi_signal_wait_ns(spyi_signal *s, spyi_mutex *m, uint64_t ns);
SPYI_FN void spyi_signal_all(spyi_signal *s);
SPYI_FN void spyi_global_lock(void); // the one lock for process-wide state (libslang)
SPYI_FN void spyi_global_unlock(void);
SPYI_FN bool spyi_thread_start(spyi_thread *t, void (*func)(void *),
                               void *arg); // false: no thread could be made
// With a stack of `stack_bytes`, or less where the system has not that much. Only what is used of it takes memory.
SPYI_FN bool spyi_thread_start_deep(spyi_thread *t, void (*func)(void *), void *arg, size_t stack_bytes);
SPYI_FN void spyi_thread_join(spyi_thread *t);
SPYI_FN void spyi_thread_detach(spyi_thread *t); // nobody will join it
SPYI_FN uintptr_t spyi_thread_id(void);          // of the calling thread; never 0
// A thread's number where other threads read it without a lock.
SPYI_FN void spyi_note_thread(volatile uintptr_t *at, uintptr_t thread);
SPYI_FN uintptr_t spyi_noted_thread(const volatile uintptr_t *at);
SPYI_FN void spyi_thread_pause(void); // a moment, within a loop that waits for another thread
// How many forks lie between the first process that used the library and this one. What was made before a fork belongs to
// the parent: the child has neither its threads nor its GPU. Process-wide, as fork() is.
SPYI_FN int32_t spyi_fork_count(void);
SPYI_FN void spyi_fork_watch(void);                // begins to count; may be called again
SPYI_FN uint32_t spyi_processor_count(void);       // at least 1
SPYI_FN uint64_t spyi_time_ns(void);               // monotonic
SPYI_FN void *spyi_library_open(const char *path); // dlopen / LoadLibrary, local symbols
SPYI_FN void spyi_library_close(void *library);
SPYI_FN void *spyi_library_symbol(void *library, const char *name);
SPYI_FN const char *spyi_library_error(void); // why the last open failed
SPYI_FN void spyi_library_stay(void); // the library that holds this code stays loaded until the process ends

// >>turns: one thread at a time is inside, the others wait (turns.c)
typedef struct spyi_turns {
    spyi_atomic state;         // 0: free, 1: a thread is inside, 2: free for the first of those that wait
    spyi_atomic waiters;       // threads that wait; written under the lock
    int32_t fork_count;        // of the process that made it
    bool alone;                // one thread only, by the user's word: nobody waits
    volatile uintptr_t inside; // spyi_thread_id() of the thread inside; 0: none
    spyi_mutex lock;           // guards what follows
    spyi_signal changed;
    uint32_t first, next; // numbers of the first thread that waits, and of the next one to come
    bool urgent;          // the first one has waited so long that nobody may pass it
    bool closed;          // nobody enters any more
    spyi_atomic events;   // counts spyi_turns_notify(); written under the lock
} spyi_turns;

typedef enum spyi_turn {
    SPYI_TURN_TAKEN,
    SPYI_TURN_MINE,   // the calling thread is inside already
    SPYI_TURN_CLOSED, // the turns are about to be destroyed
    SPYI_TURN_FORKED  // they are the parent process's
} spyi_turn;

SPYI_FN void spyi_turns_init(spyi_turns *t, bool alone);
SPYI_FN void spyi_turns_destroy(spyi_turns *t);
// Nobody enters any more, and nobody waits when this returns. The caller is inside and stays there.
SPYI_FN void spyi_turns_close(spyi_turns *t);
SPYI_FN bool spyi_turns_try(spyi_turns *t); // takes the turn if it is free
// Waits for the turn. `block` is told before and after a wait that sleeps; it may be NULL.
SPYI_FN spyi_turn spyi_turns_wait(spyi_turns *t, void (*block)(void *user, bool begins), void *user);
SPYI_FN void spyi_turns_leave(spyi_turns *t);
// A condition variable. The thread inside notes spyi_turns_events(), finds that it must wait for something, and calls
// spyi_turns_await(): it leaves, sleeps until a notification after `seen`, and takes the turn again. Any thread notifies.
SPYI_FN int32_t spyi_turns_events(spyi_turns *t);
SPYI_FN void spyi_turns_await(spyi_turns *t, int32_t seen, void (*block)(void *user, bool begins),
                              void *user);
SPYI_FN void spyi_turns_notify(spyi_turns *t);

// >>copy team: the copies of one large transfer, by several threads that live as long as it (copy_team.c)
#define SPYI_COPY_THREADS 12u // at most, the caller's with them
#define SPYI_COPY_PIECES 16u  // that wait or are being copied

typedef struct spyi_copy_piece {
    char *to;
    const char *from;
    size_t size, taken, copied; // bytes
} spyi_copy_piece;

typedef struct spyi_copy_team {
    spyi_mutex lock;                          // guards the pieces, their counts and `ending`
    spyi_signal more, done;                   // to the helpers, to the caller
    uint32_t threads;                         // wanted, the caller's with them
    bool stream;                              // past the cache
    bool ending;                              // nothing more is posted
    spyi_copy_piece pieces[SPYI_COPY_PIECES]; // a ring
    uint32_t posted;                          // pieces so far; of these, from the first on,
    uint32_t taken, copied;                   // so many have nothing left to take, and are done
    uint32_t started, to_start;               // helpers
    spyi_thread helpers[SPYI_COPY_THREADS];
} spyi_copy_team;

// How many threads are worth their start for a transfer of `size` bytes.
SPYI_FN uint32_t spyi_copy_threads(size_t size);
// No thread is started yet. From here to the end one thread uses the team, which stays where it is. `stream`: the targets
// are not read soon, so that copies by several threads go past the cache.
SPYI_FN void spyi_copy_begin(spyi_copy_team *team, uint32_t threads, bool stream);
// A memcpy() that has only been begun. Copies when SPYI_COPY_PIECES are not done yet.
SPYI_FN void spyi_copy_post(spyi_copy_team *team, void *to, const void *from, size_t size);
// Copies until the first `pieces` that were posted are done.
SPYI_FN void spyi_copy_wait(spyi_copy_team *team, uint32_t pieces);
// Until all are; the threads have ended.
SPYI_FN void spyi_copy_end(spyi_copy_team *team);

// >>text: a growable string on the process allocator, for cold paths. Zero is empty.
typedef struct spyi_text {
    char *data;  // NUL-terminated, or NULL when empty; read through spyi_text_str
    size_t size; // without the NUL
    size_t capacity;
} spyi_text;
SPYI_FN void spyi_text_add(spyi_text *t, const char *format, ...) SPYI_PRINTF(2, 3);
SPYI_FN void spyi_text_add_n(spyi_text *t, const char *s, size_t n);
SPYI_FN const char *spyi_text_str(const spyi_text *t); // never NULL
SPYI_FN void spyi_text_clear(spyi_text *t);            // empty, keeps its memory
SPYI_FN void spyi_text_free(spyi_text *t);
SPYI_FN char *spyi_strdup(const char *s); // process allocator; NULL stays NULL
SPYI_FN bool spyi_is_word(char c);        // of an identifier: a letter, a digit or '_'
SPYI_FN uint64_t spyi_hash(const void *data, size_t size, uint64_t seed);
// Levenshtein distance with case ignored, for "did you mean".
SPYI_FN unsigned spyi_edit_distance(const char *a, const char *b);

// >>memory that ran out
// Allocations of this thread that have failed, by the functions below, of texts, names and objects; never goes down. Work that is made of many small
// allocations (a kernel's text, a module's names) compares it before and after: with another number its result is
// incomplete, and is thrown away as SPY_ERROR_OUT_OF_MEMORY, however well it looks.
SPYI_FN uint32_t spyi_failed_allocations(void);
SPYI_FN void spyi_note_failed_allocations(uint32_t count); // those of a thread that worked for this one
// When another allocation has failed since `before`: replaces the text by "out of host memory" and gives that status.
SPYI_FN spy_status spyi_check_allocations(uint32_t before, spy_status status, spyi_text *error);
// The process allocator's, whose memory goes to free(); the library calls no other.
SPYI_FN void *spyi_malloc(size_t size);
SPYI_FN void *spyi_calloc(size_t count, size_t size);
SPYI_FN void *spyi_realloc(void *memory, size_t size);

// >>files
SPYI_FN bool spyi_file_read(const char *path, spyi_text *out); // false: cannot be read
SPYI_FN bool spyi_file_write(const char *path, const void *data, size_t size);
// Why the last of them failed on this thread, to be asked at once: "no such file".
SPYI_FN const char *spyi_file_problem(void);
SPYI_FN bool spyi_file_exists(const char *path);
SPYI_FN bool spyi_folder_exists(const char *path);
// A number that is another one once the file was written or replaced; 0: there is no file. Cost: about 1 us.
SPYI_FN uint64_t spyi_file_stamp(const char *path);
// Folder of the program or library that holds this code, without a final slash; "" if unknown.
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
    SPYI_KIND_DEAD = 0x44454144
} spyi_kind;

enum { SPYI_KIND_COUNT = SPYI_KIND_LIST - SPYI_KIND_DEVICE + 1 };

// The first words of each public object.
typedef struct spyi_object {
    uint32_t kind; // spyi_kind; SPYI_KIND_DEAD after release (kept until the device goes, in debug builds)
    spyi_atomic references;
    spy_device *device;
    struct spyi_object *release_next; // in the device's release queue
    uint32_t released_kind;           // what it was, while it waits there
} spyi_object;

// What the guard asks of the room that defines a kind of objects. Given to the context once: context.tables.
typedef struct spyi_object_table {
    void (*free)(
        spyi_object *object); // its last reference is gone, inside the device; it may be queued again
    // The object that it lives and dies with; NULL: it has none.
    spyi_object *(*owner)(const spyi_object *object);
} spyi_object_table;

// What a thread does for a call without holding the device, compiling above all: other threads use the device meanwhile.
// Lies on that thread's stack, or in what a compile thread works on.
typedef struct spyi_outside {
    volatile uintptr_t thread; // spyi_thread_id(); of a compile thread: once it runs
    spyi_object *kept;         // retained until the end; NULL: nothing
    const void *work; // with the bytes of the key: what is being made; NULL: nothing that others wait for
    const void *key;
    size_t key_size;
    struct spyi_outside *previous, *next; // in context.outside
} spyi_outside;

struct spyi_core;           // backend/backend.h
struct spyi_retired_object; // guard.c

// >>context: the part of a device that every room may use; first member of spy_device
typedef struct spyi_context {
    spyi_object object;
    const struct spyi_core *core; // what a backend may ask of the device; set by who makes the device
    const spyi_object_table *tables[SPYI_KIND_COUNT]; // of the kind SPYI_KIND_DEVICE + i; NULL: none
    spyi_outside *outside;                            // work under way
    spyi_mutex release_lock;                          // guards the next two
    spyi_object *release_queue;
    spyi_atomic release_count;                   // entries of release_queue, read without the lock
    struct spyi_retired_object *retired_objects; // released objects, in debug builds
    spy_log log;
    spy_progress progress;
    spy_blocking blocking;
    spy_interrupt interrupt;
    double compile_timeout_s;  // 0: no limit
    spy_allocator allocator;   // always filled
    const char *label;         // never NULL
    spyi_atomic told_compiler; // the log has heard which library of the backend's compiles kernels
    spyi_mutex error_lock;     // guards the errors: compile threads may fail too
    spy_status error_code;     // first error since the last take
    spyi_text error;           // its text
    spyi_text taken;           // what the last take handed out
    spyi_turns turns;          // one thread at a time is inside
} spyi_context;

SPYI_FN void spyi_context_init(spyi_context *ctx, const spy_device_desc *desc);
SPYI_FN void spyi_context_destroy(spyi_context *ctx);

// Structs that callers fill end with a member that must be 0. Why such a struct cannot be right, as a literal; NULL: it can.
// The cast is for clang++, which warns of a literal that is asked whether it is NULL.
#define SPYI_NOT_ZEROED(type)                                                                                \
    "the " #type " was not zeroed before its members were set: write `" #type                                \
    " desc = { 0 };` in C, `" #type " desc = {};` in C++, or memset() it"
#define SPYI_DESC_PROBLEM(type, desc)                                                                        \
    ((desc) != NULL && (desc)->_end_canary != 0 ? (const char *)SPYI_NOT_ZEROED(type) : NULL)

// Report an error: to the log, and to the device (ctx NULL: to this thread). Returns `status`.
SPYI_FN spy_status spyi_fail(spyi_context *ctx, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN spy_status spyi_forked(spyi_context *ctx, const char *function); // refuses a call in a fork's child
SPYI_FN void spyi_logf(spyi_context *ctx, spy_log_level level, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN bool spyi_log_wants(const spyi_context *ctx, spy_log_level level);
SPYI_FN void spyi_step(spyi_context *ctx, const char *step,
                       bool finished);                   // tells desc.progress and desc.blocking
SPYI_FN void spyi_block(spyi_context *ctx, bool begins); // tells desc.blocking
// What this thread would tell the log is added to `lines` instead, for spyi_tell_log() on another thread; NULL: told again.
// Returns what was given before.
SPYI_FN spyi_text *spyi_keep_log(spyi_text *lines);
SPYI_FN void spyi_tell_log(spyi_context *ctx, spyi_text *lines); // tells what was kept, and empties `lines`
SPYI_FN bool spyi_allocator_is_given(const spyi_context *ctx);   // desc.allocator, not malloc()

// >>long waits: for work that may last, which the caller may leave (long_wait.c)
typedef struct spyi_long_wait {
    spyi_context *ctx;
    const char *what, *who;    // for messages: "compile f", "the Slang compiler"
    uint64_t began, next_line; // ns
    bool quiet;                // nobody would hear why: desc.interrupt is not asked
    bool blocked, interrupted, late;
} spyi_long_wait;

SPYI_FN void spyi_long_wait_begin(spyi_long_wait *wait, spyi_context *ctx, const char *what, const char *who,
                                  bool quiet);
// With the lock held, which is given away meanwhile: until the signal comes, or it is time to look round.
SPYI_FN void spyi_long_wait_once(spyi_long_wait *wait, spyi_signal *signal, spyi_mutex *lock);
SPYI_FN bool spyi_long_wait_left(const spyi_long_wait *wait); // the caller is to leave
// Why it has left: SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT, and their text.
SPYI_FN spy_status spyi_long_wait_say(const spyi_long_wait *wait, spyi_text *error);
SPYI_FN void spyi_long_wait_end(spyi_long_wait *wait);

// desc.allocator. Zeroed memory, aligned to 16. NULL when out of memory.
SPYI_FN void *spyi_allocate(spyi_context *ctx, size_t size);
SPYI_FN void *spyi_reallocate(spyi_context *ctx, void *memory, size_t old_size, size_t new_size);
SPYI_FN void spyi_free(spyi_context *ctx, void *memory, size_t size);

// >>guard: who may use an object, and when it goes (guard.c). A spy_device begins with its context.
#define SPYI_CONTEXT(device) ((spyi_context *)(void *)(device))
// All public functions call this first: takes the device's turn, after those who were there before. Else an error has been
// reported: SPY_ERROR_INVALID_ARGUMENT (NULL, another object), SPY_ERROR_RELEASED, SPY_ERROR_BUSY (from a callback) or
// SPY_ERROR_DEVICE_LOST (in the child of a fork).
SPYI_FN spy_status spyi_enter(const void *object, spyi_kind kind, const char *function);
SPYI_FN void spyi_leave(const void *object);
SPYI_FN spyi_object *spyi_as(const void *object, spyi_kind kind); // NULL: not a living object of that kind
// The object is not a living one of that kind: reports on this thread what it is instead.
SPYI_FN spy_status spyi_refuse_object(const void *object, spyi_kind kind, const char *function);
// Reports `error` under a function's name and frees it: "spy_call: ...".
SPYI_FN spy_status spyi_fail_text(spy_device *device, spy_status status, const char *function,
                                  spyi_text *error);
// A reference less, from any thread at any time; the last one queues the object for whoever enters the device next.
SPYI_FN void spyi_object_release(spyi_object *object);
SPYI_FN void spyi_object_retain(const void *object, spyi_kind kind,
                                const char *function); // likewise; reports a bad one
SPYI_FN void spyi_queue_release(spyi_object *object);  // has its table's free() called by a later call
SPYI_FN void spyi_drain_releases(spy_device *device);  // frees what any thread released
// Frees a released object. Debug builds keep its header, tagged dead, until the device goes, so that a later use is told.
SPYI_FN void spyi_retire_object(spy_device *device, spyi_object *object, size_t size);
SPYI_FN void spyi_free_retired_objects(spyi_context *ctx);
// Work outside of the device begins, and ends; both inside the device. `kept`, which may be NULL, stays until the end.
SPYI_FN void spyi_outside_add(spyi_context *ctx, spyi_outside *outside, spyi_object *kept);
SPYI_FN void spyi_outside_remove(spyi_context *ctx, spyi_outside *outside);
SPYI_FN void spyi_come_back(spyi_context *ctx); // takes the turn again after such work
// Another thread is making the same thing.
SPYI_FN bool spyi_is_under_way(const spy_device *device, const void *work, const void *key, size_t key_size);
// Leaves the device, sleeps until an event after `seen` (spyi_turns_events()), and comes back.
SPYI_FN void spyi_await(spyi_context *ctx, int32_t seen);

SPYI_FN size_t spyi_align(size_t value, size_t alignment); // up; any alignment > 0
SPYI_FN size_t spyi_scalar_size(spy_dtype dtype);          // host bytes

#endif // SPYI_BASE_H
