"""What is wrong with a script is said with its line, before anything is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from acp_agent.scripted.load import EXAMPLES, ScriptError, find_script, load_script

PROMPT = "async def prompt(call):\n    pass\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x = 1\nasync def prompt(call)\n", "2: invalid Python: expected ':'"),
        ("\nimport no_such_module\n", "2: ModuleNotFoundError: No module named 'no_such_module'"),
        (
            "from acp_agent.scripted import *\nagent = Agent(nme='x')\n",
            "2: TypeError: Agent.__init__() got an unexpected keyword argument 'nme'",
        ),
        ("import sys\nsys.exit(3)\n", "2: exits while it is read"),
        (
            "\nasync def promt(call):\n    pass\n",
            "2: `promt` is the name of no method; did you mean",
        ),
        (
            "async def edit_it(call):\n    pass\n",
            "1: `edit_it` is the name of no method; helpers begin with _, as in `_edit_it`",
        ),
        ("def prompt(call):\n    pass\n", "1: `prompt` has to be an async function"),
        ("async def prompt():\n    pass\n", "1: `prompt` has to take one argument, the call"),
        (
            "async def faults(message, random):\n    pass\n",
            "1: `faults` has to be a plain function",
        ),
        ("agent = 'me'\n", " `agent` has to be an Agent(…)"),
        ("x = 1\n", " defines nothing; begin with `async def prompt(call):`"),
        ("x = '\x00'\n", "invalid Python: source code string cannot contain null bytes"),
    ],
)
def test_a_script_that_cannot_be_used_is_refused_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    path = tmp_path / "script.py"
    path.write_text(text)
    with pytest.raises(ScriptError) as caught:
        load_script(path)
    assert str(caught.value).startswith(f"{path}:")
    assert problem in str(caught.value)


def test_an_error_in_an_imported_module_is_at_the_line_that_imports_it(tmp_path: Path) -> None:
    (tmp_path / "beside_the_script.py").write_text("\n\nraise ValueError('broken')\n")
    path = tmp_path / "script.py"
    path.write_text("\nimport beside_the_script\n")
    with pytest.raises(ScriptError, match=r"script.py:2: ValueError: broken"):
        load_script(path)


def test_a_missing_file_names_the_examples(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="no such file; examples are cancel, chaos, editor"):
        load_script(tmp_path / "none.py")


def test_helpers_and_imported_functions_are_no_methods(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(f"from anyio import sleep\nasync def _help(call):\n    pass\n{PROMPT}")
    assert list(load_script(path).functions) == ["session/prompt"]


def test_functions_are_named_as_the_methods_of_clients(tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    names = ("initialize", "session_new", "session_load", "session_set_mode", "session_cancel")
    path.write_text("\n".join(f"async def {name}(call):\n    pass\n" for name in names))
    methods = [name.replace("session_", "session/") for name in names]
    assert list(load_script(path).functions) == methods


def test_a_bare_word_is_an_example_unless_there_is_such_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_script(Path("tour")) == EXAMPLES / "tour.py"
    Path("tour").write_text(PROMPT)
    assert find_script(Path("tour")) == Path("tour")
    assert find_script(Path("../tour")) == Path("../tour")
