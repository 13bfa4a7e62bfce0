"""One entry for `manage.py` and the installed `loci` command."""

import os
import sys

from django.core.management import BaseCommand
from django.db import DatabaseError

from loci_site import __version__
from loci_site.config import ConfigError
from loci_site.config.checks import TAG

# The commands that read or write memories: on a new machine the first of them makes the tables.
NEEDING_TABLES = frozenset(
    {
        "backup",
        "changepassword",
        "createsuperuser",
        "evaluate",
        "export",
        "group",
        "import",
        "inspect",
        "memory",
        "person",
        "recall",
        "reembed",
        "remember",
        "search",
        "stats",
        "token",
        "tombstones",
    }
)
MISSING_TABLE = ("no such table", "no such column", "does not exist")


def main(argv: list[str] | None = None) -> None:
    """Run the sub-command in `argv` (default: the process's own arguments).

    Wrong settings, and a database that is older than the program, end it with one sentence and status 1.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    words = argv or sys.argv
    # The other checks import every view, a second of work: `loci check` and the tests run them.
    BaseCommand.requires_system_checks = [TAG]
    try:
        if words[1:2] in (["--version"], ["version"]):
            sys.stdout.write(f"Loci {__version__}\n")
            return
        if words[1:2] and words[1] in NEEDING_TABLES and not {"-h", "--help"} & set(words):
            make_tables()
        from loci_site.management.command_list import Commands  # noqa: PLC0415 - wrong settings are told below

        Commands(words).execute()
    except ConfigError as wrong:
        sys.exit(str(wrong))
    except BrokenPipeError:
        # Whoever reads the output has closed it (`loci stats | head`); what is still to be flushed has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except DatabaseError as fault:
        if not any(words in str(fault) for words in MISSING_TABLE):
            raise
        sys.exit(
            f"The database does not fit this version of Loci ({fault}). Run 'loci migrate', then try again."
        )


def make_tables() -> None:
    """Make the tables of a database that is not there yet."""
    import django  # noqa: PLC0415 - the settings are read only now
    from django.conf import settings  # noqa: PLC0415 - as above

    file = settings.LOCI.storage.database
    if settings.LOCI.database_url or (file.exists() and file.stat().st_size > 0):
        return
    django.setup()
    from loci_site.management.first_start import migrate_if_needed  # noqa: PLC0415 - needs the models

    sys.stderr.write(f"Made a new database: {file} ({migrate_if_needed()} migrations).\n")
