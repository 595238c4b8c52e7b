"""slang-torch's interface: slangpy.loadModule(), and `import slangtorch` as another name of this module. No C++ compiler, ninja or nvcc is
needed: kernels are compiled by NVRTC.

    m = slangpy.loadModule("square.slang")
    m.square(input=a, output=b).launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))
    m.square.bwd(input=(a, a_grad), output=(b, b_grad)).launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))

Host functions, [TorchEntryPoint], are refused by name: write what they do in Python, with torch's own functions to make tensors.
"""
from __future__ import annotations

import collections
import os
import sys
import warnings

from . import _slangpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .device import Device

__all__ = ["loadModule", "clearSessionShaderCache", "clearPersistentShaderCache", "clearShaderCaches"]

_devices: dict[int, Any] = {}  # of torch's GPUs, by number
_modules: dict[Any, Any] = {}  # by path, defines, include paths and device


def _device_of_torch():
    import torch  # type: ignore[import-not-found,unused-ignore]

    from .interop import create_torch_device

    index = torch.cuda.current_device() if torch.cuda.is_available() else 0
    device = _devices.get(index)
    if device is None or device.is_closed:
        device = _devices[index] = create_torch_device(torch_device=index)
    return device


def loadModule(fileName: str | os.PathLike[str], skipSlang: bool | None = None, verbose: bool = False,
               defines: Mapping[str, Any] = {}, includePaths: Sequence[str] = [], skipNinjaCheck: bool = False,
               device: Device | None = None) -> TorchModule:
    """loadModule(fileName, defines={}, includePaths=[], device=None): loads a .slang file with [CudaKernel] functions. `defines` are macros of
    its text. `device`: a CUDA Device; without one, that of torch's current GPU. A file that has been loaded with the same options gives the
    same module again, with its present text. skipSlang, verbose and skipNinjaCheck are slang-torch's and change nothing."""
    path = os.path.abspath(os.fspath(fileName))
    if not os.path.exists(path):
        raise FileNotFoundError("loadModule: there is no file '{}'".format(path))
    if device is None:
        device = _device_of_torch()
    macros = {str(name): "" if value is None else str(value) for name, value in defines.items()}
    key = path, tuple(sorted(macros.items())), tuple(map(os.fspath, includePaths)), id(device)
    known = _modules.get(key)
    if known is not None and known._stamp == os.stat(path).st_mtime_ns:
        return known
    folders = [os.path.dirname(path), *map(os.fspath, includePaths)]
    module = _slangpy.Module.load_from_file(device, path, {"defines": macros, "include_paths": folders})
    made = _modules[key] = TorchModule(module, device, path, os.stat(path).st_mtime_ns)
    return made


def clearSessionShaderCache() -> None:
    """Forgets the modules that loadModule() has loaded."""
    _modules.clear()


def clearPersistentShaderCache(moduleKey: str | None = None) -> None:
    """Removes what earlier starts have kept on disk: `python -m slangpy cache clear`."""
    from . import disk_cache

    folder = disk_cache.folder()
    if folder is not None:
        disk_cache.clear(folder)


def clearShaderCaches() -> None:
    """Does both."""
    clearSessionShaderCache()
    clearPersistentShaderCache()


class TorchModule:
    """A module that loadModule() has loaded: its kernels are attributes, and so are its structs, as named tuples."""

    def __init__(self, module, device, path, stamp):
        self._module, self._device, self._path, self._stamp = module, device, path, stamp
        self._found = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self._found.get(name)
        if found is None:
            found = self._found[name] = self._find(name)
        return found

    def _find(self, name):
        function = self._module.find_function(name)
        if function is not None:
            return TorchKernel(self, function, name)
        struct = self._module.find_struct(name)
        if struct is not None:
            return collections.namedtuple(name, [str(field) for field in struct.fields])
        raise AttributeError("module '{}' has no kernel or struct '{}'".format(os.path.basename(self._path), name))

    def __repr__(self):
        return "<slangpy.TorchModule {}>".format(self._path)


class TorchKernel:
    """A [CudaKernel] function of a module. kernel(**arguments) gives a launch; kernel.fwd and kernel.bwd are its derivatives' kernels, which
    take (value, gradient) for each DiffTensorView."""

    def __init__(self, module, function, name, way=None):
        self._module, self._function, self._name, self._way = module, function, name, way
        self._derived = {}
        self._parameters = [(p.name, p.type) for p in function.reflection.parameters]

    @property
    def fwd(self) -> TorchKernel:
        """The kernel of the forward derivative."""
        return self._derive("fwd")

    @property
    def bwd(self) -> TorchKernel:
        """The kernel of the backward derivative. What it reads of the outputs' gradients is zero after it."""
        return self._derive("bwd")

    def _derive(self, way):
        if self._way is not None:
            raise AttributeError("{}.{} has no derivative of its own".format(self._name, self._way))
        if way not in self._derived:
            name, own = "spyt_{}_{}".format(self._name, way), self._module
            # Slang allows no differentiable parameters, so the derivative has the kernel's own ones.
            text = "import \"{}\";\n[CudaKernel] public void {}({})\n{{\n    {}_diff({})({});\n}}\n".format(
                own._module.name, name, ", ".join("{} {}".format(t.full_name, p) for p, t in self._parameters), way, self._name,
                ", ".join(p for p, _ in self._parameters))
            made = _slangpy.Module.load_from_source(own._device, name, text, link=[own._module])
            self._derived[way] = TorchKernel(own, made.find_function(name), self._name, way)
        return self._derived[way]

    def __call__(self, *args: Any, **kwargs: Any) -> TorchLaunch:
        name = self._name if self._way is None else "{}.{}".format(self._name, self._way)
        if args:
            raise TypeError("{}: expected keyword arguments alone ({}), got {} by position".format(
                name, ", ".join(p for p, _ in self._parameters), len(args)))
        names = [p for p, _ in self._parameters]
        missing, unknown = [p for p in names if p not in kwargs], [k for k in kwargs if k not in names]
        if missing or unknown:
            raise TypeError("{}: {}".format(name, "; ".join(
                (["missing arguments: " + ", ".join(missing)] if missing else []) + (["unknown arguments: " + ", ".join(unknown)] if unknown else []))))
        given = {p: _argument(kwargs[p], type_, "{}: argument '{}'".format(name, p), self._way) for p, type_ in self._parameters}
        return TorchLaunch(self, name, given)

    def __repr__(self):
        return "<slangpy.TorchKernel {}>".format(self._name if self._way is None else "{}.{}".format(self._name, self._way))


class DiffTensorView:
    """A tensor with its gradient, as an argument for DiffTensorView: DiffTensorView(value, grad)."""

    def __init__(self, value: Any, grad: Any = None) -> None:
        self.value, self.grad = value, grad


def _argument(value, type_, where, way):
    """Returns the value of a parameter as a call takes it: structs by fields, and pairs of tensors."""
    if type_.full_name.startswith("DiffTensorView"):
        if isinstance(value, DiffTensorView):
            value = (value.value, value.grad) if value.grad is not None else value.value
        if isinstance(value, (tuple, list)):
            if len(value) != 2:
                raise ValueError("{}: expected (value, gradient) for {}, got {} items".format(where, type_.name, len(value)))
            return _slangpy.DiffPair(value[0], value[1], True)
        if way is not None:
            raise TypeError("{}: expected (value, gradient) for {}, got {!r}".format(where, type_.name, type(value)))
        return value
    fields = list(type_.fields) if type_.kind.name == "struct" and not type_.full_name.startswith("TensorView") else []
    if not fields:
        return value
    names = [field.name for field in fields]
    if isinstance(value, dict) or hasattr(value, "_fields"):
        found = value if isinstance(value, dict) else dict(zip(value._fields, value))
        if sorted(found) != sorted(names):
            raise ValueError("{}: expected the fields {} of {}, got {}".format(where, ", ".join(names), type_.name, ", ".join(map(str, found))))
    elif isinstance(value, (tuple, list)):
        if len(value) != len(names):
            raise ValueError("{}: expected {} values for the fields {} of {}, got {}".format(
                where, len(names), ", ".join(names), type_.name, len(value)))
        found = dict(zip(names, value))
    else:
        raise TypeError("{}: expected a named tuple, dict or tuple for {}, got {!r}".format(where, type_.name, type(value)))
    return {field.name: _argument(found[field.name], field.type, "{}.{}".format(where, field.name), way) for field in fields}


def _three(name, value, what):
    if not isinstance(value, (tuple, list)) or len(value) != 3 or not all(isinstance(n, int) and not isinstance(n, bool) for n in value):
        raise ValueError("{}: {}: expected a tuple of 3 ints, got {!r}".format(name, what, value))
    if min(value) < 1:
        raise ValueError("{}: {}: expected numbers above 0, got {!r}".format(name, what, tuple(value)))
    return tuple(value)


class TorchLaunch:
    """A kernel with its arguments, to be launched."""

    def __init__(self, kernel, name, arguments):
        self._kernel, self._name, self._arguments, self._launched = kernel, name, arguments, False

    def launchRaw(self, blockSize: tuple[int, int, int], gridSize: tuple[int, int, int]) -> None:
        """launchRaw(blockSize, gridSize): runs gridSize groups of blockSize threads."""
        block, grid = _three(self._name, blockSize, "blockSize"), _three(self._name, gridSize, "gridSize")
        if block[0] * block[1] * block[2] > 1024:
            raise ValueError("{}: blockSize: expected at most 1024 threads, got {}".format(self._name, block))
        self._launched = True
        function = self._kernel._function.thread_group_size(block)
        function.dispatch([b * g for b, g in zip(block, grid)], **self._arguments)

    def launchTotal(self, totalSize: tuple[int, int, int], blockSize: tuple[int, int, int] = (32, 8, 1)) -> None:
        """launchTotal(totalSize, blockSize=(32, 8, 1)): runs as many groups of blockSize threads as totalSize threads need."""
        total, block = _three(self._name, totalSize, "totalSize"), _three(self._name, blockSize, "blockSize")
        self.launchRaw(block, tuple((t + b - 1) // b for t, b in zip(total, block)))

    def autoLaunch(self, totalSize: tuple[int, int, int]) -> None:
        """autoLaunch(totalSize): runs at least totalSize threads in groups that suit these sizes."""
        total = _three(self._name, totalSize, "totalSize")
        block = (256, 1, 1) if total[1] == total[2] == 1 else (16, 16, 1) if total[2] == 1 else (8, 8, 4)
        self.launchTotal(total, block)

    def __del__(self):
        if not self._launched and not sys.is_finalizing():
            warnings.warn("{}(...) was never launched: call launchRaw(blockSize=..., gridSize=...) on it".format(self._name), stacklevel=2)
