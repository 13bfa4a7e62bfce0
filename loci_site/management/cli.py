"""The entry point of `manage.py` and of the installed `loci` command."""

import os
import sys

from django.core.management import BaseCommand
from django.db import DatabaseError

from loci_site import __version__
from loci_site.config import ConfigError
from loci_site.config.checks import TAG

# Commands that need the tables: on a new machine the first of them creates the database.
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
    """Run the subcommand in `argv` (default: the arguments of the process).

    Wrong settings, or a database older than the program, end the process with a message and status 1.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    words = argv or sys.argv
    # The other checks import every view, which takes a second: `loci check` and the tests run them.
    BaseCommand.requires_system_checks = [TAG]
    try:
        if words[1:2] in (["--version"], ["version"]):
            sys.stdout.write(f"Loci {__version__}\n")
            return
        if words[1:2] and words[1] in NEEDING_TABLES and not {"-h", "--help"} & set(words):
            create_missing_database()
        from loci_site.management.command_list import Commands  # noqa: PLC0415 - errors in settings are caught below

        Commands(words).execute()
    except ConfigError as error:
        sys.exit(str(error))
    except BrokenPipeError:
        # The reader closed the pipe (`loci stats | head`), so the rest of the output is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except DatabaseError as error:
        if not any(text in str(error) for text in MISSING_TABLE):
            raise
        sys.exit(
            f"The database does not match this version of Loci ({error}). Run 'loci migrate', then try again."
        )


def create_missing_database() -> None:
    """Create a database file that does not exist or is empty, with all tables."""
    import django  # noqa: PLC0415 - settings are read here, inside main's error handling
    from django.conf import settings  # noqa: PLC0415 - as above

    file = settings.LOCI.storage.database
    if settings.LOCI.database_url or (file.exists() and file.stat().st_size > 0):
        return
    django.setup()
    from loci_site.management.first_start import migrate_if_needed  # noqa: PLC0415 - needs the models

    sys.stderr.write(f"Created a new database: {file} ({migrate_if_needed()} migrations).\n")
