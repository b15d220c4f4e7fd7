"""What the demo model does on a prompt.

A prompt is one order or several, one a line or joined by "then". Each order is a script: it yields
what is said and done, and where it calls a tool it is sent what came of it.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final, cast

from acp_agent.models.model import (
    Say,
    Think,
    ToolOffer,
    UserSaid,
)
from acp_agent.models.scene import Script, call, plan_after, retell
from acp_agent.models.tour import tour
from acp_agent.numbers import is_finite
from acp_protocol.host.text import one_line
from acp_protocol.json_text import parse
from acp_protocol.jsonrpc import Json

TOOLS: Final = "tools"
"""The order that is about the tools themselves."""
ABOUT_WIDTH: Final = 80
"""Characters of what a tool does that are repeated."""

HELP: Final = """\
I am the **demo agent**: no network, no key, yet what I do is real. Tell me, one order a line:

| order | what I do |
|---|---|
| `read FILE` | read a file of this directory |
| `search WORD` | look for a word in all files |
| `list DIRECTORY`, `find PATTERN` | name what is in a directory, or files by pattern |
| `fetch URL` | read a page of the web, after asking you |
| `edit FILE: old => new` | replace text, after asking you |
| `edit FILE` | add a line to its end |
| `write FILE: text` | give a file a new text |
| `move FILE to FILE` | move or rename, after asking you |
| `delete FILE` | delete a file, after asking you |
| `run COMMAND` | run a program, after asking you |
| `ask QUESTION: one, other` | ask you by a form, if your client shows one |
| `form` | ask by a form with every kind of field |
| `open URL` | ask you to open a page |
| `call TOOL name=value …` | call any tool, such as one of an MCP server |
| `tools` | name the tools that there are |
| `plan`, `think`, `/tour` | show what a plan, a thought, and everything looks like |
"""


def script(prompt: UserSaid, tools: Sequence[ToolOffer] = ()) -> Script:
    """Yield what is said and done on `prompt`, where `tools` are there."""
    if prompt.attachments or prompt.images:
        yield _received(prompt)
    orders = _orders(prompt.text)
    if not orders:
        yield Say(HELP)
    for order in orders:
        yield from _list(tools) if _word(order) == TOOLS else _script_of(order)


def _orders(text: str) -> list[str]:
    """Return the orders in `text`; lines that are none and stand together stay together."""
    orders: list[str] = []
    was_known = True
    for line in text.splitlines():
        for part in _THEN.split(line.strip()):
            is_known = _word(part) == TOOLS or _script_named(part) is not None
            if part and (is_known or was_known):
                orders.append(part)
            elif part:
                orders[-1] += f"\n{part}"
            was_known = is_known if part else was_known
    return orders


def _script_of(order: str) -> Script:
    found = _script_named(order)
    if found is not None:
        return found(order.partition(" ")[2].strip())
    quoted = order.replace("\n", "\n> ")
    return _say(f"You said:\n\n> {quoted}\n\nI only do what I know. {HELP}")


def _script_named(order: str) -> Callable[[str], Script] | None:
    word, rest = _word(order), order.partition(" ")[2]
    return _ALONE.get(word) or (_WITH_OBJECT.get(word) if rest.strip() else None)


def _word(order: str) -> str:
    return order.partition(" ")[0].lower().removeprefix("/")


def _help(rest: str) -> Script:
    del rest
    yield Say(HELP)


def _list(tools: Sequence[ToolOffer]) -> Script:
    lines = [f"- `{tool.name}`: {one_line(tool.about, ABOUT_WIDTH)}" for tool in tools]
    yield Say("\n".join(["I can call these tools:\n", *lines, "\n"]))


def _think(rest: str) -> Script:
    subject = rest or "nothing in particular"
    yield Think(f"Let me think about {subject}" if len(subject) < 40 else subject)
    yield Say("I have thought about it.\n\n")


def _plan(rest: str) -> Script:
    del rest
    for done in range(4):
        yield plan_after(done)
    yield Say("The plan is done.\n\n")


def _read(rest: str) -> Script:
    yield Say(f"I read `{rest}`.\n\n")
    yield retell(f"`{rest}`", (yield from call("read", path=rest)))


def _search(rest: str) -> Script:
    word, _, place = rest.partition(" in ")
    yield Say(f"I look for `{word}`.\n\n")
    answer = yield from call("search", pattern=word, path=place.strip() or ".")
    yield retell(f"The search for `{word}`", answer)


def _edit(rest: str) -> Script:
    path, _, change = rest.partition(":")
    old, arrow, new = (part.strip() for part in change.partition("=>"))
    if arrow:
        yield Say(f"I edit `{path}`.\n\n")
        answer = yield from call("edit", path=path, old=old, new=new)
    else:
        added = change.strip() or "This line was added by the demo agent."
        yield Say(f"I add a line to `{path}`.\n\n")
        answer = yield from call("edit", path=path, old=None, new=added + "\n")
    yield retell(f"The edit of `{path}`", answer)


def _write(rest: str) -> Script:
    path, _, text = rest.partition(":")
    yield Say(f"I write `{path}`.\n\n")
    answer = yield from call("write", path=path, text=text.strip() + "\n")
    yield retell(f"Writing `{path}`", answer)


def _move(rest: str) -> Script:
    path, between, goal = (part.strip() for part in rest.partition(" to "))
    if not between or not path or not goal:
        yield Say(f"`move {rest}` does not say where to: write `move FILE to FILE`.\n\n")
        return
    yield Say(f"I move `{path}` to `{goal}`.\n\n")
    yield retell(f"Moving `{path}`", (yield from call("move", path=path, to=goal)))


def _delete(rest: str) -> Script:
    yield Say(f"I delete `{rest}`.\n\n")
    yield retell(f"Deleting `{rest}`", (yield from call("delete", path=rest)))


def _run(rest: str) -> Script:
    try:
        command = shlex.split(rest)
    except ValueError:
        yield Say(f"`{rest}` is no command line that I can take apart.\n\n")
        return
    yield Say(f"I run `{rest}`.\n\n")
    yield retell(f"`{rest}`", (yield from call("run", command=command)))


def _use(rest: str) -> Script:
    name, _, told = rest.partition(" ")
    arguments = _arguments(told.strip())
    if arguments is None:
        yield Say(f"`{told}` are no arguments: write `name=value` or a JSON object.\n\n")
        return
    yield Say(f"I call `{name}`.\n\n")
    yield retell(f"`{name}`", (yield from call(name, **arguments)))


def _ask(rest: str) -> Script:
    question, _, told = rest.partition(":")
    options = [each.strip() for each in told.split(",") if each.strip()]
    field = {"name": "answer", "kind": "choice", "options": options}
    fields: dict[str, Json] = {"fields": [field]} if options else {}
    yield retell("The question", (yield from call("ask_user", question=question.strip(), **fields)))


def _form(rest: str) -> Script:
    del rest
    fields: list[Json] = [
        {"name": "name", "kind": "text"},
        {"name": "age", "kind": "number", "is_required": False},
        {"name": "agreed", "kind": "yes_no"},
        {"name": "colour", "kind": "choice", "options": ["red", "green"]},
        {"name": "days", "kind": "choices", "options": ["Monday", "Tuesday"]},
    ]
    answer = yield from call("ask_user", question="Please fill in this form.", fields=fields)
    yield retell("The form", answer)


def _open(rest: str) -> Script:
    reason = "The demo agent was told to show you this page."
    yield retell("The page", (yield from call("open_page", url=rest, reason=reason)))


def _arguments(told: str) -> dict[str, Json] | None:
    """Return the arguments of a call: a JSON object, or names and values; None if neither."""
    if told.startswith("{"):
        value = _value(told)
        return cast("dict[str, Json]", value) if isinstance(value, dict) else None
    try:
        pairs = [each.partition("=") for each in shlex.split(told)]
    except ValueError:
        return None
    if not all(name and equals for name, equals, _ in pairs):
        return None
    return {name: _value(text) for name, _, text in pairs}


def _value(text: str) -> Json:
    """Return what `text` stands for: JSON, and where it is none, itself."""
    try:
        value = parse(text.encode(errors="surrogatepass"))
    except ValueError:
        return text
    return value if is_finite(value) else text


def _say(text: str) -> Script:
    yield Say(text)


def _received(prompt: UserSaid) -> Say:
    lines = [
        f"- `{each.uri}`" + (", no text" if each.text is None else f", {len(each.text)} characters")
        for each in prompt.attachments
    ]
    lines += [f"- an image, {each.mime_type}, {_size(each.data)} bytes" for each in prompt.images]
    return Say("\n".join(["You attached:\n", *lines, "\n"]))


def _size(data: str) -> int:
    """Return how many bytes base64 stands for."""
    return len(data) * 3 // 4 - data[-2:].count("=")


_ALONE: Final[dict[str, Callable[[str], Script]]] = {
    "help": _help,
    "tour": tour,
    "plan": _plan,
    "think": _think,
    "form": _form,
}
"""Orders that need nothing behind their name."""
_WITH_OBJECT: Final[dict[str, Callable[[str], Script]]] = {
    "read": _read,
    "search": _search,
    "edit": _edit,
    "write": _write,
    "move": _move,
    "delete": _delete,
    "run": _run,
    "call": _use,
    "list": lambda rest: _use(f"list path={shlex.quote(rest)}"),
    "find": lambda rest: _use(f"find pattern={shlex.quote(rest)}"),
    "fetch": lambda rest: _use(f"fetch url={shlex.quote(rest)}"),
    "ask": _ask,
    "open": _open,
}
_ORDER_WORDS: Final = "|".join([*_ALONE, *_WITH_OBJECT, TOOLS])
_THEN: Final = re.compile(rf"\s+then\s+(?=/?(?:{_ORDER_WORDS})\b)", re.IGNORECASE)
"""Joins two orders; the word in a sentence does not."""
