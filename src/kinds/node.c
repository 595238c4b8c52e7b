// A value of a graph as an argument (api/fuse.h). Only the functions that record graphs take it: a call that
// gets one says that the value has left its graph.
#include "api/fuse.h"
#include "kinds/internal.h"

static bool spyi_node_describe(const spy_arg *arg, spyi_value *value, const char **problem) {
    (void)arg;
    (void)value;
    *problem =
        "it is a traced value, which exists only while its function is fused; a call takes numbers, arrays "
        "and tensors";
    return false;
}

static const spyi_kind_build spyi_node_build = { NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL };
static const spyi_kind_run spyi_node_run = {
    0, SPYI_FIELD_KIND, SPYI_AGAIN_NEVER, spyi_node_describe, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
};
static const spyi_value_kind spyi_node_kind = { "traced value", &spyi_node_build, &spyi_node_run };

SPYI_FN const spyi_value_kind *spyi_node_kind_of(void) {
    return &spyi_node_kind;
}

spy_arg spy_arg_node(const char *name, spy_node node) {
    spy_arg arg = spyi_custom_arg(name, &spyi_node_kind);
    arg.dims[0] = node.graph;
    arg.dims[1] = node.index;
    return arg;
}
