// The threads of a dispatch: an explicit number of them.
#ifndef SPYI_THREADS_H
#define SPYI_THREADS_H

#include "module/module.h"

typedef struct spyi_threads {
    uint32_t count[3]; // in x, y, z
    uint32_t group[3];
    bool guarded;             // threads beyond the count do nothing
    const spy_tensor *counts; // group counts that the GPU reads when it runs; NULL: `count` says
    uint64_t counts_at;       // byte of the first in its storage
    bool shader;              // the function is an entry point with [numthreads], and runs as it is
} spyi_threads;

#endif // SPYI_THREADS_H
