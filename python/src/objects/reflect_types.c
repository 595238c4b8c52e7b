// Reflection of types, their layouts, and the cursor that walks through a layout.
#include "objects/reflection.h"

#include <stdlib.h>
#include <string.h>

#include "state/cold.h"

// >>resources, which are recognized by their names

typedef struct spyp_resource {
    long shape, access; // the numbers of a ResourceShape and a ResourceAccess
} spyp_resource;

static bool spyp_skip(const char **text, const char *word) {
    size_t n = strlen(word);
    if (strncmp(*text, word, n) != 0) return false;
    *text += n;
    return true;
}

static spyp_resource spyp_resource_of(const spy_type_info *info) {
    static const struct {
        const char *word;
        long access;
    } accesses[] = { { "RWTexture", 2 }, { "RWStructured", 2 },      { "RWByteAddress", 2 },
                     { "RWBuffer", 2 },  { "RasterizerOrdered", 3 }, { "Append", 4 },
                     { "Consume", 5 },   { "WTexture", 6 },          { "Feedback", 7 } };
    static const struct {
        const char *word;
        long shape;
    } shapes[] = { { "Texture1D", 1 },        { "Texture2D", 2 },
                   { "Texture3D", 3 },        { "TextureCube", 4 },
                   { "StructuredBuffer", 6 }, { "ByteAddressBuffer", 7 },
                   { "Buffer", 5 },           { "RaytracingAccelerationStructure", 9 },
                   { "SubpassInput", 10 },    { "Sampler1D", 1 },
                   { "Sampler2D", 2 },        { "Sampler3D", 3 },
                   { "SamplerCube", 4 } };
    spyp_resource r = { 0, 0 };
    const char *name = info->name;
    if (info->kind != SPY_TYPE_KIND_RESOURCE) return r;
    r.shape = 8;
    r.access = 1;
    for (size_t i = 0; i < sizeof accesses / sizeof *accesses; i++)
        if (strncmp(name, accesses[i].word, strlen(accesses[i].word)) == 0) r.access = accesses[i].access;
    if (!spyp_skip(&name, "RW") && !spyp_skip(&name, "RasterizerOrdered") && !spyp_skip(&name, "Append") &&
        !spyp_skip(&name, "Consume") && !spyp_skip(&name, "Feedback") && strncmp(name, "WTexture", 8) == 0)
        name++;
    for (size_t i = 0; r.shape == 8 && i < sizeof shapes / sizeof *shapes; i++)
        if (spyp_skip(&name, shapes[i].word)) r.shape = shapes[i].shape;
    if (r.shape == 8) return r;
    if (spyp_skip(&name, "MS")) r.shape |= 0x80;
    if (spyp_skip(&name, "Array")) r.shape |= 0x40;
    if (r.access == 7) r.shape |= 0x10;
    return r;
}

// >>types

#define SPYP_KIND(kind) ((size_t)1 << (kind))
#define SPYP_NUMBERS                                                                                         \
    (SPYP_KIND(SPY_TYPE_KIND_SCALAR) | SPYP_KIND(SPY_TYPE_KIND_VECTOR) | SPYP_KIND(SPY_TYPE_KIND_MATRIX))

static PyObject *spyp_type_kind(spyp_reflection *r) {
    static const uint8_t kinds[] = {
        // the number in TypeKind for each spy_type_kind
        [SPY_TYPE_KIND_OTHER] = 0,           [SPY_TYPE_KIND_VOID] = 5,
        [SPY_TYPE_KIND_SCALAR] = 5,          [SPY_TYPE_KIND_VECTOR] = 4,
        [SPY_TYPE_KIND_MATRIX] = 3,          [SPY_TYPE_KIND_ARRAY] = 2,
        [SPY_TYPE_KIND_STRUCT] = 1,          [SPY_TYPE_KIND_ENUM] = 20,
        [SPY_TYPE_KIND_INTERFACE] = 13,      [SPY_TYPE_KIND_POINTER] = 18,
        [SPY_TYPE_KIND_CONSTANT_BUFFER] = 6, [SPY_TYPE_KIND_PARAMETER_BLOCK] = 11,
        [SPY_TYPE_KIND_RESOURCE] = 7,        [SPY_TYPE_KIND_SAMPLER] = 8,
        [SPY_TYPE_KIND_HANDLE] = 1,
    };
    return spyp_enum("TypeKind", r->type->kind < sizeof kinds ? kinds[r->type->kind] : 0);
}

// Returns a type's name without namespaces and generic arguments: "Grid" of "ns.Grid<float, 4>". Slang's generic types of
// vectors, matrices and all textures are "vector", "matrix" and "_Texture", and SlangPy gives these names.
static PyObject *spyp_type_name(spyp_reflection *r) {
    const char *name = r->type->name, *end = name + strlen(name);
    long shape = spyp_resource_of(r->type).shape & 0xf;
    if (r->type->kind == SPY_TYPE_KIND_VECTOR) return PyUnicode_FromString("vector");
    if (r->type->kind == SPY_TYPE_KIND_MATRIX) return PyUnicode_FromString("matrix");
    if (shape >= 1 && shape <= 5) return PyUnicode_FromString("_Texture");
    switch (r->type->kind) {
    case SPY_TYPE_KIND_STRUCT:
    case SPY_TYPE_KIND_ENUM:
    case SPY_TYPE_KIND_INTERFACE:
    case SPY_TYPE_KIND_RESOURCE:
    case SPY_TYPE_KIND_CONSTANT_BUFFER:
    case SPY_TYPE_KIND_PARAMETER_BLOCK:
        end = name + strcspn(name, "<");
        for (const char *c = name; c < end; c++)
            if (*c == '.') name = c + 1;
        break;
    default: break;
    }
    if (r->type->kind == SPY_TYPE_KIND_ARRAY) return PyUnicode_FromString("Array"); // Slang's name of the generic type of all arrays
    return PyUnicode_FromStringAndSize(name, end - name);
}

// Returns the name that Slang prints, in which vectors and matrices are generic types.
PyObject *spyp_full_name(const spy_type_info *t) {
    const char *scalar = t->element ? t->element->name : "";
    if (t->kind == SPY_TYPE_KIND_VECTOR) return spyp_format("vector<%s,%u>", scalar, (unsigned)t->columns);
    if (t->kind == SPY_TYPE_KIND_MATRIX) return spyp_format("matrix<%s,%u,%u>", scalar, (unsigned)t->rows, (unsigned)t->columns);
    const spy_type_info *inner = t;
    while (inner->kind == SPY_TYPE_KIND_ARRAY && inner->element) inner = inner->element;
    const char *sizes = t->name + strlen(inner->name);
    if (inner == t || strncmp(t->name, inner->name, strlen(inner->name)) != 0) {
        PyObject *name = PyUnicode_FromString(t->name), *dotted = name ? PyObject_CallMethod(name, "replace", "ss", "::", ".") : NULL;
        Py_XDECREF(name);
        return dotted;
    }
    PyObject *name = spyp_full_name(inner), *text = name ? spyp_format("%U%s", name, sizes) : NULL;
    if (text) spyp_replace(&text, spyp_library_name(text));
    Py_XDECREF(name);
    return text;
}

static PyObject *spyp_type_full_name(spyp_reflection *r) {
    return spyp_full_name(r->type);
}

static PyObject *spyp_type_scalar(spyp_reflection *r) {
    static const uint8_t types[SPY_DTYPE_COUNT] = {
        [SPY_DTYPE_BOOL] = 2,    [SPY_DTYPE_INT8] = 10,   [SPY_DTYPE_UINT8] = 11,  [SPY_DTYPE_INT16] = 12,
        [SPY_DTYPE_UINT16] = 13, [SPY_DTYPE_INT32] = 3,   [SPY_DTYPE_UINT32] = 4,  [SPY_DTYPE_INT64] = 5,
        [SPY_DTYPE_UINT64] = 6,  [SPY_DTYPE_FLOAT16] = 7, [SPY_DTYPE_FLOAT32] = 8, [SPY_DTYPE_FLOAT64] = 9,
    };
    bool number = SPYP_NUMBERS >> r->type->kind & 1;
    return spyp_enum("TypeScalar", r->type->kind == SPY_TYPE_KIND_VOID ? 1
                                   : number                            ? types[r->type->dtype]
                                                                       : 0);
}

static PyObject *spyp_type_rows(spyp_reflection *r) {
    return PyLong_FromUnsignedLong(SPYP_NUMBERS >> r->type->kind & 1 ? r->type->rows : 0);
}

static PyObject *spyp_type_columns(spyp_reflection *r) {
    return PyLong_FromUnsignedLong(SPYP_NUMBERS >> r->type->kind & 1 ? r->type->columns : 0);
}

static PyObject *spyp_type_element(spyp_reflection *r) {
    return spyp_reflect_type(SPYP_TYPE, r->module, r->type->element);
}

static PyObject *spyp_type_element_count(spyp_reflection *r) {
    return PyLong_FromLongLong(r->type->kind == SPY_TYPE_KIND_VECTOR ? (long long)r->type->columns
                                                                     : (long long)r->type->count);
}

static PyObject *spyp_type_total_count(spyp_reflection *r) {
    long long total = r->type->kind == SPY_TYPE_KIND_ARRAY;
    for (const spy_type_info *t = r->type; t && t->kind == SPY_TYPE_KIND_ARRAY; t = t->element)
        total *= t->count;
    return PyLong_FromLongLong(total);
}

static PyObject *spyp_type_fields(spyp_reflection *r) {
    PyObject *list = spyp_decl_list(SPYP_VARIABLE, r->module, r->type->fields, r->type->field_count, ~0u);
    // SlangPy has a list for the types of a SlangModule, which is a subclass of Module here, and a dict for those of a Module.
    bool native = Py_TYPE((PyObject *)r->module) != spyp.module_type;
    PyObject *type = list ? spyp_enum_class(native ? "FieldList" : "FieldDict") : NULL, *items = native ? Py_XNewRef(list) : PyList_New(0);
    for (Py_ssize_t i = 0; !native && items && list && i < PyList_Size(list); i++) {
        PyObject *field = PyList_GetItem(list, i), *name = PyObject_GetAttr(field, spyp.s_name), *pair = name ? PyTuple_Pack(2, name, field) : NULL;
        if (!pair || PyList_Append(items, pair) < 0) Py_CLEAR(items);
        Py_XDECREF(name);
        Py_XDECREF(pair);
    }
    if (list) spyp_replace(&list, type && items ? PyObject_CallFunctionObjArgs(type, items, NULL) : NULL);
    Py_XDECREF(type);
    Py_XDECREF(items);
    return list;
}

static PyObject *spyp_type_field_count(spyp_reflection *r) {
    return PyLong_FromUnsignedLong(r->type->field_count);
}

static PyObject *spyp_type_resource_shape(spyp_reflection *r) {
    return spyp_enum("ResourceShape", spyp_resource_of(r->type).shape);
}

static PyObject *spyp_type_resource_access(spyp_reflection *r) {
    return spyp_enum("ResourceAccess", spyp_resource_of(r->type).access);
}

static PyObject *spyp_type_resource_result(spyp_reflection *r) {
    return spyp_reflect_type(SPYP_TYPE, r->module,
                             r->type->kind == SPY_TYPE_KIND_RESOURCE ? r->type->element : NULL);
}

static PyObject *spyp_type_shape(spyp_reflection *r) {
    spy_shape shape = { 0, { 0 } };
    for (const spy_type_info *t = r->type; t && shape.rank < SPY_MAX_RANK - 1; t = t->element) {
        if (t->kind == SPY_TYPE_KIND_MATRIX) shape.dims[shape.rank++] = t->rows;
        if (t->kind == SPY_TYPE_KIND_MATRIX || t->kind == SPY_TYPE_KIND_VECTOR)
            shape.dims[shape.rank++] = t->columns;
        if (t->kind != SPY_TYPE_KIND_ARRAY) break;
        shape.dims[shape.rank++] = t->count;
    }
    return spyp_shape_make(&shape);
}

PyObject *spyp_type_repr(spyp_reflection *r) {
    PyObject *name = spyp_full_name(r->type), *kind = spyp_type_kind(r);
    PyObject *shape = PyObject_GetAttrString((PyObject *)r, "shape"); // slang_types.py computes the shapes of tensors, buffers and textures
    PyObject *word = kind ? PyObject_GetAttrString(kind, "name") : NULL, *list = shape ? PySequence_List(shape) : NULL;
    PyObject *text = name && word && list ? spyp_format("refl::Type(full_name=\"%U\", kind=%U, shape=%R)", name, word, list) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(kind);
    Py_XDECREF(shape);
    Py_XDECREF(word);
    Py_XDECREF(list);
    return text;
}

// Tells whether the type is a scalar, vector or matrix whose dtype is among `dtypes`.
static bool spyp_type_within(spyp_reflection *r, uint32_t dtypes) {
    return (SPYP_NUMBERS >> r->type->kind & 1) && (dtypes >> r->type->dtype & 1);
}

static PyObject *spyp_type_is_float(spyp_reflection *r) {
    return PyBool_FromLong(
        spyp_type_within(r, 1u << SPY_DTYPE_FLOAT16 | 1u << SPY_DTYPE_FLOAT32 | 1u << SPY_DTYPE_FLOAT64));
}

static PyObject *spyp_type_is_signed(spyp_reflection *r) {
    return PyBool_FromLong(spyp_type_within(r, 1u << SPY_DTYPE_INT8 | 1u << SPY_DTYPE_INT16 |
                                                   1u << SPY_DTYPE_INT32 | 1u << SPY_DTYPE_INT64));
}

static PyObject *spyp_type_is_integer(spyp_reflection *r) {
    return PyBool_FromLong(spyp_type_within(r, 1u << SPY_DTYPE_INT8 | 1u << SPY_DTYPE_INT16 |
                                                   1u << SPY_DTYPE_INT32 | 1u << SPY_DTYPE_INT64 |
                                                   1u << SPY_DTYPE_UINT8 | 1u << SPY_DTYPE_UINT16 |
                                                   1u << SPY_DTYPE_UINT32 | 1u << SPY_DTYPE_UINT64));
}

static PyObject *spyp_type_is_bool(spyp_reflection *r) {
    return PyBool_FromLong(spyp_type_within(r, 1u << SPY_DTYPE_BOOL));
}

static PyObject *spyp_type_attributes(spyp_reflection *r) {
    return spyp_attribute_list(r, r->type->decl);
}

static PyObject *spyp_type_decl(spyp_reflection *r) {
    return spyp_reflect_decl(SPYP_DECL, r->module, r->type->decl);
}

static const spy_type_info *spyp_unwrapped(const spy_type_info *info) {
    while (info->kind == SPY_TYPE_KIND_ARRAY && info->element) info = info->element;
    return info;
}

static PyObject *spyp_type_unwrap(PyObject *self, PyObject *ignored) {
    spyp_reflection *r = (spyp_reflection *)self;
    SPYP_UNUSED(ignored);
    if (spyp_reflection_open(r, "unwrap_array") < 0) return NULL;
    return spyp_reflect_type(spyp_reflection_is(self, SPYP_TYPE) ? SPYP_TYPE : SPYP_TYPE_LAYOUT, r->module,
                             spyp_unwrapped(r->type));
}

static PyObject *spyp_type_implements(PyObject *self, PyObject *super) {
    spyp_reflection *r = (spyp_reflection *)self;
    const spy_type_info *b = spyp_reflection_open(r, "implements") == 0
                                 ? spyp_reflected_type(r->module, super, "implements: argument 'interface'")
                                 : NULL;
    if (!b || spyp_enter(r->module->device, "implements") < 0) return NULL;
    bool yes = spy_type_implements(r->module->module, r->type->name, b->name);
    spy_error error = { SPY_OK, "" };
    if (!yes) error = spy_take_error(r->module->device->device);
    spyp_leave(r->module->device);
    return error.code == SPY_OK ? PyBool_FromLong(yes)
                                : spyp_raise_status(error.code, error.message, "implements");
}

static const spy_decl *spyp_field_of(const spy_type_info *info, const char *name, size_t size) {
    for (uint32_t i = 0; i < info->field_count; i++)
        if (strlen(info->fields[i].name) == size && strncmp(info->fields[i].name, name, size) == 0)
            return &info->fields[i];
    return NULL;
}

// Returns a field as a variable of the type, or of its layout.
static PyObject *spyp_type_find_field(PyObject *self, PyObject *name) {
    spyp_reflection *r = (spyp_reflection *)self;
    const char *text = PyUnicode_Check(name) ? spyp_utf8(name) : NULL;
    if (spyp_reflection_open(r, "find_field") < 0) return NULL;
    if (!text)
        return PyErr_Format(PyExc_TypeError, "find_field: argument 'name': expected a str, got %R",
                            (PyObject *)Py_TYPE(name));
    return spyp_reflect_decl(spyp_reflection_is(self, SPYP_TYPE) ? SPYP_VARIABLE : SPYP_VARIABLE_LAYOUT,
                             r->module, spyp_field_of(r->type, text, strlen(text)));
}

SPYP_NAMED(spyp_attribute_at_by_index, spyp_attribute_at, "get_user_attribute_by_index", "index")
SPYP_NAMED(spyp_find_attribute_by_name, spyp_find_attribute, "find_user_attribute_by_name", "name")
SPYP_NAMED(spyp_type_find_field_by_name, spyp_type_find_field, "find_field", "name")

static PyMethodDef spyp_type_methods[] = {
    { "get_user_attribute_count", spyp_attribute_total, METH_NOARGS, "get_user_attribute_count(): the number of user attributes of its declaration." },
    { "get_user_attribute_by_index", SPYP_FUNC(spyp_attribute_at_by_index), METH_FASTCALL | METH_KEYWORDS, "get_user_attribute_by_index(index): an Attribute." },
    { "find_user_attribute_by_name", SPYP_FUNC(spyp_find_attribute_by_name), METH_FASTCALL | METH_KEYWORDS, "find_user_attribute_by_name(name): the Attribute of that name, or None." },
    { "unwrap_array", spyp_type_unwrap, METH_NOARGS,
      "unwrap_array(): the type of an array's innermost elements; the type itself if it is not an array." },
    { "find_field", SPYP_FUNC(spyp_type_find_field_by_name), METH_FASTCALL | METH_KEYWORDS,
      "find_field(name): the VariableReflection of a field, or None." },
    { "implements", spyp_type_implements, METH_O,
      "implements(interface): whether the type implements an interface, which is given as a type or by name." },
    { NULL, NULL, 0, NULL },
};

static PyObject *spyp_type_generation(spyp_reflection *r) {
    return PyLong_FromUnsignedLong(r->module->device->reload_count + 1ul);
}

static const spyp_property spyp_type_properties[] = {
    SPYP_GET("kind", spyp_type_kind, "A TypeReflection.Kind."),
    SPYP_GET("name", spyp_type_name, "The name without namespaces and generic arguments: 'Grid', 'vector'; '_Texture' of textures."),
    SPYP_GET("generation", spyp_type_generation, "A number that a reload makes larger: after it the object has the new contents."),
    SPYP_GET("full_name", spyp_type_full_name, "The name in full, as Slang prints it: 'geometry.Grid<float, 4>', 'vector<float,3>[4]'."),
    SPYP_GET("scalar_type", spyp_type_scalar,
             "The TypeReflection.ScalarType of a scalar, vector or matrix; none for other types."),
    SPYP_GET("row_count", spyp_type_rows, "Rows of a matrix; 1 for vectors and scalars; 0 for other types."),
    SPYP_GET("col_count", spyp_type_columns,
             "Columns of a matrix, components of a vector; 1 for scalars; 0 for other types."),
    SPYP_GET("element_type", spyp_type_element,
             "The type of the elements of an array, vector, matrix, pointer, buffer or texture; the integer type of an enum; None for "
             "other types."),
    SPYP_GET("element_count", spyp_type_element_count, "The number of elements of an array (0 without a size) or vector; 0 for other "
        "types."),
    SPYP_GET("total_array_element_count", spyp_type_total_count,
             "The number of all elements of an array of arrays; 0 for other types."),
    SPYP_GET("fields", spyp_type_fields, "A struct's fields, as VariableReflections."),
    SPYP_GET("field_count", spyp_type_field_count, "The number of fields of a struct."),
    SPYP_GET("resource_shape", spyp_type_resource_shape,
             "A TypeReflection.ResourceShape; none for a type that is not a resource."),
    SPYP_GET("resource_access", spyp_type_resource_access,
             "A TypeReflection.ResourceAccess; none for a type that is not a resource."),
    SPYP_GET("resource_result_type", spyp_type_resource_result,
             "The type of the elements of a buffer or texture; None for a type that is not a resource."),
    SPYP_GET("shape", spyp_type_shape,
             "The sizes of arrays, matrices and vectors, outermost first; () for others."),
    SPYP_IF("is_array", SPYP_TYPE_IS, SPYP_KIND(SPY_TYPE_KIND_ARRAY), "Whether the type is an array."),
    SPYP_IF("is_scalar", SPYP_TYPE_IS, SPYP_KIND(SPY_TYPE_KIND_SCALAR), "Whether the type is a scalar."),
    SPYP_IF("is_vector", SPYP_TYPE_IS, SPYP_KIND(SPY_TYPE_KIND_VECTOR), "Whether the type is a vector."),
    SPYP_IF("is_matrix", SPYP_TYPE_IS, SPYP_KIND(SPY_TYPE_KIND_MATRIX), "Whether the type is a matrix."),
    SPYP_IF("is_struct", SPYP_TYPE_IS, SPYP_KIND(SPY_TYPE_KIND_STRUCT), "Whether the type is a struct."),
    SPYP_GET("is_float", spyp_type_is_float, "Whether the type's numbers are floats: half, float or double."),
    SPYP_GET("is_integer", spyp_type_is_integer, "Whether the type's numbers are integers, signed or not."),
    SPYP_GET("is_signed", spyp_type_is_signed, "Whether the type's numbers are signed integers."),
    SPYP_GET("is_bool", spyp_type_is_bool, "Whether the type's components are bools."),
    SPYP_GET("user_attributes", spyp_type_attributes,
             "Attributes of the declaration of a struct, enum or interface of this module."),
    SPYP_OF_TYPE("size_bytes", SPYP_TYPE_SIZE, size_bytes, "Bytes in C's layout; 0 for what host memory cannot hold."),
    SPYP_GET("decl", spyp_type_decl,
             "The DeclReflection of a struct, enum or interface of this module, or None."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_type_class = {
    "TypeReflection",
    "A Slang type. It can be given as the dtype of tensors and in map().",
    spyp_type_properties,
    spyp_type_methods,
    NULL,
};

// >>layouts

static PyObject *spyp_layout_type(spyp_reflection *r) {
    return spyp_reflect_type(SPYP_TYPE, r->module, r->type);
}

static PyObject *spyp_layout_fields(spyp_reflection *r) {
    return spyp_decl_list(SPYP_VARIABLE_LAYOUT, r->module, r->type->fields, r->type->field_count, ~0u);
}

static PyObject *spyp_layout_element(spyp_reflection *r) {
    return spyp_reflect_type(SPYP_TYPE_LAYOUT, r->module, r->type->element);
}

static PyMethodDef spyp_type_layout_methods[] = {
    { "unwrap_array", spyp_type_unwrap, METH_NOARGS,
      "unwrap_array(): the layout of an array's innermost elements; the layout itself if it is not an array's." },
    { "find_field", SPYP_FUNC(spyp_type_find_field_by_name), METH_FASTCALL | METH_KEYWORDS,
      "find_field(name): the VariableLayoutReflection of a field, or None." },
    { NULL, NULL, 0, NULL },
};

static const spyp_property spyp_type_layout_properties[] = {
    SPYP_GET("kind", spyp_type_kind, "A TypeReflection.Kind."),
    SPYP_GET("name", spyp_type_name, "The type's name."),
    SPYP_GET("type", spyp_layout_type, "The TypeReflection."),
    SPYP_OF_TYPE("size", SPYP_TYPE_SIZE, device_size_bytes,
                 "The bytes on the device, as in a tensor, or among shader parameters: there a resource is a handle on CUDA and "
                 "has no bytes on Vulkan. 0 for generic types with open parameters."),
    SPYP_OF_TYPE("alignment", SPYP_TYPE_SIZE, device_align_bytes, "Alignment in bytes on the device."),
    SPYP_OF_TYPE("stride", SPYP_TYPE_SIZE, device_stride_bytes,
                 "The bytes from one element of an array to the next on the device."),
    SPYP_OF_TYPE("host_size", SPYP_TYPE_SIZE, size_bytes, "The bytes in C's layout, the layout of host data."),
    SPYP_OF_TYPE("host_alignment", SPYP_TYPE_SIZE, align_bytes, "Alignment in bytes in C's layout."),
    SPYP_GET("fields", spyp_layout_fields, "A struct's fields, as VariableLayoutReflections."),
    SPYP_GET("element_type_layout", spyp_layout_element, "The layout of the elements of an array, vector or buffer, or the scalar's "
        "of a matrix; None for other types."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_type_layout_class = {
    "TypeLayoutReflection",
    "The layout of a type in memory.",
    spyp_type_layout_properties,
    spyp_type_layout_methods,
    NULL,
};

// >>the cursor

static PyObject *spyp_reflection_cursor_make(spyp_reflection *from, const spy_type_info *type, size_t offset,
                                             size_t host_offset) {
    spyp_reflection *c = spyp_reflection_make(SPYP_CURSOR, from->module);
    if (!c) return NULL;
    c->type = type;
    c->offset = from->offset + offset;
    c->host_offset = from->host_offset + host_offset;
    return (PyObject *)c;
}

// Makes the cursor of a ShaderProgram, which goes to its globals and its entry points by their names, or of an
// entry point, which goes to its parameters. _reflected_parts() of a program returns (a module, dict of parts).
static PyObject *spyp_cursor_of_program(PyObject *program) {
    PyObject *made = PyObject_CallMethod(program, "_reflected_parts", NULL), *module, *parts;
    spyp_reflection *c = NULL;
    if (made &&
        PyArg_ParseTuple(made, "O!O!:ReflectionCursor", spyp.module_type, &module, &PyDict_Type, &parts)) {
        c = spyp_reflection_make(SPYP_CURSOR, (spyp_module *)module);
        if (c) c->parts = Py_NewRef(parts);
    }
    Py_XDECREF(made);
    return (PyObject *)c;
}

static PyObject *spyp_cursor_new(PyTypeObject *class, PyObject *args, PyObject *kwargs) {
    static char *names[] = { "layout", NULL }, *slangpy_names[] = { "shader_program", NULL };
    PyObject *layout;
    spyp_reflection from;
    SPYP_UNUSED(class);
    memset(&from, 0, sizeof from);
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:ReflectionCursor", kwargs && PyDict_GetItemString(kwargs, "layout") ? names : slangpy_names, &layout)) return NULL;
    if (PyObject_HasAttrString(layout, "_reflected_parts")) return spyp_cursor_of_program(layout);
    const spy_type_info *info = spyp_reflection_type(layout, &from.module);
    if (spyp_reflection_is(layout, SPYP_VARIABLE_LAYOUT)) {
        spyp_reflection *r = (spyp_reflection *)layout;
        from.module = r->module;
        info = spyp_reflection_open(r, "ReflectionCursor") == 0 ? r->decl->type : NULL;
    }
    if (info) return spyp_reflection_cursor_make(&from, info, 0, 0);
    if (!PyErr_Occurred())
        PyErr_Format(
            PyExc_TypeError,
            "ReflectionCursor: argument 'layout': expected a type or layout or ShaderProgram, got %R",
            (PyObject *)Py_TYPE(layout));
    return NULL;
}

// Returns the type in which a cursor looks for a name. It goes through a buffer of one struct: cursor.light.color finds a field of a
// ConstantBuffer<Light>.
static const spy_type_info *spyp_cursor_inside(const spy_type_info *info) {
    bool buffer = info->kind == SPY_TYPE_KIND_CONSTANT_BUFFER || info->kind == SPY_TYPE_KIND_PARAMETER_BLOCK;
    return buffer && info->element ? info->element : info;
}

// Returns the cursor at a part of a program: at a global shader parameter, or at an entry point.
static PyObject *spyp_cursor_part(spyp_reflection *c, PyObject *part) {
    spyp_reflection *of = (spyp_reflection *)part, *made = NULL;
    SPYP_UNUSED(c);
    if (spyp_reflection_is(part, SPYP_VARIABLE_LAYOUT) && spyp_reflection_open(of, "ReflectionCursor") == 0 &&
        of->decl->type)
        return spyp_reflection_cursor_make(of, of->decl->type, of->decl->device_offset_bytes,
                                           of->decl->offset_bytes);
    if (!PyErr_Occurred() && (made = spyp_reflection_make(SPYP_CURSOR, of->module))) made->decl = of->decl;
    return (PyObject *)made;
}

static PyObject *spyp_cursor_field(spyp_reflection *c, const char *name, size_t size) {
    const spy_decl *field = NULL;
    if (c->parts) {
        PyObject *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)size);
        PyObject *part = key ? Py_XNewRef(PyDict_GetItemWithError(c->parts, key)) : NULL;
        PyObject *found = part ? spyp_cursor_part(c, part) : NULL;
        Py_XDECREF(key);
        Py_XDECREF(part);
        return found;
    }
    for (uint32_t i = 0; c->decl && !field && i < c->decl->child_count; i++) {
        const spy_decl *p = &c->decl->children[i];
        if (p->kind == SPY_DECL_KIND_PARAMETER && strlen(p->name) == size &&
            strncmp(p->name, name, size) == 0)
            field = p;
    }
    if (c->type) field = spyp_field_of(spyp_cursor_inside(c->type), name, size);
    return field && field->type
               ? spyp_reflection_cursor_make(c, field->type, field->device_offset_bytes, field->offset_bytes)
               : NULL;
}

static PyObject *spyp_cursor_element(spyp_reflection *c, long long index) {
    const spy_type_info *t = c->type;
    if (!t) return NULL;
    long long count = t->kind == SPY_TYPE_KIND_ARRAY    ? (t->count ? (long long)t->count : INT64_MAX)
                      : t->kind == SPY_TYPE_KIND_VECTOR ? (long long)t->columns
                                                        : 0;
    if (!t->element || index < 0 || index >= count) return NULL;
    return spyp_reflection_cursor_make(c, t->element, t->element->device_stride_bytes * (size_t)index,
                                       t->element->size_bytes * (size_t)index);
}

// Follows one step of a path, "name" or "[3]", and moves *path behind it. NULL without an exception means that there is no such part.
static PyObject *spyp_cursor_step(spyp_reflection *c, const char **path) {
    const char *at = *path;
    if (*at == '[') {
        char *end;
        long long index = strtoll(at + 1, &end, 10);
        if (end == at + 1 || *end != ']') return NULL;
        *path = end + 1 + (end[1] == '.');
        return spyp_cursor_element(c, index);
    }
    size_t size = strcspn(at, ".[");
    *path = at + size + (at[size] == '.');
    return spyp_cursor_field(c, at, size);
}

static PyObject *spyp_cursor_walk(PyObject *self, const char *path) {
    PyObject *at = *path ? Py_NewRef(self) : NULL;
    while (at && *path) {
        PyObject *next = spyp_cursor_step((spyp_reflection *)at, &path);
        spyp_replace(&at, next);
    }
    return at;
}

// Finds a part by its name, path or number. Returns NULL, without an exception, if there is none.
static PyObject *spyp_cursor_look(PyObject *self, PyObject *key) {
    spyp_reflection *c = (spyp_reflection *)self;
    if (spyp_reflection_open(c, "ReflectionCursor") < 0) return NULL;
    if (PyUnicode_Check(key)) {
        const char *path = spyp_utf8(key);
        return path ? spyp_cursor_walk(self, path) : NULL;
    }
    if (PyLong_Check(key)) {
        int overflow;
        long long index = PyLong_AsLongLongAndOverflow(key, &overflow);
        return spyp_cursor_element(c, overflow ? -1 : index);
    }
    return PyErr_Format(PyExc_TypeError, "ReflectionCursor: expected a name, a path or an index, got %R",
                        (PyObject *)Py_TYPE(key));
}

// _check(key, value) raises an error if a value may not be set at a part; a key of None is the cursor's own place. A texture's
// place takes no number, string or sampler, a sampler's place takes only samplers, and a number's place takes neither textures
// nor samplers. What else is wrong with a value is found when the work with it is recorded.
static PyObject *spyp_cursor_check(PyObject *self, PyObject *args) {
    PyObject *key, *value;
    if (!PyArg_ParseTuple(args, "OO:_check", &key, &value)) return NULL;
    PyObject *at = key == Py_None ? Py_NewRef(self) : spyp_cursor_look(self, key);
    const spy_type_info *t = at ? ((spyp_reflection *)at)->type : NULL;
    if (t && spyp_reflection_open((spyp_reflection *)at, "cursor") == 0) {
        bool texture = PyObject_TypeCheck(value, spyp.texture), sampler = PyObject_TypeCheck(value, spyp.sampler);
        bool number = PyLong_Check(value) || PyFloat_Check(value) || PyUnicode_Check(value);
        const char *takes = NULL;
        if (t->kind == SPY_TYPE_KIND_RESOURCE && (number || sampler)) takes = "a texture or buffer";
        if (t->kind == SPY_TYPE_KIND_SAMPLER && (number || texture || PyObject_TypeCheck(value, spyp.tensor))) takes = "a sampler";
        if (SPYP_NUMBERS >> t->kind & 1 && (texture || sampler)) takes = "numbers";
        if (takes)
            PyErr_Format(spyp.type_error, "cursor: a place of type %s takes %s, got %R", t->name, takes, (PyObject *)Py_TYPE(value));
    }
    Py_XDECREF(at);
    if (PyErr_Occurred()) return NULL;
    Py_RETURN_NONE;
}

static const char *spyp_cursor_text(const spyp_reflection *c) {
    return c->type ? c->type->name : c->decl ? c->decl->name : c->parts ? "the program" : "an invalid cursor";
}

static PyObject *spyp_cursor_missing(PyObject *self, PyObject *key, PyObject *exception) {
    if (!PyErr_Occurred())
        PyErr_Format(exception, "ReflectionCursor: '%s' has no field or element %R",
                     spyp_cursor_text((spyp_reflection *)self), key);
    return NULL;
}

static PyObject *spyp_cursor_item(PyObject *self, PyObject *key) {
    PyObject *found = spyp_cursor_look(self, key);
    return found ? found
                 : spyp_cursor_missing(self, key, PyUnicode_Check(key) ? spyp.lookup_error : spyp.index_error);
}

static PyObject *spyp_cursor_getattr(PyObject *self, PyObject *name) {
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError)) return value;
    const char *text = spyp_attribute_text(name);
    if (!text || strncmp(text, "__", 2) == 0) return NULL;
    PyErr_Clear();
    value = spyp_cursor_look(self, name);
    return value ? value : spyp_cursor_missing(self, name, spyp.lookup_error);
}

// find(key): returns a part's cursor, or an invalid cursor, which is false, if there is no such part.
static PyObject *spyp_cursor_find(PyObject *self, PyObject *key) {
    PyObject *found = spyp_cursor_look(self, key);
    return found || PyErr_Occurred()
               ? found
               : (PyObject *)spyp_reflection_make(SPYP_CURSOR, ((spyp_reflection *)self)->module);
}

static int spyp_cursor_bool(PyObject *self) {
    spyp_reflection *c = (spyp_reflection *)self;
    return (c->type || c->decl || c->parts) && c->module->device->device;
}

static PyObject *spyp_cursor_valid(PyObject *self, PyObject *ignored) {
    SPYP_UNUSED(ignored);
    return PyBool_FromLong(spyp_cursor_bool(self));
}

static PyObject *spyp_cursor_has(PyObject *self, PyObject *key) {
    PyObject *found = spyp_cursor_look(self, key);
    if (!found && PyErr_Occurred()) return NULL;
    bool yes = found != NULL;
    Py_XDECREF(found);
    return PyBool_FromLong(yes);
}

static PyObject *spyp_cursor_offset(spyp_reflection *c) {
    return PyLong_FromSize_t(c->offset);
}

static PyObject *spyp_cursor_host_offset(spyp_reflection *c) {
    return PyLong_FromSize_t(c->host_offset);
}

static PyObject *spyp_cursor_layout(spyp_reflection *c) {
    return spyp_reflect_type(SPYP_TYPE_LAYOUT, c->module, c->type);
}

// _names() returns the names of the parts of a program, an entry point or a struct as a list.
static PyObject *spyp_cursor_names(PyObject *self, PyObject *ignored) {
    spyp_reflection *c = (spyp_reflection *)self;
    SPYP_UNUSED(ignored);
    if (spyp_reflection_open(c, "ReflectionCursor") < 0) return NULL;
    if (c->parts) return PyDict_Keys(c->parts);
    const spy_type_info *type = c->type ? spyp_cursor_inside(c->type) : NULL;
    const spy_decl *from = type ? type->fields : c->decl ? c->decl->children : NULL;
    uint32_t count = type ? type->field_count : c->decl ? c->decl->child_count : 0;
    PyObject *list = PyList_New(0);
    for (uint32_t i = 0; list && i < count; i++) {
        if (!type && from[i].kind != SPY_DECL_KIND_PARAMETER) continue;
        PyObject *name = PyUnicode_FromString(from[i].name);
        if (!name || PyList_Append(list, name) < 0) Py_CLEAR(list);
        Py_XDECREF(name);
    }
    return list;
}

// _entry_points() returns the names of a program's entry points as a list.
static PyObject *spyp_cursor_entry_points(PyObject *self, PyObject *ignored) {
    spyp_reflection *c = (spyp_reflection *)self;
    PyObject *list = PyList_New(0), *key, *part;
    Py_ssize_t at = 0;
    SPYP_UNUSED(ignored);
    while (list && c->parts && PyDict_Next(c->parts, &at, &key, &part))
        if (!spyp_reflection_is(part, SPYP_VARIABLE_LAYOUT) && PyList_Append(list, key) < 0) Py_CLEAR(list);
    return list;
}

SPYP_NAMED(spyp_cursor_find_by_name, spyp_cursor_find, "find_field", "name")
SPYP_NAMED(spyp_cursor_find_by_index, spyp_cursor_find, "find_element", "index")
SPYP_NAMED(spyp_cursor_has_by_name, spyp_cursor_has, "has_field", "name")
SPYP_NAMED(spyp_cursor_has_by_index, spyp_cursor_has, "has_element", "index")

static PyMethodDef spyp_cursor_methods[] = {
    { "_check", spyp_cursor_check, METH_VARARGS, "_check(key, value): raises an error if the value may not be set at the part." },
    { "_names", spyp_cursor_names, METH_NOARGS, "_names(): the names of the parts." },
    { "_entry_points", spyp_cursor_entry_points, METH_NOARGS, "_entry_points(): the names of a program's entry points." },
    { "find_field", SPYP_FUNC(spyp_cursor_find_by_name), METH_FASTCALL | METH_KEYWORDS,
      "find_field(name): returns a cursor at a field, which may be a path such as 'lights[2].color'; an invalid cursor if "
      "there is no such field." },
    { "find_element", SPYP_FUNC(spyp_cursor_find_by_index), METH_FASTCALL | METH_KEYWORDS,
      "find_element(index): returns a cursor at an element of an array or vector; an invalid cursor if there is no such "
      "element." },
    { "has_field", SPYP_FUNC(spyp_cursor_has_by_name), METH_FASTCALL | METH_KEYWORDS, "has_field(name): whether find_field() finds "
        "that name." },
    { "has_element", SPYP_FUNC(spyp_cursor_has_by_index), METH_FASTCALL | METH_KEYWORDS, "has_element(index): whether find_element() "
        "finds that index." },
    { "is_valid", spyp_cursor_valid, METH_NOARGS,
      "is_valid(): whether the cursor has found something, and its device is open; bool(cursor) is the same." },
    { NULL, NULL, 0, NULL },
};

static const PyType_Slot spyp_cursor_slots[] = {
    { Py_tp_new, (void *)spyp_cursor_new },
    { Py_tp_getattro, (void *)spyp_cursor_getattr },
    { Py_mp_subscript, (void *)spyp_cursor_item },
    { Py_nb_bool, (void *)spyp_cursor_bool },
    { 0, NULL },
};

static const spyp_property spyp_cursor_properties[] = {
    SPYP_GET("type", spyp_layout_type, "The TypeReflection at the cursor."),
    SPYP_GET("type_layout", spyp_cursor_layout, "The TypeLayoutReflection at the cursor."),
    SPYP_GET("offset", spyp_cursor_offset, "The bytes from the first cursor's position on the device."),
    SPYP_GET("host_offset", spyp_cursor_host_offset, "The bytes from the first cursor's position in C's layout."),
    { NULL, NULL, SPYP_COMPUTED, 0, NULL },
};
const spyp_reflection_class spyp_cursor_class = {
    "ReflectionCursor",
    "ReflectionCursor(layout): walks through a type or layout, or through a ShaderProgram's globals, entry "
    "points and their parameters: "
    "cursor.light.color, cursor['lights[2].color'], cursor[2]; cursor.main.scale.",
    spyp_cursor_properties,
    spyp_cursor_methods,
    spyp_cursor_slots,
};
