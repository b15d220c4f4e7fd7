"""Decides on permission requests.

Decisions use the kind of the tool call and its paths, never the title: an agent chooses its titles
freely.

Source: ACP, Tool Calls, "Requesting Permission".
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol, TypeAlias, cast
from urllib.parse import unquote, urlsplit

from acp_console.chat.touched import commands_of, has_command, paths_of, shows_terminal
from acp_protocol.client_duties import PermissionOption, Verdict, find_option, permission_options
from acp_protocol.json_values import as_list, get, get_text
from acp_protocol.jsonrpc import Json, RequestId
from acp_protocol.schema.words import TOOL_KINDS
from acp_protocol.tool_calls import merge

AllowLevel: TypeAlias = Literal["none", "reads", "edits", "all"]

_READS: Final = frozenset({"read", "search", "think"})
EDIT_KINDS: Final = frozenset({"edit", "move"})


@dataclass(frozen=True, slots=True)
class PermissionPrompt:
    """A permission request of an agent."""

    request_id: RequestId
    session_id: str
    tool_call: Mapping[str, Json]
    """The fields of the call: from its updates, overridden by the permission request."""
    options: tuple[PermissionOption, ...]
    cwd: Path | None = None
    """The session's directory; None for a session that was never opened."""

    @property
    def kind(self) -> str:
        """The structured kind of the tool call; "other" when the agent gives none that is known."""
        kind = self.tool_call.get("kind")
        return kind if isinstance(kind, str) and kind in TOOL_KINDS[2] else "other"

    @property
    def title(self) -> str:
        """The title that the agent gives it: untrusted, so not used for decisions."""
        title = self.tool_call.get("title")
        return title if isinstance(title, str) else self.kind

    @property
    def paths(self) -> tuple[str, ...]:
        """The files in the locations, the diffs and the input of the call."""
        return paths_of(self.tool_call)

    @property
    def command(self) -> str | None:
        """The command that the call runs, as far as the agent says it."""
        return command_of(self.tool_call)

    @property
    def has_command(self) -> bool:
        """Whether it may run something, whatever kind of call it is said to be."""
        return has_command(self.tool_call)

    @property
    def has_diff(self) -> bool:
        content = as_list(self.tool_call.get("content"))
        return any(get(each, "type") == "diff" for each in content)

    @property
    def has_terminal(self) -> bool:
        return shows_terminal(self.tool_call)

    @property
    def is_diff(self) -> bool:
        """Whether it shows changes of files and nothing else."""
        content = as_list(self.tool_call.get("content"))
        return bool(content) and all(get(each, "type") == "diff" for each in content)

    @property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tool in each place where agents give it; never its title."""
        call = self.tool_call
        names = [
            call.get("name"),
            get(get(call.get("_meta"), "claudeCode"), "toolName"),
            get(call.get("function"), "name"),
        ]
        return tuple(dict.fromkeys(name for name in names if name and isinstance(name, str)))

    @property
    def paths_outside(self) -> tuple[str, ...]:
        """The `paths` outside the session's directory, with symbolic links resolved."""
        return tuple(path for path in self.paths if not self._is_inside(path))

    @property
    def is_choice(self) -> bool:
        """Whether several options allow it once, so that the options are answers to choose from."""
        return sum(option.kind == "allow_once" for option in self.options) > 1

    def absolute(self, path: str) -> Path:
        """Return where a path of the call is; one in a URI or below a home directory, too."""
        if path[:5].lower() == "file:":
            try:
                path = unquote(urlsplit(path).path)
            except ValueError:
                # What is no valid URI may mean any place.
                return Path("/") / path
        with suppress(RuntimeError):
            # A home directory that does not exist is a name like any other.
            return (self.cwd or Path("/")) / Path(path).expanduser()
        return (self.cwd or Path("/")) / path

    def _is_inside(self, path: str) -> bool:
        if self.cwd is None:
            return False
        try:
            return self.absolute(path).resolve().is_relative_to(self.cwd.resolve())
        except (OSError, RuntimeError, ValueError):
            # A path that cannot be resolved (a loop of links, a NUL) counts as outside.
            return False


class Decider(Protocol):
    """Grants or refuses permission."""

    async def decide(self, request: PermissionPrompt) -> str | None:
        """Return the id of one of the offered options; None without a decision."""
        ...


class Rules(Protocol):
    """Rules of the user that come before the levels."""

    def decide(self, ask: PermissionPrompt) -> tuple[Verdict, str] | None:
        """Return the decision and the place of the rule; None if they leave it open."""
        ...


class PolicyDecider:
    """Decides without asking the user."""

    def __init__(
        self,
        allowed: AllowLevel,
        on_decision: Callable[[PermissionPrompt, bool], None],
        tools: Collection[str] = (),
        rules: Rules | None = None,
    ) -> None:
        """Allow what `rules` or, where they leave it open, `allowed` and `tools` include.

        Each decision is reported.
        """
        self._allowed: AllowLevel = allowed
        self._tools = tools
        self._rules = rules
        self._decided = on_decision

    async def decide(self, request: PermissionPrompt) -> str | None:
        """Allow once what is allowed; reject the rest, once if that is offered."""
        ruling = self._rules.decide(request) if self._rules is not None else None
        if ruling is not None:
            is_allowed = ruling[0] == "allow"
        else:
            names = request.tool_names
            is_named = bool(names) and all(name in self._tools for name in names)
            is_allowed = is_named or allows(self._allowed, request)
        is_allowed = is_allowed and not request.is_choice
        self._decided(request, is_allowed)
        option = find_option(request.options, "allow" if is_allowed else "reject")
        return option.id if option else None


def allows(allowed: AllowLevel, request: PermissionPrompt) -> bool:
    """Return whether `allowed` includes the call, judged by its kind, its paths and its diffs."""
    if allowed == "all":
        return True
    if request.paths_outside or allowed == "none":
        return False
    if request.has_command:
        # What a command does is not said by its kind.
        return False
    if request.kind in _READS:
        return not request.has_diff
    is_change = request.kind in EDIT_KINDS or (request.kind == "other" and request.is_diff)
    # What does not say which file it changes may change any.
    return allowed == "edits" and is_change and bool(request.paths)


def required_level(request: PermissionPrompt) -> AllowLevel:
    """Return the lowest level that allows the request."""
    if allows("reads", request):
        return "reads"
    return "edits" if allows("edits", request) else "all"


def parse_permission_request(
    request_id: RequestId,
    params: Json,
    *,
    known: Mapping[str, Json] | None = None,
    cwd: Path | None = None,
    version: int = 1,
) -> PermissionPrompt | None:
    """Return the request in the params of `session/request_permission`; None if malformed.

    `known` has the fields from earlier updates of the call, which the request need not repeat.
    """
    session_id, tool_call = get_text(params, "sessionId"), requested_tool_call(params, version)
    if session_id is None or tool_call is None or not isinstance(get(params, "options"), list):
        return None
    call = merge(known or {}, tool_call, version)
    return PermissionPrompt(request_id, session_id, call, permission_options(params), cwd)


def command_of(tool_call: Mapping[str, Json]) -> str | None:
    """Return the command in `rawInput` of a tool call, if there is one."""
    found = commands_of(tool_call)
    shown = [each if isinstance(each, str) else " ".join(each) for each in found]
    return "\n".join(dict.fromkeys(shown)) if shown else None


def requested_tool_call(params: Json, version: int = 1) -> Mapping[str, Json] | None:
    """Return the tool call that needs permission; None if there is none.

    Version 2 names a tool call, a command, or only a title: a command counts as a call of kind
    "execute", anything else as "other". Fields of the other version are ignored, so that a request
    cannot show one subject and get permission for another.
    """
    match params:
        case {"toolCall": call} if version == 1:
            return cast("Mapping[str, Json]", call) if isinstance(call, dict) else None
        case {"subject": {"type": "tool_call", "toolCall": call}} if version >= 2:
            return cast("Mapping[str, Json]", call) if isinstance(call, dict) else None
        case {"title": str(title), "subject": {"type": "command", "command": command, **more}} if (
            version >= 2
        ):
            start = {"command": command, "cwd": cast("Json", more.get("cwd"))}
            call_id = cast("Json", more.get("toolCallId"))
            return {"toolCallId": call_id, "title": title, "kind": "execute", "rawInput": start}
        case {"title": str(title)} if version >= 2:
            return {"title": title, "kind": "other"}
        case _:
            return None
