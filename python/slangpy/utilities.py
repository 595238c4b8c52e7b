"""Small classes that SlangPy's scripts use beside the GPU: a hash and a timer."""
from __future__ import annotations

import hashlib
import time

from .enums import _IntEnum

__all__ = ["SHA1", "CursorShape", "Timer"]


class CursorShape(_IntEnum):
    """How a window shows the mouse pointer. Windows are outside this library's scope; the names are here for scripts that import them."""

    arrow = 0
    ibeam = 1
    crosshair = 2
    hand = 3
    hresize = 4
    vresize = 5


class SHA1:
    """SHA1(data=b"") or SHA1(str=""): the SHA-1 hash of bytes, or of a str in UTF-8; update() adds more."""

    def __init__(self, data: bytes | str = b"", *, str: str = "") -> None:
        self._hash = hashlib.sha1()
        self.update(data, str=str)

    def update(self, data: bytes | str = b"", *, str: str = "") -> SHA1:
        """update(data) or update(str=): adds bytes, or a str in UTF-8, and returns the object itself."""
        for part in (data, str):
            self._hash.update(part.encode() if hasattr(part, "encode") else part)
        return self

    def digest(self) -> bytes:
        """digest(): returns the hash as 20 bytes."""
        return self._hash.digest()

    def hex_digest(self) -> str:
        """hex_digest(): returns the hash as 40 hexadecimal digits."""
        return self._hash.hexdigest()

    def __repr__(self):
        return "<slangpy.SHA1 {}>".format(self.hex_digest())


class Timer:
    """Timer(): measures the time since it was made, or since reset()."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """reset(): sets the time to 0."""
        self._start = time.monotonic_ns()

    def elapsed_ns(self) -> float:
        """elapsed_ns(): returns the time so far in nanoseconds."""
        return float(time.monotonic_ns() - self._start)

    def elapsed_us(self) -> float:
        """elapsed_us(): returns the time so far in microseconds."""
        return self.elapsed_ns() * 1e-3

    def elapsed_ms(self) -> float:
        """elapsed_ms(): returns the time so far in milliseconds."""
        return self.elapsed_ns() * 1e-6

    def elapsed_s(self) -> float:
        """elapsed_s(): returns the time so far in seconds."""
        return self.elapsed_ns() * 1e-9

    @staticmethod
    def delta_ns(start: int, end: int) -> float:
        """delta_ns(start, end): returns the time between two values of now() in nanoseconds."""
        return float(end - start)

    @staticmethod
    def delta_us(start: int, end: int) -> float:
        """delta_us(start, end): returns the time between two values of now() in microseconds."""
        return (end - start) * 1e-3

    @staticmethod
    def delta_ms(start: int, end: int) -> float:
        """delta_ms(start, end): returns the time between two values of now() in milliseconds."""
        return (end - start) * 1e-6

    @staticmethod
    def delta_s(start: int, end: int) -> float:
        """delta_s(start, end): returns the time between two values of now() in seconds."""
        return (end - start) * 1e-9

    @staticmethod
    def now() -> int:
        """now(): returns the host's monotonic clock in nanoseconds."""
        return time.monotonic_ns()

    def __repr__(self):
        return "<slangpy.Timer, {:.3f} s>".format(self.elapsed_s())
