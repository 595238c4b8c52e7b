"""The API that SlangPy's scripts use: one line for each signature and its keyword names. Other files test what these names do. Features
D1, D3-D6, D10, M1-M6, M8, M9, M11, B1, I3, C8, K4, K5, E1, E2, W5."""
import pathlib

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
float add(float a, float b) { return a + b; }
struct Item { float x; int n; };
float read(Item i) { return i.x + i.n; }
uniform float gain;
[shader("compute")] [numthreads(32, 1, 1)]
void main(uint3 id : SV_DispatchThreadID, RWStructuredBuffer<float> data, uniform float value) { if (id.x < 8) data[id.x] = value * id.x; }
void plain(int id : SV_DispatchThreadID, RWStructuredBuffer<float> data, float value) { data[id] = value; }
"""
RAMP = np.arange(8, dtype=np.float32)


@pytest.fixture(scope="module")
def api(device, load, tmp_path_factory):
    """The values that the lines of the table use."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "part.slang").write_text(SOURCE)
    m = load(SOURCE)
    layout = m.layout
    return {"spy": spy, "np": np, "d": device, "m": m, "layout": layout, "item": layout.get_type_layout(layout.find_type_by_name("Item")),
            "folder": folder, "pathlib": pathlib, "RAMP": RAMP,
            "buf": lambda: device.create_buffer(data=RAMP, usage=spy.BufferUsage.unordered_access),
            "ten": lambda: spy.Tensor.from_numpy(device, RAMP)}


LINES = [
    "spy.Device.enumerate_adapters(type=spy.DeviceType.vulkan)[0].name",
    "spy.SlangCompilerOptions({'include_paths': [folder], 'defines': {'A': '1'}}).defines == {'A': '1'}",
    "d.has_feature(feature=spy.Feature.parameter_block)",
    "d.supports_cuda_interop is False",
    "d.info.limits.max_compute_threads_per_group >= 64",
    "spy.Module.load_from_file(device=d, path=folder / 'part.slang', options={}, link=[]).add(1, 2) == 3",
    "spy.Module.load_from_file(d, str(folder / 'part')).add(1, 2) == 3",
    "spy.Module.load_from_source(device=d, name='n', source='int f() { return 1; }', options={}, link=[]).f() == 1",
    "spy.Module(d.load_module(str(folder / 'part'))).add(1, 2) == 3",
    "d.load_module_from_source(module_name='s', source='int f() { return 1; }').f() == 1",
    "d.load_module_from_file(folder / 'part.slang').add(1, 2) == 3",
    "d.create_slang_session(compiler_options={'include_paths': [folder]}).load_module('part').add(1, 2) == 3",
    "m.session.load_module_from_source('t', 'int f() { return 2; }').f() == 2",
    "[e.name for e in m.entry_points] == ['main']",
    "m.entry_point('main').stage == spy.ShaderStage.compute and m.entry_point('add').stage == spy.ShaderStage.none",
    "m.entry_point('main').layout.compute_thread_group_size.x == 32 and m.entry_point('add').layout is None",
    "m.entry_point('main').rename('other').name == 'other'",
    "[c.name for c in m.module_decl.find_children_of_kind(spy.DeclReflection.Kind.func, 'add')] == ['add']",
    "len(m.module_decl.find_children_of_kind(kind=spy.DeclReflection.Kind.func)) >= 3",
    "m.module_decl.find_children_of_kind(spy.DeclReflection.Kind.func, child_name='nope') == []",
    "len(m.module_decl.children_of_kind(spy.DeclReflection.Kind.struct)) == 1",
    "spy.Tensor.empty(device=d, shape=(2, 3), dtype='float3').shape == (2, 3)",
    "spy.Tensor.empty(d, (2,), spy.DataType.float16).dtype.name == 'half'",
    "spy.Tensor.zeros(d, shape=(2,), dtype=spy.DataType.int32, usage=spy.BufferUsage.shader_resource).to_numpy().tolist() == [0, 0]",
    "spy.Tensor.empty(d, shape=(2,), dtype=m.layout.find_type_by_name('Item')).dtype.name == 'Item'",
    "spy.NDBuffer(device=d, dtype=m.Item, shape=(4,)).shape == (4,)",
    "spy.NDBuffer(d, dtype=m.float3, element_count=4).element_count == 4",
    "spy.Tensor.from_numpy(device=d, ndarray=RAMP).to_numpy().tolist() == RAMP.tolist()",
    "ten().storage.size == 32 and ten().storage.to_numpy().view(np.float32).tolist() == RAMP.tolist()",
    "ten().view(shape=(2,), strides=(4,), offset=1).to_numpy().tolist() == [1, 5]",
    "d.create_buffer(size=16, usage=spy.BufferUsage.shader_resource | spy.BufferUsage.copy_source, label='x').label == 'x'",
    "d.create_buffer(element_count=4, struct_size=8, memory_type=spy.MemoryType.upload).size == 32",
    "d.create_buffer(element_count=4, resource_type_layout=m.layout.get_type_layout('StructuredBuffer<Item>'), usage=spy.BufferUsage.unordered_access).struct_size == 8",
    "d.create_buffer(spy.BufferDesc({'size': 16, 'label': 'y'})).desc.label == 'y'",
    "d.create_buffer(desc={'element_count': 4, 'struct_type': 'float2'}).size == 32",
    "d.create_buffer(size=16, default_state=spy.ResourceState.unordered_access).desc.size == 16",
    "d.create_fence(initial_value=3, shared=False).current_value == 3",
    "spy.BufferCursor(d.info.type, item, 3).element_count == 3",
    "spy.BufferCursor(d.info.type, item, d.create_buffer(size=24, data=np.zeros(24, np.uint8)), True)[2].read() == {'x': 0, 'n': 0}",
    "spy.Shape((1, 2)) + (3,) == (1, 2, 3)",
    "spy.SHADER_PATH and pathlib.Path(spy.SHADER_PATH).is_dir()",
    "d.link_program([m], [m.entry_point('main')]).layout.find_type_by_name('Item').name == 'Item'",
    "d.create_compute_kernel(program=d.link_program(modules=[m], entry_points=[m.entry_point('main')])).pipeline.thread_group_size.x == 32",
]


@pytest.mark.parametrize("line", LINES)
def test_line(api, line):
    """Each line of the table is an expression that is true."""
    assert eval(line, dict(api))


def test_shared_storage(device):
    """A tensor's storage is the tensor's memory and has no layout of its own. (Feature B1.)"""
    t = spy.Tensor.zeros(device, (2, 2), "int")
    t.storage.copy_from_numpy(np.int32([1, 2, 3, 4]))
    assert t.to_numpy().tolist() == [[1, 2], [3, 4]] and t[1].storage is t.storage and t[1].offset == 2
    assert t.storage.device_address == t.device_address and isinstance(t.storage, spy.Buffer)
    assert t.view((2,), strides=(2,)).storage is t.storage  # a view with gaps is part of the same memory


def test_typed_cursor(device, api):
    """A buffer of bytes is written as elements of a type, by a cursor and apply(). (Feature K5.)"""
    b = device.create_buffer(element_count=4, struct_size=8, data=np.zeros(32, np.uint8))
    cursor = spy.BufferCursor(device.info.type, api["item"], b)
    assert cursor.element_count == 4
    cursor[1].x = 2.5
    cursor[3].write({"x": 1.0, "n": 7})
    cursor.apply()
    assert b.to_numpy().view(np.float32)[2] == 2.5 and b.to_numpy().view(np.int32)[7] == 7
    assert api["m"].read(spy.Tensor(b, api["m"].Item, (4,)), _result="numpy").tolist() == [0, 2.5, 0, 8]
    for bad in ((device.info.type, 3, b), (device.info.type, api["item"], "x")):
        with pytest.raises(TypeError, match="BufferCursor: argument '"):
            spy.BufferCursor(*bad)


def test_encoder_signatures(device, api):
    """Encoders clear by range, and copy and upload by keyword. (Feature E1.)"""
    a, b = api["buf"](), api["buf"]()
    e = device.create_command_encoder()
    e.copy_buffer(dst=b, dst_offset=0, src=a, src_offset=4, size=28)
    e.clear_buffer(buffer=b, range=spy.BufferRange({"offset": 0, "size": 4}))
    e.clear_buffer(b, {"offset": 4, "size": 4})
    e.clear_buffer(b, 8, 4)
    e.clear_buffer(a, offset=28)
    e.upload_buffer_data(buffer=b, offset=28, data=np.float32([9]))
    e.push_debug_group("all", spy.float3(1, 0, 0))
    e.insert_debug_marker(name="here", color=spy.float3(1))
    e.pop_debug_group()
    e.set_buffer_state(a, spy.ResourceState.copy_source)
    device.submit_command_buffers([e.finish()], queue=spy.CommandQueueType.graphics)
    assert b.to_numpy().view(np.float32).tolist() == [0, 0, 0, 4, 5, 6, 7, 9] and a.to_numpy().view(np.float32).tolist() == [0, 1, 2, 3, 4, 5, 6, 0]
    for bad in ({"offset": 32, "size": 4}, {"offset": 0, "size": 36}):
        with pytest.raises(ValueError, match="CommandEncoder.clear_buffer"):
            device.create_command_encoder().clear_buffer(b, bad)
    with pytest.raises(TypeError, match="No parameter named 'start'"):
        device.create_command_encoder().clear_buffer(b, {"start": 0})


def test_kernel_signatures(device, api):
    """A program is loaded from a file and run as a kernel, and again by a compute pass with cursors. (Features K4, K5, M9.)"""
    program = device.create_slang_session({"include_paths": [str(api["folder"])]}).load_program(module_name="part", entry_point_names=["main"])
    data = api["buf"]()
    device.create_compute_kernel(program).dispatch(thread_count=[8, 1, 1], vars={}, data=data, value=2.0)
    assert data.to_numpy().view(np.float32).tolist() == (RAMP * 2).tolist()
    e = device.create_command_encoder()
    with e.begin_compute_pass() as p:
        cursor = spy.ShaderCursor(p.bind_pipeline(device.create_compute_pipeline(program)))
        cursor.find_field("main").find_field("data").write(data)
        cursor["main"]["value"] = 3.0
        p.dispatch(thread_count=spy.uint3(8, 1, 1))
    device.submit_command_buffer(e.finish())
    assert data.to_numpy().view(np.float32).tolist() == (RAMP * 3).tolist()
