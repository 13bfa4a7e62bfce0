"""`loci lockout`: list and lift the locks that follow too many attempts."""

import argparse
import json
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import Conflict, NotFound
from access.management.acting import ActingCommand
from access.models import Attempts
from access.sign_in.lockouts import active_locks, lift_lock
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci lockout list
  loci lockout lift 0190c2a4                               the start of an id
"""


class Command(ActingCommand):
    """Parses, calls a function of access.sign_in.lockouts, renders."""

    help = "List the locks after too many failed attempts, or lift one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="list | lift")
        listing = actions.add_parser("list", help="list the locks in force")
        lifting = actions.add_parser("lift", help="lift a lock, so that the next attempt is allowed")
        lifting.add_argument("id", help="the id of the lock, or its start")
        for action in (listing, lifting):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="print JSON")

    def act(self, options: dict[str, Any]) -> str:
        return list_locks(options) if options["action"] == "list" else lift(options)


def list_locks(options: dict[str, Any]) -> str:
    """The locks in force."""
    rows = list(active_locks(operator()))
    if options["json"]:
        return json.dumps([lock_row(row) for row in rows], ensure_ascii=False)
    return "\n".join(lock_line(row) for row in rows) or "Nobody is locked out."


def lift(options: dict[str, Any]) -> str:
    """Lift one lock."""
    row = find_lock(options["id"])
    lift_lock(operator(), row)
    return json.dumps(lock_row(row)) if options["json"] else f"{row.address} can try again."


def find_lock(text: str) -> Attempts:
    """The lock whose id starts with the text (at least 4 characters)."""
    rows = [row for row in active_locks(operator()) if str(row.id).startswith(text.strip().lower())]
    if not rows or len(text.strip()) < 4:
        raise NotFound(f"There is no lock '{text}'.", hint="'loci lockout list' shows all locks.", field="id")
    if len(rows) > 1:
        raise Conflict(f"'{text}' matches several locks.", hint="Give more of the id.", field="id")
    return rows[0]


def lock_line(row: Attempts) -> str:
    """The lock as a line of the list."""
    who = row.user.get_username() if row.user else "unknown user"
    return f"{row.id}  {row.kind:<10}  {who} from {row.address}: {row.count} attempts, until {row.until:%Y-%m-%d %H:%M} UTC"


def lock_row(row: Attempts) -> dict[str, Any]:
    """The lock as a dict for JSON."""
    return {
        "id": str(row.id),
        "kind": row.kind,
        "user": row.user.get_username() if row.user else None,
        "address": row.address,
        "count": row.count,
        "until": row.until.isoformat() if row.until else None,
    }
