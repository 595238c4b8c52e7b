// Lists in packs (spy_save_list, spy_load_list).
//
// A saved list has what the program asked for: which functions were called with which arguments, not what was
// dispatched. spy_load_list() records the same again with the pack's kernels, through the same checks as any
// recording, so tensors may have other sizes, and bytes that are not what was written give errors. The
// recording keeps the bytes in spyi_notes as it goes on, because functions and arguments are gone later; only
// devices that record a pack have notes.
//
// The bytes: a head (format, label), the tensors that the list works on, the slots, then modules, functions and
// operations, each a count and its records. An operation refers to memory by a slot: a tensor, its gradient,
// or a view of one of these. Types stand in the tensors and slots alone.
#ifndef SPYI_LIST_SAVED_H
#define SPYI_LIST_SAVED_H

#include "data/stream.h"
#include "list/list.h"

// Raise this number with every change of what is written.
#define SPYI_SCRIPT_FORMAT 1u
#define SPYI_SCRIPT_NONE UINT32_MAX // no slot
enum { SPYI_SCRIPT_MOST = 65536 };  // tensors, slots, modules, functions, items of a list

typedef enum spyi_script_op {
    SPYI_SCRIPT_CALL,
    SPYI_SCRIPT_DISPATCH,
    SPYI_SCRIPT_INDIRECT, // a dispatch whose numbers of groups lie in a tensor
    SPYI_SCRIPT_COPY,
    SPYI_SCRIPT_FILL,
    SPYI_SCRIPT_WRITE,
    SPYI_SCRIPT_BARRIER,
    SPYI_SCRIPT_PUSH_LABEL,
    SPYI_SCRIPT_POP_LABEL,
    SPYI_SCRIPT_MARKER,
    SPYI_SCRIPT_TIMESTAMP,
    SPYI_SCRIPT_OP_COUNT
} spyi_script_op;

// >>recording

// Memory that an operation uses, as it was when the operation was recorded.
typedef struct spyi_noted_slot {
    spyi_storage *storage; // one reference
    const spyi_type *type;
    spy_shape shape, strides;
    uint64_t offset_bytes, begin_bytes, end_bytes;
    bool made;  // the operation is a call that makes the tensor
    bool fixed; // an operation fits only the recorded sizes
    char *use;  // the operation that used it first, for messages
} spyi_noted_slot;

typedef struct spyi_notes {
    spyi_text modules, functions, ops; // records
    uint32_t module_count, function_count, op_count;
    // Of the records, in their order: serials of units; ids of functions, with their modules' indices.
    uint64_t *module_ids, *function_ids;
    spyi_noted_slot *slots;
    uint32_t slot_count, slot_capacity;
    spyi_text refusal; // why the list cannot be saved; empty: it can
} spyi_notes;

// list_note.c: these do nothing unless the list has notes. They never fail: what cannot be saved, or out of
// memory, is a refusal that spy_save_list() reports.
SPYI_FN void spyi_notes_make(spy_command_list *list);
SPYI_FN void spyi_notes_free(spy_command_list *list);
SPYI_FN void spyi_note_call(spy_command_list *list, const spyi_list_call *call, const spyi_values *values);
// `tensor`, `from`, `name` and `data` are those of the operation; NULL and 0: it has none.
SPYI_FN void spyi_note_op(spy_command_list *list, spyi_script_op op, const spy_tensor *tensor,
                          const spy_tensor *from, const char *name, double value, const void *data,
                          size_t size_bytes);
// Returns whether the slot is the tensor's memory, elements and layout.
SPYI_FN bool spyi_noted_slot_is(const spyi_noted_slot *slot, const spy_tensor *tensor);
SPYI_FN void spyi_note_refusal(spy_command_list *list, const char *what);
// Returns the slot of a tensor's memory. `use`: for messages; may be NULL when the slot is known.
SPYI_FN uint32_t spyi_note_slot(spyi_notes *notes, const spy_tensor *tensor, bool made, bool fixed,
                                const char *use);

// >>the fields, in one order for writing and reading

typedef struct spyi_loading spyi_loading; // list_load.c

typedef struct spyi_script_io {
    spyi_stream r;
    // Writing.
    spyi_notes *notes;
    bool fixed;      // slots of this operation are
    const char *use; // of this operation
    // Reading.
    spyi_loading *loading;
    struct spyi_script_block *blocks; // memory that lives until spyi_script_free()
} spyi_script_io;

// list_fields.c
SPYI_FN void *spyi_script_take(spyi_script_io *io,
                               size_t size); // reading; zeroed. NULL: the stream has failed
SPYI_FN void spyi_script_text(spyi_script_io *io, const char **text); // NULL stays NULL
SPYI_FN void spyi_script_shape(spyi_script_io *io, spy_shape *shape);
// A list's length. When reading, returns memory for the items, each of which takes at least `least` bytes of the stream; NULL and
// 0 items when the stream has failed.
SPYI_FN void *spyi_script_list(spyi_script_io *io, uint32_t *count, size_t item_size, size_t least);
SPYI_FN void spyi_script_args(spyi_script_io *io, spy_args *args);
SPYI_FN void spyi_script_options(spyi_script_io *io, spy_call_options *options);
// `link` has the indices of the modules that it links, desc->link_count of them.
SPYI_FN void spyi_script_module(spyi_script_io *io, spy_module_desc *desc, uint32_t **link);
SPYI_FN void spyi_script_function(spyi_script_io *io, uint32_t *module, const char **name,
                                  spyi_declaration **declared, uint32_t *declared_count);
SPYI_FN void spyi_script_free(spyi_script_io *io);

// A tensor that the list works on: the program gives it, or a call of the list makes it.
typedef struct spyi_script_tensor {
    const char *name; // NULL: made, and nobody asks for it
    const spyi_type *type;
    spy_shape shape, strides;
    bool made, fixed_shape, fixed_strides;
} spyi_script_tensor;

typedef struct spyi_script_slot {
    uint32_t tensor; // index
    uint32_t grad;   // 0: the tensor; 1 + SPYI_GRAD_*: its gradient
    bool view;       // of that, by the next members
    const spyi_type *type;
    spy_shape shape, strides;
    int64_t offset_bytes; // from element 0
} spyi_script_slot;

SPYI_FN void spyi_script_tensors(spyi_script_io *io, spyi_script_tensor **tensors, uint32_t *count);
SPYI_FN void spyi_script_slots(spyi_script_io *io, spyi_script_slot **slots, uint32_t *count,
                               uint32_t tensor_count);
// Appends the name under which a pack has a list for this kind of device.
SPYI_FN void spyi_script_question(const spy_device *device, const char *name, spyi_text *out);

// list_load.c, for the fields: the tensor of a slot; NULL: the stream has failed.
SPYI_FN spy_tensor *spyi_loading_tensor(spyi_script_io *io, uint32_t slot);
// Returns where a call of the list puts the tensor of this slot; NULL: the stream has failed.
SPYI_FN spy_tensor **spyi_loading_made(spyi_script_io *io, uint32_t slot);
// The same for a spy_result.
SPYI_FN spy_result *spyi_loading_result(spyi_script_io *io, uint32_t slot);

#endif // SPYI_LIST_SAVED_H
