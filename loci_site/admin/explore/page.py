"""What the explore pages share: reading query parameters, JSON answers, and addresses."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, JsonResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from access.actor import WRITE, Actor
from access.errors import InvalidInput
from access.models import Group
from access.visibility import Narrowing
from memories.language.cleaning import parse_moment


def json_response(body: dict[str, Any]) -> JsonResponse:
    """JSON that no cache stores."""
    return JsonResponse(body, headers={"Cache-Control": "no-store"})


def query_text(request: HttpRequest, name: str, *, max_chars: int = 4000) -> str:
    """A query parameter, stripped and cut to `max_chars`; empty if absent."""
    return request.GET.get(name, "").strip()[:max_chars]


def query_texts(request: HttpRequest, *names: str, max_chars: int) -> dict[str, str]:
    return {name: query_text(request, name, max_chars=max_chars) for name in names}


def _query_moment(request: HttpRequest, name: str) -> datetime | None:
    """A query parameter as a moment, in the reader's time zone if it names none; None if absent.

    Raises:
        InvalidInput: it is not a moment.
    """
    text = query_text(request, name, max_chars=40)
    return parse_moment(text, field=name, zone=timezone.get_current_timezone()) if text else None


def query_narrowing(request: HttpRequest) -> Narrowing:
    """The narrowing to `as_of` and `known_at` of the URL; raises like _query_moment()."""
    return Narrowing(as_of=_query_moment(request, "as_of"), known_at=_query_moment(request, "known_at"))


def parse_number(given: Mapping[str, str], name: str) -> int | None:
    """A query parameter as a whole number; None if empty.

    Raises:
        InvalidInput: it is not a whole number.
    """
    if not given[name]:
        return None
    try:
        return int(given[name])
    except ValueError:
        raise InvalidInput(
            gettext("'{given}' is not a whole number.").format(given=given[name][:20]), field=name
        ) from None


def store_url(actor: Actor, question: str, group: Group | None) -> str:
    """URL of New memory with the group filled in and the question shown; "" if the actor may not store there."""
    is_open = (
        actor.may_somewhere(WRITE) if group is None else actor.may(WRITE, group.key) and not group.archived
    )
    if not is_open:
        return ""
    slug = group.slug if group is not None else ""
    return url_with_query(reverse("admin:memories_memory_add"), group=slug, question=question)


def url_with_query(path: str, **values: str) -> str:
    return f"{path}?{urlencode({name: value for name, value in values.items() if value})}"
