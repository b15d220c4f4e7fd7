"""Finds secrets in recordings, and replaces them without changing anything else.

Messages are never re-encoded: secrets are cut out of the original bytes.
"""

__all__: list[str] = []
