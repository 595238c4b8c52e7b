"""Loggers: where messages of devices and programs go. The default one writes to the standard error stream."""
import sys
import threading

from . import _slangpy
from .enums import LogFrequency, LogLevel

__all__ = [
    "Logger", "LoggerOutput", "ConsoleLoggerOutput", "FileLoggerOutput", "log", "log_debug", "log_info", "log_warn", "log_error",
    "log_fatal", "log_debug_once", "log_info_once", "log_warn_once", "log_error_once", "log_fatal_once",
]

_COLORS = {LogLevel.debug: "\033[2m", LogLevel.warn: "\033[33m", LogLevel.error: "\033[31m", LogLevel.fatal: "\033[31;1m"}


class LoggerOutput:
    """Base of outputs: a subclass overrides write()."""

    def write(self, level, name, msg):
        """write(level, name, msg): take one message. `level`: LogLevel, `name`: the logger's, `msg`: text without a newline."""
        raise NotImplementedError("LoggerOutput.write: a subclass must override it")


def _line(level, name, msg):
    return "[{}]{} {}\n".format(level.name.upper(), " ({})".format(name) if name else "", msg)


class ConsoleLoggerOutput(LoggerOutput):
    """ConsoleLoggerOutput(colored=True): writes to sys.stderr as it is then, so that in Jupyter it is the cell's. Colors are for
    terminals only."""

    def __init__(self, colored=True):
        self.colored = bool(colored)

    def write(self, level, name, msg):
        stream = sys.stderr
        if stream is None:
            return
        line = _line(level, name, msg)
        color = _COLORS.get(level) if self.colored and getattr(stream, "isatty", bool)() else None
        stream.write(color + line[:-1] + "\033[0m\n" if color else line)
        stream.flush()


class FileLoggerOutput(LoggerOutput):
    """FileLoggerOutput(path): writes to a file, which is begun anew, a line or more a message."""

    def __init__(self, path):
        self.path = path
        self._file = open(path, "w", encoding="utf-8")

    def write(self, level, name, msg):
        self._file.write(_line(level, name, msg))
        self._file.flush()

    def close(self):
        """close(): close the file; later messages are errors."""
        self._file.close()


class Logger:
    """Logger(level=LogLevel.info, name="", use_default_outputs=True): messages of at least `level` go to all outputs."""

    def __init__(self, level=LogLevel.info, name="", use_default_outputs=True):
        self._level = LogLevel(level)
        self.name = str(name)
        self._outputs = [ConsoleLoggerOutput()] if use_default_outputs else []
        self._seen = set()
        self._lock = threading.RLock()

    @staticmethod
    def get():
        """get(): the default logger, which messages of devices go to."""
        return _default

    @property
    def level(self):
        """Least severe level that is told."""
        return self._level

    @level.setter
    def level(self, level):
        self._level = LogLevel(level)

    def add_output(self, output):
        """add_output(output): a LoggerOutput, or any object with write(level, name, msg)."""
        if not callable(getattr(output, "write", None)):
            raise TypeError("Logger.add_output: expected an object with write(level, name, msg), got {!r}".format(type(output)))
        with self._lock:
            if output not in self._outputs:
                self._outputs.append(output)
        return output

    def add_console_output(self, colored=True):
        """add_console_output(colored=True): gives the new output."""
        return self.add_output(ConsoleLoggerOutput(colored))

    def add_file_output(self, path):
        """add_file_output(path): gives the new output."""
        return self.add_output(FileLoggerOutput(path))

    def use_same_outputs(self, other):
        """use_same_outputs(other): take another logger's outputs instead of the own ones."""
        with self._lock:
            self._outputs = list(other._outputs)

    def remove_output(self, output):
        """remove_output(output): ValueError when it is not there."""
        with self._lock:
            self._outputs.remove(output)

    def remove_all_outputs(self):
        """remove_all_outputs(): the logger is silent then."""
        with self._lock:
            self._outputs.clear()

    def log(self, level, msg, frequency=LogFrequency.always):
        """log(level, msg, frequency=LogFrequency.always): tell a message; with `once`, only if this text was not told before."""
        level = LogLevel(level)
        if level < self._level or level == LogLevel.none:
            return
        with self._lock:
            if LogFrequency(frequency) == LogFrequency.once:
                if (level, msg) in self._seen:
                    return
                self._seen.add((level, msg))
            outputs = list(self._outputs)
        for output in outputs:
            output.write(level, self.name, msg)

    def __repr__(self):
        return "<slangpy.Logger '{}', level {}, {} outputs>".format(self.name, self._level.name, len(self._outputs))


def log(level, msg, frequency=LogFrequency.always):
    """log(level, msg, frequency=LogFrequency.always): log a message to the default logger."""
    Logger.get().log(level, msg, frequency)


def _level_functions(name, frequency, suffix, doc):
    """Logger.debug() and log_debug(), and so on, for one level."""
    level = LogLevel[name]

    def method(self, msg):
        self.log(level, msg, frequency)

    def function(msg):
        Logger.get().log(level, msg, frequency)

    method.__name__, function.__name__ = name + suffix, "log_" + name + suffix
    method.__qualname__, function.__qualname__ = "Logger." + method.__name__, function.__name__
    method.__doc__ = "{}(msg): {}".format(method.__name__, doc.format(name, ""))
    function.__doc__ = "{}(msg): {}".format(function.__name__, doc.format(name, " to the default logger"))
    setattr(Logger, method.__name__, method)
    globals()[function.__name__] = function


for _name in ("debug", "info", "warn", "error", "fatal"):
    _level_functions(_name, LogFrequency.always, "", "log a message of level {}{}.")
    _level_functions(_name, LogFrequency.once, "_once", "the same, but each text only once.")

_default = Logger()

_LEVELS = {1: LogLevel.error, 2: LogLevel.warn, 3: LogLevel.info, 4: LogLevel.debug}  # by spy_log_level


def _from_device(level, message):
    Logger.get().log(_LEVELS.get(level, LogLevel.error), message)


_slangpy._set_logger(_from_device)
