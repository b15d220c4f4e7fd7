"""Rules of the repository that no other tool checks: start-up imports, packages, forbidden text."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HOME = Path.home()
"""The home of who runs the tests, taken before the tests get one of their own."""
PACKAGES = {
    "acp_console": ROOT / "acp_console",
    "acp_agent": ROOT / "agent/acp_agent",
    "acp_inspector": ROOT / "inspector/acp_inspector",
    "acp_protocol": ROOT / "protocol/acp_protocol",
}
CHECKS = {"annotated_types", "pydantic", "pydantic_core", "typing_inspection"}
"""What the agent checks its settings and each message with."""
LIGHT = {
    "acp_protocol.errors": set[str](),
    "acp_protocol.framing": set[str](),
    "acp_protocol.jsonrpc": set[str](),
    "acp_protocol.endpoint": set[str](),
    "acp_inspector.filter.completion": set[str](),
    "acp_inspector.filter.frames": set[str](),
    "acp_inspector.filter.compiler": set[str](),
    "acp_inspector.journal": set[str](),
    "acp_inspector.proxy.session": set[str](),
    "acp_inspector.recording.writer": set[str](),
    "acp_inspector.recording.reader": set[str](),
    "acp_console.cli.main": set[str](),
    "acp_console.cli.proxy": set[str](),
    "acp_console.cli.exec": {"anyio", "click", "typing_extensions"},
    "acp_agent.door.serving": {"anyio", "typing_extensions", *CHECKS},
}
"""What each module may import of other people's work, whatever stands between."""
LOOPLESS = (
    "acp_console.cli.proxy",
    "acp_inspector.filter.frames",
    "acp_inspector.filter.compiler",
    "acp_inspector.proxy.session",
    "acp_protocol.endpoint",
)
"""Modules that start without an event loop."""
REPORT = """
import atexit, runpy, sys
at_start = set(sys.modules)
atexit.register(lambda: sys.stderr.write(f"loaded: {' '.join(set(sys.modules) - at_start)}\\n"))
sys.argv = sys.argv[1:]
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
"""Runs a module as `python -m` does; at the end names on stderr what has been imported."""
INITIALIZE = (
    b'{"jsonrpc":"2.0","id":0,"method":"initialize",'
    b'"params":{"protocolVersion":1,"clientCapabilities":{}}}\n'
)


def loaded_by(module: str, *arguments: str, stdin: bytes = b"") -> set[str]:
    """Return the modules that `python -m MODULE ARGUMENTS` has imported by the time it ends."""
    command = [sys.executable, "-c", REPORT, module, *arguments]
    done = subprocess.run(command, input=stdin, capture_output=True, check=True, timeout=60)
    names = re.findall(r"^loaded: (.*)$", done.stderr.decode(), re.MULTILINE)
    assert names, done.stderr.decode()
    return set(names[-1].split()) - {"runpy"}


def imported_by(module: str) -> set[str]:
    """Return the modules that `import MODULE` imports in a fresh interpreter."""
    program = f"import sys; at = set(sys.modules); import {module}; print(*set(sys.modules) - at)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    return set(done.stdout.decode().split())


def foreign(modules: set[str]) -> set[str]:
    """Return the packages among `modules` that are neither ours nor the standard library's."""
    tops = {name.partition(".")[0] for name in modules}
    ours = {*PACKAGES, "__main__"}
    # The data of sysconfig bear the machine's name, hence stand in no list.
    return {
        top
        for top in tops
        if top not in sys.stdlib_module_names | ours and not top.startswith("_sysconfigdata")
    }


@cache
def known_files() -> tuple[Path, ...]:
    """Return the files that are in git or could be added to it."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    paths = (ROOT / name for name in listed.decode().split("\0") if name)
    return tuple(sorted({path for path in paths if path.is_file()}))


def texts() -> Iterator[tuple[str, str]]:
    """Yield name and text of every text file that git knows."""
    for path in known_files():
        content = path.read_bytes()
        if b"\0" not in content[:8192]:
            yield str(path.relative_to(ROOT)), content.decode("utf-8", "replace")


@pytest.mark.parametrize("module", LIGHT)
def test_a_module_imports_no_more_than_its_short_list(module: str) -> None:
    assert foreign(imported_by(module)) <= LIGHT[module]


@pytest.mark.parametrize("module", LOOPLESS)
def test_what_an_editor_waits_for_imports_no_event_loop(module: str) -> None:
    assert "asyncio" not in imported_by(module)


def test_the_proxy_imports_nothing_late_either(tmp_path: Path) -> None:
    """The first frame would pay for it; to look for a dialect takes only words."""
    record = ("--record", str(tmp_path / "it.acp.ndjson"))
    loaded = loaded_by("acp_console", "proxy", *record, "--", "cat", stdin=INITIALIZE)
    assert foreign(loaded) == set()
    assert "asyncio" not in loaded
    schemas = {name for name in loaded if name.startswith("acp_protocol.schema.")}
    assert schemas <= {"acp_protocol.schema.vocabulary", "acp_protocol.schema.words"}
    assert "acp_protocol.dialects.base" not in loaded


def test_the_agent_answers_without_screens_and_without_the_inspector() -> None:
    loaded = loaded_by("acp_agent", stdin=INITIALIZE)
    assert foreign(loaded) <= LIGHT["acp_agent.door.serving"]
    assert [name for name in loaded if name.startswith(("acp_console", "acp_inspector"))] == []


@pytest.mark.parametrize("package", PACKAGES)
def test_every_folder_with_modules_is_a_package(package: str) -> None:
    folders = {path.parent for path in PACKAGES[package].rglob("*.py")}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


@pytest.mark.parametrize("folder", ["agent", "inspector", "protocol"])
def test_a_folder_that_holds_a_package_is_none_itself(folder: str) -> None:
    """As a package it would collide with the packages of the people who build agents."""
    assert list((ROOT / folder).glob("*.py")) == []


def test_no_file_names_the_host_of_a_registry() -> None:
    """The words are built in pieces, or this file would be the one that names them."""
    hosts = [
        "pypi" + ".org",
        "python" + "hosted.org",
        "registry.npm" + "js",
        "registry.yarn" + "pkg",
    ]
    found = [(name, host) for name, text in texts() for host in hosts if host in text]
    assert found == []


def test_no_lock_says_where_files_come_from() -> None:
    spots = re.compile(
        r"^\s*(-i|-f|--(extra-)?index-url|--find-links|--trusted-host)\b|://", re.MULTILINE
    )
    locks = [path for path in known_files() if path.match("requirements*.txt")]
    assert locks
    assert [path.name for path in locks if spots.search(path.read_text())] == []


def test_no_file_names_a_path_of_this_machine() -> None:
    places = (ROOT, ROOT.parent / "shared", HOME, Path(sys.base_prefix))
    # One level deep is too common a word, and good for examples: /usr, /app, /root.
    words = [str(place) for place in places if len(place.parts) > 2]
    found = [(name, word) for name, text in texts() for word in words if word in text]
    assert found == []


def test_no_product_code_reads_the_folder_beside_the_checkout() -> None:
    word = ".." + "/shared"
    code = [(name, text) for name, text in texts() if not name.startswith(("tests/", "docs/"))]
    assert [name for name, text in code if word in text] == []
