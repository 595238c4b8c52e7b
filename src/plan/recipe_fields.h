// The fields of a recipe, in one order for writing and reading.
#ifndef SPYI_PLAN_RECIPE_FIELDS_H
#define SPYI_PLAN_RECIPE_FIELDS_H

#include "data/stream.h"
#include "plan/recipe.h"

// The bytes before the content. A hash of all bytes before it ends the recipe.
#define SPYI_RECIPE_MAGIC "SPYRCP\x1a\n"
enum { SPYI_RECIPE_MAGIC_SIZE = 8, SPYI_RECIPE_START = 20, SPYI_RECIPE_END = 8 };

typedef struct spyi_recipe_head {
    uint8_t magic[SPYI_RECIPE_MAGIC_SIZE];
    uint32_t version;
    uint64_t size;    // bytes of the whole recipe; the start ends here
    char *library;    // the compiling library: spyi_compiler_identity()
    char *device;     // name of the device, for messages
    uint64_t profile; // hash of the device's profile
    bool prints;      // kernels record what they print
    char *function;
    uint64_t signature; // spyi_recipe_signature()
} spyi_recipe_head;

SPYI_FN void spyi_recipe_start(spyi_stream *r, spyi_recipe_head *head); // magic, version, size
SPYI_FN void spyi_recipe_rest(spyi_stream *r, spyi_recipe_head *head);
// Fills the head as this device would write it now.
SPYI_FN void spyi_recipe_head_of(const spy_device *device, spyi_recipe_head *head);
SPYI_FN void spyi_recipe_head_free(spyi_recipe_head *head);

// The plan's part: what binding has found.
SPYI_FN void spyi_recipe_bound(spyi_stream *r, spyi_bound *bound, uint32_t value_count);
// What a kernel is loaded from.
SPYI_FN void spyi_recipe_program(spyi_stream *r, spyi_program *program);
// A variant: its key, and what its one step runs. Reading fills its program, and does not load the kernel.
SPYI_FN void spyi_recipe_variant(spyi_stream *r, const spyi_bound *bound, spyi_variant *variant,
                                 spyi_program *program);

#endif // SPYI_PLAN_RECIPE_FIELDS_H
