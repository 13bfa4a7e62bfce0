"""The server on standard input and output, for one agent on the same machine."""

import logging
from dataclasses import dataclass, replace
from functools import partial

import anyio
from django.db import DatabaseError

from access.actor import ALL_SCOPES, CREATE_GROUP, READ, WRITE, Actor, Via
from access.errors import InvalidInput
from access.tokens import actor_for_secret, operator
from loci_site.hooks.repository import with_own_checkout
from loci_site.mcp.calls import FindActor
from loci_site.mcp.server import LociServer
from loci_site.server.db_threads import in_db_thread
from loci_site.server.missing_model import fetch_when_missing
from memories.embedding import warm_up
from memories.recall_log import COUNTER

logger = logging.getLogger(__name__)


# The rights of an agent without a token; `--admin` gives it the operator's.
_AGENT_SCOPES: frozenset[str] = frozenset({READ, WRITE, CREATE_GROUP})


@dataclass(frozen=True)
class StdioCaller:
    """How an agent on standard input was started."""

    secret: str = ""
    group: str = ""
    read_only: bool = False
    admin: bool = False


def stdio_actor(caller: StdioCaller) -> Actor:
    """The Actor of an agent on standard input.

    With a secret, the token's Actor; else the operator in every group, with the rights to read, write and make groups, or
    every right with `admin`. An agent is not a person and may not do what only persons may. `read_only` keeps only the
    right to read.

    Raises:
        NotAuthenticated: the secret is unknown, revoked or expired.
        InvalidInput: `admin` with a token or with `read_only`.
    """
    if caller.admin and (caller.secret or caller.read_only):
        other = "a token" if caller.secret else "--read-only"
        raise InvalidInput(
            f"--admin cannot be combined with {other}.", hint="Use one of them.", field="admin"
        )
    if caller.secret:
        actor = actor_for_secret(caller.secret, via=Via.MCP)
    else:
        scopes = ALL_SCOPES if caller.admin else _AGENT_SCOPES
        actor = replace(operator(Via.MCP), is_person=False, scopes=scopes)
    scopes = actor.scopes & {READ} if caller.read_only else actor.scopes
    actor = replace(actor, scopes=scopes, default_group=caller.group or actor.default_group)
    return with_own_checkout(actor)


def serve_stdio(caller: StdioCaller) -> None:
    """Serve until standard input ends, while the model loads in the background, or is fetched once it is needed."""
    fetch_when_missing()
    warm_up()
    server = LociServer(actor_finder(caller))
    try:
        anyio.run(server.run_stdio_async)
    finally:
        try:
            COUNTER.flush()
        except DatabaseError:
            logger.exception("The pending recall counts could not be written.")


def actor_finder(caller: StdioCaller) -> FindActor:
    """A function that looks the token up again for each call: a session lasts for hours, and the token may be revoked."""
    return partial(in_db_thread(stdio_actor), caller)
