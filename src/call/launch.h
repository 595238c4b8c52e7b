// From arguments to the numbers of a launch: shapes, walks, width, access to memory, groups of threads, passes.
#ifndef SPYI_CALL_LAUNCH_H
#define SPYI_CALL_LAUNCH_H

#include "plan/plan.h"

// launch.c
// Shapes, broadcasting, collapse, choice of variant, into plan->launch. Records nothing and allocates nothing.
SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error);
// Whether the kernel walks through the leaf's memory.
SPYI_FN bool spyi_is_walked(const spyi_bound *b, const spyi_launch *launch, uint32_t i);

// repeat.c
// Whether the call repeats one of the plan's launches but for base addresses and numbers. It is plan->launch then, with the
// call's base addresses.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values);
// Whether no output lies in the memory of another argument.
SPYI_FN bool spyi_outputs_apart(const spyi_bound *b, const spyi_values *values);
SPYI_FN uint64_t spyi_launch_grid(const spyi_limits *limits); // a mask of address bits that must stay
// The same of one tensor; and notes where it lies.
SPYI_FN bool spyi_launch_leaf_repeats(const spyi_launch_leaf *at, const spy_tensor *tensor, uint64_t grid);
SPYI_FN void spyi_launch_leaf_take(spyi_launch_leaf *at, const spy_tensor *tensor);

// shape.c
// Sizes and strides of a leaf's value; temporaries and new tensors are contiguous.
SPYI_FN void spyi_leaf_measures(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                spy_shape *dims, spy_shape *strides);
// The call shape from all leaves; the first two that disagree are named.
SPYI_FN spy_status spyi_call_shape(const spyi_bound *b, const spyi_values *values, spy_shape *call,
                                   spyi_text *error);
// An output must have a place for each element of the call; whether it has one of its own, overlap.c looks.
SPYI_FN spy_status spyi_check_output(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                     spyi_text *error);

// width.c: into launch->key, with the strides that follow from it.
SPYI_FN void spyi_launch_width(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch);

// access.c: into launch->key and the leaves.
SPYI_FN void spyi_choose_access(const spyi_bound *b, const spyi_values *values, const spyi_limits *limits,
                                spyi_launch *launch);
// Places the bindings of temporaries once they have memory.
SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error);

// groups.c: into launch->groups. `group`: sizes of the call's groups, where it has some.
SPYI_FN spy_status spyi_launch_groups(const spyi_bound *b, const spyi_values *values,
                                      const spyi_limits *limits, const uint32_t *group, spyi_launch *launch,
                                      spyi_text *error);

// passes.c, for backward calls
// Which gradients are added to in one dispatch.
SPYI_FN spy_status spyi_launch_passes(const spyi_bound *b, const spyi_values *values, spyi_launch *launch,
                                      spyi_text *error);
// The teams of launch->pass.
SPYI_FN void spyi_launch_teams(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch);
// Gives the dimensions of launch->pass in the order in which they are walked: first those whose elements do not share a
// gradient, whose number is returned.
SPYI_FN uint32_t spyi_launch_order(const spyi_bound *b, spyi_launch *launch, int64_t *sizes, uint32_t *count);
// Goes on to the next pass, or to the one that finishes this one; false: this was the last.
SPYI_FN bool spyi_next_pass(spyi_launch *launch);

// overlap.c
SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error);

#endif // SPYI_CALL_LAUNCH_H
