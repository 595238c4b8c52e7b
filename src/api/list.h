// Command lists: calls, copies and labels that are recorded once and submitted many times.
#ifndef SPY_API_LIST_H
#define SPY_API_LIST_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spy_command_list spy_command_list;

// The kind of a recorded operation.
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
    SPY_LIST_OP_KIND_TIMESTAMP,
    SPY_LIST_OP_KIND_DRAW
} spy_list_op_kind;

// One recorded operation, for spy_list_desc.on_record.
typedef struct spy_list_op {
    spy_list_op_kind kind;
    uint32_t index;   // the position in the list, from 0
    const char *name; // the name of the function, label or marker; "" for other operations. Valid during the
                      // callback
} spy_list_op;

// Options of a new list. All members may stay zero.
typedef struct spy_list_desc {
    const char *label; // the name of each submission in debug tools, and of the list in messages
    // Called after each recorded operation, from inside the recording function; it must not use the device.
    // NULL means that there is no such function.
    void (*on_record)(const spy_list_op *op, void *user_data);
    void *user_data; // handed to on_record
    uint64_t _end_canary; // must be 0, like all unset members: detects a struct that was not zeroed
} spy_list_desc;

// Creates a list and begins its recording. `desc` may be NULL. Returns NULL on failure. The caller releases
// it, or it is released with the device. A list is recorded, finished, and then submitted any number of
// times, also while earlier submissions run. It keeps the kernels and the memory of the tensors that it uses,
// so these may be released in any order. The GPU reads the tensors' contents when it executes the list, so
// they may change between submissions. A tensor that later gets other storage (spy_tensor_point_to) keeps its
// old storage in the list. Threads: any, as for all functions below.
SPY_API spy_command_list *spy_create_command_list(spy_device *device, const spy_list_desc *desc);
// Adds one reference to the list, which then needs one more release.
SPY_API void spy_retain_command_list(spy_command_list *list);
// Drops one reference; the last one frees the list. Call it before the device is released. Submitted work
// goes on. NULL is ignored. Threads: any, at any time.
SPY_API void spy_release_command_list(spy_command_list *list);

// >>recording
// An error of the functions that record leaves the list unchanged. After spy_list_finish() they return
// SPY_ERROR_INVALID_ARGUMENT.

// Records a call, with the arguments of spy_call(). Short for spy_call_with() with options.append_to = list,
// which takes further options. Numbers and host arrays are copied now. spy_out_tensor makes its tensor now,
// and each submission fills it. Results in host memory are SPY_ERROR_UNSUPPORTED.
SPY_API spy_status spy_list_call(spy_command_list *list, spy_function *function, spy_args args);
// Records a copy of all elements. The two tensors must have the same shape and type, be contiguous, and not
// share bytes.
SPY_API spy_status spy_list_copy(spy_command_list *list, spy_tensor *to, spy_tensor *from);
// Records spy_tensor_fill() of a contiguous tensor.
SPY_API spy_status spy_list_fill(spy_command_list *list, spy_tensor *tensor, double value);
// Records spy_tensor_write() of a contiguous tensor. The list copies the data now and keeps it in device
// memory.
SPY_API spy_status spy_list_write(spy_command_list *list, spy_tensor *tensor, const void *data,
                                  size_t size_bytes);
// Records that all earlier work ends before later work begins. Work on the same tensors never needs it,
// because the library keeps its order.
SPY_API spy_status spy_list_barrier(spy_command_list *list);
// Record names for debug tools (RenderDoc, Nsight): push and pop name the operations between them, a marker
// names a point.
SPY_API spy_status spy_list_push_label(spy_command_list *list, const char *name);
SPY_API spy_status spy_list_pop_label(spy_command_list *list);
SPY_API spy_status spy_list_marker(spy_command_list *list, const char *name);
// Records a timestamp: the GPU's time when all operations before it are done. Operations after it may have
// begun by then, unless spy_list_barrier() follows. A list has at most 1,024 timestamps.
// SPY_ERROR_UNSUPPORTED without SPY_FEATURE_TIMESTAMPS.
SPY_API spy_status spy_list_timestamp(spy_command_list *list);

// Ends the recording. All labels must have been popped.
SPY_API spy_status spy_list_finish(spy_command_list *list);

// >>submitting

// Runs all operations in order, as if they were called one after another now, with barriers where memory
// needs them. As with calls, the library decides when the GPU gets the work; spy_flush() submits the rest and
// returns the id to wait for. When an operation fails, the error names it, and the operations before it have
// been done.
// Cost: below 0.5 us for a recorded call; nothing is allocated. On CUDA the second submission makes a CUDA
// graph of the list, unless it holds an indirect dispatch; from then on a submission is one launch, and work
// that shares no memory may run side by side.
SPY_API spy_status spy_list_submit(spy_command_list *list);

// Changes values of a recorded call from the next submission on; submitted work keeps the old values. `call`
// is the call's number in the finished list, from 0 (spy_list_info.call_count just before the call was
// recorded). `args` are the values to change, by name, or by position as in a call; parts of structs that were
// given by their fields, and global shader parameters, by path ("light.color"). These can be changed: numbers, host arrays and host data
// that feed one value, and random generators. The new value must have the same shape and a type that the
// parameter takes. On an error nothing is changed. SPY_ERROR_NOT_FOUND: the call has no such value;
// SPY_ERROR_TYPE_MISMATCH: the value is of another kind; SPY_ERROR_OUT_OF_RANGE: the list has no such call,
// or a number does not fit.
// Cost: nothing is allocated unless a host array is converted.
SPY_API spy_status spy_list_set(spy_command_list *list, uint32_t call, spy_args args);

// Reads the timestamps of the last submission into times_ns (`count` elements), in the order of recording.
// They are nanoseconds since an unspecified moment that is the same for all lists of the device. `count` must
// be spy_list_info.timestamp_count. Waits for that submission.
SPY_API spy_status spy_list_read_timestamps(spy_command_list *list, uint64_t *times_ns, size_t count);

// The contents and state of a list.
typedef struct spy_list_info {
    uint32_t op_count;        // recorded operations
    uint32_t call_count;      // recorded calls; a call may be several operations, or none if it has no
                              // elements
    uint32_t timestamp_count; // recorded timestamps
    bool finished;
    uint64_t submit_count;    // submissions so far
    bool graph;               // each submission is one launch of a CUDA graph
} spy_list_info;

// Returns the contents and state of a list. NULL or a released list: all zero, and an error for
// spy_take_error(NULL).
SPY_API spy_list_info spy_get_list_info(spy_command_list *list);

// >>lists in packs
//
// A program that is shipped can load a recorded list from its pack (api/pack.h), and then knows nothing of it but
// the names, types and sizes of its tensors:
//
//     spy_save_list(list, "blur", SPY_ARGS(spy_arg_tensor("image", a), spy_arg_tensor("result", b)));
//     spy_save_pack(device, "app.pack");        // on a device with desc.record_pack
//
//     list = spy_load_list(device, "blur", SPY_ARGS(spy_arg_tensor("image", c), spy_arg_tensor("result", d)));
//     spy_list_submit(list);                    // on a device with desc.pack, as often as one likes
//
// Saved are calls and dispatches with all their options, backward calls too; copies, fills and writes of tensors;
// barriers, labels, markers and timestamps. Numbers, host arrays, bytes and generators keep the values that they
// were recorded with; spy_list_set() changes them in the loaded list, which counts its calls as the recorded one
// does. Draws, operations on textures, textures and samplers as arguments, addresses and handles in numbers and
// bytes, and functions of spy_fuse_end() cannot be saved.

// Puts a finished list into the pack that its device records, under a name that no other list of the pack has.
// `tensors` names the tensors that the list uses, each by spy_arg_tensor(): all that another program is to
// provide, and those that it is to get of the tensors that calls of the list make (spy_out_tensor). Gradients
// and views need no names of their own: they are found as those of the tensors given. SPY_ERROR_UNSUPPORTED: the
// device does not record a pack, or the list has something that cannot be saved, which the message names;
// SPY_ERROR_NOT_FOUND: the list uses a tensor that is not given, or does not use one that is;
// SPY_ERROR_INVALID_ARGUMENT: the list is not finished, or the name is taken. Threads: any.
SPY_API spy_status spy_save_list(spy_command_list *list, const char *name, spy_args tensors);

// Records a saved list again, as a finished list on the tensors given: each name of spy_save_list() once, by
// spy_arg_tensor(); or by spy_out_tensor() where a call of the list makes the tensor, which may also be left
// out. A tensor must have the element type and rank that it was recorded with. Its sizes may differ where the
// list only calls functions with it, copies it or fills it; where the list dispatches over it, writes data to
// it or uses a part of it, sizes (and, of a part, strides) must be those recorded. The device's pack must
// have what the list calls; it needs no modules from the program. The caller releases it, or it is released
// with the device. Returns NULL on failure, and no tensor is set: SPY_ERROR_UNSUPPORTED: the device has no
// pack; SPY_ERROR_NOT_FOUND: the pack has no such list, or a tensor is missing or has an unknown name;
// SPY_ERROR_TYPE_MISMATCH, SPY_ERROR_SHAPE_MISMATCH: a tensor does not fit; else an error of the call that
// failed. Threads: any. Cost: that of recording.
SPY_API spy_command_list *spy_load_list(spy_device *device, const char *name, spy_args tensors);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_LIST_H
