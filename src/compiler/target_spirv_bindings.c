// Finds which shader parameters a kernel's SPIR-V uses, and gives their bindings new numbers. Backends expect
// descriptor set 0 with numbers without gaps: first buffers, textures and samplers, then uniform buffers. An
// array takes one number for each element. Formats of typed buffers that Slang leaves open are filled in.
// Source: SPIR-V 1.6, sections 3 and 2.16.
#include "compiler/target.h"

enum { // These are numbers of SPIR-V; those of operations are in target.h.
    SPYI_DECORATION_BINDING = 33,
    SPYI_DECORATION_SET = 34,
    SPYI_DECORATION_OFFSET = 35,
    SPYI_CAPABILITY_SHADER = 1,
    SPYI_CAPABILITY_TEXTURES_DYNAMIC = 29, // SPIR-V calls it SampledImageArrayDynamicIndexing
    SPYI_CAPABILITY_BUFFERS_DYNAMIC = 30,  // SPIR-V calls it StorageBufferArrayDynamicIndexing
    SPYI_CAPABILITY_RW_TEXTURES_DYNAMIC = 31,
    SPYI_CAPABILITY_EXTENDED_FORMATS = 49,
    SPYI_CAPABILITY_READ_WITHOUT_FORMAT = 55,
    SPYI_CAPABILITY_WRITE_WITHOUT_FORMAT = 56,
    SPYI_CAPABILITY_TEXELS_DYNAMIC = 5304,
    SPYI_CAPABILITY_RW_TEXELS_DYNAMIC = 5305,
    SPYI_STORAGE_CONSTANT = 0,
    SPYI_STORAGE_UNIFORM = 2,
    SPYI_STORAGE_PUSH = 9,
    SPYI_STORAGE_BUFFER = 12
};

typedef struct spyi_code_id {
    uint32_t set, binding; // UINT32_MAX means that the id has no such decoration
    uint32_t storage;      // the storage class of a variable; UINT32_MAX means that the id is no variable
    uint32_t type;         // the type that a variable or pointer points to, or the element type of an array
    uint32_t value;        // the value of a constant
    uint32_t number;       // the new binding
    uint32_t image;        // the word at which the instruction of an image type begins
    uint32_t op;     // the operation that declares a sampler, sampled image, run-time array or struct type
    uint32_t handle; // the spyi_handle_kind of a variable of the table of handles
    uint32_t function, position; // the function of a parameter, and the parameter's index there
} spyi_code_id;

// One use of a uniform buffer's variable or of one of its members.
typedef struct spyi_code_use {
    uint32_t variable, member; // `member` UINT32_MAX means that the use is of the variable itself
} spyi_code_use;

typedef struct spyi_code_scan {
    uint32_t *words;
    size_t count;
    spyi_code_id *ids;
    uint32_t id_count;
    spyi_code_use *uses;
    uint32_t use_count, use_capacity;
    uint32_t function, parameters; // `function` is the function that is being read, `parameters` the number
                                   // of its parameters so far
    bool failed;                   // memory ran out
} spyi_code_scan;

static spyi_code_id *spyi_code_at(spyi_code_scan *s, uint32_t id) {
    return &s->ids[id < s->id_count ? id : 0]; // 0 is not a valid id
}

static void spyi_code_add_use(spyi_code_scan *s, uint32_t variable, uint32_t member) {
    uint32_t storage = spyi_code_at(s, variable)->storage;
    if (storage != SPYI_STORAGE_UNIFORM) return;
    for (uint32_t i = 0; i < s->use_count; ++i)
        if (s->uses[i].variable == variable && s->uses[i].member == member) return;
    if (s->use_count == s->use_capacity) {
        uint32_t capacity = s->use_capacity ? s->use_capacity * 2 : 32;
        spyi_code_use *uses = (spyi_code_use *)spyi_realloc(s->uses, capacity * sizeof *uses);
        s->failed = s->failed || !uses;
        if (!uses) return;
        s->uses = uses;
        s->use_capacity = capacity;
    }
    s->uses[s->use_count].variable = variable;
    s->uses[s->use_count++].member = member;
}

// Records what one instruction says about ids.
static void spyi_code_read(spyi_code_scan *s, const uint32_t *w, uint32_t length) {
    switch (w[0] & 0xffffu) {
    case SPYI_OP_DECORATE:
        if (length == 4 && w[2] == SPYI_DECORATION_BINDING) spyi_code_at(s, w[1])->binding = w[3];
        if (length == 4 && w[2] == SPYI_DECORATION_SET) spyi_code_at(s, w[1])->set = w[3];
        break;
    case SPYI_OP_TYPE_IMAGE:
        if (length >= 9) spyi_code_at(s, w[1])->image = (uint32_t)(w - s->words);
        break;
    case SPYI_OP_TYPE_ARRAY:
        if (length == 4) spyi_code_at(s, w[1])->type = w[2];
        break;
    case SPYI_OP_TYPE_RUNTIME_ARRAY:
        if (length == 3) spyi_code_at(s, w[1])->type = w[2];
        spyi_code_at(s, w[1])->op = SPYI_OP_TYPE_RUNTIME_ARRAY;
        break;
    case SPYI_OP_TYPE_SAMPLER:
    case SPYI_OP_TYPE_SAMPLED_IMAGE:
    case SPYI_OP_TYPE_STRUCT: spyi_code_at(s, w[1])->op = w[0] & 0xffffu; break;
    case SPYI_OP_TYPE_POINTER:
        if (length == 4) spyi_code_at(s, w[1])->type = w[3];
        break;
    case SPYI_OP_CONSTANT:
        if (length == 4) spyi_code_at(s, w[2])->value = w[3];
        break;
    case SPYI_OP_FUNCTION:
        s->function = w[2];
        s->parameters = 0;
        break;
    case SPYI_OP_PARAMETER:
        spyi_code_at(s, w[2])->function = s->function;
        spyi_code_at(s, w[2])->position = s->parameters++;
        break;
    case SPYI_OP_VARIABLE:
        if (length < 4) break;
        spyi_code_at(s, w[2])->storage = w[3];
        spyi_code_at(s, w[2])->type = spyi_code_at(s, w[1])->type;
        break;
    case SPYI_OP_ACCESS_CHAIN:
    case SPYI_OP_IN_BOUNDS_ACCESS_CHAIN:
        if (length >= 4) spyi_code_at(s, w[2])->type = spyi_code_at(s, w[1])->type;
        if (length >= 5) spyi_code_add_use(s, w[3], spyi_code_at(s, w[4])->value);
        else if (length == 4) spyi_code_add_use(s, w[3], UINT32_MAX);
        break;
    case SPYI_OP_LOAD:
    case SPYI_OP_COPY_OBJECT:
        if (length >= 4) spyi_code_add_use(s, w[3], UINT32_MAX);
        break;
    case SPYI_OP_COPY_MEMORY:
        if (length >= 3) spyi_code_add_use(s, w[2], UINT32_MAX);
        break;
    case SPYI_OP_CALL:
        for (uint32_t i = 4; i < length; ++i) spyi_code_add_use(s, w[i], UINT32_MAX);
        break;
    default: break;
    }
}

// Reads all instructions. Returns false when the code is damaged or memory ran out.
static bool spyi_code_scan_words(spyi_code_scan *s) {
    if (!spyi_spirv_is_known(s->words, s->count)) return false;
    s->id_count = s->words[3] + 1;
    s->ids = (spyi_code_id *)spyi_malloc(s->id_count * sizeof *s->ids);
    if (!s->ids) return false;
    memset(s->ids, 0xff, s->id_count * sizeof *s->ids);
    spyi_spirv_at i = spyi_spirv_first(s->words, s->count);
    while (spyi_spirv_next(&i)) spyi_code_read(s, i.w, (uint32_t)i.length);
    return !s->failed && !i.broken;
}

// Returns the byte offset of a struct's member; 0 when `type` is no struct.
static uint32_t spyi_code_member_offset(const spyi_code_scan *s, uint32_t type, uint32_t member) {
    for (spyi_spirv_at i = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&i);) {
        const uint32_t *w = i.w;
        if (i.op == SPYI_OP_FUNCTION) break;
        if (w[0] == (5u << 16 | SPYI_OP_MEMBER_DECORATE) && w[1] == type && w[2] == member &&
            w[3] == SPYI_DECORATION_OFFSET)
            return w[4];
    }
    return 0;
}

static bool spyi_code_uses_data(spyi_code_scan *s, uint32_t variable, const spyi_input *input) {
    uint32_t type = spyi_code_at(s, variable)->type;
    uint32_t end = input->offset + (uint32_t)(input->type->device_size ? input->type->device_size : 1);
    for (uint32_t i = 0; i < s->use_count; ++i) {
        if (s->uses[i].variable != variable) continue;
        if (s->uses[i].member == UINT32_MAX) return true;
        uint32_t begin = spyi_code_member_offset(s, type, s->uses[i].member), next = UINT32_MAX;
        // A member ends where the next one begins.
        for (spyi_spirv_at k = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&k);) {
            const uint32_t *w = k.w;
            if (k.op == SPYI_OP_FUNCTION) break;
            if (w[0] == (5u << 16 | SPYI_OP_MEMBER_DECORATE) && w[1] == type &&
                w[3] == SPYI_DECORATION_OFFSET && w[4] > begin && w[4] < next)
                next = w[4];
        }
        if (input->offset < next && end > begin) return true;
    }
    return false;
}

// Returns the variable that the code has for a binding; 0 means that the code does not use it.
static uint32_t spyi_code_find(const spyi_code_scan *s, const spyi_sl_binding *b, uint32_t storage) {
    for (uint32_t id = 1; id < s->id_count && b->set != UINT32_MAX; ++id)
        if (s->ids[id].storage == storage && s->ids[id].set == b->set && s->ids[id].binding == b->binding)
            return id;
    return 0;
}

// >>typed buffers

// Returns the instruction of the image type of a variable or of an array's elements; NULL means that it has
// none.
static uint32_t *spyi_code_image(spyi_code_scan *s, uint32_t variable) {
    const spyi_code_id *type = spyi_code_at(s, spyi_code_at(s, variable)->type);
    if (type->image == UINT32_MAX) type = spyi_code_at(s, type->type);
    return type->image == UINT32_MAX ? NULL : s->words + type->image;
}

// Word numbers in OpTypeImage, and the value of SAMPLED for a storage image.
enum { SPYI_IMAGE_SAMPLED = 7, SPYI_IMAGE_FORMAT = 8, SPYI_IMAGE_STORAGE = 2 };

// Returns SPIR-V's image format for texels of a type; 0 if there is none.
static uint32_t spyi_code_format(const spyi_type *texel) {
    static const struct {
        uint8_t scalar, formats[3]; // `formats` are for one, two and four columns
    } list[] = {
        { SPY_DTYPE_FLOAT32, { 3, 6, 1 } },  { SPY_DTYPE_FLOAT16, { 9, 7, 2 } },
        { SPY_DTYPE_INT32, { 24, 25, 21 } }, { SPY_DTYPE_UINT32, { 33, 35, 30 } },
        { SPY_DTYPE_INT16, { 28, 26, 22 } }, { SPY_DTYPE_UINT16, { 38, 36, 31 } },
        { SPY_DTYPE_INT8, { 29, 27, 23 } },  { SPY_DTYPE_UINT8, { 39, 37, 32 } },
    };
    for (size_t i = 0; i < sizeof list / sizeof list[0] && texel->columns != 3; ++i)
        if (list[i].scalar == texel->scalar) return list[i].formats[texel->columns / 2];
    return 0;
}

static void spyi_code_add_capability(spyi_code_scan *s, uint32_t capability) {
    for (size_t i = 5; i < s->count && (s->words[i] & 0xffffu) == SPYI_OP_CAPABILITY; i += 2)
        if (s->words[i + 1] == capability) return;
    memmove(s->words + 7, s->words + 5, (s->count - 5) * sizeof *s->words);
    s->words[5] = 2u << 16 | SPYI_OP_CAPABILITY;
    s->words[6] = capability;
    s->count += 2;
    for (uint32_t id = 0; id < s->id_count; id++) // image types have moved with all other words
        if (s->ids[id].image != UINT32_MAX) s->ids[id].image += 2;
}

// Sets the format of an image type that Slang left open, as for RWBuffer<float> and its vectors: not every
// device can read such a buffer without a format. All these buffers share one type in the code, so it only
// gets a format if all of them have the same.
static void spyi_code_set_format(spyi_code_scan *s, const spyi_inputs *inputs,
                                 const spyi_sl_binding *bindings, uint32_t *image, uint32_t format) {
    for (uint32_t i = 0; i < inputs->count; ++i) {
        uint32_t id = bindings[i].texel ? spyi_code_find(s, &bindings[i], SPYI_STORAGE_CONSTANT) : 0;
        if (id && spyi_code_image(s, id) == image && spyi_code_format(bindings[i].texel) != format) return;
    }
    for (uint32_t id = 1; id < s->id_count; ++id) { // looks for an equal type, because SPIR-V forbids two
                                                    // equal types
        const uint32_t *w = s->ids[id].image == UINT32_MAX ? NULL : s->words + s->ids[id].image;
        if (w && w != image && w[SPYI_IMAGE_FORMAT] == format && memcmp(w + 2, image + 2, 6 * sizeof *w) == 0)
            return;
    }
    image[SPYI_IMAGE_FORMAT] = format;
}

// Returns whether a format is none of those that every device stores to.
static bool spyi_code_is_extended(uint32_t format) {
    return format > 5 && format != 21 && format != 22 && format != 23 && format != 24 && format != 30 &&
           format != 31 && format != 32 && format != 33;
}

// Corrects the code's capabilities after formats were filled in.
static void spyi_code_format_capabilities(spyi_code_scan *s) {
    bool open = false, extended = false;
    for (uint32_t id = 1; id < s->id_count; ++id) {
        const uint32_t *w = s->ids[id].image == UINT32_MAX ? NULL : s->words + s->ids[id].image;
        if (!w || w[SPYI_IMAGE_SAMPLED] != SPYI_IMAGE_STORAGE) continue;
        open = open || w[SPYI_IMAGE_FORMAT] == 0;
        extended = extended || spyi_code_is_extended(w[SPYI_IMAGE_FORMAT]);
    }
    for (size_t i = 5; i < s->count && (s->words[i] & 0xffffu) == SPYI_OP_CAPABILITY && !open; i += 2)
        if (s->words[i + 1] == SPYI_CAPABILITY_READ_WITHOUT_FORMAT ||
            s->words[i + 1] == SPYI_CAPABILITY_WRITE_WITHOUT_FORMAT)
            s->words[i + 1] = SPYI_CAPABILITY_SHADER; // no longer needed; SHADER is declared anyway
    if (extended) spyi_code_add_capability(s, SPYI_CAPABILITY_EXTENDED_FORMATS);
}

// Fills in open formats. Returns false when a format differs from that of the buffer's elements.
static bool spyi_code_formats(spyi_code_scan *s, const spyi_inputs *inputs, const spyi_sl_binding *bindings,
                              spyi_text *messages) {
    bool filled = false;
    for (uint32_t i = 0; i < inputs->count; ++i) {
        uint32_t id = bindings[i].texel ? spyi_code_find(s, &bindings[i], SPYI_STORAGE_CONSTANT) : 0;
        uint32_t *image = id ? spyi_code_image(s, id) : NULL,
                 format = id ? spyi_code_format(bindings[i].texel) : 0;
        if (!image || image[SPYI_IMAGE_SAMPLED] != SPYI_IMAGE_STORAGE) continue;
        if (image[SPYI_IMAGE_FORMAT] == 0 && format) {
            spyi_code_set_format(s, inputs, bindings, image, format);
            filled = filled || image[SPYI_IMAGE_FORMAT];
        }
        if (image[SPYI_IMAGE_FORMAT] == 0 || image[SPYI_IMAGE_FORMAT] == format) continue;
        spyi_text_add(messages, "the [format] of the shader parameter '%s' is not that of its elements, %s",
                      inputs->items[i].path, bindings[i].texel->display);
        return false;
    }
    if (filled) spyi_code_format_capabilities(s);
    return true;
}

// Rejects atomic operations on texels other than single 32-bit integers: they are invalid, or need image
// features that are not enabled.
static bool spyi_code_check_atomics(spyi_code_scan *s, const spyi_inputs *inputs,
                                    const spyi_sl_binding *bindings, spyi_text *messages) {
    for (spyi_spirv_at i = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&i);) {
        const uint32_t *w = i.w;
        if (i.op != SPYI_OP_TEXEL_POINTER || i.length < 6) continue;
        const uint32_t *image = spyi_code_image(s, w[3]);
        if (image && (image[SPYI_IMAGE_FORMAT] == 24 || image[SPYI_IMAGE_FORMAT] == 33))
            continue; // R32i and R32ui are formats of single 32-bit integers
        const char *path = "?";
        bool texture = false;
        for (uint32_t k = 0; k < inputs->count; ++k) {
            bool found = (bindings[k].texel || bindings[k].kind) &&
                         spyi_code_find(s, &bindings[k], SPYI_STORAGE_CONSTANT) == w[3];
            if (found) path = inputs->items[k].path;
            texture = texture || (found && bindings[k].kind);
        }
        spyi_text_add(
            messages,
            texture ? "the atomic operation on the texture '%s' needs one of format r32_uint or r32_sint: "
                      "write [format(\"r32ui\")] or [format(\"r32i\")] before it"
                    : "the atomic operation on the shader parameter '%s' needs an RWBuffer<int> or "
                      "RWBuffer<uint>; take an RWStructuredBuffer",
            path);
        return false;
    }
    return true;
}

// Appends a binding or an array of bindings to inputs->parameters, with its first binding's new number.
static void spyi_code_add_parameter(spyi_code_scan *s, spyi_inputs *inputs, uint32_t number, uint32_t id,
                                    const spyi_sl_binding *b) {
    const uint32_t *image = id ? spyi_code_image(s, id) : NULL;
    spyi_parameter *p = &inputs->parameters[inputs->parameter_count++];
    memset(p, 0, sizeof *p);
    p->kind = SPYI_PARAMETER_BUFFER;
    p->stages = SPYI_STAGE_COMPUTE;
    p->count = (uint16_t)b->count;
    p->number = number;
    if (b->kind) p->kind = b->kind;
    if (!b->texel) return;
    p->kind = image && image[SPYI_IMAGE_SAMPLED] == SPYI_IMAGE_STORAGE ? SPYI_PARAMETER_RW_TEXELS
                                                                       : SPYI_PARAMETER_TEXELS;
    p->scalar = (uint8_t)b->texel->scalar;
    p->columns = (uint8_t)b->texel->columns;
}

static const spyi_parameter *spyi_code_parameter(const spyi_inputs *inputs, uint32_t number) {
    const spyi_parameter *p = inputs->parameters, *end = p + inputs->parameter_count;
    while (p < end && (number < p->number || number - p->number >= p->count)) p++;
    return p < end ? p : NULL;
}

// Returns whether an id is a constant, or a parameter that is constant in all calls of its function: the
// functions that access buffers get indices this way.
static bool spyi_code_is_constant(spyi_code_scan *s, uint32_t id, int depth) {
    const spyi_code_id *p = spyi_code_at(s, id);
    if (p->value != UINT32_MAX || p->function == UINT32_MAX || depth == 0) return p->value != UINT32_MAX;
    for (spyi_spirv_at i = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&i);) {
        if (i.op == SPYI_OP_CALL && i.w[3] == p->function && i.length > 4 + p->position &&
            !spyi_code_is_constant(s, i.w[4 + p->position], depth - 1))
            return false;
    }
    return true;
}

// Adds the capabilities for arrays of buffers that are indexed by something other than a constant; Slang does
// not declare them.
static void spyi_code_dynamic(spyi_code_scan *s, const spyi_inputs *inputs) {
    bool kinds[SPYI_PARAMETER_KINDS] = { false };
    for (spyi_spirv_at i = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&i);) {
        static const uint8_t of_handles[SPYI_HANDLE_KINDS] = {
            SPYI_PARAMETER_SAMPLER, SPYI_PARAMETER_COMBINED, SPYI_PARAMETER_TEXTURE,
            SPYI_PARAMETER_RW_TEXTURE, SPYI_PARAMETER_BUFFER
        };
        if (!spyi_spirv_is_chain(i.op) || i.length < 5) continue;
        uint32_t number = spyi_code_at(s, i.w[3])->number, handle = spyi_code_at(s, i.w[3])->handle;
        if (handle != UINT32_MAX) {
            kinds[of_handles[handle]] = true;
            continue;
        }
        const spyi_parameter *p = spyi_code_parameter(inputs, number);
        if (p && !spyi_code_is_constant(s, i.w[4], 8)) kinds[p->kind] = true;
    }
    bool textures =
        kinds[SPYI_PARAMETER_TEXTURE] || kinds[SPYI_PARAMETER_SAMPLER] || kinds[SPYI_PARAMETER_COMBINED];
    if (textures) spyi_code_add_capability(s, SPYI_CAPABILITY_TEXTURES_DYNAMIC);
    if (kinds[SPYI_PARAMETER_RW_TEXTURE]) spyi_code_add_capability(s, SPYI_CAPABILITY_RW_TEXTURES_DYNAMIC);
    if (kinds[SPYI_PARAMETER_BUFFER]) spyi_code_add_capability(s, SPYI_CAPABILITY_BUFFERS_DYNAMIC);
    if (kinds[SPYI_PARAMETER_TEXELS]) spyi_code_add_capability(s, SPYI_CAPABILITY_TEXELS_DYNAMIC);
    if (kinds[SPYI_PARAMETER_RW_TEXELS]) spyi_code_add_capability(s, SPYI_CAPABILITY_RW_TEXELS_DYNAMIC);
}

// >>numbers

// Gives a new number to all variables of a binding: a byte-address buffer has one variable for each width
// that it is read in.
static void spyi_code_set_number(spyi_code_scan *s, uint32_t first, uint32_t number) {
    const spyi_code_id was = s->ids[first];
    for (uint32_t id = first; id < s->id_count; ++id)
        if (s->ids[id].storage == was.storage && s->ids[id].set == was.set &&
            s->ids[id].binding == was.binding)
            s->ids[id].number = number;
}

static void spyi_code_number(spyi_code_scan *s, spyi_inputs *inputs, const spyi_sl_binding *bindings) {
    for (int parameter = 1; parameter >= 0; --parameter) {
        for (uint32_t i = 0; i < inputs->count; ++i) {
            spyi_input *p = &inputs->items[i];
            bool own = p->parameter && !strpbrk(p->path, ".["); // the path names a whole parameter, not a
                                                                // member or element of one
            if (p->kind != SPYI_INPUT_BINDING || own != (parameter == 1)) continue;
            bool constant = bindings[i].texel || bindings[i].kind;
            uint32_t id =
                spyi_code_find(s, &bindings[i], constant ? SPYI_STORAGE_CONSTANT : SPYI_STORAGE_BUFFER);
            p->used = id != 0;
            if (!id && !own) continue; // the emitter counts the kernel's own buffers, used or not
            p->slot = (int32_t)inputs->binding_count++;
            if (bindings[i].count && inputs->parameter_count < SPYI_MOST_PARAMETERS)
                spyi_code_add_parameter(s, inputs, (uint32_t)p->slot, id, &bindings[i]);
            if (id && bindings[i].count) spyi_code_set_number(s, id, (uint32_t)p->slot);
        }
    }
    for (uint32_t i = 0; i < inputs->count; ++i) {
        spyi_input *p = &inputs->items[i];
        uint32_t id = p->kind == SPYI_INPUT_DATA ? spyi_code_find(s, &bindings[i], SPYI_STORAGE_UNIFORM) : 0;
        if (!id) continue;
        spyi_code_id *variable = &s->ids[id];
        if (variable->number == UINT32_MAX && inputs->uniform_count < SPYI_MOST_UNIFORMS) {
            inputs->uniform_size[inputs->uniform_count] = bindings[i].uniform_size;
            variable->number = inputs->binding_count + inputs->uniform_count++;
        }
        if (variable->number == UINT32_MAX) continue;
        p->slot = (int32_t)(variable->number - inputs->binding_count);
        p->used = spyi_code_uses_data(s, id, p);
    }
}

// >>handles

// Returns the spyi_handle_kind of an element of a run-time array of descriptors; SPYI_HANDLE_KINDS: none.
static uint32_t spyi_code_handle_kind(spyi_code_scan *s, uint32_t element) {
    enum { DIMENSION_BUFFER = 5, WORD_DIMENSION = 3 };
    const spyi_code_id *type = spyi_code_at(s, element);
    if (type->op == SPYI_OP_TYPE_SAMPLER) return SPYI_HANDLE_SAMPLER;
    if (type->op == SPYI_OP_TYPE_SAMPLED_IMAGE) return SPYI_HANDLE_COMBINED;
    if (type->op == SPYI_OP_TYPE_STRUCT) return SPYI_HANDLE_BUFFER;
    if (type->image == UINT32_MAX || s->words[type->image + WORD_DIMENSION] == DIMENSION_BUFFER)
        return SPYI_HANDLE_KINDS;
    return s->words[type->image + SPYI_IMAGE_SAMPLED] == SPYI_IMAGE_STORAGE ? SPYI_HANDLE_RW_TEXTURE
                                                                            : SPYI_HANDLE_TEXTURE;
}

static bool spyi_code_is_input(const spyi_code_id *v, const spyi_inputs *inputs,
                               const spyi_sl_binding *bindings) {
    for (uint32_t i = 0; i < inputs->count; ++i)
        if (bindings[i].set == v->set && bindings[i].binding == v->binding) return true;
    return false;
}

// Gives each array of handles the set of handles and the binding of its kind. Slang makes of
// DescriptorHandle<T> arrays of descriptors without a size, which are no shader parameters: one for each
// type, in one set, and most of them with one binding. Returns false when there are too many parameters.
static bool spyi_code_handles(spyi_code_scan *s, spyi_inputs *inputs, const spyi_sl_binding *bindings,
                              spyi_text *messages) {
    bool any = false;
    for (uint32_t id = 1; id < s->id_count; ++id) {
        spyi_code_id *v = &s->ids[id];
        const spyi_code_id *array = spyi_code_at(s, v->type);
        if (v->set == UINT32_MAX || v->number != UINT32_MAX || array->op != SPYI_OP_TYPE_RUNTIME_ARRAY ||
            (v->storage != SPYI_STORAGE_CONSTANT && v->storage != SPYI_STORAGE_BUFFER) ||
            spyi_code_is_input(v, inputs, bindings))
            continue;
        uint32_t kind = spyi_code_handle_kind(s, array->type);
        if (kind == SPYI_HANDLE_KINDS) continue; // spyi_code_check() refuses it
        v->handle = v->number = kind;
        any = true;
    }
    if (!any) return true;
    if (inputs->parameter_count == SPYI_MOST_PARAMETERS) {
        spyi_text_add(messages,
                      "the kernel uses handles beside %d other shader parameters, which is one too many",
                      SPYI_MOST_PARAMETERS);
        return false;
    }
    spyi_parameter *p = &inputs->parameters[inputs->parameter_count++];
    memset(p, 0, sizeof *p);
    p->kind = SPYI_PARAMETER_HANDLES;
    p->stages = SPYI_STAGE_COMPUTE;
    p->space = SPYI_HANDLE_SET;
    return true;
}

// Rejects code that uses unsupported shader parameters, or push constants of the module's own.
static bool spyi_code_check(const spyi_code_scan *s, const spyi_inputs *inputs,
                            const spyi_sl_binding *bindings, spyi_text *messages) {
    uint32_t pushed = 0;
    for (uint32_t id = 1; id < s->id_count; ++id) {
        const spyi_code_id *v = &s->ids[id];
        pushed += v->storage == SPYI_STORAGE_PUSH;
        if (v->number != UINT32_MAX || v->set == UINT32_MAX ||
            (v->storage != SPYI_STORAGE_BUFFER && v->storage != SPYI_STORAGE_UNIFORM &&
             v->storage != SPYI_STORAGE_CONSTANT))
            continue;
        const spyi_input *input = NULL;
        for (uint32_t i = 0; i < inputs->count && !input; ++i)
            if (bindings[i].set == v->set && bindings[i].binding == v->binding) input = &inputs->items[i];
        if (!input &&
            spyi_code_at((spyi_code_scan *)(uintptr_t)s, v->type)->op == SPYI_OP_TYPE_RUNTIME_ARRAY) {
            spyi_text_add(
                messages,
                "the kernel uses a bindless handle of a Buffer, RWBuffer or another resource that has "
                "none; textures, samplers, structured and byte-address buffers have handles");
            return false;
        }
        spyi_text_add(
            messages,
            "the kernel uses the shader parameter '%s' of type %s, which cannot be given; "
            "StructuredBuffer, ByteAddressBuffer, Buffer, textures, samplers, fixed arrays of them, "
            "ConstantBuffer, ParameterBlock and plain data can%s",
            input ? input->path : "?", input ? input->type->display : "?",
            input && spyi_type_is_unsized(input->type) ? SPYI_UNSIZED_REFUSED : "");
        return false;
    }
    if (pushed <= 1) return true;
    spyi_text_add(messages, "the module declares push constants of its own, which are taken by the kernel's "
                            "block; make them a ConstantBuffer");
    return false;
}

static void spyi_code_patch(spyi_code_scan *s) {
    for (spyi_spirv_at i = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&i);) {
        uint32_t *w = s->words + i.at;
        if (i.op == SPYI_OP_FUNCTION) return;
        if (w[0] != (4u << 16 | SPYI_OP_DECORATE)) continue;
        const spyi_code_id *id = spyi_code_at(s, w[1]);
        if (id->number == UINT32_MAX) continue;
        if (w[2] == SPYI_DECORATION_BINDING) w[3] = id->number;
        if (w[2] == SPYI_DECORATION_SET) w[3] = id->handle != UINT32_MAX ? SPYI_HANDLE_SET : 0;
    }
}

bool spyi_code_remap(uint32_t *words, size_t *count, spyi_inputs *inputs, const spyi_sl_binding *bindings,
                     spyi_text *messages) {
    spyi_code_scan s;
    memset(&s, 0, sizeof s);
    s.words = words;
    s.count = *count;
    bool good = spyi_code_scan_words(&s);
    if (!good) spyi_text_add(messages, "its code cannot be read");
    if (good) spyi_code_number(&s, inputs, bindings);
    good = good && spyi_code_handles(&s, inputs, bindings, messages);
    good = good && spyi_code_check(&s, inputs, bindings, messages);
    good = good && spyi_code_formats(&s, inputs, bindings, messages);
    good = good && spyi_code_check_atomics(&s, inputs, bindings, messages);
    if (good) spyi_code_dynamic(&s, inputs);
    if (good) spyi_code_patch(&s);
    *count = s.count;
    free(s.ids);
    free(s.uses);
    return good;
}

// >>formats of stored textures

// Replaces the image type `gone` by its equal `kept` and removes it: SPIR-V forbids two equal types.
static void spyi_code_merge_images(spyi_code_scan *s, uint32_t gone, uint32_t kept) {
    size_t to = 5;
    for (spyi_spirv_at i = spyi_spirv_first(s->words, s->count); spyi_spirv_next(&i);) {
        uint32_t *w = s->words + i.at;
        bool typed = i.op == SPYI_OP_LOAD || i.op == SPYI_OP_COPY_OBJECT || i.op == SPYI_OP_PARAMETER;
        if (typed && w[1] == gone) w[1] = kept;
        if (i.op == SPYI_OP_TYPE_POINTER && w[3] == gone) w[3] = kept;
        if ((i.op == SPYI_OP_TYPE_ARRAY || i.op == SPYI_OP_TYPE_RUNTIME_ARRAY) && w[2] == gone) w[2] = kept;
        for (size_t k = 2; i.op == SPYI_OP_TYPE_FUNCTION && k < i.length; k++)
            if (w[k] == gone) w[k] = kept;
        bool about = i.op == SPYI_OP_NAME || i.op == SPYI_OP_DECORATE || i.op == SPYI_OP_TYPE_IMAGE;
        if (about && w[1] == gone) continue;
        // The iterator reads words that lie behind those that have been moved.
        memmove(s->words + to, w, i.length * sizeof *w);
        to += i.length;
    }
    s->count = to;
}

// Returns the id of an image type that equals the one at `image`, or 0.
static uint32_t spyi_code_equal_image(const spyi_code_scan *s, const uint32_t *image) {
    for (uint32_t id = 1; id < s->id_count; ++id) {
        const uint32_t *w = s->ids[id].image == UINT32_MAX ? NULL : s->words + s->ids[id].image;
        if (w && w != image && w[0] == image[0] && memcmp(w + 2, image + 2, (w[0] >> 16) * 4 - 8) == 0)
            return id;
    }
    return 0;
}

// Returns the number of the format that all variables of this image type have; 0 means that they have
// several.
static uint32_t spyi_code_common_format(spyi_code_scan *s, const uint32_t *image, const uint8_t *formats,
                                        uint32_t count) {
    uint32_t common = 0, number = 0;
    for (uint32_t id = 1; id < s->id_count; ++id) {
        const spyi_code_id *v = &s->ids[id];
        if (v->storage != SPYI_STORAGE_CONSTANT || spyi_code_image(s, id) != image) continue;
        uint32_t format = v->binding < count ? formats[v->binding] : 0;
        if (!format || !spyi_format_layout(format, &number) || (common && number != common)) return 0;
        common = number;
    }
    return common;
}

// Names the open format of one image type. Returns false when there is none left. Sets *failed when its
// variables have several formats.
static bool spyi_code_name_format(spyi_code_scan *s, const uint8_t *formats, uint32_t count, bool *failed) {
    for (uint32_t id = 1; id < s->id_count; ++id) {
        const spyi_code_id *v = &s->ids[id];
        if (v->storage != SPYI_STORAGE_CONSTANT || v->binding >= count || !formats[v->binding]) continue;
        uint32_t *image = spyi_code_image(s, id);
        if (!image || image[SPYI_IMAGE_SAMPLED] != SPYI_IMAGE_STORAGE || image[SPYI_IMAGE_FORMAT]) continue;
        image[SPYI_IMAGE_FORMAT] = spyi_code_common_format(s, image, formats, count);
        *failed = image[SPYI_IMAGE_FORMAT] == 0;
        uint32_t own = image[1], equal = *failed ? 0 : spyi_code_equal_image(s, image);
        // The image type that is declared first stays.
        if (equal && s->ids[equal].image < (uint32_t)(image - s->words))
            spyi_code_merge_images(s, own, equal);
        else if (equal) spyi_code_merge_images(s, equal, own);
        return !*failed;
    }
    return false;
}

spy_status spyi_code_name_formats(spyi_code *code, const uint8_t *formats, uint32_t count, spyi_text *error) {
    spyi_code_scan s;
    bool failed = false, good = true, more = true;
    uint32_t *words = (uint32_t *)spyi_malloc(code->size + SPYI_CODE_ROOM * sizeof *words);
    if (!words) {
        spyi_text_add(error, "out of host memory");
        return SPY_ERROR_OUT_OF_MEMORY;
    }
    memcpy(words, code->data, code->size);
    size_t size = code->size / sizeof *words;
    while (good && more) { // each turn moves words, so the code is read anew
        memset(&s, 0, sizeof s);
        s.words = words;
        s.count = size;
        good = spyi_code_scan_words(&s);
        more = good && spyi_code_name_format(&s, formats, count, &failed);
        if (good && !more && !failed) spyi_code_format_capabilities(&s);
        size = s.count;
        free(s.ids);
        free(s.uses);
    }
    if (!good || failed) {
        spyi_text_add(error,
                      failed ? "the kernel stores to textures of several formats that are fields or globals "
                               "of one type; on this device such textures need one format, or make them "
                               "parameters of the function"
                             : "its code cannot be read");
        free(words);
        return failed ? SPY_ERROR_UNSUPPORTED : SPY_ERROR_INTERNAL;
    }
    free(code->data);
    code->data = words;
    code->size = size * sizeof *words;
    return SPY_OK;
}
