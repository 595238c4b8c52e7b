// Converts Slang's types to spyi_type and back.
#include "compiler/memo.h"

spyi_sl_type *spyi_sl_type_named(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    if (!spyi_sl_name_is_safe(name)) return NULL;
    spyi_sl_type *type = SPYI_SL_FUNCTION(unit, spReflection_FindTypeByName)(live->layout, name);
    live->kept_kib += 1;
    if (!type) return NULL;
    spyi_text full = { NULL, 0, 0 };
    spyi_sl_full_name(unit, type, &full);
    // Slang prints such a name for a type with wrong arguments, such as "Foo<float>" of Foo<let N : int>.
    bool good = full.size > 0 && !strstr(spyi_text_str(&full), "<error>");
    spyi_text_free(&full);
    return good ? type : NULL;
}

spyi_sl_type *spyi_sl_type_of(spyi_unit *unit, spyi_sl_live *live, const spyi_type *type) {
    if (!type || type->kind == SPYI_TYPE_VOID) return NULL;
    if (type->id >= live->by_id_count) {
        uint32_t count = (type->id + 64) * 2;
        spyi_sl_type **grown = (spyi_sl_type **)spyi_realloc((void *)live->by_id, count * sizeof *grown);
        if (!grown) return NULL;
        memset((void *)(grown + live->by_id_count), 0, (count - live->by_id_count) * sizeof *grown);
        live->by_id = grown;
        live->by_id_count = count;
    }
    if (!live->by_id[type->id]) live->by_id[type->id] = spyi_sl_type_named(unit, live, type->name);
    return live->by_id[type->id];
}

static spyi_sl_known *spyi_sl_known_slot(spyi_sl_live *live, const spyi_sl_type *slang) {
    size_t i = (size_t)(((uintptr_t)slang >> 4) * 0x9e3779b97f4a7c15ull >> 20) & (live->known_capacity - 1);
    while (live->known[i].slang && live->known[i].slang != slang) i = (i + 1) & (live->known_capacity - 1);
    return &live->known[i];
}

static void spyi_sl_known_add(spyi_sl_live *live, spyi_sl_type *slang, const spyi_type *type) {
    if (live->known_count * 2 >= live->known_capacity) {
        spyi_sl_known *old = live->known;
        uint32_t old_capacity = live->known_capacity, capacity = old_capacity ? old_capacity * 2 : 64;
        spyi_sl_known *grown = (spyi_sl_known *)spyi_calloc(capacity, sizeof *grown);
        if (!grown) return; // without memory the map is not extended, because it is only a cache
        live->known = grown;
        live->known_capacity = capacity;
        for (uint32_t i = 0; i < old_capacity; ++i)
            if (old[i].slang) *spyi_sl_known_slot(live, old[i].slang) = old[i];
        free(old);
    }
    spyi_sl_known *slot = spyi_sl_known_slot(live, slang);
    if (!slot->slang) live->known_count++;
    slot->slang = slang;
    slot->type = type;
}

static void spyi_sl_note_externs_in(spyi_unit *unit, spyi_sl_live *live, spyi_sl_decl *decl) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        unsigned kind = child ? lib->spReflectionDecl_getKind(child) : 0;
        if (kind == SPYI_SL_DECL_NAMESPACE || kind == SPYI_SL_DECL_STRUCT)
            spyi_sl_note_externs_in(unit, live, child);
        if (kind != SPYI_SL_DECL_STRUCT ||
            !lib->spReflectionDecl_findModifier(child, SPYI_SL_MODIFIER_EXTERN))
            continue;
        spyi_sl_type *type = lib->spReflection_getTypeFromDecl(child);
        if (!type) continue;
        spyi_text name = { NULL, 0, 0 };
        spyi_sl_full_name(unit, type, &name);
        spyi_sl_known_add(live, type, spyi_type_other(unit->compiler->types, spyi_text_str(&name)));
        spyi_text_free(&name);
    }
}

// Notes extern types. libslang crashes when it is asked for the layout of an extern struct, or of a struct
// with such a field.
void spyi_sl_note_externs(spyi_unit *unit, spyi_sl_live *live) {
    spyi_sl_int count = live->session->v->getLoadedModuleCount(live->session);
    for (spyi_sl_int i = 0; i < count; ++i) {
        spyi_sl_module *m = live->session->v->getLoadedModule(live->session, i);
        spyi_sl_decl *root = m ? m->v->getModuleReflection(m) : NULL;
        if (root) spyi_sl_note_externs_in(unit, live, root);
    }
}

static spy_dtype spyi_sl_scalar(unsigned slang) { // returns DEFAULT if there is no spy_dtype (intptr_t,
                                                  // bfloat16, generic)
    switch (slang) {
    case SPYI_SL_SCALAR_BOOL: return SPY_DTYPE_BOOL;
    case SPYI_SL_SCALAR_INT8: return SPY_DTYPE_INT8;
    case SPYI_SL_SCALAR_UINT8: return SPY_DTYPE_UINT8;
    case SPYI_SL_SCALAR_INT16: return SPY_DTYPE_INT16;
    case SPYI_SL_SCALAR_UINT16: return SPY_DTYPE_UINT16;
    case SPYI_SL_SCALAR_INT32: return SPY_DTYPE_INT32;
    case SPYI_SL_SCALAR_UINT32: return SPY_DTYPE_UINT32;
    case SPYI_SL_SCALAR_INT64: return SPY_DTYPE_INT64;
    case SPYI_SL_SCALAR_UINT64: return SPY_DTYPE_UINT64;
    case SPYI_SL_SCALAR_FLOAT16: return SPY_DTYPE_FLOAT16;
    case SPYI_SL_SCALAR_FLOAT32: return SPY_DTYPE_FLOAT32;
    case SPYI_SL_SCALAR_FLOAT64: return SPY_DTYPE_FLOAT64;
    default: return SPY_DTYPE_DEFAULT;
    }
}

// Returns whether libslang may crash or never return when it lays out a field of this type: the type contains
// an extern struct or one with unknown fields, or points to a struct, which may point to ever new structs.
static bool spyi_sl_is_unsafe(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned kind = slang ? lib->spReflectionType_GetKind(slang) : 0;
    if (kind == SPYI_SL_KIND_STRUCT) {
        const spyi_type *type = spyi_sl_to_type(unit, live, slang, false);
        return type->kind == SPYI_TYPE_OTHER && type->field_count == 0;
    }
    if (kind == SPYI_SL_KIND_RESOURCE)
        return spyi_sl_is_unsafe(unit, live, lib->spReflectionType_GetResourceResultType(slang));
    if (kind == SPYI_SL_KIND_POINTER) {
        spyi_sl_type *to = lib->spReflectionType_GetElementType(slang);
        return !to || spyi_sl_to_type(unit, live, to, false)->kind > SPYI_TYPE_MATRIX;
    }
    if (kind != SPYI_SL_KIND_ARRAY && kind != SPYI_SL_KIND_CONSTANT_BUFFER &&
        kind != SPYI_SL_KIND_PARAMETER_BLOCK)
        return false;
    return spyi_sl_is_unsafe(unit, live, lib->spReflectionType_GetElementType(slang));
}

// Returns whether a field of the struct is unsafe.
static bool spyi_sl_has_unsafe_field(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang) {
    const spyi_sl_library *lib = unit->compiler->library;
    for (unsigned i = 0; i < lib->spReflectionType_GetFieldCount(slang); ++i) {
        spyi_sl_variable *v = lib->spReflectionType_GetFieldByIndex(slang, i);
        if (!v || spyi_sl_is_unsafe(unit, live, lib->spReflectionVariable_GetType(v))) return true;
    }
    return false;
}

spyi_sl_uniform spyi_sl_uniform_of(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang) {
    const spyi_sl_library *lib = unit->compiler->library;
    const size_t most = SIZE_MAX / 4; // greater numbers are Slang's "unbounded" and "unknown"
    bool is_struct = lib->spReflectionType_GetKind(slang) == SPYI_SL_KIND_STRUCT;
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_uniform u = { 0, 0, 0 };
    if (spyi_sl_is_unsafe(unit, live, slang)) return u;
    if (is_struct && spyi_sl_has_unsafe_field(unit, live, slang)) return u;
    spyi_sl_type_layout *layout = live->session->v->getTypeLayout(live->session, slang, 0, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (!layout) return u;
    size_t size = lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_UNIFORM),
           stride = lib->spReflectionTypeLayout_GetStride(layout, SPYI_SL_CATEGORY_UNIFORM);
    int32_t align = lib->spReflectionTypeLayout_getAlignment(layout, SPYI_SL_CATEGORY_UNIFORM);
    if (size < most && stride < most && align > 0) {
        u.size = size;
        u.stride = stride;
        u.align = (size_t)align;
    }
    return u;
}

// Returns whether the struct is a Tensor, RWTensor, WeightTensor ... of the library's own modules, or one of
// Slang's views of tensors. Such a struct holds a pointer, but a call gives a tensor for it.
static bool spyi_sl_is_tensor(const char *name, const spyi_field *fields, unsigned count) {
    bool pointer = false, site = false;
    if (strncmp(name, "TensorView<", 11) == 0 || strncmp(name, "DiffTensorView<", 15) == 0) return true;
    for (unsigned i = 0; i < count; ++i) {
        pointer = pointer || spyi_type_is_pointer(fields[i].type);
        site = site || strcmp(fields[i].name, "_site") == 0;
    }
    return (pointer && site) || strncmp(name, "WeightTensor<", 13) == 0;
}

// Returns whether the struct has the attribute [FromTensor] (slang/slangpy_call.slang).
static bool spyi_sl_is_from_tensor(const spyi_sl_library *lib, spyi_sl_type *slang) {
    unsigned count = lib->spReflectionType_GetUserAttributeCount(slang);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_attribute *a = lib->spReflectionType_GetUserAttribute(slang, i);
        const char *name = a ? lib->spReflectionUserAttribute_GetName(a) : NULL;
        if (name && strcmp(name, "FromTensor") == 0) return true;
    }
    return false;
}

// Makes the type of a struct that cannot lie in memory.
static const spyi_type *spyi_sl_opaque(const spyi_sl_library *lib, spyi_types *types, spyi_sl_type *slang,
                                       const char *name, const spyi_field *fields, uint32_t count) {
    bool built = count > 0 && spyi_sl_is_from_tensor(lib, slang);
    return (built ? spyi_type_built : spyi_type_opaque)(types, name, fields, count);
}

// Makes the type of a struct whose layout libslang must not be asked for. If its fields are plain, or are
// pointers, for example to structs, its layout is the target's scalar layout; otherwise the type has fields,
// but no offsets.
static const spyi_type *spyi_sl_to_opaque(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang,
                                          const char *name) {
    spyi_types *types = unit->compiler->types;
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionType_GetFieldCount(slang);
    spyi_field *fields = (spyi_field *)spyi_calloc(count + 1, sizeof *fields);
    bool named = fields != NULL, plain = count > 0;
    size_t end = 0, align = 1;
    for (unsigned i = 0; i < count && named; ++i) {
        spyi_sl_variable *v = lib->spReflectionType_GetFieldByIndex(slang, i);
        fields[i].name = v ? lib->spReflectionVariable_GetName(v) : NULL;
        named = fields[i].name != NULL;
        if (!named) break;
        const spyi_type *field = spyi_sl_to_type(unit, live, lib->spReflectionVariable_GetType(v), false);
        fields[i].type = field;
        plain = plain && spyi_type_lies_in_structs(field);
        if (!plain) continue;
        fields[i].device_offset = spyi_align(end, field->device_align);
        end = fields[i].device_offset + field->device_size;
        if (field->device_align > align) align = field->device_align;
    }
    if (spyi_types_rules(types)->pads_structs) end = spyi_align(end, align);
    plain = plain && named && !spyi_sl_is_tensor(name, fields, count);
    const spyi_type *type = !named  ? spyi_type_other(types, name)
                            : plain ? spyi_type_struct(types, name, fields, count, end, align)
                                    : spyi_sl_opaque(lib, types, slang, name, fields, count);
    free(fields);
    return type;
}

static const spyi_type *spyi_sl_to_struct(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang,
                                          const char *name) {
    spyi_types *types = unit->compiler->types;
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL;
    const spyi_type *type = spyi_type_other(types, name);
    if (spyi_type_is_pair(type)) return type; // Slang's layout of a pair has no fields and no bytes
    type = NULL;
    // This is checked before libslang lays the struct out.
    if (spyi_sl_has_unsafe_field(unit, live, slang)) return spyi_sl_to_opaque(unit, live, slang, name);
    spyi_sl_type_layout *layout = live->session->v->getTypeLayout(live->session, slang, 0, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (!layout) return spyi_type_other(types, name);
    unsigned category = SPYI_SL_CATEGORY_UNIFORM, count = lib->spReflectionType_GetFieldCount(slang);
    size_t size = lib->spReflectionTypeLayout_GetSize(layout, category);
    // The layout of Tuple and similar types has fields that the type does not list.
    if (lib->spReflectionTypeLayout_GetFieldCount(layout) != count || (count == 0 && size > 0))
        return spyi_type_other(types, name);
    spyi_field *fields = (spyi_field *)spyi_calloc(count + 1, sizeof *fields);
    bool named = fields != NULL, plain = true;
    size_t end = 0;
    for (unsigned i = 0; i < count && named; ++i) {
        spyi_sl_variable *variable = lib->spReflectionType_GetFieldByIndex(slang, i);
        spyi_sl_variable_layout *place = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        fields[i].name = variable ? lib->spReflectionVariable_GetName(variable) : NULL;
        named = place && fields[i].name;
        if (!named) break;
        fields[i].type = spyi_sl_to_type(unit, live, lib->spReflectionVariable_GetType(variable), false);
        fields[i].device_offset = lib->spReflectionVariableLayout_GetOffset(place, category);
        plain = plain && spyi_type_lies_in_structs(fields[i].type) &&
                fields[i].device_offset >= end; // otherwise members share memory or lie elsewhere
        end = fields[i].device_offset + fields[i].type->device_size;
    }
    plain = plain && named && !spyi_sl_is_tensor(name, fields, count);
    int32_t align = lib->spReflectionTypeLayout_getAlignment(layout, category);
    if (named && plain && end <= size && (size_t)align >= 1 && spyi_align(end, (size_t)align) >= size)
        type = spyi_type_struct(types, name, fields, count, size, (size_t)align);
    else if (named && !plain) type = spyi_sl_opaque(lib, types, slang, name, fields, count);
    free(fields);
    return type ? type : spyi_type_other(types, name);
}

// Returns the size of an array from its printed name, whose last bracket is the outermost: "float[3][2]".
// 2026.12 prints a size that was inferred for a uint parameter as "float[int(4)]". Returns 0 if the size is
// generic ("T[N]") or the array unsized ("float[]"); for such types libslang's own function throws.
static int64_t spyi_sl_printed_count(const char *name) {
    const char *bracket = strrchr(name, '['), *digits;
    if (!bracket) return 0;
    digits = bracket + 1;
    if (strncmp(digits, "int(", 4) == 0) digits += 4;
    else if (strncmp(digits, "uint(", 5) == 0) digits += 5;
    char *end = NULL;
    long long count = strtoll(digits, &end, 10);
    bool whole = end != digits && (*end == ']' || *end == ')' || *end == 'U' || *end == 'u');
    return whole && count > 0 && count < (1ll << 40) ? (int64_t)count : 0;
}

bool spyi_sl_is_unsized(spyi_unit *unit, spyi_sl_type *slang) {
    const spyi_sl_library *lib = unit->compiler->library;
    if (!slang || lib->spReflectionType_GetKind(slang) != SPYI_SL_KIND_ARRAY) return false;
    spyi_text name = { NULL, 0, 0 };
    spyi_sl_full_name(unit, slang, &name);
    bool unsized = name.size > 2 && strcmp(name.data + name.size - 2, "[]") == 0;
    spyi_text_free(&name);
    return unsized;
}

bool spyi_sl_is_buffer(const spyi_sl_library *lib, spyi_sl_type *slang) {
    if (!slang || lib->spReflectionType_GetKind(slang) != SPYI_SL_KIND_RESOURCE) return false;
    unsigned shape = lib->spReflectionType_GetResourceShape(slang) & SPYI_SL_SHAPE_MASK;
    return (shape == SPYI_SL_SHAPE_STRUCTURED || shape == SPYI_SL_SHAPE_BYTES ||
            shape == SPYI_SL_SHAPE_TEXELS) &&
           lib->spReflectionType_GetResourceAccess(slang) <= SPYI_SL_ACCESS_READ_WRITE;
}

const spyi_type *spyi_sl_to_type(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang, bool open) {
    spyi_types *types = unit->compiler->types;
    const spyi_sl_library *lib = unit->compiler->library;
    const spyi_type *type = NULL;
    uint32_t failed = spyi_failed_allocations();
    if (!slang) return spyi_type_other(types, "?");
    if (live->known_count) {
        const spyi_sl_known *slot = spyi_sl_known_slot(live, slang);
        if (slot->slang) return slot->type;
    }
    spyi_text text = { NULL, 0, 0 };
    spyi_sl_full_name(unit, slang, &text);
    // Reflection prints Texture2DMSArray as Texture2DArrayMS, a name that Slang does not know.
    char *swapped = text.data ? strstr(text.data, "ArrayMS<") : NULL;
    if (swapped && strncmp(text.data, "Texture2D", 9) == 0) memcpy(swapped, "MSArray", 7);
    const char *name = spyi_text_str(&text);
    unsigned kind = lib->spReflectionType_GetKind(slang);
    // Within generic declarations, a type is concrete only if looking up its name gives the same type.
    if (open && kind != SPYI_SL_KIND_SCALAR && kind != SPYI_SL_KIND_ARRAY &&
        spyi_sl_type_named(unit, live, name) != slang)
        kind = 0;
    unsigned slang_scalar = 0;
    if (kind == SPYI_SL_KIND_SCALAR || kind == SPYI_SL_KIND_VECTOR || kind == SPYI_SL_KIND_MATRIX)
        slang_scalar = lib->spReflectionType_GetScalarType(slang);
    spy_dtype scalar = spyi_sl_scalar(slang_scalar);
    switch (kind) {
    case SPYI_SL_KIND_SCALAR:
        if (slang_scalar == SPYI_SL_SCALAR_VOID) type = spyi_type_void(types);
        else if (scalar != SPY_DTYPE_DEFAULT) type = spyi_type_scalar(types, scalar);
        break;
    case SPYI_SL_KIND_VECTOR: {
        size_t columns = lib->spReflectionType_GetElementCount(slang);
        if (scalar != SPY_DTYPE_DEFAULT && columns >= 1 && columns <= 4)
            type = spyi_type_vector(types, scalar, (uint32_t)columns);
        break;
    }
    case SPYI_SL_KIND_MATRIX: {
        unsigned rows = lib->spReflectionType_GetRowCount(slang),
                 columns = lib->spReflectionType_GetColumnCount(slang);
        if (scalar != SPY_DTYPE_DEFAULT && rows >= 1 && rows <= 4 && columns >= 1 && columns <= 4)
            type = spyi_type_matrix(types, scalar, rows, columns);
        break;
    }
    case SPYI_SL_KIND_ARRAY: {
        spyi_sl_type *inner = lib->spReflectionType_GetElementType(slang);
        const spyi_type *element = spyi_sl_to_type(unit, live, inner, open);
        spyi_texture_form texture;
        int64_t count = spyi_sl_printed_count(name);
        if (element->kind != SPYI_TYPE_OTHER && count >= 1) type = spyi_type_array(types, element, count);
        else if ((spyi_sl_is_buffer(lib, inner) || spyi_type_holds_pair(element) ||
                  (spyi_texture_form_read(element->name, NULL, &texture))) &&
                 count >= 1 && count <= SPYI_MOST_PARAMETERS)
            type = spyi_type_bound_array(types, name, element, (uint32_t)count);
        else if (element->field_count && !spyi_type_is_bound_array(element) && count >= 1)
            type = spyi_type_struct_array(types, element, count);
        else if (spyi_sl_is_unsized(unit, slang) &&
                 (spyi_sl_is_buffer(lib, inner) ||
                  lib->spReflectionType_GetKind(inner) == SPYI_SL_KIND_CONSTANT_BUFFER))
            type = spyi_type_unsized(types, name, element);
        break;
    }
    case SPYI_SL_KIND_ENUM: {
        spyi_sl_type *tag = lib->spReflectionType_GetElementType(slang);
        scalar = tag ? spyi_sl_scalar(lib->spReflectionType_GetScalarType(tag)) : SPY_DTYPE_DEFAULT;
        if (scalar != SPY_DTYPE_DEFAULT) type = spyi_type_enum(types, name, scalar);
        break;
    }
    case SPYI_SL_KIND_STRUCT: type = spyi_sl_to_struct(unit, live, slang, name); break;
    case SPYI_SL_KIND_CONSTANT_BUFFER:
    case SPYI_SL_KIND_PARAMETER_BLOCK: {
        spyi_sl_type *held = lib->spReflectionType_GetElementType(slang);
        if (held) type = spyi_type_holder(types, name, spyi_sl_to_type(unit, live, held, open));
        break;
    }
    default: break;
    }
    if (!type) type = spyi_type_other(types, name);
    spyi_text_free(&text);
    if (spyi_failed_allocations() == failed) spyi_sl_known_add(live, slang, type);
    return type;
}

typedef struct spyi_sl_finding {
    const char *name;
    const spyi_type *type; // NULL if not found
} spyi_sl_finding;

static void spyi_sl_ask_constant(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_finding *f = (spyi_sl_finding *)context;
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_int modules = live->session->v->getLoadedModuleCount(live->session);
    for (spyi_sl_int m = 0; m < modules && !f->type; ++m) {
        spyi_sl_module *module = live->session->v->getLoadedModule(live->session, m);
        spyi_sl_decl *root = module ? module->v->getModuleReflection(module) : NULL;
        unsigned count = root ? lib->spReflectionDecl_getChildrenCount(root) : 0;
        for (unsigned i = 0; i < count && !f->type; ++i) {
            spyi_sl_decl *child = lib->spReflectionDecl_getChild(root, i);
            bool is_variable = child && lib->spReflectionDecl_getKind(child) == SPYI_SL_DECL_VARIABLE;
            const char *own = is_variable ? lib->spReflectionDecl_getName(child) : NULL;
            if (!own || strcmp(own, f->name) != 0) continue;
            spyi_sl_variable *variable = lib->spReflectionDecl_castToVariable(child);
            if (variable && lib->spReflectionVariable_FindModifier(variable, SPYI_SL_MODIFIER_EXTERN))
                f->type = spyi_sl_to_type(unit, live, lib->spReflectionVariable_GetType(variable), false);
        }
    }
}

const spyi_type *spyi_unit_find_constant(spyi_unit *unit, const char *name) {
    spyi_sl_finding f;
    f.name = name;
    f.type = NULL;
    spyi_memo m;
    spyi_memo_ask(&m, unit, 'c', name);
    if (!spyi_memo_recall(&m, spyi_memo_type, (void *)&f.type) &&
        spyi_sl_ask(unit, 1, "find a constant", spyi_sl_ask_constant, &f, NULL) == SPY_OK)
        spyi_memo_keep(&m, spyi_memo_type, (void *)&f.type);
    spyi_memo_end(&m);
    return f.type;
}

static void spyi_sl_ask_type(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_finding *f = (spyi_sl_finding *)context;
    spyi_sl_type *slang = spyi_sl_type_named(unit, live, f->name);
    if (slang) f->type = spyi_sl_to_type(unit, live, slang, false);
}

const spyi_type *spyi_unit_find_type(spyi_unit *unit, const char *name) {
    const spyi_type *type = spyi_type_parse(unit->compiler->types, name);
    if (type || !name) return type;
    // Sizes are removed from the name here, because "Foo<3>[4][2]" has them in C's order and Slang reads them
    // in the other order.
    int64_t sizes[8];
    int count = 0;
    spyi_text base = { NULL, 0, 0 };
    spyi_text_add(&base, "%s", name);
    while (count < 8 && base.size > 2 && base.data[base.size - 1] == ']') {
        char *bracket = strrchr(base.data, '['), *end = NULL;
        if (!bracket || bracket[1] < '0' || bracket[1] > '9') break;
        sizes[count++] = (int64_t)strtoll(bracket + 1, &end, 10);
        if (*end != ']' || sizes[count - 1] < 1) {
            base.size = 0;
            break;
        }
        *bracket = '\0';
        base.size = (size_t)(bracket - base.data);
    }
    if (base.size) {
        spyi_sl_finding f;
        f.name = base.data;
        f.type = NULL;
        spyi_memo m;
        spyi_memo_ask(&m, unit, 't', f.name);
        if (!spyi_memo_recall(&m, spyi_memo_type, (void *)&f.type) &&
            spyi_sl_ask(unit, 1, "find a type", spyi_sl_ask_type, &f, NULL) == SPY_OK)
            spyi_memo_keep(&m, spyi_memo_type, (void *)&f.type);
        spyi_memo_end(&m);
        type = f.type;
    }
    for (int i = 0; i < count && type; ++i) // the innermost size comes first
        type = type->kind == SPYI_TYPE_OTHER && type->field_count
                   ? spyi_type_struct_array(unit->compiler->types, type, sizes[i])
                   : spyi_type_array(unit->compiler->types, type, sizes[i]);
    spyi_text_free(&base);
    return type;
}
