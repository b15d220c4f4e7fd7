"""`acp-console attach`: watch a running proxy, or send it commands from a shell."""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from io import BufferedWriter
from typing import Any, cast

import click

from acp_console.cli import exit_codes
from acp_console.cli.command import CliCommand
from acp_console.cli.errors import UsageError
from acp_console.cli.format_option import format_option, print_json
from acp_console.cli.reading import dialect_option
from acp_console.cli.theme_option import theme_option
from acp_inspector.control.client import (
    AttachError,
    ProxyClient,
    RunningProxy,
    find_proxy,
    running_proxies,
)
from acp_protocol import jsonrpc
from acp_protocol.host.sanitize import single_line


@click.command(name="attach", cls=CliCommand, topic="inspecting", is_check=True)
@click.argument("proxy", required=False, metavar="[NAME|PID]")
@click.option("--list", "is_list", is_flag=True, help="List the running proxies and exit.")
@format_option(("text", "json"), "With --list. json: one object per line.")
@click.option(
    "--ask",
    "commands",
    multiple=True,
    metavar="JSON",
    help='Send one JSON command and print the reply; "-" reads commands from stdin.',
)
@dialect_option
@theme_option
def command(
    *,
    proxy: str | None,
    is_list: bool,
    format_: str,
    commands: tuple[str, ...],
    dialect: str | None,
    theme: str | None,
) -> int:
    """Watch the traffic of a running proxy, from its first frame on.

    \b
    acp-console proxy --name work -- my-agent --acp    # what an editor starts
    acp-console attach work
    acp-console attach --list
    acp-console attach work --ask '{"do": "state"}'  # see docs/intercept.md
    """  # noqa: D301 - the mark by which click keeps lines apart
    if format_ == "json" and not is_list:
        raise UsageError("--json needs --list")
    if is_list and commands:
        raise UsageError("--list cannot be combined with --ask")
    if is_list:
        return _list(running_proxies(), is_json=format_ == "json")
    if commands:
        return _ask(proxy, commands)
    return _watch(proxy, dialect, theme)


def _watch(proxy: str | None, dialect: str | None, theme: str | None) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "attach needs a terminal", "without one, use attach --list or attach --ask"
        )
    # All proxies, the newest first, unless one is named.
    chosen = [find_proxy(proxy)] if proxy else running_proxies() or [find_proxy(None)]
    from acp_console.traffic.sources import ProxySource
    from acp_console.tui.app import run_watch

    return run_watch([ProxySource(each, dialect) for each in chosen], theme)


def _ask(proxy: str | None, commands: Sequence[str]) -> int:
    """Print the reply to each command; return whether one was refused.

    Commands from stdin keep the observer attached as long as they come. Commands from the command
    line do not: what they set stays, and nothing is released afterwards.
    """
    is_staying = list(commands) == ["-"]
    if "-" in commands and not is_staying:
        raise UsageError("--ask - cannot be combined with other commands")
    parsed = [] if is_staying else [_parse(text) for text in commands]
    try:
        client = ProxyClient(find_proxy(proxy).path)
    except OSError as problem:
        raise AttachError(f"the proxy is gone: {problem}") from None
    code = exit_codes.DONE
    # Of its own, since the one that is written to may become the null device.
    with client, os.fdopen(os.dup(1), "wb") as stdout:
        if not is_staying:
            client.call("hello", passing=True)
        for request in _commands_from_stdin() if is_staying else parsed:
            reply = _reply(client, request)
            _print(jsonrpc.encode(reply))
            code = exit_codes.FOUND if "error" in reply else code
            if request.get("do") == "watch" and "ok" in reply:
                _close_with_reader(client, stdout)
                for line in client.raw_lines():
                    _print(line)
                break
    return code


class _Rejected(dict[str, Any]):
    """The reply to a line that is not a command."""


def _reply(client: ProxyClient, request: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(request, _Rejected):
        return request
    try:
        jsonrpc.encode(request)
    except ValueError:
        return {"error": "the command holds a number that is too large"}
    return client.request(request)


def _close_with_reader(client: ProxyClient, stdout: BufferedWriter) -> None:
    """Close the connection as soon as the reader of stdout is gone, not at the next line."""

    def wait() -> None:
        poller = select.poll()
        # Without events, this waits for errors only: the reader has closed its end.
        poller.register(stdout.fileno(), 0)
        poller.poll()
        client.close()

    threading.Thread(target=wait, name="stdout", daemon=True).start()


def _commands_from_stdin() -> Iterator[Mapping[str, Any]]:
    for line in sys.stdin.buffer:
        if line.strip():
            try:
                yield _parse(line.decode())
            except (UsageError, UnicodeDecodeError) as problem:
                yield _Rejected(error=str(problem))


def _parse(text: str) -> Mapping[str, Any]:
    try:
        value = jsonrpc.parse(text.encode())
    except ValueError as problem:
        raise UsageError(f"a command has to be a JSON object: {problem}") from None
    if not isinstance(value, dict):
        raise UsageError('a command has to be a JSON object like {"do": "state"}')
    return cast("Mapping[str, Any]", value)


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


def _list(proxies: list[RunningProxy], *, is_json: bool) -> int:
    for proxy in proxies:
        if is_json:
            print_json(proxy.as_json())
        else:
            words = single_line(" ".join(proxy.command), 100)
            click.echo(f"{proxy.name:<20} {proxy.pid:>8}  {proxy.created}  {words}")
    if not proxies and not is_json:
        click.echo(
            "no proxy is running; start one with acp-console proxy -- my-agent --acp", err=True
        )
    return exit_codes.DONE
