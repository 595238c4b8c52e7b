"""The calls that each page of SlangPy's documentation teaches, with functions of our own because the pages' text is not in this
repository. One test for each page: first functions, return types, buffers, nested types, broadcasting, mapping, generators, autodiff,
instances, tensors in Slang, call groups, raw dispatch."""
import numpy as np
import pytest

import slangpy as spy

SOURCE = """
import "slangpy";

float plus(float a, float b) { return a + b; }
float3 plus3(float3 a, float3 b) { return a + b; }
float times(float a, float b) { return a * b; }
float same(float val) { return val; }
float4 same4(float4 val) { return val; }
void take(float4 src, out float4 dest) { dest = src; }
void take_vector<let N : int>(vector<float, N> src, out vector<float, N> dest) { dest = src; }
void take_any<T>(T src, out T dest) { dest = src; }
struct Dot { float2 place; float size; };
Dot half_of(Dot d) { d.size *= 0.5f; return d; }
int2 place_of(int2 id) { return id; }
float3 drawn(float3 value) { return value; }

[Differentiable] float cubic(float a, float b, float x) { return a * x * x * x + b * x; }
[Differentiable] void squares(int i, IDiffTensor<float, 1> x, IWDiffTensor<float, 1> y) { y[i] = x[i] * x[i]; }

struct Ball
{
    float3 place;
    float3 speed;
    __init(float3 p, float3 s) { place = p; speed = s; }
    [mutating] void step(float time) { place += speed * time; }
    float height() { return place.y; }
};

void scaled(int2 id, ITensor<float, 2> source, IRWTensor<float, 2> target, float by) { target[id] = source[id] * by; }
void row_sums(int row, ITensor<float, 2> source, IRWTensor<float, 1> target)
{
    float sum = 0;
    uint width = source.shape[1];
    for (uint column = 0; column < width; column++) sum += source.load(row, column);
    target[row] = sum;
}
void blurred(int2 id, ITensor<float, 2> source, IRWTensor<float, 2> target)
{
    float sum = 0;
    int count = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++)
        {
            int2 at = id + int2(dx, dy);
            if (at.x < 0 || at.x >= source.shape[1] || at.y < 0 || at.y >= source.shape[0]) continue;
            sum += source[at];
            count++;
        }
    target[id] = sum / float(count);
}
void gathered(int id, Tensor<float, 1> parts, AtomicTensor<float, 1> whole) { whole.add(0, parts[id]); }

uint2 group_of(uint x)
{
    CallShapeInfo group = CallShapeInfo::get_call_group_id(), local = CallShapeInfo::get_call_group_thread_id();
    return uint2(group.shape[0], local.shape[0]);
}
groupshared float row[8];
float group_sum(uint x)
{
    int at = CallShapeInfo::get_call_group_thread_id().shape[0];
    row[at] = 1.0f;
    GroupMemoryBarrierWithGroupSync();
    float sum = 0.0f;
    for (int i = 0; i < 8; ++i) sum += row[i];
    return sum;
}

[shader("compute")]
[numthreads(32, 1, 1)]
void fill(uint3 tid : SV_DispatchThreadID, uniform RWStructuredBuffer<uint> target, uniform uint count) { if (tid.x < count) target[tid.x] = tid.x * 2; }
"""


@pytest.fixture(scope="module")
def m(device, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    (folder / "pages.slang").write_text(SOURCE)
    return spy.Module.load_from_file(device, str(folder / "pages.slang"))


def f32(*values):
    return np.array(values, np.float32)


def test_first_functions(m):
    """The page about first functions: scalars by position and by name, and arrays with a numpy result."""
    assert m.plus(1.0, 2.0) == 3 and m.plus(a=1.0, b=2.0) == 3
    a, b = np.random.default_rng(1).random((2, 1000)).astype(np.float32)
    assert (m.plus(a, b, _result="numpy") == a + b).all()


def test_return_types(device, m):
    """`_result` may be 'numpy', 'tensor', a class, or an object that is written; return_type() sets it for all calls."""
    a, b = f32(1, 2, 3), f32(4, 5, 6)
    assert isinstance(m.plus(a, b), spy.Tensor) and isinstance(m.plus(a, b, _result=spy.Tensor), spy.Tensor)
    assert m.plus.return_type(np.ndarray)(a, b).tolist() == [5, 7, 9] and m.plus(a, b, _result="tensor").to_numpy().tolist() == [5, 7, 9]
    target = spy.Tensor.empty(device, shape=(3,), dtype=float)
    m.plus(a, b, _result=target)
    assert target.to_numpy().tolist() == [5, 7, 9]


def test_buffers(device, m):
    """The page about buffers: tensors of structs, their cursors, to_numpy() and copy_from_numpy()."""
    dots = spy.Tensor.empty(device, shape=(3,), dtype=m.Dot)
    cursor = dots.cursor()
    for i in range(3):
        cursor[i].write({"place": spy.float2(i, 1), "size": 2.0 * i})
    cursor.apply()
    result = m.half_of(dots)
    assert [result.cursor()[i].read()["size"] for i in range(3)] == [0, 1, 2]
    for make in (spy.NDBuffer, lambda d, **k: spy.Tensor.empty(d, **k)):  # the page's older and newer class
        image = make(device, dtype=m.Dot, shape=(2, 2))
        image.copy_from_numpy(np.arange(12, dtype=np.float32))
        assert m.half_of(image).to_numpy().view(np.float32).reshape(2, 2, 3)[1, 1].tolist() == [9, 10, 5.5]
    t = spy.Tensor.empty(device, shape=(2, 2), dtype="float")
    t.copy_from_numpy(f32([1, 2], [3, 4]))
    assert t.to_numpy().tolist() == [[1, 2], [3, 4]] and tuple(t.shape) == (2, 2)


def test_nested_types(device, m):
    """The page about nested types: dicts by field, with _type for generics, a specialised function, map() by type."""
    fields = {"x": 1.0, "y": f32(1, 2, 3), "z": 0.0, "w": 4.0}
    expected = [[1, 1, 0, 4], [1, 2, 0, 4], [1, 3, 0, 4]]
    for call, source in ((m.take, fields), (m.require_function("take_vector<4>"), fields), (m.take_vector, {"_type": "float4", **fields}),
                         (m.take_any.map(src="float4", dest="float4"), fields)):
        target = spy.Tensor.zeros(device, shape=(3,), dtype="float4")
        call(src=source, dest=target)
        assert target.to_numpy().tolist() == expected


def test_textures_as_targets_of_nested_types(device, m):
    """On the page about nested types, a dict by field with a generator in it fills a texture, as an array and a generic function do;
    results come as textures."""
    both = spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access
    texture = device.create_texture(width=8, height=4, format=spy.Format.rgba32_float, usage=both)
    pixels = np.random.default_rng(3).random((4, 8, 4)).astype(np.float32)
    m.take(src=pixels, dest=texture)
    assert (texture.to_numpy() == pixels).all()
    m.take(src={"x": 1.0, "y": spy.rand_float(min=0, max=1, dim=1), "z": 0.0, "w": 1.0}, dest=texture)
    got = texture.to_numpy()
    assert (got[..., [0, 2, 3]] == [1, 0, 1]).all() and got[..., 1].std() > 0.1 and 0 <= got[..., 1].min() <= got[..., 1].max() < 1
    m.take_vector(src={"_type": "float4", "x": 0.0, "y": 0.5, "z": spy.float2(1, 2).y, "w": 1.0}, dest=texture)
    assert (texture.to_numpy() == [0, 0.5, 2, 1]).all()
    made = m.same4(pixels, _result="texture")
    assert isinstance(made, spy.Texture) and made.format == spy.Format.rgba32_float and (made.to_numpy() == pixels).all()
    m.same4(made, _result=texture)
    assert (texture.to_numpy() == pixels).all()


def test_broadcasting(m):
    """The page about broadcasting: equal sizes, sizes of 1, single values, and vectors for scalars and for vectors."""
    a, b = np.ones((10, 1, 4), np.float32), np.ones((10, 3, 4), np.float32)
    assert m.plus(a, b, _result="numpy").shape == (10, 3, 4) and m.plus(5.0, b, _result="numpy")[0, 0, 0] == 6
    with pytest.raises(ValueError):
        m.plus(np.ones((5, 3, 4), np.float32), b)
    assert m.plus(spy.float3(1, 2, 3), spy.float3(4, 5, 6), _result="numpy").tolist() == [5, 7, 9]
    assert tuple(m.plus3(spy.float3(1, 2, 3), spy.float3(4, 5, 6))) == (5, 7, 9)
    assert m.plus3(spy.float3(1, 2, 3), np.zeros((10, 3), np.float32), _result="numpy").tolist() == [[1, 2, 3]] * 10


def test_mapping(m):
    """The page about mapping: map() by position and by name, to dimensions, for an outer product, a transposition, and types."""
    a, b = np.random.default_rng(2).random((4, 5)).astype(np.float32), np.arange(5, dtype=np.float32)
    assert (m.plus.map((0, 1), (1,))(a, b, _result="numpy") == a + b).all() and (m.plus.map(b=(1,))(a=a, b=b, _result="numpy") == a + b).all()
    assert (m.times.map(a=(0,), b=(1,))(a=b, b=b, _result="numpy") == np.outer(b, b)).all()
    assert (m.same.map(val=(1, 0))(val=a, _result="numpy") == a.T).all()
    for by in ({"src": (0,), "dest": (0,)}, {"src": "float", "dest": "float"}):
        target = np.zeros_like(b)
        m.take_any.map(**by)(src=b, dest=target)
        assert (target == b).all()


def test_generators(m):
    """The page about generators: call_id, grid, thread_id and rand_float."""
    ids = np.zeros((2, 3, 2), np.int32)
    m.place_of(spy.call_id(), _result=ids)
    assert (ids == np.indices((2, 3)).transpose(1, 2, 0)[..., ::-1]).all()
    assert m.place_of(spy.grid((2, 3)), _result="numpy")[1, 2].tolist() == [2, 1]
    values = np.zeros((100, 3), np.float32)
    m.drawn(spy.rand_float(-1, 1, 3), _result=values)
    assert (np.abs(values) <= 1).all() and values.min() < -0.5 and values.max() > 0.5


def test_autodiff(device, m):
    """The page about autodiff: with_grads(), bwds() with the result as _result, and tensors of IDiffTensor over a grid."""
    x = spy.Tensor.from_numpy(device, f32(1, 2, 3)).with_grads()
    result = m.cubic(a=2, b=3, x=x)
    assert result.to_numpy().tolist() == [5, 22, 63]
    result = result.with_grads()
    result.grad.copy_from_numpy(np.ones(3, np.float32))
    m.cubic.bwds(a=2, b=3, x=x, _result=result)
    assert x.grad.to_numpy().tolist() == [9, 27, 57]
    x.grad.clear()
    m.squares(spy.grid(shape=(3,)), x, result)
    assert result.to_numpy().tolist() == [1, 4, 9]
    m.squares.bwds(spy.grid(shape=(3,)), x, result)
    assert x.grad.to_numpy().tolist() == [2, 4, 6]


def test_instances(device, m):
    """The page about instances: construct and mutating methods of InstanceTensor and InstanceList, and a class derived from
    InstanceList."""
    balls = spy.InstanceTensor(struct=m.Ball.as_struct(), shape=(4,))
    balls.construct(p=spy.float3(0), s=spy.float3(1, 2, 3))
    balls.step(0.5)
    assert balls.to_numpy().view(np.float32).reshape(-1, 6).tolist() == [[0.5, 1, 1.5, 1, 2, 3]] * 4

    class Balls(spy.InstanceList):
        def __init__(self, name, count):
            super().__init__(m.Ball.as_struct())
            self.name = name
            self.place = spy.Tensor.zeros(device, dtype=m.float3, shape=(count,))
            self.speed = spy.Tensor.zeros(device, dtype=m.float3, shape=(count,))

    mine = Balls("mine", 4)
    mine.construct(p=spy.float3(1), s=spy.float3(0, 1, 0))
    mine.step(2.0)
    assert mine.name == "mine" and mine.place.to_numpy().tolist() == [[1, 3, 1]] * 4
    assert mine.height().to_numpy().tolist() == [3] * 4


def test_tensors_in_slang(device, m):
    """The page about tensors in Slang: interfaces of tensors over a grid, elementwise, by rows, with neighbours, and atomic sums."""
    a = np.random.default_rng(5).random((4, 6)).astype(np.float32)
    t, target = spy.Tensor.from_numpy(device, a), spy.Tensor.zeros(device, shape=(4, 6), dtype=float)
    m.scaled(spy.grid(shape=t.shape), t, target, by=2.0)
    assert (target.to_numpy() == 2 * a).all()
    sums = spy.Tensor.zeros(device, shape=(4,), dtype=float)
    m.row_sums(spy.grid(shape=(4,)), t, sums)
    assert np.allclose(sums.to_numpy(), a.sum(1))
    m.blurred(spy.grid(shape=t.shape), t, target)
    assert np.allclose(target.to_numpy()[0, 0], a[:2, :2].mean()) and np.allclose(target.to_numpy()[2, 3], a[1:4, 2:5].mean())
    whole = spy.Tensor.zeros(device, shape=(1,), dtype=float)
    m.gathered(spy.grid(shape=(4,)), sums, whole)
    assert np.allclose(whole.to_numpy(), a.sum())


def test_call_groups(m):
    """call_group_shape() sets the sizes that Slang code reads of call groups; the threads of a group share groupshared memory."""
    assert m.group_of(spy.grid((4,)), _result="numpy").tolist() == [[i, 0] for i in range(4)]
    assert m.group_of.call_group_shape((2,))(spy.grid((4,)), _result="numpy").tolist() == [[i // 2, i % 2] for i in range(4)]
    assert m.group_sum.call_group_shape((8,))(spy.grid((16,)), _result="numpy").tolist() == [8] * 16


def test_raw_dispatch(device, m):
    """dispatch() takes a number of threads, and parameters by name."""
    buffer = device.create_buffer(element_count=40, struct_size=4, usage=spy.BufferUsage.unordered_access | spy.BufferUsage.shader_resource)
    m.fill.dispatch(thread_count=(40, 1, 1), target=buffer, count=40)
    assert buffer.to_numpy().view(np.uint32).tolist() == [2 * i for i in range(40)]
