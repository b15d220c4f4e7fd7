"""What stands in a live text where the recording has a placeholder for a secret."""

from __future__ import annotations

from acp_inspector.redaction.finder import PLACEHOLDER


def secrets_told(recorded: str, live: str) -> list[tuple[str, str]]:
    """Return each placeholder in `recorded` with what `live` has there.

    Empty where there is none, and where the texts differ in what is around them.
    """
    placeholders = [found[0] for found in PLACEHOLDER.finditer(recorded)]
    # Its pattern has one group, the number.
    first, *between = PLACEHOLDER.split(recorded)[::2]
    if not placeholders or not live.startswith(first) or not live.endswith(between[-1]):
        return []
    end = len(live) - len(between[-1])
    at = len(first)
    told: list[tuple[str, str]] = []
    for place, (placeholder, behind) in enumerate(zip(placeholders, between, strict=True), start=1):
        # A secret has a character at least; the last one goes up to what ends the text.
        stop = end if place == len(placeholders) else live.find(behind, at + 1, end)
        if stop <= at:
            return []
        told.append((placeholder, live[at:stop]))
        at = stop + len(behind)
    return told


def with_secrets(recorded: str, known: dict[str, str]) -> str:
    """Return `recorded` with what is known in place of its placeholders."""
    return PLACEHOLDER.sub(lambda found: known.get(found[0], found[0]), recorded)
