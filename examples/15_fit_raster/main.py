"""15_fit_raster [OUTPUT.png]: a picture is drawn, and then its texture, its lamp and its vertices are found again from the picture
alone, by gradients through the draw. The output shows the first guess, what was found, and what was looked for.
"""
import pathlib
import sys

import numpy as np

import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

SIZE, COUNT, PATTERN, STEPS = 128, 25, 8, 300
BACK = [0.05, 0.05, 0.08, 1]


def main(path="fit_raster.png"):
    device = spy.create_device(spy.DeviceType.vulkan, include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "fit.slang")
    how = device.create_sampler(address_u=spy.TextureAddressingMode.wrap, address_v=spy.TextureAddressingMode.wrap)

    def picture():
        usage = spy.TextureUsage.render_target | spy.TextureUsage.shader_resource
        return device.create_texture(format=spy.Format.rgba32_float, width=SIZE, height=SIZE, usage=usage).with_grads()

    def texture():
        return device.create_texture(format=spy.Format.rgba32_float, width=PATTERN, height=PATTERN).with_grads()

    # 1. The shape: a fan of triangles around vertex 0, with fixed coordinates of the pattern.
    uv = module.fixed_uv(spy.grid((COUNT,)), COUNT)
    around = np.arange(1, COUNT, dtype=np.uint32)
    indices = spy.Tensor.from_numpy(device, np.stack([0 * around, around, around % (COUNT - 1) + 1], axis=1))
    scene = lambda points, pattern, lamp, target: dict(vertex="vertex_main", fragment="fragment_main", vertices={"position": points, "uv": uv},
                                                       indices=indices, target=target, clear=BACK, lamp=lamp, pattern=pattern, how=how)

    # 2. What is looked for: only its picture is used, and at the end its parts to compare.
    true_points, true_lamp, true_pattern, wanted = module.corner(spy.grid((COUNT,)), COUNT, 1.0), np.float32([0.35, 0.25, 0.9]), texture(), picture()
    module.paint(spy.call_id(), spy.int2(PATTERN, PATTERN), _result=true_pattern)
    module.draw(**scene(true_points, true_pattern, spy.float3(*true_lamp), wanted))

    # 3. The first guess: round, grey, with the lamp above the middle.
    points = module.corner(spy.grid((COUNT,)), COUNT, 0.0).with_grads()
    lamp = spy.Tensor.from_numpy(device, np.float32([0, 0, 1.1])).with_grads()
    texels = spy.Tensor.from_numpy(device, np.full((PATTERN, PATTERN, 4), 0.5, np.float32))
    pattern, drawn, shown = texture(), picture(), []
    moments = [spy.Tensor.zeros(device, shape, dtype="float2") for shape in ((COUNT, 2), (3,), (PATTERN, PATTERN, 4))]

    # 4. A step draws, compares, goes back through the draw, and moves all three against their gradients.
    for step in range(STEPS + 1):
        module.texel(texels, _result=pattern)
        module.draw(**scene(points, pattern, spy.float3(*lamp.to_numpy()), drawn))
        if step in (0, STEPS):
            shown.append(drawn.to_numpy())
            continue
        module.difference(drawn, wanted, float(SIZE * SIZE), _result=drawn.grad)
        module.draw.bwds(**scene(points, pattern, lamp, drawn), edges=True)
        rate = 0.5 ** (4 * step / STEPS)
        for x, grad, moment, speed in zip((points, lamp, texels), (points.grad, lamp.grad, pattern.grad), moments, (0.01, 0.02, 0.03)):
            module.adam(x.detach().flatten_dtype(), grad.flatten_dtype(), moment, speed * rate, step)

    # 5. What was found is what the picture was drawn from.
    distance = lambda a, b: float(np.sqrt(np.mean((a.astype(float) - b) ** 2)))
    shown.append(wanted.to_numpy())
    before, after = (distance(picture, shown[2]) for picture in shown[:2])
    found = (distance(points.to_numpy(), true_points.to_numpy()), distance(lamp.to_numpy(), true_lamp),
             distance(pattern.to_numpy()[..., :3], true_pattern.to_numpy()[..., :3]))  # alpha is not drawn
    pictures.write(path, (255 * np.clip(np.concatenate(shown, axis=1)[..., :3], 0, 1) ** (1 / 2.2)).astype(np.uint8))
    if after > before / 20 or max(found) > 0.01:
        sys.exit("expected 0.01: vertices {:g}, lamp {:g}, pattern {:g}".format(*found))
    print(f"from {before:.3f}: vertices, lamp and pattern are found to 0.01")
    print(path)
    device.close()


main(*sys.argv[1:])
