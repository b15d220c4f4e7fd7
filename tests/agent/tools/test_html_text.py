"""Pages as text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_agent.tools.html_text import text_of

TAGS = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<script>",
        "</script>",
        "<!--",
        "-->",
        "<",
        ">",
        "&",
        "&lt;",
        "<pre>",
        "x",
        " ",
        "<title>",
        "</title>",
        "<li>",
        "<h1>",
        "</h1>",
        "<br/>",
        "<svg/>",
        "\n",
        "İ",
        "<!",
        "</",
    ]
)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<title>A &amp; b</title><body>c", "A & b\n\nc"),
        ("<h1>A</h1><h3>B</h3>c", "# A\n\n### B\n\nc"),
        ("<p>one <b>two</b>\n  three<p>four", "one two three\n\nfour"),
        ("<ul><li>a</li>\n<li>b</li></ul>c", "- a\n- b\nc"),
        ("<pre>  a\n    b</pre>", "a\n    b"),
        ("<div>x</div><pre>  a\n    b</pre>", "x\n\n  a\n    b"),
        ("a<script>if (1 < 2) x</script>b<style>y</style>c", "abc"),
        ("a<SCRIPT>x</Script >b", "ab"),
        ("a<!-- <p>x -->b", "ab"),
        ("a<script>b", "a"),
        ("a<!-- b", "a"),
        ("a < b <3 &lt;p&gt;", "a < b <3 <p>"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<tr><td>1</td><td>2</td></tr><tr><td>3</td></tr>", "1 | 2 |\n3 |"),
        ('<a href="x">a</a>&nbsp;&#65;', "a A"),
        ("<svg/>a<template>b</template>", "a"),
        ("", ""),
        ("<!DOCTYPE html><?xml?>a</nothing>", "a"),
    ],
)
def test_a_page_says(html: str, text: str) -> None:
    assert text_of(html) == text


@given(st.lists(TAGS, max_size=30))
def test_whatever_is_sent_is_read(parts: list[str]) -> None:
    assert "\n\n\n" not in text_of("".join(parts))


@pytest.mark.parametrize("part", ["<!--", "<script>", "<a ", "<", "&", "<title ", "</", "<svg>"])
def test_what_is_never_closed_takes_no_longer_than_anything_else(part: str) -> None:
    """It would take hours if each of them were looked for anew."""
    text_of(part * 200_000)
