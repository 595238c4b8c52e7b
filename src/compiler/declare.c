// Builds the tree of a module's declarations from libslang's tree, without the declarations that Slang adds
// itself, and with types, values and source locations. Kinds that libslang does not name (interfaces,
// properties, aliases) are recognised by their members.
#include "compiler/declare.h"
#include "compiler/memo.h"

SPYI_FN void spyi_sl_push(spyi_sl_builder *b, spyi_sl_nodes *nodes, const spy_decl *node) {
    if (spyi_sl_grow((void **)&nodes->items, &nodes->capacity, nodes->count, sizeof *nodes->items))
        nodes->items[nodes->count++] = *node;
    else b->to->failed = true;
}

enum { SPYI_SL_DEEPEST_SCOPE = 64 };

SPYI_FN void spyi_sl_give_children(spyi_sl_builder *b, spy_decl *node, spyi_sl_nodes *nodes) {
    spy_decl *children =
        nodes->count ? (spy_decl *)spyi_sl_take(b->to, nodes->count * sizeof *children) : NULL;
    for (int fields = 1; children && fields >= 0; --fields)
        for (uint32_t i = 0; i < nodes->count; ++i)
            if ((nodes->items[i].kind == SPY_DECL_KIND_FIELD) == (fields == 1))
                children[node->child_count++] = nodes->items[i];
    node->children = children;
    free(nodes->items);
}

// Sets the node's path and source location, which libslang knows only as long as the session that read the
// text.
SPYI_FN void spyi_sl_place(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                           spy_decl *node) {
    spyi_sl_session *session = b->live->session;
    spyi_sl_source_location location = { NULL, 0, 0 };
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s%s%s", scope->path, *scope->path ? "::" : "", node->name);
    node->path = spyi_sl_keep_text(b->to, &path);
    if (session->v->getDeclSourceLocation(session, decl, &location) < 0 || !location.filePath) return;
    node->file = spyi_sl_keep(b->to, location.filePath);
    node->line = location.line > 0 ? (uint32_t)location.line : 0;
    if (node->kind != SPY_DECL_KIND_PARAMETER) node->doc = spyi_sl_doc(b, node->file, node->line);
}

// >>types

// Adds an enum's cases. Slang lists them as fields of the type, in the order of declaration.
static void spyi_sl_case_nodes(spyi_sl_builder *b, spyi_sl_type *slang, const spyi_sl_scope *scope,
                               spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflectionType_GetFieldCount(slang), next = 0,
             children = lib->spReflectionDecl_getChildrenCount(scope->decl);
    for (unsigned i = 0; i < children && next < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(scope->decl, i);
        spyi_sl_variable *v = lib->spReflectionType_GetFieldByIndex(slang, next);
        const char *name = child ? lib->spReflectionDecl_getName(child) : NULL,
                   *field = v ? lib->spReflectionVariable_GetName(v) : NULL;
        if (!name || !field || strcmp(name, field) != 0) continue;
        spy_decl node = spyi_sl_node(b, SPY_DECL_KIND_ENUM_CASE, name);
        spyi_text text = { NULL, 0, 0 };
        ++next;
        spyi_sl_place(b, child, scope, &node);
        spyi_sl_variable_node(b, v, &node);
        node.flags &= ~(uint32_t)SPY_DECL_FLAG_HAS_DEFAULT;
        spyi_text_add(&text, "%s = ", name);
        spyi_sl_add_constant(&node.value, &text);
        node.text = spyi_sl_keep_text(b->to, &text);
        spyi_sl_push(b, out, &node);
    }
}

static void spyi_sl_meet_type(spyi_sl_builder *b, spyi_sl_type *slang) {
    if (spyi_sl_grow((void **)(void *)&b->types, &b->type_capacity, b->type_count, sizeof(spyi_sl_type *)))
        b->types[b->type_count++] = slang;
    else b->to->failed = true;
}

// Adds a struct, enum, interface or class. `slang` is its type; NULL if libslang does not give it.
static void spyi_sl_type_node(spyi_sl_builder *b, spy_decl_kind kind, spyi_sl_decl *decl, spyi_sl_type *slang,
                              spyi_sl_generic *generic, const char *name, const spyi_sl_scope *scope,
                              spyi_sl_nodes *out) {
    spy_decl node = spyi_sl_node(b, kind, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_scope inside = { kind, node.path, NULL, decl, scope->depth + 1 };
    if (b->lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_EXTERN))
        node.flags |= SPY_DECL_FLAG_EXTERN;
    if (b->lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_EXPORT))
        node.flags |= SPY_DECL_FLAG_EXPORT;
    if (slang) {
        inside.type = spyi_sl_to_type(b->unit, b->live, slang, b->open != 0);
        node.type = spyi_sl_type_info(b, inside.type, slang);
        spyi_sl_attributes(b, SPYI_SL_OF_TYPE, slang, &node);
        spyi_sl_meet_type(b, slang);
    }
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    node.text = spyi_sl_scope_text(b,
                                   kind == SPY_DECL_KIND_STRUCT      ? "struct"
                                   : kind == SPY_DECL_KIND_ENUM      ? "enum"
                                   : kind == SPY_DECL_KIND_INTERFACE ? "interface"
                                                                     : "class",
                                   &node, &nodes);
    if (kind != SPY_DECL_KIND_ENUM) spyi_sl_declare_all(b, &inside, &nodes);
    else if (slang) spyi_sl_case_nodes(b, slang, &inside, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>declarations whose kind libslang does not name

static spyi_sl_decl *spyi_sl_child_named(spyi_sl_builder *b, spyi_sl_decl *decl, const char *name) {
    unsigned count = b->lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = b->lib->spReflectionDecl_getChild(decl, i);
        const char *own = child ? b->lib->spReflectionDecl_getName(child) : NULL;
        if (own && strcmp(own, name) == 0) return child;
    }
    return NULL;
}

SPYI_FN bool spyi_sl_is_property(spyi_sl_builder *b, spyi_sl_decl *decl) {
    return (spyi_sl_child_named(b, decl, "get") || spyi_sl_child_named(b, decl, "set") ||
            spyi_sl_child_named(b, decl, "ref")) &&
           !spyi_sl_child_named(b, decl, "This"); // an interface may have methods of these names
}

static void spyi_sl_property_node(spyi_sl_builder *b, spyi_sl_decl *decl, const char *name,
                                  const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    bool subscript = strncmp(name, "operator", 8) == 0;
    spy_decl node = spyi_sl_node(b, subscript ? SPY_DECL_KIND_SUBSCRIPT : SPY_DECL_KIND_PROPERTY, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    if (lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_STATIC)) node.flags |= SPY_DECL_FLAG_STATIC;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        const char *own = child ? lib->spReflectionDecl_getName(child) : NULL;
        unsigned kind = child ? lib->spReflectionDecl_getKind(child) : 0;
        if (!own) continue;
        spyi_sl_variable *v =
            kind == SPYI_SL_DECL_VARIABLE ? lib->spReflectionDecl_castToVariable(child) : NULL;
        spyi_sl_function *f =
            kind == SPYI_SL_DECL_FUNCTION ? lib->spReflectionDecl_castToFunction(child) : NULL;
        spyi_sl_type *type = NULL;
        if (v) spyi_sl_parameter_node(b, v, node.path, &nodes);
        if (!f) continue;
        if (strcmp(own, "set") != 0) {
            node.flags |= SPY_DECL_FLAG_GETTER;
            type = lib->spReflectionFunction_GetResultType(f);
        } else if (!node.type && lib->spReflectionFunction_GetParameterCount(f) > 0) {
            spyi_sl_variable *value = lib->spReflectionFunction_GetParameter(f, 0);
            type = value ? lib->spReflectionVariable_GetType(value) : NULL;
        }
        if (strcmp(own, "get") != 0) node.flags |= SPY_DECL_FLAG_SETTER; // "ref" is both getter and setter
        if (type) node.type = spyi_sl_type_info_of(b, type);
    }
    spyi_text text = { NULL, 0, 0 };
    if (node.flags & SPY_DECL_FLAG_STATIC) spyi_text_add(&text, "static ");
    spyi_text_add(&text, "%s%s %s", subscript ? "" : "property ", spyi_sl_type_text(&node), name);
    if (subscript) {
        spyi_text_add(&text, "(");
        spyi_sl_add_list(&nodes, false, &text);
        spyi_text_add(&text, ")");
    }
    spyi_text_add(&text, " {%s%s }", node.flags & SPY_DECL_FLAG_GETTER ? " get;" : "",
                  node.flags & SPY_DECL_FLAG_SETTER ? " set;" : "");
    node.text = spyi_sl_keep_text(b->to, &text);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// Returns whether the declaration is an attribute: for each struct NameAttribute Slang also declares Name.
static bool spyi_sl_is_attribute(spyi_sl_builder *b, const char *name, const spyi_sl_scope *scope) {
    spyi_text twin = { NULL, 0, 0 };
    spyi_text_add(&twin, "%sAttribute", name);
    bool is = spyi_sl_child_named(b, scope->decl, spyi_text_str(&twin)) != NULL;
    spyi_text_free(&twin);
    return is;
}

static void spyi_sl_alias_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_type *slang,
                               spyi_sl_generic *generic, const char *name, const spyi_sl_scope *scope,
                               spyi_sl_nodes *out) {
    bool associated = scope->kind == SPY_DECL_KIND_INTERFACE;
    spy_decl node = spyi_sl_node(b, associated ? SPY_DECL_KIND_ASSOCIATED_TYPE : SPY_DECL_KIND_ALIAS, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_scope inside = { node.kind, node.path, NULL, decl, scope->depth + 1 };
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    if (slang && !associated) node.type = spyi_sl_type_info_of(b, slang);
    node.text = spyi_sl_scope_text(b, associated ? "associatedtype" : "typealias", &node, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

static void spyi_sl_declare_other(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                  const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    bool global = scope->kind == SPY_DECL_KIND_MODULE || scope->kind == SPY_DECL_KIND_NAMESPACE;
    spyi_text path = { NULL, 0, 0 }, full = { NULL, 0, 0 };
    if (scope->kind == SPY_DECL_KIND_INTERFACE && strcmp(name, "This") == 0) return;
    if (spyi_sl_is_property(b, decl)) {
        spyi_sl_property_node(b, decl, name, scope, out);
        return;
    }
    spyi_text_add(&path, "%s%s%s", scope->path, *scope->path ? "::" : "", name);
    // A generic type without arguments has no type by its name.
    spyi_sl_type *slang = b->open ? NULL : spyi_sl_type_named(b->unit, b->live, spyi_text_str(&path));
    if (slang) spyi_sl_full_name(b->unit, slang, &full);
    for (char *p = full.data; p && *p; ++p) // "ns.Name" and "ns::Name" mean the same
        if (*p == '.') *p = ':';
    const char *last = full.data ? strrchr(full.data, ':') : NULL;
    bool own_type = slang && strcmp(last ? last + 1 : spyi_text_str(&full), name) == 0;
    if (spyi_sl_child_named(b, decl, "This")) {
        spyi_sl_type_node(b, SPY_DECL_KIND_INTERFACE, decl, slang, generic, name, scope, out);
    } else if (spyi_sl_is_attribute(b, name, scope)) {
        // the tree already has its struct
    } else if (own_type && b->lib->spReflectionType_GetKind(slang) == 0 &&
               scope->kind != SPY_DECL_KIND_INTERFACE) {
        spyi_sl_type_node(b, SPY_DECL_KIND_OTHER, decl, slang, generic, name, scope, out);
    } else if (slang || b->open) {
        spyi_sl_alias_node(b, decl, slang, generic, name, scope, out);
    } else if (global) { // an __include'd file; the declaration with the module's own name is empty
        spyi_sl_scope file = *scope;
        file.decl = decl;
        file.depth++;
        spyi_sl_declare_all(b, &file, out);
    }
    spyi_text_free(&path);
    spyi_text_free(&full);
}

// >>the walk

static void spyi_sl_declare(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                            bool extensions, spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    const char *name = lib->spReflectionDecl_getName(decl);
    unsigned kind = lib->spReflectionDecl_getKind(decl);
    bool unnamed = !name || !*name;
    if (unnamed != extensions) return;
    if (!unnamed && strchr(name, '$') && strcmp(name, "$init") != 0)
        return; // Slang has added this
                // declaration
    // castToGeneric() crashes on declarations of other kinds.
    spyi_sl_generic *generic =
        kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(decl) : NULL;
    if (kind == SPYI_SL_DECL_GENERIC) {
        decl = generic ? lib->spReflectionGeneric_GetInnerDecl(generic) : NULL;
        if (!decl) return;
        kind = lib->spReflectionDecl_getKind(decl);
        b->open++;
    }
    if (unnamed) {
        if (kind == SPYI_SL_DECL_UNSUPPORTED) spyi_sl_extension_node(b, decl, scope, out);
    } else if (kind == SPYI_SL_DECL_STRUCT || kind == SPYI_SL_DECL_ENUM) {
        spyi_sl_type_node(b, kind == SPYI_SL_DECL_STRUCT ? SPY_DECL_KIND_STRUCT : SPY_DECL_KIND_ENUM, decl,
                          lib->spReflection_getTypeFromDecl(decl), generic, name, scope, out);
    } else if (kind == SPYI_SL_DECL_FUNCTION) {
        spyi_sl_function_node(b, decl, generic, name, scope, out);
    } else if (kind == SPYI_SL_DECL_VARIABLE) {
        spyi_sl_declare_variable(b, decl, scope, out);
    } else if (kind == SPYI_SL_DECL_NAMESPACE) {
        spy_decl node = spyi_sl_node(b, SPY_DECL_KIND_NAMESPACE, name);
        spyi_sl_nodes nodes = { NULL, 0, 0 };
        spyi_sl_place(b, decl, scope, &node);
        spyi_sl_scope inside = { SPY_DECL_KIND_NAMESPACE, node.path, NULL, decl, scope->depth + 1 };
        node.text = spyi_sl_scope_text(b, "namespace", &node, NULL);
        spyi_sl_declare_all(b, &inside, &nodes);
        spyi_sl_give_children(b, &node, &nodes);
        spyi_sl_push(b, out, &node);
    } else if (kind == SPYI_SL_DECL_UNSUPPORTED) {
        spyi_sl_declare_other(b, decl, generic, name, scope, out);
    }
    if (generic) b->open--;
}

// Appends all declarations. Extensions come last, because their types are searched among the types found
// before.
SPYI_FN void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    unsigned count = b->lib->spReflectionDecl_getChildrenCount(scope->decl);
    if (scope->depth > SPYI_SL_DEEPEST_SCOPE) return;
    for (int pass = 0; pass < 2; ++pass) {
        for (unsigned i = 0; i < count && !b->to->failed; ++i) {
            spyi_sl_decl *child = b->lib->spReflectionDecl_getChild(scope->decl, i);
            if (child) spyi_sl_declare(b, child, scope, pass == 1, out);
        }
    }
}

static void spyi_sl_import_nodes(spyi_sl_builder *b, spyi_sl_nodes *out) {
    spyi_sl_session *session = b->live->session;
    for (size_t i = 0; i < b->unit->module_count; ++i) {
        spyi_sl_module *m = session->v->getLoadedModule(session, (spyi_sl_int)i);
        const char *name = m && m != b->live->module ? m->v->getName(m) : NULL;
        if (!name) continue;
        spy_decl node = spyi_sl_node(b, SPY_DECL_KIND_IMPORT, name);
        node.file = spyi_sl_keep(b->to, m->v->getFilePath(m));
        node.text = spyi_sl_scope_text(b, "import", &node, NULL);
        spyi_sl_push(b, out, &node);
    }
}

// Sets the parents of all nodes and the declarations of their types, now that nodes no longer move in memory.
static void spyi_sl_link(spy_decl *node) {
    for (uint32_t i = 0; i < node->child_count; ++i) {
        spy_decl *child = (spy_decl *)(uintptr_t)&node->children[i];
        child->parent = node;
        spyi_sl_link(child);
    }
    if (!node->type || (node->kind != SPY_DECL_KIND_STRUCT && node->kind != SPY_DECL_KIND_ENUM &&
                        node->kind != SPY_DECL_KIND_INTERFACE))
        return;
    spy_type_info *type = (spy_type_info *)(uintptr_t)node->type;
    type->decl = node;
    if (node->kind == SPY_DECL_KIND_STRUCT) {
        type->fields = node->children;
        while (type->field_count < node->child_count &&
               node->children[type->field_count].kind == SPY_DECL_KIND_FIELD)
            type->field_count++;
    }
}

static void spyi_sl_ask_declare(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_declarations *to = (spyi_declarations *)context;
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_builder b;
    spyi_sl_builder_open(&b, to, unit, live);
    spyi_sl_decl *root = live->module->v->getModuleReflection(live->module);
    spyi_sl_scope scope = { SPY_DECL_KIND_MODULE, "", NULL, root, 0 };
    to->root = spyi_sl_node(&b, SPY_DECL_KIND_MODULE, unit->name);
    to->root.file = spyi_sl_keep(to, unit->path);
    to->root.text = spyi_sl_scope_text(&b, "module", &to->root, NULL);
    spyi_sl_import_nodes(&b, &nodes);
    if (root) spyi_sl_declare_all(&b, &scope, &nodes);
    spyi_sl_give_children(&b, &to->root, &nodes);
    if (!to->failed) spyi_sl_link(&to->root);
    if (!to->failed) spyi_sl_list_fields(&b);
    spyi_sl_builder_close(&b);
}

spyi_declarations *spyi_unit_declare(spyi_unit *unit) {
    spyi_declarations *to = (spyi_declarations *)spyi_calloc(1, sizeof *to);
    if (!to) return NULL;
    spyi_memo m;
    spyi_memo_ask(&m, unit, 'd', NULL);
    bool good = spyi_memo_recall(&m, spyi_sl_declarations_fields, to);
    if (good) {
        spyi_sl_link(&to->root);
    } else {
        spyi_declarations_free(to);
        to = (spyi_declarations *)spyi_calloc(1, sizeof *to);
        good = to && spyi_sl_ask(unit, 1, "list declarations", spyi_sl_ask_declare, to, NULL) == SPY_OK &&
               !to->failed;
        if (good) spyi_memo_keep(&m, spyi_sl_declarations_fields, to);
    }
    spyi_memo_end(&m);
    if (good) return to;
    spyi_declarations_free(to);
    return NULL;
}

void spyi_declarations_free(spyi_declarations *declarations) {
    if (!declarations) return;
    for (spyi_sl_block *block = declarations->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free((void *)declarations->by_id);
    free((void *)declarations->types);
    free(declarations);
}

const spy_decl *spyi_declarations_root(const spyi_declarations *declarations) {
    return &declarations->root;
}

typedef struct spyi_sl_declaring {
    spyi_declarations *to;
    const spyi_type *type;
    const spy_type_info *info;
} spyi_sl_declaring;

static void spyi_sl_ask_type_info(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_declaring *d = (spyi_sl_declaring *)context;
    spyi_sl_builder b;
    spyi_sl_builder_open(&b, d->to, unit, live);
    d->info = spyi_sl_type_info(&b, d->type, NULL);
    spyi_sl_list_fields(&b);
    spyi_sl_builder_close(&b);
}

// Copies the description of one type from the pack into a small tree of its own, whose memory `to` takes
// over.
static const spy_type_info *spyi_declarations_unpack(spyi_declarations *to, spyi_memo *m,
                                                     const spyi_type *type) {
    spyi_declarations *only = (spyi_declarations *)spyi_calloc(1, sizeof *only);
    const spy_type_info *info = NULL;
    if (only && spyi_memo_recall(m, spyi_sl_declarations_fields, only) && type->id < only->by_id_count)
        info = only->by_id[type->id];
    if (info && only->blocks && spyi_sl_know_type(to, type)) {
        spyi_sl_block *last = only->blocks;
        while (last->next) last = last->next;
        last->next = to->blocks;
        to->blocks = only->blocks;
        only->blocks = NULL;
        to->by_id[type->id] = (spy_type_info *)(uintptr_t)info;
    } else {
        info = NULL;
    }
    spyi_declarations_free(only);
    return info;
}

const spy_type_info *spyi_declarations_type(spyi_declarations *declarations, spyi_unit *unit,
                                            const spyi_type *type) {
    if (type->id < declarations->by_id_count && declarations->by_id[type->id])
        return declarations->by_id[type->id];
    spyi_sl_declaring d;
    d.to = declarations;
    d.type = type;
    d.info = NULL;
    spyi_memo m;
    spyi_memo_ask(&m, unit, 'T', NULL);
    spyi_memo_add_type(&m, type);
    if (unit->compiler->packed) d.info = spyi_declarations_unpack(declarations, &m, type);
    if (!d.info) spyi_sl_ask(unit, 1, "describe a type", spyi_sl_ask_type_info, &d, NULL);
    spyi_sl_declaring only = { NULL, type, NULL };
    if (d.info && unit->compiler->recording) only.to = (spyi_declarations *)spyi_calloc(1, sizeof *only.to);
    if (only.to && spyi_sl_ask(unit, 1, "describe a type", spyi_sl_ask_type_info, &only, NULL) == SPY_OK &&
        only.info && !only.to->failed)
        spyi_memo_keep(&m, spyi_sl_declarations_fields, only.to);
    spyi_declarations_free(only.to);
    spyi_memo_end(&m);
    return declarations->failed ? NULL : d.info;
}
