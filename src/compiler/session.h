// The structs of compilers, units and their Slang sessions, and functions for all files that load them.
#ifndef SPYI_COMPILER_SESSION_H
#define SPYI_COMPILER_SESSION_H

#include "compiler/library.h"

// >>compilers, units and sessions

typedef struct spyi_sl_known { // One entry of a session's map from Slang's types to spyi_type.
    spyi_sl_type *slang;
    const spyi_type *type;
} spyi_sl_known;

// The state of a unit's loading. Files are read only then: kernels and fresh sessions are made from memory.
typedef struct spyi_sl_loading {
    spyi_unit *unit;
    spyi_text notes; // notes about files that exist and could not be used
} spyi_sl_loading;

// The file system that a session sees. `object` must stay the first member.
typedef struct spyi_sl_source_files {
    spyi_sl_files object;
    spyi_compiler *compiler;
    spyi_sl_session *session;
    spyi_sl_loading *loading; // NULL means that no unit is being loaded
    bool refused;             // libslang asked for a file while no unit was being loaded
} spyi_sl_source_files;

// A Slang session with a unit's modules. libslang's pointers into it are invalid once it is closed.
struct spyi_sl_live {
    spyi_sl_worker *worker;
    spyi_sl_live *next; // next in the worker's list of sessions to close
    spyi_sl_source_files files;
    // A kernel's import failed: the session must be replaced, as libslang would link NULL the next time.
    bool failed;
    spyi_sl_session *session;
    spyi_sl_module *module;    // the unit's own module
    spyi_sl_layout *layout;    // the module's layout, in which names are looked up
    spyi_sl_component **links; // modules of the linked units, owned by the session
    uint32_t link_count;
    spyi_sl_component **conformances; // the unit's conformances, released with the session
    uint32_t conformance_count;
    size_t kept_kib;      // an estimate of the KiB that queries and kernels have left in it
    spyi_sl_type **by_id; // Slang's types by spyi_type.id; NULL means that the type has not been looked up
                          // yet
    uint32_t by_id_count;
    spyi_sl_known *known; // a hash table with open addressing
    uint32_t known_count, known_capacity;
};

// One module in serialized form, from which a fresh session loads it without its text.
typedef struct spyi_sl_stored {
    char *name, *path;
    void *data;
    size_t size;
} spyi_sl_stored;

typedef struct spyi_code_target spyi_code_target; // declared in target.h

struct spyi_compiler {
    spyi_context *ctx;
    spyi_types *types;
    const spyi_rules *rules; // the target's layout rules
    const spyi_code_target *target;
    spyi_mend_func mend_text;
    char *library_path;
    char **library_paths;
    size_t library_path_count;
    char **include_paths;
    size_t include_path_count;
    const spyi_embedded *embedded;
    size_t embedded_count;
    bool print;
    spyi_atomic told_optimization; // 1 if the log already has a message that spirv-opt is missing
    char bounds_record[24];        // the address as a Slang literal; "" means that tensors do not check their
                                   // indices
    // Serialized form of each embedded module, filled when a unit first imports it: compiling it again takes
    // 100 ms.
    spyi_sl_stored *embedded_stored;
    uint64_t embedded_hash;         // a hash of the embedded modules' text
    struct spyi_store *store;       // the device's answers: its pack's or those on disk; NULL if there are
                                    // none
    bool packed, recording;         // `store` is a pack: it either takes libslang's place or is recorded
    spyi_atomic lacks;              // questions that the pack had no answer to
    const spyi_sl_library *library; // NULL until the first unit
    spyi_atomic unit_count; // the number of units that were made so far, which gives each unit its serial
    spy_file_hook hook;
    spyi_atomic loads;
    spyi_atomic code_hits, code_misses; // kernels whose code the store had, and kernels whose code it had not
};

// A file that a unit read or searched for. A changed stamp means that the unit has changed.
typedef struct spyi_sl_watched {
    char *path;
    uint64_t stamp; // the file's stamp before it was read; 0 means that there is no such file
} spyi_sl_watched;

struct spyi_unit {
    spyi_compiler *compiler;
    uint32_t serial;        // unique in the compiler
    spyi_atomic references; // the count of its owner and of the units that link it
    char *name, *path;
    char *given_name, *given_path; // copies of the desc's strings; NULL if not given
    char *appended;                // text behind the module's own; NULL if there is none
    spyi_text given;               // a copy of the desc's text or precompiled bytes
    bool has_given, precompiled;
    bool trusted; // precompiled modules are accepted without a seal
    // The unit's text may use visibility words; then declarations without `public` are not callable.
    bool has_visibility;
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
    spyi_inputs inputs;       // answer of spyi_unit_inputs()
    spyi_atomic inputs_asked; // 1 if inputs and inputs_known are filled and no longer change
    bool inputs_known;
    spyi_text cuda_kernels; // the names of the unit's [CudaKernel] functions, one on each line, if
                            // cuda_kernels_asked is set
    // For the unit's functions, one on each line: SPYI_NETWORK_NONE, _PLAIN or _DERIVED, and the function's name.
    spyi_text networks;
    bool cuda_kernels_asked; // cuda_kernels and networks are filled
    uint64_t *derivatives; // hashes of the derivative queries that were answered with yes
    uint32_t derivative_count;
    struct spyi_sl_nested *nested; // the functions and calls that nested.c has read from the unit's modules;
                                   // NULL if it has read none yet
    char **imports;                // the names of the module_count modules
    size_t module_count;           // the number of modules in the session just after loading the unit
    spyi_sl_stored *stored;        // these modules in serialized form, from which a fresh session is made
    size_t stored_count;
    // The unit's name in questions of memo.h: equal for units of equal text, imports and options. If it is
    // empty, the unit's answers are not kept on disk.
    spyi_text identity;
    spyi_sl_live *live; // NULL means that all answers so far have come from disk
};

#define SPYI_SL_FUNCTION(unit, name) ((unit)->compiler->library->name)

// >>compiler.c

SPYI_FN spy_status spyi_compiler_ready(spyi_compiler *c,
                                       spyi_text *error); // Opens the library unless it is open.
SPYI_FN char **spyi_sl_copy_strings(const char *const *strings, size_t count);
SPYI_FN void spyi_sl_free_strings(char **strings, size_t count);

// >>session.c

// Appends the folder of a path, without its last slash; "." if the path has none.
SPYI_FN void spyi_sl_folder(const char *path, spyi_text *out);

// Returns the unit's session, replaced by a fresh one when it has grown too large, has failed, or belongs to
// a lost worker. `kib` is the KiB that the coming query will leave in it. Returns NULL if the session is lost
// and no fresh one can be made.
SPYI_FN spyi_sl_live *spyi_sl_live_of(spyi_unit *unit, size_t kib);
SPYI_FN void spyi_sl_live_free(spyi_sl_live *live); // may only be called on the session's worker thread
// Calls loadModuleFromSourceString() so that the task's caller may leave. NULL means that the text does not
// compile.
SPYI_FN spyi_sl_module *spyi_sl_load_source(spyi_sl_session *session, const char *name, const char *path,
                                            const char *source, spyi_sl_blob **diagnostics);
// Opens a session with the unit's modules: from `content`, or, if that is NULL, from their serialized form.
// Returns NULL on failure; `messages` then says why.
SPYI_FN spyi_sl_live *spyi_sl_live_open(spyi_unit *unit, spyi_sl_loading *loading, spyi_text *content,
                                        spyi_text *messages);
SPYI_FN bool spyi_sl_is_loaded(spyi_sl_session *session, const char *name, spyi_sl_module **module);
// spyi_sl_store() keeps the modules of the unit's session in serialized form, spyi_sl_keep_embedded() those
// embedded modules that the compiler does not have yet.
SPYI_FN bool spyi_sl_store(spyi_unit *unit);
SPYI_FN void spyi_sl_keep_embedded(spyi_compiler *compiler, spyi_sl_session *session);
SPYI_FN void spyi_sl_stored_free(spyi_sl_stored *stored, size_t count);

// >>session_files.c

SPYI_FN void spyi_sl_files_open(spyi_sl_source_files *files, spyi_compiler *compiler,
                                spyi_sl_loading *loading);

// >>source.c: where text comes from

// Reads the file `path` by the file hook or from the disk. The unit being loaded (loading NULL means none)
// remembers the file and its stamp. Returns false when there is no such file. Threads: any; the hook is
// called on the thread that waits for the task.
SPYI_FN bool spyi_source_read(spyi_compiler *compiler, spyi_sl_loading *loading, const char *path,
                              spyi_text *out);
SPYI_FN bool spyi_source_has_visibility(const spyi_text *text);
// interfaces.c: writes to `out` the text with an attribute at each differentiable function that takes an
// interface, which libslang needs to differentiate it. Returns false and leaves `out` alone if the text has
// no such function.
SPYI_FN bool spyi_source_inline_interfaces(const spyi_text *source, spyi_text *out);
// Returns the position of the next code at or behind `p`: after white space, comments and quoted text.
SPYI_FN const char *spyi_skip_blank(const char *p);
SPYI_FN const char *spyi_skip_directive(const char *p); // returns the line after a preprocessor directive
// Returns the position behind the bracket that closes the one at `p`; NULL if there is none.
SPYI_FN const char *spyi_skip_brackets(const char *p, char open, char close);
// Returns whether `word` occurs in the code of `text` before `end`.
SPYI_FN bool spyi_has_word(const char *text, const char *end, const char *word, size_t length);
// Writes to `out` the text of the file `path` with the imports of those modules of slangpy's library that it
// names (library_names.c). Returns false and leaves `out` alone when nothing is to be added. `loading` NULL
// means that files that the text includes are not looked at.
SPYI_FN bool spyi_source_add_imports(spyi_compiler *compiler, spyi_sl_loading *loading, const char *path,
                                     const spyi_text *source, spyi_text *out);
// Replaces `text` by the text that libslang must read, with the changes of interfaces.c and library_names.c.
SPYI_FN void spyi_source_adapt(spyi_compiler *compiler, spyi_sl_loading *loading, const char *path,
                               spyi_text *text);
// Finds the unit's file `path`, also in the include paths: reads it into `out` and sets unit.path to the path
// where it was found.
SPYI_FN spy_status spyi_source_find(spyi_sl_loading *loading, const char *path, spyi_text *out,
                                    spyi_text *error);
SPYI_FN bool spyi_source_is_precompiled(const char *path); // returns whether the path ends in .slang-module
// Checks a precompiled module and removes its seal. Returns false when it is damaged, has no seal and is not
// `trusted`, or was written by another Slang version; `error` says which.
SPYI_FN bool spyi_source_unseal(const spyi_sl_library *library, spyi_sl_session *session, bool trusted,
                                spyi_text *bytes, spyi_text *error);
SPYI_FN void spyi_source_seal(spyi_text *bytes);
SPYI_FN void spyi_unit_unwatch(spyi_unit *unit); // forgets all watched files
// Takes the unit's current files as unchanged, and also watches those of `failed`, a unit whose reload failed
// (NULL if there is none).
SPYI_FN void spyi_unit_watch_too(spyi_unit *unit, spyi_unit *failed);

// >>options.c

enum { SPYI_SL_MOST_OPTIONS = 10 };
// Fills `out` with the options of every session and of this unit, and returns their number.
SPYI_FN uint32_t spyi_sl_options(const spyi_unit *unit, spyi_sl_option out[SPYI_SL_MOST_OPTIONS]);
SPYI_FN spyi_sl_option spyi_sl_int_option(int32_t name, int32_t value);
SPYI_FN spyi_sl_option spyi_sl_no_optimization(void); // returns an option for linkWithOptions()
// Checks that target and library support the unit's options. `notes` gets the options that have no effect.
SPYI_FN spy_status spyi_sl_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error);

#endif // SPYI_COMPILER_SESSION_H
