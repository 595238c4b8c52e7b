"""The cache on disk: a later start of a program takes kernels from it without the Slang compiler."""
import os
import subprocess
import sys

import pytest

import slangpy as spy

TEXT = "struct P { float a; int b; }\nfloat f(P p, float x) { return p.a * x + p.b; }\n[Differentiable] float g(float x) { return x * x; }\n"

# A program that prints its results, the cache's counts, and whether the compiler is in the process.
START = """
import sys
import slangpy as spy
device = spy.create_device(spy.DeviceType.vulkan)
module = spy.Module.load_from_source(device, "started", {!r})
x = spy.Tensor.from_numpy(device, __import__("numpy").arange(4, dtype="f4"))
y = module.f({{"a": 2.0, "b": 1}}, x, _result="numpy")
p = spy.diffPair(3.0)
module.g.bwds(p, spy.diffPair(0.0, 1.0))
stats = device.stats()
print(y.tolist(), stats["cache_hits"], stats["cache_misses"], "libslang" in open("/proc/self/maps").read())
""".format(TEXT)


def start(folder, script=START):
    environment = dict(os.environ, SLANGPY_CACHE=str(folder))
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_second_process_opens_no_compiler(tmp_path):
    first, second = start(tmp_path / "c"), start(tmp_path / "c")
    assert first == "[1.0, 3.0, 5.0, 7.0] 0 2 True"
    assert second == "[1.0, 3.0, 5.0, 7.0] 2 0 False"


def test_off_keeps_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert start("off").endswith("0 0 True") and not (tmp_path / "slangpy").exists()


def test_shader_cache_path_counts_hits_and_misses_of_a_device(tmp_path):
    """Hits and misses count from 0 in a new Device; a second run over the same folder has hits, no misses, the same entry_count."""
    stats = []
    for _ in range(2):
        device = spy.Device(type=spy.DeviceType.vulkan, shader_cache_path=tmp_path / "c")
        before = device.shader_cache_stats
        assert (before.hit_count, before.miss_count) == (0, 0)
        module = spy.Module.load_from_source(device, "counted", TEXT)
        assert module.f({"a": 2.0, "b": 1}, 3.0) == 7
        stats.append(device.shader_cache_stats)
        device.close()
    assert stats[0].hit_count == 0 and stats[0].miss_count == 1 and stats[0].entry_count > 1
    assert stats[1].hit_count == 1 and stats[1].miss_count == 0 and stats[1].entry_count == stats[0].entry_count


def test_a_report_says_what_was_cached(tmp_path):
    cached = []
    for _ in range(2):
        device = spy.Device(type=spy.DeviceType.vulkan, shader_cache_path=tmp_path, enable_compilation_reports=True)
        module = spy.Module.load_from_source(device, "reported", TEXT)
        module.f({"a": 2.0, "b": 1}, 3.0)
        reports = [r for report in device.get_compilation_reports() for r in report["entry_point_reports"]]
        cached.append([r["is_cached"] for r in reports])
        device.close()
    assert cached == [[False], [True]]


def test_messages_of_modules_come_from_the_cache_too(tmp_path, capfd):
    warned = "float f(float x) { int unused_shift = 1 << 40; return x + unused_shift * 0; }\n"
    texts = []
    for _ in range(2):
        device = spy.Device(type=spy.DeviceType.vulkan, shader_cache_path=tmp_path)
        spy.Module.load_from_source(device, "warned", warned)
        device.close()
        texts.append(capfd.readouterr())
    assert texts[0] == texts[1]


@pytest.mark.parametrize("arguments, words", [(["cache"], "files"), (["cache", "clear"], "removed")])
def test_the_command_tells_and_clears(tmp_path, arguments, words):
    start(tmp_path)
    environment = dict(os.environ, SLANGPY_CACHE=str(tmp_path))
    count = sum(len(files) for _, _, files in os.walk(tmp_path))
    done = subprocess.run([sys.executable, "-m", "slangpy", *arguments], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and words in done.stdout and str(count) in done.stdout and str(tmp_path) in done.stdout
    left = sum(len(files) for _, _, files in os.walk(tmp_path))
    assert left == (0 if "clear" in arguments else count)
