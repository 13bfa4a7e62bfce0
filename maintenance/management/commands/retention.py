"""`manage.py retention`: destroy expired data, or show what that would be."""

import dataclasses
import sys
from typing import Any, Final

from django.core.management.base import CommandParser
from tqdm import tqdm

from access.tokens import operator
from maintenance.retention import RetentionReport, enforce_retention
from memories.language.plurals import format_count
from memories.management.output import FaceCommand

EXAMPLES: Final = """\
examples:
  loci retention --dry-run     what would be destroyed, and what is held and why
  loci retention               destroy it; this cannot be undone
  loci retention --json

The limits are in [maintenance] of config.toml: retention_days (forgotten memories), runs_days (data for undoing
runs), recall_log_days (recalls), log_days (the audit log; 0 keeps it forever). A worker runs this once a day.
"""


class Command(FaceCommand):
    """Parses, calls enforce_retention(), renders."""

    help = (
        "Destroy expired data: forgotten memories, recalls, changes of old runs, old rows of the audit log."
    )
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def act(self, options: dict[str, Any]) -> int:
        with tqdm(file=sys.stderr, disable=None, leave=False, unit="") as bar:

            def show(step: str, done: int, total: int) -> None:
                bar.set_description(step)
                bar.total, bar.n = total, done
                bar.refresh()

            report = enforce_retention(operator(), dry_run=options["dry_run"], report=show)
        if options["json"]:
            self.print_json(
                {**dataclasses.asdict(report), "now": report.now.isoformat(), "total": report.total}
            )
        else:
            self._print(report)
        return 0

    def _print(self, report: RetentionReport) -> None:
        rows = [
            [step.step, name, f"{count:,}", f"{step.seconds:.1f} s"]
            for step in report.steps
            for name, count in step.destroyed.items()
        ]
        held = [
            [step.step, "held", f"{count:,}", why]
            for step in report.steps
            for why, count in step.held.items()
        ]
        if rows or held:
            self.print_table(rows + held, header=["step", "what", "rows", ""])
        if report.closed_proposals:
            would = "would be closed" if report.dry_run else "closed"
            self.stdout.write(f"{format_count(report.closed_proposals, 'overdue proposal')} {would}.")
        if report.waits:
            self.stdout.write(f"{report.waits[0].upper()}{report.waits[1:]}.")
        if not report.total:
            self.stdout.write("Nothing has expired.")
        elif report.dry_run:
            self.stdout.write(f"{report.total:,} rows would be destroyed. Nothing was changed.")
        else:
            self.stdout.write(f"{report.total:,} rows were destroyed.")
