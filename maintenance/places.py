"""The places of maintenance that may hold a text: what runs keep for undo, and the errors of runs and jobs."""

from typing import Final

from django.db.models import Q

from maintenance.models import JobLock, Run, RunChange
from memories.models import Memory
from memories.store.places import BLANKED, PurgedTexts, TextPlace


def own_changes(doomed: PurgedTexts) -> Q:
    """The changes of the memories themselves. A batch holds numbers and times of many rows, never a text."""
    return Q(table=Memory._meta.db_table, row__in=doomed.keys, is_batch=False)


MAINTENANCE_PLACES: Final = (
    TextPlace("run changes", "changes of runs contain it", RunChange, ("before", "after"), BLANKED,
          own=own_changes),
    TextPlace("runs", "errors of runs contain it", Run, ("error",), BLANKED, names=("id",)),
    TextPlace("jobs", "errors of jobs contain it", JobLock, ("last_error",), BLANKED, names=("name",)),
)  # fmt: skip
