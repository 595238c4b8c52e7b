// Modules and functions, which a user loads and finds by name.
#include "base/store.h"
#include "module/module.h"

#include "slang/embed.h"

// The library's own Slang files: the one that `import slangpy;` finds, and those that it includes.
static const spyi_embedded spyi_slang_files[] = { SPYI_SLANG_FILES };

// >>the device's modules

static void spyi_module_release(spyi_object *object) {
    spyi_module_free((spy_module *)(void *)object);
}

static spyi_object *spyi_function_owner(const spyi_object *object) {
    return &((const spy_function *)(const void *)object)->module->object;
}

static const spyi_type *spyi_find_module_type(void *module, const char *name) {
    return spyi_module_type((spy_module *)module, name);
}

static const char *spyi_module_name(const spy_module *module) {
    return module->name;
}

SPYI_FN void spyi_modules_attach(spy_device *device) {
    static const spyi_object_table modules = { spyi_module_release, NULL };
    static const spyi_object_table functions = { NULL, spyi_function_owner }; // functions are freed with
                                                                              // their module
    static const spyi_module_table table = { spyi_find_module_type, spyi_module_name };
    device->ctx.tables[SPYI_KIND_MODULE - SPYI_KIND_DEVICE] = &modules;
    device->ctx.tables[SPYI_KIND_FUNCTION - SPYI_KIND_DEVICE] = &functions;
    device->modules_of = &table;
}

SPYI_FN spyi_compiler *spyi_compiler_for(spy_device *device, const spy_device_desc *desc,
                                         uint64_t bounds_record) {
    spyi_compiler_desc compiler;
    memset(&compiler, 0, sizeof compiler);
    compiler.library_path = desc->slang_library;
    compiler.library_paths = desc->slang_paths;
    compiler.library_path_count = desc->slang_path_count;
    compiler.include_paths = desc->include_paths;
    compiler.include_path_count = desc->include_path_count;
    compiler.target = device->base->limits.profile.target;
    compiler.mend_text = device->backend->mend;
    compiler.print = desc->enable_print;
    compiler.bounds_record = bounds_record;
    compiler.files = desc->files;
    if (SPYI_HAS_COMPILER) {
        compiler.embedded = spyi_slang_files;
        compiler.embedded_count = sizeof spyi_slang_files / sizeof spyi_slang_files[0];
    }
    return spyi_compiler_create(&device->ctx, device->types, &compiler);
}

SPYI_FN void spyi_modules_free_all(spy_device *device) {
    while (device->modules)
        spyi_module_free(device->modules); // the newest is freed first: a module before those that it links
    spyi_release_units(&device->ctx, device->dropped_units);
    device->dropped_units = NULL;
}

static const spyi_type *spyi_find_unit_type(void *unit, const char *name) {
    return spyi_unit_find_type((spyi_unit *)unit, name);
}

SPYI_FN spyi_type_finder spyi_unit_finder(spyi_unit *unit) {
    spyi_type_finder finder = { spyi_find_unit_type, unit };
    return finder;
}

// >>modules

SPYI_FN void spyi_module_free(spy_module *module) {
    spy_device *device = module->object.device;
    spyi_context *ctx = &device->ctx;
    if (module->previous) module->previous->next = module->next;
    else device->modules = module->next;
    if (module->next) module->next->previous = module->previous;
    while (module->functions) {
        spy_function *function = module->functions;
        module->functions = function->next;
        device->listener->forget(device, function);
        spyi_overloads_free(&function->overloads);
        free(function->declared);
        free(function->name);
        spyi_retire_object(device, &function->object, sizeof *function);
    }
    spyi_reflection_free(module->reflection);
    if (module->fused) {
        spyi_text_free(&module->fused->text);
        spyi_text_free(&module->fused->no_derivative);
        spyi_text_free(&module->fused->summary);
        free(module->fused);
    }
    if (module->unit) spyi_drop_unit(device, module->unit);
    for (size_t i = 0; i < module->link_count; i++) spyi_module_drop(module->link[i]);
    spyi_free(ctx, module->link, module->link_count * sizeof *module->link);
    free(module->name);
    spyi_retire_object(device, &module->object, sizeof *module);
}

SPYI_FN void spyi_module_drop(spy_module *module) {
    if (spyi_atomic_add(&module->object.references, -1) == 0) spyi_module_free(module);
}

static spy_status spyi_check_module_desc(spy_device *device, const char *function,
                                         const spy_module_desc *desc) {
    spyi_context *ctx = &device->ctx;
    const char *problem = SPYI_DESC_PROBLEM(spy_module_desc, desc);
    if (!desc) return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a desc, got NULL", function);
    if (problem) return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc: %s", function, problem);
    bool packed = desc->name && spyi_store_pack(device->ctx.pack); // a pack knows modules by their names
    if (!(desc->path && desc->path[0]) && !desc->source && !desc->precompiled && !packed)
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: desc has neither path nor source nor precompiled", function);
    if (desc->precompiled && (desc->source || !desc->precompiled_size_bytes))
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: desc.precompiled %s", function,
                         desc->source ? "and desc.source are both given" : "has precompiled_size_bytes 0");
    if (desc->conformance_count && !desc->conformances)
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: desc.conformance_count is %zu, conformances is NULL", function,
                         desc->conformance_count);
    for (size_t i = 0; i < desc->conformance_count; i++)
        if (!desc->conformances[i] || !strchr(desc->conformances[i], ':'))
            return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: desc.conformances[%zu] must be written as \"Type : IInterface\"", function,
                             i);
    if ((desc->include_path_count && !desc->include_paths) || (desc->define_count && !desc->defines))
        return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                         "%s: desc counts %zu include paths and %zu defines; a list is NULL", function,
                         desc->include_path_count, desc->define_count);
    for (size_t i = 0; i < desc->include_path_count; i++)
        if (!desc->include_paths[i])
            return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: desc.include_paths[%zu]: expected a folder's path, got NULL", function, i);
    for (size_t i = 0; i < desc->define_count; i++)
        if (!spyi_is_identifier(desc->defines[i].name))
            return spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                             "%s: desc.defines[%zu].name: expected an identifier, got %s%s%s", function, i,
                             desc->defines[i].name ? "'" : "",
                             desc->defines[i].name ? desc->defines[i].name : "NULL",
                             desc->defines[i].name ? "'" : "");
    for (size_t i = 0; i < desc->link_count; i++) {
        const spy_module *linked = desc->link ? desc->link[i] : NULL;
        if (!spyi_is_on(device, linked, SPYI_KIND_MODULE)) {
            char name[48];
            snprintf(name, sizeof name, "desc.link[%zu]", i);
            return spyi_refuse_member(device, linked, SPYI_KIND_MODULE, function, name);
        }
    }
    return SPY_OK;
}

// Kernels import modules of the library by these names. Modules such as `mlp`, which only the user imports, may be
// the user's own.
static spy_status spyi_check_module_name(const char *name, spyi_text *error) {
    for (size_t i = 0; i < sizeof spyi_slang_files / sizeof *spyi_slang_files; i++) {
        if (strncmp(name, "slangpy", 7) != 0 || strcmp(name, spyi_slang_files[i].name) != 0) continue;
        spyi_text_add(
            error,
            "module '%s' has the name of a module of the library's own, which kernels import; give another",
            name);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_module_load(spy_device *device, const spy_module_desc *desc, spy_module **out,
                                    spyi_text *error) {
    spyi_context *ctx = &device->ctx;
    uint32_t failed = spyi_failed_allocations();
    size_t n = desc->link_count;
    *out = NULL;
    spy_module *module = (spy_module *)spyi_allocate(ctx, sizeof *module);
    if (module && n) module->link = (spy_module **)spyi_allocate(ctx, n * sizeof *module->link);
    spyi_unit **link = (spyi_unit **)spyi_malloc((n + 1) * sizeof *link);
    if (!module || (n && !module->link) || !link) {
        if (module) spyi_free(ctx, module->link, n * sizeof *module->link);
        spyi_free(ctx, module, sizeof *module);
        free(link);
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < desc->link_count; i++) {
        module->link[i] = desc->link[i];
        link[i] = desc->link[i]->unit;
        spyi_atomic_add(&desc->link[i]->object.references, 1);
    }
    module->link_count = desc->link_count;
    module->object.kind = (uint32_t)SPYI_KIND_MODULE;
    module->object.device = device;
    spyi_atomic_store(&module->object.references, 1);
    module->strict_broadcasting = desc->strict_broadcasting;
    module->zero_missing = desc->zero_missing;
    spyi_unit_desc unit;
    memset(&unit, 0, sizeof unit);
    unit.path = desc->path;
    unit.source = desc->source;
    unit.source_size = desc->source_size_bytes;
    unit.precompiled = desc->precompiled;
    unit.precompiled_size = desc->precompiled_size_bytes;
    unit.name = desc->name;
    unit.include_paths = desc->include_paths;
    unit.include_path_count = desc->include_path_count;
    unit.defines = desc->defines;
    unit.define_count = desc->define_count;
    unit.link = link;
    unit.link_count = desc->link_count;
    unit.conformances = desc->conformances;
    unit.conformance_count = desc->conformance_count;
    unit.trusted = desc->trust_precompiled;
    unit.options = desc->options;
    spyi_outside outside;
    for (size_t i = 0; i < module->link_count; i++) module->link[i]->users++;
    spyi_step_out(device, &outside, NULL);
    spy_status status = spyi_unit_load(device->compiler, &unit, &module->unit, error);
    if (status == SPY_OK) status = spyi_check_module_name(spyi_unit_name(module->unit), error);
    if (status == SPY_OK) module->name = spyi_strdup(spyi_unit_name(module->unit));
    spyi_step_in(device, &outside);
    for (size_t i = 0; i < module->link_count; i++) module->link[i]->users--;
    // The list is newest first: a module stands before those that it links.
    module->next = device->modules;
    if (module->next) module->next->previous = module;
    device->modules = module;
    status = spyi_check_allocations(failed, status, error);
    free(link);
    if (status != SPY_OK) spyi_module_free(module);
    else *out = module;
    return status;
}

spy_module *spy_load_module(spy_device *device, const spy_module_desc *desc) {
    const char *function = "spy_load_module";
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spy_module *module = NULL;
    if (spyi_check_module_desc(device, function, desc) == SPY_OK) {
        spyi_text error = { NULL, 0, 0 };
        spy_status status = spyi_module_load(device, desc, &module, &error);
        if (status != SPY_OK) spyi_fail(&device->ctx, status, "%s: %s", function, spyi_text_str(&error));
        spyi_text_free(&error);
    }
    spyi_leave(device);
    return module;
}

SPYI_FN spy_module *spyi_module_extend(spy_module *module, const spy_define *define, const char *appended,
                                       spy_status *status, spyi_text *error) {
    spy_device *device = module->object.device;
    spyi_context *ctx = &device->ctx;
    spy_module *made = (spy_module *)spyi_allocate(ctx, sizeof *made);
    *status = SPY_ERROR_OUT_OF_MEMORY;
    if (!made) return NULL;
    if (module->link_count)
        made->link = (spy_module **)spyi_allocate(ctx, module->link_count * sizeof *made->link);
    for (; made->link && made->link_count < module->link_count; made->link_count++) {
        made->link[made->link_count] = module->link[made->link_count];
        spyi_atomic_add(&made->link[made->link_count]->object.references, 1);
    }
    made->object.kind = (uint32_t)SPYI_KIND_MODULE;
    made->object.device = device;
    spyi_atomic_store(&made->object.references, 1);
    made->strict_broadcasting = module->strict_broadcasting;
    made->zero_missing = module->zero_missing;
    made->fixed = true;
    uint32_t failed = spyi_failed_allocations();
    if (made->link_count == module->link_count) {
        spyi_outside outside;
        for (size_t i = 0; i < made->link_count; i++) made->link[i]->users++;
        spyi_step_out(device, &outside, module);
        *status = spyi_unit_extend(module->unit, define, appended, &made->unit, error);
        if (*status == SPY_OK) made->name = spyi_strdup(spyi_unit_name(made->unit));
        spyi_step_in(device, &outside);
        for (size_t i = 0; i < made->link_count; i++) made->link[i]->users--;
        *status = spyi_check_allocations(failed, *status, error);
    }
    made->next = device->modules;
    if (made->next) made->next->previous = made;
    device->modules = made;
    if (*status == SPY_OK) return made;
    spyi_module_free(made);
    return NULL;
}

void spy_retain_module(spy_module *module) {
    spyi_object_retain(module, SPYI_KIND_MODULE, "spy_retain_module");
}

void spy_release_module(spy_module *module) {
    if (!module) return;
    if (spyi_as(module, SPYI_KIND_MODULE)) spyi_object_release(&module->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_module: the module has been released already");
}

// Gives the module's compiled form. On failure `function` reports it.
static spy_status spyi_serialize(spy_module *module, const char *function, spyi_text *bytes) {
    spy_device *device = module->object.device;
    spyi_text error = { NULL, 0, 0 };
    spyi_outside outside;
    spyi_step_out(device, &outside, module);
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_unit_serialize(module->unit, bytes) ? SPY_OK : SPY_ERROR_INTERNAL;
    if (status != SPY_OK)
        spyi_text_add(&error, "the Slang compiler cannot serialize module '%s'", module->name);
    status = spyi_check_allocations(failed, status, &error);
    spyi_step_in(device, &outside);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_text_free(&error);
    return status;
}

spy_status spy_save_module(spy_module *module, const char *path) {
    const char *function = "spy_save_module";
    spy_status status = spyi_enter(module, SPYI_KIND_MODULE, function);
    if (status != SPY_OK) return status;
    spy_device *device = module->object.device;
    spyi_text bytes = { NULL, 0, 0 };
    if (!path || !path[0])
        status = spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a path, got %s", function,
                           path ? "\"\"" : "NULL");
    else status = spyi_serialize(module, function, &bytes);
    if (status == SPY_OK && !spyi_file_replace(path, bytes.data, bytes.size))
        status = spyi_fail(&device->ctx, SPY_ERROR_IO, "%s: %s: the file cannot be written: %s", function,
                           path, spyi_file_problem());
    spyi_text_free(&bytes);
    spyi_leave(device);
    return status;
}

size_t spy_serialize_module(spy_module *module, void *data, size_t capacity_bytes) {
    const char *function = "spy_serialize_module";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return 0;
    spy_device *device = module->object.device;
    spyi_text bytes = { NULL, 0, 0 };
    size_t size = 0;
    if (!data && capacity_bytes) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: data is NULL, capacity_bytes is %zu",
                  function, capacity_bytes);
    } else if (spyi_serialize(module, function, &bytes) == SPY_OK) {
        size = bytes.size;
        if (capacity_bytes) memcpy(data, bytes.data, size < capacity_bytes ? size : capacity_bytes);
    }
    spyi_text_free(&bytes);
    spyi_leave(device);
    return size;
}

static spy_function *spyi_known_function(const spy_module *module, const char *name,
                                         const spyi_declared *declared) {
    spy_function *f = module->functions;
    while (f && (strcmp(f->name, name) != 0 || !spyi_declared_equal(f->declared, declared))) f = f->next;
    return f;
}

// Finds a function through the compiler, outside of the device, since the compiler may be busy for another
// thread. NULL means that the error has been reported under `function`.
static spy_function *spyi_look_up_function(spy_module *module, const char *name, spyi_declared *declared,
                                           const char *function) {
    spy_device *device = module->object.device;
    spyi_context *ctx = &device->ctx;
    spyi_text error = { NULL, 0, 0 };
    spyi_overloads overloads = { NULL, 0, false };
    spyi_outside outside;
    spy_function *found = NULL;
    uint32_t failed = spyi_failed_allocations();
    spyi_step_out(device, &outside, module);
    spy_status status = spyi_unit_find_function(module->unit, name, &overloads, &error);
    bool explained = error.size != 0;
    if (status == SPY_OK && overloads.count == 0 && !explained)
        spyi_unit_near_names(module->unit, name, &error);
    // An entry point is compiled where it stands, so that no generated kernel has to see it.
    bool hidden = status == SPY_OK && overloads.count && spyi_unit_is_private(module->unit, name) &&
                  !spyi_unit_is_shader(module->unit, name);
    status = spyi_check_allocations(failed, status, &error);
    bool ours = strncmp(name, "spyi_", 5) == 0 || strncmp(name, "Spyi", 4) == 0;
    spyi_step_in(device, &outside);
    if (status != SPY_OK) {
        spyi_fail(ctx, status, "%s: '%s' in module '%s': %s", function, name, module->name,
                  spyi_text_str(&error));
    } else if (overloads.count == 0) {
        spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' has no function '%s'%s%s", function,
                  module->name, name, explained ? ": " : "", spyi_text_str(&error));
    } else if (ours) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: function '%s' of module '%s' cannot be called: names that begin with `spyi_` or "
                  "`Spyi` are those of "
                  "generated kernels; give it another name",
                  function, name, module->name);
    } else if (hidden) {
        spyi_fail(
            ctx, SPY_ERROR_NOT_FOUND,
            "%s: function '%s' of module '%s' is not public: in a module with a `module` line, or with "
            "`public` at any declaration, kernels can only use what is marked; write `public` before the "
            "function, before its struct if it is a method, and before the fields and types that calls "
            "use",
            function, name, module->name);
    } else if ((found = spyi_known_function(module, name, declared)) ==
               NULL) { // otherwise another thread has added it meanwhile
        found = (spy_function *)spyi_allocate(ctx, sizeof *found);
        char *copy = spyi_strdup(name);
        if (!found || !copy) {
            spyi_free(ctx, found, sizeof *found);
            free(copy);
            found = NULL;
            spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        } else {
            found->object.kind = (uint32_t)SPYI_KIND_FUNCTION;
            found->object.device = device;
            found->module = module;
            found->name = copy;
            found->declared = declared;
            found->id = ++device->next_function_id;
            found->overloads = overloads;
            found->next = module->functions;
            module->functions = found;
            memset(&overloads, 0, sizeof overloads);
        }
    }
    spyi_overloads_free(&overloads);
    spyi_text_free(&error);
    return found;
}

SPYI_FN spy_function *spyi_function_of(spy_module *module, const char *name, spyi_declared *declared,
                                       const char *function) {
    spy_function *found = spyi_known_function(module, name, declared);
    if (!found) return spyi_look_up_function(module, name, declared, function);
    if (found->overloads.count) return found;
    spyi_fail(&module->object.device->ctx, SPY_ERROR_NOT_FOUND,
              "%s: module '%s' was reloaded and has no function '%s' any more", function, module->name, name);
    return NULL;
}

spy_function *spy_find_function(spy_module *module, const char *name) {
    const char *function = "spy_find_function";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    spy_device *device = module->object.device;
    spyi_context *ctx = &device->ctx;
    spy_function *found = NULL;
    if (!name || !name[0]) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a function name, got %s", function,
                  name ? "\"\"" : "NULL");
    } else {
        found = spyi_function_of(module, name, NULL, function);
    }
    spyi_leave(device);
    return found;
}

const char *spy_function_name(const spy_function *function) {
    if (spyi_as(function, SPYI_KIND_FUNCTION)) return function->name;
    spyi_refuse_object(function, SPYI_KIND_FUNCTION, "spy_function_name");
    return "";
}

spy_module *spy_function_module(const spy_function *function) {
    if (spyi_as(function, SPYI_KIND_FUNCTION)) return function->module;
    spyi_refuse_object(function, SPYI_KIND_FUNCTION, "spy_function_module");
    return NULL;
}

SPYI_FN const spyi_type *spyi_module_type(spy_module *module, const char *name) {
    spyi_outside outside;
    spyi_step_out(module->object.device, &outside, module);
    const spyi_type *type = spyi_unit_find_type(module->unit, name);
    spyi_step_in(module->object.device, &outside);
    return type;
}

bool spy_has_type(spy_module *module, const char *name) {
    if (spyi_enter(module, SPYI_KIND_MODULE, "spy_has_type") != SPY_OK) return false;
    bool has = name && spyi_module_type(module, name) != NULL;
    spyi_leave(module);
    return has;
}

size_t spy_type_size_bytes(spy_module *module, const char *name) {
    const char *function = "spy_type_size_bytes";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return 0;
    spy_device *device = module->object.device;
    const spyi_type *type = spyi_element_type(device, module, SPY_DTYPE_DEFAULT, name ? name : "", function);
    spyi_leave(device);
    return type ? type->host_size : 0;
}
