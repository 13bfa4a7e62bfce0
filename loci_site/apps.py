"""The site as a Django app, which registers the system checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "loci_site"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Loci"

    def ready(self) -> None:
        """Register the system checks, the schedule's lines in the statistics, and the worker's imports of files."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - as below
        from access.tokens.stored_answers import delete_old_answers  # noqa: PLC0415 - as below
        from loci_site.config import checks  # noqa: F401, PLC0415 - importing registers them; apps must be loaded first
        from maintenance.doctor.guard_scan import OTHER_SCANS  # noqa: PLC0415 - as above
        from maintenance.schedule.extensions import REGISTERED_WORK, RegisteredWork  # noqa: PLC0415 - as above
        from memories.browse.stats import EXTRA_LINES  # noqa: PLC0415 - as above
        from sources.artifacts.upkeep import scan_chunks  # noqa: PLC0415 - as above

        OTHER_SCANS["files"] = scan_chunks
        from sources.artifacts import vectors as chunk_vectors  # noqa: PLC0415 - as above  # noqa: PLC0415 - as above
        from sources.artifacts.upkeep import scan_chunks  # noqa: PLC0415 - as above
        from sources.uploads import is_waiting, process_waiting  # noqa: PLC0415 - as above

        REGISTERED_WORK["embed_chunks"] = RegisteredWork(
            chunk_vectors.is_waiting, chunk_vectors.embed_waiting
        )
        if delete_old_answers not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_answers)
        EXTRA_LINES["schedule"] = load_schedule_lines
        REGISTERED_WORK["import"] = RegisteredWork(is_waiting, process_waiting)


def load_schedule_lines() -> dict[str, str]:
    """The lines about scheduled jobs in the statistics."""
    from maintenance.status import describe_schedule  # noqa: PLC0415 - most commands do not need all of maintenance

    return describe_schedule()
