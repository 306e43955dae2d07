"""Deployments of models: which tensors unlearning reaches, by regular expressions."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any, Sequence

import torch

from .. import _provider
from .._library import Error, PathLike
from ._checkpoints import save, tensors_of

#: The linear maps of the MLPs of common transformers, by the ends of their names.
DEFAULT_COVER = (
    r"encoder\.layer\.\d+\.(intermediate|output)\.dense\.weight",  # ViT of the Hub, BERT
    r"(layers|blocks)\.\d+\.mlp\.fc[12]\.weight",  # ViT of transformers 5 and of timm
    r"encoder_layer_\d+\.mlp\.(0|3|linear_1|linear_2)\.weight",  # ViT of torchvision
    r"decoder\.layers\.\d+\.fc[12]\.weight",  # OPT
    r"h\.\d+\.mlp\.c_(fc|proj)\.weight",  # GPT-2, whose Conv1D has them as [inputs, outputs]
    r"layers\.\d+\.mlp\.(gate|up|down)_proj\.weight",  # Llama and models like it
)


def covered_names(model: torch.nn.Module, cover: str | Sequence[str] | None = None) -> list[str]:
    r"""Names of the tensors that match one of the expressions, as a whole or behind a dot.

    >>> zt.covered_names(model, r"mlp\.fc\d\.weight")
    ['layers.0.mlp.fc1.weight', 'layers.0.mlp.fc2.weight']
    """
    expressions = DEFAULT_COVER if cover is None else [cover] if isinstance(cover, str) else list(cover)
    names = [name for name, tensor in tensors_of(model).items() if tensor.is_floating_point()]
    out = []
    for expression in expressions:
        try:
            found = [name for name in names if re.search(rf"(^|\.)(?:{expression})$", name)]
        except re.error as wrong:
            raise Error(f"'{expression}' is no regular expression: {wrong}") from None
        if not found and cover is not None:
            raise Error(f"no tensor of the model matches '{expression}'")
        out += found
    if not out:
        raise Error("no tensor of the model is that of an MLP of a known kind: say by cover which are")
    return sorted(set(out))


class Deployment(_provider.Deployment):
    """A deployment, made from a model in memory.

    >>> deployment = zt.Deployment("deployment.zka")
    """

    @classmethod
    def from_model(cls, model: torch.nn.Module, output: PathLike, cover: str | Sequence[str] | None = None, *,
                   base: torch.nn.Module | PathLike | None = None, **options: Any) -> Deployment:
        r"""Fixes layout and parameters for models like this one; ``options`` are those of ``zkapex.Deployment.make``.

        ``cover``: regular expressions of names; without any, the linear maps of the MLPs of ViT, BERT, OPT, GPT-2 and
        Llama-like models. The base model that clients are anchored at is the model itself, unless ``base`` is another.

        >>> made = zt.Deployment.from_model(model, "made.zka", cover=r"mlp\.fc1\.weight", block=16)
        """
        names = covered_names(model, cover)
        with tempfile.TemporaryDirectory() as folder:
            save(model, Path(folder) / "model.safetensors")
            if isinstance(base, torch.nn.Module):
                save(base, Path(folder) / "base.safetensors")
                base = Path(folder) / "base.safetensors"
            made = cls.make(Path(folder) / "model.safetensors", output, cover=names, base=base, **options)
        if [tensor.name for tensor in made.covered] != names:
            made.close()
            made.path.unlink()
            raise Error("some names are the ends of others, which are covered with them: give cover that names all")
        return made  # type: ignore[return-value]
