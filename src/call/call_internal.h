// A call after its first time: plans with their kernel variants, the cache that finds them, and one launch.
#ifndef SPYI_CALL_INTERNAL_H
#define SPYI_CALL_INTERNAL_H

#include "api/list.h"
#include "emit/emit.h"

// >>variants: one compiled kernel
// A value for a shader parameter, or a part of one.
typedef struct spyi_feed {
    spyi_leaf leaf;  // its path is ours
    uint32_t slot;   // binding of a tensor, or number of the uniform buffer
    uint32_t offset; // in feeds->data
} spyi_feed;

// What the kernel reads beyond its block and the element-wise buffers.
typedef struct spyi_feeds {
    spyi_feed *items;
    uint32_t count;
    uint32_t binding_count; // of the kernel; the emitted ones come first
    uint32_t uniform_count;
    spyi_uniform uniforms[SPYI_MOST_UNIFORMS];
    uint8_t *data;  // of the uniforms, as packed for the running call
    bool untracked; // one is an address
} spyi_feeds;

// A kernel whose unsized arrays calls give more or fewer elements: each number of them has its plan, and all run this.
typedef struct spyi_twins {
    uint32_t references; // variants
    spyi_kernel *kernel;
    spyi_inputs inputs;
    spyi_entry entry; // of a shader, with the places of its parameters
    char *text;
} spyi_twins;

typedef struct spyi_variant {
    spyi_variant_key key;
    spyi_emitted emitted; // its text is dropped once compiled
    spyi_feeds feeds;
    spyi_kernel *kernel;
    spyi_twins *twins; // of kernels with unsized arrays; NULL: the kernel is this variant's alone
    spyi_use *uses;    // room for a launch's: of leaves, feeds, sums, group counts, the print buffer
} spyi_variant;

// >>launch: one call's shapes and memory, worked out before anything is recorded

#define SPYI_GEOMETRY_BYTES (offsetof(spy_tensor, contiguous) - offsetof(spy_tensor, shape))

typedef struct spyi_launch_leaf {
    spyi_storage *storage; // NULL until temporaries are made
    uint64_t serial;       // of the tensor that the next ones tell of
    uint64_t offset;       // byte of element 0 in the storage
    uint64_t begin, end;   // bytes of its elements
    uint64_t reach; // end of what is read: the last vector of wide variants reaches beyond the elements
    int64_t strides[SPY_MAX_RANK];         // per collapsed dimension, in memory elements
    int64_t inner[SPY_MAX_RANK];           // per consumed dimension, in elements
    uint32_t memory_size;                  // bytes of one memory element
    uint64_t binding_offset;               // in the chunk, when bindings are used
    uint64_t storage_offset;               // of the storage in the chunk when that was worked out
    uint8_t geometry[SPYI_GEOMETRY_BYTES]; // of the tensor
    uint64_t base;                         // memory elements from there to element 0
    uint64_t first;                        // with pointers: from the lowest element to element 0
    uint64_t sums_offset;                  // of what teams leave, in its temporary
} spyi_launch_leaf;

#define SPYI_MOST_PASSES 16

// A dispatch of a backward call, and the one that finishes its sums.
typedef struct spyi_pass {
    uint64_t adds;   // leaves: the gradients that it adds to
    uint64_t sums;   // ... those that elements share
    uint32_t shared; // the call's dimensions whose elements share them; 0: none
    bool together;   // some of them lie in the same memory
} spyi_pass;

typedef struct spyi_launch {
    spy_shape shape; // of the call
    int64_t count;   // elements
    uint32_t rank;   // collapsed
    int64_t dims[SPY_MAX_RANK];
    spyi_variant_key key;
    spyi_launch_leaf *leaves;  // of the plan's bound call
    uint32_t groups[3];        // as dispatched
    uint32_t thread_groups[3]; // as a dispatch's caller counts them
    uint8_t *block;            // parameters, as packed for the variant
    uint32_t block_capacity;
    // Backward calls. pass and finishes say what is to be worked out; the others are that.
    uint32_t pass, pass_count;
    bool finishes;
    bool leaves_sums; // the pass leaves sums for one that finishes
    spyi_pass passes[SPYI_MOST_PASSES];
    uint32_t kept; // collapsed dimensions whose elements do not share
    uint32_t sums, each, length, parts, team_parts; // parts: as the pass that leaves them has
    uint64_t team_groups, sums_bytes;
    int64_t element_strides[SPY_MAX_RANK]; // of the call's own elements along collapsed dimensions
    spyi_storage *sums_storage;            // of the running call
    spyi_variant *
        repeatable; // what the last call ran, when one that differs in storages and numbers alone may run it again
} spyi_launch;

// >>plans: what one signature of a function became
typedef struct spyi_plan spyi_plan;
typedef struct spyi_cache spyi_cache;
struct spyi_plan {
    uint8_t *key;
    uint32_t key_size;
    uint64_t hash;
    uint8_t *redirect;  // not a plan: so many trailing sizes of each value belong to the key
    int32_t references; // the table, prepared calls
    spy_function *function;
    uint32_t generation; // of the module that it was made from
    spyi_bound bound;
    spyi_launch launch; // the running call's, or the last one's
    struct spyi_again *again; // how its arguments repeat it; NULL: not learnt
    spyi_variant **variants;
    uint32_t variant_count;
    uint64_t last_submit;     // batch of the last dispatch: kernels live until it has finished
    spyi_plan *chain;         // next of its bucket
    spyi_plan *newer, *older; // by use
    spyi_plan *retired;       // next of those that wait for the GPU
};

// >>the cache and what calls reuse
enum { SPYI_LEAST_BUCKETS = 16, SPYI_MOST_BUCKETS = 65536 };

struct spyi_cache {
    spyi_plan **buckets; // chains of plans by the last bits of their hashes
    uint32_t bucket_count; // a power of two
    uint32_t max_plans, count;
    spyi_plan *newest, *oldest;
    spyi_plan *retired;
    spyi_values *values; // of the call that has the device
    spyi_values *spare;  // for further calls, while some of them work outside of the device
    bool extended;      // the last look-up added sizes to the key
};

// cache.c
SPYI_FN spyi_cache *spyi_cache_create(spy_device *device, uint32_t max_plans);
SPYI_FN void spyi_cache_destroy(spy_device *device);
SPYI_FN void spyi_cache_forget_function(spy_device *device, const spy_function *function);
SPYI_FN spyi_plan *spyi_cache_find(spy_device *device, spy_function *function,
                                   spyi_values *values); // NULL: not there
SPYI_FN spyi_plan *spyi_cache_redirect(spy_device *device, spy_function *function, spyi_values *values);
SPYI_FN void spyi_cache_insert(spy_device *device, spyi_plan *plan);
// The call, if it repeats one of the function's last few plans.
SPYI_FN bool spyi_cache_again(spy_function *function, spy_args args, spy_status *status, spyi_text *error);
SPYI_FN void spyi_plan_release(spy_device *device, spyi_plan *plan);
SPYI_FN void spyi_cache_collect(spy_device *device); // frees retired plans whose work has finished

// A call leaves the device to compile, and comes back: it keeps its values, the tensors among them, its function and plans.
// false: out of memory, and the device has not been left.
typedef struct spyi_call_outside {
    spyi_outside outside;
    spyi_values *values; // the cache's, while the call is outside
} spyi_call_outside;
SPYI_FN bool spyi_call_step_out(spy_function *function, spyi_call_outside *o, const void *work, const void *key,
                                size_t key_size);
SPYI_FN void spyi_call_step_in(spy_function *function, spyi_call_outside *o);
// If another thread is making the same thing: waits until it has, outside of the device, and returns true.
SPYI_FN bool spyi_call_await(spy_function *function, const void *work, const void *key, size_t key_size);

// plan.c. Both are free of the device's changing state, so compile threads may run them.
SPYI_FN spy_status spyi_plan_create(spy_function *function, const spyi_values *values, spyi_plan **plan,
                                    spyi_text *error);
SPYI_FN spy_status spyi_variant_create(spyi_plan *plan, const spyi_variant_key *key, const spyi_values *values,
                                       spyi_variant **variant, spyi_text *error);
SPYI_FN void spyi_variant_free(spy_device *device, spyi_variant *variant);
SPYI_FN spyi_variant *spyi_variant_find(const spyi_plan *plan, const spyi_variant_key *key);
SPYI_FN spy_status spyi_plan_add_variant(spyi_plan *plan, spyi_variant *variant, spyi_text *error);
// The variant that plan->launch names. *left: the device has been left meanwhile, and the launch must be worked out anew before
// the variant is asked for again. `stay`: compile within the device. SPY_ERROR_NOT_READY without a text: the plan is of
// code that a reload has replaced, and has no such variant.
SPYI_FN spy_status spyi_variant_get(spyi_plan *plan, const spyi_values *values, bool stay, spyi_variant **variant,
                                    bool *left, spyi_text *error);
// Makes all variants that a call with these values needs.
SPYI_FN spy_status spyi_variants_make(spyi_plan *plan, const spyi_values *values, spyi_text *error);
// The plan of a call, from the cache or built and inserted. May leave the device.
SPYI_FN spy_status spyi_plan_get(spy_function *function, spyi_values *values, spyi_plan **plan,
                                 spyi_text *error);

// launch.c: shapes, broadcasting, collapse, choice of variant, into plan->launch. Records nothing and allocates nothing.
SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error);
// Whether the call repeats the plan's last launch but for storages and numbers, which are then in plan->launch.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values);
SPYI_FN uint64_t spyi_launch_grid(const spyi_limits *limits); // a mask of address bits that must stay
// The same of one tensor, which then is the leaf's.
SPYI_FN bool spyi_launch_leaf_repeats(spyi_launch_leaf *at, const spy_tensor *tensor, uint64_t grid);

// passes.c, for backward calls: which gradients are added to in one dispatch; the teams of launch->pass; its dimensions in the
// order in which they are walked, those that do not share first: gives how many these are.
SPYI_FN spy_status spyi_launch_passes(const spyi_bound *b, const spyi_values *values, spyi_launch *launch,
                                      spyi_text *error);
SPYI_FN void spyi_launch_teams(const spyi_bound *b, const spyi_limits *limits, spyi_launch *launch);
SPYI_FN uint32_t spyi_launch_order(const spyi_bound *b, spyi_launch *launch, int64_t *sizes, uint32_t *count);
// Goes on to the next pass, or to the one that finishes this one; false: this was the last.
SPYI_FN bool spyi_next_pass(spyi_launch *launch);

// overlap.c
SPYI_FN spy_status spyi_check_overlap(const spyi_bound *b, const spyi_values *values,
                                      const spyi_launch *launch, spyi_text *error);
// Places the bindings of temporaries once they have memory.
SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error);

// feeds.c: which values feed the inputs of a kernel; errors for what is missing, unknown or does not fit.
SPYI_FN spy_status spyi_feeds_make(const spyi_plan *plan, const spyi_emitted *emitted, const spyi_inputs *inputs,
                                   const spyi_values *values, spyi_feeds *feeds, spyi_text *error);
SPYI_FN void spyi_feeds_free(spyi_feeds *feeds);
// What reflection knows of a call's globals before there is a kernel: whether the module has them, and what they take.
SPYI_FN spy_status spyi_globals_check(spy_function *function, const spyi_values *values, spyi_text *error);
// A line for each that is given, and for each that the module has besides.
SPYI_FN void spyi_globals_text(spy_function *function, const spyi_values *values, spyi_text *out);
// The running call's values into feeds->data and bindings[slot].
SPYI_FN spy_status spyi_feeds_pack(spyi_feeds *feeds, const spyi_values *values, spyi_binding *bindings,
                                   spyi_text *error);

// pack.c
// One value in the device's layout: numbers, host data, whole tensors.
SPYI_FN spy_status spyi_pack_leaf(const spyi_leaf *leaf, const spyi_value *v, uint8_t *out, spyi_text *error);
SPYI_FN bool spyi_pack_scalar(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out); // false: it does not fit
SPYI_FN bool spyi_pack_inline(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out); // likewise
SPYI_FN spy_status spyi_does_not_fit(const spyi_leaf *leaf, const spyi_value *v, spyi_text *error);
// Fills plan->launch.block. `repeats`: it holds the last call's, whose sizes and strides stay.
SPYI_FN spy_status spyi_pack_block(const spyi_plan *plan, const spyi_values *values, const spyi_variant *variant,
                                   bool repeats, spyi_text *error);

// again.c
// The call, if it repeats the plan's last one; false: nothing was done. Neither allocates, but for a new result.
SPYI_FN bool spyi_call_again(spyi_plan *plan, spy_args args, spy_status *status, spyi_text *error);
SPYI_FN void spyi_again_learn(spyi_plan *plan, const spyi_values *values, const spyi_variant *variant);
SPYI_FN void spyi_again_free(spyi_plan *plan);

// attach.c
SPYI_FN void spyi_calls_attach(spy_device *device);

// prepare.c
// All within the device, without waiting. After a reload: has threads compile the new code of prepared calls.
SPYI_FN void spyi_prepared_reloaded(spy_device *device);
SPYI_FN void spyi_prepared_collect(spy_device *device); // takes over what threads have finished
SPYI_FN bool spyi_prepared_renewing(const spy_device *device); // a thread compiles new code of one
SPYI_FN bool spyi_prepared_compiles(struct spy_prepared *prepared); // its thread has not ended yet
SPYI_FN void spyi_prepared_finish_all(spy_device *device); // waits for all compile threads; the device goes
SPYI_FN void spyi_prepared_free(struct spy_prepared *prepared);
SPYI_FN void spyi_prepared_free_all(spy_device *device);

// run.c
SPYI_FN void spyi_give_result(const spyi_leaf *leaf, const spy_arg *arg, spy_tensor *made);
// `list`: record into it instead of running; or NULL.
SPYI_FN spy_status spyi_run(spyi_plan *plan, const spyi_values *values, spy_command_list *list, bool timed,
                            uint64_t *gpu_time_ns, spyi_text *error);

// call.c: the stages of a call, or of a dispatch when `threads` is given, inside the device
SPYI_FN spy_status spyi_call_inside(spy_function *function, spy_args args, const spy_call_options *options,
                                    const spyi_threads *threads, const char *public_name);

// diagnose.c
// Rewrites the error of a kernel that does not compile when its cause is known and in the user's code; false: it is not.
SPYI_FN bool spyi_diagnose(const spy_function *function, spyi_text *error, spy_status *status);

// dispatch.c
#define SPYI_CUDA_KERNEL_THREADS 64 // of a group, of plain functions too, where the caller does not say
// Whether the device can run a [CudaKernel]; false: `error` says why not.
SPYI_FN bool spyi_cuda_kernel_runs(const spy_function *function, spyi_text *error);

#endif // SPYI_CALL_INTERNAL_H
