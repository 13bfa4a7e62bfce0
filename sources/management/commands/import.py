"""`manage.py import`: import a file of texts or an export of Loci."""

import argparse
import dataclasses
import gc
import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from access.errors import LociError
from access.tokens import operator
from memories.language.plurals import format_count
from memories.store.tombstones import key_missing_text
from memories.types import Scope, Type
from sources.format import counts_text
from sources.importing import import_file
from sources.importing.exports import RestoreReport
from sources.importing.lines import LineFault
from sources.importing.texts import LineRules, LinesReport, source_name

EXAMPLES: Final = """\
examples:
  manage.py import chats.jsonl                       lines of {id, text, group, timestamp, session, speaker}
  manage.py import notes.jsonl --group ledger --type procedural --scope global
  manage.py import notes.jsonl --dry-run --json      show what would happen
  manage.py import loci.jsonl                        an export of Loci, written by 'manage.py export'
"""
FAULTS_SHOWN: Final = 20


class Command(BaseCommand):
    """Parses, calls sources.importing.import_file(), renders."""

    help = (
        "Import a JSON lines file: texts, or an export of Loci. A repeated call continues where it stopped."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("file", type=Path, help="the file, one JSON object per line")
        parser.add_argument("--group", default="", help="put every line into this group")
        parser.add_argument("--source", default="", help="source of the lines; default: the file's name")
        parser.add_argument("--type", default="", choices=["", *Type.values], metavar="TYPE",
                            help="type of every line; default: episodic with a session, else semantic")  # fmt: skip
        parser.add_argument("--scope", default=Scope.GROUP, choices=Scope.values, help="default: group")
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would happen")
        parser.add_argument("--strict", action="store_true", help="stop at the first rejected line")
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        # Objects alive now stay alive, so the garbage collector need not examine them again.
        gc.freeze()
        path: Path = options["file"]
        rules = LineRules(
            options["source"] or source_name(path), options["group"], options["type"], options["scope"]
        )
        try:
            with tqdm(
                total=count_line_ends(path), unit="line", file=sys.stderr, disable=None, leave=False
            ) as bar:
                report = import_file(
                    operator(),
                    path,
                    rules,
                    on_progress=lambda line: bar.update(line - bar.n),
                    dry_run=options["dry_run"],
                    strict=options["strict"],
                )
        except LociError as error:
            if options["json"]:
                self.stdout.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        self.stdout.write(
            report_json(report) if options["json"] else report_text(report, dry=options["dry_run"])
        )
        if report.faults:
            raise CommandError(f"{_lines_were(len(report.faults))} not stored.{list_faults(report.faults)}")


def count_line_ends(path: Path) -> int:
    """Number of line ends in a file; 0 if it cannot be read, which the import then reports."""
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


def report_json(report: LinesReport | RestoreReport) -> str:
    """The report as one JSON object, with the format of the file."""
    kind = "lines" if isinstance(report, LinesReport) else "export"
    return json.dumps({"format": kind, **dataclasses.asdict(report)}, ensure_ascii=False)


def report_text(report: LinesReport | RestoreReport, *, dry: bool) -> str:
    """The report in words."""
    prefix = "Nothing was written. It would be: " if dry else ""
    if isinstance(report, LinesReport):
        return (
            f"{prefix}{format_count(report.lines, 'line')} from {report.source}: {report.created} created, {report.unchanged} unchanged, "
            f"{report.reinforced} restated, {report.queued} waiting for a curator, {len(report.faults)} not stored."
        )
    added = counts_text(report.added)
    unchanged = sum(report.unchanged.values())
    loose = ""
    if report.loose:
        verb = "is" if report.loose == 1 else "are"
        loose = f" {format_count(report.loose, 'successor')} {verb} in neither the file nor the store."
    missing = f" {text}." if (text := key_missing_text(report.missing_keys)) else ""
    return f"{prefix}From store {report.origin}: {added} added; {_lines_were(unchanged)} already here.{loose}{missing}"


def _lines_were(lines: int) -> str:
    return f"{format_count(lines, 'line')} {'was' if lines == 1 else 'were'}"


def list_faults(faults: tuple[LineFault, ...]) -> str:
    """The first rejected lines with their reasons, each on a new line."""
    shown = "".join(f"\n  line {fault.line}: {fault.why}" for fault in faults[:FAULTS_SHOWN])
    more = len(faults) - FAULTS_SHOWN
    return shown + (f"\n  … and {more} more; --json lists all" if more > 0 else "")
