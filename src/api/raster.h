// Raster: draws of triangles, lines and points by a vertex and a fragment function of a module.
#ifndef SPY_API_RASTER_H
#define SPY_API_RASTER_H

#include "api/texture.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_raster spy_raster; // a vertex and a fragment function with the settings of their draws

#define SPY_MOST_TARGETS 8 // most colour targets of a draw
#define SPY_MOST_VERTEX_BUFFERS 16

// The primitives that vertices form.
typedef enum spy_topology {
    SPY_TOPOLOGY_DEFAULT, // same as triangle list
    SPY_TOPOLOGY_POINT_LIST,
    SPY_TOPOLOGY_LINE_LIST,
    SPY_TOPOLOGY_LINE_STRIP,
    SPY_TOPOLOGY_TRIANGLE_LIST,
    SPY_TOPOLOGY_TRIANGLE_STRIP,
    SPY_TOPOLOGY_COUNT
} spy_topology;

// The sides of triangles that are not drawn.
typedef enum spy_cull {
    SPY_CULL_NONE, // both sides are drawn
    SPY_CULL_FRONT,
    SPY_CULL_BACK
} spy_cull;

// The factor by which a blend multiplies the new colour ("source") or the target's old colour ("target").
typedef enum spy_blend_factor {
    SPY_BLEND_FACTOR_DEFAULT, // the source's factor is one, the target's is zero
    SPY_BLEND_FACTOR_ZERO,
    SPY_BLEND_FACTOR_ONE,
    SPY_BLEND_FACTOR_SOURCE_COLOR,
    SPY_BLEND_FACTOR_ONE_MINUS_SOURCE_COLOR,
    SPY_BLEND_FACTOR_SOURCE_ALPHA,
    SPY_BLEND_FACTOR_ONE_MINUS_SOURCE_ALPHA,
    SPY_BLEND_FACTOR_TARGET_ALPHA,
    SPY_BLEND_FACTOR_ONE_MINUS_TARGET_ALPHA,
    SPY_BLEND_FACTOR_TARGET_COLOR,
    SPY_BLEND_FACTOR_ONE_MINUS_TARGET_COLOR,
    SPY_BLEND_FACTOR_SOURCE_ALPHA_SATURATED,
    SPY_BLEND_FACTOR_CONSTANT, // spy_draw_desc.blend_color
    SPY_BLEND_FACTOR_ONE_MINUS_CONSTANT,
    SPY_BLEND_FACTOR_SOURCE1_COLOR, // the fragment function's second colour for the target
    SPY_BLEND_FACTOR_ONE_MINUS_SOURCE1_COLOR,
    SPY_BLEND_FACTOR_SOURCE1_ALPHA,
    SPY_BLEND_FACTOR_ONE_MINUS_SOURCE1_ALPHA,
    SPY_BLEND_FACTOR_COUNT
} spy_blend_factor;

// The operation by which the two products of a blend become the target's colour.
typedef enum spy_blend_op {
    SPY_BLEND_OP_DEFAULT, // same as add
    SPY_BLEND_OP_ADD,
    SPY_BLEND_OP_SUBTRACT,         // source - target
    SPY_BLEND_OP_REVERSE_SUBTRACT, // target - source
    SPY_BLEND_OP_MIN,
    SPY_BLEND_OP_MAX,
    SPY_BLEND_OP_COUNT
} spy_blend_op;

// How a colour target is changed by the fragment function's result. All zero means that it is replaced, in
// all channels.
typedef struct spy_blend {
    bool enabled;
    spy_blend_factor color_source, color_target;
    spy_blend_op color_op;
    spy_blend_factor alpha_source, alpha_target;
    spy_blend_op alpha_op;
    uint32_t
        keep; // channels that are not written, as bits: 1 red, 2 green, 4 blue, 8 alpha. 15: the fragment
              // function needs no output for the target
} spy_blend;

// The operation of a stencil test on the target's stencil value.
typedef enum spy_stencil_op {
    SPY_STENCIL_OP_DEFAULT, // the value stays as it is
    SPY_STENCIL_OP_ZERO,
    SPY_STENCIL_OP_REPLACE, // the value becomes spy_draw_desc.stencil_reference
    SPY_STENCIL_OP_INCREMENT_CLAMPED,
    SPY_STENCIL_OP_DECREMENT_CLAMPED,
    SPY_STENCIL_OP_INVERT,
    SPY_STENCIL_OP_INCREMENT_WRAPPED,
    SPY_STENCIL_OP_DECREMENT_WRAPPED,
    SPY_STENCIL_OP_COUNT
} spy_stencil_op;

// The stencil test of one side of triangles. All zero means that it passes and changes nothing.
typedef struct spy_stencil {
    spy_stencil_op fail, depth_fail, pass;
    spy_compare compare; // the comparison of the reference with the target's value; NONE means that the test
                         // always passes
} spy_stencil;

// An attribute of a vertex in a buffer that holds several of them.
typedef struct spy_vertex_attribute {
    const char *name;        // the input's semantic ("POSITION"; case does not matter), or its name in Slang
    uint32_t semantic_index; // 1 for TEXCOORD1
    spy_format format;       // how the bytes are read; Slang's type has as many channels or fewer
    uint32_t offset_bytes;   // the bytes from the start of an element
    uint32_t buffer;         // the index in spy_draw_desc.vertex_buffers
} spy_vertex_attribute;

// The elements of a vertex buffer.
typedef struct spy_vertex_layout {
    uint32_t stride_bytes;  // the bytes from one element to the next
    uint32_t per_instances; // 0 means one element for each vertex, n means one for each n instances
} spy_vertex_layout;

// The settings of a raster's draws. If all but `vertex` is zero, it draws both sides of triangles, without a
// depth test and without blending.
typedef struct spy_raster_desc {
    spy_function *vertex;   // required: a [shader("vertex")] function
    spy_function *fragment; // a [shader("fragment")] function; NULL means that only depth and stencil are
                            // written
    spy_topology topology;
    spy_cull cull;
    bool clockwise_is_front; // the front is the side whose vertices are clockwise on the target, whose y
                             // grows downwards; false means counter-clockwise
    bool wireframe;
    spy_blend blends[SPY_MOST_TARGETS];

    // The depth test against spy_draw_desc.depth. NONE: there is no test, and depth is not written.
    spy_compare depth_compare;
    bool depth_read_only; // the test does not write depth
    float depth_bias, depth_bias_slope, depth_bias_clamp;
    bool depth_clamped; // depth is clamped instead of clipped at the near and far plane
    bool stencil_enabled;
    uint32_t stencil_read_mask, stencil_write_mask; // 0 means 255
    spy_stencil stencil_front, stencil_back;

    uint32_t sample_mask; // bits of the samples that are written; 0 means all
    bool alpha_to_coverage;

    // Attributes in buffers of several attributes each: all inputs of the vertex function that are not SV_
    // values are found here; attributes that it does not take are ignored. Without any, arguments of the draw
    // are its attributes (spy_draw).
    const spy_vertex_attribute *attributes;
    size_t attribute_count;
    const spy_vertex_layout *layouts; // layouts of spy_draw_desc.vertex_buffers
    size_t layout_count;
    // The names of arguments that are attributes with an element for each instance.
    const char *const *instance_attributes;
    size_t instance_attribute_count;

    const char *label;
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_raster_desc;

// Creates a raster. Both functions are of one device, and of one module or of modules that have the same
// globals. What the fragment function takes is what the vertex function returns at the same place, counted
// without SV_ values. Pipelines are made by the first draw with targets of certain formats and arguments of
// certain kinds; after a reload the next draw makes them anew. Returns NULL on failure. The caller releases
// it, or it is released with the device. Threads: any.
SPY_API spy_raster *spy_create_raster(spy_device *device, const spy_raster_desc *desc);
// Returns the colour targets that the fragment function writes, as bits: 1 for SV_Target0, 2 for SV_Target1. 0 without
// a fragment function. Threads: any.
SPY_API uint32_t spy_raster_outputs(spy_raster *raster);
SPY_API void spy_retain_raster(spy_raster *raster);  // Adds one reference to the raster, which then needs one
                                                     // more release. Threads: any.
SPY_API void spy_release_raster(spy_raster *raster); // Drops one reference; the last one frees the raster.
                                                     // NULL is ignored. Threads: any, at any time.

// The treatment of a target's old contents before the draw.
typedef enum spy_load {
    SPY_LOAD_DEFAULT, // the target keeps its contents
    SPY_LOAD_CLEAR,
    SPY_LOAD_IGNORE // the contents may be lost, because the draw covers all of the target
} spy_load;

// A colour target: the first level of a texture or view, all its layers.
typedef struct spy_draw_target {
    spy_texture *texture; // NULL means that the fragment function's output of this number is dropped
    spy_load load;
    spy_clear_color clear;
    spy_texture *resolve; // gets the averages of the samples after the draw; NULL if there is none
} spy_draw_target;

// The depth and stencil target: the first level of a texture or view, all its layers.
typedef struct spy_draw_depth {
    spy_texture *texture; // NULL if there is no depth target
    spy_load load, stencil_load;
    float clear;
    uint32_t stencil_clear;
} spy_draw_depth;

// The rectangle of the targets in which positions from -1 to 1 lie.
typedef struct spy_viewport {
    float x, y, width, height;  // pixels of the target; y grows downwards
    float min_depth, max_depth; // both 0 means 0 and 1
} spy_viewport;

// The part of the targets outside of which nothing is drawn.
typedef struct spy_scissor {
    int32_t x, y;
    uint32_t width, height; // the size in pixels
} spy_scissor;

// The elements of a tensor that are vertices, from byte `offset_bytes` of the tensor's first element on.
typedef struct spy_vertex_buffer {
    spy_tensor *tensor;
    size_t offset_bytes;
} spy_vertex_buffer;

// The targets and the geometry of a draw.
typedef struct spy_draw_desc {
    spy_draw_target targets[SPY_MOST_TARGETS]; // all of one size; those behind the last texture do not exist
    spy_draw_depth depth;
    spy_viewport viewport; // width 0 means the whole target
    spy_scissor scissor;   // width 0 means no limit

    // Vertices, or indices if there are any. vertex_count 0: as many as `indices` has from first_vertex on,
    // or without indices as many as the attributes of vertices have, which must then be equally many, or as
    // many as all of spy_raster_desc.attributes have; `draw_nothing` for none. Without triangles, targets are
    // cleared.
    uint32_t vertex_count, first_vertex;
    uint32_t instance_count, first_instance; // instance_count 0 means 1
    bool draw_nothing;
    // Contiguous, of uint32 or uint16; NULL means that vertices are drawn in their order. The caller makes
    // sure that each index, with vertex_offset, is the index of a vertex: otherwise the GPU reads other
    // memory, or zeros if robustBufferAccess is on (devices that an engine has made with it).
    spy_tensor *indices;
    size_t indices_offset_bytes;
    bool indices_are_16_bit; // needed if `indices` is a tensor of bytes or structs, and not if it is one of
                             // uint16
    int32_t vertex_offset;   // added to each index
    spy_vertex_buffer vertex_buffers[SPY_MOST_VERTEX_BUFFERS]; // buffers with the layouts of
                                                               // spy_raster_desc.layouts

    // Counts that the GPU reads when it draws: `indirect_count` times VkDrawIndirectCommand (vertices,
    // instances, first vertex, first instance) or, with indices, VkDrawIndexedIndirectCommand (indices,
    // instances, first index, vertex offset, first instance), all uint32_t.
    spy_tensor *indirect;
    size_t indirect_offset_bytes;
    uint32_t indirect_count; // 0 means 1

    uint32_t stencil_reference;
    float blend_color[4];
    bool edge_gradients;  // spy_draw_backward() also computes how the picture changes as edges of triangles
                          // move
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_draw_desc;

// Draws. `args`, all with names, are:
// - values for the functions' uniform parameters, as those of a shader that spy_dispatch() runs. A name that both
//   functions have feeds both;
// - attributes, unless spy_raster_desc.attributes says where they lie: a tensor with the name of an input of the vertex
//   function (a parameter, or the field of a struct that is a parameter) and one element for each vertex, such as
//   floats (n, 3) for a float3, or halfs, with any stride; or a tensor of structs with the name of the struct's
//   parameter. A matrix is given by its rows, as inputs of their own.
// `options` as for spy_dispatch(): globals, which each of the functions takes if it uses them, constants,
// conformances, append_to. Draws into the same targets that follow each other become one pass. A texture that is a
// target cannot be read or written by the same draw, but other levels and layers of it can. Returns before the GPU is
// done. Errors found before the draw leave all targets unchanged. Threads: any.
SPY_API spy_status spy_draw(spy_raster *raster, const spy_draw_desc *draw, spy_args args,
                            const spy_call_options *options);

// Computes gradients of what a draw takes from the gradients of its targets (spy_texture_desc.with_grad), which it reads.
// It takes the desc and the arguments of the draw; adds to the gradients of uniform parameters (tensors with gradients,
// spy_arg_diff_pair()), of textures that the fragment function samples, and of attributes: from the fragment function
// to what it takes, to the three corners of each triangle, and through the vertex function. Both functions are
// [Differentiable], the vertex function only if something that it takes has a gradient; structs with gradients are
// declared as Varying : IDifferentiable.
// Exact: everything that the pixels show where the same triangle stays visible, as the fragment function, the position
// in clip space and perspective give it. Not counted: which triangle a pixel shows. With draw->edge_gradients the change
// of the picture as an edge of a triangle moves is added, to the accuracy of one sample where the edge crosses the line
// between two pixels' centres, as if pixels were averages over their area. Edges where triangles intersect are not found.
// The picture itself is not read, and nothing is drawn. The target's gradient stays as it is: of two draws into one
// target the first has none where the second covers it, so the caller clears it there.
// Refused: points, lines, wireframe, blending, stencil tests, several samples or layers, indirect counts,
// spy_raster_desc.attributes, a depth target that the draw does not clear, and functions of two modules. Attributes with
// gradients are float32. Sums are made by atomics in no fixed order where options->deterministic is not set, which is
// refused for gradients of vertices. Errors found before the first call leave all gradients unchanged. Threads: any.
SPY_API spy_status spy_draw_backward(spy_raster *raster, const spy_draw_desc *draw, spy_args args,
                                     const spy_call_options *options);
// Describes what spy_draw_backward() would do: which arguments get gradients, what of them is exact, and the functions
// that are generated for it. Works like snprintf: writes at most `capacity` bytes including the NUL, and returns the
// text's length without the NUL. When it cannot be done, the text is that of the error. Threads: any.
SPY_API size_t spy_explain_draw(spy_raster *raster, const spy_draw_desc *draw, spy_args args,
                                const spy_call_options *options, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif // SPY_API_RASTER_H
