"""`loci backup`: back up the store while it is in use, list backups, remove purged memories from them."""

from pathlib import Path
from typing import Any, Final

from access.management.command import TO_FILE, CommandAnswer, either, flag
from access.tokens import operator
from maintenance.backups import list_backups, make_backup
from maintenance.backups.folder import Backup
from maintenance.backups.purge import purge_backups
from maintenance.management.progress import StepBar
from memories.language.cleaning import format_memory_count
from memories.management.output import FaceCommand, in_lines, table_text

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
    options = (
        either(
            TO_FILE.but(help="write this new file instead"),
            flag("--list", "list the backups"),
            flag("--purge", "remove purged memories from the backups"),
        ),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        """Make, list or purge backups."""
        if options["list"]:
            return show_backups()
        return purge() if options["purge"] else make(options["to"])


def make(to: Path | None) -> CommandAnswer:
    """Make a backup."""
    with StepBar("backup") as bar:
        made = make_backup(operator(), to=to.expanduser().absolute() if to else None, progress=bar.show)
    memories = format_memory_count(made.manifest.counts["memories_memory"])
    text = in_lines(
        f"Backed up {memories} to {made.path} ({_size(made.size_bytes)}), verified.",
        *(f"Deleted the older {name}." for name in made.rotated),
        f"Warning: {made.warning}." if made.warning else "",
    )
    return CommandAnswer(made, text)


def show_backups() -> CommandAnswer:
    """The backups in LOCI_HOME."""
    found = list_backups(operator())
    table = table_text([_backup_row(b) for b in found], header=("name", "made at (UTC)", "size", "memories"))
    none = "There are no backups yet. 'loci backup' makes one."
    body = [{"name": backup.name, **vars(backup)} for backup in found]
    return CommandAnswer({"backups": body}, table if found else none)


def purge() -> CommandAnswer:
    """Remove purged memories from the backups."""
    done = purge_backups(operator())
    text = in_lines(
        f"{done.checked} backups checked, {len(done.rewritten)} rewritten.",
        *(f"{name} cannot be read and may hold purged memories: delete it." for name in done.unreadable),
    )
    return CommandAnswer(done, text)


def _backup_row(backup: Backup) -> tuple[str, str, str, str]:
    if backup.manifest is None:
        return backup.name, "?", _size(backup.size_bytes), backup.fault
    count = str(backup.manifest.counts.get("memories_memory", 0))
    return backup.name, f"{backup.manifest.made_at:%Y-%m-%d %H:%M:%S}", _size(backup.size_bytes), count


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB"
