from django.apps import AppConfig


class OAuthConfig(AppConfig):
    name = "loci_site.oauth"
    label = "oauth"
    verbose_name = "OAuth"
    adds = {"cleanups": ("loci_site.oauth.grants.delete_expired",)}
