"""`loci restore`: preview a backup and what would be lost, then replace the store by it."""

import sys
from typing import Any, Final

from access.errors import Conflict, InvalidInput
from access.management.command import DRY_RUN, YES, CommandAnswer, option
from access.tokens import operator
from maintenance.backups.restore import (
    RestorePreview,
    RestoreResult,
    find_backup,
    preview_restore,
    restore_backup,
)
from maintenance.backups.stricter import in_words
from maintenance.management.progress import StepBar
from memories.management.output import FaceCommand, in_lines, printable, table_text

EXAMPLES: Final = """\
examples:
  loci restore loci-20260501T120000Z-1a2b.zip --dry-run   what is in it, and what would be lost
  loci restore loci-20260501T120000Z-1a2b.zip             shows that, asks, restores
  loci restore /mnt/usb/loci.zip --yes                    does not ask

Loci must be stopped. The present store is kept as a backup; the output names the command that restores it.
Memories retracted or purged since the backup was made stay retracted or purged. People who were deactivated or lost
a right since, and groups that became stricter, stay so.
"""


class Command(FaceCommand):
    """Renders what maintenance.backups.restore does."""

    help = "Restore a backup, after showing its contents and what would be lost."
    examples = EXAMPLES
    requires_system_checks = []  # the store may be what is broken
    options = (
        option("file", help="a file, or a name from 'loci backup --list'"),
        DRY_RUN,
        YES.but(help="do not ask"),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        """Preview, confirm, restore."""
        path = find_backup(options["file"])
        preview = preview_restore(operator(), path)
        if options["dry_run"]:
            return CommandAnswer(preview, preview_text(preview))
        if preview.in_use:
            raise Conflict(f"Nothing was restored: {preview.in_use}")
        if not options["yes"]:
            if options["json"] or not sys.stdin.isatty():
                raise InvalidInput(
                    "Nothing was restored: there is no terminal for confirming.",
                    hint="Add --yes.",
                    field="yes",
                )
            self.stdout.write(preview_text(preview))
            if input("Restore it? Type yes: ").strip().casefold() != "yes":
                raise Conflict("Nothing was restored.")
        with StepBar("restore") as bar:
            done = restore_backup(operator(), path, progress=bar.show)
        return CommandAnswer({**vars(done), "undo": _undo_command(done)}, result_text(done))


def preview_text(preview: RestorePreview) -> str:
    """What is in the backup, and what would be lost."""
    made, size = preview.manifest, f"{preview.size_bytes / 1e6:.1f} MB"
    rows = [(g.group, str(g.in_backup), str(g.now), str(g.lost)) for g in preview.groups]
    damaged = "The present store is damaged; its files would be copied to backups/ as they are."
    return in_lines(
        f"{printable(preview.path.name)}: Made {made.made_at:%Y-%m-%d %H:%M:%S} UTC by Loci {made.loci_version}, {size}.",
        table_text(rows, header=("group", "in the backup", "now", "would be lost")),
        f"{preview.lost} memories are newer than the backup and would be lost; {preview.returned} would return, "
        f"{preview.purged_again} of which were purged since and would be purged again.",
        f"Its tables are older: {len(preview.migrations)} migrations would run."
        if preview.migrations
        else "",
        damaged if preview.present == "damaged" else "",
        f"Restoring is not possible now: {preview.in_use}" if preview.in_use else "",
    )


def result_text(done: RestoreResult) -> str:
    """What was restored and carried over, and how to go back."""
    carried, undo = done.carried, _undo_command(done)
    return in_lines(
        f"Ran {len(done.migrated)} migrations." if done.migrated else "",
        f"Restored {printable(done.path.name)} of {done.manifest.made_at:%Y-%m-%d %H:%M:%S} UTC.",
        f"Carried over: {carried.tombstones} tombstones, {carried.retracted} memories retracted again, "
        f"{carried.purged} purged again, {carried.moved} moved to their private group again.",
        f"Stricter since the backup, and kept: {', '.join(in_words(carried.stricter))}."
        if carried.stricter
        else "",
        *(f"Warning: {printable(warning)}." for warning in (*carried.left, *filter(None, [done.warning]))),
        f"To undo: {undo}" if undo else "",
    )


def _undo_command(done: RestoreResult) -> str | None:
    """The command that restores the previous store; None if it was not backed up."""
    is_backup = done.before is not None and done.before.suffix == ".zip"
    return f"loci restore {done.before.name} --yes" if done.before is not None and is_backup else None
