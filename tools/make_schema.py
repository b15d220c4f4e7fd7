"""Make the shapes and the method table from the published JSON schemas.

    python -m tools.make_schema DIRECTORY

DIRECTORY holds `v1/schema.unstable.json` and `v1/schema.json`. Only names, types and rules come
along, never the schema's prose. The output depends on the input alone: making it again gives the
same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

from tools.method_gates import GATES

Schema: TypeAlias = dict[str, Any]

ROOT: Final = Path(__file__).parent.parent
TARGET: Final = ROOT / "protocol" / "acp_protocol" / "schema"
INTEGERS: Final = {
    "int32": "I32",
    "int64": "I64",
    "uint16": "U16",
    "uint32": "U32",
    "uint64": "U64",
}
SCALARS: Final = {"string": "str", "boolean": "bool", "null": "None", "number": "float"}
SENT_BY: Final = {"agent": "client", "client": "agent", "both": "either", "protocol": "either"}
"""The schema's `x-side` names who handles a method; here stands who sends it."""


@dataclass
class Shape:
    """One concrete object: its members, and which of them must be there."""

    members: dict[str, Schema] = field(default_factory=dict[str, Schema])
    required: set[str] = field(default_factory=set[str])
    label: str = ""
    tag: tuple[str, str] | None = None
    """Member and value that choose this object among its neighbours; None for all other values."""

    def joined(self, other: Shape) -> Shape:
        """Return the object that is both."""
        return Shape(
            self.members | other.members,
            self.required | other.required,
            self.label + other.label,
            self.tag or other.tag,
        )


class Maker:
    """Turns the definitions of one schema into Python."""

    def __init__(self, definitions: dict[str, Schema]) -> None:
        self.definitions = definitions
        self.classes: list[str] = []
        self.aliases: dict[str, tuple[str, set[str]]] = {}

    def make(self) -> str:
        """Return the source of all shapes: classes first, then the aliases that join them."""
        for name in sorted(self.definitions):
            self._define(name)
        return "\n\n".join(self.classes) + "\n\n" + "\n".join(self._ordered_aliases()) + "\n"

    # Definitions

    def _define(self, name: str) -> None:
        schema = self.definitions[name]
        if not self._is_object(schema):
            self._alias(name, self._type(schema))
            return
        shapes = self._shapes(schema)
        if len(shapes) == 1:
            self._write_class(name, shapes[0])
            return
        names: list[str] = []
        for shape in shapes:
            arm = name + (shape.label or "Plain")
            self._write_class(arm, shape)
            names.append(arm)
        self._alias(name, _tagged(" | ".join(names), shapes))

    def _alias(self, name: str, type_: str) -> None:
        words = set(type_.replace("[", " ").replace("]", " ").replace(",", " ").split())
        self.aliases[name] = (type_, words - {name})

    def _ordered_aliases(self) -> list[str]:
        lines: list[str] = []
        done: set[str] = set()

        def place(name: str) -> None:
            if name in done:
                return
            done.add(name)
            type_, words = self.aliases[name]
            for word in sorted(words & self.aliases.keys()):
                place(word)
            lines.append(f"{name}: TypeAlias = {type_}")

        for name in self.aliases:
            place(name)
        return lines

    def _write_class(self, name: str, shape: Shape) -> None:
        lines = [f"class {name}(TypedDict, extra_items=Any):"]
        for member, schema in shape.members.items():
            type_ = self._member_type(schema)
            if member not in shape.required:
                type_ = f"NotRequired[{type_}]"
            lines.append(f"    {member}: {type_}")
        if not shape.members:
            lines.append("    pass")
        self.classes.append("\n".join(lines) + "\n")

    # Objects

    def _is_object(self, schema: Schema) -> bool:
        """Tell whether members stand in `schema` itself, not only behind references."""
        if "properties" in schema or schema.get("type") == "object":
            return True
        if "allOf" in schema:
            return any(self._is_object(self._resolved(part)) for part in schema["allOf"])
        arms: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
        return any("properties" in arm for arm in arms)

    def _resolved(self, schema: Schema) -> Schema:
        return self.definitions[_reference(schema)] if "$ref" in schema else schema

    def _shapes(self, schema: Schema) -> list[Shape]:
        """Return every concrete object that `schema` allows, in its order."""
        schema = self._resolved(schema)
        own = Shape(dict(schema.get("properties", {})), set(schema.get("required", ())))
        parts = [[own]]
        parts += [self._shapes(part) for part in schema.get("allOf", ())]
        arms: list[Schema] = schema.get("oneOf") or schema.get("anyOf") or []
        if arms:
            parts.append([shape for arm in arms for shape in self._arm(arm)])
        return [_join(combination) for combination in product(*parts)]

    def _arm(self, arm: Schema) -> list[Shape]:
        label, tag = _label(arm), _tag(arm)
        shapes = self._shapes({key: part for key, part in arm.items() if key != "not"})
        for shape in shapes:
            shape.label = label + shape.label
            shape.tag = tag or shape.tag
        return shapes

    # Types

    def _member_type(self, schema: Schema) -> str:
        type_ = self._type(schema)
        marks = [
            *(f"AtLeast({schema[key]})" for key in ("minLength", "minItems") if key in schema),
            *_bounds(schema),
            *_tolerance(schema),
        ]
        if "x-deserialize-default-on-null" in schema:
            type_ += " | None"
        return f"Annotated[{type_}, {', '.join(marks)}]" if marks else type_

    def _type(self, schema: Schema) -> str:
        if "$ref" in schema:
            return _reference(schema)
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        if "enum" in schema:
            return f"Literal[{', '.join(map(repr, schema['enum']))}]"
        for key in ("allOf", "anyOf", "oneOf"):
            if key in schema:
                return _union([self._type(part) for part in schema[key]])
        return self._plain_type(schema)

    def _plain_type(self, schema: Schema) -> str:
        kind: Any = schema.get("type")
        if isinstance(kind, list):
            kinds = cast("list[str]", kind)
            return _union([self._type(schema | {"type": one}) for one in kinds])
        if kind == "integer":
            return INTEGERS.get(schema.get("format", ""), "int")
        if kind == "array":
            return f"list[{self._type(schema['items'])}]" if "items" in schema else "list[Any]"
        if kind == "object":
            inner: Any = schema.get("additionalProperties")
            type_ = self._type(cast("Schema", inner)) if isinstance(inner, dict) else "Any"
            return f"dict[str, {type_}]"
        return SCALARS.get(kind or "", "Any")


def _reference(schema: Schema) -> str:
    return schema["$ref"].removeprefix("#/$defs/")


def _join(shapes: tuple[Shape, ...]) -> Shape:
    joined = Shape()
    for shape in shapes:
        joined = joined.joined(shape)
    return joined


def _label(arm: Schema) -> str:
    """Return what tells an arm from its neighbours: its tag's value, its title or its reference."""
    for member in arm.get("properties", {}).values():
        if "const" in member:
            return _pascal(str(member["const"]))
    if "title" in arm:
        return _pascal(arm["title"])
    references = [_reference(part) for part in [arm, *arm.get("allOf", ())] if "$ref" in part]
    return references[0] if references else ""


def _pascal(words: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in words.replace("-", "_").split("_"))


def _tag(arm: Schema) -> tuple[str, str] | None:
    for member, schema in arm.get("properties", {}).items():
        if "const" in schema:
            return member, schema["const"]
    return None


def _tagged(union: str, shapes: list[Shape]) -> str:
    """Return the union with the mark that tells how its arms are told apart, if a tag does so."""
    tags = [shape.tag for shape in shapes]
    names = {tag[0] for tag in tags if tag}
    values = tuple(tag[1] if tag else None for tag in tags)
    if len(names) != 1 or len(set(values)) != len(values):
        return union
    return f"Annotated[{union}, Tagged({names.pop()!r}, {values!r})]"


def _bounds(schema: Schema) -> list[str]:
    # A least value of 0 comes with the unsigned formats.
    least, greatest = schema.get("minimum") or None, schema.get("maximum")
    return [f"Bounds({least}, {greatest})"] if least or greatest else []


def _tolerance(schema: Schema) -> list[str]:
    value = "x-deserialize-default-on-error" in schema
    items = "x-deserialize-skip-invalid-items" in schema
    if "x-deserialize-default-on-null" in schema:
        return ["NULL"]
    return {
        (True, True): ["VALUE_AND_ITEMS"],
        (True, False): ["VALUE"],
        (False, True): ["ITEMS"],
        (False, False): [],
    }[value, items]


def _union(parts: list[str]) -> str:
    """Join types; literals become one, doubles fall out."""
    literals = [part[8:-1] for part in parts if part.startswith("Literal[")]
    rest = [part for part in dict.fromkeys(parts) if not part.startswith("Literal[")]
    joined = [f"Literal[{', '.join(dict.fromkeys(literals))}]"] if literals else []
    return " | ".join(joined + rest)


def _unstable(stable: dict[str, Schema], unstable: dict[str, Schema]) -> dict[str, tuple[str, ...]]:
    """Map each name in both schemas to the members or tag values that only the unstable one has."""
    found: dict[str, tuple[str, ...]] = {}
    for name in sorted(stable.keys() & unstable.keys()):
        if more := sorted(_parts(unstable[name]) - _parts(stable[name])):
            found[name] = tuple(more)
    return found


def _parts(schema: Schema) -> set[str]:
    parts = set(schema.get("properties", {}))
    for arm in schema.get("oneOf", schema.get("anyOf", ())):
        parts |= {str(m["const"]) for m in arm.get("properties", {}).values() if "const" in m}
        parts |= {str(arm["const"])} if "const" in arm else set()
    return parts


def _methods(stable: dict[str, Schema], unstable: dict[str, Schema], version: int) -> list[str]:
    """Return the lines of the method table, sorted by name and kind."""
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for name, schema in sorted(unstable.items()):
        if "x-method" not in schema:
            continue
        kind = "notification" if name.endswith("Notification") else "request"
        sent_by = SENT_BY.get(schema["x-side"], "either")
        row = rows.setdefault((schema["x-method"], kind, sent_by), {})
        row["result" if name.endswith("Response") else "params"] = name
    return [
        f"Method({method!r}, {sent_by!r}, {kind!r}, {row.get('params')!r}, {row.get('result')!r}, "
        f"{version}, {row.get('params') in stable}, {GATES[version].get(method)!r}),"
        for (method, kind, sent_by), row in sorted(rows.items())
    ]


def make(directory: Path, version: int) -> dict[str, str]:
    """Return file names below the schema room and their text, formatted, for one version."""
    unstable = json.loads((directory / f"v{version}" / "schema.unstable.json").read_bytes())[
        "$defs"
    ]
    stable = json.loads((directory / f"v{version}" / "schema.json").read_bytes())["$defs"]
    only_unstable = sorted(unstable.keys() - stable.keys())
    shapes = f'''"""The shapes of protocol version {version}. Made by tools/make_schema.py; not to
    be edited."""
# pyright: reportRedeclaration=false, reportIncompatibleVariableOverride=false

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from typing_extensions import NotRequired, TypedDict

from acp_protocol.schema.marks import (
    I32, I64, ITEMS, NULL, U16, U32, U64, VALUE, VALUE_AND_ITEMS, AtLeast, Bounds, Tagged,
)

UNSTABLE: Final = frozenset({only_unstable!r})
"""Definitions that the stable schema does not have."""

UNSTABLE_MEMBERS: Final[dict[str, tuple[str, ...]]] = {_unstable(stable, unstable)!r}
"""Members and tag values of shared definitions that the stable schema does not have."""


'''
    table = f'''"""The methods of protocol version {version}. Made by tools/make_schema.py; not to
    be edited."""

from __future__ import annotations

from typing import Final

from acp_protocol.schema.methods import Method

METHODS: Final = (
'''
    table += "\n".join(_methods(stable, unstable, version)) + "\n)\n"
    sources = {f"v{version}.py": shapes + Maker(unstable).make(), f"table_v{version}.py": table}
    return {name: formatted(source) for name, source in sources.items()}


def identity(directory: Path, version: int) -> str:
    """Return the version and the beginning of the schema's SHA-256."""
    raw = (directory / f"v{version}" / "schema.unstable.json").read_bytes()
    return f"v{version}+{hashlib.sha256(raw).hexdigest()[:12]}"


def write_identity(directory: Path) -> None:
    """Write the schema's identity into the one place where versions stand."""
    path = TARGET.parent / "version.py"
    line = f'SCHEMA_ID: Final = "{identity(directory, 1)}"'
    path.write_text(re.sub(r"^SCHEMA_ID: Final = .*$", line, path.read_text(), flags=re.MULTILINE))


def formatted(source: str) -> str:
    """Return `source` as ruff writes it, with the imports it does not need taken out."""
    ruff = [sys.executable, "-m", "ruff"]
    fix = [*ruff, "check", "--isolated", "--select", "F401", "--fix", "--quiet", "-"]
    form = [*ruff, "format", "--isolated", "--line-length", "100", "--quiet", "-"]
    for command in (fix, form):
        source = subprocess.run(
            command, input=source, capture_output=True, text=True, check=True
        ).stdout
    return source


def main(arguments: list[str]) -> int:
    """Write the files; `arguments` is the directory of the schemas."""
    if len(arguments) != 1:
        print("usage: python -m tools.make_schema DIRECTORY", file=sys.stderr)
        return 2
    for name, source in make(Path(arguments[0]), 1).items():
        (TARGET / name).write_text(source)
        print(f"wrote {TARGET.relative_to(ROOT) / name}")
    write_identity(Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
