"""Arguments of commands whose start may import no more than argparse."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.host.sanitize import error_text

_MISTYPED: Final = re.compile(r"(?:unrecognized arguments: |invalid choice: ')([^\s']+)")
_SIZES: Final = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class ArgumentParser(argparse.ArgumentParser):
    """Reports an error in a line or two, with what was probably meant, not with all options."""

    def __init__(
        self, *args: Any, examples: Sequence[str] = (), docs: str = "", **settings: Any
    ) -> None:
        super().__init__(*args, **settings)
        self.examples = examples
        self.docs = docs
        """The pages that say more; no line is said of them if it is empty."""

    def format_help(self) -> str:
        """Return the help, which ends with the examples and the pages that say more."""
        parts = [super().format_help()]
        if self.examples:
            parts.append("".join(f"  {each}\n" for each in ("examples:", *self.examples))[2:])
        if self.docs:
            parts.append(f"More: {self.docs}\n")
        return "\n".join(parts)

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} --help shows how to use it"
        if (mistyped := _MISTYPED.search(message)) is not None:
            known = re.findall(r"--[a-z][\w-]*", self.format_help())
            known += re.findall(r"[a-z][\w-]*", message[mistyped.end() :])
            hint = did_you_mean(mistyped[1], known, hint)
        text = message.removeprefix("argument ")
        text = text.replace("unrecognized arguments: -", "unknown option -")
        text = text.replace("unrecognized arguments:", "unexpected argument")
        self.exit(2, error_text(text, hint))


def parse_duration(text: str) -> float:
    """Return a duration such as `90`, `500ms`, `5m` or `1.5h` in seconds.

    Raises:
        ValueError: it is none, or not above 0.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([a-z]*)", text.strip().lower(), re.ASCII)
    if found is None or found[2] not in _UNITS or not float(found[1]):
        raise ValueError(f"{text!r} is not a duration above 0, such as 90, 500ms, 5m or 1h")
    return float(found[1]) * _UNITS[found[2]]


def parse_size(text: str) -> int:
    """Return a size such as `500`, `64kb` or `1.5gb` in bytes.

    Raises:
        ValueError: it is none, or not above 0.
    """
    found = re.fullmatch(r"(\d{1,15}(?:\.\d+)?) ?([a-z]*)", text.strip().lower(), re.ASCII)
    if found is None or found[2] not in _SIZES:
        raise ValueError(f"{text} is not a size; units are b, kb, mb, gb")
    size = int(float(found[1]) * _SIZES[found[2]])
    if not size:
        raise ValueError(f"{text} is less than a byte")
    return size
