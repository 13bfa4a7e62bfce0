"""What a purge clears of the former values that changes keep."""

from access.models import RowChange
from memories.models import Memory
from memories.store.purge_hooks import PurgedTexts, redact, rows_quoting

ROWS_AT_ONCE = 200


def purge_row_changes(doomed: PurgedTexts) -> int:
    """Delete what is kept of the purged rows and redact their texts in what is kept of others; the number of both."""
    # A batch holds numbers and times of many rows, never a text; taking it back skips rows that no longer exist.
    own = RowChange.objects.filter(kept=Memory._meta.db_table, row__in=doomed.keys).exclude(op="b")
    count, _ = own.delete()
    quoting = list(rows_quoting(RowChange.objects.exclude(op="b"), "vals", doomed.texts))
    for change in quoting:
        change.vals = redact(change.vals, doomed.texts)
    return count + RowChange.objects.bulk_update(quoting, ["vals"], batch_size=ROWS_AT_ONCE)
