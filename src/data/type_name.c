// Spells the names of types as Slang code does, and splits names into their parts.
#include "data/type_name.h"

SPYI_FN const char *spyi_spell(const spyi_type *type) {
    bool alias = type->kind == SPYI_TYPE_MATRIX // Slang has no name "int8_t2x3"
                     ? type->scalar == SPY_DTYPE_BOOL || type->scalar == SPY_DTYPE_INT32 ||
                           type->scalar == SPY_DTYPE_UINT32 || type->scalar >= SPY_DTYPE_FLOAT16
                     : type->kind == SPYI_TYPE_OTHER
                           ? strncmp(type->name, "Ptr<", 4) == 0
                           : type->kind != SPYI_TYPE_ARRAY && type->kind != SPYI_TYPE_STRUCT;
    return alias ? type->display : type->name;
}

SPYI_FN void spyi_free_parts(spyi_type_parts *parts) {
    for (size_t i = 0; i < sizeof parts->arguments / sizeof parts->arguments[0]; i++)
        free(parts->arguments[i]);
}

SPYI_FN void spyi_split_type(const char *name, spyi_type_parts *parts) {
    size_t length = strcspn(name, "<");
    const char *base = name, *begin = name + length;
    memset(parts, 0, sizeof *parts);
    for (const char *c = name; c < begin; c++)
        if (*c == '.' || *c == ':') base = c + 1;
    snprintf(parts->base, sizeof parts->base, "%.*s", (int)(begin - base), base);
    int depth = 0;
    for (const char *c = begin; *c; c++) {
        if (*c == '<' && depth++ == 0) begin = c + 1;
        if (*c == '>') depth--;
        if (*c == '[' && depth == 0) parts->base[0] = '\0'; // the name is that of an array, which has no base
        bool ends = (*c == ',' && depth == 1) || (*c == '>' && depth == 0);
        if (!ends) continue;
        while (*begin == ' ') begin++;
        if (parts->count < 3) {
            spyi_text text = { NULL, 0, 0 };
            spyi_text_add_n(&text, begin, (size_t)(c - begin));
            parts->arguments[parts->count] = spyi_strdup(spyi_text_str(&text));
            spyi_text_free(&text);
        }
        parts->count++;
        begin = c + 1;
    }
}

SPYI_FN const spyi_type *spyi_named_type(spyi_types *types, const spyi_type *given, const char *name) {
    const spyi_type *parsed = name ? spyi_type_parse(types, name) : NULL;
    if (parsed) return parsed;
    return name && strcmp(given->name, name) == 0 ? given : NULL;
}
