// The fields of a saved list: the same functions write and read them. Bytes that are read are not trusted.
// This file checks that memory is used safely, and the calls that the bytes become check the rest.
#include "list/saved.h"

#include "api/generator.h"
#include "api/gradient.h"
#include "kinds/kind.h"
#include "plan/packs.h"

enum { SPYI_SCRIPT_DEEPEST = 16 };

// >>memory of what is read

typedef struct spyi_script_block {
    struct spyi_script_block *next;
    uint64_t padding; // the bytes that follow are aligned to 16
} spyi_script_block;

SPYI_FN void *spyi_script_take(spyi_script_io *io, size_t size) {
    spyi_script_block *block = (spyi_script_block *)spyi_calloc(1, sizeof *block + size);
    if (!block) {
        spyi_stream_fail(&io->r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
        return NULL;
    }
    block->next = io->blocks;
    io->blocks = block;
    return block + 1;
}

SPYI_FN void spyi_script_free(spyi_script_io *io) {
    while (io->blocks) {
        spyi_script_block *block = io->blocks;
        io->blocks = block->next;
        free(block);
    }
    spyi_text_free(&io->r.problem);
    free(io->r.types);
    io->r.types = NULL;
}

// >>plain fields

// Bytes that were read stay where they are as long as the list is loaded.
static const void *spyi_script_bytes_at(spyi_script_io *io, size_t size) {
    const void *at = io->r.at;
    if (!spyi_stream_expect(&io->r, size <= io->r.left, "it ends too early")) return NULL;
    io->r.at += size;
    io->r.left -= size;
    return at;
}

SPYI_FN void spyi_script_text(spyi_script_io *io, const char **text) {
    spyi_stream *r = &io->r;
    uint32_t size = r->out && *text ? (uint32_t)strlen(*text) + 1 : 0; // the number of bytes with the NUL; 0
                                                                       // stands for NULL
    spyi_stream_u32(r, &size);
    if (r->out) {
        if (size) spyi_stream_raw(r, (void *)(uintptr_t)*text, size);
        return;
    }
    const char *at = size ? (const char *)spyi_script_bytes_at(io, size) : NULL;
    *text = at && spyi_stream_expect(r, at[size - 1] == '\0', "a text has no end") ? at : NULL;
}

SPYI_FN void spyi_script_shape(spyi_script_io *io, spy_shape *shape) {
    if (!io->r.out) memset(shape, 0, sizeof *shape);
    shape->rank = spyi_stream_enum(&io->r, shape->rank, SPY_MAX_RANK + 1);
    spyi_stream_raw(&io->r, shape->dims, shape->rank * sizeof *shape->dims);
}

SPYI_FN void *spyi_script_list(spyi_script_io *io, uint32_t *count, size_t item_size, size_t least) {
    spyi_stream_u32(&io->r, count);
    if (io->r.out) return NULL;
    bool good = spyi_stream_expect(&io->r, *count <= SPYI_SCRIPT_MOST && *count <= io->r.left / least,
                                   "a list is too long");
    void *items = good ? spyi_script_take(io, ((size_t)*count + 1) * item_size) : NULL;
    if (!items) *count = 0;
    return items;
}

static void spyi_script_texts(spyi_script_io *io, const char *const **texts, size_t *count) {
    uint32_t n = io->r.out ? (uint32_t)*count : 0;
    const char **items = (const char **)spyi_script_list(io, &n, sizeof *items, 4);
    for (uint32_t i = 0; i < n; i++) {
        const char *text = io->r.out ? (*texts)[i] : NULL;
        spyi_script_text(io, &text);
        (void)spyi_stream_expect(&io->r, text != NULL, "a text is missing");
        if (items) items[i] = text;
    }
    if (io->r.out) return;
    *texts = items;
    *count = io->r.status == SPY_OK ? n : 0;
}

// >>arguments

// Generators by their numbers in saved lists. All but grids keep their numbers in spy_arg.dims.
static const char *const spyi_script_kinds[] = { "call_id",   "thread_id",  "range",
                                                 "wang_hash", "rand_float", "grid" };
enum { SPYI_SCRIPT_GRID = 5, SPYI_SCRIPT_KIND_COUNT = 6 };

static spy_arg spyi_script_generator(uint32_t number) {
    spy_grid_desc none;
    switch (number) {
    case 0: return spy_arg_call_id(NULL);
    case 1: return spy_arg_thread_id(NULL);
    case 2: return spy_arg_range(NULL, 0, 1, 1);
    case 3: return spy_arg_wang_hash(NULL, NULL);
    case 4: return spy_arg_rand_float(NULL, 0, 1, NULL);
    default: memset(&none, 0, sizeof none); return spy_arg_grid(NULL, &none);
    }
}

static void spyi_script_grid(spyi_script_io *io, spy_arg *arg) {
    spy_grid_desc *desc = io->r.out ? (spy_grid_desc *)(uintptr_t)arg->value.data
                                    : (spy_grid_desc *)spyi_script_take(io, sizeof *desc);
    if (!desc) return;
    spyi_script_shape(io, &desc->shape);
    spyi_script_shape(io, &desc->offset);
    spyi_script_shape(io, &desc->stride);
    arg->value.data = desc;
}

static void spyi_script_custom(spyi_script_io *io, spy_arg *arg) {
    spyi_stream *r = &io->r;
    uint32_t number = 0;
    if (r->out) {
        while (number < SPYI_SCRIPT_KIND_COUNT && strcmp(spyi_script_kinds[number], arg->_custom->name) != 0)
            number++;
        if (number == SPYI_SCRIPT_KIND_COUNT) {
            spyi_stream_fail(r, SPY_ERROR_UNSUPPORTED, "argument '%s' is a %s, which cannot be saved",
                             arg->name ? arg->name : "", arg->_custom->name);
            return;
        }
    }
    number = spyi_stream_enum(r, number, SPYI_SCRIPT_KIND_COUNT);
    if (!r->out) {
        spy_arg made = spyi_script_generator(number);
        arg->_custom = made._custom;
        arg->count = made.count;
        memcpy(arg->dims, made.dims, sizeof arg->dims);
    }
    if (number == SPYI_SCRIPT_GRID) {
        spyi_script_grid(io, arg);
        return;
    }
    spyi_stream_dims(r, arg->dims);
    bool good = true; // the numbers of all generators fit 32 bits
    for (int d = 0; d < SPY_MAX_RANK; d++)
        good = good && arg->dims[d] >= INT32_MIN && arg->dims[d] <= (int64_t)UINT32_MAX;
    (void)spyi_stream_expect(r, good, "a generator's number is beyond its range");
}

static void spyi_script_slot_number(spyi_script_io *io, const spy_tensor *tensor, bool made, uint32_t *slot) {
    if (io->r.out)
        *slot = tensor ? spyi_note_slot(io->notes, tensor, made, io->fixed, io->use) : SPYI_SCRIPT_NONE;
    spyi_stream_u32(&io->r, slot);
}

// Writes or reads the bytes of a host array, or of one value.
static void spyi_script_data(spyi_script_io *io, spy_arg *arg, size_t size) {
    uint64_t bytes = size;
    spyi_stream_u64(&io->r, &bytes);
    if (io->r.out) {
        if (size) spyi_stream_raw(&io->r, (void *)(uintptr_t)arg->value.data, size);
        return;
    }
    const void *at = spyi_stream_expect(&io->r, bytes == size, "data have another size than they say")
                         ? spyi_script_bytes_at(io, size)
                         : NULL;
    void *copy = at ? spyi_script_take(io, size + 64) : NULL; // the copy is aligned, unlike the stream
    if (copy) memcpy(copy, at, size);
    arg->value.data = copy;
}

static void spyi_script_array(spyi_script_io *io, spy_arg *arg) {
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    if (io->r.out) {
        shape.rank = (uint32_t)arg->count;
        memcpy(shape.dims, arg->dims, shape.rank * sizeof *shape.dims);
    }
    spyi_script_shape(io, &shape);
    arg->count = shape.rank;
    memcpy(arg->dims, shape.dims, sizeof arg->dims);
    spy_dtype dtype = arg->dtype == SPY_DTYPE_DEFAULT ? SPY_DTYPE_FLOAT32 : arg->dtype;
    int64_t count = spyi_shape_count(&shape), element = (int64_t)spy_dtype_size_bytes(dtype);
    if (!spyi_stream_expect(&io->r, count >= 0 && count <= SPYI_MOST_BYTES / (element ? element : 1),
                            "an array has no sizes"))
        return;
    spyi_script_data(io, arg, (size_t)(count * element));
}

static void spyi_script_arg(spyi_script_io *io, spy_arg *arg, int depth);

static void spyi_script_fields(spyi_script_io *io, spy_args *fields, int depth) {
    uint32_t count = io->r.out ? (uint32_t)fields->count : 0;
    if (!spyi_stream_expect(&io->r, depth <= SPYI_SCRIPT_DEEPEST, "structs are nested too deep")) return;
    spy_arg *items = (spy_arg *)spyi_script_list(io, &count, sizeof *items, 24);
    if (io->r.out) items = (spy_arg *)(uintptr_t)fields->items;
    for (uint32_t i = 0; i < count && io->r.status == SPY_OK; i++) spyi_script_arg(io, &items[i], depth);
    fields->items = items;
    fields->count = count;
}

// Returns whether an argument of this kind can have this direction in a list. Numbers and bytes can only be
// inputs, because outputs have addresses of the program's memory.
static bool spyi_script_direction(const spy_arg *arg) {
    spy_direction d = arg->direction;
    switch (arg->kind) {
    case SPY_ARG_KIND_BOOL:
    case SPY_ARG_KIND_INT:
    case SPY_ARG_KIND_UINT:
    case SPY_ARG_KIND_FLOAT:
    case SPY_ARG_KIND_DATA: return d == SPY_DIRECTION_DEFAULT || d == SPY_DIRECTION_DROP;
    case SPY_ARG_KIND_ARRAY:
        return d == SPY_DIRECTION_DEFAULT || d == SPY_DIRECTION_DROP || d == SPY_DIRECTION_ANY;
    case SPY_ARG_KIND_TENSOR: return true;
    case SPY_ARG_KIND_NEW:
    case SPY_ARG_KIND_RESULT: return d == SPY_DIRECTION_OUT;
    case SPY_ARG_KIND_STRUCT:
    case SPY_ARG_KIND_PAIR:
    case SPY_ARG_KIND_CUSTOM: return d == SPY_DIRECTION_DEFAULT;
    default: return false;
    }
}

static void spyi_script_arg_value(spyi_script_io *io, spy_arg *arg, int depth) {
    spyi_stream *r = &io->r;
    uint32_t slot = 0;
    spy_args fields;
    switch (arg->kind) {
    case SPY_ARG_KIND_TENSOR:
        spyi_script_slot_number(io, arg->value.tensor, false, &slot);
        if (!r->out) arg->value.tensor = spyi_loading_tensor(io, slot);
        return;
    case SPY_ARG_KIND_NEW:
        spyi_script_slot_number(io, r->out ? *arg->value.new_tensor : NULL, true, &slot);
        if (!r->out) arg->value.new_tensor = spyi_loading_made(io, slot);
        return;
    case SPY_ARG_KIND_RESULT: // a result without a tensor stands for a function that returns nothing
        spyi_script_slot_number(io, r->out ? arg->value.result->tensor : NULL, true, &slot);
        if (!r->out) arg->value.result = spyi_loading_result(io, slot);
        return;
    case SPY_ARG_KIND_ARRAY: spyi_script_array(io, arg); return;
    case SPY_ARG_KIND_DATA: {
        uint32_t size = r->out ? (uint32_t)arg->count : 0;
        spyi_stream_u32(r, &size);
        arg->count = size;
        spyi_script_data(io, arg, size);
        return;
    }
    case SPY_ARG_KIND_STRUCT:
    case SPY_ARG_KIND_PAIR:
        fields.items = arg->value.fields;
        fields.count = arg->count;
        spyi_script_fields(io, &fields, depth + 1);
        arg->value.fields = fields.items;
        arg->count = fields.count;
        return;
    case SPY_ARG_KIND_CUSTOM: spyi_script_custom(io, arg); return;
    default: spyi_stream_raw(r, &arg->value.u, sizeof arg->value.u); return; // the argument is a number
    }
}

static void spyi_script_arg(spyi_script_io *io, spy_arg *arg, int depth) {
    spyi_stream *r = &io->r;
    if (!r->out) memset(arg, 0, sizeof *arg);
    spyi_script_text(io, &arg->name);
    arg->kind = (spy_arg_kind)spyi_stream_enum(r, (uint32_t)arg->kind, (uint32_t)SPY_ARG_KIND_PAIR + 1);
    arg->direction =
        (spy_direction)spyi_stream_enum(r, (uint32_t)arg->direction, (uint32_t)SPY_DIRECTION_DROP + 1);
    arg->dtype = (spy_dtype)spyi_stream_enum(r, (uint32_t)arg->dtype, SPY_DTYPE_COUNT);
    arg->_map_count = spyi_stream_enum(r, arg->_map_count, SPYI_MAP_WHOLE + 1);
    if (arg->_map_count <= SPY_MAX_RANK) spyi_stream_raw(r, arg->_map, arg->_map_count);
    spyi_script_text(io, &arg->type);
    if (!spyi_stream_expect(r, spyi_script_direction(arg), "an argument cannot be in a list")) return;
    spyi_script_arg_value(io, arg, depth);
}

SPYI_FN void spyi_script_args(spyi_script_io *io, spy_args *args) {
    spyi_script_fields(io, args, 0);
}

SPYI_FN void spyi_script_options(spyi_script_io *io, spy_call_options *o) {
    spyi_stream *r = &io->r;
    spyi_script_text(io, &o->prelude);
    spyi_script_args(io, &o->constants);
    spyi_script_args(io, &o->globals);
    spyi_script_texts(io, &o->conformances, &o->conformance_count);
    for (int i = 0; i < 3; i++) spyi_stream_u32(r, &o->thread_group_size[i]);
    spyi_script_shape(io, &o->call_group_shape);
    spyi_script_shape(io, &o->thread_count);
    o->mode = (spy_call_mode)spyi_stream_enum(r, (uint32_t)o->mode, (uint32_t)SPY_CALL_MODE_FORWARD_DIFF + 1);
    spyi_stream_bool(r, &o->deterministic);
    spyi_stream_u32(r, &o->shared_bytes);
}

// >>modules and functions

SPYI_FN void spyi_script_module(spyi_script_io *io, spy_module_desc *desc, uint32_t **link) {
    spyi_stream *r = &io->r;
    spy_compile_options *o = &desc->options;
    uint32_t defines = r->out ? (uint32_t)desc->define_count : 0,
             links = r->out ? (uint32_t)desc->link_count : 0;
    spyi_script_text(io, &desc->name);
    (void)spyi_stream_expect(r, desc->name != NULL, "a module has no name");
    spy_define *items = (spy_define *)spyi_script_list(io, &defines, sizeof *items, 8);
    for (uint32_t i = 0; i < defines; i++) {
        spy_define one;
        memset(&one, 0, sizeof one);
        if (r->out) one = desc->defines[i];
        spyi_script_text(io, &one.name);
        spyi_script_text(io, &one.value);
        if (items) items[i] = one;
    }
    uint32_t *indices = (uint32_t *)spyi_script_list(io, &links, sizeof *indices, 4);
    if (r->out) indices = *link;
    for (uint32_t i = 0; i < links; i++) spyi_stream_u32(r, &indices[i]);
    spyi_script_texts(io, &desc->conformances, &desc->conformance_count);
    o->optimization = (spy_optimization)spyi_stream_enum(r, (uint32_t)o->optimization,
                                                         (uint32_t)SPY_OPTIMIZATION_HIGHEST + 1);
    o->debug_info =
        (spy_debug_info)spyi_stream_enum(r, (uint32_t)o->debug_info, (uint32_t)SPY_DEBUG_INFO_FULL + 1);
    o->float_mode =
        (spy_float_mode)spyi_stream_enum(r, (uint32_t)o->float_mode, (uint32_t)SPY_FLOAT_MODE_FAST + 1);
    spyi_stream_bool(r, &o->warnings_as_errors);
    spyi_stream_bool(r, &o->experimental_features);
    spyi_stream_bool(r, &desc->strict_broadcasting);
    spyi_stream_bool(r, &desc->zero_missing);
    if (r->out) return;
    desc->defines = items;
    desc->define_count = defines;
    desc->link_count = links;
    *link = indices;
}

SPYI_FN void spyi_script_function(spyi_script_io *io, uint32_t *module, const char **name,
                                  spyi_declaration **declared, uint32_t *declared_count) {
    spyi_stream *r = &io->r;
    spyi_stream_u32(r, module);
    spyi_script_text(io, name);
    (void)spyi_stream_expect(r, *name && **name, "a function has no name");
    spyi_declaration *items = (spyi_declaration *)spyi_script_list(io, declared_count, sizeof *items, 17);
    if (r->out) items = *declared;
    for (uint32_t i = 0; i < *declared_count; i++) {
        spyi_declaration *d = &items[i];
        spyi_script_text(io, &d->name);
        spyi_stream_u32(r, &d->position);
        spyi_script_text(io, &d->type);
        spyi_stream_u8(r, &d->map_count);
        spyi_stream_raw(r, d->map, sizeof d->map);
        (void)spyi_stream_expect(r, d->map_count <= SPY_MAX_RANK || d->map_count == SPYI_MAP_WHOLE,
                                 "a mapping is too long");
    }
    *declared = items;
}

// >>tensors and slots

// Returns whether a shape's dimensions are valid sizes, which take at most as many bytes as the library
// allows.
static bool spyi_script_sizes(const spy_shape *shape, const spyi_type *type) {
    return type && spyi_shape_holds(shape, type);
}

SPYI_FN void spyi_script_tensors(spyi_script_io *io, spyi_script_tensor **tensors, uint32_t *count) {
    spyi_stream *r = &io->r;
    spyi_script_tensor *items = (spyi_script_tensor *)spyi_script_list(io, count, sizeof *items, 19);
    if (r->out) items = *tensors;
    for (uint32_t i = 0; i < *count && r->status == SPY_OK; i++) {
        spyi_script_tensor *t = &items[i];
        spyi_script_text(io, &t->name);
        spyi_stream_type(r, &t->type);
        spyi_script_shape(io, &t->shape);
        spyi_script_shape(io, &t->strides);
        spyi_stream_bool(r, &t->made);
        spyi_stream_bool(r, &t->fixed_shape);
        spyi_stream_bool(r, &t->fixed_strides);
        (void)spyi_stream_expect(r,
                                 (t->made || t->name) && spyi_script_sizes(&t->shape, t->type) &&
                                     t->strides.rank == t->shape.rank,
                                 "a tensor has no name, or no sizes");
    }
    *tensors = items;
}

SPYI_FN void spyi_script_slots(spyi_script_io *io, spyi_script_slot **slots, uint32_t *count,
                               uint32_t tensor_count) {
    spyi_stream *r = &io->r;
    spyi_script_slot *items = (spyi_script_slot *)spyi_script_list(io, count, sizeof *items, 9);
    if (r->out) items = *slots;
    for (uint32_t i = 0; i < *count && r->status == SPY_OK; i++) {
        spyi_script_slot *s = &items[i];
        uint64_t offset = (uint64_t)s->offset_bytes;
        spyi_stream_u32(r, &s->tensor);
        s->grad = spyi_stream_enum(r, s->grad, 3);
        spyi_stream_bool(r, &s->view);
        (void)spyi_stream_expect(r, s->tensor < tensor_count, "it has no such tensor");
        if (!s->view) continue;
        spyi_stream_type(r, &s->type);
        spyi_script_shape(io, &s->shape);
        spyi_script_shape(io, &s->strides);
        spyi_stream_u64(r, &offset);
        s->offset_bytes = (int64_t)offset;
        (void)spyi_stream_expect(r, spyi_script_sizes(&s->shape, s->type) && s->strides.rank == s->shape.rank,
                                 "a view has no sizes");
    }
    *slots = items;
}

SPYI_FN void spyi_script_question(const spy_device *device, const char *name, spyi_text *out) {
    spyi_text_add(out, "list of a pack for %s: %s", spyi_pack_target(device), name);
}
