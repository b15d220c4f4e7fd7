"""Make the types, the words and the method table from the published JSON schemas.

    python tools/make_schema.py --schemas DIRECTORY

DIRECTORY holds `schema.unstable.json` and `schema.json` in `v1` and in `v2`. Only names, types and
rules come along, never the schema's prose. The output depends on the input alone: making it again
gives the same bytes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from tools.schema.published import Published, read_published
from tools.schema.shapes import shapes_source
from tools.schema.table import table_source
from tools.schema.words import words_source

VERSIONS: Final = (1, 2)
"""The protocol versions that are built in."""

ROOT: Final = Path(__file__).parent.parent
ROOM: Final = Path("protocol/acp_protocol/schema")
WORDS_FILE: Final = ROOM / "words.py"
VERSION_FILE: Final = Path("protocol/acp_protocol/version.py")


def make(published: Published) -> dict[Path, str]:
    """Return the files of one version, as paths below the repository's root, and their text."""
    version = published.version
    return {
        ROOM / f"v{version}.py": formatted(shapes_source(published)),
        ROOM / f"methods_v{version}.py": formatted(table_source(published)),
    }


def identified(source: str, published: Iterable[Published]) -> str:
    """Return the source of `version.py` with the schemas' identity in its place."""
    line = f'SCHEMA_ID: Final = "{" ".join(each.identity for each in published)}"'
    return re.sub(r"^SCHEMA_ID: Final = .*$", line, source, flags=re.MULTILINE)


def formatted(source: str) -> str:
    """Return `source` as ruff writes it, with the imports it does not need taken out."""
    ruff = [sys.executable, "-m", "ruff"]
    tidy = [*ruff, "check", "--isolated", "--select", "F401", "--fix", "--quiet", "-"]
    form = [*ruff, "format", "--isolated", "--line-length", "100", "--quiet", "-"]
    for command in (tidy, form):
        source = subprocess.run(
            command, input=source, capture_output=True, text=True, check=True, encoding="utf-8"
        ).stdout
    return source


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the files of all versions, and the identity of their schemas."""
    parser = argparse.ArgumentParser(description="Make the shapes and the method table anew.")
    parser.add_argument("--schemas", type=Path, required=True, help="folder of the schemas")
    directory: Path = parser.parse_args(arguments).schemas
    every = [read_published(directory, version) for version in VERSIONS]
    sources = {path: source for published in every for path, source in make(published).items()}
    sources[WORDS_FILE] = formatted(words_source(every))
    sources[VERSION_FILE] = identified((ROOT / VERSION_FILE).read_text("utf-8"), every)
    for path, source in sources.items():
        (ROOT / path).write_text(source, encoding="utf-8")
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
