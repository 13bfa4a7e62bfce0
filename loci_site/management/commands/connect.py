"""`loci connect`: connect an agent's client, with its tools and its hooks."""

from contextlib import suppress
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError

from access.actor import Via
from access.connect import base_url, running_address
from access.management.command import USER, CommandAnswer, LociCommand, Option, either
from access.management.commands.token import GROUPS, find_existing, find_owner
from access.tokens import actor_for_secret, operator
from access.tokens.enrolment import find_client_token, make_client_token, revoke_secret
from loci_site.clients.connect import hook_settings
from loci_site.clients.files import Ledger
from loci_site.clients.main import (
    EITHER,
    OPTIONS,
    OwnStore,
    check_words,
    connect,
    read_places,
    remove,
    show_captured,
    show_status,
)
from loci_site.clients.server import ask_server, revoke_at
from loci_site.enrolment.check import check_token

EXAMPLES: Final = """\
examples:
  loci connect claude-code                                 tools and hooks for this person, with a token of their own
  loci connect codex --dry-run                             what would be written
  loci connect cursor --scope project                      files of this folder, which name ${LOCI_TOKEN} and no secret
  loci connect gemini --hooks start                        only the start of sessions; 'none' for no hooks
  loci connect claude-code --place ~/code/ledger=ledger    the group of a folder, or of a repository's address
  loci connect claude-code --url https://loci.firm.example --token loci_…    a server on another machine
  loci connect --status                                    with what each server says of the token
  loci connect --captured                                  what your sessions left there, and what became of it
  loci connect claude-code --remove                        its files as they were, its token revoked

The server is asked first: nothing is written if it does not answer, or the token may too little. A machine without Loci uses
the line of the page My account, Connect your client. With --scope project, lines in AGENTS.md (and CLAUDE.md if it exists) name
the tools, for clients without hooks.
"""


class Command(LociCommand):
    help = "Connect an agent's client: its tools, and hooks that bring memories without asking; or disconnect it."
    examples = EXAMPLES
    options = (
        *(Option(names, how) for names, how in OPTIONS),
        *GROUPS,
        USER,
        either(*(Option(names, how) for names, how in EITHER)),
    )

    def act(self, options: dict[str, Any]) -> CommandAnswer:
        ledger = Ledger(settings.LOCI.home)
        if options["status"]:
            return CommandAnswer(*show_status(ledger))
        if options["captured"] or options["undo"]:
            return CommandAnswer(*show_captured(ledger, options))
        check_words(options)
        if options["remove"]:
            lines = remove(options, ledger, _revoke)
        else:
            lines = connect(options, ledger, None if options["url"] else _own_store(options, ledger), _revoke)
        return CommandAnswer({"lines": lines}, "\n".join(lines))


def _own_store(options: dict[str, Any], ledger: Ledger) -> OwnStore:
    """The store here; the server is asked if it runs."""
    for group in read_places(options["place"]).values():
        find_existing(operator(), group, field="place")
    client, url, is_running = options["client"], base_url(), running_address(settings.LOCI.home) is not None

    def find_token() -> str:
        known = str(hook_settings(ledger, client).get("token", ""))
        bound, include_global = options["group"], not options["no_global"]
        if find_client_token(known, client) is not None and not bound and include_global:
            return known
        groups = [find_existing(operator(), slug, field="group") for slug in bound]
        default = groups[0] if len(groups) == 1 else None
        made = make_client_token(
            operator(), client=client, user=find_owner(options["user"]),
            groups=groups, include_global=include_global, default_group=default,
        )  # fmt: skip
        return made.secret

    def check(token: str, place: dict[str, Any]) -> dict[str, Any]:
        if is_running:
            return ask_server(url, token, place)
        return check_token(actor_for_secret(token, via=Via.COMMAND), place)

    return OwnStore(url, find_token, check)


def _revoke(url: str, secret: str) -> bool:
    """As `revoke_at`; a token of the store here needs no server."""
    with suppress(DatabaseError):  # a machine without a store of its own
        if revoke_secret(secret):
            return True
    return revoke_at(url, secret)
