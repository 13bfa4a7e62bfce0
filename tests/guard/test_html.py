"""A web page as text: what a reader sees; code stays as it is."""

import time

import pytest

from guard.html import is_web_source, text_of_html

PAGE = """<html><head><style>p {}</style></head><body><h1>Quay&nbsp;7</h1><!-- hidden --><p>Opens at <b>8&amp;9</b>.<br>Second line</p>
<script>alert('<p>')</script><pre><code class="x">if a &lt; b:
    go()</code></pre><ul><li>one<li>two</ul></body></html>"""


def test_a_page_becomes_what_a_reader_sees() -> None:
    seen = "Quay\u00a07\n\nOpens at 8&9.\nSecond line\n\n```\nif a < b:\n    go()\n```\n\none\ntwo"
    assert text_of_html(PAGE) == seen


@pytest.mark.parametrize(
    "text",
    [
        "Map<String, List<T>> and a < b and c > d",
        "Use `<b>` for bold.",
        "```\n<p>&amp;</p>\n\n\n\n<p></p>\n```",
        "salt & pepper; AT&T",
        "one\n\n\n\ntwo",
    ],
)
def test_code_and_plain_text_stay(text: str) -> None:
    assert text_of_html(text) == text


def test_only_a_web_page_or_a_capture_is_html() -> None:
    assert [
        is_web_source(each) for each in ("https://x.test/a", "capture:firefox", "notes.md", "hook:git")
    ] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("unit", ["<a ", '<a href="', "<p>x", "<!--", "`", "&amp;"])
def test_time_grows_with_the_length(unit: str) -> None:
    start = time.process_time()
    text_of_html((unit * 100_000)[:100_000])
    assert time.process_time() - start < 1
