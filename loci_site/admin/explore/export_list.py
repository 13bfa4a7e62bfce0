"""The list of memories as a file: what the filters leave, as far as one may see it."""

import csv
import io
import json
from collections.abc import Callable, Iterable
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from access import audit
from access.admin.caller import actor_of
from access.admin.paginator import MAX_COUNTED_ROWS
from access.audit.operations import Operation
from access.errors import InvalidInput
from memories.browse.serializers import memory_json
from memories.models import Memory

MAX_ROWS = MAX_COUNTED_ROWS  # a whole group or store goes out with the command `export`
# A program that opens a CSV file takes a cell that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
Rows = list[dict[str, Any]]


def export_list(request: HttpRequest, form: str) -> HttpResponse:
    """Give the list of the address as JSON lines or CSV; the log keeps how many and which filters.

    Raises:
        InvalidInput: there is no such form, or there are too many rows.
    """
    if form not in FORMS:
        raise InvalidInput(f"There is no '{form[:20]}'.", hint=f"Use {' or '.join(FORMS)}.", field="form")
    actor, pages = actor_of(request), admin.site.get_model_admin(Memory)
    try:
        listed = pages.get_changelist_instance(request).get_queryset(request)
    except IncorrectLookupParameters:
        raise InvalidInput(
            "A filter of the list has no such value.", hint="Open the list and choose."
        ) from None
    rows = list(listed.select_related("group", "thread")[: MAX_ROWS + 1])
    if len(rows) > MAX_ROWS:
        raise InvalidInput(
            f"The list has more than {MAX_ROWS:,} memories.",
            hint="Narrow it, or run the command 'export', which writes whole groups.",
            field="form",
        )
    kind, write = FORMS[form]
    body = write([memory_json(memory, is_person=actor.is_person) for memory in rows])
    filters = {name: value for name, value in request.GET.items() if name != "q"}
    audit.append(
        actor, Operation.EXPORT, payload={"counts": {"memory": len(rows)}, "filters": filters, "as": form}
    )
    name = f"memories-{timezone.now():%Y%m%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(body, content_type=f"{kind}; charset=utf-8", headers=headers)


def _as_lines(rows: Rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _as_csv(rows: Rows) -> str:
    out = io.StringIO()
    names = [*rows[0]] if rows else ["id", "content"]
    writer = csv.writer(out)
    writer.writerow(names)
    writer.writerows(_cells(row.values()) for row in rows)
    return out.getvalue()


def _cells(values: Iterable[Any]) -> list[str]:
    texts = (
        json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value for value in values
    )
    return [_safe("" if text is None else str(text)) for text in texts]


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(FORMULA) else text


FORMS: dict[str, tuple[str, Callable[[Rows], str]]] = {
    "jsonl": ("application/x-ndjson", _as_lines),
    "csv": ("text/csv", _as_csv),
}
