"""Progress as bars of tqdm, one for each stage; nothing where tqdm is not installed."""

from __future__ import annotations

from typing import Any, Callable


def bars() -> Callable[[str, int, int], None] | None:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    shown: dict[str, Any] = {}

    def show(stage: str, done: int, total: int) -> None:
        if stage not in shown:
            for earlier in shown.values():
                earlier.close()
            shown.clear()
            shown[stage] = tqdm(total=total, desc=stage)
        shown[stage].update(done - shown[stage].n)
        if done == total:
            shown.pop(stage).close()

    return show
