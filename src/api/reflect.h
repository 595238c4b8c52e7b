// Reflection: the declarations of a module as a tree of plain structs that the module owns.
#ifndef SPY_API_REFLECT_H
#define SPY_API_REFLECT_H

#include "api/module.h"

#ifdef __cplusplus
extern "C" {
#endif

// Every pointer here is borrowed: it is valid until its module is released, even if the module is reloaded in
// between. A reload makes a new tree, which the functions below return from then on. Strings are never NULL;
// they are "" where there is no text. A returned tree never changes, so any thread may read it.

typedef struct spy_decl spy_decl;
typedef struct spy_type_info spy_type_info;

// The kind of a declaration.
typedef enum spy_decl_kind {
    SPY_DECL_KIND_OTHER = 0, // a declaration that Slang's reflection does not classify, such as a class
    SPY_DECL_KIND_MODULE,    // the root of the tree
    SPY_DECL_KIND_IMPORT,    // a module that this one imports, directly or indirectly; `file` is its path
    SPY_DECL_KIND_NAMESPACE, // all blocks of one namespace are one declaration
    SPY_DECL_KIND_STRUCT,
    SPY_DECL_KIND_INTERFACE,
    SPY_DECL_KIND_ENUM,
    SPY_DECL_KIND_ENUM_CASE,       // `value` is its number
    SPY_DECL_KIND_ALIAS,           // typealias and typedef; `type` is the type that it names
    SPY_DECL_KIND_ASSOCIATED_TYPE, // an associated type of an interface
    SPY_DECL_KIND_EXTENSION,       // `type` is the extended type; NULL, with the name "", when it is unknown
    SPY_DECL_KIND_FIELD,
    SPY_DECL_KIND_PROPERTY,
    SPY_DECL_KIND_SUBSCRIPT,       // "operator[]"; its parameters are children
    SPY_DECL_KIND_FUNCTION,        // a global function; an entry point has a `stage`
    SPY_DECL_KIND_METHOD,          // a function of a struct, interface, enum or extension; static methods
                                   // have SPY_DECL_FLAG_STATIC
    SPY_DECL_KIND_CONSTRUCTOR,     // "__init", also the constructor that Slang makes from the fields
    SPY_DECL_KIND_PARAMETER,       // a parameter of a function
    SPY_DECL_KIND_GENERIC_TYPE,    // the T of f<T>; its constraints are children
    SPY_DECL_KIND_GENERIC_VALUE,   // the N of f<let N : int>
    SPY_DECL_KIND_CONSTRAINT,      // `type` is the interface that a generic type must implement
    SPY_DECL_KIND_VARIABLE,        // a static or groupshared variable, or a constant
    SPY_DECL_KIND_SHADER_PARAMETER // a global that the host sets: uniform data, a buffer, a texture
} spy_decl_kind;

// The bits of spy_decl.flags. An in parameter has SPY_DECL_FLAG_IN, an out parameter SPY_DECL_FLAG_OUT, an
// inout parameter both. [Differentiable], [BackwardDifferentiable] and [ForwardDifferentiable] share one bit,
// because Slang does not distinguish them.
typedef enum spy_decl_flag {
    SPY_DECL_FLAG_NONE = 0,
    SPY_DECL_FLAG_STATIC = 1 << 0,
    SPY_DECL_FLAG_CONST = 1 << 1,
    SPY_DECL_FLAG_EXTERN = 1 << 2, // a constant or struct that a linked module may define
    SPY_DECL_FLAG_EXPORT = 1 << 3,
    SPY_DECL_FLAG_MUTATING = 1 << 4, // a method that changes its instance
    SPY_DECL_FLAG_DIFFERENTIABLE = 1 << 5,
    SPY_DECL_FLAG_NO_DIFF = 1 << 6,
    SPY_DECL_FLAG_IN = 1 << 7,
    SPY_DECL_FLAG_OUT = 1 << 8,
    SPY_DECL_FLAG_HAS_DEFAULT = 1 << 9,  // a parameter that a call may leave out; an initialised variable
    SPY_DECL_FLAG_GENERIC = 1 << 10,     // the declaration or one of its parents has generic parameters, so
                                         // types may depend on them
    SPY_DECL_FLAG_GETTER = 1 << 11,      // a property or subscript that can be read
    SPY_DECL_FLAG_SETTER = 1 << 12,      // a property or subscript that can be written
    SPY_DECL_FLAG_CUDA_KERNEL = 1 << 13, // a function marked [CudaKernel]
    SPY_DECL_FLAG_IN_WRITTEN = 1 << 14   // a parameter with the word `in` before it
} spy_decl_flag;

// The type of a spy_constant.
typedef enum spy_constant_kind {
    SPY_CONSTANT_KIND_NONE = 0, // there is no constant, or Slang does not report its value
    SPY_CONSTANT_KIND_INT,
    SPY_CONSTANT_KIND_FLOAT,
    SPY_CONSTANT_KIND_STRING
} spy_constant_kind;

// A number or text that is known at compile time.
typedef struct spy_constant {
    spy_constant_kind kind;
    int64_t int_value;  // the value of an INT; a bool is 0 or 1, and a uint64 above INT64_MAX has its bits
    double float_value; // the value of a FLOAT, in float's precision, or of an INT
    const char *string; // the text of a STRING
} spy_constant;

// A user-defined attribute: [Name(1, 2.5, "text")]. Slang lists only attributes that are declared as structs;
// most built-in attributes, such as [Differentiable], are bits of spy_decl.flags. Arguments of type double
// and half, and integers of more than 32 bits, have the kind NONE, because Slang does not report them.
typedef struct spy_attribute {
    const char *name; // the struct's name without its ending "Attribute"
    const spy_constant *args;
    uint32_t arg_count;
} spy_attribute;

// Pipeline stages.
typedef enum spy_stage {
    SPY_STAGE_NONE = 0,
    SPY_STAGE_VERTEX,
    SPY_STAGE_HULL,
    SPY_STAGE_DOMAIN,
    SPY_STAGE_GEOMETRY,
    SPY_STAGE_FRAGMENT,
    SPY_STAGE_COMPUTE,
    SPY_STAGE_RAY_GENERATION,
    SPY_STAGE_INTERSECTION,
    SPY_STAGE_ANY_HIT,
    SPY_STAGE_CLOSEST_HIT,
    SPY_STAGE_MISS,
    SPY_STAGE_CALLABLE,
    SPY_STAGE_MESH,
    SPY_STAGE_AMPLIFICATION,
    SPY_STAGE_DISPATCH
} spy_stage;

// One declaration. Members that do not apply to its kind are zero (strings are "").
struct spy_decl {
    spy_decl_kind kind;
    uint32_t flags;            // bits of spy_decl_flag
    const char *name;          // "area"
    const char *path;          // "geometry::Circle::area", for spy_find_decl(), without generic arguments;
                               // "" for unnamed declarations, imports, constraints, extensions (but not
                               // their members) and the root
    const char *text;          // the declaration as in Slang code: "float lerp(float a, float b = 1)",
                               // "struct Circle", "Red = 0"
    const spy_type_info *type; // the type of a variable, parameter, field or property; a function's return
                               // type; the type that a struct, enum, interface or alias declares; NULL where
                               // there is none
    const spy_decl *parent;    // NULL for the root
    const spy_decl *children;  // declarations inside this one: fields first, then the others in source order;
                               // for a function its generic parameters, then its parameters
    uint32_t child_count;      // the number of children
    const spy_attribute *attributes;
    uint32_t attribute_count;
    spy_constant value;  // the value of an enum case, a constant, or a default value that is a plain number
    size_t offset_bytes; // the offset of a field, in C's layout
    size_t device_offset_bytes; // the offset of a field in the device's layout, or of a uniform shader
                                // parameter within the globals
    uint32_t binding, space;    // the numbers of a shader parameter that is a resource, in this module's own
                                // layout
    spy_stage stage;            // the stage of an entry point
    uint32_t group_size[3];     // [numthreads] of an entry point
    const char *file;           // source file and line, from 1; "" and 0 when unknown
    uint32_t line;
    const char *doc; // comment directly above the declaration (/// lines or /** */); "" if there is none
};

// The kind of a type.
typedef enum spy_type_kind {
    SPY_TYPE_KIND_OTHER = 0, // any other type, or one that depends on a generic parameter
    SPY_TYPE_KIND_VOID,
    SPY_TYPE_KIND_SCALAR,
    SPY_TYPE_KIND_VECTOR,
    SPY_TYPE_KIND_MATRIX,
    SPY_TYPE_KIND_ARRAY,
    SPY_TYPE_KIND_STRUCT,
    SPY_TYPE_KIND_ENUM,
    SPY_TYPE_KIND_INTERFACE,
    SPY_TYPE_KIND_POINTER,
    SPY_TYPE_KIND_CONSTANT_BUFFER,
    SPY_TYPE_KIND_PARAMETER_BLOCK,
    SPY_TYPE_KIND_RESOURCE, // buffers, textures, acceleration structures
    SPY_TYPE_KIND_SAMPLER,
    SPY_TYPE_KIND_HANDLE // DescriptorHandle<T>
} spy_type_kind;

// A type. Its sizes in C's layout are 0 for types that host memory cannot hold: resources, interfaces, types
// that depend on generic parameters, and structs with such fields. Among shader parameters such types may have
// bytes on the device, which its sizes there tell: on CUDA a texture is a handle of 8 bytes, on Vulkan it has
// none.
struct spy_type_info {
    spy_type_kind kind;
    const char *name;       // the name for spy_reflect_type(): "float3", "geometry.Circle", "float[3][2]"
                            // (C's order: 3 arrays of 2)
    spy_dtype dtype;        // scalar type of a scalar, vector or matrix; integer type of an enum; UINT64 for
                            // a pointer, whose address it is, and for a handle
    uint32_t rows, columns; // the sizes of a matrix; a vector's components are columns; 1 for other types
    int64_t count; // the number of an array's elements; 0 means unsized, or dependent on a generic parameter
    const spy_type_info *element; // element type of an array, vector, matrix, pointer or buffer; integer type
                                  // of an enum; NULL for other types
    const spy_decl *decl;   // declaration of a struct, enum or interface of this module; NULL for other types
    const spy_decl *fields; // fields of a struct, also of one that another module declares
    uint32_t field_count;
    size_t size_bytes, align_bytes;               // the sizes in C's layout, the layout of host data
    size_t device_size_bytes, device_align_bytes; // the sizes in the device's layout
    size_t device_stride_bytes; // the bytes from one array element to the next, in the device's layout
};

// Returns the root of the tree of a module's declarations; NULL on failure. The first call, and the first
// after a reload, builds the tree. Threads: any. Cost: a few ms for the first call, nothing later.
SPY_API const spy_decl *spy_reflect_module(spy_module *module);

// Returns the declaration with this path: "f", "ns::Circle::area" ("." may replace "::"), without generic
// arguments. Of several declarations with one path it returns the first; spy_next_overload() returns the
// others. Returns NULL if there is none; the error lists the nearest names. Threads and cost: as
// spy_reflect_module.
SPY_API const spy_decl *spy_find_decl(spy_module *module, const char *path);

// Returns the next declaration with the same name, kind and parent; NULL when there is none, or decl is NULL.
// Threads: any.
SPY_API const spy_decl *spy_next_overload(const spy_decl *decl);

// Returns the first attribute with this name; NULL, without an error, when there is none or decl is NULL.
// Threads: any.
SPY_API const spy_attribute *spy_find_attribute(const spy_decl *decl, const char *name);

// Returns a type by name, built-in or visible in the module: "float3", "Circle", "ns::Grid<float, 4>",
// "Circle[8]". Returns NULL if there is none; the error lists the nearest names, or the arguments that a
// generic type needs. Threads: any.
SPY_API const spy_type_info *spy_reflect_type(spy_module *module, const char *name);

// Returns whether a type implements an interface: spy_type_implements(module, "Circle", "IShape"). Returns
// false with an error when a name is unknown or `interface_name` is not an interface. Threads: any.
SPY_API bool spy_type_implements(spy_module *module, const char *type, const char *interface_name);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_REFLECT_H
