"""Where each page is: the sidebar's entries, the pages behind Settings, and what belongs to which. No model may be imported."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qsl

from django.http import HttpRequest
from django.urls import get_script_prefix, reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy

Label = str | Promise
SETTINGS = "admin:settings"


@lru_cache(maxsize=200)
def _address(page: str, prefix: str) -> str:
    return reverse(page)


def address(page: str) -> str:
    """URL of a page, resolved once per process: the sidebar asks on every page."""
    return _address(page, get_script_prefix())


def is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))


def _everyone(request: HttpRequest) -> bool:
    return True


def _who_may(right: str) -> Callable[[HttpRequest], bool]:
    """Whether the reader has the right in some group."""

    def may(request: HttpRequest) -> bool:
        from access.admin.caller import actor_of  # noqa: PLC0415 - imported before the models are ready

        return actor_of(request).may_somewhere(right)

    return may


@dataclass(frozen=True)
class Place:
    """A page that Settings leads to: its URL's name, with the query that a list is narrowed by; `may`: to whom it is shown."""

    title: Label
    icon: str
    page: str
    about: Label
    may: Callable[[HttpRequest], bool] = _everyone
    query: str = ""

    @property
    def url(self) -> str:
        return address(self.page) + self.query

    def holds(self, request: HttpRequest) -> bool:
        """Whether the request shows this page or one below it."""
        wanted = parse_qsl(self.query.removeprefix("?"))
        return request.path.startswith(address(self.page)) and all(
            request.GET.get(name) == value for name, value in wanted
        )


def _for_superusers(title: Label, icon: str, page: str, about: Label) -> Place:
    return Place(title, icon, page, about, is_superuser)


PLACES: tuple[tuple[Label, tuple[Place, ...]], ...] = (
    (gettext_lazy("You"), (
        Place(gettext_lazy("My account"), "person", "people:account", gettext_lazy("Password, clients and tokens, sessions, language, theme, mail, and your data")),
        Place(gettext_lazy("Connect a client"), "cable", "people:connect-client", gettext_lazy("Claude Code, Codex, Cursor or another agent, with one line in a terminal")),
    )),
    (gettext_lazy("Access"), (
        _for_superusers(gettext_lazy("People"), "group", "admin:auth_user_changelist", gettext_lazy("Who may log in; invite, change, deactivate")),
        Place(gettext_lazy("Tokens"), "key", "admin:access_apitoken_changelist", gettext_lazy("What agents may do, when they were here, and how to stop them")),
        _for_superusers(gettext_lazy("Lock-outs"), "lock", "admin:access_attempts_changelist", gettext_lazy("Who is refused for a while after too many attempts")),
    )),
    (gettext_lazy("What runs"), (
        Place(gettext_lazy("Runs"), "build", "admin:maintenance_run_changelist", gettext_lazy("What maintenance changed, each with its undo")),
        _for_superusers(gettext_lazy("Schedule"), "schedule", "admin:maintenance_joblock_changelist", gettext_lazy("Jobs: when they run, how they ended, pause and resume")),
        _for_superusers(gettext_lazy("Watched folders"), "folder_eye", "admin:sources_watchedfolder_changelist", gettext_lazy("Folders whose files become memories")),
        _for_superusers(gettext_lazy("Backups"), "save", "admin:maintenance_joblock_backups", gettext_lazy("What could be restored, and how")),
        _for_superusers(gettext_lazy("Doctor"), "stethoscope", "admin:maintenance_joblock_doctor", gettext_lazy("Checks the store and repairs it")),
        _for_superusers(gettext_lazy("Notifications"), "notifications", "admin:explore_notifications", gettext_lazy("Mail, webhooks, and what was sent")),
    )),
    (gettext_lazy("Record"), (
        Place(gettext_lazy("Audit log"), "history", "admin:access_auditentry_changelist", gettext_lazy("Who did what, and when")),
        Place(gettext_lazy("Recalls"), "manage_search", "admin:memories_recalllog_changelist", gettext_lazy("What was asked and what the answer had")),
        Place(gettext_lazy("Files"), "draft", "admin:sources_artifact_changelist", gettext_lazy("Files kept as evidence")),
        Place(gettext_lazy("Imports"), "upload_file", "admin:sources_upload_changelist", gettext_lazy("What was brought in from other programs"), _who_may("write")),
        Place(gettext_lazy("Tombstones"), "block", "admin:memories_tombstone_changelist", gettext_lazy("Texts that are refused from now on"), _who_may("curate")),
        Place(gettext_lazy("Trash"), "delete", "admin:memories_memory_changelist", gettext_lazy("Forgotten memories that can still come back"), query="?state__exact=forgotten"),
    )),
    (gettext_lazy("Instance"), (
        _for_superusers(gettext_lazy("Settings of the instance"), "settings", "admin:explore_settings", gettext_lazy("Every setting, its value and where it comes from")),
    )),
)  # fmt: skip
# The sidebar's entries, each with the key that opens it after "g", and the pages that are below it in thought, not in
# their addresses.
_ENTRIES: tuple[tuple[Label, str, str, str, tuple[str, ...]], ...] = (
    (gettext_lazy("Home"), "home", "h", "admin:index", ()),
    (gettext_lazy("Groups"), "meeting_room", "g", "admin:explore_groups", (
        "admin:memories_memory_changelist", "admin:relations_relation_changelist", "people:conversations",
    )),
    (gettext_lazy("Review"), "fact_check", "r", "review", ()),
    (gettext_lazy("Ask"), "psychology_alt", "a", "admin:explore_recall", ()),
    (gettext_lazy("Settings"), "settings", "s", SETTINGS, ()),
)  # fmt: skip
# Pages that only the search palette offers besides; the entries and the places come first.
_OTHERS: tuple[tuple[Label, str, str, str], ...] = (
    (gettext_lazy("Memories"), "neurology", "admin:memories_memory_changelist", ""),
    (gettext_lazy("Candidates"), "hourglass_top", "admin:memories_memory_changelist", "?trust__exact=candidate"),
    (gettext_lazy("Disputed"), "help", "admin:memories_memory_changelist", "?doubt=open"),
    (gettext_lazy("Relations"), "share", "admin:relations_relation_changelist", ""),
    (gettext_lazy("Conversations"), "forum", "people:conversations", ""),
    (gettext_lazy("Help"), "menu_book", "people:help", ""),
)  # fmt: skip


def open_places(request: HttpRequest) -> list[tuple[Label, list[Place]]]:
    """The pages behind Settings that are shown to the reader, under their headings."""
    shown = [(heading, [place for place in places if place.may(request)]) for heading, places in PLACES]
    return [(heading, places) for heading, places in shown if places]


def place_of(request: HttpRequest) -> Place | None:
    """The page behind Settings that the request shows or is below; None elsewhere."""
    found = [place for _, places in PLACES for place in places if place.holds(request)]
    return max(found, key=lambda place: len(place.url), default=None)


def crumbs_of(request: HttpRequest) -> list[tuple[Label, str]]:
    """The way back from a page behind Settings: title and URL of each page above it."""
    place = place_of(request)
    if place is None:
        return []
    way: list[tuple[Label, str]] = [(gettext_lazy("Settings"), address(SETTINGS))]
    return way if request.path == address(place.page) else [*way, (place.title, place.url)]


def _entry_of(request: HttpRequest) -> str:
    """The entry of the sidebar to which the page belongs, by its URL's name; empty for none, such as the help."""
    home = address("admin:index")
    if request.path == home:
        return "admin:index"
    if place_of(request):
        return SETTINGS
    for *_, entry, below in _ENTRIES:
        starts = [address(page) for page in (entry, *below)]
        if any(request.path.startswith(start) for start in starts if start != home):
            return entry
    return ""


def sidebar(request: HttpRequest) -> list[dict[str, Any]]:
    """The sidebar in the active language, which unfold copies for each page; the one entry is marked."""
    here = _entry_of(request)
    items = _entries_in(get_language(), get_script_prefix())
    return [{"items": [item | {"active": item["page"] == here} for item in items]}]


@lru_cache(maxsize=20)
def _entries_in(language: str | None, prefix: str) -> list[dict[str, Any]]:
    """The entries as plain text: unfold reads each several times per page, and lazy ones anew each time."""
    return [
        {"title": str(title), "icon": icon, "key": key, "page": page, "link": address(page)}
        for title, icon, key, page, _ in _ENTRIES
    ]


def listed_pages(request: HttpRequest) -> list[dict[str, str]]:
    """Every page that the palette offers to the reader: title, icon and URL."""
    found = [
        *((title, icon, address(page)) for title, icon, _, page, _ in _ENTRIES),
        *((title, icon, address(page) + query) for title, icon, page, query in _OTHERS),
        *((place.title, place.icon, place.url) for _, shown in open_places(request) for place in shown),
    ]
    return [{"title": str(title), "icon": icon, "url": url} for title, icon, url in found]
