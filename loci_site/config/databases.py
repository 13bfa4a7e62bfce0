"""The database that Django opens: SQLite in LOCI_HOME."""

from pathlib import Path
from typing import Any

from loci_site.config import Config
from loci_site.config.sections import Storage

# Set on every connection; Django itself turns foreign keys on, and `timeout` sets the busy timeout.
PRAGMAS = (
    # Rewritten and purged rows must not survive in free space.
    "secure_delete=ON",
    "journal_mode=WAL",  # readers do not wait for the writer
    "synchronous=NORMAL",  # safe with WAL: a crash of the program loses no committed data
    "mmap_size=134217728",  # 128 MiB
    "journal_size_limit=67108864",  # 64 MiB: the WAL file shrinks again after a large import
    "temp_store=MEMORY",
)


def database_settings(config: Config) -> dict[str, Any]:
    """The `default` entry of DATABASES."""
    return sqlite_settings(config.storage.database, storage=config.storage)


def sqlite_settings(database: Path, *, storage: Storage) -> dict[str, Any]:
    """Settings for SQLite with Loci's own backend: one writer at a time, and writers wait instead of failing."""
    # A negative cache size is in KiB, a positive one in pages.
    pragmas = (*PRAGMAS, f"cache_size=-{storage.cache_mb * 1024}")
    return {
        "ENGINE": "storage.sqlite",
        "NAME": str(database),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": storage.busy_timeout_s,
            # A deferred transaction that reads before it writes fails at once if another connection wrote in between.
            "transaction_mode": "IMMEDIATE",
            "init_command": ";".join(f"PRAGMA {pragma}" for pragma in pragmas),
        },
    }
