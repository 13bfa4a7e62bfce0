"""What the chosen SQLite library can do, tried out on a database in memory (about a millisecond)."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from storage.sqlite.driver import INSTALL_HINT, Driver, vec0_path


@dataclass(frozen=True)
class MissingFeature:
    """Something Loci needs and the library cannot do."""

    code: str
    message: str
    hint: str


def find_missing_features(driver: Driver) -> list[MissingFeature]:
    """Give what is missing, empty when everything works."""
    if driver.module is None:
        message, _, hint = driver.problem.partition(". ")
        return [MissingFeature("loci.E001", message, hint or INSTALL_HINT)]
    with closing(driver.module.connect(":memory:")) as connection:
        found = [_full_text(connection, driver), _vectors(connection, driver)]
    return [lack for lack in found if lack is not None]


def _full_text(connection: Any, driver: Driver) -> MissingFeature | None:
    library: Any = driver.module
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(content)")
        connection.execute("INSERT INTO words(words, rank) VALUES ('secure-delete', 1)")
    except library.Error as wrong:
        version = library.sqlite_version
        return MissingFeature(
            "loci.E002",
            f"SQLite {version} of {driver.name} has no full-text search with secure delete (FTS5 of 3.42 or newer): {wrong}",
            INSTALL_HINT,
        )
    return None


def _vectors(connection: Any, driver: Driver) -> MissingFeature | None:
    library: Any = driver.module
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(vec0_path()))
        connection.execute("SELECT vec_version()")
    except (ImportError, library.Error) as wrong:
        return MissingFeature(
            "loci.E003",
            f"The vector extension sqlite-vec does not load into SQLite {library.sqlite_version}: {wrong}",
            "Run `pip install --force-reinstall sqlite-vec`; it has no build for musl (Alpine) or Windows on ARM.",
        )
    return None
