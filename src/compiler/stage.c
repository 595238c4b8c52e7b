// Describes functions as vertex and fragment shaders: which parameters the stage fills or takes, and where
// its inputs and outputs lie. Also moves the bindings that the SPIR-V of a stage takes, so that two stages
// share one interface.
#include "compiler/memo.h"
#include "compiler/target.h"

SPYI_FN uint32_t spyi_sl_stage_number(uint8_t stage) {
    return stage == SPYI_STAGE_VERTEX     ? SPYI_SL_STAGE_VERTEX
           : stage == SPYI_STAGE_FRAGMENT ? SPYI_SL_STAGE_FRAGMENT
                                          : SPYI_SL_STAGE_COMPUTE;
}

// >>inputs and outputs

typedef struct spyi_sl_stage_walk {
    spyi_unit *unit;
    spyi_sl_live *live;
    spyi_varyings *list, *systems; // `systems` gets the SV_ values, `list` all others
    uint32_t category;             // SPYI_SL_CATEGORY_INPUT or _OUTPUT
    uint32_t param;
    bool targets; // locations are the numbers of SV_Target
    bool failed;  // memory ran out
} spyi_sl_stage_walk;

static char *spyi_sl_upper(const char *text) {
    char *upper = spyi_strdup(text ? text : "");
    for (char *c = upper; c && *c; c++)
        if (*c >= 'a' && *c <= 'z') *c = (char)(*c - 'a' + 'A');
    return upper;
}

static void spyi_sl_add_varying(spyi_sl_stage_walk *w, spyi_sl_variable_layout *variable, const char *name,
                                uint32_t location, const char *path, const spyi_type *type) {
    const spyi_sl_library *lib = w->unit->compiler->library;
    char *semantic = spyi_sl_upper(lib->spReflectionVariableLayout_GetSemanticName(variable));
    uint32_t index = (uint32_t)lib->spReflectionVariableLayout_GetSemanticIndex(variable);
    bool system = semantic && strncmp(semantic, "SV_", 3) == 0;
    bool target = system && w->targets && strcmp(semantic, "SV_TARGET") == 0;
    spyi_varyings *list = system && !target ? w->systems : w->list;
    spyi_varying *items = (spyi_varying *)spyi_realloc(list->items, (list->count + 1) * sizeof *items);
    if (!items || !semantic) {
        if (items) list->items = items;
        w->failed = true;
        free(semantic);
        return;
    }
    list->items = items;
    spyi_varying *v = &items[list->count++];
    memset(v, 0, sizeof *v);
    v->name = spyi_strdup(name);
    v->semantic = semantic;
    v->semantic_index = index;
    v->location = target ? index : location;
    v->param = w->param;
    v->path = spyi_strdup(path);
    v->field = path[0] != 0;
    spyi_sl_variable *of = lib->spReflectionVariableLayout_GetVariable(variable);
    v->no_diff = v->field && of && lib->spReflectionVariable_FindModifier(of, SPYI_SL_MODIFIER_NO_DIFF);
    v->type = type;
    w->failed = w->failed || !v->name || !v->path;
}

static void spyi_sl_walk_varying(spyi_sl_stage_walk *w, spyi_sl_variable_layout *variable, const char *name,
                                 uint32_t location, const char *path, int depth) {
    const spyi_sl_library *lib = w->unit->compiler->library;
    spyi_sl_type_layout *layout = lib->spReflectionVariableLayout_GetTypeLayout(variable);
    if (!layout || depth > 16) return;
    location += (uint32_t)lib->spReflectionVariableLayout_GetOffset(variable, w->category);
    unsigned count = lib->spReflectionTypeLayout_getKind(layout) == SPYI_SL_KIND_STRUCT
                         ? lib->spReflectionTypeLayout_GetFieldCount(layout)
                         : 0;
    for (unsigned i = 0; i < count && !w->failed; i++) {
        spyi_sl_variable_layout *inner = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        spyi_sl_variable *of = inner ? lib->spReflectionVariableLayout_GetVariable(inner) : NULL;
        const char *own = of ? lib->spReflectionVariable_GetName(of) : NULL;
        if (!own) continue;
        spyi_text below = { NULL, 0, 0 };
        spyi_text_add(&below, "%s.%s", path, own);
        spyi_sl_walk_varying(w, inner, own, location, spyi_text_str(&below), depth + 1);
        spyi_text_free(&below);
    }
    if (lib->spReflectionTypeLayout_getKind(layout) == SPYI_SL_KIND_STRUCT) return;
    spyi_sl_type *slang = lib->spReflectionTypeLayout_GetType(layout);
    const spyi_type *type = slang ? spyi_sl_to_type(w->unit, w->live, slang, false) : NULL;
    if (type && type->kind != SPYI_TYPE_VOID) spyi_sl_add_varying(w, variable, name, location, path, type);
}

// Returns whether the caller gives the parameter: it is uniform, or a resource.
static bool spyi_sl_is_given(const spyi_sl_library *lib, spyi_sl_variable_layout *param) {
    spyi_sl_type_layout *type = lib->spReflectionVariableLayout_GetTypeLayout(param);
    static const unsigned categories[] = { SPYI_SL_CATEGORY_UNIFORM, SPYI_SL_CATEGORY_DESCRIPTOR,
                                           SPYI_SL_CATEGORY_PUSH, SPYI_SL_CATEGORY_REGISTER_SPACE };
    for (size_t i = 0; type && i < sizeof categories / sizeof categories[0]; i++)
        if (lib->spReflectionTypeLayout_GetSize(type, categories[i]) > 0) return true;
    return false;
}

// >>the question

typedef struct spyi_sl_stage_question {
    const char *name;
    uint8_t stage;
    spyi_stage *out;
    bool good;
} spyi_sl_stage_question;

// Returns the stage that the module itself declares the function for, by [shader(...)]; 0 means that it
// declares it for none.
static uint32_t spyi_sl_declared_stage(const spyi_sl_live *live, const spyi_sl_library *lib,
                                       const char *name) {
    uint32_t stage = 0;
    int32_t count = live->module->v->getDefinedEntryPointCount(live->module);
    for (int32_t i = 0; i < count && !stage; i++) {
        spyi_sl_entry_point *entry = NULL;
        spyi_sl_blob *diagnostics = NULL;
        if (live->module->v->getDefinedEntryPoint(live->module, i, &entry) < 0 || !entry) continue;
        spyi_sl_function *function = entry->v->getFunctionReflection(entry);
        const char *own = function ? lib->spReflectionFunction_GetName(function) : NULL;
        spyi_sl_layout *layout =
            own && strcmp(own, name) == 0 ? entry->v->getLayout(entry, 0, &diagnostics) : NULL;
        spyi_sl_blob_free(&diagnostics);
        if (layout && lib->spReflection_getEntryPointCount(layout) > 0)
            stage = lib->spReflectionEntryPoint_getStage(lib->spReflection_getEntryPointByIndex(layout, 0));
        entry->v->release(entry);
    }
    return stage;
}

static void spyi_sl_look_at_stage(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_stage_question *q = (spyi_sl_stage_question *)context;
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_stage *out = q->out;
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_entry_point *entry = NULL;
    spyi_sl_component *linked = NULL;
    uint32_t declared = spyi_sl_declared_stage(live, lib, q->name);
    q->good = true;
    out->entry.stage = q->stage;
    out->declared = declared == spyi_sl_stage_number(q->stage);
    out->other =
        !out->declared && declared <= (uint32_t)SPYI_SL_STAGE_DISPATCH ? (spy_stage)declared : SPY_STAGE_NONE;
    if (!out->declared) return;
    live->module->v->findAndCheckEntryPoint(live->module, q->name, spyi_sl_stage_number(q->stage), &entry,
                                            &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    spyi_sl_layout *layout = entry ? spyi_sl_entry_layout_of(live, entry, &linked) : NULL;
    if (layout && lib->spReflection_getEntryPointCount(layout) > 0) {
        spyi_sl_entry_layout *of = lib->spReflection_getEntryPointByIndex(layout, 0);
        unsigned count = lib->spReflectionEntryPoint_getParameterCount(of);
        spyi_sl_stage_walk in, to;
        memset(&in, 0, sizeof in);
        in.unit = unit;
        in.live = live;
        in.list = &out->inputs;
        in.systems = &out->system_inputs;
        in.category = SPYI_SL_CATEGORY_INPUT;
        to = in;
        to.list = &out->outputs;
        to.systems = &out->system_outputs;
        to.category = SPYI_SL_CATEGORY_OUTPUT;
        to.targets = q->stage == SPYI_STAGE_FRAGMENT;
        for (unsigned i = 0; i < count && i < SPYI_MOST_ENTRY_PARAMS; i++) {
            spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(of, i);
            spyi_sl_variable *variable = p ? lib->spReflectionVariableLayout_GetVariable(p) : NULL;
            const char *name = variable ? lib->spReflectionVariable_GetName(variable) : NULL;
            if (!name || spyi_sl_is_given(lib, p)) continue;
            spyi_sl_direction direction = spyi_sl_direction_of(lib, variable);
            out->entry.systems[i] = SPYI_SYSTEM_VARYING;
            in.param = to.param = i;
            if (direction.in) spyi_sl_walk_varying(&in, p, name, 0, "", 0);
            if (direction.out) spyi_sl_walk_varying(&to, p, name, 0, "", 0);
        }
        spyi_sl_variable_layout *result = lib->spReflectionEntryPoint_getResultVarLayout(of);
        to.param = UINT32_MAX;
        if (result) spyi_sl_walk_varying(&to, result, "", 0, "", 0);
        q->good = !in.failed && !to.failed;
    }
    if (linked) linked->v->release(linked);
    if (entry) entry->v->release(entry);
}

static void spyi_stage_memo_fields(spyi_stream *r, void *answer) {
    spyi_stage_fields(r, (spyi_stage *)answer);
}

bool spyi_unit_stage(spyi_unit *unit, const char *name, uint8_t stage, spyi_stage *out, spyi_text *error) {
    spyi_sl_stage_question q;
    spyi_memo m;
    memset(out, 0, sizeof *out);
    q.name = name;
    q.stage = stage;
    q.out = out;
    q.good = true;
    if (!spyi_sl_name_is_safe(name)) return true; // a function with such a name is no entry point
    size_t before = error->size;
    spyi_memo_ask(&m, unit, 'g', name);
    spyi_memo_add_number(&m, stage);
    if (!spyi_memo_recall(&m, spyi_stage_memo_fields, out)) {
        spyi_stage_free(out); // frees the parts of a damaged answer
        q.good = false;
        spyi_sl_ask(unit, 4, "look at a shader of a draw", spyi_sl_look_at_stage, &q, error);
        if (q.good) spyi_memo_keep(&m, spyi_stage_memo_fields, out);
    }
    spyi_memo_end(&m);
    out->entry.stage = stage;
    if (!q.good && error->size == before) spyi_text_add(error, "out of host memory");
    return q.good;
}

static void spyi_varyings_free(spyi_varyings *list) {
    for (uint32_t i = 0; i < list->count; i++) {
        free(list->items[i].name);
        free(list->items[i].semantic);
        free(list->items[i].path);
    }
    free(list->items);
}

void spyi_stage_free(spyi_stage *stage) {
    spyi_varyings_free(&stage->inputs);
    spyi_varyings_free(&stage->outputs);
    spyi_varyings_free(&stage->system_inputs);
    spyi_varyings_free(&stage->system_outputs);
    memset(stage, 0, sizeof *stage);
}

// >>interpolation

enum { // These are numbers of SPIR-V.
    SPYI_STAGE_INPUT = 1,
    SPYI_STAGE_NO_PERSPECTIVE = 13,
    SPYI_STAGE_FLAT = 14,
    SPYI_STAGE_LOCATION = 30
};

void spyi_code_interpolation(const uint32_t *words, size_t count, spyi_varyings *inputs) {
    for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i) && i.op != SPYI_OP_FUNCTION;) {
        if (i.op != SPYI_OP_VARIABLE || i.length < 4 || i.w[3] != SPYI_STAGE_INPUT) continue;
        uint32_t variable = i.w[2], location = UINT32_MAX;
        uint8_t how = SPYI_INTERPOLATION_PERSPECTIVE;
        for (spyi_spirv_at d = spyi_spirv_first(words, count);
             spyi_spirv_next(&d) && d.op != SPYI_OP_FUNCTION;) {
            if (d.op != SPYI_OP_DECORATE || d.length < 3 || d.w[1] != variable) continue;
            if (d.w[2] == SPYI_STAGE_FLAT) how = SPYI_INTERPOLATION_FLAT;
            if (d.w[2] == SPYI_STAGE_NO_PERSPECTIVE) how = SPYI_INTERPOLATION_LINEAR;
            if (d.w[2] == SPYI_STAGE_LOCATION && d.length > 3) location = d.w[3];
        }
        for (uint32_t k = 0; k < inputs->count; k++)
            if (inputs->items[k].location == location) inputs->items[k].interpolation = how;
    }
}

// >>one interface for two stages

enum { // These are numbers of SPIR-V.
    SPYI_MOVE_BINDING = 33,
    SPYI_MOVE_SET = 34,
    SPYI_MOVE_OFFSET = 35,
    SPYI_MOVE_PUSH = 9
};

// Returns whether a variable is in the set of handles, whose bindings both stages share.
static bool spyi_code_is_handles(const uint32_t *words, size_t count, uint32_t variable) {
    for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);) {
        if (i.op == SPYI_OP_FUNCTION) break;
        if (i.op == SPYI_OP_DECORATE && i.length == 4 && i.w[1] == variable && i.w[2] == SPYI_MOVE_SET)
            return i.w[3] == SPYI_HANDLE_SET;
    }
    return false;
}

void spyi_code_move(uint32_t *words, size_t count, uint32_t block, uint32_t binding_count, uint32_t bindings,
                    uint32_t uniforms) {
    uint32_t pointer = 0, pushed = 0;
    for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);)
        if (i.op == SPYI_OP_VARIABLE && i.length >= 4 && i.w[3] == SPYI_MOVE_PUSH) pointer = i.w[1];
    for (spyi_spirv_at i = spyi_spirv_first(words, count); pointer && spyi_spirv_next(&i);)
        if (i.op == SPYI_OP_TYPE_POINTER && i.length >= 4 && i.w[1] == pointer) pushed = i.w[3];
    for (spyi_spirv_at i = spyi_spirv_first(words, count); spyi_spirv_next(&i);) {
        uint32_t *w = words + i.at;
        if (i.op == SPYI_OP_FUNCTION) return;
        if (i.op == SPYI_OP_DECORATE && i.length == 4 && w[2] == SPYI_MOVE_BINDING &&
            !spyi_code_is_handles(words, count, w[1]))
            w[3] += w[3] < binding_count ? bindings : uniforms;
        if (i.op == SPYI_OP_MEMBER_DECORATE && i.length == 5 && pushed && w[1] == pushed &&
            w[3] == SPYI_MOVE_OFFSET)
            w[4] += block;
    }
}
