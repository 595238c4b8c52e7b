"""What SlangPy 0.43.1 was seen to do, when programs ran under both libraries (tests/compare)."""
import numpy as np
import pytest

import slangpy as spy


SOURCE = """
import slangpy;
T twice<T : IFloat>(T a) { return a + a; }
vector<float, N> same<let N : int>(vector<float, N> a) { return a; }
struct S { float x; int y; float get() { return x; } [mutating] void grow() { x += 1; } };
struct Box<T, let N : int> { T items[N]; T get(int i) { return items[i]; } };
float read(S s) { return s.x; }
float add(float a, float b) { return a + b; }
void nothing(float a) { }
void fill(uint3 dispatchThreadID, RWStructuredBuffer<float> o, float v, int n) { if (dispatchThreadID.x < n) o[dispatchThreadID.x] = v + 1; }
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "compared", SOURCE)


def test_names_of_functions_have_generic_arguments(m):
    """A function's name has its generic arguments, and a method's name has not those of its struct."""
    assert [m[n].name for n in ("twice", "twice<float>", "same<3>")] == ["twice", "twice<float>", "same<3>"]
    assert m["Box<float, 4>"].get.name == "get" and m["Box<float, 4>"].get.full_name == "Box<float, 4>.get"
    assert m["twice<float>"].map((0,)).root is m["twice<float>"] and m.S.get.bind({"x": 1.0}).root is m.S.get


def test_tensor_types_have_no_fields(m):
    """The members of a tensor's struct are the library's own, and not among its fields."""
    for name in ("Tensor<float, 2>", "RWTensor<float3, 1>", "DiffTensor<float, 1>"):
        assert m.layout.find_type_by_name(name).fields == {}


def test_specialized_functions_are_found_by_name(m):
    """find_function_by_name() finds generic functions with arguments; the types of the parameters are those of the arguments."""
    for layout in (m.layout, m.device_module.layout):
        f = layout.find_function_by_name("same<3>")
        assert f.name == "same" and f.full_name == "same<3>" and f.return_type.full_name == "vector<float,3>"
        assert [p.type.full_name for p in f.parameters] == ["vector<float,3>"] and f is layout.find_function_by_name("same<3>")
        assert layout.find_function_by_name("twice<nothing>") is None and layout.find_function_by_name("absent<int>") is None
    with pytest.raises(ValueError):
        m.layout.require_function_by_name("absent<int>")


def test_update_this_is_called_after_every_call(m):
    """update_this() is called once after each call, with what get_this() gave if the call does not write."""
    class This:
        def __init__(self):
            self.value, self.got = {"_type": "S", "x": 1.0, "y": 2}, []

        def get_this(self):
            return self.value

        def update_this(self, value):
            self.got.append(value)

    for call in (m.S.get, m.read, lambda t: m.S.get.bind(t)()):
        this = This()
        assert call(this) == 1 and this.got == [this.value]
    this = This()
    m.S.grow(this)
    assert len(this.got) == 1 and this.got[0]["x"] == 2
    this = This()
    m.S.get.append_to(encoder := m.device.create_command_encoder(), this, _result=spy.Tensor.zeros(m.device, (1,), "float"))
    m.device.submit_command_buffer(encoder.finish())
    assert this.got == [this.value]


def test_results_of_void_functions_are_none(m):
    """A function without result gives None, whatever _result names."""
    x = np.zeros(3, np.float32)
    assert m.nothing(1.0, _result="numpy") is None and m.nothing(x, _result="tensor") is None and m.nothing(x, _result=spy.Tensor) is None


def test_missing_parameters_of_a_dispatch_are_zero(m):
    """Numbers that a raw dispatch does not get are 0."""
    o = m.device.create_buffer(element_count=4, struct_size=4, data=np.zeros(4, np.float32), usage=spy.BufferUsage.unordered_access)
    m.fill.dispatch([4, 1, 1], o=o, n=3)
    assert o.to_numpy().view(np.float32).tolist() == [1, 1, 1, 0]
    m.fill.dispatch([4, 1, 1], {}, o=o, v=4)
    assert o.to_numpy().view(np.float32).tolist() == [1, 1, 1, 0]
    with pytest.raises(RuntimeError, match="Parameter 'o' not specified"):
        m.fill.dispatch([4, 1, 1], v=1.0, n=4)  # nobody would see what it writes
    assert o.to_numpy().view(np.float32).tolist() == [1, 1, 1, 0]


def test_the_first_empty_submission_has_a_number():
    """submit_command_buffer() of an empty command buffer gives a number other than 0, and the callback gets it."""
    device, got = spy.create_device(), []
    device.register_command_recording_submitted_callback(lambda e: got.append(e.submit_id))
    first = device.submit_command_buffer(device.create_command_encoder().finish())
    assert first > 0 and got == [first]
    device.wait_for_submit(first)
    assert device.is_submit_finished(first)
    device.close()


def test_small_things_on_the_host():
    """round() takes halves away from 0, references hold floats or ints, and names that scripts print."""
    assert [spy.math.round(x) for x in (0.5, -0.5, 1.5, 2.5, -2.5, 0.49)] == [1, -1, 2, 3, -3, 0]
    assert type(spy.floatRef(2).value) is float and type(spy.intRef(2).value) is int and type(spy.floatRef().value) is float
    q = spy.quatf(0.1, 0.2, 0.3, 0.9)  # not of length 1
    assert abs(spy.math.pitch(q) - np.arctan2(0.3, 0.85)) < 1e-6 and abs(spy.math.roll(q) - np.arctan2(0.58, 0.69)) < 1e-6
    assert str(spy.NativeHandleType.CUstream) == "NativeHandleType.CUstream"
    assert repr(spy.TypeConformance("A", "B", 3)) == 'TypeConformance(interface_name="A", type_name="B", id=3)'
    assert spy.SLANG_BUILD_TAG and isinstance(spy.SLANG_BUILD_TAG, str)


def test_layouts_of_programs_leave_those_of_modules_alone(device):
    """A program's layout has the program's entry points; the module keeps all of its own."""
    module = device.load_module_from_source("compared_entries", """
        [shader("compute")] [numthreads(8, 4, 2)] void main(uint3 tid : SV_DispatchThreadID) {}
        [shader("compute")] [numthreads(1, 1, 1)] void other(uint3 tid : SV_DispatchThreadID) {}
    """)
    program = device.link_program([module], [module.entry_point("main")])
    assert [e.name for e in program.layout.entry_points] == ["main"] and program.layout is program.layout
    assert [e.name for e in module.entry_points] == [e.name for e in module.layout.entry_points] == ["main", "other"]


def test_references_hold_structs_without_type_names(m):
    """A ValueRef that held a dict with '_type' holds the fields alone after a call that writes it."""
    r = spy.ValueRef({"_type": "S", "x": 1.0, "y": 2})
    m.S.grow(r)
    assert r.value == {"x": 2.0, "y": 2} and m.S.get(r) == 2


def test_missing_resources_of_a_dispatch_are_empty(device):
    """Buffers, textures and samplers that a kernel reads, and that a raw dispatch does not get, or gets as None, are empty: their elements are 0.
    A warning says so. One that it writes must be given."""
    said = []

    class Output(spy.LoggerOutput):
        def write(self, level, name, msg):
            said.append(msg)

    output = Output()
    spy.Logger.get().add_output(output)
    module = device.load_module_from_source("compared_missing", """
        StructuredBuffer<uint3> in; RWStructuredBuffer<uint> out; Texture2D<float4> picture; Texture2DArray<int2> layers; TextureCube<float> cube;
        SamplerState samp; ByteAddressBuffer bytes; Texture3D<uint> volume; uniform uint n;
        [shader("compute")] [numthreads(4, 1, 1)] void main(uint3 t : SV_DispatchThreadID, StructuredBuffer<float> p, uniform uint k, Texture2D<float> q) {
            out[t.x] = t.x + in[0].y + uint(picture.SampleLevel(samp, float2(0.5), 0).x) + layers[int3(0, 0, 0)].y + bytes.Load(0) + volume[uint3(0)]
                + uint(cube.SampleLevel(samp, float3(1, 0, 0), 0)) + n + k + uint(p[0]) + uint(q[int2(0, 0)]);
        }""")
    out = device.create_buffer(data=np.full(4, 9, np.uint32), usage=spy.BufferUsage.unordered_access)
    kernel = device.create_compute_kernel(device.link_program([module], [module.entry_point("main")]))
    for variables, parameters in (({"out": out}, {}), ({"out": out, "picture": None, "samp": None, "n": None}, {"p": None, "k": None})):
        out.copy_from_numpy(np.full(4, 9, np.uint32))
        kernel.dispatch([4, 1, 1], vars=variables, **parameters)
        assert out.to_numpy().view(np.uint32).tolist() == [0, 1, 2, 3]
    spy.Logger.get().remove_output(output)
    with pytest.raises(RuntimeError, match="'out'"):
        kernel.dispatch([4, 1, 1])
    assert sum("'picture' is not given, or None: the kernel gets an empty Texture2D<vector<float,4>>" in text for text in said) == 1
    picture = device.create_texture(format=spy.Format.rgba32_float, width=1, height=1, data=np.full((1, 1, 4), 5, np.float32))
    kernel.dispatch([4, 1, 1], vars={"out": out, "picture": picture, "n": 100}, k=1000)
    assert out.to_numpy().view(np.uint32).tolist() == [1105, 1106, 1107, 1108]


def test_structured_buffers_ignore_what_is_behind_the_last_whole_element(device):
    """A raw buffer's bytes behind the last whole element are not used; fewer bytes than one element are an error."""
    m = spy.Module.load_from_source(device, "compared_rest", """
        struct S { float3 a; };
        float last(StructuredBuffer<S> b) { uint n, stride; b.GetDimensions(n, stride); return b[n - 1].a.z + 100 * n; }""")
    data = np.arange(16, dtype=np.float32)
    assert m.last(device.create_buffer(data=data, usage=spy.BufferUsage.shader_resource)) == 514
    with pytest.raises(RuntimeError, match="one element of 12 bytes"):
        m.last(device.create_buffer(data=data[:2], usage=spy.BufferUsage.shader_resource))
