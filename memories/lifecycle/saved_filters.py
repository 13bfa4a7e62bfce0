"""Saved filters and purges: a filter that names or searches for the purged text is deleted."""

from access.models import SavedFilter
from memories.store.purge_hooks import PurgedTexts, redact, rows_quoting


def purge_saved_filters(doomed: PurgedTexts) -> int:
    """Delete the filters that contain a purged text as words of their own; return their number."""
    found = {
        row.pk
        for column in ("asked", "name")
        for row in rows_quoting(SavedFilter.objects.all(), column, doomed.texts)
        if redact(getattr(row, column), doomed.texts) != getattr(row, column)
    }
    return SavedFilter.objects.filter(pk__in=found).delete()[0]
