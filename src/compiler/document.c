// Reads doc comments, the lines of /// or //! or the block of /** */ right above a declaration, from its
// source file. Slang's reflection does not give them.
#include "compiler/declare.h"

// Fills b->source with the file's text and b->lines with the offset of each line. Returns false when the file
// cannot be read.
static bool spyi_doc_open(spyi_sl_builder *b, const char *path) {
    const spyi_unit *unit = b->unit;
    if (b->source_path && strcmp(b->source_path, path) == 0) return b->line_count != 0;
    b->source_path = path; // `path` lives as long as the tree
    b->line_count = 0;
    spyi_text_clear(&b->source);
    if (unit->precompiled) return false;
    if (unit->has_given && strcmp(path, unit->path) == 0)
        spyi_text_add(&b->source, "%s", spyi_text_str(&unit->given));
    else if (!spyi_source_read(unit->compiler, NULL, path, &b->source)) return false;
    const char *text = spyi_text_str(&b->source);
    for (const char *line = text; line; line = (line = strchr(line, '\n')) ? line + 1 : NULL) {
        if (!spyi_sl_grow((void **)&b->lines, &b->line_capacity, b->line_count, sizeof *b->lines)) {
            b->line_count = 0;
            return false;
        }
        b->lines[b->line_count++] = (uint32_t)(line - text);
    }
    return true;
}

// Returns line `number` (from 0) without the spaces around it, and its length in bytes.
static const char *spyi_doc_line(const spyi_sl_builder *b, uint32_t number, size_t *length) {
    const char *line = spyi_text_str(&b->source) + b->lines[number], *end = line + strcspn(line, "\n");
    while (line < end && (*line == ' ' || *line == '\t')) line++;
    while (end > line && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    *length = (size_t)(end - line);
    return line;
}

static bool spyi_doc_begins(const char *line, size_t length, const char *with) {
    return length >= strlen(with) && strncmp(line, with, strlen(with)) == 0;
}

static bool spyi_doc_is_comment(const char *line, size_t length) {
    return (spyi_doc_begins(line, length, "///") && !spyi_doc_begins(line, length, "////")) ||
           spyi_doc_begins(line, length, "//!");
}

// Appends a line of a comment without its first `marks` bytes and one space behind them.
static void spyi_doc_add(const char *line, size_t length, size_t marks, spyi_text *out) {
    if (marks < length && line[marks] == ' ') marks++;
    if (marks > length) marks = length;
    if (out->size) spyi_text_add(out, "\n");
    spyi_text_add_n(out, line + marks, length - marks);
}

// Appends the text of the block comment that ends in line `last`; nothing if it is no doc comment.
static void spyi_doc_block(const spyi_sl_builder *b, uint32_t last, spyi_text *out) {
    uint32_t first = last;
    size_t length;
    const char *line = spyi_doc_line(b, first, &length);
    while (first > 0 && !spyi_doc_begins(line, length, "/*")) line = spyi_doc_line(b, --first, &length);
    if (!spyi_doc_begins(line, length, "/**") && !spyi_doc_begins(line, length, "/*!")) return;
    for (uint32_t i = first; i <= last; i++) {
        line = spyi_doc_line(b, i, &length);
        if (i == last && length >= 2) length -= 2;
        size_t marks = i == first ? 3 : length && line[0] == '*' ? 1 : 0;
        if (marks > length) marks = length;
        while (length > marks && (line[length - 1] == ' ' || line[length - 1] == '*')) length--;
        bool empty = length == marks;
        if (!empty || (i != first && i != last)) spyi_doc_add(line, length, marks, out);
    }
}

SPYI_FN const char *spyi_sl_doc(spyi_sl_builder *b, const char *path, uint32_t number) {
    spyi_text out = { NULL, 0, 0 };
    size_t length;
    if (!number || !path[0] || !spyi_doc_open(b, path) || number > b->line_count) return "";
    uint32_t at = number - 1; // the line above the declaration is at - 1
    while (at > 0) { // attributes, generic parameters and the result's type may have lines of their own
        const char *line = spyi_doc_line(b, at - 1, &length);
        bool ends = !length || memchr(line, ';', length) || memchr(line, '{', length) ||
                    memchr(line, '}', length) || line[length - 1] == '/' ||
                    spyi_doc_begins(line, length, "//") || spyi_doc_begins(line, length, "#");
        if (ends) break;
        at--;
    }
    if (at == 0) return "";
    const char *line = spyi_doc_line(b, at - 1, &length);
    if (length >= 2 && strncmp(line + length - 2, "*/", 2) == 0) {
        spyi_doc_block(b, at - 1, &out);
    } else {
        uint32_t first = at;
        while (first > 0 && (line = spyi_doc_line(b, first - 1, &length)) &&
               spyi_doc_is_comment(line, length))
            first--;
        for (; first < at; first++) {
            line = spyi_doc_line(b, first, &length);
            spyi_doc_add(line, length, 3, &out);
        }
    }
    return spyi_sl_keep_text(b->to, &out);
}
