"""Rules for ACP traffic, and the engine that checks traffic against them."""

from acp_inspector.lint.engine import Finding, Linter, LintReport, lint

__all__ = ["Finding", "LintReport", "Linter", "lint"]
