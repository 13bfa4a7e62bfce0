"""System checks: every command reports at its start what would fail later, with the command that fixes it."""

import os
import stat
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register  # noqa: A004 - Django's name
from django.db import connections
from django.utils.translation import gettext

from access.errors import Unavailable
from guard.judge import JudgeError, read_folders, read_shape
from guard.policy import UnknownRule, read_pairs
from loci_site.config import Config
from loci_site.config.readers import removed_settings
from loci_site.config.sections import Maintenance
from storage.sqlite.driver import Driver, driver_of_settings, find_missing_features
from storage.version import install_extra

TAG = "loci"
_OTHER_USERS = stat.S_IRWXG | stat.S_IRWXO


_Found = Sequence[CheckMessage]


def _registered(check: Callable[[Config], _Found]) -> Callable[[Config], _Found]:
    """Run the check of these settings with every command."""

    def run(app_configs: object, **_: Any) -> _Found:
        return check(settings.LOCI)

    register(run, TAG)
    return check


@_registered
def _check_sqlite(config: Config) -> _Found:
    return [] if config.database_url else sqlite_messages(driver_of_settings())


def sqlite_messages(driver: Driver) -> _Found:
    """One error for each feature that the SQLite library lacks: full-text search with secure delete, loading the vectors' extension."""
    return [Error(lack.message, hint=lack.hint, id=lack.code) for lack in find_missing_features(driver)]


@_registered
def home_messages(config: Config) -> _Found:
    """An error if LOCI_HOME is not writable, a warning for each private path that other users can read."""
    home = config.home
    if not home.exists():
        return []  # created with the right mode when first needed
    if not home.is_dir() or not os.access(home, os.W_OK | os.X_OK):
        hint = "Make the user that runs Loci the owner of the folder, or set LOCI_HOME to another folder."
        return [Error(f"LOCI_HOME {home} is not a writable folder.", hint=hint, id="loci.E004")]
    private = ((home, "700"), (home / "keys", "700"), (home / "keys" / "django.key", "600"))
    message = gettext("Other users can read {path}.")
    return [_open_to_others(message, path, mode, "loci.W001") for path, mode in private if _is_open(path)]


def _is_open(path: Path) -> bool:
    """Whether other users can read a path; Windows has no permission bits."""
    return os.name != "nt" and path.exists() and bool(path.stat().st_mode & _OTHER_USERS)


def _open_to_others(message: str, path: Path, mode: str, code: str) -> Warning:
    hint = gettext("Run `{command}`.").format(command=f"chmod {mode} {path}")
    return Warning(message.format(path=path), hint=hint, id=code)


@_registered
def host_messages(config: Config) -> _Found:
    """A warning if every host name is accepted although other machines can reach the server."""
    if config.on_loopback or "*" not in config.server.allowed_hosts:
        return []
    message = gettext("Every host name is allowed, so any web page can send requests to Loci.")
    hint = gettext("List the host names that clients use in LOCI_ALLOWED_HOSTS or [server] allowed_hosts.")
    return [Warning(message, hint=hint, id="loci.W002")]


@_registered
def _check_removed(config: Config) -> _Found:
    found = removed_settings(config.home / "config.toml", os.environ)
    if not found:
        return []
    message = f"Settings that no longer exist are ignored: {', '.join(found)}."
    return [Warning(message, hint="Remove them: Loci chooses these values itself.", id="loci.W007")]


@_registered
def check_guard(config: Config) -> _Found:
    """Check that guard.floor has known kinds and treatments."""
    try:
        read_pairs(config.guard.floor)
    except UnknownRule as error:
        hint = "Write kind=treatment or word=TEXT, as in docs/how-to/sensitive-text.md."
        return [Error(f"guard.floor: {error}", hint=hint, id="loci.E005")]
    return []


@_registered
def check_judges(config: Config) -> _Found:
    """Check that each folder of judges.folders is whole and fits its use; the models are not loaded."""
    try:
        for use, folder in read_folders(config.judges.folders).items():
            read_shape(folder, use)
    except JudgeError as error:
        hint = "docs/how-to/models.md says what a folder holds."
        return [Error(f"judges.folders: {error}.", hint=hint, id="loci.E006")]
    return []


@_registered
def _check_sign_in(config: Config) -> _Found:
    """Check that the package for OpenID Connect is installed if a provider is set."""
    if not config.sign_in.oidc_issuer or find_spec("mozilla_django_oidc"):
        return []
    hint = f"Run `{install_extra('oidc')}`, or leave sign_in.oidc_issuer empty."
    return [
        Error("sign_in.oidc_issuer is set, but mozilla-django-oidc is missing.", hint=hint, id="loci.E007")
    ]


@_registered
def encryption_messages(config: Config) -> _Found:
    """Warnings about a key readable by other users, and about encryption on PostgreSQL."""
    if config.storage.encryption == "none":
        return []
    if config.database_url:
        message = gettext("storage.encryption does nothing on PostgreSQL.")
        hint = gettext("Encrypt the server's disk: docs/how-to/encrypt.md.")
        return [Warning(message, hint=hint, id="loci.W003")]
    files, path = config.files, config.storage.key_file
    found: list[CheckMessage] = []
    if (files.watch or files.rooms or files.daily_log) and not files.beside_encryption:
        message = gettext(
            "files.watch, files.rooms and files.daily_log are off: the store is encrypted, and these files would not be."
        )
        hint = gettext("To keep plain files next to an encrypted store, set files.beside_encryption = true.")
        found.append(Warning(message, hint=hint, id="loci.W006"))
    if path is not None and _is_open(path):
        message = gettext("Other users can read the key {path}.")
        found.append(_open_to_others(message, path, "600", "loci.W004"))
    return found


@register(Tags.database)
def indexes_are_whole(app_configs: object, databases: Sequence[str] | None = None, **_: Any) -> _Found:
    """Report virtual tables, views and triggers of the SQL files that the database lacks."""
    from memories.search.base import search_index  # noqa: PLC0415 - most commands need no search

    errors: list[CheckMessage] = []
    for alias in databases or []:
        if "memories_memory" not in connections[alias].introspection.table_names():
            continue
        try:
            missing = search_index().missing_objects()
        except Unavailable as error:
            errors.append(Error(error.message, hint=error.hint, id="memories.E002"))
            continue
        if missing:
            errors.append(
                Error(
                    f"The search indexes lack {', '.join(missing)}: new memories cannot be found.",
                    hint="Run 'loci migrate' (restores them), then 'loci doctor --repair'.",
                    id="memories.E001",
                )
            )
    return errors


@_registered
def _check_summariser(config: Config) -> _Found:
    """Check that the class named by maintenance.summariser can be imported and used; the default one can."""
    if config.maintenance.summariser == Maintenance().summariser:
        return []
    from maintenance.cycle.compaction.summary import get_summariser  # noqa: PLC0415 - most commands need no cycle

    try:
        get_summariser()
    except Unavailable as error:
        return [Error(error.message, hint=error.hint, id="maintenance.E001")]
    return []
