// Copies texels from and to host memory, tensors and other textures; clears, blits, mips and resolves.
//
// Each operation becomes work with its uses, which goes to the device's queue or to a command list (a sink). Host data
// go through blocks of the pool: an upload and a copy on the device, or a copy on the device and a download.
#include "data/texture.h"
#include "data/device.h"

// >>sinks

static spy_status spyi_texture_record_now(void *object, spyi_work *work, const spyi_use *uses, uint32_t count,
                                          spyi_text *error) {
    return spyi_record_with((spy_device *)object, work, uses, count, false, error);
}

static spyi_texture_sink spyi_texture_queue(spy_device *device) {
    spyi_texture_sink sink;
    sink.record = spyi_texture_record_now;
    sink.object = device;
    return sink;
}

// >>regions

// The sizes of rows and slices of a box of texels without gaps.
typedef struct spyi_texel_sizes {
    uint64_t row, slice; // the bytes of a row of blocks, and of a slice
    uint32_t rows;       // the number of rows of blocks in a slice
    uint32_t slices;     // the number of slices of all layers
} spyi_texel_sizes;

static spyi_texel_sizes spyi_box_sizes(uint32_t format, const spyi_image_box *box) {
    spyi_texel_sizes sizes;
    const spy_format_info *f = spyi_format(format);
    sizes.row = spyi_texels_size(format, box->width, 1, 1, 1);
    sizes.rows = (box->height + f->block_height - 1) / f->block_height;
    sizes.slice = sizes.row * sizes.rows;
    sizes.slices = box->depth * box->layer_count;
    return sizes;
}

// Checks one dimension of a region: its first texel and its size; a size of 0 becomes the number of texels
// that are left.
static bool spyi_region_fits(const char *name, uint32_t at, uint32_t *size, uint32_t most, uint32_t block,
                             spyi_text *error) {
    if (at >= most || *size > most - at) {
        spyi_text_add(error, "the region's %s %u to %llu are not within the level's %u", name, at,
                      (unsigned long long)at + (*size ? *size : 1) - 1, most);
        return false;
    }
    if (*size == 0) *size = most - at;
    if (at % block == 0 && (*size % block == 0 || at + *size == most)) return true;
    spyi_text_add(
        error,
        "the region's %s %u to %u are no whole blocks: they begin and end at multiples of %u, or at "
        "the level's end",
        name, at, at + *size - 1, block);
    return false;
}

// Makes a box of the image from a region of the texture; NULL means all of level 0.
static spy_status spyi_region_box(const spy_texture *t, const spy_texture_region *region, spyi_image_box *box,
                                  spyi_text *error) {
    const spyi_image_view_desc *part = &t->part;
    const spyi_image_desc *d = &t->image->desc;
    const spy_format_info *f = spyi_format(part->format);
    spy_texture_region all;
    memset(&all, 0, sizeof all);
    if (!region) region = &all;
    if (region->level >= part->level_count) {
        spyi_text_add(error, "the region's level %u is not one of the texture's %u", region->level,
                      part->level_count);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    if (region->layer >= part->layer_count || region->layer_count > part->layer_count - region->layer) {
        spyi_text_add(error, "the region's layers %u to %llu are not within the texture's %u", region->layer,
                      (unsigned long long)region->layer + (region->layer_count ? region->layer_count : 1) - 1,
                      part->layer_count);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    box->level = part->first_level + region->level;
    box->first_layer = part->first_layer + region->layer;
    box->layer_count = region->layer_count ? region->layer_count : part->layer_count - region->layer;
    box->x = region->x, box->y = region->y, box->z = region->z;
    box->width = region->width, box->height = region->height, box->depth = region->depth;
    if (spyi_region_fits("columns", box->x, &box->width, spyi_level_size(d->width, box->level),
                         f->block_width, error) &&
        spyi_region_fits("rows", box->y, &box->height, spyi_level_size(d->height, box->level),
                         f->block_height, error) &&
        spyi_region_fits("slices", box->z, &box->depth, spyi_level_size(d->depth, box->level), 1, error))
        return SPY_OK;
    return SPY_ERROR_OUT_OF_RANGE;
}

// Returns the use of whole subresources by a copy. The box counts its levels and layers in the image.
static spyi_use spyi_box_use(const spy_texture *t, const spyi_image_box *box, uint32_t how) {
    return spyi_texture_layer_use(t, box->level - t->part.first_level, box->first_layer - t->part.first_layer,
                                  box->layer_count, SPYI_USE_COPIED | how);
}

// Texels of multisampled textures and of textures with stencil cannot be copied to other memory in one piece.
static spy_status spyi_check_plain(const spy_texture *t, spyi_text *error) {
    const spy_format_info *f = spyi_format(t->part.format);
    if (t->image->desc.samples > 1) {
        spyi_texture_text(t, error);
        spyi_text_add(error,
                      " has %u samples: resolve it into a plain texture (spy_texture_resolve), which can "
                      "be read and written",
                      t->image->desc.samples);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!f->has_stencil) return SPY_OK;
    spyi_text_add(error, "texels of %s have depth and stencil, which do not lie in memory in one piece",
                  f->name);
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_check_other(const spy_texture *t, const spy_texture *other, const char *name,
                                   spyi_text *error) {
    if (spyi_is_on(t->object.device, other, SPYI_KIND_TEXTURE)) return SPY_OK;
    spyi_text_add(error, "'%s': ", name);
    return spyi_object_problem(other, SPYI_KIND_TEXTURE, error);
}

// >>blocks of memory beside the texels

// Returns what offsets of texels in a chunk must be multiples of.
static uint64_t spyi_texel_alignment(uint32_t format) {
    uint32_t bytes = spyi_format(format)->block_bytes;
    return bytes % 4 == 0 ? bytes : 4; // sizes are 1, 2, 4, 8, 12 and 16
}

// A block of the pool with room for texels at an aligned place.
typedef struct spyi_texel_block {
    spyi_storage *storage;
    uint64_t at, size; // both are bytes; `at` counts from the storage's start
} spyi_texel_block;

static spy_status spyi_take_texel_block(spy_device *device, spyi_memory memory, uint32_t format,
                                        uint64_t size, spyi_texel_block *block, spyi_text *error) {
    spy_status status = SPY_OK;
    uint64_t grid = spyi_texel_alignment(format);
    block->storage = spyi_pool_take(device, memory, size + grid, "texels", error, &status);
    if (!block->storage) return status;
    block->storage->resource.references = 1;
    block->at = (grid - block->storage->offset % grid) % grid;
    block->size = size;
    return SPY_OK;
}

static void spyi_drop_texel_block(spy_device *device, spyi_texel_block *block) {
    if (block->storage) spyi_resource_release(device, &block->storage->resource);
    block->storage = NULL;
}

static spyi_use spyi_texel_block_use(const spyi_texel_block *block, uint32_t how) {
    return spyi_use_of(&block->storage->resource, block->at, block->at + block->size, how);
}

// Records a copy between texels and bytes of a storage from its byte `at` on.
static spy_status spyi_record_texels(const spyi_texture_sink *sink, bool to_image, const spy_texture *t,
                                     const spyi_image_box *box, spyi_storage *storage, uint64_t at,
                                     uint64_t row_pitch, spyi_text *error) {
    spyi_image_bytes_work work;
    spyi_texel_sizes sizes = spyi_box_sizes(t->part.format, box);
    spyi_use uses[2];
    uint64_t slice_pitch = row_pitch * sizes.rows;
    uint64_t size = slice_pitch * sizes.slices - row_pitch + sizes.row;
    memset(&work, 0, sizeof work);
    work.work = spyi_work_of(spyi_work_image_bytes());
    work.to_image = to_image;
    work.image = t->image->image.handle;
    work.desc = t->image->desc;
    work.box = *box;
    work.chunk = &storage->chunk;
    work.offset = storage->offset + at;
    work.row_pitch = row_pitch;
    work.slice_pitch = slice_pitch;
    uses[0] = spyi_box_use(t, box, to_image ? SPYI_USE_WRITES : SPYI_USE_READS);
    uses[1] = spyi_use_of(&storage->resource, at, at + size, to_image ? SPYI_USE_READS : SPYI_USE_WRITES);
    return sink->record(sink->object, &work.work, uses, 2, error);
}

// >>host memory

#define SPYI_TEXEL_PIECE ((uint64_t)64 << 20) // the bytes of a large transfer that go through one block
// The most bytes of a read that is small. Reads up to this size go to host memory without a staging copy.
#define SPYI_TEXEL_READBACK ((uint64_t)1 << 20)

// Cuts the next piece off the box: whole layers or slices, or rows of one. *box becomes the rest; its layer_count is 0
// at the end. `whole` is the box at the beginning.
static spyi_image_box spyi_next_piece(uint32_t format, const spyi_image_box *whole, spyi_image_box *box) {
    spyi_texel_sizes sizes = spyi_box_sizes(format, whole);
    spyi_image_box piece = *box;
    uint64_t slices = SPYI_TEXEL_PIECE / sizes.slice, rows = SPYI_TEXEL_PIECE / sizes.row;
    uint32_t step = spyi_format(format)->block_height;
    if (rows == 0) rows = 1;
    if (slices >= 1 && whole->depth == 1) {
        if (piece.layer_count > slices) piece.layer_count = (uint32_t)slices;
        box->first_layer += piece.layer_count;
        box->layer_count -= piece.layer_count;
        return piece;
    }
    piece.layer_count = 1;
    if (slices >= 1) { // the piece is whole slices of a 3-D texture
        if (piece.depth > slices) piece.depth = (uint32_t)slices;
    } else {
        piece.depth = 1;
        if (piece.height > rows * step) piece.height = (uint32_t)rows * step;
        box->y += piece.height;
        box->height -= piece.height;
        if (box->height > 0) return piece;
        box->y = whole->y;
        box->height = whole->height;
    }
    box->z += piece.depth;
    box->depth -= piece.depth;
    if (box->depth > 0) return piece;
    box->z = whole->z;
    box->depth = whole->depth;
    box->first_layer++;
    box->layer_count--;
    return piece;
}

static spy_status spyi_check_host(const spy_texture *t, const spyi_image_box *box, const void *data,
                                  size_t size_bytes, spyi_text *error) {
    spyi_texel_sizes sizes = spyi_box_sizes(t->part.format, box);
    uint64_t size = sizes.slice * sizes.slices;
    spy_status status = spyi_check_plain(t, error);
    if (status != SPY_OK) return status;
    if (!data) {
        spyi_text_add(error, "data is NULL");
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (size == size_bytes) return SPY_OK;
    spyi_text_add(error, "%u x %u texels of %s", box->width, box->height, spyi_format(t->part.format)->name);
    if (sizes.slices > 1) spyi_text_add(error, " in %u slices or layers", sizes.slices);
    spyi_text_add(error, " have %llu bytes (%llu a row), size_bytes is %zu", (unsigned long long)size,
                  (unsigned long long)sizes.row, size_bytes);
    return SPY_ERROR_SHAPE_MISMATCH;
}

static spy_status spyi_write_piece(const spyi_texture_sink *sink, const spy_texture *t,
                                   const spyi_image_box *piece, const char *data, uint64_t size,
                                   spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_texel_block block;
    spy_status status =
        spyi_take_texel_block(device, SPYI_MEMORY_DEVICE, t->part.format, size, &block, error);
    if (status != SPY_OK) return status;
    spyi_use use = spyi_texel_block_use(&block, SPYI_USE_WRITES);
    spyi_upload_work upload =
        spyi_upload_of(&block.storage->chunk, block.storage->offset + block.at, data, size);
    status = spyi_record_with(device, &upload.work, &use, 1, false, error);
    spyi_note_batch(device, &use, 1); // a large upload fills several batches
    if (status == SPY_OK)
        status = spyi_record_texels(sink, true, t, piece, block.storage, block.at,
                                    spyi_box_sizes(t->part.format, piece).row, error);
    spyi_drop_texel_block(device, &block);
    return status;
}

SPYI_FN spy_status spyi_texture_write(const spyi_texture_sink *sink, spy_texture *t,
                                      const spy_texture_region *region, const void *data, size_t size_bytes,
                                      spyi_text *error) {
    spyi_image_box box, rest;
    spy_status status = spyi_region_box(t, region, &box, error);
    if (status == SPY_OK) status = spyi_check_host(t, &box, data, size_bytes, error);
    const char *at = (const char *)data;
    for (rest = box; status == SPY_OK && rest.layer_count > 0;) {
        spyi_image_box piece = spyi_next_piece(t->part.format, &box, &rest);
        spyi_texel_sizes sizes = spyi_box_sizes(t->part.format, &piece);
        uint64_t size = sizes.slice * sizes.slices;
        status = spyi_write_piece(sink, t, &piece, at, size, error);
        at += size;
    }
    return status;
}

SPYI_FN spy_status spyi_texture_fill(spy_texture *t, const void *data, size_t size_bytes, spyi_text *error) {
    spyi_texture_sink queue = spyi_texture_queue(t->object.device);
    return spyi_texture_write(&queue, t, NULL, data, size_bytes, error);
}

static spy_status spyi_read_piece(const spyi_texture_sink *sink, const spy_texture *t,
                                  const spyi_image_box *piece, char *data, uint64_t size, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_texel_block block;
    bool small = size <= SPYI_TEXEL_READBACK;
    spy_status status = spyi_take_texel_block(device, small ? SPYI_MEMORY_READBACK : SPYI_MEMORY_DEVICE,
                                              t->part.format, size, &block, error);
    if (status != SPY_OK) return status;
    status = spyi_record_texels(sink, false, t, piece, block.storage, block.at,
                                spyi_box_sizes(t->part.format, piece).row, error);
    const spyi_chunk *chunk = &block.storage->chunk;
    uint64_t at = block.storage->offset + block.at, submit = device->last_submit;
    if (status == SPY_OK && small) {
        status = spyi_wait_for_results(device, submit, error);
        if (status == SPY_OK) memcpy(data, (const char *)chunk->mapped + at, (size_t)size);
    } else if (status == SPY_OK) {
        spyi_block(&device->ctx, true);
        status = device->backend->download(device->gpu, data, chunk, at, size, submit, error);
        spyi_block(&device->ctx, false);
    }
    spyi_drop_texel_block(device, &block);
    return status;
}

// Work in an engine's command buffer counts as not executed until the engine reports it.
static spy_status spyi_check_readable(const spy_texture *t, spyi_text *error) {
    const spyi_gpu_base *gpu = t->object.device->base;
    const spyi_resource *r = &t->image->texture.resource;
    if (gpu->recording && !gpu->captured) {
        spyi_text_add(error,
                      "work goes into a command buffer of the program now, whose results cannot be read "
                      "before it is submitted");
        return SPY_ERROR_NOT_READY;
    }
    if (gpu->held_from == 0 || r->write_submit < gpu->held_from) return SPY_OK;
    spyi_texture_text(t, error);
    spyi_text_add(error, " is written in a recording that has not been reported as executed");
    return SPY_ERROR_NOT_READY;
}

static spy_status spyi_texture_read(spy_texture *t, const spy_texture_region *region, void *data,
                                    size_t size_bytes, spyi_text *error) {
    spyi_texture_sink queue = spyi_texture_queue(t->object.device);
    spyi_image_box box, rest;
    spy_status status = spyi_region_box(t, region, &box, error);
    if (status == SPY_OK) status = spyi_check_host(t, &box, data, size_bytes, error);
    if (status == SPY_OK) status = spyi_check_readable(t, error);
    char *at = (char *)data;
    for (rest = box; status == SPY_OK && rest.layer_count > 0;) {
        spyi_image_box piece = spyi_next_piece(t->part.format, &box, &rest);
        spyi_texel_sizes sizes = spyi_box_sizes(t->part.format, &piece);
        uint64_t size = sizes.slice * sizes.slices;
        status = spyi_read_piece(&queue, t, &piece, at, size, error);
        at += size;
    }
    return status;
}

// >>tensors

static spy_status spyi_check_tensor_bytes(const spy_texture *t, const spyi_image_box *box,
                                          const spy_tensor *tensor, uint64_t offset, uint64_t *row_pitch,
                                          uint64_t *size, spyi_text *error) {
    const spy_format_info *f = spyi_format(t->part.format);
    spyi_texel_sizes sizes = spyi_box_sizes(t->part.format, box);
    spy_status status = spyi_check_plain(t, error);
    if (status != SPY_OK) return status;
    if (!spyi_is_on(t->object.device, tensor, SPYI_KIND_TENSOR)) {
        spyi_text_add(error, "'tensor': ");
        return spyi_object_problem(tensor, SPYI_KIND_TENSOR, error);
    }
    if (!tensor->contiguous) {
        spyi_text_add(error, "'tensor': its elements do not lie next to each other; it is a view ");
        spyi_shape_text(&tensor->shape, error);
        spyi_text_add(error, " with strides ");
        spyi_shape_text(&tensor->strides, error);
        return SPY_ERROR_UNSUPPORTED;
    }
    if (*row_pitch == 0) *row_pitch = sizes.row;
    if (*row_pitch < sizes.row || *row_pitch % f->block_bytes) {
        spyi_text_add(error, "row_pitch_bytes is %llu: a row has %llu bytes, and a pitch whole texels of %u",
                      (unsigned long long)*row_pitch, (unsigned long long)sizes.row, f->block_bytes);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    uint64_t have = tensor->end_bytes - tensor->begin_bytes, rows = (uint64_t)sizes.rows * sizes.slices;
    bool fits = *row_pitch <= have || rows == 1;
    *size = fits ? (rows - 1) * *row_pitch + sizes.row : UINT64_MAX;
    if (fits && offset <= have && *size <= have - offset) return SPY_OK;
    spyi_text_add(error,
                  "'tensor': %llu rows of %llu bytes, %llu apart, from byte %llu on do not fit into its %llu "
                  "bytes",
                  (unsigned long long)rows, (unsigned long long)sizes.row, (unsigned long long)*row_pitch,
                  (unsigned long long)offset, (unsigned long long)have);
    return SPY_ERROR_SHAPE_MISMATCH;
}

// Copies bytes between the tensor and a block.
static spy_status spyi_copy_block(const spyi_texture_sink *sink, bool to_block, const spyi_texel_block *block,
                                  const spy_tensor *tensor, uint64_t begin, spyi_text *error) {
    spyi_storage *storage = tensor->storage, *b = block->storage;
    spyi_use uses[2];
    uses[0] = spyi_texel_block_use(block, to_block ? SPYI_USE_WRITES : SPYI_USE_READS);
    uses[1] = spyi_use_of(&storage->resource, begin, begin + block->size,
                          to_block ? SPYI_USE_READS : SPYI_USE_WRITES);
    spyi_copy_work copy = to_block ? spyi_copy_of(&b->chunk, b->offset + block->at, &storage->chunk,
                                                  storage->offset + begin, block->size)
                                   : spyi_copy_of(&storage->chunk, storage->offset + begin, &b->chunk,
                                                  b->offset + block->at, block->size);
    return sink->record(sink->object, &copy.work, uses, 2, error);
}

// Copies through a block, since the tensor's bytes begin where texels cannot. The bytes between rows are not
// changed.
static spy_status spyi_copy_misaligned(const spyi_texture_sink *sink, bool to_texture, const spy_texture *t,
                                       const spyi_image_box *box, const spy_tensor *tensor, uint64_t begin,
                                       uint64_t size, uint64_t row_pitch, spyi_text *error) {
    spy_device *device = t->object.device;
    spyi_texel_block block;
    bool gaps = row_pitch != spyi_box_sizes(t->part.format, box).row;
    spy_status status =
        spyi_take_texel_block(device, SPYI_MEMORY_DEVICE, t->part.format, size, &block, error);
    if (status != SPY_OK) return status;
    if (to_texture || gaps) status = spyi_copy_block(sink, true, &block, tensor, begin, error);
    if (status == SPY_OK)
        status = spyi_record_texels(sink, to_texture, t, box, block.storage, block.at, row_pitch, error);
    if (status == SPY_OK && !to_texture) status = spyi_copy_block(sink, false, &block, tensor, begin, error);
    spyi_drop_texel_block(device, &block);
    return status;
}

SPYI_FN spy_status spyi_texture_copy_tensor(const spyi_texture_sink *sink, bool to_texture, spy_texture *t,
                                            const spy_texture_region *region, spy_tensor *tensor,
                                            size_t offset_bytes, size_t row_pitch_bytes, spyi_text *error) {
    spyi_image_box box;
    uint64_t row_pitch = row_pitch_bytes, size = 0;
    spy_status status = spyi_region_box(t, region, &box, error);
    if (status == SPY_OK)
        status = spyi_check_tensor_bytes(t, &box, tensor, offset_bytes, &row_pitch, &size, error);
    if (status != SPY_OK) return status;
    uint64_t begin = tensor->begin_bytes + offset_bytes;
    if ((tensor->storage->offset + begin) % spyi_texel_alignment(t->part.format))
        return spyi_copy_misaligned(sink, to_texture, t, &box, tensor, begin, size, row_pitch, error);
    return spyi_record_texels(sink, to_texture, t, &box, tensor->storage, begin, row_pitch, error);
}

// >>other textures

static bool spyi_spans_meet(uint32_t a, uint32_t a_size, uint32_t b, uint32_t b_size) {
    return a < b + b_size && b < a + a_size;
}

// Returns whether two boxes of one image share a level and layer, and in `texels` whether they also share texels.
static bool spyi_boxes_meet(const spyi_image_box *a, const spyi_image_box *b, bool *texels) {
    *texels = spyi_spans_meet(a->x, a->width, b->x, b->width) &&
              spyi_spans_meet(a->y, a->height, b->y, b->height) &&
              spyi_spans_meet(a->z, a->depth, b->z, b->depth);
    return a->level == b->level &&
           spyi_spans_meet(a->first_layer, a->layer_count, b->first_layer, b->layer_count);
}

// Returns whether texels of one format can be copied as texels of the other.
static spy_status spyi_check_copied(const spy_texture *to, const spy_texture *from, spyi_text *error) {
    const spy_format_info *a = spyi_format(to->image->desc.format),
                          *b = spyi_format(from->image->desc.format);
    bool same = to->image->desc.format == from->image->desc.format;
    if (!same && (a->block_bytes != b->block_bytes || a->block_width != b->block_width || a->has_depth ||
                  b->has_depth)) {
        spyi_text_add(error, "texels of %s cannot be copied to %s: %s", b->name, a->name,
                      a->has_depth || b->has_depth ? "depth has its own format"
                                                   : "they have other sizes; spy_texture_blit() converts");
        return SPY_ERROR_TYPE_MISMATCH;
    }
    if (to->image->desc.samples == from->image->desc.samples) return SPY_OK;
    spyi_text_add(error, "'from' has %u samples, 'to' has %u; spy_texture_resolve() averages them",
                  from->image->desc.samples, to->image->desc.samples);
    return SPY_ERROR_INVALID_ARGUMENT;
}

static spy_status spyi_record_image_copy(const spyi_texture_sink *sink, spy_texture *to,
                                         const spyi_image_box *to_box, spy_texture *from,
                                         const spyi_image_box *from_box, spyi_text *error) {
    spyi_image_copy_work work;
    spyi_use uses[2];
    memset(&work, 0, sizeof work);
    work.work = spyi_work_of(spyi_work_image_copy());
    work.to = to->image->image.handle;
    work.from = from->image->image.handle;
    work.to_desc = to->image->desc;
    work.from_desc = from->image->desc;
    work.to_box = *to_box;
    work.from_box = *from_box;
    uses[0] = spyi_box_use(to, to_box, SPYI_USE_WRITES);
    uses[1] = spyi_box_use(from, from_box, SPYI_USE_READS);
    if (!spyi_image_copies_within(&work)) return sink->record(sink->object, &work.work, uses, 2, error);
    uses[0].how |= SPYI_USE_READS; // source and target need one layout; their layers overlap, so that one
                                   // range covers them
    if (uses[1].begin < uses[0].begin) uses[0].begin = uses[1].begin;
    if (uses[1].end > uses[0].end) uses[0].end = uses[1].end;
    return sink->record(sink->object, &work.work, uses, 1, error);
}

// Makes a size of 0 in one region the size of the other region.
static void spyi_share_size(uint32_t *a, uint32_t *b) {
    if (*a == 0) *a = *b;
    if (*b == 0) *b = *a;
}

static spy_status spyi_copy_boxes(const spy_texture *to, const spy_texture_region *to_region,
                                  const spy_texture *from, const spy_texture_region *from_region,
                                  spyi_image_box *to_box, spyi_image_box *from_box, spyi_text *error) {
    spy_texture_region a, b;
    memset(&a, 0, sizeof a), memset(&b, 0, sizeof b);
    if (to_region) a = *to_region;
    if (from_region) b = *from_region;
    spyi_share_size(&a.width, &b.width);
    spyi_share_size(&a.height, &b.height);
    spyi_share_size(&a.depth, &b.depth);
    spyi_share_size(&a.layer_count, &b.layer_count);
    spyi_text_add(error, "'to': ");
    spy_status status = spyi_region_box(to, &a, to_box, error);
    if (status != SPY_OK) return status;
    spyi_text_free(error);
    spyi_text_add(error, "'from': ");
    status = spyi_region_box(from, &b, from_box, error);
    if (status != SPY_OK) return status;
    spyi_text_free(error);
    if (to_box->width == from_box->width && to_box->height == from_box->height &&
        to_box->depth == from_box->depth && to_box->layer_count == from_box->layer_count)
        return SPY_OK;
    spyi_text_add(
        error,
        "the regions have other sizes: 'to' has %u x %u x %u texels and %u layers, 'from' has %u x %u x %u "
        "and %u",
        to_box->width, to_box->height, to_box->depth, to_box->layer_count, from_box->width, from_box->height,
        from_box->depth, from_box->layer_count);
    return SPY_ERROR_SHAPE_MISMATCH;
}

static spy_status spyi_fail_feedback(spyi_text *error) {
    spyi_text_add(error, "'to' and 'from' share texels: what is read would be written by the same work");
    return SPY_ERROR_INVALID_ARGUMENT;
}

SPYI_FN spy_status spyi_texture_copy(const spyi_texture_sink *sink, spy_texture *to,
                                     const spy_texture_region *to_region, spy_texture *from,
                                     const spy_texture_region *from_region, spyi_text *error) {
    spyi_image_box to_box, from_box;
    bool texels;
    spy_status status = spyi_check_other(to, from, "from", error);
    if (status == SPY_OK) status = spyi_check_copied(to, from, error);
    if (status == SPY_OK)
        status = spyi_copy_boxes(to, to_region, from, from_region, &to_box, &from_box, error);
    if (status != SPY_OK) return status;
    if (to->image == from->image && spyi_boxes_meet(&to_box, &from_box, &texels) && texels)
        return spyi_fail_feedback(error);
    return spyi_record_image_copy(sink, to, &to_box, from, &from_box, error);
}

// >>clears

// Clears, blits and resolves work in the format of the image.
static spy_status spyi_check_own_format(const spy_texture *t, const char *what, spyi_text *error) {
    if (t->part.format == t->image->desc.format) return SPY_OK;
    spyi_text_add(error, "a view of a %s texture as %s cannot be %s; use the texture itself",
                  spyi_format(t->image->desc.format)->name, spyi_format(t->part.format)->name, what);
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_record_clear(const spyi_texture_sink *sink, spy_texture *t,
                                    const spy_clear_color *color, float depth, uint32_t stencil,
                                    spyi_text *error) {
    spyi_image_clear_work work;
    spyi_use uses[SPYI_MOST_TEXTURE_USES];
    memset(&work, 0, sizeof work);
    work.work = spyi_work_of(spyi_work_image_clear());
    work.image = t->image->image.handle;
    work.desc = t->image->desc;
    work.first_level = t->part.first_level;
    work.level_count = t->part.level_count;
    work.first_layer = t->part.first_layer;
    work.layer_count = t->part.layer_count;
    if (color) work.color = *color;
    work.depth = depth;
    work.stencil = stencil;
    uint32_t count = spyi_texture_uses(t, SPYI_USE_COPIED | SPYI_USE_WRITES, uses);
    return sink->record(sink->object, &work.work, uses, count, error);
}

SPYI_FN spy_status spyi_texture_clear(const spyi_texture_sink *sink, spy_texture *t,
                                      const spy_clear_color *color, spyi_text *error) {
    const spy_format_info *f = spyi_format(t->part.format);
    if (f->has_depth) {
        spyi_text_add(error, "%s is a depth format: clear it by spy_texture_clear_depth()", f->name);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (f->is_compressed) {
        spyi_text_add(error, "%s is compressed: write blocks of one colour (spy_texture_write)", f->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    spy_status status = spyi_check_own_format(t, "cleared", error);
    return status == SPY_OK ? spyi_record_clear(sink, t, color, 0, 0, error) : status;
}

SPYI_FN spy_status spyi_texture_clear_depth(const spyi_texture_sink *sink, spy_texture *t, float depth,
                                            uint32_t stencil, spyi_text *error) {
    const spy_format_info *f = spyi_format(t->part.format);
    if (!f->has_depth) {
        spyi_text_add(error, "%s is no depth format: clear it by spy_texture_clear()", f->name);
        return SPY_ERROR_INVALID_ARGUMENT;
    }
    if (!(depth >= 0 && depth <= 1) || stencil > 255) {
        spyi_text_add(error, "depth %g is not 0 to 1, or stencil %u not 0 to 255", (double)depth, stencil);
        return SPY_ERROR_OUT_OF_RANGE;
    }
    return spyi_record_clear(sink, t, NULL, depth, stencil, error);
}

// >>blits

// Makes the region of all texels of one level, counted in the texture.
static spyi_image_box spyi_level_box(const spy_texture *t, uint32_t level) {
    const spyi_image_desc *d = &t->image->desc;
    spyi_image_box box;
    memset(&box, 0, sizeof box);
    box.level = t->part.first_level + level;
    box.first_layer = t->part.first_layer;
    box.layer_count = t->part.layer_count;
    box.width = spyi_level_size(d->width, box.level);
    box.height = spyi_level_size(d->height, box.level);
    box.depth = spyi_level_size(d->depth, box.level);
    return box;
}

static spy_status spyi_record_blit(const spyi_texture_sink *sink, spy_texture *to,
                                   const spyi_image_box *to_box, spy_texture *from,
                                   const spyi_image_box *from_box, bool linear, bool resolve,
                                   spyi_text *error) {
    spyi_image_blit_work work;
    spyi_use uses[2];
    memset(&work, 0, sizeof work);
    work.work = spyi_work_of(spyi_work_image_blit());
    work.to = to->image->image.handle;
    work.from = from->image->image.handle;
    work.to_desc = to->image->desc;
    work.from_desc = from->image->desc;
    work.to_box = *to_box;
    work.from_box = *from_box;
    work.linear = linear;
    work.resolve = resolve;
    uses[0] = spyi_box_use(to, to_box, SPYI_USE_WRITES);
    uses[1] = spyi_box_use(from, from_box, SPYI_USE_READS);
    return sink->record(sink->object, &work.work, uses, 2, error);
}

// Refuses a texture whose format the device cannot read, or write, in blits. `support` says which of the two
// the blit needs, `name` is the parameter's name.
static spy_status spyi_check_blit_support(const spy_texture *t, const char *name, uint32_t support,
                                          spyi_text *error) {
    spy_device *device = t->object.device;
    uint32_t lacks = support & ~device->backend->images->support(device->gpu, t->part.format);
    if (lacks == 0) return SPY_OK;
    const char *nearest = spyi_nearest_format(device, t->part.format, support | SPY_TEXTURE_USAGE_SAMPLED);
    spyi_text_add(error, "'%s' is ", name);
    spyi_texture_text(t, error);
    spyi_text_add(error, "; the device '%s' cannot %s this format", device->base->limits.info.name,
                  lacks & SPYI_BLITS_TO     ? "scale or convert texels to"
                  : lacks & SPYI_BLITS_FROM ? "scale or convert texels of"
                                            : "average texels of");
    if (nearest) spyi_text_add(error, "; the nearest format for this is %s", nearest);
    if (lacks == SPY_TEXTURE_USAGE_FILTERED && !(support & SPYI_BLITS_TO))
        spyi_text_add(error, "; SPY_FILTER_NEAREST works");
    return SPY_ERROR_UNSUPPORTED;
}

static spy_status spyi_check_blit(const spy_texture *to, const spy_texture *from, spy_filter filter,
                                  bool *linear, spyi_text *error) {
    const spy_format_info *a = spyi_format(to->part.format), *b = spyi_format(from->part.format);
    bool plain = !b->is_integer && !b->has_depth;
    spy_status status = spyi_check_own_format(to, "scaled or averaged", error);
    if (status == SPY_OK) status = spyi_check_own_format(from, "scaled or averaged", error);
    if (status != SPY_OK) return status;
    *linear = filter != SPY_FILTER_NEAREST && plain;
    if ((int)filter < 0 || filter > SPY_FILTER_LINEAR)
        spyi_text_add(error, "filter %d is not one of spy_filter", (int)filter);
    else if (filter == SPY_FILTER_LINEAR && !plain)
        spyi_text_add(error, "texels of %s cannot be averaged; SPY_FILTER_NEAREST works", b->name);
    else if (to->image->desc.samples > 1 || from->image->desc.samples > 1)
        spyi_text_add(error, "a multisampled texture cannot be scaled; spy_texture_resolve() averages its "
                             "samples");
    else if (a->is_compressed || b->is_compressed)
        spyi_text_add(error, "compressed texels (%s) cannot be scaled or converted",
                      a->is_compressed ? a->name : b->name);
    else if (a->is_integer != b->is_integer || (a->is_integer && a->is_signed != b->is_signed) ||
             ((a->has_depth || b->has_depth) && a != b))
        spyi_text_add(error, "texels of %s cannot be converted to %s", b->name, a->name);
    else if (to->part.layer_count != from->part.layer_count)
        spyi_text_add(error, "'to' has %u layers, 'from' has %u", to->part.layer_count,
                      from->part.layer_count);
    else {
        uint32_t filtered = *linear ? (uint32_t)SPY_TEXTURE_USAGE_FILTERED : 0;
        status = spyi_check_blit_support(to, "to", SPYI_BLITS_TO, error);
        if (status != SPY_OK) return status;
        return spyi_check_blit_support(from, "from", SPYI_BLITS_FROM | filtered, error);
    }
    return SPY_ERROR_INVALID_ARGUMENT;
}

SPYI_FN spy_status spyi_texture_blit(const spyi_texture_sink *sink, spy_texture *to, spy_texture *from,
                                     spy_filter filter, spyi_text *error) {
    bool linear = false, texels;
    spy_status status = spyi_check_other(to, from, "from", error);
    if (status != SPY_OK) return status;
    spyi_image_box to_box = spyi_level_box(to, 0), from_box = spyi_level_box(from, 0);
    bool meet = to->image == from->image && spyi_boxes_meet(&to_box, &from_box, &texels);
    if (meet) return spyi_fail_feedback(error);
    bool same = to_box.width == from_box.width && to_box.height == from_box.height &&
                to_box.depth == from_box.depth && to_box.layer_count == from_box.layer_count &&
                to->part.format == from->part.format && to->image->desc.format == from->image->desc.format &&
                to->image->desc.samples == from->image->desc.samples;
    if (same) return spyi_record_image_copy(sink, to, &to_box, from, &from_box, error);
    status = spyi_check_blit(to, from, filter, &linear, error);
    if (status != SPY_OK) return status;
    return spyi_record_blit(sink, to, &to_box, from, &from_box, linear, false, error);
}

SPYI_FN spy_status spyi_texture_generate_mips(const spyi_texture_sink *sink, spy_texture *t,
                                              spyi_text *error) {
    const spy_format_info *f = spyi_format(t->part.format);
    spy_status status = spyi_check_own_format(t, "averaged", error);
    if (status != SPY_OK || t->part.level_count == 1) return status;
    if (f->is_integer || f->has_depth || f->is_compressed) {
        spyi_text_add(error, "texels of %s cannot be averaged: write each level (spy_texture_region.level)",
                      f->name);
        return SPY_ERROR_UNSUPPORTED;
    }
    status = spyi_check_blit_support(t, "texture", (uint32_t)SPYI_BLITS | SPY_TEXTURE_USAGE_FILTERED, error);
    for (uint32_t level = 1; level < t->part.level_count && status == SPY_OK; level++) {
        spyi_image_box to = spyi_level_box(t, level), from = spyi_level_box(t, level - 1);
        status = spyi_record_blit(sink, t, &to, t, &from, true, false, error);
    }
    return status;
}

SPYI_FN spy_status spyi_texture_resolve(const spyi_texture_sink *sink, spy_texture *to, spy_texture *from,
                                        spyi_text *error) {
    spy_status status = spyi_check_other(to, from, "from", error);
    if (status == SPY_OK) status = spyi_check_own_format(to, "scaled or averaged", error);
    if (status == SPY_OK) status = spyi_check_own_format(from, "scaled or averaged", error);
    if (status != SPY_OK) return status;
    spyi_image_box a = spyi_level_box(to, 0), b = spyi_level_box(from, 0);
    const spy_format_info *f = spyi_format(from->part.format);
    if (from->image->desc.samples == 1)
        spyi_text_add(error, "'from' is not multisampled; spy_texture_copy() copies it");
    else if (to->image->desc.samples > 1) spyi_text_add(error, "'to' is multisampled, too");
    else if (to->part.format != from->part.format)
        spyi_text_add(error, "'to' has the format %s, 'from' has %s", spyi_format(to->part.format)->name,
                      f->name);
    else if (f->has_depth) spyi_text_add(error, "samples of %s cannot be averaged", f->name);
    else if (a.width != b.width || a.height != b.height || a.layer_count != b.layer_count)
        spyi_text_add(error, "'to' has %u x %u texels and %u layers, 'from' has %u x %u and %u", a.width,
                      a.height, a.layer_count, b.width, b.height, b.layer_count);
    else return spyi_record_blit(sink, to, &a, from, &b, false, true, error);
    return SPY_ERROR_INVALID_ARGUMENT;
}

// >>the public functions

// A public function that works on textures of a device.
typedef struct spyi_texture_call {
    spy_device *device;
    const char *function;
    spyi_texture_sink queue;
    spyi_text error;
} spyi_texture_call;

static spy_status spyi_texture_enter(spyi_texture_call *call, spy_texture *t, const char *function) {
    spy_status entered = spyi_enter(t, SPYI_KIND_TEXTURE, function);
    if (entered != SPY_OK) return entered;
    memset(call, 0, sizeof *call);
    call->device = t->object.device;
    call->function = function;
    call->queue = spyi_texture_queue(call->device);
    return SPY_OK;
}

static spy_status spyi_texture_leave(spyi_texture_call *call, spy_status status) {
    if (status != SPY_OK) spyi_fail_text(call->device, status, call->function, &call->error);
    spyi_text_free(&call->error);
    spyi_leave(call->device);
    return status;
}

// The body of a public function: enters the device of its first texture, and records on its queue.
#define SPYI_ON_TEXTURE(name, t, expression)                                                                 \
    spyi_texture_call call;                                                                                  \
    spy_status entered = spyi_texture_enter(&call, t, name);                                                 \
    if (entered != SPY_OK) return entered;                                                                   \
    return spyi_texture_leave(&call, expression)

spy_status spy_texture_write(spy_texture *texture, const spy_texture_region *region, const void *data,
                             size_t size_bytes) {
    SPYI_ON_TEXTURE("spy_texture_write", texture,
                    spyi_texture_write(&call.queue, texture, region, data, size_bytes, &call.error));
}

spy_status spy_texture_read(spy_texture *texture, const spy_texture_region *region, void *data,
                            size_t size_bytes) {
    SPYI_ON_TEXTURE("spy_texture_read", texture,
                    spyi_texture_read(texture, region, data, size_bytes, &call.error));
}

spy_status spy_texture_copy(spy_texture *to, const spy_texture_region *to_region, spy_texture *from,
                            const spy_texture_region *from_region) {
    SPYI_ON_TEXTURE("spy_texture_copy", to,
                    spyi_texture_copy(&call.queue, to, to_region, from, from_region, &call.error));
}

spy_status spy_texture_copy_from_tensor(spy_texture *to, const spy_texture_region *region, spy_tensor *tensor,
                                        size_t offset_bytes, size_t row_pitch_bytes) {
    SPYI_ON_TEXTURE("spy_texture_copy_from_tensor", to,
                    spyi_texture_copy_tensor(&call.queue, true, to, region, tensor, offset_bytes,
                                             row_pitch_bytes, &call.error));
}

spy_status spy_texture_copy_to_tensor(spy_texture *from, const spy_texture_region *region, spy_tensor *tensor,
                                      size_t offset_bytes, size_t row_pitch_bytes) {
    SPYI_ON_TEXTURE("spy_texture_copy_to_tensor", from,
                    spyi_texture_copy_tensor(&call.queue, false, from, region, tensor, offset_bytes,
                                             row_pitch_bytes, &call.error));
}

spy_status spy_texture_clear(spy_texture *texture, spy_clear_color color) {
    SPYI_ON_TEXTURE("spy_texture_clear", texture,
                    spyi_texture_clear(&call.queue, texture, &color, &call.error));
}

spy_status spy_texture_clear_depth(spy_texture *texture, float depth, uint32_t stencil) {
    SPYI_ON_TEXTURE("spy_texture_clear_depth", texture,
                    spyi_texture_clear_depth(&call.queue, texture, depth, stencil, &call.error));
}

spy_status spy_texture_blit(spy_texture *to, spy_texture *from, spy_filter filter) {
    SPYI_ON_TEXTURE("spy_texture_blit", to, spyi_texture_blit(&call.queue, to, from, filter, &call.error));
}

spy_status spy_texture_generate_mips(spy_texture *texture) {
    SPYI_ON_TEXTURE("spy_texture_generate_mips", texture,
                    spyi_texture_generate_mips(&call.queue, texture, &call.error));
}

spy_status spy_texture_resolve(spy_texture *to, spy_texture *from) {
    SPYI_ON_TEXTURE("spy_texture_resolve", to, spyi_texture_resolve(&call.queue, to, from, &call.error));
}

#undef SPYI_ON_TEXTURE
