"""The file of a backup: a zip with the database, the tombstone keys, the ids of its memories and a manifest.

Only a whole file ever bears its name: it is written under a draft's name, synced and renamed.
"""

import hashlib
import json
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import IO
from uuid import UUID

from access.errors import InvalidInput

FORMAT = 1
# What reading a damaged zip raises: a wrong bit in its data, in a length, or where it says how it is packed.
DAMAGED = (OSError, zipfile.BadZipFile, zlib.error, KeyError, ValueError, EOFError, RuntimeError)
MANIFEST, DATABASE, IDS, KEYS = "manifest.json", "memory.db", "memories.ids", "keys/"
# Half of a store is vectors, which nothing compresses: level 6 and LZMA save 0.3 and 1.3 percent of the size more
# than level 1 and take 1.3 and 5 times as long (30 MB store: 98, 75 and 20 MB/s).
LEVEL = 1
BLOCK_BYTES = 1024 * 1024
ID_BYTES = 16
DRAFT_END = ".part"


@dataclass(frozen=True)
class BackupManifest:
    """What manifest.json says of a backup: when and of what it was made, and what its parts must be."""

    made_at: datetime
    loci_version: str
    migrations: dict[str, list[str]]
    counts: dict[str, int]  # rows by table
    groups: dict[str, int]  # memories by group
    audit_seq: int
    audit_hash: str
    model: str  # whose vectors the index holds
    database_bytes: int
    sha256: dict[str, str] = field(default_factory=dict)
    purged_at: datetime | None = None  # when something was last taken out of it
    format: int = FORMAT


@dataclass(frozen=True)
class Contents:
    """What goes into a backup beside its manifest."""

    database: Path
    ids: frozenset[UUID]
    keys: Sequence[Path] = ()


def write_archive(target: Path, manifest: BackupManifest, contents: Contents) -> BackupManifest:
    """Write a backup for its owner alone, in place of any file of that name; give the manifest with its hashes."""
    ids = b"".join(sorted(id_.bytes for id_ in contents.ids))
    hashes = {DATABASE: sha256_of(contents.database), IDS: hashlib.sha256(ids).hexdigest()}
    hashes |= {KEYS + path.name: sha256_of(path) for path in contents.keys}
    whole = BackupManifest(**{**vars(manifest), "sha256": hashes})
    with (
        _whole_file(target) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as out,
    ):
        out.writestr(MANIFEST, json.dumps(asdict(whole), default=_plain, indent=1))
        out.writestr(IDS, ids)
        for path in contents.keys:
            out.write(path, KEYS + path.name)
        out.write(contents.database, DATABASE)
    return whole


def read_manifest(archive: Path) -> BackupManifest:
    """Give what a backup says of itself, without unpacking it.

    Raises:
        InvalidInput: the file is none of ours, is cut off, or is of a later version of the format.
    """
    try:
        with zipfile.ZipFile(archive) as file:
            said = json.loads(file.read(MANIFEST))
        if said.get("format") != FORMAT:
            raise InvalidInput(
                f"{archive.name} has the format {said.get('format')}, this version of Loci reads {FORMAT}.",
                hint="Restore it with the version of Loci that made it, or a later one.",
                field="file",
            )
        for name in ("made_at", "purged_at"):
            said[name] = said[name] and datetime.fromisoformat(said[name])
        return BackupManifest(**said)
    except FileNotFoundError:
        raise InvalidInput(
            f"There is no file {archive}.", hint="'loci backup --list' names them.", field="file"
        ) from None
    except (*DAMAGED, TypeError, AttributeError) as error:
        raise InvalidInput(
            f"{archive.name} is no backup of Loci, or is cut off: {error}.",
            hint="Take another one.",
            field="file",
        ) from error


def read_ids(archive: Path) -> frozenset[UUID]:
    """Give the ids of the memories in a backup, without unpacking its database."""
    with zipfile.ZipFile(archive) as file:
        raw = file.read(IDS)
    return frozenset(UUID(bytes=raw[at : at + ID_BYTES]) for at in range(0, len(raw), ID_BYTES))


def unpack(archive: Path, folder: Path) -> BackupManifest:
    """Unpack a backup into an empty folder, and check every part's hash.

    Raises:
        InvalidInput: a part is missing or is not what was written; the folder may then hold parts.
    """
    manifest = read_manifest(archive)
    (folder / KEYS).mkdir(mode=0o700, exist_ok=True)
    try:
        with zipfile.ZipFile(archive) as file:
            wrong = [
                name for name, hash_ in manifest.sha256.items() if _unpacked(file, name, folder) != hash_
            ]
    except DAMAGED as error:
        wrong = [str(error)]
    if wrong or DATABASE not in manifest.sha256:
        raise InvalidInput(
            f"{archive.name} is damaged: {', '.join(wrong) or 'it holds no database'}.",
            hint="Nothing was changed. Take another backup: 'loci backup --list'.",
            field="file",
        )
    return manifest


def sha256_of(path: Path) -> str:
    """Give the SHA-256 of a file's bytes, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Have a folder's names written to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def drafts_of(target: Path) -> list[Path]:
    """Find what writers that were killed left of a file."""
    return list(target.parent.glob(f".{target.name}.*{DRAFT_END}"))


@contextmanager
def _whole_file(target: Path) -> Iterator[IO[bytes]]:
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}{DRAFT_END}")
    try:
        with os.fdopen(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.replace(target)
        sync_folder(target.parent)
    finally:
        draft.unlink(missing_ok=True)


def _unpacked(archive: zipfile.ZipFile, name: str, folder: Path) -> str:
    """Write one part where it belongs, for its owner alone; give its hash."""
    path = (
        folder / (KEYS if name.startswith(KEYS) else "") / Path(name).name
    )  # whatever the name says, it stays inside
    digest = hashlib.sha256()
    with archive.open(name) as part, os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
        while block := part.read(BLOCK_BYTES):
            digest.update(block)
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return digest.hexdigest()


def _plain(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} does not go into a manifest")
