"""`loci createsuperuser`: Django's name for making somebody who may do everything; here it is in the audit log."""

import argparse
import os
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError, CommandParser

from access.errors import InvalidInput, LociError
from access.sign_in.passwords import typed_password
from access.sign_in.users import PersonChange, add_person
from access.tokens import operator

PASSWORD_VARIABLE: Final = "DJANGO_SUPERUSER_PASSWORD"  # noqa: S105 - a name; Django reads the same
NAME_VARIABLE, EMAIL_VARIABLE = "DJANGO_SUPERUSER_USERNAME", "DJANGO_SUPERUSER_EMAIL"
EXAMPLES: Final = """\
examples:
  loci createsuperuser --username ann                      asks for the password
  loci person add ann --superuser                          the same
"""


class Command(BaseCommand):
    """Takes what Django's command of this name takes, and makes the person as `loci person add` does."""

    help = (
        "Make a superuser. With --noinput, the environment has name, email and password as Django names them."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "--username", default=os.environ.get(NAME_VARIABLE, ""), help="the name to log in with"
        )
        parser.add_argument("--email", default=os.environ.get(EMAIL_VARIABLE), help="their address")
        parser.add_argument("--noinput", "--no-input", action="store_true", help="ask for nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(f"Made the superuser '{_made(options)}'.")
        except LociError as error:
            raise CommandError(str(error)) from error


def _made(options: dict[str, Any]) -> str:
    asks = not options["noinput"]
    name = options["username"] or (input("Username: ").strip() if asks else "")
    if not name:
        raise InvalidInput("There is no name.", hint=f"Use --username, or {NAME_VARIABLE}.", field="username")
    password = typed_password() if asks else os.environ.get(PASSWORD_VARIABLE)
    change = PersonChange(email=options["email"], is_staff=True, is_superuser=True)
    return add_person(operator(), name, change, password=password).username
