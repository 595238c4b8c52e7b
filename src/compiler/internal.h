// Declarations for all files of src/compiler besides sessions: conversion of Slang's types and functions to
// spyi_type and spyi_signature, shader parameters, entry points, and queries by compiling a text.
#ifndef SPYI_COMPILER_INTERNAL_H
#define SPYI_COMPILER_INTERNAL_H

#include "compiler/session.h"
#include "data/texture_form.h"

// >>code.c

// Makes the component of a program for the conformance "Type : IInterface" or "Type : IInterface = id". On
// failure returns NULL and appends the reason to `messages`.
SPYI_FN spyi_sl_component *spyi_sl_conformance(spyi_unit *unit, spyi_sl_live *live, const char *text,
                                               spyi_text *messages);

// >>reflect_name.c, reflect_type.c and reflect_function.c

// Returns false for names that crash libslang's look-ups or mean nothing.
SPYI_FN bool spyi_sl_name_is_safe(const char *name);
// Returns the part after the last "::" or "." outside of <>. *prefix becomes the number of bytes before that
// separator, or 0.
SPYI_FN const char *spyi_sl_last_part(const char *name, size_t *prefix);
SPYI_FN spyi_sl_type *spyi_sl_type_named(spyi_unit *unit, spyi_sl_live *live,
                                         const char *name); // returns NULL if there is none
SPYI_FN spyi_sl_type *spyi_sl_type_of(spyi_unit *unit, spyi_sl_live *live,
                                      const spyi_type *type); // returns NULL if the unit's modules do not
                                                              // know the type
// Returns the spyi_type of a Slang type. With `open` the type may depend on generic parameters, which have no
// layout.
SPYI_FN const spyi_type *spyi_sl_to_type(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang, bool open);
// The bytes of a type among a device's uniform data; all are 0 where libslang must not be asked, or has no
// numbers.
typedef struct spyi_sl_uniform {
    size_t size, align, stride;
} spyi_sl_uniform;
SPYI_FN spyi_sl_uniform spyi_sl_uniform_of(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang);
// Returns whether the type is a structured, byte-address or typed buffer.
SPYI_FN bool spyi_sl_is_buffer(const spyi_sl_library *lib, spyi_sl_type *slang);
SPYI_FN bool spyi_sl_is_unsized(spyi_unit *unit, spyi_sl_type *slang); // returns whether the type is T[]
// Records the `extern` types, which only a link completes, as types without a layout, so that libslang is
// never asked for their layout.
SPYI_FN void spyi_sl_note_externs(spyi_unit *unit, spyi_sl_live *live);
SPYI_FN void spyi_sl_full_name(spyi_unit *unit, spyi_sl_type *slang, spyi_text *out);
// Finds the function or set of overloads called `name`; NULL if there is none. *constructed becomes the
// struct, if the functions are its constructors.
SPYI_FN spyi_sl_function *spyi_sl_find_function(spyi_unit *unit, spyi_sl_live *live, const char *name,
                                                spyi_sl_type **constructed);
// Returns the type before the last "::" or "." of `name`; NULL if nothing or a namespace is there.
SPYI_FN spyi_sl_type *spyi_sl_owner(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Returns whether a function that was found by `name` is a method that needs an instance.
SPYI_FN bool spyi_sl_needs_instance(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                    const char *name);
// Returns whether a module of the session declares the function; otherwise Slang's core module does.
SPYI_FN bool spyi_sl_is_declared(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function);
SPYI_FN uint32_t spyi_sl_overload_count(spyi_unit *unit, spyi_sl_function *function);
SPYI_FN spyi_sl_function *spyi_sl_overload(spyi_unit *unit, spyi_sl_function *function, uint32_t index);
// The direction of a parameter: whether values go in and come out, and whether `in` is written before it.
typedef struct spyi_sl_direction {
    bool in, out, in_written;
} spyi_sl_direction;
SPYI_FN spyi_sl_direction spyi_sl_direction_of(const spyi_sl_library *lib, spyi_sl_variable *variable);
SPYI_FN void spyi_sl_to_signature(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                  const char *name, spyi_sl_type *constructed, bool specialised,
                                  spyi_signature *out);

// >>inputs.c and input_walk.c

// The binding of one shader parameter in Slang's numbers.
typedef struct spyi_sl_binding {
    // UINT32_MAX if there is none. With rules->by_address: set 0, and `binding` is the uniform buffer's
    // number.
    uint32_t set, binding;
    // The bytes of the uniform buffer at this binding; 0 means that the parameter is not in a uniform buffer.
    uint32_t uniform_size;
    // For a buffer, the length of the array whose first element it is; 1 if it is not in an array; 0 for a
    // later element.
    uint32_t count;
    const spyi_type *texel; // element type of a typed buffer; otherwise NULL
    uint8_t kind;           // spyi_parameter_kind of a texture or sampler; otherwise 0
} spyi_sl_binding;

// Lists all shader parameters of a linked program except the kernel's own block. bindings[i] belongs to
// inputs->items[i]. Returns false when memory ran out; the caller frees *bindings in any case.
SPYI_FN bool spyi_sl_find_inputs(spyi_unit *unit, spyi_sl_live *live, spyi_sl_layout *layout,
                                 spyi_inputs *inputs, spyi_sl_binding **bindings);

// >>stage.c
// Returns Slang's number of a stage SPYI_STAGE_*; 0 stands for compute.
SPYI_FN uint32_t spyi_sl_stage_number(uint8_t stage);

// >>entry.c
// Returns the layout of an entry point of the unit's module, linked with the modules that the unit links, because
// constants of its [numthreads] may be declared extern. The caller releases *linked, unless it is NULL, when it is
// done with the layout.
SPYI_FN spyi_sl_layout *spyi_sl_entry_layout_of(spyi_sl_live *live, spyi_sl_entry_point *entry,
                                                spyi_sl_component **linked);
// Like spyi_unit_is_cuda_kernel(), for use inside a task of the worker.
SPYI_FN bool spyi_sl_is_cuda_kernel(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Appends lines about the functions of a module's IR, in the form of spyi_unit.networks: a mark and a name. The mark says
// whether the function is no network, one whose backward derivative the program gives or which has none, or one whose derivative Slang
// makes.
#define SPYI_NETWORK_NONE "!"
#define SPYI_NETWORK_PLAIN "~"
#define SPYI_NETWORK_DERIVED "+"
SPYI_FN void spyi_ir_networks(const char *text, spyi_text *names);
// Fills the offsets of the parameters of a linked program's entry point, and the size of their block.
SPYI_FN void spyi_sl_entry_places(spyi_unit *unit, spyi_sl_component *linked, spyi_entry *out);

// >>unit.c
// Appends imports of all modules that the unit has loaded: an import of the unit alone does not make the types of
// its imports visible.
SPYI_FN void spyi_unit_import_all(const spyi_unit *unit, spyi_text *out);

// >>resolve.c
// Returns whether the text compiles; if not, `out` gets Slang's messages. `what` becomes a part of the
// module's name. A text that names what the unit only imports is compiled once more, with the unit's imports.
// Cost: 3 ms.
SPYI_FN bool spyi_sl_ask_source(spyi_unit *unit, const char *what, const spyi_text *source, spyi_text *out);

// >>nested.c

typedef struct spyi_sl_nested spyi_sl_nested;
SPYI_FN void spyi_sl_nested_free(spyi_sl_nested *nested); // `nested` may be NULL
// Returns whether all functions that a kernel's derivative differentiates have a derivative in its mode.
// `kernel` is the kernel's loaded module, `source` its text. On false `why` names the function and says what
// to write.
SPYI_FN bool spyi_sl_nested_derivatives(spyi_unit *unit, spyi_sl_live *live, spyi_sl_module *kernel,
                                        const char *source, spyi_text *why);

// >>names.c

// Returns whether the name belongs to a function that Slang adds itself: a constructor, or a derivative.
SPYI_FN bool spyi_sl_is_synthesised(const char *name);

#endif // SPYI_COMPILER_INTERNAL_H
