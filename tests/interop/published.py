"""The published schemas, and whether what was said fits them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, cast

from jsonschema import Draft202012Validator

from acp_inspector.recording.reader import Recording

INITIALIZE = "initialize"


def misfits(recording: Recording, shared: Path) -> list[str]:
    """Return what does not fit in a recording, on either side, held against all that is published.

    What is not stable is in that, and allowed only to an agent that was started with --unstable.
    """
    frames = [(frame.side, json.loads(frame.data)) for frame in recording.frames]
    is_unstable = "--unstable" in recording.header.command
    answers = [frame["result"] for _, frame in frames if "protocolVersion" in _result(frame)]
    version: int = answers[0]["protocolVersion"] if answers else 1
    return misfits_in(frames, str(shared), version, is_unstable=is_unstable)


def misfits_in(
    frames: list[tuple[str, Any]], folder: str, version: int, *, is_unstable: bool
) -> list[str]:
    """Return what does not fit in frames, each with its side."""
    asked: dict[tuple[str, str], str] = {}
    found: list[str] = []
    for side, frame in frames:
        method = frame.get("method")
        if method is not None:
            kind = "Request" if "id" in frame else "Notification"
            if "id" in frame:
                asked[side, repr(frame["id"])] = method
            found += _complaints(folder, version, is_unstable, method, kind, frame.get("params"))
        elif "result" in frame:
            method = asked[_other(side), repr(frame["id"])]
            found += _complaints(folder, version, is_unstable, method, "Response", frame["result"])
    return found


def _complaints(
    folder: str, version: int, is_unstable: bool, method: str, kind: str, said: Any
) -> list[str]:
    validators = _validators(folder, version, is_unstable)
    if (validator := validators.get((method, kind))) is None:
        return [] if method.startswith("_") else [f"{method}: no {kind} of that name is published"]
    return [f"{method} {kind}: {each.message[:300]}" for each in validator.iter_errors(said)]


@cache
def _validators(
    folder: str, version: int, is_unstable: bool
) -> Mapping[tuple[str, str], Draft202012Validator]:
    name = "schema.unstable.json" if is_unstable else "schema.json"
    schema = json.loads((Path(folder) / f"acp-schema/v{version}" / name).read_text())
    validators: dict[tuple[str, str], Draft202012Validator] = {}
    for shape, members in schema["$defs"].items():
        kinds = [each for each in ("Request", "Response", "Notification") if shape.endswith(each)]
        if "x-method" in members and kinds:
            whole = {"$defs": schema["$defs"], "$ref": f"#/$defs/{shape}"}
            validators[members["x-method"], kinds[0]] = Draft202012Validator(whole)
    return validators


def _other(side: str) -> str:
    return "agent" if side == "client" else "client"


def _result(frame: Mapping[str, Any]) -> Mapping[str, Any]:
    result: Any = frame.get("result")
    return cast("dict[str, Any]", result) if isinstance(result, dict) else {}
