"""The host side of networks for Slang functions that `import mlp;`: parameters, initial values, optimisers, checkpoints. docs/mlp.md is
the guide."""
from __future__ import annotations

import contextlib
import json
import math
import os
import struct

import numpy as np

from ._slangpy import Error, Module, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ._slangpy import Function
    from .device import Device
    from .encoders import CommandEncoder

__all__ = ["ACTIVATIONS", "Adam", "Network", "Optimizer", "SGD", "load_tensors", "save_tensors", "torch_module"]

# Slang's structs with these names. Other structs that implement IActivation can be named as well.
ACTIVATIONS = ("NoActivation", "ReLU", "LeakyReLU", "Sigmoid", "Tanh", "SiLU", "Sine")
_SATURATING = ("Sigmoid", "Tanh")


def _function(device: Device, name: str) -> Function:
    """Returns a function of mlp.slang. Its module lives as long as the device's object."""
    module: Any = getattr(device, "_mlp_module", None)
    if module is None:
        module = Module.load_from_source(device, "slangpy_mlp", "__exported import mlp;")
        setattr(device, "_mlp_module", module)
    found: Function = module.find_function(name)
    return found


def _uniform(count: int, seed: int) -> np.ndarray[Any, Any]:
    """Returns random numbers in 0..1: spyi_uniform() of mlp_training.slang for each index."""
    state = (np.arange(count, dtype=np.uint32) + np.uint32(seed * 2654435761 % 2**32)) * np.uint32(747796405) + np.uint32(2891336453)
    word = ((state >> ((state >> 28) + 4)) ^ state) * np.uint32(277803737)
    return (((word >> 22) ^ word) >> 8).astype(np.float32) / np.float32(16777216)


class Network:
    """The parameters of an MLP<inputs, outputs, width, depth, activation, output_activation, bias, dtype> in one tensor with gradients,
    which functions take as this object or as its `parameters`. Weights are drawn by He's rule, or by Xavier's where the activation is
    Sigmoid or Tanh; init="he" or "xavier" says which, init=None leaves zeros. The same seed gives the same numbers on every device.
    dtype: "float"; "half"; or "mixed", float parameters for a network that may round to half, so that the matrix units run it.
    """

    def __init__(
        self, device: Device, inputs: int, outputs: int, width: int = 0, depth: int = 0, activation: str = "ReLU",
        output_activation: str = "NoActivation", bias: bool = False, dtype: str = "float", seed: int = 0, init: str | None = "",
    ) -> None:
        for name, value, least in (("inputs", inputs, 1), ("outputs", outputs, 1), ("depth", depth, 0), ("width", width, 1 if depth else 0)):
            if not isinstance(value, int) or value < least:
                raise ValueError(f"Network: '{name}': expected an int of at least {least}, got {value!r}")
        if dtype not in ("float", "half", "mixed"):
            raise ValueError(f"Network: 'dtype': expected 'float', 'half' or 'mixed', got {dtype!r}")
        if init not in ("", None, "he", "xavier"):
            raise ValueError(f"Network: 'init': expected 'he', 'xavier' or None, got {init!r}")
        self.device = device
        self.inputs, self.outputs, self.width, self.depth = inputs, outputs, width if depth else 0, depth
        self.activation, self.output_activation, self.bias, self.dtype = activation, output_activation, bool(bias), dtype
        shape = (inputs, outputs) if depth == 0 and not bias else (sum((r + self.bias) * c for r, c in self._sizes()),)
        data = np.zeros(shape, np.float16 if dtype == "half" else np.float32)
        self.parameters: Tensor = Tensor.from_numpy(device, data).with_grads()
        if init is not None:
            self.initialize(init or ("xavier" if activation in _SATURATING else "he"), seed)

    def _sizes(self) -> list[tuple[int, int]]:
        sizes = [self.inputs, *[self.width] * self.depth, self.outputs]
        return list(zip(sizes, sizes[1:]))

    @property
    def slang_type(self) -> str:
        """The Slang type that takes the parameters: 'MLP<32, 8, 64, 2, ReLU, NoActivation, 0, float>'."""
        return (f"MLP<{self.inputs}, {self.outputs}, {self.width}, {self.depth}, {self.activation}, {self.output_activation}, "
                f"{int(self.bias)}, {'Mixed' if self.dtype == 'mixed' else self.dtype}>")

    def get_this(self) -> Tensor:
        """get_this(): returns the value that calls get in place of this object."""
        return self.parameters

    def update_this(self, value: Any) -> None:
        """update_this(value): does nothing, because a call leaves this object as it is."""

    def initialize(self, scheme: str, seed: int = 0) -> None:
        """Draw new weights, uniform within He's ("he") or Xavier's ("xavier") bounds; biases become 0."""
        # The same numbers as first_weight() of mlp_training.slang, without a kernel to compile.
        drawn, at = 2 * _uniform(math.prod(self.parameters.shape), seed) - 1, 0
        for rows, columns in self._sizes():
            end = at + rows * columns
            drawn[at:end] *= np.sqrt(np.float32(6) / np.float32(rows + columns if scheme == "xavier" else rows))
            at = end + self.bias * columns
            drawn[end:at] = 0
        kind = np.float16 if self.dtype == "half" else np.float32
        self.parameters.copy_from_numpy(drawn.reshape(tuple(self.parameters.shape)).astype(kind))

    def views(self, tensor: Tensor | None = None) -> dict[str, Tensor]:
        """Returns views of the parameters by name: 'layers.0.weight' of shape (inputs, outputs), with bias also 'layers.0.bias', and so
        on; or the same views of another tensor with the parameters' shape."""
        tensor = self.parameters if tensor is None else tensor
        flat = tensor.view((math.prod(tensor.shape),))
        at, found = 0, {}
        for k, (rows, columns) in enumerate(self._sizes()):
            found[f"layers.{k}.weight"] = flat[at:at + rows * columns].view((rows, columns))
            at += rows * columns
            if self.bias:
                found[f"layers.{k}.bias"] = flat[at:at + columns]
                at += columns
        return found

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the parameters to a file in safetensors' layout, by the names of views()."""
        save_tensors(path, {name: view.to_numpy() for name, view in self.views().items()}, {"slangpy.mlp": self.slang_type})

    def load(self, path: str | os.PathLike[str]) -> None:
        """Read parameters that save(), or another program, wrote. The file of another network is refused and changes nothing."""
        arrays = load_tensors(path)
        pieces, kind = [], np.float16 if self.dtype == "half" else np.float32
        sizes: dict[str, tuple[int, ...]] = {f"layers.{k}.weight": s for k, s in enumerate(self._sizes())}
        if self.bias:
            sizes.update({f"layers.{k}.bias": s[1:] for k, s in enumerate(self._sizes())})
        for name in sorted(sizes, key=lambda n: (int(n.split(".")[1]), n.endswith("bias"))):
            got = arrays.get(name)
            if got is None or got.shape != sizes[name] or got.dtype != kind:
                what = "no such tensor" if got is None else f"{got.dtype} {got.shape}"
                raise Error(f"Network.load: '{os.fspath(path)}': expected '{name}' as {np.dtype(kind)} {sizes[name]}, got {what}: "
                            f"it is not a checkpoint of {self.slang_type}")
            pieces.append(got.ravel())
        if extra := sorted(set(arrays) - set(sizes)):
            raise Error(f"Network.load: '{os.fspath(path)}': it also holds '{extra[0]}': it is not a checkpoint of {self.slang_type}")
        self.parameters.copy_from_numpy(np.concatenate(pieces).reshape(tuple(self.parameters.shape)))


# >>optimisers


class Optimizer:
    """The base class of SGD and Adam: parameters, which are a Network or tensors with gradients, of float or half; the learning rate; the
    number of steps. Rate and steps are in device memory, so that a recorded step() uses their current values. loss_scale: the factor of
    the loss, so that small gradients in half do not become 0. Of parameters of half it keeps the values as floats, so that small steps
    add up; a value that the program writes between two steps is where the next one begins."""

    def __init__(self, parameters: Network | Tensor | Sequence[Network | Tensor], rate: float, loss_scale: float = 1.0) -> None:
        given = parameters if isinstance(parameters, (list, tuple)) else [parameters]
        self.parameters: list[Tensor] = [p.parameters if isinstance(p, Network) else p for p in given]
        if not self.parameters:
            raise ValueError(f"{type(self).__name__}: 'parameters': expected a Network or tensors with gradients, got an empty list")
        for p in self.parameters:
            if not isinstance(p, Tensor) or p.grad_out is None:
                raise ValueError(f"{type(self).__name__}: 'parameters': expected a Network or tensors with gradients, got "
                                 f"{'one without' if isinstance(p, Tensor) else type(p).__name__}")
            if p.dtype.full_name not in ("float", "half"):
                raise ValueError(f"{type(self).__name__}: 'parameters': expected tensors of float or half, got one of {p.dtype.full_name}")
        self.device: Device = self.parameters[0].device
        self.loss_scale = loss_scale
        self._masters = [Tensor.zeros(self.device, p.shape) if p.dtype.full_name == "half" else None for p in self.parameters]
        self._rate = Tensor.from_numpy(self.device, np.array([rate], np.float32))
        self._state = Tensor.from_numpy(self.device, np.zeros(2, np.int32))

    @property
    def rate(self) -> float:
        """The learning rate."""
        return float(self._rate.to_numpy()[0])

    @rate.setter
    def rate(self, value: float) -> None:
        self._rate.copy_from_numpy(np.array([value], np.float32))

    @property
    def steps(self) -> int:
        """The number of steps so far."""
        return int(self._state.to_numpy()[0])

    @steps.setter
    def steps(self, value: int) -> None:
        self._state.copy_from_numpy(np.array([value, 0], np.int32))

    def step(self, encoder: CommandEncoder | None = None) -> None:
        """Change the parameters by their gradients, and set the gradients to 0. With an encoder the step is recorded. If a gradient is
        infinite or NaN, the parameters stay as they are from this step on, until check()."""
        for name, *args in self._calls():
            function = _function(self.device, name)
            if encoder is None:
                function(*args)
            else:
                function.append_to(encoder, *args)

    def check(self) -> None:
        """Raise slangpy.Error if a step had a gradient that is infinite or NaN; it names the first such step. Waits for the device."""
        done, failed = (int(n) for n in self._state.to_numpy())
        if failed:
            self._state.copy_from_numpy(np.array([done, 0], np.int32))
            raise Error(f"{type(self).__name__}.check: step {failed} had gradients that are not finite; the parameters are those of step {done}")

    def _calls(self) -> list[tuple[Any, ...]]:
        """Returns the calls of a step, as names of mlp.slang's functions and their arguments."""
        return [
            *(("check_gradient", p.grad_out, self._state) for p in self.parameters), ("begin_step", self._state),
            *(self._update(k) for k in range(len(self.parameters)))]

    def _update(self, number: int) -> tuple[Any, ...]:
        raise NotImplementedError

    def _update_by(self, name: str, number: int, *rest: Any) -> tuple[Any, ...]:
        """Returns the call of the function `name` for a tensor of parameters; for one of half that of its form for halves."""
        parameters, master = self.parameters[number], self._masters[number]
        if master is None:
            return (name, parameters, parameters.grad_out, *rest)
        return (name + "_half", parameters, parameters.grad_out, master, *rest)

    def _prepare(self) -> None:
        """Let the kernels of step() compile while the program goes on; step() raises what is wrong with them."""
        with contextlib.suppress(Error):
            for name, *args in self._calls():
                _function(self.device, name).prepare(*args)


class SGD(Optimizer):
    """Gradient descent."""

    def __init__(self, parameters: Network | Tensor | Sequence[Network | Tensor], rate: float = 1e-2, loss_scale: float = 1.0) -> None:
        super().__init__(parameters, rate, loss_scale)
        self._prepare()

    def _update(self, number: int) -> tuple[Any, ...]:
        return self._update_by("sgd", number, self._rate, self.loss_scale, self._state)


class Adam(Optimizer):
    """Adam, by Kingma and Ba (2015)."""

    def __init__(
        self, parameters: Network | Tensor | Sequence[Network | Tensor], rate: float = 1e-3, beta1: float = 0.9, beta2: float = 0.999,
        loss_scale: float = 1.0,
    ) -> None:
        super().__init__(parameters, rate, loss_scale)
        self.beta1, self.beta2 = beta1, beta2
        self._moments = [(Tensor.zeros(self.device, p.shape), Tensor.zeros(self.device, p.shape)) for p in self.parameters]
        self._prepare()

    def _update(self, number: int) -> tuple[Any, ...]:
        mean, square = self._moments[number]
        return self._update_by("adam", number, mean, square, self._rate, self.beta1, self.beta2, self.loss_scale, self._state)


# >>files in safetensors' layout: eight bytes with the length of a JSON text, the text, then the tensors' bytes.
# Source: https://huggingface.co/docs/safetensors, "Format".

_TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8,
          "U64": np.uint64, "U32": np.uint32, "U16": np.uint16, "U8": np.uint8, "BOOL": np.bool_}
_NAMES = {np.dtype(v): k for k, v in _TYPES.items()}


def save_tensors(path: str | os.PathLike[str], tensors: Mapping[str, Any], metadata: Mapping[str, str] | None = None) -> None:
    """Write arrays or tensors by name to a file in safetensors' layout. The file appears complete or not at all."""
    head: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    blocks, at = [], 0
    for name, tensor in tensors.items():
        array = np.asarray(tensor.to_numpy() if isinstance(tensor, Tensor) else tensor)
        if array.dtype not in _NAMES:
            raise ValueError(f"save_tensors: '{name}': expected numbers or bools, got {array.dtype}")
        block = array.astype(array.dtype.newbyteorder("<")).tobytes()
        head[name] = {"dtype": _NAMES[array.dtype], "shape": list(array.shape), "data_offsets": [at, at + len(block)]}
        blocks.append(block)
        at += len(block)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    temporary = os.fspath(path) + ".part"
    with open(temporary, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blocks))
    os.replace(temporary, path)


def load_tensors(path: str | os.PathLike[str]) -> dict[str, np.ndarray[Any, Any]]:
    """Returns the arrays in a file in safetensors' layout, by name. Raises slangpy.Error with the reason if the file is cut off or in
    another format."""
    with open(path, "rb") as file:
        data = file.read()

    def wrong(what: str) -> Error:
        return Error(f"load_tensors: '{os.fspath(path)}': expected a file in safetensors' layout, got {what}")

    size = struct.unpack_from("<Q", data)[0] if len(data) >= 8 else 0
    if len(data) < 8 or size > len(data) - 8:
        raise wrong(f"{len(data)} bytes, which end within its head: it is cut off, or another kind of file")
    try:
        head = json.loads(data[8:8 + size])
        entries = {}
        for name, e in head.items():
            if name != "__metadata__":
                begin, end = map(int, e["data_offsets"])
                entries[name] = str(e["dtype"]), tuple(int(n) for n in e["shape"]), begin, end
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise wrong("a head that is none") from error
    arrays: dict[str, Any] = {}
    for name, (kind, shape, begin, end) in entries.items():
        if kind not in _TYPES:
            raise wrong(f"'{name}' of the type {kind!r}")
        if min((0, *shape)) < 0 or not 0 <= begin <= end or end - begin != math.prod(shape) * np.dtype(_TYPES[kind]).itemsize:
            raise wrong(f"'{name}' of shape {shape} in {end - begin} bytes")
        if len(shape) > 32 or max((0, *shape)) >= 1 << 48:
            raise wrong(f"'{name}' of shape {shape}")
        if 8 + size + end > len(data):
            raise wrong(f"{len(data)} bytes, but '{name}' ends at {8 + size + end}: it is cut off")
        arrays[name] = np.frombuffer(data, np.dtype(_TYPES[kind]).newbyteorder("<"), math.prod(shape), 8 + size + begin).reshape(shape).astype(_TYPES[kind])
    return arrays


# >>torch


def torch_module(network: Network) -> Any:
    """Returns a torch.nn.Module with a copy of the network's parameters, `parameters_`, as one nn.Parameter: module(x) for x of shape
    (..., inputs) gives (..., outputs), and torch trains it. Needs torch."""
    import torch  # type: ignore[import-not-found,unused-ignore]

    source = (f"import mlp; [Differentiable] float[{network.outputs}] run({network.slang_type} net, float x[{network.inputs}])"
              " { return net.run(x); }")
    label = "".join(c if c.isalnum() else "_" for c in network.slang_type)
    run: Any = Module.load_from_source(network.device, f"slangpy_mlp_{label}", source).find_function("run")

    class MLP(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.parameters_ = torch.nn.Parameter(torch.from_numpy(network.parameters.to_numpy()))

        def forward(self, x: Any) -> Any:
            return run(self.parameters_, x)

    return MLP()
