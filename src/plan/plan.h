// What a call becomes: a plan for its signature, with a kernel variant for each way in which its memory is walked.
#ifndef SPYI_PLAN_PLAN_H
#define SPYI_PLAN_PLAN_H

#include "plan/bound_inputs.h"
#include "plan/launch.h"

// >>variants: one compiled kernel

// What a kernel was loaded from, and what its messages say: kept in host memory where device->keep_programs says so.
typedef struct spyi_program {
    char *label, *entry;
    spyi_text code; // the blob
    spyi_interface iface;
    spyi_parameter *parameters; // the interface's
    spyi_literals literals;     // of what it prints
} spyi_program;

// A kernel whose unsized arrays calls give more or fewer elements: each number of them has its plan, and all run this.
typedef struct spyi_shared_kernel {
    uint32_t references; // variants
    spyi_kernel *kernel;
    spyi_program *program; // as the variants' own
    spyi_inputs inputs;
    spyi_entry entry; // of a shader, with the places of its parameters
    char *text;
} spyi_shared_kernel;

// What a variant does with the memory of an argument: each call makes a use of it, from which barriers are made.
typedef struct spyi_memory_access {
    uint32_t
        number; // whole: of the value whose tensor it is; else of the plan's leaf, whose launch says where it lies
    bool whole;
    bool reads, writes;
} spyi_memory_access;

struct spyi_variant {
    spyi_variant_key key;
    spyi_emitted emitted; // its text is dropped once compiled
    spyi_bound_inputs bound_inputs;
    spyi_memory_access *accesses; // of parameters and of shader parameters
    uint32_t access_count;
    bool untracked; // it may read and write where nobody knows: an argument is an address
    spyi_kernel *kernel;
    spyi_program *program; // NULL: not kept, or the shared kernel has it
    spyi_shared_kernel
        *shared_kernel; // of kernels with unsized arrays; NULL: the kernel is this variant's alone
    spyi_use *uses;     // room for what a launch uses: accesses, sums, group counts, the print buffer
};

// >>plans: what one signature of a function became

// Launches that a plan keeps: a call that comes again with the shapes, strides and alignments of one of them is that launch with
// other base addresses. Several, so that layers, tail batches and slices do not push each other out.
#define SPYI_GEOMETRIES 4

typedef struct spyi_plan spyi_plan;
struct spyi_plan {
    uint8_t *key;
    uint32_t key_size;
    uint64_t hash;
    uint8_t *redirect;  // not a plan: the key also needs the last redirect[i] sizes of value i
    int32_t references; // the table, prepared calls
    spy_function *function;
    uint32_t generation; // of the module that it was made from
    spyi_bound bound;
    spyi_launch *launch;                    // the running call's, or the last one's: one of the next ones
    spyi_launch *launches[SPYI_GEOMETRIES]; // by use, the last one first; behind the last one made: NULL
    spy_call_options
        *repeated_options; // what calls that repeat one of them say, besides arguments; NULL: nothing
    spyi_variant **variants;
    uint32_t variant_count;
    uint64_t last_submit;     // batch of the last dispatch: kernels live until it has finished
    spyi_plan *chain;         // next of its bucket
    spyi_plan *newer, *older; // by use
    spyi_plan *retired;       // next of those that wait for the GPU
    // For recipes.
    uint64_t signature;   // spyi_recipe_signature(); 0: programs are not kept
    uint32_t value_count; // arguments
    uint32_t sized_from;  // where the sizes begin in the key that types were chosen by; 0: there are none
};

// plan.c
// A call leaves the device to compile, and comes back: it keeps its values, the tensors among them, its function and plans.
// false: out of memory, and the device has not been left.
typedef struct spyi_call_outside {
    spyi_outside outside;
    spyi_values *values; // the cache's, while the call is outside
} spyi_call_outside;
SPYI_FN bool spyi_call_step_out(spy_function *function, spyi_call_outside *o, const void *work,
                                const void *key, size_t key_size);
SPYI_FN void spyi_call_step_in(spy_function *function, spyi_call_outside *o);
// If another thread is making the same thing: waits until it has, outside of the device, and returns true.
SPYI_FN bool spyi_call_await(spy_function *function, const void *work, const void *key, size_t key_size);

// spyi_plan_create and spyi_variant_create are free of the device's changing state, so compile threads may run them.
SPYI_FN spy_status spyi_plan_create(spy_function *function, const spyi_values *values, spyi_plan **plan,
                                    spyi_text *error);

// A plan of the call that binds nothing yet; NULL: out of memory. And, once it is bound, its first launch; false: out of memory.
SPYI_FN spyi_plan *spyi_plan_new(spy_function *function, const spyi_values *values);
SPYI_FN bool spyi_plan_add_launch(spyi_plan *plan);
// Puts a new plan into the cache, with a redirect where types were chosen by sizes: `short_size` is that of the values' key
// without these. false: out of memory, and the plan has been released.
SPYI_FN bool spyi_plan_insert(spy_device *device, spyi_plan *plan, spyi_values *values, uint32_t short_size);

// The plan of a call, from the cache or built and inserted. May leave the device.
SPYI_FN spy_status spyi_plan_get(spy_function *function, spyi_values *values, spyi_plan **plan,
                                 spyi_text *error);

// Forgets how calls repeat the launch.
SPYI_FN void spyi_launch_forget(spy_device *device, spyi_launch *launch);
// Makes one of the plan's launches the running call's, and the last one used.
SPYI_FN void spyi_plan_use_launch(spyi_plan *plan, uint32_t index);
// Makes a launch the running call's that no call will repeat: an empty one, or else the one that was not used for longest.
SPYI_FN spyi_launch *spyi_plan_fresh_launch(spyi_plan *plan);

#define SPYI_CUDA_KERNEL_THREADS 64 // of a group, of plain functions too, where the caller does not say
// Whether the device can run a [CudaKernel]; false: `error` says why not.
SPYI_FN bool spyi_cuda_kernel_runs(const spy_function *function, spyi_text *error);

// variant.c
SPYI_FN spy_status spyi_variant_create(spyi_plan *plan, const spyi_variant_key *key,
                                       const spyi_values *values, spyi_variant **variant, spyi_text *error);
SPYI_FN void spyi_variant_free(spy_device *device, spyi_variant *variant);
// A copy of what a kernel is loaded from: its desc, whose code is the blob and goes over to the program, and what it prints. NULL:
// out of memory, and the blob has been freed.
SPYI_FN spyi_program *spyi_program_make(const spyi_kernel_desc *desc, spyi_text *blob,
                                        const spyi_literals *literals);
// A kernel of what was kept: nothing is compiled.
SPYI_FN spy_status spyi_program_load(spy_device *device, const spyi_program *program, spyi_kernel **kernel,
                                     spyi_text *error);
SPYI_FN void spyi_program_free(spyi_program *program); // NULL is fine
SPYI_FN spyi_variant *spyi_variant_find(const spyi_plan *plan, const spyi_variant_key *key);
SPYI_FN spy_status spyi_plan_add_variant(spyi_plan *plan, spyi_variant *variant, spyi_text *error);
// The variant that plan->launch names. *left: the device has been left meanwhile, and the launch must be worked out anew before
// the variant is asked for again. `stay`: compile within the device. SPY_ERROR_NOT_READY without a text: the plan is of
// code that a reload has replaced, and has no such variant.
SPYI_FN spy_status spyi_variant_get(spyi_plan *plan, const spyi_values *values, bool stay,
                                    spyi_variant **variant, bool *left, spyi_text *error);

// memory_access.c
// Fills accesses, untracked, and room for uses, once the inputs are bound. Returns false when out of memory.
SPYI_FN bool spyi_variant_find_accesses(const spyi_bound *bound, spyi_variant *variant);

// addresses.c
// Tells of each address among the parameters of the variant's dispatches: where it stands in the block, or in the uniform
// buffers' bytes, one buffer behind the other. It is 0, a number that the caller gave, or lies in memory that the dispatch uses.
SPYI_FN void spyi_variant_addresses(const spyi_plan *plan, const spyi_variant *variant,
                                    void (*visit)(void *user, bool in_uniforms, uint32_t offset), void *user);

// diagnose.c
// Rewrites the error of a kernel that does not compile when its cause is known and in the user's code; false: it is not.
SPYI_FN bool spyi_diagnose(const spy_function *function, spyi_text *error, spy_status *status);

#endif // SPYI_PLAN_PLAN_H
