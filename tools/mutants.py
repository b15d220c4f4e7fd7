"""Change the product's logic at random places and see whether the tests notice.

Each mutant is one changed operator or constant, or one dropped statement, in one function. It runs
against the tests of its area, from the nearest to the whole package, until one fails. The files
are changed in place and put back, so the work tree has to be clean. What survives is printed.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parent.parent
PACKAGES: Final = {
    "protocol/acp_protocol": "protocol",
    "inspector/acp_inspector": "inspector",
    "agent/acp_agent": "agent",
    "acp_console": "console",
}
GENERATED: Final = re.compile(r"schema/(v1|v2|methods_v1|methods_v2|words)\.py$")
OPPOSITES: Final[dict[type[ast.AST], Any]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
TIMEOUT_S: Final = 900


@dataclass(frozen=True)
class Mutant:
    """One change of one file."""

    path: Path
    node: ast.expr | ast.stmt
    code: str
    """What takes the place of the node."""
    what: str

    def text(self) -> str:
        """Return the whole file, changed."""
        source = self.path.read_bytes()
        lines = source.splitlines(keepends=True)
        node = self.node
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
        end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
        return (source[:start] + self.code.encode() + source[end:]).decode()


def logic(tree: ast.AST, is_in_function: bool = False) -> Iterator[ast.AST]:
    """Yield the nodes inside functions, except f-strings: their positions are not the file's."""
    is_in_function |= isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.JoinedStr):
            continue
        if is_in_function:
            yield node
        yield from logic(node, is_in_function)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Yield every mutant of a file."""
    for node in logic(ast.parse(path.read_text())):
        match node:
            case ast.Compare(left=left, ops=[op, *ops], comparators=right) if type(op) in OPPOSITES:
                changed = ast.unparse(ast.Compare(left, [OPPOSITES[type(op)](), *ops], right))
                yield Mutant(path, node, f"({changed})", changed)
            case ast.BoolOp(op=op, values=values):
                changed = ast.unparse(ast.BoolOp(OPPOSITES[type(op)](), values))
                yield Mutant(path, node, f"({changed})", changed)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPPOSITES:
                changed = ast.unparse(ast.BinOp(left, OPPOSITES[type(op)](), right))
                yield Mutant(path, node, f"({changed})", changed)
            case ast.UnaryOp(op=ast.Not()):
                changed = ast.unparse(node.operand)
                yield Mutant(path, node, f"({changed})", f"no longer not: {changed}")
            case ast.Constant(value=bool(value)):
                yield Mutant(path, node, repr(not value), f"{not value}")
            case ast.Constant(value=int(value)):
                yield Mutant(path, node, repr(value + 1), f"{value + 1} instead of {value}")
            case ast.Expr(value=ast.Call(func=ast.Name(id="assert_never"))):
                pass
            case (
                ast.Expr(value=ast.Call() | ast.Await())
                | ast.AugAssign()
                | ast.Raise()
                | ast.Assign(targets=[ast.Attribute() | ast.Subscript()])
            ):
                yield Mutant(path, node, "pass", f"dropped: {ast.unparse(node)}")
            case _:
                pass


def areas(path: Path) -> list[list[str]]:
    """Return the tests of the area of a module, the nearest first."""
    relative = path.relative_to(ROOT).as_posix()
    package = next(name for name in PACKAGES if relative.startswith(f"{name}/"))
    tests = ROOT / "tests" / PACKAGES[package]
    inside = path.relative_to(ROOT / package)
    room = inside.parts[0] if len(inside.parts) > 1 else inside.stem
    near = sorted(
        found.as_posix()
        for found in tests.rglob("test_*.py")
        if re.fullmatch(rf"test_({inside.stem}|{inside.stem.rstrip('s')})(_\w+)?", found.stem)
    )
    of_room = [str(found) for found in (tests / room, tests / f"test_{room}.py") if found.exists()]
    others = {
        "protocol": ["tests/agent", "tests/inspector"],
        "inspector": ["tests/console", "tests/test_recordings.py", "tests/faults"],
        "agent": ["tests/interop", "tests/faults", "tests/console"],
        "console": [],
    }
    return [near, of_room, [str(tests)], others[PACKAGES[package]]]


def is_caught(mutant: Mutant) -> bool:
    """Return whether a test of the area fails with the mutant in place."""
    original = mutant.path.read_bytes()
    mutant.path.write_text(mutant.text())
    try:
        for tests in areas(mutant.path):
            if not tests:
                continue
            command = [
                sys.executable,
                "-m",
                "pytest",
                "-qx",
                "-n",
                "auto",
                "-p",
                "no:cacheprovider",
            ]
            try:
                done = subprocess.run(
                    [*command, *tests],
                    cwd=ROOT,
                    capture_output=True,
                    check=False,
                    timeout=TIMEOUT_S,
                )
            except subprocess.TimeoutExpired:
                return True
            if done.returncode not in (0, 5):
                return True
        return False
    finally:
        mutant.path.write_bytes(original)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="which mutants are chosen")
    parser.add_argument("--count", type=int, default=60, help="how many mutants are tried")
    parser.add_argument("--skip", type=int, default=0, help="leave out the first of them")
    parser.add_argument("--list", action="store_true", help="list the mutants, try none")
    arguments = parser.parse_args()
    status = subprocess.run(
        ["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, check=True
    )
    if status.stdout and not arguments.list:
        parser.error("the work tree has changes; commit them first")
    sources = [
        path
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        if not GENERATED.search(path.as_posix())
    ]
    every = [mutant for path in sources for mutant in mutants_of(path)]
    chosen = random.Random(arguments.seed).sample(every, arguments.count)
    survived = 0
    for number, mutant in enumerate(chosen[arguments.skip :], arguments.skip + 1):
        place = f"{mutant.path.relative_to(ROOT)}:{mutant.node.lineno}"
        if arguments.list:
            print(number, place, mutant.what[:90])
            continue
        caught = is_caught(mutant)
        survived += not caught
        print(number, "caught" if caught else "SURVIVED", place, mutant.what[:90], flush=True)
    if not arguments.list:
        print(f"{survived} of {len(chosen) - arguments.skip} survived")
    sys.exit(survived > 0)


if __name__ == "__main__":
    main()
