from django.apps import AppConfig


class OAuthConfig(AppConfig):
    name = "loci_site.oauth"
    label = "oauth"
    default_auto_field = "django.db.models.BigAutoField"
    verbose_name = "OAuth"
    adds = {"cleanups": ("loci_site.oauth.grants.delete_expired",)}
