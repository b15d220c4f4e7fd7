"""What a tool call has come to, in few words: how it ended, how long it took, what it gave.

Only what was sent counts: a number that the agent did not send is not guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from acp_console.wording.values import fenced, format_seconds, plural
from acp_inspector.session.items import ToolCallItem
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_list, as_object, get, get_int, get_string
from acp_protocol.jsonrpc import Json

SUMMARY_LINES: Final = 30
"""Last lines of an output in which a program says how many of its checks failed."""
MIN_S: Final = 0.001
"""An agent that sends begin and end of a call in less time sends them in hindsight."""
_COUNTED: Final = re.compile(r"(?<![\w.])([1-9]\d{0,6}) (failed|failing|failures?|errors?)\b")
_NAMES: Final = {
    "read": {"read", "reading", "view", "open", "cat"},
    "edit": {"edit", "editing", "write", "writing", "create", "update", "patch"},
    "delete": {"delete", "deleting", "remove", "rm"},
    "move": {"move", "moving", "rename", "mv"},
    "search": {"search", "searching", "find", "finding", "grep", "glob", "list", "ls"},
    "execute": {"run", "running", "execute", "executing", "bash", "shell"},
    "think": {"think", "thinking"},
    "fetch": {"fetch", "fetching", "download"},
}
"""The words with which a title says its kind itself."""


@dataclass(frozen=True, slots=True)
class CallResult:
    """What is known of the end of a call; all of it is safe to show."""

    failures: tuple[str, ...] = ()
    """How it failed, as in ("1 failed", "exit 1")."""
    took: str = ""
    lines: str = ""

    @property
    def parts(self) -> list[str]:
        return [each for each in (*self.failures, self.took, self.lines) if each]


def call_result(call: ToolCallItem) -> CallResult:
    """Return how a call ended; nothing while it runs, or if it was not done."""
    if not call.is_over or call.status in {"rejected", "cancelled"}:
        return CallResult()
    output = output_text(call)
    code, signal = _exit(call)
    failures: list[str] = []
    if signal:
        failures.append(f"ended by {single_line(signal, 20)}")
    elif code:
        failures.append(f"exit {code}")
    if (failures or call.status == "failed") and (counted := _failed(output)):
        failures.insert(0, counted)
    duration = call.facts.duration
    count = len(output.rstrip("\n").split("\n")) if output.strip() else 0
    return CallResult(
        tuple(failures),
        "" if duration is None or duration < MIN_S else format_seconds(duration, is_rough=True),
        plural(count, "line") if count else "",
    )


def kind_word(call: ToolCallItem) -> str:
    """Return the kind of a call, unless its title begins with a word for it."""
    facts = call.facts
    first = re.split(r"[\s_:(]", facts.title.strip().lower(), maxsplit=1)[0]
    is_in_title = facts.kind == "other" or first in _NAMES.get(facts.kind, ())
    return "" if is_in_title else single_line(facts.kind, 20)


def output_text(call: ToolCallItem) -> str:
    """Return the text that a call gave: of its terminals and content, or else its raw output."""
    texts = [terminal.newest_text for terminal in call.terminals.values()]
    for block in call.content:
        text = get_string(get(block, "content"), "text")
        code = fenced(text)
        texts.append(text if code is None else code[1])
    found = "\n".join(each.rstrip("\n") for each in texts if each)
    has_shown = bool(found) or any(get_string(each, "type") == "diff" for each in call.content)
    return found if has_shown else _raw_text(call.facts.raw_output)


def _raw_text(output: Json) -> str:
    """Return the text of a raw output in the forms that agents send."""
    texts: list[str] = []
    # Lists may be nested more deeply than calls.
    rest = [output]
    while rest:
        value = rest.pop()
        if isinstance(value, list):
            rest += reversed(as_list(value))
        else:
            texts.append(value if isinstance(value, str) else _member_text(value))
    return "\n".join(filter(None, texts))


def _member_text(output: Json) -> str:
    """Return the text in an object that is a raw output."""
    for name in ("output", "stdout", "text", "result", "content"):
        value = get(output, name)
        if isinstance(value, str):
            return value
    parts = as_list(get(output, "content"))
    return "\n".join(filter(None, (get_string(each, "text") for each in parts)))


def _exit(call: ToolCallItem) -> tuple[int | None, str]:
    """Return exit code and signal of the command that a call ran."""
    for terminal in reversed(call.terminals.values()):
        if terminal.facts.is_over:
            return terminal.facts.exit_code, terminal.facts.signal or ""
    facts = call.facts
    if facts.exit_code is not None or facts.signal:
        return facts.exit_code, facts.signal or ""
    output = as_object(facts.raw_output)
    for name in ("exitCode", "exit_code"):
        if (code := get_int(output, name)) is not None:
            return code, get_string(output, "signal")
    return get_int(get(output, "metadata"), "exit"), ""


def _failed(output: str) -> str:
    """Return what a program counts as failed in the end of its output, as "1 failed"."""
    lines = output.rstrip().rsplit("\n", SUMMARY_LINES)[-SUMMARY_LINES:]
    for line in reversed(lines):
        if (found := _COUNTED.search(line)) is not None:
            return found[0]
    return ""
