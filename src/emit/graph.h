// A graph of calls: what the element function computes. Today a call of the user's is a graph of one call; a fused graph is
// several of them, whose results feed each other.
#ifndef SPYI_GRAPH_H
#define SPYI_GRAPH_H

#include "bind/bind.h"

// One operand of a call: an argument of the whole graph, or what an earlier call of the graph has returned. A result can be an
// operand of several calls, and each sees its value: only an argument can be given to an `out` or `inout` parameter.
typedef struct spyi_operand {
    bool is_result;
    uint32_t
        index; // of the argument among the binding's parameters (spyi_bound.nodes), or of the call in the graph
} spyi_operand;

typedef struct spyi_graph_call {
    spyi_callee callee;   // of a method the first operand is the instance
    const char *spelling; // of the function, as Slang code calls it: "add", "Tool::halve", "get"
    const spyi_type *result;
    const spyi_operand *operands;
    uint32_t operand_count;
} spyi_graph_call;

typedef struct spyi_graph {
    const spyi_graph_call *calls; // in the order in which they run
    uint32_t call_count;
    uint32_t result; // index of the call that gives the binding's "_result", where the binding has one
} spyi_graph;

// The graph of one call, with the memory that it needs.
typedef struct spyi_single_call {
    spyi_graph graph;
    spyi_graph_call call;
    spyi_operand *operands;
} spyi_single_call;

// The call that `bound` was bound for. False: out of memory. spyi_single_call_free() in any case.
SPYI_FN bool spyi_single_call_make(const spyi_bound *bound, spyi_single_call *single);
SPYI_FN void spyi_single_call_free(spyi_single_call *single);

#endif // SPYI_GRAPH_H
