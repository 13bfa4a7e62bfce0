"""System checks: what would fail later is said at the start of every command, with what to run."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004 - Django's name

from loci_site.config import Config
from storage.sqlite.driver import DRIVER, Driver
from storage.sqlite.features import find_missing_features

TAG = "loci"
OTHERS = stat.S_IRWXG | stat.S_IRWXO


@register(TAG)
def check_sqlite(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """The SQLite library has full-text search with secure delete and loads the vector extension."""
    if settings.LOCI.database_url:
        return []
    return sqlite_messages(DRIVER)


@register(TAG)
def check_home(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """What Loci keeps can be written by it and read by nobody else."""
    return home_messages(settings.LOCI)


@register(TAG)
def check_hosts(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[CheckMessage]:
    """Off loopback, the host names are listed."""
    return host_messages(settings.LOCI)


def sqlite_messages(driver: Driver) -> list[CheckMessage]:
    """Give one error for each thing that the library lacks."""
    return [Error(lack.message, hint=lack.hint, id=lack.code) for lack in find_missing_features(driver)]


def home_messages(config: Config) -> list[CheckMessage]:
    """Give an error for a folder that cannot be written, a warning for each path that others may read."""
    home = config.home
    if not home.exists():
        return []  # made with the right mode when first needed
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        hint = "Give it to the user that runs Loci, or set LOCI_HOME to another folder."
        return [Error(f"LOCI_HOME {home} is no folder that Loci can write to.", hint=hint, id="loci.E004")]
    if os.name == "nt":  # no permission bits there
        return []
    private = [(home, "700"), (home / "keys", "700"), (home / "keys" / "django.key", "600")]
    return [
        Warning(f"Others can read {path}.", hint=f"Run `chmod {mode} {path}`.", id="loci.W001")
        for path, mode in private
        if _open_to_others(path)
    ]


def host_messages(config: Config) -> list[CheckMessage]:
    """Give a warning where any host name is taken although others can reach the server."""
    if config.on_loopback or "*" not in config.server.allowed_hosts:
        return []
    hint = "List the host names that clients use in LOCI_ALLOWED_HOSTS or [server] allowed_hosts."
    return [
        Warning("Every host name is allowed, so any web page can address Loci.", hint=hint, id="loci.W002")
    ]


def _open_to_others(path: Path) -> bool:
    return path.exists() and bool(path.stat().st_mode & OTHERS)
