"""The Python part of command encoders; fences and query pools."""
from __future__ import annotations

import itertools
import sys
import time

from . import _slangpy
from .enums import BufferRange, CommandQueueType, FenceDesc, QueryPoolDesc, QueryType, _IntEnum
from .texture_commands import TextureCommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, ClassVar

    from ._slangpy import Tensor, _ArrayLike
    from .buffers import Buffer
    from .device import Device
    from .enums import ResourceState
    from .interop import NativeHandle
    from .pictures import RenderPassDesc
    from .programs import ComputePassEncoder
    from .render import RenderPassEncoder

__all__ = ["CommandEncoder", "CommandBuffer", "CommandRecordingDiscardedEvent", "CommandRecordingSubmittedEvent", "Fence", "QueryPool",
           "QueryResultState"]

CommandBuffer = _slangpy.CommandBuffer


# >>recordings, and callbacks about them


class CommandRecordingSubmittedEvent:
    """The event of a command buffer's submission, for a callback: device, id (its recording_id), command_buffer and submit_id."""

    def __init__(self, device: Device, id: int, command_buffer: CommandBuffer, submit_id: int) -> None:
        self.device, self.id, self.command_buffer, self.submit_id = device, id, command_buffer, submit_id


class CommandRecordingDiscardedEvent:
    """The event of a recording that was dropped before it was submitted, for a callback: device and id (its recording_id)."""

    def __init__(self, device: Device, id: int) -> None:
        self.device, self.id = device, id


_ids = itertools.count(1)  # the numbers of recordings and of callbacks


class _Recording:
    """A command encoder and its command buffer share this object; when both have been freed without a submission, the recording was
    discarded."""

    __slots__ = ("device", "id", "submitted", "parts")

    def __init__(self, device):
        self.device, self.id, self.submitted = device, next(_ids), False
        self.parts = []  # (part that was recorded before, callback) for each execute_callback()

    def __del__(self):
        if not self.submitted and not self.device.is_closed:
            _call_back(self.device, "_discarded", lambda: CommandRecordingDiscardedEvent(self.device, self.id))


class _Stamp(int):
    """The number of a timestamp in a part of a recording that a callback ends."""

    part: CommandBuffer

    def __new__(cls, number, part):
        self = int.__new__(cls, number)
        self.part = part
        return self


def _call_back(device, kind, event):
    callbacks = device._extra.get(kind)
    if callbacks:
        made = event()
        for callback in list(callbacks.values()):
            callback(made)


def register(device: Device, kind: str, callback: Callable[[Any], object], where: str) -> int:
    if not callable(callback):
        raise TypeError("Device.{}: argument 'callback': expected a callable, got {!r}".format(where, type(callback)))
    number = next(_ids)
    device._extra.setdefault(kind, {})[number] = callback
    return number


def unregister(device: Device, kind: str, id: int) -> None:
    device._extra.get(kind, {}).pop(id, None)


def _recording_id(self):
    """A number of the recording other than 0, which a command encoder and its command buffer share."""
    return self._recording.id


def _queue(self):
    """The CommandQueueType; a device has one queue."""
    return CommandQueueType.graphics


_Commands: Any = CommandBuffer
_Commands.recording_id = property(_recording_id)
_Commands.queue = property(_queue)


class _MemoryUsage:
    """DeviceChild.MemoryUsage: the bytes of an object on the device and on the host."""

    device: int
    host: int

    __slots__ = ("device", "host")

    def __init__(self, device: int = 0, host: int = 0) -> None:
        self.device, self.host = device, host

    def __repr__(self):
        return "MemoryUsage(device={}, host={})".format(self.device, self.host)


class _Child:
    """The base class of objects that belong to a Device and have no memory of their own there."""

    @property
    def memory_usage(self) -> _MemoryUsage:
        """The bytes of the object on the device and on the host, beyond the object itself."""
        return _MemoryUsage()


class CommandEncoder(_slangpy._CommandEncoder, TextureCommands, _Child):
    """Records calls, copies and marks; see Device.create_command_encoder(). finish() returns a CommandBuffer, which can be
    submitted any number of times. Each submission reads what tensors contain then; numbers and host arrays keep the values that
    they had when they were recorded."""

    def __init__(self, device: Device, label: str | None = None, on_record: Callable[[int, int, str], object] | None = None) -> None:
        self._recording = _Recording(device)

    def __getattr__(self, name):
        from .absent import missing

        raise missing("CommandEncoder", name)

    @property
    def queue(self) -> CommandQueueType:
        """The CommandQueueType; a device has one queue."""
        return CommandQueueType.graphics

    @property
    def recording_id(self) -> int:
        """A number of the recording other than 0, which the encoder and its command buffer share."""
        return self._recording.id

    def clear_buffer(  # type: ignore[override]
            self, buffer: Tensor, range: BufferRange | Mapping[str, int] | int | None = None, size: int = -1, offset: int = 0) -> None:
        """clear_buffer(buffer, range=None, size=-1, offset=0): sets bytes of a buffer to zero: those of a BufferRange (or a dict of
        offset and size), or `size` bytes from byte `offset` on, or all of them. `range` may also be the offset. A size of -1 means to
        the end."""
        if isinstance(range, int):
            offset = range
        elif range is not None:
            range = range if isinstance(range, BufferRange) else BufferRange(range)
            offset, size = range.offset, -1 if range.size == 2**64 - 1 else range.size
        _slangpy._CommandEncoder.clear_buffer(self, buffer, offset, size)

    def write_timestamp(self, query_pool: QueryPool, index: int) -> None:
        """write_timestamp(query_pool, index): writes the GPU time at which all earlier operations are done to a QueryPool."""
        query_pool._check(index, 1, "CommandEncoder.write_timestamp")
        self._queries.append((query_pool, index, self._timestamp()))

    def resolve_query(self, query_pool: QueryPool, index: int, count: int, buffer: Buffer, offset: int) -> None:
        """resolve_query(query_pool, index, count, buffer, offset): copies `count` times from `index` on to a buffer, as numbers of 64 bits from
        byte `offset` on. The copy is made when all work of the submission is done, which the submission waits for: later operations
        of the same recording do not see the times."""
        if self.is_finished:
            raise _slangpy.Error("CommandEncoder.resolve_query: the command encoder is finished; create another one")
        query_pool._check(index, count, "CommandEncoder.resolve_query")
        if offset < 0 or offset + 8 * count > buffer.size:
            raise _slangpy.Error("CommandEncoder.resolve_query: {} bytes from offset {} on are not within the buffer's {} bytes".format(
                8 * count, offset, buffer.size))
        self._queries.append((query_pool, index, (count, buffer, offset)))

    @property
    def native_handle(self) -> NativeHandle:
        """A NativeHandle of type undefined, because the library makes native command buffers when a recording is submitted."""
        from .interop import NativeHandle

        return NativeHandle()

    def begin_compute_pass(self) -> ComputePassEncoder:
        """begin_compute_pass(): returns a ComputePassEncoder. Its end(), or the end of a `with` block, ends the pass."""
        from .programs import ComputePassEncoder

        if self.is_finished:
            raise _slangpy.Error("CommandEncoder.begin_compute_pass: the command encoder is finished; create another one")
        return ComputePassEncoder(self)

    def begin_render_pass(self, desc: RenderPassDesc | Mapping[str, Any]) -> RenderPassEncoder:
        """begin_render_pass(desc): returns a RenderPassEncoder that draws into the attachments of a RenderPassDesc or a dict of its
        fields. Its end(), or the end of a `with` block, ends the pass."""
        from .render import RenderPassEncoder

        if self.is_finished:
            raise _slangpy.Error("CommandEncoder.begin_render_pass: the command encoder is finished; create another one")
        return RenderPassEncoder(self, desc)

    def execute_callback(self, callback: Callable[[NativeHandle], object]) -> None:
        """execute_callback(callback): calls callback(handle) at each submission, between the work that was recorded before and after.
        `handle` is the NativeHandle of the VkCommandBuffer that the device records into, or of the CUstream that its work goes to, for
        commands of another library. The callback must not use the device."""
        if not callable(callback):
            raise TypeError("CommandEncoder.execute_callback: argument 'callback': expected a callable, got {!r}".format(type(callback)))
        self.global_barrier()
        part = self._split()
        for i, (pool, index, number) in enumerate(self._queries):
            if type(number) is int:
                self._queries[i] = pool, index, _Stamp(number, part)
        self._recording.parts.append((part, callback))
        self.global_barrier()

    def set_buffer_state(self, buffer: Tensor, state: ResourceState) -> None:
        """set_buffer_state(buffer, state): records nothing, because the library orders work on buffers by itself."""
        if self.is_finished:
            raise _slangpy.Error("CommandEncoder.set_buffer_state: the command encoder is finished; create another one")


def submit(
        device: Device, command_buffers: Iterable[CommandBuffer], wait_fences: Sequence[Fence], wait_fence_values: Sequence[int],
        signal_fences: Sequence[Fence], signal_fence_values: Sequence[int]) -> int:
    where = "submit_command_buffers"
    command_buffers = list(command_buffers)
    for commands in command_buffers:
        if not isinstance(commands, CommandBuffer):
            hint = "; finish() gives one" if isinstance(commands, CommandEncoder) else ""
            raise TypeError("{}: expected CommandBuffers, got {!r}{}".format(where, type(commands), hint))
        if commands.device is not device:
            raise _slangpy.ArgumentValueError("{}: a command buffer belongs to another device".format(where))
    waits = _fence_pairs(device, wait_fences, wait_fence_values, "wait_fences", where)
    signals = _fence_pairs(device, signal_fences, signal_fence_values, "signal_fences", where)
    for fence, value in waits:
        if not fence._will_reach(value):
            raise _slangpy.Error("{}: argument 'wait_fences': nothing that was submitted, and no signal(), brings the fence "
                                 "to {}: the wait would never end".format(where, value))
    for fence, value in signals:
        fence._check_signal(value)
    for commands in command_buffers:
        for part, callback in commands._recording.parts:
            part._submit()
            callback(_open_handle(device))
        commands._submit()
        for pool, index, number in commands._queries:
            if isinstance(number, int):
                pool._written[index] = (getattr(number, "part", commands), number, 0)
        commands._recording.submitted = True
    submit_id = device.flush() or _submit_something(device)
    for commands in command_buffers:
        for pool, index, number in commands._queries:
            if isinstance(number, int):
                pool._written[index] = (getattr(number, "part", commands), number, submit_id)
        for pool, index, number in commands._queries:
            if not isinstance(number, int):
                count, buffer, offset = number
                times = b"".join(time.to_bytes(8, sys.byteorder) for time in pool.get_results(index, count))
                _slangpy._buffer_write(buffer, times, offset)
        _call_back(device, "_submitted", lambda: CommandRecordingSubmittedEvent(device, commands._recording.id, commands, submit_id))
    for fence, value in signals:
        fence._pending.append((value, submit_id))
    return submit_id


def _open_handle(device):
    """Returns the handle of the driver's object that the device records into, for execute_callback()."""
    from .interop import NativeHandle, NativeHandleType

    backend = device._info()["backend"]
    if backend == "vulkan":
        return NativeHandle(NativeHandleType.VkCommandBuffer, _slangpy._open_commands(device))
    return NativeHandle(NativeHandleType.CUstream, _slangpy._stream(device)) if backend == "cuda" else NativeHandle()


def _submit_something(device):
    """Makes the first submission of a device that has recorded nothing yet, and returns its number: 0 is no number of a submission."""
    from ._slangpy import Tensor

    Tensor.zeros(device, (1,), "uint")
    return device.flush()


def _fence_pairs(device, fences, values, name, where):
    fences, values = list(fences or ()), list(values or ())
    if len(fences) != len(values):
        raise _slangpy.ArgumentValueError("{}: argument '{}': {} fences with {} values".format(where, name, len(fences), len(values)))
    for fence in fences:
        if not isinstance(fence, Fence):
            raise TypeError("{}: argument '{}': expected Fences, got {!r}".format(where, name, type(fence)))
        if fence.device is not device:
            raise _slangpy.ArgumentValueError("{}: argument '{}': a fence belongs to another device".format(where, name))
    return list(zip(fences, values))


class Fence(_Child):
    """A 64-bit number that only grows. A submission sets it when its work has finished, or signal() does. See Device.create_fence()."""

    device: Device

    MAX_VALUE: ClassVar[int] = (1 << 64) - 1
    TIMEOUT_INFINITE: ClassVar[int] = (1 << 64) - 1
    AUTO: ClassVar[int] = (1 << 64) - 1  # AUTO as a value means signaled_value + 1 for signal(), and signaled_value for wait()

    def __init__(self, device: Device, initial_value: int = 0, shared: bool = False) -> None:
        if shared:
            raise _slangpy.Error("create_fence: argument 'shared': fences cannot be shared with other APIs")
        self.device = device
        self._reached = self._value(initial_value, "create_fence")
        self._initial = self._reached
        self._pending: list[tuple[int, int]] = []  # (value, submit id) of each running submission; both grow

    @staticmethod
    def _value(value, where):
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError("{}: expected an int, got {!r}".format(where, type(value)))
        if not 0 <= value <= Fence.MAX_VALUE:
            raise _slangpy.ArgumentValueError("{}: expected a value of 64 bits, got {}".format(where, value))
        return value

    def _check_signal(self, value):
        last = self._pending[-1][0] if self._pending else self._reached
        if self._value(value, "Fence.signal") <= last:
            raise _slangpy.ArgumentValueError("Fence.signal: expected a value above {}, got {}".format(last, value))

    def _will_reach(self, value):
        return value <= (self._pending[-1][0] if self._pending else self._reached)

    @property
    def desc(self) -> FenceDesc:
        """The FenceDesc that the fence was made with."""
        return FenceDesc(initial_value=self._initial)

    @property
    def native_handle(self) -> NativeHandle:
        """A NativeHandle of type undefined: the fence is an object of this library, not of Vulkan or CUDA."""
        from .interop import NativeHandle

        return NativeHandle()

    @property
    def shared_handle(self) -> NativeHandle:
        """An error: fences cannot be shared with other APIs."""
        raise _slangpy.Error("Fence.shared_handle: fences cannot be shared with other APIs")

    @property
    def current_value(self) -> int:
        """The value that the fence has now. Does not wait."""
        while self._pending and self.device.is_submit_finished(self._pending[0][1]):
            self._reached = self._pending.pop(0)[0]
        return self._reached

    @property
    def signaled_value(self) -> int:
        """The largest value that signal() or a submission has set or will set."""
        return self._pending[-1][0] if self._pending else self._reached

    def signal(self, value: int | None = None) -> int:
        """signal(value=None): sets the value at once, from the host, and returns it. The default is signaled_value + 1; the value may be
        smaller than the present one. Raises an error while submissions will still set the fence."""
        value = self.signaled_value + 1 if value is None or value == Fence.AUTO else self._value(value, "Fence.signal")
        self.current_value  # forgets the submissions that have finished
        if self._pending:
            raise _slangpy.Error("Fence.signal: submissions are still to set it to {}; wait for them first".format(self._pending[-1][0]))
        self._reached = value
        return value

    def wait(self, value: int | None = None, timeout_ns: int = TIMEOUT_INFINITE) -> None:
        """wait(value=None, timeout_ns=infinite): waits until the fence has reached a value; the default is signaled_value. Raises an
        error if no submission or signal() leads to the value, or if the time is over."""
        value = self.signaled_value if value is None or value == Fence.AUTO else self._value(value, "Fence.wait")
        if not self._will_reach(value):
            raise _slangpy.Error("Fence.wait: nothing that was submitted, and no signal(), brings the fence to {}".format(value))
        if self.current_value >= value:
            return
        submit_id = next(i for v, i in self._pending if v >= value)
        if timeout_ns >= Fence.TIMEOUT_INFINITE:
            self.device.wait_for_submit(submit_id)
        else:
            end = time.monotonic_ns() + timeout_ns
            while not self.device.is_submit_finished(submit_id):
                if time.monotonic_ns() >= end:
                    raise _slangpy.Error("Fence.wait: {} was not reached within {} ns".format(value, timeout_ns))
                time.sleep(5e-5)
        self.current_value

    def __repr__(self):
        return "<slangpy.Fence {} of {}>".format(self._reached, self.signaled_value)


class QueryResultState(_IntEnum):
    """The state of a query of a QueryPool."""

    reset = 0
    pending = 1
    resolved = 2


class QueryPool(_Child):
    """An array of GPU times, which CommandEncoder.write_timestamp() writes. See Device.create_query_pool()."""

    device: Device
    type: QueryType
    count: int

    def __init__(self, device: Device, type: QueryType = QueryType.timestamp, count: int = 1) -> None:
        self.type = QueryType(type)
        if not isinstance(count, int) or count < 1:
            raise _slangpy.ArgumentValueError("create_query_pool: argument 'count': expected 1 or more, got {!r}".format(count))
        if not device._info()["timestamp_period_ns"]:
            raise _slangpy.Error("create_query_pool: the device has no timestamps")
        self.device = device
        self.count = count
        self._written: dict[int, Any] = {}

    def _check(self, index, count, where):
        if not isinstance(index, int) or not isinstance(count, int):
            raise TypeError("{}: expected int indices, got {!r}".format(where, (index, count)))
        if index < 0 or count < 0 or index + count > self.count:
            raise _slangpy.IndexOutOfRangeError("{}: queries {} to {} are beyond the pool's {}".format(where, index, index + count, self.count))

    @property
    def desc(self) -> QueryPoolDesc:
        """The QueryPoolDesc that the pool was made with."""
        return QueryPoolDesc(type=self.type, count=self.count)

    def reset(self, index: int = 0, count: int | None = None) -> None:
        """reset(index=0, count=None): deletes `count` times from `index` on; by default all."""
        count = self.count - index if count is None else count
        self._check(index, count, "QueryPool.reset")
        for i in range(index, index + count):
            self._written.pop(i, None)

    def get_result_state(self, index: int, count: int = 1) -> QueryResultState:
        """get_result_state(index, count=1): returns the least QueryResultState of `count` times from `index` on. Does not wait."""
        self._check(index, count, "QueryPool.get_result_state")
        if not all(i in self._written for i in range(index, index + count)):
            return QueryResultState.reset
        done = all(self.device.is_submit_finished(self._written[i][2]) for i in range(index, index + count))
        return QueryResultState.resolved if done else QueryResultState.pending

    def get_result(self, index: int) -> int:
        """get_result(index): returns one time in ticks of DeviceInfo.timestamp_frequency, which are ns. Waits for the GPU to write it."""
        return self.get_results(index, 1)[0]

    def get_results(self, index: int, count: int) -> list[int]:
        """get_results(index, count): returns `count` times from `index` on, in ns, as a list of int. Waits for the GPU to write them.
        Raises an error if no submitted command buffer writes one of them."""
        self._check(index, count, "QueryPool.get_results")
        missing = [i for i in range(index, index + count) if i not in self._written]
        if missing:
            raise _slangpy.Error("QueryPool.get_results: no submitted command buffer has written query {}".format(missing[0]))
        times = {}
        for i in range(index, index + count):
            commands = self._written[i][0]
            if id(commands) not in times:
                times[id(commands)] = commands._times()
        return [times[id(self._written[i][0])][self._written[i][1]] for i in range(index, index + count)]

    def get_timestamp_result(self, index: int) -> float:
        """get_timestamp_result(index): returns one time in seconds, like get_result()."""
        return self.get_result(index) * 1e-9

    def get_timestamp_results(self, index: int, count: int) -> list[float]:
        """get_timestamp_results(index, count): returns times in seconds as a list of float, like get_results()."""
        return [t * 1e-9 for t in self.get_results(index, count)]

    def __repr__(self):
        return "<slangpy.QueryPool of {} timestamps>".format(self.count)
