"""Derivatives, call groups and tensors as arguments, as scripts for SlangPy use them."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Tensor, diffPair, float2, float3, floatDiffPair

SOURCE = """
import slangpy;
import slangpy_diff;
struct Pair : IDifferentiable { float a, b; };
[Differentiable] float product(Pair p) { return p.a * p.b; }
[Differentiable] float poly(float a, float x) { return a * x * x + x; }
[Differentiable] float2 both(float2 v) { return v * v; }
[Differentiable] void square(float x, out float r) { r = x * x; }
float plain(float x) { return x; }
[Differentiable] float read_diff(int i, IDiffTensor<float, 1> t) { return t[i] * t[i]; }
[Differentiable] float read_struct(int i, DiffTensor<float, 1> t) { return t[i] * 3; }
[Differentiable] float len(float2 v) { return v.x * v.x + v.y * 3; }
int[2] call_shape_id(int dummy) {
    CallShapeInfo id = CallShapeInfo::get_call_id();
    int r[2]; r[0] = id.shape[0]; r[1] = id.shape[1]; return r;
}
int[2] group_id(int dummy) {
    CallShapeInfo id = CallShapeInfo::get_call_group_id();
    int r[2]; r[0] = id.shape[0]; r[1] = id.shape[1]; return r;
}
int[2] in_group(int dummy) {
    CallShapeInfo id = CallShapeInfo::get_call_group_thread_id();
    int r[2]; r[0] = id.shape[0]; r[1] = id.shape[1]; return r;
}
int tid(int3 id) { return id.x; }
int[2] cid(int id[2]) { return id; }
float sum_rows(Tensor<float, 1> t) { return t[0] + t[1]; }
float sum_i(ITensor<float, 2> t) { return t[0, 0] + t[0, 1]; }
float first<T : ITensor<float, 2>>(T t) { return t[0, 1]; }
float v3(float3 v) { return v.x + v.y + v.z; }
float m23(float2x3 m) { return m[1][2]; }
float arr(float3 a[2]) { return a[1].z; }
float buf(StructuredBuffer<float> b, ByteAddressBuffer c) { return b[1] + c.Load<float>(4); }
void put(int i, RWTensor<float, 1> t) { t[i] = i; }
float one(float x) { return x; }
float mixed(float x, float y) { return x + y; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def f32(*values):
    return np.array(values, np.float32)


def diff(m, *values):
    return Tensor.from_numpy(m.device, f32(*values)).with_grads(zero=True)


def test_diff_pairs_of_scalars(m):
    """In diffPair(p=None, d=None) a missing p is 0.0, and a missing d is zero of p's type; floatDiffPair has p=0 and d=1."""
    p = diffPair()
    assert p.primal == 0.0 and p.grad == 0.0
    assert diffPair(float2(1, 2)).grad == float2(0, 0)
    assert floatDiffPair().primal == 0.0 and floatDiffPair().grad == 1.0


def test_bwds_takes_the_result_as_one_more_argument(m):
    """bwds() writes .grad of the input pairs; the seed is in the result's pair, which is the last argument or _result=."""
    a, x = diffPair(5.0), diffPair(3.0)
    m.poly.bwds(a, x, floatDiffPair(0.0, 1.0))
    assert a.grad == 9.0 and x.grad == 31.0
    a, x = diffPair(5.0), diffPair(3.0)
    m.poly.bwds(a, x, _result=floatDiffPair(0.0, 2.0))
    assert a.grad == 18.0 and x.grad == 62.0
    x = diffPair(3.0)
    m.poly.bwds(5.0, x, floatDiffPair(0.0, 1.0))
    assert x.grad == 31.0
    a, x = diffPair(5.0), diffPair(3.0)
    m.poly.bwds(a=a, x=x, _result=floatDiffPair(0.0, 1.0))
    assert x.grad == 31.0


def test_bwds_of_vectors_and_of_out_parameters(m):
    """bwds() takes pairs of vectors; an out parameter's pair has the seed."""
    v = diffPair(float2(2, 3))
    m.both.bwds(v, diffPair(float2(0, 0), float2(1, 1)))
    assert v.grad == float2(4, 6)
    x, r = diffPair(3.0), diffPair(0.0, 1.0)
    m.square.bwds(x, r)
    assert x.grad == 6.0


def test_a_plain_call_with_pairs_gives_the_plain_value(m):
    """A plain call with DiffPairs returns the plain value."""
    assert m.poly(diffPair(5.0), diffPair(3.0)) == 48.0


def test_bwds_of_a_function_that_is_not_differentiable_raises(m):
    """bwds() of a function that is not differentiable raises an exception."""
    with pytest.raises(Exception):
        m.plain.bwds(diffPair(1.0), diffPair(0.0, 1.0))


def test_bwds_with_tensors(m):
    """bwds() reads grad_in of outputs and adds to grad_out of inputs; calls do not clear gradients."""
    a, x = diff(m, 1, 2), diff(m, 3, 4)
    r = m.poly(a, x, _result="tensor")
    r = r.with_grads()
    r.grad.copy_from_numpy(f32(1, 1))
    m.poly.bwds(a, x, r)
    assert a.grad.to_numpy().tolist() == [9, 16]
    m.poly.bwds(a, x, _result=r)
    assert a.grad.to_numpy().tolist() == [18, 32] and x.grad.to_numpy().tolist() == [14, 34]
    a.grad.clear()
    assert a.grad.to_numpy().tolist() == [0, 0]


def test_a_dict_of_tensors_serves_as_a_vector(m):
    """Each tensor of a dict {"x": tx, "y": ty} for a vector gets its gradient."""
    x, y = diff(m, 1, 2), diff(m, 3, 4)
    assert m.len({"x": x, "y": y}, _result="numpy").tolist() == [10, 16]
    r = Tensor.zeros(m.device, (2,), "float").with_grads()
    r.grad.copy_from_numpy(f32(1, 1))
    m.len.bwds({"x": x, "y": y}, r)
    assert x.grad.to_numpy().tolist() == [2, 4] and y.grad.to_numpy().tolist() == [3, 3]


def test_tensors_with_and_without_gradients_go_to_idifftensor(m):
    """Tensors without gradients go to IDiffTensor; in a forward call those with gradients go too."""
    t = Tensor.from_numpy(m.device, f32(1, 2, 3))
    assert m.read_diff(1, t) == 4.0
    assert m.read_diff(1, t.with_grads()) == 4.0
    g = t.with_grads()
    m.read_diff.bwds(1, g, floatDiffPair(0.0, 1.0))
    assert g.grad.to_numpy().tolist() == [0, 4, 0]
    g = t.with_grads()
    m.read_struct.bwds(1, g, floatDiffPair(0.0, 1.0))
    assert g.grad.to_numpy().tolist() == [0, 3, 0]


def test_instance_differentiable_buffers_have_gradients(m):
    """InstanceDifferentiableBuffer has .buffer, a tensor with gradients."""
    from slangpy.instances import InstanceDifferentiableBuffer

    pairs = InstanceDifferentiableBuffer(m.Pair, shape=(2,))
    pairs.primal_from_numpy(f32(1, 2, 3, 4))
    m.product.bwds(pairs, Tensor.zeros(m.device, (2,), "float").with_grads(grad_in=1))
    assert pairs.buffer.grad_out is not None
    assert pairs.grad_to_numpy().view(np.float32).tolist() == [[2, 1], [4, 3]]


# call groups

def test_call_groups_never_change_call_ids(m):
    """call_group_shape(shape) does not change call ids; the extra threads of padded shapes do nothing."""
    out = np.zeros((3, 5, 2), np.int32)
    m.cid.call_group_shape((2, 4))(spy.call_id(), _result=out)
    assert out[2, 4].tolist() == [2, 4] and out[0, 3].tolist() == [0, 3]
    out = np.zeros((3, 5, 2), np.int32)
    m.call_shape_id.call_group_shape(spy.Shape(2, 4) if hasattr(spy, "Shape") else (2, 4))(0, _result=out)
    assert out[2, 4].tolist() == [2, 4]


def test_call_group_ids(m):
    """get_call_group_id() and get_call_group_thread_id() give a thread's position in its group; without groups the group id
    is the call id."""
    out, inside = np.zeros((4, 8, 2), np.int32), np.zeros((4, 8, 2), np.int32)
    m.group_id.call_group_shape((2, 4))(0, _result=out)
    m.in_group.call_group_shape((2, 4))(0, _result=inside)
    assert out[3, 5].tolist() == [1, 1] and inside[3, 5].tolist() == [1, 1]
    m.group_id(0, _result=out)
    m.in_group(0, _result=inside)
    assert out[3, 5].tolist() == [3, 5] and inside[3, 5].tolist() == [0, 0]


def test_thread_ids_count_by_group(m):
    """Thread ids count group by group: with groups of (4,8), element (1,0) has id 8 and the next group starts at 32."""
    out = np.zeros((8, 16), np.int32)
    m.tid.call_group_shape((4, 8))(spy.thread_id(), _result=out)
    assert out[1, 0] == 8 and out[0, 8] == 32 and out[4, 0] == 64


def test_call_group_shapes_that_are_wrong_raise(m):
    """A group shape with more dimensions than the call or an entry < 1 raises an exception; a shorter shape gets leading 1s;
    () is the default."""
    out = np.zeros((2, 4), np.int32)
    with pytest.raises(Exception):
        m.tid.call_group_shape((2, 2, 2))(spy.thread_id(), _result=out)
    with pytest.raises(Exception):
        m.tid.call_group_shape((0, 2))(spy.thread_id(), _result=out)
    m.tid.call_group_shape((4,))(spy.thread_id(), _result=out)
    assert out.tolist() == [[0, 1, 2, 3], [4, 5, 6, 7]]
    m.tid.call_group_shape(())(spy.thread_id(), _result=out)


# tensors as arguments

def test_tensor_parameters_take_the_last_dimensions(m):
    """A tensor parameter of rank D takes the last D dimensions of a tensor, and the call runs over the dimensions before
    them."""
    t = Tensor.from_numpy(m.device, np.arange(6, dtype=np.float32).reshape(3, 2))
    assert m.sum_rows(t, _result="numpy").tolist() == [1, 5, 9]
    assert m.sum_i(t) == 1.0 and m.first(t) == 1.0


def test_float_tensors_serve_as_vectors_matrices_and_arrays(m):
    """Float tensors and numpy arrays with trailing dimensions serve as vectors, matrices and arrays."""
    a = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    for value in (a, Tensor.from_numpy(m.device, a)):
        assert m.v3(value, _result="numpy").shape == (2, 2)
        assert m.m23(value, _result="numpy").tolist() == [5, 11]
        assert m.arr(value, _result="numpy").tolist() == [5, 11]


def test_tensors_pass_their_storage_to_buffers(m):
    """A Tensor for a StructuredBuffer or ByteAddressBuffer passes its storage."""
    t = Tensor.from_numpy(m.device, f32(1, 2))
    assert m.buf(t, t) == 4.0
    assert m.buf(t.storage, t.storage) == 4.0


def test_a_read_only_tensor_is_not_written(m):
    """A tensor without unordered_access raises an exception when it is given to a writable parameter."""
    t = Tensor.zeros(m.device, (3,), "float", usage=spy.BufferUsage.shader_resource)
    with pytest.raises(Exception):
        m.put(spy.call_id(), t, _thread_count=3)


# tensors

def test_tensor_text(m):
    """str(t) is str(t.to_numpy()); repr names dtype, shape and gradients."""
    t = Tensor.from_numpy(m.device, np.zeros((3, 4), np.float32))
    assert str(t) == str(t.to_numpy())
    assert repr(t) == ('Tensor(dtype=refl::Type(full_name="float", kind=scalar, shape=[]), shape=[3, 4], '
                       'has_grad_in=false, has_grad_out=false)')


def test_tensor_dtypes_and_shapes(m):
    """A tensor's dtype may be float, int, bool, a vector or a name; None and arrays of complex numbers raise ValueError."""
    for dtype in (float, int, bool, float3, "float2", "int"):
        Tensor.empty(m.device, (2,), dtype)
    with pytest.raises(ValueError):
        Tensor.empty(m.device, (2,), None)
    with pytest.raises(ValueError):
        Tensor.from_numpy(m.device, np.zeros(2, np.complex64))


def test_tensor_copies(m):
    """to_numpy() appends the element's shape; copy_from_numpy() copies raw bytes, where a smaller array fills the beginning and
    a larger one raises RuntimeError."""
    t = Tensor.zeros(m.device, (2,), "float3")
    assert t.to_numpy().shape == (2, 3)
    t.copy_from_numpy(f32(1, 2, 3))
    assert t.to_numpy().tolist() == [[1, 2, 3], [0, 0, 0]]
    with pytest.raises(RuntimeError):
        t.copy_from_numpy(np.zeros(7, np.float32))
    assert t.storage.struct_size == 12
    assert Tensor.zeros(m.device, (2,), "bool").to_numpy().dtype == bool


def test_tensor_indexing(m):
    """A tensor is indexed by int, slice, ... and None. An index out of range is an IndexError, too many indices are a
    RuntimeError, and a full index gives the shape (1,)."""
    t = Tensor.from_numpy(m.device, np.arange(12, dtype=np.float32).reshape(3, 4))
    assert t[1].to_numpy().tolist() == [4, 5, 6, 7] and t[-1, ::2].to_numpy().tolist() == [8, 10]
    assert list(t[..., None].shape) == [3, 4, 1] and list(t[1, 2].shape) == [1]
    with pytest.raises(IndexError):
        t[3]
    with pytest.raises(RuntimeError):
        t[0, 0, 0]
    assert [row.to_numpy()[0] for row in t] == [0, 4, 8]
    assert list(t.broadcast_to((2, 3, 4)).shape) == [2, 3, 4]
    with pytest.raises(RuntimeError):
        t.broadcast_to((4,))
    assert t.view((2, 2), (1, 2), 1).to_numpy().tolist() == [[1, 3], [2, 4]]


def test_tensor_gradients(m):
    """Tensor.grad is grad_out and raises RuntimeError if there is none; detach() drops the gradients; both can be set;
    with_grads(a, b, zero=True) clears them."""
    t = Tensor.zeros(m.device, (2,), "float")
    with pytest.raises(RuntimeError):
        t.grad
    g = t.with_grads()
    assert g.grad is not None and g.grad_in is g.grad_out and g.detach().grad_out is None
    i, o = Tensor.full(m.device, (2,), 3.0), Tensor.zeros(m.device, (2,), "float")
    two = t.with_grads(i, o, zero=True)
    assert two.grad_in is i and two.grad_out is o and i.to_numpy().tolist() == [0, 0]
    two.grad_in = o
    two.grad_out = None
    assert two.grad_in is o and two.grad_out is None
    u = t.uniforms()
    assert set(u) >= {"_data", "_shape", "_offset", "_strides"}


def test_structured_arrays(m):
    """from_numpy() of a structured array needs target_slang_dtype=Struct; a type given by name needs program_layout=."""
    a = np.zeros(2, [("a", "f4"), ("b", "f4")])
    a["b"] = [1, 2]
    t = Tensor.from_numpy(m.device, a, target_slang_dtype=m.Pair)
    assert t.to_numpy(structured=True)["b"].tolist() == [1, 2]
    assert Tensor.zeros(m.device, (2,), "Pair", program_layout=m.layout).dtype == m.Pair


def test_transposed_arrays_stay_views(m):
    """from_numpy keeps the strides of a transposed array."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3).T
    t = Tensor.from_numpy(m.device, a)
    assert list(t.shape) == [3, 2] and list(t.strides) == [1, 3] and np.array_equal(t.to_numpy(), a)


def test_tensor_numpy_is_deprecated(m):
    """Tensor.numpy warns that it is deprecated."""
    with pytest.warns(DeprecationWarning):
        Tensor.numpy(m.device, f32(1, 2))
