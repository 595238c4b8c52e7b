// A command list inside: operations with all that repeating them takes, packed into three arrays.
#ifndef SPYI_LIST_LIST_H
#define SPYI_LIST_LIST_H

#include "api/list.h"
#include "call/call.h"

// One operation. Offsets count bytes in the list's `bytes`, which move while the list grows.
typedef struct spyi_list_op {
    spy_list_op_kind kind;
    uint32_t first_use, use_count; // in `uses`; copies: to, from. Fills: to
    uint32_t name;                 // offset; 0: ""
    // calls
    spyi_plan *plan; // one reference
    const spyi_variant *variant;
    spyi_dispatch launch;               // without its block, bindings and uniforms
    uint32_t block, bindings, uniforms; // offsets
    uint32_t uniform_count;
    uint32_t data, data_end; // offsets of the uniform buffers' bytes
    uint32_t dispatch;       // number among the list's
    bool untracked;
    // fills, and timestamps' slots
    bool repeats; // fills: by the pattern; else the second use is copied
    uint32_t pattern;
} spyi_list_op;

// One call as it was recorded: several dispatches if it is a backward one, none if it has no elements.
typedef struct spyi_list_call {
    spyi_plan *plan; // one reference
    uint32_t first_op, op_count;
} spyi_list_call;

struct spy_command_list {
    spyi_sink sink; // first: what a call knows of it
    char *label;    // or NULL
    void (*on_record)(const spy_list_op *op, void *user_data);
    void *user_data;
    spyi_list_op *ops;
    spyi_use *uses; // one storage reference each
    uint8_t *bytes; // blocks, bindings, names; byte 0 is the empty name
    size_t op_count, op_capacity, use_count, use_capacity, byte_count, byte_capacity;
    spyi_list_call *calls;
    size_t call_count, call_capacity;
    uint32_t dispatch_count, time_count;
    uint32_t depth; // labels pushed and not popped
    bool finished;
    uint64_t submit_count;
    spy_tensor *times; // made by finish when there are timestamps
    uint8_t *scratch;  // made by finish: room for the parameters of any one dispatch
    size_t scratch_size;
    // on devices with graphs, from the second submission on
    spyi_graph *graph;    // NULL: none
    spyi_use *graph_uses; // of all operations, as many as use_count has room for
    uint32_t graph_use_count;
    bool graph_untracked;
    spy_command_list *previous, *next;
};

// list.c: nothing more can be recorded once the list has been finished; else an error text.
SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, spyi_text *error);

// list_append.c
SPYI_FN const spyi_sink_table *spyi_list_sink_table(void); // how calls are recorded
SPYI_FN const char *spyi_list_op_name(const spy_command_list *list, const spyi_list_op *op);
// Adds an operation with its uses; `name` may be NULL, `extra` bytes (16-byte aligned) begin at *extra_at. All or nothing.
// The pointers are valid until the next addition; spyi_list_added() then tells on_record.
SPYI_FN spy_status spyi_list_add(spy_command_list *list, spy_list_op_kind kind, const char *name,
                                 const spyi_use *uses, uint32_t use_count, size_t extra, uint32_t *extra_at,
                                 spyi_list_op **op, spyi_text *error);
SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op);

// list_run.c
// A dispatch as it is repeated; it points into the list's bytes.
SPYI_FN void spyi_list_get_dispatch(const spy_command_list *list, const spyi_list_op *op,
                                    spyi_dispatch *launch);
// Its operations one by one.
SPYI_FN spy_status spyi_list_run(spy_command_list *list, spyi_text *error);

// list_graph.c: the finished list, submitted.
SPYI_FN spy_status spyi_list_submit(spy_command_list *list, spyi_text *error);
SPYI_FN void spyi_list_drop_graph(spy_command_list *list);

// list.c
SPYI_FN void spyi_lists_attach(spy_device *device);
SPYI_FN void spyi_list_free(struct spy_command_list *list);

#endif // SPYI_LIST_LIST_H
