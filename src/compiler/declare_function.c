// Adds the nodes of functions and variables, and of their generic parameters.
#include "compiler/declare.h"

SPYI_FN void spyi_sl_generic_nodes(spyi_sl_builder *b, spyi_sl_generic *generic, const spyi_sl_scope *scope,
                                   spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    spyi_text path = { NULL, 0, 0 };
    unsigned types = lib->spReflectionGeneric_GetTypeParameterCount(generic),
             values = lib->spReflectionGeneric_GetValueParameterCount(generic);
    for (unsigned i = 0; i < types + values; ++i) {
        spyi_sl_variable *v = i < types ? lib->spReflectionGeneric_GetTypeParameter(generic, i)
                                        : lib->spReflectionGeneric_GetValueParameter(generic, i - types);
        if (!v) continue;
        spy_decl node = spyi_sl_node(b, i < types ? SPY_DECL_KIND_GENERIC_TYPE : SPY_DECL_KIND_GENERIC_VALUE,
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
            spy_decl constraint = spyi_sl_node(b, SPY_DECL_KIND_CONSTRAINT, type->name);
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

SPYI_FN void spyi_sl_parameter_node(spyi_sl_builder *b, spyi_sl_variable *v, const char *path,
                                    spyi_sl_nodes *out) {
    const spyi_sl_library *lib = b->lib;
    const char *name = lib->spReflectionVariable_GetName(v);
    bool anonymous = name && strncmp(name, "SLANG_anonymous_", strlen("SLANG_anonymous_")) == 0;
    spy_decl node = spyi_sl_node(b, SPY_DECL_KIND_PARAMETER, anonymous ? "" : name);
    spyi_sl_direction direction = spyi_sl_direction_of(lib, v);
    spyi_text own = { NULL, 0, 0 };
    if (*node.name) spyi_text_add(&own, "%s::%s", path, node.name);
    node.path = spyi_sl_keep_text(b->to, &own);
    spyi_sl_variable_node(b, v, &node);
    if (direction.out) node.flags |= SPY_DECL_FLAG_OUT;
    if (direction.in) node.flags |= SPY_DECL_FLAG_IN;
    if (direction.in_written) node.flags |= SPY_DECL_FLAG_IN_WRITTEN;
    node.text = spyi_sl_variable_text(b, &node);
    spyi_sl_push(b, out, &node);
}

// Sets stage and group size if the function is an entry point of the module.
static void spyi_sl_entry(spyi_sl_builder *b, const spyi_sl_function *function, spy_decl *node) {
    spyi_sl_module *module = b->live->module;
    int32_t count = module->v->getDefinedEntryPointCount(module);
    for (int32_t i = 0; i < count && node->stage == SPY_STAGE_NONE; ++i) {
        spyi_sl_entry_point *entry = NULL;
        spyi_sl_component *linked = NULL;
        if (module->v->getDefinedEntryPoint(module, i, &entry) < 0 || !entry) continue;
        spyi_sl_layout *layout = entry->v->getFunctionReflection(entry) == function
                                     ? spyi_sl_entry_layout_of(b->live, entry, &linked)
                                     : NULL;
        if (layout && b->lib->spReflection_getEntryPointCount(layout) > 0) {
            spyi_sl_entry_layout *of = b->lib->spReflection_getEntryPointByIndex(layout, 0);
            uint32_t stage = b->lib->spReflectionEntryPoint_getStage(of);
            uint64_t size[3] = { 0, 0, 0 };
            // spy_stage has Slang's numbers up to DISPATCH.
            node->stage = stage <= (uint32_t)SPYI_SL_STAGE_DISPATCH ? (spy_stage)stage : SPY_STAGE_NONE;
            if (node->stage == SPY_STAGE_COMPUTE || node->stage == SPY_STAGE_MESH ||
                node->stage == SPY_STAGE_AMPLIFICATION)
                b->lib->spReflectionEntryPoint_getComputeThreadGroupSize(of, 3, size);
            for (int k = 0; k < 3; ++k) node->group_size[k] = (uint32_t)size[k];
        }
        if (linked) linked->v->release(linked);
        entry->v->release(entry);
    }
}

SPYI_FN void spyi_sl_function_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                   const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out) {
    static const struct {
        uint32_t modifier, flag;
    } modifiers[] = { { SPYI_SL_MODIFIER_STATIC, SPY_DECL_FLAG_STATIC },
                      { SPYI_SL_MODIFIER_EXPORT, SPY_DECL_FLAG_EXPORT },
                      { SPYI_SL_MODIFIER_EXTERN, SPY_DECL_FLAG_EXTERN },
                      { SPYI_SL_MODIFIER_MUTATING, SPY_DECL_FLAG_MUTATING },
                      { SPYI_SL_MODIFIER_DIFFERENTIABLE, SPY_DECL_FLAG_DIFFERENTIABLE } };
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *function = lib->spReflectionDecl_castToFunction(decl);
    bool global = scope->kind == SPY_DECL_KIND_MODULE || scope->kind == SPY_DECL_KIND_NAMESPACE,
         constructor = strcmp(name, "$init") == 0;
    spyi_text own = { NULL, 0, 0 };
    if (!function) return;
    // Slang's name of an operator is only its sign.
    bool word = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_';
    spyi_text_add(&own, "%s%s", word || constructor ? "" : "operator", constructor ? "__init" : name);
    spy_decl node = spyi_sl_node(b,
                                 constructor ? SPY_DECL_KIND_CONSTRUCTOR
                                 : global    ? SPY_DECL_KIND_FUNCTION
                                             : SPY_DECL_KIND_METHOD,
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
    if (global && spyi_sl_is_cuda_kernel(b->unit, b->live, node.path))
        node.flags |= SPY_DECL_FLAG_CUDA_KERNEL;
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

// Sets the binding and offset of a global that the host sets. Returns false when the variable is no such
// global.
static bool spyi_sl_shader_parameter(spyi_sl_builder *b, const spyi_sl_variable *variable, spy_decl *node) {
    const spyi_sl_library *lib = b->lib;
    unsigned count = lib->spReflection_GetParameterCount(b->live->layout);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable_layout *place = lib->spReflection_GetParameterByIndex(b->live->layout, i);
        if (!place || lib->spReflectionVariableLayout_GetVariable(place) != variable) continue;
        bool block = node->type && node->type->kind == SPY_TYPE_KIND_PARAMETER_BLOCK;
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

SPYI_FN void spyi_sl_declare_variable(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                      spyi_sl_nodes *out) {
    spyi_sl_variable *v = b->lib->spReflectionDecl_castToVariable(decl);
    if (!v) return;
    spy_decl node = spyi_sl_node(b, SPY_DECL_KIND_VARIABLE, b->lib->spReflectionVariable_GetName(v));
    spyi_sl_place(b, decl, scope, &node);
    spyi_sl_variable_node(b, v, &node);
    if (scope->kind == SPY_DECL_KIND_STRUCT && !(node.flags & SPY_DECL_FLAG_STATIC)) {
        node.kind = SPY_DECL_KIND_FIELD;
        for (uint32_t i = 0; scope->type && i < scope->type->field_count; ++i) {
            const spyi_field *f = &scope->type->fields[i];
            if (strcmp(f->name, node.name) != 0) continue;
            node.offset_bytes = f->host_offset;
            node.device_offset_bytes = f->device_offset;
        }
    } else if (spyi_sl_shader_parameter(b, v, &node)) {
        node.kind = SPY_DECL_KIND_SHADER_PARAMETER;
    }
    node.text = spyi_sl_variable_text(b, &node);
    spyi_sl_push(b, out, &node);
}
