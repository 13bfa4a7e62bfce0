"""The backup file: a zip with the database, the keys of tombstones and of the guard, the memory ids and a manifest.

The database in the backup of an encrypted store is encrypted as the store is, and the other parts are sealed with its key.

It is written under a temporary name, synced and renamed, so a file with the final name is always complete.
"""

import hashlib
import json
import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from uuid import UUID

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from access.errors import InvalidInput, Unavailable
from storage.encryption import database_key
from storage.encryption.sealing import UnsealError, seal, sealed_size, unseal
from storage.home import GUARD_KEY
from storage.whole_file import replace_whole

FORMAT = 1
# Errors that a damaged zip raises: wrong bits in its data, in a length, or in the compression method.
DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, RuntimeError)
# A key has 32 bytes in hex, sealed or not; a manifest grows with the number of groups.
MAX_MANIFEST_BYTES, MAX_KEY_BYTES, MAX_PARTS = 16 * 1024 * 1024, 1024, 1000
_KEY_NAME = re.compile(rf"keys/(?:tombstone-[\w.-]+\.key|{re.escape(GUARD_KEY)})")
MANIFEST, IDS, KEYS = "manifest.json", "memories.ids", "keys/"
DATABASE, DUMP = "memory.db", "memory.dump"  # a SQLite file, or what pg_dump wrote
STORES = frozenset({DATABASE, DUMP})
# Half of a store is vectors, which do not compress: compared with level 1, level 6 and LZMA save 0.3 % and 1.3 % of
# the size and take 1.3 and 5 times as long (30 MB store: 98, 75 and 20 MB/s).
LEVEL = 1
BLOCK_BYTES = 1024 * 1024
_ID_BYTES = 16


@with_config(ConfigDict(extra="forbid"))
@dataclass(frozen=True)
class BackupManifest:
    """Contents of manifest.json: when and from what the backup was made, and the hashes of its parts."""

    made_at: datetime
    loci_version: str
    migrations: dict[str, list[str]]
    counts: dict[str, int]  # rows by table
    groups: dict[str, int]  # memories by group
    audit_seq: int
    audit_hash: str
    model: str  # that made the indexed vectors
    database_bytes: int
    sha256: dict[str, str] = field(default_factory=dict)
    purged_at: datetime | None = None  # when memories were last removed from it
    format: int = FORMAT


@dataclass(frozen=True)
class ArchiveContents:
    """Files and memory ids that go into a backup, besides the manifest."""

    database: Path
    ids: frozenset[UUID]
    keys: Sequence[Path] = ()


def write_archive(target: Path, manifest: BackupManifest, contents: ArchiveContents) -> BackupManifest:
    """Write a backup readable by its owner only, replacing any file of that name; return the manifest with hashes."""
    key, ids = database_key(), b"".join(sorted(id_.bytes for id_ in contents.ids))
    hashes = {contents.database.name: sha256_of(contents.database), IDS: hashlib.sha256(ids).hexdigest()}
    hashes |= {KEYS + path.name: sha256_of(path) for path in contents.keys}
    whole = BackupManifest(**{**vars(manifest), "sha256": hashes})
    with (
        replace_whole(target) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as out,
    ):
        manifest_text = json.dumps(asdict(whole), default=datetime.isoformat, indent=1)
        out.writestr(MANIFEST, seal(manifest_text.encode(), key))
        out.writestr(IDS, seal(ids, key))
        for path in contents.keys:
            out.writestr(KEYS + path.name, seal(path.read_bytes(), key))
        out.write(contents.database, contents.database.name)
    return whole


def read_manifest(archive: Path) -> BackupManifest:
    """The manifest of a backup, without unpacking it.

    Raises:
        InvalidInput: the file is not a Loci backup, is truncated, or has a later format version.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            values = json.loads(_read_part(file, MANIFEST, most=MAX_MANIFEST_BYTES))
        if values.get("format") != FORMAT:
            raise InvalidInput(
                f"{archive.name} has the format {values.get('format')}, this version of Loci reads {FORMAT}.",
                hint="Use the version of Loci that made it, or a later one.",
                field="file",
            )
        return TypeAdapter(BackupManifest).validate_python(values)
    except UnsealError as error:
        raise InvalidInput(f"{archive.name} {error}.", hint="Nothing was changed.", field="file") from error
    except FileNotFoundError:
        raise InvalidInput(
            f"There is no file {archive}.", hint="'loci backup --list' shows the backups.", field="file"
        ) from None
    except (*DAMAGED, TypeError, AttributeError, RecursionError) as error:
        why = f"a value in {MANIFEST} has the wrong type" if isinstance(error, ValidationError) else error
        raise InvalidInput(
            f"{archive.name} is not a Loci backup, or is truncated: {why}.",
            hint="Use another file.",
            field="file",
        ) from error


def unusable(message: str) -> InvalidInput:
    """The error of a backup that cannot be restored."""
    return InvalidInput(
        message, hint="Nothing was changed. Use another backup: 'loci backup --list'.", field="file"
    )


def read_ids(archive: Path) -> frozenset[UUID]:
    """The memory ids in a backup that unpack() has checked, without unpacking its database."""
    with zipfile.ZipFile(archive) as file:
        raw = _read_part(file, IDS, most=file.getinfo(IDS).file_size)
    return frozenset(UUID(bytes=raw[at : at + _ID_BYTES]) for at in range(0, len(raw), _ID_BYTES))


def unpack(archive: Path, folder: Path) -> BackupManifest:
    """Unpack a backup into an empty folder, after a look at the sizes, and check the hash of every part.

    Raises:
        InvalidInput: a part is missing, larger than it may be, or has another hash; the folder may then hold some parts.
        Unavailable: the disk has no room for it.
    """
    manifest = read_manifest(archive)
    (folder / KEYS).mkdir(mode=0o700, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as file:
            _check_parts(file, archive, manifest, folder)
            wrong = [
                name for name, hash_ in manifest.sha256.items() if _unpack_part(file, name, folder) != hash_
            ]
    except DAMAGED as error:
        wrong = [str(error)]
    if wrong or len(STORES & manifest.sha256.keys()) != 1:
        raise unusable(f"{archive.name} is damaged: {', '.join(wrong) or 'it has no database'}.")
    return manifest


def _check_parts(file: zipfile.ZipFile, archive: Path, manifest: BackupManifest, folder: Path) -> None:
    """Raise unless a backup holds nothing but its parts, in the sizes that its manifest allows, and the disk has room.

    The sizes are those of the zip's headers; _unpack_part() reads no further.
    """
    sizes = {info.filename: info.file_size for info in file.infolist()}
    limits = dict.fromkeys(STORES, manifest.database_bytes)
    limits[IDS] = sealed_size(manifest.counts.get("memories_memory", 0) * _ID_BYTES)
    wrong = [name for name in manifest.sha256 if name not in limits and not _KEY_NAME.fullmatch(name)]
    wrong += sorted(sizes.keys() - manifest.sha256.keys() - {MANIFEST, KEYS})
    wrong += [
        f"{name} is larger than the manifest says"
        for name in manifest.sha256
        if sizes.get(name, 0) > limits.get(name, MAX_KEY_BYTES)
    ]
    if wrong or len(manifest.sha256) > MAX_PARTS:
        raise unusable(
            f"{archive.name} is not a Loci backup: {', '.join(wrong[:3]) or 'it has too many parts'}."
        )
    needed = sum(sizes.get(name, 0) for name in manifest.sha256)
    if needed > shutil.disk_usage(folder).free:
        raise Unavailable(
            f"{archive.name} takes {needed / 1e6:,.0f} MB when unpacked, and the disk has less.",
            hint="Nothing was changed. Free space on the disk that holds LOCI_HOME.",
        )


def _read_part(file: zipfile.ZipFile, name: str, *, most: int) -> bytes:
    """The content of a small part, unsealed; ValueError above `most` bytes."""
    with file.open(name) as part:
        content = part.read(most + 1)
    if len(content) > most:
        raise ValueError(f"{name} is too large")
    return unseal(content, database_key())


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _unpack_part(archive: zipfile.ZipFile, name: str, folder: Path) -> str:
    """Write one part into the folder, readable by its owner only; return its SHA-256 in hex."""
    # Only the last component of the name is used, so a forged name cannot leave the folder.
    path = folder / (KEYS if name.startswith(KEYS) else "") / Path(name).name
    digest = hashlib.sha256()
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
        for block in blocks_of(archive, name):
            digest.update(block)
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def blocks_of(archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The content of a part, at most as long as the zip's headers say; small parts are unsealed."""
    left = archive.getinfo(name).file_size
    if name not in STORES:
        yield _read_part(archive, name, most=left)
        return
    with archive.open(name) as part:
        while left > 0 and (block := part.read(min(BLOCK_BYTES, left))):
            yield block
            left -= len(block)
