"""A conversation as one HTML page: nothing in it runs, and nothing is fetched."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any, Final

from acp_console.wording.message_markdown import new_parser
from acp_console.wording.values import plural

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererProtocol
    from markdown_it.token import Token
    from markdown_it.utils import OptionsDict

MAX_OPEN_LINES: Final = 30
"""Lines of a block of code that is not folded."""
_SIGNS: Final = {"+": "ins", "-": "del"}
_STYLE: Final = """
:root { color-scheme: light dark; --muted: #6b7280; --line: #d4d4d8; --code: #f4f4f5;
  --ins: #dcfce7; --del: #fee2e2; }
@media (prefers-color-scheme: dark) { :root { --muted: #9ca3af; --line: #3f3f46; --code: #18181b;
  --ins: #14371f; --del: #431a1a; } }
body { max-width: 100ch; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 system-ui, sans-serif; }
h2 { margin-top: 2.5rem; padding-top: .5rem; border-top: 1px solid var(--line); font-size: 1.05rem;
  color: var(--muted); }
pre, code { font: .9em/1.4 ui-monospace, monospace; background: var(--code); border-radius: 4px; }
code { padding: .1em .3em; }
pre { padding: .7rem; overflow-x: auto; }
pre code { padding: 0; }
ins, del { display: inline-block; min-width: 100%; text-decoration: none; }
ins { background: var(--ins); }
del { background: var(--del); }
blockquote { margin: 1rem 0; padding-left: 1rem; border-left: 3px solid var(--line);
  color: var(--muted); }
table { border-collapse: collapse; }
th, td { padding: .2rem .6rem; border: 1px solid var(--line); }
.left { text-align: left; }
.center { text-align: center; }
.right { text-align: right; }
summary { color: var(--muted); cursor: pointer; }
"""


def html_page(markdown: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a page that shows a conversation, given as lines of Markdown.

    Its title is the first heading.

    HTML in the texts is shown as text, and images are links: a page that is opened asks no server
    for anything, which its Content-Security-Policy forbids, too.
    """
    renderer = _renderer()
    tokens = renderer.parse("\n".join(markdown))
    _align_by_class(tokens)
    title = next((each.content for each in tokens if each.type == "inline"), "")
    digest = b64encode(sha256(_STYLE.encode()).digest()).decode()
    yield "<!doctype html>"
    yield '<html><head><meta charset="utf-8">'
    yield (
        '<meta http-equiv="Content-Security-Policy" '
        f"content=\"default-src 'none'; style-src 'sha256-{digest}'\">"
    )
    yield '<meta name="referrer" content="no-referrer">'
    yield '<meta name="viewport" content="width=device-width">'
    yield f"<title>{escape(title.replace(chr(92), ''))}</title>"
    yield f"<style>{_STYLE}</style></head><body>"
    yield renderer.renderer.render(tokens, renderer.options, {})
    yield "</body></html>"


def _renderer() -> MarkdownIt:
    found = new_parser().enable(["table", "strikethrough"])
    found.disable("image")
    found.add_render_rule("fence", _fence)
    return found


def _align_by_class(tokens: Sequence[Token]) -> None:
    """Align the cells of tables by classes: styles of their own are forbidden in the page."""
    for each in tokens:
        if each.type in {"th_open", "td_open"} and (style := str(each.attrs.pop("style", ""))):
            each.attrSet("class", style.removeprefix("text-align:"))


def _diff_lines(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a diff, escaped; those that name the files are not marked."""
    is_head = any(line.startswith("@@") for line in lines)
    for line in lines:
        is_head = is_head and not line.startswith("@@")
        name = None if is_head else _SIGNS.get(line[:1])
        yield f"<{name}>{escape(line)}</{name}>" if name else escape(line)


def _fence(
    renderer: RendererProtocol,
    tokens: Sequence[Token],
    at: int,
    options: OptionsDict,
    env: MutableMapping[str, Any],
) -> str:
    """Return a block of code: a long one folded, the lines of a diff marked."""
    del renderer, options, env
    lines = tokens[at].content.rstrip("\n").split("\n")
    shown = [escape(line) for line in lines]
    if tokens[at].info.strip() == "diff":
        shown = list(_diff_lines(lines))
    block = "<pre><code>{}</code></pre>\n".format("\n".join(shown))
    if len(lines) <= MAX_OPEN_LINES:
        return block
    return f"<details><summary>{plural(len(lines), 'line')}</summary>\n{block}</details>\n"
