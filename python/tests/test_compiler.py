"""How the package finds the Slang compiler without an environment variable, and fetches it: compiler.py, fetch_compiler.py, __main__.py."""
import os
import subprocess
import sys
import zipfile

import pytest

import slangpy as spy
from slangpy import compiler, fetch_compiler

PACKAGE = os.path.dirname(os.path.abspath(spy.__file__))
PROGRAM = """
import slangpy as spy
with spy.create_device() as device:
    print(spy.Module.load_from_source(device, "m", "int twice(int x) { return 2 * x; }").twice(21))
"""


def run(*words, **more):
    """Runs Python in a process without the variable that names the compiler."""
    env = {name: value for name, value in os.environ.items() if name != "SLANGPY_SLANG_LIBRARY"}
    env.update(PYTHONPATH=os.path.dirname(PACKAGE), **more)
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, env=env, timeout=120)


def test_first_places_are_the_package_and_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiler.folders()[:2] == [PACKAGE, str(tmp_path / "slangpy" / "compiler")]
    assert len(set(compiler.folders())) == len(compiler.folders())


def test_installed_slangtorch_is_a_place(monkeypatch, tmp_path):
    library = tmp_path / "slangtorch" / "bin" / "libslang-compiler.so.0.2026.99"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"no library")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(library) in compiler.places()


def test_library_in_the_cache_is_used(tmp_path):
    """A device finds the library that fetch_compiler has put into the cache. A file that is not a library is named in the error, and the
    next folder is searched."""
    named = os.environ.get("SLANGPY_SLANG_LIBRARY") or pytest.skip("SLANGPY_SLANG_LIBRARY is not set")
    folder = tmp_path / "slangpy" / "compiler"
    folder.mkdir(parents=True)
    (folder / "libslang-compiler.so.0").write_text("this is no library\n")
    (folder / "libslang-compiler.so.1").symlink_to(os.path.abspath(named))
    done = run("-c", PROGRAM, XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0 and done.stdout == "42\n", done.stderr


def test_fetch_keeps_what_is_there(tmp_path):
    (tmp_path / "libslang-compiler.so.7").write_bytes(b"")
    assert fetch_compiler.fetch(tmp_path) == str(tmp_path / "libslang-compiler.so.7")


def test_fetch_refuses_a_wheel_with_another_hash(monkeypatch, tmp_path):
    """A wheel whose hash is not the expected one is refused, and no part of it stays on disk."""
    shelf, to = tmp_path / "shelf", tmp_path / "to"
    shelf.mkdir()
    with zipfile.ZipFile(shelf / "slangtorch-1.3.22-cp312-cp312-manylinux_2_27_x86_64.whl", "w") as wheel:
        wheel.writestr("slangtorch/bin/libslang-compiler.so.0", b"evil")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    with pytest.raises(fetch_compiler.FetchError, match="slangtorch==1.3.22"):
        fetch_compiler.fetch(to)
    assert list(to.iterdir()) == []


def test_fetch_without_network_says_so(tmp_path):
    done = run("-m", "slangpy.fetch_compiler", str(tmp_path / "to"), PIP_NO_INDEX="1")
    assert done.returncode == 1 and done.stdout == "" and "pip could not download slangtorch==1.3.22" in done.stderr


@pytest.mark.parametrize("module", ["slangpy", "slangpy.fetch_compiler"])
def test_tools_explain_themselves(module):
    done, wrong = run("-m", module, "--help"), run("-m", module, "--no-such-option")
    assert done.returncode == 0 and "python -m " + module in done.stdout
    assert wrong.returncode == 2 and wrong.stdout == done.stdout


def test_main_prints_versions_and_makes_a_call(tmp_path):
    done = run("-m", "slangpy", "vulkan", XDG_CACHE_HOME=str(tmp_path), SLANGPY_SLANG_LIBRARY=os.environ["SLANGPY_SLANG_LIBRARY"])
    assert done.returncode == 0, done.stdout
    for word in ("slangpy   " + spy.__version__, "compiler  Slang 20", "vulkan ", "cuda ", "add(1, 2) = 3", str(tmp_path)):
        assert word in done.stdout


def test_main_says_what_is_missing(tmp_path):
    missing = str(tmp_path / "nowhere.so")
    done = run("-m", "slangpy", SLANGPY_SLANG_LIBRARY=missing)
    assert done.returncode == 1 and missing in done.stdout and "failed" in done.stdout
