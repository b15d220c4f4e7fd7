"""News for a widget: each is looked at, soon, and not too often."""

from __future__ import annotations

import threading

import anyio
from textual.app import App

from acp_console.tui.news import News
from tests.console.tui.conftest import LIMIT, until


class NewsApp(App[None]):
    """Counts its looks; the clock stands still unless it is moved."""

    def __init__(self, slices: int = 0) -> None:
        super().__init__()
        self.now = 0.0
        self.looks: list[float] = []
        self.slices = slices
        self.is_looking = False

    def on_mount(self) -> None:
        self.news = News(self, self.look, interval=0.5, clock=lambda: self.now)

    async def look(self) -> bool:
        assert not self.is_looking
        self.is_looking = True
        await anyio.sleep(0)
        self.is_looking = False
        self.looks.append(self.now)
        self.slices -= 1
        return self.slices > 0


async def test_nothing_is_looked_at_while_there_is_no_news() -> None:
    app = NewsApp()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert app.looks == []
        app.news()
        await until(pilot, lambda: app.looks)
        assert not app._timers  # pyright: ignore[reportPrivateUsage] - there is no other way to see that nothing wakes it


async def test_news_that_comes_at_once_is_looked_at_once() -> None:
    app = NewsApp()
    async with app.run_test() as pilot:
        for _ in range(1000):
            app.news()
        await until(pilot, lambda: app.looks)
        await pilot.pause()
        assert app.looks == [0.0]


async def test_the_next_look_waits_for_the_end_of_the_interval() -> None:
    app = NewsApp()
    async with app.run_test() as pilot:
        app.news()
        await until(pilot, lambda: app.looks)
        app.now = 0.4
        app.news()
        await pilot.pause()
        assert app.looks == [0.0]
        await until(pilot, lambda: len(app.looks) == 2)
        app.now = 9.0
        app.news()
        await until(pilot, lambda: len(app.looks) == 3)


async def test_news_of_many_threads_is_never_lost() -> None:
    app = NewsApp()
    async with app.run_test() as pilot:
        seen = 0
        told: list[int] = []

        def look() -> None:
            nonlocal seen
            seen = len(told)

        news = News(app, look, interval=0.0)

        def tell() -> None:
            for n in range(200):
                told.append(n)
                news()

        threads = [threading.Thread(target=tell) for _ in range(4)]
        for thread in threads:
            thread.start()
        await until(pilot, lambda: seen == 800)
        for thread in threads:
            thread.join(LIMIT)


async def test_work_in_slices_goes_on_by_itself() -> None:
    app = NewsApp(slices=5)
    async with app.run_test() as pilot:
        app.news()
        await until(pilot, lambda: len(app.looks) == 5)
        await pilot.pause()
        assert len(app.looks) == 5


async def test_a_thread_may_tell_an_app_that_is_gone() -> None:
    app = NewsApp()
    async with app.run_test():
        news = app.news
    thread = threading.Thread(target=news)
    thread.start()
    thread.join(LIMIT)
    assert app.looks == []
