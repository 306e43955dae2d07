"""The library's sentences with the names of Python's arguments in place of the command's options."""

from __future__ import annotations

import re

_ARGUMENTS = {name.replace("_", "-"): f"{name}=" for name in (
    "after", "anchor", "base", "bits", "block", "client", "cover", "curvature", "damping", "deployment", "distance",
    "distance_removed", "drift", "entry", "error", "floor", "fraction_bits", "free", "guide_base", "guide_from",
    "guide_scale", "max_guide", "memory", "method", "model", "nonce", "pull", "preset", "progress", "ratio",
    "relative_damping", "row_length", "scores", "threads", "width", "window")}
_FLAGS = {name.replace("_", "-"): f"{name}=True" for name in (
    "accepted", "all", "allow_loose", "force", "no_anchor", "rejected", "update")}
_OTHERS = {"operator": "operation=", "proof": "proof_output=", "dry-run": "try_request"}
_OF_STEPS = {"settle": {"proof": "sent=", "rejected": "accepted=False"}}
# Words of a sentence, and no parts of a file's name.
_OPTION = re.compile(r"(?<![\w./-])--([a-z]+(?:-[a-z]+)*)(:?)(?![\w/-])")


def in_python(sentence: str, step: str) -> str:
    """A sentence about a step, as the caller of a function knows it."""
    names = {**_ARGUMENTS, **_FLAGS, **_OTHERS, **_OF_STEPS.get(step, {})}

    def name(found: re.Match[str]) -> str:
        if found[1] not in names:
            return found[0]
        return names[found[1]].rstrip("=") + ":" if found[2] else names[found[1]]

    return _OPTION.sub(name, sentence)
