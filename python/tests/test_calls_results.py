"""Results of calls: their types, and the objects that they are written to."""
import numpy as np
import pytest

import slangpy as spy
from calls_module import as_lists, m, rand, s  # noqa: F401: fixtures

# >>results


@pytest.mark.parametrize("kind", ["numpy", np.ndarray])
def test_result_numpy(m, kind):
    """_result='numpy' and _result=numpy.ndarray give an array. (Feature R2.)"""
    r = m.add(np.float32([1, 2]), 1, _result=kind)
    assert isinstance(r, np.ndarray) and r.dtype == np.float32 and r.tolist() == [2, 3]


@pytest.mark.parametrize("kind, cls", [("tensor", spy.Tensor), (spy.Tensor, spy.Tensor), (spy.NDBuffer, spy.NDBuffer), (None, spy.Tensor)])
def test_result_tensor(m, kind, cls):
    """_result='tensor', the tensor classes and the default give a tensor. (Features R1, R2.)"""
    r = m.add(np.float32([1, 2]), 1, _result=kind)
    assert type(r) is cls and r.to_numpy().tolist() == [2, 3]


def test_result_given(device, m):
    """An object given as `_result` is filled and returned. (Feature R2.)"""
    x = rand(4, 5)
    t, n, a = spy.Tensor.empty(device, (4, 5)), spy.NDBuffer(device, dtype="float", shape=(4, 5)), np.zeros((4, 5), np.float32)
    for r in (t, n, a):
        assert m.add(x, 1, _result=r) is r
    for r in (t.to_numpy(), n.to_numpy(), a):
        assert np.array_equal(r, x + 1)


@pytest.mark.parametrize("count", [0, 1, 5, 100001])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"])
def test_result_of_another_number_type(device, m, dtype, count):
    """A result may go into tensors and arrays, small and large, of any number type that Slang converts it to. (Feature R2.)"""
    x = (rand(count) * 100).astype(np.float32)
    expected = (x + np.float32(1)).astype(dtype)
    t, a = spy.Tensor.empty(device, (count,), np.dtype(dtype)) if count else None, np.zeros(count, dtype)
    for r in (t, a):
        if r is None:
            continue
        assert m.add(x, 1, _result=r) is r
        assert np.array_equal(r if r is a else r.to_numpy(), expected)


def test_result_vectors_of_another_number_type(device, load):
    """Outputs may be tensors of vectors and structs, of their numbers in trailing dimensions, and views with strides; bools
    are converted, too. (Feature R2.)"""
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
    assert np.array_equal(v.v(x - 0.5, _result=spy.Tensor.empty(device, (5, 3), "bool")).to_numpy(), (x[:, None] - 0.5) * [1, 2, 3] + 0.5 != 0)
    assert v.v(0.25, _result=spy.Tensor.empty(device, (2,), "bool3")).to_numpy().all()  # 0.75 is true, though its byte would be 0
    for element in ("int", "float", "double", "half", "uint8_t"):
        assert v.odd(np.arange(4), _result=spy.Tensor.zeros(device, (4,), element)).to_numpy().tolist() == [0, 1, 0, 1], element
    doubles = spy.Tensor.empty(device, (5,), "double")  # in forward mode the value is converted, too
    pair = v.sq.fwds(spy.Tensor.from_numpy(device, x).with_grads(grad_in=np.ones(5, np.float32)), _result=spy.diffPair(doubles, spy.Tensor.zeros(device, (5,))))
    assert doubles.to_numpy().tolist() == (x * x).tolist() and pair.grad.to_numpy().tolist() == (2 * x).tolist()


def test_vectors_run_over_scalar_parameters(m, load):
    """A vector or matrix goes whole where it fits, and is run over where only its numbers do. (Features C4, V1.)"""
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
    """A tuple passes a struct's fields in order, a named tuple by name. Calls run over lists of tuples and over arrays in them.
    (Features C5, U6.)"""
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
    """A list of dicts goes whole to an array of structs of its length, also a generic one; for one struct the call runs over the list.
    `any` is also a function of Slang's: asking its generic overloads about P left libslang with a type at which later calls crashed.
    (Feature C5.)"""
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
                       ([a, {"x": 1, "z": 2}], "P has no field 'z'"), ([a, {"x": 1, "y": "no"}], "argument 'p': item 1: field 'y': Unsupported type")):
        with pytest.raises(Exception, match=words):
            s.two(bad)


def test_result_into_references_and_dicts(m, load):
    """A ValueRef takes the result; a dict of tensors takes the fields of a struct. (Features R2, C8.)"""
    r = spy.floatRef()
    assert m.add(1, 2, _result=r) == 3 and r.value == 3  # SlangPy returns the value, not the reference
    assert m.add(1, 2, _result=spy.ValueRef) == 3 and m.add.return_type(spy.ValueRef)(3, 4) == 7
    m.add(np.float32([1, 2]), 2, _result=r)
    assert r.value.to_numpy().tolist() == [3, 4]
    p = load("struct P { int a; float b; };\nP make(int x) { P p; p.a = x; p.b = x * 0.5; return p; }")
    a, b = spy.Tensor.zeros(p.device, (3,), "int"), spy.Tensor.zeros(p.device, (3,))
    p.make(np.int32([1, 2, 3]), _result={"a": a, "b": b})
    assert a.to_numpy().tolist() == [1, 2, 3] and b.to_numpy().tolist() == [0.5, 1, 1.5]


def test_large_values(load):
    """A result may be one value of more than a few hundred bytes. (Feature R4.)"""
    m = load("struct Big { float v[100]; int n; };\nBig big(float x) { Big b; for (int i = 0; i < 100; i++) b.v[i] = x * float(i); b.n = 7; return b; }\n"
             "float[100] row(float x) { return big(x).v; }")
    assert m.big(2) == {"v": [2.0 * i for i in range(100)], "n": 7}
    assert m.row(3) == [3.0 * i for i in range(100)]


def test_as_many_arguments_as_there_can_be(load):
    """A call may have the largest number of parameters and a result. (Feature C14.)"""
    for n in (20, 63):
        m = load("float f(%s) { return %s; }" % (", ".join("float a%d" % i for i in range(n)), " + ".join("a%d" % i for i in range(n))))
        assert m.f(*range(n)) == sum(range(n))
        assert m.f(**{"a%d" % i: i for i in range(n)}) == sum(range(n))


def test_result_array_decides_the_shape(m):
    """If no argument is an array, an array in `_result` gives the call its shape. (Features R2, V15.)"""
    a = np.zeros((2, 3), np.float32)
    m.add(1, 2, _result=a)
    assert np.array_equal(a, np.full((2, 3), 3))


def test_result_of_wrong_shape(device, m):
    """An output whose shape differs from the call's is an error, also if broadcasting could stretch it. (Feature R2.)"""
    for wrong in (spy.Tensor.zeros(device, (4,)), np.zeros(4, np.float32), spy.Tensor.zeros(device, (1,))):
        with pytest.raises(ValueError, match="_result"):
            m.add(rand(5), 1, _result=wrong)


def test_return_type(m):
    """return_type() is used unless the call has `_result`. (Feature R3.)"""
    f = m.add.return_type("numpy")
    assert isinstance(f(np.float32([1]), 1), np.ndarray)
    assert isinstance(m.add.return_type(np.ndarray)(np.float32([1]), 1), np.ndarray)
    assert type(m.add.return_type(spy.NDBuffer)(np.float32([1]), 1)) is spy.NDBuffer
    assert type(f(np.float32([1]), 1, _result=spy.Tensor)) is spy.Tensor
    assert isinstance(f.return_type(None)(np.float32([1]), 1), spy.Tensor)


def test_result_numpy_of_a_scalar_call(m):
    """`_result='numpy'` gives an array of rank 0 for a call of one element. (Feature R2.)"""
    r = m.add(1, 2, _result="numpy")
    assert isinstance(r, np.ndarray) and r.shape == () and r == 3

def test_struct_result(s):
    """A result that is a struct is a dict. (Feature R4.)"""
    assert s.make(3, 1.5) == {"a": 3, "b": 1.5}


def test_nested_struct_result(s):
    """Results may be structs with arrays of structs, arrays of arrays, and bools. (Feature R4.)"""
    n = s.nest(2.0)
    assert n["p"] == [{"a": 1, "b": 2.0}, {"a": 2, "b": 3.0}]
    assert as_lists(n["v"]) == [2, 3, 4] and as_lists(n["m"]) == [[0, 1, 2], [10, 11, 12]] and n["flag"] is True


def test_vector_matrix_array_results(s):
    """A call of one element may return vectors, matrices, arrays, and arrays of arrays. (Feature R4.)"""
    assert as_lists(s.vec(2)) == [2, 4, 6]
    assert as_lists(s.mat(2)) == [[2, 4, 6], [8, 10, 12]]
    assert s.four(2) == [0, 2, 4, 6]
    assert s.grid(1) == [[1, 2, 3], [4, 5, 6]]
    assert as_lists(s.ivec(4)) == [4, -4, 0]


@pytest.mark.parametrize("name, inner", [("vec", (3,)), ("mat", (2, 3)), ("four", (4,)), ("grid", (2, 3))])
def test_vectorised_results_have_further_dimensions(s, name, inner):
    """Results of vectorised calls with vectors have further dimensions, the same by to_numpy() and by `_result='numpy'`. (Feature R4.)"""
    x = rand(5)
    r = s[name](x)
    a = s[name](x, _result="numpy")
    assert r.shape == (5,) and a.shape == (5,) + inner and np.array_equal(r.to_numpy(), a)
    expected = np.stack([np.array(as_lists(s[name](float(v)))) for v in x])
    assert np.allclose(a, expected)


def test_struct_results_as_structured_arrays(s):
    """Results that are structs become structured arrays in numpy. (Features R4, B6.)"""
    r = s.make(np.int32([1, 2, 3]), 0.5, _result="numpy")
    assert r.dtype.names == ("a", "b") and r["a"].tolist() == [1, 2, 3] and r["b"].tolist() == [0.5] * 3


def test_struct_result_dtype(s):
    """A tensor of structs knows its type. (Feature R1.)"""
    r = s.make(np.int32([1, 2, 3]), 0.5)
    assert r.dtype == s.Pair and r.dtype.name == "Pair"


def test_results_feed_calls(s):
    """The result of a call can be an argument of another call. (Feature R1.)"""
    r = s.make(np.int32([1, 2, 3]), np.float32([0.5, 0.25, 0.125]))
    assert s.sum(r, _result="numpy").tolist() == [1.5, 2.25, 3.125]
    assert s.sum(s.make(4, 0.5)) == 4.5


def test_structured_arrays_as_arguments(s):
    """A parameter that is a struct takes a structured numpy array. (Features C3, B6.)"""
    a = np.zeros(4, dtype=[("a", "i4"), ("b", "f4")])
    a["a"], a["b"] = range(4), [0.5, 0.25, 0, 1]
    assert s.sum(a, _result="numpy").tolist() == (a["a"] + a["b"]).tolist()
