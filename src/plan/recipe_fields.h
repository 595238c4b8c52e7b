// The fields of a recipe, in one order for writing and reading.
#ifndef SPYI_PLAN_RECIPE_FIELDS_H
#define SPYI_PLAN_RECIPE_FIELDS_H

#include "data/stream.h"
#include "plan/recipe.h"

// The first bytes of a recipe. Its last bytes are a hash of all bytes before them.
#define SPYI_RECIPE_MAGIC "SPYRCP\x1a\n"
enum { SPYI_RECIPE_MAGIC_SIZE = 8, SPYI_RECIPE_START = 20, SPYI_RECIPE_END = 8 };

typedef struct spyi_recipe_head {
    uint8_t magic[SPYI_RECIPE_MAGIC_SIZE];
    uint32_t version;
    uint64_t size;    // the bytes of the whole recipe; this member ends the start
    char *library;    // the identity of the compiling library, spyi_compiler_identity()
    char *device;     // the name of the device, for messages
    uint64_t profile; // the hash of the device's profile
    bool prints;      // kernels record what they print
    char *function;
    uint64_t signature; // the spyi_recipe_signature()
} spyi_recipe_head;

SPYI_FN void spyi_recipe_start(spyi_stream *r, spyi_recipe_head *head); // writes or reads magic, version and
                                                                        // size
SPYI_FN void spyi_recipe_rest(spyi_stream *r, spyi_recipe_head *head);
// Fills the head with the values that this device would write now.
SPYI_FN void spyi_recipe_head_of(const spy_device *device, spyi_recipe_head *head);
SPYI_FN void spyi_recipe_head_free(spyi_recipe_head *head);

// Writes or reads the plan's part, which is the result of binding.
SPYI_FN void spyi_recipe_bound(spyi_stream *r, spyi_bound *bound, uint32_t value_count);
// Writes or reads the data from which a kernel is loaded.
SPYI_FN void spyi_recipe_program(spyi_stream *r, spyi_program *program);
// Writes or reads a variant: its key, and the data of its one step. Reading fills its program, and does not
// load the kernel.
SPYI_FN void spyi_recipe_variant(spyi_stream *r, const spyi_bound *bound, spyi_variant *variant,
                                 spyi_program *program);

#endif // SPYI_PLAN_RECIPE_FIELDS_H
