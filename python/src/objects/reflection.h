// Reflection objects: functions and types that reflection.c, reflect_decls.c and reflect_types.c share.
#ifndef SPYP_REFLECTION_H
#define SPYP_REFLECTION_H

#include "objects/objects.h"

// The source of a property's value.
typedef enum spyp_form {
    SPYP_COMPUTED,  // the function `get` computes it
    SPYP_DECL_TEXT, // a const char * in the spy_decl, at byte `at`
    SPYP_DECL_SIZE, // a size_t in the spy_decl
    SPYP_DECL_UINT, // a uint32_t in the spy_decl
    SPYP_DECL_FLAG, // true if the declaration has a flag of the bits `at`
    SPYP_TYPE_TEXT, // a const char * in the spy_type_info, at byte `at`
    SPYP_TYPE_SIZE, // a size_t in the spy_type_info
    SPYP_TYPE_IS    // true if the type's kind is in `at`, which has a bit for each spy_type_kind
} spyp_form;

// One read-only property of a reflection class.
typedef struct spyp_property {
    const char *name, *doc;
    spyp_form form;
    size_t at;
    PyObject *(*get)(spyp_reflection *r);
} spyp_property;

// One reflection class: its name, properties and methods.
typedef struct spyp_reflection_class {
    const char *name, *doc;
    const spyp_property *properties; // ends with a NULL name
    PyMethodDef *methods;            // the methods, or NULL
    const PyType_Slot *more;         // further slots, which end with a 0, or NULL
} spyp_reflection_class;

#define SPYP_GET(name, get, doc) { name, doc, SPYP_COMPUTED, 0, get }
#define SPYP_OF_DECL(name, form, member, doc) { name, doc, form, offsetof(spy_decl, member), NULL }
#define SPYP_OF_TYPE(name, form, member, doc) { name, doc, form, offsetof(spy_type_info, member), NULL }
#define SPYP_IF(name, form, bits, doc) { name, doc, form, bits, NULL }

extern const spyp_reflection_class spyp_program_class, spyp_decl_class, spyp_function_class, spyp_variable_class,
    spyp_variable_layout_class, spyp_entry_point_class, spyp_attribute_class, spyp_type_class, spyp_type_layout_class,
    spyp_cursor_class;

spyp_reflection *spyp_reflection_make(spyp_reflected kind, spyp_module *module);
// Returns the module's object with the key `key`. If the module has none, makes it. Takes over the reference to `key`.
spyp_reflection *spyp_reflection_get(spyp_reflected kind, spyp_module *module, PyObject *key);
// Makes the object of a declaration. `decl` may be NULL, which gives None.
PyObject *spyp_reflect_decl(spyp_reflected kind, spyp_module *module, const spy_decl *decl);
// Returns the object of a function or variable of a generic declaration, whose generic parameters have these arguments: a dict of texts by name.
PyObject *spyp_reflect_with(spyp_reflected kind, spyp_module *module, const spy_decl *decl, PyObject *arguments);
PyObject *spyp_generic_arguments(const spy_decl *decl, PyObject *list);
// Makes the object of a type. `type` may be NULL, which gives None.
PyObject *spyp_reflect_type(spyp_reflected kind, spyp_module *module, const spy_type_info *type);
PyObject *spyp_attribute_total(PyObject *self, PyObject *ignored);
PyObject *spyp_attribute_at(PyObject *self, PyObject *index);
PyObject *spyp_find_attribute(PyObject *self, PyObject *name);
PyObject *spyp_reflect_attribute(spyp_module *module, const spy_attribute *attribute);
PyObject *spyp_full_name(const spy_type_info *type); // "vector<float,3>[4]", "Outer.Inner"
PyObject *spyp_type_repr(spyp_reflection *type);
PyObject *spyp_variable_repr(spyp_reflection *variable);
// Returns -1 with an exception set if the device was closed, because the declarations are gone then.
int spyp_reflection_open(spyp_reflection *r, const char *what);
PyObject *spyp_enum_class(const char *name); // a class of slangpy.reflection, a new reference
// Returns a member of an enum in slangpy.reflection as a new reference.
PyObject *spyp_enum(const char *name, long value);
// Returns a list of objects for the declarations whose kinds are among `kinds` (bits of 1 << kind).
PyObject *spyp_decl_list(spyp_reflected kind, spyp_module *module, const spy_decl *decls, uint32_t count, uint32_t kinds);
PyObject *spyp_constant_read(const spy_constant *constant);              // None means that the value is not known
PyObject *spyp_attribute_list(spyp_reflection *r, const spy_decl *decl); // decl may be NULL
// Returns the type that a Struct, TypeReflection, TypeLayoutReflection or name stands for, or NULL with an exception set. The reference to
// the object stays the caller's.
const spy_type_info *spyp_reflected_type(spyp_module *module, PyObject *object, const char *what);
// Returns a type by its name in Slang, or NULL, without an exception, if there is no such type.
const spy_type_info *spyp_find_type(spyp_module *module, const char *slang_name, bool required);

#define SPYP_FUNCTION_KINDS                                                                                  \
    (1u << SPY_DECL_KIND_FUNCTION | 1u << SPY_DECL_KIND_METHOD | 1u << SPY_DECL_KIND_CONSTRUCTOR)
#define SPYP_VARIABLE_KINDS \
    (1u << SPY_DECL_KIND_FIELD | 1u << SPY_DECL_KIND_PARAMETER | 1u << SPY_DECL_KIND_VARIABLE | 1u << SPY_DECL_KIND_SHADER_PARAMETER | \
     1u << SPY_DECL_KIND_ENUM_CASE | 1u << SPY_DECL_KIND_PROPERTY | 1u << SPY_DECL_KIND_GENERIC_VALUE)
#define SPYP_TYPE_KINDS \
    (1u << SPY_DECL_KIND_STRUCT | 1u << SPY_DECL_KIND_INTERFACE | 1u << SPY_DECL_KIND_ENUM | 1u << SPY_DECL_KIND_ALIAS | 1u << SPY_DECL_KIND_EXTENSION)

#endif // SPYP_REFLECTION_H
