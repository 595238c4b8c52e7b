// Blobs that the CUDA backend's compile has made, kept in build/blobs for the next run of a test: NVRTC takes most of a test's
// time there. For files that have the implementation (or, in the split build, cuda/internal.h) before this one.
//
// A blob's file is named by a hash of all that it depends on: the text with its names and sizes, the profile, NVRTC's version,
// and slangpy_cuda.h, which has what comes before the text and says NVRTC's options. It has a checksum: what is damaged is made
// again. Failures are not kept, and what a compilation tells the log is told again.
//
// SPY_TEST_BLOBS: another folder; 0: nothing is kept. Nothing is kept either where the current folder has no slangpy_cuda.h.
#ifndef TESTS_BLOBS_H
#define TESTS_BLOBS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct blobs_head {
    char magic[8];
    uint64_t key[2], size, log_size; // of the blob, and of the lines behind it
    uint64_t check;                  // a hash of both
} blobs_head;

static struct {
    const struct spyi_backend *inner;
    struct spyi_backend table; // inner's but for compile
    char folder[600];          // of this library and this NVRTC; "": nothing is kept
    spyi_atomic hits, misses;
} blobs;

static void blobs_key(const spyi_profile *profile, const spyi_kernel_desc *desc, uint64_t key[2]) {
    for (int i = 0; i < 2; i++) {
        const spyi_interface *in = &desc->iface;
        uint64_t sizes[] = { in->group[0], in->group[1], in->group[2], desc->prelude_size, in->block_size, in->block_by_address, in->parameter_count };
        uint64_t h = spyi_hash(desc->code, desc->code_size, i ? 0x9e3779b97f4a7c15u : 1);
        h = spyi_hash(profile, sizeof *profile, h);
        h = spyi_hash(sizes, sizeof sizes, h);
        h = in->parameter_count ? spyi_hash(in->parameters, in->parameter_count * sizeof *in->parameters, h) : h;
        h = spyi_hash(desc->entry, strlen(desc->entry) + 1, h);
        key[i] = desc->label ? spyi_hash(desc->label, strlen(desc->label) + 1, h) : h;
    }
}

static bool blobs_read(const char *path, const uint64_t key[2], spyi_text *blob, spyi_text *lines) {
    spyi_text file = { NULL, 0, 0 };
    blobs_head head;
    bool good = spyi_file_read(path, &file) && file.size >= sizeof head;
    if (good) memcpy(&head, file.data, sizeof head);
    good = good && memcmp(head.magic, "spyblob1", 8) == 0 && memcmp(head.key, key, sizeof head.key) == 0 && head.size > 0 &&
           head.size <= file.size && head.log_size <= file.size && sizeof head + head.size + head.log_size == file.size &&
           head.check == spyi_hash(file.data + sizeof head, file.size - sizeof head, key[0]);
    if (good) {
        spyi_text_add_n(blob, file.data + sizeof head, head.size);
        if (head.log_size) spyi_text_add_n(lines, file.data + sizeof head + head.size, head.log_size);
    }
    spyi_text_free(&file);
    return good;
}

// Written beside its place and then renamed: another process sees all of it or nothing.
static void blobs_write(const char *path, const uint64_t key[2], const char *data, size_t size, const spyi_text *lines) {
    spyi_text file = { NULL, 0, 0 }, fresh = { NULL, 0, 0 };
    blobs_head head;
    memset(&head, 0, sizeof head);
    memcpy(head.magic, "spyblob1", 8);
    memcpy(head.key, key, sizeof head.key);
    head.size = size;
    head.log_size = lines->size;
    spyi_text_add_n(&file, (const char *)&head, sizeof head);
    spyi_text_add_n(&file, data, size);
    if (lines->size) spyi_text_add_n(&file, lines->data, lines->size);
    head.check = spyi_hash(file.data + sizeof head, file.size - sizeof head, key[0]);
    memcpy(file.data, &head, sizeof head);
    spyi_text_add(&fresh, "%s.%ld.%llx", path, (long)getpid(), (unsigned long long)spyi_thread_id());
    if (!spyi_file_write(spyi_text_str(&fresh), file.data, file.size) || rename(spyi_text_str(&fresh), path) != 0)
        (void)remove(spyi_text_str(&fresh));
    spyi_text_free(&file);
    spyi_text_free(&fresh);
}

static void blobs_hear(spy_log_level level, const char *message, void *user) {
    (void)level, (void)message, (void)user;
}

static spy_status blobs_compile(spyi_context *ctx, const char *compiler, const spyi_profile *profile, const spyi_kernel_desc *desc,
                                spyi_text *blob, spyi_text *error) {
    spyi_text path = { NULL, 0, 0 }, lines = { NULL, 0, 0 };
    uint64_t key[2];
    spy_status status = SPY_OK;
    size_t begin = blob->size;
    // A library that somebody has named may be another one, or none.
    if (!blobs.folder[0] || compiler) return blobs.inner->compile(ctx, compiler, profile, desc, blob, error);
    blobs_key(profile, desc, key);
    spyi_text_add(&path, "%s/%016llx%016llx", blobs.folder, (unsigned long long)key[0], (unsigned long long)key[1]);
    if (blobs_read(spyi_text_str(&path), key, blob, &lines)) {
        spyi_atomic_add(&blobs.hits, 1);
    } else {
        spyi_context own;
        memset(&own, 0, sizeof own);
        own.log.func = blobs_hear;
        own.log.level = SPY_LOG_LEVEL_DEBUG;
        spyi_atomic_store(&own.told_compiler, 1);
        spyi_text *before = spyi_keep_log(&lines);
        status = blobs.inner->compile(&own, compiler, profile, desc, blob, error);
        spyi_keep_log(before);
        spyi_atomic_add(&blobs.misses, 1);
        if (status == SPY_OK) blobs_write(spyi_text_str(&path), key, blob->data + begin, blob->size - begin, &lines);
    }
    spyi_tell_log(ctx, &lines); // which frees them
    spyi_text_free(&lines);
    spyi_text_free(&path);
    return status;
}

// The folder of this library and this NVRTC. Those of others that nobody has written into for a day go.
static void blobs_find_folder(void) {
    const char *given = getenv("SPY_TEST_BLOBS"), *top = given && given[0] ? given : "build/blobs";
    spyi_text library = { NULL, 0, 0 }, error = { NULL, 0, 0 };
    spyi_nvrtc nvrtc;
    char command[700];
    if (strcmp(top, "0") != 0 && strlen(top) < 500 && !strchr(top, '\'') && spyi_file_read("slangpy_cuda.h", &library) &&
        spyi_nvrtc_find(NULL, &nvrtc, &error) == SPY_OK) {
        uint64_t h = spyi_hash(library.data, library.size, (uint64_t)(nvrtc.major * 1000 + nvrtc.minor));
        h = spyi_hash(nvrtc.path, strlen(nvrtc.path), h);
        snprintf(blobs.folder, sizeof blobs.folder, "%s/%016llx", top, (unsigned long long)h);
        struct stat found;
        if (stat(blobs.folder, &found) != 0) {
            snprintf(command, sizeof command, "mkdir -p '%s' && find '%s' -mindepth 1 -maxdepth 1 -type d -mtime +0 -exec rm -rf {} +", blobs.folder, top);
            if (system(command) != 0) blobs.folder[0] = 0;
        }
    }
    spyi_text_free(&library);
    spyi_text_free(&error);
}

// `backend` with a compile that looks into the folder first; other backends than CUDA's as they are. Not free-threaded.
static const spy_backend *blobs_of(const spy_backend *backend) {
    if (!backend || strcmp(backend->name, "cuda") != 0) return backend;
    if (blobs.inner != backend) {
        blobs.table = *backend;
        blobs.table.compile = blobs_compile;
        blobs.inner = backend;
        blobs_find_folder();
    }
    return blobs.folder[0] ? &blobs.table : backend;
}

#endif // TESTS_BLOBS_H
