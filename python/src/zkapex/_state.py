"""The settled state of a client, as its folder has it: docs/formats.md, "Client's secret"."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Iterator

import numpy

from ._library import Error, PathLike
from ._provider import Deployment

_START = struct.Struct("<8sIQ")  # magic, version, length of the header
_DIGESTS, _DIGEST = 3 * 32, 32


class State:
    """Where a client's checkpoint is, and its covered weights as they were registered, updated or unlearned last."""

    def __init__(self, folder: PathLike) -> None:
        # An accepted attempt whose settling was interrupted is the state already.
        path = Path(folder) / "settling" / "secret.zka"
        path = path if path.exists() else Path(folder) / "secret.zka"
        raw, begin = _open(path)
        self.model_file = _model_file(raw, begin)
        self.deployment = Deployment(Path(folder) / "deployment.zka")
        #: The distance between two weights in fixed point.
        self.step = 2.0 ** -self.deployment.report["fraction_bits"]
        width = -(-self.deployment.report["width"] // 8)
        count = sum(tensor.weights for tensor in self.deployment.covered)
        if raw.size != begin + count * width + _DIGEST:
            raise Error(f"{path}: this is no secret state of a client of this deployment")
        self._weights = raw[begin:begin + count * width].reshape(count, width)

    def weights(self) -> Iterator[tuple[str, numpy.ndarray]]:
        """Name and weights of each covered tensor, in double precision."""
        at = 0
        for tensor in self.deployment.covered:
            packed = self._weights[at:at + tensor.weights]
            at += tensor.weights
            wide = numpy.zeros((tensor.weights, 8), numpy.uint8)
            wide[:, :packed.shape[1]] = packed
            shift = 64 - 8 * packed.shape[1]  # moves the sign to where that of 64 bits is, and back
            yield tensor.name, ((wide.view("<i8")[:, 0] << shift) >> shift).astype("float64") * self.step


def checkpoints_in_use(folder: PathLike) -> set[str]:
    """The names of the files that a client's state refers to, or will if what is pending is accepted."""
    patterns = ("secret.zka", "settling/secret.zka", "pending/*/*/secret.zka", "pending-update/*/secret.zka")
    secrets = [path for pattern in patterns for path in Path(folder).glob(pattern)]
    return {_model_file(*_open(path)).name for path in secrets}


def _open(path: Path) -> tuple[numpy.ndarray, int]:
    """The bytes of a secret, and where its weights begin."""
    try:
        raw = numpy.memmap(path, dtype=numpy.uint8, mode="r")
        magic, version, length = _START.unpack(raw[:_START.size].tobytes())
    except (OSError, ValueError, struct.error):
        raise Error(f"{path}: this is no secret state of a client") from None
    if (magic, version) != (b"ZKAPEXSC", 3) or length > raw.size - _START.size:
        raise Error(f"{path}: this is no secret state of a client, or one of another version")
    return raw, _START.size + length


def _model_file(raw: numpy.ndarray, end: int) -> Path:
    header = raw[_START.size + _DIGESTS:end]
    _client, at = _text(header, 0)
    return Path(_text(header, at)[0])


def _text(raw: numpy.ndarray, at: int) -> tuple[str, int]:
    begin = at + 4
    end = begin + int.from_bytes(raw[at:begin].tobytes(), "little")
    return raw[begin:end].tobytes().decode(errors="surrogateescape"), end
