// Packed arguments: copies of an argument with all that it points to, for programs that pass it to many
// calls.
#include "data/device.h"

struct spy_packed {
    spy_arg arg;
    char *name, *type;
    void *data;         // a copy of the host values; NULL means that there are none
    spy_packed *fields; // the fields of a struct or pair
    spy_arg *items;     // the arguments of `fields` as an array
    size_t field_count;
    spyi_atomic references; // references to a copy that spyi_packed_make() returned; unused in its fields
};

// spyi_packed_objects() returns the number of objects in a texture or sampler argument, to which its packed
// copy holds references; spyi_packed_object() returns one of them.
static size_t spyi_packed_objects(const spy_arg *arg) {
    return arg->kind == SPY_ARG_KIND_CUSTOM ? arg->count : 0;
}

static spyi_object *spyi_packed_object(const spy_arg *arg, size_t i) {
    return (spyi_object *)(i ? (void *)(intptr_t)arg->dims[0] : (void *)(uintptr_t)arg->value.data);
}

static bool spyi_packed_alive(const spy_arg *arg) {
    for (size_t i = 0; i < spyi_packed_objects(arg); i++) {
        const void *object = spyi_packed_object(arg, i);
        if (!spyi_as(object, SPYI_KIND_TEXTURE) && !spyi_as(object, SPYI_KIND_SAMPLER)) return false;
    }
    return true;
}

static void spyi_packed_clear(spy_packed *p) {
    for (size_t i = 0; i < p->field_count; i++) spyi_packed_clear(&p->fields[i]);
    if (p->arg.kind == SPY_ARG_KIND_TENSOR && p->arg.value.tensor) spy_release_tensor(p->arg.value.tensor);
    for (size_t i = 0; i < spyi_packed_objects(&p->arg); i++)
        if (spyi_packed_object(&p->arg, i)) spyi_object_release(spyi_packed_object(&p->arg, i));
    free(p->fields);
    free(p->items);
    free(p->data);
    free(p->name);
    free(p->type);
    memset(p, 0, sizeof *p);
}

static const char *spyi_packed_bytes(const spy_arg *arg, size_t *size) {
    *size = 0;
    if (arg->kind == SPY_ARG_KIND_DATA) *size = arg->count;
    if (arg->kind == SPY_ARG_KIND_ARRAY) {
        spy_shape shape;
        memset(&shape, 0, sizeof shape);
        if (arg->count > SPY_MAX_RANK) return "its rank is above SPY_MAX_RANK";
        shape.rank = (uint32_t)arg->count;
        memcpy(shape.dims, arg->dims, sizeof shape.dims);
        int64_t count = spyi_shape_count(&shape);
        size_t element = spy_dtype_size_bytes(arg->dtype);
        if (count < 0 || (element && count > SPYI_MOST_BYTES / (int64_t)element))
            return "its shape has a negative or too large size";
        *size = (size_t)count * element;
    }
    return *size && !arg->value.data ? "its host data is NULL" : NULL;
}

// Copies `arg` into `p`; on failure *problem says what is wrong with it, and p is to be cleared.
static bool spyi_packed_copy(spy_packed *p, const spy_arg *arg, int depth, const char **problem) {
    size_t size = 0;
    *problem = NULL;
    memset(p, 0, sizeof *p);
    p->arg = *arg;
    p->arg.value.u = 0; // the value is 0 until `p` has its own copy of the data that it points to
    const bool input = arg->direction == SPY_DIRECTION_DEFAULT || arg->direction == SPY_DIRECTION_IN;
    if (arg->kind <= SPY_ARG_KIND_NONE || arg->kind > SPY_ARG_KIND_PAIR ||
        (arg->kind == SPY_ARG_KIND_CUSTOM && !arg->_custom))
        *problem = "it was not made by one of the spy_arg_* functions";
    else if (!input || arg->kind == SPY_ARG_KIND_NEW || arg->kind == SPY_ARG_KIND_RESULT)
        *problem = "outputs cannot be packed";
    else if (!spyi_packed_alive(arg)) *problem = "its texture or sampler is NULL or has been released";
    else if (arg->kind == SPY_ARG_KIND_CUSTOM && arg->value.data && !arg->count)
        *problem = "a grid cannot be packed: its desc is the caller's";
    else if (arg->kind == SPY_ARG_KIND_TENSOR && !spyi_as(arg->value.tensor, SPYI_KIND_TENSOR))
        *problem = arg->value.tensor ? "the tensor has been released" : "expected a tensor, got NULL";
    else if ((arg->kind == SPY_ARG_KIND_STRUCT || arg->kind == SPY_ARG_KIND_PAIR) &&
             ((arg->count && !arg->value.fields) || arg->count > 4096 || depth > 16))
        *problem = "its fields are NULL, too many, or nested too deep";
    else *problem = spyi_packed_bytes(arg, &size);
    if (*problem) return false;
    p->name = spyi_strdup(arg->name);
    p->type = spyi_strdup(arg->type);
    p->arg.name = p->name;
    p->arg.type = p->type;
    *problem = "out of host memory";
    if ((arg->name && !p->name) || (arg->type && !p->type)) return false;
    if (size) {
        p->data = spyi_malloc(size);
        if (!p->data) return false;
        memcpy(p->data, arg->value.data, size);
        p->arg.value.data = p->data;
    } else if (arg->kind == SPY_ARG_KIND_STRUCT || arg->kind == SPY_ARG_KIND_PAIR) {
        p->fields = (spy_packed *)spyi_calloc(arg->count + 1, sizeof *p->fields);
        p->items = (spy_arg *)spyi_calloc(arg->count + 1, sizeof *p->items);
        if (!p->fields || !p->items) return false;
        for (size_t i = 0; i < arg->count; i++) {
            p->field_count = i + 1;
            if (!spyi_packed_copy(&p->fields[i], &arg->value.fields[i], depth + 1, problem)) return false;
            p->items[i] = p->fields[i].arg;
        }
        p->arg.value.fields = p->items;
    } else {
        p->arg.value = arg->value;
        if (arg->kind == SPY_ARG_KIND_TENSOR) spy_retain_tensor(arg->value.tensor);
        for (size_t i = 0; i < spyi_packed_objects(arg); i++)
            spyi_atomic_add(&spyi_packed_object(arg, i)->references, 1);
    }
    *problem = NULL;
    return true;
}

SPYI_FN spy_packed *spyi_packed_make(const spy_arg *arg, const char **problem) {
    spy_packed *p = (spy_packed *)spyi_calloc(1, sizeof *p);
    *problem = "out of host memory";
    if (!p) return NULL;
    if (spyi_packed_copy(p, arg, 0, problem)) {
        spyi_atomic_store(&p->references, 1);
        return p;
    }
    spyi_packed_clear(p);
    free(p);
    return NULL;
}

// Looks in the copy and its fields for a tensor, texture or sampler of another device. Returns which of the three it is,
// for messages, or NULL if all objects belong to `device`.
static const char *spyi_packed_of_another(const spy_packed *p, const spy_device *device) {
    const char *found = NULL;
    if (p->arg.kind == SPY_ARG_KIND_TENSOR && p->arg.value.tensor->object.device != device) return "tensor";
    for (size_t i = 0; i < spyi_packed_objects(&p->arg); i++) {
        const spyi_object *object = spyi_packed_object(&p->arg, i);
        if (object && object->device != device)
            return object->kind == (uint32_t)SPYI_KIND_SAMPLER ? "sampler" : "texture";
    }
    for (size_t i = 0; i < p->field_count && !found; i++) found = spyi_packed_of_another(&p->fields[i], device);
    return found;
}

spy_packed *spy_pack(spy_device *device, spy_arg arg) {
    const char *function = "spy_pack", *problem = NULL;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_text error = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spy_packed *p = spyi_packed_make(&arg, &problem);
    const char *another = p ? spyi_packed_of_another(p, device) : NULL;
    if (!p || another) {
        spyi_text_add(&error, "argument '%s': ", arg.name ? arg.name : "");
        if (another) spyi_text_add(&error, "the %s belongs to another device", another);
        else spyi_text_add(&error, "%s", problem);
        spy_release_packed(p);
        p = NULL;
        spyi_fail_text(device, spyi_check_allocations(failed, SPY_ERROR_INVALID_ARGUMENT, &error), function,
                       &error);
    }
    spyi_leave(device);
    return p;
}

spy_arg spy_arg_packed(const char *name, const spy_packed *packed) {
    spy_arg arg;
    if (packed) arg = packed->arg;
    else memset(&arg, 0, sizeof arg); // a zeroed argument has SPY_ARG_KIND_DEFAULT, which calls refuse
    arg.name = name;
    return arg;
}

void spy_retain_packed(spy_packed *packed) {
    if (packed) spyi_atomic_add(&packed->references, 1);
    else
        spyi_fail(NULL, SPY_ERROR_INVALID_ARGUMENT,
                  "spy_retain_packed: expected a packed argument, got NULL");
}

void spy_release_packed(spy_packed *packed) {
    if (!packed || spyi_atomic_add(&packed->references, -1) > 0) return;
    spyi_packed_clear(packed);
    free(packed);
}
