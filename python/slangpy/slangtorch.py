"""slang-torch's interface: slangpy.loadModule(), and `import slangtorch` as another name of this module. No C++ compiler, ninja or nvcc is
needed: kernels are compiled by NVRTC.

    m = slangpy.loadModule("square.slang")
    m.square(input=a, output=b).launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))
    m.square.bwd(input=(a, a_grad), output=(b, b_grad)).launchRaw(blockSize=(32, 1, 1), gridSize=(64, 1, 1))

A [TorchEntryPoint] function is called as m.f(tensor, ...): see torch_entry_points.
"""
from __future__ import annotations

import collections
import operator
import os
import re
import warnings

from . import _slangpy
from .torch_errors import FolderError, LaunchArgumentError, MissingFileError, as_launch_error
from .torch_source import SourceError, SourceFile, text_with_hidden_kernels

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from .device import Device

__all__ = ["loadModule", "clearSessionShaderCache", "clearPersistentShaderCache", "clearShaderCaches"]

_devices: dict[int, Any] = {}  # devices by the index of torch's GPU
_modules: dict[Any, Any] = {}  # modules by path, defines, include paths and device


def _device_of_torch():
    import torch  # type: ignore[import-not-found,unused-ignore]

    from .interop import create_torch_device

    index = torch.cuda.current_device() if torch.cuda.is_available() else 0
    device = _devices.get(index)
    if device is None or device.is_closed:
        # A module keeps the text that it was loaded with when its file changes: loadModule() gives another module for the new text.
        device = _devices[index] = create_torch_device(torch_device=index, enable_hot_reload=False)
    return device


def loadModule(fileName: str | os.PathLike[str], skipSlang: bool | None = None, verbose: bool = False,
               defines: Mapping[str, Any] = {}, includePaths: Sequence[str] = [], skipNinjaCheck: bool = False,
               device: Device | None = None) -> TorchModule:
    """loadModule(fileName, defines={}, includePaths=[], device=None): loads a .slang file with [CudaKernel] functions. `defines` are
    macros of its text. `device` is a CUDA Device; without one, the device of torch's current GPU. A file that has been loaded with the
    same options gives the same module again, with the file's current text. skipSlang, verbose and skipNinjaCheck are slang-torch's and
    change nothing."""
    path = os.path.abspath(os.fspath(fileName))
    if not os.path.exists(path):
        raise MissingFileError("loadModule: there is no file '{}'".format(path))
    if os.path.isdir(path):
        raise FolderError("loadModule: expected a file, got the folder '{}'".format(path))
    if device is None:
        device = _device_of_torch()
    macros = {str(name): "" if value is None else str(value) for name, value in defines.items()}
    key = path, tuple(sorted(macros.items())), tuple(map(os.fspath, includePaths)), id(device)
    known = _modules.get(key)
    if known is not None and known._is_current():
        return known
    folders = [os.path.dirname(path), *map(os.fspath, includePaths)]
    source = SourceFile(path, macros, folders)
    options: _slangpy._ModuleOptions = {"defines": macros, "include_paths": folders}
    text = text_with_hidden_kernels(path)
    if text is None:
        module = _slangpy.Module.load_from_file(device, path, options)
    else:
        # Kernels of derivatives import the module, so its name is an identifier.
        name = re.sub(r"\W", "_", os.path.splitext(os.path.basename(path))[0])
        module = _slangpy.Module.load_from_source(device, name, text, options)
    made = _modules[key] = TorchModule(module, device, path, source)
    return made


def clearSessionShaderCache() -> None:
    """Forgets the modules that loadModule() has loaded."""
    _modules.clear()


def clearPersistentShaderCache(moduleKey: str | None = None) -> None:
    """Removes the compiled code that is kept on disk, as `python -m slangpy cache clear` does."""
    from . import disk_cache

    folder = disk_cache.folder()
    if folder is not None:
        disk_cache.clear(folder)


def clearShaderCaches() -> None:
    """Does what clearSessionShaderCache() and clearPersistentShaderCache() do."""
    clearSessionShaderCache()
    clearPersistentShaderCache()


class TorchModule:
    """A module that loadModule() has loaded: its kernels and [TorchEntryPoint] functions are attributes, and so are its structs, as named
    tuples."""

    def __init__(self, module, device, path, source):
        self._module, self._device, self._path, self._source = module, device, path, source
        self._kernels = {}
        self._translator = None  # of [TorchEntryPoint] functions; made with the first one, because its module takes time to import

    def _is_current(self):
        """Returns whether no file of the module has changed since it was read."""
        try:
            return all(os.stat(path).st_mtime_ns == stamp for path, stamp in self._source.files.items())
        except OSError:
            return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = self.__dict__[name] = self._find(name)  # stored, so that the next use finds it without this method
        return found

    def _find(self, name):
        if self._source.has_entry_points:
            self._source.parse()
            for text in self._source.functions.get(name, ()):
                if "TorchEntryPoint" in text.attributes:
                    if self._translator is None:
                        from .torch_entry_points import Host, Translator

                        self._translator = Translator(self._source, Host(self))
                    return self._translator.entry(text)
        kernel = self._kernel(name)
        if kernel is not None and self._source.is_no_kernel(name):
            raise AttributeError("module '{}': '{}' is a function without [CudaKernel], which Python does not call: Module.load_from_file() gives "
                                 "modules whose functions it calls".format(os.path.basename(self._path), name))
        if kernel is not None:
            return kernel
        struct = self._module.find_struct(name) or self._exported_struct(name)
        if struct is not None:
            return collections.namedtuple(name, [str(field) for field in struct.fields])
        raise AttributeError("module '{}' has no kernel, [TorchEntryPoint] function or struct '{}'".format(os.path.basename(self._path), name))

    def _exported_struct(self, name):
        """Returns the struct with [PyExport("name")], or None."""
        if self._source.has_exports:
            try:
                self._source.parse()
            except SourceError:  # then the name is unknown, as others are
                return None
            if name in self._source.exports:
                return self._module.find_struct(self._source.exports[name])
        return None

    def _kernel(self, name):
        """Returns the kernel of a name, or None."""
        if name not in self._kernels:
            function = self._module.find_function(name)
            self._kernels[name] = None if function is None else TorchKernel(self, function, name)
        return self._kernels[name]

    def _kernel_that_calls(self, called, name, parameters, lines=(), arguments=None, module=None):
        """Returns a new kernel of these parameters, (name, type) each, which runs the lines and then the call."""
        # The types of parameters are the module's own, and the called kernel may be that of a derivative in another module.
        modules = [self._module] if module in (None, self._module) else [self._module, module]
        arguments = [p for p, _ in parameters] if arguments is None else arguments
        text = "{}[CudaKernel] public void {}({})\n{{\n    {}\n}}\n".format(
            "".join("import \"{}\";\n".format(m.name) for m in modules), name, ", ".join("{} {}".format(t.full_name, p) for p, t in parameters),
            "\n    ".join([*lines, "{}({});".format(called, ", ".join(arguments))]))
        return _slangpy.Module.load_from_source(self._device, name, text, link=modules).find_function(name)

    def __dir__(self):
        self._source.parse()
        named = [name for name, texts in self._source.functions.items() for text in texts
                 if text.attributes & {"TorchEntryPoint", "AutoPyBindCUDA", "CudaKernel", "CUDAKernel"}]
        return sorted({*named, *self._source.structs, *self._source.exports, *super().__dir__()})

    def __repr__(self):
        return "<slangpy.TorchModule {}>".format(self._path)


class TorchKernel:
    """A [CudaKernel] function of a module. kernel(**arguments) gives a launch; kernel.fwd and kernel.bwd are the kernels of its
    derivatives, which take (value, gradient) for each DiffTensorView."""

    def __init__(self, module, function, name, way=None):
        self._module, self._function, self._way = module, function, way
        self._name = name if way is None else "{}.{}".format(name, way)
        self._derived, self._ready, self._last = {}, {}, None
        self._parameters, self._differentiable = [(p.name, p.type) for p in function.reflection.parameters], function.reflection.differentiable
        self._names = [name for name, _ in self._parameters]
        self._name_set = set(self._names)
        self._launch_names, self._flatten, self._special = tuple(self._names), None, []
        if any(map(_holds_view_arrays, (t for _, t in self._parameters))):
            self._take_views_one_by_one()
            return
        # The parameters whose arguments must be converted.
        converters = [(p, _converter(t, "{}: argument '{}'".format(self._name, p), way, module._device)) for p, t in self._parameters]
        self._special = [(p, convert) for p, convert in converters if convert is not None]

    @property
    def fwd(self) -> TorchKernel | _NoDerivative:
        """The kernel of the forward derivative. Without [Differentiable], calling it is an error."""
        return self._derive("fwd")

    @property
    def bwd(self) -> TorchKernel | _NoDerivative:
        """The kernel of the backward derivative. It sets the gradients of the outputs to zero after it has read them. Without
        [Differentiable], calling it is an error."""
        return self._derive("bwd")

    def _derive(self, way):
        if self._way is not None:
            raise AttributeError("{} has no derivative of its own".format(self._name))
        if not self._differentiable:
            return _NoDerivative(self._name, way)
        if way not in self._derived:
            self._derived[way] = self._make_derivative(way)
        return self._derived[way]

    def _make_derivative(self, way):
        try:
            name, own = "spyt_{}_{}".format(self._name, way), self._module
            # Slang allows no differentiable parameters, so the kernel of the derivative has the parameters of the kernel itself.
            made = own._kernel_that_calls("{}_diff({})".format(way, self._name), name, self._parameters)
        except _slangpy.SlangCompileError as error:  # a kernel with [ForwardDifferentiable] has no backward derivative
            return _NoDerivative(self._name, way, "; Slang says: {}".format(error))
        return TorchKernel(own, made, self._name, way)

    def _take_views_one_by_one(self):
        """Launches, in place of a kernel that has arrays of tensors, one that has a parameter for each of them."""
        leaves, lines, name = [], [], "spyt_{}_of_views".format(self._function.name)
        for p, t in self._parameters:
            value = _list_leaves(t, p, leaves)
            if value != p:
                lines.append("{} {} = {};".format(t.full_name, p, value))
        self._function = self._module._kernel_that_calls(self._function.name, name, leaves, lines, self._names, self._function.module)
        self._launch_names = tuple(p for p, _ in leaves)
        takers = [_flattener(t, "{}: argument '{}'".format(self._name, p), self._way, self._module._device) for p, t in self._parameters]

        def flatten(values):
            out = []
            for take, value in zip(takers, values):
                take(value, out)
            return tuple(out)

        self._flatten = flatten

    def __call__(self, *args: Any, **kwargs: Any) -> TorchLaunch:
        if args or kwargs.keys() != self._name_set:
            self._refuse(args, kwargs)
        for p, convert in self._special:
            kwargs[p] = convert(kwargs[p])
        values = tuple([kwargs[p] for p in self._names])
        return TorchLaunch(self, values if self._flatten is None else self._flatten(values))

    def _refuse(self, args, kwargs):
        if args:
            raise _slangpy.ArgumentTypeError("{}: expected keyword arguments alone ({}), got {} by position".format(self._name, ", ".join(self._names), len(args)))
        missing, unknown = [p for p in self._names if p not in kwargs], [k for k in kwargs if k not in self._names]
        raise _slangpy.ArgumentTypeError("{}: {}".format(self._name, "; ".join(
            (["missing arguments: " + ", ".join(missing)] if missing else []) + (["unknown arguments: " + ", ".join(unknown)] if unknown else []))))

    def _prepare(self, block, grid):
        """Checks the sizes of a launch, and returns the function that launches with the arguments' tuple."""
        try:
            made = self._ready.get((block, grid))
        except TypeError:  # lists cannot be keys
            made = None
        if made is None:
            block, grid = _three(self._name, block, "blockSize"), _three(self._name, grid, "gridSize")
            _check_three(self._name, "blockSize", block, _MOST_THREADS, 1024)
            _check_three(self._name, "gridSize", grid, _MOST_GROUPS)
            if len(self._ready) >= 64:
                self._ready.clear()
            made = self._ready[block, grid] = _slangpy._Launcher(self._function.thread_group_size(block), self._launch_names, block, grid)
        self._last = made
        return made

    def _explain(self, error):
        """Returns the error of a launch, with the kernel's name in place of the generated text's."""
        text = str(error)
        return as_launch_error(error, text if self._way is None and self._flatten is None else text.replace(self._function.name, self._name))

    @staticmethod
    def _without_gradients(values):
        """Returns the arguments of a launch with detached tensors in place of those that require gradients. They share memory."""
        def plain(value):
            if getattr(value, "requires_grad", False) is True and hasattr(value, "detach"):
                return value.detach()
            if isinstance(value, _slangpy.DiffPair):
                return _slangpy.DiffPair(plain(value.primal), plain(value.grad), True)
            if isinstance(value, dict):
                return {name: plain(v) for name, v in value.items()}
            return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value

        return tuple(map(plain, values))

    def _never_launched(self):
        warnings.warn("{}(...) was never launched: call launchRaw(blockSize=..., gridSize=...) on it".format(self._name), stacklevel=2)

    def _launch(self, block, grid, values):
        """Runs `grid` groups of `block` threads, both of three numbers. `values` is a tuple of the arguments."""
        TorchLaunch(self, values if self._flatten is None else self._flatten(values)).launchRaw(block, grid)

    def __repr__(self):
        return "<slangpy.TorchKernel {}>".format(self._name)


class _NoDerivative:
    """What .fwd and .bwd of a kernel without a derivative are: calling it is an error."""

    def __init__(self, name, way, reason=""):
        self._name, self._way, self._reason = name, way, reason

    def __call__(self, *args: Any, **kwargs: Any) -> TorchLaunch:
        raise LaunchArgumentError("{} has no {}: the kernel is not [Differentiable]{}".format(self._name, self._way, self._reason))

    def __repr__(self):
        return "<slangpy.TorchKernel {} without {}>".format(self._name, self._way)


class DiffTensorView:
    """A tensor with its gradient, as an argument for DiffTensorView: DiffTensorView(value, grad)."""

    def __init__(self, value: Any, grad: Any = None) -> None:
        self.value, self.grad = value, grad


def _holds_view_arrays(type_, in_array=False):
    """Returns whether the type has an array of tensors, or of structs with tensors."""
    if type_.kind.name == "array":
        return _holds_view_arrays(type_.element_type, True)
    if _is_view(type_):
        return in_array
    return type_.kind.name == "struct" and any(_holds_view_arrays(f.type, in_array) for f in type_.fields.values())


def _list_leaves(type_, name, leaves, in_array=False):
    """Appends the (name, type) of each part of a variable that has arrays of tensors, and returns the parts in braces, for Slang."""
    if _is_view(type_) or not _holds_view_arrays(type_, in_array):
        leaves.append((name, type_))
        return name
    if type_.kind.name == "array":
        parts = [_list_leaves(type_.element_type, "{}_{}".format(name, i), leaves, True) for i in range(_count_of(type_))]
    else:
        parts = [_list_leaves(f.type, "{}_{}".format(name, f.name), leaves, in_array) for f in type_.fields.values()]
    return "{ " + ", ".join(parts) + " }"


def _count_of(type_):
    """Returns the number of elements of an array of tensors, which has no layout that would tell it: T[4] has 4."""
    return type_.element_count or int(type_.full_name[len(type_.element_type.full_name) + 1:-1])


def _is_view(type_):
    return type_.kind.name != "array" and type_.full_name.startswith(("TensorView<", "DiffTensorView<"))


def _flattener(type_, where, way, device, in_array=False):
    """Returns a function (value, out) that appends the parts of an argument to `out`, in the order of _list_leaves()."""
    if _is_view(type_) or not _holds_view_arrays(type_, in_array):
        convert = _converter(type_, where, way, device)
        return lambda value, out: out.append(value if convert is None else convert(value))
    if type_.kind.name == "array":
        count = _count_of(type_)
        items = [_flattener(type_.element_type, "{}[{}]".format(where, i), way, device, True) for i in range(count)]

        def array(value, out):
            if not isinstance(value, (tuple, list)):
                raise _slangpy.ArgumentTypeError("{}: expected a tuple of {} values, got {!r}".format(where, count, type(value)))
            if len(value) != count:
                raise LaunchArgumentError("{}: expected {} values, got {}".format(where, count, len(value)))
            for take, item in zip(items, value):
                take(item, out)

        return array
    fields = {f.name: _flattener(f.type, "{}.{}".format(where, f.name), way, device, in_array) for f in type_.fields.values()}

    def struct(value, out):
        found = _fields_of(value, fields, type_.name, where)
        for name, take in fields.items():
            take(found[name], out)

    return struct


def _fields_of(value, fields, label, where):
    """Returns the values of a struct's fields by name, from a named tuple, dict, tuple or list."""
    names = ", ".join(fields)
    if isinstance(value, dict) or hasattr(value, "_fields"):
        found = value if isinstance(value, dict) else dict(zip(value._fields, value))
        if found.keys() != fields.keys():
            raise LaunchArgumentError("{}: expected the fields {} of {}, got {}".format(where, names, label, ", ".join(map(str, found))))
        return found
    if isinstance(value, (tuple, list)):
        if len(value) != len(fields):
            raise LaunchArgumentError("{}: expected {} values for the fields {} of {}, got {}".format(where, len(fields), names, label, len(value)))
        return dict(zip(fields, value))
    raise _slangpy.ArgumentTypeError("{}: expected a named tuple, dict or tuple for {}, got {!r}".format(where, label, type(value)))


def _gradient_type(type_):
    """Returns the name of the elements of a DiffTensorView's gradient: Slang's AtomicAdd adds floats whatever the values are."""
    value, *wrapper = type_.full_name[len("DiffTensorView<"):-1].split(", ")
    return "float" if not wrapper or wrapper[0] == "AtomicAdd" else value


def _zero_gradient(value, type_name, device):
    """Returns a gradient of zeros for a tensor that a derivative got without one. What the kernel stores there is dropped."""
    if hasattr(value, "new_zeros"):
        import torch  # type: ignore[import-not-found,unused-ignore]

        return value.new_zeros(tuple(value.shape), dtype={"float": torch.float32, "double": torch.float64, "half": torch.float16}.get(type_name, value.dtype))
    return _slangpy.Tensor.zeros(device, tuple(value.shape), dtype=type_name)


def _converter(type_, where, way, device):
    """Returns a function that converts an argument for a parameter of this type, structs by fields and pairs of tensors; None if
    arguments need no conversion. The type is read here, once."""
    if type_.full_name.startswith("DiffTensorView"):
        name, gradient = type_.name, _gradient_type(type_)

        def pair(value):
            if isinstance(value, DiffTensorView):
                value = (value.value, value.grad) if value.grad is not None else value.value
            if isinstance(value, (tuple, list)):
                if len(value) != 2:
                    raise LaunchArgumentError("{}: expected (value, gradient) for {}, got {} items".format(where, name, len(value)))
                grad = value[1]
                # torch gives the gradient of a sum as one number with strides of 0. Each thread would read what other threads have set to
                # zero there, so the kernel gets a copy with memory for each element.
                if way == "bwd" and hasattr(grad, "stride") and 0 in grad.stride():
                    grad = grad.contiguous()
                return _slangpy.DiffPair(value[0], grad, True)
            if way is None:
                return value
            if not hasattr(value, "shape"):
                raise _slangpy.ArgumentTypeError("{}: expected (value, gradient) for {}, got {!r}".format(where, name, type(value)))
            return _slangpy.DiffPair(value, _zero_gradient(value, gradient, device), True)

        return pair
    if type_.kind.name != "struct" or type_.full_name.startswith("TensorView"):
        return None
    fields = {field.name: _converter(field.type, "{}.{}".format(where, field.name), way, device) for field in type_.fields.values()}
    if not fields:
        return None
    label = type_.name

    def struct(value):
        found = _fields_of(value, fields, label, where)
        return {name: found[name] if convert is None else convert(found[name]) for name, convert in fields.items()}

    return struct


def _three(name, value, what):
    """Returns a tuple of 3 ints. Its items may be of any class with __index__, such as NumPy's integers and torch's tensors of one int."""
    if not isinstance(value, (tuple, list)) or len(value) != 3 or any(isinstance(n, bool) for n in value):
        raise LaunchArgumentError("{}: {}: expected a tuple of 3 ints, got {!r}".format(name, what, value))
    try:
        return tuple(map(operator.index, value))
    except TypeError:
        raise LaunchArgumentError("{}: {}: expected a tuple of 3 ints, got {!r}".format(name, what, value)) from None


# CUDA's limits for a launch.
_MOST_THREADS, _MOST_GROUPS = (1024, 1024, 64), ((1 << 31) - 1, 65535, 65535)


def _check_three(name, what, value, most=None, product=None):
    if min(value) < 1:
        raise LaunchArgumentError("{}: {}: expected numbers above 0, got {!r}".format(name, what, tuple(value)))
    if product and value[0] * value[1] * value[2] > product:
        raise LaunchArgumentError("{}: {}: expected at most {} threads, got {}".format(name, what, product, tuple(value)))
    if most and any(v > m for v, m in zip(value, most)):
        raise LaunchArgumentError("{}: {}: expected at most {}, got {}".format(name, what, most, tuple(value)))


class TorchLaunch(_slangpy._Launch):
    """A kernel with its arguments, to be launched. launchRaw(blockSize, gridSize) runs gridSize groups of blockSize threads."""

    __slots__ = ()

    def launchTotal(self, totalSize: tuple[int, int, int], blockSize: tuple[int, int, int] = (32, 8, 1)) -> None:
        """launchTotal(totalSize, blockSize=(32, 8, 1)): runs the groups of blockSize threads that totalSize threads need."""
        name = self._kernel._name
        total, block = _three(name, totalSize, "totalSize"), _three(name, blockSize, "blockSize")
        _check_three(name, "totalSize", total)
        _check_three(name, "blockSize", block, _MOST_THREADS, 1024)
        self.launchRaw(block, tuple((t + b - 1) // b for t, b in zip(total, block)))

    def autoLaunch(self, totalSize: tuple[int, int, int]) -> None:
        """autoLaunch(totalSize): runs at least totalSize threads in groups whose size is chosen for totalSize."""
        total = _three(self._kernel._name, totalSize, "totalSize")
        block = (256, 1, 1) if total[1] == total[2] == 1 else (16, 16, 1) if total[2] == 1 else (8, 8, 4)
        self.launchTotal(total, block)
