"""Settings as they are shown: as TOML with where each value comes from, or as JSON.

What may be a secret is never shown. Only what stands in tables of MCP servers may be one: for all
else a variable is named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from acp_agent.config.files import Setting
from acp_agent.config.keys import BY_PATH, KEYS, MODEL_KEYS, OTHERS
from acp_agent.config.layers import DEFAULT, Layers
from acp_protocol.jsonrpc import Json

FORMAT: Final = 1
"""The version of the JSON."""
HIDDEN: Final = "(hidden)"
SHORT: Final = 16
"""Characters below which a piece of a path is no key."""
_REFERENCE: Final = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")
_TELLING: Final = re.compile(r"(?i)-.*(token|key|secret|passw|auth|credential)")
_KEY_LIKE: Final = re.compile(r"(sk|pk|gh[a-z]|xox[a-z]|glpat|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{8,}")
_SCHEMES: Final = frozenset({"", "basic", "bearer", "token"})
"""Words that stand before a secret, and are none."""
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]+")
_INPUTS: Final = frozenset({"model.service"})
"""Keys that end up in others."""


def as_json(layers: Layers) -> str:
    """Return all settings as JSON."""
    settings: dict[str, Json] = {
        path: {"value": value, "from": origin} for path, value, origin in _settings(layers)
    }
    settings[OTHERS] = [
        {
            key.path.removeprefix("model."): {
                "value": _written(key.path, each.value),
                "from": each.origin,
            }
            for key in MODEL_KEYS
            if (each := other.get(key.path)) is not None
        }
        for other in layers.others
    ]
    whole = {
        "format": FORMAT,
        "file": str(layers.file) if layers.file else None,
        "settings": settings,
    }
    return json.dumps(whole, indent=2, ensure_ascii=True)


def as_toml(layers: Layers) -> str:
    """Return all settings as TOML, which could be read again but for what is hidden."""
    lines = [f"# {layers.file or 'no file is read'}"]
    room = ""
    later: list[str] = []
    for path, value, origin in _settings(layers):
        table, _, name = path.rpartition(".")
        if path == "mcp.servers":
            later += _server_lines(cast("Mapping[str, Json]", value), origin)
            continue
        if path == "permissions.rules" and value:
            later += _rule_lines(cast("list[Mapping[str, Json]]", value), origin)
            continue
        if table != room:
            lines += ["", f"[{table}]"]
            room = table
        lines.append(_line(name, value, origin))
    for other in layers.others:
        lines += ["", f"[[{OTHERS}]]"]
        for path, setting in sorted(other.items()):
            name = path.removeprefix("model.")
            lines.append(_line(name, _written(path, setting.value), setting.origin))
    return "\n".join([*lines, *later]) + "\n"


def toml(value: Json) -> str:
    """Return `value` as TOML writes it on one line."""
    match value:
        case str():
            return _quoted(value)
        case list():
            return f"[{', '.join(toml(each) for each in cast('list[Json]', value))}]"
        case dict():
            pairs = cast("dict[str, Json]", value).items()
            inner = ", ".join(f"{_key(name)} = {toml(each)}" for name, each in pairs)
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            return json.dumps(value)


def written(path: str, value: Any) -> Json:
    """Return a value as a file would hold it; None where nothing is set."""
    kind = BY_PATH[path].kind
    # Of two kinds, None is a value like others.
    is_set = value is not None or path in {"sessions.idle_timeout", "sessions.storage"}
    return kind.write(value) if is_set else None


def _written(path: str, value: Any) -> Json:
    told = written(path, value)
    return _hushed(cast("Mapping[str, Json]", told)) if path == "mcp.servers" else told


def _settings(layers: Layers) -> Iterator[tuple[str, Json, str]]:
    for key in KEYS:
        if key.path not in _INPUTS:
            setting: Setting = layers.setting(key.path)
            yield key.path, _written(key.path, setting.value), setting.origin


def _line(name: str, value: Json, origin: str) -> str:
    if value is None:
        return f"# {name} is not set"
    return f"{name} = {toml(value)}  # {_shown(origin)}"


def _server_lines(servers: Mapping[str, Json], origin: str) -> list[str]:
    lines: list[str] = []
    for id_, members in servers.items():
        lines += ["", f"[mcp.servers.{_key(id_)}]  # {_shown(origin)}"]
        lines += [f"{_key(name)} = {toml(each)}" for name, each in members.items()]
    return lines


def _rule_lines(rules: list[Mapping[str, Json]], origin: str) -> list[str]:
    lines: list[str] = []
    for place, rule in enumerate(rules):
        # Where the first one stands, the others are found.
        lines += ["", "[[permissions.rules]]" + ("" if place else f"  # {_shown(origin)}")]
        lines += [f"{name} = {toml(each)}" for name, each in rule.items()]
    return lines


def _hushed(servers: Mapping[str, Json]) -> dict[str, Json]:
    """Return the tables of servers without what may be a secret."""
    return {
        id_: {name: _hushed_member(name, value) for name, value in members.items()}
        for id_, members in servers.items()
    }


def _hushed_member(name: str, value: Json) -> Json:
    match name, value:
        case ("env" | "headers", dict()):
            pairs = cast("dict[str, Json]", value)
            return {each: _hushed_text(text) for each, text in pairs.items()}
        case ("env" | "headers", _):
            return HIDDEN
        case "args", list():
            return _hushed_arguments(cast("list[Json]", value))
        case "url", str():
            return _hushed_address(value)
        case _:
            return value


def _hushed_text(text: Json) -> Json:
    """Return a text that only names variables as it is."""
    is_reference = isinstance(text, str) and _REFERENCE.search(text)
    rest = _REFERENCE.sub("", text) if isinstance(text, str) else ""
    return text if is_reference and rest.strip().lower() in _SCHEMES else HIDDEN


def _hushed_arguments(arguments: list[Json]) -> list[Json]:
    shown: list[Json] = []
    is_secret = False
    for argument in arguments:
        text = str(argument)
        name, equals, _ = text.partition("=")
        is_telling = _TELLING.match(name) is not None
        if is_secret or _KEY_LIKE.search(text):
            shown.append(HIDDEN)
        elif is_telling and equals:
            shown.append(f"{name}={HIDDEN}")
        else:
            shown.append(argument)
        is_secret = is_telling and not equals
    return shown


def _hushed_address(url: str) -> str:
    parts = urlsplit(url)
    steps = [step if len(step) < SHORT else HIDDEN for step in parts.path.split("/")]
    query = f"?{HIDDEN}" if parts.query or parts.fragment else ""
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{'/'.join(steps)}{query}"


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a text in quotes; what a screen would obey or hide is spelled as TOML spells it."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(each if each.isprintable() else _escaped(each) for each in quoted)


def _escaped(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shown(origin: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in origin) or DEFAULT
