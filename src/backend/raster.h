// Raster: the functions by which a backend makes pipelines of vertex and fragment shaders, and a draw as
// work.
#ifndef SPYI_RASTER_H
#define SPYI_RASTER_H

#include "api/raster.h"
#include "backend/image.h"

#define SPYI_MOST_TARGETS 8u     // most colour targets of a draw, which is SPY_MOST_TARGETS
#define SPYI_MOST_ATTRIBUTES 16u // most attributes of a vertex, and most buffers with attributes

typedef enum spyi_raster_stage {
    SPYI_RASTER_VERTEX,
    SPYI_RASTER_FRAGMENT,
    SPYI_RASTER_STAGES
} spyi_raster_stage;

// How a colour target is changed by the fragment shader's result. All zero means that it is replaced, in all
// channels.
typedef struct spyi_raster_blend {
    uint8_t enabled;
    uint8_t color_from, color_to, color_op; // spy_blend_factor of the new and of the old colour, and a
                                            // spy_blend_op
    uint8_t alpha_from, alpha_to, alpha_op;
    uint8_t keeps; // bits of the channels that are not written: 1 red, 2 green, 4 blue, 8 alpha
} spyi_raster_blend;

// One attribute of a vertex: where its bytes lie in the elements of a vertex buffer.
typedef struct spyi_raster_attribute {
    uint8_t location, buffer;
    uint8_t format; // a spy_format
    uint32_t offset;
} spyi_raster_attribute;

typedef struct spyi_raster_buffer {
    uint32_t stride;       // the bytes from one element to the next
    uint32_t per_instance; // 0 means one element for each vertex, n means one for each n instances
} spyi_raster_buffer;

// The state of a pipeline besides its code. Plain bytes. The members before the lists are zeroed before they
// are set, so that equal states have equal bytes; the lists come last, and of them only the first
// attribute_count and buffer_count elements count, so that a draw copies and compares no more than these.
typedef struct spyi_raster_state {
    uint8_t topology; // a spy_topology, not DEFAULT
    uint8_t cull;     // spy_cull
    uint8_t clockwise_is_front, wireframe;
    uint8_t depth_compare; // spy_compare; NONE means that there is no depth test
    uint8_t depth_write;
    uint8_t depth_format; // spy_format; NONE means that there is no depth target
    uint8_t depth_clamped;
    uint8_t stencil_enabled, stencil_read_mask, stencil_write_mask;
    uint8_t stencil[2][4]; // the operations fail, depth_fail and pass (spy_stencil_op) and the comparison
                           // (spy_compare, not NONE), for front and back
    uint8_t samples;       // at least 1
    uint8_t target_count, attribute_count, buffer_count, alpha_to_coverage;
    uint8_t target_formats[SPYI_MOST_TARGETS]; // spy_format
    spyi_raster_blend blends[SPYI_MOST_TARGETS];
    float depth_bias, depth_bias_slope, depth_bias_clamp;
    uint32_t sample_mask; // not 0
    spyi_raster_attribute attributes[SPYI_MOST_ATTRIBUTES];
    spyi_raster_buffer buffers[SPYI_MOST_ATTRIBUTES];
} spyi_raster_state;

// Bytes before the lists of spyi_raster_state.
#define SPYI_RASTER_STATE_HEAD offsetof(spyi_raster_state, attributes)

// The code and state of a pipeline. The stages share one interface: block_size bytes of parameters, of which
// each stage's code reads its own part; bindings and uniform buffers have one number for all stages. (The
// caller has changed the stages' code so that this is true: push constants of the fragment stage lie behind
// those of the vertex stage.)
typedef struct spyi_raster_desc {
    const char *label;
    struct {
        const void *code; // SPIR-V words
        size_t code_size; // the bytes of `code`
        const char *entry;
    } stages[SPYI_RASTER_STAGES]; // a fragment shader without code means that only depth is written
    spyi_interface iface;
    spyi_raster_state state;
} spyi_raster_desc;

// A target of a draw: one level and some layers of an image.
typedef struct spyi_draw_target {
    // Handles of the image and of a view that was made with spyi_image_view_desc.target; view 0 means that
    // there is no such target. The image's layout is for SPYI_USE_ATTACHMENT, and so is that of `resolve`.
    uint64_t image, view;
    // `clear`: before the draw the target is set to the colour, or to depth and stencil. Otherwise its old
    // content is kept, unless `ignore` says that it is not needed.
    bool clear, ignore;
    bool clear_stencil, ignore_stencil;
    spy_clear_color color;
    float depth;
    uint32_t stencil;
    // The handle of a view that gets the average of the samples after the draw; 0 if there is none.
    uint64_t resolve;
} spyi_draw_target;

typedef struct spyi_draw_buffer {
    uint64_t handle, offset; // the handle of a chunk, and the offset in it in bytes
} spyi_draw_buffer;

// Draws triangles, lines or points into the targets. Draws that follow each other into the same targets without a
// barrier or a clear between them become one pass. Passes order themselves: the backend waits for earlier passes'
// writes to attachments before a pass, so a draw after a draw into the same targets has no barrier.
typedef struct spyi_draw_work {
    spyi_work work;
    spyi_kernel *kernel; // a kernel from `load` below; a draw that only clears has one, too, which describes
                         // its targets
    const void *block;
    const spyi_binding *bindings;
    const spyi_uniform *uniforms;
    spyi_draw_target depth;
    uint32_t target_count;
    uint32_t width, height, layers; // the size of the targets
    // x, y, width, height, least and greatest depth. Clip space is Direct3D's, which is Slang's: y = 1 is the upper
    // edge. (The backend turns it over where the API has it otherwise.)
    float viewport[6];
    int32_t scissor[4]; // x, y, width, height
    uint32_t buffer_count;
    // The indices, which are uint16_t if `short_indices` is true and otherwise uint32_t. A handle of 0 means
    // that vertices are drawn in their order.
    spyi_draw_buffer indices;
    uint64_t indices_size; // the bytes of the indices, from indices.offset on
    bool short_indices;
    uint32_t count, first;                   // the number of indices, or of vertices, and the first one
    int32_t first_vertex;                    // added to each index
    uint32_t instance_count, first_instance; // a count or instance_count of 0 means that the draw only clears
    // The handle of a chunk with the counts, as VkDrawIndirectCommand or VkDrawIndexedIndirectCommand; 0
    // means that the counts in this struct are used.
    spyi_draw_buffer indirect;
    uint32_t indirect_count; // the number of draws
    uint32_t stencil_reference;
    float blend_color[4];
    // The lists come last, and of them only the first target_count and buffer_count elements are set.
    spyi_draw_target targets[SPYI_MOST_TARGETS];
    spyi_draw_buffer buffers[SPYI_MOST_ATTRIBUTES];
} spyi_draw_work;

// The bytes before the lists of spyi_draw_work.
#define SPYI_DRAW_WORK_HEAD offsetof(spyi_draw_work, targets)
SPYI_FN const spyi_work_kind *spyi_work_draw(void);

// The functions for raster. A backend without raster has NULL in its table.
typedef struct spyi_raster_functions {
    // Makes a kernel of a pipeline; it is free-threaded, like the table's `load`. destroy_kernel takes such
    // kernels, too.
    spy_status (*load)(spyi_gpu *gpu, const spyi_raster_desc *desc, spyi_kernel **kernel, spyi_text *error);
} spyi_raster_functions;

#endif // SPYI_RASTER_H
