// Reflection: what a module declares, as one tree of plain structs that the module owns.
#ifndef SPY_API_REFLECT_H
#define SPY_API_REFLECT_H

#include "api/module.h"

#ifdef __cplusplus
extern "C" {
#endif

// Every pointer here is borrowed: it lives until its module is released, also when the module is reloaded in between (a
// reload makes a new tree; ask again to see it). Strings are never NULL, and "" where there is nothing to say. Nothing is
// written once it has been handed out, so any thread may read it.

typedef struct spy_decl spy_decl;
typedef struct spy_type_info spy_type_info;

// What a declaration is.
typedef enum spy_decl_kind {
    SPY_DECL_KIND_OTHER = 0, // something that Slang's reflection does not name, such as a class
    SPY_DECL_KIND_MODULE,    // the root
    SPY_DECL_KIND_IMPORT,    // a module that this one needs, directly or not; `file` is where it was found
    SPY_DECL_KIND_NAMESPACE, // reopened namespaces are one
    SPY_DECL_KIND_STRUCT,
    SPY_DECL_KIND_INTERFACE,
    SPY_DECL_KIND_ENUM,
    SPY_DECL_KIND_ENUM_CASE,       // `value` is its number
    SPY_DECL_KIND_ALIAS,           // typealias and typedef; `type` is what it stands for
    SPY_DECL_KIND_ASSOCIATED_TYPE, // of an interface
    SPY_DECL_KIND_EXTENSION, // `type` is what it extends; NULL, with the name "", where that could not be found out
    SPY_DECL_KIND_FIELD,
    SPY_DECL_KIND_PROPERTY,
    SPY_DECL_KIND_SUBSCRIPT, // "operator[]"; its parameters are children
    SPY_DECL_KIND_FUNCTION,  // a global one; an entry point has a `stage`
    SPY_DECL_KIND_METHOD, // of a struct, interface, enum or extension; SPY_DECL_FLAG_STATIC or of an instance
    SPY_DECL_KIND_CONSTRUCTOR,     // "__init", also the one that Slang makes from the fields
    SPY_DECL_KIND_PARAMETER,       // of a function
    SPY_DECL_KIND_GENERIC_TYPE,    // the T of f<T>; its constraints are children
    SPY_DECL_KIND_GENERIC_VALUE,   // the N of f<let N : int>
    SPY_DECL_KIND_CONSTRAINT,      // `type` is the interface that a generic type must implement
    SPY_DECL_KIND_VARIABLE,        // a static or groupshared one, or a constant
    SPY_DECL_KIND_SHADER_PARAMETER // a global that the host sets: uniform data, a buffer, a texture
} spy_decl_kind;

// Bits of spy_decl.flags. A parameter that is read has SPY_DECL_FLAG_IN, one that is written SPY_DECL_FLAG_OUT, an inout one both.
// [Differentiable], [BackwardDifferentiable] and [ForwardDifferentiable] are one bit: Slang does not tell them apart.
typedef enum spy_decl_flag {
    SPY_DECL_FLAG_NONE = 0,
    SPY_DECL_FLAG_STATIC = 1 << 0,
    SPY_DECL_FLAG_CONST = 1 << 1,
    SPY_DECL_FLAG_EXTERN = 1 << 2,         // a constant or struct that another module may replace when it is linked
    SPY_DECL_FLAG_EXPORT = 1 << 3,
    SPY_DECL_FLAG_MUTATING = 1 << 4,       // a method that changes its instance
    SPY_DECL_FLAG_DIFFERENTIABLE = 1 << 5,
    SPY_DECL_FLAG_NO_DIFF = 1 << 6,
    SPY_DECL_FLAG_IN = 1 << 7,
    SPY_DECL_FLAG_OUT = 1 << 8,
    SPY_DECL_FLAG_HAS_DEFAULT = 1 << 9,    // a parameter that a call may leave out; an initialised variable
    SPY_DECL_FLAG_GENERIC = 1 << 10,       // it has generic parameters, or lies in something that has: types may be open
    SPY_DECL_FLAG_GETTER = 1 << 11,        // a property or subscript that can be read
    SPY_DECL_FLAG_SETTER = 1 << 12,        // ... written
    SPY_DECL_FLAG_CUDA_KERNEL = 1 << 13    // a function marked [CudaKernel]
} spy_decl_flag;

// Which member of a spy_constant counts.
typedef enum spy_constant_kind {
    SPY_CONSTANT_KIND_NONE = 0, // there is none, or Slang does not tell it
    SPY_CONSTANT_KIND_INT,
    SPY_CONSTANT_KIND_FLOAT,
    SPY_CONSTANT_KIND_STRING
} spy_constant_kind;

// A number or text known when the module was compiled.
typedef struct spy_constant {
    spy_constant_kind kind;
    int64_t int_value;   // INT (bool: 0 or 1; uint64 above INT64_MAX: its bits)
    double float_value;  // FLOAT, in float's precision; INT: the same number
    const char *string;  // STRING
} spy_constant;

// [Name(1, 2.5, "text")]. Only attributes that are declared as structs: Slang does not list its own ([Differentiable] and
// such), most of which are flags. Arguments of type double and half, and integers of more than 32 bits, have the kind
// NONE: Slang does not give them.
typedef struct spy_attribute {
    const char *name; // without the ending "Attribute" of its struct
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

// One declaration. What a kind has no use for is zero.
struct spy_decl {
    spy_decl_kind kind;
    uint32_t flags;              // bits of spy_decl_flag
    const char *name;            // "area"
    const char *path;            // "geometry::Circle::area", as spy_find_decl() takes it, without generic arguments; ""
                                 // for what has no name, imports, constraints, extensions (not what is in them) and the root
    const char *text;            // as one writes it: "float lerp(float a, float b = 1)", "struct Circle", "Red = 0"
    const spy_type_info *type;   // of a variable, parameter, field, property; a function's result; the type that a struct,
                                 // enum, interface or alias declares; NULL where there is none
    const spy_decl *parent;      // NULL: the root
    const spy_decl *children;    // fields first, then the others as they are written; a function's are its generic
    uint32_t child_count;        // parameters, then its parameters
    const spy_attribute *attributes;
    uint32_t attribute_count;
    spy_constant value;          // of an enum case, a constant, a default that is a plain number
    size_t offset_bytes;         // a field's in C's layout
    size_t device_offset_bytes;  // a field's on the device; a uniform shader parameter's among the globals
    uint32_t binding, space;     // of a shader parameter that is a resource, in this module's own layout
    spy_stage stage;             // of an entry point
    uint32_t group_size[3];      // its [numthreads]
    const char *file;            // where it is written, and the line from 1; "" and 0 where that is not known
    uint32_t line;
    const char *doc;             // the comment right above it, from /// lines or /** */; "" without one
};

// What a type is.
typedef enum spy_type_kind {
    SPY_TYPE_KIND_OTHER = 0,       // none of these, or it depends on a generic parameter
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
    SPY_TYPE_KIND_RESOURCE,        // buffers, textures, acceleration structures
    SPY_TYPE_KIND_SAMPLER
} spy_type_kind;

// A type. Sizes are those of plain data, and 0 for what host memory cannot hold (resources, interfaces, open generics,
// structs with such fields).
struct spy_type_info {
    spy_type_kind kind;
    const char *name;             // as spy_reflect_type() takes it: "float3", "geometry.Circle", "float[3][2]" (C's order:
                                  // 3 arrays of 2)
    spy_dtype dtype;              // of a scalar, vector or matrix; an enum's integer
    uint32_t rows, columns;       // a matrix's; a vector's components are columns; else 1
    int64_t count;                // an array's elements; 0: unsized, or open
    const spy_type_info *element; // of an array, vector, matrix, pointer, buffer; an enum's integer; else NULL
    const spy_decl *decl;         // a struct, enum or interface that this module declares; else NULL
    const spy_decl *fields;       // a struct's, wherever it is declared
    uint32_t field_count;
    size_t size_bytes, align_bytes;               // in C's layout, which host data has
    size_t device_size_bytes, device_align_bytes; // on the device
    size_t device_stride_bytes;                   // from one array element to the next on the device
};

// The tree of a module's declarations; NULL on failure. Built by the first call (and the first after a reload).
// Threads: any. Cost: a few ms for the first call, nothing later.
SPY_API const spy_decl *spy_reflect_module(spy_module *module);

// The declaration of that path: "f", "ns::Circle::area" ("." will do as well), without generic arguments. The first of
// several that share it (spy_next_overload has the others). NULL if there is none; the error lists the nearest names.
// Threads and cost: as spy_reflect_module.
SPY_API const spy_decl *spy_find_decl(spy_module *module, const char *path);

// The next declaration of the same name and kind beside this one; NULL: none, or decl is NULL. Threads: any.
SPY_API const spy_decl *spy_next_overload(const spy_decl *decl);

// The first attribute of that name; NULL: none, or decl is NULL. No error is raised. Threads: any.
SPY_API const spy_attribute *spy_find_attribute(const spy_decl *decl, const char *name);

// A type by name, built-in or visible in the module: "float3", "Circle", "ns::Grid<float, 4>", "Circle[8]". NULL if there
// is none; the error lists the nearest names, or says which arguments a generic type wants. Threads: any.
SPY_API const spy_type_info *spy_reflect_type(spy_module *module, const char *name);

// Whether a type implements an interface: spy_type_implements(module, "Circle", "IShape"). False with an error when one of
// them is unknown or the second is no interface. Threads: any.
SPY_API bool spy_type_implements(spy_module *module, const char *type, const char *interface_name);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_REFLECT_H
