"""What the agent answers to commands by itself, in Markdown.

Names and descriptions may come from servers and models: they are shown on one line, as code or
with nothing in them that a screen would obey.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from acp_agent.mcp.servers import McpServers
from acp_agent.models.types import SlashCommand, TokenUsage
from acp_agent.permissions.decide import MODES, POLICIES, SessionPermissions
from acp_agent.turn.instructions import MAX_CHARS
from acp_agent.turn.slash_command_list import PERMISSIONS
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import Json

ABOUT_WIDTH: Final = 100
"""Characters of what a tool does that are shown."""
NAME_WIDTH: Final = 200
FORGET: Final = "forget"
"""Behind `/permissions`: what was said for good counts no more."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What the commands report about a session."""

    commands: Sequence[SlashCommand]
    """As the client knows them."""
    model: str
    tools: McpServers
    permissions: SessionPermissions
    spent: TokenUsage
    usage: Mapping[str, Json] | None
    """How full the context window is, as last reported to the client."""
    instructions: Sequence[str]
    """Files of the project that the model gets."""
    is_cut: bool = False
    """Whether a part was cut off."""
    prefix: str = ""
    """What precedes the names of commands."""


def help_text(around: SessionInfo) -> str:
    """Return which commands there are, and what else can be said."""
    lines = [f"Say what you want done, in your own words: {code(around.model)} answers. Or:", ""]
    for command in around.commands:
        hint = f" [{command.hint}]" if command.hint else ""
        lines.append(
            f"- {code(f'/{command.name}{hint}')}: {single_line(command.description, ABOUT_WIDTH)}"
        )
    if around.instructions:
        files = ", ".join(map(code, around.instructions))
        cut = (
            f" They are too long: it is told the first {MAX_CHARS} characters."
            if around.is_cut
            else ""
        )
        lines += ["", f"The model is told the instructions of the project in {files}.{cut}"]
    return "\n".join(lines)


def tools_text(around: SessionInfo) -> str:
    """Return the tools, those of the agent and those of each server."""
    lines = ["The model can call these tools:", ""]
    for name, tool in around.tools.items():
        first, stop, _ = " ".join(tool.offer.description.split()).partition(". ")
        about = single_line(first + stop.strip(), ABOUT_WIDTH)
        lines.append(f"- {code(name)} ({tool.kind}): {_plain(about)}")
    servers = around.tools.counts
    lines += ["", "MCP servers:" if servers else "There are no MCP servers in this session.", ""]
    lines += [f"- {code(id_)}: {_tools(count)}" for id_, count in servers.items()]
    for title, about in around.tools.warnings:
        lines.append(f"- {_plain(single_line(f'{title}. {about}', 3 * NAME_WIDTH))}")
    return "\n".join(lines).rstrip()


def usage_text(around: SessionInfo) -> str:
    """Return what was spent, and how full the window is."""
    spent = around.spent
    if not spent.total:
        return "Nothing was spent in this session so far, as far as the model's service tells."
    cached = f", {spent.cache_read_tokens} of them from a cache" if spent.cache_read_tokens else ""
    thought = f", {spent.reasoning_tokens} of them for thoughts" if spent.reasoning_tokens else ""
    lines = [
        f"All replies of this session together, by {code(around.model)} now:",
        "",
        f"- read: {spent.input_tokens} tokens{cached}",
        f"- written: {spent.output_tokens} tokens{thought}",
        f"- cost: {_cost(spent.cost)}",
        f"- window: {_window(around.usage)}",
    ]
    return "\n".join(lines)


def permissions_text(around: SessionInfo, rest: str) -> str:
    """Return what is remembered of the user's answers; forget it where `rest` says so."""
    permissions = around.permissions
    shows = f"/{around.prefix}{PERMISSIONS.name}"
    forgets = code(f"{shows} {FORGET}")
    if rest == FORGET:
        count = permissions.clear_grants()
        return f"{_answers(count)} forgotten: you are asked again." if count else _NONE
    if rest:
        return f"{code(shows)} shows what is remembered, {forgets} forgets it."
    mode = next(name for id_, name, _ in MODES if id_ == permissions.mode)
    policy = next(name for id_, name, _ in POLICIES if id_ == permissions.policy)
    lines = [f"The mode is *{mode}*, the policy *{policy}*."]
    if standing := permissions.settings.rules:
        lines += ["", "Rules of whoever runs the agent:", ""]
        lines += [f"- {code(str(rule))}" for rule in standing]
    known = permissions.grants
    lines += ["", "You have said for this session:" if known else _NONE, ""]
    for rule, verdict in known.items():
        verb = "allow" if verdict == "allow" else "reject"
        lines.append(f"- {verb} {_quoted(rule.describe())}")
    if known:
        lines += ["", f"{forgets} forgets these."]
    return "\n".join(lines).rstrip()


def code(text: str) -> str:
    """Return `text` as code within a line, whatever backticks are in it."""
    shown = single_line(text, NAME_WIDTH)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    gap = " " if "`" in (shown[:1], shown[-1:]) else ""
    return f"{fence}{gap}{shown}{gap}{fence}"


_NONE: Final = "Nothing is remembered of your answers in this session."
_MARKUP: Final = re.compile(r"([\\`*_\[\]<>!|#])")


def _plain(text: str) -> str:
    """Return `text` so that nothing in it is Markdown."""
    return _MARKUP.sub(r"\\\1", text)


def _quoted(words: str) -> str:
    """Return what a rule means, with the command in it as code and nothing else as markup."""
    before, tick, inner = words.partition("`")
    if not tick or "`" not in inner:
        return _plain(single_line(words, NAME_WIDTH))
    command, _, after = inner.rpartition("`")
    return f"{_plain(before)}{code(command)}{_plain(after)}"


def _tools(count: int) -> str:
    return f"{count} tool{'' if count == 1 else 's'}"


def _answers(count: int) -> str:
    return f"{count} answer{' was' if count == 1 else 's were'}"


def _cost(cost: float | None) -> str:
    return "nobody says" if cost is None else f"${cost:.4f}"


def _window(usage: Mapping[str, Json] | None) -> str:
    used, size = (usage.get("used"), usage.get("size")) if usage else (None, None)
    if not isinstance(used, int) or not isinstance(size, int) or size <= 0:
        return "nobody says how much the model can bear in mind; `--window` can"
    return f"{used} of {size} tokens, {round(100 * used / size)} %"
