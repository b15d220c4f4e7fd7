"""The sets of words of ACP that the code asks about: what opens a session, what ends a call.

`words.py` and the tables of methods have every word of each version, made from the schemas. What
words mean to the tools stands here, for all versions; a test looks up each word in the schemas.
"""

from __future__ import annotations

from typing import Final

CREATING: Final = ("session/new", "session/fork")
"""Requests that create a session; its id comes with the response."""
RESTORING: Final = ("session/load", "session/resume")
"""Requests that open a session of before; some replay it."""
OPENING: Final = (*CREATING, *RESTORING)
"""Requests that open a session."""
CANCELLING: Final = ("$/cancel_request", "session/cancel", "tool_call/cancel", "terminal/cancel")
"""Messages of a client that end what the agent is doing."""
