"""Values as scripts for SlangPy pass them: results, broadcasting, map(), numpy, dicts, instances, pointers."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import InstanceList, InstanceTensor, Tensor, float2, float3, int2, int3, pack

SOURCE = """
import slangpy;
struct S { int x; float y; };
struct Outer { S s; float2 v; };
struct Particle {
    float3 position; float speed;
    __init(float3 p, float s) { position = p; speed = s; }
    [mutating] void step(float dt) { position += dt * speed; }
    float x() { return position.x; }
    void into(out float r) { r = position.x; }
};
enum Mode { first, second = 5 };
interface IShape { float area(); };
struct Square : IShape { float side; float area() { return side * side; } };
struct Circle : IShape { float radius; float area() { return 3 * radius * radius; } };

float add(float a, float b) { return a + b; }
int addi(int a, int b) { return a + b; }
float2 pair(float a, float b) { return float2(a, b); }
float3 triple(float a) { return float3(a, a * 2, a * 3); }
float dot3(float3 v) { return v.x + 10 * v.y + 100 * v.z; }
float sum3(float a[3]) { return a[0] + 10 * a[1] + 100 * a[2]; }
bool flip(bool a) { return !a; }
uint64_t long_of(uint64_t a) { return a; }
half halve(half a) { return a; }
float total(S s) { return s.x + s.y; }
float outer(Outer o) { return o.s.x + o.s.y + o.v.x * 100; }
T twice<T : IArithmetic>(T x) { return x + x; }
float area(IShape s) { return s.area(); }
float area_of<T : IShape>(T s) { return s.area(); }
float sum_n<let N : int>(float a[N]) { float s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
void split(float a, out float b, inout float c) { b = a * 2; c += a; }
void out_s(int a, out S s) { s.x = a; s.y = a; }
int from_mode(Mode m) { return int(m); }
void nothing(int a) {}
S make(int x) { S s; s.x = x; s.y = x + 0.5; return s; }
Outer nest(int x) { Outer o; o.s = make(x); o.v = float2(x, x); return o; }
float[3] three(float a) { float r[3]; r[0] = a; r[1] = a + 1; r[2] = a + 2; return r; }
float2x3 rows(float a) { return float2x3(a, a, a, 2, 2, 2); }
float corner(float2 a[2]) { return a[0].x + 10 * a[0].y + 100 * a[1].x + 1000 * a[1].y; }
float len2(float2 a) { return a.x + 10 * a.y; }
int ids(int i) { return i; }
int2 ids2(int2 i) { return i; }
int[2] ids_array(int i[2]) { int r[2]; r[0] = i[0]; r[1] = i[1]; return r; }
uint tid(uint3 i) { return i.x; }
float read_pointer(float* p, int i) { return p[i]; }
uint64_t address(float* p) { return uint64_t(p); }
float* pointer(float* p) { return p + 1; }
struct Holder { float* p; int n; };
float held(Holder h) { return h.p[h.n]; }
float at(StructuredBuffer<float> b, int i) { return b[i]; }
float follow(StructuredBuffer<float*> b, int i) { return *b[i]; }
float whole(Tensor<float, 1> t, int i) { return t[i]; }
void put(int i, RWTensor<float, 1> t) { t[i] = i + 1; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def f32(*values):
    return np.array(values, np.float32)


def tensor(m, *values):
    return Tensor.from_numpy(m.device, f32(*values))


# results

def test_scalar_calls_give_plain_python(m):
    """A scalar call returns a bool, int, float or vector, a list for an array, a dict for a struct, or None for void."""
    assert m.flip(True) is False
    assert type(m.addi(1, 2)) is int and type(m.long_of(2**40)) is int and m.long_of(2**40) == 2**40
    assert type(m.halve(0.5)) is float
    assert m.triple(1.0) == float3(1, 2, 3)
    assert m.three(1.0) == [1.0, 2.0, 3.0] and type(m.three(1.0)) is list
    assert m.nest(1) == {"s": {"x": 1, "y": 1.5}, "v": float2(1, 1)}
    assert m.nothing(1) is None


def test_a_vectorised_call_gives_a_tensor(m):
    """A vectorised call returns a Tensor of the result type in the call's shape."""
    r = m.triple(tensor(m, 1, 2))
    assert isinstance(r, Tensor) and list(r.shape) == [2] and r.dtype.full_name == "vector<float,3>"


def test_result_by_word_or_type(m):
    """_result may be "numpy", "tensor", Tensor or np.ndarray; another string is a ValueError."""
    a = tensor(m, 1, 2)
    for word in ("numpy", np.ndarray):
        r = m.triple(a, _result=word)
        assert isinstance(r, np.ndarray) and r.shape == (2, 3) and r.dtype == np.float32
        assert m.triple.return_type(word)(a).tolist() == r.tolist()
    for word in ("tensor", Tensor):
        assert isinstance(m.triple(a, _result=word), Tensor)
    with pytest.raises(ValueError):
        m.triple(a, _result="nonsense")
    assert m.rows(a, _result="numpy").shape == (2, 2, 3)
    assert m.three(a, _result="numpy").shape == (2, 3)


def test_a_result_may_be_the_only_thing_with_a_shape(m):
    """If only _result has a shape, scalars and generators are broadcast over it, and the call returns the object in _result."""
    out = Tensor.zeros(m.device, (3,), "float")
    assert m.add(1, 2, _result=out) is out
    assert out.to_numpy().tolist() == [3, 3, 3]
    array = np.zeros(3, np.float32)
    assert m.add(1, 2, _result=array) is array
    assert array.tolist() == [3, 3, 3]
    ref = spy.ValueRef(0.0) if hasattr(spy, "ValueRef") else None
    if ref is not None:
        m.add(1, 2, _result=ref)
        assert ref.value == 3.0


def test_a_float_tensor_of_one_more_dimension_takes_vectors(m):
    """A float3 parameter takes a float tensor of shape (n, 3)."""
    out = Tensor.zeros(m.device, (2, 3), "float")
    m.triple(tensor(m, 1, 2), _result=out)
    assert out.to_numpy().tolist() == [[1, 2, 3], [2, 4, 6]]


def test_a_dict_of_tensors_takes_structs(m):
    """For a struct _result may be a dict of tensors by field."""
    out = {"x": Tensor.zeros(m.device, (2,), "int"), "y": Tensor.zeros(m.device, (2,), "float")}
    m.make(Tensor.from_numpy(m.device, np.arange(2, dtype=np.int32)), _result=out)
    assert out["x"].to_numpy().tolist() == [0, 1] and out["y"].to_numpy().tolist() == [0.5, 1.5]


def test_append_to_only_records(m):
    """_append_to and append_to() record the call and return None; _append_to=None runs it at once; a finished encoder raises."""
    out = Tensor.zeros(m.device, (2,), "float")
    encoder = m.device.create_command_encoder()
    assert m.add(1, 2, _result=out, _append_to=encoder) is None
    assert m.add.append_to(encoder, 1, 2, _result=out) is None
    assert out.to_numpy().tolist() == [0, 0]
    m.device.submit_command_buffer(encoder.finish())
    assert out.to_numpy().tolist() == [3, 3]
    assert m.add(1, 2, _append_to=None) == 3.0
    with pytest.raises(Exception):
        m.add(1, 2, _result=out, _append_to=encoder)


def test_thread_count(m):
    """_thread_count=n runs a call without dimensions n times; it is a ValueError for a vectorised call, and n <= 0 is a
    RuntimeError."""
    t = Tensor.zeros(m.device, (4,), "float")
    m.put(spy.thread_id(), t, _thread_count=4)
    assert t.to_numpy().tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError):
        m.add(tensor(m, 1, 2), 1, _thread_count=4)
    with pytest.raises(RuntimeError):
        m.put(spy.thread_id(), t, _thread_count=0)


def test_a_call_of_no_elements_gives_an_empty_result(m):
    """A call shape with a 0 in it runs nothing."""
    empty = np.zeros((0,), np.float32)
    assert m.add(empty, 1.0, _result="numpy").shape == (0,)


def test_wrong_arguments_raise(m):
    """Too many, too few, unknown or doubled arguments raise exceptions."""
    for args, kwargs in (((1,), {}), ((1, 2, 3), {}), ((1, 2), {"c": 1}), ((1, 2), {"a": 1})):
        with pytest.raises(Exception):
            m.add(*args, **kwargs)
    with pytest.raises(Exception):
        m.split(1.0, 2.0)


def test_numbers_and_their_parameters(m):
    """int and bool go to parameters of int, float and bool, float only to float; an int for an enum raises; None, str and tuples
    are refused."""
    assert m.add(1, True) == 2.0 and m.addi(True, 1) == 2 and m.flip(1) is False
    with pytest.raises(RuntimeError):
        m.addi(1.5, 1)
    for value in (None, "text"):
        with pytest.raises(Exception):
            m.add(value, 1)


def test_scalars_fill_vectors_and_vectors_run_over_scalars(m):
    """A scalar fills a vector parameter; a vector given to a scalar parameter vectorises over its components."""
    assert m.dot3(2.0) == 222.0
    r = m.add(float3(1, 2, 3), float3(1, 1, 1), _result="numpy")
    assert r.tolist() == [2, 3, 4]


def test_lists(m):
    """A call with a scalar parameter runs over a list; a list goes whole to a vector or array of its length, and sets a generic
    N."""
    assert m.add([1.0, 2.0, 3.0], 1.0, _result="numpy").tolist() == [2, 3, 4]
    assert m.dot3([1.0, 2.0, 3.0]) == 321.0 and m.sum3([1.0, 2.0, 3.0]) == 321.0
    assert m.sum_n([1.0, 2.0, 3.0, 4.0]) == 10.0
    assert m.corner([[1.0, 2.0], [3.0, 4.0]]) == 4321.0
    assert m.corner([float2(1, 2), float2(3, 4)]) == 4321.0
    assert m.len2([float2(1, 2), float2(3, 4)], _result="numpy").tolist() == [21, 43]


def test_out_arguments(m):
    """ValueRefs of out parameters are updated, with a dict for a struct; arrays are written in place."""
    b, c = spy.ValueRef(0.0), spy.ValueRef(1.0)
    m.split(2.0, b, c)
    assert (b.value, c.value) == (4.0, 3.0)
    s = spy.ValueRef({"_type": "S", "x": 0, "y": 0.0})
    m.out_s(3, s)
    assert s.value["x"] == 3 and s.value["y"] == 3.0
    array, more = np.zeros(2, np.float32), np.ones(2, np.float32)
    m.split(f32(1, 2), array, more)
    assert array.tolist() == [2, 4] and more.tolist() == [2, 3]


def test_vectors_of_inputs_are_never_shortened(m):
    """A float4 for a float3 parameter raises an exception."""
    with pytest.raises(Exception):
        m.dot3(Tensor.zeros(m.device, (2,), "float4"))


def test_generic_functions_take_their_type_from_the_arguments(m):
    """A generic function takes its type from the argument, as an interface parameter does: float for a float, int for an int,
    _type for a dict."""
    assert m.twice(2) == 4 and type(m.twice(2)) is int and m.twice(2.5) == 5.0
    square = {"_type": "Square", "side": 3.0}
    assert m.area_of(square) == 9.0 and m.area(square) == 9.0
    assert m.area({"_type": "Circle", "radius": 1.0}) == 3.0
    assert m.area([square, square], _result="numpy").tolist() == [9, 9]


def test_sizes_align_from_the_right(m):
    """Size 1 and missing leading dimensions are broadcast; other differences raise ValueError."""
    assert m.add(np.ones((2, 3), np.float32), f32(1, 2, 3), _result="numpy").shape == (2, 3)
    assert m.add(np.ones((2, 1), np.float32), f32(1, 2, 3), _result="numpy").shape == (2, 3)
    with pytest.raises(ValueError):
        m.add(np.ones((2, 3), np.float32), f32(1, 2))


def test_strict_broadcasting(device):
    """With strict_broadcasting all arguments that have any dimension must have the call's rank."""
    strict = spy.Module.load_from_source(device, "strict_rank", SOURCE, options={"strict_broadcasting": True})
    assert strict.add(f32(1, 2), 1.0, _result="numpy").tolist() == [2, 3]
    with pytest.raises(ValueError):
        strict.add(np.ones((2, 3), np.float32), f32(1, 2, 3))


class Packed:
    """An object with get_this() and update_this()."""
    slangpy_signature = "packed"

    def __init__(self, value):
        self.value, self.updated = value, None

    def get_this(self):
        return self.value

    def update_this(self, value):
        self.updated = value


def test_objects_with_get_this_are_unpacked(m):
    """Objects with get_this() are replaced by its value, also in dicts and lists; update_this() is called after the call."""
    assert m.add(Packed(1.0), 2.0) == 3.0
    assert m.total({"x": Packed(1), "y": 2.0}) == 3.0
    assert m.sum3([Packed(1.0), 2.0, 3.0]) == 321.0
    out = Packed({"_type": "S", "x": 0, "y": 0.0})
    m.out_s(3, out)
    assert out.updated is not None


# map()

def test_map_gives_call_dimensions(m):
    """map((1, 0)) transposes; (1,) on a 1-D argument gives the call shape (1, n); (0,) and (1,) give an outer product; () passes
    an argument whole."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert m.add.map((1, 0))(a, 0.0, _result="numpy").shape == (3, 2)
    assert m.add.map((1,))(f32(1, 2), 0.0, _result="numpy").shape == (1, 2)
    outer = m.add.map((0,), (1,))(f32(1, 2), f32(10, 20, 30), _result="numpy")
    assert outer.tolist() == [[11, 21, 31], [12, 22, 32]]
    assert m.sum3.map(())(f32(1, 2, 3)) == 321.0
    assert m.add.map(a=(0,), b=(1,))(a=f32(1, 2), b=f32(10, 20, 30), _result="numpy").shape == (2, 3)
    assert m.add.map((0,))(f32(1, 2), f32(1, 2), _result="numpy").shape == (2,)


def test_wrong_maps_raise_valueerror(m):
    """A map with more entries than dimensions raises ValueError."""
    with pytest.raises(ValueError):
        m.add.map((0, 1))(f32(1, 2), 0.0)


def test_map_by_type_forces_the_element_type(m):
    """map("float3"), map(float) and map(m.S) set the element type of an argument."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert m.dot3.map("float3")(a, _result="numpy").tolist() == [210, 543]
    assert m.add.map(float)(f32(1, 2), 1.0, _result="numpy").tolist() == [2, 3]
    assert m.total.map(m.S)({"x": 1, "y": 2.0}) == 3.0
    assert m.twice.map("float2")(a[:, :2].copy(), _result="numpy").shape == (2, 2)


def test_maps_of_dicts(m):
    """map() of a dict argument takes a dict by field, also with "$type"."""
    r = m.total.map({"x": (0,), "y": (1,)})({"x": np.arange(2, dtype=np.int32), "y": f32(10, 20, 30)}, _result="numpy")
    assert r.tolist() == [[10, 20, 30], [11, 21, 31]]
    r = m.total.map({"$type": "S", "x": (0,), "y": (1,)})({"x": np.arange(2, dtype=np.int32), "y": f32(10, 20, 30)}, _result="numpy")
    assert r.shape == (2, 3)


def test_vectors_arrays_and_scalars_over_one_array(m):
    """A (3,4,3) float array gives the call shape (3,4) for float3 or float[3], and (3,4,3) for float."""
    a = np.zeros((3, 4, 3), np.float32)
    for value in (a, Tensor.from_numpy(m.device, a)):
        assert m.dot3(value, _result="numpy").shape == (3, 4)
        assert m.sum3(value, _result="numpy").shape == (3, 4)
        assert m.add(value, 0.0, _result="numpy").shape == (3, 4, 3)


# generators

def test_call_id(m):
    """call_id() goes to int[N] in shape order, to vectors reversed, and to int in a 1-D call; call_id((2, 3)) is the same as
    grid((2, 3))."""
    out = np.zeros((2, 3, 2), np.int32)
    m.ids2(spy.call_id(), _result=out)
    assert out[1, 2].tolist() == [2, 1]
    assert m.ids_array(spy.call_id((2, 3)), _result="numpy")[1, 2].tolist() == [1, 2]
    assert m.ids2(spy.call_id((2, 3)), _result="numpy").shape == (2, 3, 2)
    out = np.zeros(3, np.int32)
    m.ids(spy.call_id(), _result=out)
    assert out.tolist() == [0, 1, 2]


def test_grid(m):
    """grid() gives offset + index * stride, to arrays in shape order, to vectors reversed, and in 1-D also to int; a vector of a
    wrong length is a ValueError."""
    r = m.ids_array(spy.grid((2, 3), offset=(10, 20), stride=(1, 2)), _result="numpy")
    assert r[1, 2].tolist() == [11, 24]
    assert m.ids2(spy.grid((2, 3)), _result="numpy")[1, 2].tolist() == [2, 1]
    assert m.ids(spy.grid((3,)), _result="numpy").tolist() == [0, 1, 2]
    with pytest.raises(ValueError):
        spy.grid((2, 3), offset=(1,))
    out = np.zeros((2, 3, 2), np.int32)
    m.ids2(spy.grid(2), _result=out)
    assert out[1, 2].tolist() == [2, 1]
    out = np.zeros((2, 3, 2), np.int32)
    m.ids2(spy.grid((-1, 3)), _result=out)
    assert out[1, 2].tolist() == [2, 1]


def test_python_ranges(m):
    """A Python range(a, b, s) is an argument of one dimension."""
    assert m.ids(range(2, 8, 2), _result="numpy").tolist() == [2, 4, 6]


def test_thread_id_has_no_shape_of_its_own(m):
    """thread_id() gives the flat index to a uint, an int or a vector's x, and has no shape of its own."""
    out = np.zeros((2, 3), np.uint32)
    m.tid(spy.thread_id(), _result=out)
    assert sorted(out.reshape(-1).tolist()) == [0, 1, 2, 3, 4, 5]


# instances

def test_instance_lists(m):
    """Attributes of an InstanceList are fields or bound methods, and an unknown one is an AttributeError; construct() runs
    __init."""
    p = InstanceList(m.Particle, {"position": Tensor.zeros(m.device, (2,), "float3"), "speed": 1.0})
    p.construct(float3(1, 2, 3), 2.0)
    assert p.speed == 1.0  # what the function writes to a field that is a plain value is dropped
    p.step(0.5)
    assert p.position.to_numpy().tolist() == [[1.5, 2.5, 3.5]] * 2
    assert p.x(_result="numpy").tolist() == [1.5, 1.5]
    with pytest.raises(AttributeError):
        p.absent
    p.speed = 5.0
    assert p.speed == 5.0


def test_instance_subclasses_store_fields(m):
    """A subclass that sets self.position = tensor stores the field."""
    class Particles(InstanceList):
        def __init__(self, module, n):
            super().__init__(module.Particle)
            self.position = Tensor.zeros(module.device, (n,), "float3")
            self.speed = Tensor.zeros(module.device, (n,), "float")
            self.count = n

    p = Particles(m, 2)
    p.construct(float3(1, 1, 1), 1.0)
    assert p.count == 2 and p.speed.to_numpy().tolist() == [1, 1]


def test_instance_tensors(m):
    """InstanceTensor(struct, shape=, data=None) has .tensor and .shape; instance tensors and lists serve as arguments, results
    and fields."""
    p = InstanceTensor(m.Particle, shape=(2,))
    p.construct(float3(1, 2, 3), 2.0)
    p.step(1.0)
    assert list(p.shape) == [2] and p.x(_result="numpy").tolist() == [3, 3]
    assert m.Particle.x(p, _result="numpy").tolist() == [3, 3]
    s = InstanceTensor(m.S, shape=(2,))
    assert m.make(Tensor.from_numpy(m.device, np.arange(2, dtype=np.int32)), _result=s) is s
    assert m.total(s, _result="numpy").tolist() == [0.5, 2.5]
    assert m.outer({"s": s, "v": float2(1, 1)}, _result="numpy").tolist() == [100.5, 102.5]


def test_pack(m):
    """pack(module, value) of a packed value returns it, and packs only whole arguments."""
    p = pack(m, {"_type": "S", "x": 1, "y": 2.0})
    assert pack(m, p) is p
    assert m.total(p) == 3.0


# pointers

def test_pointers(m):
    """ints, Buffers, tensor.storage and device_address are arguments for T*; results and fields of type T* are ints."""
    t = tensor(m, 1, 2, 3)
    address = t.storage.device_address
    for value in (address, t.storage, t):
        assert m.read_pointer(value, 1) == 2.0
    assert type(m.pointer(t.storage)) is int and m.pointer(t.storage) == address + 4
    assert m.held({"p": address, "n": 2}) == 3.0 and m.held({"p": t.storage, "n": 2}) == 3.0
    pointers = Tensor.from_numpy(m.device, np.array([address, address + 4], np.uint64))
    assert m.read_pointer(pointers, 0, _result="numpy").tolist() == [1, 2]
    assert m.at(t, 1) == 2.0 and m.at(t.storage, 1) == 2.0
    addresses = m.device.create_buffer(data=np.array([address + 8, address], np.uint64), struct_size=8)
    assert m.follow(addresses, 0) == 3.0 and m.follow(addresses, 1) == 1.0


def test_numpy_arrays_go_whole_to_tensor_parameters(m):
    """A numpy array serves for a tensor parameter and is written in place if the function writes the parameter."""
    assert m.whole(f32(1, 2, 3), 1) == 2.0
    out = np.zeros(3, np.float32)
    m.put(spy.call_id(), out, _thread_count=3)
    m.put(i=1, t=out)
    assert out.tolist() == [1, 2, 3]


# dicts

def test_dicts(m):
    """A dict needs no _type for a known struct; a wrong name or an extra field raises; each field is vectorised for itself."""
    assert m.total({"x": 1, "y": 2.0}) == 3.0
    with pytest.raises(Exception):
        m.total({"_type": "Absent", "x": 1, "y": 2.0})
    with pytest.raises(ValueError):
        m.total({"x": 1, "y": 2.0, "z": 3})
    assert m.total({"x": 1, "y": f32(1, 2)}, _result="numpy").tolist() == [2, 3]


# numpy

def test_numpy_arguments(m):
    """Trailing sizes that do not fit the element raise RuntimeError."""
    with pytest.raises(RuntimeError):
        m.dot3(np.zeros((2, 4), np.float32))
