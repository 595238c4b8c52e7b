// The function table of the Vulkan backend.
#include "vk/internal.h"

static const spyi_image_functions spyi_vk_images = {
    spyi_vk_image_support,     spyi_vk_create_image,       spyi_vk_destroy_image,
    spyi_vk_create_image_view, spyi_vk_destroy_image_view, spyi_vk_create_sampler,
    spyi_vk_destroy_sampler,   spyi_vk_add_handle,         spyi_vk_remove_handle,
};

static const spyi_raster_functions spyi_vk_raster_functions = { spyi_vk_load_raster };

// The members are in the order of struct spyi_backend, the functions for work in that of spyi_work_number.
// clang-format off
static const struct spyi_backend spyi_vk_table = {
    "vulkan",
    spyi_vk_enumerate,
    spyi_vk_create,
    spyi_vk_destroy,
    spyi_vk_allocate_chunk,
    spyi_vk_free_chunk,
    spyi_compile_as_is,
    NULL, // the compiler itself repairs SPIR-V
    NULL, // no compiler to open
    spyi_vk_load,
    spyi_vk_destroy_kernel,
    {
        spyi_vk_dispatch,
        spyi_vk_copy,
        spyi_vk_fill,
        spyi_vk_upload,
        spyi_vk_label,
        spyi_vk_time_mark,
        spyi_vk_time_store,
        spyi_vk_image_bytes,
        spyi_vk_image_copy,
        spyi_vk_image_blit,
        spyi_vk_image_clear,
        spyi_vk_draw,
    },
    spyi_vk_download,
    spyi_vk_time_begin,
    spyi_vk_time_end,
    spyi_vk_time_elapsed,
    spyi_vk_finished_submit,
    spyi_vk_submit,
    spyi_vk_wait,
    NULL, // these six are NULL because Vulkan has no graphs: each submission records its command buffer anew
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL, // Vulkan has no streams of the program
    &spyi_vk_images,
    &spyi_vk_raster_functions,
    SPYI_TARGET_SPIRV,
};
// clang-format on

const spy_backend *spy_vk_backend(void) {
    return &spyi_vk_table;
}
