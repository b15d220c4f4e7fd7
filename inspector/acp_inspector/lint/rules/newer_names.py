"""Names that the protocol has gained since the built-in schemas were published.

Source: `acp_protocol.schema.newer`.
"""

from __future__ import annotations

from collections.abc import Iterator

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, Problem
from acp_inspector.lint.registry import LintSubject, fix
from acp_inspector.lint.rules.config_options import each_option
from acp_inspector.lint.schema_errors import SchemaSubject, newer_members, schema_subject
from acp_protocol.schema.newer import METHODS, UPDATES, feature_of_value

rule = LintSubject("extensibility", page="rfds")


@rule.info(523, "heuristic", "sender", on.call(), on.result())
@fix("Nothing is wrong; check it with a newer version.")
def newer_name(context: Context) -> CheckResult:
    """A name that is newer than the built-in schema is known, and what belongs to it is not
    checked.
    """
    found: list[Problem] = []
    for path, feature in _features(context):
        text = f"{feature}: newer than the built-in schema, and not checked"
        found += context.problem(text, path=path, severity="info", topic=feature)
    return tuple(found) or OK


def _features(context: Context) -> Iterator[tuple[str, str]]:
    """Yield the path of each newer name, and its feature."""
    if context.kind != "result" and context.method in METHODS:
        yield "method", METHODS[context.method]
    newer = UPDATES.get(context.version or 1, {})
    if context.variant in newer:
        yield "params.update.sessionUpdate", newer[context.variant]
    what = schema_subject(context)
    if isinstance(what, SchemaSubject):
        yield from newer_members(context.method, what).items()
    for place, option in each_option(context):
        path = f"{place}.category"
        if feature := feature_of_value(context.version or 1, path, option.get("category")):
            yield path, feature
