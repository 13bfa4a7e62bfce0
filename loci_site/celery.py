"""The app with its task, where `celery -A loci_site worker` looks for it."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
django.setup()

# These need Django set up.
from loci_site.worker import app, tasks  # noqa: E402

__all__ = ["app", "tasks"]
