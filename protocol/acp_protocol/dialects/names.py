"""The names of all ways of speaking, for who offers a choice and needs nothing more."""

from __future__ import annotations

from typing import Final

BATCHES: Final = "v2-batch"
"""The draft of version 2 that had batches: no other words, only a setting of the connection."""

SPOKEN: Final = ("continuum", "acpex", "openoxide", BATCHES)
"""Every name by which somebody may ask for a way of speaking."""
