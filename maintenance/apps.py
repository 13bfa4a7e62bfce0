from django.apps import AppConfig


class MaintenanceConfig(AppConfig):
    name = "maintenance"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Have purges clear what runs kept."""
        from maintenance.purging import purge_run_changes  # noqa: PLC0415 - models are ready only now
        from memories.purge_hooks import register_purge_hook  # noqa: PLC0415 - as above

        register_purge_hook("run changes", purge_run_changes)
