"""Ctrl-C, and other signals, while the library works."""

from __future__ import annotations

import contextlib
import signal
import threading
from typing import Any, Iterator


@contextlib.contextmanager
def signals_collected() -> Iterator[list[BaseException]]:
    """What handlers of signals raise goes into the list meanwhile, and the first of it is raised at the end.

    Handlers run in the main thread, between two steps of Python. While it is inside the library, these are steps of the
    function that the library calls: an exception may come before the first of them, where nobody can catch it.
    """
    signalled: list[BaseException] = []
    if threading.current_thread() is not threading.main_thread():
        yield signalled
        return
    handlers = {number: handler for number in sorted(signal.valid_signals(), reverse=True)
                if callable(handler := signal.getsignal(number))}

    def collect(number: int, frame: Any) -> None:
        try:
            handlers[number](number, frame)
        except BaseException as raised:
            signalled.append(raised)

    try:
        for number in handlers:
            signal.signal(number, collect)
        yield signalled
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for raised in signalled:
            raise raised from None
