// Records operations on textures into a command list: writes, copies, clears, blits, mips and resolves. The
// functions of data/texture_copy.c check and describe the work; this file puts it into the list.
#include "data/texture.h"
#include "list/saved.h"

typedef struct spyi_list_texture_sink {
    spy_command_list *list;
    spy_list_op_kind kind;
} spyi_list_texture_sink;

static spy_status spyi_list_record_texture(void *object, spyi_work *work, const spyi_use *uses,
                                           uint32_t count, spyi_text *error) {
    spyi_list_texture_sink *to = (spyi_list_texture_sink *)object;
    spyi_list_op *op;
    spy_status status = spyi_list_add(to->list, NULL, work, uses, count, &op, error);
    if (status == SPY_OK) spyi_list_added(to->list, op, to->kind);
    return status;
}

// A public function that records work on textures into a list.
typedef struct spyi_list_texture_call {
    spy_command_list *list;
    const char *function;
    size_t first_op; // the number of the list's operations before the call
    spyi_list_texture_sink target;
    spyi_texture_sink sink;
    spyi_text error;
} spyi_list_texture_call;

// Enters the list's device and checks that the list is open and the texture alive and on the same device.
static spy_status spyi_list_enter_texture(spyi_list_texture_call *call, spy_command_list *list,
                                          const spy_texture *texture, const char *name, spy_list_op_kind kind,
                                          const char *function) {
    spy_status status = spyi_enter(list, SPYI_KIND_LIST, function);
    if (status != SPY_OK) return status;
    memset(call, 0, sizeof *call);
    call->list = list;
    call->function = function;
    call->first_op = list->op_count;
    call->target.list = list;
    call->target.kind = kind;
    call->sink.record = spyi_list_record_texture;
    call->sink.object = &call->target;
    status = spyi_list_check_open(list, &call->error);
    if (status == SPY_OK && !spyi_is_on(list->sink.object.device, texture, SPYI_KIND_TEXTURE)) {
        spyi_text_add(&call->error, "'%s': ", name);
        status = spyi_object_problem(texture, SPYI_KIND_TEXTURE, &call->error);
    }
    if (status == SPY_OK) return SPY_OK;
    spyi_fail_text(list->sink.object.device, status, function, &call->error);
    spyi_leave(list);
    return status;
}

// Leaves the device after an operation on a texture. An operation that failed after its first work leaves the
// list unchanged.
static spy_status spyi_list_leave_texture(spyi_list_texture_call *call, spy_status status) {
    spy_command_list *list = call->list;
    spy_device *device = list->sink.object.device;
    if (status != SPY_OK) {
        while (list->op_count > call->first_op) {
            const spyi_list_op *op = &list->ops[--list->op_count];
            while (list->use_count > op->first_use)
                spyi_resource_release(device, list->uses[--list->use_count].resource);
        }
        spyi_fail_text(device, status, call->function, &call->error);
    } else if (list->notes) {
        spyi_text_add(&call->error, "%s, which cannot be saved", call->function);
        spyi_note_refusal(list, spyi_text_str(&call->error));
    }
    spyi_text_free(&call->error);
    spyi_leave(list);
    return status;
}

// The body of a public function. `expression` uses call.sink and call.error.
#define SPYI_LIST_TEXTURE(function, texture, parameter, op_kind, expression)                                 \
    spyi_list_texture_call call;                                                                             \
    spy_status entered = spyi_list_enter_texture(&call, list, texture, parameter, op_kind, function);        \
    if (entered != SPY_OK) return entered;                                                                   \
    return spyi_list_leave_texture(&call, expression)

spy_status spy_list_texture_write(spy_command_list *list, spy_texture *texture,
                                  const spy_texture_region *region, const void *data, size_t size_bytes) {
    SPYI_LIST_TEXTURE("spy_list_texture_write", texture, "texture", SPY_LIST_OP_KIND_WRITE,
                      spyi_texture_write(&call.sink, texture, region, data, size_bytes, &call.error));
}

spy_status spy_list_texture_copy(spy_command_list *list, spy_texture *to, const spy_texture_region *to_region,
                                 spy_texture *from, const spy_texture_region *from_region) {
    SPYI_LIST_TEXTURE("spy_list_texture_copy", to, "to", SPY_LIST_OP_KIND_COPY,
                      spyi_texture_copy(&call.sink, to, to_region, from, from_region, &call.error));
}

spy_status spy_list_texture_copy_from_tensor(spy_command_list *list, spy_texture *to,
                                             const spy_texture_region *region, spy_tensor *tensor,
                                             size_t offset_bytes, size_t row_pitch_bytes) {
    SPYI_LIST_TEXTURE("spy_list_texture_copy_from_tensor", to, "to", SPY_LIST_OP_KIND_COPY,
                      spyi_texture_copy_tensor(&call.sink, true, to, region, tensor, offset_bytes,
                                               row_pitch_bytes, &call.error));
}

spy_status spy_list_texture_copy_to_tensor(spy_command_list *list, spy_texture *from,
                                           const spy_texture_region *region, spy_tensor *tensor,
                                           size_t offset_bytes, size_t row_pitch_bytes) {
    SPYI_LIST_TEXTURE("spy_list_texture_copy_to_tensor", from, "from", SPY_LIST_OP_KIND_COPY,
                      spyi_texture_copy_tensor(&call.sink, false, from, region, tensor, offset_bytes,
                                               row_pitch_bytes, &call.error));
}

spy_status spy_list_texture_clear(spy_command_list *list, spy_texture *texture, spy_clear_color color) {
    SPYI_LIST_TEXTURE("spy_list_texture_clear", texture, "texture", SPY_LIST_OP_KIND_FILL,
                      spyi_texture_clear(&call.sink, texture, &color, &call.error));
}

spy_status spy_list_texture_clear_depth(spy_command_list *list, spy_texture *texture, float depth,
                                        uint32_t stencil) {
    SPYI_LIST_TEXTURE("spy_list_texture_clear_depth", texture, "texture", SPY_LIST_OP_KIND_FILL,
                      spyi_texture_clear_depth(&call.sink, texture, depth, stencil, &call.error));
}

spy_status spy_list_texture_blit(spy_command_list *list, spy_texture *to, spy_texture *from,
                                 spy_filter filter) {
    SPYI_LIST_TEXTURE("spy_list_texture_blit", to, "to", SPY_LIST_OP_KIND_COPY,
                      spyi_texture_blit(&call.sink, to, from, filter, &call.error));
}

spy_status spy_list_texture_generate_mips(spy_command_list *list, spy_texture *texture) {
    SPYI_LIST_TEXTURE("spy_list_texture_generate_mips", texture, "texture", SPY_LIST_OP_KIND_COPY,
                      spyi_texture_generate_mips(&call.sink, texture, &call.error));
}

spy_status spy_list_texture_resolve(spy_command_list *list, spy_texture *to, spy_texture *from) {
    SPYI_LIST_TEXTURE("spy_list_texture_resolve", to, "to", SPY_LIST_OP_KIND_COPY,
                      spyi_texture_resolve(&call.sink, to, from, &call.error));
}

#undef SPYI_LIST_TEXTURE
