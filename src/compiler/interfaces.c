// Adds an attribute to differentiable functions with a parameter of an interface type, such as
// [Differentiable] float f(IDiffTensor<float, 1> t). libslang 2026.14 never finishes the derivative of such a
// function when it has a loop or a branch: it differentiates the function while the parameter's type is
// unknown, again and again. A function that is inlined early is differentiated as a part of its caller, our
// kernel, where the type is known. Such a call costs as much as one of a function that takes the concrete
// type.
//
// libslang's interface cannot add attributes, so they are written into the text that it reads: on the line
// where the declaration before ends, so that every line keeps its number. Functions that call themselves are
// not changed.
#include "compiler/internal.h"

static const char spyi_inline_mark[] = "[__unsafeForceInlineEarly]";

// Returns the position of the next code at or behind `p`: skips white space, comments and quoted text.
const char *spyi_skip_blank(const char *p) {
    for (;;) {
        const char *begin = p;
        while (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n') ++p;
        if (p[0] == '/' && p[1] == '/') {
            p += strcspn(p, "\n");
        } else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end ? end + 2 : p + strlen(p);
        } else if (*p == '"' || *p == '\'') {
            char quote = *p++;
            while (*p && *p != quote && *p != '\n') p += *p == '\\' && p[1] ? 2 : 1;
            if (*p == quote) ++p;
        }
        if (p == begin) return p;
    }
}

// Returns the line after a preprocessor directive and its continuation lines.
const char *spyi_skip_directive(const char *p) {
    while (*p && *p != '\n') p += *p == '\\' && p[1] ? 2 : 1;
    return *p ? p + 1 : p;
}

// Returns the position behind the bracket that closes the one at `p`; NULL if there is none.
const char *spyi_skip_brackets(const char *p, char open, char close) {
    int depth = 0;
    while (*(p = spyi_skip_blank(p))) {
        if (*p == open) ++depth;
        if (*p == close && --depth == 0) return p + 1;
        ++p;
    }
    return NULL;
}

// Returns whether `word` occurs in the code of `text` before `end`.
bool spyi_has_word(const char *text, const char *end, const char *word, size_t length) {
    for (const char *p = spyi_skip_blank(text); p < end && *p; p = spyi_skip_blank(p)) {
        const char *begin = p;
        while (spyi_is_word(*p)) ++p;
        if (p == begin) ++p;
        else if ((size_t)(p - begin) == length && memcmp(begin, word, length) == 0) return true;
    }
    return false;
}

// Returns whether a word is an interface's name: the text declares such an interface, or it is spelled as in
// "IShape".
static bool spyi_is_interface_name(const char *word, size_t length, const spyi_text *declared) {
    if (length > 1 && word[0] == 'I' && word[1] >= 'A' && word[1] <= 'Z') return true;
    return declared->size && spyi_has_word(declared->data, declared->data + declared->size, word, length);
}

// Returns whether a parameter list, from its "(" to behind its ")", has a parameter of an interface type.
static bool spyi_takes_interface(const char *list, const char *end, const spyi_text *declared) {
    int angles = 0;
    for (const char *p = spyi_skip_blank(list); p < end && *p; p = spyi_skip_blank(p)) {
        const char *begin = p;
        while (spyi_is_word(*p)) ++p;
        if (p == begin) {
            angles += *p == '<' ? 1 : *p == '>' ? -1 : 0;
            ++p;
        } else if (angles == 0 && spyi_is_interface_name(begin, (size_t)(p - begin), declared)) {
            return true;
        }
    }
    return false;
}

static void spyi_find_interfaces(const char *text, spyi_text *declared) {
    static const char word[] = "interface";
    for (const char *p = spyi_skip_blank(text); *p; p = spyi_skip_blank(p)) {
        const char *begin = p;
        while (spyi_is_word(*p)) ++p;
        if (p == begin) {
            p = *p == '#' ? spyi_skip_directive(p) : p + 1;
        } else if ((size_t)(p - begin) == sizeof word - 1 && memcmp(begin, word, sizeof word - 1) == 0) {
            p = begin = spyi_skip_blank(p);
            while (spyi_is_word(*p)) ++p;
            spyi_text_add_n(declared, begin, (size_t)(p - begin));
            spyi_text_add(declared, " ");
        }
    }
}

// Returns whether a function must be inlined whose declaration begins at `head` and whose name ends at `p`.
static bool spyi_is_to_inline(const char *head, const char *name, const char *p, const spyi_text *declared) {
    static const char *const attributes[] = { "Differentiable", "BackwardDifferentiable" };
    size_t length = (size_t)(p - name);
    bool marked = false;
    for (int i = 0; i < 2; ++i)
        marked = marked || spyi_has_word(head, name, attributes[i], strlen(attributes[i]));
    if (!marked || spyi_has_word(head, name, "__unsafeForceInlineEarly", 24)) return false;
    p = spyi_skip_blank(p);
    if (*p == '<' && (p = spyi_skip_brackets(p, '<', '>')) != NULL) p = spyi_skip_blank(p);
    if (!p || *p != '(') return false;
    const char *list = p, *end = spyi_skip_brackets(p, '(', ')');
    if (!end || !spyi_takes_interface(list, end, declared)) return false;
    for (p = spyi_skip_blank(end); *p && *p != '{' && *p != ';'; p = spyi_skip_blank(p)) ++p;
    const char *behind = *p == '{' ? spyi_skip_brackets(p, '{', '}') : NULL;
    return behind && !spyi_has_word(p, behind, name, length);
}

bool spyi_source_inline_interfaces(const spyi_text *source, spyi_text *out) {
    const char *text = spyi_text_str(source), *head = text, *copied = text;
    spyi_text declared = { NULL, 0, 0 };
    bool changed = false;
    int depth = 0;
    if (strlen(text) != source->size || (!strstr(text, "Differentiable") && !strstr(text, "BackwardDiff")))
        return false;
    if (strncmp(text, "\xef\xbb\xbf", 3) == 0) head += 3; // the byte order mark of UTF-8
    spyi_find_interfaces(text, &declared);
    for (const char *p = spyi_skip_blank(head); *p; p = spyi_skip_blank(p)) {
        const char *begin = p;
        while (spyi_is_word(*p)) ++p;
        if (p != begin) {
            if (depth || begin == head || !spyi_is_to_inline(head, begin, p, &declared)) continue;
            spyi_text_add_n(out, copied, (size_t)(head - copied));
            spyi_text_add(out, "%s", spyi_inline_mark);
            copied = head;
            head = p; // each function gets one attribute
            changed = true;
            continue;
        }
        if (*p == '#') {
            head = p = spyi_skip_directive(p);
            continue;
        }
        depth += *p == '(' || *p == '[' ? 1 : *p == ')' || *p == ']' ? -1 : 0;
        if (*p == ';' || *p == '{' || *p == '}') head = p + 1;
        ++p;
    }
    if (changed) spyi_text_add(out, "%s", copied);
    spyi_text_free(&declared);
    return changed;
}
