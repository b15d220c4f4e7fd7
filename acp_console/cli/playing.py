"""Options of the commands that play a recording, and how they read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import click

from acp_console.cli.command import Decorated
from acp_console.cli.param_types import DURATION, PACE
from acp_console.cli.reading import warn_about_line
from acp_inspector.recording.reader import Recording, read_recording


def timeout_option(default: float, about: str) -> Callable[[Decorated], Decorated]:
    """Add `--timeout` to a command; its parameter is in seconds."""
    return click.option(
        "--timeout",
        type=DURATION,
        default=f"{default:g}",
        show_default=True,
        metavar="DURATION",
        help=f"{about}, in seconds or with a unit: 90, 500ms, 5m.",
    )


def pace_option(command: Decorated) -> Decorated:
    """Add `--time` to a command; its parameter is `pace`."""
    return click.option(
        "--time",
        "pace",
        type=PACE,
        default="instant",
        show_default=True,
        metavar="PACE",
        help="Pauses of the recorded side: instant (none), recorded, or a factor for those.",
    )(command)


def trust_option(acts: str) -> Callable[[Decorated], Decorated]:
    """Add `--trust` to a command.

    Args:
        acts: What a recording does that needs trust.
    """
    return click.option(
        "--trust", is_flag=True, help=f"Play a recording also if it acts: if it {acts}."
    )


def allow_redacted_option(command: Decorated) -> Decorated:
    """Add `--allow-redacted` to a command."""
    return click.option(
        "--allow-redacted",
        is_flag=True,
        help="Send placeholders where secrets were removed from a recording.",
    )(command)


def read_whole(path: Path) -> Recording:
    """Read a recording; report unreadable lines on stderr.

    Raises:
        RecordingError: it cannot be read.
    """
    recording = read_recording(path)
    for fault in recording.bad_lines:
        warn_about_line(path, fault)
    return recording
