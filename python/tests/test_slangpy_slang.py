"""Names that Slang code uses after `import slangpy;`, as scripts and .slang files written for SlangPy do, compared with numpy and with
derivatives written by hand."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import slangpy;

struct Added { float3 position; float mass; };
extension Added : IAtomicAddable
{
    static void atomicAdd(RWByteAddressBuffer buf, uint addr, Added value)
    {
        float3::atomicAdd(buf, addr, value.position);
        float::atomicAdd(buf, addr + 12, value.mass);
    }
}

struct Both : IAtomicAddable
{
    float2 a;
    int b;
    static void atomicAdd(RWByteAddressBuffer buf, uint addr, Both value)
    {
        float2::atomicAdd(buf, addr, value.a);
        buf.InterlockedAdd(addr + 8, uint(value.b));
    }
    static void atomicAdd(Both* buf, uint element, Both value)
    {
        float2::atomicAdd(__getAddress(buf[element].a), 0, value.a);
        int::atomicAdd(__getAddress(buf[element].b), 0, value.b);
    }
};

struct Light : IDifferentiable, IAtomicAddable
{
    float3 color;
    float power;
    static void atomicAdd(RWByteAddressBuffer buf, uint addr, This value)
    {
        float3::atomicAdd(buf, addr, value.color);
        float::atomicAdd(buf, addr + 12, value.power);
    }
};

void add_structs(AtomicTensor<Added, 1> a, AtomicTensor<Both, 1> b, Both* c, int i)
{
    Added added = { float3(i), 1 };
    a.add({ 1 }, added);
    a.add(1, added);
    Both both = { float2(i, 1), -i };
    b.add(0, both);
    Both::atomicAdd(c, 1, both);
}

[Differentiable] float shine(IDiffTensor<Light, 1> lights, int i) { Light l = lights[{ i }]; return 2 * l.power + l.color.y; }

void add_to_bytes(RWByteAddressBuffer b, int i)
{
    float3::atomicAdd(b, 0, float3(1, 2, 3));
    int::atomicAdd(b, 12, i);
    uint64_t::atomicAdd(b, 16, 5);
    half2::atomicAdd(b, 24, half2(1, 2));
    uint::atomicAdd(b, 28, 2);
    double::atomicAdd(b, 32, 1.5);
    float2x2::atomicAdd(b, 40, float2x2(1, 2, 3, 4));
    Array<float, 2>::atomicAdd(b, 56, { 1, 2 });
    half::atomicAdd(b, 66, half(2));
    int64_t::atomicAdd(b, 72, -1);
}

void add_to_pointers(float* p, float3* q, int* r, int i)
{
    float::atomicAdd(p, 1, 2.0);
    float::atomicAdd(__getAddress(p[0]), 0, 3.0);
    float3::atomicAdd(q, 1, float3(1, 2, 3));
    int::atomicAdd(r, 0, i);
}

void add_by_index(AtomicTensor<float, 2> t, int i)
{
    t.add({ 0, 1 }, 1);
    t.add(int2(1, 0), 2);
    t.add(uint2(1, 0), 4);
    t.add(0, 1, 8.0);
    t.add(uint(0), uint(1), 16);
    int[2] a = { 0, 1 };
    t.add(a, 32);
    uint[2] b = { 0, 1 };
    t.add(b, 64);
}
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "names_of_slangpy", SOURCE)


def bytes_of(tensor, dtype=np.float32):
    return np.ascontiguousarray(tensor.to_numpy()).view(np.uint8).reshape(-1).view(dtype)


def test_a_struct_needs_only_atomic_add_to_a_byte_address_buffer(device, m):
    """IAtomicAddable asks for atomicAdd(RWByteAddressBuffer, uint, This) alone, by extension or by the struct itself; the pointer form is optional."""
    a, b = spy.Tensor.zeros(device, (2,), m.Added), spy.Tensor.zeros(device, (1,), m.Both)
    c = spy.Tensor.zeros(device, (2,), m.Both)
    m.add_structs(a, b, c.storage.device_address, spy.grid((4,)))
    assert bytes_of(a).tolist() == [0, 0, 0, 0, 12, 12, 12, 8]
    assert bytes_of(b)[:2].tolist() == [6, 4] and bytes_of(b, np.int32)[2] == -6
    assert bytes_of(c)[3:5].tolist() == [6, 4] and bytes_of(c, np.int32)[5] == -6


def test_gradients_of_structs_are_added_by_their_atomic_add(device, m):
    """A struct : IDifferentiable, IAtomicAddable in an IDiffTensor gets its gradient by its own atomicAdd."""
    lights = spy.Tensor.zeros(device, (3,), m.Light).with_grads()
    result = spy.Tensor.zeros(device, (3,), "float").with_grads()
    result.grad_in.copy_from_numpy(np.array([1, 2, 3], np.float32))
    m.shine.bwds(lights, spy.call_id(), _result=result)
    assert bytes_of(lights.grad_out).reshape(3, 4).tolist() == [[0, k, 0, 2 * k] for k in (1, 2, 3)]


def test_built_in_atomic_add_is_called_by_name_on_byte_address_buffers(device, m):
    """float3::atomicAdd(buf, addr, v) and the like for all scalars that add, vectors, matrices and arrays."""
    buffer = device.create_buffer(size=80, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource)
    buffer.copy_from_numpy(np.zeros(80, np.uint8))
    m.add_to_bytes(buffer, spy.grid((4,)))
    b = buffer.to_numpy()
    assert b[:12].view(np.float32).tolist() == [4, 8, 12] and b[12:16].view(np.int32) == 6
    assert b[16:24].view(np.uint64) == 20 and b[24:28].view(np.float16).tolist() == [4, 8] and b[28:32].view(np.uint32) == 8
    assert b[32:40].view(np.float64) == 6 and b[40:64].view(np.float32).tolist() == [4, 8, 12, 16, 4, 8]
    assert b[64:68].view(np.float16).tolist() == [0, 8] and b[72:80].view(np.int64) == -4


def test_built_in_atomic_add_is_called_by_name_on_pointers(device, m):
    """float::atomicAdd(ptr, 0, v), also on __getAddress(x)."""
    p, q, r = (spy.Tensor.zeros(device, (3,), t) for t in ("float", "float3", "int"))
    m.add_to_pointers(p.storage.device_address, q.storage.device_address, r.storage.device_address, spy.grid((4,)))
    assert p.to_numpy().tolist() == [12, 8, 0] and r.to_numpy().tolist() == [6, 0, 0]
    assert q.to_numpy().tolist() == [[0, 0, 0], [4, 8, 12], [0, 0, 0]]


def test_atomic_tensor_adds_by_every_form_of_index(device, m):
    """AtomicTensor.add takes lists, vectors, arrays and separate integers, of int and uint."""
    t = spy.Tensor.zeros(device, (1, 2), "float")
    m.add_by_index(t, 0)
    assert t.to_numpy().tolist() == [[0, 127]]


TENSORS = """
import "slangpy";

void write(RWTensor<float, 2> t, int i, int j)
{
    t[{ i, j }] = 1;
    t[{ i, j }] += 1;
    t[uint2(j, i)] += 2;
    t[int2(j, i)] += 4;
    t[i, j] += 8;
    t[uint(i), uint(j)] += 16;
    uint[2] place = { i, j };
    t[place] += 32;
    t.store({ i, j }, t.load({ i, j }) + 64);
    t.store(i, uint(j), t.load(uint(i), j) + 128);
}
float read(ITensor<float, 2> t, int i, int j) { return t[{ i, j }] + t[uint2(j, i)] + t[i, j] + t.load({ i, j }) + t.load(uint2(j, i)); }
void write_interface(IRWTensor<float, 2> t, int i, int j) { t[{ i, j }] = t[i, j] + 1; t.store(uint2(j, i), t.load({ i, j }) * 2); }
void fill<T : IWTensor<float, 2>>(T t, int i, int j) { t[{ i, j }] = 10 * i; t.store(i, j, 10 * i + j); }

uint sizes(ITensor<float, 2> t) { uint n = t.shape[0]; uint[2] all = t.shape; return n * 100 + all[1]; }
uint columns<T : IBaseTensor<float, 2>>(T t) { return t.shape[1]; }
T.ElementType first<T : ITensor<float, 2>>(T t) { return t[0, 0]; }
float first_of(Tensor<float, 2> t) { RWTensor<float, 2>.ElementType x = t[0, 0]; return x; }

float look(Tensor<float, 2> t, float2 uv) { return t.sample(uv); }
float2 look2(ITensor<float2, 2> t, float2 uv) { return t.sample(uv); }
float look_rw(IRWTensor<float, 2> t, float2 uv) { return t.sample(uv); }
"""


@pytest.fixture(scope="module")
def tensors(device):
    return spy.Module.load_from_source(device, "tensors_of_slangpy", TENSORS)


def test_tensors_are_indexed_by_lists_vectors_arrays_and_integers(device, tensors):
    """tensor[{i, j}], t[uint2(x, y)] (x is the last dimension), t[i, j], arrays of uint, load and store by the same, int and uint."""
    t = spy.Tensor.zeros(device, (2, 3), "float")
    place = np.indices((2, 3)).astype(np.int32)
    tensors.write(t, place[0].copy(), place[1].copy())
    assert t.to_numpy().tolist() == [[256] * 3] * 2
    assert tensors.read(t, 1, 2) == 5 * 256
    tensors.write_interface(t, 1, 2)
    assert t.to_numpy()[1, 2] == 2 * 257
    tensors.fill(t, place[0].copy(), place[1].copy())
    assert t.to_numpy().tolist() == [[0, 1, 2], [10, 11, 12]]


def test_a_shape_is_read_as_uint_and_as_array_of_uint(device, tensors):
    """shape[i] goes to uint, shape to uint[D]; IBaseTensor has it, and ElementType is a tensor's element."""
    t = spy.Tensor.from_numpy(device, np.arange(6, dtype=np.float32).reshape(2, 3) + 7)
    assert tensors.sizes(t) == 203 and tensors.columns(t) == 3
    assert tensors.first(t) == 7 and tensors.first_of(t) == 7


def test_sample_is_bilinear_and_clamped_at_the_edge(device, tensors):
    """Position (uv.x * columns, uv.y * rows), floor and fraction, neighbours clamped to the edge."""
    a = np.random.default_rng(3).uniform(0, 1, (4, 5)).astype(np.float32)
    t, b = spy.Tensor.from_numpy(device, a), np.stack([a, -a], -1)
    uv = np.random.default_rng(4).uniform(-0.2, 1.2, (50, 2)).astype(np.float32)
    at = uv.astype(np.float64) * [5, 4]
    low = np.floor(at).astype(int)
    f = at - low
    x0, x1 = np.clip(low[:, 0], 0, 4), np.clip(low[:, 0] + 1, 0, 4)
    y0, y1 = np.clip(low[:, 1], 0, 3), np.clip(low[:, 1] + 1, 0, 3)
    expected = (a[y0, x0] * (1 - f[:, 0]) + a[y0, x1] * f[:, 0]) * (1 - f[:, 1]) + (a[y1, x0] * (1 - f[:, 0]) + a[y1, x1] * f[:, 0]) * f[:, 1]
    assert np.allclose(tensors.look(t, uv, _result="numpy"), expected, atol=1e-5)
    assert np.allclose(tensors.look_rw(t, uv, _result="numpy"), expected, atol=1e-5)
    pairs = spy.Tensor.empty(device, (4, 5), "float2")
    pairs.copy_from_numpy(b)
    assert np.allclose(tensors.look2(pairs, uv, _result="numpy"), np.stack([expected, -expected], -1), atol=1e-5)


DERIVATIVES = """
import slangpy;
[Differentiable] void through(IDiffTensor<float, 2> a, IWDiffTensor<float, 2> b, IRWDiffTensor<float, 2> c, int i)
{
    float x = a[{ 0, i }] + c[uint2(i, 0)];
    b[0, i] = x * x;
    c[{ 0, i }] = 3 * x;
}
void primal(PrimalTensor<float, 1> a, WPrimalTensor<float, 1> b, RWPrimalTensor<float, 1> c, int i) { b[i] = a[i] + c[{ i }]; c[i] = 2 * a[{ i }]; }
[Differentiable] float constant(PrimalTensor<float, 1> a, float x, int i) { return a[i] * x; }
[Differentiable] float concrete(DiffTensor<float, 1> a, int i) { return a[i] * a[i]; }
[Differentiable] float by_every_index(DiffTensor<float, 2> a, int2 i)
{
    return a.load_once(i) + 2 * a.load_once(i.y, i.x) + 4 * a.load_once({ i.y, i.x }) + 8 * a.load_uniform(uint2(1, 0)) + 16 * a.load_uniform(0, 1);
}
[BackwardDerivative(hundredfold_bwd)] float hundredfold(DiffTensor<float, 1> a, int i) { return a.load(i); }
void hundredfold_bwd(DiffTensor<float, 1> a, int i, float d) { a._grad_out.add(i, 100 * d); }
[BackwardDerivative(put_bwd)] void put(float x, WDiffTensor<float, 1> a, int i) { a[i] = x; }
void put_bwd(inout DifferentialPair<float> x, WDiffTensor<float, 1> a, int i) { x = diffPair(x.p, 10 * a._grad_in[i]); }
"""


@pytest.fixture(scope="module")
def derivatives(device):
    return spy.Module.load_from_source(device, "derivatives_of_slangpy", DERIVATIVES)


def numbers(device, *values):
    return spy.Tensor.from_numpy(device, np.array(values, np.float32))


def test_import_slangpy_alone_shows_the_tensors_of_derivatives(device, derivatives):
    """import slangpy; alone makes DiffTensor, IDiffTensor and the other types visible, without import slangpy_diff;."""
    a, result = numbers(device, 1, 2, 3).with_grads(), numbers(device, 0, 0, 0).with_grads()
    result.grad_in.copy_from_numpy(np.ones(3, np.float32))
    derivatives.concrete.bwds(a, spy.call_id(), _result=result)
    assert a.grad_out.to_numpy().tolist() == [2, 4, 6]


def test_load_once_and_load_uniform_take_arrays_vectors_and_ints(device, derivatives):
    """DiffTensor: load_once(idx) and load_uniform(idx) by int[D], by a vector and by separate ints; their gradients add up."""
    a, result = numbers(device, [1, 2], [3, 4]).with_grads(), numbers(device, [0, 0], [0, 0]).with_grads()
    assert derivatives.by_every_index(a, spy.grid((2, 2)), _result="numpy").tolist() == [[55, 62], [69, 76]]
    result.grad_in.copy_from_numpy(np.ones((2, 2), np.float32))
    derivatives.by_every_index.bwds(a, spy.grid((2, 2)), _result=result)
    assert a.grad_out.to_numpy().tolist() == [[7, 7 + 4 * 24], [7, 7]]


def test_a_derivative_of_ones_own_adds_to_grad_out(device, derivatives):
    """A backward derivative that the function defines itself adds to the DiffTensor's `_grad_out`, an AtomicTensor, and nothing else is
    added."""
    a, result = numbers(device, 1, 2, 3).with_grads(), numbers(device, 0, 0, 0).with_grads()
    result.grad_in.copy_from_numpy(np.array([1, 2, 3], np.float32))
    derivatives.hundredfold.bwds(a, spy.grid((3,)), _result=result)
    assert a.grad_out.to_numpy().tolist() == [100, 200, 300]


def test_a_derivative_of_ones_own_reads_grad_in(device, derivatives):
    """A backward derivative that the function defines itself reads the gradient of a WDiffTensor as `_grad_in`."""
    x, a = numbers(device, 1, 2, 3).with_grads(), numbers(device, 0, 0, 0).with_grads()
    a.grad_in.copy_from_numpy(np.array([1, 2, 3], np.float32))
    derivatives.put.bwds(x, a, spy.grid((3,)))
    assert x.grad_out.to_numpy().tolist() == [10, 20, 30]


def test_functions_of_idifftensor_take_tensors_with_and_without_gradients(device, derivatives):
    """Tensors without gradients go to IDiffTensor, IWDiffTensor and IRWDiffTensor in a plain call, and those with gradients too."""
    a, b, c = numbers(device, [1, 2, 3]), numbers(device, [0, 0, 0]), numbers(device, [1, 1, 1])
    derivatives.through(a, b, c, spy.grid((3,)))
    assert b.to_numpy().tolist() == [[4, 9, 16]] and c.to_numpy().tolist() == [[6, 9, 12]]
    a, b, c = a.with_grads(), b.with_grads(), numbers(device, [1, 1, 1])
    b.grad_in.copy_from_numpy(np.ones((1, 3), np.float32))
    derivatives.through.bwds(a, b, c, spy.grid((3,)))
    assert a.grad_out.to_numpy().tolist() == [[4, 6, 8]]


def test_primal_tensors_take_tensors_and_drop_the_gradient(device, derivatives):
    """PrimalTensor, WPrimalTensor and RWPrimalTensor are parameters for tensors; derivatives end there."""
    a, b, c = numbers(device, 1, 2, 3), numbers(device, 0, 0, 0), numbers(device, 10, 20, 30)
    derivatives.primal(a, b, c, spy.grid((3,)))
    assert b.to_numpy().tolist() == [11, 22, 33] and c.to_numpy().tolist() == [2, 4, 6]
    x, result = numbers(device, 5, 5, 5).with_grads(), numbers(device, 0, 0, 0).with_grads()
    result.grad_in.copy_from_numpy(np.ones(3, np.float32))
    derivatives.constant.bwds(a, x, spy.grid((3,)), _result=result)
    assert x.grad_out.to_numpy().tolist() == [1, 2, 3]


CONTEXT = """
import slangpy;
float ends<A : ISizedArray<float, 3>>(A a) { return 10 * a[0] + a[2]; }
float2 last_row<A : ISizedArray<float2, 2>>(A a) { return a[1]; }
float of_vector(float3 v) { return ends(v); }
float of_array(float v[3]) { return ends(v); }
float2 of_matrix(float2x2 m) { return last_row(m); }
int places(Context0D none, Context2D two) { return int(none.thread_id.x) + 10 * two.call_id[0] + 100 * two.call_id_vec.x; }
int contexts(int i) { int[0] empty = {}; return places(ContextND<0>(uint3(i, 0, 0), empty), ContextND<2>(uint3(0), { 2, 3 })); }
struct Ramp
{
    float slope;
    void __slangpy_load<let N : int>(ContextND<N> context, out float value) { value = slope * context.call_id[0]; }
    void __slangpy_store<let N : int>(ContextND<N> context, float value) {}
};
float ramp(float slope, int i) { Ramp r = { slope }; float v; r.__slangpy_load(ContextND<1>(uint3(0), { i }), v); return v; }
float references(float x) { ValueRef<float> a = { x }; RWValueRef<float> b = { x }; b.value += a.value; return b.value; }
int named() { CallIdArg a; ThreadIdArg b; GridArg<2> c; RangeType d; WangHashArg<0> e; RandFloatArg<0> f; return 1; }

int4 call(int x)
{
    CallShapeInfo a = CallShapeInfo::get_call_id(), g = CallShapeInfo::get_call_group_id(), t = CallShapeInfo::get_call_group_thread_id();
    int[call_data_len] id = a.shape;
    int last = call_data_len - 1;
    return int4(id[0] * 10 + id[last], g.shape[0] * 10 + g.shape[last], t.shape[0] * 10 + t.shape[last],
                a.dimensionality * 100 + call_data_len * 10 + call_group_size);
}
int2 group(int x) { return int2(call_group_strides[0] * 10 + call_group_strides[1], call_group_shape_vector[0] * 10 + call_group_shape_vector[1]); }
uint hash(uint x) { return wang_hash(x); }
"""


@pytest.fixture(scope="module")
def context(device):
    return spy.Module.load_from_source(device, "context_of_slangpy", CONTEXT)


def test_vectors_arrays_and_matrices_are_arrays_of_known_size(context):
    """Array and vector implement ISizedArray<T, D>, and so does matrix, whose elements are rows."""
    assert context.of_vector(spy.float3(1, 2, 3)) == 13 and context.of_array([1.0, 2.0, 3.0]) == 13
    assert list(context.of_matrix(spy.float2x2([1, 2, 3, 4]))) == [3, 4]


def test_contexts_and_arguments_of_generators_have_names_in_slang(context):
    """ContextND<N>, Context0D ... with thread_id, call_id and call_id_vec; ValueRef, RWValueRef, CallIdArg and the like are types."""
    assert context.contexts(7) == 7 + 20 + 300
    assert context.ramp(2.5, 3) == 7.5
    assert context.references(3.0) == 6 and context.named() == 1


def test_a_call_reads_its_rank_and_its_groups_as_constants(device, context):
    """call_data_len, call_group_size, call_group_strides and call_group_shape_vector; CallShapeInfo's three functions."""
    x = np.zeros((2, 4), np.int32)
    place = np.indices((2, 4))
    plain = context.call(x, _result="numpy")
    assert (plain[..., 0] == place[0] * 10 + place[1]).all() and (plain[..., 1] == plain[..., 0]).all()
    assert (plain[..., 2] == 0).all() and (plain[..., 3] == 221).all()
    grouped = context.call.call_group_shape((1, 2))(x, _result="numpy")
    assert (grouped[..., 0] == plain[..., 0]).all() and (grouped[..., 1] == place[0] * 10 + place[1] // 2).all()
    assert (grouped[..., 2] == place[1] % 2).all() and (grouped[..., 3] == 222).all()
    assert (context.group.call_group_shape((1, 2))(x, _result="numpy") == [21, 12]).all()
    assert context.hash(1) == 663891101


# >>which texts get which modules

def test_names_are_found_in_imported_and_included_files_and_parts_of_modules(device, tmp_path):
    """A name of slangpy in a file that is imported, included or a part of a module is seen there, whichever file imports slangpy."""
    (tmp_path / "shared.slang").write_text("__exported import slangpy;\nfloat twice(DiffTensor<float, 1> t) { return 2 * t[0]; }\n")
    (tmp_path / "kernel.slangh").write_text("void add(AtomicTensor<float, 1> t, float x) { t.add({ 0 }, x); }\n")
    (tmp_path / "part.slang").write_text("implementing whole;\npublic float third(PrimalTensor<float, 1> t) { return t.sum(); }\n")
    (tmp_path / "whole.slang").write_text(
        'module whole;\nimport slangpy;\nimport shared;\n#include "kernel.slangh"\n__include part;\n'
        "public extension<let D : int> PrimalTensor<float, D> { public float sum() { return 3; } }\n"
        "public float second(float x) { return x; }\npublic float first(IDiffTensor<float, 1> t) { return t[0]; }\n"
        "public void plus(AtomicTensor<float, 1> t, float x) { add(t, x); }\n")
    d = spy.create_device(include_paths=[str(tmp_path)])
    try:
        m = spy.Module.load_from_file(d, "whole.slang")
        t = spy.Tensor.from_numpy(d, np.array([4, 5], np.float32))
        assert m.first(t) == 4 and m.third(t) == 3
        m.plus(t, np.ones(3, np.float32))
        assert t.to_numpy().tolist() == [7, 5]
    finally:
        d.close()


def test_own_types_of_slangpys_names_are_the_scripts_own(device):
    """If a text declares a type with a name of slangpy's, the module of that type is not imported for it."""
    m = spy.Module.load_from_source(device, "own_names", """
import slangpy;
struct ValueRef { float value; };
struct Texture { float sample(float2 uv) { return uv.x; } };
float value(float x) { ValueRef r = { x }; Texture t; return r.value + t.sample(float2(1, 2)); }
""")
    assert m.value(3.0) == 4


def test_lines_of_messages_are_those_of_the_script(device):
    """What is imported beside slangpy changes no line's number."""
    with pytest.raises(Exception) as e:
        spy.Module.load_from_source(device, "wrong_line", "import slangpy;\nvoid f(DiffTensor<float, 1> t) {}\n\nfloat g() { return nothing; }\n")
    assert "wrong_line.slang:4:" in str(e.value) and "nothing" in str(e.value)
