"""`manage.py import`: import a file of any format in the registry."""

import gc
import sys
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from access.errors import InvalidInput
from access.management.command import DRY_RUN, GROUP, SOURCE, CommandAnswer, flag, option
from access.tokens import operator
from memories.management.field_options import SINCE
from memories.management.output import FaceCommand
from memories.types import Scope, Type
from sources.importing import AUTO, IMPORTERS, NAMES, choose_importer
from sources.importing.importer import Importer, LineRules, Waiting, read_places
from sources.importing.lines import LineFault, count_lines
from sources.importing.reports import ImportReport, lines_were
from sources.importing.undo import UndoneImport, undo_import
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
_FAULTS_SHOWN: Final = 20
QUIET_S: Final = 5.0
SAMPLE_CHARS: Final = 100
LIVE, PENDING = Waiting.LIVE.value, Waiting.PENDING.value


class Command(FaceCommand):
    """Runs the importer of the file's format."""

    help = "Import memories from other programs, files of texts, or an export of Loci. Repeating an import adds only what is new."
    examples = EXAMPLES + FORMATS
    options = (
        option("file", type=Path, nargs="?", help="the file, zip or folder"),
        option("--from", "--format", dest="format", default=AUTO, choices=[AUTO, *NAMES], metavar="FORMAT",
               help="format of the file; default: recognise it"),
        GROUP.but(default="", help="put everything into this group"),
        option("--map", type=Path, metavar="FILE", read=lambda file, field: read_places(file),
               help="lines `place = group`: choose groups by project, user or folder at the origin"),
        option("--as", dest="waiting", default="", choices=[LIVE, PENDING], metavar="WAY",
               help="live or pending; default: facts from chats wait for a person, all else is live"),
        SINCE.but(help="leave out what is older"),
        flag("--turns", "claude-code: import the turns of sessions too"),
        SOURCE.but(help="source of the texts; default: the format, or the file's name"),
        option("--type", default="", choices=["", *Type.values], metavar="TYPE",
               help="type of every text; default: as the format says"),
        option("--scope", default=Scope.GROUP, choices=Scope.values, help="default: group"),
        flag("--as-own", "the texts are the team's own, not from outside"),
        DRY_RUN,
        flag("--strict", "stop at the first rejected line"),
        option("--undo", default="", metavar="RUN", help="take back the import with this id"),
    )  # fmt: skip

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        # Objects alive now stay alive, so the garbage collector need not examine them again.
        gc.freeze()
        if options["undo"]:
            with tqdm(unit="write", file=sys.stderr, disable=None, leave=False) as bar:
                done = undo_import(
                    operator(),
                    options["undo"],
                    on_progress=lambda count: bar.update(count - bar.n),
                    dry_run=options["dry_run"],
                )
            return CommandAnswer(UndoneImport.json(done), done.as_text())
        if options["file"] is None:
            raise InvalidInput("No file is named.", hint="loci import FILE", field="file")
        importer, report = self._import(options["file"], options)
        text, fault = report.as_text(), ""
        if options["dry_run"]:
            text = f"Nothing was written. It would be: {text}{_show_sample(report)}"
        elif report.run:
            text += f"\nTake it back with: loci import --undo {report.run}"
        if report.faults:
            lost = lines_were(len(report.faults), report.unit)
            fault = f"{lost} not stored.{_list_faults(report.faults, report.unit)}"
        return CommandAnswer({"format": importer.name, **type(report).json(report)}, text, fault=fault)

    def _import(self, file: Path, options: dict[str, Any]) -> tuple[Importer, ImportReport]:
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
            since=options["since"],
            places=options["map"] or (),
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


def _show_sample(report: ImportReport) -> str:
    shown = [
        f"\n  {each['type']}: {' '.join(each['content'].split())[:SAMPLE_CHARS]}" for each in report.sample
    ]
    return "".join(["\nFor example:", *shown]) if shown else ""


def _list_faults(faults: tuple[LineFault, ...], unit: str) -> str:
    shown = "".join(f"\n  {unit} {fault.line}: {fault.why}" for fault in faults[:_FAULTS_SHOWN])
    more = len(faults) - _FAULTS_SHOWN
    return shown + (f"\n  … and {more} more; --json lists all" if more > 0 else "")
