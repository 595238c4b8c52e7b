// Shader parameters of a linked program: their paths, types and inputs, out of Slang's layout of it.
//
// Slang gives each variable's place relative to what it lies in. Plain data lies in the uniform buffer of the
// ConstantBuffer<T> or ParameterBlock<T> around it, loose globals in one that Slang makes for all of them.
// Source: Slang's user guide, "Using the Reflection API".
//
// CUDA has no descriptors: buffers are data too, and a ConstantBuffer<T> or ParameterBlock<T> is the address of a uniform
// buffer in what is around it. Loose globals lie in one that has no address.
#include "compiler/internal.h"

enum { SPYI_SL_DEEPEST_INPUT = 16 };

// Where a walk stands.
typedef struct spyi_sl_at {
    size_t set, binding;           // of the next descriptor
    size_t offset;                 // bytes in the uniform buffer
    size_t data_set, data_binding; // of the uniform buffer
    size_t data_size;              // its bytes
    uint32_t holder;               // CUDA: number of the uniform buffer, as spyi_uniform_place has it
    bool parameter;
    size_t entry_set, entry_binding; // of the entry point's first parameter
    int depth;
} spyi_sl_at;

typedef struct spyi_sl_walk {
    spyi_unit *unit;
    spyi_sl_live *live;
    const spyi_sl_library *lib;
    spyi_inputs *inputs;
    spyi_sl_binding *bindings;
    uint32_t capacity;
    bool cuda;
    bool failed; // out of memory
} spyi_sl_walk;

static spyi_sl_binding *spyi_sl_add_input(spyi_sl_walk *w, spyi_input_kind kind, const char *path,
                                          const spyi_type *type, const spyi_sl_at *at) {
    spyi_inputs *p = w->inputs;
    if (p->count == w->capacity) {
        uint32_t capacity = w->capacity ? w->capacity * 2 : 16;
        spyi_input *items = (spyi_input *)realloc(p->items, capacity * sizeof *items);
        if (items) p->items = items;
        spyi_sl_binding *bindings = (spyi_sl_binding *)realloc(w->bindings, capacity * sizeof *bindings);
        if (bindings) w->bindings = bindings;
        w->failed = w->failed || !items || !bindings;
        if (w->failed) return NULL;
        w->capacity = capacity;
    }
    spyi_sl_binding *binding = &w->bindings[p->count];
    spyi_input *input = &p->items[p->count++];
    memset(input, 0, sizeof *input);
    input->kind = kind;
    input->path = spyi_strdup(path);
    input->type = type;
    input->slot = -1;
    input->offset = kind == SPYI_INPUT_DATA ? (uint32_t)at->offset : 0;
    input->parameter = at->parameter;
    if (w->cuda) {
        binding->set = 0;
        binding->binding = at->holder;
        binding->count = 1;
        binding->texel = NULL;
        w->failed = w->failed || !input->path;
        return binding;
    }
    bool data = kind == SPYI_INPUT_DATA,
         bound = data || kind == SPYI_INPUT_BUFFER || kind == SPYI_INPUT_FOREIGN;
    binding->set = bound ? (uint32_t)(data ? at->data_set : at->set) : UINT32_MAX;
    binding->binding = bound ? (uint32_t)(data ? at->data_binding : at->binding) : UINT32_MAX;
    binding->uniform_size = data ? (uint32_t)at->data_size : 0;
    binding->count = 1;
    binding->texel = NULL;
    w->failed = w->failed || !input->path;
    return binding;
}

static void spyi_sl_walk_input(spyi_sl_walk *w, spyi_sl_variable_layout *variable, const char *path,
                               spyi_sl_at at);

// >>CUDA: unsized arrays
//
// T[] is Array<T> in CUDA code: an address and a count, 16 bytes. Slang's reflection takes it for 8 (2026.12, 2026.14.1), and
// its code has unsized arrays behind all other globals, so that what lies beside one is found by C's rules.

static bool spyi_sl_has_unsized(spyi_unit *unit, spyi_sl_type_layout *layout) {
    const spyi_sl_library *lib = unit->compiler->library;
    if (!layout) return false;
    if (lib->spReflectionTypeLayout_getKind(layout) != SPYI_SL_KIND_STRUCT)
        return spyi_sl_is_unsized(unit, lib->spReflectionTypeLayout_GetType(layout));
    unsigned count = lib->spReflectionTypeLayout_GetFieldCount(layout);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable_layout *field = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        if (spyi_sl_has_unsized(unit, lib->spReflectionVariableLayout_GetTypeLayout(field))) return true;
    }
    return false;
}

// Behind `end`, which goes on behind it.
static size_t spyi_sl_cuda_place(spyi_unit *unit, spyi_sl_type_layout *layout, size_t *end) {
    int32_t align =
        unit->compiler->library->spReflectionTypeLayout_getAlignment(layout, SPYI_SL_CATEGORY_UNIFORM);
    size_t size = spyi_sl_cuda_size(unit, layout),
           at = size ? spyi_align(*end, align > 0 ? (size_t)align : 1) : *end;
    *end = at + size;
    return at;
}

// Where field number `index` lies; past the last: the end of all. `last`: unsized arrays come last.
static size_t spyi_sl_cuda_field(spyi_unit *unit, spyi_sl_type_layout *layout, bool last, unsigned index) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionTypeLayout_GetFieldCount(layout);
    size_t end = 0;
    for (int pass = last ? 0 : 1; pass < 2; ++pass) {
        for (unsigned i = 0; i < count; ++i) {
            spyi_sl_variable_layout *field = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
            spyi_sl_type_layout *type = lib->spReflectionVariableLayout_GetTypeLayout(field);
            bool unsized = spyi_sl_is_unsized(unit, lib->spReflectionTypeLayout_GetType(type));
            if (last && unsized != (pass == 1)) continue;
            size_t at = spyi_sl_cuda_place(unit, type, &end);
            if (i == index) return at;
        }
    }
    return end;
}

// All globals together are a struct without a type.
static size_t spyi_sl_cuda_struct_size(spyi_unit *unit, spyi_sl_type_layout *layout) {
    const spyi_sl_library *lib = unit->compiler->library;
    bool last = lib->spReflectionTypeLayout_GetType(layout) == NULL;
    int32_t align = lib->spReflectionTypeLayout_getAlignment(layout, SPYI_SL_CATEGORY_UNIFORM);
    return spyi_align(spyi_sl_cuda_field(unit, layout, last, UINT32_MAX), align > 8 ? (size_t)align : 8);
}

size_t spyi_sl_cuda_size(spyi_unit *unit, spyi_sl_type_layout *layout) {
    const spyi_sl_library *lib = unit->compiler->library;
    if (spyi_sl_has_unsized(unit, layout))
        return lib->spReflectionTypeLayout_getKind(layout) == SPYI_SL_KIND_STRUCT
                   ? spyi_sl_cuda_struct_size(unit, layout)
                   : 16;
    return lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_UNIFORM);
}

size_t spyi_sl_cuda_param(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_cuda_params *params) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_type_layout *layout = lib->spReflectionVariableLayout_GetTypeLayout(param);
    if (params->moved) return spyi_sl_cuda_place(unit, layout, &params->end);
    size_t at = lib->spReflectionVariableLayout_GetOffset(param, SPYI_SL_CATEGORY_UNIFORM),
           size = spyi_sl_cuda_size(unit, layout);
    params->moved = spyi_sl_has_unsized(unit, layout);
    if (size) params->end = at + size;
    return at;
}

static void spyi_sl_walk_fields(spyi_sl_walk *w, spyi_sl_type_layout *layout, const char *path,
                                const spyi_sl_at *at) {
    unsigned count = w->lib->spReflectionTypeLayout_GetFieldCount(layout);
    bool moved = w->cuda && spyi_sl_has_unsized(w->unit, layout);
    for (unsigned i = 0; i < count && !w->failed; ++i) {
        spyi_sl_variable_layout *field = w->lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        spyi_sl_variable *variable = field ? w->lib->spReflectionVariableLayout_GetVariable(field) : NULL;
        const char *name = variable ? w->lib->spReflectionVariable_GetName(variable) : NULL;
        if (!name || (!*path && strcmp(name, "spyi") == 0)) continue; // the kernel's own block
        spyi_text full = { NULL, 0, 0 };
        spyi_sl_at inner = *at;
        if (!*path && strncmp(name, SPYI_HOLDER_PREFIX, strlen(SPYI_HOLDER_PREFIX)) == 0)
            inner.parameter = true;
        spyi_text_add(&full, "%s%s%s", path, *path ? "." : "", name);
        if (moved) // what reflection says is added to that again
            inner.offset += spyi_sl_cuda_field(w->unit, layout, !*path, i) -
                            w->lib->spReflectionVariableLayout_GetOffset(field, SPYI_SL_CATEGORY_UNIFORM);
        spyi_sl_walk_input(w, field, spyi_text_str(&full), inner);
        spyi_text_free(&full);
    }
}

// CUDA: one more uniform buffer, whose address lies where `at` stands.
static void spyi_sl_add_uniform(spyi_sl_walk *w, spyi_sl_at *at, uint32_t holder, size_t size) {
    spyi_inputs *p = w->inputs;
    w->failed = w->failed || p->uniform_count == SPYI_MOST_UNIFORMS;
    if (w->failed) return;
    p->uniform_place[p->uniform_count].holder = holder;
    p->uniform_place[p->uniform_count].offset = (uint32_t)at->offset;
    p->uniform_size[p->uniform_count] = (uint32_t)size;
    at->holder = p->uniform_count++;
    at->data_size = size;
}

// What lies in a ConstantBuffer<T> or ParameterBlock<T>.
static void spyi_sl_walk_holder(spyi_sl_walk *w, spyi_sl_type_layout *layout, const char *path, spyi_sl_at at,
                                bool block) {
    const spyi_sl_library *lib = w->lib;
    spyi_sl_variable_layout *container = lib->spReflectionTypeLayout_getContainerVarLayout(layout);
    spyi_sl_variable_layout *element = lib->spReflectionTypeLayout_GetElementVarLayout(layout);
    if (!element) return;
    at.data_set = at.set;
    at.data_binding = at.binding;
    if (container)
        at.data_binding += lib->spReflectionVariableLayout_GetOffset(container, SPYI_SL_CATEGORY_DESCRIPTOR);
    if (block) at.binding = at.entry_binding; // as 2026.12 and 2026.14.1 number them; for globals it is 0
    spyi_sl_type_layout *held = lib->spReflectionVariableLayout_GetTypeLayout(element);
    at.data_size = w->cuda ? spyi_sl_cuda_size(w->unit, held)
                           : lib->spReflectionTypeLayout_GetSize(held, SPYI_SL_CATEGORY_UNIFORM);
    if (w->cuda) spyi_sl_add_uniform(w, &at, *path ? at.holder : SPYI_HOLDER_NONE, at.data_size);
    at.offset = 0;
    spyi_sl_walk_input(w, element, path, at);
}

// CUDA: T[], whose elements lie in a uniform buffer of their own, as many as a call gives. Plain data are a tensor's: they
// are given as a StructuredBuffer is, which is laid out so too.
static void spyi_sl_add_unsized(spyi_sl_walk *w, spyi_sl_type *slang, const char *path, const spyi_type *type,
                                const spyi_sl_at *at) {
    const spyi_sl_library *lib = w->lib;
    spyi_text text = { NULL, 0, 0 };
    if (!spyi_type_is_unsized(type)) {
        const spyi_type *element =
            spyi_sl_to_type(w->unit, w->live, lib->spReflectionType_GetElementType(slang), false);
        bool plain = element->kind != SPYI_TYPE_OTHER && element->kind != SPYI_TYPE_VOID && at->data_size > 0;
        spyi_text_add(&text, "StructuredBuffer<%s>", element->name);
        if (plain) type = spyi_type_other(w->unit->compiler->types, spyi_text_str(&text));
        spyi_sl_add_input(w, plain ? SPYI_INPUT_DATA : SPYI_INPUT_FOREIGN, path, type, at);
    } else {
        spyi_sl_at inner = *at;
        spyi_sl_add_input(w, SPYI_INPUT_DATA, path, type, at);
        spyi_sl_add_uniform(w, &inner, at->holder, 0);
        inner.offset = 0;
        spyi_text_add(&text, "%s[]", path);
        if (!w->failed)
            spyi_sl_add_input(w, SPYI_INPUT_DATA, spyi_text_str(&text), type->fields[0].type, &inner);
        if (!w->failed) w->inputs->items[w->inputs->count - 1].elements = true;
    }
    spyi_text_free(&text);
}

// A texture, sampler, buffer, or an array of buffers, whose elements are inputs of their own.
static void spyi_sl_add_resource(spyi_sl_walk *w, spyi_sl_type *slang, const char *path,
                                 const spyi_type *type, const spyi_sl_at *at) {
    const spyi_sl_library *lib = w->lib;
    bool array = spyi_type_is_bound_array(type);
    if (spyi_type_is_unsized(type)) {
        spyi_sl_add_input(w, SPYI_INPUT_FOREIGN, path, type, at);
        return;
    }
    uint32_t count = array ? type->field_count : 1;
    if (array) {
        spyi_sl_add_input(w, SPYI_INPUT_GROUP, path, type, at);
        slang = lib->spReflectionType_GetElementType(slang);
    }
    bool buffer = spyi_sl_is_buffer(lib, slang);
    bool texels = buffer && (lib->spReflectionType_GetResourceShape(slang) & SPYI_SL_SHAPE_MASK) ==
                                SPYI_SL_SHAPE_TEXELS;
    const spyi_type *texel =
        texels ? spyi_sl_to_type(w->unit, w->live, lib->spReflectionType_GetResourceResultType(slang), false)
               : NULL;
    spyi_input_kind kind = !buffer || (w->cuda && texels) ? SPYI_INPUT_FOREIGN
                           : w->cuda                      ? SPYI_INPUT_DATA
                                                          : SPYI_INPUT_BUFFER;
    for (uint32_t i = 0; i < count; ++i) {
        spyi_text full = { NULL, 0, 0 };
        spyi_sl_at one = *at;
        one.offset += 16 * i; // CUDA: an address and a count
        spyi_text_add(&full, "%s%s", path, array ? type->fields[i].name : "");
        spyi_sl_binding *binding =
            spyi_sl_add_input(w, kind, spyi_text_str(&full), array ? type->fields[i].type : type, &one);
        spyi_text_free(&full);
        if (!binding) return;
        binding->count = i ? 0 : count;
        binding->texel = texel;
    }
}

static void spyi_sl_walk_input(spyi_sl_walk *w, spyi_sl_variable_layout *variable, const char *path,
                               spyi_sl_at at) {
    const spyi_sl_library *lib = w->lib;
    spyi_sl_type_layout *layout = lib->spReflectionVariableLayout_GetTypeLayout(variable);
    spyi_sl_type *slang = layout ? lib->spReflectionTypeLayout_GetType(layout) : NULL;
    if (!layout || (*path && !slang) || ++at.depth > SPYI_SL_DEEPEST_INPUT)
        return; // all globals together have no type
    if (lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_CONSTANT) > 0)
        return; // fixed in the code
    at.offset += lib->spReflectionVariableLayout_GetOffset(variable, SPYI_SL_CATEGORY_UNIFORM);
    at.binding += lib->spReflectionVariableLayout_GetOffset(variable, SPYI_SL_CATEGORY_DESCRIPTOR);
    at.set += lib->spReflectionVariableLayout_GetSpace(variable, SPYI_SL_CATEGORY_DESCRIPTOR);
    unsigned kind = lib->spReflectionTypeLayout_getKind(layout);
    if (kind == SPYI_SL_KIND_PARAMETER_BLOCK) { // a descriptor set of its own
        at.set += at.entry_set;
        at.set += lib->spReflectionVariableLayout_GetOffset(variable, SPYI_SL_CATEGORY_REGISTER_SPACE);
        at.binding = 0;
    }
    if ((kind == SPYI_SL_KIND_CONSTANT_BUFFER || kind == SPYI_SL_KIND_PARAMETER_BLOCK) &&
        lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_PUSH) == 0) {
        spyi_sl_walk_holder(w, layout, path, at, kind == SPYI_SL_KIND_PARAMETER_BLOCK);
        return;
    }
    if (!*path) {
        spyi_sl_walk_fields(w, layout, path, &at);
        return;
    }
    const spyi_type *type = spyi_sl_to_type(w->unit, w->live, slang, false);
    size_t bytes = lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_UNIFORM);
    bool descriptors = lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_DESCRIPTOR) > 0 ||
                       lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_REGISTER_SPACE) > 0;
    bool resource = kind == SPYI_SL_KIND_RESOURCE || spyi_type_is_bound_array(type);
    if (w->cuda && spyi_sl_is_unsized(w->unit, slang)) {
        spyi_sl_add_unsized(w, slang, path, type, &at);
    } else if (resource && w->cuda) { // as a parameter of the kernel it lies in its block
        if (at.data_size > 0) spyi_sl_add_resource(w, slang, path, type, &at);
    } else if (w->cuda && kind == SPYI_SL_KIND_ARRAY &&
               type->kind == SPYI_TYPE_OTHER) { // of what cannot be given
        if (at.data_size > 0) spyi_sl_add_input(w, SPYI_INPUT_FOREIGN, path, type, &at);
    } else if (type->kind != SPYI_TYPE_OTHER || (bytes > 0 && !descriptors)) {
        // Vulkan's uniform buffers lie as the device's memory does: fields are found through the type. What lies in
        // none is the entry point's, and in push constants.
        if (at.data_size > 0) spyi_sl_add_input(w, SPYI_INPUT_DATA, path, type, &at);
        if (at.data_size > 0 && type->kind == SPYI_TYPE_OTHER && kind == SPYI_SL_KIND_STRUCT)
            spyi_sl_walk_fields(w, layout, path, &at);
    } else if (kind == SPYI_SL_KIND_STRUCT) {
        spyi_sl_add_input(w, SPYI_INPUT_GROUP, path, type, &at);
        spyi_sl_walk_fields(w, layout, path, &at);
    } else {
        spyi_sl_add_resource(w, slang, path, type, &at);
    }
}

bool spyi_sl_find_inputs(spyi_unit *unit, spyi_sl_live *live, spyi_sl_layout *layout, spyi_inputs *inputs,
                         spyi_sl_binding **bindings) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_walk w;
    spyi_sl_at at;
    memset(&w, 0, sizeof w);
    memset(&at, 0, sizeof at);
    w.unit = unit;
    w.live = live;
    w.lib = lib;
    w.inputs = inputs;
    w.cuda = unit->compiler->target == SPYI_TARGET_CUDA;
    spyi_sl_entry_layout *entry = lib->spReflection_getEntryPointCount(layout) > 0
                                      ? lib->spReflection_getEntryPointByIndex(layout, 0)
                                      : NULL;
    spyi_sl_variable_layout *entry_place = entry ? lib->spReflectionEntryPoint_getVarLayout(entry) : NULL;
    unsigned count = entry_place ? lib->spReflectionEntryPoint_getParameterCount(entry) : 0;
    at.parameter = true;
    at.holder = SPYI_HOLDER_BLOCK;
    if (entry_place && !w.cuda) {
        at.binding = lib->spReflectionVariableLayout_GetOffset(entry_place, SPYI_SL_CATEGORY_DESCRIPTOR);
        at.set = lib->spReflectionVariableLayout_GetSpace(entry_place, SPYI_SL_CATEGORY_DESCRIPTOR);
        at.entry_binding = at.binding;
        at.entry_set =
            lib->spReflectionVariableLayout_GetOffset(entry_place, SPYI_SL_CATEGORY_REGISTER_SPACE);
    }
    spyi_sl_cuda_params params = { 0, false };
    for (unsigned i = 0; i < count && !w.failed; ++i) {
        spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(entry, i);
        spyi_sl_variable *variable = p ? lib->spReflectionVariableLayout_GetVariable(p) : NULL;
        const char *name = variable ? lib->spReflectionVariable_GetName(variable) : NULL;
        if (w.cuda && p) // what reflection says is added to that again
            at.offset = spyi_sl_cuda_param(unit, p, &params) -
                        lib->spReflectionVariableLayout_GetOffset(p, SPYI_SL_CATEGORY_UNIFORM);
        if (name) spyi_sl_walk_input(&w, p, name, at);
    }
    memset(&at, 0, sizeof at);
    spyi_sl_variable_layout *globals = lib->spReflection_getGlobalParamsVarLayout(layout);
    spyi_sl_type_layout *whole = globals ? lib->spReflectionVariableLayout_GetTypeLayout(globals) : NULL;
    if (w.cuda && whole && lib->spReflectionTypeLayout_getKind(whole) == SPYI_SL_KIND_STRUCT)
        spyi_sl_add_uniform(&w, &at, SPYI_HOLDER_NONE, spyi_sl_cuda_size(unit, whole));
    if (globals && !w.failed) spyi_sl_walk_input(&w, globals, "", at);
    *bindings = w.bindings;
    return !w.failed;
}

// A program of the unit's module and those that it links, which brings what they import with it.
static bool spyi_sl_unit_inputs(spyi_unit *unit, spyi_sl_live *live, spyi_inputs *inputs) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_component *composite = NULL, *linked = NULL;
    spyi_sl_binding *bindings = NULL;
    spyi_sl_component **parts =
        (spyi_sl_component **)calloc(live->link_count + 1, sizeof(spyi_sl_component *));
    if (!parts) return false;
    parts[0] = (spyi_sl_component *)live->module;
    for (uint32_t i = 0; i < live->link_count; ++i) parts[i + 1] = live->links[i];
    spyi_sl_session *session = live->session;
    session->v->createCompositeComponentType(session, parts, live->link_count + 1, &composite, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (composite) composite->v->link(composite, &linked, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    spyi_sl_layout *layout = linked ? linked->v->getLayout(linked, 0, &diagnostics) : NULL;
    spyi_sl_blob_free(&diagnostics);
    bool good = layout && spyi_sl_find_inputs(unit, live, layout, inputs, &bindings);
    if (linked) linked->v->release(linked);
    if (composite) composite->v->release(composite);
    free(bindings);
    free(parts);
    return good;
}

// Estimate of what that leaves in its session, in KiB: a kernel's is 700.
enum { SPYI_SL_INPUTS_KIB = 100 };

static void spyi_sl_ask_inputs(spyi_unit *unit, spyi_sl_live *live, void *context) {
    (void)context;
    if (spyi_atomic_load(&unit->inputs_asked)) return; // another thread was first
    unit->inputs_known = spyi_sl_unit_inputs(unit, live, &unit->inputs);
    spyi_atomic_store(&unit->inputs_asked, 1);
}

const spyi_inputs *spyi_unit_inputs(spyi_unit *unit) {
    if (!spyi_atomic_load(&unit->inputs_asked))
        spyi_sl_ask(unit, SPYI_SL_INPUTS_KIB, "list shader parameters", spyi_sl_ask_inputs, NULL, NULL);
    return unit->inputs_known ? &unit->inputs : NULL;
}

bool spyi_inputs_unsized(const spyi_inputs *inputs) {
    bool unsized = false;
    for (uint32_t i = 0; i < inputs->count; ++i)
        unsized = unsized || spyi_type_is_unsized(inputs->items[i].type);
    return unsized;
}

void spyi_inputs_free(spyi_inputs *inputs) {
    for (uint32_t i = 0; i < inputs->count; ++i) free(inputs->items[i].path);
    free(inputs->items);
    memset(inputs, 0, sizeof *inputs);
}
