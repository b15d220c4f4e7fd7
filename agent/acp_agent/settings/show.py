"""Settings as `acp-agent config` prints them: as TOML with origins, as JSON, or as a template.

Only tables of MCP servers can hold secrets, since other secrets are in variables; `redacted` hides
them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast
from urllib.parse import urlsplit

from acp_agent.settings.keys import setting_keys
from acp_agent.settings.load import DEFAULT, OTHERS, LoadedSettings
from acp_protocol.json_values import as_object
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.references import REFERENCE

FORMAT: Final = 1
"""The version of the JSON."""
HIDDEN: Final = "(hidden)"
MAX_STEP_CHARS: Final = 16
"""Longer parts of a URL's path may be secrets."""
_SECRET_FLAG: Final = re.compile(r"(?i)-.*(token|key|secret|passw|auth|credential)")
_SECRET: Final = re.compile(r"(sk|pk|gh[a-z]|xox[a-z]|glpat|AKIA|AIza|eyJ)[-_A-Za-z0-9.]{8,}")
_SCHEMES: Final = frozenset({"", "basic", "bearer", "token"})
"""What may be beside a reference to a variable."""
_BARE_KEY: Final = re.compile(r"[A-Za-z0-9_-]+")
_SERVERS: Final = "mcp.servers"
_RULES: Final = "permissions.rules"


def as_json(loaded: LoadedSettings) -> str:
    """Return all settings as JSON."""
    settings: dict[str, Json] = {
        path: {"value": value, "from": origin} for path, value, origin in _rows(loaded)
    }
    settings[OTHERS] = [
        {
            path.removeprefix("model."): {
                "value": _dumped(path, other[path].value),
                "from": other[path].origin,
            }
            for path in setting_keys()
            if path in other
        }
        for other in loaded.others
    ]
    file = str(loaded.file) if loaded.file else None
    return json.dumps({"format": FORMAT, "file": file, "settings": settings}, indent=2)


def as_toml(loaded: LoadedSettings) -> str:
    """Return all settings as TOML that can be read again, but for what is hidden."""
    lines = [f"# {loaded.file or 'no file is read'}"]
    tables: list[str] = []
    section = ""
    for path, value, origin in _rows(loaded):
        if path == _SERVERS:
            for id_, server in cast("Mapping[str, Mapping[str, Json]]", value).items():
                # The origin is the first one's: the file has the others behind it.
                comment = "" if "[mcp.servers." in "".join(tables) else f"  # {_printable(origin)}"
                tables += ["", f"[mcp.servers.{_key(id_)}]{comment}"]
                tables += [f"{_key(name)} = {toml(each)}" for name, each in server.items()]
        elif path == _RULES and value:
            for rule in cast("list[Mapping[str, Json]]", value):
                # The file has the other rules behind the first one.
                comment = "" if f"[[{_RULES}]]" in "".join(tables) else f"  # {_printable(origin)}"
                tables += ["", f"[[{_RULES}]]{comment}"]
                tables += [f"{name} = {toml(each)}" for name, each in rule.items()]
        else:
            if (table := setting_keys()[path].section) != section:
                lines += ["", f"[{table}]"]
                section = table
            lines.append(_line(path, value, origin))
    for other in loaded.others:
        lines += ["", f"[[{OTHERS}]]"]
        lines += [
            _line(path, _dumped(path, setting.value), setting.origin)
            for path, setting in sorted(other.items())
        ]
    return "\n".join([*lines, *tables]) + "\n"


_EXAMPLES: Final[Mapping[str, Json]] = {
    "agent.version": "1.0.0",
    "agent.namespace": "coder",
    "model.service": "ollama",
    "model.base_url": "http://127.0.0.1:11434/v1",
    "model.api_key_env": "MY_API_KEY",
    "model.thinking": "medium",
    "model.max_tokens": 16384,
    "model.temperature": 0.7,
    "model.window": 200000,
    "model.prices": "3/15",
    "model.images": True,
    "model.system_prompt": "Answer in the language of the question.",
    "protocol.dialect": "continuum",
    "permissions.audit": "decisions.ndjson",
    "limits.tokens": 1000000,
    "limits.seconds": "30m",
    "admin.listen": "127.0.0.1:8127",
    "http.listen": "127.0.0.1:8765",
    "http.tls_cert": "server.pem",
    "http.tls_key": "server.key",
    "http.affinity": "host-1",
}
"""The values of keys without a default."""
_HEAD: Final = """\
# Settings of acp-agent. Remove the # of what you want to set.
# Environment variables (ACP_AGENT_...) and flags override this file.
# Do not put secrets in this file: api_key_env names the variable that holds a key.
# acp-agent config check FILE finds mistakes; see also docs/configuration.md.
"""
_TABLES: Final = {
    "model": """
# Further models, which a session can choose; each takes the keys of [model].
#[[model.others]]
#name = "openai:gpt-5"
""",
    "permissions": """
# Decisions about tool calls by kind, path, command, or name of a host or server__tool.
# The first rule that matches decides: allow, ask or deny. See docs/agent.md.
#[[permissions.rules]]
#kind = "edit"
#path = "docs/**"
#decision = "allow"

#[[permissions.rules]]
#command = "git push *"
#decision = "deny"
""",
    "log": """
# MCP servers of every session; see docs/mcp.md.
#[mcp.servers.files]
#command = "/usr/local/bin/files-server"
#args = ["--read-only"]
#env = { FILES_TOKEN = "${FILES_TOKEN}" }
""",
}
"""The tables to write below the keys of a section."""


def template() -> str:
    """Return a file with every key and what it does, where nothing is set."""
    text, section = _HEAD, ""
    for key in setting_keys().values():
        if key.variable is None or key.path in {"enabled", "transport.stdio.enabled"}:
            continue
        if key.section != section:
            text += _TABLES.get(section, "") + f"\n[{key.section}]\n"
            section = key.section
        choices = f" ({key.written.expected})" if key.written.choices else ""
        default = key.dump(key.default)
        value = toml(_EXAMPLES[key.path] if default is None else default)
        text += f"# {key.about}{choices}\n#{key.name} = {value}\n"
    return text + _TABLES[section]


def toml(value: Json) -> str:
    """Return `value` as TOML on one line."""
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


def _rows(loaded: LoadedSettings) -> Iterator[tuple[str, Json, str]]:
    for path in setting_keys():
        # The name of the model begins with its service.
        if path != "model.service":
            setting = loaded.get(path)
            yield path, _dumped(path, setting.value), setting.origin


def _dumped(path: str, value: Any) -> Json:
    dumped = setting_keys()[path].dump(value)
    if path == _SERVERS:
        return {
            id_: {name: _redacted(name, each) for name, each in as_object(members).items()}
            for id_, members in as_object(dumped).items()
        }
    return dumped


def _line(path: str, value: Json, origin: str) -> str:
    name = setting_keys()[path].name
    is_set = value is not None
    return f"{name} = {toml(value)}  # {_printable(origin)}" if is_set else f"# {name} is not set"


def _redacted(name: str, value: Json) -> Json:
    """Return a member of an MCP server without what may be a secret."""
    match name, value:
        case "env" | "headers", dict():
            pairs = cast("dict[str, str]", value)
            return {each: _redacted_text(text) for each, text in pairs.items()}
        case "args", list():
            return _redacted_arguments(cast("list[Json]", value))
        case "url", str():
            parts = urlsplit(value)
            steps = [
                step if len(step) < MAX_STEP_CHARS else HIDDEN for step in parts.path.split("/")
            ]
            query = f"?{HIDDEN}" if parts.query or parts.fragment else ""
            host = parts.netloc.rpartition("@")[2]
            return f"{parts.scheme}://{host}{'/'.join(steps)}{query}"
        case _:
            return value


def _redacted_text(text: str) -> str:
    """Return a text that only refers to variables as it is, any other one hidden."""
    bare = REFERENCE.sub("", text)
    return text if bare != text and bare.strip().lower() in _SCHEMES else HIDDEN


def _redacted_arguments(arguments: list[Json]) -> list[Json]:
    shown: list[Json] = []
    is_secret = False
    for argument in arguments:
        text = str(argument)
        name, equals, _ = text.partition("=")
        is_flag = _SECRET_FLAG.match(name) is not None
        if is_secret or _SECRET.search(text):
            shown.append(HIDDEN)
        else:
            shown.append(f"{name}={HIDDEN}" if is_flag and equals else argument)
        is_secret = is_flag and not equals
    return shown


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else _quoted(name)


def _quoted(text: str) -> str:
    """Return a TOML string; what a terminal would obey or hide is escaped."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(
        sign if sign.isprintable() else f"\\U{ord(sign):08x}" if ord(sign) > 0xFFFF
        else f"\\u{ord(sign):04x}"
        for sign in quoted
    )  # fmt: skip


def _printable(origin: str) -> str:
    return "".join(sign if sign.isprintable() else "?" for sign in origin) or DEFAULT
