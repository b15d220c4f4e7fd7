"""The versions of the distribution and of the built-in schema; nothing else defines them."""

from typing import Final

VERSION: Final = "0.1.0"
SCHEMA_ID: Final = "v1+ce7881d10c85 v2+49e10f8c1935"
"""Version and start of the SHA-256 of the published schemas that the types are made from."""
SCHEMA_RELEASE: Final = "version 1: probably 1.29.1; version 2: an alpha of about that date"
"""The releases of these schemas: the SDK that carries them (TypeScript 2.4.0) does not say."""
SCHEMA_RELEASED: Final = "2026-11-02"
"""The day on which that SDK was published."""
NEWEST_RELEASE: Final = "version 1: 1.34.0; version 2: 2.0.0-alpha.17"
"""The newest releases of the schemas that are known to exist; see also `schema.newer`."""
