// A table of kernels' string literals. Kernels name a literal by its hash, by which its text is found here.
#ifndef SPYI_LITERALS_H
#define SPYI_LITERALS_H

#include "base/base.h"

typedef struct spyi_literal {
    uint32_t hash;
    char *text;
} spyi_literal;

typedef struct spyi_literals {
    spyi_literal *items;
    uint32_t count, capacity;
} spyi_literals;

// Adds a copy of `size` bytes of `text`, unless the hash is known. Returns false when out of memory.
SPYI_FN bool spyi_literals_add(spyi_literals *literals, uint32_t hash, const char *text, size_t size);
// returns NULL when the hash is unknown
SPYI_FN const char *spyi_literals_find(const spyi_literals *literals, uint32_t hash);
SPYI_FN void spyi_literals_free(spyi_literals *literals);

#endif // SPYI_LITERALS_H
