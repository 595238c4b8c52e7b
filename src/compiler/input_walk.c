// Walks through Slang's layout of a program and adds each shader parameter to the list of inputs (inputs.c).
// Slang gives each variable's offset relative to the struct or buffer that contains it. Plain data lies in
// the uniform buffer of the ConstantBuffer<T> or ParameterBlock<T> around it; loose globals lie in one that
// Slang makes for all of them. Source: Slang's user guide, "Using the Reflection API".
//
// CUDA has no descriptors. A buffer is data too, and a ConstantBuffer<T> or ParameterBlock<T> is the address
// of a uniform buffer, stored in the struct or buffer that contains it. Loose globals lie in a uniform buffer
// that has no address.
#include "compiler/inputs.h"

static void spyi_sl_walk_fields(spyi_sl_walk *w, spyi_sl_type_layout *layout, const char *path,
                                const spyi_sl_at *at) {
    unsigned count = w->lib->spReflectionTypeLayout_GetFieldCount(layout);
    bool moved = w->target->is_moved(w->unit, layout);
    for (unsigned i = 0; i < count && !w->failed; ++i) {
        spyi_sl_variable_layout *field = w->lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        spyi_sl_variable *variable = field ? w->lib->spReflectionVariableLayout_GetVariable(field) : NULL;
        const char *name = variable ? w->lib->spReflectionVariable_GetName(variable) : NULL;
        // The kernel's own block is no input.
        if (!name || (!*path && strcmp(name, "spyi_block") == 0)) continue;
        spyi_text full = { NULL, 0, 0 };
        spyi_sl_at inner = *at;
        if (!*path && strncmp(name, SPYI_HOLDER_PREFIX, strlen(SPYI_HOLDER_PREFIX)) == 0)
            inner.parameter = true;
        spyi_text_add(&full, "%s%s%s", path, *path ? "." : "", name);
        if (moved) // undone here, because spyi_sl_walk_input() adds reflection's offset again
            inner.offset += w->target->field(w->unit, layout, !*path, i) -
                            w->lib->spReflectionVariableLayout_GetOffset(field, SPYI_SL_CATEGORY_UNIFORM);
        spyi_sl_walk_input(w, field, spyi_text_str(&full), inner);
        spyi_text_free(&full);
    }
}

// Adds the inputs inside a ConstantBuffer<T> or (`block`) a ParameterBlock<T>.
static void spyi_sl_walk_holder(spyi_sl_walk *w, spyi_sl_type_layout *layout, const char *path, spyi_sl_at at,
                                bool block) {
    const spyi_sl_library *lib = w->lib;
    spyi_sl_variable_layout *container = lib->spReflectionTypeLayout_getContainerVarLayout(layout);
    spyi_sl_variable_layout *element = lib->spReflectionTypeLayout_GetElementVarLayout(layout);
    if (!element) return;
    at.data_set = at.set;
    at.data_binding = at.binding;
    if (container)
        at.data_binding += lib->spReflectionVariableLayout_GetOffset(container, SPYI_SL_CATEGORY_DESCRIPTOR);
    if (block)
        at.binding = at.entry_binding; // Slang 2026.12 and 2026.14.1 number bindings like this; for
                                       // globals the number is 0
    spyi_sl_type_layout *held = lib->spReflectionVariableLayout_GetTypeLayout(element);
    at.data_size = w->target->size(w->unit, held);
    if (w->rules->by_address) spyi_sl_add_uniform(w, &at, *path ? at.holder : SPYI_HOLDER_NONE, at.data_size);
    at.offset = 0;
    spyi_sl_walk_input(w, element, path, at);
}

// With rules->unsized_arrays: adds a T[] and its uniform buffer, whose length a call decides. A T[] of plain
// data takes a tensor, like a StructuredBuffer, whose layout is the same.
static void spyi_sl_add_unsized(spyi_sl_walk *w, spyi_sl_type *slang, const char *path, const spyi_type *type,
                                const spyi_sl_at *at) {
    const spyi_sl_library *lib = w->lib;
    spyi_text text = { NULL, 0, 0 };
    if (!spyi_type_is_unsized(type)) {
        const spyi_type *element =
            spyi_sl_to_type(w->unit, w->live, lib->spReflectionType_GetElementType(slang), false);
        bool plain = element->kind != SPYI_TYPE_OTHER && element->kind != SPYI_TYPE_VOID && at->data_size > 0;
        spyi_text_add(&text, "StructuredBuffer<%s>", element->name);
        if (plain) type = spyi_type_other(w->unit->compiler->types, spyi_text_str(&text));
        spyi_sl_add_input(w, plain ? SPYI_INPUT_DATA : SPYI_INPUT_FOREIGN, path, type, at);
    } else {
        spyi_sl_at inner = *at;
        spyi_sl_add_input(w, SPYI_INPUT_DATA, path, type, at);
        spyi_sl_add_uniform(w, &inner, at->holder, 0);
        inner.offset = 0;
        spyi_text_add(&text, "%s[]", path);
        if (!w->failed)
            spyi_sl_add_input(w, SPYI_INPUT_DATA, spyi_text_str(&text), type->fields[0].type, &inner);
        if (!w->failed) w->inputs->items[w->inputs->count - 1].elements = true;
    }
    spyi_text_free(&text);
}

// Adds a texture, sampler, buffer, or an array of these, whose elements are inputs of their own.
static void spyi_sl_add_resource(spyi_sl_walk *w, spyi_sl_type *slang, const char *path,
                                 const spyi_type *type, const spyi_sl_at *at) {
    const spyi_sl_library *lib = w->lib;
    bool array = spyi_type_is_bound_array(type);
    if (spyi_type_is_unsized(type)) {
        spyi_sl_add_input(w, SPYI_INPUT_FOREIGN, path, type, at);
        return;
    }
    uint32_t count = array ? type->field_count : 1;
    if (array) {
        spyi_sl_add_input(w, SPYI_INPUT_GROUP, path, type, at);
        slang = lib->spReflectionType_GetElementType(slang);
    }
    bool buffer = spyi_sl_is_buffer(lib, slang);
    bool texels = buffer && (lib->spReflectionType_GetResourceShape(slang) & SPYI_SL_SHAPE_MASK) ==
                                SPYI_SL_SHAPE_TEXELS;
    const spyi_type *texel =
        texels ? spyi_sl_to_type(w->unit, w->live, lib->spReflectionType_GetResourceResultType(slang), false)
               : NULL;
    spyi_texture_form texture;
    bool image =
        !buffer && spyi_texture_form_read(array ? type->fields[0].type->name : type->name, NULL, &texture);
    bool known = image ? w->rules->textures : buffer && (!texels || w->rules->typed_buffers);
    spyi_input_kind kind = !known                 ? SPYI_INPUT_FOREIGN
                           : w->rules->by_address ? SPYI_INPUT_DATA
                                                  : SPYI_INPUT_BINDING;
    for (uint32_t i = 0; i < count; ++i) {
        spyi_text full = { NULL, 0, 0 };
        spyi_sl_at one = *at;
        // With rules->by_address a buffer is an address and a count, and a texture is a handle.
        one.offset += (image ? 8 : 16) * i;
        spyi_text_add(&full, "%s%s", path, array ? type->fields[i].name : "");
        spyi_sl_binding *binding =
            spyi_sl_add_input(w, kind, spyi_text_str(&full), array ? type->fields[i].type : type, &one);
        spyi_text_free(&full);
        if (!binding) return;
        binding->count = i ? 0 : count;
        binding->texel = texel;
        if (image) binding->kind = texture.kind;
    }
}

SPYI_FN void spyi_sl_walk_input(spyi_sl_walk *w, spyi_sl_variable_layout *variable, const char *path,
                                spyi_sl_at at) {
    const spyi_sl_library *lib = w->lib;
    spyi_sl_type_layout *layout = lib->spReflectionVariableLayout_GetTypeLayout(variable);
    spyi_sl_type *slang = layout ? lib->spReflectionTypeLayout_GetType(layout) : NULL;
    if (!layout || (*path && !slang) || ++at.depth > SPYI_SL_DEEPEST_INPUT)
        return; // the struct of all globals has no spyi_type
    if (lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_CONSTANT) > 0)
        return; // specialization constants are fixed in the code
    at.offset += lib->spReflectionVariableLayout_GetOffset(variable, SPYI_SL_CATEGORY_UNIFORM);
    at.binding += lib->spReflectionVariableLayout_GetOffset(variable, SPYI_SL_CATEGORY_DESCRIPTOR);
    at.set += lib->spReflectionVariableLayout_GetSpace(variable, SPYI_SL_CATEGORY_DESCRIPTOR);
    unsigned kind = lib->spReflectionTypeLayout_getKind(layout);
    if (kind == SPYI_SL_KIND_PARAMETER_BLOCK) { // a ParameterBlock has a descriptor set of its own
        at.set += at.entry_set;
        at.set += lib->spReflectionVariableLayout_GetOffset(variable, SPYI_SL_CATEGORY_REGISTER_SPACE);
        at.binding = 0;
    }
    if ((kind == SPYI_SL_KIND_CONSTANT_BUFFER || kind == SPYI_SL_KIND_PARAMETER_BLOCK) &&
        lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_PUSH) == 0) {
        spyi_sl_walk_holder(w, layout, path, at, kind == SPYI_SL_KIND_PARAMETER_BLOCK);
        return;
    }
    if (!*path) {
        spyi_sl_walk_fields(w, layout, path, &at);
        return;
    }
    const spyi_type *type = spyi_sl_to_type(w->unit, w->live, slang, false);
    size_t bytes = lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_UNIFORM);
    bool descriptors = lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_DESCRIPTOR) > 0 ||
                       lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_REGISTER_SPACE) > 0;
    bool resource = kind == SPYI_SL_KIND_RESOURCE || spyi_type_is_bound_array(type);
    if (w->rules->unsized_arrays && spyi_sl_is_unsized(w->unit, slang)) {
        spyi_sl_add_unsized(w, slang, path, type, &at);
    } else if (resource && w->rules->by_address) { // the resource lies in the block of the kernel's own
                                                   // parameter
        if (at.data_size > 0) spyi_sl_add_resource(w, slang, path, type, &at);
    } else if (w->rules->by_address && kind == SPYI_SL_KIND_ARRAY &&
               type->kind == SPYI_TYPE_OTHER) { // an array of unsupported elements
        if (at.data_size > 0) spyi_sl_add_input(w, SPYI_INPUT_FOREIGN, path, type, &at);
    } else if (type->kind != SPYI_TYPE_OTHER || (bytes > 0 && !descriptors)) {
        // A uniform buffer's layout is that of device memory, so fields are found through the type. Data
        // outside of uniform buffers belongs to the entry point and lies in push constants.
        if (at.data_size > 0) spyi_sl_add_input(w, SPYI_INPUT_DATA, path, type, &at);
        if (at.data_size > 0 && type->kind == SPYI_TYPE_OTHER && kind == SPYI_SL_KIND_STRUCT)
            spyi_sl_walk_fields(w, layout, path, &at);
    } else if (kind == SPYI_SL_KIND_STRUCT) {
        spyi_sl_add_input(w, SPYI_INPUT_GROUP, path, type, &at);
        spyi_sl_walk_fields(w, layout, path, &at);
    } else {
        spyi_sl_add_resource(w, slang, path, type, &at);
    }
}
