"""Decodes and encodes JSON exactly as the standard library does, with orjson where it agrees.

orjson takes a while to import, so the first values do without it. The result does not depend on
which library was used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeAlias

Json: TypeAlias = Any
"""JSON that has not been read yet."""

VALUES_BEFORE_ORJSON: Final = 100
"""Values after which importing orjson is worthwhile."""
MAX_SAFE_BRACKETS: Final = 500
"""Brackets up to which both libraries accept any nesting."""
_LONG_NUMBER: Final = b"0" * 19
"""The digits of a number that orjson might round, with every digit replaced by 0."""
_MINUS: Final = ord("-")
_POINT: Final = ord(".")


def parse(raw: bytes) -> Json:
    """Return the value of the JSON text `raw`.

    Raises:
        ValueError: `raw` is no JSON, has NaN or Infinity, or is nested too deeply.
    """
    loads = _orjson.loads
    # Both libraries agree if no number is long and nesting is not deep.
    if (
        loads is not None
        and raw.translate(_ZEROS).rfind(_LONG_NUMBER) < 0
        and (
            len(raw) <= MAX_SAFE_BRACKETS or raw.count(b"[") + raw.count(b"{") <= MAX_SAFE_BRACKETS
        )
    ):
        try:
            return loads(raw)
        except ValueError:
            # No JSON, or what orjson refuses: a lone surrogate, a number out of range.
            pass
    return _parse_slowly(raw)


def encode(value: Json) -> bytes:
    """Return `value` as compact JSON on one line, UTF-8, without the newline.

    Raises:
        ValueError: `value` contains NaN or an infinity.
        TypeError: `value` contains an object that JSON does not have. An enumeration or a UUID may
            be written as its value.
    """
    dumps = _orjson.dumps
    if dumps is not None:
        try:
            raw = dumps(value, None, _orjson.options)
        except TypeError:
            # The standard library takes large integers, keys that are not strings, deep nesting.
            pass
        else:
            # orjson writes NaN as null, and small numbers in its own way.
            if (
                raw.rfind(b"null") < 0
                and (_MINUS not in raw or raw.rfind(b"e-") < 0)
                and (_POINT not in raw or raw.rfind(b".0000") < 0)
            ):
                # A copy, because the buffer of orjson is kilobytes larger than its content.
                return raw.join(_ENDS)
    return _encode_slowly(value)


class _OrJson:
    """The functions of orjson, once it is imported."""

    __slots__ = ("calls", "dumps", "loads", "options")

    def __init__(self) -> None:
        self.calls = 0
        self.options = 0
        self.loads: Callable[[bytes], Json] | None = None
        self.dumps: Callable[[Json, None, int], bytes] | None = None

    def count(self) -> None:
        """Count a value that was handled without orjson; import it after enough of them."""
        self.calls += 1
        if self.loads is not None or self.calls < VALUES_BEFORE_ORJSON:
            return
        import orjson

        # Refuse the types that orjson takes and the standard library does not.
        self.options = (
            orjson.OPT_PASSTHROUGH_DATACLASS
            | orjson.OPT_PASSTHROUGH_DATETIME
            | orjson.OPT_PASSTHROUGH_SUBCLASS
        )
        self.loads, self.dumps = orjson.loads, orjson.dumps


def _parse_slowly(raw: bytes) -> Json:
    _orjson.count()
    try:
        return _DECODER.decode(raw.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        reason = f"invalid UTF-8 at byte {error.start}"
    except json.JSONDecodeError as error:
        reason = f"no JSON: {error.msg.lower()} at character {error.pos}"
    except RecursionError:
        reason = "no JSON that can be read: nested too deeply"
    except _NotANumberError as error:
        reason = str(error)
    except ValueError:
        reason = "no JSON that can be read: a number is too long"
    raise ValueError(reason)


def _encode_slowly(value: Json) -> bytes:
    _orjson.count()
    try:
        return _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form, only an escaped one.
        return _ESCAPING_ENCODER.encode(value).encode("ascii")


class _NotANumberError(ValueError):
    """The JSON text contains NaN or an infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise _NotANumberError(f"no JSON: {name} is not a number")


_orjson: Final = _OrJson()
_ENDS: Final = (b"", b"")
_ZEROS: Final = bytes.maketrans(b"123456789", b"000000000")
_DECODER: Final = json.JSONDecoder(parse_constant=_refuse_constant)
_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)
_ESCAPING_ENCODER: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
