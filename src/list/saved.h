// Lists in packs (spy_save_list, spy_load_list). A saved list holds what the program asked for, which is the
// functions that were called and their arguments, and not the dispatches. spy_load_list() records the same
// calls again with the pack's kernels, through the same checks as any recording. So tensors may have other
// sizes, and bytes that differ from the written ones give errors. The recording keeps the bytes in spyi_notes
// as it goes on, because functions and arguments are gone later; only devices that record a pack have notes.
// The bytes are a head (format, label), the tensors that the list works on, the slots, then modules,
// functions and operations, each of which is a count and its records. An operation refers to memory by a
// slot: a tensor, its gradient, or a view of one of these. Types stand in the tensors and slots alone.
#ifndef SPYI_LIST_SAVED_H
#define SPYI_LIST_SAVED_H

#include "data/stream.h"
#include "list/list.h"

// Raise this number with every change of the written bytes.
#define SPYI_SCRIPT_FORMAT 1u
#define SPYI_SCRIPT_NONE UINT32_MAX // means that there is no slot
enum {
    SPYI_SCRIPT_MOST = 65536
}; // the largest number of tensors, slots, modules, functions, or items of a
    // list

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

// The memory that an operation uses, in the state that it had when the operation was recorded.
typedef struct spyi_noted_slot {
    spyi_storage *storage; // the slot holds one reference
    const spyi_type *type;
    spy_shape shape, strides;
    uint64_t offset_bytes, begin_bytes, end_bytes;
    bool made;  // the operation is a call that makes the tensor
    bool fixed; // an operation fits only the recorded sizes
    char *use;  // the operation that used the memory first, for messages
} spyi_noted_slot;

typedef struct spyi_notes {
    spyi_text modules, functions, ops; // the records of modules, functions and operations
    uint32_t module_count, function_count, op_count;
    // The identities of the records in their order: serials of units; ids of functions, with their modules'
    // indices.
    uint64_t *module_ids, *function_ids;
    spyi_noted_slot *slots;
    uint32_t slot_count, slot_capacity;
    spyi_text refusal; // the reason why the list cannot be saved; empty means that it can
} spyi_notes;

// These functions of list_note.c do nothing unless the list has notes. They never fail: an operation that
// cannot be saved, or lack of memory, is noted as a refusal that spy_save_list() reports.
SPYI_FN void spyi_notes_make(spy_command_list *list);
SPYI_FN void spyi_notes_free(spy_command_list *list);
SPYI_FN void spyi_note_call(spy_command_list *list, const spyi_list_call *call, const spyi_values *values);
// `tensor`, `from`, `name` and `data` belong to the operation; NULL and 0 mean that it has none.
SPYI_FN void spyi_note_op(spy_command_list *list, spyi_script_op op, const spy_tensor *tensor,
                          const spy_tensor *from, const char *name, double value, const void *data,
                          size_t size_bytes);
// Returns whether the slot is the tensor's memory, elements and layout.
SPYI_FN bool spyi_noted_slot_is(const spyi_noted_slot *slot, const spy_tensor *tensor);
SPYI_FN void spyi_note_refusal(spy_command_list *list, const char *what);
// Returns the slot of a tensor's memory. `use` names the operation in messages, and may be NULL when the slot
// is known.
SPYI_FN uint32_t spyi_note_slot(spyi_notes *notes, const spy_tensor *tensor, bool made, bool fixed,
                                const char *use);

// >>the fields, in one order for writing and reading

typedef struct spyi_loading spyi_loading; // defined in list_load.c

typedef struct spyi_script_io {
    spyi_stream r;
    // These members are used for writing.
    spyi_notes *notes;
    bool fixed;      // the slots of this operation fit only the recorded sizes
    const char *use; // names this operation in messages
    // These members are used for reading.
    spyi_loading *loading;
    struct spyi_script_block *blocks; // a list of memory that lives until spyi_script_free()
} spyi_script_io;

// list_fields.c
SPYI_FN void *spyi_script_take(spyi_script_io *io,
                               size_t size); // returns zeroed memory when reading; NULL means that the stream
                                             // has failed
SPYI_FN void spyi_script_text(spyi_script_io *io, const char **text); // writes or reads a text; NULL stays
                                                                      // NULL
SPYI_FN void spyi_script_shape(spyi_script_io *io, spy_shape *shape);
// Writes or reads a list's length. When reading, returns memory for the items, each of which takes at least
// `least` bytes of the stream; NULL and 0 items mean that the stream has failed.
SPYI_FN void *spyi_script_list(spyi_script_io *io, uint32_t *count, size_t item_size, size_t least);
SPYI_FN void spyi_script_args(spyi_script_io *io, spy_args *args);
SPYI_FN void spyi_script_options(spyi_script_io *io, spy_call_options *options);
// Writes or reads a module. `link` has the indices of the modules that it links, desc->link_count of them.
SPYI_FN void spyi_script_module(spyi_script_io *io, spy_module_desc *desc, uint32_t **link);
SPYI_FN void spyi_script_function(spyi_script_io *io, uint32_t *module, const char **name,
                                  spyi_declaration **declared, uint32_t *declared_count);
SPYI_FN void spyi_script_free(spyi_script_io *io);

// A tensor that the list works on: the program gives it, or a call of the list makes it.
typedef struct spyi_script_tensor {
    const char *name; // NULL means that a call makes the tensor and nobody asks for it
    const spyi_type *type;
    spy_shape shape, strides;
    bool made, fixed_shape, fixed_strides;
} spyi_script_tensor;

typedef struct spyi_script_slot {
    uint32_t tensor; // the index of the tensor
    uint32_t grad;   // 0 means the tensor itself; 1 + SPYI_GRAD_* means that gradient of it
    bool view;       // the slot is a view, which the members below describe
    const spyi_type *type;
    spy_shape shape, strides;
    int64_t offset_bytes; // the bytes from element 0 of the tensor
} spyi_script_slot;

SPYI_FN void spyi_script_tensors(spyi_script_io *io, spyi_script_tensor **tensors, uint32_t *count);
SPYI_FN void spyi_script_slots(spyi_script_io *io, spyi_script_slot **slots, uint32_t *count,
                               uint32_t tensor_count);
// Appends the name under which a pack has a list for this kind of device.
SPYI_FN void spyi_script_question(const spy_device *device, const char *name, spyi_text *out);

// Returns the tensor of a slot, for the functions that read fields (list_load.c). NULL means that the stream
// has failed.
SPYI_FN spy_tensor *spyi_loading_tensor(spyi_script_io *io, uint32_t slot);
// Returns where a call of the list puts the tensor of this slot; NULL means that the stream has failed.
SPYI_FN spy_tensor **spyi_loading_made(spyi_script_io *io, uint32_t slot);
// Returns the spy_result in which a call of the list puts the tensor of this slot; NULL means that the stream
// has failed.
SPYI_FN spy_result *spyi_loading_result(spyi_script_io *io, uint32_t slot);

#endif // SPYI_LIST_SAVED_H
