"""13_textures [PICTURE.png] [OUTPUT.png]: a photograph with the depth of field of a large lens. A texture is run over texel by
texel, as an array; its mip levels are made and looked at; and a function samples it, to blur what is not in focus.
"""
import pathlib
import sys

import numpy as np
import slangpy as spy

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent))
import pictures

RANGE = 0.92  # as in textures.slang


def mean_light(photo):
    """brighten() of textures.slang once more in numpy, and the mean of what it gives."""
    c = photo.reshape(-1, 3) / 255
    c = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    return (c / (1 - RANGE * c.max(axis=1, keepdims=True))).mean(axis=0)


def main(in_path=FOLDER / "../../build/data/astronaut.png", out_path="textures.png"):
    photo = pictures.read(in_path)
    height, width, _ = photo.shape
    focus, sharp = spy.float2(0.44 * width, 0.22 * height), 0.2 * height
    device = spy.create_device(spy.DeviceType.vulkan, include_paths=[FOLDER])
    module = spy.Module.load_from_file(device, "textures.slang")

    # 1. A format says how texels are read: the bytes of this one are floats from 0 to 1 in Slang, of linear light.
    rgba = np.dstack([photo, np.full((height, width), 255, np.uint8)])
    picture = device.create_texture(format=spy.Format.rgba8_unorm_srgb, width=width, height=height, data=rgba,
                                    usage=spy.TextureUsage.shader_resource)

    # 2. brighten() takes a texel and returns one. Called with textures it runs over them, as over arrays: here over level 0.
    def light(width, height, mip_count=1, format=spy.Format.rgba32_float):
        return device.create_texture(format=format, width=width, height=height, mip_count=mip_count,
                                     usage=spy.TextureUsage.shader_resource | spy.TextureUsage.unordered_access)

    pyramid = light(width, height, spy.ALL_MIPS)
    module.brighten(picture, _result=pyramid)

    # 3. Each further level of the pyramid is half as large as the one before, down to one texel: the mean of all, if the
    #    sizes are powers of two. Where a size is odd, texels do not weigh the same.
    encoder = device.create_command_encoder()
    encoder.generate_mips(pyramid)
    device.submit_command_buffer(encoder.finish())
    last = pyramid.mip_count - 1
    top, mean = pyramid.to_numpy(mip=last)[0, 0, :3], mean_light(photo)
    print(f"{width} x {height} texels, {last + 1} levels")
    print("mean light: {:.3f} {:.3f} {:.3f}, in the last level: {:.3f} {:.3f} {:.3f}".format(*mean, *top))
    exact = width & (width - 1) == 0 and height & (height - 1) == 0
    if exact and (np.abs(top / mean - 1) > 0.02).any():
        sys.exit("expected the same mean within 2 %")

    # 4. blur() takes the pyramid whole, with a sampler, and runs over the pixels of its result.
    blurred = light(width, height)
    clamp = spy.TextureAddressingMode.clamp_to_edge
    how = device.create_sampler(address_u=clamp, address_v=clamp)
    module.blur(spy.call_id(), pyramid, how, focus, sharp, _result=blurred)

    # 5. The result at the left, and the levels of the pyramid at the right, one below the other.
    sheet = light(width + width // 2, height)
    encoder, y = device.create_command_encoder(), 0
    encoder.clear_texture_float(sheet)
    encoder.copy_texture(sheet, 0, 0, [0, 0, 0], blurred, 0, 0, [0, 0, 0])
    for mip in range(1, last):
        if y < height:
            encoder.copy_texture(sheet, 0, 0, [width, y, 0], pyramid, 0, mip, [0, 0, 0])
        y += pyramid.get_mip_height(mip)
    device.submit_command_buffer(encoder.finish())

    # 6. develop() makes bytes again: what a function returns is converted to the format of the texture it goes to.
    shown = light(width + width // 2, height, format=spy.Format.rgba8_unorm)
    module.develop(sheet, _result=shown)
    pixels = shown.to_numpy()[..., :3]

    # 7. In focus all samples are the pixel itself.
    y, x = np.mgrid[:height, :width] + 0.5
    in_focus = (x - focus.x) ** 2 + (y - focus.y) ** 2 < sharp**2
    worst = np.abs(pixels[:, :width].astype(int) - photo)[in_focus].max()
    print(f"in focus the picture differs from the photograph by at most {worst} of 255")
    if worst > 1:
        sys.exit("expected at most 1")
    pictures.write(out_path, np.ascontiguousarray(pixels))
    print(out_path)
    device.close()


main(*sys.argv[1:])
