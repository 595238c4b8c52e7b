// Reflection for users: a module's tree of declarations, built at the first request, and look-ups in it.
#include "module/module.h"

struct spyi_reflection {
    spyi_declarations *declarations;
    uint32_t unit;          // the serial of the unit to which the declarations belong
    spyi_reflection *older; // the reflection of units before a reload, which is kept because users may still
                            // hold pointers into it
};

void spyi_reflection_free(spyi_reflection *reflection) {
    while (reflection) {
        spyi_reflection *older = reflection->older;
        spyi_declarations_free(reflection->declarations);
        free(reflection);
        reflection = older;
    }
}

// Returns the declarations of the module's current unit; NULL means that the error has been reported. Called
// inside the device.
static spyi_declarations *spyi_reflected(spy_module *module, const char *function) {
    spyi_reflection *now = module->reflection;
    if (now && now->unit == spyi_unit_serial(module->unit)) return now->declarations;
    now = (spyi_reflection *)spyi_calloc(1, sizeof *now);
    spyi_outside outside;
    spyi_step_out(module->object.device, &outside, module);
    if (now) now->declarations = spyi_unit_declare(module->unit);
    uint32_t serial = spyi_unit_serial(module->unit);
    spyi_step_in(module->object.device, &outside);
    if (!now || !now->declarations) {
        free(now);
        spyi_fail(&module->object.device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
        return NULL;
    }
    now->unit = serial;
    now->older = module->reflection;
    module->reflection = now;
    return now->declarations;
}

const spy_decl *spy_reflect_module(spy_module *module) {
    const char *function = "spy_reflect_module";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    spyi_declarations *declarations = spyi_reflected(module, function);
    spyi_leave(module);
    return declarations ? spyi_declarations_root(declarations) : NULL;
}

// >>declarations by path

// Returns whether two paths are the same: "a::b.c" is "a.b::c".
static bool spyi_same_path(const char *a, const char *b) {
    while (*a && *b) {
        bool step = *a == '.' || *a == ':';
        if (step != (*b == '.' || *b == ':') || (!step && *a != *b)) return false;
        a += step && a[0] == ':' && a[1] == ':' ? 2 : 1;
        b += step && b[0] == ':' && b[1] == ':' ? 2 : 1;
    }
    return *a == *b;
}

static const spy_decl *spyi_decl_at(const spy_decl *node, const char *path) {
    const spy_decl *found = NULL;
    for (uint32_t i = 0; i < node->child_count && !found; i++) // searches the outer declarations first
        if (spyi_same_path(node->children[i].path, path)) found = &node->children[i];
    for (uint32_t i = 0; i < node->child_count && !found; i++) found = spyi_decl_at(&node->children[i], path);
    return found;
}

static bool spyi_names_type(const spy_decl *node) {
    return node->kind == SPY_DECL_KIND_STRUCT || node->kind == SPY_DECL_KIND_ENUM ||
           node->kind == SPY_DECL_KIND_INTERFACE || node->kind == SPY_DECL_KIND_ALIAS;
}

static void spyi_offer_paths(const spy_decl *node, bool types_only, spyi_near *near_names) {
    for (uint32_t i = 0; i < node->child_count; i++) {
        const spy_decl *child = &node->children[i];
        if (!types_only || spyi_names_type(child)) spyi_near_offer(near_names, child->path);
        spyi_offer_paths(child, types_only, near_names);
    }
}

static void spyi_near_paths(const spyi_declarations *declarations, const char *path, bool types_only,
                            spyi_text *out) {
    spyi_near near_names;
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = path;
    if (strlen(path) > 200) return;
    spyi_offer_paths(spyi_declarations_root(declarations), types_only, &near_names);
    if (types_only) spyi_near_offer_builtin(&near_names);
    spyi_near_text(&near_names, out);
}

const spy_decl *spy_find_decl(spy_module *module, const char *path) {
    const char *function = "spy_find_decl";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    spyi_context *ctx = &module->object.device->ctx;
    const spy_decl *found = NULL;
    spyi_declarations *declarations = NULL;
    if (!path || !path[0])
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a path, got %s", function,
                  path ? "\"\"" : "NULL");
    else declarations = spyi_reflected(module, function);
    if (declarations) {
        found = spyi_decl_at(spyi_declarations_root(declarations), path);
        if (!found) {
            spyi_text near_names = { NULL, 0, 0 };
            spyi_near_paths(declarations, path, false, &near_names);
            spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' declares no '%s'%s", function, module->name,
                      path, spyi_text_str(&near_names));
            spyi_text_free(&near_names);
        }
    }
    spyi_leave(module);
    return found;
}

const spy_decl *spy_next_overload(const spy_decl *decl) {
    if (!decl)
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_next_overload: expected a declaration, got NULL");
    if (!decl || !decl->parent) return NULL;
    const spy_decl *end = decl->parent->children + decl->parent->child_count;
    for (const spy_decl *next = decl + 1; next < end; next++)
        if (next->kind == decl->kind && strcmp(next->name, decl->name) == 0) return next;
    return NULL;
}

const spy_attribute *spy_find_attribute(const spy_decl *decl, const char *name) {
    if (!decl || !name)
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_find_attribute: expected %s, got NULL",
                  decl ? "an attribute's name" : "a declaration");
    for (uint32_t i = 0; decl && name && i < decl->attribute_count; i++)
        if (strcmp(decl->attributes[i].name, name) == 0) return &decl->attributes[i];
    return NULL;
}

// >>types by name

// Finds a type by name and returns its description; NULL means that the error has been reported. Called
// inside the device.
static const spy_type_info *spyi_type_by_name(spy_module *module, const char *function, const char *name,
                                              const spyi_type **type) {
    spyi_context *ctx = &module->object.device->ctx;
    *type = NULL;
    if (!name || !name[0]) {
        spyi_fail(ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: expected a type's name, got %s", function,
                  name ? "\"\"" : "NULL");
        return NULL;
    }
    spyi_declarations *declarations = spyi_reflected(module, function);
    if (!declarations) return NULL;
    const spy_decl *decl = spyi_decl_at(spyi_declarations_root(declarations), name);
    if (decl && spyi_names_type(decl) &&
        (decl->flags & SPY_DECL_FLAG_GENERIC)) { // Slang would find it as a type
        spyi_fail(
            ctx, SPY_ERROR_INVALID_ARGUMENT,
            "%s: '%s' in module '%s' is generic (%s): expected its arguments too, as in 'Grid<float, 4>'",
            function, name, module->name, decl->text);
        return NULL;
    }
    *type = spyi_module_type(module, name);
    if (!*type) {
        spyi_text near_names = { NULL, 0, 0 };
        spyi_near_paths(declarations, name, true, &near_names);
        spyi_fail(ctx, SPY_ERROR_NOT_FOUND, "%s: module '%s' knows no type '%s'%s", function, module->name,
                  name, spyi_text_str(&near_names));
        spyi_text_free(&near_names);
        return NULL;
    }
    const spy_type_info *info = spyi_declarations_type(declarations, module->unit, *type);
    if (!info) spyi_fail(ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    return info;
}

const spy_type_info *spy_reflect_type(spy_module *module, const char *name) {
    const char *function = "spy_reflect_type";
    const spyi_type *type = NULL;
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return NULL;
    const spy_type_info *info = spyi_type_by_name(module, function, name, &type);
    spyi_leave(module);
    return info;
}

bool spy_type_implements(spy_module *module, const char *type, const char *interface_name) {
    const char *function = "spy_type_implements";
    const spyi_type *asked = NULL, *wanted = NULL;
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return false;
    const spy_type_info *info = spyi_type_by_name(module, function, type, &asked);
    const spy_type_info *of = info ? spyi_type_by_name(module, function, interface_name, &wanted) : NULL;
    bool implements = of && of->kind == SPY_TYPE_KIND_INTERFACE;
    if (implements) {
        spyi_outside outside;
        spyi_step_out(module->object.device, &outside, module);
        implements = spyi_unit_conforms(module->unit, asked, wanted->name);
        spyi_step_in(module->object.device, &outside);
    }
    if (of && of->kind != SPY_TYPE_KIND_INTERFACE)
        spyi_fail(&module->object.device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: '%s' in module '%s' is no interface", function, interface_name, module->name);
    spyi_leave(module);
    return implements;
}
