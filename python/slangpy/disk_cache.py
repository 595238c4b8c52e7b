"""The cache on disk: the folder in which devices keep compiled code, and the files that are in it."""
from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


def folder() -> str | None:
    """Returns the folder that devices keep compiled code in by default, or None if they keep none."""
    named = os.environ.get("SLANGPY_CACHE")
    if named is not None:
        return None if named in ("", "off") else named
    if os.name == "nt":
        base = os.environ.get("LOCALAPPDATA")
        return os.path.join(base, "slangpy") if base else None
    base, home = os.environ.get("XDG_CACHE_HOME", ""), os.environ.get("HOME", "")
    if base.startswith("/"):
        return os.path.join(base, "slangpy")
    return os.path.join(home, ".cache", "slangpy") if home.startswith("/") else None


def files(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Yields the paths of a cache's files, which lie in its folders 00 to ff."""
    for number in range(256):
        below = os.path.join(os.fspath(folder), "{:02x}".format(number))
        if os.path.isdir(below):
            for name in os.listdir(below):
                yield os.path.join(below, name)


def clear(folder: str | os.PathLike[str]) -> int:
    """Removes a cache's files and returns their number."""
    found = list(files(folder))
    for path in found:
        try:
            os.remove(path)
        except FileNotFoundError:  # another process has removed it
            pass
    return len(found)
