"""Regular expressions that cannot stop anybody: they let others work, and give up in time.

Otherwise neither a proxy's other direction nor a signal would get through.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, AnyStr, Final, Generic

from acp_protocol.errors import AcpError
from acp_protocol.safe_regex import PatternError, compile_pattern

TIMEOUT_S: Final = 0.5
"""Seconds that one text may take."""
CHARACTERS_PER_S: Final = 2**22
"""Characters for which a long text gets a second more."""
MAX_TIMEOUTS: Final = 3
"""Texts that may take too long until a pattern is not tried any more."""
MAX_CACHED_TEXT: Final = 100
"""Characters of a text that is remembered with what came of it."""
CACHE_SIZE: Final = 4096
"""Texts that are remembered."""


class PatternTimeoutError(AcpError):
    """A pattern took too long on a text; what it would have found is not known."""


class BoundedRegex(Generic[AnyStr]):
    """A regular expression that is tried on a text for a bounded time."""

    def __init__(self, pattern: AnyStr, *, ignores_case: bool = False) -> None:
        """Compile it.

        Raises:
            PatternError: it is none.
        """
        self._pattern = compile_pattern(pattern, ignore_case=ignores_case)
        self._late = 0
        self._known: OrderedDict[AnyStr, bool | None] = OrderedDict()

    def expand_empty(self, replacement: AnyStr) -> AnyStr:
        """Return what `replacement` puts where all groups are empty.

        Raises:
            PatternError: it names groups that do not exist.
        """
        import regex

        library: Any = regex
        try:
            # What a template asks for only shows where something is found.
            empty = self._pattern.pattern[:0]
            bar = b"|" if isinstance(empty, bytes) else "|"
            return library.compile(self._pattern.pattern + bar).sub(replacement, empty)
        except (library.error, ValueError, IndexError) as problem:
            raise PatternError(str(problem)) from None

    def is_found_in(self, text: AnyStr) -> bool:
        """Tell whether it is found in `text`; of short texts that is remembered.

        Raises:
            PatternTimeoutError: that takes too long.
        """
        if len(text) > MAX_CACHED_TEXT:
            return bool(self._tried(self._pattern.search, text))
        if text in self._known:
            found = self._known[text]
        else:
            try:
                found = bool(self._tried(self._pattern.search, text))
            except PatternTimeoutError:
                self._remember(text, None)
                raise
            self._remember(text, found)
        if found is None:
            raise PatternTimeoutError(_late(len(text)))
        return found

    def _remember(self, text: AnyStr, found: bool | None) -> None:
        self._known[text] = found
        if len(self._known) > CACHE_SIZE:
            self._known.popitem(last=False)

    def substitute(self, replacement: AnyStr, text: AnyStr) -> AnyStr:
        r"""Return `text` with `replacement` in the place of what is found; `\1` is a group.

        Raises:
            PatternTimeoutError: that takes too long.
        """
        return self._tried(self._pattern.sub, replacement, text)

    def _tried(self, deed: Any, *texts: AnyStr) -> Any:
        if self._late >= MAX_TIMEOUTS:
            raise PatternTimeoutError(
                "its pattern has taken too long again and again: it is given up"
            )
        try:
            return deed(*texts, timeout=_patience(len(texts[-1])), concurrent=True)
        except TimeoutError:
            self._late += 1
            raise PatternTimeoutError(_late(len(texts[-1]))) from None


def _patience(length: int) -> float:
    return TIMEOUT_S + length / CHARACTERS_PER_S


def _late(length: int) -> str:
    return f"its pattern takes longer than {_patience(length):.1f} s, and counts as not found"
