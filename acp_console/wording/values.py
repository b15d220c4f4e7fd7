"""Formats single values, the same on the command line and on screens."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from acp_protocol.host.sanitize import single_line
from acp_protocol.json_values import get, get_string
from acp_protocol.jsonrpc import Json, message_at_end

OUTPUT_VERSION: Final = 1
"""Version of the JSON output of all commands."""
CELL_WIDTH: Final = 60
"""Characters of untrusted text in a table, at most."""
STRAY_WIDTH: Final = 80
"""Characters of a quoted line that is no message, at most."""
_FENCED: Final = re.compile(r"(`{3,}+|~{3,}+)([^\n`]*)\n(?:(.*)\n)?[ \t]*\1\s*", re.DOTALL)
_ARROWS: Final = {"client": "→", "agent": "←"}


def cell_text(text: str) -> str:
    return single_line(text, CELL_WIDTH)


def arrow(side: str | None) -> str:
    return _ARROWS.get(side or "", "·")


def sender(side: str | None) -> str:
    """Return a side with the arrow that leads from it: the client is on the left."""
    return f"{arrow(side)} agent" if side == "agent" else f"{side or ''} {arrow(side)}".lstrip()


def fenced(text: str) -> tuple[str, str] | None:
    """Return language and code of a text that is one fenced block; None for other texts."""
    found = _FENCED.fullmatch(text)
    if found is None or f"\n{found[1]}" in f"\n{(code := found[3] or '')}":
        return None
    return found[2].strip(), code


def format_number(count: float, digits: int = 0) -> str:
    """Return a number with a space between thousands."""
    return f"{count:,.{digits}f}".replace(",", " ")


def format_tokens(count: float) -> str:
    """Return a number of tokens in few characters: "850", "2.1k", "76k", "1.2M"."""
    if count >= 1_000_000:
        return f"{count / 1_000_000:.1f}M"
    if count < 1000:
        return f"{count:.0f}"
    return f"{count / 1000:.{1 if count < 9_950 else 0}f}k"


def format_cost(cost: Json) -> str:
    """Return a cost as the protocol writes it; empty if it has no amount."""
    amount, currency = get(cost, "amount"), get_string(cost, "currency")
    if not isinstance(amount, int | float):
        return ""
    if currency in {"USD", ""}:
        return f"${amount:.2f}"
    return f"{amount:.2f} {single_line(currency, 5)}"


def plural(count: int, word: str) -> str:
    """Return a count with its word: "1 frame", "2 frames"."""
    return f"{format_number(count)} {word}" if count == 1 else f"{format_number(count)} {word}s"


def stray_line_text(data: bytes) -> str:
    """Return a line that is no message as a quotation, and what is known about it."""
    quoted = single_line(data.decode(errors="replace"), STRAY_WIDTH)
    about = _about_stray_line(data)
    return f"{quoted} ({about})" if about else quoted


def _about_stray_line(data: bytes) -> str:
    if message_at_end(data):
        return "ends in a whole message"
    if data.strip() in {b"{", b"["}:
        return "a message has to be on one line"
    try:
        data.decode()
    except UnicodeDecodeError:
        return "not UTF-8"
    return ""


def format_seconds(value: float | None, *, is_rough: bool = False) -> str:
    """Return a duration in ms or s, from a minute on as h:mm:ss; empty for None.

    In three digits, or with `is_rough` as people say it: "31 ms", "3.1 s".
    """
    if value is None:
        return ""
    size = abs(value)
    if size < 0.9995:
        return f"{value * 1000:.{1 if size < 0.09995 and not is_rough else 0}f} ms"
    if size < 59.95:
        return f"{value:.{2 if size < 9.995 and not is_rough else 1}f} s"
    return _hours(value)


def format_clock(seconds: float) -> str:
    """Return whole seconds as a clock shows them: "0:41", "1:02:03"."""
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def format_offset(seconds: float, width: int) -> str:
    """Return the time since the beginning in at most `width` columns, as exact as they allow.

    In seconds below a minute, then as m:ss, and as h:mm:ss from an hour on.
    """
    for digits in (3, 2, 1):
        total = round(seconds, digits)
        if total >= 3600:
            text = f"{_hours(total // 1)}{f'{total % 1:.{digits}f}'[1:]}"
        elif total >= 60:
            text = f"{int(total // 60)}:{total % 60:0{digits + 3}.{digits}f}"
        else:
            text = f"{total:.{digits}f}"
        if len(text) <= width:
            return text
    return _hours(seconds)


def _hours(seconds: float) -> str:
    minutes, rest = divmod(int(abs(seconds) + 0.5), 60)
    sign = "-" if seconds < 0 else ""
    return f"{sign}{minutes // 60}:{minutes % 60:02}:{rest:02}"


def decoded_size(data: str) -> int:
    """Return how many bytes a text in base64 encodes."""
    return len(data.rstrip("=")) * 3 // 4


def format_size(count: int, digits: int = 1) -> str:
    """Return bytes in B, kB or MB."""
    if count < 10_000:
        return f"{count} B"
    if count < 10 * 1024**2:
        return f"{count / 1024:.{digits}f} kB"
    return f"{count / 1024**2:.{digits}f} MB"


def below_home(path: Path) -> str:
    """Return a path with `~` for the user's directory."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


def ascii_json(value: Json) -> str:
    """Return `value` as JSON on one line, in ASCII only: it contains no terminal escapes."""
    # DEL is the one such character that json leaves as it is.
    return json.dumps(value, separators=(",", ":")).replace("\x7f", "\\u007f")
