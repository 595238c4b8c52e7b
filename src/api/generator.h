// Generators: arguments whose values are made in the kernel, one for each element of the call, with no memory behind them.
#ifndef SPY_API_GENERATOR_H
#define SPY_API_GENERATOR_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// All of them feed numbers, vectors and arrays of numbers, whatever their scalar type. An array takes coordinates in the
// order of the shape; a vector takes them the other way round, so that .x is the last dimension, as in textures.

// Where in the call's shape the element is. A parameter of N components takes the last N dimensions; a number the last one.
// Dimensions that the call does not have are 0. Gives the call no size of its own.
SPY_API spy_arg spy_arg_call_id(const char *name);

// The number of the element in the call, in .x or [0]; the other components are 0. What a thread's id is when each element
// has a thread of its own: kernels that give a thread several elements count on.
SPY_API spy_arg spy_arg_thread_id(const char *name);

// Sizes and places of a grid's coordinates.
typedef struct spy_grid_desc {
    spy_shape shape;  // its sizes join the call's shape; -1: any size. Rank 1 to SPY_MAX_RANK
    spy_shape offset; // added to each coordinate; rank 0: none
    spy_shape stride; // multiplied with it before; rank 0: 1
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_grid_desc;

// Coordinates of a grid: offset + stride * coordinate. Two of shape (480, 640) in an `int2 pixel` make a call of that shape
// with .x below 640. `desc` must live until the call; its numbers must fit 32 bits.
SPY_API spy_arg spy_arg_grid(const char *name, const spy_grid_desc *desc);

// start, start + step, ... below stop (above, when step is negative): a dimension of the call, as numpy's arange. 32 bits.
SPY_API spy_arg spy_arg_range(const char *name, int64_t start, int64_t stop, int64_t step);

// Where a random sequence begins. NULL or all zero: the defaults.
typedef struct spy_random_desc {
    uint32_t seed;      // 0: 2640457667, unless explicit_seed is set
    uint32_t warmup;    // values passed over
    bool raw_seed;      // the sequence begins at the seed itself; false: at the seed's hash
    bool explicit_seed; // `seed` is the seed whatever it is, 0 included
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_random_desc;

// Without warmup the first numbers of neighbouring elements are visibly related; a warmup of 1 is enough for pictures.
// Random unsigned numbers, independent from component to component and from element to element: Thomas Wang's 32-bit hash,
// from thread_id ^ hash(seed) on. The same on every device and backend. Source: slang/slangpy_random.slang.
SPY_API spy_arg spy_arg_wang_hash(const char *name, const spy_random_desc *desc);
// Random floats, uniform in [low, high), from 24 bits of the same sequence; for float parameters of any width.
SPY_API spy_arg spy_arg_rand_float(const char *name, float low, float high, const spy_random_desc *desc);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_GENERATOR_H
