"""JSON: bytes to values and back, exactly.

The standard library has the last word on what JSON is, what it says and how it is spelled. A faster
library stands in for it wherever it is known to say the same: it takes a while to import, so a few
frames go without, and nobody can tell from the outcome which of them was at work.
"""

from __future__ import annotations

import json
import json.encoder
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, TypeAlias

Json: TypeAlias = Any
"""JSON that has not been read yet."""

PATIENCE: Final = 100
"""Values after which the fast library is worth its import."""
SHALLOW: Final = 500
"""Brackets up to which nesting is no matter of which library reads."""
LONG_NUMBER: Final = b"0" * 19
"""The digits of a number that the fast library might round, each of them made a zero."""
MINUS: Final = ord("-")
POINT: Final = ord(".")


def parse(raw: bytes) -> Json:
    """Return the JSON value that `raw` spells.

    Stricter than the standard library, which takes NaN and Infinity, and calmer: nesting that is
    too deep and numbers that are too long are errors like any other.

    Raises:
        ValueError: `raw` is no JSON; the message says why in a few words.
    """
    loads = _fast.loads
    # Every library reads the same where numbers are not long and nesting is not deep.
    if (
        loads is not None
        and raw.translate(_ZEROS).rfind(LONG_NUMBER) < 0
        and (len(raw) <= SHALLOW or raw.count(b"[") + raw.count(b"{") <= SHALLOW)
    ):
        try:
            return loads(raw)
        except ValueError:
            # No JSON, or some that it does not read: a lone surrogate, a number out of its range.
            pass
    return _parse_slowly(raw)


def encode(value: Json) -> bytes:
    """Return `value` as compact JSON on one line, UTF-8, without the newline.

    Raises:
        ValueError: `value` holds NaN or an infinity, for which JSON has no spelling.
        TypeError: `value` holds what is no JSON, as far as that is told apart: an enumeration or
            a UUID may be written as its value.
    """
    dumps = _fast.dumps
    if dumps is not None:
        try:
            raw = dumps(value, None, _fast.options)
        except TypeError:
            # What it refuses may still be large integers, keys that are no strings, deep nesting.
            pass
        else:
            # Null may have been NaN, and of small numbers there is more than one spelling.
            if (
                raw.rfind(b"null") < 0
                and (MINUS not in raw or raw.rfind(b"e-") < 0)
                and (POINT not in raw or raw.rfind(b".0000") < 0)
            ):
                # A copy, because the original holds on to kilobytes more than it says.
                return raw.join(_ENDS)
    return _encode_slowly(value)


class _Fast:
    """What the fast library does, once it is there."""

    __slots__ = ("calls", "dumps", "loads", "options")

    def __init__(self) -> None:
        self.calls = 0
        self.options = 0
        self.loads: Callable[[bytes], Json] | None = None
        self.dumps: Callable[[Json, None, int], bytes] | None = None

    def count(self) -> None:
        """Take note of a value that had to do without; import what the next ones have."""
        if self.loads is None:
            self.calls += 1
            if self.calls >= PATIENCE:
                self.load()

    def load(self) -> None:
        import orjson

        # Its own ideas of what could be written in JSON are none of ours.
        self.options = (
            orjson.OPT_PASSTHROUGH_DATACLASS
            | orjson.OPT_PASSTHROUGH_DATETIME
            | orjson.OPT_PASSTHROUGH_SUBCLASS
        )
        self.loads, self.dumps = orjson.loads, orjson.dumps


def _parse_slowly(raw: bytes) -> Json:
    _fast.count()
    try:
        text = raw.decode()
        value, end = _DECODER.raw_decode(text)
        if end == len(text):
            return value
    except (ValueError, RecursionError):
        pass
    # White space around it, a byte order mark, or no JSON: the slowest way knows.
    return _parse_any(raw)


def _parse_any(raw: bytes) -> Json:
    try:
        return _DECODER.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as problem:
        reason = f"invalid UTF-8 at byte {problem.start}"
    except json.JSONDecodeError as problem:
        reason = f"no JSON: {problem.msg.lower()} at character {problem.pos}"
    except RecursionError:
        reason = "no JSON that can be read: nested too deeply"
    except ValueError as problem:
        is_ours = isinstance(problem, _NoNumberError)
        reason = str(problem) if is_ours else "no JSON that can be read: a number is too long"
    raise ValueError(reason)


def _encode_slowly(value: Json) -> bytes:
    _fast.count()
    try:
        return "".join(_CHUNKS(value, 0)).encode() if _CHUNKS else _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, only an escaped one.
        return _ESCAPING_ENCODER.encode(value).encode("ascii")


class _NoNumberError(ValueError):
    """JSON text holds NaN or an infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NoNumberError(f"no JSON: {name} is no number")


def _compiled(encoder: json.JSONEncoder) -> Callable[[Json, int], Iterable[str]] | None:
    """Return what `encoder` makes anew for every value, made once; None where Python lacks it."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return None
    spell = json.encoder.encode_basestring
    separators = encoder.key_separator, encoder.item_separator
    return make(None, encoder.default, spell, None, *separators, False, False, encoder.allow_nan)


_fast: Final = _Fast()
_ENDS: Final = (b"", b"")
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_CHUNKS: Final = _compiled(_ENCODER)
_ESCAPING_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
