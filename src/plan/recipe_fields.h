// What a recipe holds, said once for writing and reading.
#ifndef SPYI_PLAN_RECIPE_FIELDS_H
#define SPYI_PLAN_RECIPE_FIELDS_H

#include "plan/recipe_bytes.h"

// The bytes before the content. At the end of all stands a hash of what is before it.
#define SPYI_RECIPE_MAGIC "SPYRCP\x1a\n"
enum { SPYI_RECIPE_MAGIC_SIZE = 8, SPYI_RECIPE_START = 20, SPYI_RECIPE_END = 8 };

typedef struct spyi_recipe_head {
    uint8_t magic[SPYI_RECIPE_MAGIC_SIZE];
    uint32_t version;
    uint64_t size;    // of all bytes; up to here the start
    char *library;    // that compiled: spyi_compiler_identity()
    char *device;     // name, for messages
    uint64_t profile; // hash
    bool prints;      // kernels record what they print
    char *function;
    uint64_t signature; // spyi_recipe_signature()
} spyi_recipe_head;

SPYI_FN void spyi_recipe_start(spyi_recipe *r, spyi_recipe_head *head); // magic, version, size
SPYI_FN void spyi_recipe_rest(spyi_recipe *r, spyi_recipe_head *head);
SPYI_FN void spyi_recipe_head_of(const spy_device *device,
                                 spyi_recipe_head *head); // as kernels would be made now
SPYI_FN void spyi_recipe_head_free(spyi_recipe_head *head);

// The plan part: what binding has found.
SPYI_FN void spyi_recipe_bound(spyi_recipe *r, spyi_bound *bound, uint32_t value_count);
// What a kernel is loaded from.
SPYI_FN void spyi_recipe_program(spyi_recipe *r, spyi_program *program);
// A variant: its key, and what its one step runs. Read: its program is there, and has no kernel yet.
SPYI_FN void spyi_recipe_variant(spyi_recipe *r, const spyi_bound *bound, spyi_variant *variant,
                                 spyi_program *program);

#endif // SPYI_PLAN_RECIPE_FIELDS_H
