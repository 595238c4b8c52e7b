"""Programs, kernels, pipelines, shader objects and cursors. (Features K1, K4, K5, M8, M9.)"""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
struct Light { float3 color; float power; }
struct Set { StructuredBuffer<float> from; float add; RWStructuredBuffer<float> to; }
uniform float gain;
StructuredBuffer<float> table;
[shader("compute")] [numthreads(8, 1, 1)]
void scale(uint3 t : SV_DispatchThreadID, uniform StructuredBuffer<float> x, uniform RWStructuredBuffer<float> y, uniform float k)
{ uint n, stride; y.GetDimensions(n, stride); if (t.x < n) y[t.x] = x[t.x] * k * gain; }
[shader("compute")] [numthreads(4, 1, 1)]
void sets(uint3 t : SV_DispatchThreadID, uniform ParameterBlock<Set> set) { set.to[t.x] = set.from[t.x] + set.add + table[t.x]; }
[shader("compute")] [numthreads(1, 1, 1)]
void lights(uniform Light light, uniform RWStructuredBuffer<float3> y) { y[0] = light.color * light.power; }
[shader("compute")] [numthreads(2, 2, 1)]
void grid(uint3 t : SV_DispatchThreadID, uniform RWStructuredBuffer<uint> y) { y[t.y * 4 + t.x] = t.x + 10 * t.y; }
void fill<T : __BuiltinArithmeticType>(uint3 t : SV_DispatchThreadID, RWStructuredBuffer<T> b, T v) { b[t.x] = v; }
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("kernels")
    (path / "kernels_under_test.slang").write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def program_of(device, folder):
    return lambda *names: device.load_program(str(folder / "kernels_under_test.slang"), list(names))


def floats(device, n):
    data = np.random.default_rng(n).random(n, np.float32)
    return data, device.create_buffer(data=data), device.create_buffer(size=4 * n)


def result(buffer):
    return buffer.to_numpy().view(np.float32)


@pytest.mark.parametrize("count", [[20, 1, 1], (20, 1, 1), [20], 20])
def test_dispatch(device, program_of, count):
    """`vars` sets globals, keywords set parameters, and whole groups run. (Feature K4.)"""
    kernel = device.create_compute_kernel(program_of("scale"))
    data, x, y = floats(device, 20)
    kernel.dispatch(thread_count=count, vars={"gain": 2.0}, x=x, y=y, k=3.0)
    assert np.allclose(result(y), data * 6)
    kernel.dispatch(count, {"gain": 1.0}, x=x, y=y, k=0.5)
    assert np.array_equal(result(y), data * np.float32(0.5))


def test_vars_reach_parameters(device, program_of):
    """`vars` is the program's root, which has the entry point's parameters beside the globals; a keyword wins over it. (Feature
    K4.)"""
    kernel = device.create_compute_kernel(program_of("scale"))
    data, x, y = floats(device, 8)
    given = {"gain": 2.0, "x": x, "y": y, "k": 3.0}
    kernel.dispatch(8, vars=given)
    assert np.allclose(result(y), data * 6) and len(given) == 4
    kernel.dispatch(8, vars=given, k=0.5)
    assert np.array_equal(result(y), data)


def test_two_dimensions(device, program_of):
    """dispatch() runs a two-dimensional grid of threads. (Feature K4.)"""
    y = device.create_buffer(size=64)
    device.create_compute_kernel(program_of("grid")).dispatch([4, 4, 1], y=y)
    assert y.to_numpy().view(np.uint32).reshape(4, 4).tolist() == [[c + 10 * r for c in range(4)] for r in range(4)]


def test_blocks_and_structs(device, program_of):
    """`vars` takes nested dicts, and paths as names. (Features K4, K5.)"""
    data, x, y = floats(device, 4)
    kernel = device.create_compute_kernel(program_of("sets"))
    kernel.dispatch([4, 1, 1], vars={"table": x}, set={"from": x, "add": 1.5, "to": y})
    assert np.allclose(result(y), 2 * data + 1.5)
    z = device.create_buffer(size=12)
    device.create_compute_kernel(program_of("lights")).dispatch(1, light={"color": [1, 2, 3], "power": 2.0}, y=z)
    assert result(z).tolist() == [2, 4, 6]


def test_command_encoder(device, program_of):
    """A dispatch with an encoder is recorded and runs at the submission. (Feature K4.)"""
    kernel = device.create_compute_kernel(program_of("scale"))
    data, x, y = floats(device, 16)
    y.clear()
    e = device.create_command_encoder()
    kernel.dispatch([16, 1, 1], vars={"gain": 1.0}, command_encoder=e, x=x, y=y, k=4.0)
    commands = e.finish()
    assert not result(y).any()
    device.submit_command_buffer(commands)
    assert np.array_equal(result(y), data * 4)


@pytest.mark.parametrize("recorded", [False, True])
def test_query_pool(device, program_of, recorded):
    """A query pool gets GPU times before and after a kernel. (Feature K4.)"""
    kernel, pool = device.create_compute_kernel(program_of("scale")), device.create_query_pool(count=2)
    data, x, y = floats(device, 16)
    e = device.create_command_encoder() if recorded else None
    kernel.dispatch(16, vars={"gain": 1}, x=x, y=y, k=1, query_pool=pool, query_index_before=0, query_index_after=1, command_encoder=e)
    if recorded:
        device.submit_command_buffer(e.finish())
    assert np.array_equal(result(y), data)
    assert pool.get_result(1) >= pool.get_result(0)


def test_compute_pass(device, program_of):
    """A compute pass has a pipeline, its root object and a cursor on that; each dispatch takes the values of its time. (Features
    K5, E1.)"""
    pipeline = device.create_compute_pipeline(program_of("scale"))
    data, x, y = floats(device, 16)
    z = device.create_buffer(size=64)
    e = device.create_command_encoder()
    with e.begin_compute_pass() as p:
        root = p.bind_pipeline(pipeline)
        cursor = spy.ShaderCursor(root)
        cursor.gain = 2.0
        cursor.scale.x = x
        cursor["scale"]["y"] = y
        cursor.scale.k = 5.0
        p.dispatch([16, 1, 1])
        cursor.scale.y = z
        cursor.gain = 1.0
        p.dispatch(thread_count=[16, 1, 1])
    device.submit_command_buffer(e.finish())
    assert np.allclose(result(y), data * 10) and np.allclose(result(z), data * 5)
    with pytest.raises(spy.Error, match="the pass has ended"):
        p.dispatch(1)


def test_root_object(device, program_of):
    """One root object serves many passes; nested fields are set by path or whole. (Feature K5.)"""
    program = program_of("lights")
    root = device.create_root_shader_object(program)
    y = device.create_buffer(size=12)
    cursor = spy.ShaderCursor(root)
    cursor.write({"lights.y": y})
    cursor.lights.light.color = [1, 0, 2]
    cursor.lights.light.power = 3
    for power in (3, 4):
        cursor.lights.light.power = power
        e = device.create_command_encoder()
        p = e.begin_compute_pass()
        p.bind_pipeline(device.create_compute_pipeline(program), root)
        p.dispatch(1)
        p.end()
        device.submit_command_buffer(e.finish())
        assert result(y).tolist() == [power, 0, 2 * power]


def test_pass_errors(device, program_of):
    """A compute pass refuses to dispatch without a pipeline, and to bind a program as one. (Feature K5.)"""
    e = device.create_command_encoder()
    p = e.begin_compute_pass()
    with pytest.raises(spy.Error, match="no pipeline is bound"):
        p.dispatch(1)
    with pytest.raises(TypeError, match="expected a ComputePipeline"):
        p.bind_pipeline(program_of("scale"))
    with pytest.raises(TypeError, match="expected a ShaderObject"):
        p.bind_pipeline(device.create_compute_pipeline(program_of("scale")), {})
    p.bind_pipeline(device.create_compute_pipeline(program_of("scale")))
    with pytest.raises(spy.Error, match="'y' not specified"):  # x, which is only read, would be empty
        p.dispatch(1)
    with pytest.raises(TypeError, match="expected a ShaderObject"):
        spy.ShaderCursor(3)


@pytest.mark.parametrize("kwargs, words", [
    ({"k": 1.0, "x": 3, "y": 4}, "StructuredBuffer"),
    ({"thread_count": [1, 1, 1, 1]}, "at most 3"), ({"thread_count": [-1]}, "from 0")])
def test_bad_dispatch(device, program_of, kwargs, words):
    """dispatch() refuses wrong thread counts and variables. (Feature K4.)"""
    kernel = device.create_compute_kernel(program_of("scale"))
    if "thread_count" not in kwargs:
        kwargs = dict(kwargs, thread_count=[1, 1, 1])
    with pytest.raises((spy.Error, TypeError, ValueError), match=words):
        kernel.dispatch(vars={"gain": 1.0}, **kwargs)


def test_no_cuda_stream(device, program_of):
    """dispatch() refuses cuda_stream on Vulkan. (Feature K4.)"""
    with pytest.raises(spy.Error, match="cuda_stream"):
        device.create_compute_kernel(program_of("grid")).dispatch(1, cuda_stream=5, y=device.create_buffer(size=64))


# >>programs

def test_programs_by_hand(device, folder):
    """A program is made step by step: session, module, entry points, link. (Feature M9.)"""
    session = device.create_slang_session()
    module = session.load_module(str(folder / "kernels_under_test"))
    assert isinstance(module, spy.SlangModule) and isinstance(module, spy.Module)
    entry = module.entry_point("grid")
    assert (entry.name, entry.with_name("other").name, entry.rename("third").name) == ("grid", "other", "third")
    y = device.create_buffer(size=64)
    device.create_compute_kernel(session.link_program([module], [entry])).dispatch([4, 4, 1], y=y)
    assert y.to_numpy().view(np.uint32)[15] == 33
    device.create_compute_kernel(device.link_program([module], [entry])).dispatch([1, 1, 1], y=y)
    assert device.slang_session.device is device


def test_specialize(device, folder):
    """A generic entry point is specialised by names or types. (Feature M9.)"""
    module = device.load_module(str(folder / "kernels_under_test.slang"))
    b = device.create_buffer(size=16)
    for type_of, dtype, v in (("float", np.float32, 2.5), (module.int, np.int32, 7)):
        entry = module.entry_point("fill").specialize([type_of])
        device.create_compute_kernel(device.link_program([module], [entry])).dispatch(4, b=b, v=v)
        assert (b.to_numpy().view(dtype) == v).all()
    with pytest.raises((ValueError, spy.Error)):
        module.entry_point("fill").specialize(["NoSuchType"])


def test_session_options(device, tmp_path):
    """A session's options are used by its modules. (Features M8, M9.)"""
    source = "int f() { return N; }"
    for n in (3, 4):
        session = device.create_slang_session({"defines": {"N": str(n)}})
        assert session.load_module_from_source("options_of_a_session", source).f() == n
    with pytest.raises(spy.SlangCompileError, match="N"):
        device.slang_session.load_module_from_source("no_options", source)


def test_additional_source(device, folder):
    """additional_source is added to a program's module. (Feature M9.)"""
    extra = "[shader(\"compute\")] [numthreads(1, 1, 1)] void more(uniform RWStructuredBuffer<float> y) { y[0] = gain + 1; }"
    program = device.load_program(str(folder / "kernels_under_test"), ["more"], extra)
    y = device.create_buffer(size=4)
    device.create_compute_kernel(program).dispatch(1, vars={"gain": 4}, y=y)
    assert result(y).tolist() == [5]


def test_program_errors(device, folder, program_of):
    """Missing files, missing or too many entry points and wrong types are errors. (Feature M9.)"""
    with pytest.raises(spy.Error, match="no_such_file"):
        device.load_program("no_such_file", ["main"])
    with pytest.raises(spy.SlangCompileError, match="no_such_file"):
        device.load_program("no_such_file", ["main"], "int x;")
    with pytest.raises(ValueError, match="has no function or type named 'nothing'"):
        program_of("nothing")
    with pytest.raises(TypeError, match="expected a list of str"):
        device.load_program(str(folder / "kernels_under_test"), "scale")
    with pytest.raises(ValueError, match="expected one entry point, got 2"):
        device.create_compute_kernel(program_of("scale", "sets"))
    with pytest.raises(TypeError, match="expected a ShaderProgram"):
        device.create_compute_kernel("scale")
    with pytest.raises(TypeError, match="expected Modules"):
        device.link_program(["scale"], [])
    with pytest.raises(TypeError, match="expected SlangEntryPoints"):
        device.link_program([], ["scale"])
    with spy.create_device() as other, pytest.raises(ValueError, match="another device"):
        other.create_compute_kernel(program_of("scale"))
    assert "scale" in repr(device.create_compute_kernel(program_of("scale"))) and "sets" in repr(program_of("sets"))


def test_parts_of_a_block_with_resources_are_zero(device):
    """Fields that are not given are zero where the struct has a buffer, too, and in elements of its arrays. (Feature K4.)"""
    module = device.load_module_from_source("part_of_block", """
struct Inner { float2 v; uint n; };
struct Params { float a; Inner inner[2]; bool on; float3x3 m; RWStructuredBuffer<float> r; };
ParameterBlock<Params> block;
[shader("compute")] [numthreads(1, 1, 1)] void main() {
    block.r[0] = block.a; block.r[1] = block.inner[0].v.y; block.r[2] = block.inner[1].n; block.r[3] = block.on ? 1 : 0; block.r[4] = block.m[1][1];
}
""")
    kernel = device.create_compute_kernel(device.link_program([module], [module.entry_point("main")]))
    r = device.create_buffer(data=np.full(5, 77, np.float32))
    for given, expected in (({"a": 2.0}, [2, 0, 0, 0, 0]), ({"on": True}, [0, 0, 0, 1, 0]), ({}, [0] * 5),
                            ({"inner": [{"v": [3, 4]}, {"n": 5}]}, [0, 4, 5, 0, 0])):
        kernel.dispatch([1, 1, 1], vars={"block": {"r": r, **given}})
        np.testing.assert_array_equal(r.to_numpy().view(np.float32), expected)
