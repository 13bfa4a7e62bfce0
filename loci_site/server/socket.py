"""The lock that allows one `up` per LOCI_HOME, and the socket that the server listens on."""

import errno
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from access.connect import command_line
from access.errors import Conflict, Unavailable
from storage.locks import take_lock

_ORPHANS_S = 2.5  # longer than a web process outlives its supervisor (loci_site.server.web.ORPHAN_S)
CHECK_EVERY_S = 0.1


@contextmanager
def only_one_in(home: Path) -> Iterator[None]:
    """Lock LOCI_HOME for this process. The kernel releases the lock however the process ends, so it is never stale.

    Raises:
        Conflict: another process holds the lock.
    """
    handle = os.open(home / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not take_lock(handle):
            pid = os.pread(handle, 20, 0).decode().strip() or "unknown"
            raise Conflict(
                f"Loci is already running with the data in {home} (process {pid}).",
                hint="Use that one, or stop it with Ctrl-C first.",
            )
        os.ftruncate(handle, 0)
        os.pwrite(handle, str(os.getpid()).encode(), 0)
        yield
    finally:
        os.close(handle)


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket bound to the address but not listening: clients are refused until the server accepts connections.

    Raises:
        Unavailable: the address cannot be bound; the hint names a way out.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    # Allow a port whose last connections are still in TIME_WAIT.
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        _bind_patiently(sock, host, port)
    except OSError as error:
        sock.close()
        raise _explain_bind_error(host, port, error) from error
    sock.set_inheritable(True)
    return sock


def _bind_patiently(sock: socket.socket, host: str, port: int) -> None:
    """Bind the socket; a port that is in use may be held by web processes of a Loci that was killed, which end soon."""
    deadline = time.monotonic() + _ORPHANS_S
    while True:
        try:
            sock.bind((host, port))
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > deadline:
                raise
            time.sleep(CHECK_EVERY_S)
        else:
            return


def is_answering(sock: socket.socket) -> bool:
    """True if a process accepts connections on the socket's address."""
    host, port = sock.getsockname()[:2]
    reachable = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    try:
        with socket.create_connection((reachable, port), timeout=1):
            return True
    except OSError:
        return False


def _explain_bind_error(host: str, port: int, error: OSError) -> Unavailable:
    """The error of a failed bind: port in use, no permission, or no such address."""
    other = command_line(f"up --port {port + 1 if port < 65_535 else 8000}")
    if error.errno == errno.EADDRINUSE:
        return Unavailable(
            f"Port {port} is in use by another program.",
            hint=f"Stop that program, or choose another port: {other}",
        )
    if error.errno == errno.EACCES:
        return Unavailable(
            f"No permission to listen on port {port}.", hint=f"Choose a port from 1024 up: {other}"
        )
    return Unavailable(
        f"Loci cannot listen on {host}: {error.strerror or error}.",
        hint="Set LOCI_HOST to an address of this machine, such as 127.0.0.1.",
    )
