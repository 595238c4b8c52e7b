// Recipes: a plan and its variants as bytes without pointers. Another process makes the plan from them
// without compiling. A recipe holds the results of binding and compiling a call for a device's profile.
// Types, functions and kinds are stored by names and layouts, kernels as blobs of the backend's compile; only
// pack operations write addresses. A recipe does not identify the module's code, so a program that stores
// recipes must find them by that code.
#ifndef SPYI_PLAN_RECIPE_H
#define SPYI_PLAN_RECIPE_H

#include "plan/plan.h"
#include "plan/recipe_sign.h"

// Appends the recipe of a plan to `bytes`; the device must keep programs. On failure `error` says in one
// sentence what recipes cannot hold, and `bytes` is unchanged.
SPYI_FN spy_status spyi_recipe_write(const spyi_plan *plan, spyi_text *bytes, spyi_text *error);
// Makes a plan for the call that `values` describes, as spyi_plan_create() does, but with its variants; loads
// the kernels and compiles none. Any bytes are safe: damaged ones, and those made for another library,
// profile, call or struct layout, are refused, and `error` says why.
SPYI_FN spy_status spyi_recipe_read(spy_function *function, const spyi_values *values, const void *bytes,
                                    size_t size, spyi_plan **plan, spyi_text *error);

// Visits each address among the parameters of the variant's dispatches (addresses.c). An address is given by
// its byte offset in the block, or in the uniform buffers' bytes, one buffer behind the other. It may be 0, a
// number that the caller gave, or lie in memory that the dispatch uses.
SPYI_FN void spyi_variant_addresses(const spyi_plan *plan, const spyi_variant *variant,
                                    void (*visit)(void *user, bool in_uniforms, uint32_t offset), void *user);

#endif // SPYI_PLAN_RECIPE_H
