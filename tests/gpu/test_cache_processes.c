// The cache on disk under several processes: eight that start with the same empty cache, and writers that are killed at any moment.
// Whole programs; tests/unit/test_store.c does the same to the files alone, at more moments. This program is its own child.
#include "gpu_test.h"

#include "chance.h"
#include <signal.h>

spy_device *gpu_device;

static char folder[64], cache[96], self[512];

// >>the child: calls all functions of a module, from number `first` on, and says what it found

static int damaged;

static void child_log(spy_log_level level, const char *message, void *user) {
    (void)level, (void)user;
    if (strstr(message, "damaged")) damaged++;
}

static int child(char **words) { // CACHE FILE COUNT FIRST ADDED
    int count = atoi(words[2]), first = atoi(words[3]), added = atoi(words[4]);
    spy_device_desc d = gpu_desc();
    d.cache_path = words[0];
    d.log.func = child_log;
    d.log.level = SPY_LOG_LEVEL_DEBUG;
    spy_device *device = spy_create_device(&d);
    spy_module_desc m;
    memset(&m, 0, sizeof m);
    m.path = words[1];
    spy_module *module = spy_load_module(device, &m);
    for (int n = 0; n < count; n++) {
        char name[32];
        float x[4] = { 1, 2, 3, 4 }, y[4];
        int i = (first + n) % count;
        snprintf(name, sizeof name, "f%d", i);
        if (spy_call(spy_find_function(module, name), SPY_ARGS(spy_arg_array("x", x, SPY_SHAPE(4), SPY_DTYPE_FLOAT32),
                                                               spy_out_array("_result", y, SPY_SHAPE(4), SPY_DTYPE_FLOAT32))) != SPY_OK) {
            spy_error e = spy_take_error(device);
            fprintf(stderr, "%s\n", e.message);
            return 3;
        }
        for (int k = 0; k < 4; k++)
            if (y[k] != x[k] * (float)(i + 2) + (float)added) {
                fprintf(stderr, "wrong result: f%d(%g) = %g\n", i, (double)x[k], (double)y[k]);
                return 4;
            }
    }
    spy_device_stats s = spy_get_device_stats(device);
    printf("%d %d %d %d\n", (int)s.cache_hits, (int)s.cache_misses, (int)s.compiler_loads, damaged);
    spy_release_device(device);
    return 0;
}

// >>the parent

typedef struct running {
    pid_t id;
    int out;
} running;

static running start(const char *file, int count, int first, int added) {
    running r = { -1, -1 };
    int ends[2];
    char numbers[3][16];
    snprintf(numbers[0], 16, "%d", count);
    snprintf(numbers[1], 16, "%d", first);
    snprintf(numbers[2], 16, "%d", added);
    char *words[] = { self, (char *)(uintptr_t)"child", cache, (char *)(uintptr_t)file, numbers[0], numbers[1], numbers[2], NULL };
    assert_int_equal(pipe(ends), 0);
    r.id = fork();
    if (r.id == 0) {
        dup2(ends[1], 1);
        close(ends[0]);
        execv(self, words);
        _exit(9);
    }
    assert_true(r.id > 0);
    close(ends[1]);
    r.out = ends[0];
    return r;
}

// Waits for a child that must end well, and reads its numbers.
static void ended(running r, int numbers[4]) {
    char text[128] = "";
    int status = 0;
    FILE *out = fdopen(r.out, "r");
    assert_non_null(out);
    (void)!fgets(text, sizeof text, out);
    fclose(out);
    assert_int_equal(waitpid(r.id, &status, 0), r.id);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(sscanf(text, "%d %d %d %d", &numbers[0], &numbers[1], &numbers[2], &numbers[3]), 4);
    assert_int_equal(numbers[3], 0); // no file was damaged
}

static void write_module(char *path, int count, int added) {
    FILE *file;
    snprintf(path, 128, "%s/m%d.slang", folder, added);
    file = fopen(path, "wb");
    assert_non_null(file);
    for (int i = 0; i < count; i++) fprintf(file, "float f%d(float x) { return x * %d + %d; }\n", i, i + 2, added);
    assert_int_equal(fclose(file), 0);
}

static int setup(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/spy_test_processes_XXXXXX");
    if (!mkdtemp(folder)) return -1;
    snprintf(cache, sizeof cache, "%s/cache", folder);
    return 0;
}

static int teardown(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static bool no_device(void) {
    spy_device_desc d = gpu_desc();
    d.cache_path = "off";
    spy_device *device = spy_create_device(&d);
    if (device) spy_release_device(device);
    else print_message("skipped: no device\n");
    return !device;
}

static void test_one_empty_cache(void **state) {
    (void)state;
    if (no_device()) skip();
    enum { PROCESSES = 8 };
    int count = (int)test_count(200), most = count > 100 ? PROCESSES : 3, numbers[4];
    running all[PROCESSES];
    char path[128];
    write_module(path, count, 1);
    for (int p = 0; p < most; p++) all[p] = start(path, count, p * count / most, 1);
    for (int p = 0; p < most; p++) {
        ended(all[p], numbers);
        assert_int_equal(numbers[0] + numbers[1], count); // each kernel is compiled or found, once
    }
    ended(start(path, count, 0, 1), numbers);
    assert_int_equal(numbers[0], count);
    assert_int_equal(numbers[1], 0);
    assert_int_equal(numbers[2], 0); // without the compiler
    print_message("%d processes, %d signatures\n", most, count);
}

static void test_killed_writers(void **state) {
    (void)state;
    if (no_device()) skip();
    enum { COUNT = 3 };
    int kills = (int)test_count(60), killed = 0, numbers[4];
    char path[128];
    for (int k = 0; k < kills; k++) {
        write_module(path, COUNT, k);
        running r = start(path, COUNT, 0, k);
        struct timespec pause = { 0, (long)below(900) * 1000000 };
        nanosleep(&pause, NULL);
        (void)kill(r.id, SIGKILL);
        int status = 0;
        assert_int_equal(waitpid(r.id, &status, 0), r.id);
        close(r.out);
        killed += WIFSIGNALED(status) != 0;
        if (!WIFSIGNALED(status)) assert_int_equal(WEXITSTATUS(status), 0);
        ended(start(path, COUNT, 0, k), numbers); // whatever it left, the next start is right
        assert_int_equal(numbers[0] + numbers[1], COUNT);
    }
    print_message("%d of %d were killed before their end\n", killed, kills);
}

int main(int count, char **words) {
    if (count == 7 && strcmp(words[1], "child") == 0) return child(words + 2);
    ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) return 1;
    self[size] = '\0';
    seed();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_empty_cache, setup, teardown),
        cmocka_unit_test_setup_teardown(test_killed_writers, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
