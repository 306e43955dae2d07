"""A client's steps on a model in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .._client import Client
from .._library import PathLike, Session
from .._provider import Deployment, Request
from ._checkpoints import adapted_layers, load_into, save


@dataclass(frozen=True)
class Proof:
    """What a client sends for a window, and what was done to the model.

    >>> proof = zt.unlearn(model, client, "psi.zka")
    >>> len(proof.data), proof.report["rounding"]
    """

    path: Path
    report: dict[str, Any]

    @property
    def data(self) -> bytes:
        """The file's bytes."""
        return self.path.read_bytes()


def _model_file(folder: Path) -> Path:
    # Beside the client's folder, which is the library's alone.
    return folder.with_name(folder.name + ".safetensors")


def _base_file(base: torch.nn.Module | PathLike | None, folder: Path) -> PathLike | None:
    if not isinstance(base, torch.nn.Module):
        return base
    path = folder.with_name(folder.name + "-base.safetensors")
    save(base, path)
    return path


def register(model: torch.nn.Module, deployment: Deployment, client: str, folder: PathLike, *, curvature: PathLike,
             base: torch.nn.Module | PathLike | None = None, force: bool = False,
             session: Session | None = None) -> Client:
    """Commits to a model in memory, adapters merged. Its weights are written to ``FOLDER.safetensors``, where later
    windows read them, readable by the owner only.

    >>> bob = zt.register(model, deployment, "bob", "bob", curvature="store.zka", base=theta0)
    """
    path = Path(folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    file = _model_file(path)
    save(model, file)
    os.chmod(file, 0o600)
    return Client.register(deployment, file, curvature, client, path, base=_base_file(base, path), force=force,
                           session=session)


def unlearn(model: torch.nn.Module, client: Client | PathLike, request: Request | PathLike, *,
            proof: PathLike | None = None, model_output: PathLike | None = None, exact: bool = False,
            max_guide: str | float = "0.5", force: bool = False, session: Session | None = None) -> Proof:
    """Applies a request to the model in place, and proves it. Send the proof, then ``client.settle(accepted=...)``.

    The proof is written to ``proof``, or beside the client's folder under the names of both, with ``-proof.zka``.
    What is proved is a model of fixed-point numbers, which ``model_output`` gets as a file. The model in memory gets
    them rounded to its own types (what is removed is exactly zero in all of them), and ``report["rounding"]`` is the
    largest difference; with ``exact``, one that does not hold them is an error, and only ``model.double()`` does for
    sure. A model with adapters is left merged; its ``unmerge_adapter()`` makes the sum again, rounded.

    >>> verdict = ledger.verify(request, zt.unlearn(model, client, request).data)
    >>> client.settle(accepted=verdict.accepted)
    """
    client = client if isinstance(client, Client) else Client(client)
    asked = Path(request.path if isinstance(request, Request) else request)
    path = Path(proof or client.folder.with_name(f"{client.folder.name}-{asked.stem}-proof.zka"))
    output = Path(model_output or client.folder.with_name(client.folder.name + "-unlearned.safetensors"))
    report = client.unlearn(request, output, path, max_guide=max_guide, force=force, session=session)
    try:
        for module in adapted_layers(model):
            module.merge()
        report["rounding"] = load_into(model, output, exact=exact)
    finally:
        if model_output is None:
            output.unlink(missing_ok=True)
    return Proof(path, report)


def update(model: torch.nn.Module, client: Client | PathLike, output: PathLike, *,
           curvature: PathLike | None = None, base: torch.nn.Module | PathLike | None = None, force: bool = False,
           session: Session | None = None) -> dict[str, Any]:
    """Goes on with a model that has learned more, and proves that it keeps what its windows did.

    >>> report = zt.update(model, client, "update.zka", base=theta0)
    >>> verdict = ledger.admit_update("update.zka")
    """
    client = client if isinstance(client, Client) else Client(client)
    file = client.folder.with_name(client.folder.name + "-updated.safetensors")
    save(model, file)
    os.chmod(file, 0o600)
    return client.update(file, output, curvature=curvature, base=_base_file(base, client.folder), force=force,
                         session=session)
