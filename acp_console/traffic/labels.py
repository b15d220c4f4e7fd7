"""What the row of a message says between its two lanes: a name, what it touches, how it went."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

from acp_console.wording.methods import FILES, short_method, short_update
from acp_inspector.messages import DecodedFrame
from acp_inspector.views.frame_row import call_summary, result_summary, update_summary
from acp_inspector.views.subjects import NameOf, no_name, request_subject
from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import as_object, get_string, get_text
from acp_protocol.jsonrpc import Json

MAX_TEXT: Final = 200
MAX_BEGUN_WORD: Final = 7
"""Characters of a word that are left out where it would be cut; more of it say something."""
_SPELLED_OUT: Final = re.compile(r"^stopReason |(?<=^exit)Code\b|^selected ")
"""What the result of a short row does without."""
_STATUSES: Final = {"in_progress": "runs", "completed": "done"}
_WITH_SUBJECT: Final = FILES | {"session/request_permission", "terminal/create"}
MIN_ABOUT: Final = 8
"""Columns of what a message touches, at least, before other texts are cut."""


@dataclass(frozen=True, slots=True)
class Label:
    """The parts of the text; each is safe to show."""

    name: str
    """The method, or the kind of the update, and whether it is a response."""
    short: str
    """The same in a word, where there is little room."""
    about: str = ""
    """What it touches: a file, a command, a tool call."""
    rest: str = ""
    """How it went, or what else it says."""
    is_path: bool = False
    """Whether it touches a file."""

    def text(self, width: int, *, is_short: bool = False) -> str:
        """Return the text in at most `width` columns; of a path, the end is kept."""
        name, rest = self.name, self.rest
        if is_short:
            name, rest = self.short, _STATUSES.get(rest) or _SPELLED_OUT.sub("", rest)
            rest = rest.removeprefix(f"{name} ")
        fit = cut_text if is_short else fit_words
        text = _joined(name, self.about, rest)
        if cell_len(text) <= width or not self.about:
            return fit(text, width)
        room = width - cell_len(_joined(name, rest)) - 1
        if room < MIN_ABOUT and rest:
            # How it went counts more; its request says what it touches.
            return fit(_joined(name, rest), width)
        fit_about = fit_path if self.is_path else fit
        return fit(_joined(name, fit_about(self.about, max(room, 1)), rest), width)


def label_of(decoded: DecodedFrame, name_of: NameOf = no_name) -> Label | None:
    """Return what the row of a message says; None for what is no message."""
    method = decoded.method or ""
    match decoded.kind:
        case "request" | "notification":
            update = decoded.update
            label = _update(update, name_of) if update else _call(method, decoded.params, name_of)
        case "result":
            params = None if decoded.request is None else decoded.request.params
            label = _result(method, params, decoded.result, name_of)
        case "error":
            error = decoded.error
            text = "" if error is None else f"{error.code} {error.message}"
            label = Label(f"{method} error", f"{short_method(method)} error", rest=text)
        case _:
            return None
    texts = label.name.strip(), label.short.strip(), label.about, label.rest
    name, short, about, rest = (single_line(each, MAX_TEXT) for each in texts)
    return Label(name, short, about, rest, label.is_path)


def _update(update: dict[str, Json], name_of: NameOf) -> Label:
    name = get_string(update, "sessionUpdate")
    short = short_update(name)
    if name == "session_info_update" and "title" not in update:
        short = "session"
    if name not in {"tool_call", "tool_call_update"}:
        return Label(name, short, rest=update_summary(update))
    call = get_string(update, "toolCallId")
    title = get_string(update, "title") or name_of("call", call)
    if not title:
        short = f"{short} {call}"
    return Label(f"{name} {call}", short, title, get_string(update, "status"))


def _call(method: str, params: Json, name_of: NameOf) -> Label:
    about, is_path = _about(method, params, name_of)
    rest = "" if about else call_summary(method, params)
    return Label(method, short_method(method), about, rest, is_path)


def _result(method: str, params: Json, result: Json, name_of: NameOf) -> Label:
    about, is_path = _about(method, params, name_of)
    if method == "session/prompt":
        # The prompt is far above, and long.
        about = ""
    rest = result_summary(result) or ("" if about else ", ".join(as_object(result)))
    return Label(f"{method} result", f"{short_method(method)} result", about, rest, is_path)


def _about(method: str, params: Json, name_of: NameOf) -> tuple[str, bool]:
    """Return what a call touches, and whether that is a path."""
    if method == "session/prompt":
        return call_summary(method, params), False
    if method in _WITH_SUBJECT or get_text(params, "terminalId") is not None:
        return request_subject(method, params, name_of), method in FILES
    return "", False


def _joined(*texts: str) -> str:
    return " ".join(filter(None, texts))


def fit_path(path: str, width: int) -> str:
    """Return a path that takes at most `width` columns; its last parts are kept."""
    if cell_len(path) <= width:
        return path
    parts = path.split("/")
    for place in range(1, len(parts)):
        shorter = "/".join(["…", *parts[place:]])
        if cell_len(shorter) <= width:
            return shorter
    return cut_text(parts[-1], width)


def cut_text(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns, cut wherever that is."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, max(width - 1, 0)).rstrip() + "…"


def fit_words(text: str, width: int) -> str:
    """Return a text that takes at most `width` columns, cut before a short word if possible."""
    if cell_len(text) <= width:
        return text
    cut = set_cell_size(text, max(width - 1, 0))
    words, _, begun = cut.rpartition(" ")
    is_whole = text[len(cut) : len(cut) + 1] == " "
    return (cut if is_whole or not words or len(begun) > MAX_BEGUN_WORD else words).rstrip() + "…"
