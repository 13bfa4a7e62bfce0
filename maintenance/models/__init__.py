"""Tables of the maintenance package."""

from maintenance.models.lock import JobLock
from maintenance.models.run import Run, RunStatus

__all__ = ["JobLock", "Run", "RunStatus"]
