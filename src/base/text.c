// Text: the growable string, characters of identifiers, the hash of keys, and the edit distance for "did you
// mean".
#include "base/inner.h"

bool spyi_text_reserve(spyi_text *t, size_t more) {
    size_t capacity = t->capacity ? t->capacity : 64;
    char *data;
    if (more >= SIZE_MAX / 2 - t->size) return false;
    if (t->size + more + 1 <= t->capacity) return true;
    while (capacity < t->size + more + 1) capacity *= 2;
    data = (char *)spyi_realloc(t->data, capacity);
    if (!data) return false;
    data[t->size] = 0;
    t->data = data;
    t->capacity = capacity;
    return true;
}

void spyi_text_add_n(spyi_text *t, const char *s, size_t n) {
    if (n == 0 || !spyi_text_reserve(t, n)) return;
    memcpy(t->data + t->size, s, n);
    t->size += n;
    t->data[t->size] = 0;
}

void spyi_text_add_args(spyi_text *t, const char *format, va_list args) {
    va_list again;
    int n;
    va_copy(again, args);
    // The first try writes into the room that is there; most additions are short and need no second try.
    n = vsnprintf(t->data ? t->data + t->size : NULL, t->data ? t->capacity - t->size : 0, format, args);
    if (n > 0) {
        if (!t->data || (size_t)n >= t->capacity - t->size) {
            if (t->data) t->data[t->size] = 0;
            if (!spyi_text_reserve(t, (size_t)n)) n = 0;
            else vsnprintf(t->data + t->size, (size_t)n + 1, format, again);
        }
        t->size += (size_t)n;
    } else if (t->data) {
        t->data[t->size] = 0;
    }
    va_end(again);
}

void spyi_text_add(spyi_text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    spyi_text_add_args(t, format, args);
    va_end(args);
}

const char *spyi_text_str(const spyi_text *t) {
    return t->data ? t->data : "";
}

void spyi_text_clear(spyi_text *t) {
    t->size = 0;
    if (t->data) t->data[0] = 0;
}

void spyi_text_free(spyi_text *t) {
    free(t->data);
    t->data = NULL;
    t->size = 0;
    t->capacity = 0;
}

size_t spyi_text_give(spyi_text *t, uint32_t failed, char *to, size_t capacity) {
    const char *all = spyi_failed_allocations() == failed ? spyi_text_str(t) : "out of host memory";
    size_t size = strlen(all);
    if (to && capacity) {
        size_t n = size < capacity ? size : capacity - 1;
        memcpy(to, all, n);
        to[n] = 0;
    }
    spyi_text_free(t);
    return size;
}

char *spyi_strdup(const char *s) {
    size_t size;
    char *copy;
    if (!s) return NULL;
    size = strlen(s) + 1;
    copy = (char *)spyi_malloc(size);
    if (copy) memcpy(copy, s, size);
    return copy;
}

bool spyi_is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool spyi_is_identifier(const char *name) {
    if (!name || !name[0] || (name[0] >= '0' && name[0] <= '9')) return false;
    for (const char *c = name; *c; c++)
        if (!spyi_is_word(*c)) return false;
    return true;
}

// Source: MurmurHash64A by Austin Appleby (public domain). Words are read in the machine's byte order: hashes
// on disk hold for machines with that order only.
uint64_t spyi_hash(const void *data, size_t size, uint64_t seed) {
    const uint64_t m = 0xc6a4a7935bd1e995u;
    const unsigned char *p = (const unsigned char *)data;
    uint64_t h = seed ^ ((uint64_t)size * m), k;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&k, p, 8);
        k *= m;
        k ^= k >> 47;
        k *= m;
        h ^= k;
        h *= m;
    }
    if (size > 0) {
        k = 0;
        memcpy(&k, p, size);
        h ^= k;
        h *= m;
    }
    h ^= h >> 47;
    h *= m;
    h ^= h >> 47;
    return h;
}

// Returns the lower case of ASCII letters; tolower() would follow the program's locale.
static char spyi_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

unsigned spyi_edit_distance(const char *a, const char *b) {
    enum { SPYI_ROW = 256 }; // most characters of a name; a longer name is similar to nothing
    unsigned row[SPYI_ROW + 1];
    size_t size_a = strlen(a), size_b = strlen(b), i, j;
    while (size_a && size_b && spyi_lower(*a) == spyi_lower(*b)) {
        a++, b++, size_a--, size_b--;
    }
    while (size_a && size_b && spyi_lower(a[size_a - 1]) == spyi_lower(b[size_b - 1])) {
        size_a--, size_b--;
    }
    if (size_a > SPYI_ROW || size_b > SPYI_ROW) return (unsigned)(size_a > size_b ? size_a : size_b);
    for (j = 0; j <= size_b; j++) row[j] = (unsigned)j;
    for (i = 1; i <= size_a; i++) {
        unsigned diagonal = row[0]; // the entry of the row above, one to the left
        row[0] = (unsigned)i;
        for (j = 1; j <= size_b; j++) {
            unsigned above = row[j];
            unsigned best = diagonal + (spyi_lower(a[i - 1]) != spyi_lower(b[j - 1]));
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            row[j] = best;
            diagonal = above;
        }
    }
    return row[size_b];
}
