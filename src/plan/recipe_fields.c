// The fields of a recipe: the same functions write and read them. A new field of a plan, leaf or variant that
// later calls read needs its line here and a higher SPYI_RECIPE_VERSION.
#include "compiler/fields.h"
#include "kinds/known.h"
#include "plan/recipe_fields.h"

enum { SPYI_RECIPE_MOST_NODES = 65536, SPYI_RECIPE_MOST_PACKS = 65536, SPYI_RECIPE_MOST_TEXTS = 4096 };

// >>the head

SPYI_FN void spyi_recipe_start(spyi_stream *r, spyi_recipe_head *head) {
    spyi_stream_raw(r, head->magic, sizeof head->magic);
    spyi_stream_u32(r, &head->version);
    spyi_stream_u64(r, &head->size);
}

SPYI_FN void spyi_recipe_rest(spyi_stream *r, spyi_recipe_head *head) {
    spyi_stream_text(r, &head->library);
    spyi_stream_text(r, &head->device);
    spyi_stream_u64(r, &head->profile);
    spyi_stream_bool(r, &head->prints);
    spyi_stream_text(r, &head->function);
    spyi_stream_u64(r, &head->signature);
}

SPYI_FN void spyi_recipe_head_of(const spy_device *device, spyi_recipe_head *head) {
    const spyi_limits *limits = &device->base->limits;
    spyi_text library = { NULL, 0, 0 };
    memset(head, 0, sizeof *head);
    memcpy(head->magic, SPYI_RECIPE_MAGIC, sizeof head->magic);
    head->version = SPYI_RECIPE_VERSION;
    spyi_compiler_identity(device->compiler, &library);
    head->library = spyi_strdup(spyi_text_str(&library));
    head->device = spyi_strdup(limits->info.name);
    head->profile = spyi_hash(&limits->profile, sizeof limits->profile, 0);
    head->prints = device->printer != NULL;
    spyi_text_free(&library);
}

SPYI_FN void spyi_recipe_head_free(spyi_recipe_head *head) {
    free(head->library);
    free(head->device);
    free(head->function);
}

// >>leaves

static const spyi_value_kind *spyi_recipe_find_kind(const spyi_stream *r, const char *name, uint32_t traits,
                                                    uint8_t field_op) {
    // The values give the kinds of generators, and those that the program defines.
    for (uint32_t i = 0; i < spyi_values_all(((const spyi_values *)r->user)); i++) {
        const spyi_value_kind *kind = ((const spyi_values *)r->user)->items[i].custom;
        if (kind && spyi_kind_is(kind, name, traits, field_op)) return kind;
    }
    return spyi_kind_known(name, traits, field_op);
}

static void spyi_recipe_kind(spyi_stream *r, spyi_leaf *leaf) {
    const spyi_value_kind *kind = leaf->kind;
    char *name = r->out ? (char *)(uintptr_t)kind->name : NULL;
    uint8_t field_op = r->out ? kind->run->field_op : 0;
    spyi_stream_text(r, &name);
    spyi_stream_u32(r, &leaf->traits);
    spyi_stream_u8(r, &field_op);
    if (r->out) return;
    if (name) leaf->kind = spyi_recipe_find_kind(r, name, leaf->traits, field_op);
    if (!leaf->kind)
        spyi_stream_fail(r, SPY_ERROR_TYPE_MISMATCH, "the recipe has a leaf of kind '%s', which is not here",
                         name ? name : "");
    free(name);
}

// Writes or reads a leaf of a plan, or of a variant's shader parameters (these have no gradients).
// `leaf_count` is the number of leaves in that list.
static void spyi_recipe_leaf(spyi_stream *r, spyi_leaf *leaf, uint32_t leaf_count) {
    char *kind_type = (char *)(uintptr_t)leaf->kind_type;
    spyi_recipe_kind(r, leaf);
    spyi_stream_u32(r, &leaf->value);
    spyi_stream_text(r, &leaf->path);
    spyi_stream_type(r, &leaf->type);
    spyi_stream_type(r, &leaf->element);
    spyi_stream_type(r, &leaf->packed);
    spyi_stream_bool(r, &leaf->in);
    spyi_stream_bool(r, &leaf->out);
    spyi_stream_bool(r, &leaf->splat);
    spyi_stream_u32(r, &leaf->batch_rank);
    spyi_stream_raw(r, leaf->map, sizeof leaf->map);
    spyi_stream_u32(r, &leaf->consumed);
    spyi_stream_dims(r, leaf->consumed_dims);
    spyi_stream_u32(r, &leaf->field_size);
    spyi_stream_u32(r, &leaf->field_align);
    spyi_stream_bool(r, &leaf->reads);
    spyi_stream_bool(r, &leaf->writes);
    spyi_stream_bool(r, &leaf->untracked);
    spyi_stream_bool(r, &leaf->texels);
    spyi_stream_bool(r, &leaf->binds);
    spyi_stream_u8(r, &leaf->format);
    spyi_stream_text(r, &kind_type);
    // `site` is not written: only kernels that check indices have it, and spyi_recipe_write() refuses them.
    leaf->role = (spyi_role)spyi_stream_enum(r, (uint32_t)leaf->role, (uint32_t)SPYI_ROLE_INSIDE + 1);
    spyi_stream_u32(r, &leaf->value_leaf);
    spyi_stream_u32(r, &leaf->grads[0]);
    spyi_stream_u32(r, &leaf->grads[1]);
    spyi_stream_u8(r, &leaf->whole_grads);
    spyi_stream_bool(r, &leaf->paired);
    spyi_stream_bool(r, &leaf->exact);
    leaf->mode =
        (spy_call_mode)spyi_stream_enum(r, (uint32_t)leaf->mode, (uint32_t)SPY_CALL_MODE_FORWARD_DIFF + 1);
    spyi_stream_bool(r, &leaf->param_in);
    spyi_stream_bool(r, &leaf->param_out);
    spyi_stream_type(r, &leaf->differential);
    if (r->out) return;
    if (kind_type) leaf->kind_type = spyi_type_other(r->table, kind_type)->name;
    free(kind_type);
    bool good = leaf->path && leaf->type && leaf->element &&
                leaf->value < spyi_values_all(((const spyi_values *)r->user)) &&
                leaf->batch_rank <= SPY_MAX_RANK && leaf->consumed <= SPY_MAX_RANK &&
                leaf->value_leaf < leaf_count && leaf->grads[0] < leaf_count && leaf->grads[1] < leaf_count;
    for (uint32_t d = 0; good && d < leaf->batch_rank; d++) good = leaf->map[d] < SPY_MAX_RANK;
    (void)spyi_stream_expect(r, good, "a leaf says what cannot be");
}

// >>the plan part

static void spyi_recipe_node(spyi_stream *r, const spyi_bound *b, uint32_t number) {
    spyi_node *node = &b->nodes[number];
    uint32_t leaf = (uint32_t)(node->leaf + 1);
    spyi_stream_text(r, &node->name);
    spyi_stream_type(r, &node->type);
    leaf = spyi_stream_enum(r, leaf, b->leaf_count + 1);
    node->leaf = (int32_t)leaf - 1;
    spyi_stream_u32(r, &node->first);
    spyi_stream_u32(r, &node->count);
    spyi_stream_bool(r, &node->in);
    spyi_stream_bool(r, &node->out);
    bool good = !node->count || (node->first > number && node->first <= b->node_count &&
                                 node->count <= b->node_count - node->first);
    (void)spyi_stream_expect(r, good && node->type, "a node has no type, or fields that are not there");
}

static void spyi_recipe_options(spyi_stream *r, spyi_options *o) {
    void *conformances = o->conformances;
    spyi_stream_text(r, &o->prelude);
    spyi_stream_list(r, &o->conformance_count, SPYI_RECIPE_MOST_TEXTS, &conformances,
                     sizeof *o->conformances);
    o->conformances = (char **)conformances;
    for (uint32_t i = 0; i < o->conformance_count; i++) {
        spyi_stream_text(r, &o->conformances[i]);
        (void)spyi_stream_expect(r, o->conformances[i] != NULL, "a conformance has no text");
    }
    for (int i = 0; i < 3; i++) spyi_stream_u32(r, &o->threads[i]);
    spyi_stream_u32(r, &o->group.rank);
    spyi_stream_dims(r, o->group.dims);
    spyi_stream_u32(r, &o->count_rank);
    o->mode = (spy_call_mode)spyi_stream_enum(r, (uint32_t)o->mode, (uint32_t)SPY_CALL_MODE_FORWARD_DIFF + 1);
    spyi_stream_bool(r, &o->deterministic);
    spyi_stream_u32(r, &o->shared_bytes);
    (void)spyi_stream_expect(r, o->group.rank <= SPY_MAX_RANK && o->count_rank <= SPY_MAX_RANK,
                             "a rank is above SPY_MAX_RANK");
}

SPYI_FN void spyi_recipe_bound(spyi_stream *r, spyi_bound *b, uint32_t value_count) {
    void *leaves = b->leaves, *nodes = b->nodes, *sizes = b->sizes;
    uint32_t size_count = b->sizes ? value_count + 1 : 0; // one more than the number of values, or 0 if
                                                          // `sizes` is NULL
    spyi_signature_fields(r, &b->signature);
    spyi_stream_list(r, &b->leaf_count, SPYI_MOST_MEMORY_LEAVES, &leaves, sizeof *b->leaves);
    b->leaves = (spyi_leaf *)leaves;
    for (uint32_t i = 0; i < b->leaf_count; i++) spyi_recipe_leaf(r, &b->leaves[i], b->leaf_count);
    spyi_stream_list(r, &b->node_count, SPYI_RECIPE_MOST_NODES, &nodes, sizeof *b->nodes);
    b->nodes = (spyi_node *)nodes;
    for (uint32_t i = 0; i < b->node_count; i++) spyi_recipe_node(r, b, i);
    spyi_stream_u32(r, &b->param_count);
    spyi_stream_bool(r, &b->has_result);
    spyi_stream_u32(r, &b->rank);
    spyi_stream_bool(r, &b->strict);
    spyi_recipe_options(r, &b->options);
    spyi_stream_bool(r, &b->uses_library);
    spyi_stream_bool(r, &b->names_library);
    spyi_stream_bool(r, &b->whole_warps);
    spyi_stream_bool(r, &b->is_batch);
    spyi_stream_bool(r, &b->dispatch);
    spyi_stream_bool(r, &b->guarded);
    spyi_stream_bool(r, &b->shader);
    spyi_stream_bool(r, &b->call_info);
    b->mode = (spy_call_mode)spyi_stream_enum(r, (uint32_t)b->mode, (uint32_t)SPY_CALL_MODE_FORWARD_DIFF + 1);
    spyi_stream_bool(r, &b->grads_inside[0]);
    spyi_stream_bool(r, &b->grads_inside[1]);
    spyi_stream_bool(r, &b->names_diff);
    spyi_stream_bool(r, &b->notes_textures);
    b->combine = (uint8_t)spyi_stream_enum(r, b->combine, SPYI_COMBINE_TOTAL + 1);
    spyi_stream_list(r, &size_count, value_count + 1, &sizes, 1);
    if (size_count) spyi_stream_raw(r, sizes, size_count - 1);
    if (r->out) return;
    if (size_count) b->sizes = (uint8_t *)sizes;
    else free(sizes);
    (void)spyi_stream_expect(r,
                             b->rank <= SPY_MAX_RANK && b->param_count <= b->node_count &&
                                 b->has_result <= b->node_count - b->param_count &&
                                 (!size_count || size_count == value_count + 1),
                             "its call cannot be");
}

// >>variants

static void spyi_recipe_interface(spyi_stream *r, spyi_program *program) {
    spyi_interface *i = &program->iface;
    void *parameters = program->parameters;
    const uint32_t most = SPYI_MOST_PARAMETERS + SPYI_MOST_UNIFORMS + SPYI_MOST_ENTRY_PARAMS;
    uint32_t next = 0;
    bool good = true;
    spyi_stream_list(r, &i->parameter_count, most, &parameters, sizeof *program->parameters);
    i->parameters = program->parameters = (spyi_parameter *)parameters;
    for (uint32_t k = 0; k < i->parameter_count; k++) {
        spyi_parameter *p = &program->parameters[k];
        spyi_parameter_fields(r, p);
        if (p->kind == SPYI_PARAMETER_VALUES || p->kind == SPYI_PARAMETER_HANDLES) continue;
        good = good && p->number == next;
        next += p->count;
    }
    for (int k = 0; k < 3; k++) spyi_stream_u32(r, &i->group[k]);
    spyi_stream_u32(r, &i->block_size);
    spyi_stream_bool(r, &i->block_by_address);
    spyi_stream_u32(r, &i->shared_bytes);
    for (int k = 0; k < 3; k++) good = good && i->group[k] >= 1 && i->group[k] <= 1024;
    (void)spyi_stream_expect(r, good && i->block_size <= 1u << 30, "a kernel's parameters cannot be");
}

SPYI_FN void spyi_recipe_program(spyi_stream *r, spyi_program *program) {
    spyi_stream_text(r, &program->label);
    spyi_stream_text(r, &program->entry);
    spyi_stream_bytes(r, &program->code);
    spyi_recipe_interface(r, program);
    spyi_literals_fields(r, &program->literals);
    (void)spyi_stream_expect(r, program->label && program->entry && program->code.size,
                             "a kernel has no name or no code");
}

// Returns the number of bytes that a pack operation writes.
static uint64_t spyi_recipe_pack_size(const spyi_pack *pack, const spyi_leaf *leaf, bool index64) {
    switch ((spyi_pack_op)pack->op) {
    case SPYI_PACK_BASE:
    case SPYI_PACK_STRIDE:
    case SPYI_PACK_INNER: return index64 ? 8 : 4;
    case SPYI_PACK_PRINT:
    case SPYI_PACK_ADDRESS:
    case SPYI_PACK_SUMS: return 8;
    case SPYI_PACK_SCALAR:
    case SPYI_PACK_BYTES:
    case SPYI_PACK_INLINE:
    case SPYI_PACK_KIND: return leaf->field_size;
    case SPYI_PACK_SIZES:
    case SPYI_PACK_BINDING: return 0;
    default: return 4;
    }
}

// Writes or reads pack operations. `size` is the number of bytes that the pack program fills, `bindings` the
// number of bindings that it may set.
static void spyi_recipe_packs(spyi_stream *r, spyi_pack **packs, uint32_t *count, const spyi_leaf *leaves,
                              uint32_t leaf_count, uint64_t size, uint32_t bindings, bool index64) {
    void *items = *packs;
    spyi_stream_list(r, count, SPYI_RECIPE_MOST_PACKS, &items, sizeof **packs);
    *packs = (spyi_pack *)items;
    for (uint32_t i = 0; i < *count; i++) {
        spyi_pack *pack = &(*packs)[i];
        spyi_stream_u8(r, &pack->op);
        spyi_stream_u8(r, &pack->dim);
        spyi_stream_u16(r, &pack->leaf);
        spyi_stream_u32(r, &pack->offset);
        if (r->out) continue;
        bool leafless = pack->op < SPYI_PACK_BASE || pack->op == SPYI_PACK_ELEMENT ||
                        pack->op == SPYI_PACK_TEAM || pack->op == SPYI_PACK_PRINT;
        bool good = pack->op <= SPYI_PACK_BINDING && pack->dim < SPY_MAX_RANK &&
                    (leafless || pack->leaf < leaf_count);
        if (good && pack->op == SPYI_PACK_BINDING) good = pack->offset < bindings;
        else if (good)
            good =
                pack->offset + spyi_recipe_pack_size(pack, leafless ? NULL : &leaves[pack->leaf], index64) <=
                size;
        if (!spyi_stream_expect(r, good, "an operation packs what is not there")) return;
    }
}

static void spyi_recipe_leaf_numbers(spyi_stream *r, uint16_t *numbers, uint32_t *count,
                                     uint32_t leaf_count) {
    *count = spyi_stream_enum(r, *count, SPYI_MOST_MEMORY_LEAVES + 1);
    for (uint32_t i = 0; i < *count; i++) {
        spyi_stream_u16(r, &numbers[i]);
        (void)spyi_stream_expect(r, numbers[i] < leaf_count, "it has no such leaf");
    }
}

static void spyi_recipe_emitted(spyi_stream *r, const spyi_bound *b, const spyi_variant_key *key,
                                spyi_emitted *e) {
    spyi_stream_u32(r, &e->block_size);
    spyi_stream_bool(r, &e->block_by_address);
    spyi_recipe_leaf_numbers(r, e->bindings, &e->binding_count, b->leaf_count);
    spyi_recipe_leaf_numbers(r, e->holders, &e->holder_count, b->leaf_count);
    spyi_stream_u32(r, &e->group_size);
    spyi_stream_bool(r, &e->prints);
    spyi_recipe_packs(r, &e->packs, &e->pack_count, b->leaves, b->leaf_count, e->block_size, 0, key->index64);
}

// Writes the sizes of the uniform buffers, not their bytes, which each call packs anew.
static void spyi_recipe_bound_inputs(spyi_stream *r, spyi_bound_inputs *bound_inputs) {
    void *leaves = bound_inputs->leaves;
    uint64_t size = 0;
    bound_inputs->uniform_count = spyi_stream_enum(r, bound_inputs->uniform_count, SPYI_MOST_UNIFORMS + 1);
    for (uint32_t i = 0; i < bound_inputs->uniform_count; i++) {
        spyi_stream_u32(r, &bound_inputs->uniforms[i].size);
        size += spyi_align(bound_inputs->uniforms[i].size, 16);
    }
    if (!spyi_stream_expect(r, size <= 1u << 30, "its uniform buffers are too large")) return;
    if (!r->out) { // makes the same layout as spyi_bind_inputs()
        uint64_t at = 0;
        bound_inputs->data = (uint8_t *)spyi_calloc((size_t)size + 64, 1);
        if (!bound_inputs->data) spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
        for (uint32_t i = 0; bound_inputs->data && i < bound_inputs->uniform_count; i++) {
            bound_inputs->uniforms[i].data = bound_inputs->data + at;
            at += spyi_align(bound_inputs->uniforms[i].size, 16);
        }
    }
    bound_inputs->binding_count =
        spyi_stream_enum(r, bound_inputs->binding_count, SPYI_MOST_MEMORY_LEAVES + 1);
    spyi_stream_list(r, &bound_inputs->count, UINT16_MAX, &leaves, sizeof *bound_inputs->leaves);
    bound_inputs->leaves = (spyi_leaf *)leaves;
    for (uint32_t i = 0; i < bound_inputs->count; i++)
        spyi_recipe_leaf(r, &bound_inputs->leaves[i], bound_inputs->count);
    spyi_recipe_packs(r, &bound_inputs->packs, &bound_inputs->pack_count, bound_inputs->leaves,
                      bound_inputs->count, size, bound_inputs->binding_count, false);
}

SPYI_FN void spyi_recipe_variant(spyi_stream *r, const spyi_bound *b, spyi_variant *v,
                                 spyi_program *program) {
    uint32_t steps = 1;
    spyi_stream_raw(r, &v->key, sizeof v->key); // a struct of bytes only
    spyi_stream_u32(r, &steps);
    (void)spyi_stream_expect(r,
                             steps == 1 && v->key.walk_count == b->leaf_count && v->key.rank <= SPY_MAX_RANK,
                             "a variant is of another call");
    spyi_recipe_program(r, program);
    spyi_recipe_emitted(r, b, &v->key, &v->emitted);
    spyi_recipe_bound_inputs(r, &v->bound_inputs);
    if (r->out || r->status != SPY_OK) return;
    const spyi_interface *i = &program->iface;
    const spyi_kernel_base has = spyi_interface_counts(i);
    (void)spyi_stream_expect(r,
                             has.block_size == v->emitted.block_size &&
                                 i->block_by_address == v->emitted.block_by_address &&
                                 has.binding_count == v->bound_inputs.binding_count &&
                                 has.uniform_count == v->bound_inputs.uniform_count &&
                                 v->emitted.binding_count <= v->bound_inputs.binding_count,
                             "a kernel takes other parameters than it is given");
}
