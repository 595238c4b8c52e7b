"""Further facts of calls: values for outputs and fields, raw dispatch, marshalled values."""
import numpy as np
import pytest

import slangpy as spy
from slangpy import BufferUsage, Tensor, ValueRef, float2, float3, uint3

SOURCE = """
import slangpy;
struct S { int x; float y; };
struct Outer { S s; float2 v; };
struct Made { float a; float b; __init(float a_, float b_) { a = a_; b = b_; } };
struct Holds { Made made[2]; float c; };
struct Bound { float k; StructuredBuffer<float> values; };
[Differentiable] float weigh(Pair p, float w) { return p.a * w + p.b * w * w; }
struct Pair : IDifferentiable { float a; float b; };
void split(float a, out float b, inout float c) { b = a * 2; c += a; }
void split3(float a, out float3 b) { b = a * 2; }
float total(S s) { return s.x + s.y; }
float outer(Outer o) { return o.s.x + o.s.y + o.v.x * 100; }
float held(Holds h) { return h.made[0].a + h.made[1].b + h.c; }
float bound(Bound b) { return b.values[0] * b.k; }
int choose(S s) { return 1; }
int choose(Outer o) { return 2; }
"""


@pytest.fixture(scope="module")
def m(load):
    return load(SOURCE)


def tensor(m, *values):
    return Tensor.from_numpy(m.device, np.array(values, np.float32))


# values for outputs and fields

def test_a_number_for_an_out_parameter_is_accepted_and_not_written(m):
    """A plain number or vector is accepted for an out parameter, and what the function writes is dropped."""
    c = ValueRef(1.0)
    m.split(2.0, 7.0, c)
    assert c.value == 3.0
    m.split(a=2.0, b=7, c=5.0)
    values = tensor(m, 1, 2)
    m.split(tensor(m, 1, 2), 0.0, values)
    assert values.to_numpy().tolist() == [2, 4]
    m.split3(1.0, float3(0))


def test_a_field_that_is_missing_from_a_dict_is_zero(m):
    """A field that a dict lacks is 0, also if the struct has a constructor. A missing buffer is an error."""
    assert m.total({"x": 1}) == 1.0 and m.total({}) == 0.0
    assert m.outer({"s": {"y": 2.0}}) == 2.0 and m.outer({"v": float2(1, 0)}) == 100.0
    assert m.total({"x": Tensor.from_numpy(m.device, np.array([1, 2], np.int32))}, _result="numpy").tolist() == [1, 2]
    assert m.held({"c": 3.0}) == 3.0
    with pytest.raises(Exception):
        m.bound({"k": 1.0})
    assert m.choose({"x": 1}) == 1 and m.choose({"v": float2(1, 0)}) == 2


def test_missing_fields_take_no_part_in_derivatives(m):
    """bwds() takes dicts with missing fields, which get no gradient."""
    w = spy.diffPair(3.0)
    m.weigh.bwds({"b": 2.0}, w, spy.diffPair(0.0, 1.0))
    assert w.grad == 12.0


def test_an_extra_field_is_a_valueerror(m):
    """A dict with a field that the struct lacks is a ValueError, also in a struct within the struct."""
    for value in ({"x": 1, "y": 2.0, "z": 3}, {"x": 1, "z": 3}):
        with pytest.raises(ValueError):
            m.total(value)
    with pytest.raises(ValueError):
        m.outer({"s": {"x": 1, "q": 2}})


# raw dispatch

RAW = """
import slangpy;
struct Params { float k; int n; };
void number(uint3 dispatchThreadID, uint3 local : SV_GroupThreadID, uint3 group : SV_GroupID, RWStructuredBuffer<uint> t) {
    t[dispatchThreadID.x] = local.x + 1000 * group.x;
}
void put(uint3 dispatchThreadID, RWStructuredBuffer<float> t, float v) { t[dispatchThreadID.x] = v * scale; }
uniform float scale;
[shader("compute")] [numthreads(4, 1, 1)]
void entry(uint3 tid : SV_DispatchThreadID, uniform RWStructuredBuffer<float> t, uniform Params p) { t[tid.x] = p.k + 10 * p.n; }
"""


@pytest.fixture(scope="module")
def raw(load):
    return load(RAW)


def buffer(m, n, dtype=np.float32):
    return m.device.create_buffer(data=np.zeros(n, dtype), struct_size=4, usage=BufferUsage.shader_resource | BufferUsage.unordered_access)


def test_groups_of_a_raw_dispatch_have_32_threads_or_what_is_said(raw):
    """A raw dispatch has groups of 32x1x1 threads, or those of thread_group_size(uint3(...))."""
    b = buffer(raw, 128, np.uint32)
    raw.number.dispatch((100, 1, 1), t=b)
    assert b.to_numpy().view(np.uint32)[[0, 31, 32, 99]].tolist() == [0, 31, 1000, 3003]
    raw.number.thread_group_size(uint3(16, 1, 1)).dispatch((100, 1, 1), t=b)
    assert b.to_numpy().view(np.uint32)[[0, 31, 32, 99]].tolist() == [0, 1015, 2000, 6003]


def test_vars_and_the_encoder_of_a_dispatch_go_by_position_too(raw):
    """dispatch(thread_count, vars={}, command_encoder=None, **params) takes `vars` and the encoder by position."""
    b = buffer(raw, 4)
    raw.put.dispatch([2, 1, 1], {"scale": 2.0}, t=b, v=1.5)
    assert b.to_numpy().view(np.float32).tolist() == [3, 3, 0, 0]
    encoder = raw.device.create_command_encoder()
    raw.put.dispatch([3, 1, 1], {"scale": 1.0}, encoder, t=b, v=1.0)
    raw.device.submit_command_buffer(encoder.finish())
    assert b.to_numpy().view(np.float32).tolist() == [1, 1, 1, 0]


def test_an_entry_points_struct_may_be_set_in_part(raw):
    """If some fields of an entry point's struct are set, the other fields are zero."""
    b = buffer(raw, 4)
    for value, result in (({"n": 3}, 30), ({"k": 2.0}, 2), ({}, 0)):
        raw.entry.dispatch([4, 1, 1], t=b, p=value)
        assert b.to_numpy().view(np.float32).tolist() == [result] * 4
