"""The OAuth app, which adds its expired rows to the daily clean-up."""

from django.apps import AppConfig


class OAuthConfig(AppConfig):
    name = "loci_site.oauth"
    label = "oauth"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "OAuth"

    def ready(self) -> None:
        """Add expired tokens to the daily clean-up job."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - Django wants apps loaded first
        from loci_site.oauth.grants import delete_expired  # noqa: PLC0415 - as above

        if delete_expired not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(delete_expired)
