"""The checks, a module for each subject; each one that stands here is part of the catalogue."""

from __future__ import annotations

from pkgutil import iter_modules
from typing import Final

__all__ = ["MODULES"]

MODULES: Final = tuple(sorted(module.name for module in iter_modules(__path__)))
"""The names of the modules of checks."""
