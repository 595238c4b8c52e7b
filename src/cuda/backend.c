// The CUDA backend's table of functions.
#include "cuda/internal.h"

static const spyi_image_functions spyi_cuda_images = {
    spyi_cuda_image_support,   spyi_cuda_create_image, spyi_cuda_destroy_image,
    spyi_cuda_create_view,     spyi_cuda_destroy_view, spyi_cuda_create_sampler,
    spyi_cuda_destroy_sampler, spyi_cuda_add_handle,   spyi_cuda_remove_handle,
};

// The members are in the order of struct spyi_backend, the work functions in the order of spyi_work_number.
// clang-format off
static const struct spyi_backend spyi_cuda_table = {
    "cuda",
    spyi_cuda_enumerate,
    spyi_cuda_create,
    spyi_cuda_destroy,
    spyi_cuda_allocate_chunk,
    spyi_cuda_free_chunk,
    spyi_cuda_compile,
    spyi_cuda_mend,
    spyi_cuda_open_compiler,
    spyi_cuda_load,
    spyi_cuda_destroy_kernel,
    {
        spyi_cuda_dispatch,
        spyi_cuda_copy,
        spyi_cuda_fill,
        spyi_cuda_upload,
        spyi_cuda_label,
        spyi_cuda_time_mark,
        spyi_cuda_time_store,
        spyi_cuda_image_bytes,
        spyi_cuda_image_copy,
        spyi_cuda_image_blit,
        spyi_cuda_image_clear,
    },
    spyi_cuda_download,
    spyi_cuda_time_begin,
    spyi_cuda_time_end,
    spyi_cuda_time_elapsed,
    spyi_cuda_finished_submit,
    spyi_cuda_submit,
    spyi_cuda_wait,
    spyi_cuda_graph_begin,
    spyi_cuda_graph_end,
    spyi_cuda_graph_change,
    spyi_cuda_graph_launch,
    spyi_cuda_graph_destroy,
    spyi_cuda_graph_pays,
    spyi_cuda_watch,
    &spyi_cuda_images,
    NULL, // CUDA has no raster
    SPYI_TARGET_CUDA,
};
// clang-format on

const spy_backend *spy_cuda_backend(void) {
    return &spyi_cuda_table;
}
