"""The tour of the demo model: each feature once, in the directory of the session."""

from __future__ import annotations

from typing import Final

from acp_agent.models.model import Say, Think
from acp_agent.models.scene import Script, call, plan_after

TOUR_FILE: Final = "acp-tour.txt"
TOUR_TEXT: Final = "The tour of the demo agent.\nThis line will be changed.\n"


def tour(rest: str) -> Script:
    """Yield each feature of the protocol once; `rest` is what else was said, and means nothing."""
    del rest
    yield Think("I show each feature of the protocol once, and leave the directory as it was.")
    yield Say(
        "# The tour\n\nText streams as **Markdown**, with `code`, lists and tables:\n\n"
        "```python\nprint('hello')\n```\n\n| feature | shown |\n|---|---|\n| text | yes |\n\n"
    )
    yield plan_after(0)
    yield Say("First I write a file, for which I have to ask.\n\n")
    written = yield from call("write", path=TOUR_FILE, text=TOUR_TEXT, is_new=True)
    if written.is_failed:
        # What stands there is not ours to change and to delete.
        yield Say(f"It was not written: {written.text}. So the tour ends here.\n\n")
        return
    yield Say("Then I read it.\n\n")
    yield from call("read", path=TOUR_FILE)
    yield plan_after(1)
    yield Say("I look for a word.\n\n")
    yield from call("search", pattern="changed", path=".")
    yield Say("I change a line.\n\n")
    yield from call("edit", path=TOUR_FILE, old="will be", new="was")
    yield plan_after(2)
    yield Say("I run a program.\n\n")
    yield from call("run", command=["cat", TOUR_FILE])
    yield Say("Last I clean up.\n\n")
    cleaned = yield from call("delete", path=TOUR_FILE)
    yield plan_after(3)
    stays = f" `{TOUR_FILE}` stays: {cleaned.text}." if cleaned.is_failed else ""
    yield Say(f"That was the tour.{stays}\n\n")
