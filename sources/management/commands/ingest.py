"""`manage.py ingest`: read files of this machine as evidence."""

import sys
from pathlib import Path
from typing import Any, Final

from tqdm import tqdm

from access.errors import InvalidInput
from access.management.command import DRY_RUN, GROUP, SOURCE, CommandAnswer, flag, many, option
from access.tokens import operator
from memories.management.output import FaceCommand, in_lines, printable
from sources.artifacts.ingest import IngestReport, ingest_path
from sources.artifacts.reading.files import MAX_TEXT_BYTES, FileRules
from sources.artifacts.vectors import embed_chunks

EXAMPLES: Final = """\
examples:
  loci ingest . --group ledger                 the repository around this folder
  loci ingest docs/ --group ledger             only this folder of it; paths stay those of the repository
  loci ingest handbook.pdf --group team        needs the extra `documents`
  loci ingest . --include '*.md' --exclude 'drafts/'
  loci ingest . --dry-run                      show what would be read

Secrets, lock files, builds and what .gitignore or .lociignore names are never read. Run it again after changes: only what
changed is replaced, and files that are gone retire. Find it with: loci recall QUESTION --kind evidence
"""


class Command(FaceCommand):
    """Reads a folder or file and prints what became of it."""

    help = "Read files as evidence: recall finds them next to memories when asked for."
    examples = EXAMPLES
    uses_model = True

    options = (
        option("path", type=Path, help="a folder or a file on this machine"),
        GROUP,
        SOURCE.but(help="name of the folder; default: the repository's or folder's name"),
        many("--include", "GLOB", "read only these"),
        many("--exclude", "GLOB", "leave these out"),
        option("--max-kb", type=int, default=MAX_TEXT_BYTES // 1024, metavar="N",
               help="leave out larger texts; default: 1024"),
        flag("--again", "read unchanged files too"),
        flag("--gone", "most known files are gone: retire them"),
        flag("--later", "leave the vectors to the worker"),
        DRY_RUN,
    )  # fmt: skip

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        report, embedded = self._read(options), 0
        if not options["later"] and not options["dry_run"]:
            with tqdm(unit="chunk", file=sys.stderr, disable=None, leave=False) as bar:
                embedded = embed_chunks(on_progress=bar.update)
        text = in_lines(
            "Nothing was written. It would be:" if options["dry_run"] else "",
            printable(report.as_text(), keep_lines=True),
            f"Vectors: {embedded:,} computed." if embedded else "",
        )
        return CommandAnswer({**IngestReport.json(report), "embedded": embedded}, text)

    def _read(self, options: dict[str, Any]) -> IngestReport:
        if not 1 <= options["max_kb"] <= 10 * 1024:
            raise InvalidInput("--max-kb must be between 1 and 10240.", field="max_kb")
        rules = FileRules(tuple(options["include"]), tuple(options["exclude"]), options["max_kb"] * 1024)
        with tqdm(unit="file", file=sys.stderr, disable=None, leave=False) as bar:
            return ingest_path(
                operator(),
                options["path"],
                group=options["group"],
                source=options["source"],
                rules=rules,
                again=options["again"],
                gone=options["gone"],
                dry_run=options["dry_run"],
                on_progress=bar.update,
            )
