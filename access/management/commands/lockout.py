"""`loci lockout`: who is refused because too much was tried, and letting them try again."""

import argparse
import json
from typing import Any, Final

from django.core.management.base import CommandParser

from access.errors import Conflict, NotFound
from access.management.acting import ActingCommand
from access.models import Attempts
from access.sign_in.throttle import active_locks, lift_lock
from access.tokens import operator

EXAMPLES: Final = """\
examples:
  loci lockout list
  loci lockout lift 0190c2a4                               the start of an id
"""


class Command(ActingCommand):
    """Parses, calls a function of access.sign_in.throttle, renders."""

    help = "List who is locked out after failed logins, or let somebody try again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        actions = parser.add_subparsers(dest="action", required=True, metavar="list | lift")
        listing = actions.add_parser("list", help="all that is refused now")
        lifting = actions.add_parser("lift", help="let somebody try again")
        lifting.add_argument("id", help="its id, or the start of it")
        for action in (listing, lifting):
            action.formatter_class = argparse.RawDescriptionHelpFormatter
            action.epilog = EXAMPLES
            action.add_argument("--json", action="store_true", help="answer as JSON")

    def act(self, options: dict[str, Any]) -> str:
        return _list(options) if options["action"] == "list" else _lift(options)


def _list(options: dict[str, Any]) -> str:
    rows = list(active_locks(operator()))
    if options["json"]:
        return json.dumps([_row(row) for row in rows], ensure_ascii=False)
    return "\n".join(_line(row) for row in rows) or "Nobody is locked out."


def _lift(options: dict[str, Any]) -> str:
    row = _find(options["id"])
    lift_lock(operator(), row)
    return json.dumps(_row(row)) if options["json"] else f"{row.address} can try again."


def _find(text: str) -> Attempts:
    rows = [row for row in active_locks(operator()) if str(row.id).startswith(text.strip().lower())]
    if not rows or len(text.strip()) < 4:
        raise NotFound(f"There is no lock-out '{text}'.", hint="'loci lockout list' shows them.", field="id")
    if len(rows) > 1:
        raise Conflict(f"'{text}' may be several lock-outs.", hint="Give more of the id.", field="id")
    return rows[0]


def _line(row: Attempts) -> str:
    who = row.user.get_username() if row.user else "nobody known"
    return f"{row.id}  {row.kind:<10}  {who} from {row.address}: {row.count} tries, until {row.until:%Y-%m-%d %H:%M} UTC"


def _row(row: Attempts) -> dict[str, Any]:
    return {
        "id": str(row.id),
        "kind": row.kind,
        "user": row.user.get_username() if row.user else None,
        "address": row.address,
        "count": row.count,
        "until": row.until.isoformat() if row.until else None,
    }
