// Packs: what a program calls, compiled ahead of time, in one file or array, so that the program runs without the Slang
// compiler, without NVRTC, and without Slang files.
//
//     desc.record_pack = true;                      // on the developer's machine, and desc.offline where there is no GPU
//     ... load modules and make the calls ...
//     spy_save_pack(device, "app.pack");
//
//     desc.pack = "app.pack";                       // in the program that is shipped; the rest of it is the same
//
// A pack has modules by their names (spy_module_desc.name, else the file's name) with their options, and calls by the
// kinds and types of their arguments, as the cache of compiled calls has. Shapes, strides and offsets may differ from
// those that were recorded. Command lists can lie in a pack, too (spy_save_list). A module or a call that the pack lacks is SPY_ERROR_NO_COMPILER; the message has the line of
// tools/pack's list that adds it.
#ifndef SPY_API_PACK_H
#define SPY_API_PACK_H

#include "api/device.h"

#ifdef __cplusplus
extern "C" {
#endif

// Writes what a device with desc.record_pack has recorded since it was created. If there is a pack at `path`,
// it gets what it does not have yet, so that one file serves several backends. Returns SPY_ERROR_UNSUPPORTED
// for a device that does not record; SPY_ERROR_INVALID_ARGUMENT without a path, or when a file is there that
// is no pack of this version; SPY_ERROR_IO when the file cannot be read or written: then it is as it was.
// Several processes may add to one pack. Threads: any.
SPY_API spy_status spy_save_pack(spy_device *device, const char *path);

// Copies the manifest of the device's pack, a text with a line for each module, architecture, call and list: fields with
// tabs between them, "call", the target, the call, its kernels and their bytes. Returns the size of the text in bytes without
// its NUL, and writes at most `capacity` bytes; `text` may be NULL when `capacity` is 0. 0 without a pack. Threads: any.
SPY_API size_t spy_get_pack_manifest(spy_device *device, char *text, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif // SPY_API_PACK_H
