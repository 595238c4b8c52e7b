"""Methods of tensors that are written in Python: to_torch(), load_from_image(), uniforms() and storage."""
import os
import weakref

from . import _slangpy


class Uniforms(dict):
    """The dict that Tensor.uniforms() returns. Its items describe the tensor; as an argument of a call the dict stands for the
    tensor."""

    def __init__(self, tensor):
        try:
            data = storage(tensor)
        except ValueError:  # views with gaps have no single range of bytes
            data = None
        super().__init__(_data=data, _shape=tuple(tensor.shape), _strides=tuple(tensor.strides), _offset=tensor.offset)
        self.tensor = tensor

    def get_this(self):
        return self.tensor


class WriteBack:
    """Copies a tensor into the host array that it was made from, one of numpy's, torch's or with a buffer, after a call that changed it."""

    def __init__(self, tensor, array):
        import numpy

        self.tensor, self.array = tensor, numpy.asarray(array.detach() if hasattr(array, "detach") else array)  # the array's own memory
        if not self.array.flags.writeable:
            raise ValueError("expected an array that can be written, got a read-only one")

    def update_this(self, value):
        self.array[...] = self.tensor.to_numpy().reshape(self.array.shape)


def transposed(cls, device, array):
    """Returns a tensor with the strides of a numpy array that is contiguous with its dimensions in another order; None for other
    arrays."""
    flags, strides = getattr(array, "flags", None), getattr(array, "strides", None)
    if not hasattr(flags, "c_contiguous") or flags.c_contiguous or not isinstance(strides, tuple) or array.dtype.names:
        return None
    order = sorted(range(len(strides)), key=lambda axis: -strides[axis])
    base = array.transpose(order)
    if not base.flags.c_contiguous:
        return None
    tensor = cls.from_numpy(device, base)
    steps = [0] * len(order)
    for axis, step in zip(order, tensor.strides):
        steps[axis] = step
    return tensor.view(tuple(array.shape), tuple(steps))


def representation(name, tensor):
    """Returns the repr() of a tensor in SlangPy's form. It does not read from the GPU."""
    try:
        dtype = tensor.dtype
    except _slangpy.Error:  # the device was made before this process was forked, and repr() must not raise
        return "<slangpy.{}, of a device of another process>".format(name)
    has = ["true" if grad is not None else "false" for grad in (tensor.grad_in, tensor.grad_out)]
    return "{}(dtype={}, shape={}, has_grad_in={}, has_grad_out={})".format(name, type_representation(dtype), list(tensor.shape), *has)


def type_representation(dtype):
    """Returns a Struct in SlangPy's form for types: refl::Type(full_name="float", kind=scalar, shape=[])."""
    return 'refl::Type(full_name="{}", kind={}, shape={})'.format(dtype.full_name, dtype.struct.kind.name, list(dtype.shape))


# (device, address, size) -> weak reference to the Buffer that stands for that memory. The references have no callbacks, because an
# exception of a signal handler would be lost in one.
_storages: dict = {}


def note_storage(buffer):
    """Returns the Buffer that stands for the memory of a buffer, which is the buffer itself if there was none yet."""
    key = id(buffer.device), buffer.device_address, buffer.size
    reference = _storages.get(key)
    known = reference and reference()
    if known is None and key[1]:
        if len(_storages) % 256 == 255:
            for old in [k for k, r in list(_storages.items()) if r() is None]:
                _storages.pop(old, None)
        _storages[key] = weakref.ref(buffer)
    return buffer if known is None else known


def storage(tensor):
    from .buffers import Buffer, Format

    buffer = _slangpy._buffer_over(Buffer, tensor)
    # Tensors that share their memory have the same object as storage, so that scripts can compare it.
    known = note_storage(buffer) if buffer.size else buffer
    if known is not buffer:
        return known
    buffer.format, buffer.usage, buffer.memory_type = Format.undefined, tensor.usage, tensor.memory_type
    buffer.label, buffer._struct_size = "", tensor.dtype.size_bytes
    return buffer


def to_torch(tensor):
    try:
        import torch  # type: ignore[import-not-found]
    except ImportError as error:
        raise ImportError("to_torch: this needs PyTorch, which is not installed: pip install torch") from error
    return torch.from_dlpack(tensor)


def pixels_of_image(path, flip_y=False, linearize=False, scale=1.0, offset=0.0, grayscale=False):
    """Returns an image file's pixels as an array of float32."""
    try:
        from PIL import Image  # type: ignore[import-not-found]
    except ImportError as error:
        raise ImportError("load_from_image: this needs Pillow, which is not installed: pip install pillow") from error
    import numpy as np

    if os.path.splitext(os.fspath(path))[1].lower() in (".exr", ".hdr"):  # Pillow does not read these formats
        from .bitmap import Bitmap

        return _finished(np.array(Bitmap(path)), flip_y, linearize, scale, offset, grayscale)
    with Image.open(path) as image:
        if image.mode in ("P", "CMYK", "YCbCr", "HSV", "LAB"):
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        pixels = np.asarray(image)
    return _finished(pixels, flip_y, linearize, scale, offset, grayscale)


def _finished(pixels, flip_y, linearize, scale, offset, grayscale):
    """Returns an image's pixels as an array of float32, changed as the arguments of load_from_image() say."""
    import numpy as np

    if pixels.dtype == bool:
        pixels = pixels.astype(np.float32)
    elif pixels.dtype.kind in "iu":
        pixels = pixels.astype(np.float32) / np.float32(np.iinfo(pixels.dtype).max)
    pixels = pixels.astype(np.float32)
    color = pixels[..., :3] if pixels.ndim == 3 and pixels.shape[2] > 2 else pixels
    if linearize:
        color[...] = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    if grayscale and color is not pixels:
        pixels = color @ np.array([0.2126, 0.7152, 0.0722], np.float32)
    elif grayscale and pixels.ndim == 3:
        pixels = pixels[..., 0]
    if flip_y:
        pixels = pixels[::-1]
    if scale != 1.0 or offset != 0.0:
        pixels = pixels * np.float32(scale) + np.float32(offset)
    return pixels


def load_from_image(cls, device, path, flip_y=False, linearize=False, scale=1.0, offset=0.0, grayscale=False):
    pixels = pixels_of_image(path, flip_y, linearize, scale, offset, grayscale)
    return cls.from_numpy(device, pixels, dtype="float" if pixels.ndim == 2 else "float%d" % pixels.shape[2])
