// Turns libslang's diagnostics into readable text. With option 143 (machine-readable diagnostics) libslang
// writes one line for each, separated by tabs: code, severity, file, line, column, end line, end column,
// message. A primary line is followed by its spans and notes. All other text (internal errors are plain text)
// is passed on unchanged.
#include "compiler/internal.h"

void spyi_sl_blob_free(spyi_sl_blob **blob) {
    if (*blob) (*blob)->v->release(*blob);
    *blob = NULL;
}

enum { SPYI_DIAGNOSTIC_FIELDS = 8 };

typedef struct spyi_diagnostic_field {
    const char *text;
    size_t size;
} spyi_diagnostic_field;

static bool spyi_diagnostic_is(const spyi_diagnostic_field *f, const char *word) {
    return f->size == strlen(word) && memcmp(f->text, word, f->size) == 0;
}

// Splits a line into its eight fields; the message may contain tabs. Returns false when it has fewer.
static bool spyi_diagnostic_split(const char *line, size_t size, spyi_diagnostic_field *fields) {
    const char *end = line + size;
    for (int i = 0; i < SPYI_DIAGNOSTIC_FIELDS; ++i) {
        const char *tab =
            i + 1 < SPYI_DIAGNOSTIC_FIELDS ? (const char *)memchr(line, '\t', (size_t)(end - line)) : end;
        if (!tab) return false;
        fields[i].text = line;
        fields[i].size = (size_t)(tab - line);
        line = tab < end ? tab + 1 : end;
    }
    return fields[0].size > 0 && fields[0].text[0] == 'E';
}

static bool spyi_diagnostic_same_place(const spyi_diagnostic_field *a, const spyi_diagnostic_field *b) {
    for (int i = 2; i <= 4; ++i)
        if (a[i].size != b[i].size || memcmp(a[i].text, b[i].text, a[i].size) != 0) return false;
    return true;
}

static void spyi_diagnostic_place(const spyi_diagnostic_field *f, const char *hidden, spyi_text *out) {
    if (f[2].size == 0 || (hidden && spyi_diagnostic_is(&f[2], hidden))) return;
    spyi_text_add(out, "%.*s:%.*s:%.*s: ", (int)f[2].size, f[2].text, (int)f[3].size, f[3].text,
                  (int)f[4].size, f[4].text);
}

// Returns whether the field contains `part`. strstr() cannot be used, as the field does not end with a NUL.
static bool spyi_diagnostic_has(const spyi_diagnostic_field *f, const char *part) {
    size_t n = strlen(part);
    for (size_t i = 0; i + n <= f->size; ++i)
        if (memcmp(f->text + i, part, n) == 0) return true;
    return false;
}

// Returns whether a line only says that an earlier error ended the work, or is an error in one of the
// embedded modules. These modules compile, except when libslang reads them after an error in the user's
// module.
static bool spyi_diagnostic_is_echo(const spyi_diagnostic_field *f) {
    static const char *const echo[] = { "import failed due to compilation error", "compilation ceased" };
    if (spyi_diagnostic_has(&f[2], SPYI_SL_EMBEDDED_FOLDER "/")) return true;
    for (size_t i = 0; i < sizeof echo / sizeof echo[0]; ++i)
        if (spyi_diagnostic_is(&f[7], echo[i])) return true;
    return false;
}

typedef struct spyi_diagnostic_state {
    spyi_diagnostic_field primary[SPYI_DIAGNOSTIC_FIELDS];
    spyi_diagnostic_field detail; // the text of the first span at the primary line's location
    bool open;                    // the primary line is not yet written
    const char *hidden;
    const spyi_sl_sources *sources; // NULL means that no source lines are quoted
    spyi_text path, file;           // path and text of the file that was read last
    spyi_text *out;
} spyi_diagnostic_state;

// Returns the text of the file at `path`; NULL when it cannot be read.
static const spyi_text *spyi_diagnostic_file(spyi_diagnostic_state *state,
                                             const spyi_diagnostic_field *path) {
    const spyi_sl_sources *sources = state->sources;
    if (!path->size) return NULL;
    if (sources->content && spyi_diagnostic_is(path, sources->path)) return sources->content;
    if (!state->path.data || !spyi_diagnostic_is(path, state->path.data)) {
        spyi_text_clear(&state->path);
        spyi_text_clear(&state->file);
        spyi_text_add_n(&state->path, path->text, path->size);
        if (state->path.data && !spyi_source_read(sources->compiler, NULL, state->path.data, &state->file))
            spyi_text_clear(&state->file);
    }
    return state->file.size ? &state->file : NULL;
}

// Appends the source line and below it a mark at the column (from 1, in bytes).
static void spyi_diagnostic_excerpt(spyi_diagnostic_state *state) {
    enum { MOST = 160 }; // longer lines would hide the message
    const spyi_diagnostic_field *f = state->primary;
    const spyi_text *file = state->sources ? spyi_diagnostic_file(state, &f[2]) : NULL;
    unsigned long line = strtoul(f[3].text, NULL, 10), column = strtoul(f[4].text, NULL, 10);
    if (!file || line == 0 || column == 0) return;
    const char *at = file->data, *end = file->data + file->size;
    while (at && --line) {
        at = (const char *)memchr(at, '\n', (size_t)(end - at));
        if (at) at++;
    }
    if (!at || at >= end) return;
    const char *newline = (const char *)memchr(at, '\n', (size_t)(end - at));
    size_t size = (size_t)((newline ? newline : end) - at);
    while (size && (at[size - 1] == '\r' || at[size - 1] == ' ')) --size;
    if (!size || size > MOST || column > size + 1) return;
    spyi_text_add(state->out, "    %.*s\n    ", (int)size, at);
    for (size_t i = 0; i + 1 < column; i++) spyi_text_add(state->out, at[i] == '\t' ? "\t" : " ");
    spyi_text_add(state->out, "^\n");
}

// Writes the primary line, which waited for its first span, with that span's text: "unexpected token:
// unexpected ')', expected identifier".
static void spyi_diagnostic_close(spyi_diagnostic_state *state) {
    const spyi_diagnostic_field *f = state->primary;
    spyi_diagnostic_field text = f[7], more = state->detail;
    if (!state->open) return;
    state->open = false;
    if (more.size >= text.size &&
        memcmp(more.text, text.text, text.size) == 0) { // the span repeats the message and adds to it
        text = more;
        more.size = 0;
    }
    if (more.size && more.text[more.size - 1] == '.') more.size--;
    if (!more.size && text.size && text.text[text.size - 1] == '.') text.size--;
    spyi_diagnostic_place(f, state->hidden, state->out);
    spyi_text_add(state->out, "%.*s: %.*s%s%.*s (%.*s)\n", (int)f[1].size, f[1].text, (int)text.size,
                  text.text, more.size ? ": " : "", (int)more.size, more.size ? more.text : "",
                  (int)f[0].size, f[0].text);
    spyi_diagnostic_excerpt(state);
}

void spyi_sl_diagnostics(spyi_sl_blob **blob, const char *hidden, const spyi_sl_sources *sources,
                         spyi_text *out) {
    if (!*blob) return;
    const char *at = (const char *)(*blob)->v->getBufferPointer(*blob);
    size_t left = at ? (*blob)->v->getBufferSize(*blob) : 0, begin = out->size;
    spyi_diagnostic_field f[SPYI_DIAGNOSTIC_FIELDS];
    spyi_diagnostic_state state;
    bool dropped = false; // the last primary line was left out, and so are its spans
    memset(&state, 0, sizeof state);
    state.hidden = hidden;
    state.sources = sources;
    state.out = out;
    while (left > 0) {
        const char *newline = (const char *)memchr(at, '\n', left);
        size_t size = newline ? (size_t)(newline - at) : left;
        const char *line = at;
        at += newline ? size + 1 : size;
        left -= newline ? size + 1 : size;
        while (size > 0 && (line[size - 1] == '\r' || line[size - 1] == '\0')) --size;
        if (size == 0) continue;
        // such a line repeats the line before
        if (size > 19 && memcmp(line, "abort compilation: E", 20) == 0) continue;
        if (!spyi_diagnostic_split(line, size, f)) {
            spyi_diagnostic_close(&state);
            spyi_text_add_n(out, line, size);
            spyi_text_add_n(out, "\n", 1);
            continue;
        }
        bool span = spyi_diagnostic_is(&f[1], "span"), note = spyi_diagnostic_is(&f[1], "note");
        if ((span || note) && dropped) continue;
        if (span && f[7].size == 0) continue;
        if (span && state.open && !state.detail.size && spyi_diagnostic_same_place(f, state.primary)) {
            state.detail = f[7];
            continue;
        }
        spyi_diagnostic_close(&state);
        if (span || note) {
            spyi_text_add(out, "  ");
            spyi_diagnostic_place(f, hidden, out);
            spyi_text_add(out, "note: %.*s\n", (int)f[7].size, f[7].text);
            continue;
        }
        dropped = spyi_diagnostic_is_echo(f) && out->size > begin;
        if (dropped) continue;
        memcpy(state.primary, f, sizeof f);
        state.detail.size = 0;
        state.open = true;
    }
    spyi_diagnostic_close(&state);
    spyi_text_free(&state.path);
    spyi_text_free(&state.file);
    if (out->size > begin && out->data[out->size - 1] == '\n') out->data[--out->size] = '\0';
    spyi_sl_blob_free(blob);
}
