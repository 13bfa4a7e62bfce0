"""Base of the commands: options and verbs are declared, each verb is one function, and its answer is printed in one place."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from django.core.management.base import BaseCommand, CommandError, CommandParser

from access.errors import LociError
from access.management.options import JSON, Either, Option, add_options, read_options

Options = tuple[Option | Either, ...]


@dataclass(frozen=True)
class CommandAnswer:
    """What a command found or did: for --json, for people, and how it ends."""

    body: Any
    text: str = ""
    status: int = 0
    fault: str = ""  # an error after the answer, such as lines that were not imported


@dataclass(frozen=True)
class CommandVerb:
    """One verb of a command: its function, its help and its options."""

    act: Callable[[dict[str, Any]], CommandAnswer]
    help: str
    options: Options = ()
    uses_model: bool | Callable[[dict[str, Any]], bool] = False


class LociCommand(BaseCommand):
    """A command with `options`, or with `verbs`. Exit status: 0 done, 1 error, 2 wrong usage."""

    examples = ""
    options: ClassVar[Options] = ()
    verbs: ClassVar[Mapping[str, CommandVerb]] = {}

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = self.examples
        if not self.verbs:
            add_options(parser, (*self.options, JSON))
            return
        actions = parser.add_subparsers(dest="verb", required=True, metavar=" | ".join(self.verbs))
        for name, verb in self.verbs.items():
            action = actions.add_parser(
                name, help=verb.help, epilog=self.examples, formatter_class=parser.formatter_class
            )
            add_options(action, (*verb.options, JSON))

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command or its verb; print the answer, or the error in words and with --json as JSON."""
        verb = self.verbs[options["verb"]] if self.verbs else None
        try:
            values = read_options(options, verb.options if verb else self.options)
            answer = verb.act(values) if verb else self.act(values)
        except LociError as error:
            if options["json"]:
                self.print_json(error.as_dict())
            raise CommandError(self.clean(str(error))) from error
        if isinstance(answer, int):
            answer = CommandAnswer(None, status=answer)
        elif options["json"]:
            self.print_json(answer.body)
        elif answer.text:
            self.stdout.write(answer.text)
        if answer.fault:
            raise CommandError(answer.fault)
        if answer.status:
            sys.exit(answer.status)

    def act(self, options: dict[str, Any]) -> CommandAnswer | int:
        """Do what the command without verbs does; one that prints as it goes returns its exit status."""
        raise NotImplementedError

    def clean(self, text: str) -> str:
        """An error's text as it is printed."""
        return text

    def print_json(self, body: Any) -> None:
        """Print one JSON value on one line."""
        self.stdout.write(json.dumps(body, ensure_ascii=False, default=str).encode(errors="replace").decode())
