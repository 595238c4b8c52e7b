// Repairs, in CUDA text, the indices of values that a backward derivative saves in nested loops: reverses
// them where Slang has them in the wrong order. compiler/target_spirv_saved.c describes the fault.
//
// A value is saved as NAME[_pc_1][_pc_0] = ..., where _pc_0 and _pc_1 are loop counters. Each NAME ends in a
// number of its own.
#include "cuda/internal.h"

typedef struct spyi_saved_group {
    char *from;  // the position of the "[" of the index
    size_t size; // the number of bytes of the index with both brackets
} spyi_saved_group;

// Finds the indices at `at`, "[..][..]", and returns their number.
static uint32_t spyi_saved_groups(char *at, spyi_saved_group out[SPYI_MOST_INDICES]) {
    uint32_t count = 0;
    while (*at == '[' && count < SPYI_MOST_INDICES) {
        int open = 0;
        char *end = at;
        do {
            open += (*end == '[') - (*end == ']');
            end++;
        } while (open && *end && *end != '\n');
        if (open) return 0;
        out[count].from = at;
        out[count++].size = (size_t)(end - at);
        at = end;
    }
    return count;
}

// Returns where the text before `at` last sets the counter of an index such as "[_pc_1]" to 0; NULL when the
// index is no counter. Slang may reuse a variable as counter that had another purpose, with its old name.
static const char *spyi_saved_text_begin(const char *body, const spyi_saved_group *group, const char *at) {
    char begin[80];
    const char *last = NULL;
    if (group->size > 50) return NULL;
    for (const char *c = group->from + 1; c < group->from + group->size - 1; c++)
        if (!spyi_is_word(*c)) return NULL;
    snprintf(begin, sizeof begin, "%.*s = int(0);", (int)(group->size - 2), group->from + 1);
    for (const char *c = strstr(body, begin); c && c < at; c = strstr(c + 1, begin))
        if (c == body || !spyi_is_word(c[-1])) last = c;
    return last;
}

static void spyi_saved_turn_text(const spyi_saved_group *groups, uint32_t depth) {
    char *from = groups[0].from;
    size_t size = (size_t)(groups[depth - 1].from + groups[depth - 1].size - from), at = 0;
    char *copy = (char *)spyi_malloc(size);
    if (!copy) return;
    for (uint32_t i = depth; i-- > 0; at += groups[i].size) memcpy(copy + at, groups[i].from, groups[i].size);
    memcpy(from, copy, size);
    free(copy);
}

// Reverses the first `depth` indices behind a name, everywhere in the text; with `turn` false it only checks.
// Returns false when the name has fewer indices somewhere.
static bool spyi_saved_turn_name(char *body, const char *name, size_t size, uint32_t depth, bool turn) {
    spyi_saved_group groups[SPYI_MOST_INDICES];
    char text[64];
    snprintf(text, sizeof text, "%.*s[", (int)size, name);
    for (char *c = strstr(body, text); c; c = strstr(c + 1, text)) {
        if (c != body && spyi_is_word(c[-1])) continue;
        if (spyi_saved_groups(c + size, groups) < depth) return false;
        if (turn) spyi_saved_turn_text(groups, depth);
    }
    return true;
}

bool spyi_cuda_order_saved(char *body) {
    static const char counter[] = "[_pc_";
    spyi_text done = { NULL, 0, 0 }; // lists the names that are done, each as " NAME "
    bool clear = true;
    for (char *c = strstr(body, counter); c && clear; c = strstr(c + 1, counter)) {
        spyi_saved_group groups[SPYI_MOST_INDICES];
        uint32_t depth = 0, wrong = 0, right = 0, count;
        const char *before = NULL;
        char *name = c, mark[64];
        char *first = c; // `first` is the position of the first index
        for (int open = 0; first > body && first[-1] != '\n' && (open || first[-1] == ']'); first--)
            open += (first[-1] == ']') - (first[-1] == '[');
        name = first;
        while (name > body && spyi_is_word(name[-1])) name--;
        count = spyi_saved_groups(first, groups);
        if (name == first || first - name > 48 || count < 2) continue;
        if (strncmp(groups[count - 1].from + groups[count - 1].size, " = ", 3)) continue;
        for (; depth < count; depth++) {
            const char *begin = spyi_saved_text_begin(body, &groups[depth], name);
            if (!begin) break;
            wrong += before && before > begin;
            right += before && before < begin;
            before = begin;
        }
        snprintf(mark, sizeof mark, " %.*s ", (int)(first - name), name);
        if (strstr(spyi_text_str(&done), mark)) continue;
        spyi_text_add(&done, "%s", mark);
        if (depth < count || (wrong && right)) clear = false;
        else if (wrong)
            clear = spyi_saved_turn_name(body, name, (size_t)(first - name), depth, false) &&
                    spyi_saved_turn_name(body, name, (size_t)(first - name), depth, true);
    }
    spyi_text_free(&done);
    return clear;
}
