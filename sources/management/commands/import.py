"""`manage.py import`: import a file of any format in the registry."""

import gc
import json
import sys
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from access.errors import InvalidInput
from access.tokens import operator
from memories.language.timestamps import parse_moment
from memories.management.output import FaceCommand
from memories.types import Scope, Type
from sources.importing import AUTO, IMPORTERS, NAMES, choose_importer
from sources.importing.importer import Importer, LineRules, Waiting, read_places
from sources.importing.lines import LineFault, count_lines
from sources.importing.reports import ImportReport, lines_were
from sources.importing.undo import undo_import
from storage.encryption import KeyProblem, database_key
from storage.encryption.sealing import UnsealError, readable

EXAMPLES: Final = """\
examples:
  loci import chats.jsonl                       lines of {id, text, group, timestamp, session, speaker}
  loci import notes.jsonl --group ledger --type procedural --scope global
  loci import notes.jsonl --dry-run --json      show what would happen
  loci import loci.jsonl                        an export of Loci, written by 'loci export'
  loci import chatgpt.zip --group me --since 2026-01-01
  loci import ~/vault --from obsidian --map places.txt
  loci import --undo 01a0…                      take a whole import back

formats (for --from):
"""
FORMATS: Final = "".join(f"  {importer.name:20}{importer.description}\n" for importer in IMPORTERS)
FAULTS_SHOWN: Final = 20
QUIET_S: Final = 5.0
SAMPLE_CHARS: Final = 100
LIVE, PENDING = Waiting.LIVE.value, Waiting.PENDING.value


class Command(FaceCommand):
    """Parses, runs the importer of the file's format, renders."""

    help = "Import memories from other programs, files of texts, or an export of Loci. Repeating an import adds only what is new."
    examples = EXAMPLES + FORMATS
    takes_group = False

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("file", type=Path, nargs="?", help="the file, zip or folder")
        parser.add_argument("--from", "--format", dest="format", default=AUTO, choices=[AUTO, *NAMES], metavar="FORMAT",
                            help="format of the file; default: recognise it")  # fmt: skip
        parser.add_argument("--group", default="", help="put everything into this group")
        parser.add_argument("--map", type=Path, metavar="FILE",
                            help="lines `place = group`: choose groups by project, user or folder at the origin")  # fmt: skip
        parser.add_argument("--as", dest="waiting", default="", choices=[LIVE, PENDING], metavar="WAY",
                            help="live or pending; default: facts from chats wait for a person, all else is live")  # fmt: skip
        parser.add_argument("--since", default="", metavar="DATE", help="leave out what is older")
        parser.add_argument(
            "--turns", action="store_true", help="claude-code: import the turns of sessions too"
        )
        parser.add_argument(
            "--source", default="", help="source of the texts; default: the format, or the file's name"
        )
        parser.add_argument("--type", default="", choices=["", *Type.values], metavar="TYPE",
                            help="type of every text; default: as the format says")  # fmt: skip
        parser.add_argument("--scope", default=Scope.GROUP, choices=Scope.values, help="default: group")
        parser.add_argument(
            "--as-own", action="store_true", help="the texts are the team's own, not from outside"
        )
        parser.add_argument("--dry-run", action="store_true", help="write nothing, show what would happen")
        parser.add_argument("--strict", action="store_true", help="stop at the first rejected line")
        parser.add_argument("--undo", default="", metavar="RUN", help="take back the import with this id")

    def act(self, options: dict[str, Any]) -> int:
        # Objects alive now stay alive, so the garbage collector need not examine them again.
        gc.freeze()
        if options["undo"]:
            self._undo(options["undo"], as_json=options["json"])
            return 0
        if options["file"] is None:
            raise InvalidInput("No file is named.", hint="loci import FILE", field="file")
        importer, report = self._import(options["file"], options)
        if options["json"]:
            self.print_json({"format": importer.name, **report.as_json()})
        elif options["dry_run"]:
            self.stdout.write(f"Nothing was written. It would be: {report.as_text()}{_show_sample(report)}")
        else:
            self.stdout.write(report.as_text())
            if report.run:
                self.stderr.write(f"Take it back with: loci import --undo {report.run}")
        if report.faults:
            lost = lines_were(len(report.faults), report.unit)
            raise CommandError(f"{lost} not stored.{_list_faults(report.faults, report.unit)}")
        return 0

    def _import(self, file: Path, options: dict[str, Any]) -> tuple[Importer, ImportReport]:
        """Import a file; an encrypted export is unsealed first."""
        try:
            with readable(file, database_key()) as path:
                return self._import_plain(path, options)
        except (UnsealError, KeyProblem) as error:
            raise InvalidInput(
                f"{file.name}: {error}.", hint="Nothing was imported.", field="file"
            ) from error

    def _import_plain(self, path: Path, options: dict[str, Any]) -> tuple[Importer, ImportReport]:
        importer = choose_importer(path, options["format"])
        rules = LineRules(
            options["source"] or importer.source_of(path),
            options["group"],
            options["type"],
            options["scope"],
            waiting=options["waiting"],
            since=parse_moment(options["since"], field="since") if options["since"] else None,
            places=read_places(options["map"]) if options["map"] else (),
            with_turns=options["turns"],
            as_own=options["as_own"],
        )
        total = count_lines(path) if importer.has_lines and path.is_file() else None
        unit = "line" if importer.has_lines else "record"
        # Where no terminal shows a bar, a line every few seconds says that the import goes on.
        pause_s = 0.1 if sys.stderr.isatty() else QUIET_S
        with tqdm(
            total=total, unit=unit, file=sys.stderr, delay=pause_s, mininterval=pause_s, leave=False
        ) as bar:
            report = importer.run(
                operator(),
                path,
                rules,
                on_progress=lambda line: bar.update(line - bar.n),
                dry_run=options["dry_run"],
                strict=options["strict"],
            )
        return importer, report

    def _undo(self, run: str, *, as_json: bool) -> None:
        with tqdm(unit="write", file=sys.stderr, disable=None, leave=False) as bar:
            result = undo_import(operator(), run, on_progress=lambda done: bar.update(done - bar.n))
        self.stdout.write(json.dumps(result.as_json()) if as_json else result.as_text())


def _show_sample(report: ImportReport) -> str:
    shown = [
        f"\n  {each['type']}: {' '.join(each['content'].split())[:SAMPLE_CHARS]}" for each in report.sample
    ]
    return "".join(["\nFor example:", *shown]) if shown else ""


def _list_faults(faults: tuple[LineFault, ...], unit: str) -> str:
    shown = "".join(f"\n  {unit} {fault.line}: {fault.why}" for fault in faults[:FAULTS_SHOWN])
    more = len(faults) - FAULTS_SHOWN
    return shown + (f"\n  … and {more} more; --json lists all" if more > 0 else "")
