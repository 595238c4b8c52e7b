// Finds shader parameters by their path: "params.lights[2].color" is an input of a kernel or module, or a
// part of an input's plain data.
#include "bind/inputs.h"

// Most elements of an unsized array; a struct argument has the same limit of fields.
#define SPYI_MOST_ELEMENTS_GIVEN 4096u

// Follows one step of the path (.field or [index]) into plain data. Returns false if there is no such part.
static bool spyi_step_into(spyi_found *at, const char **path) {
    const spyi_type *type = at->type;
    if (**path == '.' && type->kind == SPYI_TYPE_STRUCT) {
        size_t length = strcspn(*path + 1, ".[");
        for (uint32_t f = 0; f < type->field_count; f++) {
            const spyi_field *field = &type->fields[f];
            if (strlen(field->name) != length || memcmp(field->name, *path + 1, length) != 0) continue;
            at->type = field->type;
            at->offset += (uint32_t)field->device_offset;
            *path += 1 + length;
            return true;
        }
        return false;
    }
    if (**path == '.' && type->kind == SPYI_TYPE_VECTOR && (*path)[1] && !(*path)[2]) {
        static const char names[] = "xyzw";
        const char *name = strchr(names, (*path)[1]);
        if (!name || name - names >= (ptrdiff_t)type->columns) return false;
        at->offset += (uint32_t)((size_t)(name - names) * spyi_type_device_stride(type->element));
        at->type = type->element;
        *path += 2;
        return true;
    }
    int64_t count = type->kind == SPYI_TYPE_ARRAY    ? type->count
                    : type->kind == SPYI_TYPE_MATRIX ? (int64_t)type->rows
                    : type->kind == SPYI_TYPE_VECTOR ? (int64_t)type->columns
                                                     : 0;
    char *end = NULL;
    if (**path != '[' || (*path)[1] < '0' || (*path)[1] > '9') return false;
    long long index = strtoll(*path + 1, &end, 10);
    if (*end != ']' || index >= count) return false;
    at->type = type->element;
    at->offset += (uint32_t)((size_t)index * spyi_type_device_stride(type->element));
    *path = end + 1;
    return true;
}

// Goes from an unsized array T[] to one of its elements. The input that follows T[] in the list stands for
// all elements.
static bool spyi_step_into_unsized(spyi_found *at, const char **path) {
    char *end = NULL;
    if (!spyi_type_is_unsized(at->type) || at->input->kind != SPYI_INPUT_DATA || **path != '[' ||
        (*path)[1] < '0' || (*path)[1] > '9')
        return false;
    unsigned long index = strtoul(*path + 1, &end, 10);
    if (*end != ']' || index > SPYI_MOST_ELEMENTS_GIVEN) return false;
    at->input++;
    at->type = at->input->type;
    at->offset = at->input->offset;
    at->element = (uint32_t)index;
    at->part = true;
    *path = end + 1;
    return true;
}

SPYI_FN bool spyi_find_input(const spyi_inputs *inputs, const char *path, bool parameter, spyi_found *found) {
    for (uint32_t i = 0; i < inputs->count; i++) {
        const spyi_input *input = &inputs->items[i];
        size_t length = strlen(input->path);
        const char *rest = path + length;
        if (input->parameter != parameter || strncmp(input->path, path, length) != 0) continue;
        found->input = input;
        found->type = input->type;
        found->offset = input->offset;
        found->element = 0;
        found->part = false;
        if (spyi_step_into_unsized(found, &rest) && !*rest) return true;
        while (*rest && input->kind == SPYI_INPUT_DATA && spyi_step_into(found, &rest)) {}
        if (!*rest) return true;
    }
    return false;
}

SPYI_FN bool spyi_is_parted(const spyi_type *type) {
    return type->kind == SPYI_TYPE_OTHER && type->field_count && !spyi_type_is_unsized(type);
}

// >>errors

#define SPYI_NEAR_INPUTS 3

// Adds up to three paths of inputs that resemble a wrong path; without any, adds the fields of the input with
// which the path begins.
static void spyi_near_inputs(const spyi_inputs *inputs, const char *path, spyi_text *out) {
    const char *names[SPYI_NEAR_INPUTS];
    uint32_t distances[SPYI_NEAR_INPUTS], count = 0, globals = 0, most = (uint32_t)strlen(path) / 3;
    spyi_text fields = { NULL, 0, 0 };
    if (most < 2) most = 2;
    for (uint32_t i = 0; i < inputs->count; i++) {
        const spyi_input *input = &inputs->items[i];
        size_t length = strlen(input->path);
        if (input->parameter || input->elements) continue;
        globals++;
        if (strncmp(input->path, path, length) == 0 && (path[length] == '.' || path[length] == '[') &&
            input->type->field_count) {
            spyi_text_clear(&fields); // the inputs list a parent before its parts, so earlier fields are not
                                      // of the last parent
            spyi_text_add(&fields, "; '%s' is a %s with", input->path, input->type->display);
            for (uint32_t f = 0; f < input->type->field_count; f++)
                spyi_text_add(&fields, "%s '%s'", f ? "," : "", input->type->fields[f].name);
            continue;
        }
        uint32_t distance = spyi_edit_distance(path, input->path), at = count;
        if (distance > most) continue;
        while (at > 0 && distances[at - 1] > distance) at--;
        if (at == SPYI_NEAR_INPUTS) continue;
        if (count < SPYI_NEAR_INPUTS) count++;
        for (uint32_t k = count - 1; k > at; k--) {
            names[k] = names[k - 1];
            distances[k] = distances[k - 1];
        }
        names[at] = input->path;
        distances[at] = distance;
    }
    for (uint32_t i = 0; i < count; i++) spyi_text_add(out, "%s'%s'", i ? ", " : ", did you mean ", names[i]);
    if (count) spyi_text_add(out, "?");
    else if (fields.size) spyi_text_add(out, "%s", fields.data);
    else if (!globals) spyi_text_add(out, ": the modules have none");
    spyi_text_free(&fields);
}

SPYI_FN spy_status spyi_no_input(const spyi_inputs *inputs, const char *path, const char *shown,
                                 spyi_text *error) {
    spyi_text_add(error, "there is no global shader parameter '%s'", shown);
    spyi_near_inputs(inputs, path, error);
    return SPY_ERROR_NOT_FOUND;
}
