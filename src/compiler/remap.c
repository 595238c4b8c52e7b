// Bindings in a kernel's code: which shader parameters it uses, and their new numbers. Backends bind set 0 alone, numbered
// without gaps: structured buffers, then uniform buffers. Source: SPIR-V 1.6, sections 3 and 2.16.
#include "compiler/internal.h"

enum { // of the SPIR-V enumerants
    SPYI_OP_TYPE_POINTER = 32,
    SPYI_OP_CONSTANT = 43,
    SPYI_OP_FUNCTION = 54,
    SPYI_OP_CALL = 57,
    SPYI_OP_VARIABLE = 59,
    SPYI_OP_LOAD = 61,
    SPYI_OP_COPY_MEMORY = 63,
    SPYI_OP_ACCESS_CHAIN = 65,
    SPYI_OP_IN_BOUNDS_ACCESS_CHAIN = 66,
    SPYI_OP_DECORATE = 71,
    SPYI_OP_MEMBER_DECORATE = 72,
    SPYI_OP_COPY_OBJECT = 83,
    SPYI_DECORATION_BINDING = 33,
    SPYI_DECORATION_SET = 34,
    SPYI_DECORATION_OFFSET = 35,
    SPYI_STORAGE_CONSTANT = 0,
    SPYI_STORAGE_UNIFORM = 2,
    SPYI_STORAGE_PUSH = 9,
    SPYI_STORAGE_BUFFER = 12
};

typedef struct spyi_code_id {
    uint32_t set, binding; // UINT32_MAX: not decorated so
    uint32_t storage;      // class, of variables; UINT32_MAX: is none
    uint32_t type;         // of variables and pointers: what they lead to
    uint32_t value;        // of constants
    uint32_t number;       // new binding
} spyi_code_id;

// A variable is read as a whole, or one member of it.
typedef struct spyi_code_use {
    uint32_t variable, member; // UINT32_MAX: all
} spyi_code_use;

typedef struct spyi_code_scan {
    uint32_t *words;
    size_t count;
    spyi_code_id *ids;
    uint32_t id_count;
    spyi_code_use *uses;
    uint32_t use_count, use_capacity;
    bool failed; // out of memory
} spyi_code_scan;

static spyi_code_id *spyi_code_at(spyi_code_scan *s, uint32_t id) {
    return &s->ids[id < s->id_count ? id : 0]; // 0 is no id
}

static void spyi_code_add_use(spyi_code_scan *s, uint32_t variable, uint32_t member) {
    uint32_t storage = spyi_code_at(s, variable)->storage;
    if (storage != SPYI_STORAGE_UNIFORM) return;
    for (uint32_t i = 0; i < s->use_count; ++i)
        if (s->uses[i].variable == variable && s->uses[i].member == member) return;
    if (s->use_count == s->use_capacity) {
        uint32_t capacity = s->use_capacity ? s->use_capacity * 2 : 32;
        spyi_code_use *uses = (spyi_code_use *)realloc(s->uses, capacity * sizeof *uses);
        s->failed = s->failed || !uses;
        if (!uses) return;
        s->uses = uses;
        s->use_capacity = capacity;
    }
    s->uses[s->use_count].variable = variable;
    s->uses[s->use_count++].member = member;
}

// One instruction: what it says about ids.
static void spyi_code_read(spyi_code_scan *s, const uint32_t *w, uint32_t length) {
    switch (w[0] & 0xffffu) {
    case SPYI_OP_DECORATE:
        if (length == 4 && w[2] == SPYI_DECORATION_BINDING) spyi_code_at(s, w[1])->binding = w[3];
        if (length == 4 && w[2] == SPYI_DECORATION_SET) spyi_code_at(s, w[1])->set = w[3];
        break;
    case SPYI_OP_TYPE_POINTER:
        if (length == 4) spyi_code_at(s, w[1])->type = w[3];
        break;
    case SPYI_OP_CONSTANT:
        if (length == 4) spyi_code_at(s, w[2])->value = w[3];
        break;
    case SPYI_OP_VARIABLE:
        if (length < 4) break;
        spyi_code_at(s, w[2])->storage = w[3];
        spyi_code_at(s, w[2])->type = spyi_code_at(s, w[1])->type;
        break;
    case SPYI_OP_ACCESS_CHAIN:
    case SPYI_OP_IN_BOUNDS_ACCESS_CHAIN:
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

// false: not SPIR-V as we know it, or out of memory.
static bool spyi_code_scan_words(spyi_code_scan *s) {
    if (s->count < 5 || s->words[0] != 0x07230203u || s->words[3] > s->count * 4) return false;
    s->id_count = s->words[3] + 1;
    s->ids = (spyi_code_id *)malloc(s->id_count * sizeof *s->ids);
    if (!s->ids) return false;
    memset(s->ids, 0xff, s->id_count * sizeof *s->ids);
    for (size_t i = 5; i < s->count;) {
        uint32_t length = s->words[i] >> 16;
        if (length == 0 || length > s->count - i) return false;
        spyi_code_read(s, s->words + i, length);
        i += length;
    }
    return !s->failed;
}

// First byte of a struct's member; 0 when it is no struct.
static uint32_t spyi_code_member_offset(const spyi_code_scan *s, uint32_t type, uint32_t member) {
    for (size_t i = 5; i < s->count; i += s->words[i] >> 16) {
        const uint32_t *w = s->words + i;
        if ((w[0] & 0xffffu) == SPYI_OP_FUNCTION) break;
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
        // A member reaches up to the next one.
        for (size_t k = 5; k < s->count; k += s->words[k] >> 16) {
            const uint32_t *w = s->words + k;
            if ((w[0] & 0xffffu) == SPYI_OP_FUNCTION) break;
            if (w[0] == (5u << 16 | SPYI_OP_MEMBER_DECORATE) && w[1] == type &&
                w[3] == SPYI_DECORATION_OFFSET && w[4] > begin && w[4] < next)
                next = w[4];
        }
        if (input->offset < next && end > begin) return true;
    }
    return false;
}

// The variable of a binding in the code; 0: the code does not use it.
static uint32_t spyi_code_find(const spyi_code_scan *s, const spyi_sl_binding *b, uint32_t storage) {
    for (uint32_t id = 1; id < s->id_count && b->set != UINT32_MAX; ++id)
        if (s->ids[id].storage == storage && s->ids[id].set == b->set && s->ids[id].binding == b->binding)
            return id;
    return 0;
}

static void spyi_code_number(spyi_code_scan *s, spyi_inputs *inputs, const spyi_sl_binding *bindings) {
    for (int parameter = 1; parameter >= 0; --parameter) {
        for (uint32_t i = 0; i < inputs->count; ++i) {
            spyi_input *p = &inputs->items[i];
            bool own = p->parameter && !strchr(p->path, '.'); // not a part of a parameter
            if (p->kind != SPYI_INPUT_BUFFER || own != (parameter == 1)) continue;
            uint32_t id = spyi_code_find(s, &bindings[i], SPYI_STORAGE_BUFFER);
            p->used = id != 0;
            if (!id && !own) continue; // the emitter counts its own, whether they are used or not
            p->slot = (int32_t)inputs->binding_count++;
            if (id) s->ids[id].number = (uint32_t)p->slot;
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

// What the code uses and nobody can give.
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
        spyi_text_add(
            messages,
            "the kernel uses the shader parameter '%s' of type %s, which cannot be given; "
            "StructuredBuffer, ByteAddressBuffer, ConstantBuffer, ParameterBlock and plain data can",
            input ? input->path : "?", input ? input->type->display : "?");
        return false;
    }
    if (pushed <= 1) return true;
    spyi_text_add(messages, "the module declares push constants of its own, which are taken by the kernel's "
                            "block; make them a ConstantBuffer");
    return false;
}

static void spyi_code_patch(spyi_code_scan *s) {
    for (size_t i = 5; i < s->count; i += s->words[i] >> 16) {
        uint32_t *w = s->words + i;
        if ((w[0] & 0xffffu) == SPYI_OP_FUNCTION) return;
        if (w[0] != (4u << 16 | SPYI_OP_DECORATE)) continue;
        const spyi_code_id *id = spyi_code_at(s, w[1]);
        if (id->number == UINT32_MAX) continue;
        if (w[2] == SPYI_DECORATION_BINDING) w[3] = id->number;
        if (w[2] == SPYI_DECORATION_SET) w[3] = 0;
    }
}

bool spyi_code_remap(uint32_t *words, size_t count, spyi_inputs *inputs, const spyi_sl_binding *bindings,
                     spyi_text *messages) {
    spyi_code_scan s;
    memset(&s, 0, sizeof s);
    s.words = words;
    s.count = count;
    bool good = spyi_code_scan_words(&s);
    if (!good) spyi_text_add(messages, "its code cannot be read");
    if (good) spyi_code_number(&s, inputs, bindings);
    good = good && spyi_code_check(&s, inputs, bindings, messages);
    if (good) spyi_code_patch(&s);
    free(s.ids);
    free(s.uses);
    return good;
}
