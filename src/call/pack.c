// A launch's parameter block: sizes, addresses and numbers, in the device's layout.
#include "call/run.h"
#include "data/gpu_print.h"
#include "kinds/kinds.h"

// Multiplier and shift with n / d == (((n * magic) >> 32) + n) >> shift for all n below 2^31.
// Source: Granlund and Montgomery, "Division by Invariant Integers using Multiplication" (1994), section 4.
static void spyi_divider(uint32_t d, uint32_t *magic, uint32_t *shift) {
    uint32_t s = 0;
    while (s < 31 && ((uint32_t)1 << s) < d) s++;
    *shift = s;
    *magic = (uint32_t)((((uint64_t)1 << 32) * (((uint64_t)1 << s) - d)) / d + 1);
}

SPYI_FN spy_status spyi_pack_block(const spyi_plan *plan, const spyi_values *values,
                                   const spyi_variant *variant, bool repeats, spyi_text *error) {
    const spyi_launch *launch = plan->launch;
    uint8_t *block = launch->block;
    uint32_t row = launch->groups[0] * variant->emitted.group_size;
    bool index64 = variant->key.index64;
    spyi_text problem = { NULL, 0, 0 };
    if (!repeats && block) memset(block, 0, variant->emitted.block_size); // NULL: buffers alone
    for (uint32_t p = 0; p < variant->emitted.pack_count; p++) {
        const spyi_pack *pack = &variant->emitted.packs[p];
        if (repeats && pack->op < SPYI_PACK_ADDRESS) continue;
        const spyi_leaf *leaf = &plan->bound.leaves[pack->leaf];
        const spyi_launch_leaf *at = &launch->leaves[pack->leaf];
        uint8_t *out = block + pack->offset;
        uint32_t u = 0, other;
        int64_t stride;
        uint64_t address;
        switch ((spyi_pack_op)pack->op) {
        case SPYI_PACK_COUNT:
            u = (uint32_t)launch->count;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_ROW: memcpy(out, &row, 4); break;
        case SPYI_PACK_THREADS: memcpy(out, &values->threads->count[pack->dim], 4); break;
        case SPYI_PACK_GROUPS: memcpy(out, &launch->thread_groups[pack->dim], 4); break;
        case SPYI_PACK_SHAPE:
            u = launch->shape.rank ? (uint32_t)launch->shape.dims[pack->dim] : 1u;
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SIZE:
            u = (uint32_t)launch->dims[pack->dim];
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_MAGIC:
            spyi_divider((uint32_t)launch->dims[pack->dim], &u, &other);
            memcpy(out, &u, 4);
            break;
        case SPYI_PACK_SHIFT:
            spyi_divider((uint32_t)launch->dims[pack->dim], &other, &u);
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
            address = launch->sums_storage->chunk.address + launch->sums_storage->offset + at->sums_offset;
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_PRINT:
            address = spyi_print_address(plan->function->object.device);
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_ADDRESS:
            address = at->storage->chunk.address + at->storage->offset + at->begin;
            memcpy(out, &address, 8);
            break;
        case SPYI_PACK_BASE:
            memcpy(out, variant->key.bindings ? &at->base : &at->first, index64 ? 8 : 4);
            break;
        case SPYI_PACK_STRIDE:
        case SPYI_PACK_INNER:
            stride = pack->op == SPYI_PACK_STRIDE ? at->strides[pack->dim] : at->inner[pack->dim];
            memcpy(out, &stride, index64 ? 8 : 4); // little-endian: the low half is the 32-bit value
            break;
        case SPYI_PACK_SCALAR:
            if (!spyi_pack_scalar(leaf, values->items[leaf->value].arg, out))
                return spyi_does_not_fit(leaf, &values->items[leaf->value], error);
            break;
        case SPYI_PACK_BYTES:
            spyi_type_to_device(leaf->type, out, values->items[leaf->value].arg->value.data, 1);
            break;
        case SPYI_PACK_INLINE:
            if (!spyi_pack_inline(leaf, values->items[leaf->value].arg, out))
                return spyi_does_not_fit(leaf, &values->items[leaf->value], error);
            break;
        case SPYI_PACK_KIND:
            spyi_text_clear(&problem);
            if (!leaf->kind->run->pack(leaf, &values->items[leaf->value], out, &problem)) {
                spyi_text_add(error, "'%s': %s", leaf->path, spyi_text_str(&problem));
                spyi_text_free(&problem);
                return SPY_ERROR_OUT_OF_RANGE;
            }
            if (launch->pass && leaf->kind->run->stop_adding) leaf->kind->run->stop_adding(leaf, out);
            break;
        }
    }
    return SPY_OK;
}
