"""The MCP server in this process, made once for all callers; making one takes longer than most calls."""

from contextvars import ContextVar
from functools import cache

from mcp import Client

from access.actor import Actor
from loci_site.mcp.server import LociServer

CALLER: ContextVar[Actor] = ContextVar("caller")


def client_of(actor: Actor) -> Client:
    """A client of the SDK whose calls are the actor's."""
    CALLER.set(actor)
    return Client(_server())


@cache
def _server() -> LociServer:
    async def find() -> Actor:
        return CALLER.get()

    return LociServer(find)
