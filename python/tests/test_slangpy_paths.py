"""Facts of generators, packed arguments and import paths that scripts for SlangPy rely on."""

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;
int i1(int v) { return v; }
uint u1(uint v) { return v; }
int2 i2(int2 v) { return v; }
uint2 u2(uint2 v) { return v; }
uint3 u3(uint3 v) { return v; }
int[2] a2(int v[2]) { return v; }
float f1(float v) { return v; }
float2 f2(float2 v) { return v; }
struct Ray { float3 o; float t; }
float length_of(Ray ray, float scale) { return ray.o.x * scale + ray.t; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def ids(*shape):
    """The coordinates of each element, in the order of the shape."""
    return np.stack(np.indices(shape), -1)


def ints(*shape):
    return np.zeros(shape, np.int32)


# ---- generators ----


def test_call_id_is_in_shape_order_for_arrays_and_reversed_for_vectors(m):
    """call_id() has no shape of its own."""
    assert (m.a2(spy.call_id(), _result=ints(2, 3, 2)) == ids(2, 3)).all()
    assert (m.i2(spy.call_id(), _result=ints(2, 3, 2)) == ids(2, 3)[..., ::-1]).all()
    assert (m.i1(spy.call_id(), _result=ints(5)) == np.arange(5)).all()


def test_call_id_of_sizes_is_a_grid(m):
    assert (m.i2(spy.call_id((2, 3)), _result="numpy") == ids(2, 3)[..., ::-1]).all()
    assert isinstance(spy.call_id((2, 3)), spy.types.GridArg if hasattr(spy.types, "GridArg") else object)


def test_thread_id_is_the_flat_index_in_x(m):
    assert (m.u1(spy.thread_id(), _result=np.zeros((2, 3), np.uint32)) == np.arange(6).reshape(2, 3)).all()
    r = m.i2(spy.thread_id(), _result=ints(2, 3, 2))
    assert (r[..., 0] == np.arange(6).reshape(2, 3)).all() and not r[..., 1].any()


def test_grid_is_offset_plus_index_times_stride(m):
    expected = ids(2, 3) * [3, 4] + [10, 20]
    assert (m.a2(spy.grid((2, 3), offset=(10, 20), stride=(3, 4)), _result="numpy") == expected).all()
    assert (m.i2(spy.grid(shape=[2, 3], offset=[10, 20], stride=[3, 4]), _result="numpy") == expected[..., ::-1]).all()
    assert m.i1(spy.grid((3,), stride=(2,)), _result="numpy").tolist() == [0, 2, 4]


def test_open_dimensions_of_a_grid_take_their_sizes_from_the_other_arguments(m):
    for grid in (spy.grid(2), spy.grid((-1, -1)), spy.grid((2, -1)), spy.grid((-1, 3))):
        assert (m.i2(grid, _result=ints(2, 3, 2)) == ids(2, 3)[..., ::-1]).all()


@pytest.mark.parametrize("arguments", [{"offset": (1,)}, {"stride": (1, 2, 3)}])
def test_offset_and_stride_of_another_length_are_a_value_error(arguments):
    with pytest.raises(ValueError):
        spy.grid((2, 3), **arguments)


def test_a_range_is_an_argument_of_one_dimension(m):
    assert m.i1(range(2, 11, 3), _result="numpy").tolist() == [2, 5, 8] and m.f1(range(3), _result="numpy").tolist() == [0, 1, 2]


def wang(x):
    x = np.asarray(x, np.uint32)
    with np.errstate(over="ignore"):
        x = (x ^ np.uint32(61)) ^ (x >> np.uint32(16))
        x = x * np.uint32(9)
        x = x ^ (x >> np.uint32(4))
        x = x * np.uint32(0x27D4EB2D)
        return x ^ (x >> np.uint32(15))


def hashes(count, components, seed=2640457667, warmup=0, hash_seed=True):
    t = np.arange(count, dtype=np.uint32) * np.uint32(components)
    for _ in range(warmup):
        t = wang(t)
    x, out = t ^ (wang(seed) if hash_seed else np.uint32(seed)), []
    for _ in range(components):
        x = wang(x)
        out.append(x)
    return np.stack(out, -1)


@pytest.mark.parametrize("options", [{}, {"seed": 7}, {"warmup": 2}, {"seed": 5, "hash_seed": False, "warmup": 1}])
def test_wang_hash_gives_the_numbers_of_slangpy(m, options):
    """First h(t ^ s) with t the flat index times the components, hashed warmup times; each next one is h of the one before."""
    for name, n in (("u1", 1), ("u2", 2), ("u3", 3)):
        out = np.zeros((8,) if n == 1 else (8, n), np.uint32)
        assert (m[name](spy.wang_hash(**options), _result=out).reshape(8, n) == hashes(8, n, **options)).all()


@pytest.mark.parametrize("options", [{}, {"seed": 7}])
def test_rand_float_scales_23_bits_of_the_same_numbers(m, options):
    for name, n in (("f1", 1), ("f2", 2)):
        out = np.zeros((8,) if n == 1 else (8, n), np.float32)
        got = m[name](spy.rand_float(-2, 6, **options), _result=out).reshape(8, n)
        assert np.allclose(got, (hashes(8, n, **options) & 0x7FFFFF) / 0x800000 * 8 - 2, atol=1e-6)


def test_random_generators_are_for_their_kind_of_numbers(m):
    """wang_hash feeds integers and rand_float floats."""
    for call in (lambda: m.f1(spy.wang_hash(), _result=np.zeros(2, np.float32)), lambda: m.i1(spy.rand_float(), _result=ints(2))):
        with pytest.raises(Exception, match="expected"):
            call()
