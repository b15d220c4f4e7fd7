"""The examples of `--help`, run as a reader of a fresh clone runs them.

What the examples name and a clone does not have is made in one place: `clone`.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LIMIT_S = 90
"""Seconds after which an example counts as hung."""
SERVES_S = 3
"""Seconds that an example may serve before it is interrupted."""
EXAMPLE = re.compile(r"^  +(acp-console(?: .*)?)$", re.MULTILINE)
PROSE = re.compile(r"^acp-console [\w -]+ (plays|runs|list) |and acp-console|; acp-console")
FOUND, USAGE = 1, 2
COMMANDS = (
    *("exec", "show", "stats", "diff", "lint", "scan", "redact", "snapshot", "recover"),
    *("import", "inspect", "test"),
)
"""Those whose examples need no account, no model, no other agent and no server."""
NEEDS_TERMINAL = re.compile("acp-console inspect")
"""Without a terminal, an example says so, and nothing else is wrong with it."""
SERVES = re.compile(r" --follow ")
"""Runs until it is interrupted."""
FINDS = re.compile(r"--only-right 'turn == 2'")
"""Looks for differences, and finds some."""
PROGRAMS = {
    # The demo agent.
    "my-agent": "exec acp-agent --no-config",
    "my-client": """
case $1 in
  --agent) shift; exec acp-console exec hello -- "$@" ;;
  *) exec acp-console exec --url "$1" --token-env ACP_CONSOLE_TOKEN hello ;;
esac""",
}
COPIES = ("x", "turn", "before", "after", "before/one", "after/one")
"""Recordings of examples that are copies of `session.acp.ndjson`."""
TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
LOG = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
TEXTS = {
    "zed-log.json": LOG,
    "019c.stream.ndjson": LOG,
    "logs/one.log": LOG,
    "logs/two.log": LOG,
    "README.md": f"# Read me\n{TOKEN}\n",
}


def examples_of(name: str) -> list[str]:
    """Return the examples in the help of a command, without their comments."""
    command = [sys.executable, "-m", "acp_console", name, "--help"]
    env = {**os.environ, "COLUMNS": "200"}
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=env).stdout
    joined = shown.replace("\\\n  ", "")
    found = EXAMPLE.findall(joined.partition("\nOptions:")[0])
    return [re.sub(r"\s+# .*", "", each) for each in found if not PROSE.search(each)]


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clone with what examples name: agents, a client, recordings, logs."""
    tmp_path = tmp_path_factory.mktemp("clone")
    shutil.copytree(ROOT / "recordings", tmp_path / "recordings")
    # It says that these recordings are trusted.
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    texts = TEXTS | {f"bin/{name}": f"#!/bin/sh\n{script}\n" for name, script in PROGRAMS.items()}
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o700)
    for name, prompt in (("hello", "hello"), ("session", "read README.md")):
        line = f"acp-console exec --record {name}.acp.ndjson {prompt!r} -- my-agent --acp"
        assert run(tmp_path, line).returncode == 0
    shutil.copy(tmp_path / "hello.acp.ndjson", tmp_path / "public.acp.ndjson")
    for name in (*(f"{each}.acp.ndjson" for each in COPIES), "A", "B"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(tmp_path / "session.acp.ndjson", tmp_path / name)
    return tmp_path


@pytest.fixture
def workplace(clone: Path, tmp_path: Path) -> Path:
    """A clone of its own."""
    return Path(shutil.copytree(clone, tmp_path / "clone"))


def run(place: Path, line: str, limit: float = LIMIT_S) -> subprocess.CompletedProcess[str]:
    """Run a line in a shell, with our programs and those of the workplace."""
    path = [str(place / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]]
    homes = {f"XDG_{kind}_HOME": str(place / kind.lower()) for kind in ("CONFIG", "STATE")}
    env = {**os.environ, **homes, "PATH": os.pathsep.join(path)}
    command = ["timeout", "--signal=INT", str(limit), "bash", "-c", line]
    return subprocess.run(
        command,
        cwd=place,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.long
@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_runs_in_a_fresh_clone(command: str, workplace: Path) -> None:
    examples = examples_of(command)
    assert examples
    for line in examples:
        # What an example writes is not there yet.
        for name in re.findall(r"(?:-o|--record) (\S+\.acp\.ndjson)", line):
            Path(workplace, name).unlink(missing_ok=True)
        serves = SERVES.search(line)
        done = run(workplace, line, SERVES_S if serves else LIMIT_S)
        said = f"{line}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        if NEEDS_TERMINAL.match(line):
            assert (done.returncode, "needs a terminal" in done.stderr) == (USAGE, True), said
        elif FINDS.search(line):
            assert done.returncode == FOUND, said
        else:
            assert done.returncode in ({0, 1, 124} if serves else {0}), said
            assert "error: " not in done.stderr, said
