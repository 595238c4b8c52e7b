// The signature of a call, by which a recipe (plan/recipe.h) is found and checked.
#ifndef SPYI_PLAN_RECIPE_SIGN_H
#define SPYI_PLAN_RECIPE_SIGN_H

#include "plan/plan.h"

// Raise this number with every change of the written fields, of the meaning of a pack operation or trait, or
// of what kernels expect.
#define SPYI_RECIPE_VERSION 8u

// Returns a hash of the call's function and described values, without the sizes that types are chosen by. It
// is the same in every process.
SPYI_FN uint64_t spyi_recipe_signature(const spy_function *function, const spyi_values *values);

#endif // SPYI_PLAN_RECIPE_SIGN_H
