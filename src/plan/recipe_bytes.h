// The bytes of a recipe: one function for each type of field. The same function writes the field, or reads it
// back.
#ifndef SPYI_PLAN_RECIPE_BYTES_H
#define SPYI_PLAN_RECIPE_BYTES_H

#include "plan/recipe.h"

typedef struct spyi_recipe {
    spyi_text *out;    // where fields are written; NULL: fields are read
    const uint8_t *at; // next byte to read
    size_t left;
    spy_status status; // after a failure all fields read as 0, and `problem` says why
    spyi_text problem;
    spyi_types *table;       // the device's type table
    const spyi_type **types; // the types by their number in the recipe, in the order of first use
    uint32_t type_count, type_capacity;
    uint32_t depth;            // nesting of types within types
    const spyi_values *values; // of the call that the recipe is read for
} spyi_recipe;

// recipe_bytes.c
SPYI_FN void spyi_recipe_fail(spyi_recipe *r, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN void spyi_recipe_damaged(spyi_recipe *r, const char *what);
// Reading: fails with `what` unless `good`. Returns true when nothing has failed so far.
SPYI_FN bool spyi_recipe_expect(spyi_recipe *r, bool good, const char *what);
SPYI_FN void spyi_recipe_raw(spyi_recipe *r, void *bytes, size_t size);
SPYI_FN void spyi_recipe_u8(spyi_recipe *r, uint8_t *v);
SPYI_FN void spyi_recipe_bool(spyi_recipe *r, bool *v);
SPYI_FN void spyi_recipe_u16(spyi_recipe *r, uint16_t *v);
SPYI_FN void spyi_recipe_u32(spyi_recipe *r, uint32_t *v);
SPYI_FN void spyi_recipe_u64(spyi_recipe *r, uint64_t *v);
SPYI_FN void spyi_recipe_dims(spyi_recipe *r, int64_t *dims);                  // SPY_MAX_RANK numbers
SPYI_FN uint32_t spyi_recipe_enum(spyi_recipe *r, uint32_t v, uint32_t count); // a number below `count`
SPYI_FN void spyi_recipe_text(spyi_recipe *r, char **v);                       // NULL stays NULL
SPYI_FN void spyi_recipe_bytes(spyi_recipe *r, spyi_text *v); // as they are; when reading, `v` must be empty
// A list's length, at most `most`. Reading also allocates *items, zeroed. Each item takes at least one byte
// of the recipe.
SPYI_FN void spyi_recipe_list(spyi_recipe *r, uint32_t *count, uint32_t most, void **items, size_t item_size);

// recipe_type.c
SPYI_FN void spyi_recipe_type(spyi_recipe *r, const spyi_type **type); // NULL stays NULL

#endif // SPYI_PLAN_RECIPE_BYTES_H
