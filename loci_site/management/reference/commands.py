"""docs/reference/commands.md: every command of ours, read from its own parser."""

import argparse
import re

from django.core.management import get_commands, load_command_class
from django.core.management.base import DjangoHelpFormatter

from loci_site.management.reference import markdown as md
from loci_site.management.reference.errors import ROOMS

INTRO = """\
Every command is `manage.py NAME` in a checkout and `loci NAME` where Loci is installed. All take `--help`; without a
name they are listed. Of Django's own, `migrate`, `check`, `shell` and `dbshell` are there; those that would destroy rows or
write them past the audit log, such as `flush` and `loaddata`, are refused with what to use instead. Commands act for
whoever runs them on the machine, who may read the database's file anyway: they see every group. Status: 0 done, 1 an
error, 2 wrong usage; `recall` ends with 3 where nothing is relevant."""
OF_DJANGO = frozenset(action for action in DjangoHelpFormatter.show_last) | {"--help", "-h"}


def page() -> str:
    """Give the page."""
    names = sorted(name for name, app in get_commands().items() if str(app).split(".")[0] in ROOMS)
    return md.page("Commands", INTRO, *(_section(name) for name in names))


def _section(name: str) -> str:
    command = load_command_class(str(get_commands()[name]), name)
    parser = command.create_parser("manage.py", name)
    return "\n\n".join([f"## {name}", *_about(parser), *_subcommands(parser), _examples(parser)]).rstrip()


def _about(parser: argparse.ArgumentParser) -> list[str]:
    """Give what a parser is for and the table of its arguments."""
    parts = [parser.description or ""]
    rows = [_row(action) for action in parser._actions if not _is_hidden(action)]
    if rows:
        parts.append(md.table(("argument", "what it is", "default"), rows))
    return [part for part in parts if part]


def _subcommands(parser: argparse.ArgumentParser) -> list[str]:
    parts: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, child in action.choices.items():
                parts += [f"### {parser.prog.split()[-1]} {name}", said.get(name, ""), *_about_child(child)]
    return [part for part in parts if part]


def _about_child(parser: argparse.ArgumentParser) -> list[str]:
    return [part for part in _about(parser) if part != (parser.description or "")]


def _row(action: argparse.Action) -> list[str]:
    return [md.code(_name(action)), _help(action), _default(action)]


def _name(action: argparse.Action) -> str:
    """Give the argument as it is typed: the long option with its value, or the place's name."""
    if not action.option_strings:
        return str(action.metavar or action.dest)
    value = "" if action.nargs == 0 else f" {action.metavar or _choices(action) or action.dest.upper()}"
    return f"{action.option_strings[-1]}{value}"


def _help(action: argparse.Action) -> str:
    said = re.sub(
        r"%\((\w+)\)s", lambda found: str(getattr(action, found[1], "")), action.help or ""
    ).replace("%%", "%")
    choices = _choices(action) if action.metavar or not action.option_strings else ""
    return "; ".join(part for part in (said, f"one of {choices}" if choices else "") if part)


def _choices(action: argparse.Action) -> str:
    return ", ".join(str(choice) for choice in action.choices) if action.choices else ""


def _default(action: argparse.Action) -> str:
    value = action.default
    if value in (None, "", False, [], argparse.SUPPRESS) or action.nargs == 0:
        return ""
    return md.code(str(value))


def _is_hidden(action: argparse.Action) -> bool:
    is_djangos = any(option in OF_DJANGO for option in action.option_strings)
    return is_djangos or action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction)


def _examples(parser: argparse.ArgumentParser) -> str:
    if not parser.epilog:
        return ""
    return f"```\n{parser.epilog.strip()}\n```"
