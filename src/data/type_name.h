// Names of types: as Slang code spells them, and taken apart.
#ifndef SPYI_TYPE_NAME_H
#define SPYI_TYPE_NAME_H

#include "data/type.h"

// A type as Slang code spells it.
SPYI_FN const char *spyi_spell(const spyi_type *type);

// A type's name in parts: "RWTensor<vector<float,3>, 2>" is "RWTensor", "vector<float,3>" and "2". Arrays have no base.
typedef struct spyi_type_parts {
    char base[64]; // without its namespace
    char *arguments[2];
    uint32_t count; // of arguments, further ones included
} spyi_type_parts;
SPYI_FN void spyi_split_type(const char *name, spyi_type_parts *parts);
SPYI_FN void spyi_free_parts(spyi_type_parts *parts);
// The type of that name: by what it means, or `given` when it is called so; NULL: neither.
SPYI_FN const spyi_type *spyi_named_type(spyi_types *types, const spyi_type *given, const char *name);

#endif // SPYI_TYPE_NAME_H
