"""Loggers, which pass messages of devices and programs on to outputs. The default logger writes to the standard error stream."""
from __future__ import annotations

import sys
import threading

from . import _slangpy
from .enums import LogFrequency, LogLevel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import ClassVar, Protocol, TextIO, TypeVar

    class _Output(Protocol):
        def write(self, level: LogLevel, name: str, msg: str, /) -> object: ...

    _O = TypeVar("_O", bound=_Output)

__all__ = [
    "Logger", "LoggerOutput", "ConsoleLoggerOutput", "FileLoggerOutput", "DebugConsoleLoggerOutput", "log", "log_debug", "log_info", "log_warn", "log_error",
    "log_fatal", "log_debug_once", "log_info_once", "log_warn_once", "log_error_once", "log_fatal_once",
]

_COLORS = {LogLevel.debug: "\033[2m", LogLevel.warn: "\033[33m", LogLevel.error: "\033[31m", LogLevel.fatal: "\033[31;1m"}


class _Own(threading.local):
    """Whether this thread passes on a message of the library itself. Such messages never go to the standard output, which belongs to the
    program."""

    messages = False


_own = _Own()


class LoggerOutput:
    """The base class of outputs. A subclass overrides write()."""

    def write(self, level: LogLevel, name: str, msg: str) -> None:
        """write(level, name, msg): writes one message. `level` is its LogLevel, `name` the logger's name, `msg` a text without a newline
        at its end."""
        raise NotImplementedError("LoggerOutput.write: a subclass must override it")


def _line(level, name, msg):
    if level == LogLevel.none:
        return msg + "\n"
    return "[{}]{} {}\n".format(level.name.upper(), " ({})".format(name) if name else "", msg)


class ConsoleLoggerOutput(LoggerOutput):
    """ConsoleLoggerOutput(colored=True): writes errors, fatal errors and the library's own messages to the current sys.stderr, and other
    messages to the current sys.stdout, which in Jupyter are the cell's. Only terminals get colors."""

    colored: bool
    IGNORE_PRINT_EXCEPTION: ClassVar[bool] = True

    def __init__(self, colored: bool = True) -> None:
        self.colored = bool(colored)

    def write(self, level: LogLevel, name: str, msg: str) -> None:
        """write(level, name, msg): writes one line."""
        stream = sys.stderr if level >= LogLevel.error or _own.messages else sys.stdout
        if stream is None:
            return
        line = _line(level, name, msg)
        color = _COLORS.get(level) if self.colored and getattr(stream, "isatty", bool)() else None
        stream.write(color + line[:-1] + "\033[0m\n" if color else line)
        stream.flush()


class FileLoggerOutput(LoggerOutput):
    """FileLoggerOutput(path): writes to a new file. Each message begins a line. A file that exists is overwritten. If the file cannot be
    made, Python warns, and messages go nowhere: a program does not end for its log, as with SlangPy."""

    path: str | PathLike[str]

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = path
        self._file: TextIO | None = None
        try:
            self._file = open(path, "w", encoding="utf-8")
        except OSError as error:
            import warnings

            warnings.warn("FileLoggerOutput: argument 'path': {}".format(error), RuntimeWarning, stacklevel=2)

    def write(self, level: LogLevel, name: str, msg: str) -> None:
        """write(level, name, msg): writes one line."""
        if self._file is not None:
            self._file.write(_line(level, name, msg))
            self._file.flush()

    def close(self) -> None:
        """close(): closes the file. A later message raises an error."""
        if self._file is not None:
            self._file.close()


class DebugConsoleLoggerOutput(LoggerOutput):
    """DebugConsoleLoggerOutput(): writes to the debugger's console, which only Windows has. Elsewhere messages go nowhere."""

    def write(self, level: LogLevel, name: str, msg: str) -> None:
        """write(level, name, msg): writes one line."""
        if sys.platform == "win32":
            import ctypes

            ctypes.windll.kernel32.OutputDebugStringW(_line(level, name, msg))


def _level_of(level):
    try:
        return LogLevel(level)
    except ValueError as error:
        raise _slangpy.ArgumentTypeError("Logger: argument 'level': expected a LogLevel, got {!r}".format(level)) from error


class Logger:
    """Logger(level=LogLevel.info, name="", use_default_outputs=True): passes messages of at least `level` on to all its outputs."""

    name: str

    def __init__(self, level: LogLevel = LogLevel.info, name: str = "", use_default_outputs: bool = True) -> None:
        self._level = _level_of(level)
        self.name = str(name)
        self._outputs: list[_Output] = [ConsoleLoggerOutput()] if use_default_outputs else []
        self._seen: set[str] = set()
        self._lock = threading.RLock()

    @staticmethod
    def get() -> Logger:
        """get(): returns the default logger, which gets the messages of devices."""
        return _default

    @property
    def level(self) -> LogLevel:
        """The least severe level that the logger passes on."""
        return self._level

    @level.setter
    def level(self, level: LogLevel) -> None:
        self._level = _level_of(level)

    def add_output(self, output: _O) -> _O:
        """add_output(output): adds a LoggerOutput, or any object with write(level, name, msg)."""
        if not callable(getattr(output, "write", None)):
            raise TypeError("Logger.add_output: expected an object with write(level, name, msg), got {!r}".format(type(output)))
        with self._lock:
            if output not in self._outputs:
                self._outputs.append(output)
        return output

    def add_console_output(self, colored: bool = True) -> ConsoleLoggerOutput:
        """add_console_output(colored=True): adds a ConsoleLoggerOutput and returns it."""
        return self.add_output(ConsoleLoggerOutput(colored))

    def add_file_output(self, path: str | PathLike[str]) -> FileLoggerOutput:
        """add_file_output(path): adds a FileLoggerOutput and returns it."""
        return self.add_output(FileLoggerOutput(path))

    def add_debug_console_output(self) -> DebugConsoleLoggerOutput:
        """add_debug_console_output(): adds a DebugConsoleLoggerOutput and returns it."""
        return self.add_output(DebugConsoleLoggerOutput())

    def use_same_outputs(self, other: Logger) -> None:
        """use_same_outputs(other): replaces the logger's outputs by another logger's."""
        with self._lock:
            self._outputs = list(other._outputs)

    def remove_output(self, output: _Output) -> None:
        """remove_output(output): removes an output. Nothing happens if the logger does not have it."""
        with self._lock:
            if output in self._outputs:
                self._outputs.remove(output)

    def remove_all_outputs(self) -> None:
        """remove_all_outputs(): removes all outputs, so that messages go nowhere."""
        with self._lock:
            self._outputs.clear()

    def log(self, level: LogLevel, msg: str, frequency: LogFrequency = LogFrequency.always) -> None:
        """log(level, msg, frequency=LogFrequency.always): logs a message. With LogFrequency.once, each text is logged only once, whatever its level. A message
        of LogLevel.none is always passed on; outputs write its bare text."""
        level = _level_of(level)
        if level < self._level and level != LogLevel.none:
            return
        with self._lock:
            if LogFrequency(frequency) == LogFrequency.once:
                if msg in self._seen:
                    return
                self._seen.add(msg)
            outputs = list(self._outputs)
        for output in outputs:
            output.write(level, self.name, msg)

    def debug(self, msg: str) -> None:
        """debug(msg): logs a message of level debug."""
        self.log(LogLevel.debug, msg)

    def info(self, msg: str) -> None:
        """info(msg): logs a message of level info."""
        self.log(LogLevel.info, msg)

    def warn(self, msg: str) -> None:
        """warn(msg): logs a message of level warn."""
        self.log(LogLevel.warn, msg)

    def error(self, msg: str) -> None:
        """error(msg): logs a message of level error."""
        self.log(LogLevel.error, msg)

    def fatal(self, msg: str) -> None:
        """fatal(msg): logs a message of level fatal."""
        self.log(LogLevel.fatal, msg)

    def debug_once(self, msg: str) -> None:
        """debug_once(msg): logs a message of level debug, but each text only once."""
        self.log(LogLevel.debug, msg, LogFrequency.once)

    def info_once(self, msg: str) -> None:
        """info_once(msg): logs a message of level info, but each text only once."""
        self.log(LogLevel.info, msg, LogFrequency.once)

    def warn_once(self, msg: str) -> None:
        """warn_once(msg): logs a message of level warn, but each text only once."""
        self.log(LogLevel.warn, msg, LogFrequency.once)

    def error_once(self, msg: str) -> None:
        """error_once(msg): logs a message of level error, but each text only once."""
        self.log(LogLevel.error, msg, LogFrequency.once)

    def fatal_once(self, msg: str) -> None:
        """fatal_once(msg): logs a message of level fatal, but each text only once."""
        self.log(LogLevel.fatal, msg, LogFrequency.once)

    def __repr__(self):
        return "<slangpy.Logger '{}', level {}, {} outputs>".format(self.name, self._level.name, len(self._outputs))


def log(level: LogLevel, msg: str, frequency: LogFrequency = LogFrequency.always) -> None:
    """log(level, msg, frequency=LogFrequency.always): logs a message to the default logger."""
    Logger.get().log(level, msg, frequency)


def log_debug(msg: str) -> None:
    """log_debug(msg): logs a message of level debug to the default logger."""
    Logger.get().log(LogLevel.debug, msg)


def log_info(msg: str) -> None:
    """log_info(msg): logs a message of level info to the default logger."""
    Logger.get().log(LogLevel.info, msg)


def log_warn(msg: str) -> None:
    """log_warn(msg): logs a message of level warn to the default logger."""
    Logger.get().log(LogLevel.warn, msg)


def log_error(msg: str) -> None:
    """log_error(msg): logs a message of level error to the default logger."""
    Logger.get().log(LogLevel.error, msg)


def log_fatal(msg: str) -> None:
    """log_fatal(msg): logs a message of level fatal to the default logger."""
    Logger.get().log(LogLevel.fatal, msg)


def log_debug_once(msg: str) -> None:
    """log_debug_once(msg): logs a message of level debug to the default logger, but each text only once."""
    Logger.get().log(LogLevel.debug, msg, LogFrequency.once)


def log_info_once(msg: str) -> None:
    """log_info_once(msg): logs a message of level info to the default logger, but each text only once."""
    Logger.get().log(LogLevel.info, msg, LogFrequency.once)


def log_warn_once(msg: str) -> None:
    """log_warn_once(msg): logs a message of level warn to the default logger, but each text only once."""
    Logger.get().log(LogLevel.warn, msg, LogFrequency.once)


def log_error_once(msg: str) -> None:
    """log_error_once(msg): logs a message of level error to the default logger, but each text only once."""
    Logger.get().log(LogLevel.error, msg, LogFrequency.once)


def log_fatal_once(msg: str) -> None:
    """log_fatal_once(msg): logs a message of level fatal to the default logger, but each text only once."""
    Logger.get().log(LogLevel.fatal, msg, LogFrequency.once)


_default = Logger()

_LEVELS = {1: LogLevel.error, 2: LogLevel.warn, 3: LogLevel.info, 4: LogLevel.debug}  # spy_log_level -> LogLevel


def _say(level, message, frequency=LogFrequency.always):
    """Logs a message of the library itself."""
    _own.messages = True
    try:
        Logger.get().log(level, message, frequency)
    finally:
        _own.messages = False


def _warn_once(message):
    _say(LogLevel.warn, message, LogFrequency.once)


def _from_device(level, message):
    _say(_LEVELS.get(level, LogLevel.error), message)


_slangpy._set_logger(_from_device)
