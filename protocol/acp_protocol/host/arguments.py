"""Arguments of commands whose start may import no more than argparse."""

from __future__ import annotations

import argparse
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, Final, NoReturn

from acp_protocol.host.did_you_mean import did_you_mean
from acp_protocol.host.sanitize import error_text

_MISTYPED: Final = re.compile(r"(?:unrecognized arguments: |invalid choice: ')([^\s']+)")
_SIZES: Final = {"": 1, "b": 1, "kb": 1024, "mb": 1024**2, "gb": 1024**3}
_INDENT: Final = "  "
_KEPT: Final = "\b\n"
"""Begins a paragraph whose lines stay as they are."""
_UNITS: Final = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class HelpFormatter(argparse.HelpFormatter):
    """Lays a help out as click does, so that all commands look alike."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28)

    def add_usage(
        self,
        usage: str | None,
        actions: Iterable[argparse.Action],
        groups: Iterable[Any],
        prefix: str | None = None,
    ) -> None:
        """Add the usage; where it is not given, without a list of all options."""
        if usage is None and prefix is None:
            actions = list(actions)
            names = (str(each.metavar or each.dest) for each in actions if not each.option_strings)
            usage = " ".join(("%(prog)s [OPTIONS]", *names))
        super().add_usage(usage, actions, groups, "Usage: " if prefix is None else prefix)

    def start_section(self, heading: str | None) -> None:
        super().start_section(heading and _sentence(heading))

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs, but for those whose first line is the mark of click for that."""
        fill = super()._fill_text
        return "\n\n".join(
            textwrap.indent(each.removeprefix(_KEPT), _INDENT)
            if each.startswith(_KEPT)
            else fill(each, width, indent or _INDENT)
            for each in text.split("\n\n")
        )

    def _expand_help(self, action: argparse.Action) -> str:
        text = super()._expand_help(action)
        return f"{_sentence(text)}{'' if text.endswith('.') else '.'}"


def _sentence(text: str) -> str:
    """Return a text with a capital, unless it begins with a name, such as `acp-agent`."""
    word = text.partition(" ")[0]
    is_word = word.rstrip(",;").isalpha() and word.islower()
    return text[:1].upper() + text[1:] if is_word else text


class VersionAction(argparse.Action):
    """Prints the version, as one line."""

    def __init__(self, option_strings: Sequence[str], dest: str, *, version: str) -> None:
        super().__init__(option_strings, dest, nargs=0, help="show the version and exit")
        self.version = version

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        sys.stdout.write(f"{self.version}\n")
        parser.exit()


class ArgumentParser(argparse.ArgumentParser):
    """Reports an error in a line or two, with what was probably meant, not with all options."""

    def __init__(
        self,
        *args: Any,
        description: str = "",
        examples: Sequence[str] = (),
        topics: Sequence[str] = (),
        **settings: Any,
    ) -> None:
        if examples:
            description = "\n\n".join(
                (description, "\n".join((_KEPT + examples[0], *examples[1:])))
            )
        super().__init__(
            *args,
            description=description,
            formatter_class=HelpFormatter,
            add_help=False,
            **settings,
        )
        self.add_argument("-h", "--help", action="help", help="show this message and exit")
        self.topics = topics
        """The pages that say more; no line is said of them if there is none."""

    def format_help(self) -> str:
        """Return the help, which ends with the pages that say more."""
        shown = super().format_help()
        commands = ", ".join(f"acp-console help {each}" for each in self.topics)
        return f"{shown}\nMore: {commands}\n" if commands else shown

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
