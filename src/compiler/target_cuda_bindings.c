// Finds out which shader parameters a kernel's CUDA text uses. Slang declares all of the program's parameters
// in SLANG_globalParams, used or not. The text reads one as globalParams_0->NAME_0 and its parts as ->NAME_0
// or .NAME_0, or it copies the struct of all globals.
#include "compiler/target.h"

// Returns whether the identifier at `at` is Slang's spelling of the first `size` bytes of `name`: doubled
// underscores become one, and an underscore and a number follow.
static bool spyi_text_is(const char *at, const char *name, size_t size) {
    size_t i = 0;
    char before = 0;
    for (; i < size; i++) {
        if (name[i] == '_' && before == '_') continue;
        if (*at++ != name[i]) return false;
        before = name[i];
    }
    if (before != '_' && *at++ != '_') return false;
    if (*at < '0' || *at > '9') return false;
    while (*at >= '0' && *at <= '9') at++;
    return !spyi_is_word(*at);
}

// Returns whether the text contains `before`, `then` and Slang's spelling of `name`. When `then` is not
// empty, a number may stand before it.
static bool spyi_text_has(const char *body, const char *before, const char *then, const char *name,
                          size_t size) {
    for (const char *c = strstr(body, before); c; c = strstr(c + 1, before)) {
        const char *at = c + strlen(before);
        while (*then && *at >= '0' && *at <= '9') at++;
        if (strncmp(at, then, strlen(then)) == 0 && spyi_text_is(at + strlen(then), name, size)) return true;
    }
    return false;
}

// Returns whether the text copies the struct of all globals, as derivatives do, and then reads members as
// _S5.NAME_0.
static bool spyi_text_copies(const char *body) {
    static const char name[] = "globalParams_";
    for (const char *c = strstr(body, name); c; c = strstr(c + 1, name)) {
        const char *at = c + strlen(name);
        while (*at >= '0' && *at <= '9') at++;
        if (*at == ')' || *at == ',' || *at == ';') return true;
    }
    return false;
}

static bool spyi_text_uses(const char *body, const spyi_input *input) {
    size_t root = strcspn(input->path, ".[");
    const char *last = strrchr(input->path, '.');
    bool holder = strncmp(input->path, SPYI_HOLDER_PREFIX, strlen(SPYI_HOLDER_PREFIX)) == 0;
    if (input->parameter && !holder)
        return true; // the emitter passes every argument, even one that the code
                     // does not use
    if (!spyi_text_has(body, "globalParams_", "->", input->path, root) &&
        !(spyi_text_copies(body) && spyi_text_has(body, ".", "", input->path, root)))
        return false;
    if (!last) return true;
    size_t size = strcspn(++last, "[");
    return spyi_text_has(body, "->", "", last, size) || spyi_text_has(body, ".", "", last, size);
}

bool spyi_code_read_text(const char *body, spyi_inputs *inputs, const spyi_sl_binding *bindings,
                         spyi_text *messages) {
    bool used[SPYI_MOST_UNIFORMS] = { false };
    for (uint32_t i = 0; i < inputs->count; i++) {
        spyi_input *p = &inputs->items[i];
        uint32_t uniform = bindings[i].binding;
        if (!spyi_text_uses(body, p)) continue;
        if (p->kind == SPYI_INPUT_FOREIGN) {
            spyi_text_add(messages,
                          "the kernel uses the shader parameter '%s' of type %s, which cannot be given; "
                          "StructuredBuffer, ByteAddressBuffer, arrays of them, ConstantBuffer, "
                          "ParameterBlock and plain data can; for CUDA Slang has no code for typed buffers",
                          p->path, p->type->display);
            return false;
        }
        if (p->kind != SPYI_INPUT_DATA || uniform >= inputs->uniform_count) continue;
        p->used = true;
        p->slot = (int32_t)uniform;
        for (uint32_t at = uniform;
             at < inputs->uniform_count && !used[at];) { // the uniform buffers that hold its address count
                                                         // too
            used[at] = true;
            at = inputs->uniform_place[at].holder;
        }
    }
    for (uint32_t i = 0; i < inputs->uniform_count; i++)
        if (!used[i]) inputs->uniform_size[i] = 0;
    while (inputs->uniform_count && !used[inputs->uniform_count - 1]) inputs->uniform_count--;
    // Unused data in a used uniform buffer is uploaded and checked as well.
    for (uint32_t i = 0; i < inputs->count; i++) {
        spyi_input *p = &inputs->items[i];
        uint32_t uniform = bindings[i].binding;
        if (p->kind == SPYI_INPUT_DATA && p->type->kind != SPYI_TYPE_OTHER &&
            uniform < inputs->uniform_count && used[uniform])
            p->slot = (int32_t)uniform;
    }
    return true;
}
