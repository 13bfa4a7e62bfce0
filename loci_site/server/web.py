"""A web process: uvicorn on the socket that `up` opened and several processes may share, or on a socket of its own.

`up` keeps the socket bound, so if a web process dies, clients wait for the next one instead of being refused.
"""

import argparse
import gc
import logging
import os
import select
import socket
import sys
from collections.abc import Sequence

from django.conf import settings
from uvicorn import Config, Server
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import ChangeReload

from loci_site.server.process import end_with_parent
from loci_site.server.slow_requests import PatientProtocol
from memories.embedding import warm_up

_APPLICATION = "loci_site.asgi:application"
# Lifetime of an idle keep-alive connection. Usual clients keep one for 5 s, as uvicorn does by default: now and then a
# request was under way while the server closed.
IDLE_S = 75
_GRACEFUL_S = 10  # for open streams; shorter than `up` waits before it kills
ORPHAN_S = 1.0  # for open requests after `up` was killed: the next one waits for the port
# Set for the child process that uvicorn starts with --reload.
PARENT_VARIABLE = "LOCI_WEB_PARENT"


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until a signal arrives."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "loci_site.settings")
    parser = argparse.ArgumentParser(prog="python -m loci_site.server.web")
    parser.add_argument("--parent", type=int, default=0, help="end with this process")
    parser.add_argument("--fd", type=int, default=None, help="a bound socket to listen on")
    parser.add_argument("--begin", type=int, help="begin to serve when this pipe can be read")
    parser.add_argument("--reload", action="store_true", help="restart when the code changes")
    options = parser.parse_args(argv)
    if options.parent:
        end_with_parent(options.parent, grace_s=ORPHAN_S)
    if not options.reload:  # there the application is loaded by a child process
        gc.disable()  # until it has started: nearly all that is loaded stays
    config = server_config(is_reloading=options.reload)
    sock = socket.socket(fileno=options.fd) if options.fd is not None else config.bind_socket()
    serve(config, sock, begin=options.begin)


def serve(config: Config, sock: socket.socket, *, begin: int | None = None) -> None:
    """Serve in this process, or with `reload` in a child process that restarts when the code changes."""
    server = Server(config)
    if config.should_reload:
        os.environ[PARENT_VARIABLE] = str(os.getpid())
        _wait_until_readable(begin)
        ChangeReload(config, target=server.run, sockets=[sock]).run()
        return
    warm_up()  # on another core, while this one imports the application
    config.load()
    _wait_until_readable(begin)
    server.run(sockets=[sock])
    if not server.started:
        sys.exit(STARTUP_FAILURE)


def _wait_until_readable(fd: int | None) -> None:
    if fd is not None:
        select.select([fd], [], [])


def server_config(*, is_reloading: bool = False) -> Config:
    """Uvicorn's configuration from Loci's settings."""
    server = settings.LOCI.server
    return Config(
        _APPLICATION,
        host=server.host,
        port=server.port,
        reload=is_reloading,
        loop="auto",
        http=PatientProtocol,
        ws="none",
        lifespan="on",
        access_log=server.log_level == "DEBUG",
        log_config=None,  # Django's logging covers everything
        log_level=logging.WARNING if server.log_level == "INFO" else server.log_level.lower(),
        # Trust the headers about the client's address only behind a proxy.
        proxy_headers=bool(server.public_url),
        server_header=False,
        timeout_keep_alive=IDLE_S,
        timeout_graceful_shutdown=_GRACEFUL_S,
    )


if __name__ == "__main__":
    main()
