"""The pytest plugin: recordings as tests, and fixtures to talk to an agent.

pytest imports this module in every project that it runs in, so nothing else of ours is imported
before a recording is collected or a fixture is used.

Source: docs/testing.md.
"""

from __future__ import annotations

import argparse
import os
import shlex
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

if TYPE_CHECKING:
    from acp_inspector.replay.trust import Trust
    from acp_inspector.testing.fixtures import (
        AcpAgent,
        AcpClient,
        AcpModel,
        AcpReplay,
        HeldConversation,
    )
    from acp_inspector.testing.recording_test import PlayOptions, PlayOutcome
    from acp_protocol.transport.remote import RemoteAgent

SUFFIX: Final = ".acp.ndjson"
LEVELS: Final = ("strict", "semantic", "shape")
VERSIONS: Final = ("1", "2")
RECORD_MODES: Final = ("none", "once", "new", "rewrite")
UPDATED: Final = "acp_updated"
"""The property of a report that has the differences of an updated recording."""
HANDED: Final = "acp_handed"
"""The property of a report that has what a trusted recording had the agent do."""
MARKER: Final = "acp_recording"
_CONVERSATION: Final[pytest.StashKey[HeldConversation]] = pytest.StashKey()
_MODEL: Final[pytest.StashKey[AcpModel]] = pytest.StashKey()
_DESELECTED: Final[pytest.StashKey[int]] = pytest.StashKey()
"""How many items are in other shards."""
_PLAYERS: Final[pytest.StashKey[list[AcpReplay | AcpClient]]] = pytest.StashKey()
"""The fixtures of a test that play the recording of its marker if the test calls them."""


class AcpRecordingWarning(pytest.PytestWarning):
    """A part of a recording cannot be read, so only the rest was played."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("acp", "recordings of the Agent Client Protocol")
    group.addoption(
        "--acp-agent",
        metavar="CMD|URL",
        help="play recordings against the agent that this command starts, or that serves ACP at "
        "this URL, and let the fixture acp_agent open it",
    )
    group.addoption("--acp-level", choices=LEVELS, help="how closely messages are compared")
    group.addoption(
        "--acp-timeout", type=_duration, metavar="DURATION", help="limit for each wait: 30, 500ms"
    )
    group.addoption(
        "--acp-update",
        action="store_true",
        help="write what the agent does now into the recordings that differ, and show the "
        "differences",
    )
    group.addoption(
        "--acp-record",
        choices=RECORD_MODES,
        default="none",
        help="record tests with a marker acp_recording: never; if there is no recording; also if "
        "the test sends something else; always",
    )
    group.addoption(
        "--acp-shard", type=_shard, metavar="I/N", help="run only this part of the recordings"
    )
    group.addoption(
        "--acp-trust",
        action="store_true",
        help="play recordings that act, such as by MCP servers or permissions, also if neither "
        "acp_recordings nor pyproject.toml names them",
    )
    group.addoption(
        "--acp-allow-redacted",
        action="store_true",
        help="send placeholders where secrets were removed from a recording",
    )
    parser.addini("acp_recordings", "directories and files with recordings", "paths", default=[])
    parser.addini("acp_agent", "command or URL of the agent, see --acp-agent", default="")
    parser.addini("acp_token_env", "variable with the token of an agent at a URL", default="")
    parser.addini("acp_level", "how closely messages are compared", default="semantic")
    parser.addini("acp_protocol", "newest version that acp_agent offers: 1 or 2", default="1")
    parser.addini("acp_dialect", "dialect of the agent, if it cannot be recognised", default="")


def _duration(text: str) -> float:
    from acp_protocol.host.arguments import parse_duration

    try:
        return parse_duration(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _shard(text: str) -> str:
    from acp_inspector.testing.recording_test import Shard

    try:
        Shard.parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None
    return text


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARKER}(path): the recording that a test is about, relative to the test's file; what "
        "the test says through acp_agent must be equal to it, see --acp-record",
    )
    level = config.getoption("--acp-level") or config.getini("acp_level")
    if config.getoption("--acp-update") and level == "strict":
        raise pytest.UsageError("--acp-update writes what differs in meaning; use another level")
    if config.getini("acp_level") not in LEVELS:
        raise pytest.UsageError(f"acp_level is none of {', '.join(LEVELS)}")
    if config.getini("acp_protocol") not in VERSIONS:
        raise pytest.UsageError(f"acp_protocol is none of {', '.join(VERSIONS)}")
    given = config.getoption("--acp-agent"), config.getini("acp_agent")
    for name, command in zip(("--acp-agent", "acp_agent"), given, strict=True):
        try:
            shlex.split(command or "")
        except ValueError as problem:
            raise pytest.UsageError(f"{name}: {problem}: {command}") from None
    if config.getoption("--acp-record") == "none":
        for path in _recording_paths(config):
            if not path.exists():
                raise pytest.UsageError(
                    f"acp_recordings names {path}, which does not exist; record with acp-console "
                    "exec --record, or with --acp-record once"
                )
    if config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        # A project names its recordings once, and not in testpaths again.
        known = [Path(config.invocation_params.dir, each).resolve() for each in config.args]
        config.args += [
            str(path)
            for path in _recording_paths(config)
            if path.exists() and not any(path.is_relative_to(each) for each in known)
        ]


def _recording_paths(config: pytest.Config) -> list[Path]:
    paths: list[Path] = config.getini("acp_recordings")
    return [path.resolve() for path in paths]


# Recordings as items


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    if not file_path.name.endswith(SUFFIX):
        return None
    path = file_path.resolve()
    if not any(path.is_relative_to(each) for each in _recording_paths(parent.config)):
        return None
    return RecordingFile.from_parent(parent, path=file_path)  # pyright: ignore[reportUnknownMemberType]


class RecordingFile(pytest.File):
    """A recording, which is one test."""

    def collect(self) -> Iterator[pytest.Item]:
        yield RecordingItem.from_parent(self, name="replay")  # pyright: ignore[reportUnknownMemberType]


class RecordingItem(pytest.Item):
    """Plays a recording against the agent."""

    def runtest(self) -> None:
        import anyio

        from acp_inspector.testing.recording_test import run_recording

        outcome = anyio.run(run_recording, self.path, play_options(self.config))
        errors = [note for note in outcome.notes if _warns_as_error(self.path, note)]
        if errors and outcome.passed:
            text = "\n".join(errors)
            pytest.fail(f"{self.path.name}: it cannot be read completely\n{text}", pytrace=False)
        _conclude(self, outcome)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, self.nodeid.partition("::")[0]


def _warns_as_error(path: Path, note: str) -> bool:
    """Warn about a part of a recording; return whether the project makes errors of warnings."""
    try:
        warnings.warn_explicit(note, AcpRecordingWarning, str(path), 0)
    except AcpRecordingWarning:
        return True
    return False


def play_options(config: pytest.Config, **given: Any) -> PlayOptions:
    """Return the options of the project, and those that are `given` and not None instead."""
    from acp_inspector.testing.recording_test import PlayOptions

    is_trusted = given.pop("is_trusted", None)
    options: dict[str, Any] = {
        "agent": agent_of(config),
        "level": config.getoption("--acp-level") or config.getini("acp_level"),
        "timeout": config.getoption("--acp-timeout"),
        "trust": trust_of(config, is_given=is_trusted),
        "allows_redacted": config.getoption("--acp-allow-redacted"),
        "is_updating": config.getoption("--acp-update"),
        **{name: value for name, value in given.items() if value is not None},
    }
    return PlayOptions(**{name: value for name, value in options.items() if value is not None})


def trust_of(config: pytest.Config, *, is_given: bool | None = None) -> Trust:
    """Return what the project trusts: what its configuration names, and what `--acp-trust` says."""
    from acp_inspector.replay.trust import project_trust

    option = config.getoption("--acp-trust")
    is_trusted = bool(option) if is_given is None else is_given
    project = project_trust(config.rootpath, is_given=is_trusted)
    return replace(project, paths=(*project.paths, *_recording_paths(config)))


def agent_of(config: pytest.Config) -> Sequence[str] | RemoteAgent:
    """Return the agent under test, its command or where it is; empty if none is named."""
    from acp_protocol.transport.opening import named_agent

    variable = config.getini("acp_token_env")
    token = os.environ.get(variable) if variable else None
    if given := config.getoption("--acp-agent"):
        return named_agent(given, config.invocation_params.dir, token)
    return named_agent(config.getini("acp_agent"), config.rootpath, token)


def _conclude(item: pytest.Item, outcome: PlayOutcome) -> None:
    """Let the test end as the recording did."""
    if outcome.handed:
        item.user_properties.append((HANDED, f"{outcome.path.name}: {outcome.handed}"))
    # The options have other names here than those of the command, which the errors name.
    text = outcome.text.replace("with --", "with --acp-") if outcome.problem else outcome.text
    match outcome.status:
        case "skipped":
            pytest.skip(f"{text}: give --acp-agent, or set acp_agent in the configuration")
        case "updated":
            item.user_properties.append((UPDATED, f"{outcome.path.name}: {text}"))
        case "passed":
            # Shown by -rP: what was tolerated.
            item.add_report_section("call", "acp", text)
        case _:
            pytest.fail(f"{outcome.path.name}: {text}", pytrace=False)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    text: str | None = config.getoption("--acp-shard")
    if text is None:
        return
    from acp_inspector.testing.recording_test import Shard

    shard = Shard.parse(text)
    others = [item for item in items if (name := _shard_name(item)) and name not in shard]
    if others:
        config.stash[_DESELECTED] = len(others)
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def _shard_name(item: pytest.Item) -> str | None:
    """Return the path of the recording that an item is about, as the project spells it."""
    path = item.path if isinstance(item, RecordingItem) else marked_recording(item)
    if path is None:
        return None
    root = item.config.rootpath
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def marked_recording(item: pytest.Item) -> Path | None:
    """Return the recording that the marker of a test names; None if there is no marker."""
    marker = item.get_closest_marker(MARKER)
    if marker is None:
        return None
    if len(marker.args) != 1 or not isinstance(marker.args[0], str | Path) or marker.kwargs:
        raise pytest.UsageError(f'{item.nodeid}: the marker is {MARKER}("NAME{SUFFIX}")')
    return item.path.parent / marker.args[0]


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Let an empty part of the recordings pass: another part has them."""
    config = session.config
    # With xdist the items are deselected in its workers.
    is_elsewhere = config.stash.get(_DESELECTED, 0) or config.pluginmanager.hasplugin("dsession")
    is_shard = config.getoption("--acp-shard") is not None
    if is_shard and is_elsewhere and exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED:
        session.exitstatus = pytest.ExitCode.OK


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for reports in terminalreporter.stats.values()
        for report in reports
        if isinstance(report, pytest.TestReport) and report.when == "call"
    ]
    for name, title in ((UPDATED, "updated recordings"), (HANDED, "handed to the agent")):
        shown = [str(text) for each in reports for key, text in each.user_properties if key == name]
        if name == HANDED and shown and terminalreporter.verbosity <= 0:
            what = "recordings that act, such as by MCP servers, modes or permissions"
            terminalreporter.write_line(f"{what}: {len(shown)}; -v lists them")
        elif shown:
            terminalreporter.section(title)
            for text in shown:
                terminalreporter.write_line(text)


# Fixtures


def pytest_runtest_setup(item: pytest.Item) -> None:
    recording = marked_recording(item)
    if recording is None or item.config.getoption("--acp-record") != "none":
        return
    if not recording.exists():
        pytest.fail(f"there is no {recording}; --acp-record once records it", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Compare what a test has sent with its recording, once the test itself has passed."""
    conversation = item.stash.get(_CONVERSATION, None)
    try:
        yield
    except (Exception, pytest.fail.Exception):
        # A test's own assertion often fails by what the comparison explains.
        if conversation is not None and (text := conversation.difference()):
            item.add_report_section("call", "acp", text)
        raise
    model = item.stash.get(_MODEL, None)
    if model is not None and (problem := model.finish()):
        pytest.fail(problem, pytrace=False)
    recording = marked_recording(item)
    if recording is None:
        return
    players = [each for each in item.stash.get(_PLAYERS, ()) if each.has_played_marked]
    if conversation is not None and (conversation.has_begun or not players):
        _conclude(item, conversation.finish())
    elif not players:
        pytest.fail(
            f"{recording.name}: the test has not used it: call acp_client or acp_replay, or talk "
            "to acp_agent",
            pytrace=False,
        )
    for each in players:
        if each.problem:
            pytest.fail(f"{recording.name}: {each.problem}", pytrace=False)


@pytest.fixture
def acp_agent(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[AcpAgent]:
    """The agent under test: `acp_agent.prompt("hello").text`, see docs/testing.md."""
    from acp_inspector.testing.fixtures import AcpAgent, HeldConversation

    config, item = request.config, request.node
    options = play_options(config)
    agent = AcpAgent(
        options.agent,
        tmp_path,
        config.getoption("--acp-timeout"),
        int(config.getini("acp_protocol")),
        config.getini("acp_dialect") or None,
    )
    recording = marked_recording(item)
    if recording is not None:
        mode: Any = config.getoption("--acp-record")
        item.stash[_CONVERSATION] = HeldConversation(agent, recording, mode, options, item.nodeid)
    try:
        yield agent
    finally:
        agent.close()


@pytest.fixture
def acp_replay(request: pytest.FixtureRequest) -> AcpReplay:
    """Plays a recording: `acp_replay("x.acp.ndjson").assert_passed()`, see docs/testing.md."""
    from acp_inspector.testing.fixtures import AcpReplay

    def options(given: Mapping[str, Any]) -> PlayOptions:
        return play_options(request.config, **given)

    replay = AcpReplay(request.path.parent, marked_recording(request.node), options)
    request.node.stash.setdefault(_PLAYERS, []).append(replay)
    return replay


@pytest.fixture
def acp_client(request: pytest.FixtureRequest, tmp_path: Path) -> AcpClient:
    """Starts a client with an agent that plays a script or a recording, see docs/testing.md."""
    from acp_inspector.testing.fixtures import AcpClient

    mode: Any = request.config.getoption("--acp-record")
    trust = trust_of(request.config)
    client = AcpClient(request.path.parent, tmp_path, marked_recording(request.node), mode, trust)
    request.node.stash.setdefault(_PLAYERS, []).append(client)
    return client


@pytest.fixture
def acp_model(request: pytest.FixtureRequest, acp_agent: AcpAgent) -> AcpModel:
    """Plays the model service of the agent from a cassette, see docs/testing.md."""
    from acp_inspector.testing.fixtures import AcpModel

    mode: Any = request.config.getoption("--acp-record")
    model = request.node.stash[_MODEL] = AcpModel(request.path.parent, acp_agent, mode)
    return model
