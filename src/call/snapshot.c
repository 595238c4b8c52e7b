// Copies of a call's values, which outlive the caller's arguments, and snapshots of its tensors, for compile
// threads.
#include "call/prepare.h"

// A copy of a tensor and its storage at one moment, from which a thread reads shape and address while the
// tensor itself may change.
typedef struct spyi_snapshot_part {
    spy_tensor tensor;
    spyi_storage storage;
} spyi_snapshot_part;

typedef struct spyi_snapshot {
    spyi_snapshot_part value; // the first member, because freeing its tensor frees the snapshot
    spyi_snapshot_part grads[2];
} spyi_snapshot;

// Copies the tensor and its storage, but not the object's head, whose reference count other threads change.
static void spyi_snapshot_take(spyi_snapshot_part *to, const spy_tensor *from) {
    const size_t head = sizeof from->object;
    memset(to, 0, sizeof *to);
    to->tensor.object.kind = (uint32_t)SPYI_KIND_TENSOR;
    to->tensor.object.device = from->object.device;
    memcpy((char *)&to->tensor + head, (const char *)from + head, sizeof to->tensor - head);
    to->tensor.grads[0] = to->tensor.grads[1] = NULL;
    to->storage = *from->storage;
    to->tensor.storage = &to->storage;
}

// Return the first value that has the same tensor as value `i`, or the same storage. Values that share a
// tensor share its copy.
static uint32_t spyi_first_of_tensor(const spyi_values *values, uint32_t i) {
    uint32_t j = 0;
    while (values->items[j].tensor != values->items[i].tensor) j++;
    return j;
}

static uint32_t spyi_first_of_storage(const spyi_values *values, uint32_t i) {
    uint32_t j = 0;
    while (!values->items[j].tensor || values->items[j].tensor->storage != values->items[i].tensor->storage)
        j++;
    return j;
}

SPYI_FN void spyi_free_copies(spyi_values *values) {
    uint32_t count = spyi_values_all(values);
    for (uint32_t i = count; i-- > 0;) {
        spyi_value *v = &values->items[i];
        free((void *)v->name);
        free((void *)v->cast);
        if (!v->tensor) free((void *)v->dims);
        else if (spyi_first_of_tensor(values, i) == i) free(v->tensor);
        free((void *)v->map);
    }
    spyi_values_free(values);
}

SPYI_FN bool spyi_copy_values(const spyi_values *from, spyi_values *to) {
    uint32_t count = spyi_values_all(from);
    to->items = (spyi_value *)spyi_calloc(count + 1, sizeof *to->items);
    to->key = (uint8_t *)spyi_malloc(from->key_size);
    if (!to->items || !to->key) return false;
    to->capacity = count;
    to->count = from->count;
    to->global_count = from->global_count;
    to->grad_count = from->grad_count;
    to->options = from->options; // the options belong to the prepared call, which keeps them
    to->thread_count = from->thread_count;
    to->key_capacity = to->key_size = from->key_size;
    memcpy(to->key, from->key, from->key_size);
    bool good = true;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_value *v = &from->items[i];
        spyi_value *copy = &to->items[i];
        *copy = *v;
        copy->arg = NULL;
        copy->name = spyi_strdup(v->name);
        copy->cast = spyi_strdup(v->cast);
        int8_t *map = (int8_t *)spyi_malloc(SPY_MAX_RANK);
        if (map) memcpy(map, v->map, v->map_count);
        copy->map = map;
        good = good && map && (copy->name || !v->name) && (copy->cast || !v->cast);
        copy->tensor = NULL;
        copy->held[0] = copy->held[1] = NULL;
        copy->dims = NULL;
        uint32_t same = v->tensor ? spyi_first_of_tensor(from, i) : i;
        if (same < i) {
            copy->tensor = to->items[same].tensor;
            copy->dims = to->items[same].dims;
        } else if (v->tensor) {
            const spy_tensor *beside = to->items[spyi_first_of_storage(from, i)].tensor;
            spyi_snapshot *snapshot = (spyi_snapshot *)spyi_malloc(sizeof *snapshot);
            good = good && snapshot;
            if (!snapshot) continue;
            spyi_snapshot_take(&snapshot->value, v->tensor);
            if (beside) snapshot->value.tensor.storage = beside->storage;
            for (int g = 0; g < 2; g++) { // if one tensor is both gradients, it has one copy
                const spy_tensor *grad = v->tensor->grads[g];
                bool second = g == 1 && grad == v->tensor->grads[0];
                if (grad && !second) spyi_snapshot_take(&snapshot->grads[g], grad);
                if (grad) snapshot->value.tensor.grads[g] = &snapshot->grads[second ? 0 : g].tensor;
            }
            copy->tensor = &snapshot->value.tensor;
            copy->dims = snapshot->value.tensor.shape.dims;
        } else if (v->dims) {
            int64_t *dims = (int64_t *)spyi_malloc(SPY_MAX_RANK * sizeof *dims);
            if (dims) memcpy(dims, v->dims, v->rank * sizeof *dims);
            copy->dims = dims;
            good = good && dims;
        }
    }
    return good;
}
