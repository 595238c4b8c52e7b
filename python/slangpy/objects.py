"""The base classes of SlangPy's native classes, for isinstance(). The library's own classes are registered with them."""
from __future__ import annotations

import abc

from . import _slangpy, encoders, programs
from .buffers import Buffer
from .device import Device
from .encoders import _MemoryUsage
from .logger import Logger, LoggerOutput

__all__ = ["Object", "DeviceChild", "Resource", "Pipeline", "Kernel", "PassEncoder"]


class Object(metaclass=abc.ABCMeta):
    """Base of all native classes. It has no members of its own."""


class DeviceChild(Object):
    """Base of what belongs to a Device. Such objects have `device`, and `memory_usage`: their bytes on the device and on the host."""

    MemoryUsage = _MemoryUsage

    device: Device
    memory_usage: _MemoryUsage


class Resource(DeviceChild):
    """Base of buffers. Textures are not in this version."""


class Pipeline(DeviceChild):
    """Base of pipelines. Only compute pipelines are in this version."""


class Kernel(DeviceChild):
    """Base of kernels. Only compute kernels are in this version."""

    program: programs.ShaderProgram


class PassEncoder(Object):
    """Base of the encoders of passes. Only compute passes are in this version."""


for _kind, _classes in (
        (Object, (Device, _slangpy.Module, programs.SlangSession, programs.SlangEntryPoint, programs.ShaderObject, _slangpy.Tensor, _slangpy.BufferCursor, Logger, LoggerOutput)),
        (DeviceChild, (encoders.CommandEncoder, encoders.CommandBuffer, encoders.Fence, encoders.QueryPool, programs.ShaderProgram)),
        (Resource, (Buffer,)), (Pipeline, (programs.ComputePipeline,)), (Kernel, (programs.ComputeKernel,)),
        (PassEncoder, (programs.ComputePassEncoder,))):
    for _class in _classes:
        _kind.register(_class)
del _kind, _classes, _class
