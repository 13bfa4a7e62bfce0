"""The entry point of `manage.py` and of the installed `loci` command."""

import gc
import os
import sys
from pathlib import Path

from django.db import DatabaseError

from access.errors import LociError, as_storage_error
from loci_site import __version__
from storage.encryption import KeyProblem
from storage.faults import causes_of
from storage.home import DATABASE

# Commands that need the tables: on a new machine the first of these creates the database ...
_CREATING = frozenset(["createsuperuser", "group", "import", "ingest", "person", "remember", "token"])
# ... and these have nothing to read: a machine that only connects to another one's store gets none.
_READING = frozenset(["backup", "changepassword", "connect", "export", "hook", "memory", "recall", "stats"])
_REMOTE = ("--url", "--status", "--remove", "--dry-run")  # with which `connect` needs no store
NO_DATABASE = "there is no database at"  # storage.sqlite.base says it, which loads Django's backend
DAMAGED = ("database disk image is malformed", "file is not a database")
# What PostgreSQL says where pgvector is missing, and what to do.
_NO_VECTORS = {
    "permission denied to create extension": (
        "The role of DATABASE_URL may not create the extension vector. Run as the server's administrator, in this"
        " database and in template1, which backups need: CREATE EXTENSION vector. Then try again."
    ),
    'extension "vector" is not available': (
        "The server of DATABASE_URL has no pgvector. Install version 0.8 or newer there, then try again."
    ),
}
_TOO_OLD = "Loci needs PostgreSQL"  # the migration that makes the extension says it
_MISSING_TABLE = ("no such table", "no such column", "does not exist")


def main(argv: list[str] | None = None) -> None:
    """Run the subcommand in `argv` (default: the arguments of the process).

    Wrong settings, or a database older than the program, end the process with a message and status 1.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    words = argv or sys.argv
    # A start makes a million objects, nearly all of which stay: looking through them for garbage took a fifth of its time.
    gc.disable()
    try:
        if words[1:2] in (["--version"], ["version"]):
            sys.stdout.write(f"Loci {__version__}\n")
            return
        if words[1:2] == ["--print-completion"]:
            from loci_site.management.command_list import print_completion  # noqa: PLC0415 - needs every command

            print_completion(words[2:])
            return
        if words[1:2] == ["up"]:
            from loci_site.server.up import run_alone  # noqa: PLC0415 - other commands do without

            if run_alone(words[2:]):
                return
        needs_none = {"-h", "--help"} & set(words) or (
            words[1:2] == ["connect"] and any(word.startswith(_REMOTE) for word in words)
        )
        if not needs_none and {*words[1:2]} & _READING and (missing := _missing_database()):
            sys.exit(
                f"Nothing is stored here yet ({missing}). 'loci up' starts Loci; 'loci connect CLIENT --url' uses another machine's."
            )
        if not needs_none and {*words[1:2]} & _CREATING:
            create_missing_database()
        from django.core.management import BaseCommand  # noqa: PLC0415 - `up` does without

        from loci_site.config.checks import TAG  # noqa: PLC0415 - as above
        from loci_site.management.command_list import Commands  # noqa: PLC0415 - errors in settings are caught below

        # The other checks import every view, which takes a second: `loci check` and the tests run them.
        BaseCommand.requires_system_checks = [TAG]
        Commands(words).execute()
    except LociError as error:
        sys.exit(str(error))
    except BrokenPipeError:
        # The reader closed the pipe (`loci stats | head`), so the rest of the output is discarded.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (DatabaseError, OSError) as error:
        message = explain_store_error(error)
        if not message:
            raise
        sys.exit(message)
    finally:
        gc.enable()


def explain_store_error(error: DatabaseError | OSError) -> str:
    """What to do about an error of the disk or the database file; empty for an error of another kind."""
    if (storage_error := as_storage_error(error)) is not None:
        return str(storage_error)
    if not isinstance(error, DatabaseError):
        return ""
    for cause in causes_of(error):
        if isinstance(cause, KeyProblem):
            return str(cause)
    first = str(error).partition("\n")[0]
    if advice := next((advice for text, advice in _NO_VECTORS.items() if text in first), ""):
        return advice
    if first.startswith(_TOO_OLD):
        return first
    if any(text in str(error) for text in _MISSING_TABLE):
        return (
            f"The database does not match this version of Loci ({error}). Run 'loci migrate', then try again."
        )
    if NO_DATABASE in str(error):
        return (
            f"{str(error).capitalize()}, which LOCI_DB or storage.database names. Correct the setting, or create the"
            " database with 'loci migrate'."
        )
    if any(text in str(error) for text in DAMAGED):
        return f"The database is damaged, or encrypted ({error}). Run 'loci doctor', or restore a backup: 'loci restore'."
    return ""


def create_missing_database() -> None:
    """Create a database file that does not exist or is empty, with all tables; PostgreSQL has none."""
    if (file := _missing_database()) is None:
        return
    import django  # noqa: PLC0415 - as below

    django.setup()
    from loci_site.management.first_start import migrate_if_needed  # noqa: PLC0415 - needs the models

    sys.stderr.write(f"Created a new database: {file} ({migrate_if_needed()} migrations).\n")


def _missing_database() -> Path | None:
    """The database file if it is the home's own, and does not exist or is empty; PostgreSQL has none."""
    from django.conf import settings  # noqa: PLC0415 - settings are read here, inside main's error handling

    file: Path = settings.LOCI.storage.database
    is_default = file == settings.LOCI.home / DATABASE
    is_there = settings.LOCI.database_url or not is_default or (file.exists() and file.stat().st_size > 0)
    return None if is_there else file
