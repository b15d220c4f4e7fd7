"""The content blocks of a prompt: its text, and the files that it mentions as `@path`.

A text is embedded where the agent takes that, an image or a recording where it takes those; any
other file is a link, which every agent takes.

Source: ACP, Content; Prompt Capabilities.
"""

from __future__ import annotations

import mimetypes
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

from acp_protocol.json_values import get
from acp_protocol.jsonrpc import Json
from acp_protocol.schema.vocabulary import PROMPT_CAPABILITIES

MAX_TEXT: Final = 2**18
"""Bytes of a text that is embedded, at most; a longer one is linked."""
MAX_MEDIA: Final = 10 * 2**20
"""Bytes of an image or a recording, at most."""
_MENTION: Final = re.compile(r'(?:^|(?<=[\s(]))@(?:"([^"\n]+)"|([^\s"]+))')
_END: Final = ".,;:!?)]}'"


class PromptAbilities:
    """What an agent takes in prompts besides text and links."""

    def __init__(self, capabilities: Mapping[str, Json], version: int) -> None:
        """Read the capabilities of the response to `initialize`."""
        claimed = (
            capabilities.get("promptCapabilities")
            if version == 1
            else get(capabilities.get("session"), "prompt")
        )
        self.claimed = {
            name for name in PROMPT_CAPABILITIES.values() if get(claimed, name) not in (None, False)
        }


def prompt_blocks(
    text: str, cwd: Path, abilities: PromptAbilities, files: Sequence[Path] = ()
) -> list[Json]:
    """Return the blocks of a prompt; reads the files, so call it in a thread.

    Args:
        text: what the user wrote; it stays as it is.
        cwd: where the paths in it start from.
        abilities: what the agent takes.
        files: files to send besides those that the text mentions.
    """
    paths = dict.fromkeys([*files, *mentioned_files(text, cwd)])
    blocks: list[Json] = [{"type": "text", "text": text}] if text else []
    return blocks + [file_block(path, abilities) for path in paths]


def mentioned_files(text: str, cwd: Path) -> Iterator[Path]:
    """Yield the files and directories that a text mentions as `@path` or `@"path"`."""
    for found in _MENTION.finditer(text):
        name = found[1] or found[2]
        for each in filter(None, (name, name.rstrip(_END))):
            path, is_there = cwd, False
            with suppress(OSError, RuntimeError):  # Too long for a name, or no such user.
                path = Path(cwd, Path(each).expanduser())
                is_there = path.exists()
            if is_there:
                yield path
                break


def file_block(path: Path, abilities: PromptAbilities) -> Json:
    """Return a file as a content block."""
    kind = mimetypes.guess_type(path.name)[0]
    uri = "file://" + quote(str(path.resolve()))
    named: dict[str, Json] = {} if kind is None else {"mimeType": kind}
    link: Json = {"type": "resource_link", "name": path.name, "uri": uri, **named}
    try:
        if not path.is_file():
            # Reading it may never end.
            return link
        size = path.stat().st_size
        media = (kind or "").partition("/")[0]
        if media in {"image", "audio"} & abilities.claimed and size <= MAX_MEDIA:
            data = b64encode(path.read_bytes()).decode()
            return {"type": media, "data": data, "mimeType": kind}
        if "embeddedContext" in abilities.claimed and size <= MAX_TEXT:
            data = path.read_bytes()
            if b"\0" not in data:
                resource: Json = {"uri": uri, "text": data.decode(), **named}
                return {"type": "resource", "resource": resource}
    except (OSError, UnicodeDecodeError):
        pass
    return link
