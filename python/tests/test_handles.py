"""Bindless handles (B14, C7): descriptor_handle_* of textures, samplers and buffers, as arguments, in dicts, cursors, globals and raw
dispatches. Devices without descriptor indexing refuse them; lavapipe has it from Mesa 23 on."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Format, TextureUsage

RW = TextureUsage.shader_resource | TextureUsage.unordered_access
SOURCE = """
struct Material { float k; DescriptorHandle<Texture2D<float4>> image; float3 c; DescriptorHandle<StructuredBuffer<float>> values; }
float4 at(DescriptorHandle<Texture2D<float4>> h, int2 p) { return h[p]; }
void put(DescriptorHandle<RWTexture2D<float4>> h, int2 p, float4 v) { RWTexture2D<float4> t = *h; t[p] = v; }
float4 sampled(DescriptorHandle<Texture2D<float4>> t, DescriptorHandle<SamplerState> s, float2 uv) { return t.SampleLevel(s, uv, 0); }
float4 combined(DescriptorHandle<Sampler2D<float4>> t, float2 uv) { return t.SampleLevel(uv, 0); }
float get(DescriptorHandle<StructuredBuffer<float>> b, int i) { return b[i]; }
void set(DescriptorHandle<RWStructuredBuffer<float>> b, int i, float v) { RWStructuredBuffer<float> x = *b; x[i] = v; }
float4 shade(Material m, int2 p) { Texture2D<float4> t = nonuniform(m.image); return t[p] * m.k + float4(m.c, nonuniform(m.values)[1]); }
float4 pick(StructuredBuffer<Material> all, int i, int2 p) { return all[i].image[p] * all[i].k; }
ParameterBlock<Material> g_material;
float4 shade_global(int2 p) { return g_material.image[p] * g_material.k; }
[shader("compute")] [numthreads(8, 8, 1)]
void copy(uint3 t : SV_DispatchThreadID, uniform DescriptorHandle<Texture2D<float4>> a, uniform DescriptorHandle<RWTexture2D<float4>> b) {
    RWTexture2D<float4> o = *b; o[t.xy] = a[t.xy] * 2;
}
"""
DATA = np.random.default_rng(3).random((4, 5, 4)).astype(np.float32)
GRID = (4, 5)


@pytest.fixture(scope="module")
def bindless(device):
    if not device.has_feature(spy.Feature.bindless):
        pytest.skip("the device has no descriptor indexing")
    return device


@pytest.fixture(scope="module")
def m(bindless, load):
    return load(SOURCE)


def texture(device, data, usage=RW, **more):
    return device.create_texture(format=Format.rgba32_float, width=data.shape[1], height=data.shape[0], usage=usage, data=data, **more)


def floats(device):
    return device.create_buffer(data=np.arange(8, dtype=np.float32), struct_size=4, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource)


def test_devices_without_handles_say_so(device):
    t = texture(device, DATA)
    if device.has_feature("bindless"):
        assert t.descriptor_handle_ro.type == spy.DescriptorHandleType.texture and t.descriptor_handle_ro == t.descriptor_handle_ro
    else:
        with pytest.raises(RuntimeError, match="no bindless handles"):
            t.descriptor_handle_ro


@pytest.mark.parametrize("usage", [RW, TextureUsage.shader_resource], ids=["stored", "sampled"])
def test_textures_by_handle(bindless, m, usage):
    t = texture(bindless, DATA, usage)
    for handle in (t.descriptor_handle_ro, t.descriptor_handle_ro.value, t.create_view().descriptor_handle_ro):
        assert np.array_equal(m.at(handle, spy.grid(GRID), _result="numpy"), DATA)


def test_writes_by_handle_are_in_order_with_other_work(bindless, m):
    t = texture(bindless, DATA)
    for i in range(5):
        m.put(t.descriptor_handle_rw, spy.grid(GRID), spy.float4(float(i)))
        read = m.at(t.descriptor_handle_ro, spy.grid(GRID), _result="tensor")
        t.copy_from_numpy(DATA)
        assert np.all(read.to_numpy() == i) and np.array_equal(t.to_numpy(), DATA)


def test_views_have_handles_of_their_own(bindless, m):
    t = bindless.create_texture(format=Format.rgba32_float, width=8, height=8, mip_count=3, usage=RW)
    view = t.create_view(mip=1, mip_count=1)
    m.put(view.descriptor_handle_rw, spy.grid((4, 4)), spy.float4(5))
    m.put(t.descriptor_handle_rw, spy.grid((8, 8)), spy.float4(2))
    assert np.all(t.to_numpy(mip=1) == 5) and np.all(t.to_numpy() == 2) and np.all(m.at(view.descriptor_handle_ro, spy.grid((4, 4)), _result="numpy") == 5)


def test_samplers_and_buffers(bindless, m):
    if bindless.info.api_name == "CUDA":
        pytest.skip("on CUDA only textures have handles")
    point = spy.TextureFilteringMode.point
    s = bindless.create_sampler(min_filter=point, mag_filter=point)
    t = texture(bindless, DATA, sampler=s)
    assert list(m.sampled(t.descriptor_handle_ro, s.descriptor_handle, spy.float2(0.1, 0.1))) == DATA[0, 0].tolist()
    assert list(m.combined(t.descriptor_handle_combined, spy.float2(0.9, 0.9))) == DATA[3, 4].tolist()
    b, i = floats(bindless), np.arange(8, dtype=np.int32)
    assert m.get(b.descriptor_handle_ro, i, _result="numpy").tolist() == list(range(8))
    m.set(b.descriptor_handle_rw, i, 3.0)
    assert b.to_numpy().view(np.float32).tolist() == [3] * 8


def test_handles_in_dicts_tensors_buffers_and_globals(bindless, m):
    if bindless.info.api_name == "CUDA":
        pytest.skip("on CUDA only textures have handles")
    one, two, b = texture(bindless, DATA), texture(bindless, DATA + 1, TextureUsage.shader_resource), floats(bindless)
    value = {"k": 2.0, "image": one.descriptor_handle_ro, "c": [1, 2, 3], "values": b.descriptor_handle_ro}
    assert np.allclose(m.shade(value, spy.grid(GRID), _result="numpy"), DATA * 2 + [1, 2, 3, 1])
    all = spy.Tensor.zeros(bindless, (2,), m.Material)
    c = all.cursor()
    c[0].write(value)
    c[1]["k"], c[1]["image"], c[1]["values"] = 3.0, two.descriptor_handle_ro, b.descriptor_handle_rw
    c.apply()
    assert c[1]["image"].read() == two.descriptor_handle_ro.value
    assert np.allclose(m.shade(all, spy.int2(1, 1), _result="numpy"), [DATA[1, 1] * 2 + [1, 2, 3, 1], (DATA[1, 1] + 1) * 3 + [0, 0, 0, 1]])
    for i, expected in enumerate((DATA * 2, (DATA + 1) * 3)):
        assert np.allclose(m.pick(all, i, spy.grid(GRID), _result="numpy"), expected)
    f = m.shade_global.set({"g_material": {"k": 2.0, "image": two.descriptor_handle_ro}})
    assert np.allclose(f(spy.grid(GRID), _result="numpy"), (DATA + 1) * 2)


@pytest.mark.parametrize("how", ["function", "kernel", "pass"])
def test_raw_dispatches(bindless, m, how):
    t, o = texture(bindless, DATA), texture(bindless, np.zeros((8, 8, 4), np.float32))
    a, b = t.descriptor_handle_ro, o.descriptor_handle_rw
    if how == "function":
        m.copy.dispatch([5, 4, 1], a=a, b=b)
    else:
        module = bindless.load_module_from_source("handles_raw", SOURCE)
        program = bindless.link_program([module], [module.entry_point("copy")])
        if how == "kernel":
            bindless.create_compute_kernel(program).dispatch([5, 4, 1], a=a, b=b)
        else:
            encoder = bindless.create_command_encoder()
            with encoder.begin_compute_pass() as p:
                cursor = spy.ShaderCursor(p.bind_pipeline(bindless.create_compute_pipeline(program))).find_entry_point(0)
                cursor["a"], cursor.b = a, b
                p.dispatch([5, 4, 1])
            bindless.submit_command_buffer(encoder.finish())
    assert np.array_equal(o.to_numpy()[:4, :5], DATA * 2)


def test_numbers_are_taken_again(bindless, m):
    seen = set()
    for i in range(100):
        t = texture(bindless, np.full((1, 1, 4), i, np.float32))
        seen.add(t.descriptor_handle_ro.value)
        assert m.at(t.descriptor_handle_ro, spy.int2(0)).x == i
    assert len(seen) < 100


@pytest.mark.parametrize("bad, words", [(lambda d, m, t: t.descriptor_handle_rw, "SPY_TEXTURE_USAGE_STORED"), (lambda d, m, t: t.descriptor_handle_combined, "sampler"),
                                        (lambda d, m, t: m.at(t, spy.int2(0)), "DescriptorHandle"), (lambda d, m, t: m.at("x", spy.int2(0)), "Unsupported type"),
                                        (lambda d, m, t: m.at(1.5, spy.int2(0)), "DescriptorHandle")])
def test_mistakes(bindless, m, bad, words):
    with pytest.raises(Exception, match=words):
        bad(bindless, m, texture(bindless, DATA, TextureUsage.shader_resource))
