// Files in safetensors' layout: eight bytes with the length of a JSON text, the text, then the tensors' elements. The
// text has for each tensor "name":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}, offsets counted from its end.
#include "api/checkpoint.h"
#include "data/device.h"
#include <ctype.h>

typedef struct spyi_saved {
    char name[256];
    char dtype[8];
    spy_shape shape;
    uint64_t begin, end; // the offsets in bytes, counted from the end of the head
} spyi_saved;

// Returns the name that safetensors has for a dtype.
static const char *spyi_saved_dtype(const spyi_type *type) {
    static const struct {
        spy_dtype dtype;
        const char *name;
    } known[] = {
        { SPY_DTYPE_BOOL, "BOOL" },   { SPY_DTYPE_INT8, "I8" },     { SPY_DTYPE_INT16, "I16" },
        { SPY_DTYPE_INT32, "I32" },   { SPY_DTYPE_INT64, "I64" },   { SPY_DTYPE_UINT8, "U8" },
        { SPY_DTYPE_UINT16, "U16" },  { SPY_DTYPE_UINT32, "U32" },  { SPY_DTYPE_UINT64, "U64" },
        { SPY_DTYPE_FLOAT16, "F16" }, { SPY_DTYPE_FLOAT32, "F32" }, { SPY_DTYPE_FLOAT64, "F64" },
    };
    for (size_t i = 0; type->kind == SPYI_TYPE_SCALAR && i < sizeof known / sizeof known[0]; i++)
        if (known[i].dtype == type->scalar) return known[i].name;
    return NULL;
}

// Returns the tensor of an argument. NULL means that it is no tensor; *status and `error` then say what it
// is.
static spy_tensor *spyi_saved_tensor(const spy_device *device, const spy_args *args, size_t index,
                                     spy_status *status, spyi_text *error) {
    const spy_arg *arg = &args->items[index];
    spyi_text why = { NULL, 0, 0 };
    *status = SPY_ERROR_INVALID_ARGUMENT;
    bool plain = arg->name && arg->name[0] && strlen(arg->name) < sizeof((spyi_saved *)NULL)->name &&
                 strcmp(arg->name, "__metadata__") != 0;
    for (const char *c = arg->name; plain && *c; c++)
        plain = *c != '"' && *c != '\\' && (unsigned char)*c >= ' ';
    for (size_t i = 0; plain && i < index; i++) plain = strcmp(args->items[i].name, arg->name) != 0;
    spy_tensor *t = arg->kind == SPY_ARG_KIND_TENSOR ? arg->value.tensor : NULL;
    if (!plain)
        spyi_text_add(error, "argument %zu: expected a name of its own of 1 to 255 plain bytes, got '%s'",
                      index + 1, arg->name ? arg->name : "");
    else if (arg->kind != SPY_ARG_KIND_TENSOR)
        spyi_text_add(error, "'%s': expected a tensor, got another argument", arg->name);
    else if (!spyi_is_on(device, t, SPYI_KIND_TENSOR)) {
        *status = spyi_object_problem(t, SPYI_KIND_TENSOR, &why);
        spyi_text_add(error, "'%s': %s", arg->name, spyi_text_str(&why));
    } else if (!spyi_saved_dtype(t->type)) {
        *status = SPY_ERROR_TYPE_MISMATCH;
        spyi_text_add(error, "'%s': expected a tensor of scalars, got %s", arg->name, t->type->display);
    } else *status = SPY_OK;
    spyi_text_free(&why);
    return *status == SPY_OK ? t : NULL;
}

static size_t spyi_saved_bytes(const spy_tensor *t) {
    return (size_t)t->element_count * spyi_type_host_stride(t->type);
}

// >>writing

static spy_status spyi_write_saved(spy_device *device, const spy_args *args, spyi_text *head, spyi_text *file,
                                   spyi_text *error) {
    spy_status status = SPY_OK;
    uint64_t at = 0;
    spyi_text_add(head, "{");
    for (size_t i = 0; i < args->count; i++) {
        const spy_tensor *t = spyi_saved_tensor(device, args, i, &status, error);
        if (!t) return status;
        spyi_text_add(head, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[", i ? "," : "", args->items[i].name,
                      spyi_saved_dtype(t->type));
        for (uint32_t d = 0; d < t->shape.rank; d++)
            spyi_text_add(head, "%s%lld", d ? "," : "", (long long)t->shape.dims[d]);
        spyi_text_add(head, "],\"data_offsets\":[%llu,%llu]}", (unsigned long long)at,
                      (unsigned long long)(at + spyi_saved_bytes(t)));
        at += spyi_saved_bytes(t);
    }
    spyi_text_add(head, "}");
    while (head->size % 8) spyi_text_add(head, " ");
    uint64_t size = head->size;
    char *bytes = (char *)spyi_malloc((size_t)(8 + size + at) + 1);
    if (!bytes) return SPY_ERROR_OUT_OF_MEMORY;
    for (int b = 0; b < 8; b++) bytes[b] = (char)(size >> 8 * b & 255);
    memcpy(bytes + 8, spyi_text_str(head), (size_t)size);
    char *to = bytes + 8 + size;
    for (size_t i = 0; i < args->count && status == SPY_OK; i++) {
        spy_tensor *t = args->items[i].value.tensor;
        status = spyi_tensor_download(t, to, error);
        to += spyi_saved_bytes(t);
    }
    file->data = bytes;
    file->size = (size_t)(8 + size + at);
    return status;
}

spy_status spy_save_tensors(spy_device *device, const char *path, spy_args tensors) {
    const char *function = "spy_save_tensors";
    spyi_text error = { NULL, 0, 0 }, head = { NULL, 0, 0 }, file = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (status != SPY_OK) return status;
    if (!path || !path[0] || (tensors.count && !tensors.items)) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "expected a path and a list of tensors, got none");
    } else status = spyi_write_saved(device, &tensors, &head, &file, &error);
    if (status == SPY_OK && spyi_failed_allocations() != failed) status = SPY_ERROR_OUT_OF_MEMORY;
    if (status == SPY_OK && !spyi_file_replace(path, file.data, file.size)) {
        spyi_text_add(&error, "'%s' cannot be written: %s", path, spyi_file_problem());
        status = spyi_check_allocations(failed, SPY_ERROR_IO, &error);
    }
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_text_free(&head);
    free(file.data);
    spyi_leave(device);
    return status;
}

// >>reading
// These functions read the parts of JSON that a head of safetensors has. Each function moves *at behind the part
// that it has read, and returns false when the part is not there.

typedef struct spyi_json {
    const char *at, *end;
} spyi_json;

static bool spyi_json_skip(spyi_json *j, char c) {
    while (j->at < j->end && isspace((unsigned char)*j->at)) j->at++;
    if (j->at == j->end || *j->at != c) return false;
    j->at++;
    return true;
}

// Reads a string; one that is longer than `out` or has escapes becomes "", which is no tensor's name.
static bool spyi_json_string(spyi_json *j, char *out, size_t room) {
    size_t size = 0;
    bool fits = true;
    if (!spyi_json_skip(j, '"')) return false;
    for (; j->at < j->end && *j->at != '"'; j->at++) {
        fits = fits && *j->at != '\\' && size + 1 < room;
        if (*j->at == '\\' && ++j->at == j->end) return false;
        if (fits) out[size++] = *j->at;
    }
    out[fits ? size : 0] = '\0';
    return spyi_json_skip(j, '"');
}

static bool spyi_json_number(spyi_json *j, uint64_t *out) {
    uint64_t n = 0;
    while (j->at < j->end && isspace((unsigned char)*j->at)) j->at++;
    const char *begin = j->at;
    for (; j->at < j->end && isdigit((unsigned char)*j->at); j->at++) {
        if (n > (1ull << 59)) return false;
        n = 10 * n + (uint64_t)(*j->at - '0');
    }
    *out = n;
    return j->at > begin;
}

// Reads a list of at most `room` numbers.
static bool spyi_json_numbers(spyi_json *j, uint64_t *out, uint32_t room, uint32_t *count) {
    *count = 0;
    if (!spyi_json_skip(j, '[')) return false;
    if (spyi_json_skip(j, ']')) return true;
    do
        if (*count == room || !spyi_json_number(j, &out[(*count)++])) return false;
    while (spyi_json_skip(j, ','));
    return spyi_json_skip(j, ']');
}

// Reads {"key":"text", ...}, which is thrown away.
static bool spyi_json_metadata(spyi_json *j) {
    char text[2];
    if (!spyi_json_skip(j, '{')) return false;
    if (spyi_json_skip(j, '}')) return true;
    do
        if (!spyi_json_string(j, text, 1) || !spyi_json_skip(j, ':') || !spyi_json_string(j, text, 1))
            return false;
    while (spyi_json_skip(j, ','));
    return spyi_json_skip(j, '}');
}

static bool spyi_json_saved(spyi_json *j, spyi_saved *entry) {
    uint64_t numbers[SPY_MAX_RANK];
    char key[16];
    uint32_t count, seen = 0;
    if (!spyi_json_skip(j, '{')) return false;
    do {
        if (!spyi_json_string(j, key, sizeof key) || !spyi_json_skip(j, ':')) return false;
        if (strcmp(key, "dtype") == 0) {
            if (!spyi_json_string(j, entry->dtype, sizeof entry->dtype)) return false;
            seen |= 1;
        } else if (strcmp(key, "shape") == 0) {
            if (!spyi_json_numbers(j, numbers, SPY_MAX_RANK, &count)) return false;
            entry->shape.rank = count;
            for (uint32_t d = 0; d < count; d++) entry->shape.dims[d] = (int64_t)numbers[d];
            seen |= 2;
        } else if (strcmp(key, "data_offsets") == 0) {
            if (!spyi_json_numbers(j, numbers, 2, &count) || count != 2) return false;
            entry->begin = numbers[0];
            entry->end = numbers[1];
            seen |= 4;
        } else return false;
    } while (spyi_json_skip(j, ','));
    return spyi_json_skip(j, '}') && seen == 7;
}

// Finds the entry of that name. Returns false when the head is damaged; otherwise *found says whether there
// is such an entry.
static bool spyi_json_find(spyi_json j, const char *name, spyi_saved *entry, bool *found) {
    spyi_saved next;
    *found = false;
    if (!spyi_json_skip(&j, '{')) return false;
    if (!spyi_json_skip(&j, '}')) {
        do {
            memset(&next, 0, sizeof next);
            if (!spyi_json_string(&j, next.name, sizeof next.name) || !spyi_json_skip(&j, ':')) return false;
            bool metadata = strcmp(next.name, "__metadata__") == 0;
            if (metadata ? !spyi_json_metadata(&j) : !spyi_json_saved(&j, &next)) return false;
            if (metadata || strcmp(next.name, name) != 0) continue;
            *entry = next;
            *found = true;
        } while (spyi_json_skip(&j, ','));
        if (!spyi_json_skip(&j, '}')) return false;
    }
    while (j.at < j.end && isspace((unsigned char)*j.at)) j.at++;
    return j.at == j.end;
}

#define SPYI_NO_CHECKPOINT "'%s': expected a file in safetensors' layout, got "

// Finds where the elements of each tensor lie in the file: bytes from its begin, in `places`.
static spy_status spyi_find_saved(const spy_device *device, const char *path, const spyi_text *file,
                                  const spy_args *args, uint64_t *places, spyi_text *error) {
    uint64_t size = 0;
    spyi_json head;
    spy_status status;
    for (int b = 0; b < 8 && file->size >= 8; b++) size |= (uint64_t)(unsigned char)file->data[b] << 8 * b;
    if (file->size < 8 || size > file->size - 8) {
        spyi_text_add(error,
                      SPYI_NO_CHECKPOINT
                      "%zu bytes, which end within its head: it is cut off, or another kind of file",
                      path, file->size);
        return SPY_ERROR_IO;
    }
    head.at = file->data + 8;
    head.end = head.at + size;
    for (size_t i = 0; i < args->count; i++) {
        const char *name = args->items[i].name;
        const spy_tensor *t = spyi_saved_tensor(device, args, i, &status, error);
        spyi_saved entry;
        bool found = false;
        if (!t) return status;
        if (!spyi_json_find(head, name, &entry, &found)) {
            spyi_text_add(error, SPYI_NO_CHECKPOINT "a head that is none", path);
            return SPY_ERROR_IO;
        }
        if (!found) {
            spyi_text_add(
                error, "'%s': expected a tensor '%s', got none of that name: it is a file of something else",
                path, name);
            return SPY_ERROR_NOT_FOUND;
        }
        if (strcmp(entry.dtype, spyi_saved_dtype(t->type)) != 0) {
            spyi_text_add(error, "'%s': '%s': expected elements of %s (%s), got %s", path, name,
                          t->type->display, spyi_saved_dtype(t->type), entry.dtype);
            return SPY_ERROR_TYPE_MISMATCH;
        }
        if (entry.shape.rank != t->shape.rank ||
            memcmp(entry.shape.dims, t->shape.dims, entry.shape.rank * sizeof *entry.shape.dims) != 0) {
            spyi_text_add(error, "'%s': '%s': expected the shape (", path, name);
            for (uint32_t d = 0; d < t->shape.rank; d++)
                spyi_text_add(error, "%s%lld", d ? ", " : "", (long long)t->shape.dims[d]);
            spyi_text_add(error, "), got (");
            for (uint32_t d = 0; d < entry.shape.rank; d++)
                spyi_text_add(error, "%s%lld", d ? ", " : "", (long long)entry.shape.dims[d]);
            spyi_text_add(error, ")");
            return SPY_ERROR_SHAPE_MISMATCH;
        }
        if (entry.begin > entry.end || entry.end - entry.begin != spyi_saved_bytes(t) ||
            entry.end > file->size - 8 - size) {
            spyi_text_add(error, SPYI_NO_CHECKPOINT "%zu bytes, but '%s' lies at %llu to %llu: it is cut off",
                          path, file->size, name, (unsigned long long)(8 + size + entry.begin),
                          (unsigned long long)(8 + size + entry.end));
            return SPY_ERROR_IO;
        }
        places[i] = 8 + size + entry.begin;
    }
    return SPY_OK;
}

spy_status spy_load_tensors(spy_device *device, const char *path, spy_args tensors) {
    const char *function = "spy_load_tensors";
    spyi_text error = { NULL, 0, 0 }, file = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, function);
    if (status != SPY_OK) return status;
    uint64_t *places = (uint64_t *)spyi_malloc((tensors.count + 1) * sizeof *places);
    if (!path || !path[0] || (tensors.count && !tensors.items)) {
        status = SPY_ERROR_INVALID_ARGUMENT;
        spyi_text_add(&error, "expected a path and a list of tensors, got none");
    } else if (!spyi_file_read(path, &file)) {
        status = SPY_ERROR_IO;
        spyi_text_add(&error, "'%s' cannot be read: %s", path, spyi_file_problem());
    } else if (places) status = spyi_find_saved(device, path, &file, &tensors, places, &error);
    if (status == SPY_OK && spyi_failed_allocations() != failed) status = SPY_ERROR_OUT_OF_MEMORY;
    for (size_t i = 0; i < tensors.count && status == SPY_OK; i++)
        status = spyi_tensor_upload(tensors.items[i].value.tensor, file.data + places[i], &error);
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    free(places);
    spyi_text_free(&file);
    spyi_leave(device);
    return status;
}
