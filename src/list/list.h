// The inside of a command list: its operations, with all data that a submission needs to repeat them.
#ifndef SPYI_LIST_LIST_H
#define SPYI_LIST_LIST_H

#include "api/list.h"
#include "call/call.h"

// One operation: work with its uses and, for a call, the plan and the variant that fill its parameters.
typedef struct spyi_list_op {
    spyi_work *work; // the list's copy; NULL means a barrier before the next operation
    const char *name;
    uint32_t first_use, use_count; // the operation's uses in `uses` of the list
    uint32_t depth;                // the number of labels that are open after this operation
    bool untracked;                // the same as the parameter of spyi_take_uses()
    // These members are for calls.
    spyi_plan *plan; // the operation holds one reference; NULL means that it belongs to no call
    const spyi_variant *variant;
    size_t size;       // the bytes of `work` with its parameters
    uint32_t dispatch; // the index among the list's dispatches
} spyi_list_op;

// One page of memory for work and names. Pages never move.
typedef struct spyi_list_page {
    struct spyi_list_page *next;
    size_t size, used; // both count bytes, with the head of the page
} spyi_list_page;

// One recorded call. It is several operations if a backward call has several passes, and none if the call has
// no elements.
typedef struct spyi_list_call {
    spyi_plan *plan; // the call holds one reference
    uint32_t first_op, op_count;
} spyi_list_call;

struct spy_command_list {
    spyi_sink sink; // must be the first member; a call knows only this of the list
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
    uint32_t depth; // the number of labels that are open now
    bool finished;
    uint64_t submit_count;
    spy_tensor *times; // spy_list_finish() makes this tensor if there are timestamps
    uint8_t *scratch;  // spy_list_finish() makes this block, with room for the parameters of any dispatch
    size_t scratch_size;
    // These members are for backends with graphs, from the second submission on.
    spyi_graph *graph;    // NULL means that the list has no graph
    spyi_use *graph_uses; // the uses of all operations together (graph_use_count of them)
    uint32_t graph_use_count;
    bool graph_untracked;
    struct spyi_notes *notes; // the notes that spy_save_list() writes (saved.h); NULL means that the device
                              // records no pack
    spy_command_list *previous, *next;
};

// Fails, with an error text, if the list has been finished (list.c).
SPYI_FN spy_status spyi_list_check_open(const spy_command_list *list, spyi_text *error);

// list_append.c
SPYI_FN const spyi_sink_table *spyi_list_sink_table(void); // returns the functions by which a list records
                                                           // calls
// Adds an operation: a copy of `work` with its uses, or a barrier if `work` is NULL. `name` may be NULL.
// After a failure the list is unchanged. *op is valid until the next addition. The caller then calls
// spyi_list_added(), which reports the operation to on_record.
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

// These functions do the work of spy_list_copy() and similar functions (list_record.c). `name` is NULL for a
// pop.
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
