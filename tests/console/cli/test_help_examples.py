"""The examples of `--help`, run as a reader of a fresh clone runs them.

The page of the command line has the help of every command. Each example runs to its end and
succeeds, except for those that a table here says something else of. What the examples name and a
clone does not have is made in one place: `pristine`.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

import pytest

from acp_console.cli.exit_codes import FOUND, INTERRUPTED, NOTHING
from acp_console.cli.group import COMMANDS
from tests.warm import WARM

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/command-line.md").read_text()
"""What each `--help` says; another test sees that it is so."""
LIMIT_S = 90.0
"""Seconds after which something counts as hung."""
QUIET_S = 0.5
"""Seconds after which a screen is drawn that draws no more."""
SCREEN = "\x1b[?1049h"
"""Begins a screen."""
DONE = "✓"
"""Says that a turn has ended."""
ESCAPE = re.compile(r"\x1b\[[\d;?]*\w")
QUIT = "\x11"
HELP = re.compile(r"^###? (acp-console[^\n]*)\n\n```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^ +((?:acp-console|acp-agent|eval)\b(?: .*)?)$", re.MULTILINE)
PROSE = re.compile(
    r"acp-console [\w -]+ (plays|runs|list) |.*(; acp-console|and acp-console)|acp-agent \[-h\]|"
    r"acp-console/acp-agent.toml|acp-console proxy \[OPTIONS\]"
)
"""Lines of help that begin with a command and are no examples."""

SCREENS = re.compile(
    r"acp-console( gemini| -- .*| [\w.]+ndjson| chat.*| inspect .*| attach work|"
    r" sessions resume.*)?"
)
"""These show a screen: they run on a terminal, and end by Ctrl-Q."""
SERVES = re.compile(r"(?!.*conform).*( --listen | --http | --follow )")
"""These run until they are interrupted, which happens once they have said something."""
LOOKS = re.compile(
    r"acp-console (diff .*--only-right 'turn == 2'|mock |agents check claude|conform client)|"
    r".* acp-console conform client"
)
"""These look for something: differences, or a client, which there is not or leaves early."""
ASKS = re.compile("acp-console sessions rm 3f2a91c0")
"""These ask a question on a terminal, which is answered with y."""
BEFORE: Final = {
    "agents login": "acp-console agents rm gemini; acp-console agents add gemini -- ./login",
    "agents rm": "acp-console agents add mine -- my-agent --acp",
    "agents update --reset": "acp-console agents update --from registry.json",
    "snapshot session": "acp-console snapshot --update session.acp.ndjson",
    "config check": "acp-agent config init acp-agent.toml",
    "config show --config": "acp-agent config init acp-agent.toml",
    "test --baseline": "acp-console test --baseline known.json --update-baseline "
    "recordings/*.acp.ndjson -- my-agent --acp",
    "conform --baseline": "acp-console conform --baseline known.json --update-baseline demo",
}
"""What an example follows, by what it contains."""
PLACEHOLDERS: Final = {
    "https://agents.example/acp": "{url}",
    "3f2a91c0": "{session}",
    "127.0.0.1:8765": "127.0.0.1:0",
    "127.0.0.1:8080 ": "127.0.0.1:0 ",
    # All cases take a minute.
    "acp-console conform": "acp-console conform --case 'initialize.*'",
    "conform --case 'initialize.*' client": "conform client --case 'initialize.*'",
    # Shells that not everybody has.
    'eval "$(acp-console completion zsh)"': "acp-console completion zsh | grep -q compdef",
    "| source": "| grep -q complete",
}
"""What an example names, and what is there in its place."""
DEMO = "exec acp-agent --no-config"
LOGIN = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    methods = [{"id": "oauth-personal", "name": "Log in"}]
    result = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": methods}
    answer = {"jsonrpc": "2.0", "id": asked["id"]}
    print(json.dumps(answer | {"result": result if asked["method"] == "initialize" else {}}))
    sys.stdout.flush()
"""
PROGRAMS: Final = {
    "bin/acp-console": f'exec {" ".join(WARM)} -m acp_console "$@"',
    "bin/acp-agent": f'exec {" ".join(WARM)} -m acp_agent "$@"',
    "bin/my-agent": DEMO,
    "my-agent": DEMO,
    "bin/gemini": DEMO,
    "bin/qwen": DEMO,
    "bin/openoxide": f"{DEMO} --dialect openoxide",
    "bin/my-client": """case $1 in
  --agent) shift; exec acp-console exec hello -- "$@" ;;
  *) exec acp-console exec --url "$1" --token-env ACP_CONSOLE_TOKEN hello ;;
esac""",
}
COPIES = ("x", "turn", "before", "after", "before/one", "after/one")
"""Recordings of examples that are copies of `session.acp.ndjson`."""
TOKEN = "t0ken-of-the-examples"
LOG = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
FAULTS = """
[[rule]]
name = "other home"
rewrite = { pattern = "/home/", with = "/Users/" }
"""
CASSETTE = (
    {"format": "acp-console model cassette", "version": 1},
    {"request": {"method": "GET", "route": "openai", "path": "/models"}, "response": {}},
)
TEXTS: Final = {
    "zed-log.json": LOG,
    "019c.stream.ndjson": LOG,
    "logs/one.log": LOG,
    "logs/two.log": LOG,
    "README.md": f"# Read me\nghp_{'a1B2c3D4e5F6' * 3}\n",
    "notes.txt": "A note.\n",
    "servers.json": '{"mcpServers": {}}',
    "turn.cassette": "\n".join(map(json.dumps, CASSETTE)),
    "faults.toml": FAULTS,
    "registry.json": json.dumps({"version": "1.0.0", "agents": []}),
    "login": f"#!{sys.executable}\n{LOGIN}",
}


def examples() -> dict[str, list[str]]:
    """Return the examples of each top command, without their comments, each once."""
    found: dict[str, list[str]] = {}
    for title, text in HELP.findall(PAGE):
        wanted = examples_in(text)
        command = "".join(title.split()[1:2])
        known = found.setdefault(command, [])
        known += (each for each in dict.fromkeys(wanted) if each not in known)
    return found


def examples_in(text: str) -> list[str]:
    lines = EXAMPLE.findall(text.replace("\\\n  ", ""))
    return [re.sub(r"\s+# .*", "", each) for each in lines if not PROSE.match(each)]


class Place(NamedTuple):
    """Where a reader works."""

    path: Path
    pristine: Path
    """What it is like before each example."""
    words: dict[str, str]
    """What stands for the placeholders of this run."""
    env: dict[str, str]

    def begin_anew(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.pristine, self.path)

    def filled(self, line: str) -> str:
        """Return an example with what stands for its placeholders."""
        for name, value in PLACEHOLDERS.items():
            line = line.replace(name, value.format(**self.words))
        return line

    def start(
        self, line: str, *, stdin: int, stdout: int, stderr: int = subprocess.STDOUT
    ) -> subprocess.Popen[bytes]:
        command = ["bash", "-c", line]
        return subprocess.Popen(
            command, cwd=self.path, env=self.env, stdin=stdin, stdout=stdout, stderr=stderr
        )

    def run(self, line: str) -> tuple[int, str]:
        """Run a line in a shell to its end; return its exit code and all that it said."""
        out = subprocess.PIPE
        with self.start(line, stdin=subprocess.DEVNULL, stdout=out) as it:
            try:
                said, _ = it.communicate(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                it.kill()
                return -1, "hangs"
        return it.returncode, said.decode(errors="replace")

    def interrupt(self, line: str) -> tuple[int, str]:
        """Run a line until it has said something, and interrupt it."""
        out = subprocess.PIPE
        with self.start(f"exec {line}", stdin=subprocess.DEVNULL, stdout=out) as it:
            assert it.stdout is not None
            said = os.read(it.stdout.fileno(), 65536)
            it.send_signal(signal.SIGINT)
            rest, _ = it.communicate(timeout=LIMIT_S)
        return it.returncode, (said + rest).decode(errors="replace")

    def show(self, line: str, typed: str = "", shown: str = SCREEN) -> tuple[int, str]:
        """Run a line on a terminal; type once something is shown, and leave after the turn."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        screen = ""
        waited = 0.0
        with self.start(f"exec {line}", stdin=theirs, stdout=theirs) as it:
            os.close(theirs)
            with suppress(OSError):
                while waited < LIMIT_S:
                    if select.select([ours], [], [], QUIET_S)[0]:
                        screen += os.read(ours, 65536).decode(errors="replace")
                        continue
                    waited += QUIET_S
                    if shown in screen:
                        os.write(ours, (typed or QUIT).encode())
                        shown, typed = (DONE if typed else shown), ""
            os.close(ours)
            with suppress(subprocess.TimeoutExpired):
                it.wait(LIMIT_S)
            it.kill()
        return it.returncode, screen


@contextmanager
def running(place: Place, line: str, says: str) -> Generator[str]:
    """Run a line in the background until the end; yield what its first matching line says."""
    out = subprocess.PIPE
    with place.start(f"exec {line}", stdin=out, stdout=out) as it:
        assert it.stdout is not None
        found = None
        while found is None:
            said = it.stdout.readline().decode()
            assert said, line
            found = re.search(says, said)
        yield found[0]
        it.send_signal(signal.SIGINT)
        it.communicate(timeout=LIMIT_S)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Generator[Place]:
    """A clone with what examples name: agents, a client, recordings, logs, a session, a server."""
    home = tmp_path_factory.mktemp("reader")
    path = [str(home / "clone/bin"), os.environ["PATH"]]
    homes = {f"XDG_{kind}_HOME": str(home / "clone" / kind.lower()) for kind in ("CONFIG", "STATE")}
    # Those of git, of colours and of a terminal around the tests are not a reader's.
    env = {**os.environ, **homes, "PATH": os.pathsep.join(path), "TERM": "xterm-256color"}
    env |= {"LAB_KEY": "key", "MY_TOKEN": TOKEN, "FAR_TOKEN": TOKEN, "ACP_CONSOLE_TOKEN": TOKEN}
    with TemporaryDirectory(prefix="acp-") as sockets:
        env["XDG_RUNTIME_DIR"] = sockets
        made = Place(home / "clone", home / "pristine", {}, env)
        fill(made.path)
        for name, prompt in (("hello", "hello"), ("session", "read README.md")):
            line = f"acp-console exec --record {name}.acp.ndjson {prompt!r} -- my-agent --acp"
            assert made.run(line)[0] == 0
        for name in (*(f"{each}.acp.ndjson" for each in COPIES), "A", "B"):
            (made.path / name).parent.mkdir(exist_ok=True)
            shutil.copy(made.path / "session.acp.ndjson", made.path / name)
        for name in ("public", "turn"):
            shutil.copy(made.path / "hello.acp.ndjson", made.path / f"{name}.acp.ndjson")
        # For good, so that it is not asked for.
        assert made.run("acp-console agents add gemini -- gemini --acp")[0] == 0
        code, screen = made.show("acp-console chat -- my-agent --acp", "hello\r")
        assert code == 0, screen
        code, listed = made.run("acp-console sessions ls --json")
        assert code == 0, listed
        made.words["session"] = json.loads(listed.splitlines()[0])["id"]
        shutil.copytree(made.path, made.pristine)
        with running(
            made, "acp-agent serve --no-config --http 127.0.0.1:0", r"https?://\S+/acp"
        ) as url:
            made.words["url"] = url
            yield made


@pytest.fixture
def attached(place: Place) -> Generator[None]:
    """The running proxy that `attach` names; its stdin is open."""
    place.begin_anew()
    pipe = subprocess.PIPE
    line = "exec acp-console proxy --name work -- my-agent --acp"
    with place.start(line, stdin=pipe, stdout=pipe) as proxy:
        while "work" not in place.run("acp-console attach --list --json")[1]:
            assert proxy.poll() is None
        yield
        proxy.communicate(timeout=LIMIT_S)
    assert proxy.returncode == 0


def fill(path: Path) -> None:
    shutil.copytree(ROOT / "recordings", path / "recordings")
    # It says that these recordings are trusted.
    shutil.copy(ROOT / "pyproject.toml", path)
    texts = TEXTS | {name: f"#!/bin/sh\n{script}\n" for name, script in PROGRAMS.items()}
    for name, text in texts.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
        (path / name).chmod(0o700)


def tried(place: Place, line: str) -> str:
    """Return what is wrong with an example; empty if nothing is."""
    place.begin_anew()
    # What it writes is not there yet.
    for name in re.findall(r"(?:-o|--record|--cassette) (\S+)", line):
        if "replay" not in line:
            with suppress(OSError):
                place.path.joinpath(name).unlink()
    for part, before in BEFORE.items():
        if part in line:
            code, said = place.run(place.filled(before))
            assert code == 0, said
    filled = place.filled(line)
    if SCREENS.fullmatch(line):
        code, said = place.show(filled)
        good = code == 0 and SCREEN in said
    elif ASKS.match(line):
        code, said = place.show(filled, "y\r", "[y/N]")
        good = code == 0
    elif SERVES.match(line):
        code, said = place.interrupt(filled)
        good = code in {0, INTERRUPTED, NOTHING}
    else:
        code, said = place.run(filled)
        good = code == 0 or (code in {FOUND, NOTHING} and LOOKS.match(line) is not None)
    good = good and "error: " not in said and "Traceback" not in said
    return "" if good else f"{line}\nexit code {code}\n{ESCAPE.sub('', said)[-2000:]}"


def test_every_help_has_an_example() -> None:
    pages = HELP.findall(PAGE)
    assert len(pages) > len(COMMANDS)
    assert not [title for title, text in pages if not examples_in(text)]


@pytest.mark.long
@pytest.mark.parametrize("command", examples())
def test_every_example_runs_in_a_fresh_clone(
    command: str, place: Place, request: pytest.FixtureRequest
) -> None:
    if command == "attach":
        request.getfixturevalue("attached")
    wrong = [said for line in examples()[command] if (said := tried(place, line))]
    assert not wrong, "\n\n".join(wrong)
