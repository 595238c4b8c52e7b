// Makes a launch from the arguments of a call: shapes, walks, vector width, memory access, groups, passes.
#ifndef SPYI_CALL_LAUNCH_H
#define SPYI_CALL_LAUNCH_H

#include "plan/plan.h"

// launch.c: fills plan->launch: shapes, broadcasting, merged dimensions, and the key of the variant. Records
// nothing and allocates nothing. A device with a pack that lacks the variant of the launch gets the launch of
// the plain variant instead: that variant walks memory of any strides, offsets and sizes, so each call of a
// pack has one. Dispatches have none.
SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error);
// Returns whether the kernel walks through the leaf's memory.
SPYI_FN bool spyi_is_walked(const spyi_bound *b, const spyi_launch *launch, uint32_t i);

// repeat.c: returns whether the call equals one of the plan's launches except for base addresses and numbers.
// plan->launch is then that launch, with this call's base addresses.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values);
// Returns whether no output shares memory with another argument.
SPYI_FN bool spyi_outputs_apart(const spyi_bound *b, const spyi_values *values);
SPYI_FN uint64_t spyi_launch_grid(const spyi_limits *limits); // returns the address bits that must be the
                                                              // same in a repeated launch
// Return whether one tensor repeats its leaf of a launch, and put the tensor's address into the launch.
SPYI_FN bool spyi_launch_leaf_repeats(const spyi_launch_leaf *at, const spy_tensor *tensor, uint64_t grid);
SPYI_FN void spyi_launch_leaf_take(spyi_launch_leaf *at, const spy_tensor *tensor);

// shape.c: returns the sizes and strides of a leaf's value. Temporaries and new tensors are contiguous.
SPYI_FN void spyi_leaf_measures(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                spy_shape *dims, spy_shape *strides);
// Computes the call shape from all leaves. An error names the first two leaves whose sizes disagree.
SPYI_FN spy_status spyi_call_shape(const spyi_bound *b, const spyi_values *values, spy_shape *call,
                                   spyi_text *error);
// Checks that an output has an element for each element of the call. overlap.c checks that no two of them
// share memory.
SPYI_FN spy_status spyi_check_output(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                     spyi_text *error);

// Returns the size of a collapsed dimension in elements, or in tiles if the launch has tiles along it.
SPYI_FN uint32_t spyi_launch_steps(const spyi_launch *launch, uint32_t dim);

// width.c: chooses the vector width. Fills launch->key and adapts the leaves' strides.
SPYI_FN void spyi_launch_width(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch);

// Chooses the vector width for the threads of teams, and how many units a thread has in flight.
SPYI_FN void spyi_launch_units(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch);

// A figure of the sums of gradients, of which tests/bench/sums_h200.py tries other values. In a library that
// is compiled with SPYI_TUNES it is the value of the environment variable SPYI_SUMS_name, if that is set.
#ifdef SPYI_TUNES
static inline uint32_t spyi_tuned(const char *name, uint32_t usual) {
    const char *value = getenv(name);
    return value && value[0] ? (uint32_t)strtoul(value, NULL, 10) : usual;
}
#define SPYI_TUNED(name, usual) spyi_tuned("SPYI_SUMS_" name, usual)
#else
#define SPYI_TUNED(name, usual) ((uint32_t)(usual))
#endif

// access.c: chooses between pointers and structured buffers. Fills launch->key and the leaves.
SPYI_FN void spyi_choose_access(const spyi_bound *b, const spyi_values *values, const spyi_limits *limits,
                                spyi_launch *launch);
// Computes the binding offsets of temporaries, once these have memory.
SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error);

// Returns the number of groups of the batch engine's first dispatch of a call with `count` rows: one for each tile,
// but no more than run at the same time.
SPYI_FN uint32_t spyi_batch_groups(const spyi_batch *batch, const spyi_limits *limits, int64_t count);
// groups.c: fills launch->groups. `group` has the sizes of a call group in elements, and is read if
// key.grouped is set.
SPYI_FN spy_status spyi_launch_groups(const spyi_bound *b, const spyi_values *values,
                                      const spyi_limits *limits, const uint32_t *group, spyi_launch *launch,
                                      spyi_text *error);

// passes.c, for backward calls: divides the gradients into passes and fills launch->passes. Each pass adds to
// its gradients in one dispatch.
SPYI_FN spy_status spyi_launch_passes(const spyi_bound *b, const spyi_values *values, spyi_launch *launch,
                                      spyi_text *error);
// Chooses the teams of threads that sum the gradients of launch->pass.
SPYI_FN void spyi_launch_teams(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch);
// Writes the sizes of launch->pass's dimensions (*count of them) in the order in which they are walked, and
// reorders the leaves' strides. Dimensions whose elements do not share a gradient come first; returns their
// number.
SPYI_FN uint32_t spyi_launch_order(const spyi_bound *b, spyi_launch *launch, int64_t *sizes, uint32_t *count);
// Moves the launch to the dispatch that finishes this pass, or to the next pass; returns false after the last
// one.
SPYI_FN bool spyi_next_pass(spyi_launch *launch);

// overlap.c: rejects calls whose arguments share memory in a harmful way.
SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error);

#endif // SPYI_CALL_LAUNCH_H
