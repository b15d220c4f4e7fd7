"""`acp-console attach`: look at a running proxy, or ask it for something from a shell."""

from __future__ import annotations

import json
import select
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import click

from acp_console.cli import exits
from acp_console.cli.problems import say
from acp_inspector.attach.attachment import (
    AttachError,
    Attachment,
    RunningProxy,
    find_proxy,
    running_proxies,
)
from acp_protocol import jsonrpc
from acp_protocol.host.text import one_line


@click.command(name="attach")
@click.argument("proxy", required=False, metavar="[NAME|PID]")
@click.option("--list", "is_list", is_flag=True, help="List the running proxies and leave.")
@click.option("--json", "is_json", is_flag=True, help="With --list: one JSON object per line.")
@click.option(
    "--ask",
    "questions",
    multiple=True,
    metavar="JSON",
    help="Ask for a deed, print the answer and leave; - reads questions line by line.",
)
def command(*, proxy: str | None, is_list: bool, is_json: bool, questions: tuple[str, ...]) -> int:
    """Look at the traffic of a running proxy, from its first frame on and as it goes on.

    \b
    acp-console proxy --name work -- my-agent --acp    # what an editor starts
    acp-console attach work
    acp-console attach --list
    acp-console attach work --ask '{"do": "state"}'    # deeds: docs/intercept.md
    """  # noqa: D301 - the mark by which click keeps lines apart
    if is_json and not is_list:
        raise click.UsageError("--json stands with --list")
    if is_list and questions:
        raise click.UsageError("--list and --ask do not stand together")
    try:
        if is_list:
            return _list(running_proxies(), is_json=is_json)
        if questions:
            return _ask(proxy, questions)
        return _look(proxy)
    except AttachError as problem:
        say(str(problem))
        return exits.USAGE


def _look(proxy: str | None) -> int:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "attach needs a terminal; without one there are attach --list and attach --ask"
        )
    # One that was named is looked at alone; otherwise all, the newest first.
    chosen = [find_proxy(proxy)] if proxy else running_proxies() or [find_proxy(None)]
    from acp_console.tui.app import run_watch
    from acp_console.tui.sources import ProxySource

    return run_watch([ProxySource(each) for each in chosen])


def _ask(proxy: str | None, questions: Sequence[str]) -> int:
    """Print the answer to each question; tell by the exit code whether one was refused.

    Who reads its questions from stdin is attached for as long as it does. Who brings them along is
    only passing: what it has set stays, and nothing is released when it leaves.
    """
    is_attached = list(questions) == ["-"]
    if "-" in questions and not is_attached:
        raise click.UsageError("--ask - stands alone")
    read = [] if is_attached else [_read(question) for question in questions]
    try:
        attachment = Attachment(find_proxy(proxy).path)
    except OSError as problem:
        raise AttachError(f"the proxy is gone: {problem}") from None
    code = exits.DONE
    with attachment:
        if not is_attached:
            attachment.ask("hello", passing=True)
        for question in _questions_of_stdin() if is_attached else read:
            answer = _answer(attachment, question)
            _print(jsonrpc.encode(answer))
            code = exits.FOUND if "error" in answer else code
            if question.get("do") == "watch" and "ok" in answer:
                _close_with_stdout(attachment)
                for line in attachment.rest():
                    _print(line)
                break
    return code


class _Refused(dict[str, Any]):
    """What a line is answered with that is no question."""


def _answer(attachment: Attachment, question: Mapping[str, Any]) -> Mapping[str, Any]:
    if isinstance(question, _Refused):
        return question
    try:
        jsonrpc.encode(question)
    except ValueError:
        return {"error": "the question holds a number that is too large"}
    return attachment.exchange(question)


def _close_with_stdout(attachment: Attachment) -> None:
    """Leave as soon as nobody reads what is printed, and not when the next line comes."""

    def wait() -> None:
        poller = select.poll()
        # Without a wish, what remains is that the other end has gone.
        poller.register(sys.stdout.fileno(), 0)
        poller.poll()
        attachment.close()

    threading.Thread(target=wait, name="stdout", daemon=True).start()


def _questions_of_stdin() -> Iterator[Mapping[str, Any]]:
    for line in sys.stdin.buffer:
        if line.strip():
            try:
                yield _read(line.decode())
            except (click.UsageError, UnicodeDecodeError) as problem:
                yield _Refused(error=str(problem))


def _read(question: str) -> Mapping[str, Any]:
    try:
        value = jsonrpc.parse(question.encode())
    except ValueError as problem:
        raise click.UsageError(f"a question has to be a JSON object: {problem}") from None
    if not isinstance(value, dict):
        raise click.UsageError('a question has to be a JSON object like {"do": "state"}')
    return cast("Mapping[str, Any]", value)


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line + b"\n")
    sys.stdout.buffer.flush()


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
