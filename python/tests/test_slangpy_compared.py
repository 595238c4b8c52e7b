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


def test_vectors_of_small_numbers_come_back_as_vectors(device):
    """A vector of 8- or 16-bit numbers comes back in the class of 32 bits, one of doubles as doubleN; vector<T, 1> is a vector."""
    m = spy.Module.load_from_source(device, "compared_vectors", """
        half3 halves(int a) { return half3(half(a)); } double2 doubles(double2 a) { return a / 3; } vector<int16_t, 2> shorts(int a) { return vector<int16_t, 2>(int16_t(a)); }
        vector<uint8_t, 4> bytes(int a) { return vector<uint8_t, 4>(uint8_t(a)); } vector<float, 1> one(float a) { return vector<float, 1>(a); } float number(float a) { return a; }
        struct S { double2 d; half2 h; vector<float, 1> one; }; S whole(double a) { S s; s.d = double2(a); s.h = half2(1, 2); s.one = 3; return s; } void out_(out double2 a) { a = double2(0.5, 1); }""")
    for result, wanted in ((m.halves(3), spy.float3(3)), (m.shorts(-3), spy.int2(-3)), (m.bytes(200), spy.uint4(200)), (m.one(2.5), spy.float1(2.5))):
        assert type(result) is type(wanted) and result == wanted
    assert type(m.number(2.0)) is float
    third = m.doubles([1.0, 2.0])
    assert type(third) is spy.double2 and third.x == 1 / 3 and list(third * 3) == [1, 2] and m.doubles(third).y == 2 / 9
    assert str(third) == "{0.3333333333333333, 0.6666666666666666}" and np.array(third).dtype == np.float64
    whole = m.whole(0.1)
    assert whole["d"] == spy.double2(0.1) and type(whole["h"]) is spy.float16_t2 and type(whole["one"]) is spy.float1
    ref = spy.ValueRef(spy.double2(0))
    m.out_(ref)
    assert ref.value == spy.double2(0.5, 1)


def test_math_of_mixed_vectors_is_math_of_floats():
    """Functions of slangpy.math compute with floats if their vectors have several types: nothing is rounded to an int."""
    i, f, u = spy.int3(1, -2, 3), spy.float3(0.5, -0.25, 4), spy.uint3(1, 2, 3)
    for result, wanted in ((spy.math.min(i, f), (0.5, -2, 3)), (spy.math.max(f, i), (1, -0.25, 4)), (spy.math.max(i, u), (1, 2, 3)), (spy.math.clamp(f, u, spy.float16_t3(9)), (1, 2, 4))):
        assert type(result) is spy.float3 and result == wanted
    assert spy.math.dot(i, f) == 13 and type(spy.math.min(i, [1, 2, 3])) is spy.int3 and type(spy.math.min(spy.double3(0.1), f)) is spy.double3
    assert spy.math.asuint(np.float32(1)) == spy.math.asuint(spy.float16_t(1)) == 0x3F800000
    half = spy.math.quat_from_angle_axis(0.5, spy.float3(1, 0, 0))
    assert spy.math.slerp([0.0, 0.0, 0.0, 1.0], spy.float4(half.x, half.y, half.z, half.w), 1.0) == half
    with pytest.raises(TypeError):
        spy.math.conjugate([1.0, 2.0, 3.0])


def test_set_and_write_count_in_the_order_of_the_chain(device):
    """Of set() and write() the later one counts."""
    m = spy.Module.load_from_source(device, "compared_order", "uniform float a; uniform float b; float f(float x) { return x * a + b; }")
    def write(cursor, value):
        cursor.a = value
        cursor["b"] = 1.0
    assert m.f.write(write, 2.0).set(a=9.0)(1.0) == 10 and m.f.set(a=9.0, b=5.0).write(write, 2.0)(1.0) == 3
    assert m.f.set(lambda f: {"a": 3.0, "b": 0.0}).write(write, 2.0).set({"b": 7.0})(1.0) == 9 and m.f.write(write, 2.0).set(lambda f: {"a": 4.0})(1.0) == 5


def test_entry_points_may_have_names_of_slang_functions(device):
    """An entry point or a function for dispatches is run by its name, though Slang itself has functions of that name."""
    names = ("lerp", "min", "clamp", "reflect", "dyn")
    module = device.load_module_from_source("compared_core_names", "RWStructuredBuffer<float> o;\n" + "".join(
        '[shader("compute")] [numthreads(1, 1, 1)] void {}(uniform float k) {{ o[0] = k + {}; }}\n'.format(name, i) for i, name in enumerate(names)) +
        "void step(uint3 dispatchThreadID, RWStructuredBuffer<float> t) { t[dispatchThreadID.x] = 5; } float floor(float a) { return a + 100; }")
    out = device.create_buffer(element_count=1, struct_size=4, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource)
    for i, name in enumerate(names):
        device.create_compute_kernel(device.link_program([module], [module.entry_point(name)])).dispatch([1, 1, 1], vars={"o": out}, k=10.0)
        assert out.to_numpy().view(np.float32)[0] == 10 + i
        spy.Module(module)[name].dispatch([1, 1, 1], vars={"o": out}, k=20.0)
        assert out.to_numpy().view(np.float32)[0] == 20 + i
    spy.Module(module).step.dispatch([1, 1, 1], t=out)
    assert out.to_numpy().view(np.float32)[0] == 5 and spy.Module(module).floor(1.5) == 101.5


def test_pack_takes_objects_with_get_this(device):
    """pack() packs what get_this() gives at that time, also of objects in lists."""
    m = spy.Module.load_from_source(device, "compared_pack", "struct P { float a; }; struct Q { P ps[2]; float b; }; float sum(Q q) { return q.ps[0].a + 10 * q.ps[1].a + 100 * q.b; }")
    class This:
        def __init__(self, value):
            self.value = value

        def get_this(self):
            return self.value
    p = This({"_type": "P", "a": 2.0})
    q = This({"_type": "Q", "ps": [{"_type": "P", "a": 1.0}, p], "b": 3.0})
    packed = spy.pack(m, q)
    assert m.sum(packed) == 321 and m.sum(spy.pack(m, {"_type": "Q", "ps": [p, p], "b": 0.0})) == 22
    q.value = None
    assert m.sum(packed) == 321


def test_errors_of_arguments_are_slangpys(m):
    """SlangPy's exceptions of calls are bases of the library's errors of arguments."""
    from slangpy.bindings.boundvariable import BoundVariableException
    from slangpy.core.callsignature import ResolveException
    for call in (lambda: m.add(1.0), lambda: m.add(1.0, spy.float2(1), c=2), lambda: m.read(2.0), lambda: m.add(np.ones(3), np.array([None]))):
        with pytest.raises(ResolveException) as caught:
            call()
        assert isinstance(caught.value, (ValueError, RuntimeError, BoundVariableException)) and str(caught.value)
    error = BoundVariableException("text", None)
    assert str(error) == error.message == "text" and error.variable is None


def test_small_things_of_other_users(m, device):
    with pytest.raises(AttributeError):
        m[""]
    with pytest.raises(TypeError):
        spy.Logger("name")
    assert repr(spy.SpecializationArg.from_type("X")) == 'SpecializationArg(kind=type, value="X")'
    module = device.load_module_from_source("compared_small", "[shader(\"compute\")] [numthreads(1, 1, 1)] void main() {} void io(in float a, out float b, inout float c) { b = c = a; }")
    entry = module.entry_point("main")
    assert entry.specialize([]) is entry
    a, b, c = module.layout.find_function_by_name("io").parameters
    modifier = spy.ModifierID
    assert [[p.has_modifier(x) for x in (modifier.inn, modifier.out, modifier.inout)] for p in (a, b, c)] == [[True, False, False], [False, True, False], [False, True, True]]
    for name, wanted in (("float[3]", "float[3]"), ("float3[2]", "vector<float,3>[2]"), ("S[2]", None), ("float", "float")):
        derivative = m.layout.find_type_by_name(name).derivative
        assert (derivative and derivative.full_name) == wanted
    t = spy.Tensor.zeros(device, (1,), "float3")
    assert repr(t.cursor()[0]).endswith("[vector<float,3>]")


# >>the third set of users' programs (tests/compare/cases_users3_*.py)

def test_vectors_change_in_place():
    """The operators += and so on change the vector itself, so that another name of it shows the change; the operators + and so on do not."""
    v = spy.float3(1, 2, 3)
    w = v
    w += 1
    w *= [1, 2, 3]
    w -= spy.float3(1)
    w /= 2
    assert w is v and v == [0.5, 2.5, 5.5]
    i = j = spy.uint2(13, 6)
    for name, other in (("__iand__", 14), ("__ior__", 1), ("__ixor__", 2), ("__ilshift__", 2), ("__irshift__", 1), ("__imod__", 16)):
        assert getattr(i, name)(other) is i
    assert j == [((((13 & 14) | 1) ^ 2) << 2 >> 1) % 16, ((((6 & 14) | 1) ^ 2) << 2 >> 1) % 16]
    with pytest.raises(TypeError):
        v += "x"
    b = c = spy.bool2(True, False)
    b |= spy.bool2(False, True)
    assert c == [True, True] and not hasattr(spy.float3x3, "__iadd__")


def test_cursors_take_lists_of_dicts_with_some_of_the_fields(device):
    """The dicts in a list for an array of structs may have any of the fields; the others keep their values."""
    module = spy.Module.load_from_source(device, "partial", "struct In { float3 p; int n; }; struct Out { In items[2]; float w; };")
    tensor = spy.Tensor.zeros(device, (1,), module.Out)
    cursor = tensor.cursor()
    cursor[0].write({"items": [{"p": [1, 2, 3], "n": 4}, {"n": 5}], "w": 6.0})
    cursor[0].items = ({"n": 7}, {"p": spy.float3(8)})
    cursor.apply()
    assert tensor.cursor()[0].read() == {"items": [{"p": spy.float3(1, 2, 3), "n": 7}, {"p": spy.float3(8), "n": 5}], "w": 6.0}
    with pytest.raises(ValueError, match="expected 2 values"):
        cursor[0].items.write([{"n": 1}])


def test_generators_tell_their_numbers():
    """grid(), wang_hash() and rand_float() have their arguments as attributes."""
    g = spy.grid((2, 3), offset=(4, 5))
    assert (g.shape, g.offset, g.stride, g.dims) == ((2, 3), (4, 5), (1, 1), 2) and spy.grid(2).shape == (-1, -1)
    w, r = spy.wang_hash(seed=4, warmup=2, hash_seed=False), spy.rand_float(1, 3, seed=5)
    assert (w.seed, w.warmup, w.hash_seed, r.min, r.max, r.seed, r.hash_seed) == (4, 2, False, 1.0, 3.0, 5, True)
    assert not hasattr(spy.call_id(), "seed") and not hasattr(w, "min")


def test_once_is_once_for_all_levels():
    """A logger logs a text "once" only at the first level that it comes with."""
    lines = []

    class Lines(spy.LoggerOutput):
        def write(self, level, name, msg):
            lines.append((level.name, msg))

    logger = spy.Logger(spy.LogLevel.debug, use_default_outputs=False)
    logger.add_output(Lines())
    logger.info_once("a"), logger.warn_once("a"), logger.info("a"), logger.error_once("b")
    assert lines == [("info", "a"), ("info", "a"), ("error", "b")]


def test_log_files_that_cannot_be_made_are_warnings(tmp_path):
    """A FileLoggerOutput in a folder that does not exist warns, and its messages go nowhere."""
    logger = spy.Logger(use_default_outputs=False)
    with pytest.warns(RuntimeWarning, match="FileLoggerOutput: argument 'path'.*No such file"):
        output = logger.add_file_output(tmp_path / "none" / "log.txt")
    logger.error("lost")
    output.close()


def test_box_filters_leave_out_pixels_on_their_border():
    """A pixel in the middle between two has the later one's value; a pixel on the border of two larger ones counts for none."""
    row = np.arange(1, 7, dtype=np.float32).reshape(1, 6, 1).repeat(3, 2)
    assert np.array(spy.Bitmap(row).resample(9, 1, spy.BoxFilter()))[0, :, 0].tolist() == [1, 2, 2, 3, 4, 4, 5, 6, 6]
    assert np.array(spy.Bitmap(row).resample(4, 1, spy.BoxFilter()))[0, :, 0].tolist() == [1, 3, 4, 6]


def test_channel_names_are_of_multi_channel_bitmaps():
    """Other pixel formats have names of their own."""
    bitmap = spy.Bitmap(np.zeros((2, 2, 2), np.float32), channel_names=["u", "v"])
    assert bitmap.pixel_format == spy.Bitmap.PixelFormat.ya and bitmap.channel_names == ["Y", "A"]
    many = spy.Bitmap(np.zeros((2, 2, 2), np.float32), spy.Bitmap.PixelFormat.multi_channel, ["u", "v"])
    assert many.channel_names == ["u", "v"]


def test_members_of_enums_are_true():
    """A member whose number is 0 is true, but for those of enums that are numbers in SlangPy, too."""
    assert spy.Format.undefined and spy.CullMode.none and spy.DeviceType.automatic and not spy.LogLevel.none and not spy.BufferUsage.none
    assert spy.TypeReflection.ResourceAccess(4).name == "access_append" and spy.SpecializationArg().kind.name == "type"
    assert repr(spy.NativeHandle(spy.NativeHandleType.VkDevice, 5)) == "NativeHandle(type=VkDevice, value=0x00000005)"
    assert spy.DeviceDesc().additional_vulkan_device_extensions == []


def test_numbers_and_vectors_have_marshalls(m):
    """get_or_create_type() knows numbers, vectors and matrices, so that a user's Marshall may ask for theirs."""
    from slangpy.bindings import Marshall, get_or_create_type

    for cls, name in ((float, "float"), (int, "int"), (bool, "bool"), (spy.float3, "vector<float,3>"), (spy.float2x3, "matrix<float,2,3>")):
        marshall = get_or_create_type(m.layout, cls, cls())
        assert isinstance(marshall, Marshall) and marshall.slang_type.full_name == name
    with pytest.raises(ValueError, match="has no entry"):
        get_or_create_type(m.layout, object, object())


def test_lists_of_reflection_have_slangpys_classes(device, m):
    """SlangPy's classes of lists are there for isinstance()."""
    layout = m.device_module.layout
    add = layout.find_function_by_name("add")
    assert isinstance(add.parameters, spy.FunctionReflectionParameterList) and isinstance(add.overloads, spy.FunctionReflectionOverloadList)
    assert isinstance(layout.find_type_by_name("S").fields, spy.TypeReflectionFieldList) and isinstance(layout.parameters, spy.ProgramLayoutParameterList)
    assert [kind.name for kind in spy.reflection.ITensorType.Kind] == ["tensor", "itensor", "diff_tensor", "idiff_tensor", "primal_tensor", "atomic"]


def test_wait_for_tasks_waits_for_files(tmp_path):
    """slangpy.thread.wait_for_tasks() waits until write_async() has written its files."""
    import slangpy.thread

    for i in range(4):
        spy.Bitmap(np.full((64, 64, 3), i, np.uint8)).write_async(tmp_path / f"{i}.png")
    slangpy.thread.wait_for_tasks()
    assert [np.array(spy.Bitmap(tmp_path / f"{i}.png")).max() for i in range(4)] == [0, 1, 2, 3]


@pytest.mark.parametrize("call", [
    lambda device, m: spy.NativeHandle(spy.NativeHandleType.VkDevice, -1),
    lambda device, m: spy.NativeHandle(99, 1),
    lambda device, m: spy.Format("x"),
    lambda device, m: spy.BufferUsage("x"),
    lambda device, m: device.create_query_pool("x", 3),
    lambda device, m: device.create_buffer(size=4, usage="x"),
    lambda device, m: device.create_texture(format="x", width=1, height=1),
])
def test_arguments_of_another_type_are_type_errors(device, m, call):
    """A value that is no member of an enum, or no handle, raises a TypeError, as SlangPy's constructors do."""
    with pytest.raises(TypeError):
        call(device, m)


def test_unsupported_arguments_are_bound_variable_exceptions(m):
    """SlangPy raises a BoundVariableException for a Python object that no parameter takes."""
    from slangpy.bindings.boundvariable import BoundVariableException

    for value in ("1", None, object()):
        with pytest.raises(BoundVariableException):
            m.add(value, 2.0)


def test_conformances_that_clash_are_value_errors(device):
    """Two conformances with one type or one number raise a ValueError at the call."""
    module = spy.Module.load_from_source(device, "clash", "interface I { float f(); }; struct A : I { float k; float f() { return k; } }; struct B : I { float k; float f() "
                                         "{ return k + 1; } }; float run(float k) { return createDynamicObject<I>(0, k).f(); }")
    for pairs in ([("I", "A"), ("I", "A")], [("I", "A", 1), ("I", "B", 1)]):
        with pytest.raises(ValueError, match="that another one has, too"):
            module.run.type_conformances([spy.TypeConformance(*p) for p in pairs])(1.0)


def test_overloads_run_over_vectors_and_ranges(device):
    """A vector that no overload takes whole runs over the overload with a scalar, and a range goes to the overload with an int."""
    module = spy.Module.load_from_source(device, "overs", "float over(float a) { return 1; } float over(int a) { return 2; } float over(float2 a) { return 3; }")
    for _ in range(2):
        assert module.over(spy.float3(1, 2, 3)).to_numpy().tolist() == [1, 1, 1] and module.over(spy.float2(1, 2)) == 3
        assert module.over(range(2)).to_numpy().tolist() == [2, 2]
