from __future__ import annotations

from pathlib import Path

import pytest

from acp_console.config import (
    COMMAND_RULE,
    NAME_RULE,
    Config,
    load_config,
    load_mcp_servers,
    parse_config,
)
from acp_protocol.user_files.toml_source import InvalidFileError


def parsed(text: str) -> Config:
    return parse_config(Path("/home/me/config.toml"), text)


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidFileError) as raised:
        parsed(text)
    return [each.removeprefix("/home/me/") for each in raised.value.problems]


def environment(folder: Path) -> dict[str, str]:
    (folder / "acp-console").mkdir()
    return {"XDG_CONFIG_HOME": str(folder)}


def test_without_a_file_nothing_is_configured(tmp_path: Path) -> None:
    assert load_config({"XDG_CONFIG_HOME": str(tmp_path)}) == Config()


def test_an_agent_has_a_command_and_what_its_sessions_begin_with() -> None:
    config = parsed(
        """
        [agents.mine]
        command = ["./run", "--acp"]
        title = "Mine"
        env = { LEVEL = "debug" }
        cwd = "~/src"
        dialect = "continuum"
        protocol = 2
        mode = "ask"
        options = { model = "large", web = true, depth = 3 }
        """
    )
    agent = config.agents["mine"]
    assert agent.command == ["./run", "--acp"]
    assert agent.options == {"model": "large", "web": True, "depth": 3}
    assert config.absolute("run") == Path("/home/me/run")
    assert config.absolute("~/src") == Path.home() / "src"


def test_an_agent_gets_all_mcp_servers_or_those_that_it_names() -> None:
    config = parsed(
        """
        [mcp.files]
        command = "files-server"
        [mcp.tickets]
        url = "https://tickets.example/mcp"
        [agents.some]
        mcp = ["tickets"]
        [agents.none]
        mcp = []
        """
    )
    assert list(config.servers_of("any")) == ["files", "tickets"]
    assert list(config.servers_of("some")) == ["tickets"]
    assert not config.servers_of("none")


def test_all_mistakes_are_reported_in_order_with_file_line_and_key() -> None:
    assert problems(
        """[agents.mine]
command = "run --acp"
envv = { A = "1" }
protocol = 3
dialect = "klingon"
mode = 1

[agents."../x"]
command = ["x"]

[agents.other]
command = []
options = { model = ["large"] }
env = { A = 1 }
mcp = ["tickes"]

[colours]
"""
    ) == [
        "config.toml:2: agents.mine.command: must be a list of strings",
        "config.toml:3: agents.mine.envv: unknown key; did you mean env?",
        "config.toml:4: agents.mine.protocol: must be 1 or 2",
        "config.toml:5: agents.mine.dialect: must be one of continuum, acpex, openoxide, v2-batch",
        "config.toml:6: agents.mine.mode: must be a string",
        f"config.toml:8: agents.../x: {NAME_RULE}",
        f"config.toml:12: agents.other.command: {COMMAND_RULE}",
        "config.toml:13: agents.other.options.model: must be a string, a number, true or false",
        "config.toml:14: agents.other.env.A: must be a string",
        "config.toml:17: colours: unknown key",
    ]


def test_a_server_that_no_table_declares_is_reported_with_the_one_that_was_meant() -> None:
    assert problems('[mcp.tickets]\ncommand = "x"\n[agents.demo]\nmcp = ["tickes"]\n') == [
        "config.toml:4: agents.demo.mcp.1: no server is called 'tickes'; did you mean tickets?"
    ]


def test_a_mistake_in_a_server_never_repeats_what_may_be_a_secret() -> None:
    [problem] = problems('[mcp.tickets]\nurl = "https://x"\nheaders = { "a=s3cret" = "s3cret" }\n')
    assert problem.startswith("config.toml:3: mcp.tickets.headers: ")
    assert "s3cret" not in problem


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("agents: {}", "config.toml:1: not TOML, at column 7"),
        ("agents = 1", "config.toml:1: agents: must be a table"),
        ("[agents]\nmine = 'run'", "config.toml:2: agents.mine: must be a table"),
        ("[mcp.x]\n", "config.toml:1: mcp.x: command is missing"),
    ],
)
def test_what_is_no_configuration_is_reported(text: str, problem: str) -> None:
    [reported] = problems(text)
    assert reported.startswith(problem)


def test_a_file_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    path = tmp_path / "acp-console/config.toml"
    path.write_text("")
    path.chmod(0o666)
    with pytest.raises(InvalidFileError, match="every user may write to it; run chmod o-w"):
        load_config(variables)


def test_a_file_that_cannot_be_read_is_not_taken_for_none(tmp_path: Path) -> None:
    variables = environment(tmp_path)
    (tmp_path / "acp-console/config.toml").symlink_to("nowhere")
    with pytest.raises(InvalidFileError, match="cannot be read: No such file"):
        load_config(variables)


def test_sessions_are_kept_unless_the_user_wants_none() -> None:
    assert parsed("").privacy.journal
    assert not parsed("[privacy]\njournal = false\n").privacy.journal
    assert problems('[privacy]\njournal = "no"\njornal = true\n') == [
        "config.toml:2: privacy.journal: must be true or false",
        "config.toml:3: privacy.jornal: unknown key; did you mean journal?",
    ]


# Files of MCP servers

SERVERS_JSON = """{"mcpServers": {
    "files": {"command": "./files", "args": ["-v"], "env": {"KEY": "${MY_KEY}"}},
    "web site": {"type": "sse", "url": "https://x.example/mcp", "headers": {"A": "b"}}}}"""
SERVERS_TOML = """
[mcp.files]
command = "./files"
args = ["-v"]
env = { KEY = "${MY_KEY}" }
[mcp."web site"]
type = "sse"
url = "https://x.example/mcp"
headers = { A = "b" }
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mcp.json", SERVERS_JSON),
        ("mcp.json", SERVERS_JSON.replace("mcpServers", "servers")),
        ("mcp.toml", SERVERS_TOML),
    ],
)
def test_a_file_of_mcp_servers_is_read_in_each_form(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert load_mcp_servers(path, {"MY_KEY": "secret"}) == (
        {
            "type": "stdio",
            "name": "files",
            "command": str(tmp_path / "files"),
            "args": ["-v"],
            "env": [{"name": "KEY", "value": "secret"}],
        },
        {
            "type": "sse",
            "name": "web site",
            "url": "https://x.example/mcp",
            "headers": [{"name": "A", "value": "b"}],
        },
    )


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("a.json", "{", ":1: not JSON: Expecting property name enclosed in double quotes"),
        ("a.json", "[]", ": must be an object"),
        ("a.json", '{"mcp": {}}', ": mcpServers is missing"),
        ("a.json", '{"mcpServers": []}', ": mcpServers: must be a table"),
        (
            "a.json",
            '{"mcpServers": {"x": {"comand": "y"}}}',
            ": mcpServers.x.comand: unknown key; did you mean command?",
        ),
        ("a.json", '{"mcpServers": {"x": {}}}', ": mcpServers.x: command is missing"),
        (
            "a.json",
            '{"mcpServers": {"x": {"command": "y", "env": {"K": "${NO_KEY}"}}}}',
            ": mcpServers.x.env.K: the variable NO_KEY is not set",
        ),
        ("a.toml", '[mcp.x]\nurl = "ftp://y"', ":2: mcp.x.url: must be an http or https address"),
    ],
)
def test_a_mistake_in_a_file_of_mcp_servers_names_file_and_field(
    tmp_path: Path, name: str, text: str, problem: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidFileError) as caught:
        load_mcp_servers(path, {})
    assert str(caught.value) == f"{path}{problem}"
