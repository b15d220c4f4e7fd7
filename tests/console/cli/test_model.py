"""An agent whose model is recorded once and replayed offline, with real processes and pipes."""

from __future__ import annotations

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_inspector.model_service.server import NO_MATCH
from acp_inspector.redaction.files import find_secrets
from tests.console.conftest import Call
from tests.inspector.model_service.service import FakeService, fake_service
from tests.warm import WARM

LIMIT_S = 60.0
KEY = "sk-proj-" + "Ab3dE6gH9jK2mN5p" * 3
CONSOLE = [*WARM, "-m", "acp_console"]
AGENTS = {
    "openai": [*WARM, "-m", "acp_agent", "--model", "openai:fake"],
    "anthropic": [*WARM, "-m", "acp_agent", "--model", "anthropic:fake"],
}
KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY}
REQUESTER = """
import json, os, sys, urllib.error, urllib.request
JSON = {"content-type": "application/json"}
for text in sys.argv[1:]:
    body = json.dumps({"model": "fake", "messages": [{"role": "user", "content": text}]}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, JSON)) as response:
            print(response.status, response.read().decode().count("data: "))
    except urllib.error.HTTPError as error:
        print(error.code, json.load(error)["error"]["message"].splitlines()[0])
"""

READER = """
import json, os, sys, urllib.request
JSON = {"content-type": "application/json"}
name, turns = sys.argv[1], int(sys.argv[2])
for turn in range(turns):
    prompt = {"role": "user", "content": f"TOOL {os.getcwd()}/{name}-{turn}"}
    body = json.dumps({"model": "fake", "messages": [prompt]}).encode()
    url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urllib.request.urlopen(urllib.request.Request(url, body, JSON)) as response:
        events = [line[6:] for line in response.read().splitlines() if line.startswith(b"data: {")]
    deltas = [json.loads(each)["choices"][0]["delta"] for each in events]
    calls = [delta["tool_calls"][0]["function"] for delta in deltas if "tool_calls" in delta]
    print(json.loads("".join(call["arguments"] for call in calls))["path"])
"""
"""An agent that prints the paths in the calls of its model."""
TEAM = """
import subprocess, sys
script, turns, *members = sys.argv[1:]
processes = [
    subprocess.Popen([sys.executable, "-c", script, name, turns], cwd=cwd, stdout=subprocess.PIPE)
    for name, cwd in zip(members[::2], members[1::2])
]
for process in processes:
    print(process.communicate()[0].decode(), end="")
sys.exit(any(process.returncode for process in processes))
"""
"""An agent that runs several at once, each in its directory."""
TURNS = 5


def upstreams(service: FakeService) -> dict[str, str]:
    return {"OPENAI_BASE_URL": f"{service.url}/v1", "ANTHROPIC_BASE_URL": service.url}


def command(*words: str, env: Mapping[str, str] = {}, stdin: bytes = b"", cwd: Path | None = None):
    """Run a command; return what it did, as text."""
    done = subprocess.run(
        words,
        input=stdin,
        capture_output=True,
        timeout=LIMIT_S,
        cwd=cwd,
        env={**os.environ, **env},
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def model(verb: str, cassette: Path, *agent: str, options: Sequence[str] = ()) -> list[str]:
    return [*CONSOLE, "model", verb, "--cassette", str(cassette), *options, "--", *agent]


def requester(*prompts: str) -> list[str]:
    """Return the command of an agent that sends prompts to its model and prints the results."""
    return [sys.executable, "-c", REQUESTER, *prompts]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_turn_with_its_model_is_a_test_that_runs_offline(
    tmp_path: Path, provider: str, request: pytest.FixtureRequest
) -> None:
    """With a tool call, whose path comes in pieces and lies in another directory in the replay."""
    # The title of the session is the start of the prompt, hence short.
    project = Path(tempfile.mkdtemp(prefix="acp-"))
    request.addfinalizer(lambda: shutil.rmtree(project))
    (project / "README.md").write_text("hello file\n")
    recording, cassette = tmp_path / "turn.acp.ndjson", tmp_path / "turn.cassette"
    agent = AGENTS[provider]
    prompt = f"TOOL {project}/README.md"
    with fake_service() as service:
        recorder = model("record", cassette, *agent)
        words = ["exec", "--record", str(recording), prompt, "--", *recorder]
        code, out, err = command(*CONSOLE, *words, env=upstreams(service) | KEYS, cwd=project)
        assert (code, out) == (exit_codes.DONE, "reply 2 to the result\n"), err
        requests = len(service.requests)
    assert requests == 2
    assert KEY not in cassette.read_text()
    assert list(find_secrets(cassette)) == []
    player = model("replay", cassette, *agent)
    words = ["replay", str(recording), "--", *player]
    code, out, err = command(*CONSOLE, *words, env=KEYS, cwd=tmp_path)
    assert code == exit_codes.DONE, out + err
    assert "pass: " in out


def test_a_session_below_the_project_may_be_replayed_outside_of_it(tmp_path: Path) -> None:
    """The agent is started elsewhere than in the directory of the session."""
    cassette = tmp_path / "turn.cassette"
    started_in, session = tmp_path / "project", tmp_path / "project" / "part"
    elsewhere, other_session = tmp_path / "elsewhere", tmp_path / "sessions" / "other"
    for directory in (session, elsewhere, other_session):
        directory.mkdir(parents=True)
    for directory in (session, other_session):
        (directory / "README.md").write_text("hello file\n")

    def turn(
        verb: str, cwd: Path, started_in: Path, env: Mapping[str, str]
    ) -> tuple[int, str, str]:
        words = ["exec", "--cwd", str(cwd), f"TOOL {cwd}/README.md", "--"]
        there = ["sh", "-c", 'cd "$0" && exec "$@"', str(started_in)]
        agent = model(verb, cassette, *AGENTS["openai"])
        return command(*CONSOLE, *words, *there, *agent, env=env)

    with fake_service() as service:
        live = turn("record", session, started_in, upstreams(service) | KEYS)
    assert live[:2] == (exit_codes.DONE, "reply 2 to the result\n"), live[2]
    again = turn("replay", other_session, elsewhere, KEYS)
    assert again[:2] == live[:2], again[2]


def test_two_agents_at_once_play_from_one_cassette(tmp_path: Path) -> None:
    cassette = tmp_path / "turn.cassette"
    with fake_service() as service:
        recorder = model("record", cassette, *AGENTS["openai"])
        words = [*CONSOLE, "exec", "hello", "--", *recorder]
        live = command(*words, env=upstreams(service) | KEYS, cwd=tmp_path)
    assert live[:2] == (exit_codes.DONE, "reply 1 to hello\n"), live[2]

    def run(number: int) -> tuple[int, str, str]:
        directory = tmp_path / f"project-{number}"
        directory.mkdir()
        player = model("replay", cassette, *AGENTS["openai"])
        return command(*CONSOLE, "exec", "hello", "--", *player, env=KEYS, cwd=directory)

    with ThreadPoolExecutor(2) as pool:
        for code, out, err in pool.map(run, range(2)):
            assert (code, out) == (exit_codes.DONE, "reply 1 to hello\n"), err


def directories(parent: Path, *names: str) -> dict[str, Path]:
    found = {name: parent / f"project-of-{name}" for name in names}
    for directory in found.values():
        directory.mkdir(parents=True)
    return found


def paths(members: Mapping[str, Path]) -> list[str]:
    """Return what agents print that work in these directories."""
    return [f"{cwd}/{name}-{turn}" for name, cwd in members.items() for turn in range(TURNS)]


def test_agents_that_run_at_once_share_a_server(tmp_path: Path) -> None:
    """Each gets the responses to its own requests, with its own directory."""
    cassette = tmp_path / "it.cassette"

    def run(verb: str, members: Mapping[str, Path], env: Mapping[str, str]) -> list[str]:
        words = [word for name, cwd in members.items() for word in (name, str(cwd))]
        team = [sys.executable, "-c", TEAM, READER, str(TURNS), *words]
        started_in = tmp_path / verb
        started_in.mkdir()
        code, out, err = command(*model(verb, cassette, *team), env=env, cwd=started_in)
        assert code == exit_codes.DONE, err
        return out.splitlines()

    there = directories(tmp_path / "there", "ann", "bob", "cyd")
    with fake_service() as service:
        assert run("record", there, upstreams(service)) == paths(there)
    here = directories(tmp_path / "here", "cyd", "ann", "bob")
    assert run("replay", here, {}) == paths(here)


def test_recorders_that_run_at_once_append_to_one_cassette(tmp_path: Path) -> None:
    cassette = tmp_path / "it.cassette"

    def run(verb: str, members: Mapping[str, Path], options: list[str], env: Mapping[str, str]):
        def one(member: tuple[str, Path]) -> tuple[int, str, str]:
            reader = [sys.executable, "-c", READER, member[0], str(TURNS)]
            words = model(verb, cassette, *reader, options=options)
            return command(*words, env=env, cwd=member[1])

        with ThreadPoolExecutor(len(members)) as pool:
            done = list(pool.map(one, members.items()))
        assert all(code == exit_codes.DONE for code, _, _ in done), done
        return "".join(out for _, out, _ in done).splitlines()

    there = directories(tmp_path / "there", "ann", "bob", "cyd")
    with fake_service() as service:
        assert run("record", there, ["--append"], upstreams(service)) == paths(there)
    assert cassette.read_text().count('"request"') == 3 * TURNS
    here = directories(tmp_path / "here", "cyd", "ann", "bob")
    assert run("replay", here, [], {}) == paths(here)


def test_a_miss_is_reported_and_the_exit_code_says_so(tmp_path: Path) -> None:
    """Although the agent lives on and exits with 0."""
    cassette = tmp_path / "it.cassette"
    with fake_service() as service:
        recorder = model("record", cassette, *requester("one", "two"))
        code, live, _ = command(*recorder, env=upstreams(service))
    assert code == exit_codes.DONE
    code, out, err = command(*model("replay", cassette, *requester("one", "two")))
    assert (code, out) == (exit_codes.DONE, live)
    assert (
        err
        == "note: model replay: 2 requests replayed, 0 not in the cassette, 0 of it not requested\n"
    )
    code, out, err = command(*model("replay", cassette, *requester("one", "three")))
    assert code == exit_codes.FOUND
    miss = "request 2 is not in the cassette: POST openai/chat/completions"
    assert out.splitlines() == [live.splitlines()[0], "400 " + NO_MATCH]
    lines = err.splitlines()
    assert lines[0] == f"error: {miss}"
    assert lines[1].strip().startswith("the nearest one in line ")
    assert lines[2].strip() == "messages[0].content: recorded 'two', now 'three'"
    assert lines[3].endswith("1 request replayed, 1 not in the cassette, 1 of it not requested")
    assert lines[4] == "note: not requested: POST openai/chat/completions"


def test_the_agent_has_our_stdio_and_we_have_its_exit_code(tmp_path: Path) -> None:
    cassette = tmp_path / "it.cassette"
    script = (
        "import sys; data = sys.stdin.buffer.read(); sys.stdout.buffer.write(data[::-1]);"
        "sys.stderr.write('on stderr'); sys.exit(7)"
    )
    data = bytes(range(256)) * 300
    done = subprocess.run(
        model("record", cassette, sys.executable, "-c", script),
        input=data,
        capture_output=True,
        timeout=LIMIT_S,
    )
    assert (done.returncode, done.stdout) == (7, data[::-1])
    assert done.stderr.startswith(b"on stderr")
    assert b"no exchange was recorded" in done.stderr


def test_an_agent_at_a_terminal_stays_in_its_process_group(tmp_path: Path) -> None:
    """Else it could not read from the terminal."""
    script = "import os; print(os.getpgid(0) == os.getpgid(os.getppid()))"
    ours, theirs = pty.openpty()
    try:
        done = subprocess.run(
            model("record", tmp_path / "it.cassette", sys.executable, "-c", script),
            stdin=theirs,
            capture_output=True,
            timeout=LIMIT_S,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    assert done.stdout == b"True\n"


def test_a_proxy_is_not_used_on_this_machine(tmp_path: Path) -> None:
    """Neither by the agent nor by the recorder."""
    # Nothing listens there.
    proxies = {"HTTP_PROXY": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    with fake_service() as service:
        recorder = model("record", tmp_path / "it.cassette", *requester("one"))
        code, out, err = command(*recorder, env=upstreams(service) | proxies)
    assert code == exit_codes.DONE, err
    assert out.startswith("200 ")


def test_a_signal_reaches_the_agent(tmp_path: Path) -> None:
    script = "import sys, time; print('ready', flush=True); time.sleep(60)"
    recorder = model("record", tmp_path / "it.cassette", sys.executable, "-c", script)
    with subprocess.Popen(recorder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + signal.SIGTERM


def test_a_variable_of_ones_own_and_a_port_that_a_configuration_names(tmp_path: Path) -> None:
    cassette = tmp_path / "it.cassette"
    script = "import os; print(os.environ['MY_URL'], os.environ['MY_MODE'])"
    options = ["--env", "MY_URL={url}/x", "--env", "MY_MODE=test"]
    agent = [sys.executable, "-c", script]
    code, out, err = command(
        *model(
            "record",
            cassette,
            *agent,
            options=[*options, "--upstream", "MY_URL=https://models.example/v3"],
        )
    )
    assert code == exit_codes.DONE, err
    url, mode = out.split()
    assert url.startswith("http://127.0.0.1:")
    assert (url.partition("/my_url")[2], mode) == ("/v3/x", "test")
    code, _, err = command(*model("record", tmp_path / "no", *agent, options=["--env", "MY_URL"]))
    assert code == exit_codes.USAGE
    assert "hint: name it by --upstream MY_URL=URL" in err


def test_an_agent_whose_configuration_names_the_address_needs_the_secret_in_it(
    tmp_path: Path,
) -> None:
    secret = "a-secret-of-my-own"
    script = "import os; print(os.environ['OPENAI_BASE_URL'])"
    agent = [sys.executable, "-c", script]
    for options, env in ((["--secret", secret], {}), ([], {"ACP_CONSOLE_MODEL_SECRET": secret})):
        recorder = model("record", tmp_path / f"{len(env)}", *agent, options=options)
        code, out, err = command(*recorder, env=env)
        assert code == exit_codes.DONE, err
        assert out.partition(":")[2].partition("/openai")[0].endswith(f"/{secret}")
    recorder = model("record", tmp_path / "no", *agent, options=["--secret", "short"])
    code, _, err = command(*recorder)
    assert code == exit_codes.USAGE
    assert "--secret: it needs at least 16" in err


def test_a_foreign_cassette_runs_no_code(tmp_path: Path) -> None:
    """It could by the variables that it sets for the agent."""
    (tmp_path / "evil").mkdir()
    mark = tmp_path / "mark"
    (tmp_path / "evil/sitecustomize.py").write_text(f"open({str(mark)!r}, 'w').close()")
    cassette = tmp_path / "it.cassette"
    with fake_service() as service:
        command(*model("record", cassette, *requester("one")), env=upstreams(service))
    head, *rest = cassette.read_text().splitlines(keepends=True)
    header = json.loads(head)
    header["routes"]["openai"]["variables"]["PYTHONPATH"] = str(tmp_path / "evil")
    cassette.write_text("".join([json.dumps(header) + "\n", *rest]))
    code, out, err = command(*model("replay", cassette, *requester("one")))
    assert code == exit_codes.DONE, err
    assert out.startswith("200 ")
    assert "the cassette does not set PYTHONPATH" in err
    assert not mark.exists()


def test_a_file_is_only_replaced_or_continued_on_demand(tmp_path: Path) -> None:
    cassette = tmp_path / "it.cassette"
    with fake_service() as service:
        for options, code in (
            ([], exit_codes.DONE),
            ([], exit_codes.USAGE),
            (["--append"], exit_codes.DONE),
            (["--append", "--overwrite"], exit_codes.USAGE),
        ):
            recorder = model("record", cassette, *requester("one"), options=options)
            assert command(*recorder, env=upstreams(service))[0] == code
        assert len(service.requests) == 2
        assert cassette.read_text().count('"request"') == 2
        recorder = model("record", cassette, *requester("one"), options=["--overwrite"])
        assert command(*recorder, env=upstreams(service))[0] == exit_codes.DONE
    assert cassette.read_text().count('"request"') == 1


def test_show_lists_the_exchanges(tmp_path: Path, call: Call) -> None:
    cassette = tmp_path / "it.cassette"
    with fake_service() as service:
        command(*model("record", cassette, *requester("one")), env=upstreams(service))
    shown = call("model", "show", str(cassette))
    assert shown.code == exit_codes.DONE
    words = shown.out.splitlines()[1].split()
    assert words[:5] == ["1", "POST", "openai/chat/completions", "fake", "200"]
    shown = call("model", "show", "--json", str(cassette))
    value = json.loads(shown.out)
    [exchange] = value["exchanges"]
    assert exchange["line"] == 2
    assert exchange["request"]["body"]["model"] == "fake"
    assert value["runs"][0]["routes"]["openai"]["upstream"] == f"{service.url}/v1"


def test_without_a_command_the_help_is_shown(call: Call) -> None:
    done = call("model")
    assert done.code == exit_codes.USAGE
    assert done.err.startswith("Usage: acp-console model")
    assert not done.out


def test_wrong_usage_starts_nothing(tmp_path: Path, call: Call) -> None:
    cassette = tmp_path / "it.cassette"
    for words in (
        ["record", "--cassette", str(cassette)],
        ["replay", "--cassette", str(cassette), "--", "true"],
        ["show", str(cassette)],
        ["record", "--", "true"],
    ):
        done = call("model", *words)
        assert done.code == exit_codes.USAGE
        assert done.err.startswith("error: ")
    done = call(
        "model", "record", "--cassette", str(cassette), "--upstream", "no=http://a", "--", "true"
    )
    assert done.code == exit_codes.USAGE
    assert not cassette.exists()
