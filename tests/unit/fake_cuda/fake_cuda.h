// What the driver of tests/unit/fake_cuda tells a test, and is told by it.
#ifndef FAKE_CUDA_H
#define FAKE_CUDA_H

#include <stddef.h>
#include <stdint.h>

#define FAKE_MOST_PARAMS 64
#define FAKE_SHARED_BYTES 232448 // of a group, at most: as much as an H200 has

typedef struct fake_function {
    char name[256];
    unsigned param_count;
    size_t sizes[FAKE_MOST_PARAMS]; // bytes of each parameter
    void *globals;                  // SLANG_globalParams of its module; NULL: none
    unsigned allowed_shared;        // bytes of dynamic shared memory that cuFuncSetAttribute allowed
    void *library;                  // play_library; NULL: the kernel does not run
} fake_function;

typedef struct fake_texture_desc { // CUDA_TEXTURE_DESC
    int address[3], filter;
    unsigned flags, max_anisotropy;
    int mip_filter;
    float bias, min_level, max_level, border[4];
    int reserved[12];
} fake_texture_desc;

typedef struct fake_view { // CUDA_RESOURCE_VIEW_DESC
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer;
} fake_view;

typedef struct fake_texture { // what a texture or surface object points to
    void *array;
    fake_texture_desc desc; // all zero: a surface
    int part;               // a view was given
    fake_view view;
} fake_texture;

typedef struct fake_handle_desc { // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
    int type, padding, fd, more[3];
    unsigned long long size;
    unsigned flags, reserved[16];
} fake_handle_desc;

typedef struct fake_range_desc { // CUDA_EXTERNAL_MEMORY_BUFFER_DESC
    unsigned long long offset, size;
} fake_range_desc;

typedef struct fake_semaphore_desc { // CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC
    int type, padding, fd;
} fake_semaphore_desc;

typedef struct fake_cuda {
    // Stands in for a kernel that runs. `params`: a copy of each parameter.
    void (*on_kernel)(const fake_function *function, const unsigned grid[3], void *const *params, void *user);
    void *user;
    void (*on_load)(void *user); // stands in for what cuModuleLoadData compiles
    uint64_t random;          // seeds the order in which a graph's nodes run, where that is free
    const char *fail;         // the driver's function that fails next, once; NULL: none
    int fail_result;          // with this CUresult
    unsigned fail_skip;       // so many calls of it are good before
    int capturing;       // CUstreamCaptureStatus that streams have that are not captured
    uint64_t launches, graph_launches, kernels, changes; // cuLaunchKernel, cuGraphLaunch, kernels run, parameters changed
    int64_t graphs, execs, allocations, modules; // alive
    void *stream;                                // that the last kernel or graph was launched in
    void *waiting, *waits_for;                   // of the last cuStreamWaitEvent: the stream, and that of the event
    void *read_in;                               // the stream of the last copy to the host
    unsigned nodes, edges, empty;                // of the last graph instantiated
    uint64_t mapped, mapped_size;                // memory of the test's own that is mapped on the first device
    uint64_t waits;                              // cuStreamWaitEvent
    uint64_t texture, surface;                   // the last objects made
    int64_t textures;                            // texture and surface objects alive
    void *(*texels)(void *array);                // texels of a plain array, rows without gaps
    int capability;                              // of all devices: 90 for 9.0; 0: 99.0
    int static_shared;                           // bytes of groupshared variables that each kernel seems to have
    unsigned shared;                             // bytes of dynamic shared memory of the last launch, also of one that failed
    uint64_t cubins, texts;                      // modules loaded of either sort: cubins, and PTX
    uint64_t asked, records, event_waits;        // cuStreamIsCapturing, cuEventRecord, cuEventSynchronize
    const uint8_t *uuid;                         // of the first device, 16 bytes; NULL: zeros. The second one's last byte is 1 more
    int64_t imports;                             // memory and semaphores of another API, alive
    int multiprocessors;                         // of all devices; 0: 132
} fake_cuda;

#endif // FAKE_CUDA_H
