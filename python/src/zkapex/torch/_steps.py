"""A client's steps on a model in memory."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Iterable, Iterator

import torch

from .._client import Client, path_of
from .._library import Error, PathLike, Session, absolute, expect
from .._provider import Deployment, Request, bytes_of
from .._safetensors import cannot_write, read_checkpoint
from .._state import State, checkpoints_in_use, locked
from ._checkpoints import (adapted_layers, check_same_tensors, covered_of, fitting, load_into, merged, save, tensor_of,
                           tensors_of)


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
        return bytes(bytes_of(self.path, "proof"))


def _beside(folder: Path, ending: str) -> Path:
    # The client's folder itself is the library's alone.
    return folder.with_name(f"{folder.name}{ending}.safetensors")


@contextlib.contextmanager
def _saved(model: torch.nn.Module, file: Path, folder: Path) -> Iterator[None]:
    """A model in a new file, which stays where the client's state, in its folder, refers to it: the state decides, and
    not whether the step said that it succeeded."""
    with cannot_write(file):
        file.touch(0o600, exist_ok=False)
    try:
        save(model, file, force=True, private=True)
        yield
    finally:
        if not _refers_to(folder, file):
            file.unlink(missing_ok=True)


def _refers_to(folder: Path, file: Path) -> bool:
    try:
        return file.name in checkpoints_in_use(folder)
    except Error:  # damaged: what it refers to is not known
        return True


@contextlib.contextmanager
def _base_file(base: torch.nn.Module | PathLike | None) -> Iterator[PathLike | None]:
    if not isinstance(base, torch.nn.Module):
        yield base
        return
    with tempfile.TemporaryDirectory() as folder:
        save(base, Path(folder) / "base.safetensors")
        yield Path(folder) / "base.safetensors"


def _known_checkpoints(folder: Path) -> set[str]:
    with contextlib.suppress(Error):
        return checkpoints_in_use(folder)
    return set()


def _updated(client: Client) -> str:
    """How the names of the client's updated checkpoints begin: with 8 digits of its registration, so that they are not
    taken for those of another client whose folder is, or was, called the same."""
    try:
        digest = hashlib.sha256(client.registration.read_bytes()).hexdigest()
    except OSError:
        digest = secrets.token_hex(4)
    return f"{client.folder.name}-updated-{digest[:8]}"


def _remove_unused(folder: Path, names: Iterable[str]) -> None:
    """Of these checkpoints beside the folder, written here, those that its state does not refer to any more. What
    cannot be removed now, the next step removes."""
    ours = re.compile(re.escape(folder.name) + r"(-updated)?-[0-9a-f]{16}\.safetensors")
    with contextlib.suppress(OSError, Error), locked(folder):  # in use, or damaged: what it refers to is not known
        for name in set(names) - checkpoints_in_use(folder):
            if ours.fullmatch(name):
                folder.with_name(name).unlink(missing_ok=True)


def register(model: torch.nn.Module, deployment: Deployment, client: str, folder: PathLike, *, curvature: PathLike,
             base: torch.nn.Module | PathLike | None = None, force: bool = False,
             session: Session | None = None) -> Client:
    """Commits to a model in memory, adapters merged. Its weights are written to ``FOLDER.safetensors``, where later
    windows read them, readable by the owner only. Where that is taken, 16 digits come behind ``FOLDER``: nothing is
    replaced, and a registration that is refused leaves nothing.

    >>> bob = zt.register(model, deployment, "bob", "bob", curvature="store.zka", base=theta0)
    """
    covered_of(model, expect(deployment, Deployment, "deployment"))
    if os.path.basename(os.path.normpath(folder)) in ("", ".", ".."):
        raise Error(f"folder: '{os.fspath(folder)}' is no name for a new folder of the client")
    path = absolute(folder, "folder")
    with cannot_write(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    file = _beside(path, "")
    if file.exists():
        file = _beside(path, "-" + secrets.token_hex(8))
    replaced = _known_checkpoints(path)
    with _base_file(base) as base_file, _saved(model, file, path):
        out = Client.register(deployment, file, curvature, client, path, base=base_file, force=force, session=session)
    _remove_unused(path, replaced)
    return out


def unlearn(model: torch.nn.Module, client: Client | PathLike, request: Request | PathLike, *,
            proof: PathLike | None = None, model_output: PathLike | None = None, exact: bool = False,
            max_guide: str | float = "0.5", discard_changes: bool = False, checkpoint: PathLike | None = None,
            curvature: PathLike | None = None, force: bool = False, session: Session | None = None) -> Proof:
    """Applies a request to the model in place, and proves it. Send the proof, then ``client.settle(accepted=...)``.

    The model is the client's: one that has learned on is an error, because what it has learned would be lost. Prove
    that by ``update`` first; with ``discard_changes`` the client's weights come in place of the model's.
    ``checkpoint`` and ``curvature`` say where the client's files are that were moved since.

    The proof is written to ``proof``, or beside the client's folder under the names of both, with ``-proof.zka``.
    What is proved is a model of fixed-point numbers, which ``model_output`` gets as a file. The model in memory gets
    them rounded to its own types (what is removed is exactly zero in all of them), and ``report["rounding"]`` is the
    largest difference; with ``exact``, one that does not hold them is an error, and only ``model.double()`` does for
    sure. A model with adapters is left merged; its ``unmerge_adapter()`` makes the sum again, rounded.

    >>> verdict = ledger.verify(request, zt.unlearn(model, client, request).data)
    >>> client.settle(accepted=verdict)
    """
    client = client if isinstance(client, Client) else Client(client)
    asked = path_of(request)
    path = absolute(proof or client.folder.with_name(f"{client.folder.name}-{asked.stem}-proof.zka"), "proof")
    output = absolute(model_output or _beside(client.folder, f"-unlearned-{secrets.token_hex(8)}"), "model_output")
    try:
        with merged(model):
            _check_is_clients(model, State(client.folder, checkpoint), discard_changes)
            report = client.unlearn(request, output, path, model=checkpoint, curvature=curvature, max_guide=max_guide,
                                    force=force, session=session)
            try:
                fitting(model, output, exact=exact)
            except BaseException:
                client.settle(accepted=False, sent=path, session=session)
                for file in (path, output):
                    file.unlink(missing_ok=True)
                raise
        for module in adapted_layers(model):
            module.merge()
        report["rounding"] = load_into(model, output)
    finally:
        if model_output is None:
            output.unlink(missing_ok=True)
    return Proof(path, report)


def _check_is_clients(model: torch.nn.Module, state: State, discard_changes: bool) -> None:
    """The model, adapters merged, has the tensors of the client's checkpoint, and the weights of its state."""
    tensors = tensors_of(model)
    pieces = {piece[0]: piece for piece in read_checkpoint(state.model_file)}
    check_same_tensors(tensors, list(pieces.values()), state.model_file)
    if discard_changes:
        return
    changed = []
    for name, values in state.weights():
        own = tensors[name].flatten().double().cpu()
        exact = torch.from_numpy(values)
        # Up to rounding: of fixed point, of the model's type, and of adapters that were split and merged again.
        single = 4 * torch.finfo(torch.float32).eps * exact.abs().max().item()
        if not torch.allclose(own, exact, rtol=torch.finfo(tensors[name].dtype).eps, atol=state.step + single):
            changed.append(name)
        del pieces[name]
    for name, piece in pieces.items():
        if not torch.equal(tensor_of(piece).to(tensors[name].dtype), tensors[name].cpu()):
            changed.append(name)
    if changed:
        state.check_whole()
        raise Error(f"the model is not the client's, tensor '{changed[0]}' differs: if it has learned on, prove that "
                    "by update first; if a window that was not accepted so far has changed it, or for another model, "
                    "discard_changes=True puts the client's weights in its place")


def update(model: torch.nn.Module, client: Client | PathLike, output: PathLike, *,
           curvature: PathLike | None = None, base: torch.nn.Module | PathLike | None = None, force: bool = False,
           session: Session | None = None) -> dict[str, Any]:
    """Goes on with a model that has learned more, and proves that it keeps what its windows did. Its weights are
    written to a new file beside the client's folder, ``FOLDER-updated-`` and 16 digits; once the update is accepted,
    later windows read them there. An update that is refused leaves nothing; the file of one that was rejected is
    removed by the next.

    >>> report = zt.update(model, client, "update.zka", base=theta0)
    >>> verdict = ledger.admit_update("update.zka")
    """
    client = client if isinstance(client, Client) else Client(client)
    mine = _updated(client)
    file = client.folder.with_name(f"{mine}{secrets.token_hex(4)}.safetensors")
    with _base_file(base) as base_file, _saved(model, file, client.folder):
        report = client.update(file, output, curvature=curvature, base=base_file, force=force, session=session)
    _remove_unused(client.folder, [f.name for f in client.folder.parent.iterdir() if f.name.startswith(mine)])
    return report
