"""How the terminal shows images: found out before the screens begin.

Only a terminal that may show them, by its environment, is queried: with others the start does not
wait. Inside tmux and screen, which take the responses for themselves, none is queried.

Source: kitty, Terminal graphics protocol, Unicode placeholders; XTerm Control Sequences.
"""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
import tty
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from acp_protocol.errors import AcpError

GraphicsProtocol: TypeAlias = Literal["kitty", "sixel"]
ImageSetting: TypeAlias = Literal["auto", "off", "kitty", "sixel"]
"""How images are shown: as the terminal says it can, not at all, or by one protocol."""

IMAGE_SETTINGS: Final[tuple[ImageSetting, ...]] = get_args(ImageSetting)
VARIABLE: Final = "ACP_CONSOLE_IMAGES"
DEFAULT_CELL: Final = (10, 20)
"""Pixels of a cell where the terminal does not say: those of a VT340."""
MAX_CELL: Final = 128
"""Pixels of a side of a cell, at most; more is not believed."""
DEFAULT_COLORS: Final = 256
TERMINAL_FD: Final = 2
"""Where Textual draws."""
TIMEOUT_S: Final = 1.0
"""Seconds in which a terminal answers: a few thousandths, unless it has just begun."""
_PROGRAMS: Final = frozenset(
    {"iTerm.app", "WezTerm", "ghostty", "mintty", "vscode", "rio", "contour", "kitty"}
)
"""Values of TERM_PROGRAM."""
_VARIABLES: Final = frozenset(
    {
        "KITTY_WINDOW_ID", "GHOSTTY_RESOURCES_DIR", "KONSOLE_VERSION", "MLTERM", "WT_SESSION",
        "WEZTERM_PANE", "XTERM_VERSION",
    }
)  # fmt: skip
_TERM: Final = re.compile(r"xterm-kitty|xterm-ghostty|foot|foot-.*|mlterm.*|contour.*|rio|wezterm")
_QUERIES: Final = b"\x1b[>q\x1b[16t"
"""Name and version, size of a cell."""
_COLOR_QUERY: Final = b"\x1b[?1;1;0S"
"""Colours of an image; only xterm has fewer than are used."""
_LAST_QUERY: Final = b"\x1b[c"
"""What every terminal answers: its features."""
_VERSION: Final = re.compile(rb"\x1bP>\|([^\x1b]*)\x1b\\")
_CELL: Final = re.compile(rb"\x1b\[6;(\d{1,4});(\d{1,4})t")
_COLORS: Final = re.compile(rb"\x1b\[\?1;0;(\d{1,6})S")
_FEATURES: Final = re.compile(rb"\x1b\[\?([\d;]*)c")
_KITTY: Final = re.compile(rb"kitty\((\d{1,4})\.(\d{1,4})")
_PLACEHOLDERS_SINCE: Final = (0, 28)
"""The version of kitty that took images as cells of text."""
_SIXEL: Final = b"4"


class ImageSettingError(AcpError):
    """The environment has no setting for images that there is."""


@dataclass(frozen=True, slots=True)
class Graphics:
    """How images are drawn."""

    protocol: GraphicsProtocol
    cell: tuple[int, int] = DEFAULT_CELL
    """Width and height of a cell in pixels."""
    colors: int = DEFAULT_COLORS
    """Colours of one sixel image, at most."""


def may_show_images(environment: Mapping[str, str]) -> bool:
    """Return whether the environment is that of a terminal worth a query."""
    if environment.get("TMUX") or environment.get("STY"):
        return False
    if _VARIABLES & environment.keys() or environment.get("TERM_PROGRAM") in _PROGRAMS:
        return True
    if environment.get("LC_TERMINAL") == "iTerm2":  # It is also known over SSH.
        return True
    return _TERM.fullmatch(environment.get("TERM", "")) is not None


def environment_setting(environment: Mapping[str, str]) -> ImageSetting | None:
    """Return what the environment says, which overrides the configuration; None: nothing.

    Raises:
        ImageSettingError: it says something else.
    """
    value = environment.get(VARIABLE)
    if not value:
        return None
    if value not in IMAGE_SETTINGS:
        choices = ", ".join(IMAGE_SETTINGS)
        raise ImageSettingError(f"{VARIABLE}: choose from {choices}, not {value!r}")
    return value


def kept_setting(path: Path) -> ImageSetting:
    """Return what a configuration says; `auto` where it says nothing, or cannot be read.

    The screens wait for it, so it does without pydantic, which is slow to import; mistakes are
    reported where all of the file is read.
    """
    try:
        content = path.read_bytes()
    except OSError:
        return "auto"
    if b"images" not in content:
        return "auto"
    import tomllib

    try:
        table: Any = tomllib.loads(content.decode()).get("display")
    except (UnicodeDecodeError, tomllib.TOMLDecodeError):
        return "auto"
    value: Any = cast("dict[str, Any]", table).get("images") if isinstance(table, dict) else None
    return value if value in IMAGE_SETTINGS else "auto"


def find_graphics(
    setting: ImageSetting,
    environment: Mapping[str, str],
    *,
    input_fd: int = 0,
    output_fd: int = TERMINAL_FD,
    timeout_s: float = TIMEOUT_S,
) -> Graphics | None:
    """Return how the terminal shows images; None: not at all, or it is not known.

    Reads from the terminal if the setting leaves it to that and the environment is right.
    `NO_COLOR` also switches images off.
    """
    if setting == "off" or "NO_COLOR" in environment:
        return None
    if setting != "auto":
        return Graphics(setting, cell_size(output_fd) or DEFAULT_CELL)
    if not may_show_images(environment):
        return None
    answers = b""
    with suppress(OSError, termios.error):
        if os.isatty(input_fd) and os.isatty(output_fd):
            colors = _COLOR_QUERY if "XTERM_VERSION" in environment else b""
            queries = _QUERIES + colors + _LAST_QUERY
            answers = _answers(queries, input_fd, output_fd, timeout_s)
    return graphics_by(answers, cell_size(output_fd))


def graphics_by(answers: bytes, cell: tuple[int, int] | None = None) -> Graphics | None:
    """Return how a terminal with such answers shows images; `cell` is its size, if known."""
    features = _FEATURES.search(answers)
    if features is None:
        return None
    found = _CELL.search(answers)
    if cell is None and found is not None:
        cell = _believable(int(found[2]), int(found[1]))
    version = _VERSION.search(answers)
    name = b"" if version is None else version[1]
    kitty = _KITTY.match(name)
    has_placeholders = name.lower().startswith(b"ghostty") or (
        kitty is not None and (int(kitty[1]), int(kitty[2])) >= _PLACEHOLDERS_SINCE
    )
    if has_placeholders:
        return Graphics("kitty", cell or DEFAULT_CELL)
    if _SIXEL not in features[1].split(b";")[1:]:
        return None
    colors = _COLORS.search(answers)
    return Graphics(
        "sixel", cell or DEFAULT_CELL, DEFAULT_COLORS if colors is None else max(int(colors[1]), 2)
    )


def cell_size(fd: int) -> tuple[int, int] | None:
    """Return width and height of a cell in pixels, if the terminal has said so to its device."""
    try:
        answer = fcntl.ioctl(fd, termios.TIOCGWINSZ, bytes(8))
    except OSError:
        return None
    rows, columns, width, height = struct.unpack("HHHH", answer)
    return _believable(width // columns, height // rows) if rows and columns else None


def _believable(width: int, height: int) -> tuple[int, int] | None:
    return (width, height) if 2 <= width <= MAX_CELL and 2 <= height <= MAX_CELL else None


def _answers(queries: bytes, input_fd: int, output_fd: int, timeout_s: float) -> bytes:
    """Return the answers of the terminal, until the last of them has come."""
    answers = b""
    with _unbuffered(input_fd):
        if select.select([input_fd], [], [], 0)[0]:
            # Keys that were typed before are for the screens.
            return b""
        os.write(output_fd, queries)
        end = time.monotonic() + timeout_s
        while _FEATURES.search(answers) is None:
            left = end - time.monotonic()
            if left <= 0 or not select.select([input_fd], [], [], left)[0]:
                break
            answers += os.read(input_fd, 1024)
    return answers


@contextmanager
def _unbuffered(fd: int) -> Generator[None]:
    """Read input as it arrives, without an echo."""
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSANOW)
        yield
    finally:
        termios.tcsetattr(fd, termios.TCSANOW, before)
