// What the files of this room share: the opened library, the thread that calls it, compilers, units and their live sessions.
// What takes a spyi_sl_live runs on the worker's thread, within spyi_sl_run() or spyi_sl_ask().
#ifndef SPYI_COMPILER_INTERNAL_H
#define SPYI_COMPILER_INTERNAL_H

#include "compiler/compiler.h"
#include "compiler/slang_abi.h"

// >>library.c: one opened library a process

#define SPYI_SL_POINTER(result, name, arguments) result(*name) arguments;
typedef struct spyi_sl_library {
    void *handle;       // stays open until the process ends: its statics own memory
    char *path;         // as it was opened
    char *version;      // "2026.14.1"
    int32_t fork_count; // of the process that opened it
    uint32_t users;     // compilers that hold it
    SPYI_SL_FUNCTIONS(SPYI_SL_POINTER)
} spyi_sl_library;
#undef SPYI_SL_POINTER

// Open the library and make its worker, or count one more user. The result is the same for all.
SPYI_FN spy_status spyi_sl_acquire(const char *path, const spyi_sl_library **library, spyi_text *error);
SPYI_FN void spyi_sl_release(void); // the last user's release ends the worker and its global session

// >>worker.c: the thread that calls libslang

typedef struct spyi_sl_worker spyi_sl_worker;
typedef struct spyi_sl_live spyi_sl_live;

// Under the global lock: has a worker with a global session, which is made if need be; false: it cannot be made.
SPYI_FN bool spyi_sl_worker_hire(const spyi_sl_library *library);
SPYI_FN void spyi_sl_worker_dismiss(void); // under the global lock, when no session is in use
SPYI_FN void spyi_sl_worker_forget(void);  // in a forked child, which has not its thread

// Runs func(context) on the worker's thread and waits for it; tasks of several threads take turns. `what` begins messages:
// "compile f". SPY_ERROR_INTERRUPTED and SPY_ERROR_TIMEOUT (see spy_device_desc), SPY_ERROR_NO_COMPILER, or SPY_ERROR_COMPILE
// for an exception of libslang's: the task did not end, and what it was to write is as it was or half written.
// error NULL: desc.interrupt is not asked, and a failure goes to the log.
// Cost: about 10 us beyond the task. On the worker's thread: func(context), at once.
SPYI_FN spy_status spyi_sl_run(spyi_compiler *compiler, const char *what, void (*func)(void *context),
                               void *context, spyi_text *error);
// The same with the unit's session, see spyi_sl_live_of().
SPYI_FN spy_status spyi_sl_ask(spyi_unit *unit, size_t kib, const char *what,
                               void (*func)(spyi_unit *unit, spyi_sl_live *live, void *context),
                               void *context, spyi_text *error);

// For tasks. Between these two the caller may leave: libslang must find all that it reads in memory that stays as it is. When
// it has left, spyi_sl_end_long() does not return.
SPYI_FN void spyi_sl_begin_long(void);
SPYI_FN void spyi_sl_end_long(void);
// For functions that libslang calls. false: the caller has left, and nothing of its memory may be touched.
SPYI_FN bool spyi_sl_come_back(bool *away);
SPYI_FN void spyi_sl_go_back(bool away);
// Runs func(context) on the thread that waits for the task, and waits for it. Elsewhere: func(context), at once.
SPYI_FN void spyi_sl_on_caller(void (*func)(void *context), void *context);
SPYI_FN spyi_sl_global *spyi_sl_global_session(void); // the worker's
// A session belongs to the worker that opened it, which alone may close it.
SPYI_FN void spyi_sl_live_opened(spyi_sl_live *live);
SPYI_FN void spyi_sl_live_ready(void); // its owner has it
SPYI_FN void spyi_sl_live_closed(spyi_sl_live *live);
SPYI_FN bool spyi_sl_live_is_lost(const spyi_sl_live *live); // it is another worker's
// Any thread; never waits. NULL: nothing.
SPYI_FN void spyi_sl_live_close(spyi_sl_live *live);

#define SPYI_SL_EMBEDDED_FOLDER                                                                              \
    "slangpy-embedded" // of the library's own modules, in which no file of the disk is

// >>diagnostics.c

SPYI_FN void spyi_sl_blob_free(spyi_sl_blob **blob); // and NULL
// Where the lines that diagnostics are about can be read: `content` is the text at `path`, other files are read again.
typedef struct spyi_sl_sources {
    spyi_compiler *compiler;
    const char *path;
    const spyi_text *content;
} spyi_sl_sources;
// The readable form of a diagnostics blob, appended; the blob is freed. `hidden`: a path whose locations are
// left out. `sources`: below each error and warning stand its line of source and a mark; NULL: they do not.
SPYI_FN void spyi_sl_diagnostics(spyi_sl_blob **blob, const char *hidden, const spyi_sl_sources *sources,
                                 spyi_text *out);

// >>session.c

typedef struct spyi_sl_known { // our type of a Slang type
    spyi_sl_type *slang;
    const spyi_type *type;
} spyi_sl_known;

// A unit that is being loaded. Files are read only then: what kernels and fresh sessions need is in memory.
typedef struct spyi_sl_loading {
    spyi_unit *unit;
    spyi_text notes; // about files that were there and could not be used
} spyi_sl_loading;

typedef struct spyi_sl_source_files { // the file system that a session sees; `object` is first
    spyi_sl_files object;
    spyi_compiler *compiler;
    spyi_sl_session *session;
    spyi_sl_loading *loading; // NULL: no unit is
    bool refused;             // a file was asked for while no unit was loaded
} spyi_sl_source_files;

// A session with a unit's modules. Pointers into it die with it.
struct spyi_sl_live {
    spyi_sl_worker *worker;
    spyi_sl_live *next; // of those that the worker is to close
    spyi_sl_source_files files;
    bool
        failed; // a kernel's import failed: libslang remembers it as if it had not, and links NULL the next time
    spyi_sl_session *session;
    spyi_sl_module *module;    // the unit's
    spyi_sl_layout *layout;    // of the module: where names are looked up
    spyi_sl_component **links; // modules of the linked units, borrowed
    uint32_t link_count;
    spyi_sl_component **conformances; // ours
    uint32_t conformance_count;
    size_t kept_kib;      // estimate of what queries and kernels have left in it
    spyi_sl_type **by_id; // Slang's types by spyi_type.id; NULL: not asked yet
    uint32_t by_id_count;
    spyi_sl_known *known; // open addressing
    uint32_t known_count, known_capacity;
};

// What a module was serialized to, so that a fresh session has it without its text.
typedef struct spyi_sl_stored {
    char *name, *path;
    void *data;
    size_t size;
} spyi_sl_stored;

struct spyi_compiler {
    spyi_context *ctx;
    spyi_types *types;
    spyi_target target;
    char *library_path;
    char **include_paths;
    size_t include_path_count;
    const spyi_embedded *embedded;
    size_t embedded_count;
    bool print;
    spyi_atomic told_optimization; // that spirv-opt is missing: once is enough
    char bounds_record[24];        // a literal; "": tensors do not check their indices
    spyi_sl_stored
        *embedded_stored; // one each, once a unit has imported it: compiling it again would take 100 ms
    const spyi_sl_library *library; // NULL until the first unit
    spyi_atomic unit_count;         // ever made
    spy_file_hook hook;
    spyi_atomic loads;
};

typedef struct spyi_sl_watched { // a file that a unit was made of, or would have been
    char *path;
    uint64_t stamp; // before it was read; 0: it was not there
} spyi_sl_watched;

struct spyi_unit {
    spyi_compiler *compiler;
    uint32_t serial;        // unique in the compiler
    spyi_atomic references; // its owner and the units that link it
    char *name, *path;
    char *given_name, *given_path; // as in the desc; NULL: not given
    spyi_text given;               // text or precompiled bytes of the desc
    bool has_given, precompiled;
    bool trusted;        // precompiled modules need no seal
    bool has_visibility; // its text may say what is public; then the rest is not
    char **conformances;
    size_t conformance_count;
    spy_compile_options options;
    spyi_sl_watched *watched;
    size_t watched_count;
    char **include_paths;
    size_t include_path_count;
    spy_define *defines;
    size_t define_count;
    spyi_unit **links;
    size_t link_count;
    spyi_inputs inputs;       // of spyi_unit_inputs(), once that was asked
    spyi_atomic inputs_asked; // 1: inputs and inputs_known stay as they are
    bool inputs_known;
    spyi_text cuda_kernels; // names of its [CudaKernel] functions, a line each, once that was asked
    bool cuda_kernels_asked;
    uint64_t *derivatives; // hashes of the queries after derivatives that there are
    uint32_t derivative_count;
    struct spyi_sl_nested *nested; // what nested.c has read of its modules; NULL: nothing yet
    char **imports;                // names of the modules below
    size_t module_count;           // modules that the session had when the unit was loaded
    spyi_sl_stored *stored;        // those: a fresh session is made of them
    size_t stored_count;
    spyi_sl_live *live; // never NULL after a successful load
};

// The unit's session, replaced by a fresh one when it has grown, has failed or is a lost worker's. `kib`: what the coming query
// will leave in it. NULL: there is none.
SPYI_FN spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib);
SPYI_FN void spyi_sl_live_free(spyi_sl_live *live); // on its worker's thread
// loadModuleFromSourceString(), which the caller of the task may leave. NULL: it does not compile.
SPYI_FN spyi_sl_module *spyi_sl_load_source(spyi_sl_session *session, const char *name, const char *path,
                                            const char *source, spyi_sl_blob **diagnostics);
#define SPYI_SL_FUNCTION(unit, name) ((unit)->compiler->library->name)

// >>source.c: where text comes from

// The contents of `path` from the hook or the disk; the unit being loaded (NULL: none is) remembers it. false: there is none.
// Threads: any; hooks are asked on the thread that waits for the task.
SPYI_FN bool spyi_source_read(spyi_compiler *compiler, spyi_sl_loading *loading, const char *path,
                              spyi_text *out);
SPYI_FN bool spyi_source_has_visibility(const spyi_text *text);
// interfaces.c: the text with an attribute at each differentiable function that takes an interface, which libslang needs to
// differentiate it; false: it has no such function, and `out` stays as it is.
SPYI_FN bool spyi_source_inline_interfaces(const spyi_text *source, spyi_text *out);
// The file that `path` means to the unit, which may lie in a search path: its contents to `out`, its place to unit.path.
SPYI_FN spy_status spyi_source_find(spyi_sl_loading *loading, const char *path, spyi_text *out,
                                    spyi_text *error);
SPYI_FN bool spyi_source_is_precompiled(const char *path); // by its ending
// Takes our seal off a precompiled module and checks it. false: damaged, without a seal and not `trusted`, or of another
// Slang; `error` says which.
SPYI_FN bool spyi_source_unseal(const spyi_sl_library *library, spyi_sl_session *session, bool trusted,
                                spyi_text *bytes, spyi_text *error);
SPYI_FN void spyi_source_seal(spyi_text *bytes);
SPYI_FN void spyi_unit_unwatch(spyi_unit *unit); // forgets all files
// Has the unit count as unchanged, and remember the files of an attempt that failed, or NULL.
SPYI_FN void spyi_unit_watch_too(spyi_unit *unit, spyi_unit *failed);

// >>options.c

enum { SPYI_SL_MOST_OPTIONS = 10 };
// Fills `out` with what every session has and what the unit asks for; gives their number.
SPYI_FN uint32_t spyi_sl_options(const spyi_unit *unit, spyi_sl_option out[SPYI_SL_MOST_OPTIONS]);
// Whether spirv-opt goes over the unit's code. Within a task.
SPYI_FN bool spyi_sl_optimizes(const spyi_unit *unit);
SPYI_FN spyi_sl_option spyi_sl_no_optimization(void); // for linkWithOptions()
// Whether target and library can do what the unit's options ask for; `notes`: what has no effect.
SPYI_FN spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error);

// >>code.c

// "Type : IInterface" or "Type : IInterface = id" as a part of programs; NULL: `messages` says why.
SPYI_FN spyi_sl_component *spyi_sl_conformance(spyi_unit *unit, spyi_sl_live *live, const char *text,
                                               spyi_text *messages);

// >>reflect.c

// Names that crash libslang's look-ups, or mean nothing, are stopped here.
SPYI_FN bool spyi_sl_name_is_safe(const char *name);
// The part after the last "::" or "." outside of <>; *prefix: bytes of what stands before that, 0: nothing does.
SPYI_FN const char *spyi_sl_last_part(const char *name, size_t *prefix);
SPYI_FN spyi_sl_type *spyi_sl_type_named(spyi_unit *unit, spyi_sl_live *live,
                                         const char *name); // NULL: there is none
SPYI_FN spyi_sl_type *spyi_sl_type_of(spyi_unit *unit, spyi_sl_live *live,
                                      const spyi_type *type); // NULL: unknown there
// Our type. `open`: it may depend on generic parameters, which have no layout.
SPYI_FN const spyi_type *spyi_sl_to_type(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang, bool open);
// Whether it is a structured, byte-address or typed buffer.
SPYI_FN bool spyi_sl_is_buffer(const spyi_sl_library *lib, spyi_sl_type *slang);
SPYI_FN bool spyi_sl_is_unsized(spyi_unit *unit, spyi_sl_type *slang); // T[]
// Has types that only a link completes known as without layout, before libslang is asked for one.
SPYI_FN void spyi_sl_note_externs(spyi_unit *unit, spyi_sl_live *live);
SPYI_FN void spyi_sl_full_name(spyi_unit *unit, spyi_sl_type *slang, spyi_text *out);
// The function or set of overloads of that name; NULL: there is none. *constructed: the struct whose constructors they are.
SPYI_FN spyi_sl_function *spyi_sl_find_function(spyi_unit *unit, spyi_sl_live *live, const char *name,
                                                spyi_sl_type **constructed);
// The type that stands before the last "::" or "."; NULL: none, or a namespace.
SPYI_FN spyi_sl_type *spyi_sl_owner(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Whether a function that was found by `name` is a method of an instance.
SPYI_FN bool spyi_sl_needs_instance(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                    const char *name);
// Whether one of the session's modules declares the function, or an overload; else it is of Slang's core module.
SPYI_FN bool spyi_sl_is_declared(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function);
SPYI_FN uint32_t spyi_sl_overload_count(spyi_unit *unit, spyi_sl_function *function);
SPYI_FN spyi_sl_function *spyi_sl_overload(spyi_unit *unit, spyi_sl_function *function, uint32_t index);
SPYI_FN void spyi_sl_to_signature(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                  const char *name, spyi_sl_type *constructed, bool specialised,
                                  spyi_signature *out);

// >>inputs.c and input_walk.c

// A shader parameter with its binding as Slang numbers it.
typedef struct spyi_sl_binding {
    uint32_t set, binding; // UINT32_MAX: none. SPYI_TARGET_CUDA: 0, and the uniform buffer's number
    uint32_t uniform_size; // of the uniform buffer that lies there, or holds it; 0: no such
    uint32_t count;        // buffers: of the array whose first element it is; 1: no array; 0: a later element
    const spyi_type *texel; // of typed buffers; else NULL
} spyi_sl_binding;

// All shader parameters of a linked program but the kernel's own block; false: out of memory. bindings[i] of inputs[i].
SPYI_FN bool spyi_sl_find_inputs(spyi_unit *unit, spyi_sl_live *live, spyi_sl_layout *layout,
                                 spyi_inputs *inputs, spyi_sl_binding **bindings);

// >>entry.c
// As spyi_unit_is_cuda_kernel(), within a task.
SPYI_FN bool spyi_sl_is_cuda_kernel(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Where the parameters of a linked program's entry point lie.
SPYI_FN void spyi_sl_entry_places(spyi_unit *unit, spyi_sl_component *linked, spyi_entry *out);

// >>resolve.c
// Whether the text compiles; else `out` gets Slang's messages. `what` becomes a part of its name. About 3 ms.
SPYI_FN bool spyi_sl_ask_source(spyi_unit *unit, const char *what, const spyi_text *source, spyi_text *out);

// >>nested.c

typedef struct spyi_sl_nested spyi_sl_nested;
SPYI_FN void spyi_sl_nested_free(spyi_sl_nested *nested); // and NULL
// Whether all functions that the derivative in a kernel goes through have one in its mode. The kernel's module is loaded;
// `source` is its text. false: `why` names the function and what to write.
SPYI_FN bool spyi_sl_nested_derivatives(spyi_unit *unit, spyi_sl_live *live, spyi_sl_module *kernel,
                                        const char *source, spyi_text *why);

// >>names.c

// Whether Slang added a function of that name: constructors, and derivatives beside each differentiable function.
SPYI_FN bool spyi_sl_is_synthesised(const char *name);

#endif // SPYI_COMPILER_INTERNAL_H
