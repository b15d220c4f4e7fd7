from __future__ import annotations

import json
import socket
from datetime import date
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.doctor import schema_check
from acp_inspector.control.server import socket_directory
from acp_protocol.version import SCHEMA_ID, SCHEMA_RELEASE, SCHEMA_RELEASED
from tests.console.cli.conftest import Configure, Install, on_terminal
from tests.console.conftest import Call

pytestmark = pytest.mark.usefixtures("home")


def test_a_machine_without_problems_is_fine(call: Call) -> None:
    done = call("doctor")
    assert done.code == 0, done.out
    assert "✓ agents    demo starts and opens a session" in done.out
    assert "✗" not in done.out


def test_programs_get_one_object(call: Call, home: Path) -> None:
    facts = json.loads(call("doctor", "--json").out)
    assert (facts["v"], facts["ok"]) == (1, True)
    assert {check["area"] for check in facts["checks"]} == {
        "python", "schema", "terminal", "config", "state", "agents", "proxies"
    }  # fmt: skip
    assert {
        "area": "state",
        "level": "ok",
        "text": f"{home}/state/acp-console: made when it is needed",
        "hint": "",
    } in facts["checks"]


@pytest.mark.parametrize(
    ("today", "level", "age"),
    [
        ("2026-11-03", "ok", "1 day old"),
        ("2027-04-30", "ok", "179 days old"),
        ("2027-06-01", "warning", "211 days old"),
        ("1970-01-01", "ok", "0 days old"),
    ],
)
def test_the_age_of_the_schema_is_told(today: str, level: str, age: str) -> None:
    check = schema_check(date.fromisoformat(today))
    assert (check.area, check.level) == ("schema", level)
    assert check.text.startswith(f"{age} (2026-11-02; version 1: probably 1.29.1")
    assert "session cursors" in check.text
    assert bool(check.hint) is (level == "warning")


def test_a_release_is_named_for_the_schema_that_is_built_in() -> None:
    # Another schema needs another release, date and list of newer names.
    assert SCHEMA_ID == "v1+ce7881d10c85 v2+49e10f8c1935"
    assert SCHEMA_RELEASED == "2026-11-02"
    assert "1.29.1" in SCHEMA_RELEASE


def test_mistakes_of_both_configurations_are_reported_with_their_lines(
    call: Call, configure: Configure, home: Path
) -> None:
    path = configure("[agents.mine]\ncomand = ['x']\n")
    agent = home / "config/acp-console/acp-agent.toml"
    agent.write_text("\n[sessions]\nmax_concurrent = 0\n")
    done = call("doctor")
    assert done.code == exit_codes.FOUND
    assert f"✗ config    {path}:2: agents.mine.comand: unknown key" in done.out
    assert f"✗ config    {agent}:3: sessions.max_concurrent" in done.out


def test_an_own_agent_that_is_not_there_or_lacks_a_variable_is_reported(
    call: Call, configure: Configure, install: Install
) -> None:
    install("there", "")
    configure(
        "[agents.one]\ncommand = ['gone']\n"
        "[agents.two]\ncommand = ['there']\nenv = { A = '${NOT_SET}' }\n"
    )
    done = call("doctor")
    assert done.code == exit_codes.FOUND
    assert "one: no program 'gone' was found" in done.out
    assert "toml:5: agents.two.env.A: the variable NOT_SET is not set" in done.out


def test_installed_agents_are_named_with_the_versions_of_their_packages(
    call: Call, home: Path
) -> None:
    # As npm and uv install them: a link into the package, and a program beside its library.
    package = home / "lib/node_modules/@google/gemini-cli"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"name": "@google/gemini-cli", "version": "0.61.0"}')
    program = package / "dist/index.js"
    library = home / "tools/kimi-cli/lib/python3.13/site-packages/kimi_cli-1.50.0.dist-info"
    library.mkdir(parents=True)
    (library / "entry_points.txt").write_text("[console_scripts]\nkimi = kimi_cli.main:run\n")
    other = home / "tools/kimi-cli/bin/kimi"
    other.parent.mkdir()
    for each, name in ((program, "gemini"), (other, "kimi"), (home / "goose", "goose")):
        each.write_text("#!/bin/sh\ntouch ran\n")
        each.chmod(0o755)
        (home / "bin" / name).symlink_to(each)
    done = call("doctor")
    assert f"gemini 0.61.0  {home}/bin/gemini" in done.out
    assert f"kimi 1.50.0  {home}/bin/kimi" in done.out
    assert f"goose (version not known)  {home}/bin/goose" in done.out
    assert not Path("ran").exists()


def test_a_directory_that_others_may_enter_is_wrong(call: Call, home: Path) -> None:
    state = home / "state/acp-console"
    state.mkdir(parents=True)
    state.chmod(0o755)
    done = call("doctor")
    assert done.code == exit_codes.FOUND
    assert f"{state}: others have access" in done.out
    assert f"run chmod 700 {state}" in done.out


def test_the_room_that_kept_sessions_take_is_shown(call: Call, home: Path) -> None:
    folder = home / "state/acp-console/sessions/x"
    folder.mkdir(parents=True)
    (home / "state/acp-console").chmod(0o700)
    (folder / "1.acp.ndjson").write_bytes(bytes(2 * 2**20))
    done = call("doctor")
    assert done.code == 0
    assert "sessions of the chat: 1 file, 2048.0 kB" in done.out


def test_the_socket_of_a_killed_proxy_is_removed(call: Call) -> None:
    path = socket_directory() / "gone-1.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    assert "removed 1 socket of killed proxies" in call("doctor").out
    assert not path.exists()
    assert "none runs" in call("doctor").out


def test_a_small_or_dumb_terminal_is_pointed_out_and_counts_as_fine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "dumb")
    done = on_terminal("doctor", size=(30, 8))
    assert done.code == 0
    assert "! terminal  30 × 8 cells" in done.out
    assert "! terminal  TERM is dumb" in done.out
    # A long text stays in its column.
    after = done.out.partition("✓ schema")[2].splitlines()[1:3]
    assert all(line.startswith(" " * len("! terminal  ")) and line.strip() for line in after)
