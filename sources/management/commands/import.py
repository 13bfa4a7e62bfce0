"""`manage.py import`: bring a file of texts or an export of Loci in."""

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
from sources.format import kinds_said
from sources.importing import import_file
from sources.importing.exports import RestoreReport
from sources.importing.lines import LineFault
from sources.importing.texts import LineRules, LinesReport, source_name

EXAMPLES: Final = """\
examples:
  manage.py import chats.jsonl                       lines of {id, text, group, timestamp, session, speaker}
  manage.py import notes.jsonl --group ledger --type procedural --scope global
  manage.py import notes.jsonl --dry-run --json      say what would happen
  manage.py import loci.jsonl                        an export of Loci, as 'manage.py export' writes it
"""
FAULTS_SHOWN: Final = 20


class Command(BaseCommand):
    """Parses, calls sources.importing.import_file(), renders."""

    help = "Import a JSON lines file: texts, or an export of Loci. Run again, it goes on where it stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("file", type=Path, help="the file, one JSON object a line")
        parser.add_argument("--group", default="", help="put every line into this group")
        parser.add_argument(
            "--source", default="", help="where the lines come from; default: the file's name"
        )
        parser.add_argument("--type", default="", choices=["", *Type.values], metavar="TYPE",
                            help="of every line; default: episodic with a session, else semantic")  # fmt: skip
        parser.add_argument("--scope", default=Scope.GROUP, choices=Scope.values, help="default: group")
        parser.add_argument("--dry-run", action="store_true", help="write nothing, say what would happen")
        parser.add_argument("--strict", action="store_true", help="stop at the first line at fault")
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        # What is loaded lives on, and there is no need to look through it for garbage again and again.
        gc.freeze()
        path: Path = options["file"]
        rules = LineRules(
            options["source"] or source_name(path), options["group"], options["type"], options["scope"]
        )
        try:
            report = _with_bar(path, rules, options)
        except LociError as error:
            if options["json"]:
                self.stdout.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        self.stdout.write(_as_json(report) if options["json"] else _as_text(report, dry=options["dry_run"]))
        if report.faults:
            raise CommandError(f"{_were(len(report.faults))} not stored.{_list(report.faults)}")


def _with_bar(path: Path, rules: LineRules, options: dict[str, Any]) -> LinesReport | RestoreReport:
    """Run with a bar on stderr, where somebody looks at it."""
    with tqdm(total=_count(path), unit="line", file=sys.stderr, disable=None, leave=False) as bar:
        return import_file(
            operator(),
            path,
            rules,
            on_progress=lambda line: bar.update(line - bar.n),
            dry_run=options["dry_run"],
            strict=options["strict"],
        )


def _count(path: Path) -> int:
    """Count lines; a file that cannot be read is told of by who opens it next."""
    try:
        with path.open("rb") as file:
            return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


def _as_json(report: LinesReport | RestoreReport) -> str:
    kind = "lines" if isinstance(report, LinesReport) else "export"
    return json.dumps({"format": kind, **dataclasses.asdict(report)}, ensure_ascii=False)


def _as_text(report: LinesReport | RestoreReport, *, dry: bool) -> str:
    trial = "Nothing was written. It would be: " if dry else ""
    if isinstance(report, LinesReport):
        return (
            f"{trial}{format_count(report.lines, 'line')} from {report.source}: {report.created} created, {report.unchanged} unchanged, "
            f"{report.reinforced} restated, {report.queued} waiting for a curator, {len(report.faults)} not stored."
        )
    added = kinds_said(report.added)
    there = sum(report.unchanged.values())
    loose = f" {_successors(report.loose)} in neither file nor store." if report.loose else ""
    missing = f" {said}." if (said := key_missing_text(report.missing_keys)) else ""
    return f"{trial}From store {report.origin}: {added} added; {_were(there)} here already.{loose}{missing}"


def _were(lines: int) -> str:
    return f"{format_count(lines, 'line')} {'was' if lines == 1 else 'were'}"


def _successors(count: int) -> str:
    return f"{format_count(count, 'successor')} {'is' if count == 1 else 'are'}"


def _list(faults: tuple[LineFault, ...]) -> str:
    shown = "".join(f"\n  line {fault.line}: {fault.why}" for fault in faults[:FAULTS_SHOWN])
    more = len(faults) - FAULTS_SHOWN
    return shown + (f"\n  … and {more} more; --json lists all" if more > 0 else "")
