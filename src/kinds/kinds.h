// What the kinds of values share. A kind is a file of this room: a table of functions (spyi_value_kind in bind/bind.h) and
// what makes its arguments.
#ifndef SPYI_KINDS_H
#define SPYI_KINDS_H

#include "api/generator.h"
#include "emit/emit.h"

// Components that a parameter takes of a generator: 1 of a number, N of a vector or array of numbers; 0: it takes none.
SPYI_FN uint32_t spyi_kind_components(const spyi_type *type);
// `array`, an expression of as many `scalar`s, as a value of `type`. `reverse`: a vector takes the last one first.
SPYI_FN void spyi_kind_convert(const spyi_type *type, spy_dtype scalar, const char *array, bool reverse,
                               spyi_text *out);
// "call_id<2>(element, shape)": the usual expression of a coordinate, converted.
SPYI_FN void spyi_kind_call(const spyi_leaf *leaf, spy_dtype scalar, bool reverse, spyi_text *out,
                            const char *format, ...) SPYI_PRINTF(5, 6);

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
// The kind that binds a tensor to "StructuredBuffer" and its sisters; NULL: no such name.
SPYI_FN const spyi_value_kind *spyi_buffer_kind_of(const char *base);
SPYI_FN bool spyi_is_typed_buffer(const char *base);
// The same for "TensorView" and "DiffTensorView".
SPYI_FN const spyi_value_kind *spyi_view_kind_of(const char *base);
// An argument for a parameter that the system fills.
SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system);

#endif // SPYI_KINDS_H
