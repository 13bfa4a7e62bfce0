"""The places of maintenance that may hold a text: the errors of runs and jobs."""

from typing import Final

from maintenance.models import JobLock, Run
from memories.store.places import BLANKED, TextPlace

MAINTENANCE_PLACES: Final = (
    TextPlace("runs", "errors of runs contain it", Run, ("error",), BLANKED, names=("id",)),
    TextPlace("jobs", "errors of jobs contain it", JobLock, ("last_error",), BLANKED, names=("name",)),
)  # fmt: skip
