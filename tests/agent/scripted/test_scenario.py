"""What a scenario holds once it is read."""

from __future__ import annotations

import re

from acp_agent.scripted.scenario import PROMPT, Reaction, Reactions


def prompt(place: str, **how: object) -> Reaction:
    reaction = Reaction(place, PROMPT)
    for name, value in how.items():
        setattr(reaction, name, value)
    return reaction


def course(reactions: list[Reaction], *texts: str) -> list[str | None]:
    """Return what is played for prompts of these texts."""
    chosen = Reactions(reactions)
    found = [chosen.choose(PROMPT, nth, text) for nth, text in enumerate(texts, 1)]
    return [None if each is None else each.place for each in found]


def test_reactions_follow_one_another_and_the_last_stays() -> None:
    assert course([prompt("a"), prompt("b")], "1", "2", "3", "4") == ["a", "b", "b", "b"]


def test_one_for_certain_messages_comes_first() -> None:
    reactions = [
        prompt("a"),
        prompt("third", nth=(3,)),
        prompt("x", contains="x"),
        prompt("y", pattern=re.compile("^y+$")),
    ]
    assert course(reactions, "x1", "yy", "yyx", "z", "ya") == ["x", "y", "third", "a", "a"]


def test_of_those_the_first_in_the_file_is_played() -> None:
    assert course([prompt("a", contains="x"), prompt("b", contains="xy")], "xy") == ["a"]


def test_one_that_was_played_often_enough_is_passed_over() -> None:
    reactions = [prompt("a", contains="x", times=1), prompt("b", times=2), prompt("c", times=1)]
    assert course(reactions, "x", "x", "x", "x", "x") == ["a", "b", "b", "c", None]


def test_another_method_is_another_matter() -> None:
    assert Reactions([prompt("a")]).choose("session/new", 1, "") is None
