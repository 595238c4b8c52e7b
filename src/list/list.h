// A command list inside: operations with all that repeating them takes.
#ifndef SPYI_LIST_LIST_H
#define SPYI_LIST_LIST_H

#include "api/list.h"
#include "call/call.h"

// One operation: work with its uses, and of calls what fills its parameters.
typedef struct spyi_list_op {
    spyi_work *work; // kept by the list; NULL: a barrier before what follows
    const char *name;
    uint32_t first_use, use_count; // in `uses`
    uint32_t depth;                // labels pushed and not popped behind it
    bool untracked;                // as for spyi_take_uses
    // calls
    spyi_plan *plan; // one reference; NULL: no call
    const spyi_variant *variant;
    size_t size;       // bytes of `work` and its parameters
    uint32_t dispatch; // number among the list's
} spyi_list_op;

// Memory for work and names. It never moves.
typedef struct spyi_list_page {
    struct spyi_list_page *next;
    size_t size, used; // bytes, this head's included
} spyi_list_page;

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
    spyi_use *uses; // one reference to the resource each
    spyi_list_page *pages;
    size_t op_count, op_capacity, use_count, use_capacity;
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
// Adds an operation: a copy of `work` with its uses; `work` NULL: a barrier. `name` may be NULL. All or nothing. *op is valid until
// the next addition; spyi_list_added() then tells on_record.
SPYI_FN spy_status spyi_list_add(spy_command_list *list, const char *name, const spyi_work *work,
                                 const spyi_use *uses, uint32_t use_count, spyi_list_op **op,
                                 spyi_text *error);
SPYI_FN void spyi_list_added(spy_command_list *list, const spyi_list_op *op, spy_list_op_kind kind);
SPYI_FN void spyi_list_free_pages(spy_command_list *list);

// list_run.c
// Its operations one by one.
SPYI_FN spy_status spyi_list_run(spy_command_list *list, spyi_text *error);

// list_graph.c: the finished list, submitted.
SPYI_FN spy_status spyi_list_submit(spy_command_list *list, spyi_text *error);
SPYI_FN void spyi_list_drop_graph(spy_command_list *list);

// list.c
SPYI_FN void spyi_lists_attach(spy_device *device);
SPYI_FN void spyi_list_free(struct spy_command_list *list);

#endif // SPYI_LIST_LIST_H
