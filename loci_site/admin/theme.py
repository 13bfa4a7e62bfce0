"""Look and sidebar of the admin. settings.py imports UNFOLD from here, so no model may be imported."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils.functional import Promise
from django.utils.translation import get_language, gettext_lazy

Item = dict[str, Any]
# The list filters that sidebar items use.
FILTERS = ("trust__exact", "doubt", "status__exact", "state__exact")


def _file(path: str) -> Callable[[HttpRequest], str]:
    """A callback: the URL of a static file."""
    return lambda request: static(path)


def words(request: HttpRequest) -> str:
    """URL of the words of the scripts in the page's language; the scripts after it read them."""
    return static(f"loci/words/{get_language() or settings.LANGUAGE_CODE}.js")


def is_superuser(request: HttpRequest) -> bool:
    return bool(getattr(request.user, "is_superuser", False))


@lru_cache(maxsize=200)
def _address(page: str, prefix: str) -> str:
    return reverse(page)


def address(page: str) -> str:
    """URL of a page, resolved once per process: the sidebar asks on every page."""
    return _address(page, get_script_prefix())


def _sidebar_item(title: str | Promise, icon: str, page: str, *, query: str = "", **extra: Any) -> Item:
    """A sidebar link to an admin page, with an optional query string."""
    return {"title": title, "icon": icon, "page": f"admin:{page}", "query": query, **extra}


def _sidebar(request: HttpRequest) -> list[Item]:
    """The sidebar in the active language, which unfold copies for each page."""
    return _sidebar_in(get_language(), get_script_prefix())


@lru_cache(maxsize=20)
def _sidebar_in(language: str | None, prefix: str) -> list[Item]:
    """NAVIGATION as plain text: unfold reads each title and link several times per page, and lazy ones anew each time."""
    return [
        {
            "title": str(part.get("title", "")),
            "items": [
                item | {"title": str(item["title"]), "link": address(item["page"]) + item["query"]}
                for item in part["items"]
            ],
        }
        for part in _NAVIGATION
    ]


def _is_list_filtered(page: str, **wanted: str) -> Any:
    """A callback: whether the request shows this list with exactly these sidebar filters."""

    def is_active(request: HttpRequest) -> bool:
        shown = {name: value for name, value in request.GET.items() if name in FILTERS}
        return request.path.startswith(address(f"admin:{page}")) and shown == wanted

    return is_active


def _is_exactly(page: str) -> Any:
    """A callback: whether the request shows this page, not one below it."""
    return lambda request: request.path == address(f"admin:{page}")


JOBS = "maintenance_joblock_changelist"
MEMORIES = "memories_memory_changelist"
_NAVIGATION: list[dict[str, Any]] = [
    {
        "items": [
            _sidebar_item(gettext_lazy("Dashboard"), "dashboard", "index"),
            _sidebar_item(gettext_lazy("Memories"), "neurology", MEMORIES, active=_is_list_filtered(MEMORIES)),
            _sidebar_item(gettext_lazy("Relations"), "share", "relations_relation_changelist"),
            _sidebar_item(gettext_lazy("Files"), "draft", "sources_artifact_changelist"),
        ],
    },
    {
        "title": gettext_lazy("Explore"),
        "items": [
            _sidebar_item(gettext_lazy("Groups"), "meeting_room", "explore_groups"),
            _sidebar_item(gettext_lazy("Recall playground"), "science", "explore_recall"),
            _sidebar_item(gettext_lazy("Graph"), "hub", "explore_graph"),
            _sidebar_item(gettext_lazy("Timeline"), "timeline", "explore_timeline"),
        ],
    },
    {
        "title": gettext_lazy("Curate"),
        "items": [
            {"title": gettext_lazy("Review"), "icon": "fact_check", "page": "review", "query": ""},
            _sidebar_item(gettext_lazy("Candidates"), "hourglass_top", MEMORIES, query="?trust__exact=candidate",
                  active=_is_list_filtered(MEMORIES, trust__exact="candidate")),
            _sidebar_item(gettext_lazy("Disputed"), "help", MEMORIES, query="?doubt=open",
                  active=_is_list_filtered(MEMORIES, doubt="open")),
            _sidebar_item(gettext_lazy("Trash"), "delete", MEMORIES, query="?state__exact=forgotten",
                  active=_is_list_filtered(MEMORIES, state__exact="forgotten")),
        ],
    },
    {
        "title": gettext_lazy("Access"),
        "items": [
            _sidebar_item(gettext_lazy("Group settings"), "tune", "access_group_changelist"),
            _sidebar_item(gettext_lazy("Tokens"), "key", "access_apitoken_changelist"),
            _sidebar_item(gettext_lazy("People"), "group", "auth_user_changelist", permission=is_superuser),
            _sidebar_item(gettext_lazy("Lock-outs"), "lock", "access_attempts_changelist", permission=is_superuser),
        ],
    },
    {
        "title": gettext_lazy("Log"),
        "items": [
            _sidebar_item(gettext_lazy("Audit log"), "history", "access_auditentry_changelist"),
            _sidebar_item(gettext_lazy("Tombstones"), "block", "memories_tombstone_changelist"),
            _sidebar_item(gettext_lazy("Recalls"), "manage_search", "memories_recalllog_changelist"),
        ],
    },
    {
        "title": gettext_lazy("Maintenance"),
        "items": [
            _sidebar_item(gettext_lazy("Runs"), "build", "maintenance_run_changelist"),
            _sidebar_item(gettext_lazy("Schedule"), "schedule", JOBS, permission=is_superuser, active=_is_exactly(JOBS)),
            _sidebar_item(gettext_lazy("Watched folders"), "folder_eye", "sources_watchedfolder_changelist", permission=is_superuser),
            _sidebar_item(gettext_lazy("Backups"), "save", "maintenance_joblock_backups", permission=is_superuser),
            _sidebar_item(gettext_lazy("Doctor"), "stethoscope", "maintenance_joblock_doctor", permission=is_superuser),
            _sidebar_item(gettext_lazy("Notifications"), "notifications", "explore_notifications", permission=is_superuser),
            _sidebar_item(gettext_lazy("Settings"), "settings", "explore_settings", permission=is_superuser),
        ],
    },
]  # fmt: skip

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Loci",
    "SITE_HEADER": "Loci",
    "SITE_SUBHEADER": gettext_lazy("Shared memory for your agents"),
    "SITE_URL": None,
    "SITE_ICON": _file("loci/logo.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _file("loci/logo.svg")}],
    "STYLES": [_file("loci/site.css"), _file("loci/explore.css")],
    # The palette (Ctrl-K) shows its matches with the second.
    "SCRIPTS": [
        words,
        *(
            _file(f"loci/{name}.js")
            for name in ("zone", "matches", "palette", "copy", "review_count", "help")
        ),
    ],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "BORDER_RADIUS": "8px",
    "DASHBOARD_CALLBACK": "loci_site.admin.dashboard.dashboard_context",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": _sidebar},
    "COLORS": {
        "base": {
            "50": "oklch(98.4% .003 220)",
            "100": "oklch(96.6% .005 220)",
            "200": "oklch(92.6% .008 220)",
            "300": "oklch(86.9% .012 220)",
            "400": "oklch(70.4% .02 220)",
            "500": "oklch(54.8% .024 220)",
            "600": "oklch(44.2% .026 220)",
            "700": "oklch(36.6% .027 220)",
            "800": "oklch(26.8% .024 220)",
            "900": "oklch(20% .02 220)",
            "950": "oklch(13.5% .018 220)",
        },
        "primary": {
            "50": "oklch(97.5% .016 195)",
            "100": "oklch(94.5% .035 195)",
            "200": "oklch(89% .06 195)",
            "300": "oklch(82% .09 195)",
            "400": "oklch(74% .105 195)",
            "500": "oklch(66% .108 197)",
            "600": "oklch(53% .092 200)",
            "700": "oklch(46% .08 202)",
            "800": "oklch(39% .067 204)",
            "900": "oklch(33% .055 206)",
            "950": "oklch(25% .043 208)",
        },
    },
}
