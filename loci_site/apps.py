"""The site as a Django app: it brings the system checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "loci_site"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Loci"

    def ready(self) -> None:
        """Register the system checks, what stands beside the counts of memories, and the worker's imports."""
        from loci_site.config import checks  # noqa: F401, PLC0415 - importing registers them; Django wants apps loaded first
        from maintenance.schedule.extensions import REGISTERED_WORK, RegisteredWork  # noqa: PLC0415 - as above
        from memories.browse.stats import EXTRA_LINES  # noqa: PLC0415 - as above
        from sources.uploads import is_waiting, process_waiting  # noqa: PLC0415 - as above

        EXTRA_LINES["schedule"] = _schedule_lines
        REGISTERED_WORK["import"] = RegisteredWork(is_waiting, process_waiting)


def _schedule_lines() -> dict[str, str]:
    from maintenance.status import describe_schedule  # noqa: PLC0415 - only one command wants all of maintenance

    return describe_schedule()
