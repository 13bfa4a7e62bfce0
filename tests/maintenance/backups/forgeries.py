"""Backups that somebody made to do harm, each with correct hashes."""

import hashlib
import json
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from storage.sqlite.driver import DRIVER

DATABASE, MANIFEST = "memory.db", "manifest.json"
BOMB_BYTES = 64 * 1024 * 1024
Parts = dict[str, bytes]
Manifest = dict[str, Any]


def forgeries(backup: Path, folder: Path) -> Iterator[tuple[str, Path]]:
    """Forged copies of a backup in the folder, each with a name that says what is wrong."""
    with zipfile.ZipFile(backup) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(parts.pop(MANIFEST))
    for name, forge in FORGERIES.items():
        own, said = dict(parts), json.loads(json.dumps(manifest))
        forge(own, said, folder)
        path = folder / f"{name.replace(' ', '-')}.zip"
        write(path, own, said)
        yield name, path


def write(path: Path, parts: Parts, manifest: Manifest) -> None:
    """Write a backup whose manifest has the hashes of its parts."""
    if isinstance(manifest.get("sha256"), dict):
        manifest["sha256"] = {name: hashlib.sha256(data).hexdigest() for name, data in parts.items()}
    hidden: dict[str, str] = manifest.pop("hidden", {})
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in hidden.items():
            out.writestr(name, text)
        out.writestr(MANIFEST, json.dumps(manifest))
        for name, data in parts.items():
            out.writestr(name, data)


def add_signing_key(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A key that would sign this server's sessions."""
    parts["keys/django.key"] = b"known to somebody else\n"


def add_outside_file(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A file outside the folder."""
    parts["keys/../../tombstone-escaped.key"] = b"0" * 64


def add_large_key(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A key of a size that no key has."""
    parts["keys/tombstone-large.key"] = b"0" * BOMB_BYTES


def inflate_database(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A database that is far larger than the manifest says."""
    parts[DATABASE] = bytes(BOMB_BYTES)
    manifest["database_bytes"] = 10


def replace_database(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A file that is no database."""
    parts[DATABASE] = b"this is not a database, whatever the name says\n" * 1000
    manifest["database_bytes"] = len(parts[DATABASE])


def damage_pages(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A database with pages of noise."""
    data = bytearray(parts[DATABASE])
    for page in (2, 5, len(data) // 4096 // 2):
        data[page * 4096 : page * 4096 + 4096] = b"\xa5" * 4096
    parts[DATABASE] = bytes(data)


def cut_database(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A database without its second half."""
    parts[DATABASE] = parts[DATABASE][: len(parts[DATABASE]) // 2]


def add_trigger(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A database with a trigger that changes rights as soon as something is stored."""
    path = folder / "trigger.db"
    path.write_bytes(parts[DATABASE])
    database = DRIVER.module.connect(str(path))  # type: ignore[union-attr]  # a proof has a library
    database.execute("PRAGMA journal_mode = DELETE")
    database.execute(
        "CREATE TRIGGER harmful AFTER INSERT ON memories_memory BEGIN UPDATE access_apitoken SET scopes = '[]'; END"
    )
    database.commit()
    database.close()
    parts[DATABASE] = path.read_bytes()
    manifest["database_bytes"] = len(parts[DATABASE])


def confuse_types(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A manifest whose values are of other types."""
    manifest["counts"], manifest["database_bytes"] = ["many"], "large"


def inflate_manifest(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A manifest of a size that no store needs."""
    manifest["groups"] = {"g" * (20 * 1024 * 1024): 1}


def replace_tables(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """Another program's database under a manifest of Loci's."""
    path = folder / "foreign.db"
    path.unlink(missing_ok=True)
    database = DRIVER.module.connect(str(path))  # type: ignore[union-attr]  # a proof has a library
    database.execute("CREATE TABLE x (y)")
    database.commit()
    database.close()
    parts[DATABASE] = path.read_bytes()
    manifest["database_bytes"] = len(parts[DATABASE])


def claim_more(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A manifest that claims more memories than the database has."""
    manifest["groups"] = {name: count + 1 for name, count in manifest["groups"].items()}


def hide_part(parts: Parts, manifest: Manifest, folder: Path) -> None:
    """A part that the manifest does not name; write() adds it after the hashes."""
    manifest["hidden"] = {"../../tombstone-evil.key": "0" * 64}


FORGERIES: dict[str, Callable[[Parts, Manifest, Path], None]] = {
    "a signing key": add_signing_key,
    "a file outside": add_outside_file,
    "a large key": add_large_key,
    "a larger database": inflate_database,
    "no database": replace_database,
    "damaged pages": damage_pages,
    "half a database": cut_database,
    "a harmful trigger": add_trigger,
    "another program's database": replace_tables,
    "more memories": claim_more,
    "a part that is not named": hide_part,
    "wrong types": confuse_types,
    "a large manifest": inflate_manifest,
}
