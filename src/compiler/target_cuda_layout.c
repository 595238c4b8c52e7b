// Computes where variables lie in CUDA code. Slang's reflection says it, except for unsized arrays: in CUDA
// code T[] is Array<T>, an address and a count, 16 bytes, which reflection takes for 8 bytes (2026.12,
// 2026.14.1). Slang's code also puts unsized arrays behind all other globals. So the offsets of variables
// beside an unsized array are computed here by C's rules.
#include "compiler/target.h"

SPYI_FN bool spyi_sl_has_unsized(spyi_unit *unit, spyi_sl_type_layout *layout) {
    const spyi_sl_library *lib = unit->compiler->library;
    if (!layout) return false;
    if (lib->spReflectionTypeLayout_getKind(layout) != SPYI_SL_KIND_STRUCT)
        return spyi_sl_is_unsized(unit, lib->spReflectionTypeLayout_GetType(layout));
    unsigned count = lib->spReflectionTypeLayout_GetFieldCount(layout);
    for (unsigned i = 0; i < count; ++i) {
        spyi_sl_variable_layout *field = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
        if (spyi_sl_has_unsized(unit, lib->spReflectionVariableLayout_GetTypeLayout(field))) return true;
    }
    return false;
}

// Returns the offset of a variable at or behind `end`, and moves `end` behind the variable.
static size_t spyi_sl_cuda_place(spyi_unit *unit, spyi_sl_type_layout *layout, size_t *end) {
    int32_t align =
        unit->compiler->library->spReflectionTypeLayout_getAlignment(layout, SPYI_SL_CATEGORY_UNIFORM);
    size_t size = spyi_sl_cuda_size(unit, layout),
           at = size ? spyi_align(*end, align > 0 ? (size_t)align : 1) : *end;
    *end = at + size;
    return at;
}

SPYI_FN size_t spyi_sl_cuda_field(spyi_unit *unit, spyi_sl_type_layout *layout, bool last, unsigned index) {
    const spyi_sl_library *lib = unit->compiler->library;
    unsigned count = lib->spReflectionTypeLayout_GetFieldCount(layout);
    size_t end = 0;
    for (int pass = last ? 0 : 1; pass < 2; ++pass) {
        for (unsigned i = 0; i < count; ++i) {
            spyi_sl_variable_layout *field = lib->spReflectionTypeLayout_GetFieldByIndex(layout, i);
            spyi_sl_type_layout *type = lib->spReflectionVariableLayout_GetTypeLayout(field);
            bool unsized = spyi_sl_is_unsized(unit, lib->spReflectionTypeLayout_GetType(type));
            if (last && unsized != (pass == 1)) continue;
            size_t at = spyi_sl_cuda_place(unit, type, &end);
            if (i == index) return at;
        }
    }
    return end;
}

// The struct of all globals has no type; its unsized arrays come last.
static size_t spyi_sl_cuda_struct_size(spyi_unit *unit, spyi_sl_type_layout *layout) {
    const spyi_sl_library *lib = unit->compiler->library;
    bool last = lib->spReflectionTypeLayout_GetType(layout) == NULL;
    int32_t align = lib->spReflectionTypeLayout_getAlignment(layout, SPYI_SL_CATEGORY_UNIFORM);
    return spyi_align(spyi_sl_cuda_field(unit, layout, last, UINT32_MAX), align > 8 ? (size_t)align : 8);
}

size_t spyi_sl_cuda_size(spyi_unit *unit, spyi_sl_type_layout *layout) {
    const spyi_sl_library *lib = unit->compiler->library;
    if (spyi_sl_has_unsized(unit, layout))
        return lib->spReflectionTypeLayout_getKind(layout) == SPYI_SL_KIND_STRUCT
                   ? spyi_sl_cuda_struct_size(unit, layout)
                   : 16;
    return lib->spReflectionTypeLayout_GetSize(layout, SPYI_SL_CATEGORY_UNIFORM);
}

size_t spyi_sl_cuda_param(spyi_unit *unit, spyi_sl_variable_layout *param, spyi_sl_params *params) {
    const spyi_sl_library *lib = unit->compiler->library;
    spyi_sl_type_layout *layout = lib->spReflectionVariableLayout_GetTypeLayout(param);
    if (params->moved) return spyi_sl_cuda_place(unit, layout, &params->end);
    size_t at = lib->spReflectionVariableLayout_GetOffset(param, SPYI_SL_CATEGORY_UNIFORM),
           size = spyi_sl_cuda_size(unit, layout);
    params->moved = spyi_sl_has_unsized(unit, layout);
    if (size) params->end = at + size;
    return at;
}
