"""The pages that the code knows best say what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.warm import WARM
from tools.make_docs import FOLDER, pages

ROOT = FOLDER.parent
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def test_made_pages_are_up_to_date() -> None:
    made = pages(WARM)
    known = {"command-line.md", "configuration.md", "keys.md", "rules.md", "tolerances.md"}
    assert made.keys() == known
    for name, text in made.items():
        assert (FOLDER / name).read_text() == text, "run: make docs"


@pytest.mark.parametrize("page", [ROOT / "README.md", *sorted(FOLDER.rglob("*.md"))], ids=str)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target
