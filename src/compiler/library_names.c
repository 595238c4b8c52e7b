// Gives a text the modules of slangpy's Slang library whose names it uses. `import slangpy;` shows all public
// names of the library, but libslang reads and links every module that a program imports, used or not: the
// modules for derivatives alone make a new kernel half as slow again. So the module slangpy has only the
// names that most texts use, and the rest lies in modules beside it. If a text uses a name of one of these,
// the module's import is written behind the text's own import, on the same line, so that every line keeps its
// number.
//
// A struct's atomicAdd(RWByteAddressBuffer, uint, This) is made generic over the buffer, because tensors and
// gradients lie at addresses, and no RWByteAddressBuffer can be made of an address; atomic_add, which calls
// it for an address, is written behind it.
#include "compiler/internal.h"

enum {
    SPYI_NAMES_MODULES = 7,
    SPYI_NAMES_ATOMIC = 1,
    SPYI_NAMES_DIFF = 2,
    SPYI_NAMES_ELEMENT = 4,
    SPYI_NAMES_CONTEXT = 8,
    SPYI_NAMES_SIZES = 16,
    SPYI_NAMES_TEXTURE = 32,
    SPYI_NAMES_PLAIN = 64 // only for texts that also use [Differentiable]
};

static const char *const spyi_names_modules[SPYI_NAMES_MODULES] = { "slangpy_atomic",       "slangpy_diff",
                                                                    "slangpy_element",      "slangpy_context",
                                                                    "slangpy_sizes",        "slangpy_texture",
                                                                    "slangpy_texture_plain" };

// Common words may be names of the text itself: such a word counts only if the text, or a file that it
// includes, imports slangpy.
static const struct spyi_library_name {
    const char *word;
    uint8_t module;
    bool common;
} spyi_library_names[] = {
    { "AtomicTensor", SPYI_NAMES_ATOMIC, false },
    { "IAtomicAddable", SPYI_NAMES_ATOMIC, false },
    { "slangpy_atomic_floats", SPYI_NAMES_ATOMIC, false },
    { "atomicAdd", SPYI_NAMES_ATOMIC, true },
    { "atomic_add", SPYI_NAMES_ATOMIC, true },
    { "atomic_add_uniform", SPYI_NAMES_ATOMIC, true },
    { "IDiffTensor", SPYI_NAMES_DIFF, false },
    { "IWDiffTensor", SPYI_NAMES_DIFF, false },
    { "IRWDiffTensor", SPYI_NAMES_DIFF, false },
    { "DiffTensor", SPYI_NAMES_DIFF, false },
    { "WDiffTensor", SPYI_NAMES_DIFF, false },
    { "RWDiffTensor", SPYI_NAMES_DIFF, false },
    { "PrimalTensor", SPYI_NAMES_DIFF, false },
    { "WPrimalTensor", SPYI_NAMES_DIFF, false },
    { "RWPrimalTensor", SPYI_NAMES_DIFF, false },
    { "sample", SPYI_NAMES_ELEMENT, true },
    { "ElementType", SPYI_NAMES_ELEMENT, true },
    { "ContextND", SPYI_NAMES_CONTEXT, false },
    { "Context", SPYI_NAMES_CONTEXT, true },
    { "Context0D", SPYI_NAMES_CONTEXT, true },
    { "Context1D", SPYI_NAMES_CONTEXT, true },
    { "Context2D", SPYI_NAMES_CONTEXT, true },
    { "Context3D", SPYI_NAMES_CONTEXT, true },
    { "Context4D", SPYI_NAMES_CONTEXT, true },
    { "Context5D", SPYI_NAMES_CONTEXT, true },
    { "ISizedArray", SPYI_NAMES_CONTEXT, false },
    { "ValueRef", SPYI_NAMES_CONTEXT, true },
    { "RWValueRef", SPYI_NAMES_CONTEXT, true },
    { "CallIdArg", SPYI_NAMES_CONTEXT, true },
    { "ThreadIdArg", SPYI_NAMES_CONTEXT, true },
    { "GridArg", SPYI_NAMES_CONTEXT, true },
    { "RangeType", SPYI_NAMES_CONTEXT, true },
    { "WangHashArg", SPYI_NAMES_CONTEXT, true },
    { "RandFloatArg", SPYI_NAMES_CONTEXT, true },
    { "DiffTexture1D", SPYI_NAMES_TEXTURE, false },
    { "DiffTexture2D", SPYI_NAMES_TEXTURE, false },
    { "DiffTexture3D", SPYI_NAMES_TEXTURE, false },
    { "DiffTextureCube", SPYI_NAMES_TEXTURE, false },
    { "DiffTexture1DArray", SPYI_NAMES_TEXTURE, false },
    { "DiffTexture2DArray", SPYI_NAMES_TEXTURE, false },
    { "DiffTextureCubeArray", SPYI_NAMES_TEXTURE, false },
    { "DiffSamplerState", SPYI_NAMES_TEXTURE, false },
    { "Texture1D", SPYI_NAMES_PLAIN, true },
    { "Texture2D", SPYI_NAMES_PLAIN, true },
    { "Texture3D", SPYI_NAMES_PLAIN, true },
    { "TextureCube", SPYI_NAMES_PLAIN, true },
    { "Texture2DArray", SPYI_NAMES_PLAIN, true },
    { "call_data_len", SPYI_NAMES_SIZES, false },
    { "call_group_size", SPYI_NAMES_SIZES, false },
    { "call_group_strides", SPYI_NAMES_SIZES, false },
    { "call_group_shape_vector", SPYI_NAMES_SIZES, false },
};
enum { SPYI_LIBRARY_NAMES = sizeof spyi_library_names / sizeof spyi_library_names[0] };

// The names that one text and the files that it includes use.
typedef struct spyi_named {
    spyi_compiler *compiler;
    spyi_sl_loading *loading; // NULL means that included files are not read
    uint64_t seen, declared;  // bits of the words of spyi_library_names: bit i is word i
    uint32_t imported;        // bits of the modules that the text imports by itself
    bool imports_slangpy, exported, rewrites;
    const char *behind; // position where imports are written; NULL means that there is none
} spyi_named;

static bool spyi_word_is(const char *word, const char *end, const char *other) {
    return strlen(other) == (size_t)(end - word) && memcmp(word, other, (size_t)(end - word)) == 0;
}

// Returns the end of the name in an import, `import a.b;` or `import "a/b";`, that begins at *name.
static const char *spyi_import_name(const char **name) {
    const char *p = *name;
    while (*p == ' ' || *p == '\t') ++p;
    if (*p == '"') {
        *name = ++p;
        return p + strcspn(p, "\"\n");
    }
    *name = p;
    return p + strcspn(p, " \t\r\n;");
}

static void spyi_find_named(spyi_named *named, const char *path, const char *text, int depth);

// Reads a file that is included, where libslang will find it.
static void spyi_find_included(spyi_named *named, const char *path, const char *name, size_t length,
                               int depth) {
    spyi_text at = { NULL, 0, 0 }, text = { NULL, 0, 0 };
    const spyi_unit *unit = named->loading->unit;
    size_t count = 1 + unit->include_path_count + named->compiler->include_path_count;
    bool found = false;
    for (size_t i = 0; i < count && !found; ++i) {
        const char *end = path;
        for (const char *p = path; *p; ++p)
            if (*p == '/' || *p == '\\') end = p + 1;
        spyi_text_clear(&at);
        if (i == 0) spyi_text_add_n(&at, path, (size_t)(end - path));
        else if (i <= unit->include_path_count) spyi_text_add(&at, "%s/", unit->include_paths[i - 1]);
        else spyi_text_add(&at, "%s/", named->compiler->include_paths[i - 1 - unit->include_path_count]);
        spyi_text_add_n(&at, name, length);
        found = spyi_source_read(named->compiler, named->loading, spyi_text_str(&at), &text);
    }
    if (found && strlen(spyi_text_str(&text)) == text.size) {
        const char *behind = named->behind;
        bool exported = named->exported, rewrites = named->rewrites;
        spyi_find_named(named, spyi_text_str(&at), spyi_text_str(&text), depth + 1);
        named->behind = behind;
        named->exported = exported;
        named->rewrites = rewrites;
    }
    spyi_text_free(&at);
    spyi_text_free(&text);
}

// Reads an import that begins behind its keyword; returns the position behind it.
static const char *spyi_find_import(spyi_named *named, const char *p, bool exported) {
    const char *name = p, *end = spyi_import_name(&name);
    const char *behind = strchr(end, ';');
    if (!behind) return end;
    bool slangpy = spyi_word_is(name, end, "slangpy");
    for (int m = 0; m < SPYI_NAMES_MODULES; ++m)
        if (spyi_word_is(name, end, spyi_names_modules[m])) named->imported |= 1u << m;
    if (!named->behind || (slangpy && !named->imports_slangpy)) {
        named->behind = behind + 1;
        named->exported = exported && slangpy;
    }
    named->imports_slangpy |= slangpy;
    return behind + 1;
}

static void spyi_find_named(spyi_named *named, const char *path, const char *text, int depth) {
    static const char *const declaring[] = { "struct", "class",     "interface",
                                             "enum",   "typealias", "associatedtype" };
    const char *last = text, *last_end = text; // the word before the current one
    for (const char *p = spyi_skip_blank(text); *p; p = spyi_skip_blank(p)) {
        const char *begin = p;
        while (spyi_is_word(*p)) ++p;
        if (p == begin) {
            if (*p == '#') {
                const char *word = p + 1 + strspn(p + 1, " \t");
                if (strncmp(word, "include", 7) == 0 && !spyi_is_word(word[7])) {
                    const char *name = word + 7 + strspn(word + 7, " \t");
                    const char *end = *name == '"' ? strpbrk(name + 1, "\"\n") : NULL;
                    if (end && named->loading && depth < 8)
                        spyi_find_included(named, path, name + 1, (size_t)(end - name - 1), depth);
                    p = spyi_skip_directive(p);
                    if (!named->behind) named->behind = p;
                    continue;
                }
            }
            ++p;
            continue;
        }
        if (spyi_word_is(begin, p, "import")) {
            p = spyi_find_import(named, p, spyi_word_is(last, last_end, "__exported"));
        } else if (spyi_word_is(begin, p, "implementing") || spyi_word_is(begin, p, "__include")) {
            const char *behind = strchr(p, ';');
            if (behind && !named->behind) named->behind = behind + 1;
        } else {
            for (int i = 0; i < SPYI_LIBRARY_NAMES; ++i) {
                const char *word = spyi_library_names[i].word;
                if (*word != *begin || !spyi_word_is(begin, p, word)) continue;
                bool declares = false;
                for (size_t d = 0; d < sizeof declaring / sizeof declaring[0]; ++d)
                    declares = declares || spyi_word_is(last, last_end, declaring[d]);
                if (declares) named->declared |= (uint64_t)1 << i;
                else named->seen |= (uint64_t)1 << i;
                if (strcmp(spyi_library_names[i].word, "atomicAdd") == 0) named->rewrites = true;
            }
        }
        last = begin;
        last_end = p;
    }
}

static const char spyi_generic_add[] = "atomicAdd<SpyiBuffer : ISpyiBytes>(SpyiBuffer";
static const char spyi_add_at[] = " static void atomic_add(This *spyi_at, This spyi_value)"
                                  " { SpyiBytes spyi_bytes; spyi_bytes.at = uint64_t(spyi_at); "
                                  "This.atomicAdd(spyi_bytes, 0u, spyi_value); }";

// Writes `text` to `out` with its functions atomicAdd(RWByteAddressBuffer, ...) made generic. `imports` is written at `behind`.
static void spyi_write_named(const char *text, const char *behind, const char *imports, bool rewrites,
                             spyi_text *out) {
    enum { MOST = 64 };
    const char *copied = text, *last = text, *last_end = text, *head = text, *blocks[MOST] = { text };
    const char *body_end = NULL; // position where the copy of a rewritten function is written
    int depth = 0;
    for (const char *p = spyi_skip_blank(text); *p && rewrites; p = spyi_skip_blank(p)) {
        const char *begin = p;
        while (spyi_is_word(*p)) ++p;
        if (behind && begin >= behind && copied <= behind) {
            spyi_text_add_n(out, copied, (size_t)(behind - copied));
            spyi_text_add(out, "%s", imports);
            copied = behind;
            behind = NULL;
        }
        if (p == begin) {
            if (*p == '{' && ++depth < MOST) blocks[depth] = p;
            if (*p == '}' && depth > 0) --depth;
            if (*p == ';' || *p == '{' || *p == '}') head = p + 1;
            ++p;
            if (body_end && p >= body_end) {
                spyi_text_add_n(out, copied, (size_t)(body_end - copied));
                spyi_text_add(out, "%s", spyi_add_at);
                copied = body_end;
                body_end = NULL;
            }
            continue;
        }
        const char *list = spyi_skip_blank(p);
        if (spyi_word_is(begin, p, "atomicAdd") && *list == '(' && spyi_word_is(last, last_end, "void")) {
            const char *type = spyi_skip_blank(list + 1), *end = type;
            while (spyi_is_word(*end)) ++end;
            bool bytes = spyi_word_is(type, end, "RWByteAddressBuffer");
            bool overrides = spyi_has_word(head, begin, "override", 8);
            const char *closed = spyi_skip_brackets(list, '(', ')');
            const char *body = closed ? spyi_skip_blank(closed) : NULL;
            const char *behind_body = body && *body == '{' ? spyi_skip_brackets(body, '{', '}') : NULL;
            if (bytes && behind_body) {
                spyi_text_add_n(out, copied, (size_t)(last - copied));
                spyi_text_add(out, overrides ? "void %s" : "override void %s", spyi_generic_add);
                copied = p = end;
                const char *block = depth > 0 && depth < MOST ? blocks[depth] : NULL;
                const char *block_end = block ? spyi_skip_brackets(block, '{', '}') : NULL;
                if (block_end && !spyi_has_word(block, block_end, "atomic_add", 10)) body_end = behind_body;
            } else if (overrides && !bytes) { // the interface's function is generic, so there is nothing to
                                              // override
                const char *word = strstr(head, "override");
                spyi_text_add_n(out, copied, (size_t)(word - copied));
                copied = word + 8;
            }
        }
        last = begin;
        last_end = p;
    }
    if (behind) {
        spyi_text_add_n(out, copied, (size_t)(behind - copied));
        spyi_text_add(out, "%s", imports);
        copied = behind;
    }
    spyi_text_add(out, "%s", copied);
}

bool spyi_source_add_imports(spyi_compiler *compiler, spyi_sl_loading *loading, const char *path,
                             const spyi_text *source, spyi_text *out) {
    const char *text = spyi_text_str(source);
    spyi_named named;
    memset(&named, 0, sizeof named);
    named.compiler = compiler;
    named.loading = loading;
    if (compiler->embedded_count == 0 || strlen(text) != source->size) return false;
    spyi_find_named(&named, path, text + (strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0), 0);
    uint32_t modules = 0;
    for (int i = 0; i < SPYI_LIBRARY_NAMES; ++i)
        if ((named.seen & ~named.declared) >> i & 1 &&
            (named.imports_slangpy || !spyi_library_names[i].common))
            modules |= spyi_library_names[i].module;
    if (!strstr(text, "Differentiable")) modules &= ~(uint32_t)SPYI_NAMES_PLAIN;
    named.rewrites = named.rewrites && (modules & SPYI_NAMES_ATOMIC) && strstr(text, "IAtomicAddable");
    modules &= ~named.imported;
    if (!named.behind) modules = 0;
    if (!modules && !named.rewrites) return false;
    spyi_text imports = { NULL, 0, 0 };
    for (int m = 0; m < SPYI_NAMES_MODULES; ++m)
        if (modules >> m & 1)
            spyi_text_add(&imports, "%simport %s;", named.exported ? " __exported " : " ",
                          spyi_names_modules[m]);
    spyi_write_named(text, modules ? named.behind : NULL, spyi_text_str(&imports), named.rewrites, out);
    spyi_text_free(&imports);
    return true;
}

void spyi_source_adapt(spyi_compiler *compiler, spyi_sl_loading *loading, const char *path, spyi_text *text) {
    for (int step = 0; step < 2; ++step) {
        spyi_text changed = { NULL, 0, 0 };
        bool is_changed = step == 0 ? spyi_source_add_imports(compiler, loading, path, text, &changed)
                                    : spyi_source_inline_interfaces(text, &changed);
        if (!is_changed) continue;
        spyi_text_free(text);
        *text = changed;
    }
}
