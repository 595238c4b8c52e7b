// 22_mlp: a small network learns what another one does. First the training loop of the proposal that slangpy comes
// from, then the same loop recorded once and replayed, with a step that shrinks.

#define SLANGPY_IMPLEMENTATION
#include "slangpy_vk.h"
#include <math.h>
#include <stdio.h>

#ifndef EXAMPLE_FOLDER
#define EXAMPLE_FOLDER "" // `make` says where network.slang lies; otherwise run the program beside it
#endif

enum { N = 128, ITERATIONS = 200, REPLAYS = 1500 };

// Numbers in 0..1 that look like chance, the same in Python.
static void numbers(float *out, int count, uint32_t seed) {
    for (int i = 0; i < count; i++) {
        uint64_t state = (uint64_t)(i + 1) * 2654435761u + seed * 40503u;
        state = (state ^ (state >> 15)) * 2246822519u & 0xFFFFFFFF;
        state = (state ^ (state >> 13)) * 3266489917u & 0xFFFFFFFF;
        out[i] = (float)((state ^ (state >> 16)) & 0xFFFFFF) / 16777216;
    }
}

static spy_tensor *tensor(spy_device *dev, spy_shape shape, uint32_t seed, bool with_grad) {
    static float data[N * 32];
    numbers(data, (int)(shape.dims[0] * shape.dims[1]), seed);
    return spy_create_tensor(dev, &(spy_tensor_desc){ .shape = shape, .data = data, .with_grad = with_grad });
}

typedef struct training {
    spy_device *dev;
    spy_function *compute, *loss, *update;
    spy_tensor *teacher, *weights, *input, *target, *losses;
} training;

// 1. The weights are an ordinary tensor, of shape (inputs, outputs): where a function takes an MLP<32, 8>, the
//    tensor is given. The teacher is such a tensor, too, and makes the outputs that are to be learnt.
static void prepare(training *t) {
    t->dev = spy_create_device(
        &(spy_device_desc){ .backend = spy_vk_backend(), .log = { .func = spy_log_stderr } });
    spy_module *mod = spy_load_module(t->dev, &(spy_module_desc){ .path = EXAMPLE_FOLDER "network.slang" });
    t->compute = spy_find_function(mod, "compute");
    t->loss = spy_find_function(mod, "loss");
    t->update = spy_find_function(mod, "updateWeights");
    t->teacher = tensor(t->dev, SPY_SHAPE(32, 8), 1, false);
    t->input = tensor(t->dev, SPY_SHAPE(N, 32), 2, false);
    t->weights = tensor(t->dev, SPY_SHAPE(32, 8), 3, true);
    spy_call(t->compute, SPY_ARGS(spy_arg_tensor("mlp", t->teacher), spy_arg_tensor("input", t->input),
                                  spy_out_tensor("_result", &t->target)));
    t->losses = spy_create_tensor(t->dev, &(spy_tensor_desc){ .shape = SPY_SHAPE(N), .with_grad = true });
    spy_tensor_fill(spy_tensor_grad(t->losses), 1); // the gradient of each loss
}

static double mean_loss(const training *t) {
    float losses[N] = { 0 };
    double sum = 0;
    spy_call(t->loss, SPY_ARGS(spy_arg_tensor("mlp", t->weights), spy_arg_tensor("input", t->input),
                               spy_arg_tensor("target", t->target), spy_arg_tensor("_result", t->losses)));
    spy_tensor_read(t->losses, losses, sizeof losses);
    for (int i = 0; i < N; i++) sum += (double)losses[i];
    return sum / N;
}

// 2. The loop as the proposal has it. A backward call adds to the gradient of the weights. With a list, the same is
//    recorded: spy_list_... in the place of spy_...
static void step(const training *t, spy_command_list *list, float rate) {
    const spy_call_options backward = { .mode = SPY_CALL_MODE_BACKWARD, .append_to = list };
    const spy_call_options forward = { .append_to = list };
    if (list) spy_list_fill(list, spy_tensor_grad(t->weights), 0);
    else spy_tensor_zero_grad(t->weights);
    spy_call_with(t->loss,
                  SPY_ARGS(spy_arg_tensor("mlp", t->weights), spy_arg_tensor("input", t->input),
                           spy_arg_tensor("target", t->target), spy_arg_tensor("_result", t->losses)),
                  &backward);
    spy_call_with(t->update,
                  SPY_ARGS(spy_arg_tensor("param", t->weights),
                           spy_arg_tensor("grad", spy_tensor_grad(t->weights)), spy_arg_f32("step", rate)),
                  &forward);
}

static bool check(const training *t) {
    static float target[N][8], got[32 * 8], expected[32 * 8];
    double size = 0, off = 0, last = mean_loss(t);
    spy_tensor_read(t->target, target, sizeof target);
    spy_tensor_read(t->weights, got, sizeof got);
    spy_tensor_read(t->teacher, expected, sizeof expected);
    for (int i = 0; i < N * 8; i++) size += (double)target[i / 8][i % 8] * (double)target[i / 8][i % 8] / N;
    for (int i = 0; i < 32 * 8; i++) off = fmax(off, fabs((double)got[i] - (double)expected[i]));
    if (last / size < 1e-3 && off < 0.05) return true;
    fprintf(stderr, "expected a relative loss below 0.001 and weights within 0.05, got %g and %g\n",
            last / size, off);
    return false;
}

int main(void) {
    const float rate = 5e-4f;
    training t;
    prepare(&t);
    printf("Iteration 0. Loss: %.3f\n", mean_loss(&t));
    for (int i = 0; i < ITERATIONS; i++) step(&t, NULL, rate);

    // 3. The same, recorded. A replay is one launch; from time to time the recorded step gets another size.
    spy_command_list *list = spy_create_command_list(t.dev, NULL);
    step(&t, list, rate);
    spy_list_finish(list);
    for (int i = 0; i < REPLAYS; i++) {
        if (i % 500 == 0)
            spy_list_set(list, 1, SPY_ARGS(spy_arg_f32("step", rate * powf(0.8f, (float)(i / 500)))));
        spy_list_submit(list);
    }
    bool good = check(&t);
    if (good)
        printf("%d iterations later: relative loss below 0.001, weights within 0.05 of the teacher's\n",
               ITERATIONS + REPLAYS);
    spy_error err = spy_take_error(t.dev);
    if (err.code != SPY_OK) fprintf(stderr, "%s\n", err.message);
    spy_release_device(t.dev);
    return good && err.code == SPY_OK ? 0 : 1;
}
