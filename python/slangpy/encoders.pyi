"""Command encoders, command buffers, fences and query pools."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, final

from . import Device, Tensor, _ArrayLike
from .enums import BufferRange, QueryType, ResourceState
from .programs import ComputePassEncoder

__all__ = ["CommandEncoder", "CommandBuffer", "Fence", "QueryPool"]

class _Recording:
    @property
    def device(self) -> Device: ...
    @property
    def is_finished(self) -> bool: ...
    @property
    def op_count(self) -> int: ...
    @property
    def call_count(self) -> int: ...
    @property
    def timestamp_count(self) -> int: ...
    @property
    def submit_count(self) -> int: ...

class _Recorder(_Recording):
    def copy_buffer(self, dst: Tensor, dst_offset: int, src: Tensor, src_offset: int, size: int) -> None: ...
    def clear_buffer(
        self, buffer: Tensor, range: BufferRange | Mapping[str, int] | int | None = None, size: int = -1, offset: int = 0
    ) -> None: ...
    def upload_buffer_data(self, buffer: Tensor, offset: int, data: _ArrayLike) -> None: ...
    def copy_tensor(self, dst: Tensor, src: Tensor) -> None: ...
    def fill_tensor(self, tensor: Tensor, value: float) -> None: ...
    def push_debug_group(self, name: str, color: Any = None) -> None: ...
    def pop_debug_group(self) -> None: ...
    def insert_debug_marker(self, name: str, color: Any = None) -> None: ...
    def global_barrier(self) -> None: ...
    def finish(self) -> CommandBuffer: ...

@final
class CommandBuffer(_Recording):
    """A finished recording: see Device.submit_command_buffer()."""

    def set(self, call: int, /, **values: Any) -> None:
        """From the next submission on, a recorded call gets other numbers, or lists or arrays that feed one value. call: its
        number, from 0: call_count before it was recorded. Parts of structs and shader parameters by path:
        **{'light.power': 2}."""

class CommandEncoder(_Recorder):
    """Records calls, copies and marks: see Device.create_command_encoder(). finish() gives a CommandBuffer, which can be
    submitted any number of times. Contents of tensors are read when the GPU comes to it, numbers and host arrays are
    taken when they are recorded.
    """

    def write_timestamp(self, query_pool: QueryPool, index: int) -> None:
        """Put the GPU's time, when all operations before are done, into a QueryPool."""
    def begin_compute_pass(self) -> ComputePassEncoder:
        """A ComputePassEncoder, which is ended by end() or a `with` block."""
    def set_buffer_state(self, buffer: Tensor, state: ResourceState) -> None:
        """Nothing is recorded, for the library orders work on buffers by itself."""

def submit(
    device: Device,
    command_buffers: Iterable[CommandBuffer],
    wait_fences: Sequence[Fence],
    wait_fence_values: Sequence[int],
    signal_fences: Sequence[Fence],
    signal_fence_values: Sequence[int],
) -> int: ...

class Fence:
    """A number that only grows, set by submissions when they have finished, or by signal(): see Device.create_fence()."""
    MAX_VALUE: ClassVar[int]
    TIMEOUT_INFINITE: ClassVar[int]
    device: Device
    def __init__(self, device: Device, initial_value: int = 0, shared: bool = False) -> None: ...
    @property
    def current_value(self) -> int:
        """The value now. Never waits."""
    @property
    def signaled_value(self) -> int:
        """The largest value that was asked for so far."""
    def signal(self, value: int | None = None) -> int:
        """Set the value from the host, at once; None: one more than the largest. Gives it."""
    def wait(self, value: int | None = None, timeout_ns: int = ...) -> None:
        """Wait until the value is reached; None: the largest one asked for. An error when nothing will bring it there, or
        when the time is over.
        """

class QueryPool:
    """GPU times, written by CommandEncoder.write_timestamp(): see Device.create_query_pool()."""
    device: Device
    type: QueryType
    count: int
    def __init__(self, device: Device, type: QueryType = ..., count: int = 1) -> None: ...
    def reset(self) -> None:
        """Forget all times."""
    def get_result(self, index: int) -> int:
        """A time in ticks of DeviceInfo.timestamp_frequency (ns). Waits for it."""
    def get_results(self, index: int, count: int) -> list[int]:
        """Several times, as a list of int. An error when one was not written yet."""
    def get_timestamp_result(self, index: int) -> float:
        """A time in seconds."""
    def get_timestamp_results(self, index: int, count: int) -> list[float]:
        """Times in seconds, as a list of float."""
