"""Look of the site. settings.py imports UNFOLD from here, so no model may be imported."""

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.templatetags.static import static
from django.utils.translation import get_language, gettext_lazy

from loci_site.admin.places import sidebar


def _file(path: str) -> Callable[[HttpRequest], str]:
    """A callback: the URL of a static file."""
    return lambda request: static(path)


def _words(request: HttpRequest) -> str:
    """URL of the words of the scripts in the page's language; the scripts after it read them."""
    return static(f"loci/words/{get_language() or settings.LANGUAGE_CODE}.js")


def _theme(request: HttpRequest) -> str:
    """The person's theme, which site.js hands to unfold; "auto" follows the browser."""
    return getattr(getattr(request, "loci_preference", None), "theme", "") or "auto"


UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Loci",
    "SITE_HEADER": "Loci",
    "SITE_SUBHEADER": gettext_lazy("Shared memory for your agents"),
    "SITE_URL": None,
    "SITE_ICON": _file("loci/logo.svg"),
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": _file("loci/logo.svg")}],
    "STYLES": [_file("loci/site.css"), _file("loci/explore.css")],
    # The palette (Ctrl-K) shows its matches with "matches".
    "SCRIPTS": [
        _words,
        *(
            _file(f"loci/{name}.js")
            for name in ("site", "zone", "matches", "palette", "copy", "review_count")
        ),
    ],
    "THEME": _theme,
    "SHOW_HISTORY": False,
    "SHOW_VIEW_ON_SITE": False,
    "SHOW_BACK_BUTTON": False,
    "BORDER_RADIUS": "8px",
    "DASHBOARD_CALLBACK": "loci_site.admin.dashboard.dashboard_context",
    "SIDEBAR": {"show_search": False, "show_all_applications": False, "navigation": sidebar},
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
