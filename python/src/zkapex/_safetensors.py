"""Checkpoints in safetensors files, from NumPy arrays and back; without another package."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any, Iterable, Mapping

import numpy

from ._library import Error, PathLike

_NAMES = {"bool": "BOOL", "uint8": "U8", "int8": "I8", "uint16": "U16", "int16": "I16", "float16": "F16",
          "uint32": "U32", "int32": "I32", "float32": "F32", "uint64": "U64", "int64": "I64", "float64": "F64"}
_TYPES = {name: numpy.dtype(dtype) for dtype, name in _NAMES.items()}


def write_safetensors(path: PathLike, tensors: Mapping[str, numpy.ndarray]) -> None:
    """Writes arrays under their names.

    >>> zkapex.write_safetensors("scores.safetensors", {"fc1.weight": numpy.zeros((20, 12), "float32")})
    """
    def pieces() -> Iterable[tuple[str, str, tuple[int, ...], Any]]:
        for name, array in tensors.items():
            array = numpy.ascontiguousarray(array)
            if array.dtype.name not in _NAMES:
                raise Error(f"tensor '{name}' has elements that safetensors has not: {array.dtype}")
            yield name, _NAMES[array.dtype.name], tensors[name].shape, array.astype(array.dtype.newbyteorder("<"),
                                                                                  copy=False)
    write_pieces(path, list(pieces()))


def write_pieces(path: PathLike, tensors: Iterable[tuple[str, str, tuple[int, ...], Any]]) -> None:
    """The same from names, types, shapes and bytes. The file appears whole, or not at all."""
    header: dict[str, Any] = {}
    at = 0
    # Wide elements first, so that each tensor is aligned.
    ordered = sorted(tensors, key=lambda t: (-memoryview(t[3]).nbytes // max(1, _count(t[2])), t[0]))
    for name, dtype, shape, data in ordered:
        size = memoryview(data).nbytes
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = Path(path)
    partial = path.with_name(path.name + ".partial")
    with open(partial, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for _, _, _, data in ordered:
            file.write(memoryview(data).cast("B") if memoryview(data).nbytes else b"")
    partial.replace(path)


def read_safetensors(path: PathLike) -> dict[str, numpy.ndarray]:
    """The tensors of a file, mapped into memory, read-only. BF16, which NumPy has not, becomes float32.

    >>> for name, array in zkapex.read_safetensors("theta.safetensors").items():
    ...     print(name, array.shape, array.dtype)
    """
    return {name: _as_array(dtype, shape, data) for name, dtype, shape, data in read_pieces(path)}


def read_pieces(path: PathLike) -> list[tuple[str, str, tuple[int, ...], numpy.ndarray]]:
    """Names, types, shapes and bytes."""
    raw = numpy.memmap(path, dtype=numpy.uint8, mode="r")
    length = struct.unpack("<Q", raw[:8].tobytes())[0] if raw.size >= 8 else raw.size
    if length > raw.size - 8:
        raise Error(f"{path}: this is no safetensors file")
    header = json.loads(raw[8:8 + length].tobytes())
    data = raw[8 + length:]
    return [(name, t["dtype"], tuple(t["shape"]), data[slice(*t["data_offsets"])])
            for name, t in header.items() if name != "__metadata__"]


def _count(shape: tuple[int, ...]) -> int:
    out = 1
    for size in shape:
        out *= size
    return out


def _as_array(dtype: str, shape: tuple[int, ...], data: numpy.ndarray) -> numpy.ndarray:
    if dtype == "BF16":
        return (data.view("<u2").astype("<u4") << 16).view("<f4").reshape(shape)
    if dtype not in _TYPES:
        raise Error(f"NumPy has no elements of type {dtype}")
    return data.view(_TYPES[dtype].newbyteorder("<")).reshape(shape)
