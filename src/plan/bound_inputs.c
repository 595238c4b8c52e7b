// Shader parameters: finds which of a call's values feed which of a kernel's inputs, checked once for each
// kernel, and makes the pack program that each call runs for them.
// A plan's key holds the kinds and types of all values, so a kernel's bound inputs stay right for all calls
// of its plan.
#include "kinds/kinds.h"
#include "plan/plan.h"

// >>making

typedef struct spyi_input_binding {
    const spyi_plan *plan;
    const spyi_inputs *inputs;
    const spyi_values *values;
    spyi_bound_inputs *bound_inputs;
    uint32_t leaf_capacity, pack_capacity;
    spyi_input_leaves leaves; // all leaves that the call gives
    // The bytes of all elements of the unsized array in each uniform buffer; 0 means that there is none.
    uint32_t elements[SPYI_MOST_UNIFORMS];
    uint32_t start[SPYI_MOST_UNIFORMS];  // the byte in bound_inputs->data where each uniform buffer starts
    uint8_t *given;                      // one flag for each byte of bound_inputs->data
    bool bound[SPYI_MOST_MEMORY_LEAVES]; // one flag for each binding
    spyi_text *error;
} spyi_input_binding;

static spy_status spyi_out_of_memory(spyi_text *error) {
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

// Makes room for one more item; returns false when out of memory.
static bool spyi_bound_input_room(void **items, uint32_t count, uint32_t *capacity, size_t size) {
    if (count < *capacity) return true;
    uint32_t more = *capacity ? *capacity * 2 : 16;
    void *moved = spyi_realloc(*items, more * size);
    if (!moved) return false;
    *items = moved;
    *capacity = more;
    return true;
}

// Adds a pack operation for the last leaf.
static bool spyi_add_input_pack(spyi_input_binding *f, spyi_pack_op op, uint32_t offset) {
    spyi_bound_inputs *bound_inputs = f->bound_inputs;
    void *packs = bound_inputs->packs;
    bool good = spyi_bound_input_room(&packs, bound_inputs->pack_count, &f->pack_capacity,
                                      sizeof *bound_inputs->packs);
    bound_inputs->packs = (spyi_pack *)packs;
    if (!good) return false;
    spyi_pack *pack = &bound_inputs->packs[bound_inputs->pack_count++];
    pack->op = (uint8_t)op;
    pack->dim = 0;
    pack->leaf = (uint16_t)(bound_inputs->count - 1);
    pack->offset = offset;
    return true;
}

// Gives the byte of bound_inputs->data where the leaf's bytes start, and marks them as given.
static spy_status spyi_bound_input_offset(spyi_input_binding *f, const spyi_leaf *leaf,
                                          const spyi_found *found, uint32_t *at) {
    const spyi_uniform *uniform = &f->bound_inputs->uniforms[found->input->slot];
    uint32_t offset = found->offset + found->element * leaf->field_size;
    if (offset + leaf->field_size > uniform->size && found->part) {
        spyi_text_add(f->error, "'%s': the array is given with %u elements", leaf->path,
                      uniform->size / leaf->field_size);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (offset + leaf->field_size > uniform->size) {
        spyi_text_add(f->error, "'%s' does not lie in its uniform buffer of %u bytes", leaf->path,
                      uniform->size);
        return SPY_ERROR_INTERNAL;
    }
    *at = f->start[found->input->slot] + offset;
    memset(f->given + *at, 1, leaf->field_size);
    return SPY_OK;
}

// Adds a leaf with its pack operations; takes over the leaf's path.
static spy_status spyi_add_bound_input(spyi_input_binding *f, spyi_leaf *leaf, const spyi_found *found) {
    spyi_bound_inputs *bound_inputs = f->bound_inputs;
    void *leaves = bound_inputs->leaves;
    bool good = spyi_bound_input_room(&leaves, bound_inputs->count, &f->leaf_capacity,
                                      sizeof *bound_inputs->leaves),
         sized = false;
    bound_inputs->leaves = (spyi_leaf *)leaves;
    if (!good) return spyi_out_of_memory(f->error);
    if (bound_inputs->count == UINT16_MAX) {
        spyi_text_add(f->error, "'%s' is one of more than %d values for shader parameters", leaf->path,
                      UINT16_MAX);
        return SPY_ERROR_UNSUPPORTED;
    }
    bound_inputs->leaves[bound_inputs->count++] = *leaf;
    leaf->path = NULL;
    leaf = &bound_inputs->leaves[bound_inputs->count - 1];
    for (uint32_t d = 0; d < leaf->consumed; d++) sized = sized || leaf->consumed_dims[d] != -1;
    if (sized) good = spyi_add_input_pack(f, SPYI_PACK_SIZES, 0);
    uint32_t at = (uint32_t)found->input->slot;
    if (leaf->binds) {
        f->bound[at] = true;
        good = good && spyi_add_input_pack(f, SPYI_PACK_BINDING, at);
    } else {
        spy_status status = spyi_bound_input_offset(f, leaf, found, &at);
        if (status != SPY_OK) return status;
        good = good && spyi_add_input_pack(f, spyi_pack_op_of(leaf), at);
    }
    return good ? SPY_OK : spyi_out_of_memory(f->error);
}

// Finds the place of each leaf in the kernel, and adds it there.
static spy_status spyi_place_leaves(spyi_input_binding *f) {
    spyi_text path = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    for (uint32_t i = 0; status == SPY_OK && i < f->leaves.count; i++) {
        spyi_leaf *leaf = &f->leaves.items[i].leaf;
        spyi_found found;
        if (!spyi_find_leaf(f->inputs, &f->leaves.items[i], &path, &found)) {
            spyi_text_add(f->error, "'%s' has no place of its own", spyi_text_str(&path));
            status = SPY_ERROR_UNSUPPORTED;
        } else if (found.input->slot >= 0) { // otherwise the kernel does not use the leaf
            // A value that the device does not take is reported by the parameter's name, before the driver
            // gets the kernel.
            if (leaf->binds) status = spyi_pack_leaf(leaf, &f->values->items[leaf->value], NULL, f->error);
            if (status == SPY_OK) status = spyi_add_bound_input(f, leaf, &found);
        }
    }
    spyi_text_free(&path);
    return status;
}

// Adds the names of the parts of an input's data that no value covers. With `zero`, parts that may be all zeros
// need no value.
static void spyi_missing_data(const char *path, const spyi_type *type, const uint8_t *given, bool zero,
                              spyi_text *out) {
    if (zero && spyi_may_be_zero(type)) return;
    size_t size = type->device_size ? type->device_size : 1;
    bool parts = type->kind == SPYI_TYPE_STRUCT || type->kind == SPYI_TYPE_ARRAY;
    if (!memchr(given, 1, size) && !(zero && parts)) {
        spyi_text_add_n(out, path, strlen(path) + 1);
        return;
    }
    if (!parts || !memchr(given, 0, size)) return; // padding needs no value
    uint32_t count = type->kind == SPYI_TYPE_STRUCT ? type->field_count : (uint32_t)type->count;
    for (uint32_t i = 0; i < count; i++) {
        spyi_text name = { NULL, 0, 0 };
        size_t offset;
        const spyi_type *part;
        if (type->kind == SPYI_TYPE_STRUCT) {
            spyi_text_add(&name, "%s.%s", path, type->fields[i].name);
            offset = type->fields[i].device_offset;
            part = type->fields[i].type;
        } else {
            spyi_text_add(&name, "%s[%u]", path, i);
            offset = i * spyi_type_device_stride(type->element);
            part = type->element;
        }
        spyi_missing_data(spyi_text_str(&name), part, given + offset, zero, out);
        spyi_text_free(&name);
    }
}

static spy_status spyi_check_given(spyi_input_binding *f) {
    spyi_text missing = { NULL, 0, 0 };                  // names that end with NUL each
    bool zero = f->plan->function->module->zero_missing; // the data is zero from the beginning
    for (uint32_t i = 0; i < f->inputs->count; i++) {
        const spyi_input *input = &f->inputs->items[i];
        if (input->parameter || !input->used || input->elements) continue;
        if (input->kind == SPYI_INPUT_BINDING && !f->bound[input->slot])
            spyi_text_add_n(&missing, input->path, strlen(input->path) + 1);
        if (input->kind == SPYI_INPUT_DATA && !spyi_is_parted(input->type))
            spyi_missing_data(input->path, input->type, f->given + f->start[input->slot] + input->offset,
                              zero, &missing);
    }
    if (!missing.size) return SPY_OK;
    spyi_text_add(f->error,
                  "the kernel uses global shader parameters that are not given (options.globals): ");
    for (size_t at = 0; at < missing.size; at += strlen(missing.data + at) + 1)
        spyi_text_add(f->error, "%s'%s'", at ? ", " : "", missing.data + at);
    spyi_note_missing(missing.data, missing.size);
    spyi_text_free(&missing);
    return SPY_ERROR_NOT_FOUND;
}

// Refuses a kernel that has a texture of Slang's own type with a gradient, and samples with a sampler that is a global
// or a part of one. The derivative would take the address modes and filters of another sampler, or of none, because
// the kernel notes only the sampler among its arguments (slang/slangpy_texture_plain.slang). Without bindings it notes the
// sampler that the texture includes, whatever it is.
static spy_status spyi_check_samplers(spyi_input_binding *f) {
    const spyi_bound *b = &f->plan->bound;
    bool noted = !b->plain_gradient || !b->leaves[b->plain_gradient - 1].binds;
    for (uint32_t i = 0; i < f->inputs->count && !noted; i++) {
        const spyi_input *input = &f->inputs->items[i];
        const spyi_type *type = input->type;
        const spyi_leaf *leaf = &b->leaves[b->plain_gradient - 1];
        while (type && type->kind == SPYI_TYPE_ARRAY) type = type->element;
        if (input->parameter || !input->used || !type || !type->name ||
            strcmp(type->name, "SamplerState") != 0)
            continue;
        spyi_text_add(
            f->error,
            "'%s': the texture has a gradient, but the kernel samples with the global '%s', whose address "
            "modes and filters a derivative cannot know: take Diff%s in the place of %s and a parameter "
            "DiffSamplerState in the place of '%s', whose calls are the same",
            leaf->path, input->path, leaf->type->display, leaf->type->display, input->path);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

static uint32_t spyi_uniform_bytes(const spyi_input_binding *f, uint32_t uniform) {
    return f->elements[uniform] ? f->elements[uniform] : f->inputs->uniform_size[uniform];
}

// Allocates the uniform buffers' bytes.
static spy_status spyi_layout_bound_inputs(spyi_input_binding *f, const spyi_limits *limits) {
    spyi_bound_inputs *bound_inputs = f->bound_inputs;
    size_t size = 0;
    bound_inputs->binding_count = f->inputs->binding_count;
    bound_inputs->uniform_count = f->inputs->uniform_count;
    if (bound_inputs->binding_count + bound_inputs->uniform_count > limits->profile.max_bindings ||
        bound_inputs->uniform_count > limits->profile.max_uniforms ||
        bound_inputs->binding_count > SPYI_MOST_MEMORY_LEAVES) {
        spyi_text_add(f->error,
                      "the kernel has %u buffers and %u uniform buffers, the device takes %u together",
                      bound_inputs->binding_count, bound_inputs->uniform_count, limits->profile.max_bindings);
        return SPY_ERROR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < bound_inputs->uniform_count; i++) {
        if (spyi_uniform_bytes(f, i) > limits->profile.max_uniform_bytes) {
            spyi_text_add(f->error, "a uniform buffer of the kernel has %u bytes, the device takes %u",
                          spyi_uniform_bytes(f, i), limits->profile.max_uniform_bytes);
            return SPY_ERROR_UNSUPPORTED;
        }
        size += spyi_align(spyi_uniform_bytes(f, i), 16);
    }
    // The 64 extra bytes have two uses: host values may be copied with their padding, and a pack program
    // needs an address even without uniform buffers.
    bound_inputs->data = (uint8_t *)spyi_calloc(size + 64, 1);
    f->given = (uint8_t *)spyi_calloc(size + 64, 1);
    if (!bound_inputs->data || !f->given) return spyi_out_of_memory(f->error);
    size = 0;
    for (uint32_t i = 0; i < bound_inputs->uniform_count; i++) {
        f->start[i] = (uint32_t)size;
        bound_inputs->uniforms[i].data = bound_inputs->data + size;
        bound_inputs->uniforms[i].size = spyi_uniform_bytes(f, i);
        size += spyi_align(spyi_uniform_bytes(f, i), 16);
    }
    return SPY_OK;
}

// Binds arguments to the kernel's own ConstantBuffers and arrays of buffers, in the kernel's order, and to
// all bound parameters of a user's shader.
static spy_status spyi_bind_holders(spyi_input_binding *f, const spyi_emitted *emitted) {
    uint32_t holder = 0;
    spy_status status = SPY_OK;
    const spyi_bound *b = &f->plan->bound;
    spy_function *function = f->plan->function;
    // A shader's inputs have the user's names.
    for (uint32_t i = 0; status == SPY_OK && b->shader && i < b->leaf_count; i++) {
        const spyi_leaf *leaf = &b->leaves[i];
        if (leaf->binds)
            status = spyi_bind_to_input(function, f->values, leaf->value, f->inputs, true, leaf->path,
                                        leaf->path, &f->leaves, f->error);
    }
    for (uint32_t i = 0; status == SPY_OK && i < f->inputs->count && holder < emitted->holder_count; i++) {
        const spyi_input *input = &f->inputs->items[i];
        if (!input->parameter || strpbrk(input->path, ".[") || input->kind == SPYI_INPUT_BINDING) continue;
        const spyi_leaf *leaf = &b->leaves[emitted->holders[holder++]];
        status = spyi_bind_to_input(function, f->values, leaf->value, f->inputs, true, input->path,
                                    leaf->path, &f->leaves, f->error);
    }
    return status;
}

// Finds the size in bytes of all elements of each unsized array.
static void spyi_measure_elements(spyi_input_binding *f) {
    spyi_text path = { NULL, 0, 0 };
    for (uint32_t i = 0; i < f->leaves.count; i++) {
        const spyi_leaf *leaf = &f->leaves.items[i].leaf;
        spyi_found found;
        if (!leaf->kind->run->elements || !spyi_find_leaf(f->inputs, &f->leaves.items[i], &path, &found))
            continue;
        const spyi_input *elements = found.input + 1;
        if (elements->slot >= 0)
            f->elements[elements->slot] = leaf->kind->run->elements(leaf, &f->values->items[leaf->value]);
    }
    spyi_text_free(&path);
}

SPYI_FN spy_status spyi_bind_inputs(const spyi_plan *plan, const spyi_emitted *emitted,
                                    const spyi_inputs *inputs, const spyi_values *values,
                                    spyi_bound_inputs *bound_inputs, spyi_text *error) {
    spyi_input_binding f;
    memset(&f, 0, sizeof f);
    f.plan = plan;
    f.inputs = inputs;
    f.values = values;
    f.bound_inputs = bound_inputs;
    f.error = error;
    spy_status status = spyi_check_samplers(&f);
    if (status == SPY_OK) status = spyi_bind_holders(&f, emitted);
    if (status == SPY_OK) status = spyi_bind_globals(plan->function, values, inputs, false, &f.leaves, error);
    if (status == SPY_OK) spyi_measure_elements(&f);
    if (status == SPY_OK) status = spyi_layout_bound_inputs(&f, &plan->function->object.device->base->limits);
    if (status == SPY_OK) status = spyi_place_leaves(&f);
    if (status == SPY_OK) status = spyi_check_given(&f);
    spyi_input_leaves_free(&f.leaves);
    free(f.given);
    return status;
}

SPYI_FN void spyi_bound_inputs_free(spyi_bound_inputs *bound_inputs) {
    for (uint32_t i = 0; i < bound_inputs->count; i++) free(bound_inputs->leaves[i].path);
    free(bound_inputs->leaves);
    free(bound_inputs->packs);
    free(bound_inputs->data);
    memset(bound_inputs, 0, sizeof *bound_inputs);
}
