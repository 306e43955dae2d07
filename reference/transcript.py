"""The Fiat-Shamir transcript and the generators (docs/argument.md, sections 3 and 4)."""

import hashlib
import struct

from ristretto import ORDER, Point

ABSORB, CHALLENGE, FORK = 1, 2, 3


def text(data):
    return struct.pack("<I", len(data)) + data


def scalar_bytes(scalars):
    return b"".join(s.to_bytes(32, "little") for s in scalars)


class Transcript:
    """state ← SHA-512(state ‖ u8 kind ‖ text(label) ‖ u64 |data| ‖ data)"""

    def __init__(self, protocol):
        self.state, self.drew_zero = bytes(64), False
        self.absorb("protocol", protocol.encode())

    def _step(self, kind, label, data):
        step = self.state + bytes([kind]) + text(label.encode()) + struct.pack("<Q", len(data)) + data
        self.state = hashlib.sha512(step).digest()

    def absorb(self, label, data):
        self._step(ABSORB, label, data)

    def absorb_fork(self, fork):
        self.absorb("fork", fork.state)
        self.drew_zero = self.drew_zero or fork.drew_zero

    def challenge(self, label):
        self._step(CHALLENGE, label, b"")
        x = int.from_bytes(self.state, "little") % ORDER
        self.drew_zero = self.drew_zero or x == 0
        return x

    def challenges(self, label, count):
        return [self.challenge(f"{label}[{k}]") for k in range(count)]

    def fork(self, name, index):
        child = object.__new__(Transcript)
        child.state, child.drew_zero = self.state, False
        child._step(FORK, f"{name} {index}", b"")
        return child


def generator(kind, index):
    seed = text(b"zkapex generator 1") + text(kind.encode()) + struct.pack("<Q", index)
    return Point.from_uniform_bytes(hashlib.sha512(seed).digest())


def position(index):
    """g[index]: entry `index` of a row, and after the rows the pads."""
    return generator("position", index)


BLINDING = generator("blinding", 0)  # h
VALUE = generator("value", 0)  # q
