// The opened library, the worker thread that calls it, and its messages. A function that takes a spyi_sl_live
// runs on the worker's thread, inside a task of spyi_sl_run() or spyi_sl_ask().
#ifndef SPYI_COMPILER_LIBRARY_H
#define SPYI_COMPILER_LIBRARY_H

#include "compiler/compiler.h"
#include "compiler/slang_abi.h"

// >>library.c: one opened library a process

#define SPYI_SL_POINTER(result, name, arguments) result(*name) arguments;
typedef struct spyi_sl_library {
    void *handle; // the handle stays open until the process ends, because the library's statics own memory
    char *path;         // the path by which it was opened
    char *version;      // "2026.14.1"
    int32_t fork_count; // spyi_fork_count() of the process that opened it
    uint32_t users;     // the number of compilers that use it
    SPYI_SL_FUNCTIONS(SPYI_SL_POINTER)
} spyi_sl_library;
#undef SPYI_SL_POINTER

// Opens the library and starts its worker, or counts one more user of the library, which all devices share.
// `path` and `places` are desc.slang_library and desc.slang_paths.
SPYI_FN spy_status spyi_sl_acquire(const char *path, const char *const *places, size_t place_count,
                                   const spyi_sl_library **library, spyi_text *error);
// Finds the file that spyi_sl_acquire() would open first, without opening it, and returns its stamp. Returns
// 0 if no file is known by its path, because only the system's own search may find one.
SPYI_FN uint64_t spyi_sl_find(const char *path, const char *const *places, size_t place_count, spyi_text *found);
SPYI_FN void spyi_sl_release(void); // the last user's release ends the worker and its global session

// >>worker.c: the thread that calls libslang

typedef struct spyi_sl_worker spyi_sl_worker;
typedef struct spyi_sl_live spyi_sl_live;

// Starts a worker unless there is one. Returns false when that fails. The caller holds the global lock.
SPYI_FN bool spyi_sl_worker_hire(const spyi_sl_library *library);
// Ends the worker. The caller holds the global lock, and no session is in use.
SPYI_FN void spyi_sl_worker_dismiss(void);
SPYI_FN void spyi_sl_worker_forget(void); // for a forked child, where the parent's thread does not exist

// Runs func(context) on the worker's thread and waits for it; tasks of several threads take turns. `what`
// begins the messages: "compile f". Returns SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT (see spy_device_desc),
// SPY_ERROR_NO_COMPILER, or SPY_ERROR_COMPILE when libslang threw an exception. After an error the task's
// results may be missing or incomplete. With error NULL, desc.interrupt is not asked, and a failure goes to
// the log. On the worker's own thread func(context) runs at once. Cost: about 10 us beyond the task.
SPYI_FN spy_status spyi_sl_run(spyi_compiler *compiler, const char *what, void (*func)(void *context),
                               void *context, spyi_text *error);
// Like spyi_sl_run(), and passes the unit's session to `func`; for `kib` see spyi_sl_live_of().
SPYI_FN spy_status spyi_sl_ask(spyi_unit *unit, size_t kib, const char *what,
                               void (*func)(spyi_unit *unit, spyi_sl_live *live, void *context),
                               void *context, spyi_text *error);

// A task calls these two around a libslang call that may take long. In between, its caller may leave, so
// libslang must only read memory that the task owns. When the caller has left, spyi_sl_end_long() does not
// return.
SPYI_FN void spyi_sl_begin_long(void);
SPYI_FN void spyi_sl_end_long(void);
// For callbacks from libslang: between these two the caller cannot leave. come_back() returns false when the
// caller has left already; then the callback must not touch the caller's memory.
SPYI_FN bool spyi_sl_come_back(bool *away);
SPYI_FN void spyi_sl_go_back(bool away);
// Runs func(context) on the thread that waits for the task, and waits for it. Outside of a task it runs at
// once.
SPYI_FN void spyi_sl_on_caller(void (*func)(void *context), void *context);
SPYI_FN spyi_sl_global *spyi_sl_global_session(void); // may only be called on the worker's thread
// The worker counts its open sessions by these. Only the worker that opened a session may close it.
SPYI_FN void spyi_sl_live_opened(spyi_sl_live *live);
SPYI_FN void spyi_sl_live_ready(void); // the session being opened now has an owner, who closes it
SPYI_FN void spyi_sl_live_closed(spyi_sl_live *live);
SPYI_FN bool spyi_sl_live_is_lost(const spyi_sl_live *live); // returns whether another worker opened the
                                                             // session
// Closes a session, or has its worker do so later. Accepts NULL. Threads: any; never waits.
SPYI_FN void spyi_sl_live_close(spyi_sl_live *live);

// The search path of the embedded modules, which is no folder on disk.
#define SPYI_SL_EMBEDDED_FOLDER "slangpy-embedded"

// >>diagnostics.c

SPYI_FN void spyi_sl_blob_free(spyi_sl_blob **blob); // releases *blob, which may be NULL, and sets it to NULL
// The source of lines in diagnostics: `content` is the text of the file `path`; other files are read again.
typedef struct spyi_sl_sources {
    spyi_compiler *compiler;
    const char *path;
    const spyi_text *content;
} spyi_sl_sources;
// Appends the readable form of a diagnostics blob to `out` and frees the blob. `hidden` is the path of a
// generated file, whose locations are left out, or NULL. With `sources` each error and warning is followed by
// its source line and a mark at the column; NULL means no source lines.
SPYI_FN void spyi_sl_diagnostics(spyi_sl_blob **blob, const char *hidden, const spyi_sl_sources *sources,
                                 spyi_text *out);

#endif // SPYI_COMPILER_LIBRARY_H
