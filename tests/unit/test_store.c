// Answers on disk (base/store.h): what was put is got, and nothing else ever: no damaged, cut or foreign file, no
// answer of another question, whatever processes do at once and wherever they are killed.
#define _DEFAULT_SOURCE // popen, kill, nanosleep
#include "spy_test.h"
#include "chance.h"
#ifdef SPY_TEST_SPLIT
#include "base/store.h"
#endif
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <utime.h>

static char folder[128];
static spyi_context context;
static int warnings;

static void note(spy_log_level level, const char *message, void *user_data) {
    (void)message;
    (void)user_data;
    if (level <= SPY_LOG_LEVEL_WARNING) warnings++;
}

static int setup(void **state) {
    spy_device_desc desc;
    (void)state;
    seed();
    memset(&desc, 0, sizeof desc);
    desc.log.func = note;
    spyi_context_init(&context, &desc);
    snprintf(folder, sizeof folder, "/tmp/spyi_test_store_%ld", (long)getpid());
    return 0;
}

static int teardown(void **state) {
    char command[400];
    (void)state;
    spyi_context_destroy(&context);
    snprintf(command, sizeof command, "rm -rf %s %s_*", folder, folder);
    return system(command);
}

static spyi_store *open_store(uint64_t most_bytes) {
    spyi_store *store = spyi_store_open(&context, folder, most_bytes);
    assert_non_null(store);
    return store;
}

// Question number n, and its answer, whose length and bytes follow from n.
static spyi_text question(uint32_t n) {
    spyi_text text = { NULL, 0, 0 };
    spyi_text_add(&text, "question %u", (unsigned)n);
    for (uint32_t i = 0; i < n % 50; i++) spyi_text_add_n(&text, "\0x", 2);
    return text;
}

static spyi_text answer(uint32_t n) {
    spyi_text text = { NULL, 0, 0 };
    uint32_t size = n * 2654435761u % 5000;
    for (uint32_t i = 0; i < size; i++) {
        char c = (char)(n * 31 + i * 7 + (i >> 5));
        spyi_text_add_n(&text, &c, 1);
    }
    return text;
}

// Returns whether there is an answer, which must be the right one.
static bool has(spyi_store *store, uint32_t n) {
    spyi_text q = question(n), a = answer(n), got = { NULL, 0, 0 };
    spyi_text_add(&got, "before");
    bool found = spyi_store_get(store, &q, &got);
    if (got.size != 6 + (found ? a.size : 0) || memcmp(got.data, "before", 6) != 0 ||
        (found && a.size && memcmp(got.data + 6, a.data, a.size) != 0))
        fail_msg("question %u has a wrong answer", (unsigned)n);
    spyi_text_free(&q);
    spyi_text_free(&a);
    spyi_text_free(&got);
    return found;
}

static void put(spyi_store *store, uint32_t n) {
    spyi_text q = question(n), a = answer(n);
    spyi_store_put(store, &q, &a);
    spyi_text_free(&q);
    spyi_text_free(&a);
}

// Returns the number of answers in the folder, and their bytes.
static uint64_t kept(uint64_t *bytes) {
    char command[300];
    uint64_t count = 0;
    unsigned long long size;
    snprintf(command, sizeof command, "find %s -type f ! -name '*.*' -printf '%%s\\n'", folder);
    FILE *sizes = popen(command, "r");
    assert_non_null(sizes);
    for (*bytes = 0; fscanf(sizes, "%llu", &size) == 1; count++) *bytes += size;
    assert_int_equal(pclose(sizes), 0);
    return count;
}

static void clear(void) {
    char command[300];
    snprintf(command, sizeof command, "find %s -type f -delete", folder);
    assert_int_equal(system(command), 0);
}

static void test_answers(void **state) {
    (void)state;
    spyi_store *store = open_store(1 << 30);
    uint64_t bytes = 0;
    for (uint32_t n = 0; n < 100; n++) assert_false(has(store, n));
    for (uint32_t n = 0; n < 100; n += 2) put(store, n);
    for (uint32_t n = 0; n < 100; n++) assert_int_equal(has(store, n), n % 2 == 0);
    spyi_store_counts counts = spyi_store_count(store);
    assert_int_equal(counts.hits, 50);
    assert_int_equal(counts.misses, 150);
    assert_int_equal(counts.writes, 50);
    spyi_store_close(store);
    store = open_store(1 << 30); // another process
    for (uint32_t n = 0; n < 100; n++) assert_int_equal(has(store, n), n % 2 == 0);
    assert_int_equal(kept(&bytes), 50);
    clear();
    assert_int_equal(kept(&bytes), 0);
    for (uint32_t n = 0; n < 100; n++) assert_false(has(store, n));
    spyi_store_close(store);
    assert_int_equal(warnings, 0);
}

// The path of the one file in the folder.
static void only_file(char *path, size_t size) {
    char command[200];
    snprintf(command, sizeof command, "find %s -type f", folder);
    FILE *found = popen(command, "r");
    assert_non_null(found);
    assert_non_null(fgets(path, (int)size, found));
    path[strcspn(path, "\n")] = '\0';
    pclose(found);
}

static void test_damage(void **state) {
    char path[300];
    (void)state;
    spyi_store *store = open_store(1 << 30);
    spyi_text whole = { NULL, 0, 0 }, bad = { NULL, 0, 0 };
    put(store, 7);
    only_file(path, sizeof path);
    assert_true(spyi_file_read(path, &whole));
    // Every bit of a file, and every length.
    for (size_t bit = 0; bit < whole.size * 8; bit++) {
        spyi_text_clear(&bad);
        spyi_text_add_n(&bad, whole.data, whole.size);
        bad.data[bit / 8] = (char)(bad.data[bit / 8] ^ (1 << (bit % 8)));
        assert_true(spyi_file_write(path, bad.data, bad.size));
        assert_false(has(store, 7));
    }
    for (size_t size = 0; size < whole.size; size++) {
        assert_true(spyi_file_write(path, whole.data, size));
        assert_false(has(store, 7));
    }
    spyi_text_add_n(&whole, "x", 1);
    assert_true(spyi_file_write(path, whole.data, whole.size));
    assert_false(has(store, 7));
    assert_false(spyi_file_exists(path)); // a bad file is removed
    // The right file of another question.
    put(store, 8);
    char other[300];
    only_file(other, sizeof other);
    assert_int_equal(rename(other, path), 0);
    assert_false(has(store, 7));
    put(store, 7);
    assert_true(has(store, 7));
    spyi_text_free(&whole);
    spyi_text_free(&bad);
    clear();
    spyi_store_close(store);
}

static void test_size(void **state) {
    (void)state;
    char path[300], command[300];
    uint64_t bytes = 0;
    spyi_store *store = open_store(100000);
    for (uint32_t n = 0; n < 100; n++) put(store, n);
    // All but question 3 were used long ago.
    snprintf(command, sizeof command, "find %s -type f | xargs touch -d '2 days ago'", folder);
    assert_int_equal(system(command), 0);
    assert_true(has(store, 3));
    // What a killed process left.
    snprintf(path, sizeof path, "%s/00", folder);
    (void)mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/00/ab.12.1", folder);
    assert_true(spyi_file_write(path, "part", 4));
    struct utimbuf old = { 1000000000, 1000000000 };
    assert_int_equal(utime(path, &old), 0);
    spyi_store_close(store);
    assert_true(kept(&bytes) < 100);
    assert_true(bytes <= 100000 && bytes > 50000);
    assert_false(spyi_file_exists(path));
    store = open_store(100000);
    assert_true(has(store, 3));
    clear();
    spyi_store_close(store);
}

static void refused(const char *path) {
    warnings = 0;
    assert_null(spyi_store_open(&context, path, 1000));
    assert_int_equal(warnings, 1);
}

static void test_folders(void **state) {
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s_file", folder);
    assert_true(spyi_file_write(path, "x", 1));
    refused(path); // a file
    snprintf(path, sizeof path, "%s_file/below", folder);
    refused(path);
    snprintf(path, sizeof path, "%s_open", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0777), 0);
    refused(path); // others can write to it
    assert_int_equal(chmod(path, 0755), 0);
    spyi_store *store = spyi_store_open(&context, path, 1000);
    assert_non_null(store);
    spyi_store_close(store);
    if (geteuid() == 0) { // another user's
        assert_int_equal(chown(path, 12345, 12345), 0);
        refused(path);
    }
    // Folders on the way are made. One that vanishes while it is in use is made again.
    snprintf(path, sizeof path, "%s_new/a/b", folder);
    store = spyi_store_open(&context, path, 1000000);
    assert_non_null(store);
    put(store, 1);
    assert_true(has(store, 1));
    char command[400];
    snprintf(command, sizeof command, "rm -rf %s_new", folder);
    assert_int_equal(system(command), 0);
    assert_false(has(store, 1));
    put(store, 1);
    assert_true(has(store, 1));
    // A full disk, or one that can only be read: one warning, and nothing else happens.
    warnings = 0;
    snprintf(command, sizeof command, "rm -rf %s_new && echo > %s_new", folder, folder);
    assert_int_equal(system(command), 0);
    for (uint32_t n = 0; n < 5; n++) put(store, n);
    assert_int_equal(warnings, 1);
    assert_false(has(store, 1));
    spyi_store_close(store);
    // No memory of a process leads anywhere.
    assert_false(spyi_store_get(NULL, NULL, NULL));
    spyi_store_close(NULL);
}

// Processes that write and read the same questions, and are killed at some moment.
static void test_processes(void **state) {
    (void)state;
    enum { PROCESSES = 8, QUESTIONS = 200 };
    size_t kills = test_count(500);
    for (size_t round = 0; round < kills; round += PROCESSES) {
        pid_t child[PROCESSES];
        for (int p = 0; p < PROCESSES; p++) {
            child[p] = fork();
            if (child[p] == 0) {
                spyi_store *store = spyi_store_open(&context, folder, 1 << 30);
                for (uint32_t n = 0;; n = (n + 1 + (uint32_t)p) % QUESTIONS) {
                    if (!has(store, n)) put(store, n);
                    else if (n % 3 == 0) put(store, n); // replaces it
                }
            }
            assert_true(child[p] > 0);
        }
        struct timespec pause = { 0, (long)below(20000000) };
        nanosleep(&pause, NULL);
        for (int p = 0; p < PROCESSES; p++) {
            int status = 0;
            kill(child[p], SIGKILL);
            assert_int_equal(waitpid(child[p], &status, 0), child[p]);
            assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL); // no answer was wrong before
        }
    }
    spyi_store *store = open_store(1 << 30);
    uint32_t found = 0;
    for (uint32_t n = 0; n < QUESTIONS; n++) found += has(store, n);
    assert_true(found > 0);
    clear();
    spyi_store_close(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers), cmocka_unit_test(test_damage),    cmocka_unit_test(test_size),
        cmocka_unit_test(test_folders), cmocka_unit_test(test_processes),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
