// The part of the CUDA driver API that the library uses, declared here so that building needs no toolkit. The
// driver is opened at run time.
// Source: the CUDA Driver API's reference manual. All symbols are in drivers of CUDA 11.4 and later.
#ifndef SPYI_CUDA_DRIVER_API_H
#define SPYI_CUDA_DRIVER_API_H

#include <stddef.h>
#include <stdint.h>

#ifdef _WIN32
#define SPYI_CU_CALL __stdcall
#else
#define SPYI_CU_CALL
#endif

typedef int spyi_cu_result; // the driver calls it CUresult
typedef int spyi_cu_device; // the driver calls it CUdevice
typedef struct spyi_cu_context_object *spyi_cu_context;
typedef struct spyi_cu_module_object *spyi_cu_module;
typedef struct spyi_cu_function_object *spyi_cu_function;
typedef struct spyi_cu_stream_object *spyi_cu_stream;
typedef struct spyi_cu_event_object *spyi_cu_event;
typedef struct spyi_cu_graph_object *spyi_cu_graph;
typedef struct spyi_cu_node_object *spyi_cu_node;
typedef struct spyi_cu_exec_object *spyi_cu_exec; // the driver calls it CUgraphExec
typedef uint64_t spyi_cu_pointer;                 // the driver calls it CUdeviceptr

enum {
    SPYI_CU_OK = 0,
    SPYI_CU_OUT_OF_MEMORY = 2,
    SPYI_CU_NO_DEVICE = 100,
    SPYI_CU_INVALID_CONTEXT = 201,
    SPYI_CU_NO_BINARY_FOR_GPU = 209,
    SPYI_CU_UNSUPPORTED_PTX = 222,
    SPYI_CU_NOT_READY = 600,
    SPYI_CU_ILLEGAL_ADDRESS = 700,         // this error and the errors below leave the context unusable
    SPYI_CU_LAUNCH_OUT_OF_RESOURCES = 701, // after this error the context is still usable
    SPYI_CU_LAUNCH_TIMEOUT = 702,
    SPYI_CU_CONTEXT_DESTROYED = 709,
    SPYI_CU_ASSERT = 710,
    SPYI_CU_HARDWARE_STACK_ERROR = 714,
    SPYI_CU_ILLEGAL_INSTRUCTION = 715,
    SPYI_CU_MISALIGNED_ADDRESS = 716,
    SPYI_CU_INVALID_ADDRESS_SPACE = 717,
    SPYI_CU_INVALID_PC = 718,
    SPYI_CU_LAUNCH_FAILED = 719,
    SPYI_CU_ECC_UNCORRECTABLE = 214,
    SPYI_CU_NVLINK_UNCORRECTABLE = 220
};

enum { // These are values of CUdevice_attribute.
    SPYI_CU_MAX_THREADS_PER_BLOCK = 1,
    SPYI_CU_MAX_GRID_DIM_X = 5,
    SPYI_CU_WARP_SIZE = 10,
    SPYI_CU_MULTIPROCESSORS = 16,
    SPYI_CU_INTEGRATED = 18,
    SPYI_CU_CAN_MAP_HOST_MEMORY = 19,
    SPYI_CU_UNIFIED_ADDRESSING = 41,
    SPYI_CU_CAPABILITY_MAJOR = 75,
    SPYI_CU_CAPABILITY_MINOR = 76,
    SPYI_CU_MAX_SHARED_BYTES = 97 // shared memory of a group, static and dynamic, if its function asks for
                                  // the most
};

enum { // These are values of several enumerations of the driver.
    SPYI_CU_STREAM_NON_BLOCKING = 1,
    SPYI_CU_CAPTURE_RELAXED = 2, // a value of CUstreamCaptureMode
    SPYI_CU_EVENT_DEFAULT = 0,
    SPYI_CU_EVENT_DISABLE_TIMING = 2,
    SPYI_CU_HOST_ALLOC_PORTABLE = 1,
    SPYI_CU_HOST_ALLOC_MAPPED = 2,
    SPYI_CU_POINTER_MEMORY_TYPE = 2,
    SPYI_CU_POINTER_DEVICE_ORDINAL = 9,
    SPYI_CU_POINTER_RANGE_START = 11,
    SPYI_CU_POINTER_RANGE_SIZE = 12,
    SPYI_CU_MEMORY_TYPE_HOST = 1,
    SPYI_CU_MEMORY_TYPE_DEVICE = 2,
    SPYI_CU_FUNC_MAX_THREADS = 0,
    SPYI_CU_FUNC_SHARED_BYTES = 1, // the size of static shared memory
    SPYI_CU_FUNC_REGISTERS = 4,
    SPYI_CU_FUNC_MAX_DYNAMIC_SHARED_BYTES = 8,
    SPYI_CU_MEMORY_TYPE_ARRAY = 3,
    SPYI_CU_ARRAY_LAYERED = 1, // a flag of CUDA_ARRAY3D_*
    SPYI_CU_ARRAY_SURFACE = 2,
    SPYI_CU_ARRAY_CUBEMAP = 4,
    SPYI_CU_RESOURCE_ARRAY = 0, // a value of CUresourcetype
    SPYI_CU_RESOURCE_MIPMAPPED = 1,
    SPYI_CU_ADDRESS_CLAMP = 1,   // a value of CUaddress_mode
    SPYI_CU_TEXTURE_INTEGER = 1, // a flag of CU_TRSF_*
    SPYI_CU_TEXTURE_NORMALIZED = 2,
    SPYI_CU_TEXTURE_SRGB = 16,
    SPYI_CU_TEXTURE_SEAMLESS = 64
};

typedef struct spyi_cu_array_desc { // The driver calls it CUDA_ARRAY3D_DESCRIPTOR.
    size_t width, height, depth;
    int format;
    unsigned channels, flags;
} spyi_cu_array_desc;

typedef struct spyi_cu_resource_desc { // The driver calls it CUDA_RESOURCE_DESC; this is the form for arrays.
    int type;
    void *array; // a CUarray or CUmipmappedArray
    int others[30];
    unsigned flags;
} spyi_cu_resource_desc;

typedef struct spyi_cu_texture_desc { // The driver calls it CUDA_TEXTURE_DESC.
    int address[3], filter;
    unsigned flags, max_anisotropy;
    int mip_filter;
    float bias, min_level, max_level, border[4];
    int reserved[12];
} spyi_cu_texture_desc;

typedef struct spyi_cu_view_desc { // The driver calls it CUDA_RESOURCE_VIEW_DESC.
    int format;
    size_t width, height, depth;
    unsigned first_level, last_level, first_layer, last_layer, reserved[16];
} spyi_cu_view_desc;

typedef char spyi_cu_check_images[sizeof(spyi_cu_array_desc) == 40 && sizeof(spyi_cu_resource_desc) == 144 &&
                                          sizeof(spyi_cu_texture_desc) == 104 &&
                                          sizeof(spyi_cu_view_desc) == 112
                                      ? 1
                                      : -1];

typedef struct spyi_cu_kernel_params { // The driver calls it CUDA_KERNEL_NODE_PARAMS_v1; functions without
                                       // _v2 take it.
    spyi_cu_function function;
    unsigned grid[3], block[3], shared;
    void **params, **extra;
} spyi_cu_kernel_params;

typedef struct spyi_cu_copy_end { // One half of the driver's CUDA_MEMCPY3D_v2.
    size_t x_bytes, y, z, lod;
    unsigned memory_type;
    void *host;
    spyi_cu_pointer device;
    void *array, *reserved;
    size_t pitch, height;
} spyi_cu_copy_end;

typedef struct spyi_cu_copy_params { // The driver calls it CUDA_MEMCPY3D_v2.
    spyi_cu_copy_end from, to;
    size_t width_bytes, height, depth;
} spyi_cu_copy_params;

typedef struct spyi_cu_fill_params { // The driver calls it CUDA_MEMSET_NODE_PARAMS_v1.
    spyi_cu_pointer to;
    size_t pitch;
    unsigned value, element_size;
    size_t width, height; // `width` counts elements, `height` rows
} spyi_cu_fill_params;

typedef char spyi_cu_check_params[sizeof(spyi_cu_kernel_params) == 56 && sizeof(spyi_cu_copy_params) == 200 &&
                                          sizeof(spyi_cu_fill_params) == 40
                                      ? 1
                                      : -1];

// X(name, symbol, arguments): `name` is the member of spyi_cu_driver, `symbol` the driver's exported name.
#define SPYI_CU_FUNCTIONS(X)                                                                                 \
    X(Init, "cuInit", (unsigned flags))                                                                      \
    X(DriverGetVersion, "cuDriverGetVersion", (int *version))                                                \
    X(GetErrorName, "cuGetErrorName", (spyi_cu_result result, const char **name))                            \
    X(GetErrorString, "cuGetErrorString", (spyi_cu_result result, const char **text))                        \
    X(DeviceGetCount, "cuDeviceGetCount", (int *count))                                                      \
    X(DeviceGet, "cuDeviceGet", (spyi_cu_device * device, int ordinal))                                      \
    X(DeviceGetName, "cuDeviceGetName", (char *name, int size, spyi_cu_device device))                       \
    X(DeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, spyi_cu_device device))        \
    X(DeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, spyi_cu_device device))                        \
    X(PrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (spyi_cu_context * context, spyi_cu_device device))      \
    X(PrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (spyi_cu_device device))                            \
    X(CtxGetCurrent, "cuCtxGetCurrent", (spyi_cu_context * context))                                         \
    X(CtxSetCurrent, "cuCtxSetCurrent", (spyi_cu_context context))                                           \
    X(CtxPushCurrent, "cuCtxPushCurrent_v2", (spyi_cu_context context))                                      \
    X(CtxPopCurrent, "cuCtxPopCurrent_v2", (spyi_cu_context * context))                                      \
    X(CtxGetDevice, "cuCtxGetDevice", (spyi_cu_device * device))                                             \
    X(ModuleLoadData, "cuModuleLoadData", (spyi_cu_module * module, const void *image))                      \
    X(ModuleUnload, "cuModuleUnload", (spyi_cu_module module))                                               \
    X(ModuleGetFunction, "cuModuleGetFunction",                                                              \
      (spyi_cu_function * function, spyi_cu_module module, const char *name))                                \
    X(ModuleGetGlobal, "cuModuleGetGlobal_v2",                                                               \
      (spyi_cu_pointer * address, size_t * size, spyi_cu_module module, const char *name))                   \
    X(FuncGetAttribute, "cuFuncGetAttribute", (int *value, int attribute, spyi_cu_function function))        \
    X(FuncSetAttribute, "cuFuncSetAttribute", (spyi_cu_function function, int attribute, int value))         \
    X(LaunchKernel, "cuLaunchKernel",                                                                        \
      (spyi_cu_function function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,           \
       unsigned bz, unsigned shared, spyi_cu_stream stream, void **params, void **extra))                    \
    X(MemAlloc, "cuMemAlloc_v2", (spyi_cu_pointer * address, size_t size))                                   \
    X(MemFree, "cuMemFree_v2", (spyi_cu_pointer address))                                                    \
    X(MemGetInfo, "cuMemGetInfo_v2", (size_t * unused, size_t * total))                                      \
    X(MemHostAlloc, "cuMemHostAlloc", (void **memory, size_t size, unsigned flags))                          \
    X(MemFreeHost, "cuMemFreeHost", (void *memory))                                                          \
    X(MemHostGetDevicePointer, "cuMemHostGetDevicePointer_v2",                                               \
      (spyi_cu_pointer * address, void *memory, unsigned flags))                                             \
    X(MemcpyAsync, "cuMemcpyAsync",                                                                          \
      (spyi_cu_pointer to, spyi_cu_pointer from, size_t size, spyi_cu_stream stream))                        \
    X(MemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2",                                                               \
      (spyi_cu_pointer to, const void *from, size_t size, spyi_cu_stream stream))                            \
    X(MemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                                               \
      (void *to, spyi_cu_pointer from, size_t size, spyi_cu_stream stream))                                  \
    X(MemsetD32Async, "cuMemsetD32Async",                                                                    \
      (spyi_cu_pointer to, unsigned value, size_t count, spyi_cu_stream stream))                             \
    X(Memcpy3DAsync, "cuMemcpy3DAsync_v2", (const spyi_cu_copy_params *copy, spyi_cu_stream stream))         \
    X(Array3DCreate, "cuArray3DCreate_v2", (void **array, const spyi_cu_array_desc *desc))                   \
    X(ArrayDestroy, "cuArrayDestroy", (void *array))                                                         \
    X(MipmappedArrayCreate, "cuMipmappedArrayCreate",                                                        \
      (void **array, const spyi_cu_array_desc *desc, unsigned levels))                                       \
    X(MipmappedArrayGetLevel, "cuMipmappedArrayGetLevel", (void **array, void *of, unsigned level))          \
    X(MipmappedArrayDestroy, "cuMipmappedArrayDestroy", (void *array))                                       \
    X(TexObjectCreate, "cuTexObjectCreate",                                                                  \
      (uint64_t * object, const spyi_cu_resource_desc *resource, const spyi_cu_texture_desc *desc,           \
       const spyi_cu_view_desc *view))                                                                       \
    X(TexObjectDestroy, "cuTexObjectDestroy", (uint64_t object))                                             \
    X(SurfObjectCreate, "cuSurfObjectCreate", (uint64_t * object, const spyi_cu_resource_desc *resource))    \
    X(SurfObjectDestroy, "cuSurfObjectDestroy", (uint64_t object))                                           \
    X(StreamCreate, "cuStreamCreate", (spyi_cu_stream * stream, unsigned flags))                             \
    X(StreamDestroy, "cuStreamDestroy_v2", (spyi_cu_stream stream))                                          \
    X(StreamIsCapturing, "cuStreamIsCapturing", (spyi_cu_stream stream, int *state))                         \
    X(ThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode", (int *mode))                     \
    X(StreamSynchronize, "cuStreamSynchronize", (spyi_cu_stream stream))                                     \
    X(StreamWaitEvent, "cuStreamWaitEvent", (spyi_cu_stream stream, spyi_cu_event event, unsigned flags))    \
    X(StreamGetCtx, "cuStreamGetCtx", (spyi_cu_stream stream, spyi_cu_context * context))                    \
    X(EventCreate, "cuEventCreate", (spyi_cu_event * event, unsigned flags))                                 \
    X(EventDestroy, "cuEventDestroy_v2", (spyi_cu_event event))                                              \
    X(EventRecord, "cuEventRecord", (spyi_cu_event event, spyi_cu_stream stream))                            \
    X(EventQuery, "cuEventQuery", (spyi_cu_event event))                                                     \
    X(EventSynchronize, "cuEventSynchronize", (spyi_cu_event event))                                         \
    X(EventElapsedTime, "cuEventElapsedTime", (float *ms, spyi_cu_event from, spyi_cu_event to))             \
    X(PointerGetAttribute, "cuPointerGetAttribute", (void *value, int attribute, spyi_cu_pointer pointer))   \
    X(PointerGetAttributes, "cuPointerGetAttributes",                                                        \
      (unsigned count, const int *attributes, void **values, spyi_cu_pointer pointer))                       \
    X(GraphCreate, "cuGraphCreate", (spyi_cu_graph * graph, unsigned flags))                                 \
    X(GraphDestroy, "cuGraphDestroy", (spyi_cu_graph graph))                                                 \
    X(GraphAddKernelNode, "cuGraphAddKernelNode",                                                            \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count,                   \
       const spyi_cu_kernel_params *params))                                                                 \
    X(GraphAddMemcpyNode, "cuGraphAddMemcpyNode",                                                            \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count,                   \
       const spyi_cu_copy_params *params, spyi_cu_context context))                                          \
    X(GraphAddMemsetNode, "cuGraphAddMemsetNode",                                                            \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count,                   \
       const spyi_cu_fill_params *params, spyi_cu_context context))                                          \
    X(GraphAddEmptyNode, "cuGraphAddEmptyNode",                                                              \
      (spyi_cu_node * node, spyi_cu_graph graph, const spyi_cu_node *before, size_t count))                  \
    X(GraphInstantiate, "cuGraphInstantiateWithFlags",                                                       \
      (spyi_cu_exec * exec, spyi_cu_graph graph, unsigned long long flags))                                  \
    X(GraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams",                                        \
      (spyi_cu_exec exec, spyi_cu_node node, const spyi_cu_kernel_params *params))                           \
    X(GraphExecDestroy, "cuGraphExecDestroy", (spyi_cu_exec exec))                                           \
    X(GraphLaunch, "cuGraphLaunch", (spyi_cu_exec exec, spyi_cu_stream stream))

typedef struct spyi_cu_driver {
    void *library; // stays open, because contexts may outlive the device
    int version;   // CUDA's version; 13000 means CUDA 13.0
#define SPYI_CU_MEMBER(name, symbol, arguments) spyi_cu_result(SPYI_CU_CALL *name) arguments;
    SPYI_CU_FUNCTIONS(SPYI_CU_MEMBER)
#undef SPYI_CU_MEMBER
} spyi_cu_driver;

// The oldest driver that has all symbols and loads cubins of the NVRTC of its own version.
#define SPYI_CU_LEAST_VERSION 11040

#endif // SPYI_CUDA_DRIVER_API_H
