"""python -m slangpy.fetch_compiler [FOLDER]: gets the Slang compiler from PyPI, by pip, and puts its library into FOLDER.

Without FOLDER it goes into the folder of the user's caches where `import slangpy` finds it. The library is that of the wheel
slangtorch 1.3.22 (Slang 2026.14.1); nothing of it is installed. A library that is there already is kept."""
from __future__ import annotations

import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

from . import compiler

WHEEL = "slangtorch==1.3.22"
# (system, machine) -> the wheel's platform, and its SHA-256 if it is known.
_WHEELS = {
    ("Linux", "x86_64"): ("manylinux_2_27_x86_64", "7755f2f53509ebbd65839dcd8a104e7105aeaf3e3600aea9385c2bec9beb2eaa"),
    ("Windows", "AMD64"): ("win_amd64", None),
}


class FetchError(RuntimeError):
    """The compiler could not be fetched; the message says why and what can be done."""


def _download(folder: str) -> str:
    machine = (platform.system(), platform.machine())
    if machine not in _WHEELS:
        raise FetchError("PyPI has no wheel of {} for {} {}; set SLANGPY_SLANG_LIBRARY to a libslang-compiler of your own".format(WHEEL, *machine))
    tag, sha256 = _WHEELS[machine]
    requirements = os.path.join(folder, "requirements.txt")
    with open(requirements, "w", encoding="utf-8") as file:
        file.write(WHEEL + (" --hash=sha256:" + sha256 if sha256 else "") + "\n")
    run = subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:",
         "--implementation", "cp", "--python-version", "3.12", "--platform", tag, "-d", folder, "-r", requirements],
        capture_output=True, text=True)
    wheels = glob.glob(os.path.join(folder, "*.whl"))
    if run.returncode or len(wheels) != 1:
        raise FetchError("pip could not download {}: {}".format(WHEEL, (run.stderr or run.stdout).strip() or "it says nothing"))
    return wheels[0]


def fetch(folder: str | os.PathLike[str] | None = None) -> str:
    """Returns the path of the compiler's library in `folder` (default: compiler.cache_folder()), and downloads it if it is missing. The
    library's licence is put beside it as slang-LICENSE.txt. Raises FetchError, and OSError if the folder cannot be written; no
    half-written file is left."""
    folder = os.fspath(folder) if folder is not None else compiler.cache_folder()
    there = sorted(glob.glob(os.path.join(glob.escape(folder), compiler._NAMES)))
    if there:
        return there[0]
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".fetch-") as scratch:
        with zipfile.ZipFile(_download(scratch)) as wheel:
            library = licence = None
            for name in wheel.namelist():
                if name.startswith("slangtorch/bin/") and "slang-compiler" in name:
                    library = name
                elif name.endswith("/licenses/LICENSE"):
                    licence = name
            if not library or not licence:
                raise FetchError("the wheel {} has no {}".format(WHEEL, "library" if not library else "licence"))
            path = os.path.join(folder, library.rsplit("/", 1)[1])
            # the library comes last, because its presence says that all is there
            for name, to in ((licence, os.path.join(folder, "slang-LICENSE.txt")), (library, path)):
                with wheel.open(name) as source, open(os.path.join(scratch, "file"), "wb") as file:
                    shutil.copyfileobj(source, file)
                os.chmod(file.name, 0o644)
                os.replace(file.name, to)
    return path


def main(arguments: list[str]) -> int:
    if len(arguments) > 1 or any(word.startswith("-") for word in arguments):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    try:
        print(fetch(*arguments))
    except (FetchError, OSError) as error:
        print("slangpy.fetch_compiler: {}".format(error), file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
