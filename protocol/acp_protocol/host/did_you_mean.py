"""What was probably meant by a name that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to `name`; None if none is similar."""
    # It takes time, and is needed only for mistakes.
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, list(known), 1, cutoff)), None)


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "", *, mark: str = "") -> str:
    """Return a hint with the known name that is most similar to `name`.

    Args:
        name: What was written.
        known: What could have been written.
        otherwise: The hint if no known name is similar.
        mark: Quotes or backticks around the name in the hint.
    """
    near = nearest(name, known)
    return f"did you mean {mark}{near}{mark}?" if near else otherwise
