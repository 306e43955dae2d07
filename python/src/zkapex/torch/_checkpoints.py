"""Models as checkpoints, and back: the tensors that a deployment names, whatever adapters the model has."""

from __future__ import annotations

import contextlib
from typing import Iterator, Mapping, Sequence

import numpy
import torch
from torch.nn.parameter import is_lazy

from .. import _provider
from .._library import Error, PathLike
from .._safetensors import Piece, read_pieces, write_pieces

_TYPES = {torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.float16: "F16",
          torch.bfloat16: "BF16", torch.int32: "I32", torch.float32: "F32", torch.int64: "I64", torch.float64: "F64"}
_NAMED = {name: dtype for dtype, name in _TYPES.items()}


def adapted_layers(model: torch.nn.Module) -> list[torch.nn.Module]:
    """The layers whose adapters are not merged into their weights."""
    return [m for m in unwrapped(model).modules() if hasattr(m, "merge") and hasattr(m, "base_layer") and not m.merged]


@contextlib.contextmanager
def merged(model: torch.nn.Module) -> Iterator[torch.nn.Module]:
    """The model with the adapters of PEFT merged into its weights; afterwards it is what it was, bit for bit.

    >>> with zt.merged(model):
    ...     weights = {name: tensor.clone() for name, tensor in zt.tensors_of(model).items()}
    """
    layers = adapted_layers(model)
    kept = [(m, {n: p.detach().clone() for n, p in m.base_layer.named_parameters()}) for m in layers]
    try:
        for layer in layers:
            layer.merge()
        yield model
    finally:
        for layer, before in kept:
            if layer.merged:
                layer.unmerge()
            with torch.no_grad():
                for name, parameter in layer.base_layer.named_parameters():
                    parameter.copy_(before[name])


def unwrapped(model: torch.nn.Module) -> torch.nn.Module:
    """The module itself, without those of torch.compile and of data parallelism around it."""
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"a model is a torch.nn.Module, not a {type(model).__name__}")
    parallel = (torch.nn.DataParallel, torch.nn.parallel.DistributedDataParallel)
    while isinstance(model, parallel) or hasattr(model, "_orig_mod"):
        model = model.module if isinstance(model, parallel) else model._orig_mod
    return model


def plain_name(name: str) -> str:
    """The name that a tensor has without the wrappers of PEFT and of torch.compile."""
    return name.replace("_orig_mod.", "").removeprefix("base_model.model.").replace(".base_layer.", ".")


def tensors_of(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a model as its checkpoint has them: without adapters' own, and each of those that are tied once,
    under the name that Hugging Face keeps. They are the model's own memory.

    >>> sum(tensor.numel() for tensor in zt.tensors_of(model).values())
    """
    model = unwrapped(model)
    adapters = ("lora_", ".modules_to_save.", "prompt_encoder.")
    state = {plain_name(name): tensor for name, tensor in model.state_dict(keep_vars=True).items()
             if not any(part in name for part in adapters)}
    unwanted = getattr(_inner(model), "_tied_weights_keys", None) or ()
    out: dict[str, torch.Tensor] = {}
    first: dict[tuple[object, ...], str] = {}
    for name in sorted(state, key=lambda n: any(n.endswith(tied) for tied in unwanted)):
        if is_lazy(state[name]) or state[name].is_meta:
            raise Error(f"the model's tensor '{name}' has no numbers yet: load them, or run the model once")
        tensor = state[name].detach()
        place = (tensor.device, tensor.data_ptr(), tuple(tensor.shape), tensor.stride())
        if tensor.numel() and place in first:
            continue
        first[place] = name
        out[name] = tensor
    return dict(sorted(out.items()))


def covered_of(model: torch.nn.Module, deployment: _provider.Deployment) -> dict[str, torch.Tensor]:
    """The tensors of a model that the deployment covers; an error where one is missing, or of another shape."""
    tensors = tensors_of(model)
    for tensor in deployment.covered:
        if tensor.name not in tensors:
            raise Error(f"the model has no tensor '{tensor.name}', which the deployment covers")
        if (shape := tuple(tensors[tensor.name].shape)) != tensor.shape:
            raise Error(f"the model's tensor '{tensor.name}' has the shape {list(shape)}, and {list(tensor.shape)} in "
                        "the deployment")
    return {tensor.name: tensors[tensor.name] for tensor in deployment.covered}


def save(model: torch.nn.Module | Mapping[str, torch.Tensor], path: PathLike, *, force: bool = False,
         private: bool = False) -> None:
    """Writes a model, adapters merged, or a state dict, as one safetensors file; a private one for its owner only. A
    file that is there is replaced only with ``force``: it may have the weights that a client's windows start from.

    >>> zt.save(model, "model.safetensors")
    """
    if not isinstance(model, Mapping):
        with merged(model):
            return save(tensors_of(model), path, force=force, private=private)
    write_pieces(path, [(name, _type_of(name, tensor), tuple(tensor.shape), _bytes_of(tensor))
                        for name, tensor in model.items()], force=force, private=private)


def load_into(model: torch.nn.Module, path: PathLike, *, exact: bool = False) -> float:
    """Puts the tensors of a file into a model, in place, and returns the largest difference that rounding to the
    model's types made. With ``exact`` a difference is an error, and the model stays as it was. Adapters must be merged,
    or there are none.

    >>> zt.load_into(model, "theta0.safetensors")
    0.0
    """
    read, rounding = fitting(model, path, exact=exact)
    state = tensors_of(model)
    with torch.no_grad():
        for name, tensor in read.items():
            state[name].copy_(tensor)
    return rounding


def fitting(model: torch.nn.Module, path: PathLike, *, exact: bool) -> tuple[dict[str, torch.Tensor], float]:
    """The tensors of a file that fit a model, and the largest difference that rounding to its types will make."""
    state = tensors_of(model)
    pieces = read_pieces(path)
    check_same_tensors(state, pieces, path)
    read = {piece[0]: tensor_of(piece) for piece in pieces}
    rounding = 0.0
    for name, tensor in read.items():
        rounded = tensor.to(state[name].dtype).to(tensor.dtype)
        if torch.equal(rounded, tensor):
            continue
        if exact:
            raise Error(f"tensor '{name}' is {_type_of(name, tensor)}, and the model's {_type_of(name, state[name])} "
                        "does not hold it: convert the model first")
        rounding = max(rounding, (rounded - tensor).abs().max().item())
    return read, rounding


def check_same_tensors(state: Mapping[str, torch.Tensor], pieces: Sequence[Piece], path: PathLike) -> None:
    """An error unless a model and a file have tensors of the same names and shapes."""
    shapes = {name: shape for name, _, shape, _ in pieces}
    if missing := state.keys() ^ shapes.keys():
        raise Error(f"{path}: the model and the file do not both have '{min(missing)}'")
    for name, shape in shapes.items():
        if tuple(state[name].shape) != shape:
            raise Error(f"{path}: tensor '{name}' has the shape {list(shape)}, and {list(state[name].shape)} in the "
                        "model")


def _inner(model: torch.nn.Module) -> torch.nn.Module:
    return model.get_base_model() if hasattr(model, "get_base_model") else model


def _type_of(name: str, tensor: torch.Tensor) -> str:
    if tensor.dtype not in _TYPES:
        raise Error(f"tensor '{name}' has elements that safetensors has not: {tensor.dtype}")
    return _TYPES[tensor.dtype]


def _bytes_of(tensor: torch.Tensor) -> numpy.ndarray:
    return tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def tensor_of(piece: Piece) -> torch.Tensor:
    """A tensor of a file, in memory of its own."""
    name, dtype, shape, data = piece
    if dtype not in _NAMED:
        raise Error(f"tensor '{name}' has elements of type {dtype}, which are not supported")
    raw = torch.from_numpy(numpy.array(data))
    return raw.view(_NAMED[dtype]).reshape(shape) if raw.numel() else torch.empty(shape, dtype=_NAMED[dtype])
