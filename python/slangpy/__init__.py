"""Calls Slang GPU functions from Python: name a function, pass numbers, arrays or tensors, get results back."""
import atexit as _atexit
import os as _os
import sys as _sys

from ._slangpy import *
from . import _slangpy
from .enums import *
from .logger import *
from .reports import *
from .buffers import *
from .gradients import *
from .vectorized import *
from .interop import *
from .device import *
from .encoders import *
from .programs import *
from .profiling import *
from . import slang_types as _slang_types  # noqa: F401
from .shader_cursors import *

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_slangpy._after_fork)
_atexit.register(lambda: _slangpy._at_exit(getattr(_sys, "last_type", None) is KeyboardInterrupt))

__version__ = "{}.{}.{}".format(SPY_VERSION // 10000, SPY_VERSION // 100 % 100, SPY_VERSION % 100)

# The folder that SlangPy's scripts pass in include_paths=[...]. The library finds its own Slang modules without it.
SHADER_PATH = _os.path.dirname(_os.path.abspath(__file__))

TYPE_CHECKING = False
if TYPE_CHECKING:
    from . import bindings, math, mlp, reflection, types  # noqa: F401
    from .formats import *
    from .fusion import Fused, Traced, dot, fuse, max, mean, min, no_diff, sum, where  # noqa: F401
    from .pictures import *
    from .textures import *
    from .bitmap import *
    from .data_struct import *
    from .texture_loader import *
    from .resources import *
    from .render import *
    from .slangtorch import clearPersistentShaderCache, clearSessionShaderCache, clearShaderCaches, loadModule  # noqa: F401
    from .reflection import ModifierID, ShaderStage  # noqa: F401
    from .objects import DeviceChild, Kernel, Object, PassEncoder, Pipeline, Resource  # noqa: F401
    from .torch_ops import torch_op  # noqa: F401
    from .utilities import SHA1, CursorShape, Timer  # noqa: F401

from .instances import InstanceBuffer as InstanceBuffer, InstanceList as InstanceList, InstanceTensor as InstanceTensor  # noqa: E402


class _Paths:
    """Finds SlangPy's submodule paths, such as slangpy.core.function, which are made from one table: see paths.py."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.startswith("slangpy.") and name != "slangpy.paths":
            from . import paths

            return paths.spec_of(name, type(__spec__))
        return None


_sys.meta_path.append(_Paths)

# The names that are loaded at their first use: name -> the module of this package that defines it.
_LAZY = {"ModifierID": "reflection", "ShaderStage": "reflection"}
_LAZY.update(dict.fromkeys(
    "Bitmap BoxFilter FilterBoundaryCondition GaussianFilter LanczosFilter MitchellFilter TentFilter".split(), "bitmap"))
_LAZY.update(DataStruct="data_struct", DataStructConverter="data_struct", TextureLoader="texture_loader")
_LAZY.update(dict.fromkeys(("CursorShape", "SHA1", "Timer"), "utilities"))
_LAZY.update(dict.fromkeys("Object DeviceChild Resource Pipeline Kernel PassEncoder".split(), "objects"))
_LAZY.update(dict.fromkeys("FormatChannels FormatInfo FormatSupport FormatType get_format_info".split(), "formats"))
_LAZY.update(dict.fromkeys((
    "ALL_LAYERS ALL_MIPS ComparisonFunc SamplerDesc SubresourceLayout SubresourceRange TextureAddressingMode TextureAspect "
    "TextureDesc TextureFilteringMode TextureReductionOp TextureType TextureUsage TextureViewDesc YAHandling"
).split(), "textures"))
_LAZY.update(dict.fromkeys((
    "AccelerationStructure AccelerationStructureBuildDesc AccelerationStructureBuildFlags "
    "AccelerationStructureBuildInputInstances AccelerationStructureBuildInputLinearSweptSpheres "
    "AccelerationStructureBuildInputMotionOptions AccelerationStructureBuildInputProceduralPrimitives "
    "AccelerationStructureBuildInputSpheres AccelerationStructureBuildInputTriangles AccelerationStructureBuildMode "
    "AccelerationStructureCopyMode AccelerationStructureDesc AccelerationStructureGeometryFlags AccelerationStructureHandle "
    "AccelerationStructureInstanceDesc AccelerationStructureInstanceFlags AccelerationStructureInstanceList "
    "AccelerationStructureKind AccelerationStructureQueryDesc AccelerationStructureSizes AspectBlendDesc BlendFactor BlendOp "
    "BufferOffsetPair ColorTargetDesc CoopVecMatrixDesc CoopVecMatrixLayout CullMode DepthStencilDesc DepthStencilOpDesc "
    "DescriptorHandle DescriptorHandleType DrawArguments FillMode FrontFaceMode HitGroupDesc IndexFormat InputElementDesc "
    "InputLayoutDesc InputSlotClass LinearSweptSpheresEndCapsMode LinearSweptSpheresIndexingMode LoadOp LogicOp "
    "MultisampleDesc PrimitiveTopology RasterizerDesc RayTracingPassEncoder RayTracingPipeline RayTracingPipelineDesc "
    "RayTracingPipelineFlags RenderPassColorAttachment RenderPassDepthStencilAttachment RenderPassDesc "
    "RenderPipelineDesc RenderState RenderTargetWriteMask ScissorRect ShaderTable ShaderTableDesc "
    "StencilOp StoreOp VertexStreamDesc Viewport"
).split(), "pictures"))

_LAZY.update(dict.fromkeys("loadModule clearSessionShaderCache clearPersistentShaderCache clearShaderCaches".split(), "slangtorch"))
_LAZY["torch_op"] = "torch_ops"
_LAZY.update(dict.fromkeys("Sampler Texture TextureView".split(), "resources"))
# sum, min and max are not among the names of `from slangpy import *`, which would hide Python's own functions.
_LAZY.update(dict.fromkeys("fuse Fused Traced where no_diff sum mean min max dot".split(), "fusion"))
_LAZY.update(dict.fromkeys("InputLayout RenderPassEncoder RenderPipeline".split(), "render"))


_MODULES = ("slangtorch", "mlp", "reflection", "bindings", "types", "core", "builtin", "experimental", "slangpy", "native_func", "native_refl")


def _find_lazily(name):
    if name == "__all__":  # `from slangpy import *` also takes the names that are loaded at their first use
        # Reductions are left out: they are called as slangpy.sum and so on, and Python's own functions keep their names.
        return [n for n in sorted({*globals(), *_LAZY, "reflection", "bindings", "types"} - {"sum", "min", "max"}) if not n.startswith("_")]
    module = _LAZY.get(name, name if name in _MODULES else "builtin" if name == "internal_marshalls" else None)
    import importlib

    if module is None:
        found = importlib.import_module(".paths", __name__).find(name)
        if found is not None:
            return found
        raise importlib.import_module(".absent", __name__).missing(__name__, name)
    found = importlib.import_module("." + module, __name__)
    return getattr(found, name) if name in _LAZY else found


def _all_names():
    return sorted({*globals(), *_LAZY, *_MODULES})


if not TYPE_CHECKING:  # type checkers take the names from the imports above
    __getattr__ = _find_lazily
    __dir__ = _all_names

del TYPE_CHECKING
