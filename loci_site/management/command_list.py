"""The commands as a person at the terminal meets them: Loci's own in groups, and no short way past its write path."""

import ast
import shutil
import sys
from pathlib import Path
from textwrap import TextWrapper
from typing import Any, Final

from django.core.management import ManagementUtility, get_commands

from access.connect import command_line

GROUPS: Final = {
    "Run Loci": ("up", "serve", "mcp", "doctor", "schedule", "model"),
    "Memories": ("remember", "recall", "search", "inspect", "memory", "stats", "tombstones"),
    "People, agents and what they did": (
        "person",
        "token",
        "group",
        "lockout",
        "createsuperuser",
        "changepassword",
        "audit",
    ),
    "In and out": ("import", "export", "backup", "restore"),
    "Maintenance": ("compact", "cleanup", "retention", "reembed", "runs"),
    "Measure and develop": ("evaluate", "reference"),
}
NEW_STORE: Final = "For an empty store, set LOCI_HOME to a new folder; 'loci memory purge ID' destroys one memory, and the log says so."
READ_IN: Final = "'loci import FILE' takes what 'loci export' wrote, and 'loci restore' takes a backup."
RUN_IT: Final = "Use 'loci up'."
# Django's, and those of libraries, that would change or serve the store past rights, indexes and audit log.
REFUSED: Final = {
    "flush": f"It would delete every row, the audit log included. {NEW_STORE}",
    "sqlflush": f"What it prints would delete every row, the audit log included. {NEW_STORE}",
    "loaddata": f"It would write rows past the checks and the audit log. {READ_IN}",
    "remove_stale_contenttypes": "It would delete rows past the audit log. 'loci retention' destroys what is past its time.",
    "createapplication": "It would let a program in past the audit log. 'loci token create NAME' does that for an agent.",
    "runserver": f"It would serve without the worker, and beside another server. {RUN_IT}",
    "testserver": f"It would serve a store of rows that passed no check. {RUN_IT}",
}
COLUMN: Final = 19  # where the help of each command begins
WIDEST: Final = 110


class Commands(ManagementUtility):
    """Django's commands by name, with a list and refusals of our own; call_command() takes all of them as before."""

    def main_help_text(self, commands_only: bool = False) -> str:
        """Give the list: Loci's commands, or with `commands_only` their names."""
        if commands_only:
            return "\n".join(sorted(name for names in GROUPS.values() for name in names))
        wrapper = TextWrapper(
            width=max(2 * COLUMN, min(shutil.get_terminal_size().columns, WIDEST)),
            subsequent_indent=" " * COLUMN,
        )
        lines = [f"usage: {self.prog_name} COMMAND ...; '{self.prog_name} COMMAND --help' shows examples."]
        for title, names in GROUPS.items():
            rows = [wrapper.fill(f"  {name:<{COLUMN - 2}}{help_of(name)}") for name in names]
            lines += ["", f"{title}:", *rows]
        return "\n".join([*lines, "", "Django's migrate, check, shell and dbshell are there as well."])

    def fetch_command(self, subcommand: str) -> Any:
        """Give a command by its name; one that is refused ends the process with what to use instead."""
        if subcommand in REFUSED:
            said = REFUSED[subcommand].replace("loci ", command_line(""))
            sys.exit(f"Loci does not run '{subcommand}'. {said}")
        return super().fetch_command(subcommand)


def help_of(name: str) -> str:
    """Give a command's help from its source: importing all of them takes two seconds."""
    room = get_commands()[name]
    file = Path(__file__).parents[2].joinpath(*room.split("."), "management", "commands", f"{name}.py")
    [command] = (
        node
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ClassDef) and node.name == "Command"
    )
    [said] = (
        node.value
        for node in command.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "help"
    )
    return str(ast.literal_eval(said))
