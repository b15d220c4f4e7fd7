"""What the user confirmed and chose for each agent, kept between runs.

It is state, which the console writes; the user writes `config.toml`. A file that cannot be read
counts as empty: then the user is asked again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from acp_console.agents.session_options import SessionOption
from acp_console.agents.spec import AgentSpec
from acp_console.paths import write_private
from acp_protocol.host.state import state_directory
from acp_protocol.jsonrpc import Json
from acp_protocol.user_files.toml_source import InvalidFileError, read_text

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
        self._path = path or state_directory() / "agents.json"

    def get(self, agent: str) -> AgentChoices:
        return self._read().agents.get(agent) or AgentChoices()

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
        # Another process may have written some since.
        file = self._read()
        changed = file.agents.get(agent, AgentChoices()).model_copy(update=choices)
        agents = {**file.agents, agent: changed}
        self._write(agents)

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
        agents = self._read().agents
        if agent not in agents:
            return False
        self._write({name: each for name, each in agents.items() if name != agent})
        return True

    def _read(self) -> _File:
        try:
            return _File.model_validate_json(read_text(self._path))
        except (InvalidFileError, ValidationError):
            return _File()

    def _write(self, agents: dict[str, AgentChoices]) -> None:
        text = _File(agents=agents).model_dump_json(exclude_defaults=True, indent=1)
        write_private(self._path, text + "\n")
