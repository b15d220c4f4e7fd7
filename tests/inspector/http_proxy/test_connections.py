"""Which connection a request belongs to, and how many are recorded."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from acp_inspector.http_proxy.connections import ProxyConnections
from acp_inspector.http_proxy.headers import Headers
from acp_inspector.proxy.session import ProxySession
from acp_inspector.recording.format import RecordingError, RecordingExistsError


def named(id_: str) -> Headers:
    return [(b"Acp-Connection-Id", id_.encode())]


class Room:
    """Opens sessions, and knows how often."""

    def __init__(self, *problems: Exception) -> None:
        self.opened: list[int] = []
        self.warnings: list[str] = []
        self._problems = [*problems]

    def open(self, number: int) -> ProxySession:
        self.opened.append(number)
        if self._problems:
            raise self._problems.pop(0)
        return ProxySession(self.warnings.append)

    @asynccontextmanager
    async def connections(self, limit: int = 10) -> AsyncGenerator[ProxyConnections]:
        async with anyio.create_task_group() as tasks:
            first = ProxySession(self.warnings.append)
            found = ProxyConnections(
                first, self.open, "http://h/", tasks, self.warnings.append, limit
            )
            yield found
            found.close()


async def begin(connections: ProxyConnections, id_: str) -> int:
    connection, is_first = await connections.take((), opens=True)
    assert is_first
    connections.settle(connection, (), 200, named(id_))
    return connection.number


async def test_a_request_goes_to_the_connection_that_it_names() -> None:
    room = Room()
    async with room.connections() as connections:
        assert [await begin(connections, id_) for id_ in ("a", "b")] == [1, 2]
        for id_, number in (("a", 1), ("b", 2), ("a", 1)):
            connection, is_first = await connections.take(named(id_), opens=False)
            assert (connection.number, is_first) == (number, False)
        # What belongs to none is shown with the last one.
        stray, _ = await connections.take((), opens=False)
        assert stray.number == 2
    assert room.opened == [2]


async def test_one_that_is_refused_leaves_its_place_to_the_next() -> None:
    room = Room()
    async with room.connections() as connections:
        for status in (401, 503, 200):
            connection, _ = await connections.take((), opens=True)
            assert connection.number == 1
            connections.settle(connection, (), status, named("a") if status == 200 else ())
    assert room.opened == []


async def test_two_that_begin_at_once_do_not_share_a_place() -> None:
    room = Room()
    async with room.connections() as connections:
        first, _ = await connections.take((), opens=True)
        second, _ = await connections.take((), opens=True)
        assert (first.number, second.number) == (1, 2)


async def test_one_that_was_there_before_the_proxy_is_taken_up() -> None:
    room = Room()
    async with room.connections() as connections:
        connection, is_first = await connections.take(named("old"), opens=False)
        assert is_first
        connections.settle(connection, named("old"), 202, ())
        again, is_first = await connections.take(named("old"), opens=False)
        assert (again, is_first) == (connection, False)
        # One that the server does not know is none.
        unknown, _ = await connections.take(named("none"), opens=False)
        connections.settle(unknown, named("none"), 404, ())
        assert (await connections.take((), opens=True))[0] is unknown


async def test_beyond_the_limit_the_one_that_was_unused_for_longest_ends() -> None:
    room = Room()
    async with room.connections(limit=2) as connections:
        await begin(connections, "a")
        await begin(connections, "b")
        used, _ = await connections.take(named("a"), opens=False)
        with used.exchange(1, lambda why: None):
            assert await begin(connections, "c") == 3
        again, is_first = await connections.take(named("a"), opens=False)
        assert (again, is_first) == (used, False)
        assert (await connections.take(named("b"), opens=False))[1], "it has ended"


async def test_what_cannot_be_recorded_passes_all_the_same() -> None:
    room = Room(RecordingError("the disk is gone"))
    async with room.connections() as connections:
        await begin(connections, "a")
        assert await begin(connections, "b") == 2
    assert room.warnings == [
        "the disk is gone; the next connection goes on without a recording",
    ]


async def test_names_of_files_that_exist_are_left_out() -> None:
    room = Room(RecordingExistsError("r-2 exists"), RecordingExistsError("r-3 exists"))
    async with room.connections() as connections:
        await begin(connections, "a")
        assert await begin(connections, "b") == 4
    assert room.warnings == []


async def test_after_its_end_an_observer_can_wait_for_the_next() -> None:
    room = Room()
    async with room.connections() as connections:
        await begin(connections, "a")
        connection, _ = await connections.take(named("a"), opens=False)
        connections.end(connection)
        while room.opened != [2]:
            await anyio.lowlevel.checkpoint()
