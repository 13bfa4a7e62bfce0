"""Django's settings for the fixture server alone: no database, no token, loopback only."""

import secrets
import tempfile
from pathlib import Path

from loci_site.config import Config

LOCI = Config(home=Path(tempfile.gettempdir()))  # nothing is written there
SECRET_KEY = secrets.token_urlsafe()
ALLOWED_HOSTS = ["127.0.0.1", "localhost", "[::1]"]
ROOT_URLCONF = "bench.conformance.asgi"
MIDDLEWARE: list[str] = []
DATABASES: dict[str, object] = {}
USE_TZ = True
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"stderr": {"class": "logging.StreamHandler"}},
    "root": {"handlers": ["stderr"], "level": "WARNING"},
    # What the suite gets wrong on purpose is no news.
    "loggers": {name: {"level": "CRITICAL"} for name in ("django.request", "django.security", "mcp")},
}
