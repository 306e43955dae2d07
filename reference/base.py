"""The base model θ0 of a deployment's anchor: a safetensors file, as the integers that a client commits to."""

import hashlib
import json
import math
import struct
from fractions import Fraction

from deployment import COVERED, NEAR, SAME, SPLIT
from files import refuse_if

FLOATS = {"F16": "e", "F32": "f", "F64": "d"}
INTEGERS = {"BOOL": "B", "U8": "B", "F8_E4M3": "B", "F8_E5M2": "B", "I8": "b", "U16": "H", "I16": "h", "U32": "I",
            "I32": "i", "U64": "q", "I64": "q"}  # fmt: skip
PIECE = 2**16  # elements that are hashed together
UNCOVERED_WIDTH = 53  # bits of weights that no operator touches


def read_safetensors(data):
    """{name: (dtype, shape, bytes)}"""
    refuse_if(len(data) < 8, "no safetensors file")
    length = int.from_bytes(data[:8], "little")
    refuse_if(length > len(data) - 8, "no safetensors file")
    try:
        header = json.loads(data[8 : 8 + length])
        tensors = {name: entry for name, entry in header.items() if name != "__metadata__"}
        spans = {name: entry["data_offsets"] for name, entry in tensors.items()}
        return {
            name: (entry["dtype"], entry["shape"], data[8 + length + spans[name][0] : 8 + length + spans[name][1]])
            for name, entry in tensors.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError, IndexError):
        refuse_if(True, "the header of the safetensors file is damaged")


def elements(dtype, data):
    """Numbers of a tensor, floating-point ones exactly."""
    kind = "h" if dtype == "BF16" else FLOATS.get(dtype) or INTEGERS.get(dtype) if isinstance(dtype, str) else None
    refuse_if(kind is None, f"elements of type {dtype}")
    refuse_if(len(data) % struct.calcsize(kind) != 0, "a tensor that ends within an element")
    if dtype == "BF16":  # the upper half of an F32
        return [struct.unpack("<f", b"\0\0" + data[k : k + 2])[0] for k in range(0, len(data), 2)]
    return struct.unpack(f"<{len(data) // struct.calcsize(kind)}{kind}", data)


def fixed_point(value, fraction_bits, width):
    """Rounded to nearest, ties to even."""
    refuse_if(not math.isfinite(value), f"a weight that is {value}")
    out = round(Fraction(value) * 2**fraction_bits)
    refuse_if(abs(out) >= 2 ** (width - 1), f"a weight of {value} does not fit {width} bits")
    return out


class BaseModel:
    """θ0's entries of each tensor that is compared; `rows` gives them as commitments have them."""

    def __init__(self, data, deployment):
        self.deployment, self.layout = deployment, deployment.layout
        found = read_safetensors(data)
        self.entries = [self._entries(tensor, kind, found) for tensor, kind in self._kinds()]
        digest = hashlib.sha256(b"zkapex base 1")
        for tensor, entries in zip(self.layout.tensors, self.entries, strict=True):
            each = PIECE * (2 if tensor.kind == SPLIT else 1)
            for first in range(0, len(entries or ()), each):
                piece = entries[first : first + each]
                digest.update(hashlib.sha256(struct.pack(f"<{len(piece)}q", *piece)).digest())
        refuse_if(digest.digest() != deployment.anchor.base, "it is not the base model that the deployment names")
        for k, (tensor, kind) in enumerate(self._kinds()):
            squares = sum(v * v for v in self.entries[k]) if kind == NEAR else 0
            refuse_if(squares != deployment.anchor.squares[k], f"the deployment tells another size of {tensor.name}")

    def _kinds(self):
        return zip(self.layout.tensors, self.deployment.anchor.kinds, strict=True)

    def _entries(self, tensor, kind, found):
        if kind not in (NEAR, SAME):
            return None
        name = tensor.name.decode()
        refuse_if(name not in found, f"there is no tensor {name}")
        dtype, shape, data = found[name]
        refuse_if(shape != tensor.shape, f"tensor {name} has another shape")
        numbers, d = elements(dtype, data), self.deployment
        refuse_if(len(numbers) != tensor.count, f"tensor {name} has {len(numbers)} elements")
        if dtype in FLOATS or dtype == "BF16":
            width = d.width if tensor.kind == COVERED else UNCOVERED_WIDTH
            numbers = [fixed_point(value, d.fraction_bits, width) for value in numbers]
        else:
            refuse_if(tensor.kind == COVERED, f"tensor {name} is covered and holds no weights")
        if tensor.kind == SPLIT:
            numbers = [half for v in numbers for half in (v % 2**32, v >> 32)]
        if tensor.kind != COVERED:
            refuse_if(any(abs(v) > d.largest_other for v in numbers), f"tensor {name} has an element that is too large")
        return numbers

    def rows(self, covered, first_row, count):
        """Σ over these rows is sparse: (row from the first, position, entry) of every entry."""
        for tensor, entries in zip(self.layout.tensors, self.entries, strict=True):
            if entries is None or (tensor.kind == COVERED) != covered:
                continue
            for k, entry in enumerate(entries):
                place = k if not covered else k // self.layout.block * self.layout.stride + k % self.layout.block
                row, position = divmod(place, self.layout.row)
                row += tensor.first_row - first_row
                if 0 <= row < count:
                    yield row, position, entry
