"""Calls with lists, vectors, matrices and arrays."""
import numpy as np
import pytest

import slangpy as spy
from calls_module import m, rand  # noqa: F401: fixtures

# >>lists, vectors, matrices, arrays


@pytest.mark.parametrize("value", [[5, 6, 7], (5, 6, 7), [5.0, 6, 7.0], np.array([5, 6, 7], np.float32), np.array([5.0, 6, 7]),
                                   range(5, 8) and [5, 6, 7], [np.float32(5), np.int8(6), 7]])
def test_vectors_from_sequences(m, value):
    """A vector parameter takes lists, tuples and arrays. (Features C2, C3.)"""
    assert m.sum3(value) == 5 + 60 + 700


@pytest.mark.parametrize("make", [lambda a: a, np.array, tuple, lambda a: np.array(a, np.float64)])
def test_arrays_from_sequences(m, make):
    """A parameter float[4] takes a list. (Feature C2.)"""
    assert m.total(make([1, 2, 3, 4])) == 30


def test_matrix_from_nested_lists(m):
    """A list of lists gives the rows of a matrix. (Feature C2.)"""
    rows = [[1, 2, 3], [4, 5, 6]]
    assert m.corner(rows) == 1 + 30 + 400
    assert m.corner(np.float32(rows)) == 431
    assert m.corner(tuple(map(tuple, rows))) == 431


def test_array_of_vectors(m):
    """A parameter float3[2] takes [[1,2,3],[5,6,7]]. (Feature C2.)"""
    assert m.deep([[1, 2, 3], [5, 6, 7]]) == 1 + 30 + 600
    assert m.deep(np.array([[1, 2, 3], [5, 6, 7]])) == 631


def test_matrix_times_vector(m):
    """A matrix is a list of its rows, as an argument and as a result. (Features C2, R4.)"""
    a, v = rand(3, 3), rand(3)
    assert np.allclose(list(m.turn(a, v)), a @ v, atol=1e-6)


def test_lists_of_doubles_keep_their_digits(load):
    """A list for a double3 keeps all digits of its floats. (Feature C2.)"""
    m = load("double3 same(double3 x) { return x; }")
    assert list(m.same([0.1, 0.2, 1e200])) == [0.1, 0.2, 1e200]


def test_long_integers_in_lists(load):
    """Integers of 64 bits in a list keep all bits. (Feature C2.)"""
    m = load("uint64_t last(uint64_t x[2]) { return x[1]; } int64_t first(int64_t x[2]) { return x[0]; }")
    assert m.last([1, 2**64 - 1]) == 2**64 - 1
    assert m.first([-2**40, 5]) == -2**40


def test_bools_in_lists(load):
    """A list may contain bools. (Feature C2.)"""
    m = load("int count(bool4 b) { return (b.x ? 1 : 0) + (b.y ? 2 : 0) + (b.z ? 4 : 0) + (b.w ? 8 : 0); }")
    assert m.count([True, False, True, True]) == 13
    assert m.count(np.array([True, False, True, True])) == 13


def test_lists_of_scalars_run_over(m):
    """A call with a scalar parameter runs over a list of numbers, as it does over an array. (Features C2, V1.)"""
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
    """A float3 parameter takes the class float3, and a float3 result is one. (Features C4, R4.)"""
    v = spy.float3(1, 2, 3)
    r = vt.dbl(v)
    assert type(r) is spy.float3 and r == spy.float3(2, 4, 6)
    assert vt.dbl(spy.int3(1, 2, 3)) == spy.float3(2, 4, 6)
    assert vt.dbl(v, _result="numpy").tolist() == [2, 4, 6]


def test_vectors_are_one_value(vt):
    """Overloads, generics and arrays take a vector whole; a call runs over its components only for a scalar parameter.
    (Features C4, V5.)"""
    assert vt.which(spy.float3(1, 2, 3)) == 3 and vt.which(spy.int3(1, 2, 3)) == 4
    assert vt.same(spy.float3(1, 2, 3)) == spy.float3(1, 2, 3) and type(vt.same(spy.uint2(1, 2))) is spy.uint2
    assert vt.second(spy.float3(1, 2, 3)) == 2
    assert vt.plain(spy.float3(1, 2, 3)).shape == (3,)
    with pytest.raises(ValueError, match="'v'.*must be 3"):
        vt.dbl(spy.float2(1, 2))


def test_matrices_and_halves(vt):
    """The classes of matrices and of half vectors are arguments and results. (Feature C4.)"""
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    assert np.array_equal(np.array(vt.turned(spy.float4x4(*a.ravel().tolist()))), a.T)
    assert vt.halve(spy.float16_t(3)) == 1.5


def test_vectors_in_structs_lists_and_refs(vt):
    """Vectors may be fields of dicts, items of lists, and values of references. (Features C4, C5, C8.)"""
    assert vt.ball(spy.float3(1, 2, 3)) == {"p": spy.float3(1, 2, 3), "w": 1.0}
    assert vt.top({"p": spy.float3(1, 2, 3), "w": 0.5}) == 2.5 and vt.top(vt.ball([4, 5, 6])) == 6
    assert vt.dbl([spy.float3(1, 2, 3), spy.float3(4, 5, 6)]).to_numpy().tolist() == [[2, 4, 6], [8, 10, 12]]
    r = spy.ValueRef(spy.float3(1, 2, 3))
    vt.grow(r)
    assert r.value == spy.float3(2, 4, 6) and type(r.value) is spy.float3
