// libslang with a memory: what it has made of a kernel is kept in build/blobs for the next test that compiles the same one, in
// this run or the next. Making kernels' code takes a fifth of the time of all tests, and more than half of it has been made
// before: by another device, program, sanitizer or language.
//
// A library that tests/run names by SLANGPY_SLANG_LIBRARY. It is linked to the true libslang (REAL), whose functions callers find
// through it, and puts functions of its own into some tables of libslang's objects. Code is kept by Slang's own hash of what it
// depends on (getEntryPointHash: modules' texts, options, names), by the modules of its session in serialized form, and by the
// session's options. What that hash lacks is not kept: code of programs with type conformances, whose numbers it does not see, or
// linked with options of their own. Nor is what failed or came with diagnostics. Each version of libslang has a folder; a file has
// a checksum, and what is damaged is made again. (A kernel's checked module cannot be kept in the same way: libslang does not
// load a precompiled module where one of that name has been refused or loaded.)
//
// The library's own modules are kept, too, in serialized form: to check slangpy_diff takes 0.6 s, to serialize it 0.2 s, and each
// device would do both. A file system between the library's and libslang answers for them. They are kept by their texts, those
// of what they import, and the session's options.
//
// SPY_TEST_BLOBS: another folder; 0: nothing is kept. `make soak` and what weighs the process or opens libslang in other ways use
// the true library.
#define _GNU_SOURCE
#include "compiler/slang_abi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_SESSIONS = 4096, MOST_OPTIONED = 64 };

typedef struct memo_head {
    char magic[8];
    uint64_t key[2], size, check;
} memo_head;

enum { MOST_MODULES = 24 };

typedef struct memo_session {
    const spyi_sl_session *session;
    uint64_t hash;    // of the precompiled modules that it has loaded
    uint64_t options; // a hash of its desc
    // Modules that are no kernels, each with a hash of its serialized form: what a kernel can import.
    const void *modules[MOST_MODULES];
    uint64_t module_hashes[MOST_MODULES];
    spyi_sl_int module_count;
    struct memo_files *files;
} memo_session;

// The file system of one session: the library's, and modules that are kept.
typedef struct memo_files {
    spyi_sl_files object; // the first member
    spyi_sl_files *inner;
    spyi_sl_session *session;
    uint64_t options;
    bool fleeting; // nothing of its modules is kept: its options name an address
    struct memo_files *next;
} memo_files;

static pthread_mutex_t memo_lock = PTHREAD_MUTEX_INITIALIZER;
static char memo_folder[600]; // "": nothing is kept
static spyi_sl_blob *(*memo_blob)(const void *, size_t);
static memo_session memo_sessions[MOST_SESSIONS]; // by address, with collisions: the later one stays
static memo_files *memo_all_files; // a list of all; sessions are not told when they end, so none is freed
static const void *memo_optioned[MOST_OPTIONED];  // programs with type conformances, or linked with options of their own
static unsigned memo_optioned_count;

// What stood in libslang's tables.
static spyi_sl_result (*real_session)(spyi_sl_global *, const spyi_sl_session_desc *, spyi_sl_session **);
static spyi_sl_result (*real_composite)(spyi_sl_session *, spyi_sl_component *const *, spyi_sl_int, spyi_sl_component **, spyi_sl_blob **);
static spyi_sl_module *(*real_source)(spyi_sl_session *, const char *, const char *, const char *, spyi_sl_blob **);
static spyi_sl_result (*real_serialize)(spyi_sl_module *, spyi_sl_blob **);
static spyi_sl_module *(*real_precompiled)(spyi_sl_session *, const char *, const char *, spyi_sl_blob *, spyi_sl_blob **);
static spyi_sl_result (*real_link)(spyi_sl_component *, spyi_sl_component **, spyi_sl_blob **);
static spyi_sl_result (*real_link_with)(spyi_sl_component *, spyi_sl_component **, uint32_t, const spyi_sl_option *, spyi_sl_blob **);
static spyi_sl_result (*real_code)(spyi_sl_component *, spyi_sl_int, spyi_sl_int, spyi_sl_blob **, spyi_sl_blob **);
static spyi_sl_result (*real_conformance)(spyi_sl_session *, spyi_sl_type *, spyi_sl_type *, spyi_sl_component **, spyi_sl_int, spyi_sl_blob **);
static const spyi_sl_component_table *memo_conformances; // the table of type conformances, by which they are known
static const spyi_sl_component_table *memo_table; // the table of composites, in which the functions above stood

static uint64_t memo_hash(const void *data, size_t size, uint64_t h) {
    const unsigned char *p = (const unsigned char *)data;
    for (; size >= 8; size -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = (h ^ word) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    for (; size; size--, p++) h = (h ^ *p) * 0x100000001b3u;
    return (h ^ h >> 32) * 0xd6e8feb86659fd93u;
}

// The tables lie in memory that is read only once libslang is open.
static void memo_put(const void *slot, const void *function) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (uintptr_t)slot & ~(page - 1);
    if (mprotect((void *)from, 2 * page, PROT_READ | PROT_WRITE) == 0) memcpy((void *)(uintptr_t)slot, function, sizeof(void *));
}
#define MEMO_PUT(slot, function)                                                                              \
    do {                                                                                                      \
        __typeof__(slot) memo_function = function;                                                            \
        memo_put(&(slot), &memo_function);                                                                    \
    } while (0)

// >>files

static bool memo_read(const char *path, const uint64_t key[2], spyi_sl_blob **blob) {
    FILE *f = fopen(path, "rb");
    memo_head head;
    void *data = NULL;
    if (!f) return false;
    bool good = fread(&head, sizeof head, 1, f) == 1 && memcmp(head.magic, "spyslng1", 8) == 0 &&
                memcmp(head.key, key, sizeof head.key) == 0 && head.size > 0 && head.size < (uint64_t)1 << 28;
    if (good) good = (data = malloc(head.size)) != NULL && fread(data, 1, head.size, f) == head.size && memo_hash(data, head.size, key[0]) == head.check;
    fclose(f);
    if (good) good = (*blob = memo_blob(data, head.size)) != NULL;
    free(data);
    return good;
}

// Written beside its place and then renamed: another process sees all of it or nothing.
static void memo_write(const char *path, const uint64_t key[2], spyi_sl_blob *blob) {
    char fresh[720];
    static unsigned number;
    memo_head head = { { 's', 'p', 'y', 's', 'l', 'n', 'g', '1' }, { key[0], key[1] }, blob->v->getBufferSize(blob), 0 };
    const void *data = blob->v->getBufferPointer(blob);
    head.check = memo_hash(data, head.size, key[0]);
    snprintf(fresh, sizeof fresh, "%s.%d.%u", path, (int)getpid(), __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED));
    FILE *f = fopen(fresh, "wb");
    if (!f) return;
    bool good = fwrite(&head, sizeof head, 1, f) == 1 && fwrite(data, 1, head.size, f) == head.size;
    good = fclose(f) == 0 && good;
    if (!good || rename(fresh, path) != 0) (void)unlink(fresh);
}

static void memo_find_folder(const char *version) {
    const char *given = getenv("SPY_TEST_BLOBS"), *top = given && given[0] ? given : BLOBS;
    char name[64];
    struct stat found;
    if (strcmp(top, "0") == 0 || strlen(top) > 500) return;
    snprintf(name, sizeof name, "%s", version);
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '_';
    (void)mkdir(top, 0777);
    snprintf(memo_folder, sizeof memo_folder, "%s/slang-%s", top, name);
    (void)mkdir(memo_folder, 0777);
    if (stat(memo_folder, &found) != 0) memo_folder[0] = 0;
}

// >>sessions

static memo_session *memo_of(const spyi_sl_session *session) {
    return &memo_sessions[(uintptr_t)session / 64 % MOST_SESSIONS];
}

// Notes a module that kernels may import.
static void memo_module(spyi_sl_session *session, const void *module, spyi_sl_blob *blob) {
    uint64_t hash = memo_hash(blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob), 1);
    pthread_mutex_lock(&memo_lock);
    memo_session *s = memo_of(session);
    bool known = s->session != session || s->module_count == MOST_MODULES;
    for (spyi_sl_int i = 0; i < s->module_count && !known; i++) known = s->modules[i] == module;
    if (!known) {
        s->modules[s->module_count] = module;
        s->module_hashes[s->module_count++] = hash;
    }
    pthread_mutex_unlock(&memo_lock);
}

static spyi_sl_module *memo_precompiled(spyi_sl_session *session, const char *name, const char *path, spyi_sl_blob *blob,
                                        spyi_sl_blob **diagnostics) {
    pthread_mutex_lock(&memo_lock);
    memo_session *s = memo_of(session);
    if (s->session == session) s->hash = memo_hash(blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob), s->hash);
    pthread_mutex_unlock(&memo_lock);
    spyi_sl_module *module = real_precompiled(session, name, path, blob, diagnostics);
    if (module) memo_module(session, module, blob);
    return module;
}

// >>the library's own modules

#define OWN_MODULES "slangpy-embedded/"
#define NEVER_KEPT "slangpy_atomic" // the library has it compiled each time, and says why (compiler/session.c)

// Hashes the text of an own module or of a part of it, with all that it imports and includes, but a text only once.
static bool memo_hash_text(memo_files *files, const char *name, uint64_t *h, const char **seen, size_t *seen_count) {
    static const char *const words[] = { "import ", "__exported import ", "__include " };
    char path[200];
    spyi_sl_blob *text = NULL;
    for (size_t i = 0; i < *seen_count; i++)
        if (strcmp(seen[i], name) == 0) return true;
    snprintf(path, sizeof path, OWN_MODULES "%s.slang", name);
    if (*seen_count == MOST_MODULES || files->inner->v->loadFile(files->inner, path, &text) < 0 || !text) return false;
    seen[(*seen_count)++] = strdup(name);
    size_t size = text->v->getBufferSize(text);
    char *copy = strndup((const char *)text->v->getBufferPointer(text), size), *rest = NULL;
    text->v->release(text);
    *h = memo_hash(copy, size, *h);
    bool good = true;
    for (char *line = strtok_r(copy, "\n", &rest); line && good; line = strtok_r(NULL, "\n", &rest)) {
        for (int i = 0; i < 3; i++) {
            size_t n = strlen(words[i]);
            if (strncmp(line, words[i], n) != 0 || !strchr(line, ';')) continue;
            *strchr(line, ';') = 0;
            good = good && memo_hash_text(files, line + n, h, seen, seen_count);
        }
    }
    free(copy);
    return good;
}

// Whether an own module may be kept, and then its file's key. `path`: of 700 bytes.
static bool memo_own_key(memo_files *files, const char *name, uint64_t key[2], char *path) {
    const char *seen[MOST_MODULES];
    size_t count = 0;
    if (!files || files->fleeting || !memo_folder[0] || strcmp(name, NEVER_KEPT) == 0) return false;
    key[0] = memo_hash(name, strlen(name), files->options);
    bool good = memo_hash_text(files, name, &key[0], seen, &count);
    for (size_t i = 0; i < count; i++) free((void *)(uintptr_t)seen[i]);
    key[1] = memo_hash(&key[0], sizeof key[0], 0x6d6f64756c65);
    snprintf(path, 700, "%s/module-%016llx", memo_folder, (unsigned long long)key[0]);
    return good;
}

static bool memo_is_loaded(spyi_sl_session *session, const char *name) {
    for (spyi_sl_int i = session->v->getLoadedModuleCount(session); i-- > 0;) {
        spyi_sl_module *m = session->v->getLoadedModule(session, i);
        const char *loaded = m ? m->v->getName(m) : NULL;
        if (loaded && strcmp(loaded, name) == 0) return true;
    }
    return false;
}

// The serialized form of an own module, once all that it imports is loaded: libslang refuses imports of a serialized module after
// an error, and throws. False: something is not kept, or not as it should be.
static bool memo_own_module(memo_files *files, const char *name, spyi_sl_blob **blob) {
    char path[700], file[200];
    uint64_t key[2];
    spyi_sl_blob *text = NULL;
    *blob = NULL;
    if (!memo_own_key(files, name, key, path) || !memo_read(path, key, blob)) return false;
    snprintf(file, sizeof file, OWN_MODULES "%s.slang", name);
    bool good = files->inner->v->loadFile(files->inner, file, &text) >= 0 && text;
    char *copy = good ? strndup((const char *)text->v->getBufferPointer(text), text->v->getBufferSize(text)) : NULL, *rest = NULL;
    if (text) text->v->release(text);
    for (char *line = copy ? strtok_r(copy, "\n", &rest) : NULL; line && good; line = strtok_r(NULL, "\n", &rest)) {
        const char *import = strncmp(line, "__exported ", 11) == 0 ? line + 11 : line;
        if (strncmp(import, "import ", 7) != 0 || !strchr(line, ';')) continue;
        *strchr(line, ';') = 0;
        if (memo_is_loaded(files->session, import + 7)) continue;
        spyi_sl_blob *imported = NULL, *diagnostics = NULL;
        snprintf(file, sizeof file, OWN_MODULES "%s.slang", import + 7);
        if (strcmp(import + 7, NEVER_KEPT) == 0) {
            spyi_sl_blob *source = NULL;
            good = files->inner->v->loadFile(files->inner, file, &source) >= 0 && source;
            char *whole = good ? strndup((const char *)source->v->getBufferPointer(source), source->v->getBufferSize(source)) : NULL;
            good = good && files->session->v->loadModuleFromSourceString(files->session, import + 7, file, whole, &diagnostics) != NULL;
            if (source) source->v->release(source);
            free(whole);
        } else {
            good = memo_own_module(files, import + 7, &imported);
            good = good && files->session->v->loadModuleFromIRBlob(files->session, import + 7, file, imported, &diagnostics) != NULL;
        }
        if (imported) imported->v->release(imported);
        if (diagnostics) diagnostics->v->release(diagnostics);
    }
    free(copy);
    if (!good && *blob) (*blob)->v->release(*blob);
    if (!good) *blob = NULL;
    return good;
}

// Notes a module that libslang reads in serialized form.
static void memo_read_module(spyi_sl_session *session, spyi_sl_blob *blob) {
    pthread_mutex_lock(&memo_lock);
    memo_session *s = memo_of(session);
    if (s->session == session) s->hash = memo_hash(blob->v->getBufferPointer(blob), blob->v->getBufferSize(blob), s->hash);
    pthread_mutex_unlock(&memo_lock);
}

static spyi_sl_result memo_files_load(spyi_sl_files *self, const char *path, spyi_sl_blob **out) {
    memo_files *files = (memo_files *)self;
    const char *own = strstr(path, OWN_MODULES), *end = own ? strstr(own, ".slang-module") : NULL;
    char name[100];
    spyi_sl_result result = files->inner->v->loadFile(files->inner, path, out);
    if (!end || end - own > 100 || !files->session) return result;
    own += strlen(OWN_MODULES);
    snprintf(name, sizeof name, "%.*s", (int)(end - own), own);
    // `print` may be a user's own file, whose text libslang asks for only later.
    if (result < 0 && strncmp(name, "slangpy", 7) == 0 && memo_own_module(files, name, out)) result = SPYI_SL_OK;
    if (result >= 0 && *out) memo_read_module(files->session, *out);
    return result;
}

static void *memo_files_cast(spyi_sl_files *self, const spyi_sl_uuid *uuid) {
    spyi_sl_files *inner = ((memo_files *)self)->inner;
    void *found = inner->v->castAs(inner, uuid);
    return found == inner ? self : found;
}

static spyi_sl_result memo_files_query(spyi_sl_files *self, const spyi_sl_uuid *uuid, void **out) {
    *out = memo_files_cast(self, uuid);
    return *out ? SPYI_SL_OK : ((memo_files *)self)->inner->v->queryInterface(((memo_files *)self)->inner, uuid, out);
}

static uint32_t memo_files_count(spyi_sl_files *self) {
    (void)self;
    return 1;
}

static const spyi_sl_files_table memo_files_table = { memo_files_query, memo_files_count, memo_files_count, memo_files_cast,
                                                      memo_files_load };

static memo_files *memo_files_open(const spyi_sl_session_desc *desc, uint64_t options) {
    memo_files *files = desc->fileSystem ? (memo_files *)calloc(1, sizeof *files) : NULL;
    if (!files) return NULL;
    files->object.v = &memo_files_table;
    files->inner = desc->fileSystem;
    files->options = options;
    for (spyi_sl_int i = 0; i < desc->preprocessorMacroCount; i++)
        if (strcmp(desc->preprocessorMacros[i].name, "SPYI_CHECK_BOUNDS") == 0) files->fleeting = true;
    pthread_mutex_lock(&memo_lock);
    files->next = memo_all_files;
    memo_all_files = files;
    pthread_mutex_unlock(&memo_lock);
    return files;
}

// The library asks for the serialized form of each module that it has loaded, before it makes kernels.
static spyi_sl_result memo_serialize(spyi_sl_module *module, spyi_sl_blob **blob) {
    spyi_sl_session *(*session_of)(spyi_sl_module *);
    memcpy(&session_of, &module->v->getSession, sizeof session_of);
    spyi_sl_session *session = session_of(module);
    const char *name = module->v->getName(module), *path = module->v->getFilePath(module);
    char file[700];
    uint64_t key[2];
    pthread_mutex_lock(&memo_lock);
    memo_files *files = memo_of(session)->session == session ? memo_of(session)->files : NULL;
    pthread_mutex_unlock(&memo_lock);
    bool own = files && name && path && strstr(path, OWN_MODULES) && memo_own_key(files, name, key, file);
    bool known = own && memo_read(file, key, blob);
    spyi_sl_result result = known ? SPYI_SL_OK : real_serialize(module, blob);
    if (result >= 0 && *blob && own && !known) memo_write(file, key, *blob);
    if (result >= 0 && *blob) memo_module(session, module, *blob);
    return result;
}

// Only to find the table of modules.
static spyi_sl_module *memo_source(spyi_sl_session *session, const char *name, const char *path, const char *text,
                                   spyi_sl_blob **diagnostics) {
    spyi_sl_module *module = real_source(session, name, path, text, diagnostics);
    pthread_mutex_lock(&memo_lock);
    if (module && !real_serialize) {
        real_serialize = module->v->serialize;
        MEMO_PUT(module->v->serialize, memo_serialize);
    }
    pthread_mutex_unlock(&memo_lock);
    return module;
}

// What a session's options are made of.
static uint64_t memo_options(const spyi_sl_session_desc *desc) {
    uint64_t h = 1;
    const spyi_sl_target_desc *t = desc->targets;
    int64_t numbers[] = { t->format, t->profile, t->flags, t->floatingPointMode, t->lineDirectiveMode, desc->flags, desc->defaultMatrixLayoutMode };
    h = memo_hash(numbers, sizeof numbers, h);
    for (uint32_t i = 0; i < desc->compilerOptionEntryCount; i++) {
        int64_t option[] = { desc->compilerOptionEntries[i].name, desc->compilerOptionEntries[i].value.int0, desc->compilerOptionEntries[i].value.int1 };
        h = memo_hash(option, sizeof option, h);
    }
    for (spyi_sl_int i = 0; i < desc->preprocessorMacroCount; i++) {
        h = memo_hash(desc->preprocessorMacros[i].name, strlen(desc->preprocessorMacros[i].name) + 1, h);
        h = memo_hash(desc->preprocessorMacros[i].value, strlen(desc->preprocessorMacros[i].value) + 1, h);
    }
    return h;
}

// >>programs

static bool memo_noted(const void *program) {
    bool found = false;
    pthread_mutex_lock(&memo_lock);
    for (unsigned i = 0; i < MOST_OPTIONED && !found; i++) found = memo_optioned[i] == program;
    pthread_mutex_unlock(&memo_lock);
    return found;
}

// Whether the program's code may be kept, and then its key.
static bool memo_key(spyi_sl_component *program, spyi_sl_int entry_point, spyi_sl_int target, uint64_t key[2]) {
    spyi_sl_session *(*session_of)(spyi_sl_component *);
    spyi_sl_blob *hash = NULL;
    bool good = memo_folder[0] != 0;
    memcpy(&session_of, &program->v->getSession, sizeof session_of);
    const spyi_sl_session *session = session_of(program);
    pthread_mutex_lock(&memo_lock);
    const memo_session *s = memo_of(session);
    good = good && s->session == session;
    uint64_t seed = memo_hash(s->module_hashes, (size_t)s->module_count * sizeof *s->module_hashes, s->hash ^ s->options);
    pthread_mutex_unlock(&memo_lock);
    good = good && !memo_noted(program);
    if (good) program->v->getEntryPointHash(program, entry_point, target, &hash);
    if (!hash) return false;
    size_t size = hash->v->getBufferSize(hash);
    for (int i = 0; i < 2; i++) key[i] = memo_hash(hash->v->getBufferPointer(hash), size, seed + (i ? 0x51ed270b : 1));
    hash->v->release(hash);
    return size >= 16;
}

static spyi_sl_result memo_code(spyi_sl_component *program, spyi_sl_int entry_point, spyi_sl_int target, spyi_sl_blob **code,
                                spyi_sl_blob **diagnostics) {
    uint64_t key[2] = { 0, 0 };
    char path[700];
    if (!memo_key(program, entry_point, target, key)) return real_code(program, entry_point, target, code, diagnostics);
    snprintf(path, sizeof path, "%s/%016llx", memo_folder, (unsigned long long)key[0]);
    if (memo_read(path, key, code)) return SPYI_SL_OK;
    spyi_sl_result result = real_code(program, entry_point, target, code, diagnostics);
    if (result >= 0 && *code && !(diagnostics && *diagnostics)) memo_write(path, key, *code);
    return result;
}

static void memo_note(const void *program, bool optioned) {
    pthread_mutex_lock(&memo_lock);
    for (unsigned i = 0; i < MOST_OPTIONED; i++)
        if (memo_optioned[i] == program) memo_optioned[i] = NULL;
    if (optioned) memo_optioned[memo_optioned_count++ % MOST_OPTIONED] = program;
    pthread_mutex_unlock(&memo_lock);
}

static spyi_sl_result memo_link(spyi_sl_component *program, spyi_sl_component **linked, spyi_sl_blob **diagnostics) {
    bool noted = memo_noted(program);
    spyi_sl_result result = real_link(program, linked, diagnostics);
    if (result >= 0 && *linked) memo_note(*linked, noted);
    return result;
}

static spyi_sl_result memo_link_with(spyi_sl_component *program, spyi_sl_component **linked, uint32_t count, const spyi_sl_option *options,
                                     spyi_sl_blob **diagnostics) {
    spyi_sl_result result = real_link_with(program, linked, count, options, diagnostics);
    if (result >= 0 && *linked) memo_note(*linked, true);
    return result;
}

static spyi_sl_result memo_conformance(spyi_sl_session *session, spyi_sl_type *type, spyi_sl_type *wanted, spyi_sl_component **made,
                                       spyi_sl_int id, spyi_sl_blob **diagnostics) {
    spyi_sl_result result = real_conformance(session, type, wanted, made, id, diagnostics);
    if (result >= 0 && *made) __atomic_store_n(&memo_conformances, (*made)->v, __ATOMIC_RELAXED);
    return result;
}

static spyi_sl_result memo_composite(spyi_sl_session *session, spyi_sl_component *const *parts, spyi_sl_int count,
                                     spyi_sl_component **composite, spyi_sl_blob **diagnostics) {
    bool conforming = false;
    for (spyi_sl_int i = 0; i < count; i++) conforming = conforming || parts[i]->v == memo_conformances;
    spyi_sl_result result = real_composite(session, parts, count, composite, diagnostics);
    if (result >= 0 && *composite) memo_note(*composite, conforming);
    pthread_mutex_lock(&memo_lock);
    if (result >= 0 && *composite && !memo_table) {
        memo_table = (*composite)->v;
        real_link = memo_table->link;
        real_link_with = memo_table->linkWithOptions;
        real_code = memo_table->getEntryPointCode;
        MEMO_PUT(memo_table->link, memo_link);
        MEMO_PUT(memo_table->linkWithOptions, memo_link_with);
        MEMO_PUT(memo_table->getEntryPointCode, memo_code);
    }
    pthread_mutex_unlock(&memo_lock);
    return result;
}

static spyi_sl_result memo_session_of(spyi_sl_global *global, const spyi_sl_session_desc *desc, spyi_sl_session **session) {
    spyi_sl_session_desc own = *desc;
    memo_files *files = memo_files_open(desc, memo_options(desc));
    if (files) own.fileSystem = &files->object;
    spyi_sl_result result = real_session(global, &own, session);
    if (result < 0 || !*session) return result;
    if (files) files->session = *session;
    pthread_mutex_lock(&memo_lock);
    memo_session *s = memo_of(*session);
    memset(s, 0, sizeof *s);
    s->session = *session;
    s->files = files;
    s->options = memo_options(desc);
    if (!real_composite) {
        real_precompiled = (*session)->v->loadModuleFromIRBlob;
        real_source = (*session)->v->loadModuleFromSourceString;
        real_composite = (*session)->v->createCompositeComponentType;
        MEMO_PUT((*session)->v->loadModuleFromIRBlob, memo_precompiled);
        real_conformance = (*session)->v->createTypeConformanceComponentType;
        MEMO_PUT((*session)->v->loadModuleFromSourceString, memo_source);
        MEMO_PUT((*session)->v->createTypeConformanceComponentType, memo_conformance);
        MEMO_PUT((*session)->v->createCompositeComponentType, memo_composite);
    }
    pthread_mutex_unlock(&memo_lock);
    return result;
}

// >>the one function that callers find here and not in libslang

spyi_sl_result slang_createGlobalSession2(const spyi_sl_global_desc *desc, spyi_sl_global **global);
__attribute__((visibility("default"))) spyi_sl_result slang_createGlobalSession2(const spyi_sl_global_desc *desc, spyi_sl_global **global) {
    static spyi_sl_result (*real)(const spyi_sl_global_desc *, spyi_sl_global **);
    pthread_mutex_lock(&memo_lock);
    if (!real) {
        void *library = dlopen(REAL, RTLD_NOW), *symbol = library ? dlsym(library, "slang_createGlobalSession2") : NULL;
        memcpy(&real, &symbol, sizeof real);
        symbol = library ? dlsym(library, "slang_createBlob") : NULL;
        memcpy(&memo_blob, &symbol, sizeof memo_blob);
    }
    pthread_mutex_unlock(&memo_lock);
    if (!real || !memo_blob) return -1;
    spyi_sl_result result = real(desc, global);
    pthread_mutex_lock(&memo_lock);
    if (result >= 0 && !real_session) {
        memo_find_folder((*global)->v->getBuildTagString(*global));
        real_session = (*global)->v->createSession;
        MEMO_PUT((*global)->v->createSession, memo_session_of);
    }
    pthread_mutex_unlock(&memo_lock);
    return result;
}
