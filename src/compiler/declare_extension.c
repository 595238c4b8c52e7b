// Adds the nodes of extensions. libslang gives neither their names nor the extended types, so both are found
// by an extension's members.
#include "compiler/declare.h"

static bool spyi_sl_has_method(spyi_sl_builder *b, spyi_sl_type *type, const char *name,
                               const spyi_sl_decl *method) {
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *found = lib->spReflection_FindFunctionByNameInType(b->live->layout, type, name);
    uint32_t count = found ? spyi_sl_overload_count(b->unit, found) : 0;
    for (uint32_t i = 0; i < count; ++i) {
        spyi_sl_function *f = spyi_sl_overload(b->unit, found, i);
        if (f && lib->spReflectionFunction_asDecl(f) == method) return true;
    }
    return false;
}

// Returns the type that has the method: a type of the module found so far, or a built-in one. Inside a
// generic declaration only generic types are tried, because all types that implement I have the methods of
// extension<T : I> T.
static spyi_sl_type *spyi_sl_extended(spyi_sl_builder *b, const char *name, const spyi_sl_decl *method) {
    spyi_types *types = b->unit->compiler->types;
    for (uint32_t i = 0; i < b->type_count; ++i) {
        if (b->open && !strchr(spyi_sl_type_info_of(b, b->types[i])->name, '<')) continue;
        if (spyi_sl_has_method(b, b->types[i], name, method)) return b->types[i];
    }
    for (uint32_t columns = 1; columns <= 4 && !b->open; ++columns) {
        for (int scalar = SPY_DTYPE_BOOL; scalar < SPY_DTYPE_COUNT; ++scalar) {
            const spyi_type *type = columns == 1 ? spyi_type_scalar(types, (spy_dtype)scalar)
                                                 : spyi_type_vector(types, (spy_dtype)scalar, columns);
            spyi_sl_type *slang = spyi_sl_type_of(b->unit, b->live, type);
            if (slang && spyi_sl_has_method(b, slang, name, method)) return slang;
        }
    }
    return NULL;
}

// Returns whether Slang added the operator: the derivatives of a generic method come with an operator() from
// the core module.
static bool spyi_sl_is_core_operator(spyi_sl_builder *b, spyi_sl_decl *decl) {
    spyi_sl_source_location location = { NULL, 0, 0 };
    return b->live->session->v->getDeclSourceLocation(b->live->session, decl, &location) < 0 ||
           !location.filePath || strcmp(location.filePath, "core") == 0;
}

// Returns whether an unnamed declaration is an extension: it has functions that are no derivatives, or
// properties. *name becomes its first function whose name can be looked up, or NULL: libslang reads a name as
// an expression and crashes on an operator's name, "()".
static bool spyi_sl_is_extension(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_decl **method,
                                 const char **name) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    bool others = false;
    *method = NULL;
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        unsigned kind = child ? lib->spReflectionDecl_getKind(child) : 0;
        *name = child ? lib->spReflectionDecl_getName(child) : NULL;
        if (!*name || (spyi_sl_is_synthesised(*name) && strcmp(*name, "$init") != 0)) continue;
        spyi_sl_generic *generic =
            kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(child) : NULL;
        spyi_sl_decl *function = kind == SPYI_SL_DECL_FUNCTION ? child
                                 : generic ? lib->spReflectionGeneric_GetInnerDecl(generic)
                                           : NULL;
        if (function && (spyi_sl_name_is_safe(*name) || strcmp(*name, "$init") == 0)) {
            *method = function;
            return true;
        }
        others = others || (function && !spyi_sl_is_core_operator(b, child)) ||
                 (kind == SPYI_SL_DECL_UNSUPPORTED && spyi_sl_is_property(b, child));
    }
    return others;
}

// Returns the path of a type's name: "ns::Grid" for "ns.Grid<T, N>".
static const char *spyi_sl_type_path(spyi_sl_builder *b, const char *name) {
    spyi_text path = { NULL, 0, 0 };
    int depth = 0;
    for (; *name; ++name) {
        if (*name == '<') ++depth;
        if (depth == 0) spyi_text_add_n(&path, *name == '.' ? "::" : name, *name == '.' ? 2 : 1);
        if (*name == '>') --depth;
    }
    return spyi_sl_keep_text(b->to, &path);
}

SPYI_FN void spyi_sl_extension_node(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                    spyi_sl_nodes *out) {
    const char *name = NULL;
    spyi_sl_decl *method = NULL;
    if (!spyi_sl_is_extension(b, decl, &method, &name)) return;
    spyi_sl_type *slang = method ? spyi_sl_extended(b, name, method) : NULL;
    const spy_type_info *type = slang ? spyi_sl_type_info_of(b, slang) : NULL;
    spy_decl node = spyi_sl_node(b, SPY_DECL_KIND_EXTENSION, type ? type->name : "");
    spyi_sl_scope root = { SPY_DECL_KIND_EXTENSION, "", NULL, decl, scope->depth + 1 };
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    node.type = type;
    root.path = spyi_sl_type_path(b, node.name);
    node.text = spyi_sl_scope_text(b, "extension", &node, NULL);
    spyi_sl_declare_all(b, &root, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}
