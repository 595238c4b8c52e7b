// Targets: what kernels are compiled to.
#ifndef SPYI_BACKEND_TARGET_H
#define SPYI_BACKEND_TARGET_H

#include "backend/backend.h"

// What a device's profile has of what the user sees.
SPYI_FN void spyi_profile_of_info(spyi_profile *profile, const spy_device_info *info);
// spyi_backend.compile where drivers take the code as it is.
SPYI_FN spy_status spyi_compile_as_is(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                      const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error);

#endif // SPYI_BACKEND_TARGET_H
