// Packs: the names of calls in their lists and manifests, the notes of recorded kernels, and the message
// about a call that a pack lacks. base/archive.h has the answers, and compiler/memo.h says how a module gets
// them.
#ifndef SPYI_PLAN_PACKS_H
#define SPYI_PLAN_PACKS_H

#include "plan/plan.h"

// Returns the name of the device's kind in lists and manifests.
SPYI_FN const char *spyi_pack_target(const spy_device *device);
// Steps through the manifest of the device's pack: writes to `name` what the next line from *at on names, if it is of this
// sort ("call", "list") and for the device's kind, and moves *at, which begins at 0. Returns false at the end.
SPYI_FN bool spyi_pack_next(const spy_device *device, const char *sort, size_t *at, spyi_text *name);
// Appends the call as a line of tools/pack's list: "call m.add(x: float[], y: float[,], _result: new)".
SPYI_FN void spyi_call_text(const spy_function *function, const spyi_values *values, spyi_text *out);
// Notes a kernel in the manifest of the pack that the device records.
SPYI_FN void spyi_pack_note_kernel(const spy_function *function, const spyi_values *values, uint64_t bytes);
// Replaces an error by a message that names the call which the device's pack lacks, the nearest one that it
// has, and the line to add.
SPYI_FN spy_status spyi_pack_explain(const spy_function *function, const spyi_values *values,
                                     spyi_text *error);
// Returns whether the device runs from a pack, and whether it records one.
SPYI_FN bool spyi_is_packed(const spy_device *device);
SPYI_FN bool spyi_is_recording(const spy_device *device);
// Writes the pack of a device that environment variable SLANGPY_RECORD_PACK has made record, and logs a failure.
SPYI_FN void spyi_pack_save_at_end(spy_device *device);

#endif // SPYI_PLAN_PACKS_H
