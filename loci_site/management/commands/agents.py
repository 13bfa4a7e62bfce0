"""`loci agents`: lines for AGENTS.md and CLAUDE.md, for clients without hooks."""

import argparse
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import InvalidInput
from access.management.acting import ActingCommand
from access.management.commands.token import find_existing
from access.tokens import operator
from loci_site.clients.agents_file import RULE, exclude_from_git, rule_text, with_lines, without_lines
from loci_site.clients.files import write_whole

FILES = ("AGENTS.md", "CLAUDE.md")


EXAMPLES: Final = """\
examples:
  loci agents --group ledger                               lines in AGENTS.md, and in CLAUDE.md if it exists
  loci agents --cursor                                     a rule that git ignores
  loci agents --remove
"""


class Command(ActingCommand):
    """Parses, changes the files, says what happened."""

    help = "Write lines into AGENTS.md (and CLAUDE.md if it exists) that name the tools, for clients without hooks."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("--folder", default=".", help="the project's folder; default: this one")
        parser.add_argument("--group", default="", help="the group that the lines name")
        parser.add_argument(
            "--cursor", action="store_true", help="write a rule for Cursor instead, which git ignores"
        )
        parser.add_argument("--remove", action="store_true", help="take the lines out again")
        parser.add_argument("--json", action="store_true", help="print errors as JSON too")

    def act(self, options: dict[str, Any]) -> str:
        folder = Path(options["folder"]).expanduser()
        if not folder.is_dir():
            raise InvalidInput(f"There is no folder {folder}.", field="folder")
        group = find_existing(operator(), options["group"], field="group").slug if options["group"] else ""
        if options["cursor"]:
            return write_rule(folder, group, is_removed=options["remove"])
        done = [write_lines(folder / name, group, is_removed=options["remove"]) for name in FILES]
        return "\n".join(filter(None, done)) or "Nothing to change."


def write_lines(path: Path, group: str, *, is_removed: bool) -> str:
    """Change one file and say so; CLAUDE.md is never made, since it may only point to AGENTS.md."""
    if not path.exists() and (is_removed or path.name != FILES[0]):
        return ""
    before = path.read_bytes().decode() if path.exists() else ""
    after = without_lines(before) if is_removed else with_lines(before, group)
    if after == before:
        return f"{path} is as it should be."
    if is_removed and not after:
        path.unlink()
        return f"{path} is deleted."
    write_whole(path, after.encode(), mode=None if path.exists() else 0o644)
    return f"{path} is written."


def write_rule(folder: Path, group: str, *, is_removed: bool) -> str:
    """Write or delete the rule for Cursor."""
    path = folder / RULE
    if is_removed:
        path.unlink(missing_ok=True)
        return f"{path} is deleted."
    write_whole(path, rule_text(group).encode(), mode=0o644)
    is_ignored = exclude_from_git(folder, RULE.as_posix())
    return f"{path} is written{', and git ignores it here' if is_ignored else ''}."
