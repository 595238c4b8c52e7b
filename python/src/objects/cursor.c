// BufferCursor and BufferElementCursor: elements of a tensor as Python values, field by field, in a copy on
// the host.
#include "objects/objects.h"

#include <string.h>

// A BufferCursor: a range of elements. It owns the copy.
typedef struct spyp_cursor_object {
    PyObject_HEAD spyp_device *device;
    spy_tensor *tensor; // the cursor retains it
    PyObject *owner;    // Python object that the tensor's memory belongs to, or NULL
    spyp_module *module;
    int64_t first, count; // elements of the tensor: the first one, and their number
    spy_cursor cursor;
    unsigned long loads; // number of loads so far; after another load, each place is looked up again
    bool loaded;
} spyp_cursor_object;

// A BufferElementCursor: a place in the range, which is found from its parent by a name or an index.
typedef struct spyp_place {
    PyObject_HEAD spyp_cursor_object *range;
    PyObject *parent; // the place that this one is in; NULL: the range
    PyObject *step;   // name (str) or index (int) within the parent
    spy_cursor cursor;
    unsigned long loads; // range->loads when `cursor` was looked up
} spyp_place;

// >>loading

static int spyp_cursor_load(spyp_cursor_object *c) {
    if (spyp_enter(c->device, "cursor") < 0) return -1;
    spy_cursor fresh;
    memset(&fresh, 0, sizeof fresh);
    int status = spyp_wait_to_read(c->device);
    if (status == 0 && strcmp(spy_get_tensor_info(c->tensor).type, "void") == 0) {
        PyErr_SetString(PyExc_TypeError, "cursor: expected elements of a type, got bytes of none; view(shape, dtype=...) gives them one");
        status = -1;
    }
    if (status == 0) fresh = spy_create_cursor(c->tensor, c->first, c->count);
    if (status == 0 && !spy_get_cursor_info(fresh).type) {
        spyp_raise(c->device);
        status = -1;
    }
    if (status == 0) {
        if (c->loaded) spy_release_cursor(c->cursor);
        c->cursor = fresh;
        c->loads++;
        c->loaded = true;
    }
    spyp_leave(c->device);
    return status;
}

PyObject *spyp_cursor_make(spyp_device *device, spy_tensor *tensor, PyObject *owner, PyObject *module,
                           int64_t first, int64_t count) {
    spyp_cursor_object *c = (spyp_cursor_object *)spyp_alloc(spyp.cursor);
    if (!c) return NULL;
    spy_retain_tensor(tensor);
    c->device = (spyp_device *)Py_NewRef((PyObject *)device);
    c->tensor = tensor;
    c->owner = Py_XNewRef(owner);
    c->first = first;
    c->count = count;
    c->module = module ? (spyp_module *)Py_NewRef(module) : spyp_module_default(device);
    if (!c->module || spyp_cursor_load(c) < 0) Py_CLEAR(c);
    return (PyObject *)c;
}

// SlangPy's BufferCursor(device_type, element_layout, buffer, load_before_write=True) sees a buffer as
// elements of a type, and BufferCursor(device_type, element_layout, size) has memory of its own for as many.
static PyObject *spyp_cursor_typed(PyObject *args) {
    PyObject *ignored, *layout, *buffer, *load = NULL;
    spyp_module *module;
    if (!PyArg_ParseTuple(args, "OOO|O:BufferCursor", &ignored, &layout, &buffer, &load)) return NULL;
    const spy_type_info *info = spyp_reflection_type(layout, &module);
    if (!info) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "BufferCursor: argument 'element_layout': expected a TypeLayoutReflection, got %R",
                         (PyObject *)Py_TYPE(layout));
        return NULL;
    }
    PyObject *tensor = NULL;
    if (PyLong_Check(buffer)) {
        tensor = PyObject_CallMethod((PyObject *)spyp.tensor, "zeros", "OOO", (PyObject *)module->device, buffer, layout);
    } else if (PyObject_TypeCheck(buffer, spyp.tensor)) {
        spyp_device *d = ((spyp_tensor *)buffer)->device;
        if (d != module->device) return PyErr_Format(PyExc_ValueError, "BufferCursor: argument 'buffer': the tensor belongs to another device");
        if (spyp_enter(d, "BufferCursor") < 0) return NULL;
        spy_tensor_info of = spy_get_tensor_info(((spyp_tensor *)buffer)->tensor);
        spyp_leave(d);
        size_t bytes = (size_t)of.element_count * of.element_size_bytes, each = info->device_stride_bytes;
        tensor = PyObject_CallFunction((PyObject *)spyp.tensor, "OO(n)", buffer, layout, (Py_ssize_t)(each ? bytes / each : 0));
    } else {
        PyErr_Format(PyExc_TypeError, "BufferCursor: argument 'buffer': expected a Buffer or a number of elements, got %R", (PyObject *)Py_TYPE(buffer));
    }
    PyObject *cursor = tensor ? PyObject_CallMethod(tensor, "cursor", NULL) : NULL;
    Py_XDECREF(tensor);
    return cursor;
}

// BufferCursor(tensor, start=0, count=None) is the constructor.
static PyObject *spyp_cursor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *first = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    SPYP_UNUSED(type);
    if (first && !PyObject_TypeCheck(first, spyp.tensor) && PyTuple_Size(args) > 2) return spyp_cursor_typed(args);
    if (!first || !PyObject_TypeCheck(first, spyp.tensor))
        return PyErr_Format(PyExc_TypeError, "BufferCursor: argument 'tensor': expected a Tensor, got %R",
                            first ? (PyObject *)Py_TYPE(first) : Py_None);
    PyObject *method = PyObject_GetAttrString(first, "cursor"),
             *rest = PyTuple_GetSlice(args, 1, PyTuple_Size(args));
    PyObject *cursor = method && rest ? PyObject_Call(method, rest, kwargs) : NULL;
    Py_XDECREF(method);
    Py_XDECREF(rest);
    return cursor;
}

// >>places

// Finds a place again if the range has been loaded meanwhile. Returns false with an exception set. Call it
// inside the device.
static bool spyp_place_find(spyp_place *p, spy_cursor *at) {
    *at = p->cursor;
    if (p->loads == p->range->loads) return true;
    *at = p->range->cursor;
    if (p->parent && !spyp_place_find((spyp_place *)p->parent, at)) return false;
    if (PyLong_Check(p->step)) *at = spy_cursor_at(*at, PyLong_AsLongLong(p->step));
    else *at = spy_cursor_field(*at, spyp_utf8(p->step));
    if (spy_get_cursor_info(*at).type) {
        p->cursor = *at;
        p->loads = p->range->loads;
        return true;
    }
    spyp_raise_index(p->range->device);
    return false;
}

// Returns a part of a place, or of the range if `parent` is NULL. Returns NULL with an exception set if there
// is no such part.
static PyObject *spyp_place_make(spyp_cursor_object *range, PyObject *parent, PyObject *step) {
    spyp_place *p = NULL;
    if (PyUnicode_Check(step) && !spyp_utf8(step)) return spyp_error_behind("cursor: ");
    PyObject *key = PyUnicode_Check(step) ? Py_NewRef(step)
                    : PyIndex_Check(step) ? PyNumber_Index(step)
                                          : NULL;
    if (!key) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "cursor: expected a name or an index, got %R",
                         (PyObject *)Py_TYPE(step));
        return NULL;
    }
    if (PyLong_Check(key)) {
        int64_t n = PyLong_AsLongLong(key);
        if (n == -1 && PyErr_Occurred())
            PyErr_Format(PyExc_IndexError, "cursor: the index %S is out of range", key);
    }
    if (!PyErr_Occurred() && spyp_enter(range->device, "cursor") == 0) {
        p = (spyp_place *)spyp_alloc(spyp.element_cursor);
        if (p) {
            p->range = (spyp_cursor_object *)Py_NewRef((PyObject *)range);
            p->parent = Py_XNewRef(parent);
            p->step = Py_NewRef(key);
            spy_cursor at;
            if (!spyp_place_find(p, &at)) Py_CLEAR(p);
        }
        spyp_leave(range->device);
    }
    Py_DECREF(key);
    return (PyObject *)p;
}

// Reads the value at a place. Call it inside the device.
static const spy_type_info *spyp_place_info(spyp_place *p, spy_cursor at) {
    spy_cursor_info info = spy_get_cursor_info(at);
    const spy_type_info *type = info.type ? spy_reflect_type(p->range->module->module, info.type) : NULL;
    if (!type && !PyErr_Occurred()) spyp_raise(p->range->device);
    return type;
}

// >>reading and writing

static PyObject *spyp_place_read(PyObject *self, PyObject *ignored) {
    spyp_place *p = (spyp_place *)self;
    spyp_device *d = p->range->device;
    PyObject *value = NULL;
    SPYP_UNUSED(ignored);
    if (spyp_enter(d, "cursor.read") < 0) return NULL;
    spy_cursor at;
    const spy_type_info *info = spyp_place_find(p, &at) ? spyp_place_info(p, at) : NULL;
    void *data = info ? PyMem_Malloc(info->size_bytes + 1) : NULL;
    if (info && !data) PyErr_NoMemory();
    if (data && spy_cursor_read_data(at, data, info->size_bytes) != SPY_OK) spyp_raise(d);
    else if (data) value = spyp_value_read(p->range->module, info, data);
    PyMem_Free(data);
    spyp_leave(d);
    return value;
}

// Changes the fields that `dict` names in the value at `data`.
static int spyp_place_merge(spyp_place *p, const spy_type_info *info, PyObject *value, char *data,
                            const char *what) {
    spyp_host_array array;
    spyp_arena arena;
    if (info->kind != SPY_TYPE_KIND_STRUCT || !PyDict_Check(value)) {
        size_t count;
        spy_dtype scalar = spyp_scalar_of(info, &count);
        if (!scalar || PyBytes_Check(value) || !spyp_is_array(value)) // set_data() writes bytes
            return spyp_value_write(p->range->module, info, value, data, what);
        spyp_arena_begin(&arena);
        int found = spyp_host_array_get(&arena, value, what, &array);
        size_t given = found > 0 && array.dtype ? array.size_bytes / spy_dtype_size_bytes(array.dtype) : 0;
        int status = found > 0 && array.dtype && given == count
                         ? spyp_convert_numbers(data, scalar, array.data, array.dtype, count, what)
                         : -1;
        if (status < 0 && !PyErr_Occurred())
            PyErr_Format(PyExc_ValueError, "%s: expected %zu numbers for %s, got %zu", what, count,
                         info->name, given);
        spyp_arena_end(&arena);
        return status;
    }
    PyObject *items = spyp_dict_items(value, what);
    int status = items ? 0 : -1;
    for (Py_ssize_t k = 0; status == 0 && k < PyTuple_Size(items); k += 2) {
        PyObject *key = PyTuple_GetItem(items, k);
        const spy_decl *field = NULL;
        for (uint32_t i = 0; i < info->field_count; i++)
            if (PyUnicode_CompareWithASCIIString(key, info->fields[i].name) == 0) field = &info->fields[i];
        if (!field) PyErr_Format(PyExc_KeyError, "%s: %s has no field %R", what, info->name, key);
        status = field ? spyp_place_merge(p, field->type, PyTuple_GetItem(items, k + 1), data + field->offset_bytes, what) : -1;
    }
    Py_XDECREF(items);
    return status;
}

// Writes a value at a place. The value is built elsewhere first, so that nothing changes if a part of it does
// not fit.
static int spyp_place_put(spyp_place *p, PyObject *value, const char *what) {
    spyp_device *d = p->range->device;
    int status = -1;
    if (spyp_enter(d, what) < 0) return -1;
    spy_cursor at;
    const spy_type_info *info = spyp_place_find(p, &at) ? spyp_place_info(p, at) : NULL;
    size_t size = info ? info->size_bytes : 0;
    char *data = info ? (char *)PyMem_Malloc(size + 1) : NULL;
    if (info && !data) PyErr_NoMemory();
    if (data && spy_cursor_read_data(at, data, size) != SPY_OK) spyp_raise(d);
    else if (data) status = spyp_place_merge(p, info, value, data, what);
    // Code of the value may have loaded the cursor again.
    if (status == 0 && !spyp_place_find(p, &at)) status = -1;
    if (status == 0 && spy_cursor_write_data(at, data, size) != SPY_OK) {
        spyp_raise(d);
        status = -1;
    }
    PyMem_Free(data);
    spyp_leave(d);
    return status;
}

static PyObject *spyp_place_write(PyObject *self, PyObject *value) {
    if (spyp_place_put((spyp_place *)self, value, "cursor.write") < 0) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_place_set_data(PyObject *self, PyObject *object) {
    spyp_place *p = (spyp_place *)self;
    spyp_arena arena;
    spyp_host_array array;
    bool good = false;
    spyp_arena_begin(&arena);
    int found = spyp_host_array_get(&arena, object, "cursor.set_data", &array);
    if (found == 0)
        PyErr_Format(PyExc_TypeError, "cursor.set_data: expected bytes or an array, got %R",
                     (PyObject *)Py_TYPE(object));
    if (found > 0 && spyp_enter(p->range->device, "cursor.set_data") == 0) {
        spy_cursor at;
        bool found_it = spyp_place_find(p, &at);
        good = found_it && spy_cursor_write_data(at, array.data, array.size_bytes) == SPY_OK;
        if (found_it && !good) spyp_raise(p->range->device);
        spyp_leave(p->range->device);
    }
    spyp_arena_end(&arena);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// >>parts by name and index

static PyObject *spyp_place_item(PyObject *self, PyObject *key) {
    return spyp_place_make(((spyp_place *)self)->range, self, key);
}

static PyObject *spyp_place_getattr(PyObject *self, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    const char *text = spyp_attribute_text(name);
    if (!text || strncmp(text, "__", 2) == 0 || strncmp(text, "_repr_", 6) == 0 ||
        strncmp(text, "_ipython_", 9) == 0)
        return NULL;
    PyErr_Clear();
    value = spyp_place_item(self, name);
    if (!value && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyObject *type, *error, *trace;
        PyErr_Fetch(&type, &error, &trace);
        PyErr_NormalizeException(&type, &error, &trace);
        PyObject *args = error ? PyObject_GetAttrString(error, "args") : NULL,
                 *message = args ? PySequence_GetItem(args, 0) : NULL;
        PyErr_SetObject(PyExc_AttributeError, message ? message : name);
        Py_XDECREF(args);
        Py_XDECREF(message);
        Py_XDECREF(type);
        Py_XDECREF(error);
        Py_XDECREF(trace);
    }
    return value;
}

static int spyp_place_assign(PyObject *self, PyObject *key, PyObject *value) {
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "cursor: values cannot be deleted");
        return -1;
    }
    PyObject *part = PyObject_TypeCheck(self, spyp.element_cursor)
                         ? spyp_place_item(self, key)
                         : spyp_place_make((spyp_cursor_object *)self, NULL, key);
    int status = part ? spyp_place_put((spyp_place *)part, value, "cursor") : -1;
    Py_XDECREF(part);
    return status;
}

static int spyp_place_setattr(PyObject *self, PyObject *name, PyObject *value) {
    int status = spyp_place_assign(self, name, value);
    if (status < 0 && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        // It raises an AttributeError if there is no such part.
        PyObject *part = spyp_place_getattr(self, name);
        if (part) PyErr_Format(PyExc_AttributeError, "cursor: '%U' cannot be set", name);
        Py_XDECREF(part);
    }
    return status;
}

static PyObject *spyp_place_has(PyObject *self, PyObject *key, bool name) {
    spyp_place *p = (spyp_place *)self;
    if (name != (bool)PyUnicode_Check(key))
        return PyErr_Format(PyExc_TypeError,
                            name ? "has_field: expected a name, got %R"
                                 : "has_element: expected an index, got %R",
                            (PyObject *)Py_TYPE(key));
    p->range->device->quiet = true;
    PyObject *part = spyp_place_item(self, key);
    p->range->device->quiet = false;
    if (!part && !PyErr_ExceptionMatches(PyExc_LookupError) && !PyErr_ExceptionMatches(spyp.error))
        return NULL;
    PyErr_Clear();
    bool there = part != NULL;
    Py_XDECREF(part);
    return PyBool_FromLong(there);
}

static PyObject *spyp_place_has_field(PyObject *self, PyObject *key) {
    return spyp_place_has(self, key, true);
}

static PyObject *spyp_place_has_element(PyObject *self, PyObject *key) {
    return spyp_place_has(self, key, false);
}

static Py_ssize_t spyp_place_length(PyObject *self) {
    spyp_place *p = (spyp_place *)self;
    Py_ssize_t length = -1;
    if (spyp_enter(p->range->device, "cursor") < 0) return -1;
    spy_cursor at;
    if (spyp_place_find(p, &at)) length = (Py_ssize_t)spy_get_cursor_info(at).length;
    spyp_leave(p->range->device);
    return length;
}

static PyObject *spyp_place_valid(PyObject *self, PyObject *ignored) {
    spyp_cursor_object *c = ((spyp_place *)self)->range;
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(c->device->device != NULL && c->loaded);
}

static PyObject *spyp_place_type(PyObject *self, void *ignored) {
    spyp_place *p = (spyp_place *)self;
    PyObject *type = NULL;
    SPYP_UNUSED(ignored);
    if (spyp_enter(p->range->device, "cursor.type") < 0) return NULL;
    spy_cursor at;
    const spy_type_info *info = spyp_place_find(p, &at) ? spyp_place_info(p, at) : NULL;
    if (info) type = spyp_struct_make(p->range->module, info);
    spyp_leave(p->range->device);
    return type;
}

static int spyp_place_bool(PyObject *self) {
    SPYP_UNUSED(self);
    return 1;
}

static PyObject *spyp_place_repr(PyObject *self) {
    spyp_place *p = (spyp_place *)self;
    if (!p->range->device->device) return spyp_format("<slangpy.BufferElementCursor, of a closed device>");
    bool current = p->loads == p->range->loads; // p->cursor is valid
    const char *type = current ? spy_get_cursor_info(p->cursor).type : NULL;
    return spyp_format("<slangpy.BufferElementCursor %R of type %s>", p->step, type ? type : "?");
}

static int spyp_place_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_place *)self)->range);
    Py_VISIT(((spyp_place *)self)->parent);
    return 0;
}

static void spyp_place_dealloc(PyObject *self) {
    spyp_place *p = (spyp_place *)self;
    PyObject_GC_UnTrack(self);
    Py_CLEAR(p->range);
    Py_CLEAR(p->parent);
    Py_CLEAR(p->step);
    spyp_free(self);
}

// >>the range

static PyObject *spyp_cursor_item(PyObject *self, PyObject *key) {
    return spyp_place_make((spyp_cursor_object *)self, NULL, key);
}

static PyObject *spyp_cursor_seq(PyObject *self, Py_ssize_t i) {
    PyObject *index = PyLong_FromSsize_t(i), *item = index ? spyp_cursor_item(self, index) : NULL;
    Py_XDECREF(index);
    return item;
}

static Py_ssize_t spyp_cursor_length(PyObject *self) {
    return (Py_ssize_t)((spyp_cursor_object *)self)->count;
}

static PyObject *spyp_cursor_apply(PyObject *self, PyObject *ignored) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    SPYP_UNUSED(ignored);
    if (spyp_enter(c->device, "cursor.apply") < 0) return NULL;
    spy_status status = spy_cursor_apply(c->cursor);
    if (status != SPY_OK) spyp_raise(c->device);
    spyp_leave(c->device);
    if (status != SPY_OK) return NULL;
    Py_RETURN_NONE;
}

static PyObject *spyp_cursor_reload(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    if (spyp_cursor_load((spyp_cursor_object *)self) < 0) return NULL;
    Py_RETURN_NONE;
}

// Returns the type of the elements. Call it inside the device.
static const spy_type_info *spyp_cursor_type(spyp_cursor_object *c) {
    spy_cursor_info info = spy_get_cursor_info(c->cursor);
    const spy_type_info *type = info.type ? spy_reflect_type(c->module->module, info.type) : NULL;
    if (!type) spyp_raise(c->device);
    return type;
}

static PyObject *spyp_cursor_to_numpy(PyObject *self, PyObject *ignored) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    PyObject *numpy = spyp_numpy(), *array = NULL, *dtype = NULL, *shape = NULL;
    spy_shape inner, all = { 1, { c->count } };
    Py_buffer view;
    SPYP_UNUSED(ignored);
    if (!numpy || spyp_enter(c->device, "cursor.to_numpy") < 0) {
        Py_XDECREF(numpy);
        return NULL;
    }
    const spy_type_info *type = spyp_cursor_type(c);
    if (type) dtype = spyp_numpy_dtype(type, SPY_DTYPE_DEFAULT, &inner);
    for (uint32_t i = 0; dtype && i < inner.rank; i++) all.dims[all.rank++] = inner.dims[i];
    if (dtype) shape = spyp_shape_tuple(&all);
    if (shape) array = PyObject_CallMethod(numpy, "zeros", "OO", shape, dtype);
    if (array && c->count && PyObject_GetBuffer(array, &view, PyBUF_CONTIG) == 0) {
        if (spy_cursor_read_data(c->cursor, view.buf, (size_t)view.len) != SPY_OK) spyp_raise(c->device);
        PyBuffer_Release(&view);
    }
    if (PyErr_Occurred()) Py_CLEAR(array);
    spyp_leave(c->device);
    Py_XDECREF(shape);
    Py_XDECREF(dtype);
    Py_DECREF(numpy);
    return array;
}

static PyObject *spyp_cursor_from_numpy(PyObject *self, PyObject *object) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    spyp_arena arena;
    bool good = false;
    if (spyp_enter(c->device, "cursor.copy_from_numpy") < 0) return NULL;
    spyp_arena_begin(&arena);
    const spy_type_info *type = spyp_cursor_type(c);
    size_t size = type ? (size_t)c->count * type->size_bytes : 0;
    char *packed = type ? (char *)spyp_arena_take(&arena, size) : NULL;
    if (packed && spyp_pack_values(&arena, type, SPY_DTYPE_DEFAULT, object, c->count, packed,
                                   "cursor.copy_from_numpy") == 0) {
        good = spy_cursor_write_data(c->cursor, packed, size) == SPY_OK;
        if (!good) spyp_raise(c->device);
    }
    spyp_arena_end(&arena);
    spyp_leave(c->device);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

enum { SPYP_CURSOR_COUNT, SPYP_CURSOR_SIZE, SPYP_CURSOR_LOADED, SPYP_CURSOR_RESOURCE, SPYP_CURSOR_TYPE };

static PyObject *spyp_cursor_get(PyObject *self, void *which) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    PyObject *value = NULL;
    switch ((int)(intptr_t)which) {
    case SPYP_CURSOR_COUNT: return PyLong_FromLongLong(c->count);
    case SPYP_CURSOR_LOADED: return PyBool_FromLong(c->loaded);
    case SPYP_CURSOR_RESOURCE: return Py_NewRef(c->owner ? c->owner : Py_None);
    default: break;
    }
    if (spyp_enter(c->device, "cursor") < 0) return NULL;
    const spy_type_info *type = spyp_cursor_type(c);
    if (type)
        value = (int)(intptr_t)which == SPYP_CURSOR_SIZE ? PyLong_FromSize_t(type->size_bytes)
                                                         : spyp_struct_make(c->module, type);
    spyp_leave(c->device);
    return value;
}

static PyObject *spyp_cursor_repr(PyObject *self) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    if (!c->device->device) return spyp_format("<slangpy.BufferCursor, of a closed device>");
    return spyp_format("<slangpy.BufferCursor of %lld %s>", (long long)c->count,
                       spy_get_cursor_info(c->cursor).type);
}

static int spyp_cursor_traverse(PyObject *self, visitproc visit, void *arg) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)c->device);
    Py_VISIT((PyObject *)c->module);
    Py_VISIT(c->owner);
    return 0;
}

static void spyp_cursor_dealloc(PyObject *self) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    PyObject_GC_UnTrack(self);
    if (c->device && c->device->device && c->device->fork_count == spyp.fork_count) {
        if (c->loaded) spy_release_cursor(c->cursor);
        spy_release_tensor(c->tensor);
    }
    Py_CLEAR(c->owner);
    Py_CLEAR(c->module);
    Py_CLEAR(c->device);
    spyp_free(self);
}

// >>types

static PyMethodDef spyp_cursor_methods[] = {
    { "apply", spyp_cursor_apply, METH_NOARGS,
      "apply(): copy the elements that were written to the tensor." },
    { "load", spyp_cursor_reload, METH_NOARGS,
      "load(): read the elements again; what was not applied is lost. Waits." },
    { "find_element", spyp_cursor_item, METH_O,
      "find_element(index): cursor[index]. IndexError beyond the end." },
    { "to_numpy", spyp_cursor_to_numpy, METH_NOARGS,
      "to_numpy(): the copy as a numpy array, as Tensor.to_numpy()." },
    { "copy_from_numpy", spyp_cursor_from_numpy, METH_O,
      "copy_from_numpy(data): write all elements, as Tensor.copy_from_numpy()." },
    { "write_from_numpy", spyp_cursor_from_numpy, METH_O, "write_from_numpy(data): as copy_from_numpy()." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_cursor_getset[] = {
    { "element_count", spyp_cursor_get, NULL, "Number of elements.", (void *)SPYP_CURSOR_COUNT },
    { "element_size", spyp_cursor_get, NULL, "Bytes of an element in C's layout.", (void *)SPYP_CURSOR_SIZE },
    { "element_type", spyp_cursor_get, NULL, "The Slang type of the elements.", (void *)SPYP_CURSOR_TYPE },
    { "is_loaded", spyp_cursor_get, NULL, "Whether the elements have been read.",
      (void *)SPYP_CURSOR_LOADED },
    { "resource", spyp_cursor_get, NULL, "What the elements belong to.", (void *)SPYP_CURSOR_RESOURCE },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_cursor_slots[] = {
    { Py_tp_doc,
      (void *)"BufferCursor(tensor, start=0, count=None): elements of a tensor in a copy on the host. "
              "cursor[i] is a "
              "BufferElementCursor, cursor[i] = value writes one; apply() copies back what was written. "
              "BufferCursor(device_type, element_layout, buffer, load_before_write=True) sees a Buffer as elements of a type; "
              "BufferCursor(device_type, element_layout, size) makes memory for as many." },
    { Py_tp_new, (void *)spyp_cursor_new },
    { Py_tp_dealloc, (void *)spyp_cursor_dealloc },
    { Py_tp_traverse, (void *)spyp_cursor_traverse },
    { Py_tp_repr, (void *)spyp_cursor_repr },
    { Py_mp_length, (void *)spyp_cursor_length },
    { Py_mp_subscript, (void *)spyp_cursor_item },
    { Py_mp_ass_subscript, (void *)spyp_place_assign },
    { Py_sq_length, (void *)spyp_cursor_length },
    { Py_sq_item, (void *)spyp_cursor_seq },
    { Py_tp_methods, spyp_cursor_methods },
    { Py_tp_getset, spyp_cursor_getset },
    { 0, NULL },
};

static PyType_Spec spyp_cursor_spec = { "slangpy._slangpy.BufferCursor", sizeof(spyp_cursor_object), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, spyp_cursor_slots };

static PyMethodDef spyp_place_methods[] = {
    { "read", spyp_place_read, METH_NOARGS,
      "read(): the value: a number, vector, matrix, list, or a dict for a struct." },
    { "write", spyp_place_write, METH_O,
      "write(value): numbers, lists, vectors or arrays; a dict changes the fields that it names. Nothing is "
      "changed when a part does not fit." },
    { "set_data", spyp_place_set_data, METH_O,
      "set_data(data): the place's bytes in C's layout, from anything with a buffer." },
    { "has_field", spyp_place_has_field, METH_O,
      "has_field(name): whether there is a part of that name or path." },
    { "has_element", spyp_place_has_element, METH_O,
      "has_element(index): whether there is a part of that index." },
    { "find_field", spyp_place_item, METH_O,
      "find_field(name): a part by name or path, as cursor[name]. KeyError when there is none." },
    { "find_element", spyp_place_item, METH_O,
      "find_element(index): a part by index, as cursor[index]. IndexError beyond the end." },
    { "is_valid", spyp_place_valid, METH_NOARGS,
      "is_valid(): whether it can be read and written: its device is open." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_place_getset[] = {
    { "type", spyp_place_type, NULL, "The Slang type of the place.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_place_slots[] = {
    { Py_tp_doc, (void *)"A place in the elements of a BufferCursor: place.field, place['light.color'], "
                         "place[2]; place.field = value writes." },
    { Py_tp_dealloc, (void *)spyp_place_dealloc },
    { Py_tp_traverse, (void *)spyp_place_traverse },
    { Py_tp_repr, (void *)spyp_place_repr },
    { Py_tp_getattro, (void *)spyp_place_getattr },
    { Py_tp_setattro, (void *)spyp_place_setattr },
    { Py_nb_bool, (void *)spyp_place_bool },
    { Py_mp_length, (void *)spyp_place_length },
    { Py_mp_subscript, (void *)spyp_place_item },
    { Py_mp_ass_subscript, (void *)spyp_place_assign },
    { Py_tp_methods, spyp_place_methods },
    { Py_tp_getset, spyp_place_getset },
    { 0, NULL },
};

static PyType_Spec spyp_place_spec = { "slangpy._slangpy.BufferElementCursor", sizeof(spyp_place), 0,
                                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                       spyp_place_slots };

int spyp_cursor_ready(PyObject *module) {
    if (!(spyp.cursor = spyp_type_add(module, &spyp_cursor_spec, NULL))) return -1;
    spyp.element_cursor = spyp_type_add(module, &spyp_place_spec, NULL);
    return spyp.element_cursor ? 0 : -1;
}
