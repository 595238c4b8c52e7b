"""Loggers: where messages of devices and programs go. The default one writes to the standard error stream."""

from os import PathLike
from typing import Protocol, TypeVar, type_check_only

from .enums import LogFrequency, LogLevel

__all__ = [
    "Logger", "LoggerOutput", "ConsoleLoggerOutput", "FileLoggerOutput", "log", "log_debug", "log_info", "log_warn", "log_error",
    "log_fatal", "log_debug_once", "log_info_once", "log_warn_once", "log_error_once", "log_fatal_once",
]

@type_check_only
class _Output(Protocol):
    def write(self, level: LogLevel, name: str, msg: str, /) -> object: ...

_O = TypeVar("_O", bound=_Output)

class LoggerOutput:
    """Base of outputs: a subclass overrides write()."""

    def write(self, level: LogLevel, name: str, msg: str) -> None:
        """Take one message. `level`: LogLevel, `name`: the logger's, `msg`: text without a newline."""

class ConsoleLoggerOutput(LoggerOutput):
    """Writes to sys.stderr as it is then, so that in Jupyter it is the cell's. Colors are for terminals only."""
    colored: bool
    def __init__(self, colored: bool = True) -> None: ...

class FileLoggerOutput(LoggerOutput):
    """Writes to a file, which is begun anew, a line or more a message."""
    path: str | PathLike[str]
    def __init__(self, path: str | PathLike[str]) -> None: ...
    def close(self) -> None:
        """Close the file; later messages are errors."""

class Logger:
    """Messages of at least `level` go to all outputs."""
    name: str
    def __init__(self, level: LogLevel = ..., name: str = "", use_default_outputs: bool = True) -> None: ...
    @staticmethod
    def get() -> Logger:
        """The default logger, which messages of devices go to."""
    @property
    def level(self) -> LogLevel:
        """Least severe level that is told."""
    @level.setter
    def level(self, level: LogLevel) -> None: ...
    def add_output(self, output: _O) -> _O:
        """A LoggerOutput, or any object with write(level, name, msg)."""
    def add_console_output(self, colored: bool = True) -> ConsoleLoggerOutput:
        """Gives the new output."""
    def add_file_output(self, path: str | PathLike[str]) -> FileLoggerOutput:
        """Gives the new output."""
    def use_same_outputs(self, other: Logger) -> None:
        """Take another logger's outputs instead of the own ones."""
    def remove_output(self, output: _Output) -> None:
        """ValueError when it is not there."""
    def remove_all_outputs(self) -> None:
        """The logger is silent then."""
    def log(self, level: LogLevel, msg: str, frequency: LogFrequency = ...) -> None:
        """Tell a message; with `once`, only if this text was not told before."""
    def debug(self, msg: str) -> None:
        """Log a message of level debug."""
    def info(self, msg: str) -> None:
        """Log a message of level info."""
    def warn(self, msg: str) -> None:
        """Log a message of level warn."""
    def error(self, msg: str) -> None:
        """Log a message of level error."""
    def fatal(self, msg: str) -> None:
        """Log a message of level fatal."""
    def debug_once(self, msg: str) -> None:
        """The same, but each text only once."""
    def info_once(self, msg: str) -> None:
        """The same, but each text only once."""
    def warn_once(self, msg: str) -> None:
        """The same, but each text only once."""
    def error_once(self, msg: str) -> None:
        """The same, but each text only once."""
    def fatal_once(self, msg: str) -> None:
        """The same, but each text only once."""

def log(level: LogLevel, msg: str, frequency: LogFrequency = ...) -> None:
    """Log a message to the default logger."""
def log_debug(msg: str) -> None:
    """Log a message of level debug to the default logger."""
def log_info(msg: str) -> None:
    """Log a message of level info to the default logger."""
def log_warn(msg: str) -> None:
    """Log a message of level warn to the default logger."""
def log_error(msg: str) -> None:
    """Log a message of level error to the default logger."""
def log_fatal(msg: str) -> None:
    """Log a message of level fatal to the default logger."""
def log_debug_once(msg: str) -> None:
    """The same, but each text only once."""
def log_info_once(msg: str) -> None:
    """The same, but each text only once."""
def log_warn_once(msg: str) -> None:
    """The same, but each text only once."""
def log_error_once(msg: str) -> None:
    """The same, but each text only once."""
def log_fatal_once(msg: str) -> None:
    """The same, but each text only once."""
