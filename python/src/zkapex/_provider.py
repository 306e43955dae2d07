"""What a provider does: deployments, requests, and verdicts in a ledger."""

from __future__ import annotations

import hashlib
import os
from ctypes import c_int, c_void_p
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Sequence, Union

from ._library import (OK, Buffer, DeployOptions, Error, Handle, PathLike, ProviderOptions, RequestOptions, Session,
                       absolute, buffer_of, expect, not_zero, options, session_or_default, text, texts)

Data = Union[bytes, bytearray, memoryview, PathLike]


@dataclass(frozen=True)
class CoveredTensor:
    """A tensor that unlearning reaches, and where its Fisher blocks are among all of them.

    >>> for tensor in deployment.covered:
    ...     print(tensor.name, tensor.shape, tensor.blocks)
    """

    name: str
    shape: tuple[int, ...]
    weights: int
    first_block: int
    blocks: int


@dataclass(frozen=True)
class Verdict:
    """Accepted, or rejected for a reason. True where it is accepted.

    >>> verdict = ledger.verify(request, b"not a proof")
    >>> bool(verdict), verdict.reason
    (False, 'file')
    """

    accepted: bool
    report: dict[str, Any] = field(repr=False)

    @property
    def client(self) -> str | None:
        """As the file says; None where that could not be read."""
        return self.report.get("client")

    @property
    def reason(self) -> str | None:
        """One of the reasons of docs/reasons.md, such as ``"equation"``; None where it is accepted."""
        return self.report.get("reason")

    @property
    def detail(self) -> str | None:
        """What was wrong, in a sentence."""
        return self.report.get("detail")

    @property
    def not_proved(self) -> list[str]:
        """What an accepted file leaves unproved, as sentences."""
        return self.report.get("not_proved", [])

    def __bool__(self) -> bool:
        return self.accepted


class OpenFile(Handle):
    """A handle of what a file had in it when it was opened."""

    _by_one = False

    def __init__(self, path: PathLike) -> None:
        super().__init__()
        self.path = absolute(path, "path")
        self._digest = _digest_of(self.path)

    def file(self) -> Path:
        """The file, for steps that read it themselves: an error where something else is in it by now."""
        self.check_open()
        if _digest_of(self.path) != self._digest:
            raise Error(f"{self.path} is not what it was when this {self._what} was opened: open it again")
        return self.path


def _digest_of(path: Path) -> bytes | None:
    """None where there is no plain file to be read: the library says what is wrong."""
    out = hashlib.sha256()
    try:
        if not path.is_file():
            return None
        with open(path, "rb") as file:
            while piece := file.read(1 << 20):
                out.update(piece)
    except OSError:
        return None
    return out.digest()


class Deployment(OpenFile):
    """Layout and parameters, published once, before anyone registers.

    >>> deployment = zkapex.Deployment("deployment.zka")
    >>> [tensor.name for tensor in deployment.covered]
    """

    _what = "deployment"

    def __init__(self, path: PathLike, *, session: Session | None = None) -> None:
        super().__init__(path)
        _, self.report = session_or_default(session).call("deployment_open", text(path, "path"), opens=self)

    @classmethod
    def make(cls, model: PathLike, output: PathLike, *, preset: str | None = None,
             cover: str | Sequence[str] = (), base: PathLike | None = None, free: str | Sequence[str] = (),
             block: int = 256, row_length: int = 0, bits: int = 8, floor: int = 4, fraction_bits: int = 36,
             width: int = 40, error: str | float = "1e-5", cap: str | int = "4", anchor: str | float = "0.4",
             drift: str | float | None = None, added: str | float | None = None, no_anchor: bool = False,
             allow_loose: bool = False, force: bool = False, session: Session | None = None) -> Deployment:
        """Writes a deployment file for models like this one, and opens it: ``zkapex deploy``.

        >>> made = zkapex.Deployment.make("theta0.safetensors", "made.zka", cover=["layers.{i}.mlp.fc1.weight"])
        """
        not_zero(block=block, bits=bits, floor=floor, fraction_bits=fraction_bits, width=width)
        given = options(DeployOptions, model=model, output=output, preset=preset, base=base, block=block,
                        row_length=row_length, bits=bits, floor=floor, fraction_bits=fraction_bits, width=width,
                        error=error, cap=cap, anchor=None if no_anchor else anchor, drift=drift, added=added,
                        no_anchor=no_anchor, allow_loose=allow_loose, force=force)
        given.covers, given.cover_count = texts(cover, "cover")
        given.frees, given.free_count = texts(free, "free")
        session_or_default(session).call("deploy", given)
        return cls(output, session=session)

    @property
    def covered(self) -> list[CoveredTensor]:
        """In the order in which a curvature store has their blocks."""
        return [CoveredTensor(t["name"], tuple(t["shape"]), t["weights"], t["first_block"], t["blocks"])
                for t in self.report["covered_tensors"]]

    @property
    def block(self) -> int:
        """Weights in a Fisher block."""
        return self.report["block"]

    @property
    def blocks(self) -> int:
        """Fisher blocks of the whole model."""
        return self.report["blocks"]

    @property
    def digest(self) -> str:
        """By which every later file names it, in hexadecimal digits."""
        return self.report["deployment"]


class Request(OpenFile):
    """What the provider asks of all clients in one window: which weights go, and where the others are drawn.

    >>> request = zkapex.Request("psi.zka", deployment)
    >>> request.window
    '2026-11'
    """

    _what = "request"

    def __init__(self, path: PathLike, deployment: Deployment, *, session: Session | None = None) -> None:
        super().__init__(path)
        expect(deployment, Deployment, "deployment")
        _, self.report = session_or_default(session).call("request_open", text(path, "path"), deployment, opens=self)

    @classmethod
    def make(cls, deployment: Deployment, output: PathLike, *, window: str, scores: PathLike | None = None,
             ratio: str | float | None = None, after: PathLike | Request | None = None, operation: str | None = None,
             guide_from: PathLike | None = None, guide_base: PathLike | None = None, method: str | None = None,
             guide_scale: float = 1.0, pull: int | None = None, progress: str | float | None = None,
             distance: str | float | None = None, distance_removed: str | float | None = None, nonce: str | None = None,
             force: bool = False, session: Session | None = None) -> Request:
        """Writes a request file and opens it: ``zkapex mask``. Ratios may be texts, to be exact.

        >>> made = zkapex.Request.make(deployment, "next.zka", window="2026-12", scores="S.safetensors", ratio="0.1",
        ...                            after=request)
        """
        expect(deployment, Deployment, "deployment")
        not_zero(guide_scale=guide_scale, pull=pull)
        rules = dict(pull=pull, progress=progress, distance=distance, distance_removed=distance_removed)
        if guide_from is None and (useless := [name for name, value in rules.items() if value is not None]):
            raise Error(f"{'=, '.join(useless)}= without a guide: give guide_from= and guide_base=, too")
        if isinstance(after, Request):
            after = after.file()
        given = options(RequestOptions, deployment=deployment.file(), output=output, window=window, scores=scores,
                        ratio=ratio, after=after, operation=operation, guide_from=guide_from, guide_base=guide_base,
                        method=method, guide_scale=guide_scale, pull=pull, progress=progress, distance=distance,
                        distance_removed=distance_removed, nonce=nonce, force=force)
        _, report = session_or_default(session).call("request_make", given)
        out = cls(output, deployment, session=session)
        out.report["warnings"] = report.get("warnings", [])
        return out

    @property
    def window(self) -> str:
        """The window's name."""
        return self.report["window"]


class Ledger:
    """The provider's folder: registrations that it verified, and where each client's model stands.

    >>> ledger = zkapex.Ledger("ledger", deployment, base="theta0.safetensors")
    >>> if not ledger.admit("alice/registration.zka"):
    ...     print("somebody else")
    """

    def __init__(self, folder: PathLike, deployment: Deployment, *, base: PathLike | None = None) -> None:
        expect(deployment, Deployment, "deployment")
        self.folder, self.deployment = absolute(folder, "folder"), deployment
        self.base = None if base is None else absolute(base, "base")

    def admit(self, registration: Data, *, session: Session | None = None) -> Verdict:
        """A registration, as bytes or as a file: ``zkapex admit``."""
        return self._admit("admit", registration, session)

    def admit_update(self, update: Data, *, session: Session | None = None) -> Verdict:
        """An update of a client that is in the ledger: ``zkapex admit --update``."""
        return self._admit("admit_update", update, session)

    def publish(self, request: Request, *, session: Session | None = None) -> dict[str, Any]:
        """Notes a request before anybody outside sees it: ``zkapex publish``. The first client is in the ledger then.
        Answers that start from what is admitted later are rejected (``order``).

        >>> ledger.publish(request)["published_before"]
        False
        """
        expect(request, Request, "request")
        return session_or_default(session).call("publish", self._provider(), request)[1]

    def verify(self, request: Request, proof: Data, *, session: Session | None = None) -> Verdict:
        """A proof of the request's window; accepted, the ledger moves on: ``zkapex verify``."""
        expect(request, Request, "request")
        buffer, _kept = buffer_of(bytes_of(proof, "proof"))
        return Verdict(*session_or_default(session).call("verify", self._provider(), request, buffer))

    def verify_batch(self, request: Request, proofs: Sequence[Data], *,
                     session: Session | None = None) -> list[Verdict]:
        """Many proofs of one window, settled by one multiplication; verdicts in their order.

        >>> [verdict.reason for verdict in ledger.verify_batch(request, [b"not a proof", b"nor this"])]
        ['file', 'file']
        """
        expect(request, Request, "request")
        if isinstance(proofs, (str, bytes, bytearray, os.PathLike)):
            raise TypeError(f"proofs is a list of proofs, not a {type(proofs).__name__}")
        kept = [buffer_of(bytes_of(proof, "proof")) for proof in proofs]
        buffers = (Buffer * len(kept))(*(buffer for buffer, _ in kept))
        verdicts = (c_int * len(kept))()
        _, report = session_or_default(session).call("verify_batch", self._provider(), request, buffers, len(kept),
                                                     verdicts)
        return [Verdict(status == OK, client) for status, client in zip(verdicts, report["clients"])]

    def _provider(self) -> Any:
        return options(ProviderOptions, ledger=self.folder, deployment=self.deployment, base=self.base)

    def _admit(self, step: str, file: Data, session: Session | None) -> Verdict:
        buffer, _kept = buffer_of(bytes_of(file, step))
        return Verdict(*session_or_default(session).call(step, self._provider(), buffer))


def bytes_of(data: Data, what: str) -> Any:
    """What was given as bytes, or the file's."""
    if isinstance(data, (str, os.PathLike)):
        try:
            return Path(data).read_bytes()
        except OSError as failed:
            raise Error(f"cannot read {os.fspath(data)}: {failed.strerror}") from None
    try:
        return memoryview(data)
    except TypeError:
        raise TypeError(f"{what}: bytes or the path of a file are needed, not a {type(data).__name__}") from None
