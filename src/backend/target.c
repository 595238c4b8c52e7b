// The table of targets, and functions for all backends of one target.
#include "backend/target.h"

// clang-format off
static const spyi_rules spyi_target_rules[SPYI_TARGET_COUNT] = {
    // SPIR-V has no bool vectors in memory. Through pointers and in push constants NVIDIA's driver sometimes
    // gets the upper half of 64-bit vectors of 3 and 4 wrong. A global block is read field by field; an
    // entry-point parameter would first be copied as a whole.
    //  suffix  text   boolean    size  aligns pads   global splits packs  wide  address typed textures unsized views arrays
    { "spv",    false, "uint",    4,    false, false, true,  true,  true,  8,    false,  true,  true,    false,  false, true },
    // CUDA's arguments lie in constant memory, and a bool is a byte. Its half4 is aligned to 4 bytes only, so
    // that it takes two accesses. Four doubles in a thread are two accesses, each of which uses every second
    // half of the cache lines. Slang makes no code for typed buffers.
    { "cu",     true,  "uint8_t", 1,    true,  true,  false, false, true,  4,    true,   false, true,    true,   true,  false },
};
// clang-format on

SPYI_FN const spyi_rules *spyi_rules_of(spyi_target target) {
    return &spyi_target_rules[target];
}

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
