"""`loci changepassword`: replaces Django's command of this name and records the change in the audit log."""

import argparse
import getpass
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from access.errors import LociError
from access.sign_in.passwords import typed_password
from access.sign_in.users import find_person, set_password
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci changepassword admin                                asks twice, shows nothing
  loci person password admin --generate                    generates one
"""


class Command(BaseCommand):
    """Asks for the password at the terminal and sets it as `loci person password` does."""

    help = "Change a person's password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "username", nargs="?", help="name of the person; default: your name on this machine"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = find_person(options["username"] or getpass.getuser())
            set_password(operator(), user, typed_password())
        except LociError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Changed the password of '{user}'; their sessions have ended.")
