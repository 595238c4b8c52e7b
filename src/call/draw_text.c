// Writes the Slang functions that gradients of a draw are made of (draw_gradient.h). They stand behind the text of the
// user's module and call its vertex and fragment function as plain functions.
#include "call/draw_gradient.h"

// The state of the writer. Names in the generated text begin with slangpy_draw, so that none equals the name
// of a user's uniform parameter.
typedef struct spyi_draw_writer {
    const spy_raster *raster;
    const spyi_draw_form *form;
    spyi_draw_gradient *gradient;
    spyi_text *out, *error;
    spy_status status;
} spyi_draw_writer;

static void spyi_draw_refuse(spyi_draw_writer *w, const spyi_raster_part *part, const spyi_varying *v,
                             const char *why) {
    if (w->status != SPY_OK) return;
    w->status = SPY_ERROR_UNSUPPORTED;
    spyi_text_add(w->error, "%s: '%s'", part->function->name, v->name[0] ? v->name : "its result");
    if (v->semantic[0]) spyi_text_add(w->error, " (%s)", v->semantic);
    spyi_text_add(w->error, " %s", why);
}

static bool spyi_draw_is_float(const spyi_type *type) {
    return type->scalar == SPY_DTYPE_FLOAT32 || type->scalar == SPY_DTYPE_FLOAT16;
}

static bool spyi_draw_is_simple(const spyi_type *type) {
    bool whole = type->scalar == SPY_DTYPE_INT32 || type->scalar == SPY_DTYPE_UINT32;
    return (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) &&
           (whole || spyi_draw_is_float(type));
}

static const spyi_signature *spyi_draw_signature(const spyi_raster_part *part) {
    return &part->function->overloads.items[0];
}

static bool spyi_draw_is_given(const spyi_raster_part *part, uint32_t p) {
    return p >= SPYI_MOST_ENTRY_PARAMS || !part->stage.entry.systems[p];
}

// Writes the name of the variable or field that holds an input or output: "slangpy_draw_v2.color",
// "slangpy_draw_result.color".
static void spyi_draw_path(spyi_draw_writer *w, const spyi_varying *v) {
    if (v->param == UINT32_MAX) spyi_text_add(w->out, "slangpy_draw_result%s", v->path);
    else spyi_text_add(w->out, "slangpy_draw_v%u%s", v->param, v->path);
}

// Declares a variable for each parameter that is an input or output.
static void spyi_draw_variables(spyi_draw_writer *w, const spyi_raster_part *part) {
    const spyi_signature *signature = spyi_draw_signature(part);
    for (uint32_t p = 0; p < signature->param_count; p++)
        if (!spyi_draw_is_given(part, p))
            spyi_text_add(w->out, "    %s slangpy_draw_v%u;\n", signature->params[p].type->name, p);
}

// Calls the user's function with these variables and with its uniform parameters by name.
static void spyi_draw_call(spyi_draw_writer *w, const spyi_raster_part *part) {
    const spyi_signature *signature = spyi_draw_signature(part);
    bool result = signature->result && signature->result->kind != SPYI_TYPE_VOID;
    if (result) spyi_text_add(w->out, "    %s slangpy_draw_result = ", signature->result->name);
    else spyi_text_add(w->out, "    ");
    spyi_text_add(w->out, "%s(", part->function->name);
    for (uint32_t p = 0; p < signature->param_count; p++) {
        spyi_text_add(w->out, "%s", p ? ", " : "");
        if (spyi_draw_is_given(part, p)) spyi_text_add(w->out, "%s", signature->params[p].name);
        else spyi_text_add(w->out, "slangpy_draw_v%u", p);
    }
    spyi_text_add(w->out, ");\n");
}

static bool spyi_draw_has_gradient(const spyi_raster_part *part, uint32_t p) {
    spy_device *device = part->function->object.device;
    const spyi_param *param = &spyi_draw_signature(part)->params[p];
    spyi_type_finder finder = { device->modules_of->find_type, part->function->module };
    return !param->no_diff && param->in && spyi_differential(device->types, &finder, param->type) != NULL;
}

typedef enum spyi_draw_uniforms {
    SPYI_DRAW_DECLARED, // parameters of a differentiable function
    SPYI_DRAW_CONSTANT, // parameters of a differentiable function, all no_diff
    SPYI_DRAW_PAIRS,    // parameters of the written derivative, as differential pairs
    SPYI_DRAW_PLAIN,
    SPYI_DRAW_NAMED // arguments of a call, by name
} spyi_draw_uniforms;

static void spyi_draw_uniform_list(spyi_draw_writer *w, const spyi_raster_part *part,
                                   spyi_draw_uniforms how) {
    const spyi_signature *signature = spyi_draw_signature(part);
    for (uint32_t p = 0; p < signature->param_count; p++) {
        const spyi_param *param = &signature->params[p];
        if (!spyi_draw_is_given(part, p)) continue;
        bool active = how != SPYI_DRAW_NAMED && how != SPYI_DRAW_PLAIN && how != SPYI_DRAW_CONSTANT &&
                      spyi_draw_has_gradient(part, p);
        if (how == SPYI_DRAW_NAMED) spyi_text_add(w->out, ", %s", param->name);
        else if (how == SPYI_DRAW_PAIRS && active)
            spyi_text_add(w->out, ", inout DifferentialPair<%s> %s", param->type->name, param->name);
        else
            spyi_text_add(w->out, ", %s%s %s",
                          active || how == SPYI_DRAW_PAIRS || how == SPYI_DRAW_PLAIN ? "" : "no_diff ",
                          param->type->name, param->name);
    }
}

// >>the vertex function

static const char *const spyi_draw_elements[] = { "", "float", "int", "uint" };

// Writes "float3(t[i, 2], t[i, 3], t[i, 4])".
static void spyi_draw_load(spyi_draw_writer *w, const spyi_varying *v, uint32_t input) {
    const spyi_draw_form *form = w->form;
    bool instance = false;
    for (uint32_t i = 0; i < w->raster->instance_attribute_count; i++) {
        const char *name = w->raster->instance_attributes[i];
        const spyi_signature *signature = spyi_draw_signature(&w->raster->parts[SPYI_RASTER_VERTEX]);
        instance = instance || strcmp(name, v->name) == 0 ||
                   (v->field && strcmp(name, signature->params[v->param].name) == 0);
    }
    // A tensor without a gradient is read as a constant, which can be the value of a field of any type.
    bool has_grad = form->buffer_has_grad[form->buffers[input]] != 0;
    bool constant = form->vertices && spyi_draw_is_float(v->type) && !(has_grad && !v->no_diff);
    spyi_text_add(w->out, "%s%s(", constant ? "no_diff " : "", v->type->name);
    for (uint32_t c = 0; c < v->type->columns; c++)
        spyi_text_add(w->out, "%sslangpy_draw_a%u%s[slangpy_draw_%s, %u]", c ? ", " : "",
                      form->buffers[input], constant && has_grad ? ".detach()" : "",
                      instance ? "instance" : "vertex", form->columns_of[input] + c);
    spyi_text_add(w->out, ")");
}

// Writes the columns of a row in which an output of the vertex function is stored. Returns the first column.
static const spyi_varying *spyi_draw_output_at(const spy_raster *raster, uint32_t location) {
    const spyi_varyings *outputs = &raster->parts[SPYI_RASTER_VERTEX].stage.outputs;
    for (uint32_t i = 0; i < outputs->count; i++)
        if (outputs->items[i].location == location) return &outputs->items[i];
    return NULL;
}

static void spyi_draw_corner_inputs(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_VERTEX];
    for (uint32_t i = 0; i < part->stage.inputs.count; i++) {
        const spyi_varying *v = &part->stage.inputs.items[i];
        if (!spyi_draw_is_simple(v->type))
            spyi_draw_refuse(w, part, v, "is of a type that draws have no gradients for");
        spyi_text_add(w->out, "    ");
        spyi_draw_path(w, v);
        spyi_text_add(w->out, " = ");
        spyi_draw_load(w, v, i);
        spyi_text_add(w->out, ";\n");
    }
    for (uint32_t i = 0; i < part->stage.system_inputs.count; i++) {
        const spyi_varying *v = &part->stage.system_inputs.items[i];
        bool vertex = strcmp(v->semantic, "SV_VERTEXID") == 0;
        if (!vertex && strcmp(v->semantic, "SV_INSTANCEID") != 0) {
            spyi_draw_refuse(w, part, v,
                             "is an input that gradients of draws do not have: there are SV_VertexID "
                             "and SV_InstanceID");
            return;
        }
        spyi_text_add(w->out, "    ");
        spyi_draw_path(w, v);
        spyi_text_add(w->out, " = %s(slangpy_draw_%s);\n", v->type->name, vertex ? "id" : "number");
    }
}

// Stores the position and the inputs of the fragment function as a row of the corners.
static void spyi_draw_corner_outputs(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_VERTEX];
    const spyi_varyings *taken = &w->raster->parts[SPYI_RASTER_FRAGMENT].stage.inputs;
    const spyi_varying *position = NULL;
    for (uint32_t i = 0; i < part->stage.system_outputs.count; i++) {
        const spyi_varying *v = &part->stage.system_outputs.items[i];
        if (strcmp(v->semantic, "SV_POSITION") == 0) position = v;
        else spyi_draw_refuse(w, part, v, "is an output that draws with gradients do not have");
    }
    w->gradient->columns = 4;
    w->gradient->flat_columns = 0;
    for (uint32_t c = 0; c < 4 && position; c++) {
        spyi_text_add(w->out, "    slangpy_draw_corners.store(slangpy_draw_at, %u, ", c);
        spyi_draw_path(w, position);
        spyi_text_add(w->out, ".%c);\n", "xyzw"[c]);
    }
    for (uint32_t i = 0; i < taken->count; i++) {
        const spyi_varying *to = &taken->items[i], *v = spyi_draw_output_at(w->raster, to->location);
        if (!v || !spyi_draw_is_simple(v->type) || !spyi_draw_is_simple(to->type) ||
            v->type->columns < to->type->columns) {
            spyi_draw_refuse(w, &w->raster->parts[SPYI_RASTER_FRAGMENT], to,
                             "is of a type that draws have no gradients for");
            return;
        }
        bool floats = spyi_draw_is_float(v->type);
        for (uint32_t c = 0; c < to->type->columns; c++) {
            uint32_t column = floats ? w->gradient->columns++ : w->gradient->flat_columns++;
            spyi_text_add(w->out, "    slangpy_draw_%s.store(slangpy_draw_at, %u, %s(",
                          floats ? "corners" : "flat", column, floats ? "float" : "int");
            spyi_draw_path(w, v);
            if (v->type->kind == SPYI_TYPE_VECTOR) spyi_text_add(w->out, ".%c", "xyzw"[c]);
            spyi_text_add(w->out, "));\n");
        }
    }
}

static void spyi_draw_corner_text(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_VERTEX];
    const spyi_draw_form *form = w->form;
    bool active = form->vertices, strip = w->raster->state.topology == SPY_TOPOLOGY_TRIANGLE_STRIP;
    spyi_text_add(w->out, "%svoid slangpy_draw_corner(%sint slangpy_draw_at, %sint4 slangpy_draw_range",
                  active ? "[Differentiable]\n" : "", active ? "no_diff " : "", active ? "no_diff " : "");
    const char *no_diff = active ? "no_diff " : "";
    if (form->indexed)
        spyi_text_add(w->out, ", %sTensor<%sint%s, 1> slangpy_draw_indices", no_diff,
                      form->signed_indices ? "" : "u", form->short_indices ? "16_t" : "");
    for (uint32_t b = 0; b < form->buffer_count; b++) {
        spyi_text_add(w->out, ", %s%sTensor<%s, 2> slangpy_draw_a%u", no_diff,
                      active && form->buffer_has_grad[b] ? "Diff" : "",
                      spyi_draw_elements[form->buffer_has_floats[b]], b);
    }
    spyi_text_add(w->out, ", %sW%sTensor<float, 2> slangpy_draw_corners", no_diff, active ? "Diff" : "");
    spyi_text_add(w->out, ", %sWTensor<int, 2> slangpy_draw_flat", no_diff);
    spyi_draw_uniform_list(w, part, active ? SPYI_DRAW_DECLARED : SPYI_DRAW_PLAIN);
    spyi_text_add(w->out,
                  ")\n{\n"
                  "    int slangpy_draw_number = slangpy_draw_at / 3 / slangpy_draw_range.x;\n"
                  "    int slangpy_draw_instance = slangpy_draw_number + slangpy_draw_range.w;\n"
                  "    int slangpy_draw_id = spyi_draw_corner(slangpy_draw_at / 3 %% slangpy_draw_range.x, "
                  "slangpy_draw_at %% 3, %s);\n",
                  strip ? "true" : "false");
    if (form->indexed)
        spyi_text_add(
            w->out,
            "    slangpy_draw_id = int(slangpy_draw_indices[slangpy_draw_id + slangpy_draw_range.y]);\n"
            "    int slangpy_draw_vertex = slangpy_draw_id + slangpy_draw_range.z;\n");
    else spyi_text_add(w->out, "    int slangpy_draw_vertex = slangpy_draw_id + slangpy_draw_range.y;\n");
    spyi_draw_variables(w, part);
    spyi_draw_corner_inputs(w);
    spyi_draw_call(w, part);
    spyi_draw_corner_outputs(w);
    spyi_text_add(w->out, "}\n\n");
}

// >>the fragment function

static void spyi_draw_fragment_inputs(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_FRAGMENT];
    const char *no_diff = w->form->vertices ? "" : "no_diff ";
    uint32_t column = 4, flat = 0;
    for (uint32_t i = 0; i < part->stage.inputs.count; i++) {
        const spyi_varying *v = &part->stage.inputs.items[i];
        bool floats = spyi_draw_is_float(v->type);
        spyi_text_add(w->out, "    ");
        spyi_draw_path(w, v);
        spyi_text_add(w->out, " = %s(", v->type->name);
        for (uint32_t c = 0; c < v->type->columns; c++) {
            if (c) spyi_text_add(w->out, ", ");
            if (!floats) spyi_text_add(w->out, "slangpy_draw_flat[slangpy_draw_corner, %u]", flat++);
            else if (v->interpolation == SPYI_INTERPOLATION_FLAT)
                spyi_text_add(w->out, "%sslangpy_draw_corners[slangpy_draw_corner, %u]", no_diff, column++);
            else
                spyi_text_add(
                    w->out, "%sspyi_draw_mix(slangpy_draw_corners, slangpy_draw_corner, %u, slangpy_draw_%s)",
                    no_diff, column++, v->interpolation == SPYI_INTERPOLATION_LINEAR ? "linear" : "weights");
        }
        spyi_text_add(w->out, ");\n");
    }
    for (uint32_t i = 0; i < part->stage.system_inputs.count; i++) {
        const spyi_varying *v = &part->stage.system_inputs.items[i];
        static const struct {
            const char *semantic, *value;
        } known[] = {
            { "SV_POSITION", "slangpy_draw_place" },
            { "SV_ISFRONTFACE", "slangpy_draw_front" },
            { "SV_PRIMITIVEID", "slangpy_draw_primitive" },
        };
        size_t k = 0;
        while (k < 3 && strcmp(known[k].semantic, v->semantic) != 0) k++;
        if (k == 3) {
            spyi_draw_refuse(w, part, v,
                             "is an input that gradients of draws do not have: there are SV_Position, "
                             "SV_IsFrontFace and SV_PrimitiveID");
            return;
        }
        spyi_text_add(w->out, "    ");
        spyi_draw_path(w, v);
        spyi_text_add(w->out, " = %s(%s);\n", v->type->name, known[k].value);
    }
}

// Writes a parameter for the gradient of each target, or only the names of these parameters.
static void spyi_draw_target_list(spyi_draw_writer *w, const char *before, const char *name) {
    for (uint32_t t = 0; t < SPY_MOST_TARGETS; t++)
        if (w->form->channels[t] && before)
            spyi_text_add(w->out, ", %sfloat%u %s%u", before, w->form->columns[t], name, t);
        else if (w->form->channels[t]) spyi_text_add(w->out, ", %s%u", name, t);
}

// Writes the sum of the fragment function's results multiplied by the targets' gradients.
static void spyi_draw_sum(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_FRAGMENT];
    for (uint32_t i = 0; i < part->stage.system_outputs.count; i++)
        spyi_draw_refuse(w, part, &part->stage.system_outputs.items[i], "is an output that has no gradients");
    spyi_text_add(w->out, "    float slangpy_draw_sum = 0;\n");
    for (uint32_t i = 0; i < part->stage.outputs.count; i++) {
        const spyi_varying *v = &part->stage.outputs.items[i];
        uint32_t t = v->location;
        if (t >= SPY_MOST_TARGETS || !w->form->channels[t]) continue;
        spyi_text_add(w->out, "    %s slangpy_draw_o%u = ", v->type->name, t);
        spyi_draw_path(w, v);
        spyi_text_add(w->out, ";\n");
        for (uint32_t c = 0; c < v->type->columns && c < w->form->columns[t]; c++) {
            char value[64];
            if (!(w->form->channels[t] & 1u << c)) continue;
            bool vector = v->type->kind == SPYI_TYPE_VECTOR;
            snprintf(value, sizeof value, "float(slangpy_draw_o%u%s%.*s)", t, vector ? "." : "", vector,
                     &"xyzw"[c]);
            spyi_text_add(w->out, "    slangpy_draw_sum += slangpy_draw_g%u%s%.*s * ", t,
                          w->form->columns[t] > 1 ? "." : "", w->form->columns[t] > 1, &"xyzw"[c]);
            if (w->form->clamps[t] == 1) spyi_text_add(w->out, "clamp(%s, 0.0, 1.0)", value);
            else if (w->form->clamps[t] == 2) spyi_text_add(w->out, "clamp(%s, -1.0, 1.0)", value);
            else spyi_text_add(w->out, "%s", value);
            spyi_text_add(w->out, ";\n");
        }
    }
    spyi_text_add(w->out,
                  "    return slangpy_draw_sum * no_diff spyi_draw_one(slangpy_draw_triangles);\n}\n\n");
}

// Writes the sum of the colours of a triangle at a point, times their gradients. The pixel's position is made
// of four scalars, because Slang 2026.14.1 gives the gradient of b in float4(float2, a, b) with a constant
// float2 to a.
static void spyi_draw_shade_text(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_FRAGMENT];
    bool clockwise = w->raster->state.clockwise_is_front;
    const char *diff = w->form->vertices ? "Diff" : "", *no_diff = w->form->vertices ? "" : "no_diff ";
    spyi_text_add(
        w->out,
        "[Differentiable]\n"
        "float slangpy_draw_shade(no_diff int slangpy_draw_corner, no_diff float2 slangpy_draw_at, no_diff "
        "SpyiDrawView slangpy_draw_view, no_diff int slangpy_draw_triangles, no_diff %sTensor<float, 2> "
        "slangpy_draw_corners, no_diff Tensor<int, 2> slangpy_draw_flat",
        diff);
    spyi_draw_target_list(w, "no_diff ", "slangpy_draw_g");
    spyi_draw_uniform_list(w, part, SPYI_DRAW_DECLARED);
    spyi_text_add(
        w->out,
        ")\n{\n"
        "    float4 slangpy_draw_p = %sspyi_draw_position(slangpy_draw_corners, slangpy_draw_corner);\n"
        "    float4 slangpy_draw_q = %sspyi_draw_position(slangpy_draw_corners, slangpy_draw_corner + 1);\n"
        "    float4 slangpy_draw_r = %sspyi_draw_position(slangpy_draw_corners, slangpy_draw_corner + 2);\n"
        "    float3 slangpy_draw_weights = spyi_draw_weights(slangpy_draw_p, slangpy_draw_q, slangpy_draw_r, "
        "no_diff "
        "slangpy_draw_view.ndc(slangpy_draw_at));\n"
        "    float slangpy_draw_z = dot(slangpy_draw_weights, float3(slangpy_draw_p.z, slangpy_draw_q.z, "
        "slangpy_draw_r.z)), slangpy_draw_h = dot(slangpy_draw_weights, float3(slangpy_draw_p.w, "
        "slangpy_draw_q.w, "
        "slangpy_draw_r.w));\n"
        "    float3 slangpy_draw_linear = slangpy_draw_weights * float3(slangpy_draw_p.w, slangpy_draw_q.w, "
        "slangpy_draw_r.w) / slangpy_draw_h;\n"
        "    float4 slangpy_draw_place = float4(slangpy_draw_at.x, slangpy_draw_at.y, "
        "slangpy_draw_view.depths.x + slangpy_draw_z "
        "/ "
        "slangpy_draw_h * (slangpy_draw_view.depths.y - slangpy_draw_view.depths.x), 1 / slangpy_draw_h);\n"
        "    bool slangpy_draw_front = no_diff spyi_draw_turn(slangpy_draw_p, slangpy_draw_q, "
        "slangpy_draw_r) %s 0;\n"
        "    int slangpy_draw_primitive = slangpy_draw_corner / 3 %% slangpy_draw_triangles;\n",
        no_diff, no_diff, no_diff, clockwise ? "<" : ">");
    spyi_draw_variables(w, part);
    spyi_draw_fragment_inputs(w);
    spyi_draw_call(w, part);
    spyi_draw_sum(w);
}

// Writes the function that is called backward for each pixel. Its derivative is written by hand, so that pixels without a
// triangle do nothing, and so that no texture is used behind a branch, which derivatives do not allow.
static void spyi_draw_pixel_text(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_FRAGMENT];
    const char *diff = w->form->vertices ? "Diff" : "";
    for (int backward = 0; backward < 2; backward++) {
        const char *no_diff = backward ? "" : "no_diff ";
        spyi_text_add(
            w->out,
            "%s slangpy_draw_pixel%s(%sint2 slangpy_draw_at, %suint slangpy_draw_id, %sSpyiDrawView "
            "slangpy_draw_view, %sint slangpy_draw_triangles, %s%sTensor<float, 2> slangpy_draw_corners, "
            "%sTensor<int, 2> slangpy_draw_flat",
            backward ? "void" : "[BackwardDerivative(slangpy_draw_pixel_bwd)]\nfloat", backward ? "_bwd" : "",
            no_diff, no_diff, no_diff, no_diff, no_diff, diff, no_diff);
        spyi_draw_target_list(w, no_diff, "slangpy_draw_g");
        spyi_draw_uniform_list(w, part, backward ? SPYI_DRAW_PAIRS : SPYI_DRAW_DECLARED);
        if (!backward) spyi_text_add(w->out, ") { return 0; }\n");
    }
    spyi_text_add(w->out, ", float slangpy_draw_d)\n{\n");
    const spyi_signature *signature = spyi_draw_signature(part);
    for (uint32_t p = 0; p < signature->param_count; p++) {
        const char *name = signature->params[p].name, *type = signature->params[p].type->name;
        if (!spyi_draw_is_given(part, p) || !spyi_draw_has_gradient(part, p)) continue;
        spyi_text_add(w->out, "    %s = DifferentialPair<%s>(%s.p, %s.dzero());\n", name, type, name, type);
    }
    spyi_text_add(
        w->out,
        "    if (slangpy_draw_id == 0) return;\n"
        "    bwd_diff(slangpy_draw_shade)(3 * int(slangpy_draw_id) - 3, float2(slangpy_draw_at) + 0.5, "
        "slangpy_draw_view, slangpy_draw_triangles, slangpy_draw_corners, slangpy_draw_flat");
    spyi_draw_target_list(w, NULL, "slangpy_draw_g");
    spyi_draw_uniform_list(w, part, SPYI_DRAW_NAMED);
    spyi_text_add(w->out, ", slangpy_draw_d);\n}\n\n");
}

// >>edges

// Writes the colour beside an edge multiplied by its gradient, with the sign that this side has in the
// difference of the two sides.
static void spyi_draw_side(spyi_draw_writer *w, const char *id, const char *sign) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_FRAGMENT];
    spyi_text_add(w->out,
                  "        if (%s != 0)\n"
                  "            slangpy_draw_jump %s= slangpy_draw_shade(3 * int(%s) - 3, slangpy_draw_where, "
                  "slangpy_draw_view, slangpy_draw_triangles, slangpy_draw_corners, slangpy_draw_flat",
                  id, sign, id);
    spyi_draw_target_list(w, NULL, "slangpy_draw_g");
    spyi_draw_uniform_list(w, part, SPYI_DRAW_NAMED);
    spyi_text_add(w->out, ");\n        else slangpy_draw_jump %s= 0", sign);
    for (uint32_t t = 0; t < SPY_MOST_TARGETS; t++)
        for (uint32_t c = 0; c < w->form->columns[t]; c++)
            if (w->form->channels[t] & 1u << c)
                spyi_text_add(w->out, " + slangpy_draw_g%u%s%.*s * slangpy_draw_c%u.%c", t,
                              w->form->columns[t] > 1 ? "." : "", w->form->columns[t] > 1, &"xyzw"[c], t,
                              "xyzw"[c]);
    spyi_text_add(w->out, ";\n");
}

// Writes the function that is called backward for each pixel and looks at its right and its lower neighbour.
// An edge that moves by d pixels gives the area d on its line from the colour behind it to its own; both
// colours are computed at the crossing. Therefore an edge within a surface adds nothing, and the function
// need not know which edges are silhouettes. Each edge counts on the lines that it crosses at more than 45
// degrees.
static void spyi_draw_edges_text(spyi_draw_writer *w) {
    const spyi_raster_part *part = &w->raster->parts[SPYI_RASTER_FRAGMENT];
    for (int backward = 0; backward < 2; backward++) {
        const char *no_diff = backward ? "" : "no_diff ";
        spyi_text_add(
            w->out,
            "%s slangpy_draw_edges%s(%sint2 slangpy_draw_at, %sTexture2D<uint> slangpy_draw_ids, "
            "%sSpyiDrawView slangpy_draw_view, %sint slangpy_draw_triangles, %sint slangpy_draw_nearer, "
            "%sDiffTensor<float, 2> slangpy_draw_corners, %sTensor<int, 2> slangpy_draw_flat",
            backward ? "void" : "[BackwardDerivative(slangpy_draw_edges_bwd)]\nfloat", backward ? "_bwd" : "",
            no_diff, no_diff, no_diff, no_diff, no_diff, no_diff, no_diff);
        for (uint32_t t = 0; t < SPY_MOST_TARGETS; t++)
            if (w->form->channels[t])
                spyi_text_add(w->out, ", %sTensor<float%u, 2> slangpy_draw_t%u, %sfloat4 slangpy_draw_c%u",
                              no_diff, w->form->columns[t], t, no_diff, t);
        spyi_draw_uniform_list(w, part, backward ? SPYI_DRAW_PLAIN : SPYI_DRAW_CONSTANT);
        if (!backward) spyi_text_add(w->out, ") { return 0; }\n");
    }
    spyi_text_add(
        w->out,
        ", float slangpy_draw_d)\n{\n"
        "    uint2 slangpy_draw_size;\n"
        "    slangpy_draw_ids.GetDimensions(slangpy_draw_size.x, slangpy_draw_size.y);\n"
        "    for (int slangpy_draw_axis = 0; slangpy_draw_axis < 2; slangpy_draw_axis++)\n"
        "    {\n"
        "        int2 slangpy_draw_next = slangpy_draw_at + (slangpy_draw_axis == 0 ? int2(1, 0) : int2(0, "
        "1)), "
        "slangpy_draw_edge;\n"
        "        if (any(slangpy_draw_next >= int2(slangpy_draw_size))) continue;\n"
        "        uint slangpy_draw_one = slangpy_draw_ids[uint2(slangpy_draw_at)], slangpy_draw_other = "
        "slangpy_draw_ids[uint2(slangpy_draw_next)];\n"
        "        if (slangpy_draw_one == slangpy_draw_other) continue;\n"
        "        float2 slangpy_draw_where = float2(slangpy_draw_at) + 0.5;\n"
        "        float slangpy_draw_step, slangpy_draw_line = slangpy_draw_axis == 0 ? slangpy_draw_where.y "
        ": "
        "slangpy_draw_where.x;\n"
        "        if (!spyi_draw_crossing(slangpy_draw_corners.detach(), slangpy_draw_one, "
        "slangpy_draw_other, "
        "slangpy_draw_where, slangpy_draw_view, slangpy_draw_axis, slangpy_draw_nearer, slangpy_draw_step, "
        "slangpy_draw_edge)) continue;\n"
        "        slangpy_draw_where[slangpy_draw_axis] += slangpy_draw_step;\n"
        "        int2 slangpy_draw_pixel = slangpy_draw_step < 0.5 ? slangpy_draw_at : slangpy_draw_next;\n"
        "        float slangpy_draw_jump = 0;\n");
    for (uint32_t t = 0; t < SPY_MOST_TARGETS; t++)
        if (w->form->channels[t])
            spyi_text_add(w->out,
                          "        float%u slangpy_draw_g%u = slangpy_draw_t%u[slangpy_draw_pixel.y, "
                          "slangpy_draw_pixel.x];\n",
                          w->form->columns[t], t, t);
    spyi_draw_side(w, "slangpy_draw_one", "+");
    spyi_draw_side(w, "slangpy_draw_other", "-");
    spyi_text_add(
        w->out,
        "        bwd_diff(spyi_draw_place)(slangpy_draw_corners, slangpy_draw_edge, slangpy_draw_line, "
        "slangpy_draw_view, slangpy_draw_axis, slangpy_draw_jump * slangpy_draw_d * "
        "spyi_draw_share(slangpy_draw_corners.detach(), slangpy_draw_edge, slangpy_draw_line, "
        "slangpy_draw_view, slangpy_draw_axis));\n"
        "    }\n}\n\n");
}

SPYI_FN spy_status spyi_draw_gradient_text(const spy_raster *raster, spyi_draw_gradient *gradient,
                                           spyi_text *out, spyi_text *error) {
    spyi_draw_writer w;
    memset(&w, 0, sizeof w);
    w.raster = raster;
    w.form = &gradient->form;
    w.gradient = gradient;
    w.out = out;
    w.error = error;
    w.status = SPY_OK;
    spyi_text_add(out, "import slangpy_raster;\n\n");
    spyi_draw_corner_text(&w);
    spyi_draw_shade_text(&w);
    spyi_draw_pixel_text(&w);
    if (w.form->edges) spyi_draw_edges_text(&w);
    return w.status;
}
