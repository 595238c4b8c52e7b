// Gradients of tensors: their types, how they are made, and the views of them that views of a tensor get.
#include "api/gradient.h"
#include "data/device.h"

// >>types

SPYI_FN const spyi_type *spyi_differential(spyi_types *types, const spyi_type_finder *finder,
                                           const spyi_type *type) {
    switch (type->kind) {
    case SPYI_TYPE_SCALAR:
        if (strcmp(type->name, spy_dtype_name(type->scalar)) != 0) return NULL; // the type is an enum
        return type->scalar >= SPY_DTYPE_FLOAT16 ? type : NULL;
    case SPYI_TYPE_VECTOR:
    case SPYI_TYPE_MATRIX: return type->scalar >= SPY_DTYPE_FLOAT16 ? type : NULL;
    case SPYI_TYPE_ARRAY: {
        const spyi_type *element = spyi_differential(types, finder, type->element);
        return element ? spyi_type_array(types, element, type->count) : NULL;
    }
    case SPYI_TYPE_STRUCT: {
        spyi_text name = { NULL, 0, 0 };
        spyi_text_add(&name, "%s.Differential", type->name);
        const spyi_type *found = finder->object ? finder->find(finder->object, spyi_text_str(&name)) : NULL;
        spyi_text_free(&name);
        return found && found->device_size && found->kind != SPYI_TYPE_OTHER ? found : NULL;
    }
    default: return NULL;
    }
}

// Returns whether elements of `grad` can be a gradient of elements of `type`. Of two structs the fields are
// not compared here; a call checks their types.
static bool spyi_gradient_fits(const spyi_type *type, const spyi_type *grad) {
    if (type->kind == SPYI_TYPE_STRUCT) return grad->kind == SPYI_TYPE_STRUCT;
    if (type->kind == SPYI_TYPE_ARRAY)
        return grad->kind == SPYI_TYPE_ARRAY && grad->count == type->count &&
               spyi_gradient_fits(type->element, grad->element);
    return grad->kind == type->kind && grad->scalar >= SPY_DTYPE_FLOAT16 && grad->rows == type->rows &&
           grad->columns == type->columns;
}

// >>making

static spy_tensor *spyi_retained(spy_tensor *tensor) {
    if (tensor) spyi_atomic_add(&tensor->object.references, 1);
    return tensor;
}

static bool spyi_check_gradient(spy_tensor *tensor, spy_tensor *grad, const char *function,
                                const char *name) {
    spyi_text text = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (!spyi_is_on(tensor->object.device, grad, SPYI_KIND_TENSOR)) {
        spyi_text_add(&text, "desc.%s: ", name);
        status = spyi_object_problem(grad, SPYI_KIND_TENSOR, &text);
    } else if (memcmp(&tensor->shape, &grad->shape, sizeof grad->shape) != 0) {
        status = SPY_ERROR_SHAPE_MISMATCH;
        spyi_text_add(&text, "desc.%s: expected the tensor's shape ", name);
        spyi_shape_text(&tensor->shape, &text);
        spyi_text_add(&text, ", got ");
        spyi_shape_text(&grad->shape, &text);
    } else if (!spyi_gradient_fits(tensor->type, grad->type)) {
        status = SPY_ERROR_TYPE_MISMATCH;
        spyi_text_add(&text, "desc.%s: expected a gradient of %s, got elements of %s", name,
                      tensor->type->display, grad->type->display);
    }
    if (status == SPY_OK) return true;
    spyi_fail_text(tensor->object.device, status, function, &text);
    return false;
}

// Returns the element type for a gradient that desc.with_grad asks for; NULL means that the error has been
// reported.
static const spyi_type *spyi_gradient_type(spy_tensor *tensor, const spy_tensor_desc *desc,
                                           const char *function) {
    spy_device *device = tensor->object.device;
    const spyi_object *module = spyi_as(desc->module, SPYI_KIND_MODULE);
    const spy_tensor *like = desc->like && desc->like->type == tensor->type ? desc->like : NULL;
    spy_module *asked = module && module->device == device ? desc->module : NULL;
    spyi_type_finder finder = { device->modules_of->find_type, asked };
    const spyi_type *type = spyi_differential(device->types, &finder, tensor->type);
    if (!type && like && like->grads[SPYI_GRAD_OUT]) type = like->grads[SPYI_GRAD_OUT]->type;
    if (!type && tensor->type->kind == SPYI_TYPE_STRUCT)
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH,
                  "%s: with_grad: %s has no gradients%s: a struct must be declared as %s : IDifferentiable",
                  function, tensor->type->display, desc->module ? "" : " that are known without desc.module",
                  tensor->type->display);
    else if (!type)
        spyi_fail(&device->ctx, SPY_ERROR_TYPE_MISMATCH,
                  "%s: with_grad: expected elements of floats, got %s, which has no gradients", function,
                  tensor->type->display);
    return type;
}

SPYI_FN bool spyi_gradients_make(spy_tensor *tensor, const spy_tensor_desc *desc, const char *function) {
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (desc->with_grad && (desc->grad_in || desc->grad_out)) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "%s: expected desc.with_grad, or grad_in and grad_out, got both", function);
        return false;
    }
    if (!desc->with_grad) {
        if ((desc->grad_in && !spyi_check_gradient(tensor, desc->grad_in, function, "grad_in")) ||
            (desc->grad_out && !spyi_check_gradient(tensor, desc->grad_out, function, "grad_out")))
            return false;
        tensor->grads[SPYI_GRAD_IN] = spyi_retained(desc->grad_in);
        tensor->grads[SPYI_GRAD_OUT] = spyi_retained(desc->grad_out);
        return true;
    }
    const spyi_type *type = spyi_gradient_type(tensor, desc, function);
    if (!type) return false;
    spy_tensor *grad = spyi_tensor_make(device, type, &tensor->shape, desc->label, &error, &status);
    if (grad) {
        tensor->grads[SPYI_GRAD_IN] = grad;
        tensor->grads[SPYI_GRAD_OUT] = spyi_retained(grad);
        status = spyi_tensor_repeat(grad, NULL, &error);
    }
    if (status == SPY_OK) return true;
    spyi_fail_text(device, status, function, &error);
    return false;
}

SPYI_FN void spyi_gradients_drop(spy_tensor *tensor) {
    for (int i = 0; i < 2; i++) {
        if (tensor->grads[i]) spyi_object_release(&tensor->grads[i]->object);
        tensor->grads[i] = NULL;
    }
}

// >>exact sums

SPYI_FN spy_tensor *spyi_sums_make(spy_device *device, const spy_shape *shape, spyi_text *error,
                                   spy_status *status) {
    const spyi_type *type = spyi_type_vector(device->types, SPY_DTYPE_UINT32, 4);
    spy_tensor *sums = spyi_tensor_make(device, type, shape, "exact sums", error, status);
    if (sums) *status = spyi_tensor_repeat(sums, NULL, error);
    device->barrier_owed = true; // kernels add to the sums by an address, which is no use of them
    return sums;
}

SPYI_FN void spyi_sums_note(spy_device *device, spy_tensor *grad, spy_tensor *sums, bool *noted) {
    if (*noted) return;
    *noted = true;
    device->summed[device->summed_count].grad = grad;
    device->summed[device->summed_count].sums = sums;
    device->summed[device->summed_count++].noted = noted;
}

SPYI_FN void spyi_sums_forget(spy_device *device, const bool *noted) {
    for (uint32_t i = 0; *noted && i < device->summed_count; i++)
        if (device->summed[i].noted == noted) device->summed[i--] = device->summed[--device->summed_count];
}

SPYI_FN void spyi_sums_drop(spy_tensor *grad) {
    spyi_sums_forget(grad->object.device, &grad->has_sums);
    grad->has_sums = false;
    if (grad->sums) spyi_object_release(&grad->sums->object);
    grad->sums = NULL;
}

SPYI_FN bool spyi_sums_use(spy_tensor *grad, spyi_text *error) {
    spy_device *device = grad->object.device;
    spy_status status = SPY_OK;
    if (grad->type->kind != SPYI_TYPE_SCALAR || grad->type->scalar != SPY_DTYPE_FLOAT32) {
        spyi_text_add(error, "a deterministic call adds to gradients of float, got %s", grad->type->display);
        return false;
    }
    if (!grad->contiguous) {
        spyi_text_add(error, "a deterministic call adds to a gradient without gaps; copy it");
        return false;
    }
    if (grad->sums && memcmp(&grad->sums->shape, &grad->shape, sizeof grad->shape) != 0) spyi_sums_drop(grad);
    if (!grad->sums) {
        grad->sums = spyi_sums_make(device, &grad->shape, error, &status);
        if (status != SPY_OK) spyi_sums_drop(grad);
    }
    if (status == SPY_OK) spyi_sums_note(device, grad, grad->sums, &grad->has_sums);
    return status == SPY_OK;
}

// >>sharing

SPYI_FN void spyi_gradients_share(spy_tensor *tensor, const spy_tensor *from) {
    spy_tensor *in = spyi_retained(from->grads[SPYI_GRAD_IN]),
               *out = spyi_retained(from->grads[SPYI_GRAD_OUT]);
    spyi_gradients_drop(tensor);
    tensor->grads[SPYI_GRAD_IN] = in;
    tensor->grads[SPYI_GRAD_OUT] = out;
}

// >>views

// Returns whether the gradient has the layout of its tensor, so that a view of both has the same sizes and
// strides.
static bool spyi_lies_alike(const spy_tensor *tensor, const spy_tensor *grad) {
    return memcmp(&tensor->strides, &grad->strides, sizeof grad->strides) == 0 &&
           spyi_type_device_stride(tensor->type) == spyi_type_device_stride(grad->type);
}

SPYI_FN bool spyi_gradients_inherit(spy_tensor *view, const spy_tensor *parent) {
    for (int i = 0; i < 2; i++) {
        const spy_tensor *from = parent->grads[i];
        if (!from || !spyi_lies_alike(parent, from)) continue;
        spy_tensor *grad = NULL;
        if (i == 1 && from == parent->grads[0]) grad = spyi_retained(view->grads[0]);
        else grad = spyi_tensor_new(view->object.device);
        if (!grad) return false;
        view->grads[i] = grad;
        view->grad_shift[i] = (int64_t)from->offset_bytes - (int64_t)parent->offset_bytes;
        view->grad_type = parent->type;
        view->grads_follow = true;
        if (grad->storage) continue; // both gradients are one
        grad->storage = from->storage;
        grad->storage->resource.references++;
        grad->type = from->type;
    }
    return true;
}

SPYI_FN void spyi_gradients_follow(spy_tensor *view) {
    spy_tensor *grads[2] = { view->grads[0], view->grads[1] };
    const spyi_type *was = view->grad_type;
    view->grads_follow = false;
    for (int i = 0; i < 2; i++) {
        spy_tensor *grad = grads[i];
        if (!grad) continue;
        bool same = i == 1 && grad == grads[0];
        if (same ? !view->grads[0] : view->type != was && grad->type != was) {
            view->grads[i] = NULL; // neither the view nor the gradient has the element type of the parent
            spyi_object_release(&grad->object);
        } else if (!same) {
            if (view->type != was) grad->type = view->type;
            grad->shape = view->shape;
            grad->strides = view->strides;
            grad->offset_bytes = (uint64_t)((int64_t)view->offset_bytes + view->grad_shift[i]);
            spyi_tensor_measure(grad);
        }
    }
}

// >>the public functions

static spy_tensor *spyi_get_gradient(spy_tensor *tensor, int which, const char *function) {
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_tensor *grad = tensor->grads[which];
    spyi_leave(tensor);
    return grad;
}

spy_tensor *spy_tensor_grad(spy_tensor *tensor) {
    spy_tensor *grad = spyi_get_gradient(tensor, SPYI_GRAD_OUT, "spy_tensor_grad");
    if (grad || !spyi_as(tensor, SPYI_KIND_TENSOR)) return grad;
    return spyi_get_gradient(tensor, SPYI_GRAD_IN, "spy_tensor_grad");
}

spy_tensor *spy_tensor_grad_in(spy_tensor *tensor) {
    return spyi_get_gradient(tensor, SPYI_GRAD_IN, "spy_tensor_grad_in");
}

spy_tensor *spy_tensor_grad_out(spy_tensor *tensor) {
    return spyi_get_gradient(tensor, SPYI_GRAD_OUT, "spy_tensor_grad_out");
}

spy_status spy_tensor_zero_grad(spy_tensor *tensor) {
    const char *function = "spy_tensor_zero_grad";
    spy_status status = spyi_enter(tensor, SPYI_KIND_TENSOR, function);
    if (status != SPY_OK) return status;
    spy_device *device = tensor->object.device;
    spyi_text error = { NULL, 0, 0 };
    if (!tensor->grads[0] && !tensor->grads[1]) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "the tensor has no gradients; make it with desc.with_grad");
    }
    for (int i = 0; i < 2 && status == SPY_OK; i++)
        if (tensor->grads[i] && (i == 0 || tensor->grads[1] != tensor->grads[0]))
            status = spyi_tensor_repeat(tensor->grads[i], NULL, &error);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_leave(device);
    return status;
}

spy_tensor *spy_create_detached(spy_tensor *tensor) {
    const char *function = "spy_create_detached";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    spy_tensor *view = spyi_view_new(tensor, function);
    if (view) {
        view->grads_follow = false;
        spyi_gradients_drop(view);
        spyi_tensor_measure(view);
    }
    spyi_leave(tensor);
    return view;
}

spy_tensor *spy_create_attached(spy_tensor *tensor, spy_tensor *grad_in, spy_tensor *grad_out,
                                spy_module *module) {
    const char *function = "spy_create_attached";
    spy_tensor_desc desc;
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return NULL;
    memset(&desc, 0, sizeof desc);
    desc.module = module;
    desc.like = tensor;
    desc.with_grad = !grad_in && !grad_out;
    desc.grad_in = grad_in;
    desc.grad_out = grad_out;
    spy_tensor *view = spyi_view_new(tensor, function);
    if (view) {
        view->grads_follow = false;
        spyi_gradients_drop(view);
        spyi_tensor_measure(view);
        if (!spyi_gradients_make(view, &desc, function)) {
            spyi_object_release(&view->object);
            view = NULL;
        }
    }
    spyi_leave(tensor);
    return view;
}
