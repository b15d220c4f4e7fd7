"""Hooks in a file: what they may do, what becomes of their mistakes, and of a file that changes."""

from __future__ import annotations

import json
import os
import re
import runpy
import sys
from pathlib import Path
from types import FunctionType

import pytest

from acp_inspector.intercept.addons import RELOAD_INTERVAL_S, Addon, AddonError
from tests.inspector.intercept.scene import NOTIFICATION, REQUEST, Scene

DOCS = Path(__file__).parents[3] / "docs/intercept.md"
SOON = 20
"""Seconds that a hook may take that does return."""
HANGING = "import threading\ndef on_frame(frame, flow): threading.Event().wait()\n"


def written(path: Path, body: str, second: int = 1) -> Path:
    """Write an add-on; each `second` is another time of change."""
    path.write_text(body)
    os.utime(path, (second, second))
    return path


def scene_of(path: Path, timeout: float = SOON) -> tuple[Scene, Addon]:
    """Return a scene with an add-on that goes by its clock."""
    scene = Scene()
    addon = Addon(path, scene.warnings.append, scene.clock, timeout=timeout)
    scene.hooks.append(addon)
    scene.open()
    return scene, addon


def hook(tmp_path: Path, body: str) -> Scene:
    """Return a scene with an add-on whose `on_frame` has that body."""
    lines = "\n    ".join(body.splitlines())
    return scene_of(written(tmp_path / "a.py", f"def on_frame(frame, flow):\n    {lines}"))[0]


@pytest.mark.parametrize(
    ("body", "left", "events"),
    [
        ("pass", [REQUEST], []),
        ("flow.drop()", [], ["discarded"]),
        ("flow.discard()", [], ["discarded"]),
        ("flow.replace(b'x')", [b"x"], ["edited"]),
        ("flow.replace(frame.raw)", [REQUEST], []),
        ("flow.replace({'a': frame.json()['id'] + frame.n})", [b'{"a":2}'], ["edited"]),
        ("flow.answer(result=1)", [], ["answered"]),
        ("flow.note('hi')", [REQUEST], ["note"]),
        ("flow.inject('client', b'x')", [b"x", REQUEST], ["injected"]),
    ],
)
def test_a_hook_acts_on_its_frame(
    body: str, left: list[bytes], events: list[str], tmp_path: Path
) -> None:
    scene = hook(tmp_path, body)
    assert scene.passed("client", REQUEST) == [line + b"\n" for line in left]
    assert [name for name, _ in scene.events()] == events
    assert {data["by"] for _, data in scene.events()} <= {"a.py"}
    assert scene.warnings == []


def test_an_answer_of_a_hook_goes_back(tmp_path: Path) -> None:
    scene = hook(tmp_path, "flow.answer(error={'code': 1, 'message': 'no'})")
    scene.passed("client", REQUEST)
    (answer,) = scene.out("agent")
    assert json.loads(answer)["error"] == {"code": 1, "message": "no"}


def test_a_hook_can_delay(tmp_path: Path) -> None:
    scene = hook(tmp_path, "flow.delay(2)")
    assert scene.passed("agent", NOTIFICATION) == []
    scene.now = 2
    assert scene.out("agent") == [NOTIFICATION + b"\n"]


@pytest.mark.parametrize(
    "mistake",
    [
        "1 / 0",
        "raise SystemExit",
        "raise KeyboardInterrupt",
        "frame.json()['nothing']",
        "flow.replace(b'a\\nb')",
        "flow.replace(object())",
        "flow.replace(float('nan'))",
        "flow.answer(result=1)",
        "flow.answer(error='no')",
        "flow.delay(-1)",
        "flow.inject('nobody', b'x')",
        "flow.inject('agent', b'a\\nb')",
        "flow.inject('agent', 'text')",
        "on_frame(frame, flow)",
    ],
)
def test_a_failing_hook_changes_nothing_and_is_reported_once(mistake: str, tmp_path: Path) -> None:
    scene = hook(tmp_path, f"flow.note('before')\nflow.inject('agent', b'x')\n{mistake}")
    assert scene.passed("agent", NOTIFICATION, NOTIFICATION) == [
        NOTIFICATION + b"\n",
        NOTIFICATION + b"\n",
    ]
    assert scene.events() == []
    (warning,) = scene.warnings
    assert warning.startswith("a.py, on_frame (line ")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("def on_frame(", "failed: SyntaxError: "),
        ("raise SystemExit(3)", "failed: SystemExit: 3"),
        ("x = 1", "has no function `on_frame(frame, flow)`"),
        ("on_frame = 1", "has no function `on_frame(frame, flow)`"),
    ],
)
def test_a_file_that_is_no_addon_is_refused(body: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AddonError, match=re.escape(reason)):
        Addon(written(tmp_path / "a.py", body), print)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AddonError, match=r"cannot be read: No such file"):
        Addon(tmp_path / "none.py", print)


def version(name: str) -> str:
    return (
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "@dataclass\nclass Box:\n    n: int\n"
        f"def start(flow): flow.inject('agent', b'start {name}')\n"
        f"def on_frame(frame, flow): flow.replace(b'{name}')\n"
        f"def done(): raise ValueError('done {name}')\n"
    )


def test_a_changed_file_is_loaded_anew_but_looked_at_once_a_second(tmp_path: Path) -> None:
    path = written(tmp_path / "a.py", version("one"))
    scene, _ = scene_of(path)
    assert scene.passed("agent", NOTIFICATION) == [b"start one\n", b"one\n"]
    written(path, version("two"), 2)
    assert scene.passed("agent", NOTIFICATION) == [b"one\n"]
    scene.now = RELOAD_INTERVAL_S
    assert scene.passed("agent", NOTIFICATION) == [b"start two\n", b"two\n"]
    assert scene.warnings == [
        "a.py, done (line 8) failed and is skipped: ValueError: done one",
        "add-on a.py was reloaded",
    ]


def test_a_broken_version_is_reported_once_and_the_one_before_goes_on(tmp_path: Path) -> None:
    path = written(tmp_path / "a.py", version("one"))
    scene, _ = scene_of(path)
    scene.passed("agent", NOTIFICATION)
    written(path, "def on_frame(", 2)
    for second in (1, 2, 3):
        scene.now = second * RELOAD_INTERVAL_S
        assert scene.passed("agent", NOTIFICATION) == [b"one\n"]
    (warning,) = scene.warnings
    assert warning.endswith("; the version before goes on")
    path.unlink()
    scene.now = 9
    assert scene.passed("agent", NOTIFICATION) == [b"one\n"]
    written(path, version("three"), 3)
    scene.now = 20
    assert scene.passed("agent", NOTIFICATION)[-1] == b"three\n"


def test_a_hook_that_hangs_is_skipped_until_its_file_changes(tmp_path: Path) -> None:
    path = written(tmp_path / "a.py", HANGING)
    scene, _ = scene_of(path, timeout=2)
    assert scene.passed("agent", NOTIFICATION, NOTIFICATION) == [NOTIFICATION + b"\n"] * 2
    assert scene.passed("client", REQUEST) == [REQUEST + b"\n"]
    assert scene.warnings == [
        "a.py, on_frame (line 2) did not return in 2 s: it is skipped until the file changes"
    ]
    written(path, "def on_frame(", 2)
    scene.now = RELOAD_INTERVAL_S
    assert scene.passed("agent", NOTIFICATION) == [NOTIFICATION + b"\n"]
    assert scene.warnings[-1].endswith("; the version before stays skipped")
    written(path, "def on_frame(frame, flow): flow.replace(b'better')", 3)
    scene.now = 2 * RELOAD_INTERVAL_S
    assert scene.passed("agent", NOTIFICATION) == [b"better\n"]


def test_what_a_hook_does_after_it_was_given_up_does_not_happen(tmp_path: Path) -> None:
    body = (
        "import threading\nwakes, has_done = threading.Event(), threading.Event()\n"
        "def on_frame(frame, flow):\n"
        "    wakes.wait()\n"
        "    for deed in (flow.drop, lambda: flow.inject('agent', b'late')):\n"
        "        try: deed()\n"
        "        except ValueError: pass\n"
        "    has_done.set()\n"
    )
    scene, _ = scene_of(written(tmp_path / "late.py", body), timeout=2)
    assert scene.passed("agent", NOTIFICATION) == [NOTIFICATION + b"\n"]
    module = sys.modules["acp_addon_late"]
    module.wakes.set()
    module.has_done.wait(0.2)
    assert scene.out("agent") == []
    assert scene.events() == []


def test_a_file_that_does_not_come_to_its_end_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.py", "import threading\nthreading.Event().wait()")
    with pytest.raises(AddonError, match=re.escape("did not come to its end in 0.1 s (line 2)")):
        Addon(path, print, timeout=0.1)


def test_a_new_version_that_hangs_while_it_is_loaded_leaves_the_old_one(tmp_path: Path) -> None:
    path = written(tmp_path / "a.py", version("one"))
    scene, _ = scene_of(path, timeout=2)
    scene.passed("agent", NOTIFICATION)
    written(path, "import threading\nthreading.Event().wait()", 2)
    scene.now = RELOAD_INTERVAL_S
    assert scene.passed("agent", NOTIFICATION) == [b"one\n"]
    assert scene.warnings[0].endswith("(line 2); the version before goes on")


def test_a_hook_for_which_there_is_no_memory_has_done_nothing(tmp_path: Path) -> None:
    scene = hook(tmp_path, "flow.replace(b'x' * 2**62)")
    assert scene.passed("agent", NOTIFICATION) == [NOTIFICATION + b"\n"]
    assert "MemoryError" in scene.warnings[0]


def test_at_the_end_done_is_called_once_and_no_hook_after_it(tmp_path: Path) -> None:
    path = written(tmp_path / "a.py", version("one"))
    scene, addon = scene_of(path)
    scene.passed("agent", NOTIFICATION)
    addon.close()
    addon.close()
    assert scene.passed("agent", NOTIFICATION) == [NOTIFICATION + b"\n"]
    assert len(scene.warnings) == 1


def test_the_example_in_the_documents_works(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (body,) = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    path = written(tmp_path / "hooks.py", body)
    assert isinstance(runpy.run_path(str(path))["on_frame"], FunctionType)
    scene, addon = scene_of(path)
    permission = {
        "jsonrpc": "2.0",
        "id": 5,
        "method": "session/request_permission",
        "params": {"toolCall": {"kind": "read"}, "options": [{"optionId": "yes"}]},
    }
    assert scene.passed("agent", json.dumps(permission).encode()) == []
    (answer,) = scene.out("client")
    outcome = {"outcome": {"outcome": "selected", "optionId": "yes"}}
    assert json.loads(answer)["result"] == outcome
    assert scene.passed("agent", *[NOTIFICATION] * 100) == [NOTIFICATION + b"\n"] * 100
    prompt = b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{}}'
    assert b'"seenBy":"hooks.py"' in scene.passed("client", prompt)[0]
    addon.close()
    assert capsys.readouterr().out.endswith("100 updates in all\n")
    assert scene.warnings == []
