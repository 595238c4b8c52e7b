// Types in a stream: each is a number, and its first use also has its name, layout and parts. Reading finds
// the type in the device's table, or adds it.
#include "data/stream.h"

enum { SPYI_STREAM_DEEPEST_TYPE = 48, SPYI_STREAM_MOST_FIELDS = 4096 };
#define SPYI_STREAM_NEW_TYPE UINT32_MAX

static bool spyi_stream_keep_type(spyi_stream *r, const spyi_type *type) {
    if (r->type_count == r->type_capacity) {
        uint32_t capacity = r->type_capacity ? r->type_capacity * 2 : 32;
        const spyi_type **types = (const spyi_type **)spyi_realloc(r->types, capacity * sizeof *types);
        if (!types) {
            spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
            return false;
        }
        r->types = types;
        r->type_capacity = capacity;
    }
    r->types[r->type_count++] = type;
    return true;
}

// The fields of a type, which are written, or read before the type is made.
typedef struct spyi_type_text {
    uint32_t kind, scalar, rows, columns, field_count;
    uint64_t count, device_size, device_align, host_size;
    bool from_tensor;
    char *name;
    const spyi_type *element;
    spyi_field *fields; // when reading, this struct owns the names
} spyi_type_text;

static void spyi_stream_type_fields(spyi_stream *r, spyi_type_text *t) {
    void *fields = t->fields;
    t->kind = spyi_stream_enum(r, t->kind, (uint32_t)SPYI_TYPE_OTHER + 1);
    t->scalar = spyi_stream_enum(r, t->scalar, SPY_DTYPE_COUNT);
    spyi_stream_u32(r, &t->rows);
    spyi_stream_u32(r, &t->columns);
    spyi_stream_u64(r, &t->count);
    spyi_stream_u64(r, &t->device_size);
    spyi_stream_u64(r, &t->device_align);
    spyi_stream_u64(r, &t->host_size);
    spyi_stream_bool(r, &t->from_tensor);
    spyi_stream_text(r, &t->name);
    spyi_stream_type(r, &t->element);
    spyi_stream_list(r, &t->field_count, SPYI_STREAM_MOST_FIELDS, &fields, sizeof *t->fields);
    t->fields = (spyi_field *)fields;
    for (uint32_t i = 0; i < t->field_count; i++) {
        spyi_field *field = &t->fields[i];
        char *name = (char *)(uintptr_t)field->name;
        uint64_t offset = field->device_offset;
        spyi_stream_text(r, &name);
        spyi_stream_type(r, &field->type);
        spyi_stream_u64(r, &offset);
        if (r->out) continue;
        field->name = name;
        field->device_offset = (size_t)offset;
        (void)spyi_stream_expect(r, name && field->type, "a field has no name or type");
    }
}

static bool spyi_stream_fields_fit(const spyi_type_text *t) {
    bool fit = t->device_align > 0 && t->device_align <= 4096 && t->device_size <= SIZE_MAX / 4;
    for (uint32_t i = 0; fit && i < t->field_count; i++) {
        const spyi_field *field = &t->fields[i];
        fit = spyi_type_lies_in_structs(field->type) && field->type->host_size <= SIZE_MAX / 4 &&
              field->device_offset <= t->device_size &&
              field->type->device_size <= t->device_size - field->device_offset;
    }
    return fit;
}

static const spyi_type *spyi_stream_make_struct(spyi_stream *r, const spyi_type_text *t) {
    bool other = false;
    if (!spyi_stream_expect(r, spyi_stream_fields_fit(t), "a struct's fields do not lie in it")) return NULL;
    const spyi_type *found = spyi_type_find_struct(r->table, t->name, t->fields, t->field_count,
                                                   (size_t)t->device_size, (size_t)t->device_align, &other);
    if (found) return found;
    if (other && !r->any_struct) {
        spyi_stream_fail(r, SPY_ERROR_TYPE_MISMATCH,
                         "the %s was made when the struct '%s' had other fields, or another layout", r->name,
                         t->name);
        return NULL;
    }
    return spyi_type_struct(r->table, t->name, t->fields, t->field_count, (size_t)t->device_size,
                            (size_t)t->device_align);
}

// Returns the type; NULL when there can be no such type.
static const spyi_type *spyi_stream_make_type(spyi_stream *r, const spyi_type_text *t) {
    spy_dtype scalar = (spy_dtype)t->scalar;
    bool numbers = scalar != SPY_DTYPE_DEFAULT;
    bool small = t->columns >= 1 && t->columns <= 4 && t->rows >= 1 && t->rows <= 4;
    switch ((spyi_type_kind)t->kind) {
    case SPYI_TYPE_VOID: return spyi_type_void(r->table);
    case SPYI_TYPE_SCALAR:
        if (!numbers) return NULL;
        if (strcmp(t->name, spy_dtype_name(scalar)) == 0) return spyi_type_scalar(r->table, scalar);
        return spyi_type_enum(r->table, t->name, scalar);
    case SPYI_TYPE_VECTOR: return numbers && small ? spyi_type_vector(r->table, scalar, t->columns) : NULL;
    case SPYI_TYPE_MATRIX:
        return numbers && small ? spyi_type_matrix(r->table, scalar, t->rows, t->columns) : NULL;
    case SPYI_TYPE_ARRAY:
        return t->element && t->count > 0 && t->count <= INT64_MAX
                   ? spyi_type_array(r->table, t->element, (int64_t)t->count)
                   : NULL;
    case SPYI_TYPE_STRUCT: return spyi_stream_make_struct(r, t);
    case SPYI_TYPE_OTHER:
        if (t->element) return spyi_type_holder(r->table, t->name, t->element);
        if (t->field_count)
            return (t->from_tensor ? spyi_type_built : spyi_type_opaque)(r->table, t->name, t->fields,
                                                                         t->field_count);
        return spyi_type_other(r->table, t->name);
    }
    return NULL;
}

static const spyi_type *spyi_stream_new_type(spyi_stream *r, const spyi_type *type) {
    spyi_type_text t;
    memset(&t, 0, sizeof t);
    if (r->out) {
        t.kind = (uint32_t)type->kind;
        t.scalar = (uint32_t)type->scalar;
        t.rows = type->rows;
        t.columns = type->columns;
        t.field_count = type->field_count;
        t.count = (uint64_t)type->count;
        t.device_size = type->device_size;
        t.device_align = type->device_align;
        t.host_size = type->host_size;
        t.from_tensor = type->from_tensor;
        t.name = (char *)(uintptr_t)type->name;
        t.element = type->element;
        t.fields = (spyi_field *)(uintptr_t)type->fields;
        spyi_stream_type_fields(r, &t);
        return type;
    }
    const spyi_type *made = NULL;
    spyi_stream_type_fields(r, &t);
    if (spyi_stream_expect(r, t.name != NULL, "a type has no name")) made = spyi_stream_make_type(r, &t);
    bool same = made && (uint32_t)made->kind == t.kind && strcmp(made->name, t.name) == 0 &&
                made->device_size == t.device_size && made->host_size == t.host_size;
    (void)spyi_stream_expect(r, same, "a type is not what its name says");
    for (uint32_t i = 0; i < t.field_count; i++) free((void *)(uintptr_t)t.fields[i].name);
    free(t.fields);
    free(t.name);
    return r->status == SPY_OK ? made : NULL;
}

SPYI_FN void spyi_stream_type(spyi_stream *r, const spyi_type **type) {
    uint32_t number = 0; // the first type is 1; 0 stands for NULL
    if (r->out && *type) {
        while (number < r->type_count && r->types[number] != *type) number++;
        number = number < r->type_count ? number + 1 : SPYI_STREAM_NEW_TYPE;
    }
    spyi_stream_u32(r, &number);
    if (!r->out) *type = NULL;
    if (number == SPYI_STREAM_NEW_TYPE) {
        if (r->depth == SPYI_STREAM_DEEPEST_TYPE) {
            spyi_stream_fail(r, SPY_ERROR_UNSUPPORTED, "its types are nested more than %d deep",
                             SPYI_STREAM_DEEPEST_TYPE);
            return;
        }
        r->depth++;
        *type = spyi_stream_new_type(r, *type);
        r->depth--;
        if (*type && !spyi_stream_keep_type(r, *type)) *type = NULL;
    } else if (!r->out && number && spyi_stream_expect(r, number <= r->type_count, "it has no such type")) {
        *type = r->types[number - 1];
    }
}
