"""`acp-console doctor`: looks for what keeps the console from working on this machine."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Final, Literal, TypeAlias

import anyio
import click
from rich.table import Table
from rich.text import Text

from acp_console.agents.catalogue import Catalogue, open_catalogue
from acp_console.agents.installed import installed_version
from acp_console.agents.spec import ACP_AGENT, DEMO_AGENT
from acp_console.chat.probe import probe_agent
from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.printing import BAD, FAINT, GOOD, print_line, print_plainly, text_width
from acp_console.paths import config_path
from acp_console.wording.values import format_size, plural
from acp_inspector.control.client import running_proxies
from acp_inspector.control.server import SocketDirectoryError, socket_directory, sockets
from acp_protocol.errors import AcpError
from acp_protocol.host.sanitize import single_line
from acp_protocol.host.state import state_directory
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.newer import FEATURES
from acp_protocol.user_files.paths import ConfigPathError, config_file
from acp_protocol.user_files.toml_source import InvalidFileError
from acp_protocol.version import NEWEST_RELEASE, SCHEMA_ID, SCHEMA_RELEASE, SCHEMA_RELEASED, VERSION

MIN_COLUMNS, MIN_LINES = 40, 10
"""The smallest terminal that the screens are made for."""
MAX_SCHEMA_AGE_D: Final = 180
"""Days after which the built-in schema is called old."""
MIN_FREE_BYTES: Final = 100 * 2**20
DEMO_TIMEOUT_S: Final = 20.0
"""Seconds that the demo agent has for each step."""

Level: TypeAlias = Literal["ok", "warning", "error"]
SIGNS: Final[Mapping[Level, str]] = {"ok": "✓", "warning": "!", "error": "✗"}
_STYLES: Final[Mapping[Level, str]] = {"ok": GOOD, "warning": "yellow", "error": BAD}
_AREA_WIDTH: Final = 9
_TEXT_WIDTH: Final = 300


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """Something that was looked at; its texts may be untrusted."""

    area: str
    level: Level
    text: str
    hint: str = ""
    """What to do about it."""


@click.command(name="doctor", cls=CliCommand, topic="agents", is_check=True)
@format_option(("text", "json"), "json: one object.")
def command(*, format_: str) -> int:
    """Check what the console needs on this machine.

    \b
    acp-console doctor

    It looks at Python, the built-in schema, the terminal, configuration files, directories, agents
    and running proxies, and starts the embedded demo agent. It starts no other agent. The exit code
    is 1 if something is wrong; what may be meant so is marked with "!" and does not count.
    """  # noqa: D301 - the mark by which click keeps lines apart
    checks = list(_checks())
    is_ok = all(check.level != "error" for check in checks)
    if format_ == "json":
        facts: dict[str, Json] = {"version": VERSION, "schema": SCHEMA_ID, "ok": is_ok}
        print_json({**facts, "checks": [asdict(check) for check in checks]})
    else:
        _print(checks)
    return exit_codes.DONE if is_ok else exit_codes.FOUND


def _print(checks: Sequence[MachineCheck]) -> None:
    """Print the checks as a table, in which a long text stays in its column."""
    print_line(f"acp-console {VERSION} (ACP schema {SCHEMA_ID})", "bold")
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, min_width=_AREA_WIDTH)
    table.add_column(overflow="fold")
    width = text_width(_TEXT_WIDTH)
    for each in checks:
        text = Text(single_line(each.text, width))
        if each.hint:
            text.append(f"\n{single_line(each.hint, width)}", FAINT)
        table.add_row(Text(SIGNS[each.level], _STYLES[each.level]), Text(each.area, "bold"), text)
    print_plainly(table)


def _checks() -> Iterator[MachineCheck]:
    yield MachineCheck(
        "python", "ok", f"{platform.python_version()} on {platform.platform(terse=True)}"
    )
    yield schema_check(date.today())  # noqa: DTZ011 - a day is precise enough
    yield from _terminal()
    yield from _configuration()
    yield from _directories()
    yield from _agents()
    yield from _proxies()


def schema_check(today: date) -> MachineCheck:
    """Return how old the built-in schema is, and what is known to be newer.

    A date before the schema's own means that the clock is wrong: the age is 0 then.
    """
    days = max((today - date.fromisoformat(SCHEMA_RELEASED)).days, 0)
    is_old = days > MAX_SCHEMA_AGE_D
    return MachineCheck(
        "schema",
        "warning" if is_old else "ok",
        f"{plural(days, 'day')} old ({SCHEMA_RELEASED}; {SCHEMA_RELEASE}); newest known release: "
        f"{NEWEST_RELEASE}; known, but not checked: {', '.join(FEATURES)}",
        "a newer acp-console may have a newer one" if is_old else "",
    )


def _terminal() -> Iterator[MachineCheck]:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        yield MachineCheck(
            "terminal", "ok", "none; chat and inspect need one, the other commands do not"
        )
    else:
        columns, lines = os.get_terminal_size(sys.stdout.fileno())
        is_small = columns < MIN_COLUMNS or lines < MIN_LINES
        yield MachineCheck(
            "terminal",
            "warning" if is_small else "ok",
            f"{columns} × {lines} cells",
            f"screens are made for at least {MIN_COLUMNS} × {MIN_LINES}" if is_small else "",
        )
    name = os.environ.get("TERM", "")
    if name in {"", "dumb"}:
        yield MachineCheck(
            "terminal", "warning", f"TERM is {name or 'not set'}", "set it, e.g. to xterm-256color"
        )
    else:
        yield MachineCheck("terminal", "ok", f"TERM is {name}, {_colours(name)}")
    encoding = (sys.stdout.encoding or "").lower()
    if encoding.replace("-", "") != "utf8":
        hint = "set a locale with UTF-8, e.g. LANG=C.UTF-8"
        yield MachineCheck(
            "terminal", "warning", f"the encoding is {encoding or 'not known'}", hint
        )


def _colours(term: str) -> str:
    if os.environ.get("NO_COLOR"):
        return "no colours (NO_COLOR is set)"
    if os.environ.get("COLORTERM", "").lower() in {"truecolor", "24bit"}:
        return "16 million colours"
    return "256 colours" if "256" in term else "16 colours"


def _configuration() -> Iterator[MachineCheck]:
    try:
        path = config_path()
        config = open_catalogue().config
    except (ConfigPathError, InvalidFileError) as error:
        yield from (MachineCheck("config", "error", line) for line in str(error).splitlines())
    else:
        counts = f"{plural(len(config.agents), 'agent')}, {plural(len(config.mcp), 'MCP server')}"
        yield MachineCheck("config", "ok", f"{path}: {counts if config.path else 'not there'}")
    yield from _agent_configuration()


def _agent_configuration() -> Iterator[MachineCheck]:
    """Have our agent read its own configuration."""
    try:
        path = config_file(None, os.environ)
    except ConfigPathError as error:
        yield MachineCheck("config", "error", str(error))
        return
    if path is None:
        yield MachineCheck("config", "ok", "acp-agent.toml: not there")
        return
    try:
        done = subprocess.run(
            [*ACP_AGENT, "config", "show"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=DEMO_TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        yield MachineCheck("config", "error", f"{path}: acp-agent did not read it in time")
        return
    if not done.returncode:
        yield MachineCheck("config", "ok", f"{path} (acp-agent)")
    for line in done.stderr.splitlines() if done.returncode else ():
        yield MachineCheck("config", "error", line.removeprefix("error:").strip())


def _directories() -> Iterator[MachineCheck]:
    state = state_directory()
    yield _directory(state)
    with suppress(OSError):
        sizes = [path.stat().st_size for path in (state / "sessions").rglob("*") if path.is_file()]
        if sizes:
            files = f"{plural(len(sizes), 'file')}, {format_size(sum(sizes))}"
            yield MachineCheck("state", "ok", f"sessions of the chat: {files}")
    with_files = next(each for each in (state, *state.parents) if each.exists())
    free = shutil.disk_usage(with_files).free
    if free < MIN_FREE_BYTES:
        yield MachineCheck("state", "warning", f"{state}: only {format_size(free)} are free")
    try:
        yield MachineCheck("state", "ok", f"{socket_directory()} (sockets)")
    except SocketDirectoryError as error:
        yield MachineCheck("state", "error", str(error))


def _directory(path: Path) -> MachineCheck:
    """Check a directory of the user, which need not exist yet."""
    try:
        found = path.stat()
    except FileNotFoundError:
        parent = next(each for each in path.parents if each.exists())
        if os.access(parent, os.W_OK | os.X_OK):
            return MachineCheck("state", "ok", f"{path}: made when it is needed")
        return MachineCheck(
            "state", "error", f"{path}: cannot be made: you may not write to {parent}"
        )
    except OSError as error:
        return MachineCheck("state", "error", f"{path}: {error.strerror}")
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISDIR(found.st_mode):
        return MachineCheck("state", "error", f"{path}: no directory", "move it away")
    if found.st_uid != os.getuid():
        return MachineCheck("state", "error", f"{path}: it belongs to another user")
    if mode & 0o077:
        return MachineCheck(
            "state", "error", f"{path}: others have access", f"run chmod 700 {path}"
        )
    if not os.access(path, os.W_OK | os.X_OK):
        return MachineCheck("state", "error", f"{path}: you may not write", f"run chmod 700 {path}")
    return MachineCheck("state", "ok", str(path))


def _agents() -> Iterator[MachineCheck]:
    yield anyio.run(_demo)
    try:
        catalogue = open_catalogue()
    except AcpError:
        # Said of the configuration.
        return
    for entry in catalogue.entries:
        if entry.state == "ready" and entry.source != "demo":
            assert entry.program is not None
            packages = entry.facts.package_names() if entry.facts else ()
            version = installed_version(entry.program, packages) or "(version not known)"
            yield MachineCheck("agents", "ok", f"{entry.name} {version}  {entry.program}")
        elif entry.source == "config":
            line = f"{entry.name}: no program {entry.command[0]!r} was found"
            yield MachineCheck("agents", "error", line, catalogue.config.at("agents", entry.name))
        try:
            catalogue.spec(entry)
        except InvalidFileError as error:
            yield MachineCheck("agents", "error", str(error))
    yield from _wrappers(catalogue)


def _wrappers(catalogue: Catalogue) -> Iterator[MachineCheck]:
    for runner in ("npx", "uvx"):
        found = shutil.which(runner)
        install = "npm" if runner == "npx" else "uv"
        waiting = [
            entry
            for entry in catalogue.entries
            if entry.state != "ready" and entry.install.startswith(f"{install} ")
        ]
        if found:
            text = f"{runner} can start {len(waiting)} more of the catalogue  {found}"
        else:
            text = f"no {runner}, which {len(waiting)} more of the catalogue would need"
        yield MachineCheck("agents", "ok", text)


async def _demo() -> MachineCheck:
    try:
        claims = await probe_agent(
            DEMO_AGENT,
            Path("/"),
            start_timeout=DEMO_TIMEOUT_S,
            session_timeout=DEMO_TIMEOUT_S,
        )
    except AcpError as error:
        return MachineCheck("agents", "error", f"the demo agent does not start: {error}")
    if claims.session_error is not None:
        return MachineCheck("agents", "error", f"the demo agent: {claims.session_error}")
    return MachineCheck("agents", "ok", "demo starts and opens a session")


def _proxies() -> Iterator[MachineCheck]:
    try:
        before = sockets()
    except SocketDirectoryError:
        # Said of the directory.
        return
    running = running_proxies()
    for proxy in running:
        yield MachineCheck("proxies", "ok", f"{proxy.name} runs, process {proxy.pid}")
    after = set(sockets())
    removed = [path for path in before if path not in after]
    silent = after - {proxy.path for proxy in running}
    if removed:
        yield MachineCheck(
            "proxies", "ok", f"removed {plural(len(removed), 'socket')} of killed proxies"
        )
    for path in sorted(silent):
        yield MachineCheck("proxies", "warning", f"{path} does not answer", "end its process")
    if not before:
        yield MachineCheck("proxies", "ok", "none runs")
