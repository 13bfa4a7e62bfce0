from django.apps import AppConfig


class SourcesConfig(AppConfig):
    name = "sources"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Register uploaded files and captured turns with purges, and with the daily cleanup."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - models are ready only now
        from access.tokens.pairing import delete_old_codes  # noqa: PLC0415 - as above
        from memories.sessions.conversations.change import ON_DELETE  # noqa: PLC0415 - as above
        from memories.store.purge_hooks import register_outside_copies, register_purge_hook  # noqa: PLC0415 - as above
        from sources.captures.removed import BrowserCopies, mark_removed, purge_captures  # noqa: PLC0415 - as above
        from sources.uploads import delete_old_uploads  # noqa: PLC0415 - as above
        from sources.uploads.files import UploadedFiles, purge_faults  # noqa: PLC0415 - as above

        register_outside_copies("uploads", UploadedFiles())
        register_purge_hook("imports", purge_faults)
        register_outside_copies("browsers", BrowserCopies())
        if mark_removed not in ON_DELETE:
            ON_DELETE.append(mark_removed)
        register_purge_hook("captured turns", purge_captures)
        if delete_old_codes not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_codes)
        if delete_old_uploads not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_uploads)
