"""The database that Django opens: SQLite in LOCI_HOME, or PostgreSQL where DATABASE_URL names one."""

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from loci_site.config import Config
from loci_site.config.sections import Storage
from storage.postgresql.replica import REPLICA

# Set on every connection; Django itself turns foreign keys on, and `timeout` sets the busy timeout.
_PRAGMAS = (
    # Rewritten and purged rows must not survive in free space.
    "secure_delete=ON",
    "journal_mode=WAL",  # readers do not wait for the writer
    "synchronous=NORMAL",  # safe with WAL: a crash of the program loses no committed data
    "mmap_size=134217728",  # 128 MiB
    "journal_size_limit=67108864",  # 64 MiB: the WAL file shrinks again after a large import
    "temp_store=MEMORY",
)
_BUSY_TIMEOUT_S = 20.0  # how long a write waits for other writes
_CACHE_MB = 16  # of pages, for each connection
_ENCRYPTED_CACHE_MB = 64  # recall in a group of 18,000 memories takes 2 % less: docs/dev/speed.md


def all_databases(config: Config) -> dict[str, dict[str, Any]]:
    """DATABASES: the store, and the replica if there is one."""
    if not config.database_url:
        return {"default": sqlite_settings(config.storage.database, storage=config.storage)}
    addresses = {"default": config.database_url, REPLICA: config.replica_url}
    threshold = config.storage.prepare_threshold
    return {
        name: postgresql_settings(url, prepare_threshold=threshold) for name, url in addresses.items() if url
    }


def sqlite_settings(database: Path, *, storage: Storage) -> dict[str, Any]:
    """Settings for SQLite with Loci's own backend: one writer at a time, and writers wait instead of failing."""
    # A negative cache size is in KiB, a positive one in pages.
    cache_mb = _CACHE_MB if storage.encryption == "none" else _ENCRYPTED_CACHE_MB
    pragmas = (*_PRAGMAS, f"cache_size=-{cache_mb * 1024}")
    return {
        "ENGINE": "storage.sqlite",
        "NAME": str(database),
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": _BUSY_TIMEOUT_S,
            # A deferred transaction that reads before it writes fails at once if another connection wrote in between.
            "transaction_mode": "IMMEDIATE",
            "init_command": ";".join(f"PRAGMA {pragma}" for pragma in pragmas),
        },
    }


def postgresql_settings(url: str, *, prepare_threshold: int = 5) -> dict[str, Any]:
    """Settings for PostgreSQL from an address as libpq takes it; its query becomes connection options.

    They suit a pooler that hands out a connection per transaction (PgBouncer): no cursor outlives its transaction, and
    what storage.postgresql finds behind one has nothing prepared.
    """
    parts = urlsplit(url)
    options = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "storage.postgresql",
        "NAME": unquote(parts.path.removeprefix("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": options.pop("host", None) or parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": None,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": True,
        # Only repeated_cursor() prepares: the ORM's other statements are put together with their values.
        "OPTIONS": {"prepare_threshold": prepare_threshold or None, **options},
    }
