// The bytes of a recipe: one function for each sort of field, which writes it, or reads it back. What is said once serves both.
#ifndef SPYI_PLAN_RECIPE_BYTES_H
#define SPYI_PLAN_RECIPE_BYTES_H

#include "plan/recipe.h"

typedef struct spyi_recipe {
    spyi_text *out;    // NULL: it is read
    const uint8_t *at; // of what is left to read
    size_t left;
    spy_status status; // when it is not SPY_OK any more, what is read is 0, and `problem` says why
    spyi_text problem;
    spyi_types *table;       // the device's
    const spyi_type **types; // by number, in the order in which they came first
    uint32_t type_count, type_capacity;
    uint32_t depth;            // of types within types
    const spyi_values *values; // of the call that it is read for
} spyi_recipe;

// recipe_bytes.c
SPYI_FN void spyi_recipe_fail(spyi_recipe *r, spy_status status, const char *format, ...) SPYI_PRINTF(3, 4);
SPYI_FN void spyi_recipe_damaged(spyi_recipe *r, const char *what);
// While it is read: what must be so. Gives whether all is well so far.
SPYI_FN bool spyi_recipe_expect(spyi_recipe *r, bool good, const char *what);
SPYI_FN void spyi_recipe_raw(spyi_recipe *r, void *bytes, size_t size);
SPYI_FN void spyi_recipe_u8(spyi_recipe *r, uint8_t *v);
SPYI_FN void spyi_recipe_bool(spyi_recipe *r, bool *v);
SPYI_FN void spyi_recipe_u16(spyi_recipe *r, uint16_t *v);
SPYI_FN void spyi_recipe_u32(spyi_recipe *r, uint32_t *v);
SPYI_FN void spyi_recipe_u64(spyi_recipe *r, uint64_t *v);
SPYI_FN void spyi_recipe_dims(spyi_recipe *r, int64_t *dims);                  // SPY_MAX_RANK of them
SPYI_FN uint32_t spyi_recipe_enum(spyi_recipe *r, uint32_t v, uint32_t count); // below `count`
SPYI_FN void spyi_recipe_text(spyi_recipe *r, char **v);                       // NULL stays NULL
SPYI_FN void spyi_recipe_bytes(spyi_recipe *r, spyi_text *v); // as they are; read: `v` is empty
// A list's length, at most `most`, and when it is read its memory, zeroed. Each item has at least one byte.
SPYI_FN void spyi_recipe_list(spyi_recipe *r, uint32_t *count, uint32_t most, void **items, size_t item_size);

// recipe_type.c
SPYI_FN void spyi_recipe_type(spyi_recipe *r, const spyi_type **type); // NULL stays NULL

#endif // SPYI_PLAN_RECIPE_BYTES_H
