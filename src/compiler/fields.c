// The fields of compiler.h's structs, in one order for writing and reading.
#include "compiler/fields.h"

enum { SPYI_MOST_STREAM_PARAMS = 4096, SPYI_MOST_STREAM_ITEMS = 65536 };

SPYI_FN void spyi_literals_fields(spyi_stream *r, spyi_literals *literals) {
    void *items = literals->items;
    spyi_stream_list(r, &literals->count, SPYI_MOST_STREAM_ITEMS, &items, sizeof *literals->items);
    literals->items = (spyi_literal *)items;
    for (uint32_t i = 0; i < literals->count; i++) {
        spyi_stream_u32(r, &literals->items[i].hash);
        spyi_stream_text(r, &literals->items[i].text);
        (void)spyi_stream_expect(r, literals->items[i].text != NULL, "a literal has no text");
    }
}

SPYI_FN void spyi_signature_fields(spyi_stream *r, spyi_signature *s) {
    void *params = s->params;
    s->callee = (spyi_callee)spyi_stream_enum(r, (uint32_t)s->callee, (uint32_t)SPYI_CALLEE_CONSTRUCTOR + 1);
    spyi_stream_text(r, &s->spelling);
    spyi_stream_text(r, &s->display);
    spyi_stream_type(r, &s->result);
    spyi_stream_bool(r, &s->generic);
    spyi_stream_bool(r, &s->differentiable);
    spyi_stream_bool(r, &s->built_in);
    spyi_stream_list(r, &s->param_count, SPYI_MOST_STREAM_PARAMS, &params, sizeof *s->params);
    s->params = (spyi_param *)params;
    for (uint32_t i = 0; i < s->param_count; i++) {
        spyi_param *p = &s->params[i];
        char *name = (char *)(uintptr_t)p->name;
        spyi_stream_text(r, &name);
        p->name = name;
        spyi_stream_type(r, &p->type);
        spyi_stream_bool(r, &p->in);
        spyi_stream_bool(r, &p->out);
        spyi_stream_bool(r, &p->no_diff);
        spyi_stream_bool(r, &p->has_default);
        (void)spyi_stream_expect(r, name && p->type, "a parameter has no name or type");
    }
    (void)spyi_stream_expect(r, s->display && s->result, "a signature has no text or result");
}

static void spyi_place_fields(spyi_stream *r, spyi_parameter_place *place) {
    spyi_stream_u32(r, &place->holder);
    spyi_stream_u32(r, &place->offset);
}

SPYI_FN void spyi_parameter_fields(spyi_stream *r, spyi_parameter *p) {
    spyi_stream_u8(r, &p->kind);
    spyi_stream_u8(r, &p->stages);
    spyi_stream_u8(r, &p->scalar);
    spyi_stream_u8(r, &p->columns);
    spyi_stream_u16(r, &p->space);
    spyi_stream_u16(r, &p->count);
    spyi_stream_u32(r, &p->number);
    spyi_place_fields(r, &p->place);
    bool texels = p->kind == SPYI_PARAMETER_TEXELS || p->kind == SPYI_PARAMETER_RW_TEXELS;
    (void)spyi_stream_expect(
        r,
        p->kind < SPYI_PARAMETER_KINDS && (p->count >= 1) == (p->kind != SPYI_PARAMETER_HANDLES) &&
            (!texels || (p->scalar < SPY_DTYPE_COUNT && p->columns >= 1 && p->columns <= 4)),
        "a kernel's parameter cannot be");
}

// Returns whether an input lies within the kernel's parameters.
static bool spyi_input_fits(const spyi_inputs *inputs, const spyi_input *input) {
    bool data = input->kind == SPYI_INPUT_DATA, binding = input->kind == SPYI_INPUT_BINDING;
    if (!data && !binding)
        return input->slot < 0 || (uint32_t)input->slot < inputs->binding_count + inputs->uniform_count;
    if (input->slot < 0) return input->slot == -1 && !input->used;
    if (binding) return (uint32_t)input->slot < inputs->binding_count;
    if ((uint32_t)input->slot >= inputs->uniform_count) return false;
    uint64_t size = inputs->uniform_size[input->slot];
    return input->elements || (uint64_t)input->offset + input->type->device_size <= size;
}

SPYI_FN void spyi_inputs_fields(spyi_stream *r, spyi_inputs *inputs) {
    void *items = inputs->items;
    spyi_stream_list(r, &inputs->count, SPYI_MOST_STREAM_ITEMS, &items, sizeof *inputs->items);
    inputs->items = (spyi_input *)items;
    for (uint32_t i = 0; i < inputs->count; ++i) {
        spyi_input *input = &inputs->items[i];
        uint32_t slot = (uint32_t)(input->slot + 1);
        input->kind = (spyi_input_kind)spyi_stream_enum(r, (uint32_t)input->kind, SPYI_INPUT_FOREIGN + 1);
        spyi_stream_text(r, &input->path);
        spyi_stream_type(r, &input->type);
        spyi_stream_u32(r, &slot);
        spyi_stream_u32(r, &input->offset);
        spyi_stream_bool(r, &input->parameter);
        spyi_stream_bool(r, &input->used);
        spyi_stream_bool(r, &input->elements);
        input->slot = (int32_t)slot - 1;
        (void)spyi_stream_expect(r, input->path && input->type, "an input has no path or type");
    }
    spyi_stream_u32(r, &inputs->binding_count);
    spyi_stream_u32(r, &inputs->parameter_count);
    spyi_stream_u32(r, &inputs->uniform_count);
    if (!spyi_stream_expect(
            r, inputs->parameter_count <= SPYI_MOST_PARAMETERS && inputs->uniform_count <= SPYI_MOST_UNIFORMS,
            "a kernel has too many parameters"))
        return;
    for (uint32_t i = 0; i < inputs->parameter_count; ++i) spyi_parameter_fields(r, &inputs->parameters[i]);
    for (uint32_t i = 0; i < inputs->uniform_count; ++i) {
        spyi_stream_u32(r, &inputs->uniform_size[i]);
        spyi_place_fields(r, &inputs->uniform_place[i]);
    }
    for (uint32_t i = 0; i < inputs->count && r->status == SPY_OK; ++i)
        (void)spyi_stream_expect(r, spyi_input_fits(inputs, &inputs->items[i]), "an input has no such place");
}

SPYI_FN void spyi_entry_fields(spyi_stream *r, spyi_entry *e) {
    for (int i = 0; i < 3; i++) spyi_stream_u32(r, &e->threads[i]);
    spyi_stream_bool(r, &e->cuda_kernel);
    spyi_stream_raw(r, e->systems, sizeof e->systems);
    spyi_stream_raw(r, e->offsets, sizeof e->offsets);
    spyi_stream_u32(r, &e->block_size);
    spyi_stream_raw(r, e->places, sizeof e->places);
    spyi_stream_u32(r, &e->place_count);
    bool fits = e->place_count <= SPYI_MOST_ENTRY_PARAMS;
    for (int i = 0; i < SPYI_MOST_ENTRY_PARAMS; i++) fits = fits && e->systems[i] <= SPYI_SYSTEM_VARYING;
    for (int i = 0; i < 3; i++)
        fits = fits && (e->threads[i] != 0) == (e->threads[0] != 0) && e->threads[i] <= 65536;
    (void)spyi_stream_expect(r, fits, "an entry point cannot be");
}

static void spyi_varyings_fields(spyi_stream *r, spyi_varyings *list, bool outputs) {
    void *items = list->items;
    spyi_stream_list(r, &list->count, SPYI_MOST_STREAM_PARAMS, &items, sizeof *list->items);
    list->items = (spyi_varying *)items;
    for (uint32_t i = 0; i < list->count; i++) {
        spyi_varying *v = &list->items[i];
        spyi_stream_text(r, &v->name);
        spyi_stream_text(r, &v->semantic);
        spyi_stream_u32(r, &v->semantic_index);
        spyi_stream_u32(r, &v->location);
        spyi_stream_u32(r, &v->param);
        spyi_stream_bool(r, &v->field);
        spyi_stream_text(r, &v->path);
        spyi_stream_bool(r, &v->no_diff);
        spyi_stream_u8(r, &v->interpolation);
        spyi_stream_type(r, &v->type);
        bool good = v->name && v->semantic && v->path && v->type && v->location < 65536 &&
                    (v->param < SPYI_MOST_ENTRY_PARAMS || (outputs && v->param == UINT32_MAX)) &&
                    v->interpolation <= SPYI_INTERPOLATION_LINEAR;
        (void)spyi_stream_expect(r, good, "a shader's input or output cannot be");
    }
}

SPYI_FN void spyi_stage_fields(spyi_stream *r, spyi_stage *stage) {
    spyi_stream_bool(r, &stage->declared);
    stage->other = (spy_stage)spyi_stream_enum(r, (uint32_t)stage->other, (uint32_t)SPY_STAGE_DISPATCH + 1);
    spyi_entry_fields(r, &stage->entry);
    spyi_varyings_fields(r, &stage->inputs, false);
    spyi_varyings_fields(r, &stage->outputs, true);
    spyi_varyings_fields(r, &stage->system_inputs, false);
    spyi_varyings_fields(r, &stage->system_outputs, true);
}
