// Compilers, units and their live sessions: what they are, and what the files that make and load them share.
#ifndef SPYI_COMPILER_SESSION_H
#define SPYI_COMPILER_SESSION_H

#include "compiler/library.h"

// >>compilers, units and sessions

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

typedef struct spyi_code_target spyi_code_target; // target.h

struct spyi_compiler {
    spyi_context *ctx;
    spyi_types *types;
    const spyi_rules *rules; // the target's
    const spyi_code_target *target;
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

#define SPYI_SL_FUNCTION(unit, name) ((unit)->compiler->library->name)

// >>compiler.c

SPYI_FN spy_status spyi_compiler_ready(spyi_compiler *c,
                                       spyi_text *error); // opens the library, if it is not yet
SPYI_FN char **spyi_sl_copy_strings(const char *const *strings, size_t count);
SPYI_FN void spyi_sl_free_strings(char **strings, size_t count);

// >>session.c

// The unit's session, replaced by a fresh one when it has grown, has failed or is a lost worker's. `kib`: what the coming query
// will leave in it. NULL: there is none.
SPYI_FN spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib);
SPYI_FN void spyi_sl_live_free(spyi_sl_live *live); // on its worker's thread
// loadModuleFromSourceString(), which the caller of the task may leave. NULL: it does not compile.
SPYI_FN spyi_sl_module *spyi_sl_load_source(spyi_sl_session *session, const char *name, const char *path,
                                            const char *source, spyi_sl_blob **diagnostics);
// A session with the unit's modules: from `content`, or from what is stored when that is NULL.
SPYI_FN spyi_sl_live *spyi_sl_live_open(spyi_unit *unit, spyi_sl_loading *loading, spyi_text *content,
                                        spyi_text *messages);
SPYI_FN bool spyi_sl_is_loaded(spyi_sl_session *session, const char *name, spyi_sl_module **module);
// Keeps what the unit's session has loaded; of the embedded modules what the compiler has not yet.
SPYI_FN bool spyi_sl_store(spyi_unit *unit);
SPYI_FN void spyi_sl_keep_embedded(spyi_compiler *compiler, spyi_sl_session *session);
SPYI_FN void spyi_sl_stored_free(spyi_sl_stored *stored, size_t count);

// >>session_files.c

SPYI_FN void spyi_sl_files_open(spyi_sl_source_files *files, spyi_compiler *compiler,
                                spyi_sl_loading *loading);

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
SPYI_FN spyi_sl_option spyi_sl_int_option(int32_t name, int32_t value);
SPYI_FN spyi_sl_option spyi_sl_no_optimization(void); // for linkWithOptions()
// Whether target and library can do what the unit's options ask for; `notes`: what has no effect.
SPYI_FN spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error);

#endif // SPYI_COMPILER_SESSION_H
