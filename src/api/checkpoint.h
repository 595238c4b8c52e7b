// Tensors in files, in the layout of safetensors, which other programs read and write.
#ifndef SPY_API_CHECKPOINT_H
#define SPY_API_CHECKPOINT_H

#include "api/call.h"

#ifdef __cplusplus
extern "C" {
#endif

// Writes tensors to a file: spy_save_tensors(device, "net.safetensors", SPY_ARGS(spy_arg_tensor("weights", w))).
// Each argument is a tensor of scalars with a name of its own, of at most 255 bytes without quotes, backslashes
// and control characters. Waits for the work that writes the tensors. The file gets the name `path` when it is
// complete. SPY_ERROR_INVALID_ARGUMENT, SPY_ERROR_TYPE_MISMATCH: an argument is something else;
// SPY_ERROR_IO: the file cannot be written. Threads: any.
// Source: https://huggingface.co/docs/safetensors, "Format".
SPY_API spy_status spy_save_tensors(spy_device *device, const char *path, spy_args tensors);

// Reads tensors from a file in the layout of safetensors into tensors that exist: each argument receives the
// tensor of the file with its name. The file may hold others. On an error no tensor is changed. SPY_ERROR_IO:
// the file cannot be read, is cut off, or is another kind of file; SPY_ERROR_NOT_FOUND: it has no tensor of a
// name; SPY_ERROR_SHAPE_MISMATCH, SPY_ERROR_TYPE_MISMATCH: it has one of another shape or element type.
// Threads: any.
SPY_API spy_status spy_load_tensors(spy_device *device, const char *path, spy_args tensors);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_CHECKPOINT_H
