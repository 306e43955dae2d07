"""Gradients of single samples by covered weights, many samples at a time."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch.func import functional_call, grad_and_value, vmap

from .._library import Error
from ._checkpoints import plain_name, unwrapped

#: Of a model and a batch: a loss for each sample, or their sum.
Loss = Callable[[Callable[..., Any], Any], torch.Tensor]


def default_loss(model: Callable[..., Any], batch: Any) -> torch.Tensor:
    """A Hugging Face model's own loss where the batch is a mapping with labels, else cross entropy of a pair.

    >>> zt.default_loss(model, next(iter(loader)))
    """
    if isinstance(batch, Mapping):
        if "labels" not in batch:
            raise Error("the batch has no labels: give a loss of your own")
        return model(**batch).loss
    if not isinstance(batch, (tuple, list)) or len(batch) != 2:
        raise Error("the batch is neither a mapping with labels nor a pair of inputs and labels: give a loss of your "
                    "own")
    inputs, labels = batch
    output = model(inputs)
    return torch.nn.functional.cross_entropy(getattr(output, "logits", output), labels, reduction="sum")


def map_batch(batch: Any, change: Callable[[torch.Tensor], Any]) -> Any:
    if isinstance(batch, torch.Tensor):
        return change(batch)
    if isinstance(batch, Mapping):
        return {name: map_batch(value, change) for name, value in batch.items()}
    if isinstance(batch, (tuple, list)):
        return type(batch)(map_batch(value, change) for value in batch)
    return batch


def batch_size(batch: Any) -> int:
    sizes: list[int] = []
    map_batch(batch, lambda tensor: sizes.append(tensor.shape[0] if tensor.dim() else 0))
    if not sizes or len(set(sizes)) != 1:
        raise Error("the tensors of a batch do not have the same number of samples")
    return sizes[0]


def check_up_from_one(**numbers: int | None) -> None:
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise Error(f"{name} is a number from 1 up, not {number}")


def check_some(count: int, loader: Iterable[Any]) -> None:
    """An error where a loader gave no samples."""
    if count == 0:
        used_up = isinstance(loader, Iterator)
        raise Error("there are no samples to take gradients of" + (
            ": the loader is an iterator, of which nothing is left; give a list or a DataLoader" if used_up else ""))


def limited(loader: Iterable[Any], samples: int | None) -> Iterator[Any]:
    """Batches up to a number of samples in all, with a warning where there are fewer."""
    left = samples
    for batch in loader:
        size = batch_size(batch)
        if left is not None and size > left:
            if left == 0:
                return
            batch = map_batch(batch, lambda tensor, n=left: tensor[:n])
            size = left
        yield batch
        if left is not None:
            left -= size
    if left and left < samples:
        warnings.warn(f"{samples} samples were asked for, and the loader has {samples - left}", stacklevel=3)


def parameters_by_name(model: torch.nn.Module, names: Sequence[str]) -> dict[str, torch.nn.Parameter]:
    """The model's parameters under the deployment's names; those that adapters wrap too."""
    own = {plain_name(name): (name, parameter) for name, parameter in model.named_parameters(remove_duplicate=False)}
    for name in names:
        if name not in own:
            raise Error(f"the model has no weight '{name}'")
    return {own[name][0]: own[name][1] for name in names}


def sample_gradients(model: torch.nn.Module, batch: Any, names: Sequence[str], loss: Loss | None = None, *,
                     chunk: int = 16, vectorize: bool = True) -> Iterator[list[torch.Tensor]]:
    """Of each chunk of a batch's samples, the gradients by the named weights: [samples, *shape], in the order of the
    names, each in the shape that the weight has (so that a Conv1D's are [inputs, outputs]).

    >>> for first, second in zt.sample_gradients(model, next(iter(loader)), zt.covered_names(model)):
    ...     print(first.square().sum((1, 2)))

    By ``torch.func``. A model that decides on its data, as those of Hugging Face do with an attention mask, cannot be
    vectorized: it is taken sample after sample, with a warning that ``vectorize=False``, which does so by plain
    autograd, turns off. Dropout is off; afterwards every module is in the mode that it had.
    """
    check_up_from_one(chunk=chunk)
    loss = loss or default_loss
    model = unwrapped(model)
    covered = parameters_by_name(model, names)
    device = next(iter(covered.values())).device
    weights = {name: parameter.detach() for name, parameter in covered.items()}
    training = [module for module in model.modules() if module.training]
    model.eval()

    def loss_of(changed: Mapping[str, torch.Tensor], sample: Any) -> torch.Tensor:
        one = map_batch(sample, lambda tensor: tensor.unsqueeze(0))
        value = loss(lambda *args, **kwargs: functional_call(model, dict(changed), args, kwargs), one)
        if not isinstance(value, torch.Tensor):
            raise Error(f"the loss gives a {type(value).__name__}, and a tensor is needed, for gradients")
        return value.sum()

    gradients = vmap(grad_and_value(loss_of), in_dims=(None, 0), randomness="different")
    try:
        for first in range(0, batch_size(batch), chunk):
            part = map_batch(batch, lambda tensor: tensor[first:first + chunk].to(device))
            found = _vectorized(gradients, weights, part) if vectorize else None
            vectorize = found is not None
            grads, losses = found or _one_by_one(loss_of, weights, part)
            if not torch.isfinite(losses).all():
                raise Error("the loss of a sample is not finite (NaN or infinite)")
            yield [grads[name].detach() for name in covered]
    finally:
        for module in training:
            module.training = True


def _vectorized(gradients: Callable[..., Any], weights: Mapping[str, torch.Tensor],
                part: Any) -> tuple[dict[str, torch.Tensor], torch.Tensor] | None:
    """None, with a warning, where the model cannot be vectorized."""
    # The fused attention kernels have no rule for vmap, and would run sample by sample.
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        try:
            return gradients(weights, part)
        except RuntimeError as refused:
            if "vmap" not in str(refused):
                raise
    warnings.warn("the model decides on its data, so gradients are taken sample after sample (vectorize=False)",
                  stacklevel=4)
    return None


def _one_by_one(loss_of: Callable[..., torch.Tensor], weights: Mapping[str, torch.Tensor],
                part: Any) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
    grads, losses = [], []
    for k in range(batch_size(part)):
        with torch.enable_grad():
            own = {name: weight.clone().requires_grad_() for name, weight in weights.items()}
            value = loss_of(own, map_batch(part, lambda tensor: tensor[k]))
            if not value.requires_grad:
                raise Error("the loss does not depend on the covered weights: is something detached in it?")
            grads.append(torch.autograd.grad(value, list(own.values()), allow_unused=True, materialize_grads=True))
        losses.append(value.detach())
    stacked = {name: torch.stack([g[i] for g in grads]) for i, name in enumerate(weights)}
    return stacked, torch.stack(losses)
