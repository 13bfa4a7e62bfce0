"""`loci demo`: a sample team to look at, in a home of its own; filled, run and removed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar, Final

from django.conf import settings
from django.core.management.base import CommandError

from access.connect import command_line, running_address
from access.errors import LociError
from access.management.command import PORT, CommandAnswer, LociCommand, either, flag
from access.sign_in.passwords import generated_password
from loci_site.server.up import child_environment
from memories.embedding.loader import model_folder
from storage.home import DATABASE, ensure_home

MARK: Final = "DEMO"  # a file in the home: only a folder that has it is ever removed
_MARK_TEXT: Final = "A sample team, made by 'loci demo'. 'loci demo --remove' deletes this folder.\n"


class _DemoError(LociError):
    """The sample team's folder is not one that `loci demo` made."""

    code: ClassVar[str] = "demo_failed"


def demo_home(home: Path) -> Path:
    """The folder of the sample team: next to LOCI_HOME, with `-demo` at its end."""
    return home.with_name(f"{home.name}-demo")


def prepare_home(folder: Path) -> bool:
    """Make the folder with its mark; False if a sample team is there already.

    Raises:
        DemoError: the folder exists, and `loci demo` did not make it.
    """
    if (folder / MARK).is_file():
        return not (folder / DATABASE).exists()
    if folder.exists():
        raise _DemoError(
            f"{folder} exists and is not a sample team.", hint="Set LOCI_HOME to another folder."
        )
    ensure_home(folder)
    (folder / MARK).write_text(_MARK_TEXT, encoding="utf-8")
    return True


def _remove_home(folder: Path) -> None:
    """Delete the folder. Raises DemoError unless `loci demo` made it, or while its server runs."""
    if not (folder / MARK).is_file():
        raise _DemoError(f"There is no sample team in {folder}.", hint="'loci demo' makes one.")
    if address := running_address(folder):
        raise _DemoError(
            f"The sample team is running at {address}.", hint="Stop it first (Ctrl-C in its window)."
        )
    shutil.rmtree(folder)


EXAMPLES: Final = """\
examples:
  loci demo                make the sample team if it is not there, and run it until Ctrl-C
  loci demo --port 9000
  loci demo --fill-only    make it, run nothing
  loci demo --remove       delete it

The team has its own folder next to LOCI_HOME, with -demo at its end; your own store is never touched.
"""
PEOPLE: Final = "alice (everything), bob and charlie (admin), mia (contributor), vera (viewer)"


class Command(LociCommand):
    """Starts other processes for the work: this one has the settings of the real LOCI_HOME."""

    help = "Try Loci with a sample team, in a folder of its own; --remove deletes it."
    examples = EXAMPLES
    options = (
        PORT.but(default="8010", help="port to listen on"),
        either(
            flag("--fill-only", "make the team, run nothing"), flag("--remove", "delete the team's folder")
        ),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        """Fill, run or remove; an error ends it with one sentence and status 1."""
        folder = demo_home(settings.LOCI.home)
        if options["remove"]:
            _remove_home(folder)
            return CommandAnswer({"removed": str(folder)}, f"Removed {folder}.")
        if prepare_home(folder):
            self._fill(folder)
        if not options["fill_only"]:
            command = [sys.executable, "-P", "-c", _RUN_UP, "up", "--port", options["port"]]
            os.execve(sys.executable, command, environment(folder))  # noqa: S606 - this program again
        return CommandAnswer({"folder": str(folder)})

    def _fill(self, folder: Path) -> None:
        password = generated_password()
        self._print(f"Making a sample team in {folder} (half a minute) ...")
        env = environment(folder) | {"LOCI_DEMO_PASSWORD": password}
        done = subprocess.run([sys.executable, "-P", "-m", "loci_site.management.demo"], env=env, check=False)
        if done.returncode:
            _remove_home(folder)
            raise CommandError("The sample team could not be made; the message is above.")
        self._print(f"Log in as {PEOPLE}.\nPassword, shown only once: {password}")
        self._print(f"Remove it with: {command_line('demo --remove')}")

    def _print(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()


_RUN_UP: Final = "from loci_site.management.cli import main; main()"


def environment(folder: Path) -> dict[str, str]:
    """The environment of the processes that work on the sample team: nothing of the settings of the real home but the model."""
    ours = {name: value for name, value in child_environment().items() if not name.startswith("LOCI_")}
    model = model_folder(settings.LOCI.home).path  # the installed one, instead of a download
    return ours | ({"LOCI_MODEL_DIR": str(model)} if model.is_dir() else {}) | {"LOCI_HOME": str(folder)}
