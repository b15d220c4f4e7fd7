"""A conversation as an HTML page: it shows what was said, runs nothing and fetches nothing."""

from __future__ import annotations

import re

from acp_console.wording.transcript_html import MAX_OPEN_LINES, html_page

HOSTILE = """\
# <script>alert(1)</script>

Hello <img src=x onerror=alert(1)> ![pixel](https://evil.example/p.png)
[go](javascript:alert(1)) [home](https://example.com)

```html
</code></pre><script>alert(1)</script>
```
"""


def page(markdown: str) -> str:
    return "\n".join(html_page(markdown.splitlines()))


def test_nothing_in_a_page_runs_or_is_fetched() -> None:
    made = page(HOSTILE)
    tags = re.findall(r"<(\w+)([^>]*)>", made.partition("<body>")[2])
    assert {name for name, _ in tags} == {"h1", "p", "a", "pre", "code"}
    assert [rest for _, rest in tags if rest] == [
        ' href="https://evil.example/p.png"',
        ' href="https://example.com"',
    ]
    assert "default-src 'none'; style-src 'sha256-" in made
    assert "<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>" in made
    assert "&lt;img src=x onerror=alert(1)&gt;" in made


def test_a_diff_is_marked_and_a_long_block_is_folded() -> None:
    made = page("```diff\n-old <b>\n+new\n same\n```")
    assert "<del>-old &lt;b&gt;</del>\n<ins>+new</ins>\n same</code>" in made
    assert "<details>" not in made
    long = "\n".join(f"line {number}" for number in range(MAX_OPEN_LINES + 1))
    assert f"<summary>{MAX_OPEN_LINES + 1} lines</summary>" in page(f"```\n{long}\n```")
