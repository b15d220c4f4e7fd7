from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from acp_console.agents.catalogue import (
    Catalogue,
    Snapshot,
    bundled_snapshot,
    merged_snapshot,
    parse_snapshot,
    platform_name,
)
from acp_console.agents.choices import ChoiceStore
from acp_console.agents.session_options import SessionOption
from acp_console.agents.spec import DEMO_AGENT, UnknownAgentError, command_agent
from acp_console.config import Config, parse_config
from acp_protocol.user_files.toml_source import InvalidFileError

Open = Callable[..., Catalogue]


@pytest.fixture
def open_(tmp_path: Path) -> Open:
    """Open a catalogue on a machine that has only the given programs."""

    def open_now(
        *programs: str, config: str = "", snapshot: Snapshot | None = None, **variables: str
    ) -> Catalogue:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        for name in programs:
            (folder / name).write_text("#!/bin/sh\n")
            (folder / name).chmod(0o755)
        path = tmp_path / "config.toml"
        return Catalogue(
            parse_config(path, config) if config else Config(),
            snapshot or bundled_snapshot(),
            ChoiceStore(tmp_path / "agents.json"),
            {"PATH": str(folder), **variables},
        )

    return open_now


def snapshot(*agents: Mapping[str, object]) -> Snapshot:
    return parse_snapshot("x.json", json.dumps({"version": "1", "agents": agents}))


def test_the_bundled_catalogue_has_all_known_agents_with_how_to_start_and_sign_in() -> None:
    agents = bundled_snapshot().agents
    assert len(agents) == 44
    assert len({each.id for each in agents}) == len(agents)
    assert all(each.sign_in for each in agents)
    assert all(each.command or each.distribution.binary for each in agents)
    # Each can be installed, or says where it comes from.
    assert all(each.package_names() or each.repository or each.website for each in agents)


@pytest.mark.parametrize(
    ("system", "machine", "name"),
    [
        ("linux", "x86_64", "linux-x86_64"),
        ("darwin", "arm64", "darwin-aarch64"),
        ("win32", "AMD64", "windows-x86_64"),
        ("win32", "ARM64", "windows-aarch64"),
    ],
)
def test_a_machine_is_named_as_in_the_registry(system: str, machine: str, name: str) -> None:
    assert platform_name(system, machine) == name


def test_variables_of_an_agent_are_set_however_it_is_started(open_: Open) -> None:
    variables = {"DROID_DISABLE_AUTO_UPDATE": "true", "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false"}
    for programs in (["npx"], ["droid"]):
        droid = open_(*programs).find("factory-droid")
        assert droid.env == variables
        assert droid.command[-3:] == ("exec", "--output-format", "acp-daemon")


def test_an_update_with_archives_alone_keeps_the_package_of_an_agent(open_: Open) -> None:
    archive = {platform_name(): {"archive": "https://x.example/a.tgz", "cmd": "./kimi-bin"}}
    kimi = {"id": "kimi", "name": "Kimi", "distribution": {"binary": archive}}
    merged = merged_snapshot(bundled_snapshot(), snapshot(kimi))
    found = open_("uvx", snapshot=merged).find("kimi")
    assert found.command == ("uvx", "--from", "kimi-cli", "kimi", "acp")
    assert found.install == "uv tool install kimi-cli"


def test_an_update_with_another_package_takes_the_place_of_the_old_one(open_: Open) -> None:
    kimi = {"id": "kimi", "name": "Kimi", "distribution": {"npx": {"package": "kimi-acp"}}}
    merged = merged_snapshot(bundled_snapshot(), snapshot(kimi))
    assert open_("uvx", "npx", snapshot=merged).find("kimi").command[:2] == ("npx", "-y")


def test_the_demo_is_first_then_what_is_installed_then_what_a_wrapper_would_download(
    open_: Open,
) -> None:
    entries = open_("npx", "goose", "gemini").entries
    assert [(each.name, each.status) for each in entries[:4]] == [
        ("demo", "built in"),
        ("gemini", "found"),
        ("goose", "found"),
        ("claude", "via npx"),
    ]
    assert entries[-1].status == "not installed"


def test_an_installed_program_is_preferred_to_the_package_that_has_it(open_: Open) -> None:
    assert open_("npx", "kilo").find("kilo").command == ("kilo", "acp")
    wrapped = open_("npx").find("claude")
    assert wrapped.command == ("npx", "-y", "@agentclientprotocol/claude-agent-acp")
    assert wrapped.install == "npm install -g @agentclientprotocol/claude-agent-acp"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("gemini", "npx -y --package=@google/gemini-cli -- gemini --acp"),
        ("cline", "npx -y cline --acp"),
        ("kimi", "uvx --from kimi-cli kimi acp"),
        ("openhands", "uvx openhands acp"),
    ],
)
def test_a_wrapper_is_given_the_name_of_the_program_where_the_package_has_another(
    open_: Open, name: str, line: str
) -> None:
    assert open_("npx", "uvx").find(name).command_line == line


def test_what_cannot_be_started_says_how_to_install_it(open_: Open) -> None:
    catalogue = open_()
    assert catalogue.find("kimi").install == "uv tool install kimi-cli"
    assert catalogue.find("goose").install == "https://github.com/block/goose"


def test_a_command_of_the_catalogue_is_confirmed_once_until_it_changes(open_: Open) -> None:
    catalogue = open_("npx")
    gemini = catalogue.find("gemini")
    assert not gemini.is_confirmed
    catalogue.confirm(gemini)
    assert open_("npx").find("gemini").is_confirmed
    assert not open_("npx").find("qwen").is_confirmed
    assert not open_("npx", "gemini").find("gemini").is_confirmed


def test_variables_of_a_command_are_part_of_what_is_confirmed(open_: Open) -> None:
    def evil(**env: str) -> Snapshot:
        return snapshot(
            {"id": "x", "name": "X", "distribution": {"npx": {"package": "x", "env": env}}}
        )

    catalogue = open_("npx", snapshot=evil())
    catalogue.confirm(catalogue.find("x"))
    assert open_("npx", snapshot=evil()).find("x").is_confirmed
    changed = open_("npx", snapshot=evil(NODE_OPTIONS="--require /tmp/x.js")).find("x")
    assert not changed.is_confirmed
    assert changed.command_line == "NODE_OPTIONS='--require /tmp/x.js' npx -y x"


def test_own_agents_and_the_demo_need_no_confirmation(open_: Open) -> None:
    catalogue = open_("run", config='[agents.gemini]\ncommand = ["run"]\n')
    own = catalogue.find("gemini")
    assert (own.source, own.state, own.is_confirmed) == ("config", "ready", True)
    assert [each.name for each in catalogue.entries].count("gemini") == 1
    assert catalogue.spec(catalogue.find("demo")) == DEMO_AGENT


def test_the_configuration_changes_a_known_agent(open_: Open) -> None:
    catalogue = open_(
        "gemini",
        config="""
        [agents.gemini]
        title = "Mine"
        env = { KEY = "${LAB_KEY}/x" }
        cwd = "work"
        protocol = 2
        mode = "plan"
        options = { model = "large", web = true }
        """,
        LAB_KEY="k",
    )
    entry = catalogue.find("gemini")
    assert (entry.title, entry.source, entry.is_confirmed) == ("Mine", "catalogue", False)
    spec = catalogue.spec(entry)
    assert spec.command == ("gemini", "--acp")
    assert spec.env == {"KEY": "k/x"}
    assert spec.cwd is not None
    assert spec.cwd.name == "work"
    assert (spec.max_protocol_version, spec.mode) == (2, "plan")
    assert spec.options == {"model": "large", "web": "true"}


def test_the_embedded_demo_gets_the_configured_version_and_dialect(open_: Open) -> None:
    catalogue = open_(config='[agents.demo]\nprotocol = 2\ndialect = "acpex"\n')
    command = catalogue.spec(catalogue.find("demo")).command
    assert command[-4:] == ("--protocol", "2", "--dialect", "acpex")


def test_a_variable_that_is_not_set_stops_only_the_agent_that_refers_to_it(open_: Open) -> None:
    catalogue = open_(config='[agents.mine]\ncommand = ["x"]\nenv = { KEY = "${LAB_KEY}" }\n')
    with pytest.raises(InvalidFileError, match=r"toml:3: agents\.mine\.env\.KEY: the variable LAB"):
        catalogue.spec(catalogue.find("mine"))


def test_servers_are_handed_over_as_the_protocol_writes_them(open_: Open, tmp_path: Path) -> None:
    catalogue = open_(
        config="""
        [mcp.files]
        command = "bin/files"
        args = ["-v"]
        env = { TOKEN = "${T}" }
        [mcp.tickets]
        url = "https://tickets.example/mcp"
        headers = { Authorization = "Bearer ${T}" }
        """,
        T="s3cret",
    )
    spec = catalogue.spec(catalogue.find("demo"))
    assert list(spec.mcp_servers) == [
        {
            "type": "stdio",
            "name": "files",
            "command": str(tmp_path / "bin/files"),
            "args": ["-v"],
            "env": [{"name": "TOKEN", "value": "s3cret"}],
        },
        {
            "type": "http",
            "name": "tickets",
            "url": "https://tickets.example/mcp",
            "headers": [{"name": "Authorization", "value": "Bearer s3cret"}],
        },
    ]
    assert "s3cret" not in repr(spec)


def test_a_table_without_a_command_is_for_a_known_agent(open_: Open) -> None:
    with pytest.raises(InvalidFileError, match=r"toml:1: agents\.gemnii: .*did you mean gemini"):
        open_(config='[agents.gemnii]\nmode = "plan"\n')


def test_an_unknown_name_is_answered_with_the_one_that_was_meant_or_the_ready_ones(
    open_: Open,
) -> None:
    with pytest.raises(UnknownAgentError, match="did you mean gemini"):
        open_().find("gemnii")
    with pytest.raises(UnknownAgentError, match="ready are demo, goose, and acp-console agents"):
        open_("goose").find("zzz")


def test_an_agent_of_another_platform_only_is_left_out(open_: Open) -> None:
    there = {"plan9-mips": {"archive": "https://x/y.zip", "cmd": "./x"}}
    here = {f"{sys.platform}-{m}": {"cmd": "./there/x", "args": ["acp"]} for m in MACHINES}
    agents = [
        {"id": "there", "name": "T", "distribution": {"binary": there}},
        {"id": "here", "name": "H", "distribution": {"binary": here}},
    ]
    entries = open_("x", snapshot=snapshot(*agents)).entries
    assert [(each.name, each.command_line) for each in entries[1:]] == [("here", "x acp")]


MACHINES = ("x86_64", "aarch64")


def test_a_registry_keeps_what_only_we_know_of_its_agents() -> None:
    ours = snapshot(
        {
            "id": "gem",
            "name": "Gem",
            "command": ["gem", "--acp"],
            "sign_in": "set KEY",
            "distribution": {"npx": {"package": "@x/gem"}},
        },
        {"id": "other", "name": "Other", "command": ["other"]},
    )
    theirs = snapshot(
        {
            "id": "gem-cli",
            "name": "Gem CLI",
            "version": "2.0.0",
            "license": "MIT",
            "distribution": {"npx": {"package": "@x/gem@2.0.0", "args": ["--acp"]}},
        },
        {"id": "new", "name": "New", "distribution": {"uvx": {"package": "new==1.0"}}},
    )
    merged = merged_snapshot(ours, theirs)
    assert [each.id for each in merged.agents] == ["gem", "new", "other"]
    gem = merged.agents[0]
    assert (gem.name, gem.sign_in, gem.version) == ("Gem CLI", "set KEY", "2.0.0")
    assert gem.distribution.npx is not None
    assert gem.distribution.npx.package == "@x/gem@2.0.0"


def test_a_variable_that_cannot_be_set_is_refused() -> None:
    with pytest.raises(InvalidFileError, match=r"agents\.0\.distribution\.npx\.env"):
        snapshot(
            {"id": "x", "name": "X", "distribution": {"npx": {"package": "x", "env": {"A=": "b"}}}}
        )


@pytest.mark.parametrize("text", ["", "[]", '{"agents": 1}', '{"version": "1", "agents": [{}]}'])
def test_what_is_no_catalogue_is_refused(text: str) -> None:
    with pytest.raises(InvalidFileError, match=r"x\.json: no catalogue of agents"):
        parse_snapshot("x.json", text)


def test_choices_of_different_agents_do_not_mix(tmp_path: Path) -> None:
    store = ChoiceStore(tmp_path / "state" / "agents.json")
    store.update("a", mode="plan", options={"model": "large"})
    store.confirm("a", ["run", "a"])
    store.update("b", dialect="acpex")
    assert store.get("a").mode == "plan"
    assert store.is_confirmed("a", ["run", "a"])
    assert store.get("b").mode is None
    store.forget("a")
    assert store.get("a").mode is None
    assert store.get("b").dialect == "acpex"
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "state" / "agents.json").stat().st_mode & 0o777 == 0o600


def option(id_: str, category: str, *values: str) -> SessionOption:
    return SessionOption(id_, category, tuple((each, each) for each in values), values[0], "x")


def test_what_the_user_last_chose_for_an_agent_is_its_default_unless_it_is_configured(
    open_: Open,
) -> None:
    catalogue = open_("gemini")
    gemini = catalogue.spec(catalogue.find("gemini"))
    store = catalogue.choices
    store.remember(gemini, option("mode", "mode", "ask", "plan"), "plan")
    store.remember(gemini, option("model", "model", "small", "large"), "large")
    store.remember(gemini, option("web", "other", "x"), True)
    store.update("gemini", dialect="acpex")
    again = catalogue.spec(catalogue.find("gemini"))
    assert (again.mode, again.dialect) == ("plan", "acpex")
    assert again.options == {"model": "large", "web": "true"}
    # The dialect is a fact about the agent, and no choice for one session.
    known = replace(gemini, dialect="acpex", is_dialect_remembered=True)
    assert catalogue.spec(catalogue.find("gemini"), is_remembered=False) == known
    configured = open_(
        "gemini", config="[agents.gemini]\nmode = 'ask'\noptions = { web = false }\n"
    )
    last = configured.spec(configured.find("gemini"))
    assert (last.mode, last.options) == ("ask", {"model": "large", "web": "false"})


@pytest.mark.parametrize(
    ("option_id", "category", "value"),
    [
        ("mode", "mode", "yolo"),
        ("mode", "mode", "code"),
        ("mode", "mode", "autoEdit"),
        ("mode", "mode", "dontAsk"),
        ("mode", "mode", "bypassPermissions"),
        ("approval", "other", "full-access"),
        ("policy", "other", "allow_all"),
    ],
)
def test_a_choice_to_be_asked_less_lasts_only_for_its_session(
    tmp_path: Path, option_id: str, category: str, value: str
) -> None:
    store = ChoiceStore(tmp_path / "agents.json")
    store.remember(DEMO_AGENT, option(option_id, category, "ask", value), value)
    assert not (tmp_path / "agents.json").exists()


def test_choices_for_a_command_without_a_name_are_not_remembered(tmp_path: Path) -> None:
    store = ChoiceStore(tmp_path / "agents.json")
    store.remember(command_agent(["gemini"]), option("mode", "mode", "ask", "plan"), "plan")
    assert not (tmp_path / "agents.json").exists()


def test_a_damaged_file_of_choices_counts_as_empty(tmp_path: Path) -> None:
    path = tmp_path / "agents.json"
    path.write_text('{"agents": {"a": {"confirmed": ')
    assert not ChoiceStore(path).is_confirmed("a", ["x"])
