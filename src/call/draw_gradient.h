// Gradients through draws. A second draw stores which triangle each pixel shows. Everything else is done by ordinary calls
// of a generated module, so that calls' code for sums of gradients, textures, samplers, command lists and hazards is used.
//
//     1. slangpy_draw_corner  runs the vertex function for each corner of each triangle; its results are rows of `corners`
//     2. a draw               writes the number of the triangle that is visible, by the draw's own tests
//     3. slangpy_draw_pixel   backward: interpolates the corners and runs the fragment function's derivative
//     4. slangpy_draw_edges   backward, if asked for: the crossings of edges between neighbouring pixels
//     5. slangpy_draw_corner  backward: from the corners' gradients to attributes and uniforms of the vertex function
//
// A generated fragment shader that runs the derivative on the same fragments would save the draw of the numbers. But it
// would need atomics, sums over groups and textures' gradients once more for another stage, where a fragment shader has
// no groups, and would leave quads and helper invocations to the driver.
#ifndef SPYI_CALL_DRAW_GRADIENT_H
#define SPYI_CALL_DRAW_GRADIENT_H

#include "call/raster.h"

// The properties of a draw, besides the raster's functions, that a generated module depends on. Zeroed before
// the members are set, so that equal forms have equal bytes.
typedef struct spyi_draw_form {
    uint8_t channels[SPY_MOST_TARGETS]; // bits of the channels whose gradients count: 1 red ... 8 alpha; 0 if
                                        // the target has no gradient
    uint8_t columns[SPY_MOST_TARGETS];  // the columns of each target's gradient
    uint8_t clamps[SPY_MOST_TARGETS];   // 1: the target's format cuts values off at 0 and 1, 2: at -1 and 1
    uint8_t vertices;                   // the vertex function has gradients too
    uint8_t edges;                      // gradients include the movement of edges; only with `vertices`
    uint8_t indexed;
    uint8_t short_indices, signed_indices;
    uint8_t buffers[SPYI_MOST_ATTRIBUTES]; // for each input of the vertex function: the number of its tensor,
                                           // from 0
    uint8_t columns_of[SPYI_MOST_ATTRIBUTES];        // for each input of the vertex function: its first
                                                     // column in that tensor
    uint8_t buffer_has_floats[SPYI_MOST_ATTRIBUTES]; // for each tensor: 1 if it has floats, 2 ints, 3 uints
    uint8_t buffer_has_grad[SPYI_MOST_ATTRIBUTES];   // for each tensor: whether it has a gradient
    uint8_t buffer_count;
} spyi_draw_form;

// A generated module and data for its calls. All of it is made anew after a reload of the raster's module.
typedef struct spyi_draw_gradient {
    spyi_draw_form form;
    spy_module *module;                   // the module, with one reference
    spy_function *corner, *pixel, *edges; // functions of `module`
    uint32_t columns, flat_columns;       // floats, and integers, in the row of a corner
    uint32_t generation;                  // generation of the raster's module that this was made for
    struct spyi_draw_gradient *next;
} spyi_draw_gradient;

// draw_text.c: writes the functions that are put behind the text of the raster's module. Errors name the part
// of a shader that has no gradients.
SPYI_FN spy_status spyi_draw_gradient_text(const spy_raster *raster, spyi_draw_gradient *gradient,
                                           spyi_text *out, spyi_text *error);

// draw_gradient.c: finds or makes the module of `form`. Call it inside the device, which may be left
// meanwhile. The module gets a reference for the caller.
SPYI_FN spy_status spyi_draw_gradient_get(spy_raster *raster, const spyi_draw_form *form,
                                          spyi_draw_gradient *out, spyi_text *error);
SPYI_FN void spyi_draw_gradients_drop(spy_raster *raster);

#endif // SPYI_CALL_DRAW_GRADIENT_H
