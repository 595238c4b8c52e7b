// spy_load_list(): records a saved list again, with the kernels of the device's pack and the program's tensors
// (saved.h).
#include "list/saved.h"

#include "api/gradient.h"
#include "base/store.h"
#include "plan/packs.h"

typedef struct spyi_loaded_tensor {
    spy_tensor *tensor; // the list holds one reference; NULL means not made yet
    spy_result *result; // the result of the call that makes it, if a call with a spy_result makes it
    const spy_arg *arg; // an argument of the program; NULL means that nobody asks for a tensor that the list
                        // makes
    bool claimed;       // a call will make it
} spyi_loaded_tensor;

struct spyi_loading {
    spy_device *device;
    spyi_text where; // the beginning of all errors: "spy_load_list: list 'blur'"
    spyi_text bytes;
    spyi_script_tensor *tensors;
    spyi_loaded_tensor *loaded; // the state of each of `tensors`
    spyi_script_slot *slots;
    spy_tensor **views; // the tensor of each slot, with one reference each; NULL means not made yet
    spy_module **modules;
    spy_function **functions;
    uint32_t tensor_count, slot_count, module_count, function_count, op_count;
    spy_command_list *list;
    spyi_script_io io;
};

// >>a tensor and what the list expects of it

static const char *spyi_loading_tensor_name(const spyi_script_tensor *t) {
    return t->name ? t->name : "made by the list";
}

static spy_status spyi_loading_misfit(const spyi_script_tensor *want, const spy_tensor *t, const char *what,
                                      spy_status status, spyi_text *error) {
    spyi_text_add(error, "'%s': expected %s%s ", spyi_loading_tensor_name(want), what, want->type->display);
    spyi_shape_text(&want->shape, error);
    spyi_text_add(error, ", as it was recorded, got %s ", t->type->display);
    spyi_shape_text(&t->shape, error);
    return status;
}

// Checks a tensor that stands for one of the list, whether it was given or made.
static spy_status spyi_loading_fits(const spyi_script_tensor *want, const spy_tensor *t, spyi_text *error) {
    if (t->type != want->type)
        return spyi_loading_misfit(want, t, "elements of ", SPY_ERROR_TYPE_MISMATCH, error);
    if (t->shape.rank != want->shape.rank)
        return spyi_loading_misfit(want, t, "a tensor of that rank: ", SPY_ERROR_SHAPE_MISMATCH, error);
    if (want->fixed_shape &&
        memcmp(t->shape.dims, want->shape.dims, want->shape.rank * sizeof *want->shape.dims) != 0)
        return spyi_loading_misfit(want, t, "the sizes ", SPY_ERROR_SHAPE_MISMATCH, error);
    bool apart = false;
    for (uint32_t d = 0; want->fixed_strides && d < want->shape.rank; d++)
        apart = apart || (t->shape.dims[d] > 1 && t->strides.dims[d] != want->strides.dims[d]);
    if (!apart) return SPY_OK;
    spyi_text_add(error, "'%s': the list uses a part of it; expected the strides ",
                  spyi_loading_tensor_name(want));
    spyi_shape_text(&want->strides, error);
    spyi_text_add(error, ", as it was recorded, got ");
    spyi_shape_text(&t->strides, error);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// >>the tensors of slots

static spy_tensor *spyi_loading_view(spyi_loading *l, const spyi_script_slot *s, spy_tensor *of) {
    spyi_stream *r = &l->io.r;
    int64_t stride = (int64_t)spyi_type_device_stride(s->type);
    spy_view_desc desc;
    memset(&desc, 0, sizeof desc);
    if (!spyi_stream_expect(r, stride > 0 && s->offset_bytes % stride == 0, "a view is of no whole elements"))
        return NULL;
    desc.shape = s->shape;
    desc.strides = s->strides;
    desc.offset_elements = s->offset_bytes / stride;
    spyi_text where = { NULL, 0, 0 };
    spyi_text_add(&where, "%s: '%s'", spyi_text_str(&l->where),
                  spyi_loading_tensor_name(&l->tensors[s->tensor]));
    if (spyi_enter(l->device, SPYI_KIND_DEVICE, "spy_load_list") != SPY_OK) r->status = SPY_ERROR_RELEASED;
    spy_tensor *view = NULL;
    if (r->status == SPY_OK) {
        view = spyi_view_as(of, s->type, &desc, spyi_text_str(&where));
        if (!view) r->status = SPY_ERROR_OUT_OF_RANGE; // the error has been reported
        spyi_leave(l->device);
    }
    spyi_text_free(&where);
    return view;
}

SPYI_FN spy_tensor *spyi_loading_tensor(spyi_script_io *io, uint32_t slot) {
    spyi_loading *l = io->loading;
    if (!spyi_stream_expect(&io->r, slot < l->slot_count, "it has no such slot")) return NULL;
    const spyi_script_slot *s = &l->slots[slot];
    spy_tensor *t = l->loaded[s->tensor].tensor;
    if (!spyi_stream_expect(&io->r, t != NULL, "a tensor is used before it is made")) return NULL;
    if (l->tensors[s->tensor].made) {
        spyi_text problem = { NULL, 0, 0 };
        spy_status status = spyi_loading_fits(&l->tensors[s->tensor], t, &problem);
        if (status != SPY_OK) spyi_stream_fail(&io->r, status, "%s", spyi_text_str(&problem));
        spyi_text_free(&problem);
        if (status != SPY_OK) return NULL;
    }
    if (s->grad) t = t->grads[s->grad - 1];
    if (!t) {
        spyi_stream_fail(&io->r, SPY_ERROR_INVALID_ARGUMENT,
                         "'%s': the list uses the tensor's gradient; expected a tensor with one, got none",
                         spyi_loading_tensor_name(&l->tensors[s->tensor]));
        return NULL;
    }
    if (!s->view) return t;
    if (!l->views[slot]) l->views[slot] = spyi_loading_view(l, s, t);
    return l->views[slot];
}

// Returns the tensor that the slot stands for, if a call makes it and none has made it.
static spyi_loaded_tensor *spyi_loading_unmade(spyi_script_io *io, uint32_t slot) {
    spyi_loading *l = io->loading;
    const spyi_script_slot *s = slot < l->slot_count ? &l->slots[slot] : NULL;
    bool good = s && !s->view && !s->grad && l->tensors[s->tensor].made && !l->loaded[s->tensor].claimed;
    if (!spyi_stream_expect(&io->r, good, "a call makes what it cannot make")) return NULL;
    l->loaded[s->tensor].claimed = true;
    return &l->loaded[s->tensor];
}

SPYI_FN spy_tensor **spyi_loading_made(spyi_script_io *io, uint32_t slot) {
    spyi_loaded_tensor *t = spyi_loading_unmade(io, slot);
    return t ? &t->tensor : NULL;
}

SPYI_FN spy_result *spyi_loading_result(spyi_script_io *io, uint32_t slot) {
    spyi_loaded_tensor *t = slot == SPYI_SCRIPT_NONE ? NULL : spyi_loading_unmade(io, slot);
    spy_result *result = io->r.status == SPY_OK ? (spy_result *)spyi_script_take(io, sizeof *result) : NULL;
    if (t) t->result = result;
    return result;
}

// Takes over the tensors of a call's spy_results after the call.
static void spyi_loading_take_results(spyi_loading *l) {
    for (uint32_t i = 0; i < l->tensor_count; i++) {
        spyi_loaded_tensor *t = &l->loaded[i];
        if (!t->result) continue;
        t->tensor = t->result->tensor;
        t->result = NULL;
    }
}

// >>the program's tensors

static void spyi_loading_name(const spyi_script_tensor *t, bool first, spyi_text *error) {
    spyi_text_add(error, "%s'%s' (%s%s ", first ? "" : ", ", t->name, t->made ? "made by the list, " : "",
                  t->type->display);
    spyi_shape_text(&t->shape, error);
    spyi_text_add(error, ")");
}

static spy_status spyi_loading_unknown(const spyi_loading *l, const char *name, spyi_text *error) {
    bool first = true;
    spyi_text_add(error, "'%s': the list has no tensor of this name; it has ", name ? name : "");
    for (uint32_t i = 0; i < l->tensor_count; i++) {
        if (!l->tensors[i].name) continue;
        spyi_loading_name(&l->tensors[i], first, error);
        first = false;
    }
    if (first) spyi_text_add(error, "none");
    return SPY_ERROR_NOT_FOUND;
}

// Finds the list's tensors among the program's arguments, and retains them.
static spy_status spyi_loading_give(spyi_loading *l, spy_args given, spyi_text *error) {
    for (size_t k = 0; k < given.count; k++) {
        const spy_arg *arg = &given.items[k];
        uint32_t i = 0;
        while (i < l->tensor_count &&
               (!l->tensors[i].name || !arg->name || strcmp(l->tensors[i].name, arg->name) != 0))
            i++;
        if (i == l->tensor_count) return spyi_loading_unknown(l, arg->name, error);
        const spyi_script_tensor *want = &l->tensors[i];
        spyi_loaded_tensor *to = &l->loaded[i];
        if (to->arg) {
            spyi_text_add(error, "'%s' is given twice", arg->name);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        if (arg->kind != (want->made ? SPY_ARG_KIND_NEW : SPY_ARG_KIND_TENSOR)) {
            spyi_text_add(error, "'%s': %s", arg->name,
                          want->made ? "the list makes this tensor; expected spy_out_tensor()"
                                     : "expected spy_arg_tensor(), got another argument");
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        to->arg = arg;
        if (want->made && !arg->value.new_tensor) {
            spyi_text_add(error, "'%s': the pointer that takes the tensor is NULL", arg->name);
            return SPY_ERROR_INVALID_ARGUMENT;
        }
        if (want->made) continue;
        if (!spyi_is_on(l->device, arg->value.tensor, SPYI_KIND_TENSOR)) {
            spyi_text_add(error, "'%s': ", arg->name);
            return spyi_object_problem(arg->value.tensor, SPYI_KIND_TENSOR, error);
        }
        spy_status status = spyi_loading_fits(want, arg->value.tensor, error);
        if (status != SPY_OK) return status;
        spyi_atomic_add(&arg->value.tensor->object.references, 1);
        to->tensor = arg->value.tensor;
    }
    for (uint32_t i = 0; i < l->tensor_count; i++) {
        if (l->loaded[i].arg || l->tensors[i].made) continue;
        spyi_text_add(error, "a tensor is missing: ");
        spyi_loading_name(&l->tensors[i], true, error);
        return SPY_ERROR_NOT_FOUND;
    }
    return SPY_OK;
}

// >>opening

// Writes an error that says which lists the pack has.
static spy_status spyi_loading_absent(const spy_device *device, spyi_text *error) {
    size_t at = 0;
    spyi_text name = { NULL, 0, 0 };
    spyi_text_add(error, "the pack has no such list for this kind of device");
    for (uint32_t count = 0; spyi_pack_next(device, "list", &at, &name); count++)
        spyi_text_add(error, "%s%s", count ? ", " : "; it has ", spyi_text_str(&name));
    spyi_text_free(&name);
    return SPY_ERROR_NOT_FOUND;
}

static void spyi_loading_module(spyi_loading *l, uint32_t number, spyi_text *error) {
    spyi_stream *r = &l->io.r;
    spy_module_desc desc;
    uint32_t *link = NULL;
    memset(&desc, 0, sizeof desc);
    spyi_script_module(&l->io, &desc, &link);
    spy_module **links = (spy_module **)spyi_script_take(&l->io, (desc.link_count + 1) * sizeof *links);
    for (size_t i = 0; r->status == SPY_OK && i < desc.link_count; i++)
        if (spyi_stream_expect(r, link[i] < number, "a module links what is not there"))
            links[i] = l->modules[link[i]];
    if (r->status != SPY_OK) return;
    desc.link = links;
    spy_status status = spyi_module_load(l->device, &desc, &l->modules[number], error);
    if (status != SPY_OK) spyi_stream_fail(r, status, "%s", "");
}

// Makes the declarations of a function, like those of spy_declare(). Returns NULL when there are none, or the
// stream has failed.
static spyi_declared *spyi_loading_declared(spyi_loading *l, const spyi_declaration *items, uint32_t count) {
    size_t texts = 0;
    char *at;
    if (!count || l->io.r.status != SPY_OK) return NULL;
    for (uint32_t i = 0; i < count; i++) texts += spyi_declared_texts(items[i].name, items[i].type);
    spyi_declared *made = spyi_declared_new(count, texts, &at);
    if (!made) spyi_stream_fail(&l->io.r, SPY_ERROR_OUT_OF_MEMORY, "out of host memory");
    for (uint32_t i = 0; made && i < count; i++) spyi_declared_add(made, &at, &items[i]);
    return made;
}

static void spyi_loading_function(spyi_loading *l, uint32_t number) {
    spyi_stream *r = &l->io.r;
    uint32_t module = 0, count = 0;
    const char *name = NULL;
    spyi_declaration *items = NULL;
    spyi_script_function(&l->io, &module, &name, &items, &count);
    (void)spyi_stream_expect(r, module < l->module_count, "a function is of no module");
    spyi_declared *declared = spyi_loading_declared(l, items, count);
    if (r->status == SPY_OK)
        l->functions[number] = spyi_function_of(l->modules[module], name, declared, spyi_text_str(&l->where));
    if (declared && (!l->functions[number] || l->functions[number]->declared != declared)) free(declared);
    // the error has been reported
    if (r->status == SPY_OK && !l->functions[number]) r->status = SPY_ERROR_NOT_FOUND;
}

// Reads the list up to its operations. The caller has entered the device, which is left meanwhile. A failure
// without a text in `error` and the stream has been reported.
static spy_status spyi_loading_open(spyi_loading *l, const char *name, spy_args given, const char **label,
                                    spyi_text *error) {
    spyi_stream *r = &l->io.r;
    spyi_text question = { NULL, 0, 0 };
    uint32_t format = 0;
    spyi_script_question(l->device, name, &question);
    bool found = spyi_store_get(l->device->ctx.pack, &question, &l->bytes);
    spyi_text_free(&question);
    if (!found) return spyi_loading_absent(l->device, error);
    r->name = "list";
    r->at = (const uint8_t *)l->bytes.data;
    r->left = l->bytes.size;
    r->table = l->device->types;
    l->io.loading = l;
    spyi_stream_u32(r, &format);
    if (r->status == SPY_OK && format != SPYI_SCRIPT_FORMAT)
        spyi_stream_fail(r, SPY_ERROR_INVALID_ARGUMENT,
                         "the list has format %u, and this library reads and writes format %u", format,
                         SPYI_SCRIPT_FORMAT);
    spyi_script_text(&l->io, label);
    spyi_script_tensors(&l->io, &l->tensors, &l->tensor_count);
    spyi_script_slots(&l->io, &l->slots, &l->slot_count, l->tensor_count);
    if (r->status == SPY_OK)
        l->loaded = (spyi_loaded_tensor *)spyi_script_take(&l->io, (l->tensor_count + 1) * sizeof *l->loaded);
    if (r->status == SPY_OK)
        l->views = (spy_tensor **)spyi_script_take(&l->io, (l->slot_count + 1) * sizeof *l->views);
    if (r->status != SPY_OK) return r->status;
    spy_status status = spyi_loading_give(l, given, error);
    if (status != SPY_OK) return status;
    uint32_t count = 0;
    l->modules = (spy_module **)spyi_script_list(&l->io, &count, sizeof *l->modules, 1);
    for (; l->module_count < count && r->status == SPY_OK; l->module_count++)
        spyi_loading_module(l, l->module_count, error);
    count = 0;
    l->functions = (spy_function **)spyi_script_list(&l->io, &count, sizeof *l->functions, 1);
    for (; l->function_count < count && r->status == SPY_OK; l->function_count++)
        spyi_loading_function(l, l->function_count);
    spyi_stream_u32(r, &l->op_count);
    return r->status;
}

// >>operations

static void spyi_load_call(spyi_loading *l, spyi_script_op op, const char *where) {
    spyi_stream *r = &l->io.r;
    uint32_t function = 0, sizes[3] = { 0, 0, 0 }, slot = 0;
    uint64_t index = 0;
    spy_args args = { NULL, 0 };
    spy_call_options options;
    spy_tensor *counts = NULL;
    spy_status status = SPY_OK;
    memset(&options, 0, sizeof options);
    spyi_stream_u32(r, &function);
    (void)spyi_stream_expect(r, function < l->function_count, "it has no such function");
    spyi_script_args(&l->io, &args);
    spyi_script_options(&l->io, &options);
    for (int i = 0; op != SPYI_SCRIPT_CALL && i < 3; i++) spyi_stream_u32(r, &sizes[i]);
    if (op == SPYI_SCRIPT_INDIRECT) {
        spyi_stream_u32(r, &slot);
        spyi_stream_u64(r, &index);
        counts = spyi_loading_tensor(&l->io, slot);
    }
    if (r->status != SPY_OK) return;
    spy_uint3 threads = { sizes[0], sizes[1], sizes[2] };
    options.append_to = l->list;
    spy_function *f = l->functions[function];
    if (op == SPYI_SCRIPT_CALL) status = spyi_call(f, args, &options, where, false, NULL);
    else if (op == SPYI_SCRIPT_DISPATCH) status = spyi_dispatch_threads(f, threads, args, &options, where);
    else
        status = spyi_dispatch_indirect(f, counts, index > (uint64_t)INT64_MAX ? -1 : (int64_t)index, args,
                                        &options, where);
    if (status != SPY_OK) r->status = status; // the error has been reported
    if (status == SPY_OK) spyi_loading_take_results(l);
}

static spy_status spyi_load_transfer(spyi_loading *l, spyi_script_op op, spyi_text *error) {
    spyi_stream *r = &l->io.r;
    uint32_t slots[2] = { 0, 0 };
    spy_tensor *tensors[2] = { NULL, NULL };
    spyi_text data = { NULL, 0, 0 };
    double value = 0;
    spy_status status = SPY_OK;
    for (int i = 0; i < (op == SPYI_SCRIPT_COPY ? 2 : 1); i++) {
        spyi_stream_u32(r, &slots[i]);
        tensors[i] = spyi_loading_tensor(&l->io, slots[i]);
    }
    if (op == SPYI_SCRIPT_FILL) spyi_stream_raw(r, &value, sizeof value);
    if (op == SPYI_SCRIPT_WRITE) spyi_stream_bytes(r, &data);
    if (r->status == SPY_OK) status = spyi_enter(l->list, SPYI_KIND_LIST, "spy_load_list");
    if (status == SPY_OK && r->status == SPY_OK) {
        if (op == SPYI_SCRIPT_COPY) status = spyi_list_copy(l->list, tensors[0], tensors[1], error);
        else if (op == SPYI_SCRIPT_FILL) status = spyi_list_fill(l->list, tensors[0], value, error);
        else status = spyi_list_write(l->list, tensors[0], data.data, data.size, error);
        spyi_leave(l->list);
    }
    spyi_text_free(&data);
    return status;
}

static spy_status spyi_load_mark(spyi_loading *l, spyi_script_op op, spyi_text *error) {
    spyi_stream *r = &l->io.r;
    const char *name = NULL;
    if (op == SPYI_SCRIPT_PUSH_LABEL || op == SPYI_SCRIPT_MARKER) spyi_script_text(&l->io, &name);
    if (r->status != SPY_OK) return SPY_OK;
    spy_status status = spyi_enter(l->list, SPYI_KIND_LIST, "spy_load_list");
    if (status != SPY_OK) return status;
    switch (op) {
    case SPYI_SCRIPT_BARRIER: status = spyi_list_barrier(l->list, error); break;
    case SPYI_SCRIPT_PUSH_LABEL: status = spyi_list_label(l->list, SPYI_LABEL_PUSH, name, error); break;
    case SPYI_SCRIPT_POP_LABEL: status = spyi_list_label(l->list, SPYI_LABEL_POP, NULL, error); break;
    case SPYI_SCRIPT_MARKER: status = spyi_list_label(l->list, SPYI_LABEL_POINT, name, error); break;
    default: status = spyi_list_timestamp(l->list, error); break;
    }
    spyi_leave(l->list);
    return status;
}

static void spyi_load_op(spyi_loading *l, uint32_t number, spyi_text *error) {
    spyi_stream *r = &l->io.r;
    spyi_script_op op = (spyi_script_op)spyi_stream_enum(r, 0, SPYI_SCRIPT_OP_COUNT);
    if (r->status != SPY_OK) return;
    if (op <= SPYI_SCRIPT_INDIRECT) {
        spyi_text where = { NULL, 0, 0 };
        spyi_text_add(&where, "%s: operation %u", spyi_text_str(&l->where), number);
        spyi_load_call(l, op, spyi_text_str(&where));
        spyi_text_free(&where);
        return;
    }
    spy_status status =
        op <= SPYI_SCRIPT_WRITE ? spyi_load_transfer(l, op, error) : spyi_load_mark(l, op, error);
    if (status == SPY_OK) return;
    r->status = status;
    spyi_text_add(error, " (operation %u)", number);
}

// >>the whole

// Gives the program the tensors that it asked for, once the list is complete.
static void spyi_loading_hand_over(spyi_loading *l) {
    for (uint32_t i = 0; i < l->tensor_count; i++) {
        spyi_loaded_tensor *t = &l->loaded[i];
        if (!l->tensors[i].made || !t->arg || !t->tensor) continue;
        *t->arg->value.new_tensor = t->tensor;
        t->tensor = NULL;
    }
}

static spy_status spyi_loading_end(spyi_loading *l, spyi_text *error) {
    (void)spyi_stream_expect(&l->io.r, l->io.r.left == 0, "there are bytes behind its end");
    for (uint32_t i = 0; i < l->tensor_count; i++)
        (void)spyi_stream_expect(&l->io.r, l->loaded[i].tensor != NULL, "no call makes a tensor that it has");
    if (l->io.r.status != SPY_OK) return l->io.r.status;
    spy_status status = spyi_enter(l->list, SPYI_KIND_LIST, "spy_load_list");
    if (status != SPY_OK) return status;
    status = spyi_list_finish(l->list, error);
    spyi_leave(l->list);
    return status;
}

static void spyi_loading_free(spyi_loading *l) {
    for (uint32_t i = 0; l->views && i < l->slot_count; i++)
        if (l->views[i]) spy_release_tensor(l->views[i]);
    for (uint32_t i = 0; l->loaded && i < l->tensor_count; i++)
        if (l->loaded[i].tensor) spy_release_tensor(l->loaded[i].tensor);
    for (uint32_t i = 0; i < l->module_count; i++)
        if (l->modules[i]) spy_release_module(l->modules[i]);
    spyi_script_free(&l->io);
    spyi_text_free(&l->bytes);
    spyi_text_free(&l->where);
}

spy_command_list *spy_load_list(spy_device *device, const char *name, spy_args tensors) {
    const char *function = "spy_load_list", *label = NULL;
    if (spyi_enter(device, SPYI_KIND_DEVICE, function) != SPY_OK) return NULL;
    spyi_text error = { NULL, 0, 0 };
    spyi_loading l;
    spy_status status = SPY_ERROR_INVALID_ARGUMENT;
    memset(&l, 0, sizeof l);
    l.device = device;
    spyi_text_add(&l.where, "%s", function);
    if (!name || !name[0]) {
        spyi_text_add(&error, "name: expected a list's name, got %s", name ? "\"\"" : "NULL");
    } else if (tensors.count && !tensors.items) {
        spyi_text_add(&error, "expected %zu tensors, got NULL", tensors.count);
    } else if (!spyi_is_packed(device)) {
        spyi_text_add(&error, "the device was created without desc.pack");
        status = SPY_ERROR_UNSUPPORTED;
    } else {
        spyi_text_add(&l.where, ": list '%s'", name);
        status = spyi_loading_open(&l, name, tensors, &label, &error);
    }
    spyi_leave(device);
    if (status == SPY_OK) {
        spy_list_desc desc;
        memset(&desc, 0, sizeof desc);
        desc.label = label;
        l.list = spy_create_command_list(device, &desc);
        if (!l.list) l.io.r.status = SPY_ERROR_OUT_OF_MEMORY; // the error has been reported
        for (uint32_t i = 0; i < l.op_count && l.io.r.status == SPY_OK; i++) spyi_load_op(&l, i + 1, &error);
        status = l.io.r.status;
        if (status == SPY_OK) status = spyi_loading_end(&l, &error);
    }
    if (status != SPY_OK) { // an error without a text has been reported
        if (l.io.r.problem.size) spyi_text_add(&error, "%s", spyi_text_str(&l.io.r.problem));
        if (error.size)
            spyi_fail(&device->ctx, status, "%s: %s", spyi_text_str(&l.where), spyi_text_str(&error));
        spy_release_command_list(l.list);
        l.list = NULL;
    } else {
        spyi_loading_hand_over(&l);
    }
    spyi_text_free(&error);
    spyi_loading_free(&l);
    return l.list;
}
