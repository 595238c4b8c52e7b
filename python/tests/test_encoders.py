"""Command encoders, command buffers, fences, query pools. (Features E1-E3, F2.)"""
import gc
import sys
import weakref

import numpy as np
import pytest

import slangpy as spy

SOURCE = """
float add(float a, float b) { return a + b; }
void step(inout float x) { x = x * 2 + 1; }
void fill(uint3 t : SV_DispatchThreadID, RWStructuredBuffer<float> b, float v) { b[t.x] = v; }
RWStructuredBuffer<uint> counters;
void bump(uint3 t : SV_DispatchThreadID) { counters[t.x] += 1; }
"""


@pytest.fixture(scope="module")
def m(device):
    return spy.Module.load_from_source(device, "test_encoders", SOURCE)


def numbers(n, first=0):
    return np.arange(first, first + n, dtype=np.uint32)


def values(buffer, dtype=np.uint32):
    return buffer.to_numpy().view(dtype).tolist()


# >>copies

@pytest.mark.parametrize("dst_offset, src_offset, size", [(0, 0, 32), (0, 0, 0), (4, 8, 12), (1, 2, 5), (31, 0, 1), (0, 31, 1), (16, 16, 16)])
def test_copy_buffer(device, dst_offset, src_offset, size):
    """copy_buffer() copies any range at each submission, and nothing when it is recorded. (Feature E1.)"""
    a, b = np.random.default_rng(size).integers(0, 256, (2, 32)).astype(np.uint8)
    src, dst = device.create_buffer(data=a), device.create_buffer(data=b)
    e = device.create_command_encoder()
    e.copy_buffer(dst, dst_offset, src, src_offset, size)
    commands = e.finish()
    assert np.array_equal(dst.to_numpy(), b)
    want = b.copy()
    want[dst_offset:dst_offset + size] = a[src_offset:src_offset + size]
    device.submit_command_buffer(commands)
    assert np.array_equal(dst.to_numpy(), want)
    dst.copy_from_numpy(b)
    device.submit_command_buffer(commands)
    assert np.array_equal(dst.to_numpy(), want)


@pytest.mark.parametrize("args, words", [((0, 0, 33), "33 bytes from offset 0"), ((30, 0, 4), "4 bytes from offset 30"),
                                         ((0, -1, 4), "from offset -1"), ((0, 40, 0), "from offset 40"), ((0, 0, -5), "-5 bytes")])
def test_copy_beyond(device, args, words):
    """Offsets and sizes are checked, and the encoder stays usable. (Feature E1.)"""
    b = device.create_buffer(data=numbers(8))
    c = device.create_buffer(data=numbers(8))
    e = device.create_command_encoder()
    with pytest.raises(ValueError, match=words):
        e.copy_buffer(b, args[0], c, args[1], args[2])
    assert e.op_count == 0
    device.submit_command_buffer(e.finish())


def test_copy_onto_itself(device):
    """Overlapping ranges of one buffer are refused; ranges that do not overlap are copied. (Feature E1.)"""
    b = device.create_buffer(data=numbers(8))
    e = device.create_command_encoder()
    with pytest.raises(spy.Error):
        e.copy_buffer(b, 4, b, 0, 16)
    e.copy_buffer(b, 16, b, 0, 16)
    device.submit_command_buffer(e.finish())
    assert values(b) == [0, 1, 2, 3] * 2


def test_copy_bad_types(device):
    """copy_buffer() raises TypeError for an array in place of a buffer, and for missing arguments. (Feature E1.)"""
    e = device.create_command_encoder()
    with pytest.raises(TypeError):
        e.copy_buffer(np.zeros(4), 0, device.create_buffer(size=4), 0, 4)
    with pytest.raises(TypeError):
        e.copy_buffer(device.create_buffer(size=4))


@pytest.mark.parametrize("how, first, last", [({}, 0, 8), ({"offset": 8}, 2, 8), ({"offset": 8, "size": 8}, 2, 4), ({"size": 0}, 0, 0)])
def test_clear_buffer(device, how, first, last):
    """clear_buffer() clears the given range and nothing else. (Feature E1.)"""
    b = device.create_buffer(data=numbers(8, 1))
    e = device.create_command_encoder()
    e.clear_buffer(b, **how)
    device.submit_command_buffer(e.finish())
    want = numbers(8, 1)
    want[first:last] = 0
    assert values(b) == want.tolist()


def test_clear_odd_bytes(device):
    """clear_buffer() clears ranges that do not begin or end at a word. (Feature E1.)"""
    b = device.create_buffer(data=np.full(11, 7, np.uint8))
    e = device.create_command_encoder()
    e.clear_buffer(b, 3, 5)
    device.submit_command_buffer(e.finish())
    assert b.to_numpy().tolist() == [7] * 3 + [0] * 5 + [7] * 3


def test_upload(device):
    """Data for an upload is copied when it is recorded. (Feature E1.)"""
    b = device.create_buffer(data=numbers(8))
    data = np.array([70, 80], np.uint32)
    e = device.create_command_encoder()
    e.upload_buffer_data(b, 8, data)
    data[:] = 0
    device.submit_command_buffer(e.finish())
    assert values(b) == [0, 1, 70, 80, 4, 5, 6, 7]
    e = device.create_command_encoder()
    with pytest.raises(ValueError, match="not within the buffer's 32 bytes"):
        e.upload_buffer_data(b, 28, data)
    with pytest.raises((BufferError, ValueError)):
        e.upload_buffer_data(b, 0, np.zeros((4, 4), np.uint32)[:, 0])


def test_tensors_too(device):
    """Encoders take tensors of any type as buffers; strided views are refused. (Feature E1.)"""
    t = spy.Tensor.from_numpy(device, np.arange(6, dtype=np.float32).reshape(2, 3))
    u = spy.Tensor.zeros(device, (2, 3))
    b = device.create_buffer(size=12)
    e = device.create_command_encoder()
    e.copy_buffer(b, 0, t, 12, 12)
    e.copy_tensor(u, t)
    e.fill_tensor(t, 2.5)
    device.submit_command_buffer(e.finish())
    assert values(b, np.float32) == [3, 4, 5]
    assert np.array_equal(u.to_numpy(), np.arange(6).reshape(2, 3)) and (t.to_numpy() == 2.5).all()
    e = device.create_command_encoder()
    with pytest.raises(ValueError, match="next to each other"):
        e.clear_buffer(t[:, 1])
    with pytest.raises(ValueError):
        e.copy_tensor(u, spy.Tensor.zeros(device, (3, 2)))


# >>calls

def test_append_to(device, m):
    """append_to() and _append_to record a call, which reads its tensors when it runs. (Feature F2.)"""
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    out = spy.Tensor.zeros(device, (3,))
    e = device.create_command_encoder()
    m.add.append_to(e, x, 10.0, _result=out)
    m.add(out, 100.0, _result=out, _append_to=e)
    m.step.append_to(e, x)
    commands = e.finish()
    assert commands.call_count == 3 and out.to_numpy().tolist() == [0, 0, 0]
    device.submit_command_buffer(commands)
    assert out.to_numpy().tolist() == [111, 112, 113] and x.to_numpy().tolist() == [3, 5, 7]
    device.submit_command_buffer(commands)
    assert out.to_numpy().tolist() == [113, 115, 117]
    assert commands.submit_count == 2


def test_set(device, m):
    """Numbers of recorded calls can be changed between submissions; submitted work keeps the old numbers. SlangPy does not have this."""
    n = spy.Module.load_from_source(device, "changing", """
        struct Light { float3 color; float power; }
        float lit(Light light, float4 w, float x) { return (light.color.x + light.power) * x + w.x + w.w; }
        float scale;
        [shader("compute")] [numthreads(4, 1, 1)]
        void own(uint3 t : SV_DispatchThreadID, uniform int k, uniform RWStructuredBuffer<float> to) { to[t.x] = k * scale; }
    """)
    x = spy.Tensor.from_numpy(device, np.array([1, 2, 3], np.float32))
    out, other, third = spy.Tensor.zeros(device, (3,)), spy.Tensor.zeros(device, (3,)), spy.Tensor.zeros(device, (4,))
    e = device.create_command_encoder()
    m.add.append_to(e, x, 10.0, _result=out)
    e.fill_tensor(third, 0)
    assert e.call_count == 1
    n.lit.append_to(e, {"color": [1.0, 2.0, 3.0], "power": 4.0}, [1.0, 2.0, 3.0, 4.0], x, _result=other)
    n.own.dispatch([4, 1, 1], k=2, to=third, vars={"scale": 0.5}, command_encoder=e)
    commands = e.finish()
    for i in range(5):
        if i:
            commands.set(0, b=i)
            commands.set(1, w=np.array([i, 0, 0, 1], np.float32), **{"light.power": i / 2, "light.color": [i, 0, 0]})
            commands.set(2, k=i, scale=2.0)
        device.submit_command_buffer(commands)
        a, b, c = (1, 4, 5) if not i else (i, i / 2, i + 1)
        assert out.to_numpy().tolist() == [v + (i or 10) for v in (1, 2, 3)]
        assert other.to_numpy().tolist() == [(a + b) * v + c for v in (1, 2, 3)]
        assert third.to_numpy().tolist() == [i * 2.0 if i else 1.0] * 4
    with pytest.raises(IndexError, match="one of 3 recorded calls, got 3"):
        commands.set(3, b=1)
    with pytest.raises(Exception, match="'c'.*'b'"):
        commands.set(0, c=1)
    with pytest.raises(TypeError, match="'b': expected a number for float"):
        commands.set(0, b=[1.0, 2.0])
    with pytest.raises(TypeError, match="argument 'b'"):
        commands.set(0, b=object())
    with pytest.raises(TypeError):
        commands.set("0", b=1)
    with pytest.raises(TypeError):
        commands.set()
    with pytest.raises(Exception, match="'a'.*memory"):
        commands.set(0, a=x)


def test_append_makes_results(device, m):
    """`_result='tensor'` returns the tensor that each submission fills; results that are values are refused. (Features F2, R2.)"""
    x = spy.Tensor.from_numpy(device, np.array([1, 2], np.float32))
    e = device.create_command_encoder()
    out = m.add.append_to(e, x, 1.0, _result="tensor")
    device.submit_command_buffer(e.finish())
    assert out.to_numpy().tolist() == [2, 3]
    e = device.create_command_encoder()
    assert m.add.append_to(e, 1.0, 2.0) is None
    device.submit_command_buffer(e.finish())


def test_dispatch(device, m):
    """dispatch(command_encoder=) records the dispatch. (Feature K1.)"""
    b, c = device.create_buffer(size=32), device.create_buffer(data=np.zeros(8, np.uint32))
    e = device.create_command_encoder()
    m.fill.dispatch(8, b=b, v=4.0, command_encoder=e)
    m.bump.dispatch([8, 1, 1], vars={"counters": c}, command_encoder=e)
    m.bump.dispatch([4, 1, 1], vars={"counters": c}, command_encoder=e)
    commands = e.finish()
    for _ in range(3):
        device.submit_command_buffer(commands)
    assert values(b, np.float32) == [4.0] * 8 and values(c) == [6] * 4 + [3] * 4


def test_order(device, m):
    """Operations run in the order of recording, with and without barriers, and between command buffers. (Feature E1.)"""
    b = device.create_buffer(data=numbers(4))
    c = device.create_buffer(size=16)
    first, second = device.create_command_encoder(), device.create_command_encoder()
    first.copy_buffer(c, 0, b, 0, 16)
    first.global_barrier()
    first.clear_buffer(b)
    second.upload_buffer_data(c, 0, np.array([9], np.uint32))
    second.copy_buffer(b, 4, c, 0, 8)
    device.submit_command_buffers([first.finish(), second.finish()])
    assert values(c) == [9, 1, 2, 3] and values(b) == [0, 9, 1, 0]


def test_clear_in_encoder(device):
    """Tensor.clear(encoder) records the clear. (Feature B9.)"""
    t = spy.Tensor.from_numpy(device, np.ones(4, np.float32))
    e = device.create_command_encoder()
    t.clear(e)
    assert t.to_numpy().tolist() == [1] * 4
    device.submit_command_buffer(e.finish())
    assert t.to_numpy().tolist() == [0] * 4


def test_memory_is_kept(device, m):
    """Command buffers keep what they use; encoders are collected. (Feature E1.)"""
    b = device.create_buffer(size=16)
    e = device.create_command_encoder()
    e.copy_buffer(b, 0, device.create_buffer(data=numbers(4, 5)), 0, 16)
    m.add.append_to(e, spy.Tensor.zeros(device, (4,)), 1.0, _result=spy.Tensor.zeros(device, (4,)))
    commands = e.finish()
    del e
    gc.collect()
    device.submit_command_buffer(commands)
    assert values(b) == [5, 6, 7, 8]


# >>states

def test_finished_encoder(device, m):
    """Every use of a finished encoder raises the same clear error. (Feature E3.)"""
    b = device.create_buffer(size=16)
    e = device.create_command_encoder()
    assert not e.is_finished and "finished" not in repr(e)
    commands = e.finish()
    assert e.is_finished and "finished" in repr(e) and "CommandBuffer" in repr(commands)
    pool = device.create_query_pool(count=1)
    for use in (lambda: e.copy_buffer(b, 0, b, 8, 4), lambda: e.clear_buffer(b), lambda: e.upload_buffer_data(b, 0, b"1234"),
                lambda: e.push_debug_group("x"), e.pop_debug_group, lambda: e.insert_debug_marker("x"), e.global_barrier, e.finish,
                lambda: e.write_timestamp(pool, 0), e.begin_compute_pass, lambda: m.add.append_to(e, 1, 2),
                lambda: m.add(1, 2, _append_to=e), lambda: m.fill.dispatch(1, b=b, v=1, command_encoder=e),
                lambda: spy.Tensor.zeros(device, (1,)).clear(e), lambda: e.set_buffer_state(b, spy.ResourceState.general)):
        with pytest.raises(spy.Error, match="finished; create another one"):
            use()


def test_wrong_objects(device, m):
    """The error for an argument that is no encoder or command buffer names it. (Feature E1.)"""
    e = device.create_command_encoder()
    with pytest.raises(TypeError, match="expected a CommandEncoder, got <class 'int'>"):
        m.add.append_to(3, 1, 2)
    with pytest.raises(TypeError, match="CommandEncoder.*finish"):
        device.submit_command_buffer(e)
    with pytest.raises(TypeError, match="expected CommandBuffers, got <class 'NoneType'>"):
        device.submit_command_buffers([None])
    with pytest.raises(TypeError):
        type(e.finish())()
    with spy.create_device() as other:
        with pytest.raises(ValueError, match="another device"):
            other.submit_command_buffer(device.create_command_encoder().finish())
        with pytest.raises(spy.Error):
            m.add.append_to(other.create_command_encoder(), 1, 2)


def test_groups(device):
    """Debug groups nest, and finish() requires that all are popped. (Feature E1.)"""
    e = device.create_command_encoder(label="frame")
    e.push_debug_group("outer", spy.float3(1, 0, 0))
    e.insert_debug_marker("here")
    with pytest.raises(spy.Error):
        e.finish()
    e.pop_debug_group()
    with pytest.raises(spy.Error):
        e.pop_debug_group()
    assert device.submit_command_buffer(e.finish()) > 0


def test_recording_callback(device, m):
    """on_record hears of each operation; exceptions that it raises are reported but do not reach the caller. (Feature E3.)"""
    seen = []
    e = device.create_command_encoder(on_record=lambda kind, index, name: seen.append((kind, index, name)))
    b = device.create_buffer(size=16)
    e.push_debug_group("part")
    e.clear_buffer(b)
    m.add.append_to(e, 1, 2)
    e.pop_debug_group()
    e.insert_debug_marker("end")
    e.finish()
    assert seen == [("push", 0, "part"), ("fill", 1, ""), ("call", 2, "add"), ("pop", 3, ""), ("marker", 4, "end")]
    with pytest.raises(TypeError, match="expected a callable"):
        device.create_command_encoder(on_record=5)
    problems, sys.unraisablehook, hook = [], (lambda u: problems.append(u.exc_type)), sys.unraisablehook
    try:
        e = device.create_command_encoder(on_record=lambda *a: 1 / 0)
        e.global_barrier()
    finally:
        sys.unraisablehook = hook
    assert problems == [ZeroDivisionError] and e.op_count == 1


def test_encoders_are_collected(device):
    """An encoder and its callback that refer to each other are collected. (Feature E3.)"""
    e = device.create_command_encoder()
    keep = []
    e = device.create_command_encoder(on_record=lambda *a: keep.append(a))
    keep.append(e)
    r = weakref.ref(e)
    del e, keep
    gc.collect()
    assert r() is None


# >>fences

def test_fence(device, m):
    """A submission sets a fence when it has finished; a fence's value only grows. (Feature E2.)"""
    f = device.create_fence(initial_value=2)
    assert f.current_value == f.signaled_value == 2
    e = device.create_command_encoder()
    m.add.append_to(e, 1, 2)
    commands = e.finish()
    device.submit_command_buffers([commands], signal_fences=[f], signal_fence_values=[5])
    device.submit_command_buffers([commands], wait_fences=[f], wait_fence_values=[5], signal_fences=[f], signal_fence_values=[9])
    assert f.signaled_value == 9
    f.wait(5)
    assert f.current_value >= 5
    f.wait(timeout_ns=10**10)
    assert f.current_value == 9 and repr(f) == "<slangpy.Fence 9 of 9>"
    assert f.signal() == 10 and f.signal(20) == 20 and f.current_value == 20
    f.wait(3)
    assert f.signal(7) == 7 and f.current_value == f.signaled_value == 7 and f.signal() == 8  # the host may set a smaller value


def test_fence_errors(device, m):
    """Waits that would never end, values that do not grow, and lists of wrong lengths are errors. (Feature E2.)"""
    f = device.create_fence()
    e = device.create_command_encoder()
    commands = e.finish()
    with pytest.raises(spy.Error, match="brings the fence to 1"):
        f.wait(1)
    with pytest.raises(spy.Error, match="would never end"):
        device.submit_command_buffers([commands], wait_fences=[f], wait_fence_values=[1])
    with pytest.raises(ValueError, match="above 0, got 0"):
        device.submit_command_buffers([commands], signal_fences=[f], signal_fence_values=[0])
    with pytest.raises(ValueError, match="1 fences with 0 values"):
        device.submit_command_buffers([commands], signal_fences=[f])
    with pytest.raises(TypeError, match="expected Fences"):
        device.submit_command_buffers([commands], signal_fences=[3], signal_fence_values=[3])
    with pytest.raises(TypeError, match="expected an int"):
        f.signal("x")
    with pytest.raises(ValueError, match="64 bits"):
        device.create_fence(1 << 64)
    with pytest.raises(spy.Error, match="shared"):
        device.create_fence(shared=True)
    with spy.create_device() as other, pytest.raises(ValueError, match="another device"):
        device.submit_command_buffers([commands], signal_fences=[other.create_fence()], signal_fence_values=[1])
    assert commands.submit_count == 0 and f.current_value == 0


# >>times

def test_timestamps(device, m):
    """Timestamps are in order, near the host's clock after calibration, and new for each submission. (Feature E2.)"""
    pool = device.create_query_pool(spy.QueryType.timestamp, 4)
    x = spy.Tensor.zeros(device, (1 << 16,))
    e = device.create_command_encoder()
    e.write_timestamp(pool, 3)
    for _ in range(20):
        m.step.append_to(e, x)
    e.global_barrier()
    e.write_timestamp(pool, 1)
    commands = e.finish()
    with pytest.raises(spy.Error, match="written query 3"):
        pool.get_result(3)
    before = device.get_timestamp_calibration()
    device.submit_command_buffer(commands)
    start, end = pool.get_result(3), pool.get_result(1)
    after = device.get_timestamp_calibration()
    assert before.gpu_ns <= start < end <= after.gpu_ns
    drift = (after.gpu_ns - before.gpu_ns) - (after.host_ns - before.host_ns)
    assert abs(drift) < 50_000_000
    assert pool.get_timestamp_result(1) - pool.get_timestamp_result(3) == pytest.approx((end - start) * 1e-9, abs=1e-6)
    device.submit_command_buffer(commands)
    assert pool.get_result(3) > end
    pool.reset()
    with pytest.raises(spy.Error):
        pool.get_timestamp_results(1, 1)


@pytest.mark.parametrize("use, error", [
    (lambda d, p, e: e.write_timestamp(p, 2), IndexError), (lambda d, p, e: e.write_timestamp(p, -1), IndexError),
    (lambda d, p, e: p.get_results(1, 2), IndexError), (lambda d, p, e: p.get_result("x"), TypeError),
    (lambda d, p, e: d.create_query_pool(count=0), ValueError), (lambda d, p, e: d.create_query_pool(99, 1), ValueError)])
def test_query_errors(device, use, error):
    """Wrong uses of query pools raise errors and record nothing. (Feature E2.)"""
    pool, e = device.create_query_pool(count=2), device.create_command_encoder()
    with pytest.raises(error):
        use(device, pool, e)
    assert e.timestamp_count == 0
