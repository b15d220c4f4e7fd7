"""Session modes of version 1, and how they go together with config options.

Source: ACP, "Session Modes" and "Session Config Options".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from acp_inspector.lint.moment import FINE, Found, Moment, entries, members, quoted
from acp_inspector.lint.registry import asks, check, learns, results, updates
from acp_inspector.lint.rules.config_options import OPENERS, Options, opened
from acp_inspector.lint.state import Point
from acp_protocol.jsonrpc import Json

MODE: Final = "mode"
"""The category of a config option that stands for the modes."""


@dataclass(slots=True)
class _Mode:
    """The modes of one session."""

    point: Point
    """Where they were told."""
    available: set[str] = field(default_factory=set[str])
    current: str | None = None


@dataclass(slots=True)
class _Modes:
    """The modes of every session that has any, and the sessions that were told to have none."""

    of: dict[str, _Mode] = field(default_factory=dict[str, _Mode])
    without: set[str] = field(default_factory=set[str])


def _told(moment: Moment) -> dict[str, Json]:
    return members(moment.result_object.get("modes"))


@learns(results(*OPENERS))
def _keep_modes(moment: Moment) -> None:
    session = opened(moment)
    modes = moment.state.of(_Modes)
    if session is None:
        return
    told = _told(moment)
    if not told:
        if session not in modes.of:
            modes.without.add(session)
        return
    current = told.get("currentModeId")
    modes.without.discard(session)
    modes.of[session] = _Mode(
        moment.point,
        {id_ for id_ in _ids(told) if isinstance(id_, str)},
        current if isinstance(current, str) else None,
    )


@learns(updates("current_mode_update"))
def _keep_mode(moment: Moment) -> None:
    mode = moment.state.of(_Modes).of.get(moment.session_id or "")
    current = moment.update.get("currentModeId")
    if mode is not None and isinstance(current, str):
        mode.current = current


@learns(results("session/set_mode"))
def _keep_set_mode(moment: Moment) -> None:
    mode = moment.state.of(_Modes).of.get(moment.session_id or "")
    wanted = moment.ask.params.get("modeId") if moment.ask is not None else None
    if mode is not None and isinstance(wanted, str):
        mode.current = wanted


def _ids(told: dict[str, Json]) -> list[Json]:
    return [members(each).get("id") for each in entries(told.get("availableModes"))]


@check("ACP-L288", asks("session/set_mode"), fix="Offer modes only where a session has some.")
def only_sessions_with_modes_are_switched(moment: Moment) -> Found:
    """Tell of a mode that is set in a session without modes."""
    modes = moment.state.of(_Modes)
    if moment.session_id in modes.without:
        session = moment.session
        return moment.problem(
            "the session has no modes", session.first if session is not None else None
        )
    return FINE if moment.session_id in modes.of else None


@check("ACP-L289", asks("session/set_mode"), fix="Set one of the available modes.")
def modes_that_are_set_exist(moment: Moment) -> Found:
    """Tell of a mode that was not offered."""
    mode = moment.state.of(_Modes).of.get(moment.session_id or "")
    if mode is None:
        return None
    wanted = moment.params.get("modeId")
    if isinstance(wanted, str) and wanted in mode.available:
        return FINE
    return moment.problem(
        f"{quoted(wanted)} is no mode of the session", mode.point, path="params.modeId"
    )


@check("ACP-L290", results(*OPENERS), fix="Begin in one of the available modes.")
def the_first_mode_exists(moment: Moment) -> Found:
    """Tell of a session that begins in a mode it does not have."""
    told = _told(moment)
    if not told:
        return None
    current = told.get("currentModeId")
    if current in _ids(told):
        return FINE
    return moment.problem(
        f"the session begins in {quoted(current)}, which is no mode of it",
        path="result.modes.currentModeId",
    )


@check("ACP-L291", updates("current_mode_update"), fix="Call it currentModeId.")
def updates_name_the_current_mode(moment: Moment) -> Found:
    """Tell of the request's name in the update."""
    if "modeId" in moment.update and "currentModeId" not in moment.update:
        return moment.problem(
            "the update says modeId instead of currentModeId", path="params.update.currentModeId"
        )
    return FINE


@check("ACP-L292", updates("current_mode_update"), fix="Switch to one of the available modes.")
def modes_that_are_told_exist(moment: Moment) -> Found:
    """Tell of a mode that the session does not have."""
    mode = moment.state.of(_Modes).of.get(moment.session_id or "")
    current = moment.update.get("currentModeId")
    if mode is None or not isinstance(current, str):
        return None
    if current in mode.available:
        return FINE
    return moment.problem(
        f"{quoted(current)} is no mode of the session",
        mode.point,
        path="params.update.currentModeId",
    )


@check("ACP-L293", results(*OPENERS), fix="Give each mode an id of its own.")
def modes_are_told_apart(moment: Moment) -> Found:
    """Tell of ids that two modes share."""
    seen: set[str] = set()
    ids = _ids(_told(moment))
    for place, id_ in enumerate(ids):
        if isinstance(id_, str):
            if id_ in seen:
                return moment.problem(
                    f"two modes have the id {quoted(id_)}",
                    path=f"result.modes.availableModes.{place}.id",
                )
            seen.add(id_)
    return FINE if ids else None


@check(
    "ACP-L309",
    results("session/prompt"),
    fix="Update the mode and the config option that stands for it together.",
)
def mode_and_option_agree(moment: Moment) -> Found:
    """Tell of a mode that the config option for modes does not show, once a turn is over."""
    mode = moment.state.of(_Modes).of.get(moment.session_id or "")
    options = moment.state.of(Options).of.get(moment.session_id or "")
    if mode is None or mode.current is None or options is None:
        return None
    for option in options.by_id.values():
        current = option.current
        if option.category == MODE and isinstance(current, str) and current in mode.available:
            if current == mode.current:
                return FINE
            return moment.problem(
                f"the mode is {quoted(mode.current)}, the option for it says {quoted(current)}",
                mode.point,
                options.point,
            )
    return None


@check("ACP-L310", asks("session/set_mode"), fix="Use session/set_config_option.")
def options_go_before_modes(moment: Moment) -> Found:
    """Tell of a client that sets a mode where there are config options."""
    options = moment.state.of(Options).of.get(moment.session_id or "")
    if options is None or not options.by_id:
        return FINE
    return moment.problem("the session has config options", options.point, path="method")


@check("ACP-L311", results(*OPENERS), fix="Tell of modes by a config option.")
def version_2_has_no_modes(moment: Moment) -> Found:
    """Tell of modes where there are none any more."""
    if "modes" in moment.result_object:
        return moment.problem("version 2 has no modes", path="result.modes")
    return FINE
