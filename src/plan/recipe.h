// Recipes: a plan and its variants as bytes without pointers, which another process makes a plan of without compiling anything.
//
// A recipe says what a call has become for a device's profile: types, functions and kinds stand in it by names and layouts, kernels
// as blobs of the backend's compile, and only pack operations write addresses. It does not say what the module's code was: who
// keeps recipes finds them by that.
#ifndef SPYI_PLAN_RECIPE_H
#define SPYI_PLAN_RECIPE_H

#include "plan/plan.h"

// Rises with every change of what is written, of what a pack operation or a trait means, and of what kernels expect.
#define SPYI_RECIPE_VERSION 1u

// Of a call's function and of its described values, without the sizes that types are chosen by: the same in every process.
SPYI_FN uint64_t spyi_recipe_signature(const spy_function *function, const spyi_values *values);
// Appends a plan of a device that keeps programs. On failure one sentence says what recipes cannot hold, and `bytes` is as before.
SPYI_FN spy_status spyi_recipe_write(const spyi_plan *plan, spyi_text *bytes, spyi_text *error);
// A plan for the call that `values` describes, as new as spyi_plan_create() gives one, but with its variants; kernels are loaded,
// and none is compiled. Any bytes can be given: what is damaged, or made for another library, profile, call or layout of a
// struct, is refused with a sentence that says so.
SPYI_FN spy_status spyi_recipe_read(spy_function *function, const spyi_values *values, const void *bytes,
                                    size_t size, spyi_plan **plan, spyi_text *error);

#endif // SPYI_PLAN_RECIPE_H
