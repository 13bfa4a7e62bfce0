"""The server on standard input and output, for one agent on the same machine."""

import logging
from dataclasses import replace

import anyio
from django.db import DatabaseError

from access.actor import READ, Actor, Via
from access.tokens import actor_for_secret, operator
from loci_site.mcp.auth import FindActor
from loci_site.mcp.server import LociServer
from loci_site.server.db_threads import in_db_thread
from memories.embedding import warm_up
from memories.recall.recall_log import COUNTER

logger = logging.getLogger(__name__)


def stdio_actor(*, secret: str = "", group: str = "", read_only: bool = False) -> Actor:
    """Give who an agent on standard input acts as.

    A token's Actor where there is a secret; else the operator, for whoever can start this command can read the file
    itself. An agent is no person: what only a person may do, it may not. `read_only` leaves the right to read alone.

    Raises:
        NotAuthenticated: the secret is unknown, revoked or expired.
    """
    actor = actor_for_secret(secret, via=Via.MCP) if secret else replace(operator(Via.MCP), is_person=False)
    scopes = actor.scopes & {READ} if read_only else actor.scopes
    return replace(actor, scopes=scopes, default_group=group or actor.default_group)


def serve_stdio(*, secret: str = "", group: str = "", read_only: bool = False) -> None:
    """Serve until standard input ends. The model loads in the background meanwhile."""
    warm_up()
    server = LociServer(_finder(secret, group, read_only=read_only))
    try:
        anyio.run(server.run_stdio_async)
    finally:
        _flush()


def _finder(secret: str, group: str, *, read_only: bool) -> FindActor:
    """Look the token up again for each call: a session lasts for hours, and a token may be revoked meanwhile."""
    find = in_db_thread(stdio_actor)

    async def find_actor() -> Actor:
        return await find(secret=secret, group=group, read_only=read_only)

    return find_actor


def _flush() -> None:
    try:
        COUNTER.flush()
    except DatabaseError:
        logger.exception("What recalls have counted could not be written.")
