"""Which pending file of a client a verdict is about."""

from __future__ import annotations

import hashlib
from pathlib import Path

from ._library import Error, PathLike
from ._provider import Verdict, bytes_of
from ._state import Secret, secret_of

_KINDS = {"proof_bytes": "a window", "update_bytes": "an update", "registration_bytes": "a registration"}


def attempt_of(verdict: Verdict, folder: Path, *, update: bool, window: str | None, sent: PathLike | None) -> Path:
    """The file that the verdict is about, as the client's folder keeps it. An error where that is another one, of
    another kind, window or client, than what is to be settled."""
    _check_kind(verdict, update)
    own = Secret(secret_of(folder)).client
    if verdict.client not in (None, own):
        raise Error(f"the verdict is about client '{verdict.client}', and {folder} is that of '{own}'")
    if window not in (None, verdict.report.get("window")):
        raise Error(f"the verdict is about the window '{verdict.report['window']}', not about '{window}'")
    attempt = _update_of(verdict, folder) if update else _proof_of(verdict, folder)
    if attempt is None:
        raise Error(f"{folder}: the {'update' if update else 'proof'} that the verdict is about is not pending")
    if sent is not None and bytes_of(sent, "sent") != attempt.read_bytes():
        raise Error(f"{sent} is not the file that the verdict is about")
    if verdict.reason == "window":
        raise Error(f"{verdict.detail}: if this very file was accepted before and the answer was lost, settle with "
                    "accepted=True and sent=, and if another of the window was, settle that one so")
    return attempt


def _check_kind(verdict: Verdict, update: bool) -> None:
    kind = next((kind for name, kind in _KINDS.items() if name in verdict.report), None)
    if kind is None:
        raise Error("the verdict does not say what it is about: give accepted=True or accepted=False")
    if kind == "a registration":
        raise Error("the verdict is about a registration, and only windows and updates are settled")
    if (kind == "an update") != update:
        raise Error(f"the verdict is about {kind}: settle it with" + ("out update=True" if update else " update=True"))


def _proof_of(verdict: Verdict, folder: Path) -> Path | None:
    digest = verdict.report.get("proof_sha256")
    if digest is None:
        raise _unnamed()
    proofs = [*folder.glob("pending/*/*/proof.zka"), *folder.glob("settled-proof.zka")]
    return next((proof for proof in proofs if hashlib.sha256(proof.read_bytes()).hexdigest() == digest), None)


def _update_of(verdict: Verdict, folder: Path) -> Path | None:
    digest = verdict.report.get("update")
    if digest is None:
        raise _unnamed()
    pending = folder.glob("pending-update/*/secret.zka")
    return next((secret.with_name("update.zka") for secret in pending if Secret(secret).update == digest), None)


def _unnamed() -> Error:
    return Error("the verdict does not say which file it is about, because nobody could read that: if it is what this "
                 "client sent, settle with accepted=False and sent=")
