"""Searching, listing one's own, and reading one memory."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET

from access.actor import WRITE, Actor
from access.admin.caller import actor_of
from access.errors import GroupNotFound
from access.models import Group
from loci_site.app.page import for_people, rooms_of, show
from memories.browse.inspection import inspect_memory
from memories.browse.listing import ListFilter, list_memories
from memories.models import Link, Memory
from memories.queries.pages import Page
from memories.recall import RecallRequest, RecallResult, recall
from memories.types import State, Trust

RECENT = 20
FOUND = 20
# A page is read by a person: more than an agent's context takes, less than makes it slow.
TOKENS_OF_A_PAGE = 12_000
ROOM_IN_SESSION = "people-room"
FLAGGABLE = frozenset({Trust.ACTIVE, Trust.VERIFIED})
# A former text or wording stands on the page of the memory that took it in.
OWN_STATES = tuple(state for state in State.values if state not in (State.SUPERSEDED, State.MERGED))


@dataclass(frozen=True)
class Chip:
    """A group to search in, as a link."""

    group: Group
    url: str
    is_here: bool


@for_people
@require_GET
def search(request: HttpRequest) -> HttpResponse:
    """Show what answers a question in one group, or what is newest where nothing is asked."""
    actor, query = actor_of(request), request.GET.get("q", "").strip()
    rooms = rooms_of(actor)
    room = _room(request, rooms)
    context: dict[str, Any] = {
        "title": query or "Search",
        "here": "search",
        "query": query,
        "room": room,
        "chips": [_chip(one, query, here=one == room) for one in rooms],
        "has_rooms": bool(rooms),
    }
    if query and room:
        context["recalled"] = _recalled(actor, query, room)
    else:
        page = _newest(actor, room, query, cursor=request.GET.get("cursor", ""))
        context |= {"page": page, "more": _more(request, page)}
    return show(request, "people/search.html", context)


@for_people
@require_GET
def mine(request: HttpRequest) -> HttpResponse:
    """Show what the caller stored, and what agents stored with the caller's tokens, newest first."""
    actor = actor_of(request)
    listed = ListFilter(states=OWN_STATES, author=actor.user_id)
    page = list_memories(actor, listed, cursor=request.GET.get("cursor", ""), limit=RECENT)
    context = {"title": "Mine", "here": "mine", "page": page, "more": _more(request, page)}
    return show(request, "people/mine.html", context)


@for_people
@require_GET
def read(request: HttpRequest, id_: str) -> HttpResponse:
    """Show one memory: what it says, where it comes from, its former texts, and what was done with it."""
    actor = actor_of(request)
    seen = inspect_memory(actor, id_)
    memory, may_write = seen.memory, actor.may(WRITE, seen.memory.group_id)
    is_live = memory.state == State.LIVE
    context = {
        "title": memory.content[:60],
        "seen": seen,
        "memory": memory,
        "former": [version for version in reversed(seen.versions) if version.key != memory.key],
        "ties": [_other_end(link, memory) for link in seen.links],
        "may_write": may_write,
        "may_correct": may_write and is_live,
        "may_flag": may_write and is_live and memory.trust in FLAGGABLE,
        "is_current": seen.head.key == memory.key,
        "back": _way_back(request),
    }
    return show(request, "people/memory.html", context)


def _room(request: HttpRequest, rooms: list[Group]) -> Group | None:
    """Give the group that is asked for, else the one of last time, else the first."""
    wanted = request.GET.get("group", "")
    slug = wanted or request.session.get(ROOM_IN_SESSION, "")
    room = next((one for one in rooms if one.slug == slug), None)
    if wanted and room is None:
        raise GroupNotFound(f"There is no group '{wanted[:60]}' that you may use.", field="group")
    if wanted and request.session.get(ROOM_IN_SESSION) != wanted:
        request.session[ROOM_IN_SESSION] = wanted
    return room or next(iter(rooms), None)


def _recalled(actor: Actor, query: str, room: Group) -> RecallResult:
    return recall(
        actor, RecallRequest(query=query, group=room.slug, max_results=FOUND, token_budget=TOKENS_OF_A_PAGE)
    )


def _newest(actor: Actor, room: Group | None, words: str, *, cursor: str) -> Page[Memory]:
    """Give the group's newest; for somebody of no group the global ones, which may be searched by words alone."""
    listed = ListFilter(group=room.slug if room else None, words=words)
    return list_memories(actor, listed, cursor=cursor, limit=RECENT)


def _chip(group: Group, query: str, *, here: bool) -> Chip:
    asked = {"group": group.slug} | ({"q": query} if query else {})
    return Chip(group, f"{reverse('people:search')}?{urlencode(asked)}", here)


def _more(request: HttpRequest, page: Page[Memory]) -> str:
    if page.next is None:
        return ""
    kept = {name: request.GET[name] for name in ("q", "group") if request.GET.get(name)}
    return f"{request.path}?{urlencode(kept | {'cursor': page.next})}"


def _other_end(link: Link, memory: Memory) -> dict[str, Any]:
    other = link.target if link.source_id == memory.root_key else link.source
    return {"kind": link.kind, "status": link.status, "memory": other}


def _way_back(request: HttpRequest) -> str:
    """Give the list one came from, where it is one of ours."""
    came_from = request.headers.get("Referer", "")
    own = request.build_absolute_uri(reverse("people:search"))
    return came_from if came_from.split("?")[0] in (own, own + "mine/") else reverse("people:search")
