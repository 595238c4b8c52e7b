// Exact sums of gradients of textures and of networks' weights, for calls that are deterministic. The kernel
// adds integers of 128 bits, which give the same bits in each order, and a second call adds them to the
// gradients.
#include "api/gradient.h"
#include "call/call.h"
#include "data/tensor.h"

static const char spyi_sums_source[] =
    "import slangpy_add;\n"
    "void finish_sums(inout float grad, inout uint4 sum) { grad += spyi_sum_value(sum); sum = uint4(0); }\n";

SPYI_FN uint32_t spyi_sums_take(spy_device *device, spyi_summed *summed) {
    uint32_t count = device->summed_count;
    for (uint32_t i = 0; i < count; i++) {
        summed[i] = device->summed[i];
        *summed[i].noted = false;
        spyi_atomic_add(&summed[i].grad->object.references, 1);
        spyi_atomic_add(&summed[i].sums->object.references, 1);
    }
    device->summed_count = 0;
    return count;
}

// Returns the function that adds sums to gradients. NULL means that an error has been reported.
static spy_function *spyi_sums_function(spy_device *device, const char *name) {
    spy_module_desc desc;
    if (spyi_enter(device, SPYI_KIND_DEVICE, name) != SPY_OK) return NULL;
    spy_function *function = device->finish_sums;
    spyi_leave(device);
    if (function) return function;
    memset(&desc, 0, sizeof desc);
    desc.name = "slangpy_sums";
    desc.source = spyi_sums_source;
    spy_module *module = spy_load_module(device, &desc);
    function = module ? spy_find_function(module, "finish_sums") : NULL;
    if (!function || spyi_enter(device, SPYI_KIND_DEVICE, name) != SPY_OK) return NULL;
    device->finish_sums = function; // the function lives as long as the device
    spyi_leave(device);
    return function;
}

SPYI_FN spy_status spyi_sums_finish(spy_device *device, const spyi_summed *summed, uint32_t count,
                                    const spy_call_options *options, spy_status status, const char *name) {
    spy_function *function = status == SPY_OK && count ? spyi_sums_function(device, name) : NULL;
    spy_call_options own;
    memset(&own, 0, sizeof own);
    if (options) own.append_to = options->append_to;
    if (status == SPY_OK && count && !function) status = SPY_ERROR_COMPILE;
    for (uint32_t i = 0; i < count; i++) {
        spy_arg items[2];
        spy_args args = { items, 2 };
        items[0] = spy_arg_tensor("grad", summed[i].grad);
        items[1] = spy_arg_tensor("sum", summed[i].sums);
        if (status == SPY_OK) status = spy_call_with(function, args, &own);
        spy_release_tensor(summed[i].grad);
        spy_release_tensor(summed[i].sums);
    }
    return status;
}
