// The declarations of a module as a tree: libslang's own tree without what Slang adds for itself, with types, values
// and places. Kinds that libslang does not name (interfaces, properties, aliases) are told apart by what they hold.
#include "compiler/declare.h"

// >>lists of nodes

typedef struct spyi_sl_nodes {
    spy_decl *items;
    uint32_t count, capacity;
} spyi_sl_nodes;

static void spyi_sl_push(spyi_sl_builder *b, spyi_sl_nodes *nodes, const spy_decl *node) {
    if (spyi_sl_grow((void **)&nodes->items, &nodes->capacity, nodes->count, sizeof *nodes->items))
        nodes->items[nodes->count++] = *node;
    else b->to->failed = true;
}

// Where a walk is: what the nodes that it finds are children of.
typedef struct spyi_sl_scope {
    spy_decl_kind kind;
    const char *path;      // "" at the root
    const spyi_type *type; // of a struct: where its fields lie; else NULL
    spyi_sl_decl *decl;
    int depth;
} spyi_sl_scope;

enum { SPYI_SL_DEEPEST_SCOPE = 64 };

// The list becomes the node's children, fields first.
static void spyi_sl_give_children(spyi_sl_builder *b, spy_decl *node, spyi_sl_nodes *nodes) {
    spy_decl *children =
        nodes->count ? (spy_decl *)spyi_sl_take(b->to, nodes->count * sizeof *children) : NULL;
    for (int fields = 1; children && fields >= 0; --fields)
        for (uint32_t i = 0; i < nodes->count; ++i)
            if ((nodes->items[i].kind == SPY_DECL_FIELD) == (fields == 1))
                children[node->child_count++] = nodes->items[i];
    node->children = children;
    free(nodes->items);
}

// Path, and place in the source; libslang forgets the latter with the session that read the text.
static void spyi_sl_place(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                          spy_decl *node) {
    spyi_sl_session *session = b->live->session;
    spyi_sl_source_location location = { NULL, 0, 0 };
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s%s%s", scope->path, *scope->path ? "::" : "", node->name);
    node->path = spyi_sl_keep_text(b->to, &path);
    if (session->v->getDeclSourceLocation(session, decl, &location) < 0 || !location.filePath) return;
    node->file = spyi_sl_keep(b->to, location.filePath);
    node->line = location.line > 0 ? (uint32_t)location.line : 0;
    if (node->kind != SPY_DECL_PARAMETER) node->doc = spyi_sl_doc(b, node->file, node->line);
}

// >>texts: declarations as one writes them

static const char *spyi_sl_type_text(const spy_decl *node) {
    return node->type ? node->type->name : "void";
}

static void spyi_sl_add_list(const spyi_sl_nodes *nodes, bool generics, spyi_text *out) {
    bool first = true;
    for (uint32_t i = 0; i < nodes->count; ++i) {
        const spy_decl *n = &nodes->items[i];
        if ((n->kind == SPY_DECL_PARAMETER) == generics) continue;
        if (n->kind != SPY_DECL_PARAMETER && n->kind != SPY_DECL_GENERIC_TYPE &&
            n->kind != SPY_DECL_GENERIC_VALUE)
            continue;
        spyi_text_add(out, "%s%s", first ? (generics ? "<" : "") : ", ", n->text);
        first = false;
    }
    if (generics && !first) spyi_text_add(out, ">");
}

static void spyi_sl_add_value(const spy_decl *node, spyi_text *out) {
    if (!(node->flags & SPY_DECL_HAS_DEFAULT)) return;
    spyi_text_add(out, " = ");
    spyi_sl_add_constant(&node->value, out);
}

static const char *spyi_sl_variable_text(spyi_sl_builder *b, const spy_decl *node) {
    static const struct {
        uint32_t flag;
        const char *word;
    } words[] = { { SPY_DECL_EXTERN, "extern " },
                  { SPY_DECL_EXPORT, "export " },
                  { SPY_DECL_STATIC, "static " },
                  { SPY_DECL_CONST, "const " },
                  { SPY_DECL_NO_DIFF, "no_diff " } };
    spyi_text text = { NULL, 0, 0 };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; ++i)
        if (node->flags & words[i].flag) spyi_text_add(&text, "%s", words[i].word);
    if (node->kind == SPY_DECL_PARAMETER && (node->flags & SPY_DECL_OUT))
        spyi_text_add(&text, node->flags & SPY_DECL_IN ? "inout " : "out ");
    if (node->kind == SPY_DECL_GENERIC_VALUE)
        spyi_text_add(&text, "let %s : %s", node->name, spyi_sl_type_text(node));
    else spyi_text_add(&text, "%s%s%s", spyi_sl_type_text(node), *node->name ? " " : "", node->name);
    spyi_sl_add_value(node, &text);
    return spyi_sl_keep_text(b->to, &text);
}

static const char *spyi_sl_function_text(spyi_sl_builder *b, const spy_decl *node,
                                         const spyi_sl_nodes *nodes) {
    spyi_text text = { NULL, 0, 0 };
    if (node->flags & SPY_DECL_STATIC) spyi_text_add(&text, "static ");
    if (node->flags & SPY_DECL_MUTATING) spyi_text_add(&text, "[mutating] ");
    if (node->kind != SPY_DECL_CONSTRUCTOR) spyi_text_add(&text, "%s ", spyi_sl_type_text(node));
    spyi_text_add(&text, "%s", node->name);
    spyi_sl_add_list(nodes, true, &text);
    spyi_text_add(&text, "(");
    spyi_sl_add_list(nodes, false, &text);
    spyi_text_add(&text, ")");
    return spyi_sl_keep_text(b->to, &text);
}

static const char *spyi_sl_scope_text(spyi_sl_builder *b, const char *word, const spy_decl *node,
                                      const spyi_sl_nodes *nodes) {
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add(&text, "%s%s%s", word, *node->name ? " " : "", node->name);
    if (nodes) spyi_sl_add_list(nodes, true, &text);
    if (node->kind == SPY_DECL_ENUM && node->type && node->type->element)
        spyi_text_add(&text, " : %s", node->type->element->name);
    if (node->kind == SPY_DECL_ALIAS && node->type) spyi_text_add(&text, " = %s", node->type->name);
    return spyi_sl_keep_text(b->to, &text);
}

// >>generics

static void spyi_sl_generic_nodes(spyi_sl_builder *b, spyi_sl_generic *generic, const spyi_sl_scope *scope,
                                  spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    spyi_text path = { NULL, 0, 0 };
    unsigned types = lib->spReflectionGeneric_GetTypeParameterCount(generic),
             values = lib->spReflectionGeneric_GetValueParameterCount(generic);
    for (unsigned i = 0; i < types + values; ++i) {
        spyi_sl_variable *v = i < types ? lib->spReflectionGeneric_GetTypeParameter(generic, i)
                                        : lib->spReflectionGeneric_GetValueParameter(generic, i - types);
        if (!v) continue;
        spy_decl node = spyi_sl_node(b, i < types ? SPY_DECL_GENERIC_TYPE : SPY_DECL_GENERIC_VALUE,
                                     lib->spReflectionVariable_GetName(v));
        spyi_text_clear(&path);
        spyi_text_add(&path, "%s::%s", scope->path, node.name);
        node.path = spyi_sl_keep(b->to, spyi_text_str(&path));
        if (i >= types) {
            spyi_sl_variable_node(b, v, &node);
            node.text = spyi_sl_variable_text(b, &node);
            spyi_sl_push(b, out, &node);
            continue;
        }
        spyi_sl_nodes constraints = { NULL, 0, 0 };
        spyi_text text = { NULL, 0, 0 };
        spyi_text_add(&text, "%s", node.name);
        unsigned count = lib->spReflectionGeneric_GetTypeParameterConstraintCount(generic, v);
        for (unsigned k = 0; k < count; ++k) {
            spyi_sl_type *slang = lib->spReflectionGeneric_GetTypeParameterConstraintType(generic, v, k);
            if (!slang) continue;
            const spy_type_info *type = spyi_sl_type_info_of(b, slang);
            spy_decl constraint = spyi_sl_node(b, SPY_DECL_CONSTRAINT, type->name);
            constraint.type = type;
            constraint.text = type->name;
            spyi_text_add(&text, "%s%s", k ? " & " : " : ", type->name);
            spyi_sl_push(b, &constraints, &constraint);
        }
        node.text = spyi_sl_keep_text(b->to, &text);
        spyi_sl_give_children(b, &node, &constraints);
        spyi_sl_push(b, out, &node);
    }
    spyi_text_free(&path);
}

// >>functions

static void spyi_sl_parameter_node(spyi_sl_builder *b, spyi_sl_variable *v, const char *path,
                                   spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    const char *name = lib->spReflectionVariable_GetName(v);
    bool anonymous = name && strncmp(name, "SLANG_anonymous_", strlen("SLANG_anonymous_")) == 0;
    spy_decl node = spyi_sl_node(b, SPY_DECL_PARAMETER, anonymous ? "" : name);
    bool is_out = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_OUT) != NULL,
         is_inout = lib->spReflectionVariable_FindModifier(v, SPYI_SL_MODIFIER_INOUT) != NULL;
    spyi_text own = { NULL, 0, 0 };
    if (*node.name) spyi_text_add(&own, "%s::%s", path, node.name);
    node.path = spyi_sl_keep_text(b->to, &own);
    spyi_sl_variable_node(b, v, &node);
    if (is_out || is_inout) node.flags |= SPY_DECL_OUT;
    if (!is_out || is_inout) node.flags |= SPY_DECL_IN;
    node.text = spyi_sl_variable_text(b, &node);
    spyi_sl_push(b, out, &node);
}

// Stage and group size, when the function is one of the module's entry points.
static void spyi_sl_entry(spyi_sl_builder *b, const spyi_sl_function *function, spy_decl *node) {
    spyi_sl_module *module = b->live->module;
    int32_t count = module->v->getDefinedEntryPointCount(module);
    for (int32_t i = 0; i < count && node->stage == SPY_STAGE_NONE; ++i) {
        spyi_sl_entry_point *entry = NULL;
        spyi_sl_blob *diagnostics = NULL;
        if (module->v->getDefinedEntryPoint(module, i, &entry) < 0 || !entry) continue;
        spyi_sl_layout *layout = entry->v->getFunctionReflection(entry) == function
                                     ? entry->v->getLayout(entry, 0, &diagnostics)
                                     : NULL;
        spyi_sl_blob_free(&diagnostics);
        if (layout && b->lib->spReflection_getEntryPointCount(layout) > 0) {
            spyi_sl_entry_layout *of = b->lib->spReflection_getEntryPointByIndex(layout, 0);
            uint32_t stage = b->lib->spReflectionEntryPoint_getStage(of);
            uint64_t size[3] = { 0, 0, 0 };
            // The numbers are Slang's; later ones have no name here.
            node->stage = stage <= (uint32_t)SPYI_SL_STAGE_DISPATCH ? (spy_stage)stage : SPY_STAGE_NONE;
            if (node->stage == SPY_STAGE_COMPUTE || node->stage == SPY_STAGE_MESH ||
                node->stage == SPY_STAGE_AMPLIFICATION)
                b->lib->spReflectionEntryPoint_getComputeThreadGroupSize(of, 3, size);
            for (int k = 0; k < 3; ++k) node->group_size[k] = (uint32_t)size[k];
        }
        entry->v->release(entry);
    }
}

static void spyi_sl_function_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                  const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    static const struct {
        uint32_t modifier, flag;
    } modifiers[] = { { SPYI_SL_MODIFIER_STATIC, SPY_DECL_STATIC },
                      { SPYI_SL_MODIFIER_EXPORT, SPY_DECL_EXPORT },
                      { SPYI_SL_MODIFIER_EXTERN, SPY_DECL_EXTERN },
                      { SPYI_SL_MODIFIER_MUTATING, SPY_DECL_MUTATING },
                      { SPYI_SL_MODIFIER_DIFFERENTIABLE, SPY_DECL_DIFFERENTIABLE } };
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *function = lib->spReflectionDecl_castToFunction(decl);
    bool global = scope->kind == SPY_DECL_MODULE || scope->kind == SPY_DECL_NAMESPACE,
         constructor = strcmp(name, "$init") == 0;
    spyi_text own = { NULL, 0, 0 };
    if (!function) return;
    // Slang calls operators by their sign alone.
    bool word = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_';
    spyi_text_add(&own, "%s%s", word || constructor ? "" : "operator", constructor ? "__init" : name);
    spy_decl node = spyi_sl_node(b,
                                 constructor ? SPY_DECL_CONSTRUCTOR
                                 : global    ? SPY_DECL_FUNCTION
                                             : SPY_DECL_METHOD,
                                 spyi_text_str(&own));
    spyi_text_free(&own);
    spyi_sl_place(b, decl, scope, &node);
    for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; ++i)
        if (lib->spReflectionFunction_FindModifier(function, modifiers[i].modifier))
            node.flags |= modifiers[i].flag;
    spyi_sl_type *result = lib->spReflectionFunction_GetResultType(function);
    if (result) node.type = spyi_sl_type_info_of(b, result);
    spyi_sl_attributes(b, SPYI_SL_OF_FUNCTION, function, &node);
    if (global) spyi_sl_entry(b, function, &node);
    if (global && spyi_sl_is_cuda_kernel(b->unit, b->live, node.path)) node.flags |= SPY_DECL_CUDA_KERNEL;
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_scope inside = { node.kind, node.path, NULL, decl, scope->depth + 1 };
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    unsigned count = lib->spReflectionFunction_GetParameterCount(function);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable *v = lib->spReflectionFunction_GetParameter(function, i);
        if (v) spyi_sl_parameter_node(b, v, node.path, &nodes);
    }
    node.text = spyi_sl_function_text(b, &node, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>variables

// Place of a global that the host sets; false: it is none.
static bool spyi_sl_shader_parameter(spyi_sl_builder *b, const spyi_sl_variable *variable, spy_decl *node) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflection_GetParameterCount(b->live->layout);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable_layout *place = lib->spReflection_GetParameterByIndex(b->live->layout, i);
        if (!place || lib->spReflectionVariableLayout_GetVariable(place) != variable) continue;
        bool block = node->type && node->type->kind == SPY_TYPE_PARAMETER_BLOCK;
        node->device_offset_bytes =
            lib->spReflectionVariableLayout_GetOffset(place, SPYI_SL_CATEGORY_UNIFORM);
        node->binding =
            (uint32_t)lib->spReflectionVariableLayout_GetOffset(place, SPYI_SL_CATEGORY_DESCRIPTOR);
        node->space =
            (uint32_t)(block
                           ? lib->spReflectionVariableLayout_GetOffset(place, SPYI_SL_CATEGORY_REGISTER_SPACE)
                           : lib->spReflectionVariableLayout_GetSpace(place, SPYI_SL_CATEGORY_DESCRIPTOR));
        return true;
    }
    return false;
}

static void spyi_sl_declare_variable(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                     spyi_sl_nodes *out) {
    spyi_sl_variable *v = b->lib->spReflectionDecl_castToVariable(decl);
    if (!v) return;
    spy_decl node = spyi_sl_node(b, SPY_DECL_VARIABLE, b->lib->spReflectionVariable_GetName(v));
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_variable_node(b, v, &node);
    if (scope->kind == SPY_DECL_STRUCT && !(node.flags & SPY_DECL_STATIC)) {
        node.kind = SPY_DECL_FIELD;
        for (uint32_t i = 0; scope->type && i < scope->type->field_count; ++i) {
            const spyi_field *f = &scope->type->fields[i];
            if (strcmp(f->name, node.name) != 0) continue;
            node.offset_bytes = f->host_offset;
            node.device_offset_bytes = f->device_offset;
        }
    } else if (spyi_sl_shader_parameter(b, v, &node)) {
        node.kind = SPY_DECL_SHADER_PARAMETER;
    }
    node.text = spyi_sl_variable_text(b, &node);
    spyi_sl_push(b, out, &node);
}

// >>types

static void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out);

// The cases are fields of the type, in the order in which they are declared.
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
        spy_decl node = spyi_sl_node(b, SPY_DECL_ENUM_CASE, name);
        spyi_text text = { NULL, 0, 0 };
        ++next;
        spyi_sl_place(b, child, scope, &node);
        spyi_sl_variable_node(b, v, &node);
        node.flags &= ~(uint32_t)SPY_DECL_HAS_DEFAULT;
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

// A struct, enum, interface or class. `slang`: its type; NULL where libslang does not give it.
static void spyi_sl_type_node(spyi_sl_builder *b, spy_decl_kind kind, spyi_sl_decl *decl, spyi_sl_type *slang,
                              spyi_sl_generic *generic, const char *name, const spyi_sl_scope *scope,
                              spyi_sl_nodes *out) {
    spy_decl node = spyi_sl_node(b, kind, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_scope inside = { kind, node.path, NULL, decl, scope->depth + 1 };
    if (b->lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_EXTERN)) node.flags |= SPY_DECL_EXTERN;
    if (b->lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_EXPORT)) node.flags |= SPY_DECL_EXPORT;
    if (slang) {
        inside.type = spyi_sl_to_type(b->unit, b->live, slang, b->open != 0);
        node.type = spyi_sl_type_info(b, inside.type, slang);
        spyi_sl_attributes(b, SPYI_SL_OF_TYPE, slang, &node);
        spyi_sl_meet_type(b, slang);
    }
    if (generic) spyi_sl_generic_nodes(b, generic, &inside, &nodes);
    node.text = spyi_sl_scope_text(b,
                                   kind == SPY_DECL_STRUCT      ? "struct"
                                   : kind == SPY_DECL_ENUM      ? "enum"
                                   : kind == SPY_DECL_INTERFACE ? "interface"
                                                                : "class",
                                   &node, &nodes);
    if (kind != SPY_DECL_ENUM) spyi_sl_declare_all(b, &inside, &nodes);
    else if (slang) spyi_sl_case_nodes(b, slang, &inside, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>what libslang does not name

static spyi_sl_decl *spyi_sl_child_named(spyi_sl_builder *b, spyi_sl_decl *decl, const char *name) {
    unsigned count = b->lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = b->lib->spReflectionDecl_getChild(decl, i);
        const char *own = child ? b->lib->spReflectionDecl_getName(child) : NULL;
        if (own && strcmp(own, name) == 0) return child;
    }
    return NULL;
}

static bool spyi_sl_is_property(spyi_sl_builder *b, spyi_sl_decl *decl) {
    return (spyi_sl_child_named(b, decl, "get") || spyi_sl_child_named(b, decl, "set") ||
            spyi_sl_child_named(b, decl, "ref")) &&
           !spyi_sl_child_named(b, decl, "This"); // an interface may have methods of these names
}

static void spyi_sl_property_node(spyi_sl_builder *b, spyi_sl_decl *decl, const char *name,
                                  const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    bool subscript = strncmp(name, "operator", 8) == 0;
    spy_decl node = spyi_sl_node(b, subscript ? SPY_DECL_SUBSCRIPT : SPY_DECL_PROPERTY, name);
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_place(b, decl, scope, &node);
    if (lib->spReflectionDecl_findModifier(decl, SPYI_SL_MODIFIER_STATIC)) node.flags |= SPY_DECL_STATIC;
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
            node.flags |= SPY_DECL_GETTER;
            type = lib->spReflectionFunction_GetResultType(f);
        } else if (!node.type && lib->spReflectionFunction_GetParameterCount(f) > 0) {
            spyi_sl_variable *value = lib->spReflectionFunction_GetParameter(f, 0);
            type = value ? lib->spReflectionVariable_GetType(value) : NULL;
        }
        if (strcmp(own, "get") != 0) node.flags |= SPY_DECL_SETTER; // "ref" is both
        if (type) node.type = spyi_sl_type_info_of(b, type);
    }
    spyi_text text = { NULL, 0, 0 };
    if (node.flags & SPY_DECL_STATIC) spyi_text_add(&text, "static ");
    spyi_text_add(&text, "%s%s %s", subscript ? "" : "property ", spyi_sl_type_text(&node), name);
    if (subscript) {
        spyi_text_add(&text, "(");
        spyi_sl_add_list(&nodes, false, &text);
        spyi_text_add(&text, ")");
    }
    spyi_text_add(&text, " {%s%s }", node.flags & SPY_DECL_GETTER ? " get;" : "",
                  node.flags & SPY_DECL_SETTER ? " set;" : "");
    node.text = spyi_sl_keep_text(b->to, &text);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// Slang declares each attribute struct NameAttribute again, as Name.
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
    bool associated = scope->kind == SPY_DECL_INTERFACE;
    spy_decl node = spyi_sl_node(b, associated ? SPY_DECL_ASSOCIATED_TYPE : SPY_DECL_ALIAS, name);
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
    bool global = scope->kind == SPY_DECL_MODULE || scope->kind == SPY_DECL_NAMESPACE;
    spyi_text path = { NULL, 0, 0 }, full = { NULL, 0, 0 };
    if (scope->kind == SPY_DECL_INTERFACE && strcmp(name, "This") == 0) return;
    if (spyi_sl_is_property(b, decl)) {
        spyi_sl_property_node(b, decl, name, scope, out);
        return;
    }
    spyi_text_add(&path, "%s%s%s", scope->path, *scope->path ? "::" : "", name);
    // A generic's name alone is no type.
    spyi_sl_type *slang = b->open ? NULL : spyi_sl_type_named(b->unit, b->live, spyi_text_str(&path));
    if (slang) spyi_sl_full_name(b->unit, slang, &full);
    for (char *p = full.data; p && *p; ++p) // "ns.Name" and "ns::Name" alike
        if (*p == '.') *p = ':';
    const char *last = full.data ? strrchr(full.data, ':') : NULL;
    bool own_type = slang && strcmp(last ? last + 1 : spyi_text_str(&full), name) == 0;
    if (spyi_sl_child_named(b, decl, "This")) {
        spyi_sl_type_node(b, SPY_DECL_INTERFACE, decl, slang, generic, name, scope, out);
    } else if (spyi_sl_is_attribute(b, name, scope)) {
        // the struct is there already
    } else if (own_type && b->lib->spReflectionType_GetKind(slang) == 0 &&
               scope->kind != SPY_DECL_INTERFACE) {
        spyi_sl_type_node(b, SPY_DECL_OTHER, decl, slang, generic, name, scope, out);
    } else if (slang || b->open) {
        spyi_sl_alias_node(b, decl, slang, generic, name, scope, out);
    } else if (global) { // an __include'd file; the module's own name has nothing inside
        spyi_sl_scope file = *scope;
        file.decl = decl;
        file.depth++;
        spyi_sl_declare_all(b, &file, out);
    }
    spyi_text_free(&path);
    spyi_text_free(&full);
}

// >>extensions

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

// The type that has the method: one of the module's so far, or a built-in one. Inside a generic only generic ones: all
// types that implement I have the methods of extension<T : I> T.
static spyi_sl_type *spyi_sl_extended(spyi_sl_builder *b, const char *name, const spyi_sl_decl *method) {
    spyi_types *types = b->unit->compiler->types;
    for (uint32_t i = 0; i < b->type_count; ++i) {
        if (b->open && !strchr(spyi_sl_type_info_of(b, b->types[i])->name, '<')) continue;
        if (spyi_sl_has_method(b, b->types[i], name, method)) return b->types[i];
    }
    for (uint32_t columns = 1; columns <= 4 && !b->open; ++columns) {
        for (int scalar = SPY_BOOL; scalar < SPY_DTYPE_COUNT; ++scalar) {
            const spyi_type *type = columns == 1 ? spyi_type_scalar(types, (spy_dtype)scalar)
                                                 : spyi_type_vector(types, (spy_dtype)scalar, columns);
            spyi_sl_type *slang = spyi_sl_type_of(b->unit, b->live, type);
            if (slang && spyi_sl_has_method(b, slang, name, method)) return slang;
        }
    }
    return NULL;
}

// Whether Slang made the operator: a generic method's derivatives come with an operator() whose text is in the core module.
static bool spyi_sl_is_core_operator(spyi_sl_builder *b, spyi_sl_decl *decl) {
    spyi_sl_source_location location = { NULL, 0, 0 };
    return b->live->session->v->getDeclSourceLocation(b->live->session, decl, &location) < 0 ||
           !location.filePath || strcmp(location.filePath, "core") == 0;
}

// Nothing says that an unnamed declaration is an extension, but that it holds functions which are no derivatives, or
// properties. Gives its first function with a name; NULL when there are properties and operators only: libslang reads the
// name that it is asked for as an expression, and crashes at "()".
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

// "ns.Grid<T, N>" as a path: "ns::Grid".
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

static void spyi_sl_extension_node(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                   spyi_sl_nodes *out) {
    const char *name = NULL;
    spyi_sl_decl *method = NULL;
    if (!spyi_sl_is_extension(b, decl, &method, &name)) return;
    spyi_sl_type *slang = method ? spyi_sl_extended(b, name, method) : NULL;
    const spy_type_info *type = slang ? spyi_sl_type_info_of(b, slang) : NULL;
    spy_decl node = spyi_sl_node(b, SPY_DECL_EXTENSION, type ? type->name : "");
    spyi_sl_scope root = { SPY_DECL_EXTENSION, "", NULL, decl, scope->depth + 1 };
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    node.type = type;
    root.path = spyi_sl_type_path(b, node.name);
    node.text = spyi_sl_scope_text(b, "extension", &node, NULL);
    spyi_sl_declare_all(b, &root, &nodes);
    spyi_sl_give_children(b, &node, &nodes);
    spyi_sl_push(b, out, &node);
}

// >>the walk

static void spyi_sl_declare(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                            bool extensions, spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    const char *name = lib->spReflectionDecl_getName(decl);
    unsigned kind = lib->spReflectionDecl_getKind(decl);
    bool unnamed = !name || !*name;
    if (unnamed != extensions) return;
    if (!unnamed && strchr(name, '$') && strcmp(name, "$init") != 0) return; // Slang's own
    spyi_sl_generic *generic =
        kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(decl) : NULL; // crashes on others
    if (kind == SPYI_SL_DECL_GENERIC) {
        decl = generic ? lib->spReflectionGeneric_GetInnerDecl(generic) : NULL;
        if (!decl) return;
        kind = lib->spReflectionDecl_getKind(decl);
        b->open++;
    }
    if (unnamed) {
        if (kind == SPYI_SL_DECL_UNSUPPORTED) spyi_sl_extension_node(b, decl, scope, out);
    } else if (kind == SPYI_SL_DECL_STRUCT || kind == SPYI_SL_DECL_ENUM) {
        spyi_sl_type_node(b, kind == SPYI_SL_DECL_STRUCT ? SPY_DECL_STRUCT : SPY_DECL_ENUM, decl,
                          lib->spReflection_getTypeFromDecl(decl), generic, name, scope, out);
    } else if (kind == SPYI_SL_DECL_FUNCTION) {
        spyi_sl_function_node(b, decl, generic, name, scope, out);
    } else if (kind == SPYI_SL_DECL_VARIABLE) {
        spyi_sl_declare_variable(b, decl, scope, out);
    } else if (kind == SPYI_SL_DECL_NAMESPACE) {
        spy_decl node = spyi_sl_node(b, SPY_DECL_NAMESPACE, name);
        spyi_sl_nodes nodes = { NULL, 0, 0 };
        spyi_sl_place(b, decl, scope, &node);
        spyi_sl_scope inside = { SPY_DECL_NAMESPACE, node.path, NULL, decl, scope->depth + 1 };
        node.text = spyi_sl_scope_text(b, "namespace", &node, NULL);
        spyi_sl_declare_all(b, &inside, &nodes);
        spyi_sl_give_children(b, &node, &nodes);
        spyi_sl_push(b, out, &node);
    } else if (kind == SPYI_SL_DECL_UNSUPPORTED) {
        spyi_sl_declare_other(b, decl, generic, name, scope, out);
    }
    if (generic) b->open--;
}

// Extensions come last: they are recognised by the types that have been met.
static void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
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
        spy_decl node = spyi_sl_node(b, SPY_DECL_IMPORT, name);
        node.file = spyi_sl_keep(b->to, m->v->getFilePath(m));
        node.text = spyi_sl_scope_text(b, "import", &node, NULL);
        spyi_sl_push(b, out, &node);
    }
}

// Nodes have their places now: parents are known, and types their declarations.
static void spyi_sl_link(spy_decl *node) {
    for (uint32_t i = 0; i < node->child_count; ++i) {
        spy_decl *child = (spy_decl *)(uintptr_t)&node->children[i];
        child->parent = node;
        spyi_sl_link(child);
    }
    if (!node->type ||
        (node->kind != SPY_DECL_STRUCT && node->kind != SPY_DECL_ENUM && node->kind != SPY_DECL_INTERFACE))
        return;
    spy_type_info *type = (spy_type_info *)(uintptr_t)node->type;
    type->decl = node;
    if (node->kind == SPY_DECL_STRUCT) {
        type->fields = node->children;
        while (type->field_count < node->child_count &&
               node->children[type->field_count].kind == SPY_DECL_FIELD)
            type->field_count++;
    }
}

static void spyi_sl_ask_declare(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_declarations *to = (spyi_declarations *)context;
    spyi_sl_nodes nodes = { NULL, 0, 0 };
    spyi_sl_builder b;
    spyi_sl_builder_open(&b, to, unit, live);
    spyi_sl_decl *root = live->module->v->getModuleReflection(live->module);
    spyi_sl_scope scope = { SPY_DECL_MODULE, "", NULL, root, 0 };
    to->root = spyi_sl_node(&b, SPY_DECL_MODULE, unit->name);
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
    if (spyi_sl_ask(unit, 1, "list declarations", spyi_sl_ask_declare, to, NULL) == SPY_OK && !to->failed)
        return to;
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

const spy_type_info *spyi_declarations_type(spyi_declarations *declarations, spyi_unit *unit,
                                            const spyi_type *type) {
    if (type->id < declarations->by_id_count && declarations->by_id[type->id])
        return declarations->by_id[type->id];
    spyi_sl_declaring d;
    d.to = declarations;
    d.type = type;
    d.info = NULL;
    spyi_sl_ask(unit, 1, "describe a type", spyi_sl_ask_type_info, &d, NULL);
    return declarations->failed ? NULL : d.info;
}
