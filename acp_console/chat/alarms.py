"""Alarms: what the user must know of the session, such as an agent that does not ask."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from acp_console.agents.session_options import SessionOption
from acp_console.wording.modes import Unasked
from acp_inspector.session.items import Notice
from acp_protocol.host.sanitize import single_line

UNASKED: Final[Mapping[Unasked, str]] = {
    "anything": "does not ask",
    "edits": "edits without asking",
    "some": "decides itself when to ask",
}
"""What an agent does without asking, in words."""


class Alarm(Notice):
    """A notice that must not be overlooked."""

    __slots__ = ()


def unasked_alarm(option: SessionOption) -> Alarm:
    name = option.category if option.category in {"mode", "model"} else option.title.lower()
    shown = f"{single_line(name, 24)} {single_line(option.current_name, 24)}"
    text = f"{shown}: this agent does not ask before it acts"
    return Alarm(f"alarm {option.id} {option.current}", text)
