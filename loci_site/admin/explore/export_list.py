"""Download of the memory list as it is filtered, as JSON lines or CSV."""

import csv
import io
import json
from collections.abc import Callable
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from access import audit
from access.admin.caller import actor_of
from access.admin.page import MAX_COUNTED_ROWS
from access.audit.operations import Operation
from access.errors import InvalidInput
from memories.browse.serializers import MemoryOut
from memories.models import Memory
from sources.importing.formats.table import csv_cell

MAX_ROWS = MAX_COUNTED_ROWS  # a whole group or store goes out with the command `export`
Rows = list[dict[str, Any]]


def export_list(request: HttpRequest, form: str) -> HttpResponse:
    """The memory list of the URL's filters as a file. The audit log gets the row count and the filters.

    Raises:
        InvalidInput: an unknown form or filter value, or more than MAX_ROWS rows.
    """
    if form not in FORMS:
        raise InvalidInput(
            f"'{form[:20]}' is not an export format.", hint=f"Use {' or '.join(FORMS)}.", field="form"
        )
    actor, pages = actor_of(request), admin.site.get_model_admin(Memory)
    try:
        listed = pages.get_changelist_instance(request).get_queryset(request)
    except IncorrectLookupParameters:
        raise InvalidInput(
            "A filter of the list has an unknown value.", hint="Choose the filters in the list."
        ) from None
    rows = list(listed.select_related("group", "thread")[: MAX_ROWS + 1])
    if len(rows) > MAX_ROWS:
        raise InvalidInput(
            f"The list has more than {MAX_ROWS:,} memories.",
            hint="Narrow it, or run the command 'export', which writes whole groups.",
            field="form",
        )
    kind, write = FORMS[form]
    body = write([MemoryOut.json(memory, is_person=actor.is_person) for memory in rows])
    filters = {name: value for name, value in request.GET.items() if name != "q"}
    audit.append(
        actor, Operation.EXPORT, payload={"counts": {"memory": len(rows)}, "filters": filters, "as": form}
    )
    name = f"memories-{timezone.now():%Y%m%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return HttpResponse(body, content_type=f"{kind}; charset=utf-8", headers=headers)


def _write_jsonl(rows: Rows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_csv(rows: Rows) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([*rows[0]] if rows else ["id", "content"])
    writer.writerows([csv_cell(value) for value in row.values()] for row in rows)
    return out.getvalue()


FORMS: dict[str, tuple[str, Callable[[Rows], str]]] = {
    "jsonl": ("application/x-ndjson", _write_jsonl),
    "csv": ("text/csv", _write_csv),
}
