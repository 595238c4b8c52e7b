"""Reads and writes image files for Bitmap, as numpy arrays of shape (height, width, channels). This module decodes and encodes the forms
of PNG, BMP, TGA, Radiance HDR and OpenEXR that programs write today. If Pillow is installed, it reads rarer forms of PNG, BMP and TGA,
all 8-bit PNG files (because it is faster), and JPEG, which needs it. If the package OpenEXR is installed, it reads the other
compressions of EXR."""
from __future__ import annotations

import io
import os
import struct
import zlib

import numpy as np

from ._slangpy import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from numpy.typing import NDArray

# The result of a decoder: pixels of shape (height, width, channels), names of the channels, and whether colors are in sRGB.
if TYPE_CHECKING:
    _Image = tuple[NDArray[Any], Sequence[str], bool]
_NAMES = {1: ["Y"], 2: ["Y", "A"], 3: ["R", "G", "B"], 4: ["R", "G", "B", "A"]}
EXTENSIONS = {".png": "png", ".jpg": "jpg", ".jpeg": "jpg", ".bmp": "bmp", ".tga": "tga", ".hdr": "hdr", ".rgbe": "hdr", ".pic": "hdr",
              ".exr": "exr"}
_MOST_PIXELS = 1 << 30  # a file that claims more pixels is damaged


class ImageFileError(Error, OSError):
    """A file that cannot be read or written as an image; an OSError, a RuntimeError and a slangpy.Error."""


class ImageFileNotFoundError(ImageFileError, FileNotFoundError):
    """An image file that does not exist; a FileNotFoundError, too."""


def format_of(data: bytes, path: str) -> str:
    """Returns the name of a file's format by its first bytes; of TGA, whose files have no mark, by its extension. "" if unknown."""
    for mark, name in ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpg"), (b"BM", "bmp"), (b"#?", "hdr"), (b"v/1\x01", "exr")):
        if data.startswith(mark):
            return name
    extension = os.path.splitext(path)[1].lower()
    return "tga" if extension == ".tga" or data[-18:-1] == b"TRUEVISION-XFILE." else ""


def read(path: str, format: str = "") -> _Image:
    """Returns the image in a file; `format` is a name in EXTENSIONS, or "" for the file's own."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except FileNotFoundError as error:
        raise _failure(ImageFileNotFoundError, error, "There is no image file '{}'".format(path)) from None
    except OSError as error:
        raise _failure(ImageFileError, error, "The image file '{}' cannot be read: {}".format(path, error.strerror)) from None
    name = format or format_of(data, path)
    if not name:
        raise ImageFileError("'{}' is no image file of a known format: PNG, JPEG, BMP, TGA, Radiance HDR or OpenEXR".format(path))
    try:
        return _DECODERS[name](data)
    except ImportError as error:
        raise ImportError("'{}' cannot be read: {}".format(path, error)) from error
    except Exception as error:  # decoders may raise any exception for a damaged file
        raise ImageFileError("'{}' cannot be read as {}: {}".format(path, name.upper(), error)) from error


def encode(format: str, pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    """Returns the bytes of an image file. `pixels` has shape (height, width, channels), and a type and channels that the format can hold."""
    return _ENCODERS[format](np.ascontiguousarray(pixels), names, srgb, quality)


def write(path: str, format: str, pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> None:
    """Writes the bytes that encode() returns into a file."""
    data = encode(format, pixels, names, srgb, quality)
    try:
        with open(path, "wb") as file:
            file.write(data)
    except OSError as error:
        raise _failure(ImageFileError, error, "The image file '{}' cannot be written: {}".format(path, error.strerror)) from None


def _failure(kind: type[ImageFileError], error: OSError, text: str) -> ImageFileError:
    result = kind(text)
    result.errno = error.errno
    return result


def _pillow(what: str) -> Any:
    try:
        from PIL import Image
    except ImportError as error:
        raise ImportError("{} needs Pillow, which is not installed: pip install pillow".format(what)) from error
    return Image


def _by_pillow(data: bytes, what: str) -> _Image:
    image = _pillow(what).open(io.BytesIO(data))
    alpha = "transparency" in image.info or image.mode in ("PA", "LA", "RGBa", "La")
    if image.mode in ("1", "L", "LA"):
        image = image.convert("LA" if alpha else "L")
    elif image.mode not in ("RGB", "RGBA") or alpha:
        image = image.convert("RGBA" if alpha else "RGB")
    pixels = np.asarray(image, np.uint8)
    pixels = pixels.reshape(pixels.shape[0], pixels.shape[1], -1)
    return pixels, _NAMES[pixels.shape[2]], True


def _check_size(width: int, height: int) -> None:
    if width <= 0 or height <= 0 or width * height > _MOST_PIXELS:
        raise ValueError("its size of {} x {} pixels makes no sense".format(width, height))


def _bytes(data: bytes, offset: int, count: int) -> NDArray[np.uint8]:
    if offset < 0 or count < 0 or offset + count > len(data):
        raise ValueError("the file ends too early")
    return np.frombuffer(data, np.uint8, count, offset)


# >>PNG. Source: W3C, Portable Network Graphics (third edition): chapters 5 (chunks), 7.2 (scanlines), 9 (filters), 11.3 (ancillary chunks)


def _read_png(data: bytes) -> _Image:
    chunks: dict[bytes, bytes] = {}
    pixel_data = []
    at = 8
    while at + 12 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        body = _bytes(data, at + 8, size).tobytes()
        if zlib.crc32(kind + body) != struct.unpack_from(">I", data, at + 8 + size)[0]:
            raise ValueError("the checksum of its chunk {} is wrong".format(kind.decode("latin1")))
        if kind == b"IDAT":
            pixel_data.append(body)
        else:
            chunks.setdefault(kind, body)
        at += 12 + size
        if kind == b"IEND":
            break
    if b"IHDR" not in chunks or not pixel_data:
        raise ValueError("it has no {}".format("header" if pixel_data else "pixels"))
    width, height, depth, color, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    _check_size(width, height)
    if color not in (0, 2, 3, 4, 6) or depth not in (1, 2, 4, 8, 16):
        raise ValueError("its color type {} with {} bits is unknown".format(color, depth))
    srgb = b"sRGB" in chunks or chunks.get(b"gAMA") != struct.pack(">I", 100000)
    if depth <= 8:
        try:
            pixels, names, _ = _by_pillow(data, "an interlaced PNG")
            return pixels, names, srgb
        except ImportError:
            if interlaced:
                raise
    if interlaced:
        raise ValueError("interlaced files with 16 bits are not supported; save it without interlacing")
    channels = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[color]
    row = -(-width * channels * depth // 8)
    decoder = zlib.decompressobj()
    raw = decoder.decompress(b"".join(pixel_data), (row + 1) * height)
    lines = _bytes(raw, 0, (row + 1) * height).reshape(height, row + 1)
    values = _unfilter(lines, max(1, channels * depth // 8))
    if depth == 16:
        values = values.view(">u2").astype(np.uint16)
    elif depth < 8:
        parts = np.unpackbits(values, axis=1).reshape(height, -1, depth)[:, :width * channels]
        values = parts @ (1 << np.arange(depth - 1, -1, -1)).astype(np.uint8)
        if color != 3:
            values = values * np.uint8(255 // ((1 << depth) - 1))
    pixels = values.reshape(height, width, channels)
    opaque = np.iinfo(pixels.dtype).max
    if color == 3:
        table = np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)
        if pixels.max() >= len(table):
            raise ValueError("its palette has only {} entries".format(len(table)))
        if b"tRNS" in chunks:
            alpha = np.full((len(table), 1), 255, np.uint8)
            alpha[:len(chunks[b"tRNS"]), 0] = np.frombuffer(chunks[b"tRNS"], np.uint8)[:len(table)]
            table = np.concatenate([table, alpha], axis=1)
        pixels = table[pixels[..., 0]]
    elif b"tRNS" in chunks and color in (0, 2):
        key = np.frombuffer(chunks[b"tRNS"], ">u2", channels).astype(np.uint16)
        key = key if depth >= 8 else key * np.uint16(255 // ((1 << depth) - 1))
        alpha = np.where((pixels == key).all(axis=2, keepdims=True), 0, opaque).astype(pixels.dtype)
        pixels = np.concatenate([pixels, alpha], axis=2)
    return pixels, _NAMES[pixels.shape[2]], srgb


def _unfilter(lines: NDArray[np.uint8], step: int) -> NDArray[np.uint8]:
    """Returns the bytes of filtered scanlines; `step` is the bytes of a pixel. A byte depends on its neighbours to the left, above, and
    above left, so all bytes of one anti-diagonal are computed at once: the array is sheared such that an anti-diagonal is a row of
    memory."""
    height, width = lines.shape[0], -(-(lines.shape[1] - 1) // step)
    kinds = lines[:, 0]
    if kinds.max(initial=0) > 4:
        raise ValueError("its filter {} is unknown".format(kinds.max()))
    if not kinds.any():
        return np.ascontiguousarray(lines[:, 1:])
    place = np.arange(width)[None, :] + np.arange(height)[:, None] + 2, np.arange(height)[:, None] + 1
    values = np.zeros((height, width * step), np.uint8)
    values[:, :lines.shape[1] - 1] = lines[:, 1:]
    result = np.zeros((height + width + 2, height + 1, step), np.uint8)  # [2 + x + y, 1 + y] is the pixel (x, y); the border is zeros
    sheared = np.zeros_like(result)
    sheared[place] = values.reshape(height, width, step)
    uses_left, uses_up, uses_mean, uses_paeth = ((kinds == k)[:, None] for k in (1, 2, 3, 4))
    for d in range(2, height + width + 1):
        low, high = max(0, d - 2 - (width - 1)), min(height, d - 1)  # the rows that this anti-diagonal crosses
        rows = slice(low, high)
        left = result[d - 1, 1 + low:1 + high].astype(np.int16)
        up = result[d - 1, low:high].astype(np.int16)
        corner = result[d - 2, low:high].astype(np.int16)
        p, q = up - corner, left - corner
        a, b, c = np.abs(p), np.abs(q), np.abs(p + q)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
        guess = left * uses_left[rows] + up * uses_up[rows] + ((left + up) >> 1) * uses_mean[rows] + paeth * uses_paeth[rows]
        result[d, 1 + low:1 + high] = sheared[d, 1 + low:1 + high] + guess.astype(np.uint8)
    return np.ascontiguousarray(result[place].reshape(height, width * step)[:, :lines.shape[1] - 1])


def _write_png(pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    height, width, channels = pixels.shape
    depth = 8 * pixels.dtype.itemsize
    step = channels * depth // 8
    values = pixels.astype(">u2").view(np.uint8) if depth == 16 else pixels
    values = values.reshape(height, width * step)
    compressor, parts = zlib.compressobj(6 if quality < 0 else min(quality, 9)), []
    above = np.zeros((1, width * step), np.uint8)
    # chapter 12.7 of the PNG specification advises the filter that leaves the smallest differences for each row
    for begin in range(0, height, 64):
        rows = values[begin:begin + 64]
        x = rows.astype(np.int16)
        up = np.concatenate([above, rows[:-1]]).astype(np.int16)
        left, corner = (np.pad(v, [(0, 0), (step, 0)])[:, :-step] for v in (x, up))
        distances = np.abs(np.stack([up - corner, left - corner, left + up - 2 * corner]))
        paeth = np.choose(distances.argmin(0), [left, up, corner])
        candidates = np.stack([x, x - left, x - up, x - ((left + up) >> 1), x - paeth]).astype(np.uint8)
        best = np.abs(candidates.view(np.int8).astype(np.int32)).sum(2).argmin(0)
        lines = np.concatenate([best[:, None].astype(np.uint8), candidates[best, np.arange(len(rows))]], axis=1)
        parts.append(compressor.compress(lines.tobytes()))
        above = rows[-1:]
    parts.append(compressor.flush())
    header = struct.pack(">IIBBBBB", width, height, depth, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    gamma = (b"sRGB", b"\0") if srgb else (b"gAMA", struct.pack(">I", 100000))
    result = [b"\x89PNG\r\n\x1a\n"]
    for kind, body in (b"IHDR", header), gamma, (b"IDAT", b"".join(parts)), (b"IEND", b""):
        result.append(struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body)))
    return b"".join(result)


# >>JPEG


def _read_jpg(data: bytes) -> _Image:
    return _by_pillow(data, "a JPEG file")


def _write_jpg(pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    image = _pillow("a JPEG file").fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    out = io.BytesIO()
    quality = 100 if quality < 0 else max(1, min(quality, 100))
    image.save(out, "JPEG", quality=quality, subsampling=0 if quality >= 90 else 2)
    return out.getvalue()


# >>BMP. Source: Microsoft, Bitmap Storage, BITMAPINFOHEADER and BITMAPV4HEADER


def _read_bmp(data: bytes) -> _Image:
    start, size = struct.unpack_from("<I", data, 10)[0], struct.unpack_from("<I", data, 14)[0]
    if size < 40:
        return _by_pillow(data, "this old form of a BMP file")
    width, height, _, bits, compression, _, _, _, colors = struct.unpack_from("<iiHHIIiiI", data, 18)
    _check_size(width, abs(height))
    masks = struct.unpack_from("<IIII", data, 54) if compression == 3 and len(data) >= 70 else ()
    plain = compression == 0 or masks[:3] == (0xFF0000, 0xFF00, 0xFF)
    if not plain or bits not in (8, 24, 32):
        return _by_pillow(data, "this form of a BMP file")
    row = -(-width * bits // 32) * 4
    lines = _bytes(data, start, row * abs(height)).reshape(abs(height), row)[:: -1 if height > 0 else 1]
    pixels = lines[:, :width * bits // 8].reshape(abs(height), width, bits // 8)
    if bits == 8:
        table = _bytes(data, 14 + size, 4 * (colors or 256)).reshape(-1, 4)[:, 2::-1]
        if pixels.max() >= len(table):
            raise ValueError("its palette has only {} entries".format(len(table)))
        pixels = table[pixels[..., 0]]
        return pixels.copy(), _NAMES[3], True
    # Old headers have no word for alpha; programs that write it there are told by its not being 0 everywhere, as most readers do.
    alpha = bits == 32 and (masks[3] == 0xFF000000 and size >= 56 if compression == 3 else bool(pixels[..., 3:].any()))
    pixels = np.concatenate([pixels[..., 2::-1], pixels[..., 3:]], axis=2) if alpha else pixels[..., 2::-1].copy()
    return pixels, _NAMES[pixels.shape[2]], True


def _write_bmp(pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    height, width, channels = pixels.shape
    if channels > 1:
        pixels = np.concatenate([pixels[..., 2::-1], pixels[..., 3:]], axis=2)
    row = -(-width * channels // 4) * 4
    lines = np.zeros((height, row), np.uint8)
    lines[:, :width * channels] = pixels[::-1].reshape(height, -1)
    table = np.repeat(np.arange(256, dtype=np.uint8), 4).reshape(-1, 4) * np.array([1, 1, 1, 0], np.uint8) if channels == 1 else np.zeros(0, np.uint8)
    # With alpha the header is a BITMAPV4HEADER, which names the channels, otherwise a BITMAPINFOHEADER.
    more = struct.pack("<IIII4s48x", 0xFF0000, 0xFF00, 0xFF, 0xFF000000, b"BGRs") if channels == 4 else b""
    start = 54 + len(more) + table.size
    info = struct.pack("<IiiHHIIiiII", 40 + len(more), width, height, 1, 8 * channels, 3 if channels == 4 else 0, lines.size, 2835, 2835,
                       256 if channels == 1 else 0, 0)
    return struct.pack("<2sIHHI", b"BM", start + lines.size, 0, 0, start) + info + more + table.tobytes() + lines.tobytes()


# >>TGA. Source: Truevision TGA File Format Specification 2.0


def _read_tga(data: bytes) -> _Image:
    length, has_map, kind, _, _, map_bits, _, _, width, height, bits, flags = struct.unpack_from("<BBBHHBHHHHBB", data, 0)
    _check_size(width, height)
    gray = kind in (3, 11)
    if kind not in (2, 3, 10, 11) or bits not in ((8, 16) if gray else (24, 32)):
        return _by_pillow(data, "this form of a TGA file")
    at = 18 + length + struct.unpack_from("<H", data, 5)[0] * (-(-map_bits // 8)) * has_map
    step, count = bits // 8, width * height
    if kind < 8:
        flat = _bytes(data, at, count * step).reshape(count, step)
    else:
        flat = np.zeros((count, step), np.uint8)
        done = 0
        while done < count:
            head, size = _bytes(data, at, 1)[0], 1 + (int(data[at]) & 127)
            size = min(size, count - done)
            length = step if head & 128 else size * step
            flat[done:done + size] = _bytes(data, at + 1, length).reshape(-1, step)
            at, done = at + 1 + length, done + size
    pixels = flat.reshape(height, width, step)[:: 1 if flags & 32 else -1, :: -1 if flags & 16 else 1]
    if not gray:
        pixels = np.concatenate([pixels[..., 2::-1], pixels[..., 3:]], axis=2)
    return pixels.copy(), _NAMES[step], True


def _write_tga(pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    height, width, channels = pixels.shape
    if max(width, height) > 0xFFFF:
        raise ValueError("TGA files hold at most 65535 x 65535 pixels")
    if channels > 2:
        pixels = np.concatenate([pixels[..., 2::-1], pixels[..., 3:]], axis=2)
    alpha = 8 if channels in (2, 4) else 0
    return struct.pack("<BBB5xHHHHBB", 0, 0, 3 if channels < 3 else 2, 0, 0, width, height, 8 * channels, 32 | alpha) + pixels.tobytes()


# >>Radiance HDR. Source: Greg Ward, Real Pixels (Graphics Gems II), and Radiance's File Formats: pixels are 3 mantissas and an exponent


def _read_hdr(data: bytes) -> _Image:
    head, _, _ = data.partition(b"\n\n")
    line, _, _ = data[len(head) + 2:].partition(b"\n")
    fields = line.split()
    if len(fields) != 4 or fields[0] not in (b"-Y", b"+Y") or fields[2] not in (b"+X", b"-X"):
        raise ValueError("its size '{}' is not of the form -Y height +X width".format(line[:40].decode("latin1")))
    if b"FORMAT=32-bit_rle_xyze" in head:
        raise ValueError("colors in XYZ are not supported")
    height, width = int(fields[1]), int(fields[3])
    _check_size(width, height)
    at = len(head) + 2 + len(line) + 1
    body = np.frombuffer(data, np.uint8)
    result = np.zeros((height, width, 4), np.uint8)
    for y in range(height):
        start = _bytes(data, at, 4)
        if not 8 <= width < 32768 or start[0] != 2 or start[1] != 2 or start[2] >= 128:
            if y == 0 and len(data) - at == 4 * width * height:
                result = _bytes(data, at, 4 * width * height).reshape(height, width, 4)
                break
            at = _old_hdr_line(data, at, result[y])
            continue
        if int(start[2]) << 8 | int(start[3]) != width:
            raise ValueError("the length of row {} is wrong".format(y))
        at += 4
        line_of = np.empty(4 * width, np.uint8)  # the row's four channels, one after the other
        done = 0
        while done < 4 * width:
            code = data[at]
            size = code - 128 if code > 128 else code
            if size == 0 or done + size > 4 * width:
                raise ValueError("row {} is damaged".format(y))
            line_of[done:done + size] = body[at + 1] if code > 128 else _bytes(data, at + 1, size)
            at, done = at + (2 if code > 128 else 1 + size), done + size
        result[y] = line_of.reshape(4, width).T
    scale = np.ldexp(np.float32(1), result[..., 3:].astype(np.int32) - 136)
    pixels = np.where(result[..., 3:] > 0, result[..., :3] * scale, 0).astype(np.float32)
    pixels = pixels[:: -1 if fields[0] == b"+Y" else 1, :: -1 if fields[2] == b"-X" else 1]
    return np.ascontiguousarray(pixels), _NAMES[3], False


def _old_hdr_line(data: bytes, at: int, line: NDArray[np.uint8]) -> int:
    """Reads a row as Radiance's first releases wrote it: a pixel 1, 1, 1, n repeats the last one n times, shifted for each such pixel that
    follows another. Returns where the next row begins."""
    done = shift = 0
    while done < len(line):
        pixel = _bytes(data, at, 4)
        at += 4
        if done and (pixel[:3] == 1).all():
            count = min(int(pixel[3]) << shift, len(line) - done)
            line[done:done + count] = line[done - 1]
            done, shift = done + count, shift + 8
        else:
            line[done], done, shift = pixel, done + 1, 0
    return at


def _write_hdr(pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    height, width, _ = pixels.shape
    values = np.maximum(np.nan_to_num(pixels.astype(np.float64), nan=0.0, posinf=1e38, neginf=0.0), 0)
    largest = np.minimum(values.max(axis=2), 1.7e38)
    exponent = np.frexp(largest)[1]
    rgbe = np.zeros((height, width, 4), np.uint8)
    rgbe[..., :3] = np.minimum(np.ldexp(values, (8 - exponent)[..., None]), 255)  # cut off, as in Real Pixels
    rgbe[..., 3] = np.clip(exponent + 128, 1, 255)
    rgbe[largest < 1e-32] = 0
    head = "#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y {} +X {}\n".format(height, width).encode()
    if not 8 <= width < 32768:
        return head + rgbe.tobytes()
    # Rows in the form with runs, but all runs are literal: at most 128 bytes each, preceded by their number.
    planes = rgbe.transpose(0, 2, 1)
    pieces = [np.broadcast_to(np.array([2, 2, width >> 8, width & 255], np.uint8), (height, 4))]
    for c in range(4):
        for begin in range(0, width, 128):
            piece = planes[:, c, begin:begin + 128]
            pieces += [np.full((height, 1), piece.shape[1], np.uint8), piece]
    return head + np.concatenate(pieces, axis=1).tobytes()


# >>OpenEXR. Source: openexr.com, OpenEXR File Layout: scanline files of one part

_EXR_TYPES = {0: "<u4", 1: "<f2", 2: "<f4"}
_EXR_COMPRESSIONS = ["none", "RLE", "ZIPS", "ZIP", "PIZ", "PXR24", "B44", "B44A", "DWAA", "DWAB"]
_EXR_LINES = {0: 1, 1: 1, 2: 1, 3: 16}


def _cstring(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(b"\0", at)
    return data[at:end].decode("latin1"), end + 1


def _read_exr(data: bytes) -> _Image:
    flags = struct.unpack_from("<I", data, 4)[0]
    if flags & 0x1800:
        raise ValueError("files with several parts or deep pixels are not supported")
    attributes: dict[str, bytes] = {}
    at = 8
    while data[at]:
        name, at = _cstring(data, at)
        _, at = _cstring(data, at)
        size = struct.unpack_from("<I", data, at)[0]
        attributes[name] = _bytes(data, at + 4, size).tobytes()
        at += 4 + size
    at += 1
    channels = []
    listed, p = attributes["channels"], 0
    while listed[p]:
        name, p = _cstring(listed, p)
        kind, _, sub_x, sub_y = struct.unpack_from("<iIii", listed, p)
        p += 16
        if (sub_x, sub_y) != (1, 1):
            raise ValueError("its channel '{}' has fewer pixels than the image, which is not supported".format(name))
        channels.append((name, np.dtype(_EXR_TYPES[kind])))
    if not channels:
        raise ValueError("it has no channels")
    compression = attributes["compression"][0]
    x0, y0, x1, y1 = struct.unpack("<iiii", attributes["dataWindow"])
    width, height = x1 - x0 + 1, y1 - y0 + 1
    _check_size(width, height)
    if flags & 0x200 or compression not in _EXR_LINES:
        planes = _by_openexr(data, "tiles" if flags & 0x200 else "the compression " + dict(enumerate(_EXR_COMPRESSIONS)).get(compression, "?"))
    else:
        planes = _exr_planes(data, at, channels, compression, width, height, y0)
    kinds = {dtype for _, dtype in channels}
    dtype = np.dtype(np.float32) if len(kinds) > 1 else next(iter(kinds)).newbyteorder("=")
    names = _exr_order([name for name, _ in channels])
    return np.stack([planes[name].astype(dtype) for name in names], axis=2), names, False


def _exr_order(names: list[str]) -> list[str]:
    """Returns the names with the R, G, B, A (or Y, A) of each layer in this order; files list names alphabetically."""
    layer = {name: name.rpartition(".")[0] for name in names}
    return sorted(names, key=lambda n: (layer[n] != "", layer[n], "RGBYA".find(n.rpartition(".")[2]) if n.rpartition(".")[2] in tuple("RGBYA") else 9, n))


def _exr_planes(data, at, channels, compression, width, height, y0):
    lines = _EXR_LINES[compression]
    row = width * sum(dtype.itemsize for _, dtype in channels)
    planes = {name: np.empty((height, width), dtype) for name, dtype in channels}
    chunks = -(-height // lines)
    for offset in np.frombuffer(data, "<u8", chunks, at).tolist():
        y, size = struct.unpack_from("<iI", data, offset)
        y -= y0
        count = min(lines, height - y)
        if not 0 <= y < height:
            raise ValueError("a block of rows lies outside of the image")
        body = _bytes(data, offset + 8, size)
        if size < row * count:  # otherwise the block is not compressed
            packed = _exr_runs(body) if compression == 1 else np.frombuffer(zlib.decompressobj().decompress(body, row * count + 1), np.uint8)
            if packed.size != row * count:
                raise ValueError("a block of rows has a wrong size")
            steps = packed.astype(np.uint8)
            steps[1:] += np.uint8(128)  # the predictor stores differences plus 128
            steps = np.add.accumulate(steps, dtype=np.uint8)
            body = np.empty_like(steps)
            half = (steps.size + 1) // 2
            body[0::2], body[1::2] = steps[:half], steps[half:]
        block = body[:row * count].reshape(count, row)
        begin = 0
        for name, dtype in channels:
            end = begin + width * dtype.itemsize
            planes[name][y:y + count] = np.ascontiguousarray(block[:, begin:end]).view(dtype)
            begin = end
    return planes


def _exr_runs(data: NDArray[np.uint8]) -> NDArray[np.uint8]:
    parts, at = [], 0
    while at < len(data):
        count = int(data[at]) - 256 if data[at] > 127 else int(data[at])
        parts.append(data[at + 1:at + 1 - count] if count < 0 else np.repeat(data[at + 1:at + 2], count + 1))
        at += 1 - count if count < 0 else 2
    return np.concatenate(parts)


def _by_openexr(data: bytes, what: str) -> dict[str, NDArray[Any]]:
    try:
        import OpenEXR  # type: ignore[import-not-found, unused-ignore]
        File = OpenEXR.File
    except (ImportError, AttributeError) as error:
        raise ImportError("an OpenEXR file with {} needs the package OpenEXR 3.3 or later, which is not installed: pip install OpenEXR".format(
            what)) from error
    import tempfile

    with tempfile.TemporaryDirectory() as folder:  # the package OpenEXR reads only files
        path = os.path.join(folder, "image.exr")
        with open(path, "wb") as out:
            out.write(data)
        with File(path, separate_channels=True) as file:
            return {name: np.array(channel.pixels) for name, channel in file.channels().items()}


def _write_exr(pixels: NDArray[Any], names: Sequence[str], srgb: bool, quality: int) -> bytes:
    height, width, _ = pixels.shape
    kind = {"u4": 0, "f2": 1, "f4": 2}[pixels.dtype.str[1:]]
    dtype = np.dtype(_EXR_TYPES[kind])
    order = sorted(range(len(names)), key=lambda i: names[i].encode())
    listed = b"".join(names[i].encode() + b"\0" + struct.pack("<iIii", kind, 0, 1, 1) for i in order) + b"\0"
    window = struct.pack("<iiii", 0, 0, width - 1, height - 1)
    head = [struct.pack("<II", 20000630, 2 | (0x400 if max(map(len, names)) > 31 else 0))]
    for name, type_name, value in (
            ("channels", "chlist", listed), ("compression", "compression", b"\3"), ("dataWindow", "box2i", window),
            ("displayWindow", "box2i", window), ("lineOrder", "lineOrder", b"\0"), ("pixelAspectRatio", "float", struct.pack("<f", 1)),
            ("screenWindowCenter", "v2f", struct.pack("<ff", 0, 0)), ("screenWindowWidth", "float", struct.pack("<f", 1))):
        head.append(name.encode() + b"\0" + type_name.encode() + b"\0" + struct.pack("<I", len(value)) + value)
    start = sum(map(len, head)) + 1
    rows = np.ascontiguousarray(pixels[..., order].transpose(0, 2, 1).astype(dtype)).view(np.uint8).reshape(height, -1)
    blocks, offsets, at = [], [], start + 8 * -(-height // 16)
    for y in range(0, height, 16):
        body = rows[y:y + 16].reshape(-1)
        split = np.concatenate([body[0::2], body[1::2]])
        split[1:] -= split[:-1].copy()
        split[1:] += np.uint8(128)
        packed = zlib.compress(split.tobytes(), 4 if quality < 0 else min(quality, 9))
        packed = packed if len(packed) < body.size else body.tobytes()
        offsets.append(at)
        blocks.append(struct.pack("<iI", y, len(packed)) + packed)
        at += len(blocks[-1])
    return b"".join([*head, b"\0", np.array(offsets, "<u8").tobytes(), *blocks])


_DECODERS = {"png": _read_png, "jpg": _read_jpg, "bmp": _read_bmp, "tga": _read_tga, "hdr": _read_hdr, "exr": _read_exr}
_ENCODERS = {"png": _write_png, "jpg": _write_jpg, "bmp": _write_bmp, "tga": _write_tga, "hdr": _write_hdr, "exr": _write_exr}
