"""The tool calls of a connection whose dialect reports their content piece by piece.

Officially the content in an update replaces what the call had. In a dialect a diff, the output of a
tool and the terminal of an official update are messages of their own, and each adds to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from acp_protocol.json_values import as_object, as_string, get_object
from acp_protocol.jsonrpc import Json, encode

MAX_CALLS: Final = 1024
"""Tool calls that are remembered; older ones are forgotten."""
MAX_BYTES: Final = 1_000_000
"""Bytes of content that are kept of one call: every update repeats them."""
MAX_WITH_CONTENT: Final = 64
"""Calls whose content is kept."""


class ReportedCalls:
    """What the agent has reported of its tool calls."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], None] = {}
        """The calls that were reported in terms of the dialect."""
        self._contents: dict[tuple[str, str], list[Json]] = {}
        """The content of the newest calls, as far as it is kept."""

    def copy(self) -> ReportedCalls:
        """Return the same calls, to which others may be added."""
        twin = ReportedCalls()
        twin._known, twin._contents = dict(self._known), dict(self._contents)
        return twin

    def begin(self, session: str | None, id: Json) -> bool:  # noqa: A002
        """Note a call that is reported in terms of the dialect; return whether it is new."""
        key = _key(session, id)
        is_new = key not in self._known
        self._known.pop(key, None)
        self._known[key] = None
        if len(self._known) > MAX_CALLS:
            del self._known[next(iter(self._known))]
        return is_new

    def has_begun(self, session: str | None, id: Json) -> bool:  # noqa: A002
        """Return whether a call was reported in terms of the dialect."""
        return _key(session, id) in self._known

    def note(self, session: str | None, id: Json, content: list[Json]) -> None:  # noqa: A002
        """Note all of the content of a call, as official messages report it."""
        self._keep(_key(session, id), content)

    def add(self, session: str | None, id: Json, items: Sequence[Json]) -> list[Json]:  # noqa: A002
        """Return the content of a call with more of it.

        A text is its output, which replaces an earlier one. A diff replaces one that began with the
        same text of the file.
        """
        self.begin(session, id)
        key = _key(session, id)
        old = self._contents.get(key, ())
        content = [each for each in old if not any(_replaces(item, each) for item in items)]
        content += items
        self._keep(key, content)
        return content

    def has_changed(self, session: str | None, id: Json, content: list[Json]) -> bool:  # noqa: A002
        """Note the content of a call; return whether it was another one before."""
        was = self._contents.get(_key(session, id))
        self.note(session, id, content)
        return was != self._contents.get(_key(session, id))

    def _keep(self, key: tuple[str, str], content: list[Json]) -> None:
        self._contents.pop(key, None)
        self._contents[key] = _newest(content)
        if len(self._contents) > MAX_WITH_CONTENT:
            del self._contents[next(iter(self._contents))]


def _key(session: str | None, id_: Json) -> tuple[str, str]:
    return session or "", as_string(id_)


def _replaces(new: Json, old: Json) -> bool:
    """Return whether both are texts, or diffs of a file that begin with the same text."""
    after, before = as_object(new), as_object(old)
    if after.get("type") == "diff":
        return all(before.get(name) == after.get(name) for name in ("type", "path", "oldText"))
    kinds = {get_object(each, "content").get("type") for each in (after, before)}
    return kinds == {"text"}


def _newest(content: list[Json]) -> list[Json]:
    """Return the last items, as many as are kept."""
    size, kept = 0, list[Json]()
    for item in reversed(content):
        size += len(encode(item))
        if size > MAX_BYTES:
            break
        kept.append(item)
    return kept[::-1]
