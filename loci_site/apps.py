"""The site as a Django app, which registers the system checks."""

from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "loci_site"
    verbose_name = "Loci"
    adds = {"notes on a missing model": ("loci_site.server.missing_model.describe_fetch",)}

    def ready(self) -> None:
        from loci_site.config import checks  # noqa: F401, PLC0415 - importing registers them; models are ready only now
