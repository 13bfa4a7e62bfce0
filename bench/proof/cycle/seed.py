"""Work for a cycle, and whether one that was killed left anything half-done; in a process of its own in a home."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from access.tokens import operator
from bench.proof.cycle.year_texts import said_in_week
from bench.proof.cycle.year_week import lost_sources
from bench.proof.witness import half_written, store_faults
from maintenance.cycle.undo import standing_changes
from maintenance.models import Run
from maintenance.runs.preview import unpack_change
from memories.embedding import get_encoder
from memories.lifecycle.undo.rows import table_named
from memories.models import Memory
from memories.store.bulk import store_many


def fill(week: int, amount: int) -> list[str]:
    """Store a week of what people say, as events of months ago; the ids of what may be purged."""
    get_encoder(timeout_s=60)
    monday = datetime.now(UTC) - timedelta(weeks=30 + week % 20)
    said = said_in_week(week, amount, monday=monday)
    # What is to be kept for a while is over when the next cycle comes.
    soon = datetime.now(UTC) + timedelta(minutes=1)
    drafts = [replace(draft, thread="", expires_at=soon if draft.expires_at else None) for draft, _ in said]
    store_many(operator(), drafts)
    rows = Memory.objects.filter(state="live").order_by("key")
    return [str(id_) for id_ in rows.values_list("id", flat=True)[:200]]


def look(victim: str = "") -> dict[str, Any]:
    """What is half-done: in the indexes, the rows, the log, and between a run's changes and the rows; is this memory there?"""
    last = Run.objects.order_by("-key").first()
    return {
        "memories": Memory.objects.count(),
        "run": last.status if last else "",
        "faults": [*store_faults(), *half_written(), *lost_sources(), *(_unlike(last) if last else [])],
        "is_left": bool(victim) and Memory.objects.filter(id=victim).exists(),
    }


def _unlike(run: Run) -> list[str]:
    """Say where a row is not as the last run's last change to it says: the one without the other was written."""
    if run.status == "undone":
        return []
    last: dict[tuple[str, int], dict[str, Any]] = {}
    for change in standing_changes(run).order_by("key"):
        for key, fields in unpack_change(change):
            after = {name: value for name, (_, value) in fields.items()}
            last.setdefault((change.kept, key), {}).update(after)
    unlike = [
        f"{table} {key} is not as the run left it"
        for (table, key), after in last.items()
        if not _agrees(table, key, after)
    ]
    return unlike[:10]


def _agrees(table: str, key: int, after: dict[str, Any]) -> bool:
    row = table_named(table).model._base_manager.filter(pk=key).first()
    # A purge may have come after the run.
    return row is None or all(
        getattr(row, name) == table_named(table).typed(name, value) for name, value in after.items()
    )
