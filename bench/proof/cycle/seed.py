"""Work for a cycle, and whether one that was killed left anything half-done; a process of its own in LOCI_HOME.

`python -m bench.proof.cycle.seed fill | look`: {"amount": n, "week": n} on stdin for `fill`; the answer is JSON.
"""

import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import django

django.setup()  # LOCI_HOME and DJANGO_SETTINGS_MODULE are set by bench/proof/home.py

from access.tokens import operator  # noqa: E402
from bench.proof.cycle.year_texts import said_in_week  # noqa: E402
from bench.proof.cycle.year_week import lost_sources  # noqa: E402
from bench.proof.witness import half_written, store_faults  # noqa: E402
from maintenance.cycle.undo import standing_changes  # noqa: E402
from maintenance.models import Run  # noqa: E402
from maintenance.runs.preview import unpack_change  # noqa: E402
from memories.draft import Draft  # noqa: E402
from memories.embedding import get_encoder  # noqa: E402
from memories.lifecycle.undo.rows import table_named  # noqa: E402
from memories.models import Memory, Piece  # noqa: E402
from memories.store.bulk import store_many  # noqa: E402


def fill(told: dict[str, Any]) -> dict[str, Any]:
    """Store a week of what people say, as events of months ago; give what may be purged."""
    get_encoder(timeout_s=60)
    monday = datetime.now(UTC) - timedelta(weeks=30 + told["week"] % 20)
    said = said_in_week(told["week"], told["amount"], monday=monday)
    drafts = [
        Draft(
            one.content,
            type=one.type,
            group=one.group,
            scope="group",
            confidence=one.confidence,
            valid_from=one.valid_from,
            # Those that are to be kept for a while are over when the next cycle comes.
            expires_at=datetime.now(UTC) + timedelta(minutes=1) if one.expires_at else None,
        )
        for one in said
    ]
    store_many(operator(), drafts)
    rows = Memory.objects.filter(state="live").order_by("key")
    return {
        "memories": Memory.objects.count(),
        "purgeable": [str(id_) for id_ in rows.values_list("id", flat=True)[:200]],
    }


def look(told: dict[str, Any]) -> dict[str, Any]:
    """Say what is half-done: in the indexes, the rows, the log, and between a run's changes and the rows."""
    last = Run.objects.order_by("-key").first()
    return {
        "memories": Memory.objects.count(),
        "pieces": Piece.objects.count(),
        "run": last.status if last else "",
        "counts": last.counts if last else {},
        "faults": [*store_faults(), *half_written(), *lost_sources(), *(_unlike(last) if last else [])],
        "left": _left_of(told.get("purged", [])),
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


def _left_of(purged: list[str]) -> dict[str, bool]:
    """Say of each memory whether it is still there, whole; a purge leaves all of it or nothing."""
    return {id_: Memory.objects.filter(id=id_).exists() for id_ in purged}


def main() -> None:
    """Do what the first argument says."""
    told = json.load(sys.stdin)
    print(json.dumps({"fill": fill, "look": look}[sys.argv[1]](told)))


if __name__ == "__main__":
    main()
