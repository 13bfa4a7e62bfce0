"""`manage.py runs`: list, show and undo runs of maintenance."""

import argparse
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import CommandParser

from access.tokens import operator
from maintenance.cycle.undo import UndoResult, find_run, preview_undo, undo_run
from maintenance.management.run_output import print_changes, print_steps
from maintenance.models import Run
from maintenance.runs.listing import list_runs, run_json
from maintenance.runs.preview import read_changes
from memories.management.output import FaceCommand
from memories.queries.pages import MAX_LIMIT

EXAMPLES: Final = """\
examples:
  loci runs list
  loci runs show 1f3a                 part of the id is enough if it is unique
  loci runs undo 1f3a --dry-run       what would be restored, and what has changed since
  loci runs undo 1f3a
  loci runs undo 1f3a --with-later    undo later runs over the same memories first
"""
SHOWN = 50


class Command(FaceCommand):
    """Parses, lists, shows or undoes, renders."""

    help = "List the runs of maintenance, show one with its changes, or undo one."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="list | show | undo")
        listing = actions.add_parser("list", help="list the runs, newest first")
        listing.add_argument("--cursor", default="", help="the 'next' value of the previous page")
        showing = actions.add_parser("show", help="show one run with its steps and changes")
        showing.add_argument(
            "--changes", type=int, default=SHOWN, metavar="N", help=f"changes to list ({SHOWN})"
        )
        undoing = actions.add_parser("undo", help="restore every field that the run changed")
        undoing.add_argument("--dry-run", action="store_true", help="only show what would happen")
        undoing.add_argument(
            "--with-later", action="store_true", help="undo later runs over the same rows first"
        )
        undoing.add_argument(
            "--force", action="store_true", help="also restore rows that have changed since; see --dry-run"
        )
        for action in (showing, undoing):
            action.add_argument("id", help="the run's id, or part of it")
        for action in (listing, showing, undoing):
            action.add_argument("--json", action="store_true", help="answer as one JSON object")

    def act(self, options: dict[str, Any]) -> int:
        return {"list": self._list, "show": self._show, "undo": self._undo}[options["action"]](options)

    def _list(self, options: dict[str, Any]) -> int:
        page = list_runs(operator(), cursor=options["cursor"], limit=MAX_LIMIT)
        if options["json"]:
            self.print_json({"items": [run_json(run) for run in page.rows], "next": page.next})
            return 0
        self.print_table(
            [run_row(run) for run in page.rows], header=["id", "when", "kind", "status", "group", "did"]
        )
        if not page.rows:
            self.stdout.write("Maintenance has not run yet. `loci compact --dry-run` shows what it would do.")
        if page.next:
            self.stdout.write(f"More: --cursor {page.next}")
        return 0

    def _show(self, options: dict[str, Any]) -> int:
        run = find_run(operator(), options["id"])
        changes, total = read_changes(run, limit=options["changes"])
        if options["json"]:
            body = {
                **run_json(run),
                "steps": run.steps,
                "changes": [asdict(c) for c in changes],
                "total": total,
            }
            self.print_json(body)
            return 0
        self.print_table([run_row(run)], header=["id", "when", "kind", "status", "group", "did"])
        print_steps(self, run.steps)
        print_changes(self, changes, total=total)
        return 0

    def _undo(self, options: dict[str, Any]) -> int:
        work = preview_undo if options["dry_run"] else undo_run
        done = work(operator(), options["id"], with_later=options["with_later"], force=options["force"])
        if options["json"]:
            self.print_json(asdict(done))
            return 0
        for line in undo_lines(done):
            self.stdout.write(line)
        return 0


def run_row(run: Run) -> list[str]:
    """A run's line in the table."""
    did = ", ".join(f"{name} {count}" for name, count in run.counts.items()) or "nothing"
    group = run.group.slug if run.group else "all"
    return [str(run.id), f"{run.started_at:%Y-%m-%d %H:%M}", run.kind, run.status, group, did]


def undo_lines(done: UndoResult) -> list[str]:
    """What an undo did or would do, and the rows that it leaves, in words."""
    if done.dry_run:
        lines = [f"Would restore {done.restored} rows, and hide or remove {done.deleted} that the run made."]
    else:
        lines = [f"Restored {done.restored} rows, and hid or removed {done.deleted} that the run made."]
    if done.earlier:
        lines.append("Later runs undone first: " + ", ".join(str(id_) for id_ in done.earlier))
    also = "would also be restored" if done.dry_run else "also restored"
    lines += [f"{also}: {id_} (edited since the run)" for id_ in done.versions]
    lines += [f"left: {kept.id or kept.row} ({kept.why})" for kept in done.kept]
    return lines
