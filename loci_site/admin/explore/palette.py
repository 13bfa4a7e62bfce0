"""What the search palette offers besides memories and threads: pages, groups and, for superusers, people."""

from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils.translation import gettext

from access.admin.caller import actor_of
from access.groups import entered_groups
from loci_site.admin.explore.page import json_response
from loci_site.admin.places import listed_pages

_MAX_PEOPLE = 1000


def list_places(request: HttpRequest) -> JsonResponse:
    """Title, icon, URL and kind of each, in order; the palette reads them once and narrows them itself."""
    actor = actor_of(request)
    groups = [
        _entry(group.title or group.slug, "meeting_room", "admin:explore_group", group.slug, gettext("group"))
        for group in entered_groups(actor)
    ]
    people = User.objects.order_by("username") if actor.is_admin_of_all else User.objects.none()
    named = [
        _entry(name, "person", "admin:auth_user_change", key, gettext("person"))
        for key, name in people.values_list("pk", "username")[:_MAX_PEOPLE]
    ]
    pages = [page | {"about": gettext("page")} for page in listed_pages(request)]
    return json_response({"places": [*pages, *groups], "people": named})


def _entry(title: str, icon: str, page: str, key: object, about: str) -> dict[str, str]:
    return {"title": title, "icon": icon, "url": reverse(page, args=[key]), "about": about}
