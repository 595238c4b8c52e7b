// Checks and splits names of Slang's types and functions.
#include "compiler/internal.h"

// Returns whether libslang can look up a name. It parses a name as an expression, crashes on pointers, calls
// and unbalanced brackets, and takes the first of two words and drops the other. Observed with 2026.12 and
// 2026.14.1.
bool spyi_sl_name_is_safe(const char *name) {
    int depth = 0;
    char before = '\0'; // the last character that is not a space
    bool space = false;
    if (!name || !((spyi_is_word(*name) && !(*name >= '0' && *name <= '9')))) return false;
    if (strlen(name) > 1000) return false;
    for (const char *p = name; *p; ++p) {
        char c = *p;
        if (c == ' ') {
            space = true;
            continue;
        }
        bool ends = spyi_is_word(before) || before == '>' || before == ']'; // a type or number may end here
        if (spyi_is_word(c)) {
            // two words, such as "float3 float"
            if (space && (spyi_is_word(before) || before == '>')) return false;
            if ((before == '.' || before == ':') && c >= '0' && c <= '9') return false;
            if (before == '>' || before == ']') return false;
        } else if (c == '<') {
            if (!spyi_is_word(before) || ++depth > 8) return false;
        } else if (c == '>') {
            if (depth-- == 0 || !ends) return false;
        } else if (c == ',') {
            if (depth == 0 || !ends) return false;
        } else if (c == '.') {
            if (!spyi_is_word(before) && before != '>') return false;
        } else if (c == ':') {
            if (p[1] != ':' || (!spyi_is_word(before) && before != '>')) return false;
            ++p;
        } else if (c == '-') { // a negative value: Foo<-3>
            if ((before != '<' && before != ',') || p[1] < '0' || p[1] > '9') return false;
        } else if (c == '[') { // only an array size inside <>, because spyi_unit_find_type() removes others
            if (depth == 0 || !ends) return false;
            const char *q = p + 1;
            while (*q >= '0' && *q <= '9') ++q;
            if (q == p + 1 || *q != ']') return false;
            p = q;
            c = ']';
        } else {
            return false;
        }
        before = c;
        space = false;
    }
    return depth == 0 && before != '.' && before != ':';
}

const char *spyi_sl_last_part(const char *name, size_t *prefix) {
    const char *last = name;
    int depth = 0;
    *prefix = 0;
    for (const char *p = name; *p; ++p) {
        if (*p == '<') ++depth;
        else if (*p == '>') --depth;
        else if (depth == 0 && (*p == '.' || *p == ':')) {
            *prefix = (size_t)(p - name);
            if (*p == ':' && p[1] == ':') ++p;
            last = p + 1;
        }
    }
    return last;
}

void spyi_sl_full_name(spyi_unit *unit, spyi_sl_type *slang, spyi_text *out) {
    spyi_sl_blob *blob = NULL;
    if (slang && SPYI_SL_FUNCTION(unit, spReflectionType_GetFullName)(slang, &blob) >= 0 && blob) {
        const char *s = (const char *)blob->v->getBufferPointer(blob);
        size_t size = s ? blob->v->getBufferSize(blob) : 0;
        while (size > 0 && s[size - 1] == '\0') --size;
        if (size) spyi_text_add_n(out, s, size);
    }
    spyi_sl_blob_free(&blob);
}
