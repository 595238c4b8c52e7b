// Our type model: what a Slang type is to us, independent of any compiler session. Types are interned in the device's
// table: equal types are equal pointers, and live as long as the device.
#ifndef SPYI_TYPE_H
#define SPYI_TYPE_H

#include "backend/target.h"

typedef enum spyi_type_kind {
    SPYI_TYPE_VOID,
    SPYI_TYPE_SCALAR,
    SPYI_TYPE_VECTOR, // scalar x columns
    SPYI_TYPE_MATRIX, // scalar x rows x columns, row-major
    SPYI_TYPE_ARRAY,  // element x count
    SPYI_TYPE_STRUCT, // fields
    SPYI_TYPE_OTHER // anything that cannot lie in memory as plain data: interfaces, resources, open generics
} spyi_type_kind;

typedef struct spyi_type spyi_type;

typedef struct spyi_field {
    const char *name;
    const spyi_type *type;
    size_t host_offset;   // C's layout
    size_t device_offset; // reflected for the target
} spyi_field;

struct spyi_type {
    spyi_type_kind kind;
    uint32_t id; // unique in the table, from 1
    const char *
        name; // as Slang accepts it: "float", "vector<float,3>", "matrix<float,4,4>", "Array<float,3>", "ns.Foo<3>"
    const char *display;      // as people write it: "float3", "float4x4", "float[3]", "Foo<3>"
    spy_dtype scalar;         // of scalars, vectors and matrices
    uint32_t rows;            // matrix: rows; else 1
    uint32_t columns;         // vector: components; matrix: columns; else 1
    const spyi_type *element; // array: element; matrix: its row vector; vector: its scalar
    int64_t count;            // array: elements
    const spyi_field *fields;
    uint32_t field_count;
    size_t host_size, host_align; // C's layout, bool 1 byte
    size_t device_size,
        device_align; // scalar layout of the target; neighbours in an array are align(size, align) apart
    bool same_layout; // host and device bytes agree
};

typedef struct spyi_types spyi_types;
SPYI_FN spyi_types *spyi_types_create(spyi_target target);
SPYI_FN void spyi_types_destroy(spyi_types *types);
SPYI_FN const spyi_rules *spyi_types_rules(const spyi_types *types); // of its target

// Threads: any (one lock inside). Never NULL for valid arguments.
SPYI_FN const spyi_type *spyi_type_void(spyi_types *types);
SPYI_FN const spyi_type *spyi_type_scalar(spyi_types *types, spy_dtype scalar);
SPYI_FN const spyi_type *spyi_type_vector(spyi_types *types, spy_dtype scalar, uint32_t columns);
SPYI_FN const spyi_type *spyi_type_matrix(spyi_types *types, spy_dtype scalar, uint32_t rows,
                                          uint32_t columns);
SPYI_FN const spyi_type *spyi_type_array(spyi_types *types, const spyi_type *element, int64_t count);
// Fields' names, types and device offsets are given; host offsets are computed. A struct of the same name and the same
// fields is the same type; one of the same name and other fields is another type.
SPYI_FN const spyi_type *spyi_type_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                          uint32_t count, size_t device_size, size_t device_align);
// The struct of the table with that name, these fields and this layout; NULL: there is none yet. *other: there is one of that name
// that differs.
SPYI_FN const spyi_type *spyi_type_find_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                               uint32_t count, size_t device_size, size_t device_align,
                                               bool *other);
// Of its name and layout, with those of all that it is made of: the same in every process.
SPYI_FN uint64_t spyi_type_hash(const spyi_type *type);
// An enum: a scalar with a name of its own, stored as `scalar`. Slang converts it to int by itself, from int by Name(x).
SPYI_FN const spyi_type *spyi_type_enum(spyi_types *types, const char *name, spy_dtype scalar);
// What a tensor of "void" holds: bytes of no type. Scalars of uint8 on the host; no element is loaded from it in a kernel.
SPYI_FN const spyi_type *spyi_type_memory(spyi_types *types);
SPYI_FN bool spyi_type_is_memory(const spyi_type *type);
SPYI_FN const spyi_type *spyi_type_other(spyi_types *types, const char *name);
// A struct that cannot lie in memory, because of a pointer or resource in it: of kind OTHER, but with fields to be given.
SPYI_FN const spyi_type *spyi_type_opaque(spyi_types *types, const char *name, const spyi_field *fields,
                                          uint32_t count);
// DifferentialPair<T>. Reflection lists no fields of it; binding gives it "p", the value, and "d", its gradient.
SPYI_FN bool spyi_type_is_pair(const spyi_type *type);
// Whether it is one, or a struct or an array with one inside.
SPYI_FN bool spyi_type_holds_pair(const spyi_type *type);
// An array of buffers, or of what holds a DifferentialPair, which is given like such a struct: with fields "[0]", "[1]"
// and so on.
SPYI_FN const spyi_type *spyi_type_bound_array(spyi_types *types, const char *name, const spyi_type *element,
                                               uint32_t count);
SPYI_FN bool spyi_type_is_bound_array(const spyi_type *type); // of buffers
// The same without a size, of what the caller gives: with one field "[]", which stands for all. The elements are buffers, or
// ConstantBuffers, which then are types without parts, as each is given by a tensor.
SPYI_FN const spyi_type *spyi_type_unsized(spyi_types *types, const char *name, const spyi_type *element);
SPYI_FN bool spyi_type_is_unsized(const spyi_type *type);
#define SPYI_UNSIZED_REFUSED                                                                                 \
    "; an array without a size needs descriptor arrays of run-time size, which this backend has not (CUDA "  \
    "does without): give it a size"
// ConstantBuffer<T> or ParameterBlock<T>: of kind OTHER, with T as its element.
SPYI_FN const spyi_type *spyi_type_holder(spyi_types *types, const char *name, const spyi_type *element);
// "float3", "half4x4", "uint8_t", "vector<float,3>", "float[3][2]" (C's order: 3 arrays of 2): built-in types without the
// compiler. NULL when the name is none of these.
SPYI_FN const spyi_type *spyi_type_parse(spyi_types *types, const char *name);

SPYI_FN size_t spyi_type_device_stride(const spyi_type *type); // distance of array neighbours on the device
SPYI_FN size_t spyi_type_host_stride(const spyi_type *type);
// Copy `count` elements between C's layout and the device's (bool widths, struct offsets). Neighbours are stride apart.
SPYI_FN void spyi_type_to_device(const spyi_type *type, void *device, const void *host, size_t count);
SPYI_FN void spyi_type_to_host(const spyi_type *type, void *host, const void *device, size_t count);

// Scalars of one dtype to another in host layout; false and nothing written when a value does not fit exactly as
// design.md says (float to float and int to float round; float to int must be whole; ints must be in range; bool: 0 is
// false). Source: design.md, "Values and types".
SPYI_FN bool spyi_convert_scalars(void *to, spy_dtype to_type, const void *from, spy_dtype from_type,
                                  size_t count);
SPYI_FN uint16_t spyi_float_to_half(double value); // round to nearest even
SPYI_FN double spyi_half_to_float(uint16_t half);

// What the system gives to a parameter of a compute shader.
typedef enum spyi_system {
    SPYI_SYSTEM_NONE,
    SPYI_SYSTEM_THREAD, // SV_DispatchThreadID
    SPYI_SYSTEM_GROUP,  // SV_GroupID
    SPYI_SYSTEM_LOCAL,  // SV_GroupThreadID
    SPYI_SYSTEM_INDEX   // SV_GroupIndex
} spyi_system;

// >>near.c
// Up to three names nearest to `wanted`, as ", did you mean 'a', 'b'?": zero but for `wanted`, names offered one by one, then the text, which frees it.
enum { SPYI_NEAR_COUNT = 3 };
typedef struct spyi_near {
    const char *wanted;
    char *names[SPYI_NEAR_COUNT]; // nearest first
    unsigned distances[SPYI_NEAR_COUNT];
    uint32_t count;
} spyi_near;
SPYI_FN void spyi_near_offer(spyi_near *near_names, const char *name);
SPYI_FN void spyi_near_offer_builtin(spyi_near *near_names); // Slang's own scalars, vectors and matrices
SPYI_FN void spyi_near_text(spyi_near *near_names, spyi_text *out);

#endif // SPYI_TYPE_H
