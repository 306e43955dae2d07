"""Which weights a request removes: scores by a second-order estimate of what their loss costs the forget set."""

from __future__ import annotations

from typing import Any, Iterable, Mapping

import torch

from .. import _provider
from .._library import PathLike, expect
from ._checkpoints import covered_of, merged, save
from ._gradients import Loss, check_some, check_up_from_one, limited, sample_gradients


def saliency(model: torch.nn.Module, loader: Iterable[Any], deployment: _provider.Deployment, loss: Loss | None = None,
             *, samples: int | None = None, damping: float = 0.0, chunk: int = 16,
             vectorize: bool = True) -> dict[str, torch.Tensor]:
    """½ (F + damping) θ² − g θ of each covered weight: g is the mean gradient on these samples, F the mean of squares.

    The highest are removed by ``zkapex.Request.make(..., scores=...)``; ``save_scores`` writes the file.

    >>> scores = zt.saliency(model, forget, deployment)
    """
    check_up_from_one(samples=samples, chunk=chunk)
    names = [tensor.name for tensor in expect(deployment, _provider.Deployment, "deployment").covered]
    with merged(model):
        # In single precision at least: sums of many small numbers stop growing in half.
        weights = {name: tensor.to(torch.promote_types(tensor.dtype, torch.float32))
                   for name, tensor in covered_of(model, deployment).items()}
        sums = {name: torch.zeros_like(weights[name]) for name in names}
        squares = {name: torch.zeros_like(weights[name]) for name in names}
        count = 0
        for batch in limited(loader, samples):
            for grads in sample_gradients(model, batch, names, loss, chunk=chunk, vectorize=vectorize):
                count += grads[0].shape[0]
                for name, grad in zip(names, grads):
                    grad = grad.to(sums[name].dtype)
                    sums[name] += grad.sum(0)
                    squares[name] += grad.square().sum(0)
        check_some(count, loader)
        return {name: (squares[name] / count + damping) * weights[name].square() * 0.5
                - sums[name] / count * weights[name] for name in names}


def save_scores(scores: Mapping[str, torch.Tensor], path: PathLike, *, force: bool = False) -> None:
    """Scores as the file that a request is made from. One that is there is replaced only with ``force``.

    >>> zt.save_scores(zt.saliency(model, forget, deployment), "scores.safetensors")
    >>> made = zt.Request.make(deployment, "made.zka", window="2026-12", scores="scores.safetensors", ratio="0.05")
    """
    save(scores, path, force=force)
