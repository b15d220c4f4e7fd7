"""Half characters, as JSON can spell them: strict clients and services refuse such a frame."""

from __future__ import annotations

import re
from typing import Final, cast

from acp_protocol.jsonrpc import Json

_HALF: Final = re.compile("[\ud800-\udfff]")
_INSTEAD: Final = "\ufffd"


def whole(value: Json) -> Json:
    """Return `value` with U+FFFD in place of each half character, in names of members, too."""
    if isinstance(value, str):
        return _HALF.sub(_INSTEAD, value)
    if isinstance(value, dict):
        members = cast("dict[str, Json]", value)
        return {_HALF.sub(_INSTEAD, name): whole(each) for name, each in members.items()}
    if isinstance(value, list):
        return [whole(each) for each in cast("list[Json]", value)]
    return value
