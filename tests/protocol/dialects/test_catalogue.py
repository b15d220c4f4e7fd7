"""All dialects by name."""

from __future__ import annotations

import json

import pytest

from acp_protocol.dialects.registry import DIALECTS, open_dialect
from acp_protocol.errors import LocalProtocolError
from tests.protocol.dialects.examples import call


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_knows_its_name(name: str) -> None:
    assert open_dialect(name).name == name


def test_only_openoxide_tells_lengths() -> None:
    framings = {name: open_dialect(name).framing for name in DIALECTS}
    assert framings == {"continuum": "lines", "acpex": "lines", "openoxide": "headers"}


def test_every_connection_has_a_dialect_of_its_own() -> None:
    assert open_dialect("acpex") is not open_dialect("acpex")


def test_an_unknown_name_is_refused_and_the_known_ones_named() -> None:
    with pytest.raises(LocalProtocolError, match="no dialect klingon; there are continuum, acpex"):
        open_dialect("klingon")


def test_sessions_without_a_folder_are_in_the_one_that_is_known() -> None:
    """A reader may not know in which the agent works."""
    for directory, placed in (("/w", {"cwd": "/w"}), ("", {})):
        dialect = open_dialect("continuum", directory)
        (read,) = dialect.read(call("session/new", {}, id=1), "client").forward
        assert json.loads(read)["params"] == {**placed, "mcpServers": []}
