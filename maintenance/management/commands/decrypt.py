"""`loci decrypt`: decrypt a store."""

from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from maintenance.backups.encrypting import Keys, change_encryption, explain_key_problems, preview_change
from maintenance.management.commands.encrypt import require_encryption, show_preview, show_result
from maintenance.management.progress import StepBar
from memories.management.output import FaceCommand
from storage.encryption import database_key

EXAMPLES: Final = """\
examples:
  loci decrypt --dry-run    what would be decrypted
  loci decrypt              then take storage.encryption out of config.toml

Loci must be stopped, and the settings must still name the key. Keep the key as long as you keep copies of older backups.
"""
NEXT: Final = (
    "Now set storage.encryption to none, or take it out of config.toml: until then nothing opens the store."
)


class Command(FaceCommand):
    """Prints the results of maintenance.backups.encrypting."""

    help = "Decrypt the store, its backups and uploaded files."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be decrypted, change nothing"
        )

    def act(self, options: dict[str, Any]) -> int:
        """Preview or decrypt."""
        require_encryption()
        with explain_key_problems():
            keys = Keys(old=database_key(), new=None)
        if options["dry_run"]:
            show_preview(self, preview_change(operator(), keys), as_json=options["json"])
            return 0
        with StepBar("decrypt") as bar:
            done = change_encryption(operator(), keys, progress=bar.show)
        show_result(self, done, keys, as_json=options["json"])
        if not options["json"]:
            self.stdout.write(NEXT)
        return 0
