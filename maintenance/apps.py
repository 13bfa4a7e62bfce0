from django.apps import AppConfig


class MaintenanceConfig(AppConfig):
    name = "maintenance"
    default_auto_field = "django.db.models.BigAutoField"
    adds = {
        "places": ("maintenance.places.MAINTENANCE_PLACES",),
        "outside copies": (
            "maintenance.backups.purge.ManagedBackups",
            "maintenance.dry_run.DryRunCopies",
            "maintenance.backups.scan.ScannedFiles",  # the last: it searches what the others left
        ),
        "further statistics": ("maintenance.schedule.wording.further_statistics",),
    }
