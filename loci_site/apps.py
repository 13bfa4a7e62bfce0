"""The site as a Django app: it brings the system checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "loci_site"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Loci"

    def ready(self) -> None:
        """Register the system checks, and what stands beside the counts of memories."""
        from loci_site import checks  # noqa: F401, PLC0415 - importing registers them; Django wants apps loaded first
        from memories.stats import FURTHER  # noqa: PLC0415 - as above

        FURTHER["schedule"] = _schedule_lines


def _schedule_lines() -> dict[str, str]:
    from loci_site.upkeep import schedule_lines  # noqa: PLC0415 - only one command wants all of maintenance

    return schedule_lines()
