"""`loci migrate`: Django's command, which refuses a store of before 0.3.0."""

from contextlib import nullcontext
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser
from django.core.management.commands import migrate
from django.db import connection, transaction

from access.errors import LociError
from access.management.command import shape_parser
from maintenance.backups import back_up_before_upgrade
from maintenance.squashed_migrations import refuse_early_store
from storage.sqlite.base import NewDatabase

# Its many migrations build all models anew that are there already: before ours, a new database takes 3.3 s, not 5.1.
_COSTLY: Final = "oauth2_provider"
EXAMPLES: Final = """\
examples:
  loci migrate               brings the tables up to date; 'loci up' does so by itself
  loci migrate --plan        shows what would be done
  loci migrate --no-backup   for a store of which there is a backup already

A store that is there is backed up first, into LOCI_HOME/backups.
"""


class Command(migrate.Command):
    """Migrates a store of 0.3.0 or later, or a new one; --plan and --check change nothing."""

    help = "Bring the tables of the store up to date with this version of Loci."

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        shape_parser(parser, EXAMPLES)
        parser.add_argument("--no-backup", action="store_true", help="do not back up the store first")

    def handle(self, *args: Any, **options: Any) -> None:
        only_looks = options["plan"] or options["check_unapplied"]
        NewDatabase.is_allowed = not only_looks
        with transaction.atomic() if only_looks else nullcontext():
            try:
                refuse_early_store()
                if not only_looks and not options["no_backup"] and (made := back_up_before_upgrade()):
                    self.stderr.write(f"Backed up the store as it was: {made}", self.style.SUCCESS)
            except LociError as error:
                raise CommandError(str(error)) from error
            if not only_looks and not options["app_label"] and not connection.introspection.table_names():
                super().handle(*args, **options | {"app_label": _COSTLY, "verbosity": 0})
            super().handle(*args, **options)
            if only_looks:
                transaction.set_rollback(True)
