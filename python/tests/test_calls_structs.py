"""Calls with structs: dicts, methods, constructors, `this`, interfaces."""
import numpy as np
import pytest

import slangpy as spy
from calls_module import as_lists, io, rand, s  # noqa: F401: fixtures

# >>dicts


@pytest.mark.parametrize("value", [{"a": 5, "b": 6.0}, {"b": 6.0, "a": 5}, {"_type": "Pair", "a": 5, "b": 6.0}])
def test_dict_for_struct(s, value):
    """A dict gives the fields of a struct by name. (Features C5, C6.)"""
    assert s.sum(value) == 11


def test_dict_type_by_struct(s):
    """'_type' in a dict may be a type of the module. (Feature C6.)"""
    assert s.sum({"_type": s.Pair, "a": 5, "b": 6.0}) == 11


def test_soa_dict(s):
    """A dict for a struct may mix tensors, arrays and numbers, whose shapes broadcast. (Feature C5.)"""
    a, b = np.arange(4, dtype=np.int32), rand(3, 1)
    assert np.allclose(s.sum({"a": a, "b": b}, _result="numpy"), a + b)
    assert np.allclose(s.sum({"a": spy.Tensor.from_numpy(s.device, a), "b": 0.5}, _result="numpy"), a + 0.5)


def test_nested_dicts(s):
    """Dicts in dicts pass structs in structs, with and without _type. (Feature C5.)"""
    t = s.device
    m = spy.Module.load_from_source(t, "nested_dicts", """
        struct In { float x; float3 c; };
        struct Out { In i; float w; };
        float f(Out o) { return o.i.x + o.i.c.y * 10 + o.w * 100; }""")
    x = rand(6)
    r = m.f({"i": {"x": x, "c": [1, 2, 3]}, "w": 2}, _result="numpy")
    assert np.allclose(r, x + 20 + 200)
    assert m.f({"_type": "Out", "i": {"_type": "In", "x": 1, "c": [1, 2, 3]}, "w": 2}) == 221


def test_dict_for_a_vector(load):
    """A dict with x, y, z, w passes a float4, as SlangPy's page about nested types does. (Feature C5.)"""
    m = load("void copy(float4 src, out float4 dest) { dest = src; }")
    dest = np.zeros((4, 5, 4), np.float32)
    y = rand(4, 5)
    m.copy(src={"x": 1.0, "y": y, "z": 0.0, "w": 1.0}, dest=dest)
    assert np.array_equal(dest[..., 0], np.ones((4, 5))) and np.array_equal(dest[..., 1], y)
    m.copy(src={"x": 1.0, "y": spy.rand_float(min=0, max=1, dim=1), "z": 0.0, "w": 1.0}, dest=dest)
    assert 0 <= dest[..., 1].min() < dest[..., 1].max() < 1


def test_dict_with_type_for_a_generic_vector(load):
    """'_type': 'float3' in a dict chooses the type of a generic function, as SlangPy's page about nested types does. (Feature C6.)"""
    m = load("void copy_vector<let N : int>(vector<float, N> src, out vector<float, N> dest) { dest = src; }")
    dest = np.zeros((4, 3), np.float32)
    m.copy_vector(src={"_type": "float3", "x": 1.0, "y": np.float32([1, 2, 3, 4]), "z": 5.0}, dest=dest)
    assert np.array_equal(dest, [[1, i, 5] for i in (1, 2, 3, 4)])


# >>structs with methods, constructors, this


TYPES = """
import slangpy;
struct Counter {
    int n; float x;
    int get() { return n; }
    [mutating] void add(int k) { n += k; x += 0.5; }
    static int twice(int k) { return 2 * k; }
    float mix(float a) { return float(n) + x + a; }
    struct Part { float v; float get() { return v * 2; } };
};
struct Made { float a; float b;
    __init(float both) { a = both; b = both; }
    __init(float p, float q) { a = p; b = q; }
    float sum() { return a + b; }
};
namespace deep {
    struct Point { float x; float y; float norm2() { return x * x + y * y; } };
    float half_of(float v) { return v / 2; } }
struct Grid<T, let N : int> { T v[N]; T last() { return v[N - 1]; } };
extension Counter { int extra() { return n * 100; } };
"""


@pytest.fixture(scope="module")
def ty(load):
    return load(TYPES)


def test_methods_by_type(ty):
    """module.Foo.method takes the instance as the first argument or by the name `this`. (Feature I1.)"""
    assert ty.Counter.get({"n": 4, "x": 0}) == 4
    assert ty.Counter.get(this={"n": 4, "x": 0}) == 4
    assert ty.Counter.mix({"n": 4, "x": 0.5}, 1) == 5.5
    assert ty.Counter.mix(this={"n": 4, "x": 0.5}, a=1) == 5.5


def test_static_methods_and_nested_types(ty):
    """Static methods, types within types and methods of extensions are found. (Feature I1.)"""
    assert ty.Counter.twice(21) == 42
    assert ty.Counter.Part.get({"v": 3}) == 6
    assert ty.Counter.extra({"n": 2, "x": 0}) == 200
    assert ty["Counter::Part::get"]({"v": 3}) == 6


def test_namespaces(ty):
    """module['ns::f'] is the function f of the namespace ns. (Features M3, I1.)"""
    assert ty["deep::half_of"](3) == 1.5
    assert ty["deep::Point"].norm2({"x": 3, "y": 4}) == 25


def test_generic_types_methods(ty):
    """Methods of generic types are found by name. (Feature I1.)"""
    assert ty["Grid<float, 3>"].last({"v": [1, 2, 3]}) == 3


def test_constructors(ty):
    """module.Foo(...) calls a struct's __init, or the constructor that Slang makes. (Feature I1.)"""
    assert ty.Made(2) == {"a": 2, "b": 2}
    assert ty.Made(2, 3) == {"a": 2, "b": 3}
    assert ty.Made(p=2, q=3) == {"a": 2, "b": 3}
    assert ty.Counter(3, 1.5) == {"n": 3, "x": 1.5}
    r = ty.Made(np.float32([1, 2]), 5, _result="numpy")
    assert r["a"].tolist() == [1, 2] and r["b"].tolist() == [5, 5]
    assert ty.Made.__init(2, 3) == {"a": 2, "b": 3} if hasattr(ty.Made, "__init") else True


def test_bind(ty):
    """fn.bind(this) gives a function with a bound instance. (Feature I2.)"""
    f = ty.Counter.mix.bind({"n": 4, "x": 0.5})
    assert f(1) == 5.5 and f(a=2) == 6.5
    assert ty.Counter.mix({"n": 0, "x": 0}, 1) == 1


def test_bind_tensor(ty):
    """A mutating method changes a tensor of structs that is given as `this`. (Features I2, I3.)"""
    t = spy.Tensor.zeros(ty.device, (3,), ty.Counter)
    f = ty.Counter.add.bind(t)
    f(2)
    f(np.int32([1, 2, 3]))
    assert ty.Counter.get(t, _result="numpy").tolist() == [3, 4, 5]


def test_soa_this(ty):
    """A dict of tensors can be the instance of a mutating method. (Feature I2.)"""
    n, x = spy.Tensor.zeros(ty.device, (4,), "int"), spy.Tensor.zeros(ty.device, (4,))
    ty.Counter.add({"n": n, "x": x}, 3)
    ty.Counter.add(this={"n": n, "x": x}, k=3)
    assert n.to_numpy().tolist() == [6] * 4 and x.to_numpy().tolist() == [1] * 4


class Thing:
    """A user's class with get_this() and update_this()."""

    def __init__(self, value):
        self.value = value
        self.updates = 0

    def get_this(self):
        return self.value

    def update_this(self, value):
        self.value = value
        self.updates += 1


def test_this_of_numbers(ty):
    """The numbers of a dict come back through update_this(). (Features C13, I2.)"""
    thing = Thing({"n": 1, "x": 2.0})
    ty.Counter.add(thing, 5)
    assert thing.value == {"n": 6, "x": 2.5} and thing.updates == 1
    ty.Counter.add.bind(thing)(k=5)
    assert thing.value == {"n": 11, "x": 3.0}
    assert ty.Counter.get(thing) == 11


def test_this_with_type_and_arrays(ty):
    """update_this() gets the same '_type' and the same tensor objects that get_this() gave. (Features C13, C6.)"""
    n = spy.Tensor.zeros(ty.device, (3,), "int")
    x = spy.Tensor.zeros(ty.device, (3,))
    thing = Thing({"_type": "Counter", "n": n, "x": x})
    ty.Counter.add(thing, np.int32([1, 2, 3]))
    assert thing.value["n"] is n and n.to_numpy().tolist() == [1, 2, 3] and thing.value["_type"] == "Counter"
    assert x.to_numpy().tolist() == [0.5] * 3


def test_this_of_nested_dicts(load):
    """get_this() may give nested dicts with numbers and vectors at any depth. (Feature C13.)"""
    m = load("struct In { float3 c; int k; };\nstruct Out { In i; float w; [mutating] void step() { i.c += 1; i.k += 2; w *= 2; } };")
    thing = Thing({"i": {"c": [1, 2, 3], "k": 5}, "w": 1.5})
    m.Out.step(thing)
    assert as_lists(thing.value["i"]["c"]) == [2, 3, 4] and thing.value["i"]["k"] == 7 and thing.value["w"] == 3


def test_this_of_an_in_parameter_is_not_touched(ty):
    """Values that the function cannot change are given back by update_this() as they were. (Feature C13.)"""
    value = {"n": 1, "x": 2.0}
    thing = Thing(value)
    assert ty.Counter.get(thing) == 1
    assert thing.value == {"n": 1, "x": 2.0}
    assert value == {"n": 1, "x": 2.0}


def test_this_of_a_number(io):
    """get_this() may give a number. (Feature C13.)"""
    thing = Thing(3)
    io.count(thing)
    assert thing.value == 4


def test_this_without_update(ty):
    """update_this() is optional. (Feature C13.)"""
    class Fixed:
        def get_this(self):
            return {"n": 9, "x": 0.0}

    assert ty.Counter.get(Fixed()) == 9
    assert ty.Counter.get(this=Fixed()) == 9


def test_this_in_lists_of_arguments(io, ty):
    """A call takes several objects with get_this(), also within each other. (Feature C13.)"""
    thing = Thing(Thing({"n": 1, "x": 2.0}))
    assert ty.Counter.get(thing) == 1


def test_signature_objects(ty):
    """slangpy_signature is allowed on a user's class. (Feature C13.)"""
    class Signed(Thing):
        slangpy_signature = "[Signed]"

    assert ty.Counter.get(Signed({"n": 7, "x": 0})) == 7


# >>interfaces


SHAPES = """
interface IShape { float area(); };
struct Circle : IShape { float r; float area() { return 3 * r * r; } };
struct Square : IShape { float s; float area() { return s * s; } };
float area(IShape shape) { return shape.area(); }
float both<T : IShape, U : IShape>(T a, U b) { return a.area() * 100 + b.area(); }
"""


def test_interface_parameters(load):
    """An interface parameter takes a dict with '_type' or a tensor of a struct. (Feature C12.)"""
    m = load(SHAPES)
    assert m.area({"_type": "Circle", "r": 2}) == 12
    assert m.area({"_type": m.Square, "s": 3}) == 9
    assert m.area({"_type": "Square", "s": np.float32([1, 2, 3])}, _result="numpy").tolist() == [1, 4, 9]
    assert m.both({"_type": "Circle", "r": 1}, {"_type": "Square", "s": 2}) == 304
    t = spy.Tensor.empty(m.device, (2,), m.Circle)
    t.copy_from_numpy(np.float32([1, 2]))
    assert m.area(t, _result="numpy").tolist() == [3, 12]


def test_interface_without_type_is_an_error(load):
    """A dict without '_type' is an error for an interface parameter, because it does not say which struct it is. (Feature C12.)"""
    m = load(SHAPES)
    with pytest.raises((TypeError, ValueError), match="IShape|'shape'|shape"):
        m.area({"r": 2})
