"""The site as a Django app, which registers the system checks."""

from collections import Counter
from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from access.actor import Actor


class SiteConfig(AppConfig):
    name = "loci_site"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Loci"

    def ready(self) -> None:
        """Register the system checks, the schedule's lines in the statistics, and the worker's jobs of other packages."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - importing needs loaded apps
        from loci_site.config import checks  # noqa: F401, PLC0415 - as above; importing registers them
        from maintenance.extensions import OTHER_SCANS, REGISTERED_WORK, RegisteredWork  # noqa: PLC0415 - as above
        from memories.review.stats import EXTRA_LINES  # noqa: PLC0415 - as above

        OTHER_SCANS["files"] = scan_chunks
        EXTRA_LINES["schedule"] = load_schedule_lines
        REGISTERED_WORK["embed_chunks"] = RegisteredWork(chunks_wait, embed_chunks)
        REGISTERED_WORK["import"] = RegisteredWork(uploads_wait, import_uploads)
        if delete_old_answers not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_answers)


# What is registered is imported when it runs: most commands need neither importers nor all of maintenance.
def load_schedule_lines() -> dict[str, str]:
    """The lines about scheduled jobs in the statistics."""
    from maintenance.schedule.status import describe_schedule  # noqa: PLC0415 - as above

    return describe_schedule()


def scan_chunks(actor: "Actor", dry_run: bool) -> Counter[str]:
    """Look at chunks of files again; returns what was found, by kind."""
    from sources.artifacts.upkeep import scan_chunks as scan  # noqa: PLC0415 - as above

    return scan(actor, dry_run)


def chunks_wait() -> bool:
    """True if chunks of files lack vectors."""
    from sources.artifacts.vectors import is_waiting  # noqa: PLC0415 - as above

    return is_waiting()


def embed_chunks(actor: "Actor") -> str | None:
    """Embed chunks of files."""
    from sources.artifacts.vectors import embed_waiting  # noqa: PLC0415 - as above

    return embed_waiting(actor)


def uploads_wait() -> bool:
    """True if an uploaded file is to be imported."""
    from sources.uploads import is_waiting  # noqa: PLC0415 - as above

    return is_waiting()


def import_uploads(actor: "Actor") -> str | None:
    """Import uploaded files."""
    from sources.uploads import process_waiting  # noqa: PLC0415 - as above

    return process_waiting(actor)


def delete_old_answers() -> int:
    """Delete answers kept for repeated requests; returns how many."""
    from access.tokens.stored_answers import delete_old_answers as delete  # noqa: PLC0415 - as above

    return delete()
