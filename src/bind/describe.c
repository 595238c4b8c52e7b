// Describes a call: makes values and a key of its spy_args. This runs at every call, so it only reads and
// copies.
//
// The key holds all that a plan depends on: function, kinds, directions, element types, ranks, mappings,
// casts and names. Names are in the key as bytes.
#include "bind/options.h"
#include "data/texture.h"

#define SPYI_DEEPEST_STRUCT 16

// Makes room for `extra` more bytes of the key. Returns false when out of memory.
static bool spyi_key_room(spyi_values *values, size_t extra) {
    size_t needed = values->key_size + extra;
    if (SPYI_LIKELY(needed <= values->key_capacity)) return true;
    size_t capacity = needed * 2 < 512 ? 512 : needed * 2;
    uint8_t *key = (uint8_t *)spyi_realloc(values->key, capacity);
    if (!key) return false;
    values->key = key;
    values->key_capacity = (uint32_t)capacity;
    return true;
}

SPYI_FN bool spyi_key_bytes(spyi_values *values, const void *bytes, size_t size) {
    if (!spyi_key_room(values, size)) return false;
    memcpy(values->key + values->key_size, bytes, size);
    values->key_size += (uint32_t)size;
    return true;
}

static bool spyi_key_name(spyi_values *values, const char *name) {
    return spyi_key_bytes(values, name ? name : "", name ? strlen(name) + 1 : 1);
}

// Writes how messages name an argument: by its name, or by its position counted from 1.
static void spyi_arg_name(const spy_arg *arg, size_t position, spyi_text *out) {
    if (arg->name && arg->name[0]) spyi_text_add(out, "argument '%s'", arg->name);
    else spyi_text_add(out, "argument %zu", position + 1);
}

static spy_status spyi_bad_arg(const spy_arg *arg, size_t position, spyi_text *error, spy_status status,
                               const char *what) {
    spyi_arg_name(arg, position, error);
    spyi_text_add(error, ": %s", what);
    return status;
}

static bool spyi_is_host_input(spy_arg_kind kind) {
    return (kind >= SPY_ARG_KIND_BOOL && kind <= SPY_ARG_KIND_FLOAT) || kind == SPY_ARG_KIND_ARRAY ||
           kind == SPY_ARG_KIND_DATA;
}

// Checks that the objects of a texture or sampler argument live on this device, and notes them in its value.
static spy_status spyi_describe_objects(spy_device *device, const spy_arg *arg, size_t position,
                                        spyi_value *v, spyi_text *error) {
    const spyi_kind_resource *resource = arg->_custom->run->resource;
    const void *objects[2] = { arg->value.data, (const void *)(intptr_t)arg->dims[0] };
    for (int i = 0; i < 2; i++) {
        if (!resource->objects[i] || (i && !objects[i])) continue;
        spyi_kind kind = (spyi_kind)resource->objects[i];
        if (!spyi_is_on(device, objects[i], kind)) {
            (void)spyi_bad_arg(arg, position, error, SPY_OK, "");
            return spyi_object_problem(objects[i], kind, error);
        }
        v->held[i] = (spyi_object *)(uintptr_t)objects[i];
    }
    return SPY_OK;
}

// Checks one argument's own data and fills the members of its value that depend on the argument's kind.
static spy_status spyi_describe_one(spy_device *device, const spy_arg *arg, size_t position, spyi_value *v,
                                    spyi_text *error) {
    bool returns = arg->direction == SPY_DIRECTION_OUT || arg->direction == SPY_DIRECTION_INOUT;
    if (arg->direction != SPY_DIRECTION_DEFAULT && !returns &&
        (arg->direction != SPY_DIRECTION_ANY || arg->kind != SPY_ARG_KIND_ARRAY) &&
        (arg->direction != SPY_DIRECTION_IN || arg->kind != SPY_ARG_KIND_TENSOR) &&
        (arg->direction != SPY_DIRECTION_DROP || !spyi_is_host_input(arg->kind)))
        return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                            "its direction is not one of spy_direction");
    switch (arg->kind) {
    case SPY_ARG_KIND_BOOL:
    case SPY_ARG_KIND_INT:
    case SPY_ARG_KIND_UINT:
    case SPY_ARG_KIND_FLOAT:
        if (arg->dtype <= SPY_DTYPE_DEFAULT || arg->dtype >= SPY_DTYPE_COUNT)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its dtype is not one of spy_dtype");
        v->type = device->scalars[arg->dtype];
        if (returns && !arg->value.out)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the pointer that takes its result is NULL");
        return SPY_OK;
    case SPY_ARG_KIND_TENSOR: {
        spy_tensor *t = arg->value.tensor;
        if (!spyi_is_on(device, t, SPYI_KIND_TENSOR)) {
            (void)spyi_bad_arg(arg, position, error, SPY_OK, "");
            return spyi_object_problem(t, SPYI_KIND_TENSOR, error);
        }
        v->tensor = t;
        v->type = t->type;
        v->rank = (uint8_t)t->shape.rank;
        v->dims = t->shape.dims;
        return SPY_OK;
    }
    case SPY_ARG_KIND_ARRAY: {
        if (arg->dtype < SPY_DTYPE_DEFAULT || arg->dtype >= SPY_DTYPE_COUNT)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its dtype is not one of spy_dtype");
        if (arg->count > SPY_MAX_RANK)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its rank is above SPY_MAX_RANK");
        spy_shape shape;
        shape.rank = (uint32_t)arg->count;
        memcpy(shape.dims, arg->dims, sizeof shape.dims);
        v->type = device->scalars[arg->dtype == SPY_DTYPE_DEFAULT ? SPY_DTYPE_FLOAT32 : arg->dtype];
        int64_t count = spyi_shape_count(&shape);
        if (!spyi_shape_holds(&shape, v->type))
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "its shape has a negative or too large size");
        if (count > 0 && !arg->value.data)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected a host array, got NULL");
        v->rank = (uint8_t)arg->count;
        v->dims = arg->dims;
        return SPY_OK;
    }
    case SPY_ARG_KIND_DATA:
        if (!arg->value.data)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected host data, got NULL");
        if (arg->count == 0 || arg->count > UINT32_MAX)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the size of its host data is not valid");
        v->size = (uint32_t)arg->count;
        return SPY_OK;
    case SPY_ARG_KIND_STRUCT:
        if (arg->count && !arg->value.fields)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "expected a list of fields, got NULL");
        if (arg->count > 4096)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT, "it has too many fields");
        v->child_count = (uint32_t)arg->count;
        return SPY_OK;
    case SPY_ARG_KIND_CUSTOM: {
        const char *problem = NULL;
        v->custom = arg->_custom;
        if (!arg->_custom)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "it was not made by one of the spy_arg_* functions");
        if (arg->_custom->run->resource) {
            spy_status status = spyi_describe_objects(device, arg, position, v, error);
            if (status != SPY_OK) return status;
        }
        return !arg->_custom->run->describe || arg->_custom->run->describe(arg, v, &problem)
                   ? SPY_OK
                   : spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT, problem);
    }
    case SPY_ARG_KIND_PAIR:
        if (arg->count != 2 || !arg->value.fields)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                !arg->value.fields ? "expected a value and its gradient, got NULL"
                                : arg->count < 2
                                    ? "expected a value and its gradient, got less than two arguments"
                                    : "expected a value and its gradient, got more than two arguments");
        v->child_count = 2;
        return SPY_OK;
    case SPY_ARG_KIND_RESULT:
        if (!arg->value.result)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the pointer that takes its result is NULL");
        if (arg->direction != SPY_DIRECTION_INOUT) return SPY_OK;
        if (arg->value.result->dtype <= SPY_DTYPE_DEFAULT || arg->value.result->dtype >= SPY_DTYPE_COUNT ||
            arg->value.result->size_bytes > SPY_RESULT_BYTES)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the value that goes in has no valid dtype or size_bytes");
        v->type = device->scalars[arg->value.result->dtype];
        v->size = (uint32_t)arg->value.result->size_bytes;
        return SPY_OK;
    case SPY_ARG_KIND_NEW:
        if (!arg->value.new_tensor)
            return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                                "the pointer that takes its tensor is NULL");
        return SPY_OK;
    default:
        return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                            "it was not made by one of the spy_arg_*, spy_out_* or spy_inout_* functions");
    }
}

SPYI_FN bool spyi_describe_again(spy_device *device, const spy_arg *arg, spyi_value *v) {
    const spyi_type *type = v->type;
    const spyi_value_kind *custom = v->custom;
    uint32_t size = v->size, rank = v->rank;
    spyi_text ignored = { NULL, 0, 0 };
    if ((uint8_t)arg->kind != v->kind || (uint8_t)arg->direction != v->direction || arg->_map_count ||
        v->map_count || v->whole || arg->type || v->cast || v->child_count)
        return false;
    v->arg = arg;
    v->name = arg->name;
    v->held[0] = v->held[1] = NULL;
    bool good = spyi_describe_one(device, arg, 0, v, &ignored) == SPY_OK;
    spyi_text_free(&ignored);
    return good && v->type == type && v->custom == custom && v->size == size && v->rank == rank &&
           !v->child_count;
}

// Takes the mapping and the type of an argument from the argument itself, or from the function's declaration.
static spy_status spyi_describe_mapping(const spy_arg *arg, size_t position, const spyi_declaration *declared,
                                        spyi_value *v, spyi_text *error) {
    uint32_t count = arg->_map_count;
    v->cast = arg->type;
    v->map = arg->_map;
    if (count == SPYI_MAP_TWICE)
        return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                            "it has two mappings, one around the other; expected one");
    if (declared && ((count && declared->map_count) || (v->cast && declared->type)))
        return spyi_bad_arg(
            arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
            "the function was declared with its mapping or type; expected the plain argument");
    if (declared && declared->map_count) {
        count = declared->map_count;
        v->map = declared->map;
    }
    if (declared && declared->type) v->cast = declared->type;
    v->one_value = count == SPYI_MAP_VALUE;
    v->whole = count == SPYI_MAP_WHOLE || v->one_value;
    if (count > SPY_MAX_RANK && !v->whole)
        return spyi_bad_arg(arg, position, error, SPY_ERROR_INVALID_ARGUMENT,
                            "its mapping has more than SPY_MAX_RANK entries");
    v->map_count = v->whole ? 0 : (uint8_t)count;
    return SPY_OK;
}

// Gives a part of a struct, or of a value with its gradient, the mapping of the whole, and the value of a pair
// also its type. The key has them in the record of the whole.
static void spyi_inherit_mapping(const spyi_value *whole, spyi_value *v, size_t position) {
    bool mapped = whole->map_count || (whole->whole && !whole->one_value);
    if (whole->kind == SPY_ARG_KIND_PAIR && position == 0 && !v->cast) v->cast = whole->cast;
    if (!mapped || v->map_count || v->whole || (!v->rank && !v->child_count)) return;
    v->map = whole->map;
    v->map_count = whole->map_count;
    v->whole = whole->whole;
    v->inherited = true;
}

// Called when all parts of the value have its mapping. The value itself then has none.
static void spyi_pass_mapping(spyi_value *v) {
    v->passed_count = v->inherited ? 0 : v->map_count;
    v->map_count = 0;
    v->whole = v->one_value = false;
    if (v->kind == SPY_ARG_KIND_PAIR) v->cast = NULL;
}

// Describes a list of arguments, or the fields of value number `parent`. `parent` is -1 for arguments.
// `function` has declarations for arguments; it is NULL if there are none.
static spy_status spyi_describe_list(spy_device *device, const spy_function *function, spy_args args,
                                     int64_t parent, int depth, spyi_values *values, spyi_text *error) {
    uint32_t unnamed = 0;
    if (depth > SPYI_DEEPEST_STRUCT) {
        spyi_text_add(error, "structs are nested more than %d deep", SPYI_DEEPEST_STRUCT);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    for (size_t i = 0; i < args.count; i++) {
        const spy_arg *arg = &args.items[i];
        if (values->count == values->capacity) {
            uint32_t capacity = values->capacity ? values->capacity * 2 : 32;
            spyi_value *items = (spyi_value *)spyi_realloc(values->items, capacity * sizeof *items);
            if (!items) return SPY_ERROR_OUT_OF_MEMORY;
            values->items = items;
            values->capacity = capacity;
        }
        spyi_value *v = &values->items[values->count++];
        memset(v, 0, sizeof *v);
        v->arg = arg;
        v->name = arg->name;
        v->kind = (uint8_t)arg->kind;
        v->direction = (uint8_t)arg->direction;
        const spyi_declaration *declared =
            function && function->declared ? spyi_declaration_of(function, arg->name, unnamed) : NULL;
        if (!arg->name || !arg->name[0]) unnamed++;
        spy_status status = spyi_describe_mapping(arg, i, declared, v, error);
        if (status == SPY_OK) status = spyi_describe_one(device, arg, i, v, error);
        if (status != SPY_OK) return status;
        if (!spyi_key_room(values, 24 + SPY_MAX_RANK)) return SPY_ERROR_OUT_OF_MEMORY;
        uint8_t *key = values->key + values->key_size;
        uint32_t detail = v->type ? v->type->id : v->kind == SPY_ARG_KIND_STRUCT ? v->child_count : v->size;
        if (v->kind == SPY_ARG_KIND_RESULT) detail = detail << 16 | v->size;
        key[0] = v->kind;
        key[1] = v->direction;
        key[2] = v->rank;
        key[3] = (uint8_t)arg->_map_count;
        memcpy(key + 4, &detail, 4);
        memcpy(key + 8, v->map, v->map_count);
        values->key_size += 8u + v->map_count;
        if (v->custom) { // the address of the kind's table identifies the kind
            memcpy(values->key + values->key_size, &v->custom, sizeof v->custom);
            values->key_size += (uint32_t)sizeof v->custom;
            memcpy(values->key + values->key_size, &v->size, sizeof v->size);
            values->key_size += (uint32_t)sizeof v->size;
        }
        if (!spyi_key_name(values, v->name) || !spyi_key_name(values, v->cast))
            return SPY_ERROR_OUT_OF_MEMORY;
        if (parent >= 0) spyi_inherit_mapping(&values->items[parent], v, i);
        if (v->kind == SPY_ARG_KIND_STRUCT || v->kind == SPY_ARG_KIND_PAIR) {
            uint32_t index = values->count - 1;
            spy_args fields;
            fields.items = arg->value.fields;
            fields.count = arg->count;
            status = spyi_describe_list(device, NULL, fields, index, depth + 1, values,
                                        error); // may move values->items
            if (status != SPY_OK) return status;
            spyi_pass_mapping(&values->items[index]);
        }
    }
    return SPY_OK;
}

// Adds the values of globals behind the arguments, and adds them to the key in the same way.
static spy_status spyi_describe_globals(spy_device *device, const spy_call_options *options,
                                        spyi_values *values, spyi_text *error) {
    uint32_t arguments = values->count;
    spy_args lists[2];
    spy_status status = SPY_OK;
    lists[0] = options->globals;
    values->written.count = 0;
    if (options->write_globals) options->write_globals(&values->written, options->write_user_data);
    lists[1].items = values->written.items;
    lists[1].count = values->written.count;
    if (values->written.failed || !spyi_key_bytes(values, "\xfd", 1)) return SPY_ERROR_OUT_OF_MEMORY;
    for (int l = 0; l < 2 && status == SPY_OK; l++) {
        for (size_t i = 0; i < lists[l].count && status == SPY_OK; i++) {
            if (lists[l].items[i].name && lists[l].items[i].name[0]) continue;
            spyi_text_add(error, "its options: global %zu has no name", i + 1);
            status = SPY_ERROR_INVALID_ARGUMENT;
        }
        if (status == SPY_OK) status = spyi_describe_list(device, NULL, lists[l], -1, 0, values, error);
    }
    values->global_count = values->count - arguments;
    values->count = arguments;
    return status;
}

static bool spyi_check_pair(const spyi_value *pair, spyi_text *error) {
    const spy_tensor *value = pair[1].tensor,
                     *grad = pair[2].tensor; // pair[2] is the gradient when the value has no fields
    if (pair[1].child_count || !value || !grad ||
        memcmp(&value->shape, &grad->shape, sizeof grad->shape) == 0)
        return true;
    if (pair->name) spyi_text_add(error, "'%s': ", pair->name);
    spyi_text_add(error, "expected a gradient of the value's shape ");
    spyi_shape_text(&value->shape, error);
    spyi_text_add(error, ", got ");
    spyi_shape_text(&grad->shape, error);
    return false;
}

SPYI_FN uint8_t spyi_gradients_of(const spy_tensor *tensor) {
    return (uint8_t)((tensor->grads[0] ? 1 : 0) | (tensor->grads[1] ? 2 : 0) |
                     (tensor->grads[0] == tensor->grads[1] ? 4 : 0));
}

SPYI_FN bool spyi_looks_at_gradients(const spy_function *function, const spyi_values *values) {
    return spyi_mode_of(values) != SPY_CALL_MODE_DEFAULT || function->overloads.takes_pairs;
}

// Makes value `at`, behind all others, from a gradient of value `i`, and adds its type to the key.
static bool spyi_add_gradient_value(spyi_values *values, uint32_t i, uint32_t at, spy_tensor *grad) {
    if (at == values->capacity) {
        uint32_t capacity = values->capacity * 2;
        spyi_value *items = (spyi_value *)spyi_realloc(values->items, capacity * sizeof *items);
        if (!items) return false;
        values->items = items;
        values->capacity = capacity;
    }
    spyi_value *v = &values->items[at];
    *v = values->items[i]; // a gradient has its tensor's name and mapping
    v->kind = SPY_ARG_KIND_TENSOR;
    v->custom = NULL;
    v->texel = NULL;
    v->held[0] = v->held[1] = NULL;
    v->size = 0;
    v->cast = NULL;
    v->tensor = grad;
    v->type = grad->type;
    v->rank = (uint8_t)grad->shape.rank;
    v->dims = grad->shape.dims;
    v->grads[0] = v->grads[1] = 0;
    return spyi_key_bytes(values, &grad->type->id, sizeof grad->type->id);
}

// Adds the gradient of a texture as two values: that of level 0, in the texture's shape, and behind it that of all
// levels, to which a function that takes the texture whole adds (bind/gradient.c).
static spy_status spyi_describe_texture_gradient(spyi_values *values, uint32_t i, uint32_t *end,
                                                 spyi_text *error) {
    spy_texture *texture = (spy_texture *)(void *)values->items[i].held[0];
    uint8_t have = texture->grad != NULL;
    if (!spyi_key_bytes(values, &have, 1)) return SPY_ERROR_OUT_OF_MEMORY;
    if (!have) return SPY_OK;
    bool exact =
        values->options && values->options->deterministic && values->options->mode == SPY_CALL_MODE_BACKWARD;
    if (exact) {
        spy_status status = spyi_texture_sums_make(texture, error);
        if (status != SPY_OK) return status;
    }
    if (!spyi_add_gradient_value(values, i, *end, texture->grad_levels[0]) ||
        !spyi_add_gradient_value(values, i, *end + 1, exact ? texture->sums : texture->grad))
        return SPY_ERROR_OUT_OF_MEMORY;
    values->items[i].grads[0] = values->items[i].grads[1] = *end;
    *end += 2;
    return SPY_OK;
}

// Adds the gradients of tensors and textures as values behind all others, and adds them to the key.
static spy_status spyi_describe_gradients(spyi_values *values, spyi_text *error) {
    uint32_t end = spyi_values_given(values);
    if (!spyi_key_bytes(values, "\xfc", 1)) return SPY_ERROR_OUT_OF_MEMORY;
    for (uint32_t i = 0; i < values->count; i++) {
        if (values->items[i].kind == SPY_ARG_KIND_PAIR && !spyi_check_pair(&values->items[i], error))
            return SPY_ERROR_SHAPE_MISMATCH;
        const spy_tensor *tensor = values->items[i].tensor;
        if (values->items[i].texel && values->items[i].held[0]) {
            spy_status status = spyi_describe_texture_gradient(values, i, &end, error);
            if (status != SPY_OK) return status;
        }
        if (!tensor) continue;
        uint8_t have = spyi_gradients_of(tensor);
        if (!spyi_key_bytes(values, &have, 1)) return SPY_ERROR_OUT_OF_MEMORY;
        for (int g = 0; g < 2; g++) {
            spy_tensor *grad = tensor->grads[g];
            if (!grad) continue;
            if (!spyi_add_gradient_value(values, i, end, grad)) return SPY_ERROR_OUT_OF_MEMORY;
            values->items[i].grads[g] = end++;
        }
    }
    values->grad_count = end - spyi_values_given(values);
    return SPY_OK;
}

SPYI_FN uint32_t spyi_values_given(const spyi_values *values) {
    return values->count + values->global_count;
}

SPYI_FN uint32_t spyi_values_all(const spyi_values *values) {
    return spyi_values_given(values) + values->grad_count;
}

SPYI_FN spy_call_mode spyi_mode_of(const spyi_values *values) {
    return values->options ? values->options->mode : SPY_CALL_MODE_DEFAULT;
}

spy_status spy_set_global(spy_globals *globals, const char *path, spy_arg value) {
    if (!globals || !path) {
        return spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT, "spy_set_global: expected a %s, got NULL",
                         globals ? "path" : "writer");
    }
    if (globals->count == globals->capacity) {
        uint32_t capacity = globals->capacity ? globals->capacity * 2 : 16;
        spy_arg *items = (spy_arg *)spyi_realloc(globals->items, capacity * sizeof *items);
        if (!items) {
            globals->failed = true; // the call reports the error
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        globals->items = items;
        globals->capacity = capacity;
    }
    globals->items[globals->count] = value;
    globals->items[globals->count++].name = path;
    return SPY_OK;
}

static spy_status spyi_describe_begin(spy_args args, const spy_call_options *options,
                                      const spyi_threads *threads, spyi_values *values, spyi_text *error) {
    values->count = 0;
    values->global_count = 0;
    values->grad_count = 0;
    values->options = options;
    values->threads = threads;
    values->thread_count.rank = 0;
    values->key_size = 0;
    if (!args.count || args.items) return SPY_OK;
    spyi_text_add(error, "expected %zu arguments, got NULL", args.count);
    return SPY_ERROR_INVALID_ARGUMENT;
}

SPYI_FN spy_status spyi_describe_args(spy_device *device, spy_args args, spyi_values *values,
                                      spyi_text *error) {
    spy_status status = spyi_describe_begin(args, NULL, NULL, values, error);
    if (status == SPY_OK) status = spyi_describe_list(device, NULL, args, -1, 0, values, error);
    if (status == SPY_ERROR_OUT_OF_MEMORY) spyi_text_add(error, "out of host memory");
    return status;
}

// Gives each texture without a sampler the sampler that probably reads it, for targets whose textures include
// a sampler (rules->by_address): the first sampler behind the texture among the arguments and their fields,
// or the last one before it.
static void spyi_pair_samplers(spyi_values *values) {
    uint32_t count = spyi_values_given(values);
    spyi_value *v = values->items;
    for (uint32_t i = 0; i < count; i++) {
        spyi_object *found = NULL;
        if (v[i].kind != SPY_ARG_KIND_CUSTOM || !v[i].held[0] || v[i].held[1] ||
            v[i].held[0]->kind != SPYI_KIND_TEXTURE)
            continue;
        for (uint32_t j = 0; j < count; j++) {
            bool sampler =
                v[j].kind == SPY_ARG_KIND_CUSTOM && v[j].held[0] && v[j].held[0]->kind == SPYI_KIND_SAMPLER;
            if (sampler) found = v[j].held[0];
            if (sampler && j > i) break;
        }
        v[i].held[1] = found;
    }
}

SPYI_FN spy_status spyi_describe(spy_function *function, spy_args args, const spy_call_options *options,
                                 const spyi_threads *threads, spyi_values *values, spyi_text *error) {
    spy_status status = spyi_describe_begin(args, options, threads, values, error);
    if (status != SPY_OK) return status;
    if (function->reduces) { // the calls of a reduction are calls of other functions of its module
        spyi_text_add(error,
                      "it ends in a reduction, which only spy_call(), spy_call_with(), spy_call_backward() "
                      "and spy_time_call() make");
        return SPY_ERROR_UNSUPPORTED;
    }
    if (!spyi_key_room(values, 4)) return SPY_ERROR_OUT_OF_MEMORY;
    memcpy(values->key, &function->id, 4);
    values->key_size = 4;
    status = spyi_describe_list(function->object.device, function, args, -1, 0, values, error);
    if (status == SPY_OK && options) status = spyi_describe_options(options, values, error);
    if (status == SPY_OK && threads &&
        (!spyi_key_bytes(values, threads->guarded ? "\xfe" : "\xfd", 1) ||
         !spyi_key_bytes(values, &threads->stage, 1) ||
         !spyi_key_bytes(values, threads->group, sizeof threads->group)))
        status = SPY_ERROR_OUT_OF_MEMORY;
    if (status == SPY_OK && options && (options->globals.count || options->write_globals))
        status = spyi_describe_globals(function->object.device, options, values, error);
    if (status == SPY_OK && spyi_rules_of(function->object.device->base->limits.profile.target)->by_address)
        spyi_pair_samplers(values);
    if (status == SPY_OK && spyi_looks_at_gradients(function, values))
        status = spyi_describe_gradients(values, error);
    if (status == SPY_ERROR_OUT_OF_MEMORY) spyi_text_add(error, "out of host memory");
    return status;
}

SPYI_FN bool spyi_key_add_sizes(spyi_values *values, const uint8_t *sizes) {
    for (uint32_t i = 0; i < values->count; i++) {
        const spyi_value *v = &values->items[i];
        uint32_t trailing = sizes[i] < v->rank ? sizes[i] : v->rank;
        if (!spyi_key_room(values, trailing * sizeof(int64_t))) return false;
        if (trailing)
            memcpy(values->key + values->key_size, v->dims + v->rank - trailing, trailing * sizeof(int64_t));
        values->key_size += trailing * (uint32_t)sizeof(int64_t);
    }
    return true;
}

SPYI_FN void spyi_values_free(spyi_values *values) {
    free(values->items);
    free(values->written.items);
    free(values->key);
    memset(values, 0, sizeof *values);
}
