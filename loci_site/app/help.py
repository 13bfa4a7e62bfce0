"""The documentation in the browser: pages, search, and the page that fits another page."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from operator import itemgetter
from pathlib import Path

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import gettext, gettext_noop
from django.views.decorators.http import require_GET
from markdown_it import MarkdownIt
from markdown_it.token import Token

from access.admin.page import render_in_site
from loci_site.app.page import framed_page

# A wheel has its documentation inside loci_site, a checkout next to the packages.
FOLDERS = (settings.ROOT / "loci_site" / "_docs", settings.ROOT / "docs")
# What people read, in this order; other files of the folder are for developers.
_SHELVES = (
    (
        gettext_noop("Start"),
        ("quickstart", "how-to/connect-agents", "how-to/hooks", "how-to/libraries", "how-to/use-the-browser", "how-to/import"),
    ),
    (
        gettext_noop("Every day"),
        ("how-to/correct", "how-to/review", "how-to/ask-about-the-past", "how-to/files", "how-to/conversations"),
    ),
    (
        gettext_noop("Administer"),
        (
            "how-to/rights", "how-to/run-for-a-team", "how-to/backup", "how-to/upgrade", "how-to/maintenance", "how-to/what-leaves",
            "how-to/personal-data", "how-to/sensitive-text", "how-to/audit", "how-to/encrypt", "how-to/sign-in", "how-to/postgresql",
            "how-to/models",
        ),
    ),
    (
        gettext_noop("Reference"),
        (
            "glossary", "reference/settings", "reference/commands", "reference/tools", "reference/rest", "reference/errors",
            "reference/rights", "reference/trust",
        ),
    ),
)  # fmt: skip
# The first prefix of a page's address, below the site's own, that fits names its documentation.
HELP_FOR = (
    ("review/", "how-to/review"),
    ("settings/notifications/", "how-to/run-for-a-team#notifications"),
    ("settings/instance/", "reference/settings"),
    ("groups/", "how-to/use-the-browser#groups"),
    ("ask/", "how-to/use-the-browser#ask"),
    ("memories/tombstone/", "how-to/correct#why-a-text-is-refused"),
    ("access/auditentry/", "how-to/audit"),
    ("access/apitoken/", "how-to/rights#tokens"),
    ("access/", "how-to/rights"),
    ("maintenance/joblock/backups/", "how-to/backup"),
    ("maintenance/joblock/doctor/", "how-to/maintenance#doctor"),
    ("maintenance/joblock/", "how-to/maintenance#schedule"),
    ("maintenance/", "how-to/maintenance"),
    ("sources/watchedfolder/", "how-to/files"),
    ("sources/artifact/", "how-to/files#ingest-files-as-evidence"),
    ("sources/", "how-to/import"),
    ("auth/", "how-to/rights"),
    ("account/", "how-to/use-the-browser#my-account"),
    ("conversations/", "how-to/conversations"),
    ("/oauth/", "how-to/sign-in#oauth-for-programs"),
)
_ANY_HELP = "how-to/use-the-browser"
_MAX_FOUND = 20
_SNIPPET_CHARS = 160


@dataclass(frozen=True)
class _HelpPage:
    """One page: its name in addresses, its title, its text as Markdown."""

    name: str
    title: str
    text: str

    @property
    def url(self) -> str:
        return reverse("people:help-page", args=[self.name])


@dataclass(frozen=True)
class _FoundPage:
    """A page with all the words, and the first line that has one of them."""

    page: _HelpPage
    line: str


@framed_page
@require_GET
def help_index(request: HttpRequest) -> HttpResponse:
    """All pages, or those with all the words of `?q=`."""
    query = request.GET.get("q", "").strip()[:200]
    context = {
        "title": gettext("Help"),
        "query": query,
        "found": search(query) if query else None,
        "shelves": _shelves(),
    }
    return render_in_site(request, "admin/help/index.html", context)


@framed_page
@require_GET
def help_page(request: HttpRequest, doc: str) -> HttpResponse:
    page = all_pages().get(doc)
    if page is None:
        raise Http404
    context = {"title": page.title, "html": render_markdown(doc)}
    way = {"list_name": gettext("Help"), "list_url": reverse("people:help")}
    return render_in_site(request, "admin/help/page.html", way | context)


@framed_page
@require_GET
def help_for(request: HttpRequest) -> HttpResponseRedirect:
    """Redirect to the documentation of the page `?page=`."""
    asked = request.GET.get("page", "").removeprefix(reverse("admin:index"))
    doc = next((doc for prefix, doc in HELP_FOR if asked.startswith(prefix)), _ANY_HELP)
    name, _, part = doc.partition("#")
    return redirect(reverse("people:help-page", args=[name]) + (f"#{part}" if part else ""))


@cache
def all_pages() -> dict[str, _HelpPage]:
    """Every page by name; only these files can be read."""
    folder = next((each for each in FOLDERS if each.is_dir()), None)
    return {page.name: page for page in read_pages(folder)} if folder else {}


def read_pages(folder: Path) -> Iterator[_HelpPage]:
    """The pages of the shelves that are there, in order."""
    for _, names in _SHELVES:
        for name in names:
            path = folder / f"{name}.md"
            if path.is_file():
                text = re.sub(r"<!--.*?-->", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
                titles = (line[2:].strip() for line in text.splitlines() if line.startswith("# "))
                yield _HelpPage(name, next(titles, path.stem), text)


def _shelves() -> list[tuple[str, list[_HelpPage]]]:
    """The pages under their headings."""
    pages = all_pages()
    return [
        (gettext(heading), [pages[name] for name in names if name in pages]) for heading, names in _SHELVES
    ]


def search(query: str) -> list[_FoundPage]:
    """The pages that have all the words: those with a word in the title or in more lines first, the reference last."""
    words = query.casefold().split()
    found = []
    for page in all_pages().values():
        text = page.text.casefold()
        if all(word in text for word in words):
            counts = [
                (sum(word in line.casefold() for word in words), line) for line in page.text.splitlines()
            ]
            lines = [(count, line) for count, line in counts if count]
            _, best = max(lines, key=itemgetter(0), default=(0, ""))
            in_title = sum(word in page.title.casefold() for word in words)
            # A line without Markdown's signs.
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[#*`|]+", r"\1", best).strip()[:_SNIPPET_CHARS]
            is_reference = page.name.startswith("reference/")
            found.append((is_reference, -in_title, -len(lines), _FoundPage(page, plain)))
    return [each for *_, each in sorted(found, key=itemgetter(0, 1, 2))][:_MAX_FOUND]


@cache
def render_markdown(name: str) -> SafeString:
    """A page as HTML: headings with ids, links between pages, no pictures and no raw HTML."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(all_pages()[name].text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", heading_id(tokens[place + 1].content))
        if token.type == "table_open":
            token.attrSet("tabindex", "0")  # a wide one scrolls, by keyboard too
        if token.type == "inline":
            shown = [child for child in token.children or [] if child.type != "image"]
            token.children = [resolved(child, name) for child in shown]
    # The files are the program's own, and the parser escapes everything that is not Markdown.
    return SafeString(parser.renderer.render(tokens, parser.options, {}))


def heading_id(text: str) -> str:
    """The id that GitHub gives a heading, which links between the files use."""
    return re.sub(r"[^\w\- ]", "", text.casefold()).strip().replace(" ", "-")


def resolved(token: Token, name: str) -> Token:
    """A token whose link leads to the page in the browser; links to files that are not served lead to the list."""
    target = str(token.attrGet("href") or "")
    if token.type != "link_open" or target.startswith(("#", "http:", "https:")):
        return token
    path, _, part = target.partition("#")
    here = posixpath.join(posixpath.dirname(name), path.removesuffix(".md"))
    page = all_pages().get(posixpath.normpath(here))
    token.attrSet("href", (page.url + (f"#{part}" if part else "")) if page else reverse("people:help"))
    return token
