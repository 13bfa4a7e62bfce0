"""Admin pages of maintenance; each module registers its own."""

from maintenance.admin.runs import RunAdmin
from maintenance.admin.schedule import ScheduleAdmin

__all__ = ["RunAdmin", "ScheduleAdmin"]
