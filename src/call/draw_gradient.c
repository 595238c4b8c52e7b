// The generated modules of a raster (draw_gradient.h): finds or makes them, and drops them with the raster.
#include "call/draw_gradient.h"

static void spyi_draw_gradient_free(spyi_draw_gradient *g) {
    if (g->module) spyi_module_drop(g->module);
    free(g);
}

SPYI_FN void spyi_draw_gradients_drop(spy_raster *raster) {
    while (raster->gradients) {
        spyi_draw_gradient *g = raster->gradients;
        raster->gradients = g->next;
        spyi_draw_gradient_free(g);
    }
}

static const char *const spyi_draw_stage_words[SPYI_RASTER_STAGES] = { "vertex", "fragment" };

// Checks that a function whose derivative is needed has one.
static spy_status spyi_draw_check_derivative(const spy_raster *raster, int s, spyi_text *error) {
    spy_function *function = raster->parts[s].function;
    spyi_text why = { NULL, 0, 0 };
    if (function->overloads.items[0].differentiable) return SPY_OK;
    spyi_outside outside;
    spyi_step_out(function->object.device, &outside, function->module);
    bool good = spyi_unit_has_derivative(function->module->unit, &function->overloads.items[0], true, &why);
    spyi_step_in(function->object.device, &outside);
    if (!good)
        spyi_text_add(error,
                      "the %s function '%s' is not differentiable: expected [Differentiable], or a "
                      "derivative of its own%s%s",
                      spyi_draw_stage_words[s], function->name, why.size ? "; Slang says:\n" : "",
                      spyi_text_str(&why));
    spyi_text_free(&why);
    return good ? SPY_OK : SPY_ERROR_UNSUPPORTED;
}

// Finds how the fragment function's inputs are interpolated, from its code. If the function cannot be
// compiled alone, interpolation with perspective is assumed here, and the draw reports the error.
static void spyi_draw_find_interpolation(spyi_raster_part *part) {
    spy_function *function = part->function;
    const spyi_conformances none = { NULL, 0 };
    spyi_entry own = part->stage.entry;
    spyi_code code;
    spyi_text ignored = { NULL, 0, 0 };
    spyi_outside outside;
    spyi_step_out(function->object.device, &outside, function->module);
    spy_status status = spyi_unit_compile_own(function->module->unit, function->name, "", function->name,
                                              &own, none, &code, &ignored);
    spyi_step_in(function->object.device, &outside);
    if (status == SPY_OK && part->generation == function->module->generation)
        spyi_code_interpolation((const uint32_t *)code.data, code.size / 4, &part->stage.inputs);
    if (status == SPY_OK) spyi_code_free(&code);
    spyi_text_free(&ignored);
}

static spy_status spyi_draw_gradient_make(spy_raster *raster, spyi_draw_gradient *g, spyi_text *error) {
    spy_module *module = raster->parts[SPYI_RASTER_FRAGMENT].function->module;
    spyi_text text = { NULL, 0, 0 };
    // Slang crashes on a call of a function that has [shader(...)] and uniform parameters (2026.12 and 2026.14.1).
    // So [shader("...")] is replaced by [partitioning("...")], which also takes a string and has no effect outside
    // of hull shaders.
    const spy_define plain = { "shader", "partitioning" };
    spy_status status = spyi_draw_check_derivative(raster, SPYI_RASTER_FRAGMENT, error);
    if (status == SPY_OK && g->form.vertices)
        status = spyi_draw_check_derivative(raster, SPYI_RASTER_VERTEX, error);
    g->generation = module->generation;
    if (status == SPY_OK) spyi_draw_find_interpolation(&raster->parts[SPYI_RASTER_FRAGMENT]);
    if (status == SPY_OK) status = spyi_draw_gradient_text(raster, g, &text, error);
    if (status == SPY_OK)
        g->module = spyi_module_extend(module, &plain, spyi_text_str(&text), &status, error);
    spyi_text_free(&text);
    return status;
}

SPYI_FN spy_status spyi_draw_gradient_get(spy_raster *raster, const spyi_draw_form *form,
                                          spyi_draw_gradient *out, spyi_text *error) {
    const spy_module *module = raster->parts[SPYI_RASTER_FRAGMENT].function->module;
    if (raster->gradients && raster->gradients->generation != module->generation)
        spyi_draw_gradients_drop(raster);
    spyi_draw_gradient *g = raster->gradients;
    while (g && (g->generation != module->generation || memcmp(&g->form, form, sizeof *form) != 0))
        g = g->next;
    if (!g) {
        g = (spyi_draw_gradient *)spyi_calloc(1, sizeof *g);
        spy_status status = g ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
        if (g) g->form = *form;
        if (g) status = spyi_draw_gradient_make(raster, g, error);
        if (status != SPY_OK) {
            if (g) spyi_draw_gradient_free(g);
            return status;
        }
        g->next = raster->gradients;
        raster->gradients = g;
    }
    *out = *g;
    spyi_atomic_add(&out->module->object.references, 1);
    return SPY_OK;
}
