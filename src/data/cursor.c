// Cursors find places in host memory by the names of fields: in a copy of a tensor's elements, or in the
// program's own values.
#include "data/device.h"

// A copy of a tensor's elements in C's layout.
typedef struct spyi_cursor_range {
    spyi_object object;
    spy_tensor *tensor; // the range holds one reference
    int64_t first, count;
    char *data;
    bool *written; // tells for each element whether it was written since the last apply
    struct spyi_cursor_range *previous, *next; // links of the list device.cursor_ranges
} spyi_cursor_range;

// >>places

static spyi_context *spyi_cursor_context(const spy_cursor *c) {
    return c->_device ? &c->_device->ctx : NULL;
}

static const spyi_type *spyi_cursor_type(const spy_cursor *c) {
    return (const spyi_type *)c->_type;
}

// Returns whether the cursor stands for all elements of its range; otherwise it stands in element c->_index.
static bool spyi_cursor_is_range(const spy_cursor *c) {
    return c->_index < 0;
}

static size_t spyi_cursor_size(const spy_cursor *c) {
    size_t one = spyi_type_host_stride(spyi_cursor_type(c));
    return spyi_cursor_is_range(c) ? one * (size_t)c->_count : one;
}

static char *spyi_cursor_data(const spy_cursor *c) {
    size_t element = spyi_type_host_stride((const spyi_type *)c->_element);
    return (char *)c->_data + (spyi_cursor_is_range(c) ? 0 : (size_t)c->_index * element) + c->_offset;
}

// Reports a cursor that stands nowhere or has been released.
static spy_status spyi_cursor_check(const spy_cursor *c, const char *function) {
    if (!c->_type)
        return spyi_fail(spyi_cursor_context(c), SPY_ERROR_INVALID_ARGUMENT,
                         "%s: the cursor stands nowhere: the function that gave it failed", function);
    if (c->_range && !spyi_as(c->_range, SPYI_KIND_CURSOR))
        return spyi_fail(NULL, SPY_ERROR_RELEASED, "%s: the cursor has been released", function);
    return SPY_OK;
}

static spy_cursor spyi_cursor_nowhere(spy_device *device) {
    spy_cursor c;
    memset(&c, 0, sizeof c);
    c._device = device;
    return c;
}

// Returns the number of parts that [i] can select; 0 means that there are none. *part becomes their type; in
// C's layout the parts follow each other.
static int64_t spyi_cursor_parts(const spyi_type *type, const spyi_type **part) {
    *part = type->element;
    if (!type->element) return 0;
    if (type->kind == SPYI_TYPE_ARRAY) return type->count;
    return type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows : (int64_t)type->columns;
}

// Appends the path from a value of type `from` to its part of type `type` at `offset` bytes; false means that
// there is no such part. `empty` is the size of `out` before the path. No two parts of one type have the same
// offset.
static bool spyi_path_text(const spyi_type *from, size_t offset, const spyi_type *type, size_t empty,
                           spyi_text *out) {
    const spyi_type *part;
    size_t size = out->size;
    if (from == type && offset == 0) return true;
    int64_t n = spyi_cursor_parts(from, &part);
    if (n > 0) {
        size_t step = spyi_type_host_stride(part), i = offset / step;
        if (from->kind == SPYI_TYPE_VECTOR)
            spyi_text_add(out, "%s%c", size == empty ? "" : ".", "xyzw"[i & 3]);
        else spyi_text_add(out, "[%zu]", i);
        return spyi_path_text(part, offset - i * step, type, empty, out);
    }
    for (uint32_t i = 0; i < from->field_count; i++) {
        const spyi_field *f = &from->fields[i];
        if (offset < f->host_offset || offset >= f->host_offset + f->type->host_size) continue;
        spyi_text_add(out, size == empty ? "%s" : ".%s", f->name);
        return spyi_path_text(f->type, offset - f->host_offset, type, empty, out);
    }
    return false;
}

// Appends the cursor's path: "[2].light.color", or "light.color" in a range of one element, or "the 3
// elements" for a range of three.
static void spyi_cursor_text(const spy_cursor *c, spyi_text *out) {
    if (spyi_cursor_is_range(c)) {
        spyi_text_add(out, "the %lld elements", (long long)c->_count);
        return;
    }
    size_t empty = out->size;
    if (c->_count > 1) spyi_text_add(out, "[%lld]", (long long)c->_index);
    size_t before = out->size;
    spyi_path_text((const spyi_type *)c->_element, c->_offset, spyi_cursor_type(c), empty, out);
    if (before == empty && out->size == empty) spyi_text_add(out, "[%lld]", (long long)c->_index);
}

// Reports the text `what` with the function's name and the cursor's path before it, and frees it.
static spy_status spyi_cursor_fail(const spy_cursor *c, spy_status status, const char *function,
                                   spyi_text *what) {
    spyi_text path = { NULL, 0, 0 };
    spyi_cursor_text(c, &path);
    spyi_fail(spyi_cursor_context(c), status, "%s: %s: %s", function, spyi_text_str(&path),
              spyi_text_str(what));
    spyi_text_free(&path);
    spyi_text_free(what);
    return status;
}

// >>steps

static const char *spyi_place_name(const spy_cursor *c) {
    return spyi_cursor_type(c)->display;
}

// Moves the cursor to part `index`. On false `what` and *status say why it could not.
static bool spyi_step_index(spy_cursor *c, int64_t index, spyi_text *what, spy_status *status) {
    const spyi_type *part = spyi_cursor_type(c);
    int64_t n = spyi_cursor_is_range(c) ? c->_count : spyi_cursor_parts(spyi_cursor_type(c), &part);
    if (!part || (n == 0 && !spyi_cursor_is_range(c))) {
        *status = SPY_ERROR_TYPE_MISMATCH;
        spyi_text_add(what, "%s has no parts that [%lld] could count", spyi_place_name(c), (long long)index);
        return false;
    }
    if (index < 0 || index >= n) {
        *status = SPY_ERROR_OUT_OF_RANGE;
        spyi_text_add(what, "[%lld] is beyond its %lld parts", (long long)index, (long long)n);
        return false;
    }
    if (spyi_cursor_is_range(c)) c->_index = index;
    else c->_offset += (size_t)index * spyi_type_host_stride(part);
    c->_type = part;
    return true;
}

static void spyi_near_fields(const spyi_type *type, const char *name, spyi_text *what) {
    unsigned nearest = (unsigned)strlen(name) / 2 + 1;
    const char *best = NULL;
    for (uint32_t i = 0; i < type->field_count; i++) {
        unsigned distance = spyi_edit_distance(name, type->fields[i].name);
        if (distance >= nearest) continue;
        nearest = distance;
        best = type->fields[i].name;
    }
    if (best) spyi_text_add(what, ", did you mean '%s'?", best);
    spyi_text_add(what, best ? " It has " : "; it has ");
    for (uint32_t i = 0; i < type->field_count; i++)
        spyi_text_add(what, i ? ", %s" : "%s", type->fields[i].name);
}

// Moves the cursor to the field or component of that name. On false `what` and *status say why it could not.
static bool spyi_step_name(spy_cursor *c, const char *name, size_t size, spyi_text *what,
                           spy_status *status) {
    if (spyi_cursor_is_range(c)) {
        if (c->_count != 1) {
            *status = SPY_ERROR_AMBIGUOUS;
            spyi_text_add(what, "'%.*s' of which one? Write [i] in front", (int)size, name);
            return false;
        }
        c->_index = 0;
    }
    const spyi_type *type = spyi_cursor_type(c);
    if (type->kind == SPYI_TYPE_VECTOR && size == 1) {
        for (uint32_t i = 0; i < type->columns && i < 4; i++)
            if (*name == "xyzw"[i] || *name == "rgba"[i]) return spyi_step_index(c, i, what, status);
    }
    for (uint32_t i = 0; i < type->field_count; i++) {
        const spyi_field *f = &type->fields[i];
        if (strlen(f->name) != size || memcmp(f->name, name, size) != 0) continue;
        c->_type = f->type;
        c->_offset += f->host_offset;
        return true;
    }
    *status = SPY_ERROR_NOT_FOUND;
    spyi_text_add(what, "%s has no field '%.*s'", type->display, (int)size, name);
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add_n(&text, name, size);
    if (type->kind == SPYI_TYPE_STRUCT) spyi_near_fields(type, spyi_text_str(&text), what);
    else if (type->kind == SPYI_TYPE_VECTOR)
        spyi_text_add(what, "; it has x to %c", "xyzw"[(type->columns - 1) & 3]);
    spyi_text_free(&text);
    return false;
}

// Takes one step of a path: "[3]", or "name" with the dot before it. Returns the rest of the path; NULL means
// that the step failed.
static const char *spyi_path_step(spy_cursor *c, const char *at, bool first, spyi_text *what,
                                  spy_status *status) {
    *status = SPY_ERROR_INVALID_ARGUMENT;
    if (*at == '[') {
        int64_t index = 0;
        const char *digit = ++at;
        for (; *at >= '0' && *at <= '9' && index < INT64_MAX / 16; at++) index = index * 10 + (*at - '0');
        if (at == digit || *at != ']') {
            spyi_text_add(what, "expected a number and ']' at '[%s'", digit);
            return NULL;
        }
        return spyi_step_index(c, index, what, status) ? at + 1 : NULL;
    }
    if (*at == '.') at++;
    else if (!first) {
        spyi_text_add(what, "expected '.' or '[' at '%s'", at);
        return NULL;
    }
    size_t size = strcspn(at, ".[]");
    if (size == 0) {
        spyi_text_add(what, "expected a field's name at '%s'", at);
        return NULL;
    }
    return spyi_step_name(c, at, size, what, status) ? at + size : NULL;
}

spy_cursor spy_cursor_field(spy_cursor cursor, const char *path) {
    const char *function = "spy_cursor_field";
    spy_cursor place = cursor;
    if (spyi_cursor_check(&cursor, function) != SPY_OK) return spyi_cursor_nowhere(cursor._device);
    spyi_text what = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    const char *at = path;
    if (!path || !*path) {
        spyi_text_add(&what, "expected a path such as \"light.color\", got %s", path ? "\"\"" : "NULL");
        at = NULL;
    }
    while (at && *at) at = spyi_path_step(&place, at, at == path, &what, &status);
    if (at) return place;
    if (path && *path) spyi_text_add(&what, " (path \"%s\")", path);
    spyi_cursor_fail(&place, status, function, &what);
    return spyi_cursor_nowhere(cursor._device);
}

spy_cursor spy_cursor_at(spy_cursor cursor, int64_t index) {
    const char *function = "spy_cursor_at";
    spy_cursor place = cursor;
    spyi_text what = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    if (spyi_cursor_check(&cursor, function) != SPY_OK) return spyi_cursor_nowhere(cursor._device);
    if (spyi_step_index(&place, index, &what, &status)) return place;
    spyi_cursor_fail(&cursor, status, function, &what);
    return spyi_cursor_nowhere(cursor._device);
}

// >>scalars of a place, in the order of declaration

static size_t spyi_cursor_scalar_count(const spyi_type *type) {
    const spyi_type *part;
    int64_t n = spyi_cursor_parts(type, &part);
    size_t count = 0;
    if (n > 0) return (size_t)n * spyi_cursor_scalar_count(part);
    if (type->kind != SPYI_TYPE_STRUCT) return 1;
    for (uint32_t i = 0; i < type->field_count; i++) count += spyi_cursor_scalar_count(type->fields[i].type);
    return count;
}

typedef struct spyi_cursor_work {
    bool write;      // copies from `values` to the place; otherwise from the place to `values`
    bool check;      // only checks whether the values fit
    spy_dtype dtype; // the dtype of `values`
    char *values;
    size_t done;      // counts the scalars so far
    const char *stop; // names the scalar that does not fit, and the two dtypes
    spy_dtype stop_from, stop_to;
} spyi_cursor_work;

static bool spyi_cursor_scalars(spyi_cursor_work *w, const spyi_type *type, char *at) {
    const spyi_type *part;
    int64_t n = spyi_cursor_parts(type, &part);
    for (int64_t i = 0; i < n; i++)
        if (!spyi_cursor_scalars(w, part, at + (size_t)i * spyi_type_host_stride(part))) return false;
    for (uint32_t i = 0; i < type->field_count; i++)
        if (!spyi_cursor_scalars(w, type->fields[i].type, at + type->fields[i].host_offset)) return false;
    if (n > 0 || type->kind == SPYI_TYPE_STRUCT) return true;
    char scratch[8], *value = w->values + w->done * spy_dtype_size_bytes(w->dtype);
    char *from = w->write ? value : at, *to = w->check ? scratch : w->write ? at : value;
    spy_dtype from_type = w->write ? w->dtype : type->scalar, to_type = w->write ? type->scalar : w->dtype;
    if (!spyi_convert_scalars(to, to_type, from, from_type, 1)) {
        w->stop = from;
        w->stop_from = from_type;
        w->stop_to = to_type;
        return false;
    }
    w->done++;
    return true;
}

// Copies or checks all scalars of a place; false means that w->stop does not fit.
static bool spyi_cursor_walk(const spy_cursor *c, spyi_cursor_work *w) {
    const spyi_type *type = spyi_cursor_type(c);
    char *at = spyi_cursor_data(c);
    int64_t n = spyi_cursor_is_range(c) ? c->_count : 1;
    w->done = 0;
    for (int64_t i = 0; i < n; i++)
        if (!spyi_cursor_scalars(w, type, at + (size_t)i * spyi_type_host_stride(type))) return false;
    return true;
}

static void spyi_cursor_written(const spy_cursor *c) {
    if (!c->_range) return;
    int64_t first = spyi_cursor_is_range(c) ? 0 : c->_index, n = spyi_cursor_is_range(c) ? c->_count : 1;
    for (int64_t i = 0; i < n; i++) c->_range->written[first + i] = true;
}

// Checks dtype, count and pointer of a read or write, and replaces the default dtype.
static spy_status spyi_cursor_check_values(const spy_cursor *c, const char *function, spy_dtype *dtype,
                                           size_t count, const void *values) {
    size_t expected =
        spyi_cursor_scalar_count(spyi_cursor_type(c)) * (spyi_cursor_is_range(c) ? (size_t)c->_count : 1);
    spyi_text what = { NULL, 0, 0 };
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    if (*dtype == SPY_DTYPE_DEFAULT) *dtype = SPY_DTYPE_FLOAT32;
    if ((int)*dtype < 0 || *dtype >= SPY_DTYPE_COUNT) {
        spyi_text_add(&what, "dtype %d is not one of spy_dtype", (int)*dtype);
    } else if (count != expected) {
        status = SPY_ERROR_SHAPE_MISMATCH;
        spyi_text_add(&what, "%s has %zu scalars there, count is %zu", spyi_place_name(c), expected, count);
    } else if (!values && count) {
        spyi_text_add(&what, "values is NULL");
    }
    return what.size ? spyi_cursor_fail(c, status, function, &what) : SPY_OK;
}

static spy_status spyi_cursor_convert(const spy_cursor *c, const char *function, spy_dtype dtype,
                                      size_t count, void *values, bool write) {
    spy_status status = spyi_cursor_check(c, function);
    if (status == SPY_OK) status = spyi_cursor_check_values(c, function, &dtype, count, values);
    if (status != SPY_OK) return status;
    spyi_cursor_work w;
    memset(&w, 0, sizeof w);
    w.write = write;
    w.check = true; // the first walk checks that all values fit; nothing is changed before
    w.dtype = dtype;
    w.values = (char *)values;
    if (!spyi_cursor_walk(c, &w)) {
        spyi_text what = { NULL, 0, 0 };
        spyi_scalar_text(w.stop, w.stop_from, &what);
        spyi_text_add(&what, " (value %zu of %zu) does not fit into %s", w.done, count,
                      spy_dtype_name(w.stop_to));
        return spyi_cursor_fail(c, SPY_ERROR_OUT_OF_RANGE, function, &what);
    }
    w.check = false;
    spyi_cursor_walk(c, &w);
    if (write) spyi_cursor_written(c);
    return SPY_OK;
}

spy_status spy_cursor_write(spy_cursor cursor, const void *values, size_t count, spy_dtype dtype) {
    return spyi_cursor_convert(&cursor, "spy_cursor_write", dtype, count, (void *)(uintptr_t)values, true);
}

spy_status spy_cursor_read(spy_cursor cursor, void *values, size_t count, spy_dtype dtype) {
    return spyi_cursor_convert(&cursor, "spy_cursor_read", dtype, count, values, false);
}

// >>bytes of a place

static spy_status spyi_cursor_check_data(const spy_cursor *c, const char *function, const void *data,
                                         size_t size_bytes) {
    spy_status status = spyi_cursor_check(c, function);
    if (status != SPY_OK) return status;
    spyi_text what = { NULL, 0, 0 };
    if (size_bytes == spyi_cursor_size(c) && (data || !size_bytes)) return SPY_OK;
    if (size_bytes == spyi_cursor_size(c)) {
        spyi_text_add(&what, "data is NULL");
        return spyi_cursor_fail(c, SPY_ERROR_INVALID_ARGUMENT, function, &what);
    }
    spyi_text_add(&what, "%s has %zu bytes in C's layout there, size_bytes is %zu", spyi_place_name(c),
                  spyi_cursor_size(c), size_bytes);
    return spyi_cursor_fail(c, SPY_ERROR_SHAPE_MISMATCH, function, &what);
}

spy_status spy_cursor_read_data(spy_cursor cursor, void *data, size_t size_bytes) {
    spy_status status = spyi_cursor_check_data(&cursor, "spy_cursor_read_data", data, size_bytes);
    if (status == SPY_OK && size_bytes) memcpy(data, spyi_cursor_data(&cursor), size_bytes);
    return status;
}

spy_status spy_cursor_write_data(spy_cursor cursor, const void *data, size_t size_bytes) {
    spy_status status = spyi_cursor_check_data(&cursor, "spy_cursor_write_data", data, size_bytes);
    if (status != SPY_OK || !size_bytes) return status;
    memcpy(spyi_cursor_data(&cursor), data, size_bytes);
    spyi_cursor_written(&cursor);
    return SPY_OK;
}

// >>ranges

SPYI_FN void spyi_cursor_range_free(spyi_cursor_range *range) {
    spy_device *device = range->object.device;
    if (range->previous) range->previous->next = range->next;
    else device->cursor_ranges = range->next;
    if (range->next) range->next->previous = range->previous;
    free(range->data);
    free(range->written);
    spyi_object_release(&range->tensor->object);
    spyi_retire_object(device, &range->object, sizeof *range);
}

static void spyi_cursor_range_release(spyi_object *object) {
    spyi_cursor_range_free((spyi_cursor_range *)(void *)object);
}

SPYI_FN void spyi_cursors_attach(spy_device *device) {
    static const spyi_object_table table = { spyi_cursor_range_release, NULL };
    device->ctx.tables[SPYI_KIND_CURSOR - SPYI_KIND_DEVICE] = &table;
}

// Returns a new range with zeroed data, linked to its device and tensor; NULL when out of memory.
static spyi_cursor_range *spyi_cursor_range_new(spy_tensor *tensor, int64_t first, int64_t count) {
    spy_device *device = tensor->object.device;
    spyi_cursor_range *range = (spyi_cursor_range *)spyi_allocate(&device->ctx, sizeof *range);
    size_t size = spyi_type_host_stride(tensor->type);
    // A view that repeats elements may have more elements than fit into memory.
    bool some = (uint64_t)count < SIZE_MAX / 2 / size;
    char *data = some ? (char *)spyi_calloc((size_t)count + 1, size) : NULL;
    bool *written = some ? (bool *)spyi_calloc((size_t)count + 1, sizeof *written) : NULL;
    if (!range || !data || !written) {
        free(data);
        free(written);
        spyi_free(&device->ctx, range, sizeof *range);
        return NULL;
    }
    range->object.kind = (uint32_t)SPYI_KIND_CURSOR;
    range->object.device = device;
    spyi_atomic_store(&range->object.references, 1);
    spyi_atomic_add(&tensor->object.references, 1);
    range->tensor = tensor;
    range->first = first;
    range->count = count;
    range->data = data;
    range->written = written;
    range->next = device->cursor_ranges;
    if (range->next) range->next->previous = range;
    device->cursor_ranges = range;
    return range;
}

static spy_cursor spyi_cursor_whole(spy_device *device, const spyi_type *type, void *data, int64_t count) {
    spy_cursor c = spyi_cursor_nowhere(device);
    c._element = c._type = type;
    c._data = data;
    c._count = count;
    c._index = -1;
    return c;
}

spy_cursor spy_create_cursor(spy_tensor *tensor, int64_t first, int64_t count) {
    const char *function = "spy_create_cursor";
    if (spyi_enter(tensor, SPYI_KIND_TENSOR, function) != SPY_OK) return spyi_cursor_nowhere(NULL);
    spy_device *device = tensor->object.device;
    spy_cursor cursor = spyi_cursor_nowhere(device);
    spyi_text error = { NULL, 0, 0 };
    spyi_cursor_range *range = NULL;
    if (spyi_check_elements(tensor, function, first, count) == SPY_OK) {
        range = spyi_cursor_range_new(tensor, first, count);
        if (!range) spyi_fail(&device->ctx, SPY_ERROR_OUT_OF_MEMORY, "%s: out of host memory", function);
    }
    if (range) {
        spy_status status = spyi_tensor_move(tensor, first, count, range->data, false, &error);
        if (status == SPY_OK) {
            cursor = spyi_cursor_whole(device, tensor->type, range->data, count);
            cursor._range = range;
        } else {
            spyi_fail_text(device, status, function, &error);
            spyi_cursor_range_free(range);
        }
    }
    spyi_leave(device);
    return cursor;
}

spy_cursor spy_cursor_over(spy_module *module, const char *type_name, void *data, size_t size_bytes) {
    const char *function = "spy_cursor_over";
    if (spyi_enter(module, SPYI_KIND_MODULE, function) != SPY_OK) return spyi_cursor_nowhere(NULL);
    // Every object begins with spyi_object.
    spy_device *device = ((const spyi_object *)(const void *)module)->device;
    spy_cursor cursor = spyi_cursor_nowhere(device);
    const spyi_type *type =
        spyi_element_type(device, module, SPY_DTYPE_DEFAULT, type_name ? type_name : "", function);
    if (type && size_bytes % spyi_type_host_stride(type))
        spyi_fail(&device->ctx, SPY_ERROR_SHAPE_MISMATCH,
                  "%s: one %s has %zu bytes in C's layout, size_bytes is %zu", function, type->display,
                  spyi_type_host_stride(type), size_bytes);
    else if (type && !data) spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT, "%s: data is NULL", function);
    else if (type)
        cursor = spyi_cursor_whole(device, type, data, (int64_t)(size_bytes / spyi_type_host_stride(type)));
    spyi_leave(device);
    return cursor;
}

spy_status spy_cursor_apply(spy_cursor cursor) {
    const char *function = "spy_cursor_apply";
    spyi_cursor_range *range = cursor._range;
    spy_status entered = spyi_cursor_check(&cursor, function);
    if (entered != SPY_OK || !range) return entered;
    entered = spyi_enter(range, SPYI_KIND_CURSOR, function);
    if (entered != SPY_OK) return entered;
    spyi_text error = { NULL, 0, 0 };
    spy_status status = SPY_OK;
    size_t element = spyi_type_host_stride((const spyi_type *)cursor._element);
    for (int64_t i = 0, end; i < range->count && status == SPY_OK; i = end) {
        end = i + 1;
        if (!range->written[i]) continue;
        while (end < range->count && range->written[end]) end++;
        status = spyi_tensor_move(range->tensor, range->first + i, end - i, range->data + (size_t)i * element,
                                  true, &error);
        if (status == SPY_OK) memset(range->written + i, 0, (size_t)(end - i) * sizeof *range->written);
    }
    if (status != SPY_OK) spyi_fail_text(range->object.device, status, function, &error);
    spyi_leave(range);
    return status;
}

void spy_release_cursor(spy_cursor cursor) {
    if (!cursor._range) return;
    if (spyi_as(cursor._range, SPYI_KIND_CURSOR)) spyi_object_release(&cursor._range->object);
    else spyi_fail(NULL, SPY_ERROR_RELEASED, "spy_release_cursor: the cursor has been released already");
}

// Returns the dtype of all scalars of the type; SPY_DTYPE_DEFAULT means that they differ.
static spy_dtype spyi_common_dtype(const spyi_type *type) {
    spy_dtype dtype = SPY_DTYPE_DEFAULT;
    while (type->element) type = type->element;
    if (type->kind != SPYI_TYPE_STRUCT) return type->scalar;
    for (uint32_t i = 0; i < type->field_count; i++) {
        spy_dtype one = spyi_common_dtype(type->fields[i].type);
        if (one == SPY_DTYPE_DEFAULT || (i && one != dtype)) return SPY_DTYPE_DEFAULT;
        dtype = one;
    }
    return dtype;
}

spy_cursor_info spy_get_cursor_info(spy_cursor cursor) {
    spy_cursor_info info;
    const spyi_type *part, *type = spyi_cursor_type(&cursor);
    memset(&info, 0, sizeof info);
    if (!type || (cursor._range && !spyi_as(cursor._range, SPYI_KIND_CURSOR))) return info;
    info.type = spyi_type_user_name(type);
    info.dtype = spyi_common_dtype(type);
    info.length = spyi_cursor_is_range(&cursor) ? cursor._count : spyi_cursor_parts(type, &part);
    info.scalar_count =
        spyi_cursor_scalar_count(type) * (spyi_cursor_is_range(&cursor) ? (size_t)cursor._count : 1);
    info.size_bytes = spyi_cursor_size(&cursor);
    return info;
}
