"""A web page as text: what a reader sees; code stays as it is."""

import time

import pytest

from guard.html import text_of_html

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


@pytest.mark.parametrize(
    ("page", "seen"),
    [
        ('a<div style="display:none">x<div>y</div>z</div>b', "ab"),
        ("a<span hidden>x</span>b", "ab"),
        ('a<span class="c" hidden="">x</span>b', "ab"),
        ("a<b style='color:red; VISIBILITY : hidden'>x</b>c", "ac"),
        ("a<b style='font-size:0'>x</b><b style='opacity:0;'>y</b>c", "ac"),
        ("a<b style=display:none>x</b>c", "ac"),
        ("<div>a<p hidden>x</div>b", "a\nb"),
        ("<p hidden>x<p>b", "b"),
        ("<ul><li hidden>x<br>y<li>b</ul>", "b"),
        ("a<div hidden>x<script>'</div>'</script>y</div>b", "ab"),
        ("a<div hidden>x `y` &lt;</div>b", "ab"),
        ("a<div hidden>x", "a"),
        ('<p title="hidden" class="hidden" data-style="display:none">a</p>', "a"),
        ("<p style='font-size:0.9em;opacity:0.5'>a</p><input hidden>b", "a\nb"),
    ],
)
def test_what_a_page_hides_is_left_out(page: str, seen: str) -> None:
    assert text_of_html(page) == seen


@pytest.mark.parametrize(
    "unit",
    [
        "<div hidden>",
        "<b hidden></i>",
        "<a style='",
        "<a b=c ",
        "<a ",
        '<a href="',
        "<p>x",
        "<!--",
        "`",
        "&amp;",
    ],
)
def test_time_grows_with_the_length(unit: str) -> None:
    start = time.process_time()
    text_of_html((unit * 100_000)[:100_000])
    assert time.process_time() - start < 1
