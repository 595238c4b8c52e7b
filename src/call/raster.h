// Raster: a vertex and a fragment function, each bound and compiled like a dispatch of a shader that runs as it is,
// the pipelines that are made of both, and draws.
#ifndef SPYI_CALL_RASTER_H
#define SPYI_CALL_RASTER_H

#include "backend/raster.h"
#include "call/run.h"
#include "data/texture.h"

#define SPYI_MOST_DRAW_ARGS 64
#define SPYI_MOST_FED 16

// A pipeline of the backend. Work uses it as a resource, so that command lists hold it and it is freed when its work
// has finished. To the tracker it is memory without bytes.
typedef struct spyi_pipeline {
    spyi_storage head; // the first member; all of it is zero except head.resource
    spyi_kernel *kernel;
    // The variants that the pipeline was made of. Each plan has one reference, so that no other variant can
    // get the address of one of these.
    spyi_plan *plans[SPYI_RASTER_STAGES];
    const spyi_variant *variants[SPYI_RASTER_STAGES];
    spyi_raster_state state;
    uint32_t offsets[SPYI_RASTER_STAGES]; // the offset of each stage's block in the block of both stages
    bool handles;                         // functions of the pipeline use handles
    uint32_t block_size;
    struct spyi_pipeline *next; // in spy_raster.pipelines or spy_device.waiting_pipelines
} spyi_pipeline;

// One stage: the function, and the reflection of its code of the current generation.
typedef struct spyi_raster_part {
    spy_function *function; // NULL if there is no fragment function
    spyi_stage stage;
    uint32_t generation;
} spyi_raster_part;

#define SPYI_MOST_FLAT 16

// An argument of a stage that is plain bytes: the properties that must be equal when a draw is repeated, and
// the place of its value.
typedef struct spyi_flat_item {
    const spyi_leaf *leaf;
    uint32_t offset; // the offset in the stage's block
    uint32_t bytes;  // how many bytes are copied as they are; 0 means that `op` converts the value
    uint8_t op;      // SPYI_PACK_SCALAR, SPYI_PACK_INLINE or SPYI_PACK_BYTES
    uint8_t kind, dtype;
    uint8_t number; // the number of the draw's argument
    size_t count;   // the same as spy_arg.count
    int64_t dims[2];
} spyi_flat_item;

// How draws with arguments of the same names, kinds and types repeat a stage's plan.
typedef struct spyi_stage_again {
    // The stage's arguments are plain bytes, and it uses no memory, textures or samplers, so that its values
    // go from the arguments straight into the draw's block.
    bool flat;
    uint32_t flat_count;
    spyi_flat_item flat_items[SPYI_MOST_FLAT];
    spyi_plan *plan; // the use holds one reference; NULL means that nothing has been learnt
    spyi_variant *variant;
    spyi_value *items; // the values of the stage's arguments, after `systems` values of its inputs and
                       // outputs
    uint32_t capacity, count, systems;
    size_t arg_count; // the number of arguments of the whole draw
} spyi_stage_again;

struct spy_raster {
    spyi_object object;
    char *label; // for messages and debug tools
    spyi_raster_part parts[SPYI_RASTER_STAGES];
    spyi_raster_state state; // the part of the state that all draws share
    spyi_raster_blend blends[SPYI_MOST_TARGETS];
    bool depth_read_only;
    // Copies of the desc's lists.
    spy_vertex_attribute *attributes;
    uint32_t attribute_count;
    spyi_raster_buffer layouts[SPY_MOST_VERTEX_BUFFERS];
    uint32_t layout_count;
    char **instance_attributes;
    uint32_t instance_attribute_count;
    spyi_pipeline *pipelines; // a list of pipelines, the most recently used one first; one reference each
    uint32_t pipeline_count;
    // The uses of the running draw. The memory is kept so that draws do not allocate.
    spyi_use *uses;
    uint32_t use_capacity;
    uint8_t *block;
    uint32_t block_capacity;
    // The name of each argument of the last draw and the stages that take it, because most draws repeat the
    // names.
    struct {
        char name[31];
        uint8_t feeds;
    } fed[SPYI_MOST_FED];
    uint32_t fed_count;
    spyi_stage_again again[SPYI_RASTER_STAGES];
    // For each target the spy_texture.target_form of the last texture that passed the checks; 0 if there is
    // none. A reload clears them.
    uint32_t checked_forms[SPYI_MOST_TARGETS + 1];
    // For gradients (draw_gradient.h): generated modules, the raster that draws triangles' numbers, and its
    // targets.
    struct spyi_draw_gradient *gradients;
    spy_raster *ids;
    spy_texture *id_target, *id_depth;
    struct spy_raster *previous, *next; // neighbours in the list spy_device.rasters
};

// One stage of the running draw.
typedef struct spyi_draw_stage {
    spyi_plan *plan; // the plan, with one reference
    spyi_variant *variant;
    const uint8_t *block;
    const spyi_stage_again *flat; // the stage whose values are still in the arguments; NULL means that they
                                  // are in `block`
} spyi_draw_stage;

// The state of a draw that is being recorded.
typedef struct spyi_drawing {
    spy_raster *raster;
    spy_device *device;
    const spy_draw_desc *desc;
    spy_args args;
    uint8_t feeds[SPYI_MOST_DRAW_ARGS]; // spyi_feeds of each argument
    spyi_draw_work work;
    spyi_raster_state state;
    spyi_draw_stage stages[SPYI_RASTER_STAGES];
    uint32_t use_count, target_uses; // the number of uses in raster->uses, and of the uses of targets, which
                                     // come first
    bool untracked;
    // The least number of elements that a buffer of vertices, and of instances, has; UINT64_MAX if there is
    // none.
    uint64_t vertices, instances;
    uint64_t most; // the largest number of elements that a buffer of vertices has
    const char *least_vertices, *most_vertices, *least_instances; // the names of these buffers, for messages
    spyi_binding bindings[SPYI_RASTER_STAGES * SPYI_MOST_MEMORY_LEAVES];
    spyi_uniform uniforms[SPYI_RASTER_STAGES * SPYI_MOST_UNIFORMS];
} spyi_drawing;

// These are bits for the stages and lists that take an argument.
enum spyi_feeds { SPYI_FEEDS_VERTEX = 1, SPYI_FEEDS_FRAGMENT = 2, SPYI_FEEDS_ATTRIBUTE = 4 };

// raster.c: reads the reflection of a stage again whose code a reload has replaced; leaves the device
// meanwhile.
SPYI_FN spy_status spyi_raster_look(spy_raster *raster, int stage, spyi_text *error);
SPYI_FN void spyi_rasters_attach(spy_device *device);
SPYI_FN void spyi_rasters_free_all(spy_device *device); // called at the device's release
SPYI_FN void spyi_raster_forget(spy_raster *raster);    // forgets how draws repeat the stages' plans
// Makes room for `count` more uses; returns false when out of memory.
SPYI_FN bool spyi_raster_room(spyi_drawing *d, uint32_t count, spyi_text *error);

// draw_again.c: learns how the stage was bound, for draws with arguments of the same names and kinds. `given`
// are the arguments with which the stage was bound.
SPYI_FN void spyi_learn_stage(const spyi_drawing *d, int s, const spyi_values *values, uint32_t given);
// Takes the arguments for a stage that is bound as in an earlier draw, and sets the stage's plan and variant.
// Otherwise returns false and leaves the draw unchanged. `values` are filled unless the stage is flat.
SPYI_FN bool spyi_repeat_stage(spyi_drawing *d, int s, spyi_values *values);
// Writes the values of a flat stage. Returns false if one does not fit into its parameter.
SPYI_FN bool spyi_pack_flat(const spyi_stage_again *again, spy_args args, uint8_t *block);

// draw.c: begins a draw and finds which stages take each argument; checks targets and vertices.
SPYI_FN spy_status spyi_draw_look(spyi_drawing *d, spyi_text *error);
// Returns what is wrong with the desc or the options, or NULL if nothing is.
SPYI_FN const char *spyi_draw_problem(const spy_draw_desc *desc, const spy_call_options *options);

// pipeline.c: finds or makes the pipeline of the draw's variants and state, which is then the raster's first
// pipeline. Sets *left when the device was left to make it; the draw then starts again.
SPYI_FN spy_status spyi_pipeline_get(spyi_drawing *d, spyi_pipeline **pipeline, bool *left, spyi_text *error);
SPYI_FN void spyi_pipelines_drop(spy_raster *raster);          // drops all pipelines of the raster
SPYI_FN void spyi_pipelines_free_finished(spy_device *device); // frees pipelines without references whose
                                                               // work has finished

// targets.c: checks the targets, and fills the members of the work, the state and the uses that depend on
// them.
SPYI_FN spy_status spyi_draw_targets(spyi_drawing *d, spyi_text *error);

// vertices.c: checks attributes, indices and indirect counts, fills the members that depend on them, and
// finds how many vertices and instances are drawn.
SPYI_FN spy_status spyi_draw_vertices(spyi_drawing *d, spyi_text *error);
// Checks a desc's lists of attributes and layouts against the vertex function's inputs.
SPYI_FN spy_status spyi_raster_check_attributes(const spy_raster *raster, spyi_text *error);
// Returns whether an argument of this name gives attributes.
SPYI_FN bool spyi_is_attribute(const spy_raster *raster, const char *name);

#endif // SPYI_CALL_RASTER_H
