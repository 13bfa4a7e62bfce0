"""`loci store encrypt` and `decrypt`: encrypt an existing store with the key in the settings, or take that back."""

import sys
from pathlib import Path
from typing import Any, Final

from django.conf import settings

from access.errors import InvalidInput, Unavailable
from access.management.command import DRY_RUN, CommandAnswer, CommandVerb, flag, option
from access.tokens import operator
from maintenance.backups.encrypting import (
    EncryptionPreview,
    EncryptionResult,
    Keys,
    change_encryption,
    explain_key_problems,
    preview_change,
)
from maintenance.management.progress import StepBar
from memories.language.cleaning import format_count
from memories.management.output import in_lines, printable
from storage.encryption import database_key, key_from_file, make_key

NEXT: Final = (
    "Now set storage.encryption to none, or take it out of config.toml: until then nothing opens the store."
)
_LOST_KEY: Final = (
    "Without this key the memories and the backups cannot be read, and the key cannot be made again: keep a copy of it in "
    "another place, not with the backups."
)
_OLD_FILE: Final = (
    "The old file was overwritten with zeros and deleted. An SSD, a snapshot or a copy-on-write file system may keep its "
    "blocks all the same."
)


def encrypt(options: dict[str, Any]) -> CommandAnswer:
    """Make the key if asked to, then preview or encrypt."""
    _require_encryption()
    made = ""
    with explain_key_problems():
        if options["make_key"] and not options["dry_run"]:
            made = f"Made a key in {make_key().origin}. {_LOST_KEY}"
        old = key_from_file(options["old_key"], name="--old-key") if options["old_key"] else None
        keys = Keys(old=old, new=database_key())
    return change(keys, options, step="encrypt", before=made)


def decrypt(options: dict[str, Any]) -> CommandAnswer:
    """Preview or decrypt."""
    _require_encryption()
    with explain_key_problems():
        keys = Keys(old=database_key(), new=None)
    return change(keys, options, step="decrypt", after=NEXT)


def change(
    keys: Keys, options: dict[str, Any], *, step: str, before: str = "", after: str = ""
) -> CommandAnswer:
    """Preview the change of the encryption, or carry it out."""
    if options["dry_run"]:
        preview = preview_change(operator(), keys)
        return CommandAnswer(preview, preview_text(preview))
    if before and options["json"]:
        sys.stderr.write(f"{before}\n")
    try:
        with StepBar(step) as bar:
            done = change_encryption(operator(), keys, progress=bar.show)
    except BaseException:
        if before and not options["json"]:  # the key is made, whatever becomes of the store
            sys.stderr.write(f"{before}\n")
        raise
    return CommandAnswer(done, in_lines(before, result_text(done, keys), after))


def _require_encryption() -> None:
    """Raise unless the settings ask for an encrypted SQLite store."""
    if settings.LOCI.database_url:
        raise Unavailable(
            "This store is on PostgreSQL, whose operator encrypts its disk.",
            hint="docs/how-to/encrypt.md says how.",
        )
    if settings.LOCI.storage.encryption == "none":
        raise InvalidInput(
            "storage.encryption is none.",
            hint='Write encryption = "sqlcipher" and key_file = "…" under [storage] in config.toml first.',
            field="storage.encryption",
        )


def preview_text(preview: EncryptionPreview) -> str:
    """What would be changed."""
    states = {
        "none": "There is no database yet; a new one is made as the settings say.",
        "done": f"The database {preview.database} is already as wanted.",
        "to do": (
            f"The database {preview.database} would be copied, compared and replaced. That takes "
            f"{preview.bytes_needed / 1e6:,.1f} MB of the {preview.bytes_free / 1e6:,.1f} MB that are free."
        ),
    }
    return in_lines(
        printable(states[preview.state]),
        f"So would those of {format_count(preview.backups, 'backup')} and "
        f"{format_count(preview.uploads, 'uploaded file')} that are not. Nothing was changed.",
    )


def result_text(done: EncryptionResult, keys: Keys) -> str:
    """What was changed, what happened to the old file, and what to do next."""
    same = "The database is as wanted already, or there is none yet."
    copied = f"Copied {format_count(done.rows or 0, 'row')}; every one is the same in the copy.\n{_OLD_FILE}"
    keep = "Keep the old key as long as you keep copies of older backups elsewhere."
    return in_lines(
        same if done.rows is None else copied,
        f"Changed {format_count(len(done.backups), 'backup')} and {format_count(done.uploads, 'uploaded file')}.",
        *(f"Left as it was: {printable(line)}." for line in done.left),
        keep if keys.word == "rekey" else "",
    )


ENCRYPT: Final = CommandVerb(
    encrypt,
    "encrypt the store, its backups and uploaded files with the key that the settings name",
    (
        DRY_RUN,
        flag("--make-key", "make the key where the settings say"),
        option("--old-key", type=Path, metavar="FILE", help="file with the key that the store has now"),
    ),
)
DECRYPT: Final = CommandVerb(decrypt, "decrypt the store, its backups and uploaded files", (DRY_RUN,))
