"""Which reaction of a scenario a message gets."""

from __future__ import annotations

from acp_agent.scripted.player import Reactions
from acp_agent.scripted.scenario import PROMPT, read_scenario


def course(prompts: str, *texts: str) -> list[str | None]:
    """Return the titles of what is played for prompts of these texts."""
    scenario, _ = read_scenario("".join(f"[[prompt]]\n{each}\n" for each in prompts.split("|")))
    chosen = Reactions(scenario)
    found = [chosen.choose(PROMPT, text)[1] for text in texts]
    return [None if each is None else each.result for each in found]


def test_reactions_follow_one_another_and_the_last_stays() -> None:
    text = "result = '\"a\"' | result = '\"b\"'"
    assert course(text, "1", "2", "3", "4") == ["a", "b", "b", "b"]


def test_one_for_certain_messages_comes_first() -> None:
    text = (
        "result = '\"a\"' | result = '\"third\"'\nnth = 3 | result = '\"x\"'\ncontains = 'x'"
        "| result = '\"y\"'\nmatches = '^y+$'"
    )
    assert course(text, "x1", "yy", "yyx", "z", "ya") == ["x", "y", "third", "a", "a"]


def test_of_those_the_first_in_the_file_is_played() -> None:
    text = "result = '\"a\"'\ncontains = 'x' | result = '\"b\"'\ncontains = 'xy'"
    assert course(text, "xy") == ["a"]


def test_one_that_was_played_often_enough_is_passed_over() -> None:
    text = (
        "result = '\"a\"'\ncontains = 'x'\ntimes = 1 | result = '\"b\"'\ntimes = 2"
        "| result = '\"c\"'\ntimes = 1"
    )
    assert course(text, "x", "x", "x", "x", "x") == ["a", "b", "b", "c", None]


def test_another_method_is_another_matter() -> None:
    scenario, _ = read_scenario("[[prompt]]\nstop = 'refusal'")
    assert Reactions(scenario).choose("session/new", "") == (1, None)
