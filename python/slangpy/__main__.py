"""python -m slangpy [DEVICE_TYPE] prints versions, compiler, devices and caches, and makes one call to see that all of it
works.

python -m slangpy cache [clear] prints the folder of the cache on disk and its contents, or removes all of them."""
from __future__ import annotations

import os
import platform
import sys

import slangpy as spy
from slangpy import compiler, disk_cache


def _compiler_lines():
    named = os.environ.get("SLANGPY_SLANG_LIBRARY")
    paths = [named] if named else compiler.places()
    if not paths:
        yield "none found; `python -m slangpy.fetch_compiler` gets it. Looked in:"
        yield from ("  " + folder for folder in compiler.folders())
        yield "  the places of the system's loader"
    for path in paths[:1]:
        try:
            yield "Slang {}: {}{}".format(compiler.build_tag(path), path, " (SLANGPY_SLANG_LIBRARY)" if named else "")
        except (OSError, AttributeError) as error:
            yield "{}: {}".format(path, error)


def _device_lines(kind):
    try:
        adapters = spy.Device.enumerate_adapters(kind)
    except Exception as error:
        return ["none: " + str(error).splitlines()[0]]
    return ["{}, {}, {:.1f} GB".format(a.name, a.driver, a.memory_bytes / 1e9) for a in adapters] or ["none"]


def _call_lines(kind):
    with spy.create_device(kind) as device:
        module = spy.Module.load_from_source(device, "slangpy_check", "int add(int a, int b) { return a + b; }")
        yield "{} on {}: add(1, 2) = {}".format(device.info.api_name, device.info.adapter_name, module.add(1, 2))


def _cache_text():
    folder = disk_cache.folder()
    if folder is None:
        return "not kept on disk (SLANGPY_CACHE, or no home folder)"
    sizes = [os.path.getsize(path) for path in disk_cache.files(folder)]
    return "{}: {} files, {:.1f} MB".format(folder, len(sizes), sum(sizes) / 1e6)


def _cache(arguments):
    folder = disk_cache.folder()
    if folder is not None and arguments == ["clear"]:
        print("{}: removed {} files".format(folder, disk_cache.clear(folder)))
    else:
        print(_cache_text())
    return 0


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["cache"] and arguments[1:] in ([], ["clear"]):
        return _cache(arguments[1:])
    if len(arguments) > 1 or any(word not in spy.DeviceType.__members__ for word in arguments):
        print(__doc__)
        return 0 if arguments in (["-h"], ["--help"]) else 2
    print("slangpy   {} (extension {}), Python {}, {}".format(
        spy.__version__, os.path.basename(spy._slangpy.__file__ or ""), platform.python_version(), platform.platform()))
    for title, lines in (("compiler", _compiler_lines()), ("vulkan", _device_lines(spy.DeviceType.vulkan)),
                         ("cuda", _device_lines(spy.DeviceType.cuda)),
                         ("caches", ["fetched compiler: " + compiler.cache_folder(), "kernels: " + _cache_text()])):
        for i, line in enumerate(lines):
            print("{:9s} {}".format("" if i else title, line))
    try:
        for line in _call_lines(spy.DeviceType[arguments[0]] if arguments else spy.DeviceType.automatic):
            print("{:9s} {}".format("call", line))
    except Exception as error:
        print("{:9s} failed: {}".format("call", error))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
