"""The source of the word lists: the kinds, statuses and reasons that the schemas define."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tools.schema.objects import ELSE, Layout
from tools.schema.published import Published, Schema, alternatives

_SOURCES: Final = (
    ("UpdateKind", "UPDATE_KINDS", ("SessionUpdate",)),
    ("ToolKind", "TOOL_KINDS", ("ToolKind",)),
    ("ToolCallStatus", "TOOL_CALL_STATUSES", ("ToolCallStatus",)),
    ("StopReason", "STOP_REASONS", ("StopReason", "IdleStateUpdate")),
    ("SessionState", "SESSION_STATES", ("StateUpdate",)),
    ("PlanType", "PLAN_TYPES", ("PlanUpdateContent",)),
    ("PlanEntryPriority", "PLAN_ENTRY_PRIORITIES", ("PlanEntryPriority",)),
    ("PlanEntryStatus", "PLAN_ENTRY_STATUSES", ("PlanEntryStatus",)),
    ("PermissionOptionKind", "PERMISSION_OPTION_KINDS", ("PermissionOptionKind",)),
)
"""Type, table, and the definitions of which the first one that exists has the words."""


def words_source(versions: Sequence[Published]) -> str:
    """Return the module of all words, not formatted yet."""
    sources = ", ".join(published.identity for published in versions)
    lists = "".join(_list(alias, table, names, versions) for alias, table, names in _SOURCES)
    unstable = {
        each.version: tuple(
            word
            for word in _words(each.definitions, ("SessionUpdate",))
            if word not in _words(each.stable, ("SessionUpdate",))
        )
        for each in versions
    }
    table = f"UNSTABLE_UPDATE_KINDS: Final[dict[int, tuple[UpdateKind, ...]]] = {unstable!r}\n"
    return _HEAD.format(sources=sources) + lists + table


_HEAD: Final = '''\
"""Words of ACP by version: `TOOL_KINDS[1]`. Made by tools/make_schema.py, never by hand.

Source: the published schemas with their unstable parts, {sources}.
"""

from typing import Final, Literal, TypeAlias

'''


def _list(alias: str, table: str, names: Sequence[str], versions: Sequence[Published]) -> str:
    words = {each.version: _words(each.definitions, names) for each in versions}
    every = list(dict.fromkeys(word for known in words.values() for word in known))
    return (
        f"{alias}: TypeAlias = Literal[{', '.join(map(repr, every))}]\n"
        f"{table}: Final[dict[int, tuple[{alias}, ...]]] = {words!r}\n\n"
    )


def _words(definitions: dict[str, Schema], names: Sequence[str]) -> tuple[str, ...]:
    """Return the values of an enumeration, or those of the tag of a union."""
    schema = next(definitions[name] for name in names if name in definitions)
    if values := tuple(str(arm["const"]) for arm in alternatives(schema) if "const" in arm):
        return values
    tags = [arm.tags[0].value for arm in Layout(definitions).arms(schema) if arm.tags]
    return tuple(dict.fromkeys(value for value in tags if value != ELSE))
