"""The base classes of SlangPy's native classes, for isinstance(). The library's own classes are registered with them."""
from __future__ import annotations

import abc

from . import _slangpy, encoders, programs, render
from ._slangpy import ReflectionCursor, float3
from .buffers import Buffer
from .device import Device
from .encoders import _MemoryUsage
from .interop import NativeHandle
from .logger import Logger, LoggerOutput
from .resources import Sampler, Texture, TextureView

__all__ = ["Object", "DeviceChild", "Resource", "Pipeline", "Kernel", "PassEncoder"]


class Object(metaclass=abc.ABCMeta):
    """The base class of all native classes. It has no members of its own."""


class DeviceChild(Object):
    """The base class of objects that belong to a Device. They have `device`, and `memory_usage` with their bytes on the device and on
    the host."""

    MemoryUsage = _MemoryUsage

    @property
    @abc.abstractmethod
    def device(self) -> Device:
        """The Device that the object belongs to."""

    @property
    @abc.abstractmethod
    def memory_usage(self) -> _MemoryUsage:
        """The object's bytes on the device and on the host."""


class Resource(DeviceChild):
    """The base class of buffers and textures."""

    @property
    @abc.abstractmethod
    def native_handle(self) -> NativeHandle:
        """The handle of the API's object."""


class Pipeline(DeviceChild):
    """The base class of pipelines. Compute and raster pipelines are in this version."""


class Kernel(DeviceChild):
    """The base class of kernels. Only compute kernels are in this version."""

    @property
    @abc.abstractmethod
    def program(self) -> programs.ShaderProgram:
        """The program that the kernel was made of."""

    @property
    @abc.abstractmethod
    def reflection(self) -> ReflectionCursor:
        """A ReflectionCursor at the kernel's program."""


class PassEncoder(Object):
    """The base class of the encoders of passes. Compute and render passes are in this version."""

    @abc.abstractmethod
    def end(self) -> None:
        """Ends the pass."""

    @abc.abstractmethod
    def push_debug_group(self, name: str, color: float3) -> None:
        """Begins a group that debugging tools show by its name."""

    @abc.abstractmethod
    def pop_debug_group(self) -> None:
        """Ends the group that was begun last."""

    @abc.abstractmethod
    def insert_debug_marker(self, name: str, color: float3) -> None:
        """Sets a mark that debugging tools show."""

    @abc.abstractmethod
    def write_timestamp(self, query_pool: encoders.QueryPool, index: int) -> None:
        """Makes the GPU write its time into an entry of a query pool."""


for _kind, _classes in (
        (Object, (Device, _slangpy.Module, programs.SlangSession, programs.SlangEntryPoint, programs.ShaderObject, _slangpy.Tensor, _slangpy.BufferCursor, Logger, LoggerOutput)),
        (DeviceChild, (encoders.CommandEncoder, encoders.CommandBuffer, encoders.Fence, encoders.QueryPool, programs.ShaderProgram, render.InputLayout, TextureView, Sampler)),
        (Resource, (Buffer, Texture)), (Pipeline, (programs.ComputePipeline, render.RenderPipeline)), (Kernel, (programs.ComputeKernel,)),
        (PassEncoder, (programs.ComputePassEncoder, render.RenderPassEncoder))):
    for _class in _classes:
        _kind.register(_class)
del _kind, _classes, _class
