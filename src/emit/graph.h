// A graph of calls, which the element function computes. Its text is written for any number of calls;
// spyi_single_call_make() makes the graph of one call, the user's.
#ifndef SPYI_GRAPH_H
#define SPYI_GRAPH_H

#include "bind/bind.h"

// One operand of a call: an argument of the graph, or the result of an earlier call of the graph. Several
// calls can have the same result as an operand, as they take its value. Only an argument can be given to an
// `out` or `inout` parameter.
typedef struct spyi_operand {
    bool is_result;
    uint32_t index; // an index into spyi_bound.nodes or spyi_graph.calls
} spyi_operand;

typedef struct spyi_graph_call {
    spyi_callee callee;   // the first operand of a method is the instance
    const char *spelling; // how Slang code names the function: "add", "Tool::halve", "get"
    const spyi_type *result;
    const spyi_operand *operands;
    uint32_t operand_count;
} spyi_graph_call;

typedef struct spyi_graph {
    const spyi_graph_call *calls; // call_count calls, in the order in which they run
    uint32_t call_count;
    uint32_t result; // the index of the call that returns the binding's "_result", if it has one
} spyi_graph;

// A graph of one call, with the memory for it.
typedef struct spyi_single_call {
    spyi_graph graph;
    spyi_graph_call call;
    spyi_operand *operands;
} spyi_single_call;

// Makes the graph of the call that `bound` was bound for. Returns false when out of memory. Call
// spyi_single_call_free() in any case.
SPYI_FN bool spyi_single_call_make(const spyi_bound *bound, spyi_single_call *single);
SPYI_FN void spyi_single_call_free(spyi_single_call *single);

#endif // SPYI_GRAPH_H
