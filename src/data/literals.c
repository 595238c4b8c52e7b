// A table of kernels' string literals, found by their hashes.
#include "data/literals.h"

SPYI_FN bool spyi_literals_add(spyi_literals *literals, uint32_t hash, const char *text, size_t size) {
    if (spyi_literals_find(literals, hash)) return true;
    if (literals->count == literals->capacity) {
        uint32_t capacity = literals->capacity ? literals->capacity * 2 : 16;
        spyi_literal *items = (spyi_literal *)spyi_realloc(literals->items, capacity * sizeof *items);
        if (!items) return false;
        literals->items = items;
        literals->capacity = capacity;
    }
    char *copy = (char *)spyi_malloc(size + 1);
    if (!copy) return false;
    memcpy(copy, text, size);
    copy[size] = 0;
    literals->items[literals->count].hash = hash;
    literals->items[literals->count++].text = copy;
    return true;
}

SPYI_FN const char *spyi_literals_find(const spyi_literals *literals, uint32_t hash) {
    for (uint32_t i = 0; i < literals->count; i++)
        if (literals->items[i].hash == hash) return literals->items[i].text;
    return NULL;
}

SPYI_FN void spyi_literals_free(spyi_literals *literals) {
    for (uint32_t i = 0; i < literals->count; i++) free(literals->items[i].text);
    free(literals->items);
    memset(literals, 0, sizeof *literals);
}
