"""Which command runs, and where errors become sentences."""

from __future__ import annotations

import errno
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from acp_console.cli import exit_codes
from acp_console.cli.errors import report
from acp_console.cli.group import COMMANDS, GROUPS, WITHOUT_CLICK
from acp_console.cli.help import topics
from acp_console.cli.main import run
from acp_console.cli.other_words import OTHER_WORDS
from acp_protocol.version import SCHEMA_ID, SCHEMA_RELEASE, SCHEMA_RELEASED, VERSION
from tests.console.conftest import Agent, Call
from tests.warm import WARM

SIDES = ["conform agent", "conform client", "test agent", "test client"]
HELLO = str(Path(__file__).parents[3] / "recordings/hello.acp.ndjson")


def test_the_version_names_the_schema_that_is_built_in(call: Call) -> None:
    done = call("--version")
    assert done.code == exit_codes.DONE
    assert done.out.splitlines() == [
        f"acp-console {VERSION} (ACP schema {SCHEMA_ID})",
        f"schema of {SCHEMA_RELEASED}; {SCHEMA_RELEASE}",
    ]


def test_help_lists_every_command(call: Call) -> None:
    done = call("--help")
    assert done.code == exit_codes.DONE
    for name in COMMANDS:
        assert f"\n  {name} " in done.out


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "agent"])
def test_each_command_has_help_with_an_example(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ending:
        run([command, "--help"])
    assert ending.value.code == exit_codes.DONE
    shown = capsys.readouterr().out
    assert "acp-" in shown.partition("sage: ")[2].partition("\n")[2]


@pytest.mark.parametrize("command", ["", *COMMANDS, *SIDES])
def test_help_fits_into_80_columns(
    command: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = call(*command.split(), "--help")
    assert [line for line in done.out.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("words", [["nothing"], ["--nothing"], ["exec", "--nothing", "hello"]])
def test_what_is_not_known_is_wrong_usage(call: Call, words: list[str]) -> None:
    done = call(*words)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert "nothing" in done.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["shw"], "show"),
        (["gemni"], "gemini"),
        (["agents", "lst"], "ls"),
        (["show", "--fromat", "json", "x"], "--format"),
        (["lint", "--rules", "concurent-prompts"], "concurrent-prompts"),
        (["proxy", "--recrd", "x", "--", "cat"], "--record"),
        (["agent", "--modle", "x"], "--model"),
        (["conform", "client", "--persna", "x"], "--persona"),
    ],
)
def test_a_mistyped_word_is_told_what_was_meant(call: Call, words: list[str], meant: str) -> None:
    done = call(*words)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    assert f"\nhint: did you mean {meant}?\n" in done.err
    assert done.err.count("\n") == 2


def test_a_word_of_other_tools_gets_a_hint_with_commands_that_there_are(call: Call) -> None:
    known = call("--help").out
    for hint in set(OTHER_WORDS.values()):
        for command, sub in re.findall(r"acp-console (\w+) ?(ls|rm|export|resume|login)?", hint):
            known += call(*filter(None, (command, sub)), "--help").out
            assert command in COMMANDS
        assert [each for each in re.findall(r"--\w+", hint) if each not in known] == []
    for word, hint in OTHER_WORDS.items():
        assert word not in COMMANDS
        assert call(word).err == f"error: unknown command {word!r}\nhint: {hint}\n"


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["replay", "--as", "agent", HELLO], "acp-console mock FILE"),
        (["replay", "--as", "alone", HELLO], "acp-console snapshot FILE"),
        (["replay", "--update", HELLO], "acp-console snapshot FILE"),
        (["mock", "--update", HELLO], "acp-console snapshot FILE"),
        (["test", "--client", "my-client", HELLO], "acp-console test client PATH"),
        (["test", "client", "--agent", "demo", HELLO], "acp-console test agent"),
        (["conform", "--side", "client"], "acp-console conform client"),
    ],
)
def test_an_option_of_another_command_names_that_command(
    call: Call, words: list[str], command: str
) -> None:
    done = call(*words)
    assert (done.code, done.out) == (exit_codes.USAGE, "")
    error, hint = done.err.splitlines()
    assert error.startswith("error: unknown option --")
    assert command in hint


def test_without_a_terminal_there_is_one_turn_and_a_line_that_says_so(call: Call) -> None:
    done = call()
    assert done.code == exit_codes.DONE
    assert "demo agent" in done.out
    assert done.err == (
        "note: no terminal found: running one turn with the embedded demo agent\n"
        "note: running in mode architect, the most restrictive; --allow edits lets it change "
        "files\n"
    )


def test_without_a_terminal_a_command_gets_its_turn_too(agent: Agent, call: Call) -> None:
    done = call("--", *agent('end(hear_prompt(), "end_turn")'))
    assert done.code == exit_codes.DONE
    assert "one turn with python" in done.err


@pytest.mark.parametrize("options", [("--debug",), ("--theme", "acp-light", "--debug")])
def test_the_options_of_the_console_stand_before_the_command_of_an_agent(
    agent: Agent, call: Call, options: tuple[str, ...]
) -> None:
    done = call(*options, "--", *agent('end(hear_prompt(), "end_turn")'))
    assert done.code == exit_codes.DONE
    assert "one turn with python" in done.err


def test_chat_needs_a_terminal_and_says_what_does_not(call: Call) -> None:
    done = call("chat")
    assert done.code == exit_codes.USAGE
    assert "chat needs a terminal\nhint: without one, use acp-console exec" in done.err


def test_what_is_no_recording_is_refused_before_the_screen_opens(
    call: Call, tmp_path: Path
) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n")
    for file in (page, tmp_path / "nosuch"):
        done = call("inspect", str(file))
        assert done == call("show", str(file))
        assert (done.code, done.err.count("\n")) == (exit_codes.USAGE, 1)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no/such/file", "cannot read no/such/file: no such file or directory"),
        ("nosuch.acp.ndjson", "cannot read nosuch.acp.ndjson: no such file or directory"),
        ("./nosuch*", "no file matches nosuch*"),
    ],
)
def test_a_path_that_cannot_be_read_is_no_unknown_command(
    call: Call, path: str, reason: str
) -> None:
    done = call(path)
    assert done.code == exit_codes.USAGE
    assert done.err == (
        f"error: {reason}\nhint: acp-console -- COMMAND starts an agent by its command\n"
    )


def test_nothing_behind_the_dashes_is_wrong_usage(call: Call) -> None:
    for words in (
        ["--"],
        ["--debug", "--"],
        ["chat", "--"],
        ["exec", "hello", "--"],
        ["proxy", "--"],
    ):
        assert call(*words).code == exit_codes.USAGE


def test_debug_shows_where_and_keeps_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ending:
        run(["--debug", "exec", "hello", "--", "/no/such/agent"])
    assert ending.value.code == exit_codes.AGENT
    shown = capsys.readouterr().err
    assert shown.startswith("Traceback")
    assert shown.endswith("there is no such command\nhint: check its path\n")


def test_a_full_disk_is_told_as_what_the_user_can_mend(capsys: pytest.CaptureFixture[str]) -> None:
    assert report(OSError(errno.ENOSPC, "No space left on device")) == exit_codes.USAGE
    assert capsys.readouterr().err.splitlines() == [
        "error: writing failed: No space left on device",
        "hint: make room on the disk, or send the output elsewhere",
    ]


def test_what_nobody_foresaw_is_one_sentence_too(
    call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(command: object = (), theme: str | None = None) -> int:
        raise ZeroDivisionError("a\nb\x1b")

    monkeypatch.setattr("acp_console.cli.group.home", fail)
    done = call()
    assert done.code == exit_codes.FOUND
    error, hint = done.err.splitlines()
    assert error.startswith("error: ")
    assert "ZeroDivisionError" in error
    assert error.isprintable()
    assert hint.startswith("hint: run acp-console --debug")


@pytest.mark.parametrize("words", [["show", "--help"], ["agents"], ["--help"]])
def test_a_reader_that_has_left_is_no_error(words: list[str]) -> None:
    command = [*WARM, "-m", "acp_console", *words]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.close()
        assert child.stderr is not None
        assert (child.stderr.read(), child.wait(30)) == (b"", exit_codes.DONE)


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("acp-console ex", "plain,exec"),
        ("acp-console exec --for", "plain,--format"),
        ("acp-console exec --allow e", "plain,edits"),
        ("acp-console show --co", "plain,--count"),
        ("acp-console pro", "plain,proxy"),
        ("acp-console conform cl", "plain,client\nplain,claude\nplain,cline"),
        ("acp-console conform agent dem", "plain,demo"),
        ("acp-console conform --jo", "plain,--jobs"),
        ("acp-console conform client --per", "plain,--persona"),
        ("acp-console test --agent dem", "plain,demo"),
    ],
)
def test_the_shell_completes_commands_options_and_values(
    call: Call, monkeypatch: pytest.MonkeyPatch, words: str, offered: str
) -> None:
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    monkeypatch.setenv("_ACP_CONSOLE_COMPLETE", "bash_complete")
    assert call().out == f"{offered}\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_script_of_the_shell(call: Call, shell: str) -> None:
    done = call("completion", shell)
    assert (done.code, done.err) == (exit_codes.DONE, "")
    assert f"_ACP_CONSOLE_COMPLETE={shell}_complete" in done.out


def test_help_groups_the_commands_and_ends_with_the_docs(call: Call) -> None:
    shown = call("--help").out
    places = [shown.index(f"\n{title}:\n") for title in GROUPS]
    assert places == sorted(places)
    assert shown.endswith("\nMore: acp-console help\n")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in WITHOUT_CLICK])
def test_each_help_names_a_page_that_exists(call: Call, command: str) -> None:
    more = call(command, "--help").out.rpartition("\nMore: acp-console help")[2].strip()
    assert more in topics() or (command, more) == ("help", "")


@pytest.mark.parametrize(
    "words",
    [
        ("doctor",),
        ("agents",),
        ("agents", "info", "demo"),
        ("show", HELLO),
        ("show", "--view", "capabilities", HELLO),
        ("stats", HELLO),
        ("lint", HELLO),
        ("lint", "--rules"),
        ("diff", HELLO, HELLO),
        ("scan", HELLO),
        ("exec", "hello"),
        ("replay", HELLO, "demo"),
    ],
)
def test_json_is_short_for_its_format_and_carries_a_version(
    call: Call, words: tuple[str, ...]
) -> None:
    done = call(*words, "--json")
    assert [json.loads(line)["v"] for line in done.out.splitlines()] == [1] * done.out.count("\n")
    assert done.out.count("\n") >= 1
    refused = call(*words, "--json", "--format", "text" if words[0] != "show" else "table")
    assert (refused.code, refused.out) == (exit_codes.USAGE, "")


def test_a_log_is_told_in_one_line_without_its_traceback() -> None:
    """In a process of its own, because the log is set up once."""
    program = """
import logging
from acp_console.cli import group
def home(command=(), theme=None):
    try:
        1 / 0
    except ZeroDivisionError:
        logging.getLogger("acp_inspector").exception("an observer\\x1b failed")
    return 0
group.home = home
group.run_words([], is_debug=False)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=30)
    assert done.stderr.decode() == "error: an observer␛ failed\n"


@pytest.mark.parametrize("command", [("chat",), ("exec", "hi")])
def test_an_existing_recording_is_refused_with_advice_that_the_command_can_take(
    call: Call, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = tmp_path / "it.acp.ndjson"
    path.write_text("mine")
    done = call(*command, "--record", str(path))
    assert done.code == exit_codes.USAGE
    assert "it.acp.ndjson exists already\nhint: choose another name" in done.err
    assert ("--append" in done.err) == (command[0] == "exec")


@pytest.mark.parametrize("command", [("chat",), ("exec", "hi")])
def test_a_recording_needs_a_name(call: Call, command: tuple[str, ...]) -> None:
    done = call(*command, "--record", "")
    assert done.code == exit_codes.USAGE
    assert "the name is empty" in done.err
