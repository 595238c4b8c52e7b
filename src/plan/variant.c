// Kernel variants of a plan: writes the text, compiles it and makes the pipeline. This is slow, and only done
// when the cache lacks the variant.
#include "data/gpu_print.h"
#include "plan/cache.h"
#include "plan/packs.h"

SPYI_FN spyi_variant *spyi_variant_find(const spyi_plan *plan, const spyi_variant_key *key) {
    size_t size = offsetof(spyi_variant_key, walk) + key->walk_count;
    for (uint32_t i = 0; i < plan->variant_count; i++)
        if (memcmp(&plan->variants[i]->key, key, size) == 0) return plan->variants[i];
    return NULL;
}

// >>names and text

// Gives the kernel's name: the function's name without characters that file names cannot have, and a hash of
// the text.
static void spyi_kernel_name(const spyi_plan *plan, const spyi_text *source, spyi_text *out) {
    for (const char *c = plan->function->name; *c && out->size < 48; c++) {
        bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9');
        spyi_text_add(out, "%c", word ? *c : '_');
    }
    spyi_text_add(out, "_%08x", (unsigned)(spyi_hash(source->data, source->size, 1) & 0xffffffffu));
}

static void spyi_dump(spy_device *device, const char *name, const spyi_text *source, const spyi_code *code) {
    spyi_mutex_lock(&device->dump_lock); // another thread may change it now
    char *directory = spyi_strdup(device->dump_directory);
    spyi_mutex_unlock(&device->dump_lock);
    if (!directory) return;
    spyi_text path = { NULL, 0, 0 };
    spyi_text_add(&path, "%s/%s.slang", directory, name);
    bool good = spyi_file_write(spyi_text_str(&path), source->data, source->size);
    if (good && code->data) {
        spyi_text_clear(&path);
        const spyi_rules *rules = spyi_rules_of(device->base->limits.profile.target);
        // The file gets neither the compiler's prelude nor the NUL.
        size_t text = rules->is_text ? code->prelude_size : 0;
        spyi_text_add(&path, "%s/%s.%s", directory, name, rules->suffix);
        good = spyi_file_write(spyi_text_str(&path), (const char *)code->data + text,
                               code->size - text - rules->is_text);
    }
    if (!good)
        spyi_logf(&device->ctx, SPY_LOG_LEVEL_WARNING, "cannot write the kernel to '%s'",
                  spyi_text_str(&path));
    spyi_text_free(&path);
    free(directory);
}

// Gives the text that is linked to a user's own shader: the prelude, with its constants.
static spy_status spyi_shader_text(const spyi_plan *plan, spyi_emitted *out, spyi_text *error) {
    const spyi_options *o = &plan->bound.options;
    memset(out, 0, sizeof *out);
    static const char *const stages[] = { "a shader of its own", NULL, "the vertex shader of draws", NULL,
                                          "the fragment shader of draws" };
    spyi_text_add(&out->text, "// %s\n// %s, %u x %u x %u threads a group\nimport %s;\n\n%s",
                  plan->bound.signature.display, stages[plan->bound.stage], o->threads[0], o->threads[1],
                  o->threads[2], spyi_unit_name(plan->function->module->unit), o->prelude ? o->prelude : "");
    out->group_size = o->threads[0] * o->threads[1] * o->threads[2];
    if (out->text.data) return SPY_OK;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

typedef struct spyi_parameters {
    spyi_parameter items[SPYI_MOST_PARAMETERS + SPYI_MOST_UNIFORMS + SPYI_MOST_ENTRY_PARAMS];
    uint32_t count;
} spyi_parameters;

static void spyi_add_parameter(spyi_parameters *p, spyi_parameter_kind kind, uint32_t number, uint32_t holder,
                               uint32_t offset) {
    spyi_parameter *added = &p->items[p->count++];
    memset(added, 0, sizeof *added);
    added->kind = (uint8_t)kind;
    added->stages = SPYI_STAGE_COMPUTE;
    added->count = 1;
    added->number = number;
    added->place.holder = holder;
    added->place.offset = offset;
}

// Gives the kernel's group, its block and its parameters: buffers by the compiler's numbers, uniform buffers,
// and the values in the block. The block of a generated kernel is one parameter.
static void spyi_kernel_interface(const spyi_plan *plan, const spyi_entry *entry, const spyi_emitted *e,
                                  const spyi_inputs *inputs, spyi_parameters *p, spyi_interface *out) {
    const uint32_t *threads = plan->bound.options.threads;
    p->count = inputs->parameter_count;
    memcpy(p->items, inputs->parameters, p->count * sizeof *p->items);
    for (uint32_t i = 0; i < inputs->uniform_count; i++)
        spyi_add_parameter(p, SPYI_PARAMETER_UNIFORM, inputs->binding_count + i,
                           inputs->uniform_place[i].holder, inputs->uniform_place[i].offset);
    for (uint32_t i = 0; plan->bound.shader && i < entry->place_count; i++)
        spyi_add_parameter(p, SPYI_PARAMETER_VALUES, 0, SPYI_HOLDER_BLOCK, entry->places[i]);
    if (!plan->bound.shader && e->block_size)
        spyi_add_parameter(p, SPYI_PARAMETER_VALUES, 0, SPYI_HOLDER_BLOCK, 0);
    memset(out, 0, sizeof *out);
    out->parameters = p->items;
    out->parameter_count = p->count;
    for (int i = 0; i < 3; i++) out->group[i] = threads[0] ? threads[i] : i == 0 ? e->group_size : 1;
    out->block_size = e->block_size;
    out->block_by_address = e->block_by_address;
    out->shared_bytes = plan->bound.options.shared_bytes + e->shared_bytes;
}

// Makes a variant without a kernel: its text, and its pack program unless it is a shader.
static spy_status spyi_variant_begin(const spyi_plan *plan, const spyi_variant_key *key, spyi_variant **out,
                                     spyi_text *error) {
    spyi_variant *variant = (spyi_variant *)spyi_calloc(1, sizeof *variant);
    *out = variant;
    if (!variant) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    variant->key = *key;
    const spyi_profile *profile = &plan->function->object.device->base->limits.profile;
    if (!plan->bound.shader)
        return spyi_emit(plan->function, profile, &plan->bound, key, &variant->emitted, error);
    return spyi_shader_text(plan, &variant->emitted, error);
}

// Makes the pack program of a shader's block and binds the kernel's inputs, once these are known.
static spy_status spyi_variant_feed(const spyi_plan *plan, const spyi_entry *entry, spyi_variant *variant,
                                    const spyi_inputs *inputs, const spyi_values *values, spyi_text *error) {
    spy_status status = SPY_OK;
    if (plan->bound.shader)
        status = spyi_emit_entry(&plan->function->object.device->base->limits.profile, &plan->bound, entry,
                                 &variant->emitted, error);
    if (status == SPY_OK)
        status = spyi_bind_inputs(plan, &variant->emitted, inputs, values, &variant->bound_inputs, error);
    if (status != SPY_OK || spyi_variant_find_accesses(&plan->bound, variant)) return status;
    spyi_text_add(error, "out of host memory");
    return SPY_ERROR_OUT_OF_MEMORY;
}

// >>kernels that several plans run

// Makes the variant's kernel shareable by plans that differ only in the lengths of unsized arrays. Takes over
// the inputs; copies the text.
static spy_status spyi_variant_share_kernel(spyi_variant *variant, spyi_inputs *inputs,
                                            const spyi_entry *entry, spyi_text *error) {
    spyi_shared_kernel *shared_kernel = (spyi_shared_kernel *)spyi_calloc(1, sizeof *shared_kernel);
    if (shared_kernel) shared_kernel->text = spyi_strdup(spyi_text_str(&variant->emitted.text));
    if (!shared_kernel || !shared_kernel->text) {
        free(shared_kernel);
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    shared_kernel->references = 1;
    shared_kernel->kernel = variant->kernel;
    shared_kernel->program = variant->program;
    variant->program = NULL;
    shared_kernel->inputs = *inputs;
    shared_kernel->entry = *entry;
    memset(inputs, 0, sizeof *inputs);
    variant->shared_kernel = shared_kernel;
    return SPY_OK;
}

static bool spyi_same_conformances(const spyi_options *a, const spyi_options *b) {
    bool same = a->conformance_count == b->conformance_count;
    for (uint32_t i = 0; same && i < a->conformance_count; i++)
        same = strcmp(a->conformances[i], b->conformances[i]) == 0;
    return same;
}

// Returns the shared kernel of another plan of the same function with the same text; with `text` NULL, any
// shared kernel.
static spyi_shared_kernel *spyi_find_shared_kernel(const spyi_plan *plan, const char *text) {
    const spyi_plan *other = plan->function->object.device->cache->newest;
    for (; other; other = other->older) {
        bool same = other->function == plan->function && other->bound.shader == plan->bound.shader &&
                    spyi_same_conformances(&other->bound.options, &plan->bound.options);
        for (uint32_t i = 0; same && i < other->variant_count; i++)
            if (other->variants[i]->shared_kernel &&
                (!text || strcmp(other->variants[i]->shared_kernel->text, text) == 0))
                return other->variants[i]->shared_kernel;
    }
    return NULL;
}

// Makes a variant with another plan's kernel, if that plan differs only in the lengths of unsized arrays;
// otherwise *out is NULL.
static spy_status spyi_variant_share(spyi_plan *plan, const spyi_variant_key *key, const spyi_values *values,
                                     spyi_variant **out, spyi_text *error) {
    spyi_variant *variant;
    *out = NULL;
    if (!spyi_find_shared_kernel(plan, NULL)) return SPY_OK;
    spy_status status = spyi_variant_begin(plan, key, &variant, error);
    spyi_shared_kernel *shared_kernel =
        status == SPY_OK ? spyi_find_shared_kernel(plan, spyi_text_str(&variant->emitted.text)) : NULL;
    if (shared_kernel)
        status =
            spyi_variant_feed(plan, &shared_kernel->entry, variant, &shared_kernel->inputs, values, error);
    if (variant) spyi_text_free(&variant->emitted.text);
    if (status != SPY_OK || !shared_kernel) {
        if (variant) spyi_variant_free(plan->function->object.device, variant);
        return status;
    }
    shared_kernel->references++;
    variant->shared_kernel = shared_kernel;
    variant->kernel = shared_kernel->kernel;
    *out = variant;
    return SPY_OK;
}

// >>programs that are kept

SPYI_FN spyi_program *spyi_program_make(const spyi_kernel_desc *desc, spyi_text *blob,
                                        const spyi_literals *literals) {
    spyi_program *p = (spyi_program *)spyi_calloc(1, sizeof *p);
    const spyi_interface *iface = &desc->iface;
    if (!p) {
        spyi_text_free(blob);
        return NULL;
    }
    p->label = spyi_strdup(desc->label);
    p->entry = spyi_strdup(desc->entry);
    p->code = *blob;
    memset(blob, 0, sizeof *blob);
    p->parameters = (spyi_parameter *)spyi_calloc(iface->parameter_count + 1, sizeof *iface->parameters);
    bool good = p->label && p->entry && p->parameters;
    for (uint32_t i = 0; good && i < literals->count; i++)
        good = spyi_literals_add(&p->literals, literals->items[i].hash, literals->items[i].text,
                                 strlen(literals->items[i].text));
    if (!good) {
        spyi_program_free(p);
        return NULL;
    }
    p->iface = *iface;
    if (iface->parameter_count)
        memcpy(p->parameters, iface->parameters, iface->parameter_count * sizeof *iface->parameters);
    p->iface.parameters = p->parameters;
    return p;
}

SPYI_FN void spyi_program_free(spyi_program *program) {
    if (!program) return;
    free(program->label);
    free(program->entry);
    free(program->parameters);
    spyi_text_free(&program->code);
    spyi_literals_free(&program->literals);
    free(program);
}

// >>making

// Names the formats of stored textures that are fields, globals or a shader's own parameters, where kernels
// must. A generated kernel's own parameters have their formats in the text.
static spy_status spyi_variant_formats(spy_device *device, const spyi_variant *variant, const spyi_text *name,
                                       spyi_code *code, spyi_text *error) {
    const spyi_bound_inputs *inputs = &variant->bound_inputs;
    uint8_t formats[SPYI_MOST_MEMORY_LEAVES];
    bool any = false;
    if (!device->base->limits.profile.names_formats) return SPY_OK;
    memset(formats, 0, sizeof formats);
    for (uint32_t i = 0; i < inputs->pack_count; i++) {
        const spyi_pack *pack = &inputs->packs[i];
        if (pack->op != SPYI_PACK_BINDING) continue;
        formats[pack->offset] = inputs->leaves[pack->leaf].format;
        any = any || formats[pack->offset];
    }
    if (!any) return SPY_OK;
    spy_status status = spyi_code_name_formats(code, formats, SPYI_MOST_MEMORY_LEAVES, error);
    if (status == SPY_OK) spyi_dump(device, spyi_text_str(name), &variant->emitted.text, code);
    return status;
}

// Checks that the device has the features that SPIR-V of a pack, which was made for any device, declares to
// need.
static spy_status spyi_variant_features(const spy_device *device, const spyi_code *code, spyi_text *error) {
    uint32_t missing = spyi_code_features(code) & ~device->base->limits.info.features;
    static const char *const names[] = { "float16", "float64",   "int8",
                                         "int16",   "int64",     "atomic additions of float32",
                                         NULL,      "subgroups", "pointers" };
    if (spyi_rules_of(device->base->limits.profile.target)->is_text) return SPY_OK;
    for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if ((missing >> i & 1) && names[i]) {
            spyi_text_add(error, "its kernel needs %s, which this device, '%s', does not have", names[i],
                          device->base->limits.info.name);
            return SPY_ERROR_UNSUPPORTED;
        }
    return SPY_OK;
}

SPYI_FN spy_status spyi_variant_create(spyi_plan *plan, const spyi_variant_key *key,
                                       const spyi_values *values, spyi_variant **out, spyi_text *error) {
    spy_function *function = plan->function;
    spy_device *device = function->object.device;
    spyi_variant *variant;
    spyi_code code;
    uint32_t failed = spyi_failed_allocations();
    spyi_entry own = function->entry; // a copy, which gets the parameters' places of this compilation
    own.stage = plan->bound.stage;
    memset(&code, 0, sizeof code);
    spyi_text name = { NULL, 0, 0 }, step = { NULL, 0, 0 }, plain = { NULL, 0, 0 };
    const char *entry = plan->bound.shader ? function->name : SPYI_KERNEL_ENTRY;
    // A generic shader's arguments are not in the name that its code has: "fill" of "fill<float>".
    spyi_text_add_n(&plain, entry, strcspn(entry, "<"));
    spy_status status = spyi_variant_begin(plan, key, &variant, error);
    if (status == SPY_OK) {
        const spyi_text *source = &variant->emitted.text;
        spyi_kernel_name(plan, source, &name);
        // An incomplete text must not reach the compiler.
        status = spyi_check_allocations(failed, status, error);
    }
    if (status == SPY_OK) {
        const spyi_text *source = &variant->emitted.text;
        spyi_conformances conformances;
        // A process that has opened libslang finds not all in its cache, and so will need the driver's compiler.
        if (spyi_compiler_loads(device->compiler)) spyi_builds_open_compiler(device);
        conformances.items = plan->bound.options.conformances;
        conformances.count = plan->bound.options.conformance_count;
        if (plan->bound.shader)
            status = spyi_unit_compile_own(function->module->unit, spyi_text_str(&name),
                                           spyi_text_str(source), entry, &own, conformances, &code, error);
        else
            status = spyi_unit_compile(function->module->unit, spyi_text_str(&name), spyi_text_str(source),
                                       entry, conformances, &code, error);
        spyi_dump(device, spyi_text_str(&name), source, &code);
        if (status == SPY_OK) spyi_print_learn(device, &code.literals);
        if (SPYI_HAS_COMPILER && status == SPY_ERROR_COMPILE && !spyi_diagnose(function, error, &status))
            spyi_text_add(error, "\nin the generated kernel:\n%s", spyi_text_str(source));
    }
    if (status == SPY_OK) status = spyi_variant_feed(plan, &own, variant, &code.inputs, values, error);
    if (status == SPY_OK) status = spyi_variant_formats(device, variant, &name, &code, error);
    if (status == SPY_OK && spyi_is_recording(device)) // the text counts as 0, because its compiled form is
                                                       // counted
        spyi_pack_note_kernel(function, values,
                              spyi_rules_of(device->base->limits.profile.target)->is_text ? 0 : code.size);
    if (status == SPY_OK && spyi_is_packed(device)) status = spyi_variant_features(device, &code, error);
    if (status == SPY_OK) {
        spyi_profile profile = device->base->limits.profile;
        spyi_kernel_desc desc;
        spyi_parameters parameters;
        spyi_text blob = { NULL, 0, 0 };
        bool kernel = plan->bound.stage == 0; // the stages of a draw get a pipeline instead (call/raster.c)
        memset(&desc, 0, sizeof desc);
        desc.label = spyi_text_str(&name);
        desc.code = code.data;
        desc.code_size = code.size;
        desc.entry = spyi_text_str(&plain);
        desc.prelude_size = code.prelude_size;
        profile.float_mode = (uint8_t)spyi_unit_options(function->module->unit)->float_mode;
        profile.debug_info = (uint8_t)spyi_unit_options(function->module->unit)->debug_info;
        spyi_kernel_interface(plan, &own, &variant->emitted, &code.inputs, &parameters, &desc.iface);
        spyi_text_add(&step, "pipeline %s", spyi_text_str(&name));
        if (kernel) {
            spyi_step(&device->ctx, spyi_text_str(&step), false);
            status = spyi_build_kernel(device, &profile, &desc, spyi_text_str(&step), &variant->kernel, &blob,
                                       error);
            spyi_step(&device->ctx, spyi_text_str(&step), true);
        } else {
            spyi_text_add_n(&blob, (const char *)code.data, code.size);
        }
        if (status == SPY_OK && blob.size) variant->program = spyi_program_make(&desc, &blob, &code.literals);
        else spyi_text_free(&blob);
        if (status == SPY_OK && kernel && spyi_inputs_unsized(&code.inputs))
            status = spyi_variant_share_kernel(variant, &code.inputs, &own, error);
    }
    status = spyi_check_allocations(failed, status, error);
    spyi_code_free(&code);
    spyi_text_free(&name);
    spyi_text_free(&step);
    spyi_text_free(&plain);
    if (status != SPY_OK) {
        if (variant) spyi_variant_free(device, variant);
        return status;
    }
    spyi_text_free(&variant->emitted.text);
    *out = variant;
    return SPY_OK;
}

SPYI_FN void spyi_variant_free(spy_device *device, spyi_variant *variant) {
    spyi_shared_kernel *shared_kernel = variant->shared_kernel;
    bool last = !shared_kernel || --shared_kernel->references == 0;
    if (variant->kernel && last) device->backend->destroy_kernel(device->gpu, variant->kernel);
    if (shared_kernel && last) {
        spyi_inputs_free(&shared_kernel->inputs);
        spyi_program_free(shared_kernel->program);
        free(shared_kernel->text);
        free(shared_kernel);
    }
    spyi_program_free(variant->program);
    free(variant->accesses);
    free(variant->uses);
    spyi_emitted_free(&variant->emitted);
    spyi_bound_inputs_free(&variant->bound_inputs);
    free(variant);
}

SPYI_FN spy_status spyi_plan_add_variant(spyi_plan *plan, spyi_variant *variant, spyi_text *error) {
    spy_device *device = plan->function->object.device;
    spyi_variant **variants =
        (spyi_variant **)spyi_realloc(plan->variants, (plan->variant_count + 1) * sizeof *plan->variants);
    if (!variants) {
        spyi_variant_free(device, variant);
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    variants[plan->variant_count++] = variant;
    plan->variants = variants;
    return SPY_OK;
}

// >>variants of packs

static uint64_t spyi_variant_key_hash(const spyi_variant_key *key) {
    return spyi_hash(key, offsetof(spyi_variant_key, walk) + key->walk_count, 0);
}

static bool spyi_plan_lacks(const spyi_plan *plan, uint64_t hash) {
    for (uint32_t i = 0; i < plan->absent_count; i++)
        if (plan->absent[i] == hash) return true;
    return false;
}

SPYI_FN bool spyi_plan_wants_plain(const spyi_plan *plan, const spyi_variant_key *key) {
    if (SPYI_LIKELY(!plan->absent_count && !plan->plain_of && !plan->plain_sums)) return false;
    uint64_t hash = spyi_variant_key_hash(key);
    return hash == plan->plain_of || (plan->plain_sums && (key->team || key->batch == SPYI_BATCH_ENGINE)) ||
           spyi_plan_lacks(plan, hash);
}

SPYI_FN bool spyi_plan_note_absent(spyi_plan *plan, const spyi_variant_key *key) {
    uint64_t hash = spyi_variant_key_hash(key);
    if (!spyi_is_packed(plan->function->object.device) || spyi_plan_lacks(plan, hash)) return false;
    if (key->finishes) { // the dispatch before it must not leave parts of sums, so it is to be a plain one,
                         // too
        bool known = plan->plain_sums;
        plan->plain_sums = true;
        return !known;
    }
    uint64_t *grown = (uint64_t *)spyi_realloc(plan->absent, (plan->absent_count + 1) * sizeof *grown);
    if (!grown) return false;
    plan->absent = grown;
    plan->absent[plan->absent_count++] = hash;
    return true;
}

// >>finding, or else making

SPYI_FN spy_status spyi_variant_get(spyi_plan *plan, const spyi_values *values, bool stay,
                                    spyi_variant **variant, bool *left, spyi_text *error) {
    spy_function *function = plan->function;
    spy_device *device = function->object.device;
    spyi_variant_key key = plan->launch->key; // the launch belongs to the running call
    size_t size = offsetof(spyi_variant_key, walk) + key.walk_count;
    spyi_call_outside outside;
    *variant = spyi_variant_find(plan, &key);
    bool records = spyi_is_recording(device), plain = records && plan->launch->plain;
    if (plain) {
        plan->plain_of = 0; // the call goes on with its own variant
        *left = true;
    }
    if (*variant) return SPY_OK;
    if (plan->generation != function->module->generation) return SPY_ERROR_NOT_READY;
    spy_status status = spyi_variant_share(plan, &key, values, variant, error);
    if (status != SPY_OK) return status;
    if (*variant) return spyi_plan_add_variant(plan, *variant, error);
    if (!stay) { // other calls then find the launch as they expect it, and this call does not find theirs
        plan->launch->pass = 0;
        plan->launch->finishes = false;
    }
    if (!stay && spyi_call_await(function, plan, &key, size)) {
        *left = true;
        return SPY_OK;
    }
    uint32_t lacks = spyi_compiler_lacks(device->compiler);
    bool leaves = !stay && spyi_call_step_out(function, &outside, plan, &key, size);
    status = spyi_variant_create(plan, &key, values, variant, error);
    if (leaves) spyi_call_step_in(function, &outside);
    *left = *left || leaves;
    if (status != SPY_OK &&
        (plain || (status == SPY_ERROR_NO_COMPILER && spyi_plan_note_absent(plan, &key)))) {
        spyi_text_free(error); // the launch is computed anew, for another variant
        *left = true;
        return SPY_OK;
    }
    // Otherwise the pack has the call, but no code for this device, and `error` says so.
    if (status == SPY_ERROR_NO_COMPILER && spyi_is_packed(device) &&
        spyi_compiler_lacks(device->compiler) != lacks)
        status = spyi_pack_explain(function, values, error);
    if (status != SPY_OK) return status;
    if (records && !plain && !values->threads &&
        !key.finishes) { // for the pack, the call also makes the plain variant
        plan->plain_of = spyi_variant_key_hash(&key);
        *left = true;
    }
    if (spyi_variant_find(plan, &key)) { // a prepared call has added it meanwhile
        spyi_variant_free(device, *variant);
        *variant = spyi_variant_find(plan, &key);
        return SPY_OK;
    }
    status = spyi_plan_add_variant(plan, *variant, error);
    if (status == SPY_OK) device->stats.kernels_built++;
    return status;
}
