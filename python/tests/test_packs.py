"""Packs: calls that one device recorded run without the Slang compiler, without Slang files and without a cache folder."""
import os
import subprocess
import sys

import numpy as np
import pytest

import slangpy as spy

TEXT = """struct P { float a; int b; }
float f(P p, float x) { return p.a * x + p.b; }
[Differentiable] float g(float x, float w) { return w * x * x; }
"""


def program(device, path, size):
    """Runs some calls; returns their results, and the results that plain Python computes."""
    module = spy.Module.load_from_file(device, str(path))
    x = np.arange(size, dtype=np.float32)
    y = module.f({"a": 2.0, "b": 1}, spy.Tensor.from_numpy(device, x), _result="numpy")
    t = spy.Tensor.from_numpy(device, x).with_grads(zero=True)
    w = spy.Tensor.from_numpy(device, np.float32([3])).with_grads(zero=True)
    r = module.g(t, w)
    r = r.with_grads()
    r.grad.storage.copy_from_numpy(np.ones(size, dtype=np.float32))
    module.g.bwds(t, w, r)
    return [y, t.grad.to_numpy(), w.grad.to_numpy()], [2 * x + 1, 6 * x, np.float32([(x * x).sum()])]


@pytest.fixture
def recorded(tmp_path):
    (tmp_path / "m.slang").write_text(TEXT)
    device = spy.create_device(spy.DeviceType.vulkan, record_pack=True)
    got, expected = program(device, tmp_path / "m.slang", 8)
    for a, b in zip(got, expected):
        np.testing.assert_array_equal(a, b)
    device.save_pack(tmp_path / "m.pack")
    device.close()
    (tmp_path / "m.slang").unlink()
    return tmp_path


@pytest.mark.parametrize("from_bytes", [False, True])
@pytest.mark.parametrize("size", [8, 300, 13])
def test_a_pack_runs_without_the_source(recorded, size, from_bytes):
    pack = recorded / "m.pack"
    device = spy.create_device(spy.DeviceType.vulkan, pack=pack.read_bytes() if from_bytes else pack, slang_library="/nonexistent")
    got, expected = program(device, recorded / "m.slang", size)
    for a, b in zip(got, expected):
        np.testing.assert_array_equal(a, b)
    assert device.stats()["compiler_loads"] == 0
    calls = [line for line in device.pack_manifest if line[0] == "call"]
    assert any("call m.f(" in line[2] for line in calls) and all(int(line[3]) > 0 for line in calls)
    device.close()


def test_a_process_with_a_pack_opens_no_compiler(recorded):
    script = """
import sys, numpy as np, slangpy as spy
device = spy.create_device(spy.DeviceType.vulkan, pack=sys.argv[1])
module = spy.Module.load_from_file(device, "m.slang")
y = module.f({"a": 2.0, "b": 1}, spy.Tensor.from_numpy(device, np.arange(4, dtype="f4")), _result="numpy")
print(y.tolist(), "libslang" in open("/proc/self/maps").read())
"""
    home = recorded / "home"
    home.mkdir()
    environment = dict(os.environ, HOME=str(home), SLANGPY_CACHE=str(home / "cache"))
    done = subprocess.run([sys.executable, "-c", script, str(recorded / "m.pack")], env=environment, capture_output=True, text=True, timeout=100, cwd=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1.0, 3.0, 5.0, 7.0] False"
    assert not (home / "cache").exists()


def test_what_a_pack_lacks_is_said(recorded):
    device = spy.create_device(spy.DeviceType.vulkan, pack=recorded / "m.pack")
    module = spy.Module.load_from_file(device, "m.slang")
    with pytest.raises(RuntimeError, match=r"(?s)the pack lacks this call.*call m\.f\(.*nearest.*call m\.f\("):
        module.f({"a": 2.0, "b": 1}, 3.0)
    device.close()
    with pytest.raises(RuntimeError, match="cannot be used: it is no pack"):
        spy.create_device(spy.DeviceType.vulkan, pack=b"not a pack, but some bytes")
    with pytest.raises(RuntimeError, match="cannot be read"):
        spy.create_device(spy.DeviceType.vulkan, pack=recorded / "none.pack")
    with pytest.raises(RuntimeError, match="record_pack"):
        spy.create_device(spy.DeviceType.vulkan).save_pack(recorded / "x.pack")
    with pytest.raises(ValueError, match="pack_archs"):
        spy.create_device(spy.DeviceType.cuda, record_pack=True, offline=True, pack_archs=["sm_90"])


def test_a_pack_is_made_without_a_gpu(tmp_path):
    (tmp_path / "m.slang").write_text(TEXT)
    device = spy.create_device(spy.DeviceType.vulkan, record_pack=True, offline=True)
    program(device, tmp_path / "m.slang", 8)
    device.save_pack(tmp_path / "m.pack")
    device.close()
    (tmp_path / "m.slang").unlink()
    device = spy.create_device(spy.DeviceType.vulkan, pack=tmp_path / "m.pack")
    for a, b in zip(*program(device, tmp_path / "m.slang", 5)):
        np.testing.assert_array_equal(a, b)
    device.close()


def test_lists(tmp_path):
    pack = tmp_path / "lists.pack"
    device = spy.create_device(spy.DeviceType.vulkan, record_pack=True)
    module = spy.Module.load_from_source(device, "m", TEXT)
    x, y = spy.Tensor.from_numpy(device, np.arange(8, dtype=np.float32)), spy.Tensor.zeros(device, (8,), "float")
    encoder = device.create_command_encoder()
    middle = module.f.append_to(encoder, {"a": 2.0, "b": 1}, x, _result="tensor")
    module.g.append_to(encoder, middle, 3.0, _result=y)
    commands = encoder.finish()
    with pytest.raises(spy.NameNotFoundError, match="CommandBuffer.save: call of 'f': the list uses a tensor of float"):
        commands.save("two", {"y": y})
    with pytest.raises(TypeError, match="CommandBuffer.save: argument 'tensors': 'y': expected a tensor, got <class 'int'>"):
        commands.save("two", {"y": 1})
    commands.save("two", {"x": x, "middle": middle, "y": y})
    encoder = device.create_command_encoder()
    encoder.execute_callback(lambda handle: None)
    with pytest.raises(spy.Error, match="a recording with execute_callback"):
        encoder.finish().save("three", {})
    device.save_pack(pack)
    device.close()

    device = spy.create_device(spy.DeviceType.vulkan, pack=pack, slang_library="/nonexistent")
    numbers = np.arange(13, dtype=np.float32)
    x, y = spy.Tensor.from_numpy(device, numbers), spy.Tensor.zeros(device, (13,), "float")
    tensors = {"x": x, "y": y, "middle": None}
    commands = device.load_list("two", tensors)
    device.submit_command_buffer(commands)
    np.testing.assert_array_equal(tensors["middle"].to_numpy(), 2 * numbers + 1)
    np.testing.assert_array_equal(y.to_numpy(), 3 * (2 * numbers + 1) ** 2)
    commands.set(0, **{"p.a": 1.5, "p.b": 0})
    commands.set(1, w=4)
    device.submit_command_buffer(commands)
    np.testing.assert_array_equal(y.to_numpy(), 4 * (1.5 * numbers) ** 2)
    with pytest.raises(TypeError, match="argument 'w': expected a number, as the list was loaded from a pack, got <class 'str'>"):
        commands.set(1, w="4")
    with pytest.raises(ValueError, match="expected the number of one of the list's 2 calls, got 2"):
        commands.set(2, w=4)
    with pytest.raises(spy.NameNotFoundError, match=r"Device.load_list: list 'two': a tensor is missing: 'y' \(float \(8,\)\)"):
        device.load_list("two", {"x": x})
    with pytest.raises(spy.NameNotFoundError, match="list 'three': the pack has no such list"):
        device.load_list("three", {})
    with pytest.raises(TypeError, match="Device.load_list: argument 'tensors': expected a dict of tensors by their names"):
        device.load_list("two", [x])
    assert [line[2] for line in device.pack_manifest if line[0] == "list"] == ["two(x: float[], new middle: float[], y: float[])"]
    device.close()
