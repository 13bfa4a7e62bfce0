"""The app where `celery -A loci_site worker` looks for it."""

from loci_site.worker import app

__all__ = ["app"]
