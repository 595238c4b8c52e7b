// What calls libslang: the opened library, the thread that calls it, and its messages. What takes a spyi_sl_live runs on the
// worker's thread, within spyi_sl_run() or spyi_sl_ask().
#ifndef SPYI_COMPILER_LIBRARY_H
#define SPYI_COMPILER_LIBRARY_H

#include "compiler/compiler.h"
#include "compiler/slang_abi.h"

// >>library.c: one opened library a process

#define SPYI_SL_POINTER(result, name, arguments) result(*name) arguments;
typedef struct spyi_sl_library {
    void *handle;       // stays open until the process ends: its statics own memory
    char *path;         // as it was opened
    char *version;      // "2026.14.1"
    int32_t fork_count; // of the process that opened it
    uint32_t users;     // compilers that hold it
    SPYI_SL_FUNCTIONS(SPYI_SL_POINTER)
} spyi_sl_library;
#undef SPYI_SL_POINTER

// Open the library and make its worker, or count one more user. The result is the same for all.
SPYI_FN spy_status spyi_sl_acquire(const char *path, const spyi_sl_library **library, spyi_text *error);
SPYI_FN void spyi_sl_release(void); // the last user's release ends the worker and its global session

// >>worker.c: the thread that calls libslang

typedef struct spyi_sl_worker spyi_sl_worker;
typedef struct spyi_sl_live spyi_sl_live;

// Under the global lock: has a worker with a global session, which is made if need be; false: it cannot be made.
SPYI_FN bool spyi_sl_worker_hire(const spyi_sl_library *library);
SPYI_FN void spyi_sl_worker_dismiss(void); // under the global lock, when no session is in use
SPYI_FN void spyi_sl_worker_forget(void);  // in a forked child, which has not its thread

// Runs func(context) on the worker's thread and waits for it; tasks of several threads take turns. `what` begins messages:
// "compile f". SPY_ERROR_INTERRUPTED and SPY_ERROR_TIMEOUT (see spy_device_desc), SPY_ERROR_NO_COMPILER, or SPY_ERROR_COMPILE
// for an exception of libslang's: the task did not end, and what it was to write is as it was or half written.
// error NULL: desc.interrupt is not asked, and a failure goes to the log.
// Cost: about 10 us beyond the task. On the worker's thread: func(context), at once.
SPYI_FN spy_status spyi_sl_run(spyi_compiler *compiler, const char *what, void (*func)(void *context),
                               void *context, spyi_text *error);
// The same with the unit's session, see spyi_sl_live_of().
SPYI_FN spy_status spyi_sl_ask(spyi_unit *unit, size_t kib, const char *what,
                               void (*func)(spyi_unit *unit, spyi_sl_live *live, void *context),
                               void *context, spyi_text *error);

// For tasks. Between these two the caller may leave: libslang must find all that it reads in memory that stays as it is. When
// it has left, spyi_sl_end_long() does not return.
SPYI_FN void spyi_sl_begin_long(void);
SPYI_FN void spyi_sl_end_long(void);
// For functions that libslang calls. false: the caller has left, and nothing of its memory may be touched.
SPYI_FN bool spyi_sl_come_back(bool *away);
SPYI_FN void spyi_sl_go_back(bool away);
// Runs func(context) on the thread that waits for the task, and waits for it. Elsewhere: func(context), at once.
SPYI_FN void spyi_sl_on_caller(void (*func)(void *context), void *context);
SPYI_FN spyi_sl_global *spyi_sl_global_session(void); // the worker's
// A session belongs to the worker that opened it, which alone may close it.
SPYI_FN void spyi_sl_live_opened(spyi_sl_live *live);
SPYI_FN void spyi_sl_live_ready(void); // its owner has it
SPYI_FN void spyi_sl_live_closed(spyi_sl_live *live);
SPYI_FN bool spyi_sl_live_is_lost(const spyi_sl_live *live); // it is another worker's
// Any thread; never waits. NULL: nothing.
SPYI_FN void spyi_sl_live_close(spyi_sl_live *live);

#define SPYI_SL_EMBEDDED_FOLDER                                                                              \
    "slangpy-embedded" // of the library's own modules, in which no file of the disk is

// >>diagnostics.c

SPYI_FN void spyi_sl_blob_free(spyi_sl_blob **blob); // and NULL
// Where the lines that diagnostics are about can be read: `content` is the text at `path`, other files are read again.
typedef struct spyi_sl_sources {
    spyi_compiler *compiler;
    const char *path;
    const spyi_text *content;
} spyi_sl_sources;
// The readable form of a diagnostics blob, appended; the blob is freed. `hidden`: a path whose locations are
// left out. `sources`: below each error and warning stand its line of source and a mark; NULL: they do not.
SPYI_FN void spyi_sl_diagnostics(spyi_sl_blob **blob, const char *hidden, const spyi_sl_sources *sources,
                                 spyi_text *out);

#endif // SPYI_COMPILER_LIBRARY_H
