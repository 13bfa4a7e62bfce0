"""`loci createsuperuser`: replaces Django's command of this name and records the new person in the audit log."""

import os
from typing import Any, Final

from access.errors import InvalidInput
from access.management.command import EMAIL, CommandAnswer, LociCommand, option
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


class Command(LociCommand):
    """Takes the arguments of Django's command and creates the person as `loci person add` does."""

    help = "Create a superuser. With --noinput, Django's environment variables hold name, email and password."
    examples = EXAMPLES
    options = (
        option("--username", default=os.environ.get(NAME_VARIABLE, ""), help="name to log in with"),
        EMAIL.but(default=os.environ.get(EMAIL_VARIABLE)),
        option("--noinput", "--no-input", action="store_true", help="do not prompt"),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        """Create the superuser, with prompts unless `noinput` is set."""
        is_interactive = not options["noinput"]
        name = options["username"] or (input("Username: ").strip() if is_interactive else "")
        if not name:
            hint = f"Use --username or {NAME_VARIABLE}."
            raise InvalidInput("A name is needed.", hint=hint, field="username")
        password = typed_password() if is_interactive else os.environ.get(PASSWORD_VARIABLE)
        change = PersonChange(email=options["email"], is_superuser=True)
        user = add_person(operator(), name, change, password=password)
        return CommandAnswer({"user": user.username}, f"Created the superuser '{user}'.")
