// The parameters of a function: its declarations by reflection, and the names and types of its parameters.
#include "conversion/conversion.h"

#include <string.h>

PyObject *spyp_function_new(spyp_module *module, spy_function *function, PyObject *name) {
    spyp_function *f = (spyp_function *)spyp_alloc(spyp.function);
    if (!f) return NULL;
    f->module = (spyp_module *)Py_NewRef((PyObject *)module);
    f->function = function;
    f->name = Py_NewRef(name);
    return (PyObject *)f;
}

static bool spyp_has_doubles(const spy_type_info *info) {
    for (; info; info = info->element)
        if (info->dtype == SPY_DTYPE_FLOAT64) return true;
    return false;
}

static bool spyp_has_structs(const spy_type_info *info) {
    while (info && info->kind == SPY_TYPE_KIND_ARRAY) info = info->element;
    return info && info->kind == SPY_TYPE_KIND_STRUCT;
}

static bool spyp_has_pointers(const spy_type_info *info, int depth) {
    bool found = info && (info->kind == SPY_TYPE_KIND_POINTER || info->kind == SPY_TYPE_KIND_HANDLE);
    if (!info || depth == 16) return found;
    for (uint32_t i = 0; !found && i < info->field_count; i++) found = spyp_has_pointers(info->fields[i].type, depth + 1);
    return found || (info->kind == SPY_TYPE_KIND_ARRAY && spyp_has_pointers(info->element, depth + 1));
}

// Returns whether a type holds pairs. A DiffTensorView holds a tensor's gradient, too.
static bool spyp_has_pairs(const spy_type_info *info, int depth) {
    bool found = info && info->name && (strncmp(info->name, "DifferentialPair<", 17) == 0 || strncmp(info->name, "DiffTensorView<", 15) == 0);
    if (!info || depth == 16) return found;
    for (uint32_t i = 0; !found && i < info->field_count; i++) found = spyp_has_pairs(info->fields[i].type, depth + 1);
    return found || (info->kind == SPY_TYPE_KIND_ARRAY && spyp_has_pairs(info->element, depth + 1));
}

const spy_decl *spyp_find_quietly(spyp_module *module, const char *path) {
    spyp_device *d = module->device;
    if (spyp_enter(d, "call") < 0) {
        PyErr_Clear();
        return NULL;
    }
    d->quiet = true; // a search that finds nothing is no error
    const spy_decl *decl = spy_find_decl(module->module, path);
    if (!decl) (void)spy_take_error(d->device);
    d->quiet = false;
    spyp_leave(d);
    return decl;
}

const spy_decl *spyp_declared(spyp_function *f) {
    char path[512];
    const char *name = f->function ? spyp_utf8(f->name) : NULL;
    size_t n = 0;
    int depth = 0;
    for (; name && *name && n + 1 < sizeof path; name++) { // generic arguments are no part of a path
        depth += *name == '<';
        if (!depth) path[n++] = *name;
        depth -= *name == '>';
    }
    path[n] = 0;
    return name && !*name ? spyp_find_quietly(f->module, path) : NULL;
}

// The bits of spyp_function.traits from this one on hold the number of parameters plus 1, or 0 if the number is not known.
#define SPYP_PARAMETER_SHIFT 16

static unsigned int spyp_count_parameters(const spy_decl *decl, bool bound) {
    unsigned int n = decl->kind == SPY_DECL_KIND_METHOD && !(decl->flags & SPY_DECL_FLAG_STATIC) && !bound ? 1 : 0;
    for (uint32_t i = 0; i < decl->child_count; i++) n += decl->children[i].kind == SPY_DECL_KIND_PARAMETER;
    return n;
}

int spyp_parameter_count(spyp_function *f) {
    spyp_function_is(f, SPYP_TRAIT_KNOWN);
    return (int)(f->traits >> SPYP_PARAMETER_SHIFT) - 1;
}

static bool spyp_is_tensor_type(const spy_type_info *info, bool *writes) {
    static const char *const bases[] = { "Tensor<", "RWTensor<", "WTensor<", "DiffTensor<", "RWDiffTensor<", "WDiffTensor<", "AtomicTensor<",
                                         "PrimalTensor<", "RWPrimalTensor<", "WPrimalTensor<" };
    const char *name = info && info->name ? info->name : "";
    if (name[0] == 'I') name++; // the name is that of the interface
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++) {
        if (strncmp(name, bases[i], strlen(bases[i])) != 0) continue;
        *writes = *writes || strchr(bases[i], 'W') || bases[i][0] == 'A';
        return true;
    }
    return false;
}

bool spyp_takes_tensor(const spyp_call *call, bool *writes) {
    *writes = false;
    if (call->step || call->global || !spyp_function_is(call->function, SPYP_TRAIT_TENSORS)) return false;
    for (const spy_decl *decl = spyp_declared(call->function); decl; decl = spy_next_overload(decl))
        if (spyp_is_tensor_type(spyp_parameter_type(call->function, decl, call->name, call->position), writes)) return true;
    return false;
}

bool spyp_takes_pointers(spyp_function *f) {
    if (!spyp_function_is(f, SPYP_TRAIT_POINTERS)) return false; // this includes slangpy's own structs that hold pointers
    for (const spy_decl *decl = spyp_declared(f); decl; decl = spy_next_overload(decl))
        for (uint32_t i = 0; i < decl->child_count; i++)
            if (decl->children[i].kind == SPY_DECL_KIND_PARAMETER && decl->children[i].type &&
                decl->children[i].type->kind == SPY_TYPE_KIND_POINTER)
                return true;
    return false;
}

static bool spyp_is_open_array(const spy_type_info *info) {
    return info && info->kind == SPY_TYPE_KIND_ARRAY && !info->count && info->element;
}

const spy_type_info *spyp_open_array(const spyp_call *call) {
    if (call->step || call->global || !spyp_function_is(call->function, SPYP_TRAIT_OPEN_ARRAYS)) return NULL;
    const spy_decl *decl = spyp_declared(call->function);
    const spy_type_info *type = decl ? spyp_parameter_type(call->function, decl, call->name, call->position) : NULL;
    return decl && !spy_next_overload(decl) && spyp_is_open_array(type) ? type : NULL;
}

bool spyp_function_is(spyp_function *f, unsigned int trait) {
    if (f->traits) return f->traits & trait;
    const spy_decl *decl = spyp_declared(f);
    f->traits = SPYP_TRAIT_KNOWN | (decl ? 0 : SPYP_TRAIT_CHANGES);
    for (; decl; decl = spy_next_overload(decl)) {
        unsigned int count = spyp_count_parameters(decl, f->chain && f->chain->self) + 1;
        if (count > f->traits >> SPYP_PARAMETER_SHIFT)
            f->traits = (f->traits & ((1u << SPYP_PARAMETER_SHIFT) - 1)) | count << SPYP_PARAMETER_SHIFT;
        if (decl->flags & SPY_DECL_FLAG_MUTATING) f->traits |= SPYP_TRAIT_CHANGES;
        if (decl->kind == SPY_DECL_KIND_METHOD && decl->parent && spyp_has_pointers(decl->parent->type, 0)) f->traits |= SPYP_TRAIT_POINTERS;
        if (decl->kind == SPY_DECL_KIND_METHOD && decl->parent && spyp_has_pairs(decl->parent->type, 0)) f->traits |= SPYP_TRAIT_PAIRS;
        if (decl->kind == SPY_DECL_KIND_METHOD) f->traits |= SPYP_TRAIT_STRUCTS;
        for (uint32_t i = 0; i < decl->child_count; i++) {
            if (decl->children[i].kind != SPY_DECL_KIND_PARAMETER) continue;
            bool writes = false;
            if (spyp_is_tensor_type(decl->children[i].type, &writes)) f->traits |= SPYP_TRAIT_TENSORS;
            if (decl->children[i].flags & SPY_DECL_FLAG_OUT) f->traits |= SPYP_TRAIT_CHANGES;
            if (spyp_has_structs(decl->children[i].type)) f->traits |= SPYP_TRAIT_STRUCTS;
            if (spyp_is_open_array(decl->children[i].type)) f->traits |= SPYP_TRAIT_OPEN_ARRAYS;
            if (spyp_has_doubles(decl->children[i].type)) f->traits |= SPYP_TRAIT_DOUBLES;
            if (spyp_has_pointers(decl->children[i].type, 0)) f->traits |= SPYP_TRAIT_POINTERS;
            if (spyp_has_pairs(decl->children[i].type, 0)) f->traits |= SPYP_TRAIT_PAIRS;
        }
    }
    return f->traits & trait;
}

// Returns an overload's parameter by its position, or NULL if the overload has fewer. A method's first
// parameter is its instance unless one is bound; the method's own declaration stands for it.
static const spy_decl *spyp_parameter_at(const spy_decl *decl, bool bound, Py_ssize_t position) {
    if (decl->kind == SPY_DECL_KIND_METHOD && !(decl->flags & SPY_DECL_FLAG_STATIC) && !bound && position-- == 0) return decl;
    for (uint32_t i = 0; i < decl->child_count; i++)
        if (decl->children[i].kind == SPY_DECL_KIND_PARAMETER && position-- == 0) return &decl->children[i];
    return NULL;
}

const char *spyp_parameter_name(const spy_decl *decl, bool bound, Py_ssize_t position) {
    const spy_decl *found = spyp_parameter_at(decl, bound, position);
    return !found ? NULL : found == decl ? "this" : found->name;
}

// Returns an overload's parameter by its name, or by its position if `name` is NULL. The method's own declaration
// stands for its instance. NULL means that the overload has no such parameter.
static const spy_decl *spyp_parameter_of(spyp_function *f, const spy_decl *decl, const char *name, Py_ssize_t position) {
    const spy_decl *found = NULL;
    bool instance = name ? strcmp(name, "this") == 0 : position < 0;
    for (uint32_t i = 0; name && !found && i < decl->child_count; i++)
        if (decl->children[i].kind == SPY_DECL_KIND_PARAMETER && strcmp(decl->children[i].name, name) == 0) found = &decl->children[i];
    if (instance && !found) return decl->kind == SPY_DECL_KIND_METHOD ? decl : NULL;
    return name ? found : spyp_parameter_at(decl, f->chain && f->chain->self, position);
}

bool spyp_may_change(const spyp_call *call) {
    if (call->position == SPYP_NO_PARAMETER) return true;
    if (!spyp_function_is(call->function, SPYP_TRAIT_CHANGES)) return false;
    const spy_decl *decl = spyp_declared(call->function);
    bool may = !decl;
    for (; decl && !may; decl = spy_next_overload(decl)) {
        const spy_decl *found = spyp_parameter_of(call->function, decl, call->name, call->position);
        may = found && (found == decl ? found->flags & SPY_DECL_FLAG_MUTATING : found->flags & SPY_DECL_FLAG_OUT);
    }
    return may;
}

bool spyp_is_no_diff(const spyp_call *call) {
    const spy_decl *decl = call->position == SPYP_NO_PARAMETER ? NULL : spyp_declared(call->function);
    bool no_diff = decl != NULL;
    for (; decl && no_diff; decl = spy_next_overload(decl)) {
        const spy_decl *found = spyp_parameter_of(call->function, decl, call->name, call->position);
        no_diff = found && found != decl && found->flags & SPY_DECL_FLAG_NO_DIFF && found->type;
        // Slang also marks parameters of integers and of DiffTensorView as no_diff. Pairs of integers must stay errors, and views take both
        // tensors.
        const spy_type_info *inner = no_diff ? found->type : NULL;
        while (inner && inner->kind == SPY_TYPE_KIND_ARRAY) inner = inner->element;
        bool number = inner && (inner->kind == SPY_TYPE_KIND_SCALAR || inner->kind == SPY_TYPE_KIND_VECTOR || inner->kind == SPY_TYPE_KIND_MATRIX);
        no_diff = number && (inner->dtype == SPY_DTYPE_FLOAT16 || inner->dtype == SPY_DTYPE_FLOAT32 || inner->dtype == SPY_DTYPE_FLOAT64);
    }
    return no_diff;
}

const spy_type_info *spyp_parameter_type(spyp_function *f, const spy_decl *decl, const char *name, Py_ssize_t position) {
    const spy_decl *found = spyp_parameter_of(f, decl, name, position);
    if (!found) return NULL;
    return found == decl ? (decl->parent ? decl->parent->type : NULL) : found->type;
}

PyObject *spyp_argument_types(spyp_function *f, const char *name, Py_ssize_t position) {
    PyObject *type, *value, *trace, *text = NULL;
    const char *last = NULL;
    PyErr_Fetch(&type, &value, &trace);
    for (const spy_decl *decl = spyp_declared(f); decl; decl = spy_next_overload(decl)) {
        const spy_type_info *info = spyp_parameter_type(f, decl, name, position);
        if (!info || (last && strcmp(last, info->name) == 0)) continue;
        spyp_replace(&text, text ? spyp_format("%U or %s", text, info->name) : PyUnicode_FromString(info->name));
        last = info->name;
        if (!text) break;
    }
    PyErr_Restore(type, value, trace);
    return text;
}

const char *spyp_argument_name(spyp_function *f, Py_ssize_t position) {
    PyObject *type, *value, *trace;
    const char *name = position < 0 ? "this" : NULL;
    PyErr_Fetch(&type, &value, &trace);
    for (const spy_decl *decl = name ? NULL : spyp_declared(f); decl; decl = spy_next_overload(decl)) {
        const char *here = spyp_parameter_name(decl, f->chain && f->chain->self, position);
        if (here && name && strcmp(here, name) != 0) {
            name = NULL; // the overloads have different names
            break;
        }
        if (here) name = here;
    }
    PyErr_Restore(type, value, trace);
    return name;
}

// `dict` belongs to a chain, so its keys are str.
PyObject *spyp_find_named(spyp_function *f, Py_ssize_t position, PyObject *dict) {
    bool bound = f->chain && f->chain->self;
    for (const spy_decl *decl = spyp_declared(f); decl; decl = spy_next_overload(decl)) {
        const char *name = spyp_parameter_name(decl, bound, position);
        PyObject *found = name ? PyDict_GetItemString(dict, name) : NULL;
        if (found) return found;
    }
    return NULL;
}

int spyp_check_parameters(spyp_function *f, PyObject *dict, const char *what) {
    const spy_decl *first = spyp_declared(f);
    PyObject *key, *value;
    Py_ssize_t at = 0;
    while (first && PyDict_Next(dict, &at, &key, &value)) { // no code of the user runs in this loop
        bool known = !PyUnicode_Check(key) || PyUnicode_CompareWithASCIIString(key, "_result") == 0;
        for (const spy_decl *decl = first; decl && !known; decl = spy_next_overload(decl)) {
            const char *name;
            for (Py_ssize_t i = 0; !known && (name = spyp_parameter_name(decl, false, i)) != NULL; i++)
                known = PyUnicode_CompareWithASCIIString(key, name) == 0;
        }
        if (known) continue;
        PyErr_Format(spyp.value_error, "%U.%s: No parameter named '%U'", f->name, what, key);
        return -1;
    }
    return 0;
}
