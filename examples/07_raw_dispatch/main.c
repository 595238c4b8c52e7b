// 07_raw_dispatch [PICTURE.png|jpg] [OUTPUT.png]: threads and groups of threads given by hand.
//
// Calls choose their threads by themselves. Where an algorithm is made of them - tiles that share memory,
// lists that the GPU fills and works off - clarity.slang says how it is divided, and this program dispatches
// it: a photograph is blurred, except where it has details, which are made crisper.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where clarity.slang lies; otherwise run the program beside it
#endif

enum { TILE = 16, REACH = 3, THRESHOLD = 96 };

// >>the same in C

static int clamp(int x, int low, int high) {
    return x < low ? low : x > high ? high : x;
}

static bool has_details(const unsigned char *photo, int width, int x0, int y0) {
    int low = 255, high = 0;
    for (int y = y0; y < y0 + TILE; y++) {
        for (int x = x0; x < x0 + TILE; x++) {
            int green = photo[3 * (y * width + x) + 1];
            if (green < low) low = green;
            if (green > high) high = green;
        }
    }
    return high - low >= THRESHOLD;
}

static int expected(const unsigned char *photo, int width, int height, int x, int y, int c) {
    int sum = 0, sharp = photo[3 * (y * width + x) + c];
    for (int v = y - REACH; v <= y + REACH; v++)
        for (int u = x - REACH; u <= x + REACH; u++)
            sum += photo[3 * (clamp(v, 0, height - 1) * width + clamp(u, 0, width - 1)) + c];
    bool details = has_details(photo, width, x / TILE * TILE, y / TILE * TILE);
    return details ? clamp(2 * sharp - sum / 49, 0, 255) : sum / 49;
}

static bool check_pixels(const unsigned char *photo, int width, int height, const unsigned char *result) {
    for (int y = 0; y < height; y++) {
        for (int x = y % 5; x < width; x += 5) {
            int c = (x + y) % 3, want = expected(photo, width, height, x, y, c);
            int got = result[3 * (y * width + x) + c];
            if (got == want) continue;
            fprintf(stderr, "column %d, row %d, channel %d: expected %d, got %d\n", x, y, c, want, got);
            return false;
        }
    }
    return true;
}

static bool check_counts(const unsigned char *photo, int width, int height, const uint32_t *groups,
                         const uint32_t *bins) {
    uint32_t tiles = 0, counts[256] = { 0 };
    for (int y = 0; y < height; y += TILE)
        for (int x = 0; x < width; x += TILE) tiles += has_details(photo, width, x, y);
    for (int i = 0; i < width * height; i++)
        counts[(77 * photo[3 * i] + 150 * photo[3 * i + 1] + 29 * photo[3 * i + 2]) / 256]++;
    if (groups[0] != tiles) fprintf(stderr, "%u tiles with details, C finds %u\n", groups[0], tiles);
    for (int i = 0; i < 256; i++) {
        if (bins[i] == counts[i]) continue;
        fprintf(stderr, "%u pixels of brightness %d, C counts %u\n", bins[i], i, counts[i]);
        return false;
    }
    return groups[0] == tiles;
}

// >>the program

int main(int argc, char **argv) {
    const char *in_path = argc > 1 ? argv[1] : EXAMPLE_FOLDER "../../build/data/astronaut.png";
    const char *out_path = argc > 2 ? argv[2] : "clarity.png";
    int width = 0, height = 0;
    unsigned char *photo = stbi_load(in_path, &width, &height, NULL, 3);
    if (!photo || width % TILE || height % TILE) {
        fprintf(stderr, "cannot use '%s': %s\n", in_path,
                photo ? "its sides must be multiples of 16" : stbi_failure_reason());
        stbi_image_free(photo);
        return 1;
    }
    uint32_t columns = (uint32_t)width / TILE, rows = (uint32_t)height / TILE;

    spy_device *dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "clarity.slang" });
    spy_shape shape = SPY_SHAPE(height, width, 3);
    spy_tensor *in =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .dtype = SPY_DTYPE_UINT8, .data = photo });
    spy_tensor *soft = spy_create_tensor(dev, &(spy_tensor_desc){ .like = in });
    spy_tensor *groups =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(3), .dtype = SPY_DTYPE_UINT32 });
    spy_tensor *tiles =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(rows * columns), .type = "int2" });
    spy_tensor *bins =
        spy_create_tensor(dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(256), .dtype = SPY_DTYPE_UINT32 });

    // 1. Everything is recorded in a command list, to be done twice. Without append_to (options NULL) each of
    //    these would be done at once.
    spy_command_list *list = spy_create_command_list(dev, NULL);
    const spy_call_options recorded = { .append_to = list };
    spy_arg photo_arg = spy_arg_tensor("photo", in), soft_arg = spy_arg_tensor("soft", soft);

    // 2. A compute shader with its own [numthreads], over a thread for each pixel. Its arguments are passed
    //    whole: nothing is run over. What has a semantic (SV_...) is the system's business.
    spy_dispatch(spy_find_function(mod, "blur"), (spy_uint3){ (uint32_t)width, (uint32_t)height, 1 },
                 SPY_ARGS(photo_arg, soft_arg), &recorded);

    // 3. A plain function over exactly so many threads: one for each tile. It takes tensors as pointers here.
    //    `groups` begins with no group in x, 1 in y and z.
    const uint32_t none[3] = { 0, 1, 1 };
    spy_list_write(list, groups, none, sizeof none);
    spy_dispatch(spy_find_function(mod, "find_details"), (spy_uint3){ columns, rows, 1 },
                 SPY_ARGS(photo_arg, spy_arg_i32("threshold", THRESHOLD), spy_arg_tensor("groups", groups),
                          spy_arg_tensor("list", tiles)),
                 &recorded);

    // 4. How many tiles were found, only the GPU knows, and nobody waits for it to tell: the numbers of
    //    groups are read from `groups`, at element 0, when the GPU comes here.
    spy_dispatch_indirect(spy_find_function(mod, "sharpen"), groups, 0,
                          SPY_ARGS(photo_arg, soft_arg, spy_arg_tensor("list", tiles)), &recorded);

    // 5. Shared memory in an ordinary call: pixel by pixel, in groups of 256 threads. The last group must be
    //    full, because all threads of a group wait for each other; the multiples of 16 see to that.
    const spy_call_options grouped = { .thread_group_size = { 256 }, .append_to = list };
    spy_list_fill(list, bins, 0);
    spy_call_with(
        spy_find_function(mod, "histogram"),
        SPY_ARGS(spy_arg_tensor("pixel", in), spy_arg_thread_id("thread"), spy_arg_tensor("bins", bins)),
        &grouped);
    spy_list_finish(list);

    // 6. Once with the photograph, once with a darker one, which has fewer details: what is in the tensors
    //    counts at each submission.
    bool good = true;
    size_t size = (size_t)width * (size_t)height * 3;
    unsigned char *result = calloc(size, 1);
    for (int turn = 0; turn < 2 && good; turn++) {
        uint32_t counted[3] = { 0 }, brightness[256] = { 0 };
        for (size_t i = 0; i < size && turn == 1; i++) photo[i] = photo[i] / 2;
        spy_tensor_write(in, photo, size);
        spy_list_submit(list);
        spy_tensor_read(soft, result, size);
        spy_tensor_read(groups, counted, sizeof counted);
        spy_tensor_read(bins, brightness, sizeof brightness);
        spy_error err = spy_take_error(dev);
        if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
        good = err.code == SPY_OK && check_pixels(photo, width, height, result) &&
               check_counts(photo, width, height, counted, brightness);
        if (good && turn == 0 && !stbi_write_png(out_path, width, height, 3, result, 3 * width)) {
            fprintf(stderr, "cannot write '%s'\n", out_path);
            good = false;
        }
        if (good) printf("%u of %u tiles have details\n", counted[0], rows * columns);
    }
    if (good) printf("%s\n", out_path);
    spy_release_device(dev);
    free(result);
    stbi_image_free(photo);
    return good ? 0 : 1;
}
