"""The C module of the package. What it means to have Any here: arguments of Slang functions (numbers, sequences, dicts, arrays, tensors,
generators, objects with get_this(), instances of registered classes) and their results, which the Slang code decides.

Every class and function of C is declared here and nowhere else; slangpy/math.pyi has the vectors. What is written in Python has its
annotations in the .py files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum, IntFlag
from os import PathLike
from typing import (
    Any, ClassVar, Literal, NoReturn, Protocol, SupportsIndex, TypeAlias, TypedDict, TypeVar, final, overload, type_check_only,
)

from numpy.typing import DTypeLike, NDArray
from typing_extensions import Buffer as _BytesLike, Self, disjoint_base

from .buffers import Buffer
from .device import Device
from .encoders import CommandEncoder
from .enums import BufferUsage, CommandQueueType, DeviceType, MemoryType, SlangCompilerOptions, SlangDebugInfoLevel, SlangFloatingPointMode, SlangOptimizationLevel
from .interop import _StreamLike
from .logger import Logger
from .marshalling import IOType
from .math import (
    bool1 as bool1, bool2 as bool2, bool3 as bool3, bool4 as bool4, float1 as float1, float2 as float2, float2x2 as float2x2,
    float2x3 as float2x3, float2x4 as float2x4, float3 as float3, float3x2 as float3x2, float3x3 as float3x3,
    float3x4 as float3x4, float4 as float4, float4x2 as float4x2, float4x3 as float4x3, float4x4 as float4x4,
    double1 as double1, double2 as double2, double3 as double3, double4 as double4,
    float16_t as float16_t, float16_t1 as float16_t1, float16_t2 as float16_t2, float16_t3 as float16_t3,
    float16_t4 as float16_t4, int1 as int1, int2 as int2, int3 as int3, int4 as int4, quatf as quatf, uint1 as uint1,
    uint2 as uint2, uint3 as uint3, uint4 as uint4,
)
from .programs import ShaderProgram, SlangEntryPoint, SlangModule, SlangSession, TypeConformance
from .reflection.reflectiontypes import TensorAccess, TensorType
from .reflection import (
    DeclKind as _DeclKind, ModifierID, ParameterCategory as _ParameterCategory, ResourceAccess as _ResourceAccess, ResourceShape as _ResourceShape, ShaderStage,
    TypeScalar as _ScalarType,
    TypeKind as _TypeKind,
)

SPY_VERSION: int

# >>what arguments may be

_Path: TypeAlias = str | PathLike[str]
_Conformance: TypeAlias = TypeConformance | tuple[str, str] | tuple[str, str, int] | str
_M = TypeVar("_M", bound=Module)
_T = TypeVar("_T", bound=Tensor)
_T_co = TypeVar("_T_co", bound=Tensor, covariant=True)

@type_check_only
class _SupportsDLPack(Protocol):
    def __dlpack__(self) -> Any: ...

@type_check_only
class _SupportsCudaArray(Protocol):
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

@type_check_only
class _Named(Protocol):  # torch.float32 and other dtypes that have a name
    @property
    def name(self) -> str: ...

# An array of another library: numpy, torch, memoryview, array.array.
_ArrayLike: TypeAlias = NDArray[Any] | _BytesLike | _SupportsDLPack | _SupportsCudaArray
_GradLike: TypeAlias = Tensor | _ArrayLike | Sequence[Any] | float | Mapping[str, _ArrayLike]
_ShapeLike: TypeAlias = Shape | Sequence[SupportsIndex] | SupportsIndex
_TypeLike: TypeAlias = Struct | TypeReflection | str | type | DTypeLike | _Named
_MapLike: TypeAlias = Sequence[int] | int | _TypeLike | None

@type_check_only
class _ModuleOptions(TypedDict, total=False):
    strict_broadcasting: bool
    compiler_options: SlangCompilerOptions | _ModuleOptions
    defines: Mapping[str, object]
    include_paths: Sequence[_Path]
    optimization: SlangOptimizationLevel | Literal["default", "none", "low", "high", "maximal"]
    debug_info: SlangDebugInfoLevel | Literal["default", "none", "minimal", "standard", "maximal"]
    floating_point_mode: SlangFloatingPointMode | Literal["default", "precise", "fast"]
    warnings_as_errors: bool
    enable_experimental_features: bool
    type_conformances: Sequence[_Conformance]

_Options: TypeAlias = _ModuleOptions | SlangCompilerOptions | None

@type_check_only
class _ByName:  # attributes are functions and types of Slang
    def __getattr__(self, name: str, /) -> Any: ...

# >>errors

class Error(RuntimeError):
    """An error of the library. The text says which function, which argument, what was expected and what came."""
class BoundVariableException(Exception):
    """An argument does not fit the parameter."""

    message: str
    variable: Any
    def __init__(self, message: str, variable: Any = None) -> None: ...
class ResolveException(BoundVariableException):
    """No function fits the arguments of a call."""
class ArgumentTypeError(Error, TypeError, ValueError, ResolveException):
    """A type that does not fit. Also a TypeError, and a ValueError for scripts that were written for SlangPy."""
class ArgumentValueError(Error, ValueError, ResolveException):
    """A value, shape or number of arguments that does not fit. Also a ValueError."""
class IndexOutOfRangeError(Error, IndexError):
    """An index that a tensor does not have. Also an IndexError."""
class SlangCompileError(Error):
    """Slang code that does not compile: the compiler's text, with file and line."""
class KernelCompileError(SlangCompileError, ValueError):
    """A kernel that a call or a dispatch has generated does not compile. Also a ValueError."""
class NameNotFoundError(Error, KeyError, AttributeError):
    """A name, file or object that was not found. Also a KeyError, an AttributeError and a ValueError."""

# >>modules, types, functions

@disjoint_base
class Module(_ByName):
    """Slang code whose functions and types are found by name: as attributes, or as module['f<float, 4>'] for a
    specialisation.
    """

    def __new__(cls, device_module: Module, options: _Options = {}, link: Sequence[Module] = []) -> Self: ...
    @staticmethod
    def load_from_file(device: Device, path: _Path, options: _Options = None, link: Sequence[Module] = []) -> Module:
        """Load a .slang or .slang-module file; a name without extension is a .slang file. `options`: strict_broadcasting,
        defines, include_paths, optimization ...
        """
    @staticmethod
    def load_from_source(
        device: Device, name: str, source: str, options: _Options = None, link: Sequence[Module] = []
    ) -> Module:
        """Load Slang text. It can import modules that the device has loaded from text by their names."""
    @staticmethod
    def load_from_module(
        device: Device, module: Module, options: _Options = {}, link: Sequence[Module] = []
    ) -> Module:
        """Make a Module of a SlangModule, with further modules linked to it."""
    @property
    def name(self) -> str:
        """The module's name or path."""
    @property
    def device(self) -> Device:
        """The device that the module was loaded on."""
    @property
    def device_module(self) -> SlangModule:
        """A SlangModule that is composed of slangpy's own modules, this module, and those that it is linked with."""
    @property
    def link(self) -> list[SlangModule]:
        """The modules that are linked to this one, as a list of SlangModules."""
    logger: Logger | None
    _extra: dict[str, Any]
    _made: Any
    _number: int
    def _load_again(self, options: Any, link: Any, type_conformances: Any, /) -> Module:
        """Load the module's code again as another module, linked to further ones."""
    def _view(self, type: type[_M], /) -> _M:
        """An object of Module or of a subclass for the same module."""
    @property
    def layout(self) -> ProgramLayout:
        """Reflection of the module: a ProgramLayout."""
    @property
    def session(self) -> SlangSession:
        """The SlangSession that loaded the module; the device's own one for Module.load_from_file() and load_from_source()."""
    @property
    def entry_points(self) -> list[SlangEntryPoint]:
        """The module's functions that have a stage, such as [shader("compute")], as a list of SlangEntryPoint."""
    @property
    def module_decl(self) -> DeclReflection:
        """The root of the module's declarations."""
    def find_function(self, name: str) -> Function | None:
        """The function of that name, or None."""
    def require_function(self, name: str) -> Function:
        """Returns the function of that name; raises a ValueError if the module has no such function."""
    def find_struct(self, name: str) -> Struct | None:
        """The type of that name, or None."""
    def require_struct(self, name: str) -> Struct:
        """Returns the type of that name; raises a ValueError if the module has no such type."""
    def find_function_in_struct(self, struct: Struct | str, name: str) -> Function | None:
        """The method of a type, which is given as a type or by name; None if the type has none of that name."""
    def on_hot_reload(self) -> None:
        """Forget the functions and types that were looked up."""
    def reload(self, source: str | None = None, /) -> None:
        """Load the code again, from its file or from new text. If that fails, the module stays as it was."""
    def save(self, path: _Path, /) -> None:
        """Write the module in compiled form as a .slang-module file."""
    def entry_point(self, name: str, type_conformances: Sequence[_Conformance] = ()) -> SlangEntryPoint:
        """Returns a function of the module as a SlangEntryPoint; raises an error if the module has none of that name."""
    def __getitem__(self, name: str, /) -> Any: ...  # a Function or a Struct

@final
class Struct(_ByName):
    """A Slang type: `module.Particle`, `module.float3`. Attributes are its methods and nested types; calling it calls its
    constructor. Struct(module, slang_struct, options={}) makes one of a TypeReflection.
    """

    def __new__(cls, module: Module, slang_struct: TypeReflection | str, options: Mapping[str, Any] | None = None) -> Self: ...
    @property
    def name(self) -> str:
        """Slang's name without its path and generic arguments, e.g. 'float3' or 'Particle'."""
    @property
    def full_name(self) -> str:
        """The name with its path and generic arguments: 'vector<float,3>', 'Scene.Light', 'Grid<int>'."""
    @property
    def module(self) -> Module:
        """The module in which the name is known."""
    @property
    def struct(self) -> TypeReflection:
        """The reflection of the type, a TypeReflection."""
    @property
    def fields(self) -> dict[str, VariableReflection]:
        """The fields by name, as VariableReflections; empty for a type that is not a struct."""
    @property
    def shape(self) -> Shape:
        """The sizes of a vector, matrix or array; () for other types."""
    @property
    def size_bytes(self) -> int:
        """The bytes of a value in C's layout; 0 for types that host memory cannot hold."""
    @property
    def program(self) -> ProgramLayout:
        """The ProgramLayout of the type's module."""
    @property
    def num_dims(self) -> int:
        """The number of dimensions of the type's shape."""
    @property
    def differentiable(self) -> bool:
        """Whether the type implements IDifferentiable."""
    @property
    def derivative(self) -> TypeReflection | None:
        """The type of the derivative; None if the type is not differentiable."""
    @property
    def is_generic(self) -> bool:
        """Whether the type depends on generic parameters that are still open."""
    @property
    def buffer_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection of the type as an element of a StructuredBuffer."""
    @property
    def uniform_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection of the type as a uniform value."""
    @property
    def type_reflection(self) -> TypeReflection:
        """The TypeReflection."""
    @property
    def vector_type_name(self) -> str:
        """The name of the type with its path and generic arguments, as Slang prints it."""
    @property
    def generic_args(self) -> tuple[TypeReflection | int | None, ...] | None:
        """The arguments of a generic type as a tuple of types and ints (1 or 0 for a bool); None for other types."""
    @property
    def layout(self) -> ProgramLayout:
        """The ProgramLayout of the type's module."""
    @property
    def element_type(self) -> TypeReflection | None:
        """The type of the elements of an array, vector, matrix, pointer, buffer or texture; the integer type of an enum;
        None for other types.
        """
    @property
    def device(self) -> Device:
        """The Device of the type's module."""
    @property
    def device_module(self) -> Module:
        """The SlangModule that the type belongs to."""
    @property
    def session(self) -> SlangSession:
        """The SlangSession of the type's module."""
    def try_get_child(self, name: str) -> Struct | Function | None:
        """Returns the function or type of that name in the struct, or None."""
    def torch(self) -> NoReturn:
        """Not in this version."""
    def as_struct(self) -> Struct:
        """The type itself, for code that says module.Foo.as_struct()."""
    def as_func(self) -> Function:
        """Raises ValueError, because this is a type."""
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def __getitem__(self, name: str, /) -> Any: ...  # a Function or a Struct
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...

@final
class Function:
    """A Slang function. Calling it runs it once for each element of the broadcast shape of its arguments; _result= says
    where the result goes, _append_to= records the call, _thread_count= adds threads. A pointer takes a tensor, a buffer,
    an address (a large int) or an object with device_address or data_ptr(); a list of dicts is one dimension of structs.
    Function(module, func, struct=None, options={}) finds the function, as module[func] does.
    """

    def __new__(
        cls, module: Module, func: str | FunctionReflection, struct: Struct | None = None, options: Mapping[str, Any] | None = None,
    ) -> Self: ...
    @property
    def full_name(self) -> str:
        """The name with that of its struct and with generic arguments: 'Particle.step', 'f<float>'."""
    def debug_build_call_data(self, *args: Any, **kwargs: Any) -> Any:
        """Build the kernel of a call with these arguments without running it; gives an object with code, pipeline and
        debug_only_bindings.
        """
    @property
    def name(self) -> str:
        """Slang's name of the function: 'f', 'f<float>'; for a method without the struct's name."""
    @property
    def module(self) -> Module:
        """The module that the function is looked up in."""
    @property
    def reflection(self) -> FunctionReflection | None:
        """The reflection of the function's declaration, of the first overload: a FunctionReflection; None for functions that
        Slang itself declares.
        """
    @overload
    def __call__(
        self,
        *args: Any,
        _result: Literal["numpy"],
        _append_to: None = None,
        _thread_count: _ShapeLike | None = None,
        **kwargs: Any,
    ) -> NDArray[Any]: ...
    @overload
    def __call__(
        self,
        *args: Any,
        _result: Literal["tensor"],
        _append_to: None = None,
        _thread_count: _ShapeLike | None = None,
        **kwargs: Any,
    ) -> Tensor: ...
    @overload
    def __call__(
        self,
        *args: Any,
        _result: type[_T],
        _append_to: None = None,
        _thread_count: _ShapeLike | None = None,
        **kwargs: Any,
    ) -> _T: ...
    @overload
    def __call__(
        self,
        *args: Any,
        _result: Any = None,
        _append_to: CommandEncoder | None = None,
        _thread_count: _ShapeLike | None = None,
        **kwargs: Any,
    ) -> Any: ...
    @property
    def bwds(self) -> Function:
        """The backward derivative, a Function: bwds(..., _result=tensor) takes the arguments of the call, reads the
        gradients of the outputs (grad_in of tensors, .grad of a DiffPair) and adds, for each element, the product with
        the derivative to the gradients of the inputs (grad_out, .grad). Outputs stay as they are, what has no gradient is
        a constant, and it gives None. An inout parameter must hold the value that went in, and needs separate grad_in and
        grad_out. Slang must know a derivative ([Differentiable]); else slangpy.Error says why it does not.
        """
    @property
    def fwds(self) -> Function:
        """The forward derivative, a Function: fwds(...) takes the arguments of the call and reads the gradients of the
        inputs as a direction. It gives the result with its gradient, how fast it changes in that direction: a Tensor with
        gradients, or a DiffPair of values or arrays. A _result that is given, and out parameters, get both as well.
        """
    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, as the object itself does."""
    def append_to(self, encoder: CommandEncoder, /, *args: Any, **kwargs: Any) -> Any:
        """Record the call into a command encoder instead of making it."""
    def dispatch(
        self,
        thread_count: _ShapeLike,
        *args: Any,
        vars: Mapping[str, Any] | None = {},
        command_encoder: CommandEncoder | None = None,
        **kwargs: Any,
    ) -> None:
        """Run the function in the given number of threads; arguments are passed whole."""
    def explain(self, *args: Any, **kwargs: Any) -> str:
        """Describe the call with these arguments: binding table, call shape, kernel text. Nothing runs."""
    def prepare(self, *args: Any, **kwargs: Any) -> None:
        """Begin to compile the call with these arguments on a thread of the library, and return at once. Their kinds, types
        and shapes matter. The call itself waits for it, and raises what is wrong. Several kernels compile at the same
        time.
        """
    def time(self, *args: Any, **kwargs: Any) -> float:
        """Make the call, wait for it, and give the GPU's time in seconds."""
    @property
    def declared(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The arguments of declare(): a tuple of the entries by position and a dict of the entries by name; None without
        declare().
        """
    def declare(self, *args: Any, **kwargs: Any) -> Self:
        """The function with mappings and types that its calls need not say: for each parameter, by position or name,
        vmapping(...), a Slang type, vmap(type, dims) for both, or None. Its calls take plain arguments.
        """
    def _gradcheck(self, options: tuple[float, float, float, int, int], /, *args: Any, **kwargs: Any) -> str | None:
        """Runs gradcheck() of the package; gives None, or the text of the error."""
    def resolve(self, *args: Any, **kwargs: Any) -> Resolution:
        """The Resolution of a call with these arguments. No kernel is compiled and nothing runs; errors are those of the
        call.
        """
    def map(self, *args: _MapLike, **kwargs: _MapLike) -> Function:
        """For each argument, by position or parameter name, a tuple of kernel dimensions (() for one value that is passed
        whole) or the Slang type it is loaded as. A name that no overload has is a ValueError.
        """
    def set(self, *args: Mapping[str, Any] | Callable[[], Mapping[str, Any]], **kwargs: Any) -> Function:
        """Values for the module's global shader parameters: one dict, keywords, or one callable that gives a dict at each
        call. It gets the function that is called, if it takes an argument.
        """
    def constants(self, constants: Mapping[str, Any]) -> Function:
        """A dict of values for `extern static const`, which are fixed when the kernel is compiled."""
    def bind(self, this: Any) -> Function:
        """Bind the instance that a method is called on."""
    def return_type(self, return_type: str | type | None) -> Function:
        """The form of results: 'numpy', 'tensor', Tensor, NDBuffer or numpy.ndarray; None is the default."""
    @overload
    def thread_group_size(self, *size: _ShapeLike) -> Function:
        """The threads of a group, as up to three numbers or a tuple; missing ones are 1."""
    @overload
    def thread_group_size(self, *, thread_group_size: _ShapeLike) -> Function: ...
    def shared_bytes(self, shared_bytes: int) -> Function:
        """Dynamic shared memory of each group, which CUDA text in the function reaches; at most Device.info.limits.max_shared_bytes."""
    @overload
    def call_group_shape(self, *shape: _ShapeLike) -> Function:
        """The shape of the groups of elements that run next to each other."""
    @overload
    def call_group_shape(self, *, call_group_shape: _ShapeLike) -> Function: ...
    def prelude(self, code: str) -> Function:
        """Slang text at the head of the generated kernel, behind the texts of earlier prelude()."""
    def type_conformances(self, type_conformances: Sequence[_Conformance]) -> Function:
        """Types that interface values may have at run time: a list of 'Circle : IShape = 0' or ('IShape', 'Circle', 0)."""
    def deterministic(self, enable: bool = True) -> Function:
        """.bwds sums gradients in a fixed order, so that each run gives the same bits. Slower for what many elements share.
        An error where the function itself adds to a gradient (DiffTensor).
        """
    def cuda_stream(self, stream: _StreamLike) -> Function:
        """Calls run on that CUDA stream, after all earlier work of the device, which goes on after them. An int, a
        NativeHandle, or an object with cuda_stream or __cuda_stream__(), as torch's streams. ValueError where the device
        is not CUDA's, or the stream of another context.
        """
    def write(self, function: Callable[..., object], /, *args: Any, **kwargs: Any) -> Function:
        """Call function(cursor, *args, **kwargs) at each call; it sets globals through a ShaderCursor."""
    def as_func(self) -> Function:
        """The function itself."""
    def as_struct(self) -> Struct:
        """Raises ValueError, because this is a function."""

@final
class Binding:
    """A parameter of a call, or a field of one, and the argument that it gets."""

    @property
    def path(self) -> str:
        """The parameter, or a field of it: 'x', 'light.color', '_result'."""
    @property
    def type(self) -> str:
        """The Slang type that each element of the call gets: 'float3', 'Light'."""
    @property
    def direction(self) -> Literal["in", "out", "inout"]:
        """The parameter's direction: 'in', 'out' or 'inout'."""
    @property
    def argument(self) -> str:
        """A description of the argument, such as 'float tensor (100, 3)'."""
    @property
    def map(self) -> tuple[int, ...]:
        """The call's dimensions: dimension i of the argument is dimension map[i] of the call."""
    @property
    def consumed_rank(self) -> int:
        """The number of trailing dimensions of the argument that feed the type."""
    @property
    def depth(self) -> int:
        """0 for a parameter or '_result', 1 for their fields, and so on."""

@final
class Resolution:
    """The form of a call: overload, types, mapping, shape. See Function.resolve()."""

    @property
    def signature(self) -> str:
        """The overload that was chosen: 'float3 scale(float3 v, float s)'."""
    @property
    def result_type(self) -> str:
        """The Slang type of the function's result; 'void' if it returns nothing."""
    @property
    def shape(self) -> Shape:
        """The Shape of the call: the function runs once for each of its elements."""
    @property
    def bindings(self) -> tuple[Binding, ...]:
        """Each parameter that got an argument, followed by its fields, then '_result': a tuple of Bindings."""
    @property
    def argument_types(self) -> tuple[str, ...]:
        """The Slang types of the parameters that got an argument, without '_result': a tuple of str."""

@type_check_only
class _Fields:
    def __getattr__(self, name: str, /) -> ShaderCursor: ...

@final
class ShaderCursor(_Fields):
    """The module's global shader parameters, to be set: cursor.light.color = value, cursor['gain'] = 2."""

    def write(self, val: Any) -> None:
        """Set the value at the cursor; write(dict) at the root sets several values."""
    def find_field(self, name: str) -> ShaderCursor:
        """The cursor of a field, as cursor[name]."""
    def find_element(self, index: int) -> ShaderCursor:
        """The cursor of an element, as cursor[index]."""
    _path: str
    _at: ReflectionCursor
    @property
    def _offset(self) -> Any:
        """The ShaderOffset of the cursor."""
    def _moved(self, path: str | None, at: ReflectionCursor | None, /) -> ShaderCursor:
        """A cursor at another part of the same object."""
    def is_valid(self) -> bool:
        """Returns whether the program has a value here; True if the program is not known, as in Function.write()."""
    def has_field(self, name: str) -> bool:
        """Returns whether the value has a part of that name."""
    def has_element(self, index: int) -> bool:
        """Returns whether the value has a part of that index."""
    def find_field_index(self, name: str) -> int:
        """Returns the index of a field of the value, or -1."""
    def get_field_by_index(self, field_index: int) -> ShaderCursor:
        """Returns a cursor at the field with that index."""
    def find_entry_point(self, index: int) -> ShaderCursor:
        """Returns a cursor at the program's entry point with that index."""
    def dereference(self) -> ShaderCursor:
        """Returns the same cursor, because parameter blocks and constant buffers are entered by themselves."""
    def reinterpret(self, new_layout: TypeLayoutReflection) -> ShaderCursor:
        """Returns a cursor at the same position that takes the value for another type."""
    def set_data(self, data: _ArrayLike) -> None:
        """Writes the bytes of an array to a number, vector, matrix or array of numbers."""
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __delattr__(self, name: str, /) -> None: ...
    def __getitem__(self, key: str | int, /) -> ShaderCursor: ...
    def __setitem__(self, key: str | int, value: Any, /) -> None: ...
    def __delitem__(self, key: str | int, /) -> None: ...

# >>tensors

@type_check_only
class _Sizes:
    def __iter__(self) -> Iterator[int]: ...

@final
class Shape(_Sizes):
    """Shape(*sizes) or Shape(sizes): sizes of an array's dimensions, the last one varying fastest. Equal to a tuple or list
    of the same sizes. A size of -1 is open. Shape(None) stands for no shape: its `valid` is False.
    """

    def __new__(cls, *sizes: _ShapeLike | None, shape: _ShapeLike | None = ...) -> Self: ...
    @property
    def concrete(self) -> bool:
        """Whether no size is -1."""
    @property
    def valid(self) -> bool:
        """False only for Shape(None), which stands for no shape."""
    @property
    def element_count(self) -> int:
        """The product of the sizes."""
    def as_tuple(self) -> tuple[int, ...]:
        """The sizes as a tuple."""
    def as_list(self) -> list[int]:
        """The sizes as a list."""
    def calc_contiguous_strides(self) -> Shape:
        """Row-major strides in elements."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, index: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, index: slice, /) -> Shape: ...
    def __add__(self, other: _ShapeLike, /) -> Shape: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...

@type_check_only
class _Making(Protocol[_T_co]):
    def __call__(
        self,
        device: Device | Module,
        ndarray: _ArrayLike,
        usage: Any = None,
        memory_type: Any = None,
        *,
        dtype: _TypeLike | None = None,
        target_slang_dtype: _TypeLike | None = None,
    ) -> _T_co: ...

# Tensor.from_numpy(device, array) makes a tensor, and tensor.from_numpy(array) fills it.
@type_check_only
class _FromNumpy(Protocol):
    @overload
    def __get__(self, instance: None, owner: type[_T], /) -> _Making[_T]: ...
    @overload
    def __get__(self, instance: Tensor, owner: Any, /) -> Callable[[_ArrayLike | Mapping[str, Any]], None]: ...

@type_check_only
class _SharingTorch(Protocol[_T_co]):
    def __call__(self, device: Device | Module, tensor: Any, dtype: _TypeLike | None = None) -> _T_co: ...

@type_check_only
class _FromTorch(Protocol):
    @overload
    def __get__(self, instance: None, owner: type[_T], /) -> _SharingTorch[_T]: ...
    @overload
    def __get__(self, instance: Tensor, owner: Any, /) -> Callable[[_ArrayLike | Mapping[str, Any]], None]: ...

@type_check_only
class _SharingDLPack(Protocol[_T_co]):
    def __call__(self, device: Device | Module, array: Any, dtype: _TypeLike | None = None) -> _T_co: ...

@type_check_only
class _FromDLPack(Protocol):
    @overload
    def __get__(self, instance: None, owner: type[_T], /) -> _SharingDLPack[_T]: ...
    @overload
    def __get__(self, instance: Tensor, owner: Any, /) -> Callable[[_ArrayLike | Mapping[str, Any]], None]: ...

@type_check_only
class _Numpy(Protocol):
    @overload
    def __get__(self, instance: None, owner: type[_T], /) -> _Making[_T]: ...
    @overload
    def __get__(self, instance: Tensor, owner: Any, /) -> Callable[[], NDArray[Any]]: ...

@disjoint_base
class Tensor:
    """An N-dimensional strided array of device memory with a Slang element type, with undefined contents. Tensor(storage,
    dtype, shape, strides=None, offset=0) makes one over the memory of a Buffer or another tensor; strides and offset are
    in elements. == compares identity, and warns if it is given values: to_numpy() == value compares elements.
    """

    @overload
    def __new__(
        cls,
        device: Device | Module,
        shape: _ShapeLike,
        dtype: _TypeLike | None = None,
        *,
        usage: Any = None,
        memory_type: Any = None,
    ) -> Self: ...
    @overload
    def __new__(
        cls,
        device: Device | Module,
        dtype: _TypeLike | None = None,
        element_count: int | None = None,
        shape: _ShapeLike | None = None,
        usage: Any = None,
        memory_type: Any = None,
        element_type: _TypeLike | None = None,
    ) -> Self: ...
    @overload
    def __new__(
        cls, storage: Tensor, dtype: _TypeLike, shape: _ShapeLike, strides: _ShapeLike | None = None, offset: int = 0
    ) -> Self: ...
    @overload
    def __new__(cls, array: _ArrayLike, /) -> Self: ...
    @classmethod
    def empty(
        cls,
        device: Device | Module,
        shape: _ShapeLike | None = None,
        dtype: _TypeLike | None = None,
        usage: Any = None,
        memory_type: Any = None,
        element_count: int | None = None,
        program_layout: Any = None,
    ) -> Self:
        """A tensor of undefined contents."""
    @classmethod
    def zeros(
        cls,
        device: Device | Module,
        shape: _ShapeLike | None = None,
        dtype: _TypeLike | None = None,
        usage: Any = None,
        memory_type: Any = None,
        element_count: int | None = None,
        program_layout: Any = None,
    ) -> Self:
        """A tensor of zeros."""
    @classmethod
    def empty_like(cls, other: Tensor) -> Self:
        """Of its shape and type, contents undefined."""
    @classmethod
    def zeros_like(cls, other: Tensor) -> Self:
        """Of its shape and type, all zero."""
    @classmethod
    def full(cls, device: Device | Module, shape: _ShapeLike, fill_value: Any, dtype: _TypeLike | None = None) -> Self:
        """A tensor whose elements all have one value."""
    @classmethod
    def load_from_image(
        cls,
        device: Device,
        path: _Path,
        flip_y: bool = False,
        linearize: bool = False,
        scale: float = 1.0,
        offset: float = 0.0,
        grayscale: bool = False,
    ) -> Self:
        """An image file as a (height, width) tensor of float, float2, float3 or float4; 8-bit values become 0 to 1. Needs
        Pillow.
        """
    from_numpy: ClassVar[_FromNumpy]
    from_torch: ClassVar[_FromTorch]
    from_dlpack: ClassVar[_FromDLPack]
    numpy: ClassVar[_Numpy]
    @property
    def shape(self) -> Shape:
        """The sizes of the dimensions."""
    @property
    def strides(self) -> Shape:
        """Steps between neighbours of each dimension, in elements."""
    @property
    def offset(self) -> int:
        """The position of the first element in the storage, in elements."""
    @property
    def element_count(self) -> int:
        """The product of the sizes."""
    @property
    def usage(self) -> BufferUsage:
        """The BufferUsage that the tensor was made with; by default shader_resource and unordered_access."""
    @property
    def memory_type(self) -> MemoryType:
        """The MemoryType that the tensor was made with; its memory is on the device in any case."""
    @property
    def ndim(self) -> int:
        """The number of dimensions."""
    @property
    def device_address(self) -> int:
        """The GPU's address of the first element."""
    @property
    def dtype(self) -> TypeReflection:
        """The Slang element type, a TypeReflection: that of a Struct is struct.struct."""
    @property
    def device(self) -> Device:
        """The device that it lives on."""
    def to_numpy(self, *, structured: bool = False) -> NDArray[Any]:
        """A numpy array of the contents; vectors, matrices and arrays become further dimensions. Structs: one more dimension
        of uint8, their bytes as they lie on the device; with structured=True elements with named fields. Waits.
        """
    def copy_from_numpy(self, data: _ArrayLike | Mapping[str, Any]) -> None:
        """Copy the bytes of an array to the start of the tensor's memory, whatever its dtype. RuntimeError: the array or the
        tensor is not contiguous, or the array is larger. For structs a structured array or a dict of arrays goes by field
        names. tensor.from_numpy(data) converts numbers.
        """
    def copy_from_torch(self, tensor: Any) -> None:
        """Fill the tensor from one of torch's with as many numbers, converted; the same as tensor.from_torch(tensor)."""
    def cursor(self, start: int = 0, count: int | None = None) -> BufferCursor:
        """A BufferCursor over elements start .. start + count in row-major order, copied to the host: cursor[i].field =
        value, cursor[i].read(); cursor.apply() copies back what was written. Waits.
        """
    @property
    def storage(self) -> Buffer:
        """The tensor's memory as a Buffer of bytes. For a view it is all the memory that the view is part of, so that views
        share one storage; `offset` is the view's position in it.
        """
    def uniforms(self) -> dict[str, Any]:
        """A dict of shape, strides and offset, which stands for the tensor in dispatch(vars=...)."""
    def to_torch(self) -> Any:
        """A torch tensor over the same memory if the device is CUDA's; otherwise one on the CPU with a copy of the contents,
        for which the call waits. ImportError without torch.
        """
    def torch(self) -> Any:
        """The same as to_torch()."""
    def view(
        self, shape: _ShapeLike, strides: _ShapeLike | None = None, offset: int = 0, dtype: _TypeLike | None = None
    ) -> Self:
        """A tensor over the same memory with another shape, strides or offset, in elements."""
    @overload
    def broadcast_to(self, shape: _ShapeLike) -> Self:
        """A view with the given sizes: sizes of 1 are stretched, leading dimensions added. Copies nothing."""
    @overload
    def broadcast_to(self, *sizes: SupportsIndex) -> Self:
        """A view with sizes of 1 stretched and leading dimensions added, which is no copy."""
    @overload
    def reshape(self, shape: _ShapeLike) -> Self:
        """A view of the same elements with other sizes, one of which may be -1. Never copies."""
    @overload
    def reshape(self, *sizes: SupportsIndex) -> Self:
        """The same elements in other sizes; one may be -1. Never copies."""
    def flatten_dtype(self) -> Self:
        """A view of the same memory whose elements are scalars, with further dimensions: a float3 tensor (100) gives a float
        tensor (100, 3).
        """
    def clear(self, command_encoder: CommandEncoder | None = None) -> None:
        """Set all bytes of the tensor's memory to zero; for a view, of all the memory that the view is part of."""
    def with_grads(
        self, grad_in: _GradLike | None = None, grad_out: _GradLike | None = None, zero: bool = False
    ) -> Tensor:
        """The same memory as a Tensor that carries gradients, of its shape and of Slang's T.Differential. Without arguments
        one new one, zero, serves for both; grad_in is what calls read, grad_out what backward calls add to and forward
        ones write. Each is a Tensor, or numbers for a new one: an array, a list or one number for all. zero: whether
        tensors that are given are set to zero. TypeError: elements that have no gradients, as int.
        """
    def detach(self) -> Tensor:
        """A tensor over the same memory without gradients."""
    @property
    def grad(self) -> Tensor | Any:
        """The gradient, a Tensor: grad_out if there is one, otherwise grad_in. Without gradients it raises a
        NameNotFoundError, which is a RuntimeError and an AttributeError. A view's gradient is a view.
        """
    @property
    def grad_in(self) -> Tensor | None:
        """The gradient that calls read, in backward calls that of an output; or None."""
    @grad_in.setter
    def grad_in(self, value: Any) -> None: ...
    @property
    def grad_out(self) -> Tensor | None:
        """The gradient that calls write, in backward calls that of an input; or None."""
    @grad_out.setter
    def grad_out(self, value: Any) -> None: ...
    def point_to(self, target: Tensor) -> None:
        """Make the tensor show the memory of `target`, which must have the same shape, strides and type; otherwise
        ValueError.
        """
    def is_contiguous(self) -> bool:
        """Whether elements lie row-major without gaps."""
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: Any, /) -> Self: ...
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]: ...
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...

@final
class BufferCursor:
    """The elements of a tensor, copied to the host. cursor[i] is a BufferElementCursor, and cursor[i] = value writes an
    element; apply() copies written elements back. BufferCursor(element_layout, buffer_resource, load_before_write=True)
    shows a Buffer as elements of a type; BufferCursor(device_type, element_layout, size) allocates memory for `size`
    elements.
    """

    @overload
    def __new__(cls, tensor: Tensor, start: int = 0, count: int | None = None) -> Self: ...
    @overload
    def __new__(cls, device_type: DeviceType, element_layout: TypeLayoutReflection | TypeReflection | Struct, size: int) -> Self: ...
    @overload
    def __new__(
        cls, element_layout: TypeLayoutReflection | TypeReflection | Struct, buffer_resource: Tensor, load_before_write: bool = True
    ) -> Self: ...
    @overload
    def __new__(
        cls,
        element_layout: TypeLayoutReflection | TypeReflection | Struct,
        buffer_resource: Tensor,
        size: int,
        offset: int,
        load_before_write: bool = True,
    ) -> Self: ...
    @property
    def element_count(self) -> int:
        """The number of elements."""
    @property
    def element_size(self) -> int:
        """The bytes of an element on the device."""
    @property
    def element_stride(self) -> int:
        """The bytes from one element to the next on the device."""
    @property
    def size(self) -> int:
        """The bytes of all elements on the device."""
    @property
    def element_type(self) -> TypeReflection:
        """The TypeReflection of the elements."""
    @property
    def element_type_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection of the elements."""
    @property
    def is_loaded(self) -> bool:
        """Whether the elements have been read from the device."""
    @property
    def resource(self) -> Tensor:
        """The buffer or tensor that the elements belong to."""
    def apply(self) -> None:
        """Copy the elements that were written to the tensor."""
    def load(self) -> None:
        """Read the elements again; writes without apply() are lost. Waits."""
    def find_element(self, index: int) -> BufferElementCursor:
        """Returns cursor[index]. IndexError beyond the end."""
    def to_numpy(self) -> NDArray[Any]:
        """Returns the bytes of all elements, as they lie on the device, as a numpy array of uint8."""
    def copy_from_numpy(self, data: Any) -> None:
        """Writes the bytes of an array from the first element on. An array with the wrong number of bytes is taken as values
        for all elements: its numbers are converted, and the fields of a structured array go by their names.
        """
    def write_from_numpy(self, data: Any, unchecked_copy: bool = True) -> None:
        """Writes fields of all elements, from a dict of arrays by the fields' names; a nested dict for a struct. The first
        dimension of each array is the number of elements. Other data: as copy_from_numpy().
        """
    def _read_bytes(self) -> bytearray:
        """The bytes of all elements as they lie on the device."""
    def _write_bytes(self, data: _BytesLike, /) -> None:
        """Write bytes as they lie on the device."""
    def _write_values(self, data: Any, /) -> None:
        """Write values for all elements."""
    def __len__(self) -> int: ...
    def __getitem__(self, index: SupportsIndex, /) -> BufferElementCursor: ...
    def __setitem__(self, index: SupportsIndex, value: Any, /) -> None: ...
    def __delitem__(self, index: SupportsIndex, /) -> None: ...

@type_check_only
class _Parts:
    def __getattr__(self, name: str, /) -> BufferElementCursor: ...

@final
class BufferElementCursor(_Parts):
    """A value in the elements of a BufferCursor, or a part of one: place.field, place['light.color'], place[2]; place.field
    = value writes.
    """

    @property
    def type(self) -> Struct:
        """The Slang type of the value, unless it has a field of that name."""
    def read(self) -> Any:
        """Returns the value: a number, vector, matrix, list, or a dict for a struct."""
    def write(self, val: Any) -> None:
        """Write numbers, lists, vectors or arrays; a dict changes the fields that it names, and other keys are ignored.
        Nothing is changed if a part does not fit.
        """
    def set_data(self, data: _BytesLike) -> None:
        """Write the value's bytes, from any object with a buffer."""
    def is_valid(self) -> bool:
        """Whether the value can be read and written: the cursor has one, and its device is open."""
    def has_field(self, name: str) -> bool:
        """Whether the value has a part of that name or path."""
    def has_element(self, index: int) -> bool:
        """Whether the value has a part of that index."""
    def find_field(self, name: str) -> BufferElementCursor:
        """Returns the part with that name or path, as cursor[name] does; an invalid cursor if the element has no such part."""
    def find_element(self, index: int) -> BufferElementCursor:
        """The element with that index; an invalid cursor beyond the end."""
    @property
    def _offset(self) -> int:
        """The bytes from the cursor's first element, on the device."""
    def reinterpret(self, new_layout: TypeLayoutReflection | TypeReflection | Struct) -> BufferElementCursor:
        """The same bytes as a value of another type."""
    def __bool__(self) -> bool: ...
    def __len__(self) -> int: ...
    def __setattr__(self, name: str, value: Any, /) -> None: ...
    def __delattr__(self, name: str, /) -> None: ...
    def __getitem__(self, key: str | int, /) -> BufferElementCursor: ...
    def __setitem__(self, key: str | int, value: Any, /) -> None: ...
    def __delitem__(self, key: str | int, /) -> None: ...

class NDBuffer(Tensor):
    """Slang's other name for a Tensor. NDBuffer(array): a copy of any array (numpy, ...) on the device that
    push_current_device() set; as from_torch() for one in CUDA memory.
    """

# >>values that are arguments

@disjoint_base
class Generator:
    """An argument whose values the kernel computes: see call_id, thread_id, grid, wang_hash, rand_float."""

    @property
    def slangpy_signature(self) -> str:
        """A text that is the same for generators of one kind and number of dimensions."""
    @property
    def dims(self) -> int:
        """The number of dimensions or components; -1 takes the parameter's."""

class CallIdArg(Generator):
    """The argument that call_id() returns."""

    def __new__(cls, dims: int = -1) -> Self: ...

class ThreadIdArg(Generator):
    """The argument that thread_id() returns."""

    def __new__(cls, dims: int = -1) -> Self: ...

class GridArg(Generator):
    """The argument that grid() returns."""

    def __new__(cls, shape: _ShapeLike, offset: _ShapeLike | None = None, stride: _ShapeLike | None = None) -> Self: ...
    @property
    def shape(self) -> Shape:
        """The grid's sizes; -1 takes the call's size."""
    @property
    def offset(self) -> Shape:
        """The number that is added to each coordinate."""
    @property
    def stride(self) -> Shape:
        """The factor of each coordinate."""

class WangHashArg(Generator):
    """The argument that wang_hash() returns."""

    def __new__(cls, dims: int = -1, seed: int = 0, warmup: int = 0, hash_seed: bool = True) -> Self: ...
    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
    @property
    def warmup(self) -> int:
        """How often a thread's index is hashed before the seed joins it."""
    @property
    def hash_seed(self) -> bool:
        """Whether the seed is hashed."""

class RandFloatArg(Generator):
    """The argument that rand_float() returns."""

    def __new__(
        cls, min: float, max: float, dim: int = -1, seed: int = 0, warmup: int = 0, hash_seed: bool = True
    ) -> Self: ...
    @property
    def min(self) -> float:
        """The least number."""
    @property
    def max(self) -> float:
        """The upper limit, which no number reaches."""
    @property
    def seed(self) -> int:
        """The seed of the random numbers."""
    @property
    def warmup(self) -> int:
        """How often a thread's index is hashed before the seed joins it."""
    @property
    def hash_seed(self) -> bool:
        """Whether the seed is hashed."""

@final
class Vectorized:
    """An argument with an explicit mapping or type: see vmap, vdim, vcast."""

    @property
    def value(self) -> Any:
        """The argument that has the mapping or type."""
    @property
    def dims(self) -> tuple[int, ...] | None:
        """The dimensions of the call, for vmap() and vdim(); None for vcast()."""
    @property
    def type(self) -> Any:
        """The type, for vcast(); None for vmap() and vdim()."""
    def around(self, value: Any, /) -> Vectorized:
        """The same mapping or type for another value."""

def vmap(value: Any, dims: int | _ShapeLike) -> Vectorized:
    """The argument `value` with an explicit mapping: its dimension i is run over as dimension dims[i] of the call, and its
    further dimensions feed the parameter's type. () passes it as one value. Around a dict it is the mapping of each field
    that is run over.
    """
def vdim(value: Any, n: int) -> Vectorized:
    """vmap(value, (0, ..., n - 1)): the first n dimensions of `value` are the call's."""
def vcast(value: Any, type: Any) -> Vectorized:
    """The argument `value`, whose elements have an explicit Slang type; the mapping follows from it. The parameter must have
    this type, which chooses among overloads and for generic parameters.
    """

@disjoint_base
class PackedArg:
    """An argument that pack() has converted once and that serves many calls."""

    python_object: Any
    def __new__(cls, module: Module, python_object: Any) -> Self: ...

@disjoint_base
class ValueRef:
    """A value that an out or inout parameter changes; .value holds it."""

    def __new__(cls, init_value: Any = None) -> Self: ...
    value: Any
    @property
    def slangpy_signature(self) -> str:
        """A text that is the same for values of one type."""

@final
class DiffPair:
    """A value and its gradient, as an argument of .bwds and .fwds. Each of the two is a number, list, vector, array, tensor
    or dict. The call replaces numbers and lists by the new values; it writes arrays and tensors in their memory, and adds
    to them. Backward calls give the gradients of inputs and read those of outputs; forward calls the other way round.
    primal None stands for an output whose value does not matter. Other calls take only the value.
    """

    @overload
    def __new__(cls, primal: Any = None, grad: Any = None, needs_grad: bool = True) -> Self: ...
    @overload
    def __new__(cls, p: Any = None, d: Any = None, needs_grad: bool = True) -> Self: ...
    primal: Any
    grad: Any
    needs_grad: bool
    @property
    def slangpy_signature(self) -> str:
        """A text that is the same for pairs of the same types."""
    def get(self, type: int) -> Any:
        """Returns the value for PrimType.primal, the gradient for PrimType.derivative."""
    def set(self, type: int, value: Any) -> None:
        """Replace the value or the gradient."""

def call_id(dims: int | _ShapeLike = -1) -> Generator:
    """An argument with the position of each element in the call's shape. `dims` is the parameter's size, which need not be
    given. call_id((2, 3)) is the same as grid((2, 3)).
    """
def thread_id(dims: int = -1) -> Generator:
    """An argument with the number of each element. `dims` is the parameter's size, which need not be given."""
def grid(shape: _ShapeLike, offset: _ShapeLike | None = None, stride: _ShapeLike | None = None) -> Generator:
    """An argument with the coordinates of a grid; -1 in shape is any size, and an int is a rank of any sizes."""
def wang_hash(dim: int = -1, seed: int = 2640457667, warmup: int = 0, hash_seed: bool = True) -> Generator:
    """An argument of random unsigned numbers."""
def rand_float(
    min: float = 0, max: float = 1, dim: int = -1, seed: int = 2640457667, warmup: int = 0, hash_seed: bool = True
) -> Generator:
    """Random floats in [min, max)."""
def intRef(init_value: int = 0) -> ValueRef:
    """A ValueRef."""
def floatRef(init_value: float = 0.0) -> ValueRef:
    """Make a ValueRef of a float."""
def pack(module: Module, arg_value: Any) -> PackedArg:
    """The value as a PackedArg, converted once for many calls. A PackedArg is returned as it is."""

# >>reflection

@disjoint_base
class BaseReflectionObject:
    """The base class of reflection objects. Objects of a Module stay valid when it is reloaded; objects of a SlangModule or
    ShaderProgram become invalid.
    """

    @property
    def is_valid(self) -> bool:
        """Whether the object can be used: its device is open, and no reload has made it invalid."""
    @property
    def module(self) -> Module:
        """The Module that the object belongs to and keeps alive."""
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __lt__(self, other: Any, /) -> bool: ...
    def __le__(self, other: Any, /) -> bool: ...
    def __gt__(self, other: Any, /) -> bool: ...
    def __ge__(self, other: Any, /) -> bool: ...

@final
class ProgramLayout(BaseReflectionObject):
    """Types, functions and shader parameters of a module by name: Module.layout. Lists do not follow reloads; a reloaded
    module has another layout.
    """

    def _of_entry_points(self, layouts: Sequence[EntryPointLayout], /) -> ProgramLayout:
        """The same layout with the given entry points."""

    @property
    def parameters(self) -> list[VariableLayoutReflection]:
        """The global shader parameters, as VariableLayoutReflections."""
    @property
    def entry_points(self) -> list[EntryPointLayout]:
        """The entry points, as EntryPointLayouts."""
    @property
    def module_decl(self) -> DeclReflection:
        """The root of the declarations, a DeclReflection."""
    def find_type_by_name(self, name: str) -> TypeReflection | None:
        """A TypeReflection: 'float3', 'ns::Grid<float, 4>', 'Circle[8]'; None if there is no such type."""
    def require_type_by_name(self, name: str, /) -> TypeReflection:
        """Returns the type that find_type_by_name() finds; raises a LookupError with similar names if no type has that name."""
    def find_function_by_name(self, name: str) -> FunctionReflection | None:
        """A FunctionReflection, the first of the overloads: 'f', 'ns::f', 'Circle::area', without generic arguments; None if
        there is no such function.
        """
    def require_function_by_name(self, name: str, /) -> FunctionReflection:
        """Returns the function that find_function_by_name() finds; raises a ValueError if no function has that name."""
    def find_function_by_name_in_type(self, type: _ReflectedType, name: str) -> FunctionReflection | None:
        """Returns the method of a type with that name, or its constructor for '$init'; None if the type has none."""
    def get_type_layout(self, type: _ReflectedType) -> TypeLayoutReflection:
        """The TypeLayoutReflection of a type or its name: sizes and offsets."""
    def is_sub_type(self, sub_type: _ReflectedType, super_type: _ReflectedType) -> bool:
        """Whether a type implements an interface."""
    def scalar_type(self, scalar_type: _ScalarType | str) -> TypeReflection:
        """Returns the type of a TypeReflection.ScalarType."""
    def vector_type(self, scalar_type: _ScalarType | str, size: int) -> TypeReflection:
        """Returns the type of vectors of a TypeReflection.ScalarType."""
    def matrix_type(self, scalar_type: _ScalarType | str, rows: int, cols: int) -> TypeReflection:
        """Returns the type of matrices of a TypeReflection.ScalarType."""
    def array_type(self, element_type: TypeReflection | str, count: int = 0) -> TypeReflection:
        """Returns the type of arrays of a type; a count of 0 is an array without a size."""
    def find_type(self, refl: TypeReflection | Struct) -> TypeReflection | None:
        """Returns this program's type with the full name of `refl`, a type of any program; None if this program has no such
        type.
        """
    def find_function(self, refl: FunctionReflection, this_refl: TypeReflection | None = None) -> FunctionReflection | None:
        """Returns a FunctionReflection of this program."""
    def require_function_by_name_in_type(self, type: _ReflectedType, name: str) -> FunctionReflection:
        """Returns what find_function_by_name_in_type() returns; raises a ValueError if the type has no such method."""
    def get_resolved_generic_args(self, slang_type: TypeReflection | Struct) -> tuple[TypeReflection | int | None, ...] | None:
        """Returns the arguments of a generic type as a list of types and ints; None for other types."""
    @property
    def globals_type_layout(self) -> Any:
        """The layout of the global shader parameters as a struct."""
    @property
    def globals_variable_layout(self) -> Any:
        """The global shader parameters as one variable."""
    @property
    def hashed_strings(self) -> list[Any]:
        """The strings of getStringHash(). The list is empty, because Slang is not asked for them."""
    @property
    def program_layout(self) -> ProgramLayout:
        """The layout itself."""

@final
class TypeReflection(BaseReflectionObject):
    """A Slang type. It can be given as the dtype of tensors and in map()."""

    Kind: TypeAlias = _TypeKind
    ScalarType: TypeAlias = _ScalarType
    ResourceShape: TypeAlias = _ResourceShape
    ResourceAccess: TypeAlias = _ResourceAccess
    ParameterCategory: TypeAlias = _ParameterCategory
    @property
    def kind(self) -> Kind:
        """A TypeReflection.Kind."""
    @property
    def name(self) -> str:
        """The name without namespaces and generic arguments: 'Grid', 'vector'; '_Texture' of textures."""
    @property
    def generation(self) -> int:
        """A number that a reload makes larger: after it the object has the new contents."""
    @property
    def full_name(self) -> str:
        """The name in full, as Slang prints it: 'geometry.Grid<float, 4>', 'vector<float,3>[4]'."""
    @property
    def scalar_type(self) -> ScalarType:
        """The TypeReflection.ScalarType of a scalar, vector or matrix; none for other types."""
    @property
    def row_count(self) -> int:
        """Rows of a matrix; 1 for vectors and scalars; 0 for other types."""
    @property
    def col_count(self) -> int:
        """Columns of a matrix, components of a vector; 1 for scalars; 0 for other types."""
    @property
    def element_type(self) -> TypeReflection | None:
        """The type of the elements of an array, vector, pointer, tensor, buffer or texture; of a matrix its rows; else None."""
    @property
    def element_count(self) -> int:
        """The number of elements of an array (0 without a size) or vector; 0 for other types."""
    @property
    def total_array_element_count(self) -> int:
        """The number of all elements of an array of arrays; 0 for other types."""
    @property
    def program(self) -> ProgramLayout:
        """The ProgramLayout of the type's module."""
    @property
    def num_dims(self) -> int:
        """The number of dimensions of the type's shape."""
    @property
    def differentiable(self) -> bool:
        """Whether the type implements IDifferentiable."""
    @property
    def derivative(self) -> TypeReflection | None:
        """The type of the derivative; None if the type is not differentiable."""
    @property
    def is_generic(self) -> bool:
        """Whether the type depends on generic parameters that are still open."""
    @property
    def buffer_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection of the type as an element of a StructuredBuffer."""
    @property
    def uniform_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection of the type as a uniform value."""
    @property
    def type_reflection(self) -> TypeReflection:
        """The TypeReflection."""
    @property
    def vector_type_name(self) -> str:
        """The name of the type with its path and generic arguments, as Slang prints it."""
    @property
    def generic_args(self) -> tuple[TypeReflection | int | None, ...] | None:
        """The arguments of a generic type as a tuple of types and ints (1 or 0 for a bool); None for other types."""
    @property
    def dims(self) -> int:
        """The number of dimensions of a tensor type: the D of Tensor<T, D>."""
    @property
    def dtype(self) -> TypeReflection:
        """The type of a tensor type's elements: the T of Tensor<T, D>."""
    @property
    def access(self) -> TensorAccess:
        """How a function may access a tensor of this type, an ITensorType.Access."""
    @property
    def tensor_type(self) -> TensorType:
        """Which tensor a tensor type is, an ITensorType.Kind."""
    @property
    def has_grad_in(self) -> bool:
        """Whether a tensor type reads a gradient in the backward pass, as tensors do that a function writes."""
    @property
    def has_grad_out(self) -> bool:
        """Whether a tensor type adds to a gradient in the backward pass, as tensors do that a function reads."""
    @property
    def writable(self) -> bool:
        """Whether a function may write to a tensor, buffer or texture of this type."""
    @property
    def usage(self) -> IntFlag:
        """The usage that a buffer or texture needs for a parameter of this type, a BufferUsage or TextureUsage."""
    @property
    def texture_dims(self) -> int:
        """Number of dimensions of a texture type, layers included: 3 of a Texture2DArray."""
    @property
    def target_type(self) -> TypeReflection | None:
        """The type that a pointer type points to."""
    @property
    def slang_scalar_type(self) -> _ScalarType:
        """The ScalarType of its numbers."""
    @property
    def num_elements(self) -> int:
        """Number of elements of an array or vector."""
    @property
    def size_bytes(self) -> int:
        """Bytes in C's layout; 0 for what host memory cannot hold."""
    @property
    def struct(self) -> TypeReflection:
        """The type itself."""
    @property
    def device(self) -> Device:
        """The Device of its module."""
    @property
    def rows(self) -> int:
        """Number of rows of a matrix."""
    @property
    def cols(self) -> int:
        """Number of columns of a matrix."""
    @property
    def fields(self) -> Any:
        """The fields of a struct, and the components of a vector, by name: a FieldDict. The types of a SlangModule have a
        FieldList of a struct's fields.
        """
    @property
    def field_count(self) -> int:
        """The number of fields of a struct."""
    @property
    def resource_shape(self) -> ResourceShape:
        """A TypeReflection.ResourceShape; none for a type that is not a resource."""
    @property
    def resource_access(self) -> ResourceAccess:
        """A TypeReflection.ResourceAccess; none for a type that is not a resource."""
    @property
    def resource_result_type(self) -> TypeReflection | None:
        """The type of the elements of a buffer or texture; None for a type that is not a resource."""
    @property
    def shape(self) -> Shape:
        """The sizes of arrays, matrices and vectors, outermost first; () for scalars and structs. For a tensor, texture or buffer: -1
        for each dimension, and then the shape of an element."""
    @property
    def is_array(self) -> bool:
        """Whether the type is an array."""
    @property
    def is_scalar(self) -> bool:
        """Whether the type is a scalar."""
    @property
    def is_vector(self) -> bool:
        """Whether the type is a vector."""
    @property
    def is_matrix(self) -> bool:
        """Whether the type is a matrix."""
    @property
    def is_struct(self) -> bool:
        """Whether the type is a struct."""
    @property
    def is_float(self) -> bool:
        """Whether the type's numbers are floats: half, float or double."""
    @property
    def is_integer(self) -> bool:
        """Whether the type's numbers are integers, signed or not."""
    @property
    def is_signed(self) -> bool:
        """Whether the type's numbers are signed integers."""
    @property
    def is_bool(self) -> bool:
        """Whether the type's components are bools."""
    @property
    def user_attributes(self) -> list[Attribute]:
        """Attributes of the declaration of a struct, enum or interface of this module."""
    @property
    def decl(self) -> DeclReflection | None:
        """The DeclReflection of a struct, enum or interface of this module, or None."""
    def unwrap_array(self) -> TypeReflection:
        """The type of an array's innermost elements; the type itself if it is not an array."""
    def find_field(self, name: str) -> VariableReflection | None:
        """The VariableReflection of a field, or None."""
    def implements(self, interface: _ReflectedType, /) -> bool:
        """Whether the type implements an interface, which is given as a type or by name."""

@final
class TypeLayoutReflection(BaseReflectionObject):
    """The layout of a type in memory."""

    @property
    def reflection(self) -> TypeLayoutReflection:
        """The layout itself."""
    @property
    def kind(self) -> TypeReflection.Kind:
        """A TypeReflection.Kind."""
    @property
    def name(self) -> str:
        """The type's name."""
    @property
    def type(self) -> TypeReflection:
        """The TypeReflection."""
    @property
    def size(self) -> int:
        """The bytes on the device, as in a tensor, or among shader parameters: there a resource is a handle on CUDA and has
        no bytes on Vulkan. 0 for generic types with open parameters.
        """
    @property
    def alignment(self) -> int:
        """Alignment in bytes on the device."""
    @property
    def stride(self) -> int:
        """The bytes from one element of an array to the next on the device."""
    @property
    def host_size(self) -> int:
        """The bytes in C's layout, the layout of host data."""
    @property
    def host_alignment(self) -> int:
        """Alignment in bytes in C's layout."""
    @property
    def fields(self) -> list[VariableLayoutReflection]:
        """A struct's fields, as VariableLayoutReflections."""
    @property
    def element_type_layout(self) -> TypeLayoutReflection | None:
        """The layout of the elements of an array, vector, pointer or buffer; of a matrix that of its rows; None for other
        types.
        """
    def unwrap_array(self) -> TypeLayoutReflection:
        """The layout of an array's innermost elements; the layout itself if it is not an array's."""
    def find_field(self, name: str) -> VariableLayoutReflection | None:
        """The VariableLayoutReflection of a field, or None."""

@type_check_only
class _Declared(BaseReflectionObject):
    @property
    def name(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def doc(self) -> str: ...
    @property
    def modifiers(self) -> list[ModifierID]: ...
    @property
    def user_attributes(self) -> list[Attribute]: ...
    def has_modifier(self, modifier: ModifierID) -> bool: ...
    def get_user_attribute_count(self) -> int: ...
    def get_user_attribute_by_index(self, index: int) -> Attribute: ...
    def find_user_attribute_by_name(self, name: str) -> Attribute | None: ...

@final
class FunctionReflection(_Declared):
    """A declared function, method or constructor."""

    @property
    def full_name(self) -> str:
        """The name with its parents' and with generic arguments: 'geometry::Circle::area', 'f<float>'."""
    @property
    def return_type(self) -> TypeReflection:
        """The type of the result, which may be 'void'."""
    @property
    def parameters(self) -> list[VariableReflection]:
        """The parameters, as VariableReflections."""
    @property
    def this(self) -> TypeReflection | None:
        """The type that the method belongs to; None for static methods and other functions."""
    @property
    def is_overloaded(self) -> bool:
        """Whether there are other functions of the name."""
    @property
    def overloads(self) -> list[FunctionReflection]:
        """All functions of the name, including this one."""
    @property
    def is_constructor(self) -> bool:
        """Whether the function is an __init."""
    @property
    def have_return_value(self) -> bool:
        """Whether the result type is not void."""
    @property
    def is_generic(self) -> bool:
        """Whether the function has generic parameters, or its struct has."""
    @property
    def static(self) -> bool:
        """Whether the function is a static method."""
    @property
    def mutating(self) -> bool:
        """Whether the function is a method that changes its instance."""
    @property
    def differentiable(self) -> bool:
        """Whether the function is [Differentiable]."""
    @property
    def decl(self) -> DeclReflection:
        """The function's DeclReflection."""
    def specialize_with_arg_types(self, types: Sequence[_ReflectedType]) -> FunctionReflection | None:
        """The overload that takes arguments of these types (TypeReflections or names) with the least conversions, or None. A
        generic function is specialised for these types. Function.resolve() finds the overload of a call.
        """

@final
class VariableReflection(_Declared):
    """A parameter, field, constant or variable."""

    @property
    def type(self) -> TypeReflection | None:
        """The variable's TypeReflection; None for the case of an enum."""
    @property
    def io_type(self) -> IOType:
        """The direction of a parameter, an IOType."""
    @property
    def no_diff(self) -> bool:
        """Whether the variable is declared no_diff, or has a type without derivative."""
    @property
    def index(self) -> int:
        """The position among the parameters or fields, from 0."""
    @property
    def has_default(self) -> bool:
        """Whether a parameter has a default value, or a variable an initial one."""
    @property
    def value(self) -> int | float | str | None:
        """The value of a constant, or a default value that is a plain number; otherwise None."""
    @property
    def decl(self) -> DeclReflection:
        """The variable's DeclReflection."""

@type_check_only
class _Children:
    def __iter__(self) -> Iterator[DeclReflection]: ...

@final
class DeclReflection(_Declared, _Children):
    """A declaration of a module. len(decl), decl[i] and iteration give its children. A generic function or struct is the
    last child of a declaration of the kind generic, behind its generic parameters.
    """

    Kind: TypeAlias = _DeclKind
    @property
    def kind(self) -> Kind:
        """A DeclReflection.Kind: function, struct and so on."""
    @property
    def path(self) -> str:
        """The name with those of its parents: 'geometry::Circle::area'; '' for a declaration without a name."""
    @property
    def type(self) -> TypeReflection | None:
        """The type of a variable, the result type of a function, or the type that a struct declares; otherwise None."""
    @property
    def parent(self) -> DeclReflection | None:
        """The declaration that contains this one; None for the root."""
    @property
    def children(self) -> list[DeclReflection]:
        """The declarations in this one, as a list; len(decl) and decl[i] need no list."""
    @property
    def child_count(self) -> int:
        """The number of declarations in this one."""
    @property
    def value(self) -> int | float | str | None:
        """The number or text of an enum's case, a constant or a default value; None if it is not known."""
    @property
    def file(self) -> str:
        """The file of the declaration; '' if it is not known."""
    @property
    def line(self) -> int:
        """The line of the declaration, from 1; 0 if it is not known."""
    def as_type(self) -> TypeReflection:
        """The TypeReflection of a struct, enum, interface or alias."""
    def as_function(self) -> FunctionReflection:
        """The FunctionReflection of a function or method."""
    def as_variable(self) -> VariableReflection:
        """The VariableReflection of a field, parameter or variable."""
    def find_children_of_kind(self, kind: Kind, child_name: str = ...) -> list[DeclReflection]:
        """The children of a kind, or of a kind and name, as a list of DeclReflections."""
    def children_of_kind(self, kind: Kind) -> list[DeclReflection]:
        """The children of a kind, as a list of DeclReflections."""
    def find_first_child_of_kind(self, kind: Kind, child_name: str = ...) -> DeclReflection | None:
        """The first child of a kind and name as a DeclReflection, or None."""
    def __bool__(self) -> Literal[True]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, index: SupportsIndex, /) -> DeclReflection: ...

@final
class VariableLayoutReflection(BaseReflectionObject):
    """The place of a field or a global shader parameter in memory or among bindings."""

    @property
    def name(self) -> str:
        """The variable's name."""
    @property
    def variable(self) -> VariableReflection:
        """The VariableReflection."""
    @property
    def type(self) -> TypeReflection:
        """The TypeReflection."""
    @property
    def type_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection."""
    @property
    def offset(self) -> int:
        """The bytes from the beginning of the variable's struct, or of the uniform globals, on the device."""
    @property
    def host_offset(self) -> int:
        """The bytes from the beginning of the variable's struct in C's layout."""
    @property
    def binding(self) -> int:
        """The binding of a global resource in the layout of the module alone."""
    @property
    def space(self) -> int:
        """The descriptor set of a global resource."""

@final
class EntryPointLayout(BaseReflectionObject):
    """A function with a [shader(...)] attribute."""

    def _named(self, name: str, /) -> EntryPointLayout:
        """The same entry point under another name in the program."""
    @property
    def name(self) -> str:
        """The name of the function."""
    @property
    def stage(self) -> ShaderStage:
        """The ShaderStage."""
    @property
    def name_override(self) -> str:
        """The name in the program: the function's, or the one that rename() gave it."""
    @property
    def compute_thread_group_size(self) -> uint3:
        """The sizes of [numthreads] as a uint3; zeros for other stages."""
    @property
    def parameters(self) -> list[VariableLayoutReflection]:
        """The parameters, as VariableLayoutReflections."""
    @property
    def function(self) -> FunctionReflection:
        """The FunctionReflection."""

@final
class Attribute(BaseReflectionObject):
    """An attribute of a declaration; attributes are declared as structs."""

    @property
    def name(self) -> str:
        """The attribute's name: 'Range' of [Range(0, 1)]."""
    @property
    def args(self) -> tuple[int | float | str | None, ...]:
        """The arguments: int, float, str, or None for arguments that Slang does not tell (double, half, more than 32 bits)."""
    @property
    def argument_count(self) -> int:
        """The number of arguments."""
    def argument_type(self, index: int) -> TypeReflection | None:
        """The TypeReflection of an argument."""
    def argument_value_int(self, index: int) -> int:
        """An argument that is an int."""
    def argument_value_float(self, index: int) -> float:
        """An argument that is a float."""
    def argument_value_string(self, index: int) -> str:
        """An argument that is a str."""

@type_check_only
class _Paths:
    def __getattr__(self, name: str, /) -> ReflectionCursor: ...

@final
class ReflectionCursor(BaseReflectionObject, _Paths):
    """Walks through a type or layout, or through a ShaderProgram's globals, entry points and their parameters:
    cursor.light.color, cursor['lights[2].color'], cursor[2]; cursor.main.scale.
    """

    @overload
    def __new__(cls, layout: Struct | TypeReflection | TypeLayoutReflection | VariableLayoutReflection | ShaderProgram) -> Self: ...
    @overload
    def __new__(cls, shader_program: ShaderProgram) -> Self: ...
    def __bool__(self) -> bool: ...
    def _names(self) -> list[str]:
        """The names of the parts."""
    def _entry_points(self) -> list[str]:
        """The names of a program's entry points."""
    def is_valid(self) -> bool:  # type: ignore[override]
        """Whether the cursor has found something, and its device is open; bool(cursor) is the same."""
    @property
    def type(self) -> TypeReflection:
        """The TypeReflection at the cursor."""
    @property
    def type_layout(self) -> TypeLayoutReflection:
        """The TypeLayoutReflection at the cursor."""
    @property
    def offset(self) -> int:
        """The bytes from the first cursor's position on the device."""
    @property
    def host_offset(self) -> int:
        """The bytes from the first cursor's position in C's layout."""
    def find_field(self, name: str) -> ReflectionCursor:
        """Returns a cursor at a field, which may be a path such as 'lights[2].color'; an invalid cursor if there is no such
        field.
        """
    def find_element(self, index: int) -> ReflectionCursor:
        """Returns a cursor at an element of an array or vector; an invalid cursor if there is no such element."""
    def has_field(self, name: str) -> bool:
        """Whether find_field() finds that name."""
    def has_element(self, index: int) -> bool:
        """Whether find_element() finds that index."""
    def __getitem__(self, key: str | int, /) -> ReflectionCursor: ...

_ReflectedType: TypeAlias = Struct | TypeReflection | TypeLayoutReflection | str

# >>devices and command lists

@disjoint_base
class _Launch:  # base class of slangtorch.TorchLaunch
    """A kernel with its arguments."""

    @property
    def _kernel(self) -> Any: ...
    def __new__(cls, kernel: Any, values: tuple[Any, ...], /) -> Self: ...
    def launchRaw(self, blockSize: tuple[int, int, int], gridSize: tuple[int, int, int]) -> None:
        """Runs gridSize groups of blockSize threads."""

@disjoint_base
class _Device:  # base class of slangpy.Device
    """A GPU with its memory pool, compiler sessions and cache of compiled calls. See create_device()."""

    _extra: dict[str, Any]
    def _info(self) -> dict[str, Any]:
        """The device's properties as a dict."""
    def _vulkan(self) -> tuple[int, int, int]:
        """(VkInstance, VkPhysicalDevice, VkDevice) of a Vulkan device, as ints."""
    def _on_reload(self, function: Callable[[bool, str], object], /) -> None:
        """Call function(succeeded, message) after each reload of a module."""
    _follow: Any
    log: Callable[[int, str], object] | None
    progress: Callable[[str, bool], object] | None
    @property
    def is_closed(self) -> bool:
        """Whether close() was called."""
    def close(self) -> None:
        """Wait for the device's work, and release the device and all objects that were made from it."""
    def wait(self) -> None:
        """Submit all work and wait for it. Ctrl-C ends the waiting."""
    def flush(self) -> int:
        """Submit all recorded work to the GPU without waiting; gives the submission's id."""
    def wait_for_submit(self, id: int) -> None:
        """Wait for the work up to an id that flush() or a submit function returned."""
    def is_submit_finished(self, id: int) -> bool:
        """Whether the work up to an id has finished. Never waits."""
    def stats(self) -> dict[str, int]:
        """Counts since the device was made: calls, dispatches, barriers, submits, bytes."""
    def trim(self) -> None:
        """Give unused pooled memory back to the driver."""
    def register_device_close_callback(self, callback: Callable[[Device], object]) -> int:
        """Call function(device) before the device is released; gives a number for unregister_device_close_callback()."""
    def unregister_device_close_callback(self, id: int) -> None:
        """Forget the close callback with that number."""
    def reload_all_programs(self) -> int:
        """Reload all modules whose files have changed, and return their number."""
    def set_hot_reload_delay(self, timeout_ms: int) -> None:
        """Set the least time between two looks at the files, in milliseconds."""
    def _reload_changed(self) -> int:
        """Do the same as reload_all_programs(), except that plain reflection objects stay valid if no file has changed."""
    def flush_print(self) -> None:
        """Wait for work that prints, and deliver its messages to the log."""
    def flush_print_to_string(self) -> str:
        """Wait for work that prints; gives its messages, one on each line."""
    def load_module(self, path: _Path, options: _Options = {}, link: Sequence[Module] = []) -> Module:
        """Load a Module."""
    def load_module_from_file(self, path: _Path, options: _Options = {}, link: Sequence[Module] = []) -> Module:
        """Load a Module from a file."""
    def load_module_from_source(
        self, module_name: str, source: str, options: _Options = {}, link: Sequence[Module] = []
    ) -> Module:
        """Load a Module from text."""

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

@disjoint_base
class _Texture:
    """A texture, or a view of a texture."""

    sampler: Any

    @property
    def device(self) -> Device:
        """The Device that the texture was made on."""

@final
class _Graph:
    """A graph of calls that slangpy.fusion records."""
    def __new__(cls, device: Any, name: str, backward: int = 0) -> Self: ...
    def call(self, *args: Any) -> tuple[int, int]:
        """Record a call of a Function; gives its node."""
    def cancel(self) -> None:
        """Drop the graph."""
    def end(self) -> Function:
        """End the recording; gives the Function."""
    def input(self, *args: Any) -> tuple[int, int]:
        """Add an input; gives its node. type None: the type that the first use needs."""
    def make(self, *args: Any) -> tuple[int, int]:
        """Record the construction of a value; gives its node."""
    def member(self, *args: Any) -> tuple[int, int]:
        """Record the access to a member of a value; gives its node."""
    def op(self, *args: Any) -> tuple[int, int]:
        """Record an operator; gives its node."""
    def out(self, *args: Any) -> tuple[int, int]:
        """The node of the value that a call leaves in an out parameter."""
    def output(self, *args: Any) -> None:
        """Add an output to the graph."""
    def outs(self, value: Any, /) -> list[str]:
        """The names of the out and inout parameters of a call."""
    def type(self, value: Any, /) -> str | None:
        """The name of a node's Slang type, or None."""
    def use(self, module: Any, /) -> None:
        """Make the types of a module known by name in the graph."""

@final
class _Raster:
    """A vertex and a fragment function, and how they draw."""

@disjoint_base
class _Sampler:
    """A sampler: how textures are sampled."""

    @property
    def device(self) -> Device:
        """The Device that the sampler was made on."""

@disjoint_base
class _CommandEncoder(_Recording):
    """Records calls, copies and marks, to be submitted any number of times: see Device.create_command_encoder()."""

    _recording: Any
    def __new__(cls, device: _Device, label: str | None = None, on_record: Callable[[int, int, str], object] | None = None) -> Self: ...
    def copy_buffer(self, dst: Tensor, dst_offset: int, src: Tensor, src_offset: int, size: int) -> None:
        """Copy bytes between ranges that do not overlap."""
    def clear_buffer(self, buffer: Tensor, offset: int = 0, size: int = -1) -> None:
        """Set bytes to zero; a size of -1 goes to the end."""
    def upload_buffer_data(self, buffer: Tensor, offset: int, data: _ArrayLike) -> None:
        """Copy the current bytes of a contiguous array to the buffer."""
    def copy_tensor(self, dst: Tensor, src: Tensor) -> None:
        """Copy all elements of a tensor to another of the same shape and type; both are contiguous."""
    def fill_tensor(self, tensor: Tensor, value: float) -> None:
        """Set every number of a contiguous tensor to one value."""
    def push_debug_group(self, name: str, color: Any = None) -> None:
        """Begin a named group of operations, for debug tools."""
    def pop_debug_group(self) -> None:
        """End the newest group."""
    def insert_debug_marker(self, name: str, color: Any = None) -> None:
        """Record a name at this point, for debug tools."""
    def _split(self) -> Any:
        """End the recording so far; gives it as a CommandBuffer."""
    def global_barrier(self) -> None:
        """All earlier work ends before later work begins. Buffers and tensors never need it."""
    def finish(self) -> CommandBuffer:
        """End the recording; gives a CommandBuffer to submit. The encoder is used up."""

@final
class CommandBuffer(_Recording):
    """A finished recording: see Device.submit_command_buffer()."""

    _queries: list[Any]
    _recording: Any
    @property
    def queue(self) -> CommandQueueType:
        """The CommandQueueType; a device has one queue."""
    @property
    def recording_id(self) -> int:
        """A number of the recording other than 0, which a command encoder and its command buffer share."""
    def _submit(self) -> Any:
        """Run the recorded operations in order."""

    def save(self, name: str, tensors: dict[str, Any]) -> None:
        """Put the recording into the pack that its device records (record_pack). tensors: a dict of the tensors that it
        uses, by the names that Device.load_list() takes.
        """

    def set(self, call: int, /, **values: Any) -> None:
        """From the next submission on, a recorded call gets other numbers, or lists or arrays that feed one value. call: its
        number, from 0: call_count before it was recorded. Parts of structs and shader parameters by path:
        **{'light.power': 2}."""

# >>classes that users register

_V = TypeVar("_V")

PYTHON_TYPES: dict[type, Callable[[Any], Any]]

def register_python_type(type: type[_V], function: Callable[[_V], Any]) -> None:
    """Arguments of that class, or of one derived from it, are passed as function(value). It gives a number, list, dict,
    array, tensor or generator, or an object with get_this() and update_this(). As PYTHON_TYPES[type] = function. Register
    before the first call with such a value.
    """
def register_write_to_cursor_type(type: type[_V], function: Callable[[_V], Any]) -> None:
    """What a cursor writes for values of that class, function(value): numbers, lists, dicts. A class may have a method
    to_cursor() instead.
    """

# >>what only the package itself uses

def _enumerate_adapters(*args: Any) -> Any:
    """Describe the adapters of a backend as a list of dicts."""
def _set_usage(*args: Any) -> Any:
    """Set what calls may do with a tensor's memory."""
def _after_fork(*args: Any) -> Any:
    """Tells the module in the child of a fork that existing devices belong to the parent."""
def _at_exit(*args: Any) -> Any:
    """Tells the module that the interpreter ends; True: because of Ctrl-C. Work whose wait Ctrl-C has ended is not waited
    for again, and in this case no work is.
    """
def _buffer_make(*args: Any) -> Any:
    """Make the tensor of rank 1 below a Buffer."""
def _element_name(tensor: Any, /) -> Any:
    """The name of a tensor's element type."""
def _buffer_over(*args: Any) -> Any:
    """A tensor of bytes over a tensor's memory."""
def _buffer_read(*args: Any) -> Any:
    """Read a buffer into a bytearray."""
def _buffer_handle(*args: Any) -> Any:
    """The VkBuffer that contains a buffer, and the buffer's offset in it in bytes."""
def _open_commands(*args: Any) -> Any:
    """The VkCommandBuffer that the device records into."""
def _stream(*args: Any) -> Any:
    """The CUstream of the device's work."""
def _buffer_size(*args: Any) -> Any:
    """Bytes of a tensor on the device."""
def _buffer_write(*args: Any) -> Any:
    """Copy bytes to a buffer."""
def _format_support(*args: Any) -> Any:
    """The uses that a device supports for a format."""
def _sampler_make(*args: Any) -> Any:
    """Make a sampler."""
def _texture_blit(*args: Any) -> Any:
    """Copy a texture to another with scaling and conversion; filter -1 averages samples."""
def _texture_clear(*args: Any) -> Any:
    """Set all texels of a texture to a color."""
def _texture_clear_depth(*args: Any) -> Any:
    """Set all texels of a depth texture."""
def _texture_copy(*args: Any) -> Any:
    """Copy texels between textures."""
def _texture_copy_buffer(*args: Any) -> Any:
    """Copy bytes between a buffer and a texture."""
def _texture_grad(*args: Any) -> Any:
    """The gradient of a texture's level, a Tensor or None."""
def _texture_info(texture: Any, /) -> Any:
    """(type, format, width, height, depth, array_size, layer_count, levels, samples, usage, size_bytes, shape) of a texture."""
def _texture_zero_grad(texture: Any, /) -> Any:
    """Set a texture's gradient to zero."""
def _handle_of(object: Any, writable: bool = False, sampler: Any = None, /) -> int:
    """The 8 bytes of an object's DescriptorHandle."""
def _texture_native(texture: Any, view: Any, /) -> Any:
    """The driver's image of a texture, or the driver's view of it."""
def _sampler_native(sampler: Any, /) -> Any:
    """The driver's sampler, or 0."""
def _raster_draw(*args: Any) -> Any:
    """Draw, record a draw, or compute a draw's gradients."""
def _raster_outputs(*args: Any) -> Any:
    """A bit for each target that the fragment function writes."""
def _raster_make(*args: Any) -> Any:
    """Make a raster of a vertex and a fragment Function."""
def _texture_make(*args: Any) -> Any:
    """Make a texture."""
def _texture_mips(*args: Any) -> Any:
    """Compute each level of a texture from the level before."""
def _texture_read(*args: Any) -> Any:
    """Copy a texture's bytes to a writable array."""
def _texture_view(*args: Any) -> Any:
    """Make a texture over a part of another one."""
def _texture_write(*args: Any) -> Any:
    """Copy bytes to a texture."""
def _chain_is_plain(*args: Any) -> Any:
    """Whether a Function's chain has nothing but a bound instance."""
def _fused_text(*args: Any) -> Any:
    """The Slang text of a fused function, or None."""
def _set_tracing(*args: Any) -> Any:
    """Whether slangpy.fusion records the calls of this thread."""
def _chain_of(*args: Any) -> Any:
    """The settings of a Function's chain: its mode (0, or a derivative's), its return type, its instance."""
def _made_of(*args: Any) -> Any:
    """What a module was loaded from: path as bytes, name and text, each or None, options, linked modules; None if it was not
    loaded from file or text.
    """
def _rebase(*args: Any) -> Any:
    """`base` with the chain of `function`, except its return type and, unless bound, its instance."""
def _check_options(*args: Any) -> Any:
    """Raise the error that loading a module with these options would raise."""
def _cuda_get_current(*args: Any) -> Any:
    """(the thread's current CUcontext, its adapter's number from 1), or (0, 0)."""
def _cuda_set_current(*args: Any) -> Any:
    """Make a CUcontext the thread's current one; 0 means none."""
def _gradient_view(*args: Any) -> Any:
    """The gradient tensor of an NDDifferentiableBuffer."""
def _is_static(*args: Any) -> Any:
    """Whether a method is static."""
def _set_logger(*args: Any) -> Any:
    """Set function(level, message) for the messages of devices without a log of their own; or None."""
