"""Tests that backward calls of numbers, reflection and module declarations behave as SlangPy's. tests/README.md says where the facts
come from."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import diffPair, floatDiffPair

Kind, Decl = spy.TypeReflection.Kind, spy.DeclReflection.Kind

SOURCE = """
import slangpy;
[Differentiable] void add_square(float x, inout float sum) { sum = sum + x * x; }
[Differentiable] float scaled(float x, no_diff float k) { return x * k; }
[Differentiable] float poly(float a, float b) { return a * a + b; }
[Differentiable] void square(float a, out float b) { b = a * a; }
[Differentiable] void turn(inout float2 v, float k) { v = float2(v.y, v.x) * k; }
float plain(float x) { return x; }
struct P { float x, y; };
struct Grid<T, let N : int> { T v[N]; T first() { return v[0]; } };
T twice<T : IFloat>(T x, T y) { return x + y; }
int count<let N : int>(float a[N]) { return N; }
float3 scale(float3 v, float s) { return v * s; }
int over(int a) { return 1; }
float over(float a) { return 2; }
float rows(float a[2][3]) { return a[1][2]; }
float columns(float[2][3] a) { return a[2][1]; }
float takes(Tensor<float, 2> t, RWTensor<float3, 3> w, DiffTensor<float, 1> d, float *p) { return t[0, 0]; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


@pytest.fixture(scope="module")
def layout(m):
    return m.layout


# >>backward calls of numbers


def test_a_number_for_an_inout_or_out_parameter_takes_no_gradient(m):
    """Plain numbers for inout and out parameters take no gradient and raise nothing: without the gradient of an output all gradients are
    zero."""
    x = diffPair(3.0, 5.0)
    m.add_square.bwds(x, 2.0)
    assert x.grad == 0.0
    x = diffPair(3.0, 5.0)
    m.square.bwds(x, 1.0)
    assert x.grad == 0.0


def test_a_pair_for_an_inout_parameter_has_the_seed_and_gets_the_gradient(m):
    """bwds() reads the gradient of a pair for an inout parameter and then writes it."""
    x, total = diffPair(3.0), diffPair(1.0, 2.0)
    m.add_square.bwds(x, total)
    assert x.grad == 12.0 and total.grad == 2.0
    v, k = diffPair(spy.float2(2, 3), spy.float2(1, 10)), diffPair(2.0)
    m.turn.bwds(v, k)
    assert v.grad == spy.float2(20, 2) and k.grad == 23.0


def test_no_diff_parameters_take_numbers_and_pairs(m):
    """bwds() uses the value of a pair for a no_diff parameter and leaves its gradient as it is."""
    x, k = diffPair(3.0), diffPair(2.0, 7.0)
    m.scaled.bwds(x, 2.0, floatDiffPair(0.0, 1.0))
    assert x.grad == 2.0
    m.scaled.bwds(x, k, floatDiffPair(0.0, 10.0))
    assert x.grad == 20.0 and k.grad == 7.0


def test_bwds_without_any_pair_does_nothing(m):
    """bwds() with plain numbers only raises nothing, but a function that is not differentiable or a missing result does."""
    m.poly.bwds(1.0, 2.0, 1.0)
    m.poly.bwds(1.0, 2.0, floatDiffPair(0.0, 1.0))
    m.poly.bwds(1.0, 2.0, _result=1.0)
    for wrong in (lambda: m.poly.bwds(1.0, 2.0), lambda: m.plain.bwds(1.0, 1.0), lambda: m.poly.bwds(1.0)):
        with pytest.raises(Exception):
            wrong()


# >>declarations and functions


def test_generic_declarations_are_of_the_kind_generic(m):
    """A generic function or struct is the last child of a declaration of the kind generic."""
    root = m.device_module.source_modules[-1].module_decl
    twice, grid = root.find_first_child_of_kind(Decl.generic, "twice"), root.find_first_child_of_kind(Decl.generic, "Grid")
    inner = twice.children_of_kind(Decl.func)
    assert [f.name for f in inner] == ["twice"] and [p.name for p in inner[0].children] == ["x", "y"] and inner[0] is twice[len(twice) - 1]
    assert twice.as_function().name == inner[0].as_function().name == "twice" and len(twice.children) == twice.child_count == 2
    assert [c.name for c in grid.children_of_kind(Decl.struct)[0].children] == ["v", "first", "__init"] and inner[0].parent is twice
    assert inner[0][0].parent == inner[0] and "twice" not in [f.name for f in root.children_of_kind(Decl.func)]


def test_specialised_functions_have_the_arguments_types(layout):
    """specialize_with_arg_types() gives None if the arguments do not fit; a scalar fits a vector."""
    f, i, f3 = (layout.find_type_by_name(n) for n in ("float", "int", "float3"))
    twice = layout.find_function_by_name("twice")
    of_floats = twice.specialize_with_arg_types([f, f])
    assert of_floats.return_type is f and [p.type for p in of_floats.parameters] == [f, f] and of_floats.parameters[1].name == "y"
    assert twice.specialize_with_arg_types([f, f]) is of_floats and twice.specialize_with_arg_types([f, i]) is None
    of_array = layout.find_function_by_name("count").specialize_with_arg_types([layout.find_type_by_name("float[4]")])
    assert of_array.parameters[0].type.element_count == 4
    scale, over = layout.find_function_by_name("scale"), layout.find_function_by_name("over")
    assert scale.specialize_with_arg_types([f, f]).return_type is f3 and scale.specialize_with_arg_types([f3, f3]) is None
    assert over.specialize_with_arg_types([i]).return_type is i and over.specialize_with_arg_types([f]).return_type is f


# >>types


def test_tensor_types_have_dims_and_dtype(layout):
    """The reflected types of tensors have rank, element type and access."""
    t, w, d, _ = (p.type for p in layout.find_function_by_name("takes").parameters)
    assert all(isinstance(x, spy.reflection.ITensorType) for x in (t, w, d)) and t is layout.find_type_by_name("Tensor<float,2>")
    assert (t.dims, t.dtype.full_name, t.writable, t.access.name, t.tensor_type.name) == (2, "float", False, "read", "tensor")
    assert (w.dims, w.dtype.full_name, w.writable, w.access.name) == (3, "vector<float,3>", True, "read_write")
    assert (d.dims, d.tensor_type.name, d.has_grad_out, d.has_grad_in) == (1, "diff_tensor", True, False)
    assert layout.find_type_by_name("DiffTensor<float,1>") is d and not hasattr(layout.find_type_by_name("P"), "dims")


def test_all_tensor_types_are_found_in_every_program(device):
    """DiffTensor and the other tensor types are found also if the program's text does not name them."""
    layout = spy.Module.load_from_source(device, "facts_c_plain", "import slangpy;\nstruct P : IDifferentiable { float x; };").layout
    t = layout.find_type_by_name("DiffTensor<float,2>")
    assert (t.dims, t.dtype.name, t.tensor_type.name) == (2, "float", "diff_tensor") and layout.find_type_by_name(name="DiffTensor<float, 2>") is t
    assert layout.find_type_by_name("WDiffTensor<P,1>").access.name == "write" and layout.find_type_by_name("DiffTensor<Nothing,1>") is None


def test_pointer_types(layout):
    """Pointer types have the type that they point to, and are found by "T*"."""
    t = layout.find_function_by_name("takes").parameters[3].type
    assert t.kind == Kind.pointer and isinstance(t, spy.reflection.PointerType) and t.target_type.full_name == "float"
    assert layout.find_type_by_name("float*") is t and layout.find_type_by_name("P*").target_type.name == "P"


def test_buffer_and_texture_types(layout):
    """The reflected types of buffers and textures say whether they can be written, and which usage they need."""
    t = layout.find_type_by_name
    assert t("RWStructuredBuffer<P>").writable and not t("StructuredBuffer<P>").writable and t("StructuredBuffer<P>").element_type.name == "P"
    assert t("RWTexture2D<float4>").texture_dims == 2 and t("Texture2DArray<float4>").texture_dims == 3
    assert t("Texture2D<float4>").usage == spy.TextureUsage.shader_resource
    assert t("RWStructuredBuffer<P>").usage == spy.BufferUsage.unordered_access


def test_arrays_of_arrays_are_named_as_in_slang(m, layout):
    """float[2][3] has 3 elements of float[2]; a parameter `float a[2][3]` is a float[3][2]."""
    t = layout.find_type_by_name("float[2][3]")
    assert (t.full_name, tuple(t.shape), t.element_type.full_name, t.element_count) == ("float[2][3]", (3, 2), "float[2]", 3)
    rows, columns = (layout.find_function_by_name(n).parameters[0].type for n in ("rows", "columns"))
    assert rows.full_name == "float[3][2]" and columns is t and layout.array_type(layout.find_type_by_name("float[2]"), 3) is t
    assert tuple(m["float[2][3]"].shape) == (3, 2) and m["float[2][3]"].full_name == "float[2][3]"
    assert spy.Tensor.zeros(m.device, (4,), "float[2][3]").to_numpy().shape == (4, 3, 2)
    a = np.arange(6, dtype=np.float32)
    assert m.rows(a.reshape(2, 3)) == 5.0 and m.columns(a.reshape(3, 2)) == 5.0


# >>map


MAPPED = """
struct P { float x, y; };
struct Row { float2 v; float w[2]; };
float sum(P p) { return p.x + 10 * p.y; }
float both(P p, float k) { return p.x * k; }
float of_row(Row r) { return r.v.x + r.v.y + r.w[0] + r.w[1]; }
"""


def test_lists_of_dicts_map_as_one_dimension(load):
    """map() takes a list, also of dicts, as one dimension."""
    m = load(MAPPED)
    points = [{"_type": "P", "x": 1.0, "y": 2.0}, {"_type": "P", "x": 3.0, "y": 4.0}]
    assert m.sum.map((0,))(points).to_numpy().tolist() == [21, 43]
    assert m.sum.map((1,))(points).to_numpy().tolist() == [[21, 43]]
    assert m.both.map((0,), (1,))(points, [1.0, 2.0, 3.0]).to_numpy().tolist() == [[1, 2, 3], [3, 6, 9]]
    rows = [{"_type": "Row", "v": spy.float2(1, 2), "w": [3.0, 4.0]}, {"_type": "Row", "v": spy.float2(5, 6), "w": [7.0, 8.0]}]
    assert m.of_row.map((0,))(rows).to_numpy().tolist() == [10, 26]


# >>modules


def test_wrong_type_conformances_are_runtime_errors(device):
    """An unknown name, a pair given twice or an id given twice in an entry point's conformances raises RuntimeError."""
    module = device.load_module_from_source("facts_c_conformances", '''
interface IF { float v(); }
struct A : IF { float v() { return 1; } };
struct B : IF { float v() { return 2; } };
[shader("compute")] [numthreads(1, 1, 1)] void main(uniform int id, RWStructuredBuffer<float> o) { o[0] = createDynamicObject<IF>(id, 0).v(); }
''')
    for wrong in ([("IF", "C")], [("IG", "A")], [("IF", "A"), ("IF", "A")], [("IF", "A", 1), spy.TypeConformance("IF", "B", 1)]):
        with pytest.raises(RuntimeError):
            module.entry_point("main", wrong)
    assert module.entry_point("main", [("IF", "A"), ("IF", "B")]).name == "main"


def test_the_option_defer_target_compilation_is_known(device, recwarn):
    """Modules take the options strict_broadcasting and defer_target_compilation."""
    assert spy.Module.load_from_source(device, "facts_c_defer", "int f() { return 4; }", options={"defer_target_compilation": True}).f() == 4
    assert not [w for w in recwarn if "defer_target_compilation" in str(w.message)]


def test_submodules_are_attributes_of_their_packages():
    """SlangPy's import paths exist; a script that imports only slangpy reads them as attributes."""
    for package, names in (("types", "randfloatarg wanghasharg callidarg threadidarg valueref tensor diffpair common helpers"),
                           ("bindings", "boundvariable boundvariableruntime typeregistry marshall codegen"),
                           ("builtin", "valueref value struct array texture tensor"), ("experimental", "gridarg diffinstancelist"),
                           ("core", "native function module struct calldata generator callsignature enums utils packedarg instance logging")):
        for name in names.split():
            assert getattr(getattr(spy, package), name).__name__ == "slangpy.{}.{}".format(package, name)
    assert not hasattr(spy.bindings, "nothing") and not hasattr(spy.types, "nothing")


def test_functions_and_structs_have_constructors(m, layout):
    """Function(module, func, struct=None, options={}) and Struct(module, slang_struct, options={}) construct the objects."""
    assert spy.Function(m, "plain") is m.plain and spy.Function(module=m, func=layout.find_function_by_name("plain")) is m.plain
    grid = spy.Struct(m, layout.find_type_by_name("Grid<float,2>"))
    assert grid == m["Grid<float,2>"] and spy.Function(m, "first", grid)({"v": [3.0, 4.0]}) == 3.0
    with pytest.raises(ValueError):
        spy.Function(m, "nothing")


def test_parameters_tell_their_direction(layout):
    """SlangParameter has io_type and no_diff."""
    add, scaled = layout.find_function_by_name("add_square").parameters, layout.find_function_by_name("scaled").parameters
    assert [p.io_type.name for p in add] == ["inn", "inout"] and [p.no_diff for p in scaled] == [False, True]


# >>classes with a Marshall


MARSHALLED = """
import slangpy;
struct Steps { float first; void __slangpy_load(Context1D c, out float v) { v = first + c.call_id[0]; } };
struct Known { DiffTensor<float, 1> t; [Differentiable] void __slangpy_load(Context1D c, out float v) { v = t.load(c.call_id[0]); } };
struct ScaleData { float a; void __slangpy_load(Context0D c, out Scale v) { v.a = a; } };
struct Scale : IDifferentiable { float a; [Differentiable] float of(float x) { return a * x; } };
[Differentiable] float times(float x, float y) { return x * y; }
"""


class Registered(spy.bindings.Marshall):
    """A Marshall for values of one class, with their Slang type, their shape, and the dict of their fields."""

    def __init__(self, layout, value):
        super().__init__(layout)
        self.slang_type = layout.find_type_by_name(value.type)
        self.target, self.concrete_shape, self.smooth = value.target, spy.slangpy.Shape(value.shape), value.smooth

    @property
    def has_derivative(self):
        return self.smooth

    def resolve_type(self, context, bound_type):
        return context.layout.find_type_by_name(self.target)

    def resolve_dimensionality(self, context, binding, vector_target_type):
        return len(self.concrete_shape)

    def create_calldata(self, context, binding, data):
        return data.fields


class Value:
    def __init__(self, type, target, shape, fields, smooth=False):
        self.type, self.target, self.shape, self.fields, self.smooth = type, target, shape, fields, smooth


@pytest.fixture
def marshalled(load):
    spy.bindings.PYTHON_TYPES[Value] = lambda layout, value: Registered(layout, value)
    yield load(MARSHALLED)
    del spy.bindings.PYTHON_TYPES[Value]


def test_values_with_a_marshall_are_arguments_of_backward_calls_recordings_and_instances(marshalled):
    """In bwds() values with a Marshall are constants, unless the Marshall has_derivative: then its __slangpy_load() is differentiated."""
    m, f32 = marshalled, np.float32
    steps = Value("Steps", "float", (3,), {"first": 2.0})
    y = spy.Tensor.from_numpy(m.device, np.array([5, 6, 7], f32)).with_grads()
    result = m.times(steps, y, _result="tensor").with_grads()
    assert result.to_numpy().tolist() == [10, 18, 28]
    result.grad.copy_from_numpy(np.ones(3, f32))
    m.times.bwds(steps, y, result)
    m.times.bwds(x=steps, y=y, _result=result)
    assert y.grad.to_numpy().tolist() == [4, 6, 8]
    t = spy.Tensor.from_numpy(m.device, np.array([1, 2, 3], f32)).with_grads()
    m.times.bwds(Value("Known", "float", (3,), {"t": t}, smooth=True), y, _result=result)
    assert t.grad.to_numpy().tolist() == [5, 6, 7] and y.grad.to_numpy().tolist() == [5, 8, 11]
    encoder, out = m.device.create_command_encoder(), spy.Tensor.zeros(m.device, (3,), float)
    m.times.append_to(encoder, steps, 2.0, _result=out)
    m.device.submit_command_buffer(encoder.finish())
    assert out.to_numpy().tolist() == [4, 6, 8]
    scale, x = Value("ScaleData", "Scale", (), {"a": 3.0}), diffPair(5.0)
    assert m.Scale.of(scale, 2.0) == 6.0 and m.Scale.of.bind(scale)(2.0) == 6.0
    m.Scale.of.bwds(scale, x, floatDiffPair(0.0, 1.0))
    assert x.grad == 3.0


# >>lists for arrays of generic length


def test_lists_set_the_length_and_the_type_of_generic_arrays(load):
    """A list sets N of a generic T[N]; ints serve for floats; lists of vectors and of dicts go whole."""
    m = load("""
struct P { float x; float2 v; };
float sum<let N : int>(float a[N]) { float r = 0; for (int i = 0; i < N; i++) r += a[i]; return r; }
float2 total<let N : int>(float2 a[N]) { float2 r = 0; for (int i = 0; i < N; i++) r += a[i]; return r; }
T last<T, let N : int>(T a[N]) { return a[N - 1]; }
""")
    assert m.sum([1, 2, 3]) == 6.0 and m.sum([1.0, 2.0]) == 3.0
    assert m.total([[1, 2], [3, 4]]) == m.total([spy.float2(1, 2), spy.float2(3, 4)]) == spy.float2(4, 6)
    assert m.last([1, 2]) == 2 and m.last([1.5, 2.5]) == 2.5 and m.last([spy.float2(1, 2), spy.float2(3, 4)]) == spy.float2(3, 4)
    assert m.last([{"_type": "P", "x": 1, "v": [1, 2]}, {"_type": m.P, "x": 3, "v": [3, 4]}]) == {"x": 3.0, "v": spy.float2(3, 4)}


def test_the_module_cache_has_a_file_for_each_module(tmp_path):
    """module_cache_path gets a file NAME.slang-module for each module, which is not written again when it is used."""
    (tmp_path / "kept.slang").write_text("import slangpy;\nint f() { return 3; }\n")

    def run():
        device = spy.Device(module_cache_path=tmp_path / "cache", compiler_options={"include_paths": [spy.SHADER_PATH, tmp_path]})
        try:
            assert spy.Module.load_from_file(device, "kept.slang").f() == 3 and device.load_module("kept").name == "kept"
        finally:
            device.close()
        return {file.name: file.stat().st_mtime_ns for file in (tmp_path / "cache").rglob("*.slang-module")}

    first = run()
    assert list(first) == ["kept.slang-module"] and run() == first


def test_a_renamed_entry_point_has_its_name_in_the_programs_layout(device):
    """entry.rename(name) gives a new entry point with another name, which is its name_override."""
    module = device.load_module_from_source("facts_c_rename", "[shader(\"compute\")] [numthreads(2, 1, 1)] void main(RWStructuredBuffer<int> o) { o[0] = 3; }")
    entry, other = module.entry_point("main"), module.entry_point("main").rename("other")
    assert (other.name, other.layout.name, other.layout.name_override) == ("other", "main", "other") and entry.layout.name_override == "main"
    program = device.link_program([module], [other])
    assert program.layout.entry_points[0].name_override == "other" and program.layout.entry_points[0].compute_thread_group_size == [2, 1, 1]
    buffer = device.create_buffer(element_count=1, struct_size=4, usage=spy.BufferUsage.unordered_access)
    device.create_compute_kernel(program).dispatch([1, 1, 1], o=buffer)
    assert buffer.to_numpy().view(np.int32)[0] == 3
