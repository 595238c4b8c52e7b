// BufferCursor and BufferElementCursor: elements of a tensor as Python values, field by field, in a copy on
// the host.
#include "objects/reflection.h"

#include <stdlib.h>
#include <string.h>

// A BufferCursor: a range of elements. It owns the copy, which it reads from the tensor at the first access.
typedef struct spyp_cursor_object {
    PyObject_HEAD spyp_device *device;
    spy_tensor *tensor; // the cursor retains it
    PyObject *owner;    // Python object that the tensor's memory belongs to, or NULL
    spyp_module *module;
    int64_t first, count;      // the elements of the tensor: the first one, and their number
    const spy_type_info *info; // the type of an element, which lives as long as the module
    spy_cursor cursor;
    bool loaded;
} spyp_cursor_object;

// A BufferElementCursor: a value in the range. Values are found by their offset on the device, so that a value can be seen as another type.
typedef struct spyp_place {
    PyObject_HEAD spyp_cursor_object *range;
    const spy_type_info *info; // NULL means an invalid cursor, the result of a search for a missing part
    size_t offset;             // the bytes from the range's first element, on the device
} spyp_place;

// >>loading

static int spyp_cursor_load(spyp_cursor_object *c) {
    if (spyp_enter(c->device, "cursor") < 0) return -1;
    spy_cursor fresh;
    memset(&fresh, 0, sizeof fresh);
    int status = spyp_wait_to_read(c->device);
    if (status == 0) fresh = spy_create_cursor(c->tensor, c->first, c->count);
    if (status == 0 && !spy_get_cursor_info(fresh).type) {
        spyp_raise(c->device);
        status = -1;
    }
    if (status == 0) {
        if (c->loaded) spy_release_cursor(c->cursor);
        c->cursor = fresh;
        c->loaded = true;
    }
    spyp_leave(c->device);
    return status;
}

// Finds the type of the elements. Call it inside the device.
static int spyp_cursor_find_type(spyp_cursor_object *c) {
    spy_tensor_info info = spy_get_tensor_info(c->tensor);
    if (strcmp(info.type, "void") == 0) {
        PyErr_SetString(
            PyExc_TypeError,
            "cursor: expected elements of a type, got bytes of none; view(shape, dtype=...) gives them one");
        return -1;
    }
    if (c->first < 0 || c->count < 0 || c->first > info.element_count ||
        c->count > info.element_count - c->first) {
        PyErr_Format(
            spyp.value_error,
            "cursor: expected a range within the tensor's %lld elements, got %lld from element %lld on",
            (long long)info.element_count, (long long)c->count, (long long)c->first);
        return -1;
    }
    c->info = spy_reflect_type(c->module->module, info.type);
    if (!c->info) spyp_raise(c->device);
    return c->info ? 0 : -1;
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
    int status = c->module ? spyp_enter(device, "cursor") : -1;
    if (status == 0) {
        status = spyp_cursor_find_type(c);
        spyp_leave(device);
    }
    if (status < 0) Py_CLEAR(c);
    return (PyObject *)c;
}

// Makes a cursor over `size` bytes of a buffer from byte `offset` on, as elements of a type. A size of -1
// means to the end.
static PyObject *spyp_cursor_over(PyObject *layout, const spy_type_info *info, spyp_module *module,
                                  PyObject *buffer, long long size, long long offset) {
    spyp_tensor *of = (spyp_tensor *)buffer;
    size_t each = info->device_stride_bytes;
    if (of->device != module->device)
        return PyErr_Format(spyp.value_error,
                            "BufferCursor: argument 'buffer_resource': it belongs to another device");
    if (spyp_enter(of->device, "BufferCursor") < 0) return NULL;
    spy_tensor *part = spyp_buffer_range(of, offset, size, "BufferCursor");
    size_t bytes = part ? (size_t)spy_get_tensor_info(part).element_count : 0;
    spyp_leave(of->device);
    PyObject *view = part ? spyp_tensor_make_view(spyp.tensor, of, part, NULL) : NULL;
    PyObject *tensor = view ? PyObject_CallFunction((PyObject *)spyp.tensor, "OO(n)", view, layout,
                                                    (Py_ssize_t)(each ? bytes / each : 0))
                            : NULL;
    PyObject *cursor = tensor ? PyObject_CallMethod(tensor, "cursor", NULL) : NULL;
    if (cursor) spyp_replace(&((spyp_cursor_object *)cursor)->owner, Py_NewRef(buffer));
    Py_XDECREF(view);
    Py_XDECREF(tensor);
    return cursor;
}

// SlangPy's constructors. BufferCursor(element_layout, buffer_resource, load_before_write=True) and BufferCursor(element_layout,
// buffer_resource, size, offset, load_before_write=True) show bytes of a buffer as elements of a type; BufferCursor(device_type,
// element_layout, size) has memory of its own for `size` elements.
static PyObject *spyp_cursor_typed(PyObject *args, PyObject *kwargs) {
    static char *with_device[] = { "device_type", "element_layout", "size", "load_before_write", NULL };
    static char *over_buffer[] = { "element_layout", "buffer_resource",   "size",
                                   "offset",         "load_before_write", NULL };
    PyObject *first = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL, *ignored = NULL, *layout, *buffer,
             *size = NULL;
    long long offset = 0;
    spyp_module *module;
    bool type = first && (PyObject_TypeCheck(first, spyp.struct_type) || spyp_reflection_is(first, SPYP_TYPE) ||
                          spyp_reflection_is(first, SPYP_TYPE_LAYOUT));
    bool own = first ? !type : kwargs && PyMapping_HasKeyString(kwargs, "device_type");
    if (own ? !PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|O:BufferCursor", with_device, &ignored, &layout,
                                           &buffer, &ignored)
            : !PyArg_ParseTupleAndKeywords(args, kwargs, "OO|OLO:BufferCursor", over_buffer, &layout, &buffer,
                                           &size, &offset, &ignored))
        return NULL;
    const spy_type_info *info = spyp_reflection_type(layout, &module);
    if (!info && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "BufferCursor: argument 'element_layout': expected a TypeLayoutReflection, got %R",
                     (PyObject *)Py_TYPE(layout));
    if (!info) return NULL;
    if (PyObject_TypeCheck(buffer, spyp.tensor)) {
        long long bytes = size && !PyBool_Check(size) ? PyLong_AsLongLong(size) : -1;
        return PyErr_Occurred() ? NULL : spyp_cursor_over(layout, info, module, buffer, bytes, offset);
    }
    if (!own || !PyLong_Check(buffer))
        return PyErr_Format(
            PyExc_TypeError,
            own ? "BufferCursor: argument 'size': expected a Buffer or a number of elements, got %R"
                : "BufferCursor: argument 'buffer_resource': expected a Buffer, got %R",
            (PyObject *)Py_TYPE(buffer));
    PyObject *tensor = PyObject_CallMethod((PyObject *)spyp.tensor, "zeros", "OOO",
                                           (PyObject *)module->device, buffer, layout);
    PyObject *cursor = tensor ? PyObject_CallMethod(tensor, "cursor", NULL) : NULL;
    if (cursor) spyp_replace(&((spyp_cursor_object *)cursor)->owner, NULL); // the user has not given a resource
    Py_XDECREF(tensor);
    return cursor;
}

// BufferCursor(tensor, start=0, count=None) is the library's own constructor.
static PyObject *spyp_cursor_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *first = PyTuple_Size(args) ? PyTuple_GetItem(args, 0) : NULL;
    SPYP_UNUSED(type);
    if (first ? !PyObject_TypeCheck(first, spyp.tensor) &&
                    PyTuple_Size(args) + (kwargs ? PyDict_Size(kwargs) : 0) > 1
              : kwargs != NULL)
        return spyp_cursor_typed(args, kwargs);
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

// >>bytes on the device
//
// The copy is in C's layout. On a Vulkan device a bool takes four bytes, so values there have other offsets.

static void spyp_copy_layout(const spy_type_info *info, char *host, char *device, bool to_device) {
    size_t columns = info->columns, n = info->rows * columns, size = spy_dtype_size_bytes(info->dtype);
    if (info->kind == SPY_TYPE_KIND_STRUCT) {
        for (uint32_t i = 0; i < info->field_count; i++)
            spyp_copy_layout(info->fields[i].type, host + info->fields[i].offset_bytes,
                             device + info->fields[i].device_offset_bytes, to_device);
    } else if (info->kind == SPY_TYPE_KIND_ARRAY) {
        for (int64_t i = 0; i < info->count; i++)
            spyp_copy_layout(info->element, host + (size_t)i * info->element->size_bytes,
                             device + (size_t)i * info->element->device_stride_bytes, to_device);
    } else if (info->dtype == SPY_DTYPE_BOOL) {
        size_t wide = info->device_size_bytes / (n ? n : 1); // the bytes of a bool on the device
        for (size_t i = 0; i < n; i++) {
            char *at = device + wide * i;
            if (to_device) memset(at, 0, wide);
            if (to_device) *at = host[i] != 0;
            else host[i] = *at != 0;
        }
    } else if (to_device) {
        memcpy(device, host, n * size);
    } else {
        memcpy(host, device, n * size);
    }
}

// Copies bytes of the range, which lie at `offset` on the device, to or from `data`. It goes through the
// elements in which they lie. Call it inside the device, when the range is loaded.
static int spyp_cursor_bytes(spyp_cursor_object *c, size_t offset, size_t size, char *data, bool write) {
    size_t stride = c->info->device_stride_bytes, host_size = c->info->size_bytes;
    size_t first = stride ? offset / stride : 0,
           room = stride > c->info->device_size_bytes ? stride : c->info->device_size_bytes;
    char *host = (char *)PyMem_Malloc(host_size + room + 1), *device = host + host_size;
    spy_status status = SPY_OK;
    if (!host) PyErr_NoMemory();
    for (size_t done = 0, e = first; host && done < size && status == SPY_OK; e++) {
        size_t from = e == first ? offset - first * stride : 0,
               n = stride - from < size - done ? stride - from : size - done;
        spy_cursor at = spy_cursor_at(c->cursor, (int64_t)e);
        memset(device, 0, room);
        status = spy_cursor_read_data(at, host, host_size);
        if (status == SPY_OK) spyp_copy_layout(c->info, host, device, true);
        if (status == SPY_OK && write) {
            memcpy(device + from, data + done, n);
            spyp_copy_layout(c->info, host, device, false);
            status = spy_cursor_write_data(at, host, host_size);
        } else if (status == SPY_OK) {
            memcpy(data + done, device + from, n);
        }
        done += n;
    }
    PyMem_Free(host);
    if (status != SPY_OK) spyp_raise(c->device);
    return PyErr_Occurred() ? -1 : 0;
}

// >>places

static PyObject *spyp_place_new(spyp_cursor_object *range, const spy_type_info *info, size_t offset) {
    spyp_place *p = (spyp_place *)spyp_alloc(spyp.element_cursor);
    if (!p) return NULL;
    p->range = (spyp_cursor_object *)Py_NewRef((PyObject *)range);
    p->info = info;
    p->offset = offset;
    return (PyObject *)p;
}

static const spy_decl *spyp_place_field(const spy_type_info *info, const char *name, size_t size) {
    for (uint32_t i = 0; i < info->field_count; i++)
        if (strlen(info->fields[i].name) == size && strncmp(info->fields[i].name, name, size) == 0)
            return &info->fields[i];
    return NULL;
}

// Returns the number of parts that an index can select.
static int64_t spyp_part_count(const spy_type_info *info) {
    if (!info) return 0;
    if (info->kind == SPY_TYPE_KIND_ARRAY) return info->count;
    return info->kind == SPY_TYPE_KIND_MATRIX   ? (int64_t)info->rows
           : info->kind == SPY_TYPE_KIND_VECTOR ? (int64_t)info->columns
                                                : 0;
}

// Moves to the part of that index. Returns false, without an exception, if there is none.
static bool spyp_step_index(spyp_cursor_object *c, const spy_type_info **info, size_t *offset,
                            int64_t index) {
    const spy_type_info *from = *info, *to = from ? from->element : NULL;
    if (index < 0 || index >= spyp_part_count(from) || !to) return false;
    if (from->kind == SPY_TYPE_KIND_MATRIX) { // its element is a number, but its parts are rows
        char name[64];
        PyOS_snprintf(name, sizeof name, "vector<%s, %u>", to->name, (unsigned)from->columns);
        to = spy_reflect_type(c->module->module, name);
        if (!to) {
            spyp_raise(c->device);
            return false;
        }
    }
    *offset += (size_t)index * to->device_stride_bytes;
    *info = to;
    return true;
}

// Moves to the field or component of that name. Returns false if there is none.
static bool spyp_step_name(spyp_cursor_object *c, const spy_type_info **info, size_t *offset,
                           const char *name, size_t size) {
    const spy_decl *field = spyp_place_field(*info, name, size);
    if (field) {
        *offset += field->device_offset_bytes;
        *info = field->type;
        return true;
    }
    if ((*info)->kind != SPY_TYPE_KIND_VECTOR || size != 1) return false;
    const char *position = strchr("xyzw", *name), *color = strchr("rgba", *name);
    if (!*name || (!position && !color)) return false;
    return spyp_step_index(c, info, offset,
                           position ? (int64_t)(position - "xyzw") : (int64_t)(color - "rgba"));
}

// Follows a path such as "items[2].x". Returns false if there is no such part.
static bool spyp_step_path(spyp_cursor_object *c, const spy_type_info **info, size_t *offset,
                           const char *path) {
    bool first = true;
    if (!*path) return false;
    while (*path) {
        if (*path == '[') {
            char *end;
            long long index = strtoll(path + 1, &end, 10);
            if (end == path + 1 || *end != ']' || !spyp_step_index(c, info, offset, index)) return false;
            path = end + 1;
        } else {
            path += !first && *path == '.';
            size_t size = strcspn(path, ".[");
            if (!size || !spyp_step_name(c, info, offset, path, size)) return false;
            path += size;
        }
        first = false;
    }
    return true;
}

// Converts an int to int64_t; another object, or an int that is too large, is an error.
static int spyp_place_index(PyObject *key, int64_t *index) {
    PyObject *number = PyIndex_Check(key) ? PyNumber_Index(key) : NULL;
    if (number) *index = PyLong_AsLongLong(number);
    if (number && PyErr_Occurred())
        PyErr_Format(spyp.index_error, "cursor: the index %S is out of range", number);
    else if (!number && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "cursor: expected a name or an index, got %R",
                     (PyObject *)Py_TYPE(key));
    Py_XDECREF(number);
    return PyErr_Occurred() ? -1 : 0;
}

// Returns a part of a value. A missing name gives an invalid cursor, a missing index an IndexError.
static PyObject *spyp_place_item(PyObject *self, PyObject *key) {
    spyp_place *p = (spyp_place *)self;
    const spy_type_info *info = p->info;
    size_t offset = p->offset;
    const char *path = PyUnicode_Check(key) ? spyp_utf8(key) : NULL;
    int64_t index = 0;
    bool found = false;
    if (PyUnicode_Check(key) && !path) return spyp_error_behind("cursor: ");
    if (!path && spyp_place_index(key, &index) < 0) return NULL;
    if (spyp_enter(p->range->device, "cursor") < 0) return NULL;
    if (info)
        found = path ? spyp_step_path(p->range, &info, &offset, path)
                     : spyp_step_index(p->range, &info, &offset, index);
    spyp_leave(p->range->device);
    if (PyErr_Occurred()) return NULL;
    if (!found && !path)
        return PyErr_Format(spyp.index_error, "cursor: [%lld] is beyond the %lld parts of %s",
                            (long long)index, (long long)spyp_part_count(p->info),
                            p->info ? p->info->name : "an invalid cursor");
    return spyp_place_new(p->range, found ? info : NULL, offset);
}

// Returns element `key` of a range. Negative numbers count from its end.
static PyObject *spyp_range_item(PyObject *self, PyObject *key) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    int64_t index = 0;
    if (spyp_place_index(key, &index) < 0 || spyp_enter(c->device, "cursor") < 0) return NULL;
    spyp_leave(c->device);
    int64_t at = index < 0 ? index + c->count : index;
    if (at < 0 || at >= c->count)
        return PyErr_Format(spyp.index_error, "cursor: element %lld is beyond its %lld elements",
                            (long long)index, (long long)c->count);
    return spyp_place_new(c, c->info, (size_t)at * c->info->device_stride_bytes);
}

// >>reading and writing

// Enters the device, loads the range if it is not loaded, and copies the value in C's layout to new memory. Returns NULL with an exception
// set; otherwise the caller frees the memory and leaves the device.
static char *spyp_place_value(spyp_place *p, const char *what) {
    spyp_cursor_object *c = p->range;
    char *host = NULL;
    if (spyp_enter(c->device, what) < 0) return NULL;
    int status = p->info ? 0 : -1;
    if (!p->info) PyErr_Format(spyp.error, "%s: the cursor is invalid: there is no such part", what);
    if (status == 0 && !c->loaded) status = spyp_cursor_load(c);
    size_t size = status == 0 ? p->info->device_size_bytes : 0;
    char *bytes = status == 0 ? (char *)PyMem_Malloc(size + 1) : NULL;
    if (bytes) host = (char *)PyMem_Calloc(p->info->size_bytes + 1, 1);
    if (status == 0 && !host) PyErr_NoMemory();
    if (host && spyp_cursor_bytes(c, p->offset, size, bytes, false) == 0) {
        spyp_copy_layout(p->info, host, bytes, false);
    } else {
        PyMem_Free(host);
        host = NULL;
    }
    PyMem_Free(bytes);
    if (!host) spyp_leave(c->device);
    return host;
}

// Stores a value in C's layout. Call it inside the device.
static int spyp_place_store(spyp_place *p, char *host) {
    size_t size = p->info->device_size_bytes;
    char *bytes = (char *)PyMem_Malloc(size + 1);
    int status =
        bytes ? spyp_cursor_bytes(p->range, p->offset, size, bytes, false) : -1; // gaps between fields keep their bytes
    if (!bytes) PyErr_NoMemory();
    if (status == 0) {
        spyp_copy_layout(p->info, host, bytes, true);
        status = spyp_cursor_bytes(p->range, p->offset, size, bytes, true);
    }
    PyMem_Free(bytes);
    return status;
}

static PyObject *spyp_place_read(PyObject *self, PyObject *ignored) {
    spyp_place *p = (spyp_place *)self;
    SPYP_UNUSED(ignored);
    char *data = spyp_place_value(p, "cursor.read");
    if (!data) return NULL;
    PyObject *value = spyp_value_read(p->range->module, p->info, data);
    PyMem_Free(data);
    spyp_leave(p->range->device);
    return value;
}

static int spyp_place_merge(spyp_place *p, const spy_type_info *info, PyObject *value, char *data,
                            const char *what);

// Changes the elements of an array of structs by a tuple of as many values, whose dicts may have any of the fields.
static int spyp_place_merge_items(spyp_place *p, const spy_type_info *info, PyObject *items, char *data,
                                  const char *what) {
    int status = 0;
    for (Py_ssize_t i = 0; status == 0 && i < (Py_ssize_t)info->count; i++)
        status = spyp_place_merge(p, info->element, PyTuple_GetItem(items, i),
                                  data + (size_t)i * info->element->size_bytes, what);
    return status;
}

// Changes the fields that `dict` names in the value at `data`. Other names are ignored.
static int spyp_place_merge(spyp_place *p, const spy_type_info *info, PyObject *value, char *data,
                            const char *what) {
    spyp_host_array array;
    spyp_arena arena;
    PyObject *other = spyp_extension_value(value); // set if the value's class has get_this() or to_cursor()
    if (other || PyErr_Occurred()) {
        int status = other && Py_EnterRecursiveCall(" in a value for a cursor") == 0 ? 0 : -1;
        if (status == 0) {
            status = spyp_place_merge(p, info, other, data, what);
            Py_LeaveRecursiveCall();
        }
        Py_XDECREF(other);
        return status;
    }
    if (info->kind != SPY_TYPE_KIND_STRUCT || !PyDict_Check(value)) {
        size_t count;
        spy_dtype scalar = spyp_scalar_of(info, &count);
        bool pointer = info->kind == SPY_TYPE_KIND_POINTER; // a pointer takes a tensor's address, not its contents
        if (!scalar && info->kind == SPY_TYPE_KIND_ARRAY && (PyList_Check(value) || PyTuple_Check(value))) {
            PyObject *items = PyList_Check(value) ? PyList_AsTuple(value) : Py_NewRef(value);
            bool fits = items && PyTuple_Size(items) == (Py_ssize_t)info->count;
            int status = !items ? -1
                         : fits ? spyp_place_merge_items(p, info, items, data, what)
                                : spyp_value_write(p->range->module, info, value, data,
                                                   what); // raises the error for the number of items
            Py_XDECREF(items);
            return status;
        }
        if (!scalar || pointer || PyBytes_Check(value) || !spyp_is_array(value)) // bytes are written by set_data()
            return spyp_value_write(p->range->module, info, value, data, what);
        spyp_arena_begin(&arena);
        int found = spyp_host_array_get(&arena, value, what, &array);
        size_t given = found > 0 && array.dtype ? array.size_bytes / spy_dtype_size_bytes(array.dtype) : 0;
        int status = found > 0 && array.dtype && given == count
                         ? spyp_convert_numbers(data, scalar, array.data, array.dtype, count, what)
                         : -1;
        if (status < 0 && !PyErr_Occurred())
            PyErr_Format(spyp.value_error, "%s: expected %zu numbers for %s, got %zu", what, count,
                         info->name, given);
        spyp_arena_end(&arena);
        return status;
    }
    PyObject *items = spyp_dict_items(value, what);
    int status = items ? 0 : -1;
    for (Py_ssize_t k = 0; status == 0 && k < PyTuple_Size(items); k += 2) {
        const char *name = spyp_utf8(PyTuple_GetItem(items, k));
        const spy_decl *field = name ? spyp_place_field(info, name, strlen(name)) : NULL;
        if (!name) status = -1;
        if (field)
            status = spyp_place_merge(p, field->type, PyTuple_GetItem(items, k + 1),
                                      data + field->offset_bytes, what);
    }
    Py_XDECREF(items);
    return status;
}

// Writes a value. It is first built in other memory, so that nothing changes if a part of it does not fit.
static int spyp_place_put(spyp_place *p, PyObject *value, const char *what) {
    char *data = spyp_place_value(p, what);
    if (!data) return -1;
    int status = spyp_place_merge(p, p->info, value, data, what);
    if (status == 0) status = spyp_place_store(p, data);
    PyMem_Free(data);
    spyp_leave(p->range->device);
    return status;
}

static PyObject *spyp_place_write(PyObject *self, PyObject *value) {
    if (spyp_place_put((spyp_place *)self, value, "cursor.write") < 0) return NULL;
    Py_RETURN_NONE;
}

// Writes bytes in the device's layout, which differs from C's layout only in bools.
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
    char *old = found > 0 ? spyp_place_value(p, "cursor.set_data") : NULL;
    if (old) {
        if (array.size_bytes == p->info->device_size_bytes)
            good = spyp_cursor_bytes(p->range, p->offset, array.size_bytes, (char *)(uintptr_t)array.data,
                                     true) == 0;
        else if (array.size_bytes == p->info->size_bytes)
            good = spyp_place_store(p, (char *)(uintptr_t)array.data) == 0;
        else
            PyErr_Format(spyp.value_error, "cursor.set_data: %s has %zu bytes, got %zu", p->info->name,
                         p->info->device_size_bytes, (size_t)array.size_bytes);
        PyMem_Free(old);
        spyp_leave(p->range->device);
    }
    spyp_arena_end(&arena);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// >>parts by name and index

static PyObject *spyp_place_getattr(PyObject *self, PyObject *name) {
    spyp_place *p = (spyp_place *)self;
    const char *text = spyp_attribute_text(name);
    // A field wins over the property `type`, which SlangPy's cursors do not have.
    bool field =
        text && strcmp(text, "type") == 0 && p->info && spyp_place_field(p->info, text, strlen(text));
    PyObject *value = field || !text ? NULL : PyObject_GenericGetAttr(self, name);
    if (value || !text || (!field && !PyErr_ExceptionMatches(PyExc_AttributeError))) return value;
    if (strncmp(text, "__", 2) == 0 || strncmp(text, "_repr_", 6) == 0 || strncmp(text, "_ipython_", 9) == 0)
        return NULL;
    PyErr_Clear();
    return spyp_place_item(self, name);
}

static int spyp_place_assign(PyObject *self, PyObject *key, PyObject *value) {
    if (!value) {
        PyErr_SetString(PyExc_TypeError, "cursor: values cannot be deleted");
        return -1;
    }
    bool element = PyObject_TypeCheck(self, spyp.element_cursor);
    PyObject *part = element ? spyp_place_item(self, key) : spyp_range_item(self, key);
    int status = part ? 0 : -1;
    if (part && !((spyp_place *)part)->info) {
        const spy_type_info *info = ((spyp_place *)self)->info;
        PyErr_Format(PyExc_KeyError, "cursor: %s has no field %R", info ? info->name : "an invalid cursor",
                     key);
        status = -1;
    }
    if (status == 0) status = spyp_place_put((spyp_place *)part, value, "cursor");
    Py_XDECREF(part);
    return status;
}

static int spyp_place_setattr(PyObject *self, PyObject *name, PyObject *value) {
    spyp_place *p = (spyp_place *)self;
    int status = spyp_place_assign(self, name, value);
    if (status < 0 && PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_AttributeError, "cursor: %s has no field '%U' to be set",
                     p->info ? p->info->name : "an invalid cursor", name);
    }
    return status;
}

static PyObject *spyp_place_has(PyObject *self, PyObject *key, bool name) {
    if (name != (bool)PyUnicode_Check(key))
        return PyErr_Format(PyExc_TypeError,
                            name ? "has_field: expected a name, got %R"
                                 : "has_element: expected an index, got %R",
                            (PyObject *)Py_TYPE(key));
    PyObject *part = spyp_place_item(self, key);
    if (!part && !PyErr_ExceptionMatches(PyExc_LookupError)) return NULL;
    PyErr_Clear();
    bool there = part && ((spyp_place *)part)->info;
    Py_XDECREF(part);
    return PyBool_FromLong(there);
}

static PyObject *spyp_place_has_field(PyObject *self, PyObject *key) {
    return spyp_place_has(self, key, true);
}

static PyObject *spyp_place_has_element(PyObject *self, PyObject *key) {
    return spyp_place_has(self, key, false);
}

// Returns a cursor at an element, or an invalid one.
static PyObject *spyp_place_find_element(PyObject *self, PyObject *key) {
    PyObject *part = spyp_place_item(self, key);
    if (part || !PyErr_ExceptionMatches(PyExc_IndexError)) return part;
    PyErr_Clear();
    return spyp_place_new(((spyp_place *)self)->range, NULL, 0);
}

static PyObject *spyp_place_reinterpret(PyObject *self, PyObject *layout) {
    spyp_place *p = (spyp_place *)self;
    spyp_cursor_object *c = p->range;
    spyp_module *module;
    const spy_type_info *info = spyp_reflection_type(layout, &module);
    if (!info) {
        if (PyErr_Occurred()) return NULL;
        return PyErr_Format(PyExc_TypeError,
                            "reinterpret: argument 'new_layout': expected a TypeLayoutReflection, got %R",
                            (PyObject *)Py_TYPE(layout));
    }
    size_t end = (size_t)c->count * c->info->device_stride_bytes, size = info->device_size_bytes;
    if (!p->info || !info->size_bytes || p->offset > end || size > end - p->offset)
        return PyErr_Format(spyp.value_error,
                            "reinterpret: %s with its %zu bytes is not within the cursor's elements",
                            info->name, size);
    // The type comes from the cursor's module if that has it, so that it lives as long as the cursor.
    if (module != c->module && spyp_enter(c->device, "reinterpret") == 0) {
        info = spy_reflect_type(c->module->module, info->name);
        if (!info) spyp_raise(c->device);
        spyp_leave(c->device);
    }
    return info && !PyErr_Occurred() ? spyp_place_new(c, info, p->offset) : NULL;
}

static Py_ssize_t spyp_place_length(PyObject *self) {
    spyp_place *p = (spyp_place *)self;
    if (spyp_enter(p->range->device, "cursor") < 0) return -1;
    spyp_leave(p->range->device);
    return (Py_ssize_t)spyp_part_count(p->info);
}

static PyObject *spyp_place_valid(PyObject *self, PyObject *ignored) {
    spyp_place *p = (spyp_place *)self;
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(p->info && p->range->device->device != NULL);
}

static PyObject *spyp_place_type(PyObject *self, void *ignored) {
    spyp_place *p = (spyp_place *)self;
    SPYP_UNUSED(ignored);
    if (!p->info) Py_RETURN_NONE;
    if (spyp_enter(p->range->device, "cursor.type") < 0) return NULL;
    PyObject *type = spyp_struct_make(p->range->module, p->info);
    spyp_leave(p->range->device);
    return type;
}

static PyObject *spyp_place_offset(PyObject *self, void *ignored) {
    SPYP_UNUSED(ignored);
    return PyLong_FromSize_t(((spyp_place *)self)->offset);
}

static int spyp_place_bool(PyObject *self) {
    return ((spyp_place *)self)->info != NULL;
}

// Returns the value, followed by the type in brackets.
static PyObject *spyp_place_repr(PyObject *self) {
    spyp_place *p = (spyp_place *)self;
    if (!p->range->device->device) return spyp_format("<slangpy.BufferElementCursor, of a closed device>");
    if (!p->info) return spyp_format("<slangpy.BufferElementCursor, invalid>");
    PyObject *value = spyp_place_read(self, NULL), *type = value ? spyp_full_name(p->info) : NULL,
             *text = type ? spyp_format("%S [%U]", value, type) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(value);
    return text;
}

static int spyp_place_traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT((PyObject *)((spyp_place *)self)->range);
    return 0;
}

static void spyp_place_dealloc(PyObject *self) {
    PyObject_GC_UnTrack(self);
    Py_CLEAR(((spyp_place *)self)->range);
    spyp_free(self);
}

// >>the range

static PyObject *spyp_cursor_seq(PyObject *self, Py_ssize_t i) {
    PyObject *index = PyLong_FromSsize_t(i), *item = index ? spyp_range_item(self, index) : NULL;
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
    spy_status status = c->loaded ? spy_cursor_apply(c->cursor) : SPY_OK;
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

// _read_bytes() returns all elements as a bytearray, as they lie on the device.
static PyObject *spyp_cursor_read_bytes(PyObject *self, PyObject *ignored) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    PyObject *bytes = NULL;
    SPYP_UNUSED(ignored);
    if (spyp_enter(c->device, "cursor.to_numpy") < 0) return NULL;
    size_t size = (size_t)c->count * c->info->device_stride_bytes;
    if (c->loaded || spyp_cursor_load(c) == 0) bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes && spyp_cursor_bytes(c, 0, size, PyByteArray_AsString(bytes), false) < 0) Py_CLEAR(bytes);
    spyp_leave(c->device);
    return bytes;
}

// _write_bytes(data) writes bytes, as they lie on the device, from the first element on.
static PyObject *spyp_cursor_write_bytes(PyObject *self, PyObject *data) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    Py_buffer view;
    bool good = false;
    if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
    if (spyp_enter(c->device, "cursor.copy_from_numpy") == 0) {
        size_t size = (size_t)c->count * c->info->device_stride_bytes;
        if ((size_t)view.len > size)
            PyErr_Format(spyp.error, "cursor.copy_from_numpy: expected at most %zu bytes, got %zd", size,
                         view.len);
        else if (c->loaded || spyp_cursor_load(c) == 0)
            good = spyp_cursor_bytes(c, 0, (size_t)view.len, (char *)view.buf, true) == 0;
        spyp_leave(c->device);
    }
    PyBuffer_Release(&view);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

// _write_values(data) writes values for all elements: numbers are converted, and fields go by their names.
static PyObject *spyp_cursor_write_values(PyObject *self, PyObject *object) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    spyp_arena arena;
    bool good = false;
    if (spyp_enter(c->device, "cursor.copy_from_numpy") < 0) return NULL;
    spyp_arena_begin(&arena);
    size_t size = (size_t)c->count * c->info->size_bytes;
    char *packed = c->loaded || spyp_cursor_load(c) == 0 ? (char *)spyp_arena_take(&arena, size) : NULL;
    if (packed && spyp_pack_values(&arena, c->info, SPY_DTYPE_DEFAULT, object, c->count, packed,
                                   "cursor.copy_from_numpy") == 0) {
        good = spy_cursor_write_data(c->cursor, packed, size) == SPY_OK;
        if (!good) spyp_raise(c->device);
    }
    spyp_arena_end(&arena);
    spyp_leave(c->device);
    if (!good) return NULL;
    Py_RETURN_NONE;
}

enum {
    SPYP_CURSOR_COUNT,
    SPYP_CURSOR_SIZE,
    SPYP_CURSOR_STRIDE,
    SPYP_CURSOR_BYTES,
    SPYP_CURSOR_LOADED,
    SPYP_CURSOR_RESOURCE,
    SPYP_CURSOR_TYPE,
    SPYP_CURSOR_LAYOUT
};

static PyObject *spyp_cursor_get(PyObject *self, void *which) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    switch ((int)(intptr_t)which) {
    case SPYP_CURSOR_COUNT: return PyLong_FromLongLong(c->count);
    case SPYP_CURSOR_LOADED: return PyBool_FromLong(c->loaded);
    case SPYP_CURSOR_RESOURCE: return Py_NewRef(c->owner ? c->owner : Py_None);
    default: break;
    }
    if (spyp_enter(c->device, "cursor") < 0) return NULL;
    spyp_leave(c->device);
    switch ((int)(intptr_t)which) {
    case SPYP_CURSOR_SIZE: return PyLong_FromSize_t(c->info->device_size_bytes);
    case SPYP_CURSOR_STRIDE: return PyLong_FromSize_t(c->info->device_stride_bytes);
    case SPYP_CURSOR_BYTES: return PyLong_FromSize_t((size_t)c->count * c->info->device_stride_bytes);
    case SPYP_CURSOR_TYPE: return spyp_reflect_type(SPYP_TYPE, c->module, c->info);
    default: return spyp_reflect_type(SPYP_TYPE_LAYOUT, c->module, c->info);
    }
}

static PyObject *spyp_cursor_repr(PyObject *self) {
    spyp_cursor_object *c = (spyp_cursor_object *)self;
    if (!c->device->device) return spyp_format("<slangpy.BufferCursor, of a closed device>");
    return spyp_format("<slangpy.BufferCursor of %lld %s>", (long long)c->count, c->info->name);
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

SPYP_NAMED(spyp_range_item_by_index, spyp_range_item, "find_element", "index")

static PyMethodDef spyp_cursor_methods[] = {
    { "apply", spyp_cursor_apply, METH_NOARGS,
      "apply(): copy the elements that were written to the tensor." },
    { "load", spyp_cursor_reload, METH_NOARGS,
      "load(): read the elements again; writes without apply() are lost. Waits." },
    { "find_element", SPYP_FUNC(spyp_range_item_by_index), METH_FASTCALL | METH_KEYWORDS,
      "find_element(index): returns cursor[index]. IndexError beyond the end." },
    { "_read_bytes", spyp_cursor_read_bytes, METH_NOARGS,
      "_read_bytes(): the bytes of all elements as they lie on the device." },
    { "_write_bytes", spyp_cursor_write_bytes, METH_O,
      "_write_bytes(data): write bytes as they lie on the device." },
    { "_write_values", spyp_cursor_write_values, METH_O,
      "_write_values(data): write values for all elements." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_cursor_getset[] = {
    { "element_count", spyp_cursor_get, NULL, "The number of elements.", (void *)SPYP_CURSOR_COUNT },
    { "element_size", spyp_cursor_get, NULL, "The bytes of an element on the device.", (void *)SPYP_CURSOR_SIZE },
    { "element_stride", spyp_cursor_get, NULL, "The bytes from one element to the next on the device.",
      (void *)SPYP_CURSOR_STRIDE },
    { "size", spyp_cursor_get, NULL, "The bytes of all elements on the device.", (void *)SPYP_CURSOR_BYTES },
    { "element_type", spyp_cursor_get, NULL, "The TypeReflection of the elements.",
      (void *)SPYP_CURSOR_TYPE },
    { "element_type_layout", spyp_cursor_get, NULL, "The TypeLayoutReflection of the elements.",
      (void *)SPYP_CURSOR_LAYOUT },
    { "is_loaded", spyp_cursor_get, NULL, "Whether the elements have been read from the device.",
      (void *)SPYP_CURSOR_LOADED },
    { "resource", spyp_cursor_get, NULL, "The buffer or tensor that the elements belong to.", (void *)SPYP_CURSOR_RESOURCE },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_cursor_slots[] = {
    { Py_tp_doc,
      (void *)"BufferCursor(tensor, start=0, count=None): the elements of a tensor, copied to the host. cursor[i] is a "
          "BufferElementCursor, and cursor[i] = value writes an element; apply() copies written elements back. "
          "BufferCursor(element_layout, buffer_resource, load_before_write=True) shows a Buffer as elements of a type; "
          "BufferCursor(device_type, element_layout, size) allocates memory for `size` elements." },
    { Py_tp_new, (void *)spyp_cursor_new },
    { Py_tp_dealloc, (void *)spyp_cursor_dealloc },
    { Py_tp_traverse, (void *)spyp_cursor_traverse },
    { Py_tp_repr, (void *)spyp_cursor_repr },
    { Py_mp_length, (void *)spyp_cursor_length },
    { Py_mp_subscript, (void *)spyp_range_item },
    { Py_mp_ass_subscript, (void *)spyp_place_assign },
    { Py_sq_length, (void *)spyp_cursor_length },
    { Py_sq_item, (void *)spyp_cursor_seq },
    { Py_tp_methods, spyp_cursor_methods },
    { Py_tp_getset, spyp_cursor_getset },
    { 0, NULL },
};

static PyType_Spec spyp_cursor_spec = { "slangpy._slangpy.BufferCursor", sizeof(spyp_cursor_object), 0,
                                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, spyp_cursor_slots };

SPYP_NAMED(spyp_place_write_by_val, spyp_place_write, "write", "val")
SPYP_NAMED(spyp_place_set_data_by_data, spyp_place_set_data, "set_data", "data")
SPYP_NAMED(spyp_place_has_field_by_name, spyp_place_has_field, "has_field", "name")
SPYP_NAMED(spyp_place_has_element_by_index, spyp_place_has_element, "has_element", "index")
SPYP_NAMED(spyp_place_item_by_name, spyp_place_item, "find_field", "name")
SPYP_NAMED(spyp_place_find_element_by_index, spyp_place_find_element, "find_element", "index")
SPYP_NAMED(spyp_place_reinterpret_by_new_layout, spyp_place_reinterpret, "reinterpret", "new_layout")

static PyMethodDef spyp_place_methods[] = {
    { "read", spyp_place_read, METH_NOARGS,
      "read(): returns the value: a number, vector, matrix, list, or a dict for a struct." },
    { "write", SPYP_FUNC(spyp_place_write_by_val), METH_FASTCALL | METH_KEYWORDS,
      "write(value): write numbers, lists, vectors or arrays; a dict changes the fields that it names, and other keys are ignored. "
      "Nothing is changed if a part does not fit." },
    { "set_data", SPYP_FUNC(spyp_place_set_data_by_data), METH_FASTCALL | METH_KEYWORDS,
      "set_data(data): write the value's bytes, from any object with a buffer." },
    { "has_field", SPYP_FUNC(spyp_place_has_field_by_name), METH_FASTCALL | METH_KEYWORDS,
      "has_field(name): whether the value has a part of that name or path." },
    { "has_element", SPYP_FUNC(spyp_place_has_element_by_index), METH_FASTCALL | METH_KEYWORDS,
      "has_element(index): whether the value has a part of that index." },
    { "find_field", SPYP_FUNC(spyp_place_item_by_name), METH_FASTCALL | METH_KEYWORDS,
      "find_field(name): returns the part with that name or path, as cursor[name] does; an invalid cursor if the element has no such part." },
    { "find_element", SPYP_FUNC(spyp_place_find_element_by_index), METH_FASTCALL | METH_KEYWORDS,
      "find_element(index): the element with that index; an invalid cursor beyond the end." },
    { "reinterpret", SPYP_FUNC(spyp_place_reinterpret_by_new_layout), METH_FASTCALL | METH_KEYWORDS,
      "reinterpret(new_layout): the same bytes as a value of another type." },
    { "is_valid", spyp_place_valid, METH_NOARGS,
      "is_valid(): whether the value can be read and written: the cursor has one, and its device is open." },
    { NULL, NULL, 0, NULL },
};

static PyGetSetDef spyp_place_getset[] = {
    { "type", spyp_place_type, NULL, "The Slang type of the value, unless it has a field of that name.",
      NULL },
    { "_offset", spyp_place_offset, NULL, "The bytes from the cursor's first element, on the device.", NULL },
    { NULL, NULL, NULL, NULL, NULL },
};

static PyType_Slot spyp_place_slots[] = {
    { Py_tp_doc, (void *)"A value in the elements of a BufferCursor, or a part of one: place.field, place['light.color'], place[2]; "
        "place.field = value writes." },
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
