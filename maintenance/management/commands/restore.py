"""`loci restore`: show what a backup holds and what would be lost, then put it in the place of the store."""

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
from maintenance.management.progress import StepBar
from memories.management.output import FaceCommand, printable

EXAMPLES: Final = """\
examples:
  loci restore loci-20260501T120000Z-1a2b.zip --dry-run   what is in it, and what would be lost
  loci restore loci-20260501T120000Z-1a2b.zip             shows that, asks, restores
  loci restore /mnt/usb/loci.zip --yes                    does not ask

Loci must be stopped. The present store is kept as a backup of its own; the answer names the command that brings it back.
What was retracted or purged since the backup was made stays so.
"""


class Command(FaceCommand):
    """Renders what maintenance.backups.restore does."""

    help = "Restore a backup, after showing what is in it and what would be lost."
    examples = EXAMPLES
    takes_group = False
    requires_system_checks = []  # the store may be what is broken

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", help="a file, or a name that 'loci backup --list' gives")
        parser.add_argument("--dry-run", action="store_true", help="show, change nothing")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def act(self, options: dict[str, Any]) -> int:
        """Show, ask, restore."""
        path = find_backup(options["file"])
        seen = preview_restore(operator(), path)
        if options["dry_run"]:
            self._show(seen, as_json=options["json"])
            return 0
        if seen.in_use:
            raise Conflict(f"Nothing was restored: {seen.in_use}")
        if not options["yes"]:
            self._ask(seen, as_json=options["json"])
        with StepBar("restore") as bar:
            done = restore_backup(operator(), path, progress=bar.show)
        self._say(done, as_json=options["json"])
        return 0

    def _ask(self, seen: RestorePreview, *, as_json: bool) -> None:
        if as_json or not sys.stdin.isatty():
            raise InvalidInput(
                "Nothing was restored: nobody can be asked here.", hint="Say --yes.", field="yes"
            )
        self._show(seen, as_json=False)
        if input("Restore it? Type yes: ").strip().casefold() != "yes":
            raise Conflict("Nothing was restored.")

    def _show(self, seen: RestorePreview, *, as_json: bool) -> None:
        if as_json:
            self.print_json(preview_json(seen))
            return
        made = seen.manifest
        said = f"Made {made.made_at:%Y-%m-%d %H:%M:%S} UTC by Loci {made.loci_version}, {seen.size_bytes / 1e6:.1f} MB."
        self.stdout.write(f"{printable(seen.path.name)}: {said}")
        rows = [(g.group, str(g.in_backup), str(g.now), str(g.lost)) for g in seen.groups]
        self.print_table(rows, header=("group", "in the backup", "now", "would be lost"))
        self.stdout.write(
            f"{seen.lost} memories are newer than the backup and would be lost; {seen.returned} would come back, "
            f"of which {seen.purged_again} were purged since and are destroyed again."
        )
        if seen.migrations:
            self.stdout.write(f"Its tables are older: {len(seen.migrations)} migrations would be run.")
        if seen.present == "damaged":
            self.stdout.write(
                "The present store is damaged; its files would be kept in backups/ as they are."
            )
        if seen.in_use:
            self.stdout.write(f"It cannot be restored now: {seen.in_use}")

    def _say(self, done: RestoreResult, *, as_json: bool) -> None:
        if as_json:
            self.print_json(restored_json(done))
            return
        carried = done.carried
        if done.migrated:
            self.stdout.write(f"Brought its tables up to date: {len(done.migrated)} migrations.")
        self.stdout.write(
            f"Restored {printable(done.path.name)} of {done.manifest.made_at:%Y-%m-%d %H:%M:%S} UTC."
        )
        self.stdout.write(
            f"Carried over: {carried.tombstones} tombstones, {carried.retracted} memories retracted again, "
            f"{carried.purged} purged again, {carried.tokens_revoked} tokens revoked again."
        )
        for said in (*carried.left, *filter(None, [done.warning])):
            self.stdout.write(f"Warning: {printable(said)}.")
        if (undo := _undo(done)) is not None:
            self.stdout.write(f"To undo: {undo}")


def _undo(done: RestoreResult) -> str | None:
    """Give the command that brings the store of before back."""
    is_backup = done.before is not None and done.before.suffix == ".zip"
    return f"loci restore {done.before.name} --yes" if done.before is not None and is_backup else None


def preview_json(seen: RestorePreview) -> dict[str, Any]:
    """Give a preview as JSON values."""
    return {
        **vars(seen),
        "path": str(seen.path),
        "manifest": vars(seen.manifest),
        "groups": [vars(group) for group in seen.groups],
    }


def restored_json(done: RestoreResult) -> dict[str, Any]:
    """Give what was restored as JSON values."""
    return {
        **vars(done),
        "path": str(done.path),
        "before": str(done.before) if done.before else None,
        "manifest": vars(done.manifest),
        "carried": vars(done.carried),
        "undo": _undo(done),
    }
