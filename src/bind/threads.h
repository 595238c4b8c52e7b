// The threads of a dispatch, whose number the caller gives.
#ifndef SPYI_THREADS_H
#define SPYI_THREADS_H

#include "module/module.h"

typedef struct spyi_threads {
    uint32_t count[3];        // the number of threads in x, y, z
    uint32_t group[3];        // threads of a group in x, y, z
    bool guarded;             // threads beyond the count do nothing
    const spy_tensor *counts; // tensor of the group counts, which the GPU reads; NULL means that `count` is
                              // used
    uint64_t counts_at;       // byte offset of the first group count in that tensor's storage
    bool shader;              // the function is an entry point with [numthreads] and runs as it is
    uint8_t stage;            // SPYI_STAGE_VERTEX or _FRAGMENT for a shader of a draw, 0 for compute
} spyi_threads;

#endif // SPYI_THREADS_H
