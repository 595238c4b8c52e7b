// Spells names of types as Slang code does, and splits them into parts.
#ifndef SPYI_TYPE_NAME_H
#define SPYI_TYPE_NAME_H

#include "data/type.h"

// Returns a type's name as Slang code spells it.
SPYI_FN const char *spyi_spell(const spyi_type *type);

// The parts of a type's name: "RWTensor<vector<float,3>, 2>" has the base "RWTensor" and the arguments
// "vector<float,3>" and "2". The base of an array is "".
typedef struct spyi_type_parts {
    char base[64]; // the base without its namespace
    char *arguments[3];
    uint32_t count; // the number of arguments, those beyond the third included
} spyi_type_parts;
SPYI_FN void spyi_split_type(const char *name, spyi_type_parts *parts);
SPYI_FN void spyi_free_parts(spyi_type_parts *parts);
// Returns the built-in type of that name, or `given` if that is its name, or NULL if neither fits.
SPYI_FN const spyi_type *spyi_named_type(spyi_types *types, const spyi_type *given, const char *name);

#endif // SPYI_TYPE_NAME_H
