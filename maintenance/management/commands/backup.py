"""`loci backup`: back up the store while it is in use, list backups, remove purged memories from them."""

from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from maintenance.backups import list_backups, make_backup
from maintenance.backups.folder import Backup
from maintenance.backups.purge import purge_backups
from maintenance.management.progress import StepBar
from memories.language.plurals import format_memory_count
from memories.management.output import FaceCommand

EXAMPLES: Final = """\
examples:
  loci backup                          into LOCI_HOME/backups; the newest maintenance.backups_kept are kept
  loci backup --to /mnt/usb/loci.zip   a file of your own, which Loci never deletes and no purge reaches
  loci backup --list
  loci backup --purge                  remove purged memories from the backups now, without the worker

'loci restore' restores one.
"""


class Command(FaceCommand):
    """Renders what maintenance.backups does."""

    help = "Back up the store while it is in use: copied, verified, compressed, with the tombstone keys."
    examples = EXAMPLES
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        what = parser.add_mutually_exclusive_group()
        what.add_argument("--to", type=Path, metavar="FILE", help="write this new file instead")
        what.add_argument("--list", action="store_true", help="list the backups")
        what.add_argument("--purge", action="store_true", help="remove purged memories from the backups")

    def act(self, options: dict[str, Any]) -> int:
        """Make, list or purge backups."""
        if options["list"]:
            return self._list(as_json=options["json"])
        return self._purge(options) if options["purge"] else self._make(options)

    def _make(self, options: dict[str, Any]) -> int:
        to = options["to"].expanduser().absolute() if options["to"] else None
        with StepBar("backup") as bar:
            made = make_backup(operator(), to=to, progress=bar.show)
        if options["json"]:
            body = {"path": str(made.path), "size_bytes": made.size_bytes, "rotated": list(made.rotated)}
            self.print_json({**body, "warning": made.warning, "manifest": vars(made.manifest)})
            return 0
        memories = made.manifest.counts["memories_memory"]
        self.stdout.write(
            f"Backed up {format_memory_count(memories)} to {made.path} ({_size(made.size_bytes)}), verified."
        )
        for name in made.rotated:
            self.stdout.write(f"Deleted the older {name}.")
        if made.warning:
            self.stdout.write(f"Warning: {made.warning}.")
        return 0

    def _list(self, *, as_json: bool) -> int:
        found = list_backups(operator())
        if as_json:
            self.print_json({"backups": [backup_json(backup) for backup in found]})
        elif not found:
            self.stdout.write("There are no backups yet. 'loci backup' makes one.")
        else:
            self.print_table(
                [backup_row(b) for b in found], header=("name", "made at (UTC)", "size", "memories")
            )
        return 0

    def _purge(self, options: dict[str, Any]) -> int:
        done = purge_backups(operator())
        if options["json"]:
            self.print_json(vars(done))
            return 0
        self.stdout.write(f"{done.checked} backups checked, {len(done.rewritten)} rewritten.")
        for name in done.unreadable:
            self.stdout.write(f"{name} cannot be read and may hold purged memories: delete it.")
        return 0


def backup_json(backup: Backup) -> dict[str, Any]:
    """A backup as JSON values."""
    manifest = vars(backup.manifest) if backup.manifest else None
    return {
        "name": backup.name,
        "size_bytes": backup.size_bytes,
        "fault": backup.fault,
        "manifest": manifest,
    }


def backup_row(backup: Backup) -> tuple[str, str, str, str]:
    """A backup's line in the table: name, time, size, and the number of memories or the fault."""
    if backup.manifest is None:
        return backup.name, "?", _size(backup.size_bytes), backup.fault
    count = str(backup.manifest.counts.get("memories_memory", 0))
    return backup.name, f"{backup.manifest.made_at:%Y-%m-%d %H:%M:%S}", _size(backup.size_bytes), count


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
