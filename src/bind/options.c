// Options of a call: each call checks them and adds them to its key; a plan copies them, and prepared calls
// keep them.
#include "bind/options.h"
#include "data/fit.h"

static const char *spyi_check_options(const spy_call_options *o) {
    uint64_t threads = 1, group = 1;
    if (SPYI_DESC_PROBLEM(spy_call_options, o) != NULL) return SPYI_DESC_PROBLEM(spy_call_options, o);
    if (o->constants.count && !o->constants.items) return "constants has a count, but items is NULL";
    if (o->globals.count && !o->globals.items) return "globals has a count, but items is NULL";
    if (o->conformance_count && !o->conformances)
        return "conformance_count is given, but conformances is NULL";
    if (o->conformance_count > 256) return "it has more than 256 conformances";
    for (size_t i = 0; i < o->conformance_count; i++)
        if (!o->conformances[i] || !strchr(o->conformances[i], ':'))
            return "each conformance must be written as \"Type : IInterface\"";
    if (!o->thread_group_size[0] && (o->thread_group_size[1] || o->thread_group_size[2]))
        return "thread_group_size has a y or z, but x is 0";
    for (int i = 0; i < 3; i++) {
        threads *= o->thread_group_size[i] ? o->thread_group_size[i] : 1;
        if (threads > 1024) return "thread_group_size is more than 1024 threads";
    }
    if (o->call_group_shape.rank > SPY_MAX_RANK || o->thread_count.rank > SPY_MAX_RANK)
        return "the rank of call_group_shape or thread_count is above SPY_MAX_RANK";
    for (uint32_t d = 0; d < o->call_group_shape.rank; d++) {
        if (o->call_group_shape.dims[d] < 1 || o->call_group_shape.dims[d] > 65536)
            return "the sizes of call_group_shape must be 1 to 65536";
        group *= (uint64_t)o->call_group_shape.dims[d];
        if (group > ((uint64_t)1 << 30)) return "call_group_shape has more than 2^30 elements";
    }
    for (uint32_t d = 0; d < o->thread_count.rank; d++)
        if (o->thread_count.dims[d] < 0) return "thread_count has a negative size";
    if ((int)o->mode < SPY_CALL_MODE_DEFAULT || o->mode > SPY_CALL_MODE_FORWARD_DIFF)
        return "mode is not one of spy_call_mode";
    if (o->store_gradients && o->append_to) return "store_gradients is given for a call that is recorded";
    return NULL;
}

SPYI_FN bool spyi_options_are_plain(const spy_call_options *options) {
    static spy_call_options none; // all zero; it is never written
    return !options || memcmp(options, &none, sizeof none) == 0;
}

// Returns whether a constant is a host array of 1 to 4 numbers, which feeds a vector.
static bool spyi_is_vector_constant(const spy_arg *c) {
    return c->kind == SPY_ARG_KIND_ARRAY && c->count == 1 && c->dims[0] >= 1 && c->dims[0] <= 4 &&
           c->value.data && spy_dtype_size_bytes(c->dtype) > 0;
}

SPYI_FN spy_status spyi_describe_options(const spy_call_options *o, spyi_values *values, spyi_text *error) {
    const char *problem = spyi_check_options(o);
    if (problem) {
        spyi_text_add(error, "its options: %s", problem);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    bool good = spyi_key_bytes(values, "\xff", 1); // this byte differs from the kind of each argument
    good =
        good && spyi_key_bytes(values, o->prelude ? o->prelude : "", o->prelude ? strlen(o->prelude) + 1 : 1);
    for (size_t i = 0; i < o->constants.count && good; i++) {
        const spy_arg *c = &o->constants.items[i];
        bool vector = spyi_is_vector_constant(c),
             number = c->kind >= SPY_ARG_KIND_BOOL && c->kind <= SPY_ARG_KIND_FLOAT;
        if (!c->name || (!number && !vector) || c->direction != SPY_DIRECTION_DEFAULT) {
            spyi_text_add(error, "its options: constant %zu%s%s%s must be a number or a vector with a name",
                          i + 1, c->name ? " ('" : "", c->name ? c->name : "", c->name ? "')" : "");
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(o->constants.items[k].name, c->name) != 0) continue;
            spyi_text_add(error, "its options: constant '%s' is given twice", c->name);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        good = spyi_key_bytes(values, c->name, strlen(c->name) + 1) &&
               spyi_key_bytes(values, &c->dtype, sizeof c->dtype) &&
               (vector ? spyi_key_bytes(values, c->value.data,
                                        (size_t)c->dims[0] * spy_dtype_size_bytes(c->dtype))
                       : spyi_key_bytes(values, &c->value.u, sizeof c->value.u));
    }
    good = good && spyi_key_bytes(values, "", 1);
    for (size_t i = 0; i < o->conformance_count && good; i++)
        good = spyi_key_bytes(values, o->conformances[i], strlen(o->conformances[i]) + 1);
    uint8_t group_rank = (uint8_t)o->call_group_shape.rank, count_rank = (uint8_t)o->thread_count.rank,
            mode = (uint8_t)((unsigned)o->mode | (o->deterministic ? 4u : 0u) |
                             (o->store_gradients ? 8u : 0u));
    good = good && spyi_key_bytes(values, o->thread_group_size, sizeof o->thread_group_size) &&
           spyi_key_bytes(values, &mode, 1) &&
           spyi_key_bytes(values, &o->shared_bytes, sizeof o->shared_bytes) &&
           spyi_key_bytes(values, &group_rank, 1) && spyi_key_bytes(values, &count_rank, 1) &&
           spyi_key_bytes(values, o->call_group_shape.dims, group_rank * sizeof *o->call_group_shape.dims);
    values->thread_count = o->thread_count;
    return good ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
}

// Writes one number of a constant, with all of its bits, in the scalar type `type`.
static void spyi_constant_number(const spyi_type *type, uint64_t bits, spyi_text *out) {
    int64_t i = 0;
    switch (type->scalar) {
    case SPY_DTYPE_BOOL: spyi_text_add(out, bits ? "true" : "false"); break;
    case SPY_DTYPE_FLOAT16: spyi_text_add(out, "bit_cast<half>(uint16_t(%u))", (unsigned)bits); break;
    case SPY_DTYPE_FLOAT32: spyi_text_add(out, "asfloat(%uu)", (unsigned)bits); break;
    case SPY_DTYPE_FLOAT64: spyi_text_add(out, "bit_cast<double>(%lluULL)", (unsigned long long)bits); break;
    case SPY_DTYPE_UINT64: spyi_text_add(out, "%lluULL", (unsigned long long)bits); break;
    default:
        (void)spyi_convert_scalars(&i, SPY_DTYPE_INT64, &bits, type->scalar, 1);
        spyi_text_add(out, "%s(%lldLL)", type->name, (long long)i);
    }
}

// Writes the Slang declaration of a constant, in the type with which the module declares it.
static spy_status spyi_constant_text(spy_function *function, const spy_arg *c, spyi_text *out,
                                     spyi_text *error) {
    const spyi_type *type = spyi_unit_find_constant(function->module->unit, c->name);
    bool vector = type && type->kind == SPYI_TYPE_VECTOR;
    if (!type || (type->kind != SPYI_TYPE_SCALAR && !vector)) {
        spyi_text_add(error,
                      type ? "its options: constant '%s' is no number, bool, half or vector in the module"
                           : "its options: the module has no extern static const '%s'",
                      c->name);
        return type ? SPY_ERROR_TYPE_MISMATCH : SPY_ERROR_NOT_FOUND;
    }
    // The union `value` holds a double, an int64_t or a uint64_t.
    spy_dtype from = c->kind == SPY_ARG_KIND_FLOAT   ? SPY_DTYPE_FLOAT64
                     : c->kind == SPY_ARG_KIND_INT   ? SPY_DTYPE_INT64
                     : c->kind == SPY_ARG_KIND_ARRAY ? c->dtype
                                                     : SPY_DTYPE_UINT64;
    spyi_types *types = function->object.device->types;
    const spyi_type *given = spyi_type_scalar(types, c->dtype),
                    *scalar = spyi_type_scalar(types, type->scalar);
    // For a vector, one number is the value of each component.
    uint32_t components = vector ? type->columns : 1,
             count = c->kind == SPY_ARG_KIND_ARRAY ? (uint32_t)c->dims[0] : 1;
    const char *data = c->kind == SPY_ARG_KIND_ARRAY ? (const char *)c->value.data : (const char *)&c->value;
    uint64_t bits[4] = { 0, 0, 0, 0 };
    spyi_fit fit;
    bool good = spyi_fit_host(given, scalar, false, &fit) &&
                (c->kind != SPY_ARG_KIND_ARRAY || (vector && count == components));
    for (uint32_t i = 0; i < components && good; i++)
        good = spyi_convert_scalars(&bits[i], type->scalar,
                                    data + (count == 1 ? 0 : i * spy_dtype_size_bytes(from)), from, 1);
    if (!good) {
        spyi_text_add(error, "its options: constant '%s': expected %s, got %u %s that does not fit", c->name,
                      type->display, count, given->display);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    spyi_text_add(out, "export public static const %s %s = ", type->name, c->name);
    if (vector) spyi_text_add(out, "%s(", type->name);
    for (uint32_t i = 0; i < components; i++) {
        if (i) spyi_text_add(out, ", ");
        spyi_constant_number(scalar, bits[i], out);
    }
    spyi_text_add(out, vector ? ");\n" : ";\n");
    return SPY_OK;
}

SPYI_FN spy_status spyi_options_copy(spy_function *function, const spyi_values *values, spyi_options *options,
                                     spyi_text *error) {
    const spy_call_options *o = values->options;
    memset(options, 0, sizeof *options);
    if (values->threads) memcpy(options->threads, values->threads->group, sizeof options->threads);
    if (!o) return SPY_OK;
    if (!values->threads) memcpy(options->threads, o->thread_group_size, sizeof options->threads);
    for (int i = 1; i < 3; i++)
        if (options->threads[0] && !options->threads[i]) options->threads[i] = 1;
    options->group = o->call_group_shape;
    options->count_rank = o->thread_count.rank;
    options->mode = o->mode;
    options->deterministic = o->deterministic;
    options->shared_bytes = o->shared_bytes;
    uint32_t most = function->object.device->base->limits.info.max_shared_bytes;
    if (o->shared_bytes > most) {
        spyi_text_add(error, "its options: shared_bytes: expected at most %u, got %u", most, o->shared_bytes);
        return SPY_ERROR_UNSUPPORTED;
    }
    spyi_text prelude = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    for (size_t i = 0; i < o->constants.count && status == SPY_OK; i++)
        status = spyi_constant_text(function, &o->constants.items[i], &prelude, error);
    if (o->prelude) spyi_text_add(&prelude, "%s\n", o->prelude);
    bool good = !prelude.size || (options->prelude = spyi_strdup(prelude.data)) != NULL;
    spyi_text_free(&prelude);
    if (o->conformance_count)
        options->conformances = (char **)spyi_calloc(o->conformance_count, sizeof(char *));
    good = good && (options->conformances || !o->conformance_count);
    for (size_t i = 0; i < o->conformance_count && good; i++) {
        options->conformances[options->conformance_count++] = spyi_strdup(o->conformances[i]);
        good = options->conformances[i] != NULL;
    }
    if (status != SPY_OK || good) return status;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN void spyi_options_free(spyi_options *options) {
    free(options->prelude);
    for (uint32_t i = 0; i < options->conformance_count; i++) free(options->conformances[i]);
    free(options->conformances);
    memset(options, 0, sizeof *options);
}

// >>keeping

static spy_packed *spyi_keep_list(spy_args list, const char *what, spyi_text *error) {
    const char *problem = NULL;
    spy_arg all;
    memset(&all, 0, sizeof all);
    all.kind = SPY_ARG_KIND_STRUCT;
    all.value.fields = list.items;
    all.count = list.count;
    spy_packed *packed = spyi_packed_make(&all, &problem);
    if (!packed) spyi_text_add(error, "its options: %s cannot be kept: %s", what, problem);
    return packed;
}

static spy_args spyi_kept_list(const spy_packed *packed) {
    spy_arg all = spy_arg_packed(NULL, packed);
    spy_args list;
    list.items = all.value.fields;
    list.count = all.count;
    return list;
}

SPYI_FN spy_status spyi_options_keep(const spy_call_options *o, spyi_kept_options *kept, spyi_text *error) {
    memset(kept, 0, sizeof *kept);
    if (!o) return SPY_OK;
    const char *problem = spyi_check_options(o);
    if (problem) {
        spyi_text_add(error, "its options: %s", problem);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    kept->given = true;
    kept->options = *o;
    kept->options.prelude = spyi_strdup(o->prelude);
    char **conformances = (char **)spyi_calloc(o->conformance_count + 1, sizeof *conformances);
    kept->options.conformances = (const char *const *)conformances;
    bool good = conformances && (kept->options.prelude || !o->prelude);
    for (size_t i = 0; good && i < o->conformance_count; i++)
        good = (conformances[i] = spyi_strdup(o->conformances[i])) != NULL;
    if (!good) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    kept->constants = spyi_keep_list(o->constants, "constants", error);
    if (kept->constants) kept->globals = spyi_keep_list(o->globals, "globals", error);
    if (!kept->globals) return SPY_ERROR_INVALID_ARGUMENT;
    kept->options.constants = spyi_kept_list(kept->constants);
    kept->options.globals = spyi_kept_list(kept->globals);
    return SPY_OK;
}

SPYI_FN void spyi_kept_free(spyi_kept_options *kept) {
    const spy_call_options *o = &kept->options;
    if (kept->given) free((void *)o->prelude);
    for (size_t i = 0; kept->given && o->conformances && i < o->conformance_count; i++)
        free((void *)o->conformances[i]);
    if (kept->given) free((void *)o->conformances);
    spy_release_packed(kept->constants);
    spy_release_packed(kept->globals);
    memset(kept, 0, sizeof *kept);
}
