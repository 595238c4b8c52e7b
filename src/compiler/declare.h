// Declarations for the files that build a tree of declarations: the tree's memory, and the state of the walk
// that builds it.
#ifndef SPYI_COMPILER_DECLARE_H
#define SPYI_COMPILER_DECLARE_H

#include "compiler/internal.h"
#include "data/stream.h"

typedef struct spyi_sl_block {
    struct spyi_sl_block *next;
    size_t size, used; // bytes behind this header
} spyi_sl_block;

struct spyi_declarations {
    spyi_sl_block *blocks; // a list, the newest block first
    bool failed;           // memory ran out, so the tree is incomplete
    spy_decl root;
    spy_type_info **by_id;   // descriptions of types by spyi_type.id; NULL means that there is none yet
    const spyi_type **types; // the types of by_id
    uint32_t by_id_count;
};

// A struct type whose fields are still to be listed.
typedef struct spyi_sl_pending {
    spy_type_info *info;
    const spyi_type *type;
    spyi_sl_type *slang;
    bool open;
    uint32_t depth; // the number of structs around the position where the type was found
} spyi_sl_pending;

typedef struct spyi_sl_builder {
    spyi_declarations *to;
    spyi_unit *unit;
    const spyi_sl_library *lib;
    spyi_sl_live *live;
    uint32_t open;  // the number of generic declarations around the walk
    uint32_t depth; // the number of structs around the fields that are being listed
    spyi_sl_pending *pending;
    uint32_t pending_count, pending_capacity;
    spyi_sl_type **types; // Types that the walk has found so far; an extension's type is searched among them.
    uint32_t type_count, type_capacity;
    // For document.c: path and text of the file that was read last, and the offsets of its lines.
    const char *source_path;
    spyi_text source;
    uint32_t *lines, line_count, line_capacity;
} spyi_sl_builder;

SPYI_FN void spyi_sl_builder_open(spyi_sl_builder *b, spyi_declarations *to, spyi_unit *unit,
                                  spyi_sl_live *live);
SPYI_FN void spyi_sl_builder_close(spyi_sl_builder *b);

// Returns zeroed memory that lives as long as the tree. When out of memory, returns NULL and sets to->failed.
SPYI_FN void *spyi_sl_take(spyi_declarations *to, size_t size);
// Returns a copy in the tree's memory; never NULL.
SPYI_FN const char *spyi_sl_keep(spyi_declarations *to, const char *s);
// Returns a copy of a spyi_text in the tree's memory, and frees the text.
SPYI_FN const char *spyi_sl_keep_text(spyi_declarations *to, spyi_text *text);
// Grows a list on the process allocator when it is full. Returns false when out of memory.
SPYI_FN bool spyi_sl_grow(void **items, uint32_t *capacity, uint32_t count, size_t item_size);

// Returns a node that is not yet in the tree.
SPYI_FN spy_decl spyi_sl_node(spyi_sl_builder *b, spy_decl_kind kind, const char *name);

// Returns the description of a type, never NULL. With `slang` NULL the Slang type of `type` is looked up.
SPYI_FN const spy_type_info *spyi_sl_type_info(spyi_sl_builder *b, const spyi_type *type,
                                               spyi_sl_type *slang);
SPYI_FN const spy_type_info *spyi_sl_type_info_of(spyi_sl_builder *b, spyi_sl_type *slang);
// Lists the fields of those structs that the module does not declare itself.
SPYI_FN void spyi_sl_list_fields(spyi_sl_builder *b);

// Makes room for the type in by_id. Returns false when out of memory.
SPYI_FN bool spyi_sl_know_type(spyi_declarations *to, const spyi_type *type);

typedef enum spyi_sl_attributed {
    SPYI_SL_OF_FUNCTION,
    SPYI_SL_OF_VARIABLE,
    SPYI_SL_OF_TYPE
} spyi_sl_attributed;
SPYI_FN void spyi_sl_attributes(spyi_sl_builder *b, spyi_sl_attributed what, void *object, spy_decl *node);
// Fills a node with the type, default value, modifiers and attributes of a variable, parameter, field or
// generic value.
SPYI_FN void spyi_sl_variable_node(spyi_sl_builder *b, spyi_sl_variable *variable, spy_decl *node);
// Appends the constant in Slang's spelling.
SPYI_FN void spyi_sl_add_constant(const spy_constant *constant, spyi_text *out);

// document.c: returns the doc comment above line `number` (from 1) of a file; "" when there is none.
SPYI_FN const char *spyi_sl_doc(spyi_sl_builder *b, const char *path, uint32_t number);

typedef struct spyi_sl_nodes {
    spy_decl *items;
    uint32_t count, capacity;
} spyi_sl_nodes;

// The declaration that a walk is inside of, and whose children it lists.
typedef struct spyi_sl_scope {
    spy_decl_kind kind;
    const char *path;      // the path of the declaration; "" at the root
    const spyi_type *type; // for a struct, its type, which knows its fields' offsets; otherwise NULL
    spyi_sl_decl *decl;
    int depth;
} spyi_sl_scope;

// declare.c: appends a node to a list.
SPYI_FN void spyi_sl_push(spyi_sl_builder *b, spyi_sl_nodes *nodes, const spy_decl *node);
// Makes the list the node's children, fields first.
SPYI_FN void spyi_sl_give_children(spyi_sl_builder *b, spy_decl *node, spyi_sl_nodes *nodes);
// Sets the node's path, file, line and doc comment.
SPYI_FN void spyi_sl_place(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                           spy_decl *node);
// declare.c: appends nodes for all declarations in the scope.
SPYI_FN void spyi_sl_declare_all(spyi_sl_builder *b, const spyi_sl_scope *scope, spyi_sl_nodes *out);
SPYI_FN bool spyi_sl_is_property(spyi_sl_builder *b, spyi_sl_decl *decl);

// declare_text.c: writes the Slang text of declarations.
SPYI_FN const char *spyi_sl_type_text(const spy_decl *node);
// Appends the parameters without brackets (generics false), or the generic parameters in <> (true).
SPYI_FN void spyi_sl_add_list(const spyi_sl_nodes *nodes, bool generics, spyi_text *out);
SPYI_FN const char *spyi_sl_variable_text(spyi_sl_builder *b, const spy_decl *node);
SPYI_FN const char *spyi_sl_function_text(spyi_sl_builder *b, const spy_decl *node,
                                          const spyi_sl_nodes *nodes);
SPYI_FN const char *spyi_sl_scope_text(spyi_sl_builder *b, const char *word, const spy_decl *node,
                                       const spyi_sl_nodes *nodes);

// declare_function.c: adds nodes of generic parameters, functions and variables.
SPYI_FN void spyi_sl_generic_nodes(spyi_sl_builder *b, spyi_sl_generic *generic, const spyi_sl_scope *scope,
                                   spyi_sl_nodes *out);
SPYI_FN void spyi_sl_function_node(spyi_sl_builder *b, spyi_sl_decl *decl, spyi_sl_generic *generic,
                                   const char *name, const spyi_sl_scope *scope, spyi_sl_nodes *out);
SPYI_FN void spyi_sl_declare_variable(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                      spyi_sl_nodes *out);
SPYI_FN void spyi_sl_parameter_node(spyi_sl_builder *b, spyi_sl_variable *v, const char *path,
                                    spyi_sl_nodes *out);

// declare_extension.c: adds the node of an extension.
SPYI_FN void spyi_sl_extension_node(spyi_sl_builder *b, spyi_sl_decl *decl, const spyi_sl_scope *scope,
                                    spyi_sl_nodes *out);

// declare_fields.c: writes or reads the fields of spyi_declarations, without links between declarations and
// types.
SPYI_FN void spyi_sl_declarations_fields(spyi_stream *r, void *answer);

#endif // SPYI_COMPILER_DECLARE_H
