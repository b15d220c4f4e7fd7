"""`acp-console attach`: look at a running proxy."""

from __future__ import annotations

import json
import sys

import click

from acp_console.cli import exits
from acp_inspector.attach.attachment import RunningProxy, find_proxy, running_proxies
from acp_protocol.host.text import one_line


@click.command(name="attach")
@click.argument("proxy", required=False, metavar="[NAME|PID]")
@click.option("--list", "is_list", is_flag=True, help="List the running proxies and leave.")
@click.option("--json", "is_json", is_flag=True, help="With --list: one JSON object per line.")
def command(*, proxy: str | None, is_list: bool, is_json: bool) -> int:
    """Look at the traffic of a running proxy, from its first frame on and as it goes on.

    \b
    acp-console proxy --name work -- my-agent --acp    # what an editor starts
    acp-console attach work
    acp-console attach --list
    """  # noqa: D301 - the mark by which click keeps lines apart
    if is_json and not is_list:
        raise click.UsageError("--json stands with --list")
    if is_list:
        return _list(running_proxies(), is_json=is_json)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError("attach needs a terminal; without one there is attach --list")
    # One that was named is looked at alone; otherwise all, the newest first.
    chosen = [find_proxy(proxy)] if proxy else running_proxies() or [find_proxy(None)]
    from acp_console.tui.app import run_watch
    from acp_console.tui.sources import ProxySource

    return run_watch([ProxySource(each) for each in chosen])


def _list(proxies: list[RunningProxy], *, is_json: bool) -> int:
    for proxy in proxies:
        if is_json:
            click.echo(json.dumps(proxy.as_json()))
        else:
            words = one_line(" ".join(proxy.command), 100)
            click.echo(f"{proxy.name:<20} {proxy.pid:>8}  {proxy.created}  {words}")
    if not proxies and not is_json:
        click.echo(
            "no proxy is running; start one with acp-console proxy -- my-agent --acp", err=True
        )
    return exits.DONE
