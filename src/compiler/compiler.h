// Everything that speaks to libslang, behind names and our own types: nothing above this room sees a Slang pointer.
//
// One thread a process calls libslang and has its global session (worker.c); per device one spyi_compiler with its target; per
// user module one spyi_unit. Sessions are replaced by fresh ones before they grow: a unit keeps its modules in serialized
// form and is loaded again out of that, so units, types and signatures outlive sessions.
// Threads: any; a function that asks libslang waits its turn and for the answer, about 10 us beyond libslang's own time. Loading
// and compiling end early with SPY_ERROR_INTERRUPTED or SPY_ERROR_TIMEOUT (see spy_device_desc), and the device's blocking
// callback is told of each wait above 2 ms. Questions without a status answer "no" then, and the log says why.
#ifndef SPYI_COMPILER_H
#define SPYI_COMPILER_H

#include "api/reflect.h"
#include "data/literals.h"
#include "data/type.h"

typedef struct spyi_compiler spyi_compiler;
typedef struct spyi_unit spyi_unit;

// A module of ours, found by `import name;` wherever no file of that name is.
typedef struct spyi_embedded {
    const char *name;
    const char *const *lines; // NULL at the end
} spyi_embedded;

typedef struct spyi_compiler_desc {
    const char *library_path; // desc.slang_library
    const char *const *include_paths;
    size_t include_path_count;
    spyi_target target;
    const spyi_embedded *embedded; // kept, not copied
    size_t embedded_count;
    bool print;             // slangpy_print's print() records; else it is empty
    uint64_t bounds_record; // tensors check their indices and note bad ones at this address; 0: they do not
    spy_file_hook files;
} spyi_compiler_desc;

// Cheap: the library is opened by the first spyi_unit_load. Strings are copied.
SPYI_FN spyi_compiler *spyi_compiler_create(spyi_context *ctx, spyi_types *types,
                                            const spyi_compiler_desc *desc);
SPYI_FN void spyi_compiler_destroy(spyi_compiler *compiler); // units first
SPYI_FN uint64_t
spyi_compiler_loads(const spyi_compiler *compiler); // times this compiler opened the library: 0 or 1

// What of the compiler's library kernels depend on: "Slang 2026.14.1". "": it has not been opened yet.
SPYI_FN void spyi_compiler_identity(const spyi_compiler *compiler, spyi_text *out);

// >>units
typedef struct spyi_unit_desc {
    const char *path;        // file, or NULL
    const char *source;      // text, or NULL: read from path
    size_t source_size;      // 0: to the NUL
    const void *precompiled; // a .slang-module file's contents, or NULL
    size_t precompiled_size;
    const char *name; // module name to import; NULL: from path, else "module"
    const char *const *include_paths;
    size_t include_path_count;
    const spy_define *defines;
    size_t define_count;
    spyi_unit *const *link;
    size_t link_count;
    const char *const *conformances; // "Type : IInterface" or "Type : IInterface = id"
    size_t conformance_count;
    bool trusted; // precompiled modules need no seal
    spy_compile_options options;
} spyi_unit_desc;

// Load and check a module. On failure SPY_ERROR_COMPILE and the compiler's text with file and line, SPY_ERROR_IO for a
// file that cannot be read, SPY_ERROR_NO_COMPILER with every place tried and the command that gets the library.
SPYI_FN spy_status spyi_unit_load(spyi_compiler *compiler, const spyi_unit_desc *desc, spyi_unit **unit,
                                  spyi_text *error);
SPYI_FN void spyi_unit_release(spyi_unit *unit);
SPYI_FN const char *spyi_unit_name(const spyi_unit *unit); // as generated code must import it
SPYI_FN uint32_t
spyi_unit_serial(const spyi_unit *unit); // tells a unit from one that was at its address before
SPYI_FN const spy_compile_options *spyi_unit_options(const spyi_unit *unit);
// The unit made again, out of what its files hold now, with `link` instead of the units that it links. `source`: new
// text, kept only by units that came from text, or NULL. A failure changes nothing, but that the unit no longer counts as changed until its files change again.
SPYI_FN spy_status spyi_unit_reload(spyi_unit *unit, const char *source, spyi_unit *const *link,
                                    spyi_unit **fresh, spyi_text *error);
// Drops what a reload made (NULL: nothing), and has the unit count as unchanged until its files change again.
SPYI_FN void spyi_unit_give_up(spyi_unit *unit, spyi_unit *fresh);
// Whether a file that the unit was made of, or one that was looked for in vain, is another one now.
SPYI_FN bool spyi_unit_changed(const spyi_unit *unit);
// Whether the unit was made of `other`'s own file.
SPYI_FN bool spyi_unit_reads(const spyi_unit *unit, const spyi_unit *other);
// The module in serialized form, as the contents of a .slang-module file. false: the compiler cannot.
SPYI_FN bool spyi_unit_serialize(spyi_unit *unit, spyi_text *out);

// The type of an `extern static const` of the unit or of a module that it has; NULL: there is none of that name.
SPYI_FN const spyi_type *spyi_unit_find_constant(spyi_unit *unit, const char *name);
SPYI_FN bool spyi_unit_imports(const spyi_unit *unit, const char *name); // itself, or through what it imports

// >>types: built-in or the module's own; names are sanitised first. NULL: there is none.
SPYI_FN const spyi_type *spyi_unit_find_type(spyi_unit *unit, const char *name);

// >>functions
typedef struct spyi_param {
    const char *name;
    const spyi_type
        *type;    // concrete type; kind OTHER for interfaces, resources and types that depend on generics
    bool in, out; // inout: both
    bool no_diff;
    bool has_default;
} spyi_param;

// How a function is called.
typedef enum spyi_callee {
    SPYI_CALLEE_FUNCTION,   // name(...): also static methods
    SPYI_CALLEE_METHOD,     // params[0].name(...): the instance comes first, as parameter "this"
    SPYI_CALLEE_CONSTRUCTOR // Type(...)
} spyi_callee;

// One overload, or what resolution made of it. Owned by whoever got it: spyi_signature_free.
typedef struct spyi_signature {
    spyi_callee callee;
    char *spelling; // what stands before the "(" in Slang code, after the instance of a method
    char *display;  // "float saxpy(float a, float x, out float y)" for messages
    spyi_param *params;
    uint32_t param_count;
    const spyi_type *result; // VOID, concrete, or OTHER
    bool generic;            // parameters are still open
    bool differentiable;
    bool built_in; // one of Slang's own beside the user's of the same name
} spyi_signature;

typedef struct spyi_overloads {
    spyi_signature *items;
    uint32_t count;
    bool
        takes_pairs; // some parameter is or holds a DifferentialPair<T>: calls look at the gradients of their tensors
} spyi_overloads;

// All overloads of "f", "ns::f", "Type.method", "f<float,4>", and the constructors of a struct as "Type", "Type.__init" or
// "Type.$init". count 0 when there is none.
SPYI_FN spy_status spyi_unit_find_function(spyi_unit *unit, const char *name, spyi_overloads *out,
                                           spyi_text *error);
SPYI_FN void spyi_overloads_free(spyi_overloads *overloads);
SPYI_FN void spyi_signature_free(spyi_signature *signature);
// Up to three names of the module nearest to `name`, as ", did you mean 'a', 'b'?"; nothing when none is near. When the
// module declares that very name, which Slang does not find, it says that the name is a word of the language.
SPYI_FN void spyi_unit_near_names(spyi_unit *unit, const char *name, spyi_text *out);

// Does overload number `overload` of `name` accept lvalues of exactly these types? Fills `out` (to be freed) with the
// specialised signature: concrete parameter types and result. false: no. Lossy conversions are accepted here, as Slang
// accepts them; ranking is the caller's (bind/). overload -1: Slang chooses in the whole set; *chosen tells which.
SPYI_FN bool spyi_unit_resolve(spyi_unit *unit, const char *name, int overload, const spyi_type *const *types,
                               uint32_t count, spyi_signature *out, int *chosen);
// Whether the function or constructor exists, but may not be called from another module, as a kernel is one: the
// module's text uses `public` or `module`, and this declaration is not `public`. Slow (3 ms) in such modules.
SPYI_FN bool spyi_unit_is_private(spyi_unit *unit, const char *name);
// Why not: Slang's own candidate notes for a call with arguments of these types. Slow (3 ms), for error texts.
SPYI_FN void spyi_unit_explain(spyi_unit *unit, const char *name, const spyi_type *const *types,
                               uint32_t count, spyi_text *out);
// Whether bwd_diff, or fwd_diff, takes a function; else `why` gets Slang's reason. Slow (3 ms) at first; a yes is kept.
SPYI_FN bool spyi_unit_has_derivative(spyi_unit *unit, const spyi_signature *signature, bool backward,
                                      spyi_text *why);
// Whether `type` implements interface `interface_name`.
SPYI_FN bool spyi_unit_conforms(spyi_unit *unit, const spyi_type *type, const char *interface_name);

// >>declarations: the tree of api/reflect.h, in memory of its own; it outlives the unit
typedef struct spyi_declarations spyi_declarations;
// NULL: out of memory.
SPYI_FN spyi_declarations *spyi_unit_declare(spyi_unit *unit);
SPYI_FN void spyi_declarations_free(spyi_declarations *declarations);
SPYI_FN const spy_decl *spyi_declarations_root(const spyi_declarations *declarations);
// A type in the tree's memory; `unit` is the one that was declared. NULL: out of memory.
SPYI_FN const spy_type_info *spyi_declarations_type(spyi_declarations *declarations, spyi_unit *unit,
                                                    const spyi_type *type);

// >>entry points
#define SPYI_MOST_ENTRY_PARAMS 64

typedef struct spyi_entry {
    uint32_t threads[3];                      // [numthreads]; 0: it has none, and is a plain function
    bool cuda_kernel;                         // it is a [CudaKernel]: the caller says its threads
    uint8_t systems[SPYI_MOST_ENTRY_PARAMS];  // by parameter: spyi_system
    uint32_t offsets[SPYI_MOST_ENTRY_PARAMS]; // by parameter, once compiled: byte of its block
    uint32_t block_size;
    uint32_t places[SPYI_MOST_ENTRY_PARAMS]; // offsets of those that lie in the block
    uint32_t place_count;
} spyi_entry;

// Whether the module declares the function as an entry point, by [shader(...)].
SPYI_FN bool spyi_unit_is_shader(spyi_unit *unit, const char *name);
// Whether the module declares the function as a [CudaKernel]. Cost: the module's IR as text, once; about a millisecond.
SPYI_FN bool spyi_unit_is_cuda_kernel(spyi_unit *unit, const char *name);
// The function of that name, seen as a compute shader.
SPYI_FN void spyi_unit_entry(spyi_unit *unit, const char *name, spyi_entry *out);

// >>shader parameters: what a kernel reads beyond its own block, global ones and those of its entry point

// ConstantBuffers that are parameters are globals of the kernel whose names begin so: as parameters of its entry point
// Slang numbers the buffers in a ParameterBlock otherwise than it says (2026.12 and 2026.14.1).
#define SPYI_HOLDER_PREFIX "spyi_h_"

typedef enum spyi_input_kind {
    SPYI_INPUT_GROUP,  // its parts follow: a struct with buffers in it, or an array of buffers
    SPYI_INPUT_DATA,   // bytes of a uniform buffer: plain data, a pointer, a tensor of the library
    SPYI_INPUT_BUFFER, // a binding: structured, byte-address and typed buffers, elements of arrays of them
    SPYI_INPUT_FOREIGN // what cannot be given yet: textures, samplers
} spyi_input_kind;

typedef struct spyi_input {
    spyi_input_kind kind;
    char *path; // "params.light"
    const spyi_type *type;
    int32_t slot;    // binding: buffers count from 0, uniform buffers too; -1: the kernel does not use it
    uint32_t offset; // DATA: bytes in its uniform buffer
    bool parameter;  // of the kernel, not of the user's modules
    bool used;       // by the kernel, or something of it; DATA: the members of the uniform buffer tell
    bool elements;   // stands for those of the unsized array before it, "open[]"
} spyi_input;

#define SPYI_MOST_UNIFORMS 32

typedef struct spyi_inputs {
    spyi_input *items; // a group before its parts
    uint32_t count;
    uint32_t binding_count; // buffers; the entry point's come first, in its order, used or not
    spyi_parameter parameters[SPYI_MOST_PARAMETERS]; // what they are, arrays as one
    uint32_t parameter_count;
    uint32_t uniform_count;
    uint32_t uniform_size[SPYI_MOST_UNIFORMS];              // bytes
    spyi_parameter_place uniform_place[SPYI_MOST_UNIFORMS]; // where buffers are found by address
} spyi_inputs;

SPYI_FN void spyi_inputs_free(spyi_inputs *inputs);
SPYI_FN bool spyi_inputs_unsized(const spyi_inputs *inputs); // whether one of them is T[]
// The global shader parameters of the unit and all that it imports and links: paths and types, before there is a kernel to
// say slots and uses. Lives as long as the unit. NULL: reflection cannot tell.
SPYI_FN const spyi_inputs *spyi_unit_inputs(spyi_unit *unit);

// >>code

typedef struct spyi_code {
    void *
        data; // SPIR-V words, ready for the driver (OpSource language patched to 0); or CUDA text with its NUL
    size_t size;
    size_t prelude_size;    // of the text: Slang's prelude, with which it begins
    uint8_t hash[20];       // Slang's entry-point hash
    spyi_inputs inputs;     // its bindings in the code: set 0, uniform buffers last
    spyi_literals literals; // when the compiler's print is on
} spyi_code;

// A type that values of an interface may have at run time: "Circle : IShape", or "Circle : IShape = 3" with its number.
typedef struct spyi_conformances {
    char *const *items;
    uint32_t count;
} spyi_conformances;

// Compile `source` (which imports the unit by its name; module name `kernel_name` is made unique inside) and give the code
// of its entry point `entry`. Scalar layout, row-major matrices, entry point keeps its name.
SPYI_FN spy_status spyi_unit_compile(spyi_unit *unit, const char *kernel_name, const char *source,
                                     const char *entry, spyi_conformances conformances, spyi_code *code,
                                     spyi_text *error);
// As spyi_unit_compile(), with the unit's own shader `entry` as entry point; fills own's places. `source` is linked to it.
SPYI_FN spy_status spyi_unit_compile_own(spyi_unit *unit, const char *kernel_name, const char *source,
                                         const char *entry, spyi_entry *own, spyi_conformances conformances,
                                         spyi_code *code, spyi_text *error);
SPYI_FN void spyi_code_free(spyi_code *code);

#endif // SPYI_COMPILER_H
