"""Classes of SlangPy's own calls, for scripts that import them by name, for isinstance() and for subclasses.

Calls are made by the C library, which needs none of them: a Marshall of a user's own class is the one that it asks."""
from __future__ import annotations

import weakref
from enum import IntEnum

from . import _slangpy
from .marshalling import BoundCallRuntime, BoundVariableRuntime, CallMode, Marshall, ValueMarshall
from .marshalling import NativeCallDataCache as NativeCallDataCache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOADED_MODULES: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()  # stays empty: modules are found by their device
NativeBoundVariableRuntime = BoundVariableRuntime
NativeBoundCallRuntime = BoundCallRuntime
NativePackedArg = _slangpy.PackedArg
NativeFunctionNode = _slangpy.Function
NativeValueMarshall = ValueMarshall
Type = _slangpy.TypeReflection


class KernelGenException(Exception):
    """KernelGenException(message): no kernel could be made for a call. Calls themselves raise a slangpy.Error."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class FunctionNodeType(IntEnum):
    """What a step of a function's chain is."""

    unknown = 0
    uniforms = 1
    kernelgen = 2
    this = 3
    cuda_stream = 4
    ray_tracing = 5


class NativeCallRuntimeOptions:
    """NativeCallRuntimeOptions(): what a chain adds to a call at run time."""

    def __init__(self) -> None:
        from .interop import NativeHandle

        self.uniforms: list[Any] = []
        self.cuda_stream = NativeHandle()
        self.thread_count = 0


class NativeCallData:
    """NativeCallData(): what was built for the calls of one signature. Function.debug_build_call_data() gives one."""

    def __init__(self) -> None:
        self.device: Any = None
        self.pipeline: Any = None
        self.shader_table: Any = None
        self.call_dimensionality = 0
        self.runtime: Any = None
        self.call_mode = CallMode.prim
        self.last_call_shape: Any = None
        self.debug_name = ""
        self.logger: Any = None
        self.call_group_shape: Any = _slangpy.Shape(None)
        self.torch_integration = self.torch_autograd = self.needs_unpack = self.has_thread_count = self.use_entrypoint_args = False
        self.autograd_access_list: list[Any] = []
        self.bwds_call_data: Any = None


class NativeBufferMarshall(Marshall):
    """Base of the class that passes buffers."""


class NativeTextureMarshall(Marshall):
    """Base of the class that passes textures."""


class NativeDescriptorMarshall(Marshall):
    """Base of the class that passes descriptor handles."""


class TensorMarshall(Marshall):
    """The class that passes tensors."""


class NativeNumpyMarshall(TensorMarshall):
    """Base of the class that passes numpy's arrays."""


class TextureMarshall(NativeTextureMarshall):
    """The class that passes textures."""


class StructMarshall(ValueMarshall):
    """The class that passes dicts."""


class ArrayMarshall(ValueMarshall):
    """The class that passes lists."""


def generate_code(context: Any, build_info: Any, signature: Any, cg: Any) -> None:
    """generate_code(context, build_info, signature, cg): refuses. The C library writes kernels: Function.explain(...) gives their text."""
    raise KernelGenException("generate_code: kernels are written by the C library; function.explain(*args) gives the text of one")


class _NodeMeta(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, _slangpy.Function)


def _node(verb: str) -> Any:
    name = "FunctionNode" + verb
    text = "What a chained method gives: a Function. isinstance() holds for every Function."
    return _NodeMeta(name, (), {"__doc__": text, "__module__": __name__})


FunctionNodeBind, FunctionNodeMap, FunctionNodeSet = _node("Bind"), _node("Map"), _node("Set")
FunctionNodeCUDAStream, FunctionNodeConstants, FunctionNodePrelude = _node("CUDAStream"), _node("Constants"), _node("Prelude")
FunctionNodeTypeConformances, FunctionNodeRayTracing, FunctionNodeBwds = _node("TypeConformances"), _node("RayTracing"), _node("Bwds")
FunctionNodeReturnType, FunctionNodeThreadGroupSize = _node("ReturnType"), _node("ThreadGroupSize")
FunctionNodeLogger, FunctionNodeCallGroupShape = _node("Logger"), _node("CallGroupShape")
