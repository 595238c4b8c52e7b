// Finding libslang; loading modules from text and files, and linking them; modules that do not compile.
#include "compiler_test.h"

// >>files

static void test_write(const char *folder, const char *name, const char *text) {
    char path[300];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_true(spyi_file_write(path, text, strlen(text)));
}

// >>the library

static void test_finding(void **state) {
    (void)state;
    const char *library = test_library();
    test_env t;
    spyi_unit_desc desc;
    spyi_unit *unit = NULL;
    memset(&desc, 0, sizeof desc);
    desc.source = "float f() { return 1; }";

    test_open(&t, SPYI_TARGET_SPIRV, "/no/such/libslang.so", NULL);
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_NO_COMPILER);
    assert_contains(spyi_text_str(&t.error), "/no/such/libslang.so");
    assert_contains(spyi_text_str(&t.error), "pip download --no-deps slangtorch==1.3.22");
    assert_int_equal(spyi_compiler_loads(t.compiler), 0);
    test_close(&t);

    char folder[128], path[300];
    test_folder(folder, sizeof folder);
    test_write(folder, "text.so", "this is no library");
    snprintf(path, sizeof path, "%s/text.so", folder);
    test_open(&t, SPYI_TARGET_SPIRV, path, NULL);
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_NO_COMPILER);
    assert_contains(spyi_text_str(&t.error), path);
    test_close(&t);

    // Cut off: opening it was SIGBUS.
    spyi_text whole = { NULL, 0, 0 };
    char cut[300];
    assert_true(spyi_file_read(library, &whole));
    snprintf(cut, sizeof cut, "%s/cut.so", folder);
    for (size_t part = 0; part < 4; part++) {
        assert_true(spyi_file_write(cut, whole.data, whole.size * part / 4 + 100));
        test_open(&t, SPYI_TARGET_SPIRV, cut, NULL);
        assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_NO_COMPILER);
        assert_contains(spyi_text_str(&t.error), "cut.so: the file is cut off");
        test_close(&t);
    }
    test_remove(folder, "cut.so");
    spyi_text_free(&whole);

    test_open(&t, SPYI_TARGET_SPIRV, "libm.so.6", NULL); // a library, but not this one
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_NO_COMPILER);
    assert_contains(spyi_text_str(&t.error), "not Slang's compiler");
    test_close(&t);

    // A good one, made twice; another path beside it is an error, another name of the same file is not.
    for (int i = 0; i < 2; ++i) {
        test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
        assert_int_equal(spyi_compiler_loads(t.compiler), 0);
        unit = test_load(&t, desc.source);
        assert_int_equal(spyi_compiler_loads(t.compiler), 1);

        test_env other;
        spyi_unit *second = NULL;
        test_open(&other, SPYI_TARGET_SPIRV, path, NULL);
        assert_int_equal(spyi_unit_load(other.compiler, &desc, &second, &other.error), SPY_ERROR_NO_COMPILER);
        assert_contains(spyi_text_str(&other.error), library);
        test_close(&other);

        char link[300], command[1000];
        snprintf(link, sizeof link, "%s/linked.so", folder);
        snprintf(command, sizeof command, "ln -sf '%s' '%s'", library, link);
        assert_int_equal(system(command), 0);
        test_open(&other, SPYI_TARGET_SPIRV, link, NULL);
        second = test_load(&other, desc.source);
        spyi_unit_release(second);
        test_close(&other);

        spyi_unit_release(unit);
        test_close(&t);
        test_remove(folder, "linked.so");
    }
    test_remove(folder, "text.so");
    (void)remove(folder);
}

// >>loading

static void test_bad_modules(void **state) {
    (void)state;
    test_library();
    test_env t;
    spyi_unit_desc desc;
    spyi_unit *unit = NULL;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);

    memset(&desc, 0, sizeof desc);
    desc.path = "/no/such/file.slang";
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_IO);
    assert_contains(spyi_text_str(&t.error), "/no/such/file.slang");
    assert_null(unit);
    spyi_text_clear(&t.error);

    memset(&desc, 0, sizeof desc);
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_INVALID_ARGUMENT);
    spyi_text_clear(&t.error);

    desc.source = "float good(float x) { return x; }\n\nfloat bad(float x)\n{\n    return y + x;\n}\n";
    desc.path = "shaders/broken.slang"; // the text is given: the path only names it
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_COMPILE);
    assert_contains(spyi_text_str(&t.error), "shaders/broken.slang:5:12: error: ");
    assert_contains(spyi_text_str(&t.error), "y");
    assert_contains(spyi_text_str(&t.error), "(E30015)");
    assert_null(strchr(spyi_text_str(&t.error), '\t'));
    assert_null(unit);
    spyi_text_clear(&t.error);

    static const char *const broken[] = {
        "struct S {",
        "float f( { }",
        "import no_such_module;",
        "#include \"no_such_file.h\"",
        "float f() { return \"x; }",
        "}}}}",
        "float f(Foo<3 x) {}",
        "\x01\x02\x03",
        "#error \"stop\"",
    };
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; ++i) {
        memset(&desc, 0, sizeof desc);
        desc.source = broken[i];
        assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_COMPILE);
        assert_contains(spyi_text_str(&t.error), "error");
        assert_null(unit);
        spyi_text_clear(&t.error);
    }
    desc.source = "float f()\0";
    desc.source_size = 10;
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_COMPILE);
    assert_contains(spyi_text_str(&t.error), "NUL");

    unit = test_load(&t, ""); // an empty module is one
    assert_string_equal(spyi_unit_name(unit), "user");
    spyi_unit_release(unit);
    test_close(&t);
}

static void test_files(void **state) {
    (void)state;
    test_library();
    char folder[128], first[160], second[160], path[300];
    test_folder(folder, sizeof folder);
    snprintf(first, sizeof first, "%s/own", folder);
    snprintf(second, sizeof second, "%s/shared", folder);
    assert_int_equal(mkdir(first, 0700), 0);
    assert_int_equal(mkdir(second, 0700), 0);
    test_write(folder, "my-shader.v2.slang",
               "import near;\nimport far;\nimport farthest;\nimport embedded_module;\n#include \"values.h\"\n"
               "float f(float x) { return near_f(x) + far_f(x) + farthest_f(x) + embedded_f(x) + VALUE + "
               "GIVEN; }\n");
    test_write(folder, "near.slang", "import far;\npublic float near_f(float x) { return far_f(x); }\n");
    test_write(folder, "values.h", "#define VALUE 3\n");
    test_write(first, "far.slang", "public float far_f(float x) { return x; }\n");
    test_write(second, "far.slang", "this is not the one\n");
    test_write(second, "farthest.slang", "public float farthest_f(float x) { return x; }\n");

    test_env t;
    spyi_unit_desc desc;
    spyi_unit *unit = NULL;
    const char *own[] = { first };
    spy_define defines[] = { { "GIVEN", "7" }, { "FLAG", NULL } };
    test_open(&t, SPYI_TARGET_SPIRV, NULL, second);
    memset(&desc, 0, sizeof desc);
    snprintf(path, sizeof path, "%s/my-shader.v2.slang", folder);
    desc.path = path;
    desc.include_paths = own;
    desc.include_path_count = 1;
    desc.defines = defines;
    desc.define_count = 2;
    spy_status status = spyi_unit_load(t.compiler, &desc, &unit, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    assert_string_equal(spyi_unit_name(unit), "my_shader_v2");

    // So many that the session is replaced: what was imported comes back with it, though the files are gone.
    test_remove(folder, "near.slang");
    test_remove(folder, "values.h");
    for (int i = 0; i < 80; ++i) {
        spyi_code code;
        char source[256];
        snprintf(source, sizeof source,
                 "import my_shader_v2;\n[shader(\"compute\")] [numthreads(1,1,1)]\n"
                 "void main_k(uniform float *p) { p[0] = f(p[1]) + %d; }\n",
                 i);
        status = spyi_unit_compile(unit, "k", source, "main_k", none, &code, &t.error);
        if (status != SPY_OK) print_error("%d: %s\n", i, spyi_text_str(&t.error));
        assert_int_equal(status, SPY_OK);
        spyi_code_free(&code);
    }
    spyi_unit_release(unit);
    test_write(folder, "values.h", "#define VALUE 3\n");

    // An error in an imported file names that file.
    test_write(folder, "near.slang", "public float near_f(float x) {\n    return z;\n}\n");
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &unit, &t.error), SPY_ERROR_COMPILE);
    assert_contains(spyi_text_str(&t.error), "near.slang:2:12: error: ");
    test_close(&t);

    static const char *const names[] = {
        "my-shader.v2.slang",    "near.slang", "values.h", "own/far.slang", "shared/far.slang",
        "shared/farthest.slang", "own",        "shared"
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) test_remove(folder, names[i]);
    (void)remove(folder);
}

static void test_link(void **state) {
    (void)state;
    test_library();
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.name = "settings";
    desc.source = "export public static const int k = 123456;\nexport public static const float scale = 2;\n";
    spyi_unit *settings = NULL, *unit = NULL;
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &settings, &t.error), SPY_OK);
    desc.name = "user";
    desc.source = "extern static const int k;\nextern static const float scale = 1;\npublic int f(int x) { "
                  "return x + k; }\n";
    desc.link = &settings;
    desc.link_count = 1;
    spy_status status = spyi_unit_load(t.compiler, &desc, &unit, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    spyi_unit_release(settings); // the unit holds it
    spyi_code code;
    status = spyi_unit_compile(unit, "k",
                               "import user;\n[shader(\"compute\")] [numthreads(1,1,1)]\n"
                               "void main_k(uniform int *p) { p[0] = f(p[1]); }\n",
                               "main_k", none, &code, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    bool found = false; // the constant is an operand somewhere
    for (size_t i = 0; i < code.size / 4; ++i) {
        uint32_t word;
        memcpy(&word, (const char *)code.data + i * 4, 4);
        if (word == 123456) found = true;
    }
    assert_true(found);
    spyi_code_free(&code);
    spyi_unit_release(unit);
    test_close(&t);
}

// A module that imports the one it is linked to.
static void test_link_back(void **state) {
    (void)state;
    test_library();
    char folder[128], path[300];
    test_folder(folder, sizeof folder);
    test_write(folder, "user.slang", "extern static const int k;\npublic int f(int x) { return x + k; }\n");
    test_write(folder, "more.slang", "import user;\nexport public static const int k = 654321;\n");
    test_env t;
    test_open(&t, SPYI_TARGET_SPIRV, NULL, NULL);
    spyi_unit_desc desc;
    memset(&desc, 0, sizeof desc);
    spyi_unit *more = NULL, *unit = NULL;
    snprintf(path, sizeof path, "%s/more.slang", folder);
    desc.path = path;
    assert_int_equal(spyi_unit_load(t.compiler, &desc, &more, &t.error), SPY_OK);
    snprintf(path, sizeof path, "%s/user.slang", folder);
    desc.link = &more;
    desc.link_count = 1;
    spy_status status = spyi_unit_load(t.compiler, &desc, &unit, &t.error);
    if (status != SPY_OK) print_error("%s\n", spyi_text_str(&t.error));
    assert_int_equal(status, SPY_OK);
    for (int i = 0; i < 80; ++i) {
        spyi_code code;
        char source[256];
        bool found = false;
        snprintf(source, sizeof source,
                 "import user;\n[shader(\"compute\")] [numthreads(1,1,1)]\n"
                 "void k(uniform int *p) { p[0] = f(p[1]) * %d; }\n",
                 i + 2);
        status = spyi_unit_compile(unit, "k", source, "k", none, &code, &t.error);
        if (status != SPY_OK) print_error("%d: %s\n", i, spyi_text_str(&t.error));
        assert_int_equal(status, SPY_OK);
        for (size_t w = 0; w < code.size / 4; ++w) found |= ((const uint32_t *)code.data)[w] == 654321;
        assert_true(found);
        spyi_code_free(&code);
    }
    spyi_unit_release(unit);
    spyi_unit_release(more);
    test_close(&t);
    test_remove(folder, "user.slang");
    test_remove(folder, "more.slang");
    (void)remove(folder);
}

int main(void) {
    const struct CMUnitTest finding[] = { cmocka_unit_test(test_finding) };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bad_modules), cmocka_unit_test(test_files), cmocka_unit_test(test_link),
        cmocka_unit_test(test_link_back),
    };
    int failed = cmocka_run_group_tests(finding, NULL, NULL); // while nothing is open yet
    return failed + cmocka_run_group_tests(tests, hold_slang, let_slang_go);
}
