// 09_reflection: what does a module declare? Prints the declarations of balls.slang, compares a struct with its
// C twin, then finds every function that has the attribute [Test(...)] and calls it: a test runner for Slang.
//
// All of a module is one tree of `spy_decl`. A declaration has a kind, a name, the text that one would write for
// it, a type, attributes, and children: a struct's are its fields and methods, a function's its parameters.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where balls.slang lies; otherwise run the program beside it
#endif

// 1. Walking the tree takes a function that calls itself. `text` is there for printing; a program that wants to
//    know looks at kind, type, flags and value.
static void print(const spy_decl *decl, int depth) {
    if (decl->kind == SPY_DECL_KIND_PARAMETER || decl->kind == SPY_DECL_KIND_CONSTRUCTOR)
        return; // for brevity
    printf("%*s", 2 * depth, "");
    for (uint32_t i = 0; i < decl->attribute_count; i++) {
        const spy_attribute *a = &decl->attributes[i];
        printf("[%s", a->name);
        for (uint32_t k = 0; k < a->arg_count; k++) {
            const spy_constant *c = &a->args[k];
            if (c->kind == SPY_CONSTANT_KIND_STRING) printf(" \"%s\"", c->string);
            else printf(" %g", c->float_value); // an integer's float_value is the same number
        }
        printf("] ");
    }
    printf("%s", decl->text);
    if (decl->kind == SPY_DECL_KIND_FIELD)
        printf("   // byte %u, on the device %u", (unsigned)decl->offset_bytes,
               (unsigned)decl->device_offset_bytes);
    printf("\n");
    for (uint32_t i = 0; i < decl->child_count; i++) print(&decl->children[i], depth + 1);
}

// 2. The struct as this program has it. The library converts between C's layout and the device's, so the offsets
//    that must agree are those in C's layout: a field that was added on one side only is found here.
typedef struct ball {
    float position[3], radius;
    bool flying, hot;
    int32_t material;
} ball;

static bool same_layout(spy_module *mod) {
    static const struct {
        const char *name;
        size_t offset;
    } twin[] = { { "position", offsetof(ball, position) },
                 { "radius", offsetof(ball, radius) },
                 { "flying", offsetof(ball, flying) },
                 { "hot", offsetof(ball, hot) },
                 { "material", offsetof(ball, material) } };
    const size_t count = sizeof twin / sizeof twin[0];
    const spy_type_info *type = spy_reflect_type(mod, "Ball");
    if (!type || type->size_bytes != sizeof(ball) || type->field_count != count) return false;
    for (size_t i = 0; i < count; i++)
        if (strcmp(type->fields[i].name, twin[i].name) != 0 || type->fields[i].offset_bytes != twin[i].offset)
            return false;
    return true;
}

// 3. One test: the arguments are those that the parameters' attributes name, in the parameter's type.
enum { MOST_ARGUMENTS = 4 };

static bool run(spy_module *mod, const spy_decl *decl, const spy_attribute *test) {
    spy_arg args[MOST_ARGUMENTS + 1];
    float copies[MOST_ARGUMENTS][4], result = 0;
    int32_t whole = 0;
    size_t count = 0;
    for (uint32_t i = 0; i < decl->child_count && count < MOST_ARGUMENTS; i++) {
        const spy_decl *param = &decl->children[i];
        const spy_attribute *in = spy_find_attribute(param, "In");
        if (param->kind != SPY_DECL_KIND_PARAMETER || !in) continue; // a generic function's T is a child too
        const spy_type_info *type = param->type;
        float value = (float)in->args[0].float_value;
        for (int k = 0; k < 4; k++) copies[count][k] = value;
        // Three floats may mean one float3, or three calls with a float: the cast says which.
        if (type->kind == SPY_TYPE_KIND_VECTOR)
            args[count] = spy_vcast(spy_arg_f32n(NULL, copies[count], type->columns), type->name);
        else if (type->dtype == SPY_DTYPE_INT32) args[count] = spy_arg_i32(NULL, (int32_t)value);
        else args[count] = spy_arg_f32(NULL, value);
        count++;
    }
    bool integer = decl->type->dtype == SPY_DTYPE_INT32; // a function's type is that of its result
    args[count++] = integer ? spy_out_i32("_result", &whole) : spy_out_f32("_result", &result);

    // A declaration's path is what spy_find_function takes. All overloads share it: the call chooses.
    spy_args list = { args, count };
    spy_function *function = spy_find_function(mod, decl->path);
    if (spy_call(function, list) != SPY_OK) return false;
    double got = integer ? (double)whole : (double)result, expected = test->args[0].float_value;
    bool good = fabs(got - expected) <= 1e-6 * fabs(expected);
    printf("%-4s %s: %g\n", good ? "ok" : "BAD", decl->text, got);
    return good;
}

static void run_all(spy_module *mod, const spy_decl *decl, int *passed, int *failed) {
    const spy_attribute *test = spy_find_attribute(decl, "Test"); // NULL: it has none
    if (test) ++*(run(mod, decl, test) ? passed : failed);
    for (uint32_t i = 0; i < decl->child_count; i++) run_all(mod, &decl->children[i], passed, failed);
}

int main(void) {
    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "balls.slang" });

    // 4. The tree belongs to the module and is built by the first call. Nothing of it is released.
    const spy_decl *root = spy_reflect_module(mod);
    int passed = 0, failed = 0;
    if (root) {
        print(root, 0);
        printf("\n");
        run_all(mod, root, &passed, &failed);
    }

    // 5. Declarations by path and types by name, when one knows what one looks for.
    const spy_decl *steel = spy_find_decl(mod, "Material::Steel"), *gravity = spy_find_decl(mod, "gravity");
    bool good = steel && steel->value.int_value == 6;
    good = good && gravity && (gravity->flags & SPY_DECL_FLAG_CONST) &&
           fabs(gravity->value.float_value - 9.81) < 1e-6;
    good =
        good && spy_type_implements(mod, "Ball", "ISolid") && !spy_type_implements(mod, "float3", "ISolid");
    good = good && same_layout(mod);

    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    printf("%d tests passed, %d failed\n", passed, failed);
    good = good && err.code == SPY_OK && passed == 5 && failed == 0;
    if (!good) fprintf(stderr, "wrong results\n");
    spy_release_device(dev);
    return good ? 0 : 1;
}
