// What a user loads and finds by name: modules and functions, their declarations, new code for living ones, and work outside of
// the device that needs their code.
#ifndef SPYI_MODULE_H
#define SPYI_MODULE_H

#include "compiler/compiler.h"
#include "data/device.h"

typedef struct spyi_reflection spyi_reflection; // reflect.c: trees of declarations

struct spy_module {
    spyi_object object;
    spyi_unit *unit;
    spyi_reflection *reflection; // NULL until asked for
    bool strict_broadcasting;
    char *name;
    spy_function *functions; // found so far
    spy_module **link;       // retained
    size_t link_count;
    uint32_t generation; // reloads so far
    bool reloading;      // one of those that the reload under way replaces
    bool stale;          // its last reload failed: its files are newer than its code
    bool tried;          // ... in the poll under way
    spyi_unit *fresh;    // what it will have then
    uint32_t users; // threads outside of the device that work with its unit: it stays until they are back
    spy_module *previous, *next;
};

#define SPYI_RECENT_PLANS 4

struct spy_function {
    spyi_object object;
    spy_module *module;
    char *name;
    uint32_t id;              // part of the plan key
    spyi_overloads overloads; // none: gone with a reload
    spyi_entry entry;         // once it has been dispatched
    bool entry_known;
    struct spyi_plan *recent[SPYI_RECENT_PLANS]; // tried before the table, most recent first
    spy_function *next;
};

typedef struct spyi_dropped_unit {
    spyi_unit *unit;
    struct spyi_dropped_unit *next;
} spyi_dropped_unit;

// Who is told of changes of code; call/ gives it to the device. All within the device, without waiting.
typedef struct spyi_code_listener {
    void (*forget)(spy_device *device, const spy_function *function); // its code goes, or is replaced
    void (*reloaded)(
        spy_device *device);             // after a reload: has threads compile the new code of prepared calls
    void (*collect)(spy_device *device); // takes over what threads have finished
    bool (*renewing)(const spy_device *device); // a thread compiles new code
} spyi_code_listener;

// >>outside.c
// Leaves the device for work that does not need it, and comes back. Nothing that other threads may change or free can be
// relied on in between but the module, plans, and what the caller has retained itself. Linked modules are
// counted in their `users` by the caller.
SPYI_FN void spyi_step_out(spy_device *device, spyi_outside *outside, spy_module *module);
// Likewise, to make what `work` and the bytes at `key` stand for: spyi_is_under_way() finds it meanwhile.
SPYI_FN void spyi_step_out_to_make(spy_device *device, spyi_outside *outside, spy_module *module,
                                   const void *work, const void *key, size_t key_size);
SPYI_FN void spyi_step_in(spy_device *device, spyi_outside *outside);
// The two halves of that, for work on another thread: both inside the device.
SPYI_FN void spyi_outside_begin(spy_device *device, spyi_outside *outside, spy_module *module);
SPYI_FN void spyi_outside_end(spy_device *device, spyi_outside *outside);
// Waits outside of the device until no thread makes it.
SPYI_FN void spyi_await_work(spy_device *device, spy_module *module, const void *work, const void *key,
                             size_t key_size);
// Leaves the device until something of it has changed, and comes back. `seen`: spyi_turns_events() from before the caller
// found that it must wait. The code and the plans of `module` stay meanwhile; it may be NULL.
SPYI_FN void spyi_await_outside(spy_device *device, spy_module *module, int32_t seen);
SPYI_FN void spyi_drop_unit(spy_device *device,
                            spyi_unit *unit); // releases it, now or later, without waiting
SPYI_FN void spyi_release_units(spyi_context *ctx, spyi_dropped_unit *dropped); // these, now; NULL: none

// >>module.c
SPYI_FN void spyi_modules_attach(spy_device *device);
SPYI_FN void spyi_modules_free_all(spy_device *device); // at the device's release
// The compiler of a new device; `bounds_record`: where kernels note bad indices, or 0. NULL: out of memory.
SPYI_FN spyi_compiler *spyi_compiler_for(spy_device *device, const spy_device_desc *desc,
                                         uint64_t bounds_record);
SPYI_FN void spyi_module_free(spy_module *module);
// The types of a module's code, for spyi_differential(); NULL: none.
SPYI_FN spyi_type_finder spyi_unit_finder(spyi_unit *unit);
// A type by its name in the module; NULL: there is none. Leaves the device meanwhile, as it may wait for the compiler.
SPYI_FN const spyi_type *spyi_module_type(spy_module *module, const char *name);
SPYI_FN void spyi_module_drop(spy_module *module); // one reference less; frees it at the last

// >>reflect.c
SPYI_FN void spyi_reflection_free(spyi_reflection *reflection); // NULL is fine

// >>reload.c
typedef struct spyi_reload_job spyi_reload_job;
SPYI_FN void spyi_reload_abandon(
    spy_device *device); // waits for what compiles, and forgets it; the device goes

#endif // SPYI_MODULE_H
