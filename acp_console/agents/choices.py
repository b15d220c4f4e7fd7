"""What the user confirmed and chose for each agent, kept between runs.

It is state, which the console writes; the user writes `config.toml`. A file that cannot be read
counts as empty: then the user is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict

from acp_console.agents.session_options import SessionOption
from acp_console.agents.spec import AgentSpec
from acp_console.paths import choices_path
from acp_console.state_file import StateFile
from acp_protocol.jsonrpc import Json

VERSION: Final = 1


class AgentChoices(BaseModel):
    """What is known of one agent; None where the user has chosen nothing."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    confirmed: tuple[str, ...] | None = None
    """The command from the catalogue that the user agreed to run, with its variables."""
    dialect: str | None = None
    mode: str | None = None
    options: dict[str, str] = {}


class _File(BaseModel):
    v: int = VERSION
    agents: dict[str, AgentChoices] = {}


class ChoiceStore:
    """The choices for all agents, in a file of the state directory."""

    def __init__(self, path: Path | None = None) -> None:
        self._file = StateFile(path or choices_path(), _File.model_validate_json, _dump, _File)

    def get(self, agent: str) -> AgentChoices:
        return self._file.read().agents.get(agent) or AgentChoices()

    def is_confirmed(self, agent: str, command: Sequence[str]) -> bool:
        return self.get(agent).confirmed == tuple(command)

    def confirm(self, agent: str, command: Sequence[str]) -> None:
        """Remember that the user agreed to run a command of the catalogue.

        Raises:
            FileWriteError: the file cannot be written.
        """
        self.update(agent, confirmed=tuple(command))

    def update(self, agent: str, **choices: Any) -> None:
        """Remember some choices for an agent; those with other names stay.

        Raises:
            FileWriteError: the file cannot be written.
        """

        def change(file: _File) -> _File:
            changed = file.agents.get(agent, AgentChoices()).model_copy(update=choices)
            return _File(agents={**file.agents, agent: changed})

        self._file.change(change)

    def remember_dialect(self, agent: AgentSpec, dialect: str | None) -> None:
        """Remember the dialect of an agent for all commands; None: it speaks the protocol.

        Agents without a name are not remembered.

        Raises:
            FileWriteError: the file cannot be written.
        """
        if agent.is_named:
            self.update(agent.name, dialect=dialect)

    def remember(self, agent: AgentSpec, option: SessionOption, value: Json) -> None:
        """Remember what the user chose in a session, for the next one.

        Choices for an agent without a name are not remembered, nor are modes in which an agent acts
        without asking: what was right for one task may be wrong for the next.

        Raises:
            FileWriteError: the file cannot be written.
        """
        if not agent.is_named or option.acts_without_asking(value):
            return
        text = value if isinstance(value, str) else json.dumps(value)
        if option.category == "mode":
            self.update(agent.name, mode=text)
        else:
            self.update(agent.name, options={**self.get(agent.name).options, option.id: text})

    def forget(self, agent: str) -> bool:
        """Remove all choices for an agent; return whether there were any.

        Raises:
            FileWriteError: the file cannot be written.
        """
        if agent not in self._file.read().agents:
            return False
        self._file.change(
            lambda file: _File(
                agents={name: each for name, each in file.agents.items() if name != agent}
            )
        )
        return True


def _dump(file: _File) -> str:
    return file.model_dump_json(exclude_defaults=True, indent=1) + "\n"
