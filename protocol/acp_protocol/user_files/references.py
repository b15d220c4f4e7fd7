"""References to variables of the environment in the values of a file, as in `${API_KEY}`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from acp_protocol.user_files.toml_source import InvalidFileError

REFERENCE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


def expand_variables(
    pairs: Mapping[str, str], environment: Mapping[str, str], at: Callable[[str], str]
) -> dict[str, str]:
    """Return names and values, with variables in place of the references in the values.

    Raises:
        InvalidFileError: a variable is not set; `at` returns the place of a name for the message.
    """
    expanded: dict[str, str] = {}
    for name, text in pairs.items():
        for variable in REFERENCE.findall(text):
            if variable not in environment:
                raise InvalidFileError(f"{at(name)}: the variable {variable} is not set")
        expanded[name] = REFERENCE.sub(lambda found: environment[found[1]], text)
    return expanded
