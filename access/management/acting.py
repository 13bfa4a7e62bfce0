"""Base class of the commands with several actions."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from access.connect import render_error
from access.errors import LociError


class ActingCommand(BaseCommand):
    """A command that parses, calls functions of access and renders; errors are printed as text, with --json also as JSON."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the result of act()."""
        try:
            self.stdout.write(self.act(options))
        except LociError as error:
            if options["json"]:
                self.stdout.write(render_error(error))
            raise CommandError(str(error)) from error

    def act(self, options: dict[str, Any]) -> str:
        """Run the action that the options name. Returns the output."""
        raise NotImplementedError
