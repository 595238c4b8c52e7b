// Archives: the answers of a store in one piece of memory; see archive.h.
#include "base/archive.h"

// Raise this number with every change of the frame, of the meaning of answers, or of the kernels' texts: a
// kernel is found by a hash of its text.
#define SPYI_ARCHIVE_VERSION 2u
static const char spyi_archive_magic[8] = { 'S', 'P', 'Y', 'P', 'A', 'C', 'K', '\n' };
enum {
    SPYI_ARCHIVE_HASHED = 24, // the bytes before the hash: magic, format, version of slangpy, number of all
                              // bytes
    SPYI_ARCHIVE_HEAD = 40,   // the bytes of the head; behind the hash it has the number of answers and the
                              // bytes of the manifest
    SPYI_ARCHIVE_ENTRY = 32   // the bytes of an entry: hash of the question, offset and bytes of the answer
};

typedef struct spyi_archive_entry {
    uint64_t hash[2];
    uint64_t offset, size; // the answer's offset from the begin of the bytes, and its size
    char *recorded;        // the answer, while a pack is recorded
} spyi_archive_entry;

typedef struct spyi_archive_line {
    char *text;
    uint32_t count;
    uint64_t bytes;
} spyi_archive_line;

struct spyi_archive {
    // The next members are for a pack that was opened.
    const uint8_t *bytes;
    size_t size;
    bool owned;
    uint32_t count, manifest_size;
    // The next members are for a pack that is recorded.
    bool recording;
    spyi_mutex lock;
    spyi_archive_entry *entries;
    uint32_t capacity;
    spyi_archive_line *lines;
    uint32_t line_count, line_capacity;
};

static void spyi_archive_hash(const spyi_text *question, uint64_t hash[2]) {
    hash[0] = spyi_hash(question->data, question->size, SPYI_ARCHIVE_VERSION);
    hash[1] = spyi_hash(question->data, question->size, ~hash[0]);
}

// >>opening

static uint64_t spyi_archive_whole_hash(const uint8_t *bytes, size_t size) {
    return spyi_hash(bytes + SPYI_ARCHIVE_HASHED + 8, size - SPYI_ARCHIVE_HASHED - 8,
                     spyi_hash(bytes, SPYI_ARCHIVE_HASHED, SPYI_ARCHIVE_VERSION));
}

static void spyi_archive_entry_at(const spyi_archive *pack, uint32_t i, spyi_archive_entry *out) {
    uint64_t fields[4];
    memcpy(fields, pack->bytes + SPYI_ARCHIVE_HEAD + (size_t)i * SPYI_ARCHIVE_ENTRY, sizeof fields);
    out->hash[0] = fields[0];
    out->hash[1] = fields[1];
    out->offset = fields[2];
    out->size = fields[3];
    out->recorded = NULL;
}

static int spyi_archive_compare(const uint64_t a[2], const uint64_t b[2]) {
    if (a[0] != b[0]) return a[0] < b[0] ? -1 : 1;
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

// Returns why the bytes are no pack of this library, or NULL if they are one and all of it can be used.
static const char *spyi_archive_check(spyi_archive *pack, spyi_text *error) {
    const uint8_t *bytes = pack->bytes;
    uint32_t numbers[2];
    uint64_t size, hash;
    spyi_archive_entry entry, before;
    if (pack->size == 0) return "it is empty";
    if (pack->size < 16 || memcmp(bytes, spyi_archive_magic, sizeof spyi_archive_magic) != 0)
        return "it is no pack of slangpy's";
    memcpy(numbers, bytes + 8, sizeof numbers);
    if (numbers[0] != SPYI_ARCHIVE_VERSION || numbers[1] != SPY_VERSION) {
        spyi_text_add(
            error,
            "it has format %u of slangpy %u.%u.%u, and this is format %u of slangpy %u.%u.%u: make it anew",
            numbers[0], numbers[1] / 10000, numbers[1] / 100 % 100, numbers[1] % 100, SPYI_ARCHIVE_VERSION,
            SPY_VERSION / 10000u, SPY_VERSION / 100u % 100u, SPY_VERSION % 100u);
        return "";
    }
    if (pack->size < SPYI_ARCHIVE_HEAD) return "it is cut off";
    memcpy(&size, bytes + 16, sizeof size);
    memcpy(&hash, bytes + SPYI_ARCHIVE_HASHED, sizeof hash);
    memcpy(numbers, bytes + SPYI_ARCHIVE_HASHED + 8, sizeof numbers);
    if (size != pack->size) {
        spyi_text_add(error, "it is damaged: it says that it has %llu bytes, and there are %zu",
                      (unsigned long long)size, pack->size);
        return "";
    }
    if (hash != spyi_archive_whole_hash(bytes, pack->size))
        return "it is damaged: its content is not what was written";
    uint64_t room = pack->size - SPYI_ARCHIVE_HEAD;
    if (numbers[0] > room / SPYI_ARCHIVE_ENTRY ||
        numbers[1] > room - (uint64_t)numbers[0] * SPYI_ARCHIVE_ENTRY)
        return "it is damaged: its index does not fit";
    pack->count = numbers[0];
    pack->manifest_size = numbers[1];
    for (uint32_t i = 0; i < pack->count; i++, before = entry) {
        spyi_archive_entry_at(pack, i, &entry);
        if (entry.offset > size || entry.size > size - entry.offset ||
            (i && spyi_archive_compare(before.hash, entry.hash) >= 0))
            return "it is damaged: its index is not in order";
    }
    if (numbers[1] &&
        memchr(bytes + SPYI_ARCHIVE_HEAD + (size_t)numbers[0] * SPYI_ARCHIVE_ENTRY, 0, numbers[1]))
        return "it is damaged: its manifest is no text";
    return NULL;
}

SPYI_FN spyi_archive *spyi_archive_open(const void *bytes, size_t size, bool owned, spyi_text *error) {
    spyi_archive *pack = (spyi_archive *)spyi_calloc(1, sizeof *pack);
    if (!pack) {
        spyi_text_add(error, "out of host memory");
        if (owned) free((void *)(uintptr_t)bytes);
        return NULL;
    }
    pack->bytes = (const uint8_t *)bytes;
    pack->size = size;
    pack->owned = owned;
    const char *problem = spyi_archive_check(pack, error);
    if (!problem) return pack;
    spyi_text_add(error, "%s", problem);
    spyi_archive_close(pack);
    return NULL;
}

SPYI_FN spyi_archive *spyi_archive_begin(void) {
    spyi_archive *pack = (spyi_archive *)spyi_calloc(1, sizeof *pack);
    if (!pack) return NULL;
    pack->recording = true;
    spyi_mutex_init(&pack->lock);
    return pack;
}

SPYI_FN void spyi_archive_close(spyi_archive *pack) {
    if (!pack) return;
    if (pack->owned) free((void *)(uintptr_t)pack->bytes);
    for (uint32_t i = 0; pack->recording && i < pack->count; i++) free(pack->entries[i].recorded);
    for (uint32_t i = 0; i < pack->line_count; i++) free(pack->lines[i].text);
    if (pack->recording) spyi_mutex_destroy(&pack->lock);
    free(pack->entries);
    free(pack->lines);
    free(pack);
}

SPYI_FN bool spyi_archive_is_recording(const spyi_archive *pack) {
    return pack->recording;
}

// >>answers

// Returns the number of the first entry that is not before `hash`; *found receives whether it has this hash.
static uint32_t spyi_archive_find(const spyi_archive *pack, const uint64_t hash[2], spyi_archive_entry *out,
                                  bool *found) {
    uint32_t first = 0, last = pack->count;
    *found = false;
    while (first < last) {
        uint32_t middle = first + (last - first) / 2;
        if (pack->recording) *out = pack->entries[middle];
        else spyi_archive_entry_at(pack, middle, out);
        int order = spyi_archive_compare(out->hash, hash);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) first = middle + 1;
        else last = middle;
    }
    return first;
}

SPYI_FN bool spyi_archive_get(spyi_archive *pack, const spyi_text *question, spyi_text *answer) {
    uint64_t hash[2];
    spyi_archive_entry entry;
    uint32_t failed = spyi_failed_allocations();
    size_t before = answer->size;
    bool found;
    spyi_archive_hash(question, hash);
    if (pack->recording) spyi_mutex_lock(&pack->lock);
    (void)spyi_archive_find(pack, hash, &entry, &found);
    if (found && entry.size)
        spyi_text_add_n(answer, pack->recording ? entry.recorded : (const char *)pack->bytes + entry.offset,
                        (size_t)entry.size);
    if (pack->recording) spyi_mutex_unlock(&pack->lock);
    if (spyi_failed_allocations() == failed) return found;
    answer->size = before;
    return false;
}

SPYI_FN bool spyi_archive_has(spyi_archive *pack, const spyi_text *question) {
    uint64_t hash[2];
    spyi_archive_entry entry;
    bool found;
    spyi_archive_hash(question, hash);
    if (pack->recording) spyi_mutex_lock(&pack->lock);
    (void)spyi_archive_find(pack, hash, &entry, &found);
    if (pack->recording) spyi_mutex_unlock(&pack->lock);
    return found;
}

// Puts a copy of an answer into a pack that is recorded. The caller holds the lock.
static bool spyi_archive_insert(spyi_archive *pack, const uint64_t hash[2], const void *data, size_t size,
                                bool replace) {
    spyi_archive_entry entry;
    bool found;
    uint32_t at = spyi_archive_find(pack, hash, &entry, &found);
    if (found && !replace) return true;
    char *copy = (char *)spyi_malloc(size + 1);
    if (!copy) return false;
    if (!found && pack->count == pack->capacity) {
        uint32_t capacity = pack->capacity ? 2 * pack->capacity : 64;
        spyi_archive_entry *grown =
            (spyi_archive_entry *)spyi_realloc(pack->entries, capacity * sizeof *grown);
        if (!grown) {
            free(copy);
            return false;
        }
        pack->entries = grown;
        pack->capacity = capacity;
    }
    if (size) memcpy(copy, data, size);
    if (found) {
        free(pack->entries[at].recorded);
    } else {
        memmove(pack->entries + at + 1, pack->entries + at, (pack->count - at) * sizeof *pack->entries);
        pack->count++;
    }
    memcpy(pack->entries[at].hash, hash, sizeof pack->entries[at].hash);
    pack->entries[at].offset = !replace; // 1 means that the answer's bytes lie in another pack until the
                                         // writing ends
    pack->entries[at].size = size;
    pack->entries[at].recorded = copy;
    return true;
}

SPYI_FN bool spyi_archive_put(spyi_archive *pack, const spyi_text *question, const spyi_text *answer) {
    uint64_t hash[2];
    if (!pack->recording) return false;
    spyi_archive_hash(question, hash);
    spyi_mutex_lock(&pack->lock);
    bool good = spyi_archive_insert(pack, hash, answer->data, answer->size, true);
    spyi_mutex_unlock(&pack->lock);
    return good;
}

SPYI_FN void spyi_archive_code_name(const void *code, size_t size, uint64_t name[2]) {
    spyi_text text = { (char *)(uintptr_t)code, size, 0 };
    if (size == SPYI_ARCHIVE_NAME_BYTES) memcpy(name, code, SPYI_ARCHIVE_NAME_BYTES);
    else spyi_archive_hash(&text, name);
}

// >>the manifest

// Adds `count` and `bytes` to the line whose text is the first `size` bytes of `text`. The caller holds the
// lock.
static void spyi_archive_add_line(spyi_archive *pack, const char *text, size_t size, uint32_t count,
                                  uint64_t bytes, bool sums) {
    uint32_t i = 0;
    while (i < pack->line_count &&
           (strlen(pack->lines[i].text) != size || memcmp(pack->lines[i].text, text, size) != 0))
        i++;
    if (i == pack->line_count) {
        if (pack->line_count == pack->line_capacity) {
            uint32_t capacity = pack->line_capacity ? 2 * pack->line_capacity : 16;
            spyi_archive_line *grown =
                (spyi_archive_line *)spyi_realloc(pack->lines, capacity * sizeof *grown);
            if (!grown) return;
            pack->lines = grown;
            pack->line_capacity = capacity;
        }
        char *copy = (char *)spyi_malloc(size + 1);
        if (!copy) return;
        memcpy(copy, text, size);
        copy[size] = '\0';
        memset(&pack->lines[i], 0, sizeof pack->lines[i]);
        pack->lines[i].text = copy;
        pack->line_count++;
        sums = true;
    }
    if (!sums) return;
    pack->lines[i].count += count;
    pack->lines[i].bytes += bytes;
}

SPYI_FN void spyi_archive_note(spyi_archive *pack, const char *line, uint32_t count, uint64_t bytes) {
    if (!pack->recording) return;
    spyi_mutex_lock(&pack->lock);
    spyi_archive_add_line(pack, line, strlen(line), count, bytes, true);
    spyi_mutex_unlock(&pack->lock);
}

SPYI_FN const char *spyi_archive_manifest(const spyi_archive *pack, size_t *size) {
    *size = pack->manifest_size;
    return pack->recording
               ? ""
               : (const char *)pack->bytes + SPYI_ARCHIVE_HEAD + (size_t)pack->count * SPYI_ARCHIVE_ENTRY;
}

// >>writing

// Takes over the answers and lines that another pack has and this one lacks.
static bool spyi_archive_merge(spyi_archive *pack, const spyi_archive *other) {
    uint32_t failed = spyi_failed_allocations();
    size_t size;
    const char *manifest = spyi_archive_manifest(other, &size);
    for (uint32_t i = 0; i < other->count; i++) {
        spyi_archive_entry entry;
        spyi_archive_entry_at(other, i, &entry);
        if (!spyi_archive_insert(pack, entry.hash, other->bytes + entry.offset, (size_t)entry.size, false))
            return false;
    }
    for (size_t at = 0; at < size;) { // a line ends with "\tCOUNT\tBYTES
                                      // "
        const char *end = (const char *)memchr(manifest + at, '\n', size - at);
        size_t length = end ? (size_t)(end - manifest) - at : size - at, text = length;
        int tabs = 0;
        while (text && tabs < 2) tabs += manifest[at + --text] == '\t';
        if (tabs == 2) {
            char numbers[48];
            unsigned count = 0;
            unsigned long long bytes = 0;
            snprintf(numbers, sizeof numbers, "%.*s", (int)(length - text < 47 ? length - text : 47),
                     manifest + at + text);
            (void)sscanf(numbers, "%u %llu", &count, &bytes);
            spyi_archive_add_line(pack, manifest + at, text, count, bytes, false);
        }
        at += length + 1;
    }
    return spyi_failed_allocations() == failed;
}

static void spyi_archive_add_number(spyi_text *out, uint64_t number) {
    spyi_text_add_n(out, (const char *)&number, sizeof number);
}

SPYI_FN bool spyi_archive_write(spyi_archive *pack, const spyi_archive *other, spyi_text *out) {
    uint32_t failed = spyi_failed_allocations(), numbers[2] = { SPYI_ARCHIVE_VERSION, SPY_VERSION };
    spyi_text manifest = { NULL, 0, 0 };
    size_t begin = out->size;
    spyi_mutex_lock(&pack->lock);
    uint32_t line_count = pack->line_count, kept = 0;
    bool good = !other || spyi_archive_merge(pack, other);
    for (uint32_t i = 0; i < pack->line_count; i++)
        spyi_text_add(&manifest, "%s\t%u\t%llu\n", pack->lines[i].text, pack->lines[i].count,
                      (unsigned long long)pack->lines[i].bytes);
    uint64_t size = SPYI_ARCHIVE_HEAD + (uint64_t)pack->count * SPYI_ARCHIVE_ENTRY + manifest.size, at = size;
    for (uint32_t i = 0; i < pack->count; i++) size += pack->entries[i].size;
    spyi_text_add_n(out, spyi_archive_magic, sizeof spyi_archive_magic);
    spyi_text_add_n(out, (const char *)numbers, sizeof numbers);
    spyi_archive_add_number(out, size);
    spyi_archive_add_number(out, 0);
    numbers[0] = pack->count;
    numbers[1] = (uint32_t)manifest.size;
    spyi_text_add_n(out, (const char *)numbers, sizeof numbers);
    for (uint32_t i = 0; i < pack->count; i++) {
        const spyi_archive_entry *entry = &pack->entries[i];
        spyi_archive_add_number(out, entry->hash[0]);
        spyi_archive_add_number(out, entry->hash[1]);
        spyi_archive_add_number(out, at);
        spyi_archive_add_number(out, entry->size);
        at += entry->size;
    }
    if (manifest.size) spyi_text_add_n(out, manifest.data, manifest.size);
    for (uint32_t i = 0; i < pack->count; i++)
        if (pack->entries[i].size)
            spyi_text_add_n(out, pack->entries[i].recorded, (size_t)pack->entries[i].size);
    while (pack->line_count > line_count) free(pack->lines[--pack->line_count].text);
    for (uint32_t i = 0; i < pack->count; i++) {
        if (pack->entries[i].offset) free(pack->entries[i].recorded);
        else pack->entries[kept++] = pack->entries[i];
    }
    pack->count = kept;
    spyi_mutex_unlock(&pack->lock);
    spyi_text_free(&manifest);
    if (!good || spyi_failed_allocations() != failed) return false;
    uint64_t hash = spyi_archive_whole_hash((const uint8_t *)out->data + begin, (size_t)size);
    memcpy(out->data + begin + SPYI_ARCHIVE_HASHED, &hash, sizeof hash);
    return true;
}
