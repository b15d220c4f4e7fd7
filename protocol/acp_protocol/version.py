"""The versions of the distribution and of the built-in schema; nothing else defines them."""

from typing import Final

VERSION: Final = "0.1.0"
SCHEMA_ID: Final = "v1+ce7881d10c85 v2+49e10f8c1935"
"""Version and start of the SHA-256 of the published schemas that the types are made from."""
