"""The one place in which the version of the distribution is written."""

from typing import Final

VERSION: Final = "0.1.0"
