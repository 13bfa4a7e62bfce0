from django.apps import AppConfig


class OAuthConfig(AppConfig):
    name = "loci_site.oauth"
    label = "oauth"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "OAuth"

    def ready(self) -> None:
        """Let the daily job delete expired tokens too."""
        from access.sign_in.expired_rows import EXTRA_CLEANUPS  # noqa: PLC0415 - Django wants apps loaded first
        from loci_site.oauth.grants import clean_up  # noqa: PLC0415 - as above

        if clean_up not in EXTRA_CLEANUPS:
            EXTRA_CLEANUPS.append(clean_up)
