// Lists the shader parameters of a linked program with Slang's bindings, or those of a unit before there is a
// kernel. input_walk.c finds them.
#include "compiler/inputs.h"
#include "compiler/memo.h"

SPYI_FN spyi_sl_binding *spyi_sl_add_input(spyi_sl_walk *w, spyi_input_kind kind, const char *path,
                                           const spyi_type *type, const spyi_sl_at *at) {
    spyi_inputs *p = w->inputs;
    if (p->count == w->capacity) {
        uint32_t capacity = w->capacity ? w->capacity * 2 : 16;
        spyi_input *items = (spyi_input *)spyi_realloc(p->items, capacity * sizeof *items);
        if (items) p->items = items;
        spyi_sl_binding *bindings = (spyi_sl_binding *)spyi_realloc(w->bindings, capacity * sizeof *bindings);
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
    if (w->rules->by_address) {
        binding->set = 0;
        binding->binding = at->holder;
        binding->count = 1;
        binding->texel = NULL;
        binding->kind = 0;
        w->failed = w->failed || !input->path;
        return binding;
    }
    bool data = kind == SPYI_INPUT_DATA,
         bound = data || kind == SPYI_INPUT_BINDING || kind == SPYI_INPUT_FOREIGN;
    binding->set = bound ? (uint32_t)(data ? at->data_set : at->set) : UINT32_MAX;
    binding->binding = bound ? (uint32_t)(data ? at->data_binding : at->binding) : UINT32_MAX;
    binding->uniform_size = data ? (uint32_t)at->data_size : 0;
    binding->count = 1;
    binding->texel = NULL;
    binding->kind = 0;
    w->failed = w->failed || !input->path;
    return binding;
}

SPYI_FN void spyi_sl_add_uniform(spyi_sl_walk *w, spyi_sl_at *at, uint32_t holder, size_t size) {
    spyi_inputs *p = w->inputs;
    w->failed = w->failed || p->uniform_count == SPYI_MOST_UNIFORMS;
    if (w->failed) return;
    p->uniform_place[p->uniform_count].holder = holder;
    p->uniform_place[p->uniform_count].offset = (uint32_t)at->offset;
    p->uniform_size[p->uniform_count] = (uint32_t)size;
    at->holder = p->uniform_count++;
    at->data_size = size;
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
    w.rules = unit->compiler->rules;
    w.target = unit->compiler->target;
    spyi_sl_entry_layout *entry = lib->spReflection_getEntryPointCount(layout) > 0
                                      ? lib->spReflection_getEntryPointByIndex(layout, 0)
                                      : NULL;
    spyi_sl_variable_layout *entry_place = entry ? lib->spReflectionEntryPoint_getVarLayout(entry) : NULL;
    unsigned count = entry_place ? lib->spReflectionEntryPoint_getParameterCount(entry) : 0;
    at.parameter = true;
    at.holder = SPYI_HOLDER_BLOCK;
    if (entry_place && !w.rules->by_address) {
        at.binding = lib->spReflectionVariableLayout_GetOffset(entry_place, SPYI_SL_CATEGORY_DESCRIPTOR);
        at.set = lib->spReflectionVariableLayout_GetSpace(entry_place, SPYI_SL_CATEGORY_DESCRIPTOR);
        at.entry_binding = at.binding;
        at.entry_set =
            lib->spReflectionVariableLayout_GetOffset(entry_place, SPYI_SL_CATEGORY_REGISTER_SPACE);
    }
    spyi_sl_params params = { 0, false };
    for (unsigned i = 0; i < count && !w.failed; ++i) {
        spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(entry, i);
        spyi_sl_variable *variable = p ? lib->spReflectionVariableLayout_GetVariable(p) : NULL;
        const char *name = variable ? lib->spReflectionVariable_GetName(variable) : NULL;
        if (p) // undone here, because spyi_sl_walk_input() adds reflection's offset again
            at.offset = w.target->param(unit, p, &params) -
                        lib->spReflectionVariableLayout_GetOffset(p, SPYI_SL_CATEGORY_UNIFORM);
        if (name) spyi_sl_walk_input(&w, p, name, at);
    }
    memset(&at, 0, sizeof at);
    spyi_sl_variable_layout *globals = lib->spReflection_getGlobalParamsVarLayout(layout);
    spyi_sl_type_layout *whole = globals ? lib->spReflectionVariableLayout_GetTypeLayout(globals) : NULL;
    if (w.rules->by_address && whole && lib->spReflectionTypeLayout_getKind(whole) == SPYI_SL_KIND_STRUCT)
        spyi_sl_add_uniform(&w, &at, SPYI_HOLDER_NONE, w.target->size(unit, whole));
    if (globals && !w.failed) spyi_sl_walk_input(&w, globals, "", at);
    *bindings = w.bindings;
    return !w.failed;
}

// Lists the inputs of a program that links the unit's module and the modules that the unit links; their
// imports come with them.
static bool spyi_sl_unit_inputs(spyi_unit *unit, spyi_sl_live *live, spyi_inputs *inputs) {
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_component *composite = NULL, *linked = NULL;
    spyi_sl_binding *bindings = NULL;
    spyi_sl_component **parts =
        (spyi_sl_component **)spyi_calloc(live->link_count + 1, sizeof(spyi_sl_component *));
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

// Stores the inputs in the unit, unless another thread was first, and frees the rest. `inputs` is NULL when
// out of memory.
static void spyi_sl_take_inputs(spyi_unit *unit, spyi_inputs *inputs, bool known) {
    spyi_global_lock();
    if (!spyi_atomic_load(&unit->inputs_asked)) {
        if (known) {
            unit->inputs = *inputs;
            memset(inputs, 0, sizeof *inputs);
        }
        unit->inputs_known = known;
        spyi_atomic_store(&unit->inputs_asked, 1);
    }
    spyi_global_unlock();
    if (inputs) spyi_inputs_free(inputs);
    free(inputs);
}

// Estimate of the memory in KiB that listing the inputs leaves in the session; a kernel leaves 700.
enum { SPYI_SL_INPUTS_KIB = 100 };

static void spyi_sl_ask_inputs(spyi_unit *unit, spyi_sl_live *live, void *context) {
    (void)context;
    if (spyi_atomic_load(&unit->inputs_asked)) return; // another thread has listed the inputs
    spyi_inputs *inputs = (spyi_inputs *)spyi_calloc(1, sizeof *inputs);
    bool known = inputs && spyi_sl_unit_inputs(unit, live, inputs);
    spyi_sl_take_inputs(unit, inputs, known);
}

static void spyi_sl_unit_inputs_fields(spyi_stream *r, void *answer) {
    spyi_inputs_fields(r, (spyi_inputs *)answer);
}

// Takes the answer from disk, unless another thread has stored one already.
static bool spyi_sl_recall_inputs(spyi_unit *unit) {
    spyi_inputs *inputs = (spyi_inputs *)spyi_calloc(1, sizeof *inputs);
    spyi_memo m;
    spyi_memo_ask(&m, unit, 'p', NULL);
    bool good = inputs && spyi_memo_recall(&m, spyi_sl_unit_inputs_fields, inputs);
    spyi_memo_end(&m);
    if (good) {
        spyi_sl_take_inputs(unit, inputs, true);
        return true;
    }
    if (inputs) spyi_inputs_free(inputs);
    free(inputs);
    return false;
}

const spyi_inputs *spyi_unit_inputs(spyi_unit *unit) {
    if (!spyi_atomic_load(&unit->inputs_asked) && !spyi_sl_recall_inputs(unit)) {
        spyi_memo m;
        spyi_sl_ask(unit, SPYI_SL_INPUTS_KIB, "list shader parameters", spyi_sl_ask_inputs, NULL, NULL);
        spyi_memo_ask(&m, unit, 'p', NULL);
        if (unit->inputs_known) spyi_memo_keep(&m, spyi_sl_unit_inputs_fields, &unit->inputs);
        spyi_memo_end(&m);
    }
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
