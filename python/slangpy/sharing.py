"""Calls of a Vulkan device with torch tensors in CUDA memory of the same GPU. The tensors are copied on the GPU, in torch's current stream, to
memory that both APIs use. Timeline semaphores order the call after the stream's work so far, and the stream's further work after the call:
the host waits for neither."""
from __future__ import annotations

import os
import threading

from . import _slangpy

__all__: list[str] = []

_SEEN = 16  # shapes and types that are remembered of one buffer


class _NoRoom(Exception):
    """The driver has no memory that both sides can use for a tensor: the call is to be made through the host."""


class _Buffer:
    """Memory that both sides use: its number in the _Sharing, its size class, and torch's tensor over its bytes. `seen` has a pair of a torch
    tensor and a Tensor for each type and shape that it was lent with."""

    __slots__ = ("number", "size", "bytes", "seen")

    def __init__(self, number, size, bytes):
        self.number, self.size, self.bytes, self.seen = number, size, bytes, {}


class _Lane:
    """What is used in one CUDA stream. The order of the stream is enough to use the same buffers again in the next call: each call ends with the
    stream waiting for the device. `value` is the last one that the semaphore was given."""

    __slots__ = ("stream", "semaphore", "value", "free", "lock")

    def __init__(self, stream, semaphore):
        self.stream, self.semaphore, self.value, self.free, self.lock = stream, semaphore, 0, {}, threading.RLock()


class _Turn:
    """One use of a lane, as a context: buffers are lent, begin() lets the device wait for the stream, end() the stream for the device."""

    def __init__(self, sharing, lane):
        self.sharing, self.lane, self.taken, self.open = sharing, lane, [], False

    def __enter__(self):
        self.lane.lock.acquire()
        return self

    def lend(self, dtype, shape):
        """Returns (torch tensor, Tensor) over the same memory, whose contents are not defined."""
        buffer = self.sharing.take(self.lane, dtype, shape)
        self.taken.append(buffer)
        return self.sharing.look(buffer, dtype, shape)

    def lend_like(self, tensor):
        return self.lend(self.sharing.types[tensor.dtype][0], tuple(tensor.shape))

    def lend_copy(self, tensor):
        """As lend(), with the values of a torch tensor."""
        made = self.lend_like(tensor)
        made[0].copy_(tensor.detach() if tensor.requires_grad else tensor)
        return made

    def begin(self):
        lane = self.lane
        lane.value += 1
        try:
            self.sharing.own.to_device(lane.semaphore, lane.value, lane.stream)
        except _slangpy.Error:
            self.sharing.off = True
            raise
        self.open = True

    def end(self):
        lane = self.lane
        lane.value += 1
        self.open = False
        self.sharing.own.to_cuda(lane.semaphore, lane.value, lane.stream)

    def __exit__(self, kind, error, trace):
        try:
            if self.open:  # the call has failed; what it has recorded may use the buffers
                self.end()
        except _slangpy.Error:
            self.sharing.off = True
            if error is None:
                raise
        finally:
            if not self.sharing.off:
                for buffer in self.taken:
                    self.lane.free.setdefault(buffer.size, []).append(buffer)
            self.lane.lock.release()


def _size_class(size):
    """The least of 256, 320, 384, 448, 512, 640, ... that is not below `size`."""
    if size <= 256:
        return 256
    step = 1 << (size - 1).bit_length() - 3
    return -(-size // step) * step


class Sharing:
    """What a Vulkan device shares with torch on one GPU. own: a _slangpy._Sharing. view(address, size): a torch tensor over bytes of CUDA
    memory. stream(): the handle of torch's current stream. off: a driver's call has failed, and further calls copy through the host."""

    def __init__(self, own, torch, view, stream, fd=lambda: -1):
        self.own, self.torch, self.view, self.stream, self.fd = own, torch, view, stream, fd
        self.lanes, self.off, self.made = {}, False, 0
        self.types = {getattr(torch, mine): (getattr(torch, held), name, size) for mine, held, name, size in (
            ("float32", "float32", "float", 4), ("float64", "float64", "double", 8), ("float16", "float16", "half", 2),
            ("bfloat16", "float32", "float", 4), ("int8", "int8", "int8_t", 1), ("uint8", "uint8", "uint8_t", 1), ("int16", "int16", "int16_t", 2),
            ("uint16", "uint16", "uint16_t", 2), ("int32", "int32", "int", 4), ("uint32", "uint32", "uint", 4), ("int64", "int64", "int64_t", 8),
            ("uint64", "uint64", "uint64_t", 8)) if hasattr(torch, mine)}
        self.by_name = {name: held for held, name, _ in self.types.values()}

    def turn(self):
        stream = self.stream()
        lane = self.lanes.get(stream)
        if lane is None:
            lane = self.lanes.setdefault(stream, _Lane(stream, self.own.semaphore(self.fd())))
        return _Turn(self, lane)

    def take(self, lane, dtype, shape):
        size = self.types[dtype][2]
        for n in shape:
            size *= n
        size = _size_class(size)
        free = lane.free.get(size)
        if free:
            return free.pop()
        try:
            number, address = self.own.memory(size)
        except (_slangpy.Error, MemoryError) as error:
            self.off = self.off or not isinstance(error, MemoryError)  # only a lack of memory may pass
            raise _NoRoom(str(error)) from None
        self.made += 1
        return _Buffer(number, size, self.view(address, size))

    def look(self, buffer, dtype, shape):
        pair = buffer.seen.get((dtype, shape))
        if pair is None:
            if len(buffer.seen) >= _SEEN:
                buffer.seen.clear()
            _, name, size = self.types[dtype]
            for n in shape:
                size *= n
            pair = buffer.seen[dtype, shape] = buffer.bytes[:size].view(dtype).view(shape), self.own.tensor(buffer.number, name, shape)
        return pair

    def close(self, device=None):
        self.off = True
        for lane in self.lanes.values():
            for buffers in lane.free.values():
                for buffer in buffers:
                    buffer.seen.clear()
        self.lanes.clear()
        self.own.close()

    # >>calls

    def stand_ins(self, tensors):
        """Tensors of the same types and shapes, whose contents are not defined, to ask a function about."""
        with self.turn() as turn:
            return [turn.lend_like(t)[1] if t.is_cuda and t.numel() else t for t in tensors]

    def result(self, turn, made):
        """Lends memory to a Tensor that a call has made and lets the device copy it there: torch's tensor, or None for a Tensor of structs."""
        numbers = self.own.numbers(made)
        dtype = self.by_name.get(numbers[0]) if numbers else None
        if dtype is None:
            return None
        held, tensor = turn.lend(dtype, numbers[1])
        self.own.copy(tensor, made)
        return held

    def given(self, held, place):
        """A tensor of torch's own memory with the values of a lent one."""
        made = self.torch.empty(held.shape, dtype=held.dtype, device=place)
        made.copy_(held)
        return made

    def run(self, call, tensors, form, converts):
        """Makes a _Call. Returns its result, as a torch tensor on the GPU if `converts` and it is one of numbers, and the tensors that it wrote.
        form: what the result's type and shape depend on beside the tensors' own, or None if that is not known."""
        try:
            return self._run(call, tensors, form, converts)
        except _NoRoom:
            return self._run_on_host(call, tensors, converts)

    def _run_on_host(self, call, tensors, converts):
        host = [t.cpu() for t in tensors]
        result = call.make(host, "tensor" if converts and call.result_dims is not None else None)
        for i in call.written:
            tensors[i].copy_(host[i])
        return self._done(call, tensors, result.to_torch() if converts and isinstance(result, _slangpy.Tensor) and self.own.numbers(result) else result)

    def _done(self, call, tensors, result):
        if call.result is not None:
            result = tensors[call.result]
        elif isinstance(result, self.torch.Tensor) and not result.is_cuda:
            result = result.to(next(t.device for t in tensors if t.is_cuda))
        return result, [tensors[index] for index in sorted(call.written)]

    def _run(self, call, tensors, form, converts):
        place = next(t.device for t in tensors if t.is_cuda)
        with self.turn() as turn:
            pairs = [(turn.lend_like(t) if i == call.result else turn.lend_copy(t)) if t.is_cuda else (None, t) for i, t in enumerate(tensors)]
            held, key = None, None
            if form is not None and converts:
                key = form, tuple([(t.dtype, t.shape) for t in tensors])
                known = call.results.get(key)
                held, out = turn.lend(*known) if known else (None, None)
            turn.begin()
            lent = [pair[1] for pair in pairs]
            if held is not None:
                call.make(lent, out)
                result = None
            else:
                result = call.make(lent, "tensor" if converts and call.result_dims is not None else None)
                if converts and call.result is None and isinstance(result, _slangpy.Tensor):
                    held = self.result(turn, result)
                    if held is not None and key is not None:
                        if len(call.results) >= 64:
                            call.results.clear()
                        call.results[key] = held.dtype, tuple(held.shape)
            turn.end()
            for i in call.written:
                if pairs[i][0] is not None:
                    tensors[i].copy_(pairs[i][0])
            for i in call.stored:  # as a CUDA device does it: torch's graph does not see it
                if pairs[i][0] is not None:
                    tensors[i].data.copy_(pairs[i][0])
            if held is not None:
                result = self.given(held, place)
        return self._done(call, tensors, result)

    def run_backward(self, call, tensors, wanted, gradients):
        """Makes the backward call of a _Call: one gradient a tensor, None where none is wanted."""
        try:
            return self._run_backward(call, tensors, wanted, gradients)
        except _NoRoom:
            host = [t.cpu() for t in tensors]
            own = [self.torch.zeros_like(t) if w and i not in call.written else None for i, (t, w) in enumerate(zip(host, wanted))]
            call.make_backward(host, own, [g.cpu().contiguous() for g in gradients])
            return [None if g is None else g.to(t.device) for g, t in zip(own, tensors)]

    def _run_backward(self, call, tensors, wanted, gradients):
        with self.turn() as turn:
            lent, own, pairs = [], [], []
            for i, tensor in enumerate(tensors):
                lent.append(turn.lend_copy(tensor)[1] if tensor.is_cuda and i not in call.written else tensor)
                pair = None, None
                if wanted[i] and i not in call.written:
                    if tensor.is_cuda:
                        pair = turn.lend_like(tensor)
                        pair[0].zero_()
                    else:
                        pair = None, self.torch.zeros_like(tensor)
                pairs.append(pair)
                own.append(pair[1])
            gradients = [turn.lend_copy(g)[1] if g.is_cuda else g.contiguous() for g in gradients]
            turn.begin()
            call.make_backward(lent, own, gradients)
            turn.end()
            return [self.given(held, tensor.device) if held is not None else other for (held, other), tensor in zip(pairs, tensors)]


class _Bytes:
    """Bytes of CUDA memory, in the form that torch takes."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "strides": None, "version": 3}


def _view_of(torch, index):
    return lambda address, size: torch.as_tensor(_Bytes(address, size), device=torch.device("cuda", index))


def _open(device, torch, index):
    """A Sharing with torch's GPU of that number, or None, and why."""
    from .interop import _python_stream_of

    if os.name != "posix":
        return None, "sharing with CUDA: only where file descriptors are"
    try:
        with torch.cuda.device(index):
            torch.cuda.synchronize()  # torch makes its context, and makes it current in this thread
            own = _slangpy._Sharing(device)
            made = Sharing(own, torch, _view_of(torch, index), _python_stream_of(torch, index))
    except _slangpy.Error as error:
        return None, str(error)

    def close(device):
        try:
            torch.cuda.synchronize(index)
        finally:
            made.close()

    device.register_device_close_callback(close)
    return made, ""


def sharing_of(device, tensors, torch):
    """The Sharing for a call of a Vulkan device with these tensors, or None if they are to be copied through the host: they are on another GPU
    or on several ones, are empty, sparse or of a type without numbers of the same size, or torch captures a graph."""
    index = None
    opened = device.__dict__.get("_sharings")
    if opened is None:
        opened = device._sharings = {}
    for tensor in tensors:
        if tensor.is_cuda:
            if index is None:
                index = tensor.device.index
                if index not in opened:
                    if torch.cuda.is_current_stream_capturing():  # opening it waits
                        return None
                    opened[index], device._sharing_error = _open(device, torch, index)
                sharing = opened[index]
                if sharing is None or sharing.off:
                    return None
            if tensor.device.index != index or tensor.layout is not torch.strided or tensor.dtype not in sharing.types or not tensor.numel():
                return None
    return None if torch.cuda.is_current_stream_capturing() else sharing
