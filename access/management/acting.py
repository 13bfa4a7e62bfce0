"""What the commands of several actions have in common."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from access.connect import render_error
from access.errors import LociError


class ActingCommand(BaseCommand):
    """A command that parses, calls functions of access and renders; an error is said in words, and as JSON on request."""

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what was asked and print what act() gives."""
        try:
            self.stdout.write(self.act(options))
        except LociError as error:
            if options["json"]:
                self.stdout.write(render_error(error))
            raise CommandError(str(error)) from error

    def act(self, options: dict[str, Any]) -> str:
        """Do the action that the options name; give what is printed."""
        raise NotImplementedError
