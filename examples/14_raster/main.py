"""14_raster [OUTPUT.png]: a lit, textured mesh. Calls make its vertices, its triangles and its pattern on the GPU; then a
vertex and a fragment function of the same module are called for all of them, like a function.
"""
import pathlib
import sys

import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

WIDTH, HEIGHT, AROUND, TUBE, PATTERN = 640, 480, 192, 96, 256


def main(path="raster.png"):
    device = spy.create_device(spy.DeviceType.vulkan, include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "raster.slang")

    # 1. Calls make what is drawn: an element of a tensor, or a texel, for each place.
    net = spy.int2(AROUND, TUBE)
    vertices = spy.Tensor.empty(device, (TUBE + 1, AROUND + 1), dtype=module.Vertex)
    module.ring(spy.call_id(), net, _result=vertices)
    indices = spy.Tensor.empty(device, (TUBE * AROUND, 6), dtype="uint")
    module.corner(spy.call_id(), net, _result=indices)
    pattern = device.create_texture(format=spy.Format.rgba32_float, width=PATTERN, height=PATTERN,
                                    usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)
    module.paint(spy.call_id(), spy.int2(PATTERN, PATTERN), _result=pattern)
    picture = device.create_texture(format=spy.Format.rgba8_unorm, width=WIDTH, height=HEIGHT, usage=spy.TextureUsage.render_target)
    depth = device.create_texture(format=spy.Format.d32_float, width=WIDTH, height=HEIGHT, usage=spy.TextureUsage.depth_stencil)

    # 2. A draw takes the uniform parameters of both functions by name.
    module.draw("vertex_main", "fragment_main", vertices=vertices, indices=indices, target=picture, clear=[0.1, 0.1, 0.12, 1],
                depth={"texture": depth, "clear": 1.0}, cull="back", angles=spy.float2(0.4, 0.75), aspect=WIDTH / HEIGHT,
                pattern=pattern, how=device.create_sampler(), lamp=spy.float3(2, 3, 3))

    # 3. The picture is a texture like others.
    pixels = picture.to_numpy()[..., :3]
    drawn = (pixels != pixels[0, 0]).any(axis=2).mean()
    print(f"the ring has {100 * drawn:.0f} % of the picture")
    if not 0.2 < drawn < 0.5:
        sys.exit("expected 20 to 50 %")
    pictures.write(path, pixels)
    print(path)
    device.close()


main(*sys.argv[1:])
