"""Listing one's own memories, and reading one memory."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_GET

from access.actor import WRITE
from access.admin.caller import actor_of
from loci_site.app.page import render_page, workspace_page
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.models import Link, Memory
from memories.queries.labels import doubts_of
from memories.queries.pages import Page
from memories.queries.visibility import is_outlasting
from memories.types import State, Trust

RECENT = 20
GROUP_IN_SESSION = "workspace-group"
_FLAGGABLE = frozenset({Trust.ACTIVE, Trust.VERIFIED})
# Superseded and merged texts are shown on the page of the memory that replaced them.
_OWN_STATES = tuple(state for state in State.values if state not in (State.SUPERSEDED, State.MERGED))


@workspace_page
@require_GET
def list_own(request: HttpRequest) -> HttpResponse:
    """What the caller stored, and what agents stored with the caller's tokens, newest first."""
    actor = actor_of(request)
    listed = ListFilter(states=_OWN_STATES, author=actor.user_id)
    page = list_memories(actor, listed, cursor=request.GET.get("cursor", ""), limit=RECENT)
    context = {"title": gettext("Mine"), "here": "mine", "page": page, "more": _next_page_url(request, page)}
    return render_page(request, "people/mine.html", context)


@workspace_page
@require_GET
def read(request: HttpRequest, id_: str) -> HttpResponse:
    """One memory with its origin, old versions, links, relations and history."""
    actor = actor_of(request)
    seen = inspect_memory(actor, id_)
    memory, may_write = seen.memory, actor.may(WRITE, seen.memory.group_id)
    is_live = memory.state == State.LIVE
    context = {
        "title": memory.content[:60],
        "seen": seen,
        "memory": memory,
        "former": [version for version in reversed(seen.versions) if version.key != memory.key],
        "links": [_other_end(link, memory) for link in seen.links],
        "may_write": may_write,
        "may_correct": may_write and is_live,
        "may_flag": may_write and is_live and memory.trust in _FLAGGABLE and not doubts_of(memory),
        "is_current": seen.head == memory,
        "is_outlasting": is_outlasting(memory, timezone.now()),
        "back": _back_url(request),
    }
    return render_page(request, "people/memory.html", context)


def _next_page_url(request: HttpRequest, page: Page[Memory]) -> str:
    if page.next is None:
        return ""
    return f"{request.path}?{urlencode({'cursor': page.next})}"


def _other_end(link: Link, memory: Memory) -> dict[str, Any]:
    """The kind and status of a link, and the memory at its other end."""
    other = link.target if link.source_id == memory.root_key else link.source
    return {"kind": link.kind, "status": link.status, "memory": other}


def _back_url(request: HttpRequest) -> str:
    """URL of the list the user came from, else of the search."""
    referer = request.headers.get("Referer", "")
    own = request.build_absolute_uri(reverse("admin:explore_recall"))
    return referer if referer.split("?")[0] in (own, own + "mine/") else reverse("admin:explore_recall")
