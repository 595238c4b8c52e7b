// Host arrays. An array that is one value lies in the parameter block. An array that is run over is copied to
// and from a temporary tensor.
#include "data/tensor.h"
#include "kinds/internal.h"

// >>run over

static spy_status spyi_upload_make(const spyi_leaf *leaf, const spyi_value *value, spyi_made *made,
                                   spyi_text *error) {
    spy_status status = SPY_OK;
    spy_shape shape = spyi_value_shape(value);
    int64_t count = spyi_shape_count(&shape);
    spy_dtype to = spyi_kind_scalar(leaf), from = value->type->scalar;
    void *converted = NULL;
    if (leaf->in && to != from) {
        converted = spyi_malloc((size_t)count * spy_dtype_size_bytes(to) + 1);
        if (!converted) {
            spyi_text_add(error, "out of host memory");
            return SPY_ERROR_OUT_OF_MEMORY;
        }
        if (!spyi_convert_scalars(converted, to, value->arg->value.data, from, (size_t)count)) {
            free(converted);
            return spyi_does_not_fit(leaf, value, error);
        }
    }
    made->tensor = spyi_tensor_make(made->device, leaf->element, &shape, NULL, error, &status);
    if (made->tensor && leaf->in)
        status = spyi_tensor_upload(made->tensor, converted ? converted : value->arg->value.data, error);
    free(converted);
    return status;
}

static spy_status spyi_upload_finish(const spyi_leaf *leaf, const spyi_value *value, const spyi_made *made,
                                     spyi_text *error) {
    (void)leaf;
    return spyi_tensor_download(made->tensor, value->arg->value.out, error);
}

static const char *spyi_upload_host(const spyi_leaf *leaf, const spyi_value *value, size_t *size) {
    (void)leaf;
    *size = spyi_type_host_stride(value->type);
    for (uint32_t d = 0; d < value->rank; d++) *size *= (size_t)value->dims[d];
    return (const char *)value->arg->value.out;
}

static const spyi_kind_build spyi_upload_build = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
}; // spyi_array_bind() gives this kind to a leaf
static const spyi_kind_memory spyi_upload_memory = { spyi_upload_make, spyi_upload_finish, spyi_upload_host };
static const spyi_kind_run spyi_upload_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_MEMORY | SPYI_TRAIT_TRACKED |
                                                   SPYI_TRAIT_SIZED | SPYI_TRAIT_RETURNS,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_NEVER,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               &spyi_upload_memory,
                                               NULL };
static const spyi_value_kind spyi_upload_kind = { "host array", &spyi_upload_build, &spyi_upload_run };

SPYI_FN const spyi_value_kind *spyi_upload_kind_of(void) {
    return &spyi_upload_kind;
}

// >>one value

static bool spyi_array_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_fit fit;
    bool stored = leaf->out && !leaf->in && fitting->result;
    if (!spyi_kind_fit(fitting, value, leaf, &fit)) return false;
    if (value->rank <= fit.consumed && !(stored && fit.cost)) {
        if (leaf->out) spyi_kind_return(leaf);
        else spyi_kind_in_block(leaf);
        return true;
    }
    spyi_leaf_set_kind(leaf,
                       &spyi_upload_kind); // the upload, or the kernel's store, converts the scalars
    const spyi_type *scalar = stored ? value->type : leaf->type;
    while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
    leaf->element = spyi_type_scalar(fitting->types, scalar->scalar);
    return true;
}

SPYI_FN bool spyi_pack_inline(const spyi_leaf *leaf, const spy_arg *arg, uint8_t *out) {
    const spyi_type *scalar = leaf->type;
    while (scalar->kind == SPYI_TYPE_ARRAY) scalar = scalar->element;
    size_t count = 1;
    spy_dtype from = arg->dtype == SPY_DTYPE_DEFAULT ? SPY_DTYPE_FLOAT32 : arg->dtype;
    for (uint32_t d = 0; d < arg->count; d++) count *= (size_t)arg->dims[d];
    if (scalar->scalar == from) {
        spyi_type_to_device(leaf->type, out, arg->value.data, 1);
        return true;
    }
    void *host = spyi_malloc(count * spy_dtype_size_bytes(scalar->scalar) + 1);
    bool good = host && spyi_convert_scalars(host, scalar->scalar, arg->value.data, from, count);
    if (good) spyi_type_to_device(leaf->type, out, host, 1);
    free(host);
    return good;
}

static bool spyi_array_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    if (spyi_pack_inline(leaf, value->arg, (uint8_t *)field)) return true;
    spyi_kind_misfit(leaf, value, error);
    return false;
}

static bool spyi_array_match(const spyi_leaf *leaf, const spyi_value *value) {
    spyi_fit fit;
    if (value->kind != SPY_ARG_KIND_ARRAY || !spyi_fit_host(value->type, leaf->type, false, &fit))
        return false;
    if (fit.consumed != value->rank) return false;
    for (uint32_t d = 0; d < fit.consumed; d++)
        if (value->dims[d] != fit.dims[d]) return false;
    return true;
}

static void spyi_array_expected(const spyi_leaf *leaf, spyi_text *out) {
    spyi_text_add(out, "a host array for %s", leaf->type->display);
}

static const spyi_kind_build spyi_array_build = {
    spyi_array_bind, NULL, spyi_kind_plain_field, spyi_kind_plain_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_array_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_SIZED,
                                              SPYI_FIELD_ARRAY,
                                              SPYI_AGAIN_ARRAY,
                                              NULL,
                                              spyi_array_pack,
                                              spyi_array_match,
                                              spyi_array_expected,
                                              NULL,
                                              NULL,
                                              NULL,
                                              NULL,
                                              NULL };
static const spyi_value_kind spyi_array_kind = { "host array", &spyi_array_build, &spyi_array_run };

SPYI_FN const spyi_value_kind *spyi_array_kind_of(void) {
    return &spyi_array_kind;
}
