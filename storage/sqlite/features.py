"""Features of the chosen SQLite library, probed on an in-memory database (about a millisecond)."""

from contextlib import closing
from dataclasses import dataclass
from typing import Any

from storage.sqlite.driver import INSTALL_HINT, Driver, vec0_path


@dataclass(frozen=True)
class MissingFeature:
    """A feature that Loci needs and the library lacks."""

    code: str
    message: str
    hint: str


def find_missing_features(driver: Driver) -> list[MissingFeature]:
    """The features that the driver lacks; empty if everything works."""
    if driver.module is None:
        message, _, hint = driver.problem.partition(". ")
        return [MissingFeature("loci.E001", message, hint or INSTALL_HINT)]
    with closing(driver.module.connect(":memory:")) as connection:
        found = [check_full_text(connection, driver), check_vectors(connection, driver)]
    return [missing for missing in found if missing is not None]


def check_full_text(connection: Any, driver: Driver) -> MissingFeature | None:
    """The missing feature if FTS5 or its `secure-delete` option does not work."""
    library: Any = driver.module
    try:
        connection.execute("CREATE VIRTUAL TABLE words USING fts5(content)")
        connection.execute("INSERT INTO words(words, rank) VALUES ('secure-delete', 1)")
    except library.Error as error:
        version = library.sqlite_version
        return MissingFeature(
            "loci.E002",
            f"SQLite {version} of {driver.name} has no full-text search with secure delete (FTS5 of 3.42 or newer): {error}",
            INSTALL_HINT,
        )
    return None


def check_vectors(connection: Any, driver: Driver) -> MissingFeature | None:
    """The missing feature if sqlite-vec does not load."""
    library: Any = driver.module
    try:
        connection.enable_load_extension(True)
        connection.load_extension(str(vec0_path()))
        connection.execute("SELECT vec_version()")
    except (ImportError, library.Error) as error:
        return MissingFeature(
            "loci.E003",
            f"The vector extension sqlite-vec does not load into SQLite {library.sqlite_version}: {error}",
            "Run `pip install --force-reinstall sqlite-vec`; it has no build for musl (Alpine) or Windows on ARM.",
        )
    return None
