// Stores: answers that are kept on disk; see store.h.
#include "base/store.h"

#include "base/inner.h"

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>
#else
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>
#endif
#include <time.h>

// Raise this number with every change of a file's frame or of the meaning of answers.
#define SPYI_STORE_VERSION 1u
static const char spyi_store_magic[8] = { 'S', 'P', 'Y', 'S', 'T', 'O', 'R', 'E' };
enum {
    SPYI_STORE_HEAD = 8 + 4 + 4 + 8 + 8, // the bytes of the head: magic, version, 0, bytes of the question,
                                         // bytes of the answer
    SPYI_STORE_END = 8,                  // the bytes of the hash of everything before it, at the end
    SPYI_STORE_SUBFOLDERS = 256,
    SPYI_STORE_OLD_S = 3600,       // seconds after which an unfinished file belongs to nobody
    SPYI_STORE_TOUCH_S = 12 * 3600 // seconds in which an answer's time of use is noted at most once
};

struct spyi_store {
    spyi_context *ctx;
    char *folder;
    uint64_t most_bytes;
    spyi_atomic hits, misses, writes;
    spyi_atomic broken; // a write has failed, so nothing more is written
    spyi_archive *pack; // the answers are in its memory; NULL means that they are in `folder`
};

// >>the system

typedef struct spyi_store_file {
    char name[64];
    uint64_t bytes;
    int64_t used; // seconds since 1970, or 0
} spyi_store_file;

// Calls `func` for each file of a folder.
typedef void (*spyi_store_visit)(void *user, const char *folder, const spyi_store_file *file);

#ifdef _WIN32

static bool spyi_store_wide(const char *path, wchar_t *wide, int count) {
    return MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, count) > 0;
}

static bool spyi_make_folder(const char *path) {
    wchar_t wide[1024];
    return spyi_store_wide(path, wide, 1024) &&
           (CreateDirectoryW(wide, NULL) || GetLastError() == ERROR_ALREADY_EXISTS);
}

static const char *spyi_store_unsafe(const char *path) {
    return spyi_folder_exists(path) ? NULL : "it is not a folder";
}

static void spyi_store_touch(const char *path) {
    (void)path; // the system notes the file's use by itself when the file is read
}

static int64_t spyi_store_seconds(FILETIME t) {
    uint64_t ticks = (uint64_t)t.dwHighDateTime << 32 | t.dwLowDateTime;
    return (int64_t)(ticks / 10000000u) - 11644473600;
}

static void spyi_store_list(const char *folder, spyi_store_visit func, void *user) {
    wchar_t wide[1024];
    char pattern[1024];
    WIN32_FIND_DATAW found;
    if (snprintf(pattern, sizeof pattern, "%s\\*", folder) >= (int)sizeof pattern ||
        !spyi_store_wide(pattern, wide, 1024))
        return;
    HANDLE handle = FindFirstFileW(wide, &found);
    if (handle == INVALID_HANDLE_VALUE) return;
    do {
        spyi_store_file file;
        memset(&file, 0, sizeof file);
        if ((found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) ||
            WideCharToMultiByte(CP_UTF8, 0, found.cFileName, -1, file.name, sizeof file.name, NULL, NULL) <=
                0)
            continue;
        file.bytes = (uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow;
        file.used = spyi_store_seconds(found.ftLastWriteTime);
        func(user, folder, &file);
    } while (FindNextFileW(handle, &found));
    FindClose(handle);
}

SPYI_FN void spyi_store_default_folder(spyi_text *out) {
    const char *local = getenv("LOCALAPPDATA");
    if (local && *local) spyi_text_add(out, "%s\\slangpy", local);
}

#else // POSIX systems

static bool spyi_make_folder(const char *path) {
    return mkdir(path, 0700) == 0 || spyi_folder_exists(path);
}

// Returns why code from the folder must not be run, or NULL if the folder belongs to the user.
static const char *spyi_store_unsafe(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return spyi_file_problem();
    if (!S_ISDIR(info.st_mode)) return "it is not a folder";
    if (info.st_uid != geteuid()) return "it belongs to another user";
    if (info.st_mode & (S_IWGRP | S_IWOTH)) return "other users can write to it";
    return NULL;
}

static void spyi_store_touch(const char *path) {
    struct stat info;
    if (stat(path, &info) == 0 && (int64_t)time(NULL) - (int64_t)info.st_mtime > SPYI_STORE_TOUCH_S)
        (void)utime(path, NULL);
}

static void spyi_store_list(const char *folder, spyi_store_visit func, void *user) {
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        spyi_store_file file;
        char path[1024];
        struct stat info;
        memset(&file, 0, sizeof file);
        int name = snprintf(file.name, sizeof file.name, "%s", entry->d_name);
        int whole = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (name < 0 || name >= (int)sizeof file.name || whole < 0 || whole >= (int)sizeof path) continue;
        if (stat(path, &info) != 0 || !S_ISREG(info.st_mode)) continue;
        file.bytes = (uint64_t)info.st_size;
        file.used = (int64_t)info.st_mtime;
        func(user, folder, &file);
    }
    closedir(dir);
}

SPYI_FN void spyi_store_default_folder(spyi_text *out) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && *cache == '/') spyi_text_add(out, "%s/slangpy", cache);
    else if (home && *home == '/') spyi_text_add(out, "%s/.cache/slangpy", home);
}

#endif

// >>the folder

// Makes the folder and its parent folders. Returns false when it cannot be made.
static bool spyi_store_make(const char *folder) {
    char *path = spyi_strdup(folder);
    if (!path) return false;
    for (char *c = path + 1; *path && *c; c++) {
        if (*c != '/' && *c != '\\') continue;
        char separator = *c;
        *c = '\0';
        if (!spyi_folder_exists(path)) (void)spyi_make_folder(path);
        *c = separator;
    }
    free(path);
    return spyi_make_folder(folder);
}

SPYI_FN spyi_store *spyi_store_open(spyi_context *ctx, const char *folder, uint64_t most_bytes) {
    spyi_text path = { NULL, 0, 0 };
    if (folder) spyi_text_add(&path, "%s", folder);
    else spyi_store_default_folder(&path);
    if (!path.size) {
        spyi_text_free(&path);
        return NULL;
    }
    const char *problem = spyi_store_make(path.data) ? spyi_store_unsafe(path.data) : spyi_file_problem();
    spyi_store *store = problem ? NULL : (spyi_store *)spyi_calloc(1, sizeof *store);
    if (problem) // a folder that the user has not named needs no warning
        spyi_logf(ctx, folder ? SPY_LOG_LEVEL_WARNING : SPY_LOG_LEVEL_INFO,
                  "nothing is kept for the next start: the cache folder '%s' cannot be used: %s", path.data,
                  problem);
    if (!store) {
        spyi_text_free(&path);
        return NULL;
    }
    store->ctx = ctx;
    store->folder = path.data;
    store->most_bytes = most_bytes;
    return store;
}

SPYI_FN spyi_store *spyi_store_of_pack(spyi_context *ctx, spyi_archive *pack) {
    spyi_store *store = (spyi_store *)spyi_calloc(1, sizeof *store);
    if (!store) {
        spyi_archive_close(pack);
        return NULL;
    }
    store->ctx = ctx;
    store->pack = pack;
    return store;
}

SPYI_FN spyi_archive *spyi_store_pack(const spyi_store *store) {
    return store ? store->pack : NULL;
}

SPYI_FN spyi_store_counts spyi_store_count(spyi_store *store) {
    spyi_store_counts counts = { 0, 0, 0 };
    if (!store) return counts;
    counts.hits = (uint64_t)spyi_atomic_load(&store->hits);
    counts.misses = (uint64_t)spyi_atomic_load(&store->misses);
    counts.writes = (uint64_t)spyi_atomic_load(&store->writes);
    return counts;
}

// >>answers

// Appends the path of a question's answer.
static void spyi_store_path(const spyi_store *store, const spyi_text *question, spyi_text *out) {
    uint64_t a = spyi_hash(question->data, question->size, SPYI_STORE_VERSION);
    uint64_t b = spyi_hash(question->data, question->size, ~a);
    spyi_text_add(out, "%s/%02x/%014llx%016llx", store->folder, (unsigned)(a >> 56),
                  (unsigned long long)(a & 0xffffffffffffffull), (unsigned long long)b);
}

static bool spyi_store_check(const spyi_text *file, const spyi_text *question, spyi_text *answer) {
    uint32_t version;
    uint64_t sizes[2], hash;
    if (file->size < SPYI_STORE_HEAD + SPYI_STORE_END) return false;
    memcpy(&version, file->data + 8, sizeof version);
    memcpy(sizes, file->data + 16, sizeof sizes);
    size_t room = file->size - SPYI_STORE_HEAD - SPYI_STORE_END;
    if (memcmp(file->data, spyi_store_magic, sizeof spyi_store_magic) != 0 || version != SPYI_STORE_VERSION ||
        sizes[0] != question->size || sizes[0] > room || sizes[1] != room - sizes[0])
        return false;
    memcpy(&hash, file->data + file->size - SPYI_STORE_END, sizeof hash);
    if (hash != spyi_hash(file->data, file->size - SPYI_STORE_END, SPYI_STORE_VERSION) ||
        memcmp(file->data + SPYI_STORE_HEAD, question->data, question->size) != 0)
        return false;
    uint32_t failed = spyi_failed_allocations();
    size_t before = answer->size;
    if (sizes[1]) spyi_text_add_n(answer, file->data + SPYI_STORE_HEAD + question->size, (size_t)sizes[1]);
    if (spyi_failed_allocations() == failed) return true;
    answer->size = before;
    return false;
}

SPYI_FN bool spyi_store_get(spyi_store *store, const spyi_text *question, spyi_text *answer) {
    spyi_text path = { NULL, 0, 0 }, file = { NULL, 0, 0 };
    if (!store || !question->size) return false;
    if (store->pack) return spyi_archive_get(store->pack, question, answer);
    spyi_store_path(store, question, &path);
    bool found = path.size && spyi_file_read(path.data, &file);
    bool good = found && spyi_store_check(&file, question, answer);
    if (good) spyi_store_touch(path.data);
    if (found && !good) {
        spyi_logf(store->ctx, SPY_LOG_LEVEL_INFO,
                  "the cache's file '%s' is damaged or foreign, and made anew", path.data);
        spyi_file_remove(path.data);
    }
    (void)spyi_atomic_add(good ? &store->hits : &store->misses, 1);
    spyi_text_free(&path);
    spyi_text_free(&file);
    return good;
}

SPYI_FN bool spyi_store_has(spyi_store *store, const spyi_text *question) {
    spyi_text path = { NULL, 0, 0 };
    if (!store || !question->size) return false;
    if (store->pack) return spyi_archive_has(store->pack, question);
    spyi_store_path(store, question, &path);
    bool has = path.size && spyi_file_exists(path.data);
    spyi_text_free(&path);
    return has;
}

SPYI_FN void spyi_store_put(spyi_store *store, const spyi_text *question, const spyi_text *answer) {
    spyi_text path = { NULL, 0, 0 }, file = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations(), version[2] = { SPYI_STORE_VERSION, 0 };
    if (!store || spyi_atomic_load(&store->broken) || !question->size) return;
    if (store->pack) {
        (void)spyi_archive_put(store->pack, question, answer);
        return;
    }
    uint64_t sizes[2] = { question->size, answer->size };
    spyi_text_add_n(&file, spyi_store_magic, sizeof spyi_store_magic);
    spyi_text_add_n(&file, (const char *)version, sizeof version);
    spyi_text_add_n(&file, (const char *)sizes, sizeof sizes);
    spyi_text_add_n(&file, question->data, question->size);
    if (answer->size) spyi_text_add_n(&file, answer->data, answer->size);
    uint64_t hash = spyi_hash(file.data, file.size, SPYI_STORE_VERSION);
    spyi_text_add_n(&file, (const char *)&hash, sizeof hash);
    spyi_store_path(store, question, &path);
    if (spyi_failed_allocations() == failed) {
        bool written = spyi_file_replace(path.data, file.data, file.size);
        if (!written) { // the folder of the first answer is missing, or was removed
            size_t folder = strlen(store->folder) + 3;
            char separator = path.data[folder];
            path.data[folder] = '\0';
            bool made = spyi_store_make(path.data);
            path.data[folder] = separator;
            written = made && spyi_file_replace(path.data, file.data, file.size);
        }
        const char *problem = written ? NULL : spyi_file_problem();
        if (!problem) (void)spyi_atomic_add(&store->writes, 1);
        else if (spyi_atomic_add(&store->broken, 1) == 1)
            spyi_logf(store->ctx, SPY_LOG_LEVEL_WARNING,
                      "nothing more is kept for the next start: '%s' cannot be written: %s", path.data,
                      problem);
    }
    spyi_text_free(&path);
    spyi_text_free(&file);
}

// >>all answers

typedef struct spyi_store_found {
    spyi_store_file file;
    uint32_t folder;
} spyi_store_found;

typedef struct spyi_store_sum {
    uint64_t bytes;
    int64_t now; // the current time, by which old unfinished files are removed
    uint32_t folder;
    spyi_store_found *items; // the list of files
    uint32_t item_count, capacity;
} spyi_store_sum;

static void spyi_store_sum_file(void *user, const char *folder, const spyi_store_file *file) {
    spyi_store_sum *sum = (spyi_store_sum *)user;
    if (strchr(file->name, '.')) { // an unfinished file
        char path[1200];
        snprintf(path, sizeof path, "%s/%s", folder, file->name);
        if (sum->now - file->used > SPYI_STORE_OLD_S) spyi_file_remove(path);
        return;
    }
    sum->bytes += file->bytes;
    if (sum->item_count == sum->capacity) {
        uint32_t capacity = sum->capacity ? sum->capacity * 2 : 256;
        spyi_store_found *items = (spyi_store_found *)spyi_realloc(sum->items, capacity * sizeof *items);
        if (!items) return;
        sum->items = items;
        sum->capacity = capacity;
    }
    sum->items[sum->item_count].file = *file;
    sum->items[sum->item_count++].folder = sum->folder;
}

static int spyi_store_older(const void *a, const void *b) {
    int64_t x = ((const spyi_store_found *)a)->file.used, y = ((const spyi_store_found *)b)->file.used;
    return x < y ? -1 : x > y;
}

static void spyi_store_shrink(const spyi_store *store) {
    spyi_store_sum sum;
    memset(&sum, 0, sizeof sum);
    sum.now = (int64_t)time(NULL);
    for (sum.folder = 0; sum.folder < SPYI_STORE_SUBFOLDERS; sum.folder++) {
        char path[1100];
        snprintf(path, sizeof path, "%s/%02x", store->folder, (unsigned)sum.folder);
        spyi_store_list(path, spyi_store_sum_file, &sum);
    }
    if (sum.bytes > store->most_bytes && sum.item_count) {
        qsort(sum.items, sum.item_count, sizeof *sum.items, spyi_store_older);
        uint64_t target = store->most_bytes / 10 * 9;
        for (uint32_t i = 0; i < sum.item_count && sum.bytes > target; i++) {
            char path[1200];
            snprintf(path, sizeof path, "%s/%02x/%s", store->folder, (unsigned)sum.items[i].folder,
                     sum.items[i].file.name);
            spyi_file_remove(path);
            sum.bytes -= sum.items[i].file.bytes;
        }
    }
    free(sum.items);
}

SPYI_FN void spyi_store_close(spyi_store *store) {
    if (!store) return;
    if (spyi_atomic_load(&store->writes)) spyi_store_shrink(store);
    spyi_archive_close(store->pack);
    free(store->folder);
    free(store);
}
