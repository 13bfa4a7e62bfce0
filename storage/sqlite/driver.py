"""The choice of the SQLite library; nothing else chooses one.

Purge needs FTS5 with `secure-delete`, vectors need loadable extensions; many Pythons lack one or both.
"""

import importlib
import importlib.util
import os
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from django.conf import settings

from storage.version import install_extra

_OLDEST_STANDARD = (3, 44, 0)
MODULES = {"pysqlite3": "pysqlite3", "stdlib": "sqlite3", "sqlean": "sqlean"}
_ENCRYPTING = {"sqlcipher": "sqlcipher3"}  # chosen by the setting storage.encryption alone
_INSTALL_HINT = (
    "Run `pip install pysqlite3`, or `pip install sqlean.py` where the first has no wheel for this machine, "
    "then start again."
)
_ENCRYPTION_HINT = f"Run `{install_extra('encryption')}`, then start again."


@dataclass(frozen=True)
class Driver:
    """A DB-API module for SQLite that can load extensions, or the reason why there is none."""

    name: str
    module: ModuleType | None = None
    problem: str = ""


def choose_driver(forced: str = "") -> Driver:
    """The first usable driver of pysqlite3, the standard library's and sqlean; only `forced` if it is set.

    `forced` comes from LOCI_SQLITE_DRIVER and is meant for tests and support.
    """
    if forced and forced not in MODULES:
        return Driver(
            "none", problem=f"LOCI_SQLITE_DRIVER is {forced!r}, allowed is one of {', '.join(MODULES)}."
        )
    reasons = []
    for name in (forced,) if forced else MODULES:
        driver = load_driver(name)
        if driver.module is not None:
            return driver
        reasons.append(f"{name}: {driver.problem}")
    tried = "; ".join(reasons)
    return Driver("none", problem=f"No SQLite library here can load extensions ({tried}). {_INSTALL_HINT}")


def driver_of_settings() -> Driver:
    """The store's driver: SQLCipher if storage.encryption asks for it, else DRIVER."""
    return load_driver("sqlcipher") if settings.LOCI.storage.encryption == "sqlcipher" else DRIVER


def vec0_path() -> Path:
    """The path of the sqlite-vec extension without its suffix, as `load_extension` expects it."""
    # The package is located, not imported: it imports the standard sqlite3, which some Pythons lack.
    spec = importlib.util.find_spec("sqlite_vec")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("The package sqlite-vec is missing. Run `pip install sqlite-vec`.")
    return Path(spec.origin).with_name("vec0")


def load_vec0(connection: Any) -> None:
    """Load sqlite-vec into an open connection of a library."""
    connection.enable_load_extension(True)
    connection.load_extension(str(vec0_path()))
    connection.enable_load_extension(False)


def load_driver(name: str) -> Driver:
    """The named driver, with the problem instead of a module if it cannot be used."""
    try:
        module = importlib.import_module((MODULES | _ENCRYPTING)[name])
    except ImportError as missing:
        if name in _ENCRYPTING:
            return Driver(
                name, problem=f"Encryption needs a package that is missing ({missing}). {_ENCRYPTION_HINT}"
            )
        return Driver(name, problem=str(missing))
    if not hasattr(module.Connection, "enable_load_extension"):
        return Driver(name, problem="cannot load extensions")
    if name == "stdlib" and module.sqlite_version_info < _OLDEST_STANDARD:
        return Driver(name, problem=f"SQLite {module.sqlite_version} is older than 3.44")
    return Driver(name, module)


DRIVER = choose_driver(os.environ.get("LOCI_SQLITE_DRIVER", ""))


@dataclass(frozen=True)
class _MissingFeature:
    """A feature that Loci needs and the library lacks."""

    code: str
    message: str
    hint: str


def find_missing_features(driver: Driver) -> list[_MissingFeature]:
    """The features that the driver lacks; empty if everything works."""
    if driver.module is None:
        message, _, hint = driver.problem.partition(". ")
        return [_MissingFeature("loci.E001", message, hint or _INSTALL_HINT)]
    with closing(driver.module.connect(":memory:")) as connection:
        found = [_check_full_text(connection, driver), _check_vectors(connection, driver)]
    return [missing for missing in found if missing is not None]


def _check_full_text(connection: Any, driver: Driver) -> _MissingFeature | None:
    """The missing feature if FTS5 or its `secure-delete` option does not work."""
    library: Any = driver.module
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(content)")
        connection.execute("INSERT INTO words(words, rank) VALUES ('secure-delete', 1)")
    except library.Error as error:
        version = library.sqlite_version
        return _MissingFeature(
            "loci.E002",
            f"SQLite {version} of {driver.name} has no full-text search with secure delete (FTS5 of 3.42 or newer): {error}",
            _INSTALL_HINT,
        )
    return None


def _check_vectors(connection: Any, driver: Driver) -> _MissingFeature | None:
    """The missing feature if sqlite-vec does not load."""
    library: Any = driver.module
    try:
        load_vec0(connection)
        connection.execute("SELECT vec_version()")
    except (ImportError, library.Error) as error:
        return _MissingFeature(
            "loci.E003",
            f"The vector extension sqlite-vec does not load into SQLite {library.sqlite_version}: {error}",
            "Run `pip install --force-reinstall sqlite-vec`; it has no build for musl (Alpine) or Windows on ARM.",
        )
    return None
