// Declared functions: spy_declare() makes a function from a known one, with mappings and types of its
// parameters. It has the same name and code, so that a reload, and all functions that take a function, treat
// it as any other.
#include "module/module.h"

// >>finding

// Returns whether one of the overloads has a parameter of this name at this position.
static bool spyi_has_parameter_at(const spy_function *function, const char *name, uint32_t position) {
    for (uint32_t o = 0; o < function->overloads.count; o++) {
        const spyi_signature *s = &function->overloads.items[o];
        if (position < s->param_count && strcmp(s->params[position].name, name) == 0) return true;
    }
    return false;
}

SPYI_FN const spyi_declaration *spyi_declaration_of(const spy_function *function, const char *name,
                                                    uint32_t position) {
    const spyi_declared *declared = function->declared;
    if (name && !name[0]) name = NULL;
    for (uint32_t i = 0; declared && i < declared->count; i++) {
        const spyi_declaration *d = &declared->items[i];
        bool same = name && d->name ? strcmp(name, d->name) == 0
                    : name          ? spyi_has_parameter_at(function, name, d->position)
                    : d->name       ? spyi_has_parameter_at(function, d->name, position)
                                    : d->position == position;
        if (same) return d;
    }
    return NULL;
}

static bool spyi_same_text(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

SPYI_FN bool spyi_declared_equal(const spyi_declared *a, const spyi_declared *b) {
    if (!a || !b) return a == b;
    bool same = a->count == b->count;
    for (uint32_t i = 0; same && i < a->count; i++) {
        const spyi_declaration *one = &a->items[i], *other = &b->items[i];
        same = spyi_same_text(one->name, other->name) && one->position == other->position &&
               spyi_same_text(one->type, other->type) && one->map_count == other->map_count &&
               memcmp(one->map, other->map, sizeof one->map) == 0;
    }
    return same;
}

// >>making

static spy_status spyi_bad_declaration(spyi_text *error, const spy_arg *arg, uint32_t position,
                                       spy_status status, const char *format, ...) SPYI_PRINTF(5, 6);
static spy_status spyi_bad_declaration(spyi_text *error, const spy_arg *arg, uint32_t position,
                                       spy_status status, const char *format, ...) {
    char line[512];
    va_list list;
    va_start(list, format);
    vsnprintf(line, sizeof line, format, list);
    va_end(list);
    if (arg->name && arg->name[0]) spyi_text_add(error, "parameter '%s': %s", arg->name, line);
    else spyi_text_add(error, "parameter %u: %s", position + 1, line);
    return status;
}

// Checks that an overload has the parameter. Adds the most similar name to the error when none has it.
static spy_status spyi_check_declared_name(const spy_function *function, const spy_arg *arg,
                                           uint32_t position, spyi_text *error) {
    bool named = arg->name && arg->name[0], known = named && strcmp(arg->name, "_result") == 0;
    uint32_t most = 0;
    spyi_near near_names;
    spyi_text nearest = { NULL, 0, 0 };
    memset(&near_names, 0, sizeof near_names);
    near_names.wanted = named ? arg->name : "";
    for (uint32_t o = 0; o < function->overloads.count; o++) {
        const spyi_signature *s = &function->overloads.items[o];
        if (s->param_count > most) most = s->param_count;
        for (uint32_t p = 0; named && p < s->param_count; p++) {
            known = known || strcmp(s->params[p].name, arg->name) == 0;
            spyi_near_offer(&near_names, s->params[p].name);
        }
    }
    spyi_near_text(&near_names, &nearest);
    spy_status status = SPY_OK;
    if (named && !known)
        status =
            spyi_bad_declaration(error, arg, position, SPY_ERROR_NOT_FOUND,
                                 "the function has no parameter of this name%s", spyi_text_str(&nearest));
    else if (!named && position >= most)
        status = spyi_bad_declaration(error, arg, position, SPY_ERROR_INVALID_ARGUMENT,
                                      "expected at most %u parameters", most);
    spyi_text_free(&nearest);
    return status;
}

static spy_status spyi_check_declared_map(const spy_arg *arg, uint32_t position, spyi_text *error) {
    if (arg->_map_count == SPYI_MAP_TWICE)
        return spyi_bad_declaration(error, arg, position, SPY_ERROR_INVALID_ARGUMENT,
                                    "it has two mappings, one around the other; expected one");
    if (arg->_map_count == SPYI_MAP_WHOLE) return SPY_OK;
    if (arg->_map_count > SPY_MAX_RANK)
        return spyi_bad_declaration(error, arg, position, SPY_ERROR_INVALID_ARGUMENT,
                                    "its mapping has more than SPY_MAX_RANK entries");
    for (uint32_t i = 0; i < arg->_map_count; i++) {
        int dim = arg->_map[i];
        if (dim < 0 || dim >= SPY_MAX_RANK)
            return spyi_bad_declaration(error, arg, position, SPY_ERROR_OUT_OF_RANGE,
                                        "its mapping names dimension %d; expected 0 to %d", dim,
                                        SPY_MAX_RANK - 1);
        for (uint32_t j = 0; j < i; j++)
            if (arg->_map[j] == dim)
                return spyi_bad_declaration(error, arg, position, SPY_ERROR_INVALID_ARGUMENT,
                                            "its mapping names dimension %d twice", dim);
    }
    return SPY_OK;
}

static spy_status spyi_check_declaration(spy_function *function, const spy_arg *arg, uint32_t position,
                                         spyi_text *error) {
    if (arg->kind != SPY_ARG_KIND_NONE || arg->_map_count == SPYI_MAP_VALUE)
        return spyi_bad_declaration(
            error, arg, position, SPY_ERROR_INVALID_ARGUMENT,
            "expected spy_arg_any(), alone or within spy_vmap(), spy_vdim() or spy_vcast(), got an argument");
    spy_status status = spyi_check_declared_name(function, arg, position, error);
    if (status == SPY_OK) status = spyi_check_declared_map(arg, position, error);
    if (status != SPY_OK || !arg->type) return status;
    if (!spyi_module_type(function->module, arg->type)) // leaves the device meanwhile
        return spyi_bad_declaration(error, arg, position, SPY_ERROR_NOT_FOUND,
                                    "spy_vcast names '%s', which is no type of module '%s'", arg->type,
                                    function->module->name);
    return SPY_OK;
}

static const char *spyi_keep_declared_text(char **at, const char *text) {
    if (!text || !text[0]) return NULL;
    size_t size = strlen(text) + 1;
    char *kept = (char *)memcpy(*at, text, size);
    *at += size;
    return kept;
}

SPYI_FN void spyi_declared_add(spyi_declared *declared, char **at, const spyi_declaration *from) {
    spyi_declaration *d = &declared->items[declared->count++];
    *d = *from;
    d->name = spyi_keep_declared_text(at, from->name);
    d->type = spyi_keep_declared_text(at, from->type);
}

SPYI_FN size_t spyi_declared_texts(const char *name, const char *type) {
    return (name ? strlen(name) + 1 : 0) + (type ? strlen(type) + 1 : 0);
}

SPYI_FN spyi_declared *spyi_declared_new(size_t count, size_t texts, char **at) {
    spyi_declared *made =
        (spyi_declared *)spyi_calloc(1, sizeof *made + count * sizeof *made->items + texts + 1);
    if (!made) return NULL;
    made->items = (spyi_declaration *)(void *)(made + 1);
    *at = (char *)(made->items + count);
    return made;
}

// Returns the declarations of `function` and those of the list, in one allocation that the caller frees;
// declarations of the list that say nothing are left out. On failure it returns NULL and sets `status`.
static spyi_declared *spyi_declared_make(spy_function *function, spy_args list, spy_status *status,
                                         spyi_text *error) {
    const spyi_declared *had = function->declared;
    size_t count = (had ? had->count : 0) + list.count, texts = 0;
    for (uint32_t i = 0; had && i < had->count; i++)
        texts += spyi_declared_texts(had->items[i].name, had->items[i].type);
    for (size_t i = 0; i < list.count; i++)
        texts += spyi_declared_texts(list.items[i].name, list.items[i].type);
    char *at;
    spyi_declared *made = spyi_declared_new(count, texts, &at);
    *status = made ? SPY_OK : SPY_ERROR_OUT_OF_MEMORY;
    if (!made) {
        spyi_text_add(error, "out of host memory");
        return NULL;
    }
    for (uint32_t i = 0; had && i < had->count; i++) spyi_declared_add(made, &at, &had->items[i]);
    spy_function view = *function; // the function with the declarations that it has so far
    view.declared = made;
    uint32_t position = 0;
    for (size_t i = 0; i < list.count && *status == SPY_OK; i++) {
        const spy_arg *arg = &list.items[i];
        bool named = arg->name && arg->name[0];
        *status = spyi_check_declaration(function, arg, position, error);
        bool says = arg->_map_count || arg->type;
        if (*status == SPY_OK && says && spyi_declaration_of(&view, arg->name, position))
            *status = spyi_bad_declaration(error, arg, position, SPY_ERROR_INVALID_ARGUMENT,
                                           "it has been declared already");
        if (*status == SPY_OK && says) {
            spyi_declaration d;
            memset(&d, 0, sizeof d);
            d.name = arg->name;
            d.position = named ? 0 : position;
            d.type = arg->type;
            d.map_count = (uint8_t)arg->_map_count;
            if (d.map_count <= SPY_MAX_RANK) memcpy(d.map, arg->_map, d.map_count);
            spyi_declared_add(made, &at, &d);
        }
        position += !named;
    }
    if (*status == SPY_OK) return made;
    free(made);
    return NULL;
}

spy_function *spy_declare(spy_function *function, spy_args parameters) {
    const char *name = "spy_declare";
    if (spyi_enter(function, SPYI_KIND_FUNCTION, name) != SPY_OK) return NULL;
    spy_device *device = function->object.device;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    spyi_declared *declared = NULL;
    spy_function *found = NULL;
    if (parameters.count && !parameters.items) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "expected %zu parameters, got NULL", parameters.count);
    } else if (function->reduces && parameters.count) {
        status = SPY_ERROR_UNSUPPORTED;
        spyi_text_add(&error, "it ends in a reduction, which takes no declarations");
    } else if (function->overloads.count == 0) {
        status = SPY_ERROR_NOT_FOUND;
        spyi_text_add(&error, "module '%s' was reloaded and has no such function any more",
                      function->module->name);
    } else {
        declared = spyi_declared_make(function, parameters, &status, &error);
    }
    if (status == SPY_OK && declared->count)
        found = spyi_function_of(function->module, function->name, declared, name);
    else if (status == SPY_OK) found = function; // without declarations the function itself is the result
    else spyi_fail(&device->ctx, status, "%s: %s: %s", name, function->name, spyi_text_str(&error));
    if (!found || found->declared != declared) free(declared);
    spyi_text_free(&error);
    spyi_leave(device);
    return found;
}
