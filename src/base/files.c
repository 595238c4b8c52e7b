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
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
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

uint64_t spyi_library_stamp(const char *path) {
    return spyi_file_stamp(path);
}

// The system itself renames no file to the name of a device.
static bool spyi_file_may_be_replaced(const char *path) {
    (void)path;
    return true;
}

static bool spyi_file_rename(const char *from, const char *to) {
    wchar_t wide[2][SPYI_MAX_PATH];
    return spyi_wide_path(from, wide[0]) && spyi_wide_path(to, wide[1]) &&
           MoveFileExW(wide[0], wide[1], MOVEFILE_REPLACE_EXISTING);
}

void spyi_file_remove(const char *path) {
    wchar_t wide[SPYI_MAX_PATH];
    if (spyi_wide_path(path, wide)) DeleteFileW(wide);
}

static uint32_t spyi_process_number(void) {
    return (uint32_t)GetCurrentProcessId();
}

// Waits for a mutex of the session, which is named after the full path.
intptr_t spyi_file_lock(const char *path) {
    wchar_t wide[SPYI_MAX_PATH], full[SPYI_MAX_PATH];
    char name[64];
    if (!spyi_wide_path(path, wide)) return 0;
    DWORD size = GetFullPathNameW(wide, SPYI_MAX_PATH, full, NULL);
    if (size == 0 || size >= SPYI_MAX_PATH) return 0;
    snprintf(name, sizeof name, "Local\\slangpy_file_%016llx",
             (unsigned long long)spyi_hash(full, size * sizeof *full, 0));
    HANDLE mutex = spyi_wide_path(name, wide) ? CreateMutexW(NULL, FALSE, wide) : NULL;
    if (!mutex) return 0;
    (void)WaitForSingleObject(mutex, INFINITE); // this also takes a mutex whose last owner has died
    return (intptr_t)mutex;
}

void spyi_file_unlock(intptr_t lock) {
    if (!lock) return;
    ReleaseMutex((HANDLE)lock);
    CloseHandle((HANDLE)lock);
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
    // The system's text ends with a newline, which is removed.
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

#else // POSIX systems

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

// Returns the nanoseconds of the last write. The member's name depends on the system and on what -std hides.
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

// Offsets and sizes in bytes of the parts of a 64-bit ELF file that are read. Source: the System V ABI,
// chapters 4 and 5.
enum {
    SPYI_ELF_HEADER = 64,
    SPYI_ELF_SEGMENTS = 32,     // the offset of the segment table; the header has this number
    SPYI_ELF_SEGMENT_SIZE = 54, // the bytes of one entry of the segment table; the header has this number,
                                // followed by the number of entries
    SPYI_ELF_SEGMENT = 56,      // the bytes of a segment's entry that are read
    SPYI_ELF_LOAD = 1,
    SPYI_ELF_NOTE = 4,
    SPYI_ELF_BUILD_ID = 3,     // the type of a note
    SPYI_ELF_MOST_NOTES = 4096 // most bytes of a segment of notes that are read
};

typedef struct spyi_elf_segment {
    uint32_t type;
    uint64_t offset, size;
} spyi_elf_segment;

// Opens an ELF file of this machine, and gives the number of its segments. Returns NULL if it is no such
// file, or cannot be read.
static FILE *spyi_elf_open(const char *path, uint64_t *table, uint16_t *entry, uint16_t *count) {
    const uint16_t one = 1;
    unsigned char head[SPYI_ELF_HEADER];
    const bool little_endian = *(const unsigned char *)&one != 0;
    const unsigned char little[6] = { 0x7f, 'E', 'L', 'F', 2, 1 }, big[6] = { 0x7f, 'E', 'L', 'F', 2, 2 };
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    if (fread(head, 1, sizeof head, file) != sizeof head ||
        memcmp(head, little_endian ? little : big, sizeof little) != 0) {
        fclose(file);
        return NULL;
    }
    memcpy(table, head + SPYI_ELF_SEGMENTS, sizeof *table);
    memcpy(entry, head + SPYI_ELF_SEGMENT_SIZE, sizeof *entry);
    memcpy(count, head + SPYI_ELF_SEGMENT_SIZE + 2, sizeof *count);
    return file;
}

// Reads entry `i` of the segment table. Returns false when it lies beyond the file's `file_size` bytes.
static bool spyi_elf_read(FILE *file, uint64_t table, uint16_t entry, uint16_t i, uint64_t file_size,
                          spyi_elf_segment *out) {
    unsigned char segment[SPYI_ELF_SEGMENT];
    if (table >= file_size || // this makes sure that the sum below cannot overflow
        fseek(file, (long)(table + (uint64_t)i * entry), SEEK_SET) != 0 ||
        fread(segment, 1, sizeof segment, file) != sizeof segment)
        return false;
    memcpy(&out->type, segment, sizeof out->type);
    memcpy(&out->offset, segment + 8, sizeof out->offset);
    memcpy(&out->size, segment + 32, sizeof out->size);
    return true;
}

// Returns true when every segment that the loader would map lies inside the file. dlopen() maps a truncated
// file all the same, and reading a missing part raises SIGBUS. A file that cannot be read, or is no ELF file
// of this machine, passes: dlopen() reports it.
static bool spyi_library_is_whole(const char *path) {
    struct stat info;
    uint64_t table;
    uint16_t entry, count;
    bool whole = true;
    FILE *file =
        strchr(path, '/') && stat(path, &info) == 0 ? spyi_elf_open(path, &table, &entry, &count) : NULL;
    if (!file) return true;
    for (uint16_t i = 0; i < count && whole; i++) {
        spyi_elf_segment s;
        whole = spyi_elf_read(file, table, entry, i, (uint64_t)info.st_size, &s);
        if (whole && s.type == SPYI_ELF_LOAD)
            whole = s.offset <= (uint64_t)info.st_size && s.size <= (uint64_t)info.st_size - s.offset;
    }
    fclose(file);
    return whole;
}

// Finds the note with the build's id. A note consists of the sizes of its name and of its content, its type,
// and then both, each padded to 4 bytes. Returns a hash of the id; 0 if there is none.
static uint64_t spyi_elf_build_id(const unsigned char *notes, size_t size) {
    for (size_t at = 0; size - at >= 12;) {
        uint32_t head[3];
        memcpy(head, notes + at, sizeof head);
        uint64_t name = ((uint64_t)head[0] + 3) & ~(uint64_t)3,
                 content = ((uint64_t)head[1] + 3) & ~(uint64_t)3;
        at += sizeof head;
        if (name + content > size - at) return 0;
        if (head[2] == SPYI_ELF_BUILD_ID && head[0] == 4 && memcmp(notes + at, "GNU", 4) == 0)
            return spyi_hash(notes + at + name, head[1], 0) | 1;
        at += (size_t)(name + content);
    }
    return 0;
}

// Returns false for a device, pipe or folder, which a renamed file would remove (/dev/null), and sets errno.
static bool spyi_file_may_be_replaced(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0 || S_ISREG(info.st_mode)) return true;
    errno = S_ISDIR(info.st_mode) ? EISDIR : EEXIST;
    return false;
}

static bool spyi_file_rename(const char *from, const char *to) {
    return rename(from, to) == 0;
}

void spyi_file_remove(const char *path) {
    (void)unlink(path);
}

static uint32_t spyi_process_number(void) {
    return (uint32_t)getpid();
}

// Takes the lock of the file's folder.
intptr_t spyi_file_lock(const char *path) {
    spyi_text folder = { NULL, 0, 0 };
    int flags = O_RDONLY;
#ifdef O_CLOEXEC
    flags |= O_CLOEXEC;
#endif
    spyi_add_folder(&folder, path, strlen(path));
    int file = open(folder.size ? folder.data : ".", flags);
    spyi_text_free(&folder);
    if (file < 0) return 0;
    while (flock(file, LOCK_EX) != 0) {
        if (errno == EINTR) continue;
        close(file); // the file system has no locks
        return 0;
    }
    return (intptr_t)file + 1;
}

void spyi_file_unlock(intptr_t lock) {
    if (lock) close((int)(lock - 1));
}

uint64_t spyi_library_stamp(const char *path) {
    struct stat info;
    uint64_t table, found = 0;
    uint16_t entry, count;
    FILE *file = path && stat(path, &info) == 0 && !S_ISDIR(info.st_mode)
                     ? spyi_elf_open(path, &table, &entry, &count)
                     : NULL;
    for (uint16_t i = 0; file && i < count && !found; i++) {
        unsigned char notes[SPYI_ELF_MOST_NOTES];
        spyi_elf_segment s;
        if (!spyi_elf_read(file, table, entry, i, (uint64_t)info.st_size, &s)) break;
        if (s.type != SPYI_ELF_NOTE || s.offset >= (uint64_t)info.st_size) continue;
        size_t size = s.size < sizeof notes ? (size_t)s.size : sizeof notes;
        if (fseek(file, (long)s.offset, SEEK_SET) == 0)
            found = spyi_elf_build_id(notes, fread(notes, 1, size, file));
    }
    if (file) fclose(file);
    uint64_t parts[2] = { found, found ? (uint64_t)info.st_size : 0 };
    return found ? spyi_hash(parts, sizeof parts, 0) | 1 : spyi_file_stamp(path);
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

// The struct Dl_info, which -std=c11 hides.
typedef struct spyi_dl_info {
    const char *file_name;
    void *file_base;
    const char *symbol_name;
    void *symbol_address;
} spyi_dl_info;
typedef int (*spyi_dladdr_func)(const void *address, spyi_dl_info *info);

// Finds the mapped file that holds `address` (Linux). For the program itself dladdr() gives argv[0], which
// may be no path.
static bool spyi_find_in_maps(uintptr_t address, spyi_text *out) {
    char line[4400]; // room for PATH_MAX and the text before the path
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
        // The handle is never closed. For the program itself the file is NULL, and it cannot be unloaded.
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
        { ENOMEM, "out of host memory" },
        { EEXIST, "there is something else of this name" },
        { EPERM, "the system does not permit it" },
        { EFBIG, "the file would be larger than the system allows" },
#ifdef EDQUOT
        { EDQUOT, "the user's share of the disk is full" },
#endif
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
    if (fclose(file) != 0) good = false; // a full disk may cause an error only here
    return good;
}

bool spyi_file_replace(const char *path, const void *data, size_t size) {
    if (!spyi_file_may_be_replaced(path)) return false;
    spyi_text unfinished = { NULL, 0, 0 };
    uint32_t failed = spyi_failed_allocations();
    // The address of this variable differs between threads of a process.
    spyi_text_add(&unfinished, "%s.%u.%llx", path, (unsigned)spyi_process_number(),
                  (unsigned long long)(uintptr_t)&unfinished);
    bool good = spyi_failed_allocations() == failed;
    if (!good) errno = ENOMEM;
    if (good && (!spyi_file_write(unfinished.data, data, size) || !spyi_file_rename(unfinished.data, path))) {
        int reason = errno;
        spyi_file_remove(unfinished.data);
        errno = reason;
        good = false;
    }
    spyi_text_free(&unfinished);
    return good;
}
