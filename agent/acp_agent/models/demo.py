"""The demo model: follows commands in prompts, without a network."""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator, Callable, Generator, Sequence
from typing import Final, TypeAlias, cast

from acp_agent.markdown import fence
from acp_agent.models.types import (
    REJECTED,
    AssistantMessage,
    HistoryEntry,
    ModelEvent,
    PlanChange,
    PlannedStep,
    PlanStatus,
    PromptMessage,
    ReasoningDelta,
    SlashCommand,
    TextDelta,
    ToolResult,
    ToolSpec,
    ToolUse,
)
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_codec import parse
from acp_protocol.json_values import is_finite
from acp_protocol.jsonrpc import Json

Script: TypeAlias = Generator[ModelEvent, ToolResult | None]
"""Yields events; gets the result after a `ToolUse`, None after other events."""
SHOWN_LINES: Final = 8
"""Lines of a tool's result that are repeated."""


def call(tool: str, **arguments: Json) -> Generator[ModelEvent, ToolResult | None, ToolResult]:
    """Call a tool, and return its result."""
    answer = yield ToolUse(tool, arguments)
    assert answer is not None
    return answer


def retell(subject: str, answer: ToolResult) -> TextDelta:
    """Return the beginning of a tool's result."""
    if answer.is_failed:
        return TextDelta(f"{subject} failed: {answer.text}\n\n")
    lines = answer.text.splitlines()
    if not lines:
        return TextDelta(f"{subject}: done.\n\n")
    shown = "\n".join(lines[:SHOWN_LINES])
    more = f"\n… {len(lines) - SHOWN_LINES} more" if len(lines) > SHOWN_LINES else ""
    count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
    return TextDelta(f"{subject} returned {count}:\n\n{fence(shown + more)}\n\n")


def plan_after(done: int) -> PlanChange:
    """Return a plan of three steps, of which so many are done."""
    names = ("Look around", "Make the change", "Check the result")
    statuses: tuple[PlanStatus, ...] = ("completed",) * done + ("in_progress", "pending", "pending")
    return PlanChange(tuple(map(PlannedStep, names, statuses)))


TOUR_FILE: Final = "acp-tour.txt"
TOUR_TEXT: Final = "A tour of the demo agent.\nThis line will be changed.\n"


def tour(rest: str) -> Script:
    """Yield each feature of the protocol once; `rest` is ignored."""
    del rest
    yield ReasoningDelta(
        "I'll show each feature of the protocol once, and leave the directory as I found it."
    )
    yield TextDelta(
        "# The tour\n\nText streams as **Markdown**, with `code`, lists and tables:\n\n"
        "```python\nprint('hello')\n```\n\n| feature | shown |\n|---|---|\n| text | yes |\n\n"
    )
    yield plan_after(0)
    yield TextDelta("First, I'll write a file. I need your permission for that.\n\n")
    written = yield from call("write", path=TOUR_FILE, text=TOUR_TEXT, is_new=True)
    if written.is_failed:
        # The file is not ours to change and to delete.
        yield TextDelta(f"The file was not written: {written.text}. The tour ends here.\n\n")
        return
    yield TextDelta("Now I'll read it back.\n\n")
    yield from call("read", path=TOUR_FILE)
    yield plan_after(1)
    yield TextDelta("Next, I'll search for a word.\n\n")
    yield from call("search", pattern="changed", path=".")
    yield TextDelta("Now I'll change a line.\n\n")
    yield from call("edit", path=TOUR_FILE, old="will be", new="was")
    yield plan_after(2)
    yield TextDelta("Then I'll run a program.\n\n")
    yield from call("run", command=["cat", TOUR_FILE])
    yield TextDelta("Finally, I'll clean up.\n\n")
    cleaned = yield from call("delete", path=TOUR_FILE)
    yield plan_after(3)
    stays = f" `{TOUR_FILE}` is still there: {cleaned.text}." if cleaned.is_failed else ""
    yield TextDelta(f"That was the tour.{stays}\n\n")


TOOLS: Final = "tools"
"""The command that lists the tools."""
_HELP: Final = """\
I am the **demo agent**. I need no network and no key, yet everything I do is real. Give me one
command per line:

| command | what I do |
|---|---|
| `read FILE` | read a file in this directory |
| `search WORD` | search all files for a word |
| `list DIRECTORY`, `find PATTERN` | list a directory, or the files that match a pattern |
| `fetch URL` | fetch a web page, after asking you |
| `edit FILE: old => new` | replace text in a file, after asking you |
| `edit FILE` | add a line to the end of a file, after asking you |
| `write FILE: text` | replace everything in a file, after asking you |
| `move FILE to FILE` | move or rename a file, after asking you |
| `delete FILE` | delete a file, after asking you |
| `run COMMAND` | run a program, after asking you |
| `ask QUESTION: one, other` | ask you with a form, if your client can show one |
| `form` | show a form with every kind of field |
| `open URL` | ask you to open a web page |
| `call TOOL name=value …` | call any tool, including those of MCP servers |
| `tools` | list the tools |
| `plan`, `think`, `/tour` | show what a plan, a thought or everything looks like |
"""
_NEEDED: Final = {"ask": "ask_user", "form": "ask_user", "open": "open_page"}
"""The tool that a command needs; it is missing where the client cannot show a form or a page."""


def help_text(tools: Sequence[ToolSpec] = ()) -> str:
    """Return what can be done with `tools`."""
    missing = tuple(f"| `{word}" for word in _NEEDED if _lacks_tool(word, tools))
    rows = _HELP.splitlines(keepends=True)
    return "".join(row for row in rows if not row.startswith(missing))


def _lacks_tool(word: str, tools: Sequence[ToolSpec]) -> bool:
    needed = _NEEDED.get(word)
    return needed is not None and needed not in {tool.name for tool in tools}


def script(
    prompt: PromptMessage, tools: Sequence[ToolSpec] = (), *, was_rejected: bool = False
) -> Script:
    """Yield the reply to `prompt`, where `tools` are there, and after a call was rejected."""
    if prompt.attachments or prompt.images:
        yield _received(prompt)
    commands = _commands(prompt.text)
    if not commands:
        yield TextDelta(help_text(tools))
    for command in commands:
        word = _word(command)
        if word == "help":
            yield TextDelta(help_text(tools))
        elif _lacks_tool(word, tools):
            what = "open pages" if word == "open" else "show forms"
            yield TextDelta(f"Your client can't {what}.\n\n")
        elif word == TOOLS:
            lines = [f"- `{each.name}`: {single_line(each.description, 80)}" for each in tools]
            yield TextDelta("\n".join(["I can call these tools:\n", *lines, "\n"]))
        elif handler := _handler(command):
            yield from handler(command.partition(" ")[2].strip())
        else:
            quoted = command.replace("\n", "\n> ")
            if was_rejected:
                yield TextDelta(
                    f"All right, I'll leave it. You said:\n\n> {quoted}\n\n"
                    "What should I do instead?\n\n"
                )
                continue
            yield TextDelta(
                f"You said:\n\n> {quoted}\n\nI don't know that command.\n\n{help_text(tools)}"
            )


def _commands(text: str) -> list[str]:
    """Return the commands in `text`; unknown lines in a row stay together."""
    commands: list[str] = []
    was_known = True
    for line in text.splitlines():
        for part in _THEN.split(line.strip()):
            is_known = _word(part) == TOOLS or _handler(part) is not None
            if part and (is_known or was_known):
                commands.append(part)
            elif part:
                commands[-1] += f"\n{part}"
            was_known = is_known if part else was_known
    return commands


def _handler(command: str) -> Callable[[str], Script] | None:
    word, rest = _word(command), command.partition(" ")[2]
    return _ALONE.get(word) or (_WITH_OBJECT.get(word) if rest.strip() else None)


def _word(command: str) -> str:
    return command.partition(" ")[0].lower().removeprefix("/")


def _say(text: str) -> Script:
    yield TextDelta(text)


def _perform(intro: str, subject: str, tool: str, **arguments: Json) -> Script:
    """Say `intro`, call the tool, and repeat its result."""
    if intro:
        yield TextDelta(f"{intro}\n\n")
    yield retell(subject, (yield from call(tool, **arguments)))


def _think(rest: str) -> Script:
    subject = rest or "nothing in particular"
    yield ReasoningDelta(f"Let me think about {subject}" if len(subject) < 40 else subject)
    yield TextDelta("I've thought about it.\n\n")


def _plan(rest: str) -> Script:
    del rest
    for done in range(4):
        yield plan_after(done)
    yield TextDelta("The plan is complete.\n\n")


def _read(rest: str) -> Script:
    # A client completes names of files after "@".
    rest = rest.removeprefix("@")
    return _perform(f"I'll read `{rest}`.", f"Reading `{rest}`", "read", path=rest)


def _search(rest: str) -> Script:
    word, _, folder = rest.partition(" in ")
    path = folder.strip() or "."
    intro, subject = f"I'll search for `{word}`.", f"Searching for `{word}`"
    return _perform(intro, subject, "search", pattern=word, path=path)


def _edit(rest: str) -> Script:
    path, _, change = rest.partition(":")
    old, arrow, new = (part.strip() for part in change.partition("=>"))
    subject = f"Editing `{path}`"
    if arrow:
        return _perform(f"I'll edit `{path}`.", subject, "edit", path=path, old=old, new=new)
    added = change.strip() or "This line was added by the demo agent."
    intro = f"I'll add a line to `{path}`."
    return _perform(intro, subject, "edit", path=path, old=None, new=added + "\n")


def _write(rest: str) -> Script:
    path, colon, text = rest.partition(":")
    if not colon:
        return _say(f"`write {rest}` doesn't say what to write. Use `write FILE: TEXT`.\n\n")
    intro, subject = f"I'll write `{path}`.", f"Writing `{path}`"
    return _perform(intro, subject, "write", path=path, text=text.strip() + "\n")


def _move(rest: str) -> Script:
    path, between, goal = (part.strip() for part in rest.partition(" to "))
    if not between or not path or not goal:
        return _say(f"`move {rest}` doesn't say where to. Use `move FILE to FILE`.\n\n")
    intro = f"I'll move `{path}` to `{goal}`."
    return _perform(intro, f"Moving `{path}`", "move", path=path, to=goal)


def _delete(rest: str) -> Script:
    return _perform(f"I'll delete `{rest}`.", f"Deleting `{rest}`", "delete", path=rest)


def _run(rest: str) -> Script:
    try:
        command = shlex.split(rest)
    except ValueError:
        return _say(f"`{rest}` is not a valid command line.\n\n")
    return _perform(f"I'll run `{rest}`.", f"`{rest}`", "run", command=command)


def _use(rest: str) -> Script:
    name, _, text = rest.partition(" ")
    arguments = _arguments(text.strip())
    if arguments is None:
        return _say(f"`{text}` can't be read as arguments. Use `name=value` or a JSON object.\n\n")
    return _perform(f"I'll call `{name}`.", f"`{name}`", name, **arguments)


def _ask(rest: str) -> Script:
    prompt, _, rest = rest.partition(":")
    options = [each.strip() for each in rest.split(",") if each.strip()]
    field = {"name": "answer", "kind": "choice", "options": options}
    fields: dict[str, Json] = {"fields": [field]} if options else {}
    return _perform("", "The question", "ask_user", message=prompt.strip(), **fields)


def _form(rest: str) -> Script:
    del rest
    fields: list[Json] = [
        {"name": "name", "kind": "text"},
        {"name": "age", "kind": "number", "is_required": False},
        {"name": "agreed", "kind": "yes_no"},
        {"name": "colour", "kind": "choice", "options": ["red", "green"]},
        {"name": "days", "kind": "choices", "options": ["Monday", "Tuesday"]},
    ]
    prompt = "Please fill in this form."
    return _perform("", "The form", "ask_user", message=prompt, fields=fields)


def _open(rest: str) -> Script:
    reason = "A prompt told the demo agent to show you this page."
    return _perform("", "The page", "open_page", url=rest, reason=reason)


def _arguments(text: str) -> dict[str, Json] | None:
    """Return the arguments of a call: a JSON object, or names and values; None if neither."""
    if text.startswith("{"):
        value = _value(text)
        return cast("dict[str, Json]", value) if isinstance(value, dict) else None
    try:
        pairs = [each.partition("=") for each in shlex.split(text)]
    except ValueError:
        return None
    if not all(name and equals for name, equals, _ in pairs):
        return None
    return {name: _value(text) for name, _, text in pairs}


def _value(text: str) -> Json:
    """Return the value of `text` as JSON, or `text` itself if it is none."""
    try:
        value = parse(text.encode(errors="surrogatepass"))
    except ValueError:
        return text
    return value if is_finite(value) else text


def _received(prompt: PromptMessage) -> TextDelta:
    lines = [
        f"- `{each.uri}`" + (", no text" if each.text is None else f", {len(each.text)} characters")
        for each in prompt.attachments
    ]
    for each in prompt.images:
        size = len(each.data) * 3 // 4 - each.data[-2:].count("=")
        lines.append(f"- an image, {each.mime_type}, {size} bytes")
    return TextDelta("\n".join(["You attached:\n", *lines, "\n"]))


_ALONE: Final[dict[str, Callable[[str], Script]]] = {
    "help": lambda _: _say(_HELP),
    "tour": tour,
    "plan": _plan,
    "think": _think,
    "form": _form,
}
"""Commands without arguments."""
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
_COMMAND_WORDS: Final = "|".join([*_ALONE, *_WITH_OBJECT, TOOLS])
_THEN: Final = re.compile(rf"\s+then\s+(?=/?(?:{_COMMAND_WORDS})\b)", re.IGNORECASE)
"""Joins two commands; the word in a sentence does not."""


PIECE: Final = 24
"""Approximate characters of one piece of streamed text."""


class DemoModel:
    """The embedded model."""

    name = "demo"
    takes_images = True
    is_scripted = True
    commands = (
        SlashCommand(
            "tour", "Show each feature once: a thought, a plan, reading, editing, running"
        ),
        SlashCommand("plan", "Show a plan as its steps are completed"),
        SlashCommand("think", "Think aloud before answering", "what to think about"),
        SlashCommand("tools", "List the tools, including those of MCP servers"),
        SlashCommand("help", "Show what the demo agent can do"),
    )

    async def reply(
        self, history: Sequence[HistoryEntry], tools: Sequence[ToolSpec]
    ) -> AsyncIterator[ModelEvent]:
        """Yield what the script of the last prompt yields after the results that are there."""
        last = range(len(history) - 1, -1, -1)
        start = next(at for at in last if isinstance(history[at], PromptMessage))
        prompt = history[start]
        assert isinstance(prompt, PromptMessage)
        answers = [entry for entry in history[start:] if isinstance(entry, ToolResult)]
        earlier = [each for each in history[:start] if not isinstance(each, AssistantMessage)]
        last_one = earlier[-1] if earlier else None
        was_rejected = isinstance(last_one, ToolResult) and last_one.text == REJECTED
        events = script(prompt, tools, was_rejected=was_rejected)
        for event in _next_events(events, answers):
            if isinstance(event, TextDelta | ReasoningDelta):
                for piece in pieces(event.text):
                    yield type(event)(piece)
            else:
                yield event


def _next_events(script: Script, answers: Sequence[ToolResult]) -> list[ModelEvent]:
    """Return what follows the last result, up to and with the next tool call."""
    given = iter(answers)
    answer: ToolResult | None = None
    events: list[ModelEvent] = []
    while True:
        try:
            event = script.send(answer)
        except StopIteration:
            return events
        events.append(event)
        answer = None
        if isinstance(event, ToolUse):
            answer = next(given, None)
            if answer is None:
                return events
            events = []


def pieces(text: str) -> list[str]:
    """Split `text` after spaces and newlines."""
    cut: list[str] = []
    piece = ""
    for word in re.findall(r"\s*\S+\s*|\s+", text):
        piece += word
        if len(piece) >= PIECE:
            cut.append(piece)
            piece = ""
    return [*cut, piece] if piece else cut
