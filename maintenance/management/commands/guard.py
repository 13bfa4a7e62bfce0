"""`manage.py guard`: look for sensitive text in what is stored, and take a scan back."""

import sys
from typing import Any, Final

from django.core.management.base import CommandParser
from tqdm import tqdm

from access.tokens import operator
from guard import kind_of
from maintenance.doctor.guard_scan import ScanReport, scan_stored, undo_scan
from memories.language.plurals import format_count, format_memory_count
from memories.management.output import FaceCommand

EXAMPLES: Final = """\
examples:
  loci guard scan --dry-run     what would be found, by kind
  loci guard scan               list it in the Review, quarantine where the group's rules say so
  loci guard undo ID            take a scan back; 'scan' names the id

A scan that was stopped goes on where it was. Rules: 'loci group update NAME --guard RULES', docs/guard.md.
"""


class Command(FaceCommand):
    """Parses, calls scan_stored() or undo_scan(), renders."""

    help = "Look for secrets, personal data, hidden text and instructions to an AI in what is stored."
    takes_group = False
    examples = EXAMPLES

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("action", choices=["scan", "undo"], help="what to do")
        parser.add_argument("id", nargs="?", default="", help="the scan to undo")
        parser.add_argument("--dry-run", action="store_true", help="count, and change nothing")

    def act(self, options: dict[str, Any]) -> int:
        if options["action"] == "undo":
            restored, gone = undo_scan(operator(), options["id"])
            if options["json"]:
                self.print_json({"restored": restored, "findings": gone})
            else:
                memories = format_memory_count(restored)
                self.stdout.write(
                    f"{memories} back in use, {format_count(gone, 'finding')} listed no longer."
                )
            return 0
        with tqdm(file=sys.stderr, disable=None, leave=False, unit="memory") as bar:

            def show(done: int, total: int) -> None:
                bar.total, bar.n = total, done
                bar.refresh()

            scan = scan_stored(operator(), dry_run=options["dry_run"], report=show)
        if options["json"]:
            self.print_json(scan.as_json())
        else:
            self._print(scan)
        return 0

    def _print(self, scan: ScanReport) -> None:
        if scan.kinds:
            rows = [[kind, kind_of(kind).label, str(count)] for kind, count in sorted(scan.kinds.items())]
            self.print_table(rows, header=["kind", "", "places"])
        would = "would be " if scan.dry_run else ""
        self.stdout.write(
            f"{format_memory_count(scan.looked_at)} looked at. {scan.proposed} {would}listed in the Review,"
            f" {scan.quarantined} {would}quarantined, {scan.noted} {would}only counted."
        )
        if scan.former:
            self.stdout.write(
                f"{format_count(scan.former, 'former version')} among them: agents get values masked, purge destroys them."
            )
        if scan.checkpoints:
            self.stdout.write(
                f"{format_count(scan.checkpoints, 'checkpoint')} with sensitive text, {scan.checkpoints_held} {would}held back."
            )
        if not scan.dry_run and (scan.kinds or scan.checkpoints_held):
            self.stdout.write(f"To take it back: loci guard undo {scan.id}")
