// Makes the graph of a binding: one call, whose operands are the binding's parameters.
#include "emit/graph.h"

SPYI_FN bool spyi_single_call_make(const spyi_bound *bound, spyi_single_call *single) {
    memset(single, 0, sizeof *single);
    single->operands = (spyi_operand *)spyi_calloc(bound->param_count + 1u, sizeof *single->operands);
    if (!single->operands) return false;
    for (uint32_t p = 0; p < bound->param_count; p++) single->operands[p].index = p;
    single->call.callee = bound->signature.callee;
    single->call.spelling = bound->signature.spelling;
    single->call.result = bound->signature.result;
    single->call.operands = single->operands;
    single->call.operand_count = bound->param_count;
    single->graph.calls = &single->call;
    single->graph.call_count = 1;
    return true;
}

SPYI_FN void spyi_single_call_free(spyi_single_call *single) {
    free(single->operands);
}
