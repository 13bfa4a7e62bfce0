"""The app of notifications; its work is done by the worker."""

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from access.actor import Actor


class NotificationsConfig(AppConfig):
    name = "loci_site.app.notifications"
    label = "notifications"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Notifications"

    def ready(self) -> None:
        """Register the worker's job and the daily clean-up."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - Django wants apps loaded first
        from maintenance.extensions import REGISTERED_WORK, RegisteredWork  # noqa: PLC0415 - as above

        REGISTERED_WORK["notify"] = RegisteredWork(is_waiting, work)
        if delete_old not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old)


# Imported when they run: most commands need neither mail nor HTTP.
def is_waiting() -> bool:
    """True if the worker has something to do."""
    from loci_site.app.notifications.work import is_waiting as check  # noqa: PLC0415 - as above

    return check()


def work(actor: "Actor") -> str | None:
    """Do the worker's job."""
    from loci_site.app.notifications.work import work as do  # noqa: PLC0415 - as above

    return do(actor)


def delete_old() -> int:
    """Delete old deliveries; returns how many."""
    from loci_site.app.notifications.outbox import delete_old_deliveries  # noqa: PLC0415 - as above

    return delete_old_deliveries()
