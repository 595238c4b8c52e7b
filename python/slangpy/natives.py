"""Names of SlangPy's native part that few scripts read: versions, aliases for type hints, the bridge to torch."""
from __future__ import annotations

from . import SPY_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

# The version of SlangPy's interface that this package follows, for scripts that ask; __version__ is the package's own.
SGL_VERSION_MAJOR, SGL_VERSION_MINOR, SGL_VERSION_PATCH = 0, 43, 1
SGL_VERSION = "0.43.1"
SGL_GIT_VERSION = "slangpy.h {}".format(SPY_VERSION)
SGL_BUILD_TYPE = "Release"


def is_torch_bridge_available() -> bool:
    """Whether SlangPy's native bridge to torch is there: never. Tensors of torch are read through DLPack."""
    return False


def is_torch_bridge_using_fallback() -> bool:
    """Whether SlangPy's fallback for that bridge is used: never."""
    return False


def get_torch_bridge_fallback_reason() -> str:
    """Why there is no bridge."""
    return "this package reads tensors of torch through DLPack and needs no bridge"


def set_torch_bridge_python_fallback(force: bool) -> None:
    """Does nothing: there is no bridge."""


def set_allow_torch_fallback(allow: bool) -> None:
    """Does nothing: there is no bridge."""


def is_torch_tensor(obj: Any) -> bool:
    """Whether an object is a torch.Tensor. It does not import torch."""
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in type(obj).__mro__)


def _missing(name: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError("{}: SlangPy's bridge to torch is not in this version; tensors of torch are arguments of calls as they "
                                  "are, and torch.from_dlpack(tensor) shares memory".format(name))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "Not in this version: there is no bridge to torch."
    return function


extract_torch_tensor_info = _missing("extract_torch_tensor_info")
extract_torch_tensor_signature = _missing("extract_torch_tensor_signature")
copy_torch_tensor_to_buffer = _missing("copy_torch_tensor_to_buffer")
copy_buffer_to_torch_tensor = _missing("copy_buffer_to_torch_tensor")
create_torch_empty_tensor = _missing("create_torch_empty_tensor")
create_torch_zeros_like_tensor = _missing("create_torch_zeros_like_tensor")


def __getattr__(name: str) -> Any:
    if name.endswith("param"):  # float3param: what a parameter for a float3 takes
        from . import math

        cls = getattr(math, name[:-5], None)
        if isinstance(cls, type):
            from collections.abc import Sequence
            from typing import Union

            kind = {"b": bool, "i": int, "u": int}.get(name[0], float)
            return Union[cls, float if name == "float16_tparam" else Sequence[kind]]  # type: ignore[valid-type]
    raise AttributeError("module 'slangpy.natives' has no attribute '{}'".format(name))
