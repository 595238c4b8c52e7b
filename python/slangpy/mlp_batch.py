"""The batch engine of small networks: src/slang/mlp_batch.slang (CUDA) and mlp_cooperative.slang (Vulkan, forward pass only) say what its
kernels do, and this module which of them run.

    net = BatchNetwork(device, inputs=32, outputs=3, width=64, depth=3)
    net.parameters.copy_from_numpy(...)      # float32; then net.pack()
    y = net.forward(x)                       # x (rows, inputs) of half
    net.step(x, targets, rate=1e-3)          # forward, loss, backward, Adam
"""
from __future__ import annotations

import math

from . import _slangpy
from ._slangpy import Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ACTIVATIONS = ("none", "relu", "leaky_relu", "sigmoid", "tanh")
_SLANG_ACTIVATIONS = {"NoActivation": "none", "ReLU": "relu", "LeakyReLU": "leaky_relu", "Sigmoid": "sigmoid", "Tanh": "tanh"}
LOSSES = ("l2", "l1", "relative_l2", "huber", "given")
ENGINES = ("mma", "wgmma", "cooperative")
_KERNELS = ("mlp_forward", "mlp_gradient", "mlp_update", "mlp_pack", "mlp_gradient_rest")

# For each engine and width: the warps in a group of the forward kernel, the warps in a group of the training kernel (0 means the engine
# does not train this width), and the groups of the forward kernel that run on one multiprocessor at the same time.
_SHAPES = {("mma", 32): (4, 12, 8), ("mma", 64): (4, 8, 4), ("mma", 128): (8, 0, 1),
           ("wgmma", 32): (16, 0, 2), ("wgmma", 64): (20, 8, 1), ("wgmma", 128): (12, 8, 1)}


# The entry points of mlp_cooperative.slang. A group has 8 subgroups of 32 lanes, each of which takes 32 rows at a time; two groups for each of
# an H100's multiprocessors are the fastest, as Vulkan does not say how many there are.
_COOPERATIVE_GROUPS = 264
_COOPERATIVE = """import mlp_cooperative;
[require(spirv, spvCooperativeMatrixKHR, spvCooperativeMatrixConversionsNV)] // Slang's copyFrom() declares the second, and does not use it
[shader("compute")] [numthreads(256, 1, 1)]
void mlp_forward(uint3 group : SV_GroupID, uint3 thread : SV_GroupThreadID, uniform uint4* image, uniform %s* x, uniform %s* y, uniform uint rows, uniform uint groups)
{
    mlp_cooperative_forward(group, thread, image, x, y, rows, groups);
}
[shader("compute")] [numthreads(256, 1, 1)]
void mlp_pack(uint3 group : SV_GroupID, uint3 thread : SV_GroupThreadID, uniform float* parameters, uniform uint4* image)
{
    mlp_cooperative_pack(group.x * 256 + thread.x, parameters, image);
}
"""


def _cooperative_pieces(inputs: int, width: int, depth: int, bias: bool) -> tuple[int, int, int]:
    """Pieces of 16 bytes of the image's weights, of its biases, and of its largest layer."""
    row_i, row_w, padded = (inputs + 15) // 16 * 2 + 1, (width + 15) // 16 * 2 + 1, (width + 15) // 16 * 16
    return padded * (row_i + (depth - 1) * row_w) + 16 * row_w, (depth * padded // 4 + 4) * bias, padded * max(row_i, row_w)


def _cooperative_bytes(inputs: int, width: int, depth: int, bias: bool, layered: bool) -> int:
    """Groupshared memory of a group: the weights of all layers or of one, the biases, and the rows in transit."""
    weights, biases, layer = _cooperative_pieces(inputs, width, depth, bias)
    held = layer + (width + 15) // 16 * 4 * bias if layered else weights + biases
    return 16 * (held + 8 * 2 * 16 * 3)


def _cooperative_problem(info: Any, *, inputs: int, outputs: int, width: int, depth: int, activation: str, bias: bool, training: bool) -> str:
    if not info["features"] & 0x400:  # SPY_FEATURE_COOPERATIVE_MATRIX
        return "cooperative matrices of 16 x 16 halves with float sums are needed (Feature.cooperative_matrix), the %s device '%s' has none" % (info["backend"], info["name"])
    if info["subgroup_size"] != 32 or info["max_group_size"] < 256:
        return "32 lanes of a wave and 256 threads of a group are needed, the device has %d and %d" % (info["subgroup_size"], info["max_group_size"])
    if training:
        return "it has no training kernel"
    for name, value, most in (("width", width, 128), ("depth", depth, 8), ("number of inputs", inputs, 128), ("number of outputs", outputs, 16)):
        if not 1 <= value <= most:
            return "its %s is %d; 1 to %d are possible" % (name, value, most)
    if activation not in ACTIVATIONS:
        return "its activation is %r; %s are possible" % (activation, ", ".join(ACTIVATIONS))
    need = _cooperative_bytes(inputs, width, depth, bias, True)
    if min(need, _cooperative_bytes(inputs, width, depth, bias, False)) > info["max_groupshared_bytes"]:
        return "its forward pass needs %d bytes of groupshared memory, the device has %d" % (need, info["max_groupshared_bytes"])
    return ""


def _forward_warps(engine: str, width: int, inputs: int, dtype: str) -> int:
    warps = _SHAPES[engine, width][0]
    # Loads of rows that are not whole rows of half need more registers, and with 20 warps ptxas then serialises the wgmma instructions
    # (C7512).
    return 16 if warps == 20 and (dtype != "half" or inputs != width) else warps


def _staged_bytes(width: int, depth: int, bias: bool) -> int:
    return depth * width * width * 2 + 16 * width * 2 + (depth * width + 8) * 4 * bias


def _training_bytes(engine: str, width: int, depth: int, bias: bool) -> int:
    """Returns the shared memory of a group of the training kernel, in bytes."""
    weights = (_staged_bytes(width, depth, bias) + 1023) // 1024 * 1024
    warps = _SHAPES[engine, width][1]
    if engine == "wgmma" and width == 128:
        return max(weights + 2 * (3 * 16384 + 1024) + 1024, 2 * width * width * 2 + 2 * 5 * 16384 + 1024 + 512)
    if engine == "wgmma":
        return weights + warps // 4 * ((depth + 3) * 8192 + 1024) + 1024 * bias
    team = (width // 32) ** 2
    rows = 32 * team
    return weights + warps // team * ((depth + 2) * rows * width * 2 + rows * 16)


def _sums_bytes(width: int, depth: int, bias: bool) -> int:
    weights = depth * width * width + 8 * width + (depth * width + 8) * bias + 1
    return (weights + 3) // 4 * 16


def problem(device: Any, *, inputs: int, outputs: int, width: int, depth: int, activation: str = "relu", bias: bool = False,
            engine: str, training: bool = False) -> str:
    """Returns why the engine cannot run such a network on this device; "" if it can. The plain path runs any network."""
    info = device._info()
    if engine == "cooperative":
        return _cooperative_problem(info, inputs=inputs, outputs=outputs, width=width, depth=depth, activation=activation, bias=bias, training=training)
    if info["backend"] != "cuda":
        return "the engine is for CUDA, the device is of backend '%s'" % info["backend"]
    major, minor = (int(i) for i in info["driver"].rsplit(" ", 1)[1].split("."))
    if engine == "wgmma" and (major, minor) != (9, 0):
        return "wgmma needs compute capability 9.0, the device has %d.%d" % (major, minor)
    if major < 8:
        return "mma.sync of halves needs compute capability 8.0, the device has %d.%d" % (major, minor)
    if width not in (32, 64, 128):
        return "its width is %d; the matrix units take 32, 64 and 128" % width
    if not 1 <= depth <= 8:
        return "its depth is %d; 1 to 8 hidden layers are possible" % depth
    if not 1 <= inputs <= width:
        return "it has %d inputs; 1 to %d, its width, are possible" % (inputs, width)
    if not 1 <= outputs <= 8:
        return "it has %d outputs; 1 to 8 are possible" % outputs
    if activation not in ACTIVATIONS:
        return "its activation is %r; %s are possible" % (activation, ", ".join(ACTIVATIONS))
    if training and not _SHAPES[engine, width][1]:
        return "%s has no training kernel of width %d" % (engine, width)
    if training and engine == "wgmma" and width == 128 and depth not in (2, 3):
        return "its depth is %d; wgmma trains 2 or 3 hidden layers of width 128" % depth
    if training and engine == "wgmma" and depth > 4:
        return "its depth is %d; wgmma trains up to 4 hidden layers" % depth
    need = _training_bytes(engine, width, depth, bias) if training else _staged_bytes(width, depth, bias)
    if need > info["max_shared_bytes"]:
        return "its %s needs %d bytes of shared memory, the device has %d" % ("training" if training else "forward pass", need, info["max_shared_bytes"])
    return ""


class BatchNetwork:
    """A network of `depth` hidden layers of `width` and a layer of `outputs`, run by the kernels of the batch engine.

    parameters: float32 tensor with the weights (inputs, outputs) of each layer and then its biases, in the layout of mlp.slang's MLP;
    None makes a tensor. gradients: float32 tensor with a number for each parameter, and then the loss, as step() and gradient() leave
    them. dtype: the type of x, outputs and targets, "half" or "float" (float32). Sums are float32 for both, activations half.
    input_gradient: gradient() can give the gradient of x. engine: "mma", "wgmma" or "cooperative" (Vulkan,
    forward pass only); None means the fastest one that the device has, chosen separately for forward and training."""

    @classmethod
    def of(cls, network: Any, **options: Any) -> BatchNetwork:
        """Makes a BatchNetwork of a Network of slangpy.mlp, with its parameters, and packs it. options: loss, dtype, input_gradient,
        engine."""
        if network.activation not in _SLANG_ACTIVATIONS:
            raise ValueError("BatchNetwork.of: expected an activation of %s, got %r" % (", ".join(_SLANG_ACTIVATIONS), network.activation))
        if network.output_activation != "NoActivation":
            raise ValueError("BatchNetwork.of: expected the output activation 'NoActivation', got %r" % (network.output_activation,))
        if network.dtype == "half":
            raise ValueError("BatchNetwork.of: expected parameters of 'float' or 'mixed', got %r" % (network.dtype,))
        made = cls(network.device, network.inputs, network.outputs, network.width, network.depth, bias=network.bias,
                   activation=_SLANG_ACTIVATIONS[network.activation], parameters=network.parameters, **options)
        made.pack()
        return made

    def __init__(self, device: Any, inputs: int, outputs: int, width: int = 64, depth: int = 3, *, activation: str = "relu", loss: str = "l2",
                 bias: bool = False, dtype: str = "half", input_gradient: bool = False, engine: str | None = None,
                 parameters: Tensor | None = None) -> None:
        if loss not in LOSSES:
            raise ValueError("BatchNetwork: argument 'loss': expected one of %s, got %r" % (", ".join(LOSSES), loss))
        if dtype not in ("half", "float"):
            raise ValueError("BatchNetwork: argument 'dtype': expected 'half' or 'float', got %r" % (dtype,))
        if engine is not None and engine not in ENGINES:
            raise ValueError("BatchNetwork: argument 'engine': expected one of %s, got %r" % (", ".join(ENGINES), engine))
        self.device, self.inputs, self.outputs, self.width, self.depth = device, inputs, outputs, width, depth
        self.activation, self.loss, self.bias, self.dtype, self.input_gradient = activation, loss, bias, dtype, input_gradient
        network: dict[str, Any] = dict(inputs=inputs, outputs=outputs, width=width, depth=depth, activation=activation, bias=bias)
        self.engines: dict[bool, str] = {}  # the engine for training (True) and for forward calls (False)
        self.reasons: dict[bool, list[str]] = {}
        for training in (False, True):
            self.reasons[training] = []
            for name in ((engine,) if engine else ("wgmma", "mma") if device._info()["backend"] == "cuda" else ("cooperative",)):
                why = problem(device, engine=name, training=training, **network)
                if not why:
                    self.engines[training] = name
                    break
                self.reasons[training].append("%s: %s" % (name, why))
        if False not in self.engines:
            raise ValueError("BatchNetwork: expected a network that an engine runs, got one that none does: %s" % "; ".join(self.reasons[False]))
        self._cooperative = self.engines[False] == "cooperative"
        self._flags = 2 * bias + 4 * (dtype == "float") + 8 * input_gradient
        if self._cooperative:
            self._module = _slangpy.Module.load_from_source(device, "mlp_cooperative_" + dtype, _COOPERATIVE % (dtype, dtype))
        else:
            self._module = _slangpy.Module.load_from_source(device, "mlp_batch_net", "import mlp_batch;\n")
        self.parameter_count = width * (inputs + (depth - 1) * width + outputs) + (depth * width + outputs) * bias
        zeros = Tensor.zeros
        if parameters is not None:
            self._check("BatchNetwork", "parameters", parameters, (self.parameter_count,))
        self.parameters: Tensor = zeros(device, (self.parameter_count,), "float") if parameters is None else parameters
        self.gradients = zeros(device, (self.parameter_count + 1,), "float")
        self._state = zeros(device, (2 * self.parameter_count,), "float")
        image = ((depth + 1) * width * width * 2 + 16 * width * 2 + (depth * width + 8) * 4 * bias) // 16
        if width == 128 and depth in (2, 3):
            image += width * width * 2 // 16
        if self._cooperative:
            image = sum(_cooperative_pieces(inputs, width, depth, bias)[:2])
        self._pieces = image
        self._image = zeros(device, (image,), "uint4")
        self._groups = device._info()["multiprocessor_count"] or 1
        self._part: Any = None  # partial sums; made by the first training step
        self._between: Any = None
        self._no_dx = zeros(device, (1,), "float")
        self._functions: dict[Any, Any] = {}

    def _constants(self, name: str, training: bool, warps: int) -> dict[str, int]:
        return dict(mlp_width=self.width, mlp_depth=self.depth, mlp_inputs=self.inputs, mlp_outputs=self.outputs,
                    mlp_activation=ACTIVATIONS.index(self.activation), mlp_loss=LOSSES.index(self.loss), mlp_flags=self._flags,
                    mlp_engine=ENGINES.index(self.engines.get(training, "mma")), mlp_warps=warps, mlp_kernel=_KERNELS.index(name.removesuffix("_float")))

    def _cooperative_function(self, name: str) -> Any:
        f = self._functions.get(name)
        if f is None:
            info = self.device._info()
            layered = _cooperative_bytes(self.inputs, self.width, self.depth, self.bias, False) > info["max_groupshared_bytes"]
            found: Any = self._module.find_function(name)
            f = self._functions[name] = found.constants(dict(
                mlp_width=self.width, mlp_depth=self.depth, mlp_inputs=self.inputs, mlp_outputs=self.outputs, mlp_activation=ACTIVATIONS.index(self.activation),
                mlp_bias=int(self.bias), mlp_float=int(self.dtype == "float"), mlp_layered=int(layered), mlp_conversion=int(self._converts())))
        return f

    def _converts(self) -> bool:
        return bool(self.device._info()["features"] & 0x800)  # SPY_FEATURE_COOPERATIVE_MATRIX_CONVERSIONS

    def _named(self, name: str) -> str:
        return name + "_float" if self.dtype == "float" else name

    def _function(self, name: str, training: bool, warps: int, shared_bytes: int) -> Any:
        f = self._functions.get((name, training))
        if f is None:
            found: Any = self._module.find_function(name)
            f = found.thread_group_size(warps * 32).shared_bytes(shared_bytes).constants(self._constants(name, training, warps))
            self._functions[name, training] = f
        return f

    def _rows(self, name: str, x: Any) -> int:
        shape = tuple(x.shape)
        if len(shape) != 2 or shape[1] != self.inputs:
            raise ValueError("%s: argument 'x': expected shape (rows, %d), got %s" % (name, self.inputs, shape))
        if shape[0] > 1 << 30:
            raise ValueError("%s: argument 'x': expected at most 2**30 rows, got %d" % (name, shape[0]))
        if self._cooperative and shape[0] * max(self.inputs, self.outputs) >= 1 << 32:  # the kernel's indices have 32 bits
            raise ValueError("%s: argument 'x': expected fewer than 2**32 inputs and outputs in all, got %d rows" % (name, shape[0]))
        self._check(name, "x", x, shape)
        return int(shape[0])

    def _check(self, name: str, argument: str, value: Any, shape: tuple[int, ...]) -> None:
        """Raises an error unless a tensor fits the kernels, which read and write rows without gaps, 16 bytes at a time."""
        if tuple(value.shape) != shape:
            raise ValueError("%s: argument '%s': expected shape %s, got %s" % (name, argument, shape, tuple(value.shape)))
        contiguous = getattr(value, "is_contiguous", None)
        if contiguous is not None and not contiguous():
            raise ValueError("%s: argument '%s': expected rows without gaps, got a view with strides" % (name, argument))
        address = value.device_address if isinstance(value, Tensor) else value.data_ptr() if hasattr(value, "data_ptr") else 0
        if address % 16:
            raise ValueError("%s: argument '%s': expected memory at a multiple of 16 bytes, got address %d" % (name, argument, address))

    @property
    def steps(self) -> int:
        """The number of steps that have changed the parameters. Waits for them."""
        return 0 if self._part is None else int(self._part.to_numpy()[1])

    def check(self) -> None:
        """Raise slangpy.Error if a step had a loss or a gradient that is infinite or NaN; it names the first such step. A loss that is
        not finite changes no parameter; a gradient that is not finite leaves its own parameter as it is. Waits for the device."""
        if self._part is None:
            return
        counts = self._part[0:4].to_numpy()
        if counts[2]:
            failed = int(counts[2])
            counts[2] = 0
            self._part[0:4].copy_from_numpy(counts)
            raise _slangpy.Error("BatchNetwork.check: step %d had a loss or gradients that are not finite; %d steps have moved the parameters"
                                 % (failed, int(counts[1])))

    def pack(self) -> None:
        """Write the kernels' form of the weights, after `parameters` were written."""
        if self._cooperative:
            self._cooperative_function("mlp_pack").dispatch([-(-self._pieces // 256) * 256, 1, 1], parameters=self.parameters, image=self._image)
            return
        groups = min((self.parameter_count + 255) // 256, 4 * self._groups)
        self._function("mlp_pack", False, 8, 0).dispatch([groups * 256, 1, 1], parameters=self.parameters, image=self._image)

    def forward(self, x: Any, y: Any = None, *, command_encoder: Any = None) -> Any:
        """Returns y (rows, outputs) for x (rows, inputs), whose rows follow each other without gaps."""
        rows = self._rows("BatchNetwork.forward", x)
        engine = self.engines[False]
        if y is None:
            y = Tensor.empty(self.device, (rows, self.outputs), self.dtype)
        elif len(y.shape) != 2 or y.shape[0] < rows:
            raise ValueError("BatchNetwork.forward: argument 'y': expected shape (%d, %d), got %s" % (rows, self.outputs, tuple(y.shape)))
        else:
            self._check("BatchNetwork.forward", "y", y, (y.shape[0], self.outputs))
        if rows and self._cooperative:
            groups = min(_COOPERATIVE_GROUPS, -(-rows // 256))
            self._cooperative_function("mlp_forward").dispatch([groups * 256, 1, 1], image=self._image, x=x, y=y, rows=rows, groups=groups, command_encoder=command_encoder)
        elif rows:
            resident, warps = _SHAPES[engine, self.width][2], _forward_warps(engine, self.width, self.inputs, self.dtype)
            tiles = -(-rows // (64 if engine == "wgmma" else 32))
            groups = min(self._groups * resident, -(-tiles // (warps // 4 if engine == "wgmma" else warps)))
            f = self._function(self._named("mlp_forward"), False, warps, _staged_bytes(self.width, self.depth, self.bias))
            f.dispatch([groups * warps * 32, 1, 1], image=self._image, x=x, y=y, rows=rows, command_encoder=command_encoder)
        return y

    def _sums(self, what: str, x: Any, targets: Any, dx: Any, up: float, dx_scale: float, command_encoder: Any) -> int:
        """Leaves rows of partial sums in self._part and returns their number. Errors name the method `what`."""
        rows = self._rows(what, x)
        if True not in self.engines:
            raise ValueError("%s: expected a network that an engine trains, got one that none does: %s" % (what, "; ".join(self.reasons[True])))
        self._check(what, "targets", targets, (rows, self.outputs))
        if dx is not None:
            self._check(what, "dx", dx, (dx.shape[0], self.inputs))
            if dx.shape[0] < rows:
                raise ValueError("%s: argument 'dx': expected at least %d rows, got %d" % (what, rows, dx.shape[0]))
        engine = self.engines[True]
        warps = _SHAPES[engine, self.width][1]
        if self._part is None:
            self._part = Tensor.zeros(self.device, (4 + self._groups * (_sums_bytes(self.width, self.depth, self.bias) // 4),), "float")
        team = 4 if engine == "wgmma" else (self.width // 32) ** 2
        wide = engine == "wgmma" and self.width == 128
        tiles = -(-rows // (64 if engine == "wgmma" else 32 * team))
        groups = max(1, min(self._groups, -(-tiles // (warps // team))))
        if wide and (self._between is None or self._between.shape[0] < rows):
            self._between = Tensor.empty(self.device, (rows, 64), "float")  # 128 halves for each row
        last = dx if dx is not None else self._no_dx
        f = self._function(self._named("mlp_gradient"), True, warps, _training_bytes(engine, self.width, self.depth, self.bias))
        f.dispatch([groups * warps * 32, 1, 1], image=self._image, x=x, targets=targets, part=self._part, dx=self._between if wide else last,
                   rows=rows, up=up, dx_scale=dx_scale, command_encoder=command_encoder)
        if wide:
            f = self._function(self._named("mlp_gradient_rest"), True, warps, _training_bytes(engine, self.width, self.depth, self.bias))
            f.dispatch([groups * warps * 32, 1, 1], image=self._image, x=x, between=self._between, part=self._part, dx=last, rows=rows, dx_scale=dx_scale,
                       command_encoder=command_encoder)
        return groups

    def _update(self, groups: int, scale: float, loss_scale: float, mode: int, rate: float = 0, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8,
                command_encoder: Any = None) -> None:
        f = self._function("mlp_update", True, 8, 8 * 33 * 4)
        f.dispatch([-(-(self.parameter_count + 1) // 32) * 256, 1, 1], part=self._part, gradients=self.gradients, parameters=self.parameters, state=self._state,
                   image=self._image, scales=_slangpy.float4(scale, loss_scale, rate, epsilon), betas=_slangpy.float4(*betas, *[math.log(b) if b > 0 else -1e30 for b in betas]),
                   rows_mode=_slangpy.uint2(groups, mode), command_encoder=command_encoder)

    def _scales(self, x: Any) -> tuple[float, float]:
        n = max(int(x.shape[0]) * self.outputs, 1)
        return (1.0, 1.0) if self.loss == "given" else (1.0 / n, 1.0 / n)

    def gradient(self, x: Any, targets: Any, dx: Any = None, up: float = 1, *, command_encoder: Any = None) -> None:
        """Fills `gradients` with the gradients of the loss's mean over all outputs, and with the loss; fills dx (rows, inputs), float32,
        with the gradient of x. loss="given": targets are the gradients of the outputs. up: the factor of the outputs' gradients before
        they become half."""
        if (dx is not None) != self.input_gradient:
            raise ValueError("BatchNetwork.gradient: argument 'dx': expected %s" % ("a tensor" if self.input_gradient else "none without input_gradient=True"))
        scale, loss_scale = self._scales(x)
        self._update(self._sums("BatchNetwork.gradient", x, targets, dx, up, scale / up, command_encoder), scale / up, loss_scale, 0, command_encoder=command_encoder)

    def step(self, x: Any, targets: Any, rate: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), epsilon: float = 1e-8, up: float = 1,
             optimizer: str = "adam", *, command_encoder: Any = None) -> None:
        """Make one training step: forward, loss, backward, then Adam or plain descent ("sgd"). A loss that is not finite changes no
        parameter."""
        if optimizer not in ("adam", "sgd"):
            raise ValueError("BatchNetwork.step: argument 'optimizer': expected 'adam' or 'sgd', got %r" % (optimizer,))
        scale, loss_scale = self._scales(x)
        groups = self._sums("BatchNetwork.step", x, targets, self._dx_scratch(x), up, scale / up, command_encoder)
        self._update(groups, scale / up, loss_scale, 1 if optimizer == "adam" else 2, rate, betas, epsilon, command_encoder)

    def _dx_scratch(self, x: Any) -> Any:
        return Tensor.empty(self.device, tuple(x.shape), "float") if self.input_gradient else None

    def explain(self) -> str:
        """Returns a text that says which kernels run, and why not others."""
        text = []
        for training, what in ((False, "forward"), (True, "training")):
            engine = self.engines.get(training)
            text.append("%s: %s" % (what, engine or "none"))
            if engine == "cooperative":
                text[-1] += ": cooperative matrices, " + ("inputs converted from sums (VK_NV_cooperative_matrix2)" if self._converts() else "inputs through groupshared memory")
            text += ["  not " + reason for reason in self.reasons[training]]
        return "\n".join(text)
