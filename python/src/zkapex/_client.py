"""What a client does: it registers once, then unlearns, proves, and settles what the provider said."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Any, Iterator

from ._library import (Error, PathLike, RegisterOptions, Session, SettleOptions, UnlearnOptions, UpdateOptions,
                       absolute, options, session_or_default)
from ._provider import Deployment, Request, Verdict
from ._state import locked
from ._verdicts import attempt_of


class Client:
    """A client's folder, with its registration and its secret state.

    >>> client = zkapex.Client("alice")
    >>> report = client.unlearn("psi.zka", "unlearned.safetensors", "proof.zka")
    >>> report["window"]
    '2026-11'
    """

    def __init__(self, folder: PathLike) -> None:
        self.folder = absolute(folder, "folder")

    @classmethod
    def register(cls, deployment: Deployment | PathLike, model: PathLike, curvature: PathLike, client: str,
                 folder: PathLike, *, base: PathLike | None = None, force: bool = False,
                 session: Session | None = None) -> Client:
        """Commits to a model and its curvature: ``zkapex register``. Send ``registration`` to the provider. One that is
        refused leaves no folder.

        >>> bob = zkapex.Client.register(deployment, "theta.safetensors", "store.zka", "bob", "bob",
        ...                              base="theta0.safetensors")
        """
        if not isinstance(deployment, (Deployment, str, os.PathLike)):
            raise TypeError(f"deployment is a zkapex.Deployment or a path, not a {type(deployment).__name__}")
        path = deployment.file() if isinstance(deployment, Deployment) else deployment
        out = cls(folder)
        given = options(RegisterOptions, deployment=path, model=model, curvature=curvature, base=base, client=client,
                        output=folder, force=force)
        with _new_folder(out.folder):
            session_or_default(session).call("register", given)
        return out

    @property
    def registration(self) -> Path:
        """The file that the provider gets."""
        return self.folder / "registration.zka"

    def unlearn(self, request: Request | PathLike, model_output: PathLike, proof_output: PathLike, *,
                model: PathLike | None = None, curvature: PathLike | None = None, max_guide: str | float = "0.5",
                force: bool = False, session: Session | None = None) -> dict[str, Any]:
        """Applies a request and proves it: ``zkapex unlearn``. The state stays where it is until it is settled."""
        given = options(UnlearnOptions, client=self.folder, request=path_of(request), model_output=model_output,
                        proof_output=proof_output, model=model, curvature=curvature, max_guide=max_guide, force=force)
        return session_or_default(session).call("unlearn", given)[1]

    def try_request(self, request: Request | PathLike, model_output: PathLike | None = None, *,
                    model: PathLike | None = None, curvature: PathLike | None = None,
                    max_guide: str | float = "0.5", session: Session | None = None) -> dict[str, Any]:
        """What a request would do, without a proof: ``zkapex unlearn --dry-run``.

        >>> client.try_request("psi.zka")["rules_hold"]
        True
        """
        given = options(UnlearnOptions, client=self.folder, request=path_of(request), model_output=model_output,
                        model=model, curvature=curvature, max_guide=max_guide, dry_run=True)
        return session_or_default(session).call("unlearn", given)[1]

    def update(self, model: PathLike, output: PathLike, *, curvature: PathLike | None = None,
               base: PathLike | None = None, force: bool = False, session: Session | None = None) -> dict[str, Any]:
        """Goes on with a model that has learned more: ``zkapex update``."""
        given = options(UpdateOptions, client=self.folder, model=model, curvature=curvature, base=base, output=output,
                        force=force)
        return session_or_default(session).call("update", given)[1]

    def settle(self, *, accepted: bool | Verdict, update: bool = False, window: str | None = None,
               sent: PathLike | None = None, all: bool = False, session: Session | None = None) -> dict[str, Any]:
        """Takes over what the provider said about a window or an update: ``zkapex settle``.

        A ``Verdict`` says itself which file of which client it is about, and settles only that: one about something
        else is an error. So is a rejection for the reason ``"window"``: an attempt of the window was accepted before,
        maybe this very one by a verification whose answer was lost. That one is settled with ``accepted=True``.

        >>> client.unlearn(request, "unlearned.safetensors", "proof.zka")["window"]
        '2026-11'
        >>> client.settle(accepted=ledger.verify(request, "proof.zka"))["verdict"]
        'accepted'
        """
        if isinstance(accepted, Verdict):
            if all:
                raise Error("a verdict is about one file: all=True goes with accepted=False")
            sent = attempt_of(accepted, self.folder, update=update, window=window, sent=sent)
            window = accepted.report.get("window")
            accepted = accepted.accepted
        if not isinstance(accepted, bool):
            raise TypeError(f"accepted is True, False or a Verdict, not {accepted!r}")
        given = options(SettleOptions, client=self.folder, accepted=accepted, rejected=not accepted, update=update,
                        window=window, sent=sent, all=all)
        return session_or_default(session).call("settle", given)[1]


@contextlib.contextmanager
def _new_folder(folder: Path) -> Iterator[None]:
    """A folder that a step makes, and that does not stay, empty, when it fails."""
    before = folder.exists()
    try:
        yield
    except BaseException:
        if not before:
            with contextlib.suppress(OSError), locked(folder):  # it is not empty, or somebody else's
                folder.rmdir()
        raise


def path_of(request: Request | PathLike) -> Path:
    """Where a request is, however it was given: as an open one, it is still there."""
    if not isinstance(request, (Request, str, os.PathLike)):
        raise TypeError(f"request is a zkapex.Request or a path, not a {type(request).__name__}")
    return request.file() if isinstance(request, Request) else Path(request)
