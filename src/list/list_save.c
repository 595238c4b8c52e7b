// spy_save_list(): puts a recorded list into the pack that the device records (saved.h).
#include "list/saved.h"

#include "base/store.h"
#include "plan/packs.h"

typedef struct spyi_saving {
    spy_command_list *list;
    spy_args given;
    spyi_script_tensor *tensors; // the tensors of the list; the given ones come first, in their order
    uint32_t tensor_count;
    const spyi_noted_slot **sources; // the slots of tensors that calls make; NULL for given tensors
    spyi_script_slot *slots;         // one for each noted slot
    bool *used;                      // tells for each given tensor whether it is used
} spyi_saving;

// >>checks

static bool spyi_list_name_is_good(const char *name) {
    size_t size = name ? strlen(name) : 0;
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)name[i] < ' ') return false;
    return size > 0 && size < 256;
}

static spy_status spyi_saving_check(const spyi_saving *s, const char *name, spyi_text *error) {
    const spy_device *device = s->list->sink.object.device;
    const spyi_notes *notes = s->list->notes;
    if (!s->list->finished) {
        spyi_text_add(error, "the command list is still being recorded; call spy_list_finish() first");
    } else if (!spyi_list_name_is_good(name)) {
        spyi_text_add(error, "name: expected 1 to 255 bytes without control characters, got %s",
                      !name     ? "NULL"
                      : name[0] ? "others"
                                : "\"\"");
    } else if (s->given.count && !s->given.items) {
        spyi_text_add(error, "expected %zu tensors, got NULL", s->given.count);
    } else if (!notes) {
        spyi_text_add(error, "%s",
                      spyi_is_packed(device) ? "the list runs from a pack; save it where the pack is recorded"
                                             : "the device was created without desc.record_pack");
        return SPY_ERROR_UNSUPPORTED;
    } else if (notes->refusal.size) {
        spyi_text_add(error, "%s", spyi_text_str(&notes->refusal));
        return SPY_ERROR_UNSUPPORTED;
    } else {
        for (size_t i = 0; i < s->given.count; i++) {
            const spy_arg *arg = &s->given.items[i];
            size_t twice = 0;
            while (twice < i && arg->name && strcmp(s->given.items[twice].name, arg->name) != 0) twice++;
            if (!spyi_list_name_is_good(arg->name) || twice < i)
                spyi_text_add(error,
                              "tensor %zu: expected a name of its own of 1 to 255 plain bytes, got '%s'",
                              i + 1, arg->name ? arg->name : "");
            else if (arg->kind != SPY_ARG_KIND_TENSOR)
                spyi_text_add(error, "'%s': expected a tensor, got another argument", arg->name);
            else if (!spyi_is_on(device, arg->value.tensor, SPYI_KIND_TENSOR)) {
                spyi_text_add(error, "'%s': ", arg->name);
                return spyi_object_problem(arg->value.tensor, SPYI_KIND_TENSOR, error);
            } else continue;
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        return SPY_OK;
    }
    return SPY_ERROR_INVALID_ARGUMENT;
}

// >>which memory is which tensor's

// Makes `out` a view of memory of `type` with these bounds, if it lies there. Returns false when offsets are
// not whole elements.
static bool spyi_saving_view(const spyi_noted_slot *slot, const spyi_storage *storage, uint64_t offset,
                             uint64_t begin, uint64_t end, spyi_script_slot *out) {
    int64_t distance = (int64_t)slot->offset_bytes - (int64_t)offset;
    if (slot->storage != storage || slot->begin_bytes < begin || slot->end_bytes > end ||
        distance % (int64_t)spyi_type_device_stride(slot->type) != 0)
        return false;
    out->view = true;
    out->type = slot->type;
    out->shape = slot->shape;
    out->strides = slot->strides;
    out->offset_bytes = distance;
    return true;
}

// Finds a tensor of the program which the slot covers completely (views false) or of which it is a part.
static bool spyi_saving_find_given(spyi_saving *s, const spyi_noted_slot *slot, bool views,
                                   spyi_script_slot *out) {
    for (uint32_t i = 0; i < s->given.count; i++)
        for (uint32_t g = 0; g < 3; g++) {
            const spy_tensor *t = s->given.items[i].value.tensor;
            if (g) t = t->grads[g - 1];
            if (!t || (!views && !spyi_noted_slot_is(slot, t))) continue;
            if (views &&
                !spyi_saving_view(slot, t->storage, t->offset_bytes, t->begin_bytes, t->end_bytes, out))
                continue;
            out->tensor = i;
            out->grad = g;
            s->used[i] = true;
            return true;
        }
    return false;
}

static bool spyi_saving_find_made(const spyi_saving *s, const spyi_noted_slot *slot, spyi_script_slot *out) {
    for (uint32_t i = (uint32_t)s->given.count; i < s->tensor_count; i++) {
        const spyi_noted_slot *of = s->sources[i];
        out->tensor = i;
        if (slot == of ||
            spyi_saving_view(slot, of->storage, of->offset_bytes, of->begin_bytes, of->end_bytes, out))
            return true;
    }
    return false;
}

// Fills the table of tensors: first those that the program gives, then those that calls make and nobody asks
// for.
static void spyi_saving_tensors(spyi_saving *s, const spyi_notes *notes) {
    s->tensor_count = (uint32_t)s->given.count;
    for (uint32_t i = 0; i < s->given.count; i++) {
        const spy_tensor *t = s->given.items[i].value.tensor;
        spyi_script_tensor *to = &s->tensors[i];
        to->name = s->given.items[i].name;
        to->type = t->type;
        to->shape = t->shape;
        to->strides = t->strides;
    }
    for (uint32_t k = 0; k < notes->slot_count; k++) {
        const spyi_noted_slot *slot = &notes->slots[k];
        uint32_t i = 0;
        if (!slot->made) continue;
        while (i < s->given.count && !spyi_noted_slot_is(slot, s->given.items[i].value.tensor)) i++;
        if (i == s->given.count) i = s->tensor_count++;
        spyi_script_tensor *to = &s->tensors[i];
        s->sources[i] = slot;
        to->made = true;
        to->type = slot->type;
        to->shape = slot->shape;
        to->strides = slot->strides;
    }
}

static spy_status spyi_saving_slots(spyi_saving *s, const spyi_notes *notes, spyi_text *error) {
    for (uint32_t k = 0; k < notes->slot_count; k++) {
        const spyi_noted_slot *slot = &notes->slots[k];
        spyi_script_slot *out = &s->slots[k];
        if (!spyi_saving_find_given(s, slot, false, out) && !spyi_saving_find_made(s, slot, out) &&
            !spyi_saving_find_given(s, slot, true, out)) {
            spyi_text_add(error, "%s: the list uses a tensor of %s ", slot->use ? slot->use : "",
                          slot->type->display);
            spyi_shape_text(&slot->shape, error);
            spyi_text_add(error, " that is none of those given, nor whole elements of one; give it a name");
            return SPY_ERROR_NOT_FOUND;
        }
        spyi_script_tensor *t = &s->tensors[out->tensor];
        t->fixed_shape = t->fixed_shape || slot->fixed || out->view;
        t->fixed_strides = t->fixed_strides || out->view;
    }
    for (uint32_t i = 0; i < s->given.count; i++) {
        if (s->used[i]) continue;
        spyi_text_add(error, "'%s': the list does not use this tensor", s->tensors[i].name);
        return SPY_ERROR_NOT_FOUND;
    }
    return SPY_OK;
}

// >>writing

static void spyi_saving_line(const spyi_saving *s, const char *name, spyi_text *line) {
    bool more = false;
    spyi_text_add(line, "list\t%s\t%s(", spyi_pack_target(s->list->sink.object.device), name);
    for (uint32_t i = 0; i < s->tensor_count; i++) {
        const spyi_script_tensor *t = &s->tensors[i];
        if (!t->name) continue;
        spyi_text_add(line, "%s%s%s: %s[", more ? ", " : "", t->made ? "new " : "", t->name,
                      t->type->display);
        for (uint32_t d = 1; d < t->shape.rank; d++) spyi_text_add(line, ",");
        spyi_text_add(line, "]");
        more = true;
    }
    spyi_text_add(line, ")");
}

static spy_status spyi_saving_write(spyi_saving *s, const char *name, spyi_text *error) {
    const spy_device *device = s->list->sink.object.device;
    const spyi_notes *n = s->list->notes;
    spyi_archive *pack = spyi_store_pack(device->ctx.pack);
    spyi_text question = { NULL, 0, 0 }, bytes = { NULL, 0, 0 }, line = { NULL, 0, 0 };
    const spyi_text *records[3] = { &n->modules, &n->functions, &n->ops };
    uint32_t counts[3] = { n->module_count, n->function_count, n->op_count };
    uint32_t failed = spyi_failed_allocations(), format = SPYI_SCRIPT_FORMAT, slots = n->slot_count;
    const char *label = s->list->label;
    spyi_script_io io;
    memset(&io, 0, sizeof io);
    io.r.out = &bytes;
    io.r.name = "list";
    spyi_stream_u32(&io.r, &format);
    spyi_script_text(&io, &label);
    spyi_script_tensors(&io, &s->tensors, &s->tensor_count);
    spyi_script_slots(&io, &s->slots, &slots, s->tensor_count);
    for (int i = 0; i < 3; i++) {
        spyi_stream_u32(&io.r, &counts[i]);
        if (records[i]->size) spyi_text_add_n(&bytes, records[i]->data, records[i]->size);
    }
    spyi_script_question(device, name, &question);
    spyi_saving_line(s, name, &line);
    spy_status status = io.r.status;
    spyi_text_add(error, "%s", spyi_text_str(&io.r.problem));
    if (status == SPY_OK && spyi_archive_has(pack, &question)) {
        spyi_text_add(error, "the device has saved a list '%s' already", name);
        status = SPY_ERROR_INVALID_ARGUMENT;
    }
    if (status == SPY_OK) status = spyi_check_allocations(failed, status, error);
    if (status == SPY_OK && !spyi_archive_put(pack, &question, &bytes)) {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    if (status == SPY_OK) spyi_archive_note(pack, spyi_text_str(&line), n->op_count, bytes.size);
    spyi_script_free(&io);
    spyi_text_free(&question);
    spyi_text_free(&bytes);
    spyi_text_free(&line);
    return status;
}

static spy_status spyi_save_list(spyi_saving *s, const char *name, spyi_text *error) {
    const spyi_notes *notes = s->list->notes;
    spy_status status = spyi_saving_check(s, name, error);
    if (status != SPY_OK) return status;
    size_t most = s->given.count + notes->slot_count + 1;
    s->tensors = (spyi_script_tensor *)spyi_calloc(most, sizeof *s->tensors);
    s->sources = (const spyi_noted_slot **)spyi_calloc(most, sizeof *s->sources);
    s->slots = (spyi_script_slot *)spyi_calloc(most, sizeof *s->slots);
    s->used = (bool *)spyi_calloc(most, sizeof *s->used);
    if (s->tensors && s->sources && s->slots && s->used) {
        spyi_saving_tensors(s, notes);
        status = spyi_saving_slots(s, notes, error);
        if (status == SPY_OK) status = spyi_saving_write(s, name, error);
    } else {
        spyi_text_add(error, "out of host memory");
        status = SPY_ERROR_OUT_OF_MEMORY;
    }
    free(s->tensors);
    free((void *)s->sources);
    free(s->slots);
    free(s->used);
    return status;
}

spy_status spy_save_list(spy_command_list *list, const char *name, spy_args tensors) {
    const char *function = "spy_save_list";
    spy_status status = spyi_enter(list, SPYI_KIND_LIST, function);
    if (status != SPY_OK) return status;
    spy_device *device = list->sink.object.device;
    spyi_text error = { NULL, 0, 0 };
    spyi_saving saving;
    memset(&saving, 0, sizeof saving);
    saving.list = list;
    saving.given = tensors;
    if (SPYI_HAS_COMPILER) {
        status = spyi_save_list(&saving, name, &error);
    } else {
        spyi_text_add(&error,
                      "it needs a device that records a pack, which SLANGPY_NO_COMPILER has left out");
        status = SPY_ERROR_NO_COMPILER;
    }
    if (status != SPY_OK) spyi_fail_text(device, status, function, &error);
    spyi_text_free(&error);
    spyi_leave(list);
    return status;
}
