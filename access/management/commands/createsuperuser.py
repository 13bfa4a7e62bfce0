"""`loci createsuperuser`: replaces Django's command of this name and records the new person in the audit log."""

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
    """Takes the arguments of Django's command and creates the person as `loci person add` does."""

    help = "Create a superuser. With --noinput, Django's environment variables hold name, email and password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument(
            "--username", default=os.environ.get(NAME_VARIABLE, ""), help="name to log in with"
        )
        parser.add_argument("--email", default=os.environ.get(EMAIL_VARIABLE), help="email address")
        parser.add_argument("--noinput", "--no-input", action="store_true", help="do not prompt")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self.stdout.write(f"Created the superuser '{create_superuser(options)}'.")
        except LociError as error:
            raise CommandError(str(error)) from error


def create_superuser(options: dict[str, Any]) -> str:
    """Create the superuser, with prompts unless `noinput` is set. Returns the name."""
    is_interactive = not options["noinput"]
    name = options["username"] or (input("Username: ").strip() if is_interactive else "")
    if not name:
        raise InvalidInput("A name is needed.", hint=f"Use --username or {NAME_VARIABLE}.", field="username")
    password = typed_password() if is_interactive else os.environ.get(PASSWORD_VARIABLE)
    change = PersonChange(email=options["email"], is_staff=True, is_superuser=True)
    return add_person(operator(), name, change, password=password).username
