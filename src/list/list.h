// The inside of a command list: its operations, with all that a submission needs to repeat them.
#ifndef SPYI_LIST_LIST_H
#define SPYI_LIST_LIST_H

#include "api/list.h"
#include "call/call.h"

// One operation: work with its uses and, for a call, the plan and the variant that fill its parameters.
typedef struct spyi_list_op {
    spyi_work *work; // the list's copy; NULL means a barrier before the next operation
    const char *name;
    uint32_t first_use, use_count; // in `uses` of the list
    uint32_t depth;                // labels that are open after this operation
    bool untracked;                // as in spyi_take_uses()
    // The next members are for calls.
    spyi_plan *plan; // one reference; NULL means that the item is no call
    const spyi_variant *variant;
    size_t size;       // bytes of `work` with its parameters
    uint32_t dispatch; // index among the list's dispatches
} spyi_list_op;

// One page of memory for work and names. Pages never move.
typedef struct spyi_list_page {
    struct spyi_list_page *next;
    size_t size, used; // bytes, with this head
} spyi_list_page;

// One recorded call. It is several operations if a backward call has several passes, and none if the call has
// no elements.
typedef struct spyi_list_call {
    spyi_plan *plan; // one reference
    uint32_t first_op, op_count;
} spyi_list_call;

struct spy_command_list {
    spyi_sink sink; // first member: all that a call knows of the list
    char *label;    // may be NULL
    void (*on_record)(const spy_list_op *op, void *user_data);
    void *user_data;
    spyi_list_op *ops;
    spyi_use *uses; // each holds one reference to its resource
    spyi_list_page *pages;
    size_t op_count, op_capacity, use_count, use_capacity;
    spyi_list_call *calls;
    size_t call_count, call_capacity;
    uint32_t dispatch_count, time_count;
    uint32_t depth; // labels that are open now
    bool finished;
    uint64_t submit_count;
    spy_tensor *times; // made by spy_list_finish() if there are timestamps
    uint8_t *scratch;  // made by spy_list_finish(): room for the parameters of any dispatch
    size_t scratch_size;
    // The next members are for backends with graphs, from the second submission on.
    spyi_graph *graph;    // NULL means that the list has no graph
    spyi_use *graph_uses; // uses of all operations together (graph_use_count of them)
    uint32_t graph_use_count;
    bool graph_untracked;
    struct spyi_notes *notes; // what spy_save_list() writes (saved.h); NULL: the device records no pack
    spy_command_list *previous, *next;
};

// list.c: fails, with an error text, if the list has been finished.
SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, spyi_text *error);

// list_append.c
SPYI_FN const spyi_sink_table *spyi_list_sink_table(void); // how a list records calls
// Adds an operation: a copy of `work` (NULL: a barrier) with its uses. `name` may be NULL. After a failure
// the list is as before. *op is valid until the next addition. The caller then calls spyi_list_added(), which
// reports the operation to on_record.
SPYI_FN spy_status spyi_list_add(spy_command_list *list, const char *name, const spyi_work *work,
                                 const spyi_use *uses, uint32_t use_count, spyi_list_op **op,
                                 spyi_text *error);
SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op, spy_list_op_kind kind);
SPYI_FN void spyi_list_free_pages(spy_command_list *list);

// list_run.c
// Runs the list's operations one by one.
SPYI_FN spy_status spyi_list_run(spy_command_list *list, spyi_text *error);

// list_graph.c
// Submits the finished list, as a graph if it has or wants one.
SPYI_FN spy_status spyi_list_submit(spy_command_list *list, spyi_text *error);
SPYI_FN void spyi_list_drop_graph(spy_command_list *list);

// list_record.c: the inside of spy_list_copy() and its sisters. `name`: NULL for a pop.
SPYI_FN spy_status spyi_list_copy(spy_command_list *list, const spy_tensor *to, const spy_tensor *from,
                                  spyi_text *error);
SPYI_FN spy_status spyi_list_fill(spy_command_list *list, const spy_tensor *tensor, double value,
                                  spyi_text *error);
SPYI_FN spy_status spyi_list_write(spy_command_list *list, const spy_tensor *tensor, const void *data,
                                   size_t size_bytes, spyi_text *error);
SPYI_FN spy_status spyi_list_barrier(spy_command_list *list, spyi_text *error);
SPYI_FN spy_status spyi_list_label(spy_command_list *list, spyi_label label, const char *name,
                                   spyi_text *error);
SPYI_FN spy_status spyi_list_timestamp(spy_command_list *list, spyi_text *error);

// list.c
SPYI_FN spy_status spyi_list_finish(spy_command_list *list, spyi_text *error);
SPYI_FN void spyi_lists_attach(spy_device *device);
SPYI_FN void spyi_list_free(struct spy_command_list *list);

#endif // SPYI_LIST_LIST_H
