"""Session modes of version 1, and their relation to config options.

Source: ACP, "Session Modes" and "Session Config Options".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.checks import schema, unique
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import LintSubject, checked_by, details, fix, track
from acp_inspector.lint.rules.config_options import SeenOptions, opened
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

rule = LintSubject("modes", page="session-modes.mdx")

MODE: Final = "mode"
"""The category of the config option that selects the mode."""


UNLISTED: Final = ("continuum",)
"""Dialects that list no modes and have no config options: their only way to change the mode."""


@dataclass(slots=True)
class _Mode:
    """The modes of one session."""

    point: Point
    """Where they were reported."""
    available: set[str] = field(default_factory=set[str])
    current: str | None = None


@dataclass(slots=True)
class _Modes:
    """The modes of every session that has any, and the sessions that were reported to have none."""

    of: dict[str, _Mode] = field(default_factory=dict[str, _Mode])
    without: set[str] = field(default_factory=set[str])


def _mode_fields(context: Context) -> dict[str, Json]:
    return as_object(context.result_object.get("modes"))


@track(on.result(*OPENING))
def _keep_modes(context: Context) -> None:
    session = opened(context)
    modes = context.state.of(_Modes)
    if session is None:
        return
    fields = _mode_fields(context)
    if not fields:
        if session not in modes.of:
            modes.without.add(session)
        return
    current = fields.get("currentModeId")
    modes.without.discard(session)
    modes.of[session] = _Mode(
        context.point,
        {id_ for id_ in _ids(fields) if isinstance(id_, str)},
        current if isinstance(current, str) else None,
    )


@track(on.update("current_mode_update"))
def _keep_mode(context: Context) -> None:
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    current = context.update.get("currentModeId")
    if mode is not None and isinstance(current, str):
        mode.current = current


@track(on.result("session/set_mode"))
def _keep_set_mode(context: Context) -> None:
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    wanted = context.request.params.get("modeId") if context.request is not None else None
    if mode is not None and isinstance(wanted, str):
        mode.current = wanted


def _ids(fields: dict[str, Json]) -> list[Json]:
    return [as_object(each).get("id") for each in as_list(fields.get("availableModes"))]


@rule.error(288, "implied", "client", on.request("session/set_mode"), version=1)
@fix("Offer modes only where a session has some.")
def session_without_modes(context: Context) -> CheckResult:
    """`session/set_mode` only if the session has `modes`."""
    modes = context.state.of(_Modes)
    if context.session_id in modes.without:
        session = context.session
        return context.problem(
            "the session has no modes", session.first if session is not None else None
        )
    return OK if context.session_id in modes.of else None


@rule.error(289, "must", "client", on.request("session/set_mode"), version=1, case="modes.known")
@details(unlike=UNLISTED)
@fix("Set one of the available modes.")
def unknown_mode(context: Context) -> CheckResult:
    """`modeId` is one of `availableModes[].id`."""
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    if mode is None:
        return None
    wanted = context.params.get("modeId")
    if isinstance(wanted, str) and wanted in mode.available:
        return OK
    return context.problem(
        f"{quoted(wanted)} is not a mode of the session", mode.point, at="modeId"
    )


@rule.error(290, "implied", "agent", on.result(*OPENING), version=1)
@fix("Begin in one of the available modes.")
def unknown_current_mode(context: Context) -> CheckResult:
    """`modes.currentModeId` is one of `availableModes[].id`."""
    fields = _mode_fields(context)
    if not fields:
        return None
    current = fields.get("currentModeId")
    if current in _ids(fields):
        return OK
    return context.problem(
        f"the session begins in {quoted(current)}, which is not a mode of it",
        at="modes.currentModeId",
    )


@rule.error(
    291, "schema", "agent", on.update("current_mode_update"), version=1, case="modes.update"
)
@fix("Call it currentModeId.")
def misnamed_mode_id(context: Context) -> CheckResult:
    """`current_mode_update` uses `currentModeId` (not `modeId`)."""
    if "modeId" in context.update and "currentModeId" not in context.update:
        return context.problem(
            "the update says modeId instead of currentModeId", at="currentModeId"
        )
    return OK


@rule.error(
    292, "implied", "agent", on.update("current_mode_update"), version=1, case="modes.update"
)
@details(unlike=UNLISTED)
@fix("Switch to one of the available modes.")
def unknown_reported_mode(context: Context) -> CheckResult:
    """`current_mode_update.currentModeId` is an available mode."""
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    current = context.update.get("currentModeId")
    if mode is None or not isinstance(current, str):
        return None
    if current in mode.available:
        return OK
    return context.problem(
        f"{quoted(current)} is not a mode of the session", mode.point, at="currentModeId"
    )


@rule.warning(309, "should", "agent", on.result("session/prompt"), version=1)
@details(source="v1/session-config-options.mdx")
@fix("Update the mode and its config option together.")
def mode_differs_from_option(context: Context) -> CheckResult:
    """If both `modes` and a `mode` config option exist they change together."""
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    options = context.state.of(SeenOptions).get(context.session_id or "")
    if mode is None or mode.current is None or options is None:
        return None
    for option in options.by_id.values():
        current = option.current
        if option.category == MODE and isinstance(current, str) and current in mode.available:
            if current == mode.current:
                return OK
            return context.problem(
                f"the mode is {quoted(mode.current)}, the option for it has {quoted(current)}",
                mode.point,
                options.point,
                topic=f"{context.session_id} {mode.current} {current}",
            )
    return None


@rule.info(310, "should", "client", on.request("session/set_mode"), version=1)
@details(source="v1/session-config-options.mdx", unlike=UNLISTED)
@fix("Use session/set_config_option.")
def set_mode_despite_options(context: Context) -> CheckResult:
    """With `configOptions` present the Client does not use `session/set_mode`."""
    options = context.state.of(SeenOptions).get(context.session_id or "")
    if options is None or not options.by_id:
        return OK
    return context.problem("the session has config options", options.point, path="method")


@rule.error(293, "schema", "agent", on.result(*OPENING), version=1)
@fix("Give each mode an id of its own.")
@checked_by(unique, at="modes.availableModes.*.id")
def duplicate_mode() -> None:
    """Mode ids are unique."""


@rule.warning(311, "must", "agent", on.result(*OPENING), version=2, source="v2/migration.mdx")
@fix("Report modes by a config option.")
@checked_by(schema, at="modes", kinds="member")
def modes_in_v2() -> None:
    """No `modes` field in session responses."""
