// From shapes to a variant: the call shape by numpy's rule, dimension collapse, and how each leaf's memory is walked.
//
// Source of the broadcast rule: numpy's general broadcasting rules (align at the last dimension, size 1 stretches).
#include "call/call_internal.h"

#define SPYI_WIDE_BYTES                                                                                      \
    256 // of a thread's elements, over all leaves, of wide variants: they lie in registers
#define SPYI_UNROLL_FROM ((int64_t)1 << 20) // elements from which flat variants take several a thread

// Sizes and strides of a leaf's value; temporaries and new tensors are contiguous.
static void spyi_leaf_measures(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                               spy_shape *dims, spy_shape *strides) {
    if (leaf->source == SPYI_SOURCE_TENSOR) {
        *dims = v->tensor->shape;
        *strides = v->tensor->strides;
        return;
    }
    if (leaf->source == SPYI_SOURCE_NEW) {
        *dims = *call;
    } else {
        *dims = spyi_value_shape(v);
    }
    *strides = spyi_row_major(dims);
}

static spy_status spyi_size_error(const spyi_leaf *leaf, const spyi_value *v, uint32_t dim,
                                  spyi_text *error) {
    spy_shape shape = spyi_value_shape(v);
    spyi_text_add(error, "'%s': %s takes its trailing dimensions, so dimension %u must be %lld, got shape ",
                  leaf->path, leaf->type->display, leaf->batch_rank + dim,
                  (long long)leaf->consumed_dims[dim]);
    spyi_shape_text(&shape, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// The call shape from all leaves; the first two that disagree are named.
static spy_status spyi_call_shape(const spyi_bound *b, const spyi_values *values, spy_shape *call,
                                  spyi_text *error) {
    uint32_t owner[SPY_MAX_RANK] = { 0 };
    call->rank = b->rank;
    for (uint32_t d = 0; d < SPY_MAX_RANK; d++) call->dims[d] = 1;
    for (uint32_t d = 0; d < values->thread_count.rank; d++) {
        uint32_t k = b->rank - values->thread_count.rank + d;
        call->dims[k] = values->thread_count.dims[d];
        owner[k] = UINT32_MAX;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        for (uint32_t d = 0; d < leaf->consumed; d++)
            if (leaf->consumed_dims[d] != -1 && v->dims[leaf->batch_rank + d] != leaf->consumed_dims[d])
                return spyi_size_error(leaf, v, d, error);
        if (leaf->source != SPYI_SOURCE_TENSOR && leaf->source != SPYI_SOURCE_UPLOAD &&
            leaf->source != SPYI_SOURCE_KIND)
            continue;
        for (uint32_t d = 0; d < leaf->batch_rank; d++) {
            uint32_t k = leaf->map[d];
            int64_t size = v->dims[d];
            if (size == 1 || size == -1 || size == call->dims[k]) continue;
            if (call->dims[k] == 1) {
                call->dims[k] = size;
                owner[k] = i;
                continue;
            }
            bool counted = owner[k] == UINT32_MAX;
            const spyi_leaf *other = counted ? NULL : &b->leaves[owner[k]];
            spy_shape mine = spyi_value_shape(v),
                      theirs =
                          counted ? values->thread_count : spyi_value_shape(&values->items[other->value]);
            spyi_text_add(error, "Shape mismatch: '%s' has shape ", counted ? "thread_count" : other->path);
            spyi_shape_text(&theirs, error);
            spyi_text_add(error, " and '%s' has shape ", leaf->path);
            spyi_shape_text(&mine, error);
            spyi_text_add(error, ": dimension %u of the call is %lld for one and %lld for the other", k,
                          (long long)call->dims[k], (long long)size);
            return SPY_ERROR_SHAPE_MISMATCH;
        }
    }
    return SPY_OK;
}

// An output must have a place for each element of the call; whether it has one of its own, overlap.c looks.
static spy_status spyi_check_output(const spyi_leaf *leaf, const spyi_value *v, const spy_shape *call,
                                    spyi_text *error) {
    bool covers = true;
    for (uint32_t k = 0; k < call->rank; k++) {
        bool mapped = call->dims[k] == 1;
        for (uint32_t d = 0; d < leaf->batch_rank; d++)
            if (leaf->map[d] == k) mapped = v->dims[d] == call->dims[k];
        covers = covers && mapped;
    }
    if (covers) return SPY_OK;
    spy_shape mine = spyi_value_shape(v);
    spyi_text_add(error, "Shape mismatch: output '%s' has shape ", leaf->path);
    spyi_shape_text(&mine, error);
    spyi_text_add(error, ", the call has shape ");
    spyi_shape_text(call, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// Strides of one leaf over the call's dimensions, in memory elements; decides between packed and gathered.
static void spyi_leaf_strides(const spyi_leaf *leaf, const spy_shape *dims, const spy_shape *strides,
                              uint64_t offset, spyi_launch_leaf *out, uint8_t *walk) {
    int64_t pack = 1;
    bool packed = true;
    for (uint32_t d = leaf->consumed; d-- > 0;) {
        int64_t size = dims->dims[leaf->batch_rank + d], stride = strides->dims[leaf->batch_rank + d];
        if (size != 1 && stride != pack) packed = false;
        pack *= size;
        out->inner[d] = stride;
    }
    const spyi_type *memory = leaf->packed;
    // Slang converts neither arrays nor matrices of small integers as a whole; a packed view must lie on its own grid.
    if (leaf->consumed && leaf->type->kind != SPYI_TYPE_VECTOR && memory != leaf->type) packed = false;
    size_t element = spyi_type_device_stride(leaf->element);
    if (leaf->consumed && spyi_type_device_stride(memory) != element * (size_t)pack) packed = false;
    if (leaf->consumed && offset % memory->device_align) packed = false;
    for (uint32_t d = 0; packed && d < leaf->batch_rank; d++)
        if (dims->dims[d] > 1 && strides->dims[d] % pack) packed = false;
    if (leaf->consumed == 0 || leaf->source == SPYI_SOURCE_READBACK)
        packed = true; // its element is the whole value
    if (!packed) pack = 1;
    *walk = packed ? 0 : SPYI_WALK_GATHER;
    out->memory_size = (uint32_t)(packed && leaf->consumed ? spyi_type_device_stride(memory) : element);
    if (leaf->source == SPYI_SOURCE_READBACK)
        out->memory_size = (uint32_t)spyi_type_device_stride(leaf->type);
    memset(out->strides, 0, sizeof out->strides);
    for (uint32_t d = 0; d < leaf->batch_rank; d++)
        if (dims->dims[d] != 1)
            out->strides[leaf->map[d]] = leaf->consumed ? strides->dims[d] / pack : strides->dims[d];
}

// Whether the kernel walks through the leaf's memory.
static bool spyi_is_walked(const spyi_bound *b, const spyi_launch *launch, uint32_t i) {
    return spyi_leaf_in_memory(&b->leaves[i]) && !(launch->key.walk[i] & SPYI_WALK_SKIPPED);
}

// Drops dimensions of size 1 and merges neighbours that every leaf walks as one. Backward calls have an order of their own,
// and keep apart those that gradients are summed over.
static void spyi_collapse(const spyi_bound *b, spyi_launch *launch) {
    uint32_t rank = 0, count = launch->shape.rank, kept = 0;
    int64_t ordered[SPY_MAX_RANK];
    const int64_t *sizes = launch->shape.dims;
    if (launch->key.team) {
        kept = spyi_launch_order(b, launch, ordered, &count);
        sizes = ordered;
    }
    launch->kept = 0;
    for (uint32_t k = 0; k < count; k++) {
        int64_t size = sizes[k];
        if (k == kept) launch->kept = rank;
        if (size == 1) continue;
        bool merge = rank > launch->kept;
        for (uint32_t i = 0; i < b->leaf_count && merge; i++) {
            const int64_t *strides = launch->leaves[i].strides;
            if (spyi_is_walked(b, launch, i)) merge = strides[rank - 1] == strides[k] * size;
        }
        if (launch->key.reordered)
            merge = merge && launch->element_strides[rank - 1] == launch->element_strides[k] * size;
        if (!merge) launch->dims[rank++] = size;
        else launch->dims[rank - 1] *= size;
        for (uint32_t i = 0; i < b->leaf_count; i++) // each is read before it is overwritten: rank - 1 <= k
            if (spyi_is_walked(b, launch, i))
                launch->leaves[i].strides[rank - 1] = launch->leaves[i].strides[k];
        launch->element_strides[rank - 1] = launch->element_strides[k];
    }
    launch->rank = rank;
}

static uint8_t spyi_walk_for(const spyi_launch *launch, const spyi_launch_leaf *leaf) {
    bool uniform = true, linear = true;
    int64_t expected = 1;
    for (uint32_t d = launch->rank; d-- > 0;) {
        uniform = uniform && leaf->strides[d] == 0;
        linear = linear && leaf->strides[d] == expected;
        expected *= launch->dims[d];
    }
    return uniform ? SPYI_WALK_UNIFORM : linear ? SPYI_WALK_LINEAR : SPYI_WALK_STRIDED;
}

// Whether `width` neighbours of this leaf are aligned vectors, wherever the thread stands.
static bool spyi_vector_fits(const spyi_launch *launch, const spyi_launch_leaf *leaf, bool linear,
                             uint32_t components, uint32_t width) {
    uint64_t vector = (uint64_t)(leaf->memory_size / components) * SPYI_LANES,
             group = (uint64_t)leaf->memory_size * width;
    if (width > SPYI_LANES && vector < 16) vector = 16;
    uint64_t base = leaf->storage ? leaf->storage->offset : 0;
    if (leaf->begin != leaf->offset || leaf->strides[launch->rank - 1] != 1 || (base + leaf->offset) % vector)
        return false;
    for (uint32_t d = 0; d + 1 < launch->rank; d++)
        if (!linear && leaf->strides[d] % width) return false;
    // The last thread's vectors may be read beyond the last element, but not beyond the storage. Blocks of the pool are
    // multiples of 64 bytes.
    if (!leaf->storage) return 64 % group == 0 || (leaf->end - leaf->offset) % group == 0;
    return spyi_align((size_t)(leaf->end - leaf->offset), (size_t)group) + leaf->offset <=
           leaf->storage->size;
}

// Turns the variant wide if every leaf allows it and all outputs are vectors. `crosses`: these run on from row to row, and
// whatever does not lie like them is read element by element.
static void spyi_try_wide(const spyi_bound *b, spyi_launch *launch, const spyi_limits *limits, uint32_t width,
                          bool crosses) {
    int64_t from = limits->prefers_bindings
                       ? 2 * SPYI_LANES
                       : (int64_t)16384 * width; // below, a GPU needs the threads more than the width
    if (launch->rank == 0 || launch->key.width > 1 || launch->count < from) return;
    if (launch->rank > 1 && !crosses && launch->dims[launch->rank - 1] % width) return;
    if (crosses && (launch->rank < 2 || b->mode || launch->key.reordered)) return;
    uint8_t walk[SPYI_MOST_MEMORY_LEAVES];
    memcpy(walk, launch->key.walk, sizeof walk);
    bool outputs = false, row = true; // row: nothing but elements one after the other
    size_t bytes = 0, largest = 0;    // of an element over all leaves; of any scalar
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (!spyi_is_walked(b, launch, i) || walk[i] == SPYI_WALK_UNIFORM) continue;
        const spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_leaf_can_widen(leaf) || (walk[i] & SPYI_WALK_GATHER)) return;
        bool linear = walk[i] == SPYI_WALK_LINEAR;
        bool vector = (linear || !crosses) && spyi_vector_fits(launch, at, linear, leaf->type->columns, width);
        // Elements of several scalars make a GPU's threads skip over each other's vectors (kernel.c has the figures).
        if (leaf->type->columns > 1 && (!vector || !limits->prefers_bindings)) return;
        bytes += at->memory_size;
        row = row && linear;
        if (largest < at->memory_size / leaf->type->columns) largest = at->memory_size / leaf->type->columns;
        if (leaf->out && !vector) return;
        outputs = outputs || leaf->out;
        bool still = !crosses && at->strides[launch->rank - 1] == 0;
        if (vector) walk[i] = linear ? SPYI_WALK_LINEAR : SPYI_WALK_INNER;
        else
            walk[i] = (uint8_t)((still ? SPYI_WALK_STILL : SPYI_WALK_STRIDED) | (walk[i] & SPYI_WALK_REVERSED));
    }
    if (!outputs || bytes * width > SPYI_WIDE_BYTES) return;
    if (row && largest > spyi_path_of(limits->target)->wide_scalar) return;
    memcpy(launch->key.walk, walk, sizeof walk);
    launch->key.width = (uint8_t)width;
    launch->key.crosses = crosses;
    // Strides of vectors count vectors; the last one is read whole.
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        spyi_launch_leaf *at = &launch->leaves[i];
        if (!spyi_is_walked(b, launch, i) || !spyi_key_is_vector(&launch->key, i)) continue;
        for (uint32_t d = 0; d + 1 < launch->rank; d++) at->strides[d] /= width;
        at->reach = at->offset + spyi_align((size_t)(at->end - at->offset), (size_t)at->memory_size * width);
    }
}

// Elements that fill 16 bytes of the smallest scalars, where these go so; more than a vector's.
static uint32_t spyi_widest(const spyi_bound *b, const spyi_launch *launch, const spyi_limits *limits) {
    uint32_t smallest = 4;
    if (!spyi_path_of(limits->target)->packs_words) return SPYI_LANES;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_leaf_in_memory(&b->leaves[i]) && launch->key.walk[i] != SPYI_WALK_UNIFORM &&
            launch->leaves[i].memory_size < smallest)
            smallest = launch->leaves[i].memory_size;
    return smallest == 1 || smallest == 2 ? 16 / smallest : SPYI_LANES;
}

// A large flat call that cannot be wide takes several elements a thread, so that more loads are under way: four, or two
// when elements are large (kernel.c has the figures).
static void spyi_try_unroll(const spyi_bound *b, spyi_launch *launch, const spyi_limits *limits) {
    size_t bytes = 0;
    if (launch->key.width > 1 || launch->rank == 0 || launch->count < SPYI_UNROLL_FROM ||
        limits->prefers_bindings)
        return;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_is_walked(b, launch, i) || launch->key.walk[i] == SPYI_WALK_UNIFORM) continue;
        if (launch->key.walk[i] != SPYI_WALK_LINEAR) return;
        bytes += launch->leaves[i].memory_size;
    }
    launch->key.unroll = bytes <= 16 ? 4 : bytes <= 64 ? 2 : 1;
}

// Where a structured buffer for the leaf begins: an aligned offset from which whole elements lead to its first one.
static bool spyi_place_binding(const spyi_limits *limits, spyi_launch_leaf *leaf, bool vector) {
    uint64_t alignment = limits->binding_alignment;
    uint64_t at = (leaf->storage ? leaf->storage->offset : 0) + leaf->begin;
    uint64_t element = leaf->memory_size;
    uint64_t base = 0;
    while (!vector && at % alignment && at >= element &&
           base < alignment) { // vectors begin where the binding does
        at -= element;
        base++;
    }
    if (at % alignment) return false;
    if (leaf->reach - leaf->begin + base * element > limits->max_binding_bytes) return false;
    leaf->binding_offset = at;
    leaf->base = base + (leaf->offset - leaf->begin) / element;
    return true;
}

SPYI_FN spy_status spyi_launch_place(spyi_plan *plan, spyi_text *error) {
    spyi_launch *launch = &plan->launch;
    const spyi_limits *limits = &plan->function->object.device->base->limits;
    for (uint32_t i = 0; i < plan->bound.leaf_count; i++) {
        const spyi_leaf *leaf = &plan->bound.leaves[i];
        if (!spyi_is_walked(&plan->bound, launch, i) || leaf->source == SPYI_SOURCE_TENSOR) continue;
        if (spyi_place_binding(limits, &launch->leaves[i], spyi_key_is_vector(&launch->key, i))) continue;
        spyi_text_add(error, "'%s': its temporary does not fit into a structured buffer", leaf->path);
        return SPY_ERROR_INTERNAL;
    }
    return SPY_OK;
}

// Bindings that a value may need: one, or one for each tensor in a struct or an array of buffers.
static uint32_t spyi_tensor_count(const spyi_values *values, uint32_t value) {
    uint32_t count = 0, end = spyi_value_end(values->items, value);
    for (uint32_t i = value; i < end; i++) count += values->items[i].tensor != NULL;
    return count ? count : 1;
}

static void spyi_choose_access(const spyi_bound *b, const spyi_values *values, const spyi_limits *limits,
                               spyi_launch *launch) {
    uint64_t largest = 0;
    uint32_t memory_leaves = values->global_count; // each may need a binding
    bool placed = true;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (b->leaves[i].binds) memory_leaves += spyi_tensor_count(values, b->leaves[i].value);
        if (!spyi_is_walked(b, launch, i)) continue;
        spyi_launch_leaf *leaf = &launch->leaves[i];
        uint64_t bytes = leaf->end - leaf->begin;
        if (bytes > largest) largest = bytes;
        if (bytes / leaf->memory_size >= ((uint64_t)1 << 31)) launch->key.index64 = 1;
        memory_leaves++;
    }
    if (launch->key.index64 || memory_leaves > limits->max_bindings) return;
    bool pointers = (limits->info.features & SPY_FEATURE_POINTERS) != 0;
    if (pointers && !limits->prefers_bindings && largest < limits->bindings_from_bytes) return;
    for (uint32_t i = 0; i < b->leaf_count && placed; i++) {
        if (spyi_is_walked(b, launch, i))
            placed = spyi_place_binding(limits, &launch->leaves[i], spyi_key_is_vector(&launch->key, i));
    }
    launch->key.bindings = placed ? 1 : 0;
}

// Where a leaf's tensor lies, and all that a repeated launch must find again.
static void spyi_launch_tensor(spyi_launch_leaf *at, const spy_tensor *tensor) {
    at->storage = tensor->storage;
    at->serial = tensor->serial;
    at->begin = tensor->begin_bytes;
    at->end = at->reach = tensor->end_bytes;
    at->storage_offset = tensor->storage->offset;
    memcpy(at->geometry, &tensor->shape, sizeof at->geometry);
}

// A tensor that is bound as a whole.
static spy_status spyi_launch_bound(const spyi_leaf *leaf, const spyi_value *v, spyi_launch_leaf *at,
                                    spyi_text *error) {
    spyi_text problem = { NULL, 0, 0 };
    bool good = leaf->kind->pack(leaf, v, NULL, &problem);
    if (!good) spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
    spyi_text_free(&problem);
    at->binding_offset = at->storage_offset + at->begin;
    return good ? SPY_OK : SPY_ERROR_OUT_OF_RANGE;
}

// Groups of a dispatch as the caller counts its threads; more than the device takes in one dimension are folded.
static spy_status spyi_launch_threads(const spyi_threads *threads, const spyi_limits *limits,
                                      spyi_launch *launch, spyi_text *error) {
    uint64_t total = 1, most = spyi_most_rows(limits);
    bool none = false, wraps = false; // numbers of threads and groups are 32 bits in kernels
    for (int i = 0; i < 3; i++) {
        uint64_t groups = ((uint64_t)threads->count[i] + threads->group[i] - 1) / threads->group[i];
        if (threads->counts) groups = 1;
        if (groups > (i ? most : limits->info.max_group_count)) launch->key.folded = 1;
        launch->groups[i] = (uint32_t)groups;
        none = none || groups == 0;
        wraps = wraps || groups * threads->group[i] > (uint64_t)1 << 32;
        total = total > most * most ? total : total * groups;
    }
    memcpy(launch->thread_groups, launch->groups, sizeof launch->groups);
    if (none) launch->count = 0;
    if (none || (!launch->key.folded && !wraps)) return SPY_OK;
    if (wraps) {
        spyi_text_add(
            error,
            "a dispatch of %u x %u x %u threads in groups of %u x %u x %u: whole groups have more than "
            "2^32 threads in one dimension",
            threads->count[0], threads->count[1], threads->count[2], threads->group[0], threads->group[1],
            threads->group[2]);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (threads->shader) {
        spyi_text_add(error,
                      "a dispatch of %u x %u x %u groups is more than the device's %u (%llu in y and z), and "
                      "a shader's "
                      "groups cannot be counted otherwise",
                      launch->groups[0], launch->groups[1], launch->groups[2], limits->info.max_group_count,
                      (unsigned long long)most);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (total > most * most) {
        spyi_text_add(error, "a dispatch of %u x %u x %u groups is more than %llu in all", launch->groups[0],
                      launch->groups[1], launch->groups[2], (unsigned long long)(most * most));
        return SPY_ERROR_OUT_OF_RANGE;
    }
    launch->groups[0] = (uint32_t)most;
    launch->groups[1] = (uint32_t)((total + most - 1) / most);
    launch->groups[2] = 1;
    return SPY_OK;
}

// Groups of a pass that sums gradients; more than the device takes in one dimension are folded.
static spy_status spyi_launch_sums(const spyi_limits *limits, spyi_launch *launch, spyi_text *error) {
    uint64_t most = spyi_most_rows(limits), groups = launch->team_groups;
    if (groups > most * most) {
        spyi_text_add(error, "its gradients are %u sums, which is more than one call can make", launch->sums);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    launch->key.folded = groups > limits->info.max_group_count;
    launch->groups[0] = (uint32_t)(launch->key.folded ? most : groups);
    launch->groups[1] = (uint32_t)((groups + launch->groups[0] - 1) / launch->groups[0]);
    launch->groups[2] = 1;
    return SPY_OK;
}

SPYI_FN spy_status spyi_launch_shape(spyi_plan *plan, const spyi_values *values, spyi_text *error) {
    const spyi_bound *b = &plan->bound;
    spyi_launch *launch = &plan->launch;
    const spy_device *device = plan->function->object.device;
    const spyi_limits *limits = &device->base->limits;
    launch->repeatable = NULL;
    memset(&launch->key, 0, sizeof launch->key);
    spy_status status = spyi_call_shape(b, values, &launch->shape, error);
    if (status != SPY_OK) return status;
    launch->count = spyi_shape_count(&launch->shape);
    if (launch->count < 0 || launch->count >= ((int64_t)1 << 31)) {
        spyi_text_add(error, "the call has shape ");
        spyi_shape_text(&launch->shape, error);
        spyi_text_add(error, ", which is more than the 2147483647 elements that one call can have");
        return SPY_ERROR_OUT_OF_RANGE;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        const spyi_value *v = &values->items[leaf->value];
        spyi_launch_leaf *at = &launch->leaves[i];
        if (spyi_leaf_is_whole(leaf)) spyi_launch_tensor(at, v->tensor);
        if (leaf->binds) {
            status = spyi_launch_bound(leaf, v, at, error);
            if (status != SPY_OK) return status;
        }
        if (!spyi_leaf_in_memory(leaf)) continue;
        spy_shape dims, strides;
        spyi_leaf_measures(leaf, v, &launch->shape, &dims, &strides);
        at->storage = leaf->source == SPYI_SOURCE_TENSOR ? v->tensor->storage : NULL;
        at->offset = leaf->source == SPYI_SOURCE_TENSOR ? v->tensor->offset_bytes : 0;
        spyi_leaf_strides(leaf, &dims, &strides, at->offset, at, &launch->key.walk[i]);
        if (at->storage) {
            spyi_launch_tensor(at, v->tensor);
        } else {
            at->begin = 0;
            at->end = leaf->source == SPYI_SOURCE_READBACK
                          ? at->memory_size
                          : (uint64_t)spyi_shape_count(&dims) * spyi_type_device_stride(leaf->element);
        }
        at->reach = at->end;
        at->first = (at->offset - at->begin) / at->memory_size;
        bool seeds = b->mode == SPY_CALL_BACKWARD && leaf->role == SPYI_ROLE_READ &&
                     values->items[b->leaves[leaf->value_leaf].value].tensor; // as large as the output
        if ((leaf->out || seeds) && leaf->source != SPYI_SOURCE_NEW && leaf->role != SPYI_ROLE_ADDED) {
            status = spyi_check_output(leaf, v, &launch->shape, error);
            if (status != SPY_OK) return status;
        }
    }
    if (launch->count == 0) return SPY_OK;
    if (b->mode == SPY_CALL_BACKWARD) {
        status = spyi_launch_passes(b, values, launch, error);
        if (status != SPY_OK) return status;
        spyi_launch_teams(b, limits, launch);
    }
    uint32_t group[SPY_MAX_RANK];
    launch->key.grouped = spyi_call_group(b, group) && !launch->key.team;
    if (launch->key.grouped) {
        launch->rank = launch->shape.rank;
        memcpy(launch->dims, launch->shape.dims, sizeof launch->dims);
    } else {
        spyi_collapse(b, launch);
    }
    launch->key.rank = (uint8_t)launch->rank;
    launch->key.width = 1;
    launch->key.unroll = 1;
    for (uint32_t i = 0; i < b->leaf_count; i++)
        if (spyi_is_walked(b, launch, i))
            launch->key.walk[i] =
                (uint8_t)(launch->key.walk[i] |
                          (launch->leaves[i].begin < launch->leaves[i].offset ? SPYI_WALK_REVERSED : 0u) |
                          spyi_walk_for(launch, &launch->leaves[i]));
    if (!b->options.threads[0] && !launch->key.grouped && !launch->key.team &&
        !launch->key.together) { // else each element has a thread of its own
        spyi_try_wide(b, launch, limits, spyi_widest(b, launch, limits), false);
        spyi_try_wide(b, launch, limits, SPYI_LANES, false);
        spyi_try_wide(b, launch, limits, SPYI_LANES, true);
        spyi_try_unroll(b, launch, limits);
    }
    spyi_choose_access(b, values, limits, launch);
    if (!launch->key.bindings && !(limits->info.features & SPY_FEATURE_POINTERS)) {
        spyi_text_add(error, "its arrays do not fit into structured buffers, and the device has no pointers");
        return SPY_ERROR_UNSUPPORTED;
    }
    launch->key.walk_count = (uint8_t)b->leaf_count;
    launch->key.by_team = launch->key.team && launch->rank == 2 && launch->kept == 1 && !launch->finishes;
    if (launch->key.team) return spyi_launch_sums(limits, launch, error);
    if (values->threads) return spyi_launch_threads(values->threads, limits, launch, error);
    int64_t per_group =
        (int64_t)spyi_group_size(b, limits, launch->rank) * launch->key.width * launch->key.unroll;
    int64_t threads = launch->count;
    for (uint32_t d = 0; d < launch->rank && launch->key.grouped; d++) // whole call groups
        threads = (d ? threads : 1) * ((launch->dims[d] + group[d] - 1) / group[d]) * group[d];
    if (threads >
        UINT32_MAX - (1 << 26)) { // numbers of threads, those of the last row too, are 32 bits in kernels
        spyi_text_add(error, "the call has shape ");
        spyi_shape_text(&launch->shape, error);
        spyi_text_add(error,
                      ", whose whole call groups have %lld elements, which is more than one call can have",
                      (long long)threads);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    int64_t groups = (threads + per_group - 1) / per_group, most = limits->info.max_group_count;
    launch->key.folded = groups > most;
    launch->groups[0] = (uint32_t)(groups > most ? most : groups);
    launch->groups[1] = (uint32_t)((groups + launch->groups[0] - 1) / launch->groups[0]);
    launch->groups[2] = 1;
    return SPY_OK;
}

SPYI_FN uint64_t spyi_launch_grid(const spyi_limits *limits) {
    uint64_t grid = limits->binding_alignment > limits->texel_alignment ? limits->binding_alignment
                                                                        : limits->texel_alignment;
    return (grid > 64 ? grid : 64) - 1;
}

static bool spyi_same_words(const uint8_t *a, const uint8_t *b, size_t size) {
    uint64_t x, y, differ = 0;
    for (size_t i = 0; i < size; i += 8) {
        memcpy(&x, a + i, 8);
        memcpy(&y, b + i, 8);
        differ |= x ^ y;
    }
    return differ == 0;
}

// Sizes and strides beyond the rank are 0 in both.
static bool spyi_same_geometry(const spyi_launch_leaf *at, const spy_tensor *t) {
    const uint8_t *a = at->geometry, *b = (const uint8_t *)(const void *)&t->shape;
    size_t sizes = offsetof(spy_shape, dims) + t->shape.rank * sizeof *t->shape.dims,
           end = 2 * sizeof(spy_shape);
    return spyi_same_words(a, b, sizes) &&
           spyi_same_words(a + sizeof(spy_shape), b + sizeof(spy_shape), sizes) &&
           spyi_same_words(a + end, b + end, sizeof at->geometry - end);
}

SPYI_FN bool spyi_launch_leaf_repeats(spyi_launch_leaf *at, const spy_tensor *t, uint64_t grid) {
    spyi_storage *storage = t->storage;
    if (!spyi_same_geometry(at, t) || storage->size < at->reach ||
        ((storage->offset ^ at->storage_offset) & grid) != 0)
        return false;
    at->binding_offset += storage->offset - at->storage_offset;
    at->storage_offset = storage->offset;
    at->storage = storage;
    at->serial = t->serial;
    return true;
}

// Steady loops call again and again with tensors of the same geometry: nothing of the above changes then, as long as each
// storage lies on the same grid, is large enough for whole vectors, and none is an output and something else at once.
SPYI_FN bool spyi_launch_repeats(spyi_plan *plan, const spyi_values *values) {
    spyi_launch *launch = &plan->launch;
    const spyi_bound *b = &plan->bound;
    if (!launch->repeatable || values->thread_count.rank) return false;
    uint64_t grid = spyi_launch_grid(&plan->function->object.device->base->limits);
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (b->leaves[i].source != SPYI_SOURCE_TENSOR && !spyi_leaf_is_whole(&b->leaves[i])) continue;
        const spy_tensor *t = values->items[b->leaves[i].value].tensor;
        spyi_launch_leaf *at = &launch->leaves[i];
        if ((launch->key.bindings && t->storage->offset + at->binding_offset < at->storage_offset) ||
            !spyi_launch_leaf_repeats(at, t, grid))
            return false;
    }
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!b->leaves[i].out || b->leaves[i].source != SPYI_SOURCE_TENSOR) continue;
        for (uint32_t j = 0; j < b->leaf_count; j++)
            if (j != i && (b->leaves[j].source == SPYI_SOURCE_TENSOR || spyi_leaf_is_whole(&b->leaves[j])) &&
                launch->leaves[j].storage == launch->leaves[i].storage)
                return false;
    }
    return true;
}
