// Kernels of nvrtc.c run on this machine: what driver.c and play.c share.
#ifndef FAKE_CUDA_PLAY_H
#define FAKE_CUDA_PLAY_H

#include "fake_cuda.h"

// The texels of one level of a texture object, rows and slices (or layers, or faces) without gaps.
typedef struct play_level {
    const char *data;
    size_t width, height, depth;
    int format; // CUarray_format
    unsigned channels;
} play_level;

// array.c: the level, counted in the object. Returns the object's number of levels.
unsigned play_get_level(const fake_texture *texture, unsigned level, play_level *out);

typedef struct play_library play_library;
// Opens the library that nvrtc.c made. NULL: it cannot be opened. `globals`: SLANG_globalParams, or NULL.
play_library *play_open(const char *path, void **globals);
void play_close(play_library *library);
void play_run(play_library *library, const unsigned grid[3], const unsigned block[3], void *const *params);

#endif // FAKE_CUDA_PLAY_H
