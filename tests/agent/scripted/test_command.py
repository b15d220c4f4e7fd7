"""`acp-agent --script FILE` in processes of its own, with our client and the official SDK's."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import acp
import anyio
import anyio.lowlevel
import pytest
from acp.schema import (
    TextContentBlock,
    ToolCallStart,
)

from acp_agent import scripted
from acp_agent.scripted.load import EXAMPLES, load_script
from acp_console.agents.spec import command_agent
from acp_console.chat.connection import connect_agent
from acp_console.chat.handlers import ClientHandlers
from acp_console.chat.permissions import PolicyDecider
from acp_inspector.journal import Frame, Journal
from acp_inspector.lint.engine import Linter
from acp_inspector.recording.reader import read_recording
from acp_protocol.jsonrpc import (
    Json,
    Notification,
    Request,
    encode_notification,
    encode_request,
    read_message,
)
from acp_protocol.schema.validate import validate_params, validate_result
from tests.agent.client import lint_errors
from tests.agent.scripted.sdk_client import AGENT, LIMIT, sdk
from tests.agent.scripted.stage import HELLO
from tests.warm import WARM

EXEC = [*WARM, "-m", "acp_console", "exec"]
CLEAN = {
    "hello": ["hello"],
    "tour": ["show me"],
    "editor": ["read", "write", "run", "form", "?"],
    "cancel": ["ask"],
    "sessions": [],
}
"""The examples that do as a good agent does, and what to say to them."""
SURVIVED = {
    "noise": "Hello there.",
    "split": "Grüße aus Köln — 你好 🙂",
    "slow": "Slowly.",
    "huge": None,
    "padded": "Little of it.",
    "deep": None,
    "crlf": "With a carriage return.",
    "glued": None,
    "invalid": None,
    "latin": None,
    "flood": None,
    "stranger": None,
    "unknown": "It was refused.",
    "malformed": None,
    "twins": None,
    "twice": "",
    "delayed": "",
    "reason": "",
    "overtaken": "Overtaken.",
    "reordered": "",
    "swapped": "Whose?",
    "late": None,
}
"""Faults behind which our client goes on, and what it has heard then, if that is certain."""
ENDED = {
    "error": 4,
    "batch": 4,
    "cut": 3,
    "close": 3,
    "exit": 3,
    "kill": 3,
    "never": 124,
    "other id": 124,
    "retyped": 124,
    "hang": 124,
}
"""Faults that end it, with its exit code."""


START = """
from acp_agent.scripted import *
async def initialize(call):
    await call.raw(b"a\\n")
"""


def ran(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*AGENT, *arguments], input=stdin, capture_output=True, timeout=LIMIT, check=False
    )


def executed(words: str, script: str, *options: str, protocol: int = 1) -> Any:
    """Say something to a script through our own client."""
    agent = [*AGENT, "--script", script, "--protocol", str(protocol)]
    command = [*EXEC, "--protocol", str(protocol), *options, words, "--", *agent]
    return subprocess.run(command, capture_output=True, timeout=LIMIT, check=False, text=True)


def misshapen(frames: list[Frame], version: int) -> list[str]:
    """Return what does not fit the published shapes."""
    found: list[str] = []
    asked: dict[Json, str] = {}
    for frame in frames:
        message = read_message(frame.data)
        if isinstance(message, Request) and frame.side == "client":
            asked[message.id] = message.method
        fields: Any = json.loads(frame.data)
        if frame.side == "agent" and "method" in fields:
            found += map(str, validate_params(fields["method"], fields["params"], version))
        elif frame.side == "agent" and "result" in fields:
            found += map(str, validate_result(asked[fields["id"]], fields["result"], version))
    return found


def test_an_example_is_found_by_its_name_and_is_right() -> None:
    done = ran("--script", "faults", "--check")
    assert done.returncode == 0
    assert done.stdout.decode() == f"{EXAMPLES / 'faults'}.py: can be run\n"


@pytest.mark.parametrize("protocol", [1, 2])
@pytest.mark.parametrize(
    ("name", "words"), [(name, words) for name, all_ in CLEAN.items() for words in all_]
)
def test_a_clean_example_is_a_good_agent_to_our_client(
    tmp_path: Path, name: str, words: str, protocol: int
) -> None:
    (tmp_path / "notes.md").write_text("Buy milk.\n")
    record = tmp_path / "it.acp.ndjson"
    options = ("--allow", "all", "--cwd", str(tmp_path), "--record", str(record))
    done = executed(words, name, *options, protocol=protocol)
    assert done.returncode == 0, done.stderr
    recording = read_recording(record)
    entries = list(recording.entries)
    assert lint_errors(entries, unstable=False) == []
    frames = [entry for entry in entries if isinstance(entry, Frame)]
    assert misshapen(frames, protocol) == []
    if (name, words, protocol) == ("editor", "read", 1):
        assert done.stdout == "It says: Buy milk.\n"


STRAY = {"noise", "malformed"}
"""Faults that write lines that are no messages."""


@pytest.mark.parametrize("words", ["noise", "split", "huge", "malformed"])
def test_our_client_bears_a_fault(words: str) -> None:
    done = executed(words, "faults", "--timeout", "30")
    assert done.returncode == 0
    assert ("of the agent's stdout" in done.stderr) == (words in STRAY)
    if (shown := SURVIVED[words]) is not None:
        assert done.stdout.strip() == shown


async def test_our_client_bears_one_fault_after_the_other_in_one_session(tmp_path: Path) -> None:
    journal = Journal()
    host = ClientHandlers(PolicyDecider("all", lambda _ask, _is_allowed: None))
    spec = command_agent([*AGENT, "--script", "faults"])
    with anyio.fail_after(LIMIT):
        async with connect_agent(spec, cwd=tmp_path, journal=journal, handlers=host) as link:
            session = await link.new_session(tmp_path)
            for words, shown in SURVIVED.items():
                begin = len(journal.entries)
                answer = await link.prompt(session["sessionId"], words)
                assert answer["stopReason"] == (
                    "out_of_coffee" if words == "reason" else "end_turn"
                )
                frames = [each for each in journal.entries[begin:] if isinstance(each, Frame)]
                assert shown is None or _text_of(frames) == shown


def _text_of(frames: list[Frame]) -> str:
    texts: list[str] = []
    for frame in frames:
        message = read_message(frame.data)
        if isinstance(message, Notification) and message.method == "session/update":
            texts.append(message.params["update"].get("content", {}).get("text", ""))
    return "".join(texts)


@pytest.mark.parametrize("words", ENDED)
def test_our_client_tells_of_a_fault_that_ends_it(words: str) -> None:
    done = executed(words, "faults", "--timeout", "1" if ENDED[words] == 124 else "30")
    assert done.returncode == ENDED[words], done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr


ARRAYS = Path(__file__).parents[2] / "protocol/dialects/peers/batch_script.py"
"""An agent that sends two updates in one array."""


def test_our_client_prints_updates_of_an_array_in_the_dialect_that_has_them(
    tmp_path: Path,
) -> None:
    record = tmp_path / "arrays.acp.ndjson"
    options = ("--dialect", "v2-batch", "--record", str(record))
    done = executed("x", str(ARRAYS), *options, protocol=2)
    assert (done.returncode, done.stdout) == (0, "hi there\n")
    recording = read_recording(record)
    assert recording.header.dialect == "v2-batch"
    linter = Linter()
    for row in (recording.header, *recording.entries):
        linter.feed(row)
    linter.finish()
    assert linter.report.findings == []
    done = executed("x", str(ARRAYS), "--json", "--dialect", "v2-batch", protocol=2)
    assert [each for each in done.stdout.splitlines() if "agent_message_chunk" in each][1:]
    done = executed("x", str(ARRAYS), "--timeout", "30", protocol=2)
    assert (done.returncode, done.stdout) == (4, "")
    assert "sends arrays of messages" in done.stderr
    assert "hint: --dialect v2-batch" in done.stderr


@pytest.mark.parametrize("seed", ["1", "2"])
def test_our_client_bears_what_chance_brings(seed: str) -> None:
    agent = [*AGENT, "--script", "chaos", "--seed", seed]
    done = subprocess.run(
        [*EXEC, "--timeout", "3", "hello", "--", *agent],
        capture_output=True,
        timeout=LIMIT,
        check=False,
        text=True,
    )
    assert done.returncode in {0, 4, 124}
    assert "Traceback" not in done.stderr


def opening(version: int = 1) -> bytes:
    lines = [
        encode_request(0, "initialize", HELLO[version]),
        encode_request(1, "session/new", {"cwd": "/project", "mcpServers": []}),
    ]
    return b"".join(line + b"\n" for line in lines)


def prompt_line(id_: int, text: str) -> bytes:
    prompt = [{"type": "text", "text": text}]
    return (
        encode_request(id_, "session/prompt", {"sessionId": "session-1", "prompt": prompt}) + b"\n"
    )


def test_the_same_seed_gives_the_same_bytes() -> None:
    stdin = opening() + prompt_line(2, "hello")
    outs = [ran("--script", "chaos", "--seed", seed, stdin=stdin).stdout for seed in "112"]
    assert outs[0] == outs[1]
    assert len(set(outs)) == 2


def test_what_is_wrong_is_reported_before_anything_is_sent(tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text("\nimport no_such_module\n")
    problem = f"error: {path}:2: ModuleNotFoundError: No module named 'no_such_module'\n"
    for options, code in (((), 2), (("--check",), 1)):
        done = ran("--script", str(path), *options, stdin=opening())
        assert (done.returncode, done.stdout, done.stderr.decode()) == (code, b"", problem)
    debugged = ran("--script", str(path), "--debug").stderr.decode()
    assert debugged.startswith("Traceback (most recent call last):")
    assert debugged.endswith(problem)


def test_a_function_that_raises_is_reported_with_its_line_and_in_the_exit_code(
    tmp_path: Path,
) -> None:
    path = tmp_path / "it.py"
    path.write_text("async def prompt(call):\n    raise ValueError('broken')\n")
    stdin = opening() + prompt_line(2, "a")
    done = ran("--script", str(path), stdin=stdin)
    problem = f"error: {path}:2: session/prompt: ValueError: broken\n"
    assert (done.returncode, done.stderr.decode()) == (1, problem)
    assert b"Internal error" in done.stdout.splitlines()[-1]
    assert b"Traceback" in ran("--script", str(path), "--debug", stdin=stdin).stderr
    assert ran("--script", str(path), stdin=opening()).returncode == 0


def test_what_a_script_prints_goes_to_stderr(tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text("async def prompt(call):\n    print('aside', flush=True)\n")
    done = ran("--script", str(path), stdin=opening() + prompt_line(2, "a"))
    assert done.stderr == b"aside\n"
    assert b"aside" not in done.stdout


@pytest.mark.parametrize("options", [("--seed", "1"), ("--check",), ("--seed", "x")])
def test_options_of_a_script_are_nothing_without_one(options: tuple[str, ...]) -> None:
    done = ran(*options)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--dialect", "continuum"), 0),
        (("--dialect", "openoxide"), 0),
        (("--dialect", "continuum", "--protocol", "2"), 2),
        (("--dialect", "openoxide", "--protocol", "2"), 2),
    ],
)
def test_any_script_of_version_1_is_run_in_a_dialect(options: tuple[str, ...], code: int) -> None:
    done = ran("--script", "hello", *options, stdin=opening())
    assert done.returncode == code
    assert bool(done.stderr) == bool(code), done.stderr
    assert (b"authMethods" in done.stdout or b"slash_commands" in done.stdout) == (not code)


@pytest.mark.parametrize(
    ("crash", "code"),
    [("3", 3), ("0", 0), ("signal='KILL'", -signal.SIGKILL)],
)
def test_it_ends_as_it_is_told(tmp_path: Path, crash: str, code: int) -> None:
    path = tmp_path / "it.py"
    path.write_text(f"{START}    await call.fault(crash({crash}))\n    await call.raw('b')\n")
    done = ran("--script", str(path), stdin=opening())
    assert (done.returncode, done.stdout) == (code, b"a\n")


async def test_who_hangs_hears_neither_the_end_nor_a_signal(tmp_path: Path) -> None:
    path = tmp_path / "it.py"
    path.write_text(f"{START}    await call.fault(hang(60, ignore='TERM'))\n")
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "acp_agent", "--script", str(path)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(opening())
        process.stdin.close()
        assert process.stdout.readline() == b"a\n"
        with anyio.fail_after(LIMIT):
            while not _ignores(Path(f"/proc/{process.pid}/status"), signal.SIGTERM):
                await anyio.lowlevel.checkpoint()
        process.send_signal(signal.SIGTERM)
        assert process.poll() is None
        process.kill()
    assert process.returncode == -signal.SIGKILL


def _ignores(status: Path, which: signal.Signals) -> bool:
    (line,) = [line for line in status.read_text().splitlines() if line.startswith("SigIgn:")]
    return bool(int(line.split()[1], 16) & 1 << (which - 1))


def test_the_end_of_input_ends_what_waits() -> None:
    stdin = opening() + prompt_line(2, "hello")
    done = ran("--script", "cancel", stdin=stdin)
    assert done.returncode == 0
    assert json.loads(done.stdout.splitlines()[-1])["result"] == {"stopReason": "end_turn"}


def test_a_cancel_is_ignored_where_that_is_wanted() -> None:
    cancel = encode_notification("session/cancel", {"sessionId": "session-1"}) + b"\n"
    done = ran("--script", "cancel", stdin=opening() + prompt_line(2, "be stubborn") + cancel)
    assert b"cancelled" in done.stdout
    assert json.loads(done.stdout.splitlines()[-1])["result"] == {"stopReason": "end_turn"}


def test_it_starts_without_what_only_the_agent_needs() -> None:
    program = "import sys, acp_agent.scripted.command; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    heavy = {"httpx", "mcp", "acp_inspector", "acp_console"}
    assert heavy.isdisjoint(done.stdout.decode().split())


def test_every_clean_example_is_without_faults() -> None:
    names = {path.stem for path in EXAMPLES.glob("[a-z]*.py")}
    assert names == {*CLEAN, "faults", "chaos"}
    assert [name for name in CLEAN if load_script(EXAMPLES / f"{name}.py").faults] == []


def shown(words: str) -> list[Any]:
    return [TextContentBlock(type="text", text=words)]


@pytest.mark.parametrize(
    ("name", "words", "text"),
    [
        ("hello", "hi", "Hello from the scripted agent."),
        ("tour", "hi", "You said: hi\n\nChanged.That was all."),
        ("editor", "read", "It says: Buy milk.\n"),
        ("editor", "write", "Written."),
        ("editor", "run", "It printed: hello\n"),
        ("editor", "form", "I cannot: The client does not offer elicitation.form"),
        ("cancel", "ask", "That was decided."),
        ("faults", "noise", "Hello there."),
        ("faults", "split", "Grüße aus Köln — 你好 🙂"),
        ("faults", "late", "Before"),
    ],
)
async def test_the_official_client_is_played_to(name: str, words: str, text: str) -> None:
    async with sdk(name) as (client, agent):
        opened = await agent.new_session(cwd="/project")
        ended = await agent.prompt(session_id=opened.session_id, prompt=shown(words))
        assert ended.stop_reason == "end_turn"
        assert client.text.startswith(text)


@pytest.mark.parametrize(("words", "reason"), [("wait", "cancelled"), ("wrong", "refusal")])
async def test_the_official_client_cancels(words: str, reason: str) -> None:
    async with sdk("cancel") as (client, agent):
        opened = await agent.new_session(cwd="/project")
        async with anyio.create_task_group() as tasks:

            async def cancel() -> None:
                await client.has_heard.wait()
                await agent.cancel(session_id=opened.session_id)

            tasks.start_soon(cancel)
            ended = await agent.prompt(session_id=opened.session_id, prompt=shown(words))
            assert ended.stop_reason == reason


async def test_the_official_client_hears_the_first_last() -> None:
    """It does not mind, because answers may come in any order."""
    async with sdk("faults") as (_, agent):
        first, second = [(await agent.new_session(cwd="/project")).session_id for _ in range(2)]
        ended: list[str] = []
        async with anyio.create_task_group() as tasks:

            async def ask(session: str, words: str) -> None:
                await agent.prompt(session_id=session, prompt=shown(words))
                ended.append(session)

            tasks.start_soon(ask, first, "reordered")
            await anyio.lowlevel.checkpoint()
            tasks.start_soon(ask, second, "?")
        assert ended == [second, first]


async def test_the_official_client_takes_the_answer_of_another_session_for_its_own() -> None:
    async with sdk("faults") as (client, agent):
        first, second = [(await agent.new_session(cwd="/project")).session_id for _ in range(2)]
        async with anyio.create_task_group() as tasks:
            for session in (first, second):
                tasks.start_soon(partial(agent.prompt, session_id=session, prompt=shown("swapped")))
                await anyio.lowlevel.checkpoint()
        assert client.text == "Whose?Whose?"


async def test_the_official_client_loads_the_sessions_of_a_script() -> None:
    async with sdk("sessions") as (client, agent):
        with pytest.raises(acp.RequestError) as caught:
            await agent.new_session(cwd="/project")
        assert caught.value.code == -32000
        await agent.authenticate(method_id="key")
        listed = await agent.list_sessions()
        assert [entry.session_id for entry in listed.sessions] == ["monday", "tuesday"]
        rest = await agent.list_sessions(cursor=listed.next_cursor)
        assert [entry.session_id for entry in rest.sessions] == ["wednesday"]
        await agent.load_session(session_id="monday", cwd="/project")
        assert client.text == "Nine o'clock."
        assert [each.title for each in client.updates if isinstance(each, ToolCallStart)] == [
            "Look at the clock"
        ]


def test_options_that_do_not_count_beside_a_script_are_told_of() -> None:
    done = ran("--script", "hello", "--config", "nowhere.toml", "--namespace", "x", "--check")
    assert done.returncode == 0
    fields = "warning: --script ignores --config, agent.namespace"
    assert done.stderr.decode().splitlines() == [fields]
    assert ran("--script", "hello", "--protocol", "2", "--seed", "1", "--check").stderr == b""


def test_the_faults_are_all_named_by_the_page() -> None:
    names: dict[str, Any] = {}
    exec((EXAMPLES / "faults.py").read_text(), names)
    page = Path(__file__).parents[3] / "docs/scripted-agent.md"
    (row,) = [line for line in page.read_text().splitlines() if line.startswith("| `faults` | one")]
    assert [word for word in names["FAULTS"] if f"`{word}`" not in row] == []


def test_each_fault_is_described_on_the_page() -> None:
    page = (Path(__file__).parents[3] / "docs/scripted-agent.md").read_text()
    rows = [line.split("`")[1].partition("(")[0] for line in page.splitlines() if line[:3] == "| `"]
    assert [
        name for name in scripted.__all__ if name.islower() and name not in {*rows, "frame_kind"}
    ] == []
