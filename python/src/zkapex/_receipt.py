"""Receipts of a transparency log, which anyone can check offline."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import Any

from ._library import Buffer, PathLike, ReceiptOptions, Session, buffer_of, options, session_or_default
from ._provider import Data, bytes_of


_EMPTY = ctypes.create_string_buffer(1)  # an empty file is not none


@dataclass(frozen=True)
class Receipt:
    """What a receipt shows. True where it proves that its entry is in the log, whatever the entry says.

    >>> shown = zkapex.check_receipt("verdict.tlog-proof", "policy", deployment="deployment.tlog-proof")
    >>> shown.statement, shown.detail
    ('verdict', None)
    """

    proved: bool
    report: dict[str, Any] = field(repr=False)

    @property
    def detail(self) -> str | None:
        """Why it proves nothing, in a sentence; None where it does."""
        return self.report.get("detail")

    @property
    def statement(self) -> str | None:
        """What kind of statement is logged, such as ``"verdict"``."""
        return self.report.get("statement")

    @property
    def passed(self) -> bool:
        """Whether the entry is a verdict that accepts. Ask for `provider_checked`, too."""
        return self.report.get("result") == "PASSED"

    @property
    def provider_checked(self) -> bool:
        """Whether the entry is a verdict and signed by the provider that the deployment names."""
        return self.report.get("provider_checked", False)

    def __bool__(self) -> bool:
        return self.proved


def check_receipt(receipt: Data, policy: PathLike, *, deployment: Data | None = None, entry: Data | None = None,
                  session: Session | None = None) -> Receipt:
    """Whether an entry is in a log that the policy trusts, and what it says: ``zkapex audit receipt``. Bytes that are
    damaged, or no receipt at all, prove nothing, and ``detail`` says so.

    Without the receipt of the log's first entry, the ``deployment``, nobody looks who has signed a verdict. An
    ``entry`` is needed only where the receipt does not have it in it.

    >>> shown = zkapex.check_receipt("verdict.tlog-proof", "policy", deployment="deployment.tlog-proof")
    >>> shown.provider_checked and shown.passed
    True
    """
    kept = []

    def buffer(data: Data | None, what: str) -> Buffer:
        if data is None:
            return Buffer(None, 0)
        out, alive = buffer_of(bytes_of(data, what))
        kept.append(alive)
        return out if out.length else Buffer(ctypes.addressof(_EMPTY), 0)

    given = options(ReceiptOptions, policy=policy, receipt=buffer(receipt, "receipt"),
                    deployment=buffer(deployment, "deployment"), entry=buffer(entry, "entry"))
    return Receipt(*session_or_default(session).call("receipt_check", given))
