"""The tables of `permissions.rules`: each of them read, and everything that is wrong told."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, cast, get_args

from acp_agent.config.values import Kind, UnfitError
from acp_agent.mcp.names import NAME_LENGTH, SEPARATOR
from acp_agent.standing import AREAS, Decision, StandingRule, command_words
from acp_agent.tools.addresses import called
from acp_agent.tools.tool import KINDS
from acp_agent.tools.tool import Kind as ToolKind
from acp_protocol.jsonrpc import Json

MEMBERS: Final = ("kind", "path", "command", "name", "decision")
DECISIONS: Final = get_args(Decision)
MUST: Final = "a list of tables, as in [[permissions.rules]]"
_NAME: Final = re.compile(r"[A-Za-z0-9._:*?\[\]-]+", re.ASCII)
"""What hosts and tools may be called, with `*` and `?`."""
_PORT: Final = re.compile(r"(\[.*\]|[^:]*)(:[0-9]+)", re.ASCII)
"""A host with its port."""
_NOT_IN_TOOLS: Final = re.compile(r"[^A-Za-z0-9_*?-]", re.ASCII)
_WILD: Final = frozenset("*?")
_FITTING: Final[Mapping[str, frozenset[str]]] = {
    "path": frozenset({"read", "edit", "delete", "move", "search"}),
    "command": frozenset({"execute"}),
}
"""The kinds of calls that have a path or a command; a name any of them may have."""


def mistakes(table: Mapping[str, Json]) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a rule: the member that it is about, none for the whole, and why."""
    named = [member for member in AREAS if member in table]
    if "decision" not in table:
        yield "", f"decision is missing: one of {', '.join(DECISIONS)}"
    elif table["decision"] not in DECISIONS:
        yield "decision", f"must be one of {', '.join(DECISIONS)}"
    kind: Json = table.get("kind")
    if "kind" in table and kind not in KINDS:
        yield "kind", f"must be one of {', '.join(KINDS)}"
    if "kind" not in table and not named:
        yield "", f"names nothing: at least one of kind, {', '.join(AREAS)} is needed"
    if len(named) > 1:
        yield named[1], f"one rule has either {' or '.join(named)}"
    for member in named:
        if (why := _mistake(member, table[member])) is not None:
            yield member, why
        elif kind in KINDS and kind not in _FITTING.get(member, KINDS):
            yield member, f"no call of the kind {kind} has a {member}"


def rule_of(table: Mapping[str, Json]) -> StandingRule:
    """Return the rule that stands in a table without mistakes."""
    member = next((each for each in AREAS if each in table), None)
    return StandingRule(
        cast("Decision", table["decision"]),
        cast("ToolKind | None", table.get("kind")),
        AREAS[member] if member else None,
        cast("str", table[member]) if member else "",
    )


def table_of(rule: StandingRule) -> dict[str, Json]:
    """Return a rule as a file would hold it."""
    table: dict[str, Json] = {} if rule.kind is None else {"kind": rule.kind}
    if rule.area is not None:
        table[rule.area] = rule.pattern
    return table | {"decision": rule.decision}


def _mistake(member: str, raw: Json) -> str | None:
    """Return why a pattern cannot be one, or can never fit."""
    if not isinstance(raw, str) or not raw.strip() or "\0" in raw:
        return "must be a text that is not empty"
    return {"path": _path_mistake, "command": _command_mistake, "name": _name_mistake}[member](raw)


def _path_mistake(pattern: str) -> str | None:
    if ".." in pattern.split("/"):
        return "must be a path without .."
    if pattern.startswith("~"):
        return "must be told from the session's directory, or from /"
    if pattern.startswith("//"):
        return "must begin with one / at most"
    return "must be told with / and without \\" if "\\" in pattern else None


def _command_mistake(pattern: str) -> str | None:
    try:
        words = command_words(pattern)
    except ValueError:
        return "must be words; a quotation in it has no end"
    return None if words and words[0] else "names no program"


def _name_mistake(pattern: str) -> str | None:
    if not _NAME.fullmatch(pattern):
        return "fits no host and no tool: these have letters, digits, and . : - _ in their names"
    if SEPARATOR in pattern:
        named = _NOT_IN_TOOLS.sub("-", pattern)
        if named != pattern:
            return f"fits no tool: it is called {named}"
        if len(pattern) > NAME_LENGTH and "*" not in pattern:
            return f"fits no tool: a name has at most {NAME_LENGTH} characters"
        return None
    if _WILD & set(pattern):
        return None
    found = _PORT.fullmatch(pattern)
    usual = called(found[1]) + found[2] if found else called(pattern)
    return None if usual == pattern.lower() else f"must be {usual}, as the host is called here"


def _read(raw: object) -> tuple[StandingRule, ...]:
    if not isinstance(raw, list):
        raise TypeError
    rules: list[StandingRule] = []
    for table in cast("list[object]", raw):
        if not isinstance(table, dict):
            raise TypeError
        members = cast("dict[str, Json]", table)
        if set(members) - set(MEMBERS) or any(True for _ in mistakes(members)):
            raise UnfitError(f"must be {MUST}, without mistakes")
        rules.append(rule_of(members))
    return tuple(rules)


def _write(rules: tuple[StandingRule, ...]) -> list[Json]:
    return [table_of(rule) for rule in rules]


RULES: Final = Kind(MUST, _read, write=_write)
