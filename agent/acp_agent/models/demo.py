"""A model that needs no network and no key, and does what it is told.

A prompt is one order or several, one a line or joined by "then". Each order is a short script of
beats; a beat says something and may call a tool, and the next beat sees what came of it. The same
prompts on the same files always give the same events.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final, TypeAlias

from acp_agent.models.model import (
    CallTool,
    HistoryEntry,
    ModelEvent,
    Say,
    ShowPlan,
    Step,
    Think,
    ToolAnswered,
    UserSaid,
)

Beat: TypeAlias = Callable[[ToolAnswered | None], list[ModelEvent]]
"""What the model does next, given what the last tool answered."""

PIECE: Final = 24
"""Characters that one piece of streamed text is about as long as."""
SHOWN_LINES: Final = 8
TOUR_FILE: Final = "acp-tour.txt"

COMMANDS: Final[tuple[tuple[str, str, str | None], ...]] = (
    ("tour", "Show each feature once: thoughts, a plan, reading, editing, running", None),
    ("plan", "Show a plan whose steps get done", None),
    ("think", "Think aloud before answering", "what to think about"),
    ("help", "What the demo agent can do", None),
)
"""Name, description and input hint of the slash commands."""

HELP: Final = """\
I am the **demo agent**: no network, no key, yet what I do is real. Tell me, one order a line:

| order | what I do |
|---|---|
| `read FILE` | read a file of this directory |
| `search WORD` | look for a word in all files |
| `edit FILE: old => new` | replace text, after asking you |
| `edit FILE` | add a line to its end |
| `write FILE: text` | give a file a new text |
| `delete FILE` | delete a file, after asking you |
| `run COMMAND` | run a program, after asking you |
| `plan`, `think`, `/tour` | show what a plan, a thought, and everything looks like |
"""


class DemoModel:
    """The embedded model."""

    name = "demo"

    async def reply(self, history: Sequence[HistoryEntry]) -> AsyncIterator[ModelEvent]:
        """Yield the next beat of the script that the last prompt stands for."""
        start = max(at for at, entry in enumerate(history) if isinstance(entry, UserSaid))
        prompt = history[start]
        assert isinstance(prompt, UserSaid)
        answers = [entry for entry in history[start:] if isinstance(entry, ToolAnswered)]
        for event in _in_pieces(_next_events(script(prompt.text), answers)):
            yield event


def _next_events(beats: list[Beat], answers: list[ToolAnswered]) -> list[ModelEvent]:
    """Return what follows on the last answer, up to and with the next tool call."""
    given = iter(answers)
    missing = len(answers)
    last: ToolAnswered | None = None
    events: list[ModelEvent] = []
    for beat in beats:
        now = beat(last)
        events += now
        if any(isinstance(event, CallTool) for event in now):
            if not missing:
                break
            last = next(given)
            missing -= 1
            events = []
    return events


def script(prompt: str) -> list[Beat]:
    """Return the beats that `prompt` stands for."""
    orders = [
        order.strip() for line in prompt.splitlines() for order in re.split(r"\s+then\s+", line)
    ]
    beats = [beat for order in orders if order for beat in _order(order)]
    return beats or [_say(HELP)]


def _order(order: str) -> list[Beat]:
    word, _, rest = order.partition(" ")
    rest = rest.strip()
    match word.lower().lstrip("/"):
        case "help":
            return [_say(HELP)]
        case "tour":
            return _tour()
        case "plan":
            return [_plan(0), _plan(1), _plan(2), _plan(3), _say("The plan is done.\n\n")]
        case "think":
            return [_think(rest or "nothing in particular"), _say("I have thought about it.\n\n")]
        case verb if rest and verb in _ORDERS:
            return _ORDERS[verb](rest)
        case _:
            return [_say(f"You said:\n\n> {order}\n\nI only do what I know. {HELP}")]


def _read(rest: str) -> list[Beat]:
    return [_call(f"I read `{rest}`.\n\n", "read", path=rest), _tell(f"`{rest}`")]


def _search(rest: str) -> list[Beat]:
    word, _, place = rest.partition(" in ")
    return [
        _call(f"I look for `{word}`.\n\n", "search", pattern=word, path=place or "."),
        _tell(f"The search for `{word}`"),
    ]


def _edit(rest: str) -> list[Beat]:
    path, _, change = rest.partition(":")
    old, arrow, new = (part.strip() for part in change.partition("=>"))
    if not arrow:
        added = change.strip() or "This line was added by the demo agent."
        call = _call(
            f"I add a line to `{path}`.\n\n", "edit", path=path, old=None, new=added + "\n"
        )
    else:
        call = _call(f"I edit `{path}`.\n\n", "edit", path=path, old=old, new=new)
    return [call, _tell(f"The edit of `{path}`")]


def _write(rest: str) -> list[Beat]:
    path, _, text = rest.partition(":")
    call = _call(f"I write `{path}`.\n\n", "write", path=path, text=text.strip() + "\n")
    return [call, _tell(f"Writing `{path}`")]


def _delete(rest: str) -> list[Beat]:
    return [_call(f"I delete `{rest}`.\n\n", "delete", path=rest), _tell(f"Deleting `{rest}`")]


def _run(rest: str) -> list[Beat]:
    try:
        command = shlex.split(rest)
    except ValueError:
        return [_say(f"`{rest}` is no command line that I can take apart.\n\n")]
    return [_call(f"I run `{rest}`.\n\n", "run", command=command), _tell(f"`{rest}`")]


_ORDERS: Final[dict[str, Callable[[str], list[Beat]]]] = {
    "read": _read,
    "search": _search,
    "edit": _edit,
    "write": _write,
    "delete": _delete,
    "run": _run,
}


def _tour() -> list[Beat]:
    text = "The tour of the demo agent.\nThis line will be changed.\n"
    return [
        _think("I show each feature of the protocol once, and leave the directory as it was."),
        _say(
            "# The tour\n\nText streams as **Markdown**, with `code`, lists and tables:\n\n"
            "```python\nprint('hello')\n```\n\n| feature | shown |\n|---|---|\n| text | yes |\n\n"
        ),
        _plan(0),
        _call(
            "First I write a file, for which I have to ask.\n\n", "write", path=TOUR_FILE, text=text
        ),
        _call("Then I read it.\n\n", "read", path=TOUR_FILE),
        _plan(1),
        _call("I look for a word.\n\n", "search", pattern="changed", path="."),
        _call("I change a line.\n\n", "edit", path=TOUR_FILE, old="will be", new="was"),
        _plan(2),
        _call("I run a program.\n\n", "run", command=["cat", TOUR_FILE]),
        _call("Last I clean up.\n\n", "delete", path=TOUR_FILE),
        _plan(3),
        _say("That was the tour.\n\n"),
    ]


def _say(text: str) -> Beat:
    return lambda _: [Say(text)]


def _think(text: str) -> Beat:
    return lambda _: [Think(f"Let me think about {text}" if len(text) < 40 else text)]


def _call(words: str, tool: str, /, **arguments: object) -> Beat:
    return lambda _: [Say(words), CallTool(tool, arguments)]


def _plan(done: int) -> Beat:
    names = ("Look around", "Make the change", "Check the result")
    steps = tuple(
        Step(name, "completed" if at < done else "in_progress" if at == done else "pending")
        for at, name in enumerate(names)
    )
    return lambda _: [ShowPlan(steps)]


def _tell(subject: str) -> Beat:
    """Say what came of the last tool: the beginning of its answer."""

    def beat(answer: ToolAnswered | None) -> list[ModelEvent]:
        if answer is None:
            return []
        if answer.is_failed:
            return [Say(f"{subject} failed: {answer.text}\n\n")]
        lines = answer.text.splitlines()
        shown = "\n".join(lines[:SHOWN_LINES])
        more = f"\n… {len(lines) - SHOWN_LINES} more" if len(lines) > SHOWN_LINES else ""
        count = "1 line" if len(lines) == 1 else f"{len(lines)} lines"
        return [
            Say(
                f"{subject} gave {count}:\n\n```\n{shown}{more}\n```\n\n"
                if lines
                else f"{subject} is done.\n\n"
            )
        ]

    return beat


def _in_pieces(events: list[ModelEvent]) -> list[ModelEvent]:
    """Return `events` with their texts cut into pieces, as a model streams them."""
    pieces: list[ModelEvent] = []
    for event in events:
        if isinstance(event, Say | Think):
            kind = type(event)
            pieces += [kind(text) for text in _pieces(event.text)]
        else:
            pieces.append(event)
    return pieces


def _pieces(text: str) -> list[str]:
    """Cut `text` behind spaces and newlines; joined again it is the same."""
    pieces: list[str] = []
    piece = ""
    for word in re.findall(r"\S*\s*", text):
        piece += word
        if len(piece) >= PIECE:
            pieces.append(piece)
            piece = ""
    return [*pieces, piece] if piece else pieces
