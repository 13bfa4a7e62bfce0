"""Changes the key of a backup: its database is copied and compared, other parts are sealed again."""

import json
import zipfile
from pathlib import Path

from maintenance.backups.archive import (
    DATABASE,
    LEVEL,
    MANIFEST,
    STORES,
    blocks_of,
    sha256_of,
    write_atomically,
)
from storage.encryption import DatabaseKey
from storage.encryption.sealing import key_that_unseals, seal, unseal
from storage.sqlite.reencrypt import copy_with_key, finish_wiping


def reencrypt_archive(path: Path, folder: Path, *, old: DatabaseKey | None, new: DatabaseKey | None) -> bool:
    """Rewrite a backup for the new key, or plain; False if it is already. `folder` is an empty one to work in.

    Raises:
        ValueError: it takes a third key, is damaged, or was made on PostgreSQL; it stays as it is.
    """
    with zipfile.ZipFile(path) as source:
        own = key_that_unseals(source.read(MANIFEST), old, new)
        if (own and own.id) == (new and new.id):
            return False
        manifest = json.loads(unseal(source.read(MANIFEST), own))
        [store] = STORES.intersection(source.namelist())
        if store != DATABASE:
            raise ValueError("made on PostgreSQL, whose dumps are not encrypted here")
        before, after = folder / "before.db", folder / DATABASE
        with before.open("wb") as out:
            out.writelines(blocks_of(source, store))
        if sha256_of(before) != manifest["sha256"][store]:
            raise ValueError("damaged: its database has another hash")
        copy_with_key(before, after, old=own, new=new)
        finish_wiping(before)
        manifest["sha256"][store], manifest["database_bytes"] = sha256_of(after), after.stat().st_size
        small = {
            name: unseal(source.read(name), own)
            for name in source.namelist()
            if name not in (store, MANIFEST)
        }
    with (
        write_atomically(path) as file,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=LEVEL) as out,
    ):
        out.writestr(MANIFEST, seal(json.dumps(manifest, indent=1).encode(), new))
        for name, content in small.items():
            out.writestr(name, seal(content, new))
        out.write(after, store)
    return True
