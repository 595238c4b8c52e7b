// Packs the inputs of a dispatch: the parameter block and the uniform buffers, which pack programs fill in
// the device's layout, and the bindings.
#include "call/run.h"
#include "data/gpu_print.h"
#include "kinds/kinds.h"

// Computes multiplier and shift with n / d == (((n * magic) >> 32) + n) >> shift for all n below 2^31.
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994), section 4.
static void spyi_divider(uint32_t d, uint32_t *magic, uint32_t *shift) {
    uint32_t s = 0;
    while (s < 31 && ((uint32_t)1 << s) < d) s++;
    *shift = s;
    *magic = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << s) - d)) / d + 1);
}

typedef struct spyi_packing {
    const spyi_plan *plan;
    const spyi_values *values;
    const spyi_variant *variant;
    bool repeats;           // the block already has the sizes and strides
    spyi_binding *bindings; // the bindings of the dispatch
} spyi_packing;

// Binds bytes `from` to `to` of the storage's chunk; `to` is cut at the chunk's end.
static void spyi_bind_range(const spyi_storage *storage, uint64_t from, uint64_t to, spyi_binding *binding) {
    binding->kind = SPYI_BINDING_BUFFER;
    binding->handle = storage->chunk.handle;
    binding->offset = from;
    binding->range = (to < storage->chunk.size ? to : storage->chunk.size) - from;
}

static void spyi_bind_tensor(const spy_tensor *t, spyi_binding *binding) {
    spyi_bind_range(t->storage, t->storage->offset + t->begin_bytes, t->storage->offset + t->end_bytes,
                    binding);
}

// Binds a texture or sampler, if the kernel may use it in this way: a call that repeats a launch has not
// checked this yet.
static spy_status spyi_bind_resource(const spyi_leaf *leaf, const spyi_value *v, spyi_binding *binding,
                                     spyi_text *error) {
    spyi_text problem = { NULL, 0, 0 };
    spy_status status = spyi_pack_leaf(leaf, v, NULL, error);
    if (status != SPY_OK || leaf->kind->run->resource->binding(leaf, v, binding, &problem)) return status;
    spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
    spyi_text_free(&problem);
    return SPY_ERROR_UNSUPPORTED;
}

// Runs a pack program that writes to `base`. `leaves` are the plan's, or those of the variant's shader
// parameters.
static spy_status spyi_run_packs(const spyi_packing *p, const spyi_pack *packs, uint32_t count,
                                 const spyi_leaf *leaves, uint8_t *base, spyi_text *error) {
    const spyi_launch *launch = p->plan->launch;
    const spyi_launch_leaf *at = launch->leaves; // layouts of the plan's leaves
    const spyi_value *values = p->values->items;
    bool index64 = p->variant->key.index64;
    for (uint32_t i = 0; i < count; i++) {
        const spyi_pack *pack = &packs[i];
        if (p->repeats && pack->op < SPYI_PACK_ADDRESS) continue;
        const spyi_leaf *leaf = leaves ? &leaves[pack->leaf] : NULL; // NULL for a dispatch without arguments
        uint8_t *out = base + pack->offset;
        uint32_t u = 0, other;
        int64_t stride;
        uint64_t address;
        spy_status status;
        switch ((spyi_pack_op)pack->op) {
        case SPYI_PACK_COUNT:
            u = (uint32_t)launch->count;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_ROW:
            u = launch->groups[0] * p->variant->emitted.group_size;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_THREADS: memcpy(out, &p->values->threads->count[pack->dim], 4); break;
        case SPYI_PACK_GROUPS: memcpy(out, &launch->thread_groups[pack->dim], 4); break;
        case SPYI_PACK_SHAPE:
            u = launch->shape.rank ? (uint32_t)launch->shape.dims[pack->dim] : 1u;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SIZE:
            u = spyi_launch_steps(launch, pack->dim);
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_MAGIC:
            spyi_divider(spyi_launch_steps(launch, pack->dim), &u, &other);
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SHIFT:
            spyi_divider(spyi_launch_steps(launch, pack->dim), &other, &u);
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_EDGE:
            u = (uint32_t)launch->dims[pack->dim];
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_ELEMENT:
            u = (uint32_t)launch->element_strides[pack->dim];
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_TEAM:
            u = pack->dim == 0   ? launch->sums
                : pack->dim == 1 ? launch->each
                : pack->dim == 2 ? launch->team_parts
                : pack->dim == 3 ? launch->length
                                 : launch->groups[0];
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SUMS:
            address = launch->sums_storage->chunk.address + launch->sums_storage->offset +
                      at[pack->leaf].sums_offset;
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_PRINT:
            address = spyi_print_address(p->plan->function->object.device);
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_ADDRESS:
            address =
                at[pack->leaf].storage->chunk.address + at[pack->leaf].storage->offset + at[pack->leaf].begin;
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_BASE:
            memcpy(out, p->variant->key.bindings ? &at[pack->leaf].base : &at[pack->leaf].first,
                   index64 ? 8 : 4);
            break;
        case SPYI_PACK_STRIDE:
        case SPYI_PACK_INNER:
            stride = pack->op == SPYI_PACK_STRIDE ? at[pack->leaf].strides[pack->dim]
                                                  : at[pack->leaf].inner[pack->dim];
            memcpy(out, &stride, index64 ? 8 : 4); // on a little-endian host the low half is the 32-bit value
            break;
        case SPYI_PACK_SCALAR:
            if (!spyi_pack_scalar(leaf, values[leaf->value].arg, out))
                return spyi_does_not_fit(leaf, &values[leaf->value], error);
            break;
        case SPYI_PACK_BYTES:
            spyi_type_to_device(leaf->type, out, values[leaf->value].arg->value.data, 1);
            break;
        case SPYI_PACK_INLINE:
            if (!spyi_pack_inline(leaf, values[leaf->value].arg, out))
                return spyi_does_not_fit(leaf, &values[leaf->value], error);
            break;
        case SPYI_PACK_KIND:
            status = spyi_pack_leaf(leaf, &values[leaf->value], out, error);
            if (status != SPY_OK) return status;
            if (launch->pass && leaf->kind->run->stop_adding) leaf->kind->run->stop_adding(leaf, out);
            break;
        case SPYI_PACK_SIZES:
            status = spyi_check_sizes(leaf, &values[leaf->value], error);
            if (status != SPY_OK) return status;
            break;
        case SPYI_PACK_BINDING:
            if (spyi_leaf_is_resource(leaf)) {
                status = spyi_bind_resource(leaf, &values[leaf->value], &p->bindings[pack->offset], error);
            } else {
                status = spyi_pack_leaf(leaf, &values[leaf->value], NULL, error);
                if (status == SPY_OK)
                    spyi_bind_tensor(values[leaf->value].tensor, &p->bindings[pack->offset]);
            }
            if (status != SPY_OK) return status;
            break;
        }
    }
    return SPY_OK;
}

SPYI_FN spy_status spyi_pack_call(const spyi_plan *plan, const spyi_values *values,
                                  const spyi_variant *variant, bool repeats, spyi_binding *bindings,
                                  spyi_text *error) {
    const spyi_launch *launch = plan->launch;
    const spyi_emitted *e = &variant->emitted;
    const spyi_bound_inputs *bound_inputs = &variant->bound_inputs;
    const spyi_packing p = { plan, values, variant, repeats, bindings };
    if (!repeats && launch->block)
        memset(launch->block, 0, e->block_size); // the block is NULL if the kernel
                                                 // has none
    spy_status status = spyi_run_packs(&p, e->packs, e->pack_count, plan->bound.leaves, launch->block, error);
    if (status != SPY_OK) return status;
    for (uint32_t i = 0; i < e->binding_count; i++) {
        const spyi_launch_leaf *at = &launch->leaves[e->bindings[i]];
        const spyi_leaf *leaf = &plan->bound.leaves[e->bindings[i]];
        if (spyi_leaf_is_resource(leaf)) {
            status = spyi_bind_resource(leaf, &values->items[leaf->value], &bindings[i], error);
            if (status != SPY_OK) return status;
            continue;
        }
        spyi_bind_range(at->storage, at->binding_offset, at->storage->offset + at->reach, &bindings[i]);
    }
    if (!bound_inputs->count) return SPY_OK;
    return spyi_run_packs(&p, bound_inputs->packs, bound_inputs->pack_count, bound_inputs->leaves,
                          bound_inputs->data, error);
}
