"""How the admin looks and what its sidebar lists; settings.py takes UNFOLD from here, so no model may be imported."""

from typing import Any

from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse_lazy

Item = dict[str, Any]


def logo(request: HttpRequest) -> str:
    """Give the address of the logo."""
    return static("loci/logo.svg")


def stylesheet(request: HttpRequest) -> str:
    """Give the address of our own styles."""
    return static("loci/admin.css")


def explore_stylesheet(request: HttpRequest) -> str:
    """Give the address of the styles of the dashboard and the pages for looking around."""
    return static("loci/explore.css")


def palette(request: HttpRequest) -> str:
    """Give the address of the search that Ctrl-K opens on every page."""
    return static("loci/palette.js")


def is_superuser(request: HttpRequest) -> bool:
    """Say whether the caller sees people and everything else."""
    return bool(getattr(request.user, "is_superuser", False))


def _item(title: str, icon: str, page: str, *, query: str = "", **extra: Any) -> Item:
    address = reverse_lazy(f"admin:{page}")
    link = _with_query(page, query) if query else address
    return {"title": title, "icon": icon, "link": link, **extra}


def _with_query(page: str, query: str) -> Any:
    def link(request: HttpRequest) -> str:
        return f"{reverse_lazy(f'admin:{page}')}?{query}"

    return link


def _is_at(page: str, **wanted: str) -> Any:
    """Give a callback: whether the page shown is this list with exactly these filters."""

    def active(request: HttpRequest) -> bool:
        shown = {
            name: value for name, value in request.GET.items() if name in ("trust__exact", "status__exact")
        }
        here = request.path.startswith(str(reverse_lazy(f"admin:{page}")))
        return here and shown == wanted

    return active


def _is_page(page: str) -> Any:
    """Give a callback: whether exactly this page is shown, and none below it."""
    return lambda request: request.path == str(reverse_lazy(f"admin:{page}"))


JOBS = "maintenance_joblock_changelist"
MEMORIES, LINKS = "memories_memory_changelist", "memories_link_changelist"
NAVIGATION: list[dict[str, Any]] = [
    {
        "items": [
            _item("Dashboard", "dashboard", "index"),
            _item("Memories", "neurology", MEMORIES, active=_is_at(MEMORIES)),
            _item("Relations", "share", "relations_relation_changelist"),
        ],
    },
    {
        "title": "Explore",
        "items": [
            _item("Rooms", "meeting_room", "explore_rooms"),
            _item("Recall playground", "science", "explore_recall"),
            _item("Graph", "hub", "explore_graph"),
            _item("Timeline", "timeline", "explore_timeline"),
        ],
    },
    {
        "title": "Review",
        "items": [
            {"title": "What waits", "icon": "fact_check", "link": reverse_lazy("review")},
            _item("Candidates", "hourglass_top", MEMORIES, query="trust__exact=candidate",
                  active=_is_at(MEMORIES, trust__exact="candidate")),
            _item("Disputed", "help", MEMORIES, query="trust__exact=disputed",
                  active=_is_at(MEMORIES, trust__exact="disputed")),
            _item("Duplicates and conflicts", "compare_arrows", LINKS, query="status__exact=open",
                  active=_is_at(LINKS, status__exact="open")),
        ],
    },
    {
        "title": "Access",
        "items": [
            _item("Groups", "meeting_room", "access_group_changelist"),
            _item("Tokens", "key", "access_apitoken_changelist"),
            _item("People", "group", "auth_user_changelist", permission=is_superuser),
            _item("Lock-outs", "lock", "access_attempts_changelist", permission=is_superuser),
        ],
    },
    {
        "title": "Log",
        "items": [
            _item("Audit log", "history", "access_auditentry_changelist"),
            _item("Tombstones", "block", "memories_tombstone_changelist"),
            _item("Recalls", "manage_search", "memories_recalllog_changelist"),
        ],
    },
    {
        "title": "Maintenance",
        "items": [
            _item("Runs", "build", "maintenance_run_changelist"),
            _item("Schedule", "schedule", JOBS, permission=is_superuser, active=_is_page(JOBS)),
            _item("Backups", "save", "maintenance_joblock_backups", permission=is_superuser),
            _item("Doctor", "stethoscope", "maintenance_joblock_doctor", permission=is_superuser),
        ],
    },
]  # fmt: skip

UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Loci",
    "SITE_HEADER": "Loci",
    "SITE_SUBHEADER": "Memory your agents share",
    "SITE_URL": None,
    "SITE_ICON": logo,
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": logo}],
    "STYLES": [stylesheet, explore_stylesheet],
    "SCRIPTS": [palette],
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "BORDER_RADIUS": "8px",
    "DASHBOARD_CALLBACK": "loci_site.admin.dashboard.dashboard_context",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": NAVIGATION},
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
