"""An exported page in a browser: nothing in it runs, and nothing is fetched.

The page is what a chat with a hostile agent becomes. Chromium looks up each name at a server of
the test and prints the page as it is once scripts would have run. A page without the policy, and
the same page with the agent's HTML in it as it came, show that the test would see it.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread

import pytest

from acp_console.wording.transcript_html import html_page
from acp_console.wording.transcript_markdown import document_lines
from acp_inspector.session.conversations import Conversations
from tests.inspector.talks import answer, ask, chunk, frames, prompt, update

pytestmark = pytest.mark.long

LIMIT_S = 60.0
RUN = "document.documentElement.id = 'ran'"
HOSTILE = f"""\
# <script>{RUN}</script>

<img src="http://evil.example/a.png" onerror="{RUN}"> <svg onload="{RUN}"></svg>
<link rel=stylesheet href="http://evil.example/b.css"> <iframe src="http://evil.example/c"></iframe>
<style>body {{ background: url(http://evil.example/d.png) }} * {{ display: none }}</style>
<meta http-equiv=refresh content="0;url=http://evil.example/e"> <base href="http://evil.example/">
![pixel](http://evil.example/f.png) [go](javascript:document.documentElement.id='ran')
<form action="http://evil.example/g"><input autofocus onfocus="{RUN}"></form>

| a |
|:-:|
| <video src="http://evil.example/h" onerror="{RUN}"></video> \u202eexe |

<!-- hidden
"""
INJECTED = f"""\
<script>{RUN}</script><img src="http://evil.example/a.png" onerror="{RUN}">
<link rel=stylesheet href="http://evil.example/b.css"><iframe src="http://evil.example/c"></iframe>
<style>body {{ background: url(http://evil.example/d.png) }}</style><svg onload="{RUN}"></svg>
"""
FENCED = f'```html\n</code></pre><script>{RUN}</script><img src=x onerror="{RUN}">\n```'


@pytest.fixture(scope="module")
def chromium() -> str:
    names = ("chromium", "chromium-browser", "google-chrome")
    if (program := next(filter(None, map(shutil.which, names)), None)) is not None:
        return program
    if os.environ.get("CI"):
        pytest.fail("Chromium is not installed")
    pytest.skip("Chromium is not installed")


class Looked:
    """What a browser did with a page."""

    def __init__(self) -> None:
        self.page = ""
        """The page at the end, as HTML."""
        self.log = ""
        self.requests: list[str] = []

    @property
    def has_run(self) -> bool:
        return 'id="ran"' in self.page


@contextmanager
def listening(requests: list[str]) -> Generator[int]:
    """Listen for requests, answer none, and yield the port."""
    server = socket.create_server(("127.0.0.1", 0))

    def accept() -> None:
        while True:
            try:
                link, _ = server.accept()
            except OSError:
                return
            with link:
                # A browser may connect in advance.
                link.settimeout(1)
                with suppress(TimeoutError):
                    requests.append(link.recv(4096).decode(errors="replace"))

    thread = Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield server.getsockname()[1]
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
        thread.join(LIMIT_S)


def look(chromium: str, folder: Path, page: str) -> Looked:
    looked = Looked()
    (folder / "page.html").write_text(page)
    with listening(looked.requests) as port:
        done = subprocess.run(
            [
                chromium,
                *("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", "--disable-component-update"),
                *("--enable-logging=stderr", "--virtual-time-budget=2000"),
                f"--proxy-server=http://127.0.0.1:{port}",
                f"--user-data-dir={folder / 'profile'}",
                "--dump-dom",
                (folder / "page.html").as_uri(),
            ],
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    looked.page, looked.log = done.stdout, done.stderr
    looked.requests = [each for each in looked.requests if "evil.example" in each]
    return looked


def exported() -> str:
    """Return the page of a chat in which everything that the agent sends is hostile."""
    conversations = Conversations()
    diff = {"type": "diff", "path": "/a<script>", "oldText": "a", "newText": HOSTILE}
    image = {
        "type": "image",
        "mimeType": "image/png",
        "uri": "http://evil.example/i.png",
        "data": "",
    }
    said = (
        prompt(1, HOSTILE),
        chunk(HOSTILE, kind="agent_thought_chunk"),
        chunk(f"{HOSTILE}\n-->\n\n{FENCED}"),
        update("plan", entries=[{"content": HOSTILE, "status": "pending"}]),
        update("tool_call", toolCallId="c", title=HOSTILE, kind="edit", content=[diff]),
        ask("agent", 2, "terminal/create", sessionId="s1", command=HOSTILE),
        answer("client", 2, {"terminalId": "t"}),
        update(
            "tool_call_update", toolCallId="c", content=[{"type": "terminal", "terminalId": "t"}]
        ),
        ask("agent", 3, "terminal/output", sessionId="s1", terminalId="t"),
        answer("client", 3, {"output": HOSTILE * 8, "truncated": False}),
        ask("agent", 4, "elicitation/create", sessionId="s1", message=HOSTILE),
        update("agent_message_chunk", content=image),
        answer("agent", 1, {"stopReason": "end_turn"}),
    )
    for frame in frames(*said):
        conversations.apply(frame)
    lines = document_lines([conversations.get("s1")], title=HOSTILE, facts=[HOSTILE], agent=HOSTILE)
    return "\n".join(html_page(lines))


def test_nothing_of_a_hostile_chat_runs_or_is_fetched(chromium: str, tmp_path: Path) -> None:
    page = exported()
    looked = look(chromium, tmp_path, page)
    assert looked.page.count("hidden") >= page.count("hidden") > 3
    assert (looked.has_run, looked.requests) == (False, [])
    # The page itself does nothing that its policy forbids.
    assert "Content Security Policy" not in looked.log


def test_what_came_as_html_is_stopped_by_the_policy_alone(chromium: str, tmp_path: Path) -> None:
    page = exported().replace("</body>", f"{INJECTED}</body>")
    (tmp_path / "with").mkdir()
    looked = look(chromium, tmp_path / "with", page)
    assert (looked.has_run, looked.requests) == (False, [])
    assert "Content Security Policy" in looked.log
    # Without it, all of that happens.
    (tmp_path / "without").mkdir()
    policy = page[page.index("<meta http-equiv") : page.index("<meta name=")]
    looked = look(chromium, tmp_path / "without", page.replace(policy, ""))
    assert looked.has_run
    assert looked.requests
