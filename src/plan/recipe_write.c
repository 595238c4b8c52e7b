// Writes a plan as a recipe.
#include "plan/recipe_fields.h"

static const spyi_program *spyi_variant_program(const spyi_variant *variant) {
    return variant->shared_kernel ? variant->shared_kernel->program : variant->program;
}

// Returns the reason why the plan cannot be a recipe; NULL when it can.
static const char *spyi_recipe_refusal(const spyi_plan *plan) {
    const spy_device *device = plan->function->object.device;
    if (plan->redirect) return "it leads to plans and is none itself";
    if (plan->bound.stage) return "it is a stage of a draw";
    if (!device->sign_call || !plan->signature) return "the device does not keep its kernels' code";
    if (device->bounds)
        return "kernels that check indices (desc.check_bounds) have an address of this process's memory";
    if (plan->generation != plan->function->module->generation) return "its module has been reloaded since";
    if (plan->bound.sizes && !plan->sized_from)
        return "the sizes that its types were chosen by are known only once a plain call has been made";
    for (uint32_t i = 0; i < plan->variant_count; i++)
        if (!spyi_variant_program(plan->variants[i]))
            return "a kernel of it was made before the device kept its kernels' code";
    return NULL;
}

SPYI_FN spy_status spyi_recipe_write(const spyi_plan *plan, spyi_text *bytes, spyi_text *error) {
    const char *refusal = spyi_recipe_refusal(plan);
    uint32_t failed = spyi_failed_allocations(), variants = plan->variant_count;
    size_t before = bytes->size;
    spyi_recipe_head head;
    spyi_stream r;
    if (refusal) {
        spyi_text_add(error, "no recipe can be written: %s", refusal);
        return SPY_ERROR_UNSUPPORTED;
    }
    memset(&r, 0, sizeof r);
    r.name = "recipe";
    r.out = bytes;
    spyi_recipe_head_of(plan->function->object.device, &head);
    head.function = spyi_strdup(plan->function->name);
    head.signature = plan->signature;
    spyi_recipe_start(&r, &head);
    spyi_recipe_rest(&r, &head);
    spyi_recipe_bound(&r, (spyi_bound *)(uintptr_t)&plan->bound, plan->value_count);
    spyi_text sizes = { NULL, 0, 0 };
    if (plan->bound.sizes)
        spyi_text_add_n(&sizes, (const char *)plan->key + plan->sized_from,
                        plan->key_size - plan->sized_from);
    spyi_stream_bytes(&r, &sizes);
    spyi_text_free(&sizes);
    spyi_stream_u32(&r, &variants);
    for (uint32_t i = 0; i < variants; i++)
        spyi_recipe_variant(&r, &plan->bound, plan->variants[i],
                            (spyi_program *)(uintptr_t)spyi_variant_program(plan->variants[i]));
    spyi_recipe_head_free(&head);
    free(r.types);
    spyi_text_add(error, "%s", spyi_text_str(&r.problem));
    spyi_text_free(&r.problem);
    spy_status status = spyi_check_allocations(failed, r.status, error);
    if (status != SPY_OK) {
        bytes->size = before;
        return status;
    }
    uint64_t size = bytes->size - before + SPYI_RECIPE_END;
    memcpy(bytes->data + before + SPYI_RECIPE_MAGIC_SIZE + sizeof head.version, &size, sizeof size);
    uint64_t hash = spyi_hash(bytes->data + before, bytes->size - before, SPYI_RECIPE_VERSION);
    spyi_text_add_n(bytes, (const char *)&hash, sizeof hash);
    status = spyi_check_allocations(failed, SPY_OK, error);
    if (status != SPY_OK) bytes->size = before;
    return status;
}
