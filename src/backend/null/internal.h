// The null backend's own types and shared functions. null.c makes the device, objects.c its chunks and
// kernels, record.c logs work and executes it in order, works.c has the kinds of work, report.c writes the
// report.
#ifndef SPYI_BACKEND_NULL_INTERNAL_H
#define SPYI_BACKEND_NULL_INTERNAL_H

#include "backend/null/null.h"
#include "backend/offline.h"
#include "backend/target.h"

typedef struct spyi_null_chunk {
    uint64_t handle;
    unsigned char *data; // 256-byte aligned
    size_t size;
    void *block; // memory from malloc(); NULL means that the memory is imported
    struct spyi_null_chunk *next;
} spyi_null_chunk;

typedef struct spyi_null_kernel {
    spyi_kernel_base base; // the first member, as in every backend
    bool draws;            // the kernel was made by spyi_null_load_raster()
    spyi_raster_state state;
    char *label;
    spyi_interface iface;
    spyi_parameter *parameters; // the parameters that iface points to
    spyi_atomic pending;        // recorded dispatches that have not finished
} spyi_null_kernel;

typedef struct spyi_null_image spyi_null_image; // defined in images.c
typedef struct spyi_null_image_view spyi_null_image_view;

typedef struct spyi_null_gpu {
    spyi_gpu_base base;
    spyi_null_chunk *chunks;
    spyi_null_image *images;
    spyi_null_image_view *views;
    uint64_t last_handle;
    spyi_null_counts counts; // the member `kernels` is guarded by `lock`
    uint64_t memory_bytes;

    // The list is allocated by the process allocator, so that tests that count the calls of desc.allocator
    // see only the library's.
    spyi_null_op **ops;
    size_t op_count, op_capacity;
    size_t done_count; // the number of ops that have finished, which are the first ones
    bool no_log;

    uint64_t finished; // the number of the last finished submit
    bool open_has_work, hold, lost;
    uint64_t recorded_dispatches, time_first, time_last, time_submit;
    uint64_t marks[SPYI_TIME_SLOTS]; // time of each slot in ticks
    uint32_t label_depth;            // labels pushed and not yet popped
    int time_state;                  // 0 means never begun, 1 begun, 2 ended

    spyi_null_func func;
    void *user_data;
    spy_status (*on_kernel)(const spyi_kernel_desc *desc, void *user_data, spyi_text *error);
    spy_status (*on_raster)(const spyi_raster_desc *desc, void *user_data, spyi_text *error);
    void *on_kernel_data; // user data of both functions

    spyi_mutex lock; // guards the members below, which compile threads also use
    spyi_text own_report, *report;
    spy_status fail_status[SPYI_NULL_STEP_COUNT];
    uint32_t fail_skip[SPYI_NULL_STEP_COUNT];
} spyi_null_gpu;

static inline spyi_null_gpu *spyi_null_cast(spyi_gpu *gpu) {
    return (spyi_null_gpu *)(void *)gpu;
}

// >>images.c
SPYI_FN spy_status spyi_null_create_image(spyi_gpu *gpu, const spyi_image_desc *desc, const char *label,
                                          spyi_image *image, spyi_text *error);
SPYI_FN void spyi_null_destroy_image(spyi_gpu *gpu, spyi_image *image);
SPYI_FN spy_status spyi_null_create_view(spyi_gpu *gpu, const spyi_image *image,
                                         const spyi_image_desc *image_desc, const spyi_image_view_desc *desc,
                                         uint64_t sampler, uint64_t *view, spyi_text *error);
SPYI_FN void spyi_null_destroy_view(spyi_gpu *gpu, uint64_t view, bool stored);
SPYI_FN spy_status spyi_null_create_sampler(spyi_gpu *gpu, const spy_sampler_desc *desc, uint64_t *sampler,
                                            spyi_text *error);
SPYI_FN void spyi_null_destroy_sampler(spyi_gpu *gpu, uint64_t sampler);
SPYI_FN void spyi_null_free_images(spyi_null_gpu *n); // called at the end of the device
// Executes transitions, which must begin with the layout that each part has; and reverses them.
SPYI_FN spy_status spyi_null_transit(spyi_null_gpu *n, const spyi_before *before, spyi_text *error);
SPYI_FN void spyi_null_transit_back(spyi_null_gpu *n, const spyi_before *before);
SPYI_FN spy_status spyi_null_check_image_binding(spyi_null_gpu *n, const char *label, uint32_t number,
                                                 const spyi_binding *b, const spyi_parameter *p,
                                                 spyi_text *error);
SPYI_FN spy_status spyi_null_check_image_bytes(spyi_null_gpu *n, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_null_describe_image_bytes(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work,
                                            void *extra);
SPYI_FN void spyi_null_run_image_bytes(spyi_null_gpu *n, spyi_null_op *op);
SPYI_FN spy_status spyi_null_check_image_copy(spyi_null_gpu *n, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_null_run_image_copy(spyi_null_gpu *n, spyi_null_op *op);
SPYI_FN spy_status spyi_null_check_image_blit(spyi_null_gpu *n, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_null_run_image_blit(spyi_null_gpu *n, spyi_null_op *op);
SPYI_FN spy_status spyi_null_check_image_clear(spyi_null_gpu *n, const spyi_work *work, spyi_text *error);
SPYI_FN void spyi_null_run_image_clear(spyi_null_gpu *n, spyi_null_op *op);

// Checks that the view is a target in the layout for targets; an error names the draw.
SPYI_FN spy_status spyi_null_check_target(spyi_null_gpu *n, const char *label, uint64_t image, uint64_t view,
                                          spyi_text *error);

// >>raster.c
SPYI_FN spy_status spyi_null_load_raster(spyi_gpu *gpu, const spyi_raster_desc *desc, spyi_kernel **kernel,
                                         spyi_text *error);
SPYI_FN spy_status spyi_null_check_draw(spyi_null_gpu *n, const spyi_work *work, spyi_text *error);
SPYI_FN size_t spyi_null_draw_extra(const spyi_work *work);
SPYI_FN void spyi_null_describe_draw(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work, void *extra);
SPYI_FN void spyi_null_run_draw(spyi_null_gpu *n, spyi_null_op *op);

// >>works.c

// How the backend handles one kind of work, besides logging it.
typedef struct spyi_null_rule {
    spyi_null_op_kind kind;
    bool at_once; // `check` also executes the work, which is not logged
    // Checks the rules of backend.h. NULL means that there are none.
    spy_status (*check)(spyi_null_gpu *n, const spyi_work *work, spyi_text *error);
    size_t (*keep)(const spyi_work *work, void *bytes); // NULL means the kind's own function
    size_t (*extra)(const spyi_work *work); // the bytes that the op needs besides the work; NULL means 0
                                            // bytes
    // Fills the op, whose `work` is already the copy. NULL means nothing to fill.
    void (*describe)(spyi_null_gpu *n, spyi_null_op *op, const spyi_work *work, void *extra);
    void (*carry_out)(spyi_null_gpu *n, spyi_null_op *op); // NULL means that the work changes no memory
} spyi_null_rule;

// Returns the rule for the work. Work that the backend does not know is logged and changes nothing.
SPYI_FN const spyi_null_rule *spyi_null_rule_of(const spyi_work *work);

// Checks that the block, uniform buffers and bindings of work fit the kernel. `what` names the work in
// errors, such as "dispatch".
SPYI_FN spy_status spyi_null_check_inputs(spyi_null_gpu *n, const char *what, const spyi_null_kernel *kernel,
                                          const void *block, const spyi_binding *bindings,
                                          const spyi_uniform *uniforms, spyi_text *error);

// >>objects.c
SPYI_FN spy_status spyi_null_check_parameters(spyi_null_gpu *n, const spyi_interface *iface, spyi_text *error);
SPYI_FN spyi_null_chunk *spyi_null_find(spyi_null_gpu *n, uint64_t handle);
// Returns the host address of a range; NULL, with the broken rule in `error`, when there is no such range.
SPYI_FN unsigned char *spyi_null_range(spyi_null_gpu *n, const char *what, uint64_t handle, uint64_t offset,
                                       uint64_t size, spyi_text *error);
SPYI_FN spyi_null_chunk *spyi_null_add_chunk(spyi_null_gpu *n, void *block, unsigned char *data, size_t size);
SPYI_FN spyi_chunk spyi_null_describe(spyi_null_gpu *n, const spyi_null_chunk *c, bool mapped);
SPYI_FN spy_status spyi_null_allocate_chunk(spyi_gpu *gpu, spyi_memory memory, size_t size, const char *label,
                                            spyi_chunk *chunk, spyi_text *error);
SPYI_FN void spyi_null_free_chunk(spyi_gpu *gpu, spyi_chunk *chunk);
SPYI_FN spy_status spyi_null_load(spyi_gpu *gpu, const spyi_kernel_desc *desc, spyi_kernel **kernel,
                                  spyi_text *error);
SPYI_FN void spyi_null_destroy_kernel(spyi_gpu *gpu, spyi_kernel *kernel);

// >>record.c
SPYI_FN spy_status spyi_null_record(spyi_gpu *gpu, const spyi_work *work, spyi_text *error);
SPYI_FN bool spyi_null_overlap(uint64_t a, uint64_t a_offset, uint64_t a_size, uint64_t b, uint64_t b_offset,
                               uint64_t b_size);
SPYI_FN void spyi_null_forget_done(spyi_null_gpu *n);
SPYI_FN void spyi_null_run_up_to(spyi_null_gpu *n, uint64_t submit);
// Marks the device as lost: work is no longer executed, and nothing is waited for.
SPYI_FN void spyi_null_lose(spyi_null_gpu *n);
SPYI_FN spy_status spyi_null_lost(spyi_text *error);
SPYI_FN uint64_t spyi_null_finished_submit(spyi_gpu *gpu);
SPYI_FN spy_status spyi_null_submit(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_null_wait(spyi_gpu *gpu, uint64_t submit, uint64_t timeout_ns, spyi_text *error);
SPYI_FN spy_status spyi_null_download(spyi_gpu *gpu, void *data, const spyi_chunk *from, uint64_t offset,
                                      uint64_t size, uint64_t after, spyi_text *error);
SPYI_FN spy_status spyi_null_time_begin(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_null_time_end(spyi_gpu *gpu, spyi_text *error);
SPYI_FN spy_status spyi_null_time_elapsed(spyi_gpu *gpu, uint64_t *ns, spyi_text *error);

// >>report.c
// Reports a broken rule of backend.h: appends a line to the report, and to `error`, or to the log when
// `error` is NULL.
SPYI_FN spy_status spyi_null_broken(spyi_null_gpu *n, spyi_text *error, const char *format, ...)
    SPYI_PRINTF(3, 4);
// Returns the status with which a test has ordered this step to fail, or SPY_OK.
SPYI_FN spy_status spyi_null_step_status(spyi_null_gpu *n, spyi_null_step step, spyi_text *error);

#endif // SPYI_BACKEND_NULL_INTERNAL_H
