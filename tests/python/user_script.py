"""A user's script of the usual kind, with annotations: `mypy --strict` checks it against the package's types, and it runs."""
from __future__ import annotations

import pathlib
import sys
import tempfile
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import slangpy as spy
from slangpy import math

SOURCE = """
import slangpy;

struct Particle
{
    float3 position;
    float3 velocity;

    __init(float3 position) { this.position = position; this.velocity = float3(0); }

    [mutating]
    void step(float seconds) { velocity.y -= 9.81 * seconds; position += velocity * seconds; }
}

enum Shape { round, square }

[Differentiable]
float polynomial(float a, float b, float x) { return a * x * x + b * x + 1; }

float brightness(float3 colour) { return dot(colour, float3(0.2126, 0.7152, 0.0722)); }

int place(int2 at, int width) { return at.y * width + at.x; }

[shader("compute")]
[numthreads(32, 1, 1)]
void scale(uint3 thread : SV_DispatchThreadID, RWStructuredBuffer<float> values, uniform float factor, uniform uint count)
{
    if (thread.x < count)
        values[thread.x] *= factor;
}
"""


@dataclass
class Settings:
    """What the script is asked to do."""

    kind: spy.DeviceType = spy.DeviceType.automatic
    count: int = 64
    steps: int = 5


def open_device(settings: Settings, folder: pathlib.Path) -> spy.Device:
    device = spy.create_device(settings.kind, include_paths=[folder], enable_hot_reload=False)
    print(device.info.adapter_name, device.info.api_name)
    return device


def colours(module: spy.Module, count: int) -> npt.NDArray[np.float32]:
    pixels = np.random.default_rng(1).random((count, 3)).astype(np.float32)
    grey: npt.NDArray[np.float32] = module.brightness(pixels, _result="numpy")
    assert grey.shape == (count,)
    np.testing.assert_allclose(grey, pixels @ np.array([0.2126, 0.7152, 0.0722], np.float32), rtol=1e-5)
    return grey


def places(module: spy.Module, width: int) -> spy.Tensor:
    result: spy.Tensor = module.place(spy.grid((4, width)), width)
    assert result.shape == (4, width) and result.dtype.name == "int"
    assert result.to_numpy().ravel().tolist() == list(range(4 * width))
    return result


def slope(device: spy.Device, module: spy.Module, values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    x = spy.Tensor.from_numpy(device, values).with_grads(zero=True)
    function = module.require_function("polynomial")
    result = function(a=2.0, b=3.0, x=x, _result="tensor").with_grads()
    result.grad.copy_from_numpy(np.ones(len(values), np.float32))
    function.bwds(a=2.0, b=3.0, x=x, _result=result)
    grad: npt.NDArray[np.float32] = x.grad.to_numpy()
    np.testing.assert_allclose(grad, 4 * values + 3, rtol=1e-5)
    return grad


def fall(module: spy.Module, settings: Settings) -> float:
    particles = spy.InstanceTensor(module.require_struct("Particle"), (settings.count,))
    particles.construct(spy.float3(0, 100, 0))
    for _ in range(settings.steps):
        particles.step(0.1)
    cursor = particles.tensor.cursor()
    first = cursor[0].read()
    height: float = first["position"].y
    wanted = 100 - 9.81 * 0.01 * settings.steps * (settings.steps + 1) / 2
    assert abs(height - wanted) < 1e-3, (height, wanted)
    return height


def raw(device: spy.Device, folder: pathlib.Path) -> list[float]:
    program = device.load_program(str(folder / "user_script.slang"), ["scale"])
    kernel = device.create_compute_kernel(program)
    buffer = device.create_buffer(element_count=8, struct_size=4, data=np.arange(8, dtype=np.float32),
                                  usage=spy.BufferUsage.shader_resource | spy.BufferUsage.unordered_access)
    encoder = device.create_command_encoder()
    kernel.dispatch(thread_count=[8, 1, 1], vars={"values": buffer, "factor": 3.0, "count": 8}, command_encoder=encoder)
    device.submit_command_buffer(encoder.finish())
    device.wait()
    scaled = buffer.to_numpy().view(np.float32)
    assert scaled.tolist() == [3.0 * i for i in range(8)]
    return [float(value) for value in scaled]


def on_the_host() -> spy.float3:
    axis = math.normalize(spy.float3(0, 3, 4))
    turned = math.mul(math.matrix_from_rotation(math.radians(90.0), spy.float3(1, 0, 0)), spy.float4(axis, 0))
    assert abs(math.length(axis) - 1) < 1e-6 and abs(turned.y + axis.z) < 1e-6
    return axis


def reflect(module: spy.Module) -> list[str]:
    layout = module.layout
    function = layout.find_function_by_name("place")
    assert function is not None
    return [parameter.name for parameter in function.parameters]


def main(arguments: list[str]) -> int:
    settings = Settings(kind=spy.DeviceType[arguments[0]] if arguments else spy.DeviceType.automatic)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "user_script.slang").write_text(SOURCE)
        with open_device(settings, folder) as device:
            module = spy.Module.load_from_file(device, "user_script.slang", options={"strict_broadcasting": False})
            grey = colours(module, settings.count)
            places(module, 16)
            slope(device, module, grey)
            fall(module, settings)
            raw(device, folder)
            assert reflect(module) == ["at", "width"]
            on_the_host()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
