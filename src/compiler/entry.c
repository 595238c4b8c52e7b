// Describes functions as entry points of a compute shader: their [numthreads], the parameters that the system
// fills, and the offsets of the other parameters.
#include "compiler/memo.h"
#include "compiler/target.h"

static spyi_system spyi_sl_system(const char *semantic) {
    static const struct {
        const char *name;
        spyi_system system;
    } names[] = { { "SV_DISPATCHTHREADID", SPYI_SYSTEM_THREAD },
                  { "SV_GROUPID", SPYI_SYSTEM_GROUP },
                  { "SV_GROUPTHREADID", SPYI_SYSTEM_LOCAL },
                  { "SV_GROUPINDEX", SPYI_SYSTEM_INDEX } };
    char upper[32];
    size_t n = semantic ? strlen(semantic) : 0;
    if (n == 0 || n >= sizeof upper) return SPYI_SYSTEM_NONE;
    for (size_t i = 0; i <= n; i++)
        upper[i] = (char)(semantic[i] >= 'a' && semantic[i] <= 'z' ? semantic[i] - 'a' + 'A' : semantic[i]);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(upper, names[i].name) == 0) return names[i].system;
    return SPYI_SYSTEM_NONE;
}

// Returns whether the module itself declares the function, of whatever generic arguments, as an entry point.
static bool spyi_sl_is_shader(const spyi_sl_live *live, const spyi_sl_library *lib, const char *name) {
    bool found = false;
    size_t length = strcspn(name, "<");
    int32_t count = live->module->v->getDefinedEntryPointCount(live->module);
    for (int32_t i = 0; i < count && !found; i++) {
        spyi_sl_entry_point *entry = NULL;
        if (live->module->v->getDefinedEntryPoint(live->module, i, &entry) < 0 || !entry) continue;
        spyi_sl_function *function = entry->v->getFunctionReflection(entry);
        const char *own = function ? lib->spReflectionFunction_GetName(function) : NULL;
        found = own && strncmp(own, name, length) == 0 && !own[length];
        entry->v->release(entry);
    }
    return found;
}

typedef struct spyi_sl_entry_question {
    const char *name;
    spyi_entry *out;
    bool yes;
} spyi_sl_entry_question;

static void spyi_sl_ask_shader(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_entry_question *q = (spyi_sl_entry_question *)context;
    q->yes = spyi_sl_is_shader(live, unit->compiler->library, q->name);
}

static void spyi_sl_ask_cuda_kernel(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_entry_question *q = (spyi_sl_entry_question *)context;
    q->yes = spyi_sl_is_cuda_kernel(unit, live, q->name);
}

static void spyi_sl_question_fields(spyi_stream *r, void *answer) {
    spyi_sl_entry_question *q = (spyi_sl_entry_question *)answer;
    spyi_stream_bool(r, &q->yes);
    if (q->out) spyi_entry_fields(r, q->out);
}

static bool spyi_sl_ask_entry(spyi_unit *unit, char sort, const char *name,
                              void (*func)(spyi_unit *unit, spyi_sl_live *live, void *context),
                              spyi_entry *out) {
    spyi_sl_entry_question q;
    q.name = name;
    q.out = out;
    q.yes = false;
    spyi_memo m;
    spyi_memo_ask(&m, unit, sort, name);
    if (!spyi_memo_recall(&m, spyi_sl_question_fields, &q)) {
        if (out) memset(out, 0, sizeof *out);
        q.yes = false;
        if (spyi_sl_ask(unit, out ? 4 : 1, "look at an entry point", func, &q, NULL) == SPY_OK)
            spyi_memo_keep(&m, spyi_sl_question_fields, &q);
    }
    spyi_memo_end(&m);
    return q.yes;
}

bool spyi_unit_is_shader(spyi_unit *unit, const char *name) {
    return spyi_sl_ask_entry(unit, 'h', name, spyi_sl_ask_shader, NULL);
}

// >>[CudaKernel]
// Reflection does not list Slang's own attributes. The module's text in Slang's IR has them, each on a line
// before the function that it decorates: [CudaKernel], [nameHint("ns.fill")], func %fill : ...

static void spyi_sl_read_ir(const char *text, spyi_text *names) {
    static const char mark[] = "[CudaKernel]", hint[] = "[nameHint(\"", function[] = "func ";
    const char *name = NULL;
    size_t length = 0;
    bool kernel = false;
    for (const char *line = text; *line;) {
        while (*line == ' ' || *line == '\t') line++;
        if (strncmp(line, function, sizeof function - 1) == 0 && kernel && name) {
            spyi_text_add_n(names, name, length);
            spyi_text_add(names, "\n");
        }
        if (*line != '[') { // this line is an instruction, and the decorations after it belong to the next
                            // one
            kernel = false;
            name = NULL;
        }
        if (strncmp(line, mark, sizeof mark - 1) == 0) kernel = true;
        if (strncmp(line, hint, sizeof hint - 1) == 0) {
            name = line + sizeof hint - 1;
            length = strcspn(name, "\"\n");
        }
        line += strcspn(line, "\n");
        if (*line) line++;
    }
}

// Reads the module's IR once.
static void spyi_sl_read_functions(spyi_unit *unit, spyi_sl_live *live) {
    spyi_sl_blob *blob = NULL;
    if (!unit->cuda_kernels_asked && live->module->v->disassemble(live->module, &blob) >= 0 && blob) {
        spyi_text text = { NULL, 0, 0 }; // the blob may lack a final NUL
        spyi_text_add_n(&text, (const char *)blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob));
        spyi_sl_read_ir(spyi_text_str(&text), &unit->cuda_kernels);
        spyi_ir_networks(spyi_text_str(&text), &unit->networks);
        spyi_text_free(&text);
    }
    spyi_sl_blob_free(&blob);
    unit->cuda_kernels_asked = true;
}

bool spyi_sl_is_cuda_kernel(spyi_unit *unit, spyi_sl_live *live, const char *name) {
    spyi_sl_read_functions(unit, live);
    for (const char *line = spyi_text_str(&unit->cuda_kernels); *line;) {
        const char *c = name;
        // The IR's name "ns.f" equals "ns::f" in `name`.
        while (*c && (*c == *line || (*line == '.' && c[0] == ':' && c[1] == ':'))) {
            c += *c == ':' ? 2 : 1;
            line++;
        }
        if (!*c && *line == '\n') return true;
        line += strcspn(line, "\n") + 1;
    }
    return false;
}

// >>networks

// Sets q->yes if the list has the name once, marked by one of the characters.
static void spyi_sl_find_network(spyi_unit *unit, spyi_sl_live *live, spyi_sl_entry_question *q,
                                 const char *marks) {
    uint32_t networks = 0, others = 0;
    size_t length = strlen(q->name);
    spyi_sl_read_functions(unit, live);
    for (const char *line = spyi_text_str(&unit->networks); *line; line += strcspn(line, "\n") + 1) {
        if (strncmp(line + 1, q->name, length) != 0 || line[1 + length] != '\n') continue;
        if (strchr(marks, *line)) networks++;
        else others++;
    }
    q->yes = networks == 1 && others == 0;
}

static void spyi_sl_ask_network(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_find_network(unit, live, (spyi_sl_entry_question *)context,
                         SPYI_NETWORK_PLAIN SPYI_NETWORK_DERIVED);
}

static void spyi_sl_ask_derived_network(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_find_network(unit, live, (spyi_sl_entry_question *)context, SPYI_NETWORK_DERIVED);
}

bool spyi_unit_is_network(spyi_unit *unit, const char *name, bool backward) {
    return backward ? spyi_sl_ask_entry(unit, 'W', name, spyi_sl_ask_derived_network, NULL)
                    : spyi_sl_ask_entry(unit, 'w', name, spyi_sl_ask_network, NULL);
}

bool spyi_unit_is_cuda_kernel(spyi_unit *unit, const char *name) {
    return spyi_sl_ask_entry(unit, 'k', name, spyi_sl_ask_cuda_kernel, NULL);
}

// Links an entry point of the unit's module with the modules that the unit links. Returns NULL if it links
// none, or if linking fails.
static spyi_sl_component *spyi_sl_link_entry(spyi_sl_live *live, spyi_sl_entry_point *entry) {
    if (!live->link_count) return NULL;
    spyi_sl_component **parts = (spyi_sl_component **)spyi_calloc(
        live->link_count + live->conformance_count + 2, sizeof(spyi_sl_component *));
    spyi_sl_component *composite = NULL, *linked = NULL;
    spyi_sl_blob *diagnostics = NULL;
    uint32_t count = 0;
    if (!parts) return NULL;
    parts[count++] = (spyi_sl_component *)live->module;
    parts[count++] = (spyi_sl_component *)entry;
    for (uint32_t i = 0; i < live->link_count; i++) parts[count++] = live->links[i];
    for (uint32_t i = 0; i < live->conformance_count; i++) parts[count++] = live->conformances[i];
    live->session->v->createCompositeComponentType(live->session, parts, count, &composite, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (composite) composite->v->link(composite, &linked, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (composite) composite->v->release(composite);
    free(parts);
    return linked;
}

spyi_sl_layout *spyi_sl_entry_layout_of(spyi_sl_live *live, spyi_sl_entry_point *entry,
                                        spyi_sl_component **linked) {
    spyi_sl_blob *diagnostics = NULL;
    *linked = spyi_sl_link_entry(live, entry);
    spyi_sl_layout *layout = *linked ? (*linked)->v->getLayout(*linked, 0, &diagnostics)
                                     : entry->v->getLayout(entry, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    return layout;
}

static void spyi_sl_look_at_entry(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_entry_question *q = (spyi_sl_entry_question *)context;
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_entry *out = q->out;
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_entry_point *entry = NULL;
    out->cuda_kernel = spyi_sl_is_cuda_kernel(unit, live, q->name);
    // The system fills none of a [CudaKernel]'s parameters, and libslang would take the function for a
    // shader.
    if (out->cuda_kernel) return;
    live->module->v->findAndCheckEntryPoint(live->module, q->name, SPYI_SL_STAGE_COMPUTE, &entry,
                                            &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    // libslang throws when it is asked for the layout of an entry point that is still generic. An entry point
    // with generic arguments in its name ("fill<float>") is not generic any more, though
    // getSpecializationParamCount() still counts its parameters.
    bool open = entry && !strchr(q->name, '<') && entry->v->getSpecializationParamCount(entry) > 0;
    spyi_sl_component *linked = NULL;
    spyi_sl_layout *layout = entry && !open ? spyi_sl_entry_layout_of(live, entry, &linked) : NULL;
    if (layout && lib->spReflection_getEntryPointCount(layout) > 0) {
        spyi_sl_entry_layout *of = lib->spReflection_getEntryPointByIndex(layout, 0);
        uint64_t size[3] = { 0, 0, 0 };
        unsigned count = lib->spReflectionEntryPoint_getParameterCount(of);
        lib->spReflectionEntryPoint_getComputeThreadGroupSize(of, 3, size);
        // Slang says 1 x 1 x 1 for a function without [numthreads]; then only [shader("compute")] makes it an
        // entry point.
        bool shader = size[0] * size[1] * size[2] > 1 || spyi_sl_is_shader(live, lib, q->name);
        for (int i = 0; i < 3 && shader; i++) out->threads[i] = size[i] <= 65535 ? (uint32_t)size[i] : 65535;
        for (unsigned i = 0; i < count && i < SPYI_MOST_ENTRY_PARAMS; i++) {
            spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(of, i);
            out->systems[i] = (uint8_t)spyi_sl_system(lib->spReflectionVariableLayout_GetSemanticName(p));
        }
    }
    if (linked) linked->v->release(linked);
    if (entry) entry->v->release(entry);
}

void spyi_unit_entry(spyi_unit *unit, const char *name, spyi_entry *out) {
    memset(out, 0, sizeof *out);
    if (spyi_sl_name_is_safe(name)) spyi_sl_ask_entry(unit, 'e', name, spyi_sl_look_at_entry, out);
}

void spyi_sl_entry_places(spyi_unit *unit, spyi_sl_component *linked, spyi_entry *out) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_blob *diagnostics = NULL;
    spyi_sl_layout *layout = linked->v->getLayout(linked, 0, &diagnostics);
    spyi_sl_blob_free(&diagnostics);
    if (!layout || lib->spReflection_getEntryPointCount(layout) == 0) return;
    spyi_sl_entry_layout *of = lib->spReflection_getEntryPointByIndex(layout, 0);
    unsigned count = lib->spReflectionEntryPoint_getParameterCount(of);
    const spyi_code_target *target = unit->compiler->target;
    spyi_sl_params params = { 0, false };
    out->block_size = out->place_count = 0;
    for (unsigned i = 0; i < count && i < SPYI_MOST_ENTRY_PARAMS; i++) {
        spyi_sl_variable_layout *p = lib->spReflectionEntryPoint_getParameterByIndex(of, i);
        spyi_sl_type_layout *type = lib->spReflectionVariableLayout_GetTypeLayout(p);
        size_t size = type ? target->size(unit, type) : 0;
        out->offsets[i] = type ? (uint32_t)target->param(unit, p, &params) : 0;
        if (size) out->places[out->place_count++] = out->offsets[i];
        if (size && out->offsets[i] + size > out->block_size)
            out->block_size = (uint32_t)(out->offsets[i] + size);
    }
    out->block_size = (uint32_t)spyi_align(out->block_size, 4);
}
