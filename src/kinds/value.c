// Functions of one value: its sizes, the index behind it, and its text in messages.
#include "kinds/kind.h"

SPYI_FN uint32_t spyi_value_end(const spyi_value *values, uint32_t index) {
    uint32_t end = index + 1;
    for (uint32_t i = 0; i < values[index].child_count; i++) end = spyi_value_end(values, end);
    return end;
}

SPYI_FN spy_shape spyi_value_shape(const spyi_value *value) {
    spy_shape shape;
    memset(&shape, 0, sizeof shape);
    shape.rank = value->rank;
    if (value->rank) memcpy(shape.dims, value->dims, value->rank * sizeof *value->dims);
    return shape;
}

SPYI_FN void spyi_value_text(const spyi_value *value, spyi_text *out) {
    const char *way = value->direction == SPY_DIRECTION_OUT     ? "out "
                      : value->direction == SPY_DIRECTION_INOUT ? "inout "
                                                                : "";
    spy_shape shape = spyi_value_shape(value);
    switch (value->kind) {
    case SPY_ARG_KIND_BOOL:
    case SPY_ARG_KIND_INT:
    case SPY_ARG_KIND_UINT:
    case SPY_ARG_KIND_FLOAT: spyi_text_add(out, "%s%s number", way, value->type->display); break;
    case SPY_ARG_KIND_TENSOR:
        spyi_text_add(out, "%s tensor ", value->type->display);
        spyi_shape_text(&shape, out);
        break;
    case SPY_ARG_KIND_ARRAY:
        spyi_text_add(out, "%s%s host array ", way, value->type->display);
        spyi_shape_text(&shape, out);
        break;
    case SPY_ARG_KIND_DATA: spyi_text_add(out, "%s%u bytes of host data", way, value->size); break;
    case SPY_ARG_KIND_STRUCT: spyi_text_add(out, "struct of %u fields", value->child_count); break;
    case SPY_ARG_KIND_NEW: spyi_text_add(out, "new tensor"); break;
    case SPY_ARG_KIND_PAIR: spyi_text_add(out, "value with its gradient"); break;
    case SPY_ARG_KIND_RESULT:
        spyi_text_add(out, "%sresult", value->direction == SPY_DIRECTION_INOUT ? way : "");
        break;
    case SPY_ARG_KIND_CUSTOM:
        spyi_text_add(out, "%s", value->custom->name);
        if (value->type) spyi_text_add(out, " %s", value->type->display);
        if (value->rank) spyi_text_add(out, " ");
        if (value->rank) spyi_shape_text(&shape, out);
        break;
    default: spyi_text_add(out, "nothing"); break;
    }
}
