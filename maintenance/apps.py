from django.apps import AppConfig


class MaintenanceConfig(AppConfig):
    name = "maintenance"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register the system checks, and what a purge clears: backups, copies of dry runs; at last its scan."""
        from maintenance.backups.purge import ManagedBackups  # noqa: PLC0415 - as above
        from maintenance.backups.scan import ScannedFiles  # noqa: PLC0415 - as above
        from maintenance.cycle.compaction import checks  # noqa: F401, PLC0415 - importing registers them; models are ready only now
        from maintenance.dry_run import DryRunCopies  # noqa: PLC0415 - as above
        from maintenance.places import MAINTENANCE_PLACES  # noqa: PLC0415 - as above
        from memories.store.places import register_outside_copies, register_places  # noqa: PLC0415 - as above

        register_places(*MAINTENANCE_PLACES)
        register_outside_copies("backups", ManagedBackups())
        register_outside_copies("trials", DryRunCopies())
        register_outside_copies("scan", ScannedFiles())
