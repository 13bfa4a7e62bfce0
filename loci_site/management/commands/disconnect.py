"""`loci disconnect`: take Loci out of a client's files and revoke its token."""

import argparse
from typing import Any, Final

from django.conf import settings
from django.core.management.base import CommandParser

from access.errors import NotFound
from access.management.acting import ActingCommand
from loci_site.clients.catalogue import CLIENTS, PROJECT, USER
from loci_site.clients.connect import FileChange, disconnect, hook_settings, key_of
from loci_site.clients.files import Ledger
from loci_site.clients.tokens import revoke_client_token

EXAMPLES: Final = """\
examples:
  loci disconnect claude-code
  loci disconnect cursor --scope project --dry-run
"""


class Command(ActingCommand):
    """Parses, calls functions of loci_site.clients, renders."""

    help = "Disconnect a client: its files as they were, its token revoked."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.formatter_class = argparse.RawDescriptionHelpFormatter
        parser.epilog = EXAMPLES
        parser.add_argument("client", choices=CLIENTS, help="the client")
        parser.add_argument(
            "--scope", choices=(USER, PROJECT), default=USER, help="whose files; default: user"
        )
        parser.add_argument("--json", action="store_true", help="print errors as JSON too")
        parser.add_argument(
            "--dry-run", action="store_true", help="say which files would change, write nothing"
        )

    def act(self, options: dict[str, Any]) -> str:
        client, scope, is_trial = options["client"], options["scope"], options["dry_run"]
        ledger = Ledger(settings.LOCI.home)
        if not ledger.files(key_of(client, scope)) and not hook_settings(ledger, client):
            raise NotFound(
                f"{client} is not connected.", hint="'loci connect --status' shows what is.", field="client"
            )
        secret = str(hook_settings(ledger, client).get("token", ""))
        changes = disconnect(client, ledger, scope=scope, dry_run=is_trial)
        lines = [describe_undo(change, is_trial=is_trial) for change in changes]
        if not is_trial and not hook_settings(ledger, client) and revoke_client_token(secret):
            lines.append("Its token is revoked.")
        return "\n".join(lines)


def describe_undo(change: FileChange, *, is_trial: bool) -> str:
    """What happens to a file, in a line."""
    if change.refusal:
        return f"{change.path} is left alone. {change.refusal} Take Loci's keys out by hand."
    if not change.is_needed:
        return f"{change.path} has nothing of Loci."
    done = "deleted" if change.is_deleted else "as it was before"
    return f"{change.path} {'would be' if is_trial else 'is'} {done}."
