// Plans. A plan is made from a call's signature, and has one kernel variant for each way in which its memory
// is walked.
#ifndef SPYI_PLAN_PLAN_H
#define SPYI_PLAN_PLAN_H

#include "plan/bound_inputs.h"
#include "plan/launch.h"

// >>variants: one compiled kernel each

// A copy, in host memory, of the data from which a kernel was loaded; kept when device->sign_call is set.
typedef struct spyi_program {
    char *label, *entry;
    spyi_text code; // the blob that compile made
    spyi_interface iface;
    spyi_parameter *parameters; // the parameters to which iface points
    spyi_literals literals;     // strings that the kernel prints
} spyi_program;

// A kernel with unsized arrays. Each number of elements has its own plan, and the variants of all these plans
// run this kernel.
typedef struct spyi_shared_kernel {
    uint32_t references; // the number of variants that run it
    spyi_kernel *kernel;
    spyi_program *program; // the same as spyi_variant.program
    spyi_inputs inputs;
    spyi_entry entry; // the shader's entry point, with the places of its parameters
    char *text;
} spyi_shared_kernel;

// A description of the memory of one argument that a variant uses. Each call makes a spyi_use of it, from
// which barriers follow.
typedef struct spyi_memory_access {
    // When `whole` is true, the kernel gets the whole tensor of the value with this number. Otherwise it
    // walks the elements of the plan's leaf with this number.
    uint32_t number;
    bool whole;
    bool reads, writes;
    // The functions of a texture or sampler that the kernel gets, which is the value with this number; NULL
    // means that it gets memory.
    const spyi_kind_resource *resource;
} spyi_memory_access;

struct spyi_variant {
    spyi_variant_key key;
    spyi_emitted emitted; // the text is freed after compiling
    spyi_bound_inputs bound_inputs;
    spyi_memory_access *accesses; // memory of parameters and of shader parameters
    uint32_t access_count;
    bool resources; // some accesses are of textures or samplers
    bool untracked; // an argument is a raw address, so the kernel may read and write any memory
    spyi_kernel *kernel;
    spyi_program *program; // NULL means that it is not kept, or that shared_kernel keeps it
    // For kernels with unsized arrays; NULL means that the kernel belongs to this variant alone.
    spyi_shared_kernel *shared_kernel;
    spyi_use
        *uses; // room for one launch: accesses, sums, group counts, the print buffer, textures with handles
    uint32_t use_count; // the number of uses of the last run
    uint32_t use_capacity;
};

// >>plans: what one signature of a function became

// The number of launches that a plan keeps. A call with the shapes, strides and alignments of a kept launch
// repeats it with other base addresses. There are several, so that layers, tail batches and slices do not
// push each other out.
#define SPYI_GEOMETRIES 4

typedef struct spyi_plan spyi_plan;
struct spyi_plan {
    uint8_t *key;
    uint32_t key_size;
    uint64_t hash;
    // NULL in a plan that can run. A plan with a `redirect` only leads to plans, whose keys also have the
    // last redirect[i] sizes of value i.
    uint8_t *redirect;
    int32_t references; // the number of references from the cache and from prepared calls
    spy_function *function;
    uint32_t generation; // the module's generation from which the plan was made
    spyi_bound bound;
    spyi_launch *launch; // the running call's launch, or the last call's; it is one of `launches`
    // The launches of the plan, the most recently used first; unused entries at the end are NULL.
    spyi_launch *launches[SPYI_GEOMETRIES];
    // The options of calls that repeat a launch; NULL means that they have none.
    spy_call_options *repeated_options;
    spyi_variant **variants;
    uint32_t variant_count;
    struct spyi_same *same;   // the last dispatch (call/same.h); NULL means that there was none
    uint64_t last_submit;     // the batch of the last dispatch; the kernels live until it has finished
    spyi_plan *chain;         // the next plan of the same bucket
    spyi_plan *newer, *older; // the neighbours in order of use
    spyi_plan *retired;       // the next retired plan that waits for the GPU
    // For a device with a pack: hashes of the keys of variants that the pack lacks. Their launches run the
    // plain variant, which walks memory of any strides (call/launch.h).
    uint64_t *absent;
    uint32_t absent_count;
    bool plain_sums; // all launches that sum gradients run the plain variant
    // For a device that records a pack: the hash of the key of a variant whose plain form is also to be made;
    // 0 means that there is none.
    uint64_t plain_of;
    // These members are for recipes.
    uint64_t signature;   // the spyi_recipe_signature(); 0 means that programs are not kept
    uint32_t value_count; // the number of arguments
    uint32_t sized_from;  // the byte of the key where the sizes begin by which types were chosen; 0 means
                          // that there are none
};

// plan.c
// A call steps out of the device to compile, and steps in again. Meanwhile it keeps its values with their
// tensors, its function and its plans. spyi_call_step_out() returns false when out of memory; the call is
// then still inside.
typedef struct spyi_call_outside {
    spyi_outside outside;
    spyi_values *values; // the call's values, which the cache gets back when it steps in
} spyi_call_outside;
SPYI_FN bool spyi_call_step_out(spy_function *function, spyi_call_outside *o, const void *work,
                                const void *key, size_t key_size);
SPYI_FN void spyi_call_step_in(spy_function *function, spyi_call_outside *o);
// Waits outside of the device when another thread is making the same thing, and then returns true.
SPYI_FN bool spyi_call_await(spy_function *function, const void *work, const void *key, size_t key_size);

// Makes a plan. Compile threads run spyi_plan_create() and spyi_variant_create() while other threads use the
// device. Both change only those parts of the device that have their own locks: the compiler, the unfinished
// builds, the literals of print().
SPYI_FN spy_status spyi_plan_create(spy_function *function, const spyi_values *values, spyi_plan **plan,
                                    spyi_text *error);

// spyi_plan_new() returns a plan for the call with nothing bound yet, or NULL when out of memory.
// spyi_plan_add_launch() gives a bound plan its first launch, or returns false when out of memory.
SPYI_FN spyi_plan *spyi_plan_new(spy_function *function, const spyi_values *values);
SPYI_FN bool spyi_plan_add_launch(spyi_plan *plan);
// Puts a new plan into the cache. When types were chosen by sizes, also puts a redirect there; `short_size`
// is the size in bytes of the values' key without those sizes. Returns false when out of memory; the plan is
// then released.
SPYI_FN bool spyi_plan_insert(spy_device *device, spyi_plan *plan, spyi_values *values, uint32_t short_size);

// Finds a call's plan in the cache, or makes it and puts it there. May leave the device.
SPYI_FN spy_status spyi_plan_get(spy_function *function, spyi_values *values, spyi_plan **plan,
                                 spyi_text *error);

// Forgets how calls repeat the launch, and its graph.
SPYI_FN void spyi_launch_forget(spy_device *device, spyi_launch *launch);
// Makes plan->launches[index] the running call's launch and the most recently used one.
SPYI_FN void spyi_plan_use_launch(spyi_plan *plan, uint32_t index);
// Makes an empty launch the running call's launch, or the least recently used one when there is no room. No
// call repeats it until it is computed anew.
SPYI_FN spyi_launch *spyi_plan_fresh_launch(spyi_plan *plan);

// The number of threads of a group when the caller does not give it; plain functions have it, too.
#define SPYI_CUDA_KERNEL_THREADS 64
// Returns true when the device can run a [CudaKernel]; otherwise `error` says why not.
SPYI_FN bool spyi_cuda_kernel_runs(const spy_function *function, spyi_text *error);

// variant.c
SPYI_FN spy_status spyi_variant_create(spyi_plan *plan, const spyi_variant_key *key,
                                       const spyi_values *values, spyi_variant **variant, spyi_text *error);
SPYI_FN void spyi_variant_free(spy_device *device, spyi_variant *variant);
// Copies a kernel's desc and the strings that it prints. `blob` becomes the program's code. Returns NULL when
// out of memory; the blob is then freed.
SPYI_FN spyi_program *spyi_program_make(const spyi_kernel_desc *desc, spyi_text *blob,
                                        const spyi_literals *literals);
SPYI_FN void spyi_program_free(spyi_program *program); // `program` may be NULL
SPYI_FN spyi_variant *spyi_variant_find(const spyi_plan *plan, const spyi_variant_key *key);
SPYI_FN spy_status spyi_plan_add_variant(spyi_plan *plan, spyi_variant *variant, spyi_text *error);
// Finds or makes the variant for the key of plan->launch. *left is set when the device was left meanwhile:
// then compute the launch anew and ask again. With `stay` it compiles without leaving the device. Returns
// SPY_ERROR_NOT_READY without a text when a reload has replaced the plan's code and the plan has no such
// variant.
SPYI_FN spy_status spyi_variant_get(spyi_plan *plan, const spyi_values *values, bool stay,
                                    spyi_variant **variant, bool *left, spyi_text *error);

// Returns whether a launch with this key runs the plain variant: the pack lacks its own, or the plain one is to be made.
SPYI_FN bool spyi_plan_wants_plain(const spyi_plan *plan, const spyi_variant_key *key);
// Remembers that the device's pack lacks the variant. Returns false when there is no pack, when that was known, or when
// memory ran out.
SPYI_FN bool spyi_plan_note_absent(spyi_plan *plan, const spyi_variant_key *key);

// Fills accesses and untracked and allocates uses, after the inputs are bound (memory_access.c). Returns
// false when out of memory.
SPYI_FN bool spyi_variant_find_accesses(const spyi_bound *bound, spyi_variant *variant);
// Makes room for `more` uses of textures with handles behind the others. Returns false when out of memory.
SPYI_FN bool spyi_variant_use_room(spyi_variant *variant, uint32_t more);

// Rewrites the error when a kernel does not compile for a known cause in the user's code, and returns true;
// otherwise returns false (diagnose.c).
SPYI_FN bool spyi_diagnose(const spy_function *function, spyi_text *error, spy_status *status);

#endif // SPYI_PLAN_PLAN_H
