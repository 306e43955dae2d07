"""Made-up images in IDX files, for tests."""

import random
import struct


def write_idx(directory, part, count):
    """28 by 28 images: a bright square on a noisy ground, in a place for each of ten classes."""
    draw = random.Random(part)
    labels = [k % 10 for k in range(count)]
    pixels = bytearray()
    for label in labels:
        image = bytearray(draw.randbytes(784).translate(bytes(v // 4 for v in range(256))))
        top, left = 3 + 14 * (label % 2), 1 + 5 * (label // 2)
        for row in range(top, top + 8):
            image[28 * row + left:28 * row + left + 5] = bytes([230] * 5)
        pixels += image
    (directory / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
    (directory / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, count) + bytes(labels))
