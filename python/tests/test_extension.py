"""User classes as arguments: get_this() and update_this(), PYTHON_TYPES, to_cursor(), and errors for what is not supported.
(Feature C13.)"""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
struct Ray { float3 o; float3 d; float3 at(float t) { return o + t * d; } };
float3 at(Ray r, float t) { return r.o + t * r.d; }
float twice(float x) { return 2 * x; }
int twice(int x) { return 2 * x; }
void bump(inout float x) { x += 1; }
uniform float gain;
float gained(float x) { return gain * x; }
"""


@pytest.fixture(scope="module")
def module(load):
    return load(SOURCE)


@pytest.fixture(autouse=True)
def registry():
    """Removes the types that a test registers."""
    kept = dict(spy.PYTHON_TYPES)
    yield
    spy.PYTHON_TYPES.clear()
    spy.PYTHON_TYPES.update(kept)


class Ray:
    def __init__(self, o, d):
        self.o, self.d = o, d

    slangpy_signature = "Ray"

    def get_this(self):
        return {"_type": "Ray", "o": self.o, "d": self.d}


def test_get_this(module):
    """An argument may have get_this(), and an attribute slangpy_signature. (Feature C13.)"""
    got = module.at(Ray([1, 2, 3], [0, 0, 1]), 2.0)
    assert np.allclose(list(got), [1, 2, 5])


def test_get_this_nested(module):
    """A dict may contain objects whose get_this() gives arrays. (Feature C13.)"""
    class Column:
        slangpy_signature = "any text"

        def __init__(self, array):
            self.array = array

        def get_this(self):
            return self.array

    o = np.arange(12, dtype=np.float32).reshape(4, 3)
    got = module.at({"o": Column(o), "d": [1.0, 0.0, 0.0]}, 3.0, _result="numpy")
    assert np.array_equal(got, o + np.float32([3, 0, 0]))


def test_get_this_chain(module):
    """get_this() may give another object with get_this(). (Feature C13.)"""
    class Outer:
        def get_this(self):
            return Ray([0, 0, 0], [1, 2, 3])

    assert np.allclose(list(module.at(Outer(), 2.0)), [2, 4, 6])


def test_signature_is_not_needed(module):
    """Two objects of one signature and different types are told apart. (Feature C13.)"""
    class Number:
        slangpy_signature = "number"

        def __init__(self, value):
            self.value = value

        def get_this(self):
            return self.value

    assert module.twice(Number(3)) == 6 and isinstance(module.twice(Number(3)), int)
    assert module.twice(Number(1.25)) == 2.5


def test_update_this(device, module):
    """update_this() gets what the call has written to an inout parameter. (Feature C13.)"""
    class Counter:
        slangpy_signature = "Counter"

        def __init__(self, tensor):
            self.tensor, self.told = tensor, []

        def get_this(self):
            return self.tensor

        def update_this(self, value):
            self.told.append(value)

    c = Counter(spy.Tensor.from_numpy(device, np.array([1, 5], np.float32)))
    module.bump(c)
    assert c.tensor.to_numpy().tolist() == [2, 6] and len(c.told) == 1


def test_get_this_raises(module):
    """Exceptions of get_this() reach the caller. (Feature C13.)"""
    class Broken:
        def get_this(self):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        module.twice(Broken())


class Plain:
    def __init__(self, value):
        self.value = value


class Derived(Plain):
    pass


@pytest.mark.parametrize("kind", [Plain, Derived])
def test_python_types(module, kind):
    """A function in PYTHON_TYPES is used for its class and for subclasses. (Feature C13.)"""
    with pytest.raises(TypeError, match="Unsupported type"):
        module.twice(kind(3))
    spy.PYTHON_TYPES[Plain] = lambda p: p.value
    assert module.twice(kind(3)) == 6


def test_python_types_nearest(module):
    """Among several registered base classes, the function of the nearest one is used. (Feature C13.)"""
    spy.PYTHON_TYPES[Plain] = lambda p: p.value
    spy.register_python_type(Derived, lambda p: 10 * p.value)
    assert module.twice(Derived(3)) == 60 and module.twice(Plain(3)) == 6


def test_python_types_arrays(module):
    """A call runs over the elements of a registered class that is an array. (Feature C13.)"""
    class Samples(Plain):
        pass

    spy.PYTHON_TYPES[Samples] = lambda s: s.value * 2
    x = np.arange(5, dtype=np.float32)
    assert np.array_equal(module.twice(Samples(x), _result="numpy"), 4 * x)


def test_python_types_before_builtin(module):
    """A class derived from dict can be registered; a plain dict is passed as before. (Feature C13.)"""
    class Config(dict):
        pass

    spy.PYTHON_TYPES[Config] = lambda c: c["x"]
    assert module.twice(Config(x=4)) == 8
    assert np.allclose(list(module.at({"o": [0, 0, 0], "d": [1, 1, 1]}, 1.0)), [1, 1, 1])


def test_python_types_adaptor(device, module):
    """The function in PYTHON_TYPES may be an adaptor class with get_this() and update_this(). (Feature C13.)"""
    told = []

    class Adaptor:
        def __init__(self, value):
            self.tensor = value.value

        def get_this(self):
            return self.tensor

        def update_this(self, value):
            told.append(value)

    class Box(Plain):
        pass

    spy.PYTHON_TYPES[Box] = Adaptor
    t = spy.Tensor.from_numpy(device, np.array([1.5], np.float32))
    module.bump(Box(t))
    assert t.to_numpy().tolist() == [2.5] and len(told) == 1


def test_python_types_globals(module):
    """Values of registered classes can be given for globals. (Feature C13.)"""
    spy.PYTHON_TYPES[Plain] = lambda p: p.value
    assert module.gained.set({"gain": Plain(3.0)})(2.0) == 6


def test_python_types_removed(module):
    """An object of a class that is no longer registered raises an error, also at a call site that has passed one before.
    (Feature C13.)"""
    class Gone(Plain):
        pass

    f = module.twice
    spy.PYTHON_TYPES[Gone] = lambda p: p.value
    assert f(Gone(2)) == 4
    del spy.PYTHON_TYPES[Gone]
    with pytest.raises(TypeError, match="Unsupported type"):
        f(Gone(2))


def test_python_types_errors(module):
    """Registered functions that fail or give unusable values are errors. (Feature C13.)"""
    class Same(Plain):
        pass

    spy.PYTHON_TYPES[Same] = lambda p: Same(1)
    with pytest.raises(TypeError, match="gave another one"):
        module.twice(Same(1))
    spy.PYTHON_TYPES[Same] = lambda p: 1 / 0
    with pytest.raises(ZeroDivisionError):
        module.twice(Same(1))
    spy.PYTHON_TYPES[Same] = lambda p: object()
    with pytest.raises(TypeError, match="Unsupported type"):
        module.twice(Same(1))


def test_register_errors():
    """The functions that register types refuse wrong arguments. (Feature C13.)"""
    with pytest.raises(TypeError):
        spy.register_python_type("Plain", lambda p: 1)
    with pytest.raises(TypeError, match="expected a callable"):
        spy.register_python_type(Plain, 3)
    with pytest.raises(TypeError, match="expected a callable"):
        spy.register_write_to_cursor_type(Plain, 3)
    with pytest.raises(TypeError):
        spy.register_python_type(Plain)


class Gain:
    def __init__(self, value):
        self.value = value

    def to_cursor(self):
        return self.value


def test_to_cursor(module):
    """A cursor writes objects with to_cursor(). (Feature C13.)"""
    def write(cursor, gain):
        cursor.gain = gain

    assert module.gained.write(write, Gain(4.0))(2.0) == 8
    assert module.gained.set(gain=Gain(5.0))(2.0) == 10


def test_cursor_type(module):
    """register_write_to_cursor_type() for a class that has no to_cursor(). (Feature C13.)"""
    class Level(Plain):
        pass

    spy.register_write_to_cursor_type(Level, lambda v: v.value + 1)

    def write(cursor):
        cursor["gain"] = Level(1.0)

    assert module.gained.write(write)(3.0) == 6


def test_marshall():
    """slangpy.bindings has the registry and SlangPy's base class Marshall; test_slangpy_marshall.py tests them. (Feature
    C13.)"""
    from slangpy.bindings import PYTHON_TYPES, Marshall

    assert PYTHON_TYPES is spy.PYTHON_TYPES

    class Mine(Marshall):
        pass

    assert "Mine" in repr(Mine(None)) and not Mine(None).get_shape().valid
