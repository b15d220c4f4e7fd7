from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from acp_console.agents.choices import ChoiceStore
from acp_console.agents.spec import DEMO_AGENT
from acp_console.cli import exit_codes
from tests.console.cli.conftest import Configure, Install, on_terminal
from tests.console.conftest import Agent, Call
from tests.console.strangers import AS_EVERYBODY, DIES, LENGTHS

pytestmark = pytest.mark.usefixtures("home")

HELLO = "prompt = hear_prompt()\nsay('hi from ' + ' '.join(sys.argv[1:]))\nend(prompt)"


def test_agents_are_listed_for_people_and_for_programs(call: Call, install: Install) -> None:
    install("goose", HELLO)
    lines = call("agents").out.splitlines()
    assert lines[1].startswith("demo ")
    assert lines[2].split()[:3] == ["goose", "Goose", "found"]
    listed = [json.loads(line) for line in call("agents", "--json").out.splitlines()]
    assert listed[0]["command"] == list(DEMO_AGENT.command)
    assert listed[1]["program"].endswith("bin/goose")
    assert (listed[1]["state"], listed[1]["confirmed"]) == ("ready", False)


def test_a_command_of_the_catalogue_is_not_run_before_the_user_has_confirmed_it(
    call: Call, install: Install, home: Path
) -> None:
    install("goose", f"open({str(home / 'ran')!r}, 'w')")
    refused = call("exec", "goose", "hello")
    assert refused.code == 2
    assert "goose acp" in refused.err
    assert "acp-console agents add goose -- goose acp" in refused.err
    assert not (home / "ran").exists()


def test_an_agent_that_is_not_installed_says_what_installs_it(call: Call) -> None:
    missing = call("exec", "kimi", "hello")
    assert missing.code == 3
    assert "uv tool install kimi-cli" in missing.err


def test_an_own_agent_runs_with_its_command_variables_and_directory(
    call: Call, install: Install, configure: Configure, home: Path
) -> None:
    install("mine", "import os\n" + HELLO.replace("sys.argv[1:]", "[os.environ['A'], os.getcwd()]"))
    (home / "work").mkdir()
    configure(
        "[agents.own]\ncommand = ['mine', '--acp']\nenv = { A = 'b' }\n"
        f"cwd = {str(home / 'work')!r}\n"
    )
    done = call("exec", "--format", "quiet", "own", "hello")
    assert done.out == f"hi from b {home / 'work'}"


SERVERS = """
greet(agentCapabilities={"mcpCapabilities": {"http": True}})
request = hear("session/new")
tell(id=request["id"], result={"sessionId": "s1"})
prompt = hear("session/prompt")
say(json.dumps(request["params"]["mcpServers"]))
end(prompt)
"""


def test_a_named_agent_gets_the_configured_mcp_servers_that_it_can_reach(
    call: Call,
    agent: Agent,
    configure: Configure,
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install("mine", SERVERS)
    monkeypatch.setenv("T", "t")
    configure(
        "[agents.own]\ncommand = ['mine']\nmcp = ['web', 'old']\n[mcp.files]\ncommand = 'files'\n"
        "[mcp.web]\nurl = 'https://x.example/'\nheaders = { A = '${T}' }\n"
        "[mcp.old]\nurl = 'https://y.example/'\ntype = 'sse'\n"
    )
    done = call("exec", "--format", "quiet", "own", "hello")
    assert "MCP server old is left out: the agent has no sse" in done.err
    assert json.loads(done.out) == [
        {
            "type": "http",
            "name": "web",
            "url": "https://x.example/",
            "headers": [{"name": "A", "value": "t"}],
        }
    ]
    assert json.loads(call("exec", "--format", "quiet", "hello", "--", *agent(SERVERS)).out) == []


def test_a_mistake_in_the_configuration_is_reported_with_its_line(
    call: Call, configure: Configure
) -> None:
    path = configure("\n[agents.own]\ncomand = ['x']\n")
    done = call("agents")
    assert done.code == 2
    assert f"{path}:3: agents.own.comand: unknown key; did you mean command?" in done.err


MODES = """
greet()
modes = {"currentModeId": "code", "availableModes": [
    {"id": each, "name": each} for each in ("code", "auto", "plan")]}
model = {"id": "model", "name": "Model", "type": "select", "category": "model",
         "currentValue": "small", "options": [
             {"value": "small", "name": "small"}, {"value": "large", "name": "large"}]}
tell(id=hear("session/new")["id"],
     result={"sessionId": "s1", "modes": modes, "configOptions": [model]})
chosen = []
for line in sys.stdin:
    message = json.loads(line)
    params = message.get("params")
    if message["method"] == "session/prompt":
        break
    chosen.append(params.get("modeId") or params.get("value"))
    tell(id=message["id"], result={"configOptions": [model]})
say(" ".join(chosen))
end(message)
"""


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--allow", "edits"], "auto large"),
        (["--allow", "edits", "--mode", "code"], "auto large code"),
        (["--allow", "reads"], "large plan"),
    ],
)
def test_exec_sets_what_is_configured_unless_that_allows_more_than_it_may(
    call: Call,
    install: Install,
    configure: Configure,
    options: list[str],
    chosen: str,
) -> None:
    install("mine", MODES)
    configure("[agents.own]\ncommand = ['mine']\nmode = 'auto'\noptions = { model = 'large' }\n")
    done = call("exec", "--format", "quiet", *options, "own", "hello")
    assert done.out == f"{chosen}"


def test_on_a_terminal_a_command_of_the_catalogue_is_shown_and_asked_for_once(
    call: Call, install: Install
) -> None:
    install("goose", HELLO)
    first = on_terminal("exec", "goose", "hello", prompt="[y/N]", reply="\x1b\n")
    assert "goose acp" in first.out
    assert first.code == exit_codes.USAGE
    assert "hi from" not in first.out
    second = on_terminal("exec", "goose", "hello", prompt="[y/N]", reply="y\n")
    assert second.code == 0
    assert "hi from acp" in second.out
    assert call("exec", "--format", "quiet", "goose", "hello").out == "hi from acp"


def test_a_confirmation_that_cannot_be_remembered_counts_once(install: Install, home: Path) -> None:
    install("goose", HELLO)
    (home / "state").write_text("no directory")
    done = on_terminal("exec", "goose", "hello", prompt="[y/N]", reply="y\n")
    assert done.code == 0
    assert "you will be asked again" in done.out
    assert "hi from acp" in done.out


def test_an_added_agent_needs_no_confirmation_and_can_be_removed(
    call: Call, install: Install, home: Path
) -> None:
    install("goose", HELLO)
    assert call("agents", "add", "goose", "--", "goose", "--mine").code == 0
    assert call("exec", "--format", "quiet", "goose", "hello").out == "hi from --mine"
    again = call("agents", "add", "goose", "--", "other")
    assert again.code == exit_codes.USAGE
    assert "config.toml:1: agents.goose" in again.err
    assert call("agents", "rm", "goose").code == 0
    assert (home / "config/acp-console/config.toml").read_text() == ""
    assert "not confirmed" in call("exec", "goose", "hello").err


def test_an_added_agent_keeps_its_variables_directory_and_program_wherever_it_is_started(
    call: Call, install: Install, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = "import os\n" + HELLO.replace("sys.argv[1:]", "[os.environ['A'], os.getcwd()]")
    install("mine", script)
    monkeypatch.chdir(home)
    words = ["--env", "A=${B}", "--cwd", "bin", "mine", "--", "./bin/mine"]
    assert call("agents", "add", *words).code == 0
    monkeypatch.chdir("/")
    monkeypatch.setenv("B", "b")
    assert call("exec", "--format", "quiet", "mine", "hello").out == f"hi from b {home / 'bin'}"


def test_what_was_remembered_of_a_known_agent_can_be_removed(call: Call, install: Install) -> None:
    install("goose", HELLO)
    on_terminal("exec", "goose", "hello", prompt="[y/N]", reply="y\n")
    assert call("exec", "goose", "hello").code == 0
    assert "removed what was remembered of goose" in call("agents", "rm", "goose").err
    assert call("exec", "goose", "hello").code == exit_codes.USAGE
    assert call("agents", "rm", "goose").code == exit_codes.USAGE


def test_a_dialect_that_was_named_for_a_chat_is_remembered(home: Path) -> None:
    words = ("chat", "demo", "--dialect", "acpex")
    assert on_terminal(*words, prompt="demo", reply="\x11").code == 0
    choices = json.loads((home / "state/acp-console/agents.json").read_text())
    assert choices["agents"] == {"demo": {"dialect": "acpex"}}


def test_the_dialect_of_an_added_agent_counts_for_every_command(
    call: Call, install: Install, home: Path
) -> None:
    install("oxide", LENGTHS.replace("REFUSE", "sys.exit(9)"))
    added = call("agents", "add", "oxide", "--dialect", "openoxide", "--", "oxide")
    assert added.code == 0
    assert 'dialect = "openoxide"' in (home / "config/acp-console/config.toml").read_text()
    assert call("exec", "oxide", "hello").out == "hi there\n"
    assert "dialect      openoxide\n" in call("agents", "info", "oxide").out
    refused = call("agents", "add", "other", "--dialect", "klingon", "--", "oxide")
    assert refused.code == exit_codes.USAGE


def test_a_dialect_that_is_remembered_counts_for_every_command(
    call: Call, install: Install, configure: Configure
) -> None:
    install("oxide", LENGTHS.replace("REFUSE", "sys.exit(9)"))
    configure("[agents.oxide]\ncommand = ['oxide']\n")
    assert call("exec", "oxide", "hello").code == exit_codes.AGENT
    ChoiceStore().update("oxide", dialect="openoxide")
    assert call("exec", "oxide", "hello").out == "hi there\n"
    assert call("agents", "info", "oxide").code == exit_codes.DONE


def test_a_recording_of_the_protocol_is_translated_for_an_agent_of_a_dialect(
    call: Call, agent: Agent, install: Install, configure: Configure, tmp_path: Path
) -> None:
    install("oxide", LENGTHS.replace("REFUSE", "sys.exit(9)"))
    configure("[agents.oxide]\ncommand = ['oxide']\ndialect = 'openoxide'\n")
    recording = tmp_path / "hi.acp.ndjson"
    official = "prompt = hear_prompt()\nsay('hi there')\nend(prompt)\nhear('never')"
    words = ("exec", "--record", str(recording), "hello", "--")
    assert call(*words, *agent(official)).code == exit_codes.DONE
    done = call("replay", "--ignore", "method == initialize", str(recording), "oxide")
    assert "pass: 3 client frames played" in done.out
    assert "the agent speaks openoxide: what was recorded was translated for it" in done.out
    assert done.code == exit_codes.DONE
    done = call("test", "agent", "--agent", "oxide", str(recording))
    assert "what was recorded was translated" in done.out
    # What is recorded is what was really sent, and so nothing is translated.
    output = ("--output", str(tmp_path / "b.acp.ndjson"))
    assert call("replay", *output, str(recording), "oxide").code == exit_codes.AGENT


def test_a_dialect_that_was_found_is_remembered_until_it_does_not_work_any_more(
    call: Call, install: Install, configure: Configure
) -> None:
    install("oxide", LENGTHS.replace("REFUSE", DIES))
    configure("[agents.oxide]\ncommand = ['oxide']\n")
    assert "found at the second try" in call("exec", "oxide", "hello").err
    assert ChoiceStore().get("oxide").dialect == "openoxide"
    assert "second try" not in call("exec", "oxide", "hello").err
    # The next version of the agent speaks as everybody does.
    install("oxide", f"if sys.stdin.read(1) != '{{': sys.exit(1)\n{AS_EVERYBODY}")
    again = call("exec", "oxide", "hello")
    assert (again.code, again.out) == (exit_codes.DONE, "hi from \n")
    assert "speaks no dialect any more" in again.err
    assert ChoiceStore().get("oxide").dialect is None


@pytest.mark.parametrize("dialect", ["acpex", "continuum"])
def test_a_remembered_dialect_is_forgotten_if_its_prompt_or_session_is_refused(
    call: Call, install: Install, configure: Configure, tmp_path: Path, dialect: str
) -> None:
    """An agent may ignore what a dialect has in initialize, and miss what the protocol has."""
    refuse = (
        "tell(id=asked['id'], error={'code': -32602, 'message': 'params.%s is missing'}); "
        "hear('never')"
    )
    install(
        "own",
        "greet()\nasked = hear('session/new')\n"
        f"if 'cwd' not in asked['params']: {refuse % 'cwd'}\n"
        "tell(id=asked['id'], result={'sessionId': 's1'})\nasked = hear('session/prompt')\n"
        f"if 'prompt' not in asked['params']: {refuse % 'prompt'}\n"
        "say('hi there')\nend(asked)\nhear('never')",
    )
    configure("[agents.own]\ncommand = ['own']\n")
    ChoiceStore().update("own", dialect=dialect)
    file = tmp_path / "it.acp.ndjson"
    done = call("exec", "--record", str(file), "own", "hello")
    assert (done.code, done.out) == (exit_codes.DONE, "hi there\n"), done.err
    assert "speaks no dialect any more: found at the second try" in done.err
    assert ChoiceStore().get("own").dialect is None
    assert "dialect" not in call("stats", str(file)).out


CHAT = "greet(agentInfo={'name': 'x', 'title': 'Mine of the test'})\nopen_session()\nhear('never')"


@pytest.mark.parametrize(
    ("words", "name"),
    [(("own",), "own"), (("chat", "own"), "own"), (("--", "mine"), "Mine of the test")],
)
def test_an_agent_or_a_command_opens_a_chat_with_its_name(
    install: Install, configure: Configure, words: tuple[str, ...], name: str
) -> None:
    install("mine", CHAT)
    configure("[agents.own]\ncommand = ['mine']\n")
    done = on_terminal(*words, prompt="ready", reply="\x11")
    assert done.code == 0
    assert name in done.out


def test_a_file_opens_its_frames(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hello = Path(__file__).parents[3] / "recordings/hello.acp.ndjson"
    monkeypatch.chdir(home)
    Path("own").write_bytes(hello.read_bytes())
    done = on_terminal("own", prompt="initialize", reply="\x11")
    assert done.code == 0
    assert "initialize" in done.out


def test_a_mistyped_agent_is_answered_with_the_one_that_was_meant(call: Call) -> None:
    assert call("gemnii").err == "error: unknown command 'gemnii'\nhint: did you mean gemini?\n"


@pytest.mark.parametrize("line", ["acp-console chat ge", "acp-console agents info ge"])
def test_a_shell_completes_the_names_of_agents(
    call: Call, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    monkeypatch.setenv("_ACP_CONSOLE_COMPLETE", "bash_complete")
    assert call().out == "plain,gemini\n"


def test_a_replay_gives_an_own_agent_its_variables(
    call: Call, install: Install, home: Path
) -> None:
    install("mine", "import os\n" + HELLO.replace("sys.argv[1:]", "[os.environ['A']]"))
    assert call("agents", "add", "mine", "--env", "A=b", "--", "mine").code == 0
    recording = str(home / "x.acp.ndjson")
    assert call("exec", "--record", recording, "mine", "hello").code == 0
    assert call("replay", recording, "mine").code == 0


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["add", "mine"], "hint: e.g. acp-console agents add mine --"),
        (["add", "mine", "--", " "], "missing the agent's command"),
        (["add", "mine", "--", "\udcff"], "not valid UTF-8"),
        (["add", "../x", "--", "y"], "cannot be a name"),
        (["add", "demo", "--", "y"], "embedded agent"),
        (["add", "x", "--env", "A", "--", "y"], "'A' is not NAME=VALUE"),
        (["rm", "nope"], "there is no agent 'nope'"),
        (["info"], "missing NAME"),
        (["update"], "--from FILE|URL or --reset"),
        (["update", "--from", "/no/such"], "/no/such: cannot be read: No such file"),
        (["update", "--from", "http://example.org/x"], "needs https"),
    ],
)
def test_a_wrong_call_says_what_is_missing(call: Call, words: list[str], problem: str) -> None:
    done = call("agents", *words)
    assert done.code == exit_codes.USAGE
    assert problem in done.err


CLAIMS = """
methods = [{"id": "web", "name": "Web \x1b[31mlogin"},
           {"id": "key", "name": "Key", "type": "env_var", "vars": [{"name": "MY_KEY"}]}]
greet(agentInfo={"name": "x", "title": "Mine", "version": "1.2"},
      agentCapabilities={"loadSession": True, "promptCapabilities": {"image": False}},
      authMethods=methods)
session = {"sessionId": "s1", "modes": {"currentModeId": "ask", "availableModes": [
    {"id": "ask", "name": "Ask"}, {"id": "plan", "name": "Plan"}]}}
tell(id=hear("session/new")["id"], result=session)
hear("never")
"""


def test_info_shows_what_an_agent_claims(call: Call, agent: Agent) -> None:
    done = call("agents", "info", "--", *agent(CLAIMS))
    assert done.code == 0
    lines = [line.split(maxsplit=1) for line in done.out.splitlines()]
    assert ["agent", "Mine 1.2"] in lines
    assert ["can", "loadSession"] in lines
    assert ["mode", "ask  of: ask, plan"] in lines
    assert "key: Key; set MY_KEY" in done.out
    assert "\x1b" not in done.out
    facts = json.loads(call("agents", "info", "--json", "--", *agent(CLAIMS)).out)
    assert facts["agentInfo"]["version"] == "1.2"
    assert [each["id"] for each in facts["authMethods"]] == ["web", "key"]
    assert facts["options"][0]["values"][1] == {"id": "plan", "name": "Plan"}


def test_info_asks_for_another_version_of_the_protocol(call: Call) -> None:
    done = call("agents", "info", "--protocol", "2", "demo")
    assert done.code == 0
    assert "protocol     version 2" in done.out
    assert "session.prompt.image" in done.out
    assert any(line.startswith("mode ") for line in done.out.splitlines())


def test_info_of_an_agent_that_wants_a_login_still_shows_the_rest(call: Call, agent: Agent) -> None:
    refusal = "tell(id=hear('session/new')['id'], error={'code': -32000, 'message': 'no key'})"
    done = call("agents", "info", "--", *agent(f"greet()\n{refusal}\nhear('never')"))
    assert done.code == 0
    assert "protocol     version 1" in done.out
    assert "no key" in done.err


COMMANDS = """
greet(agentInfo={"name": "x", "version": "2.0"}, agentCapabilities={
    "loadSession": True, "sessionCapabilities": {"list": {}}, "mcpCapabilities": {"http": True}})
open_session()
update("available_commands_update", availableCommands=[
    {"name": "plan", "description": "Make a \x1b[31mplan"}, {"name": "test"}])
hear("never")
"""


def test_info_waits_for_the_commands_that_an_agent_announces(call: Call, agent: Agent) -> None:
    out = call("agents", "info", "--", *agent(COMMANDS)).out
    assert "command      /plan  Make a ␛[31mplan\n             /test\n" in out
    facts = json.loads(call("agents", "info", "--json", "--", *agent(COMMANDS)).out)
    assert [each["name"] for each in facts["commands"]] == ["plan", "test"]


REFUSES = "greet()\ntell(id=hear('session/new')['id'], error={'code': -32000, 'message': 'no key'})"


def test_check_shows_which_agents_work(
    call: Call, install: Install, configure: Configure, home: Path
) -> None:
    install("npx", f"open({str(home / 'ran')!r}, 'w')")
    install("goose", f"open({str(home / 'ran')!r}, 'w')")
    for name, script in (("good", COMMANDS), ("keyless", f"{REFUSES}\nhear('never')")):
        install(name, script)
    install("broken", "sys.stderr.write('no model\\n')\nsys.exit(7)")
    names = ("good", "keyless", "broken")
    configure("".join(f"[agents.{each}]\ncommand = ['{each}']\n" for each in names))
    done = call("agents", "check")
    rows = {line.split()[0]: line.split()[1:] for line in done.out.splitlines()}
    assert rows["good"][:6] == ["found", "yes", "2.0", "ok", "load", "list"]
    assert rows["good"][6:-2] == ["–", "–", "2", "stdio", "http"]
    assert rows["keyless"][:3] == ["found", "yes", "needed"]
    assert rows["broken"] == ["found", "no"]
    assert rows["claude"] == ["via", "npx"]
    assert rows["kimi"] == ["not", "installed"]
    assert rows["broken:"][:5] == ["the", "agent", "exited", "with", "code"]
    assert rows["goose:"][:5] == ["not", "started:", "you", "have", "not"]
    assert done.code == exit_codes.FOUND
    # Neither what would be downloaded nor what was not confirmed has run.
    assert not (home / "ran").exists()


def test_check_of_named_agents_as_json(
    call: Call, install: Install, configure: Configure, home: Path
) -> None:
    install("good", COMMANDS)
    configure("[agents.good]\ncommand = ['good']\n")
    done = call("agents", "check", "--json", "good", "demo")
    good, demo = map(json.loads, done.out.splitlines())
    assert done.code == 0
    assert (good["login"], good["sessions"]) == ("ok", ["load", "list"])
    assert good["mcp"] == ["stdio", "http"]
    assert [each["name"] for each in good["commands"]] == ["plan", "test"]
    assert demo["modes"] == ["ask", "code", "architect"]
    assert call("agents", "check", "kimi").code == exit_codes.FOUND
    install("goose", REFUSES)
    assert json.loads(call("agents", "check", "--json", "--yes", "goose").out)["login"] == "needed"


def test_check_asks_before_it_runs_what_was_not_confirmed(install: Install) -> None:
    install("goose", COMMANDS)
    words = ("agents", "check", "goose")
    assert "have not confirmed" in on_terminal(*words, prompt="[y/N]", reply="\n").out
    done = on_terminal(*words, prompt="[y/N]", reply="y\n")
    assert "goose acp" in done.out
    assert "load list" in done.out


def test_check_gives_up_an_agent_that_keeps_silent(
    call: Call, install: Install, configure: Configure
) -> None:
    install("mute", "hear('never')")
    configure("[agents.mute]\ncommand = ['mute']\n")
    done = call("agents", "check", "mute", "--timeout", "200ms")
    assert done.code == exit_codes.FOUND
    assert "mute: the response to initialize took longer than 0.2 s" in done.out


LOGIN = """
methods = [{"id": "web", "name": "Web"}, {"id": "other", "name": "Other"}]
first = hear("initialize")
assert first["params"]["clientCapabilities"]["auth"] == {"terminal": True}
tell(id=first["id"], result={"protocolVersion": 1, "authMethods": methods})
request = hear("authenticate")
sys.stderr.write("open https://login.example\\n")
sys.stderr.flush()
if request["params"]["methodId"] == "web":
    tell(id=request["id"], result={})
else:
    tell(id=request["id"], error={"code": -32000, "message": "no such user"})
hear("never")
"""


def test_login_by_a_method_of_the_agent_shows_what_it_writes(call: Call, agent: Agent) -> None:
    done = call("agents", "login", "web", "--", *agent(LOGIN))
    assert done.code == 0
    assert "open https://login.example" in done.err
    assert "logged in" in done.err


@pytest.mark.parametrize(
    ("method", "problem"),
    [
        (["other"], "no such user"),
        (["nope"], "has no login 'nope'; it offers: web, other"),
        ([], "name the login, one of: web, other"),
    ],
)
def test_a_login_that_fails_says_why(
    call: Call, agent: Agent, method: list[str], problem: str
) -> None:
    done = call("agents", "login", *method, "--", *agent(LOGIN))
    assert done.code != 0
    assert problem in done.err


TERMINAL = """
if sys.argv[1:] == ["--login"]:
    print("key for " + os.environ["REALM"] + "?", flush=True)
    sys.exit(0 if input() == "s3cret" else 7)
method = {"id": "term", "name": "T", "type": "terminal",
          "args": ["--login"], "env": {"REALM": "here"}}
greet(authMethods=[method])
hear("never")
"""


def test_a_login_in_the_terminal_runs_the_agents_own_program_there(install: Install) -> None:
    program = install("mine", TERMINAL)
    words = ("agents", "login", "--", str(program))
    good = on_terminal(*words, prompt="key for here?", reply="s3cret\n")
    assert (good.code, "logged in" in good.out) == (0, True)
    bad = on_terminal(*words, prompt="key for here?", reply="wrong\n")
    assert bad.code == exit_codes.PEER
    assert "the login ended with exit code 7" in bad.out


def test_a_login_in_the_terminal_is_named_where_there_is_none(call: Call, install: Install) -> None:
    program = install("mine", TERMINAL)
    done = call("agents", "login", "--", str(program))
    assert done.code != 0
    assert f"run there: REALM=here {program} --login" in done.err


def test_a_program_that_only_the_agent_names_is_never_run(
    call: Call, agent: Agent, home: Path
) -> None:
    meta = {"terminal-auth": {"command": "touch", "args": [str(home / "ran")]}}
    method = {"id": "t", "name": "T", "_meta": meta}
    done = call("agents", "login", "--", *agent(f"greet(authMethods=[{method}])\nhear('never')"))
    assert done.code != 0
    assert f"run it yourself: touch {home / 'ran'}" in done.err
    assert not (home / "ran").exists()


def test_a_login_by_variables_names_those_to_set(
    call: Call, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    method = {"id": "k", "name": "K", "type": "env_var", "vars": [{"name": "MY_KEY"}]}
    command = agent(f"greet(authMethods=[{method}])\nhear('never')")
    unset = call("agents", "login", "--", *command)
    assert (unset.code, "MY_KEY" in unset.err) == (1, True)
    monkeypatch.setenv("MY_KEY", "x")
    assert call("agents", "login", "--", *command).code == 0


REGISTRY = {
    "version": "1.0.0",
    "agents": [
        {
            "id": "gemini",
            "name": "Gemini CLI",
            "version": "9.0.0",
            "description": "d",
            "distribution": {"npx": {"package": "@google/gemini-cli@9.0.0", "args": ["--acp"]}},
        },
        {
            "id": "brand-new",
            "name": "New",
            "version": "1.0.0",
            "description": "d",
            "distribution": {"uvx": {"package": "brand-new==1.0.0", "env": {"A": "b c"}}},
        },
    ],
}


def test_a_newer_catalogue_is_taken_from_a_file_and_given_back(
    call: Call, home: Path, install: Install
) -> None:
    (home / "registry.json").write_text(json.dumps(REGISTRY))
    done = call("agents", "update", "--from", str(home / "registry.json"))
    assert "1 new, 0 gone, 0 with another command" in done.err
    listed = {
        each["name"]: each
        for each in map(json.loads, call("agents", "--json").out.split("\n")[:-1])
    }
    assert listed["brand-new"]["command"] == ["uvx", "brand-new==1.0.0"]
    assert listed["gemini"]["signIn"]
    install("uvx", HELLO)
    refused = call("exec", "brand-new", "hello").err
    assert "A='b c' uvx brand-new==1.0.0" in refused
    assert "agents add brand-new --env 'A=b c' -- uvx brand-new==1.0.0" in refused
    assert call("agents", "update", "--reset").code == 0
    assert "brand-new" not in call("agents").out


def test_a_newer_catalogue_is_taken_from_an_address(call: Call) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_there = self.path == "/registry.json"
            self.send_response(200 if is_there else 404)
            self.end_headers()
            self.wfile.write(json.dumps(REGISTRY).encode() if is_there else b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name
            """Say nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            base = f"http://127.0.0.1:{server.server_port}"
            assert "1 new" in call("agents", "update", "--from", f"{base}/registry.json").err
            missing = call("agents", "update", "--from", f"{base}/x")
        finally:
            server.shutdown()
            thread.join()
    assert missing.code == exit_codes.USAGE
    assert "the server answered with 404" in missing.err


def test_a_damaged_catalogue_says_how_to_go_back(call: Call, home: Path) -> None:
    path = home / "state/acp-console/catalogue.json"
    path.parent.mkdir(parents=True)
    path.write_text("{")
    done = call("agents")
    assert done.code == exit_codes.USAGE
    assert "acp-console agents update --reset goes back" in done.err
    assert call("agents", "update", "--reset").code == 0
    assert call("agents").code == 0
