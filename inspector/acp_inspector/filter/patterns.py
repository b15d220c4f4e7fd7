"""Regular expressions that cannot stop anybody: they let others work, and give up in time.

Python's own keep the interpreter for as long as they take, which a few characters make for ever:
neither a proxy's other direction nor a signal would get through. The library is imported when a
pattern is used, not before.
"""

from __future__ import annotations

import warnings
from typing import Any, AnyStr, Final, Generic

from acp_protocol.errors import AcpError

PATIENCE: Final = 0.5
"""Seconds that one text may take."""
PACE: Final = 2**22
"""Characters for which a long text gets a second more."""
CHANCES: Final = 3
"""Texts that may take too long until a pattern is not tried any more."""


class PatternError(AcpError):
    """This is no pattern."""


class SlowPatternError(AcpError):
    """A pattern took too long on a text; what it would have found is not known."""


class Bounded(Generic[AnyStr]):
    """A regular expression that is tried on a text for a bounded time."""

    def __init__(self, pattern: AnyStr, *, ignores_case: bool = False) -> None:
        """Compile it.

        Raises:
            PatternError: it is none.
        """
        import regex

        library: Any = regex
        self._late = 0
        try:
            with warnings.catch_warnings():
                # What may be read otherwise one day is no business of who types a filter.
                warnings.simplefilter("ignore")
                flags = library.IGNORECASE if ignores_case else 0
                self._pattern = library.compile(pattern, flags)
        except (library.error, ValueError, OverflowError, RecursionError) as problem:
            raise PatternError(str(problem)) from None

    def check(self, replacement: AnyStr) -> AnyStr:
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

    def is_in(self, text: AnyStr) -> bool:
        """Tell whether it is found in `text`.

        Raises:
            SlowPatternError: that takes too long.
        """
        return bool(self._tried(self._pattern.search, text))

    def put(self, replacement: AnyStr, text: AnyStr) -> AnyStr:
        r"""Return `text` with `replacement` in the place of what is found; `\1` is a group.

        Raises:
            SlowPatternError: that takes too long.
        """
        return self._tried(self._pattern.sub, replacement, text)

    def _tried(self, deed: Any, *texts: AnyStr) -> Any:
        if self._late >= CHANCES:
            raise SlowPatternError("its pattern has taken too long again and again: it is given up")
        seconds = PATIENCE + len(texts[-1]) / PACE
        try:
            return deed(*texts, timeout=seconds, concurrent=True)
        except TimeoutError:
            self._late += 1
            sentence = f"its pattern takes longer than {seconds:.1f} s, and counts as not found"
            raise SlowPatternError(sentence) from None
