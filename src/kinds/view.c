// Tensors for TensorView<T> and DiffTensorView<T>, the parameters of [CudaKernel] functions. Slang has them
// for CUDA alone, in a fixed layout, with 32-bit strides in bytes and room for 5 dimensions. If T is a vector
// or matrix, its components are the last dimensions of the view, whether they are the tensor's element type
// or the tensor's last dimensions. A DiffTensorView holds a second view behind the first: that of the
// tensor's gradient, or zeros. Slang's AtomicAdd, by which a DiffTensorView<T, AtomicAdd> reads and adds to
// gradients, takes them for floats whatever T is.
// Source: `struct TensorView` in Slang's embedded CUDA prelude; slang-torch's make_tensor_view in its embedded torch prelude.
#include "kinds/internal.h"

enum { SPYI_VIEW_RANK = 5 };

typedef struct spyi_view {
    uint64_t data;
    uint32_t strides[SPYI_VIEW_RANK]; // strides count bytes
    uint32_t sizes[SPYI_VIEW_RANK];
    uint32_t dimension_count, padding;
} spyi_view;

static bool spyi_view_bind(spyi_fitting *fitting, const spyi_value *value, spyi_leaf *leaf) {
    spyi_type_parts parts;
    spyi_fit fit;
    spyi_split_type(leaf->type->name, &parts);
    bool diff = strcmp(parts.base, "DiffTensorView") == 0;
    leaf->element = spyi_named_type(fitting->types, value->type, parts.count ? parts.arguments[0] : NULL);
    bool good = spyi_types_rules(fitting->types)->tensor_views && leaf->element &&
                spyi_fit_memory(value->type, leaf->element, true, &fit) && value->rank >= fit.consumed;
    spyi_free_parts(&parts);
    if (!good) return false;
    leaf->field_size = (uint32_t)sizeof(spyi_view) * (diff ? 2 : 1);
    leaf->field_align = 8;
    leaf->reads = leaf->writes = true;
    leaf->untracked = diff; // the gradient is another tensor's memory
    leaf->consumed = value->rank;
    for (uint32_t d = 0; d < value->rank; d++) leaf->consumed_dims[d] = -1; // the sizes may be any
    for (uint32_t d = 0; d < fit.consumed; d++)
        leaf->consumed_dims[value->rank - fit.consumed + d] = fit.dims[d];
    return true;
}

// Writes the sizes that the tensor's element type adds to the view's dimensions: the components of a vector,
// the rows and columns of a matrix. Returns how many there are.
static uint32_t spyi_view_components(const spyi_type *type, uint32_t sizes[2]) {
    if (type->kind == SPYI_TYPE_VECTOR) {
        sizes[0] = type->columns;
        return 1;
    }
    if (type->kind != SPYI_TYPE_MATRIX) return 0;
    sizes[0] = type->rows;
    sizes[1] = type->columns;
    return 2;
}

// `align` is the alignment in bytes that the elements need.
static bool spyi_view_make(const spyi_leaf *leaf, const spy_tensor *t, size_t align, spyi_view *view,
                           spyi_text *error) {
    uint32_t sizes[2] = { 0, 0 }, inner = spyi_view_components(t->type, sizes), rank = t->shape.rank;
    uint64_t bytes = spyi_type_device_stride(t->type), packed = bytes;
    size_t said = error->size;
    uint32_t failed = spyi_failed_allocations();
    memset(view, 0, sizeof *view);
    if (rank + inner > SPYI_VIEW_RANK) {
        spyi_text_add(error, "%s has at most %d dimensions, components of vectors included, got %u",
                      leaf->type->display, SPYI_VIEW_RANK, rank + inner);
        return false;
    }
    if (t->end_bytes - t->begin_bytes > UINT32_MAX) {
        spyi_text_add(error, "%s reaches 4294967295 bytes with its 32-bit strides, got %llu",
                      leaf->type->display, (unsigned long long)(t->end_bytes - t->begin_bytes));
        return false;
    }
    view->data = t->storage->chunk.address + t->storage->offset + t->offset_bytes;
    view->dimension_count = rank + inner;
    for (uint32_t d = rank; d-- > 0;) {
        int64_t stride = t->shape.dims[d] > 1 ? t->strides.dims[d] * (int64_t)bytes : (int64_t)packed;
        if (stride < 0)
            spyi_text_add(error, "%s has no negative strides, as dimension %u has; copy it",
                          leaf->type->display, d);
        else if (leaf->consumed_dims[d] != -1 && stride != (int64_t)packed)
            spyi_text_add(error, "its last dimensions do not lie next to each other, as %s needs; copy it",
                          leaf->type->display);
        else if (leaf->consumed_dims[d] == -1 &&
                 (stride % (int64_t)align || view->data % align))
            spyi_text_add(error, "its elements must lie at multiples of %zu bytes, as %s needs; copy it",
                          align, leaf->type->display);
        if (error->size > said || spyi_failed_allocations() != failed) return false;
        view->sizes[d] = (uint32_t)t->shape.dims[d];
        view->strides[d] = (uint32_t)stride;
        packed *= (uint64_t)t->shape.dims[d];
    }
    for (uint32_t d = inner; d-- > 0;) {
        view->sizes[rank + d] = sizes[d];
        view->strides[rank + d] = d + 1 == inner ? (uint32_t)(bytes / sizes[0] / (inner == 2 ? sizes[1] : 1))
                                                 : (uint32_t)(bytes / sizes[0]);
    }
    return true;
}

// Makes the view of `grad`, the gradient of `t`. Returns false, with the reason in `error`, if the kernel
// cannot use it.
static bool spyi_view_make_gradient(const spyi_leaf *leaf, const spy_tensor *t, const spy_tensor *grad,
                                    spyi_view *view, spyi_text *error) {
    bool floats = leaf->element->scalar != SPY_DTYPE_FLOAT32 && strstr(leaf->type->name, "AtomicAdd"), good;
    good = floats ? grad->type->kind == SPYI_TYPE_SCALAR && grad->type->scalar == SPY_DTYPE_FLOAT32
                  : grad->type == t->type;
    if (good && memcmp(&grad->shape, &t->shape, sizeof t->shape) == 0)
        return spyi_view_make(leaf, grad, floats ? sizeof(float) : leaf->element->device_align, view, error);
    spyi_text_add(error, floats ? "its gradient has elements of another type than float, which Slang's "
                                  "AtomicAdd adds to, or another shape"
                                : "its gradient has another element type or shape");
    return false;
}

static bool spyi_view_fill(const spyi_leaf *leaf, const spyi_value *value, void *field, spyi_text *error) {
    const spy_tensor *t = value->tensor, *grad = leaf->paired ? value[1].tensor : t->grads[SPYI_GRAD_OUT];
    spyi_view views[2];
    memset(&views[1], 0, sizeof views[1]);
    if (!spyi_view_make(leaf, t, leaf->element->device_align, &views[0], error)) return false;
    if (leaf->field_size > sizeof(spyi_view)) {
        const spy_tensor *in = t->grads[SPYI_GRAD_IN];
        if (!leaf->paired && in && grad && in != grad) {
            spyi_text_add(error, "%s has one gradient, but the tensor's grad_in and grad_out differ",
                          leaf->type->display);
            return false;
        }
        if (!grad && leaf->paired) { // a host array or a number
            spyi_text_add(error, "its gradient must be a tensor in the device's memory, as the value is");
            return false;
        }
        if (!grad) grad = in;
        if (grad && !spyi_view_make_gradient(leaf, t, grad, &views[1], error)) return false;
    }
    memcpy(field, views, leaf->field_size);
    return true;
}

static uint32_t spyi_view_addresses(const spyi_leaf *leaf, uint32_t offsets[SPYI_MOST_ADDRESSES]) {
    uint32_t count = leaf->field_size / (uint32_t)sizeof(spyi_view);
    for (uint32_t i = 0; i < count; i++)
        offsets[i] = i * (uint32_t)sizeof(spyi_view) + (uint32_t)offsetof(spyi_view, data);
    return count;
}

static const char *spyi_view_takes(const spyi_type *type, const char *base, const spyi_rules *rules) {
    (void)type;
    if (strcmp(base, "TensorView") != 0 && strcmp(base, "DiffTensorView") != 0) return NULL;
    return rules && rules->tensor_views
               ? "; it takes a tensor of exactly these elements, or of their scalars"
               : "; Slang has such parameters for the CUDA backend alone: here write RWTensor<T, D>";
}

static const spyi_kind_build spyi_view_build = {
    spyi_view_bind, NULL, spyi_kind_own_field, spyi_kind_own_load, spyi_view_takes, NULL, NULL, NULL
};
static const spyi_kind_run spyi_view_run = { SPYI_TRAIT_SIZED | SPYI_TRAIT_REPEATS | SPYI_TRAIT_OWN_GRADIENTS,
                                             SPYI_FIELD_KIND,
                                             SPYI_AGAIN_NEVER,
                                             NULL,
                                             spyi_view_fill,
                                             NULL,
                                             NULL,
                                             NULL,
                                             spyi_view_addresses,
                                             NULL,
                                             NULL,
                                             NULL };
static const spyi_value_kind spyi_view_kind = { "tensor view", &spyi_view_build, &spyi_view_run };

SPYI_FN const spyi_value_kind *spyi_view_kind_of(void) {
    return &spyi_view_kind;
}
