"""Calls: numbers as arguments, arguments by position and name, overloads and generics, and what is kept between calls. Features C1,
C2, C4, V5, V16, Y9 and others, as the C tests have them. The other test_calls files have broadcasting, references, results, structs
and vectors."""
import enum

import numpy as np
import pytest

import slangpy as spy
from calls_module import m, rand, rng  # noqa: F401: fixtures

# >>scalars


@pytest.mark.parametrize("name, value", [
    ("tiny", -128), ("tiny", 127), ("tinyu", 255), ("small", -32768), ("smallu", 65535), ("addi1", 2**31 - 1),
    ("unsigned_", 2**32 - 1), ("signed_big", -2**63), ("signed_big", 2**63 - 1), ("big", 2**64 - 1), ("big", 0),
])
def test_integers_keep_all_bits(m, name, value):
    """Python ints keep all bits in parameters of every integer type. (Feature C1.)"""
    if name == "addi1":
        assert m.addi(value, 0) == value
    else:
        result = m[name](value)
        assert result == value and type(result) is int


def test_float_and_int_literals_take_the_parameters_type(m):
    """An int parameter takes a float only if the float is a whole number; a float parameter takes ints. (Feature C1.)"""
    assert m.add(1, 2) == 3.0 and type(m.add(1, 2)) is float
    assert m.addi(1, 2) == 3 and type(m.addi(1, 2)) is int
    assert m.add(1.5, 2) == 3.5
    assert m.addi(2.0, 1) == 3


def test_bool_half_double(m):
    """Parameters of type bool, half and double take numbers. (Feature C1.)"""
    assert m.flip(True) is False and m.flip(False) is True
    assert m.halve(3.0) == 1.5
    assert m.wide(0.1) == 0.2
    assert m.wide(1e300) == 2e300
    assert m.add(True, 1) == 2.0


@pytest.mark.parametrize("scalar", [np.float32(2.5), np.float64(2.5), np.float16(2.5)])
def test_numpy_float_scalars(m, scalar):
    """numpy's float scalars are numbers. (Feature C1.)"""
    assert m.add(scalar, 1) == 3.5


@pytest.mark.parametrize("scalar", [np.int8(7), np.uint8(7), np.int16(7), np.uint16(7), np.int32(7), np.uint32(7), np.int64(7),
                                    np.uint64(7)])
def test_numpy_int_scalars(m, scalar):
    """numpy's integer scalars are numbers. (Feature C1.)"""
    assert m.addi(scalar, 1) == 8


def test_numpy_bool_scalar_and_zero_rank_arrays(m):
    """numpy.bool_ and arrays of rank 0, read-only or not, are numbers. (Feature C1.)"""
    assert m.flip(np.bool_(True)) is False
    assert m.add(np.array(2.0, np.float32), np.array(3.0)) == 5.0
    frozen = np.array(4.0)
    frozen.setflags(write=False)
    assert m.add(frozen, 1) == 5.0


class Which(enum.IntEnum):
    A = 3
    B = 40


def test_int_enum_is_an_int(m):
    """Objects of subclasses of int and float are numbers. (Feature C1.)"""
    class Meters(float):
        pass

    assert m.addi(Which.A, Which.B) == 43
    assert m.add(Meters(1.5), 1) == 2.5


def test_slang_enums(m):
    """A Slang enum takes and gives its number. (Feature C1.)"""
    assert m.color(5) == 5
    assert m.next(0) == 5 and m.next(5) == 6
    assert m.color(Which.A) == 3


def test_index_objects_are_ints(m):
    """An object with __index__ is passed as an int, one with __float__ as a float. (Feature C1.)"""
    class Index:
        def __index__(self):
            return 11

    class Float:
        def __float__(self):
            return 0.25

    assert m.addi(Index(), 1) == 12
    assert m.add(Float(), 1) == 1.25


# >>arguments by position and name


def test_positional_named_and_mixed(m):
    """Arguments go by position in the parameters' order, by name, or both. (Feature C14.)"""
    assert m.sub(7, 3) == 4
    assert m.sub(a=7, b=3) == 4
    assert m.sub(b=3, a=7) == 4
    assert m.sub(7, b=3) == 4
    assert m.sub(*[7], **{"b": 3}) == 4


def test_names_made_at_run_time(m):
    """`_result` and parameter names may be strings that Python has not interned. (Feature C14.)"""
    names = {"".join(["_res", "ult"]): "numpy", "".join(["_thread", "_count"]): None, "".join(["_append", "_to"]): None}
    r = m.add(np.float32([1, 2]), 1, **names)
    assert isinstance(r, np.ndarray) and r.tolist() == [2, 3]


def test_default_values(m):
    """Parameters with default values may be left out. (Feature C14.)"""
    assert m.with_default(1) == 4 and m.with_default(1, 2) == 3 and m.with_default(x=2) == 5


def test_call_is_the_call(m):
    """function.call(...) is the same as function(...). (Feature F1.)"""
    assert m.sub.call(7, b=3) == 4


def test_void_gives_none(m):
    """A function that returns nothing gives None, vectorised or not. (Feature R1.)"""
    assert m.nothing(1) is None
    assert m.nothing(np.ones(5, np.float32)) is None


def test_no_arguments(m):
    """A function without parameters can be called. (Feature C14.)"""
    assert m.one() == 1


# >>overloads and generics


OVERLOADS = """
int which(int x) { return 1; }
int which(float x) { return 2; }
int which(float3 x) { return 3; }
int which(int a, int b) { return 4; }
T same<T>(T x) { return x; }
float dotn<let N : int>(vector<float, N> a, vector<float, N> b) { return dot(a, b); }
float addn<let N : int>(float a[N]) { float s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
T typed<T : __BuiltinArithmeticType, let N : int>(vector<T, N> v) { return v[N - 1]; }
"""


@pytest.fixture(scope="module")
def overloads(load):
    return load(OVERLOADS)


@pytest.mark.parametrize("args, expected", [((1,), 1), ((1.5,), 2), ((1, 2), 4),
                                            ((np.int32(1),), 1), ((np.float32(1),), 2)])
def test_overloads(overloads, args, expected):
    """A call chooses the overload that fits its arguments. (Feature V5.)"""
    assert overloads.which(*args) == expected


def test_map_of_no_dimensions(overloads):
    """map(()) passes an argument whole: one float3 rather than three floats; without it that is ambiguous. (Feature V6.)"""
    assert overloads.which.map(())([1.0, 2.0, 3.0]) == 3
    assert overloads.which.map(x=())(np.float32([1, 2, 3])) == 3
    with pytest.raises(TypeError, match="overloads fit equally well"):
        overloads.which([1.0, 2.0, 3.0])
    assert overloads.same.map(())([1, 2, 3, 4]) is not None


@pytest.mark.parametrize("dtype, expected", [(np.int32, 1), (np.float32, 2)])
def test_overloads_by_arrays(overloads, dtype, expected):
    """The types of arrays choose the overload. (Feature V5.)"""
    assert overloads.which(np.ones(4, dtype), _result="numpy").tolist() == [expected] * 4


@pytest.mark.parametrize("n", [2, 3, 4])
def test_generic_sizes(overloads, n):
    """A size N of a generic function (`let N : int`) is inferred from the argument. (Feature V5.)"""
    a, b = rand(7, n), rand(7, n)
    t = spy.Tensor.empty(overloads.device, (7,), "float%d" % n)
    t.copy_from_numpy(a)
    assert np.allclose(overloads.dotn(t, b, _result="numpy"), (a * b).sum(1), atol=1e-5)


def test_generic_by_name(overloads):
    """module['f<...>'] names a specialisation. (Features M3, V5.)"""
    assert overloads["addn<4>"]([1, 2, 3, 4]) == 10
    assert overloads["typed<float, 4>"]([1, 2, 3, 4]) == 4
    assert overloads["same<int>"](5) == 5
    assert overloads["same<float>"](5) == 5.0
    assert np.array_equal(overloads["addn<3>"](np.ones((5, 3), np.float32), _result="numpy"), np.full(5, 3))


def test_generic_types(overloads):
    """The generic type T is inferred from a number, an array and a cast. (Feature V5.)"""
    assert overloads.same(7) == 7 and overloads.same(0.5) == 0.5
    x = rng.integers(0, 100, 6, dtype=np.int64)
    r = overloads.same(x, _result="numpy")
    assert r.dtype == np.int64 and np.array_equal(r, x)
    assert list(overloads.same.map("float3")([1, 2, 3])) == [1, 2, 3]


# >>the cache


def test_values_do_not_compile_again(m):
    """Other values and sizes need no new kernel; another type compiles one. (Feature H1.)"""
    d = m.device
    m.add(1.0, 2.0)
    before = d.stats()["plans_built"]
    for i in range(20):
        assert m.add(i, 2.5) == i + 2.5 if i == -1 else True
        assert m.add(float(i), 2.5) == i + 2.5
    assert d.stats()["plans_built"] - before <= 1
    for n in (3, 4, 5):
        m.add(np.ones(n, np.float32), 1.0)
    built = d.stats()["plans_built"]
    for n in (6, 7, 8):
        m.add(np.ones(n, np.float32), 1.0)
    assert d.stats()["plans_built"] == built


def test_call_sites_see_many_types(m):
    """A call site works when it gets more signatures than it remembers. (Feature H1.)"""
    values = [1, 1.0, True, np.float32(1), np.float64(1), np.int8(1), np.uint8(1), np.int16(1), np.uint16(1), np.int32(1), np.uint32(1),
              np.int64(1), np.uint64(1), np.float16(1), np.ones((), np.float32), Which.A - 2, spy.ValueRef(1)]
    for _ in range(2):
        for v in values:
            assert m.add(v, 1) == 2
