"""The prompts that the user has sent, kept between runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from acp_console.paths import FileWriteError
from acp_console.state_file import StateFile
from acp_protocol.host.state import state_directory

if TYPE_CHECKING:
    from pydantic import TypeAdapter

MAX_PROMPTS: Final = 2_000
"""Prompts that are kept, at most."""
MAX_PROMPT_CHARS: Final = 20_000
"""Characters of a prompt that is kept, at most."""
MAX_CHARS: Final = 2**20
"""Characters of all prompts together, at most."""


@dataclass(frozen=True, slots=True)
class _Prompt:
    text: str
    cwd: str


@cache
def _adapter() -> TypeAdapter[_Prompt]:
    # Imported late: it takes time, and the screen is there without it.
    from pydantic import TypeAdapter

    return TypeAdapter(_Prompt)


class PromptHistory:
    """Prompts, those of the current directory first. Errors of the file are ignored.

    Args:
        path: the file; None: that of the user.
        is_on: whether prompts are kept between runs, and those of earlier runs are read.
        max_prompts: prompts to keep; the oldest go first.
        max_prompt_chars: longer prompts are not kept.
        max_chars: characters of all of them together.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        is_on: bool = True,
        max_prompts: int = MAX_PROMPTS,
        max_prompt_chars: int = MAX_PROMPT_CHARS,
        max_chars: int = MAX_CHARS,
    ) -> None:
        self._file = StateFile(
            path or state_directory() / "prompts", self._parse, _dump, lambda: self._prompts
        )
        self._is_on = is_on
        self._max_prompts = max_prompts
        self._max_prompt_chars = max_prompt_chars
        self._max_chars = max_chars
        self._prompts: list[_Prompt] = []
        """Oldest first; each text once for a directory."""

    def add(self, text: str, cwd: Path) -> None:
        """Keep a prompt that was sent, as the newest."""
        place = str(cwd).encode(errors="replace").decode()
        prompt = _Prompt(text=text.rstrip().encode(errors="replace").decode(), cwd=place)
        if not prompt.text.strip() or len(text) > self._max_prompt_chars:
            return

        def change(kept: list[_Prompt]) -> list[_Prompt]:
            self._prompts = self._bounded([*(each for each in kept if each != prompt), prompt])
            return self._prompts

        if not self._is_on:
            change(self._prompts)
            return
        with suppress(FileWriteError):
            self._file.change(change)

    def prompts(self, cwd: Path, words: str = "") -> Sequence[str]:
        """Return the prompts that contain all of `words`, the newest first.

        Those that were sent in the directory `cwd` come before all others.
        """
        if self._is_on:
            self._prompts = self._file.read()
        place = str(cwd).encode(errors="replace").decode()
        wanted = words.casefold().split()
        newest = self._prompts[::-1]
        ordered = sorted(newest, key=lambda each: each.cwd != place)
        texts = dict.fromkeys(each.text for each in ordered)
        return [text for text in texts if all(word in text.casefold() for word in wanted)]

    def _parse(self, content: bytes) -> list[_Prompt]:
        found: list[_Prompt] = []
        for line in content.splitlines():
            with suppress(ValueError):
                found.append(_adapter().validate_json(line))
        return self._bounded(found)

    def _bounded(self, prompts: Iterable[_Prompt]) -> list[_Prompt]:
        kept: list[_Prompt] = []
        chars = 0
        for prompt in reversed([*prompts][-self._max_prompts :]):
            chars += len(prompt.text)
            if chars > self._max_chars:
                break
            kept.append(prompt)
        return kept[::-1]


def _dump(prompts: list[_Prompt]) -> str:
    return "".join(f"{json.dumps(asdict(each))}\n" for each in prompts)
