"""What a purge clears in this room: the values that runs kept so that they can be undone."""

from maintenance.models import RunChange
from memories.models import Memory
from memories.store.purge_hooks import PurgedTexts, quoting, redacted

ROWS_AT_ONCE = 200


def purge_run_changes(doomed: PurgedTexts) -> int:
    """Drop what was kept of the purged rows, and blot their texts out of what was kept of others; give the rows."""
    # A batch holds numbers and times of many rows, never a text; undoing it passes over a row that is gone.
    own = RunChange.objects.filter(table=Memory._meta.db_table, row__in=doomed.keys, is_batch=False)
    gone, _ = own.delete()
    return gone + sum(_blot_out(column, doomed.texts) for column in ("before", "after"))


def _blot_out(column: str, texts: tuple[str, ...]) -> int:
    changes = list(quoting(RunChange.objects.filter(is_batch=False), column, texts))
    for change in changes:
        setattr(change, column, redacted(getattr(change, column), texts))
    return RunChange.objects.bulk_update(changes, [column], batch_size=ROWS_AT_ONCE)
