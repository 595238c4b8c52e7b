"""Calls as scripts for SlangPy make them: what is passed, what comes back, and what raises which exception."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import Tensor, float2, float3, int3, uint3

SOURCE = """
import slangpy;
struct Inner { float v; float read() { return v; } };
struct S { int x; float y; };
struct Weights { float w[2]; Inner inner; };
struct Counter {
    int n; float step;
    __init(int n_, float step_) { n = n_; step = step_; }
    [mutating] void advance(int by) { n += by; }
    int get() { return n; }
    struct Nested { float z; };
};
struct Gen<T> { T value; };
enum Mode { first, second = 5 };

float add(float a, float b) { return a + b; }
int addi(int a, int b) { return a + b; }
float2 pair(float a, float b) { return float2(a, b); }
float3 triple(float a) { return float3(a, a * 2, a * 3); }
float dot3(float3 v) { return v.x + 10 * v.y + 100 * v.z; }
float total(S s) { return s.x + s.y; }
float totals(S s[2]) { return s[0].x + s[0].y + 10 * (s[1].x + s[1].y); }
float weigh(Weights w) { return w.w[0] + 10 * w.w[1] + 100 * w.inner.v; }
float weighs(Weights w[2]) { return weigh(w[0]) + 1000 * weigh(w[1]); }
T twice<T : IArithmetic>(T x) { return x + x; }
float sum_n<let N : int>(float a[N]) { float s = 0; for (int i = 0; i < N; i++) s += a[i]; return s; }
void split(float a, out float b, inout float c) { b = a * 2; c += a; }
int from_mode(Mode m) { return int(m); }
void nothing(int a) {}
S make(int x) { S s; s.x = x; s.y = x + 0.5; return s; }
float[3] three(float a) { float r[3]; r[0] = a; r[1] = a + 1; r[2] = a + 2; return r; }
float corner(float2 a[2]) { return a[0].x + 10 * a[0].y + 100 * a[1].x + 1000 * a[1].y; }
int fail_no() { return 1; }
void write_to(int i, RWTensor<float, 1> t) { t[i] = float(i); }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def tensor(m, values):
    return Tensor.from_numpy(m.device, np.asarray(values))


# first calls

@pytest.mark.parametrize("to", ["int", "uint", "half", "float", "double"])
def test_a_result_goes_into_a_tensor_of_another_element_type(m, to):
    """A result may be written into a tensor of any element type that Slang converts it to."""
    for function, values in ((m.addi, [1, 2, 3]), (m.add, [1.0, 2.0, 3.0])):
        out = Tensor.empty(m.device, (3,), to)
        dtype = np.int32 if function is m.addi else np.float32
        function(tensor(m, np.array(values, dtype)), 1, _result=out)
        assert out.to_numpy().tolist() == [2, 3, 4]


GLOBALS = """
import slangpy;
struct Params { float k; int n; };
ParameterBlock<Params> params;
uniform float scale;
uniform int3 place;
extern static const int OFFSET = 1;
extern static const float2 SHIFT = float2(0, 0);
float scaled(float x) { return x * scale + OFFSET; }
float blocked(float x) { return x * params.k + params.n; }
float placed(int i) { return place[i] + SHIFT.y; }
"""


@pytest.fixture(scope="module")
def g(load):
    return load(GLOBALS)


def test_set_takes_a_callback_that_gets_one_argument(g):
    """func.set(callback) calls callback(one_argument) at every call and uses the dict that it returns."""
    got = []

    def values(context):
        got.append(context)
        return {"scale": float(len(got))}

    f = g.scaled.set(values)
    assert [f(3.0), f(3.0)] == [4.0, 7.0]
    assert len(got) == 2


def test_write_gets_a_cursor_at_the_root_and_further_arguments(g):
    """func.write(fn, *args, **kwargs) calls fn(cursor, *args, **kwargs) at every call."""
    seen = []

    def write(cursor, value, more=0.0):
        seen.append(isinstance(cursor, spy.ShaderCursor))
        cursor["scale"] = value + more

    f = g.scaled.write(write, 2.0, more=0.5)
    assert f(2.0) == 6.0
    assert f(4.0) == 11.0
    assert seen == [True, True]


def test_write_reaches_parameter_blocks(g):
    """The cursor of write() enters parameter blocks by itself, field by field."""
    def write(cursor):
        cursor.params.k = 3.0
        cursor["params"]["n"] = 7

    assert g.blocked.write(write)(2.0) == 13.0


def test_lists_of_dicts_bind_to_arrays_of_structs(m):
    """A list of two dicts, [{"_type": "S", ...}, ...], goes whole to a parameter S[2]."""
    assert m.totals([{"_type": "S", "x": 1, "y": 2.0}, {"_type": "S", "x": 3, "y": 4.0}]) == 73.0


def test_lists_of_dicts_vectorise_over_a_struct(m):
    """A call with a parameter of type S runs over a list of dicts, [{"_type": "S", ...}, ...]."""
    rows = [{"_type": "S", "x": 1, "y": 2.0}, {"_type": "S", "x": 3, "y": 4.0}]
    assert m.total(rows, _result="numpy").tolist() == [3.0, 7.0]


def test_lists_are_fields_of_dicts(m):
    """A field of a dict may be a list, for an array in a struct, also if the dict is in a list."""
    one = {"_type": "Weights", "w": [1.0, 2.0], "inner": {"v": 3.0}}
    assert m.weigh(one) == 321.0
    two = {"_type": "Weights", "w": [0.0, 1.0], "inner": {"_type": "Inner", "v": 0.0}}
    assert m.weighs([two, two]) == 10010.0


RAW = """
import slangpy;
uniform float factor;
void plain(uint3 dispatchThreadID, RWStructuredBuffer<float> out, float value) {
    if (dispatchThreadID.x < 4) out[dispatchThreadID.x] = dispatchThreadID.x * value + factor;
}
void flat(uint dispatchThreadID, RWTensor<float, 1> t, int n) { if (dispatchThreadID < n) t[dispatchThreadID] = dispatchThreadID; }
[shader("compute")] [numthreads(8, 1, 1)]
void entry(uint3 tid : SV_DispatchThreadID, RWStructuredBuffer<float> out, uniform float value) { if (tid.x < 4) out[tid.x] = value; }
float gives(uint3 dispatchThreadID) { return 1; }
void with_out(uint3 dispatchThreadID, out float x) { x = 1; }
"""


@pytest.fixture(scope="module")
def raw(load):
    return load(RAW)


def floats(device, n, usage=None):
    b = device.create_buffer(element_count=n, struct_size=4, usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access)
    b.copy_from_numpy(np.zeros(n, np.float32))
    return b


def test_a_function_without_entry_attribute_is_dispatched_raw(raw):
    """dispatch() of a function without entry attribute supplies dispatchThreadID and counts threads; arguments without a parameter are
    ignored."""
    b = floats(raw.device, 4)
    raw.plain.dispatch(uint3(4, 1, 1), vars={"factor": 0.5}, out=b, value=2, nonsense=3)
    assert b.to_numpy().view(np.float32).tolist() == [0.5, 2.5, 4.5, 6.5]
    raw.plain.set({"factor": 1.0}).dispatch([4, 1, 1], out=b, value=1.0)
    assert b.to_numpy().view(np.float32).tolist() == [1, 2, 3, 4]


def test_dispatch_takes_tensors_of_that_rank(raw):
    """Tensor parameters of a dispatch take a Tensor; dispatchThreadID may be a uint."""
    t = Tensor.zeros(raw.device, (5,), "float")
    raw.flat.dispatch((5, 1, 1), t=t, n=5)
    assert t.to_numpy().tolist() == [0, 1, 2, 3, 4]


def test_dispatch_records_into_an_encoder(raw):
    """dispatch(command_encoder=) records the dispatch."""
    t = Tensor.zeros(raw.device, (5,), "float")
    encoder = raw.device.create_command_encoder()
    raw.flat.dispatch((5, 1, 1), command_encoder=encoder, t=t, n=5)
    assert t.to_numpy().tolist() == [0] * 5
    raw.device.submit_command_buffer(encoder.finish())
    assert t.to_numpy().tolist() == [0, 1, 2, 3, 4]


def test_an_entry_point_is_dispatched_as_it_is(raw):
    """[shader("compute")] functions keep their own thread group; thread_group_size() on them is a ValueError."""
    b = floats(raw.device, 4)
    raw.entry.dispatch(uint3(4, 1, 1), out=b, value=3)
    assert b.to_numpy().view(np.float32).tolist() == [3] * 4
    with pytest.raises(ValueError):
        raw.entry.thread_group_size(uint3(4, 1, 1)).dispatch(uint3(4, 1, 1), out=b, value=3)


def test_what_cannot_be_dispatched_raises_valueerror(raw):
    """Dispatch of a function with out parameters or a result raises ValueError."""
    for name in ("gives", "with_out"):
        with pytest.raises(ValueError):
            raw[name].dispatch(uint3(4, 1, 1), x=1.0)


PARTS = """
import slangpy;
struct Params { float k; int n; float2 v; float arr[3]; };
uniform Params up;
ConstantBuffer<Params> cb;
ParameterBlock<Params> pb;
uniform float single;
float sum_of(Params p) { return p.k + 10 * p.n + 100 * p.v.y + 1000 * p.arr[1]; }
void fill_all(uint3 dispatchThreadID, RWStructuredBuffer<float> o, Params p) {
    o[0] = sum_of(up); o[1] = sum_of(cb); o[2] = sum_of(pb); o[3] = sum_of(p) + single;
}
[shader("compute")] [numthreads(4, 1, 1)]
void entry(uint3 tid : SV_DispatchThreadID, uniform RWStructuredBuffer<float> o, uniform Params p) { o[tid.x] = sum_of(p) + single; }
float call_all(float x) { return x + up.k + cb.n + pb.v.y + single; }
"""


@pytest.fixture(scope="module")
def parts(load):
    return load(PARTS)


def test_globals_and_fields_that_are_never_set_are_zero(parts):
    """Globals and fields that are never set are zero, also if other fields of the struct are set, in a dispatch and in a call."""
    b = floats(parts.device, 4)
    parts.fill_all.dispatch([1, 1, 1], o=b, p={"k": 5.0})
    assert b.to_numpy().view(np.float32).tolist() == [0, 0, 0, 5]
    parts.fill_all.dispatch([1, 1, 1], o=b, p={"n": 1}, vars={"up": {"n": 2}, "cb": {"v": float2(1, 2)}, "pb": {"k": 1, "arr": [1, 2, 3]}, "single": 0.5})
    assert b.to_numpy().view(np.float32).tolist() == [20, 200, 2001, 10.5]
    for full, wanted in ((True, 4321.0), (False, 1.0)) * 2:
        p = {"k": 1.0, "n": 2, "v": [3.0, 3.0], "arr": [4.0, 4.0, 4.0]} if full else {"k": 1.0}
        parts.entry.dispatch([4, 1, 1], o=b, p=p)
        assert b.to_numpy().view(np.float32).tolist() == [wanted] * 4
    assert parts.call_all(1.0) == 1.0
    assert parts.call_all.set({"cb": {"n": 3}})(1.0) == 4.0


# Module, Function, Struct

def test_any_type_expression_is_a_name_of_the_module(m):
    """m["float2[4]"], m.float3, m["Gen<int>"], m.Counter.Nested are Structs; the same name gives the same object."""
    for struct in (m["float2[4]"], m.float3, m["Gen<int>"], m["Counter.Nested"], m.Counter.Nested):
        assert isinstance(struct, spy.Struct)
    assert m.add is m.add and m.S is m.S
    assert m.find_function("absent") is None and m.find_struct("absent") is None
    with pytest.raises(AttributeError):
        m.absent
    with pytest.raises(AttributeError):
        m["absent"]
    with pytest.raises(ValueError):
        m.require_function("absent")
    with pytest.raises(ValueError):
        m.require_struct("absent")


def test_names_of_functions_and_structs(m):
    """function.name is the plain name, struct.name is short, struct.full_name is the path."""
    assert m.Counter.get.name == "get" and m.add.name == "add"
    assert m.Counter.Nested.name == "Nested" and m.Counter.Nested.full_name == "Counter.Nested"
    assert m["Gen<int>"].name == "Gen" and m["Gen<int>"].full_name == "Gen<int>"
    assert m["twice<float>"].full_name == "twice<float>"
    with pytest.raises(AttributeError):
        m.Counter.absent
    with pytest.raises(ValueError):
        m.Counter.as_func()
    with pytest.raises(ValueError):
        m.add.as_struct()
    assert m.add.as_func() is m.add and m.Counter.as_struct() is m.Counter


def test_a_struct_makes_a_dict(m):
    """Struct(...) calls the struct's __init and returns the value as a dict; methods take the instance as their first argument."""
    c = m.Counter(3, 0.5)
    assert isinstance(c, dict) and c["n"] == 3 and c["step"] == 0.5
    assert m.Counter.get({"n": 4, "step": 0.0}) == 4
    t = Tensor.empty(m.device, (2,), m.Counter)
    m.Counter["__init"](tensor(m, np.array([1, 2], np.int32)), 0.0, _result=t)
    assert m.Counter.get(t, _result="numpy").tolist() == [1, 2]
    m.Counter.advance(t, 5)
    assert m.Counter.get(t, _result="numpy").tolist() == [6, 7]


def test_chained_methods_give_new_functions_in_any_order(g):
    """map, set, constants, prelude ... give a new function object and leave the first as it was."""
    f = g.scaled
    first = f.set(scale=2.0)
    assert first is not f
    second = first.constants({"OFFSET": 5})
    assert second(1.0) == 7.0 and first(1.0) == 3.0
    assert g.scaled.constants({"OFFSET": 5}).set({"scale": 2})(1.0) == 7.0


def test_set_refuses_other_arguments(g):
    """set() takes one dict, one callable or keywords, and raises ValueError for other arguments."""
    with pytest.raises(ValueError):
        g.scaled.set()
    with pytest.raises(ValueError):
        g.scaled.set(5)
    with pytest.raises(ValueError):
        g.scaled.set({"scale": 1.0}, {"scale": 2.0})


def test_set_reaches_parameter_blocks_and_an_int_serves_for_a_float(g):
    """set({"params": {"k": 2}}) writes into a ParameterBlock; the values of several set() add up."""
    f = g.blocked.set({"params": {"k": 2, "n": 1}})
    assert f(3.0) == 7.0
    assert g.scaled.set(lambda: {"scale": 2.0}).set(scale=3.0)(1.0) == 4.0
    assert g.scaled.set(scale=3.0).set(lambda: {"scale": 2.0})(1.0) == 3.0


def test_constants_take_bool_int_float_and_vectors(g):
    """Constants of other types raise ValueError."""
    f = g.placed.set({"place": int3(1, 2, 3)}).constants({"SHIFT": float2(0, 10)})
    assert f(1) == 12.0
    with pytest.raises(ValueError):
        g.placed.constants({"SHIFT": "text"})(1)
    with pytest.raises(ValueError):
        g.placed.constants(5)


def test_bind_passes_this_and_call_is_the_call(m):
    """bind(this) passes the first argument; func.call(...) is func(...)."""
    assert m.Counter.get.bind({"n": 9, "step": 0.0})() == 9
    assert m.add.call(1, 2) == 3.0
    with pytest.raises(ValueError):
        m.add.cuda_stream("text")


def test_debug_build_call_data_builds_without_running(m):
    """debug_build_call_data() returns code, pipeline and bindings without running the call, and the same object for calls of the same
    signature."""
    data = m.add.debug_build_call_data(1.0, tensor(m, np.zeros(3, np.float32)))
    assert "add" in data.code
    assert data.debug_only_bindings.args[0].vector_type.full_name == "float"
    assert m.add.debug_build_call_data(2.0, tensor(m, np.zeros(5, np.float32))) is data
