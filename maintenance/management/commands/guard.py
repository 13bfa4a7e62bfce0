"""`manage.py guard`: look for sensitive text in what is stored, and take a scan back."""

from functools import partial
from typing import Any, Final

from access.management.command import DRY_RUN, CommandAnswer, CommandVerb, option
from access.tokens import operator
from guard import kind_of
from maintenance.doctor.guard_scan import ScanReport, scan_stored, undo_scan
from maintenance.management.progress import StepBar
from memories.language.cleaning import format_count, format_memory_count
from memories.management.output import FaceCommand, in_lines, table_text

EXAMPLES: Final = """\
examples:
  loci guard scan --dry-run     what would be found, by kind
  loci guard scan               list it in the Review, quarantine where the group's rules say so
  loci guard undo ID            take a scan back; 'scan' names the id

A scan that was stopped goes on where it was. Rules: 'loci group update NAME --guard RULES', docs/how-to/sensitive-text.md.
"""


def undo(options: dict[str, Any]) -> CommandAnswer:
    """Take a scan back."""
    restored, gone = undo_scan(operator(), options["id"])
    text = f"{format_memory_count(restored)} back in use, {format_count(gone, 'finding')} listed no longer."
    return CommandAnswer({"restored": restored, "findings": gone}, text)


def scan(options: dict[str, Any]) -> CommandAnswer:
    """Look through what is stored."""
    with StepBar("scan", unit="memory") as bar:
        done = scan_stored(operator(), dry_run=options["dry_run"], report=partial(bar.show, "memories"))
    rows = [[kind, kind_of(kind).label, str(count)] for kind, count in sorted(done.kinds.items())]
    would = "would be " if done.dry_run else ""
    former, checkpoints = (
        format_count(done.former, "former version"),
        format_count(done.checkpoints, "checkpoint"),
    )
    return CommandAnswer(
        ScanReport.json(done),
        in_lines(
            table_text(rows, header=("kind", "", "places")) if rows else "",
            f"{format_memory_count(done.looked_at)} looked at. {done.proposed} {would}listed in the Review,"
            f" {done.quarantined} {would}quarantined, {done.noted} {would}only counted.",
            f"{former} among them: agents get values masked, purge destroys them." if done.former else "",
            f"{checkpoints} with sensitive text, {done.checkpoints_held} {would}held back."
            if done.checkpoints
            else "",
            f"To take it back: loci guard undo {done.id}"
            if not done.dry_run and (done.kinds or done.checkpoints_held)
            else "",
        ),
    )


class Command(FaceCommand):
    """Scans of what is stored."""

    help = "Look for secrets, personal data, hidden text and instructions to an AI in what is stored."
    examples = EXAMPLES
    verbs = {
        "scan": CommandVerb(scan, "look through what is stored", (DRY_RUN,)),
        "undo": CommandVerb(undo, "take a scan back", (option("id", help="the scan to undo"),)),
    }
