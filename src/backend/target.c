// What backends of one target share.
#include "backend/target.h"

SPYI_FN void spyi_profile_of_info(spyi_profile *profile, const spy_device_info *info) {
    profile->features = info->features;
    profile->max_group_size = info->max_group_size;
    profile->max_group_count = info->max_group_count;
}

SPYI_FN spy_status spyi_compile_as_is(spyi_context *ctx, const char *compiler, const spyi_profile *profile,
                                      const spyi_kernel_desc *desc, spyi_text *blob, spyi_text *error) {
    uint32_t failed = spyi_failed_allocations();
    (void)ctx, (void)compiler, (void)profile;
    if (desc->code_size > 0) spyi_text_add_n(blob, (const char *)desc->code, desc->code_size);
    return spyi_check_allocations(failed, SPY_OK, error);
}
