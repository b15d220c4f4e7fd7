"""The checks, one module for each subject. Every module in this package is loaded."""

from __future__ import annotations

from pkgutil import iter_modules
from typing import Final

__all__ = ["MODULES"]

MODULES: Final = tuple(sorted(module.name for module in iter_modules(__path__)))
"""The names of the modules of checks."""
