// Checks a call's globals before there is a kernel, by the names and types that reflection knows. Which
// globals a kernel uses is known only from its code.
#include "bind/inputs.h"

SPYI_FN spy_status spyi_globals_check(spy_function *function, const spyi_values *values, spyi_text *error) {
    const spyi_inputs *inputs = values->global_count ? spyi_unit_inputs(function->module->unit) : NULL;
    bool more = values->options && values->options->prelude; // a prelude may declare further globals
    spyi_input_leaves leaves = { NULL, 0, 0 };
    spy_status status = inputs ? spyi_bind_globals(function, values, inputs, more, &leaves, error) : SPY_OK;
    spyi_input_leaves_free(&leaves);
    return status;
}

// Returns whether some value is for the input, for a part of it, or for a struct that contains it.
static bool spyi_input_has_value(const spyi_input *input, const spyi_values *values) {
    uint32_t end = spyi_values_given(values);
    for (uint32_t i = values->count; i < end; i = spyi_value_end(values->items, i)) {
        const char *path = values->items[i].name;
        size_t length = strlen(path), other = strlen(input->path);
        size_t common = length < other ? length : other;
        char next = length < other ? input->path[length] : path[other];
        if (memcmp(path, input->path, common) == 0 && (next == 0 || next == '.' || next == '[')) return true;
    }
    return false;
}

SPYI_FN void spyi_globals_text(spy_function *function, const spyi_values *values, spyi_text *out) {
    const spyi_inputs *inputs = spyi_unit_inputs(function->module->unit);
    uint32_t end = spyi_values_given(values);
    for (uint32_t i = values->count; i < end; i = spyi_value_end(values->items, i)) {
        spyi_text value = { NULL, 0, 0 };
        spyi_found found;
        bool known = inputs && spyi_find_input(inputs, values->items[i].name, false, &found);
        spyi_value_text(&values->items[i], &value);
        spyi_text_add(out, "  %-20s global %-12s <- %s\n", values->items[i].name,
                      known ? found.type->display : "", spyi_text_str(&value));
        spyi_text_free(&value);
    }
    for (uint32_t i = 0; inputs && i < inputs->count; i++) {
        const spyi_input *input = &inputs->items[i];
        bool parted = input->kind == SPYI_INPUT_GROUP || input->elements || spyi_is_parted(input->type);
        if (!parted && !spyi_input_has_value(input, values))
            spyi_text_add(out, "  %-20s global %-12s %s\n", input->path, input->type->display,
                          input->kind == SPYI_INPUT_FOREIGN ? "cannot be given" : "not given");
    }
}
