"""The home of the sample team: beside LOCI_HOME, marked, and removed whole.

It is a store of its own because nothing leaves a store without a trace: the audit log would keep the sample team for ever, and tombstones
would refuse its texts the next time.
"""

import shutil
from pathlib import Path
from typing import ClassVar, Final

from access.errors import LociError
from access.server_address import running_address
from memories.embedding.loader import model_folder
from storage.home import DATABASE, ensure_home

MARK: Final = "DEMO"  # a file in the home: only a folder that has it is ever removed
MARK_TEXT: Final = "A sample team, made by 'loci demo'. 'loci demo --remove' deletes this folder.\n"


class DemoError(LociError):
    """The sample team's folder is not one that `loci demo` made."""

    code: ClassVar[str] = "demo_failed"


def demo_home(home: Path) -> Path:
    """The folder of the sample team: beside LOCI_HOME, with `-demo` at its end."""
    return home.with_name(f"{home.name}-demo")


def prepare_home(folder: Path) -> bool:
    """Make the folder with its mark; False if a sample team is there already.

    Raises:
        DemoError: the folder exists, and `loci demo` did not make it.
    """
    if (folder / MARK).is_file():
        return not (folder / DATABASE).exists()
    if folder.exists():
        raise DemoError(f"{folder} exists and is no sample team.", hint="Set LOCI_HOME to another folder.")
    ensure_home(folder)
    (folder / MARK).write_text(MARK_TEXT, encoding="utf-8")
    return True


def remove_home(folder: Path) -> None:
    """Delete the folder. Raises DemoError unless `loci demo` made it, or while its server runs."""
    if not (folder / MARK).is_file():
        raise DemoError(f"There is no sample team in {folder}.", hint="'loci demo' makes one.")
    if address := running_address(folder):
        raise DemoError(
            f"The sample team is running at {address}.", hint="Stop it first (Ctrl-C in its window)."
        )
    shutil.rmtree(folder)


def model_variables(home: Path) -> dict[str, str]:
    """The variable by which the sample team takes the installed model instead of a download; empty without one."""
    folder = model_folder(home).path
    return {"LOCI_MODEL_DIR": str(folder)} if folder.is_dir() else {}
