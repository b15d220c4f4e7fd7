"""Session modes of version 1, and their relation to config options.

Source: ACP, "Session Modes" and "Session Config Options".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint import on
from acp_inspector.lint.context import OK, CheckResult, Context, quoted
from acp_inspector.lint.registry import check, track
from acp_inspector.lint.rules.config_options import SeenOptions, opened
from acp_inspector.lint.state import Point
from acp_protocol.json_values import as_list, as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import OPENING

MODE: Final = "mode"
"""The category of the config option that selects the mode."""


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


@check("ACP-L288", on.request("session/set_mode"))
def only_sessions_with_modes_are_switched(context: Context) -> CheckResult:
    modes = context.state.of(_Modes)
    if context.session_id in modes.without:
        session = context.session
        return context.problem(
            "the session has no modes", session.first if session is not None else None
        )
    return OK if context.session_id in modes.of else None


@check("ACP-L289", on.request("session/set_mode"))
def modes_that_are_set_exist(context: Context) -> CheckResult:
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    if mode is None:
        return None
    wanted = context.params.get("modeId")
    if isinstance(wanted, str) and wanted in mode.available:
        return OK
    return context.problem(
        f"{quoted(wanted)} is not a mode of the session", mode.point, at="modeId"
    )


@check("ACP-L290", on.result(*OPENING))
def the_first_mode_exists(context: Context) -> CheckResult:
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


@check("ACP-L291", on.update("current_mode_update"))
def updates_name_the_current_mode(context: Context) -> CheckResult:
    if "modeId" in context.update and "currentModeId" not in context.update:
        return context.problem(
            "the update says modeId instead of currentModeId", at="currentModeId"
        )
    return OK


@check("ACP-L292", on.update("current_mode_update"))
def reported_modes_exist(context: Context) -> CheckResult:
    mode = context.state.of(_Modes).of.get(context.session_id or "")
    current = context.update.get("currentModeId")
    if mode is None or not isinstance(current, str):
        return None
    if current in mode.available:
        return OK
    return context.problem(
        f"{quoted(current)} is not a mode of the session", mode.point, at="currentModeId"
    )


@check("ACP-L293", on.result(*OPENING))
def mode_ids_are_unique(context: Context) -> CheckResult:
    seen: set[str] = set()
    ids = _ids(_mode_fields(context))
    for place, id_ in enumerate(ids):
        if isinstance(id_, str):
            if id_ in seen:
                return context.problem(
                    f"two modes have the id {quoted(id_)}", at=f"modes.availableModes.{place}.id"
                )
            seen.add(id_)
    return OK if ids else None


@check("ACP-L309", on.result("session/prompt"))
def mode_and_option_agree(context: Context) -> CheckResult:
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


@check("ACP-L310", on.request("session/set_mode"))
def options_go_before_modes(context: Context) -> CheckResult:
    options = context.state.of(SeenOptions).get(context.session_id or "")
    if options is None or not options.by_id:
        return OK
    return context.problem("the session has config options", options.point, path="method")


@check("ACP-L311", on.result(*OPENING))
def version_2_has_no_modes(context: Context) -> CheckResult:
    if "modes" in context.result_object:
        return context.problem("version 2 has no modes", at="modes")
    return OK
