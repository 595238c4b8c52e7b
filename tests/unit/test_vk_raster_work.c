// Draws among other work: passes, an engine's command buffer, draws that are kept, waits and times; which commands draws that are
// repeated record, and what recording costs.
#include "vk_raster_test.h"

// >>with other work

// 1000 draws: one pass in each batch. Other work, a clear, another target, a barrier begin another one; labels do not.
static void test_passes_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    canvas other = canvas_open(t, &desc, 1);
    spyi_chunk chunk = test_chunk(t, NULL, 256);
    block b = test_block(0, 0, 0, 1);
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    for (int i = 0; i < 1000; i++) {
        b.tint[0] = (float)i;
        d.scissor[0] = i % SIZE;
        d.scissor[2] = 1;
        d.targets[0].clear = i == 0;
        canvas_draw(t, &c, &d);
    }
    assert_int_equal(test_stats(t)->draws, 1000);
    assert_int_equal(test_stats(t)->passes, 1 + (1000 - 1) / SPYI_VK_BATCH_WORK);
    picture_read(t, &c.p, c.pixels);
    for (int x = 0; x < SIZE; x++)
        expect_color(&c, x, x, (float)(x + (999 - x) / SIZE * SIZE), 0, 0, 1);

    uint64_t passes = test_stats(t)->passes, allocations = t->allocations;
    d.targets[0].clear = false;
    canvas_draw(t, &c, &d);
    test_ok(t, work_label(backend, t->gpu, SPYI_LABEL_PUSH, "more", &t->error));
    canvas_draw(t, &c, &d);
    test_ok(t, work_label(backend, t->gpu, SPYI_LABEL_POP, NULL, &t->error));
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->passes, ++passes);
    test_ok(t, work_fill(backend, t->gpu, &chunk, 0, 256, 7, false, &t->error));
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->passes, ++passes);
    d.targets[0].clear = true;
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->passes, ++passes);
    d.targets[0].clear = false;
    spyi_draw_work to_other = test_draw(other.kernel, &b, &other.p);
    to_other.targets[0].ignore = true;
    canvas_draw(t, &other, &to_other);
    assert_int_equal(test_stats(t)->passes, ++passes);
    d.work.before.barrier = true;
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->passes, ++passes);
    d.work.before.barrier = false;
    test_ok(t, backend->submit(t->gpu, &t->error));
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->passes, ++passes);
    if (!test_vk(t)->dynamic_rendering) allocations = t->allocations; // a framebuffer for the other target
    for (int i = 0; i < 3000; i++) { // rotating targets: nothing is allocated
        canvas_draw(t, &c, &d);
        canvas_draw(t, &other, &to_other);
    }
    assert_int_equal(t->allocations, allocations);
    test_wait_all(t);
    backend->free_chunk(t->gpu, &chunk);
    canvas_close(t, &other);
    canvas_close(t, &c);
}
BOTH_WAYS(test_passes)

// Draws into an engine's command buffer: the pass is closed each time, so that the engine can record between two draws
// what must not stand in a pass. Draws of the library's own batches after it begin again.
static void test_engine_with(test_gpu *t) {
    spyi_vk_gpu *vk = test_vk(t);
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    spyi_chunk chunk = test_chunk(t, NULL, 256);
    const block b = test_block(1, 0, 0, 1);
    VkCommandPoolCreateInfo pool_info;
    VkCommandBufferAllocateInfo info;
    VkCommandBufferBeginInfo begin;
    VkCommandPool pool;
    VkCommandBuffer commands;
    spyi_vk_semaphores none;
    uint64_t id;
    memset(&none, 0, sizeof none);
    memset(&pool_info, 0, sizeof pool_info);
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = vk->queue_family;
    assert_int_equal(vk->vk.vkCreateCommandPool(vk->device, &pool_info, NULL, &pool), VK_SUCCESS);
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandPool = pool;
    info.commandBufferCount = 1;
    assert_int_equal(vk->vk.vkAllocateCommandBuffers(vk->device, &info, &commands), VK_SUCCESS);
    memset(&begin, 0, sizeof begin);
    begin.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    assert_int_equal(vk->vk.vkBeginCommandBuffer(commands, &begin), VK_SUCCESS);
    test_ok(t, spyi_vk_begin_recording(vk, commands, &id, &t->error));
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    for (int i = 0; i < 3; i++) {
        d.targets[0].clear = false;
        if (i == 0) test_clear(&d, 0, 0, 0, 1);
        d.scissor[0] = i * 8;
        d.scissor[2] = 8;
        canvas_draw(t, &c, &d);
        assert_true(vk->pass.commands == VK_NULL_HANDLE && vk->commands == VK_NULL_HANDLE);
        vk->vk.vkCmdFillBuffer(commands, (VkBuffer)chunk.handle, 0, 256, 0);
    }
    assert_int_equal(test_stats(t)->passes, 3);
    test_ok(t, spyi_vk_end_recording(vk, &t->error));
    assert_int_equal(vk->vk.vkEndCommandBuffer(commands), VK_SUCCESS);
    test_ok(t, spyi_vk_queue_submit(vk, vk->queue, commands, &none, &none, &t->error));
    assert_int_equal(vk->vk.vkQueueWaitIdle(vk->queue), VK_SUCCESS);
    test_ok(t, spyi_vk_finish_recording(vk, id, &t->error));
    d.scissor[0] = 24;
    d.targets[0].clear = false;
    uint64_t barriers = test_stats(t)->barriers;
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->barriers, barriers + 1); // the first draw of the device's own
    canvas_draw(t, &c, &d);
    assert_int_equal(test_stats(t)->barriers, barriers + 1);
    assert_int_equal(test_stats(t)->passes, 4);
    expect_rectangle(t, &c, 0, 0, 32, SIZE, red, black);
    vk->vk.vkDestroyCommandPool(vk->device, pool, NULL);
    backend->free_chunk(t->gpu, &chunk);
    canvas_close(t, &c);
}
BOTH_WAYS(test_engine)

// A kept draw is a copy of all that it points to, and shows its kernel, pointers and handles.
typedef struct visit {
    uint32_t kernels, pointers, handles, images;
} visit;

static void visit_kernel(void *user, spyi_kernel **kernel) {
    assert_non_null(*kernel);
    ((visit *)user)->kernels++;
}

static void visit_inside(void *user, void *pointer) {
    (void)pointer;
    ((visit *)user)->pointers++;
}

static void visit_handle(void *user, uint64_t *handle, uint64_t *offset) {
    assert_int_equal(*offset, *handle * 16);
    ((visit *)user)->handles += 1u << *handle;
}

static void visit_image(void *user, uint64_t *handle) {
    ((visit *)user)->images += 1u << *handle;
}

static void test_keep(void **state) {
    const spyi_kernel_base kernel = { 12, 3, 1, 0, false };
    const char block_bytes[12] = "some values", uniform_bytes[5] = "more";
    const spyi_binding bindings[3] = { { 1, 16, 8, SPYI_BINDING_BUFFER },
                                       { 2, 0, 3, SPYI_BINDING_COMBINED },
                                       { 4, 0, 0, SPYI_BINDING_TEXTURE } };
    const spyi_uniform uniform = { uniform_bytes, sizeof uniform_bytes };
    const spyi_work_visitor visitor_of = { visit_kernel, visit_inside, NULL, visit_handle, NULL, visit_image };
    spyi_work_visitor visitor = visitor_of;
    spyi_draw_work d;
    visit seen;
    (void)state;
    memset(&d, 0, sizeof d);
    memset(&seen, 0, sizeof seen);
    d.work = spyi_work_of(spyi_work_draw());
    d.kernel = (spyi_kernel *)(uintptr_t)&kernel;
    d.block = block_bytes;
    d.bindings = bindings;
    d.uniforms = &uniform;
    d.target_count = 2; // the first one is missing
    d.targets[1].image = 5;
    d.targets[1].view = 6;
    d.targets[1].resolve = 7;
    d.depth.image = 8;
    d.depth.view = 9;
    d.buffer_count = 1;
    d.buffers[0].handle = 2;
    d.buffers[0].offset = 32;
    d.indices.handle = 3;
    d.indices.offset = 48;
    d.indirect.handle = 4;
    d.indirect.offset = 64;
    const size_t size = d.work.kind->keep(&d.work, NULL);
    char *bytes = (char *)malloc(size);
    assert_int_equal(d.work.kind->keep(&d.work, bytes), size);
    spyi_draw_work *kept = (spyi_draw_work *)(void *)bytes;
    assert_true((const char *)kept->block > bytes && (const char *)kept->block < bytes + size);
    assert_memory_equal(kept->block, block_bytes, sizeof block_bytes);
    assert_memory_equal(kept->bindings, bindings, sizeof bindings);
    assert_true(kept->uniforms != &uniform && kept->uniforms->data != uniform_bytes);
    assert_memory_equal(kept->uniforms->data, uniform_bytes, sizeof uniform_bytes);
    assert_true(d.block == block_bytes && d.bindings == bindings && d.uniforms == &uniform); // as it was
    visitor.user = &seen;
    d.work.kind->visit(&kept->work, &visitor);
    assert_int_equal(seen.kernels, 1);
    assert_int_equal(seen.pointers, 4);
    assert_int_equal(seen.handles, 1u << 1 | 1u << 2 | 1u << 3 | 1u << 4);
    assert_int_equal(seen.images, 0x3fcu); // 2 to 9
    free(bytes);
}

// A pass waits for earlier ones only where they drew into its targets.
static void test_waits_with(test_gpu *t) {
    spyi_vk_gpu *vk = test_vk(t);
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c[40];
    block b = test_block(1, 0, 0, 1);
    for (int i = 0; i < 40; i++) c[i] = canvas_open(t, &desc, 1);
    for (int i = 0; i < 43; i++) {
        canvas *to = &c[i == 2 ? 0 : i > 2 ? i - 3 : i];
        spyi_draw_work d = test_draw(to->kernel, &b, &to->p);
        if (to->p.how == 0) test_clear(&d, 0, 0, 0, 1);
        canvas_draw(t, to, &d);
        if (i < 2) assert_int_equal(vk->written_count, i + 1);
        if (i == 2) assert_int_equal(vk->written_count, 1); // the first target again: a barrier for all
        if (i == 4) assert_int_equal(vk->written_count, 2); // and only now the second one
        if (i == 34) assert_int_equal(vk->written_count, SPYI_VK_WRITTEN);
        if (i == 35) assert_int_equal(vk->written_count, 1); // no room for more
    }
    assert_int_equal(test_stats(t)->passes, 42); // the fourth draw is of the third pass
    for (int i = 0; i < 40; i++) canvas_close(t, &c[i]);
}
BOTH_WAYS(test_waits)

// Timestamps end a pass, as a pool of them is reset. A draw never submits before it is recorded: the caller has noted
// that its resources belong to the open batch.
static void test_times_with(test_gpu *t) {
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1), other = canvas_open(t, &desc, 1);
    const block b = test_block(1, 0, 0, 1);
    uint64_t ns = 0;
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p), to_other = test_draw(other.kernel, &b, &other.p);
    d.targets[0].ignore = to_other.targets[0].ignore = true;
    if (test_vk(t)->adapter.timestamp_bits != 0) {
        canvas_draw(t, &c, &d);
        test_ok(t, backend->time_begin(t->gpu, &t->error));
        canvas_draw(t, &c, &d);
        test_ok(t, work_time_mark(backend, t->gpu, 0, &t->error));
        canvas_draw(t, &c, &d);
        test_ok(t, backend->time_end(t->gpu, &t->error));
        test_ok(t, backend->time_elapsed(t->gpu, &ns, &t->error));
        assert_true(ns > 0);
        assert_int_equal(test_stats(t)->passes, 3);
    }
    test_wait_all(t);
    for (int i = 0; i < 1100; i++) {
        const uint64_t open = spyi_open_submit(t->gpu);
        canvas_draw(t, i % 2 ? &other : &c, i % 2 ? &to_other : &d);
        assert_true(spyi_open_submit(t->gpu) == open || test_vk(t)->batch == NULL);
    }
    canvas_close(t, &c);
    canvas_close(t, &other);
}
BOTH_WAYS(test_times)

// >>commands of repeated draws

enum { BINDS, VIEWPORTS, SCISSORS, BLENDS, STENCILS, BUFFERS, INDICES, PUSHES, BARRIERS, COMMANDS };

static spyi_vk_functions counted; // the driver's
static unsigned counts[COMMANDS];

#define COUNT(number, name, params, args)                                                                    \
    static VKAPI_ATTR void VKAPI_CALL count_##name params {                                                  \
        counts[number]++;                                                                                    \
        counted.name args;                                                                                   \
    }

COUNT(BINDS, vkCmdBindPipeline, (VkCommandBuffer c, VkPipelineBindPoint p, VkPipeline q), (c, p, q))
COUNT(VIEWPORTS, vkCmdSetViewport, (VkCommandBuffer c, uint32_t f, uint32_t n, const VkViewport *v), (c, f, n, v))
COUNT(SCISSORS, vkCmdSetScissor, (VkCommandBuffer c, uint32_t f, uint32_t n, const VkRect2D *r), (c, f, n, r))
COUNT(BLENDS, vkCmdSetBlendConstants, (VkCommandBuffer c, const float b[4]), (c, b))
COUNT(STENCILS, vkCmdSetStencilReference, (VkCommandBuffer c, VkStencilFaceFlags f, uint32_t r), (c, f, r))
COUNT(BUFFERS, vkCmdBindVertexBuffers,
      (VkCommandBuffer c, uint32_t f, uint32_t n, const VkBuffer *b, const VkDeviceSize *o), (c, f, n, b, o))
COUNT(INDICES, vkCmdBindIndexBuffer, (VkCommandBuffer c, VkBuffer b, VkDeviceSize o, VkIndexType t), (c, b, o, t))
COUNT(PUSHES, vkCmdPushDescriptorSetKHR,
      (VkCommandBuffer c, VkPipelineBindPoint p, VkPipelineLayout l, uint32_t s, uint32_t n, const VkWriteDescriptorSet *w),
      (c, p, l, s, n, w))
COUNT(BARRIERS, vkCmdPipelineBarrier,
      (VkCommandBuffer c, VkPipelineStageFlags f, VkPipelineStageFlags t, VkDependencyFlags d, uint32_t m,
       const VkMemoryBarrier *mb, uint32_t b, const VkBufferMemoryBarrier *bb, uint32_t i, const VkImageMemoryBarrier *ib),
      (c, f, t, d, m, mb, b, bb, i, ib))

static void count_from_here(test_gpu *t) {
    spyi_vk_functions *vk = &test_vk(t)->vk;
    counted = *vk;
    vk->vkCmdBindPipeline = count_vkCmdBindPipeline;
    vk->vkCmdSetViewport = count_vkCmdSetViewport;
    vk->vkCmdSetScissor = count_vkCmdSetScissor;
    vk->vkCmdSetBlendConstants = count_vkCmdSetBlendConstants;
    vk->vkCmdSetStencilReference = count_vkCmdSetStencilReference;
    vk->vkCmdBindVertexBuffers = count_vkCmdBindVertexBuffers;
    vk->vkCmdBindIndexBuffer = count_vkCmdBindIndexBuffer;
    vk->vkCmdPushDescriptorSetKHR = count_vkCmdPushDescriptorSetKHR;
    vk->vkCmdPipelineBarrier = count_vkCmdPipelineBarrier;
    memset(counts, 0, sizeof counts);
}

// The commands since the last look are `expected` of each sort; forgets them.
static void expect_counts(const char *what, const unsigned expected[COMMANDS]) {
    static const char *const names[COMMANDS] = { "vkCmdBindPipeline",      "vkCmdSetViewport",
                                                 "vkCmdSetScissor",        "vkCmdSetBlendConstants",
                                                 "vkCmdSetStencilReference", "vkCmdBindVertexBuffers",
                                                 "vkCmdBindIndexBuffer",   "vkCmdPushDescriptorSetKHR",
                                                 "vkCmdPipelineBarrier" };
    for (int i = 0; i < COMMANDS; i++)
        if (counts[i] != expected[i]) fail_msg("%s: %u x %s, not %u", what, counts[i], names[i], expected[i]);
    memset(counts, 0, sizeof counts);
}

// A command buffer keeps what draws have set, from pass to pass: a draw that repeats the last one in all but its target
// and its numbers sets nothing. Blend colours and stencil references are for the pipelines that use them.
static void test_commands_with(test_gpu *t) {
    spyi_parameter parameters[2];
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT), textured = desc, blended = desc,
                     meshed = test_vertex_desc(SPY_FORMAT_RGBA32_FLOAT);
    test_texture_and_sampler(parameters);
    STAGE(textured, SPYI_RASTER_FRAGMENT, fragment_texture);
    textured.iface.parameters = parameters;
    textured.iface.parameter_count = 2;
    blended.state.blends[0].enabled = 1;
    blended.state.blends[0].color_from = blended.state.blends[0].alpha_from = SPY_BLEND_FACTOR_CONSTANT;
    blended.state.blends[0].color_to = blended.state.blends[0].alpha_to = SPY_BLEND_FACTOR_ZERO;
    canvas c[4], mesh = canvas_open(t, &meshed, 1), blend = canvas_open(t, &blended, 1);
    for (int i = 0; i < 4; i++) c[i] = canvas_open(t, i < 2 ? &desc : &textured, 1);
    static const uint16_t three[3] = { 0, 1, 2 };
    spyi_chunk vertices[2] = { test_chunk(t, lower_left, sizeof lower_left), test_chunk(t, lower_left, sizeof lower_left) };
    spyi_chunk indices = test_chunk(t, three, sizeof three);
    spy_sampler_desc sampler_desc;
    uint64_t sampler;
    memset(&sampler_desc, 0, sizeof sampler_desc);
    test_ok(t, backend->images->create_sampler(t->gpu, &sampler_desc, &sampler, &t->error));
    const block b = test_block(0.5f, 1, 1, 1);
    spyi_draw_work d[2];
    for (int i = 0; i < 2; i++) {
        d[i] = test_draw(c[0].kernel, &b, &c[i].p);
        d[i].targets[0].ignore = true;
        canvas_draw(t, &c[i], &d[i]);
    }

    count_from_here(t); // the passes alternate, and every second one waits
    for (int i = 0; i < 8; i++) canvas_draw(t, &c[i % 2], &d[i % 2]);
    expect_counts("rotating targets", (const unsigned[COMMANDS]){ [BARRIERS] = 4 });
    d[0].viewport[2] = d[1].viewport[2] = SIZE / 2;
    for (int i = 0; i < 4; i++) canvas_draw(t, &c[i % 2], &d[i % 2]);
    expect_counts("another viewport", (const unsigned[COMMANDS]){ [VIEWPORTS] = 1, [BARRIERS] = 2 });
    d[1].scissor[2] = SIZE / 4; // and each draw has another scissor than the last one
    for (int i = 0; i < 4; i++) canvas_draw(t, &c[i % 2], &d[i % 2]);
    expect_counts("scissors in turns", (const unsigned[COMMANDS]){ [SCISSORS] = 3, [BARRIERS] = 2 });

    spyi_draw_work m = test_draw(mesh.kernel, &b, &mesh.p);
    test_clear(&m, 0, 0, 0, 1);
    m.buffers[0].handle = vertices[0].handle;
    m.buffer_count = 1;
    m.indices.handle = indices.handle;
    m.short_indices = true;
    m.scissor[2] = SIZE / 4;
    m.viewport[2] = SIZE / 2;
    m.work.before.barrier = true;
    canvas_draw(t, &mesh, &m);
    m.work.before.barrier = false;
    m.targets[0].clear = false;
    memset(counts, 0, sizeof counts);
    for (int i = 0; i < 3; i++) canvas_draw(t, &mesh, &m);
    expect_counts("the same mesh", (const unsigned[COMMANDS]){ 0 });
    m.buffers[0].handle = vertices[1].handle;
    for (int i = 0; i < 3; i++) canvas_draw(t, &mesh, &m);
    expect_counts("other vertices", (const unsigned[COMMANDS]){ [BUFFERS] = 1 });

    spyi_binding bindings[2] = { { 0, 0, 0, 0 } };
    spyi_transition transitions[3];
    spyi_draw_work x = test_draw(c[2].kernel, &b, &c[2].p);
    x.bindings = bindings;
    bindings[0].kind = SPYI_BINDING_TEXTURE;
    bindings[0].handle = c[0].p.sampled;
    bindings[0].offset = SPYI_USE_SAMPLED;
    bindings[1].kind = SPYI_BINDING_SAMPLER;
    bindings[1].handle = sampler;
    x.work.before.transitions = transitions;
    for (int i = 0; i < 2; i++)
        x.work.before.transition_count +=
            picture_use(&c[i].p, SPYI_USE_READS | SPYI_USE_SAMPLED, &transitions[x.work.before.transition_count]);
    x.work.before.transition_count +=
        picture_use(&c[2].p, SPYI_USE_WRITES | SPYI_USE_ATTACHMENT, &transitions[x.work.before.transition_count]);
    x.targets[0].ignore = true;
    test_ok(t, spyi_record(backend, t->gpu, &x.work, &t->error));
    expect_counts("a textured pipeline", (const unsigned[COMMANDS]){
                                             [BINDS] = 1, [VIEWPORTS] = 1, [SCISSORS] = 1, [PUSHES] = 1, [BARRIERS] = 1 });
    x.work.before.transition_count = 0;
    for (int i = 0; i < 3; i++) test_ok(t, spyi_record(backend, t->gpu, &x.work, &t->error));
    expect_counts("the same texture", (const unsigned[COMMANDS]){ 0 });
    bindings[0].handle = c[1].p.sampled; // in the same list: what was pushed is known by its values
    for (int i = 0; i < 3; i++) test_ok(t, spyi_record(backend, t->gpu, &x.work, &t->error));
    expect_counts("another texture", (const unsigned[COMMANDS]){ [PUSHES] = 1 });
    test_ok(t, backend->submit(t->gpu, &t->error)); // another command buffer, which has nothing
    test_ok(t, spyi_record(backend, t->gpu, &x.work, &t->error));
    counts[BARRIERS] = 0;
    expect_counts("another command buffer", (const unsigned[COMMANDS]){
                                                [BINDS] = 1, [VIEWPORTS] = 1, [SCISSORS] = 1, [PUSHES] = 1 });

    spyi_draw_work f = test_draw(blend.kernel, &b, &blend.p);
    test_clear(&f, 0, 0, 0, 0);
    for (int i = 0; i < 4; i++) f.blend_color[i] = 0.5f;
    canvas_draw(t, &blend, &f);
    f.targets[0].clear = false;
    for (int i = 0; i < 2; i++) canvas_draw(t, &blend, &f);
    counts[BARRIERS] = 0;
    expect_counts("a blend colour", (const unsigned[COMMANDS]){ [BINDS] = 1, [BLENDS] = 1 });
    x.targets[0].ignore = false;
    test_ok(t, spyi_record(backend, t->gpu, &x.work, &t->error)); // its pipeline has none, ...
    canvas_draw(t, &blend, &f);                                    // ... after which it is set again
    counts[BARRIERS] = 0;
    expect_counts("and again", (const unsigned[COMMANDS]){ [BINDS] = 2, [BLENDS] = 1, [PUSHES] = 1 });
    test_vk(t)->vk = counted;

    // Each picture is what its draws say although little was set.
    static const float half[4] = { 0.25f, 0.5f, 0.5f, 0.5f };
    expect_rectangle(t, &blend, 0, 0, SIZE, SIZE, half, half);
    picture_read(t, &mesh.p, mesh.pixels);
    expect_color(&mesh, 1, SIZE - 2, 0.5f, 0, 0, 1);
    expect_color(&mesh, SIZE / 4, SIZE - 2, 0, 0, 0, 1); // outside of the scissor
    picture_read(t, &c[2].p, c[2].pixels);
    expect_color(&c[2], SIZE - 1, 0, 0.25f, 1, 1, 1); // the second texture's, all of which the first draw filled
    test_wait_all(t);
    for (int i = 0; i < 2; i++) backend->free_chunk(t->gpu, &vertices[i]);
    backend->free_chunk(t->gpu, &indices);
    backend->images->destroy_sampler(t->gpu, sampler);
    for (int i = 0; i < 4; i++) canvas_close(t, &c[i]);
    canvas_close(t, &mesh), canvas_close(t, &blend);
}
BOTH_WAYS(test_commands)

// The time to record a draw, beside the same calls of Vulkan without the library, in turns. `rotate`: each draw has
// another target, so that each is a pass, and those into one target are ordered by barriers. The bare calls use as many
// command buffers in turn as the library does.
enum { DRAWS = 256, TURNS = 50, ROTATED = 4 };

static uint64_t time_library(test_gpu *t, spyi_draw_work *d, bool rotate) {
    test_wait_all(t);
    const uint64_t begin = spyi_time_ns();
    for (int i = 0; i < DRAWS; i++) {
        const int at = rotate ? i % ROTATED : 0;
        d[at].scissor[0] = i % 8;
        test_ok(t, spyi_record(backend, t->gpu, &d[at].work, &t->error));
    }
    return spyi_time_ns() - begin;
}

static uint64_t time_bare(test_gpu *t, canvas *c, VkCommandPool pool, VkCommandBuffer commands, const block *b, bool rotate) {
    const spyi_vk_functions *vk = &test_vk(t)->vk;
    const spyi_vk_kernel *kernel = (const spyi_vk_kernel *)(const void *)c->kernel;
    VkCommandBufferBeginInfo begin_info;
    VkRenderingAttachmentInfo target;
    VkRenderingInfo info;
    memset(&begin_info, 0, sizeof begin_info);
    begin_info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO;
    const uint64_t begin = spyi_time_ns(); // the library resets and begins a buffer in this time, too
    assert_int_equal(vk->vkResetCommandPool(test_vk(t)->device, pool, 0), VK_SUCCESS);
    assert_int_equal(vk->vkBeginCommandBuffer(commands, &begin_info), VK_SUCCESS);
    for (int i = 0; i < DRAWS; i++) {
        const VkViewport viewport = { 0, SIZE, SIZE, -SIZE, 0, 1 };
        const VkRect2D scissor = { { i % 8, 0 }, { SIZE, SIZE } };
        const float blend[4] = { 0, 0, 0, 0 };
        const bool first = rotate || i == 0;
        if (rotate && i % ROTATED == 0) {
            VkMemoryBarrier barrier;
            const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT;
            memset(&barrier, 0, sizeof barrier);
            barrier.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER;
            barrier.srcAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT;
            barrier.dstAccessMask = VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT | VK_ACCESS_COLOR_ATTACHMENT_READ_BIT;
            vk->vkCmdPipelineBarrier(commands, stage, stage, 0, 1, &barrier, 0, NULL, 0, NULL);
        }
        if (first) {
            memset(&target, 0, sizeof target);
            target.sType = VK_STRUCTURE_TYPE_RENDERING_ATTACHMENT_INFO;
            target.imageView = (VkImageView)c[rotate ? i % ROTATED : 0].p.target;
            target.imageLayout = VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL;
            target.loadOp = VK_ATTACHMENT_LOAD_OP_LOAD;
            target.storeOp = VK_ATTACHMENT_STORE_OP_STORE;
            memset(&info, 0, sizeof info);
            info.sType = VK_STRUCTURE_TYPE_RENDERING_INFO;
            info.renderArea.extent.width = info.renderArea.extent.height = SIZE;
            info.layerCount = info.colorAttachmentCount = 1;
            info.pColorAttachments = &target;
            vk->vkCmdBeginRendering(commands, &info);
            vk->vkCmdSetViewport(commands, 0, 1, &viewport);
            vk->vkCmdSetBlendConstants(commands, blend);
            vk->vkCmdSetStencilReference(commands, VK_STENCIL_FACE_FRONT_AND_BACK, 0);
            vk->vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, kernel->pipeline);
        }
        vk->vkCmdSetScissor(commands, 0, 1, &scissor);
        vk->vkCmdPushConstants(commands, kernel->layout, kernel->stages, 0, sizeof *b, b);
        vk->vkCmdDraw(commands, 3, 1, 0, 0);
        if (rotate) vk->vkCmdEndRendering(commands);
    }
    if (!rotate) vk->vkCmdEndRendering(commands);
    const uint64_t spent = spyi_time_ns() - begin;
    assert_int_equal(vk->vkEndCommandBuffer(commands), VK_SUCCESS);
    return spent;
}

static void test_cost(void **state) {
    test_gpu t;
    canvas c[ROTATED];
    spyi_draw_work d[ROTATED];
    VkCommandPoolCreateInfo pool_info;
    VkCommandBufferAllocateInfo info;
    VkCommandPool pools[SPYI_VK_BATCHES];
    VkCommandBuffer commands[SPYI_VK_BATCHES];
    (void)state;
    if (!test_open_way(&t, true)) skip();
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    const block b = test_block(1, 0, 0, 1);
    for (int i = 0; i < ROTATED; i++) {
        c[i] = canvas_open(&t, &desc, 1);
        d[i] = test_draw(c[0].kernel, &b, &c[i].p);
        canvas_draw(&t, &c[i], &d[i]);
        d[i].work.before.transition_count = 0;
    }
    memset(&pool_info, 0, sizeof pool_info);
    pool_info.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO;
    pool_info.queueFamilyIndex = test_vk(&t)->queue_family;
    memset(&info, 0, sizeof info);
    info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO;
    info.commandBufferCount = 1;
    for (uint32_t i = 0; i < SPYI_VK_BATCHES; i++) {
        const spyi_vk_functions *vk = &test_vk(&t)->vk;
        assert_int_equal(vk->vkCreateCommandPool(test_vk(&t)->device, &pool_info, NULL, &pools[i]), VK_SUCCESS);
        info.commandPool = pools[i];
        assert_int_equal(vk->vkAllocateCommandBuffers(test_vk(&t)->device, &info, &commands[i]), VK_SUCCESS);
    }
    for (int rotate = 0; rotate < 2; rotate++) {
        uint64_t best = UINT64_MAX, bare = UINT64_MAX;
        for (int i = 0; i < TURNS; i++) {
            const uint64_t is = time_library(&t, d, rotate == 1);
            const uint32_t at = (uint32_t)i % SPYI_VK_BATCHES;
            const uint64_t was = time_bare(&t, c, pools[at], commands[at], &b, rotate == 1);
            if (is < best) best = is;
            if (was < bare) bare = was;
        }
        print_message("a draw into %s: %.0f ns, bare Vulkan: %.0f ns\n", rotate ? "rotating targets" : "one target",
                      (double)best / DRAWS, (double)bare / DRAWS);
    }
    test_wait_all(&t);
    for (uint32_t i = 0; i < SPYI_VK_BATCHES; i++)
        test_vk(&t)->vk.vkDestroyCommandPool(test_vk(&t)->device, pools[i], NULL);
    for (int i = 0; i < ROTATED; i++) canvas_close(&t, &c[i]);
    test_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_passes), cmocka_unit_test(test_engine), cmocka_unit_test(test_keep),
        cmocka_unit_test(test_waits), cmocka_unit_test(test_commands), cmocka_unit_test(test_cost),
        cmocka_unit_test(test_times),
    };
    return RUN_RASTER_TESTS(tests);
}
