"""The bytes that a store leaves on its disk: the database, its log of pages, each index's own tables, backups, logs."""

from pathlib import Path

from django.conf import settings
from django.db import connection

from maintenance.backups.archive import unpack
from maintenance.backups.folder import managed_backups
from memories.search.schema import begin_purge
from tests.file_bytes import bytes_of, with_plain_pages

SHADOWS = ("memories_fts", "memories_vec")


def begin_clean() -> None:
    """Empty the file of what earlier tests left in free pages: emptying tables is no purge."""
    begin_purge(connection)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def database_path() -> Path:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA database_list")
        return Path(cursor.fetchone()[2])


def file_bytes() -> dict[str, bytes]:
    """The database's files by name, without a checkpoint first."""
    path = database_path()
    return {one.name: bytes_of(one) for one in path.parent.glob(f"{path.name}*")}


def shadow_bytes() -> dict[str, bytes]:
    """Every row of each index's own tables: words, documents, positions, chunks of vectors."""
    found = {}
    with connection.cursor() as cursor:
        cursor.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        names = [name for (name,) in cursor.fetchall() if name.startswith(SHADOWS)]
        for name in sorted(set(names) - set(SHADOWS)):
            cursor.execute(f'SELECT * FROM "{name}"')  # names of tables, read from the schema
            found[name] = b"".join(_bytes(value) for row in cursor.fetchall() for value in row)
    return found


def _bytes(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def backup_bytes(folder: Path) -> dict[str, bytes]:
    """Each managed backup, packed and unpacked; decrypted too if the store is encrypted."""
    found = {}
    for archive in (backup.path for backup in managed_backups()):
        place = folder / archive.stem
        place.mkdir(parents=True)
        unpack(archive, place)
        parts = [with_plain_pages(path.read_bytes()) for path in place.rglob("*") if path.is_file()]
        found[archive.name] = archive.read_bytes() + b"".join(parts)
    return found


def log_bytes() -> dict[str, bytes]:
    """The log files of this home."""
    folder = Path(settings.LOCI.home) / "logs"
    return (
        {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        if folder.exists()
        else {}
    )


def holders(places: dict[str, bytes], traces: list[bytes]) -> list[str]:
    """The places that contain one of the traces, in any case."""
    return [name for name, data in places.items() if any(t in data or t in data.lower() for t in traces)]
