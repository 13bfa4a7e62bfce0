"""`loci restore`: preview a backup and what would be lost, then replace the store by it."""

import sys
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import Conflict, InvalidInput
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
from memories.management.output import FaceCommand, printable

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
    takes_group = False
    requires_system_checks = []  # the store may be what is broken

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="a file, or a name from 'loci backup --list'")
        parser.add_argument("--dry-run", action="store_true", help="show the preview, change nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def act(self, options: dict[str, Any]) -> int:
        """Preview, confirm, restore."""
        path = find_backup(options["file"])
        preview = preview_restore(operator(), path)
        if options["dry_run"]:
            self._show_preview(preview, as_json=options["json"])
            return 0
        if preview.in_use:
            raise Conflict(f"Nothing was restored: {preview.in_use}")
        if not options["yes"]:
            self._confirm(preview, as_json=options["json"])
        with StepBar("restore") as bar:
            done = restore_backup(operator(), path, progress=bar.show)
        self._show_result(done, as_json=options["json"])
        return 0

    def _confirm(self, preview: RestorePreview, *, as_json: bool) -> None:
        if as_json or not sys.stdin.isatty():
            raise InvalidInput(
                "Nothing was restored: there is no terminal for confirming.", hint="Add --yes.", field="yes"
            )
        self._show_preview(preview, as_json=False)
        if input("Restore it? Type yes: ").strip().casefold() != "yes":
            raise Conflict("Nothing was restored.")

    def _show_preview(self, preview: RestorePreview, *, as_json: bool) -> None:
        if as_json:
            self.print_json(preview_json(preview))
            return
        made = preview.manifest
        origin = f"Made {made.made_at:%Y-%m-%d %H:%M:%S} UTC by Loci {made.loci_version}, {preview.size_bytes / 1e6:.1f} MB."
        self.stdout.write(f"{printable(preview.path.name)}: {origin}")
        rows = [(g.group, str(g.in_backup), str(g.now), str(g.lost)) for g in preview.groups]
        self.print_table(rows, header=("group", "in the backup", "now", "would be lost"))
        self.stdout.write(
            f"{preview.lost} memories are newer than the backup and would be lost; {preview.returned} would return, "
            f"{preview.purged_again} of which were purged since and would be purged again."
        )
        if preview.migrations:
            self.stdout.write(f"Its tables are older: {len(preview.migrations)} migrations would run.")
        if preview.present == "damaged":
            self.stdout.write(
                "The present store is damaged; its files would be copied to backups/ as they are."
            )
        if preview.in_use:
            self.stdout.write(f"Restoring is not possible now: {preview.in_use}")

    def _show_result(self, done: RestoreResult, *, as_json: bool) -> None:
        if as_json:
            self.print_json(restored_json(done))
            return
        carried = done.carried
        if done.migrated:
            self.stdout.write(f"Ran {len(done.migrated)} migrations.")
        self.stdout.write(
            f"Restored {printable(done.path.name)} of {done.manifest.made_at:%Y-%m-%d %H:%M:%S} UTC."
        )
        self.stdout.write(
            f"Carried over: {carried.tombstones} tombstones, {carried.retracted} memories retracted again, "
            f"{carried.purged} purged again."
        )
        if carried.stricter:
            self.stdout.write(
                f"Stricter since the backup, and kept: {', '.join(in_words(carried.stricter))}."
            )
        for warning in (*carried.left, *filter(None, [done.warning])):
            self.stdout.write(f"Warning: {printable(warning)}.")
        if (undo := undo_command(done)) is not None:
            self.stdout.write(f"To undo: {undo}")


def undo_command(done: RestoreResult) -> str | None:
    """The command that restores the previous store; None if it was not backed up."""
    is_backup = done.before is not None and done.before.suffix == ".zip"
    return f"loci restore {done.before.name} --yes" if done.before is not None and is_backup else None


def preview_json(preview: RestorePreview) -> dict[str, Any]:
    """A preview as JSON values."""
    return {
        **vars(preview),
        "path": str(preview.path),
        "manifest": vars(preview.manifest),
        "groups": [vars(group) for group in preview.groups],
    }


def restored_json(done: RestoreResult) -> dict[str, Any]:
    """A result as JSON values."""
    return {
        **vars(done),
        "path": str(done.path),
        "before": str(done.before) if done.before else None,
        "manifest": vars(done.manifest),
        "carried": vars(done.carried),
        "undo": undo_command(done),
    }
