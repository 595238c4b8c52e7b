"""Reads and writes pictures for the examples, as numpy arrays of bytes of shape (height, width, 3).

With Pillow that is one line each, and any format. Without it PNG is done here: enough for these programs, no more.
"""
import struct
import zlib

import numpy as np

try:
    from PIL import Image
except ImportError:
    Image = None


def read(path):
    """The picture in a file, as RGB."""
    if Image:
        return np.array(Image.open(path).convert("RGB"))
    with open(path, "rb") as file:
        return _decode(file.read(), path)


def write(path, pixels):
    """Write an array of bytes of shape (height, width, 3) as a PNG file."""
    if pixels.dtype != np.uint8 or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise ValueError(f"write: 'pixels': expected uint8 of shape (height, width, 3), got {pixels.dtype} {pixels.shape}")
    height, width, _ = pixels.shape
    rows = _filter(pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        for kind, data in (b"IHDR", header), (b"IDAT", zlib.compress(rows.tobytes(), 9)), (b"IEND", b""):
            file.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))


# Source: W3C, Portable Network Graphics (third edition), chapters 5 (chunks), 9 (filters) and 12.7 (which filter).
def _filter(pixels):
    """Rows as a file has them: the number of a filter, then differences. Each row takes the filter with the smallest ones."""
    height, width, _ = pixels.shape
    x = pixels.astype(np.int16)
    left, up = np.pad(x, [(0, 0), (1, 0), (0, 0)])[:, :-1], np.pad(x, [(1, 0), (0, 0), (0, 0)])[:-1]
    corner = np.pad(x, [(1, 0), (1, 0), (0, 0)])[:-1, :-1]
    distances = np.abs(np.stack([left, up, corner]) - (left + up - corner))
    paeth = np.choose(distances.argmin(0), [left, up, corner])
    differences = np.stack([x, x - left, x - up, x - (left + up) // 2, x - paeth]).astype(np.uint8).reshape(5, height, -1)
    best = np.abs(differences.view(np.int8).astype(int)).sum(2).argmin(0)
    return np.concatenate([best[:, None].astype(np.uint8), differences[best, range(height)]], axis=1)


def _decode(data, path):
    chunks, at = {}, 8
    while data[:4] == b"\x89PNG" and at + 8 <= len(data):
        size, kind = struct.unpack_from(">I4s", data, at)
        chunks[kind] = chunks.get(kind, b"") + data[at + 8 : at + 8 + size]
        at += 12 + size
    header = struct.unpack(">IIBBBBB", chunks.get(b"IHDR", bytes(13)))
    width, height, channels = header[0], header[1], {2: 3, 6: 4}.get(header[3])
    if header[2] != 8 or not channels or header[6]:
        raise ValueError(f"'{path}': expected a PNG with 8 bits of RGB or RGBA, not interlaced ('pip install pillow' for others)")
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, 1 + channels * width)
    pixels, above = np.zeros((height, width, channels), np.uint8), np.zeros((width, channels), np.uint8)
    for y in range(height):
        above = _unfilter(rows[y, 0], rows[y, 1:].reshape(width, channels), above)
        pixels[y] = above
    return np.ascontiguousarray(pixels[:, :, :3])


def _unfilter(kind, row, above):
    """Rows hold differences from what is to the left, above, or both."""
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row, axis=0, dtype=np.uint8)
    if kind == 2:
        return row + above
    predict = _paeth if kind == 4 else lambda a, b, c: (a + b) // 2
    channels = row.shape[1]
    out, up = [0] * channels, [0] * channels + above.ravel().tolist()  # with a column of zeros at the left
    for i, x in enumerate(row.ravel().tolist()):
        out.append((x + predict(out[i], up[i + channels], up[i])) & 255)
    return np.array(out[channels:], np.uint8).reshape(row.shape)


def _paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda x: abs(guess - x))
