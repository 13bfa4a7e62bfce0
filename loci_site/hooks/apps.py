"""The app of the hooks, whose rows take part in purges and in the daily clean-up."""

from typing import TYPE_CHECKING

from django.apps import AppConfig

if TYPE_CHECKING:
    from access.actor import Actor


class HooksConfig(AppConfig):
    name = "loci_site.hooks"
    label = "hooks"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "Hooks"

    def ready(self) -> None:
        """Register the places of texts and the daily clean-up."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - Django wants apps loaded first
        from access.tokens import LOCAL_FACTS  # noqa: PLC0415 - as above
        from loci_site.hooks.repository import delete_old_heads  # noqa: PLC0415 - as above
        from loci_site.hooks.sessions import HOOK_PLACES, delete_old_sessions  # noqa: PLC0415 - as above
        from memories.store.places import register_places  # noqa: PLC0415 - as above

        register_places(*HOOK_PLACES)
        if delete_old_sessions not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_sessions)
        if delete_old_heads not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_old_heads)
        if with_repository not in LOCAL_FACTS:
            LOCAL_FACTS.append(with_repository)


def with_repository(actor: "Actor") -> "Actor":
    """The actor with the repository of the command's folder."""
    from loci_site.hooks.repository import with_own_checkout  # noqa: PLC0415 - models are ready only now

    return with_own_checkout(actor)
