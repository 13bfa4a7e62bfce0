"""docs/reference/commands.md: every command of Loci, read from its argument parser."""

import argparse
import re

from django.core.management import get_commands, load_command_class

from bench.reference import markdown as md
from bench.reference.errors import PACKAGES

INTRO = """\
Every command is `manage.py NAME` in a checkout and `loci NAME` in an installation. All have `--help`; without a name, the
commands are listed. Of Django's own, `migrate`, `check`, `shell` and `dbshell` are available; those that would destroy or
write rows without an audit entry, such as `flush` and `loaddata`, are refused, and the error names the alternative.
Commands act for the person who runs them on the machine and could read the database file anyway: they see every group.
All but `mcp`, `up` and Django's own also take `--json` and then answer with one JSON object.
Exit status: 0 success, 1 an error, 2 wrong usage; `recall` ends with 3 if nothing is relevant."""


def page() -> str:
    """The page as Markdown."""
    names = sorted(name for name, app in get_commands().items() if str(app).split(".")[0] in PACKAGES)
    return md.page("Commands", INTRO, *(render_command(name) for name in names))


def render_command(name: str) -> str:
    """The section of one command: help, arguments, subcommands and examples."""
    command = load_command_class(str(get_commands()[name]), name)
    parser = command.create_parser("manage.py", name)
    parts = [f"## {name}", parser.description or "", argument_table(parser), *render_subcommands(parser)]
    if parser.epilog:
        parts.append(f"```\n{parser.epilog.strip()}\n```")
    return "\n\n".join(part for part in parts if part).rstrip()


def render_subcommands(parser: argparse.ArgumentParser) -> list[str]:
    """Heading, help and arguments of each subcommand; those with the same arguments share a table."""
    parts: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            alike: dict[str, list[str]] = {}
            for name, child in action.choices.items():
                alike.setdefault(argument_table(child), []).append(name)
            for table, names in alike.items():
                parts.append(f"### {parser.prog.split()[-1]} {', '.join(names)}")
                one_line = "" if len(names) == 1 else "- {}: "
                parts += ["\n".join(f"{one_line.format(name)}{helps.get(name, '')}" for name in names), table]
    return parts


def argument_table(parser: argparse.ArgumentParser) -> str:
    """The table of a parser's own arguments; empty if it has none."""
    rows = [argument_row(action) for action in parser._actions if not is_hidden(action)]
    return md.table(("argument", "what it is", "default"), rows) if rows else ""


def argument_row(action: argparse.Action) -> list[str]:
    """Name, help and default of an argument; an option shows its long form with its value."""
    choices = ", ".join(str(choice) for choice in action.choices) if action.choices else ""
    if action.option_strings:
        value = "" if action.nargs == 0 else f" {action.metavar or choices or action.dest.upper()}"
        long = [each for each in action.option_strings if each.startswith("--")]
        name = f"{(long or action.option_strings)[0]}{value}"
    else:
        name = str(action.metavar or action.dest)
    values = vars(action)
    text = re.sub(r"%\((\w+)\)s", lambda found: str(values.get(found[1], "")), action.help or "")
    text = text.replace("%%", "%")
    if choices and (action.metavar or not action.option_strings):
        text = f"{text}; one of {choices}" if text else f"one of {choices}"
    has_default = action.nargs != 0 and action.default not in (None, "", False, [], argparse.SUPPRESS)
    return [md.code(name), text, md.code(str(action.default)) if has_default else ""]


def is_hidden(action: argparse.Action) -> bool:
    """True for suppressed options, those of every command, and the subcommands, which have sections of their own."""
    is_common = bool({"--help", "--json"} & {*action.option_strings})
    return is_common or action.help == argparse.SUPPRESS or isinstance(action, argparse._SubParsersAction)
