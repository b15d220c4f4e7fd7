"""Running proxies on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Generator

import pytest

from acp_console.cli import exits
from tests.console.conftest import Call

CAT = (sys.executable, "-c", "import sys; sys.stdin.read()")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """No proxy of another test is found."""
    with tempfile.TemporaryDirectory(prefix="acp-") as home:
        monkeypatch.setenv("XDG_RUNTIME_DIR", home)
        yield


@pytest.fixture
def proxy(alone: None) -> Generator[subprocess.Popen[bytes]]:
    del alone
    command = [sys.executable, "-m", "acp_console", "proxy", "--name", "work", "--", *CAT]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def listed(call: Call, *options: str) -> str:
    """Return the list once the proxy, which has just been started, stands in it."""
    for _ in range(2000):
        outcome = call("attach", "--list", *options)
        assert outcome.code == exits.DONE
        if outcome.out:
            return outcome.out
    raise AssertionError("the proxy never appeared")


def test_running_proxies_are_listed(call: Call, proxy: subprocess.Popen[bytes]) -> None:
    (line,) = listed(call).splitlines()
    assert line.split()[:2] == ["work", str(proxy.pid)]
    about = json.loads(listed(call, "--json"))
    assert (about["name"], about["pid"], about["command"]) == ("work", proxy.pid, list(CAT))


def test_without_one_the_list_is_empty_and_says_what_to_do(call: Call, alone: None) -> None:
    del alone
    outcome = call("attach", "--list")
    assert (outcome.code, outcome.out) == (exits.DONE, "")
    assert "acp-console proxy -- my-agent" in outcome.err
    assert call("attach", "--list", "--json").out == ""


@pytest.mark.parametrize("words", [("attach",), ("attach", "--json"), ("inspect", "README.md")])
def test_a_screen_needs_a_terminal(call: Call, alone: None, words: tuple[str, ...]) -> None:
    del alone
    outcome = call(*words)
    assert outcome.code == exits.USAGE
    assert "Error: " in outcome.err
