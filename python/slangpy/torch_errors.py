"""The exceptions of slang-torch's interface. Each can be caught as this library's exception and as slang-torch's for the same mistake."""
from __future__ import annotations

from . import _slangpy

__all__: list[str] = []


class LaunchArgumentError(_slangpy.ArgumentValueError, TypeError):
    """A value, shape or number of arguments that does not fit a kernel or host function. Also a TypeError, which slang-torch raises."""


class MissingFileError(FileNotFoundError, RuntimeError):
    """A .slang file that does not exist. Also a RuntimeError, which slang-torch raises."""


class FolderError(IsADirectoryError, RuntimeError):
    """A folder where a .slang file is expected. Also a RuntimeError, which slang-torch raises."""


def as_launch_error(error: BaseException, text: str) -> BaseException:
    """Returns an exception of the error's class with this text; a LaunchArgumentError for an ArgumentValueError."""
    return LaunchArgumentError(text) if type(error) is _slangpy.ArgumentValueError else type(error)(text)
