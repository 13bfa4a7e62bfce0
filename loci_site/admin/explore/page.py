"""What the pages for looking around have in common: the site's frame, and reading what stands in their addresses."""

from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.contrib import admin
from django.http import HttpRequest, JsonResponse
from django.template.response import TemplateResponse

from access.actor import Actor
from access.errors import LociError
from access.groups import entered_groups
from access.visibility import Narrowing
from memories.language.timestamps import parse_moment

INPUT_FORM = "%Y-%m-%dT%H:%M"  # what a browser's field for a moment shows and sends


def page(
    request: HttpRequest, template: str, context: dict[str, Any], *, status: int = 200
) -> TemplateResponse:
    """Give a page inside the site's frame."""
    frame = {**admin.site.each_context(request), "is_nav_sidebar_enabled": True}
    request.current_app = admin.site.name
    return TemplateResponse(request, f"admin/explore/{template}", frame | context, status=status)


def answer(body: dict[str, Any], *, status: int = 200) -> JsonResponse:
    """Give JSON that no cache keeps."""
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})


def refusal_json(refusal: LociError) -> JsonResponse:
    """Say in JSON what a service refused."""
    body = {"code": refusal.code, "message": refusal.message, "hint": refusal.hint, "field": refusal.field}
    return answer(body, status=refusal.status)


def asked(request: HttpRequest, name: str, *, longest: int = 4000) -> str:
    """Give what the address says of a name, without spaces around it."""
    return request.GET.get(name, "").strip()[:longest]


def moment(request: HttpRequest, name: str) -> datetime | None:
    """Give the moment that the address names.

    Raises:
        InvalidInput: it is none.
    """
    text = asked(request, name, longest=40)
    return parse_moment(text, field=name) if text else None


def moments(request: HttpRequest) -> Narrowing:
    """Give the narrowing to `as_of` and `known_at` of the address; raises as moment()."""
    return Narrowing(as_of=moment(request, "as_of"), known_at=moment(request, "known_at"))


def shown_moment(at: datetime | None) -> str:
    """Give a moment as the field for it takes it."""
    return f"{at:{INPUT_FORM}}" if at else ""


def group_names(actor: Actor) -> list[str]:
    """Name the groups that one may choose."""
    return [group.slug for group in entered_groups(actor)]


def with_values(path: str, **values: str) -> str:
    """Give an address with those of the values that say something."""
    return f"{path}?{urlencode({name: value for name, value in values.items() if value})}"
