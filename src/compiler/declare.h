// What the files that build a tree of declarations share: the tree's memory, and what is at hand while it is built.
#ifndef SPYI_COMPILER_DECLARE_H
#define SPYI_COMPILER_DECLARE_H

#include "compiler/internal.h"

typedef struct spyi_sl_block {
    struct spyi_sl_block *next;
    size_t size, used; // bytes behind this header
} spyi_sl_block;

struct spyi_declarations {
    spyi_sl_block *blocks; // the newest first
    bool failed;           // memory ran out: what is there is not whole
    spy_decl root;
    spy_type_info **by_id; // by spyi_type.id; NULL: not asked yet
    uint32_t by_id_count;
};

// A type whose fields are still to be listed.
typedef struct spyi_sl_pending {
    spy_type_info *info;
    const spyi_type *type;
    spyi_sl_type *slang;
    bool open;
    uint32_t depth; // structs that it was met inside of
} spyi_sl_pending;

typedef struct spyi_sl_builder {
    spyi_declarations *to;
    spyi_unit *unit;
    const spyi_sl_library *lib;
    spyi_sl_live *live;
    uint32_t open;  // generics that the walk is inside of
    uint32_t depth; // structs whose fields are being listed
    spyi_sl_pending *pending;
    uint32_t pending_count, pending_capacity;
    spyi_sl_type **types; // that the walk has met, where extensions look for theirs
    uint32_t type_count, type_capacity;
    const char *source_path; // document.c: the file that was read last, and where its lines begin
    spyi_text source;
    uint32_t *lines, line_count, line_capacity;
} spyi_sl_builder;

SPYI_FN void spyi_sl_builder_open(spyi_sl_builder *b, spyi_declarations *to, spyi_unit *unit,
                                  spyi_sl_live *live);
SPYI_FN void spyi_sl_builder_close(spyi_sl_builder *b);

// Memory that lives as long as the tree, zeroed; NULL and to->failed when there is none.
SPYI_FN void *spyi_sl_take(spyi_declarations *to, size_t size);
SPYI_FN const char *spyi_sl_keep(spyi_declarations *to, const char *s);        // a copy; never NULL
SPYI_FN const char *spyi_sl_keep_text(spyi_declarations *to, spyi_text *text); // likewise; frees the text
// A list that grows on the process allocator; false: out of memory.
SPYI_FN bool spyi_sl_grow(void **items, uint32_t *capacity, uint32_t count, size_t item_size);

// A node without a place in the tree.
SPYI_FN spy_decl spyi_sl_node(spyi_sl_builder *b, spy_decl_kind kind, const char *name);

// Never NULL. `slang` may be NULL: it is looked up.
SPYI_FN const spy_type_info *spyi_sl_type_info(spyi_sl_builder *b, const spyi_type *type,
                                               spyi_sl_type *slang);
SPYI_FN const spy_type_info *spyi_sl_type_info_of(spyi_sl_builder *b, spyi_sl_type *slang);
// Lists the fields of the structs that no declaration of the module has given theirs.
SPYI_FN void spyi_sl_list_fields(spyi_sl_builder *b);

typedef enum spyi_sl_attributed {
    SPYI_SL_OF_FUNCTION,
    SPYI_SL_OF_VARIABLE,
    SPYI_SL_OF_TYPE
} spyi_sl_attributed;
SPYI_FN void spyi_sl_attributes(spyi_sl_builder *b, spyi_sl_attributed what, void *object, spy_decl *node);
// Type, default value, modifiers and attributes of a variable, parameter, field or generic value.
SPYI_FN void spyi_sl_variable_node(spyi_sl_builder *b, spyi_sl_variable *variable, spy_decl *node);
SPYI_FN void spyi_sl_add_constant(const spy_constant *constant, spyi_text *out); // as Slang writes it

// document.c: the doc comment above line `number` (from 1) of a file; "" when there is none.
SPYI_FN const char *spyi_sl_doc(spyi_sl_builder *b, const char *path, uint32_t number);

typedef struct spyi_sl_nodes {
    spy_decl *items;
    uint32_t count, capacity;
} spyi_sl_nodes;

// Where a walk is: what the nodes that it finds are children of.
typedef struct spyi_sl_scope {
    spy_decl_kind kind;
    const char *path;      // "" at the root
    const spyi_type *type; // of a struct: where its fields lie; else NULL
    spyi_sl_decl *decl;
    int depth;
} spyi_sl_scope;

// declare.c: lists of nodes
SPYI_FN void spyi_sl_push(spyi_sl_builder *b, spyi_sl_nodes *nodes, const spy_decl *node);
// The list becomes the node's children, fields first.
SPYI_FN void spyi_sl_give_children(spyi_sl_builder *b, spy_decl *node, spyi_sl_nodes *nodes);
// Path, and place in the source.
SPYI_FN void spyi_sl_place(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                           spy_decl *node);
// ... and the walk: nodes of all that the scope holds.
SPYI_FN void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out);
SPYI_FN bool spyi_sl_is_property(spyi_sl_builder *b, spyi_sl_decl *decl);

// declare_text.c: declarations as one writes them
SPYI_FN const char *spyi_sl_type_text(const spy_decl *node);
// The parameters in round brackets without these, or what is generic in angle brackets with them.
SPYI_FN void spyi_sl_add_list(const spyi_sl_nodes *nodes, bool generics, spyi_text *out);
SPYI_FN const char *spyi_sl_variable_text(spyi_sl_builder *b, const spy_decl *node);
SPYI_FN const char *spyi_sl_function_text(spyi_sl_builder *b, const spy_decl *node,
                                          const spyi_sl_nodes *nodes);
SPYI_FN const char *spyi_sl_scope_text(spyi_sl_builder *b, const char *word, const spy_decl *node,
                                       const spyi_sl_nodes *nodes);

// declare_function.c: nodes of what is generic, of functions and variables
SPYI_FN void spyi_sl_generic_nodes(spyi_sl_builder *b, spyi_sl_generic *generic, const spyi_sl_scope *scope,
                                   spyi_sl_nodes *out);
SPYI_FN void spyi_sl_function_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                   const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out);
SPYI_FN void spyi_sl_declare_variable(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                      spyi_sl_nodes *out);
SPYI_FN void spyi_sl_parameter_node(spyi_sl_builder *b, spyi_sl_variable *v, const char *path,
                                    spyi_sl_nodes *out);

// declare_extension.c
SPYI_FN void spyi_sl_extension_node(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                    spyi_sl_nodes *out);

#endif // SPYI_COMPILER_DECLARE_H
