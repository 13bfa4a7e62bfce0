"""`loci encrypt`: encrypt an existing store with the key in the settings, or change its key."""

from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser

from access.errors import InvalidInput, Unavailable
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
from memories.language.plurals import format_count
from memories.management.output import FaceCommand, printable
from storage.encryption import database_key, key_from_file, make_key

EXAMPLES: Final = """\
examples:
  loci encrypt --make-key        makes the key where the settings say, then encrypts what is there
  loci encrypt --dry-run         what would be encrypted
  loci encrypt --old-key FILE    gives the store the key of the settings; FILE has the one it has now

Write `encryption = "sqlcipher"` and `key_file = "…"` under [storage] in config.toml first, and stop Loci.
Whoever loses the key loses the memories and all backups: keep a copy of it in another place.
'loci decrypt' takes the encryption back.
"""
LOST_KEY: Final = (
    "Nobody can read the memories and the backups without this key, and nobody can make it again: keep a copy of it in "
    "another place, not with the backups."
)
OLD_FILE: Final = (
    "The old file was overwritten with zeros and deleted. An SSD, a snapshot or a copy-on-write file system may keep its "
    "blocks all the same."
)


class Command(FaceCommand):
    """Prints the results of maintenance.backups.encrypting."""

    help = "Encrypt the store, its backups and uploaded files with the key that the settings name."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be encrypted, change nothing"
        )
        parser.add_argument("--make-key", action="store_true", help="make the key where the settings say")
        parser.add_argument(
            "--old-key", type=Path, metavar="FILE", help="file with the key that the store has now"
        )

    def act(self, options: dict[str, Any]) -> int:
        """Create the key if asked to, then preview or encrypt."""
        require_encryption()
        with explain_key_problems():
            if options["make_key"] and not options["dry_run"]:
                self._say(f"Made a key in {make_key().origin}. {LOST_KEY}", as_json=options["json"])
            old = key_from_file(options["old_key"], name="--old-key") if options["old_key"] else None
            keys = Keys(old=old, new=database_key())
        if options["dry_run"]:
            show_preview(self, preview_change(operator(), keys), as_json=options["json"])
            return 0
        with StepBar("encrypt") as bar:
            done = change_encryption(operator(), keys, progress=bar.show)
        show_result(self, done, keys, as_json=options["json"])
        return 0

    def _say(self, text: str, *, as_json: bool) -> None:
        (self.stderr if as_json else self.stdout).write(text)


def require_encryption() -> None:
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


def show_preview(command: FaceCommand, preview: EncryptionPreview, *, as_json: bool) -> None:
    """Print what would be changed."""
    if as_json:
        command.print_json({**vars(preview), "database": str(preview.database)})
        return
    states = {
        "none": "There is no database yet; a new one is made as the settings say.",
        "done": f"The database {preview.database} is already as wanted.",
        "to do": (
            f"The database {preview.database} would be copied, compared and replaced. That takes "
            f"{preview.bytes_needed / 1e6:,.1f} MB of the {preview.bytes_free / 1e6:,.1f} MB that are free."
        ),
    }
    command.stdout.write(printable(states[preview.state]))
    command.stdout.write(
        f"So would those of {format_count(preview.backups, 'backup')} and "
        f"{format_count(preview.uploads, 'uploaded file')} that are not. Nothing was changed."
    )


def show_result(command: FaceCommand, done: EncryptionResult, keys: Keys, *, as_json: bool) -> None:
    """Print what was changed, what happened to the old file, and what to do next."""
    if as_json:
        command.print_json(vars(done))
        return
    if done.rows is None:
        command.stdout.write("The database is as wanted already, or there is none yet.")
    else:
        command.stdout.write(f"Copied {format_count(done.rows, 'row')}; every one is the same in the copy.")
        command.stdout.write(OLD_FILE)
    command.stdout.write(
        f"Changed {format_count(len(done.backups), 'backup')} and {format_count(done.uploads, 'uploaded file')}."
    )
    for line in done.left:
        command.stdout.write(f"Left as it was: {printable(line)}.")
    if keys.word == "rekey":
        command.stdout.write("Keep the old key as long as you keep copies of older backups elsewhere.")
