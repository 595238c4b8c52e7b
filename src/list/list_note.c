// Notes the operations of a list, for spy_save_list(), when the device records a pack (saved.h).
#include "list/saved.h"

#include "kinds/kind.h"
#include "plan/packs.h"

SPYI_FN void spyi_notes_make(spy_command_list *list) {
    spy_device *device = list->sink.object.device;
    if (spyi_is_recording(device))
        list->notes = (spyi_notes *)spyi_allocate(&device->ctx, sizeof *list->notes);
}

SPYI_FN void spyi_notes_free(spy_command_list *list) {
    spy_device *device = list->sink.object.device;
    spyi_notes *n = list->notes;
    if (!SPYI_HAS_COMPILER || !n) return;
    for (uint32_t i = 0; i < n->slot_count; i++) {
        if (n->slots[i].storage) spyi_resource_release(device, &n->slots[i].storage->resource);
        free(n->slots[i].use);
    }
    free(n->slots);
    free(n->module_ids);
    free(n->function_ids);
    spyi_text_free(&n->modules);
    spyi_text_free(&n->functions);
    spyi_text_free(&n->ops);
    spyi_text_free(&n->refusal);
    spyi_free(&device->ctx, n, sizeof *n);
    list->notes = NULL;
}

SPYI_FN void spyi_note_refusal(spy_command_list *list, const char *what) {
    spyi_notes *n = list->notes;
    if (!SPYI_HAS_COMPILER || !n) return;
    n->op_count++;
    if (!n->refusal.size) spyi_text_add(&n->refusal, "operation %u: %s", n->op_count, what);
}

// Begins the record of an operation.
static void spyi_note_begin(spyi_script_io *io, spyi_notes *notes, spyi_script_op op, const char *use) {
    memset(io, 0, sizeof *io);
    io->r.name = "list";
    io->r.out = &notes->ops;
    io->notes = notes;
    io->use = use;
    (void)spyi_stream_enum(&io->r, (uint32_t)op, SPYI_SCRIPT_OP_COUNT);
}

// Ends the record of an operation. If a part could not be written, notes a refusal and removes the record.
static void spyi_note_end(spy_command_list *list, spyi_script_io *io, size_t begin, uint32_t failed) {
    spyi_notes *n = list->notes;
    spyi_text what = { NULL, 0, 0 };
    bool good = io->r.status == SPY_OK && spyi_failed_allocations() == failed;
    if (good) {
        n->op_count++;
    } else {
        n->ops.size = begin;
        spyi_text_add(&what, "%s%s%s", io->use ? io->use : "", io->use ? ": " : "",
                      io->r.status != SPY_OK ? spyi_text_str(&io->r.problem) : "out of host memory");
        spyi_note_refusal(list, spyi_text_str(&what));
    }
    spyi_text_free(&what);
    spyi_script_free(io);
}

// >>slots

SPYI_FN bool spyi_noted_slot_is(const spyi_noted_slot *s, const spy_tensor *t) {
    return s->storage == t->storage && s->type == t->type && s->offset_bytes == t->offset_bytes &&
           memcmp(&s->shape, &t->shape, sizeof s->shape) == 0 &&
           memcmp(&s->strides, &t->strides, sizeof s->strides) == 0;
}

SPYI_FN uint32_t spyi_note_slot(spyi_notes *n, const spy_tensor *t, bool made, bool fixed, const char *use) {
    uint32_t i = 0;
    while (i < n->slot_count && !spyi_noted_slot_is(&n->slots[i], t)) i++;
    if (i == n->slot_count) {
        if (n->slot_count == n->slot_capacity) {
            uint32_t capacity = n->slot_capacity ? 2 * n->slot_capacity : 16;
            spyi_noted_slot *grown = (spyi_noted_slot *)spyi_realloc(n->slots, capacity * sizeof *grown);
            if (!grown) return SPYI_SCRIPT_NONE; // the failed allocation has been counted
            n->slots = grown;
            n->slot_capacity = capacity;
        }
        spyi_noted_slot *s = &n->slots[n->slot_count++];
        memset(s, 0, sizeof *s);
        s->storage = t->storage;
        if (s->storage) spyi_resource_retain(&s->storage->resource);
        s->type = t->type;
        s->shape = t->shape;
        s->strides = t->strides;
        s->offset_bytes = t->offset_bytes;
        s->begin_bytes = t->begin_bytes;
        s->end_bytes = t->end_bytes;
        s->made = made;
        s->use = spyi_strdup(use ? use : "");
    }
    n->slots[i].fixed = n->slots[i].fixed || fixed;
    return i;
}

// >>functions

// Adds a number to an array of `count` numbers, which grows at powers of two.
static bool spyi_note_id(uint64_t **ids, uint32_t count, uint64_t id) {
    if ((count & (count - 1)) == 0) {
        uint64_t *grown = (uint64_t *)spyi_realloc(*ids, (count ? 2 * (size_t)count : 1) * sizeof **ids);
        if (!grown) return false;
        *ids = grown;
    }
    (*ids)[count] = id;
    return true;
}

// Returns the index of the module's record, which is made if need be, behind those of the modules that it links.
static uint32_t spyi_note_module(spyi_notes *n, spyi_script_io *op, const spy_module *module) {
    uint64_t id = spyi_unit_serial(module->unit);
    uint32_t at = 0;
    while (at < n->module_count && n->module_ids[at] != id) at++;
    if (at < n->module_count) return at;
    if (module->fused || module->fixed) {
        spyi_stream_fail(&op->r, SPY_ERROR_UNSUPPORTED,
                         "module '%s' was made by the library, and its functions cannot be saved",
                         module->name);
        return 0;
    }
    uint32_t *link = (uint32_t *)spyi_malloc((module->link_count + 1) * sizeof *link);
    for (size_t i = 0; link && i < module->link_count; i++)
        link[i] = spyi_note_module(n, op, module->link[i]);
    spyi_script_io io;
    spyi_unit_desc unit;
    spy_module_desc desc;
    spyi_unit_describe(module->unit, NULL, &unit);
    memset(&io, 0, sizeof io);
    memset(&desc, 0, sizeof desc);
    io.r.out = &n->modules;
    desc.name = spyi_unit_name(module->unit);
    desc.defines = unit.defines;
    desc.define_count = unit.define_count;
    desc.link_count = module->link_count;
    desc.conformances = unit.conformances;
    desc.conformance_count = unit.conformance_count;
    desc.options = unit.options;
    desc.strict_broadcasting = module->strict_broadcasting;
    desc.zero_missing = module->zero_missing;
    bool good = link && op->r.status == SPY_OK && spyi_note_id(&n->module_ids, n->module_count, id);
    if (good) spyi_script_module(&io, &desc, &link);
    free(link);
    return good ? n->module_count++ : 0;
}

static uint32_t spyi_note_function(spyi_notes *n, spyi_script_io *op, const spy_function *function) {
    uint32_t at = 0, module = spyi_note_module(n, op, function->module);
    const spyi_declared *declared = function->declared;
    uint32_t count = declared ? declared->count : 0;
    spyi_declaration *items = declared ? declared->items : NULL;
    const char *name = function->name;
    uint64_t id = (uint64_t)function->id << 32 | module; // the module is in the number because a reload gives
                                                         // the module another record
    while (at < n->function_count && n->function_ids[at] != id) at++;
    if (at < n->function_count || op->r.status != SPY_OK || !spyi_note_id(&n->function_ids, at, id))
        return at;
    spyi_script_io io;
    memset(&io, 0, sizeof io);
    io.r.out = &n->functions;
    spyi_script_function(&io, &module, &name, &items, &count);
    return n->function_count++;
}

// >>operations

// Copies the arguments number first to end - 1 of a call, without their fields and without those that the
// library gave.
static spy_args spyi_note_args(const spyi_values *values, uint32_t first, uint32_t end, spy_arg *room) {
    spy_args args = { room, 0 };
    for (uint32_t i = first; i < end; i = spyi_value_end(values->items, i)) {
        const spyi_value *v = &values->items[i];
        if (v->custom && (v->custom->run->traits & SPYI_TRAIT_SYSTEM)) continue;
        room[args.count++] = *v->arg;
    }
    return args;
}

// Returns the path of a value that has an address or a handle in itself, which mean nothing to another
// process; NULL means that there is none. Tensors are given anew when the list is loaded.
static const char *spyi_note_address(const spy_command_list *list, const spyi_list_call *call,
                                     const spyi_values *values) {
    for (uint32_t i = 0; i < call->plan->bound.leaf_count; i++) {
        const spyi_leaf *leaf = &call->plan->bound.leaves[i];
        if (leaf->untracked && !values->items[leaf->value].tensor) return leaf->path;
    }
    for (uint32_t k = 0; k < call->op_count; k++) {
        const spyi_bound_inputs *inputs = &list->ops[call->first_op + k].variant->bound_inputs;
        for (uint32_t i = 0; i < inputs->count; i++)
            if (inputs->leaves[i].untracked && !values->items[inputs->leaves[i].value].tensor)
                return inputs->leaves[i].path;
    }
    return NULL;
}

SPYI_FN void spyi_note_call(spy_command_list *list, const spyi_list_call *call, const spyi_values *values) {
    spyi_notes *n = list->notes;
    spy_function *function = call->plan->function;
    const spyi_threads *threads = values->threads;
    // A call that finishes sums is not noted, because the call to which they belong adds them again.
    if (!SPYI_HAS_COMPILER || !n || function == function->object.device->finish_sums) return;
    uint32_t failed = spyi_failed_allocations(), given = spyi_values_given(values);
    size_t begin = n->ops.size;
    spyi_text use = { NULL, 0, 0 };
    spyi_script_io io;
    spy_call_options options;
    spy_arg *room = (spy_arg *)spyi_malloc((given + 1) * sizeof *room);
    spyi_text_add(&use, "%s '%s'", threads ? "dispatch of" : "call of", function->name);
    spyi_note_begin(&io, n,
                    !threads          ? SPYI_SCRIPT_CALL
                    : threads->counts ? SPYI_SCRIPT_INDIRECT
                                      : SPYI_SCRIPT_DISPATCH,
                    spyi_text_str(&use));
    const char *address = spyi_note_address(list, call, values);
    if (address)
        spyi_stream_fail(&io.r, SPY_ERROR_UNSUPPORTED,
                         "'%s' has an address or a handle of this process, which cannot be saved", address);
    uint32_t index = spyi_note_function(n, &io, function);
    memset(&options, 0, sizeof options);
    if (values->options) options = *values->options;
    // A function that counts its threads itself may read and write memory of the recorded sizes only.
    io.fixed = threads || options.thread_count.rank;
    spyi_stream_u32(&io.r, &index);
    if (room) {
        spy_args args = spyi_note_args(values, 0, values->count, room);
        spyi_script_args(&io, &args);
        options.globals = spyi_note_args(values, values->count, given, room);
        spyi_script_options(&io, &options);
    }
    for (int i = 0; threads && i < 3; i++) {
        uint32_t size = threads->count[i];
        spyi_stream_u32(&io.r, &size);
    }
    if (threads && threads->counts) {
        uint32_t slot = spyi_note_slot(n, threads->counts, false, true, io.use);
        uint64_t at = (threads->counts_at - threads->counts->offset_bytes) / 4;
        spyi_stream_u32(&io.r, &slot);
        spyi_stream_u64(&io.r, &at);
    }
    spyi_note_end(list, &io, begin, failed);
    spyi_text_free(&use);
    free(room);
}

SPYI_FN void spyi_note_op(spy_command_list *list, spyi_script_op op, const spy_tensor *tensor,
                          const spy_tensor *from, const char *name, double value, const void *data,
                          size_t size_bytes) {
    static const char *const uses[] = { "call", "dispatch", "dispatch", "copy", "fill", "write" };
    spyi_notes *n = list->notes;
    if (!SPYI_HAS_COMPILER || !n) return;
    uint32_t failed = spyi_failed_allocations();
    size_t begin = n->ops.size;
    spyi_script_io io;
    spyi_note_begin(&io, n, op, op <= SPYI_SCRIPT_WRITE ? uses[op] : NULL);
    const spy_tensor *both[2] = { tensor, from };
    for (int i = 0; i < 2; i++) {
        if (!both[i]) continue;
        uint32_t slot = spyi_note_slot(n, both[i], false, op == SPYI_SCRIPT_WRITE, io.use);
        spyi_stream_u32(&io.r, &slot);
    }
    if (op == SPYI_SCRIPT_FILL) spyi_stream_raw(&io.r, &value, sizeof value);
    if (op == SPYI_SCRIPT_PUSH_LABEL || op == SPYI_SCRIPT_MARKER) spyi_script_text(&io, &name);
    if (op == SPYI_SCRIPT_WRITE) {
        uint64_t size = size_bytes;
        spyi_stream_u64(&io.r, &size);
        if (size) spyi_stream_raw(&io.r, (void *)(uintptr_t)data, size_bytes);
    }
    spyi_note_end(list, &io, begin, failed);
}
