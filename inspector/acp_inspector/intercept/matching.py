"""Which frames are meant: the border to the filter language."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from acp_inspector.journal import Frame

Matcher: TypeAlias = Callable[[Frame], bool]
"""Tells whether a frame is meant; called from the writers of both directions."""
