// Vulkan calls that fail: each function that gives a VkResult fails once, at its n-th call in each step of a program, with each
// error that Vulkan allows it. A phase that meets the failure reports it, or succeeds; when it is repeated it works; what was
// accepted is done, so that the step's numbers are right in the end. After VK_ERROR_DEVICE_LOST everything reports an error.
// When the device is released, no Vulkan object and no byte of the device's allocator is left.
//
// The program gives the library a vkGetInstanceProcAddr of its own, which wraps the driver's functions by name.
#include "spy_test.h"
#include "counting_allocator.h"
#include "../unit/hold_slang.h"
#include "chance.h"

#include "api/generator.h"
#include "api/gradient.h"
#include "api/list.h"
#include "vk/functions.h"

#include <dlfcn.h>
#include <stdio.h>

// >>Vulkan, with failures

#define HOST VK_ERROR_OUT_OF_HOST_MEMORY
#define DEVICE VK_ERROR_OUT_OF_DEVICE_MEMORY
#define LOST VK_ERROR_DEVICE_LOST
#define INIT VK_ERROR_INITIALIZATION_FAILED
#define MAP VK_ERROR_MEMORY_MAP_FAILED

// Objects are counted by the function that makes them; `made` is what it writes.
#define FUNCTIONS(X)                                                                                                                     \
    X(vkCreateInstance, (const VkInstanceCreateInfo *i, const VkAllocationCallbacks *a, VkInstance *o), (i, a, o), 1, HOST, DEVICE, INIT)  \
    X(vkEnumerateInstanceVersion, (uint32_t *v), (v), 0, HOST, 0, 0)                                                                      \
    X(vkEnumerateInstanceExtensionProperties, (const char *l, uint32_t *n, VkExtensionProperties *e), (l, n, e), 0, HOST, DEVICE, 0)       \
    X(vkEnumerateInstanceLayerProperties, (uint32_t *n, VkLayerProperties *e), (n, e), 0, HOST, DEVICE, 0)                                 \
    X(vkEnumeratePhysicalDevices, (VkInstance d, uint32_t *n, VkPhysicalDevice *e), (d, n, e), 0, HOST, DEVICE, INIT)                      \
    X(vkEnumerateDeviceExtensionProperties, (VkPhysicalDevice d, const char *l, uint32_t *n, VkExtensionProperties *e), (d, l, n, e), 0,  \
      HOST, DEVICE, 0)                                                                                                                   \
    X(vkCreateDebugUtilsMessengerEXT, (VkInstance d, const VkDebugUtilsMessengerCreateInfoEXT *i, const VkAllocationCallbacks *a,          \
      VkDebugUtilsMessengerEXT *o), (d, i, a, o), 1, HOST, 0, 0)                                                                         \
    X(vkSetDebugUtilsObjectNameEXT, (VkDevice d, const VkDebugUtilsObjectNameInfoEXT *i), (d, i), 0, HOST, DEVICE, 0)                      \
    X(vkCreateDevice, (VkPhysicalDevice d, const VkDeviceCreateInfo *i, const VkAllocationCallbacks *a, VkDevice *o), (d, i, a, o), 1,     \
      HOST, INIT, LOST)                                                                                                                  \
    X(vkAllocateCommandBuffers, (VkDevice d, const VkCommandBufferAllocateInfo *i, VkCommandBuffer *o), (d, i, o), 0, HOST, DEVICE, 0)     \
    X(vkAllocateMemory, (VkDevice d, const VkMemoryAllocateInfo *i, const VkAllocationCallbacks *a, VkDeviceMemory *o), (d, i, a, o), 1,   \
      HOST, DEVICE, 0)                                                                                                                   \
    X(vkBeginCommandBuffer, (VkCommandBuffer d, const VkCommandBufferBeginInfo *i), (d, i), 0, HOST, DEVICE, 0)                           \
    X(vkBindBufferMemory, (VkDevice d, VkBuffer b, VkDeviceMemory m, VkDeviceSize z), (d, b, m, z), 0, HOST, DEVICE, 0)                   \
    X(vkCreateBuffer, (VkDevice d, const VkBufferCreateInfo *i, const VkAllocationCallbacks *a, VkBuffer *o), (d, i, a, o), 1, HOST,       \
      DEVICE, 0)                                                                                                                         \
    X(vkCreateBufferView, (VkDevice d, const VkBufferViewCreateInfo *i, const VkAllocationCallbacks *a, VkBufferView *o), (d, i, a, o),    \
      1, HOST, DEVICE, 0)                                                                                                                \
    X(vkCreateCommandPool, (VkDevice d, const VkCommandPoolCreateInfo *i, const VkAllocationCallbacks *a, VkCommandPool *o),              \
      (d, i, a, o), 1, HOST, DEVICE, 0)                                                                                                  \
    X(vkCreateComputePipelines, (VkDevice d, VkPipelineCache c, uint32_t n, const VkComputePipelineCreateInfo *i,                         \
      const VkAllocationCallbacks *a, VkPipeline *o), (d, c, n, i, a, o), 1, HOST, DEVICE, 0)                                            \
    X(vkCreateDescriptorSetLayout, (VkDevice d, const VkDescriptorSetLayoutCreateInfo *i, const VkAllocationCallbacks *a,                 \
      VkDescriptorSetLayout *o), (d, i, a, o), 1, HOST, DEVICE, 0)                                                                       \
    X(vkCreatePipelineCache, (VkDevice d, const VkPipelineCacheCreateInfo *i, const VkAllocationCallbacks *a, VkPipelineCache *o),        \
      (d, i, a, o), 1, HOST, DEVICE, 0)                                                                                                  \
    X(vkCreatePipelineLayout, (VkDevice d, const VkPipelineLayoutCreateInfo *i, const VkAllocationCallbacks *a, VkPipelineLayout *o),     \
      (d, i, a, o), 1, HOST, DEVICE, 0)                                                                                                  \
    X(vkCreateQueryPool, (VkDevice d, const VkQueryPoolCreateInfo *i, const VkAllocationCallbacks *a, VkQueryPool *o), (d, i, a, o), 1,    \
      HOST, DEVICE, 0)                                                                                                                   \
    X(vkCreateSemaphore, (VkDevice d, const VkSemaphoreCreateInfo *i, const VkAllocationCallbacks *a, VkSemaphore *o), (d, i, a, o), 1,    \
      HOST, DEVICE, 0)                                                                                                                   \
    X(vkCreateShaderModule, (VkDevice d, const VkShaderModuleCreateInfo *i, const VkAllocationCallbacks *a, VkShaderModule *o),           \
      (d, i, a, o), 1, HOST, DEVICE, 0)                                                                                                  \
    X(vkEndCommandBuffer, (VkCommandBuffer d), (d), 0, HOST, DEVICE, 0)                                                                   \
    X(vkGetQueryPoolResults, (VkDevice d, VkQueryPool p, uint32_t f, uint32_t n, size_t z, void *q, VkDeviceSize s, VkQueryResultFlags w), \
      (d, p, f, n, z, q, s, w), 0, HOST, DEVICE, LOST)                                                                                   \
    X(vkGetSemaphoreCounterValue, (VkDevice d, VkSemaphore s, uint64_t *v), (d, s, v), 0, HOST, DEVICE, LOST)                             \
    X(vkMapMemory, (VkDevice d, VkDeviceMemory m, VkDeviceSize f, VkDeviceSize z, VkMemoryMapFlags w, void **o), (d, m, f, z, w, o), 0,    \
      HOST, DEVICE, MAP)                                                                                                                 \
    X(vkQueueSubmit, (VkQueue d, uint32_t n, const VkSubmitInfo *i, VkFence f), (d, n, i, f), 0, HOST, DEVICE, LOST)                      \
    X(vkQueueWaitIdle, (VkQueue d), (d), 0, HOST, DEVICE, LOST)                                                                           \
    X(vkResetCommandPool, (VkDevice d, VkCommandPool p, VkCommandPoolResetFlags f), (d, p, f), 0, HOST, DEVICE, 0)                        \
    X(vkSignalSemaphore, (VkDevice d, const VkSemaphoreSignalInfo *i), (d, i), 0, HOST, DEVICE, 0)                                        \
    X(vkWaitSemaphores, (VkDevice d, const VkSemaphoreWaitInfo *i, uint64_t t), (d, i, t), 0, HOST, DEVICE, LOST)

// What undoes what: the object is counted with the function that made it.
#define DESTROYERS(X)                                                                                                                    \
    X(vkDestroyDebugUtilsMessengerEXT, vkCreateDebugUtilsMessengerEXT, VkInstance, VkDebugUtilsMessengerEXT)                              \
    X(vkFreeMemory, vkAllocateMemory, VkDevice, VkDeviceMemory)                                                                           \
    X(vkDestroyBuffer, vkCreateBuffer, VkDevice, VkBuffer)                                                                                \
    X(vkDestroyBufferView, vkCreateBufferView, VkDevice, VkBufferView)                                                                    \
    X(vkDestroyCommandPool, vkCreateCommandPool, VkDevice, VkCommandPool)                                                                 \
    X(vkDestroyPipeline, vkCreateComputePipelines, VkDevice, VkPipeline)                                                                  \
    X(vkDestroyDescriptorSetLayout, vkCreateDescriptorSetLayout, VkDevice, VkDescriptorSetLayout)                                         \
    X(vkDestroyPipelineCache, vkCreatePipelineCache, VkDevice, VkPipelineCache)                                                           \
    X(vkDestroyPipelineLayout, vkCreatePipelineLayout, VkDevice, VkPipelineLayout)                                                        \
    X(vkDestroyQueryPool, vkCreateQueryPool, VkDevice, VkQueryPool)                                                                       \
    X(vkDestroySemaphore, vkCreateSemaphore, VkDevice, VkSemaphore)                                                                       \
    X(vkDestroyShaderModule, vkCreateShaderModule, VkDevice, VkShaderModule)

enum {
#define ID(name, parameters, arguments, makes, e0, e1, e2) ID_##name,
    FUNCTIONS(ID)
#undef ID
    FUNCTION_COUNT
};

static const struct {
    const char *name;
    VkResult errors[3];
} functions[] = {
#define ROW(name, parameters, arguments, makes, e0, e1, e2) { #name, { (VkResult)e0, (VkResult)e1, (VkResult)e2 } },
    FUNCTIONS(ROW)
#undef ROW
};

static long calls[FUNCTION_COUNT];   // since the step began
static long alive[FUNCTION_COUNT];   // objects
static int failing = -1;             // the function that fails
static long failing_call;            // at which of its calls
static bool failing_on;              // at all later ones too, until that is reported
static VkResult failing_result;
static bool failed, device_lost;

// VK_SUCCESS: ask the driver.
static VkResult verdict(int id) {
    long n = __atomic_add_fetch(&calls[id], 1, __ATOMIC_SEQ_CST);
    if (device_lost) {
        for (int i = 0; i < 3; i++)
            if (functions[id].errors[i] == LOST) return LOST;
    }
    if (id != failing || n < failing_call || (n > failing_call && !failing_on)) return VK_SUCCESS;
    failed = true;
    device_lost = failing_result == LOST && id != ID_vkCreateDevice;
    return failing_result;
}

#define WRAP(name, parameters, arguments, makes, e0, e1, e2)                                                                             \
    static PFN_##name real_##name;                                                                                                       \
    static VKAPI_ATTR VkResult VKAPI_CALL wrap_##name parameters {                                                                       \
        VkResult result = verdict(ID_##name);                                                                                            \
        /* The work of a lost device ends, too. */                                                                                       \
        if (result == LOST && ID_##name == ID_vkQueueWaitIdle) (void)real_##name arguments;                                              \
        if (result != VK_SUCCESS) return result;                                                                                         \
        result = real_##name arguments;                                                                                                  \
        if (makes && result == VK_SUCCESS) __atomic_add_fetch(&alive[ID_##name], 1, __ATOMIC_SEQ_CST);                                   \
        return result;                                                                                                                   \
    }
FUNCTIONS(WRAP)

#define UNWRAP(name, maker, parent, type)                                                                                                \
    static PFN_##name real_##name;                                                                                                       \
    static VKAPI_ATTR void VKAPI_CALL wrap_##name(parent d, type o, const VkAllocationCallbacks *a) {                                     \
        if (o != VK_NULL_HANDLE) __atomic_sub_fetch(&alive[ID_##maker], 1, __ATOMIC_SEQ_CST);                                            \
        real_##name(d, o, a);                                                                                                            \
    }
DESTROYERS(UNWRAP)

static PFN_vkDestroyDevice real_vkDestroyDevice;
static VKAPI_ATTR void VKAPI_CALL wrap_vkDestroyDevice(VkDevice d, const VkAllocationCallbacks *a) {
    alive[ID_vkCreateDevice]--;
    real_vkDestroyDevice(d, a);
}
static PFN_vkDestroyInstance real_vkDestroyInstance;
static VKAPI_ATTR void VKAPI_CALL wrap_vkDestroyInstance(VkInstance d, const VkAllocationCallbacks *a) {
    alive[ID_vkCreateInstance]--;
    real_vkDestroyInstance(d, a);
}

static PFN_vkVoidFunction wrapped(const char *name, PFN_vkVoidFunction real) {
    if (real == NULL) return NULL;
#define ENTRY(n)                                                                                                                         \
    if (strcmp(name, #n) == 0) {                                                                                                         \
        real_##n = (PFN_##n)real;                                                                                                        \
        return (PFN_vkVoidFunction)wrap_##n;                                                                                             \
    }
#define WRAP_ENTRY(n, parameters, arguments, makes, e0, e1, e2) ENTRY(n)
#define UNWRAP_ENTRY(n, maker, parent, type) ENTRY(n)
    FUNCTIONS(WRAP_ENTRY)
    DESTROYERS(UNWRAP_ENTRY)
    ENTRY(vkDestroyDevice)
    ENTRY(vkDestroyInstance)
    return real;
}

static PFN_vkGetInstanceProcAddr loader;
static PFN_vkGetDeviceProcAddr real_get_device_proc;

static VKAPI_ATTR PFN_vkVoidFunction VKAPI_CALL get_device_proc(VkDevice d, const char *name) {
    return wrapped(name, real_get_device_proc(d, name));
}

static spy_vk_void_func get_proc(void *instance, const char *name) {
    PFN_vkVoidFunction real = loader((VkInstance)instance, name);
    if (strcmp(name, "vkGetDeviceProcAddr") == 0) {
        real_get_device_proc = (PFN_vkGetDeviceProcAddr)real;
        return (spy_vk_void_func)get_device_proc;
    }
    return (spy_vk_void_func)wrapped(name, real);
}

// >>the program

#define N 8
#define LARGE (1 << 18) // elements: its copies take the ways of large ones

static const char source[] = "float add(float a, float b) { return a + b; }\n"
                             "[Differentiable] float square(float x, no_diff float k) { return x * x * k; }\n"
                             "float from(Buffer<float> b, int i) { return b[i] * 2; }\n"
                             "float strided(float a, float b) { return a - b; }\n";

typedef struct program {
    spy_device *device;
    spy_module *module;
    spy_function *add, *square, *from, *strided;
    spy_tensor *x, *y, *large, *made;
    spy_command_list *list;
    float number, out[N], *big;
    char prelude[64];
    uint64_t times[2];
    int turn;
} program;

typedef bool phase(program *p);

static bool all(const float *values, float scale, float add) {
    for (int i = 0; i < N; i++)
        if (values[i] != (float)i * scale + add) return false;
    return true;
}

static bool make_device(program *p) {
    spy_vk_desc vk;
    spy_device_desc d;
    memset(&vk, 0, sizeof vk);
    memset(&d, 0, sizeof d);
    vk.get_instance_proc_addr = get_proc;
    d.backend = spy_vk_backend();
    d.backend_desc = &vk;
    d.label = "a label";
    d.allocator = counting_allocator();
    p->device = spy_create_device(&d);
    return p->device != NULL;
}

static bool make_module(program *p) {
    spy_module_desc d;
    memset(&d, 0, sizeof d);
    d.name = "failing";
    d.source = source;
    if (!p->module) p->module = spy_load_module(p->device, &d);
    p->add = spy_find_function(p->module, "add");
    p->square = spy_find_function(p->module, "square");
    p->from = spy_find_function(p->module, "from");
    p->strided = spy_find_function(p->module, "strided");
    return p->add && p->square && p->from && p->strided;
}

static spy_tensor *tensor(program *p, int64_t count, const float *data, bool grad) {
    spy_tensor_desc d;
    memset(&d, 0, sizeof d);
    d.shape = SPY_SHAPE(count);
    d.data = data;
    d.with_grad = grad;
    d.label = "a tensor";
    return spy_create_tensor(p->device, &d);
}

static bool make_tensors(program *p) {
    float data[N];
    for (int i = 0; i < N; i++) data[i] = (float)i;
    if (!p->x) p->x = tensor(p, N, data, true);
    if (!p->y) p->y = tensor(p, N, NULL, true);
    return p->x && p->y;
}

// Phases.
static bool fill_y(program *p) { return spy_tensor_fill(p->y, -7) == SPY_OK; }
static bool wait(program *p) { return spy_wait(p->device) == SPY_OK; }
static bool call(program *p) {
    return spy_call(p->add, SPY_ARGS(spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y))) == SPY_OK;
}
static bool flush(program *p) { return spy_flush(p->device) != 0; }
static bool read_y(program *p) { return spy_tensor_read(p->y, p->out, sizeof p->out) == SPY_OK; }
static bool call_number(program *p) {
    p->number = -7;
    bool good = spy_call(p->add, SPY_ARGS(spy_arg_f32("a", 1), spy_arg_f32("b", 2), spy_out_f32("_result", &p->number))) == SPY_OK;
    return good;
}
static bool call_new_kernel(program *p) {
    spy_call_options options;
    memset(&options, 0, sizeof options);
    options.prelude = p->prelude;
    if (!p->prelude[0]) (void)snprintf(p->prelude, sizeof p->prelude, "// %d", p->turn);
    return spy_call_with(p->add, SPY_ARGS(spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y)), &options) == SPY_OK;
}
static bool call_new_result(program *p) {
    spy_release_tensor(p->made);
    p->made = NULL;
    return spy_call(p->strided, SPY_ARGS(spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_out_tensor("_result", &p->made))) == SPY_OK;
}
static bool read_made(program *p) { return spy_tensor_read(p->made, p->out, sizeof p->out) == SPY_OK; }
static bool zero_gradients(program *p) {
    return spy_tensor_zero_grad(p->x) == SPY_OK && spy_tensor_fill(spy_tensor_grad(p->y), 1) == SPY_OK;
}
static bool backward(program *p) {
    return spy_call_backward(p->square, SPY_ARGS(spy_arg_tensor("x", p->x), spy_arg_f32("k", 3), spy_arg_tensor("_result", p->y))) == SPY_OK;
}
static bool read_gradient(program *p) { return spy_tensor_read(spy_tensor_grad(p->x), p->out, sizeof p->out) == SPY_OK; }
static bool call_buffer(program *p) {
    spy_status s = spy_call(p->from, SPY_ARGS(spy_arg_tensor("b", p->x), spy_arg_range("i", 0, N, 1), spy_arg_tensor("_result", p->y)));
    return s == SPY_OK;
}
static bool write_y(program *p) {
    float data[N];
    for (int i = 0; i < N; i++) data[i] = (float)i * 5;
    return spy_tensor_write(p->y, data, sizeof data) == SPY_OK;
}
static bool large_make(program *p) {
    spy_release_tensor(p->large);
    for (int i = 0; i < LARGE; i++) p->big[i] = (float)(i % 1000);
    p->large = tensor(p, LARGE, p->big, false);
    memset(p->big, 0, LARGE * sizeof *p->big);
    return p->large != NULL;
}
static bool large_read(program *p) { return spy_tensor_read(p->large, p->big, LARGE * sizeof *p->big) == SPY_OK; }
static bool large_free(program *p) {
    spy_release_tensor(p->large);
    p->large = NULL;
    return spy_trim(p->device) == SPY_OK;
}
static bool array_call(program *p) {
    float data[N];
    for (int i = 0; i < N; i++) data[i] = (float)i;
    return spy_call(p->add, SPY_ARGS(spy_arg_array("a", data, SPY_SHAPE(N), SPY_DTYPE_FLOAT32), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y))) == SPY_OK;
}
static bool list_record(program *p) {
    spy_release_command_list(p->list);
    p->list = spy_create_command_list(p->device, NULL);
    float data[N];
    for (int i = 0; i < N; i++) data[i] = (float)i;
    return p->list && spy_list_timestamp(p->list) == SPY_OK && spy_list_write(p->list, p->y, data, sizeof data) == SPY_OK &&
           spy_list_call(p->list, p->add, SPY_ARGS(spy_arg_tensor("a", p->y), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y))) == SPY_OK &&
           spy_list_timestamp(p->list) == SPY_OK && spy_list_finish(p->list) == SPY_OK;
}
static bool list_submit(program *p) { return spy_list_submit(p->list) == SPY_OK; }
static bool list_times(program *p) { return spy_list_read_timestamps(p->list, p->times, 2) == SPY_OK; }
static bool time_call(program *p) {
    return spy_time_call(p->add, SPY_ARGS(spy_arg_tensor("a", p->x), spy_arg_f32("b", 2), spy_arg_tensor("_result", p->y)), NULL, p->times) == SPY_OK;
}
static bool calibrate(program *p) {
    spy_calibration c;
    return spy_get_calibration(p->device, &c) == SPY_OK;
}
static bool many_calls(program *p) { // more than one batch holds
    for (int i = 0; i < 70; i++)
        if (!call(p) || (i % 8 == 7 && !flush(p))) return false;
    return true;
}

// Checks of the numbers in the end.
static bool plus_two(program *p) { return all(p->out, 1, 2); }
static bool minus_two(program *p) { return all(p->out, 1, -2); }
static bool three(program *p) { return p->number == 3; }
static bool six_times(program *p) { return all(p->out, 6, 0); }
static bool twice(program *p) { return all(p->out, 2, 0); }
static bool five_times(program *p) { return all(p->out, 5, 0); }
static bool big_right(program *p) {
    for (int i = 0; i < LARGE; i++)
        if (p->big[i] != (float)(i % 1000)) return false;
    return true;
}
static bool ordered(program *p) { return all(p->out, 1, 2) && p->times[0] <= p->times[1]; }
static bool anything(program *p) { return p->device != NULL; }

static const struct step {
    const char *name;
    phase *check;
    enum { WARM, COMPILES, COLD } kind; // takes a ms; 0.1 s; a new device
    phase *phases[6];
} steps[] = {
    { "call", plus_two, WARM, { fill_y, wait, call, flush, read_y } },
    { "number", three, WARM, { call_number } },
    { "new kernel", plus_two, COMPILES, { fill_y, call_new_kernel, read_y } },
    { "new result", minus_two, WARM, { call_new_result, read_made } },
    { "backward", six_times, WARM, { zero_gradients, backward, read_gradient } },
    { "typed buffer", twice, WARM, { fill_y, call_buffer, read_y } },
    { "write", five_times, WARM, { fill_y, flush, write_y, read_y } },
    { "large copies", big_right, WARM, { large_make, large_read, large_free } },
    { "host array", plus_two, WARM, { fill_y, array_call, read_y } },
    { "list", ordered, WARM, { fill_y, list_record, list_submit, list_times, read_y } },
    { "timed call", plus_two, WARM, { fill_y, time_call, read_y } },
    { "clocks", anything, WARM, { calibrate, wait } },
    { "first use", plus_two, COLD, { make_module, make_tensors, large_make, list_record, call, read_y } },
    { "many calls", plus_two, WARM, { fill_y, many_calls, read_y } },
};
enum { STEPS = sizeof steps / sizeof *steps };

// >>cases

static int problems;
static char where[200];
static void problem(const char *what, const char *more) {
    problems++;
    print_error("%s: %s%s%s\n", where, what, more[0] ? ": " : "", more);
}

static void close_program(program *p) {
    spy_release_tensor(p->x);
    spy_release_tensor(p->y);
    spy_release_tensor(p->large);
    spy_release_tensor(p->made);
    spy_release_command_list(p->list);
    spy_release_module(p->module);
    spy_release_device(p->device);
    (void)spy_take_error(NULL);
    float *big = p->big;
    int turn = p->turn;
    memset(p, 0, sizeof *p);
    p->big = big;
    p->turn = turn;
    device_lost = false;
    failing = -1;
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        if (alive[f] == 0) continue;
        char text[100];
        (void)snprintf(text, sizeof text, "%ld of %s", alive[f], functions[f].name);
        problem("objects are left", text);
        alive[f] = 0;
    }
    if (bytes_alive != 0) problem("host memory is left", "");
    bytes_alive = 0;
}

static bool open_program(program *p, bool cold) {
    failing = -1;
    device_lost = false;
    if (make_device(p) && (cold || (make_module(p) && make_tensors(p)))) return true;
    problem("the program does not begin", spy_take_error(p->device).message);
    close_program(p);
    return false;
}

static void arm(int function, long call_number_, VkResult result) {
    memset(calls, 0, sizeof calls);
    failed = false;
    failing_call = call_number_;
    failing_result = result;
    failing_on = result != LOST && below(3) == 0;
    failing = function;
}

// Runs a step. Gives whether the device is still there.
static bool run_step(program *p, const struct step *step) {
    for (int i = 0; i < 6 && step->phases[i]; i++) {
        bool before = failed, good = step->phases[i](p);
        spy_error e = spy_take_error(p->device);
        if (good && e.code != SPY_OK) problem("success with an error", e.message);
        if (good) continue;
        if (e.code == SPY_OK) problem("failed without an error", "");
        if (!failed) problem("fails by itself", e.message);
        if (before && failing < 0 && !device_lost) problem("fails late", e.message);
        if (e.code != SPY_OK && failed && !before && failing >= 0 && !strstr(e.message, functions[failing].name) && !device_lost)
            problem("the message does not name the function", e.message);
        if (device_lost) return false;
        failing = -1;
        if (strstr(e.message, "is not done")) { // with what earlier phases recorded
            i = -1;
            continue;
        }
        if (step->phases[i](p)) continue;
        problem("does not work afterwards", spy_take_error(p->device).message);
        return false;
    }
    if (device_lost) return true; // and the numbers may have come before
    if (!step->check(p)) problem("wrong numbers", "");
    return true;
}

// After the loss: no success, no numbers, no crash.
static void after_loss(program *p) {
    failing = -1;
    (void)spy_take_error(p->device);
    (void)spy_wait(p->device); // it notices here at the latest
    for (int i = 0; i < STEPS && p->y; i++) {
        bool any = false;
        for (int k = 0; k < 6 && steps[i].phases[k]; k++) {
            bool good = steps[i].phases[k](p);
            if (!good) any = true;
            if (!good && spy_take_error(p->device).code == SPY_OK && spy_take_error(NULL).code == SPY_OK)
                problem("after the loss, without an error", steps[i].name);
        }
        if (!any) problem("works after the loss", steps[i].name);
    }
}

typedef struct failure {
    int step, function;
    long call;
    VkResult result;
} failure;

static void describe(const failure *f) {
    (void)snprintf(where, sizeof where, "%s, %s number %ld fails with %d", f->step < 0 ? "creation" : steps[f->step].name,
                   functions[f->function].name, f->call, (int)f->result);
}

static failure *list;
static size_t list_count;

static void add(int step, int function, long call_, VkResult result) {
    static size_t capacity;
    if (list_count == capacity) {
        capacity = capacity ? 2 * capacity : 256;
        list = (failure *)realloc(list, capacity * sizeof *list);
    }
    list[list_count++] = (failure){ step, function, call_, result };
}

// Each call that the functions got since they were armed, or the first and last few of many.
static void add_calls(int step, const long *counts) {
    for (int f = 0; f < FUNCTION_COUNT; f++) {
        for (long n = 1; n <= counts[f]; n++) {
            if (n > 4 && n < counts[f] - 2) continue;
            for (int e = 0; e < 3; e++)
                if (functions[f].errors[e] != VK_SUCCESS) add(step, f, n, functions[f].errors[e]);
        }
    }
}

static void shuffle(void) {
    for (size_t i = list_count; i > 1; i--) {
        size_t k = below((uint32_t)i);
        failure f = list[i - 1];
        list[i - 1] = list[k];
        list[k] = f;
    }
}

static int ready(void **state) {
    seed();
    void *library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, "vkGetInstanceProcAddr") : NULL;
    if (symbol) memcpy(&loader, &symbol, sizeof loader);
    return hold_slang(state);
}

// The creation of a device: fails with an error, leaves nothing, and the next one works.
static void test_creation(void **state) {
    (void)state;
    if (!loader) skip();
    program p;
    memset(&p, 0, sizeof p);
    arm(-1, 0, VK_SUCCESS);
    (void)make_device(&p); // the process's first instance stays (src/vk/instance.c)
    close_program(&p);
    problems = 0;
    list_count = 0;
    (void)snprintf(where, sizeof where, "creation without a failure");
    arm(-1, 0, VK_SUCCESS);
    if (!make_device(&p)) problem("no device", spy_take_error(NULL).message);
    long counts[FUNCTION_COUNT];
    memcpy(counts, calls, sizeof counts);
    close_program(&p);
    add_calls(-1, counts);
    shuffle();
    size_t some = test_count(10000); // all of them but in small tests
    for (size_t i = 0; i < list_count && i < some; i++) {
        describe(&list[i]);
        arm(list[i].function, list[i].call, list[i].result);
        bool good = make_device(&p);
        if (!failed) problem("was not called", "");
        failing = -1;
        if (!good && spy_take_error(NULL).code == SPY_OK) problem("failed without an error", "");
        if (good && !device_lost && !wait(&p)) problem("does not work", spy_take_error(p.device).message);
        close_program(&p);
    }
    print_message("%zu failures of %zu\n", list_count < some ? list_count : some, list_count);
    assert_int_equal(problems, 0);
}

static void test_steps(void **state) {
    (void)state;
    if (!loader) skip();
    program p;
    memset(&p, 0, sizeof p);
    p.big = (float *)malloc(LARGE * sizeof *p.big);
    problems = 0;
    list_count = 0;
    (void)snprintf(where, sizeof where, "no failure");
    for (int round = 0; round < 2; round++) {
        for (int s = 0; s < STEPS; s++) {
            bool cold = steps[s].kind == COLD;
            if (cold && p.device) close_program(&p);
            if (!p.device && !open_program(&p, cold)) fail();
            p.prelude[0] = 0;
            p.turn++;
            arm(-1, 0, VK_SUCCESS);
            if (!run_step(&p, &steps[s])) problem("the step does not work", steps[s].name);
            if (round == 1) add_calls(s, calls);
        }
    }
    shuffle();
    // Those that end the device or compile cost 0.1 s or more; the others a ms.
    size_t slow = test_count(200), done = 0;
    for (size_t i = 0; i < list_count; i++) {
        bool dear = list[i].result == LOST || steps[list[i].step].kind != WARM, cold = steps[list[i].step].kind == COLD;
        if (dear && slow == 0) continue;
        if (dear) slow--;
        describe(&list[i]);
        if (p.device && cold) close_program(&p);
        if (!p.device && !open_program(&p, cold)) break;
        p.prelude[0] = 0;
        p.turn++;
        arm(list[i].function, list[i].call, list[i].result);
        bool good = run_step(&p, &steps[list[i].step]);
        failing = -1;
        done++;
        if (device_lost) after_loss(&p);
        if (device_lost || !good) close_program(&p);
    }
    (void)snprintf(where, sizeof where, "the end");
    close_program(&p);
    print_message("%zu failures of %zu\n", done, list_count);
    free(p.big);
    assert_int_equal(problems, 0);
}

static int done(void **state) {
    free(list);
    return let_slang_go(state);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_creation), cmocka_unit_test(test_steps) };
    return cmocka_run_group_tests(tests, ready, done);
}
