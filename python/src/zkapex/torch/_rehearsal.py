"""A guide that makes clients forget, found by a loss of one's own on clients that the provider imagines."""

from __future__ import annotations

import struct
import tempfile
from pathlib import Path
from typing import Any, Callable, Mapping, Sequence

import numpy
import torch
from torch.func import functional_call

from .. import _provider
from .._library import Error, PathLike, Session
from ._checkpoints import covered_of, save, tensors_of, unwrapped
from ._gradients import check_up_from_one, parameters_by_name

_HEADER = struct.Struct("<8sI32sIIQQ32s")  # docs/formats.md, "Curvature store"

#: Of the model of a simulated client after the operator, and the client's number: what is to be made small.
RehearsalLoss = Callable[[Callable[..., Any], int], torch.Tensor]


def read_factors(path: PathLike, first: int, count: int) -> tuple[torch.Tensor, int]:
    """L of some Fisher blocks of a store, [count, B, B], and the floor μ: the curvature is L Lᵀ + μ I."""
    try:
        file = open(path, "rb")
    except OSError as failed:
        raise Error(f"cannot read {path}: {failed.strerror}") from None
    with file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size or not header.startswith(b"ZKAPEXCV"):
            raise Error(f"{path} is no curvature store")
        _, _, _, block, bits, floor, blocks, _ = _HEADER.unpack(header)
        if first + count > blocks:
            raise Error(f"{path} is no curvature store with these blocks")
        dtype = numpy.dtype("i1" if bits <= 8 else "<i2")
        entries = block * (block + 1) // 2
        record = entries * dtype.itemsize + 32
        file.seek(_HEADER.size + first * record)
        raw = numpy.frombuffer(file.read(count * record), dtype=numpy.uint8).reshape(count, record)
    packed = numpy.ascontiguousarray(raw[:, :-32]).view(dtype).astype("float32")
    out = torch.zeros(count, block, block)
    rows, columns = torch.tril_indices(block, block)
    out[:, rows, columns] = torch.from_numpy(packed)
    return out, floor


class GuidedClient:
    """What the guided operator makes of a client, to be differentiated by the guide Δ: with A the client's curvature,
    M the weights that the request removes and C the others, θ_C + (A_CC + t I)⁻¹ (A_CM θ_M + t Δ).

    >>> none = {tensor.name: torch.zeros(tensor.shape) for tensor in deployment.covered}
    >>> imagined = zt.GuidedClient(model, "store.zka", deployment, removed=none, pull=16129)
    >>> zt.default_loss(imagined.after(none), next(iter(loader)))
    """

    def __init__(self, model: torch.nn.Module, store: PathLike, deployment: _provider.Deployment,
                 removed: Mapping[str, torch.Tensor], pull: int) -> None:
        covered_of(model, deployment)
        self.model, self.pull = unwrapped(model), pull
        self._parameters = parameters_by_name(self.model, [t.name for t in deployment.covered])
        self._parts: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
        weights = tensors_of(model)
        for tensor in deployment.covered:
            factor, floor = read_factors(store, tensor.first_block, tensor.blocks)
            theta = _in_blocks(weights[tensor.name].float(), deployment.block, 0.0)
            gone = _in_blocks(removed[tensor.name].float(), deployment.block, 1.0)
            gram, kept = factor.to(theta.device) @ factor.to(theta.device).transpose(1, 2), 1 - gone
            both = kept.unsqueeze(2) * kept.unsqueeze(1)
            system = gram * both + torch.diag_embed(kept * (pull + floor) + gone)
            inverse = torch.cholesky_inverse(torch.linalg.cholesky(system)) * both
            start = kept * theta + (inverse @ (gram @ (gone * theta).unsqueeze(2))).squeeze(2)
            self._parts[tensor.name] = (start, inverse * pull)

    def weights(self, guide: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The covered weights after the operator, by the deployment's names."""
        out = {}
        for name, (start, response) in self._parts.items():
            moved = start + (response @ _in_blocks(guide[name], start.shape[1], 0.0).unsqueeze(2)).squeeze(2)
            out[name] = moved.flatten()[:guide[name].numel()].view_as(guide[name])
        return out

    def after(self, guide: Mapping[str, torch.Tensor]) -> Callable[..., Any]:
        """The model with these weights, to be called as the model is."""
        weights = self.weights(guide)
        changed = {own: weights[name].to(p.dtype) for (own, p), name in zip(self._parameters.items(), weights)}
        return lambda *args, **kwargs: functional_call(self.model, changed, args, kwargs)


def rehearse(model: torch.nn.Module, deployment: _provider.Deployment, output: PathLike, loss: RehearsalLoss,
             clients: Sequence[tuple[torch.nn.Module, PathLike]], *, window: str,
             scores: Mapping[str, torch.Tensor] | None = None, ratio: float = 0.01, pull: int = 16129, steps: int = 400,
             rate: float = 1e-3, method: str = "rehearsal", progress: str | float = "0.1",
             distance: str | float = "2", distance_removed: str | float = "4", after: PathLike | None = None,
             observe: Callable[[int, float], None] | None = None, force: bool = False,
             session: Session | None = None) -> _provider.Request:
    """Makes a request with a guide: Adam changes Δ so that ``loss`` becomes small on every client in turn, at the
    weights that the operator makes of it.

    ``clients`` are models that the provider imagines, with their curvature stores; θ0 itself belongs to them.
    ``loss(model, k)`` is about client k: what is to be forgotten, and what is to be kept. With ``scores``, the highest
    ``ratio`` of the weights are removed as well. What comes out is made ternary like every guide.

    >>> def loss(model, k):
    ...     keep = F.kl_div(model(kept).log_softmax(-1), before[k], reduction="batchmean")
    ...     logits = model(forgotten)  # −log(1 − p₃), which stays finite where p₃ is rounded to 1
    ...     return keep + (logits.logsumexp(-1) - logits[:, [0, 1, 2]].logsumexp(-1)).mean()
    >>> request = zt.rehearse(model, deployment, "psi.zka", loss, [(model, "store.zka")], window="2026-11")
    """
    if not clients:
        raise Error("there are no clients to rehearse with")
    check_up_from_one(steps=steps)
    covered_of(model, deployment)
    base = tensors_of(model)
    names = [tensor.name for tensor in deployment.covered]
    removed = _removed(base, names, scores, ratio)
    imagined = [GuidedClient(own, store, deployment, removed, pull) for own, store in clients]
    guide = {name: torch.zeros_like(base[name], dtype=torch.float32, requires_grad=True) for name in names}
    optimizer = torch.optim.Adam(list(guide.values()), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / steps)
    for step in range(steps):
        k = step % len(imagined)
        value = loss(imagined[k].after(guide), k)
        if not torch.isfinite(value):
            raise Error(f"the loss of client {k} is not finite (NaN or infinite) in step {step}")
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
        if observe is not None:
            observe(step, value.item())
    moved = {name: tensor + guide[name].detach().to(tensor.dtype) if name in guide else tensor
             for name, tensor in base.items()}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.safetensors" for name in ("base", "moved", "scores")}
        save(base, files["base"])
        save(moved, files["moved"])
        if scores is not None:
            save(scores, files["scores"])
        return _provider.Request.make(
            deployment, output, window=window, scores=files["scores"] if scores is not None else None,
            ratio=ratio if scores is not None else None, after=after, guide_from=files["moved"],
            guide_base=files["base"], method=method, pull=pull, progress=progress, distance=distance,
            distance_removed=distance_removed, force=force, session=session)


def _removed(base: Mapping[str, torch.Tensor], names: Sequence[str], scores: Mapping[str, torch.Tensor] | None,
             ratio: float) -> dict[str, torch.Tensor]:
    """Ones where the highest scores are, as the request will have them; zeros without scores."""
    if scores is None:
        return {name: torch.zeros_like(base[name]) for name in names}
    for name in names:
        if name not in scores or scores[name].shape != base[name].shape:
            raise Error(f"there is no score for each weight of the tensor '{name}', which the deployment covers")
    flat = torch.cat([scores[name].flatten().double() for name in names])
    count = int(numpy.floor(ratio * flat.numel() + 0.5))
    mask = torch.zeros_like(flat)
    mask[flat.argsort(descending=True, stable=True)[:count]] = 1
    parts = mask.split([scores[name].numel() for name in names])
    return {name: part.view_as(base[name]) for name, part in zip(names, parts)}


def _in_blocks(values: torch.Tensor, block: int, fill: float) -> torch.Tensor:
    flat = values.flatten()
    return torch.nn.functional.pad(flat, (0, -flat.numel() % block), value=fill).view(-1, block)
