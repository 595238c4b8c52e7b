"""One test for each fault that scripts written for SlangPy showed and that has been mended."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import floatDiffPair

SOURCE = """
import slangpy;
[Differentiable] float f(float a, float b) { return a * a + 3 * b; }
struct Row { float a; StructuredBuffer<float> b; };
float pick(Row r, int i) { return r.a + r.b[i]; }
struct Point { float3 p; uint k; };
float read(StructuredBuffer<Point> points, int i) { return points[i].p.y * points[i].k; }
groupshared int shared_ints[32];
int mirrored(int i) {
    int thread = CallShapeInfo::get_call_group_thread_id().shape[0];
    shared_ints[thread] = i;
    GroupMemoryBarrierWithGroupSync();
    return shared_ints[31 - thread];
}
void count(RWStructuredBuffer<Point> points, int i) { points[i].k += 1; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def test_bwds_writes_the_gradients_of_numbers_whatever_the_pairs_held(m):
    """bwds() writes .grad of the input pairs and does not add to it: the gradient of floatDiffPair(x) is 1 before."""
    a, b = floatDiffPair(3.0), floatDiffPair(0.5)
    for _ in range(2):
        m.f.bwds(a, b, floatDiffPair(0.0, 1.0))
        assert (a.grad, b.grad) == (6.0, 3.0)
    m.f.bwds(a=a, b=b, _result=floatDiffPair(0.0, 2.0))
    assert (a.grad, b.grad) == (12.0, 6.0)


def test_a_dict_with_a_read_only_buffer_can_be_packed(m, device):
    """pack(module, value) takes structs that hold buffers."""
    buffer = device.create_buffer(data=np.arange(4, dtype=np.float32), struct_size=4, usage=spy.BufferUsage.shader_resource)
    packed = spy.pack(m, {"_type": "Row", "a": 1.0, "b": buffer})
    assert m.pick(packed, np.arange(4, dtype=np.int32), _result="numpy").tolist() == [1, 2, 3, 4]


def test_a_logger_hears_of_modules_whose_names_are_no_identifiers(device):
    """A logger gets messages of modules whose names are not identifiers: scripts name modules by a hash of their text, which may begin
    with a digit."""
    lines = []

    class Output(spy.LoggerOutput):
        def write(self, level, name, msg):
            lines.append(msg)

    for name in ("9ab4e", "some-name"):
        module = spy.Module(device.load_module_from_source(name, "float f() { return 1; }"))
        module.logger = spy.Logger(spy.LogLevel.debug, "builds", use_default_outputs=False)
        module.logger.add_output(Output())
        del lines[:]
        assert module.f() == 1 and lines


def test_buffers_tell_their_memory_usage(device):
    """A buffer's memory_usage has its bytes on the device and on the host."""
    buffer = device.create_buffer(size=64, usage=spy.BufferUsage.shader_resource)
    assert (buffer.memory_usage.device, buffer.memory_usage.host) == (64, 0)


def test_buffers_without_a_type_go_to_structured_buffers_of_structs(m, device):
    """A Buffer without a type goes whole to StructuredBuffers of structs: made by size, by struct_size, or as a tensor's storage."""
    usage = spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access
    points = spy.Tensor.empty(device, (3,), m.Point)
    cursor = points.cursor()
    for i in range(3):
        cursor[i] = {"p": spy.float3(0, i, 0), "k": 10}
    cursor.apply()
    ids = np.arange(3, dtype=np.int32)
    assert m.read(points.storage, ids, _result="numpy").tolist() == [0, 10, 20]
    for given in ({"element_count": 3, "struct_size": 16}, {"size": 48}):
        buffer = device.create_buffer(usage=usage, **given)
        buffer.copy_from_numpy(points.storage.to_numpy())
        m.count(buffer, ids)
        assert m.read(buffer, ids, _result="numpy").tolist() == [0, 11, 22]


def test_a_reload_empties_the_cache_of_what_was_found(device, tmp_path):
    """m.A has the new fields after a reload."""
    path = tmp_path / "grows.slang"
    path.write_text("struct A { float x; };\nfloat f(A a) { return a.x; }")
    module = spy.Module.load_from_file(device, str(path))
    assert list(module.A.fields) == ["x"] and module.A is module.A and module.f({"x": 3.0}) == 3
    path.write_text("struct A { float x; float y; };\nfloat f(A a) { return a.x + a.y; }")
    device.reload_all_programs()
    assert list(module.A.fields) == ["x", "y"] and module.f({"x": 3.0, "y": 4.0}) == 7


def test_a_call_group_is_a_thread_group(m):
    """The product of call_group_shape is the thread group's size: its threads can share memory."""
    f = m.mirrored.call_group_shape(spy.slangpy.Shape((32,)))
    result = f(np.arange(64, dtype=np.int32), _result="numpy")
    assert result.tolist() == [*range(31, -1, -1), *range(63, 31, -1)]


def test_tensors_that_share_memory_have_one_storage(device):
    """Views of all elements share storage, and scripts compare it by `is` or ==."""
    t = spy.Tensor.zeros(device, (3, 4), float)
    storage = t.storage
    assert t.storage is storage and t[:].storage is storage and t.view((12,)).storage == storage and t.with_grads().storage is storage
    assert spy.Tensor.zeros(device, (3, 4), float).storage is not storage
    del storage
    assert t.storage.size == 48


def test_an_import_of_all_names_has_those_that_are_found_lazily():
    """`from slangpy import *` also gives the names of textures and pipelines, which other imports load at their first use."""
    names = {}
    exec("from slangpy import *", names)
    assert names["TextureUsage"] is spy.TextureUsage and names["Tensor"] is spy.Tensor and names["Viewport"] is spy.Viewport and "_slangpy" not in names
