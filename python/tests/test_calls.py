"""Calls: what arguments may be, how they are run over, and what comes back.

C1, C2, C4, C5, C6, C8, C10, C12, C13, C14, V1-V6, V12-V16, R1-R4, I1, I2, H1, Y9 (the same C calls from Python).
"""
import enum

import numpy as np
import pytest

import slangpy as spy

rng = np.random.default_rng(1234)


def rand(*shape):
    return rng.random(shape, dtype=np.float32)


SOURCE = """
import slangpy;
float add(float a, float b) { return a + b; }
int addi(int a, int b) { return a + b; }
int sub(int a, int b) { return a - b; }
T twice<T : IArithmetic>(T x) { return x + x; }
float3 scale(float3 v, float s) { return v * s; }
float sum3(float3 v) { return v.x + v.y * 10 + v.z * 100; }
float total(float v[4]) { float s = 0; for (int i = 0; i < 4; i++) s += v[i] * float(i + 1); return s; }
float corner(float2x3 m) { return m[0][0] + 10 * m[0][2] + 100 * m[1][0]; }
float3 turn(float3x3 m, float3 v) { return mul(m, v); }
float deep(float3 x[2]) { return x[0].x + 10 * x[0].z + 100 * x[1].y; }
bool flip(bool b) { return !b; }
half halve(half x) { return x * 0.5h; }
double wide(double x) { return x * 2; }
uint64_t big(uint64_t x) { return x; }
int64_t signed_big(int64_t x) { return x; }
int8_t tiny(int8_t x) { return x; }
uint8_t tinyu(uint8_t x) { return x; }
int16_t small(int16_t x) { return x; }
uint16_t smallu(uint16_t x) { return x; }
uint unsigned_(uint x) { return x; }
int64_t long_sum(int64_t a, int64_t b) { return a + b; }
void nothing(float x) {}
int one() { return 1; }
float with_default(float x, float y = 3) { return x + y; }
enum Color { Red, Green = 5, Blue }
int color(Color c) { return int(c); }
Color next(Color c) { return c == Color.Red ? Color.Green : Color.Blue; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


# >>scalars


@pytest.mark.parametrize("name, value", [
    ("tiny", -128), ("tiny", 127), ("tinyu", 255), ("small", -32768), ("smallu", 65535), ("addi1", 2**31 - 1),
    ("unsigned_", 2**32 - 1), ("signed_big", -2**63), ("signed_big", 2**63 - 1), ("big", 2**64 - 1), ("big", 0),
])
def test_integers_keep_all_bits(m, name, value):
    """C1: Python ints of any width; 64-bit ones too."""
    if name == "addi1":
        assert m.addi(value, 0) == value
    else:
        result = m[name](value)
        assert result == value and type(result) is int


def test_float_and_int_literals_take_the_parameters_type(m):
    """C1: float for int parameter only when whole; int for float."""
    assert m.add(1, 2) == 3.0 and type(m.add(1, 2)) is float
    assert m.addi(1, 2) == 3 and type(m.addi(1, 2)) is int
    assert m.add(1.5, 2) == 3.5
    assert m.addi(2.0, 1) == 3


def test_bool_half_double(m):
    """C1: bool, half and double."""
    assert m.flip(True) is False and m.flip(False) is True
    assert m.halve(3.0) == 1.5
    assert m.wide(0.1) == 0.2
    assert m.wide(1e300) == 2e300
    assert m.add(True, 1) == 2.0


@pytest.mark.parametrize("scalar", [np.float32(2.5), np.float64(2.5), np.float16(2.5)])
def test_numpy_float_scalars(m, scalar):
    """C1: numpy's scalars are numbers."""
    assert m.add(scalar, 1) == 3.5


@pytest.mark.parametrize("scalar", [np.int8(7), np.uint8(7), np.int16(7), np.uint16(7), np.int32(7), np.uint32(7), np.int64(7),
                                    np.uint64(7)])
def test_numpy_int_scalars(m, scalar):
    """C1: numpy's scalars are numbers."""
    assert m.addi(scalar, 1) == 8


def test_numpy_bool_scalar_and_zero_rank_arrays(m):
    """C1: numpy.bool_, and arrays of rank 0 that may be written or not."""
    assert m.flip(np.bool_(True)) is False
    assert m.add(np.array(2.0, np.float32), np.array(3.0)) == 5.0
    frozen = np.array(4.0)
    frozen.setflags(write=False)
    assert m.add(frozen, 1) == 5.0


class Which(enum.IntEnum):
    A = 3
    B = 40


def test_int_enum_is_an_int(m):
    """C1: subclasses of int and float."""
    class Meters(float):
        pass

    assert m.addi(Which.A, Which.B) == 43
    assert m.add(Meters(1.5), 1) == 2.5


def test_slang_enums(m):
    """C1: a Slang enum takes and gives its number."""
    assert m.color(5) == 5
    assert m.next(0) == 5 and m.next(5) == 6
    assert m.color(Which.A) == 3


def test_index_objects_are_ints(m):
    """C1: what has __index__ is an int, what has __float__ a float."""
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
    """C14: order is the parameters', names as they are."""
    assert m.sub(7, 3) == 4
    assert m.sub(a=7, b=3) == 4
    assert m.sub(b=3, a=7) == 4
    assert m.sub(7, b=3) == 4
    assert m.sub(*[7], **{"b": 3}) == 4


def test_names_made_at_run_time(m):
    """C14: _result and parameter names need not be interned."""
    names = {"".join(["_res", "ult"]): "numpy", "".join(["_thread", "_count"]): None, "".join(["_append", "_to"]): None}
    r = m.add(np.float32([1, 2]), 1, **names)
    assert isinstance(r, np.ndarray) and r.tolist() == [2, 3]


def test_default_values(m):
    """C14: parameters with default values may be left out."""
    assert m.with_default(1) == 4 and m.with_default(1, 2) == 3 and m.with_default(x=2) == 5


def test_call_is_the_call(m):
    """F1: .call(...)."""
    assert m.sub.call(7, b=3) == 4


def test_void_gives_none(m):
    """R1: a function that returns nothing gives None, vectorised or not."""
    assert m.nothing(1) is None
    assert m.nothing(np.ones(5, np.float32)) is None


def test_no_arguments(m):
    """C14: a function of no parameters."""
    assert m.one() == 1


# >>lists, vectors, matrices, arrays


@pytest.mark.parametrize("value", [[5, 6, 7], (5, 6, 7), [5.0, 6, 7.0], np.array([5, 6, 7], np.float32), np.array([5.0, 6, 7]),
                                   range(5, 8) and [5, 6, 7], [np.float32(5), np.int8(6), 7]])
def test_vectors_from_sequences(m, value):
    """C2, C3: lists, tuples and arrays for a vector."""
    assert m.sum3(value) == 5 + 60 + 700


@pytest.mark.parametrize("make", [lambda a: a, np.array, tuple, lambda a: np.array(a, np.float64)])
def test_arrays_from_sequences(m, make):
    """C2: a list for float[4]."""
    assert m.total(make([1, 2, 3, 4])) == 30


def test_matrix_from_nested_lists(m):
    """C2: rows of a matrix."""
    rows = [[1, 2, 3], [4, 5, 6]]
    assert m.corner(rows) == 1 + 30 + 400
    assert m.corner(np.float32(rows)) == 431
    assert m.corner(tuple(map(tuple, rows))) == 431


def test_array_of_vectors(m):
    """C2: [[1,2,3],[5,6,7]] for float3[2]."""
    assert m.deep([[1, 2, 3], [5, 6, 7]]) == 1 + 30 + 600
    assert m.deep(np.array([[1, 2, 3], [5, 6, 7]])) == 631


def test_matrix_times_vector(m):
    """C2, R4: matrices are rows."""
    a, v = rand(3, 3), rand(3)
    assert np.allclose(list(m.turn(a, v)), a @ v, atol=1e-6)


def test_lists_of_doubles_keep_their_digits(load):
    """C2: a list for double3."""
    m = load("double3 same(double3 x) { return x; }")
    assert list(m.same([0.1, 0.2, 1e200])) == [0.1, 0.2, 1e200]


def test_long_integers_in_lists(load):
    """C2: 64-bit numbers in lists."""
    m = load("uint64_t last(uint64_t x[2]) { return x[1]; } int64_t first(int64_t x[2]) { return x[0]; }")
    assert m.last([1, 2**64 - 1]) == 2**64 - 1
    assert m.first([-2**40, 5]) == -2**40


def test_bools_in_lists(load):
    """C2: lists of bool."""
    m = load("int count(bool4 b) { return (b.x ? 1 : 0) + (b.y ? 2 : 0) + (b.z ? 4 : 0) + (b.w ? 8 : 0); }")
    assert m.count([True, False, True, True]) == 13
    assert m.count(np.array([True, False, True, True])) == 13


def test_lists_of_scalars_run_over(m):
    """C2, V1: a list of numbers for a number is run over, as an array of them is."""
    r = m.add([1, 2, 3], 10)
    assert r.to_numpy().tolist() == [11, 12, 13]


# >>value types

VALUES = """
float3 dbl(float3 v) { return v * 2; }
T same<T>(T x) { return x; }
int which(float x) { return 1; }
int which(float3 x) { return 3; }
int which(int3 x) { return 4; }
float second(float v[3]) { return v[1]; }
void grow(inout float3 v) { v *= 2; }
float4x4 turned(float4x4 m) { return transpose(m); }
half halve(half x) { return x / 2; }
struct Ball { float3 p; float w; };
Ball ball(float3 p) { Ball r = { p, 1 }; return r; }
float top(Ball b) { return b.p.y + b.w; }
float plain(float x) { return x; }
"""


@pytest.fixture(scope="module")
def vt(load):
    return load(VALUES)


def test_vectors_go_in_and_come_back(vt):
    """C4, R4: float3 for float3, and as the result."""
    v = spy.float3(1, 2, 3)
    r = vt.dbl(v)
    assert type(r) is spy.float3 and r == spy.float3(2, 4, 6)
    assert vt.dbl(spy.int3(1, 2, 3)) == spy.float3(2, 4, 6)
    assert vt.dbl(v, _result="numpy").tolist() == [2, 4, 6]


def test_vectors_are_one_value(vt):
    """C4, V5: overloads, generics and arrays take a vector whole; it is run over for scalars alone."""
    assert vt.which(spy.float3(1, 2, 3)) == 3 and vt.which(spy.int3(1, 2, 3)) == 4
    assert vt.same(spy.float3(1, 2, 3)) == spy.float3(1, 2, 3) and type(vt.same(spy.uint2(1, 2))) is spy.uint2
    assert vt.second(spy.float3(1, 2, 3)) == 2
    assert vt.plain(spy.float3(1, 2, 3)).shape == (3,)
    with pytest.raises(ValueError, match="'v'.*must be 3"):
        vt.dbl(spy.float2(1, 2))


def test_matrices_and_halves(vt):
    """C4: float4x4 and float16_t."""
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(np.array(vt.turned(spy.float4x4(*a.ravel().tolist()))), a.T)
    assert vt.halve(spy.float16_t(3)) == 1.5


def test_vectors_in_structs_lists_and_refs(vt):
    """C4, C5, C8: vectors as fields, in lists, in references."""
    assert vt.ball(spy.float3(1, 2, 3)) == {"p": spy.float3(1, 2, 3), "w": 1.0}
    assert vt.top({"p": spy.float3(1, 2, 3), "w": 0.5}) == 2.5 and vt.top(vt.ball([4, 5, 6])) == 6
    assert vt.dbl([spy.float3(1, 2, 3), spy.float3(4, 5, 6)]).to_numpy().tolist() == [[2, 4, 6], [8, 10, 12]]
    r = spy.ValueRef(spy.float3(1, 2, 3))
    vt.grow(r)
    assert r.value == spy.float3(2, 4, 6) and type(r.value) is spy.float3


# >>broadcasting


@pytest.mark.parametrize("a, b", [
    ((5,), (5,)), ((4, 5), (4, 5)), ((4, 5), (5,)), ((4, 1), (1, 5)), ((4, 5), (1, 5)), ((2, 3, 4), (3, 1)), ((1,), (6,)),
    ((2, 3, 4, 5), (4, 5)), ((0, 3), (3,)), ((1, 1), (1,)), ((2, 1, 2, 1, 2), (1, 3, 1, 2, 1)),
])
def test_broadcasting_is_numpys(m, a, b):
    """V1, V2, V3: shapes meet as numpy's do."""
    x, y = rand(*a), rand(*b)
    r = m.add(x, y, _result="numpy")
    assert r.shape == (x + y).shape and np.array_equal(r, x + y)


@pytest.mark.parametrize("a, b", [((5,), (4,)), ((4, 5), (4,)), ((2, 3), (3, 2))])
def test_shapes_that_do_not_meet(m, a, b):
    """V2: 'Shape mismatch' names the arguments."""
    with pytest.raises(ValueError, match="Shape mismatch") as e:
        m.add(rand(*a), rand(*b))
    assert "'a'" in str(e.value) and "'b'" in str(e.value)


def test_scalar_and_array(m):
    """V2: numbers are seen by all elements."""
    x = rand(3, 4)
    assert np.array_equal(m.add(x, 2, _result="numpy"), x + 2)
    assert np.array_equal(m.add(2, x, _result="numpy"), x + 2)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (10, 3), (2, 5, 3)])
def test_trailing_dimensions_feed_vectors(m, shape):
    """V13, V12: the last dimension is the vector."""
    v = rand(*shape)
    r = m.scale(v, 2.0, _result="numpy")
    assert r.shape == shape and np.array_equal(r, v * 2)


@pytest.mark.parametrize("size", [2, 1, 4])
def test_trailing_size_must_be_the_vectors(m, size):
    """V12: (100, 2) for float3 is an error, never a wrong read; before and after a call that fits."""
    m.scale(rand(100, 3), 1.0)
    with pytest.raises(ValueError, match="hape"):
        m.scale(rand(100, size), 1.0)


def test_vector_and_scalar_dims(m):
    """V1: (N, 3) against (N,)."""
    v, s = rand(10, 3), rand(10)
    assert np.array_equal(m.scale(v, s, _result="numpy"), v * s[:, None])


def test_vector_dtypes_are_not_split(device, m):
    """V13: a float3 tensor of shape (10,) is 10 vectors."""
    v = rand(10, 3)
    t = spy.Tensor.empty(device, (10,), "float3")
    t.copy_from_numpy(v)
    assert np.array_equal(m.scale(t, 2, _result="numpy"), v * 2)


def test_lower_rank_tensors_per_thread(load):
    """V13: rows of a (4, 8) tensor as Tensor<float, 1>."""
    m = load("import slangpy; float rowsum(Tensor<float, 1> row) { float s = 0; for (int i = 0; i < row.shape[0]; i++) s += row[i]; return s; }")
    x = rand(4, 8)
    t = spy.Tensor.from_numpy(m.device, x)
    assert np.allclose(m.rowsum(t, _result="numpy"), x.sum(1), atol=1e-5)


def test_strict_broadcasting(load):
    """V3: with strict_broadcasting missing dimensions are errors; numbers are still allowed."""
    m = load("float add(float a, float b) { return a + b; }", options={"strict_broadcasting": True})
    assert np.array_equal(m.add(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), _result="numpy"), np.full((2, 3), 2))
    assert m.add(np.ones((2, 3), np.float32), 1, _result="numpy").shape == (2, 3)
    with pytest.raises(ValueError, match="Strict broadcasting is enabled"):
        m.add(np.ones((2, 3), np.float32), np.ones(3, np.float32))


def test_index_order(load):
    """V4: a vector's x is the last dimension, an array's last item too."""
    m = load("int2 vec(int2 v) { return v; } int2 arr(int v[2]) { return int2(v[0], v[1]); }")
    r = m.vec(spy.call_id(), _result=np.zeros((2, 3, 2), np.int32))
    s = m.arr(spy.call_id(), _result=np.zeros((2, 3, 2), np.int32))
    y, x = np.mgrid[0:2, 0:3]
    assert np.array_equal(r, np.stack([x, y], -1)) and np.array_equal(s, np.stack([y, x], -1))


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
    """V5: the overload that fits."""
    assert overloads.which(*args) == expected


def test_map_of_no_dimensions(overloads):
    """V6: map(()) passes an argument whole: one float3 rather than three floats; without it that is ambiguous."""
    assert overloads.which.map(())([1.0, 2.0, 3.0]) == 3
    assert overloads.which.map(x=())(np.float32([1, 2, 3])) == 3
    with pytest.raises(TypeError, match="overloads fit equally well"):
        overloads.which([1.0, 2.0, 3.0])
    assert overloads.same.map(())([1, 2, 3, 4]) is not None


@pytest.mark.parametrize("dtype, expected", [(np.int32, 1), (np.float32, 2)])
def test_overloads_by_arrays(overloads, dtype, expected):
    """V5: arrays choose by their type."""
    assert overloads.which(np.ones(4, dtype), _result="numpy").tolist() == [expected] * 4


@pytest.mark.parametrize("n", [2, 3, 4])
def test_generic_sizes(overloads, n):
    """V5: let N is inferred from the argument."""
    a, b = rand(7, n), rand(7, n)
    t = spy.Tensor.empty(overloads.device, (7,), "float%d" % n)
    t.copy_from_numpy(a)
    assert np.allclose(overloads.dotn(t, b, _result="numpy"), (a * b).sum(1), atol=1e-5)


def test_generic_by_name(overloads):
    """M3, V5: module['f<...>'] names a specialisation."""
    assert overloads["addn<4>"]([1, 2, 3, 4]) == 10
    assert overloads["typed<float, 4>"]([1, 2, 3, 4]) == 4
    assert overloads["same<int>"](5) == 5
    assert overloads["same<float>"](5) == 5.0
    assert np.array_equal(overloads["addn<3>"](np.ones((5, 3), np.float32), _result="numpy"), np.full(5, 3))


def test_generic_types(overloads):
    """V5: T from a number, an array, a cast."""
    assert overloads.same(7) == 7 and overloads.same(0.5) == 0.5
    x = rng.integers(0, 100, 6, dtype=np.int64)
    r = overloads.same(x, _result="numpy")
    assert r.dtype == np.int64 and np.array_equal(r, x)
    assert list(overloads.same.map("float3")([1, 2, 3])) == [1, 2, 3]


# >>map


def test_map_outer_product(m):
    """V6: positions."""
    a, b = rand(4), rand(3)
    assert np.array_equal(m.add.map((0,), (1,))(a, b, _result="numpy"), a[:, None] + b[None, :])


def test_map_by_name(m):
    """V6: names."""
    a, b = rand(4), rand(3)
    assert np.array_equal(m.add.map(a=(1,), b=(0,))(a, b, _result="numpy"), a[None, :] + b[:, None])
    assert np.array_equal(m.add.map(a=(1,), b=(0,))(a=a, b=b, _result="numpy"), a[None, :] + b[:, None])


def test_map_identity_transpose_and_none(m):
    """V6: SlangPy's mapping page."""
    a, b = rand(5, 3, 4), rand(5, 3, 4)
    assert np.array_equal(m.add.map((0, 1, 2), (0, 1, 2))(a, b, _result="numpy"), a + b)
    assert np.array_equal(m.add.map((0, 1, 2), (0, 2, 1))(a, rand(5, 4, 3) * 0, _result="numpy"), a)
    assert np.array_equal(m.add.map(None, (0, 1, 2))(a, b, _result="numpy"), a + b)


def test_map_shorter_argument(m):
    """V6: b of (8,) against a of (8, 8) along either dimension."""
    a, b = rand(8, 8), rand(8)
    assert np.array_equal(m.add.map((0, 1), (1,))(a, b, _result="numpy"), a + b)
    assert np.array_equal(m.add.map((0, 1), (0,))(a, b, _result="numpy"), a + b[:, None])


def test_map_types(m, load):
    """V6: map(src='float') and map(module.Foo) say the type."""
    t = load("struct Foo { float x; };\nfloat take<T>(T v) { return sizeof(T); } float foo(Foo f) { return f.x; }")
    assert t.take.map("float3")(np.ones((5, 3), np.float32), _result="numpy").tolist() == [12.0] * 5
    assert t.take.map(v=t.float2)(np.ones((5, 2), np.float32), _result="numpy").tolist() == [8.0] * 5
    assert t.foo.map(t.Foo)({"x": 4}) == 4
    assert t.foo.map(t["Foo"])({"x": 4}) == 4


def test_map_chains(m):
    """V6, F9: links add up, and leave the function as it was."""
    a, b = rand(4), rand(3)
    mapped = m.add.map(a=(0,)).map(b=(1,)).return_type("numpy")
    assert np.array_equal(mapped(a, b), a[:, None] + b)
    with pytest.raises(ValueError, match="Shape mismatch"):
        m.add(a, b)


def test_map_keeps_vectors_whole(m):
    """V6, V13: a map of one dimension leaves the last one to the vector."""
    v, s = rand(4, 3), rand(5)
    r = m.scale.map((0,), (1,))(v, s, _result="numpy")
    assert np.array_equal(r, v[:, None, :] * s[None, :, None])


# >>results


@pytest.mark.parametrize("kind", ["numpy", np.ndarray])
def test_result_numpy(m, kind):
    """R2: 'numpy' or the class."""
    r = m.add(np.float32([1, 2]), 1, _result=kind)
    assert isinstance(r, np.ndarray) and r.dtype == np.float32 and r.tolist() == [2, 3]


@pytest.mark.parametrize("kind, cls", [("tensor", spy.Tensor), (spy.Tensor, spy.Tensor), (spy.NDBuffer, spy.NDBuffer), (None, spy.Tensor)])
def test_result_tensor(m, kind, cls):
    """R1, R2: 'tensor', the classes, and the default."""
    r = m.add(np.float32([1, 2]), 1, _result=kind)
    assert type(r) is cls and r.to_numpy().tolist() == [2, 3]


def test_result_given(device, m):
    """R2: a container is filled and given back."""
    x = rand(4, 5)
    t, n, a = spy.Tensor.empty(device, (4, 5)), spy.NDBuffer(device, dtype="float", shape=(4, 5)), np.zeros((4, 5), np.float32)
    for r in (t, n, a):
        assert m.add(x, 1, _result=r) is r
    for r in (t.to_numpy(), n.to_numpy(), a):
        assert np.array_equal(r, x + 1)


@pytest.mark.parametrize("count", [0, 1, 5, 100001])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"])
def test_result_of_another_number_type(device, m, dtype, count):
    """R2: a result goes into numbers of any type, as Slang converts them: tensors and arrays, small and large."""
    x = (rand(count) * 100).astype(np.float32)
    expected = (x + np.float32(1)).astype(dtype)
    t, a = spy.Tensor.empty(device, (count,), np.dtype(dtype)) if count else None, np.zeros(count, dtype)
    for r in (t, a):
        if r is None:
            continue
        assert m.add(x, 1, _result=r) is r
        assert np.array_equal(r if r is a else r.to_numpy(), expected)


def test_result_vectors_of_another_number_type(device, load):
    """R2: vectors and structs, whole, by trailing dimensions and through strides; bools are not converted."""
    v = load("float3 v(float x) { return float3(x, 2 * x, 3 * x) + 0.5; } int n(int x) { return x; } float2x2 mat(float x) { return float2x2(x, 1.5, 2.5, x); }\n"
             "bool odd(int x) { return x % 2 != 0; } [Differentiable] float sq(float x) { return x * x; }")
    x = np.arange(5, dtype=np.float32)
    expected = (x[:, None] * [1, 2, 3] + 0.5).astype(np.float32)
    for dtype, element in (("int32", "int3"), ("float64", "double3"), ("float16", "half3"), ("uint64", "uint64_t3")):
        for t in (spy.Tensor.empty(device, (5,), element), spy.Tensor.empty(device, (5, 3), np.dtype(dtype)),
                  spy.Tensor.empty(device, (5, 6), np.dtype(dtype)).view((5, 3), (6, 2))):
            assert np.array_equal(v.v(x, _result=t).to_numpy(), expected.astype(dtype)), (dtype, element)
    assert v.mat(x, _result=spy.Tensor.empty(device, (5, 2, 2), "int")).to_numpy()[3].tolist() == [[3, 1], [2, 3]]
    assert v.v(2.0, _result=np.zeros(3)).tolist() == [2.5, 4.5, 6.5]
    assert v.n(np.arange(4), _result=spy.Tensor.empty(device, (4,), "float")).to_numpy().tolist() == [0, 1, 2, 3]
    assert v.odd(np.arange(4), _result=spy.Tensor.zeros(device, (4,), "bool")).to_numpy().tolist() == [False, True, False, True]
    with pytest.raises(TypeError, match="'_result': expected float3, got bool tensor.*bool is not converted to float|'_result': expected float3"):
        v.v(x, _result=spy.Tensor.empty(device, (5, 3), "bool"))
    doubles = spy.Tensor.empty(device, (5,), "double")  # forward: the value is converted, too
    pair = v.sq.fwds(spy.Tensor.from_numpy(device, x).with_grads(grad_in=np.ones(5, np.float32)), _result=spy.diffPair(doubles, spy.Tensor.zeros(device, (5,))))
    assert doubles.to_numpy().tolist() == (x * x).tolist() and pair.grad.to_numpy().tolist() == (2 * x).tolist()


def test_vectors_run_over_scalar_parameters(m, load):
    """C4, V1: a vector or matrix goes whole where it fits, and is run over where only its numbers do."""
    v = load("[Differentiable] float square(float x) { return x * x; } float add(float a, float b) { return a + b; } float over(float x) { return x; } float over(float3 x) { return x.x + x.y + x.z; }\n"
             "float3 scale(float3 v, float s) { return v * s; } float row(float2 v) { return v.x - v.y; }\n"
             "T same<T : IArithmetic>(T x) { return x; } T sum<T : __BuiltinArithmeticType>(T a, T b) { return a + b; }")
    three = spy.float3(1, 2, 3)
    assert v.add(three, np.ones(3)).to_numpy().tolist() == [2, 3, 4]
    assert v.add(three, 1).to_numpy().tolist() == [2, 3, 4] and v.add(three, three).to_numpy().tolist() == [2, 4, 6]
    assert v.add(three, np.zeros((2, 3))).to_numpy().tolist() == [[1, 2, 3]] * 2
    assert v.add(spy.float2x2([1, 2, 3, 4]), 1).to_numpy().tolist() == [[2, 3], [4, 5]]
    assert v.over(three) == 6 and v.scale(three, 2) == spy.float3(2, 4, 6)
    assert v.scale(three, three).to_numpy().tolist() == [[1, 2, 3], [2, 4, 6], [3, 6, 9]]
    assert v.row(spy.float2x2([1, 2, 3, 5])).to_numpy().tolist() == [-1, -2]
    assert v.same(three) == three and v.sum(spy.int3(1, 2, 3), spy.int3(1, 1, 1)).to_numpy().tolist() == [2, 3, 4]
    assert v.add.map((1,), (0,))(three, np.float32([10, 20])).to_numpy().tolist() == [[11, 12, 13], [21, 22, 23]]
    pair = spy.diffPair(three, spy.float3(0))  # its gradient, too
    v.square.bwds(pair, _result=spy.diffPair(spy.Tensor.zeros(m.device, (3,)), np.float32([1, 10, 100])))
    assert pair.grad == spy.float3(2, 40, 600)
    with pytest.raises(ValueError, match="'a' has shape .3,. and 'b' has shape .2,."):
        v.add(three, np.ones(2))
    with pytest.raises(ValueError, match="'a': expected one float, got float host array .3,., whose mapping names no dimension"):
        v.add.map(())(three, 1)


WITHIN_STRUCTS = """
struct P { float x; float2 y; float total() { return x + y.x + y.y; } }
struct Q { P p; P ps[2]; float z; }
struct D : IDifferentiable { float x; float y; }
float one(P p) { return p.x + p.y.x + p.y.y; }
float two(P p[2]) { return p[0].x + 10 * p[1].x * p[1].y.y; }
float any<let N : int>(P p[N]) { float s = 0; for (int i = 0; i < N; i++) s += p[i].x; return s; }
float both(P p) { return p.x; }
float both(P p[3]) { return 100 * p[2].x; }
float nested(Q q) { return q.p.x + q.ps[0].x + q.ps[1].y.y * q.z; }
[Differentiable] float product(D d[2]) { return d[0].x * d[1].y; }
uint addresses(StructuredBuffer<float> b[2], P p) { return uint(b[1][0] + p.x); }
"""


def test_tuples_for_structs(load):
    """C5, U6: a tuple is a struct's fields in order, a named one by its names; lists of tuples and arrays in them are run over."""
    import collections

    s = load(WITHIN_STRUCTS)
    Point = collections.namedtuple("Point", "y x")
    assert s.one((1, (2, 3))) == 6 and s.one(p=(1, [2, 3])) == 6 and s.one(Point(y=(2, 3), x=1)) == 6
    assert s.one([(1, (2, 3)), (4, (5, 6))]).to_numpy().tolist() == [6, 15]
    assert s.one((np.float32([1, 2]), spy.float2(1, 1))).to_numpy().tolist() == [3, 4]
    assert s.nested(((1, (2, 3)), [{"x": 2, "y": (0, 0)}, (3, (0, 4))], 10)) == 43
    assert s.P.total((1, (2, 3))) == 6 and s.P.total.bind((1, (2, 3)))() == 6
    for bad, words in (((1, 2, 3), "one: argument 'p': expected a tuple of 2 values for P, got 3"), ((1,), "expected a tuple of 2 values for P, got 1")):
        with pytest.raises(ValueError, match=words):
            s.one(bad)


def test_lists_of_structs_for_arrays(load):
    """C5: a list of dicts goes whole to an array of structs of its length, also a generic one, and is run over for one struct. `any` is
    a name of Slang's own, too: asking its generic overloads about P left libslang with a type that later calls crashed at."""
    s = load(WITHIN_STRUCTS)
    a, b = {"x": 1, "y": [2, 3]}, {"x": 2, "y": [4, 5]}
    assert s.two([a, b]) == 101 and s.two(p=(a, b)) == 101 and s.two([(1, (2, 3)), b]) == 101
    assert s.any([a, b]) == 3 and s.any([a, b, b]) == 5
    assert s.one([a, b]).to_numpy().tolist() == [6, 11]
    assert s.both([a, b]).to_numpy().tolist() == [1, 2] and s.both([a, a, b]) == 200
    assert s.two([a, {"x": np.float32([1, 2, 3]), "y": [0, 1]}]).to_numpy().tolist() == [11, 21, 31]
    assert s.nested({"p": a, "ps": [a, b], "z": 2}) == 12
    x, y = spy.diffPair(3.0), spy.diffPair(5.0)
    s.product.bwds([{"x": x, "y": 0.0}, {"x": 0.0, "y": y}], _result=spy.diffPair(0.0, 2.0))
    assert (x.grad, y.grad) == (10, 6)
    for bad, words in (([a], "expected a list of 2 structs for P.2., got 1"), ([a, 3], "'p.1.': expected P, got int"),
                       ([a, {"x": 1}], "field 'y' of P is missing"), ([a, {"x": 1, "y": "no"}], "argument 'p': item 1: field 'y': Unsupported type")):
        with pytest.raises(Exception, match=words):
            s.two(bad)


def test_result_into_references_and_dicts(m, load):
    """R2, C8: a ValueRef takes the result, a dict of tensors a struct's fields."""
    r = spy.floatRef()
    assert m.add(1, 2, _result=r) is r and r.value == 3
    m.add(np.float32([1, 2]), 2, _result=r)
    assert r.value.to_numpy().tolist() == [3, 4]
    p = load("struct P { int a; float b; };\nP make(int x) { P p; p.a = x; p.b = x * 0.5; return p; }")
    a, b = spy.Tensor.zeros(p.device, (3,), "int"), spy.Tensor.zeros(p.device, (3,))
    p.make(np.int32([1, 2, 3]), _result={"a": a, "b": b})
    assert a.to_numpy().tolist() == [1, 2, 3] and b.to_numpy().tolist() == [0.5, 1, 1.5]


def test_large_values(load):
    """R4: one value of more than a few hundred bytes."""
    m = load("struct Big { float v[100]; int n; };\nBig big(float x) { Big b; for (int i = 0; i < 100; i++) b.v[i] = x * float(i); b.n = 7; return b; }\n"
             "float[100] row(float x) { return big(x).v; }")
    assert m.big(2) == {"v": [2.0 * i for i in range(100)], "n": 7}
    assert m.row(3) == [3.0 * i for i in range(100)]


def test_as_many_arguments_as_there_can_be(load):
    """C14: many parameters, and the result beside them."""
    for n in (20, 63):
        m = load("float f(%s) { return %s; }" % (", ".join("float a%d" % i for i in range(n)), " + ".join("a%d" % i for i in range(n))))
        assert m.f(*range(n)) == sum(range(n))
        assert m.f(**{"a%d" % i: i for i in range(n)}) == sum(range(n))


def test_result_array_decides_the_shape(m):
    """R2, V15: with no array among the arguments the result's shape is the call's."""
    a = np.zeros((2, 3), np.float32)
    m.add(1, 2, _result=a)
    assert np.array_equal(a, np.full((2, 3), 3))


def test_result_of_wrong_shape(device, m):
    """R2: an output that others would stretch, or of other sizes, is an error."""
    for wrong in (spy.Tensor.zeros(device, (4,)), np.zeros(4, np.float32), spy.Tensor.zeros(device, (1,))):
        with pytest.raises(ValueError, match="_result"):
            m.add(rand(5), 1, _result=wrong)


def test_return_type(m):
    """R3: .return_type as _result; _result has the last word."""
    f = m.add.return_type("numpy")
    assert isinstance(f(np.float32([1]), 1), np.ndarray)
    assert isinstance(m.add.return_type(np.ndarray)(np.float32([1]), 1), np.ndarray)
    assert type(m.add.return_type(spy.NDBuffer)(np.float32([1]), 1)) is spy.NDBuffer
    assert type(f(np.float32([1]), 1, _result=spy.Tensor)) is spy.Tensor
    assert isinstance(f.return_type(None)(np.float32([1]), 1), spy.Tensor)


def test_result_numpy_of_a_scalar_call(m):
    """R2: 'numpy' for a call of one element is an array of rank 0."""
    r = m.add(1, 2, _result="numpy")
    assert isinstance(r, np.ndarray) and r.shape == () and r == 3


STRUCTS = """
struct Pair { int a; float b; };
struct Nested { Pair p[2]; float3 v; float m[2][3]; bool flag; };
Pair make(int a, float b) { Pair p = { a, b }; return p; }
Nested nest(float x) {
    Nested n;
    n.p[0] = make(1, x); n.p[1] = make(2, x + 1);
    n.v = float3(x, x + 1, x + 2);
    for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) n.m[i][j] = float(10 * i + j);
    n.flag = x > 0;
    return n;
}
float[4] four(float x) { float r[4]; for (int i = 0; i < 4; i++) r[i] = x * float(i); return r; }
typealias Row = float[3];
Row[2] grid(float x) { Row r[2]; for (int i = 0; i < 2; i++) for (int j = 0; j < 3; j++) r[i][j] = x + float(i * 3 + j); return r; }
float3 vec(float x) { return float3(x, 2 * x, 3 * x); }
float2x3 mat(float x) { return float2x3(1, 2, 3, 4, 5, 6) * x; }
int3 ivec(int x) { return int3(x, -x, 0); }
float sum(Pair p) { return float(p.a) + p.b; }
"""


@pytest.fixture(scope="module")
def s(load):
    return load(STRUCTS)


def as_lists(value):
    """Vectors, matrices and lists as nested lists."""
    if isinstance(value, (bool, int, float, dict)):
        return value
    return [as_lists(value[i]) for i in range(len(value))]


def test_struct_result(s):
    """R4: structs are dicts."""
    assert s.make(3, 1.5) == {"a": 3, "b": 1.5}


def test_nested_struct_result(s):
    """R4: structs in arrays in structs, arrays of arrays, bools."""
    n = s.nest(2.0)
    assert n["p"] == [{"a": 1, "b": 2.0}, {"a": 2, "b": 3.0}]
    assert as_lists(n["v"]) == [2, 3, 4] and as_lists(n["m"]) == [[0, 1, 2], [10, 11, 12]] and n["flag"] is True


def test_vector_matrix_array_results(s):
    """R4: vectors, matrices, arrays, arrays of arrays of a call of one element."""
    assert as_lists(s.vec(2)) == [2, 4, 6]
    assert as_lists(s.mat(2)) == [[2, 4, 6], [8, 10, 12]]
    assert s.four(2) == [0, 2, 4, 6]
    assert s.grid(1) == [[1, 2, 3], [4, 5, 6]]
    assert as_lists(s.ivec(4)) == [4, -4, 0]


@pytest.mark.parametrize("name, inner", [("vec", (3,)), ("mat", (2, 3)), ("four", (4,)), ("grid", (2, 3))])
def test_vectorised_results_have_further_dimensions(s, name, inner):
    """R4: to_numpy and _result='numpy' agree."""
    x = rand(5)
    r = s[name](x)
    a = s[name](x, _result="numpy")
    assert r.shape == (5,) and a.shape == (5,) + inner and np.array_equal(r.to_numpy(), a)
    expected = np.stack([np.array(as_lists(s[name](float(v)))) for v in x])
    assert np.allclose(a, expected)


def test_struct_results_as_structured_arrays(s):
    """R4, B6: structs are structured elements."""
    r = s.make(np.int32([1, 2, 3]), 0.5, _result="numpy")
    assert r.dtype.names == ("a", "b") and r["a"].tolist() == [1, 2, 3] and r["b"].tolist() == [0.5] * 3


def test_struct_result_dtype(s):
    """R1: a tensor of structs knows its type."""
    r = s.make(np.int32([1, 2, 3]), 0.5)
    assert r.dtype == s.Pair and r.dtype.name == "Pair"


def test_results_feed_calls(s):
    """R1: what one call gives another takes."""
    r = s.make(np.int32([1, 2, 3]), np.float32([0.5, 0.25, 0.125]))
    assert s.sum(r, _result="numpy").tolist() == [1.5, 2.25, 3.125]
    assert s.sum(s.make(4, 0.5)) == 4.5


def test_structured_arrays_as_arguments(s):
    """C3, B6: a numpy structured array for a struct."""
    a = np.zeros(4, dtype=[("a", "i4"), ("b", "f4")])
    a["a"], a["b"] = range(4), [0.5, 0.25, 0, 1]
    assert s.sum(a, _result="numpy").tolist() == (a["a"] + a["b"]).tolist()


# >>dicts


@pytest.mark.parametrize("value", [{"a": 5, "b": 6.0}, {"b": 6.0, "a": 5}, {"_type": "Pair", "a": 5, "b": 6.0}])
def test_dict_for_struct(s, value):
    """C5, C6: fields by name."""
    assert s.sum(value) == 11


def test_dict_type_by_struct(s):
    """C6: '_type' as a type of the module."""
    assert s.sum({"_type": s.Pair, "a": 5, "b": 6.0}) == 11


def test_soa_dict(s):
    """C5: tensors, arrays and numbers in one dict; shapes meet."""
    a, b = np.arange(4, dtype=np.int32), rand(3, 1)
    assert np.allclose(s.sum({"a": a, "b": b}, _result="numpy"), a + b)
    assert np.allclose(s.sum({"a": spy.Tensor.from_numpy(s.device, a), "b": 0.5}, _result="numpy"), a + 0.5)


def test_nested_dicts(s):
    """C5: dicts in lists are not numbers; dicts in dicts are structs."""
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
    """C5: SlangPy's nested page: a dict with x, y, z, w for a float4."""
    m = load("void copy(float4 src, out float4 dest) { dest = src; }")
    dest = np.zeros((4, 5, 4), np.float32)
    y = rand(4, 5)
    m.copy(src={"x": 1.0, "y": y, "z": 0.0, "w": 1.0}, dest=dest)
    assert np.array_equal(dest[..., 0], np.ones((4, 5))) and np.array_equal(dest[..., 1], y)
    m.copy(src={"x": 1.0, "y": spy.rand_float(min=0, max=1, dim=1), "z": 0.0, "w": 1.0}, dest=dest)
    assert 0 <= dest[..., 1].min() < dest[..., 1].max() < 1


def test_dict_with_type_for_a_generic_vector(load):
    """C6: SlangPy's nested page: '_type': 'float3' for a generic function."""
    m = load("void copy_vector<let N : int>(vector<float, N> src, out vector<float, N> dest) { dest = src; }")
    dest = np.zeros((4, 3), np.float32)
    m.copy_vector(src={"_type": "float3", "x": 1.0, "y": np.float32([1, 2, 3, 4]), "z": 5.0}, dest=dest)
    assert np.array_equal(dest, [[1, i, 5] for i in (1, 2, 3, 4)])


# >>references, inout, numpy outputs


INOUT = """
void divide(float a, float b, out float q, inout float r) { q = a / b; r += 1; }
void count(inout int n) { n += 1; }
void grow(inout float3 v) { v *= 2; }
void fill(out float v[4]) { for (int i = 0; i < 4; i++) v[i] = float(i); }
struct Box { float w; float h; };
void widen(inout Box b) { b.w += 1; }
void make(out Box b) { b.w = 3; b.h = 4; }
float area(Box b) { return b.w * b.h; }
"""


@pytest.fixture(scope="module")
def io(load):
    return load(INOUT)


def test_value_refs(io):
    """C8: out and inout numbers."""
    q, r = spy.floatRef(), spy.floatRef(10)
    assert io.divide(1, 4, q, r) is None
    assert q.value == 0.25 and r.value == 11
    io.divide(1, 2, q, r)
    assert q.value == 0.5 and r.value == 12


def test_int_refs_and_plain_refs(io):
    """C8: intRef, and ValueRef of what is given."""
    n = spy.intRef(41)
    io.count(n)
    assert n.value == 42 and type(n.value) is int
    v = spy.ValueRef(1)
    io.count(v)
    assert v.value == 2


def test_refs_of_vectors_and_arrays(io):
    """C8: vectors go in and come back."""
    v = spy.ValueRef([1, 2, 3])
    io.grow(v)
    assert as_lists(v.value) == [2, 4, 6]
    a = spy.ValueRef()
    io.fill(a)
    assert a.value == [0, 1, 2, 3]


def test_refs_of_structs(io):
    """C8: an out struct comes back as a dict; an inout one goes in as one."""
    b = spy.ValueRef()
    io.make(b)
    assert b.value == {"w": 3, "h": 4}
    io.widen(b)
    assert b.value == {"w": 4, "h": 4}


def test_refs_as_inputs(io):
    """C8: a reference for an in parameter is its value."""
    q = spy.floatRef()
    io.divide(spy.ValueRef(1.0), spy.floatRef(8), q, spy.floatRef())
    assert q.value == 0.125


def test_refs_of_many_elements(io):
    """C8: an out reference of a call with many elements gets the tensor."""
    q = spy.ValueRef()
    io.divide(np.float32([1, 2, 3]), 2, q, spy.Tensor.zeros(io.device, (3,)))
    assert np.array_equal(q.value.to_numpy(), np.float32([0.5, 1, 1.5]))


def test_numpy_out_and_inout(io):
    """C3: writable arrays are filled when the call returns."""
    a, q, r = rand(5), np.zeros(5, np.float32), np.arange(5, dtype=np.float32)
    io.divide(a, 2, q, r)
    assert np.array_equal(q, a / 2) and np.array_equal(r, np.arange(5) + 1)


def test_numpy_out_strided(io):
    """C3: an out array that is not contiguous is filled too, or refused by name."""
    base = np.zeros((5, 2), np.float32)
    q = base[:, 0]
    try:
        io.divide(np.float32([1, 2, 3, 4, 5]), 2, q, np.zeros(5, np.float32))
    except TypeError as e:
        assert "'q' is an out parameter" in str(e) and not base.any()
        return
    assert np.array_equal(base[:, 0], np.float32([0.5, 1, 1.5, 2, 2.5])) and not base[:, 1].any()


def test_numpy_read_only_out(io):
    """C3: a read-only array cannot be an output."""
    q = np.zeros(5, np.float32)
    q.setflags(write=False)
    with pytest.raises((TypeError, ValueError)):
        io.divide(rand(5), 2, q, np.zeros(5, np.float32))
    assert not q.any()


def test_tensor_inout(io):
    """C8: tensors are changed in place."""
    t = spy.Tensor.from_numpy(io.device, np.arange(4, dtype=np.int32))
    io.count(t)
    io.count(n=t)
    assert t.to_numpy().tolist() == [2, 3, 4, 5]


def test_dict_of_refs(io):
    """C5, C8: references in a dict."""
    w, h = spy.floatRef(1), spy.floatRef(2)
    io.widen({"w": w, "h": h})
    assert (w.value, h.value) == (2, 2)


# >>range and the call's size


def test_range(m):
    """C10: a dimension, as numpy's arange."""
    for r in (range(5), range(2, 9), range(0, 20, 3), range(10, 0, -2), range(3, 3)):
        assert m.addi(r, 100, _result="numpy").tolist() == [i + 100 for i in r]


def test_range_against_arrays(m):
    """C10, V2: a range meets arrays of its length."""
    assert m.addi(range(3), np.int32([[10], [20]]), _result="numpy").tolist() == [[10, 11, 12], [20, 21, 22]]
    with pytest.raises(ValueError, match="Shape mismatch"):
        m.addi(range(3), np.int32([1, 2]))


def test_thread_count(load):
    """C14, V15: _thread_count when nothing is vectorised: an int or a shape."""
    m = load("""import slangpy;
        void mark(int i, RWTensor<int, 1> t) { t[i] = i + 1; }
        void mark2(int2 i, RWTensor<int, 2> t) { t[i] = i.x + 10 * i.y; }""")
    t = spy.Tensor.zeros(m.device, (8,), "int")
    m.mark(spy.thread_id(), t, _thread_count=5)
    assert t.to_numpy().tolist() == [1, 2, 3, 4, 5, 0, 0, 0]
    u = spy.Tensor.zeros(m.device, (2, 3), "int")
    m.mark2(spy.call_id(), u, _thread_count=(2, 3))
    assert u.to_numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


def test_many_elements(m):
    """V14: more than 65,535 groups of elements."""
    n = 65536 * 300
    t = spy.Tensor.zeros(m.device, (n,), "int")
    r = m.addi(t, range(n))
    got = r[n - 3:].to_numpy()
    assert got.tolist() == [n - 3, n - 2, n - 1] and r[70000:70003].to_numpy().tolist() == [70000, 70001, 70002]


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
    """I1: module.Foo.method with this as first argument or by name."""
    assert ty.Counter.get({"n": 4, "x": 0}) == 4
    assert ty.Counter.get(this={"n": 4, "x": 0}) == 4
    assert ty.Counter.mix({"n": 4, "x": 0.5}, 1) == 5.5
    assert ty.Counter.mix(this={"n": 4, "x": 0.5}, a=1) == 5.5


def test_static_methods_and_nested_types(ty):
    """I1: no this; types in types; methods of extensions."""
    assert ty.Counter.twice(21) == 42
    assert ty.Counter.Part.get({"v": 3}) == 6
    assert ty.Counter.extra({"n": 2, "x": 0}) == 200
    assert ty["Counter::Part::get"]({"v": 3}) == 6


def test_namespaces(ty):
    """M3, I1: 'ns::f' in brackets."""
    assert ty["deep::half_of"](3) == 1.5
    assert ty["deep::Point"].norm2({"x": 3, "y": 4}) == 25


def test_generic_types_methods(ty):
    """I1: methods of generic types by name."""
    assert ty["Grid<float, 3>"].last({"v": [1, 2, 3]}) == 3


def test_constructors(ty):
    """I1: module.Foo(...) calls __init; the one that Slang makes too."""
    assert ty.Made(2) == {"a": 2, "b": 2}
    assert ty.Made(2, 3) == {"a": 2, "b": 3}
    assert ty.Made(p=2, q=3) == {"a": 2, "b": 3}
    assert ty.Counter(3, 1.5) == {"n": 3, "x": 1.5}
    r = ty.Made(np.float32([1, 2]), 5, _result="numpy")
    assert r["a"].tolist() == [1, 2] and r["b"].tolist() == [5, 5]
    assert ty.Made.__init(2, 3) == {"a": 2, "b": 3} if hasattr(ty.Made, "__init") else True


def test_bind(ty):
    """I2: fn.bind(this)."""
    f = ty.Counter.mix.bind({"n": 4, "x": 0.5})
    assert f(1) == 5.5 and f(a=2) == 6.5
    assert ty.Counter.mix({"n": 0, "x": 0}, 1) == 1


def test_bind_tensor(ty):
    """I2, I3: an instance tensor as this is inout."""
    t = spy.Tensor.zeros(ty.device, (3,), ty.Counter)
    f = ty.Counter.add.bind(t)
    f(2)
    f(np.int32([1, 2, 3]))
    assert ty.Counter.get(t, _result="numpy").tolist() == [3, 4, 5]


def test_soa_this(ty):
    """I2: a dict of tensors as this of a mutating method."""
    n, x = spy.Tensor.zeros(ty.device, (4,), "int"), spy.Tensor.zeros(ty.device, (4,))
    ty.Counter.add({"n": n, "x": x}, 3)
    ty.Counter.add(this={"n": n, "x": x}, k=3)
    assert n.to_numpy().tolist() == [6] * 4 and x.to_numpy().tolist() == [1] * 4


class Thing:
    """A user's class: C13's protocol."""

    def __init__(self, value):
        self.value = value
        self.updates = 0

    def get_this(self):
        return self.value

    def update_this(self, value):
        self.value = value
        self.updates += 1


def test_this_of_numbers(ty):
    """C13, I2: the numbers of a dict come back through update_this()."""
    thing = Thing({"n": 1, "x": 2.0})
    ty.Counter.add(thing, 5)
    assert thing.value == {"n": 6, "x": 2.5} and thing.updates == 1
    ty.Counter.add.bind(thing)(k=5)
    assert thing.value == {"n": 11, "x": 3.0}
    assert ty.Counter.get(thing) == 11


def test_this_with_type_and_arrays(ty):
    """C13, C6: '_type' and tensors stay what they were."""
    n = spy.Tensor.zeros(ty.device, (3,), "int")
    x = spy.Tensor.zeros(ty.device, (3,))
    thing = Thing({"_type": "Counter", "n": n, "x": x})
    ty.Counter.add(thing, np.int32([1, 2, 3]))
    assert thing.value["n"] is n and n.to_numpy().tolist() == [1, 2, 3] and thing.value["_type"] == "Counter"
    assert x.to_numpy().tolist() == [0.5] * 3


def test_this_of_nested_dicts(load):
    """C13: numbers at any depth, vectors too."""
    m = load("struct In { float3 c; int k; };\nstruct Out { In i; float w; [mutating] void step() { i.c += 1; i.k += 2; w *= 2; } };")
    thing = Thing({"i": {"c": [1, 2, 3], "k": 5}, "w": 1.5})
    m.Out.step(thing)
    assert as_lists(thing.value["i"]["c"]) == [2, 3, 4] and thing.value["i"]["k"] == 7 and thing.value["w"] == 3


def test_this_of_an_in_parameter_is_not_touched(ty):
    """C13: what cannot change is given back as it is."""
    value = {"n": 1, "x": 2.0}
    thing = Thing(value)
    assert ty.Counter.get(thing) == 1
    assert thing.value == {"n": 1, "x": 2.0}
    assert value == {"n": 1, "x": 2.0}


def test_this_of_a_number(io):
    """C13: get_this() may give a number."""
    thing = Thing(3)
    io.count(thing)
    assert thing.value == 4


def test_this_without_update(ty):
    """C13: update_this() is optional."""
    class Fixed:
        def get_this(self):
            return {"n": 9, "x": 0.0}

    assert ty.Counter.get(Fixed()) == 9
    assert ty.Counter.get(this=Fixed()) == 9


def test_this_in_lists_of_arguments(io, ty):
    """C13: several objects in one call, nested get_this() too."""
    thing = Thing(Thing({"n": 1, "x": 2.0}))
    assert ty.Counter.get(thing) == 1


def test_signature_objects(ty):
    """C13: slangpy_signature is allowed on a user's class."""
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
    """C12: a dict with '_type', or a tensor of the struct."""
    m = load(SHAPES)
    assert m.area({"_type": "Circle", "r": 2}) == 12
    assert m.area({"_type": m.Square, "s": 3}) == 9
    assert m.area({"_type": "Square", "s": np.float32([1, 2, 3])}, _result="numpy").tolist() == [1, 4, 9]
    assert m.both({"_type": "Circle", "r": 1}, {"_type": "Square", "s": 2}) == 304
    t = spy.Tensor.empty(m.device, (2,), m.Circle)
    t.copy_from_numpy(np.float32([1, 2]))
    assert m.area(t, _result="numpy").tolist() == [3, 12]


def test_interface_without_type_is_an_error(load):
    """C12: a dict alone says not which struct it is."""
    m = load(SHAPES)
    with pytest.raises((TypeError, ValueError), match="IShape|'shape'|shape"):
        m.area({"r": 2})


# >>the cache


def test_values_do_not_compile_again(m):
    """H1: values and sizes are free; another type compiles once."""
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
    """H1: more kinds of arguments than a call site remembers."""
    values = [1, 1.0, True, np.float32(1), np.float64(1), np.int8(1), np.uint8(1), np.int16(1), np.uint16(1), np.int32(1), np.uint32(1),
              np.int64(1), np.uint64(1), np.float16(1), np.ones((), np.float32), Which.A - 2, spy.ValueRef(1)]
    for _ in range(2):
        for v in values:
            assert m.add(v, 1) == 2
