"""argparse with errors of a line or two, for commands whose start may import nothing more."""

from __future__ import annotations

import argparse
import re
from typing import Final, NoReturn

from acp_protocol.host.sanitize import error_text

_MISTYPED: Final = re.compile(r"(?:unrecognized arguments: |invalid choice: ')([^\s']+)")


class ArgumentParser(argparse.ArgumentParser):
    """Names the option or command that was probably meant, instead of all there are."""

    def error(self, message: str) -> NoReturn:
        hint = f"{self.prog} --help shows how to use it"
        if (mistyped := _MISTYPED.search(message)) is not None:
            from difflib import get_close_matches

            known = re.findall(r"--[a-z][\w-]*", self.format_help())
            known += re.findall(r"[a-z][\w-]*", message[mistyped.end() :])
            if close := get_close_matches(mistyped[1], known, 1):
                hint = f"did you mean {close[0]}?"
        text = message.removeprefix("argument ")
        text = text.replace("unrecognized arguments: -", "unknown option -")
        text = text.replace("unrecognized arguments:", "unexpected argument")
        self.exit(2, error_text(text, hint))
