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

// An argument for a parameter that the system fills.
SPYI_FN spy_arg spyi_system_arg(const char *name, spyi_system system);

#endif // SPYI_KINDS_H
