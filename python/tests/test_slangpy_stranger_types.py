"""Functions over every element type, in a table of types, compared with numpy."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Tensor, float2, float3, float4

NUMPY = {"int8_t": np.int8, "int16_t": np.int16, "int": np.int32, "int64_t": np.int64, "uint8_t": np.uint8, "uint16_t": np.uint16,
         "uint": np.uint32, "uint64_t": np.uint64, "half": np.float16, "float": np.float32, "double": np.float64, "bool": np.bool_}
FORMS = {"{}": (), "vector<{},3>": (3,), "{}[4]": (4,), "matrix<{},2,3>": (2, 3)}


@pytest.fixture(scope="module")
def of_types(load):
    """Returns one module with a function `same` for every type."""
    types = [form.format(t) for t in NUMPY for form in FORMS if "matrix" not in form or t in ("int", "uint", "half", "float", "double")]
    names = {t: "same_{}".format(i) for i, t in enumerate(types)}
    return load("\n".join("{0} {1}({0} a) {{ return a; }}".format(t, n) for t, n in names.items())), names


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scalar", ["int8_t", "int", "uint64_t", "half", "float", "double", "bool"])
def test_values_go_through_unchanged(of_types, device, scalar, form):
    """A tensor, a view and an array of each type go through a function unchanged: the element's shape follows the call's."""
    module, names = of_types
    name = form.format(scalar)
    if name not in names:
        pytest.skip("no such matrix")
    shape = FORMS[form]
    values = (np.random.rand(2, 5, *shape) * 100).astype(NUMPY[scalar])
    tensor = Tensor.empty(device, (2, 5), module[name])
    tensor.copy_from_numpy(values)
    same = module[names[name]]
    result = same(tensor)
    assert result.shape == (2, 5) and np.array_equal(tensor.to_numpy(), values) and np.array_equal(result.to_numpy(), values)
    assert np.array_equal(same(values, _result="numpy"), values)
    assert np.array_equal(same(tensor[1], _result="numpy"), values[1])


@pytest.mark.parametrize("scalar", list(NUMPY)[:-1])
def test_sums_of_each_scalar_type(load, device, scalar):
    """Sums of scalars give int or float, and sums of tensors give tensors of the type."""
    add = load("{0} add({0} a, {0} b) {{ return {0}(a + b); }}".format(scalar)).add
    assert add(5, 7) == 12
    a, b = np.arange(12, dtype=NUMPY[scalar]).reshape(3, 4), np.full((3, 4), 3, NUMPY[scalar])
    result = add(Tensor.from_numpy(device, a), b)
    assert isinstance(result, Tensor) and result.shape == (3, 4) and np.array_equal(result.to_numpy(), a + b)


BINDINGS = """
import slangpy;
struct S { float x; float y; };
struct Gn<T> { T v; };
interface IB { float get(); };
struct B1 : IB { float q; float get() { return q; } };
float of_float(float a) { return a; }
float of_float3(float3 a) { return a.x; }
float of_array(float a[8]) { return a[0]; }
float of_n<let N : int>(vector<float,N> a) { return a[0]; }
float of_array_n<let N : int>(float a[N]) { return a[0]; }
float of_t<T>(T a) { return 0; }
float of_s(S s) { return s.x; }
float of_gn<T>(Gn<T> s) { return 0; }
float of_interface(IB s) { return s.get(); }
float of_tensor(Tensor<float,1> t) { return t[0]; }
float of_rank<let D : int>(Tensor<float,D> t) { return 0; }
float of_matrix(float3x4 a) { return 0; }
int of_int(int a) { return a; }
"""


HERE = [] # the device, in a list


@pytest.fixture(scope="module")
def bindings(load, device):
    HERE[:] = [device]
    yield load(BINDINGS)
    HERE.clear()


def zeros(*shape, dtype=float):
    return Tensor.zeros(HERE[0], shape, dtype)


@pytest.mark.parametrize("name, make, expected, mapping", [
    ("of_float", lambda: 1, "float", ()), ("of_float", lambda: zeros(4, 5), "float", (0, 1)), ("of_float", lambda: float3(1), "float", (0,)),
    ("of_float", lambda: [1.0, 2.0], "float", (0,)), ("of_float3", lambda: 1.0, None, ()), ("of_float3", lambda: zeros(4, 3), "vector<float,3>", (0,)),
    ("of_float3", lambda: zeros(4, dtype=float3), "vector<float,3>", (0,)), ("of_float3", lambda: [1.0, 2.0, 3.0], "vector<float,3>", ()),
    ("of_array", lambda: zeros(4, 8), "float[8]", (0,)), ("of_n", lambda: float4(1), "vector<float,4>", ()),
    ("of_n", lambda: zeros(4, dtype=float2), "vector<float,2>", (0,)), ("of_array_n", lambda: [1.0, 2.0, 3.0], "float[3]", ()),
    ("of_t", lambda: 1.0, "float", ()), ("of_t", lambda: 1, "int", ()), ("of_t", lambda: {"_type": "S", "x": 1.0, "y": 2.0}, "S", ()),
    ("of_s", lambda: {"x": 1.0, "y": 2.0}, "S", ()), ("of_gn", lambda: {"_type": "Gn<int>", "v": 1}, "Gn<int>", ()),
    ("of_interface", lambda: {"_type": "B1", "q": 1.0}, "B1", ()), ("of_tensor", lambda: zeros(3, 4), "Tensor<float,1>", (0,)),
    ("of_rank", lambda: zeros(2, 3, 4), "Tensor<float,3>", ()), ("of_matrix", lambda: zeros(5, 3, 4), "matrix<float,3,4>", (0,)),
    ("of_int", lambda: True, "int", ()),
])
def test_what_an_argument_becomes(bindings, name, make, expected, mapping):
    """debug_build_call_data() gives the element type of each argument and the dimensions that the call runs over."""
    data = bindings.require_function(name).debug_build_call_data(make())
    bound = data.debug_only_bindings.args[0]
    assert expected is None or bound.vector_type.full_name.replace(", ", ",") == expected
    got = bound.vector_mapping
    assert (got.as_tuple() if got is not None else ()) == mapping and data.call_dimensionality == len(mapping)


@pytest.mark.parametrize("shape", [(3,), (3, 4)])
def test_gradients_of_matrices_and_vectors(load, device, shape):
    """The gradients of a product Mv are the transposed product and the outer product."""
    f = load("[Differentiable] float3 f(float3x3 m, float3 v) { return mul(m, v); }").f
    m, v, seed = (np.random.rand(*shape, *s).astype(np.float32) for s in ((3, 3), (3,), (3,)))
    tm, tv = Tensor.empty(device, shape, spy.float3x3), Tensor.empty(device, shape, float3)
    tm.copy_from_numpy(m)
    tv.copy_from_numpy(v)
    tm, tv = tm.with_grads(), tv.with_grads()
    result = f(tm, tv).with_grads()
    assert np.allclose(result.to_numpy(), np.einsum("...ij,...j", m, v), atol=1e-5)
    result.grad_in.copy_from_numpy(seed)
    f.bwds(tm, tv, result)
    assert np.allclose(tv.grad.to_numpy(), np.einsum("...ij,...i", m, seed), atol=1e-5)
    assert np.allclose(tm.grad.to_numpy(), np.einsum("...i,...j->...ij", seed, v), atol=1e-5)
