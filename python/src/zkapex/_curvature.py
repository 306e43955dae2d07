"""A curvature store, written block by block from arrays in memory."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from ._library import (Buffer, CurvatureOptions, Error, Handle, PathLike, Session, absolute, expect, not_zero,
                       options, session_or_default)
from ._provider import Deployment

_TYPES = {numpy.dtype("float32"): 1, numpy.dtype("float64"): 2}


class CurvatureWriter(Handle):
    """Writes a client's curvature store from Fisher information, piece by piece.

    Blocks come in the order of ``deployment.covered``, and of the weights of each tensor, flattened row-major.
    Gradients and blocks may take turns, at the end of any block.

    >>> with zkapex.CurvatureWriter(deployment, "store.zka") as store:
    ...     for tensor in deployment.covered:
    ...         store.gradients(per_sample[tensor.name])     # [samples, weights], not averaged

    With ``run``, a text that says all that decides the blocks, a writer goes on with what an earlier one of the same
    run has left; ``written`` says where. Leaving the block without an exception finishes the store; else nothing stays
    without ``run``.
    """

    _what = "curvature writer"

    def __init__(self, deployment: Deployment, output: PathLike, *, run: str | None = None,
                 relative_damping: float | None = None, damping: float | None = None, force: bool = False,
                 session: Session | None = None) -> None:
        super().__init__()
        expect(deployment, Deployment, "deployment")
        not_zero(relative_damping=relative_damping, damping=damping)
        self._session = session_or_default(session)
        output = absolute(output, "output")
        # What nobody could go on with.
        self._doomed = [] if run else [output.with_name(output.name + end) for end in (".partial", ".partial.json")]
        self.deployment, self.statistics = deployment, {}  # type: Deployment, dict[str, Any]
        given = options(CurvatureOptions, deployment=deployment, output=output, run=run,
                        relative_damping=relative_damping, damping=damping, force=force)
        try:
            self.written = self._session.call("curvature_open", given, opens=self)[1]["written"]
        except BaseException:  # a signal that came while it was opened
            self.close()
            raise

    def __enter__(self) -> CurvatureWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()

    def gradients(self, values: numpy.ndarray) -> None:
        """Per-sample gradients of the next weights: [samples, weights] of float32 or float64, averaged here.

        Read where they are: a slice of columns of a larger array needs no copy.
        """
        values = _numbers(values, 2)
        if values.strides[1] != values.itemsize or values.strides[0] < values.shape[1] * values.itemsize \
                or values.strides[0] % values.itemsize:
            values = numpy.ascontiguousarray(values)
        samples, width = values.shape
        stride = values.strides[0] // values.itemsize if samples > 1 else width
        length = ((samples - 1) * stride + width) * values.itemsize if samples else 0
        self._append("curvature_gradients", values, length, samples, width, stride)

    def blocks(self, values: numpy.ndarray) -> None:
        """The next Fisher blocks, averaged already: [blocks, B, B] of float32 or float64."""
        values = numpy.ascontiguousarray(_numbers(values, 3))
        size = self.deployment.block
        if values.shape[1:] != (size, size):
            raise Error(f"Fisher blocks of this deployment are {size} × {size}, and these are "
                        f"{values.shape[1]} × {values.shape[2]}")
        self._append("curvature_blocks", values, values.nbytes, values.shape[0])

    def finish(self) -> dict[str, Any]:
        """With all blocks written, the store appears under its name. Returns statistics."""
        self.statistics = self._session.call("curvature_finish", self)[1]
        self._doomed = []
        if self.statistics["zero"] == self.statistics["blocks"]:
            warnings.warn("all Fisher blocks are zero, so nothing will be compensated: do gradients reach the weights?",
                          stacklevel=2)
        return self.statistics

    def close(self) -> None:
        """Frees the handle. A store that is not finished goes, unless a later writer of the same ``run`` can go on."""
        if self.pointer and not self._used_by and self.is_of_this_process():
            for file in self._doomed:
                file.unlink(missing_ok=True)
        super().close()

    def _append(self, step: str, values: numpy.ndarray, length: int, *counts: int) -> None:
        buffer = Buffer(values.ctypes.data, length)
        _, report = self._session.call(step, self, _TYPES[values.dtype], buffer, *counts)
        self.written = report["written"]


def _numbers(values: numpy.ndarray, dimensions: int) -> numpy.ndarray:
    if hasattr(values, "detach"):  # a tensor of PyTorch, with a graph behind it or on another device
        values = values.detach().cpu()
    values = numpy.asarray(values)
    if values.dtype not in _TYPES:
        raise Error(f"numbers are float32 or float64, not {values.dtype}")
    if values.ndim != dimensions:
        raise Error(f"an array of {dimensions} dimensions is needed, and this one has {values.ndim}")
    return values
