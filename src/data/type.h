// The library's description of Slang types, independent of any compiler session. Types are interned in the
// device's table: equal types are equal pointers, and live as long as the device.
#ifndef SPYI_TYPE_H
#define SPYI_TYPE_H

#include "backend/target.h"

typedef enum spyi_type_kind {
    SPYI_TYPE_VOID,
    SPYI_TYPE_SCALAR,
    SPYI_TYPE_VECTOR, // consists of `columns` scalars
    SPYI_TYPE_MATRIX, // consists of `rows` x `columns` scalars, row-major
    SPYI_TYPE_ARRAY,  // consists of `count` elements
    SPYI_TYPE_STRUCT, // consists of fields
    SPYI_TYPE_OTHER // anything that cannot lie in memory as plain data: interfaces, resources, open generics
} spyi_type_kind;

typedef struct spyi_type spyi_type;

typedef struct spyi_field {
    const char *name;
    const spyi_type *type;
    size_t host_offset;   // the offset in bytes, in C's layout
    size_t device_offset; // the offset in bytes, as reflected for the target
} spyi_field;

struct spyi_type {
    spyi_type_kind kind;
    uint32_t id; // unique in the table, from 1
    // The name in a form that Slang accepts: "float", "vector<float,3>", "matrix<float,4,4>",
    // "Array<float,3>", "ns.Foo<3>".
    const char *name;
    const char *display; // the name for messages: "float3", "float4x4", "float[3]", "Foo<3>"
    spy_dtype scalar;    // the scalar type of scalars, vectors and matrices
    uint32_t rows;       // the rows of a matrix; 1 for other types
    uint32_t columns;    // the components of a vector or columns of a matrix; 1 for other types
    // The element of an array, the row vector of a matrix, the scalar of a vector, or the T of
    // ConstantBuffer<T>.
    const spyi_type *element;
    int64_t count; // the number of elements of an array
    const spyi_field *fields;
    uint32_t field_count;
    size_t host_size, host_align; // C's layout in bytes, where a bool takes 1 byte
    // The target's scalar layout in bytes. Neighbours in an array are align(size, align) apart.
    size_t device_size, device_align;
    bool same_layout; // host and device bytes are the same
    bool from_tensor; // an opaque struct with [FromTensor]: a tensor is given for its first field
};

typedef struct spyi_types spyi_types;
SPYI_FN spyi_types *spyi_types_create(spyi_target target);
SPYI_FN void spyi_types_destroy(spyi_types *types);
SPYI_FN const spyi_rules *spyi_types_rules(const spyi_types *types); // returns the rules of the table's
                                                                     // target

// The functions below return types of the table, never NULL for valid arguments. Threads: any (the table has
// a lock).
SPYI_FN const spyi_type *spyi_type_void(spyi_types *types);
SPYI_FN const spyi_type *spyi_type_scalar(spyi_types *types, spy_dtype scalar);
SPYI_FN const spyi_type *spyi_type_vector(spyi_types *types, spy_dtype scalar, uint32_t columns);
SPYI_FN const spyi_type *spyi_type_matrix(spyi_types *types, spy_dtype scalar, uint32_t rows,
                                          uint32_t columns);
SPYI_FN const spyi_type *spyi_type_array(spyi_types *types, const spyi_type *element, int64_t count);
// The caller sets the fields' names, types and device offsets; host offsets are computed. Structs of the same
// name and the same fields are one type; with other fields they are different types.
SPYI_FN const spyi_type *spyi_type_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                          uint32_t count, size_t device_size, size_t device_align);
// Returns the table's struct with that name, these fields and this layout; NULL if there is none yet. *other
// tells whether the table has a different struct of that name.
SPYI_FN const spyi_type *spyi_type_find_struct(spyi_types *types, const char *name, const spyi_field *fields,
                                               uint32_t count, size_t device_size, size_t device_align,
                                               bool *other);
// Returns a hash of the type's name and layout and of all types that it is made of; it is the same in every
// process.
SPYI_FN uint64_t spyi_type_hash(const spyi_type *type);
// An enum is a scalar with a name of its own, stored as `scalar`. Slang converts it to int implicitly, and an
// int x to it by Name(x).
SPYI_FN const spyi_type *spyi_type_enum(spyi_types *types, const char *name, spy_dtype scalar);
// Returns the element type of a tensor of "void": bytes without a type. The host sees uint8 scalars; a kernel
// loads no element of such a tensor.
SPYI_FN const spyi_type *spyi_type_memory(spyi_types *types);
SPYI_FN bool spyi_type_is_memory(const spyi_type *type);
SPYI_FN const spyi_type *spyi_type_other(spyi_types *types, const char *name);
// Returns the type of a struct that cannot lie in memory, because it holds a pointer or a resource. It is of
// kind OTHER but has fields, which callers give one by one.
SPYI_FN const spyi_type *spyi_type_opaque(spyi_types *types, const char *name, const spyi_field *fields,
                                          uint32_t count);
// Returns the type of a struct with the attribute [FromTensor], which is otherwise like one of
// spyi_type_opaque().
SPYI_FN const spyi_type *spyi_type_built(spyi_types *types, const char *name, const spyi_field *fields,
                                         uint32_t count);
// Returns whether the type is a DifferentialPair<T>. Reflection lists no fields of it; binding gives it the
// fields "p", the value, and "d", its gradient.
SPYI_FN bool spyi_type_is_pair(const spyi_type *type);
// Returns whether the type is a pointer T*. It is of kind OTHER, but has a size: in the memory of a struct it is
// an address of 8 bytes, which the host sees as a uint64.
SPYI_FN bool spyi_type_is_pointer(const spyi_type *type);
// Returns whether the type is a DescriptorHandle<T>. It is of kind OTHER, but has a size: 8 bytes, which the host sees
// as a uint64.
SPYI_FN bool spyi_type_is_handle(const spyi_type *type);
// Returns whether a struct with a field of the type can lie in memory.
SPYI_FN bool spyi_type_lies_in_structs(const spyi_type *type);
// Returns whether the type is a pointer or a handle, or a struct or an array with one inside.
SPYI_FN bool spyi_type_holds_pointer(const spyi_type *type);
// Returns whether the type is a DifferentialPair, or a struct or an array with one inside.
SPYI_FN bool spyi_type_holds_pair(const spyi_type *type);
// Returns the type of an array of buffers, or of elements that hold a DifferentialPair. It is given like an
// opaque struct whose fields are named "[0]", "[1]" and so on.
SPYI_FN const spyi_type *spyi_type_bound_array(spyi_types *types, const char *name, const spyi_type *element,
                                               uint32_t count);
// Returns the type T[count] of structs that hold buffers or textures, whose elements are given one by one
// like fields.
SPYI_FN const spyi_type *spyi_type_struct_array(spyi_types *types, const spyi_type *element, int64_t count);
SPYI_FN bool spyi_type_is_bound_array(const spyi_type *type); // returns whether the type is an array of
                                                              // buffers only, with or without a size
// Returns the type of an array without a size, of buffers or ConstantBuffers: its one field "[]" stands for
// all elements. A ConstantBuffer is then a type without parts, since the caller gives each one as a tensor.
SPYI_FN const spyi_type *spyi_type_unsized(spyi_types *types, const char *name, const spyi_type *element);
SPYI_FN bool spyi_type_is_unsized(const spyi_type *type);
#define SPYI_UNSIZED_REFUSED                                                                                 \
    "; an array without a size needs descriptor arrays of run-time size, which this backend has not (CUDA "  \
    "does without): give it a size"
// Returns the type ConstantBuffer<T> or ParameterBlock<T>, which is of kind OTHER, with T as its element.
SPYI_FN const spyi_type *spyi_type_holder(spyi_types *types, const char *name, const spyi_type *element);
// Returns a built-in type by its name, without the compiler: "float3", "half4x4", "uint8_t",
// "vector<float,3>", "float[3][2]" (in C's order: 3 arrays of 2). NULL means that the name is not that of a
// built-in type.
SPYI_FN const spyi_type *spyi_type_parse(spyi_types *types, const char *name);

// Returns the bytes from one array element to the next on the device.
SPYI_FN size_t spyi_type_device_stride(const spyi_type *type);
SPYI_FN size_t spyi_type_host_stride(const spyi_type *type);
// spyi_type_to_device() and spyi_type_to_host() copy `count` elements between C's layout and the device's
// (bool widths, struct offsets). Neighbours are `stride` apart.
SPYI_FN void spyi_type_to_device(const spyi_type *type, void *device, const void *host, size_t count);
SPYI_FN void spyi_type_to_host(const spyi_type *type, void *host, const void *device, size_t count);

// Converts `count` scalars in host layout to another dtype. Returns false, with nothing written, when a value
// does not fit: float to float and int to float round; float to int must be integral; ints must be in range;
// for bool, 0 is false. Source: design.md, "Values and types".
SPYI_FN bool spyi_convert_scalars(void *to, spy_dtype to_type, const void *from, spy_dtype from_type,
                                  size_t count);
SPYI_FN uint16_t spyi_float_to_half(double value); // rounds to nearest even
SPYI_FN double spyi_half_to_float(uint16_t half);

// The system value (SV_...) that a parameter of a shader receives.
typedef enum spyi_system {
    SPYI_SYSTEM_NONE,
    SPYI_SYSTEM_THREAD, // is SV_DispatchThreadID
    SPYI_SYSTEM_GROUP,  // is SV_GroupID
    SPYI_SYSTEM_LOCAL,  // is SV_GroupThreadID
    SPYI_SYSTEM_INDEX,  // is SV_GroupIndex
    SPYI_SYSTEM_VARYING // is an input or output of a vertex or fragment shader
} spyi_system;

// >>near.c
// Collects the names nearest to `wanted` for a text such as ", did you mean 'a', 'b'?". Zero it, set
// `wanted`, offer the names one by one, then call spyi_near_text(), which frees them.
enum { SPYI_NEAR_COUNT = 3 };
typedef struct spyi_near {
    const char *wanted;
    char *names[SPYI_NEAR_COUNT]; // the nearest name comes first
    unsigned distances[SPYI_NEAR_COUNT];
    uint32_t count;
} spyi_near;
SPYI_FN void spyi_near_offer(spyi_near *near_names, const char *name);
SPYI_FN void spyi_near_offer_builtin(spyi_near *near_names); // offers the names of Slang's own scalars,
                                                             // vectors and matrices
SPYI_FN void spyi_near_text(spyi_near *near_names, spyi_text *out);

#endif // SPYI_TYPE_H
