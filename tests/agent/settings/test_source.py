"""Files that people write: TOML and YAML with the lines of their values."""

from __future__ import annotations

import os
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.continuum.config import acp_section, read_config
from acp_agent.continuum.yaml_source import parse_yaml
from acp_agent.settings.show import toml
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import (
    MAX_BYTES,
    InvalidFileError,
    KeyPath,
    ParsedFile,
    key_lines,
    parse_toml,
    spelled,
)


def test_suffix_decides_the_format(tmp_path: Path) -> None:
    toml, yaml = tmp_path / "a.toml", tmp_path / "a.yml"
    toml.write_text("[log]\nlevel = 'info'\n")
    yaml.write_text("acp:\n  log:\n    level: info\n")
    assert read_config(toml).source.tree == {"log": {"level": "info"}}
    assert read_config(yaml).source.tree["log"] == {"level": "info"}


def test_byte_order_mark_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfenabled = true\n")
    assert read_config(path).tree == {"enabled": True}


def test_value_without_a_line_has_that_of_the_table_around_it() -> None:
    source = ParsedFile(Path("a.toml"), {}, {("x",): 3})
    assert source.at(("x", "y", 0)) == "a.toml:3"
    assert source.at(("z",)) == "a.toml"
    assert spelled(("model", "others", 0, "name")) == "model.others.1.name"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        (b"a = '\xff'", "a.toml:1: not UTF-8"),
        (b"x = 1\n# \xff", "a.toml:2: not UTF-8"),
        (b"#" * (MAX_BYTES + 1), "larger than 1024 KiB"),
    ],
)
def test_unreadable_file_is_reported(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidFileError, match=reason):
        read_config(path)


def test_world_writable_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.touch()
    path.chmod(0o646)
    with pytest.raises(InvalidFileError, match="every user may write to it; run chmod o-w"):
        read_config(path)


@pytest.mark.parametrize("name", ["a.toml", "below/a.toml"])
def test_a_file_that_every_user_may_replace_is_refused(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "open"
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_text("")
    folder.chmod(0o777)
    with pytest.raises(InvalidFileError, match=f"may replace it; run chmod o-w {folder}$"):
        read_config(path)
    folder.chmod(0o1777)
    assert read_config(path).tree == {}


@pytest.mark.parametrize("text", ["a." * 3000 + "b = 1", "a = " + "[" * 70 + "]" * 70])
def test_keys_that_are_nested_too_deeply_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.toml"
    path.write_text(text)
    with pytest.raises(InvalidFileError, match="nested more than 64 levels deep"):
        read_config(path)


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text("")
    os.chown(path, 1234, 1234)
    with pytest.raises(InvalidFileError, match="it belongs to another user"):
        read_config(path)


def test_fifo_or_device_is_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml", 0o600)
    for path in (tmp_path / "pipe.toml", tmp_path, Path("/dev/zero"), Path("a\0b")):
        with pytest.raises(InvalidFileError, match=r"cannot be read|every user may write"):
            read_config(path)


def test_json_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"model": {"name": "demo"}}')
    with pytest.raises(InvalidFileError, match=r"is TOML, or YAML with \.yaml or \.yml$"):
        read_config(path)


TOML = '''\
# a comment
enabled = true

[model]
name = "a" # [no.table]
list = [
  1,  # ]
  "]",
]
text = """
[not.a.table]
x = 1
"""

[[model.others]]
name = "b"
[model.others.deep]
inner.most = { x = 1 }
[[model.others]]
name = "c"
["odd.key"]
"x y" = 1
'''


def test_each_toml_value_has_its_line() -> None:
    source = parse_toml(Path("a.toml"), TOML)
    assert source.tree == tomllib.loads(TOML)
    assert source.lines == {
        ("enabled",): 2,
        ("model",): 4,
        ("model", "name"): 5,
        ("model", "list"): 6,
        ("model", "list", 0): 7,
        ("model", "list", 1): 8,
        ("model", "text"): 10,
        ("model", "others"): 15,
        ("model", "others", 0): 15,
        ("model", "others", 0, "name"): 16,
        ("model", "others", 0, "deep"): 17,
        ("model", "others", 0, "deep", "inner"): 18,
        ("model", "others", 0, "deep", "inner", "most"): 18,
        ("model", "others", 0, "deep", "inner", "most", "x"): 18,
        ("model", "others", 1): 19,
        ("model", "others", 1, "name"): 20,
        ("odd.key",): 21,
        ("odd.key", "x y"): 22,
    }


def test_crlf_counts_as_one_line_end() -> None:
    source = parse_toml(Path("a.toml"), TOML.replace("\n", "\r\n"))
    assert source.lines["model", "others", 1, "name"] == 20


def test_line_separator_in_a_string_is_no_line_end() -> None:
    assert parse_toml(Path("a.toml"), "a = 'x\u2028y'\nb = 1").lines == {("a",): 1, ("b",): 2}


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb = ", 2), ("[a", 1), ("a = 1\n\na = 2\n", 3), ('x = """\n\n', 1), ("a = nope", 1)],
)
def test_invalid_toml_is_reported_with_its_line(text: str, line: int) -> None:
    with pytest.raises(InvalidFileError, match=rf"^a\.toml:{line}: \w+"):
        parse_toml(Path("a.toml"), text)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[model]\nname = 'a'\nname = 'b'", "3: model.name"),
        ("[model]\nx = 'a'\n[log]\n[model]\ny = 1", "4: model"),
        ("a = 1\na.b = 2", "2: a.b"),
        ('a = 1\na = """\nsecret="""', "2: a"),
        ("[[a]]\nb = 1\n[a]", "3: a"),
        ("a = {b = 1}\n[a.c]\nd = 1", "2: a.c"),
    ],
)
def test_key_that_is_set_twice_is_named(text: str, told: str) -> None:
    with pytest.raises(InvalidFileError) as wrong:
        parse_toml(Path("a.toml"), text)
    assert str(wrong.value) == f"a.toml:{told}: is set twice, as a whole or in part"


def test_a_number_that_is_too_long_for_python_is_reported() -> None:
    with pytest.raises(InvalidFileError, match=r"^a\.toml:1: a number has too many digits$"):
        parse_toml(Path("a.toml"), f"a = {'9' * 5000}")


def test_names_in_problems_are_made_visible() -> None:
    with pytest.raises(InvalidFileError) as wrong:
        parse_toml(Path("a.toml"), '"\\u001b[31m\\u202e\\n" = 1\n"\\u001b[31m\\u202e\\n" = 2')
    assert "a.toml:2: ␛[31m‹202e›⏎: is set twice" in str(wrong.value)


@pytest.mark.parametrize("text", ["a = [1,\n2\n", "[a\nb = 1\n", "a =\n\n\n", "\n\na"])
def test_reported_line_exists_in_the_toml_file(text: str) -> None:
    with pytest.raises(InvalidFileError) as wrong:
        parse_toml(Path("a.toml"), text)
    assert 1 <= int(str(wrong.value).split(":")[1]) <= len(text.splitlines())


def test_too_deep_nesting_is_reported() -> None:
    with pytest.raises(InvalidFileError):
        parse_toml(Path("a.toml"), "a = " + "[" * 20000)


WORDS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.booleans() | st.integers(-(10**9), 10**9) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(WORDS, VALUES, max_size=5))
def test_every_toml_value_has_a_line(tree: dict[str, Json]) -> None:
    lines = [f"{toml({name: value})[2:-2]}\n" for name, value in tree.items()]
    source = parse_toml(Path("a.toml"), "".join(lines))
    assert source.tree == tree
    assert [source.lines[name,] for name in tree] == list(range(1, len(tree) + 1))


@given(st.text())
def test_any_text_is_parsed_as_toml_or_refused(text: str) -> None:
    with suppress(InvalidFileError):
        parse_toml(Path("a.toml"), text)


YAML = """\
models: {of: the router}
acp:
  enabled: true
  sessions:
    idle_timeout: "1h"
    max_concurrent: 3
  permissions:
    auto_allow:
      - read
      - search
"""


def test_what_is_below_acp_is_read_with_its_lines_and_the_permissions_of_the_router() -> None:
    source = acp_section(parse_yaml(Path("a.yaml"), YAML))
    assert source.tree == {
        "enabled": True,
        "sessions": {"idle_timeout": "1h", "max_concurrent": 3},
        "permissions": {
            "default_policy": "ask_always",
            "auto_allow": ["read", "search"],
            "always_ask": ["delete", "edit", "execute"],
        },
    }
    assert source.lines["sessions", "max_concurrent"] == 6
    assert source.lines["permissions", "auto_allow", 1] == 10
    assert ("models",) not in source.lines


def test_scalars_are_those_of_yaml_1_2() -> None:
    text = "acp: {a: no, b: 1:30, c: 0x10, d: 2020-01-01, e: 010, f: ~, g: 1.5, h: '1', i: }"
    tree = parse_yaml(Path("a.yaml"), text).tree["acp"]
    words = {"a": "no", "b": "1:30", "c": "0x10", "d": "2020-01-01"}
    assert tree == words | {"e": 10, "f": None, "g": 1.5, "h": "1", "i": None}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("acp:\n  a: 1\n b: 2", ":3: "),
        ("acp: [", ":1: "),
        ("acp:\n  a: 1\n  a: 2", ":3: a: is set twice"),
        ("acp: &x\n  a: *x", ":2: aliases are not allowed"),
        ("acp:\n  a: !!python/name:os.system x", ":2: tags are not allowed"),
        ("acp:\n  <<: {a: 1}", ":2: a key must be a word"),
        ("acp:\n  [a]: 1", ":2: a key must be a word"),
        ("acp: 1\n---\nacp: 2", ":2: |:3: "),
        ("acp: \x07", "YAML does not allow"),
        ("[" * 5000, "nested too deeply"),
    ],
)
def test_invalid_yaml_is_reported_with_its_line(text: str, reason: str) -> None:
    with pytest.raises(InvalidFileError, match=reason):
        parse_yaml(Path("a.yaml"), text)


@given(st.text(st.sampled_from("acp: {}[]-&*!|>'\"\n\t#x1~<%@,?")))
def test_any_text_is_parsed_as_yaml_or_refused(text: str) -> None:
    with suppress(InvalidFileError):
        parse_yaml(Path("a.yaml"), f"acp:\n {text}")


@pytest.mark.parametrize("text", ["acp:\n  a: [1, 2\n", "acp: {\n", "acp: [", 'acp: "\n\n'])
def test_reported_line_exists_in_the_yaml_file(text: str) -> None:
    with pytest.raises(InvalidFileError) as wrong:
        parse_yaml(Path("a.yaml"), text)
    assert 1 <= int(str(wrong.value).split(":")[1]) <= len(text.splitlines())


@pytest.mark.parametrize("text", ["", "x: 1", "acp: 1"])
def test_yaml_without_acp_is_refused(text: str) -> None:
    with pytest.raises(InvalidFileError, match="acp: is missing"):
        acp_section(parse_yaml(Path("a.yaml"), text))


@pytest.mark.parametrize(
    ("text", "line", "hint"),
    [
        ("[[prompt]]\nsteps = [{ text = 'a',\n}]", 2, "a table in braces must be on one line"),
        ("a = { b = 1\n}", 1, "a table in braces must be on one line"),
        ("\na = { b = 1, }", 2, "remove the comma before `}`"),
        ("prompt:\n  - steps: []", 1, "`key: value` is YAML"),
        ("[[prompt]]\nsteps = [{ text: 'a' }]", 2, "`key: value` is YAML"),
        ("- text: hello", 1, "`key: value` is YAML"),
        ('{"prompt": []}', 1, "this looks like JSON"),
        ("a = hello", 1, "put strings in quotes"),
        ("a = True", 1, "`true` and `false` in lower case"),
        ("a = null", 1, "TOML has no null"),
        ("a = 1\n\na = 2", 3, "a: is set twice"),
        ("a = [1 2]", 1, "a comma is missing"),
        ("a = [1,\n2", 2, "a comma is missing"),
        ("a = 'b\nc'", 1, 'or is written in `"""`'),
        ("a = " + "[" * 10_000, 1, "too deeply"),
    ],
)
def test_syntax_error_is_reported_with_its_line_and_a_hint(text: str, line: int, hint: str) -> None:
    with pytest.raises(InvalidFileError) as refused:
        parse_toml(Path("a.toml"), text)
    assert str(refused.value).startswith(f"a.toml:{line}: ")
    assert hint in str(refused.value)


@given(st.text("[]{}=:,.'\"ab \n-#1", max_size=20))
def test_reported_line_exists_in_any_text(text: str) -> None:
    try:
        parse_toml(Path("a.toml"), text)
    except InvalidFileError as error:
        line = int(str(error).split(":")[1])
        assert 1 <= line <= text.count("\n") + 1


SCENARIO = '''\
seed = 1 # [[prompt]]
[agent]
a.b = "x = 1"
"q k" = 2
[[prompt]]
steps = [
  { text = "a]", split = { bytes = 1 } },
  { thought = """x
y = 3""" },
  # { plan = [] }
  { plan = ["a",
    'b'] },
]
[[prompt]]
when = 2026-01-05 09:00:00
[[prompt.steps]]
text = 'a'
[[prompt.steps]]
text = 'b'
[prompt.more.of]
it = true
'''
SHORT_KEYS = st.text("ab-_1", min_size=1, max_size=3)
SPELLED = st.recursive(
    st.integers(-9, 9).map(str)
    | st.sampled_from(['"a # ] }"', "'x'", '""', "true", "1.5", '"""a\nb = 1"""', "'''\n[c]'''"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: "[\n" + ", # ]\n".join(items) + "]")
        | st.dictionaries(SHORT_KEYS, inner, max_size=3).map(
            lambda table: (
                "{ " + ", ".join(f"{key} = {value}" for key, value in table.items()) + " }"
            )
        )
    ),
    max_leaves=6,
)


def paths(value: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Return the path of everything in a value."""
    found: set[KeyPath] = {path} if path else set()
    if isinstance(value, dict | list):
        entries: Any = cast("Any", value)
        for key, inner in entries.items() if isinstance(value, dict) else enumerate(entries):
            found |= paths(inner, (*path, key))
    return found


def test_each_key_and_entry_has_its_line() -> None:
    lines = key_lines(SCENARIO)
    assert lines["seed",] == 1
    assert lines["agent", "a", "b"] == 3
    assert lines["agent", "q k"] == 4
    assert lines["prompt", 0, "steps", 0, "split", "bytes"] == 7
    assert lines["prompt", 0, "steps", 1, "thought"] == 8
    assert lines["prompt", 0, "steps", 2, "plan", 1] == 12
    assert lines["prompt", 1] == 14
    assert lines["prompt", 1, "steps", 1, "text"] == 19
    assert lines["prompt", 1, "more", "of", "it"] == 21


def test_only_keys_and_entries_have_a_line() -> None:
    assert set(key_lines(SCENARIO)) == paths(tomllib.loads(SCENARIO))


@given(st.dictionaries(SHORT_KEYS, SPELLED, max_size=4))
def test_every_key_is_found_between_any_others(table: dict[str, str]) -> None:
    text = "".join(f"{key} = {value}\n" for key, value in table.items())
    assert set(key_lines(text)) == paths(tomllib.loads(text))
