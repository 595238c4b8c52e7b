// Puts a kernel's text together from the parts that the other files of src/emit write: imports, parameter
// block, element function, entry point with the prologue's statements. User code is imported, never pasted.
// docs/measurements.md has the forms of kernels that were tried, and how fast they are.
#include "emit/internal.h"
#include "kinds/kinds.h"

// Writes the shape of a call group, which get_call_group_id() and similar functions read.
static void spyi_emit_group_shape(const spyi_emit_state *s, spyi_text *out) {
    uint32_t group[SPY_MAX_RANK];
    if (!s->bound->call_info || !spyi_given_group(s->bound, group)) return;
    spyi_text_add(out, "static const int spyi_call_group_shape[%u] = { ", s->bound->rank);
    for (uint32_t d = 0; d < s->bound->rank; d++) spyi_text_add(out, d ? ", %u" : "%u", group[d]);
    spyi_text_add(out, " };\n\n");
}

// Writes the constants of slangpy_sizes.slang, for modules that name one.
static void spyi_emit_sizes(const spyi_emit_state *s, const spyi_unit *unit, spyi_text *out) {
    uint32_t rank = s->bound->rank, group[SPY_MAX_RANK], stride = 1, strides[SPY_MAX_RANK];
    if (!spyi_unit_imports(unit, "slangpy_sizes")) return;
    if (!spyi_given_group(s->bound, group))
        for (uint32_t d = 0; d < rank; d++) group[d] = 1;
    for (uint32_t d = rank; d-- > 0;) {
        strides[d] = stride;
        stride *= group[d];
    }
    spyi_text_add(out, "export public static const int call_data_len = %u;\n", rank);
    spyi_text_add(out, "export public static const int call_group_size = %u;\n", stride);
    for (int which = 0; which < 2 && rank; which++) {
        spyi_text_add(out, "export public static const int[%u] %s = {", rank,
                      which ? "call_group_shape_vector" : "call_group_strides");
        for (uint32_t d = 0; d < rank; d++)
            spyi_text_add(out, d ? ", %u" : " %u", which ? group[d] : strides[d]);
        spyi_text_add(out, " };\n");
    }
    spyi_text_add(out, "\n");
}

// Returns whether the kernel makes textures or samplers of slangpy_texture: resources that have fields. Sets `samplers` to
// the number of those samplers.
static bool spyi_names_textures(const spyi_bound *b, uint32_t *samplers) {
    bool names = false;
    *samplers = 0;
    for (uint32_t i = 0; i < b->leaf_count; i++) {
        if (!spyi_leaf_is_resource(&b->leaves[i]) || strncmp(b->leaves[i].type->name, "Diff", 4) != 0)
            continue;
        names = true;
        *samplers += spyi_sampler_has_numbers(&b->leaves[i]);
    }
    return names;
}

// Writes the statements by which derivatives of Slang's own textures find their gradients.
static void spyi_note_textures(const spyi_emit_state *s, spyi_text *out) {
    uint32_t slot = 0;
    for (uint32_t i = 0; i < s->bound->leaf_count; i++) {
        spyi_text field = { NULL, 0, 0 };
        spyi_text_add(&field, "spyi_block.%s", s->names[i]);
        if (spyi_plain_note(&s->bound->leaves[i], slot, spyi_text_str(&field), out) &&
            s->bound->leaves[i].element)
            slot++;
        spyi_text_free(&field);
    }
}

// Writes the whole kernel in the order of its text.
static void spyi_emit_text(spyi_emit_state *s, const spy_function *function, const spyi_graph *graph) {
    const spyi_variant_key *key = s->key;
    spyi_emitted *out = s->out;
    spyi_text kernel = { NULL, 0, 0 };
    spyi_declare_block(s);
    s->prologue->body(s);
    out->block_by_address = out->block_size > s->profile->max_block_bytes;
    spyi_text_add(&kernel, "%s", spyi_text_str(&s->holders));
    if (out->block_size) spyi_text_add(&kernel, "struct SpyiBlock\n{\n%s};\n", spyi_text_str(&s->fields));
    if (out->block_size && !out->block_by_address && s->rules->block_is_global)
        spyi_text_add(&kernel, "[[vk::push_constant]] ConstantBuffer<SpyiBlock> spyi_block;\n");
    s->prologue->head(s, &kernel);
    if (out->block_size && (out->block_by_address || !s->rules->block_is_global))
        spyi_text_add(&kernel, ",\n                uniform SpyiBlock%s spyi_block",
                      out->block_by_address ? "*" : "");
    spyi_text_add(&kernel, "%s)\n{\n%s", spyi_text_str(&s->buffers),
                  out->prints ? "    spyi_print_to(spyi_block._print);\n" : "");
    if (s->bound->notes_textures) spyi_note_textures(s, &kernel);
    spyi_text_add(&kernel, "%s}\n", spyi_text_str(&s->body));
    uint32_t elements = (uint32_t)key->width * key->unroll;
    spyi_text_add(
        &out->text,
        "// %s\n// %s, %u dimension%s, %u element%s a thread, %u threads a group, %s%s%s\nimport %s;\n\n",
        s->bound->signature.display, s->prologue->name(s), key->rank, key->rank == 1 ? "" : "s", elements,
        elements == 1 ? "" : "s", out->group_size, key->bindings ? "structured buffers" : "pointers",
        key->index64 ? ", 64-bit offsets" : "",
        function->object.device->bounds ? ", indices of whole tensors checked" : "",
        spyi_unit_name(function->module->unit));
    if (s->bound->uses_library) spyi_text_add(&out->text, "import slangpy_kernel;\n\n");
    if (s->bound->names_library) spyi_text_add(&out->text, "import slangpy;\n\n");
    if (s->bound->names_diff) spyi_text_add(&out->text, "import slangpy_diff;\n\n");
    uint32_t samplers;
    bool textures = spyi_names_textures(s->bound, &samplers) || s->bound->notes_textures;
    if (textures) spyi_text_add(&out->text, "import slangpy_texture;\n\n");
    if (s->bound->notes_textures) spyi_text_add(&out->text, "import slangpy_texture_plain;\n\n");
    // This constant, which slangpy_add.slang reads, says that the device has atomic additions of floats.
    if ((s->bound->names_library || textures) && (s->profile->features & SPY_FEATURE_ATOMIC_FLOAT32_ADD))
        spyi_text_add(&out->text, "export public static const int slangpy_atomic_floats = 1;\n\n");
    if (samplers > 1 && s->rules->by_address)
        spyi_text_add(&out->text, "export public static const int slangpy_texture_samplers = %u;\n\n",
                      samplers);
    if (out->prints) spyi_text_add(&out->text, "import slangpy_print;\n\n");
    spyi_emit_group_shape(s, &out->text);
    spyi_emit_sizes(s, function->module->unit, &out->text);
    if (s->bound->options.prelude) spyi_text_add(&out->text, "%s\n", s->bound->options.prelude);
    if (key->batch == SPYI_BATCH_ENGINE) spyi_text_add(&out->text, "import mlp_batch_engine;\n\n");
    if (key->batch == SPYI_BATCH_ROOMS)
        spyi_text_add(&out->text, "import mlp;\n\nexport public static const int spyi_mlp_rooms = 1;\n\n");
    if (key->team) spyi_text_add(&out->text, "import slangpy_sum;\n\n");
    if (key->team && spyi_combine_name(s->bound)) spyi_text_add(&out->text, "import slangpy_extreme;\n\n");
    if (!key->finishes && key->batch != SPYI_BATCH_ENGINE) spyi_emit_element(s, graph, &out->text);
    spyi_text_add_n(&out->text, kernel.data, kernel.size);
    spyi_text_free(&kernel);
}

// Returns whether the kernel may call print(): the module or the call's own Slang text names it.
static bool spyi_call_prints(const spy_function *function, const spyi_bound *bound) {
    const char *prelude = bound->options.prelude;
    if (!function->object.device->printer) return false;
    return spyi_unit_imports(function->module->unit, "slangpy_print") ||
           (prelude && strstr(prelude, "print"));
}

SPYI_FN spy_status spyi_emit_graph(const spy_function *function, const spyi_profile *profile,
                                   const spyi_bound *bound, const spyi_graph *graph,
                                   const spyi_variant_key *key, spyi_emitted *out, spyi_text *error) {
    spy_device *device = function->object.device;
    spyi_emit_state s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    s.bound = bound;
    s.key = key;
    s.types = device->types;
    s.profile = profile;
    s.limits = &device->base->limits;
    s.rules = spyi_rules_of(profile->target);
    s.out = out;
    s.prologue = key->batch == SPYI_BATCH_ENGINE ? spyi_batch_prologue()
                 : key->team                     ? spyi_sums_prologue()
                 : key->tile                     ? spyi_tiles_prologue()
                                                 : spyi_compute_prologue();
    s.wrapper = bound->mode ? spyi_derivative() : spyi_forward();
    s.max_groups = spyi_most_rows(profile);
    s.names = (char **)spyi_calloc(bound->leaf_count + 1, sizeof *s.names);
    s.lvalues = (char **)spyi_calloc(bound->leaf_count + 1, sizeof *s.lvalues);
    s.fresh = (bool *)spyi_calloc(bound->leaf_count + 1, sizeof *s.fresh);
    s.failed = !s.names || !s.lvalues || !s.fresh;
    out->group_size = spyi_group_size(bound, profile, key->team ? 1 : key->rank);
    if (key->batch == SPYI_BATCH_ENGINE) spyi_batch_size(&s);
    if (key->batch == SPYI_BATCH_ROOMS) spyi_rooms_size(&s);
    out->prints = spyi_call_prints(function, bound);
    if (!s.failed) spyi_make_names(&s);
    if (!s.failed) spyi_emit_text(&s, function, graph);
    for (uint32_t i = 0; i < bound->leaf_count; i++) {
        if (s.names) free(s.names[i]);
        if (s.lvalues) free(s.lvalues[i]);
    }
    free(s.names);
    free(s.lvalues);
    free(s.fresh);
    spyi_text_free(&s.fields);
    spyi_text_free(&s.buffers);
    spyi_text_free(&s.holders);
    spyi_text_free(&s.body);
    if (!s.failed) return SPY_OK;
    spyi_emitted_free(out);
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

SPYI_FN spy_status spyi_emit(const spy_function *function, const spyi_profile *profile,
                             const spyi_bound *bound, const spyi_variant_key *key, spyi_emitted *out,
                             spyi_text *error) {
    spyi_single_call single;
    spy_status status = SPY_ERROR_OUT_OF_MEMORY;
    memset(out, 0, sizeof *out);
    if (spyi_single_call_make(bound, &single))
        status = spyi_emit_graph(function, profile, bound, &single.graph, key, out, error);
    else spyi_text_add(error, "out of host memory");
    spyi_single_call_free(&single);
    return status;
}

SPYI_FN void spyi_emitted_free(spyi_emitted *emitted) {
    spyi_text_free(&emitted->text);
    free(emitted->packs);
    memset(emitted, 0, sizeof *emitted);
}
