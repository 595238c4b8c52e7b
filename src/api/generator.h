// Generators: arguments whose values the kernel computes, one for each element of the call, without memory.
#ifndef SPY_API_GENERATOR_H
#define SPY_API_GENERATOR_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// All generators feed numbers, vectors and arrays of numbers of any scalar type. An array takes coordinates
// in the order of the shape; a vector takes them in reverse order, so that .x is the last dimension, as in
// textures. All functions of this file: Threads: any.

// The coordinates of the element in the call's shape. A parameter of N components takes the last N
// dimensions, a number takes the last one. Dimensions that the call does not have are 0. This argument adds
// nothing to the call's shape.
SPY_API spy_arg spy_arg_call_id(const char *name);

// The number of the element in the call, row-major, in .x or [0]; the other components are 0. It is the
// thread's id when each element has a thread of its own; a kernel whose threads compute several elements each
// still numbers the elements. With options.call_group_shape the elements are numbered group by group.
SPY_API spy_arg spy_arg_thread_id(const char *name);

// A grid of integer coordinates.
typedef struct spy_grid_desc {
    spy_shape shape; // the grid's sizes, which are part of the call's shape; -1 means any size. Rank 1 to
                     // SPY_MAX_RANK
    spy_shape offset; // added to each coordinate; rank 0 means 0
    spy_shape stride; // factor of each coordinate, before the offset; rank 0 means 1
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_grid_desc;

// The grid's coordinates: offset + stride * coordinate. A grid of shape (480, 640) for an `int2 pixel` makes
// a call of that shape, with pixel.x below 640. `desc` must live until the call; its numbers must fit 32
// bits.
SPY_API spy_arg spy_arg_grid(const char *name, const spy_grid_desc *desc);

// start, start + step, ... up to but without stop, like numpy's arange: one dimension of the call. The
// numbers must fit 32 bits.
SPY_API spy_arg spy_arg_range(const char *name, int64_t start, int64_t stop, int64_t step);

// The start of a random sequence. NULL or all zero: the defaults.
typedef struct spy_random_desc {
    uint32_t seed;      // 0 means 2640457667, unless explicit_seed is set
    uint32_t warmup;    // how often the element's number is hashed before the seed joins it
    bool raw_seed;      // true uses the seed itself, false the seed's hash
    bool explicit_seed; // `seed` is used as it is, even if it is 0
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_random_desc;

// Random unsigned numbers: Thomas Wang's 32-bit hash, with the numbers that SlangPy's generator gives. They are the
// same on every device and backend. Element i of a parameter with N components begins with x = i * N, which is
// hashed `warmup` times. The first component is hash(x ^ hash(seed)); each further one is the hash of the one
// before. Without warmup the first numbers of neighbouring elements are visibly related; a warmup of 1 is enough
// for pictures. Source: slang/slangpy_kernel.slang.
SPY_API spy_arg spy_arg_wang_hash(const char *name, const spy_random_desc *desc);
// Random floats, uniform in [low, high), from the low 23 bits of each number of spy_arg_wang_hash()'s
// sequence; for float parameters of any width.
SPY_API spy_arg spy_arg_rand_float(const char *name, float low, float high, const spy_random_desc *desc);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_GENERATOR_H
