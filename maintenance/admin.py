"""The browser's pages of maintenance; each module registers its own."""

from maintenance.admin_runs import RunAdmin
from maintenance.admin_schedule import ScheduleAdmin

__all__ = ["RunAdmin", "ScheduleAdmin"]
