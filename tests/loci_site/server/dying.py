"""The application in a server that dies after a write is committed and before its answer is sent, if asked to."""

import os
import signal
from typing import Any

from loci_site.asgi import application as loci


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    is_last = (b"x-die", b"yes") in scope.get("headers", ())

    async def send_or_die(message: Any) -> None:
        if is_last and message["type"] == "http.response.start":
            os.kill(os.getpid(), signal.SIGKILL)
        await send(message)

    await loci(scope, receive, send_or_die)
