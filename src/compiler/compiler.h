// The interface of src/compiler, which loads modules, looks up types and functions, and compiles kernels with
// libslang. Later stages see the types of this header and never a Slang pointer.
//
// Each process has one thread that calls libslang and owns its global session (worker.c). Each device has one
// spyi_compiler, and each user module one spyi_unit. A unit keeps its modules in serialized form. Before its
// Slang session grows too large, a fresh one is loaded from that form, so units, types and signatures outlive
// sessions.
// Threads: any; a function that asks libslang waits for its turn and for the answer, about 10 us beyond
// libslang's own time. Loading and compiling end early with SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT (see
// spy_device_desc), and the device's blocking callback is called for each wait above 2 ms. When a function
// that returns no status is interrupted, it answers as if nothing was found, and the log says why.
#ifndef SPYI_COMPILER_H
#define SPYI_COMPILER_H

#include "api/reflect.h"
#include "data/literals.h"
#include "data/type.h"

typedef struct spyi_compiler spyi_compiler;
typedef struct spyi_unit spyi_unit;

// A Slang module that this library contains. `import name;` finds it where no file of that name exists.
typedef struct spyi_embedded {
    const char *name;
    const char *const *lines; // pieces of one or more lines each, without the last newline; ends with NULL
} spyi_embedded;

typedef struct spyi_compiler_desc {
    const char *library_path;         // desc.slang_library
    const char *const *library_paths; // desc.slang_paths
    size_t library_path_count;
    const char *const *include_paths;
    size_t include_path_count;
    spyi_target target;
    // For SPYI_TARGET_CUDA, the backend's `mend`; NULL means that code is left as Slang made it.
    spyi_mend_func mend_text;
    const spyi_embedded *embedded; // the compiler keeps this pointer and does not copy the modules
    size_t embedded_count;
    bool print; // whether print() of the module slangpy_print records; otherwise it does nothing
    // Tensors check their indices and record bad ones at this device address. 0 means that they do not.
    uint64_t bounds_record;
    spy_file_hook files;
} spyi_compiler_desc;

// Creates a compiler and copies the desc's strings. It is cheap: the first spyi_unit_load() opens the
// library.
SPYI_FN spyi_compiler *spyi_compiler_create(spyi_context *ctx, spyi_types *types,
                                            const spyi_compiler_desc *desc);
SPYI_FN void spyi_compiler_destroy(spyi_compiler *compiler); // every unit must be released before
// Returns how often this compiler opened the library: 0 or 1.
SPYI_FN uint64_t spyi_compiler_loads(const spyi_compiler *compiler);

// Makes this thread give way: its calls of libslang wait until other threads have made none for
// SPYI_SL_PATIENCE_NS, but at most SPYI_SL_LONGEST_PATIENCE_NS.
SPYI_FN void spyi_compile_patiently(void);

// Returns how many questions the device's pack has not answered so far; 0 without a pack.
SPYI_FN uint32_t spyi_compiler_lacks(spyi_compiler *compiler);

// Returns the number of kernels whose code was in the device's store, and the number that were compiled
// although there is a store.
SPYI_FN void spyi_compiler_counts(spyi_compiler *compiler, uint64_t *hits, uint64_t *misses);

// Appends the Slang version that kernels depend on, as "Slang 2026.14.1"; nothing when no library is open
// yet.
SPYI_FN void spyi_compiler_identity(const spyi_compiler *compiler, spyi_text *out);

// >>units
typedef struct spyi_unit_desc {
    const char *path;        // the path of the module's file, or NULL
    const char *source;      // the module's text; NULL means that it is read from `path`
    size_t source_size;      // the bytes of `source`; 0 means that `source` ends with a NUL
    const void *precompiled; // contents of a .slang-module file, or NULL
    size_t precompiled_size;
    const char *name; // the name to import the module by; NULL means that it is taken from `path`, or is
                      // "module"
    const char *const *include_paths;
    size_t include_path_count;
    const spy_define *defines;
    size_t define_count;
    spyi_unit *const *link;
    size_t link_count;
    const char *const *conformances; // "Type : IInterface" or "Type : IInterface = id"
    size_t conformance_count;
    bool trusted; // precompiled modules are accepted without a seal (source.c)
    spy_compile_options options;
    const char *appended; // further text behind the module's own; NULL if there is none
} spyi_unit_desc;

// Loads and checks a module. Failures: SPY_ERROR_COMPILE, and `error` gets the compiler's messages with file
// and line; SPY_ERROR_IO for a file that cannot be read; SPY_ERROR_NO_COMPILER, and `error` lists every path
// tried and the command that gets the library.
SPYI_FN spy_status spyi_unit_load(spyi_compiler *compiler, const spyi_unit_desc *desc, spyi_unit **unit,
                                  spyi_text *error);
SPYI_FN void spyi_unit_release(spyi_unit *unit);
// Returns the name by which generated code imports the module.
SPYI_FN const char *spyi_unit_name(const spyi_unit *unit);
// Returns the unit's number, which is unique in its compiler, unlike its address.
SPYI_FN uint32_t spyi_unit_serial(const spyi_unit *unit);
SPYI_FN const spy_compile_options *spyi_unit_options(const spyi_unit *unit);
// Fills a desc with the arguments of the spyi_unit_load() that made the unit, with other links; its memory is
// the unit's.
SPYI_FN void spyi_unit_describe(const spyi_unit *unit, spyi_unit *const *link, spyi_unit_desc *desc);
// Loads the unit again from its current files, linked to `link` instead of the units that it linked before.
// `source` is new text, or NULL; only a unit that was made from text keeps it for later reloads. On failure
// the old unit stays as it is, except that spyi_unit_changed() is false until its files change again.
SPYI_FN spy_status spyi_unit_reload(spyi_unit *unit, const char *source, spyi_unit *const *link,
                                    spyi_unit **fresh, spyi_text *error);
// Loads the unit's text once more, with one more macro, and with `appended` behind it. Fails as
// spyi_unit_load() does, and with SPY_ERROR_UNSUPPORTED for a precompiled module, which has no text.
SPYI_FN spy_status spyi_unit_extend(spyi_unit *unit, const spy_define *define, const char *appended,
                                    spyi_unit **extended, spyi_text *error);
// Releases `fresh`, the result of a reload (or NULL), and makes spyi_unit_changed() false until the unit's
// files change again.
SPYI_FN void spyi_unit_give_up(spyi_unit *unit, spyi_unit *fresh);
// Returns whether a file that the unit was made from has changed, or a file that it looked for in vain now
// exists.
SPYI_FN bool spyi_unit_changed(const spyi_unit *unit);
// Returns whether the unit read the file that `other` was loaded from.
SPYI_FN bool spyi_unit_reads(const spyi_unit *unit, const spyi_unit *other);
// Writes the module to `out` as the contents of a .slang-module file. Returns false when libslang cannot
// serialize it.
SPYI_FN bool spyi_unit_serialize(spyi_unit *unit, spyi_text *out);

// Returns the type of the `extern static const` called `name` in the unit or its imports; NULL when there is
// none.
SPYI_FN const spyi_type *spyi_unit_find_constant(spyi_unit *unit, const char *name);
// Returns whether the unit imports the module `name`, directly or through another module.
SPYI_FN bool spyi_unit_imports(const spyi_unit *unit, const char *name);

// >>types
SPYI_FN const spyi_type *spyi_unit_find_type(spyi_unit *unit, const char *name);

// >>functions
typedef struct spyi_param {
    const char *name;
    // The parameter's type. Its kind is OTHER for interfaces, resources and types that depend on generic
    // parameters.
    const spyi_type *type;
    bool in, out; // an `inout` parameter has both
    bool no_diff;
    bool has_default;
} spyi_param;

// How Slang code calls a function.
typedef enum spyi_callee {
    SPYI_CALLEE_FUNCTION,   // name(...); static methods too
    SPYI_CALLEE_METHOD,     // params[0].name(...): the first parameter is the instance, called "this"
    SPYI_CALLEE_CONSTRUCTOR // Type(...)
} spyi_callee;

// One overload of a function, or an overload specialised for argument types. The owner frees it by
// spyi_signature_free().
typedef struct spyi_signature {
    spyi_callee callee;
    char *spelling; // the text before the "(" of a call, without the instance
    char *display;  // the text for messages: "float saxpy(float a, float x, out float y)"
    spyi_param *params;
    uint32_t param_count;
    const spyi_type *result; // its kind may be VOID or OTHER
    bool generic;            // generic parameters are not yet known
    bool differentiable;
    bool built_in; // it is Slang's own function, beside a user's function of the same name
} spyi_signature;

typedef struct spyi_overloads {
    spyi_signature *items;
    uint32_t count;
    // A parameter is or contains a DifferentialPair<T>: a call must look at its tensors' gradients.
    bool takes_pairs;
} spyi_overloads;

// Finds all overloads of `name`: "f", "ns::f", "Type.method", "f<float,4>", or a struct's constructors as
// "Type", "Type.__init" or "Type.$init". out->count is 0 when there is none.
SPYI_FN spy_status spyi_unit_find_function(spyi_unit *unit, const char *name, spyi_overloads *out,
                                           spyi_text *error);
SPYI_FN void spyi_overloads_free(spyi_overloads *overloads);
SPYI_FN void spyi_signature_free(spyi_signature *signature);
// Appends up to three names in the module that are similar to `name`, as ", did you mean 'a', 'b'?"; nothing
// when none is similar. When the module declares `name` and Slang still does not find it, the text says that
// it is a word of the language.
SPYI_FN void spyi_unit_near_names(spyi_unit *unit, const char *name, spyi_text *out);

// Returns whether overload number `overload` of `name` accepts lvalues of exactly these types, and then fills
// `out` (freed by the caller) with the specialised signature: concrete parameter types and result. Lossy
// conversions are accepted, as Slang does; the caller ranks them (bind/). With overload -1 Slang chooses
// among all overloads, and *chosen is the number of its choice.
SPYI_FN bool spyi_unit_resolve(spyi_unit *unit, const char *name, int overload, const spyi_type *const *types,
                               uint32_t count, spyi_signature *out, int *chosen);
// Returns whether the function or constructor exists but kernels cannot call it: the module's text uses
// `public`, `module` or the like, and this declaration is not `public`. Cost: 3 ms in such a module.
SPYI_FN bool spyi_unit_is_private(spyi_unit *unit, const char *name);
// Appends Slang's own notes on why no overload takes arguments of these types. Cost: 3 ms; for error
// messages.
SPYI_FN void spyi_unit_explain(spyi_unit *unit, const char *name, const spyi_type *const *types,
                               uint32_t count, spyi_text *out);
// Returns whether bwd_diff (`backward`) or fwd_diff accepts the function; if not, `why` gets Slang's reason.
// Cost: 3 ms, only once for a function that has the derivative.
SPYI_FN bool spyi_unit_has_derivative(spyi_unit *unit, const spyi_signature *signature, bool backward,
                                      spyi_text *why);
// Returns whether `type` implements the interface `interface_name`.
SPYI_FN bool spyi_unit_conforms(spyi_unit *unit, const spyi_type *type, const char *interface_name);

// >>declarations: the tree of api/reflect.h, in memory of its own; it outlives the unit
typedef struct spyi_declarations spyi_declarations;
// Lists all declarations of the unit's module. Returns NULL when out of memory.
SPYI_FN spyi_declarations *spyi_unit_declare(spyi_unit *unit);
SPYI_FN void spyi_declarations_free(spyi_declarations *declarations);
SPYI_FN const spy_decl *spyi_declarations_root(const spyi_declarations *declarations);
// Returns a type's description, which lives as long as the tree. `unit` is the unit that was declared.
// Returns NULL when out of memory.
SPYI_FN const spy_type_info *spyi_declarations_type(spyi_declarations *declarations, spyi_unit *unit,
                                                    const spyi_type *type);

// >>entry points
#define SPYI_MOST_ENTRY_PARAMS 64

typedef struct spyi_entry {
    uint8_t stage;       // SPYI_STAGE_VERTEX, SPYI_STAGE_FRAGMENT, or 0 for compute
    uint32_t threads[3]; // [numthreads]; 0 means that the function has none and is no entry point
    bool cuda_kernel;    // the function is a [CudaKernel]: the caller says how many threads run
    uint8_t systems[SPYI_MOST_ENTRY_PARAMS];  // spyi_system of each parameter
    uint32_t offsets[SPYI_MOST_ENTRY_PARAMS]; // byte of each parameter in the block, known after compiling
    uint32_t block_size;
    uint32_t places[SPYI_MOST_ENTRY_PARAMS]; // the offsets of the parameters that take space in the block
    uint32_t place_count;
} spyi_entry;

// Returns whether the module declares the function as an entry point, by [shader(...)].
SPYI_FN bool spyi_unit_is_shader(spyi_unit *unit, const char *name);
// Returns whether the module declares the function as a [CudaKernel]. Cost: about 1 ms once a unit, for the
// module's IR as text.
SPYI_FN bool spyi_unit_is_cuda_kernel(spyi_unit *unit, const char *name);
// Returns whether the function of that name is nothing but a network of `import mlp;`: net.run(x). Returns
// false for a function with overloads; and with `backward`, where the program itself gives its derivative.
SPYI_FN bool spyi_unit_is_network(spyi_unit *unit, const char *name, bool backward);
// Describes the function as the entry point of a compute shader.
SPYI_FN void spyi_unit_entry(spyi_unit *unit, const char *name, spyi_entry *out);

// How a fragment shader's input is computed from the values of the triangle's corners.
typedef enum spyi_interpolation {
    SPYI_INTERPOLATION_PERSPECTIVE,
    SPYI_INTERPOLATION_FLAT,  // is `nointerpolation`: the value of the triangle's first corner
    SPYI_INTERPOLATION_LINEAR // is `noperspective`: the value is linear on the target
} spyi_interpolation;

// One input or output of a vertex or fragment shader.
typedef struct spyi_varying {
    char *name;     // the name of the struct's field or of the parameter; "" for a result
    char *semantic; // in upper case, without its number: "TEXCOORD"; "" if it has none
    uint32_t semantic_index;
    uint32_t location; // the first location; a matrix takes one for each row
    uint32_t param;    // the index of the parameter that is the input or contains it; UINT32_MAX means the
                       // result
    bool field;        // the input or output is a field of that parameter or of the result
    char *path;        // for a field: its path in the parameter or result, such as ".light.color";
                       // otherwise ""
    bool no_diff;      // the field is declared no_diff
    uint8_t interpolation; // the spyi_interpolation of a fragment shader's input
    const spyi_type *type;
} spyi_varying;

typedef struct spyi_varyings {
    spyi_varying *items;
    uint32_t count;
} spyi_varyings;

// A function of the module as a shader of one stage.
typedef struct spyi_stage {
    bool declared;                 // the function has [shader("vertex")] or [shader("fragment")]
    spy_stage other;               // if not declared, the stage that it has instead, or SPY_STAGE_NONE
    spyi_entry entry;              // its systems are SPYI_SYSTEM_VARYING for inputs and outputs
    spyi_varyings inputs, outputs; // inputs and outputs without SV_ values, but with SV_Target
    spyi_varyings system_inputs, system_outputs; // all other SV_ values
} spyi_stage;

// Describes the function as a shader of a stage, SPYI_STAGE_VERTEX or SPYI_STAGE_FRAGMENT. Returns false when
// the compiler did not answer or memory ran out, with the reason in `error`. spyi_stage_free() frees the
// description's memory.
SPYI_FN bool spyi_unit_stage(spyi_unit *unit, const char *name, uint8_t stage, spyi_stage *out,
                             spyi_text *error);
SPYI_FN void spyi_stage_free(spyi_stage *stage);
// Finds in a fragment shader's SPIR-V how its inputs are interpolated, which reflection does not tell. Inputs that the
// code does not have stay as they are.
SPYI_FN void spyi_code_interpolation(const uint32_t *words, size_t count, spyi_varyings *inputs);
// Moves the inputs of a vertex or fragment shader, so that two stages can share one interface: all of its
// push constants by `block` bytes, its first `binding_count` bindings by `bindings` numbers, and its uniform
// buffers, which come behind them, by `uniforms` numbers. `words` is changed in place.
SPYI_FN void spyi_code_move(uint32_t *words, size_t count, uint32_t block, uint32_t binding_count,
                            uint32_t bindings, uint32_t uniforms);

// >>shader parameters: what a kernel reads beyond its own block, both globals and parameters of its entry
// point

// A kernel declares its ConstantBuffer parameters as globals whose names begin with this prefix. As
// parameters of an entry point Slang would number the buffers in a ParameterBlock otherwise than it reports
// (2026.12 and 2026.14.1).
#define SPYI_HOLDER_PREFIX "spyi_h_"

typedef enum spyi_input_kind {
    SPYI_INPUT_GROUP, // a struct with resources in it or an array of resources; its members follow
    SPYI_INPUT_DATA,  // the bytes in a uniform buffer: plain data, a pointer, or a tensor of this library
    // A binding of its own: a structured, byte-address or typed buffer, a texture, a sampler, or an array's
    // element.
    SPYI_INPUT_BINDING,
    SPYI_INPUT_FOREIGN // not supported: acceleration structures; on CUDA typed buffers and textures
} spyi_input_kind;

typedef struct spyi_input {
    spyi_input_kind kind;
    char *path; // the input's path, such as "params.light"
    const spyi_type *type;
    int32_t slot; // Number among the bindings, or for DATA among the uniform buffers, from 0. -1 if not used.
    uint32_t offset; // DATA: byte offset in its uniform buffer
    bool parameter;  // the input belongs to the generated kernel, not to the user's modules
    // The kernel uses the input or a part of it. For DATA, the kernel reads a member of the uniform buffer
    // that overlaps the input.
    bool used;
    bool elements; // the input describes each element of the unsized array before it, "open[]"
} spyi_input;

#define SPYI_MOST_UNIFORMS 32

typedef struct spyi_inputs {
    spyi_input *items; // a list of inputs; a group stands before its members
    uint32_t count;
    uint32_t binding_count; // The number of bindings. The entry point's bindings come first in its order,
                            // used or not.
    // The kernel's parameters in the form that a backend needs; an array is one parameter.
    spyi_parameter parameters[SPYI_MOST_PARAMETERS];
    uint32_t parameter_count;
    uint32_t uniform_count;
    uint32_t uniform_size[SPYI_MOST_UNIFORMS]; // the bytes of each uniform buffer
    // CUDA: the place of each uniform buffer's address in the kernel's inputs.
    spyi_parameter_place uniform_place[SPYI_MOST_UNIFORMS];
} spyi_inputs;

SPYI_FN void spyi_inputs_free(spyi_inputs *inputs);
SPYI_FN bool spyi_inputs_unsized(const spyi_inputs *inputs); // returns whether an input is an unsized array
// Returns the global shader parameters of the unit and of all modules that it imports and links: paths and
// types, without slots and uses, which depend on a kernel. The list lives as long as the unit. NULL means
// that reflection failed.
SPYI_FN const spyi_inputs *spyi_unit_inputs(spyi_unit *unit);

// >>code

typedef struct spyi_code {
    void *data; // SPIR-V words for the driver (the language in OpSource set to 0), or CUDA text with its NUL.
    size_t size;
    size_t prelude_size;    // the bytes of Slang's prelude, with which CUDA text begins
    uint8_t hash[20];       // Slang's entry-point hash
    spyi_inputs inputs;     // The kernel's inputs. Their bindings in the code are in set 0, the uniform
                            // buffers last.
    spyi_literals literals; // strings of print(), when spyi_compiler_desc.print is set
    bool warned;            // the log has a warning about the code
} spyi_code;

// Types that values of an interface may have at run time, as "Circle : IShape", or "Circle : IShape = 3" with
// an id.
typedef struct spyi_conformances {
    char *const *items;
    uint32_t count;
} spyi_conformances;

// Compiles `source`, which imports the unit by its name, to the code of its entry point `entry`. The module
// is called `kernel_name` with a hash of the text. Layouts are scalar, matrices row-major, and the entry
// point keeps its name.
SPYI_FN spy_status spyi_unit_compile(spyi_unit *unit, const char *kernel_name, const char *source,
                                     const char *entry, spyi_conformances conformances, spyi_code *code,
                                     spyi_text *error);
// Does the same as spyi_unit_compile() for an `entry` that is a shader in the unit's own module; `source` is
// linked to it. Its stage is that of `own`. Fills the offsets in `own`.
SPYI_FN spy_status spyi_unit_compile_own(spyi_unit *unit, const char *kernel_name, const char *source,
                                         const char *entry, spyi_entry *own, spyi_conformances conformances,
                                         spyi_code *code, spyi_text *error);
SPYI_FN void spyi_code_free(spyi_code *code);
// Returns the SPY_FEATURE_* that SPIR-V code declares to need.
SPYI_FN uint32_t spyi_code_features(const spyi_code *code);
// For devices whose kernels name the formats of stored textures (spyi_profile.names_formats): names the
// formats that the code leaves open. formats[i]: the spy_format of the texture at binding i; 0 if there is
// none.
SPYI_FN spy_status spyi_code_name_formats(spyi_code *code, const uint8_t *formats, uint32_t count,
                                          spyi_text *error);

#endif // SPYI_COMPILER_H
