// String literals of kernels, by the hashes that the kernels have of them.
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

SPYI_FN bool spyi_literals_add(spyi_literals *literals, uint32_t hash, const char *text,
                               size_t size); // once each; false: out of memory
SPYI_FN const char *spyi_literals_find(const spyi_literals *literals, uint32_t hash); // NULL: unknown
SPYI_FN void spyi_literals_free(spyi_literals *literals);

#endif // SPYI_LITERALS_H
