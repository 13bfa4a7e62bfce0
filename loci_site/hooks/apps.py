"""The app of the hooks, whose rows take part in purges and in the daily clean-up."""

from django.apps import AppConfig


class HooksConfig(AppConfig):
    name = "loci_site.hooks"
    label = "hooks"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Hooks"

    def ready(self) -> None:
        """Register the purge hook and the daily clean-up."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - Django wants apps loaded first
        from loci_site.hooks.sessions import delete_old_sessions, purge_sessions  # noqa: PLC0415 - as above
        from memories.store.purge_hooks import register_purge_hook  # noqa: PLC0415 - as above

        register_purge_hook("hook sessions", purge_sessions)
        if delete_old_sessions not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_sessions)
