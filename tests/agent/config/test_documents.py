"""Configuration files as files: what is no such thing is told in a sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from acp_agent.config.documents import SIZE, ConfigurationError, Document, read_document, spelled


def test_the_ending_tells_the_format(tmp_path: Path) -> None:
    toml, yaml = tmp_path / "a.toml", tmp_path / "a.yml"
    toml.write_text("[log]\nlevel = 'info'\n")
    yaml.write_text("acp:\n  log:\n    level: info\n")
    assert read_document(toml).tree == read_document(yaml).tree == {"log": {"level": "info"}}


def test_a_mark_at_the_beginning_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_bytes(b"\xef\xbb\xbfenabled = true\n")
    assert read_document(path).tree == {"enabled": True}


def test_a_value_without_a_line_is_told_by_what_it_stands_in() -> None:
    document = Document(Path("a.toml"), {}, {("x",): 3})
    assert document.at(("x", "y", 0)) == "a.toml:3"
    assert document.at(("z",)) == "a.toml"
    assert spelled(("model", "others", 0, "name")) == "model.others.1.name"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "cannot be read"),
        (b"a = '\xff'", "a.toml:1: it is no UTF-8"),
        (b"x = 1\n# \xff", "a.toml:2: it is no UTF-8"),
        (b"#" * (SIZE + 1), "larger than 1024 KiB"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, content: bytes | None, reason: str) -> None:
    path = tmp_path / "a.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=reason):
        read_document(path)


def test_a_file_that_everybody_may_write_to_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.touch()
    path.chmod(0o646)
    with pytest.raises(ConfigurationError, match="everybody may write to it; chmod o-w"):
        read_document(path)


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml", 0o600)
    for path in (tmp_path / "pipe.toml", tmp_path, Path("/dev/zero"), Path("a\0b")):
        with pytest.raises(ConfigurationError, match=r"cannot be read|everybody may write"):
            read_document(path)


def test_json_is_no_format_of_a_configuration(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"model": {"name": "demo"}}')
    with pytest.raises(ConfigurationError, match=r"is TOML, or YAML with \.yaml or \.yml$"):
        read_document(path)
