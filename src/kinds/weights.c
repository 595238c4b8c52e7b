// Tensors for WeightTensor<T, Rows, Columns> (slang/mlp.slang). They are contiguous, of sizes that the type
// says, and are passed as two addresses: that of the elements, and that of their gradients or 0. A tensor
// with more dimensions is run over: each element of the call gets weights of its own, and the field has the
// strides of these dimensions.
#include "kinds/internal.h"

enum { SPYI_WEIGHTS_BYTES = 16 };

static bool spyi_weights_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_split_type(leaf->type->name, &parts);
    bool named = parts.count == 3 && parts.arguments[1] && parts.arguments[2];
    long rows = named ? strtol(parts.arguments[1], NULL, 10) : 0;
    long columns = named ? strtol(parts.arguments[2], NULL, 10) : 0;
    // Mixed is a struct of one float (slang/mlp.slang), and its tensor is one of floats.
    const char *element = named && strcmp(parts.arguments[0], "Mixed") == 0 ? "float" : parts.arguments[0];
    leaf->element = named ? spyi_named_type(fitting->types, value->type, element) : NULL;
    spyi_free_parts(&parts);
    if (!leaf->element || columns < 1 || value->type != leaf->element) return false;
    leaf->kind_type = leaf->type->name;
    leaf->reads = true;
    leaf->whole_grads = SPYI_WHOLE_LOADS;
    leaf->consumed = rows ? 2 : 1;
    leaf->consumed_dims[0] = rows ? rows : columns;
    leaf->consumed_dims[1] = columns;
    uint32_t over = value->rank > leaf->consumed ? value->rank - leaf->consumed : 0;
    leaf->field_align = 8;
    leaf->field_size = SPYI_WEIGHTS_BYTES + 4u * over;
    return true;
}

static void spyi_weights_load(const spyi_leaf *leaf, const spyi_place_text *at, spyi_text *out) {
    spyi_text_add(out, leaf->batch_rank ? "%s.tensor.row(" : "%s", at->field);
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        spyi_text_add(out, "%s%s.strides[%u] * spyi_coordinate(%s, %s, %u)", d ? " + " : "", at->field, d,
                      at->element, at->shape, leaf->map[d]);
    if (leaf->batch_rank) spyi_text_add(out, ")");
}

static const char *spyi_weights_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)type, (void)rules;
    return strcmp(base, "WeightTensor") == 0 ? "; it takes a tensor of these elements" : NULL;
}

static bool spyi_weights_lie(const spyi_leaf *leaf, const spy_tensor *t) {
    int64_t stride = 1;
    for (uint32_t d = t->shape.rank; d-- > leaf->batch_rank;) {
        if (t->shape.dims[d] != 1 && t->strides.dims[d] != stride) return false;
        stride *= t->shape.dims[d];
    }
    return true;
}

static bool spyi_weights_pack(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor;
    spy_tensor *grad = NULL;
    uint64_t addresses[2] = { 0, 0 };
    if (leaf->mode) {
        bool backward = leaf->mode == SPY_CALL_MODE_BACKWARD;
        grad = leaf->paired ? value[1].tensor : t->grads[backward ? SPYI_GRAD_OUT : SPYI_GRAD_IN];
    }
    if (!spyi_weights_lie(leaf, t) || (grad && !spyi_weights_lie(leaf, grad))) {
        spyi_text_add(error, "%s must lie next to each other, as %s needs; copy it",
                      spyi_weights_lie(leaf, t) ? "the elements of its gradient" : "its elements",
                      leaf->type->display);
        return false;
    }
    if (grad && leaf->batch_rank && memcmp(&grad->strides, &t->strides, sizeof t->strides) != 0) {
        spyi_text_add(error, "it is run over, so that its gradient must lie as it does");
        return false;
    }
    if (leaf->batch_rank && (t->end_bytes - t->begin_bytes) / spyi_type_device_stride(t->type) > INT32_MAX) {
        spyi_text_add(error, "it spans more than 2147483647 elements, which a tensor in Slang cannot");
        return false;
    }
    if (!t->storage->chunk.address) {
        spyi_text_add(error, "the device has no pointers, which tensors in Slang are made of");
        return false;
    }
    addresses[0] = t->storage->chunk.address + t->storage->offset + t->offset_bytes;
    if (grad) addresses[1] = grad->storage->chunk.address + grad->storage->offset + grad->offset_bytes;
    if (grad && leaf->exact) {
        if (!spyi_sums_use(grad, error)) return false;
        addresses[1] = grad->sums->storage->chunk.address + grad->sums->storage->offset + 1;
    }
    memcpy(field, addresses, sizeof addresses);
    for (uint32_t d = 0; d < leaf->batch_rank; d++) {
        int32_t stride = t->shape.dims[d] == 1 ? 0 : (int32_t)t->strides.dims[d];
        memcpy((uint8_t *)field + SPYI_WEIGHTS_BYTES + 4 * d, &stride, 4);
    }
    return true;
}

static void spyi_weights_stop(const spyi_leaf *leaf, void *field) {
    (void)leaf;
    memset((uint8_t *)field + 8, 0, 8);
}

static uint32_t spyi_weights_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    (void)leaf;
    offsets[0] = 0;
    offsets[1] = 8;
    return 2;
}

static const spyi_kind_build spyi_weights_build = {
    spyi_weights_bind, NULL, spyi_whole_field, spyi_weights_load, spyi_weights_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_weights_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_EXACT,
                                                SPYI_FIELD_KIND,
                                                SPYI_AGAIN_NEVER,
                                                NULL,
                                                spyi_weights_pack,
                                                NULL,
                                                NULL,
                                                spyi_weights_stop,
                                                spyi_weights_addresses,
                                                NULL,
                                                NULL,
                                                NULL };
static const spyi_value_kind spyi_weights_kind = { "weights", &spyi_weights_build, &spyi_weights_run };

SPYI_FN const spyi_value_kind *spyi_weights_kind_of(void) {
    return &spyi_weights_kind;
}
