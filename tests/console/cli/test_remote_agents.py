"""Agents at a URL, on the command line."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal

from acp_console.cli import exit_codes
from acp_console.cli.agent_option import GivenRemote
from acp_inspector.recording.reader import read_recording
from acp_protocol.transport.bridge import process_for_each
from tests.console.cli.conftest import Configure
from tests.console.conftest import Agent, Call
from tests.protocol.transport.served_agent import TOKEN, Serving, serving
from tests.warm import WARM

pytestmark = pytest.mark.usefixtures("home")

Serve = Callable[[str], Serving]
CASES = [
    f"--case={each}"
    for each in ("initialize.responds", "initialize.same-version", "initialize.no-session-before")
]
HELLO = """
greet(agentInfo={"name": "far", "version": "1"})
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/new":
        tell(id=message["id"], result={"sessionId": "s1"})
    elif message["method"] == "session/prompt":
        say("hello from afar")
        end(message)
"""


@pytest.fixture
def serve(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Return what serves an agent of a script over HTTP and WebSocket, with a token."""
    monkeypatch.setenv("FAR_TOKEN", TOKEN)
    with start_blocking_portal() as portal, ExitStack() as stack:

        def start(script: str) -> Serving:
            opening = process_for_each(agent(script), write=len)
            return stack.enter_context(portal.wrap_async_context_manager(serving(opening)))

        yield start


@pytest.fixture
def oxide(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serving]:
    """An agent that speaks OpenOxide, over HTTP and WebSocket."""
    monkeypatch.setenv("FAR_TOKEN", TOKEN)
    command = [*WARM, "-m", "acp_agent", "--no-config", "--dialect", "openoxide"]
    opening = process_for_each(command, write=len, framing="headers")
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(opening)) as server,
    ):
        yield server


@pytest.fixture
def far(serve: Serve) -> Serving:
    return serve(HELLO)


def urls(far: Serving) -> dict[str, str]:
    return {"http": far.url, "websocket": far.socket_url}


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_one_turn_with_an_agent_at_a_url(
    call: Call, far: Serving, tmp_path: Path, transport: str
) -> None:
    path = tmp_path / "far.acp.ndjson"
    url = urls(far)[transport]
    done = call("exec", "--url", url, "--token-env", "FAR_TOKEN", "--record", str(path), "hi")
    assert (done.code, done.out, done.err) == (0, "hello from afar\n", "")
    header = read_recording(path).header
    assert (header.transport, header.command) == (transport, [url])
    assert TOKEN not in path.read_text()
    # What is recorded of HTTP satisfies the linter's rules of HTTP.
    report = json.loads(call("lint", "--format", "json", str(path)).out)
    assert "http" not in {each["rule"].partition("-")[0] for each in report["findings"]}


def test_a_turn_in_a_dialect_over_a_websocket(call: Call, oxide: Serving, tmp_path: Path) -> None:
    words = ("--url", oxide.socket_url, "--token-env", "FAR_TOKEN", "--cwd", str(tmp_path))
    (tmp_path / "notes.txt").write_text("Buy milk.\n")
    done = call("exec", "--dialect", "openoxide", *words, "read notes.txt")
    assert done.code == 0
    assert "Buy milk." in done.out
    assert "warning" not in done.err


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_a_log_has_no_token(far: Serving, transport: str) -> None:
    """Libraries of HTTP and WebSocket log all headers."""
    url = f"{urls(far)[transport]}?key=s3cret-in-url"
    words = ("--debug", "exec", "--url", url, "--token-env", "FAR_TOKEN", "hi")
    command = [*WARM, "-m", "acp_console", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, "hello from afar\n")
    assert TOKEN not in done.stderr
    assert "s3cret-in-url" not in done.stderr


def test_a_header_may_name_the_token(call: Call, far: Serving) -> None:
    header = "Authorization: Bearer ${FAR_TOKEN}"
    done = call("exec", "--format", "quiet", "--url", far.url, "--header", header, "hi")
    assert done.out == "hello from afar"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--url", "ftp://h"], exit_codes.USAGE, "is not the URL of an agent"),
        (["--url", "http://me:pw@h/"], exit_codes.USAGE, "--token-env"),
        (["--url", "http://127.0.0.1:1/"], exit_codes.AGENT, "connection refused"),
        (["--url", "ws://127.0.0.1:1/"], exit_codes.AGENT, "is the server running?"),
        (["--token-env", "X"], exit_codes.USAGE, "--token-env has no effect without --url"),
        (["--header", "A:b"], exit_codes.USAGE, "--header has no effect without --url"),
        (["--url", "http://h/", "--header", "A"], exit_codes.USAGE, "NAME:VALUE"),
        (["--url", "http://h/", "--header", "A:${NO_X}"], exit_codes.USAGE, "NO_X is not set"),
        (["--url", "http://h/", "--token-env", "NO_X"], exit_codes.USAGE, "NO_X is not set"),
        (["--url", "http://h/", "--header", "Acp-Session-Id:1"], exit_codes.USAGE, "the protocol"),
        (["--url", "http://h/", "demo"], exit_codes.USAGE, "either an agent or --url"),
    ],
)
def test_what_cannot_be_used_is_explained(
    call: Call, words: list[str], code: int, said: str
) -> None:
    done = call("exec", *words, "hi")
    assert done.code == code
    assert said in done.err
    assert "pw" not in done.err


@pytest.mark.parametrize(
    ("url", "warns"),
    [
        ("http://agents.example/acp", True),
        ("ws://agents.example/acp", True),
        ("https://agents.example/acp", False),
        ("http://127.0.0.1/acp", False),
    ],
)
def test_a_token_that_goes_unencrypted_to_another_machine_is_worth_a_warning(
    url: str, warns: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAR_TOKEN", "secret-0123456789")
    GivenRemote(url, token_env="FAR_TOKEN").open()
    said = capsys.readouterr().err
    assert ("the token goes to agents.example unencrypted" in said) == warns
    assert "secret" not in said


def test_a_check_says_that_nothing_was_reached(call: Call) -> None:
    assert call("agents", "add", "far", "--url", "http://127.0.0.1:1/").code == 0
    done = call("agents", "check", "far")
    assert done.code == exit_codes.FOUND
    assert "far: 127.0.0.1:1 cannot be reached: connection refused" in done.out
    assert "closed" not in done.out


def test_a_missing_token_is_explained(call: Call, far: Serving) -> None:
    done = call("exec", "--url", far.url, "hi")
    assert done.code == exit_codes.AGENT
    assert "401 Unauthorized" in done.err
    assert "--token-env" in done.err


@pytest.mark.long
def test_an_agent_at_a_url_has_a_name_and_is_probed(call: Call, far: Serving) -> None:
    added = call("agents", "add", "far", "--url", far.url, "--token-env", "FAR_TOKEN")
    assert added.code == 0
    listed = call("agents").out.splitlines()
    assert f"far              at a URL        {far.url}".split() in [x.split()[1:] for x in listed]
    assert call("exec", "--format", "quiet", "far", "hi").out == "hello from afar"
    checked = json.loads(call("agents", "check", "--json", "far").out)
    assert (checked["starts"], checked["login"], checked["state"]) == (True, "ok", "ready")
    assert (checked["command"], checked["url"]) == ([], far.url)
    assert f"url          {far.url}" in call("agents", "info", "far").out
    assert call("agents", "rm", "far").code == 0


def test_the_configuration_holds_no_token(call: Call, far: Serving, home: Path) -> None:
    header = "Authorization: Bearer ${FAR_TOKEN}"
    assert call("agents", "add", "far", "--url", far.socket_url, "--header", header).code == 0
    [config] = home.rglob("config.toml")
    assert "Bearer ${FAR_TOKEN}" in config.read_text()
    assert TOKEN not in config.read_text()
    assert call("exec", "--format", "quiet", "far", "hi").out == "hello from afar"


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("url = 'http://h/'\ncommand = ['x']", "one of them has to go"),
        ("headers = { A = 'b' }\ncommand = ['x']", "but no url"),
        ("url = 'nowhere'", "agents.far.url: cannot be used"),
        ("url = 'http://h/'\nheaders = { 'a b' = 'c' }", "cannot be the name of a header"),
        ("url = 'http://h/'\ntoken_env = 'NO_X'", "token_env: the variable NO_X is not set"),
    ],
)
def test_a_configuration_that_cannot_be_used_is_explained(
    call: Call, configure: Configure, table: str, said: str
) -> None:
    configure(f"[agents.far]\n{table}\n")
    done = call("exec", "far", "hi")
    assert done.code == exit_codes.USAGE
    assert said in done.err


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_a_conversation_is_replayed_against_an_agent_at_a_url(
    call: Call, far: Serving, tmp_path: Path, transport: str
) -> None:
    path = tmp_path / "far.acp.ndjson"
    words = ("--url", far.url, "--token-env", "FAR_TOKEN")
    assert call("exec", *words, "--record", str(path), "hi").code == 0
    words = ("--url", urls(far)[transport], "--token-env", "FAR_TOKEN")
    replayed = call("replay", str(path), *words)
    assert (replayed.code, "pass" in replayed.out) == (0, True)
    tested = call("test", str(path), *words)
    assert (tested.code, "1 passed" in tested.out) == (0, True)


@pytest.mark.parametrize("transport", ["http", "websocket"])
def test_an_agent_at_a_url_is_judged(call: Call, far: Serving, transport: str) -> None:
    words = ("--url", urls(far)[transport], "--token-env", "FAR_TOKEN")
    done = call("conform", *words, *CASES)
    assert (done.code, "3 passed" in done.out) == (0, True), done


def test_a_cassette_needs_an_agent_that_is_started(call: Call, far: Serving, home: Path) -> None:
    assert call("agents", "add", "far", "--url", far.url).code == 0
    done = call("model", "record", "--cassette", str(home / "x.cassette"), "far")
    assert done.code == exit_codes.USAGE
    assert "is at a URL" in done.err


def test_a_secret_that_would_stand_in_the_configuration_is_warned_about(
    call: Call, home: Path
) -> None:
    url = ("agents", "add", "far", "--url", "https://agents.example/acp", "--header")
    assert "'Authorization: ${NAME}'" in call(*url, "Authorization: Bearer s3cret").err
    add = ("agents", "add", "other", "--url", "https://agents.example/acp")
    harmless = ("--header", "Authorization: Bearer ${KEY}", "--header", "X-Team: tools")
    assert "warning" not in call(*add, *harmless).err
