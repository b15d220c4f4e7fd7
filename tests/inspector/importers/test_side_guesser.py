"""Who said it, guessed."""

from __future__ import annotations

from acp_inspector.importers.line_logs import NOISE, ORPHAN, UNKNOWN, SideGuesser


def told(*lines: bytes) -> list[tuple[str, str]]:
    sides = SideGuesser()
    return [sides.side(line) for line in lines]


def test_methods_of_either_version_tell_their_side() -> None:
    assert told(
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}',
        b'{"jsonrpc":"2.0","method":"session/update","params":{}}',
        b'{"jsonrpc":"2.0","id":"a","method":"session/request_permission","params":{}}',
        b'{"jsonrpc":"2.0","method":"session/cancel","params":{}}',
    ) == [("client", ""), ("agent", ""), ("agent", ""), ("client", "")]


def test_an_answer_is_the_other_sides_and_the_newest_question_is_answered_first() -> None:
    assert told(
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"fs/read_text_file","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
    )[2:] == [("client", ORPHAN), ("agent", "")]


def test_ids_keep_their_type() -> None:
    assert told(
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}',
        b'{"jsonrpc":"2.0","id":"1","method":"fs/read_text_file","params":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":"1","result":{}}',
    )[2:] == [("agent", ""), ("client", "")]


def test_what_tells_nothing_is_a_guess() -> None:
    assert told(
        b"hello",
        b'{"jsonrpc":"2.0","id":1,"method":"_x"}',
        b'{"jsonrpc":"2.0","method":"_x"}',
        b'{"jsonrpc":"2.0","id":9,"result":{}}',
        b"[]",
    ) == [
        ("agent", NOISE),
        ("client", UNKNOWN),
        ("agent", UNKNOWN),
        ("agent", ORPHAN),
        ("agent", NOISE),
    ]


def test_a_batch_is_its_first_messages_side() -> None:
    batch = b'[{"jsonrpc":"2.0","method":"session/cancel","params":{}},1]'
    assert told(batch) == [("client", "")]
