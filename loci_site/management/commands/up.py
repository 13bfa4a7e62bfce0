"""`loci up`: run Loci, the web processes and the worker, until Ctrl-C; and the process that prepares the store for it."""

import argparse
import os
import socket
import time
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connections

from access.connect import base_url, client_json, command_line
from access.errors import LociError
from access.management.command import shape_parser
from loci_site.clients.program import PROGRAM, write_program
from loci_site.config import load_config
from loci_site.management.first_start import FirstAccess, create_first_access, migrate_if_needed
from loci_site.server import up
from loci_site.server.process import end_with_parent
from loci_site.server.socket import is_answering
from maintenance.doctor.rows import check_languages
from memories.draft import describe_kept_rule
from memories.embedding.loader import folder_status, model_folder
from memories.store.pieces import read_index_state
from sources.watching.folders import show_wanted
from storage.sqlite.base import NewDatabase

EXAMPLES: Final = """\
examples:
  loci up                       everything: tables, model, first admin, web processes, worker
  loci up --port 9000
  loci up --no-model            without downloading the model; recall then works by keywords
  LOCI_HOST=0.0.0.0 LOCI_ALLOWED_HOSTS=memory.example.org loci up
"""
_CHECK_EVERY_S: Final = 0.02


class Command(BaseCommand):
    """Runs the supervisor, or prepares database and model for it and prints how to use them."""

    help = (
        "Run Loci: prepare what is missing, start the web processes and the worker. Ctrl-C stops everything."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        shape_parser(parser, EXAMPLES)
        up.add_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal; an error ends it with one sentence and status 1."""
        try:
            if options["prepare"]:
                self._prepare(*options["prepare"], wants_model=not options["no_model"])
            else:
                words = argparse.Namespace(**options)
                up.override_address(words)
                settings.LOCI = load_config(os.environ)
                up.run(words)
        except LociError as error:
            raise CommandError(str(error)) from error

    def _prepare(self, parent: int, sock: int, begin: int, *, wants_model: bool) -> None:
        """Make the store ready, let the web processes begin, and print how to use them once one answers."""
        end_with_parent(parent)
        NewDatabase.is_allowed = True
        if count := migrate_if_needed():
            self._print(f"Prepared the database ({count} migrations).")
        if kept := describe_kept_rule(read_index_state()):
            self._print(kept)
        if folder_status(model_folder(settings.LOCI.home)).state != "installed":
            self._install_model(wants_model=wants_model)
        show_wanted()
        if (hooks := settings.LOCI.home / "hooks").joinpath(PROGRAM).exists():
            write_program(hooks)  # a copy of an earlier version
        connections.close_all()
        os.write(begin, b"1")
        with socket.socket(fileno=sock) as listening:
            while not is_answering(listening):
                time.sleep(_CHECK_EVERY_S)
        self._print(_ready_text(create_first_access()))
        if (languages := check_languages()).advice:
            self._print(f"\nNote: {languages.detail}. To change this, {languages.advice}.")
        connections.close_all()

    def _install_model(self, *, wants_model: bool) -> None:
        """Install the model, or print what works without it."""
        reason = "The embedding model is not installed."
        if wants_model:
            self._print("Installing the embedding model (only the first time).")
            try:
                call_command("model", "install", stdout=self.stdout)
                return
            except CommandError as error:
                reason = str(error)
        self._print(
            f"{reason}\nRecall works by keywords until this succeeds: {command_line('model install')}"
        )

    def _print(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _ready_text(first: FirstAccess | None) -> str:
    """The message for a person once the server answers; it contains secrets at the first start only."""
    url, token_line = base_url(), command_line("token create NAME")
    password_line = command_line("changepassword admin")
    if first is None:
        return f"""\
Loci is running at {url}

  Admin      {url}/admin/
             new password: {password_line}
  Connect    {token_line} creates a token and prints the line for your agent
  Data       {settings.LOCI.home}

Ctrl-C stops everything."""
    return f"""\
Loci is running at {url}

  Admin      {url}/admin/
             user {first.username}, password {first.password}
  Data       {settings.LOCI.home}

Connect Claude Code, its tools and hooks (or codex, gemini, cursor, vscode …):

  {command_line("connect claude-code")}

Connect any other agent, its tools:

  {client_json(first.token)}

The password and the token are shown only once. This token can read, write and make groups.
Create one for each agent:
  {token_line}
Create one for yourself that may do everything, purge included:
  {command_line("token create operator --admin")}
Change the password:
  {password_line}

Ctrl-C stops everything."""
