// Three kinds of output: one value that returns to host memory, a new tensor, and an output that is not
// computed.
#include "data/tensor.h"
#include "kinds/internal.h"

// >>one value that returns to host memory

// Returns the host memory where the caller wants the value.
static void *spyi_readback_place(const spyi_value *value) {
    return value->kind == SPY_ARG_KIND_RESULT ? (void *)value->arg->value.result->data
                                              : value->arg->value.out;
}

// Writes the value of an inout argument to made->place, which lies in the device's readback memory.
static spy_status spyi_readback_make(const spyi_leaf *leaf, const spyi_value *value, spyi_made *made,
                                     spyi_text *error) {
    if (!leaf->in) return SPY_OK;
    if (value->kind == SPY_ARG_KIND_RESULT) {
        uint64_t host[SPY_RESULT_BYTES / 8];
        spy_dtype to = spyi_kind_scalar(leaf);
        const spy_result *result = value->arg->value.result;
        if (!spyi_convert_scalars(host, to, result->data, result->dtype,
                                  leaf->type->host_size / spy_dtype_size_bytes(to)))
            return spyi_does_not_fit(leaf, value, error);
        spyi_type_to_device(leaf->type, made->place, host, 1);
    } else {
        spyi_type_to_device(leaf->type, made->place, value->arg->value.data, 1);
    }
    return SPY_OK;
}

static spy_status spyi_readback_finish(const spyi_leaf *leaf, const spyi_value *value, const spyi_made *made,
                                       spyi_text *error) {
    (void)error;
    spyi_type_to_host(leaf->type, spyi_readback_place(value), made->place, 1);
    return SPY_OK;
}

static const char *spyi_readback_host(const spyi_leaf *leaf, const spyi_value *value, size_t *size) {
    *size = leaf->type->host_size;
    return (const char *)spyi_readback_place(value);
}

static const spyi_kind_build spyi_readback_build = {
    NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
}; // spyi_kind_return() gives this kind to a leaf
static const spyi_kind_memory spyi_readback_memory = { spyi_readback_make, spyi_readback_finish,
                                                       spyi_readback_host };
static const spyi_kind_run spyi_readback_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_MEMORY | SPYI_TRAIT_ONE_PLACE |
                                                     SPYI_TRAIT_RETURNS,
                                                 SPYI_FIELD_KIND,
                                                 SPYI_AGAIN_NEVER,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 NULL,
                                                 &spyi_readback_memory,
                                                 NULL };
static const spyi_value_kind spyi_readback_kind = { "value", &spyi_readback_build, &spyi_readback_run };

SPYI_FN const spyi_value_kind *spyi_readback_kind_of(void) {
    return &spyi_readback_kind;
}

SPYI_FN void spyi_kind_return(spyi_leaf *leaf) {
    spyi_leaf_set_kind(leaf, &spyi_readback_kind);
}

// >>a new tensor

// An inout argument is one value. For an output spyi_new_settle() decides, which knows the call's rank.
static bool spyi_new_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    const spyi_type *scalar = leaf->type;
    size_t count = 1;
    if (value->kind == SPY_ARG_KIND_NEW || !leaf->in) return true;
    for (; scalar->kind == SPYI_TYPE_ARRAY; scalar = scalar->element) count *= (size_t)scalar->count;
    bool numbers = scalar->kind == SPYI_TYPE_SCALAR || scalar->kind == SPYI_TYPE_VECTOR ||
                   scalar->kind == SPYI_TYPE_MATRIX;
    count *= numbers ? (size_t)scalar->rows * scalar->columns : 0;
    if (!count || count * spy_dtype_size_bytes(value->type->scalar) != value->size) {
        spyi_text_add(&fitting->hint, "; its value needs as many scalars as the parameter has");
        return false;
    }
    spyi_kind_return(leaf);
    return true;
}

static bool spyi_is_one_result(const spyi_value *value, uint32_t rank, const spyi_leaf *leaf) {
    return value->kind == SPY_ARG_KIND_RESULT && rank == 0 && leaf->type->host_size <= SPY_RESULT_BYTES;
}

static void spyi_new_settle(const spyi_value *value, uint32_t rank, spyi_leaf *leaf) {
    if (spyi_is_one_result(value, rank, leaf)) spyi_kind_return(leaf);
    else leaf->batch_rank = rank;
}

static spy_status spyi_new_make(const spyi_leaf *leaf, const spyi_value *value, spyi_made *made,
                                spyi_text *error) {
    spy_status status = SPY_OK;
    (void)value;
    made->tensor = spyi_tensor_make(made->device, leaf->element, made->shape, NULL, error, &status);
    return status;
}

static const spyi_kind_build spyi_new_build = { spyi_new_bind, spyi_new_settle, NULL, NULL, NULL, NULL, NULL,
                                                NULL };
static const spyi_kind_memory spyi_new_memory = { spyi_new_make, NULL, NULL };
static const spyi_kind_run spyi_new_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_MEMORY | SPYI_TRAIT_TRACKED |
                                                SPYI_TRAIT_CALL_SHAPED | SPYI_TRAIT_REPEATS,
                                            SPYI_FIELD_KIND,
                                            SPYI_AGAIN_NEW,
                                            NULL,
                                            NULL,
                                            NULL,
                                            NULL,
                                            NULL,
                                            NULL,
                                            NULL,
                                            &spyi_new_memory,
                                            NULL };
static const spyi_value_kind spyi_new_kind = { "new tensor", &spyi_new_build, &spyi_new_run };

SPYI_FN const spyi_value_kind *spyi_new_kind_of(void) {
    return &spyi_new_kind;
}

// >>an output that is not computed

static void spyi_unused_settle(const spyi_value *value, uint32_t rank, spyi_leaf *leaf) {
    if (spyi_is_one_result(value, rank, leaf)) spyi_kind_return(leaf);
}

static const spyi_kind_build spyi_unused_build = {
    NULL, spyi_unused_settle, spyi_kind_own_field, spyi_kind_own_load, NULL, NULL, NULL, NULL
};
static const spyi_kind_run spyi_unused_run = { SPYI_TRAIT_VALUE | SPYI_TRAIT_REPEATS | SPYI_TRAIT_UNUSED,
                                               SPYI_FIELD_KIND,
                                               SPYI_AGAIN_UNUSED,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL,
                                               NULL };
static const spyi_value_kind spyi_unused_kind = { "nothing", &spyi_unused_build, &spyi_unused_run };

SPYI_FN const spyi_value_kind *spyi_kind_of_unused(void) {
    return &spyi_unused_kind;
}
