"""What can be chosen in a session: mode, model, thoughts, and when the user is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, get_args

from acp_agent.models.types import Model, SupportsEffort
from acp_agent.permissions.decide import ASKING_CODE, MODES, POLICIES
from acp_agent.permissions.policy import PermissionPolicy
from acp_agent.settings.model import Effort

MODE: Final = "mode"
MODEL: Final = "model"
THINKING: Final = "thinking"
POLICY: Final = "policy"
EFFORT: Final = "effort"
DEFAULT_EFFORT: Final = "default"
"""The effort that the agent was started with."""
MODE_ALIASES: Final[Mapping[str, str]] = {"auto": "code", "read-only": "architect"}
"""Former names of modes, which clients may still use."""


@dataclass(frozen=True, slots=True)
class OptionChoice:
    """One of several values."""

    value: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class OfferedOption:
    """Something that has one of several values in each session."""

    id: str
    name: str
    category: str
    choices: tuple[OptionChoice, ...]
    default: str = ""
    """The value where nothing was chosen; empty for the first one."""

    def chosen(self, settings: Mapping[str, str]) -> str:
        """Return the value in `settings`, or the first one if there is none that still exists."""
        value = settings.get(self.id)
        values = [choice.value for choice in self.choices]
        if value in values:
            return value
        return self.default or values[0]


_EFFORTS: Final = (
    OptionChoice(DEFAULT_EFFORT, "Default", "Think as hard as the agent was started to"),
    *(
        OptionChoice(effort, effort.capitalize(), f"Think with {effort} effort")
        for effort in get_args(Effort)
    ),
)


def options_for(
    models: Sequence[Model], permissions: PermissionPolicy | None = None
) -> tuple[OfferedOption, ...]:
    """Return the options of a session that these models can serve, the most important first.

    The policy of `permissions` stands where none was chosen.
    """
    permissions = permissions or PermissionPolicy()
    texts = {} if permissions.code_allows else {"code": ASKING_CODE}
    modes = (OptionChoice(id_, name, texts.get(id_, about)) for id_, name, about in MODES)
    named = tuple(OptionChoice(model.name, model.name) for model in models)
    thinks = any(isinstance(model, SupportsEffort) for model in models)
    return (
        OfferedOption(MODE, "Mode", "mode", tuple(modes)),
        OfferedOption(MODEL, "Model", "model", named),
        *([OfferedOption(EFFORT, "Effort", "thought_level", _EFFORTS)] if thinks else []),
        OfferedOption(
            THINKING,
            "Thinking",
            "_thoughts",
            (
                OptionChoice("show", "Show", "Thoughts are shown as they come"),
                OptionChoice("hide", "Hide", "Thoughts are not shown"),
            ),
        ),
        OfferedOption(
            POLICY,
            "Policy",
            "_policy",
            tuple(OptionChoice(*each) for each in POLICIES),
            permissions.default_policy,
        ),
    )
