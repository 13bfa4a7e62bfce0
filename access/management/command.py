"""Base of the commands: options and verbs are declared, each verb is one function, and its answer is printed in one place."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, is_dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter

from access.errors import LociError

YES_NO: Final = {"yes": True, "no": False}


@dataclass(frozen=True)
class Option:
    """An argument of a command: its names, argparse's keywords, and how its text is read, if it is given."""

    names: tuple[str, ...]
    how: dict[str, Any] = field(default_factory=dict)
    read: Callable[..., Any] | None = None  # (value, field=NAME)

    def but(self, **how: Any) -> "Option":
        """The same option with other keywords, such as its help."""
        return replace(self, how=self.how | how)


@dataclass(frozen=True)
class _Either:
    """Options of which one at most may be given; with `required`, one must be."""

    options: tuple[Option, ...]
    required: bool = False


def option(*names: str, read: Callable[..., Any] | None = None, **how: Any) -> Option:
    """An option, or with a name without dashes an argument by place."""
    return Option(names, how, read)


def flag(name: str, meaning: str, **how: Any) -> Option:
    """An option without a value."""
    return Option((name,), {"action": "store_true", "help": meaning, **how})


def many(name: str, metavar: str | None, meaning: str, **how: Any) -> Option:
    """An option that may be repeated."""
    how = {"action": "append", "default": [], **({"metavar": metavar} if metavar else {}), **how}
    return Option((name,), how | {"help": f"{meaning}; repeat for more"})


def either(*options: Option, required: bool = False) -> _Either:
    """Options that exclude each other."""
    return _Either(options, required)


def _add_options(parser: argparse.ArgumentParser, options: tuple[Option | _Either, ...]) -> None:
    for each in options:
        if isinstance(each, _Either):
            group = parser.add_mutually_exclusive_group(required=each.required)
            for one in each.options:
                group.add_argument(*one.names, **one.how)
        else:
            parser.add_argument(*each.names, **each.how)


def _read_options(values: dict[str, Any], options: tuple[Option | _Either, ...]) -> dict[str, Any]:
    """The values of a command line with those of options that have a reader read; raises what the reader raises."""
    done = dict(values)
    for each in options:
        if isinstance(each, Option) and each.read is not None:
            name = str(each.how.get("dest") or each.names[-1].lstrip("-").replace("-", "_"))
            done[name] = each.read(values[name], field=name) if values[name] else None
    return done


JSON: Final = flag("--json", "answer as one JSON object")
DRY_RUN: Final = flag("--dry-run", "show what would happen, change nothing")
YES: Final = flag("--yes", "confirm")
REASON: Final = option("--reason", default="", help="kept in the audit log")
GROUP: Final = option("--group", metavar="SLUG", help="default: LOCI_GROUP")
GROUPS: Final = many("--group", "SLUG", "only this group")
THREAD: Final = option("--thread", default="", metavar="NAME", help="the thread (conversation) it belongs to")
SOURCE: Final = option("--source", default="", metavar="NAME", help="only from this source")
LIMIT: Final = option("--limit", type=int, metavar="N", help="how many at most")
CURSOR: Final = option("--cursor", default="", help="the `next` value of the previous page")
ALLOW: Final = many("--allow", "KIND", "a kind of guessed secret that is a false alarm, such as password")
TO_FILE: Final = option("--to", type=Path, metavar="FILE")
PORT: Final = option("--port", help="port to listen on; default: the setting server.port")
USER: Final = option("--user", help="the user that the token acts for; default: the first superuser")
EMAIL: Final = option("--email", help="e-mail address")
NAME: Final = option("name", help="login name")


Options = tuple[Option | _Either, ...]


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


_DJANGO_OPTIONS: Final = DjangoHelpFormatter.show_last


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """A usage of one line: the options are listed below it."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: str | None = None) -> None:
        by_place = [action for action in actions if not action.option_strings]
        if len(by_place) < len(actions):
            self._prog += " [options]"
        super().add_usage(usage, by_place, [], prefix)


class _Parser(CommandParser):
    """Errors say what is wrong and what the argument means, without a list of all options; the help ends with Django's options."""

    def format_help(self) -> str:
        common = sorted(_DJANGO_OPTIONS & {*self._option_string_actions})
        return super().format_help() + (f"\nDjango's options: {' '.join(common)}\n" if common else "")

    def error(self, message: str) -> NoReturn:
        if not self.called_from_command_line:
            super().error(message)
        named = message.removeprefix("argument ").partition(":")[0].split("/")
        helps = [action.help for action in self._actions if {*named} & {*action.option_strings, action.dest}]
        lines = [f"{self.prog}: error: {message}", *(f"{named[-1]}: {text}" for text in helps if text)]
        self.exit(2, "\n".join([*lines, f"'{self.prog} --help' shows the options.\n"]))


def shape_parser(parser: CommandParser, examples: str) -> None:
    """Set a command's examples and its form of help, once its parser has Django's options."""
    parser.__class__ = _Parser  # Django names its own class
    parser.formatter_class = _Formatter
    parser.epilog = examples
    for action in parser._actions:
        if _DJANGO_OPTIONS & {*action.option_strings}:
            action.help = argparse.SUPPRESS


class LociCommand(BaseCommand):
    """A command with `options`, or with `verbs`. Exit status: 0 done, 1 error, 2 wrong usage."""

    examples = ""
    options: ClassVar[Options] = ()
    verbs: ClassVar[Mapping[str, CommandVerb]] = {}

    def add_arguments(self, parser: CommandParser) -> None:
        shape_parser(parser, self.examples)
        if not self.verbs:
            _add_options(parser, (*self.options, JSON))
            return
        actions = parser.add_subparsers(dest="verb", required=True, metavar=" | ".join(self.verbs))
        for name, verb in self.verbs.items():
            action = actions.add_parser(
                name, help=verb.help, epilog=self.examples, formatter_class=parser.formatter_class
            )
            _add_options(action, (*verb.options, JSON))

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the command or its verb; print the answer, or the error in words and with --json as JSON."""
        verb = self.verbs[options["verb"]] if self.verbs else None
        try:
            values = _read_options(options, verb.options if verb else self.options)
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
        text = json.dumps(body, ensure_ascii=False, default=_plain)
        self.stdout.write(text.encode(errors="replace").decode())


def _plain(value: Any) -> Any:
    """What takes the place of a value that JSON does not know: a dataclass's fields, else its text."""
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)
