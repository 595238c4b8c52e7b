// The sources of a draw's vertices: attributes by name or by explicit layouts, indices, and counts that the
// GPU reads; and the numbers of vertices and instances.
#include "call/raster.h"

#define SPYI_MOST_VERTEX_STRIDE 2048u // bytes; each device supports a stride of this size

// >>formats

// Returns the class of numbers of a type: 'f' float, 'i' integer, 'u' unsigned; 0 means that vertices cannot
// have such numbers.
static char spyi_vertex_class(spy_dtype scalar) {
    switch (scalar) {
    case SPY_DTYPE_FLOAT16:
    case SPY_DTYPE_FLOAT32: return 'f';
    case SPY_DTYPE_INT8:
    case SPY_DTYPE_INT16:
    case SPY_DTYPE_INT32: return 'i';
    case SPY_DTYPE_UINT8:
    case SPY_DTYPE_UINT16:
    case SPY_DTYPE_UINT32: return 'u';
    default: return 0;
    }
}

// Returns the format of vectors in a tensor, or NONE if there is no such format.
static spy_format spyi_vertex_format(spy_dtype scalar, uint32_t columns) {
    static const struct {
        uint8_t scalar, formats[4];
    } list[] = {
        { SPY_DTYPE_FLOAT32,
          { SPY_FORMAT_R32_FLOAT, SPY_FORMAT_RG32_FLOAT, SPY_FORMAT_RGB32_FLOAT, SPY_FORMAT_RGBA32_FLOAT } },
        { SPY_DTYPE_INT32,
          { SPY_FORMAT_R32_SINT, SPY_FORMAT_RG32_SINT, SPY_FORMAT_RGB32_SINT, SPY_FORMAT_RGBA32_SINT } },
        { SPY_DTYPE_UINT32,
          { SPY_FORMAT_R32_UINT, SPY_FORMAT_RG32_UINT, SPY_FORMAT_RGB32_UINT, SPY_FORMAT_RGBA32_UINT } },
        { SPY_DTYPE_FLOAT16, { SPY_FORMAT_R16_FLOAT, SPY_FORMAT_RG16_FLOAT, 0, SPY_FORMAT_RGBA16_FLOAT } },
        { SPY_DTYPE_INT16, { SPY_FORMAT_R16_SINT, SPY_FORMAT_RG16_SINT, 0, SPY_FORMAT_RGBA16_SINT } },
        { SPY_DTYPE_UINT16, { SPY_FORMAT_R16_UINT, SPY_FORMAT_RG16_UINT, 0, SPY_FORMAT_RGBA16_UINT } },
        { SPY_DTYPE_INT8, { SPY_FORMAT_R8_SINT, SPY_FORMAT_RG8_SINT, 0, SPY_FORMAT_RGBA8_SINT } },
        { SPY_DTYPE_UINT8, { SPY_FORMAT_R8_UINT, SPY_FORMAT_RG8_UINT, 0, SPY_FORMAT_RGBA8_UINT } },
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0] && columns >= 1 && columns <= 4; i++)
        if (list[i].scalar == scalar) return (spy_format)list[i].formats[columns - 1];
    return SPY_FORMAT_NONE;
}

static bool spyi_is_plain_input(const spyi_type *type) {
    return (type->kind == SPYI_TYPE_SCALAR || type->kind == SPYI_TYPE_VECTOR) &&
           spyi_vertex_class(type->scalar) != 0;
}

// Appends the description of an input: "'normal' (NORMAL, float3)".
static void spyi_input_text(const spyi_varying *v, spyi_text *out) {
    spyi_text_add(out, "'%s' (", v->name);
    if (v->semantic[0] && v->semantic_index) spyi_text_add(out, "%s%u, ", v->semantic, v->semantic_index);
    else if (v->semantic[0]) spyi_text_add(out, "%s, ", v->semantic);
    spyi_text_add(out, "%s)", v->type->display);
}

// >>the state's lists

static spy_status spyi_too_many_attributes(spyi_text *error) {
    spyi_text_add(error, "its attributes take more than %u locations, or lie in more buffers",
                  SPYI_MOST_ATTRIBUTES);
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_add_attribute(spyi_raster_state *s, const spyi_varying *v, uint32_t buffer,
                                     spy_format format, uint32_t offset, spyi_text *error) {
    if (s->attribute_count == SPYI_MOST_ATTRIBUTES) return spyi_too_many_attributes(error);
    spyi_raster_attribute *a = &s->attributes[s->attribute_count++];
    memset(a, 0, sizeof *a); // zeroed, because it is compared including its padding
    a->location = (uint8_t)v->location;
    a->buffer = (uint8_t)buffer;
    a->format = (uint8_t)format;
    a->offset = offset;
    return SPY_OK;
}

static bool spyi_is_per_instance(const spy_raster *raster, const char *name) {
    for (uint32_t i = 0; i < raster->instance_attribute_count; i++)
        if (strcmp(raster->instance_attributes[i], name) == 0) return true;
    return false;
}

// Notes the number of elements of a buffer for the least and the largest number of vertices or instances.
static void spyi_note_elements(spyi_drawing *d, uint32_t per_instance, uint64_t elements, const char *name) {
    if (per_instance) {
        if (elements * per_instance < d->instances)
            d->instances = elements * per_instance, d->least_instances = name;
    } else {
        if (elements > d->most || !d->most_vertices) d->most = elements, d->most_vertices = name;
        if (elements < d->vertices) d->vertices = elements, d->least_vertices = name;
    }
}

static spy_status spyi_add_buffer(spyi_drawing *d, const spy_tensor *t, uint64_t offset, uint64_t stride,
                                  uint32_t per_instance, spyi_text *error) {
    spyi_raster_state *s = &d->state;
    if (s->buffer_count == SPYI_MOST_ATTRIBUTES) return spyi_too_many_attributes(error);
    if (stride > SPYI_MOST_VERTEX_STRIDE) {
        spyi_text_add(error, "its elements lie %llu bytes apart, vertices at most %u",
                      (unsigned long long)stride, SPYI_MOST_VERTEX_STRIDE);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (!spyi_raster_room(d, 1, error)) return SPY_ERROR_OUT_OF_MEMORY;
    s->buffers[s->buffer_count].stride = (uint32_t)stride;
    s->buffers[s->buffer_count].per_instance = per_instance;
    d->work.buffers[s->buffer_count].handle = t->storage->chunk.handle;
    d->work.buffers[s->buffer_count].offset = t->storage->offset + t->offset_bytes + offset;
    d->work.buffer_count = ++s->buffer_count;
    d->raster->uses[d->use_count++] =
        spyi_use_of(&t->storage->resource, t->begin_bytes, t->end_bytes, SPYI_USE_READS);
    return SPY_OK;
}

// >>attributes by name: arguments of the draw

SPYI_FN bool spyi_is_attribute(const spy_raster *raster, const char *name) {
    const spyi_raster_part *part = &raster->parts[SPYI_RASTER_VERTEX];
    const spyi_signature *signature = &part->function->overloads.items[0];
    if (raster->attribute_count) return false;
    for (uint32_t i = 0; i < part->stage.inputs.count; i++) {
        const spyi_varying *v = &part->stage.inputs.items[i];
        if (strcmp(v->name, name) == 0) return true;
        if (v->field && v->param < signature->param_count &&
            strcmp(signature->params[v->param].name, name) == 0)
            return true;
    }
    return false;
}

// A view of a tensor as a list of scalars or vectors.
typedef struct spyi_elements {
    uint64_t count, stride; // the number of values, and bytes from one to the next
} spyi_elements;

// Returns whether the tensor is a list of scalars or vectors of the type.
static bool spyi_elements_of(const spy_tensor *t, const spyi_type *input, spyi_elements *out) {
    const spyi_type *e = t->type;
    uint32_t rank = t->shape.rank, last = rank - 1,
             wanted = 0; // the number of trailing dimensions that belong to one value
    int64_t pack = 1;
    if (e->kind == SPYI_TYPE_SCALAR && input->kind == SPYI_TYPE_VECTOR) {
        if (rank < 1 || t->shape.dims[last] != input->columns ||
            (input->columns != 1 && t->strides.dims[last] != 1))
            return false;
        wanted = 1;
        pack = input->columns;
    } else if (e->kind != input->kind || e->columns != input->columns) {
        return false;
    }
    uint64_t size = (uint64_t)pack * spyi_type_device_stride(e);
    out->stride = size;
    if (rank == wanted + 1 && t->strides.dims[0] >= 0) {
        out->count = (uint64_t)t->shape.dims[0];
        if (out->count != 1) out->stride = (uint64_t)t->strides.dims[0] * spyi_type_device_stride(e);
        return true;
    }
    out->count = (uint64_t)(t->element_count / pack);
    return t->contiguous;
}

static spy_status spyi_wrong_attribute(const spyi_varying *v, const spy_tensor *t, spyi_text *error) {
    spyi_text_add(error, "attribute ");
    spyi_input_text(v, error);
    spyi_text_add(error, ": expected a tensor of %s, one for each vertex or instance, got %s tensor ",
                  v->type->display, t->type->display);
    spyi_shape_text(&t->shape, error);
    if (!t->contiguous) {
        spyi_text_add(error, " with strides ");
        spyi_shape_text(&t->strides, error);
    }
    if (!spyi_is_plain_input(v->type))
        spyi_text_add(error,
                      "; vertices have scalars and vectors of 8 to 32 bits: give a matrix by its rows");
    return SPY_ERROR_TYPE_MISMATCH;
}

static spy_status spyi_attribute_of_tensor(spyi_drawing *d, const spyi_varying *v, const spy_tensor *t,
                                           spyi_text *error) {
    spyi_elements e;
    uint32_t per_instance = spyi_is_per_instance(d->raster, v->name);
    const spyi_type *element = t->type;
    spy_format format = spyi_vertex_format(element->scalar, v->type->columns);
    if (!spyi_is_plain_input(v->type) || !spyi_elements_of(t, v->type, &e) || !format ||
        spyi_vertex_class(element->scalar) != spyi_vertex_class(v->type->scalar))
        return spyi_wrong_attribute(v, t, error);
    spy_status status = spyi_add_buffer(d, t, 0, e.stride, per_instance, error);
    if (status != SPY_OK) return status;
    spyi_note_elements(d, per_instance, e.count, v->name);
    return spyi_add_attribute(&d->state, v, d->state.buffer_count - 1u, format, 0, error);
}

static const spyi_field *spyi_field_named(const spyi_type *type, const char *name) {
    for (uint32_t i = 0; i < type->field_count; i++)
        if (strcmp(type->fields[i].name, name) == 0) return &type->fields[i];
    return NULL;
}

// Takes all inputs of one struct parameter from a tensor of such structs.
static spy_status spyi_attributes_of_structs(spyi_drawing *d, uint32_t param, const char *name,
                                             const spy_tensor *t, bool *given, spyi_text *error) {
    const spyi_varyings *inputs = &d->raster->parts[SPYI_RASTER_VERTEX].stage.inputs;
    uint32_t per_instance = spyi_is_per_instance(d->raster, name);
    bool line = t->shape.rank == 1 && t->strides.dims[0] >= 0;
    uint64_t size = spyi_type_device_stride(t->type);
    if (t->type->kind != SPYI_TYPE_STRUCT || (!line && !t->contiguous)) {
        spyi_text_add(error, "'%s': expected a tensor of structs with the fields of its type, got %s tensor ",
                      name, t->type->display);
        spyi_shape_text(&t->shape, error);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    uint64_t stride = line && t->shape.dims[0] != 1 ? (uint64_t)t->strides.dims[0] * size : size;
    spy_status status = spyi_add_buffer(d, t, 0, stride, per_instance, error);
    if (status == SPY_OK) spyi_note_elements(d, per_instance, (uint64_t)t->element_count, name);
    for (uint32_t i = 0; i < inputs->count && status == SPY_OK; i++) {
        const spyi_varying *v = &inputs->items[i];
        if (v->param != param) continue;
        const spyi_field *f = spyi_field_named(t->type, v->name);
        const spyi_type *type = f ? f->type : NULL;
        spy_format format = type ? spyi_vertex_format(type->scalar, type->columns) : SPY_FORMAT_NONE;
        if (!format || !spyi_is_plain_input(v->type) || type->kind != v->type->kind ||
            type->columns != v->type->columns ||
            spyi_vertex_class(type->scalar) != spyi_vertex_class(v->type->scalar)) {
            spyi_text_add(error, "attribute ");
            spyi_input_text(v, error);
            spyi_text_add(error, ": the structs %s in '%s' have %s", t->type->display, name,
                          type ? type->display : "no such field");
            return SPY_ERROR_TYPE_MISMATCH;
        }
        given[i] = true;
        status = spyi_add_attribute(&d->state, v, d->state.buffer_count - 1u, format,
                                    (uint32_t)f->device_offset, error);
    }
    return status;
}

// Takes one argument as attributes.
static spy_status spyi_take_attribute(spyi_drawing *d, const spy_arg *arg, bool *given, spyi_text *error) {
    const spyi_raster_part *part = &d->raster->parts[SPYI_RASTER_VERTEX];
    const spyi_signature *signature = &part->function->overloads.items[0];
    const spy_tensor *t = arg->value.tensor;
    if (arg->kind != SPY_ARG_KIND_TENSOR) {
        spyi_text_add(error, "attribute '%s': expected a tensor", arg->name);
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (!spyi_is_on(d->device, t, SPYI_KIND_TENSOR)) {
        spyi_text_add(error, "attribute '%s': ", arg->name);
        return spyi_object_problem(t, SPYI_KIND_TENSOR, error);
    }
    uint32_t param = UINT32_MAX;
    for (uint32_t i = 0; i < part->stage.inputs.count; i++) {
        const spyi_varying *v = &part->stage.inputs.items[i];
        if (strcmp(v->name, arg->name) == 0) {
            if (given[i]) {
                spyi_text_add(error, "attribute '%s' is given twice", arg->name);
                return SPY_ERROR_INVALID_ARGUMENT;
            }
            given[i] = true;
            return spyi_attribute_of_tensor(d, v, t, error);
        }
        if (v->field && v->param < signature->param_count &&
            strcmp(signature->params[v->param].name, arg->name) == 0)
            param = v->param;
    }
    return spyi_attributes_of_structs(d, param, arg->name, t, given, error);
}

static spy_status spyi_named_attributes(spyi_drawing *d, spyi_text *error) {
    const spyi_raster_part *part = &d->raster->parts[SPYI_RASTER_VERTEX];
    bool given[SPYI_MOST_ATTRIBUTES];
    if (part->stage.inputs.count > SPYI_MOST_ATTRIBUTES) return spyi_too_many_attributes(error);
    memset(given, 0, sizeof given);
    spy_status status = SPY_OK;
    for (size_t i = 0; i < d->args.count && status == SPY_OK; i++)
        if (d->feeds[i] & SPYI_FEEDS_ATTRIBUTE)
            status = spyi_take_attribute(d, &d->args.items[i], given, error);
    for (uint32_t i = 0; i < part->stage.inputs.count && status == SPY_OK; i++) {
        if (given[i]) continue;
        spyi_text_add(error, "attribute ");
        spyi_input_text(&part->stage.inputs.items[i], error);
        spyi_text_add(error, " of the vertex function '%s' is missing: give a tensor of this name",
                      part->function->name);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    return status;
}

// >>attributes by explicit lists

static bool spyi_same_word(const char *a, const char *b) { // compares without regard to case
    for (; *a && *b; a++, b++) {
        char x = *a >= 'a' && *a <= 'z' ? (char)(*a - 'a' + 'A') : *a;
        char y = *b >= 'a' && *b <= 'z' ? (char)(*b - 'a' + 'A') : *b;
        if (x != y) return false;
    }
    return *a == *b;
}

// Returns whether the attribute's name is the input's name, or its semantic. The semantic's number may be
// part of the name or be given beside it.
static bool spyi_attribute_is(const spy_vertex_attribute *a, const spyi_varying *v) {
    char full[80];
    if (v->semantic[0] && spyi_same_word(a->name, v->semantic) && a->semantic_index == v->semantic_index)
        return true;
    snprintf(full, sizeof full, "%.64s%u", v->semantic, v->semantic_index);
    if (v->semantic[0] && spyi_same_word(a->name, full) && a->semantic_index == 0) return true;
    return a->semantic_index == 0 && strcmp(a->name, v->name) == 0;
}

static const spy_vertex_attribute *spyi_find_attribute(const spy_raster *raster, const spyi_varying *v) {
    for (uint32_t i = 0; i < raster->attribute_count; i++)
        if (spyi_attribute_is(&raster->attributes[i], v)) return &raster->attributes[i];
    return NULL;
}

SPYI_FN spy_status spyi_raster_check_attributes(const spy_raster *raster, spyi_text *error) {
    const spyi_raster_part *part = &raster->parts[SPYI_RASTER_VERTEX];
    for (uint32_t i = 0; raster->attribute_count && i < part->stage.inputs.count; i++) {
        const spyi_varying *v = &part->stage.inputs.items[i];
        const spy_vertex_attribute *a = spyi_find_attribute(raster, v);
        const spy_format_info *f = a ? spyi_format((uint32_t)a->format) : NULL;
        if (f && spyi_is_plain_input(v->type) && f->channels >= v->type->columns && !f->is_compressed &&
            !f->has_depth && spyi_vertex_class(f->dtype) == spyi_vertex_class(v->type->scalar))
            continue;
        spyi_text_add(error, "attribute ");
        spyi_input_text(v, error);
        if (!a)
            spyi_text_add(error, " of the vertex function '%s' is missing in desc.attributes",
                          part->function->name);
        else if (!f) spyi_text_add(error, ": desc.attributes gives it no format");
        else spyi_text_add(error, ": desc.attributes gives it the format %s", f->name);
        return a ? SPY_ERROR_TYPE_MISMATCH : SPY_ERROR_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < raster->layout_count; i++) {
        if (raster->layouts[i].stride <= SPYI_MOST_VERTEX_STRIDE) continue;
        spyi_text_add(error, "desc.layouts[%u].stride_bytes is %u, the most is %u", i,
                      raster->layouts[i].stride, SPYI_MOST_VERTEX_STRIDE);
        return SPY_ERROR_UNSUPPORTED;
    }
    return SPY_OK;
}

static const char *const spyi_buffer_names[SPY_MOST_VERTEX_BUFFERS] = {
    "vertex_buffers[0]",  "vertex_buffers[1]",  "vertex_buffers[2]",  "vertex_buffers[3]",
    "vertex_buffers[4]",  "vertex_buffers[5]",  "vertex_buffers[6]",  "vertex_buffers[7]",
    "vertex_buffers[8]",  "vertex_buffers[9]",  "vertex_buffers[10]", "vertex_buffers[11]",
    "vertex_buffers[12]", "vertex_buffers[13]", "vertex_buffers[14]", "vertex_buffers[15]"
};

// Adds each buffer once that some input needs. `ends` has, for each buffer, the end of the bytes that are
// read of an element.
static spy_status spyi_take_buffers(spyi_drawing *d, const uint32_t *ends, uint8_t *numbers,
                                    spyi_text *error) {
    for (uint32_t i = 0; i < d->raster->layout_count; i++) {
        const spy_vertex_buffer *b = &d->desc->vertex_buffers[i];
        const spyi_raster_buffer *layout = &d->raster->layouts[i];
        if (!ends[i]) continue;
        if (!spyi_is_on(d->device, b->tensor, SPYI_KIND_TENSOR)) {
            spyi_text_add(error, "draw.%s.tensor: ", spyi_buffer_names[i]);
            return spyi_object_problem(b->tensor, SPYI_KIND_TENSOR, error);
        }
        uint64_t bytes = b->tensor->end_bytes - b->tensor->begin_bytes;
        if (!b->tensor->contiguous || b->offset_bytes > bytes) {
            spyi_text_add(error, "draw.%s: %s", spyi_buffer_names[i],
                          b->tensor->contiguous ? "offset_bytes lies beyond the tensor's end"
                                                : "its elements do not lie next to each other");
            return SPY_ERROR_OUT_OF_RANGE;
        }
        uint64_t left = bytes - b->offset_bytes;
        uint64_t elements = left < ends[i]   ? 0
                            : layout->stride ? (left - ends[i]) / layout->stride + 1
                                             : UINT32_MAX;
        numbers[i] = d->state.buffer_count;
        spy_status status =
            spyi_add_buffer(d, b->tensor, b->offset_bytes, layout->stride, layout->per_instance, error);
        if (status != SPY_OK) return status;
        spyi_note_elements(d, layout->per_instance, elements, spyi_buffer_names[i]);
    }
    return SPY_OK;
}

static spy_status spyi_listed_attributes(spyi_drawing *d, spyi_text *error) {
    const spyi_varyings *inputs = &d->raster->parts[SPYI_RASTER_VERTEX].stage.inputs;
    uint32_t ends[SPY_MOST_VERTEX_BUFFERS];
    uint8_t numbers[SPY_MOST_VERTEX_BUFFERS];
    memset(ends, 0, sizeof ends);
    for (uint32_t i = 0; i < inputs->count; i++) {
        const spy_vertex_attribute *a = spyi_find_attribute(d->raster, &inputs->items[i]);
        uint32_t end = a->offset_bytes + spyi_format((uint32_t)a->format)->block_bytes;
        if (end > ends[a->buffer]) ends[a->buffer] = end;
    }
    spy_status status = spyi_take_buffers(d, ends, numbers, error);
    for (uint32_t i = 0; i < inputs->count && status == SPY_OK; i++) {
        const spy_vertex_attribute *a = spyi_find_attribute(d->raster, &inputs->items[i]);
        status = spyi_add_attribute(&d->state, &inputs->items[i], numbers[a->buffer], a->format,
                                    a->offset_bytes, error);
    }
    return status;
}

// >>indices and counts

// Checks a tensor whose bytes the GPU reads; *size receives its number of bytes from `offset` on.
static spy_status spyi_draw_bytes(spyi_drawing *d, const char *name, const spy_tensor *t, uint64_t offset,
                                  uint32_t grid, uint64_t *bytes, spyi_text *error) {
    if (!spyi_is_on(d->device, t, SPYI_KIND_TENSOR)) {
        spyi_text_add(error, "draw.%s: ", name);
        return spyi_object_problem(t, SPYI_KIND_TENSOR, error);
    }
    uint64_t have = t->end_bytes - t->begin_bytes;
    if (!t->contiguous) {
        spyi_text_add(error, "draw.%s: its elements do not lie next to each other", name);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (offset > have || (t->storage->offset + t->begin_bytes + offset) % grid) {
        spyi_text_add(error, "draw.%s: byte %llu lies beyond its %llu bytes, or is no multiple of %u", name,
                      (unsigned long long)offset, (unsigned long long)have, grid);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    *bytes = have - offset;
    if (!spyi_raster_room(d, 1, error)) return SPY_ERROR_OUT_OF_MEMORY;
    return SPY_OK;
}

static spy_status spyi_draw_indices(spyi_drawing *d, uint64_t *count, spyi_text *error) {
    const spy_tensor *t = d->desc->indices;
    bool alive = spyi_is_on(d->device, t, SPYI_KIND_TENSOR);
    const spyi_type *e = alive ? t->type : NULL;
    bool numbers = e && (e->kind == SPYI_TYPE_SCALAR || e->kind == SPYI_TYPE_VECTOR);
    uint64_t bytes = 0;
    bool is_short = d->desc->indices_are_16_bit;
    if (numbers && !spyi_type_is_memory(e) && e->scalar != SPY_DTYPE_UINT8) {
        is_short = e->scalar == SPY_DTYPE_UINT16 || e->scalar == SPY_DTYPE_INT16;
        if (!is_short && e->scalar != SPY_DTYPE_UINT32 && e->scalar != SPY_DTYPE_INT32) {
            spyi_text_add(error, "draw.indices: expected a tensor of uint32 or uint16, got %s", e->display);
            return SPY_ERROR_TYPE_MISMATCH;
        }
    }
    spy_status status =
        spyi_draw_bytes(d, "indices", t, d->desc->indices_offset_bytes, is_short ? 2 : 4, &bytes, error);
    if (status != SPY_OK) return status;
    d->work.indices.handle = t->storage->chunk.handle;
    d->work.indices.offset = t->storage->offset + t->begin_bytes + d->desc->indices_offset_bytes;
    d->work.indices_size = bytes;
    d->work.short_indices = is_short;
    d->raster->uses[d->use_count++] =
        spyi_use_of(&t->storage->resource, t->begin_bytes, t->end_bytes, SPYI_USE_READS);
    *count = bytes / (is_short ? 2 : 4);
    return SPY_OK;
}

static spy_status spyi_draw_indirect(spyi_drawing *d, spyi_text *error) {
    const spy_draw_desc *desc = d->desc;
    uint32_t count = desc->indirect_count ? desc->indirect_count : 1, size = desc->indices ? 20 : 16;
    uint64_t bytes = 0;
    spy_status status =
        spyi_draw_bytes(d, "indirect", desc->indirect, desc->indirect_offset_bytes, 4, &bytes, error);
    if (status != SPY_OK) return status;
    if (bytes / size < count) {
        spyi_text_add(error, "draw.indirect: %u draws need %llu bytes, it has %llu", count,
                      (unsigned long long)count * size, (unsigned long long)bytes);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    const spy_tensor *t = desc->indirect;
    uint64_t begin = t->begin_bytes + desc->indirect_offset_bytes;
    d->work.indirect.handle = t->storage->chunk.handle;
    d->work.indirect.offset = t->storage->offset + begin;
    d->work.indirect_count = count;
    d->raster->uses[d->use_count++] = spyi_use_of(
        &t->storage->resource, begin, begin + (uint64_t)count * size, SPYI_USE_READS | SPYI_USE_COUNTS);
    return SPY_OK;
}

// Finds how many vertices and instances are drawn, and checks the numbers against the sizes of the buffers.
static spy_status spyi_draw_counts(spyi_drawing *d, uint64_t indices, spyi_text *error) {
    const spy_draw_desc *desc = d->desc;
    spyi_draw_work *w = &d->work;
    uint64_t have = desc->indices ? indices : d->vertices;
    w->first = desc->first_vertex;
    w->first_vertex = desc->vertex_offset;
    w->first_instance = desc->first_instance;
    w->instance_count = desc->instance_count ? desc->instance_count : 1;
    w->count = desc->vertex_count;
    if (desc->draw_nothing || desc->indirect) {
        w->count = desc->draw_nothing ? 0 : 1; // with indirect counts it only matters whether this is 0
        return SPY_OK;
    }
    if (!w->count && have == UINT64_MAX) {
        spyi_text_add(error,
                      "draw.vertex_count is 0, and there are neither attributes nor indices that say how "
                      "many vertices there are; draw_nothing draws none");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!w->count && !desc->indices && !d->raster->attribute_count && d->most > have) {
        spyi_text_add(error,
                      "draw.vertex_count is 0, which means as many vertices as the attributes have, but '%s' "
                      "has %llu and '%s' has %llu",
                      d->most_vertices, (unsigned long long)d->most, d->least_vertices,
                      (unsigned long long)have);
        return SPY_ERROR_SHAPE_MISMATCH;
    }
    if (!w->count && have > desc->first_vertex)
        w->count =
            have - desc->first_vertex < UINT32_MAX ? (uint32_t)(have - desc->first_vertex) : UINT32_MAX;
    if (w->count && (uint64_t)desc->first_vertex + w->count > have) {
        spyi_text_add(error, "draw.vertex_count: %s %u to %llu are drawn, '%s' has %llu",
                      desc->indices ? "indices" : "vertices", desc->first_vertex,
                      (unsigned long long)desc->first_vertex + w->count - 1,
                      desc->indices ? "indices" : d->least_vertices, (unsigned long long)have);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (!w->count || (uint64_t)w->first_instance + w->instance_count <= d->instances) return SPY_OK;
    spyi_text_add(error, "draw.instance_count: instances %u to %llu are drawn, '%s' has %llu",
                  w->first_instance, (unsigned long long)w->first_instance + w->instance_count - 1,
                  d->least_instances, (unsigned long long)d->instances);
    return SPY_ERROR_OUT_OF_RANGE;
}

SPYI_FN spy_status spyi_draw_vertices(spyi_drawing *d, spyi_text *error) {
    uint64_t indices = 0;
    d->vertices = d->instances = UINT64_MAX;
    d->most = 0;
    d->most_vertices = NULL;
    spy_status status = SPY_OK;
    if (d->raster->attribute_count) status = spyi_listed_attributes(d, error);
    else if (d->raster->parts[SPYI_RASTER_VERTEX].stage.inputs.count)
        status = spyi_named_attributes(d, error);
    if (status == SPY_OK && d->desc->indices) status = spyi_draw_indices(d, &indices, error);
    if (status == SPY_OK && d->desc->indirect && !d->desc->draw_nothing)
        status = spyi_draw_indirect(d, error);
    if (status == SPY_OK) status = spyi_draw_counts(d, indices, error);
    return status;
}
