"""Finds the Slang compiler's library for a Device without slang_library if SLANGPY_SLANG_LIBRARY is not set."""
from __future__ import annotations

import glob
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_NAMES = {"win32": "slang-compiler.dll", "darwin": "libslang-compiler*.dylib"}.get(sys.platform, "libslang-compiler.so*")


def cache_folder() -> str:
    """Returns the folder into which `python -m slangpy.fetch_compiler` puts the library: slangpy/compiler in the user's caches."""
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or os.path.expanduser(r"~\AppData\Local")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "slangpy", "compiler")


def folders() -> list[str]:
    """Returns the folders that are searched for the library, in order: this package's own, that of fetch_compiler, build/slang
    of the clone that this package lies in or was installed from, and those of an installed slangtorch or SlangPy."""
    found = [_HERE, cache_folder()]
    clones = [os.path.dirname(os.path.dirname(_HERE))]
    try:
        with open(os.path.join(_HERE, "clone.txt"), encoding="utf-8") as file:  # setup.py has written this file
            clones.append(file.read().strip())
    except OSError:
        pass
    found += [os.path.join(clone, "build", "slang") for clone in clones if os.path.isfile(os.path.join(clone, "slangpy.h"))]
    for entry in sys.path:
        found += [os.path.join(entry, "slangtorch", "bin"), os.path.join(entry, "slangpy")]
    return list(dict.fromkeys(os.path.abspath(folder) for folder in found))


def places() -> list[str]:
    """Returns the path of every compiler library in folders(), in the order in which a Device tries them."""
    return [path for folder in folders() for path in sorted(glob.glob(os.path.join(glob.escape(folder), _NAMES)))]


def build_tag(path: str | None = None) -> str:
    """Returns the version that a compiler library names, such as "2026.12"; of the library that a Device would use if `path` is None.
    Returns "unknown" if no library is found."""
    import ctypes

    path = path or os.environ.get("SLANGPY_SLANG_LIBRARY") or next(iter(places()), None)
    if path is None:
        return "unknown"
    version = ctypes.CDLL(path).spGetBuildTagString
    version.restype = ctypes.c_char_p
    return version().decode()
