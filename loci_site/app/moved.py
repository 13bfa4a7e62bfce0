"""Former addresses, which bookmarks, documents and older extensions still have: each leads to the page that replaced it."""

import re

from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect
from django.urls import reverse
from django.views.decorators.http import require_safe

# The first pattern that fits the start of an address with its query is replaced, below the site's own address.
_MOVED = (
    (r"app/memories/([^/]+)/correct/", r"memories/memory/\1/edit/"),
    (r"app/memories/([^/]+)/flag/", r"memories/memory/\1/dispute/"),
    (r"app/memories/([^/]+)/", r"memories/memory/\1/change/"),
    (r"app/new/", "memories/memory/add/"),
    (r"app/mine/", "memories/memory/?mine=1"),
    (r"app/account/tokens/new/", "access/apitoken/add/"),
    (r"app/account/tokens/([^/]+)/revoke/", r"access/apitoken/\1/revoke/"),
    (r"app/(account|conversations)/", r"\1/"),
    (r"app/(?=\?|$)", "ask/"),
    (r"help/", "help/"),
    (r"admin/memories/link/.*", "review/"),
    (r"admin/access/group/.*", "groups/"),
    (r"admin/explore/graph/.*[?&]of=([^&]+).*", r"memories/memory/\1/change/"),
    (r"admin/explore/graph/.*[?&]group=([^&]+).*", r"groups/\1/map/"),
    (r"admin/explore/timeline/.*[?&]group=([^&]+).*", r"groups/\1/map/?view=time"),
    (r"admin/explore/(graph|timeline)/.*", "groups/"),
    (r"admin/explore/recall/", "ask/"),
    (r"admin/explore/settings/", "settings/instance/"),
    (r"admin/explore/notifications/", "settings/notifications/"),
    (r"admin/explore/", ""),
)


@require_safe
def moved(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Redirect for good, with the query; to the start page from an address that never was one."""
    old = request.get_full_path_info().removeprefix("/")
    wanted = next((re.sub(was, now, old, count=1) for was, now in _MOVED if re.match(was, old)), "")
    path, *queries = wanted.split("?")
    return HttpResponsePermanentRedirect(
        reverse("admin:index") + "?".join([path, "&".join(queries)]).rstrip("?")
    )
