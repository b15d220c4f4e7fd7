"""Rules that traffic has to keep, and the engine that holds it against them."""

from acp_inspector.lint.engine import Finding, Linter, LintReport, lint

__all__ = ["Finding", "LintReport", "Linter", "lint"]
