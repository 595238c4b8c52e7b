// Makes a plan from a recipe and loads its kernels, without binding or compiling.
#include "data/gpu_print.h"
#include "plan/cache.h"
#include "plan/recipe_fields.h"

// >>the head

// Checks that the bytes are an undamaged recipe of this format. It leaves the stream at the fields after the
// start.
static void spyi_recipe_open(spyi_stream *r, const void *bytes, size_t size) {
    spyi_recipe_head start;
    uint64_t hash;
    memset(&start, 0, sizeof start);
    r->at = (const uint8_t *)bytes;
    r->left = size;
    spyi_recipe_start(r, &start);
    if (!spyi_stream_expect(r, size >= SPYI_RECIPE_START + SPYI_RECIPE_END, "it ends too early")) return;
    if (memcmp(start.magic, SPYI_RECIPE_MAGIC, sizeof start.magic) != 0) {
        spyi_stream_fail(r, SPY_ERROR_INVALID_ARGUMENT, "these bytes are no recipe of slangpy's");
    } else if (start.version != SPYI_RECIPE_VERSION) {
        spyi_stream_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                         "the recipe has format %u, and this library reads and writes format %u",
                         start.version, SPYI_RECIPE_VERSION);
    } else if (start.size != size) {
        spyi_stream_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                         "the recipe is damaged: it says that it has %llu bytes, and there are %zu",
                         (unsigned long long)start.size, size);
    } else {
        r->left -= SPYI_RECIPE_END;
        memcpy(&hash, r->at + r->left, sizeof hash);
        if (hash != spyi_hash(bytes, size - SPYI_RECIPE_END, SPYI_RECIPE_VERSION))
            spyi_stream_damaged(r, "its content is not what was written");
    }
}

// Checks that the recipe was made for this compiler, device and call.
static void spyi_recipe_check(spyi_stream *r, const spy_function *function) {
    spyi_recipe_head head, here;
    memset(&head, 0, sizeof head);
    spyi_recipe_rest(r, &head);
    spyi_recipe_head_of(function->object.device, &here);
    if (r->status == SPY_OK && (!here.library || !here.device))
        spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    if (!spyi_stream_expect(r, head.library && head.device && head.function, "its head has no names")) {
        // `r` has the reason
    } else if (strcmp(head.library, here.library) != 0) {
        spyi_stream_fail(r, SPY_ERROR_NO_COMPILER, "the recipe was made with %s, and this device uses %s",
                         head.library, here.library[0] ? here.library : "no compiler yet");
    } else if (head.profile != here.profile) {
        spyi_stream_fail(r, SPY_ERROR_UNSUPPORTED,
                         "the recipe was made for '%s', and kernels for this device, '%s', are other ones: "
                         "their features or limits differ",
                         head.device, here.device);
    } else if (head.prints != here.prints) {
        spyi_stream_fail(r, SPY_ERROR_UNSUPPORTED,
                         "the recipe was made %s desc.enable_print, and this device was made %s it",
                         head.prints ? "with" : "without", here.prints ? "with" : "without");
    } else if (strcmp(head.function, function->name) != 0) {
        spyi_stream_fail(r, SPY_ERROR_NOT_FOUND, "the recipe is one of '%s'", head.function);
    } else if (head.signature != spyi_recipe_signature(function, ((const spyi_values *)r->user))) {
        spyi_stream_fail(r, SPY_ERROR_TYPE_MISMATCH,
                         "the recipe was made for other arguments, options or parameters of the function");
    }
    spyi_recipe_head_free(&head);
    spyi_recipe_head_free(&here);
}

// Checks that the values have the sizes by which the recipe's types were chosen.
static void spyi_recipe_check_sizes(spyi_stream *r, const uint8_t *sizes) {
    const spyi_values *values = ((const spyi_values *)r->user);
    spyi_text wanted = { NULL, 0, 0 };
    size_t at = 0;
    spyi_stream_bytes(r, &wanted);
    for (uint32_t i = 0; sizes && r->status == SPY_OK && i < values->count; i++) {
        const spyi_value *v = &values->items[i];
        size_t trailing = sizes[i] < v->rank ? sizes[i] : v->rank, bytes = trailing * sizeof *v->dims;
        bool same = wanted.size - at >= bytes &&
                    (!bytes || memcmp(wanted.data + at, v->dims + v->rank - trailing, bytes) == 0);
        if (!same)
            spyi_stream_fail(r, SPY_ERROR_TYPE_MISMATCH, "the recipe was made for arguments of other sizes");
        at += bytes;
    }
    (void)spyi_stream_expect(r, at == wanted.size, "it has more sizes than arguments");
    spyi_text_free(&wanted);
}

// >>variants

// Loads a kernel from a kept program, without compiling.
static spy_status spyi_program_load(spy_device *device, const spyi_program *program, spyi_kernel **kernel,
                                    spyi_text *error) {
    spyi_text step = { NULL, 0, 0 };
    spyi_kernel_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.label = program->label;
    desc.code = program->code.data;
    desc.code_size = program->code.size;
    desc.entry = program->entry;
    desc.iface = program->iface;
    spyi_text_add(&step, "load %s", program->label);
    spyi_step(&device->ctx, spyi_text_str(&step), false);
    spy_status status = spyi_build_kernel(device, NULL, &desc, spyi_text_str(&step), kernel, NULL, error);
    spyi_step(&device->ctx, spyi_text_str(&step), true);
    spyi_text_free(&step);
    if (status == SPY_OK) spyi_print_learn(device, &program->literals);
    return status;
}

static void spyi_recipe_add_variant(spyi_stream *r, spyi_plan *plan) {
    spy_device *device = plan->function->object.device;
    spyi_variant *variant = (spyi_variant *)spyi_calloc(1, sizeof *variant);
    spyi_program *program = (spyi_program *)spyi_calloc(1, sizeof *program);
    if (variant && program) {
        spyi_recipe_variant(r, &plan->bound, variant, program);
        if (r->status == SPY_OK && spyi_variant_find(plan, &variant->key))
            spyi_stream_damaged(r, "it has a variant twice");
        if (r->status == SPY_OK)
            r->status = spyi_program_load(device, program, &variant->kernel, &r->problem);
        if (r->status == SPY_OK && !spyi_variant_find_accesses(&plan->bound, variant))
            spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    } else {
        spyi_stream_fail(r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    }
    if (variant && device->sign_call) {
        variant->program = program;
        program = NULL;
    }
    spyi_program_free(program);
    if (!variant) return;
    if (r->status != SPY_OK) spyi_variant_free(device, variant);
    else r->status = spyi_plan_add_variant(plan, variant, &r->problem); // frees the variant when it fails
}

// >>the plan

SPYI_FN spy_status spyi_recipe_read(spy_function *function, const spyi_values *values, const void *bytes,
                                    size_t size, spyi_plan **out, spyi_text *error) {
    uint32_t failed = spyi_failed_allocations(), variants = 0;
    spy_device *device = function->object.device;
    spyi_plan *plan = NULL;
    spyi_stream r;
    *out = NULL;
    memset(&r, 0, sizeof r);
    r.name = "recipe";
    r.table = device->types;
    r.user = values;
    spyi_recipe_open(&r, bytes, size);
    if (r.status == SPY_OK && device->bounds)
        spyi_stream_fail(&r, SPY_ERROR_UNSUPPORTED,
                         "recipes have no kernels that check indices, and this device asks for them "
                         "(desc.check_bounds)");
    if (r.status == SPY_OK) spyi_recipe_check(&r, function);
    if (r.status == SPY_OK) plan = spyi_plan_new(function, values);
    if (plan) {
        spyi_recipe_bound(&r, &plan->bound, values->count);
        if (r.status == SPY_OK && plan->bound.is_batch)
            plan->bound.is_batch = spyi_find_batch(&device->base->limits, &plan->bound);
        spyi_recipe_check_sizes(&r, plan->bound.sizes);
        if (r.status == SPY_OK && !spyi_plan_add_launch(plan))
            spyi_stream_fail(&r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
        spyi_stream_u32(&r, &variants);
        for (uint32_t i = 0; r.status == SPY_OK && i < variants; i++) spyi_recipe_add_variant(&r, plan);
        (void)spyi_stream_expect(&r, r.left == 0, "something stands behind its end");
    }
    spyi_text_add(error, "%s", spyi_text_str(&r.problem));
    spy_status status = spyi_check_allocations(failed, r.status, error);
    spyi_text_free(&r.problem);
    free(r.types);
    if (status == SPY_OK) *out = plan;
    else if (plan) spyi_plan_release(device, plan);
    return status;
}
