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
    """The Actor of an agent on standard input.

    With a secret, the token's Actor; else the operator, since anyone who can start this command can read the database
    file. An agent is not a person and may not do what only persons may. `read_only` keeps only the right to read.

    Raises:
        NotAuthenticated: the secret is unknown, revoked or expired.
    """
    actor = actor_for_secret(secret, via=Via.MCP) if secret else replace(operator(Via.MCP), is_person=False)
    scopes = actor.scopes & {READ} if read_only else actor.scopes
    return replace(actor, scopes=scopes, default_group=group or actor.default_group)


def serve_stdio(*, secret: str = "", group: str = "", read_only: bool = False) -> None:
    """Serve until standard input ends, while the model loads in the background."""
    warm_up()
    server = LociServer(actor_finder(secret, group, read_only=read_only))
    try:
        anyio.run(server.run_stdio_async)
    finally:
        try:
            COUNTER.flush()
        except DatabaseError:
            logger.exception("The pending recall counts could not be written.")


def actor_finder(secret: str, group: str, *, read_only: bool) -> FindActor:
    """A function that looks the token up again for each call: a session lasts for hours, and the token may be revoked."""
    find = in_db_thread(stdio_actor)

    async def find_actor() -> Actor:
        return await find(secret=secret, group=group, read_only=read_only)

    return find_actor
