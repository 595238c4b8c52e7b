// Modules and functions, which a user loads and finds by name: their declarations, their reload, and work
// that needs their code while other threads use the device.
#ifndef SPYI_MODULE_H
#define SPYI_MODULE_H

#include "api/fuse.h"
#include "compiler/compiler.h"
#include "data/device.h"

typedef struct spyi_reflection spyi_reflection; // trees of declarations (reflect.c)

// The data of a module that fusion has made (src/fuse).
typedef struct spyi_fused {
    spyi_text text;          // the Slang text of the module
    spyi_text no_derivative; // the reason why its function has no derivative; empty means that it has one
    spyi_text summary;       // a description of the fused calls, for spy_explain_call()
    spy_fuse_reduction
        reduction; // the reduction of the function `whole`, for which the library calls the other functions
    spy_dims dims; // the dimensions that the reduction removes; none means all of them
    const spyi_type *type; // the type of the reduced value
    // Functions of the module for a reduction: one that gives an element, one that reduces elements, and one
    // that gives their gradients. NULL without a reduction; `seeded` is NULL also without a derivative.
    spy_function *element, *total, *seeded;
} spyi_fused;

struct spy_module {
    spyi_object object;
    spyi_unit *unit;
    spyi_reflection *reflection; // NULL until a user asks for it
    bool strict_broadcasting, zero_missing;
    char *name;
    spy_function *functions; // the functions found so far
    spy_module **link;       // the modules that its desc links, each retained
    size_t link_count;
    uint32_t generation; // the number of reloads so far
    bool reloading;      // the reload in progress replaces its code
    bool stale; // the module needs a reload: the last one failed, or it was loaded with code that a reload
                // replaced
    bool fixed; // the library made the module from another one, and makes it anew when that one is reloaded
    bool tried; // a reload of the module has failed since the last look at the files
    spyi_unit *fresh;  // the new code of the reload in progress
    spyi_fused *fused; // NULL means that the module is a user's
    uint32_t users;    // the number of threads outside of the device that use `unit`, which stays until they
                       // are back
    spy_module *previous, *next;
};

#define SPYI_RECENT_PLANS 4

// The declaration of one parameter by spy_declare().
typedef struct spyi_declaration {
    const char *name;  // NULL means that the argument is given by position
    uint32_t position; // the position among the arguments without a name
    const char *type;  // the same as in spy_arg; NULL means that no type is declared
    uint8_t map_count; // the same as spy_arg._map_count; 0 means no mapping
    int8_t map[SPY_MAX_RANK];
} spyi_declaration;

typedef struct spyi_declared { // one allocation together with all data that it points to
    spyi_declaration *items;
    uint32_t count;
} spyi_declared;

struct spy_function {
    spyi_object object;
    spy_module *module;
    char *name;
    spyi_declared *declared;  // the declarations; NULL if spy_find_function() found the function
    uint32_t id;              // a part of the plan key
    spyi_overloads overloads; // empty after a reload that removed the function
    spyi_entry entry;         // valid once entry_known is set
    bool entry_known;
    bool reduces; // the function ends in a reduction, so src/fuse makes its calls
    struct spyi_plan *recent[SPYI_RECENT_PLANS]; // plans that are tried before the cache's table, most recent
                                                 // first
    spy_function *next;
};

// A unit that is not needed any more and is to be released.
typedef struct spyi_dropped_unit {
    spyi_unit *unit;
    struct spyi_dropped_unit *next;
} spyi_dropped_unit;

// Functions to call when code changes; src/call gives them to the device. They run within the device and do
// not wait.
typedef struct spyi_code_listener {
    // Called before the function's code is freed or replaced.
    void (*forget)(spy_device *device, const spy_function *function);
    // Called after a reload: starts threads that compile the new code of prepared calls.
    void (*reloaded)(spy_device *device);
    void (*collect)(spy_device *device);        // takes over the results of compile threads
    bool (*renewing)(const spy_device *device); // returns whether a compile thread is still at work
} spyi_code_listener;

// >>outside.c
// spyi_step_out() leaves the device for work that does not need it; spyi_step_in() comes back. Other threads
// use the device meanwhile: only `module`, plans, and objects that the caller has retained itself are sure to
// stay. For linked modules the caller counts their `users` itself.
SPYI_FN void spyi_step_out(spy_device *device, spyi_outside *outside, spy_module *module);
// Like spyi_step_out(), to make the thing that `work` and the bytes at `key` identify: spyi_is_under_way()
// finds it meanwhile.
SPYI_FN void spyi_step_out_to_make(spy_device *device, spyi_outside *outside, spy_module *module,
                                   const void *work, const void *key, size_t key_size);
SPYI_FN void spyi_step_in(spy_device *device, spyi_outside *outside);
// spyi_outside_begin() and spyi_outside_end() mark the begin and the end of work outside of the device on
// another thread; both are called inside the device.
SPYI_FN void spyi_outside_begin(spy_device *device, spyi_outside *outside, spy_module *module);
SPYI_FN void spyi_outside_end(spy_device *device, spyi_outside *outside);
// Waits outside of the device until no thread makes what `work` and `key` identify.
SPYI_FN void spyi_await_work(spy_device *device, spy_module *module, const void *work, const void *key,
                             size_t key_size);
// Leaves the device until an event after `seen`, and comes back. `seen` is what spyi_turns_events() returned
// before the caller found that it must wait. The code and the plans of `module` stay meanwhile; it may be
// NULL.
SPYI_FN void spyi_await_outside(spy_device *device, spy_module *module, int32_t seen);
// Releases the unit now or later, without waiting.
SPYI_FN void spyi_drop_unit(spy_device *device, spyi_unit *unit);
// releases the units at once; NULL means that the list is empty
SPYI_FN void spyi_release_units(spyi_context *ctx, spyi_dropped_unit *dropped);

// >>module.c
SPYI_FN void spyi_modules_attach(spy_device *device);
SPYI_FN void spyi_modules_free_all(spy_device *device); // is called at the device's release
// Returns the compiler of a new device; NULL when out of memory. `bounds_record` is the device address of the
// record in which kernels note bad indices, or 0.
SPYI_FN spyi_compiler *spyi_compiler_for(spy_device *device, const spy_device_desc *desc,
                                         uint64_t bounds_record);
SPYI_FN void spyi_module_free(spy_module *module);
// Returns a module of the same text with one more macro and with `appended` behind it, which reloads leave
// alone. Leaves the device meanwhile. The caller releases the module. NULL means failure; `error` and *status
// then say why.
SPYI_FN spy_module *spyi_module_extend(spy_module *module, const spy_define *define, const char *appended,
                                       spy_status *status, spyi_text *error);
// Loads a module. On failure `error` has the reason, and nothing is reported. The caller has entered the
// device.
SPYI_FN spy_status spyi_module_load(spy_device *device, const spy_module_desc *desc, spy_module **out,
                                    spyi_text *error);
// Returns a finder of the types in a module's code, for spyi_differential(); with NULL it finds none.
SPYI_FN spyi_type_finder spyi_unit_finder(spyi_unit *unit);
// Returns a type by its name in the module; NULL means that there is none. Leaves the device meanwhile, since
// it may wait for the compiler.
SPYI_FN const spyi_type *spyi_module_type(spy_module *module, const char *name);
SPYI_FN void spyi_module_drop(spy_module *module); // releases one reference; the last one frees the module

// Returns the module's function with this name and these declarations (NULL means none), which it takes over
// when it makes the function. NULL means that the error has been reported under `function`.
SPYI_FN spy_function *spyi_function_of(spy_module *module, const char *name, spyi_declared *declared,
                                       const char *function);

// >>declared.c
// Returns the declaration for the argument of this name. For an argument without a name it returns that of
// this position among those without a name. NULL means that nothing is declared.
SPYI_FN const spyi_declaration *spyi_declaration_of(const spy_function *function, const char *name,
                                                    uint32_t position);
// Makes room for `count` declarations, none of which is there yet, and for `texts` bytes of their texts, in
// one allocation that the caller frees. *at becomes the place of the first text. Returns NULL when out of
// memory.
SPYI_FN spyi_declared *spyi_declared_new(size_t count, size_t texts, char **at);
// Returns the bytes that the texts of one declaration need.
SPYI_FN size_t spyi_declared_texts(const char *name, const char *type);
// Adds a declaration after the others. Copies its texts to *at, and moves that.
SPYI_FN void spyi_declared_add(spyi_declared *declared, char **at, const spyi_declaration *from);
SPYI_FN bool spyi_declared_equal(const spyi_declared *a, const spyi_declared *b);

// >>reflect.c
SPYI_FN void spyi_reflection_free(spyi_reflection *reflection); // takes NULL, too

// >>reload.c
typedef struct spyi_reload_job spyi_reload_job;
// Waits for the reload in progress and drops its code, when the device is released.
SPYI_FN void spyi_reload_abandon(spy_device *device);

#endif // SPYI_MODULE_H
