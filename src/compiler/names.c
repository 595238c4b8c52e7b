// The names in a module, for "did you mean".
#include "compiler/internal.h"

enum { SPYI_SL_DEEPEST = 8 };

void spyi_near_offer(spyi_near *near_names, const char *name) {
    size_t length = strlen(near_names->wanted);
    unsigned distance = spyi_edit_distance(near_names->wanted, name),
             most = (unsigned)(length / 3 < 2 ? 2 : length / 3);
    // Half of a short name is another name.
    if (distance > most || distance >= length) return;
    for (uint32_t i = 0; i < near_names->count; ++i)
        if (strcmp(near_names->names[i], name) == 0) return; // another overload
    uint32_t at = near_names->count;
    while (at > 0 && near_names->distances[at - 1] > distance) --at;
    if (at == SPYI_NEAR_COUNT) return;
    if (near_names->count == SPYI_NEAR_COUNT) free(near_names->names[--near_names->count]);
    for (uint32_t i = near_names->count; i > at; --i) {
        near_names->names[i] = near_names->names[i - 1];
        near_names->distances[i] = near_names->distances[i - 1];
    }
    near_names->names[at] = spyi_strdup(name);
    near_names->distances[at] = distance;
    near_names->count++;
}

void spyi_near_offer_builtin(spyi_near *near_names) {
    static const char *const scalars[] = { "float",   "half",     "double",   "int",      "uint",
                                           "bool",    "int8_t",   "uint8_t",  "int16_t",  "uint16_t",
                                           "int64_t", "uint64_t", "float4x4", "float3x3", "float2x2" };
    static const char *const vectors[] = { "float", "half", "double", "int", "uint", "bool" };
    char name[16];
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; ++i) spyi_near_offer(near_names, scalars[i]);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; ++i)
        for (int n = 2; n <= 4; ++n) {
            snprintf(name, sizeof name, "%s%d", vectors[i], n);
            spyi_near_offer(near_names, name);
        }
}

void spyi_near_text(spyi_near *near_names, spyi_text *out) {
    for (uint32_t i = 0; i < near_names->count; ++i) {
        spyi_text_add(out, "%s'%s'", i ? ", " : ", did you mean ", near_names->names[i]);
        free(near_names->names[i]);
    }
    if (near_names->count) spyi_text_add(out, "?");
    near_names->count = 0;
}

// Slang adds declarations of its own: constructors, and a derivative beside each differentiable function.
bool spyi_sl_is_synthesised(const char *name) {
    static const char *const names[] = { "fwd_diff", "bwd_diff", "apply_bwd", "remat" };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i)
        if (strcmp(name, names[i]) == 0) return true;
    return name[0] == '$' || name[0] == '\0';
}

static void spyi_sl_near_walk(spyi_unit *unit, spyi_near *near_names, spyi_sl_decl *decl, const char *prefix,
                              int depth) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionDecl_getChildrenCount(decl);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_decl *child = lib->spReflectionDecl_getChild(decl, i);
        const char *name = child ? lib->spReflectionDecl_getName(child) : NULL;
        if (!name || spyi_sl_is_synthesised(name)) continue;
        unsigned kind = lib->spReflectionDecl_getKind(child);
        spyi_sl_generic *generic =
            kind == SPYI_SL_DECL_GENERIC ? lib->spReflectionDecl_castToGeneric(child) : NULL;
        if (generic) kind = lib->spReflectionGeneric_GetInnerKind(generic);
        spyi_text full = { NULL, 0, 0 };
        spyi_text_add(&full, "%s%s", prefix, name);
        if (kind == SPYI_SL_DECL_FUNCTION) {
            spyi_near_offer(near_names, spyi_text_str(&full));
        } else if ((kind == SPYI_SL_DECL_STRUCT || kind == SPYI_SL_DECL_NAMESPACE) && !generic &&
                   depth < SPYI_SL_DEEPEST) {
            spyi_text_add(&full, "::");
            spyi_sl_near_walk(unit, near_names, child, spyi_text_str(&full), depth + 1);
        }
        spyi_text_free(&full);
    }
}

static void spyi_sl_ask_near(spyi_unit *unit, spyi_sl_live *live, void *context) {
    spyi_sl_decl *root = live->module->v->getModuleReflection(live->module);
    if (root) spyi_sl_near_walk(unit, (spyi_near *)context, root, "", 0);
}

void spyi_unit_near_names(spyi_unit *unit, const char *name, spyi_text *out) {
    spyi_near near_names;
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = name;
    if (!name || strlen(name) > 200) return;
    spyi_sl_ask(unit, 1, "look for a name", spyi_sl_ask_near, &near_names, NULL);
    bool declared = near_names.count && strcmp(near_names.names[0], name) == 0;
    spyi_text text = { NULL, 0, 0 };
    spyi_near_text(&near_names, &text);
    if (declared)
        spyi_text_add(
            out,
            ": it declares one, but '%s' is a word of the Slang language, so that no expression can call "
            "it; give the function another name",
            name);
    else spyi_text_add(out, "%s", spyi_text_str(&text));
    spyi_text_free(&text);
}
