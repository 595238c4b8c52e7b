// Files and shared libraries by path (UTF-8, on Windows too), and the folder from which this code was loaded.
#include "base/inner.h"

#include <errno.h>

#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <share.h>
#include <wchar.h>
#include <windows.h>
#else
#include <dlfcn.h>
#include <sys/stat.h>
#endif

// Adds the text before the last slash.
static void spyi_add_folder(spyi_text *out, const char *path, size_t size) {
    while (size > 0 && path[size - 1] != '/' && path[size - 1] != '\\') size--;
    if (size > 1) spyi_text_add_n(out, path, size - 1);
    else if (size == 1) spyi_text_add_n(out, path, 1); // the root keeps its slash
}

#ifdef _WIN32

enum { SPYI_MAX_PATH = 4096 };

static bool spyi_wide_path(const char *path, wchar_t *wide) {
    return path && MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, wide, SPYI_MAX_PATH) > 0;
}

static FILE *spyi_file_open(const char *path, bool write) {
    wchar_t wide[SPYI_MAX_PATH];
    return spyi_wide_path(path, wide) ? _wfsopen(wide, write ? L"wb" : L"rb", _SH_DENYNO) : NULL;
}

bool spyi_file_exists(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    DWORD attributes = spyi_wide_path(path, wide) ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    return attributes != INVALID_FILE_ATTRIBUTES && !(attributes & FILE_ATTRIBUTE_DIRECTORY);
}

bool spyi_folder_exists(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    DWORD attributes = spyi_wide_path(path, wide) ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    return attributes != INVALID_FILE_ATTRIBUTES && (attributes & FILE_ATTRIBUTE_DIRECTORY);
}

uint64_t spyi_file_stamp(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    WIN32_FILE_ATTRIBUTE_DATA data;
    if (!spyi_wide_path(path, wide) || !GetFileAttributesExW(wide, GetFileExInfoStandard, &data) ||
        (data.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY))
        return 0;
    uint64_t parts[4] = { data.ftLastWriteTime.dwHighDateTime, data.ftLastWriteTime.dwLowDateTime,
                          data.nFileSizeHigh, data.nFileSizeLow };
    return spyi_hash(parts, sizeof parts, 0) | 1;
}

static SPYI_THREAD_LOCAL DWORD spyi_library_status;
static SPYI_THREAD_LOCAL char spyi_library_text[512];

void *spyi_library_open(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    HMODULE module = NULL;
    if (!spyi_wide_path(path, wide)) {
        spyi_library_status = ERROR_INVALID_NAME;
        return NULL;
    }
    module = LoadLibraryW(wide);
    spyi_library_status = module ? 0 : GetLastError();
    return (void *)module;
}

void spyi_library_close(void *library) {
    if (library) FreeLibrary((HMODULE)library);
}

void *spyi_library_symbol(void *library, const char *name) {
    return (void *)(uintptr_t)GetProcAddress((HMODULE)library, name);
}

const char *spyi_library_error(void) {
    DWORD size =
        FormatMessageA(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL, spyi_library_status,
                       0, spyi_library_text, (DWORD)sizeof spyi_library_text - 1, NULL);
    if (size == 0) return "no reason known";
    // The system's text ends with a newline.
    while (size > 0 && (unsigned char)spyi_library_text[size - 1] <= ' ') size--;
    spyi_library_text[size] = 0;
    return spyi_library_text;
}

void spyi_library_stay(void) {
    HMODULE module;
    GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_PIN,
                       (LPCWSTR)(void *)&spyi_library_status, &module);
}

void spyi_own_folder(spyi_text *out) {
    wchar_t wide[SPYI_MAX_PATH];
    char path[SPYI_MAX_PATH * 3];
    HMODULE module = NULL;
    DWORD size;
    int bytes;
    spyi_text_clear(out);
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS |
                                GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT,
                            (LPCWSTR)(uintptr_t)&spyi_own_folder, &module))
        return;
    size = GetModuleFileNameW(module, wide, SPYI_MAX_PATH);
    if (size == 0 || size >= SPYI_MAX_PATH) return;
    bytes = WideCharToMultiByte(CP_UTF8, 0, wide, (int)size, path, (int)sizeof path, NULL, NULL);
    if (bytes > 0) spyi_add_folder(out, path, (size_t)bytes);
}

#else // POSIX

static FILE *spyi_file_open(const char *path, bool write) {
    return path ? fopen(path, write ? "wb" : "rb") : NULL;
}

bool spyi_file_exists(const char *path) {
    struct stat info;
    return path && stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

bool spyi_folder_exists(const char *path) {
    struct stat info;
    return path && stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

// Nanoseconds of the last write. The member's name depends on the system and on what -std hides.
#if defined(__APPLE__)
#define SPYI_STAT_NS(info) ((uint64_t)(info).st_mtimespec.tv_nsec)
#elif defined(st_mtime)
#define SPYI_STAT_NS(info) ((uint64_t)(info).st_mtim.tv_nsec)
#else
#define SPYI_STAT_NS(info) ((uint64_t)(info).st_mtimensec)
#endif

uint64_t spyi_file_stamp(const char *path) {
    struct stat info;
    if (!path || stat(path, &info) != 0 || S_ISDIR(info.st_mode)) return 0;
    uint64_t parts[4] = { (uint64_t)info.st_mtime, SPYI_STAT_NS(info), (uint64_t)info.st_size,
                          (uint64_t)info.st_ino };
    return spyi_hash(parts, sizeof parts, 0) | 1;
}

// Offsets and sizes in bytes of what spyi_library_is_whole() reads in a 64-bit ELF file. Source: the System V
// ABI, chapter 4.
enum {
    SPYI_ELF_HEADER = 64,
    SPYI_ELF_SEGMENTS = 32,     // in the header: offset of the segment table
    SPYI_ELF_SEGMENT_SIZE = 54, // bytes of one entry, then the number of entries
    SPYI_ELF_SEGMENT = 56,      // bytes of an entry that are read
    SPYI_ELF_LOAD = 1
};

// Returns true when every segment that the loader would map lies inside the file. dlopen() maps a truncated
// file all the same, and reading a missing part raises SIGBUS. A file that cannot be read, or is no ELF file
// of this machine, passes: dlopen() reports it.
static bool spyi_library_is_whole(const char *path) {
    const uint16_t one = 1;
    unsigned char head[SPYI_ELF_HEADER], segment[SPYI_ELF_SEGMENT];
    const bool little_endian = *(const unsigned char *)&one != 0;
    const unsigned char little[6] = { 0x7f, 'E', 'L', 'F', 2, 1 }, big[6] = { 0x7f, 'E', 'L', 'F', 2, 2 };
    const unsigned char *wanted = little_endian ? little : big;
    struct stat info;
    uint64_t table, offset, size;
    uint16_t entry, count;
    bool whole = true;
    FILE *file = strchr(path, '/') && stat(path, &info) == 0 ? fopen(path, "rb") : NULL;
    if (!file) return true;
    if (fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, wanted, sizeof little) == 0) {
        memcpy(&table, head + SPYI_ELF_SEGMENTS, sizeof table);
        memcpy(&entry, head + SPYI_ELF_SEGMENT_SIZE, sizeof entry);
        memcpy(&count, head + SPYI_ELF_SEGMENT_SIZE + 2, sizeof count);
        for (uint16_t i = 0; i < count && whole; i++) {
            uint32_t type;
            whole = table < (uint64_t)info.st_size && // the sum below cannot overflow
                    fseek(file, (long)(table + (uint64_t)i * entry), SEEK_SET) == 0 &&
                    fread(segment, 1, sizeof segment, file) == sizeof segment;
            if (!whole) break;
            memcpy(&type, segment, sizeof type);
            memcpy(&offset, segment + 8, sizeof offset);
            memcpy(&size, segment + 32, sizeof size);
            if (type == SPYI_ELF_LOAD)
                whole = offset <= (uint64_t)info.st_size && size <= (uint64_t)info.st_size - offset;
        }
    }
    fclose(file);
    return whole;
}

static SPYI_THREAD_LOCAL bool spyi_library_cut;

void *spyi_library_open(const char *path) {
    spyi_library_cut = path && !spyi_library_is_whole(path);
    return path && !spyi_library_cut ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

void spyi_library_close(void *library) {
    if (library) dlclose(library);
}

void *spyi_library_symbol(void *library, const char *name) {
    return dlsym(library, name);
}

const char *spyi_library_error(void) {
    const char *text = spyi_library_cut
                           ? "the file is cut off: it is shorter than its own header says; fetch it again"
                           : dlerror();
    return text ? text : "no reason known";
}

// The same struct as Dl_info, which -std=c11 hides.
typedef struct spyi_dl_info {
    const char *file_name;
    void *file_base;
    const char *symbol_name;
    void *symbol_address;
} spyi_dl_info;
typedef int (*spyi_dladdr_func)(const void *address, spyi_dl_info *info);

// Linux: finds the mapped file that holds `address`. For the program itself dladdr() gives argv[0], which may
// be no path.
static bool spyi_find_in_maps(uintptr_t address, spyi_text *out) {
    char line[4400]; // PATH_MAX and the text before the path
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "rb");
    if (!maps) return false;
    while (!found && fgets(line, (int)sizeof line, maps)) {
        char *end = NULL;
        uintptr_t first = (uintptr_t)strtoull(line, &end, 16), last;
        const char *path;
        if (*end != '-') continue;
        last = (uintptr_t)strtoull(end + 1, &end, 16);
        if (address < first || address >= last) continue;
        path = strchr(end, '/');
        if (!path) break;
        spyi_add_folder(out, path, strlen(path));
        found = true;
    }
    fclose(maps);
    return found;
}

// Returns the path by which the program or library that holds `address` was loaded; NULL when it is unknown.
static const char *spyi_loaded_file(uintptr_t address) {
    spyi_dladdr_func func;
    spyi_dl_info info;
#ifdef RTLD_DEFAULT
    void *symbol = dlsym(RTLD_DEFAULT, "dladdr");
#else
    void *symbol = dlsym(NULL, "dladdr");
#endif
    if (!symbol) return NULL;
    memcpy(&func, &symbol, sizeof func); // C has no cast from an object pointer to a function pointer
    return func((const void *)address, &info) ? info.file_name : NULL;
}

void spyi_library_stay(void) {
    const char *file = spyi_loaded_file((uintptr_t)&spyi_library_stay);
    if (file)
        // Never closed; the program itself gives NULL, and cannot be unloaded.
        (void)dlopen(file, RTLD_NOW | RTLD_LOCAL);
}

void spyi_own_folder(spyi_text *out) {
    uintptr_t address = (uintptr_t)&spyi_own_folder;
    const char *file;
    spyi_text_clear(out);
    if (spyi_find_in_maps(address, out)) return;
    file = spyi_loaded_file(address);
    if (file) spyi_add_folder(out, file, strlen(file));
}

#endif

const char *spyi_file_problem(void) {
    static const struct {
        int code;
        const char *text;
    } known[] = {
        { ENOENT, "no such file" },
        { EACCES, "permission denied" },
        { EISDIR, "it is a folder" },
        { ENAMETOOLONG, "the path is too long" },
        { EMFILE, "the process has too many open files" },
        { ENFILE, "the system has too many open files" },
        { ENOSPC, "the disk is full" },
        { EIO, "the disk failed" },
#ifdef ENOTDIR
        { ENOTDIR, "a part of the path is a file, not a folder" },
#endif
#ifdef EROFS
        { EROFS, "the file system is read-only" },
#endif
#ifdef ELOOP
        { ELOOP, "the path has too many symbolic links" },
#endif
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i)
        if (known[i].code == errno) return known[i].text;
    return "the system gives no reason";
}

bool spyi_file_read(const char *path, spyi_text *out) {
    FILE *file = spyi_file_open(path, false);
    bool good = true;
    int reason = 0;
    spyi_text_clear(out);
    if (!file) return false;
    errno = 0;
    for (;;) {
        size_t n;
        if (!spyi_text_reserve(out, 16384)) {
            good = false;
            break;
        }
        n = fread(out->data + out->size, 1, out->capacity - out->size - 1, file);
        if (n == 0) break;
        out->size += n;
    }
    if (ferror(file)) good = false; // a folder can be opened, but not read
    reason = errno;
    fclose(file);
    errno = reason;
    if (!good) out->size = 0;
    if (out->data) out->data[out->size] = 0;
    return good;
}

bool spyi_file_write(const char *path, const void *data, size_t size) {
    FILE *file = spyi_file_open(path, true);
    bool good;
    if (!file) return false;
    good = size == 0 || fwrite(data, 1, size, file) == size;
    if (fclose(file) != 0) good = false; // a full disk may show only here
    return good;
}
