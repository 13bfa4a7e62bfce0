"""`manage.py export`: write the store, or some groups, as JSON lines that 'import' can rebuild."""

import argparse
import dataclasses
import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from access.errors import Conflict, InvalidInput, LociError
from access.tokens import operator
from memories.language.plurals import format_count
from sources.exporting import ExportReport, export
from sources.exporting.atomic_file import replace_file, replace_sealed_file
from sources.format import counts_text
from sources.sharing import EXPORTERS, NAMES, SharedReport, export_as
from storage.encryption import DatabaseKey, KeyProblem, database_key

EXAMPLES: Final = """\
examples:
  loci export loci.jsonl                     the whole store, with its log
  loci export --group ledger > ledger.jsonl
  loci export loci.jsonl --vectors --json    with vectors, so that an import need not embed
  loci export loci.jsonl --overwrite         replace an existing file
  loci export loci.sealed --encrypt          encrypted with the store's key; 'import' reads it where that key is set
  loci export vault --to markdown            notes for other programs; import reads them again

formats (for --to), which have what recall returns, without history:
"""
FORMATS: Final = "".join(f"  {exporter.name:12}{exporter.description}\n" for exporter in EXPORTERS)
WHOLE: Final = "loci"


class Command(BaseCommand):
    """Parses, calls sources.exporting.export(), renders."""

    help = "Export memories and what belongs to them as JSON lines; 'import' reads them."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES + FORMATS
        parser.add_argument(
            "file", type=Path, nargs="?", help="a new file or folder; default: standard output"
        )
        parser.add_argument("--to", default=WHOLE, choices=[WHOLE, *NAMES], metavar="FORMAT",
                            help="format of another program; default: an export of Loci, which loses nothing")  # fmt: skip
        parser.add_argument("--overwrite", action="store_true", help="replace an existing file")
        parser.add_argument("--group", action="append", default=[], help="only this group; may be repeated")
        parser.add_argument("--vectors", action="store_true", help="include the vectors")
        parser.add_argument("--encrypt", action="store_true",
                            help="encrypt the file with the store's key (storage.encryption)")  # fmt: skip
        parser.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path | None = options["file"]
        is_shared = options["to"] != WHOLE
        # Lines on standard output must not be mixed with the answer.
        answer = self.stdout if path or is_shared else self.stderr
        try:
            report, text = self._share(path, options) if is_shared else self._export(path, options)
        except LociError as error:
            if options["json"]:
                answer.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        answer.write(json.dumps(dataclasses.asdict(report)) if options["json"] else text)

    def _export(self, path: Path | None, options: dict[str, Any]) -> tuple[ExportReport, str]:
        if options["encrypt"] and path is None:
            raise InvalidInput(
                "An encrypted export needs a file.", hint="loci export FILE --encrypt", field="file"
            )
        if path and path.is_file() and not options["overwrite"]:
            raise Conflict(
                f"{path} already exists.",
                hint="Name a new file, or replace it with --overwrite.",
                field="file",
            )
        if path and options["encrypt"]:
            target: Any = replace_sealed_file(path, _key_for_export())
        else:
            target = replace_file(path) if path else nullcontext(sys.stdout)
        with target as out, tqdm(unit="line", file=sys.stderr, disable=None, leave=False) as bar:
            report = export(
                operator(), out, groups=options["group"], vectors=options["vectors"], on_progress=bar.update
            )
        log = "" if report.has_log else " The log is not included: it is exported only with the whole store."
        return report, f"{_told(report)}{log}"

    def _share(self, path: Path | None, options: dict[str, Any]) -> tuple[SharedReport, str]:
        """Export for another program."""
        if options["encrypt"]:
            raise InvalidInput(
                "Other programs cannot read an encrypted export.", hint="Leave out --to.", field="encrypt"
            )
        if path is None:
            raise InvalidInput(
                "No file or folder is named.", hint=f"loci export PATH --to {options['to']}", field="file"
            )
        with tqdm(unit="memory", file=sys.stderr, disable=None, leave=False) as bar:
            report = export_as(
                operator(), options["to"], path,
                groups=options["group"], overwrite=options["overwrite"], on_progress=bar.update,
            )  # fmt: skip
        return report, _told(report)


def _told(report: ExportReport | SharedReport) -> str:
    return f"Exported {counts_text(report.counts)} of {format_count(len(report.groups), 'group')}."


def _key_for_export() -> DatabaseKey:
    try:
        key = database_key()
    except KeyProblem as problem:
        raise InvalidInput(str(problem), field="encrypt") from problem
    if key is None:
        raise InvalidInput(
            "This store has no key to encrypt an export with.",
            hint="Set storage.encryption, or encrypt the file with another program.",
            field="encrypt",
        )
    return key
