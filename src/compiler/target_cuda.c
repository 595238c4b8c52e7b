// CUDA's table of functions (spyi_code_target), and the effect of compile options on CUDA code.
#include "compiler/target.h"

// >>options: Slang needs none for CUDA; NVRTC's are in spyi_profile

static void spyi_cuda_add_options(const spy_compile_options *options, spyi_sl_option *out, uint32_t *count) {
    (void)options, (void)out, (void)count;
}

static bool spyi_cuda_optimizes(const spyi_unit *unit) {
    (void)unit;
    return false;
}

static spy_status spyi_cuda_check_options(const spyi_unit *unit, spyi_text *notes, spyi_text *error) {
    (void)error;
    if (unit->options.optimization > SPY_OPTIMIZATION_NONE)
        spyi_text_add(notes, "options.optimization has no effect on CUDA: NVRTC optimises fully\n");
    return SPY_OK;
}

// >>code

// Rejects a ConstantBuffer of a plain vector: libslang crashes (2026.12, 2026.14.1) when CUDA code uses
// components of one.
static bool spyi_cuda_prepare_code(spyi_unit *unit, spyi_sl_live *live, spyi_sl_component *linked,
                                   spyi_text *messages) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_binding *bindings = NULL;
    spyi_inputs inputs;
    memset(&inputs, 0, sizeof inputs);
    spyi_sl_layout *layout = linked->v->getLayout(linked, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    bool good = layout && spyi_sl_find_inputs(unit, live, layout, &inputs, &bindings);
    for (uint32_t i = 0; good && i < inputs.count; ++i) {
        const spyi_input *p = &inputs.items[i];
        uint32_t uniform = bindings[i].binding;
        size_t prefix = strlen(SPYI_HOLDER_PREFIX);
        if (p->type->kind != SPYI_TYPE_VECTOR || uniform >= inputs.uniform_count || p->offset ||
            inputs.uniform_place[uniform].holder == SPYI_HOLDER_NONE ||
            inputs.uniform_size[uniform] != p->type->device_size)
            continue;
        spyi_text_add(
            messages,
            "the shader parameter '%s' is a ConstantBuffer<%s>; libslang crashes when it makes CUDA code of "
            "that: put the vector into a struct",
            p->path + (strncmp(p->path, SPYI_HOLDER_PREFIX, prefix) == 0 ? prefix : 0), p->type->display);
        good = false;
    }
    free(bindings);
    spyi_inputs_free(&inputs);
    return good;
}

// Returns the size in bytes of Slang's prelude at the beginning of the text; 0 when there is none.
static size_t spyi_code_prelude(const spyi_code *code) {
    spyi_sl_global *global = spyi_sl_global_session();
    spyi_sl_blob *prelude = NULL;
    size_t size = 0;
    global->v->getLanguagePrelude(global, SPYI_SL_LANGUAGE_CUDA, &prelude);
    if (prelude && prelude->v->getBufferSize(prelude) <= code->size &&
        memcmp(code->data, prelude->v->getBufferPointer(prelude), prelude->v->getBufferSize(prelude)) == 0)
        size = prelude->v->getBufferSize(prelude);
    spyi_sl_blob_free(&prelude);
    return size;
}

static void spyi_cuda_mend_code(const spyi_compiler *compiler, spyi_code *code, spyi_code_faults *faults) {
    char *text = (char *)code->data;
    code->prelude_size = spyi_code_prelude(code);
    text[code->size++] = 0;
    if (compiler->mend_text) compiler->mend_text(&text, &code->size, code->prelude_size, faults);
    code->data = text;
}

static bool spyi_cuda_place_code(spyi_code *code, const spyi_sl_binding *bindings, spyi_text *messages) {
    return spyi_code_read_text((const char *)code->data + code->prelude_size, &code->inputs, bindings,
                               messages);
}

SPYI_FN const spyi_code_target *spyi_code_cuda(void) {
    static const spyi_code_target table = { SPYI_SL_TARGET_CUDA_SOURCE,
                                            NULL,
                                            spyi_cuda_add_options,
                                            spyi_cuda_check_options,
                                            spyi_cuda_optimizes,
                                            NULL, // has_derivative: not called, as optimizes is always false
                                            spyi_cuda_prepare_code,
                                            spyi_cuda_mend_code,
                                            spyi_cuda_place_code,
                                            spyi_sl_cuda_size,
                                            spyi_sl_has_unsized,
                                            spyi_sl_cuda_field,
                                            spyi_sl_cuda_param };
    return &table;
}
