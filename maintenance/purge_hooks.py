"""What a purge clears in maintenance: the old and new values that runs store for undo."""

from maintenance.models import RunChange
from memories.models import Memory
from memories.store.purge_hooks import PurgedTexts, redact, rows_quoting

ROWS_AT_ONCE = 200


def purge_run_changes(doomed: PurgedTexts) -> int:
    """Delete the purged rows' changes and redact their texts in other rows' changes; the number of both."""
    # A batch holds numbers and times of many rows, never a text; undoing it skips rows that no longer exist.
    own = RunChange.objects.filter(table=Memory._meta.db_table, row__in=doomed.keys, is_batch=False)
    count, _ = own.delete()
    for column in ("before", "after"):
        changes = list(rows_quoting(RunChange.objects.filter(is_batch=False), column, doomed.texts))
        for change in changes:
            setattr(change, column, redact(getattr(change, column), doomed.texts))
        count += RunChange.objects.bulk_update(changes, [column], batch_size=ROWS_AT_ONCE)
    return count
