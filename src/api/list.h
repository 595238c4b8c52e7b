// Command lists: calls, copies and marks recorded once and submitted many times.
#ifndef SPY_API_LIST_H
#define SPY_API_LIST_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_command_list spy_command_list;

// What was recorded.
typedef enum spy_list_op_kind {
    SPY_LIST_OP_KIND_NONE = 0,
    SPY_LIST_OP_KIND_CALL,
    SPY_LIST_OP_KIND_COPY,
    SPY_LIST_OP_KIND_FILL,
    SPY_LIST_OP_KIND_WRITE,
    SPY_LIST_OP_KIND_BARRIER,
    SPY_LIST_OP_KIND_PUSH_LABEL,
    SPY_LIST_OP_KIND_POP_LABEL,
    SPY_LIST_OP_KIND_MARKER,
    SPY_LIST_OP_KIND_TIMESTAMP
} spy_list_op_kind;

// One recorded operation, for spy_list_desc.on_record.
typedef struct spy_list_op {
    spy_list_op_kind kind;
    uint32_t index;   // in the list, from 0
    const char *name; // function, label or marker; "" for others. Valid during the callback
} spy_list_op;

// How a list is begun. All may stay zero.
typedef struct spy_list_desc {
    const char *label; // name in debug tools, round each submission, and in messages
    // Called after each recorded operation, from inside the recording function: it must not use the device. NULL: none.
    void (*on_record)(const spy_list_op *op, void *user_data);
    void *user_data; // handed to on_record
    uint64_t _end_canary; // must be 0, as all that is not set: finds a struct that was not zeroed
} spy_list_desc;

// Begin a list. `desc` may be NULL. NULL on failure. Released by the caller, or with the device.
// A list is recorded, finished, then submitted any number of times, also while earlier submissions run. It keeps the
// memory of all tensors and the kernels it uses, so that these may be released in any order. Contents are read when the
// GPU comes to it: tensors may change between submissions. A tensor that is pointed elsewhere later
// (spy_tensor_point_to) stays what it was in the list.
// Threads: any, as for all functions below.
SPY_API spy_command_list *spy_create_command_list(spy_device *device, const spy_list_desc *desc);
// One more holder of the list, which then needs one more release.
SPY_API void spy_retain_command_list(spy_command_list *list);
// Before the device is released, as all uses of its objects. Threads: any, at any time; submitted work goes on. NULL is ignored.
SPY_API void spy_release_command_list(spy_command_list *list);

// >>recording: errors leave the list as it was. After spy_list_finish() it is SPY_ERROR_INVALID_ARGUMENT.

// Record what spy_call() would do. Short for spy_call_with() with options.append_to = list, which takes further options.
// Numbers and host arrays are taken now. spy_out_tensor makes its tensor now, and each submission fills it. Results to host
// memory are SPY_ERROR_UNSUPPORTED.
SPY_API spy_status spy_list_call(spy_command_list *list, spy_function *function, spy_args args);
// Record a copy of all elements. Both have the same shape and type, are contiguous, and do not share bytes.
SPY_API spy_status spy_list_copy(spy_command_list *list, spy_tensor *to, spy_tensor *from);
// Record spy_tensor_fill() of a contiguous tensor.
SPY_API spy_status spy_list_fill(spy_command_list *list, spy_tensor *tensor, double value);
// Record spy_tensor_write() of a contiguous tensor; the list keeps the data, in device memory, as they are now.
SPY_API spy_status spy_list_write(spy_command_list *list, spy_tensor *tensor, const void *data,
                                  size_t size_bytes);
// Record that all earlier work ends before later work begins. Tensors never need it: their order is kept anyway.
SPY_API spy_status spy_list_barrier(spy_command_list *list);
// Record names for debug tools (RenderDoc, Nsight): of the operations between push and pop, or of a point.
SPY_API spy_status spy_list_push_label(spy_command_list *list, const char *name);
SPY_API spy_status spy_list_pop_label(spy_command_list *list);
SPY_API spy_status spy_list_marker(spy_command_list *list, const char *name);
// Record a GPU time: when all operations before it are done, though those after it may have begun unless
// spy_list_barrier() follows. At most 1,024 in a list; SPY_ERROR_UNSUPPORTED without SPY_FEATURE_TIMESTAMPS.
SPY_API spy_status spy_list_timestamp(spy_command_list *list);

// End the recording. All labels must have been popped.
SPY_API spy_status spy_list_finish(spy_command_list *list);

// >>submitting

// Do all operations in order, as if called one after another now, with barriers where memory needs them. The GPU gets
// them as it gets calls; spy_flush() hands over the rest and gives the id to wait for. An error part of the way says
// which operation it was; those before it were done.
// Cost: below 0.5 us for a recorded call, nothing is allocated. On CUDA the second submission makes a CUDA graph of
// the list, unless it holds an indirect dispatch; from then on a submission is one launch, and work that shares no
// memory may run side by side.
SPY_API spy_status spy_list_submit(spy_command_list *list);

// Change values of a recorded call, from the next submission on; submitted work keeps the old ones. `call`: its number
// among the finished list's calls, from 0; before it was recorded, that was spy_list_info.call_count. `args`: the values
// to change, by name, or by position as in a call; parts of structs, and global shader parameters, by path
// ("light.color"). Numbers, host arrays and host data that feed one value, and random generators can be changed, into
// others of the same shape whose types the parameter takes. All or nothing. SPY_ERROR_NOT_FOUND: no such value;
// SPY_ERROR_TYPE_MISMATCH: it is of another kind; SPY_ERROR_OUT_OF_RANGE: no such call, or a number that does not fit.
// Cost: nothing is allocated unless a host array is converted.
SPY_API spy_status spy_list_set(spy_command_list *list, uint32_t call, spy_args args);

// The times of the last submission, in the order of recording, in nanoseconds since an unknown moment that is the same for
// all lists of the device; `count` must be spy_list_info.timestamp_count. Waits for that submission.
SPY_API spy_status spy_list_read_timestamps(spy_command_list *list, uint64_t *times_ns, size_t count);

// What a list holds.
typedef struct spy_list_info {
    uint32_t op_count;        // recorded operations
    uint32_t call_count;      // recorded calls; one may be several operations, or none if it has no elements
    uint32_t timestamp_count; // recorded timestamps
    bool finished;
    uint64_t submit_count;    // submissions so far
    bool graph;               // submissions are launches of one CUDA graph
} spy_list_info;

// NULL or a released list: all zero, and an error for spy_take_error(NULL).
SPY_API spy_list_info spy_get_list_info(spy_command_list *list);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_LIST_H
