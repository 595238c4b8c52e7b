// The part of torch_host.py that is C: makes torch's CPU tensors seem to lie in CUDA memory, and lets callgrind count the instructions
// of one row. Only this benchmark uses it.
#include <stddef.h>
#include <stdint.h>

#include "../unit/fake_cuda/fake_cuda.h"

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION (void)0
#define CALLGRIND_STOP_INSTRUMENTATION (void)0
#define CALLGRIND_ZERO_STATS (void)0
#define CALLGRIND_DUMP_STATS_AT(name) (void)(name)
#endif

enum { CPU = 1, CUDA = 2 };

// The structs of dlpack.h 1.3.
typedef struct tensor {
    void *data;
    int32_t device_type, device;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} tensor;
typedef struct managed {
    uint32_t version[2];
    void *context;
    void (*deleter)(struct managed *self);
    uint64_t flags;
    tensor tensor;
} managed;
typedef struct exchange {
    uint32_t version[2];
    struct exchange *previous;
    int (*allocate)(tensor *like, managed **out, void *context, void (*set_error)(void *context, const char *kind, const char *message));
    int (*give)(void *object, managed **out);
    int (*take)(managed *tensor, void **object);
    int (*view)(void *object, tensor *out);
    int (*work_stream)(int32_t device_type, int32_t device, void **stream);
} exchange;

static exchange torch, ours;
static void *stream;

static int allocate(tensor *like, managed **out, void *context, void (*set_error)(void *context, const char *kind, const char *message)) {
    tensor host = *like;
    host.device_type = CPU;
    int status = torch.allocate(&host, out, context, set_error);
    if (status == 0) (*out)->tensor.device_type = CUDA;
    return status;
}
static int give(void *object, managed **out) {
    int status = torch.give(object, out);
    if (status == 0) (*out)->tensor.device_type = CUDA;
    return status;
}
static int take(managed *made, void **object) {
    made->tensor.device_type = CPU;
    return torch.take(made, object);
}
static int view(void *object, tensor *out) {
    int status = torch.view(object, out);
    out->device_type = CUDA;
    return status;
}
static int work_stream(int32_t device_type, int32_t device, void **out) {
    (void)device_type, (void)device;
    *out = stream;
    return 0;
}

// Returns a table of functions over those of torch. `now` is the stream that torch seems to work in.
exchange *make_exchange(exchange *of_torch, void *now) {
    torch = ours = *of_torch;
    ours.previous = NULL;
    ours.allocate = allocate;
    ours.give = give;
    ours.take = take;
    ours.view = view;
    ours.work_stream = work_stream;
    stream = now;
    return &ours;
}

// Every address is the fake driver's.
void map_everything(fake_cuda *state) {
    state->mapped = 0;
    state->mapped_size = UINT64_MAX;
}

void count_begin(void) {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
}
void count_end(const char *name) {
    CALLGRIND_DUMP_STATS_AT(name);
    CALLGRIND_STOP_INSTRUMENTATION;
}
