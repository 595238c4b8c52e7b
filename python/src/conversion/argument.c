// The memory and the errors of one call, and the converter for each of its arguments.
#include "conversion/conversion.h"

#include <stdarg.h>

void spyp_call_begin(spyp_call *call, spyp_function *function) {
    call->function = function;
    call->updates = NULL;
    call->last_update = &call->updates;
    call->backs = NULL;
    call->foreign = call->gradient = call->unused_gradient = call->drops = call->result = false;
    call->borrows = NULL;
    call->stream_count = 0;
    call->library = NULL;
    call->wrap = NULL;
    call->host_torch = call->diverts = false;
    call->name = NULL;
    call->position = SPYP_NO_PARAMETER;
    call->step = NULL;
    call->global = NULL;
    call->mode = function->chain ? function->chain->mode : SPY_CALL_MODE_DEFAULT;
    spyp_arena_begin(&call->arena);
}

void spyp_drop_tensor(const spyp_device *d, spy_tensor *tensor) {
    if (tensor && d->device && d->fork_count == spyp.fork_count) spy_release_tensor(tensor);
}

void spyp_call_end(spyp_call *call) {
    // No Python object owns this tensor.
    for (spyp_back *back = call->backs; back; back = back->next)
        spyp_drop_tensor(call->function->module->device, back->result.tensor);
    if (call->borrows) spyp_foreign_return(call);
    spyp_arena_end(&call->arena);
}

int spyp_call_update(spyp_call *call, PyObject *object, PyObject **place, const spyp_part *part) {
    spyp_update *update = (spyp_update *)spyp_arena_take(&call->arena, sizeof *update);
    if (!update) return -1;
    update->object = object;
    update->place = place;
    update->part = part;
    update->next = NULL;
    *call->last_update = update;
    call->last_update = &update->next;
    return 0;
}

const spyp_converter *spyp_new_converter(spyp_function *f, PyObject *object) {
    PyTypeObject *type = Py_TYPE(object);
    const spyp_converter *converter = spyp_converter_of(object);
    for (int i = 0; converter && i < SPYP_SEEN; i++) {
        if (f->seen[i].type) continue;
        f->seen[i].type = (PyTypeObject *)Py_NewRef((PyObject *)type);
        f->seen[i].converter = converter;
        break;
    }
    return converter;
}

void spyp_error_prefix(spyp_call *call, const char *format, ...) {
    va_list list;
    if (call->foreign) return;
    va_start(list, format);
    // An error about too many levels gets words for the outermost level only.
    spyp_error_words(call->arena.depth == 0, format, list);
    va_end(list);
}

int spyp_convert(spyp_call *call, PyObject *object, const char *name, spy_arg *arg) {
    if (spyp_arena_down(&call->arena) < 0) return -1;
    int status = spyp_convert_here(call, object, name, arg);
    spyp_arena_up(&call->arena);
    return status;
}
