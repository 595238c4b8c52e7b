// The table of types. It makes and interns types with C's layout and the target's, parses built-in names
// without the compiler, and copies elements from one layout to the other. convert.c converts scalars.
#include "data/type.h"

enum { SPYI_TYPE_BUCKETS = 256 };

typedef struct spyi_type_node {
    spyi_type type; // must be the first member, so that a type's address is its node's
    struct spyi_type_node *next;
    uint64_t hash;
} spyi_type_node;

struct spyi_types {
    const spyi_rules *rules;
    spyi_mutex lock;
    uint32_t next_id;
    spyi_type_node *buckets[SPYI_TYPE_BUCKETS];
    const spyi_type *void_type;
    const spyi_type *scalars[SPY_DTYPE_COUNT];
};

// >>small helpers

static char *spyi_type_take(spyi_text *text) { // returns a copy of the text and frees the text
    char *s = spyi_strdup(spyi_text_str(text));
    spyi_text_free(text);
    return s;
}

static size_t spyi_type_device_scalar(const spyi_types *types, spy_dtype scalar) {
    return scalar == SPY_DTYPE_BOOL ? types->rules->bool_size : spy_dtype_size_bytes(scalar);
}

// Sets size and alignment of a vector. On CUDA, vectors of 2 and of 4 are aligned to their size (16 bytes at
// most), vectors of 3 to their scalar; half3 is stored as two half2. Source: Slang's reflection for CUDA
// (2026.12, 2026.14.1), which tests/unit/test_compiler_types.c checks.
static void spyi_type_device_vector(const spyi_types *types, spy_dtype scalar, uint32_t columns, size_t *size,
                                    size_t *align) {
    size_t one = spyi_type_device_scalar(types, scalar);
    *size = one * columns;
    *align = one;
    if (!types->rules->aligns_vectors) return;
    if (columns == 2 || columns == 4) *align = one * columns > 16 ? 16 : one * columns;
    if (scalar == SPY_DTYPE_FLOAT16 && columns >= 3) {
        *size = 8;
        *align = 4;
    }
}

static bool spyi_type_same_text(const char *a, const char *b) {
    return a == b || (a && b && strcmp(a, b) == 0);
}

static bool spyi_type_same(const spyi_type *a, const spyi_type *b) {
    if (a->kind != b->kind || a->field_count != b->field_count || a->from_tensor != b->from_tensor ||
        !spyi_type_same_text(a->name, b->name))
        return false;
    if (a->kind == SPYI_TYPE_ARRAY) return a->element == b->element && a->count == b->count;
    if (a->kind == SPYI_TYPE_OTHER && a->element != b->element)
        return false; // ConstantBuffer<T> types with
                      // different T differ
    if (a->kind != SPYI_TYPE_STRUCT && a->field_count == 0) return a->scalar == b->scalar;
    if (a->device_size != b->device_size || a->device_align != b->device_align) return false;
    for (uint32_t i = 0; i < a->field_count; ++i) {
        const spyi_field *x = &a->fields[i], *y = &b->fields[i];
        if (x->type != y->type || x->device_offset != y->device_offset || strcmp(x->name, y->name) != 0)
            return false;
    }
    return true;
}

static void spyi_type_free_parts(spyi_type *type) {
    for (uint32_t i = 0; i < type->field_count; ++i) free((void *)(uintptr_t)type->fields[i].name);
    free((void *)(uintptr_t)type->fields);
    free((void *)(uintptr_t)type->name);
    free((void *)(uintptr_t)type->display);
}

// Returns whether no string of the type is missing because memory ran out.
static bool spyi_type_is_whole(const spyi_type *type) {
    bool whole = type->name && type->display;
    for (uint32_t i = 0; whole && i < type->field_count; ++i) whole = type->fields[i].name != NULL;
    return whole;
}

// Returns the table's type that equals `made`, which is added if it is new; the void type when memory ran
// out. Takes over the strings and fields of `made`.
static const spyi_type *spyi_type_intern(spyi_types *types, spyi_type *made) {
    if (!spyi_type_is_whole(made)) {
        spyi_type_free_parts(made);
        return types->void_type;
    }
    uint64_t hash = spyi_hash(made->name, strlen(made->name), (uint64_t)made->kind);
    spyi_mutex_lock(&types->lock);
    spyi_type_node **bucket = &types->buckets[hash % SPYI_TYPE_BUCKETS];
    spyi_type_node *node = *bucket;
    while (node && (node->hash != hash || !spyi_type_same(&node->type, made))) node = node->next;
    bool found = node != NULL;
    if (!found) {
        node = (spyi_type_node *)spyi_calloc(1, sizeof *node);
        if (node) {
            node->type = *made;
            node->type.id = ++types->next_id;
            node->hash = hash;
            node->next = *bucket;
            *bucket = node;
        }
    }
    spyi_mutex_unlock(&types->lock);
    if (found || !node) spyi_type_free_parts(made);
    return node ? &node->type : types->void_type;
}

static spyi_type spyi_type_blank(spyi_type_kind kind) {
    spyi_type t;
    memset(&t, 0, sizeof t);
    t.kind = kind;
    t.rows = t.columns = 1;
    return t;
}

// >>making types

spyi_types *spyi_types_create(spyi_target target) {
    uint32_t failed = spyi_failed_allocations();
    spyi_types *types = (spyi_types *)spyi_calloc(1, sizeof *types);
    if (!types) return NULL;
    types->rules = spyi_rules_of(target);
    spyi_mutex_init(&types->lock);
    spyi_type none = spyi_type_blank(SPYI_TYPE_VOID);
    none.name = spyi_strdup("void");
    none.display = spyi_strdup("void");
    none.host_align = none.device_align = 1;
    none.same_layout = true;
    types->void_type = spyi_type_intern(types, &none);
    for (int i = SPY_DTYPE_BOOL; i < SPY_DTYPE_COUNT; ++i) {
        spyi_type t = spyi_type_blank(SPYI_TYPE_SCALAR);
        t.scalar = (spy_dtype)i;
        t.name = spyi_strdup(spy_dtype_name(t.scalar));
        t.display = spyi_strdup(t.name);
        t.host_size = t.host_align = spy_dtype_size_bytes(t.scalar);
        t.device_size = t.device_align = spyi_type_device_scalar(types, t.scalar);
        t.same_layout = t.host_size == t.device_size;
        types->scalars[i] = spyi_type_intern(types, &t);
    }
    types->scalars[SPY_DTYPE_DEFAULT] = types->scalars[SPY_DTYPE_FLOAT32];
    if (spyi_failed_allocations() != failed) {
        spyi_types_destroy(types);
        return NULL;
    }
    return types;
}

void spyi_types_destroy(spyi_types *types) {
    if (!types) return;
    for (int i = 0; i < SPYI_TYPE_BUCKETS; ++i) {
        for (spyi_type_node *node = types->buckets[i], *next; node; node = next) {
            next = node->next;
            spyi_type_free_parts(&node->type);
            free(node);
        }
    }
    spyi_mutex_destroy(&types->lock);
    free(types);
}

const spyi_rules *spyi_types_rules(const spyi_types *types) {
    return types->rules;
}

const spyi_type *spyi_type_void(spyi_types *types) {
    return types->void_type;
}

const spyi_type *spyi_type_scalar(spyi_types *types, spy_dtype scalar) {
    return types->scalars[(unsigned)scalar < SPY_DTYPE_COUNT ? scalar : SPY_DTYPE_DEFAULT];
}

const spyi_type *spyi_type_vector(spyi_types *types, spy_dtype scalar, uint32_t columns) {
    const spyi_type *one = spyi_type_scalar(types, scalar);
    spyi_type t = spyi_type_blank(SPYI_TYPE_VECTOR);
    spyi_text name = { NULL, 0, 0 }, display = { NULL, 0, 0 };
    t.scalar = one->scalar;
    t.columns = columns;
    t.element = one;
    t.host_size = one->host_size * columns;
    t.host_align = one->host_align;
    spyi_type_device_vector(types, t.scalar, columns, &t.device_size, &t.device_align);
    t.same_layout = one->same_layout && t.host_size == t.device_size; // columns are packed in both layouts
    spyi_text_add(&name, "vector<%s,%u>", one->name, columns);
    spyi_text_add(&display, "%s%u", one->name, columns);
    t.name = spyi_type_take(&name);
    t.display = spyi_type_take(&display);
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_matrix(spyi_types *types, spy_dtype scalar, uint32_t rows, uint32_t columns) {
    const spyi_type *row = spyi_type_vector(types, scalar, columns);
    spyi_type t = spyi_type_blank(SPYI_TYPE_MATRIX);
    spyi_text name = { NULL, 0, 0 }, display = { NULL, 0, 0 };
    t.scalar = row->scalar;
    t.rows = rows;
    t.columns = columns;
    t.element = row;
    t.host_size = row->host_size * rows;
    t.host_align = row->host_align;
    t.device_size = spyi_type_device_stride(row) * rows;
    t.device_align = row->device_align;
    t.same_layout = row->same_layout && t.host_size == t.device_size;
    spyi_text_add(&name, "matrix<%s,%u,%u>", row->element->name, rows, columns);
    spyi_text_add(&display, "%s%ux%u", row->element->name, rows, columns);
    t.name = spyi_type_take(&name);
    t.display = spyi_type_take(&display);
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_array(spyi_types *types, const spyi_type *element, int64_t count) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_ARRAY);
    spyi_text text = { NULL, 0, 0 };
    size_t most = SIZE_MAX / 4, device_stride = spyi_type_device_stride(element),
           host_stride = spyi_type_host_stride(element);
    bool plain = element->kind != SPYI_TYPE_OTHER && element->kind != SPYI_TYPE_VOID && count > 0 &&
                 (host_stride == 0 || (uint64_t)count <= most / host_stride) &&
                 (device_stride == 0 || (uint64_t)count <= most / device_stride);
    if (count < 0) spyi_text_add(&text, "Array<%s>", element->name);
    else spyi_text_add(&text, "Array<%s,%lld>", element->name, (long long)count);
    if (!plain) { // the array is unsized, empty, too large, or of elements without a layout
        const spyi_type *other = spyi_type_other(types, spyi_text_str(&text));
        spyi_text_free(&text);
        return other;
    }
    t.name = spyi_type_take(&text);
    const spyi_type *base = element;
    while (base->kind == SPYI_TYPE_ARRAY) base = base->element;
    spyi_text_add(&text, "%s[%lld]", base->display, (long long)count);
    for (const spyi_type *e = element; e->kind == SPYI_TYPE_ARRAY; e = e->element)
        spyi_text_add(&text, "[%lld]", (long long)e->count);
    t.display = spyi_type_take(&text);
    t.scalar = base->scalar;
    t.element = element;
    t.count = count;
    t.host_size = host_stride * (size_t)count;
    t.host_align = element->host_align;
    // An array ends without the padding of its last element in SPIR-V, and with it in C.
    t.device_size = device_stride * (size_t)(count - 1) +
                    (types->rules->pads_structs ? device_stride : element->device_size);
    t.device_align = element->device_align;
    t.same_layout = element->same_layout && host_stride == device_stride;
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                  uint32_t count, size_t device_size, size_t device_align) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_STRUCT);
    spyi_field *copy = (spyi_field *)spyi_calloc(count ? count : 1, sizeof *copy);
    if (!copy) return types->void_type;
    t.name = spyi_strdup(name);
    // The displayed name drops the namespace: "ns.Foo<3>" is shown as "Foo<3>"; dots inside <> belong to the
    // arguments.
    const char *from = name;
    for (const char *p = name; *p && *p != '<'; ++p)
        if (*p == '.') from = p + 1;
    t.display = spyi_strdup(from);
    t.fields = copy;
    t.field_count = count;
    t.host_align = 1;
    t.device_size = device_size;
    t.device_align = device_align ? device_align : 1;
    t.same_layout = true;
    for (uint32_t i = 0; i < count; ++i) {
        const spyi_type *type = fields[i].type;
        copy[i].name = spyi_strdup(fields[i].name);
        copy[i].type = type;
        copy[i].device_offset = fields[i].device_offset;
        copy[i].host_offset = spyi_align(t.host_size, type->host_align);
        t.host_size = copy[i].host_offset + type->host_size;
        if (type->host_align > t.host_align) t.host_align = type->host_align;
        if (!type->same_layout || copy[i].host_offset != copy[i].device_offset) t.same_layout = false;
    }
    t.host_size = spyi_align(t.host_size, t.host_align);
    if (t.host_size != spyi_align(t.device_size, t.device_align)) t.same_layout = false;
    return spyi_type_intern(types, &t);
}

SPYI_FN const spyi_type *spyi_type_find_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                               uint32_t count, size_t device_size, size_t device_align,
                                               bool *other) {
    spyi_type wanted = spyi_type_blank(SPYI_TYPE_STRUCT);
    const spyi_type *found = NULL;
    wanted.name = name;
    wanted.fields = fields;
    wanted.field_count = count;
    wanted.device_size = device_size;
    wanted.device_align = device_align;
    uint64_t hash = spyi_hash(name, strlen(name), (uint64_t)SPYI_TYPE_STRUCT);
    *other = false;
    spyi_mutex_lock(&types->lock);
    for (const spyi_type_node *node = types->buckets[hash % SPYI_TYPE_BUCKETS]; node; node = node->next) {
        if (node->hash != hash || node->type.kind != SPYI_TYPE_STRUCT || strcmp(node->type.name, name) != 0)
            continue;
        if (spyi_type_same(&node->type, &wanted)) found = &node->type;
        else *other = true;
    }
    spyi_mutex_unlock(&types->lock);
    return found;
}

SPYI_FN uint64_t spyi_type_hash(const spyi_type *type) {
    if (!type) return 0;
    uint64_t words[10];
    words[0] = (uint64_t)type->kind;
    words[1] = (uint64_t)type->scalar;
    words[2] = (uint64_t)type->rows << 32 | type->columns;
    words[3] = (uint64_t)type->count;
    words[4] = type->device_size;
    words[5] = type->device_align;
    words[6] = type->host_size;
    words[7] = type->field_count;
    words[8] = spyi_type_hash(type->element);
    words[9] = spyi_hash(type->name, strlen(type->name), 0);
    uint64_t hash = spyi_hash(words, sizeof words, 1);
    for (uint32_t i = 0; i < type->field_count; ++i) {
        const spyi_field *field = &type->fields[i];
        words[0] = hash;
        words[1] = spyi_type_hash(field->type);
        words[2] = field->device_offset;
        words[3] = spyi_hash(field->name, strlen(field->name), 2);
        hash = spyi_hash(words, 4 * sizeof *words, 3);
    }
    return hash;
}

const spyi_type *spyi_type_enum(spyi_types *types, const char *name, spy_dtype scalar) {
    spyi_type t = *spyi_type_scalar(types, scalar);
    t.name = spyi_strdup(name);
    t.display = spyi_strdup(name);
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_memory(spyi_types *types) {
    return spyi_type_enum(types, "void", SPY_DTYPE_UINT8);
}

bool spyi_type_is_memory(const spyi_type *type) {
    return type->kind == SPYI_TYPE_SCALAR && strcmp(type->name, "void") == 0;
}

// Returns a Slang name in the form that people write: "float3" for "vector<float,3>", and "float3*" for a
// pointer, which Slang prints with all default arguments, a form that it does not parse.
static char *spyi_readable_name(spyi_types *types, const char *name) {
    const char *defaults = ", Access.ReadWrite, AddressSpace.Device, DefaultDataLayout>";
    spyi_text out = { NULL, 0, 0 };
    bool pointer = false;
    for (const char *c = name; *c; c++) {
        bool begins = c == name || strchr("<, ", c[-1]);
        size_t size = begins && (strncmp(c, "vector<", 7) == 0 || strncmp(c, "matrix<", 7) == 0)
                          ? strcspn(c, ">") + 1
                          : 0;
        spyi_text inner = { NULL, 0, 0 };
        const spyi_type *type = NULL;
        if (size && c[size - 1]) {
            spyi_text_add_n(&inner, c, size);
            type = spyi_type_parse(types, spyi_text_str(&inner));
            spyi_text_free(&inner);
        }
        if (type) {
            spyi_text_add(&out, "%s", type->display);
            c += size - 1;
        } else if (c == name && strncmp(c, "Ptr<", 4) == 0 && strstr(c, defaults)) {
            pointer = true;
            c += 3;
        } else if (pointer && strcmp(c, defaults) == 0) {
            spyi_text_add(&out, "*");
            break;
        } else if (strncmp(c, ", DefaultDataLayout", 19) == 0) { // this is a default argument of buffers
            c += 18;
        } else {
            spyi_text_add_n(&out, c, 1);
        }
    }
    return spyi_type_take(&out);
}

const spyi_type *spyi_type_other(spyi_types *types, const char *name) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_OTHER);
    t.name = spyi_strdup(name && *name ? name : "?");
    if (t.name) t.display = spyi_readable_name(types, t.name);
    t.host_align = t.device_align = 1;
    // a pointer or handle in a struct takes 8 bytes
    if (t.name && (spyi_type_is_pointer(&t) || spyi_type_is_handle(&t))) {
        t.scalar = SPY_DTYPE_UINT64;
        t.host_size = t.host_align = t.device_size = t.device_align = 8;
        // In SPIR-V a handle is a uint2.
        if (spyi_type_is_handle(&t) && !types->rules->by_address) t.device_align = 4;
        t.same_layout = true;
    }
    return spyi_type_intern(types, &t);
}

static const spyi_type *spyi_type_make_opaque(spyi_types *types, const char *name, const spyi_field *fields,
                                              uint32_t count, bool from_tensor) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_OTHER);
    spyi_field *copy = (spyi_field *)spyi_calloc(count ? count : 1, sizeof *copy);
    if (!copy) return types->void_type;
    t.name = spyi_strdup(name);
    t.display = spyi_readable_name(types, name);
    t.host_align = t.device_align = 1;
    t.fields = copy;
    t.field_count = count;
    t.from_tensor = from_tensor;
    for (uint32_t i = 0; i < count; ++i) {
        copy[i].name = spyi_strdup(fields[i].name);
        copy[i].type = fields[i].type;
        copy[i].device_offset = fields[i].device_offset;
    }
    return spyi_type_intern(types, &t);
}

const spyi_type *spyi_type_opaque(spyi_types *types, const char *name, const spyi_field *fields,
                                  uint32_t count) {
    return spyi_type_make_opaque(types, name, fields, count, false);
}

SPYI_FN const spyi_type *spyi_type_built(spyi_types *types, const char *name, const spyi_field *fields,
                                         uint32_t count) {
    return spyi_type_make_opaque(types, name, fields, count, true);
}

const spyi_type *spyi_type_bound_array(spyi_types *types, const char *name, const spyi_type *element,
                                       uint32_t count) {
    spyi_field fields[SPYI_MOST_PARAMETERS];
    char names[SPYI_MOST_PARAMETERS][16];
    memset(fields, 0, sizeof fields);
    if (count > SPYI_MOST_PARAMETERS) return spyi_type_other(types, name);
    for (uint32_t i = 0; i < count; ++i) {
        snprintf(names[i], sizeof names[i], "[%u]", i);
        fields[i].name = names[i];
        fields[i].type = element;
    }
    return spyi_type_opaque(types, name, fields, count);
}

const spyi_type *spyi_type_struct_array(spyi_types *types, const spyi_type *element, int64_t count) {
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(&name, "%s[%lld]", element->name, (long long)count);
    const spyi_type *type = count <= SPYI_MOST_PARAMETERS && !spyi_type_is_bound_array(element)
                                ? spyi_type_bound_array(types, spyi_text_str(&name), element, (uint32_t)count)
                                : spyi_type_other(types, spyi_text_str(&name));
    spyi_text_free(&name);
    return type;
}

SPYI_FN bool spyi_type_is_pointer(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && strncmp(type->name, "Ptr<", 4) == 0;
}

SPYI_FN bool spyi_type_is_handle(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && strncmp(type->name, "DescriptorHandle<", 17) == 0 &&
           type->name[strlen(type->name) - 1] == '>'; // an array of handles ends in ']'
}

SPYI_FN bool spyi_type_lies_in_structs(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER ? spyi_type_is_pointer(type) || spyi_type_is_handle(type)
                                         : type->kind != SPYI_TYPE_VOID;
}

SPYI_FN bool spyi_type_holds_pointer(const spyi_type *type) {
    while (type->kind == SPYI_TYPE_ARRAY) type = type->element;
    bool holds = spyi_type_is_pointer(type) || spyi_type_is_handle(type);
    for (uint32_t i = 0; type->kind == SPYI_TYPE_STRUCT && i < type->field_count && !holds; ++i)
        holds = spyi_type_holds_pointer(type->fields[i].type);
    return holds;
}

bool spyi_type_is_pair(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && strncmp(type->name, "DifferentialPair<", 17) == 0 &&
           type->name[strlen(type->name) - 1] == '>'; // an array of pairs ends in ']'
}

bool spyi_type_holds_pair(const spyi_type *type) {
    bool holds =
        spyi_type_is_pair(type) || (type->kind == SPYI_TYPE_ARRAY && spyi_type_holds_pair(type->element));
    for (uint32_t i = 0; i < type->field_count && !holds; ++i)
        holds = spyi_type_holds_pair(type->fields[i].type);
    return holds;
}

bool spyi_type_is_bound_array(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && type->field_count && type->fields[0].name[0] == '[' &&
           !type->fields[0].type->field_count && !spyi_type_holds_pair(type->fields[0].type);
}

const spyi_type *spyi_type_unsized(spyi_types *types, const char *name, const spyi_type *element) {
    spyi_field field;
    memset(&field, 0, sizeof field);
    field.name = "[]";
    field.type = element->element ? spyi_type_other(types, element->name) : element;
    return spyi_type_opaque(types, name, &field, 1);
}

bool spyi_type_is_unsized(const spyi_type *type) {
    return spyi_type_is_bound_array(type) && type->fields[0].name[1] == ']';
}

const spyi_type *spyi_type_holder(spyi_types *types, const char *name, const spyi_type *element) {
    spyi_type t = spyi_type_blank(SPYI_TYPE_OTHER);
    t.name = spyi_strdup(name);
    t.display = spyi_readable_name(types, name);
    t.host_align = t.device_align = 1;
    t.element = element;
    return spyi_type_intern(types, &t);
}

size_t spyi_type_device_stride(const spyi_type *type) {
    return spyi_align(type->device_size, type->device_align);
}

size_t spyi_type_host_stride(const spyi_type *type) {
    return type->host_size; // in C the size of a struct includes its final padding
}

// >>names of built-in types

// All names of scalar types in Slang.
static const struct {
    const char *name;
    spy_dtype scalar;
} spyi_type_scalar_names[] = {
    { "bool", SPY_DTYPE_BOOL },         { "int8_t", SPY_DTYPE_INT8 },
    { "uint8_t", SPY_DTYPE_UINT8 },     { "int16_t", SPY_DTYPE_INT16 },
    { "uint16_t", SPY_DTYPE_UINT16 },   { "int32_t", SPY_DTYPE_INT32 },
    { "uint32_t", SPY_DTYPE_UINT32 },   { "int64_t", SPY_DTYPE_INT64 },
    { "uint64_t", SPY_DTYPE_UINT64 },   { "float16_t", SPY_DTYPE_FLOAT16 },
    { "float32_t", SPY_DTYPE_FLOAT32 }, { "float64_t", SPY_DTYPE_FLOAT64 },
    { "int", SPY_DTYPE_INT32 },         { "uint", SPY_DTYPE_UINT32 },
    { "half", SPY_DTYPE_FLOAT16 },      { "float", SPY_DTYPE_FLOAT32 },
    { "double", SPY_DTYPE_FLOAT64 },
};

static void spyi_type_skip(const char **at) {
    while (**at == ' ' || **at == '\t') ++*at;
}

static bool spyi_type_token(const char **at, char token) {
    spyi_type_skip(at);
    if (**at != token) return false;
    ++*at;
    spyi_type_skip(at);
    return true;
}

static bool spyi_type_number(const char **at, int64_t *value) {
    spyi_type_skip(at);
    if (**at < '0' || **at > '9') return false;
    int64_t v = 0;
    for (; **at >= '0' && **at <= '9'; ++*at) {
        if (v > 0x7ffffffff) return false;
        v = v * 10 + (**at - '0');
    }
    *value = v;
    return true;
}

static bool spyi_type_parse_scalar(const char **at, spy_dtype *scalar) {
    size_t best = 0;
    for (size_t i = 0; i < sizeof spyi_type_scalar_names / sizeof spyi_type_scalar_names[0]; ++i) {
        size_t n = strlen(spyi_type_scalar_names[i].name);
        if (n > best && strncmp(*at, spyi_type_scalar_names[i].name, n) == 0) {
            best = n;
            *scalar = spyi_type_scalar_names[i].scalar;
        }
    }
    *at += best;
    return best > 0;
}

static bool spyi_type_word(const char **at, const char *word) { // skips `word` and '<'
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0) return false;
    const char *after = *at + n;
    if (!spyi_type_token(&after, '<')) return false;
    *at = after;
    return true;
}

// Slang's built-in vectors and matrices have sizes from 1 to 4.
static bool spyi_type_small(int64_t n) {
    return n >= 1 && n <= 4;
}

static const spyi_type *spyi_type_parse_at(spyi_types *types, const char **at, int depth) {
    spy_dtype scalar = SPY_DTYPE_DEFAULT;
    int64_t rows = 0, columns = 0;
    const spyi_type *type = NULL;
    if (depth > 16) return NULL;
    spyi_type_skip(at);
    if (spyi_type_word(at, "vector")) {
        if (!spyi_type_parse_scalar(at, &scalar) || !spyi_type_token(at, ',') ||
            !spyi_type_number(at, &columns) || !spyi_type_token(at, '>') || !spyi_type_small(columns))
            return NULL;
        type = spyi_type_vector(types, scalar, (uint32_t)columns);
    } else if (spyi_type_word(at, "matrix")) {
        if (!spyi_type_parse_scalar(at, &scalar) || !spyi_type_token(at, ',') ||
            !spyi_type_number(at, &rows) || !spyi_type_token(at, ',') || !spyi_type_number(at, &columns) ||
            !spyi_type_token(at, '>') || !spyi_type_small(rows) || !spyi_type_small(columns))
            return NULL;
        type = spyi_type_matrix(types, scalar, (uint32_t)rows, (uint32_t)columns);
    } else if (spyi_type_word(at, "Array")) {
        const spyi_type *element = spyi_type_parse_at(types, at, depth + 1);
        if (!element || !spyi_type_token(at, ',') || !spyi_type_number(at, &columns) ||
            !spyi_type_token(at, '>'))
            return NULL;
        type = spyi_type_array(types, element, columns);
    } else if (spyi_type_parse_scalar(at, &scalar)) {
        type = spyi_type_scalar(types, scalar);
        if (**at >= '0' && **at <= '9') {
            if (!spyi_type_number(at, &columns) || !spyi_type_small(columns)) return NULL;
            if (**at == 'x') {
                ++*at;
                rows = columns;
                if (!spyi_type_number(at, &columns) || !spyi_type_small(columns)) return NULL;
                type = spyi_type_matrix(types, scalar, (uint32_t)rows, (uint32_t)columns);
            } else {
                type = spyi_type_vector(types, scalar, (uint32_t)columns);
            }
        }
        if (**at == '_' || (**at >= 'a' && **at <= 'z') || (**at >= 'A' && **at <= 'Z'))
            return NULL; // the name is that of another type, such as "float3_of_mine"
    } else if (strncmp(*at, "void", 4) == 0) {
        *at += 4;
        spyi_type_skip(at);
        return **at == '\0' ? types->void_type : NULL;
    } else {
        return NULL;
    }
    int64_t sizes[16];
    int count = 0;
    while (spyi_type_token(at, '[')) {
        if (count == 16 || !spyi_type_number(at, &sizes[count++]) || !spyi_type_token(at, ']')) return NULL;
    }
    while (count > 0) type = spyi_type_array(types, type, sizes[--count]); // the last size is the innermost
    return type;
}

const spyi_type *spyi_type_parse(spyi_types *types, const char *name) {
    if (!name) return NULL;
    const char *at = name;
    const spyi_type *type = spyi_type_parse_at(types, &at, 0);
    spyi_type_skip(&at);
    return type && *at == '\0' && type->kind != SPYI_TYPE_OTHER ? type : NULL;
}

// >>copies between layouts

static void spyi_type_copy(const spyi_type *type, char *to, const char *from, size_t count, bool to_device) {
    size_t host = spyi_type_host_stride(type), device = spyi_type_device_stride(type);
    size_t to_step = to_device ? device : host, from_step = to_device ? host : device;
    if (count == 0) return;
    if (type->same_layout) {
        // The last element may be shorter on the device than in C, which pads it, so nothing is written
        // behind it.
        memcpy(to, from,
               (count - 1) * host +
                   (type->host_size < type->device_size ? type->host_size : type->device_size));
        return;
    }
    for (size_t i = 0; i < count; ++i, to += to_step, from += from_step) {
        switch (type->kind) {
        // Only bool differs in width: 1 byte on the host, a 32-bit word on the device.
        case SPYI_TYPE_SCALAR:
            if (type->scalar == SPY_DTYPE_BOOL) {
                uint32_t wide = 0;
                uint8_t narrow = 0;
                if (to_device) {
                    memcpy(&narrow, from, sizeof narrow);
                    wide = narrow != 0;
                    memcpy(to, &wide, sizeof wide);
                } else {
                    memcpy(&wide, from, sizeof wide);
                    narrow = wide != 0;
                    memcpy(to, &narrow, sizeof narrow);
                }
            } else {
                memcpy(to, from, type->host_size);
            }
            break;
        case SPYI_TYPE_VECTOR: spyi_type_copy(type->element, to, from, type->columns, to_device); break;
        case SPYI_TYPE_MATRIX: spyi_type_copy(type->element, to, from, type->rows, to_device); break;
        case SPYI_TYPE_ARRAY: spyi_type_copy(type->element, to, from, (size_t)type->count, to_device); break;
        case SPYI_TYPE_STRUCT:
            for (uint32_t f = 0; f < type->field_count; ++f) {
                const spyi_field *field = &type->fields[f];
                spyi_type_copy(field->type, to + (to_device ? field->device_offset : field->host_offset),
                               from + (to_device ? field->host_offset : field->device_offset), 1, to_device);
            }
            break;
        case SPYI_TYPE_VOID:
        case SPYI_TYPE_OTHER: break; // a pointer has the same layout on both sides
        }
    }
}

void spyi_type_to_device(const spyi_type *type, void *device, const void *host, size_t count) {
    spyi_type_copy(type, (char *)device, (const char *)host, count, true);
}

void spyi_type_to_host(const spyi_type *type, void *host, const void *device, size_t count) {
    spyi_type_copy(type, (char *)host, (const char *)device, count, false);
}
