"""Which model it is to be, as the options and the environment tell."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import pytest

from acp_agent.door.flags import load_options, new_parser
from acp_agent.models.anthropic import MessagesModel
from acp_agent.models.demo import DemoModel
from acp_agent.models.factory import ProviderModel, create_model
from acp_agent.models.openai import ChatModel
from acp_agent.models.types import Model, takes_images
from acp_agent.settings.providers import PROVIDERS, SettingsError
from acp_protocol.jsonrpc import Json

STOP: Json = {"choices": [{"finish_reason": "stop"}]}


def choice(*arguments: str, environment: Mapping[str, str] | None = None) -> Model:
    parser = new_parser()
    parser.exit_on_error = False
    settings = load_options(parser.parse_args(["--no-config", *arguments])).settings()
    return create_model(settings.model, environment or {})


def test_nothing_said_means_the_demo_model() -> None:
    assert isinstance(choice(), DemoModel)
    assert isinstance(choice("--model", "demo", environment={"OPENAI_API_KEY": "x"}), DemoModel)


@pytest.mark.parametrize("prefix", PROVIDERS)
def test_every_service_can_be_chosen_without_a_key(prefix: str) -> None:
    model = choice("--model", f"{prefix}:org/name:tag")
    assert model.name == f"{prefix}:org/name:tag"
    kind = MessagesModel if prefix == "anthropic" else ChatModel
    assert isinstance(model, ProviderModel)
    assert isinstance(model.current(), kind)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--model", "oracle"),
        ("--model", "openai"),
        ("--model", "openai:"),
        ("--model", "openai: "),
        ("--model", "openai:a\x1bb"),
        ("--model", "demo:x"),
        ("--thinking", "hard"),
        ("--thinking", "1023"),
        ("--thinking", "٢٠٠٠"),
        ("--max-tokens", "0"),
        ("--temperature", "2.1"),
        ("--temperature", "-1"),
        ("--temperature", "nan"),
        ("--window", "many"),
        ("--prices", "3"),
        ("--prices", "3/-1"),
        ("--prices", "1/2/3/4/5"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: tuple[str, ...]) -> None:
    with pytest.raises(argparse.ArgumentError):
        choice(*arguments)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--model", "openai:x", "--thinking", "2000"), "OpenAI takes an effort"),
    ],
)
def test_what_does_not_go_together_is_told(arguments: tuple[str, ...], reason: str) -> None:
    with pytest.raises(SettingsError, match=reason):
        choice(*arguments)


@pytest.mark.parametrize(
    ("arguments", "does"),
    [
        (("openai:x",), True),
        (("ollama:x",), False),
        (("ollama:x", "--images"), True),
        (("openai:x", "--no-images"), False),
    ],
)
def test_who_looks_at_images_can_be_told(arguments: tuple[str, ...], does: bool) -> None:
    assert takes_images(choice("--model", *arguments)) == does


def test_a_cassette_is_refused_with_the_command_that_records_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit, match="2"):
        new_parser().parse_args(["--model", "openai:x", "--cassette", "turn.tape"])
    assert "acp-console model record --cassette FILE -- acp-agent" in capsys.readouterr().err
