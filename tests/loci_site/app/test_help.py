"""The documentation in the browser: every page, its links and anchors, the search, and the page for each page."""

import re

import pytest
from django.test import Client

from loci_site.app.help import HELP_FOR, all_pages, heading_id, render_markdown, search
from tests.settings import REPOSITORY

ANCHOR = re.compile(r'href="/admin/help/([^"#]*)/(?:#([^"]*))?"')


def ids(name: str) -> set[str]:
    """The anchors of a page."""
    return set(re.findall(r'<h\d id="([^"]*)"', render_markdown(name)))


def test_every_how_to_and_reference_is_a_page() -> None:
    files = {
        path.relative_to(REPOSITORY / "docs").with_suffix("").as_posix()
        for folder in ("how-to", "reference")
        for path in (REPOSITORY / "docs" / folder).glob("*.md")
    }
    assert files | {"quickstart", "glossary"} == set(all_pages())


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


def test_links_of_the_pages_for_developers_lead_to_files() -> None:
    pages = [REPOSITORY / "CONTRIBUTING.md", *(REPOSITORY / "docs" / "dev").glob("*.md")]
    assert len(pages) > 5
    wrong = []
    for page in pages:
        for target, part in re.findall(
            r"\]\(([^()#\s:]+\.md)(?:#([\w-]*))?\)", page.read_text(encoding="utf-8")
        ):
            file = page.parent / target
            heads = re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8") if file.is_file() else "", re.M)
            if not file.is_file() or (part and part not in map(heading_id, heads)):
                wrong.append((page.name, target, part))
    assert wrong == []


def test_each_page_of_loci_has_its_documentation(member: Client) -> None:
    for prefix, doc in HELP_FOR:
        name, _, part = doc.partition("#")
        assert name in all_pages(), prefix
        assert not part or part in ids(name), prefix
    answer = member.get("/admin/help/for/?page=/admin/account/password/")
    assert answer.headers["Location"] == "/admin/help/how-to/use-the-browser/#my-account"
    assert (
        member.get("/admin/help/for/?page=https://evil.example/")
        .headers["Location"]
        .startswith("/admin/help/how-to/")
    )


def test_pages_are_read_and_nothing_else_is(member: Client) -> None:
    page = member.get("/admin/help/how-to/review/").content.decode()
    assert '<h1 id="' in page
    for name in ("../README", "how-to/../../README", "dev/architecture", "nothing"):
        assert member.get(f"/admin/help/{name}/").status_code == 404


def test_the_search_wants_all_words_and_prefers_titles(member: Client) -> None:
    assert search("backup")[0].page.name == "how-to/backup"
    assert search("backup zebrafish") == []
    behind = [each.page.name.startswith("reference/") for each in search("undo")]
    assert True in behind
    assert behind == sorted(behind), "the reference comes last"
    shown = member.get("/admin/help/?q=one-time+link").content.decode()
    assert "People and rights" in shown


# What people ask, and the page that answers it.
QUESTIONS = {
    "back up": "how-to/backup",
    "show an agent only one project": "how-to/rights",
    "invite a colleague": "how-to/rights",
    "upgrade": "how-to/upgrade",
    "what leaves the machine": "how-to/what-leaves",
    "change decay": "how-to/maintenance",
    "connect a client": "how-to/connect-agents",
    "import notes": "how-to/import",
    "correct a fact": "how-to/correct",
    "see what was captured": "how-to/hooks",
    "turn hooks off": "how-to/hooks",
}


@pytest.mark.parametrize(("question", "name"), QUESTIONS.items())
def test_a_question_finds_its_page_first(question: str, name: str) -> None:
    assert search(question)[0].page.name == name


def test_the_list_has_every_page_once_under_a_heading(member: Client) -> None:
    html = member.get("/admin/help/").content.decode()
    listed = re.findall(r'<li><a class="loci-link" href="/admin/help/([^"]*)/">', html)
    assert listed == list(all_pages())


@pytest.mark.parametrize(
    ("text", "id_"), [("Why a text is refused", "why-a-text-is-refused"), ("`--json`, *now*", "--json-now")]
)
def test_headings_have_the_ids_that_links_use(text: str, id_: str) -> None:
    assert heading_id(text) == id_


def test_raw_html_of_a_file_is_shown_and_not_run() -> None:
    assert "<script" not in "".join(map(render_markdown, all_pages()))
