"""Checkpoints in safetensors files, from NumPy arrays and back; without another package."""

from __future__ import annotations

import contextlib
import json
import math
import os
import struct
from pathlib import Path
from typing import Any, Iterable, Iterator, Mapping

import numpy

from ._library import Error, PathLike, absolute

_NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "float16": "F16",
          "uint32": "U32", "int32": "I32", "float32": "F32", "uint64": "U64", "int64": "I64", "float64": "F64"}
_TYPES = {name: numpy.dtype(dtype) for dtype, name in _NAMES.items()}
_LONGEST_HEADER = 100_000_000
_BYTES = {**{name: dtype.itemsize for name, dtype in _TYPES.items()}, "BF16": 2, "F8_E4M3": 1, "F8_E5M2": 1}

#: Name, type, shape and bytes.
Piece = tuple[str, str, tuple[int, ...], Any]


def write_safetensors(path: PathLike, tensors: Mapping[str, numpy.ndarray], *, force: bool = False) -> None:
    """Writes arrays under their names. A file that is there is replaced only with ``force``.

    >>> zkapex.write_safetensors("scores.safetensors", {"fc1.weight": numpy.zeros((20, 12), "float32")})
    """
    def pieces() -> Iterable[Piece]:
        for name, given in tensors.items():
            array = numpy.ascontiguousarray(given)
            if array.dtype.name not in _NAMES:
                raise Error(f"tensor '{name}' has elements that safetensors has not: {array.dtype}")
            yield (name, _NAMES[array.dtype.name], numpy.shape(given),
                   array.astype(array.dtype.newbyteorder("<"), copy=False))
    write_pieces(path, list(pieces()), force=force)


def write_pieces(path: PathLike, tensors: Iterable[Piece], *, force: bool, private: bool = False) -> None:
    """The same from names, types, shapes and bytes. The file appears whole, or not at all; a private one is readable by
    its owner only, from its first byte on."""
    header: dict[str, Any] = {}
    at = 0
    # Wide elements first, so that each tensor is aligned.
    ordered = sorted(tensors, key=lambda t: (-memoryview(t[3]).nbytes // max(1, math.prod(t[2])), t[0]))
    for name, dtype, shape, data in ordered:
        size = memoryview(data).nbytes
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    if "__metadata__" in header:
        raise Error("no tensor is named __metadata__ in a safetensors file")
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = absolute(path, "path")
    if path.exists() and not force:
        raise Error(f"{path} exists already; choose another name, or force=True to replace it")
    partial = path.with_name(path.name + ".partial")
    with cannot_write(path):
        partial.unlink(missing_ok=True)
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        try:
            with open(descriptor, "wb") as file:
                file.write(struct.pack("<Q", len(text)) + text)
                for _, _, _, data in ordered:
                    file.write(memoryview(data).cast("B") if memoryview(data).nbytes else b"")
            partial.replace(path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def cannot_write(path: Path) -> Iterator[None]:
    """What the system refuses, such as a full disk, is an error about this file."""
    try:
        yield
    except OSError as failed:
        raise Error(f"cannot write {path}: {failed.strerror}") from None


def read_safetensors(path: PathLike) -> dict[str, numpy.ndarray]:
    """The tensors of a file, mapped into memory, read-only. BF16, which NumPy has not, becomes float32.

    >>> for name, array in zkapex.read_safetensors("theta.safetensors").items():
    ...     print(name, array.shape, array.dtype)
    """
    return {name: _as_array(dtype, shape, data) for name, dtype, shape, data in read_pieces(path)}


def read_pieces(path: PathLike) -> list[Piece]:
    """Names, types, shapes and bytes. What the library refuses is refused here, too: each byte is in one tensor."""
    try:
        size = os.path.getsize(path)
        raw = numpy.memmap(path, dtype=numpy.uint8, mode="r") if size else numpy.empty(0, numpy.uint8)
    except OSError as failed:
        raise Error(f"cannot read {os.fspath(path)}: {failed.strerror}") from None
    header, data = _header(path, raw)
    metadata = header.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Error(f"{path}: __metadata__ is no mapping of texts, so the file is damaged")
    out, end = [], 0
    for name, tensor in sorted(header.items(), key=_place):
        out.append(_piece(path, name, tensor, data))
        if tensor["data_offsets"][0] != end:
            raise Error(f"{path}: tensor '{name}' does not begin where the one before it ends: the file is damaged")
        end = tensor["data_offsets"][1]
    if end != data.size:
        raise Error(f"{path}: {data.size - end} bytes behind the last tensor are in none: the file is damaged")
    return out


def _header(path: PathLike, raw: numpy.ndarray) -> tuple[dict[str, Any], numpy.ndarray]:
    """The header, and the bytes behind it."""
    length = struct.unpack("<Q", raw[:8].tobytes())[0] if raw.size >= 8 else 0
    text = raw[8:8 + length].tobytes() if 0 < length <= min(raw.size - 8, _LONGEST_HEADER) else b""
    if not text.startswith(b"{") or not text.rstrip(b" ").endswith(b"}"):
        raise Error(f"{path}: this is no safetensors file")
    try:
        return json.loads(text.decode(), object_pairs_hook=_without_doubles), raw[8 + length:]
    except (ValueError, RecursionError):
        raise Error(f"{path}: this is no safetensors file, or its header is damaged") from None


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        raise ValueError
    return out


def _place(named: tuple[str, Any]) -> list[int]:
    """Where a tensor says that it is, for putting them in order: what it says may be anything."""
    try:
        begin, end = named[1]["data_offsets"]
        return [int(begin), int(end)]
    except (KeyError, TypeError, ValueError, OverflowError):
        return [0, 0]


def _piece(path: PathLike, name: str, tensor: Any, data: numpy.ndarray) -> Piece:
    try:
        dtype, shape, (begin, end) = tensor["dtype"], tuple(tensor["shape"]), tensor["data_offsets"]
        width = _BYTES.get(dtype)
        numbers = all(type(number) is int and number >= 0 for number in (*shape, begin, end))
        if len(tensor) != 3 or not isinstance(dtype, str) or not numbers or not begin <= end <= data.size \
                or width and math.prod(shape) * width != end - begin:
            raise ValueError
    except (KeyError, TypeError, ValueError):
        raise Error(f"{path}: tensor '{name}' does not fit the file, which is damaged") from None
    return name, dtype, shape, data[begin:end]


def read_checkpoint(path: PathLike) -> list[Piece]:
    """The same of a file, or of a checkpoint in shards: the index, or the folder that has it."""
    path = Path(path)
    if path.is_dir():
        whole = path / "model.safetensors"
        path = whole if whole.exists() else path / "model.safetensors.index.json"
    if path.suffix != ".json":
        return read_pieces(path)
    try:
        shards = sorted(set(json.loads(path.read_bytes())["weight_map"].values()))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise Error(f"{path}: this is no index of a checkpoint") from None
    return [piece for shard in shards for piece in read_pieces(path.parent / shard)]


def _as_array(dtype: str, shape: tuple[int, ...], data: numpy.ndarray) -> numpy.ndarray:
    if dtype == "BF16":
        return (data.view("<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    if dtype not in _TYPES:
        raise Error(f"NumPy has no elements of type {dtype}")
    return data.view(_TYPES[dtype].newbyteorder("<")).reshape(shape)
