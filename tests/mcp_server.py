"""The MCP server in this process, made once for all callers; making one takes longer than most calls."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from mcp import Client

from access.actor import Actor
from loci_site.mcp.server import LociServer

CALLER: ContextVar[Actor] = ContextVar("caller")
# The schemas of answers as the server listed them, and what the SDK compiled of them, by the tool's name.
_schemas: dict[str, dict[str, Any] | None] = {}
_validators: dict[str, Any] = {}


@asynccontextmanager
async def client_of(actor: Actor) -> AsyncIterator[Client]:
    """A connected client of the SDK whose calls are the actor's.

    It judges each answer by the tool's schema, as every client does. A client asks for the list of tools and compiles the
    schema with its first answer, and most clients here make one call: so each begins with what the others compiled.
    """
    CALLER.set(actor)
    async with Client(_server()) as client:
        session = client.session
        session._tool_output_schemas.update(_schemas)
        session._tool_output_validators.update(_validators)
        yield client
        _schemas.update(session._tool_output_schemas)
        _validators.update(session._tool_output_validators)


@cache
def _server() -> LociServer:
    async def find() -> Actor:
        return CALLER.get()

    return LociServer(find)
