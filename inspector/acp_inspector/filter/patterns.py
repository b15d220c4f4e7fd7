"""Regular expressions with a timeout, which release the GIL while they run.

Otherwise a slow pattern would block the proxy's other direction and signals.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, AnyStr, Final, Generic

from acp_protocol.errors import AcpError
from acp_protocol.safe_regex import PatternError, compile_pattern

TIMEOUT_S: Final = 0.5
"""Seconds to search one text."""
CHARACTERS_PER_S: Final = 2**22
"""A long text gets one more second for this many characters."""
MAX_TIMEOUTS: Final = 3
"""Number of timeouts after which a pattern is not tried any more."""
MAX_CACHED_TEXT: Final = 100
"""Longest text whose result is cached, in characters."""
CACHE_SIZE: Final = 4096
"""Number of cached results."""


class PatternTimeoutError(AcpError):
    """A pattern took too long on a text, so there is no result."""


class BoundedRegex(Generic[AnyStr]):
    """A regular expression whose searches have a timeout."""

    def __init__(
        self, pattern: AnyStr, *, ignores_case: bool = False, timeout: float = TIMEOUT_S
    ) -> None:
        """Compile `pattern`; a search of a short text takes at most `timeout` seconds.

        Raises:
            PatternError: it is invalid.
        """
        self._pattern = compile_pattern(pattern, ignore_case=ignores_case)
        self._timeout = timeout
        self._timeouts = 0
        self._cache: OrderedDict[AnyStr, bool | None] = OrderedDict()

    def expand_empty(self, replacement: AnyStr) -> AnyStr:
        """Expand `replacement` with all groups empty.

        Raises:
            PatternError: it refers to groups that do not exist.
        """
        import regex

        library: Any = regex
        try:
            # The template is only checked when there is a match; the empty branch provides one.
            empty = self._pattern.pattern[:0]
            empty_branch = b"|" if isinstance(empty, bytes) else "|"
            return library.compile(self._pattern.pattern + empty_branch).sub(replacement, empty)
        except (library.error, ValueError, IndexError) as problem:
            raise PatternError(str(problem)) from None

    def is_found_in(self, text: AnyStr) -> bool:
        """Return whether the pattern matches anywhere in `text`; results of short texts are cached.

        Raises:
            PatternTimeoutError: the search takes too long.
        """
        if len(text) > MAX_CACHED_TEXT:
            return bool(self._run(self._pattern.search, text))
        if text in self._cache:
            found = self._cache[text]
        else:
            try:
                found = bool(self._run(self._pattern.search, text))
            except PatternTimeoutError:
                self._store(text, None)
                raise
            self._store(text, found)
        if found is None:
            raise self._timeout_error(text)
        return found

    def _store(self, text: AnyStr, found: bool | None) -> None:
        self._cache[text] = found
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)

    def substitute(self, replacement: AnyStr, text: AnyStr) -> AnyStr:
        r"""Replace all matches in `text`; `\1` in `replacement` is a group.

        Raises:
            PatternTimeoutError: the search takes too long.
        """
        return self._run(self._pattern.sub, replacement, text)

    def _run(self, function: Any, *texts: AnyStr) -> Any:
        if self._timeouts >= MAX_TIMEOUTS:
            raise PatternTimeoutError(
                "its pattern has timed out too often and is not used any more"
            )
        try:
            return function(*texts, timeout=self._timeout_for(texts[-1]), concurrent=True)
        except TimeoutError:
            self._timeouts += 1
            raise self._timeout_error(texts[-1]) from None

    def _timeout_for(self, text: AnyStr) -> float:
        return self._timeout + len(text) / CHARACTERS_PER_S

    def _timeout_error(self, text: AnyStr) -> PatternTimeoutError:
        timeout = self._timeout_for(text)
        return PatternTimeoutError(
            f"its pattern takes longer than {timeout:.1f} s, and counts as not found"
        )
