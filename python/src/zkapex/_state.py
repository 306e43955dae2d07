"""The settled state of a client, as its folder has it: docs/formats.md, "Client's secret"."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
from pathlib import Path
from typing import Iterator

import numpy

from ._library import Error, PathLike, absolute
from ._provider import Deployment

_START = struct.Struct("<8sIQ")  # magic, version, length of the header
_DIGEST = 32


class Secret:
    """What a client's secret says before its weights."""

    def __init__(self, path: Path) -> None:
        try:
            self.raw = numpy.memmap(path, dtype=numpy.uint8, mode="r")
            magic, version, length = _START.unpack(self.raw[:_START.size].tobytes())
        except FileNotFoundError:
            raise Error(f"{path} is not there: without it the client can neither unlearn nor update") from None
        except (OSError, ValueError, struct.error):
            raise Error(f"{path}: this is no secret state of a client") from None
        if (magic, version) != (b"ZKAPEXSC", 3) or length > self.raw.size - _START.size:
            raise Error(f"{path}: this is no secret state of a client, or one of another version")
        #: Where its weights begin.
        self.end = _START.size + length
        header = self.raw[_START.size:self.end]
        #: The digest of the last update that was accepted, in hexadecimal digits.
        self.update = header[2 * _DIGEST:3 * _DIGEST].tobytes().hex()
        self.client, at = _text(header, 3 * _DIGEST)
        self.model_file = Path(_text(header, at)[0])


def secret_of(folder: Path) -> Path:
    """Where a client's secret is."""
    if not folder.is_dir():
        raise Error(f"{folder} is no client's folder: register makes one")
    # An accepted attempt whose settling was interrupted is the state already.
    settling = folder / "settling" / "secret.zka"
    return settling if settling.exists() else folder / "secret.zka"


class State:
    """Where a client's checkpoint is, and its covered weights as they were registered, updated or unlearned last."""

    def __init__(self, folder: Path, checkpoint: PathLike | None = None) -> None:
        path = self.path = secret_of(folder)
        secret = Secret(path)
        self.model_file = secret.model_file if checkpoint is None else absolute(checkpoint, "checkpoint")
        self.deployment = Deployment(folder / "deployment.zka")
        #: The distance between two weights in fixed point.
        self.step = 2.0 ** -self.deployment.report["fraction_bits"]
        width = -(-self.deployment.report["width"] // 8)
        count = sum(tensor.weights for tensor in self.deployment.covered)
        if secret.raw.size != secret.end + count * width + _DIGEST:
            raise Error(f"{path}: this is no secret state of a client of this deployment")
        self._raw = secret.raw
        self._weights = secret.raw[secret.end:secret.end + count * width].reshape(count, width)

    def check_whole(self) -> None:
        """An error where the file was damaged."""
        if hashlib.sha256(self._raw[:-_DIGEST]).digest() != self._raw[-_DIGEST:].tobytes():
            raise Error(f"{self.path}: the file is damaged: its digest does not match")

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


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """No step of anybody works on a folder meanwhile: an OSError where one does, or there is no folder."""
    directory = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(directory, fcntl.LOCK_EX | fcntl.LOCK_NB)  # as the library does
        yield
    finally:
        os.close(directory)


def checkpoints_in_use(folder: Path) -> set[str]:
    """The names of the files that a client's state refers to, or will if what is pending is accepted."""
    patterns = ("secret.zka", "settling/secret.zka", "pending/*/*/secret.zka", "pending-update/*/secret.zka")
    return {Secret(path).model_file.name for pattern in patterns for path in folder.glob(pattern)}


def _text(raw: numpy.ndarray, at: int) -> tuple[str, int]:
    begin = at + 4
    end = begin + int.from_bytes(raw[at:begin].tobytes(), "little")
    return raw[begin:end].tobytes().decode(errors="surrogateescape"), end
