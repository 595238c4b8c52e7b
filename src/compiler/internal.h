// What the files of this room share beyond sessions: Slang's types and functions as ours, shader parameters, entry points, and
// questions that are asked by compiling a text.
#ifndef SPYI_COMPILER_INTERNAL_H
#define SPYI_COMPILER_INTERNAL_H

#include "compiler/session.h"

// >>code.c

// "Type : IInterface" or "Type : IInterface = id" as a part of programs; NULL: `messages` says why.
SPYI_FN spyi_sl_component *spyi_sl_conformance(spyi_unit *unit, spyi_sl_live *live, const char *text,
                                               spyi_text *messages);

// >>reflect_name.c, reflect_type.c and reflect_function.c

// Names that crash libslang's look-ups, or mean nothing, are stopped here.
SPYI_FN bool spyi_sl_name_is_safe(const char *name);
// The part after the last "::" or "." outside of <>; *prefix: bytes of what stands before that, 0: nothing does.
SPYI_FN const char *spyi_sl_last_part(const char *name, size_t *prefix);
SPYI_FN spyi_sl_type *spyi_sl_type_named(spyi_unit *unit, spyi_sl_live *live,
                                         const char *name); // NULL: there is none
SPYI_FN spyi_sl_type *spyi_sl_type_of(spyi_unit *unit, spyi_sl_live *live,
                                      const spyi_type *type); // NULL: unknown there
// Our type. `open`: it may depend on generic parameters, which have no layout.
SPYI_FN const spyi_type *spyi_sl_to_type(spyi_unit *unit, spyi_sl_live *live, spyi_sl_type *slang, bool open);
// Whether it is a structured, byte-address or typed buffer.
SPYI_FN bool spyi_sl_is_buffer(const spyi_sl_library *lib, spyi_sl_type *slang);
SPYI_FN bool spyi_sl_is_unsized(spyi_unit *unit, spyi_sl_type *slang); // T[]
// Has types that only a link completes known as without layout, before libslang is asked for one.
SPYI_FN void spyi_sl_note_externs(spyi_unit *unit, spyi_sl_live *live);
SPYI_FN void spyi_sl_full_name(spyi_unit *unit, spyi_sl_type *slang, spyi_text *out);
// The function or set of overloads of that name; NULL: there is none. *constructed: the struct whose constructors they are.
SPYI_FN spyi_sl_function *spyi_sl_find_function(spyi_unit *unit, spyi_sl_live *live, const char *name,
                                                spyi_sl_type **constructed);
// The type that stands before the last "::" or "."; NULL: none, or a namespace.
SPYI_FN spyi_sl_type *spyi_sl_owner(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Whether a function that was found by `name` is a method of an instance.
SPYI_FN bool spyi_sl_needs_instance(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                    const char *name);
// Whether one of the session's modules declares the function, or an overload; else it is of Slang's core module.
SPYI_FN bool spyi_sl_is_declared(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function);
SPYI_FN uint32_t spyi_sl_overload_count(spyi_unit *unit, spyi_sl_function *function);
SPYI_FN spyi_sl_function *spyi_sl_overload(spyi_unit *unit, spyi_sl_function *function, uint32_t index);
SPYI_FN void spyi_sl_to_signature(spyi_unit *unit, spyi_sl_live *live, spyi_sl_function *function,
                                  const char *name, spyi_sl_type *constructed, bool specialised,
                                  spyi_signature *out);

// >>inputs.c and input_walk.c

// A shader parameter with its binding as Slang numbers it.
typedef struct spyi_sl_binding {
    uint32_t set, binding; // UINT32_MAX: none. by_address: 0, and the uniform buffer's number
    uint32_t uniform_size; // of the uniform buffer that lies there, or holds it; 0: no such
    uint32_t count;        // buffers: of the array whose first element it is; 1: no array; 0: a later element
    const spyi_type *texel; // of typed buffers; else NULL
} spyi_sl_binding;

// All shader parameters of a linked program but the kernel's own block; false: out of memory. bindings[i] of inputs[i].
SPYI_FN bool spyi_sl_find_inputs(spyi_unit *unit, spyi_sl_live *live, spyi_sl_layout *layout,
                                 spyi_inputs *inputs, spyi_sl_binding **bindings);

// >>entry.c
// As spyi_unit_is_cuda_kernel(), within a task.
SPYI_FN bool spyi_sl_is_cuda_kernel(spyi_unit *unit, spyi_sl_live *live, const char *name);
// Where the parameters of a linked program's entry point lie.
SPYI_FN void spyi_sl_entry_places(spyi_unit *unit, spyi_sl_component *linked, spyi_entry *out);

// >>resolve.c
// Whether the text compiles; else `out` gets Slang's messages. `what` becomes a part of its name. About 3 ms.
SPYI_FN bool spyi_sl_ask_source(spyi_unit *unit, const char *what, const spyi_text *source, spyi_text *out);

// >>nested.c

typedef struct spyi_sl_nested spyi_sl_nested;
SPYI_FN void spyi_sl_nested_free(spyi_sl_nested *nested); // and NULL
// Whether all functions that the derivative in a kernel goes through have one in its mode. The kernel's module is loaded;
// `source` is its text. false: `why` names the function and what to write.
SPYI_FN bool spyi_sl_nested_derivatives(spyi_unit *unit, spyi_sl_live *live, spyi_sl_module *kernel,
                                        const char *source, spyi_text *why);

// >>names.c

// Whether Slang added a function of that name: constructors, and derivatives beside each differentiable function.
SPYI_FN bool spyi_sl_is_synthesised(const char *name);

#endif // SPYI_COMPILER_INTERNAL_H
