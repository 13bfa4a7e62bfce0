"""`loci changepassword`: replaces Django's command of this name and records the change in the audit log."""

import getpass
from typing import Any, Final

from access.management.command import CommandAnswer, LociCommand, option
from access.sign_in.passwords import typed_password
from access.sign_in.users import find_person, set_password
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci changepassword admin                                asks twice, shows nothing
  loci person password admin --generate                    generates one
"""


class Command(LociCommand):
    """Asks for the password at the terminal and sets it as `loci person password` does."""

    help = "Change a person's password."
    examples = EXAMPLES
    options = (option("username", nargs="?", help="name of the person; default: your name on this machine"),)

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        user = find_person(options["username"] or getpass.getuser())
        set_password(operator(), user, typed_password())
        text = f"Changed the password of '{user}'; their sessions have ended."
        return CommandAnswer({"user": user.username}, text)
