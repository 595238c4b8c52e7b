"""Vectors and half numbers: construction, components, conversions, text, and operators."""
import array
import copy
import itertools
import json
import math
import operator
import pickle

import numpy as np
import pytest

import slangpy as spy
from math_values import FLOATS, MATRICES, NUMERIC, VECTORS, exact, kind, values

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


def test_assignment_operators_change_the_value():
    a = b = spy.float3(1)
    a += 1
    assert list(a) == [2, 2, 2] and a is b
    c = spy.int2(6)
    c -= 1
    c *= 2
    c //= 3
    c |= 4
    assert list(c) == [7, 7]


def test_numpy_meets_vectors():
    data = np.array([1.0, 2.0, 3.0], np.float32)
    total = spy.float3(1, 2, 3) + data
    assert total == spy.float3(2, 4, 6) and type(total) is spy.float3
    assert type(spy.int3(1, 2, 3) * np.array([2, 2, 2])) is spy.int3 and spy.float3(1) - data.astype(np.float64) == spy.float3(0, -1, -2)
    for array in (spy.int3(1, 2, 3) + data, spy.float3(1) + np.ones((2, 3), np.float32), spy.float3(1) + np.ones(1)):  # numpy adds
        assert isinstance(array, np.ndarray)
    assert (spy.int3(1, 2, 3) + data).tolist() == [2, 4, 6]
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
