"""The command line of Loci: its commands in groups, former names, refusals of what would bypass the write path, and completion."""

import argparse
import ast
import gc
import shutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, Final

import django
from django.core.management import ManagementUtility, get_commands, load_command_class

from access.connect import SCRIPTS, command_line

GROUPS: Final = {
    "Run Loci": ("up", "connect", "doctor", "schedule", "model", "service", "mcp", "demo"),
    "Memories": ("remember", "recall", "memory", "stats", "watch"),
    "People, agents and the audit log": ("person", "token", "group", "hook", "audit"),
    "Import, export, backup": ("import", "ingest", "export", "backup", "restore", "store"),
    "Maintenance": ("compact", "cleanup", "guard", "runs"),
}
# The former commands that are verbs or options now: their names answer with the new ones.
MOVED: Final = {
    "agents": "connect CLIENT --scope project",
    "checkpoint": "memory checkpoint",
    "completion": "--print-completion bash",
    "context": "memory context",
    "decrypt": "store decrypt",
    "disconnect": "connect CLIENT --remove",
    "encrypt": "store encrypt",
    "feedback": "Agents say which memories they used with a tool or over REST, and people in the Review.",
    "inspect": "memory inspect",
    "lockout": "person unlock",
    "move": "store move",
    "recalls": "memory recalls",
    "reembed": "model reembed",
    "relate": "memory relate",
    "retention": "store retention",
    "search": "recall",
    "serve": "up",
    "tombstones": "memory tombstones",
    "upgrade": "store upgrade",
}
_NEW_STORE: Final = "For an empty store, set LOCI_HOME to a new folder; 'loci memory purge ID' destroys one memory and logs it."
_READ_IN: Final = "Use 'loci import FILE' for a file of 'loci export', and 'loci restore' for a backup."
_RUN_IT: Final = "Use 'loci up'."
# Commands of Django and of libraries that would change or serve the store without rights, indexes or audit log.
REFUSED: Final = {
    "flush": f"It would delete every row, including the audit log. {_NEW_STORE}",
    "sqlflush": f"Its output would delete every row, including the audit log. {_NEW_STORE}",
    "loaddata": f"It would write rows without checks and without audit entries. {_READ_IN}",
    "remove_stale_contenttypes": "It would delete rows without audit entries. 'loci store retention' destroys expired memories.",
    "createapplication": "It would give a program access without an audit entry. Use 'loci token create NAME' for an agent.",
    "runserver": f"It would serve without the worker, and next to another server. {_RUN_IT}",
    "testserver": f"It would serve a store of unchecked rows. {_RUN_IT}",
}
_HELP_COLUMN: Final = 19
# New objects between two searches for garbage. Python's 700 look through the young ones thousands of times in a migration.
_GARBAGE_AFTER: Final = 50_000
_MAX_WIDTH: Final = 110


class Commands(ManagementUtility):
    """Django's utility with Loci's list and refusals; call_command() still runs every command."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """The list of Loci's commands with their help, or with `commands_only` their names."""
        if commands_only:
            return "\n".join(sorted(name for names in GROUPS.values() for name in names))
        wrapper = TextWrapper(
            width=max(2 * _HELP_COLUMN, min(shutil.get_terminal_size().columns, _MAX_WIDTH)),
            subsequent_indent=" " * _HELP_COLUMN,
        )
        lines = [f"usage: {self.prog_name} COMMAND ...; '{self.prog_name} COMMAND --help' shows examples."]
        for title, names in GROUPS.items():
            rows = [wrapper.fill(f"  {name:<{_HELP_COLUMN - 2}}{read_help(name)}") for name in names]
            lines += ["", f"{title}:", *rows]
        return "\n".join(
            [
                *lines,
                "",
                "Django's migrate, check, shell, dbshell, createsuperuser and changepassword are available too.",
            ]
        )

    def fetch_command(self, subcommand: str) -> Any:
        """The command of this name; a former or refused one ends the process and names what to use.

        Django calls this when everything is loaded: from here on garbage is collected, what was loaded left out.
        """
        if subcommand in REFUSED:
            reason = REFUSED[subcommand].replace("loci ", command_line(""))
            sys.exit(f"Loci does not run '{subcommand}'. {reason}")
        if subcommand in MOVED:
            new = MOVED[subcommand]
            is_sentence = new[0].isupper()
            sys.exit(new if is_sentence else f"'{subcommand}' is now '{command_line(new)}'.")
        command = super().fetch_command(subcommand)
        gc.freeze()
        gc.set_threshold(_GARBAGE_AFTER)
        gc.enable()
        return command


def read_help(name: str) -> str:
    """The help of a command, parsed from its source: importing all commands takes two seconds."""
    package = import_module(str(get_commands()[name])).__path__
    file = Path(package[0], "management", "commands", f"{name}.py")
    [command] = (
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == "Command"
    )
    [text] = (
        node.value
        for node in command.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "help"
    )
    return str(ast.literal_eval(text))


_SHELLS: Final = ("bash", "zsh")

# The command is the first word without a dash, the subcommand the second: "token create".
FUNCTION: Final = """\
_loci() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" place="" words="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$place" in *" "*) break ;; esac
    case "$word" in -*) ;; *) place="${{place:+$place }}$word" ;; esac
  done
  while :; do
    case "$place" in
{cases}
      *" "*) place="${{place% *}}"; continue ;;
    esac
    break
  done
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _loci {programs}
"""


def completion_script(shell: str) -> str:
    """The script for one of _SHELLS; zsh runs bash's with its own emulation."""
    cases = "\n".join(f'      "{place}") words="{" ".join(words)}" ;;' for place, words in _completions())
    script = FUNCTION.format(cases=cases, programs=" ".join(SCRIPTS))
    head = (
        "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
        if shell == "zsh"
        else ""
    )
    return head + script


def print_completion(words: list[str]) -> None:
    """Write the script for the shell in `words`; ends the process with status 2 if that is none of _SHELLS."""
    if len(words) != 1 or words[0] not in _SHELLS:
        sys.stderr.write(f"Name the shell: --print-completion {' or '.join(_SHELLS)}\n")
        sys.exit(2)
    django.setup()
    sys.stdout.write(completion_script(words[0]))


def _completions() -> Iterator[tuple[str, list[str]]]:
    """Each place in a command line, such as "token create", with the words that may follow."""
    names = sorted(name for group in GROUPS.values() for name in group)
    yield "", [*names, "--help", "--version", "--print-completion"]
    for name in names:
        parser = load_command_class(str(get_commands()[name]), name).create_parser("loci", name)
        yield name, words_of(parser)
        for sub, child in _subcommands(parser).items():
            yield f"{name} {sub}", words_of(child)


def words_of(parser: argparse.ArgumentParser) -> list[str]:
    """Subcommands, choices of arguments, and long options of a parser."""
    words = [*_subcommands(parser)]
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) or action.help == argparse.SUPPRESS:
            continue
        if action.option_strings:
            words += [word for word in action.option_strings if word.startswith("--")]
        else:
            words += [str(choice) for choice in action.choices or ()]
    return words


def _subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}
