"""What a purge clears of the filters that people saved: those that name or search for the purged text itself."""

from access.models import SavedFilter
from memories.store.purge_hooks import PurgedTexts, quoting, redacted


def purge_saved_filters(doomed: PurgedTexts) -> int:
    """Delete the filters that hold a purged text as words of their own; give how many."""
    found = {
        row.pk
        for column in ("asked", "name")
        for row in quoting(SavedFilter.objects.all(), column, doomed.texts)
        if redacted(getattr(row, column), doomed.texts) != getattr(row, column)
    }
    return SavedFilter.objects.filter(pk__in=found).delete()[0]
