"""Files that a client wrote and commands that it started, without a permission request."""

from __future__ import annotations

from typing import Any

import pytest

from acp_console.chat.changed_files import ChangedFiles
from acp_inspector.journal import Frame
from acp_inspector.session.conversations import Conversations
from acp_inspector.session.items import Effect
from acp_protocol.dialects.registry import DIALECTS, open_dialect
from tests.inspector.talks import Said, answer, ask, frames, prompt, update

HELLO = (
    ask("client", 0, "initialize", protocolVersion=1, clientCapabilities={}),
    answer("agent", 0, {"protocolVersion": 1, "agentCapabilities": {}}),
    ask("client", 1, "session/new", cwd="/w", mcpServers=[]),
    answer("agent", 1, {"sessionId": "s1"}),
    prompt(2, "go"),
)
OPTIONS = [
    {"optionId": kind, "name": kind, "kind": kind}
    for kind in ("allow_once", "allow_always", "reject_once")
]


def written(path: str = "/w/a.py", *, id_: int = 50) -> list[Said]:
    request = ask("agent", id_, "fs/write_text_file", sessionId="s1", path=path, content="x")
    return [request, answer("client", id_, {})]


def started(*words: str, id_: int = 60) -> list[Said]:
    params: dict[str, Any] = {"command": words[0], "args": list(words[1:])}
    return [
        ask("agent", id_, "terminal/create", sessionId="s1", **params),
        answer("client", id_, {"terminalId": f"t{id_}"}),
    ]


def asked(chosen: str, *, id_: int = 40, **call: Any) -> list[Said]:
    tool_call = {"toolCallId": f"c{id_}", "status": "pending", **call}
    params: dict[str, Any] = {"sessionId": "s1", "toolCall": tool_call, "options": OPTIONS}
    outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
    return [
        ask("agent", id_, "session/request_permission", **params),
        answer("client", id_, outcome),
    ]


def effects(*said: Said, dialect: str | None = None) -> list[Effect]:
    """Return what the conversation shows as done without asking."""
    spoken = list(frames(*HELLO, *said))
    conversations = Conversations()
    if dialect is not None:
        peer, own = open_dialect(dialect, "/w"), open_dialect(dialect, "/w")
        conversations = Conversations(own)
        spoken = [
            Frame(number, 0.0, frame.side, line)
            for number, frame in enumerate(spoken, 1)
            for line in peer.write(frame.data, frame.side)
        ]
    for frame in spoken:
        conversations.apply(frame)
    sessions = conversations.sessions.values()
    return [item for each in sessions for item in each.items if isinstance(item, Effect)]


def texts(*said: Said, dialect: str | None = None) -> list[str]:
    return [each.text for each in effects(*said, dialect=dialect)]


@pytest.mark.parametrize("dialect", [None, *DIALECTS])
def test_what_nobody_was_asked_about_leaves_a_line(dialect: str | None) -> None:
    shown = texts(*written(), *started("npm", "run", "a b"), dialect=dialect)
    assert shown == ["wrote /w/a.py without asking", "ran npm run a b without asking"]


def test_files_that_were_written_without_asking_are_changed_files() -> None:
    files = ChangedFiles()
    files.note(effects(*written(), *started("ls")))
    [file] = files.files().values()
    assert (file.path, file.is_counted) == ("/w/a.py", False)


@pytest.mark.parametrize(
    "call",
    [
        {"title": "Edit `a.py`"},
        {"title": "Edit", "locations": [{"path": "/w/a.py"}]},
        {"title": "Edit", "rawInput": {"files": [{"file_path": "/w/a.py"}]}},
        {"content": [{"type": "diff", "path": "/w/a.py", "oldText": None, "newText": "x"}]},
    ],
)
def test_a_file_that_was_asked_about_leaves_none(call: dict[str, Any]) -> None:
    assert texts(*asked("allow_once", **call), *written()) == []
    assert texts(*asked("reject_once", **call), *written()) != []
    assert texts(*written(), *asked("allow_once", **call)) != []


@pytest.mark.parametrize("title", ["Edit /w/a.pyc", "Edit b/a.py", "Edit data.py", "Edit /w"])
def test_a_permission_for_another_file_is_none_for_this_one(title: str) -> None:
    assert texts(*asked("allow_once", title=title), *written()) != []


@pytest.mark.parametrize(
    "call",
    [
        {"title": "Run `npm run 'a b'`"},
        {"title": "Run", "rawInput": {"command": "npm run a b"}},
        {"title": "Run", "rawInput": {"argv": ["npm", "run", "a b"]}},
    ],
)
def test_a_command_that_was_asked_about_leaves_none(call: dict[str, Any]) -> None:
    assert texts(*asked("allow_once", **call), *started("npm", "run", "a b")) == []
    assert texts(*asked("allow_once", **call), *started("npm", "run", "b")) != []


def test_quotes_of_a_command_that_was_asked_about_are_those_of_its_words() -> None:
    """The user sees what a shell would split, the client gets the words."""
    asks = asked("allow_once", title="Run", rawInput={"command": "sed -i 's/a b/c/' \"/w/x y\""})
    assert texts(*asks, *started("sed", "-i", "s/a b/c/", "/w/x y")) == []
    assert texts(*asks, *started("sed", "-i", "s/a b/d/", "/w/x y")) != []
    unfinished = asked("allow_once", title="Run sed 's/a")
    assert texts(*unfinished, *started("sed", "s/a")) != []


def test_what_a_shell_runs_is_the_command_that_was_asked_about() -> None:
    shell = started("bash", "-lc", "ls | wc")
    assert texts(*asked("allow_once", title="ls | wc"), *shell) == []
    assert texts(*asked("allow_once", title="ls"), *shell) == [
        "ran bash -lc ls | wc without asking"
    ]


@pytest.mark.parametrize(
    "words", [("bash", "-c", "rm x", "ls"), ("rm", "-c", "ls"), ("bash", "-c", "-c", "ls")]
)
def test_the_last_word_is_not_always_what_a_shell_runs(words: tuple[str, ...]) -> None:
    assert texts(*asked("allow_once", title="ls"), *started(*words)) != []


@pytest.mark.parametrize("kind", ["read", "search", "fetch", "think"])
def test_who_allowed_a_harmless_call_allowed_no_effect(kind: str) -> None:
    allowed = asked("allow_once", title="a.py with ls", kind=kind)
    assert len(texts(*allowed, *written(), *started("ls"))) == 2


def test_who_allowed_an_edit_allowed_no_command() -> None:
    assert texts(*asked("allow_once", title="Edit ls", kind="edit"), *started("ls")) != []


def test_what_a_call_becomes_after_it_was_allowed_was_not_asked_about() -> None:
    later = update("tool_call_update", toolCallId="c40", title="Run rm", rawInput={"f": "/w/a.py"})
    shown = texts(*asked("allow_once", title="Run ls"), later, *written(), *started("rm"))
    assert shown == ["wrote /w/a.py without asking", "ran rm without asking"]


def test_what_is_always_allowed_was_asked_about_once() -> None:
    turns = [*asked("allow_always", title="Edit b.py", kind="edit"), *written()]
    assert texts(*turns) == []
    assert texts(*turns, *started("ls")) == ["ran ls without asking"]


def test_a_permission_of_an_earlier_turn_is_over() -> None:
    call: dict[str, Any] = {"title": "Edit a.py"}
    end = answer("agent", 2, {"stopReason": "end_turn"})
    assert texts(*asked("allow_once", **call), end, prompt(3, "more"), *written()) != []


def test_what_the_client_refused_has_not_happened() -> None:
    request = written()[0]
    error = {"code": -32602, "message": "no"}
    assert texts(request, ("client", {"id": 50, "error": error})) == []
