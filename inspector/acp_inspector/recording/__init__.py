"""Journals on disk: the format, writing that never stops the traffic, reading that never gives up."""

__all__ = ["format", "reader", "writer"]
