"""What playing one side of a recording would have the other side do.

A recording may come from anybody. So these are lists of what is harmless: whatever is in none of
them acts, such as an unknown method, member or frame. Each frame is judged as it was sent, in the
names of every dialect, and as its dialect means it.
"""

from __future__ import annotations

import os
import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from math import isfinite
from typing import Any, ClassVar, Final, cast
from urllib.parse import unquote

from acp_inspector.compare.likeness import DIRECTORY_NAMES
from acp_inspector.journal import Frame
from acp_inspector.messages import DecodedFrame, Decoder
from acp_inspector.replay.directories import (
    Members,
    all_members,
    is_placed,
    lenient_messages,
    listed,
    named_directories,
    read_members,
)
from acp_inspector.session.exchanges import Exchanges
from acp_inspector.session.fold import Sessions
from acp_protocol.dialects.registry import DIALECTS
from acp_protocol.dialects.spellings import WIRE_NAMES, official_names, spellings
from acp_protocol.framing import Side
from acp_protocol.host.sanitize import single_line
from acp_protocol.jsonrpc import ENVELOPE, InvalidMessage, message_of, parse

MAX_DEPTH: Final = 100
"""Levels of a message that can be judged."""
_WIDTH: Final = 300
"""Characters of a line that says what acts."""
_TRACE: Final = frozenset({"traceparent", "tracestate", "baggage"})
_OFFICIAL: Final = {
    wire: name for dialect in WIRE_NAMES for wire, name in official_names(dialect).items()
}
"""The official name of each member that a dialect renames."""
ASKING_MODES: Final = frozenset({"architect", "ask", "default", "plan", "read-only"})
"""Modes in which agents ask before they act, or do not act."""
REJECTIONS: Final = frozenset(
    {"reject", "reject_once", "reject_always", "reject-once", "reject-always", "deny", "abort"}
    | {"cancel", "cancelled", "no"}
)
"""Ids of options that reject, in agents and dialects; others allow, whatever their kind is."""


class UnclearFrameError(ValueError):
    """A frame that is no valid message, or that two readers may read differently."""


def _plain_name(name: str) -> str:
    """Return a name as the most lenient reader compares it."""
    return name.casefold().replace("_", "").replace("-", "")


_SERVERS: Final = frozenset(map(_plain_name, spellings("mcpServers")))
_DIRECTORIES: Final = frozenset(map(_plain_name, DIRECTORY_NAMES))
_LOGIN: Final = frozenset({"terminalauth"})
_META: Final = "_meta"


def strict_messages(data: bytes) -> list[Members]:
    """Return the objects of a frame that every reader reads alike; several are a batch.

    Raises:
        UnclearFrameError: it is no such frame; the message says why.
    """
    try:
        parse(data)
        value = read_members(data)
    except RecursionError:
        raise UnclearFrameError("nested too deeply") from None
    except ValueError as problem:
        raise UnclearFrameError(str(problem)) from None
    if data.startswith(b"\xef\xbb\xbf"):
        raise UnclearFrameError("it begins with a byte order mark")
    if b"\n" in data.strip() or b"\r" in data.strip():
        raise UnclearFrameError("it has a line break, at which another reader cuts it")
    _check_tree(value)
    messages = cast("list[Any]", value) if isinstance(value, list) else [value]
    if not messages or not all(isinstance(each, Members) for each in messages):
        raise UnclearFrameError("it is neither an object nor a list of objects")
    return messages


def _check_tree(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        below: list[Any] = []
        for each in level:
            if isinstance(each, float) and not isfinite(each):
                raise UnclearFrameError("a number is out of range")
            if isinstance(each, Members):
                names = [name for name, _ in each.pairs]
                if len(set(names)) < len(names):
                    raise UnclearFrameError("an object has a name twice")
                below += [inner for _, inner in each.pairs]
            elif isinstance(each, list):
                below += cast("list[Any]", each)
        level = below
    if level:
        raise UnclearFrameError(f"nested deeper than {MAX_DEPTH} levels")


def acts_of(side: Side, frames: Sequence[Frame]) -> list[str]:
    """Return what one side of a recording would have the other do, each thing once, with a frame.

    The texts are safe to show.
    """
    judge = ClientJudge(frames) if side == "client" else AgentJudge()
    return judge.judge(frames)


def count_prompts(frames: Iterable[Frame]) -> int:
    """Return how many prompts the client of a recording sends."""
    sessions = Sessions(exchanges=Exchanges(is_lean=True))
    for _ in sessions.read(frames):
        pass
    return sum(session.prompts for session in sessions.sessions.values())


class _Judge(ABC):
    """Judges the frames of one side.

    A replay has ids and directories of its own, which can turn a harmless frame into one that acts.
    So it judges what it sends once more; a judge without recorded frames sees the live ones.
    """

    side: ClassVar[Side]

    def __init__(self) -> None:
        self._decoder = Decoder()
        self._found: dict[str, int] = {}
        """What acts, and the number of the first frame that has it."""

    def judge(self, frames: Iterable[Frame]) -> list[str]:
        """Return what acts in the frames that are known by now, the next of the connection."""
        for frame in frames:
            decoded = self._decoder.decode(frame)
            if frame.side != self.side:
                self.observe(frame)
            elif frame.data.strip():
                for what in self._judge_frame(decoded, self._decoder.dialect):
                    self._found.setdefault(single_line(what, _WIDTH), frame.seq)
        return [f"{what} (frame {number})" for what, number in self._found.items()]

    def observe(self, frame: Frame) -> None:
        """See a frame of the other side."""
        del frame

    @abstractmethod
    def judge_call(self, method: str, params: Members) -> Iterator[str]:
        """Yield what a request or a notification does."""

    @abstractmethod
    def judge_result(self, result: Any) -> Iterator[str]:
        """Yield what a response does."""

    @abstractmethod
    def judge_members(self, message: Members) -> Iterator[str]:
        """Yield what members do wherever they are, also in a message of which nothing is known."""

    def _judge_frame(self, decoded: DecodedFrame, dialect: str | None) -> Iterator[str]:
        raw = decoded.frame.data
        others = [each.raw for each in decoded.messages if each.raw not in {raw, b""}]
        try:
            messages = strict_messages(raw)
            translated = [each for line in others for each in strict_messages(line)]
        except UnclearFrameError as problem:
            yield f"no valid message: {problem}"
            return
        is_bare = bool(others) and len(messages) == 1
        for each in messages:
            yield from self._judge_message(each, is_bare=is_bare)
        for each in translated:
            yield from self._judge_message(_without_marks(each, dialect))

    def _judge_message(self, message: Members, *, is_bare: bool = False) -> Iterator[str]:
        yield from self.judge_members(message)
        plain = dict(message.pairs)
        names = plain.keys()
        if is_bare and not names & ENVELOPE:
            # A prompt or an event of a dialect that has these without JSON-RPC around them.
            method = "session/prompt" if self.side == "client" else "session/update"
            yield from self.judge_call(method, message)
            return
        read = message_of(_plain(message), b"")
        if isinstance(read, InvalidMessage):
            yield f"no valid message: {read.reason}"
        elif names - ENVELOPE:
            yield f"no valid message: unknown member {min(names - ENVELOPE)}"
        elif "method" in plain and names & {"result", "error"}:
            yield "no valid message: both a call and a response"
        elif "method" not in plain and "params" in names:
            yield "no valid message: a response with params"
        elif "method" in plain:
            params = plain.get("params")
            if isinstance(params, list):
                yield f"params by position: {plain['method']}"
            else:
                given = params if isinstance(params, Members) else Members([])
                yield from self.judge_call(str(plain["method"]), given)
        elif plain.get("error") is None:
            yield from self.judge_result(plain.get("result"))
        elif unknown := _members(plain["error"]).keys() - {"code", "message", "data"}:
            yield f"no valid message: unknown member {min(unknown)} of an error"


class ClientJudge(_Judge):
    """Judges what is sent to an agent."""

    side = "client"

    def __init__(
        self, frames: Sequence[Frame] = (), directories: Collection[str] | None = None
    ) -> None:
        """Judge `frames`, whose directories will be replaced; or live ones in `directories`."""
        super().__init__()
        self._is_live = directories is not None
        named = named_directories(frames) if directories is None else directories
        self._roots = [each.rstrip("/") for each in named if is_placed(each)]
        self._kinds: dict[str, set[str]] = {}
        """The kinds of each option of a permission request."""
        self._sessions: set[str] = set()
        """The sessions that the agent has opened."""

    def observe(self, frame: Frame) -> None:
        for message in lenient_messages(frame.data) if b'"result"' in frame.data else []:
            self._sessions |= _opened(_members(message).get("result"))
        # Most frames have none, and kinds can only make an option that rejects one that allows.
        for message in lenient_messages(frame.data) if b"options" in frame.data else []:
            for name, value in all_members(message):
                if name == "options":
                    for option in map(_members, listed(value)):
                        for spelling in spellings("optionId") & option.keys():
                            kinds = self._kinds.setdefault(str(option[spelling]), set())
                            kinds.add(str(option.get("kind")))

    def judge_members(self, message: Members) -> Iterator[str]:
        for name, value in all_members(_without_abilities(message)):
            plain = _plain_name(name)
            if plain in _SERVERS:
                yield from (f"MCP server: {server}" for server in _servers(value))
            elif plain in _DIRECTORIES:
                places = [place for place in listed(value) if place is not None]
                yield from (f"directory: {_text(p)}" for p in places if not self._is_place(p))
            elif plain == "baseurl" and value:
                yield f"model service: {_text(value)}"
            elif name == _META:
                yield from _leaves(_META, value)

    def _is_place(self, directory: Any) -> bool:
        """Return whether a directory will be replaced, or is one that replaces another."""
        is_known = not self._is_live or self._is_inside(directory)
        return _is_place(directory) and is_known

    def judge_call(self, method: str, params: Members) -> Iterator[str]:
        allowed = _CLIENT_CALLS.get(method)
        if allowed is None:
            yield _described_call(method, params)
            return
        yield from self._judge_session(method, params)
        for name, value in params.pairs:
            official = _OFFICIAL.get(name, name)
            if official not in allowed | {_META}:
                yield f"unknown member: {method} {name} = {_text(value)}"
            elif official in _OPEN:
                # What it says is judged wherever it is.
                continue
            elif official == "prompt":
                yield from self._judge_prompt(value)
            elif official in _ABILITIES:
                yield from _texts(name, value)
            elif official in {"clientInfo", "info"}:
                yield from _about(name, value)
            elif _is_full(value) or (official == "config" and isinstance(value, str)):
                yield f"unknown member: {method} {name} = {_text(value)}"
            elif official in {"modeId", "value"} and not _is_asking(value):
                yield f"mode or option: {_setting(params)} = {_text(value)}"

    def _judge_session(self, method: str, params: Members) -> Iterator[str]:
        """Yield a session that the agent has not opened: it may have kept it for the user."""
        named = {_text(value) for name, value in params.pairs if name in _SESSION}
        if method in _IN_SESSION and not (self._sessions and named <= self._sessions):
            yield f"kept session: {method} {' '.join(sorted(named))}".rstrip()

    def judge_result(self, result: Any) -> Iterator[str]:
        members = _members(result)
        if result is None or result == Members([]):
            return
        names = members.keys() - {_META}
        if isinstance(result, str) or "outcome" in members:
            yield from self._judge_outcome(result)
        elif names == {"action"} and members["action"] in ("decline", "cancel"):
            return
        elif "action" in names:
            yield f"form that is filled in: {_text(result)}"
        elif not members or not _is_report(members, names):
            yield f"response that is not known: {_text(result)}"

    def _judge_outcome(self, result: Any) -> Iterator[str]:
        """Judge the response to a permission request, in the form of any dialect."""
        members = _members(result)
        outcome = members.get("outcome", result)
        chosen = _members(outcome)
        names = spellings("optionId")
        options = [each[name] for each in (members, chosen) for name in names & each.keys()]
        word = chosen.get("outcome") if chosen else outcome
        words = options if word == "selected" and options else [word, *options]
        unknown = (members.keys() | chosen.keys()) - names - {"outcome", _META}
        if unknown or not all(map(self._is_rejection, words)):
            yield f"permission that allows: {_text(_officially(result))}"

    def _is_rejection(self, option: Any) -> bool:
        if not isinstance(option, str):
            return False
        kinds = self._kinds.get(option, set())
        return option in REJECTIONS and all(kind.startswith("reject") for kind in kinds)

    def _judge_prompt(self, value: Any) -> Iterator[str]:
        if not isinstance(value, list):
            yield f"unknown member: session/prompt = {_text(value)}"
        for block in listed(value):
            if not isinstance(block, Members):
                yield f"unknown block: {_text(block)}"
                continue
            for name, each in all_members(block):
                if name in _COMMANDS or (name in _PROSE and _is_command(each)):
                    yield f"command in a prompt: {_text(each).strip()}"
                elif name not in _BLOCK or (name == "type" and _text(each) not in _BLOCK_TYPES):
                    yield f"unknown block: {name} = {_text(each)}"
            yield from self._judge_links(block)

    def _judge_links(self, block: Members) -> Iterator[str]:
        """Yield the links that lead out of the directories of the recording."""
        stack: list[Any] = [block]
        while stack:
            value = stack.pop()
            stack += _items(value)
            members = _members(value)
            stack += members.values()
            if "type" not in members and members.keys() & {"text", "blob"}:
                # The contents are here, so there is no need to read what it names.
                continue
            for name in ("uri", "url", "path", "Uri", "Path"):
                if name in members and not self._is_inside(members[name]):
                    yield f"link: {_text(members[name])}"

    def _is_inside(self, link: Any) -> bool:
        if not isinstance(link, str):
            return link is None
        path = link.removeprefix("file://")
        return _is_below(path, self._roots) and _is_below(unquote(path), self._roots)


_OPEN: Final = frozenset({"cwd", "additionalDirectories", "mcpServers", _META})
_CLIENT_CALLS: Final[dict[str, frozenset[str]]] = {
    "initialize": frozenset(
        {"protocolVersion", "clientCapabilities", "clientInfo", "capabilities", "info"}
        | {"authenticationMethods"}
    ),
    "session/new": frozenset({"cwd", "additionalDirectories", "mcpServers", "modeId", "config"}),
    "session/prompt": frozenset(
        {"sessionId", "prompt", "messageId", "type", "stream", "temperature", "maxTokens"}
    ),
    "session/set_mode": frozenset({"sessionId", "modeId"}),
    "session/set_config_option": frozenset({"sessionId", "configId", "value", "type"}),
    "session/cancel": frozenset({"sessionId", "requestId"}),
    "$/cancel_request": frozenset({"sessionId", "requestId"}),
    "cancel": frozenset({"requestId"}),
}
"""The calls that are harmless unless a member acts, and their members by their official names."""
_IN_SESSION: Final = frozenset({"session/prompt", "session/set_mode", "session/set_config_option"})
_CLIENT_RESULTS: Final = (
    frozenset({"content"}),
    frozenset({"terminalId"}),
    frozenset({"output", "truncated", "exitStatus"}),
    frozenset({"exitCode", "signal"}),
)
"""The members of responses that only have the text of a file or of a command."""
_BLOCK: Final = _TRACE | {
    *("type", "text", "data", "mimeType", "uri", "name", "title", "description", "size"),
    *("resource", "blob", "annotations", "audience", "priority", "lastModified", _META),
    *("Text", "source", "mediaType", "Diff", "path", "unified_diff", "Terminal", "output"),
}
"""The members of the blocks of a prompt, and of what is in them, in all dialects."""
_BLOCK_TYPES: Final = frozenset(
    {"text", "image", "audio", "resource_link", "resource", "diff", "terminal", "base64"}
)
_PROSE: Final = frozenset({"text", "Text"})
_COMMANDS: Final = frozenset({"command", "SlashCommand"})
_MARKS: Final = frozenset("/!")
_ABILITIES: Final = frozenset({"clientCapabilities", "capabilities"})
_WORDS: Final = (
    (("providers/",), "model service"),
    (("authenticate", "auth/", "logout"), "login"),
    (("session/set_",), "mode or option"),
    (("session/",), "kept session"),
)
"""What the methods of a client concern that are not harmless, by how they begin."""


def _is_report(members: dict[str, Any], names: AbstractSet[str]) -> bool:
    """Return whether a result only has the text of a file, or how a command has ended."""
    status = members.get("exitStatus")
    values = [each for name, each in members.items() if name not in {"exitStatus", _META}]
    is_known = any(names <= each for each in _CLIENT_RESULTS)
    is_ended = status is None or (
        isinstance(status, Members) and _members(status).keys() <= {"exitCode", "signal"}
    )
    values += _members(status).values()
    return is_known and is_ended and not any(isinstance(each, Members | list) for each in values)


def _described_call(method: str, params: Members) -> str:
    what = next(
        (label for begins, label in _WORDS if method.startswith(begins)), "extension method"
    )
    given = _members(params)
    named = ("methodId", "method", "modelId", "model", "modeId", "sessionId", "session_id", "id")
    value = next((f" {_text(given[name])}" for name in named if name in given), "")
    return f"{what}: {method}{value}"


def _setting(params: Members) -> str:
    given = _members(params)
    named = sorted(spellings("configId") & given.keys())
    return _text(given[named[0]]) if named else "mode"


def _is_asking(mode: Any) -> bool:
    return isinstance(mode, str) and mode in ASKING_MODES


def _is_command(text: Any) -> bool:
    """Return whether a text begins with the mark of a command, behind anything that is no sign."""
    signs = text if isinstance(text, str) else ""
    return next((each for each in signs if unicodedata.category(each)[0] not in "CZ"), "") in _MARKS


def _without_abilities(message: Members) -> Members:
    """Return a message without what a client says it can do, which `_texts` judges."""
    if ("method", "initialize") not in message.pairs:
        return message
    params = _members(_members(message).get("params"))
    rest = [(name, params[name]) for name in params if name not in _ABILITIES]
    return Members([(n, Members(rest) if n == "params" else v) for n, v in message.pairs])


def _about(path: str, value: Any) -> Iterator[str]:
    """Yield the texts by which a client describes itself otherwise than by its name."""
    for name, each in _members(value).items():
        if name not in {"name", "title", "version", _META} or not isinstance(each, str):
            yield from _texts(f"{path}.{name}", each)
    if not isinstance(value, Members) and value is not None:
        yield f"unknown member: {path} = {_text(value)}"


_NEW: Final = b"session/new"
_SESSION: Final = spellings("sessionId")
_FORM: Final = frozenset(
    {"sessionId", "toolCallId", "requestId", "mode", "message", "requestedSchema", _META}
    | {"elicitationId"}
)


class AgentJudge(_Judge):
    """Judges what is sent to a client."""

    side = "agent"

    def __init__(self) -> None:
        super().__init__()
        self._roots: list[str] = []
        """The directory of the first session, which is replaced by the client's."""
        self._sessions: set[str] = set()
        """The sessions that were opened before."""

    def observe(self, frame: Frame) -> None:
        opened = [
            value
            for message in (lenient_messages(frame.data) if _NEW in frame.data else [])
            if ("method", "session/new") in message.pairs
            for name, value in _members(_members(message).get("params")).items()
            if name in spellings("cwd")
        ]
        for each in opened if not self._roots else []:
            self._roots += [each.rstrip("/")] if _is_place(each) else []

    def judge_members(self, message: Members) -> Iterator[str]:
        for name, value in all_members(message):
            plain = _plain_name(name)
            if plain in _LOGIN and value:
                yield f"login command: {_text(value)}"
            elif plain in {"authmethods", "authenticationmethods"}:
                for method in map(_members, listed(value)):
                    if method.get("type") == "terminal" or method.keys() & {"args", "env"}:
                        yield f"login command: {_text(method.get('args') or method.get('id'))}"

    def judge_call(self, method: str, params: Members) -> Iterator[str]:
        given = _members(params)
        path = given.get("path")
        match method:
            case "session/update" | "$/cancel_request" | "elicitation/complete":
                pass
            case "session/request_permission":
                pass
            case "elicitation/create" if given.keys() <= _FORM and given.get("mode") == "form":
                pass
            case "elicitation/create":
                yield f"page to open: {_text(given.get('url', params))}"
            case "terminal/create":
                args = listed(given.get("args") or [])
                yield " ".join(["command:", *map(_text, [given.get("command"), *args])])
            case "fs/write_text_file":
                yield f"file to write: {_text(path)}"
            case "fs/read_text_file":
                if not self._is_inside(given):
                    yield f"file to read: {_text(path)}"
            case _ if method.startswith("terminal/"):
                yield f"terminal: {method}"
            case _:
                yield f"extension method: {method}"

    def judge_result(self, result: Any) -> Iterator[str]:
        self._sessions |= _opened(result)
        return iter(())

    def _is_inside(self, read: dict[str, Any]) -> bool:
        """Return whether a file is read in the directory of a session that is open by then."""
        path = read.get("path")
        sessions = {_text(read[name]) for name in _SESSION & read.keys()}
        is_known = read.keys() <= _SESSION | {"path", "line", "limit"} and len(sessions) == 1
        is_open = is_known and sessions <= self._sessions
        return is_open and isinstance(path, str) and _is_below(path, self._roots)


# Values


def _opened(result: Any) -> set[str]:
    """Return the session that a result of an agent names."""
    members = _members(result)
    return {_text(members[name]) for name in _SESSION & members.keys()}


def _members(value: Any) -> dict[str, Any]:
    """Return the members of an object; none of anything else."""
    return dict(value.pairs) if isinstance(value, Members) else {}


def _items(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


def _plain(value: Any) -> Any:
    """Return a value with dictionaries, one level deep: as much as an envelope has."""
    if not isinstance(value, Members):
        return value
    return {
        name: _members(each) if isinstance(each, Members) else each for name, each in value.pairs
    }


def _is_full(value: Any) -> bool:
    """Return whether a value is a list or an object with something in it."""
    return isinstance(value, Members | list) and value not in ([], Members([]))


def _text(value: Any) -> str:
    if isinstance(value, Members):
        return "{" + ", ".join(f"{name}: {_text(each)}" for name, each in value.pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_text(each) for each in _items(value)) + "]"
    return str(value)


def _officially(value: Any) -> Any:
    """Return a value with official names, so that its raw form and its meaning are one line."""
    if not isinstance(value, Members):
        return value
    return Members([(_OFFICIAL.get(name, name), _officially(each)) for name, each in value.pairs])


def _is_place(value: Any) -> bool:
    return isinstance(value, str) and is_placed(value)


def _is_below(path: str, roots: Iterable[str]) -> bool:
    """Return whether a path is in a directory, both as it is spelt and as it is meant."""
    return any(
        (path == root or path.startswith(f"{root}/"))
        and f"{os.path.normpath(path)}/".startswith(f"{os.path.normpath(root)}/")
        for root in roots
    )


def _without_marks(message: Members, dialect: str | None) -> Members:
    """Return a translated message without what the dialect has noted in it."""
    names = {dialect} if dialect in DIALECTS else set[str]()

    def cleaned(name: str, value: Any) -> Any:
        if not isinstance(value, Members):
            return value
        kept = [(n, cleaned(n, each)) for n, each in value.pairs if name != _META or n not in names]
        return Members(kept)

    return cast("Members", cleaned("", message))


def _servers(value: Any) -> list[str]:
    """Return the servers of a list, or of an object by their names."""
    if isinstance(value, Members):
        value = [each if isinstance(each, Members) else name for name, each in value.pairs]
    return [] if value is None else [_server(each) for each in listed(value)]


def _server(server: Any) -> str:
    plain = _members(server)
    command = plain.get("command")
    if command is None:
        return _text(plain.get("url") or plain.get("name") or server)
    env = plain.get("env")
    variables = [f"{name}={_text(each)}" for name, each in _members(env).items()] or [
        f"{_members(each).get('name')}={_members(each).get('value')}" for each in listed(env or [])
    ]
    args = listed(plain.get("args") or [])
    return " ".join([*variables, *map(_text, [command, *args])])


def _leaves(path: str, value: Any) -> Iterator[str]:
    """Yield what `_meta` says, which may mean anything, but for the context of a trace."""
    if isinstance(value, Members):
        pairs = [(n, v) for n, v in value.pairs if not (path == _META and n in _TRACE)]
        yield from chain.from_iterable(_leaves(f"{path}.{name}", each) for name, each in pairs)
    elif isinstance(value, list):
        yield from chain.from_iterable(_leaves(path, each) for each in _items(value))
    elif value is not None and value is not False:
        yield f"extension: {path} = {value}"


def _texts(path: str, value: Any) -> Iterator[str]:
    """Yield the texts in what a client can do: flags and numbers name nothing that acts."""
    if isinstance(value, Members):
        for name, each in value.pairs:
            if name != "positionEncodings":
                yield from _texts(f"{path}.{name}", each)
    elif isinstance(value, list):
        yield from chain.from_iterable(_texts(path, each) for each in _items(value))
    elif isinstance(value, str):
        yield f"extension: {path} = {value}"
