// What draws read: vertices with indices, instances and indirect counts, textures, and parameter blocks of all sizes; and what they
// write to buffers.
#include "vk_raster_test.h"

// >>vertices

// Two triangles of a rectangle that covers the left half. Indices, of 16 and 32 bits, with an offset.
static void test_indices_with(test_gpu *t) {
    static const vertex corners[5] = { { { 9, 9 }, { 9, 9, 9, 9 } },
                                       { { -1, -1 }, { 1, 0, 0, 1 } },
                                       { { 0, -1 }, { 1, 0, 0, 1 } },
                                       { { -1, 1 }, { 1, 0, 0, 1 } },
                                       { { 0, 1 }, { 1, 0, 0, 1 } } };
    static const uint32_t wide[8] = { 77, 77, 0, 1, 2, 2, 1, 3 };
    static const uint16_t narrow[8] = { 77, 77, 0, 1, 2, 2, 1, 3 };
    spyi_raster_desc desc = test_vertex_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    spyi_chunk vertices = test_chunk(t, corners, sizeof corners);
    spyi_chunk indices[2] = { test_chunk(t, wide, sizeof wide), test_chunk(t, narrow, sizeof narrow) };
    const block b = test_block(1, 1, 1, 1);
    for (int i = 0; i < 2; i++) {
        spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
        test_clear(&d, 0, 0, 0, 1);
        d.buffers[0].handle = vertices.handle;
        d.buffer_count = 1;
        d.indices.handle = indices[i].handle;
        d.indices.offset = i == 0 ? 4 : 2;
        d.short_indices = i == 1;
        d.first = 1;
        d.first_vertex = 1;
        d.count = 6;
        d.work.before.barrier = true;
        canvas_draw(t, &c, &d);
        expect_rectangle(t, &c, 0, 0, SIZE / 2, SIZE, red, black);
    }
    test_wait_all(t);
    backend->free_chunk(t->gpu, &vertices);
    backend->free_chunk(t->gpu, &indices[0]);
    backend->free_chunk(t->gpu, &indices[1]);
    canvas_close(t, &c);
}
BOTH_WAYS(test_indices)

// Each instance is moved to the right by half of the picture; SV_InstanceID counts from 0 whatever the first one is.
// Then the colours come from a buffer with an element for each instance, or each two.
static void test_instances_with(test_gpu *t) {
    static const float colors[3][4] = { { 9, 9, 9, 9 }, { 1, 0, 0, 1 }, { 0, 1, 0, 1 } };
    static const float quad[6][2] = { { -1, -1 }, { 0, -1 }, { -1, 1 }, { -1, 1 }, { 0, -1 }, { 0, 1 } };
    spyi_raster_desc desc = test_vertex_desc(SPY_FORMAT_RGBA32_FLOAT);
    desc.state.buffer_count = 2;
    desc.state.buffers[0].stride = sizeof quad[0];
    desc.state.buffers[1].stride = sizeof colors[0];
    desc.state.buffers[1].per_instance = 1;
    desc.state.attributes[1].buffer = 1;
    desc.state.attributes[1].offset = 0;
    canvas c = canvas_open(t, &desc, 1);
    spyi_chunk positions = test_chunk(t, quad, sizeof quad), tints = test_chunk(t, colors, sizeof colors);
    const block b = test_block(1, 1, 1, 1);
    spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
    test_clear(&d, 0, 0, 0, 1);
    d.buffers[0].handle = positions.handle;
    d.buffers[1].handle = tints.handle;
    d.buffer_count = 2;
    d.count = 6;
    d.instance_count = 2;
    d.first_instance = 1;
    d.work.before.barrier = true;
    canvas_draw(t, &c, &d);
    expect_rectangle(t, &c, 0, 0, SIZE / 2, SIZE, red, green);
    if (test_vk(t)->adapter.features[SPYI_VK_FEATURE_vertexAttributeInstanceRateDivisor]) {
        desc.state.buffers[1].per_instance = 2;
        backend->destroy_kernel(t->gpu, c.kernel);
        d.kernel = c.kernel = test_load(t, &desc);
        d.buffers[1].offset = sizeof colors[0];
        d.first_instance = 0;
        canvas_draw(t, &c, &d);
        expect_rectangle(t, &c, 0, 0, SIZE, SIZE, red, red);
    }
    test_wait_all(t);
    backend->free_chunk(t->gpu, &positions);
    backend->free_chunk(t->gpu, &tints);
    canvas_close(t, &c);
}
BOTH_WAYS(test_instances)

static void test_indirect_with(test_gpu *t) {
    static const uint32_t counts[2][4] = { { 6, 1, 0, 0 }, { 6, 1, 6, 0 } };
    static const uint32_t indexed[2][5] = { { 6, 1, 0, 0, 0 }, { 6, 1, 0, 6, 0 } };
    static const uint32_t order[6] = { 0, 1, 2, 3, 4, 5 };
    vertex quads[12];
    static const float quad[6][2] = { { -1, -1 }, { 0, -1 }, { -1, 1 }, { -1, 1 }, { 0, -1 }, { 0, 1 } };
    for (int i = 0; i < 12; i++) { // the left half is red, the right half green
        const float color[4] = { i < 6 ? 1.0f : 0, i < 6 ? 0 : 1.0f, 0, 1 };
        quads[i].position[0] = quad[i % 6][0] + (i < 6 ? 0 : 1.0f);
        quads[i].position[1] = quad[i % 6][1];
        memcpy(quads[i].color, color, sizeof color);
    }
    spyi_raster_desc desc = test_vertex_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas c = canvas_open(t, &desc, 1);
    spyi_chunk vertices = test_chunk(t, quads, sizeof quads), indices = test_chunk(t, order, sizeof order);
    spyi_chunk indirect[2] = { test_chunk(t, counts, sizeof counts), test_chunk(t, indexed, sizeof indexed) };
    const block b = test_block(1, 1, 1, 1);
    for (int i = 0; i < 4; i++) { // the last two as on a device that draws only one at a time
        spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
        test_clear(&d, 0, 0, 0, 1);
        d.buffers[0].handle = vertices.handle;
        d.buffer_count = 1;
        if (i % 2 == 1) d.indices.handle = indices.handle;
        d.count = 0;
        d.indirect.handle = indirect[i % 2].handle;
        d.indirect_count = 2;
        d.work.before.barrier = true;
        if (i == 2) test_vk(t)->adapter.features[SPYI_VK_FEATURE_multiDrawIndirect] = false;
        canvas_draw(t, &c, &d);
        expect_rectangle(t, &c, 0, 0, SIZE / 2, SIZE, red, green);
    }
    test_wait_all(t);
    backend->free_chunk(t->gpu, &vertices);
    backend->free_chunk(t->gpu, &indices);
    backend->free_chunk(t->gpu, &indirect[0]);
    backend->free_chunk(t->gpu, &indirect[1]);
    canvas_close(t, &c);
}
BOTH_WAYS(test_indirect)

// >>textures, parameters and writes

// A draw samples what another draw has made, and a dispatch reads that.
static void test_textures_with(test_gpu *t) {
    spyi_parameter parameters[2];
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    canvas first = canvas_open(t, &desc, 1);
    test_texture_and_sampler(parameters);
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_texture);
    desc.iface.parameters = parameters;
    desc.iface.parameter_count = 2;
    canvas second = canvas_open(t, &desc, 1);
    spy_sampler_desc sampler_desc;
    spyi_binding bindings[2] = { { 0, 0, 0, 0 } };
    spyi_transition transitions[2];
    uint64_t sampler;
    const block one = test_block(0, 0, 0.5f, 1), two = test_block(1, 1, 0.5f, 1);
    memset(&sampler_desc, 0, sizeof sampler_desc);
    sampler_desc.min_filter = sampler_desc.mag_filter = SPY_FILTER_NEAREST;
    test_ok(t, backend->images->create_sampler(t->gpu, &sampler_desc, &sampler, &t->error));
    spyi_draw_work d = test_draw(first.kernel, &one, &first.p);
    test_clear(&d, 0, 1, 0, 1);
    d.scissor[2] = 16;
    canvas_draw(t, &first, &d);

    d = test_draw(second.kernel, &two, &second.p);
    d.bindings = bindings;
    bindings[0].kind = SPYI_BINDING_TEXTURE;
    bindings[0].handle = first.p.sampled;
    bindings[0].offset = SPYI_USE_SAMPLED;
    bindings[1].kind = SPYI_BINDING_SAMPLER;
    bindings[1].handle = sampler;
    d.work.before.transitions = transitions;
    d.work.before.transition_count = picture_use(&first.p, SPYI_USE_READS | SPYI_USE_SAMPLED, &transitions[0]) +
                                     picture_use(&second.p, SPYI_USE_WRITES | SPYI_USE_ATTACHMENT, &transitions[1]);
    assert_int_equal(d.work.before.transition_count, 2);
    d.targets[0].ignore = true;
    test_ok(t, spyi_record(backend, t->gpu, &d.work, &t->error));

    // The dispatch ends the pass and waits for it by the transition alone.
    spyi_kernel_desc reader_desc;
    memset(&reader_desc, 0, sizeof reader_desc);
    reader_desc.label = reader_desc.entry = "read_target";
    reader_desc.code = raster_read_target;
    reader_desc.code_size = sizeof raster_read_target;
    work_group(&reader_desc, 8);
    parameters[1].kind = SPYI_PARAMETER_BUFFER;
    reader_desc.iface.parameters = parameters;
    reader_desc.iface.parameter_count = 2;
    spyi_kernel *reader = NULL;
    test_ok(t, backend->load(t->gpu, &reader_desc, &reader, &t->error));
    spyi_chunk result = test_chunk(t, NULL, SIZE * SIZE * 16);
    spyi_dispatch dispatch = work_dispatch();
    dispatch.kernel = reader;
    dispatch.bindings = bindings;
    dispatch.groups[0] = dispatch.groups[1] = SIZE / 8;
    dispatch.groups[2] = 1;
    bindings[0].handle = second.p.sampled;
    bindings[1].kind = SPYI_BINDING_BUFFER;
    bindings[1].handle = result.handle;
    bindings[1].range = SIZE * SIZE * 16;
    dispatch.work.before.transitions = transitions;
    dispatch.work.before.transition_count = picture_use(&second.p, SPYI_USE_READS | SPYI_USE_SAMPLED, transitions);
    test_ok(t, spyi_record(backend, t->gpu, &dispatch.work, &t->error));
    test_ok(t, backend->download(t->gpu, second.pixels, &result, 0, SIZE * SIZE * 16, spyi_open_submit(t->gpu),
                                 &t->error));
    for (int i = 0; i < SIZE * SIZE; i++) {
        if (i % SIZE < 16) expect_color(&second, i % SIZE, i / SIZE, 0, 0, 0.25f, 1);
        else expect_color(&second, i % SIZE, i / SIZE, 0, 1, 0, 1);
    }
    assert_int_equal(test_stats(t)->passes, 2);
    backend->free_chunk(t->gpu, &result);
    backend->destroy_kernel(t->gpu, reader);
    canvas_close(t, &first);
    canvas_close(t, &second);
    backend->images->destroy_sampler(t->gpu, sampler);
}
BOTH_WAYS(test_textures)

typedef struct wide_block {
    block first;
    float table[20][4];
} wide_block;

// A block that goes through memory, because it is too large for push constants, a uniform buffer and a typed buffer:
// each draw of a pass has its own.
static void test_inputs_with(test_gpu *t) {
    spyi_parameter parameters[2];
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    spyi_binding binding = { 0, 0, SIZE * 4, SPYI_BINDING_BUFFER };
    float numbers[SIZE];
    STAGE(desc, SPYI_RASTER_VERTEX, vertex_wide);
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_wide);
    memset(parameters, 0, sizeof parameters);
    parameters[0].kind = SPYI_PARAMETER_TEXELS;
    parameters[0].scalar = SPY_DTYPE_FLOAT32;
    parameters[0].columns = 1;
    parameters[1].kind = SPYI_PARAMETER_UNIFORM;
    parameters[1].number = 1;
    parameters[0].count = parameters[1].count = 1;
    desc.iface.parameters = parameters;
    desc.iface.parameter_count = 2;
    desc.iface.block_size = sizeof(wide_block);
    desc.iface.block_by_address = true;
    canvas c = canvas_open(t, &desc, 1);
    for (int i = 0; i < SIZE; i++) numbers[i] = (float)i;
    spyi_chunk chunk = test_chunk(t, numbers, sizeof numbers);
    binding.handle = chunk.handle;
    for (int i = 0; i < 4; i++) {
        wide_block b;
        float add[4] = { 0, (float)i, 0, 0 };
        spyi_uniform uniform = { add, sizeof add };
        memset(&b, 0, sizeof b);
        b.first = test_block((float)i, 0, 0, 1);
        b.table[19][0] = b.table[19][3] = 10;
        spyi_draw_work d = test_draw(c.kernel, NULL, &c.p);
        d.block = &b;
        d.bindings = &binding;
        d.uniforms = &uniform;
        d.scissor[1] = i * 16;
        d.scissor[3] = 16;
        d.work.before.barrier = i == 0;
        if (i == 0) test_clear(&d, 0, 0, 0, 1);
        canvas_draw(t, &c, &d);
        memset(&b, 0x7f, sizeof b);
        memset(add, 0x7f, sizeof add);
    }
    assert_int_equal(test_stats(t)->passes, 1);
    picture_read(t, &c.p, c.pixels);
    for (int i = 0; i < SIZE * SIZE; i++) {
        const int x = i % SIZE, y = i / SIZE, part = y / 16;
        expect_color(&c, x, y, (float)(part * 10), (float)part, (float)x, 10);
    }
    test_wait_all(t);
    backend->free_chunk(t->gpu, &chunk);
    canvas_close(t, &c);
}
BOTH_WAYS(test_inputs)

// A fragment shader counts its pixels in memory; a draw after a barrier goes on, and a copy reads the number.
static void test_writes_with(test_gpu *t) {
    spyi_parameter parameter;
    spyi_raster_desc desc = test_raster_desc(SPY_FORMAT_RGBA32_FLOAT);
    spyi_binding binding = { 0, 0, 4 + SIZE * 4, SPYI_BINDING_BUFFER };
    const block b = test_block(1, 1, 1, 1);
    uint32_t counts[1 + SIZE];
    STAGE(desc, SPYI_RASTER_FRAGMENT, fragment_count);
    memset(&parameter, 0, sizeof parameter);
    parameter.kind = SPYI_PARAMETER_BUFFER;
    parameter.count = 1;
    desc.iface.parameters = &parameter;
    desc.iface.parameter_count = 1;
    canvas c = canvas_open(t, &desc, 1);
    memset(counts, 0, sizeof counts);
    spyi_chunk chunk = test_chunk(t, counts, sizeof counts);
    binding.handle = chunk.handle;
    for (int i = 0; i < 2; i++) { // the last pixel of each row is the one that is kept
        spyi_draw_work d = test_draw(c.kernel, &b, &c.p);
        d.bindings = &binding;
        d.scissor[0] = i == 0 ? 0 : 20;
        d.scissor[2] = i == 0 ? 20 : 1;
        d.work.before.barrier = true;
        d.targets[0].ignore = i == 0;
        canvas_draw(t, &c, &d);
    }
    assert_int_equal(test_stats(t)->passes, 2);
    test_ok(t, backend->download(t->gpu, counts, &chunk, 0, sizeof counts, spyi_open_submit(t->gpu), &t->error));
    assert_int_equal(counts[0], 21 * SIZE);
    for (int i = 0; i < SIZE; i++) assert_int_equal(counts[1 + i], 20);
    backend->free_chunk(t->gpu, &chunk);
    canvas_close(t, &c);
}
BOTH_WAYS(test_writes)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_indices), cmocka_unit_test(test_instances), cmocka_unit_test(test_indirect),
        cmocka_unit_test(test_textures), cmocka_unit_test(test_inputs), cmocka_unit_test(test_writes),
    };
    return RUN_RASTER_TESTS(tests);
}
