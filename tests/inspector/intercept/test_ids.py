"""Ids that no peer uses."""

from __future__ import annotations

import pytest

from acp_inspector.intercept.injection import IdSpace
from acp_protocol import jsonrpc
from tests.inspector.intercept.scene import counted_ids


def test_ids_are_given_out_once() -> None:
    ids = IdSpace()
    issued = [ids.issue() for _ in range(100)]
    assert len({*issued}) == 100
    assert IdSpace().issue() not in issued


def test_a_peer_that_uses_our_beginning_makes_us_take_another() -> None:
    ids = counted_ids()
    first = ids.issue()
    ids.add_foreign("acp-console-t1-9")
    ids.add_foreign(first)
    assert (first, ids.issue()) == ("acp-console-t0-1", "acp-console-t2-2")
    for other in (7, None, "else", "acp-console"):
        ids.add_foreign(other)
    assert ids.issue() == "acp-console-t2-3"


@pytest.mark.parametrize("sign", ["c", r"\u0063"])
def test_an_id_of_ours_is_seen_however_it_is_spelled(sign: str) -> None:
    ids = IdSpace()
    spelled = ids.issue().replace("c", sign)
    raw = b'{"jsonrpc":"2.0","id":"%b","result":1}' % spelled.encode()
    assert jsonrpc.is_json(raw)
    assert ids.may_contain_id(raw)
    assert not ids.may_contain_id(b'{"jsonrpc":"2.0","id":7,"result":1}')
