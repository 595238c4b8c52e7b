// The functions, calls and derivatives that nested.c reads from the text of modules in Slang's IR.
#ifndef SPYI_COMPILER_SLANG_IR_H
#define SPYI_COMPILER_SLANG_IR_H

#include "compiler/internal.h"

typedef struct spyi_ir_map { // a hash map with open addressing, whose keys are hashes
    uint64_t *keys;          // 0 means a free slot
    uint32_t *values;
    uint32_t count, capacity;
} spyi_ir_map;

typedef struct spyi_ir_call {
    uint64_t callee;
    bool has[2]; // whether it has derivatives: forward, backward
    bool no_diff;
} spyi_ir_call;

typedef struct spyi_ir_function {
    uint64_t link; // a hash of the name that is the same in all modules
    char *name;    // NULL means that no name is known
    spyi_ir_call *calls;
    uint32_t call_count;
    uint64_t bodies[2]; // functions from whose bodies its derivatives are made; 0 if there is none
} spyi_ir_function;

// One entry of a witness table: the function that implements method `key`.
typedef struct spyi_ir_entry {
    uint64_t key, function;
} spyi_ir_entry;

struct spyi_sl_nested {
    spyi_ir_function *functions;
    spyi_ir_map by_link;
    spyi_ir_entry *entries;
    uint32_t function_count, entry_count, text_count;
    uint64_t root;
};

// returns NULL if the key is not in the map
SPYI_FN uint32_t *spyi_ir_map_get(const spyi_ir_map *map, uint64_t key);
SPYI_FN void spyi_ir_map_put(spyi_ir_map *map, uint64_t key, uint32_t value); // the key must be new
SPYI_FN void spyi_ir_map_free(spyi_ir_map *map);
SPYI_FN spyi_ir_function *spyi_ir_find(const spyi_sl_nested *nested, uint64_t link);
// Reads a module's functions, calls and witness tables into `nested`.
SPYI_FN void spyi_ir_read_module(spyi_sl_nested *nested, spyi_sl_module *module);

#endif // SPYI_COMPILER_SLANG_IR_H
