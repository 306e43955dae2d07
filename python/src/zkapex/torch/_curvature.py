"""A client's curvature store, from its model and its data."""

from __future__ import annotations

from typing import Any, Iterable, Iterator

import torch

from .. import _provider
from .._curvature import CurvatureWriter
from .._library import Error, PathLike, Session, expect
from ._checkpoints import covered_of, merged
from ._gradients import Loss, check_some, check_up_from_one, limited, sample_gradients


class _Blocks:
    """Sums of g gᵀ over consecutive blocks of one weight."""

    def __init__(self, name: str, first: int, count: int, block: int, weights: int, device: torch.device) -> None:
        self.name, self.block = name, block
        self.begin, self.end = first * block, min((first + count) * block, weights)
        self.sums = torch.zeros(count, block, block, device=device)

    def add(self, gradients: torch.Tensor) -> None:
        flat = gradients.flatten(1)[:, self.begin:self.end].float()
        padded = torch.nn.functional.pad(flat, (0, self.sums.shape[0] * self.block - flat.shape[1]))
        columns = padded.unflatten(1, (-1, self.block)).permute(1, 2, 0)
        self.sums.baddbmm_(columns, columns.transpose(1, 2))


def _passes(deployment: _provider.Deployment, memory: int) -> list[list[tuple[str, int, int, int]]]:
    """Which blocks are added up together: rounds over the data, each within the memory given."""
    room = memory // (4 * deployment.block**2)
    if room < 1:
        raise Error(f"a memory of {memory} bytes does not hold one block of {deployment.block}")
    passes: list[list[tuple[str, int, int, int]]] = []
    left = 0
    for tensor in deployment.covered:
        first = 0
        while first < tensor.blocks:
            if left == 0:
                passes.append([])
                left = room
            count = min(left, tensor.blocks - first)
            passes[-1].append((tensor.name, first, count, tensor.weights))
            first, left = first + count, left - count
    return passes


def fisher(model: torch.nn.Module, loader: Iterable[Any], deployment: _provider.Deployment, output: PathLike,
           loss: Loss | None = None, *, samples: int | None = None, chunk: int = 16, memory: int = 4 << 30,
           vectorize: bool = True, relative_damping: float | None = None, damping: float | None = None,
           force: bool = False, session: Session | None = None) -> dict[str, Any]:
    """Writes the curvature store of a model: empirical Fisher blocks (1/m) Σ g gᵀ over the samples' own gradients,
    factored as ``zkapex fisher`` does.

    >>> zt.fisher(model, DataLoader(personal, batch_size=32), deployment, "store.zka", samples=512)

    The loader is gone through once for as many blocks as fit ``memory``; it gives the same samples each time. What is
    returned are statistics, with the number of ``samples``.
    """
    check_up_from_one(samples=samples, chunk=chunk)
    device = next(iter(covered_of(model, expect(deployment, _provider.Deployment, "deployment")).values())).device
    plans = _passes(deployment, memory)
    if len(plans) > 1 and isinstance(loader, Iterator):
        raise Error(f"with this memory the loader is gone through {len(plans)} times, and an iterator can only be "
                    "once: give a list or a DataLoader, or more memory")
    counts = set()
    with merged(model), CurvatureWriter(deployment, output, relative_damping=relative_damping, damping=damping,
                                        force=force, session=session) as store:
        for plan in plans:
            parts = [_Blocks(name, first, count, deployment.block, weights, device)
                     for name, first, count, weights in plan]
            names = list(dict.fromkeys(part.name for part in parts))
            total = 0
            for batch in limited(loader, samples):
                for grads in sample_gradients(model, batch, names, loss, chunk=chunk, vectorize=vectorize):
                    of = dict(zip(names, grads))
                    total += grads[0].shape[0]
                    for part in parts:
                        part.add(of[part.name])
            check_some(total, loader)
            counts.add(total)
            if len(counts) > 1:
                raise Error(f"the loader gave {min(counts)} samples one time and {max(counts)} another: it has to give "
                            "the same each time")
            for part in parts:
                store.blocks(part.sums.div_(total).cpu().numpy())
                del part.sums
    return {**store.statistics, "samples": total}
