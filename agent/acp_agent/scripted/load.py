"""Reads a script: a Python file with an async function for each method.

A script is code of the user, so only the file that the user names is run.
"""

from __future__ import annotations

import inspect
import sys
import traceback
from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from types import CodeType
from typing import Any, Final

from acp_agent.scripted.kit import Agent, Script, ScriptFunction
from acp_protocol.errors import AcpError
from acp_protocol.schema.methods import METHODS

EXAMPLES: Final = Path(__file__).parent / "examples"
"""Scripts that are found by their names."""
FUNCTIONS: Final = {
    spec.name.replace("/", "_"): spec.name
    for spec in METHODS
    if spec.sent_by in {"client", "either"}
}
"""The methods of a client by the names of their functions."""
NAMES: Final = (*FUNCTIONS, "prompt", "faults", "agent")


class ScriptError(AcpError):
    """A script cannot be used; the message has the file and the line."""

    def __init__(self, path: Path, line: int | None, sentence: str) -> None:
        super().__init__(f"{path}{'' if line is None else f':{line}'}: {sentence}")


def find_script(path: Path) -> Path:
    """Return the file that is meant: a bare word that is no file may be one of the examples."""
    example = EXAMPLES / f"{path}.py"
    return example if len(path.parts) == 1 and not path.exists() and example.is_file() else path


def example_names() -> Sequence[str]:
    return sorted(path.stem for path in EXAMPLES.glob("[a-z]*.py"))


def load_script(path: Path) -> Script:
    """Run the file, and return the script that it defines.

    Raises:
        ScriptError: it cannot be read, raises, or defines something unknown.
    """
    module: dict[str, Any] = {"__name__": "script", "__file__": str(path)}
    code = _compiled(path)
    # Modules beside the script can be imported, as with `python FILE`.
    sys.path.insert(0, str(path.parent.resolve()))
    try:
        exec(code, module)  # noqa: S102 - the user has named this file
    except SystemExit as error:
        raise ScriptError(path, error_line(error, path), "exits while it is read") from error
    except Exception as error:
        raise ScriptError(path, error_line(error, path), error_sentence(error)) from error
    return _script(path, module)


def error_sentence(error: BaseException) -> str:
    """Return what an exception says, in one line."""
    text = " ".join(str(error).split())
    name = type(error).__name__
    if not text:
        return "an assertion failed" if isinstance(error, AssertionError) else name
    return f"{name}: {text}"


def error_line(error: BaseException, path: Path) -> int | None:
    """Return the last line of the script that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else None


def _compiled(path: Path) -> CodeType:
    try:
        return compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
    except FileNotFoundError:
        examples = ", ".join(example_names())
        raise ScriptError(path, None, f"there is no such file; examples are {examples}") from None
    except OSError as error:
        raise ScriptError(path, None, f"cannot be read: {error.strerror}") from None
    except SyntaxError as error:
        raise ScriptError(path, error.lineno, f"invalid Python: {error.msg}") from None
    except ValueError as error:
        raise ScriptError(path, None, f"invalid Python: {error}") from None


def _script(path: Path, module: dict[str, Any]) -> Script:
    agent = module.get("agent", Agent())
    if not isinstance(agent, Agent):
        raise ScriptError(path, None, "`agent` has to be an Agent(…)")
    functions: dict[str, ScriptFunction] = {}
    for name, value in module.items():
        if not inspect.isfunction(value) or value.__code__.co_filename != str(path):
            continue
        if name == "faults":
            continue
        method = "session/prompt" if name == "prompt" else FUNCTIONS.get(name)
        if method is not None:
            _check_function(path, name, value)
            functions[method] = value
        elif inspect.iscoroutinefunction(value) and not name.startswith("_"):
            raise ScriptError(path, value.__code__.co_firstlineno, _unknown(name))
    faults = module.get("faults")
    if inspect.iscoroutinefunction(faults):
        line = faults.__code__.co_firstlineno
        raise ScriptError(path, line, "`faults` has to be a plain function, not an async one")
    if not functions and faults is None and "agent" not in module:
        raise ScriptError(path, None, "defines nothing; begin with `async def prompt(call):`")
    return Script(agent, functions, faults)


def _check_function(path: Path, name: str, function: Any) -> None:
    line = function.__code__.co_firstlineno
    if not inspect.iscoroutinefunction(function):
        raise ScriptError(path, line, f"`{name}` has to be an async function: `async def {name}`")
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        raise ScriptError(path, line, f"`{name}` has to take one argument, the call") from None


def _unknown(name: str) -> str:
    close = get_close_matches(name, NAMES, 1)
    guess = f"did you mean `{close[0]}`?" if close else f"helpers begin with _, as in `_{name}`"
    return f"`{name}` is the name of no method; {guess}"


def with_options(script: Script, **changes: Any) -> Script:
    """Return a script with other fields of its agent; None leaves one as it is."""
    given = {name: value for name, value in changes.items() if value is not None}
    return Script(replace(script.agent, **given), script.functions, script.faults)
