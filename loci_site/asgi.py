"""The application that the server runs: `uvicorn loci_site.asgi:application`."""

import asyncio
import json
import logging
import os
from collections.abc import Awaitable, Callable, MutableMapping
from importlib import import_module
from typing import Any

from django.conf import settings
from django.core.asgi import get_asgi_application
from django.db import DatabaseError, connections
from django.db.backends.signals import connection_created

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
_django = get_asgi_application()

# These need Django set up.
from access.errors import TooManyReads  # noqa: E402
from access.limits.turns import IN_HAND, MAX_WAITING, PERSON, person_behind  # noqa: E402
from access.sign_in.client_address import network_of  # noqa: E402
from loci_site.mcp.transports import asgi as mount  # noqa: E402
from loci_site.server.db_threads import page_thread, read_pool  # noqa: E402
from loci_site.server.health import WATCH  # noqa: E402
from loci_site.server.missing_model import fetch_when_missing  # noqa: E402
from loci_site.server.process import end_with_parent, take_short_turns  # noqa: E402
from loci_site.server.web import ORPHAN_S, PARENT_VARIABLE  # noqa: E402
from memories.embedding import warm_up  # noqa: E402
from memories.recall_log import COUNTER  # noqa: E402
from memories.search.in_memory.sync import load_in_background  # noqa: E402
from storage.faults import COMMIT_HOOKS  # noqa: E402

# Import all views at start-up instead of during the first request.
import_module(settings.ROOT_URLCONF)
logger = logging.getLogger(__name__)
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def application(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one request, or handle the server's start and end."""
    if scope["type"] != "lifespan":
        await route(scope, receive, send)
        return
    await receive()  # lifespan.startup
    start()
    await send({"type": "lifespan.startup.complete"})
    await receive()  # lifespan.shutdown
    await asyncio.to_thread(stop)
    await send({"type": "lifespan.shutdown.complete"})


async def route(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one request for the person who sends it, unless too many of that person wait."""
    headers, client = scope.get("headers", ()), scope.get("client")
    person = person_behind(headers, network_of(client[0]) if client else "")
    if person is None:
        await _route_in_turn(scope, receive, send)
    elif read_pool().is_full(person):
        await _refuse_request(send)
    else:
        with PERSON.holding(person), IN_HAND.asking(person):
            await _route_in_turn(scope, receive, send)


async def _refuse_request(send: Send) -> None:
    """The 429 of a person whose queue is full."""
    error = TooManyReads(
        f"{MAX_WAITING} requests of yours wait for an answer.",
        wait_s=1,
        hint="Send them one after the other.",
    )
    headers = [(b"content-type", b"application/json"), (b"retry-after", str(error.wait_s).encode())]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(error.as_dict()).encode()})


async def _route_in_turn(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one request: the MCP transport for its path, Django for all others."""
    if scope["type"] == "http" and scope["path"] == mount.PATH:
        await mount.serve_or_pass(scope, receive, send, rest=_answer_by_django)
    else:
        await _answer_by_django(scope, receive, send)


async def _answer_by_django(scope: Message, receive: Receive, send: Send) -> None:
    """Answer one request by its view; what is synchronous in it runs in a thread that is kept."""
    async with page_thread():
        await _django(scope, receive, send)  # type: ignore[arg-type]  # Django's types are narrower than ASGI's


def start() -> None:
    """Tune the interpreter and start to load the model in the background: the port opens before it is loaded."""
    if parent := os.environ.get(PARENT_VARIABLE):
        end_with_parent(int(parent), grace_s=ORPHAN_S)
    take_short_turns()
    connection_created.connect(WATCH.watch)
    if WATCH.note_failure not in COMMIT_HOOKS:
        COMMIT_HOOKS.append(WATCH.note_failure)
    fetch_when_missing()
    warm_up()
    load_in_background()


def stop() -> None:
    """Write the pending recall counts and close the connections."""
    try:
        COUNTER.flush()
    except DatabaseError:
        logger.exception("The pending recall counts could not be written.")
    finally:
        connections.close_all()
