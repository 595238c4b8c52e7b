// The kinds of work on images, and functions that copy such work for later use.
#include "backend/image.h"

static void spyi_visit_image(const spyi_work_visitor *v, uint64_t *image) {
    if (v->image) v->image(v->user, image);
}

// >>bytes

static size_t spyi_keep_image_bytes(const spyi_work *work, void *bytes) {
    if (bytes) memcpy(bytes, work, sizeof(spyi_image_bytes_work));
    return sizeof(spyi_image_bytes_work);
}

static void spyi_visit_image_bytes(spyi_work *work, const spyi_work_visitor *v) {
    spyi_image_bytes_work *w = (spyi_image_bytes_work *)(void *)work;
    spyi_visit_image(v, &w->image);
    v->memory(v->user, &w->chunk, &w->offset);
}

SPYI_FN const spyi_work_kind *spyi_work_image_bytes(void) {
    static const spyi_work_kind kind = { SPYI_WORK_IMAGE_BYTES, "copy of texels and bytes",
                                         spyi_keep_image_bytes, spyi_visit_image_bytes };
    return &kind;
}

// >>copies

SPYI_FN bool spyi_image_copies_within(const spyi_image_copy_work *copy) {
    const spyi_image_box *a = &copy->to_box, *b = &copy->from_box;
    return copy->to == copy->from && a->level == b->level &&
           a->first_layer < b->first_layer + b->layer_count &&
           b->first_layer < a->first_layer + a->layer_count;
}

static size_t spyi_keep_image_copy(const spyi_work *work, void *bytes) {
    if (bytes) memcpy(bytes, work, sizeof(spyi_image_copy_work));
    return sizeof(spyi_image_copy_work);
}

static void spyi_visit_image_copy(spyi_work *work, const spyi_work_visitor *v) {
    spyi_image_copy_work *w = (spyi_image_copy_work *)(void *)work;
    spyi_visit_image(v, &w->to);
    spyi_visit_image(v, &w->from);
}

SPYI_FN const spyi_work_kind *spyi_work_image_copy(void) {
    static const spyi_work_kind kind = { SPYI_WORK_IMAGE_COPY, "copy of texels", spyi_keep_image_copy,
                                         spyi_visit_image_copy };
    return &kind;
}

// >>blits

static size_t spyi_keep_image_blit(const spyi_work *work, void *bytes) {
    if (bytes) memcpy(bytes, work, sizeof(spyi_image_blit_work));
    return sizeof(spyi_image_blit_work);
}

static void spyi_visit_image_blit(spyi_work *work, const spyi_work_visitor *v) {
    spyi_image_blit_work *w = (spyi_image_blit_work *)(void *)work;
    spyi_visit_image(v, &w->to);
    spyi_visit_image(v, &w->from);
}

SPYI_FN const spyi_work_kind *spyi_work_image_blit(void) {
    static const spyi_work_kind kind = { SPYI_WORK_IMAGE_BLIT, "blit", spyi_keep_image_blit,
                                         spyi_visit_image_blit };
    return &kind;
}

// >>clears

static size_t spyi_keep_image_clear(const spyi_work *work, void *bytes) {
    if (bytes) memcpy(bytes, work, sizeof(spyi_image_clear_work));
    return sizeof(spyi_image_clear_work);
}

static void spyi_visit_image_clear(spyi_work *work, const spyi_work_visitor *v) {
    spyi_visit_image(v, &((spyi_image_clear_work *)(void *)work)->image);
}

SPYI_FN const spyi_work_kind *spyi_work_image_clear(void) {
    static const spyi_work_kind kind = { SPYI_WORK_IMAGE_CLEAR, "clear of texels", spyi_keep_image_clear,
                                         spyi_visit_image_clear };
    return &kind;
}
