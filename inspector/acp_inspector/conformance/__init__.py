"""Judges agents and clients against the sentences of the protocol."""

from __future__ import annotations
