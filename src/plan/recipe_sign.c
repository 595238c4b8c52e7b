// The signature by which a recipe is found and checked: a hash of the call that is the same in every process.
// A plan's key cannot serve, as its numbers of types and functions and its table addresses change from
// process to process.
#include "kinds/kind.h"
#include "plan/recipe_sign.h"

static void spyi_sign_number(uint64_t *hash, uint64_t number) {
    *hash = spyi_hash(&number, sizeof number, *hash);
}

static void spyi_sign_text(uint64_t *hash, const char *text) { // NULL and "" have different hashes
    if (text) *hash = spyi_hash(text, strlen(text) + 1, *hash);
    else spyi_sign_number(hash, 0);
}

// Adds the function in the form that its module declares, since other parameters or options must give another
// signature.
static void spyi_sign_function(uint64_t *hash, const spy_function *function) {
    const spyi_overloads *overloads = &function->overloads;
    const spy_compile_options *options = spyi_unit_options(function->module->unit);
    spyi_sign_text(hash, function->name);
    spyi_sign_number(hash,
                     function->module->strict_broadcasting | (unsigned)function->module->zero_missing << 1);
    spyi_sign_number(hash, (uint64_t)options->optimization);
    spyi_sign_number(hash, (uint64_t)options->float_mode);
    spyi_sign_number(hash, (uint64_t)options->debug_info);
    spyi_sign_number(hash, overloads->count);
    for (uint32_t i = 0; i < overloads->count; i++) {
        const spyi_signature *s = &overloads->items[i];
        spyi_sign_text(hash, s->display);
        spyi_sign_number(hash, spyi_type_hash(s->result));
        for (uint32_t p = 0; p < s->param_count; p++)
            spyi_sign_number(hash, spyi_type_hash(s->params[p].type));
    }
}

static void spyi_sign_value(uint64_t *hash, const spyi_values *values, const spyi_value *v) {
    const spyi_value *grads[2];
    const spyi_value_kind *kind = v->custom;
    for (int g = 0; g < 2; g++) grads[g] = v->grads[g] ? &values->items[v->grads[g]] : NULL;
    spyi_sign_text(hash, v->name);
    spyi_sign_text(hash, v->cast);
    spyi_sign_number(hash, (uint64_t)v->kind | (uint64_t)v->direction << 8 | (uint64_t)v->rank << 16 |
                               (uint64_t)v->map_count << 24 | (uint64_t)v->whole << 32 |
                               (uint64_t)v->one_value << 33);
    spyi_sign_number(hash, (uint64_t)v->child_count << 32 | v->size);
    for (uint32_t d = 0; d < v->map_count; d++) spyi_sign_number(hash, (uint64_t)(int64_t)v->map[d]);
    spyi_sign_number(hash, spyi_type_hash(v->type));
    if (kind) spyi_sign_text(hash, kind->name);
    if (kind) spyi_sign_number(hash, (uint64_t)kind->run->field_op << 32 | kind->run->traits);
    spyi_sign_number(hash, (uint64_t)v->grads[0] << 32 | v->grads[1]);
    spyi_sign_number(hash, grads[0] && grads[1] && grads[0]->tensor == grads[1]->tensor);
}

SPYI_FN uint64_t spyi_recipe_signature(const spy_function *function, const spyi_values *values) {
    uint64_t hash = SPYI_RECIPE_VERSION;
    spyi_sign_function(&hash, function);
    spyi_sign_number(&hash, values->count);
    spyi_sign_number(&hash, (uint64_t)values->global_count << 32 | values->grad_count);
    for (uint32_t i = 0; i < spyi_values_all(values); i++) spyi_sign_value(&hash, values, &values->items[i]);
    const spyi_threads *threads = values->threads;
    if (threads) {
        spyi_sign_number(&hash, (uint64_t)threads->stage << 2 | (uint64_t)threads->guarded << 1 |
                                    (uint64_t)threads->shader);
        for (int i = 0; i < 3; i++) spyi_sign_number(&hash, threads->group[i]);
    }
    if (values->options) { // the key has the options as plain bytes
        spyi_values options;
        spyi_text ignored = { NULL, 0, 0 };
        memset(&options, 0, sizeof options);
        (void)spyi_describe_options(values->options, &options, &ignored);
        hash = spyi_hash(options.key, options.key_size, hash);
        spyi_values_free(&options);
        spyi_text_free(&ignored);
    }
    return hash ? hash : 1;
}
