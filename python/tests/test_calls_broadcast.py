"""Calls that run over their arguments: broadcasting, map(), ranges and the call's size."""
import numpy as np
import pytest

import slangpy as spy
from calls_module import m, rand  # noqa: F401: fixtures

# >>broadcasting


@pytest.mark.parametrize("a, b", [
    ((5,), (5,)), ((4, 5), (4, 5)), ((4, 5), (5,)), ((4, 1), (1, 5)), ((4, 5), (1, 5)), ((2, 3, 4), (3, 1)), ((1,), (6,)),
    ((2, 3, 4, 5), (4, 5)), ((0, 3), (3,)), ((1, 1), (1,)), ((2, 1, 2, 1, 2), (1, 3, 1, 2, 1)),
])
def test_broadcasting_is_numpys(m, a, b):
    """Shapes broadcast as in numpy. (Features V1, V2, V3.)"""
    x, y = rand(*a), rand(*b)
    r = m.add(x, y, _result="numpy")
    assert r.shape == (x + y).shape and np.array_equal(r, x + y)


@pytest.mark.parametrize("a, b", [((5,), (4,)), ((4, 5), (4,)), ((2, 3), (3, 2))])
def test_shapes_that_do_not_meet(m, a, b):
    """The 'Shape mismatch' error names the arguments. (Feature V2.)"""
    with pytest.raises(ValueError, match="Shape mismatch") as e:
        m.add(rand(*a), rand(*b))
    assert "'a'" in str(e.value) and "'b'" in str(e.value)


def test_scalar_and_array(m):
    """A number is broadcast to all elements. (Feature V2.)"""
    x = rand(3, 4)
    assert np.array_equal(m.add(x, 2, _result="numpy"), x + 2)
    assert np.array_equal(m.add(2, x, _result="numpy"), x + 2)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (10, 3), (2, 5, 3)])
def test_trailing_dimensions_feed_vectors(m, shape):
    """The last dimension of an array feeds a vector parameter. (Features V13, V12.)"""
    v = rand(*shape)
    r = m.scale(v, 2.0, _result="numpy")
    assert r.shape == shape and np.array_equal(r, v * 2)


@pytest.mark.parametrize("size", [2, 1, 4])
def test_trailing_size_must_be_the_vectors(m, size):
    """An array of shape (100, 2) for a float3 parameter is an error, both before and after a call that fits. (Feature V12.)"""
    m.scale(rand(100, 3), 1.0)
    with pytest.raises(ValueError, match="hape"):
        m.scale(rand(100, size), 1.0)


def test_vector_and_scalar_dims(m):
    """Arrays of shape (N, 3) for a vector broadcast with arrays of shape (N,) for a scalar. (Feature V1.)"""
    v, s = rand(10, 3), rand(10)
    assert np.array_equal(m.scale(v, s, _result="numpy"), v * s[:, None])


def test_vector_dtypes_are_not_split(device, m):
    """A float3 tensor of shape (10,) is 10 vectors. (Feature V13.)"""
    v = rand(10, 3)
    t = spy.Tensor.empty(device, (10,), "float3")
    t.copy_from_numpy(v)
    assert np.array_equal(m.scale(t, 2, _result="numpy"), v * 2)


def test_lower_rank_tensors_per_thread(load):
    """A parameter Tensor<float, 1> gets one row of a (4, 8) tensor in each thread. (Feature V13.)"""
    m = load("import slangpy; float rowsum(Tensor<float, 1> row) { float s = 0; for (int i = 0; i < row.shape[0]; i++) s += row[i]; return s; }")
    x = rand(4, 8)
    t = spy.Tensor.from_numpy(m.device, x)
    assert np.allclose(m.rowsum(t, _result="numpy"), x.sum(1), atol=1e-5)


def test_strict_broadcasting(load):
    """With strict_broadcasting arrays of fewer dimensions are errors, and numbers are still allowed. (Feature V3.)"""
    m = load("float add(float a, float b) { return a + b; }", options={"strict_broadcasting": True})
    assert np.array_equal(m.add(np.ones((2, 3), np.float32), np.ones((2, 3), np.float32), _result="numpy"), np.full((2, 3), 2))
    assert m.add(np.ones((2, 3), np.float32), 1, _result="numpy").shape == (2, 3)
    with pytest.raises(ValueError, match="Strict broadcasting is enabled"):
        m.add(np.ones((2, 3), np.float32), np.ones(3, np.float32))


def test_index_order(load):
    """A vector index has the last dimension in x; an array index has it in its last item. (Feature V4.)"""
    m = load("int2 vec(int2 v) { return v; } int2 arr(int v[2]) { return int2(v[0], v[1]); }")
    r = m.vec(spy.call_id(), _result=np.zeros((2, 3, 2), np.int32))
    s = m.arr(spy.call_id(), _result=np.zeros((2, 3, 2), np.int32))
    y, x = np.mgrid[0:2, 0:3]
    assert np.array_equal(r, np.stack([x, y], -1)) and np.array_equal(s, np.stack([y, x], -1))


# >>map


def test_map_outer_product(m):
    """map() by position gives an outer product. (Feature V6.)"""
    a, b = rand(4), rand(3)
    assert np.array_equal(m.add.map((0,), (1,))(a, b, _result="numpy"), a[:, None] + b[None, :])


def test_map_by_name(m):
    """map() takes parameters by name. (Feature V6.)"""
    a, b = rand(4), rand(3)
    assert np.array_equal(m.add.map(a=(1,), b=(0,))(a, b, _result="numpy"), a[None, :] + b[:, None])
    assert np.array_equal(m.add.map(a=(1,), b=(0,))(a=a, b=b, _result="numpy"), a[None, :] + b[:, None])


def test_map_identity_transpose_and_none(m):
    """The examples of SlangPy's page about mapping give its results. (Feature V6.)"""
    a, b = rand(5, 3, 4), rand(5, 3, 4)
    assert np.array_equal(m.add.map((0, 1, 2), (0, 1, 2))(a, b, _result="numpy"), a + b)
    assert np.array_equal(m.add.map((0, 1, 2), (0, 2, 1))(a, rand(5, 4, 3) * 0, _result="numpy"), a)
    assert np.array_equal(m.add.map(None, (0, 1, 2))(a, b, _result="numpy"), a + b)


def test_map_shorter_argument(m):
    """A shape of (8,) is mapped to either dimension of a shape of (8, 8). (Feature V6.)"""
    a, b = rand(8, 8), rand(8)
    assert np.array_equal(m.add.map((0, 1), (1,))(a, b, _result="numpy"), a + b)
    assert np.array_equal(m.add.map((0, 1), (0,))(a, b, _result="numpy"), a + b[:, None])


def test_map_types(m, load):
    """map(src='float') and map(module.Foo) set the element type of an argument. (Feature V6.)"""
    t = load("struct Foo { float x; };\nfloat take<T>(T v) { return sizeof(T); } float foo(Foo f) { return f.x; }")
    assert t.take.map("float3")(np.ones((5, 3), np.float32), _result="numpy").tolist() == [12.0] * 5
    assert t.take.map(v=t.float2)(np.ones((5, 2), np.float32), _result="numpy").tolist() == [8.0] * 5
    assert t.foo.map(t.Foo)({"x": 4}) == 4
    assert t.foo.map(t["Foo"])({"x": 4}) == 4


def test_map_chains(m):
    """Several chained calls of map() and other links add up and leave the original function as it was. (Features V6, F9.)"""
    a, b = rand(4), rand(3)
    mapped = m.add.map(a=(0,)).map(b=(1,)).return_type("numpy")
    assert np.array_equal(mapped(a, b), a[:, None] + b)
    with pytest.raises(ValueError, match="Shape mismatch"):
        m.add(a, b)


def test_map_keeps_vectors_whole(m):
    """With a map of one dimension the last dimension of an array feeds the vector. (Features V6, V13.)"""
    v, s = rand(4, 3), rand(5)
    r = m.scale.map((0,), (1,))(v, s, _result="numpy")
    assert np.array_equal(r, v[:, None, :] * s[None, :, None])


# >>range and the call's size


def test_range(m):
    """range(start, stop, step) is one dimension of (stop - start) // step numbers; as in SlangPy, a last step that is not whole gives no
    number. (Feature C10.)"""
    for r in (range(5), range(2, 9), range(0, 20, 3), range(10, 0, -2), range(3, 3)):
        whole = range(r.start, r.start + (r.stop - r.start) // r.step * r.step, r.step)
        assert m.addi(r, 100, _result="numpy").tolist() == [i + 100 for i in whole]


def test_range_against_arrays(m):
    """A range broadcasts with arrays of its length. (Features C10, V2.)"""
    assert m.addi(range(3), np.int32([[10], [20]]), _result="numpy").tolist() == [[10, 11, 12], [20, 21, 22]]
    with pytest.raises(ValueError, match="Shape mismatch"):
        m.addi(range(3), np.int32([1, 2]))


def test_thread_count(load):
    """_thread_count, an int or a shape, gives the size of a call without vectorised arguments. (Features C14, V15.)"""
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
    """A call may have more than 65,535 groups of threads. (Feature V14.)"""
    n = 65536 * 300
    t = spy.Tensor.zeros(m.device, (n,), "int")
    r = m.addi(t, range(n))
    got = r[n - 3:].to_numpy()
    assert got.tolist() == [n - 3, n - 2, n - 1] and r[70000:70003].to_numpy().tolist() == [70000, 70001, 70002]
