// What the library keeps for the whole process, libslang and the Vulkan loader, where it is missing or wrong. Each check is a child
// process: this program started again with the name of the check.
#include "gpu_test.h"

#include <sys/wait.h>

spy_device *gpu_device;

static const char *program;

// >>child processes

typedef int (*child_func)(const char *folder);

static int child_says(spy_status code, spy_error e, const char *const *words) {
    int wrong = e.code != code;
    for (; *words; words++) wrong += !strstr(e.message, *words);
    if (wrong) fprintf(stderr, "expected %d '%s', got %d: %s\n", (int)code, spy_status_text(code), (int)e.code, e.message);
    return wrong;
}

static int child_library(const char *library, spy_status code, const char *const *words) {
    spy_device_desc d = gpu_desc();
    d.slang_library = library;
    spy_device *device = spy_create_device(&d);
    if (!device) return 100; // no device: cannot say
    spy_module *m = gpu_module(device, "any", "float f(float x) { return x; }");
    int wrong = m != NULL;
    wrong += child_says(code, spy_take_error(device), words);
    // Tensors work without a compiler.
    float data[3] = { 1, 2, 3 }, back[3] = { 0 };
    spy_tensor *t = gpu_tensor(device, SPY_DTYPE_FLOAT32, NULL, NULL, SPY_SHAPE(3), data);
    wrong += spy_tensor_read(t, back, 12) != SPY_OK || memcmp(data, back, 12) != 0;
    spy_release_device(device);
    return wrong;
}

static int child_missing(const char *folder) { // a path that is not there, by the desc
    static char path[400];
    snprintf(path, sizeof path, "%s/nowhere.so", folder);
    const char *const words[] = { path, "pip", NULL };
    return child_library(path, SPY_ERROR_NO_COMPILER, words);
}

static int child_variable(const char *folder) { // the same, by the environment: every place tried is named
    static char path[400];
    snprintf(path, sizeof path, "%s/by_variable.so", folder);
    setenv("SLANGPY_SLANG_LIBRARY", path, 1);
    const char *const words[] = { path, "SLANGPY_SLANG_LIBRARY", NULL };
    return child_library(NULL, SPY_ERROR_NO_COMPILER, words);
}

static int child_nowhere(const char *folder) { // nothing set: beside the program and the loader's places
    (void)folder;
    unsetenv("SLANGPY_SLANG_LIBRARY");
    const char *const words[] = { "libslang-compiler.so", "pip", "SLANGPY_SLANG_LIBRARY", NULL };
    return child_library(NULL, SPY_ERROR_NO_COMPILER, words);
}

static int child_places(const char *folder) { // the folders of the desc, when neither desc nor environment names a file
    static char nowhere[400], real[400];
    const char *named = getenv("SLANGPY_SLANG_LIBRARY");
    if (!named) return 100;
    snprintf(real, sizeof real, "%s", named);
    *strrchr(real, '/') = 0;
    snprintf(nowhere, sizeof nowhere, "%s/no_such_folder", folder);
    unsetenv("SLANGPY_SLANG_LIBRARY");
    const char *const words[] = { nowhere, "no such file", NULL }, *const places[] = { nowhere, real, NULL };
    int wrong = 0;
    for (size_t count = 1; count <= 3; count++) {
        spy_device_desc d = gpu_desc();
        d.slang_paths = places;
        d.slang_path_count = count;
        spy_device *device = spy_create_device(&d);
        if (count == 3) return wrong + (device != NULL) + (spy_take_error(NULL).code != SPY_ERROR_INVALID_ARGUMENT);
        if (!device) return 100;
        spy_module *m = gpu_module(device, "any", "float f(float x) { return x; }");
        if (count == 1) wrong += m != NULL || child_says(SPY_ERROR_NO_COMPILER, spy_take_error(device), words) != 0;
        else wrong += m == NULL;
        spy_release_device(device);
    }
    return wrong;
}

static int child_text(const char *folder) { // a file that is no library
    static char path[400];
    snprintf(path, sizeof path, "%s/text.so", folder);
    FILE *f = fopen(path, "w");
    fputs("this is no library\n", f);
    fclose(f);
    const char *const words[] = { path, NULL };
    return child_library(path, SPY_ERROR_NO_COMPILER, words);
}

static int child_other(const char *folder) { // a library that is not Slang
    (void)folder;
    const char *const words[] = { "libm.so.6", NULL };
    return child_library("libm.so.6", SPY_ERROR_NO_COMPILER, words);
}

static int child_old(const char *folder) { // a Slang of another age: it has the entry, but not what we need of it
    static char path[400], command[1200];
    snprintf(path, sizeof path, "%s/old.so", folder);
    snprintf(command, sizeof command,
             "printf '%%s\\n' 'int spGetBuildTagString_(void){return 0;}' 'const char *spGetBuildTagString(void){return \"v2022.1\";}' 'int slang_createGlobalSession(long v, void **s){*s=0; return -2147467263;}' > %s/old.c && "
             "cc -shared -fPIC -o %s %s/old.c",
             folder, path, folder);
    if (system(command) != 0) return 100;
    const char *const words[] = { path, NULL };
    return child_library(path, SPY_ERROR_NO_COMPILER, words);
}

static int child_no_vulkan(const char *folder) { // a loader without drivers
    static char path[400];
    snprintf(path, sizeof path, "%s/empty.json", folder);
    FILE *f = fopen(path, "w");
    fclose(f);
    setenv("VK_ICD_FILENAMES", path, 1);
    setenv("VK_DRIVER_FILES", path, 1);
    spy_device_desc d = gpu_desc();
    d.backend = spy_vk_backend();
    if (spy_create_device(&d)) return 1;
    const char *const words[] = { "spy_create_device", "Vulkan", NULL };
    int wrong = child_says(SPY_ERROR_NO_DEVICE, spy_take_error(NULL), words);
    wrong += spy_enumerate_adapters(spy_vk_backend(), NULL, 0) != 0;
    wrong += spy_take_error(NULL).code == SPY_OK;
    return wrong;
}

static int child_no_adapter(const char *folder) {
    (void)folder;
    spy_device_desc d = gpu_desc();
    d.adapter_name = "no adapter is called this";
    if (spy_create_device(&d)) return 1;
    const char *const words[] = { "no adapter is called this", NULL }; // and it says which there are
    int wrong = child_says(SPY_ERROR_NO_DEVICE, spy_take_error(NULL), words);
    memset(&d, 0, sizeof d);
    d.backend = gpu_desc().backend;
    d.adapter = 99;
    if (spy_create_device(&d)) return 1;
    const char *const ninety_nine[] = { "99", NULL };
    wrong += child_says(SPY_ERROR_NO_DEVICE, spy_take_error(NULL), ninety_nine);
    memset(&d, 0, sizeof d);
    spy_cuda_desc cuda;
    memset(&cuda, 0, sizeof cuda);
    cuda.driver_library = "/nowhere/libcuda.so.1";
    d.backend = spy_cuda_backend();
    d.backend_desc = &cuda;
    if (spy_create_device(&d)) return 1;
    const char *const no_driver[] = { "CUDA", "/nowhere/libcuda.so.1", NULL };
    wrong += child_says(SPY_ERROR_NO_DEVICE, spy_take_error(NULL), no_driver);
    d.backend = spy_d3d12_backend();
    d.backend_desc = NULL;
    if (spy_create_device(&d)) return 1;
    const char *const neither[] = { "D3D12", NULL };
    wrong += child_says(SPY_ERROR_UNSUPPORTED, spy_take_error(NULL), neither);
    return wrong;
}

static const struct {
    const char *name;
    child_func run;
} children[] = { { "missing", child_missing }, { "variable", child_variable }, { "nowhere", child_nowhere }, { "places", child_places }, { "text", child_text }, { "other", child_other },
                 { "old", child_old },         { "no_vulkan", child_no_vulkan }, { "no_adapter", child_no_adapter } };

static void run_child(const char *name) {
    char folder[] = "/tmp/spy_child_XXXXXX", command[600];
    assert_non_null(mkdtemp(folder));
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, name, folder, (char *)NULL);
        _exit(127);
    }
    int result = -1;
    waitpid(child, &result, 0);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)!system(command);
    if (WIFSIGNALED(result)) fail_msg("the child ended by signal %d", WTERMSIG(result));
    if (WEXITSTATUS(result) == 100) {
        print_message("skipped: %s cannot be tried here\n", name);
        skip();
    }
    assert_int_equal(WEXITSTATUS(result), 0);
}

static void test_library_missing(void **state) {
    (void)state;
    run_child("missing");
}

static void test_library_variable(void **state) {
    (void)state;
    run_child("variable");
}

static void test_library_nowhere(void **state) {
    (void)state;
    run_child("nowhere");
}

static void test_library_text(void **state) {
    (void)state;
    run_child("text");
}

static void test_library_other(void **state) {
    (void)state;
    run_child("other");
}

static void test_library_old(void **state) {
    (void)state;
    run_child("old");
}

static void test_no_vulkan(void **state) {
    (void)state;
    run_child("no_vulkan");
}

static void test_no_adapter(void **state) {
    (void)state;
    run_child("no_adapter");
}

int main(int argc, char **argv) {
    static char self[1024];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    program = n > 0 ? self : argv[0];
    if (argc == 3)
        for (size_t i = 0; i < sizeof children / sizeof *children; i++)
            if (strcmp(argv[1], children[i].name) == 0) return children[i].run(argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_library_missing), cmocka_unit_test(test_library_variable),
        cmocka_unit_test(test_library_nowhere), cmocka_unit_test(test_library_text),
        cmocka_unit_test(test_library_other), cmocka_unit_test(test_library_old), cmocka_unit_test(test_no_vulkan),
        cmocka_unit_test(test_no_adapter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
