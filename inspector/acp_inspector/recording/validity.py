"""The byte order mark."""

from __future__ import annotations

from typing import Final

BOM: Final = b"\xef\xbb\xbf"
"""Stands before the text in files of some systems, and never before JSON."""
