"""The examples for editors: well-formed, and each of them run as an editor would run it.

The editor here starts what the example says and talks to it; the agents that the examples name are
ours under their names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from acp_inspector.control.client import running_proxies
from acp_inspector.importers.acp_el import LispList, LispReader
from acp_inspector.recording.reader import read_recording
from tests.console.cli.servers import serving
from tests.warm import WARM

PAGE = (Path(__file__).parent.parent / "docs/editors.md").read_text()
BIN = "/home/me/.local/bin"
FOLDERS = {"/home/me/acp": "acp", "/home/me/.local/state": "state"}
AGENTS = ("my-agent", "gemini", "claude-agent-acp")
LIMIT = 60.0
"""Seconds after which a talk counts as hung."""


@dataclass(frozen=True)
class Start:
    """What an editor is told to start."""

    section: str
    command: str
    args: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        return self.args[self.args.index("--name") + 1]


def snippets(language: str) -> Iterator[tuple[str, str]]:
    """Yield the examples in a language, each with the title above it."""
    for section in PAGE.split("\n## ")[1:]:
        title = section.partition("\n")[0]
        for found in re.finditer(rf"```{language}\n(.*?)```", section, re.DOTALL):
            yield title, found[1]


# Reading


class Lua:
    """Reads as much of Lua as settings are written in; everything else is an error.

    Tables become dicts, calls and functions tuples of what stands in them.
    """

    RESERVED = frozenset({"do", "else", "end", "for", "if", "local", "return", "then", "while"})
    TOKEN = re.compile(r'\s+|--[^\n]*|("(?:[^"\\\n]|\\.)*")|([A-Za-z_]\w*)|([{}()\[\],;=.])')

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at = 0
        while at < len(text):
            found = self.TOKEN.match(text, at)
            assert found, f"no Lua: {text[at : at + 20]!r}"
            at = found.end()
            if found.lastindex:
                self._tokens.append(found[0])
        self._at = 0

    def chunk(self) -> list[Any]:
        said: list[Any] = []
        while self._at < len(self._tokens):
            said.append(self._value())
            assert said[-1][0] == "call", "only a call can stand alone"
        return said

    def _next(self, wanted: str | None = None) -> str:
        assert self._at < len(self._tokens), "it ends too early"
        token = self._tokens[self._at]
        assert wanted in {None, token}, f"{wanted} is missing before {token}"
        self._at += 1
        return token

    def _is_next(self, token: str, ahead: int = 0) -> bool:
        at = self._at + ahead
        return at < len(self._tokens) and self._tokens[at] == token

    def _value(self) -> Any:
        token = self._next()
        if token == "{":
            value: Any = self._table()
        elif token.startswith('"'):
            value = json.loads(token)
        elif token == "function":
            self._next("(")
            self._next(")")
            self._next("return")
            value = ("function", self._value())
            self._next("end")
        else:
            assert token.isidentifier(), token
            assert token not in self.RESERVED, token
            value = ("name", token)
        while self._is_next("(") or self._is_next("."):
            if self._next() == ".":
                value = ("member", value, self._next())
            else:
                value = ("call", value, self._listed(")"))
        return value

    def _listed(self, end: str) -> list[Any]:
        values: list[Any] = []
        while not self._is_next(end):
            values.append(self._value())
            if not self._is_next(end):
                self._next(",")
        self._next(end)
        return values

    def _table(self) -> dict[Any, Any]:
        table: dict[Any, Any] = {}
        while not self._is_next("}"):
            if self._is_next("=", 1):
                key: Any = self._next()
                self._next("=")
            else:
                key = len(table) + 1
            table[key] = self._value()
            if not self._is_next("}"):
                self._next(",")
        self._next("}")
        return table


def lisp(text: str) -> list[Any]:
    """Return the expressions, each a list of lists, names and texts."""
    wrapped = LispReader().read(f"({text})")
    return cast("list[Any]", _plain(wrapped))


def _plain(value: Any) -> Any:
    if isinstance(value, LispList):
        assert value.tail is None
        return [_plain(item) for item in value.items]
    return value if isinstance(value, str) else ("name", value.name)


def starts() -> list[Start]:
    """Return what all examples say is to be started."""
    found: list[Start] = []
    for title, text in snippets("json"):
        found += _in_tables(title, json.loads(text))
    for title, text in snippets("lua"):
        found += _in_tables(title, Lua(text).chunk())
    for title, text in snippets("elisp"):
        found += _in_lists(title, lisp(text))
    return found


def _in_tables(title: str, value: Any) -> Iterator[Start]:
    if isinstance(value, dict):
        table = cast("dict[Any, Any]", value)
        if isinstance(table.get("command"), str):
            args: Any = table["args"]
            words = cast("list[str]", args if isinstance(args, list) else [*args.values()])
            # What is not text is asked of the editor's own environment.
            env = {
                name: value if isinstance(value, str) else "a-key"
                for name, value in table.get("env", {}).items()
            }
            yield Start(title, table["command"], tuple(words), env)
        elif table.get(1) == "acp-console":
            command, *rest = table.values()
            yield Start(title, command, tuple(rest))
        else:
            for item in table.values():
                yield from _in_tables(title, item)
    elif isinstance(value, list | tuple):
        for item in cast("list[Any]", value):
            yield from _in_tables(title, item)


def _in_lists(title: str, value: list[Any]) -> Iterator[Start]:
    if value and value[0] == "acp-console":
        yield Start(title, value[0], tuple(value[1:]))
    elif ("name", ":command") in value:
        command = value[value.index(("name", ":command")) + 1]
        # The quote stands before the list.
        words = value[value.index(("name", ":command-params")) + 2]
        yield Start(title, command, tuple(words))
    else:
        for item in value:
            if isinstance(item, list):
                yield from _in_lists(title, cast("list[Any]", item))


# Running


@dataclass(frozen=True)
class Machine:
    """Where the programs that the examples name can be found."""

    home: Path
    """Has what stands for the folders that the examples name."""
    programs: Path

    @property
    def folder(self) -> Path:
        """Where recordings go."""
        return self.home / "acp"

    def rewritten(self, word: str) -> str:
        for there, here in FOLDERS.items():
            word = word.replace(there, str(self.home / here))
        return word.replace(BIN, str(self.programs))

    def environment(self, start: Start) -> dict[str, str]:
        return os.environ | {"PATH": f"{self.programs}:{os.environ['PATH']}"} | dict(start.env)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Machine]:
    programs = tmp_path / "bin"
    for folder in ("bin", *FOLDERS.values()):
        (tmp_path / folder).mkdir()
    ours = {"acp-console": "acp_console", "acp-agent": "acp_agent"}
    modules = ours | dict.fromkeys(AGENTS, "acp_agent")
    for name, module in modules.items():
        script = programs / name
        # What the agents are called with here is theirs, and ours would not know it.
        words = ' "$@"' if name in ours else ""
        script.write_text(f"#!/bin/sh\nexec {shlex.join(WARM)} -m {module}{words}\n")
        script.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield Machine(tmp_path, programs)


@contextmanager
def started(
    machine: Machine, start: Start, cwd: Path, way: str
) -> Generator[tuple[subprocess.Popen[bytes], Any, Any]]:
    """Start as an editor does, without a shell: with pipes, or as Node does with sockets."""
    command = [machine.rewritten(word) for word in (start.command, *start.args)]
    env = machine.environment(start)
    # The editor's own search for the program uses the environment that the program gets.
    command[0] = next(
        str(Path(place, command[0]))
        for place in env["PATH"].split(":")
        if Path(place, command[0]).exists()
    )
    if way == "pipes":
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, cwd=cwd, env=env) as process:
            yield process, process.stdin, process.stdout
        return
    ours, theirs = zip(*(socket.socketpair() for _ in range(2)), strict=True)
    with subprocess.Popen(
        command, stdin=theirs[0], stdout=theirs[1], cwd=cwd, env=env, start_new_session=True
    ) as process:
        for end in theirs:
            end.close()
        with ours[0], ours[1], ours[0].makefile("wb") as stdin, ours[1].makefile("rb") as stdout:
            yield process, stdin, stdout
            ours[0].shutdown(socket.SHUT_WR)
            assert stdout.read() == b""
            process.wait(LIMIT)


def ask(stdin: Any, stdout: Any, id_: int, method: str, **params: Any) -> Any:
    message = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
    stdin.write(json.dumps(message).encode() + b"\n")
    stdin.flush()
    for line in stdout:
        answer = json.loads(line)
        if answer.get("id") == id_:
            return answer["result"]
    raise AssertionError("the agent has ended")


def open_session(stdin: Any, stdout: Any, cwd: Path) -> Any:
    ask(stdin, stdout, 0, "initialize", protocolVersion=1, clientCapabilities={})
    return ask(stdin, stdout, 1, "session/new", cwd=str(cwd), mcpServers=[])


def talk(stdin: Any, stdout: Any, cwd: Path) -> str:
    opened = open_session(stdin, stdout, cwd)
    prompt = [{"type": "text", "text": "hello"}]
    told = ask(stdin, stdout, 2, "session/prompt", sessionId=opened["sessionId"], prompt=prompt)
    return str(told["stopReason"])


CONSOLE = [start for start in starts() if start.command.endswith("acp-console")]
PROXIES = [start for start in CONSOLE if start.args[0] == "proxy"]
BRIDGES = [start for start in CONSOLE if start.args[0] == "bridge"]
AGENT = [start for start in starts() if start.command.endswith("acp-agent")]


def test_every_editor_that_is_named_has_examples() -> None:
    sections = [start.section for start in PROXIES]
    assert sorted(set(sections)) == ["Emacs", "JetBrains IDEs", "Neovim", "VS Code", "Zed"]
    assert len(sections) == 9
    assert all("--" in start.args for start in PROXIES)
    assert [start.section for start in AGENT] == ["Our agent"] * 2
    assert [start.section for start in BRIDGES] == ["A remote agent"]
    assert len(PROXIES) + len(BRIDGES) + len(AGENT) == len(starts())


@pytest.mark.parametrize(
    "text", ["f({", 'f("a" "b")', "f({ a = = 1 })", "f({ a = 1 } }", "do end", "x"]
)
def test_what_is_no_lua_is_an_error(text: str) -> None:
    """Or the check of the examples would say nothing."""
    with pytest.raises(AssertionError):
        Lua(text).chunk()


@pytest.mark.parametrize("way", ["pipes", "sockets"])
@pytest.mark.parametrize("start", PROXIES, ids=lambda start: f"{start.section} {start.name}")
def test_an_editor_talks_to_its_agent_through_the_example(
    start: Start, way: str, machine: Machine, tmp_path: Path
) -> None:
    with started(machine, start, tmp_path, way) as (process, stdin, stdout):
        assert talk(stdin, stdout, tmp_path) == "end_turn"
        assert [proxy.name for proxy in running_proxies()] == [start.name]
        if way == "pipes":
            stdin.close()
            assert stdout.read() == b""
            process.wait(LIMIT)
    assert process.returncode == 0
    assert running_proxies() == []
    for path in machine.folder.iterdir():
        recording = read_recording(path)
        assert recording.footer is not None
        assert b"hello" in b"".join(frame.data for frame in recording.frames)
    assert len(list(machine.folder.iterdir())) == ("--record" in start.args)


@pytest.mark.parametrize("start", AGENT, ids=lambda start: start.args[1])
def test_an_editor_opens_a_session_of_our_agent_with_the_model_of_the_example(
    start: Start, machine: Machine, tmp_path: Path
) -> None:
    with started(machine, start, tmp_path, "pipes") as (process, stdin, stdout):
        opened = open_session(stdin, stdout, tmp_path)
        chosen = {each["id"]: each["currentValue"] for each in opened["configOptions"]}
        assert chosen["model"] == start.args[1]
        stdin.close()
        process.wait(LIMIT)
    assert process.returncode == 0
    assert any((machine.home / "state").iterdir()) == ("--sessions" in start.args)


@pytest.mark.parametrize("start", BRIDGES, ids=lambda start: start.section)
def test_an_editor_talks_to_a_remote_agent_through_the_example(
    start: Start, machine: Machine, tmp_path: Path
) -> None:
    (variable,) = start.env
    token = "0123456789abcdef-token"
    words = ("bridge", "--listen", "127.0.0.1:0", "--token-env", variable, "--")
    with serving(*words, str(machine.programs / "my-agent"), env={variable: token}) as server:
        args = [server.url if word.startswith("https:") else word for word in start.args]
        here = replace(start, args=tuple(args), env={variable: token})
        with started(machine, here, tmp_path, "pipes") as (process, stdin, stdout):
            assert talk(stdin, stdout, tmp_path) == "end_turn"
            stdin.close()
            process.wait(LIMIT)
        assert process.returncode == 0
        assert server.wait_for("exited with code ") == "0"


@pytest.mark.parametrize("line", re.findall(r"```sh\n(.*?)\n```", PAGE, re.DOTALL))
def test_lines_for_a_shell_run_there(line: str, machine: Machine, tmp_path: Path) -> None:
    env = machine.environment(Start("", "", ()))
    for _ in range(2):
        with subprocess.Popen(
            ["sh", "-c", machine.rewritten(line)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=tmp_path,
            env=env,
        ) as process:
            assert process.stdin is not None
            assert talk(process.stdin, process.stdout, tmp_path) == "end_turn"
            process.stdin.close()
            assert process.wait(LIMIT) == 0
    found = [path.name for path in machine.folder.iterdir()]
    assert len(found) == (1 if "--append" in line else 2)
    if "{agent}" in line:
        assert all(name.startswith(f"my-agent-{time.strftime('%Y-')}") for name in found)
