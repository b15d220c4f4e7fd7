"""An MCP server as a table of a configuration file.

Error messages never repeat a value: it may be a secret.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self, cast
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator

from acp_protocol.json_values import get_text
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.mcp_ids import ID_RULE, is_server_id


def _as_table(raw: Any) -> Any:
    """Return names and values, which on the wire are a list of both; the last of a name counts."""
    if isinstance(raw, list):
        pairs = cast("list[Json]", raw)
        return {get_text(each, "name"): get_text(each, "value") for each in pairs}
    return raw or {}


def _check_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in {"http", "https"} and bool(parts.hostname)
    except ValueError:
        is_web = False
    if not is_web:
        raise ValueError("must be an http or https address")
    return url


def _check_id(id_: str) -> str:
    if not is_server_id(id_):
        raise ValueError(ID_RULE)
    return id_


def _without(not_allowed: str, *, may_be_empty: bool = True) -> AfterValidator:
    def check(value: str) -> str:
        if not value and not may_be_empty:
            raise ValueError("must not be empty")
        if any(each in value for each in not_allowed):
            raise ValueError(
                f"must not contain {', '.join(_SPELLED[each] for each in not_allowed)}"
            )
        return value

    return AfterValidator(check)


_SPELLED: Final = {"\0": "NUL", "\r": "CR", "\n": "LF", "=": "="}
_Text = Annotated[str, _without("\0", may_be_empty=False)]
_Argument = Annotated[str, _without("\0")]
_Name = Annotated[str, _without("\0\r\n=", may_be_empty=False)]
_Value = Annotated[str, _without("\0\r\n")]
_Pairs = Annotated[dict[_Name, _Value], BeforeValidator(_as_table)]
ServerId = Annotated[str, AfterValidator(_check_id)]


class ServerTable(BaseModel):
    """A program or a server at an address, as a configuration declares it."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    type: Literal["http", "sse", "stdio"] | None = None
    command: _Text | None = None
    args: list[_Argument] | None = None
    env: _Pairs = {}
    url: Annotated[_Text, AfterValidator(_check_url)] | None = None
    headers: _Pairs = {}

    @model_validator(mode="after")
    def _check_whole(self) -> Self:
        if self.command is not None and self.url is not None:
            raise ValueError("has command and url; one of them has to go")
        needed = "url" if self.type in {"http", "sse"} or self.url is not None else "command"
        if getattr(self, needed) is None:
            raise ValueError(f"{needed} is missing")
        return self
