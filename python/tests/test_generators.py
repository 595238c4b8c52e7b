"""Generators, arguments whose values the kernel computes, compared with numpy's index grids and with the Wang hash written in Python.
Features G1, G2, G3, G4, G5, C10, V4."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
int i1(int v) { return v; }
uint u1(uint v) { return v; }
int2 i2(int2 v) { return v; }
int3 i3(int3 v) { return v; }
uint2 u2(uint2 v) { return v; }
int2 a2(int v[2]) { return int2(v[0], v[1]); }
float f1(float v) { return v; }
float2 f2(float2 v) { return v; }
float3 f3(float3 v) { return v; }
float pick(Pair p) { return p.a + 100 * p.b; }
struct Pair { float a; float b; }
T same<T>(T v) { return v; }
float add(float a, float b) { return a + b; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def ids(shape):
    """Returns coordinates whose x is the last dimension."""
    return np.stack(np.indices(shape)[::-1], -1)


@pytest.mark.parametrize("shape", [(4, 4), (2, 5), (7, 3)])
def test_call_id_vector(m, shape):
    """call_id() for a vector has the last dimension in .x. (Feature G1.)"""
    r = m.i2(spy.call_id(), _result=np.zeros(shape + (2,), np.int32))
    assert np.array_equal(r, ids(shape))


def test_call_id_array_order(m):
    """For an array, call_id() is in the order of the shape. (Features G1, V4.)"""
    r = m.a2(spy.call_id(), _result=np.zeros((3, 4, 2), np.int32))
    assert np.array_equal(r, np.stack(np.indices((3, 4)), -1))


@pytest.mark.parametrize("name, size", [("i3", 3), ("i2", 2)])
def test_call_id_pads_with_zero(m, name, size):
    """Dimensions that the call does not have are 0. (Feature G1.)"""
    r = m[name](spy.call_id(), _result=np.zeros((5, size), np.int32))
    assert np.array_equal(r[:, 0], np.arange(5)) and not r[:, 1:].any()


def test_call_id_scalar_and_float(m):
    """A scalar parameter, int or float, takes the last coordinate. (Feature G1.)"""
    assert m.i1(spy.call_id(), _result=np.zeros((2, 3), np.int32)).tolist() == [[0, 1, 2]] * 2
    assert np.array_equal(m.f2(spy.call_id(), _result=np.zeros((2, 3, 2), np.float32)), ids((2, 3)))


def test_call_id_beside_arrays(m):
    """call_id() takes the call's shape from the other arguments. (Feature G1.)"""
    x = np.float32([[1, 2, 3], [4, 5, 6]])
    assert np.array_equal(m.add(x, spy.call_id(), _result="numpy"), x + [0, 1, 2])


def test_thread_id(m):
    """thread_id() gives the number of the element in .x. (Feature G2.)"""
    r = m.i2(spy.thread_id(), _result=np.zeros((3, 4, 2), np.int32))
    assert np.array_equal(r[..., 0].ravel(), np.arange(12)) and not r[..., 1].any()
    assert np.array_equal(m.u1(spy.thread_id(), _result=np.zeros(5, np.uint32)), np.arange(5))


@pytest.mark.parametrize("make", [spy.call_id, spy.thread_id])
@pytest.mark.parametrize("bad", [0, -2, 9])
def test_ids_bad_dims(make, bad):
    """The argument `dims` must be -1 or a number of dimensions. (Features G1, G2.)"""
    with pytest.raises(ValueError, match="dims"):
        make(bad)
    assert make(dims=-1) is not None and make(2) is not None


# >>grid


def test_grid(m):
    """grid() sets the sizes of the call. (Feature G5.)"""
    assert np.array_equal(m.i2(spy.grid(shape=(4, 4)), _result="numpy"), ids((4, 4)))
    assert np.array_equal(m.i2(spy.grid((2, 5)), _result="numpy"), ids((2, 5)))


def test_grid_stride_and_offset(m):
    """grid() gives offset + stride * coordinate. (Feature G5.)"""
    assert np.array_equal(m.i2(spy.grid(shape=(4, 3), stride=(2, 3)), _result="numpy"), ids((4, 3)) * [3, 2])
    assert np.array_equal(m.i2(spy.grid((4, 3), offset=(10, 20)), _result="numpy"), ids((4, 3)) + [20, 10])
    assert np.array_equal(m.a2(spy.grid((4, 3), (10, 20), (2, -1)), _result="numpy"),
                          np.stack(np.indices((4, 3)), -1) * [2, -1] + [10, 20])


def test_grid_open_dimensions(m):
    """In grid()'s shape -1 is any size, and an int instead of a shape is a rank. (Feature G5.)"""
    out = np.zeros((3, 4, 2), np.int32)
    assert np.array_equal(m.i2(spy.grid((-1, -1)), _result=out), ids((3, 4)))
    assert np.array_equal(m.i2(spy.grid(2), _result=out), ids((3, 4)))
    assert np.array_equal(m.i2(spy.grid((3, -1)), _result=out), ids((3, 4)))


def test_grid_mismatch(m):
    """A grid whose sizes differ from those of the result is an error. (Feature G5.)"""
    with pytest.raises(ValueError, match="hape"):
        m.i2(spy.grid((4, 4)), _result=np.zeros((3, 4, 2), np.int32))


@pytest.mark.parametrize("args", [(0,), (9,), ((1,) * 9,)])
def test_grid_bad_rank(args):
    """grid() refuses ranks other than 1 to 8. (Feature G5.)"""
    with pytest.raises(ValueError):
        spy.grid(*args)


def test_grid_bad_types(m):
    """Errors of grid() name the argument. (Feature G5.)"""
    with pytest.raises(TypeError, match="shape"):
        spy.grid("4")
    with pytest.raises(TypeError):
        spy.grid()
    with pytest.raises((TypeError, ValueError), match="grid|offset"):
        m.i2(spy.grid((4, 4), offset=(1,)), _result="numpy")


def test_grid_feeds_a_call(m):
    """grid() can be used beside an array of its size. (Feature G5.)"""
    x = np.float32([1, 2, 3])
    assert np.array_equal(m.add(spy.grid((3,)), x, _result="numpy"), x + [0, 1, 2])


# >>random numbers


def wang(x):
    x = ((x ^ 61) ^ (x >> 16)) & 0xffffffff
    x = (x * 9) & 0xffffffff
    x ^= x >> 4
    x = (x * 0x27d4eb2d) & 0xffffffff
    return x ^ (x >> 15)


def wang_values(count, numbers, seed=2640457667, warmup=0, hash_seed=True):
    """Returns the sequence of each element: the hash of id * numbers, applied `warmup` times, then h ^ hash(seed), hashed again for
    each number."""
    start = wang(seed) if hash_seed else seed
    out = np.zeros((count, numbers), np.uint32)
    for i in range(count):
        s = i * numbers
        for _ in range(warmup):
            s = wang(s)
        s ^= start
        for k in range(numbers):
            s = wang(s)
            out[i, k] = s
    return out


@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"warmup": 3}, {"hash_seed": False}, {"seed": 0}, {"seed": 2**32 - 1, "warmup": 1},
                                     {"seed": 5, "warmup": 2, "hash_seed": False}])
def test_wang_hash(m, options):
    """wang_hash() gives the published hash, with seed, warmup and hash_seed. (Feature G3.)"""
    r = m.u2(spy.wang_hash(dim=2, **options), _result=np.zeros((50, 2), np.uint32))
    assert np.array_equal(r, wang_values(50, 2, **options))


def test_wang_hash_default_dim_feeds_vectors(m):
    """wang_hash() can be given to an int2, as on SlangPy's page. (Feature G3.)"""
    r = m.i2(spy.wang_hash(), _result=np.zeros((4, 4, 2), np.int32))
    assert np.array_equal(r.reshape(-1, 2).view(np.uint32), wang_values(16, 2))


@pytest.mark.parametrize("options", [{}, {"seed": 9}, {"warmup": 2}, {"hash_seed": False}])
def test_rand_float(m, options):
    """rand_float() scales 23 bits of wang_hash()'s numbers, with its warmup and hash_seed. (Feature G4.)"""
    r = m.f3(spy.rand_float(-1, 3, 3, **options), _result=np.zeros((40, 3), np.float32))
    expected = (wang_values(40, 3, **options) & 0x7FFFFF) * (1.0 / 0x800000) * 4 - 1
    assert np.allclose(r, expected, atol=1e-6)


def test_rand_float_range(m):
    """rand_float() gives numbers in [min, max) whose mean is in the middle. (Feature G4.)"""
    r = m.f1(spy.rand_float(min=2, max=10, warmup=1), _result=np.zeros(20000, np.float32))
    assert r.min() >= 2 and r.max() < 10 and abs(r.mean() - 6) < 0.1


def test_random_in_structs(m):
    """A field of a dict may be a generator. (Features C5, G4.)"""
    r = m.pick({"a": spy.rand_float(0, 1), "b": np.float32([1, 2, 3])}, _result="numpy")
    assert np.array_equal(np.floor(r), [100, 200, 300])


@pytest.mark.parametrize("make", [spy.wang_hash, spy.rand_float])
@pytest.mark.parametrize("bad, name", [({"seed": -1}, "seed"), ({"seed": 2**32}, "seed"), ({"warmup": -1}, "warmup"),
                                       ({"warmup": 2**32}, "warmup"), ({"dim": 0}, "dim")])
def test_random_bad_options(make, bad, name):
    """Random generators refuse numbers out of range. (Features G3, G4.)"""
    with pytest.raises(ValueError, match=name):
        make(**bad)


def test_random_bad_names():
    """Random generators refuse unknown options. (Features G3, G4.)"""
    with pytest.raises(TypeError):
        spy.wang_hash(seeds=1)
    with pytest.raises(TypeError):
        spy.rand_float(low=1)


# >>their types and uses


def test_generic_parameters_need_a_type(m):
    """A generic parameter cannot take its type from a generator; map() sets one. (Feature G1.)"""
    with pytest.raises(TypeError):
        m.same(spy.call_id(), _result=np.zeros((2, 3, 2), np.int32))
    r = m.same.map("int2")(spy.call_id(), _result=np.zeros((2, 3, 2), np.int32))
    assert np.array_equal(r, ids((2, 3)))


def test_generators_are_inputs_only(load):
    """out parameters refuse generators. (Feature G1.)"""
    m = load("void f(out float x) { x = 1; }")
    with pytest.raises(TypeError, match="'x' is an out parameter"):
        m.f(spy.call_id())


def test_generators_can_be_used_again(m):
    """One generator object can be used in many calls and for several parameters. (Feature G1.)"""
    g = spy.call_id()
    for shape in ((2, 2), (3, 5)):
        assert np.array_equal(m.i2(g, _result=np.zeros(shape + (2,), np.int32)), ids(shape))
    assert np.array_equal(m.add(g, g, _result=np.zeros(4, np.float32)), [0, 2, 4, 6])


def test_repr():
    """repr() of a generator shows its arguments. (Feature G1.)"""
    for g, name in ((spy.call_id(), "call_id"), (spy.thread_id(), "thread_id"), (spy.grid(1), "grid"), (spy.wang_hash(), "wang_hash"),
                    (spy.rand_float(), "rand_float")):
        assert name in repr(g)


def test_generators_alone_have_no_size(m):
    """A call of generators alone is one element. (Feature G1.)"""
    assert m.i1(spy.call_id()) == 0
    assert m.u1(spy.thread_id()) == 0


def test_range_wide(m):
    """A range may have many numbers. (Feature C10.)"""
    r = m.i1(range(0, 3000000, 3))
    assert r.shape == (1000000,) and r[999999:].to_numpy().tolist() == [2999997]


def test_range_too_large(m):
    """A range must fit 32 bits. (Feature C10.)"""
    with pytest.raises((ValueError, OverflowError)):
        m.i1(range(2**40, 2**40 + 3))
