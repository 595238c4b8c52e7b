"""The value types and slangpy.math (features C4 and Y6), against numpy in double precision."""

import array
import copy
import inspect
import itertools
import json
import math
import operator
import pickle

import numpy as np
import pytest

import slangpy as spy

DTYPES = {"bool": np.bool_, "int": np.int32, "uint": np.uint32, "float": np.float32, "float16_t": np.float16}
VECTORS = [f"{name}{n}" for name in DTYPES for n in range(1, 5)]
NUMERIC = [name for name in VECTORS if not name.startswith("bool")]
FLOATS = [name for name in VECTORS if name.startswith("float")]
MATRICES = [f"float{r}x{c}" for r in range(2, 5) for c in range(2, 5)]
SQUARE = [f"float{n}x{n}" for n in range(2, 5)]


def kind(name):
    """Returns (type, numpy dtype, shape) for a type's name."""
    base = name.rstrip("1234") if "x" not in name else "float"
    shape = (int(name[-1]),) if "x" not in name else (int(name[-3]), int(name[-1]))
    return getattr(spy, name), DTYPES[base], shape


def values(name, seed=0, positive=False):
    """Returns random components that the type holds exactly."""
    _, dtype, shape = kind(name)
    random = np.random.default_rng([seed, *name.encode()])
    if dtype is np.bool_:
        return random.integers(0, 2, shape).astype(dtype)
    low = 1 if positive or dtype is np.uint32 else -50
    numbers = random.integers(low, 50, shape)
    numbers[numbers == 0] = 3
    return (numbers / 8 if np.issubdtype(dtype, np.floating) else numbers).astype(dtype)


def random_rotation(seed):
    """Returns a random rotation matrix, made by QR decomposition and not by the code under test."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q *= np.sign(np.diag(r))
    return q if np.linalg.det(q) > 0 else -q


def about(axis, angle):
    c, s = math.cos(angle), math.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    m = np.eye(3)
    m[i, i] = m[j, j] = c
    m[i, j], m[j, i] = -s, s
    return m


def to_matrix(q):
    """Returns the rotation matrix of a unit quaternion by the textbook formula."""
    x, y, z, w = np.array(q, np.float64)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def same(value, expected, tolerance=2e-6):
    np.testing.assert_allclose(np.array(value, np.float64), expected, rtol=tolerance, atol=tolerance)


# ---- construction ----


@pytest.mark.parametrize("name", VECTORS)
def test_vector_construction(name):
    cls, dtype, (n,) = kind(name)
    expected = values(name)
    parts = expected.tolist()
    for value in (cls(*parts), cls(parts), cls(tuple(parts)), cls(expected), cls(cls(expected)), cls.from_numpy(expected)):
        assert np.array_equal(np.array(value), expected)
    assert np.array_equal(np.array(cls()), np.zeros(n, dtype))
    splat = parts[0]
    assert list(cls(splat)) == [splat] * n
    keywords = dict(zip("xyzw", parts))
    assert list(cls(**keywords)) == parts


@pytest.mark.parametrize("name", VECTORS)
def test_vector_from_strided_and_foreign_arrays(name):
    cls, dtype, (n,) = kind(name)
    expected = values(name)
    wide = np.zeros(3 * n, dtype)
    wide[::-3] = expected
    assert np.array_equal(np.array(cls(wide[::-3])), expected)
    assert np.array_equal(np.array(cls(expected.astype(expected.dtype.newbyteorder(">")))), expected)
    assert np.array_equal(np.array(cls(expected.astype(object))), expected)
    assert np.array_equal(np.array(cls(memoryview(expected))), expected)
    assert [type(x) for x in cls(*expected)] == [cls().element_type] * n  # numpy scalars are accepted as single components


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integer_arrays_of_all_sizes(dtype):
    data = np.array([1, 2, 100], dtype)
    assert list(spy.int3(data)) == [1, 2, 100]
    assert list(spy.float3(data)) == [1.0, 2.0, 100.0]
    assert list(spy.int3(array.array("q", [1, -2, 3]))) == [1, -2, 3]


def test_mixed_components():
    f2, f3, f4 = spy.float2, spy.float3, spy.float4
    assert list(f4(f3(1, 2, 3), 4)) == [1, 2, 3, 4]
    assert list(f4(1, f3(2, 3, 4))) == [1, 2, 3, 4]
    assert list(f4(f2(1, 2), f2(3, 4))) == [1, 2, 3, 4]
    assert list(f4(1, f2(2, 3), 4)) == [1, 2, 3, 4]
    assert list(f4([1, 2], np.array([3.0, 4.0]))) == [1, 2, 3, 4]
    assert list(spy.int3(spy.int2(1, 2), 3)) == [1, 2, 3]
    assert list(spy.quatf(f3(1, 2, 3), 4)) == [1, 2, 3, 4]


def test_conversion_between_vectors():
    assert list(spy.int3(spy.float3(1.9, -1.9, 0))) == [1, -1, 0]
    assert list(spy.float3(spy.int3(1, -2, 3))) == [1, -2, 3]
    assert list(spy.bool3(spy.float3(0.5, 0, -1))) == [True, False, True]
    assert list(spy.uint2(spy.bool2(True, False))) == [1, 0]
    assert list(spy.float16_t2(spy.float2(0.1, 70000))) == [float(np.float16(0.1)), math.inf]
    with pytest.raises(TypeError, match=r"int3: expected integers from -2147483648 to 2147483647, got 3000000000"):
        spy.int3(spy.float3(3e9))
    with pytest.raises(TypeError, match="uint2.*nan"):
        spy.uint2(spy.float2(math.nan))


@pytest.mark.parametrize("name", VECTORS)
def test_wrong_counts(name):
    cls, _, (n,) = kind(name)
    one = [True] * (n + 1)
    with pytest.raises(ValueError, match=rf"{name}: expected {n} components?, got {n + 1}"):
        cls(*one)
    with pytest.raises(ValueError, match=rf"{name}: expected {n} components?, got {n + 1}"):
        cls(one)
    with pytest.raises(ValueError, match=rf"{name}: expected {n} components?, got 1000"):
        cls([True] * 1000)
    with pytest.raises(ValueError, match="got 0"):
        cls([])
    if n > 2:
        with pytest.raises(ValueError, match=rf"{name}: expected {n} components, got 2"):
            cls(True, False)
    with pytest.raises(ValueError, match="dimension"):
        cls(np.ones((2, 2), np.bool_))


@pytest.mark.parametrize("bad", ["abc", "1", None, {}, {1, 2, 3}, object(), 1j, ["1", 2, 3], [[1, 2, 3]], b"x", spy.float2x2()])
@pytest.mark.parametrize("name", ["float3", "int3", "bool3", "float16_t3"])
def test_wrong_types(name, bad):
    with pytest.raises((TypeError, ValueError), match=name):
        getattr(spy, name)(bad)


@pytest.mark.parametrize("bad", [1.5, [1, 2, 3.0], np.array([1.0, 2.0, 3.0]), np.float32(1)])
@pytest.mark.parametrize("name", ["int3", "uint3", "bool3"])
def test_floats_are_no_integers(name, bad):
    with pytest.raises(TypeError, match=f"{name}: expected (integers|bools)"):
        getattr(spy, name)(bad)


@pytest.mark.parametrize("name,bad", [("int3", 2**31), ("int3", -(2**31) - 1), ("uint3", -1), ("uint3", 2**32), ("int3", 10**30)])
def test_integer_range(name, bad):
    cls = getattr(spy, name)
    with pytest.raises(TypeError, match=f"{name}: expected integers from"):
        cls(bad)
    value = cls(1, 2, 3)
    with pytest.raises(OverflowError):
        value.y = bad
    assert list(value) == [1, 2, 3]


def test_integer_extremes():
    assert list(spy.int2(-(2**31), 2**31 - 1)) == [-(2**31), 2**31 - 1]
    assert list(spy.uint2(0, 2**32 - 1)) == [0, 2**32 - 1]


def test_keywords_are_complete():
    for keywords in ({"x": 1}, {"x": 1, "y": 2, "q": 3}, {"x": 1, "y": 2, "z": 3, "w": 4}):
        with pytest.raises(TypeError, match="float3"):
            spy.float3(**keywords)
    assert spy.float3(1, y=2, z=3) == spy.float3(1, 2, 3)  # components have the names x, y and z
    with pytest.raises(TypeError):
        spy.float2x2(x=1)


def test_huge_python_int():
    with pytest.raises(OverflowError):
        spy.float2(10**400)
    assert list(spy.float2(10**60)) == [math.inf] * 2


# ---- components ----


@pytest.mark.parametrize("name", VECTORS)
def test_indexing(name):
    cls, _, (n,) = kind(name)
    expected = values(name).tolist()
    value = cls(expected)
    assert len(value) == n and [value[i] for i in range(n)] == expected
    assert [value[-i - 1] for i in range(n)] == expected[::-1]
    assert value[np.int64(0)] == expected[0] and list(iter(value)) == expected and expected[-1] in value
    for bad in (n, -n - 1, 2**70):
        with pytest.raises(IndexError):
            value[bad]
        with pytest.raises(IndexError):
            value[bad] = 0
    with pytest.raises(TypeError, match=f"{name}: expected an integer index, got 'str'"):
        value["x"]
    with pytest.raises(TypeError, match="deleted"):
        del value[0]
    with pytest.raises(TypeError, match=f"{name}: expected a component of type .*, got 'str'"):
        value[0] = "1"
    value[n - 1] = 1
    assert value[-1] == 1 and list(value)[:-1] == expected[:-1]


@pytest.mark.parametrize("name", VECTORS)
def test_swizzles(name):
    cls, dtype, (n,) = kind(name)
    expected = values(name)
    value = cls(expected)
    base = name[:-1]
    for letters in ("xyzw", "rgba"):
        for length in range(1, 5):
            for pick in itertools.product(range(n), repeat=length):
                got = getattr(value, "".join(letters[i] for i in pick))
                if length == 1:
                    assert got == expected[pick[0]] and type(got) is value.element_type
                else:
                    assert type(got) is getattr(spy, f"{base}{length}")
                    assert np.array_equal(np.array(got), expected[list(pick)])
    for bad in ["xg", "xyzwx", "q", "xq", ""] + (["w", "xw", "a"] if n < 4 else []):
        with pytest.raises(AttributeError):
            getattr(value, bad)


@pytest.mark.parametrize("name", VECTORS)
def test_component_writes(name):
    cls, _, (n,) = kind(name)
    value = cls()
    for letters in ("xyzw", "rgba"):
        for i in range(n):
            setattr(value, letters[i], i % 2 + 1)
            assert value[i] == i % 2 + 1 or name.startswith("bool")
    with pytest.raises(AttributeError):
        value.xy = value
    with pytest.raises(AttributeError):
        value.other = 1
    with pytest.raises(TypeError, match="deleted"):
        del value.x
    assert spy.float2().x == 0  # a new value does not share the components that were written before


@pytest.mark.parametrize("name", VECTORS + MATRICES)
def test_shape_and_element_type(name):
    cls, dtype, shape = kind(name)
    value = cls()
    assert value.shape == shape
    assert value.element_type is {np.bool_: bool, np.int32: int, np.uint32: int}.get(dtype, float)
    assert spy.quatf().shape == (4,) and spy.float16_t().shape == ()


# ---- numpy, copy, text ----


@pytest.mark.parametrize("name", VECTORS + MATRICES)
def test_buffer_protocol(name):
    cls, dtype, shape = kind(name)
    value = cls(values(name))
    view = np.asarray(value)
    assert view.dtype == dtype and view.shape == shape and view.flags.c_contiguous
    assert np.shares_memory(view, np.asarray(value))
    view[...] = 0
    assert not np.array(value).any()
    copied = value.to_numpy()
    copied[...] = 1
    assert type(copied) is np.ndarray and not np.array(value).any()
    memory = memoryview(value)
    assert memory.shape == shape and memory.nbytes == view.nbytes and not memory.readonly
    del value
    assert memory.tobytes() == bytes(memory.nbytes)  # a memoryview keeps the value that it was made of
    assert cls(memory) == cls(np.zeros(shape, dtype))


@pytest.mark.parametrize("name", VECTORS + MATRICES)
def test_copy_and_pickle(name):
    cls, _, _ = kind(name)
    value = cls(values(name))
    for twin in [copy.copy(value), copy.deepcopy(value)] + [
        pickle.loads(pickle.dumps(value, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    ]:
        assert type(twin) is cls and twin is not value and np.array_equal(np.array(twin), np.array(value))
    if "x" in name:
        twin[0, 0] += 1
    else:
        twin[0] = not value[0]
    assert not np.array_equal(np.array(twin), np.array(value))


@pytest.mark.parametrize("name", VECTORS + MATRICES)
def test_repr_reads_back(name):
    cls, dtype, shape = kind(name)
    random = np.random.default_rng(5)
    data = random.integers(0, 2, shape) if dtype is np.bool_ else random.normal(size=shape) * 1000
    value = cls(np.abs(data).astype(dtype))
    again = cls(json.loads(repr(value).replace("{", "[").replace("}", "]")))
    assert type(again) is cls and np.array_equal(np.array(again), np.array(value)) and str(value) == repr(value)


def test_repr_text():
    assert repr(spy.float3(1, 0.1, -2.5e-7)) == "{1, 0.1, -2.5e-07}"
    assert repr(spy.bool2(True, False)) == "{true, false}"
    assert repr(spy.float2x2([[1, 2], [3, 4]])) == "{{1, 2}, {3, 4}}"
    assert repr(spy.float16_t(0.1)) == "0.1" and repr(spy.quatf()) == "{0, 0, 0, 1}"
    assert repr(spy.float2(math.inf, math.nan)) == "{inf, nan}"


def test_values_hash_by_value_and_have_no_subclasses():
    for value in (spy.float3(1, 2, 3), spy.float4x4(), spy.quatf(), spy.bool2(True, False)):
        assert hash(value) == hash(copy.copy(value)) and {value: 1}[copy.copy(value)] == 1
    assert hash(spy.float3(1, 2, 3)) == hash(spy.int3(1, 2, 3)) != hash(spy.float3(3, 2, 1))
    with pytest.raises(TypeError):
        type("derived", (spy.float3,), {})
    with pytest.raises(TypeError):
        spy.float3.x = 1


# ---- operators ----

ARITHMETIC = [operator.add, operator.sub, operator.mul]


def exact(name, result, expected):
    """Returns what an operator has to give: for float types the result in double, rounded; for integers the result itself."""
    _, dtype, _ = kind(name)
    assert type(result) is getattr(spy, name)
    assert np.array_equal(np.array(result), expected.astype(dtype)), (result, expected)


@pytest.mark.parametrize("op", ARITHMETIC)
@pytest.mark.parametrize("name", NUMERIC)
def test_arithmetic(name, op):
    cls, dtype, _ = kind(name)
    a, b = values(name, 1), values(name, 2)
    if dtype is np.uint32:
        a = np.maximum(a, b)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    exact(name, op(cls(a), cls(b)), op(wide_a, wide_b))
    scalar = 1 if dtype is np.uint32 else a[0].item()
    exact(name, op(cls(a), scalar), op(wide_a, scalar))
    if not (dtype is np.uint32 and op is operator.sub):
        exact(name, op(scalar, cls(b)), op(scalar, wide_b))


@pytest.mark.parametrize("name", FLOATS + MATRICES)
def test_float_division(name):
    cls, dtype, _ = kind(name)
    a, b = values(name, 1), values(name, 2)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    for op in (operator.truediv, operator.floordiv, operator.mod):
        exact(name, op(cls(a), 0.75), op(wide_a, 0.75))
        exact(name, op(0.75, cls(b)), op(0.75, wide_b))
        if "x" not in name:
            exact(name, op(cls(a), cls(b)), op(wide_a, wide_b))
    assert np.isinf(np.array(cls(a) / 0)).all()


@pytest.mark.parametrize("name", [n for n in NUMERIC if "float" not in n])
def test_integer_division(name):
    cls, _, _ = kind(name)
    for seed in range(10):
        a, b = values(name, seed), values(name, seed + 100)
        wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
        exact(name, cls(a) // cls(b), wide_a // wide_b)
        exact(name, cls(a) % cls(b), np.fmod(wide_a, wide_b))  # % has the sign of a, as in C and Slang
        exact(name, cls(a) / cls(b), np.trunc(wide_a / wide_b))
    with pytest.raises(ZeroDivisionError, match=f"{name}: division by zero"):
        cls(a) / 0
    with pytest.raises(ZeroDivisionError):
        cls(a) % cls()


@pytest.mark.parametrize("name", [n for n in VECTORS if "float" not in n])
def test_bitwise(name):
    cls, dtype, _ = kind(name)
    a, b = values(name, 3), values(name, 4)
    for op in (operator.and_, operator.or_, operator.xor):
        exact(name, op(cls(a), cls(b)), op(a, b))
        exact(name, op(cls(a), 1), op(a, dtype(1)))
        exact(name, op(5 if dtype is np.bool_ else 1, cls(a)), op(dtype(1), a))
    exact(name, ~cls(a), ~a)
    if dtype is not np.bool_:
        exact(name, cls(a) << 3, a << 3)
        exact(name, cls(a) >> 1, a >> 1)
        exact(name, cls(a) << 31, (a.astype(np.int64) << 31).astype(np.uint32).astype(dtype))
        with pytest.raises(ValueError, match="shift from 0 to 31, got 32"):
            cls(a) << 32
        with pytest.raises(ValueError, match="got -1"):
            cls(a) >> -1
        with pytest.raises(OverflowError):
            cls(a) & 2**70
    else:
        with pytest.raises(TypeError):
            cls(a) << 1


def test_bitwise_with_python_masks():
    assert list(spy.uint2(5) & -1) == [5, 5] and list(spy.uint2(5) | -1) == [2**32 - 1] * 2
    assert list(spy.int2(-1) & 0xFFFFFFFF) == [-1, -1]


def test_integer_overflow_in_arithmetic():
    top = spy.int2(2**31 - 1)
    for compute in (lambda: top + 1, lambda: top * top, lambda: -spy.int2(-(2**31)), lambda: spy.uint2(2**32 - 1) * (2**32 - 1)):
        with pytest.raises(OverflowError, match="int2: expected integers from"):
            compute()


def test_uints_are_taken_modulo_2_32():
    assert spy.uint2(0) - 1 == spy.uint2(2**32 - 1) and -spy.uint2(1, 0) == spy.uint2(2**32 - 1, 0) and 3 - spy.uint2(1, 7) == spy.uint2(2, 2**32 - 4)
    assert spy.uint2(2**32 - 1) + spy.uint2(3, 0) == spy.uint2(2, 2**32 - 1)


def test_a_vector_of_other_numbers_becomes_one_of_the_left_operands():
    assert spy.float3(1.5, 2, 3) + spy.uint3(1) == spy.float3(2.5, 3, 4) and type(spy.float3(1) * spy.int3(2)) is spy.float3
    assert type(spy.int2(1) + spy.uint2(2)) is spy.int2 and spy.uint2(7) // spy.int2(2) == spy.uint2(3)
    x = spy.float2(1)
    x += spy.uint2(3, 4)
    assert x == spy.float2(4, 5)
    for bad in (lambda: spy.int2(1) + spy.float2(1), lambda: spy.float2(1) + spy.bool2(True), lambda: spy.float2(1) + spy.uint3(1)):
        with pytest.raises(TypeError):
            bad()


def test_functions_take_lists_and_integers_for_vectors():
    m = spy.math
    assert m.dot([1, 2], (3, 4)) == 11 and m.cross([1, 2, 3], [3, 4, 5]) == spy.float3(-2, 4, -2) and m.length((3, 4)) == 5
    assert m.dot(spy.int3(1, 2, 3), [1, 0, 2]) == 7 and m.max(spy.float2(1), [2, 0]) == spy.float2(2, 1) and m.lt(spy.uint2(1, 3), [2, 2]) == spy.bool2(True, False)
    assert m.normalize(spy.int3(3, 4, 0)) == spy.float3(0.6, 0.8, 0) and m.lerp(spy.float3(0), np.array([1, 2, 3]), 0.5) == spy.float3(0.5, 1, 1.5)
    assert m.sin(spy.uint2(0, 1)) == m.sin(spy.float2(0, 1)) and m.normalize([0, 2]) == spy.float2(0, 1)
    for bad in (lambda: m.sin("x"), lambda: m.dot([1, 2], [1, 2, 3]), lambda: m.sin(spy.bool2()), lambda: m.cross([1, 2], [3, 4]), lambda: m.sin(["x", "y"])):
        with pytest.raises(TypeError):
            bad()


@pytest.mark.parametrize("name", NUMERIC)
def test_unary(name):
    cls, dtype, _ = kind(name)
    a = values(name, 7)
    exact(name, +cls(a), a)
    exact(name, abs(cls(a)), np.abs(a))
    if dtype is not np.uint32:
        exact(name, -cls(a), -a)
    if np.issubdtype(dtype, np.floating):
        with pytest.raises(TypeError, match=name):
            ~cls(a)
        assert not hasattr(cls, "__and__")


@pytest.mark.parametrize("op", [operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne])
@pytest.mark.parametrize("name", VECTORS)
def test_comparison(name, op):
    cls, dtype, (n,) = kind(name)
    a, b = values(name, 8), values(name, 9)
    b[0] = a[0]
    by_component = getattr(spy.math, op.__name__)
    result = by_component(cls(a), cls(b))
    assert type(result) is getattr(spy, f"bool{n}") and np.array_equal(np.array(result), op(a, b))
    assert list(by_component(cls(a), a[0].item())) == op(a, a[0]).tolist()
    assert list(by_component(a[0].item(), cls(b))) == op(a[0], b).tolist()
    # comparisons are those of Python's tuples
    for other in (cls(b), b.tolist(), tuple(b.tolist()), cls(a)):
        assert op(cls(a), other) is op(tuple(a.tolist()), tuple(other))


def test_truth_of_comparisons():
    a, b = spy.float3(1, 2, 3), spy.float3(1, 2, 4)
    assert a == spy.float3(1, 2, 3) and not (a == b) and a != b and not (a != spy.float3(1, 2, 3))
    assert (a < b) and (a <= b) and not (a > b) and a != math.nan
    nan = spy.float2(math.nan)
    assert nan != nan and not (nan == nan) and not (nan < nan) and not (nan >= nan)
    assert [a] == [spy.float3(1, 2, 3)] and [a] != [b] and b in [a, b] and b not in [a]
    assert bool(spy.bool2(True)) and not spy.bool2(True, False) and spy.float3()


def test_comparison_with_others():
    assert (spy.float3(1) == "a") is False and (spy.float3(1) != None) is True  # noqa: E711
    assert (spy.float3(1) == spy.int3(1)) is True and (spy.float3(1) == spy.float2(1)) is False
    with pytest.raises(TypeError):
        spy.float3(1) < "a"
    with pytest.raises(TypeError):
        spy.float3(1) < spy.int2(1)
    assert (spy.float3(1, 2, 3) == np.array([1, 0, 3])) is False and (spy.float3(1, 2, 3) == np.array([1, 2, 3])) is True
    assert (spy.float3(1, 2, 3) == np.array([1, 2])) is False and (spy.float3(1, 2, 3) != np.array([1, 2])) is True


@pytest.mark.parametrize("other", [spy.float2(1), "a", None, spy.float3x3(), spy.bool3()])
def test_types_do_not_mix(other):
    for op in ARITHMETIC + [operator.truediv]:
        with pytest.raises(TypeError):
            op(spy.float3(1), other)
        with pytest.raises(TypeError):
            op(other, spy.float3(1))


def test_integers_take_no_floats():
    for op in ARITHMETIC + [operator.truediv, operator.and_, operator.lshift]:
        with pytest.raises(TypeError):
            op(spy.int3(1), 1.5)
        with pytest.raises(TypeError):
            op(1.5, spy.int3(1))
    with pytest.raises(TypeError):
        spy.float3(1) & 1
    with pytest.raises(TypeError):
        spy.bool3() + spy.bool3()
    with pytest.raises(TypeError):
        -spy.bool3()


def test_assignment_operators_make_new_values():
    a = b = spy.float3(1)
    a += 1
    assert list(a) == [2, 2, 2] and list(b) == [1, 1, 1]
    c = spy.int2(6)
    c -= 1
    c *= 2
    c //= 3
    c |= 4
    assert list(c) == [7, 7]


def test_numpy_meets_vectors():
    data = np.array([1.0, 2.0, 3.0], np.float32)
    total = spy.float3(1, 2, 3) + data
    assert isinstance(total, np.ndarray) and total.tolist() == [2, 4, 6]
    assert (data * spy.float3(2)).tolist() == [2, 4, 6]
    assert type(spy.float3(1) * np.float32(2)) in (spy.float3, np.ndarray)
    assert np.sin(spy.float3(0)).tolist() == [0, 0, 0]
    assert np.array([spy.float2(1, 2), spy.float2(3, 4)]).tolist() == [[1, 2], [3, 4]]


def test_one_component_makes_a_number():
    assert float(spy.float1(1.5)) == 1.5 and int(spy.int1(3)) == 3
    assert float(spy.float16_t1(0.5)) == 0.5
    for bad in (spy.float2(), spy.bool2(), spy.quatf(), spy.float2x2(), spy.int2(0x31313131)):
        with pytest.raises(TypeError, match="expected one component"):
            float(bad)
        with pytest.raises(TypeError, match="expected one component"):
            int(bad)


# ---- float16_t ----


def test_half_scalar():
    half = spy.float16_t
    assert half() == 0 and float(half(0.1)) == float(np.float16(0.1)) and int(half(2.7)) == 2
    assert type(half(1) + 1) is half and half(1) + 0.5 == 1.5 and 2 * half(3) == half(6) and -half(1) == -1
    assert half(1) < half(2) <= 2 and half(1) != 2 and not half(0) and half(1)
    assert hash(half(1.5)) == hash(1.5) and {half(2): "a"}[2.0] == "a"
    assert copy.copy(half(3)) == 3 and pickle.loads(pickle.dumps(half(0.1))) == half(0.1)
    assert np.array(half(1.5)).dtype == np.float16 and np.array(half(1.5)).shape == ()
    assert spy.float3(half(2)) == spy.float3(2) and spy.float16_t2(half(1)) * half(2) == spy.float16_t2(2)
    assert half(2) * spy.float3(1) == spy.float3(2) and half(np.float32(3)) == 3 and half(half(4)) == 4
    for bad in ("a", None, [1], spy.float1(1)):
        with pytest.raises(TypeError, match="float16_t: expected one number"):
            half(bad)
    with pytest.raises(TypeError, match="2 arguments"):
        half(1, 2)
    with pytest.raises(TypeError):
        half(1)[0]
    with pytest.raises((BufferError, ValueError)):
        np.frombuffer(half(1), np.float16)[...] = 2


def test_half_rounding_is_numpys():
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    back = np.array([float(spy.float16_t(x)) for x in every[::7].astype(np.float64)], np.float16)
    assert np.array_equal(back.view(np.uint16)[~np.isnan(back)], every[::7].view(np.uint16)[~np.isnan(back)])
    random = np.random.default_rng(1)
    numbers = np.concatenate([random.normal(size=2000) * 10.0 ** random.integers(-9, 6, 2000), [65519.99, 65520, 2**-25, 2**-24, 6.1e-5, 0.0, -0.0]])
    with np.errstate(over="ignore"):
        expected = numbers.astype(np.float16)
    for number, half in zip(numbers, expected):
        got = np.array(spy.float16_t1(number))[0]
        assert got.tobytes() == half.tobytes(), (number, got, half)


# ---- matrices ----


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_construction(name):
    cls, dtype, (rows, columns) = kind(name)
    expected = values(name)
    row = getattr(spy, f"float{columns}")
    nested = expected.tolist()
    flat = expected.ravel().tolist()
    for value in (
        cls(expected), cls(nested), cls(flat), cls(*flat), cls(*nested), cls(*[row(r) for r in nested]), cls([row(r) for r in nested]),
        cls(expected.ravel()), cls(np.asfortranarray(expected)), cls(expected.astype(np.float64)), cls(cls(nested)), cls.from_numpy(expected),
        cls(expected.astype(">f4")), cls(*expected),
    ):  # fmt: skip
        assert type(value) is cls and np.array_equal(np.array(value), expected)
    assert np.array_equal(np.array(cls()), np.eye(rows, columns))
    assert np.array_equal(np.array(cls.identity()), np.eye(rows, columns))
    assert not np.array(cls.zeros()).any()
    for bad in (expected.T if rows != columns else expected[:1], np.ones((rows, columns + 1)), flat[:-1], flat + [1], nested[:-1], [r[:-1] for r in nested], [r + [1] for r in nested]):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            cls(bad)
    for bad in (1, "abc", None, ["a"] * rows, row()[0]):
        with pytest.raises((TypeError, ValueError), match=name):
            cls(bad)


def test_matrix_of_another_size():
    big = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(np.array(spy.float3x3(spy.float4x4(big))), big[:3, :3])
    padded = np.eye(4, dtype=np.float32)
    padded[:2, :3] = big[:2, :3]
    assert np.array_equal(np.array(spy.float4x4(spy.float2x3(big[:2, :3].copy()))), padded)


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_components(name):
    cls, _, (rows, columns) = kind(name)
    expected = values(name)
    m = cls(expected)
    assert len(m) == rows and [list(r) for r in m] == expected.tolist()
    for r, c in itertools.product(range(-rows, rows), range(-columns, columns)):
        assert m[r, c] == expected[r, c] and m[r][c] == expected[r, c]
    for r in range(rows):
        assert type(m.get_row(r)) is getattr(spy, f"float{columns}") and list(m.get_row(r)) == expected[r].tolist()
    for c in range(columns):
        assert type(m.get_col(c)) is getattr(spy, f"float{rows}") and list(m.get_col(c)) == expected[:, c].tolist()
    m[1, -1] = 99
    expected[1, -1] = 99
    m[0] = expected[0] = np.arange(columns)
    assert np.array_equal(np.array(m), expected)
    m.set_row(1, [7] * columns)
    m.set_col(0, getattr(spy, f"float{rows}")(8))
    expected[1] = 7
    expected[:, 0] = 8
    assert np.array_equal(np.array(m), expected)
    row = m[0]
    row[0] = -1
    assert m[0, 0] == 8  # a row is a copy, so that writing to it does not change the matrix
    for act in (lambda: m[rows], lambda: m[0, columns], lambda: m[-rows - 1, 0], lambda: m[0, 0, 0], lambda: m.get_row(rows), lambda: m.get_col(columns), lambda: m.set_col(columns, [])):
        with pytest.raises(IndexError):
            act()
    for bad in ([1] * (columns + 1), [1] * (columns - 1), []):
        with pytest.raises(ValueError, match=f"{name}: expected {columns} components"):
            m[0] = bad
    for bad in ("a", None, ["a"] * columns):
        with pytest.raises(TypeError):
            m.set_row(0, bad)
    with pytest.raises(TypeError):
        m[0, 0] = "a"
    with pytest.raises(TypeError):
        del m[0]
    with pytest.raises(TypeError, match="set_row: expected 2 arguments, got 1"):
        m.set_row(0)
    with pytest.raises(AttributeError):
        m.xy
    assert np.array_equal(np.array(m), expected)  # a failed write changes nothing


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_arithmetic(name):
    cls, _, _ = kind(name)
    a, b = values(name, 1), values(name, 2)
    exact(name, cls(a) + cls(b), a + b)
    exact(name, cls(a) - cls(b), a - b)
    exact(name, cls(a) * 2, a * 2)
    exact(name, 0.5 * cls(a), a / 2)
    exact(name, -cls(a), -a)
    assert (cls(a) == cls(a)) is True and (cls(a) == cls(b)) is False and (cls(a) != cls(b)) is True
    b = a.copy()
    b[-1, -1] += 1
    assert (cls(a) == cls(b)) is False and (cls(a) != cls(b)) is True and (cls(a) != cls(a)) is False
    for act in (lambda: cls(a) * cls(b), lambda: cls(a) / cls(b)):
        with pytest.raises(TypeError, match="@"):
            act()
    assert (cls(a) < cls(b)) is (a.flatten().tolist() < b.flatten().tolist())


@pytest.mark.parametrize("name,other", list(itertools.product(MATRICES, repeat=2)))
def test_matrix_product(name, other):
    (a_cls, _, (rows, inner)), (b_cls, _, (inner_b, columns)) = kind(name), kind(other)
    a, b = values(name, 3), values(other, 4)
    if inner != inner_b:
        with pytest.raises(TypeError, match="math.mul: argument 'y': expected"):
            spy.math.mul(a_cls(a), b_cls(b))
        return
    result = a_cls(a) @ b_cls(b)
    assert type(result) is getattr(spy, f"float{rows}x{columns}")
    same(result, a.astype(np.float64) @ b)
    assert result == spy.math.mul(x=a_cls(a), y=b_cls(b))


@pytest.mark.parametrize("name", MATRICES)
def test_matrix_and_vector(name):
    cls, _, (rows, columns) = kind(name)
    m = values(name)
    right, left = values(f"float{columns}"), values(f"float{rows}")
    result = cls(m) @ getattr(spy, f"float{columns}")(right)
    assert type(result) is getattr(spy, f"float{rows}")
    same(result, m @ right)
    same(spy.math.mul(getattr(spy, f"float{rows}")(left), cls(m)), left @ m)
    assert spy.math.mul(spy.float3(1, 2, 3), spy.float3(1, 2, 3)) == 14
    with pytest.raises(TypeError):
        cls(m) @ spy.int3()
    with pytest.raises(TypeError):
        cls(m) @ 2


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", SQUARE)
def test_inverse_and_determinant(name, seed):
    cls, _, (n, _) = kind(name)
    data = np.random.default_rng(seed).normal(size=(n, n)).astype(np.float32)
    m = cls(data)
    same(spy.math.inverse(m), np.linalg.inv(data.astype(np.float64)), 2e-4)
    assert spy.math.determinant(m) == pytest.approx(np.linalg.det(data.astype(np.float64)), rel=1e-6)
    permuted = np.eye(n, dtype=np.float32)[::-1]
    same(spy.math.inverse(cls(permuted)), permuted)  # the inverse needs pivoting
    singular = data.copy()
    singular[0] = 0
    assert spy.math.determinant(cls(singular)) == 0
    with pytest.raises(ValueError, match="math.inverse.*determinant 0"):
        spy.math.inverse(cls(singular))


@pytest.mark.parametrize("name", MATRICES)
def test_transpose(name):
    cls, _, (rows, columns) = kind(name)
    m = values(name)
    result = spy.math.transpose(cls(m))
    assert type(result) is getattr(spy, f"float{columns}x{rows}") and np.array_equal(np.array(result), m.T)
    if rows != columns:
        for function in (spy.math.inverse, spy.math.determinant):
            with pytest.raises(TypeError, match="expected a square matrix"):
                function(cls(m))


# ---- functions by component ----

ONE = {
    "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "cosh": np.cosh, "degrees": np.degrees, "exp": np.exp, "exp2": np.exp2,
    "floor": np.floor, "frac": lambda x: x - np.floor(x), "radians": np.radians, "rcp": lambda x: 1 / x, "round": np.round,
    "saturate": lambda x: np.clip(x, 0, 1), "sign": np.sign, "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh,
    "trunc": np.trunc, "atan": np.arctan, "asin": lambda x: np.arcsin(x), "acos": lambda x: np.arccos(x), "log": np.log,
    "log2": np.log2, "log10": np.log10, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x),
}  # fmt: skip


@pytest.mark.parametrize("name", ["float1", "float3", "float4", "float16_t2", "float2x3"])
@pytest.mark.parametrize("function", ONE)
def test_functions_of_one(function, name):
    cls, dtype, _ = kind(name)
    x = values(name, positive=function in ("log", "log2", "log10", "sqrt", "rsqrt")) / dtype(8)
    if function in ("asin", "acos"):
        x = np.clip(x, -1, 1)
    with np.errstate(over="ignore"):
        expected = ONE[function](x.astype(np.float64)).astype(dtype)
    result = getattr(spy.math, function)(cls(x))
    assert type(result) is cls
    same(result, expected.astype(np.float64), 1e-6 if dtype is np.float32 else 1e-3)
    number = float(x.flat[0])
    assert getattr(spy.math, function)(number) == pytest.approx(float(ONE[function](number)), rel=1e-14)


TWO = {
    "atan2": np.arctan2, "fmod": np.fmod, "max": np.maximum, "min": np.minimum, "pow": np.power, "step": lambda x, edge: (x >= edge) * 1.0,
}  # fmt: skip


@pytest.mark.parametrize("function", TWO)
def test_functions_of_two(function):
    a, b = values("float4", 1, positive=True), values("float4", 2, positive=True)
    f = getattr(spy.math, function)
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    same(f(spy.float4(a), spy.float4(b)), TWO[function](wide_a, wide_b))
    same(f(spy.float4(a), 2.5), TWO[function](wide_a, 2.5))
    same(f(2, spy.float4(b)), TWO[function](2.0, wide_b))
    assert f(2.5, 1.5) == pytest.approx(TWO[function](2.5, 1.5))
    with pytest.raises(TypeError, match=f"math.{function}: argument"):
        f(spy.float4(a), spy.float3())
    with pytest.raises(TypeError, match=f"math.{function}: argument"):
        f(spy.float4(a), "x")


def test_functions_of_three():
    x, y, s = values("float3", 1), values("float3", 2), np.float32([0.25, 0.5, 0.75])
    m = spy.math
    same(m.lerp(spy.float3(x), spy.float3(y), 0.25), x + 0.25 * (y - x))
    same(m.lerp(spy.float3(x), y=spy.float3(y), s=spy.float3(s)), x + s * (y - x))
    same(m.clamp(spy.float3(x), -1, 2), np.clip(x, -1, 2))
    same(m.clamp(spy.float3(x), spy.float3(-1), spy.float3(2)), np.clip(x, -1, 2))
    t = np.clip((x + 4) / 8, 0, 1)
    same(m.smoothstep(-4, 4, spy.float3(x)), t * t * (3 - 2 * t))
    assert m.clamp(5, 0, 3) == 3 and type(m.clamp(5, 0, 3)) is int and m.lerp(1, 3, 0.5) == 2
    assert m.lerp(spy.quatf(0, 0, 0, 1), spy.quatf(1, 0, 0, 0), 0.5) == spy.quatf(0.5, 0, 0, 0.5)


def test_functions_of_integers():
    m = spy.math
    assert m.min(spy.int3(1, 5, 3), spy.int3(4, 2, 3)) == spy.int3(1, 2, 3)
    assert m.max(spy.uint2(1, 5), 3) == spy.uint2(3, 5)
    assert m.abs(spy.int2(-3, 3)) == spy.int2(3) and m.sign(spy.int3(-5, 0, 5)) == spy.int3(-1, 0, 1)
    assert m.abs(-3) == 3 and type(m.abs(-3)) is int and type(m.min(1, 2.5)) is float
    with pytest.raises(TypeError, match="math.sin: argument 'x': expected a float vector"):
        m.sin(spy.bool3())
    assert m.min(spy.int3(1, 2, 3), 1.5) == spy.float3(1, 1.5, 1.5)
    assert m.min(spy.bool2(True, False), spy.bool2(True)) == spy.bool2(True, False)
    with pytest.raises(TypeError):
        m.abs(spy.bool3())


def test_float_classes():
    x = spy.float4(1, math.inf, -math.inf, math.nan)
    assert list(spy.math.isfinite(x)) == [True, False, False, False]
    assert list(spy.math.isinf(x)) == [False, True, True, False]
    assert list(spy.math.isnan(x)) == [False, False, False, True]
    assert spy.math.isnan(math.nan) is True and spy.math.isinf(1.0) is False


@pytest.mark.parametrize("function", sorted(n for n in dir(spy.math) if not n.startswith("_") and not isinstance(getattr(spy.math, n), type)))
def test_every_function_is_described_and_checks_its_arguments(function):
    f = getattr(spy.math, function)
    parameters = inspect.signature(f).parameters
    required = [p.name for p in parameters.values() if p.default is p.empty]
    assert f.__doc__ and f.__name__ == function and f.__module__ == "slangpy.math"
    with pytest.raises(TypeError, match=f"math.{function}: Parameter '{required[0]}' not specified"):
        f()
    with pytest.raises(TypeError, match=f"math.{function}: Too many arguments: expected {len(parameters)}, got {len(parameters) + 1}"):
        f(*[1] * (len(parameters) + 1))
    with pytest.raises(TypeError, match=f"math.{function}: No parameter named 'nothing'"):
        f(nothing=1)
    with pytest.raises(TypeError, match="specified multiple times"):
        f(1, **{required[0]: 1})
    with pytest.raises((TypeError, ValueError)):
        f(*["a"] * len(required))


# ---- algebra ----


@pytest.mark.parametrize("name", NUMERIC)
def test_dot(name):
    cls, dtype, (n,) = kind(name)
    a, b = values(name, 1), values(name, 2)
    expected = float(a.astype(np.float64) @ b.astype(np.float64))
    result = spy.math.dot(cls(a), cls(b))
    assert result == pytest.approx(expected) and type(result) is cls().element_type


@pytest.mark.parametrize("name", ["float3", "int3", "float16_t3"])
def test_cross(name):
    cls, dtype, _ = kind(name)
    a, b = values(name, 1), values(name, 2)
    same(spy.math.cross(cls(a), cls(b)), np.cross(a.astype(np.float64), b.astype(np.float64)).astype(dtype).astype(np.float64))
    with pytest.raises(TypeError, match="3 components"):
        spy.math.cross(spy.float2(), spy.float2())


@pytest.mark.parametrize("seed", range(20))
def test_products_of_large_integers(seed):
    random = np.random.default_rng(seed)
    a = [int(x) for x in random.integers(-(2**31), 2**31, 3)]
    b = [x + int(d) for x, d in zip(a, random.integers(0, 3, 3))] if max(a) < 2**31 - 3 else a
    expected = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]  # Python computes these integers exactly
    if all(-(2**31) <= x < 2**31 for x in expected):
        assert list(spy.math.cross(spy.int3(a), spy.int3(b))) == expected
    else:
        with pytest.raises(OverflowError, match="int3"):
            spy.math.cross(spy.int3(a), spy.int3(b))
    p, q = 2**31 - 1 - seed, 2**30 + 12345 * seed  # two large products whose sum is q
    assert spy.math.dot(spy.int2(p, q), spy.int2(q, -p + 1)) == p * q + q * (1 - p)
    with pytest.raises(OverflowError, match="uint2"):
        spy.math.dot(spy.uint2(p), spy.uint2(q))


@pytest.mark.parametrize("name", FLOATS)
def test_lengths(name):
    cls, dtype, _ = kind(name)
    a, b = values(name, 1).astype(np.float64), values(name, 2).astype(np.float64)
    tolerance = 1e-6 if dtype is np.float32 else 2e-3
    assert spy.math.length(cls(a)) == pytest.approx(np.linalg.norm(a), rel=1e-12)
    assert spy.math.distance(cls(a), cls(b)) == pytest.approx(np.linalg.norm(a - b), rel=1e-12)
    same(spy.math.normalize(cls(a)), a / np.linalg.norm(a), tolerance)
    assert np.isnan(np.array(spy.math.normalize(cls()))).all()


def test_reflect_and_refract():
    i, n = np.array([3.0, -4.0, 1.0]), np.array([0.0, 0.6, 0.8])
    same(spy.math.reflect(spy.float3(i), spy.float3(n)), i - 2 * (i @ n) * n)
    direction = np.array([math.sin(0.5), -math.cos(0.5), 0])
    out = spy.math.refract(spy.float3(direction), spy.float3(0, 1, 0), 1 / 1.5)
    same(out, [math.sin(0.5) / 1.5, -math.cos(math.asin(math.sin(0.5) / 1.5)), 0])
    assert spy.math.refract(spy.float3(direction), spy.float3(0, 1, 0), 3.0) == spy.float3(0)


def test_all_and_any():
    m = spy.math
    assert m.all(spy.bool3(True)) is True and m.all(spy.bool3(True, True, False)) is False
    assert m.any(spy.bool3(False, True, False)) is True and m.any(spy.bool3()) is False
    assert m.all(spy.float2(1, 2)) and not m.all(spy.float2(1, 0)) and m.any(m.ne(spy.float3(1), spy.float3(1, 2, 1)))
    with pytest.raises(TypeError, match="math.all"):
        m.all(True)


def test_bits():
    data = np.array([1.5, -2.0, 1e-40], np.float32)
    m = spy.math
    assert np.array_equal(np.array(m.asuint(spy.float3(data))), data.view(np.uint32))
    assert np.array_equal(np.array(m.asint(spy.float3(data))), data.view(np.int32))
    assert np.array_equal(np.array(m.asfloat(m.asint(spy.float3(data)))), data)
    assert m.asuint(1.0) == 0x3F800000 and m.asfloat(0x3F800000) == 1.0 and m.asuint(-1) == 0xFFFFFFFF and m.asint(0xFFFFFFFF) == -1
    for bad in (2**32, -(2**31) - 1):
        with pytest.raises(OverflowError):
            m.asfloat(bad)
    assert m.asuint(spy.float16_t2(1)) == m.asuint(spy.float2(1))


# ---- transformations ----


@pytest.mark.parametrize("axis", range(3))
def test_axis_rotations(axis):
    expected = np.eye(4)
    expected[:3, :3] = about(axis, 0.7)
    same(getattr(spy.math, "matrix_from_rotation_" + "xyz"[axis])(0.7), expected)
    unit = np.eye(3)[axis]
    same(spy.math.matrix_from_rotation(0.7, spy.float3(2 * unit)), expected)
    same(spy.math.rotate(spy.float4x4(), 0.7, unit), expected)
    same(spy.math.matrix_from_quat(spy.math.quat_from_angle_axis(0.7, unit)), expected[:3, :3])


@pytest.mark.parametrize("seed", range(4))
def test_rotation_about_any_axis(seed):
    random = np.random.default_rng(seed)
    axis, angle = random.normal(size=3), random.uniform(-3, 3)
    k = np.cross(np.eye(3), axis / np.linalg.norm(axis))  # k @ v is the cross product of axis and v (Rodrigues)
    expected = np.eye(3) + math.sin(angle) * k + (1 - math.cos(angle)) * k @ k
    same(np.array(spy.math.matrix_from_rotation(angle, axis))[:3, :3], expected)
    same(to_matrix(spy.math.quat_from_angle_axis(angle, spy.float3(axis))), expected)


@pytest.mark.parametrize("angles", [(0.1, 0.2, 0.3), (-1, 1.2, 2), (3, -1.5, -2)])
def test_euler_angles(angles):
    m = spy.math
    expected = about(0, angles[0]) @ about(1, angles[1]) @ about(2, angles[2])
    same(np.array(m.matrix_from_rotation_xyz(*angles))[:3, :3], expected)
    assert m.matrix_from_rotation_xyz(spy.float3(angles)) == m.matrix_from_rotation_xyz(np.array(angles, np.float32))
    same(m.extract_euler_angle_xyz(m.matrix_from_rotation_xyz(*angles)), angles, 2e-5)
    q = m.quat_from_euler_angles(spy.float3(angles))
    same(to_matrix(q), about(2, angles[2]) @ about(1, angles[1]) @ about(0, angles[0]))
    same(m.euler_angles(q), angles, 2e-5)
    same([m.pitch(q), m.yaw(q), m.roll(q)], angles, 2e-5)
    with pytest.raises(ValueError, match="three angles"):
        m.matrix_from_rotation_xyz(1, 2)


def test_translation_and_scaling():
    v, p = np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0])
    m = spy.math
    t, s = m.matrix_from_translation(spy.float3(v)), m.matrix_from_scaling(v)
    same(m.transform_point(t, spy.float3(p)), p + v)
    same(m.transform_vector(t, spy.float3(p)), p)
    same(m.transform_point(s, p), p * v)
    r = m.matrix_from_rotation(0.3, [1, 2, 3])
    same(m.translate(r, v), np.array(r) @ np.array(t))
    same(m.scale(r, v), np.array(r) @ np.array(s))
    same(m.transform_vector(spy.float3x3(r), p), np.array(r)[:3, :3] @ p)
    for bad in ([1, 2], "abc", spy.float2(), [1, 2, "3"]):
        with pytest.raises((TypeError, ValueError)):
            m.matrix_from_translation(bad)
    with pytest.raises(TypeError, match="argument 'm': expected float4x4, got 'float3x3'"):
        m.translate(spy.float3x3(), v)


def project(m, point):
    x = np.array(m, np.float64) @ np.array([*point, 1.0])
    return x[:3] / x[3]


def test_perspective():
    near, far, fovy, aspect = 0.5, 20.0, 1.1, 1.6
    m = spy.math.perspective(fovy=fovy, aspect=aspect, z_near=near, z_far=far)
    top = math.tan(fovy / 2)
    same(project(m, (0, top * near, -near)), [0, 1, 0])
    same(project(m, (-top * aspect * far, top * far, -far)), [-1, 1, 1])
    for bad in ((0, 1, 1, 2), (4, 1, 1, 2), (1, 0, 1, 2), (1, 1, 1, 1), (math.nan, 1, 1, 2)):
        with pytest.raises(ValueError, match="math.perspective"):
            spy.math.perspective(*bad)


def test_ortho():
    m = spy.math.ortho(-1, 3, -2, 6, 0.5, 10)
    same(project(m, (-1, -2, -0.5)), [-1, -1, 0])
    same(project(m, (3, 6, -10)), [1, 1, 1])
    with pytest.raises(ValueError, match="left != right"):
        spy.math.ortho(1, 1, 0, 1, 0, 1)


@pytest.mark.parametrize("handedness,forward", [(None, -1), (0, -1), (spy.math.Handedness.right_handed, -1), ("right_handed", -1), (1, 1), (spy.math.Handedness.left_handed, 1), ("left_handed", 1)])
def test_look_at(handedness, forward):
    eye, center, up = np.array([1.0, 2.0, 3.0]), np.array([4.0, -1.0, 5.0]), np.array([0.0, 1.0, 0.0])
    extra = {} if handedness is None else {"handedness": handedness}
    m = np.array(spy.math.matrix_from_look_at(spy.float3(eye), spy.float3(center), up, **extra), np.float64)
    same(m @ [*eye, 1], [0, 0, 0, 1])
    same(m @ [*center, 1], [0, 0, forward * np.linalg.norm(center - eye), 1], 1e-5)
    same(m[:3, :3] @ m[:3, :3].T, np.eye(3), 1e-5)
    assert np.linalg.det(m) == pytest.approx(1, abs=1e-5)
    above = m @ [*(eye + up), 1]
    assert above[1] > 0 and abs(above[0]) < 1e-5
    q = spy.math.quat_from_look_at(center - eye, up, **extra)
    same(to_matrix(q).T, m[:3, :3], 1e-5)


def test_look_at_refuses_what_has_no_answer():
    for args in (([0, 0, 0], [0, 1, 0], [0, 1, 0]), ([1, 1, 1], [1, 1, 1], [0, 1, 0])):
        with pytest.raises(ValueError, match="parallel"):
            spy.math.matrix_from_look_at(*args)
    for bad in (2, "left", 0.5, None):
        with pytest.raises(TypeError, match="handedness"):
            spy.math.matrix_from_look_at([0, 0, 0], [1, 0, 0], [0, 1, 0], bad)
    with pytest.raises(ValueError, match="length 0"):
        spy.math.matrix_from_rotation(1, [0, 0, 0])


# ---- quaternions ----


def random_quaternion(seed):
    q = np.random.default_rng(seed).normal(size=4)
    return q / np.linalg.norm(q)


def test_quaternion_basics():
    q = spy.quatf(1, 2, 3, 4)
    assert (q.x, q.y, q.z, q.w) == (1, 2, 3, 4) and list(q) == [1, 2, 3, 4] and q[-1] == 4
    assert spy.quatf() == spy.quatf.identity() == spy.quatf(0, 0, 0, 1) and q != spy.quatf()
    assert (q == spy.float4(1, 2, 3, 4)) is False and list(spy.float4(q)) == [1, 2, 3, 4]
    assert q + q == 2 * q and q - q == 0 * q and q / 2 == spy.quatf(0.5, 1, 1.5, 2) and -q == q * -1
    assert np.asarray(q).dtype == np.float32 and spy.quatf(np.asarray(q)) == q and pickle.loads(pickle.dumps(q)) == q
    q.y = 9
    assert q[1] == 9
    with pytest.raises(ValueError, match="quatf: expected 4 components, got 3"):
        spy.quatf(1, 2, 3)
    with pytest.raises(ValueError, match="got 1"):
        spy.quatf(1)
    for act in (lambda: q * q, lambda: q / q):
        with pytest.raises(TypeError, match="@"):
            act()
    with pytest.raises(AttributeError):
        q.xyz


@pytest.mark.parametrize("seed", range(4))
def test_quaternion_algebra(seed):
    m = spy.math
    a, b = random_quaternion(seed), random_quaternion(seed + 50)
    qa, qb, v = spy.quatf(a), spy.quatf(b), np.random.default_rng(seed).normal(size=3)
    same(to_matrix(qa @ qb), to_matrix(a) @ to_matrix(b), 5e-6)
    assert m.mul(qa, qb) == qa @ qb
    same(m.mul(qa, spy.float3(v)), to_matrix(a) @ v, 5e-6)
    same(m.transform_vector(qa, v), to_matrix(a) @ v, 5e-6)
    same(m.conjugate(qa), a * [-1, -1, -1, 1])
    same(m.inverse(spy.quatf(2 * a)) @ spy.quatf(2 * a), [0, 0, 0, 1])
    assert m.dot(qa, qb) == pytest.approx(float(np.float32(a).astype(float) @ np.float32(b)), rel=1e-6)
    assert m.length(spy.quatf(3 * a)) == pytest.approx(3, rel=1e-6)
    same(m.normalize(spy.quatf(3 * a)), a)
    same(m.matrix_from_quat(qa), to_matrix(a), 5e-6)


@pytest.mark.parametrize("rotation", [random_rotation(seed) for seed in range(4)] + [about(axis, angle) for axis in range(3) for angle in (math.pi, 3.1, -3.1, 0)])
def test_quaternion_of_matrix(rotation):
    full = np.eye(4)
    full[:3, :3] = rotation
    for m in (spy.float3x3(rotation), spy.float4x4(full)):
        q = spy.math.quat_from_matrix(m)
        assert np.linalg.norm(np.array(q, np.float64)) == pytest.approx(1, abs=1e-6)
        same(to_matrix(q), rotation, 5e-6)


@pytest.mark.parametrize("seed", range(6))
def test_slerp(seed):
    a, b = random_quaternion(seed), random_quaternion(seed + 50)
    qa, qb = spy.quatf(a), spy.quatf(b)
    near = b if a @ b >= 0 else -b
    same(spy.math.slerp(qa, qb, 0), a)
    same(spy.math.slerp(qa, qb, 1), near)
    half = (a + near) / np.linalg.norm(a + near)
    same(spy.math.slerp(qa, qb, s=0.5), half, 5e-6)
    third = np.array(spy.math.slerp(qa, qb, 1 / 3), np.float64)
    assert np.arccos(third @ a) * 3 == pytest.approx(np.arccos(a @ near), rel=1e-4)
    same(spy.math.slerp(qa, qa, 0.3), a)


@pytest.mark.parametrize("seed", range(4))
def test_rotation_between_vectors(seed):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=3), random.normal(size=3)
    unit = b / np.linalg.norm(b)
    for start in (a, b, -b, -b + 1e-12):
        q = spy.math.quat_from_rotation_between_vectors(spy.float3(start), to=spy.float3(b))
        same(to_matrix(q) @ (start / np.linalg.norm(start)), unit, 1e-5)


# ---- the module ----


def test_module():
    import slangpy.math

    assert slangpy.math is spy.math
    from slangpy.math import float3

    assert float3 is spy.float3 and spy.math.quatf is spy.quatf
    assert spy.float3.__module__ == "slangpy" and spy.float3.__name__ == "float3"
    for name in VECTORS + MATRICES + ["quatf", "float16_t"]:
        assert getattr(spy.math, name) is getattr(spy, name) and getattr(spy, name).__doc__
