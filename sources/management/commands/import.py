"""`manage.py import`: import a file of any format in the registry."""

import argparse
import gc
import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from access.errors import LociError
from access.tokens import operator
from memories.types import Scope, Type
from sources.importing import IMPORTERS, NAMES, choose_importer
from sources.importing.importer import LineRules, source_name
from sources.importing.lines import LineFault, count_lines
from sources.importing.reports import lines_were

EXAMPLES: Final = """\
examples:
  loci import chats.jsonl                       lines of {id, text, group, timestamp, session, speaker}
  loci import notes.jsonl --group ledger --type procedural --scope global
  loci import notes.jsonl --dry-run --json      show what would happen
  loci import loci.jsonl                        an export of Loci, written by 'loci export'

formats:
"""
FORMATS: Final = "".join(f"  {importer.name:10}{importer.description}\n" for importer in IMPORTERS)
FAULTS_SHOWN: Final = 20


class Command(BaseCommand):
    """Parses, runs the importer of the file's format, renders."""

    help = "Import a file of texts, or an export of Loci. A repeated call continues where it stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES + FORMATS
        parser.add_argument("file", type=Path, help="the file")
        parser.add_argument("--format", default="", choices=NAMES, metavar="FORMAT",
                            help="format of the file; default: recognise it")  # fmt: skip
        parser.add_argument("--group", default="", help="put every line into this group")
        parser.add_argument("--source", default="", help="source of the lines; default: the file's name")
        parser.add_argument("--type", default="", choices=["", *Type.values], metavar="TYPE",
                            help="type of every line; default: episodic with a session, else semantic")  # fmt: skip
        parser.add_argument("--scope", default=Scope.GROUP, choices=Scope.values, help="default: group")
        parser.add_argument(
            "--as-own", action="store_true", help="the texts are the team's own, not from outside"
        )
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would happen")
        parser.add_argument("--strict", action="store_true", help="stop at the first rejected line")
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        # Objects alive now stay alive, so the garbage collector need not examine them again.
        gc.freeze()
        path: Path = options["file"]
        rules = LineRules(
            options["source"] or source_name(path),
            options["group"],
            options["type"],
            options["scope"],
            options["as_own"],
        )
        try:
            importer = choose_importer(path, options["format"])
            total = count_lines(path) if path.is_file() else None
            with tqdm(total=total, unit="line", file=sys.stderr, disable=None, leave=False) as bar:
                report = importer.run(
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
        prefix = "Nothing was written. It would be: " if options["dry_run"] else ""
        as_json = {"format": importer.name, **report.as_json()}
        self.stdout.write(
            json.dumps(as_json, ensure_ascii=False) if options["json"] else prefix + report.as_text()
        )
        if report.faults:
            raise CommandError(f"{lines_were(len(report.faults))} not stored.{list_faults(report.faults)}")


def list_faults(faults: tuple[LineFault, ...]) -> str:
    """The first rejected lines with their reasons, each on a new line."""
    shown = "".join(f"\n  line {fault.line}: {fault.why}" for fault in faults[:FAULTS_SHOWN])
    more = len(faults) - FAULTS_SHOWN
    return shown + (f"\n  … and {more} more; --json lists all" if more > 0 else "")
