"""The one place where the versions of the distribution and the built-in schema are written."""

from typing import Final

VERSION: Final = "0.1.0"
SCHEMA_ID: Final = "v1+ce7881d10c85 v2+49e10f8c1935"
"""Version and beginning of the SHA-256 of the published schema that the shapes come from."""
