"""Text from an agent, a proxy or a file is shown as text, and never read as markup."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.app import App, ComposeResult

import acp_console.tui
from acp_console.traffic.rows import TrafficRow
from acp_console.tui.intercept.held import HeldPane
from acp_console.tui.transcript.view import TranscriptView
from acp_inspector.session.items import Thought
from tests.console.tui.conftest import say, until
from tests.console.tui.intercept_clients import FakeInterceptClient

ROOT = Path(acp_console.tui.__file__).parent
HOSTILE = ("no [/x] here", "[@click=app.quit]leave[/]", "a \\[b] c", "[bold")


class PaneApp(App[None]):
    def __init__(self, client: FakeInterceptClient) -> None:
        super().__init__()
        self.client = client

    def compose(self) -> ComposeResult:
        yield HeldPane(self.client, lambda hold: TrafficRow(hold.seq, 0, hold.side, "request", ""))


@pytest.mark.parametrize("text", HOSTILE)
async def test_refusal_that_quotes_markup_is_shown_as_it_is(text: str) -> None:
    client = FakeInterceptClient()
    app = PaneApp(client)
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        client.refusals.append(text)
        client.news()
        app.query_one(HeldPane).sync(4)
        await until(pilot, lambda: text in say(app))


@pytest.mark.parametrize("text", HOSTILE)
async def test_thought_that_quotes_markup_is_shown_as_it_is(text: str) -> None:
    thought = Thought("k")
    thought.add({"type": "text", "text": text}, 1)

    class ThoughtApp(App[None]):
        def compose(self) -> ComposeResult:
            yield TranscriptView()

        def on_mount(self) -> None:
            self.query_one(TranscriptView).sync([thought])

    app = ThoughtApp()
    read = text.replace("\\[", "[")  # as Markdown
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: f"Thought  {read}" in say(app))


def _calls(name: str) -> Iterator[tuple[str, ast.Call]]:
    for path, node in _nodes():
        if isinstance(node, ast.Call):
            function = node.func
            called = function.attr if isinstance(function, ast.Attribute) else function
            if (called.id if isinstance(called, ast.Name) else called) == name:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node


def _nodes() -> Iterator[tuple[Path, ast.AST]]:
    for path in sorted(ROOT.rglob("*.py")):
        yield from ((path, node) for node in ast.walk(ast.parse(path.read_text())))


def _is_fixed(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant)


def _is_text(node: ast.expr) -> bool:
    """Whether an expression is fixed text, or text that is no markup."""
    names = ("Content", "Content.assemble", "Text")
    return _is_fixed(node) or (isinstance(node, ast.Call) and ast.unparse(node.func) in names)


def _says_no_markup(call: ast.Call) -> bool:
    return any(each.arg == "markup" and _is_false(each.value) for each in call.keywords)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@pytest.mark.parametrize("name", ["notify", "Static", "OptionList", "Label"])
def test_what_shows_text_reads_no_markup(name: str) -> None:
    calls = [*_calls(name)]
    assert calls or name == "Label"
    wrong = [
        place
        for place, call in calls
        if not _says_no_markup(call) and not (call.args and _is_fixed(call.args[0]))
    ]
    assert wrong == []


def test_titles_and_tooltips_are_text() -> None:
    attributes = {"border_title", "border_subtitle", "tooltip", "label", "title"}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path, node in _nodes()
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute)
        and target.attr in attributes
        and path.name != "sources.py"
        and not _is_text(node.value)
    ]
    assert wrong == []
