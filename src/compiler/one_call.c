// Reads from a module's text in Slang's IR which functions are nothing but a network of `import mlp;`: whose body is one call of MLP.run
// with their two parameters. Such a function has these lines:
//
//     [nameHint("f")]
//     func %f : ...
//     {
//     block %1(
//             [nameHint("net")]
//             param %net : ...,
//             [nameHint("x")]
//             param %x : ...):
//         let %2 : ... = call specialize(%3, 64 : Int, ...)(%net, %x)
//         return_val(%2)
//     }
//
// and %3 is declared by [import("_S3mlp3MLP...3run...")], generic %3. If Slang makes the function's backward derivative, the text also has
// the instruction BackwardDifferentiatePropagate(%f); a derivative that the program gives has another.
#include "compiler/internal.h"

typedef struct spyi_one_line {
    const char *at;
    size_t size;
} spyi_one_line;

// Returns the next line without the spaces before it, and moves *text behind it. Its size is 0 at the end.
static spyi_one_line spyi_one_next(const char **text) {
    spyi_one_line line;
    *text += strspn(*text, " \t\n");
    line.at = *text;
    line.size = strcspn(*text, "\n");
    *text += line.size;
    return line;
}

static bool spyi_one_starts(spyi_one_line line, const char *with) {
    size_t n = strlen(with);
    return line.size >= n && memcmp(line.at, with, n) == 0;
}

// Returns the identifier that begins with "%" at the position, as a line of its own.
static spyi_one_line spyi_one_id(const char *at) {
    spyi_one_line id = {
        at,
        *at == '%' ? 1 + strspn(at + 1, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") : 0
    };
    return id;
}

static bool spyi_one_same(spyi_one_line a, spyi_one_line b) {
    return a.size > 0 && a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

// Returns the position behind the bracket that closes the one at `at`, or NULL when there is none in the line.
static const char *spyi_one_behind(const char *at, const char *end) {
    int depth = 0;
    for (; at < end; at++) {
        if (*at == '(') depth++;
        if (*at == ')' && --depth == 0) return at + 1;
    }
    return NULL;
}

// Reads the function's body, which begins behind its "func" line. Returns whether it is one call with its two
// parameters; *callee receives the called function.
static bool spyi_one_is_one_call(const char *text, spyi_one_line *callee) {
    static const char call[] = "= call specialize(";
    spyi_one_line params[2], line = spyi_one_next(&text);
    uint32_t count = 0;
    if (!spyi_one_starts(line, "{")) return false;
    line = spyi_one_next(&text);
    if (!spyi_one_starts(line, "block %")) return false;
    for (line = spyi_one_next(&text); spyi_one_starts(line, "[") || spyi_one_starts(line, "param ");
         line = spyi_one_next(&text)) {
        if (*line.at == '[') continue;
        if (count == 2) return false;
        params[count++] = spyi_one_id(line.at + 6);
        if (memcmp(line.at + line.size - 2, "):", 2) == 0) break;
    }
    if (count != 2) return false;
    do line = spyi_one_next(&text);
    while (spyi_one_starts(line, "["));
    if (!spyi_one_starts(line, "let ")) return false;
    const char *end = line.at + line.size, *at = strstr(line.at, call);
    spyi_one_line result = spyi_one_id(line.at + 4 + strspn(line.at + 4, " "));
    if (!at || at >= end) return false;
    at += sizeof call - 2; // the position of the call's bracket
    *callee = spyi_one_id(at + 1);
    at = spyi_one_behind(at, end);
    if (!at || *at != '(') return false;
    spyi_one_line first = spyi_one_id(at + 1);
    at = first.at + first.size;
    if (strncmp(at, ", ", 2) != 0) return false;
    spyi_one_line second = spyi_one_id(at + 2);
    if (second.at + second.size + 1 != end) return false;
    bool straight = spyi_one_same(first, params[0]) && spyi_one_same(second, params[1]);
    bool turned = spyi_one_same(first, params[1]) && spyi_one_same(second, params[0]);
    line = spyi_one_next(&text);
    if ((!straight && !turned) || !spyi_one_starts(line, "return_val(")) return false;
    spyi_one_line returned = spyi_one_id(line.at + 11);
    line = spyi_one_next(&text);
    return spyi_one_same(returned, result) && spyi_one_starts(line, "}");
}

// Returns whether the identifier stands for MLP.run.
static bool spyi_one_is_run(const char *text, spyi_one_line callee) {
    bool run = false;
    for (spyi_one_line line = spyi_one_next(&text); line.size; line = spyi_one_next(&text)) {
        if (spyi_one_starts(line, "[import(\"_S3mlp3MLP")) {
            const char *name = strstr(line.at, "3run");
            run = name && name < line.at + line.size;
        } else if (*line.at != '[') {
            if (run && spyi_one_starts(line, "generic ") && spyi_one_same(spyi_one_id(line.at + 8), callee))
                return true;
            run = false;
        }
    }
    return false;
}

// Returns whether Slang itself makes the function's backward derivative.
static bool spyi_one_is_derived(const char *text, spyi_one_line function) {
    static const char derivative[] = "= BackwardDifferentiatePropagate(";
    for (const char *at = strstr(text, derivative); at; at = strstr(at, derivative)) {
        at += sizeof derivative - 1;
        if (spyi_one_same(spyi_one_id(at), function)) return true;
    }
    return false;
}

SPYI_FN void spyi_ir_networks(const char *text, spyi_text *names) {
    const char *at = text;
    spyi_one_line name = { NULL, 0 }, callee;
    if (!strstr(text, "[import(\"_S3mlp3MLP")) return;
    for (spyi_one_line line = spyi_one_next(&at); line.size; line = spyi_one_next(&at)) {
        if (spyi_one_starts(line, "[nameHint(\"")) {
            name.at = line.at + 11;
            name.size = strcspn(name.at, "\"\n");
        } else if (*line.at != '[') {
            if (name.size && spyi_one_starts(line, "func ")) {
                bool one = spyi_one_is_one_call(at, &callee) && spyi_one_is_run(text, callee);
                // Overloads do not count, so a name that is listed twice is none.
                bool derived = one && spyi_one_is_derived(text, spyi_one_id(line.at + 5));
                spyi_text_add(names, derived ? SPYI_NETWORK_DERIVED
                                     : one   ? SPYI_NETWORK_PLAIN
                                             : SPYI_NETWORK_NONE);
                spyi_text_add_n(names, name.at, name.size);
                spyi_text_add(names, "\n");
            }
            name.size = 0;
        }
    }
}
