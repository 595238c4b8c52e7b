// 08_hot_reload: a Slang file is edited while the program runs; the next frame draws the new curve. An edit
// that does not compile is told, and the frame after it still draws the old one.
//
// The program plays both parts. As the user's editor it writes a copy of curve.slang, in a temporary folder;
// as a program with a frame loop it draws one line of characters a frame.

#ifndef _XOPEN_SOURCE
#define _XOPEN_SOURCE 700 // mkdtemp
#endif
#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where curve.slang lies; otherwise run the program beside it
#endif

enum { POINTS = 64 };

// >>the editor

static char text[4096], path[300];

static bool save(const char *contents) {
    FILE *file = fopen(path, "wb");
    bool good = file && fputs(contents, file) >= 0;
    if (file && fclose(file) != 0) good = false;
    return good;
}

// Puts `to` in place of what stands between "return " and ";", and saves.
static bool edit(const char *to) {
    char edited[sizeof text + 256];
    const char *from = strstr(text, "return "), *end = from ? strchr(from, ';') : NULL;
    if (!end) return false;
    snprintf(edited, sizeof edited, "%.*sreturn %s%s", (int)(from - text), text, to, end);
    return save(edited);
}

static bool open_copy(char *folder) {
    FILE *original = fopen(EXAMPLE_FOLDER "curve.slang", "rb");
    size_t size = original ? fread(text, 1, sizeof text - 1, original) : 0;
    if (original) fclose(original);
    text[size] = 0;
    if (!size || !mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/curve.slang", folder);
    return save(text);
}

// >>the program

// 1. The reload hook hears of each module that has new code, and of each attempt that failed, with the
//    compiler's text. An editor would show that beside the line; here it is printed.
static void on_reload(spy_module *module, spy_status status, const char *message, void *user_data) {
    int *failures = (int *)user_data;
    (void)module; // known by its pointer, in a program with more than one
    if (status == SPY_OK) {
        printf("  -- reloaded\n");
        return;
    }
    printf("  -- not reloaded:\n%s\n", message);
    ++*failures;
}

static void draw(const float *y) {
    static const char shades[] = " .:-=+*#%@";
    for (int i = 0; i < POINTS; i++) {
        int shade = (int)(y[i] * 9 + 0.5f);
        putchar(shades[shade < 0 ? 0 : shade > 9 ? 9 : shade]);
    }
    putchar('\n');
}

// The curves of the three edits in C, to compare with.
static double wave(double x) {
    return 0.5 + 0.5 * sin(x);
}
static double ramp(double x) {
    return x / 12.6;
}
static double bumps(double x) {
    return fabs(sin(x));
}

// 2. A frame: reload what has changed, then draw. Here each frame waits for the compiler, so that it shows the last edit.
//    A game calls spy_poll_reload instead, with an interval of, say, a quarter of a second: that compiles in the
//    background, and prepared calls keep running the old kernel until the new one is ready. The function and the
//    tensors are those from before the reload; nothing is found or made again.
static bool frame(spy_device *dev, spy_function *curve, spy_tensor *x, spy_tensor *y,
                  double (*expected)(double)) {
    float xs[POINTS], ys[POINTS] = { 0 };
    spy_reload_changed(dev, 0, NULL);
    spy_call(curve, SPY_ARGS(spy_arg_tensor("x", x), spy_arg_tensor("_result", y)));
    spy_tensor_read(x, xs, sizeof xs);
    spy_tensor_read(y, ys, sizeof ys);
    draw(ys);
    for (int i = 0; i < POINTS; i++) {
        if (fabs((double)ys[i] - expected((double)xs[i])) < 2e-3) continue;
        fprintf(stderr, "curve(%g) is %g, C says %g\n", (double)xs[i], (double)ys[i],
                expected((double)xs[i]));
        return false;
    }
    return true;
}

int main(void) {
    char folder[] = "/tmp/slangpy_08_XXXXXX";
    int failures = 0;
    if (!open_copy(folder)) {
        fprintf(stderr, "cannot copy curve.slang to %s\n", folder);
        return 1;
    }

    // 3. The device knows the hook; the module is loaded from the file that will be edited.
    spy_device *dev = spy_create_device(&(spy_device_desc){
        .backend = spy_vk_backend(), .reload = { .func = on_reload, .user_data = &failures } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = path });
    spy_function *curve = spy_find_function(mod, "curve");

    float xs[POINTS];
    for (int i = 0; i < POINTS; i++) xs[i] = (float)i * 0.2f;
    spy_tensor *x = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(POINTS), .data = xs });
    spy_tensor *y = spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(POINTS) });

    // 4. Two frames of the file as it came, then an edit.
    bool good = frame(dev, curve, x, y, wave) && frame(dev, curve, x, y, wave);
    good = good && edit("x / 12.6") && frame(dev, curve, x, y, ramp);

    // 5. An error stops nobody: the call after a failed reload runs the code from before. The error is also
    //    kept by the device, like every other, until it is taken.
    good = good && spy_take_error(dev).code == SPY_OK;
    good = good && edit("abs(sin(x) +)") && frame(dev, curve, x, y, ramp) && failures == 1;
    good = good && spy_take_error(dev).code == SPY_ERROR_COMPILE;
    // ... nor does it come again each frame, only after the next edit.
    good = good && frame(dev, curve, x, y, ramp) && failures == 1;

    // 6. Mended.
    good = good && edit("abs(sin(x))") && frame(dev, curve, x, y, bumps);

    // 7. Text that is in no file yet, as an editor has it before it saves: it is in force until the file
    //    changes.
    good = good && spy_reload_module(mod, text) == SPY_OK && frame(dev, curve, x, y, wave);

    spy_error err = spy_take_error(dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    if (!good) fprintf(stderr, "wrong results\n");
    spy_release_device(dev);
    remove(path);
    rmdir(folder);
    return good && err.code == SPY_OK ? 0 : 1;
}
