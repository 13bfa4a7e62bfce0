"""`loci up`: run Loci, the web processes and the worker, until Ctrl-C."""

import argparse
import os
import socket
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError, connection, connections

from access.connect import base_url, claude_line, client_json, command_line, publish_address
from access.errors import LociError
from loci_site.config import load_config
from loci_site.config.logs import SERVING_VARIABLE, log_to_file
from loci_site.management.first_start import FirstAccess, create_first_access, migrate_if_needed
from loci_site.server.socket import bound_socket, is_answering, only_one_in
from loci_site.server.supervisor import DEATHS_IN_A_ROW, ServerPart, Supervisor, count_web_processes
from memories.draft import describe_kept_rule
from memories.embedding.loader import folder_status, model_folder
from memories.store.pieces import read_index_state
from sources.watching.folders import show_wanted, wanted_mark
from storage.home import ensure_home
from storage.sqlite.base import NewDatabase

EXAMPLES: Final = """\
examples:
  loci up                       everything: tables, model, first admin, web processes, worker
  loci up --port 9000
  loci up --no-model            without downloading the model; recall then works by keywords
  LOCI_HOST=0.0.0.0 LOCI_ALLOWED_HOSTS=memory.example.org loci up
"""
_CHECKOUT: Final = settings.ROOT


class Command(BaseCommand):
    """Prepares database and model, starts the processes and prints how to use them."""

    help = (
        "Run Loci: prepare what is missing, start the web processes and the worker. Ctrl-C stops everything."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--host", help="address to listen on; default: the setting server.host")
        parser.add_argument("--port", help="port to listen on; default: the setting server.port")
        parser.add_argument("--no-worker", action="store_true", help="run the web processes only")
        parser.add_argument("--no-model", action="store_true", help="do not download a missing model")
        parser.add_argument(
            "--reload", action="store_true", help="for development: restart when the code changes"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until a signal; an error ends it with one sentence and status 1."""
        _override_address(options["host"], options["port"])
        try:
            with only_one_in(ensure_home(settings.LOCI.home)):
                log_to_file(settings.LOCI)
                self._run(options)
        except LociError as error:
            raise CommandError(str(error)) from error

    def _run(self, options: dict[str, Any]) -> None:
        server, home = settings.LOCI.server, settings.LOCI.home
        with bound_socket(server.host, server.port) as sock, publish_address(home, base_url()):
            NewDatabase.is_allowed = True
            if count := migrate_if_needed():
                self._print(f"Prepared the database ({count} migrations).")
            if kept := describe_kept_rule(read_index_state()):
                self._print(kept)
            if folder_status(model_folder(settings.LOCI.home)).state != "installed":
                self._install_model(wants_model=not options["no_model"])
            show_wanted()
            connections.close_all()
            parts = _web_parts(sock, count_web_processes(server.web_processes), reload=options["reload"])
            if not options["no_worker"]:
                parts.append(ServerPart("worker", _child_command("loci_site.worker.process")))
                files = _child_command("loci_site.worker.files")
                parts.append(ServerPart("files", files, wanted=wanted_mark()))
            supervisor = Supervisor(
                parts,
                env=child_environment(),
                is_ready=lambda: is_answering(sock),
                on_ready=self._print_ready,
            )
            if not supervisor.run():
                raise CommandError(
                    f"The web process ended {DEATHS_IN_A_ROW} times in a row; its messages are above."
                )
        # The last user of the database moves the WAL into the file: the children's threads may not have.
        with suppress(DatabaseError), connection.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM django_migrations")
        connections.close_all()
        self._print("Loci has stopped.")

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

    def _print_ready(self) -> None:
        self._print(_ready_text(create_first_access()))
        connections.close_all()

    def _print(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


def _override_address(host: str | None, port: str | None) -> None:
    """Replace the address in the settings by that of the command line, with the same checks; children inherit it."""
    if host is None and port is None:
        return
    # The long variables override the short ones that the user may have set.
    if host is not None:
        os.environ["LOCI_SERVER_HOST"] = host
    if port is not None:
        os.environ["LOCI_SERVER_PORT"] = port
    settings.LOCI = load_config(os.environ)


def _web_parts(sock: socket.socket, count: int, *, reload: bool = False) -> list[ServerPart]:
    """The web processes on one socket; all but the first start once that one answers. With `reload` there is only one."""
    command = _child_command("loci_site.server.web", "--fd", str(sock.fileno()))
    first = ServerPart("web", command, is_vital=True, is_first=True, fds=[sock.fileno()])
    if reload:
        return [replace(first, command=[*command, "--reload"])]
    return [first, *(replace(first, name=f"web {n}", is_first=False) for n in range(2, count + 1))]


def _child_command(*words: str) -> list[str]:
    """The command of a child process: one of Loci's modules, which ends with this process.

    Without -P, Python would look for modules in the current folder first.
    """
    return [sys.executable, "-P", "-m", *words, "--parent", str(os.getpid())]


def child_environment() -> dict[str, str]:
    """The environment of the children; in a checkout, PYTHONPATH leads them to its code.

    Relative entries of PYTHONPATH, and empty ones, mean the current folder, whose files must not run.
    """
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if Path(path).is_absolute()]
    env = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": os.environ.get("DJANGO_SETTINGS_MODULE", "loci_site.settings"),
        SERVING_VARIABLE: "1",
    }
    if (Path(_CHECKOUT) / "manage.py").is_file():
        paths.insert(0, str(_CHECKOUT))
    return env | {"PYTHONPATH": os.pathsep.join(paths)}


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

Connect Claude Code:

  {claude_line(first.token)}

Connect any other agent:

  {client_json(first.token)}

The password and the token are shown only once. This token can read, write and make groups.
Create one for each agent:
  {token_line}
Create one for yourself that may do everything, purge included:
  {command_line("token create operator --admin")}
Change the password:
  {password_line}

Ctrl-C stops everything."""
