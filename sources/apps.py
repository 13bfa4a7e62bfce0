from django.apps import AppConfig


class SourcesConfig(AppConfig):
    name = "sources"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register files with purges and with the daily cleanup."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - models are ready only now
        from memories.store.purge_hooks import register_outside_copies, register_purge_hook  # noqa: PLC0415 - as above
        from sources.rooms.copies import FilesOnDisk  # noqa: PLC0415 - as above
        from sources.uploads import delete_old_uploads  # noqa: PLC0415 - as above
        from sources.uploads.files import UploadedFiles, purge_faults  # noqa: PLC0415 - as above

        register_outside_copies("files", FilesOnDisk())
        register_outside_copies("uploads", UploadedFiles())
        register_purge_hook("imports", purge_faults)
        if delete_old_uploads not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_uploads)
