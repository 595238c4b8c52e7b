// What is kept of modules' text in Slang's IR: functions, what they call, and which of them have derivatives.
#ifndef SPYI_COMPILER_SLANG_IR_H
#define SPYI_COMPILER_SLANG_IR_H

#include "compiler/internal.h"

typedef struct spyi_ir_map { // of 64-bit keys that are hashes; open addressing
    uint64_t *keys;          // 0: free
    uint32_t *values;
    uint32_t count, capacity;
} spyi_ir_map;

typedef struct spyi_ir_call {
    uint64_t callee;
    bool has[2]; // derivatives: forward, backward
    bool no_diff;
} spyi_ir_call;

typedef struct spyi_ir_function {
    uint64_t link; // hash of its name for the linker
    char *name;    // NULL: it has none
    spyi_ir_call *calls;
    uint32_t call_count;
    uint64_t bodies[2]; // the function whose body its derivative is made of; 0: none
} spyi_ir_function;

typedef struct spyi_ir_entry { // of a witness table
    uint64_t key, function;
} spyi_ir_entry;

struct spyi_sl_nested {
    spyi_ir_function *functions;
    spyi_ir_map by_link;
    spyi_ir_entry *entries;
    uint32_t function_count, entry_count, text_count;
    uint64_t root;
};

SPYI_FN uint32_t *spyi_ir_map_get(const spyi_ir_map *map, uint64_t key);      // NULL: there is none
SPYI_FN void spyi_ir_map_put(spyi_ir_map *map, uint64_t key, uint32_t value); // the key must be new
SPYI_FN void spyi_ir_map_free(spyi_ir_map *map);
SPYI_FN spyi_ir_function *spyi_ir_find(const spyi_sl_nested *nested, uint64_t link);
// Adds what a module's text says.
SPYI_FN void spyi_ir_read_module(spyi_sl_nested *nested, spyi_sl_module *module);

#endif // SPYI_COMPILER_SLANG_IR_H
