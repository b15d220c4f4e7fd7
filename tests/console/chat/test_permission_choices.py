"""The choices of a permission prompt: rejects apart, once before always, wide scopes last."""

from __future__ import annotations

from acp_console.chat.permission_choices import (
    EXPLAINED,
    MAX_NAME,
    first_choice,
    permission_choices,
)
from acp_protocol.jsonrpc import Json


def offered(*options: tuple[str, str]) -> list[Json]:
    """Return options by kind and name."""
    return [{"optionId": name, "kind": kind, "name": name} for kind, name in options]


def shown(*options: tuple[str, str]) -> list[tuple[str, str, bool]]:
    choices = permission_choices(offered(*options))
    return [(each.label, each.key, each.allows) for each in choices]


def test_once_comes_before_always_and_all_last_in_each_group() -> None:
    assert shown(
        ("allow_always", "Allow all edits, and do not ask again"),
        ("reject_always", "Never allow cart.py"),
        ("allow_always", "Allow edits of cart.py, and do not ask again"),
        ("reject_once", "Reject"),
        ("allow_once", "Allow"),
    ) == [
        ("Allow", "y", True),
        ("Allow edits of cart.py, and do not ask again", "a", True),
        ("Allow all edits, and do not ask again", "", True),
        ("Reject", "n", False),
        (EXPLAINED, "w", False),
        ("Never allow cart.py", "", False),
    ]


def test_a_label_says_what_its_name_hides_of_its_kind() -> None:
    labels = [
        label
        for label, key, _ in shown(
            ("allow_once", "No"),
            ("allow_once", "Always Allow"),
            ("allow_always", "Yes"),
            ("allow_always", "Allow for this session"),
            ("reject_once", "Yes"),
            ("later", "Ask me later"),
        )
        if key != "w"
    ]
    assert labels == [
        "No (allows)",
        "Always Allow (once)",
        "Ask me later (later)",
        "Yes (always)",
        "Allow for this session",
        "Yes (rejects)",
    ]


def test_an_option_without_a_visible_name_says_its_kind() -> None:
    labels = [label.strip("\u2800 ") for label, key, _ in shown(
        ("allow_always", ""), ("allow_once", "\u2800 "), ("", " ")) if key != "w"]  # fmt: skip
    assert labels == ["(no name, allow_once)", "(no name, no kind)", "(no name, allow_always)"]


def test_a_name_that_is_too_long_once_its_signs_are_visible_is_not_whole() -> None:
    hidden = "\u200b" * (MAX_NAME // 5) + " and delete all"
    assert not permission_choices(offered(("allow_once", f"Allow{hidden}")))[0].is_whole


def test_the_names_of_real_agents_need_no_more_words() -> None:
    names = [
        ("allow_once", "Approve once"),
        ("allow_once", "Switch to Default Mode and allow once (recommended)"),
        ("allow_always", "Always Allow This Tool"),
        ("reject_once", "Skip this change"),
        ("reject_always", "Never Allow This Tool"),
    ]
    assert {label for label, _, _ in shown(*names)} == {EXPLAINED, *(name for _, name in names)}


def test_the_cursor_begins_on_once_and_never_on_what_lasts() -> None:
    def first(*options: tuple[str, str]) -> str:
        choices = permission_choices(offered(*options))
        return choices[first_choice(choices)].label

    assert first(("allow_always", "Always"), ("allow_once", "Yes"), ("reject_once", "No")) == "Yes"
    assert first(("allow_always", "Always"), ("reject_once", "No")) == "No"
    assert first(("allow_always", "Always"), ("reject_always", "Never")) == "Never"
    assert first(("allow_always", "Always")) == "Always"
