// Names calls in packs, and writes packs (packs.h).
#include "plan/packs.h"

#include "api/pack.h"
#include "base/store.h"

SPYI_FN bool spyi_is_packed(const spy_device *device) {
    return device->ctx.pack && !spyi_archive_is_recording(spyi_store_pack(device->ctx.pack));
}

SPYI_FN bool spyi_is_recording(const spy_device *device) {
    return SPYI_HAS_COMPILER && device->ctx.pack &&
           spyi_archive_is_recording(spyi_store_pack(device->ctx.pack));
}

// >>names of calls

static const char *spyi_call_type_name(const spyi_value *v) {
    return v->type ? v->type->display : "?";
}

// Appends "float[,]" for two dimensions.
static void spyi_call_dims_text(const spyi_value *v, spyi_text *out) {
    spyi_text_add(out, "%s", spyi_call_type_name(v));
    for (uint32_t d = 0; d < v->rank; d++) spyi_text_add(out, d ? "," : "[");
    spyi_text_add(out, v->rank ? "]" : "[0]"); // a tensor without dimensions
}

// Appends a value with its fields, and returns the index of the next one.
static uint32_t spyi_call_value_text(const spyi_values *values, uint32_t i, spyi_text *out) {
    const spyi_value *v = &values->items[i];
    uint32_t next = i + 1;
    if (v->name) spyi_text_add(out, "%s: ", v->name);
    if (v->direction == SPY_DIRECTION_OUT && v->kind != SPY_ARG_KIND_NEW && v->kind != SPY_ARG_KIND_RESULT)
        spyi_text_add(out, "out ");
    if (v->direction == SPY_DIRECTION_INOUT) spyi_text_add(out, "inout ");
    switch (v->kind) {
    case SPY_ARG_KIND_TENSOR:
        spyi_call_dims_text(v, out);
        if (v->grads[0] || v->grads[1]) spyi_text_add(out, " grad");
        break;
    case SPY_ARG_KIND_ARRAY:
        spyi_text_add(out, "host ");
        spyi_call_dims_text(v, out);
        break;
    case SPY_ARG_KIND_DATA: spyi_text_add(out, "bytes %u", v->size); break;
    case SPY_ARG_KIND_STRUCT:
    case SPY_ARG_KIND_PAIR:
        spyi_text_add(out, v->kind == SPY_ARG_KIND_PAIR ? "pair {" : "{");
        for (uint32_t c = 0; c < v->child_count; c++) {
            if (c) spyi_text_add(out, ", ");
            next = spyi_call_value_text(values, next, out);
        }
        spyi_text_add(out, "}");
        break;
    case SPY_ARG_KIND_NEW: spyi_text_add(out, "new"); break;
    case SPY_ARG_KIND_RESULT: spyi_text_add(out, "result"); break;
    case SPY_ARG_KIND_CUSTOM:
        spyi_text_add(out, "%s", v->custom->name);
        if (v->type) spyi_text_add(out, " %s", v->type->display);
        break;
    default: spyi_text_add(out, "%s", spyi_call_type_name(v)); break;
    }
    if (v->cast) spyi_text_add(out, " as %s", v->cast);
    if (v->whole) spyi_text_add(out, " whole");
    for (uint32_t d = 0; d < v->map_count; d++) spyi_text_add(out, "%s%d", d ? "," : " map ", v->map[d]);
    return next;
}

SPYI_FN void spyi_call_text(const spy_function *function, const spyi_values *values, spyi_text *out) {
    static const char *const modes[] = { "call", "backward", "forward" };
    const spyi_threads *threads = values->threads;
    const char *what = !threads                                ? modes[spyi_mode_of(values)]
                       : threads->stage == SPYI_STAGE_VERTEX   ? "vertex"
                       : threads->stage == SPYI_STAGE_FRAGMENT ? "fragment"
                                                               : "dispatch";
    spyi_text_add(out, "%s %s.%s(", what, function->module->name, function->name);
    for (uint32_t i = 0; i < spyi_values_given(values);) {
        if (i) spyi_text_add(out, i == values->count ? "; " : ", ");
        i = spyi_call_value_text(values, i, out);
    }
    spyi_text_add(out, ")");
}

SPYI_FN const char *spyi_pack_target(const spy_device *device) {
    return spyi_rules_of(device->base->limits.profile.target)->suffix;
}

SPYI_FN void spyi_pack_note_kernel(const spy_function *function, const spyi_values *values, uint64_t bytes) {
    const spy_device *device = function->object.device;
    spyi_text line = { NULL, 0, 0 };
    spyi_text_add(&line, "call\t%s\t", spyi_pack_target(device));
    spyi_call_text(function, values, &line);
    spyi_archive_note(spyi_store_pack(device->ctx.pack), spyi_text_str(&line), 1, bytes);
    spyi_text_free(&line);
}

// >>what a pack has and lacks

SPYI_FN bool spyi_pack_next(const spy_device *device, const char *sort, size_t *at, spyi_text *name) {
    size_t size;
    const char *manifest = spyi_archive_manifest(spyi_store_pack(device->ctx.pack), &size);
    spyi_text begin = { NULL, 0, 0 };
    bool found = false;
    spyi_text_add(&begin, "%s\t%s\t", sort, spyi_pack_target(device));
    while (!found && *at < size) {
        const char *line = manifest + *at, *end = (const char *)memchr(line, '\n', size - *at);
        size_t length = end ? (size_t)(end - line) : size - *at;
        *at += length + 1;
        if (length < begin.size || memcmp(line, begin.data, begin.size) != 0) continue;
        const char *tab = (const char *)memchr(line + begin.size, '\t', length - begin.size);
        spyi_text_clear(name);
        spyi_text_add_n(name, line + begin.size,
                        tab ? (size_t)(tab - line) - begin.size : length - begin.size);
        found = true;
    }
    spyi_text_free(&begin);
    return found;
}

// Gives the recorded call that is most like `wanted`. Returns false when the pack has no call for this
// target.
static bool spyi_pack_nearest(const spy_device *device, const char *wanted, spyi_text *out) {
    size_t at = 0, best = SIZE_MAX;
    spyi_text name = { NULL, 0, 0 };
    while (spyi_pack_next(device, "call", &at, &name)) {
        size_t distance = spyi_edit_distance(wanted, spyi_text_str(&name));
        if (distance >= best) continue;
        best = distance;
        spyi_text_clear(out);
        spyi_text_add(out, "%s", spyi_text_str(&name));
    }
    spyi_text_free(&name);
    return best != SIZE_MAX;
}

SPYI_FN spy_status spyi_pack_explain(const spy_function *function, const spyi_values *values,
                                     spyi_text *error) {
    const spy_device *device = function->object.device;
    spyi_text wanted = { NULL, 0, 0 }, nearest = { NULL, 0, 0 };
    spyi_call_text(function, values, &wanted);
    spyi_text_clear(error);
    spyi_text_add(
        error,
        "the pack lacks this call, and a device with a pack compiles nothing. To add it, record it, or add "
        "this line to the list of tools/pack:\n  %s\n",
        spyi_text_str(&wanted));
    if (spyi_pack_nearest(device, spyi_text_str(&wanted), &nearest))
        spyi_text_add(error, "The nearest call that the pack has:\n  %s", spyi_text_str(&nearest));
    else spyi_text_add(error, "The pack has no calls for this kind of device");
    spyi_text_free(&wanted);
    spyi_text_free(&nearest);
    return SPY_ERROR_NO_COMPILER;
}

// >>writing

// Reads the pack that is at `path`; *other stays NULL when there is none.
static spy_status spyi_pack_read(const char *path, spyi_archive **other, spyi_text *error) {
    spyi_text file = { NULL, 0, 0 }, why = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    spy_status status = SPY_OK;
    if (!spyi_file_exists(path)) return SPY_OK;
    if (!spyi_file_read(path, &file)) {
        spyi_text_add(error, "%s: the pack that is there cannot be read: %s", path, spyi_file_problem());
        spyi_text_free(&file);
        return spyi_check_allocations(failed, SPY_ERROR_IO, error);
    }
    *other = spyi_archive_open(file.data, file.size, true, &why);
    if (!*other) {
        spyi_text_add(error, "%s: there is a file that no pack can be added to: %s", path,
                      spyi_text_str(&why));
        status = spyi_check_allocations(failed, SPY_ERROR_INVALID_ARGUMENT, error);
    }
    spyi_text_free(&why);
    return status;
}

static spy_status spyi_pack_save(spy_device *device, const char *path, spyi_text *error) {
    spyi_text bytes = { NULL, 0, 0 };
    spyi_archive *other = NULL;
    uint32_t failed = spyi_failed_allocations();
    // The lock keeps other processes from adding to this pack meanwhile; they would write the content that
    // they have read before, without the calls that this one adds.
    intptr_t lock = spyi_file_lock(path);
    spy_status status = spyi_pack_read(path, &other, error);
    if (status == SPY_OK && !spyi_archive_write(spyi_store_pack(device->ctx.pack), other, &bytes)) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK && !spyi_file_replace(path, bytes.data, bytes.size)) {
        spyi_text_add(error, "%s: the file cannot be written: %s", path, spyi_file_problem());
        status = spyi_check_allocations(failed, SPY_ERROR_IO, error);
    }
    spyi_file_unlock(lock);
    spyi_archive_close(other);
    spyi_text_free(&bytes);
    return status;
}

SPYI_FN void spyi_pack_save_at_end(spy_device *device) {
    spyi_text error = { NULL, 0, 0 };
    if (!device->record_path) return;
    if (spyi_pack_save(device, device->record_path, &error) != SPY_OK)
        spyi_logf(&device->ctx, SPY_LOG_LEVEL_ERROR, "SLANGPY_RECORD_PACK: %s", spyi_text_str(&error));
    spyi_text_free(&error);
}

spy_status spy_save_pack(spy_device *device, const char *path) {
    const char *function = "spy_save_pack";
    spy_status status = spyi_enter(device, SPYI_KIND_DEVICE, function);
    spyi_text error = { NULL, 0, 0 };
    if (status != SPY_OK) return status;
    if (!path || !path[0]) {
        spyi_text_add(&error, "path: expected a file's path, got %s", path ? "\"\"" : "NULL");
        status = SPY_ERROR_INVALID_ARGUMENT;
    } else if (!spyi_is_recording(device)) {
        spyi_text_add(&error, "the device was created without desc.record_pack");
        status = SPY_ERROR_UNSUPPORTED;
    } else {
        status = spyi_pack_save(device, path, &error);
    }
    if (status != SPY_OK) status = spyi_fail_text(device, status, function, &error);
    spyi_text_free(&error);
    spyi_leave(device);
    return status;
}

size_t spy_get_pack_manifest(spy_device *device, char *text, size_t capacity) {
    size_t size = 0;
    if (spyi_enter(device, SPYI_KIND_DEVICE, "spy_get_pack_manifest") != SPY_OK) return 0;
    if (capacity && !text) {
        spyi_fail(&device->ctx, SPY_ERROR_INVALID_ARGUMENT,
                  "spy_get_pack_manifest: text is NULL, capacity is %zu", capacity);
    } else if (spyi_is_packed(device)) {
        const char *manifest = spyi_archive_manifest(spyi_store_pack(device->ctx.pack), &size);
        size_t n = size < capacity ? size : capacity ? capacity - 1 : 0;
        if (capacity) {
            memcpy(text, manifest, n);
            text[n] = '\0';
        }
    }
    spyi_leave(device);
    return size;
}
