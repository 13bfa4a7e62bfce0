"""`manage.py export`: write the store, or some groups, as JSON lines that 'import' can rebuild."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError
from tqdm import tqdm

from access.errors import Conflict, InvalidInput
from access.management.command import GROUPS, CommandAnswer, flag, option
from access.tokens import operator
from memories.language.cleaning import format_count
from memories.management.output import FaceCommand
from sources.exporting import ExportReport, export
from sources.exporting.atomic_file import replace_file, replace_sealed_file
from sources.format import counts_text
from sources.sharing import EXPORTERS, NAMES, SharedReport, export_as
from storage.encryption import KeyProblem, database_key

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


class Command(FaceCommand):
    """Exports of Loci, and for other programs."""

    help = "Export memories and what belongs to them as JSON lines; 'import' reads them."
    examples = EXAMPLES + FORMATS
    options = (
        option("file", type=Path, nargs="?", help="a new file or folder; default: standard output"),
        option("--to", default=WHOLE, choices=[WHOLE, *NAMES], metavar="FORMAT",
               help="format of another program; default: an export of Loci, which loses nothing"),
        flag("--overwrite", "replace an existing file"),
        GROUPS,
        flag("--vectors", "include the vectors"),
        flag("--encrypt", "encrypt the file with the store's key (storage.encryption)"),
    )  # fmt: skip

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        path: Path | None = options["file"]
        if path is None and options["to"] == WHOLE:
            self.stdout = self.stderr  # lines on standard output must not be mixed with the answer
        try:
            return share(path, options) if options["to"] != WHOLE else _export_whole(path, options)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error


def _export_whole(path: Path | None, options: dict[str, Any]) -> CommandAnswer:
    if options["encrypt"] and path is None:
        raise InvalidInput(
            "An encrypted export needs a file.", hint="loci export FILE --encrypt", field="file"
        )
    if path and path.is_file() and not options["overwrite"]:
        raise Conflict(
            f"{path} already exists.", hint="Name a new file, or replace it with --overwrite.", field="file"
        )
    if path and options["encrypt"]:
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
        target: Any = replace_sealed_file(path, key)
    else:
        target = replace_file(path) if path else nullcontext(sys.stdout)
    with target as out, tqdm(unit="line", file=sys.stderr, disable=None, leave=False) as bar:
        report = export(
            operator(), out, groups=options["group"], vectors=options["vectors"], on_progress=bar.update
        )
    return CommandAnswer(ExportReport.json(report), report_text(report))


def share(path: Path | None, options: dict[str, Any]) -> CommandAnswer:
    """An export for another program."""
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
    text = f"Exported {counts_text(report.counts)} of {format_count(len(report.groups), 'group')}."
    return CommandAnswer(SharedReport.json(report), text)


def report_text(report: ExportReport) -> str:
    """The report in words."""
    counts = counts_text(report.counts)
    log = "" if report.has_log else " The log is not included: it is exported only with the whole store."
    return f"Exported {counts} of {format_count(len(report.groups), 'group')}.{log}"
