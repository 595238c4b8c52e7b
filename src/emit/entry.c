// Makes the pack program for a compute shader of the user's, which is dispatched as it is: no text is
// written, and its parameters are packed where Slang has placed them.
#include "emit/internal.h"

static bool spyi_entry_pack(spyi_emitted *out, spyi_pack_op op, uint32_t leaf, uint32_t offset) {
    spyi_pack *packs = (spyi_pack *)spyi_realloc(out->packs, (out->pack_count + 1) * sizeof *packs);
    if (!packs) return false;
    out->packs = packs;
    spyi_pack *pack = &packs[out->pack_count++];
    memset(pack, 0, sizeof *pack);
    pack->op = (uint8_t)op;
    pack->leaf = (uint16_t)leaf;
    pack->offset = offset;
    return true;
}

// Returns the byte offset of a part: a struct's field, by its name, for there may be fewer parts than fields;
// or the vector's component or the array's element number `i`.
static size_t spyi_part_offset(const spyi_type *type, const char *name, uint32_t i) {
    if (!type->field_count) return i * spyi_type_device_stride(type->element);
    for (i = 0; i + 1 < type->field_count && strcmp(type->fields[i].name, name) != 0; i++) {}
    return type->fields[i].device_offset;
}

static spy_status spyi_entry_node(const spyi_bound *b, uint32_t node, uint32_t offset, spyi_emitted *out,
                                  spyi_text *error) {
    const spyi_node *n = &b->nodes[node];
    for (uint32_t i = 0; n->leaf < 0 && i < n->count; i++) { // parts are in the type's order
        const char *name = b->nodes[n->first + i].name;
        spy_status status = spyi_entry_node(
            b, n->first + i, offset + (uint32_t)spyi_part_offset(n->type, name, i), out, error);
        if (status != SPY_OK) return status;
    }
    if (n->leaf < 0) return SPY_OK;
    const spyi_leaf *leaf = &b->leaves[n->leaf];
    if (!spyi_leaf_in_memory(leaf) && !leaf->field_size) return SPY_OK;
    if (spyi_leaf_in_memory(leaf) || leaf->splat) {
        spyi_text_add(error, "'%s': a shader takes %s as it is; give all its numbers from host memory",
                      leaf->path, leaf->type->display);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    // The places may come from a file, so they are checked. Blocks have 64 bytes of room behind them.
    if (offset >= out->block_size || (uint64_t)offset + leaf->field_size > (uint64_t)out->block_size + 64) {
        spyi_text_add(error, "'%s': its place lies outside of the shader's parameters", leaf->path);
        return SPY_ERROR_INTERNAL;
    }
    if (spyi_entry_pack(out, spyi_pack_op_of(leaf), (uint32_t)n->leaf, offset)) return SPY_OK;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN spy_status spyi_emit_entry(const spyi_profile *profile, const spyi_bound *bound,
                                   const spyi_entry *entry, spyi_emitted *out, spyi_text *error) {
    spy_status status = SPY_OK;
    out->block_size = entry->block_size;
    bool arrays = spyi_rules_of(profile->target)->entry_arrays;
    for (uint32_t i = 0; !arrays && i < bound->leaf_count; i++) {
        const spyi_leaf *leaf = &bound->leaves[i];
        if (!spyi_type_is_bound_array(leaf->type) || spyi_type_is_unsized(leaf->type)) continue;
        spyi_text_add(
            error,
            "'%s': on CUDA a shader takes no array of buffers as its own parameter; make it a global, or a "
            "member of a ConstantBuffer",
            leaf->path);
        return SPY_ERROR_UNSUPPORTED;
    }
    for (uint32_t p = 0; p < bound->param_count && status == SPY_OK; p++)
        status = spyi_entry_node(bound, p, entry->offsets[p], out, error);
    uint32_t most = profile->max_block_bytes;
    if (status == SPY_OK && out->block_size > most) {
        spyi_text_add(error,
                      "its uniform parameters have %u bytes, the device takes %u; move them into a tensor",
                      out->block_size, most);
        status = SPY_ERROR_UNSUPPORTED;
    }
    return status;
}
