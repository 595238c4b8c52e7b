// The basic functions of the declaration tree: its memory, constants, attributes, variables, and types with
// their fields.
#include "compiler/declare.h"

// >>memory

enum { SPYI_SL_BLOCK_SIZE = 16 * 1024 };

void *spyi_sl_take(spyi_declarations *to, size_t size) {
    size_t header = spyi_align(sizeof(spyi_sl_block), 16);
    spyi_sl_block *block = to->blocks;
    size = spyi_align(size ? size : 1, 16);
    if (!block || block->size - block->used < size) {
        size_t room = size > SPYI_SL_BLOCK_SIZE ? size : (size_t)SPYI_SL_BLOCK_SIZE;
        block = (spyi_sl_block *)spyi_calloc(1, header + room);
        if (!block) {
            to->failed = true;
            return NULL;
        }
        block->size = room;
        block->next = to->blocks;
        to->blocks = block;
    }
    void *memory = (char *)block + header + block->used;
    block->used += size;
    return memory;
}

const char *spyi_sl_keep(spyi_declarations *to, const char *s) {
    size_t size = s ? strlen(s) : 0;
    char *copy = size ? (char *)spyi_sl_take(to, size + 1) : NULL;
    if (!copy) return "";
    memcpy(copy, s, size);
    return copy;
}

const char *spyi_sl_keep_text(spyi_declarations *to, spyi_text *text) {
    const char *copy = spyi_sl_keep(to, spyi_text_str(text));
    spyi_text_free(text);
    return copy;
}

bool spyi_sl_grow(void **items, uint32_t *capacity, uint32_t count, size_t item_size) {
    if (count < *capacity) return true;
    uint32_t more = *capacity ? *capacity * 2 : 16;
    void *grown = spyi_realloc(*items, more * item_size);
    if (!grown) return false;
    *items = grown;
    *capacity = more;
    return true;
}

void spyi_sl_builder_open(spyi_sl_builder *b, spyi_declarations *to, spyi_unit *unit, spyi_sl_live *live) {
    memset(b, 0, sizeof *b);
    b->to = to;
    b->unit = unit;
    b->lib = unit->compiler->library;
    b->live = live;
}

void spyi_sl_builder_close(spyi_sl_builder *b) {
    free(b->pending);
    free(b->types);
    free(b->lines);
    spyi_text_free(&b->source);
}

// >>constants and attributes

static spy_constant spyi_sl_no_constant(void) {
    spy_constant c;
    memset(&c, 0, sizeof c);
    c.string = "";
    return c;
}

static spy_constant spyi_sl_int_constant(int64_t value) {
    spy_constant c = spyi_sl_no_constant();
    c.kind = SPY_CONSTANT_KIND_INT;
    c.int_value = value;
    c.float_value = (double)value;
    return c;
}

static spy_constant spyi_sl_float_constant(float value) {
    spy_constant c = spyi_sl_no_constant();
    c.kind = SPY_CONSTANT_KIND_FLOAT;
    c.float_value = (double)value;
    return c;
}

static void spyi_sl_add_string(const char *s, spyi_text *out) {
    spyi_text_add(out, "\"");
    for (; *s; ++s) {
        if (*s == '"' || *s == '\\') spyi_text_add(out, "\\%c", *s);
        else if (*s == '\n') spyi_text_add(out, "\\n");
        else spyi_text_add_n(out, s, 1);
    }
    spyi_text_add(out, "\"");
}

// Appends a float with the fewest digits that give the same value.
static void spyi_sl_add_float(double value, spyi_text *out) {
    char digits[40];
    int precision = 5;
    do snprintf(digits, sizeof digits, "%.*g", ++precision, value);
    while (precision < 9 && (float)strtod(digits, NULL) != (float)value);
    spyi_text_add(out, "%s", digits);
}

void spyi_sl_add_constant(const spy_constant *constant, spyi_text *out) {
    switch (constant->kind) {
    case SPY_CONSTANT_KIND_INT: spyi_text_add(out, "%lld", (long long)constant->int_value); break;
    case SPY_CONSTANT_KIND_FLOAT: spyi_sl_add_float(constant->float_value, out); break;
    case SPY_CONSTANT_KIND_STRING: spyi_sl_add_string(constant->string, out); break;
    default: spyi_text_add(out, "..."); break;
    }
}

// Returns an attribute's argument. libslang gives integers as int and numbers as float, so wider values are
// cut off or missing.
static spy_constant spyi_sl_argument(spyi_sl_builder *b, spyi_sl_attribute *attribute, unsigned index) {
    const spyi_sl_library *lib = b->lib;
    spyi_sl_type *type = lib->spReflectionUserAttribute_GetArgumentType(attribute, index);
    unsigned scalar = SPYI_SL_SCALAR_INT32; // libslang gives no type for enums
    int whole = 0;
    float number = 0;
    if (type && lib->spReflectionType_GetKind(type) == SPYI_SL_KIND_SCALAR)
        scalar = lib->spReflectionType_GetScalarType(type);
    else if (type) scalar = SPYI_SL_SCALAR_VOID;
    switch (scalar) {
    case SPYI_SL_SCALAR_BOOL:
    case SPYI_SL_SCALAR_INT8:
    case SPYI_SL_SCALAR_UINT8:
    case SPYI_SL_SCALAR_INT16:
    case SPYI_SL_SCALAR_UINT16:
    case SPYI_SL_SCALAR_INT32:
    case SPYI_SL_SCALAR_UINT32:
        if (lib->spReflectionUserAttribute_GetArgumentValueInt(attribute, index, &whole) < 0) break;
        return spyi_sl_int_constant(scalar == SPYI_SL_SCALAR_UINT32 ? (int64_t)(uint32_t)whole : whole);
    case SPYI_SL_SCALAR_FLOAT32:
        if (lib->spReflectionUserAttribute_GetArgumentValueFloat(attribute, index, &number) < 0) break;
        return spyi_sl_float_constant(number);
    case SPYI_SL_SCALAR_VOID: {
        size_t size = 0;
        const char *s = lib->spReflectionUserAttribute_GetArgumentValueString(attribute, index, &size);
        spyi_text text = { NULL, 0, 0 };
        spy_constant c = spyi_sl_no_constant();
        if (!s) break;
        if (size) spyi_text_add_n(&text, s, size);
        c.kind = SPY_CONSTANT_KIND_STRING;
        c.string = spyi_sl_keep_text(b->to, &text);
        return c;
    }
    default: break;
    }
    return spyi_sl_no_constant();
}

void spyi_sl_attributes(spyi_sl_builder *b, spyi_sl_attributed what, void *object, spy_decl *node) {
    const spyi_sl_library *lib = b->lib;
    spyi_sl_function *function = what == SPYI_SL_OF_FUNCTION ? (spyi_sl_function *)object : NULL;
    spyi_sl_variable *variable = what == SPYI_SL_OF_VARIABLE ? (spyi_sl_variable *)object : NULL;
    spyi_sl_type *type = what == SPYI_SL_OF_TYPE ? (spyi_sl_type *)object : NULL;
    unsigned count = function   ? lib->spReflectionFunction_GetUserAttributeCount(function)
                     : variable ? lib->spReflectionVariable_GetUserAttributeCount(variable)
                                : lib->spReflectionType_GetUserAttributeCount(type);
    spy_attribute *list = count ? (spy_attribute *)spyi_sl_take(b->to, count * sizeof *list) : NULL;
    for (unsigned i = 0; list && i < count; ++i) {
        spyi_sl_attribute *a = function   ? lib->spReflectionFunction_GetUserAttribute(function, i)
                               : variable ? lib->spReflectionVariable_GetUserAttribute(variable, i)
                                          : lib->spReflectionType_GetUserAttribute(type, i);
        if (!a) continue;
        spy_attribute *out = &list[node->attribute_count++];
        unsigned arg_count = lib->spReflectionUserAttribute_GetArgumentCount(a);
        spy_constant *args = (spy_constant *)spyi_sl_take(b->to, arg_count * sizeof *args);
        out->name = spyi_sl_keep(b->to, lib->spReflectionUserAttribute_GetName(a));
        out->args = args;
        for (unsigned k = 0; args && k < arg_count; ++k) args[out->arg_count++] = spyi_sl_argument(b, a, k);
    }
    node->attributes = list;
}

// >>variables

spy_decl spyi_sl_node(spyi_sl_builder *b, spy_decl_kind kind, const char *name) {
    spy_decl node;
    memset(&node, 0, sizeof node);
    node.kind = kind;
    node.name = spyi_sl_keep(b->to, name);
    node.path = node.text = node.file = node.doc = "";
    node.value = spyi_sl_no_constant();
    if (b->open) node.flags |= SPY_DECL_FLAG_GENERIC;
    return node;
}

void spyi_sl_variable_node(spyi_sl_builder *b, spyi_sl_variable *variable, spy_decl *node) {
    static const struct {
        uint32_t modifier, flag;
    } modifiers[] = { { SPYI_SL_MODIFIER_NO_DIFF, SPY_DECL_FLAG_NO_DIFF },
                      { SPYI_SL_MODIFIER_STATIC, SPY_DECL_FLAG_STATIC },
                      { SPYI_SL_MODIFIER_CONST, SPY_DECL_FLAG_CONST },
                      { SPYI_SL_MODIFIER_EXPORT, SPY_DECL_FLAG_EXPORT },
                      { SPYI_SL_MODIFIER_EXTERN, SPY_DECL_FLAG_EXTERN } };
    const spyi_sl_library *lib = b->lib;
    int64_t whole = 0;
    float number = 0;
    for (size_t i = 0; i < sizeof modifiers / sizeof modifiers[0]; ++i)
        if (lib->spReflectionVariable_FindModifier(variable, modifiers[i].modifier))
            node->flags |= modifiers[i].flag;
    spyi_sl_type *type = lib->spReflectionVariable_GetType(variable);
    if (type) node->type = spyi_sl_type_info_of(b, type); // an enum's case has no type
    spyi_sl_attributes(b, SPYI_SL_OF_VARIABLE, variable, node);
    if (!lib->spReflectionVariable_HasDefaultValue(variable)) return;
    node->flags |= SPY_DECL_FLAG_HAS_DEFAULT;
    // libslang's function for floats works only for a float, and its function for ints only for an int.
    if (node->type && node->type->kind == SPY_TYPE_KIND_SCALAR && spyi_dtype_is_float(node->type->dtype)) {
        if (lib->spReflectionVariable_GetDefaultValueFloat(variable, &number) >= 0)
            node->value = spyi_sl_float_constant(number);
    } else if (lib->spReflectionVariable_GetDefaultValueInt(variable, &whole) >= 0) {
        node->value = spyi_sl_int_constant(whole);
    }
}

// >>types

enum {
    SPYI_SL_DEEPEST_FIELD = 32
}; // stops at types without an end: struct R<let N : int> { Ptr<R<N + 1>>
    // p; }

static spy_type_kind spyi_sl_type_kind(const spyi_type *type, unsigned slang_kind) {
    switch (type->kind) {
    case SPYI_TYPE_VOID: return SPY_TYPE_KIND_VOID;
    case SPYI_TYPE_SCALAR:
        return strcmp(type->name, spy_dtype_name(type->scalar)) == 0 ? SPY_TYPE_KIND_SCALAR
                                                                     : SPY_TYPE_KIND_ENUM;
    case SPYI_TYPE_VECTOR: return SPY_TYPE_KIND_VECTOR;
    case SPYI_TYPE_MATRIX: return SPY_TYPE_KIND_MATRIX;
    case SPYI_TYPE_ARRAY: return SPY_TYPE_KIND_ARRAY;
    case SPYI_TYPE_STRUCT: return SPY_TYPE_KIND_STRUCT;
    default: break;
    }
    if (spyi_type_is_handle(type)) return SPY_TYPE_KIND_HANDLE;
    switch (slang_kind) {
    case SPYI_SL_KIND_STRUCT: return SPY_TYPE_KIND_STRUCT;
    case SPYI_SL_KIND_ARRAY: return SPY_TYPE_KIND_ARRAY;
    case SPYI_SL_KIND_ENUM: return SPY_TYPE_KIND_ENUM;
    case SPYI_SL_KIND_INTERFACE: return SPY_TYPE_KIND_INTERFACE;
    case SPYI_SL_KIND_POINTER: return SPY_TYPE_KIND_POINTER;
    case SPYI_SL_KIND_CONSTANT_BUFFER: return SPY_TYPE_KIND_CONSTANT_BUFFER;
    case SPYI_SL_KIND_PARAMETER_BLOCK: return SPY_TYPE_KIND_PARAMETER_BLOCK;
    case SPYI_SL_KIND_SAMPLER_STATE: return SPY_TYPE_KIND_SAMPLER;
    case SPYI_SL_KIND_RESOURCE:
    case SPYI_SL_KIND_TEXTURE_BUFFER:
    case SPYI_SL_KIND_SHADER_STORAGE_BUFFER:
    case SPYI_SL_KIND_FEEDBACK:
    case SPYI_SL_KIND_DYNAMIC_RESOURCE: return SPY_TYPE_KIND_RESOURCE;
    default: return SPY_TYPE_KIND_OTHER;
    }
}

// Finds the type that a pointer points to by the pointer's name, "Ptr<float, Access.ReadWrite, ...>", because
// libslang does not give the type.
static spyi_sl_type *spyi_sl_pointee(spyi_sl_builder *b, const char *name) {
    spyi_text text = { NULL, 0, 0 };
    int depth = 0;
    const char *begin = strchr(name, '<'), *end = begin;
    for (; end && *end && !(depth == 1 && (*end == ',' || *end == '>')); ++end)
        depth += *end == '<' ? 1 : *end == '>' ? -1 : 0;
    if (begin && end > begin + 1) spyi_text_add_n(&text, begin + 1, (size_t)(end - begin - 1));
    spyi_sl_type *type = spyi_sl_type_named(b->unit, b->live, spyi_text_str(&text));
    spyi_text_free(&text);
    return type;
}

static const spy_type_info *spyi_sl_element_info(spyi_sl_builder *b, spy_type_kind kind,
                                                 const spyi_type *type, spyi_sl_type *slang) {
    spyi_sl_type *element = NULL;
    if (kind == SPY_TYPE_KIND_VECTOR || kind == SPY_TYPE_KIND_MATRIX ||
        (kind == SPY_TYPE_KIND_ENUM && type->scalar))
        return spyi_sl_type_info(b, spyi_type_scalar(b->unit->compiler->types, type->scalar), NULL);
    if (type->kind == SPYI_TYPE_ARRAY) return spyi_sl_type_info(b, type->element, NULL);
    if (!slang) return NULL;
    if (kind == SPY_TYPE_KIND_POINTER) element = spyi_sl_pointee(b, type->name);
    if (kind == SPY_TYPE_KIND_RESOURCE) element = b->lib->spReflectionType_GetResourceResultType(slang);
    if (kind == SPY_TYPE_KIND_ARRAY || kind == SPY_TYPE_KIND_ENUM || kind == SPY_TYPE_KIND_CONSTANT_BUFFER ||
        kind == SPY_TYPE_KIND_PARAMETER_BLOCK)
        element = b->lib->spReflectionType_GetElementType(slang);
    return element ? spyi_sl_type_info_of(b, element) : NULL;
}

// Returns a type's full name, by which it can be looked up again: "float3", "ns.Grid<float, 4>",
// "ns.Cell[3][2]".
static const char *spyi_sl_info_name(spyi_sl_builder *b, const spyi_type *type) {
    const spyi_type *base = type;
    spyi_text name = { NULL, 0, 0 };
    while (base->kind == SPYI_TYPE_ARRAY) base = base->element;
    bool plain = base->kind != SPYI_TYPE_STRUCT && base->kind != SPYI_TYPE_OTHER;
    spyi_text_add(&name, "%s", plain ? base->display : base->name);
    for (; type->kind == SPYI_TYPE_ARRAY; type = type->element)
        spyi_text_add(&name, "[%lld]", (long long)type->count);
    return spyi_sl_keep_text(b->to, &name);
}

static void spyi_sl_info_sizes(const spyi_type *type, spy_type_info *info) {
    info->dtype = type->kind == SPYI_TYPE_ARRAY ? SPY_DTYPE_DEFAULT : type->scalar;
    info->rows = type->rows;
    info->columns = type->columns;
    info->count = type->kind == SPYI_TYPE_ARRAY ? type->count : 0;
    info->size_bytes = type->host_size;
    info->align_bytes = type->host_align;
    info->device_size_bytes = type->device_size;
    info->device_align_bytes = type->device_align;
    info->device_stride_bytes = type->device_size ? spyi_type_device_stride(type) : 0;
}

SPYI_FN bool spyi_sl_know_type(spyi_declarations *to, const spyi_type *type) {
    if (type->id >= to->by_id_count) {
        uint32_t count = (type->id + 64) * 2, more = count - to->by_id_count;
        spy_type_info **grown = (spy_type_info **)spyi_realloc((void *)to->by_id, count * sizeof *grown);
        if (grown) to->by_id = grown;
        const spyi_type **types = (const spyi_type **)spyi_realloc((void *)to->types, count * sizeof *types);
        if (types) to->types = types;
        if (!grown || !types) {
            to->failed = true;
            return false;
        }
        memset((void *)(grown + to->by_id_count), 0, more * sizeof *grown);
        memset((void *)(types + to->by_id_count), 0, more * sizeof *types);
        to->by_id_count = count;
    }
    to->types[type->id] = type;
    return true;
}

// Sums up the fields of a tensor of the library, whose pointer libslang is not asked about. Other structs have
// no pointers and numbers alone, or lie in memory.
static spyi_sl_uniform spyi_sl_uniform_of_fields(spyi_sl_builder *b, const spyi_type *type) {
    spyi_sl_uniform u = { 0, 1, 0 }, none = { 0, 0, 0 };
    for (uint32_t i = 0; i < type->field_count; ++i) {
        const spyi_field *f = &type->fields[i];
        if (!spyi_type_lies_in_structs(f->type)) return none;
        u.size = f->device_offset + f->type->device_size;
        if (f->type->device_align > u.align) u.align = f->type->device_align;
    }
    u.stride = spyi_align(u.size, u.align);
    if (spyi_types_rules(b->unit->compiler->types)->pads_structs) u.size = u.stride;
    return u;
}

// Sets the sizes on the device of a type that cannot lie in memory, but among shader parameters.
static void spyi_sl_opaque_sizes(spyi_sl_builder *b, const spyi_type *type, spyi_sl_type *slang,
                                 spy_type_info *info) {
    bool sized = info->kind == SPY_TYPE_KIND_STRUCT || info->kind == SPY_TYPE_KIND_ARRAY ||
                 info->kind == SPY_TYPE_KIND_RESOURCE || info->kind == SPY_TYPE_KIND_SAMPLER ||
                 info->kind == SPY_TYPE_KIND_CONSTANT_BUFFER || info->kind == SPY_TYPE_KIND_PARAMETER_BLOCK;
    if (type->device_size || !slang || !sized || b->open || spyi_type_is_pair(type)) return;
    spyi_sl_uniform u = spyi_sl_uniform_of(b->unit, b->live, slang);
    if (!u.size && info->kind == SPY_TYPE_KIND_STRUCT) u = spyi_sl_uniform_of_fields(b, type);
    if (!u.size) return;
    info->device_size_bytes = u.size;
    info->device_align_bytes = u.align;
    info->device_stride_bytes = u.stride;
}

const spy_type_info *spyi_sl_type_info(spyi_sl_builder *b, const spyi_type *type, spyi_sl_type *slang) {
    static const spy_type_info none = {
        SPY_TYPE_KIND_OTHER, "", SPY_DTYPE_DEFAULT, 1, 1, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0
    };
    spyi_declarations *to = b->to;
    if (spyi_sl_know_type(to, type) && to->by_id[type->id]) return to->by_id[type->id];
    spy_type_info *info = to->failed ? NULL : (spy_type_info *)spyi_sl_take(to, sizeof *info);
    if (!info) return &none;
    // Set before the description of the type's element, whose pointers may lead back to this type.
    to->by_id[type->id] = info;
    if (!slang && type->kind == SPYI_TYPE_OTHER) slang = spyi_sl_type_named(b->unit, b->live, type->name);
    else if (!slang) slang = spyi_sl_type_of(b->unit, b->live, type);
    info->kind = spyi_sl_type_kind(type, slang ? b->lib->spReflectionType_GetKind(slang) : 0);
    info->name = spyi_sl_info_name(b, type);
    spyi_sl_info_sizes(type, info);
    spyi_sl_opaque_sizes(b, type, slang, info);
    info->element = spyi_sl_element_info(b, info->kind, type, slang);
    if (info->kind != SPY_TYPE_KIND_STRUCT || !slang || b->depth > SPYI_SL_DEEPEST_FIELD) return info;
    if (!spyi_sl_grow((void **)&b->pending, &b->pending_capacity, b->pending_count, sizeof *b->pending)) {
        to->failed = true;
        return info;
    }
    spyi_sl_pending *p = &b->pending[b->pending_count++];
    p->info = info;
    p->type = type;
    p->slang = slang;
    p->open = b->open != 0;
    p->depth = b->depth;
    return info;
}

const spy_type_info *spyi_sl_type_info_of(spyi_sl_builder *b, spyi_sl_type *slang) {
    return spyi_sl_type_info(b, spyi_sl_to_type(b->unit, b->live, slang, b->open != 0), slang);
}

void spyi_sl_list_fields(spyi_sl_builder *b) {
    for (uint32_t i = 0; i < b->pending_count; ++i) { // listing one struct's fields may add more structs
        spyi_sl_pending p = b->pending[i];
        unsigned count = b->lib->spReflectionType_GetFieldCount(p.slang);
        spy_decl *fields =
            p.info->decl || !count ? NULL : (spy_decl *)spyi_sl_take(b->to, count * sizeof *fields);
        b->open = p.open;
        b->depth = p.depth + 1;
        for (unsigned k = 0; fields && k < count; ++k) {
            spyi_sl_variable *v = b->lib->spReflectionType_GetFieldByIndex(p.slang, k);
            spyi_text text = { NULL, 0, 0 };
            fields[k] =
                spyi_sl_node(b, SPY_DECL_KIND_FIELD, v ? b->lib->spReflectionVariable_GetName(v) : "");
            if (v) spyi_sl_variable_node(b, v, &fields[k]);
            if (k < p.type->field_count) {
                fields[k].offset_bytes = p.type->fields[k].host_offset;
                fields[k].device_offset_bytes = p.type->fields[k].device_offset;
            }
            fields[k].path = fields[k].name;
            spyi_text_add(&text, "%s %s", fields[k].type ? fields[k].type->name : "?", fields[k].name);
            fields[k].text = spyi_sl_keep_text(b->to, &text);
        }
        if (!fields) continue; // the type has no fields, or it uses its declaration's fields
        p.info->fields = fields;
        p.info->field_count = count;
    }
    b->pending_count = 0;
    b->open = b->depth = 0;
}
