"""The documentation in the browser: every page, its links and anchors, the search, and the page for each page."""

import re

import pytest
from django.test import Client

from loci_site.app.help import HELP_FOR, all_pages, heading_id, render_markdown, search
from tests.settings import REPOSITORY

ANCHOR = re.compile(r'href="/help/([^"#]*)/(?:#([^"]*))?"')


def ids(name: str) -> set[str]:
    """The anchors of a page."""
    return set(re.findall(r'<h\d id="([^"]*)"', render_markdown(name)))


def test_every_how_to_and_reference_is_a_page() -> None:
    files = {
        path.relative_to(REPOSITORY / "docs").with_suffix("").as_posix()
        for folder in ("how-to", "reference")
        for path in (REPOSITORY / "docs" / folder).glob("*.md")
    }
    assert files | {"quickstart", "glossary", "recall"} == set(all_pages())


def test_every_link_and_anchor_leads_somewhere() -> None:
    wrong = []
    for name in all_pages():
        html = render_markdown(name)
        assert "<img" not in html, name
        assert ".md" not in "".join(re.findall(r'href="([^"]*)"', html)).replace("https", ""), name
        for target, part in ANCHOR.findall(html):
            if target not in all_pages() or (part and part not in ids(target)):
                wrong.append((name, target, part))
        wrong += [
            (name, name, part) for part in re.findall(r'href="#([^"]*)"', html) if part not in ids(name)
        ]
    assert wrong == []


def test_each_page_of_loci_has_its_documentation(member: Client) -> None:
    for prefix, doc in HELP_FOR:
        name, _, part = doc.partition("#")
        assert name in all_pages(), prefix
        assert not part or part in ids(name), prefix
    answer = member.get("/help/for/?page=/app/account/password/")
    assert answer.headers["Location"] == "/help/how-to/use-the-browser/#my-account"
    assert member.get("/help/for/?page=https://evil.example/").headers["Location"].startswith("/help/how-to/")


def test_pages_are_read_and_nothing_else_is(member: Client) -> None:
    page = member.get("/help/how-to/review/").content.decode()
    assert '<h1 id="' in page
    for name in ("../README", "how-to/../../README", "dev/architecture", "nothing"):
        assert member.get(f"/help/{name}/").status_code == 404


def test_the_search_wants_all_words_and_prefers_titles(member: Client) -> None:
    assert search("backup")[0].page.name == "how-to/backup"
    assert search("backup zebrafish") == []
    shown = member.get("/help/?q=one-time+link").content.decode()
    assert "Use the browser" in shown


@pytest.mark.parametrize(
    ("text", "id_"), [("Why a text is refused", "why-a-text-is-refused"), ("`--json`, *now*", "--json-now")]
)
def test_headings_have_the_ids_that_links_use(text: str, id_: str) -> None:
    assert heading_id(text) == id_


def test_raw_html_of_a_file_is_shown_and_not_run() -> None:
    assert "<script" not in "".join(map(render_markdown, all_pages()))
