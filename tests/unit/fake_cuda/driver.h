// What the files of the driver share: driver.c (contexts, captures, memory, streams, modules), array.c (arrays, textures, surfaces) and
// graph.c (graphs, and what a captured stream is given).
#ifndef FAKE_CUDA_DRIVER_H
#define FAKE_CUDA_DRIVER_H

#include "play.h"
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

#define FAKE(name, arguments)                                                                                \
    API int name arguments;                                                                                  \
    API int name arguments

#define MAY_FAIL(name)                                                                                       \
    do {                                                                                                     \
        int failed = failing(name);                                                                          \
        if (failed) return failed;                                                                           \
    } while (0)

#pragma GCC visibility push(hidden) // whoever compiles the driver: a program's own names are others

extern fake_cuda state;

int failing(const char *name); // the result that the test wants of this function now; 0: none

typedef struct context {
    int device, users; // a context without users does not exist
} context;

context *now(void); // the thread's current context, or NULL

// >>captures (driver.c)

enum { NONE, ACTIVE, INVALID };                                                                                        // CUstreamCaptureStatus
enum { GLOBAL, THREAD_LOCAL, RELAXED };                                                                                // CUstreamCaptureMode
enum { UNSUPPORTED = 900, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD }; // CUresult

#define MOST_LAST 8 // nodes that a stream's next one waits for

typedef struct capture {
    int status, mode;
    struct queue *origin;
    void *thread; // &mode_now of it
    struct graph *graph;
} capture;

typedef struct queue { // a stream
    context *context; // first
    capture *capture; // NULL: none
    struct node *last[MOST_LAST];
    unsigned last_count;
} queue;

typedef struct mark { // an event
    void *stream;     // first; NULL: never recorded
    capture *capture; // it was recorded in; NULL: none
    struct node *last[MOST_LAST];
    unsigned last_count;
} mark;

#define MOST_CAPTURES 64
extern capture captures[MOST_CAPTURES]; // no place is used again: events may point there
extern unsigned capture_count;
extern _Thread_local int mode_now;

queue *real(void *handle);         // NULL: one of the default streams
capture *capture_of(void *handle); // NULL: it is not captured, or not any more
int invalidate(capture *c, int result);
int unsafe(void); // of a call that no capture sees: what it returns, and makes of captures, where it is forbidden

#define UNSAFE()                                                                                             \
    do {                                                                                                     \
        int forbidden = unsafe();                                                                            \
        if (forbidden) return forbidden;                                                                     \
    } while (0)

// >>memory and kernels (driver.c)

int is_ours(uint64_t address, size_t size);
void fill(uint64_t to, unsigned value, size_t count);
void *copy_of(const void *data, size_t size);
int shared_fits(const fake_function *function, unsigned shared);
void run(const fake_function *f, const unsigned *grid, const unsigned *group, void **params);

// >>what a captured stream is given (graph.c)

int capture_copy(void *stream, uint64_t to, uint64_t from, size_t size);
int capture_fill(void *stream, uint64_t to, unsigned value, size_t count);
int capture_launch(void *stream, const fake_function *function, const unsigned *grid, const unsigned *group, void **params);

#pragma GCC visibility pop

#endif // FAKE_CUDA_DRIVER_H
